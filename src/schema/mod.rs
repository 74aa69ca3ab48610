//! The tree: a struct for every table and an enum for every union of the schemas, with the schemas' own names.
//!
//! All fields are public: the structs can be built, changed and compared directly. They are not `#[non_exhaustive]`, but get a new
//! field in a minor release when ExecuTorch's schema does. Code with `..Default::default()` in struct expressions and `..` in patterns
//! still compiles then. The module [`any`] gives access to every table's fields by name, for code that works on all tables.
//!
//! A field that is absent in a file is `None`; a vector that is present but empty is `Some`. If the difference does not matter, use
//! the accessor of the same name, such as `plan.values()` or `operator.name()`. It returns a slice or a `&str`, which is empty if the
//! field is absent. Strings and lists of numbers borrow from the input where possible.
//!
//! Some tables, such as `String`, have names that Rust's prelude also has. Import the modules, not their contents:
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
pub mod bundled;
pub mod etdump;
pub mod flat_tensor;
pub mod program;
#[cfg(feature = "inspect")]
#[expect(dead_code, reason = "fields are decoded in order, also those that nothing asks for")]
pub(crate) mod qnn;
mod scalar_type;
pub mod scalars;
#[cfg(feature = "verify")]
pub mod vulkan;
#[cfg(feature = "verify")]
pub mod xnnpack;

pub use crate::flatbuffer::unknown::{Unknown, UnknownValue};
pub use crate::flatbuffer::{any, description};
pub use bundled::BundledProgram;
pub use etdump::ETDump;
pub use flat_tensor::FlatTensor;
pub use program::Program;
pub use scalar_type::ScalarType;

use crate::flatbuffer::macros::table;

table! {
    /// A data segment: its place, relative to the segment base offset. The schemas of `.pte` and `.ptd` share this table.
    #[derive(Copy, Eq)]
    pub struct DataSegment {
        /// The offset from the segment base offset, in bytes.
        pub offset: u64,
        /// The size, in bytes.
        pub size: u64,
    }
}
