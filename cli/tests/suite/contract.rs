//! Contracts as Markdown and JSON, and their comparison.

use crate::cli::run_in;
use executorch_format::schema::program::TensorShapeDynamism;
use executorch_format::{Analysis, Pte};
use executorch_format_support::data;
use serde_json::Value;

fn text(arguments: &[&str]) -> (Option<i32>, String) {
    let output = run_in(&data(), arguments);
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_contract_has_inputs_outputs_metadata_and_needs() {
    let (_, card) = text(&["info", "--contract", "answers/kwargs_dict_outputs.pte"]);
    for line in [
        "- Loads in ExecuTorch 0.2 to 1.5\n",
        "## Method forward\n",
        "| 0 |  | f32 | 3 |\n| 1 | bias | f32 | 3 |\n| 2 | mask | f32 | 3 |\n",
        "| 0 | y | f32 | 3 |\n| 1 | a | f32 | 3 |\n",
        "- Planned memory, memory id 1: 64 B\n",
        "- Multiply-accumulates: 0\n- Parameters: 0\n",
    ] {
        assert!(card.contains(line), "{line}: {card}");
    }
    let (_, card) = text(&["info", "--contract", "metadata/llm_metadata.pte"]);
    assert!(card.contains("| get_max_seq_len | 64 | the most tokens that one call takes |\n"), "{card}");
    let (_, card) = text(&["info", "--contract", "1.5.1/dynamic_bounded/dynamic_bounded.pte"]);
    assert!(card.contains("at most "), "{card}");
    let (_, answer) = text(&["info", "--contract", "--json", "payloads/other/ethosu.pte"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let contract = &answer["files"][0];
    assert_eq!(contract["backends"][0]["accelerators"][0], "ethos-u55-128");
    assert_eq!(contract["methods"][0]["inputs"][0]["dims"][0], serde_json::json!({"min": 2, "max": 2}));
    assert_eq!(contract["methods"][0]["compute"]["parameters"], Value::Null);
    assert_eq!(contract["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn a_program_that_takes_less_breaks_callers_and_one_that_takes_more_does_not() {
    let file = std::fs::read(data().join("1.5.1/linear/linear.pte")).unwrap();
    let pte = Pte::parse(&file).unwrap();
    let one = Analysis::new(&pte).contract();
    let mut few = one.clone();
    let dims = few.methods[0].inputs[0].dims.as_mut().unwrap();
    (dims.sizes, dims.shape_dynamism) = (&[4, 8], TensorShapeDynamism::DYNAMIC_BOUND);
    assert_eq!(one.breaks(&few), []);
    let breaks: Vec<String> = few.breaks(&one).iter().map(ToString::to_string).collect();
    let expected = ["dimension 0 is 1, and before at most 4", "dimension 1 is 8, and before at most 8"];
    assert_eq!(breaks, expected.map(|dimension| format!("forward input 0: {dimension}")));
    // Callers may rely on the sizes of outputs.
    let mut more = one.clone();
    more.methods[0].outputs[0].dims.as_mut().unwrap().shape_dynamism = TensorShapeDynamism::DYNAMIC_UNBOUND;
    assert_eq!((one.breaks(&more).len(), more.breaks(&one).len()), (2, 0));
}

#[test]
fn other_inputs_backends_and_constants_break_callers() {
    let (code, out) =
        text(&["diff", "--contract", "answers/kwargs_dict_outputs.pte", "1.5.1/linear_xnnpack/linear_xnnpack.pte"]);
    assert_eq!(code, Some(1));
    for line in [
        "forward: 1 inputs, and before 3\n",
        "forward: 1 outputs, and before 2\n",
        "backends: \"XnnpackBackend\" is needed\n",
    ] {
        assert!(out.contains(line), "{line}: {out}");
    }
    let (code, out) = text(&["diff", "--contract", "metadata/llm_metadata.pte", "1.5.1/add/add.pte"]);
    assert!(code == Some(1) && out.contains("  get_max_seq_len: the constant is missing\n"), "{out}");
    let (code, out) = text(&["diff", "--contract", "--json", "1.5.1/add/add.pte", "1.5.1/add/add.pte"]);
    let answer: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &answer["ok"], &answer["breaks"]), (Some(0), &true.into(), &serde_json::json!([])));
}
