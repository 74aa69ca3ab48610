//! Everything that is written from files, with its size: parts may share bytes.

use crate::limits::Output;
use executorch_format::convert::{Safetensors, ShardIndex, Unsupported};
use executorch_format::edit::NewData;
use executorch_format::json::{JsonDump, JsonTree};
use executorch_format::schema::program::KernelTypes;
use executorch_format::testing::Choices;
use executorch_format::{Bpte, FileKind, Image, Model, NewEntry, Ptd, PtdOptions, Pte, Result};

/// The number of bytes at the end of the input that choose changes.
const CHOICES: usize = 24;

fn choices(bytes: &[u8]) -> Choices<'_> {
    Choices::new(bytes.get(bytes.len().saturating_sub(CHOICES)..).unwrap_or_default())
}

/// Counts the bytes of an image that can be made, by writing it.
fn count(image: Result<Image<'_>>, out: &mut Output) {
    if let Ok(image) = image {
        image.write_to(out).expect("it is counted");
    }
}

/// Makes a file from JSON with its blobs in other files: from the input as JSON, and from the JSON of a file with changed numbers.
pub fn build_json(bytes: &[u8]) {
    const BLOB: &[u8] = &[7; 24];
    if let Ok(text) = std::str::from_utf8(bytes) {
        for kind in [FileKind::Pte, FileKind::Ptd, FileKind::Bpte] {
            let built = JsonTree::parse(text).and_then(|tree| tree.build(Some(kind), &|_| Some(BLOB)));
            if let Ok(built) = &built {
                count(built.image(), &mut Output::of(bytes.len() + BLOB.len()));
            }
        }
    }
    let Ok(model) = Model::parse(bytes) else { return };
    let Ok(dump) = JsonDump::new(&model) else { return };
    let mut text = serde_json::to_string(&dump).expect("a tree is JSON");
    let choices = &mut choices(bytes);
    for _ in 0..3 {
        let at = usize::from(choices.byte()) << 8 | usize::from(choices.byte());
        // The fields about the file as a whole come first.
        let end = if choices.yes() { text.len() } else { text.len().min(200) };
        let Some(start) = text
            .char_indices()
            .skip(at.checked_rem(end).unwrap_or_default())
            .find_map(|(at, character)| character.is_ascii_digit().then_some(at))
        else {
            continue;
        };
        let digits = text[start..].bytes().take_while(u8::is_ascii_digit).count();
        text.replace_range(
            start..start + digits,
            choices.one_of("0", &["1", "7", "4096", "1099511627776", "4611686018427387904", "18446744073709551615"]),
        );
    }
    let file = |name: &str| dump.files().iter().find(|file| file.name == name).map(|file| file.bytes);
    let built = JsonTree::parse(&text).and_then(|tree| tree.build(None, &file));
    if let Ok(built) = &built {
        let opened = text.len() + dump.files().iter().map(|file| file.bytes.len()).sum::<usize>();
        count(built.image(), &mut Output::of(opened));
    }
}

/// Writes what commands make from a file: its tree with all blobs, extracted blobs, merged and split files, moved and converted data.
pub fn write_all(bytes: &[u8]) {
    let Ok(model) = Model::parse(bytes) else { return };
    if let Ok(dump) = JsonDump::new(&model) {
        let mut out = Output::of(bytes.len());
        out.json(&dump);
        dump.files().iter().for_each(|file| out.count(file.bytes.len() as u64));
    }
    if let Ok(extraction) = model.extraction() {
        let mut out = Output::of(bytes.len());
        extraction.files.iter().for_each(|file| out.count(file.size));
    }
    let options = PtdOptions::default();
    match model {
        Model::Ptd(ptd) => {
            let twice = [ptd.clone(), ptd.clone()];
            if let Ok((merged, _)) = Ptd::merge(&twice, &options) {
                count(merged.image(), &mut Output::of(2 * bytes.len()));
            }
            let mut next = 0;
            let parts = ptd.split(&options, |_| {
                next += 1;
                next
            });
            let mut out = Output::of(bytes.len());
            parts.iter().flatten().for_each(|part| count(part.image(), &mut out));
            if let Ok((file, _)) = Safetensors::of_ptd(&ptd, Unsupported::Skip) {
                count(file.image(), &mut Output::of(bytes.len()));
            }
        }
        Model::Pte(mut pte) => {
            if let Ok((weights, _)) = pte.weights() {
                count(weights.image(), &mut Output::of(bytes.len()));
            }
            if let Ok((data, _)) = pte.externalize(&options, |data| Some(data.key.to_owned())) {
                let mut out = Output::of(bytes.len());
                count(pte.image(), &mut out);
                count(data.image(), &mut out);
            }
        }
        _ => (),
    }
}

/// Adds test cases to a program's bundle, or to a bundle, and puts the program back.
pub fn add_case(bytes: &[u8]) {
    /// The largest tensor that is made.
    const LARGEST: usize = 1 << 12;
    let mut bpte = match Model::parse(bytes) {
        Ok(Model::Bpte(bpte)) => bpte,
        Ok(Model::Pte(_)) => Bpte::new(bytes),
        _ => return,
    };
    let choices = &mut choices(bytes);
    let Ok(program) = bpte.program().map(Pte::into_owned) else { return };
    for plan in program.methods() {
        let mut data = [Vec::new(), Vec::new()];
        for (list, data) in [plan.inputs(), plan.outputs()].into_iter().zip(&mut data) {
            for value in list.iter().filter_map(|index| plan.value(*index)) {
                let KernelTypes::Tensor(tensor) = &value.val else { continue };
                let size = tensor.shape().byte_size().unwrap_or_default();
                let size = usize::try_from(size).unwrap_or_default().min(LARGEST);
                let size = if choices.below(8) == 1 { size / 2 } else { size };
                data.push(match choices.yes() {
                    true => NewData::bytes("input.bin", vec![1; size]),
                    false => {
                        let sizes = tensor.sizes().to_vec();
                        NewEntry::tensor("input", tensor.scalar_type, sizes, vec![1; size]).into()
                    }
                });
            }
        }
        let opened: usize = data.iter().flatten().map(|data| data.bytes.len()).sum();
        if bpte.add_case(plan.name(), &data[0], &data[1]).is_ok() {
            count(bpte.image(), &mut Output::of(bytes.len() + opened));
        }
    }
    if let Ok(whole) = bpte.image().and_then(|image| image.to_vec()) {
        let again = Bpte::parse(&whole).expect("what we write, we read");
        assert_eq!(again.test_cases().count(), bpte.test_cases().count());
    }
    let _ = bpte.replace_program(bytes);
    bpte.set_program(bytes);
}

/// Reads an index of shards. Written again, it stays the same.
pub fn shard_index(bytes: &[u8]) {
    let Ok(index) = ShardIndex::parse(bytes) else { return };
    let files = index.files().len();
    let mut out = Output::of(bytes.len());
    let text = index.to_json().expect("an index is JSON");
    out.count(text.len() as u64);
    assert_eq!(ShardIndex::parse(text.as_bytes()).expect("what we write, we read"), index);
    let joined = Safetensors::join(Vec::new(), &index, Unsupported::Skip);
    assert_eq!(joined.is_ok(), index.weight_map.is_empty());
    assert!(files <= index.weight_map.len());
}
