//! Runs a program without numbers: each byte of memory records the write that it comes from, once with every block in memory of its own,
//! and once with the places of a plan. A read is right if both record the same writes.
//!
//! Conditions are decided at random, since only the reads matter. This judges reads without an effect on results, which the official
//! runtime cannot see. If results differ, the runtime decides, and this judge must agree.

use crate::program::{Arithmetic, At, Effect, Plan, Program, Role, Step, Value};
use executorch_format_support::random::Random;

/// The worst observation, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    Right,
    /// A kernel overwrites its own input or another output: its result depends on the order in which it works.
    InCall(Place),
    /// A read gets bytes that another value wrote.
    Foreign(Place),
    /// A value without memory is used.
    NoMemory(Place),
    /// The program itself is wrong: with all blocks apart, it reads bytes that were never written or that a value lost, or a kernel
    /// overwrites its input.
    Invalid(Place),
}

/// A step, and the value that is read, or the one whose memory it has.
pub type Place = (usize, usize);

/// The conditions that may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decisions {
    /// Conditions with different content: the same content decides in the same way. Numbers are computed.
    ByContent,
    /// All conditions except constants, and the rows that loops write, as if they were unknown.
    Free,
}

/// The addresses of a tensor: with all blocks apart, and planned.
type Addresses = [u64; 2];

const UNORDERED: u64 = u64::MAX;
const MAX_STEPS: usize = 1_500;

struct Shadow<'p> {
    program: &'p Program,
    memory: [Vec<u64>; 2],
    /// For each byte with blocks apart, whether it must be written before it is read.
    must_be_written: Vec<bool>,
    /// For each value, the tensor that it refers to. A move changes it.
    tensors: Vec<usize>,
    /// For each tensor, the current place of its memory.
    pointers: Vec<Option<Addresses>>,
    /// For each tensor, the value that had its memory when the method was loaded.
    owners: Vec<usize>,
    /// For each value, the writes that its bytes must come from with blocks apart. It keeps those from the time when it was moved or
    /// became a view. Empty if unknown, for tensors that share a block only by the plan.
    expected: Vec<Vec<u64>>,
    numbers: Vec<i64>,
    /// For each value, whether an instruction computes it as a number.
    is_computed: Vec<bool>,
    writes: u64,
    /// Makes decisions about conditions with the same content equal.
    key: u64,
    random: Random,
    decisions: Decisions,
    step: usize,
    seen: Seen,
}

/// Returns the worst observation of several random walks through the program, of a few runs each.
pub fn judge(program: &Program, plan: &Plan, seed: u64, walks: usize, decisions: Decisions) -> Seen {
    let mut seen = Seen::Right;
    for walk in 0..walks {
        let mut shadow = Shadow::new(program, plan, Random::new(seed ^ (walk as u64) << 32), decisions);
        for _ in 0..2 + walk % 3 {
            shadow.run();
        }
        seen = seen.max(shadow.seen);
        if seen > Seen::InCall((usize::MAX, usize::MAX)) {
            break;
        }
    }
    seen
}

fn computed(program: &Program) -> Vec<bool> {
    let mut computed = vec![false; program.values.len()];
    for step in &program.steps {
        program.numbers(step).into_iter().for_each(|value| computed[value] = true);
    }
    computed
}

impl<'p> Shadow<'p> {
    fn new(program: &'p Program, plan: &Plan, mut random: Random, decisions: Decisions) -> Self {
        let apart = program.apart();
        let end = |plan: &Plan| {
            let blocks = program.blocks.iter().zip(&plan.offsets).map(|(block, offset)| offset + block.size);
            blocks.max().unwrap_or(0)
        };
        // Constants and the caller's memory are the same in both, behind all planned memory.
        let mut next = end(&apart).max(end(plan)) + 4096;
        let (mut pointers, mut written) = (Vec::new(), Vec::new());
        for (index, value) in program.values.iter().enumerate() {
            let Value::Tensor(tensor) = value else {
                pointers.push(None);
                continue;
            };
            pointers.push(match tensor.at {
                At::Block(block, offset) => {
                    let planned = plan.alone.get(&index).copied().unwrap_or(plan.offsets[block] + offset);
                    Some([apart.offsets[block] + offset, planned])
                }
                At::Constant(_) | At::Caller => {
                    let address = next;
                    next += tensor.bytes().next_multiple_of(16);
                    if let At::Constant(_) = tensor.at {
                        written.push(index);
                    }
                    Some([address; 2])
                }
                At::RunTime => None,
            });
        }
        let mut shadow = Self {
            program,
            memory: [vec![0; next as usize], vec![0; next as usize]],
            must_be_written: vec![false; next as usize],
            tensors: (0..program.values.len()).collect(),
            pointers,
            owners: (0..program.values.len()).collect(),
            expected: vec![Vec::new(); program.values.len()],
            numbers: program
                .values
                .iter()
                .map(|value| match value {
                    Value::Int(number) => *number,
                    Value::Bool(flag) => i64::from(*flag),
                    _ => 0,
                })
                .collect(),
            is_computed: computed(program),
            writes: 0,
            key: random.number(),
            random,
            decisions,
            step: usize::MAX,
            seen: Seen::Right,
        };
        for (block, offset) in program.blocks.iter().zip(&apart.offsets) {
            let bytes = *offset as usize..(offset + block.size) as usize;
            shadow.must_be_written[bytes].fill(block.role == Role::Temporary);
        }
        for (index, tensor) in program.tensors() {
            if matches!(&tensor.at, At::Block(block, _) if program.blocks[*block].initial.is_some()) {
                written.push(index);
            }
        }
        written.into_iter().for_each(|value| shadow.write(value));
        shadow
    }

    fn note(&mut self, seen: fn(Place) -> Seen, value: usize) {
        self.seen = self.seen.max(seen((self.step, value)));
    }

    fn place(&mut self, value: usize) -> Option<(Addresses, u64)> {
        let tensor = self.tensors[value];
        let Some(addresses) = self.pointers[tensor] else {
            self.note(Seen::NoMemory, value);
            return None;
        };
        Some((addresses, self.program.tensor(tensor).bytes()))
    }

    fn read(&mut self, value: usize) {
        let Some(([apart, planned], bytes)) = self.place(value) else { return };
        let apart_now = &self.memory[0][apart as usize..(apart + bytes) as usize];
        if !self.expected[value].is_empty() && self.expected[value] != apart_now {
            return self.note(Seen::Invalid, value);
        }
        for byte in 0..bytes {
            let [right, found] = [self.memory[0][(apart + byte) as usize], self.memory[1][(planned + byte) as usize]];
            // A loop with free decisions may leave rows out.
            let unwritten = right == 0 && self.must_be_written[(apart + byte) as usize];
            if unwritten && self.decisions == Decisions::ByContent || right == UNORDERED {
                return self.note(Seen::Invalid, value);
            }
            if found == UNORDERED {
                self.note(Seen::InCall, value);
            } else if found != right {
                return self.note(Seen::Foreign, self.owners[self.tensors[value]]);
            }
        }
    }

    fn write(&mut self, value: usize) {
        if let Some((addresses, bytes)) = self.place(value) {
            self.write_at(addresses, bytes, [false; 2]);
            self.expect(value);
        }
    }

    /// Expects from now on that the value has the bytes that are in its memory now.
    fn expect(&mut self, value: usize) {
        if let Some(([apart, _], bytes)) = self.place(value) {
            self.expected[value] = self.memory[0][apart as usize..(apart + bytes) as usize].to_vec();
        }
    }

    fn write_at(&mut self, addresses: Addresses, bytes: u64, unordered: [bool; 2]) {
        self.writes += 1;
        for world in 0..2 {
            for byte in 0..bytes {
                let tag = if unordered[world] { UNORDERED } else { self.writes << 16 | byte };
                self.memory[world][(addresses[world] + byte) as usize] = tag;
            }
        }
    }

    /// Writes the results of a kernel that reads these values.
    fn compute(&mut self, reads: &[usize], writes: &[usize], elementwise: bool) {
        reads.iter().for_each(|value| self.read(*value));
        let inputs: Vec<_> = reads.iter().filter_map(|value| self.place(*value)).collect();
        let outputs: Vec<_> = writes.iter().filter_map(|value| self.place(*value)).collect();
        for (position, (addresses, bytes)) in outputs.iter().enumerate() {
            let mut unordered = [false; 2];
            for world in 0..2 {
                let overlaps = |other: &(Addresses, u64)| {
                    addresses[world] < other.0[world] + other.1 && other.0[world] < addresses[world] + bytes
                };
                let same =
                    |other: &(Addresses, u64)| elementwise && other.0[world] == addresses[world] && other.1 == *bytes;
                unordered[world] = inputs.iter().any(|input| overlaps(input) && !same(input));
            }
            let value = writes[position.min(writes.len() - 1)];
            if unordered[0] {
                self.note(Seen::Invalid, value);
            } else if unordered[1] {
                self.note(Seen::InCall, value);
            }
            self.write_at(*addresses, *bytes, unordered);
        }
        // The order in which a kernel writes two outputs is unknown.
        for (position, one) in outputs.iter().enumerate() {
            for other in &outputs[..position] {
                for world in 0..2 {
                    let start = one.0[world].max(other.0[world]);
                    let end = (one.0[world] + one.1).min(other.0[world] + other.1);
                    for address in start..end.max(start) {
                        self.memory[world][address as usize] = UNORDERED;
                        self.note(if world == 0 { Seen::Invalid } else { Seen::InCall }, writes[0]);
                    }
                }
            }
        }
        writes.iter().for_each(|value| self.expect(*value));
    }

    /// Writes rows from a tensor with the same number of rows.
    fn put(&mut self, to: usize, from: usize, rows: &[u64]) {
        self.read(from);
        let (Some((target, size)), Some((source, bytes))) = (self.place(to), self.place(from)) else { return };
        let row = bytes / rows.len() as u64;
        for index in rows {
            if *index >= size / row {
                return self.note(Seen::Invalid, to);
            }
            let addresses = [0, 1].map(|world| target[world] + index * row);
            let unordered =
                [0, 1].map(|world| addresses[world] < source[world] + bytes && source[world] < addresses[world] + row);
            if unordered[0] {
                self.note(Seen::Invalid, to);
            } else if unordered[1] {
                self.note(Seen::InCall, to);
            }
            self.write_at(addresses, row, unordered);
        }
        self.expect(to);
    }

    fn is_true(&mut self, condition: usize) -> bool {
        match self.program.values[condition] {
            Value::Tensor(_) => {
                self.read(condition);
                let Some(([apart, _], _)) = self.place(condition) else { return false };
                match self.decisions {
                    Decisions::ByContent => {
                        let content = self.memory[0][apart as usize];
                        Random::new(content ^ self.key).number() & 1 == 1
                    }
                    Decisions::Free => self.random.number() & 1 == 1,
                }
            }
            _ if self.decisions == Decisions::Free && self.is_computed[condition] => self.random.number() & 1 == 1,
            _ => self.numbers[condition] != 0,
        }
    }

    fn run(&mut self) {
        self.step = usize::MAX;
        self.program.inputs.iter().for_each(|input| self.write(*input));
        let mut next = 0;
        for _ in 0..MAX_STEPS {
            let Some(step) = self.program.steps.get(next) else {
                self.step = next;
                return self.program.outputs.clone().into_iter().for_each(|output| self.read(output));
            };
            self.step = next;
            next += 1;
            match step {
                Step::Move { from, to } => {
                    self.tensors[*to] = self.tensors[*from];
                    self.numbers[*to] = self.numbers[*from];
                    self.expected[*to] = self.expected[*from].clone();
                }
                Step::Free(value) => {
                    let tensor = self.tensors[*value];
                    self.pointers[tensor] = None;
                }
                Step::Jump { condition, to } => {
                    if !self.is_true(*condition) {
                        next = *to;
                    }
                }
                Step::Call { effect, .. } => self.call(effect),
            }
            if self.seen > Seen::InCall((usize::MAX, usize::MAX)) {
                return;
            }
        }
        if self.decisions == Decisions::ByContent {
            self.note(Seen::Invalid, 0);
        }
    }

    fn call(&mut self, effect: &Effect) {
        match effect {
            Effect::Compute { reads, writes, elementwise } => self.compute(reads, writes, *elementwise),
            Effect::CopyRow { to, from, index } => {
                let mut row = self.numbers[*index] as u64;
                if self.decisions == Decisions::Free {
                    row = self.random.below(self.program.tensor(self.tensors[*to]).sizes[0] as usize) as u64;
                }
                self.put(*to, *from, &[row]);
            }
            Effect::PutRows { to, from, rows } => {
                // The other rows are kept.
                self.read(*to);
                self.put(*to, *from, rows);
            }
            Effect::View { of, out } => {
                let addresses = self.place(*of).map(|(addresses, _)| addresses);
                let tensor = self.tensors[*out];
                self.pointers[tensor] = addresses;
                self.owners[tensor] = self.owners[self.tensors[*of]];
                self.expected[*out] = self.expected[*of].clone();
            }
            Effect::Size { of, out } => self.numbers[*out] = self.program.tensor(self.tensors[*of]).sizes[0].into(),
            Effect::Arithmetic(arithmetic, [left, right, out]) => {
                let (left, right) = (self.numbers[*left], self.numbers[*right]);
                self.numbers[*out] = match arithmetic {
                    Arithmetic::Add => left + right,
                    Arithmetic::Sub => left - right,
                    Arithmetic::Eq => i64::from(left == right),
                    Arithmetic::Lt => i64::from(left < right),
                };
            }
        }
    }
}
