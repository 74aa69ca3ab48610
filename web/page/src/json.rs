//! JSON for the page.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{Result, Write};

/// As JSON.
pub fn json(value: &(impl Serialize + ?Sized)) -> std::result::Result<String, String> {
    let mut json = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut json, Short)).map_err(|error| error.to_string())?;
    String::from_utf8(json).map_err(|error| error.to_string())
}

/// Writes numbers as the standard library does, which the page has anyway: the faster way of `serde_json` has tables of 10 KB.
struct Short;

impl Formatter for Short {
    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> Result<()> {
        write!(writer, "{value:?}")
    }

    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        write!(writer, "{value:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_what_they_were() {
        let numbers = [0.0, -0.0, 0.1, 1e300, -2.5e-310, f64::MAX, 4.0, 1e16];
        let written = json(&numbers).unwrap();
        assert_eq!(serde_json::from_str::<Vec<f64>>(&written).unwrap(), numbers);
        assert_eq!(json(&(f64::NAN, f64::INFINITY, 0.1f32, "\"\u{1}é")).unwrap(), r#"[null,null,0.1,"\"\u0001é"]"#);
    }
}
