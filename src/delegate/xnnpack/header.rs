//! The header of an XNNPACK payload. Its fields are not aligned.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | zero |
//! | 4..8 | `XH00` |
//! | 8..10 | u16 length of the header: 30 |
//! | 10..14 | u32 offset of the FlatBuffer, from the payload's start |
//! | 14..18 | u32 size of the FlatBuffer in bytes, without padding |
//! | 18..22 | u32 offset of the constant data, from the payload's start |
//! | 22..30 | u64 size of the constant data, in bytes |

use crate::error::{Error, ErrorKind, Result};
use alloc::{borrow::Cow, format};
use core::ops::Range;

pub(in crate::delegate) const MAGIC: &[u8; 4] = b"XH00";

/// The header of an XNNPACK payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct XnnpackHeader {
    /// The size of the header, in bytes: 30. Readers ignore it.
    pub length: u16,
    /// The start of the FlatBuffer, in bytes from the payload's start: 32.
    pub flatbuffer_offset: u32,
    /// The size of the FlatBuffer without padding, in bytes.
    pub flatbuffer_size: u32,
    /// The start of the constant data, in bytes from the payload's start.
    pub constant_data_offset: u32,
    /// The size of the constant data, in bytes: 0 if constants have keys.
    pub constant_data_size: u64,
}

impl XnnpackHeader {
    /// The size of the header, in bytes.
    pub const LENGTH: u16 = 30;

    /// Reads the fields from the first bytes of a payload. Returns `None` if there are too few bytes.
    pub(in crate::delegate) fn fields(payload: &[u8]) -> Option<Self> {
        let bytes = payload.first_chunk::<{ Self::LENGTH as usize }>()?;
        let [_, _, _, _, _, _, _, _, l0, l1, o0, o1, o2, o3, s0, s1, s2, s3, c0, c1, c2, c3, size @ ..] = *bytes;
        Some(Self {
            length: u16::from_le_bytes([l0, l1]),
            flatbuffer_offset: u32::from_le_bytes([o0, o1, o2, o3]),
            flatbuffer_size: u32::from_le_bytes([s0, s1, s2, s3]),
            constant_data_offset: u32::from_le_bytes([c0, c1, c2, c3]),
            constant_data_size: u64::from_le_bytes(size),
        })
    }

    /// Reads and checks the header. Like the runtime, fails if the header or its ranges are not inside the payload, with
    /// [`ErrorKind::Header`]. `what` names the payload in errors.
    pub(in crate::delegate) fn parse(payload: &[u8], what: &str) -> Result<Self> {
        let available = payload.len() as u64;
        let Some(header) = Self::fields(payload) else {
            let found = format!("{what} payload of {available} bytes, expected at least {}", Self::LENGTH);
            return Err(bad(payload.len(), found));
        };
        let flatbuffer = header.flatbuffer();
        if header.flatbuffer_size < 8 || flatbuffer.end > available {
            let (size, start) = (header.flatbuffer_size, header.flatbuffer_offset);
            let found = format!("a FlatBuffer of {size} bytes from {start}, expected at least 8, inside {available}");
            return Err(bad(10, found));
        }
        let start = u64::from(header.constant_data_offset);
        if start < flatbuffer.end {
            let end = flatbuffer.end;
            return Err(bad(18, format!("constant data from {start}, expected after the FlatBuffer's end at {end}")));
        }
        if start.checked_add(header.constant_data_size).is_none_or(|end| end > available) {
            let size = header.constant_data_size;
            return Err(bad(18, format!("constant data of {size} bytes from {start}, expected inside {available}")));
        }
        Ok(header)
    }

    /// Returns the range of the FlatBuffer in the payload.
    pub fn flatbuffer(&self) -> Range<u64> {
        let start = u64::from(self.flatbuffer_offset);
        start..start + u64::from(self.flatbuffer_size)
    }

    /// Returns the range of the constant data in the payload.
    pub fn constant_data(&self) -> Range<u64> {
        let start = u64::from(self.constant_data_offset);
        start..start.saturating_add(self.constant_data_size)
    }

    /// Returns the FlatBuffer and the constant data of the payload whose parsed header this is.
    #[expect(clippy::indexing_slicing, reason = "`parse` checked that both ranges are inside the payload")]
    pub(in crate::delegate) fn cut<'p>(&self, payload: &'p [u8]) -> [&'p [u8]; 2] {
        [self.flatbuffer(), self.constant_data()].map(|range| &payload[range.start as usize..range.end as usize])
    }

    /// Returns the bytes of the header.
    pub(crate) fn to_bytes(self) -> [u8; Self::LENGTH as usize] {
        let mut bytes = [0; Self::LENGTH as usize];
        let fields: [&[u8]; 7] = [
            &[0; 4],
            MAGIC,
            &self.length.to_le_bytes(),
            &self.flatbuffer_offset.to_le_bytes(),
            &self.flatbuffer_size.to_le_bytes(),
            &self.constant_data_offset.to_le_bytes(),
            &self.constant_data_size.to_le_bytes(),
        ];
        for (place, byte) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *place = *byte;
        }
        bytes
    }
}

#[cold]
pub(super) fn bad(at: usize, found: impl Into<Cow<'static, str>>) -> Error {
    Error::at(at, ErrorKind::Header(found.into()))
}
