//! Any table of any schema, field by field, without knowing its type. Serialization, comparison, rules about every string and
//! the tests' damage generators use it. `table!` and `union!` implement it for each type.

use super::description::TableDescription;
#[cfg(feature = "verify")]
use super::description::{Content, FieldKind};
use super::field::Kind;
use super::text::Text;
use super::unknown::Unknown;
use crate::path::Path;
use core::fmt::{self, Debug};

macro_rules! each_kind {
    ($numbers:expr, $list:ident => $value:expr) => {
        match $numbers {
            AnyNumbers::Bool($list) => $value,
            AnyNumbers::I8($list) => $value,
            AnyNumbers::U8($list) => $value,
            AnyNumbers::I16($list) => $value,
            AnyNumbers::U16($list) => $value,
            AnyNumbers::I32($list) => $value,
            AnyNumbers::U32($list) => $value,
            AnyNumbers::I64($list) => $value,
            AnyNumbers::U64($list) => $value,
            AnyNumbers::F32($list) => $value,
            AnyNumbers::F64($list) => $value,
        }
    };
}

mod sealed {
    /// A supertrait that other crates cannot name, so that they cannot implement the traits below.
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;

/// A table of a schema: the types in [`schema`](crate::schema), and no others.
///
/// ```
/// use executorch_format::schema::any::{AnyTable, Value};
/// use executorch_format::schema::program::Operator;
///
/// let operator = Operator::new("aten::add", "out");
/// operator.for_each_field(&mut |name, value| {
///     if let Value::Text(text) = value {
///         println!("{name} = {text}");
///     }
/// });
/// ```
pub trait AnyTable: Debug + Sealed {
    /// Returns the schema's names and types of its fields.
    fn description(&self) -> &'static TableDescription;

    /// Calls `visit` with the name and the value of each field, in order.
    fn for_each_field<'t>(&'t self, visit: &mut dyn FnMut(&'static str, Value<'t>));

    /// Returns the field with that index in [`TableDescription::fields`].
    fn field(&self, index: usize) -> Option<&dyn AnyField>;

    /// Returns the field with that index, mutable.
    #[cfg(any(test, feature = "write"))]
    fn field_mut(&mut self, index: usize) -> Option<&mut dyn AnyField>;
}

/// Calls `visit` with each field of a table, in order.
pub(crate) fn fields<'t>(table: &'t dyn AnyTable, visit: &mut dyn FnMut(&'static str, Value<'t>)) {
    for (index, description) in table.description().fields.iter().enumerate() {
        if let Some(field) = table.field(index) {
            visit(description.name, field.value());
        }
    }
}

/// Returns `true` if two tables of one type would be written as the same bytes. Bitwise: unlike with `==`, a NaN is the same as itself,
/// and −0.0 is not the same as 0.0.
pub(crate) fn same<T: AnyTable>(left: &T, right: &T) -> bool {
    same_tables(left, right)
}

fn same_tables(left: &dyn AnyTable, right: &dyn AnyTable) -> bool {
    let mut index = 0;
    while let (Some(left), Some(right)) = (left.field(index), right.field(index)) {
        if !same_fields(left, right) {
            return false;
        }
        index += 1;
    }
    true
}

fn same_fields(left_field: &dyn AnyField, right_field: &dyn AnyField) -> bool {
    match (left_field.value(), right_field.value()) {
        (Value::Absent, Value::Absent) => true,
        (Value::Number(left), Value::Number(right))
        | (Value::Enum { number: left, .. }, Value::Enum { number: right, .. }) => left.bits() == right.bits(),
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Numbers(left), Value::Numbers(right)) => {
            let (left, right) = (left.as_bytes(), right.as_bytes());
            // The program in a bundle is as large as its file: bytes that were not changed are not compared.
            core::ptr::eq(left, right) || left == right
        }
        (Value::Table(left), Value::Table(right)) => same_tables(left, right),
        (Value::Tables(left), Value::Tables(right)) => {
            let mut index = 0;
            while let (Some(left), Some(right)) = (left.get(index), right.get(index)) {
                if !same_tables(left, right) {
                    return false;
                }
                index += 1;
            }
            left.len() == right.len()
        }
        (Value::Union { tag, member, .. }, Value::Union { tag: other_tag, member: other_member, .. }) => {
            tag == other_tag
                && match (member, other_member) {
                    (Some(left), Some(right)) => same_tables(left, right),
                    (None, None) => left_field.unknown() == right_field.unknown(),
                    _ => false,
                }
        }
        _ => false,
    }
}

/// Writes a table like `#[derive(Debug)]`, which would be a tenth of all code because it is compiled for each type.
pub(crate) fn debug(table: &dyn AnyTable, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let description = table.description();
    let mut shown = f.debug_struct(description.name);
    for (index, description) in description.fields.iter().enumerate() {
        if let Some(field) = table.field(index) {
            shown.field(description.name, &FieldDebug(field));
        }
    }
    shown.finish()
}

/// Does the same as [`debug`] for a field.
pub(crate) fn debug_field(field: &dyn AnyField, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let value = field.value();
    let some: &dyn Debug = match &value {
        Value::Absent => return f.write_str("None"),
        Value::Number(_) | Value::Enum { .. } => return field.debug_number(f),
        Value::Union { name, member, .. } => {
            return match (name, member, field.unknown()) {
                (Some(name), Some(member), _) => f.debug_tuple(name).field(member).finish(),
                (_, _, Some(unknown)) => f.debug_tuple("Unknown").field(&unknown).finish(),
                _ => f.write_str("None"),
            };
        }
        Value::Text(text) => text,
        Value::Numbers(numbers) => &NumbersDebug(*numbers),
        Value::Table(table) => table,
        Value::Tables(tables) => &TablesDebug(*tables),
    };
    f.debug_tuple("Some").field(some).finish()
}

struct FieldDebug<'t>(&'t dyn AnyField);

impl Debug for FieldDebug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        debug_field(self.0, f)
    }
}

struct NumbersDebug<'t>(AnyNumbers<'t>);

impl Debug for NumbersDebug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_list();
        // For each type of number, a third of what the slice's own `Debug` compiles to.
        each_kind!(self.0, list => for number in list {
            shown.entry(number);
        });
        shown.finish()
    }
}

struct TablesDebug<'t>(&'t dyn AnyTables);

impl Debug for TablesDebug<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for index in 0..self.0.len() {
            if let Some(table) = self.0.get(index) {
                list.entry(&table);
            }
        }
        list.finish()
    }
}

/// A field of a table.
pub trait AnyField: Sealed {
    /// Returns its value.
    fn value(&self) -> Value<'_>;

    /// Changes it. Returns `false`, and changes nothing, if the change does not fit the field.
    #[cfg(any(test, feature = "write"))]
    fn change(&mut self, change: FieldChange<'_>) -> bool;

    /// Returns the table in it, a union's member, or item `index` of a list of tables.
    #[cfg(any(test, feature = "write"))]
    fn table_mut(&mut self, index: usize) -> Option<&mut dyn AnyTable> {
        let _ = index;
        None
    }

    /// Returns the schema's names of the values of an enumeration.
    #[doc(hidden)]
    #[cfg(feature = "json")]
    fn names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Writes a number, or one that may be absent, as its type does.
    #[doc(hidden)]
    fn debug_number(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Returns the value of a union that the schema does not know.
    #[doc(hidden)]
    fn unknown(&self) -> Option<Unknown> {
        None
    }
}

/// The value of a field.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Value<'t> {
    /// Nothing: the field is absent.
    Absent,
    /// A number. One that is absent in the file has its default.
    Number(AnyNumber),
    /// A value of an enumeration.
    Enum {
        /// The schema's name, if it has one for this number.
        name: Option<&'static str>,
        /// The number.
        number: AnyNumber,
    },
    /// A string.
    Text(&'t Text<'t>),
    /// A list of numbers.
    Numbers(AnyNumbers<'t>),
    /// A table.
    Table(&'t dyn AnyTable),
    /// A list of tables.
    Tables(&'t dyn AnyTables),
    /// A union.
    Union {
        /// The schema's name of the member; `None` if it does not know the member.
        name: Option<&'static str>,
        /// Its tag; 0 if the union has no value.
        tag: u8,
        /// The member, if the schema knows it.
        member: Option<&'t dyn AnyTable>,
    },
}

/// A number of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AnyNumber {
    /// A bool.
    Bool(bool),
    /// A signed integer of any width.
    Signed(i64),
    /// An unsigned integer of any width.
    Unsigned(u64),
    /// A 32-bit float.
    Float(f32),
    /// A 64-bit float.
    Double(f64),
}

impl AnyNumber {
    /// Returns its bits: signed integers are sign-extended.
    pub fn bits(self) -> u64 {
        match self {
            Self::Bool(number) => number.into(),
            Self::Signed(number) => number as u64,
            Self::Unsigned(number) => number,
            Self::Float(number) => number.to_bits().into(),
            Self::Double(number) => number.to_bits(),
        }
    }
}

/// A list of numbers of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum AnyNumbers<'t> {
    Bool(&'t [bool]),
    I8(&'t [i8]),
    U8(&'t [u8]),
    I16(&'t [i16]),
    U16(&'t [u16]),
    I32(&'t [i32]),
    U32(&'t [u32]),
    I64(&'t [i64]),
    U64(&'t [u64]),
    F32(&'t [f32]),
    F64(&'t [f64]),
}

impl<'t> AnyNumbers<'t> {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        each_kind!(*self, list => list.len())
    }

    /// Returns `true` if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number with that index.
    pub fn get(&self, index: usize) -> Option<AnyNumber> {
        each_kind!(*self, list => list.get(index).map(|number| number.any()))
    }

    /// Returns the numbers in order.
    pub fn iter(self) -> impl Iterator<Item = AnyNumber> + 't {
        (0..self.len()).filter_map(move |index| self.get(index))
    }

    /// Returns the list as bytes, in this machine's byte order. If the list is borrowed from a file, so are the bytes.
    pub fn as_bytes(&self) -> &'t [u8] {
        each_kind!(*self, list => bytemuck::cast_slice(list))
    }
}

/// A list of tables.
pub trait AnyTables: Sealed {
    /// Returns the number of items.
    fn len(&self) -> usize;

    /// Returns `true` if the list is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the table with that index.
    fn get(&self, index: usize) -> Option<&dyn AnyTable>;
}

/// A change of a field.
#[cfg(any(test, feature = "write"))]
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FieldChange<'c> {
    /// Makes it absent; a number becomes 0.
    Remove,
    /// Makes it present: an absent string, list or table becomes an empty one.
    Insert,
    /// Sets a number to these bits; those beyond its size are ignored.
    Bits(u64),
    /// Sets an item of a list of numbers to these bits: its index, then the bits.
    Item(usize, u64),
    /// Sets the length of a list or string: truncates it, or appends zeros or empty tables.
    Length(usize),
    /// Sets a string to these bytes, or a value of an enumeration to the one that the schema calls so.
    Text(&'c [u8]),
    /// Sets a list of numbers to those in these bytes, as a file stores them.
    Bytes(&'c [u8]),
    /// Sets a union to an empty member with that tag.
    Tag(u8),
}

/// Calls `found` with the path of every string in a table and in all tables in it, but for those in lists of tables with the description
/// `but`.
#[cfg(feature = "verify")]
pub(crate) fn texts<'t>(
    table: &'t dyn AnyTable,
    but: Option<&'static TableDescription>,
    path: &Path<'_>,
    found: &mut dyn FnMut(&Path<'_>, &'t Text<'t>),
) {
    texts_of(table, table.description(), but, path, found);
}

/// Does the same as [`texts`] of a table with that description.
#[cfg(feature = "verify")]
fn texts_of<'t>(
    table: &'t dyn AnyTable,
    description: &TableDescription,
    but: Option<&'static TableDescription>,
    path: &Path<'_>,
    found: &mut dyn FnMut(&Path<'_>, &'t Text<'t>),
) {
    let mut left = description.content.texts;
    while left > 0 {
        let index = left.trailing_zeros() as usize;
        left &= left - 1;
        let (Some(field), Some(value)) = (description.fields.get(index), table.field(index)) else { break };
        let path = &path.field(field.name);
        match (value.value(), &field.kind) {
            (Value::Text(text), _) => found(path, text),
            (Value::Table(table), FieldKind::Table(inner)) => texts_of(table, inner, but, path, found),
            (Value::Tables(_), FieldKind::Tables(inner)) if but.is_some_and(|but| core::ptr::eq(but, *inner)) => {}
            (Value::Tables(tables), FieldKind::Tables(inner)) => {
                let mut index = 0;
                while let Some(table) = tables.get(index) {
                    texts_of(table, inner, but, &path.index(index), found);
                    index += 1;
                }
            }
            (Value::Union { name: Some(name), tag, member: Some(member) }, FieldKind::Union(union))
                if union.content.texts & Content::bit(tag) > 0 =>
            {
                texts_of(member, member.description(), but, &path.field(name), found);
            }
            _ => {}
        }
    }
}

/// Returns the maximum number of tables that a table may be: itself and all in it. Lists of tables that have no lists are counted by their length.
#[cfg(feature = "verify")]
pub(crate) fn most_tables(table: &dyn AnyTable) -> usize {
    let mut most = table.description().content.tables;
    for (index, field) in table.description().fields.iter().enumerate() {
        if !field.kind.content().lists {
            continue;
        }
        match table.field(index).map(AnyField::value) {
            // Counted already, without its lists.
            Some(Value::Table(table) | Value::Union { member: Some(table), .. }) => most += most_tables(table),
            Some(Value::Tables(tables)) => match tables.get(0).map(|first| first.description().content) {
                Some(content) if content.lists => {
                    for table in (0..tables.len()).filter_map(|index| tables.get(index)) {
                        most += most_tables(table);
                    }
                }
                Some(content) => most += tables.len() * content.tables,
                None => {}
            },
            _ => {}
        }
    }
    most
}

/// Counts the tables of a table: itself and all in it.
#[cfg(feature = "verify")]
pub(crate) fn tables(table: &dyn AnyTable) -> usize {
    tables_of(table, table.description())
}

/// Does the same as [`tables`] of a table with that description.
#[cfg(feature = "verify")]
fn tables_of(table: &dyn AnyTable, description: &TableDescription) -> usize {
    let mut all = 1;
    let mut left = description.content.parts;
    while left > 0 {
        let index = left.trailing_zeros() as usize;
        left &= left - 1;
        let (Some(field), Some(value)) = (description.fields.get(index), table.field(index)) else { break };
        all += match (value.value(), &field.kind) {
            (Value::Table(table), FieldKind::Table(inner)) => tables_of(table, inner),
            (Value::Tables(list), FieldKind::Tables(inner)) => match inner.content.parts {
                0 => list.len(),
                _ => (0..list.len()).filter_map(|index| list.get(index)).map(|table| tables_of(table, inner)).sum(),
            },
            (Value::Union { tag, member: Some(member), .. }, FieldKind::Union(union))
                if union.content.parts & Content::bit(tag) > 0 =>
            {
                tables_of(member, member.description())
            }
            (Value::Union { tag: 1.., .. }, _) => 1,
            _ => 0,
        };
    }
    all
}

/// Calls `visit` with the path and the value of every field of a table and of all tables in it, outer tables first.
/// Values live as long as the table.
///
/// ```
/// use executorch_format::schema::any::{Value, visit};
/// use executorch_format::{Path, Pte, Step};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let pte = Pte::parse(&file)?;
/// let mut names = Vec::new();
/// visit(&pte.program, &Path::ROOT, &mut |path, value| {
///     if let (Some(Step::Field("name")), Value::Text(name)) = (path.last(), value) {
///         names.push((path.index_in("operators"), name.as_str()));
///     }
/// });
/// assert_eq!(names, [(None, "forward"), (Some(0), "aten::mm"), (Some(1), "aten::add")]);
/// # Ok(())
/// # }
/// ```
pub fn visit<'t>(table: &'t dyn AnyTable, path: &Path<'_>, visit: &mut dyn FnMut(&Path<'_>, &Value<'t>)) {
    table.for_each_field(&mut |name, value| {
        let path = &path.field(name);
        visit(path, &value);
        match value {
            Value::Table(table) => self::visit(table, path, visit),
            Value::Tables(tables) => {
                for (index, table) in (0..tables.len()).filter_map(|index| Some((index, tables.get(index)?))) {
                    self::visit(table, &path.index(index), visit);
                }
            }
            Value::Union { name: Some(name), member: Some(member), .. } => {
                self::visit(member, &path.field(name), visit);
            }
            _ => {}
        }
    });
}

/// Calls `visit` with the path and every field of a table and of all tables in it, outer tables first. `visit` may change the field;
/// the tables that are then in it are visited.
///
/// ```
/// use executorch_format::schema::any::{FieldChange, Value, visit_mut};
/// use executorch_format::{Path, Pte, Step};
///
/// // Anonymize a program: methods, tensors and lines of source lose their names. Operators keep theirs.
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/stacktrace/stacktrace.pte")?;
/// let mut pte = Pte::parse(&file)?;
/// let mut count = 0;
/// visit_mut(&mut pte.program, &Path::ROOT, &mut |path, field| {
///     let is_of_operator = path.index_in("operators").is_some();
///     match (path.last(), field.value()) {
///         (Some(Step::Field("name" | "fully_qualified_name")), Value::Text(_)) if !is_of_operator => {
///             field.change(FieldChange::Text(format!("name{count}").as_bytes()));
///             count += 1;
///         }
///         (Some(Step::Field("stacktrace")), _) => drop(field.change(FieldChange::Remove)),
///         _ => {}
///     }
/// });
/// let anonymous = pte.image()?.to_vec()?;
/// assert_eq!(Pte::parse(&anonymous)?.methods()[0].name(), "name0");
/// # Ok(())
/// # }
/// ```
#[cfg(any(test, feature = "write"))]
pub fn visit_mut(table: &mut dyn AnyTable, path: &Path<'_>, visit: &mut dyn FnMut(&Path<'_>, &mut dyn AnyField)) {
    for (index, description) in table.description().fields.iter().enumerate() {
        let Some(field) = table.field_mut(index) else { continue };
        let path = &path.field(description.name);
        visit(path, field);
        let (is_list, member) = match field.value() {
            Value::Tables(_) => (true, None),
            Value::Union { name, .. } => (false, name),
            _ => (false, None),
        };
        let mut index = 0;
        while let Some(table) = field.table_mut(index) {
            match member {
                _ if is_list => visit_mut(table, &path.index(index), visit),
                Some(member) => visit_mut(table, &path.field(member), visit),
                None => visit_mut(table, path, visit),
            }
            if !is_list {
                break;
            }
            index += 1;
        }
    }
}
