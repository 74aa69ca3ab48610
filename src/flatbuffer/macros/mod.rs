//! The macros that declare a schema's types. They expand to the code that one would write by hand.
//!
//! | macro | declares | see |
//! |---|---|---|
//! | `table!` | a table: a struct whose fields are in the order of their ids | `table.rs`, with an expansion |
//! | `union!` | a union: an enum that lists each member with its tag | `union.rs` |
//! | `named!` | an enumeration: a number with names for some values | `named.rs` |

mod accessors;
mod named;
mod table;
mod union;

pub(crate) use accessors::accessors;
pub(crate) use named::{name, named};
pub(crate) use table::{field_at, nested, owned, table, table_type, wire};
pub(crate) use union::{from_members, union};
