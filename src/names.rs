//! Safe display of names from a file.

use crate::error::{Error, Result};
#[cfg(feature = "inspect")]
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::{borrow::Cow, format};
use core::fmt::{self, Write};

/// The longest name that is shown in full, in characters. Exporters do not write longer names; without the cut, a list that shows
/// a name for each of its users could print many times the file's size.
const LONGEST: usize = 1000;

/// The number of characters shown of a name over [`LONGEST`].
const CUT: usize = 200;

/// Shortens a name of more than 1,000 characters to its first 200, an ellipsis and its length in bytes. Other names, and special
/// characters, are left unchanged.
///
/// ```
/// use executorch_format::text::shortened;
///
/// assert_eq!(shortened("layer.weight"), "layer.weight");
/// assert!(shortened(&"x".repeat(60_000)).ends_with("xxx\u{2026}(60000 bytes)"));
/// ```
pub fn shortened(name: &str) -> Cow<'_, str> {
    match cut(name) {
        (_, None) => Cow::Borrowed(name),
        (start, Some(bytes)) => Cow::Owned(format!("{start}…({bytes} bytes)")),
    }
}

/// Serializes a name after [`shortened`], because many entries can share it.
#[cfg(feature = "serde")]
pub(crate) fn serialize_shortened<S: serde::Serializer>(
    name: &impl AsRef<str>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(&shortened(name.as_ref()))
}

/// Serializes a name that may be absent like [`serialize_shortened`].
#[cfg(feature = "serde")]
pub(crate) fn serialize_shortened_option<S: serde::Serializer>(
    name: &Option<&str>,
    serializer: S,
) -> core::result::Result<S::Ok, S::Error> {
    match name {
        Some(name) => serializer.serialize_some(&*shortened(name)),
        None => serializer.serialize_none(),
    }
}

/// Returns the part of a name that is shown. If the name was cut, also returns its length in bytes, since counting characters would
/// take time.
fn cut(name: &str) -> (&str, Option<usize>) {
    // Characters have one byte or more, and those of ASCII one, so most names need no count.
    if name.len() <= LONGEST {
        return (name, None);
    }
    if name.as_bytes().get(..=LONGEST).is_some_and(<[u8]>::is_ascii) {
        return (name.get(..CUT).unwrap_or(name), Some(name.len()));
    }
    if name.chars().nth(LONGEST).is_none() {
        return (name, None);
    }
    let end = name.char_indices().nth(CUT).map_or(name.len(), |(end, _)| end);
    (name.get(..end).unwrap_or(name), Some(name.len()))
}

/// Fails unless a name can be registered as an operator's: ASCII letters, digits, `_`, `:` and `.`, as in
/// `namespace::name.overload`. Other characters have a special meaning in a build system, which splits at `;` and replaces `$`.
pub(crate) fn check_operator_name(name: &str) -> Result<()> {
    if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:.".contains(&byte)) {
        return Ok(());
    }
    Err(Error::unwritable(format!(
        "the operator {} cannot be registered: expected ASCII letters, digits, `_`, `:` and `.`, as in namespace::name.overload",
        Escaped(name)
    )))
}

/// Returns whether a character can make a name look like another one, or affect a terminal: control characters, characters that
/// are invisible or look like a space, and those that change the direction of the text around them. Also `true` for
/// noncharacters, which XML and YAML refuse.
///
/// These are Unicode's control characters, separators other than the space, and characters that are ignorable by default
/// (`Default_Ignorable_Code_Point`, which includes variation selectors and the joiners of emoji).
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            // Spaces outside ASCII.
            0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000
            // Soft hyphen, the joiner of graphemes, the direction mark of Arabic, fillers of Hangul.
            | 0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x3164 | 0xffa0
            // Inherent vowels of Khmer, variation selectors of Mongolian.
            | 0x17b4..=0x17b5 | 0x180b..=0x180f
            // Zero width, direction marks, separators, embeddings and isolates, invisible operators.
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            // Variation selectors, byte order mark, reserved, annotations.
            | 0xfe00..=0xfe0f | 0xfeff | 0xfff0..=0xfffb
            // Shorthand, music, tags.
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff
            // Noncharacters, including the last two of each plane.
            | 0xfdd0..=0xfdef)
        || u32::from(character) & 0xfffe == 0xfffe
}

/// Displays a name safely. Control characters, and those that are invisible or change the direction, are escaped as in Rust (`\n`, `\u{202e}`),
/// and so are backslashes, double quotes, and spaces at the ends, so that different names look different. An empty name is shown as `""`. A
/// name of more than 1,000 characters is cut, with its length.
///
/// ```
/// use executorch_format::Escaped;
///
/// assert_eq!(Escaped("layer\u{1b}[2J.weight").to_string(), r"layer\u{1b}[2J.weight");
/// assert_eq!(Escaped(r"a\n").to_string(), r"a\\n");
/// assert_eq!(Escaped("").to_string(), r#""""#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Escaped<'t>(pub &'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("\"\"");
        }
        let (start, bytes) = cut(self.0);
        // Almost all names are written as they are.
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'\\' | b'"');
        if bytes.is_none() && start.bytes().all(is_plain) && !start.starts_with(' ') && !start.ends_with(' ') {
            return f.write_str(start);
        }
        let last = self.0.len() - 1;
        start.char_indices().try_for_each(|(at, character)| match character {
            '\\' | '"' => write!(f, "\\{character}"),
            // At an end it would be invisible.
            ' ' if at == 0 || at == last => write!(f, "{}", character.escape_unicode()),
            character if is_deceptive(character) => match character {
                '\n' | '\r' | '\t' => write!(f, "{}", character.escape_default()),
                character => write!(f, "{}", character.escape_unicode()),
            },
            character => f.write_char(character),
        })?;
        bytes.map_or(Ok(()), |bytes| write!(f, "…({bytes} bytes)"))
    }
}

/// Converts a name to a file name that every system accepts: without path separators, without characters that a terminal or a shell
/// interprets, and different from the names of Windows devices.
#[cfg(feature = "inspect")]
pub(crate) fn safe_file_name(name: &str) -> String {
    const MAX_NAME: usize = 100;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let safe: String = name.chars().take(MAX_NAME).map(|c| if plain(c) { c } else { '_' }).collect();
    // Avoids hidden files and options of commands.
    match safe.starts_with(['.', '-']) || safe.is_empty() || is_device(&safe) {
        true => format!("_{safe}"),
        false => safe,
    }
}

/// Returns `true` if Windows treats a file of that name as a device, regardless of its extension.
#[cfg(feature = "inspect")]
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let is = |device: &&str| stem.eq_ignore_ascii_case(device);
    let is_numbered = |device: &str| {
        let number = stem.get(..3).filter(|start| start.eq_ignore_ascii_case(device)).and_then(|_| stem.get(3..));
        number.is_some_and(|number| matches!(number.as_bytes(), [b'0'..=b'9']))
    };
    ["con", "prn", "aux", "nul"].iter().any(is) || is_numbered("com") || is_numbered("lpt")
}

/// Returns a name that no other file has, even on systems that treat `A` and `a` as equal. `taken` maps the names, in lower case,
/// to the last number appended to them.
#[cfg(feature = "inspect")]
pub(crate) fn unique_file_name(stem: &str, ending: &str, taken: &mut BTreeMap<String, u32>) -> String {
    let first = format!("{stem}.{ending}");
    let Some(last) = taken.get(&first.to_ascii_lowercase()) else {
        taken.insert(first.to_ascii_lowercase(), 1);
        return first;
    };
    let mut number = *last;
    loop {
        number += 1;
        let file = format!("{stem}-{number}.{ending}");
        if !taken.contains_key(&file.to_ascii_lowercase()) {
            taken.insert(file.to_ascii_lowercase(), 1);
            taken.insert(first.to_ascii_lowercase(), number);
            return file;
        }
    }
}

/// Returns a name as a label, shortened because many instructions may share a long name.
pub(crate) fn short(name: &str) -> String {
    const MAX_LABEL: usize = 120;
    match name.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    #[test]
    fn invisible_characters_and_terminal_controls_are_escaped() {
        for (name, shown) in [
            ("a\u{1b}[2Jb\n", "a\\u{1b}[2Jb\\n"),
            ("a\u{9b}2J", "a\\u{9b}2J"),
            ("ab\u{202e}cd\u{2066}", "ab\\u{202e}cd\\u{2066}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{7f}", "a\\u{7f}"),
            ("日本語 é", "日本語 é"),
            (" a b ", "\\u{20}a b\\u{20}"),
            ("a\u{a0}b", "a\\u{a0}b"),
            ("a\u{fffe}b\u{fdd0}c\u{10ffff}d\u{1fffe}", "a\\u{fffe}b\\u{fdd0}c\\u{10ffff}d\\u{1fffe}"),
            ("\u{fdcf}\u{fdf0}\u{fffd}\u{1fffd}", "\u{fdcf}\u{fdf0}\u{fffd}\u{1fffd}"),
        ] {
            assert_eq!(Escaped(name).to_string(), shown);
        }
    }

    #[test]
    fn long_names_are_cut_with_their_length() {
        let (longest, longer) = ("é".repeat(1000), "\n".repeat(1001));
        assert_eq!((Escaped(&longest).to_string(), shortened(&longest)), (longest.clone(), longest.as_str().into()));
        assert_eq!(Escaped(&longer).to_string(), "\\n".repeat(200) + "…(1001 bytes)");
        assert_eq!(shortened(&longer), "\n".repeat(200) + "…(1001 bytes)");
    }

    #[test]
    fn invalid_operator_names_are_refused() {
        for name in ["aten::add.out", "executorch_prim::et_view.default", "fx::probe", "_a9"] {
            assert!(check_operator_name(name).is_ok(), "{name}");
        }
        for name in ["", "a;b", "a::$ENV{HOME}", "a::b c", "a::\u{fffe}", "é::a", "a\"", "a\n", "a-b"] {
            assert!(check_operator_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn different_names_look_different() {
        let names = ["\n", "\\n", "\\\\n", "", "\"\"", "\"", "\\u{1b}", "\u{1b}", " ", "\\u{20}"];
        let shown: BTreeSet<_> = names.iter().map(|name| Escaped(name).to_string()).collect();
        assert_eq!(shown.len(), names.len(), "{shown:?}");
    }
}
