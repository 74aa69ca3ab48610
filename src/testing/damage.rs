//! Systematic damage: sets each field of a tree, or each word of a file, to values that readers may handle wrongly.

use crate::schema::any::{AnyField, AnyNumbers, AnyTable, FieldChange, Value};
use crate::schema::description::{FieldKind, NumberKind};
use crate::sorted::set;
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// A change of one field of a tree to a value that readers may handle wrongly: a limit of its type, one past the length of a list,
/// an absent table, a string that is not UTF-8.
///
/// Write a changed tree with [`Pte::image_as_is`](crate::Pte::image_as_is), which does not repair it.
#[derive(Clone, Debug)]
pub struct Damage {
    /// The steps from the root: a field, and an item of its list of tables (0 for a table or union).
    steps: Vec<(usize, usize)>,
    field: usize,
    change: FieldChange<'static>,
}

impl Damage {
    /// Returns all damages that apply to a tree.
    pub fn all(tree: &dyn AnyTable) -> Vec<Self> {
        let mut lengths = Vec::new();
        find_lengths(tree, &mut lengths);
        let mut all = All { lengths: set(lengths), steps: Vec::new(), found: Vec::new() };
        all.table(tree);
        all.found
    }

    /// Changes the tree. Returns `false` if this change is impossible.
    pub fn apply(&self, tree: &mut dyn AnyTable) -> bool {
        let mut table = tree;
        for (field, item) in &self.steps {
            let Some(next) = table.field_mut(*field).and_then(|field| field.table_mut(*item)) else {
                return false;
            };
            table = next;
        }
        table.field_mut(self.field).is_some_and(|field| field.change(self.change))
    }

    /// Describes the change, in the schema's names.
    pub fn describe(&self, tree: &dyn AnyTable) -> String {
        let mut path = String::new();
        let mut table = Some(tree);
        for (field, item) in &self.steps {
            path += name_of(table, *field);
            path += &format!("[{item}].");
            table = match table.and_then(|table| table.field(*field)).map(AnyField::value) {
                Some(Value::Table(table)) => Some(table),
                Some(Value::Union { member, .. }) => member,
                Some(Value::Tables(tables)) => tables.get(*item),
                _ => None,
            };
        }
        path += name_of(table, self.field);
        format!("{path}: {}", Shown(self.change))
    }
}

/// Returns the schema's name of a field.
fn name_of(table: Option<&dyn AnyTable>, field: usize) -> &'static str {
    table.and_then(|table| table.description().fields.get(field)).map_or("?", |field| field.name)
}

struct Shown(FieldChange<'static>);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FieldChange::Bits(bits) => write!(f, "{} ({bits:#x})", bits as i64),
            FieldChange::Item(index, bits) => write!(f, "item {index} is {} ({bits:#x})", bits as i64),
            FieldChange::Text(text) => write!(f, "{} bytes of text", text.len()),
            other => write!(f, "{other:?}"),
        }
    }
}

/// Collects the lengths of all lists, against which readers check indices.
fn find_lengths(table: &dyn AnyTable, lengths: &mut Vec<u64>) {
    table.for_each_field(&mut |_, value| match value {
        Value::Numbers(numbers) => lengths.push(numbers.len() as u64),
        Value::Table(table) => find_lengths(table, lengths),
        Value::Union { member: Some(member), .. } => find_lengths(member, lengths),
        Value::Tables(tables) => {
            lengths.push(tables.len() as u64);
            (0..tables.len()).filter_map(|index| tables.get(index)).for_each(|table| find_lengths(table, lengths));
        }
        _ => {}
    });
}

/// Texts that readers may handle wrongly: empty, short, long, with a NUL, not UTF-8.
const TEXTS: [&[u8]; 5] = [b"", b"x", &[b'x'; 120], b"a\0b", b"\xff\xfe"];

/// Numbers at the limits of widths, signs, alignments and counts.
const NUMBERS: [u64; 22] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    99,
    127,
    128,
    255,
    256,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    i64::MAX as u64,
    i64::MIN as u64,
    u64::MAX,
    u64::MAX - 1,
];

/// The number of changed items at the start of a list of numbers. The last item is changed too.
const ITEMS: usize = 16;

struct All {
    lengths: Vec<u64>,
    steps: Vec<(usize, usize)>,
    found: Vec<Damage>,
}

impl All {
    fn add(&mut self, field: usize, change: FieldChange<'static>) {
        self.found.push(Damage { steps: self.steps.clone(), field, change });
    }

    fn table(&mut self, table: &dyn AnyTable) {
        for (index, description) in table.description().fields.iter().enumerate() {
            let Some(value) = table.field(index).map(AnyField::value) else { continue };
            match (description.kind, value) {
                (FieldKind::Number(kind), Value::Number(number) | Value::Enum { number, .. }) => {
                    for bits in self.numbers(kind, number.bits()) {
                        self.add(index, FieldChange::Bits(bits));
                    }
                }
                (FieldKind::Union(union), value) => {
                    (0..=union.members.len() as u8 + 1).for_each(|tag| self.add(index, FieldChange::Tag(tag)));
                    if let Value::Union { member: Some(member), .. } = value {
                        self.inside(index, 0, member);
                    }
                }
                (FieldKind::Text, value) => {
                    TEXTS.iter().for_each(|text| self.add(index, FieldChange::Text(text)));
                    if !matches!(value, Value::Absent) {
                        self.add(index, FieldChange::Remove);
                    }
                }
                (_, Value::Absent) => self.add(index, FieldChange::Insert),
                (_, value) => {
                    self.add(index, FieldChange::Remove);
                    match value {
                        Value::Table(table) => self.inside(index, 0, table),
                        Value::Tables(tables) => {
                            self.lengths_of(index, tables.len());
                            for item in 0..tables.len() {
                                if let Some(table) = tables.get(item) {
                                    self.inside(index, item, table);
                                }
                            }
                        }
                        Value::Numbers(numbers) => self.list(index, description.kind, numbers),
                        _ => {}
                    }
                }
            }
        }
    }

    fn inside(&mut self, field: usize, item: usize, table: &dyn AnyTable) {
        self.steps.push((field, item));
        self.table(table);
        self.steps.pop();
    }

    fn lengths_of(&mut self, field: usize, length: usize) {
        for other in [0, length.saturating_sub(1), length + 1, length + 20] {
            self.add(field, FieldChange::Length(other));
        }
    }

    fn list(&mut self, field: usize, kind: FieldKind, numbers: AnyNumbers<'_>) {
        let FieldKind::Numbers { number, .. } = kind else { return };
        self.lengths_of(field, numbers.len());
        let last = numbers.len().saturating_sub(1);
        for item in (0..numbers.len()).filter(|item| *item < ITEMS || *item == last) {
            let before = numbers.get(item).map_or(0, |number| number.bits());
            for bits in self.numbers(number, before) {
                self.add(field, FieldChange::Item(item, bits));
            }
        }
    }

    /// Returns the values to which a number of that kind is changed.
    fn numbers(&self, kind: NumberKind, before: u64) -> Vec<u64> {
        let all = u64::MAX >> (64 - 8 * kind.size());
        let beside = [before.wrapping_add(1), before.wrapping_sub(1), before ^ 1 << (8 * kind.size() - 1)];
        let mut numbers: Vec<u64> = match kind {
            NumberKind::Bool => [0, 1].into(),
            // NaN, the infinities, the smallest positive number, the zeros, and large and small scales.
            NumberKind::F32 => {
                [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 1e30, 1e-30, f32::from_bits(1)]
                    .map(|number| number.to_bits().into())
                    .into()
            }
            // NaN, the infinities, the smallest positive number, the zeros.
            NumberKind::F64 => [0x7ff8 << 48, 0x7ff0 << 48, 0xfff0 << 48, 1, 1 << 63, 0].into(),
            _ => {
                let mut numbers = NUMBERS.to_vec();
                numbers.extend(beside);
                for length in &self.lengths {
                    numbers.extend([*length, length.wrapping_sub(1)]);
                }
                numbers.iter_mut().for_each(|bits| *bits &= all);
                numbers
            }
        };
        numbers.retain(|bits| *bits != before);
        set(numbers)
    }
}

/// The number of ways in which [`damage_word`] can change a word.
pub const WORD_DAMAGES: usize = 16;

/// Returns the file with the 4-byte word at `at` changed in one of [`WORD_DAMAGES`] ways, or `None` if that changes nothing or the
/// word is outside the file.
pub fn damage_word(file: &[u8], at: usize, way: usize) -> Option<Vec<u8>> {
    let before = u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?);
    let size = file.len() as u32;
    let word = match way {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4 => 0x7fff_ffff,
        5 => 0x8000_0000,
        6 => u32::MAX,
        7 => u32::MAX - 3,
        8 => before.wrapping_add(1),
        9 => before.wrapping_sub(1),
        10 => before.wrapping_add(4),
        11 => before.wrapping_sub(4),
        12 => size,
        13 => size.wrapping_sub(at as u32),
        14 => size.wrapping_sub(at as u32 + 4),
        _ => before.swap_bytes(),
    };
    let mut file = file.to_vec();
    file.get_mut(at..at + 4)?.copy_from_slice(&word.to_le_bytes());
    (word != before).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ScalarType;
    use crate::schema::program::{EValue, ExecutionPlan, Program, SubsegmentOffsets, Tensor};
    use alloc::vec;

    #[test]
    fn the_lengths_of_nested_lists_are_tried_as_numbers() {
        let values: Vec<EValue<'_>> = vec![Tensor::new(ScalarType::FLOAT, vec![1; 37]).into()];
        let plan = ExecutionPlan::new("forward", values, Vec::new(), Vec::new(), 0).with_inputs(vec![0; 53]);
        let constant_segment = Some(SubsegmentOffsets { segment_index: 0, offsets: Some(vec![0; 71].into()) });
        let program = Program { execution_plan: Some(vec![plan]), constant_segment, ..Program::default() };
        let mut lengths = Vec::new();
        find_lengths(&program, &mut lengths);
        // Lengths of numbers in the member of a union, in a table of a list, in a table, and of tables.
        assert!([37, 53, 71, 1].iter().all(|length| lengths.contains(length)), "{lengths:?}");
    }
}
