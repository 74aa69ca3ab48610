//! Rules about the headers of XNNPACK and Vulkan payloads. They follow `XNNHeader` and `VulkanDelegateHeader`, which start
//! with the same fields.
//!
//! | bytes | content |
//! |---|---|
//! | 4..8 | `XH00` or `VH00` |
//! | 8..10 | u16 length of the header: at least 30 |
//! | 10..14, 14..18 | u32 offset and u32 size of the FlatBuffer |
//! | 18..22, 22..30 | u32 offset and u64 size of the constants |

use super::report::Report;
use super::rule::{self, Rule};
use crate::error::counted;
use crate::file::pte::Pte;
use crate::path::Path;
use alloc::{collections::BTreeSet, format};

const LENGTH: usize = 30;

pub(super) fn check(pte: &Pte<'_>, report: &mut Report<'_>) {
    if !report.is_strict() {
        return;
    }
    let root = Path::ROOT;
    let mut seen = BTreeSet::new();
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
            match payload.get(4..8) {
                Some(b"XH00") => header(rule::XNNPACK_PAYLOAD, payload, &path.field("processed"), report),
                Some(b"VH00") => header(rule::VULKAN_PAYLOAD, payload, &path.field("processed"), report),
                _ => (),
            }
        }
    }
}

fn number(payload: &[u8], at: usize, size: usize) -> Option<u64> {
    let bytes = payload.get(at..)?.get(..size)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn header(rule: &'static Rule, payload: &[u8], path: &Path<'_>, report: &mut Report<'_>) {
    let start = report.offset(Some(payload));
    let at = |field: u64| start.map(|start| start + field);
    let available = payload.len() as u64;
    let length = number(payload, 8, 2).unwrap_or(0);
    if length < LENGTH as u64 || payload.len() < LENGTH {
        let found = format!(
            "the header has {} in a payload of {available}, expected at least {LENGTH}",
            counted(length, "byte")
        );
        return report.add_at(rule, path, at(8), found);
    }
    for (what, field, size_field, size_width) in [("FlatBuffer", 10, 14, 4), ("constants", 18, 22, 8)] {
        let (Some(offset), Some(size)) = (number(payload, field, 4), number(payload, size_field, size_width)) else {
            continue;
        };
        if offset.checked_add(size).is_none_or(|end| end > available) {
            let found = format!(
                "{what}: a range of {} from offset {offset} ends outside the payload of {available}",
                counted(size, "byte")
            );
            report.add_at(rule, path, at(field as u64), found);
        }
    }
}
