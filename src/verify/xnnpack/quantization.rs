//! Rules about quantization: dimensions, groups, zero points, and scales inside the FlatBuffer.

use super::super::report::Report;
use super::super::rule::{self, Rule};
use super::no_member;
use crate::path::Path;
use crate::schema::xnnpack::{
    PerChannelGroupQuant, PerChannelQuant, PerTensorQuant, XNNDatatype, XNNQuantParams, XNNTensorValue,
};
use alloc::format;

/// The factor of group sizes: XNNPACK's kernels support groups of a multiple of this many elements.
pub(super) const GROUP: i32 = 32;

/// Checks the parameters of a quantized value, which is at `path`. `constant` is `true` for a constant, whose groups are multiplied.
pub(super) fn check(
    tensor: &XNNTensorValue<'_>,
    params: &XNNQuantParams<'_>,
    constant: bool,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let path = &path.field("quant_params");
    match params {
        XNNQuantParams::None | XNNQuantParams::Unknown(_) => {
            report.add(rule::XNNPACK_UNION, path, no_member(params.tag(), params.name().is_some()));
        }
        XNNQuantParams::PerTensorQuant(quantization) => {
            per_tensor(tensor.datatype, quantization, &path.field("PerTensorQuant"), report);
        }
        XNNQuantParams::PerChannelQuant(quantization) => {
            per_channel(tensor, quantization, &path.field("PerChannelQuant"), report);
        }
        XNNQuantParams::PerTokenDynamicQuant(quantization) => {
            let (dims, rank) = (quantization.num_nonbatch_dims, tensor.dims().len());
            let path = &path.field("PerTokenDynamicQuant.num_nonbatch_dims");
            if usize::try_from(dims).map_or(true, |dims| dims > rank) {
                let found = format!("{dims}, expected 0 to the {rank} dimensions of the value");
                report.add(rule::XNNPACK_QUANTIZATION, path, found);
            }
            if tensor.constant_buffer_idx != 0 {
                let found = format!("constant {} quantized at run time", tensor.constant_buffer_idx);
                report.add(rule::XNNPACK_QUANTIZATION, path, found);
            }
        }
        XNNQuantParams::PerChannelGroupQuant(quantization) => {
            groups(tensor, quantization, constant, &path.field("PerChannelGroupQuant"), report);
        }
    }
}

/// Returns `true` if XNNPACK accepts the number as a scale: positive, finite and not subnormal.
pub(super) fn is_scale(scale: f32) -> bool {
    scale > 0.0 && scale.is_normal()
}

fn per_tensor(datatype: XNNDatatype, quantization: &PerTensorQuant, path: &Path<'_>, report: &mut Report<'_>) {
    if !is_scale(quantization.scale) {
        let found = format!("{:e}, expected a positive number", quantization.scale);
        report.add(rule::XNNPACK_SCALES, &path.field("scale"), found);
    }
    let range = match datatype {
        XNNDatatype::QINT8 | XNNDatatype::QCINT8 => -128..=127,
        XNNDatatype::QUINT8 => 0..=255,
        XNNDatatype::QCINT4 | XNNDatatype::QBINT4 => 0..=15,
        _ => 0..=0,
    };
    if !range.contains(&quantization.zero_point) {
        let found = format!("{}, expected {} to {}", quantization.zero_point, range.start(), range.end());
        report.add(rule::XNNPACK_QUANTIZATION, &path.field("zero_point"), found);
    }
}

/// Returns the number of channels of a value, if that dimension exists.
pub(super) fn channels(tensor: &XNNTensorValue<'_>, channel_dim: i32) -> Option<u32> {
    tensor.dims().get(usize::try_from(channel_dim).ok()?).copied()
}

fn channel_dim(tensor: &XNNTensorValue<'_>, dim: i32, path: &Path<'_>, report: &mut Report<'_>) {
    if channels(tensor, dim).is_none() {
        let found = format!("{dim}, expected one of the {} dimensions of the value", tensor.dims().len());
        report.add(rule::XNNPACK_QUANTIZATION, &path.field("channel_dim"), found);
    }
}

fn per_channel(
    tensor: &XNNTensorValue<'_>,
    quantization: &PerChannelQuant<'_>,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    channel_dim(tensor, quantization.channel_dim, path, report);
    let Some(channels) = channels(tensor, quantization.channel_dim) else {
        return;
    };
    match quantization.scale_buffer_idx {
        0 => inline(
            quantization.scale.as_deref(),
            channels.into(),
            [rule::XNNPACK_CONSTANT_BOUNDS, rule::XNNPACK_LISTS],
            path,
            report,
        ),
        _ if quantization.num_scales != channels => {
            let found = format!("{}, but there are {channels} channels", quantization.num_scales);
            report.add(rule::XNNPACK_LISTS, &path.field("num_scales"), found);
        }
        _ => (),
    }
}

fn groups(
    tensor: &XNNTensorValue<'_>,
    quantization: &PerChannelGroupQuant<'_>,
    constant: bool,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let (out, input) = match *tensor.dims() {
        [out, input] => (out, input),
        // The runtime reads the first two, and never multiplies such a value.
        [out, input, ..] if !report.concerns(constant) => (out, input),
        _ => {
            let found = format!("groups of a value of {} dimensions, expected 2", tensor.dims().len());
            return report.add(rule::XNNPACK_QUANTIZATION, path, found);
        }
    };
    channel_dim(tensor, quantization.channel_dim, path, report);
    let size = quantization.group_size;
    // Divisibility of the columns by the group size matters only when weights are packed: see `weights`.
    let Some(group) = u64::try_from(size).ok().filter(|size| *size > 0) else {
        let found = format!("{size}, expected a multiple of {GROUP}");
        return report.add(rule::XNNPACK_QUANTIZATION, &path.field("group_size"), found);
    };
    let expected = u64::from(out) * u64::from(input) / group;
    match quantization.scale_buffer_idx {
        0 => inline(quantization.scale.as_deref(), expected, [rule::XNNPACK_SCALES; 2], path, report),
        _ if u64::from(quantization.num_scales) != expected => {
            let found = format!("{}, expected {expected}, one for each group", quantization.num_scales);
            report.add(rule::XNNPACK_SCALES, &path.field("num_scales"), found);
        }
        _ => (),
    }
}

/// Checks scales inside the FlatBuffer. `too_few` and `too_many` are the rules for wrong numbers: the runtime does not
/// count the scales of channels, and reads past the end if there are too few.
fn inline(
    scales: Option<&[f32]>,
    expected: u64,
    [too_few, too_many]: [&'static Rule; 2],
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let path = &path.field("scale");
    let Some(scales) = scales else {
        return report.add(rule::XNNPACK_SCALES, path, "absent, and scale_buffer_idx is 0: no scales");
    };
    if scales.len() as u64 != expected {
        let few = (scales.len() as u64) < expected;
        let found = format!("{} scales, expected {expected}", scales.len());
        let rule = if few { too_few } else { too_many };
        report.add_at(rule, path, report.offset(Some(scales)), found);
    }
    let read = scales.iter().take(usize::try_from(expected).unwrap_or(usize::MAX));
    if let Some((index, scale)) = read.enumerate().find(|(_, scale)| !is_scale(**scale)) {
        let found = format!("{scale:e}, expected a positive number");
        report.add_at(rule::XNNPACK_SCALES, &path.index(index), report.offset_of(scales, index), found);
    }
}
