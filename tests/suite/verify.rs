//! The rules on valid files, and cases that the malformed corpus does not cover.

use executorch_format::Pte;
use executorch_format::schema::program::{Chain, ExecutionPlan, Instruction, InstructionArguments, KernelCall};
use executorch_format::verify::{Finding, Level, Severity, checked_operators, explain_operator};
use executorch_format_support::fixtures::{Fixture, fixture, fixtures, scaled, stride};
use executorch_format_support::verdict;

/// Returns all findings of a fixture with its `.ptd` files: those in its folder, or in a shared folder those with its name.
fn findings(fixture: &Fixture, all: &[Fixture]) -> Vec<Finding> {
    let folder = || all.iter().filter(|other| other.path.parent() == fixture.path.parent());
    let shared = folder().filter(|other| other.is_pte()).count() > 4;
    let belongs = |other: &&Fixture| {
        let named = other.path.file_stem() == fixture.path.file_stem();
        fixture.is_pte() && !other.is_pte() && (named || !shared)
    };
    let files: Vec<&[u8]> = folder().filter(belongs).map(Fixture::bytes).collect();
    verdict::findings(&[&[fixture.bytes()], files.as_slice()].concat(), Level::Strict)
}

/// Returns the rules that official files break. ExecuTorch 1.5 refuses these files or cannot use them.
fn expected_errors(fixture: &Fixture) -> &'static [&'static str] {
    // The constants are inside the FlatBuffer, or there are neither constants nor a constant segment.
    if fixture.beside("run.txt").is_some_and(|verdict| verdict.contains("relies on the constant_buffer path")) {
        return &["constant-buffer"];
    }
    match (fixture.version().as_str(), fixture.name().as_str()) {
        ("0.2.1", name) if !name.contains("add_mul/") && !name.contains("mutable/") => &["constant-buffer"],
        // "Fully dynamic tensor shapes not yet supported".
        (_, name) if name.contains("dynamic_unbound_free") => &["tensor-unbounded"],
        // "input tensors have different dim orders".
        (_, name) if name.contains("dynamic_nonzero") => &["kernel-dim-order"],
        ("kernels", name) => match name {
            "kernels/count_wrong.pte" => &["kernel-argument-count"],
            "kernels/kind_double_for_int.pte" => &["kernel-argument-kind"],
            "kernels/mul_cl_broadcast.pte" | "kernels/se2_dim.pte" | "kernels/softmax_cl_last.pte" => &[],
            "kernels/dropout_training_mode.pte" | "kernels/nonzero_dim_order_1_0.pte" | "kernels/bicubic_aa.pte" => &[],
            _ => &["kernel-dim-order"],
        },
        // "Failed to parse FlatTensor header". It also has an early schema.
        (_, name) if name.ends_with("flatc_only.ptd") => &["ptd-header", "ptd-schema"],
        // "Segment index 10241 is out of bounds": the runtime reads an early schema as the current one.
        ("0.6.0", name) if name.ends_with(".ptd") || name.contains("add_mul_external") => &["ptd-schema"],
        _ => &[],
    }
}

#[test]
fn official_files_have_only_errors_that_the_runtime_has_too() {
    let all = fixtures();
    for fixture in &all {
        let mut errors: Vec<_> =
            findings(fixture, &all).into_iter().filter(|finding| finding.severity == Severity::Error).collect();
        errors.dedup_by_key(|finding| finding.rule);
        let rules: Vec<_> = errors.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, expected_errors(fixture), "{}: {errors:#?}", fixture.name());
    }
}

#[test]
fn official_files_have_only_expected_warnings() {
    let all = fixtures();
    for fixture in &all {
        let name = fixture.name();
        let expected = |finding: &Finding| match finding.rule {
            "constant-alignment" => name.contains("align_const_1.") || name.contains("align_const_4."),
            "external-unchecked" => {
                name.contains("0.5.0/add_mul_external")
                    || name.contains("llama6_external")
                    || name.contains("data_map_model")
            }
            "key-prefix" => name.contains("ptd_shared") || name.contains("ptd_dtypes"),
            "operator-without-kernel" => name.contains("bicubic_aa"),
            "training-mode" => name.contains("dropout_training_mode"),
            "native-code" => name.contains("cuda_fqn"),
            "payload-unchecked" => name.contains("cuda_fqn") || name.contains("ethosu_external"),
            "state-unplanned" => name.contains("mutable_unplanned"),
            "shared-state" => name.contains("wrong_9011030"),
            "kernel-wrong-values" => ["mul_cl_broadcast", "nonzero_dim_order_1_0", "se2_dim", "softmax_cl_last"]
                .iter()
                .any(|program| name.contains(program)),
            // Its keys are deliberately strange.
            "name-deceptive" | "name-alike" => name.contains("ptd_names"),
            _ => false,
        };
        for finding in findings(fixture, &all).iter().filter(|finding| finding.severity == Severity::Warning) {
            assert!(expected(finding), "{name}: {finding}");
        }
    }
}

#[test]
fn only_files_of_an_old_flatbuffers_have_a_note_about_shared_vtables() {
    let all = fixtures();
    for fixture in all.iter().filter(|fixture| fixture.is_pte() && fixture.version().starts_with("1.5.1")) {
        let found = findings(fixture, &all);
        let notes: Vec<_> = found.iter().filter(|finding| finding.severity == Severity::Note).collect();
        let old = fixture.version() == "1.5.1-flatbuffers-25.9";
        assert_eq!(notes.iter().any(|note| note.rule == "vtable-shared"), old, "{}", fixture.name());
    }
}

#[test]
fn a_table_at_the_end_without_the_padding_in_its_vtable_gets_a_note() {
    for (inline_size, noted) in [(8u16, false), (12, true)] {
        let mut file = 16u32.to_le_bytes().to_vec();
        file.extend(b"ET12");
        // A vtable with the version, and its table, which ends with the file.
        [6, inline_size, 4, 0].into_iter().for_each(|word: u16| file.extend(word.to_le_bytes()));
        [8u32, 0].into_iter().for_each(|number| file.extend(number.to_le_bytes()));
        let found = Pte::parse(&file).unwrap().verify(Level::Strict);
        assert_eq!(found.iter().any(|finding| finding.rule == "vtable-shared"), noted, "{found:#?}");
    }
}

/// Some fixtures have a `run.txt` with the runtime's output.
#[test]
fn files_that_the_runtime_refuses_to_load_have_an_error() {
    let all = fixtures();
    for fixture in &all {
        let Some(verdict) = fixture.beside("run.txt") else {
            continue;
        };
        // A missing backend, kernel or `.ptd` is not an error in the file.
        let missing = ["is not registered", "Error::OperatorMissing", "external_data_map is null"];
        if missing.iter().any(|what| verdict.contains(what)) {
            continue;
        }
        let refused = ["program load: error", "ptd load: error", "  load_method: error", "  meta: error"];
        // The `.ptd` file of this program was not given, or has a schema that the runtime cannot read.
        let without_data = fixture.name().ends_with("add_mul_external.pte");
        if refused.iter().any(|line| verdict.contains(line)) && !without_data {
            let errors = findings(fixture, &all).iter().filter(|finding| finding.severity == Severity::Error).count();
            assert!(errors > 0, "{}: {verdict}", fixture.name());
        }
    }
}

fn one_method(plan: ExecutionPlan<'static>) -> Pte<'static> {
    let mut pte = Pte::default();
    pte.program.execution_plan = Some(vec![plan]);
    pte
}

fn instructions(count: usize, args: &[i32]) -> ExecutionPlan<'static> {
    let call = KernelCall { op_index: 0, args: Some(args.to_vec().into()) };
    let instruction = Instruction { instr_args: InstructionArguments::KernelCall(call) };
    let chain = Chain { instructions: Some(vec![instruction; count]), ..Default::default() };
    ExecutionPlan { chains: Some(vec![chain]), ..Default::default() }
}

#[test]
fn a_program_with_a_million_and_one_tables_breaks_the_table_limit() {
    // The root, the method and the chain are one table each; each instruction is two.
    for (count, rest, expected) in [(499_998, 1, 0), (499_998, 2, 1)] {
        let mut plan = instructions(count, &[]);
        plan.operators = Some(vec![Default::default(); rest]);
        let found = one_method(plan).verify(Level::Runtime);
        assert_eq!(found.iter().filter(|finding| finding.rule == "table-limit").count(), expected);
    }
}

#[test]
fn many_findings_of_one_rule_are_counted() {
    let found = one_method(instructions(1000, &[7])).verify(Level::Strict);
    let found: Vec<_> = found.iter().filter(|finding| finding.rule == "argument-index").collect();
    assert_eq!(found.len(), 101);
    assert_eq!(found[99].path, "execution_plan[0].chains[0].instructions[99].instr_args.KernelCall.args[0]");
    assert_eq!(found[100].message, "900 more findings of this rule not listed");
}

#[test]
fn findings_about_borrowed_data_have_its_offset() {
    let fixture = fixture("1.5.1/add/add.pte");
    let bytes = fixture.bytes();
    let mut pte = Pte::parse(bytes).unwrap();
    pte.program.execution_plan.as_mut().unwrap()[0].values.as_mut().unwrap().truncate(1);
    let found = pte.verify(Level::Runtime);
    let input = found.iter().find(|finding| finding.rule == "input-output-index").unwrap();
    assert_eq!(input.path, "execution_plan[0].inputs[1]");
    // A big-endian machine copies numbers, and a copy has no offset in the file.
    assert_eq!(input.offset.is_some(), cfg!(target_endian = "little"));
    if let Some(offset) = input.offset {
        assert_eq!(bytes[offset as usize..][..4], 1i32.to_le_bytes());
    }
}

/// Every value is in planned memory, and every instruction uses a list of all values.
#[test]
fn a_list_used_by_every_instruction_does_not_take_quadratic_time() {
    use executorch_format::schema::program::{AllocationDetails, EValue, KernelTypes, Tensor, TensorList};
    let count = scaled(50_000);
    let allocation = AllocationDetails { memory_id: 1, ..Default::default() };
    let tensor = Tensor {
        scalar_type: executorch_format::schema::ScalarType::BYTE,
        sizes: Some((&[4][..]).into()),
        dim_order: Some((&[0][..]).into()),
        allocation_info: Some(allocation),
        ..Default::default()
    };
    let mut values = vec![EValue { val: KernelTypes::Tensor(tensor) }; count];
    values.push(EValue { val: TensorList { items: Some((0..count as i32).collect::<Vec<_>>().into()) }.into() });
    let mut plan = instructions(count, &[count as i32]);
    plan.values = Some(values);
    plan.non_const_buffer_sizes = Some((&[0, 4][..]).into());
    // Quadratic time would be the square of that many steps, far longer than any other test.
    let found = one_method(plan).verify(Level::Strict);
    assert!(found.iter().any(|finding| finding.rule == "planned-memory-unknown"), "{found:#?}");
}

/// Changes every byte of some small files. Each level must include the findings of the levels before it.
#[test]
fn verifying_files_with_a_changed_byte_never_panics() {
    let names = [
        "1.5.1/cond/cond.pte",
        "1.5.1/linear_xnnpack_inline/linear_xnnpack_inline.pte",
        "1.5.1/tensor_lists/tensor_lists.pte",
    ];
    for name in names {
        let fixture = fixture(name);
        let mut bytes = fixture.bytes().to_vec();
        for at in (0..bytes.len()).step_by(stride()) {
            let before = bytes[at];
            for byte in [0, 1, 0x7f, 0xff, before ^ 0x80] {
                bytes[at] = byte;
                if let Ok(pte) = Pte::parse(&bytes) {
                    let strict = pte.verify(Level::Strict);
                    let runtime = pte.verify(Level::Runtime);
                    assert!(runtime.iter().all(|finding| strict.contains(finding)), "{name}, byte {at} is {byte}");
                    let inside = |finding: &Finding| finding.offset.is_none_or(|offset| offset <= bytes.len() as u64);
                    assert!(strict.iter().all(inside), "{name}, byte {at} is {byte}: {strict:#?}");
                }
            }
            bytes[at] = before;
        }
    }
}

#[test]
fn a_value_of_a_known_kind_without_content_is_found() {
    use executorch_format::schema::program::{EValue, KernelTypes};
    use executorch_format::schema::{Unknown, UnknownValue};
    // The runtime reads the content of every kind except Null, which has tag 1.
    for (tag, level, expected) in
        [(1, Level::Runtime, 0), (1, Level::Strict, 1), (2, Level::Runtime, 1), (11, Level::Runtime, 1)]
    {
        let unknown = Unknown { tag, value: UnknownValue::Absent };
        let mut plan = instructions(0, &[]);
        plan.values = Some(vec![EValue { val: KernelTypes::Unknown(unknown) }]);
        let findings = one_method(plan).verify(level);
        let found = findings.iter().filter(|finding| finding.rule == "value-kind").count();
        assert_eq!(found, expected, "a value of kind {tag} at {level:?}: {findings:#?}");
    }
}

#[test]
fn missing_memory_lists_only_users_of_memory() {
    use executorch_format::verify::Missing;
    let lack = |xnnpack, without_temporary, other_delegates| {
        let (method, needed, available) = ("forward".into(), 10, 4);
        Missing::MethodAllocator { method, needed, available, xnnpack, without_temporary, other_delegates }.to_string()
    };
    assert!(!lack(0, 0, 0).contains(';'), "{}", lack(0, 0, 0));
    assert!(lack(3, 0, 0).ends_with("; 3 of them for XNNPACK's delegates"), "{}", lack(3, 0, 0));
    assert!(lack(0, 0, 1).ends_with("; 1 delegate of other backends may take more"), "{}", lack(0, 0, 1));
}

#[test]
fn each_operator_whose_calls_are_checked_has_an_explanation() {
    let names = checked_operators();
    assert!(names.contains(&"aten::cat.out") && names.is_sorted());
    for name in names {
        assert!(explain_operator(name).is_some_and(|text| text.contains("Demands of")), "{name}");
    }
    assert_eq!(explain_operator("aten::no_such_operator"), None);
}
