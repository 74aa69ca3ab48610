//! A program's own quantized constants as numbers. Scales and zero points are arguments of the operators that take the constants.

use crate::analysis::Analysis;
use crate::delegate::Payload;
use crate::delegate::xnnpack::{ConstantPlace, ConstantUse};
use crate::error::{Error, Result};
use crate::file::pte::Pte;
use crate::keyed::Keyed;
use crate::quantized::{Dequantized, Parameters, Runs, Stored, elements};
use crate::schema::program::{EValue, ExecutionPlan, InstructionArguments, KernelTypes};
use crate::tensor::TensorView;
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

/// A constant that can be read as numbers: a tensor that an operator dequantizes, or a constant inside a payload of XNNPACK or CUDA.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConstantNumbers<'t> {
    /// Index of the method.
    pub method: usize,
    /// Index of the delegate that contains it; `None` for a value of the method.
    pub delegate: Option<usize>,
    /// Index into the values of the method or of the payload.
    pub value: usize,
    /// The key of its named data, if it is inside a payload.
    pub key: Option<&'t str>,
    /// The name that its payload gives it.
    pub name: Option<&'t str>,
    /// The numbers; an error if shapes, scales and zero points do not match, or are not in the program.
    pub numbers: Result<Dequantized<'t>>,
}

impl Analysis<'_> {
    /// Calls `found` with each constant that can be read as numbers: the constants of [`dequantized`](Self::dequantized), then the constants
    /// inside the payloads of XNNPACK and CUDA, quantized or not. A payload that several delegates share is visited for the first of them.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/quant_xnnpack/quant_xnnpack.pte")?;
    /// let mut count = 0;
    /// let pte = Pte::parse(&file)?;
    /// Analysis::new(&pte).visit_numbers(&mut |constant| {
    ///     count += constant.numbers.as_ref().map_or(0, |numbers| numbers.elements());
    /// });
    /// assert_eq!(count, 466);
    /// # Ok(())
    /// # }
    /// ```
    pub fn visit_numbers(&self, found: &mut dyn FnMut(&ConstantNumbers<'_>)) {
        for QuantizedTensor { method, value, numbers, .. } in self.dequantized() {
            found(&ConstantNumbers { method, delegate: None, value, key: None, name: None, numbers });
        }
        let blobs = self.named_blobs();
        for opened in self.payloads() {
            let Some((method, delegate)) = opened.delegates.first() else { continue };
            let payload = match &opened.payload {
                Ok(Payload::Xnnpack(payload)) => payload,
                Ok(Payload::AotInductor(aot)) => {
                    for (value, tensor) in aot.tensors.iter().enumerate() {
                        let (Some(stored), Ok(Some(blob))) = (Stored::of(tensor.scalar_type), blobs.get(tensor.key))
                        else {
                            continue;
                        };
                        let elements = tensor.elements(blob.bytes);
                        let dims: Vec<u32> = tensor.sizes.iter().map(|size| size.unsigned_abs()).collect();
                        let numbers = elements.as_ref().map_err(Clone::clone).and_then(|elements| {
                            let runs = Runs { count: 1, size: crate::quantized::elements(&dims) };
                            let plain = [Parameters::One(1.0), Parameters::One(0.0)];
                            Dequantized::new(stored, dims.into(), elements, plain, runs)
                        });
                        let (key, name) = (Some(tensor.key), Some(tensor.name));
                        found(&ConstantNumbers {
                            method: *method,
                            delegate: Some(*delegate),
                            value,
                            key,
                            name,
                            numbers,
                        });
                    }
                    continue;
                }
                _ => continue,
            };
            for constant in payload.constants() {
                let key = match constant.place {
                    ConstantPlace::Named { key, .. } => Some(key),
                    _ => None,
                };
                for used in &constant.uses {
                    let ConstantUse::Tensor { value, .. } = *used else { continue };
                    let Some(numbers) = payload.dequantized(value, &blobs).transpose() else { continue };
                    found(&ConstantNumbers {
                        method: *method,
                        delegate: Some(*delegate),
                        value,
                        key,
                        name: None,
                        numbers,
                    });
                }
            }
        }
    }
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

pub(super) fn dequantized<'t>(pte: &'t Pte<'_>) -> Vec<QuantizedTensor<'t>> {
    let mut found = Vec::new();
    let mut seen = Keyed::new();
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
            if seen.add((method, value)) {
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
