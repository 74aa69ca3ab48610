//! The operators and backends that programs need.

use executorch_format::inspect::Operators;
use executorch_format::schema::program::InstructionArguments;
use executorch_format::verify::{Library, Missing, Target};
use executorch_format::{Analysis, Model, Pte};
use executorch_format_support::fixtures::{Fixture, equal, fixture, fixtures, for_each};
use std::collections::{BTreeMap, BTreeSet};
use yaml_serde::Value;

fn operators(name: &str) -> Operators {
    Analysis::new(&Pte::parse(fixture(name).bytes()).unwrap()).operators()
}

/// Names of operators, and kernel keys by name.
type Essence = (BTreeSet<String>, BTreeMap<String, BTreeSet<String>>);

/// Returns the result of ExecuTorch's own tool.
fn official(fixture: &Fixture) -> Option<Essence> {
    let list: Value = yaml_serde::from_str(&fixture.beside("oplist.yaml")?).unwrap();
    let names =
        |value: &Value| value.as_sequence().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    let keys = list["et_kernel_metadata"].as_mapping().into_iter().flatten();
    let keys = keys.map(|(name, keys)| (name.as_str().unwrap().to_owned(), names(keys))).collect();
    Some((names(&list["operators"]), keys))
}

fn same(fixture: &Fixture) -> Result<(), String> {
    let (Some(expected), Ok(Model::Pte(pte))) = (official(fixture), Model::parse(fixture.bytes())) else {
        return Ok(());
    };
    let found = Analysis::new(&pte).operators();
    let called = found.operators.iter().filter(|(_, operator)| operator.calls > 0);
    let keys = called.map(|(name, operator)| (name.clone(), operator.kernels.keys().cloned().collect())).collect();
    equal("operators", (found.operators.keys().cloned().collect(), keys), expected)?;
    equal("faults", found.errors.len(), 0)
}

#[test]
fn operators_and_kernels_agree_with_the_official_tool() {
    let fixtures = fixtures();
    assert!(fixtures.iter().filter(|fixture| official(fixture).is_some()).count() > 50);
    for_each(&fixtures, same);
}

#[test]
fn calls_and_backends_are_counted() {
    let found = operators("1.5.1/multi_method/multi_method.pte");
    let calls: Vec<_> = found.operators.iter().map(|(name, operator)| (name.as_str(), operator.calls)).collect();
    assert_eq!(calls, [("aten::addmm.out", 4), ("aten::permute_copy.out", 4)]);
    let found = operators("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    assert!(found.operators.is_empty());
    let backend = &found.backends["XnnpackBackend"];
    assert_eq!((backend.delegates, backend.calls), (1, 1));
}

#[test]
fn operators_inside_delegates_are_counted() {
    let inside = |name: &str, backend: &str| Vec::from_iter(operators(name).backends[backend].operators.clone());
    let linear = inside("1.5.1/linear_xnnpack/linear_xnnpack.pte", "XnnpackBackend");
    assert_eq!(linear, [("XNNFullyConnected".to_owned(), 1)]);
    let quantized = inside("1.5.1/quant_xnnpack/quant_xnnpack.pte", "XnnpackBackend");
    assert!(quantized.iter().any(|(name, count)| name == "XNNConv2d" && *count == 2), "{quantized:?}");
}

#[test]
fn two_models_together_need_the_union_of_their_needs() {
    let (one, other) = (operators("1.5.1/multi_method/multi_method.pte"), operators("1.5.1/cond/cond.pte"));
    let mut both = one.clone();
    both.merge(other.clone());
    both.merge(operators("1.5.1/linear_xnnpack/linear_xnnpack.pte"));
    let expected: BTreeSet<_> = one.operators.keys().chain(other.operators.keys()).collect();
    assert_eq!(both.operators.keys().collect::<BTreeSet<_>>(), expected);
    let types: BTreeSet<_> = one.scalar_types().into_iter().chain(other.scalar_types()).collect();
    assert_eq!(both.scalar_types(), types.into_iter().collect::<Vec<_>>());
    assert_eq!(both.backends.len(), 1);
    both.merge(one.clone());
    assert_eq!(both.operators["aten::addmm.out"].calls, 8);
    assert_eq!(both.operators["aten::addmm.out"].kernels.len(), one.operators["aten::addmm.out"].kernels.len());
}

#[test]
fn a_target_lacks_everything_that_it_does_not_list() {
    let unmet = |name: &str, target: &Target| {
        let fixture = fixture(name);
        let pte = Pte::parse(fixture.bytes()).unwrap();
        let missing = Analysis::new(&pte).fit(target).missing;
        missing.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let model = "1.5.1/linear/linear.pte";
    let listed = |names: &[(&str, &[&str])]| {
        let one = |(name, taken): &(&str, &[&str])| {
            ((*name).to_owned(), taken.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        Target::default().with_operators(Some(names.iter().map(one).collect()))
    };
    let (addmm, permute) = ("aten::addmm.out", "aten::permute_copy.out");
    let all = listed(&[(addmm, &[]), (permute, &[])]);
    assert_eq!(unmet(model, &all), [""; 0]);
    let missing = |what: &str| format!("method \"forward\": no operator {what} (1 call)");
    let fewer = listed(&[(addmm, &[])]);
    assert_eq!(unmet(model, &fewer), [missing("\"aten::permute_copy.out\"")]);
    assert_eq!(unmet(model, &fewer.with_all_operators()), [""; 0]);
    // Only for halves, as a combination and as a type.
    let halves = listed(&[(addmm, &["FLOAT"]), (permute, &["v1/5;0,1|5;0,1|5;0,1"])]);
    assert_eq!(unmet(model, &halves), [missing("\"aten::permute_copy.out\" for v1/6;0,1|6;0,1|6;0,1")]);
    assert_eq!(unmet(model, &listed(&[(addmm, &[]), (permute, &["default"])])), [""; 0]);
    let halves = listed(&[(addmm, &["HALF"]), (permute, &["HALF", "FLOAT"])]);
    assert_eq!(unmet(model, &halves), [missing("\"aten::addmm.out\" for FLOAT")]);
    let types = all.with_scalar_types(Some(["HALF".to_owned()].into()));
    let float = [missing("\"aten::addmm.out\" for FLOAT"), missing("\"aten::permute_copy.out\" for FLOAT")];
    assert_eq!(unmet(model, &types), float);
    let delegated = "1.5.1/linear_xnnpack/linear_xnnpack.pte";
    assert_eq!(unmet(delegated, &listed(&[])), [""; 0]);
    let none = Target::default().with_backends(Some(BTreeSet::new()));
    assert_eq!(unmet(delegated, &none), ["method \"forward\": no backend \"XnnpackBackend\" (1 delegate)"]);
}

#[test]
fn a_target_with_a_runtime_has_the_operators_of_its_libraries() {
    let fixture = fixture("1.5.1/evalue_kinds/evalue_kinds.pte");
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let told = |target: &Target| {
        target.check().unwrap();
        Analysis::new(&pte).fit(target).missing.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let portable = || Some(vec![Library::Portable]);
    let old = Target::default().with_runtime(Some("0.5".parse().unwrap())).with_libraries(portable());
    assert!(told(&old)[0].contains("0.5 refuses: missing-operators"), "{:?}", told(&old));
    // A list without libraries is complete; with libraries, it lists additional operators.
    let upsample = || Some([("aten::upsample_bilinear2d.vec_out".to_owned(), vec![])].into());
    let listed = old.clone().with_libraries(None).with_operators(upsample());
    assert!(told(&listed).iter().all(|lack| lack.contains("no operator")), "{:?}", told(&listed));
    let besides = listed.with_libraries(portable());
    assert_eq!(told(&besides), [""; 0]);
    assert_eq!(told(&old.with_all_operators()), [""; 0]);
    assert!(Target::default().with_libraries(Some(vec![])).check().is_err());
}

#[test]
fn unknown_needs_are_not_reported_as_met() {
    let fixture = fixture("1.5.1/blob_inline/blob_inline.pte");
    let target = Target::default().with_runtime(Some("1.2".parse().unwrap())).with_method_allocator(Some(1 << 20));
    let pte = Pte::parse(fixture.bytes()).unwrap();
    let check = Analysis::new(&pte).fit(&target);
    let unknown: Vec<String> = check.unknown.iter().map(ToString::to_string).collect();
    assert!(check.missing.is_empty() && unknown.len() == 3, "{check:?}");
    assert!(unknown[0].contains("1.2 loads: not checked: payloads of FxBlobBackend"), "{unknown:?}");
    assert_eq!(unknown[1], "method \"forward\": what \"FxBlobBackend\" takes from the method allocator");
    assert!(unknown[2].contains("the sizes are those of 1.5"), "{unknown:?}");
}

/// Bytes that ExecuTorch 1.5.1 took from the method allocator to load `forward`, as printed by `etcheck --no-exec` and
/// `etcheck --no-exec --no-temp`: with a temporary allocator, and without.
const TAKEN: &[(&str, u64, u64)] = &[
    ("1.5.1/add_mul/add_mul.pte", 616, 896),
    ("1.5.1/linear_xnnpack/linear_xnnpack.pte", 584, 632),
    ("1.5.1/evalue_kinds/evalue_kinds.pte", 1832, 2856),
    ("1.5.1/tensor_lists/tensor_lists.pte", 1736, 2326),
    ("1.5.1/optional_tensor_list/optional_tensor_list.pte", 1440, 2009),
    ("1.5.1/quant_xnnpack/quant_xnnpack.pte", 1352, 1552),
    ("1.5.1/align_delegate_inline/align_delegate_64.pte", 1464, 1592),
    ("1.5.1/dynamic_bounded/dynamic_bounded.pte", 1136, 1696),
];

#[test]
fn a_method_allocator_that_is_too_small_is_missing_memory() {
    for (name, with, without) in TAKEN {
        let fixture = fixture(name);
        let pte = Pte::parse(fixture.bytes()).unwrap();
        for (temp_allocator, taken) in [(Some(true), *with), (Some(false), *without), (None, *without)] {
            let target = |available| {
                Target::default().with_method_allocator(Some(available)).with_temp_allocator(temp_allocator)
            };
            assert_eq!(Analysis::new(&pte).fit(&target(taken)).missing, [], "{name}");
            let missing = Analysis::new(&pte).fit(&target(taken - 1)).missing;
            assert!(
                matches!(&missing[..], [Missing::MethodAllocator { needed, .. }] if *needed == taken),
                "{name}: {missing:?}"
            );
        }
    }
}

#[test]
fn an_index_out_of_range_is_a_fault_with_a_path() {
    let fixture = fixture("1.5.1/add/add.pte");
    let mut pte = Pte::parse(fixture.bytes()).unwrap();
    let chains = pte.program.execution_plan.as_mut().unwrap()[0].chains.as_mut().unwrap();
    let InstructionArguments::KernelCall(call) = &mut chains[0].instructions.as_mut().unwrap()[0].instr_args else {
        unreachable!()
    };
    call.args.as_mut().unwrap().to_mut()[0] = 77;
    let told: Vec<String> = Analysis::new(&pte).operators().errors.iter().map(ToString::to_string).collect();
    let path = "execution_plan[0].chains[0].instructions[0]";
    assert!(told[0].starts_with(&format!("{path}.instr_args.KernelCall.args: ")), "{told:?}");
    let told: Vec<String> = Analysis::new(&pte).disassembly().errors.iter().map(ToString::to_string).collect();
    assert!(told[0].starts_with(path) && told[0].contains("value 77, but there are"), "{told:?}");
}

#[test]
fn a_freed_value_is_described_as_freed() {
    use executorch_format::inspect::Operation;
    use executorch_format::schema::program::{ExecutionPlan, FreeCall, Instruction, Program};
    let instruction = Instruction { instr_args: FreeCall { value_index: 3 }.into() };
    let plan = ExecutionPlan::new("forward", vec![1.into(); 4], Vec::new(), vec![instruction], 0);
    let pte = Pte { program: Program { execution_plan: Some(vec![plan]), ..Program::default() }, ..Pte::default() };
    let analysis = Analysis::new(&pte);
    let code = analysis.disassembly();
    assert_eq!(analysis.into_disassembly(), code);
    let operation = &code.methods[0].chains[0].instructions[0].operation;
    assert_eq!(*operation, Operation::Free { value: 3 });
    assert_eq!(operation.values().collect::<Vec<_>>(), [3]);
}

#[test]
fn a_missing_item_of_a_list_is_shown_as_none() {
    use executorch_format::schema::ScalarType;
    use executorch_format::schema::program::{
        EValue, ExecutionPlan, Instruction, KernelTypes, Operator, OptionalTensorList, Program, Tensor,
    };
    let list = OptionalTensorList { items: Some(vec![-1, 0, 7].into()) };
    let tensor = Tensor::new(ScalarType::FLOAT, vec![2]).with_planned(1, 0);
    let values = vec![tensor.into(), EValue { val: KernelTypes::OptionalTensorList(list) }];
    let calls = vec![Instruction::kernel_call(0, vec![0, 1, 0, 0])];
    let plan = ExecutionPlan::new("forward", values, vec![Operator::new("aten::index", "Tensor_out")], calls, 8);
    let pte = Pte { program: Program { execution_plan: Some(vec![plan]), ..Program::default() }, ..Pte::default() };
    let graph = Analysis::new(&pte).graphs().remove(0);
    let texts = graph.nodes.iter().flat_map(|node| &node.arguments).map(|argument| &*argument.text);
    assert!(texts.clone().any(|text| text == "[None, f32[2], ?]"), "{:?}", texts.collect::<Vec<_>>());
}

#[test]
fn kernel_keys_are_those_of_executorch() {
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let operators = Analysis::new(&Pte::parse(file.bytes()).unwrap()).operators();
    operators.check_names().unwrap();
    let kernels = operators.operators.values().flat_map(|operator| operator.kernels.keys());
    // As in `add_mul.pte.oplist.yaml`, which ExecuTorch's own tool made.
    assert_eq!(kernels.collect::<Vec<_>>(), ["v1/6;0,1|6;0,1|6;0,1|6;0,1"; 2]);
    let mut odd = operators.clone();
    odd.operators.insert("a\"b".into(), operators.operators.values().next().unwrap().clone());
    let error = odd.check_names().unwrap_err();
    assert!(
        matches!(error.kind(), executorch_format::ErrorKind::Unwritable(_)) && error.to_string().contains("a\\\"b"),
        "{error}"
    );
}

#[test]
fn each_limit_of_a_target_is_set_by_its_method() {
    let target = Target::default().with_accelerator(Some("ethos-u55-128".into())).with_scratch(Some(1));
    let target = target.with_largest_file(Some(2));
    assert_eq!(
        (target.accelerator.as_deref(), target.scratch, target.largest_file),
        (Some("ethos-u55-128"), Some(1), Some(2))
    );
}

#[test]
fn a_payload_for_another_soc_or_a_newer_system_is_a_missing_need() {
    let missing = |file: &str, target: Target| {
        let file = fixture(file);
        let pte = Pte::parse(file.bytes()).unwrap();
        Analysis::new(&pte).fit(&target).missing.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (qnn, coreml) = ("answers/qnn.pte", "answers/coreml_ios18.pte");
    let soc = |name: &str| Target::default().with_soc(Some(name.into()));
    let ios = |version: &str| Target::default().with_ios(Some(version.into()));
    let macos = |version: &str| Target::default().with_macos(Some(version.into()));
    for (file, lacking, there, text) in [
        (qnn, soc("SM8550"), soc("SM8650"), "SM8650"),
        (coreml, ios("17.4"), ios("18"), "iOS 18"),
        (coreml, macos("14"), macos("15.1"), "macOS 15"),
    ] {
        let found = missing(file, lacking);
        assert_eq!(found.iter().filter(|found| found.contains(text)).count(), 1, "{found:?}");
        let found = missing(file, there);
        assert!(!found.iter().any(|found| found.contains(text)), "{found:?}");
    }
}
