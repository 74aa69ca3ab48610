//! Writing a table of any type by its description.

use super::{Builder, InlineFields, Position};
use crate::error::Result;
use crate::flatbuffer::any::{AnyField, AnyTable, Value};
use crate::flatbuffer::description::{FieldDescription, FieldKind};
use crate::flatbuffer::form::TableLayout;
use crate::flatbuffer::read::MAX_FIELDS;

/// Writes a table and everything that it points to.
pub(crate) fn described(table: &dyn AnyTable, builder: &mut Builder) -> Result<Position> {
    let description = table.description();
    let mut bits = [0; MAX_FIELDS];
    let mut row = InlineFields::new(&mut bits);
    for (index, description) in description.fields.iter().enumerate() {
        if let Some(field) = table.field(index) {
            write(field, description, builder, &mut row).map_err(|error| error.in_field(description.name))?;
        }
    }
    builder.table(TableLayout::of(description.forms), &row)
}

/// Writes what a field points to, and adds what is stored inline to the table's row.
fn write(
    field: &dyn AnyField,
    description: &FieldDescription,
    builder: &mut Builder,
    row: &mut InlineFields<'_, MAX_FIELDS>,
) -> Result<()> {
    let target = match field.value() {
        Value::Absent => None,
        Value::Number(number) | Value::Enum { number, .. } => {
            let size = match description.kind {
                FieldKind::Number(kind) => kind.size(),
                _ => 8,
            };
            let mask = u64::MAX >> (64 - 8 * size);
            let absent = description.absent.map(|absent| absent & mask);
            row.push(absent != Some(number.bits() & mask), number.bits());
            return Ok(());
        }
        Value::Text(text) => Some(builder.text(text.as_bytes())?),
        Value::Numbers(numbers) => {
            let alignment = match description.kind {
                FieldKind::Numbers { alignment, .. } => alignment,
                _ => 1,
            };
            let (position, room) = builder.vector(numbers.len(), numbers.as_bytes().len(), alignment as usize)?;
            numbers.put(room);
            Some(position)
        }
        Value::Table(table) => Some(described(table, builder)?),
        Value::Tables(tables) => {
            let base = builder.elements.len();
            for (index, table) in (0..tables.len()).filter_map(|index| Some((index, tables.get(index)?))) {
                let position = described(table, builder).map_err(|error| error.in_item(index))?;
                builder.elements.push(position);
            }
            Some(builder.list_since(base)?)
        }
        Value::Union { name, tag, member } => {
            let member = match (member, field.unknown()) {
                (Some(member), _) => {
                    Some(described(member, builder).map_err(|error| error.in_field(name.unwrap_or_default()))?)
                }
                (None, Some(unknown)) => unknown.encode(builder)?,
                (None, None) => None,
            };
            row.number(tag);
            member
        }
    };
    row.offset(target);
    Ok(())
}
