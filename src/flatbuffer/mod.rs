//! The wire: FlatBuffers as bytes. Knows no schema.
//!
//! [`read`] and [`write`] mirror each other; [`field`] ties both to the Rust types that a table's fields may have, so
//! that a table of the schema is stated once, as a struct (see `schema`).

pub(crate) mod field;
pub(crate) mod number;
pub(crate) mod read;
pub(crate) mod write;
