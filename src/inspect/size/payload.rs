//! The parts of a delegate's payload, as stated in its own header.
//!
//! XNNPACK's and Vulkan's payloads start with the same fields (ExecuTorch's `XNNHeader` and `VulkanDelegateHeader`):
//!
//! | bytes | what |
//! |---|---|
//! | 4..8 | `XH00` or `VH00` |
//! | 8..10 | u16 length of the header |
//! | 10..14, 14..18 | u32 offset and u32 size of the FlatBuffer |
//! | 18..22, 22..30 | u32 offset and u64 size of the weights |

use alloc::{vec, vec::Vec};
use core::ops::Range;

const HEADER: u64 = 30;

/// Returns a payload's parts in order, without gaps: their names, and their ranges of bytes in the payload.
pub(super) fn parts(payload: &[u8]) -> Vec<(&'static str, Range<u64>)> {
    known(payload).unwrap_or_else(|| vec![("payload", 0..payload.len() as u64)])
}

fn known(payload: &[u8]) -> Option<Vec<(&'static str, Range<u64>)>> {
    if !matches!(payload.get(4..8)?, b"XH00" | b"VH00") {
        return None;
    }
    let number = |at: usize, size: usize| {
        let bytes = payload.get(at..)?.get(..size)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    let range = |offset: u64, size: u64| Some(offset..offset.checked_add(size)?);
    let length = payload.len() as u64;
    let flatbuffer = range(number(10, 4)?, number(14, 4)?)?;
    let weights = range(number(18, 4)?, number(22, 8)?)?;
    let mut parts = Vec::new();
    let mut end = 0;
    for (what, part) in [("header", 0..HEADER), ("FlatBuffer", flatbuffer), ("weights", weights)] {
        if part.is_empty() {
            continue;
        }
        // Parts that overlap or are outside the payload cannot be separated.
        if part.start < end || part.end > length {
            return None;
        }
        parts.push(("padding", end..part.start));
        end = part.end;
        parts.push((what, part));
    }
    parts.push(("padding", end..length));
    parts.retain(|(_, part)| !part.is_empty());
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(flatbuffer: (u32, u32), weights: (u32, u64)) -> Vec<u8> {
        let mut payload = vec![0; 4];
        payload.extend(b"XH00\x1e\0");
        for number in [flatbuffer.0, flatbuffer.1, weights.0] {
            payload.extend(number.to_le_bytes());
        }
        payload.extend(weights.1.to_le_bytes());
        payload.resize(100, 0);
        payload
    }

    #[test]
    fn a_payload_is_split_as_its_header_states() {
        let parts = super::parts(&payload((32, 40), (80, 20)));
        let expected =
            [("header", 0..30), ("padding", 30..32), ("FlatBuffer", 32..72), ("padding", 72..80), ("weights", 80..100)];
        assert_eq!(parts, expected);
        // XNNPACK payloads since ExecuTorch 0.6 have their weights elsewhere.
        let parts = super::parts(&payload((32, 40), (80, 0)));
        assert_eq!(parts.last(), Some(&("padding", 72..100)));
    }

    #[test]
    fn a_payload_with_a_wrong_or_unknown_header_is_one_part() {
        for wrong in
            [payload((32, 40), (80, 21)), payload((32, 49), (80, 20)), payload((20, 40), (80, 20)), vec![7; 100]]
        {
            assert_eq!(super::parts(&wrong), [("payload", 0..100)]);
        }
        assert_eq!(super::parts(&payload((32, 40), (80, u64::MAX))), [("payload", 0..100)]);
        assert_eq!(super::parts(b"1234XH00"), [("payload", 0..8)]);
        assert_eq!(super::parts(b""), [("payload", 0..0)]);
    }
}
