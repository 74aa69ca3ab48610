//! XNNPACK payloads: a header, a FlatBuffer with a graph of operators, and its constants.
//!
//! A payload has one of three forms: a header (`XH00`) followed by the FlatBuffer, as written by every ExecuTorch since 0.2, or the
//! FlatBuffer alone, with identifier `XN01` or `XN00`. Constants are in the payload (up to 0.5), in named data (since 0.6), or in the
//! FlatBuffer itself (0.1).

mod constants;
mod dequantized;
mod graph;
mod header;
#[cfg(feature = "inspect")]
mod layout;
#[cfg(feature = "inspect")]
mod memory;

pub(crate) use constants::scales_constant;
pub use constants::{Constant, ConstantPlace, ConstantUse};
#[cfg(feature = "inspect")]
pub(crate) use graph::Takers;
pub use graph::{NodeIds, tensor_bytes};
pub(in crate::delegate) use header::MAGIC as HEADER;
pub use header::XnnpackHeader;
#[cfg(feature = "edit")]
pub(crate) use layout::Arrangement;
#[cfg(feature = "inspect")]
pub(crate) use layout::ConstantLayout;
#[cfg(feature = "convert")]
pub(crate) use layout::natural_strides;
#[cfg(feature = "inspect")]
pub(crate) use memory::XnnpackMemory;

use crate::error::Result;
use crate::file::named_blobs::NamedBlobs;
use crate::file::options::ParseOptions;
use crate::file::source::Source;
use crate::file::trailing::in_flatbuffer;
use crate::flatbuffer::read::{self, Limits, Record, TableParser};
use crate::quantized::Dequantized;
use crate::schema::xnnpack::{XNNGraph, XNNTensorValue};
use crate::tensor::TensorView;
use alloc::{borrow::Cow, format, vec::Vec};
use core::ops::Range;

/// The identifiers of the FlatBuffer: the current one, and that of files before ExecuTorch 0.2.
const IDENTIFIERS: [&[u8; 4]; 2] = [b"XN01", b"XN00"];

/// An XNNPACK payload.
#[derive(Clone, Debug, Default)]
pub struct Xnnpack<'a> {
    /// The header, or `None` if the payload is only a FlatBuffer.
    pub header: Option<XnnpackHeader>,
    /// The identifier of the FlatBuffer: `XN01`, or `XN00` before ExecuTorch 0.2.
    pub identifier: [u8; 4],
    /// The graph.
    pub graph: XNNGraph<'a>,
    /// The constants after the FlatBuffer: empty if they have keys.
    pub constant_data: Cow<'a, [u8]>,
    /// The bytes that it was read from, or `None` if it was built in memory. An unchanged graph is written with these bytes.
    pub source: Option<Source<'a>>,
}

/// Compares headers, graphs and constants, but not `source`.
impl PartialEq for Xnnpack<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header
            && self.identifier == other.identifier
            && self.graph == other.graph
            && self.constant_data == other.constant_data
    }
}

impl<'a> Xnnpack<'a> {
    /// Returns `true` if the bytes start like an XNNPACK payload.
    pub fn is_one(bytes: &[u8]) -> bool {
        identifier(bytes).is_some_and(|found| found == *header::MAGIC || IDENTIFIERS.contains(&&found))
    }

    /// Reads a payload: checks its structure and decodes its graph. Constants are not copied.
    ///
    /// Fails if the bytes are not an XNNPACK payload, or break a rule of structure. Offsets count from the payload's start. The meaning
    /// of the graph is not checked: see [`verify`](crate::verify).
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &Limits::default())
    }

    /// Reads a payload with custom limits.
    pub fn parse_with(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        let Parts { header, start, identifier, flatbuffer, constant_data } = Parts::of(bytes)?;
        let (graph, seen) = read::read_at(0, flatbuffer, limits).map_err(|error| error.inside(start))?;
        let options = ParseOptions { limits: *limits, ..ParseOptions::default() };
        let source = Source::new(bytes, flatbuffer, &options, seen);
        Ok(Self { header, identifier, graph, constant_data: Cow::Borrowed(constant_data), source: Some(source) })
    }

    /// Checks only a payload's structure: the same rules as [`parse`](Self::parse), with the same first error, but without building
    /// anything.
    pub fn verify_structure(bytes: &[u8]) -> Result<()> {
        Self::verify_structure_with(bytes, &Limits::default())
    }

    /// Checks only a payload's structure, with custom limits.
    pub fn verify_structure_with(bytes: &[u8], limits: &Limits) -> Result<()> {
        let Parts { start, flatbuffer, .. } = Parts::of(bytes)?;
        read::check_at(0, TableParser::<XNNGraph>::default(), flatbuffer, limits).map_err(|error| error.inside(start))
    }

    /// Converts it into an owned copy.
    pub fn into_owned(self) -> Xnnpack<'static> {
        Xnnpack {
            header: self.header,
            identifier: self.identifier,
            graph: self.graph.into_owned(),
            constant_data: Cow::Owned(self.constant_data.into_owned()),
            source: self.source.map(|source| {
                let bytes = Cow::Owned(source.bytes.into_owned());
                Source { bytes, ..Source { bytes: Cow::Borrowed(&[]), ..source } }
            }),
        }
    }

    /// Returns the start of the FlatBuffer, in bytes from the payload's start.
    pub fn flatbuffer_offset(&self) -> u64 {
        self.header.map_or(0, |header| header.flatbuffer_offset.into())
    }

    /// Returns the constants in the order of their indices, with their users.
    pub fn constants(&self) -> Vec<Constant<'_>> {
        constants::all(self)
    }

    /// Returns the place in which the runtime looks for a constant, or `None` if the index is out of range.
    pub fn constant(&self, index: u32) -> Option<ConstantPlace<'_>> {
        constants::place(self, index)
    }

    /// Returns the bytes of a constant, as many as the payload states.
    ///
    /// Fails with [`ErrorKind::Reference`](crate::ErrorKind::Reference) if the index is out of range, the key is not among the blobs,
    /// or the constant is not inside the constant data or its blob.
    pub fn constant_bytes<'t>(&'t self, index: u32, blobs: &NamedBlobs<'t>) -> Result<&'t [u8]> {
        constants::bytes(self, index, blobs)
    }

    /// Returns the range of bytes at the end of the payload that it does not refer to: those after the parts that the header states, or,
    /// without a header, at the end of the FlatBuffer. Padding is not included.
    pub fn trailing_bytes(&self) -> Range<u64> {
        let Some(source) = &self.source else { return 0..0 };
        let size = source.bytes.len() as u64;
        let end = match self.header {
            Some(header) => header.constant_data().end.max(header.flatbuffer().end),
            None => in_flatbuffer((0, &source.bytes), source, XNNGraph::DESCRIPTION).map_or(size, |end| end as u64),
        };
        if end < size { end..size } else { 0..0 }
    }

    /// Returns the range of a constant, in bytes from the payload's start, or `None` for a constant with a key, and for one outside the
    /// constant data.
    pub fn constant_range(&self, index: u32) -> Option<Range<u64>> {
        constants::range(self, index)
    }

    /// Returns a constant tensor with its bytes. Returns `None` for a tensor that is not constant, and for a type that PyTorch does not
    /// have, such as 4-bit types; use [`constant_bytes`](Self::constant_bytes) for these. Quantized elements are returned as stored;
    /// [`dequantized`](Self::dequantized) returns their numbers.
    ///
    /// Fails as [`constant_bytes`](Self::constant_bytes) does, and with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor)
    /// if shape and bytes differ in size.
    pub fn constant_view<'t>(
        &'t self,
        tensor: &'t XNNTensorValue<'_>,
        blobs: &NamedBlobs<'t>,
    ) -> Result<Option<TensorView<'t>>> {
        constants::view(self, tensor, blobs)
    }

    /// Returns the dequantized numbers of constant `value`, an index into `xvalues`. Returns `None` for a value that is not constant or
    /// is quantized at run time, and for a type that is packed for a kernel. `blobs` provides bytes and scales that are not in the
    /// payload.
    ///
    /// ```
    /// use executorch_format::delegate::{NamedBlobs, Payload};
    /// use executorch_format::Pte;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/quant_xnnpack/quant_xnnpack.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let blobs = NamedBlobs::new(&pte, []);
    /// for opened in pte.open_payloads() {
    ///     let Ok(Payload::Xnnpack(payload)) = opened.payload else { continue };
    ///     for value in 0..payload.graph.xvalues().len() {
    ///         if let Some(numbers) = payload.dequantized(value, &blobs)? {
    ///             println!("value {value}: {:?}, first {:?}", numbers.dims(), numbers.values().next());
    ///         }
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`constant_bytes`](Self::constant_bytes) does, and with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor)
    /// if the number of bytes or scales does not match the shape.
    pub fn dequantized<'t>(&'t self, value: usize, blobs: &NamedBlobs<'t>) -> Result<Option<Dequantized<'t>>> {
        dequantized::dequantized(self, value, blobs)
    }
}

/// The parts of a payload's bytes.
struct Parts<'a> {
    header: Option<XnnpackHeader>,
    /// The start of the FlatBuffer.
    start: u64,
    identifier: [u8; 4],
    flatbuffer: &'a [u8],
    constant_data: &'a [u8],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let header = match identifier(bytes) {
            Some(found) if found == *header::MAGIC => Some(XnnpackHeader::parse(bytes, "an XNNPACK")?),
            _ => None,
        };
        let [flatbuffer, constant_data] = header.map_or([bytes, &[]], |header| header.cut(bytes));
        let start = header.map_or(0, |header| u64::from(header.flatbuffer_offset));
        match identifier(flatbuffer) {
            Some(identifier) if IDENTIFIERS.contains(&&identifier) => {
                Ok(Self { header, start, identifier, flatbuffer, constant_data })
            }
            found => {
                let found = found.map_or_else(|| "fewer bytes".into(), |found| format!("'{}'", found.escape_ascii()));
                let found = format!("found {found}, expected XN01 or XN00 as identifier");
                Err(header::bad(flatbuffer.len().min(4), found).inside(start))
            }
        }
    }
}

fn identifier(bytes: &[u8]) -> Option<[u8; 4]> {
    bytes.get(4..)?.first_chunk().copied()
}

/// Serializes the graph as flatc prints it, including a deprecated number of `XN00`.
impl serde::Serialize for Xnnpack<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        if self.identifier != *b"XN00" {
            return self.graph.serialize(serializer);
        }
        let mut graph = self.graph.clone();
        for value in graph.xvalues.iter_mut().flatten() {
            if let Some(tensor) = value.tensor_mut() {
                tensor.dq_datatype.get_or_insert_default();
            }
        }
        graph.serialize(serializer)
    }
}

crate::json_schema::json_schema!(Xnnpack<'a>, |_| crate::flatbuffer::serialize::schema_of_table("XNNGraph"));
