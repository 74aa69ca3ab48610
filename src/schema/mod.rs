//! The tree: a struct for every table and an enum for every union of the schemas, with the schema's own names.
//!
//! A table is stated once, as a struct inside `table!`: its fields in the order of their ids. From that come the
//! decoder, the encoder, and what else works field by field, so a new field is one line. Everything is public and
//! plain: build it, change it, compare it.
//!
//! What is absent in a file is `None`; a vector that is present and empty is `Some` of an empty one. Where that does not
//! matter, the accessor of the same name gives a slice or a `&str`, empty where the field is absent: `plan.values()`,
//! `operator.name()`. Strings and lists of numbers borrow from the input where they can.
//!
//! Some tables have names of Rust's prelude, `String` and `Option…` among them. Take the modules, not their content:
//!
//! ```
//! use executorch_format::schema::program::{self, ExecutionPlan, KernelTypes};
//!
//! fn strings<'t>(plan: &'t ExecutionPlan<'_>) -> Vec<&'t str> {
//!     let text = |value: &'t program::EValue<'_>| match &value.val {
//!         KernelTypes::String(string) => Some(string.string_val()),
//!         _ => None,
//!     };
//!     plan.values().iter().filter_map(text).collect()
//! }
//! ```

mod build;
pub mod flat_tensor;
pub mod program;
mod scalar_type;

pub use crate::flatbuffer::unknown::{Unknown, UnknownValue};
pub use crate::flatbuffer::{any, description};
pub use flat_tensor::FlatTensor;
pub use program::Program;
pub use scalar_type::ScalarType;

use crate::flatbuffer::macros::table;

table! {
    /// One data segment: where it is, relative to the segment base offset. Both schemas have this table.
    #[derive(Copy, Eq)]
    pub struct DataSegment {
        /// Bytes from the segment base offset.
        pub offset: u64,
        /// Bytes.
        pub size: u64,
    }
}
