//! Descriptions of a schema's tables, as data: the names and types of fields, in order of their ids.
//!
//! `table!` and `union!` generate a description for each type, so that code which works on any table (checks of the wire
//! format, the tests' damage generators) needs no separate list of types.

use super::form::FieldForm;

/// A table: its name and its fields.
#[derive(Debug)]
#[non_exhaustive]
pub struct TableDescription {
    /// The schema's name.
    pub name: &'static str,
    /// Its fields, in order of their ids. A union takes two ids.
    pub fields: &'static [FieldDescription],
    /// How each field is stored inline, by id.
    pub(crate) forms: &'static [FieldForm],
    /// The size of its struct in memory, in bytes.
    pub(crate) memory: usize,
}

/// A field of a table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FieldDescription {
    /// The schema's name.
    pub name: &'static str,
    /// Its type.
    pub kind: FieldKind,
    /// The bits of a number that is written as absent; `None` for one that is always written if the tree has it.
    pub(crate) absent: Option<u64>,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum FieldKind {
    /// A number, inline.
    Number(NumberKind),
    /// A string.
    Text,
    /// A vector of numbers.
    Numbers {
        /// Their type.
        number: NumberKind,
        /// The alignment of the first one, in bytes: its own size, or the schema's `force_align`.
        alignment: u32,
    },
    /// A table.
    Table(&'static TableDescription),
    /// A vector of tables.
    Tables(&'static TableDescription),
    /// A union: a tag, and the table that the tag selects.
    Union(&'static UnionDescription),
}

/// A union: its name and its members.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnionDescription {
    /// The schema's name.
    pub name: &'static str,
    /// Its members, in order of their tags.
    pub members: &'static [MemberDescription],
}

/// A member of a union.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MemberDescription {
    /// Its tag.
    pub tag: u8,
    /// The schema's name of the member.
    pub name: &'static str,
    /// Its table.
    pub table: &'static TableDescription,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum NumberKind {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl NumberKind {
    /// Its size in bytes, which is also its alignment.
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

impl FieldDescription {
    pub(crate) const fn new(name: &'static str, kind: FieldKind, absent: Option<u64>) -> Self {
        Self { name, kind, absent }
    }

    /// How many ids it takes.
    pub fn ids(&self) -> usize {
        match self.kind {
            FieldKind::Union(_) => 2,
            _ => 1,
        }
    }
}

impl TableDescription {
    pub(crate) const fn new(
        name: &'static str,
        fields: &'static [FieldDescription],
        forms: &'static [FieldForm],
        memory: usize,
    ) -> Self {
        Self { name, fields, forms, memory }
    }

    /// Its fields, each with its index in `fields` and its first id.
    pub fn fields_by_id(&self) -> impl Iterator<Item = (usize, &'static FieldDescription)> {
        self.fields.iter().scan(0, |id, field| {
            let first = *id;
            *id += field.ids();
            Some((first, field))
        })
    }
}

impl UnionDescription {
    pub(crate) const fn new(name: &'static str, members: &'static [MemberDescription]) -> Self {
        Self { name, members }
    }

    /// The member with that tag.
    pub fn member(&self, tag: u8) -> Option<&'static MemberDescription> {
        self.members.iter().find(|member| member.tag == tag)
    }
}

impl MemberDescription {
    pub(crate) const fn new(tag: u8, name: &'static str, table: &'static TableDescription) -> Self {
        Self { tag, name, table }
    }
}
