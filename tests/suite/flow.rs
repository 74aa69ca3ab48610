//! The effects of instructions on memory, with programs whose results are known. All answers about memory agree.

use executorch_format::Analysis;
use executorch_format::Pte;
use executorch_format::inspect::{Argument, MethodCode, MethodMemory, Operation, PlannedTensor};
use executorch_format::verify::Level;
use executorch_format_support::fixtures::{Fixture, fixture, fixtures, for_each};
use std::collections::{BTreeMap, BTreeSet};

/// Programs of `tests/data/flow`, and the rules that they break. The README there describes the results of the official runtime.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("conv_tokens_channels_last", &["view-layout"]),
    ("corrupts_heap", &["output-rebound"]),
    ("corrupts_heap_of_state", &["output-rebound"]),
    ("false_alarm_cond_valid_plan", &[]),
    ("flatten_channels_last_right", &[]),
    ("free_then_use", &["free-used", "use-after-free"]),
    ("jump_forever", &["endless-loop"]),
    ("kws", &[]),
    ("list_out_alias", &[]),
    ("llama_update_cache_alone", &[]),
    ("m_kv", &["planned-memory-overlap"]),
    ("m_scan", &[]),
    ("m_viewcond", &[]),
    ("map_leftover", &[]),
    ("miss_cond_10011", &["planned-memory-overlap"]),
    ("miss_cond_2010", &["planned-memory-overlap"]),
    ("miss_in_place_then_read", &["planned-memory-overlap"]),
    ("miss_map_before_fill", &["planned-memory-overlap"]),
    ("miss_other_20013_7", &["planned-memory-overlap"]),
    ("miss_partial_in_call", &["planned-memory-overlap"]),
    ("miss_same_place_in_call", &["planned-memory-overlap"]),
    ("nested_false_alarm", &[]),
    ("one_cond", &[]),
    ("pixel_unshuffle_channels_last", &["view-layout"]),
    ("replanned_cond_nested", &[]),
    ("replanned_profile_control", &[]),
    ("reshape_of_channels_last", &["view-layout"]),
    ("safe_cond", &[]),
    ("state_read_by_view", &["planned-memory-overlap"]),
    ("two_conds", &["planned-memory-overlap"]),
    // With warnings: they concern runs of both methods.
    ("two_methods_shared_state", &["shared-state"]),
    ("two_methods_state", &["state-overwritten"]),
    ("view_of_channels_last", &["view-layout"]),
    // With a warning: it may as well be a view of the moved value.
    ("view_of_input", &["stale-view"]),
    ("view_of_moved", &["stale-view"]),
    ("view_of_moved_nested", &["stale-view"]),
    ("view_of_one_of_two", &["planned-memory-unknown"]),
];

fn program(name: &str) -> Fixture {
    fixture(&format!("flow/{name}.pte"))
}

/// The rules about running a program.
const RULES: [&str; 11] = [
    "shared-state",
    "state-overwritten",
    "view-layout",
    "stale-view",
    "output-rebound",
    "planned-memory-overlap",
    "planned-memory-unknown",
    "tensor-memory",
    "use-after-free",
    "free-used",
    "endless-loop",
];

#[test]
fn programs_are_judged_by_what_the_official_runtime_computes() {
    for (name, expected) in PROGRAMS {
        let fixture = program(name);
        let findings = Pte::parse(fixture.bytes()).unwrap().verify(Level::Strict);
        let mut rules: BTreeSet<_> = findings.iter().map(|finding| finding.rule).collect();
        rules.retain(|rule| RULES.contains(rule));
        assert_eq!(rules, expected.iter().copied().collect(), "{name}: {findings:#?}");
    }
    let files = std::fs::read_dir(executorch_format_support::data().join("flow")).unwrap();
    let programs = files.filter(|file| file.as_ref().unwrap().path().extension().is_some_and(|end| end == "pte"));
    assert_eq!(programs.count(), PROGRAMS.len());
}

#[test]
fn an_overlap_is_reported_with_its_instructions_values_and_path() {
    let fixture = program("two_conds");
    let findings = Pte::parse(fixture.bytes()).unwrap().verify(Level::Strict);
    let texts: Vec<String> = findings.iter().map(|finding| finding.message.clone()).collect();
    let expected = "bytes 0 to 16 of planned buffer 1 overlap bytes 0 to 16 of value 7, which has the memory of value 17: \
                    instruction 14 writes to them, and instruction 20 still needs value 7";
    assert!(texts.iter().any(|text| text.starts_with(expected)), "{texts:#?}");
    let fixture = program("miss_map_before_fill");
    let findings = Pte::parse(fixture.bytes()).unwrap().verify(Level::Strict);
    assert!(findings[0].message.ends_with(", when instruction 10 does not jump"), "{findings:#?}");
}

fn tensor<'m, 't>(memory: &'m MethodMemory<'t>, value: usize) -> Option<&'m PlannedTensor<'t>> {
    memory.buffers.iter().flat_map(|buffer| &buffer.tensors).find(|tensor| tensor.value == value)
}

/// Returns the arguments of each instruction, over all chains.
fn arguments<'c>(code: &'c MethodCode<'_>) -> Vec<&'c [Argument]> {
    let instructions = code.chains.iter().flat_map(|chain| &chain.instructions);
    let arguments = instructions.map(|code| match &code.operation {
        Operation::Kernel { arguments, .. } | Operation::Delegate { arguments, .. } => arguments.as_slice(),
        _ => &[],
    });
    arguments.collect()
}

/// Checks that disassembly, memory and graph of each method agree.
fn agree(pte: &Pte<'_>) -> Result<(), String> {
    let (disassembly, memory, graphs) =
        (Analysis::new(pte).disassembly(), Analysis::new(pte).memory(), Analysis::new(pte).graphs());
    for (memory, kept) in memory.methods.iter().zip(Analysis::new(pte).kept_values()) {
        let planned = memory.buffers.iter().flat_map(|buffer| &buffer.tensors);
        let mut expected: Vec<usize> = planned.filter(|tensor| tensor.kept).map(|tensor| tensor.value).collect();
        expected.sort();
        if memory.assumed.is_empty() && kept != expected {
            return Err(format!("{}: keeps {kept:?}, in memory {expected:?}", memory.name));
        }
    }
    for (code, memory) in disassembly.methods.iter().zip(&memory.methods) {
        let Some(graph) = graphs.iter().find(|graph| graph.method == code.name) else { continue };
        if !memory.assumed.is_empty() {
            continue;
        }
        // Views that are not created by an instruction.
        let mut bases: BTreeMap<usize, i32> = BTreeMap::new();
        for argument in arguments(code).into_iter().flatten().filter(|argument| !argument.output) {
            let value = argument.value as usize;
            if let (Some(base), Some(tensor)) = (argument.view_of, tensor(memory, value)) {
                bases.insert(value, base);
                // A view of a moved value has the memory of the tensor that was moved.
                let moved = self::tensor(memory, base as usize).map(|base| base.views.as_slice()).unwrap_or_default();
                if !tensor.views.is_empty() && tensor.views != [base as usize] && tensor.views != moved {
                    return Err(format!(
                        "{}: %{value} is a view of %{base}, in memory of {:?}",
                        code.name, tensor.views
                    ));
                }
            }
        }
        for tensor in memory.buffers.iter().flat_map(|buffer| &buffer.tensors) {
            let is_own = code.values[tensor.value].written || code.inputs.contains(&(tensor.value as i32));
            let is_read = arguments(code).into_iter().flatten().any(|argument| argument.value as usize == tensor.value);
            if !is_own && is_read && !tensor.views.is_empty() && !bases.contains_key(&tensor.value) {
                return Err(format!("{}: %{} is a view in memory alone", code.name, tensor.value));
            }
        }
        // An edge carries bytes from an instruction, after which they are needed.
        let mut starts = vec![0];
        for chain in &code.chains {
            starts.push(starts[starts.len() - 1] + chain.instructions.len());
        }
        for edge in graph.edges.iter().filter(|edge| !edge.view) {
            let Some(tensor) = edge.value.and_then(|value| tensor(memory, value as usize)) else { continue };
            let bytes =
                || std::iter::once(tensor).chain(tensor.views.iter().filter_map(|view| self::tensor(memory, *view)));
            let Some(place) = graph.nodes[edge.from].instruction else { continue };
            let time = starts[place.chain] + place.instruction + 1;
            if !bytes().any(|tensor| tensor.is_needed_at(time)) {
                return Err(format!(
                    "{}: %{} comes from {place:?}, in memory from {}",
                    code.name, tensor.value, tensor.first
                ));
            }
        }
    }
    Ok(())
}

#[test]
fn disassembly_memory_and_graph_agree() {
    for_each(&fixtures(), |fixture| match Pte::parse(fixture.bytes()) {
        Ok(pte) => agree(&pte),
        Err(_) => Ok(()),
    });
    for (name, _) in PROGRAMS {
        let fixture = program(name);
        agree(&Pte::parse(fixture.bytes()).unwrap()).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
}

#[test]
fn all_answers_respect_paths_and_loops() {
    // Each item of a list of outputs is written, and is not a view of the bytes that were at its place before.
    let fixture = program("list_out_alias");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let code = &Analysis::new(&pte).disassembly().methods[0];
    let views: Vec<_> = arguments(code).into_iter().flatten().filter_map(|argument| argument.view_of).collect();
    assert_eq!(views, [0]);
    // The result of a map is written row by row: the bytes that were at its place before are not read.
    let fixture = program("map_leftover");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = Analysis::new(&pte).memory();
    assert_eq!(tensor(&memory.methods[0], 4).map(|tensor| (tensor.first, tensor.last)), Some((1, 2)));
    assert_eq!(tensor(&memory.methods[0], 8).map(|tensor| tensor.views.len()), Some(0));
    // A scratch tensor without bytes is not a view.
    let fixture = program("kws");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    assert!(
        Analysis::new(&pte)
            .memory()
            .methods
            .iter()
            .flat_map(|method| &method.buffers)
            .flat_map(|buffer| &buffer.tensors)
            .all(|tensor| tensor.size > 0 || tensor.views.is_empty())
    );
    // The bytes of a value that is moved on each of two paths are needed until it is read.
    let fixture = program("two_conds");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let memory = Analysis::new(&pte).memory();
    let last = |value| tensor(&memory.methods[0], value).map(|tensor| tensor.last);
    assert_eq!([17, 23, 31, 37].map(last), [Some(21); 4]);
}
