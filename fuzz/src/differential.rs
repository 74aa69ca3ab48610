//! Against the `flatbuffers` crate's verifier: whatever it refuses, we refuse, apart from what `excused` lists.

use executorch_format_support::peer;
use crate::round_trip::written;
use executorch_format::{Ptd, Pte, probe};
use flatbuffers::InvalidFlatbuffer;

/// Verifies the metadata with both. Where the peer refuses for a reason that is excused, it must take what we write of it.
pub fn differential(bytes: &[u8]) {
    if Pte::check(bytes).is_ok() && !agrees(bytes, peer::verify_program) {
        let written = Pte::parse(bytes).map(|pte| written(pte.image_as_is())).expect("a checked file");
        assert_taken(written, peer::verify_program);
    }
    // The early schemas are others than the one that the peer knows.
    let current = |ptd: &Ptd<'_>| ptd.flat_tensor.legacy.is_none();
    if let Some(ptd) = Ptd::parse(bytes).ok().filter(current) {
        if !agrees(bytes, peer::verify_flat_tensor) {
            assert_taken(written(ptd.image_as_is()), peer::verify_flat_tensor);
        }
    }
}

type Verify = fn(&[u8]) -> Result<(), InvalidFlatbuffer>;

fn metadata(bytes: &[u8]) -> &[u8] {
    let range = probe(bytes).expect("a checked file").metadata(bytes.len() as u64);
    &bytes[..range.end as usize]
}

/// Whether the peer takes it too, which it may refuse for what is excused alone.
fn agrees(bytes: &[u8], verify: Verify) -> bool {
    let metadata = metadata(bytes);
    let verdict = verify(metadata);
    if let Err(error) = &verdict {
        assert!(excused(error, metadata), "the flatbuffers crate refuses what we take: {error:?}");
    }
    verdict.is_ok()
}

fn assert_taken(written: Option<Vec<u8>>, verify: Verify) {
    if let Some(written) = written {
        verify(metadata(&written)).expect("what we write, the flatbuffers crate takes");
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
