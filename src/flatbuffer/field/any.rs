//! Fields inspected and changed without knowing their type.

use super::Kind;
use crate::flatbuffer::any::{AnyField, AnyTable, AnyTables, Change, Value};
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, boxed::Box, vec::Vec};

impl AnyField for Option<Text<'_>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, Value::Text)
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_default();
            }
            Change::Text(bytes) => *self = Some(Text::from_bytes(bytes.to_vec())),
            Change::Length(length) => {
                let mut bytes = self.take().unwrap_or_default().as_bytes().to_vec();
                bytes.resize(length, 0);
                *self = Some(Text::from_bytes(bytes));
            }
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        None
    }
}

impl<T: Kind> AnyField for Option<Cow<'_, [T]>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |numbers| Value::Numbers(T::any_list(numbers)))
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_with(|| Cow::Borrowed(&[]));
            }
            Change::Item(index, bits) => {
                let item = self.as_mut().and_then(|numbers| numbers.to_mut().get_mut(index));
                return item.map(|item| *item = T::from_bits(bits)).is_some();
            }
            Change::Length(length) => {
                self.get_or_insert_with(|| Cow::Borrowed(&[])).to_mut().resize(length, T::default());
            }
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        None
    }
}

impl<T: AnyTable> AnyTables for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&dyn AnyTable> {
        (**self).get(index).map(|table| table as &dyn AnyTable)
    }
}

impl<T: AnyTable + Default> AnyField for Option<Vec<T>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |tables| Value::Tables(tables))
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_default();
            }
            Change::Length(length) => self.get_or_insert_default().resize_with(length, T::default),
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, index: usize) -> Option<&mut dyn AnyTable> {
        self.as_mut()?.get_mut(index).map(|table| table as &mut dyn AnyTable)
    }
}

impl<T: AnyTable + Default> AnyField for Option<T> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |table| Value::Table(table))
    }

    fn change(&mut self, change: Change<'_>) -> bool {
        match change {
            Change::Remove => *self = None,
            Change::Insert => {
                self.get_or_insert_default();
            }
            _ => return false,
        }
        true
    }

    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        self.as_mut().map(|table| table as &mut dyn AnyTable)
    }
}

impl<T: AnyTable> AnyTable for Box<T> {
    fn description(&self) -> &'static TableDescription {
        (**self).description()
    }

    fn for_each_field<'t>(&'t self, visit: &mut dyn FnMut(&'static str, Value<'t>)) {
        (**self).for_each_field(visit)
    }

    fn field(&self, index: usize) -> Option<&dyn AnyField> {
        (**self).field(index)
    }

    fn field_mut(&mut self, index: usize) -> Option<&mut dyn AnyField> {
        (**self).field_mut(index)
    }
}
