//! Compares the tree as JSON with flatc's output for the same file.

use executorch_format::schema::program::{DoubleList, EValue, Int, KernelTypes, Tensor, TensorShapeDynamism};
use executorch_format::schema::{DataSegment, ScalarType, Unknown, UnknownValue};
use executorch_format::{Ptd, Pte};
use executorch_format_support::fixtures::{Fixture, fixtures, for_each};
use executorch_format_support::flatc_json::{compare, differences, quoted};
use serde_json::{Value, json};

#[test]
fn the_tree_as_json_matches_flatc() {
    let fixtures: Vec<_> = fixtures().into_iter().filter(|fixture| fixture.beside("json").is_some()).collect();
    assert!(!fixtures.is_empty());
    for_each(&fixtures, |fixture| {
        let differences = differences(fixture, &dump(fixture)?);
        if differences.is_empty() { Ok(()) } else { Err(differences.join("\n")) }
    });
}

fn dump(fixture: &Fixture) -> Result<Value, String> {
    let bytes = fixture.bytes();
    if fixture.is_pte() {
        let pte = Pte::parse(bytes).map_err(|error| error.to_string())?;
        Ok(serde_json::to_value(&pte.program).unwrap())
    } else {
        let ptd = Ptd::parse(bytes).map_err(|error| error.to_string())?;
        Ok(serde_json::to_value(&ptd.flat_tensor).unwrap())
    }
}

#[test]
fn differences_are_found() {
    let compared = |found: &str, expected: &str, exact| {
        let [found, expected] = [found, expected].map(|text| serde_json::from_str(text).unwrap());
        let mut differences = Vec::new();
        compare(&mut String::new(), &found, &expected, exact, &mut differences);
        differences.len()
    };
    assert_eq!(compared(r#"{"a": [1, 0.25]}"#, r#"{"a": [1, 0.25]}"#, true), 0);
    assert_eq!(compared(r#"{"a": [1, 0.25]}"#, r#"{"a": [1, 0.26]}"#, true), 1);
    assert_eq!(compared(r#"{"a": 9223372036854775807}"#, r#"{"a": 9223372036854775806}"#, true), 1);
    assert_eq!(compared(r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#, true), 1);
    assert_eq!(compared(r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#, false), 0);
    assert_eq!(compared(r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#, false), 1);
    assert_eq!(compared("[1, 2]", "[1]", false), 1);
    assert_eq!(quoted(r#"[nan, -inf, "inf \" nan", 1]"#), r#"["nan", "-inf", "inf \" nan", 1]"#);
}

#[test]
fn values_unknown_to_the_schema_are_serialized_as_numbers() {
    let tensor = Tensor {
        scalar_type: ScalarType(77),
        shape_dynamism: TensorShapeDynamism(-3),
        sizes: Some(vec![].into()),
        ..Tensor::default()
    };
    let found = serde_json::to_value(EValue { val: tensor.into() }).unwrap();
    let expected = json!({
        "val_type": "Tensor",
        "val": {
            "scalar_type": 77, "storage_offset": 0, "sizes": [], "requires_grad": false,
            "data_buffer_idx": 0, "layout": 0, "shape_dynamism": -3,
        },
    });
    assert_eq!(found, expected);
    let unknown = KernelTypes::Unknown(Unknown { tag: 42, value: UnknownValue::Filled });
    assert_eq!(serde_json::to_value(EValue { val: unknown }).unwrap(), json!({"val_type": 42, "val": {}}));
    let none = EValue { val: KernelTypes::None };
    assert_eq!(serde_json::to_value(none).unwrap(), json!({"val_type": "NONE"}));
}

#[test]
fn numbers_keep_their_exact_values() {
    let segment = DataSegment { offset: u64::MAX, size: u64::MAX - 1 };
    let text = serde_json::to_string(&segment).unwrap();
    assert_eq!(text, r#"{"offset":18446744073709551615,"size":18446744073709551614}"#);
    let int = EValue { val: Int { int_val: i64::MIN }.into() };
    assert_eq!(serde_json::to_string(&int).unwrap(), r#"{"val_type":"Int","val":{"int_val":-9223372036854775808}}"#);
    let items = [0.1, -0.0, 5e-324, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let list = serde_json::to_string(&DoubleList { items: Some(items[..].into()) }).unwrap();
    assert_eq!(list, r#"{"items":[0.1,-0.0,5e-324,"nan","inf","-inf"]}"#);
}
