//! Fetches one tensor of a large `.ptd` by range: the first 64 bytes, the metadata, then the tensor alone. A file stands in for the
//! object store here; a range request takes the place of `read`.
//!
//! cargo run --example fetch_tensor -- weights.ptd linear.weight

use executorch_format::{PROBE_SIZE, ParseOptions, Ptd, TensorView, probe};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: fetch_tensor FILE.ptd KEY";
    let (path, key) = (std::env::args().nth(1).ok_or(usage)?, std::env::args().nth(2).ok_or(usage)?);
    let mut store = Store(File::open(&path)?);
    let size = store.0.metadata()?.len();

    let first = store.read(0..size.min(PROBE_SIZE as u64))?;
    let metadata = store.read(probe(&first)?.metadata(size))?;
    let ptd = Ptd::parse_with(&metadata, &ParseOptions::METADATA)?;
    let entry = ptd.get(&key).ok_or("no such key")?;
    let range = ptd.range(&ptd.entry_data(&entry)?).ok_or("the file says no place for it")?;
    let bytes = store.read(range.clone())?;
    match entry.shape {
        Some(shape) => {
            let view = TensorView::new(shape, &bytes)?;
            println!("{key}: {shape}, {} elements, bytes {range:?} of {size}", view.elements());
        }
        None => println!("{key}: {} bytes at {range:?} of {size}", bytes.len()),
    }
    Ok(())
}

struct Store(File);

impl Store {
    fn read(&mut self, range: Range<u64>) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.0.seek(SeekFrom::Start(range.start))?;
        (&mut self.0).take(range.end - range.start).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
