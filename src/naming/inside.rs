//! The tensors inside payloads, as the payload has them and as the model has them.

use crate::analysis::Analysis;
use crate::delegate::xnnpack::{Arrangement, ConstantLayout, ConstantPlace, ConstantUse, natural_strides};
use crate::delegate::{AotInductor, Payload, Xnnpack};
use crate::schema::ScalarType;
use crate::schema::xnnpack::XNNTensorValue;
use crate::sorted::find;
use alloc::vec::Vec;

/// A tensor inside a payload of XNNPACK or CUDA.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InsideTensor<'b> {
    /// Index of the method.
    pub method: usize,
    /// Index of the delegate.
    pub delegate: usize,
    /// Index of the value or tensor in the payload.
    pub value: usize,
    /// The key of its data, if it has one.
    pub key: Option<&'b str>,
    /// The name that the model's author gave it.
    pub name: Option<&'b str>,
    /// `true` if the payload itself has that name.
    pub is_named: bool,
    /// The type of the elements; `None` for a type that PyTorch does not have, such as 4-bit integers.
    pub scalar_type: Option<ScalarType>,
    /// The bytes, from its first element to its last.
    pub bytes: &'b [u8],
    /// The layout in the payload.
    pub stored: Strides,
    /// The layout of the model's tensor in the same bytes; `None` if it is not known, or cannot be expressed by strides.
    pub model: Option<Strides>,
}

/// The layout of a tensor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Strides {
    /// The size of each dimension, in elements.
    pub sizes: Vec<u32>,
    /// The distance between neighbours in each dimension, in elements.
    pub strides: Vec<u64>,
}

impl Analysis<'_> {
    /// Calls `found` with each tensor inside the payloads of XNNPACK and CUDA whose data is at hand. A payload that several delegates share is
    /// visited for the first of them.
    ///
    /// ```
    /// use executorch_format::{Analysis, Pte};
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/linear_xnnpack/linear_xnnpack.pte")?;
    /// let pte = Pte::parse(&file)?;
    /// let mut sizes = Vec::new();
    /// Analysis::new(&pte).visit_inside(&mut |tensor| sizes.push(tensor.stored.sizes.clone()));
    /// assert_eq!(sizes, [vec![5, 8], vec![5]]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn visit_inside(&self, found: &mut dyn FnMut(&InsideTensor<'_>)) {
        for opened in self.payloads() {
            let Some(place) = opened.delegates.first() else { continue };
            match &opened.payload {
                Ok(Payload::Xnnpack(xnnpack)) => xnnpack_tensors(self, xnnpack, *place, found),
                Ok(Payload::AotInductor(aot)) => cuda_tensors(self, aot, *place, found),
                _ => (),
            }
        }
    }
}

/// A constant of a payload for XNNPACK, with the model's tensor that it is a copy of.
pub(super) struct XnnpackTensor<'b> {
    /// Index of the value in the payload.
    pub(super) value: usize,
    pub(super) tensor: &'b XNNTensorValue<'b>,
    /// The key of its data, if it has one.
    pub(super) key: Option<&'b str>,
    /// The name that the model's author gave it.
    pub(super) name: Option<&'b str>,
    /// The sizes of the model's tensor, if they are known.
    pub(super) sizes: Option<Vec<u32>>,
    /// The layouts that nodes require of it.
    pub(super) layouts: &'b [ConstantLayout],
    /// Its layout next to that of the model's tensor, if that is known.
    pub(super) arrangement: Option<Arrangement>,
    pub(super) bytes: &'b [u8],
}

/// Visits the tensors of a payload for XNNPACK.
fn xnnpack_tensors(
    analysis: &Analysis<'_>,
    xnnpack: &Xnnpack<'_>,
    (method, delegate): (usize, usize),
    found: &mut dyn FnMut(&InsideTensor<'_>),
) {
    visit_xnnpack(analysis, xnnpack, (method, delegate), &mut |inside| {
        let XnnpackTensor { value, tensor, key, name, arrangement, bytes, .. } = inside;
        let is_packed = tensor.datatype.element_bits() == Some(4);
        let model = arrangement.as_ref().and_then(Arrangement::strided);
        found(&InsideTensor {
            method,
            delegate,
            value: *value,
            key: *key,
            name: *name,
            is_named: false,
            scalar_type: tensor.datatype.scalar_type().filter(|_| !is_packed),
            bytes,
            stored: Strides { sizes: tensor.dims().to_vec(), strides: natural_strides(tensor.dims()) },
            model: model.map(|(sizes, strides)| Strides { sizes, strides }),
        });
    });
}

/// Calls `found` with each tensor of a payload for XNNPACK whose data is at hand.
pub(super) fn visit_xnnpack(
    analysis: &Analysis<'_>,
    xnnpack: &Xnnpack<'_>,
    (method, delegate): (usize, usize),
    found: &mut dyn FnMut(&XnnpackTensor<'_>),
) {
    let (blobs, layouts) = (analysis.named_blobs(), xnnpack.constant_layouts());
    let names = analysis.names();
    for constant in xnnpack.constants() {
        let Ok(bytes) = xnnpack.constant_bytes(constant.index, &blobs) else { continue };
        let key = match constant.place {
            ConstantPlace::Named { key, .. } => Some(key),
            _ => None,
        };
        for used in &constant.uses {
            let ConstantUse::Tensor { value, tensor } = *used else { continue };
            let own = names.constant(method, delegate, value).filter(|own| own.named_by.is_given());
            // Data that the exporter computed from several tensors is none of them.
            let is_computed = |name: &str| find(&names.computed, |(known, _)| (**known).cmp(name)).is_some();
            let own = own.filter(|own| !is_computed(&own.name));
            let sizes = own.and_then(|own| own.sizes.as_deref());
            let sizes: Option<Vec<u32>> =
                sizes.and_then(|sizes| sizes.iter().map(|size| u32::try_from(*size).ok()).collect());
            let layouts = layouts.get(&value).map(Vec::as_slice).unwrap_or_default();
            let layout = ConstantLayout::only(layouts);
            let arrangement = layout.and_then(|layout| layout.arrange(tensor.dims(), sizes.as_deref()).ok());
            let name = own.map(|own| &*own.name);
            found(&XnnpackTensor { value, tensor, key, name, sizes, layouts, arrangement, bytes });
        }
    }
}

/// Visits the tensors for CUDA, whose payload has the model's layout.
fn cuda_tensors(
    analysis: &Analysis<'_>,
    aot: &AotInductor<'_>,
    (method, delegate): (usize, usize),
    found: &mut dyn FnMut(&InsideTensor<'_>),
) {
    let blobs = analysis.named_blobs();
    for (value, tensor) in aot.tensors.iter().enumerate() {
        let Ok(Some(blob)) = blobs.get(tensor.key) else { continue };
        let width = tensor.scalar_type.element_size().unwrap_or(1) as u64;
        let end = tensor.needed_bytes().and_then(|end| usize::try_from(end).ok());
        let start = usize::try_from(tensor.offset.saturating_mul(width)).ok();
        let bytes = start.zip(end).and_then(|(start, end)| blob.bytes.get(start.min(end)..end));
        let Some(bytes) = bytes else { continue };
        let sizes = tensor.sizes.iter().map(|size| size.unsigned_abs()).collect();
        let stored = Strides { sizes, strides: tensor.strides.clone() };
        found(&InsideTensor {
            method,
            delegate,
            value,
            key: Some(tensor.key),
            name: Some(tensor.name),
            is_named: true,
            scalar_type: Some(tensor.scalar_type),
            bytes,
            model: Some(stored.clone()),
            stored,
        });
    }
}
