//! Programs of the size of known networks, and a large one, for measurements of readers and pictures.

use executorch_format::schema::program::{EValue, ExecutionPlan, Instruction, Operator, Tensor};
use executorch_format::schema::{Program, ScalarType};
use executorch_format::{DataCollector, Pte, PteOptions, probe};

/// Returns a program with the instructions of MobileNetV2 as ExecuTorch's portable kernels run it. Of 153 instructions, 52 are
/// convolutions, each followed by a normalization and 35 also by an activation, and 10 are residual additions. Its weights are small.
pub fn mobilenet() -> Vec<u8> {
    const CONVOLUTION: i32 = 0;
    const NORMALIZATION: i32 = 1;
    const ACTIVATION: i32 = 2;
    const ADDITION: i32 = 3;
    let names =
        [("convolution", "out"), ("_native_batch_norm_legit_no_training", "out"), ("hardtanh", "out"), ("add", "out")];
    let more = [("mean", "out"), ("view_copy", "out"), ("permute_copy", "out"), ("addmm", "out")];
    let operators =
        names.into_iter().chain(more).map(|(name, overload)| Operator::new(format!("aten::{name}"), overload));
    let mut network = Network::new();
    let shape = vec![1, 32, 28, 28];
    let input = network.planned(shape.clone());
    let mut last = input;
    let mut residual = input;
    for layer in 0..52 {
        let weight = network.weight(vec![32, 1, 3, 3], layer);
        let convolved = network.planned(shape.clone());
        let (null, list, no, one) = (network.null, network.list, network.no, network.one);
        let args = vec![last, weight, null, list, list, list, no, list, one, convolved, convolved];
        network.call(CONVOLUTION, args);
        let statistics = network.weight(vec![32], 100 + layer);
        let out = [0, 1, 2].map(|_| network.planned(shape.clone()));
        let outs = network.add(EValue::tensor_list(out.to_vec()));
        let args =
            vec![convolved, statistics, statistics, statistics, statistics, one, one, out[0], out[1], out[2], outs];
        network.call(NORMALIZATION, args);
        last = out[0];
        // The third convolution of a block has no activation.
        if layer % 3 != 2 {
            let active = network.planned(shape.clone());
            network.call(ACTIVATION, vec![last, one, one, active, active]);
            last = active;
        } else if layer < 33 && layer > 2 {
            let sum = network.planned(shape.clone());
            network.call(ADDITION, vec![residual, last, one, sum, sum]);
            last = sum;
        }
        if layer % 3 == 2 {
            residual = last;
        }
    }
    for operator in 4..8 {
        let out = network.planned(vec![1, 1000]);
        // The shape of view_copy and the dimensions of permute_copy.
        let list = [network.list].into_iter().filter(|_| matches!(operator, 5 | 6));
        network.call(operator, [last].into_iter().chain(list).chain([out, out]).collect());
        last = out;
    }
    let plan = ExecutionPlan::new("forward", network.values, operators.collect(), network.instructions, 8 << 20)
        .with_inputs(vec![input])
        .with_outputs(vec![last]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    let pte = network.data.finish(program, &PteOptions::default()).and_then(|pte| pte.image()?.to_vec());
    pte.expect("a program that is complete")
}

/// Returns the program of 3,421 instructions that the benchmarks read, with random weights instead of those that are not in the repository.
pub fn llama48_narrow() -> Vec<u8> {
    let mut file = std::fs::read(crate::crate_root().join("benches/data/llama48_narrow.program")).expect("the program");
    // The header states more bytes than the file has.
    let end = probe(&file).and_then(|probe| probe.data(u64::MAX)).expect("a header").expect("segments").end;
    file.extend(random(end as usize - file.len()));
    file
}

/// Returns a program that multiplies its input by one constant with this many elements.
pub fn large(elements: i32) -> Pte<'static> {
    let mut data = DataCollector::new();
    let constant = data.constant(random(elements as usize * 4));
    let tensor = || Tensor::new(ScalarType::FLOAT, vec![elements]);
    let planned = |offset| tensor().with_planned(1, offset).into();
    let size = elements as u64 * 4;
    let values: Vec<EValue> = vec![planned(0), tensor().with_data(constant).into(), planned(size)];
    let calls = vec![Instruction::kernel_call(0, vec![0, 1, 2, 2])];
    let operators = vec![Operator::new("aten::mul", "out")];
    let plan = ExecutionPlan::new("forward", values, operators, calls, 2 * size as i64);
    let plan = plan.with_inputs(vec![0]).with_outputs(vec![2]);
    let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
    data.finish(program, &PteOptions::default()).expect("a program that is complete")
}

/// Returns bytes that differ between blobs (xorshift64).
fn random(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for word in bytes.chunks_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(state.to_le_bytes().get(..word.len()).unwrap_or_default());
    }
    bytes
}

/// Values and instructions, in the order in which they are added.
struct Network {
    values: Vec<EValue<'static>>,
    instructions: Vec<Instruction<'static>>,
    data: DataCollector<'static>,
    null: i32,
    no: i32,
    one: i32,
    /// A list of the number 1, twice.
    list: i32,
}

impl Network {
    fn new() -> Self {
        let values = vec![EValue::null(), false.into(), 1i64.into(), EValue::int_list(vec![2, 2])];
        Self { values, instructions: Vec::new(), data: DataCollector::new(), null: 0, no: 1, one: 2, list: 3 }
    }

    fn add(&mut self, value: EValue<'static>) -> i32 {
        self.values.push(value);
        self.values.len() as i32 - 1
    }

    /// Adds a tensor in one of twelve places of planned memory.
    fn planned(&mut self, sizes: Vec<i32>) -> i32 {
        let bytes = 4 * sizes.iter().product::<i32>() as u64;
        let place = self.values.len() as u64 % 12;
        self.add(Tensor::new(ScalarType::FLOAT, sizes).with_planned(1, place * bytes).into())
    }

    /// Adds a weight whose values depend on `seed`.
    fn weight(&mut self, sizes: Vec<i32>, seed: i32) -> i32 {
        let count = sizes.iter().product::<i32>();
        let bytes: Vec<u8> = (0..count).flat_map(|index| ((index * seed) as f32).sin().to_le_bytes()).collect();
        let data = self.data.constant(bytes);
        self.add(Tensor::new(ScalarType::FLOAT, sizes).with_data(data).into())
    }

    fn call(&mut self, operator: i32, args: Vec<i32>) {
        self.instructions.push(Instruction::kernel_call(operator, args));
    }
}
