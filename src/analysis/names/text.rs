//! The text of a name.

use crate::names::shortened;
use alloc::{string::String, sync::Arc};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// The text of a name: borrowed from a file, or composed once and shared by all answers that contain the name.
///
/// In JSON, a text of more than 1,000 characters is [`shortened`](crate::text::shortened), because many entries can share it.
#[derive(Clone)]
pub enum NameText<'t> {
    /// A name from a file.
    Borrowed(&'t str),
    /// A name that was composed, such as `convolution.3 weight`.
    Shared(Arc<str>),
}

impl NameText<'_> {
    /// Creates a composed name from a text that is needed again.
    pub(super) fn shared(text: &str) -> Self {
        Self::Shared(text.into())
    }
}

impl Deref for NameText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl<'t> From<&'t str> for NameText<'t> {
    fn from(text: &'t str) -> Self {
        Self::Borrowed(text)
    }
}

impl From<String> for NameText<'_> {
    fn from(text: String) -> Self {
        Self::Shared(text.into())
    }
}

impl fmt::Debug for NameText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for NameText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl PartialEq for NameText<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for NameText<'_> {}

impl PartialEq<str> for NameText<'_> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for NameText<'_> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialOrd for NameText<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NameText<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for NameText<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl serde::Serialize for NameText<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&shortened(self))
    }
}

crate::json_schema::json_schema_of_text!(NameText<'t>);
