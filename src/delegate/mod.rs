//! The contents of delegates' payloads.
//!
//! ```
//! use executorch_format::delegate::{NamedBlobs, Payload};
//! use executorch_format::Pte;
//!
//! # fn main() -> executorch_format::Result<()> {
//! let file = std::fs::read("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte")?;
//! let pte = Pte::parse(&file)?;
//! let blobs = NamedBlobs::new(&pte, []);
//! for delegate in pte.methods().iter().flat_map(|plan| plan.delegates()) {
//!     if let Payload::Xnnpack(xnnpack) = pte.delegate(delegate)? {
//!         for node in xnnpack.graph.xnodes() {
//!             println!("{}", node.xnode_union.name().unwrap_or("?"));
//!         }
//!         for constant in xnnpack.constants() {
//!             println!("{}: {} bytes", constant.index, xnnpack.constant_bytes(constant.index, &blobs)?.len());
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```

pub mod aot_inductor;
mod command_stream;
pub mod core_ml;
pub mod ethos_u;
mod inside;
mod kind;
mod protobuf;
mod references;
mod summary;
#[cfg(feature = "edit")]
mod unpack;
mod vulkan;
pub mod xnnpack;

pub use crate::file::named_blobs::{NamedBlob, NamedBlobs};
pub use aot_inductor::{AotInductor, AotTensor};
pub use core_ml::CoreMl;
pub use ethos_u::EthosU;
pub use inside::{DelegateGraph, InsideArgument, InsideNode, InsideSetting, InsideTensorType};
pub(crate) use inside::{GraphBudget, InsideData};
pub use kind::PayloadKind;
pub use references::KeyReference;
pub use summary::{KeyedPart, PayloadPart, PayloadSummary};
#[cfg(feature = "edit")]
pub use unpack::{UnpackedFile, UnpackedPayload, unpack};
pub use vulkan::{Vulkan, VulkanPlace};
pub use xnnpack::Xnnpack;

use crate::error::{Error, ErrorKind, Result};
use crate::file::pte::Pte;
use crate::file::segment::DataRef;
use crate::file::source::Source;
use crate::flatbuffer::read::Limits;
use crate::path::{FieldPath, Path};
use crate::schema::program::BackendDelegate;
use crate::schema::program::ExecutionPlan;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

/// A delegate's payload, decoded if its format is known to this crate.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "content", rename_all = "snake_case")]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "a file has few payloads")]
pub enum Payload<'a> {
    /// A graph for XNNPACK.
    Xnnpack(Xnnpack<'a>),
    /// A graph for Vulkan.
    Vulkan(Vulkan<'a>),
    /// Blocks for an Ethos-U.
    EthosU(EthosU<'a>),
    /// A model package for Core ML.
    CoreMl(CoreMl),
    /// A library with native code, and weights, for CUDA or Metal.
    AotInductor(AotInductor<'a>),
    /// Bytes that only the backend can read.
    #[serde(serialize_with = "size")]
    #[cfg_attr(feature = "schemars", schemars(with = "u64"))]
    Opaque(&'a [u8]),
}

/// Serializes opaque bytes as their number.
fn size<S: serde::Serializer>(bytes: &&[u8], serializer: S) -> core::result::Result<S::Ok, S::Error> {
    serializer.serialize_u64(bytes.len() as u64)
}

impl<'a> Payload<'a> {
    /// Reads a payload of any kind, recognized by its bytes.
    ///
    /// Fails if the payload is of a known kind and its structure is broken. Offsets count from the payload's start.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        Self::parse_with(bytes, &Limits::default())
    }

    /// Reads a payload of any kind, with custom limits.
    pub fn parse_with(bytes: &'a [u8], limits: &Limits) -> Result<Self> {
        if Xnnpack::is_one(bytes) {
            return Xnnpack::parse_with(bytes, limits).map(Self::Xnnpack);
        }
        if Vulkan::is_one(bytes) {
            return Vulkan::parse_with(bytes, limits).map(Self::Vulkan);
        }
        if EthosU::is_one(bytes) {
            return EthosU::parse(bytes).map(Self::EthosU);
        }
        if CoreMl::is_one(bytes) {
            return CoreMl::parse(bytes).map(Self::CoreMl);
        }
        if AotInductor::is_one(bytes) {
            return AotInductor::parse(bytes).map(Self::AotInductor);
        }
        Ok(Self::Opaque(bytes))
    }

    /// Returns the memory that it takes in bytes, as [`Limits::memory`] counts it.
    fn memory(&self) -> u64 {
        match self {
            Self::Xnnpack(xnnpack) => xnnpack.source.as_ref().map_or(0, Source::memory),
            Self::Vulkan(vulkan) => vulkan.memory,
            Self::AotInductor(aot) => aot.memory(),
            Self::EthosU(_) | Self::CoreMl(_) | Self::Opaque(_) => 0,
        }
    }
}

/// Returns the range of a payload of `size` bytes that [`Payload::parse`] reads, based on its first bytes (30 are enough). In
/// payloads for XNNPACK and Vulkan it is the graph, without the constants after it; in others it is the whole payload. A reader of
/// remote storage can fetch only this range.
///
/// ```
/// use executorch_format::delegate::{Payload, payload_metadata};
/// use executorch_format::Pte;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/0.4.0/linear_xnnpack/linear_xnnpack.pte")?;
/// let pte = Pte::parse(&file)?;
/// let payload = pte.bytes(&pte.delegate_data(&pte.methods()[0].delegates()[0])?)?;
/// let range = payload_metadata(&payload[..30], payload.len() as u64);
/// assert!(range.end < payload.len() as u64);
/// # Ok(())
/// # }
/// ```
// For object stores, which read ranges.
#[doc(hidden)]
pub fn payload_metadata(first_bytes: &[u8], size: u64) -> Range<u64> {
    let announces = first_bytes.get(4..8) == Some(xnnpack::HEADER) || Vulkan::is_one(first_bytes);
    let header = xnnpack::XnnpackHeader::fields(first_bytes).filter(|_| announces);
    0..header.map_or(size, |header| header.flatbuffer().end.min(size))
}

/// A payload of a program, with its content.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenPayload<'t> {
    /// The place of the payload.
    pub data: DataRef,
    /// The delegates that share this payload: the index of each method, and of the delegate in it.
    pub delegates: Vec<(usize, usize)>,
    /// The content, or the error from reading it.
    pub payload: Result<Payload<'t>>,
}

/// Returns a method and one of its delegates, by the indices in a payload that this program has opened.
#[expect(clippy::indexing_slicing, reason = "`Pte::open_payloads` counted the methods and their delegates")]
pub(crate) fn delegate_at<'t, 'a>(
    pte: &'t Pte<'a>,
    (method, delegate): (usize, usize),
) -> (&'t ExecutionPlan<'a>, &'t BackendDelegate<'a>) {
    let plan = &pte.methods()[method];
    (plan, &plan.delegates()[delegate])
}

/// Returns the path of a delegate's payload.
pub(crate) fn payload_path(method: usize, delegate: usize) -> FieldPath {
    Path::ROOT.item("execution_plan", method).item("delegates", delegate).field("processed").to_field_path()
}

impl OpenPayload<'_> {
    /// Returns the delegates that share the payload, each with its method. `pte` is the file that opened it.
    pub(crate) fn delegates_of<'p, 'a>(
        &self,
        pte: &'p Pte<'a>,
    ) -> impl Iterator<Item = (&'p ExecutionPlan<'a>, &'p BackendDelegate<'a>)> {
        self.delegates.iter().map(|place| delegate_at(pte, *place))
    }
}

impl Pte<'_> {
    /// Reads every payload in the file. Each payload is included once, in the order of the delegates.
    ///
    /// Overlapping payloads can have more bytes than the file. Those beyond the file's size are not read and fail with
    /// [`ErrorKind::Limit`], as do payloads that would take more memory than the file's [`Limits`] allow.
    #[expect(clippy::indexing_slicing, reason = "`indices` refers to items of `payloads`")]
    pub fn open_payloads(&self) -> Vec<OpenPayload<'_>> {
        let source = self.source.as_ref().map_or(0, |source| source.bytes.len() as u64);
        let limit = self.payload_bytes().max(source);
        let mut left = limit;
        let mut limits = self.limits();
        let taken = self.source.as_ref().map_or(0, Source::memory);
        limits.memory = limits.memory.map(|memory| memory.saturating_sub(taken));
        let mut payloads: Vec<OpenPayload<'_>> = Vec::new();
        let mut indices = BTreeMap::new();
        for (method, plan) in self.methods().iter().enumerate() {
            for (index, delegate) in plan.delegates().iter().enumerate() {
                let Ok(data) = self.delegate_data(delegate) else { continue };
                let Ok(bytes) = self.bytes(&data) else { continue };
                let at = *indices.entry(data).or_insert_with(|| {
                    let payload = match left.checked_sub(bytes.len() as u64) {
                        Some(rest) => {
                            left = rest;
                            let payload = self.payload(&data, &limits);
                            let taken = payload.as_ref().map_or(0, Payload::memory);
                            limits.memory = limits.memory.map(|memory| memory.saturating_sub(taken));
                            payload
                        }
                        None => Err(Error::new(ErrorKind::Limit { what: "bytes of payloads", limit })),
                    };
                    payloads.push(OpenPayload { data, delegates: Vec::new(), payload });
                    payloads.len() - 1
                });
                payloads[at].delegates.push((method, index));
            }
        }
        payloads.shrink_to_fit();
        payloads
    }

    /// Returns the total size of payloads, in bytes. Shared payloads are counted once.
    fn payload_bytes(&self) -> u64 {
        let mut places: Vec<(usize, usize)> = Vec::new();
        for delegate in self.methods().iter().flat_map(|plan| plan.delegates()) {
            let data = self.delegate_data(delegate);
            if let Ok(bytes) = data.and_then(|data| self.bytes(&data)) {
                let place = bytes.as_ptr_range();
                places.push((place.start as usize, place.end as usize));
            }
        }
        places.sort();
        let (mut bytes, mut last) = (0, 0);
        for (start, end) in places {
            bytes += end.saturating_sub(start.max(last));
            last = last.max(end);
        }
        bytes as u64
    }

    /// Reads the content of a delegate's payload. Each call reads it again, in time proportional to the payload's metadata, not to its
    /// weights.
    ///
    /// Fails as [`delegate_data`](Self::delegate_data), [`bytes`](Self::bytes) and [`Payload::parse`] do. Offsets count from the start of
    /// the file if the payload is in the file.
    pub fn delegate(&self, delegate: &BackendDelegate<'_>) -> Result<Payload<'_>> {
        self.payload(&self.delegate_data(delegate)?, &self.limits())
    }

    /// Returns the limits that the file was read with.
    fn limits(&self) -> Limits {
        self.source.as_ref().map(|source| source.limits).unwrap_or_default()
    }

    fn payload(&self, data: &DataRef, limits: &Limits) -> Result<Payload<'_>> {
        Payload::parse_with(self.bytes(data)?, limits).map_err(|error| match self.range(data) {
            Some(range) => error.inside(range.start),
            None => error,
        })
    }
}
