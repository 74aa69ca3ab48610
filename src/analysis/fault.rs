//! Dangling references in a tree.

use crate::error::Error;
use crate::path::FieldPath;
use core::fmt;

/// A dangling reference in the tree: the field that refers to data, and the reason why the data cannot be found.
/// Serialized as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The field that refers to the data.
    pub path: FieldPath,
    /// The reason why the data cannot be found.
    pub error: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.error)
    }
}

impl serde::Serialize for Fault {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

crate::json_schema::json_schema_of_text!(Fault);
