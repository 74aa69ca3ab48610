//! A program's constants as numbers.

use crate::analysis::{Analysis, QuantizedTensor};
use crate::delegate::Payload;
use crate::delegate::xnnpack::{ConstantPlace, ConstantUse};
use crate::error::Result;
use crate::quantized::{Dequantized, Parameters, Runs, Stored};
use alloc::vec::Vec;

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
