//! The wire format: FlatBuffers as bytes, without any particular schema.
//!
//! A table on its way from bytes to a struct, and back:
//!
//! 1. `table!` ([`macros`]) declares it: a struct whose fields are in the order of their ids. `macros/table.rs` shows the
//!    code that it expands to.
//! 2. The type of a field states its storage ([`field`]): the nom parser that reads it and the function that writes it.
//!    Numbers are stored inline ([`number`]); for strings ([`text`]), vectors and tables, the table holds an offset.
//! 3. Reading ([`read`]): a `BufferPlace` is a position in the buffer; `TableParser` finds the vtable of the table there,
//!    checks it once, and hands a `Table` to the parsers of the fields, one after the other.
//! 4. Writing ([`write`]): each field writes what it points to and adds its inline part to `InlineFields`, which the
//!    builder writes as the table.
//!
//! Functions that are inlined into the code of each table are calls in WebAssembly, where a small download counts more than speed: the
//! module of the page was 446,848 bytes instead of 460,646 when this was measured.
//!
//! These work on tables of any type: [`description`] (names and types, as data), [`any`] (a struct's fields, one by one),
//! [`walk`] (the tables, vectors and strings of a FlatBuffer, as bytes).

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
