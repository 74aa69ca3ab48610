//! The macros that state a schema's types once. They write nothing but what one would write by hand.
//!
//! | macro | states | see |
//! |---|---|---|
//! | `table!` | a table: a struct whose fields stand in the order of their ids | `table.rs`, with an expansion |
//! | `union!` | a union: an enum whose members stand with their tags | `union.rs` |
//! | `named!` | an enumeration: a number with names for some values | `named.rs` |

mod accessors;
mod named;
mod table;
mod union;

pub(crate) use accessors::accessors;
pub(crate) use named::named;
pub(crate) use table::{nested, nested_type, owned, table, table_type, wire};
pub(crate) use union::{from_members, union};
