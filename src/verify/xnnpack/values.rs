//! Rules about values: their kinds, types and shapes, and the selection of inputs and outputs.

use super::super::report::{Few, Report};
use super::super::rule;
use super::{Graph, MAX_RANK, no_member, quantization};
use crate::path::Path;
use crate::schema::xnnpack::{
    EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, XNNDatatype, XNNQuantParams, XNNTensorValue, XValue, XValueUnion,
};
use crate::sorted::set;
use alloc::collections::BTreeMap;
use alloc::{format, vec::Vec};

/// The most externals that the runtime accepts.
const MAX_EXTERNS: u32 = 4096;

pub(super) fn check(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let tree = &graph.payload.graph;
    for (absent, list) in [(tree.xvalues.is_none(), "xvalues"), (tree.xnodes.is_none(), "xnodes")] {
        if absent {
            report.add(rule::XNNPACK_GRAPH, &path.field(list), "absent, expected a list, which may be empty");
        }
    }
    if tree.num_externs > MAX_EXTERNS {
        let found = format!("{}, expected at most {MAX_EXTERNS}", tree.num_externs);
        report.add(rule::XNNPACK_GRAPH, &path.field("num_externs"), found);
    }
    let mut ids = BTreeMap::new();
    for (index, value) in tree.xvalues().iter().enumerate() {
        let path = &path.item("xvalues", index);
        let Some(tensor) = value.tensor() else {
            no_tensor(value, path, report);
            continue;
        };
        let quantized = path.field("xvalue_union.XNNQuantizedTensorValue");
        if let Some(params) = value.quant_params() {
            quantization::check(tensor, params, tensor.constant_buffer_idx != 0, &quantized, report);
        }
        let path = &match value.quant_params() {
            Some(_) => quantized.field("tensor_value"),
            None => path.field("xvalue_union.XNNTensorValue"),
        };
        datatype(value, tensor, !graph.is_used(tensor.id_out), path, report);
        shape(tensor, path, report);
        external(value, tensor, tree.num_externs, path, report);
        if let Some(first) = ids.insert(tensor.id_out, index) {
            let found = format!("{}, which value {first} has too", tensor.id_out);
            report.add(rule::XNNPACK_ID, &path.field("id_out"), found);
        } else if tensor.id_out as usize != index {
            let found = format!("{}, expected the value's index {index}", tensor.id_out);
            report.add(rule::XNNPACK_LISTS, &path.field("id_out"), found);
        }
    }
    externals(graph, path, report);
}

fn no_tensor(value: &XValue<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    match &value.xvalue_union {
        XValueUnion::XNNQuantizedTensorValue(_) => {
            let path = path.field("xvalue_union.XNNQuantizedTensorValue.tensor_value");
            report.add(rule::XNNPACK_UNION, &path, "absent, expected the tensor");
        }
        other => {
            let found = no_member(other.tag(), other.name().is_some());
            report.add(rule::XNNPACK_UNION, &path.field("xvalue_union"), found);
        }
    }
}

/// Checks the datatype of a value. `unused` is `true` if no node reads the value and it is not an output.
fn datatype(value: &XValue<'_>, tensor: &XNNTensorValue<'_>, unused: bool, path: &Path<'_>, report: &mut Report<'_>) {
    type Type = XNNDatatype;
    let (fits, expected): (&[Type], &str) = match value.quant_params() {
        None => (&[Type::FP32, Type::FP16, Type::BF16, Type::INT32, Type::PFP32], "fp32, fp16, bf16, int32 or pfp32"),
        Some(XNNQuantParams::PerTensorQuant(_)) => {
            (&[Type::QINT8, Type::QUINT8, Type::QINT32], "qint8, quint8 or qint32 with one scale")
        }
        Some(XNNQuantParams::PerChannelQuant(_)) => {
            (&[Type::QCINT8, Type::QCINT32, Type::QCINT4], "qcint8, qcint32 or qcint4 with a scale for each channel")
        }
        Some(XNNQuantParams::PerChannelGroupQuant(_)) => (&[Type::QBINT4], "qbint4 with a scale for each group"),
        Some(XNNQuantParams::PerTokenDynamicQuant(_)) => (&[Type::QDINT8], "qdint8 with scales at run time"),
        // Another rule reports this.
        Some(XNNQuantParams::None | XNNQuantParams::Unknown(_)) => return,
    };
    // XNNPACK accepts a single scale for a type with several, unless a node reads them.
    let taken = matches!(value.quant_params(), Some(XNNQuantParams::PerTensorQuant(_)))
        && [Type::QCINT8, Type::QCINT32, Type::QCINT4, Type::QBINT4].contains(&tensor.datatype);
    if !fits.contains(&tensor.datatype) && report.concerns(!(unused && taken)) {
        let found = format!("{}, expected {expected}", tensor.datatype);
        report.add(rule::XNNPACK_DATATYPE, &path.field("datatype"), found);
    }
    let dynamic = tensor.dq_datatype.unwrap_or_default();
    let input = tensor.flags & EXTERNAL_INPUT != 0 && tensor.constant_buffer_idx == 0;
    // The runtime treats an unknown type as none.
    let concerns = report.concerns(dynamic.name().is_some());
    if concerns && dynamic != Type::INVALID && !(dynamic == Type::QINT8 && input) {
        let found = format!("{dynamic}, expected none, or xnn_datatype_qint8 of an input");
        report.add(rule::XNNPACK_DATATYPE, &path.field("dq_datatype"), found);
    }
}

fn shape(tensor: &XNNTensorValue<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let dims = tensor.dims();
    let offset = report.offset(Some(dims));
    let path = &path.field("dims");
    if dims.len() > MAX_RANK {
        let found = format!("{} dimensions, expected at most {MAX_RANK}", dims.len());
        report.add_at(rule::XNNPACK_SHAPE, path, offset, found);
    } else if tensor.datatype.element_bits().is_some() && tensor.byte_size().is_none_or(|bytes| bytes > u64::MAX / 8) {
        // XNNPACK computes sizes in bits.
        let found = format!("{}, whose size in bits overflows 64 bits", Few(dims));
        report.add_at(rule::XNNPACK_SHAPE, path, offset, found);
    }
    if tensor.num_dims as usize != dims.len() {
        let found = format!("num_dims is {}, but there are {}", tensor.num_dims, dims.len());
        report.add_at(rule::XNNPACK_LISTS, path, offset, found);
    }
}

fn external(
    value: &XValue<'_>,
    tensor: &XNNTensorValue<'_>,
    num_externs: u32,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let (flags, id) = (tensor.flags, tensor.external_id);
    if flags & !(EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0 {
        let found = format!("{flags:#x}, expected 0, 1 (input) or 2 (output)");
        report.add(rule::XNNPACK_FLAGS, &path.field("flags"), found);
    }
    let external = flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0;
    let id_path = &path.field("external_id");
    if id != NO_ID && id >= num_externs {
        let found = format!("{id}, expected less than num_externs, which is {num_externs}");
        report.add(rule::XNNPACK_EXTERNAL_ID, id_path, found);
    } else if id == NO_ID && external {
        let found = format!("none, but flags say that it is an {}", direction(flags));
        report.add(rule::XNNPACK_EXTERNAL_ID, id_path, found);
    } else if id != NO_ID && !external {
        let found = format!("{id}, but flags say neither input nor output");
        report.add(rule::XNNPACK_EXTERNALS, id_path, found);
    }
    if flags == EXTERNAL_INPUT | EXTERNAL_OUTPUT {
        report.add(rule::XNNPACK_EXTERNALS, &path.field("flags"), "input and output at once, expected one of them");
    }
    if external && tensor.constant_buffer_idx != 0 {
        let found = format!("{}, of an {}, expected 0", tensor.constant_buffer_idx, direction(flags));
        report.add(rule::XNNPACK_EXTERNALS, &path.field("constant_buffer_idx"), found);
    }
    if let (Some(XNNQuantParams::PerTokenDynamicQuant(_)), true) = (value.quant_params(), external) {
        let found = format!("{flags}, of a value that is quantized at run time, expected 0");
        report.add(rule::XNNPACK_FLAGS, &path.field("flags"), found);
    }
}

fn direction(flags: u32) -> &'static str {
    if flags & EXTERNAL_INPUT != 0 { "input" } else { "output" }
}

/// Checks that each argument has one value, and that the lists of inputs and outputs consist of these.
fn externals(graph: &Graph<'_>, path: &Path<'_>, report: &mut Report<'_>) {
    let tree = &graph.payload.graph;
    let externals = tree.externals();
    for pair in externals.windows(2) {
        if let [(first, before), (second, after)] = pair {
            if before.external_id == after.external_id {
                let found = format!("values {first} and {second} are both argument {}", before.external_id);
                // XNNPACK treats them as a single value: the last one.
                report.add(rule::XNNPACK_EXTERNALS, &path.field("xvalues"), found);
            }
        }
    }
    if !report.is_strict() || tree.num_externs > MAX_EXTERNS {
        return;
    }
    let taken = |id: &u32| externals.binary_search_by_key(id, |(_, tensor)| tensor.external_id).is_ok();
    if let Some(missing) = (0..tree.num_externs).find(|id| !taken(id)) {
        let found = format!("{}, but no value is argument {missing}", tree.num_externs);
        report.add(rule::XNNPACK_EXTERNALS, &path.field("num_externs"), found);
    }
    for (list, name, flag) in
        [(tree.input_ids(), "input_ids", EXTERNAL_INPUT), (tree.output_ids(), "output_ids", EXTERNAL_OUTPUT)]
    {
        let flagged = externals.iter().filter(|(_, tensor)| tensor.flags == flag);
        let expected: Vec<u32> = flagged.map(|(_, tensor)| tensor.id_out).collect();
        // Exporters differ in the order of these.
        if expected.len() != list.len() || set(expected.clone()) != set(list.to_vec()) {
            let found = format!("{}, but the values' flags say {}", Few(list), Few(&expected));
            report.add_at(rule::XNNPACK_LISTS, &path.field(name), report.offset(Some(list)), found);
        }
    }
}
