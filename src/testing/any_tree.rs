//! Arbitrary trees: all fields of all tables get arbitrary values, based only on the schema's description.

use super::choices::Choices;
use crate::schema::any::{AnyTable, FieldChange};
use crate::schema::description::{FieldKind, NumberKind, TableDescription};
use crate::schema::flat_tensor::{FlatTensor, Legacy, LegacySchema};
use crate::schema::{DataSegment, Program};
use alloc::vec;

/// Fills a table and its descendants.
fn fill(table: &mut dyn AnyTable, choices: &mut Choices<'_>) {
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
                place.change(FieldChange::Bits(choices.below(2).into()));
            }
            FieldKind::Number(kind) => {
                place.change(FieldChange::Bits(choices.number(kind)));
            }
            FieldKind::Text => {
                place.change(FieldChange::Text(&choices.text()));
            }
            FieldKind::Numbers { number, .. } => {
                let length = choices.below(5).into();
                place.change(FieldChange::Length(length));
                for item in 0..length {
                    place.change(FieldChange::Item(item, choices.number(number)));
                }
            }
            FieldKind::Table(inner) => {
                place.change(FieldChange::Insert);
                if let Some(table) = place.table_mut(0) {
                    fill_table(table, inner, choices);
                }
            }
            FieldKind::Tables(inner) => {
                let length = choices.below(4).into();
                place.change(FieldChange::Length(length));
                for item in 0..length {
                    if let Some(table) = place.table_mut(item) {
                        fill_table(table, inner, choices);
                    }
                }
            }
            FieldKind::Union(union) => {
                // One more than the number of members, for an unknown member.
                let tag = choices.below(union.members.len() as u8 + 2);
                place.change(FieldChange::Tag(tag));
                if let (Some(member), Some(table)) = (union.member(tag), place.table_mut(0)) {
                    fill_table(table, member.table, choices);
                }
            }
        }
    }
}

/// Creates any program, valid or not, that can be written and is read back unchanged.
pub fn any_program(choices: &mut Choices<'_>) -> Program<'static> {
    let mut program = Program::default();
    fill(&mut program, choices);
    program
}

/// Creates any `.ptd` tree, valid or not, under any of the three schemas.
pub fn any_flat_tensor(choices: &mut Choices<'_>) -> FlatTensor<'static> {
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
