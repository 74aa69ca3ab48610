//! Rules about delegates' payloads: their bytes match the delegate's id, payloads in a known format are complete, and
//! machine code is reported. They follow `VulkanDelegateHeader.cpp`, `VelaBinStream.cpp` and `inmemory_filesystem.cpp`
//! of ExecuTorch's backends. XNNPACK's payloads have rules of their own.

use super::report::{Name, Report};
use super::rule::{self, Rule};
use crate::delegate::{AotInductor, EthosU, Payload, PayloadKind, Vulkan};
use crate::error::{Error, counted};
use crate::file::key_index::KeyIndex;
use crate::file::pte::Pte;
use crate::path::Path;
use crate::schema::vulkan::GraphTypes;
use alloc::collections::BTreeSet;
use alloc::{format, string::String};
use core::cell::OnceCell;

pub(super) fn check(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    let (mut seen, keys) = (BTreeSet::new(), OnceCell::new());
    // Overlapping segments can repeat the same bytes many times, so the number of bytes read is limited to the size of the file.
    let mut left = report.file_size();
    for (index, plan) in pte.methods().iter().enumerate() {
        let path = root.item("execution_plan", index);
        for (index, delegate) in plan.delegates().iter().enumerate() {
            // Methods may share a payload.
            let fresh = delegate.processed.is_some_and(|processed| seen.insert((processed.location, processed.index)));
            let data = if fresh { pte.delegate_data(delegate).ok() } else { None };
            let Some(payload) = data.as_ref().and_then(|data| pte.bytes(data).ok()) else {
                continue;
            };
            let path = path.item("delegates", index);
            let path = &path.field("processed");
            id_and_bytes(delegate.id(), payload, path, report);
            if let Some(kind) = PayloadKind::of_id(delegate.id()).filter(|kind| kind.is_native_code()) {
                native_code((pte, keys.get_or_init(|| pte.named_data_index())), kind, payload, path, report);
            }
            match left.checked_sub(payload.len() as u64) {
                Some(rest) => left = rest,
                None if report.has_file() => continue,
                None => (),
            }
            // Payloads of other backends may start with the same bytes.
            match PayloadKind::of_bytes(payload).filter(|kind| PayloadKind::of_id(delegate.id()) == Some(*kind)) {
                Some(PayloadKind::Vulkan) => vulkan(payload, path, report),
                Some(PayloadKind::EthosU) => ethos_u(payload, path, report),
                Some(PayloadKind::CoreMl) => {
                    if let Err(error) = Payload::parse(payload) {
                        broken(rule::CORE_ML_PAYLOAD, payload, &error, path, report);
                    }
                }
                Some(PayloadKind::Cuda) => {
                    if let Err(error) = AotInductor::parse(payload) {
                        broken(rule::AOT_INDUCTOR_PAYLOAD, payload, &error, path, report);
                    }
                }
                _ => (),
            }
        }
    }
}

/// Compares the bytes with the delegate's id, by which the runtime selects a backend.
fn id_and_bytes(id: &str, payload: &[u8], path: &Path<'_>, report: &mut Report<'_>) {
    let Some(kind) = PayloadKind::of_id(id).filter(|kind| kind.is_in(payload) == Some(false)) else {
        return;
    };
    let offset = report.offset(Some(payload));
    if let Some(other) = PayloadKind::of_bytes(payload) {
        let found =
            format!("the bytes are a payload for {other}, expected one for {kind}, as the id {} says", Name(id));
        report.add_at(rule::PAYLOAD_KIND, path, offset, found);
    } else if kind != PayloadKind::Xnnpack {
        let found = format!("the first bytes are not those of a payload for {kind}, which the id {} says", Name(id));
        report.add_at(rule::PAYLOAD_UNKNOWN, path, offset, found);
    }
}

fn native_code(
    (pte, index): (&Pte<'_>, &KeyIndex<'_>),
    kind: PayloadKind,
    payload: &[u8],
    path: &Path<'_>,
    report: &mut Report<'_>,
) {
    let mut keys = String::new();
    let aot = AotInductor::parse(payload).ok();
    for key in aot.iter().flat_map(|aot| [Some(aot.library), aot.weights]).flatten() {
        let named = index.get(key).and_then(|index| pte.named_data().get(index));
        let place = match named.and_then(|named| pte.bytes(&pte.named_data_ref(named).ok()?).ok()) {
            Some(bytes) => format!("{} in this file", counted(bytes.len(), "byte")),
            None => "not in this file".into(),
        };
        keys += &format!("; {}: {place}", Name(key));
    }
    let found = format!("a payload for {kind}: machine code that runs when the program is loaded{keys}");
    report.add_at(rule::NATIVE_CODE, path, report.offset(Some(payload)), found);
}

fn broken(rule: &'static Rule, payload: &[u8], error: &Error, path: &Path<'_>, report: &mut Report<'_>) {
    let offset = report.offset(Some(payload)).zip(error.offset()).map(|(start, offset)| start.saturating_add(offset));
    let field = error.path();
    let separator = if field.is_empty() { "" } else { ": " };
    report.add_at(rule, path, offset, format!("{field}{separator}{}", error.kind()));
}

fn vulkan(payload: &[u8], path: &Path<'_>, report: &mut Report<'_>) {
    let vulkan = match Vulkan::parse(payload) {
        Ok(vulkan) => vulkan,
        Err(error) => return broken(rule::VULKAN_PAYLOAD, payload, &error, path, report),
    };
    let (graph, path) = (&vulkan.graph, &path.field("VkGraph"));
    let values = graph.values().len();
    let mut index = |found: i64, most: usize, path: &Path<'_>| {
        if usize::try_from(found).is_ok_and(|found| found < most) {
            return;
        }
        let found = format!("{found}, expected less than {most}");
        report.add(rule::VULKAN_GRAPH, path, found);
    };
    for (name, ids) in [("input_ids", graph.input_ids()), ("output_ids", graph.output_ids())] {
        for (at, id) in ids.iter().enumerate() {
            index((*id).into(), values, &path.item(name, at));
        }
    }
    for (call, operator) in graph.chain().iter().enumerate() {
        let path = path.item("chain", call);
        for (at, id) in operator.args().iter().enumerate() {
            index((*id).into(), values, &path.item("args", at));
        }
    }
    for (at, value) in graph.values().iter().enumerate() {
        let path = path.item("values", at);
        match &value.value {
            GraphTypes::VkTensor(tensor) if tensor.constant_id >= 0 => {
                index(tensor.constant_id.into(), graph.constants().len(), &path.field("value.VkTensor.constant_id"));
            }
            GraphTypes::ValueList(list) => {
                for (at, id) in list.items().iter().enumerate() {
                    index((*id).into(), values, &path.item("value.ValueList.items", at));
                }
            }
            _ => (),
        }
    }
    for (name, list) in [("constants", graph.constants()), ("shaders", graph.shaders())] {
        for (at, bytes) in list.iter().enumerate().filter(|(_, bytes)| vulkan.place(bytes).is_none()) {
            let available = vulkan.raw_bytes.len();
            let found = format!(
                "{} from {}, expected a range inside the {available} raw bytes",
                counted(bytes.length, "byte"),
                bytes.offset
            );
            report.add(rule::VULKAN_GRAPH, &path.item(name, at), found);
        }
    }
}

fn ethos_u(payload: &[u8], path: &Path<'_>, report: &mut Report<'_>) {
    let ethos_u = match EthosU::parse(payload) {
        Ok(ethos_u) => ethos_u,
        Err(error) => return broken(rule::ETHOS_U_PAYLOAD, payload, &error, path, report),
    };
    let start = report.offset(Some(payload));
    let has = |name: &str| ethos_u.blocks.iter().any(|block| block.name == name.as_bytes());
    for name in ["cmd_data", "scratch_size", "inputs", "outputs"].into_iter().filter(|name| !has(name)) {
        report.add_at(rule::ETHOS_U_PAYLOAD, path, start, format!("no block '{name}'"));
    }
    if let Some(commands) = ethos_u.command_stream() {
        if !commands.starts_with(b"COP1") && !commands.starts_with(b"COP2") {
            let first = commands.get(..4).unwrap_or(commands).escape_ascii();
            let found = format!("its command stream starts with '{first}', expected 'COP1' or 'COP2'");
            report.add_at(rule::ETHOS_U_PAYLOAD, path, report.offset(Some(commands)), found);
        }
    }
    for (name, ios) in [("inputs", ethos_u.inputs()), ("outputs", ethos_u.outputs())] {
        if let Some(data) = ethos_u.block(name).filter(|_| ios.is_none()) {
            let found = format!("its block '{name}' has {}, fewer than it counts", counted(data.len(), "byte"));
            report.add_at(rule::ETHOS_U_PAYLOAD, path, report.offset(Some(data)), found);
        }
    }
}
