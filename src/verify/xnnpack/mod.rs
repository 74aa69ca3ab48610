//! Rules about XNNPACK payloads. They follow ExecuTorch's `XNNCompiler.cpp` and `XNNHeader.cpp`, and XNNPACK's
//! `subgraph`: faults that these refuse when a method is loaded, and faults that they do not check and crash on.

mod calls;
mod constants;
mod dataflow;
mod datatypes;
mod nodes;
mod quantization;
mod shapes;
mod values;
mod weights;

use super::report::Report;
use super::{Finding, Level, rule, trailing};
use crate::delegate::{NamedBlobs, OpenPayload, Payload, Xnnpack};
use crate::error::ErrorKind;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::slice;
use crate::flatbuffer::read::Record;
use crate::path::Path;
use crate::schema::xnnpack::{EXTERNAL_OUTPUT, NO_ID, XNNDatatype, XNNGraph, XNNTensorValue, XNode, XValue};
use crate::sorted;
use alloc::collections::BTreeSet;
use alloc::{format, string::String, vec, vec::Vec};

impl Xnnpack<'_> {
    /// Checks a payload in a file of its own at `level` and returns the findings, except those that need the program or its
    /// `.ptd` files. Offsets count from the payload's start.
    pub fn verify(&self, level: Level) -> Vec<Finding> {
        let mut report = Report::new(self.source.as_ref().map(|source| &*source.bytes), level);
        if level >= Level::Runtime {
            check_payload(self, &mut report);
        }
        report.finish()
    }
}

/// The backend that these payloads belong to.
const BACKEND: &str = "XnnpackBackend";

/// The highest rank of XNNPACK's tensors.
const MAX_RANK: usize = 6;

/// A payload to check.
struct Graph<'t> {
    payload: &'t Xnnpack<'t>,
    /// Pairs of a value's id and index, sorted.
    ids: Vec<(u32, usize)>,
    /// The ids of the values that nodes write, sorted.
    produced: Vec<u32>,
    /// The ids of the values that nodes read, sorted.
    read: Vec<u32>,
    /// The dimensions of the values that are stored with those of another layout, by id, sorted.
    relaid: Vec<(u32, Vec<u64>)>,
}

impl<'t> Graph<'t> {
    #[expect(clippy::indexing_slicing, reason = "`values_by_id` counted these values")]
    fn new(payload: &'t Xnnpack<'t>) -> Self {
        let (mut produced, mut read): (Vec<u32>, Vec<u32>) = Default::default();
        for node in payload.graph.xnodes() {
            let ids = node.xnode_union.ids();
            ids.outputs.iter().for_each(|(_, id)| produced.push(*id));
            ids.inputs.iter().for_each(|(_, id)| read.push(*id));
        }
        produced.sort();
        read.sort();
        let (values, mut ids) = (payload.graph.xvalues(), payload.graph.values_by_id().into_iter().collect::<Vec<_>>());
        // XNNPACK treats several values for the same argument as a single value: the last one.
        let external = |index: usize| Some(values[index].tensor()?.external_id);
        let mut last: Vec<(u32, usize)> = Vec::new();
        for (index, tensor) in payload.graph.externals() {
            match last.last_mut().filter(|(id, _)| *id == tensor.external_id) {
                Some((_, last)) => *last = index,
                None => last.push((tensor.external_id, index)),
            }
        }
        for (_, index) in &mut ids {
            if let Some(last) = external(*index).and_then(|id| find(&last, id)) {
                *index = last;
            }
        }
        let mut graph = Self { payload, ids, produced, read, relaid: Vec::new() };
        graph.relaid = shapes::relaid(&graph);
        graph
    }

    /// Returns a node, by its index in the graph.
    #[expect(clippy::indexing_slicing, reason = "indices of nodes are counted from the same list")]
    fn node(&self, index: usize) -> &'t XNode<'t> {
        &self.payload.graph.xnodes()[index]
    }

    /// Returns, for each node, whether an output depends on it.
    #[expect(clippy::indexing_slicing, reason = "`all` has an item for each node")]
    fn needed(&self, uses: &dataflow::NodeUses) -> Vec<bool> {
        let mut all = vec![false; self.payload.graph.xnodes().len()];
        let is_output = |id: u32| self.tensor(id).is_some_and(|tensor| tensor.flags & EXTERNAL_OUTPUT != 0);
        let writes_output = |index: &usize| {
            let mut ids = self.node(*index).xnode_union.ids().outputs.into_iter();
            ids.any(|(_, id)| is_output(id) && uses.last_writer(id) == Some(*index))
        };
        let mut needed: Vec<usize> = (0..all.len()).filter(writes_output).collect();
        // The values whose writers are already in the list, so that each is added once.
        let mut read = BTreeSet::new();
        while let Some(index) = needed.pop() {
            if core::mem::replace(&mut all[index], true) {
                continue;
            }
            for (_, id) in self.node(index).xnode_union.ids().inputs {
                if read.insert(uses.the_one(id)) {
                    needed.extend(uses.writers(id).iter().map(|(_, writer)| *writer));
                }
            }
        }
        all
    }

    /// Returns `true` if a value is an output or a node reads it. XNNPACK drops a node if none of its outputs is used.
    fn is_used(&self, id: u32) -> bool {
        let output = self.tensor(id).is_some_and(|tensor| tensor.flags & EXTERNAL_OUTPUT != 0);
        output || self.is_read(id)
    }

    fn is_read(&self, id: u32) -> bool {
        self.read.binary_search(&id).is_ok()
    }

    /// Returns the type that nodes read. With a dynamic type, XNNPACK quantizes an input at run time.
    fn datatype(&self, id: u32) -> Option<XNNDatatype> {
        let tensor = self.tensor(id)?;
        let dynamic = tensor.dq_datatype == Some(XNNDatatype::QINT8);
        Some(if dynamic { XNNDatatype::QDINT8 } else { tensor.datatype })
    }

    /// Returns the dimensions of a value when the graph runs, if they are not the stored ones.
    fn relaid(&self, id: u32) -> Option<&[u64]> {
        sorted::find(&self.relaid, |(other, _)| other.cmp(&id)).map(|(_, dims)| dims.as_slice())
    }

    /// Returns the dimensions of a value when the graph runs.
    fn dims(&self, id: u32) -> Option<Vec<u64>> {
        match self.relaid(id) {
            Some(dims) => Some(dims.to_vec()),
            None => Some(self.tensor(id)?.dims().iter().map(|size| (*size).into()).collect()),
        }
    }

    /// Returns the index of the value with this id.
    fn index(&self, id: u32) -> Option<usize> {
        find(&self.ids, id)
    }

    /// Returns a value, by its index in the graph.
    #[expect(clippy::indexing_slicing, reason = "indices of values are counted from the same list")]
    fn indexed_value(&self, index: usize) -> &'t XValue<'t> {
        &self.payload.graph.xvalues()[index]
    }

    /// Returns the value with this id, and its tensor.
    fn value(&self, id: u32) -> Option<(&'t XValue<'t>, &'t XNNTensorValue<'t>)> {
        if id == NO_ID {
            return None;
        }
        let value = self.indexed_value(self.index(id)?);
        Some((value, value.tensor()?))
    }

    fn tensor(&self, id: u32) -> Option<&'t XNNTensorValue<'t>> {
        Some(self.value(id)?.1)
    }
}

/// Returns what belongs to an id in pairs that are sorted by id.
fn find<T: Copy>(pairs: &[(u32, T)], id: u32) -> Option<T> {
    sorted::find(pairs, |(other, _)| other.cmp(&id)).map(|(_, item)| *item)
}

/// Checks a program's XNNPACK payloads, by themselves and with the calls of their delegates.
pub(super) fn check(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], report: &mut Report<'_>) {
    let blobs = NamedBlobs::new(pte, []);
    for opened in payloads {
        let Some((method, index)) = opened.delegates.first().copied().filter(|_| is_xnnpack(pte, opened)) else {
            continue;
        };
        in_delegate(method, index, |path| match &opened.payload {
            Ok(Payload::Xnnpack(payload)) => {
                let graph = Graph::new(payload);
                graph_alone(&graph, path, report);
                constants::check(&graph, &blobs, constants::Keys::Own, path, report);
            }
            Ok(_) => {
                let found = "no XNNPACK payload, expected XH00, XN01 or XN00 at its byte 4";
                report.add_at(rule::XNNPACK_PAYLOAD, path, pte.range(&opened.data).map(|range| range.start), found);
            }
            // Missing bytes are reported where the delegate refers to them.
            Err(error) if Xnnpack::is_one(pte.bytes(&opened.data).unwrap_or_default()) => {
                let rule = matches!(error.kind(), ErrorKind::Header(_)).then_some(rule::XNNPACK_PAYLOAD);
                let error = error.clone().in_field("processed").in_item(index).in_field("delegates");
                report.add_error(rule, &error.in_item(method).in_field("execution_plan"));
            }
            // The runtime checks for XNNPACK's magic, regardless of the backend that the bytes belong to.
            Err(_) => {
                if let Ok(bytes) = pte.bytes(&opened.data) {
                    let found = "no XNNPACK payload, expected XH00, XN01 or XN00 at its byte 4";
                    report.add_at(rule::XNNPACK_PAYLOAD, path, report.offset(Some(bytes)), found);
                }
            }
        });
        if let Ok(Payload::Xnnpack(payload)) = &opened.payload {
            calls::check(pte, &Graph::new(payload), &opened.delegates, report);
        }
    }
}

/// Checks everything that needs the `.ptd` files.
pub(super) fn check_pairing(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], ptds: &[&Ptd<'_>], report: &mut Report<'_>) {
    let blobs = NamedBlobs::new(pte, ptds.iter().copied());
    let keys = if ptds.is_empty() { constants::Keys::NotGiven } else { constants::Keys::Others };
    for opened in payloads {
        if let (true, Ok(Payload::Xnnpack(payload)), Some((method, index))) =
            (is_xnnpack(pte, opened), &opened.payload, opened.delegates.first())
        {
            in_delegate(*method, *index, |path| constants::check(&Graph::new(payload), &blobs, keys, path, report));
        }
    }
}

/// Checks a payload in a file of its own.
pub(super) fn check_payload(payload: &Xnnpack<'_>, report: &mut Report<'_>) {
    let graph = Graph::new(payload);
    graph_alone(&graph, &Path::ROOT, report);
    constants::check(&graph, &NamedBlobs::NONE, constants::Keys::Own, &Path::ROOT, report);
}

fn graph_alone(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    header(graph.payload, path, report);
    trailing_bytes(graph.payload, path, report);
    values::check(graph, path, report);
    nodes::check(graph, path, report);
    dataflow::check(graph, path, report);
}

/// Returns the message about a union without a member of the schema.
fn no_member(tag: u8, none: bool) -> String {
    match (tag, none) {
        (_, true) => "none, expected a value".into(),
        (tag, false) => format!("tag {tag} that is unknown or has no value"),
    }
}

/// Calls `check` with the path of a delegate's payload.
pub(super) fn in_delegate(method: usize, index: usize, check: impl FnOnce(&Path<'_>)) {
    check(&Path::ROOT.item("execution_plan", method).item("delegates", index).field("processed"));
}

/// Returns `true` if the delegate's id is that of XNNPACK. Payloads of other backends may start with the same bytes.
pub(super) fn is_xnnpack(pte: &Pte<'_>, opened: &OpenPayload<'_>) -> bool {
    opened.delegates_of(pte).any(|(_, delegate)| delegate.backend() == BACKEND)
}

/// Checks that the header is as the exporter writes it, and that only zeros surround the payload's parts.
fn header(payload: &Xnnpack<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (true, Some(header), Some(source)) = (report.is_strict(), payload.header, &payload.source) else {
        return;
    };
    let bytes = &*source.bytes;
    let start = report.offset(Some(bytes));
    let at = |offset: u64| start.map(|start| start + offset);
    if header.length != crate::delegate::xnnpack::XnnpackHeader::LENGTH {
        let found = format!("a header of {} bytes, expected 30", header.length);
        report.add_at(rule::XNNPACK_HEADER, path, at(8), found);
    }
    if header.flatbuffer_offset % 8 != 0 {
        let found = format!("its FlatBuffer starts at {}, expected a multiple of 8", header.flatbuffer_offset);
        report.add_at(rule::XNNPACK_HEADER, path, at(10), found);
    }
    let (flatbuffer, constants) = (header.flatbuffer(), header.constant_data());
    let gaps = [(0, 4), (30, flatbuffer.start), (flatbuffer.end, constants.start)];
    for (from, to) in gaps {
        // There are no bytes between overlapping parts.
        let gap = slice(bytes, from..to).unwrap_or_default();
        if let Some(index) = gap.iter().position(|byte| *byte != 0) {
            let place = from + index as u64;
            let found = format!("byte {place} of the payload is between its parts and not 0");
            report.add_at(rule::XNNPACK_HEADER, path, at(place), found);
        }
    }
}

/// Checks the bytes after the payload's parts.
fn trailing_bytes(payload: &Xnnpack<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(source) = payload.source.as_ref().filter(|_| report.is_strict()) else { return };
    let bytes = &*source.bytes;
    let flatbuffer = match payload.header {
        Some(header) => {
            let rest = payload.trailing_bytes();
            if !rest.is_empty() {
                trailing::check(bytes, rest.start, "the last part of the payload", path, report);
            }
            slice(bytes, header.flatbuffer()).unwrap_or_default()
        }
        None => bytes,
    };
    trailing::in_flatbuffer((0, flatbuffer), source, XNNGraph::DESCRIPTION, path, report);
}
