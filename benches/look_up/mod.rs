//! Reads one tensor of a `.ptd` file.

use executorch_format::Ptd;
use executorch_format_peer as peer;

/// Returns the bytes of a tensor, given only the file.
pub fn view<'a>(file: &'a [u8], key: &str) -> &'a [u8] {
    let ptd = Ptd::parse(file).unwrap();
    let entry = ptd.get(key).unwrap();
    let range = ptd.range(&ptd.entry_data(&entry).unwrap()).unwrap();
    &file[range.start as usize..range.end as usize]
}

/// Returns the same bytes by the generated code, which also needs the end of the metadata.
pub fn peer_view<'a>(file: &'a [u8], metadata: usize, key: &str) -> &'a [u8] {
    let base = u64::from_le_bytes(file[32..40].try_into().unwrap());
    let root = peer::root_as_flat_tensor(&file[..metadata]).unwrap();
    let entry = root.named_data().unwrap().iter().find(|entry| entry.key() == Some(key)).unwrap();
    let segment = root.segments().unwrap().get(entry.segment_index() as usize);
    let start = (base + segment.offset()) as usize;
    &file[start..start + segment.size() as usize]
}
