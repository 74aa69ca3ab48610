//! Histograms of quantized tensors in files that were read in part: their elements, scales and zero points are read first.

use crate::jobs::Part;
use executorch_format::delegate::xnnpack::{ConstantPlace, ConstantUse};
use executorch_format::delegate::{NamedBlobs, Payload};
use executorch_format::inspect::Histogram;
use executorch_format::schema::program::{ExecutionPlan, InstructionArguments};
use executorch_format::{Analysis, DataRef, Ptd, Pte, Segment, TensorData};

/// The largest number of bytes that are read for a histogram.
const MAX_READ: u64 = 1 << 30;

/// A histogram of numbers that are computed from several parts of the files.
pub struct Quantized {
    tensor: Tensor,
    /// The missing bytes.
    missing: Vec<Missing>,
}

/// The tensor that is counted.
enum Tensor {
    /// A value of a method.
    Value { method: usize, value: usize },
    /// A constant of a payload.
    Constant { payload: usize, index: u32 },
}

/// Bytes that were not read with the file.
struct Missing {
    part: Part,
    segment: u32,
    /// The offset from the segment's start, in bytes.
    offset: u64,
    bytes: Vec<u8>,
}

/// The place of a tensor's bytes: an index among the page's files, and the place in that file.
type Place = (usize, DataRef);

impl Quantized {
    /// Finds the quantized tensor whose bytes start at an offset of a file, if there is one.
    pub(crate) fn of(files: &Files<'_>, place: (usize, u64)) -> Result<Option<Self>, String> {
        let Some((tensor, places)) = files.value(place).or_else(|| files.constant(place)) else { return Ok(None) };
        let mut missing: Vec<Missing> = Vec::new();
        for more in places.into_iter().filter_map(|place| files.missing(place)) {
            if missing.iter().all(|known| known.part != more.part) {
                missing.push(more);
            }
        }
        let size: u64 = missing.iter().map(|missing| missing.part.2).sum();
        if size > MAX_READ {
            return Err(format!("it takes {size} bytes, and {MAX_READ} is the most that is dequantized"));
        }
        Ok(Some(Self { tensor, missing }))
    }

    pub(crate) fn parts(&self) -> Vec<Part> {
        self.missing.iter().map(|missing| missing.part).collect()
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let next = self.missing.iter_mut().find(|missing| (missing.bytes.len() as u64) < missing.part.2);
        if let Some(missing) = next {
            missing.bytes.extend_from_slice(bytes);
        }
    }

    /// Moves the bytes that were read into the file with the given index.
    pub(crate) fn fill(&mut self, index: usize, segments: &mut [Segment<'static>]) {
        for missing in self.missing.iter_mut().filter(|missing| missing.part.0 == index) {
            let Some(segment) = segments.get_mut(missing.segment as usize) else { continue };
            let part = (missing.offset, std::mem::take(&mut missing.bytes).into());
            match segment {
                Segment::Parts(parts) => {
                    let at = parts.iter().position(|(offset, _)| *offset > missing.offset).unwrap_or(parts.len());
                    parts.insert(at, part);
                }
                other => *other = Segment::Parts(vec![part]),
            }
        }
    }

    /// Takes the bytes out of the file again. No other bytes of these segments were read.
    pub(crate) fn clear(&self, index: usize, segments: &mut [Segment<'static>]) {
        for missing in self.missing.iter().filter(|missing| missing.part.0 == index) {
            if let Some(segment) = segments.get_mut(missing.segment as usize) {
                *segment = Segment::Absent;
            }
        }
    }

    /// Computes the histogram, once the files have the bytes.
    pub(crate) fn histogram(&self, files: &Files<'_>) -> Option<Histogram> {
        match self.tensor {
            Tensor::Value { method, value } => {
                let tensors = Analysis::new(files.pte).dequantized();
                let found = tensors.iter().find(|tensor| (tensor.method, tensor.value) == (method, value))?;
                found.numbers.as_ref().ok()?.histogram(Histogram::BINS)
            }
            Tensor::Constant { payload, index } => {
                let opened = files.pte.open_payloads();
                let Ok(Payload::Xnnpack(payload)) = &opened.get(payload)?.payload else { return None };
                let named = NamedBlobs::new(files.pte, files.data.iter().map(|(_, ptd)| *ptd));
                payload.histogram(index, &named, Histogram::BINS)
            }
        }
    }
}

/// A program and its `.ptd` files, with their indices among the page's files.
pub struct Files<'f> {
    pub pte: &'f Pte<'static>,
    pub index: usize,
    /// The start of the program in its file.
    pub start: u64,
    pub data: Vec<(usize, &'f Ptd<'static>)>,
}

impl Files<'_> {
    /// Finds the tensor of the program whose bytes start at `place` and that an operator dequantizes, with all tensors that the operator takes.
    fn value(&self, place: (usize, u64)) -> Option<(Tensor, Vec<Place>)> {
        let found = Analysis::new(self.pte).dequantized().into_iter().find_map(|tensor| {
            let plan = self.pte.methods().get(tensor.method)?;
            let (index, start, _) = self.part(&self.data_of(plan, tensor.value as i32)?)?;
            ((index, start) == place).then_some((tensor.method, tensor.value, plan))
        });
        let (method, value, plan) = found?;
        let calls = plan.instructions().filter_map(|(_, instruction)| match instruction {
            InstructionArguments::KernelCall(call) if call.args().first() == Some(&(value as i32)) => Some(call.args()),
            _ => None,
        });
        let places = calls.flatten().filter_map(|value| self.data_of(plan, *value)).collect();
        Some((Tensor::Value { method, value }, places))
    }

    /// Returns the place of a value's bytes in the program.
    fn data_of(&self, plan: &ExecutionPlan<'_>, value: i32) -> Option<Place> {
        match self.pte.tensor_data(plan.tensor(value)?).ok()? {
            TensorData::Constant(data) | TensorData::InitialState(data) => Some((self.index, data)),
            _ => None,
        }
    }

    /// Finds the constant of an XNNPACK payload whose bytes start at `place`, with its scales.
    fn constant(&self, place: (usize, u64)) -> Option<(Tensor, Vec<Place>)> {
        for (payload, opened) in self.pte.open_payloads().into_iter().enumerate() {
            let Ok(Payload::Xnnpack(xnnpack)) = &opened.payload else { continue };
            let start = self.pte.range(&opened.data).map_or(0, |range| self.start + range.start);
            let constants = xnnpack.constants();
            for constant in &constants {
                let named = self.named(&constant.place);
                let here = match (&named, xnnpack.constant_range(constant.index)) {
                    (Some(named), _) => self.part(named).map(|(index, start, _)| (index, start)),
                    (None, range) => range.map(|range| (self.index, start + range.start)),
                };
                if here != Some(place) {
                    continue;
                }
                let first = constant.uses.first();
                let value = first.filter(|used| matches!(used, ConstantUse::Tensor { .. })).map(ConstantUse::value);
                let has_scales =
                    |used: &ConstantUse<'_>| matches!(used, ConstantUse::Scales { .. }) && Some(used.value()) == value;
                let scales = constants.iter().find(|other| other.uses.iter().any(has_scales));
                let scales = scales.and_then(|scales| self.named(&scales.place));
                let places = named.into_iter().chain(scales).collect();
                return Some((Tensor::Constant { payload, index: constant.index }, places));
            }
        }
        None
    }

    /// Returns the place of a payload's constant if it is in named data or in a `.ptd` file. Other constants are in the payload, which was read.
    fn named(&self, place: &ConstantPlace<'_>) -> Option<Place> {
        let ConstantPlace::Named { key, .. } = place else { return None };
        let named = self.pte.named_data().iter().find(|named| named.key.as_deref() == Some(*key));
        if let Some(named) = named {
            return Some((self.index, self.pte.named_data_ref(named).ok()?));
        }
        self.data.iter().find_map(|(file, ptd)| Some((*file, ptd.entry_data(&ptd.get(key)?).ok()?)))
    }

    fn ptd(&self, index: usize) -> Option<&Ptd<'static>> {
        self.data.iter().find(|(other, _)| *other == index).map(|(_, ptd)| *ptd)
    }

    /// Converts a place to a range of a file.
    fn part(&self, (file, data): &Place) -> Option<Part> {
        let (start, range) = match *file == self.index {
            true => (self.start, self.pte.range(data)?),
            false => (0, self.ptd(*file)?.range(data)?),
        };
        Some((*file, start + range.start, range.end - range.start))
    }

    /// Returns the missing bytes of a place.
    fn missing(&self, place: Place) -> Option<Missing> {
        let (file, DataRef::Segment { index, offset, .. }) = place else { return None };
        let absent = match file == self.index {
            true => self.pte.bytes(&place.1).is_err(),
            false => self.ptd(file)?.bytes(&place.1).is_err(),
        };
        let part = self.part(&place).filter(|_| absent)?;
        Some(Missing { part, segment: index, offset, bytes: Vec::new() })
    }
}
