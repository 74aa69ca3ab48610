//! Every byte of a file, by purpose.

mod ledger;
mod payload;
mod uses;
mod weights;

use super::{BlobUser, Blobs, Fault};
use crate::analysis::Analysis;
use crate::delegate::Xnnpack;
use crate::error::{Error, Result};
use crate::file::bpte::Bpte;
use crate::file::etdp::{Etdp, PREFIX};
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::marked;
use crate::file::source::Source;
use crate::flatbuffer::read::Record;
use crate::schema::xnnpack::XNNGraph;
use crate::schema::{BundledProgram, ETDump};
use crate::schema::{DataSegment, Program, ScalarType};
use alloc::collections::BTreeMap;
use alloc::{string::String, vec, vec::Vec};
use core::fmt;
use ledger::{Ledger, Settled};
use weights::PayloadWeights;

/// A report of how a file's bytes are used.
///
/// ```
/// use executorch_format::Model;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/linear/linear.pte")?;
/// let model = Model::parse(&file)?;
/// let size = model.size_report()?;
/// for part in &size.parts {
///     println!("{:12} {} bytes", part.kind, part.size);
/// }
/// assert_eq!(size.parts.iter().map(|part| part.size).sum::<u64>(), file.len() as u64);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizeReport<'t> {
    /// The size of the file, in bytes.
    pub file_size: u64,
    /// All parts of the file, the largest first. They do not overlap, and their sizes add up to the size of the file.
    pub parts: Vec<SizePart<'t>>,
    /// The bytes that each method takes, in the file's order.
    pub methods: Vec<MethodSize<'t>>,
    /// The weights in this file by the type of their elements, the largest first. XNNPACK's weights are included.
    pub scalar_types: Vec<TypeSize>,
    /// The weights and payloads in this file by the operator or backend that uses them, the largest first. A weight that first gets another
    /// shape, type or order (views, `permute_copy`, dequantizing) counts for the operator that takes the result. A weight of XNNPACK counts
    /// for the nodes that use it, as `XnnpackBackend.XNNFullyConnected`, and not for the backend.
    pub operators: Vec<OperatorSize>,
    /// References that are out of range. Their bytes are not counted.
    pub errors: Vec<Fault>,
}

/// Bytes of a file with one purpose: a blob, or all tables of a kind, or all padding of a kind.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizePart<'t> {
    /// The purpose of the bytes.
    pub kind: SizeKind,
    /// More detail. For [`SizeKind::Program`], the schema's name of a table, or `vtables`. For padding and unreferenced bytes, the place
    /// (`header`, `program`, `segment`, `between segments`, `after the last segment`). For a delegate, the part of its payload (`header`,
    /// `FlatBuffer`, `weights`, `padding`), or `payload` if its parts are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'static str>,
    /// The backend of a payload, or the key of named data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'t str>,
    /// The offset in bytes from the start of the file; `None` for a part of several pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// The size in bytes. Each byte is counted in one part only: the first of overlapping blobs has the bytes that they share.
    pub size: u64,
    /// The number of pieces: tables, vtables, vectors and strings, each once, or gaps.
    pub pieces: usize,
    /// The users, if it is a blob.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub users: Vec<BlobUser<'t>>,
}

/// The purpose of bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum SizeKind {
    /// The identifier and the extended header.
    Header,
    /// The FlatBuffer: tables with their vectors and strings.
    Program,
    /// A constant.
    Constant,
    /// The initial state of a mutable tensor.
    InitialState,
    /// A delegate's payload.
    Delegate,
    /// A blob with a name, or the data of a `.ptd` key.
    Named,
    /// The program in a bundle, as a whole.
    Bundled,
    /// A tensor of a test case.
    Test,
    /// Zeros that align the bytes after them.
    Padding,
    /// Bytes without any reference in the file.
    Unreferenced,
}

impl fmt::Display for SizeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Header => "header",
            Self::Program => "program",
            Self::Constant => "constant",
            Self::InitialState => "initial_state",
            Self::Delegate => "delegate",
            Self::Named => "named",
            Self::Bundled => "bundled",
            Self::Test => "test",
            Self::Padding => "padding",
            Self::Unreferenced => "unreferenced",
        })
    }
}

/// The bytes that a method takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodSize<'t> {
    /// The method's name.
    pub name: &'t str,
    /// The size of its tables, vectors and strings in bytes, apart from vtables, which methods share.
    pub program: u64,
    /// The size of the constants, initial states and payloads that it uses, and of the named data that XNNPACK's payloads refer to, in bytes.
    pub data: u64,
    /// The part of `data` that is shared with another method.
    pub shared: u64,
}

/// The bytes that the weights of a type of elements take.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TypeSize {
    /// The type, as in the first tensor that uses the bytes: the short name, such as `f32`, or XNNPACK's, such as `qcint8`.
    pub name: String,
    /// The schema's type; `None` for a type that only XNNPACK has.
    pub scalar_type: Option<ScalarType>,
    /// The size, in bytes.
    pub size: u64,
    /// The number of blobs.
    pub blobs: usize,
}

/// The bytes that an operator's arguments, or a backend's payloads, take.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorSize {
    /// The operator's name with its overload, the backend's name, or the backend's name with the kind of a node inside.
    pub name: String,
    /// The size, in bytes. A blob that several operators use counts for each of them.
    pub size: u64,
    /// The number of blobs.
    pub blobs: usize,
}

/// All parts of a file with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizeGroup<'t> {
    /// The key of the parts.
    #[serde(flatten)]
    pub key: SizeKey<'t>,
    /// The size, in bytes.
    pub size: u64,
    /// The number of pieces.
    pub pieces: usize,
}

/// The key by which parts of a file are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SizeKey<'t> {
    /// The purpose of the bytes.
    pub kind: SizeKind,
    /// The backend of payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<&'t str>,
    /// More detail, as for [`SizePart::detail`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'static str>,
}

/// The difference between two files in parts with the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Growth<'t> {
    /// The key of the parts.
    #[serde(flatten)]
    pub key: SizeKey<'t>,
    /// The size in the first file, in bytes.
    pub before: u64,
    /// The size in the second file, in bytes.
    pub after: u64,
}

impl Growth<'_> {
    /// Returns the growth from the first file to the second, in bytes.
    pub fn bytes(&self) -> i128 {
        i128::from(self.after) - i128::from(self.before)
    }
}

impl<'t> SizePart<'t> {
    /// Returns the key by which parts are grouped.
    pub fn key(&self) -> SizeKey<'t> {
        let backend = self.name.filter(|_| self.kind == SizeKind::Delegate);
        SizeKey { kind: self.kind, backend, detail: self.detail }
    }
}

impl<'t> SizeReport<'t> {
    /// Groups the parts by key, the largest group first.
    pub fn groups(&self) -> Vec<SizeGroup<'t>> {
        let mut sums: BTreeMap<_, (u64, usize)> = BTreeMap::new();
        for part in &self.parts {
            let (bytes, pieces) = sums.entry(part.key()).or_default();
            *bytes += part.size;
            *pieces += part.pieces;
        }
        let group = |(key, (bytes, pieces))| SizeGroup { key, size: bytes, pieces };
        let mut groups: Vec<SizeGroup<'t>> = sums.into_iter().map(group).collect();
        groups.sort_by_key(|item| core::cmp::Reverse(item.size));
        groups
    }

    /// Compares the use of bytes with another file: returns an entry for each key of either file, the largest difference first.
    pub fn growth(&self, other: &Self) -> Vec<Growth<'t>> {
        let mut sums: BTreeMap<_, (u64, u64)> = BTreeMap::new();
        for part in &self.parts {
            sums.entry(part.key()).or_default().0 += part.size;
        }
        for part in &other.parts {
            sums.entry(part.key()).or_default().1 += part.size;
        }
        let growth = |(key, (before, after))| Growth { key, before, after };
        let mut growth: Vec<Growth<'t>> = sums.into_iter().map(growth).collect();
        growth.sort_by_key(|item| core::cmp::Reverse(item.bytes().unsigned_abs()));
        growth
    }
}

/// See [`Analysis::size_report`](crate::Analysis::size_report).
pub(super) fn of_pte<'t>(analysis: &Analysis<'t>) -> Result<SizeReport<'t>> {
    let pte = analysis.pte();
    let source = whole(pte.source.as_ref())?;
    let mut ledger = Ledger::new(source, pte.methods().len());
    ledger.header(pte.header.map_or(0, |header| header.length));
    ledger.program(Program::DESCRIPTION);
    let referenced: Vec<bool> = pte.segment_users().into_iter().map(|users| users > 0).collect();
    ledger.segments(pte.segment_base_offset(), pte.program.segments(), &referenced);
    ledger.trailing(pte.trailing_bytes());
    ledger.starts(&constant_starts(pte));
    let Blobs { blobs, errors } = analysis.blobs();
    for blob in blobs {
        ledger.blob(blob);
    }
    let settled = ledger.settle();
    let weights = weights::weights(pte, analysis.payloads());
    let methods = uses::methods(pte, &settled.parts, &weights, &settled.methods);
    let operators = uses::operators(pte.methods(), &settled.parts, &weights);
    Ok(SizeReport { methods, operators, ..SizeReport::new(source, settled, &weights, errors) })
}

/// Returns the start of each item in the lists of constants and initial states, in bytes from the start of the file.
fn constant_starts(pte: &Pte<'_>) -> Vec<u64> {
    let mut starts = Vec::new();
    for list in pte.program.constant_segment.iter().chain(pte.program.mutable_data_segments()) {
        let segment = pte.program.segments().get(list.segment_index as usize);
        let Some(DataSegment { offset, size }) = segment else { continue };
        let base = pte.segment_base_offset().saturating_add(*offset);
        // The first item is a placeholder.
        for offset in list.offsets().iter().skip(1).filter(|offset| *offset < size) {
            starts.push(base.saturating_add(*offset));
        }
    }
    starts
}

/// See [`Ptd::size_report`].
pub(super) fn of_ptd<'t>(ptd: &'t Ptd<'_>) -> Result<SizeReport<'t>> {
    let source = whole(ptd.source.as_ref())?;
    let mut ledger = Ledger::new(source, 0);
    ledger.header(ptd.header.map_or(0, |header| header.length));
    ledger.program(ptd.flat_tensor.root());
    let table = ptd.flat_tensor.segments();
    let referenced = marked(table.len(), ptd.entries().map(|entry| entry.segment_index));
    ledger.segments(ptd.segment_base_offset(), table, &referenced);
    ledger.trailing(ptd.trailing_bytes());
    let Blobs { blobs, errors } = ptd.blobs();
    for blob in blobs {
        ledger.blob(blob);
    }
    Ok(SizeReport::new(source, ledger.settle(), &[], errors))
}

/// See [`Bpte::size_report`].
pub(super) fn of_bpte<'t>(bundle: &'t Bpte<'_>) -> Result<SizeReport<'t>> {
    let source = whole(bundle.source.as_ref())?;
    let mut ledger = Ledger::new(source, 0);
    ledger.header(0);
    ledger.program(BundledProgram::DESCRIPTION);
    for blob in bundle.blobs().blobs {
        ledger.blob(blob);
    }
    Ok(SizeReport::new(source, ledger.settle(), &[], Vec::new()))
}

/// See [`Etdp::size_report`].
pub(super) fn of_etdp<'t>(trace: &'t Etdp<'_>) -> Result<SizeReport<'t>> {
    let source = whole(trace.source.as_ref())?;
    let mut ledger = Ledger::new(source, 0);
    ledger.header(PREFIX as u32);
    ledger.tables(0, PREFIX as u32, ETDump::DESCRIPTION);
    Ok(SizeReport::new(source, ledger.settle(), &[], Vec::new()))
}

/// See [`Xnnpack::size_report`].
pub(super) fn of_xnnpack<'t>(payload: &'t Xnnpack<'_>) -> Result<SizeReport<'t>> {
    let source = whole(payload.source.as_ref())?;
    let mut ledger = Ledger::new(source, 0);
    match &payload.header {
        Some(header) => ledger.payload_header(header),
        None => ledger.header(0),
    }
    ledger.tables(payload.flatbuffer_offset(), 0, XNNGraph::DESCRIPTION);
    let Blobs { blobs, errors } = payload.blobs();
    for blob in blobs {
        ledger.blob(blob);
    }
    let settled = ledger.settle();
    let weights =
        [PayloadWeights { methods: Vec::new(), ids: vec!["XnnpackBackend"], weights: weights::of_payload(payload) }];
    let operators = uses::operators(&[], &settled.parts, &weights);
    Ok(SizeReport { operators, ..SizeReport::new(source, settled, &weights, errors) })
}

/// Returns the source, if it states the size of the file.
fn whole<'t, 'a>(source: Option<&'t Source<'a>>) -> Result<&'t Source<'a>> {
    let known = source.filter(|source| source.whole || source.file_size.is_some());
    known.ok_or_else(|| Error::reference("the whole file or its size, which was not given"))
}

impl<'t> SizeReport<'t> {
    fn new(source: &'t Source<'_>, settled: Settled<'t>, weights: &[PayloadWeights<'_>], errors: Vec<Fault>) -> Self {
        let mut parts = settled.parts;
        parts.sort_by_key(|item| core::cmp::Reverse(item.size));
        Self {
            file_size: source.size(),
            scalar_types: uses::scalar_types(&parts, weights),
            parts,
            methods: Vec::new(),
            operators: Vec::new(),
            errors,
        }
    }
}
