//! Compares with the verifier of the `flatbuffers` crate: this crate must refuse everything that the peer refuses, except faults in `excused`.

use crate::round_trip::written;
use executorch_format::{Ptd, Pte, probe};
use executorch_format_peer as peer;
use flatbuffers::InvalidFlatbuffer;

/// Verifies the metadata with both, and also the metadata after writing it again.
pub fn differential(bytes: &[u8]) {
    if let Ok(pte) = Pte::parse(bytes) {
        assert_eq!(Pte::verify_structure(bytes), Ok(()));
        assert_agrees(bytes, peer::verify_program);
        if let Some(written) = written(pte.image_as_is()) {
            assert_agrees(&written, peer::verify_program);
        }
    }
    // The peer does not support the early schemas.
    let current = |ptd: &Ptd<'_>| ptd.flat_tensor.legacy.is_none();
    if let Some(ptd) = Ptd::parse(bytes).ok().filter(current) {
        assert_eq!(Ptd::verify_structure(bytes), Ok(()));
        assert_agrees(bytes, peer::verify_flat_tensor);
        if let Some(written) = written(ptd.image_as_is()) {
            assert_agrees(&written, peer::verify_flat_tensor);
        }
    }
}

type Verify = fn(&[u8]) -> Result<(), InvalidFlatbuffer>;

/// Checks that the peer accepts the file too, or refuses it for an excused reason.
fn assert_agrees(bytes: &[u8], verify: Verify) {
    let range = probe(bytes).expect("a parsed file").metadata(bytes.len() as u64).expect("inside the file");
    let metadata = &bytes[..range.end as usize];
    if let Err(error) = verify(metadata) {
        assert!(excused(&error), "the flatbuffers crate refuses a file that we accept: {error:?}");
    }
}

/// Returns `true` for faults that this crate accepts and generated Rust code refuses, because ExecuTorch's C++ accepts them. `pte verify` reports them.
fn excused(error: &InvalidFlatbuffer) -> bool {
    match error {
        // A tag without a value, or a value without a tag, is kept as an unknown member.
        InvalidFlatbuffer::InconsistentUnion { .. } => true,
        InvalidFlatbuffer::Utf8Error { .. } => true,
        // The elements of a vector: flatc does not align those of an empty vector, and C++ aligns 8-byte elements only to 4.
        InvalidFlatbuffer::Unaligned { position, .. } => position % 4 == 0,
        _ => false,
    }
}
