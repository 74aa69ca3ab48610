//! Rules about the calls of Ethos-U and Vulkan delegates: they pass the arguments that the payload states, and the memory of an Ethos-U has
//! room for them. They follow `EthosUBackend.cpp`, `EthosUBackend_Cortex_M.cpp` and `VulkanBackend.cpp`, which copy without these checks.
//! XNNPACK's calls have rules of their own.

use super::report::{Few, Report};
use super::rule;
use crate::delegate::ethos_u::VelaIo;
use crate::delegate::{EthosU, OpenPayload, Payload, PayloadKind};
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::ScalarType;
use crate::schema::program::{DelegateCall, ExecutionPlan, InstructionArguments, Tensor, TensorShapeDynamism};
use alloc::{format, string::String, vec::Vec};

/// The inputs and outputs that a payload states.
struct Stated {
    inputs: usize,
    outputs: usize,
    /// The places of both in the memory of an Ethos-U, with the memory's size.
    vela: Option<(Vec<VelaIo>, Vec<VelaIo>, u64)>,
}

#[expect(clippy::indexing_slicing, reason = "`Pte::open_payloads` counted the methods")]
pub(super) fn check(pte: &Pte<'_>, payloads: &[OpenPayload<'_>], report: &mut Report<'_>) {
    for opened in payloads {
        let Ok(payload) = &opened.payload else { continue };
        // Payloads of other backends may start with the same bytes.
        let is_its =
            |kind| opened.delegates_of(pte).any(|(_, delegate)| PayloadKind::of_id(delegate.id()) == Some(kind));
        let stated = match payload {
            Payload::EthosU(ethos_u) if is_its(PayloadKind::EthosU) => ethos_u_io(ethos_u),
            Payload::Vulkan(vulkan) if is_its(PayloadKind::Vulkan) => Some(Stated {
                inputs: vulkan.graph.input_ids().len(),
                outputs: vulkan.graph.output_ids().len(),
                vela: None,
            }),
            _ => None,
        };
        let Some(stated) = stated else { continue };
        if let (Some((method, delegate)), Some(vela)) = (opened.delegates.first(), &stated.vela) {
            let path = Path::ROOT.item("execution_plan", *method);
            let path = path.item("delegates", *delegate);
            memory(vela, &path.field("processed"), report);
        }
        let mut methods: Vec<usize> = opened.delegates.iter().map(|(method, _)| *method).collect();
        methods.dedup();
        for method in methods {
            let (plan, path) = (&pte.methods()[method], Path::ROOT.item("execution_plan", method));
            for ((chain, index), instruction) in plan.instructions() {
                let InstructionArguments::DelegateCall(call) = instruction else { continue };
                let delegate = usize::try_from(call.delegate_index).unwrap_or(usize::MAX);
                if opened.delegates.binary_search(&(method, delegate)).is_ok() {
                    let path = path.item("chains", chain);
                    let path = path.item("instructions", index);
                    arguments(plan, call, &stated, &path.field("instr_args.DelegateCall.args"), report);
                }
            }
        }
    }
}

/// Returns the inputs and outputs of an Ethos-U; `None` if a block is missing, which breaks another rule.
fn ethos_u_io(ethos_u: &EthosU<'_>) -> Option<Stated> {
    let (inputs, outputs, scratch) = (ethos_u.inputs()?, ethos_u.outputs()?, ethos_u.scratch_size()?);
    Some(Stated { inputs: inputs.len(), outputs: outputs.len(), vela: Some((inputs, outputs, scratch)) })
}

/// Checks that inputs and outputs are inside the scratch memory, where the runtime copies them.
fn memory((inputs, outputs, scratch): &(Vec<VelaIo>, Vec<VelaIo>, u64), path: &Path<'_>, report: &mut Report<'_>) {
    if *scratch == 0 {
        report.add(
            rule::ETHOS_U_PAYLOAD,
            path,
            "a scratch memory of 0 bytes, which has no room for inputs and outputs",
        );
    }
    if outputs.is_empty() {
        report.add(rule::ETHOS_U_PAYLOAD, path, "no outputs, expected at least one");
    }
    for (name, ios) in [("input", inputs), ("output", outputs)] {
        for (at, io) in ios.iter().enumerate() {
            let end = size(io).and_then(|bytes| u64::try_from(io.offset).ok()?.checked_add(bytes));
            if end.is_none_or(|end| end > *scratch) {
                let found = format!(
                    "{name} {at} of sizes {} with elements of {} at offset {}, expected a place inside the scratch memory of {}",
                    Few(&io.shape),
                    counted(io.element_size, "byte"),
                    io.offset,
                    counted(*scratch, "byte"),
                );
                report.add(rule::ETHOS_U_PAYLOAD, path, found);
            }
        }
    }
}

/// Returns the size of an input or output, in bytes; `None` if a size is negative, or the element size is not positive.
fn size(io: &VelaIo) -> Option<u64> {
    let width = u64::try_from(io.element_size).ok().filter(|width| *width > 0)?;
    io.shape.iter().try_fold(width, |all, size| all.checked_mul(u64::try_from(*size).ok()?))
}

fn arguments(
    plan: &ExecutionPlan<'_>,
    call: &DelegateCall<'_>,
    stated: &Stated,
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let (args, Stated { inputs, outputs, vela }) = (call.args(), stated);
    if args.len() != inputs.saturating_add(*outputs) {
        let (inputs, outputs) = (counted(*inputs, "input"), counted(*outputs, "output"));
        let found =
            format!("{}, expected those of the payload: {inputs} and {outputs}", counted(args.len(), "argument"));
        return report.add_at(rule::DELEGATE_ARGUMENTS, path, report.offset(Some(args)), found);
    }
    let Some((inputs, outputs, _)) = vela else { return };
    let all = inputs.iter().map(|io| (io, true)).chain(outputs.iter().map(|io| (io, false)));
    for ((at, index), (io, is_input)) in args.iter().enumerate().zip(all) {
        let path = &path.index(at);
        let fault = match plan.tensor(*index) {
            Some(tensor) if tensor.shape_dynamism == TensorShapeDynamism::STATIC => mismatch(tensor, io, is_input),
            Some(_) => None,
            None => plan.value(*index).map(|_| format!("value {index}, which is no tensor")),
        };
        if let Some(found) = fault {
            let role = if is_input { "input" } else { "output" };
            let expected = format!("sizes {} with elements of {}", Few(&io.shape), counted(io.element_size, "byte"));
            let found = format!("{found}, expected an {role} as in the payload: {expected}");
            report.add_at(rule::DELEGATE_ARGUMENTS, path, report.offset_of(args, at), found);
        }
    }
}

/// Returns a text about a tensor that does not have the elements of an input or output.
fn mismatch(tensor: &Tensor<'_>, io: &VelaIo, is_input: bool) -> Option<String> {
    let bytes = tensor.byte_size().ok()?;
    let width = match tensor.scalar_type {
        ScalarType::BOOL | ScalarType::BYTE | ScalarType::CHAR => 1,
        ScalarType::SHORT => 2,
        ScalarType::INT => 4,
        _ => 0,
    };
    let fits = match (size(io), is_input) {
        (None, _) => false,
        (Some(expected), true) => width == io.element_size && bytes == expected,
        (Some(expected), false) => bytes == expected || is_adjusted(tensor, io, bytes),
    };
    (!fits).then(|| format!("{}", tensor.shape()))
}

/// Returns `true` if the runtime can copy an output of another size: rows with padding at their ends, or two elements of 4 bits in a byte.
fn is_adjusted(tensor: &Tensor<'_>, io: &VelaIo, bytes: u64) -> bool {
    let [rows @ .., last] = io.shape.map(|size| u64::try_from(size).unwrap_or_default().max(1));
    let rows = rows.iter().fold(1, |all: u64, size| all.saturating_mul(*size));
    let row = last.saturating_mul(u64::try_from(io.element_size).unwrap_or_default());
    if row == 0 || bytes % rows != 0 {
        return false;
    }
    let of_tensor = bytes / rows;
    of_tensor <= row
        || (of_tensor == row.saturating_mul(2) && io.element_size == 1 && tensor.scalar_type == ScalarType::CHAR)
}
