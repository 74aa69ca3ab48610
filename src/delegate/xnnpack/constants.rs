//! The constants of a graph: their users, and the places of their bytes.

use super::Xnnpack;
use crate::error::{Error, Result};
use crate::file::named_blobs::NamedBlobs;
use crate::schema::xnnpack::{ConstantDataOffset, XNNQuantParams, XNNTensorValue};
use crate::tensor::TensorView;
use alloc::{format, vec::Vec};
use core::ops::Range;

/// A constant, with its users.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Constant<'t> {
    /// The index, at least 1: `constant_buffer_idx` of a value, `scale_buffer_idx` of its quantization.
    pub index: u32,
    /// The place of the bytes.
    pub place: ConstantPlace<'t>,
    /// The uses, in the order of the values.
    pub uses: Vec<ConstantUse<'t>>,
}

/// The place of the bytes of a constant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConstantPlace<'t> {
    /// In the constant data of the payload.
    Payload {
        /// The offset from the start of the constant data, in bytes.
        offset: u64,
        /// The size, in bytes.
        size: u64,
    },
    /// In named data.
    Named {
        /// The key.
        key: &'t str,
        /// The size that the payload states, in bytes. The blob may have another size.
        size: u64,
    },
    /// In `constant_buffer`.
    Inline(&'t [u8]),
}

impl ConstantPlace<'_> {
    /// Returns the size, in bytes.
    pub fn size(&self) -> u64 {
        match *self {
            Self::Payload { size, .. } | Self::Named { size, .. } => size,
            Self::Inline(bytes) => bytes.len() as u64,
        }
    }
}

/// A use of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConstantUse<'t> {
    /// The elements of a tensor.
    Tensor {
        /// Index into `xvalues`.
        value: usize,
        /// The tensor.
        tensor: &'t XNNTensorValue<'t>,
    },
    /// The scales of a quantized tensor.
    Scales {
        /// Index into `xvalues`.
        value: usize,
        /// The number of scales.
        count: u32,
        /// The size of each scale, in bytes: 4 (f32) or 2 (bfloat16).
        element_size: u32,
    },
}

impl ConstantUse<'_> {
    /// Returns the value that uses the constant: an index into `xvalues`.
    pub fn value(&self) -> usize {
        let (Self::Tensor { value, .. } | Self::Scales { value, .. }) = *self;
        value
    }
}

/// Returns the constant with the scales of a quantization, if there is one: its index, the number of scales, and the size of each in bytes.
pub(crate) fn scales_constant(quantization: &XNNQuantParams<'_>) -> Option<(u32, u32, u32)> {
    match quantization {
        XNNQuantParams::PerChannelQuant(channels) => Some((channels.scale_buffer_idx, channels.num_scales, 4)),
        XNNQuantParams::PerChannelGroupQuant(groups) => Some((groups.scale_buffer_idx, groups.num_scales, 2)),
        _ => None,
    }
    .filter(|(index, ..)| *index != 0)
}

pub(super) fn all<'t>(xnnpack: &'t Xnnpack<'_>) -> Vec<Constant<'t>> {
    let count = match xnnpack.header {
        Some(_) => xnnpack.graph.constant_data().len(),
        None => xnnpack.graph.constant_buffer().len(),
    };
    let constant = |index| Some(Constant { index, place: place(xnnpack, index)?, uses: Vec::new() });
    let mut constants: Vec<_> = (1..count as u32).filter_map(constant).collect();
    let mut add = |index: u32, user| {
        if let Some(constant) = (index as usize).checked_sub(1).and_then(|index| constants.get_mut(index)) {
            constant.uses.push(user);
        }
    };
    for (value, xvalue) in xnnpack.graph.xvalues().iter().enumerate() {
        if let Some(tensor) = xvalue.tensor() {
            add(tensor.constant_buffer_idx, ConstantUse::Tensor { value, tensor });
        }
        if let Some((index, count, element_size)) = xvalue.quant_params().and_then(scales_constant) {
            add(index, ConstantUse::Scales { value, count, element_size });
        }
    }
    constants
}

pub(super) fn place<'t>(xnnpack: &'t Xnnpack<'_>, index: u32) -> Option<ConstantPlace<'t>> {
    if xnnpack.header.is_none() {
        let buffer = xnnpack.graph.constant_buffer().get(index as usize)?;
        return Some(ConstantPlace::Inline(buffer.storage()));
    }
    let entry: &ConstantDataOffset<'_> = xnnpack.graph.constant_data().get(index as usize)?;
    Some(match &entry.named_key {
        Some(key) => ConstantPlace::Named { key, size: entry.size },
        None => ConstantPlace::Payload { offset: entry.offset, size: entry.size },
    })
}

pub(super) fn bytes<'t>(xnnpack: &'t Xnnpack<'_>, index: u32, blobs: &NamedBlobs<'t>) -> Result<&'t [u8]> {
    let missing = || Error::reference(format!("constant {index} does not exist in the XNNPACK payload"));
    let cut = |bytes: &'t [u8], offset: u64, size: u64| {
        let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
        let part = range.and_then(|(start, size)| bytes.get(start..)?.get(..size));
        part.ok_or_else(|| {
            let available = bytes.len();
            Error::reference(format!("constant {index}: {size} bytes from {offset}, but there are {available}"))
        })
    };
    match place(xnnpack, index).ok_or_else(missing)? {
        ConstantPlace::Inline(bytes) => Ok(bytes),
        ConstantPlace::Payload { offset, size } => cut(&xnnpack.constant_data, offset, size),
        ConstantPlace::Named { key, size } => match blobs.get(key)? {
            Some(blob) => cut(blob.bytes, 0, size),
            None => Err(Error::reference(format!("constant {index}: no named data has the key {key:?}"))),
        },
    }
}

pub(super) fn range(xnnpack: &Xnnpack<'_>, index: u32) -> Option<Range<u64>> {
    match place(xnnpack, index)? {
        ConstantPlace::Payload { offset, size } => {
            let data = xnnpack.header?.constant_data();
            let start = data.start.checked_add(offset)?;
            let end = start.checked_add(size)?;
            (end <= data.end).then_some(start..end)
        }
        ConstantPlace::Inline(bytes) => {
            let start = crate::offset_in(&xnnpack.source.as_ref()?.bytes, bytes)?;
            Some(start..start + bytes.len() as u64)
        }
        ConstantPlace::Named { .. } => None,
    }
}

pub(super) fn view<'t>(
    xnnpack: &'t Xnnpack<'_>,
    tensor: &'t XNNTensorValue<'_>,
    blobs: &NamedBlobs<'t>,
) -> Result<Option<TensorView<'t>>> {
    let Some(shape) = tensor.shape().filter(|_| tensor.constant_buffer_idx != 0) else {
        return Ok(None);
    };
    let bytes = bytes(xnnpack, tensor.constant_buffer_idx, blobs)?;
    TensorView::new(shape, bytes).map(Some)
}
