//! The macros that declare a schema's types. They expand to the code that one would write by hand.
//!
//! | macro | declares | see |
//! |---|---|---|
//! | `table!` | a table: a struct whose fields are in the order of their ids | `table.rs`, with an expansion |
//! | `union!` | a union: an enum that lists each member with its tag | `union.rs` |
//! | `named!` | an enumeration: a number with names for some values | `named.rs` |
//!
//! There are two versions of `table!` and `union!` with the same syntax: those of [`hot`] compile a parser and a writer
//! for each table, those of [`cold`] do not.

mod accessors;
mod named;
mod table;
mod union;

pub(crate) use accessors::accessors;
pub(crate) use named::{name, named};
pub(crate) use table::{
    compiled, compiled_table, described, described_table, field_at, nested, nested_type, owned, table_type, wire,
};
pub(crate) use union::{compiled_union, described_union, from_members, union_type};

/// For schemas that are often read in large numbers: each table gets a parser and a writer of its own.
pub(crate) mod hot {
    pub(crate) use super::{compiled_table as table, compiled_union as union, named};
}

/// For all other schemas: tables are read and written by their descriptions, so that little is compiled for each.
pub(crate) mod cold {
    pub(crate) use super::{described_table as table, described_union as union, named};
}
