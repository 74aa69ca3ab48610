//! The crate's error type: what is wrong with a file, where, and what was expected.

use crate::path::{FieldPath, Step};
use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};
use core::fmt;

/// The result of reading or writing a file. With a second type parameter it is [`core::result::Result`], so it can be imported over that one.
pub type Result<T, E = Error> = core::result::Result<T, E>;

/// An error in a file: the kind of fault, the byte offset from the start of the file, and the path of the field in the schema's
/// names (`execution_plan[0].values[12].val.Tensor.sizes`).
///
/// One word wide, so that a `Result` is cheap to return.
///
/// ```
/// use executorch_format::{ErrorKind, Pte};
///
/// let mut file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// file.truncate(700);
/// let error = Pte::parse(&file).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Truncated { available: 700, .. }));
/// assert_eq!((error.kind().rule(), error.offset()), ("truncated", Some(700)));
///
/// let error = Pte::parse(&[0; 100]).unwrap_err();
/// assert!(error.to_string().starts_with("not a .pte file: "), "{error}");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// With the feature `serde`, it is serialized as its rule, message, path and offset. The message of an error of the operating system is part of
/// this error's own, so it has no [`source`](core::error::Error::source).
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    offset: Option<u64>,
    /// The innermost step is first. Steps are added only while an error is returned, so success costs nothing.
    path: Vec<Step>,
    #[cfg(feature = "std")]
    transfer_damage: Option<TransferDamage>,
}

/// The damage by a transfer is a guess about the whole file, which only some functions make, so it is not compared.
impl PartialEq for Inner {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.offset == other.offset && self.path == other.path
    }
}

impl Eq for Inner {}

/// A format of other files that programs treat in a way of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForeignFormat {
    /// Any other format.
    #[default]
    Other,
    /// A file of PyTorch's `torch.save`, which only Python can read.
    PyTorchCheckpoint,
}

/// The kinds of [`Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are another kind of file, or of an unknown kind.
    #[error("not a {expected} file: {found}")]
    Foreign {
        /// The kind of file that was expected, such as `.pte`.
        expected: &'static str,
        /// A description of the file that was found.
        found: Cow<'static, str>,
        /// Its format, if programs treat it in a way of its own.
        format: ForeignFormat,
    },
    /// The file is shorter than its header states.
    #[error("truncated: {}", self.detail())]
    Truncated {
        /// The part that is cut off.
        what: &'static str,
        /// The end of that part, in bytes from the start of the file.
        end: u64,
        /// The size of the file, in bytes.
        available: u64,
    },
    /// The extended header contradicts itself or the file.
    #[error("bad extended header: {0}")]
    Header(Cow<'static, str>),
    /// An offset is 0 or out of range.
    #[error("bad offset: {0}")]
    Offset(Cow<'static, str>),
    /// A vtable is out of range or has an odd size.
    #[error("bad vtable: {0}")]
    Vtable(Cow<'static, str>),
    /// A table or one of its inline fields is out of range or misaligned.
    #[error("bad table: {0}")]
    Table(Cow<'static, str>),
    /// A vector is out of range or misaligned.
    #[error("bad vector: {0}")]
    Vector(Cow<'static, str>),
    /// A string is not followed by a NUL.
    #[error("bad string: {0}")]
    Text(Cow<'static, str>),
    /// Reading visits more tables, vectors and strings than the limits allow. A file exceeds the default limits only if it refers to
    /// the same parts many times.
    #[error("over the limit of {limit} {what}: the file refers to the same parts many times, or the limit is too low")]
    Limit {
        /// `tables` or `bytes of tables, vectors and strings`.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A value refers to something outside the file.
    #[error("dangling reference: {0}")]
    Reference(Cow<'static, str>),
    /// The requested bytes are not in memory, because only part of the file was given.
    #[error("the bytes of segment {0} were not given: only part of the file was read")]
    Absent(u32),
    /// A tensor's type, sizes and bytes do not match each other or the caller's request.
    #[error("tensor: {0}")]
    Tensor(Cow<'static, str>),
    /// The file cannot be written, for the given reason.
    #[error("cannot be written: {0}")]
    Unwritable(Cow<'static, str>),
    /// A word is not a name of the expected type.
    #[error("{found:?} is not a {kind}, expected {expected}")]
    Word {
        /// The type, such as `ScalarType`.
        kind: &'static str,
        /// The word that was found.
        found: String,
        /// The accepted names.
        expected: String,
    },
    /// A file of another format is damaged.
    #[cfg(any(feature = "convert", feature = "json"))]
    #[error("bad {format}: {fault}")]
    Other {
        /// The format, such as `safetensors`.
        format: &'static str,
        /// The fault.
        fault: Cow<'static, str>,
    },
    /// The operating system failed to read or write.
    #[cfg(feature = "std")]
    #[error("{}{message}", file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default())]
    Io {
        /// The operating system's kind of error.
        kind: std::io::ErrorKind,
        /// The operating system's message.
        message: String,
        /// The operating system's code, if it is an error of the operating system itself.
        code: Option<i32>,
        /// The path of the file, if known.
        file: Option<std::path::PathBuf>,
    },
}

impl ErrorKind {
    /// Returns the kind for bytes of another kind of file, or of an unknown kind.
    pub(crate) fn foreign(expected: &'static str, found: impl Into<Cow<'static, str>>) -> Self {
        Self::Foreign { expected, found: found.into(), format: ForeignFormat::Other }
    }

    /// Returns the stable name of the broken rule, as `pte verify` reports it.
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
            Self::Limit { .. } => "limit",
            Self::Reference(_) => "reference",
            Self::Absent(_) => "absent",
            Self::Tensor(_) => "tensor",
            Self::Unwritable(_) => "unwritable",
            Self::Word { .. } => "word",
            #[cfg(any(feature = "convert", feature = "json"))]
            Self::Other { .. } => "other-format",
            #[cfg(feature = "std")]
            Self::Io { .. } => "io",
        }
    }
}

impl ErrorKind {
    /// Returns the message without the kind, for places that name the kind already.
    pub(crate) fn detail(&self) -> String {
        match self {
            Self::Truncated { what, end, available } => {
                let (bytes, missing) = (counted(*available, "byte"), counted(end.saturating_sub(*available), "byte"));
                format!("{what} should end at byte {end}, but the input has only {bytes} ({missing} missing)")
            }
            Self::Header(found)
            | Self::Offset(found)
            | Self::Vtable(found)
            | Self::Table(found)
            | Self::Vector(found)
            | Self::Text(found)
            | Self::Reference(found)
            | Self::Tensor(found)
            | Self::Unwritable(found) => found.clone().into_owned(),
            other => format!("{other}"),
        }
    }
}

/// Damage that a transfer of a file, or a tool on its way, has done. It explains why the file cannot be read.
///
/// ```
/// use executorch_format::{Model, TransferDamage};
///
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let error = Model::parse(&file[..700]).unwrap_err();
/// assert_eq!(error.transfer_damage(), Some(TransferDamage::Incomplete));
/// # Ok::<(), std::io::Error>(())
/// ```
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransferDamage {
    /// The end is missing.
    Incomplete,
    /// A carriage return was inserted before each line feed.
    LineEnds,
    /// The bytes were decoded as text and encoded as UTF-8, so that bytes above 127 are lost or became two or three.
    Decoded,
    /// All bytes are zero from byte `from` to the end of the metadata.
    Zeros {
        /// The offset of the first of them.
        from: u64,
    },
    /// The magic of an extended header was written over a program that has none.
    HeaderMagic,
}

/// Names the damage and what to do.
#[cfg(feature = "std")]
impl fmt::Display for TransferDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete => f.write_str("the file is incomplete: fetch it again, and compare its size"),
            Self::LineEnds => f.write_str(
                "every line feed follows a carriage return: a transfer as text has damaged the file; fetch it again as binary",
            ),
            Self::Decoded => f.write_str(
                "the file is valid UTF-8: it was decoded as text, and is damaged beyond repair; fetch it again as binary",
            ),
            Self::Zeros { from } => {
                write!(f, "all bytes from byte {from} on are zero: the file was not written to its end; fetch it again")
            }
            Self::HeaderMagic => f.write_str(
                "it is a program without an extended header, over which \"eh00\" was written: set bytes 8 to 11 to zero",
            ),
        }
    }
}

impl Error {
    /// Returns the kind of fault.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the position of the fault, in bytes from the start of the file, if it has one.
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// Returns the path of the field, in the schema's names. It is empty if the fault is outside the FlatBuffer.
    pub fn path(&self) -> FieldPath {
        self.0.path.iter().rev().copied().collect()
    }

    /// Returns the damage of a transfer that explains the error, if [`Model::parse`](crate::Model::parse) found one.
    #[cfg(feature = "std")]
    pub fn transfer_damage(&self) -> Option<TransferDamage> {
        self.0.transfer_damage
    }

    #[cfg(feature = "std")]
    #[cold]
    pub(crate) fn with_transfer_damage(mut self, damage: Option<TransferDamage>) -> Self {
        self.0.transfer_damage = damage;
        self
    }

    /// Returns the message without path and offset: the fault, and the damage that explains it.
    #[cfg(any(feature = "serde", feature = "verify"))]
    #[cold]
    pub(crate) fn message(&self) -> String {
        let detail = self.0.kind.detail();
        #[cfg(feature = "std")]
        if let Some(damage) = self.0.transfer_damage {
            return format!("{detail}: {damage}");
        }
        detail
    }

    #[cold]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner {
            kind,
            offset: None,
            path: Vec::new(),
            #[cfg(feature = "std")]
            transfer_damage: None,
        }))
    }

    #[cold]
    pub(crate) fn at(offset: usize, kind: ErrorKind) -> Self {
        let mut error = Self::new(kind);
        error.0.offset = Some(offset as u64);
        error
    }

    #[cold]
    pub(crate) fn unwritable(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unwritable(reason.into()))
    }

    #[cold]
    pub(crate) fn reference(found: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Reference(found.into()))
    }

    #[cold]
    pub(crate) fn tensor(found: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Tensor(found.into()))
    }

    /// Creates an error about a byte of a file in another format.
    #[cfg(any(feature = "convert", feature = "json"))]
    #[cold]
    pub(crate) fn other(format: &'static str, offset: usize, fault: impl Into<Cow<'static, str>>) -> Self {
        Self::at(offset, ErrorKind::Other { format, fault: fault.into() })
    }

    /// Returns the error for a fault in JSON at byte `start` of a file of another format.
    #[cfg(any(feature = "convert", feature = "json"))]
    #[cold]
    pub(crate) fn of_json(format: &'static str, text: &str, start: usize, error: &serde_json::Error) -> Self {
        let message = alloc::string::ToString::to_string(error);
        let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
        // Lines and columns count from 1.
        let (line, column) = (error.line().saturating_sub(1), error.column().saturating_sub(1));
        let lines = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
        Self::other(format, start + (lines + column).min(text.len()), String::from(message))
    }

    #[cold]
    pub(crate) fn word(kind: &'static str, found: &str, expected: &mut dyn Iterator<Item = &'static str>) -> Self {
        let mut names = String::new();
        for name in expected {
            if !names.is_empty() {
                names.push_str(", ");
            }
            names.push_str(name);
        }
        Self::not_a(kind, found, format!("a number or one of {names}"))
    }

    /// Creates an error about a word that does not match `expected`.
    #[cold]
    pub(crate) fn not_a(kind: &'static str, found: &str, expected: impl Into<String>) -> Self {
        Self::new(ErrorKind::Word { kind, found: found.into(), expected: expected.into() })
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

    /// Adds a path in front of the error's own.
    #[cfg(feature = "json")]
    #[cold]
    pub(crate) fn at_path(mut self, path: &crate::path::Path<'_>) -> Self {
        self.0.path.extend(path.steps_from_last());
        self
    }

    /// Converts the error of a file that is embedded at byte `start` of an outer file: its offset then counts from the start of the
    /// outer file. `in_field` and `in_item` add its path in the outer file's tree.
    #[cold]
    pub(crate) fn inside(mut self, start: u64) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset.saturating_add(start));
        self
    }

    /// Creates an error from an error of the operating system and the file concerned.
    #[cfg(feature = "std")]
    #[cold]
    pub(crate) fn io(error: std::io::Error, file: &std::path::Path) -> Self {
        Self::of_system(error, Some(file.into()))
    }

    #[cfg(feature = "std")]
    #[cold]
    fn of_system(error: std::io::Error, file: Option<std::path::PathBuf>) -> Self {
        let (kind, message) = (error.kind(), alloc::string::ToString::to_string(&error));
        Self::new(ErrorKind::Io { kind, message, code: error.raw_os_error(), file })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;

        let mut map = serializer.serialize_struct("Error", 4)?;
        map.serialize_field("rule", self.0.kind.rule())?;
        map.serialize_field("message", &self.message())?;
        map.serialize_field("path", &self.path())?;
        map.serialize_field("offset", &self.0.offset)?;
        map.end()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        if let Some(offset) = self.0.offset {
            write!(f, " (byte {offset})")?;
        }
        #[cfg(feature = "std")]
        if let Some(damage) = self.0.transfer_damage {
            write!(f, ": {damage}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("offset", &self.0.offset)
            .field("path", &format!("{}", self.path()))
            .finish()
    }
}

impl core::error::Error for Error {}

/// Formats a number with its noun: `1 byte`, `2 bytes`.
pub(crate) fn counted<N: fmt::Display + Copy + TryInto<u64>>(number: N, noun: &str) -> String {
    let plural = if number.try_into().is_ok_and(|number| number == 1) { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(feature = "std")]
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.downcast::<Error>() {
            Ok(ours) => ours,
            Err(error) => Self::of_system(error, None),
        }
    }
}

#[cfg(feature = "std")]
impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Io { kind, .. } => *kind,
            ErrorKind::Truncated { .. } => std::io::ErrorKind::UnexpectedEof,
            ErrorKind::Unwritable(_) => std::io::ErrorKind::InvalidInput,
            _ => std::io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
