//! Against the `flatbuffers` crate's verifier: whatever it refuses, we refuse, apart from what `excused` lists.

use crate::round_trip::written;
use executorch_format::{Ptd, Pte, probe};
use executorch_format_support::peer;
use flatbuffers::InvalidFlatbuffer;

/// Verifies the metadata with both, and what we write of it too.
pub fn differential(bytes: &[u8]) {
    if let Ok(pte) = Pte::parse(bytes) {
        assert_eq!(Pte::check(bytes), Ok(()));
        assert_agrees(bytes, peer::verify_program);
        if let Some(written) = written(pte.image_as_is()) {
            assert_agrees(&written, peer::verify_program);
        }
    }
    // The early schemas are others than the one that the peer knows.
    let current = |ptd: &Ptd<'_>| ptd.flat_tensor.legacy.is_none();
    if let Some(ptd) = Ptd::parse(bytes).ok().filter(current) {
        assert_eq!(Ptd::check(bytes), Ok(()));
        assert_agrees(bytes, peer::verify_flat_tensor);
        if let Some(written) = written(ptd.image_as_is()) {
            assert_agrees(&written, peer::verify_flat_tensor);
        }
    }
}

type Verify = fn(&[u8]) -> Result<(), InvalidFlatbuffer>;

/// The peer takes it too, or refuses it for what is excused.
fn assert_agrees(bytes: &[u8], verify: Verify) {
    let range = probe(bytes).expect("a parsed file").metadata(bytes.len() as u64);
    let metadata = &bytes[..range.end as usize];
    if let Err(error) = verify(metadata) {
        assert!(excused(&error), "the flatbuffers crate refuses what we take: {error:?}");
    }
}

/// What we take and generated Rust does not, since official C++ takes it: `pte verify` says so instead.
fn excused(error: &InvalidFlatbuffer) -> bool {
    match error {
        // A tag without a value, or a value without a tag: kept as an unknown member.
        InvalidFlatbuffer::InconsistentUnion { .. } => true,
        InvalidFlatbuffer::Utf8Error { .. } => true,
        // The elements of a vector: flatc does not align those of an empty one, and C++ aligns none of 8 bytes to more than 4.
        InvalidFlatbuffer::Unaligned { position, .. } => position % 4 == 0,
        _ => false,
    }
}
