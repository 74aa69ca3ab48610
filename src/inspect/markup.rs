//! Text from a file inside XML, and so inside SVG and HTML.

use crate::names::is_deceptive;
#[cfg(feature = "layout")]
use core::fmt::{self, Write};

/// A text as the content of an element or of a quoted attribute. What XML has no form for, and what turns the direction of
/// writing, shows as `\u{…}`.
#[cfg(feature = "layout")]
pub(crate) struct Xml<'t>(pub(crate) &'t str);

#[cfg(feature = "layout")]
impl fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ if is_unsafe(character) => write!(f, "{}", character.escape_unicode())?,
                _ => f.write_char(character)?,
            }
        }
        Ok(())
    }
}

/// Whether a character is no text, or not what it looks like.
pub(crate) fn is_unsafe(character: char) -> bool {
    is_deceptive(character) || matches!(u32::from(character) & 0xffff, 0xfffe | 0xffff)
}

#[cfg(all(test, feature = "layout"))]
mod tests {
    use super::Xml;
    use alloc::string::ToString;

    #[test]
    fn nothing_in_a_name_is_markup() {
        assert_eq!(Xml("</text><script a='b'>&\"").to_string(), "&lt;/text&gt;&lt;script a=&#39;b&#39;&gt;&amp;&quot;");
        assert_eq!(Xml("a\0b\n\u{202e}c\u{ffff}").to_string(), "a\\u{0}b\\u{a}\\u{202e}c\\u{ffff}");
        assert_eq!(Xml("Ä日本").to_string(), "Ä日本");
    }
}
