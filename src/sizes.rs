//! Numbers of bytes as text.

#[cfg(feature = "verify")]
use crate::error::{Error, Result};
use alloc::{format, string::String};

/// Formats a number of bytes for people: `640 B`, `1.5 MiB`.
///
/// ```
/// use executorch_format::text::format_size;
///
/// assert_eq!(format_size(640), "640 B");
/// assert_eq!(format_size(3 << 19), "1.5 MiB");
/// ```
pub fn format_size(bytes: u64) -> String {
    let mut rest = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if rest < 1023.95 {
            break;
        }
        rest /= 1024.0;
        unit = larger;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{rest:.1} {unit}") }
}

/// Parses a size such as `1KiB`, `1.5 MiB`, `2GB` or `1000` into bytes. Units are `KiB`, `MiB`, `GiB`, `TiB` (powers of 1,024)
/// and `KB`, `MB`, `GB`, `TB` (powers of 1,000), in upper or lower case.
///
/// ```
/// use executorch_format::text::parse_size;
///
/// assert_eq!(parse_size("1.5 KiB")?, 1536);
/// assert!(parse_size("1 mile").is_err());
/// # Ok::<(), executorch_format::Error>(())
/// ```
///
/// Fails with [`ErrorKind::Word`](crate::ErrorKind::Word) for other texts, and for sizes that do not fit in a `u64`.
#[cfg(feature = "verify")]
pub fn parse_size(text: &str) -> Result<u64> {
    const UNITS: [(&str, u64); 10] = [
        ("", 1),
        ("B", 1),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    let parsed = || {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = text.get(number.len()..)?;
        let (_, unit) = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        let (whole, part) = number.trim_end().split_once('.').unwrap_or((number.trim_end(), "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) || part.len() > 6 {
            return None;
        }
        let scale = 10u128.pow(u32::try_from(part.len()).ok()?);
        let number = |text: &str| text.parse::<u64>().ok().map(u128::from);
        let units = number(whole)? * scale + number(part)?;
        u64::try_from(units.checked_mul((*unit).into())? / scale).ok()
    };
    parsed().ok_or_else(|| Error::not_a("size", text, "bytes, or a number with a unit such as KiB, MiB, GB"))
}

/// A number of bytes in a settings file: a number, or a text that [`parse_size`] accepts.
#[cfg(feature = "verify")]
pub(crate) struct Size(pub(crate) u64);

#[cfg(feature = "verify")]
impl<'de> serde::Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Form<'t> {
            Bytes(u64),
            Text(alloc::borrow::Cow<'t, str>),
        }
        match Form::deserialize(deserializer) {
            Ok(Form::Bytes(bytes)) => Ok(Self(bytes)),
            Ok(Form::Text(text)) => parse_size(&text).map(Self).map_err(serde::de::Error::custom),
            Err(_) => Err(serde::de::Error::custom("expected a number of bytes, or a size such as \"64KiB\"")),
        }
    }
}

/// Deserializes a number of bytes, or a text that [`parse_size`] accepts.
#[cfg(feature = "verify")]
pub(crate) fn deserialize_size<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> core::result::Result<Option<u64>, D::Error> {
    serde::Deserialize::deserialize(deserializer).map(|Size(size)| Some(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_use_the_largest_unit_that_keeps_the_number_below_1024() {
        assert_eq!(format_size(0), "0 B");
        assert_eq!(format_size(1023), "1023 B");
        assert_eq!(format_size(1024), "1.0 KiB");
        assert_eq!(format_size(1024 * 1024 - 1), "1.0 MiB");
        assert_eq!(format_size(5 * 1024 * 1024 * 1024), "5.0 GiB");
        assert_eq!(format_size(u64::MAX), "16.0 EiB");
    }

    #[cfg(feature = "verify")]
    #[test]
    fn sizes_have_units_and_fractions_and_fit_in_64_bits() {
        for (text, bytes) in [
            ("0", 0),
            ("12", 12),
            ("12B", 12),
            ("1KiB", 1024),
            ("1.5 MiB", 3 << 19),
            ("2gb", 2_000_000_000),
            ("0.1KB", 100),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "B", "1.", ".5KiB", "-1", "1 mile", "1e3", "99999999TiB", "1KiBB", "18446744073709551616"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
        assert_eq!(parse_size("18446744073709551615"), Ok(u64::MAX));
    }
}
