//! One error for all that can be wrong with a file: what, where, and what was expected.

use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};
use core::fmt;

/// The result of everything that reads or writes a file's bytes.
pub type Result<T> = core::result::Result<T, Error>;

/// What is wrong with a file, and where: the kind of fault, the byte offset from the start of the file, and the path
/// of the field in the schema's names (`execution_plan[0].values[12].val.Tensor.sizes`).
///
/// One word wide, so that a `Result` costs nothing to pass along.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    offset: Option<u64>,
    /// Innermost step first: steps are added while the error travels outwards, so that success pays nothing.
    path: Vec<Step>,
}

#[derive(Clone, PartialEq, Eq)]
enum Step {
    Field(&'static str),
    Index(usize),
}

/// The kinds of fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are some other kind of file, or none that is known.
    #[error("not a {expected} file: {found}")]
    Foreign {
        /// The file that was asked for: `.pte`, `.ptd` or either.
        expected: &'static str,
        /// What the bytes are instead.
        found: Cow<'static, str>,
    },
    /// The file ends before what it announces.
    #[error("truncated: {what} ends at byte {end}, but there are {available} bytes: {} are missing", end.saturating_sub(*available))]
    Truncated {
        /// What is cut off.
        what: &'static str,
        /// Where it should end, in bytes from the start of the file.
        end: u64,
        /// How many bytes there are.
        available: u64,
    },
    /// A field of the extended header contradicts the file or itself.
    #[error("bad extended header: {0}")]
    Header(Cow<'static, str>),
    /// An offset leads nowhere.
    #[error("bad offset: {0}")]
    Offset(Cow<'static, str>),
    /// A table's vtable is not one.
    #[error("bad vtable: {0}")]
    Vtable(Cow<'static, str>),
    /// A table or one of its inline fields leaves its place or is misaligned.
    #[error("bad table: {0}")]
    Table(Cow<'static, str>),
    /// A vector leaves the FlatBuffer or is misaligned.
    #[error("bad vector: {0}")]
    Vector(Cow<'static, str>),
    /// A string leaves the FlatBuffer, has no NUL behind it, or is not UTF-8.
    #[error("bad string: {0}")]
    Text(Cow<'static, str>),
    /// A union has a tag without a value, or a value without a tag.
    #[error("bad union: {0}")]
    Union(Cow<'static, str>),
    /// A bool is neither 0 nor 1.
    #[error("bad bool: found {0}, expected 0 or 1")]
    Bool(u8),
    /// The tables, vectors and strings visited are more than the limits allow: by default, more than a file of this
    /// size can hold, so parts of it must be shared many times over.
    #[error("over the limit of {limit} {what}: by default, as much as a file of this size holds without sharing")]
    Limit {
        /// `tables` or `bytes of tables, vectors and strings`.
        what: &'static str,
        /// The limit that was in force.
        limit: u64,
    },
    /// What a value refers to is not in the file.
    #[error("dangling reference: {0}")]
    Reference(Cow<'static, str>),
    /// The bytes asked for are not in memory: only part of the file was given.
    #[error("the bytes of segment {0} were not given: only part of the file was read")]
    Absent(u32),
    /// A tensor's type, sizes or bytes do not fit each other, or what the caller asked for.
    #[error("tensor: {0}")]
    Tensor(Cow<'static, str>),
    /// What was to be written cannot be, for the reason given.
    #[error("cannot be written: {0}")]
    Unwritable(Cow<'static, str>),
}

impl ErrorKind {
    /// A stable name for the rule that was broken, as `pte verify` reports it.
    pub fn rule(&self) -> &'static str {
        match self {
            Self::Foreign { .. } => "identifier",
            Self::Truncated { .. } => "truncated",
            Self::Header(_) => "extended-header",
            Self::Offset(_) => "offset",
            Self::Vtable(_) => "vtable",
            Self::Table(_) => "table",
            Self::Vector(_) => "vector",
            Self::Text(_) => "string",
            Self::Union(_) => "union",
            Self::Bool(_) => "bool",
            Self::Limit { .. } => "budget",
            Self::Reference(_) => "reference",
            Self::Absent(_) => "absent",
            Self::Tensor(_) => "tensor",
            Self::Unwritable(_) => "unwritable",
        }
    }
}

impl Error {
    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Where it is wrong, in bytes from the start of the file, if it is a matter of bytes.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The path of the field, in the schema's names: empty where the fault lies outside the FlatBuffer.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Field(name) if path.is_empty() => path.push_str(name),
                Step::Field(name) => {
                    path.push('.');
                    path.push_str(name);
                }
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None, path: Vec::new() }))
    }

    #[cold]
    pub(crate) fn at(offset: usize, kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: Some(offset as u64), path: Vec::new() }))
    }

    #[cold]
    pub(crate) fn unwritable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unwritable(reason.into()))
    }

    #[cold]
    pub(crate) fn in_field(mut self, name: &'static str) -> Self {
        self.0.path.push(Step::Field(name));
        self
    }

    #[cold]
    pub(crate) fn in_item(mut self, index: usize) -> Self {
        self.0.path.push(Step::Index(index));
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        match self.0.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("offset", &self.0.offset)
            .field("path", &self.path())
            .finish()
    }
}

impl core::error::Error for Error {}
