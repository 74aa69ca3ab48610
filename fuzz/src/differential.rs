//! Against the `flatbuffers` crate's verifier: whatever it refuses, we refuse, apart from what `excused` lists.

use crate::peer;
use executorch_format::{Ptd, Pte, probe};
use flatbuffers::InvalidFlatbuffer;

/// Verifies the metadata with both.
pub fn differential(bytes: &[u8]) {
    let Ok(probe) = probe(bytes) else { return };
    let metadata = probe.metadata.end.and_then(|end| bytes.get(..end as usize)).unwrap_or(bytes);
    if Pte::check(bytes).is_ok() {
        expect(peer::verify_program(metadata), metadata);
    }
    // The early schemas are others than the one that the peer knows.
    if Ptd::parse(bytes).is_ok_and(|ptd| ptd.flat_tensor.legacy.is_none()) {
        expect(peer::verify_flat_tensor(metadata), metadata);
    }
}

fn expect(verdict: Result<(), InvalidFlatbuffer>, metadata: &[u8]) {
    if let Err(error) = verdict {
        assert!(excused(&error, metadata), "the flatbuffers crate refuses what we take: {error:?}");
    }
}

/// What we take and it does not, on purpose.
fn excused(error: &InvalidFlatbuffer, metadata: &[u8]) -> bool {
    match error {
        // A tag of 0 that is written out, with no value: a union of nothing, as its absence is.
        InvalidFlatbuffer::InconsistentUnion { .. } => true,
        // The first element of a vector that has none: flatc leaves an empty vector where it comes to lie.
        InvalidFlatbuffer::Unaligned { position, .. } => {
            let count = position.checked_sub(4).and_then(|count| metadata.get(count..)?.first_chunk::<4>());
            count.is_some_and(|count| *count == [0; 4])
        }
        _ => false,
    }
}
