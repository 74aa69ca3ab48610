//! Rules about a `.ptd` file. They follow the runtime's `flat_tensor_data_map.cpp`.

use super::program::{named_data_key, named_data_segment, version};
use super::report::{Few, Report};
use super::rule;
use super::tensors::is_permutation;
use crate::error::counted;
use crate::file::ptd::Ptd;
use crate::path::Path;
use crate::schema::flat_tensor::{LegacySchema, TensorLayout, TensorMetadata};
use crate::tensor::Uncountable;
use alloc::{borrow::Cow, format};

pub(super) fn check(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    header(ptd, report);
    version(ptd.flat_tensor.version, rule::PTD_VERSION, report);
    if !schema(ptd, report) {
        fields(ptd, report);
    }
    tensors(ptd, report);
    entries(ptd, report);
}

fn header(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    if ptd.header.is_none() && report.has_file() {
        let found = "no extended header, expected FH01 at byte 8: the runtime refuses a .ptd file without it";
        report.add_at(rule::PTD_HEADER, &Path::ROOT, Some(8), found);
    }
}

/// Checks the version of the schema. Returns `true` for an early schema, in which lists may be absent.
fn schema(ptd: &Ptd<'_>, report: &mut Report<'_>) -> bool {
    let Some(legacy) = &ptd.flat_tensor.legacy else {
        return false;
    };
    let version = match legacy.schema {
        LegacySchema::V0_5 => "0.5",
        LegacySchema::V0_6 => "0.6",
    };
    let found = format!(
        "the schema of ExecuTorch {version}, expected the one since 0.7: the runtime finds no data in this one"
    );
    report.add(rule::PTD_SCHEMA, &Path::ROOT, found);
    true
}

fn fields(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    let tensors = &ptd.flat_tensor;
    for (field, present) in [("segments", tensors.segments.is_some()), ("named_data", tensors.named_data.is_some())] {
        if !present {
            report.add(rule::PTD_FIELD, &root.field(field), format_args!("absent, expected a list"));
        }
    }
}

/// Checks the tensors of an early schema, whose layouts are copied unchanged to the current schema.
fn tensors(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    let legacy = ptd.flat_tensor.legacy.as_ref().and_then(|legacy| legacy.tensors.as_deref());
    for (index, tensor) in legacy.unwrap_or_default().iter().enumerate() {
        let TensorMetadata { scalar_type, segment_index, offset, .. } = *tensor;
        let layout = TensorLayout {
            scalar_type,
            sizes: tensor.sizes.as_deref().map(Cow::Borrowed),
            dim_order: tensor.dim_order.as_deref().map(Cow::Borrowed),
        };
        let segment = ptd.flat_tensor.segments().get(segment_index as usize);
        let room = segment.map(|segment| segment.size.saturating_sub(offset));
        check_layout(&layout, Blob::Start(room), &root.item("tensors", index), report);
    }
}

fn entries(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    let Some(segments) = ptd.flat_tensor.segments.as_deref() else {
        return;
    };
    for (index, named) in ptd.flat_tensor.named_data().iter().enumerate() {
        let path = &root.item("named_data", index);
        named_data_key(named.key.as_deref(), path, report);
        named_data_segment(named.key.as_deref(), named.segment_index, segments.len(), path, report);
        if let Some(layout) = &named.tensor_layout {
            let blob = Blob::Whole(segments.get(named.segment_index as usize).map(|segment| segment.size));
            check_layout(layout, blob, &path.field("tensor_layout"), report);
        }
    }
}

/// The bytes that contain a tensor, with their size if it is known.
#[derive(Clone, Copy)]
enum Blob {
    /// All bytes belong to the tensor.
    Whole(Option<u64>),
    /// The tensor is at the start: in an early file, others may follow in the segment.
    Start(Option<u64>),
}

fn check_layout(layout: &TensorLayout<'_>, blob: Blob, path: &Path<'_>, report: &mut Report<'_>) {
    layout_shape(layout, path, report);
    layout_dim_order(layout, path, report);
    layout_bytes(layout, blob, path, report);
}

fn layout_shape(layout: &TensorLayout<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    for (field, present) in [("sizes", layout.sizes.is_some()), ("dim_order", layout.dim_order.is_some())] {
        if !present {
            report.add(rule::LAYOUT_SHAPE, &path.field(field), format_args!("absent, expected a list"));
        }
    }
}

fn layout_dim_order(layout: &TensorLayout<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let (Some(sizes), Some(order)) = (layout.sizes.as_deref(), layout.dim_order.as_deref()) else {
        return;
    };
    let offset = report.offset(Some(order));
    let rank = sizes.len();
    // The runtime reads one dimension for each size, even past the end of the dim order.
    if order.len() != rank && report.concerns(order.len() < rank) {
        let found = format!("{}, expected {rank}: one for each size", counted(order.len(), "dimension"));
        report.add_at(rule::LAYOUT_DIM_ORDER_LENGTH, &path.field("dim_order"), offset, found);
    } else if let Some(at) = order.iter().take(rank).position(|dim| usize::from(*dim) >= rank) {
        let found = format!("{}, expected dimensions below {rank}", Few(order));
        report.add_at(rule::LAYOUT_DIM_ORDER_RANGE, &path.item("dim_order", at), report.offset_of(order, at), found);
    } else if !is_permutation(order) {
        let found = format!("{}, expected a permutation of {}", Few(order), counted(rank, "dimension"));
        report.add_at(rule::LAYOUT_DIM_ORDER, &path.field("dim_order"), offset, found);
    }
}

fn layout_bytes(layout: &TensorLayout<'_>, blob: Blob, path: &Path<'_>, report: &mut Report<'_>) {
    let Some(sizes) = layout.sizes.as_ref().map(Cow::as_ref) else {
        return;
    };
    let offset = report.offset(Some(sizes));
    let (size, may_be_more) = match blob {
        Blob::Whole(size) => (size, false),
        Blob::Start(size) => (size, true),
    };
    match (layout.shape().count_bytes(), size) {
        (Ok(bytes), Some(size)) if bytes > size || (bytes < size && !may_be_more) => {
            let found = format!("{} needs {}, but the blob has {size}", layout.shape(), counted(bytes, "byte"));
            report.add_at(rule::LAYOUT_BLOB_SIZE, &path.field("sizes"), offset, found);
        }
        (Ok(_), _) => (),
        (Err(Uncountable::Negative(at)), _) => {
            let found = format!("{}, expected no negative size", Few(sizes));
            report.add_at(rule::LAYOUT_SIZE, &path.item("sizes", at), report.offset_of(sizes, at), found);
        }
        (Err(Uncountable::Elements | Uncountable::Bytes), _) => {
            let found =
                format!("{} of {}, expected a size in bytes that fits in 64 bits", Few(sizes), layout.scalar_type);
            report.add_at(rule::LAYOUT_BYTES, &path.field("sizes"), offset, found);
        }
        // A dim order with so many dimensions breaks another rule.
        (Err(Uncountable::Rank), _) => (),
        (Err(Uncountable::Type), _) => {
            let found = format!("{}, expected 0 to 29", layout.scalar_type);
            report.add(rule::LAYOUT_SCALAR_TYPE, &path.field("scalar_type"), found);
        }
    }
}
