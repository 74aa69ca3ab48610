//! Compares the JSON that serde prints for a tree with flatc's.

use crate::fixtures::Fixture;
use serde_json::Value;

/// Adds the differences between `found` and flatc's JSON, `expected`, to `differences`. Unless `exact`, flatc may have used an older
/// schema, without newer fields.
pub fn compare(path: &mut String, found: &Value, expected: &Value, exact: bool, differences: &mut Vec<String>) {
    let length = path.len();
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (field, expected) in expected {
                path.push_str(&format!(".{field}"));
                let renamed = if field == "constant_buffer_idx" { "data_buffer_idx" } else { field };
                match found.get(field).or_else(|| found.get(renamed)) {
                    Some(found) => compare(path, found, expected, exact, differences),
                    None => differences.push(format!("  {path}: missing, expected {expected}")),
                }
                path.truncate(length);
            }
            for field in found.keys().filter(|field| exact && !expected.contains_key(*field)) {
                differences.push(format!("  {path}.{field}: not expected"));
            }
        }
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
                path.push_str(&format!("[{index}]"));
                compare(path, found, expected, exact, differences);
                path.truncate(length);
            }
        }
        (Value::Number(found), Value::Number(expected)) if found.is_f64() && expected.is_f64() => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            // flatc prints 12 digits after the decimal point, and serde_json may miss the last bit of a long number.
            if (found - expected).abs() > 1e-12 + expected.abs() * 1e-15 {
                differences.push(format!("  {path}: found {found}, expected {expected}"));
            }
        }
        (found, expected) if found == expected => {}
        (found, expected) => differences.push(format!("  {path}: found {found}, expected {expected}")),
    }
}

/// Returns the differences between `found` and flatc's JSON. flatc used the schema of the file's version: an older schema has no later
/// fields, and `data_buffer_idx` was `constant_buffer_idx` in 0.2.
pub fn differences(fixture: &Fixture, found: &Value) -> Vec<String> {
    let expected = quoted(&fixture.beside("json").unwrap());
    let expected = serde_json::from_str(&expected).unwrap();
    let mut differences = Vec::new();
    compare(&mut "".to_owned(), found, &expected, fixture.version().starts_with("1.5.1"), &mut differences);
    differences
}

/// Returns flatc's JSON with `nan` and `inf` as strings.
pub fn quoted(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut inside = false;
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let word = ["-inf", "inf", "-nan", "nan"].into_iter().find(|word| !inside && rest.starts_with(word));
        let taken = match (character, word) {
            (_, Some(word)) => {
                result.push_str(&format!("\"{}\"", word.replace("-nan", "nan")));
                word.len()
            }
            ('\\', None) => {
                let taken = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                result.push_str(&rest[..taken]);
                taken
            }
            (other, None) => {
                inside ^= other == '"';
                result.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    result
}
