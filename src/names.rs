//! Names out of a file, for a terminal and for a reader's eyes.

use core::fmt::{self, Write};

/// Whether a character can make a name look like another one, or act on a terminal: control characters, characters that
/// show as nothing or as a space, and those that change the direction of the text around them.
///
/// These are Unicode's classes of control characters, of separators without the space, and what is ignorable by default
/// (`Default_Ignorable_Code_Point`, of which variation selectors and the joiners of emoji are a part).
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(u32::from(character),
            // Spaces that are none of ASCII's.
            0xa0 | 0x1680 | 0x2000..=0x200a | 0x202f | 0x205f | 0x3000
            // Soft hyphen, the joiner of graphemes, the direction mark of Arabic, fillers of Hangul.
            | 0xad | 0x34f | 0x61c | 0x115f..=0x1160 | 0x3164 | 0xffa0
            // Inherent vowels of Khmer, variation selectors of Mongolian.
            | 0x17b4..=0x17b5 | 0x180b..=0x180f
            // Of width zero, direction marks, separators, embedding and isolating, invisible operators.
            | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f
            // Variation selectors, the byte order mark, reserved ones, annotations.
            | 0xfe00..=0xfe0f | 0xfeff | 0xfff0..=0xfffb
            // Shorthand, music, tags.
            | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a | 0xe0000..=0xe0fff)
}

/// A name as it can be shown: what [`is_deceptive`] is escaped as in Rust (`\n`, `\u{202e}`), and so are backslashes and
/// double quotes, so are spaces at the ends, so that no two names show alike. An empty name shows as `""`.
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
        let last = self.0.len() - 1;
        self.0.char_indices().try_for_each(|(at, character)| match character {
            '\\' | '"' => write!(f, "\\{character}"),
            // At an end it would not be seen.
            ' ' if at == 0 || at == last => write!(f, "{}", character.escape_unicode()),
            character if is_deceptive(character) => match character {
                '\n' | '\r' | '\t' => write!(f, "{}", character.escape_default()),
                character => write!(f, "{}", character.escape_unicode()),
            },
            character => f.write_char(character),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;

    #[test]
    fn what_acts_on_a_terminal_or_shows_as_nothing_is_escaped() {
        for (name, shown) in [
            ("a\u{1b}[2Jb\n", "a\\u{1b}[2Jb\\n"),
            ("a\u{9b}2J", "a\\u{9b}2J"),
            ("ab\u{202e}cd\u{2066}", "ab\\u{202e}cd\\u{2066}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{7f}", "a\\u{7f}"),
            ("日本語 é", "日本語 é"),
            (" a b ", "\\u{20}a b\\u{20}"),
            ("a\u{a0}b", "a\\u{a0}b"),
        ] {
            assert_eq!(Escaped(name).to_string(), shown);
        }
    }

    #[test]
    fn names_that_differ_show_differently() {
        let names = ["\n", "\\n", "\\\\n", "", "\"\"", "\"", "\\u{1b}", "\u{1b}", " ", "\\u{20}"];
        let shown: BTreeSet<_> = names.iter().map(|name| Escaped(name).to_string()).collect();
        assert_eq!(shown.len(), names.len(), "{shown:?}");
    }
}
