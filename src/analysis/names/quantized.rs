//! Names of quantized constants: by their numbers, and of their scales and zero points.

use super::state_dict::{Candidate, chosen, is_given, name_inside, name_of};
use super::{MethodNames, Name, NameText, Names, StateTensor, outer};
use crate::analysis::dequantized;
use crate::dataflow::Calls;
use crate::delegate::{NamedBlobs, OpenPayload};
use crate::file::pte::Pte;
use crate::names::short;
use crate::operators;
use crate::quantized::Dequantized;
use crate::schema::ScalarType;
use crate::schema::program::{ExecutionPlan, InstructionArguments, Operator};
use alloc::collections::BTreeMap;
use alloc::{format, vec::Vec};

/// The distance between a number and the same quantized and dequantized, in scales: half a scale, and an error of the scale itself, which
/// may have 8 bits.
const MAX_DISTANCE: f32 = 0.5 + 1.0 / 32.0;

/// The most comparisons of elements, in multiples of the size of the state dict.
const MAX_COMPARISONS: usize = 16;

/// The tensors of a state dict that quantized constants are compared with, by the number of their elements.
struct Comparer<'t> {
    tensors: BTreeMap<usize, Vec<(&'t StateTensor<'t>, Dequantized<'t>)>>,
    /// The remaining number of comparisons.
    left: usize,
}

/// Names the quantized constants whose numbers are those of a tensor within half a scale, or beyond the range of the quantized ones,
/// including those of XNNPACK in the layout of their node. Among several such tensors, one is chosen as by [`state_dict::add`](super::state_dict::add).
pub(super) fn add<'t>(
    names: &mut Names<'t>,
    pte: &Pte<'_>,
    payloads: &[OpenPayload<'_>],
    state: &'t [StateTensor<'t>],
) {
    let mut tensors: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for tensor in state {
        if let Some(numbers) = numbers(tensor).filter(|numbers| numbers.elements() > 0) {
            tensors.entry(numbers.elements()).or_default().push((tensor, numbers));
        }
    }
    let size = state.iter().map(|tensor| tensor.bytes.len()).sum::<usize>();
    let mut comparer = Comparer { tensors, left: size.saturating_mul(MAX_COMPARISONS) };
    for tensor in dequantized(pte) {
        let own = names.methods.get(tensor.method).and_then(|names| names.values.get(tensor.value)?.as_ref());
        let (Ok(numbers), false) = (&tensor.numbers, is_given(own)) else { continue };
        let same = comparer.same(numbers.elements(), &|_| Some(numbers.clone()));
        if let (Some((found, _)), Some(names)) = (chosen(&same, own), names.methods.get_mut(tensor.method)) {
            names.put(tensor.value as i64, name_of(found, false));
        }
    }
    let blobs = NamedBlobs::new(pte, []);
    name_inside(names, payloads, |xnnpack, value, layouts, own| {
        xnnpack.graph.xvalues().get(value)?.quant_params()?;
        let stored = xnnpack.dequantized(value, &blobs).ok()??;
        let numbers = |sizes: &[u32]| xnnpack.numbers_in_the_model(value, layouts, Some(sizes), &blobs).ok();
        chosen(&comparer.same(stored.elements(), &numbers), own).map(|(found, _)| found)
    });
}

/// Returns the numbers of a tensor in floating point.
fn numbers<'t>(tensor: &'t StateTensor<'_>) -> Option<Dequantized<'t>> {
    use ScalarType as Type;
    let is_float = |own: &Type| [Type::HALF, Type::BFLOAT16, Type::FLOAT, Type::DOUBLE].contains(own);
    let scalar_type = tensor.scalar_type.filter(is_float)?;
    let sizes = tensor.sizes.iter().map(|size| u32::try_from(*size).ok()).collect::<Option<Vec<_>>>()?;
    Dequantized::unquantized(scalar_type, sizes.into(), &tensor.bytes)
}

impl<'t> Comparer<'t> {
    /// Returns the tensors with the same numbers, from those with as many elements. `numbers` returns the quantized ones in the layout of a
    /// tensor with these sizes.
    fn same<'n>(&mut self, elements: usize, numbers: &dyn Fn(&[u32]) -> Option<Dequantized<'n>>) -> Vec<Candidate<'t>> {
        let mut same = Vec::new();
        for (tensor, original) in self.tensors.get(&elements).map(Vec::as_slice).unwrap_or_default() {
            let Some(quantized) = numbers(original.dims()) else { continue };
            let squeezed = |sizes: &[u32]| -> Vec<u32> { sizes.iter().copied().filter(|size| *size != 1).collect() };
            if squeezed(quantized.dims()) != squeezed(original.dims()) {
                continue;
            }
            let mut compared = 0;
            let fits = quantized.ranges(MAX_DISTANCE).zip(original.values()).all(|([low, high], original)| {
                compared += 1;
                compared <= self.left && low <= original && original <= high
            });
            self.left = self.left.saturating_sub(compared);
            if fits {
                same.push((*tensor, false));
            }
        }
        same
    }
}

/// Returns the name of the scales or zero points of a tensor.
pub(super) fn part<'t>(of: &Name<'t>, part: &str) -> Name<'t> {
    Name::new(format!("{} {part}", short(&of.name)).into(), of.named_by, of.module)
}

/// Returns the part of a quantized tensor that an argument of this name has.
fn part_in(argument: &str) -> Option<&'static str> {
    match argument {
        "scale" | "scales" | "weight_scales" => Some("scales"),
        "zero_point" | "zero_points" | "weight_zero_points" => Some("zero points"),
        _ => None,
    }
}

/// Names the scales and zero points of a method's quantized tensors after these, unless the model's author named them.
pub(super) fn add_parameters<'p>(
    names: &mut MethodNames<'_>,
    plan: &'p ExecutionPlan<'p>,
    calls: impl Fn() -> Calls<'p, 'p>,
) {
    if !names.values.iter().flatten().any(|name| name.named_by.is_given()) {
        return;
    }
    // Only the arguments of operators in the table have names.
    let is_dequantizing = |operator: &Operator<'_>| {
        let name = operators::find(operator).map_or("", |row| row.name);
        name.contains("::dequantize_") || name.contains("::embedding_")
    };
    let dequantizing: Vec<bool> = plan.operators().iter().map(is_dequantizing).collect();
    let calls = calls();
    for (_, instruction) in plan.instructions() {
        let InstructionArguments::KernelCall(call) = instruction else { continue };
        let operator = usize::try_from(call.op_index).ok();
        if operator.and_then(|operator| dequantizing.get(operator)) != Some(&true) {
            continue;
        }
        let accesses = calls.accesses(instruction).list;
        let parts = accesses.iter().filter_map(|access| Some((access.value, part_in(access.name?)?)));
        let tensor = accesses.first().and_then(|access| usize::try_from(access.value).ok());
        let Some(tensor) = tensor.and_then(|value| names.values.get(value)?.clone()) else { continue };
        if !tensor.named_by.is_given() {
            continue;
        }
        let module = tensor.module.or(match &tensor.name {
            NameText::Borrowed(name) => Some(outer(name)),
            NameText::Shared(_) => None,
        });
        let tensor = Name { module, ..tensor };
        for (value, what) in parts {
            if plan.tensor(value).is_some() {
                names.put(value.into(), part(&tensor, what));
            }
        }
    }
}
