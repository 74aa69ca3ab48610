//! The wire format: FlatBuffers as bytes, without any particular schema.
//!
//! A table on its way from bytes to a struct, and back:
//!
//! 1. `table!` ([`macros`]) declares it: a struct whose fields are in the order of their ids.
//! 2. Each field's type says how it is stored ([`field`]): which parser reads it, how it is written. Numbers are
//!    stored inline ([`number`]); for strings ([`text`]), vectors and tables, the table holds an offset.
//! 3. Reading ([`read`]): a `BufferPlace` is a position in the buffer; `TableParser` finds the vtable of the table there,
//!    checks it once, and hands a `Table` to the parsers of the fields, one after the other.
//! 4. Writing ([`write`]): each field writes what it points to and adds its inline part to a `InlineFields`, which the builder writes.
//!
//! The tables of programs and `.ptd` files are compiled like this. Tables of payloads, bundles and ETDumps are fewer,
//! so they are read, checked and written by their descriptions instead: by one walk and one writer for all
//! (`described`). A schema chooses by the `table!` that it imports: that of [`macros::hot`] or of [`macros::cold`].
//!
//! These work on tables of any type: [`description`] (names and types, as data), [`any`] (a struct's fields, one by one),
//! [`walk`] (the tables, vectors and strings of a FlatBuffer, as bytes).

/// Like `?`, without the conversion of the error, which would be most of the code of functions that are compiled for
/// each type of field. The error can be passed through a function.
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
