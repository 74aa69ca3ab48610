//! A program's own quantized constants. Scales and zero points are arguments of the operators that take the constants.

use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::quantized::{Dequantized, Parameters, Runs, Stored, elements};
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments, KernelTypes};
use crate::tensor::TensorView;
use alloc::collections::BTreeSet;
use alloc::{format, vec::Vec};

/// A tensor with data in the program that an operator dequantizes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QuantizedTensor<'t> {
    /// Index of the method.
    pub method: usize,
    /// Index into the method's values.
    pub value: usize,
    /// The first operator that dequantizes it, without its overload.
    pub operator: &'t str,
    /// The numbers; an error if shapes, scales and zero points do not match, are not in the program, or were not read.
    pub numbers: Result<Dequantized<'t>>,
}

/// The scales and zero points that an operator applies to its first argument.
#[derive(Clone, Copy)]
enum Scheme {
    /// One scale and zero point.
    Tensor,
    /// One for each index of the dimension given by argument 3.
    Channel,
    /// One for each row.
    Token,
    /// One for each row, or for each group in a row. Each element has this many bits; their order and their zero follow ExecuTorch's
    /// kernels (`embeddingxb.cpp`).
    Embedding(u32),
}

impl Scheme {
    fn of(operator: &str) -> Option<Self> {
        Some(match operator {
            "quantized_decomposed::dequantize_per_tensor" | "cortex_m::dequantize_per_tensor" => Self::Tensor,
            "quantized_decomposed::dequantize_per_channel" => Self::Channel,
            "quantized_decomposed::dequantize_per_token" => Self::Token,
            "quantized_decomposed::embedding_byte" => Self::Embedding(8),
            "quantized_decomposed::embedding_4bit" => Self::Embedding(4),
            "quantized_decomposed::embedding_2bit" => Self::Embedding(2),
            _ => return None,
        })
    }
}

pub(crate) fn dequantized<'t>(pte: &'t Pte<'_>) -> Vec<QuantizedTensor<'t>> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (method, plan) in pte.methods().iter().enumerate() {
        let schemes: Vec<_> = plan.operators().iter().map(|operator| Scheme::of(operator.name())).collect();
        for (_, instruction) in plan.instructions() {
            let InstructionArguments::KernelCall(call) = instruction else { continue };
            let scheme = usize::try_from(call.op_index).ok().and_then(|index| schemes.get(index).copied().flatten());
            let (Some(scheme), [input, arguments @ ..]) = (scheme, call.args()) else { continue };
            let Ok(value) = usize::try_from(*input) else { continue };
            let Some(tensor) = plan.tensor(value) else { continue };
            let view = match pte.tensor_view(tensor) {
                Ok(Some(view)) => Ok(view),
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            if seen.insert((method, value)) {
                let numbers = view.and_then(|view| quantized(pte, plan, scheme, view, arguments));
                let operator = plan.operator(call).map_or("", |operator| operator.name());
                found.push(QuantizedTensor { method, value, operator, numbers });
            }
        }
    }
    found
}

fn quantized<'t>(
    pte: &'t Pte<'_>,
    plan: &'t ExecutionPlan<'_>,
    scheme: Scheme,
    view: TensorView<'t>,
    arguments: &[i32],
) -> Result<Dequantized<'t>> {
    let shape = view.shape();
    let wrong = |what: &str| Error::tensor(format!("{shape} {what}"));
    if !shape.is_natural() {
        return Err(wrong("is not in the natural dim order"));
    }
    let mut stored = Stored::of(shape.scalar_type).ok_or_else(|| wrong("has no numbers"))?;
    let argument = |index: usize| arguments.get(index).and_then(|value| plan.value(*value));
    let scales = parameters(pte, argument(0), "scales")?;
    let zero_points = argument(1).filter(|value| !matches!(value.val, KernelTypes::Null(_)));
    // Data in the file has no negative sizes.
    let mut dims: Vec<u32> = shape.sizes.iter().map(|size| size.unsigned_abs()).collect();
    let last = dims.last().map_or(1, |size| *size as usize);
    let runs = match scheme {
        Scheme::Tensor => Runs { count: 1, size: elements(&dims) },
        Scheme::Token => Runs { count: elements(&dims) / last.max(1), size: last },
        Scheme::Channel => {
            let axis = argument(2).and_then(|value| match &value.val {
                KernelTypes::Int(axis) if axis.int_val < 0 => usize::try_from(axis.int_val + dims.len() as i64).ok(),
                KernelTypes::Int(axis) => usize::try_from(axis.int_val).ok(),
                _ => None,
            });
            let channels = axis.and_then(|axis| dims.get(axis..)?.split_first());
            let (channels, inner) = channels.ok_or_else(|| wrong("has no dimension with that axis"))?;
            Runs { count: *channels as usize, size: elements(inner) }
        }
        Scheme::Embedding(bits) => {
            stored = match bits {
                4 => Stored::HighHalfFirst,
                2 => Stored::Quarters,
                _ => stored,
            };
            let groups = arguments.first().and_then(|value| plan.tensor(*value)?.sizes().get(1).copied()).unwrap_or(1);
            // A negative number becomes 0, which `checked_div` rejects.
            let groups = usize::try_from(groups).unwrap_or_default();
            let [rows, columns] = &mut *dims else { return Err(wrong("has no rows and columns")) };
            *columns = columns.checked_mul(8 / bits).ok_or_else(|| wrong("has too many columns"))?;
            let size = (*columns as usize).checked_div(groups).filter(|size| size * groups == *columns as usize);
            let size = size.ok_or_else(|| wrong("is not divided by its groups"))?;
            Runs { count: (*rows as usize).saturating_mul(groups), size }
        }
    };
    let zero_points = match zero_points {
        Some(value) => parameters(pte, Some(value), "zero points")?,
        None => Parameters::One(0.0),
    };
    Dequantized::new(stored, dims.into(), view.bytes(), [scales, zero_points], runs)
}

/// Reads scales or zero points from the program.
fn parameters<'t>(pte: &'t Pte<'_>, value: Option<&'t EValue<'_>>, what: &str) -> Result<Parameters<'t>> {
    let missing = || Error::tensor(format!("the {what} are not in the program"));
    match value.map(|value| &value.val) {
        Some(KernelTypes::Int(number)) => Ok(Parameters::One(number.int_val as f64)),
        Some(KernelTypes::Double(number)) => Ok(Parameters::One(number.double_val)),
        Some(KernelTypes::Tensor(tensor)) => {
            let view = pte.tensor_view(tensor)?.ok_or_else(missing)?;
            let stored = Stored::of(tensor.scalar_type).ok_or_else(missing)?;
            Ok(Parameters::Stored(stored, view.bytes()))
        }
        _ => Err(missing()),
    }
}
