//! The wire format: FlatBuffers as bytes, without any particular schema.
//!
//! A table on its way from bytes to a struct, and back:
//!
//! 1. `table!` ([`macros`]) declares it: a struct whose fields are in the order of their ids.
//! 2. Each field's type says how it is stored ([`field`]): which parser reads it, how it is written. Numbers are
//!    stored inline ([`number`]); for strings ([`text`]), vectors and tables, the table holds an offset.
//! 3. Reading ([`read`]): a `Place` is a position in the buffer; `TableParser` finds the vtable of the table there,
//!    checks it once, and hands a `Table` to the parsers of the fields, one after the other.
//! 4. Writing ([`write`]): each field writes what it points to and adds its inline part to a `Row`, which the builder writes.
//!
//! Programs and `.ptd` files go that way: their tables are compiled. Tables of payloads, bundles and ETDumps are rarely many, so
//! they are read, checked and written by their descriptions instead: one walk, and one writer, for all of them (`described`).
//! Which way a schema goes is said by the `table!` that it imports: that of [`macros::hot`] or of [`macros::cold`].
//!
//! These work on tables of any type: [`description`] (names and types, as data), [`any`] (a struct's fields, one by one),
//! [`walk`] (the tables, vectors and strings of a FlatBuffer, as bytes).

/// The value of a `Result`; its error is returned, as it is or through a function. What `?` does, without the conversion of an error to
/// its own type, which would be most of the code of the functions that there are for each type of field.
macro_rules! tried {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
    ($result:expr, $error:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err($error(error)),
        }
    };
}
pub(crate) use tried;

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
