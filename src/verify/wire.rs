//! Rules about bytes of the FlatBuffer that are not in the decoded tree: invalid bytes that official readers accept,
//! and the sharing of vtables.

use super::report::{Name, Report};
use super::rule;
use crate::error::counted;
use crate::file::pte::Pte;
use crate::file::source::Source;
use crate::flatbuffer::any;
use crate::flatbuffer::description::{FieldKind, NumberKind, TableDescription};
use crate::flatbuffer::read::{Limits, Record};
use crate::flatbuffer::walk::{Part, PartKind, TablePart, Wanted, walk_at};
use crate::path::Path;
use crate::schema::Program;
use crate::schema::any::AnyTable;
use crate::schema::program::{EValue, KernelTypes};
use alloc::collections::BTreeMap;
use alloc::format;

/// Tables, bools, and vectors that may be misaligned even if offsets are aligned.
const WANTED: Wanted = Wanted {
    fields: |kind| match kind {
        FieldKind::Numbers { number, alignment } => *alignment > 4 || *number == NumberKind::Bool,
        _ => false,
    },
    ..Wanted::ALL
};

pub(super) fn check(
    tree: &dyn AnyTable,
    root: &'static TableDescription,
    source: Option<&Source<'_>>,
    report: &mut Report<'_>,
) {
    check_at(0, tree, root, source, report);
}

/// Checks a program like `check`. Few of its many values have strings.
pub(super) fn check_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    let root = Path::ROOT;
    text(&pte.program, Some(EValue::DESCRIPTION), &root, report);
    for (index, plan) in pte.methods().iter().enumerate() {
        for (value, content) in plan.values().iter().enumerate() {
            let may_have_text = match &content.val {
                KernelTypes::Tensor(tensor) => tensor.extra_tensor_info.is_some(),
                other => matches!(other, KernelTypes::String(_)),
            };
            if may_have_text {
                text(content, None, &root.item("execution_plan", index).item("values", value), report);
            }
        }
    }
    bytes(0, Program::DESCRIPTION, pte.source.as_ref(), report);
}

/// Checks a FlatBuffer, like `check`, that starts at byte `start` of its source's metadata, as for `decode_at`.
pub(super) fn check_at(
    start: u32,
    tree: &dyn AnyTable,
    root: &'static TableDescription,
    source: Option<&Source<'_>>,
    report: &mut Report<'_>,
) {
    if !report.is_strict() {
        return;
    }
    text(tree, None, &Path::ROOT, report);
    bytes(start, root, source, report);
}

/// Checks the bytes of a FlatBuffer that are not in its tree.
fn bytes(start: u32, root: &'static TableDescription, source: Option<&Source<'_>>, report: &mut Report<'_>) {
    // Reading has recorded whether there are any faults.
    if let Some(source) = source.filter(|source| source.irregular) {
        let metadata = source.metadata();
        let mut sharing = Sharing::default();
        walk_at(start, metadata, root, &Limits::default(), WANTED, &mut |part| match &part.kind {
            PartKind::Table(table) => {
                sharing.add(part, table, metadata);
                vtable(part, table, report);
                bools(part, table, metadata, report);
            }
            PartKind::Numbers { number, alignment } => {
                vector_alignment(part, *alignment, report);
                bool_list(part, *number, metadata, report);
            }
            PartKind::Text | PartKind::Tables => (),
        });
        sharing.report(report);
    }
}

/// Checks strings. ExecuTorch's C++ does not check their bytes. Readers in Python and Rust refuse strings that are not UTF-8.
fn text(tree: &dyn AnyTable, but: Option<&'static TableDescription>, path: &Path<'_>, report: &mut Report<'_>) {
    any::texts(tree, but, path, &mut |path, text| {
        if !text.is_utf8() {
            let found = format!("{} is not UTF-8: readers in Python and Rust refuse it", Name(text));
            report.add_at(rule::TEXT_UTF8, path, report.offset(Some(text.as_bytes())), found);
        }
    });
}

fn vtable(part: &Part<'_>, table: &TablePart<'_>, report: &mut Report<'_>) {
    let offset = Some(table.vtable.into());
    match table.inline_size {
        None => {
            let found = format!("the vtable has {}, expected at least 4", counted(table.vtable_size, "byte"));
            report.add_at(rule::VTABLE_SIZE, part.path, offset, found);
        }
        Some(size @ ..4) => {
            let found = format!("the inline size in the vtable is {size}, expected at least 4");
            report.add_at(rule::VTABLE_SIZE, part.path, offset, found);
        }
        Some(_) => (),
    }
    if !table.overlaps {
        return;
    }
    if let Some((id, slot)) = table.slots.iter().enumerate().find(|(_, slot)| (1..4).contains(*slot)) {
        let found = format!("field {id} is at offset {slot} in its table, expected at least 4");
        report.add_at(rule::VTABLE_ENTRY, part.path, offset, found);
    }
}

fn bools(part: &Part<'_>, table: &TablePart<'_>, metadata: &[u8], report: &mut Report<'_>) {
    if !part.owner.content.bools {
        return;
    }
    for (id, field) in part.owner.fields_by_id() {
        let (FieldKind::Number(NumberKind::Bool), Some(slot @ 1..)) = (field.kind, table.slots.get(id)) else {
            continue;
        };
        let at = part.position as usize + usize::from(*slot);
        if let Some(byte @ 2..) = metadata.get(at) {
            let found = format!("{byte}, expected 0 or 1: any other byte is read as true");
            report.add_at(rule::BOOL, &part.path.field(field.name), Some(at as u64), found);
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "the part was found in these bytes, and its count takes the first four")]
fn bool_list(part: &Part<'_>, number: NumberKind, metadata: &[u8], report: &mut Report<'_>) {
    if number != NumberKind::Bool {
        return;
    }
    let start = part.position as usize + 4;
    let bytes = &metadata[start..part.position as usize + part.size as usize];
    if let Some((index, byte)) = bytes.iter().enumerate().find(|(_, byte)| **byte > 1) {
        let found = format!("{byte}, expected 0 or 1: any other byte is read as true");
        report.add_at(rule::BOOL, &part.path.index(index), Some((start + index) as u64), found);
    }
}

/// Checks the alignment of a vector. flatc does not align empty vectors.
fn vector_alignment(part: &Part<'_>, alignment: u32, report: &mut Report<'_>) {
    let first = part.position + 4;
    if alignment > 4 && part.size > 4 && first % alignment != 0 {
        let found = format!("its first element is at byte {first}, expected a multiple of {alignment}");
        report.add_at(rule::VECTOR_ALIGNMENT, part.path, Some(first.into()), found);
    }
}

/// Vtables that are shared by tables of different sizes: see `VtableSharing::ByEntries`.
#[derive(Default)]
struct Sharing {
    /// The vtables used by a table whose size differs from the stated one: for each, the first such size and the stated one.
    shared: BTreeMap<u32, (u32, u16)>,
}

impl Sharing {
    fn add(&mut self, part: &Part<'_>, table: &TablePart<'_>, metadata: &[u8]) {
        // An inline size below 4 breaks another rule.
        let Some(inline_size @ 4..) = table.inline_size else {
            return;
        };
        let (end, said) = (part.position as usize + usize::from(inline_size), u32::from(inline_size));
        // Fewer than 8 bytes after the last field may be padding.
        if part.size > said || said >= part.size + 8 || end > metadata.len() {
            self.shared.entry(table.vtable).or_insert((part.size, inline_size));
        }
    }

    fn report(&self, report: &mut Report<'_>) {
        if let Some((vtable, (size, said))) = self.shared.first_key_value() {
            let found = format!(
                "the vtable says {}, but a table of {size} uses it ({} like this in the file): Python's flatbuffers up to 25.9 shares vtables this way, and official readers accept it",
                counted(*said, "byte"),
                counted(self.shared.len(), "vtable")
            );
            report.add_at(rule::VTABLE_SHARED, &Path::ROOT, Some((*vtable).into()), found);
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::schema::program::Tensor;
    use crate::verify::Level;
    use alloc::vec::Vec;

    #[test]
    fn only_strings_and_tensors_with_extra_info_may_have_text() {
        let value = EValue::DESCRIPTION.fields.iter().find_map(|field| match field.kind {
            FieldKind::Union(union) => Some(union.members),
            _ => None,
        });
        let with_text = value.into_iter().flatten().filter(|member| member.table.content.texts > 0);
        assert_eq!(with_text.map(|member| member.name).collect::<Vec<_>>(), ["Tensor", "String"]);
        let fields = Tensor::DESCRIPTION.fields.iter().enumerate();
        let with_text = fields.filter(|(index, _)| Tensor::DESCRIPTION.content.texts >> index & 1 > 0);
        assert_eq!(with_text.map(|(_, field)| field.name).collect::<Vec<_>>(), ["extra_tensor_info"]);
    }

    #[test]
    fn reading_records_every_fault_that_the_walk_finds() {
        let file: &[u8] = include_bytes!("../../tests/data/1.5.1/multi_method/multi_method.pte");
        let mut damaged = file.to_vec();
        let (mut noted, mut walked) = (0, 0);
        for at in (0..file.len()).step_by(3) {
            for byte in [2, 0xff] {
                damaged[at] = byte;
                let Ok(Pte { source: Some(source), .. }) = Pte::parse(&damaged) else { continue };
                let mut report = Report::new(None, Level::Strict);
                let irregular = source.irregular;
                bytes(0, Program::DESCRIPTION, Some(&Source { irregular: true, ..source }), &mut report);
                assert!(irregular || report.count() == 0, "byte {at} is {byte}");
                noted += usize::from(irregular);
                walked += 1;
            }
            damaged[at] = file[at];
        }
        assert!(noted > 0 && noted < walked, "{noted} of {walked}");
    }
}
