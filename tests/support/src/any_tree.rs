//! Arbitrary trees: the fields of all tables are filled with arbitrary values, from the schema's description alone.

use executorch_format::schema::any::{AnyTable, Change};
use executorch_format::schema::description::{FieldKind, NumberKind, TableDescription};
use executorch_format::schema::flat_tensor::{FlatTensor, Legacy, LegacySchema};
use executorch_format::schema::{DataSegment, Program};

/// A source of choices: bytes from a fuzzer or a proptest strategy. When they are used up, all further fields are absent.
pub struct Choices<'b> {
    bytes: &'b [u8],
}

impl<'b> Choices<'b> {
    /// Choices from these bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    /// A number, often one at the limits of its type.
    fn number(&mut self, kind: NumberKind) -> u64 {
        let bits = 8 * kind.size() as u32;
        let all = u64::MAX >> (64 - bits);
        let sign = 1 << (bits - 1);
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => all,
            3 => sign,
            4 => sign - 1,
            5 => u64::from(self.byte()),
            // Infinity and not-a-number for floats of either width.
            6 if kind == NumberKind::F32 => 0x7f80_0000 | u64::from(self.byte()) << 8,
            6 if kind == NumberKind::F64 => 0x7ff0_0000_0000_0000 | u64::from(self.byte()) << 40,
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())) & all,
        }
    }

    fn text(&mut self) -> Vec<u8> {
        match self.below(6) {
            0 => Vec::new(),
            1 => b"forward".to_vec(),
            2 => "é語🦀\n\"\\".as_bytes().to_vec(),
            3 => b"nul\0inside".to_vec(),
            4 => b"not utf-8 \xff\xc0".to_vec(),
            _ => (0..self.below(12)).map(|_| self.byte()).collect(),
        }
    }
}

/// Fills a table and all tables in it.
pub fn fill(table: &mut dyn AnyTable, choices: &mut Choices<'_>) {
    let description = table.description();
    fill_table(table, description, choices);
}

fn fill_table(table: &mut dyn AnyTable, description: &TableDescription, choices: &mut Choices<'_>) {
    for (index, field) in description.fields.iter().enumerate() {
        let Some(place) = table.field_mut(index) else { continue };
        if choices.below(5) == 0 {
            continue;
        }
        match field.kind {
            FieldKind::Number(NumberKind::Bool) => {
                place.change(Change::Bits(choices.below(2).into()));
            }
            FieldKind::Number(kind) => {
                place.change(Change::Bits(choices.number(kind)));
            }
            FieldKind::Text => {
                place.change(Change::Text(&choices.text()));
            }
            FieldKind::Numbers { number, .. } => {
                let length = choices.below(5).into();
                place.change(Change::Length(length));
                for item in 0..length {
                    place.change(Change::Item(item, choices.number(number)));
                }
            }
            FieldKind::Table(inner) => {
                place.change(Change::Insert);
                place.table_mut(0).into_iter().for_each(|table| fill_table(table, inner, choices));
            }
            FieldKind::Tables(inner) => {
                let length = choices.below(4).into();
                place.change(Change::Length(length));
                for item in 0..length {
                    place.table_mut(item).into_iter().for_each(|table| fill_table(table, inner, choices));
                }
            }
            FieldKind::Union(union) => {
                // One more than there are: an unknown member.
                let tag = choices.below(union.members.len() as u8 + 2);
                place.change(Change::Tag(tag));
                if let (Some(member), Some(table)) = (union.member(tag), place.table_mut(0)) {
                    fill_table(table, member.table, choices);
                }
            }
            _ => {}
        }
    }
}

/// An arbitrary program.
pub fn program(choices: &mut Choices<'_>) -> Program<'static> {
    let mut program = Program::default();
    fill(&mut program, choices);
    program
}

/// Arbitrary keys, under any of the three schemas.
pub fn flat_tensor(choices: &mut Choices<'_>) -> FlatTensor<'static> {
    let legacy = (choices.below(3) == 0).then(Legacy::default);
    let mut flat_tensor = FlatTensor { legacy, ..FlatTensor::default() };
    fill(&mut flat_tensor, choices);
    let FlatTensor { segments, named_data, legacy: Some(legacy), .. } = &mut flat_tensor else {
        return flat_tensor;
    };
    // The fields that distinguish the schemas have to match.
    segments.get_or_insert_with(|| vec![DataSegment::default()]);
    legacy.schema = if named_data.is_some() { LegacySchema::V0_6 } else { LegacySchema::V0_5 };
    flat_tensor
}
