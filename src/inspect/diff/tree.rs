//! Compares two tables of the same schema field by field.

use crate::error::counted;
use crate::flatbuffer::any::{AnyNumber, AnyTable, Value};
use crate::inspect::branch::number_text;
use crate::path::Path;
use alloc::{format, string::String};

/// A function that takes the path of a field, and its values before and after.
type Found<'f> = dyn FnMut(&Path<'_>, String, String) + 'f;

/// Calls `found` for each field that differs, with its path and both values. Lists of different lengths are a single difference.
pub(super) fn compare(before: &dyn AnyTable, after: &dyn AnyTable, path: &Path<'_>, found: &mut Found<'_>) {
    compare_except(before, after, &[], path, found);
}

/// Compares like [`compare`], but leaves out fields, each given by the names of its table and its own.
pub(super) fn compare_except(
    before: &dyn AnyTable,
    after: &dyn AnyTable,
    except: &[(&str, &str)],
    path: &Path<'_>,
    found: &mut Found<'_>,
) {
    let description = before.description();
    for (index, field) in description.fields.iter().enumerate() {
        if except.contains(&(description.name, field.name)) {
            continue;
        }
        let path = &path.field(field.name);
        let (Some(left), Some(right)) = (before.field(index), after.field(index)) else { continue };
        values(left.value(), right.value(), except, path, found);
    }
}

fn values(before: Value<'_>, after: Value<'_>, except: &[(&str, &str)], path: &Path<'_>, found: &mut Found<'_>) {
    match (before, after) {
        (Value::Table(left), Value::Table(right)) => compare_except(left, right, except, path, found),
        (Value::Union { tag, member: Some(left), name }, Value::Union { tag: other_tag, member: Some(right), .. })
            if tag == other_tag =>
        {
            // A member that is present has a name.
            compare_except(left, right, except, &path.field(name.unwrap_or_default()), found);
        }
        (Value::Tables(left), Value::Tables(right)) if left.len() == right.len() => {
            for index in 0..left.len() {
                if let (Some(left), Some(right)) = (left.get(index), right.get(index)) {
                    compare_except(left, right, except, &path.index(index), found);
                }
            }
        }
        (left, right) if !same(&left, &right) => {
            let (left, right) = (text(&left), text(&right));
            // Long lists and texts are cut.
            let right = if left == right { "other values".into() } else { right };
            found(path, left, right);
        }
        _ => {}
    }
}

fn same(left: &Value<'_>, right: &Value<'_>) -> bool {
    let bits = |number: &AnyNumber| number.bits();
    match (left, right) {
        (Value::Absent, Value::Absent) => true,
        (Value::Number(left), Value::Number(right)) => bits(left) == bits(right),
        (Value::Enum { number: left, .. }, Value::Enum { number: right, .. }) => bits(left) == bits(right),
        (Value::Text(left), Value::Text(right)) => left == right,
        (Value::Numbers(left), Value::Numbers(right)) => left.as_bytes() == right.as_bytes(),
        (Value::Union { tag: left, .. }, Value::Union { tag: right, .. }) => left == right,
        _ => false,
    }
}

fn text(value: &Value<'_>) -> String {
    const MAX_SHOWN: usize = 16;
    match value {
        Value::Absent => "absent".into(),
        Value::Number(number) => number_text(*number),
        Value::Enum { name: Some(name), .. } => (*name).into(),
        Value::Enum { number, .. } => number_text(*number),
        Value::Text(text) => format!("{:?}", text.as_str().chars().take(80).collect::<String>()),
        Value::Numbers(list) if list.len() > MAX_SHOWN => format!("{} numbers", list.len()),
        Value::Numbers(list) => {
            format!("[{}]", list.iter().map(number_text).collect::<alloc::vec::Vec<_>>().join(", "))
        }
        Value::Table(_) => "present".into(),
        Value::Tables(tables) => counted(tables.len(), "item"),
        Value::Union { name, tag, .. } => name.map_or_else(|| format!("tag {tag}"), String::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ScalarType;
    use crate::schema::program::Tensor;
    use alloc::{string::ToString, vec::Vec};

    #[test]
    fn enumerations_with_different_numbers_differ() {
        let of = |scalar_type| Tensor::new(scalar_type, &[1][..]);
        let mut found = Vec::new();
        let (float, int) = (of(ScalarType::FLOAT), of(ScalarType::INT));
        compare(&float, &float.clone(), &Path::ROOT, &mut |path, _, _| found.push(path.to_string()));
        assert_eq!(found, [""; 0]);
        compare(&float, &int, &Path::ROOT, &mut |path, _, _| found.push(path.to_string()));
        assert_eq!(found, ["scalar_type"]);
    }
}
