//! SHA-256 of many ranges of one file, in one pass over it.

use crate::error::Result;
use crate::file::joined;
use crate::object::Object;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::ops::Range;

/// The maximum distance of two ranges that are read with one request.
const GAP: u64 = 1 << 20;

/// The SHA-256 of ranges.
pub type Hashes = HashMap<Range<u64>, [u8; 32]>;

/// Hashes each range. `whole` is the file if it is already in memory; `progress` is called with the number of bytes read.
pub async fn all(
    object: &Object,
    whole: Option<&[u8]>,
    ranges: &[Range<u64>],
    mut progress: impl FnMut(u64),
) -> Result<Hashes> {
    let mut wanted: Vec<Range<u64>> = ranges.iter().filter(|range| range.end <= object.size).cloned().collect();
    wanted.sort_unstable_by_key(|range| (range.start, range.end));
    wanted.dedup();
    let mut pass = Pass { wanted: wanted.iter(), active: Vec::new(), done: Hashes::new() };
    if let Some(bytes) = whole {
        pass.take(0, bytes);
    } else {
        for range in joined(wanted.clone(), GAP) {
            object
                .read(range, |start, bytes| {
                    pass.take(start, bytes);
                    progress(bytes.len() as u64);
                })
                .await?;
        }
    }
    // Empty ranges are not ended by any byte.
    let empty: [u8; 32] = Sha256::digest(b"").into();
    let mut done = pass.done;
    done.extend(wanted.iter().filter(|range| range.is_empty()).map(|range| (range.clone(), empty)));
    Ok(done)
}

/// Sorted ranges. The hashes of those that have begun are being computed.
struct Pass<'r> {
    wanted: std::slice::Iter<'r, Range<u64>>,
    active: Vec<(Range<u64>, Sha256)>,
    done: Hashes,
}

impl Pass<'_> {
    /// Hashes the bytes at `start`, which follow the previous bytes or a gap without any wanted range.
    #[expect(
        clippy::indexing_slicing,
        reason = "active ranges have bytes before `end`, and end after the previous bytes"
    )]
    fn take(&mut self, start: u64, bytes: &[u8]) {
        let end = start + bytes.len() as u64;
        while let Some(range) = self.wanted.as_slice().first().filter(|range| range.start < end) {
            self.wanted.next();
            if !range.is_empty() {
                self.active.push((range.clone(), Sha256::new()));
            }
        }
        for (range, hasher) in &mut self.active {
            let (from, to) = (range.start.max(start) - start, range.end.min(end) - start);
            hasher.update(&bytes[from as usize..to as usize]);
        }
        let done = &mut self.done;
        self.active.retain_mut(|(range, hasher)| {
            if range.end <= end {
                done.insert(range.clone(), std::mem::take(hasher).finalize().into());
            }
            range.end > end
        });
    }
}
