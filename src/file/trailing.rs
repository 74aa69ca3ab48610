//! Bytes of a file that belong to nothing: a new layout has no place for them.

use super::model::Model;
use super::ptd::Ptd;
use super::pte::Pte;
use super::segment::slice;
use super::source::Source;
use crate::schema::DataSegment;
use core::ops::Range;

impl Pte<'_> {
    /// The bytes of the file after its last segment, which nothing describes: [`image`](Self::image) keeps them as long as nothing
    /// was changed, [`lay_out`](Self::lay_out) drops them. Zeros up to where the header says that the data ends are padding. Empty
    /// where there are none, and without a header or the whole file.
    pub fn trailing_bytes(&self) -> Range<u64> {
        let header =
            self.header.map(|header| (header.segment_base_offset, header.segment_data_size.unwrap_or_default()));
        trailing(self.source.as_ref(), header, self.program.segments())
    }
}

impl Ptd<'_> {
    /// The bytes of the file after its last segment, as for [`Pte::trailing_bytes`].
    pub fn trailing_bytes(&self) -> Range<u64> {
        let header = self.header.map(|header| (header.segment_base_offset, header.segment_data_size));
        trailing(self.source.as_ref(), header, self.flat_tensor.segments())
    }
}

impl Model<'_> {
    /// The bytes of the file after its last segment, as for [`Pte::trailing_bytes`]. Other kinds of files have no segments.
    pub fn trailing_bytes(&self) -> Range<u64> {
        match self {
            Self::Pte(pte) => pte.trailing_bytes(),
            Self::Ptd(ptd) => ptd.trailing_bytes(),
            #[cfg(any(feature = "devtools", feature = "payloads"))]
            _ => 0..0,
        }
    }
}

fn trailing(source: Option<&Source<'_>>, header: Option<(u64, u64)>, segments: &[DataSegment]) -> Range<u64> {
    let (Some(source), Some((base, announced))) = (source.filter(|source| source.whole), header) else {
        return 0..0;
    };
    let size = source.bytes.len() as u64;
    let last = segments.iter().map(|segment| segment.offset.saturating_add(segment.size)).max().unwrap_or_default();
    // Where there are no segments, the header has no place for them.
    let end = base.saturating_add(last).max(source.metadata_size);
    let announced = base.saturating_add(announced).clamp(end.min(size), size);
    let padding = slice(&source.bytes, end.min(size)..announced).unwrap_or_default();
    let end = if padding.iter().all(|byte| *byte == 0) { announced } else { end };
    if end < size { end..size } else { 0..0 }
}
