//! Text from a file inside XML, and so inside SVG. XML crates are no replacement: they escape five characters and leave control characters,
//! which make XML invalid, and marks that change the direction of text.

use crate::names::is_deceptive;
use core::fmt::{self, Write};

/// A text as the content of an element or of a quoted attribute. Deceptive characters are written as `\u{…}`.
pub(super) struct Xml<'t>(pub(super) &'t str);

impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ if is_deceptive(character) => write!(f, "{}", character.escape_unicode())?,
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Xml;
    use alloc::string::ToString;

    #[test]
    fn markup_and_control_characters_in_names_are_escaped() {
        assert_eq!(Xml("</text><script a='b'>&\"").to_string(), "&lt;/text&gt;&lt;script a=&#39;b&#39;&gt;&amp;&quot;");
        assert_eq!(Xml("a\0b\n\u{202e}c\u{ffff}").to_string(), "a\\u{0}b\\u{a}\\u{202e}c\\u{ffff}");
        assert_eq!(Xml("Ä日本").to_string(), "Ä日本");
    }
}
