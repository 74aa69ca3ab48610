//! Graphs of methods.

use crate::cli::{TempFile, pte};
use crate::see::golden;
use executorch_format::Analysis;
use executorch_format::Pte;
use executorch_format::inspect::{Graph, NodeKind};
use executorch_format::pictures::model_explorer;
use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Program, Tensor};
use executorch_format_support::corpus::damaged;
use executorch_format_support::data;
use executorch_format_support::fixtures::{Fixture, fixture, fixtures, for_each};
use executorch_format_support::networks;
use std::collections::BTreeSet;
use std::process::Command;

fn graphs<T>(file: &[u8], look: impl Fn(&[Graph<'_>]) -> T) -> T {
    look(&Analysis::new(&Pte::parse(file).unwrap()).graphs())
}

fn programs() -> Vec<Fixture> {
    fixtures().into_iter().filter(Fixture::is_pte).collect()
}

/// Returns the edges as `from -> to`, with the labels of their nodes.
fn edges(graph: &Graph<'_>) -> Vec<String> {
    let label = |node: usize| graph.nodes[node].label.as_str();
    graph.edges.iter().map(|edge| format!("{} -> {}", label(edge.from), label(edge.to))).collect()
}

#[test]
fn values_flow_from_the_instruction_that_writes_them() {
    graphs(fixture("1.5.1/add_mul/add_mul.pte").bytes(), |graphs| {
        let [graph] = graphs else { panic!("{} methods", graphs.len()) };
        let expected = ["input 0 -> aten::mm.out", "aten::mm.out -> aten::add.out", "aten::add.out -> output 0"];
        assert_eq!(edges(graph), expected);
        let names: Vec<_> =
            graph.nodes[2].arguments.iter().map(|argument| (argument.name.as_deref(), argument.output)).collect();
        let inputs = [(Some("self"), false), (Some("other"), false), (Some("alpha"), false)];
        assert_eq!(names, [&inputs[..], &[(Some("out"), true)]].concat());
    });
}

#[test]
fn a_view_depends_on_the_instruction_that_wrote_its_memory() {
    // No instruction writes the inputs of many products: they share the place of a value that one writes.
    graphs(fixture("bench/llama6_external.pte").bytes(), |graphs| {
        let graph = &graphs[0];
        let products: BTreeSet<usize> = graph
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.label == "aten::mm.out")
            .map(|(index, _)| index)
            .collect();
        let fed: BTreeSet<usize> = graph.edges.iter().map(|edge| edge.to).filter(|to| products.contains(to)).collect();
        assert_eq!(products.len(), 43);
        assert_eq!(products, fed);
    });
}

#[test]
fn after_branches_a_value_comes_from_each_branch() {
    graphs(fixture("1.5.1/cond/cond.pte").bytes(), |graphs| {
        let graph = &graphs[0];
        let to_output: Vec<_> = graph
            .edges
            .iter()
            .filter(|edge| graph.nodes[edge.to].kind == NodeKind::Output)
            .map(|edge| (graph.nodes[edge.from].label.as_str(), edge.view))
            .collect();
        let expected = [("aten::add.out", false), ("move", true), ("aten::cos.out", false), ("move", true)];
        assert_eq!(to_output, expected);
    });
}

#[test]
fn a_view_does_not_produce_its_bytes() {
    let tensor = |offset| Tensor::new(ScalarType::FLOAT, vec![4]).with_planned(1, offset);
    let view = Tensor::new(ScalarType::FLOAT, vec![2, 2]);
    let values: Vec<EValue> =
        vec![tensor(0).into(), tensor(16).into(), view.into(), EValue::int_list(vec![]), tensor(32).into()];
    let operators = vec![Operator::new("aten::abs", "out"), Operator::new("executorch_prim::et_view", "default")];
    let instructions = vec![
        Instruction::kernel_call(0, vec![0, 1, 1]),
        Instruction::kernel_call(1, vec![1, 3, 2]),
        Instruction::kernel_call(0, vec![2, 4, 4]),
    ];
    let plan = ExecutionPlan::new("m", values, operators, instructions, 48).with_inputs(vec![0]).with_outputs(vec![4]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = Pte { program, ..Pte::default() };
    let graph = &Analysis::new(&pte).graphs()[0];
    let to_last: Vec<_> = graph.edges.iter().filter(|edge| edge.to == 3).map(|edge| (edge.from, edge.view)).collect();
    assert_eq!(to_last, [(1, false), (2, true)]);
    assert!(graph.dot().to_string().contains("n2 -> n3 [style=dotted"));
}

#[test]
fn a_delegate_is_shown_by_the_nodes_inside_it() {
    graphs(fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte").bytes(), |graphs| {
        assert_eq!(edges(&graphs[0]), ["input 0 -> XNNFullyConnected", "XNNFullyConnected -> output 0"]);
        let node = &graphs[0].nodes[1];
        assert_eq!((node.kind, node.delegate), (NodeKind::Inside, Some("XnnpackBackend")));
        let names: Vec<_> = node.arguments.iter().map(|argument| argument.name.as_deref().unwrap()).collect();
        assert_eq!(names, ["input1", "filter", "bias", "output"]);
    });
    graphs(fixture("1.5.1/quant_xnnpack/quant_xnnpack.pte").bytes(), |graphs| {
        let graph = &graphs[0];
        let found = edges(graph);
        for expected in [
            "input 0 -> XNNConvert",
            "XNNConv2d -> XNNConv2d",
            "XNNConvert -> aten::mean.out",
            "aten::mean.out -> XNNConvert",
        ] {
            assert!(found.iter().any(|edge| edge == expected), "{expected}: {found:?}");
        }
        let json = serde_json::to_value(model_explorer("quant_xnnpack.pte", graphs)).unwrap();
        let names: BTreeSet<_> = json["graphs"][0]["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["namespace"].as_str().unwrap())
            .collect();
        assert_eq!(Vec::from_iter(names), ["", "XnnpackBackend 0.0", "XnnpackBackend 0.2"]);
    });
}

#[test]
fn nodes_inside_a_delegate_refer_to_values_by_id_in_any_order() {
    let inside = |file: &[u8]| {
        let pte = Pte::parse(file).unwrap();
        let texts = |graph: &Graph<'_>| -> Vec<String> {
            let arguments = graph.nodes.iter().flat_map(|node| &node.arguments);
            arguments.map(|argument| format!("{:?} {}", argument.name, argument.text)).collect()
        };
        Analysis::new(&pte).graphs().iter().flat_map(texts).collect::<Vec<_>>()
    };
    let fixture = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let reversed = damaged(fixture.bytes(), 0, |payload| payload.graph.xvalues.as_mut().unwrap().reverse());
    assert_eq!(inside(&reversed), inside(fixture.bytes()));
}

#[test]
fn every_program_is_a_graph_whose_data_goes_forward() {
    for_each(&programs(), |fixture| {
        let file = fixture.bytes();
        let Ok(pte) = Pte::parse(file) else { return Ok(()) };
        for (graph, plan) in
            Analysis::new(&pte).graphs().iter().zip(pte.methods().iter().filter(|plan| !plan.is_constant()))
        {
            if let Some(edge) = graph.edges.iter().find(|edge| edge.value.is_some() && edge.from >= edge.to) {
                return Err(format!("  {edge:?} goes back"));
            }
            let count = |kind| graph.nodes.iter().filter(|node| node.kind == kind).count();
            if (count(NodeKind::Input), count(NodeKind::Output)) != (plan.inputs().len(), plan.outputs().len()) {
                return Err("  not a node for each input and output".into());
            }
            // An output that is not computed is a constant or an input.
            let computed = graph.edges.iter().any(|edge| graph.nodes[edge.to].kind == NodeKind::Output);
            if plan.instructions().next().is_some()
                && count(NodeKind::Output) > 0
                && !computed
                && !plan.inputs().is_empty()
            {
                return Err("  nothing flows into an output".into());
            }
        }
        Ok(())
    });
}

#[test]
fn nodes_of_a_layout_do_not_overlap_and_edges_point_forward() {
    let check = |graph: &Graph<'_>| {
        let layout = graph.layout();
        assert_eq!(layout.nodes.len(), graph.nodes.len());
        let mut boxes: Vec<_> = layout.nodes.iter().collect();
        boxes.sort_by(|one, other| one.y.total_cmp(&other.y));
        for (index, one) in boxes.iter().enumerate() {
            assert!(
                one.x >= -0.5 && one.x + one.width <= layout.width + 0.5 && one.y + one.height <= layout.height,
                "{one:?}"
            );
            let below = boxes[index + 1..].iter().take_while(|other| other.y < one.y + one.height);
            for other in below {
                assert!(one.x + one.width <= other.x || other.x + other.width <= one.x, "{one:?} {other:?}");
            }
        }
        for edge in graph.edges.iter().filter(|edge| edge.value.is_some()) {
            let (from, to) = (layout.nodes[edge.from], layout.nodes[edge.to]);
            // Or to the next column, if a high picture continues in columns.
            let on = from.y + from.height <= to.y || from.x + from.width <= to.x;
            assert!(on, "{edge:?}: {from:?} {to:?}");
        }
    };
    for name in ["1.5.1/multi_method/multi_method.pte", "bench/llama6_external.pte"] {
        graphs(fixture(name).bytes(), |graphs| graphs.iter().for_each(check));
    }
    graphs(&networks::mobilenet(), |graphs| graphs.iter().for_each(check));
}

/// Returns a method whose operator, input and method have names that look like markup.
fn hostile() -> Vec<u8> {
    let tensor = |offset| Tensor::new(ScalarType::FLOAT, vec![4]).with_planned(1, offset);
    let values: Vec<EValue> =
        vec![tensor(0).into(), "\"]; evil -> b [\"</text><script>alert(1)</script>\\".into(), tensor(16).into()];
    let operator = Operator::new("a\"];\n</title></svg><script>x", "\\N&amp;\u{202e}\u{1b}[31m");
    let plan = ExecutionPlan::new(
        "m\"{</script>\0",
        values,
        vec![operator],
        vec![Instruction::kernel_call(0, vec![0, 1, 2, 2])],
        32,
    );
    let plan = plan.with_inputs(vec![0]).with_outputs(vec![2]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    Pte { program, ..Pte::default() }.image().unwrap().to_vec().unwrap()
}

#[test]
fn names_are_not_markup_in_svg() {
    let svg = graphs(&hostile(), |graphs| graphs[0].svg().to_string());
    assert!(
        !svg.contains("<script") && !svg.contains('\u{202e}') && !svg.contains('\u{1b}') && !svg.contains('\0'),
        "{svg}"
    );
    // Tags are opened and closed in order.
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split(' ').next().unwrap()),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn names_are_not_syntax_in_dot() {
    let dot = graphs(&hostile(), |graphs| graphs[0].dot().to_string());
    // The text outside of quoted strings must be the intended statements.
    let (mut outside, mut quoted, mut escaped) = (String::new(), false, false);
    for character in dot.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if !quoted => outside.push(character),
            _ => {}
        }
    }
    assert!(!quoted && !outside.contains("evil") && !outside.contains("script"), "{outside}");
    assert_eq!(outside.matches("->").count(), 2);
    assert!(dot.is_ascii(), "{dot}");
}

#[test]
fn pictures_equal_the_golden_files() {
    for name in ["1.5.1/add_mul/add_mul", "1.5.1/cond/cond", "1.5.1/linear_xnnpack/linear_xnnpack"] {
        graphs(fixture(&format!("{name}.pte")).bytes(), |graphs| {
            let base = name.rsplit('/').next().unwrap();
            golden(&format!("graph/{base}.svg"), &graphs[0].svg().to_string()).unwrap();
            golden(&format!("graph/{base}.dot"), &graphs[0].dot().to_string()).unwrap();
        });
    }
}

#[test]
fn graph_needs_one_form_and_for_a_picture_one_method() {
    let file = fixture("1.5.1/multi_method/multi_method.pte").path;
    let run = |arguments: &[&str]| pte().arg("graph").arg(&file).args(arguments).output().unwrap();
    assert_eq!(run(&[]).status.code(), Some(2));
    let several = run(&["--svg"]);
    assert_eq!(several.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&several.stderr).contains("--method"));
    let one = run(&["--svg", "--method", "forward"]);
    assert!(one.status.success() && one.stdout.starts_with(b"<svg "));
    assert_eq!(run(&["--dot", "--method", "none"]).status.code(), Some(2));
    let ptd = pte().args(["graph", "--dot"]).arg(fixture("1.5.1/ptd_names/ptd_names.ptd").path).output().unwrap();
    assert_eq!(ptd.status.code(), Some(2));
}

#[test]
fn model_explorers_form_has_all_fields_of_its_reader() {
    graphs(fixture("1.5.1/add_mul/add_mul.pte").bytes(), |graphs| {
        let json = serde_json::to_value(model_explorer("add_mul.pte", graphs)).unwrap();
        let nodes = json["graphs"][0]["nodes"].as_array().unwrap();
        assert_eq!(json["graphs"][0]["id"], "forward");
        assert_eq!(nodes.len(), 4);
        assert_eq!(nodes[2]["incomingEdges"][0]["sourceNodeId"], "1");
        assert_eq!(nodes[2]["outputsMetadata"][0]["attrs"][1]["value"], "f32[2, 2]");
    });
}

/// A command that prints errors of nodes.
const NODE_ERRORS: &str = "debug etrecord/net_xnnpack.etdp --debug-buffer etrecord/net_xnnpack.debug.bin \
     --program etrecord/net_xnnpack.pte --before etrecord/net_portable.etdp \
     --before-debug-buffer etrecord/net_portable.debug.bin --before-program etrecord/net_portable.pte --node-data";

#[test]
fn node_data_has_the_numbers_of_nodes_by_the_ids_of_the_graph() {
    let json = |line: &str| {
        let output = pte().current_dir(data()).args(line.split_whitespace()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let graph = json("graph etrecord/net_xnnpack.pte --model-explorer");
    let nodes = graph["graphs"][0]["nodes"].as_array().unwrap();
    let id = |label: &str| {
        let node = nodes.iter().find(|node| node["label"] == label);
        node.unwrap_or_else(|| panic!("no {label}"))["id"].as_str().unwrap().to_owned()
    };
    let macs = json("graph etrecord/net_xnnpack.pte --node-data macs");
    let results = macs["forward"]["results"].as_object().unwrap();
    let sum: f64 = results.values().map(|result| result["value"].as_f64().unwrap()).sum();
    assert_eq!(sum, 49_288.0);
    assert!(results[&id("XNNFullyConnected")]["value"].as_f64().unwrap() > 0.0, "{results:?}");
    // The weights of a row of 8 elements by 5 columns, with a bias, of 4 bytes each.
    let sizes = json("graph 1.5.1/linear_xnnpack/linear_xnnpack.pte --node-data sizes");
    assert_eq!(sizes["forward"]["results"], serde_json::json!({"1": {"value": 4.0 * 45.0}}));
    let times = json("graph etrecord/net_xnnpack.pte --node-data times --trace etrecord/net_xnnpack.etdp");
    assert!(!times["forward"]["results"].as_object().unwrap().is_empty());
    assert_eq!(times["forward"]["gradient"][0]["stop"], 0);
    // The first number of a gradient is the worst, a low ratio.
    let errors = json(NODE_ERRORS);
    let results = errors["forward"]["results"].as_object().unwrap();
    assert!(!results.is_empty() && results.values().all(|result| result["value"].as_f64().unwrap() > 20.0), "{errors}");
    assert_eq!(errors["forward"]["gradient"][0]["bgColor"], times["forward"]["gradient"][1]["bgColor"]);
    let output = pte().current_dir(data()).args("graph etrecord/net_xnnpack.pte --node-data times".split(' ')).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--node-data times requires --trace"));
}

/// Needs Python with `ai-edge-model-explorer` from PyPI, named by the environment variable `MODEL_EXPLORER_PYTHON`.
#[test]
fn model_explorers_own_structures_hold_every_graph() {
    let Some(python) = std::env::var_os("MODEL_EXPLORER_PYTHON") else {
        eprintln!("not compared with Model Explorer: MODEL_EXPLORER_PYTHON names no Python that has it");
        return;
    };
    const CHECK: &str = r#"
import dataclasses, dacite, json, sys
from model_explorer import graph_builder
for name in sys.argv[1:]:
    document = json.load(open(name))
    if "graphs" not in document:
        for data in document.values():
            from model_explorer import node_data_builder
            dacite.from_dict(node_data_builder.GraphNodeData, data, dacite.Config(strict=True))
        continue
    collection = dacite.from_dict(graph_builder.GraphCollection, document, dacite.Config(strict=True))
    for graph in collection.graphs:
        ids = {node.id for node in graph.nodes}
        assert len(ids) == len(graph.nodes)
        for node in graph.nodes:
            assert all(edge.sourceNodeId in ids for edge in node.incomingEdges), node.id
"#;
    let mut made = Vec::new();
    for fixture in programs() {
        let output = pte().args(["graph", "--model-explorer"]).arg(&fixture.path).output().unwrap();
        if output.status.success() {
            made.push(TempFile::new("explorer.json", &output.stdout));
        }
    }
    assert!(made.len() > 20);
    for line in ["graph etrecord/net_xnnpack.pte --node-data macs", NODE_ERRORS] {
        let output = pte().current_dir(data()).args(line.split_whitespace()).output().unwrap();
        made.push(TempFile::new("node-data.json", &output.stdout));
    }
    let files = made.iter().map(|made| &made.0);
    let output = Command::new(python).args(["-c", CHECK]).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
