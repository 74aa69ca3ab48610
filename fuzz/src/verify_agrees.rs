//! The check-only run and the decoding run must have the same result and the same first error.

use executorch_format::{Limits, ParseOptions, Ptd, Pte};

/// Checks this with the default limits and with lower ones.
pub fn verify_agrees(bytes: &[u8]) {
    let size = bytes.len() as u32;
    let narrow = [size / 16, size / 3, size.saturating_mul(4)].map(|bytes| Limits::default().with_bytes(Some(bytes)));
    for limits in [Limits::default()].into_iter().chain(narrow) {
        let options = ParseOptions::default().with_limits(limits);
        assert_eq!(Pte::verify_structure_with(bytes, &options).err(), Pte::parse_with(bytes, &options).err());
        assert_eq!(Ptd::verify_structure_with(bytes, &options).err(), Ptd::parse_with(bytes, &options).err());
    }
    assert_eq!(Pte::verify_structure(bytes).err(), Pte::parse(bytes).err());
    assert_eq!(Ptd::verify_structure(bytes).err(), Ptd::parse(bytes).err());
}
