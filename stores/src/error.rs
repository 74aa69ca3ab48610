//! Errors of files in stores.

use std::fmt;

/// The result of an operation on a file in a store.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The argument is not the URL of a file in a known kind of store.
    Url(String),
    /// The file does not exist.
    Missing,
    /// The credentials do not permit reading it.
    Denied(String),
    /// The file changed after its first bytes were read.
    Changed,
    /// The server does not support range requests.
    NoRanges,
    /// The server's response differs from its own description.
    Untrue(String),
    /// The file is too large to be read.
    TooLarge(String),
    /// Any other failure: an unreachable server, or a disk.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Denied(found) => write!(f, "access denied: {found}"),
            Self::Changed => f.write_str("the file changed while it was being read: try again"),
            Self::NoRanges => f.write_str("the server does not support range requests: download the file first"),
            Self::Url(found) | Self::Untrue(found) | Self::TooLarge(found) | Self::Failed(found) => f.write_str(found),
        }
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::Missing,
            std::io::ErrorKind::PermissionDenied => Self::Denied(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// The reason why the HTTP client did not send a request or rejected a response.
#[derive(Clone, Debug)]
pub(crate) struct Refusal(pub String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl From<object_store::Error> for Error {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as Store;
        if let Some(Refusal(refusal)) = source(&error) {
            return Self::Failed(refusal.clone());
        }
        match error {
            Store::NotFound { .. } => Self::Missing,
            Store::Precondition { .. } | Store::NotModified { .. } => Self::Changed,
            Store::PermissionDenied { source, .. } | Store::Unauthenticated { source, .. } => {
                Self::Denied(chain(&*source))
            }
            Store::Generic { source, .. } | Store::NotSupported { source } => {
                let text = chain(&*source);
                let no_ranges = text.contains("non-partial response") || text.contains("Range request not supported");
                if no_ranges { Self::NoRanges } else { Self::Failed(text) }
            }
            other => Self::Failed(chain(&other)),
        }
    }
}

/// Returns the source of an error that has this type.
pub(crate) fn source<'e, E: std::error::Error + 'static>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e E> {
    std::iter::successors(Some(error), |error| error.source()).find_map(|error| error.downcast_ref())
}

/// The maximum number of characters in a message, which may contain a server's response.
const MAX_MESSAGE: usize = 1000;

/// Formats an error with its sources, except those that repeat it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let reason = source.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        next = source.source();
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}…", text.split_at(end).0),
        None => text,
    }
}
