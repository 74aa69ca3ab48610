//! Rules about constants: they exist, and have as many bytes as their values need.

use super::super::report::{Name, Report};
use super::super::rule;
use super::quantization::{channels, is_scale};
use super::{Graph, weights};
use crate::delegate::NamedBlobs;
use crate::delegate::xnnpack::{ConstantPlace, scales_constant};
use crate::error::counted;
use crate::file::named_blobs::NamedBlob;
use crate::file::segment::slice;
use crate::flatbuffer::text::c_string;
use crate::path::Path;
use crate::schema::xnnpack::{XNNQuantParams, XNNTensorValue, XValue};
use alloc::collections::BTreeMap;
use alloc::{format, vec, vec::Vec};

/// The constants to check, selected by the location of their keys.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Keys {
    /// Constants without a key, and constants whose key is among the blobs.
    Own,
    /// Constants whose key is in a `.ptd` file, or not found.
    Others,
    /// The same constants as `Others`, if no `.ptd` file was given.
    NotGiven,
}

/// The offset of a constant that is given by a key.
const EXTERNAL_OFFSET: u64 = u64::MAX;

/// The alignment of constants.
const ALIGNMENT: u64 = 16;

pub(super) fn check(graph: &Graph<'_>, blobs: &NamedBlobs<'_>, keys: Keys, path: &Path<'_>, report: &mut Report<'_>) {
    let mut reads = Vec::new();
    for node in graph.payload.graph.xnodes() {
        weights::reads(graph, &node.xnode_union, &mut reads);
    }
    reads.sort();
    let mut check = Check { graph, blobs, keys, reads, named: BTreeMap::new(), missing: 0 };
    let tree = &graph.payload.graph;
    for (index, value) in tree.xvalues().iter().enumerate() {
        let path = &path.item("xvalues", index);
        let Some(tensor) = value.tensor() else {
            continue;
        };
        let quantized = path.field("xvalue_union.XNNQuantizedTensorValue");
        if tensor.constant_buffer_idx != 0 {
            let path = match value.quant_params() {
                Some(_) => quantized.field("tensor_value"),
                None => path.field("xvalue_union.XNNTensorValue"),
            };
            check.tensor(tensor, &path.field("constant_buffer_idx"), report);
        }
        if let Some(params) = value.quant_params() {
            if let Some((index, count, element)) = scales_constant(params) {
                let path = quantized.field("quant_params");
                // Parameters with scales are of a known kind, so they have a name.
                let path = &path.field(params.name().unwrap_or_default());
                check.scales(value, index, count, element, &path.field("scale_buffer_idx"), report);
            }
        }
    }
    if check.missing > 0 {
        let found = format!("no .ptd file was given, so {} could not be looked up", counted(check.missing, "constant"));
        report.add(rule::XNNPACK_UNCHECKED, path, found);
    }
    if keys == Keys::Own {
        entries(graph, path, report);
    }
    weights::requantization(graph, blobs, keys, path, report);
}

struct Check<'t> {
    graph: &'t Graph<'t>,
    blobs: &'t NamedBlobs<'t>,
    keys: Keys,
    /// The number of bytes that nodes read from constants, by value id.
    reads: Vec<(u32, u64)>,
    /// The key of each constant that has one, as the runtime reads it, and its blob; `None` if the blob cannot be read. By index: many values
    /// can share a constant with a long key.
    named: BTreeMap<u32, (&'t str, Option<Option<NamedBlob<'t>>>)>,
    /// The number of constants whose key was not found, if no `.ptd` file was given.
    missing: usize,
}

impl<'t> Check<'t> {
    /// Returns the bytes of a constant, and the number of bytes that the runtime could read from its start; `None` if the constant is
    /// not among those to check.
    fn bytes(&mut self, index: u32, path: &Path<'_>, report: &mut Report<'_>) -> Option<(&'t [u8], u64)> {
        let payload = self.graph.payload;
        match payload.constant(index) {
            None if self.keys == Keys::Own => {
                let tree = &payload.graph;
                let count =
                    if payload.header.is_some() { tree.constant_data().len() } else { tree.constant_buffer().len() };
                let found = format!("{index}, expected an index below {count}");
                report.add(rule::XNNPACK_CONSTANT_INDEX, path, found);
                None
            }
            Some(ConstantPlace::Named { key, size }) => {
                let bytes = self.named(index, (key, size), path, report)?;
                Some((bytes, bytes.len() as u64))
            }
            Some(ConstantPlace::Payload { offset, size }) if self.keys == Keys::Own => {
                let available = payload.constant_data.len() as u64;
                if offset.checked_add(size).is_none_or(|end| end > available) {
                    let found = format!("{size} bytes from {offset} of the constant data, which has {available}");
                    report.add(rule::XNNPACK_CONSTANT_BOUNDS, path, found);
                    return None;
                }
                // The runtime only has the start of the constant.
                Some((slice(&payload.constant_data, offset..offset + size)?, available - offset))
            }
            Some(ConstantPlace::Inline(bytes)) if self.keys == Keys::Own => {
                let storage = payload.graph.constant_buffer().get(index as usize);
                if storage.is_none_or(|buffer| buffer.storage.is_none()) {
                    let found = format!("constant {index}, whose storage is absent");
                    report.add(rule::XNNPACK_CONSTANT_INDEX, path, found);
                    return None;
                }
                Some((bytes, bytes.len() as u64))
            }
            _ => None,
        }
    }

    fn named(
        &mut self,
        index: u32,
        (key, size): (&'t str, u64),
        path: &Path<'_>,
        report: &mut Report<'_>,
    ) -> Option<&'t [u8]> {
        let blobs = self.blobs;
        let (key, blob) = *self.named.entry(index).or_insert_with(|| {
            let key = c_string(key);
            (key, blobs.get(key).ok())
        });
        // A fault of the blob's segment breaks another rule.
        match (self.keys, blob?) {
            (Keys::Own, None) => None,
            (Keys::Others, None) => {
                let found = format!("{}, which neither the .pte nor a .ptd file has", Name(key));
                report.add(rule::XNNPACK_CONSTANT_KEY, path, found);
                None
            }
            (Keys::NotGiven, None) => {
                self.missing += 1;
                None
            }
            (keys, Some(blob)) if (keys == Keys::Own) == (blob.file == 0) => {
                if blob.bytes.len() as u64 != size {
                    let (key, bytes) = (Name(key), blob.bytes.len());
                    let found = format!("{size} bytes, but the blob {key} has {bytes}");
                    report.add(rule::XNNPACK_CONSTANT_SIZE, path, found);
                }
                Some(blob.bytes)
            }
            _ => None,
        }
    }

    fn tensor(&mut self, tensor: &XNNTensorValue<'_>, path: &Path<'_>, report: &mut Report<'_>) {
        let (Some((bytes, available)), Some(needed)) =
            (self.bytes(tensor.constant_buffer_idx, path, report), tensor.byte_size())
        else {
            return;
        };
        let offset = report.offset(Some(bytes));
        // Sorted by id, then by bytes: the last item with this id reads the most.
        let read = self.reads.partition_point(|(id, _)| *id <= tensor.id_out);
        let read = read.checked_sub(1).and_then(|last| self.reads.get(last)).filter(|(id, _)| *id == tensor.id_out);
        let read = read.map_or(0, |(_, bytes)| *bytes);
        if read > available {
            let found = format!("{tensor}, of which a node reads {read} bytes, but the constant has {available}");
            report.add_at(rule::XNNPACK_CONSTANT_BOUNDS, path, offset, found);
        } else if bytes.len() as u64 != needed {
            let found = format!("{tensor} takes {needed} bytes, but the constant has {}", bytes.len());
            report.add_at(rule::XNNPACK_CONSTANT_SIZE, path, offset, found);
        }
    }

    fn scales(
        &mut self,
        value: &XValue<'_>,
        index: u32,
        count: u32,
        element: u32,
        path: &Path<'_>,
        report: &mut Report<'_>,
    ) {
        let Some((bytes, available)) = self.bytes(index, path, report) else {
            return;
        };
        let wanted = match (value.quant_params(), value.tensor()) {
            (Some(XNNQuantParams::PerChannelQuant(channel)), Some(tensor)) => channels(tensor, channel.channel_dim),
            _ => Some(count),
        };
        let needed = u64::from(wanted.unwrap_or(count)) * u64::from(element);
        if needed > available || bytes.len() as u64 != needed {
            let rule = if needed > available { rule::XNNPACK_CONSTANT_BOUNDS } else { rule::XNNPACK_CONSTANT_SIZE };
            let found = format!("scales take {needed} bytes, but the constant has {}", bytes.len());
            report.add_at(rule, path, report.offset(Some(bytes)), found);
        }
        let bytes = slice(bytes, 0..needed).unwrap_or(bytes);
        if let Some((at, scale)) = numbers(bytes, element).enumerate().find(|(_, scale)| !is_scale(*scale)) {
            let found = format!("scale {at} is {scale:e}, expected a positive number");
            let offset = report.offset(bytes.get(at * element as usize..));
            report.add_at(rule::XNNPACK_SCALES, path, offset, found);
        }
    }
}

/// Decodes stored scales: f32, or bfloat16, which is the upper half of an f32.
pub(super) fn numbers(bytes: &[u8], element: u32) -> impl Iterator<Item = f32> + '_ {
    bytes.chunks_exact(element as usize).map(|chunk| {
        let bits = chunk.iter().rev().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        f32::from_bits(if chunk.len() == 2 { bits << 16 } else { bits })
    })
}

/// Checks the entries themselves: each has a key or an offset, is aligned and used, and entry 0 is empty.
fn entries(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let payload = graph.payload;
    if !report.is_strict() || payload.header.is_none() {
        return;
    }
    let list = payload.graph.constant_data();
    if let Some(first) = list.first() {
        if (first.offset, first.size) != (0, 0) || !first.named_key().is_empty() {
            let found = format!("offset {}, {} bytes, expected an empty placeholder", first.offset, first.size);
            report.add(rule::XNNPACK_CONSTANTS, &path.item("constant_data", 0), found);
        }
    }
    let mut used: Vec<bool> = vec![false; list.len()];
    for value in payload.graph.xvalues() {
        let scales = value.quant_params().and_then(scales_constant).map(|(index, ..)| index);
        let constant = value.tensor().map(|tensor| tensor.constant_buffer_idx);
        for index in [scales, constant].into_iter().flatten() {
            if let Some(used) = used.get_mut(index as usize) {
                *used = true;
            }
        }
    }
    for (index, (entry, used)) in list.iter().zip(used).enumerate().skip(1) {
        let path = path.item("constant_data", index);
        if !used {
            report.add(rule::XNNPACK_CONSTANTS, &path, "no value uses it");
        }
        match &entry.named_key {
            Some(key) if key.is_empty() || entry.offset != EXTERNAL_OFFSET => {
                let found =
                    format!("the key {} and offset {}, expected a key and offset 2^64 - 1", Name(key), entry.offset);
                report.add(rule::XNNPACK_CONSTANT_FORM, &path, found);
            }
            None if entry.offset % ALIGNMENT != 0 => {
                let found = format!("{}, expected a multiple of {ALIGNMENT}", entry.offset);
                report.add(rule::XNNPACK_CONSTANT_FORM, &path.field("offset"), found);
            }
            _ => (),
        }
    }
}
