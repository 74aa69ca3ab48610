//! Options for the layout of a file.

use super::alignment;
use super::detect::Detected;
use crate::error::Result;
use crate::file::header::PteHeader;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::style::{ALIGNMENT, SEGMENT_ALIGNMENT, WriteStyle};
use crate::schema::program::DataLocation;
use crate::setters::setters;
use alloc::vec::Vec;

/// The layout of a `.pte`. The default is that of ExecuTorch's current exporter, in the file's own style.
///
/// ```
/// use executorch_format::{Pte, PteOptions};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pages = Pte::parse(&file)?.lay_out(&PteOptions::default().with_segment_alignment(4096))?;
/// let written = pages.image()?.to_vec()?;
/// assert_eq!(Pte::parse(&written)?.header.unwrap().segment_base_offset % 4096, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PteOptions {
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The alignment of constants in their segment, in bytes, a power of two. `None`: they are not moved.
    pub constant_alignment: Option<u32>,
    /// The location of constants. `None`: they are not moved. [`DataLocation::SEGMENT`]: constants inside the FlatBuffer, which
    /// runtimes since 1.3 refuse, are moved into a constant segment. Their indices do not change.
    pub constants: Option<DataLocation>,
    /// The alignment of delegate payloads, in the FlatBuffer or as segments, in bytes, a power of two.
    pub delegate_alignment: u32,
    /// The location of delegate payloads. `None`: they are not moved. Empty payloads are never moved out of the FlatBuffer.
    pub delegates: Option<DataLocation>,
    /// The style of the FlatBuffer. `None`: that of the file that was read, see [`Pte::write_style`].
    pub style: Option<WriteStyle>,
    /// The length of the extended header, in bytes: 32, or 24 as in ExecuTorch up to 0.7.
    pub header_length: u32,
}

setters! {
    PteOptions {
        segment_alignment = with_segment_alignment: u32,
        constant_alignment = with_constant_alignment: Option<u32>,
        constants = with_constants: Option<DataLocation>,
        delegate_alignment = with_delegate_alignment: u32,
        delegates = with_delegates: Option<DataLocation>,
        style = with_style: Option<WriteStyle>,
        header_length = with_header_length: u32,
    }
}

impl PteOptions {
    /// Returns the layout of a file as far as it can be detected: its style, the length of its header, and the alignments of
    /// its segments and payloads, up to 4096. Constants stay where they are.
    ///
    /// Fails as [`Pte::write_style`] does.
    pub fn of(pte: &Pte<'_>) -> Result<Self> {
        let default = Self::default();
        let Detected { style, exact, .. } = pte.write_style()?;
        let segments = pte.program.segments();
        let mut payloads = Vec::new();
        // The offset of a single payload can be a multiple of more than the requested alignment. An exact style states the requested one.
        for index in pte.payload_segments().into_iter().filter(|_| !exact) {
            if let Some(segment) = segments.get(index as usize) {
                payloads.push(segment.offset);
            }
        }
        let inline_constants = pte.program.constant_buffer().len() > 1;
        Ok(Self {
            segment_alignment: style.segment_alignment,
            constant_alignment: inline_constants.then_some(style.constant_alignment),
            delegate_alignment: alignment::common(&payloads, style.delegate_alignment),
            style: Some(style),
            header_length: pte.header.map_or(default.header_length, |header| header.length),
            ..default
        })
    }
}

impl Default for PteOptions {
    fn default() -> Self {
        Self {
            segment_alignment: SEGMENT_ALIGNMENT,
            constant_alignment: None,
            constants: None,
            delegate_alignment: ALIGNMENT,
            delegates: None,
            style: None,
            header_length: PteHeader::LONG,
        }
    }
}

/// The layout of a `.ptd`. The default is that of ExecuTorch's current Python writer, in the file's own style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PtdOptions {
    /// The alignment of segments, in bytes, a power of two.
    pub segment_alignment: u32,
    /// The style of the FlatBuffer. `None`: that of the file that was read, see [`Ptd::write_style`].
    pub style: Option<WriteStyle>,
}

setters! {
    PtdOptions {
        segment_alignment = with_segment_alignment: u32,
        style = with_style: Option<WriteStyle>,
    }
}

impl PtdOptions {
    /// Returns the layout of a file as far as it can be detected, as for [`PteOptions::of`].
    ///
    /// Fails as [`Pte::write_style`] does.
    pub fn of(ptd: &Ptd<'_>) -> Result<Self> {
        let style = ptd.write_style()?.style;
        Ok(Self { segment_alignment: style.segment_alignment, style: Some(style) })
    }
}

impl Default for PtdOptions {
    fn default() -> Self {
        Self { segment_alignment: SEGMENT_ALIGNMENT, style: None }
    }
}
