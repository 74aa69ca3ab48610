//! The wire: FlatBuffers as bytes. Knows no schema.
//!
//! A table on its way from bytes to a struct, and back:
//!
//! 1. `table!` ([`macros`]) states it once: a struct whose fields stand in the order of their ids.
//! 2. Each field's type says how it is stored ([`field`]): which parser reads it, how it is written. Numbers are
//!    stored inline ([`number`]); strings ([`text`]), vectors and tables behind an offset.
//! 3. Reading ([`read`]): a `Place` is a position in the buffer; `TableParser` finds the vtable of the table there,
//!    checks it once, and hands a `Table` to the parsers of the fields, one after the other.
//! 4. Writing ([`write`]): each field writes what it points to and adds its inline part to a `Row`; the builder
//!    lays the row out.
//!
//! What works on tables of any type: [`description`] (names and types, as data), [`any`] (a struct's fields, one by one),
//! [`walk`] (a table's bytes, one part after the other).

pub mod any;
pub mod description;
pub(crate) mod field;
pub(crate) mod form;
pub(crate) mod macros;
pub(crate) mod number;
pub(crate) mod read;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod unknown;
pub(crate) mod walk;
pub(crate) mod write;
