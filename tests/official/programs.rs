//! New programs and data, with the expected output of the runtime.

use executorch_format::schema::ScalarType;
use executorch_format::schema::program::{
    BackendDelegate, CompileSpec, EValue, ExecutionPlan, Instruction, KernelTypes, Operator, OptionalTensorList,
    Program, Tensor,
};
use executorch_format::{DataCollector, NewEntry, Ptd, PtdOptions, Pte, PteOptions, Result};
use executorch_format_support::fixtures::sha256;

/// A new program.
pub struct NewProgram {
    pub name: &'static str,
    pub program: Pte<'static>,
    /// The `.ptd` file that the program needs.
    pub data: Option<Ptd<'static>>,
    /// Lines that the runtime should print in this order, possibly with other lines between them.
    pub expected: Vec<String>,
}

pub fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Returns all programs in one layout.
pub fn all(program: &PteOptions, data: &PtdOptions) -> Result<Vec<NewProgram>> {
    Ok(vec![
        constants(program)?,
        methods(program)?,
        mutable_state(program)?,
        delegates(program)?,
        named_data(program)?,
        external_constants(program, data)?,
        every_value(program)?,
    ])
}

fn float4() -> Tensor<'static> {
    Tensor::new(ScalarType::FLOAT, vec![4])
}

fn add() -> Operator<'static> {
    Operator::new("aten::add", "out")
}

fn mul() -> Operator<'static> {
    Operator::new("aten::mul", "out")
}

fn program(methods: Vec<ExecutionPlan<'static>>) -> Program<'static> {
    Program { execution_plan: Some(methods), ..Program::default() }
}

/// Returns the line for the first output, a tensor of floats.
fn output(values: &[f32]) -> String {
    let (count, size, hash) = (values.len(), values.len() * 4, sha256(&floats(values)));
    format!("out 0: Tensor Float sizes=[{count}] dim_order=[0] nbytes={size} sha256={hash}")
}

/// Returns `x * w + b`, with a third constant of another type that has the same bytes.
fn constants(options: &PteOptions) -> Result<NewProgram> {
    let (w, b) = ([2f32, -3.5, 0.0, 1e10], [0.5f32, 1.0, f32::INFINITY, -1.0]);
    let mut data = DataCollector::new();
    let [w_index, b_index, same_index] = [w, b, w].map(|values| data.constant(floats(&values)));
    assert_eq!((w_index, b_index, same_index), (1, 2, 1), "equal bytes share one constant");
    let values: Vec<EValue<'static>> = vec![
        float4().with_planned(1, 0).into(),
        float4().with_data(w_index).into(),
        float4().with_data(b_index).into(),
        1i64.into(),
        float4().with_planned(1, 16).into(),
        float4().with_planned(1, 32).into(),
        Tensor::new(ScalarType::INT, vec![2, 2]).with_data(same_index).into(),
    ];
    let calls = vec![Instruction::kernel_call(0, vec![0, 1, 4, 4]), Instruction::kernel_call(1, vec![4, 2, 3, 5, 5])];
    let forward = ExecutionPlan::new("forward", values, vec![mul(), add()], calls, 48)
        .with_inputs(vec![0])
        .with_outputs(vec![5, 6]);
    let sum: Vec<f32> = w.iter().zip(b).map(|(w, b)| w + b).collect();
    let same = format!("out 1: Tensor Int sizes=[2,2] dim_order=[0,1] nbytes=16 sha256={}", sha256(&floats(&w)));
    Ok(NewProgram {
        name: "constants",
        program: data.finish(program(vec![forward]), options)?,
        data: None,
        expected: vec![output(&sum), same.clone(), "execute again: ok".into(), output(&sum), same],
    })
}

/// Returns two methods that share a constant, and methods that return a value of each kind.
fn methods(options: &PteOptions) -> Result<NewProgram> {
    let w = [1f32, 2.0, 3.0, 4.0];
    let mut data = DataCollector::new();
    let index = data.constant(floats(&w));
    let shared = |name: &'static str, operator: Operator<'static>, call: Vec<i32>| {
        let values: Vec<EValue<'static>> = vec![
            float4().with_planned(1, 0).into(),
            float4().with_data(index).into(),
            1i64.into(),
            float4().with_planned(1, 16).into(),
        ];
        let calls = vec![Instruction::kernel_call(0, call)];
        ExecutionPlan::new(name, values, vec![operator], calls, 32).with_inputs(vec![0]).with_outputs(vec![3])
    };
    let returns = |name: &'static str, value: EValue<'static>| {
        ExecutionPlan::new(name, vec![value], Vec::new(), Vec::new(), 0).with_outputs(vec![0])
    };
    let methods = vec![
        shared("add", add(), vec![0, 1, 2, 3, 3]),
        shared("méthode ✓", mul(), vec![0, 1, 3, 3]),
        returns("get_int", i64::MIN.into()),
        returns("get_double", (-0.0f64).into()),
        returns("get_nan", f64::NAN.into()),
        returns("get_bool", true.into()),
        returns("get_text", "日本語 \"quoted\"".into()),
        returns("get_tensor", float4().with_data(index).into()),
    ];
    let expected = [
        "methods: 8",
        "method 0: \"add\"",
        &output(&[2.0, 3.0, 4.0, 5.0]),
        "method 1: \"méthode ✓\"",
        &output(&w),
        "out 0: Int -9223372036854775808",
        "out 0: Double -0",
        "out 0: Double nan",
        "out 0: Bool 1",
        "out 0: String \"日本語 \\\"quoted\\\"\"",
        &output(&w),
    ];
    Ok(NewProgram {
        name: "methods",
        program: data.finish(program(methods), options)?,
        data: None,
        expected: expected.map(str::to_owned).to_vec(),
    })
}

/// Returns a sum that grows with each run, starting from an initial state in the file.
fn mutable_state(options: &PteOptions) -> Result<NewProgram> {
    let mut data = DataCollector::new();
    // Not used by any tensor, so that the used state is not the first one.
    data.initial_state(vec![7; 3]);
    let state = data.initial_state(floats(&[10.0, 20.0, 30.0, 40.0]));
    let values: Vec<EValue<'static>> =
        vec![float4().with_planned(1, 0).into(), float4().with_planned(1, 16).with_data(state).into(), 1i64.into()];
    let calls = vec![Instruction::kernel_call(0, vec![1, 0, 2, 1, 1])];
    let forward =
        ExecutionPlan::new("forward", values, vec![add()], calls, 32).with_inputs(vec![0]).with_outputs(vec![1]);
    let expected =
        vec![output(&[11.0, 21.0, 31.0, 41.0]), "execute again: ok".into(), output(&[12.0, 22.0, 32.0, 42.0])];
    Ok(NewProgram {
        name: "mutable_state",
        program: data.finish(program(vec![forward]), options)?,
        data: None,
        expected,
    })
}

/// Returns three calls of `etcheck`'s test backend, which prints its payload: two payloads are equal, one is empty.
fn delegates(options: &PteOptions) -> Result<NewProgram> {
    let payload: Vec<u8> = (0..1000u32).map(|index| (index * 7) as u8).collect();
    let mut data = DataCollector::new();
    let processed = [payload.clone(), Vec::new(), payload.clone()].map(|bytes| data.delegate(bytes));
    assert_eq!(processed[0], processed[2], "equal payloads are shared");
    let specs = || {
        let spec =
            |key: &'static str, value: &'static [u8]| CompileSpec { key: Some(key.into()), value: Some(value.into()) };
        vec![spec("clé", b"value"), spec("empty", b"")]
    };
    let delegates = processed.map(|processed| BackendDelegate {
        id: Some("FxBlobBackend".into()),
        processed: Some(processed),
        compile_specs: Some(specs()),
    });
    let values: Vec<EValue<'static>> = vec![float4().with_planned(1, 0).into(), float4().with_planned(1, 16).into()];
    let calls = (0..3).map(|delegate| Instruction::delegate_call(delegate, vec![0, 1])).collect();
    let forward = ExecutionPlan {
        delegates: Some(delegates.into()),
        ..ExecutionPlan::new("forward", values, Vec::new(), calls, 32).with_inputs(vec![0]).with_outputs(vec![1])
    };
    data.named("weights", vec![5; 77], 64)?;
    let init = |bytes: &[u8]| {
        let (size, hash) = (bytes.len(), sha256(bytes));
        format!("FxBlobBackend init for \"forward\": processed size={size} sha256={hash}")
    };
    let named = format!("named data \"weights\" size=77 sha256={}", sha256(&[5; 77]));
    let spec = format!("compile spec \"clé\" size=5 sha256={}", sha256(b"value"));
    let each = |bytes: &[u8]| [init(bytes), spec.clone(), "compile spec \"empty\" size=0".into(), named.clone()];
    let mut expected = [each(&payload), each(&[]), each(&payload)].concat();
    expected.push(output(&[0.0; 4]));
    Ok(NewProgram { name: "delegates", program: data.finish(program(vec![forward]), options)?, data: None, expected })
}

/// Returns named blobs, some with equal bytes, with various alignments, and a method without tensors.
fn named_data(options: &PteOptions) -> Result<NewProgram> {
    let blobs: [(&'static str, Vec<u8>, u32); 6] = [
        ("first", vec![1; 100], 3),
        ("空", b"unicode".to_vec(), 16),
        ("the same", vec![1; 100], 4096),
        ("none", Vec::new(), 1),
        ("", vec![9], 1),
        ("last", (0..=255).collect(), 24),
    ];
    let mut data = DataCollector::new();
    let mut expected = vec![format!("named data in program: {}", blobs.len())];
    for (key, bytes, alignment) in blobs {
        expected.push(format!("\"{key}\" size={} sha256={}", bytes.len(), sha256(&bytes)));
        data.named(key, bytes, alignment)?;
    }
    let forward = ExecutionPlan::new("forward", vec![EValue::null()], Vec::new(), Vec::new(), 0).with_outputs(vec![0]);
    expected.push("out 0: None".into());
    Ok(NewProgram { name: "named_data", program: data.finish(program(vec![forward]), options)?, data: None, expected })
}

/// Returns `x + w`, with `w` in a `.ptd` that also has other keys, one of them with the same bytes.
fn external_constants(options: &PteOptions, data_options: &PtdOptions) -> Result<NewProgram> {
    let w = [0.25f32, -1.0, 3.0, 1e-20];
    let values: Vec<EValue<'static>> = vec![
        float4().with_planned(1, 0).into(),
        float4().with_external("w").into(),
        1i64.into(),
        float4().with_planned(1, 16).into(),
    ];
    let calls = vec![Instruction::kernel_call(0, vec![0, 1, 2, 3, 3])];
    let forward =
        ExecutionPlan::new("forward", values, vec![add()], calls, 32).with_inputs(vec![0]).with_outputs(vec![3]);
    let entries = [
        NewEntry::tensor("some bytes", ScalarType::BYTE, vec![1, 5], vec![1, 2, 3, 4, 5]),
        NewEntry::tensor("w", ScalarType::FLOAT, vec![4], floats(&w)).with_alignment(16),
        NewEntry::tensor("w as numbers", ScalarType::INT, vec![2, 2], floats(&w)).with_alignment(24),
        NewEntry::tensor("scalar", ScalarType::LONG, vec![], vec![7; 8]),
        NewEntry::tensor("nothing", ScalarType::DOUBLE, vec![3, 0], vec![]),
    ];
    let sum: Vec<f32> = w.iter().map(|w| w + 1.0).collect();
    Ok(NewProgram {
        name: "external_constants",
        program: DataCollector::new().finish(program(vec![forward]), options)?,
        data: Some(Ptd::build(entries, data_options)?),
        expected: vec![output(&sum)],
    })
}

/// Returns one call of `etcheck`'s test kernel, which prints its arguments, with a value of every kind.
fn every_value(options: &PteOptions) -> Result<NewProgram> {
    let mut data = DataCollector::new();
    let constant = data.constant(floats(&[9.0, 8.0, 7.0, 6.0]));
    let optional = KernelTypes::OptionalTensorList(OptionalTensorList { items: Some(vec![-1, 0, -1, 1].into()) });
    let values: Vec<EValue<'static>> = vec![
        float4().with_planned(1, 0).into(),
        float4().with_data(constant).into(),
        i64::MAX.into(),
        (-1i64).into(),
        f64::MIN_POSITIVE.into(),
        false.into(),
        "ÿ\n".into(),
        EValue::null(),
        EValue::int_list(vec![2, 3, 2]),
        EValue::tensor_list(vec![0, 1]),
        EValue::double_list(vec![0.1, f64::NEG_INFINITY, -0.0]),
        EValue::bool_list(vec![true, false]),
        optional.into(),
        float4().with_planned(1, 16).into(),
    ];
    let call = Instruction::kernel_call(0, (0..14).collect::<Vec<i32>>());
    let probe = Operator::new("fx::probe", "out");
    let forward =
        ExecutionPlan::new("forward", values, vec![probe], vec![call], 32).with_inputs(vec![0]).with_outputs(vec![13]);
    let (max, min) = (i64::MAX, -1);
    let expected = vec![
        "fx::probe.out with 14 arguments".to_owned(),
        format!(
            "arg 1: Tensor Float sizes=[4] dim_order=[0] nbytes=16 sha256={}",
            sha256(&floats(&[9.0, 8.0, 7.0, 6.0]))
        ),
        format!("arg 2: Int {max}"),
        format!("arg 3: Int {min}"),
        "arg 4: Double 2.2250738585072014e-308".to_owned(),
        "arg 5: Bool 0".to_owned(),
        "arg 6: String \"ÿ\\x0a\"".to_owned(),
        "arg 7: None".to_owned(),
        format!("arg 8: ListInt [{max},{min},{max}]"),
        "arg 9: ListTensor of 2".to_owned(),
        "arg 10: ListDouble [0.10000000000000001,-inf,-0]".to_owned(),
        "arg 11: ListBool [1,0]".to_owned(),
        "arg 12: ListOptionalTensor [none,tensor,none,tensor]".to_owned(),
        output(&[1.0; 4]),
    ];
    Ok(NewProgram { name: "every_value", program: data.finish(program(vec![forward]), options)?, data: None, expected })
}
