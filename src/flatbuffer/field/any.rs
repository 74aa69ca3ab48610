//! Fields inspected and changed without knowing their type.

use super::Kind;
#[cfg(any(test, feature = "write"))]
use crate::flatbuffer::any::FieldChange;
use crate::flatbuffer::any::{AnyField, AnyTable, AnyTables, Sealed, Value};
use crate::flatbuffer::description::TableDescription;
use crate::flatbuffer::text::Text;
use alloc::{borrow::Cow, boxed::Box, vec::Vec};

impl AnyField for Option<Text<'_>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, Value::Text)
    }

    #[cfg(any(test, feature = "write"))]
    fn change(&mut self, change: FieldChange<'_>) -> bool {
        match change {
            FieldChange::Remove => *self = None,
            FieldChange::Insert => {
                self.get_or_insert_default();
            }
            FieldChange::Text(bytes) => *self = Some(Text::from_bytes(bytes.to_vec())),
            FieldChange::Length(length) => {
                let mut bytes = self.take().unwrap_or_default().as_bytes().to_vec();
                bytes.resize(length, 0);
                *self = Some(Text::from_bytes(bytes));
            }
            _ => return false,
        }
        true
    }
}

impl<T: Kind> AnyField for Option<Cow<'_, [T]>> {
    fn value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Absent, |numbers| Value::Numbers(T::any_list(numbers)))
    }

    #[cfg(any(test, feature = "write"))]
    fn change(&mut self, change: FieldChange<'_>) -> bool {
        match change {
            FieldChange::Remove => *self = None,
            FieldChange::Insert => {
                self.get_or_insert_with(|| Cow::Borrowed(&[]));
            }
            FieldChange::Item(index, bits) => {
                let item = self.as_mut().and_then(|numbers| numbers.to_mut().get_mut(index));
                return item.map(|item| *item = T::from_bits(bits)).is_some();
            }
            FieldChange::Length(length) => {
                self.get_or_insert_with(|| Cow::Borrowed(&[])).to_mut().resize(length, T::default());
            }
            FieldChange::Bytes(bytes) if bytes.len() % T::SIZE == 0 => {
                *self = Some(Cow::Owned(T::slice(bytes).into_owned()));
            }
            _ => return false,
        }
        true
    }
}

impl<T> Sealed for Option<T> {}

impl<T> Sealed for Vec<T> {}

impl<T: AnyTable> AnyTables for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn get(&self, index: usize) -> Option<&dyn AnyTable> {
        match (**self).get(index) {
            Some(table) => Some(table),
            None => None,
        }
    }
}

impl<T: AnyTable + Default> AnyField for Option<Vec<T>> {
    fn value(&self) -> Value<'_> {
        match self {
            Some(tables) => Value::Tables(tables),
            None => Value::Absent,
        }
    }

    #[cfg(any(test, feature = "write"))]
    fn change(&mut self, change: FieldChange<'_>) -> bool {
        match change {
            FieldChange::Remove => *self = None,
            FieldChange::Insert | FieldChange::Length(_) => {
                let mut tables = self.take().unwrap_or_default();
                if let FieldChange::Length(length) = change {
                    tables.truncate(length);
                    while tables.len() < length {
                        tables.push(T::default());
                    }
                }
                *self = Some(tables);
            }
            _ => return false,
        }
        true
    }

    #[cfg(any(test, feature = "write"))]
    fn table_mut(&mut self, index: usize) -> Option<&mut dyn AnyTable> {
        match self.as_mut()?.get_mut(index) {
            Some(table) => Some(table),
            None => None,
        }
    }
}

impl<T: AnyTable + Default> AnyField for Option<T> {
    fn value(&self) -> Value<'_> {
        match self {
            Some(table) => Value::Table(table),
            None => Value::Absent,
        }
    }

    #[cfg(any(test, feature = "write"))]
    fn change(&mut self, change: FieldChange<'_>) -> bool {
        match change {
            FieldChange::Remove => *self = None,
            FieldChange::Insert => *self = Some(self.take().unwrap_or_default()),
            _ => return false,
        }
        true
    }

    #[cfg(any(test, feature = "write"))]
    fn table_mut(&mut self, _: usize) -> Option<&mut dyn AnyTable> {
        match self {
            Some(table) => Some(table),
            None => None,
        }
    }
}

impl<T: Sealed> Sealed for Box<T> {}

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

    #[cfg(any(test, feature = "write"))]
    fn field_mut(&mut self, index: usize) -> Option<&mut dyn AnyField> {
        (**self).field_mut(index)
    }
}
