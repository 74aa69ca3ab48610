use executorch_format::json::{JsonDump, JsonTree};
use executorch_format::{FileKind, Model};
use std::hint::black_box;

/// Makes files from the bytes as JSON. A file that is dumped as JSON is built as it was.
pub fn from_json(bytes: &[u8]) {
    if let Ok(tree) = std::str::from_utf8(bytes).map_err(drop).and_then(|text| JsonTree::parse(text).map_err(drop)) {
        for kind in [FileKind::Pte, FileKind::Ptd, FileKind::Bpte] {
            let built = tree.build(Some(kind), &|name| (name.len() % 2 == 0).then_some(&[7; 24][..]));
            let _ = black_box(built.and_then(|built| built.image().map(|image| image.size())));
        }
    }
    let Ok(model) = Model::parse(bytes) else { return };
    let Ok(dump) = JsonDump::new(&model) else { return };
    let text = serde_json::to_string(&dump).expect("a tree is JSON");
    let file = |name: &str| dump.files().iter().find(|file| file.name == name).map(|file| file.bytes);
    let built = JsonTree::parse(&text).and_then(|tree| tree.build(None, &file)).expect("the JSON of a file");
    let image = built.image().and_then(|image| image.to_vec()).expect("an unchanged file");
    assert!(built.is_unchanged() && image == bytes, "another file");
}
