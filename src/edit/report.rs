//! Reports of edits, as plain data.

use crate::error::counted;
use crate::file::references::{DataList, DataUser};
use crate::names::shortened;
use alloc::{string::String, vec::Vec};
use core::fmt;

/// The changes that an edit made to a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EditReport {
    /// The changes, in the file's order. Empty if the file is unchanged.
    pub changes: Vec<Change>,
    /// Further remarks, one sentence each.
    pub notes: Vec<String>,
}

/// A change to a blob or another part of a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Change {
    /// The kind of change.
    pub action: Action,
    /// The kind of part.
    pub subject: Subject,
    /// The name or key after the change; empty if the part has none.
    pub name: String,
    /// All references to the part.
    pub users: Vec<User>,
    /// If the part was replaced, the users that shared its old bytes and keep them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<User>,
    /// The bytes that the part took in this file.
    pub size_before: u64,
    /// The bytes that the part takes in this file.
    pub size_after: u64,
}

impl Change {
    /// Creates a change of a part without references, with its bytes before and after.
    pub fn new(action: Action, subject: Subject, name: impl Into<String>, size_before: u64, size_after: u64) -> Self {
        Self { action, subject, name: name.into(), users: Vec::new(), others: Vec::new(), size_before, size_after }
    }
}

impl From<Vec<Change>> for EditReport {
    fn from(changes: Vec<Change>) -> Self {
        Self { changes, notes: Vec::new() }
    }
}

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Action {
    /// The part is new.
    Added,
    /// The part has other bytes.
    Replaced,
    /// The part was removed.
    Removed,
    /// The part was moved to a `.ptd`.
    Externalized,
    /// The part was moved from a `.ptd`.
    Internalized,
    /// The part now shares the equal bytes of another.
    Shared,
    /// The part has another name.
    Renamed,
    /// The part was copied into a file of its own.
    Extracted,
}

/// A kind of part that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Subject {
    /// A constant.
    Constant,
    /// The initial state of a mutable tensor.
    InitialState,
    /// A delegate's payload.
    Payload,
    /// A blob with a name.
    NamedData,
    /// A key of a `.ptd`.
    Key,
    /// A data segment.
    Segment,
    /// A method.
    Method,
    /// The stack traces of a method.
    StackTraces,
    /// The names of a method's tensors.
    Names,
    /// Bytes between blobs.
    Padding,
    /// The places of all parts, whose content is the same.
    Layout,
    /// The program in a bundle.
    Program,
    /// A test case of a bundle.
    TestCase,
}

/// A reference to a blob.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum User {
    /// A tensor.
    Value {
        /// The method's name, [`shortened`](crate::text::shortened).
        method: String,
        /// The index into the method's values.
        value: usize,
    },
    /// A delegate.
    Delegate {
        /// The method's name, [`shortened`](crate::text::shortened).
        method: String,
        /// The index into the method's delegates.
        delegate: usize,
    },
    /// A constant inside a delegate's payload.
    Constant {
        /// The method's name, [`shortened`](crate::text::shortened).
        method: String,
        /// The index into the method's delegates.
        delegate: usize,
        /// The index into the payload's values.
        constant: usize,
    },
    /// A name or key.
    Key {
        /// The name.
        key: String,
    },
}

impl From<DataList> for Subject {
    /// Returns the subject of the entries of a list.
    fn from(list: DataList) -> Self {
        match list {
            DataList::Constants => Self::Constant,
            DataList::InitialStates => Self::InitialState,
        }
    }
}

impl EditReport {
    /// Adds the replacement of a blob. `others` keep the old bytes.
    pub(super) fn add_replaced(
        &mut self,
        subject: Subject,
        name: &str,
        [users, others]: [Vec<User>; 2],
        bytes: [u64; 2],
    ) {
        self.add(Action::Replaced, subject, name, users, bytes);
        if let Some(change) = self.changes.last_mut() {
            change.others = others;
        }
    }

    /// Adds a change.
    pub(super) fn add(&mut self, action: Action, subject: Subject, name: &str, users: Vec<User>, bytes: [u64; 2]) {
        let [size_before, size_after] = bytes;
        let (name, others) = (name.into(), Vec::new());
        self.changes.push(Change { action, subject, name, users, others, size_before, size_after });
    }

    /// Returns the bytes of removed blobs less those of added blobs: negative if the file grew.
    pub fn bytes_saved(&self) -> i128 {
        self.changes.iter().map(|change| i128::from(change.size_before) - i128::from(change.size_after)).sum()
    }
}

impl User {
    /// Converts a reference in the tree.
    pub(super) fn of(user: &DataUser<'_>) -> Self {
        match *user {
            DataUser::Tensor { plan, value, .. } => Self::Value { method: shortened(plan.name()).into(), value },
            DataUser::Delegate { plan, index, .. } => {
                Self::Delegate { method: shortened(plan.name()).into(), delegate: index }
            }
            DataUser::NamedData { named, .. } => Self::Key { key: named.key().into() },
        }
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { method, value } => write!(f, "{method}:%{value}"),
            Self::Delegate { method, delegate } => write!(f, "{method} delegate {delegate}"),
            Self::Constant { method, delegate, constant } => {
                write!(f, "{method} delegate {delegate} value {constant}")
            }
            Self::Key { key } => write!(f, "key {key}"),
        }
    }
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::Removed => "removed",
            Self::Externalized => "externalized",
            Self::Internalized => "internalized",
            Self::Shared => "shared",
            Self::Renamed => "renamed",
            Self::Extracted => "extracted",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Constant => "constant",
            Self::InitialState => "initial state",
            Self::Payload => "payload",
            Self::NamedData => "named data",
            Self::Key => "key",
            Self::Segment => "segment",
            Self::Method => "method",
            Self::StackTraces => "stack traces",
            Self::Names => "names",
            Self::Padding => "padding",
            Self::Layout => "layout",
            Self::Program => "program",
            Self::TestCase => "test case",
        })
    }
}

/// Formats the change as in `moved constant layer.weight (forward:%12) to a .ptd file: 64 bytes`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most users that keep the old bytes to name.
        const MAX_SHOWN: usize = 10;
        let Self { action, subject, name, users, others, size_before, size_after } = self;
        let (action, place) = match action {
            Action::Externalized => ("moved", " to a .ptd file"),
            Action::Internalized => ("moved", " from a .ptd file"),
            other => (other.name(), ""),
        };
        write!(f, "{action} {subject}")?;
        if !name.is_empty() {
            write!(f, " {name}")?;
        }
        for (index, user) in users.iter().enumerate() {
            write!(f, "{}{user}", if index == 0 { " (" } else { ", " })?;
        }
        f.write_str(if users.is_empty() { "" } else { ")" })?;
        f.write_str(place)?;
        match (*size_before, *size_after) {
            (0, 0) => {}
            (size, 0) | (0, size) => write!(f, ": {}", counted(size, "byte"))?,
            (before, after) if before == after => write!(f, ": {}", counted(before, "byte"))?,
            (before, after) => write!(f, ": {before} bytes to {after}")?,
        }
        for (index, user) in others.iter().take(MAX_SHOWN).enumerate() {
            write!(f, "{}{user}", if index == 0 { "; " } else { ", " })?;
        }
        match others.len() {
            0 => Ok(()),
            1 => f.write_str(" shared the old bytes and keeps them"),
            count if count > MAX_SHOWN => {
                write!(f, " and {} more shared the old bytes and keep them", count - MAX_SHOWN)
            }
            _ => f.write_str(" shared the old bytes and keep them"),
        }
    }
}
