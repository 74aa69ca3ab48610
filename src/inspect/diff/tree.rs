//! Compares two tables of the same schema field by field.

use crate::error::counted;
use crate::flatbuffer::any::{AnyNumber, AnyTable, Value};
use crate::inspect::branch::number_text;
use crate::path::Path;
use alloc::{format, string::String};

/// Calls `found` for each field that differs, with its path and both values. Lists of different lengths are a single difference.
pub(super) fn compare(
    before: &dyn AnyTable,
    after: &dyn AnyTable,
    path: &Path<'_>,
    found: &mut dyn FnMut(&Path<'_>, String, String),
) {
    for (index, field) in before.description().fields.iter().enumerate() {
        let path = &path.field(field.name);
        let (Some(one), Some(other)) = (before.field(index), after.field(index)) else { continue };
        values(one.value(), other.value(), path, found);
    }
}

fn values(before: Value<'_>, after: Value<'_>, path: &Path<'_>, found: &mut dyn FnMut(&Path<'_>, String, String)) {
    match (before, after) {
        (Value::Table(one), Value::Table(other)) => compare(one, other, path, found),
        (Value::Union { tag, member: Some(one), name }, Value::Union { tag: other_tag, member: Some(other), .. })
            if tag == other_tag =>
        {
            // A member that is present has a name.
            compare(one, other, &path.field(name.unwrap_or_default()), found);
        }
        (Value::Tables(one), Value::Tables(other)) if one.len() == other.len() => {
            for index in 0..one.len() {
                if let (Some(one), Some(other)) = (one.get(index), other.get(index)) {
                    compare(one, other, &path.index(index), found);
                }
            }
        }
        (one, other) if !same(&one, &other) => {
            let (one, other) = (text(&one), text(&other));
            // Long lists and texts are cut.
            let other = if one == other { "other values".into() } else { other };
            found(path, one, other);
        }
        _ => {}
    }
}

fn same(one: &Value<'_>, other: &Value<'_>) -> bool {
    let bits = |number: &AnyNumber| number.bits();
    match (one, other) {
        (Value::Absent, Value::Absent) => true,
        (Value::Number(one), Value::Number(other)) => bits(one) == bits(other),
        (Value::Enum { number: one, .. }, Value::Enum { number: other, .. }) => bits(one) == bits(other),
        (Value::Text(one), Value::Text(other)) => one == other,
        (Value::Numbers(one), Value::Numbers(other)) => one.as_bytes() == other.as_bytes(),
        (Value::Union { tag: one, .. }, Value::Union { tag: other, .. }) => one == other,
        _ => false,
    }
}

fn text(value: &Value<'_>) -> String {
    const MAX_SHOWN: usize = 16;
    match value {
        Value::Absent => "absent".into(),
        Value::Number(one) => number_text(*one),
        Value::Enum { name: Some(name), .. } => (*name).into(),
        Value::Enum { number: one, .. } => number_text(*one),
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
