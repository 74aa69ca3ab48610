//! Files in which many references share one target: a long name, a long list, a large payload. A program that copies or prints the target
//! for each reference takes many times the file's size in memory and time. Also has the commands to run on these files.

use executorch_format::delegate::Xnnpack;
use executorch_format::schema::program::{
    BackendDelegate, BackendDelegateDataReference, DataLocation, EValue, ExecutionPlan, Instruction, JumpFalseCall,
    NamedData, Operator, String as Text, Tensor, TensorDataLocation,
};
use executorch_format::schema::xnnpack::{
    ConstantDataOffset, EXTERNAL_OUTPUT, PerChannelQuant, XNNDatatype, XNNGraph, XNNNode2x1, XNNQuantizedTensorValue,
    XNNTensorValue, XNode, XNodeUnion, XValue,
};
use executorch_format::schema::{DataSegment, Program, ScalarType};
use executorch_format::{DataCollector, NewEntry, Ptd, PtdOptions, Pte, PteOptions, Segment};
use std::path::Path;

/// The size of the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// The number of characters, items or bytes of the shared target.
    pub length: usize,
    /// The number of references to the target.
    pub count: usize,
}

/// A file, and the kind of its shared target.
pub struct Shared {
    pub kind: &'static str,
    /// `pte` or `ptd`.
    pub ending: &'static str,
    pub bytes: Vec<u8>,
}

impl Scale {
    /// Returns the size for files that differ slightly from those of this size, even in lists that are 32 times shorter.
    pub fn smaller(self) -> Self {
        Self { length: self.length - self.length.div_ceil(32), count: self.count - 1 }
    }
}

/// Returns a file of each kind.
pub fn files(scale: Scale) -> Vec<Shared> {
    let Scale { length, count } = scale;
    let name = || "n".repeat(length);
    let long = || Tensor::new(ScalarType::FLOAT, vec![1; length]);
    let constants = |count: usize| -> Vec<EValue<'static>> {
        (1..=count).map(|index| Tensor::new(ScalarType::BYTE, vec![4]).with_data(index as u32).into()).collect()
    };
    // A value that each instruction refers to eight times.
    let named_often = |value: EValue<'static>, operator: Operator<'static>| {
        let calls = (0..count).map(|_| Instruction::kernel_call(0, vec![0; 8])).collect();
        ExecutionPlan::new("forward", vec![value], vec![operator], calls, 64)
    };
    let add = || Operator::new("aten::add", "out");
    let string = Text { string_val: Some(name().into()) };
    let calls = |delegate: bool| -> Vec<Instruction<'static>> {
        let call = |index| match delegate {
            true => Instruction::delegate_call(0, vec![index]),
            false => Instruction::kernel_call(0, vec![index]),
        };
        (0..count as i32).map(call).collect()
    };
    let delegate = |id: String, index| BackendDelegate {
        id: Some(id.into()),
        processed: Some(BackendDelegateDataReference { location: DataLocation::SEGMENT, index }),
        compile_specs: None,
    };
    let with_delegates = |id: String, payload: Vec<u8>| {
        let mut plan = ExecutionPlan::new("forward", constants(count), Vec::new(), calls(true), 64);
        plan.delegates = Some(vec![delegate(id, 0)]);
        program(plan, count, Some(payload))
    };
    let mut files = vec![
        ("method", program(ExecutionPlan::new(name(), constants(count), vec![add()], calls(false), 64), count, None)),
        (
            "operator",
            program(
                ExecutionPlan::new("forward", constants(count), vec![Operator::new(name(), "out")], calls(false), 64),
                count,
                None,
            ),
        ),
        ("backend", with_delegates(name(), vec![1; 64])),
        ("string", program(named_often(EValue { val: string.into() }, add()), 1, None)),
        ("dims", program(named_often(long().with_data(1).into(), add()), 1, None)),
        ("items", program(named_often(EValue::int_list(vec![0; length]), add()), 1, None)),
        ("tensors", program(named_often(EValue::tensor_list(vec![0; length]), add()), 1, None)),
        ("key", with_delegates("XnnpackBackend".into(), keyed(name(), count))),
        ("scales", overlapping(quantized(length / 4), count, 0)),
        ("nodes", overlapping(nodes(length / 32, (0, u32::MAX)), count, 0)),
        ("writers", overlapping(nodes(2 * count, (EXTERNAL_OUTPUT, 0)), 1, 0)),
        ("ranges", overlapping(vec![1; length], count, 1)),
    ];
    files.push(("found", {
        let mut plan = ExecutionPlan::new("forward", constants(count), Vec::new(), calls(true), 64);
        plan.delegates = Some(vec![delegate("XnnpackBackend".into(), 0)]);
        let mut data = collected(count, Some(keyed(name(), count)));
        data.named(name(), vec![0; 16], 16).expect("an alignment");
        finished(data, plan)
    }));
    files.push(("bytes", {
        let value = |index| {
            let mut tensor = Tensor::new(ScalarType::BYTE, vec![length as i32]).with_external(format!("k{index}"));
            tensor.extra_tensor_info.get_or_insert_default().location = TensorDataLocation::SEGMENT;
            tensor.with_data(1).into()
        };
        let values = (0..count).map(value).collect();
        let mut data = DataCollector::new();
        data.constant(vec![7; length]);
        finished(data, ExecutionPlan::new("forward", values, vec![add()], calls(false), 64))
    }));
    // One instruction that takes the values of many others.
    files.push(("takers", {
        let values: Vec<i32> = (0..length as i32 / 8).collect();
        let tensors = values.iter().map(|_| Tensor::new(ScalarType::BYTE, vec![4]).with_planned(1, 0).into()).collect();
        let call = Instruction::kernel_call(0, values.clone());
        let plan = ExecutionPlan::new("forward", tensors, vec![add()], vec![call], 64);
        program(plan.with_inputs(values), 0, None)
    }));
    let inputs = vec![0; 8 * count];
    let plan = ExecutionPlan::new(name(), vec![long().with_external(name()).into()], vec![add()], Vec::new(), 64);
    files.push(("inputs", program(plan.with_inputs(inputs.clone()).with_outputs(inputs), 1, None)));
    let mut files: Vec<Shared> = files.into_iter().map(|(kind, bytes)| Shared { kind, ending: "pte", bytes }).collect();
    let short = (0..count).map(|index| NewEntry::tensor(format!("k{index}"), ScalarType::BYTE, vec![4], vec![7; 4]));
    let long = NewEntry::blob(name(), vec![1]);
    let ptd = Ptd::build(short.chain([long]), &PtdOptions::default()).and_then(|ptd| ptd.image()?.to_vec());
    files.push(Shared { kind: "ptd", ending: "ptd", bytes: ptd.expect("a file") });
    let shared = (0..count).map(|index| NewEntry::blob(format!("k{index}"), vec![7; length]));
    let ptd = Ptd::build(shared, &PtdOptions::default()).and_then(|ptd| ptd.image()?.to_vec());
    files.push(Shared { kind: "segment", ending: "ptd", bytes: ptd.expect("a file") });
    files.push(Shared { kind: "overlap", ending: "ptd", bytes: overlapping_keys(length, count, false) });
    files
}

/// Returns programs of many small instructions or tensors.
pub fn code_files(scale: Scale) -> Vec<Shared> {
    let length = scale.length;
    let code = |instructions: Vec<Instruction<'static>>| {
        let add = Operator::new("aten::add", "out");
        program(ExecutionPlan::new("forward", vec![EValue::from(true)], vec![add], instructions, 64), 0, None)
    };
    let jump =
        |to| Instruction { instr_args: JumpFalseCall { cond_value_index: 0, destination_instruction: to }.into() };
    let tensors = |make: &dyn Fn() -> Tensor<'static>, calls: bool, constants| {
        let call = |index| Instruction::kernel_call(0, vec![index, 0, index]);
        let calls = (0..length as i32 / 4).filter(|_| calls).map(call).collect();
        let values = (0..length / 4).map(|_| make().into()).collect();
        let add = Operator::new("aten::add", "out");
        program(ExecutionPlan::new("forward", values, vec![add], calls, 64), constants, None)
    };
    let files = [
        ("empty", code(vec![Instruction::default(); 4 * length])),
        ("jumps", code((1..=length as i32).map(jump).collect())),
        ("back", code((0..length as i32).map(|index| jump(index / 2)).collect())),
        ("place", tensors(&|| Tensor::new(ScalarType::BYTE, vec![16]).with_planned(1, 0), true, 0)),
        ("users", tensors(&|| Tensor::new(ScalarType::BYTE, vec![4]).with_data(1), false, 1)),
    ];
    files.into_iter().map(|(kind, bytes)| Shared { kind, ending: "pte", bytes }).collect()
}

/// Returns a program of one method, with `constants` constants of four bytes and one payload.
fn program(plan: ExecutionPlan<'_>, constants: usize, payload: Option<Vec<u8>>) -> Vec<u8> {
    finished(collected(constants, payload), plan)
}

fn collected(constants: usize, payload: Option<Vec<u8>>) -> DataCollector<'static> {
    let mut data = DataCollector::new();
    for index in 0..constants {
        data.constant((index as u32).to_le_bytes().to_vec());
    }
    if let Some(payload) = payload {
        data.delegate(payload);
    }
    data
}

fn finished<'t>(data: DataCollector<'t>, plan: ExecutionPlan<'t>) -> Vec<u8> {
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = data.finish(program, &PteOptions::default()).and_then(|pte| pte.image()?.to_vec());
    pte.expect("a program that is complete")
}

/// Returns a payload in many overlapping segments, each with a delegate and a key. They end at the same byte, and each starts `step`
/// bytes after the previous segment.
fn overlapping(payload: Vec<u8>, count: usize, step: usize) -> Vec<u8> {
    let delegate = |index| BackendDelegate {
        id: Some("XnnpackBackend".into()),
        processed: Some(BackendDelegateDataReference { location: DataLocation::SEGMENT, index }),
        compile_specs: None,
    };
    let calls = (0..count as i32).map(|index| Instruction::delegate_call(index, vec![0])).collect();
    let mut plan = ExecutionPlan::new("forward", vec![EValue::null()], Vec::new(), calls, 64);
    plan.delegates = Some((0..count as u32).map(delegate).collect());
    let named = |index| NamedData { key: Some(format!("k{index}").into()), segment_index: index };
    let named_data = Some((0..count as u32).map(named).collect());
    let program = Program { execution_plan: Some(vec![plan]), named_data, ..Program::default() };
    let mut pte = Pte { program, ..Pte::default() };
    for index in 0..count {
        pte.add_segment(&payload[(index * step).min(payload.len())..]);
    }
    let mut pte = pte.lay_out(&PteOptions::default()).expect("a layout");
    let end = payload.len() as u64;
    for (segment, index) in pte.program.segments.iter_mut().flatten().zip(0..) {
        let offset = (index * step as u64).min(end);
        *segment = DataSegment { offset, size: end - offset };
    }
    pte.header.iter_mut().for_each(|header| header.segment_data_size = Some(end));
    pte.image().and_then(|image| image.to_vec()).expect("a program")
}

/// Returns a `.ptd` with many tensors whose bytes overlap, as those of the kind `overlap` do.
pub fn overlapping_tensors(scale: Scale) -> Vec<u8> {
    overlapping_keys(scale.length, scale.count, true)
}

/// Returns a `.ptd` with many keys, whose segments overlap: they end at the same byte, and each starts a byte after the previous one.
fn overlapping_keys(length: usize, count: usize, are_tensors: bool) -> Vec<u8> {
    let data: Vec<u8> = (0..length).map(|index| index as u8).collect();
    let keys = (0..count).map(|index| {
        let (key, bytes) = (format!("k{index}"), (index as u32).to_le_bytes().to_vec());
        if are_tensors { NewEntry::tensor(key, ScalarType::BYTE, vec![4], bytes) } else { NewEntry::blob(key, bytes) }
    });
    let mut ptd = Ptd::build(keys, &PtdOptions::default()).expect("a file");
    for (index, entry) in ptd.flat_tensor.segments.iter_mut().flatten().enumerate() {
        let start = index.min(length);
        *entry = DataSegment { offset: start as u64, size: (length - start) as u64 };
        ptd.segments[index] = Segment::Whole(data[start..].into());
    }
    for named in ptd.flat_tensor.named_data.iter_mut().flatten() {
        let size = ptd.segments[named.segment_index as usize].len() as i32;
        if let Some(layout) = &mut named.tensor_layout {
            layout.sizes = Some(vec![size].into());
        }
    }
    ptd.header.iter_mut().for_each(|header| header.segment_data_size = length as u64);
    ptd.image().and_then(|image| image.to_vec()).expect("a file")
}

fn payload(graph: XNNGraph<'static>) -> Vec<u8> {
    let payload = Xnnpack { identifier: *b"XN01", graph, ..Xnnpack::default() };
    payload.to_vec().expect("a payload")
}

fn value(index: usize, constant: u32) -> XNNTensorValue<'static> {
    XNNTensorValue {
        datatype: XNNDatatype::FP32,
        num_dims: 1,
        dims: Some(vec![4].into()),
        constant_buffer_idx: constant,
        external_id: u32::MAX,
        id_out: index as u32,
        ..XNNTensorValue::default()
    }
}

/// Returns a payload with one constant under a key, and this many values that use it.
fn keyed(key: String, count: usize) -> Vec<u8> {
    let values = (0..count).map(|index| XValue { xvalue_union: value(index, 1).into() }).collect();
    let constant = ConstantDataOffset { offset: u64::MAX, size: 16, named_key: Some(key.into()) };
    payload(XNNGraph {
        xvalues: Some(values),
        constant_data: Some(vec![ConstantDataOffset::default(), constant]),
        ..XNNGraph::default()
    })
}

/// Returns a payload with a value that has this many scales.
fn quantized(scales: usize) -> Vec<u8> {
    let quant = PerChannelQuant { scale: Some(vec![1.0; scales].into()), ..PerChannelQuant::default() };
    let value = XNNQuantizedTensorValue { tensor_value: Some(value(0, 0)), quant_params: quant.into() };
    payload(XNNGraph { xvalues: Some(vec![XValue { xvalue_union: value.into() }]), ..XNNGraph::default() })
}

/// Returns a payload of this many nodes, which all read and write one value with these flags and this external id.
fn nodes(count: usize, (flags, external_id): (u32, u32)) -> Vec<u8> {
    let shared = XNNTensorValue { flags, external_id, ..value(0, 0) };
    let node = || XNode { xnode_union: XNodeUnion::XNNAdd(XNNNode2x1::default()), ..XNode::default() };
    let values = vec![XValue { xvalue_union: shared.into() }];
    payload(XNNGraph {
        xnodes: Some((0..count).map(|_| node()).collect()),
        xvalues: Some(values),
        ..XNNGraph::default()
    })
}

/// Returns the commands to run on a file with this extension: `{}` is the file, `{other}` a different file of its kind, `{out}` a folder
/// for the output.
pub fn commands(ending: &str) -> &'static [&'static [&'static str]] {
    match ending {
        "pte" => &[
            &["info", "{}"],
            &["info", "--json", "{}"],
            &["info", "--contract", "{}"],
            &["list", "{}"],
            &["list", "--json", "{}"],
            &["list", "--hash", "{}"],
            &["hash", "{}"],
            &["dump", "{}"],
            &["dump", "--payloads", "{}"],
            &["size", "{}"],
            &["size", "--shared", "{}", "{other}"],
            &["size", "--json", "{}"],
            &["memory", "{}"],
            &["memory", "--json", "{}"],
            &["memory", "--svg", "{}"],
            &["ops", "{}"],
            &["ops", "--json", "{}"],
            &["ops", "--delegated", "{}"],
            &["ops", "--yaml", "{}"],
            &["disasm", "{}"],
            &["disasm", "--oneline", "{}"],
            &["disasm", "--json", "{}"],
            &["graph", "--svg", "{}"],
            &["graph", "--dot", "{}"],
            &["graph", "--json", "{}"],
            &["graph", "--model-explorer", "{}"],
            &["report", "{}", "-o", "{out}/report.html"],
            &["verify", "{}"],
            &["verify", "--json", "{}"],
            &["verify", "--format", "sarif", "{}"],
            &["diff", "{}", "{other}"],
            &["diff", "--contract", "{}", "{other}"],
            &["metadata", "{}"],
            &["rewrite", "{}", "{out}/rewritten.pte"],
            &["rewrite", "--relayout", "{}", "{out}/rewritten.pte"],
            &["externalize", "{}", "-o", "{out}/out.pte", "--data", "{out}/out.ptd", "--all"],
            &["dedup", "{}", "-o", "{out}/out.pte"],
            &["dedup", "{}", "{other}", "--dry-run"],
            &["dedup", "{}", "{other}", "--data", "{out}/out.ptd", "--dry-run"],
            &["strip", "{}", "-o", "{out}/out.pte", "--names"],
            &["strip", "{}", "-o", "{out}/out.pte", "--all"],
            &["select", "{}", "-o", "{out}/out.pte", "--keep", "*"],
            &["replace", "{}", "forward:%0={out}/target.toml", "-o", "{out}/out.pte"],
            &["metadata", "{}", "-o", "{out}/out.pte", "--set", "get_n=1"],
            &["ops", "{}", "{other}"],
            &["fit", "{}", "--target", "{out}/target.toml"],
            &["verify", "{}", "--runtime", "0.7"],
            &["extract", "{}", "-o", "{out}/blobs"],
            &["convert", "{}", "{out}/out.safetensors", "--skip-unsupported"],
            &["to-c", "{}", "--name", "model", "-o", "{out}"],
            &["to-c", "{}", "--name", "model", "--operators"],
        ],
        _ => &[
            &["info", "{}"],
            &["info", "--json", "{}"],
            &["list", "{}"],
            &["list", "--json", "{}"],
            &["list", "--hash", "{}"],
            &["dump", "{}"],
            &["size", "{}"],
            &["report", "{}", "-o", "{out}/report.html"],
            &["verify", "{}"],
            &["verify", "--json", "{}"],
            &["diff", "{}", "{other}"],
            &["rewrite", "{}", "{out}/rewritten.ptd"],
            &["rewrite", "--relayout", "{}", "{out}/rewritten.ptd"],
            &["replace", "{}", "k0={out}/target.toml", "-o", "{out}/out.ptd"],
            &["ptd", "rename", "{}", "--prefix", "x.", "-o", "{out}/out.ptd"],
            &["ptd", "filter", "{}", "--remove", "k0", "-o", "{out}/out.ptd"],
            &["ptd", "split", "{}", "--max-size", "20000", "-o", "{out}/out.ptd"],
            &["ptd", "merge", "{}", "{other}", "-o", "{out}/out.ptd"],
            &["ptd", "merge", "{}", "{}", "-o", "{out}/out.ptd"],
            &["dedup", "{}", "-o", "{out}/out.ptd"],
            &["extract", "{}", "-o", "{out}/blobs"],
            &["convert", "{}", "{out}/out.safetensors", "--skip-unsupported"],
            &["to-c", "{}", "--name", "model", "-o", "{out}"],
        ],
    }
}

/// Commands that no list of [`commands`] has, each with the reason.
pub const OTHER_COMMANDS: &[(&str, &str)] = &[
    ("build", "takes JSON, with a limit of its own"),
    ("bundle", "takes bundles, whose program is opened like any other"),
    ("catalog", "takes folders and servers, with limits of its own"),
    ("completions", "takes no file"),
    ("debug", "takes traces: the fuzz targets measure it"),
    ("internalize", "takes pairs of files that belong together: the fuzz targets measure it"),
    ("man", "takes no file"),
    ("profile", "takes traces: the fuzz targets measure it"),
];

/// Returns the commands of [`commands`] without those that give the same answer in another form.
pub fn different_commands(ending: &str) -> Vec<&'static [&'static str]> {
    let forms = ["--json", "--format", "--yaml", "--payloads", "--relayout", "--svg", "--operators", "--runtime"];
    let is_other = |command: &&&[&str]| command[0] == "graph" || !command.iter().any(|word| forms.contains(word));
    commands(ending).iter().filter(is_other).copied().collect()
}

/// A target file, to be put into the folder for the output.
pub const TARGET: (&str, &str) = ("target.toml", "runtime = \"1.5\"\nbackends = []\nmethod-allocator = 1000\n");

/// Returns the arguments of a command, with paths inserted.
pub fn arguments(command: &[&str], [file, other]: [&Path; 2], out: &Path) -> Vec<String> {
    let [file, other, out] = [file, other, out].map(Path::to_string_lossy);
    let put = |argument: &&str| argument.replace("{}", &file).replace("{other}", &other).replace("{out}", &out);
    command.iter().map(put).collect()
}
