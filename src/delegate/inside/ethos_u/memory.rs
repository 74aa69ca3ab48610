//! The values in memory, and which operation wrote them.

use super::tensor::WEIGHTS;
use crate::delegate::EthosU;
use crate::delegate::ethos_u::VelaIo;
use crate::delegate::inside::{InsideArgument, InsideData, InsideNode, InsideTensorType};
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, sync::Arc, vec::Vec};
use core::ops::Range;

/// The maximum number of earlier results that a node takes for one argument.
const MAX_SOURCES: usize = 16;

/// Bytes in a region.
type Place = (u16, Range<u64>);

/// The last value written to each byte: by region and start, the end and the value.
type Written = BTreeMap<(u16, u64), (u64, u32)>;

/// Follows the values through memory.
pub(super) struct Memory {
    written: Written,
    /// The types of values, by id.
    types: Vec<Arc<InsideTensorType>>,
    /// The delegate's arguments that values are, by id.
    arguments: BTreeMap<u32, u32>,
    /// The ids of data that no operation wrote.
    unwritten: BTreeMap<(u16, u64, u64), u32>,
    /// The places of the outputs.
    outputs: Vec<(Place, u32)>,
}

impl Memory {
    pub(super) fn of(payload: &EthosU<'_>) -> Self {
        let mut reader = Self {
            written: BTreeMap::new(),
            types: Vec::new(),
            arguments: BTreeMap::new(),
            unwritten: BTreeMap::new(),
            outputs: Vec::new(),
        };
        let inputs = payload.inputs().unwrap_or_default();
        for (input, position) in inputs.iter().zip(0..) {
            let (region, range) = place_of(input);
            let id = reader.value(Arc::new(type_of(input)));
            reader.arguments.insert(id, position);
            reader.write(region, range, id);
        }
        let outputs = payload.outputs().unwrap_or_default();
        reader.outputs = outputs.iter().map(place_of).zip(inputs.len() as u32..).collect();
        reader
    }

    /// Returns the id of a new value.
    fn value(&mut self, tensor: Arc<InsideTensorType>) -> u32 {
        self.types.push(tensor);
        // A stream has fewer operations than bytes.
        (self.types.len() - 1) as u32
    }

    /// Records that bytes now hold a value.
    fn write(&mut self, region: u16, range: Range<u64>, id: u32) {
        if range.is_empty() {
            return;
        }
        // The last older value that starts before may continue inside or after the range.
        if let Some((key, (end, older))) = self.written.range(..(region, range.start)).next_back() {
            let (start, end, older) = (*key, *end, *older);
            if start.0 == region && end > range.start {
                self.written.insert(start, (range.start, older));
                if end > range.end {
                    self.written.insert((region, range.end), (end, older));
                }
            }
        }
        let inside: Vec<u64> =
            self.written.range((region, range.start)..(region, range.end)).map(|(key, _)| key.1).collect();
        for start in inside {
            if let Some((end, older)) = self.written.remove(&(region, start)).filter(|(end, _)| *end > range.end) {
                self.written.insert((region, range.end), (end, older));
            }
        }
        self.written.insert((region, range.start), (range.end, id));
    }

    /// Returns the values in some bytes, in the order of their bytes, at most [`MAX_SOURCES`].
    fn read(&self, region: u16, range: &Range<u64>) -> Vec<u32> {
        let before = self.written.range(..(region, range.start)).next_back();
        let before = before.filter(|((of, _), (end, _))| *of == region && *end > range.start);
        let inside = self.written.range((region, range.start)..(region, range.end.max(range.start)));
        let mut ids: Vec<u32> = Vec::new();
        for (_, (_, id)) in before.into_iter().chain(inside).take(MAX_SOURCES) {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }

    /// Returns the arguments for data that an operation reads.
    pub(super) fn taken(
        &mut self,
        name: &'static str,
        region: u16,
        ranges: &[Range<u64>],
        tensor: &Arc<InsideTensorType>,
    ) -> Vec<InsideArgument> {
        let mut ids: Vec<u32> = Vec::new();
        for range in ranges {
            for id in self.read(region, range) {
                if !ids.contains(&id) && ids.len() < MAX_SOURCES {
                    ids.push(id);
                }
            }
        }
        let written = !ids.is_empty();
        if let (false, Some(range)) = (written, ranges.first()) {
            let place = (region, range.start, range.end);
            let known = self.unwritten.get(&place).copied();
            ids.push(known.unwrap_or_else(|| {
                let id = self.value(tensor.clone());
                self.unwritten.insert(place, id);
                id
            }));
        }
        let constant = !written && region == WEIGHTS;
        let data = ranges.first().filter(|_| constant).map(|range| InsideData::Index(range.start));
        let argument = |id: u32| InsideArgument {
            name: Cow::Borrowed(name),
            id,
            tensor: self.types.get(id as usize).cloned().unwrap_or_default(),
            argument: self.arguments.get(&id).copied(),
            constant,
            data: data.clone(),
            ..InsideArgument::default()
        };
        ids.into_iter().map(argument).collect()
    }

    /// Returns the argument for data that an operation writes.
    pub(super) fn given(
        &mut self,
        region: u16,
        ranges: &[Range<u64>],
        tensor: Arc<InsideTensorType>,
    ) -> InsideArgument {
        let id = self.value(tensor.clone());
        for range in ranges {
            self.write(region, range.clone(), id);
        }
        InsideArgument { name: "ofm".into(), id, output: true, tensor, ..InsideArgument::default() }
    }

    /// Marks the values that are in the places of the outputs at the end.
    pub(super) fn mark_outputs(&self, nodes: &mut [InsideNode]) {
        let mut positions: BTreeMap<u32, u32> = BTreeMap::new();
        for ((region, range), position) in &self.outputs {
            for id in self.read(*region, range) {
                positions.entry(id).or_insert(*position);
            }
        }
        for argument in nodes.iter_mut().flat_map(|node| &mut node.arguments).filter(|argument| argument.output) {
            argument.argument = positions.get(&argument.id).copied();
        }
    }
}

fn place_of(io: &VelaIo) -> Place {
    let elements =
        io.shape.iter().fold(1u64, |product, size| product.saturating_mul(u64::try_from(*size).unwrap_or(0)));
    let size = elements.saturating_mul(u64::try_from(io.element_size).unwrap_or(0));
    let (region, start) = (u16::try_from(io.region).unwrap_or(u16::MAX), u64::try_from(io.offset).unwrap_or(0));
    (region, start..start.saturating_add(size))
}

/// Returns the type of an input or output: the payload states the sizes, but only the bytes of an element.
fn type_of(io: &VelaIo) -> InsideTensorType {
    let datatype = match io.element_size {
        1 => Cow::Borrowed("i8"),
        2 => Cow::Borrowed("i16"),
        4 => Cow::Borrowed("i32"),
        size => Cow::Owned(format!("{size} bytes")),
    };
    // The first sizes are 1 if there are fewer dimensions.
    let first = io.shape.iter().position(|size| *size != 1).unwrap_or(io.shape.len());
    InsideTensorType::new(datatype, io.shape.iter().skip(first).map(|size| u64::try_from(*size).ok()))
}
