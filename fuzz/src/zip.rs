//! A mutator that keeps ZIP files valid. Random changes break checksums, and readers refuse these files at once.

use executorch_format::testing::Choices;
use std::io::{Cursor, Read, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The entry sizes that are kept. Others are left out.
const LARGEST: u64 = 1 << 20;

/// Changes a ZIP file: the content of an entry, by `mutate` (which gets the content, its size and the most bytes that fit), or the list
/// of entries. Returns `None` if the bytes are no ZIP file, or the result has more than `most` bytes.
pub fn mutated(
    bytes: &[u8],
    most: usize,
    seed: u32,
    mutate: impl FnOnce(&mut [u8], usize, usize) -> usize,
) -> Option<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).ok()?;
    let mut entries = Vec::new();
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index(index) else { continue };
        let (name, mut content) = (entry.name().to_owned(), Vec::new());
        if entry.take(LARGEST).read_to_end(&mut content).is_ok() {
            entries.push((name, content));
        }
    }
    let seed = seed.to_le_bytes();
    let choices = &mut Choices::new(&seed);
    let chosen = usize::from(choices.byte()).checked_rem(entries.len())?;
    let method = match choices.yes() {
        true => CompressionMethod::Stored,
        false => CompressionMethod::Deflated,
    };
    match choices.below(8) {
        0 => drop(entries.remove(chosen)),
        1 => {
            let (name, content) = entries.get(chosen)?.clone();
            entries.push((format!("{name}{}", choices.byte()), content));
        }
        _ => {
            let (_, content) = entries.get_mut(chosen)?;
            let size = content.len();
            content.resize(most.max(size), 0);
            let size = mutate(content, size, most);
            content.truncate(size);
        }
    }
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in &entries {
        writer.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).ok()?;
        writer.write_all(content).ok()?;
    }
    let written = writer.finish().ok()?.into_inner();
    (written.len() <= most).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use executorch_format::naming::EtRecord;

    #[test]
    fn a_changed_record_is_a_valid_zip_file() {
        let record = include_bytes!("../../tests/data/etrecord/net_portable.etrecord");
        let first = EtRecord::parse(record).unwrap();
        let (mut changed, mut read) = (0, 0);
        for seed in 0..64 {
            let changed_byte = |content: &mut [u8], size: usize, _| {
                content[size / 2] = content[size / 2].wrapping_add(1);
                size
            };
            let written = mutated(record, 1 << 20, seed * 0x0101_0101, changed_byte).unwrap();
            assert!(ZipArchive::new(Cursor::new(&written)).is_ok());
            changed += usize::from(written != record);
            read += usize::from(EtRecord::parse(&written).is_ok_and(|record| record == first));
        }
        assert!(changed == 64 && read > 0, "{changed} changed, {read} read");
        assert_eq!(mutated(b"no archive", 1 << 20, 0, |_, size, _| size), None);
        assert_eq!(mutated(record, 100, 0, |_, size, _| size), None);
    }
}
