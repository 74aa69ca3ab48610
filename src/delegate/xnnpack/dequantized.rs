//! Constants as the numbers that they stand for.

use super::graph::tensor_bytes;
use super::{Xnnpack, scales_constant};
use crate::error::{Error, Result, counted};
use crate::file::named_blobs::NamedBlobs;
use crate::schema::xnnpack::{XNNDatatype, XNNQuantParams};
use alloc::{borrow::Cow, format, vec::Vec};

/// 4-bit elements are stored without a sign: this one stands for 0.
const ZERO_OF_4_BITS: i32 = 8;

/// A constant tensor as the numbers that it stands for: quantized elements, 4-bit ones too, times their scales.
///
/// ```
/// use executorch_format::delegate::{NamedBlobs, Payload};
/// use executorch_format::Pte;
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/quant_xnnpack/quant_xnnpack.pte")?;
/// let pte = Pte::parse(&file)?;
/// let blobs = NamedBlobs::new(&pte, []);
/// for opened in pte.open_payloads() {
///     let Ok(Payload::Xnnpack(payload)) = opened.payload else { continue };
///     for value in 0..payload.graph.xvalues().len() {
///         if let Some(numbers) = payload.dequantized(value, &blobs)? {
///             println!("value {value}: {} of {:?}, first {:?}", numbers.datatype(), numbers.dims(), numbers.values().next());
///         }
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dequantized<'t> {
    datatype: XNNDatatype,
    dims: &'t [u32],
    elements: usize,
    bytes: &'t [u8],
    zero_point: i32,
    scales: Scales<'t>,
}

/// Which scale is whose: that of element `i` is number `i / run % scales.len()`.
#[derive(Clone, Debug, PartialEq)]
struct Scales<'t> {
    scales: Cow<'t, [f32]>,
    run: usize,
}

impl<'a> Xnnpack<'a> {
    /// The numbers of the constant value with that index in `xvalues`; `None` for a value that is no constant, that is quantized at run
    /// time, and for a type that is packed for a kernel. Its bytes and its scales may be among the blobs.
    ///
    /// Fails as [`constant_bytes`](Self::constant_bytes) does, and with [`ErrorKind::Tensor`](crate::ErrorKind::Tensor) where there are
    /// other bytes, or other scales, than the shape needs.
    pub fn dequantized<'t>(&'t self, value: usize, blobs: &NamedBlobs<'t>) -> Result<Option<Dequantized<'t>>> {
        let Some(value) = self.graph.xvalues().get(value) else { return Ok(None) };
        let Some(tensor) = value.tensor().filter(|tensor| tensor.constant_buffer_idx != 0) else { return Ok(None) };
        let (datatype, dims) = (tensor.datatype, tensor.dims());
        if matches!(datatype, XNNDatatype::QPINT8 | XNNDatatype::PFP32) {
            return Ok(None);
        }
        let Some(size) = tensor_bytes(datatype, dims) else { return Ok(None) };
        let bytes = self.constant_bytes(tensor.constant_buffer_idx, blobs)?;
        if bytes.len() as u64 != size {
            let (size, found) = (counted(size, "byte"), counted(bytes.len(), "byte"));
            return Err(Error::tensor(format!("{tensor} takes {size}, but the constant has {found}")));
        }
        // Not more than two for each byte.
        let count = |dims: &[u32]| dims.iter().map(|size| *size as usize).fold(1usize, usize::saturating_mul);
        let elements = if dims.contains(&0) { 0 } else { count(dims) };
        let is_4_bit = datatype.element_bits() == Some(4);
        let mut zero_point = if is_4_bit { ZERO_OF_4_BITS } else { 0 };
        let one = |scale| Scales { scales: Cow::Owned(Vec::from([scale])), run: 1 };
        let scales = match value.quant_params() {
            None => one(1.0),
            Some(XNNQuantParams::PerTensorQuant(quantization)) => {
                zero_point = quantization.zero_point;
                one(quantization.scale)
            }
            Some(params @ XNNQuantParams::PerChannelQuant(quantization)) => {
                let dim = usize::try_from(quantization.channel_dim).ok().filter(|dim| *dim < dims.len());
                let Some((channels, inner)) = dim.and_then(|dim| dims.get(dim..)?.split_first()) else {
                    let found = format!("{tensor} has no dimension {} with channels", quantization.channel_dim);
                    return Err(Error::tensor(found));
                };
                self.scales(params, quantization.scale.as_deref(), *channels as usize, count(inner), blobs)?
            }
            Some(params @ XNNQuantParams::PerChannelGroupQuant(quantization)) => {
                let group = usize::try_from(quantization.group_size).unwrap_or_default();
                let columns = dims.last().map_or(0, |columns| *columns as usize);
                if group == 0 || columns % group != 0 {
                    let found = format!("groups of {}, which do not divide {tensor}", quantization.group_size);
                    return Err(Error::tensor(found));
                }
                self.scales(params, quantization.scale.as_deref(), elements / group, group, blobs)?
            }
            Some(XNNQuantParams::PerTokenDynamicQuant(_) | XNNQuantParams::None | XNNQuantParams::Unknown(_)) => {
                return Ok(None);
            }
        };
        Ok(Some(Dequantized { datatype, dims, elements, bytes, zero_point, scales }))
    }

    /// `count` scales, each for `run` elements: those in the graph, or those in a constant.
    fn scales<'t>(
        &'t self,
        params: &XNNQuantParams<'_>,
        inline: Option<&'t [f32]>,
        count: usize,
        run: usize,
        blobs: &NamedBlobs<'t>,
    ) -> Result<Scales<'t>> {
        let scales: Cow<'t, [f32]> = match scales_constant(params) {
            None => inline.unwrap_or_default().into(),
            Some((index, _, 2)) => {
                let bytes = self.constant_bytes(index, blobs)?.chunks_exact(2);
                bytes.map(|bytes| bfloat16(number(bytes) as u16)).collect()
            }
            Some((index, ..)) => {
                let bytes = self.constant_bytes(index, blobs)?.chunks_exact(4);
                bytes.map(|bytes| f32::from_bits(number(bytes))).collect()
            }
        };
        if scales.len() != count {
            let (found, expected) = (counted(scales.len(), "scale"), count);
            return Err(Error::tensor(format!("{found}, expected {expected}")));
        }
        Ok(Scales { scales, run: run.max(1) })
    }
}

impl<'t> Dequantized<'t> {
    /// The type of the elements as they are stored.
    pub fn datatype(&self) -> XNNDatatype {
        self.datatype
    }

    /// The size of each dimension, in elements. They are stored in this order.
    pub fn dims(&self) -> &'t [u32] {
        self.dims
    }

    /// The number of elements.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The scales: one for each channel or group, or for all.
    pub fn scales(&self) -> &[f32] {
        &self.scales.scales
    }

    /// The numbers, the last dimension innermost.
    pub fn values(&self) -> impl Iterator<Item = f32> + '_ {
        let bits = self.datatype.element_bits().unwrap_or_default() as usize;
        let columns = self.dims.last().map_or(1, |columns| (*columns as usize).max(1));
        // Each row starts with a byte of its own.
        let row_size = (columns * bits).div_ceil(8);
        (0..self.elements).map(move |index| {
            let (row, column) = (index / columns, index % columns);
            let start = row * row_size + column * bits / 8;
            // As many bytes as the shape takes are there.
            let bytes = self.bytes.get(start..start + bits.div_ceil(8)).unwrap_or_default();
            let stored = number(bytes);
            let integer = match self.datatype {
                XNNDatatype::FP32 => return f32::from_bits(stored),
                XNNDatatype::FP16 => return half(stored as u16),
                XNNDatatype::BF16 => return bfloat16(stored as u16),
                XNNDatatype::QCINT4 | XNNDatatype::QBINT4 => (stored >> (column % 2 * 4) & 15) as i32,
                XNNDatatype::QUINT8 => stored as i32,
                XNNDatatype::QINT8 | XNNDatatype::QCINT8 | XNNDatatype::QDINT8 => i32::from(stored as u8 as i8),
                _ => stored as i32,
            };
            let scales = &self.scales;
            // There is no element where there is no scale.
            let scale = scales.scales.get(index / scales.run % scales.scales.len().max(1)).copied().unwrap_or_default();
            (i64::from(integer) - i64::from(self.zero_point)) as f32 * scale
        })
    }

    /// The numbers, copied.
    pub fn to_vec(&self) -> Vec<f32> {
        self.values().collect()
    }
}

/// A number of up to four bytes, the least first.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn bfloat16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// IEEE half precision. The crate `half` is optional.
fn half(bits: u16) -> f32 {
    let (sign, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits & 0x3ff));
    match u32::from(bits >> 10 & 31) {
        0 => {
            let least = f32::from_bits((127 - 24) << 23);
            let size = fraction as f32 * least;
            if sign == 0 { size } else { -size }
        }
        31 => f32::from_bits(sign | 0xff << 23 | fraction << 13),
        exponent => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_what_ieee_says() {
        for (bits, expected) in [
            (0, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (1, 5.960_464_5e-8),
            (0x8000, -0.0),
            (0x3555, 0.333_251_95),
        ] {
            assert_eq!(half(bits).to_bits(), f32::to_bits(expected), "{bits:#x}");
        }
        assert!(half(0x7c00) == f32::INFINITY && half(0xfc00) == f32::NEG_INFINITY && half(0x7e00).is_nan());
        assert_eq!(bfloat16(0x3f80), 1.0);
    }
}
