//! The weights of a program as safetensors: those inside payloads of XNNPACK, in PyTorch's layout, and quantized ones as numbers.

use super::inside::{XnnpackTensor, visit_xnnpack};
use crate::analysis::Analysis;
use crate::convert::{Dtype, SafeTensor, Safetensors, Skipped};
use crate::delegate::xnnpack::{ConstantPlace, ConstantUse};
use crate::delegate::{NamedBlobs, Payload, Xnnpack};
use crate::edit::Subject;
use crate::error::Result;
use crate::names::shortened;
use crate::quantized::Dequantized;
use crate::schema::ScalarType;
use crate::tensor::{TensorShape, TensorView};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::{borrow::ToOwned, format, vec::Vec};

impl<'a> Safetensors<'a> {
    /// Arranges tensors of [`Pte::weights_with`](crate::Pte::weights_with) as in the model, and adds the constants inside payloads of XNNPACK. Those
    /// that the model's author named have that name and PyTorch's layout, each name its own tensor. The others have their key, constants of
    /// XNNPACK in the layout of the payload, with two integers of 4 bits in a byte: [`Pte::replace`](crate::Pte::replace) takes both. With `dequantized`, quantized
    /// tensors are their numbers (f32).
    ///
    /// Takes what was added out of `skipped`, and lists there what cannot be added.
    ///
    /// ```
    /// use executorch_format::convert::Safetensors;
    /// use executorch_format::naming::NameSource;
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/etrecord/net_xnnpack.pte")?;
    /// let record = std::fs::read("tests/data/etrecord/net_xnnpack.etrecord")?;
    /// let sources = [NameSource::parse(&record)?];
    /// let pte = Pte::parse(&file)?;
    /// let mut weights = Safetensors::default();
    /// weights.arrange_as_in_the_model(&Analysis::new(&pte).with_names(&sources), false, &mut Vec::new())?;
    /// assert!(weights.tensors.iter().any(|tensor| tensor.name == "stem.weight" && tensor.shape == [8, 3, 3, 3]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails as [`Pte::candidates`](crate::Pte::candidates) and [`TensorView::in_dim_order`] do, and on a type that safetensors does not support.
    pub fn arrange_as_in_the_model(
        &mut self,
        analysis: &Analysis<'a>,
        dequantized: bool,
        skipped: &mut Vec<Skipped>,
    ) -> Result<()> {
        self.arrange_values(analysis, dequantized)?;
        self.add_inside(analysis, dequantized, skipped);
        self.sort();
        Ok(())
    }

    /// Arranges the tensors of values.
    fn arrange_values(&mut self, analysis: &Analysis<'a>, dequantized: bool) -> Result<()> {
        let (pte, names) = (analysis.pte(), analysis.names());
        let methods: BTreeMap<&str, usize> = pte.methods().iter().map(|plan| plan.name()).zip(0..).collect();
        let mut keys: BTreeMap<(usize, usize), String> = BTreeMap::new();
        pte.candidates(|candidate| {
            if let (Some(method), true) = (methods.get(candidate.method), candidate.subject != Subject::NamedData) {
                keys.insert((*method, candidate.index), candidate.key.to_owned());
            }
        })?;
        let mut numbers = BTreeMap::new();
        for tensor in if dequantized { analysis.dequantized() } else { Vec::new() } {
            if let Ok(found) = tensor.numbers {
                numbers.insert((tensor.method, tensor.value), found);
            }
        }
        let (mut named, mut own, mut taken) = (Self::default(), BTreeMap::new(), BTreeMap::new());
        for (place, key) in &keys {
            own.insert(key.as_str(), *place);
            let name = names.value(place.0, place.1).filter(|name| name.named_by.is_given());
            let tensor = pte.methods().get(place.0).and_then(|plan| plan.tensor(place.1));
            let (Some(name), Some(tensor)) = (name, tensor) else { continue };
            let form = match (numbers.get(place), pte.tensor_view(tensor)?) {
                (Some(numbers), _) => of_numbers(name.name.to_string(), numbers),
                (None, Some(view)) if name.transposed => transposed(&name.name, &view)?,
                (None, Some(view)) => SafeTensor::of(name.name.to_string(), &view)?,
                (None, None) => continue,
            };
            if named.add_first([form], &mut taken) {
                own.remove(key.as_str());
            }
        }
        let placed: BTreeSet<&str> = keys.values().map(String::as_str).collect();
        for mut tensor in core::mem::take(&mut self.tensors) {
            match own.get(&*tensor.name) {
                Some(place) => {
                    if let Some(numbers) = numbers.get(place) {
                        tensor = of_numbers(tensor.name.to_string(), numbers);
                    }
                }
                None if placed.contains(&*tensor.name) => continue,
                None => {}
            }
            named.tensors.push(tensor);
        }
        self.tensors = named.tensors;
        Ok(())
    }

    /// Adds the constants inside payloads of XNNPACK.
    fn add_inside(&mut self, analysis: &Analysis<'_>, dequantized: bool, skipped: &mut Vec<Skipped>) {
        let blobs = analysis.named_blobs();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for (index, tensor) in self.tensors.iter().enumerate() {
            taken.insert(tensor.name.to_string(), index);
        }
        let (mut keys, mut payloads, mut missing) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        for opened in analysis.payloads() {
            let (Ok(Payload::Xnnpack(xnnpack)), Some(place)) = (&opened.payload, opened.delegates.first()) else {
                continue;
            };
            for ((_, index), (plan, _)) in opened.delegates.iter().zip(opened.delegates_of(analysis.pte())) {
                payloads.insert(format!("{}.delegate{index}", shortened(plan.name())));
            }
            for constant in xnnpack.constants() {
                let ConstantPlace::Named { key, .. } = constant.place else { continue };
                let is_scales = constant.uses.iter().all(|used| matches!(used, ConstantUse::Scales { .. }));
                if keys.insert(key.to_owned()) && is_scales && !dequantized {
                    let reason = "it has scales of quantized weights: dequantized numbers contain them".to_owned();
                    missing.push(Skipped { kind: "scales", name: key.to_owned(), reason });
                }
            }
            visit_xnnpack(
                analysis,
                xnnpack,
                *place,
                &mut |inside| match tensors(xnnpack, inside, &blobs, dequantized) {
                    Ok(forms) => {
                        self.add_first(forms, &mut taken);
                    }
                    Err(reason) => {
                        let place = format!("{}.{}", shortened(method(analysis, *place)), inside.value);
                        let name = inside.name.or(inside.key).map_or(place, str::to_owned);
                        missing.push(Skipped { kind: "tensor", name, reason });
                    }
                },
            );
        }
        skipped.retain(|item| match item.kind {
            "blob" => !keys.contains(&item.name),
            "payload" => !payloads.contains(&item.name),
            _ => true,
        });
        skipped.extend(missing);
    }

    /// Adds the first of several forms of a tensor whose name is free, unless an equal tensor has that name. Returns `true` if a tensor has it.
    fn add_first(
        &mut self,
        forms: impl IntoIterator<Item = SafeTensor<'a>>,
        taken: &mut BTreeMap<String, usize>,
    ) -> bool {
        for form in forms {
            match taken.get(&*form.name).and_then(|index| self.tensors.get(*index)) {
                Some(own) if (&own.shape, &own.bytes) == (&form.shape, &form.bytes) => return true,
                Some(_) => {}
                None => {
                    taken.insert(form.name.to_string(), self.tensors.len());
                    self.tensors.push(form);
                    return true;
                }
            }
        }
        false
    }
}

fn method<'t>(analysis: &Analysis<'t>, (method, _): (usize, usize)) -> &'t str {
    analysis.pte().methods().get(method).map_or("", |plan| plan.name())
}

/// Returns a constant as the model's tensor, if that is known, and as its key has it.
///
/// Fails with the reason if there is neither.
fn tensors(
    xnnpack: &Xnnpack<'_>,
    inside: &XnnpackTensor<'_>,
    blobs: &NamedBlobs<'_>,
    dequantized: bool,
) -> core::result::Result<Vec<SafeTensor<'static>>, String> {
    let is_quantized = xnnpack.graph.xvalues().get(inside.value).is_some_and(|value| value.quant_params().is_some());
    let (mut forms, mut fault) = (Vec::new(), "it has neither a name nor a key".to_string());
    if let (Some(name), Some(_)) = (inside.name, &inside.arrangement) {
        let made = match dequantized && is_quantized {
            true => xnnpack
                .numbers_in_the_model(inside.value, inside.layouts, inside.sizes.as_deref(), blobs)
                .map(|numbers| of_numbers(name.to_owned(), &numbers)),
            false => in_the_model(name, inside),
        };
        match made {
            Ok(tensor) => forms.push(tensor),
            Err(reason) => fault = reason,
        }
    }
    if let Some(key) = inside.key {
        let numbers = || xnnpack.dequantized(inside.value, blobs).map_err(|error| error.to_string());
        let made = match dequantized && is_quantized {
            true => numbers().and_then(|numbers| {
                let numbers = numbers.ok_or_else(|| "its type has no numbers that are known".to_string())?;
                Ok(of_numbers(key.to_owned(), &numbers))
            }),
            false => as_stored(key, inside),
        };
        match made {
            Ok(tensor) => forms.push(tensor),
            Err(reason) => fault = reason,
        }
    }
    if forms.is_empty() { Err(fault) } else { Ok(forms) }
}

/// Returns a matrix of which the program has the transposed one.
fn transposed(name: &str, view: &TensorView<'_>) -> Result<SafeTensor<'static>> {
    let TensorShape { scalar_type, sizes, .. } = view.shape();
    let bytes = view.in_dim_order(&[1, 0])?;
    let sizes: Vec<i32> = sizes.iter().rev().copied().collect();
    let shape = TensorShape { scalar_type, sizes: &sizes, dim_order: &[0, 1] };
    SafeTensor::of(name.to_owned(), &TensorView::new(shape, &bytes)?).map(owned)
}

fn of_numbers(name: String, numbers: &Dequantized<'_>) -> SafeTensor<'static> {
    SafeTensor {
        name: name.into(),
        dtype: Dtype::F32,
        shape: numbers.dims().iter().map(|size| u64::from(*size)).collect(),
        dim_order: None,
        bytes: numbers.values().flat_map(f32::to_le_bytes).collect(),
    }
}

/// Returns a constant as the model's tensor.
fn in_the_model(name: &str, inside: &XnnpackTensor<'_>) -> core::result::Result<SafeTensor<'static>, String> {
    let arrangement = inside.arrangement.as_ref().ok_or("its layout is not known")?;
    let (scalar_type, bytes) = match inside.tensor.datatype.element_bits() {
        Some(4) => (ScalarType::CHAR, unpacked(inside)),
        _ => (scalar_type(inside)?, inside.bytes.to_vec()),
    };
    let split = bytemuck::cast_slice(&arrangement.split);
    let shape = TensorShape { scalar_type, sizes: split, dim_order: &arrangement.dim_order };
    let natural: Vec<u8> = (0..=u8::MAX).take(split.len()).collect();
    let made = TensorView::new(shape, &bytes).and_then(|view| view.in_dim_order(&natural)).and_then(|bytes| {
        let sizes = arrangement.sizes.first().map(Vec::as_slice).unwrap_or_default();
        let dim_order: Vec<u8> = (0..=u8::MAX).take(sizes.len()).collect();
        let shape = TensorShape { scalar_type, sizes: bytemuck::cast_slice(sizes), dim_order: &dim_order };
        SafeTensor::of(name.to_owned(), &TensorView::new(shape, &bytes)?).map(owned)
    });
    made.map_err(|error| error.to_string())
}

/// Returns a constant as it is stored under its key. Two integers of 4 bits are one of 8.
fn as_stored(key: &str, inside: &XnnpackTensor<'_>) -> core::result::Result<SafeTensor<'static>, String> {
    let mut sizes = inside.tensor.dims().to_vec();
    let scalar_type = match inside.tensor.datatype.element_bits() {
        Some(4) => {
            if let Some(last) = sizes.last_mut() {
                *last = last.div_ceil(2);
            }
            ScalarType::BYTE
        }
        _ => scalar_type(inside)?,
    };
    let dim_order: Vec<u8> = (0..=u8::MAX).take(sizes.len()).collect();
    let shape = TensorShape { scalar_type, sizes: bytemuck::cast_slice(&sizes), dim_order: &dim_order };
    let made = TensorView::new(shape, inside.bytes).and_then(|view| SafeTensor::of(key.to_owned(), &view).map(owned));
    made.map_err(|error| error.to_string())
}

fn owned(tensor: SafeTensor<'_>) -> SafeTensor<'static> {
    let SafeTensor { name, dtype, shape, dim_order, bytes } = tensor;
    SafeTensor { name: name.into_owned().into(), dtype, shape, dim_order, bytes: bytes.into_owned().into() }
}

fn scalar_type(inside: &XnnpackTensor<'_>) -> core::result::Result<ScalarType, String> {
    inside.tensor.datatype.scalar_type().ok_or_else(|| format!("PyTorch has no type for {}", inside.tensor))
}

/// Returns integers of 4 bits as integers of 8, from -8 to 7: the first is in the low half of a byte, and each row has whole bytes.
fn unpacked(inside: &XnnpackTensor<'_>) -> Vec<u8> {
    let columns = inside.tensor.dims().last().map_or(1, |columns| *columns as usize).max(1);
    let rows = inside.bytes.chunks(columns.div_ceil(2));
    let of_row = |row: &[u8]| {
        let halves = row.iter().flat_map(|byte| [byte & 15, byte >> 4]).take(columns);
        halves.map(|half| half.wrapping_sub(8)).collect::<Vec<u8>>()
    };
    rows.flat_map(of_row).collect()
}
