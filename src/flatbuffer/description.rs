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
    /// The inline form of each field, by id.
    pub(crate) forms: &'static [FieldForm],
    /// A summary of its fields, and of those of the tables in it.
    pub(crate) content: Content,
}

/// A summary of the fields of a table and of the tables in it, so that a walk can skip tables without the fields that it looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Content {
    /// The fields that are strings or have any in them, as bits: by index in a table, by [`bit`](Self::bit) in a union.
    pub(crate) texts: u32,
    /// The fields that are tables or lists of them, in the same way; the members of a union that have such fields.
    pub(crate) parts: u32,
    /// `true` if any field of the table itself is a bool.
    pub(crate) bools: bool,
    /// `true` if any field is a list of tables.
    pub(crate) lists: bool,
    /// The most tables that it may be without those in lists: itself, and those that its fields point to.
    pub(crate) tables: usize,
}

impl Content {
    /// Nothing.
    const NONE: Self = Self { texts: 0, parts: 0, bools: false, lists: false, tables: 0 };

    /// Returns the bit of a union's member; those with high tags share bits.
    pub(crate) const fn bit(tag: u8) -> u32 {
        1u32.rotate_left(tag as u32)
    }

    const fn of_table(mut fields: &[FieldDescription]) -> Self {
        let mut content = Self { tables: 1, ..Self::NONE };
        let mut bit = 1u32;
        while let [field, rest @ ..] = fields {
            let inner = field.kind.content();
            content.bools |= matches!(field.kind, FieldKind::Number(NumberKind::Bool));
            if inner.texts > 0 {
                content.texts |= bit;
            }
            if inner.tables > 0 || inner.lists {
                content.parts |= bit;
            }
            content.lists |= inner.lists;
            content.tables += inner.tables;
            // No table has more fields than there are bits.
            bit = bit.wrapping_shl(1);
            fields = rest;
        }
        content
    }

    const fn of_union(mut members: &[MemberDescription]) -> Self {
        let mut content = Self::NONE;
        while let [member, rest @ ..] = members {
            let inner = member.table.content;
            if inner.texts > 0 {
                content.texts |= Self::bit(member.tag);
            }
            if inner.parts > 0 {
                content.parts |= Self::bit(member.tag);
            }
            content.lists |= inner.lists;
            if inner.tables > content.tables {
                content.tables = inner.tables;
            }
            members = rest;
        }
        content
    }
}

/// A field of a table.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FieldDescription {
    /// The schema's name.
    pub name: &'static str,
    /// Its type.
    pub kind: FieldKind,
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

impl FieldKind {
    /// Summarizes a field of this kind.
    pub(crate) const fn content(&self) -> Content {
        match self {
            Self::Number(_) | Self::Numbers { .. } => Content::NONE,
            Self::Text => Content { texts: 1, ..Content::NONE },
            Self::Table(table) => table.content,
            Self::Tables(table) => Content { lists: true, tables: 0, ..table.content },
            Self::Union(union) => union.content,
        }
    }
}

/// A union: its name and its members.
#[derive(Debug)]
#[non_exhaustive]
pub struct UnionDescription {
    /// The schema's name.
    pub name: &'static str,
    /// Its members, in order of their tags.
    pub members: &'static [MemberDescription],
    /// A summary of its members.
    pub(crate) content: Content,
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
    /// Returns its size in bytes, which is also its alignment.
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
    pub(crate) const fn new(name: &'static str, kind: FieldKind) -> Self {
        Self { name, kind }
    }

    /// Returns the number of ids that it takes.
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
    ) -> Self {
        Self { name, fields, forms, content: Content::of_table(fields) }
    }

    /// Returns its fields, each with its index in `fields` and its first id.
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
        Self { name, members, content: Content::of_union(members) }
    }

    /// Returns the member with that tag.
    pub fn member(&self, tag: u8) -> Option<&'static MemberDescription> {
        self.members.iter().find(|member| member.tag == tag)
    }
}

impl MemberDescription {
    pub(crate) const fn new(tag: u8, name: &'static str, table: &'static TableDescription) -> Self {
        Self { tag, name, table }
    }
}
