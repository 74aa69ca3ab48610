//! SHA-256 of many blobs, on all cores.

use super::Blob;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

/// Small enough for the progress to move, large enough for its count to cost nothing.
const CHUNK: usize = 1 << 20;

/// How long the user waits without a sign.
const QUIET: Duration = Duration::from_millis(700);

type Key = (*const u8, usize);

/// Fills in the hash of every blob that has bytes. Bytes that several blobs share are read once.
pub fn fill(blobs: &mut [Blob<'_>]) {
    let mut wanted: HashMap<Key, &[u8]> = HashMap::new();
    for bytes in blobs.iter().filter_map(|blob| blob.bytes) {
        wanted.insert(key(bytes), bytes);
    }
    let mut work: Vec<&[u8]> = wanted.into_values().collect();
    // The largest first, so that no core is left alone with it at the end.
    work.sort_by_key(|bytes| std::cmp::Reverse(bytes.len()));
    let hashes = hash_all(&work);
    let hashes: HashMap<Key, String> = work.iter().map(|bytes| key(bytes)).zip(hashes).collect();
    for blob in blobs {
        blob.sha256 = blob.bytes.and_then(|bytes| hashes.get(&key(bytes)).cloned());
    }
}

fn key(bytes: &[u8]) -> Key {
    (bytes.as_ptr(), bytes.len())
}

/// The hash of each, in the same order.
fn hash_all(work: &[&[u8]]) -> Vec<String> {
    let total: usize = work.iter().map(|bytes| bytes.len()).sum();
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let workers = cores.min(work.len()).min(total / CHUNK + 1);
    if workers <= 1 && total < CHUNK {
        return work.iter().map(|bytes| hash(bytes, &bar)).collect();
    }
    let next = AtomicUsize::new(0);
    let hashes = Mutex::new(vec![String::new(); work.len()]);
    let (done, all_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        for _ in 0..workers {
            // Dropped when the worker ends: the channel closes with the last one.
            let done = done.clone();
            let (next, hashes, bar) = (&next, &hashes, &bar);
            scope.spawn(move || {
                let _done = done;
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(bytes) = work.get(at) else { break };
                    let hash = hash(bytes, bar);
                    if let Some(place) = hashes.lock().unwrap_or_else(PoisonError::into_inner).get_mut(at) {
                        *place = hash;
                    }
                }
            });
        }
        drop(done);
        if all_done.recv_timeout(QUIET) == Err(mpsc::RecvTimeoutError::Timeout) {
            show(&bar);
        }
    });
    bar.finish_and_clear();
    hashes.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn show(bar: &ProgressBar) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    if let Ok(style) = ProgressStyle::with_template("hashing {bar:40} {bytes}/{total_bytes} {binary_bytes_per_sec}") {
        bar.set_style(style);
    }
    bar.set_draw_target(ProgressDrawTarget::stderr());
}

fn hash(bytes: &[u8], bar: &ProgressBar) -> String {
    let mut hasher = Sha256::new();
    for chunk in bytes.chunks(CHUNK) {
        hasher.update(chunk);
        bar.inc(chunk.len() as u64);
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_come_back_in_order_whether_on_one_core_or_many() {
        let large = vec![7u8; 3 * CHUNK + 5];
        let work: Vec<&[u8]> = vec![&large, b"abc", b""];
        let hashes = hash_all(&work);
        let bar = ProgressBar::hidden();
        assert_eq!(hashes, work.iter().map(|bytes| hash(bytes, &bar)).collect::<Vec<_>>());
        assert_eq!(
            hashes.get(1).map(String::as_str),
            Some("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        );
        assert_eq!(hash_all(&[b"abc".as_slice()]), hashes.get(1..2).unwrap_or_default());
    }
}
