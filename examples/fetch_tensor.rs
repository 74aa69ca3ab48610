//! Fetches one tensor of a large `.ptd` by range: the first 64 bytes, the metadata, then the tensor alone. A local file stands in for
//! the object store; replace `range` with a range request.
//!
//! cargo run --example fetch_tensor -- weights.ptd linear.weight

use executorch_format::{PROBE_SIZE, ParseOptions, Ptd, TensorView, probe};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let usage = "usage: fetch_tensor FILE.ptd KEY";
    let (path, key) = (std::env::args().nth(1).ok_or(usage)?, std::env::args().nth(2).ok_or(usage)?);
    let file = File::open(&path)?;
    let size = file.metadata()?.len();
    let range = |offset: u64, len: u64| -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&file).seek(SeekFrom::Start(offset))?;
        (&file).take(len).read_to_end(&mut bytes)?;
        Ok(bytes)
    };

    // `size` keeps every range inside the file, even if its header is wrong.
    let first = range(0, size.min(PROBE_SIZE as u64))?;
    let metadata = range(0, probe(&first)?.metadata(size)?.end)?;
    let ptd = Ptd::parse_with(&metadata, &ParseOptions::metadata_of(size))?;
    let entry = ptd.get(&key).ok_or("no such key")?;
    let place = ptd.range(&ptd.entry_data(&entry)?).ok_or("its segment is not inside the file")?;
    let bytes = range(place.start, place.end - place.start)?;
    match entry.shape {
        Some(shape) => {
            let view = TensorView::new(shape, &bytes)?;
            println!("{key}: {shape}, {} elements, bytes {place:?} of {size}", view.elements());
        }
        None => println!("{key}: {} bytes at {place:?} of {size}", bytes.len()),
    }
    Ok(())
}
