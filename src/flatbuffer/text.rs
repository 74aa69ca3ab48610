//! Strings of a file: UTF-8, or other bytes, which are kept as they are.

use alloc::{borrow::Cow, boxed::Box, string::String};
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// A string of a file. It dereferences to `str`.
///
/// The format says UTF-8, but the official C++ reader does not check it. If a string is not UTF-8, the `str` is its lossy form
/// (`U+FFFD` in place of invalid bytes). [`as_bytes`](Self::as_bytes) gives the original bytes, which are also what is compared and
/// written. [`is_utf8`](Self::is_utf8) says whether they are UTF-8.
///
/// ```
/// use executorch_format::Text;
///
/// let name = Text::from("forward");
/// assert_eq!(name.len(), 7);
/// let latin1 = Text::from_bytes(&b"caf\xe9"[..]);
/// assert_eq!(&*latin1, "caf\u{fffd}");
/// assert_eq!(latin1.as_bytes(), b"caf\xe9");
/// ```
#[derive(Clone)]
pub struct Text<'a>(Form<'a>);

/// Returns a string as C and C++ read it: up to the first NUL.
pub(crate) fn c_string(text: &str) -> &str {
    text.split_once('\0').map_or(text, |(text, _)| text)
}

#[derive(Clone)]
enum Form<'a> {
    Utf8(Cow<'a, str>),
    /// Boxed because it is rare, so that a `Text` is not larger than a `Cow<str>`.
    Other(Box<Other<'a>>),
}

#[derive(Clone)]
struct Other<'a> {
    bytes: Cow<'a, [u8]>,
    lossy: String,
}

impl<'a> Text<'a> {
    /// Returns a string of any bytes.
    pub fn from_bytes(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        match bytes.into() {
            Cow::Borrowed(bytes) => Self::borrowed(bytes),
            Cow::Owned(bytes) => match String::from_utf8(bytes) {
                Ok(text) => Self(Form::Utf8(Cow::Owned(text))),
                Err(error) => Self::other(Cow::Owned(error.into_bytes())),
            },
        }
    }

    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    pub(crate) fn borrowed(bytes: &'a [u8]) -> Self {
        match core::str::from_utf8(bytes) {
            Ok(text) => Self(Form::Utf8(Cow::Borrowed(text))),
            Err(_) => Self::other(Cow::Borrowed(bytes)),
        }
    }

    #[cold]
    fn other(bytes: Cow<'a, [u8]>) -> Self {
        let lossy = String::from_utf8_lossy(&bytes).into_owned();
        Self(Form::Other(Box::new(Other { bytes, lossy })))
    }

    /// Returns the string, in its lossy form if it is not UTF-8.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Form::Utf8(text) => text,
            Form::Other(other) => &other.lossy,
        }
    }

    /// Returns the bytes as they are in the file, without the NUL that ends them there.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Form::Utf8(text) => text.as_bytes(),
            Form::Other(other) => &other.bytes,
        }
    }

    /// Returns `true` if the bytes are UTF-8.
    pub fn is_utf8(&self) -> bool {
        matches!(self.0, Form::Utf8(_))
    }

    /// Returns an owned copy.
    pub fn into_owned(self) -> Text<'static> {
        Text(match self.0 {
            Form::Utf8(text) => Form::Utf8(Cow::Owned(text.into_owned())),
            Form::Other(other) => {
                let Other { bytes, lossy } = *other;
                Form::Other(Box::new(Other { bytes: Cow::Owned(bytes.into_owned()), lossy }))
            }
        })
    }
}

impl Default for Text<'_> {
    fn default() -> Self {
        Self(Form::Utf8(Cow::Borrowed("")))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Form::Utf8(Cow::Borrowed(text)))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(Form::Utf8(Cow::Owned(text)))
    }
}

impl<'a> From<Cow<'a, str>> for Text<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Self(Form::Utf8(text))
    }
}

/// Borrows the same bytes.
impl<'t> From<&'t Text<'_>> for Text<'t> {
    fn from(text: &'t Text<'_>) -> Self {
        Self::borrowed(text.as_bytes())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Text<'_> {}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Text<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Shows like a `&str`; bytes that are not UTF-8 like `b"…"`.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Utf8(text) => fmt::Debug::fmt(text, f),
            Form::Other(other) => write!(f, "b\"{}\"", other.bytes.escape_ascii()),
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Text<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

crate::json_schema::json_schema_of_text!(Text<'t>);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec, vec::Vec};

    #[test]
    fn strings_are_compared_by_their_bytes() {
        let (odd, lossy) = (Text::from_bytes(vec![0xff]), Text::from("\u{fffd}"));
        assert_eq!(odd.as_str(), lossy.as_str());
        assert_ne!(odd, lossy);
        assert!(odd != "\u{fffd}" && lossy == "\u{fffd}");
        assert!(!odd.is_utf8() && odd.clone().into_owned() == odd);
        assert_eq!(format!("{odd:?} {odd} {lossy:?}"), "b\"\\xff\" \u{fffd} \"\u{fffd}\"");
        let mut sorted: Vec<Text<'_>> = vec!["b".into(), odd, "a".into()];
        sorted.sort();
        assert_eq!(sorted.first().map(Text::as_str), Some("a"));
    }

    #[test]
    fn a_string_is_no_larger_than_a_cow() {
        assert_eq!(size_of::<Text<'_>>(), size_of::<Cow<'_, str>>());
    }
}
