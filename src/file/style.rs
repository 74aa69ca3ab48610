//! The style in which a file is encoded.

use crate::error::{Error, Result};
use crate::flatbuffer::write::{FieldOrder, VtableSharing};
use alloc::format;

/// The style in which a file's metadata is encoded: the differences between official writers that are not in the tree or the
/// header.
///
/// A tree that was read is written in its file's own style, see [`Pte::image`](crate::Pte::image). The default is the style of
/// ExecuTorch's current Python exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WriteStyle {
    /// The order in which the fields of a table are written.
    pub field_order: FieldOrder,
    /// The tables that share a vtable.
    pub vtable_sharing: VtableSharing,
    /// `true` if an empty vector is aligned like one with elements.
    pub align_empty: bool,
    /// `true` if each key of a `.ptd` is followed by its segment's table, as C++ `save_ptd` writes them.
    pub interleaved: bool,
    /// The alignment of constants inside the FlatBuffer, in bytes, a power of two.
    pub constant_alignment: u32,
    /// The alignment of delegate payloads inside the FlatBuffer, in bytes, a power of two.
    pub delegate_alignment: u32,
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The number of bytes between the FlatBuffer's first 8 bytes and the rest, if there is a header: its length and its padding. `None`
    /// stands for its length, padded to a multiple of the largest alignment above, or of 16.
    pub header_gap: Option<u32>,
}

impl WriteStyle {
    /// ExecuTorch's Python exporter since 1.2, with `flatbuffers` 25.12 or later, for `.pte`.
    pub const PYTHON: Self = Self {
        field_order: FieldOrder::ById,
        vtable_sharing: VtableSharing::ByEntriesAndSize,
        align_empty: true,
        interleaved: false,
        constant_alignment: ALIGNMENT,
        delegate_alignment: ALIGNMENT,
        segment_alignment: SEGMENT_ALIGNMENT,
        header_gap: None,
    };
    /// Like [`PYTHON`](Self::PYTHON), with an older `flatbuffers`, up to 25.9.
    pub const PYTHON_OLD_FLATBUFFERS: Self = Self { vtable_sharing: VtableSharing::ByEntries, ..Self::PYTHON };
    /// flatc, from JSON, for `.pte` up to ExecuTorch 1.1, and for `.ptd` from Python.
    pub const FLATC: Self = Self { field_order: FieldOrder::BySize, align_empty: false, ..Self::PYTHON };
    /// An early flatc, as used by ExecuTorch before 0.2, for `.pte`.
    pub const EARLY_FLATC: Self = Self { align_empty: true, ..Self::FLATC };
    /// C++ `save_ptd`, for `.ptd`.
    pub const SAVE_PTD: Self = Self { interleaved: true, ..Self::FLATC };
}

impl Default for WriteStyle {
    fn default() -> Self {
        Self::PYTHON
    }
}

/// The official exporter's default alignment of constants, initial states, delegate payloads and planned tensors: 16 bytes.
pub const ALIGNMENT: u32 = 16;

/// The official exporter's default alignment of segments since ExecuTorch 0.4: 128 bytes.
pub const SEGMENT_ALIGNMENT: u32 = 128;

/// The largest accepted alignment. A FlatBuffer is smaller than 2 GiB, so a larger alignment is useless.
pub(crate) const MAX_ALIGNMENT: u32 = 1 << 30;

pub(crate) fn alignment(alignment: u32, name: &'static str) -> Result<usize> {
    if alignment.is_power_of_two() && alignment <= MAX_ALIGNMENT {
        return Ok(alignment as usize);
    }
    Err(Error::unwritable(format!("{name} is {alignment}, expected a power of two up to {MAX_ALIGNMENT}")))
}
