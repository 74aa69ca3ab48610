//! SHA-256 of many blobs, on all cores.

use super::BlobRow;
use crate::failure::Failure;
use crate::open::{Input, ReadSeek};
use crate::progress::{self, QUIET};
use crate::text;
use executorch_format::inspect::BlobKind;
use indicatif::ProgressBar;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::io::{self, SeekFrom};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

/// The number of bytes that each worker reads at a time. Mapped memory would stay resident until the process ends.
const CHUNK: usize = 1 << 20;

/// The maximum average number of times that a byte is hashed. Blobs are nested a few levels deep: a constant in a payload in a segment in a
/// bundle. Hostile files can nest more.
const MAX_TIMES: u64 = 16;

/// The start of a blob in the file, and its size, in bytes.
type Range = (u64, u64);

/// Adds the hash of every blob in the file. Bytes shared by several blobs are read once. Fails if blobs overlap so much that
/// the file would be read many times over.
pub fn fill(input: &Input, blobs: &mut [BlobRow<'_>]) -> Result<(), Failure> {
    let ranges: HashSet<Range> = blobs.iter().filter_map(range).collect();
    let mut ranges: Vec<Range> = ranges.into_iter().collect();
    let total = ranges.iter().map(|(_, size)| *size).fold(0, u64::saturating_add);
    let file = input.bytes().len() as u64;
    if total > MAX_TIMES.saturating_mul(file) {
        let fault = format!(
            "its blobs overlap: they have {total} bytes in total, more than {MAX_TIMES} times the file's {file}"
        );
        return Err(Failure::Bad { file: input.path().to_owned(), findings: vec![fault] });
    }
    if let Some((start, size)) = ranges.iter().find(|(start, size)| start.saturating_add(*size) > file) {
        let fault = format!("a blob of {size} bytes from byte {start} ends after the file, which has {file} bytes");
        return Err(Failure::Bad { file: input.path().to_owned(), findings: vec![fault] });
    }
    #[cfg(feature = "remote")]
    if let Some(distant) = input.distant().filter(|_| !input.is_whole()) {
        return fill_distant(distant, input.path(), &ranges, blobs);
    }
    // Largest first, so that all cores finish at about the same time.
    ranges.sort_by_key(|(start, size)| (std::cmp::Reverse(*size), *start));
    let hashes = hash_all(&ranges, || input.reader())
        .map_err(|error| Failure::Unreadable { file: input.path().to_owned(), error })?;
    for blob in blobs {
        blob.sha256 = range(blob).and_then(|range| hashes.get(&range).cloned());
    }
    Ok(())
}

/// Does the same for a file in a store, in one pass.
#[cfg(feature = "remote")]
fn fill_distant(
    file: &crate::remote::Distant,
    path: &std::path::Path,
    ranges: &[Range],
    blobs: &mut [BlobRow<'_>],
) -> Result<(), Failure> {
    let place = |(start, size): Range| start..start.saturating_add(size);
    let ranges: Vec<_> = ranges.iter().map(|range| place(*range)).collect();
    let bar = progress::hidden(file.size());
    progress::show(&bar, "hashing");
    let hashes = crate::remote::hash(file, path, &ranges, |bytes| bar.inc(bytes));
    bar.finish_and_clear();
    let hashes = hashes?;
    for blob in blobs {
        blob.sha256 = range(blob).and_then(|range| hashes.get(&place(range)).map(|hash| text::hex(hash)));
    }
    Ok(())
}

fn range(blob: &BlobRow<'_>) -> Option<Range> {
    match blob.kind {
        BlobKind::External => None,
        BlobKind::DelegateConstant => Some((blob.offset?, blob.size?)),
        // An empty blob may have no offset.
        _ => Some((blob.offset.unwrap_or(0), blob.size?)),
    }
}

/// Returns the hash of each range. Every worker has its own reader.
fn hash_all<'i>(
    ranges: &[Range],
    reader: impl Fn() -> io::Result<Box<dyn ReadSeek + 'i>> + Sync,
) -> io::Result<HashMap<Range, String>> {
    let total = ranges.iter().map(|(_, size)| *size).fold(0, u64::saturating_add);
    let bar = progress::hidden(total);
    // Hashing a small file takes less time than starting a second thread.
    let useful = usize::try_from(total / CHUNK as u64).unwrap_or(usize::MAX).saturating_add(1);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(ranges.len()).min(useful);
    let next = AtomicUsize::new(0);
    let work = || -> io::Result<Vec<(Range, String)>> {
        let mut reader = reader()?;
        let mut buffer = vec![0; CHUNK.min(usize::try_from(total).unwrap_or(CHUNK))];
        let mut done = Vec::new();
        while let Some(range) = ranges.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*range, hash(reader.as_mut(), *range, &mut buffer, &bar)?));
        }
        Ok(done)
    };
    let hashes = thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        let start = |_| {
            // These are dropped when the worker ends, so the channel closes with the last worker.
            let (end, work) = (end.clone(), &work);
            scope.spawn(move || {
                let _end = end;
                work()
            })
        };
        let workers: Vec<_> = (0..workers).map(start).collect();
        drop(end);
        if ended.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
            progress::show(&bar, "hashing");
        }
        let mut hashes = HashMap::new();
        for worker in workers {
            hashes.extend(worker.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(hashes)
    });
    bar.finish_and_clear();
    hashes
}

fn hash(reader: &mut dyn ReadSeek, (start, size): Range, buffer: &mut [u8], bar: &ProgressBar) -> io::Result<String> {
    let mut hasher = Sha256::new();
    reader.seek(SeekFrom::Start(start))?;
    let mut left = size;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let (chunk, _) = buffer.split_at_mut(length);
        reader.read_exact(chunk)?;
        hasher.update(&*chunk);
        bar.inc(length as u64);
        left -= length as u64;
    }
    Ok(text::hex(&hasher.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn hashes(file: &[u8], ranges: &[Range]) -> io::Result<HashMap<Range, String>> {
        hash_all(ranges, || Ok(Box::new(Cursor::new(file))))
    }

    #[test]
    fn each_range_gets_its_own_hash_on_one_core_or_many() {
        let mut file = vec![7u8; 3 * CHUNK + 5];
        file.extend_from_slice(b"abc");
        let (whole, end) = ((0, file.len() as u64), (3 * CHUNK as u64 + 5, 3));
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let many = hashes(&file, &[whole, end, (0, 0)]).unwrap_or_default();
        let expected = text::hex(&Sha256::digest(&file));
        assert_eq!(many.len(), 3);
        assert_eq!(many.get(&whole), Some(&expected));
        assert_eq!(many.get(&end).map(String::as_str), Some(abc));
        assert_eq!(many.get(&(0, 0)).map(String::as_str), Some(empty));
        assert_eq!(hashes(&file, &[end]).unwrap_or_default().get(&end).map(String::as_str), Some(abc));
    }

    #[test]
    fn a_file_that_shrank_after_opening_is_an_error() {
        assert!(hashes(b"abc", &[(1, 3)]).is_err());
    }
}
