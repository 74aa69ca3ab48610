//! Constants as dequantized numbers.

use super::{Xnnpack, scales_constant};
use crate::error::{Error, Result};
use crate::file::named_blobs::NamedBlobs;
use crate::quantized::{Dequantized, Parameters, Runs, Stored, elements};
use crate::schema::xnnpack::{XNNDatatype, XNNQuantParams};
use alloc::{borrow::Cow, format};

/// The unsigned element that stands for 0 in 4-bit types.
const ZERO_OF_4_BITS: f64 = 8.0;

/// Returns the stored form of a type's elements, or `None` for types that are packed for a kernel, and for unknown types.
fn stored(datatype: XNNDatatype) -> Option<Stored> {
    match datatype {
        XNNDatatype::QCINT4 | XNNDatatype::QBINT4 => Some(Stored::LowHalfFirst),
        _ => Stored::of(datatype.scalar_type()?),
    }
}

pub(super) fn dequantized<'t>(
    xnnpack: &'t Xnnpack<'_>,
    value: usize,
    blobs: &NamedBlobs<'t>,
) -> Result<Option<Dequantized<'t>>> {
    let Some(value) = xnnpack.graph.xvalues().get(value) else { return Ok(None) };
    let Some(tensor) = value.tensor().filter(|tensor| tensor.constant_buffer_idx != 0) else { return Ok(None) };
    let Some(stored) = stored(tensor.datatype) else { return Ok(None) };
    let dims = tensor.dims();
    let bytes = xnnpack.constant_bytes(tensor.constant_buffer_idx, blobs)?;
    let is_4_bit = stored == Stored::LowHalfFirst;
    let zero_of_type = Parameters::One(if is_4_bit { ZERO_OF_4_BITS } else { 0.0 });
    let all = Runs { count: 1, size: elements(dims) };
    let (parameters, runs) = match value.quant_params() {
        None => ([Parameters::One(1.0), zero_of_type], all),
        Some(XNNQuantParams::PerTensorQuant(quantization)) => {
            let scale = Parameters::One(quantization.scale.into());
            ([scale, Parameters::One(quantization.zero_point.into())], all)
        }
        Some(params @ XNNQuantParams::PerChannelQuant(quantization)) => {
            let dim = usize::try_from(quantization.channel_dim).ok().filter(|dim| *dim < dims.len());
            let Some((channels, inner)) = dim.and_then(|dim| dims.get(dim..)?.split_first()) else {
                let found = format!("{tensor} has no dimension {} with channels", quantization.channel_dim);
                return Err(Error::tensor(found));
            };
            let scales = scales(xnnpack, params, quantization.scale.as_deref(), blobs)?;
            ([scales, zero_of_type], Runs { count: *channels as usize, size: elements(inner) })
        }
        Some(params @ XNNQuantParams::PerChannelGroupQuant(quantization)) => {
            let group = usize::try_from(quantization.group_size).unwrap_or_default();
            let columns = dims.last().map_or(0, |columns| *columns as usize);
            if group == 0 || columns % group != 0 {
                let found = format!("groups of {}, which do not divide {tensor}", quantization.group_size);
                return Err(Error::tensor(found));
            }
            let scales = scales(xnnpack, params, quantization.scale.as_deref(), blobs)?;
            ([scales, zero_of_type], Runs { count: elements(dims) / group, size: group })
        }
        Some(XNNQuantParams::PerTokenDynamicQuant(_) | XNNQuantParams::None | XNNQuantParams::Unknown(_)) => {
            return Ok(None);
        }
    };
    Dequantized::new(stored, Cow::Borrowed(dims), bytes, parameters, runs).map(Some)
}

/// Returns the scales, which are in the graph or in a constant.
fn scales<'t>(
    xnnpack: &'t Xnnpack<'_>,
    params: &XNNQuantParams<'_>,
    inline: Option<&'t [f32]>,
    blobs: &NamedBlobs<'t>,
) -> Result<Parameters<'t>> {
    Ok(match scales_constant(params) {
        None => Parameters::Floats(inline.unwrap_or_default()),
        Some((index, _, 2)) => Parameters::Stored(Stored::Bf16, xnnpack.constant_bytes(index, blobs)?),
        Some((index, ..)) => Parameters::Stored(Stored::F32, xnnpack.constant_bytes(index, blobs)?),
    })
}
