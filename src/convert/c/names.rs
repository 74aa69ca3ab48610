//! Names from a file, made safe for C.

use crate::error::{Error, Result};
use alloc::{format, string::String};
use core::fmt::Write;

/// The reserved words of C11 and C++17.
const KEYWORDS: &str = "\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl \
    const const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export \
    extern false float for friend goto if inline int long main mutable namespace new noexcept not not_eq nullptr \
    operator or or_eq private protected public register reinterpret_cast restrict return short signed sizeof \
    static static_assert static_cast struct switch template this thread_local throw true try typedef typeid \
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq";

/// Fails unless a name is an identifier in C and C++ and not reserved.
pub(super) fn check_identifier(name: &str) -> Result<()> {
    let fits = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !fits
        || !name.starts_with(|c: char| c.is_ascii_alphabetic())
        || name.contains("__")
        || KEYWORDS.split(' ').any(|word| word == name)
    {
        return Err(Error::unwritable(format!(
            "{name:?} cannot be the name of an array in C and C++: expected a letter, then letters, digits and single underscores"
        )));
    }
    Ok(())
}

/// Returns a name in the form for macro names: capital letters, digits, underscores.
pub(super) fn upper(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    name.chars().map(plain).collect()
}

/// Returns a name as a string literal: its UTF-8, with octal escapes for every character that C would interpret there.
pub(super) fn literal(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b' '..=b'~' if !matches!(byte, b'"' | b'\\' | b'?') => text.push(byte.into()),
            _ => text += &format!("\\{byte:03o}"),
        }
    }
    text
}

/// Returns a name in the form for comments: printable ASCII that cannot end the comment, start another, or be a trigraph or an escape.
pub(super) fn comment(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    let mut before = ' ';
    for c in name.chars() {
        let ends = matches!((before, c), ('*', '/') | ('/', '*') | ('?', '?'));
        match c {
            ' '..='~' if !ends && !matches!(c, '"' | '\\') => safe.push(c),
            // Writing to a string cannot fail.
            _ => drop(write!(safe, "<{:04X}>", u32::from(c))),
        }
        before = c;
    }
    safe
}
