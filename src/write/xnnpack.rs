//! Writes XNNPACK payloads.

use super::image::{Image, Metadata};
use crate::delegate::Xnnpack;
use crate::delegate::xnnpack::XnnpackHeader;
use crate::error::{Error, Result};
use crate::file::segment::Segment;
use crate::file::style::WriteStyle;
use crate::flatbuffer::any::same;
use alloc::{borrow::Cow, format, vec::Vec};

/// The alignment of the FlatBuffer and of the constant data.
const ALIGNMENT: u64 = 16;

/// A payload, ready to be written.
enum Written<'t> {
    /// The bytes that the payload was read from.
    Unchanged(&'t [u8]),
    /// Header, FlatBuffer and padding, and the constant data that follows.
    Encoded(Vec<u8>, &'t [u8]),
}

impl Xnnpack<'_> {
    /// Returns the payload as a file of its own, see [`to_segment`](Self::to_segment).
    ///
    /// Fails as [`to_segment`](Self::to_segment) does.
    pub fn image(&self) -> Result<Image<'_>> {
        let (metadata, constants) = match self.written()? {
            Written::Unchanged(bytes) => (Metadata::Source(bytes), &[][..]),
            Written::Encoded(first, constants) => (Metadata::Payload(first), constants),
        };
        let start = metadata.size();
        Ok(Image::new(metadata, &[], [(start, constants)].into(), start + constants.len() as u64))
    }

    /// Returns the payload as a segment, for [`Pte::segments`](crate::Pte::segments). If nothing was changed, it has the bytes that the
    /// payload was read from; otherwise, it is encoded as flatc does. Constant data is borrowed. The header's offsets and sizes are
    /// computed; its length is kept.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if the graph cannot be written.
    pub fn to_segment(&self) -> Result<Segment<'_>> {
        Ok(match self.written()? {
            Written::Unchanged(bytes) => Segment::Whole(Cow::Borrowed(bytes)),
            Written::Encoded(first, []) => Segment::Whole(Cow::Owned(first)),
            Written::Encoded(first, constants) => {
                let start = first.len() as u64;
                Segment::Parts([(0, Cow::Owned(first)), (start, Cow::Borrowed(constants))].into())
            }
        })
    }

    /// Returns a copy of the payload's bytes, see [`to_segment`](Self::to_segment).
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        Ok(match self.written()? {
            Written::Unchanged(bytes) => bytes.to_vec(),
            Written::Encoded(mut first, constants) => {
                first.extend_from_slice(constants);
                first
            }
        })
    }

    fn written(&self) -> Result<Written<'_>> {
        match self.unchanged() {
            Some(bytes) => Ok(Written::Unchanged(bytes)),
            None => Ok(Written::Encoded(self.encode()?, &self.constant_data)),
        }
    }

    /// Returns the bytes that the payload was read from, if it equals what they decode to.
    fn unchanged(&self) -> Option<&[u8]> {
        let bytes = &self.source.as_ref()?.bytes;
        let source = Xnnpack::parse(bytes).ok()?;
        let same = source.header == self.header
            && source.identifier == self.identifier
            && same(&source.graph, &self.graph)
            && source.constant_data == self.constant_data;
        same.then_some(bytes)
    }

    /// Encodes everything except the constant data.
    fn encode(&self) -> Result<Vec<u8>> {
        if self.source.as_ref().is_some_and(|source| source.newer_tables > 0) {
            return Err(Error::unwritable("the payload has fields of a newer schema, which would be lost"));
        }
        let expected = self.source.as_ref().map_or(0, |source| source.metadata_size);
        let body = WriteStyle::FLATC.encode(&self.graph, expected)?;
        let mut flatbuffer = body.head(&self.identifier, 0)?;
        body.parts().for_each(|part| flatbuffer.extend_from_slice(part));
        let Some(header) = self.header else {
            return match *self.constant_data {
                [] => Ok(flatbuffer),
                _ => Err(Error::unwritable("the payload has constant data but no header, which states where that is")),
            };
        };
        let size = flatbuffer.len() as u64;
        let start = u64::from(XnnpackHeader::LENGTH).next_multiple_of(ALIGNMENT);
        let constants = (start + size).next_multiple_of(ALIGNMENT);
        let too_large = |_| Error::unwritable(format!("a FlatBuffer of {size} bytes does not fit into 32-bit offsets"));
        let header = XnnpackHeader {
            length: header.length,
            flatbuffer_offset: start as u32,
            flatbuffer_size: u32::try_from(size).map_err(too_large)?,
            constant_data_offset: u32::try_from(constants).map_err(too_large)?,
            constant_data_size: self.constant_data.len() as u64,
        };
        let [start, constants] = [header.flatbuffer_offset, header.constant_data_offset].map(|at| at as usize);
        let mut bytes = Vec::with_capacity(constants);
        bytes.extend_from_slice(&header.to_bytes());
        bytes.resize(start, 0);
        bytes.extend(flatbuffer);
        bytes.resize(constants, 0);
        Ok(bytes)
    }
}
