//! The tree: a struct for every table and an enum for every union of the schemas, with the schema's own names.
//!
//! All fields are public: the structs can be built, changed and compared directly. They are not `#[non_exhaustive]`,
//! and get a new field when ExecuTorch's schema does, in a minor release: if you write `..Default::default()` to build
//! one and `..` in patterns, your code still compiles. [`any`] has every table's fields by name, for code that works on
//! all of them.
//!
//! A field that is absent in a file is `None`; a vector that is present but empty is `Some`. If that difference does not matter,
//! use the accessor of the same name, which returns a slice or a `&str`, empty if the field is absent: `plan.values()`,
//! `operator.name()`. Strings and lists of numbers borrow from the input where possible.
//!
//! Some tables have names that Rust's prelude also has, such as `String`. So import the modules, not their contents:
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
#[cfg(feature = "devtools")]
pub mod bundled;
#[cfg(feature = "devtools")]
pub mod etdump;
pub mod flat_tensor;
pub mod program;
mod scalar_type;
#[cfg(feature = "payloads")]
pub mod vulkan;
#[cfg(feature = "payloads")]
pub mod xnnpack;

pub use crate::flatbuffer::unknown::{Unknown, UnknownValue};
pub use crate::flatbuffer::{any, description};
#[cfg(feature = "devtools")]
pub use bundled::BundledProgram;
#[cfg(feature = "devtools")]
pub use etdump::ETDump;
pub use flat_tensor::FlatTensor;
pub use program::Program;
pub use scalar_type::ScalarType;

use crate::flatbuffer::macros::hot::table;

table! {
    /// One data segment: where it is, relative to the segment base offset. Both schemas have this table.
    #[derive(Copy, Eq)]
    pub struct DataSegment {
        /// Bytes from the segment base offset.
        pub offset: u64,
        /// The size, in bytes.
        pub size: u64,
    }
}
