//! A program in which tensors share memory explicitly, independently of the places in a plan.

use executorch_format::schema::program::{
    EValue, ExecutionPlan, FreeCall, Instruction, JumpFalseCall, MoveCall, Operator, OptionalTensorList, Tensor,
    TensorShapeDynamism,
};
use executorch_format::schema::{Program as Schema, ScalarType};
use executorch_format::{DataCollector, PteOptions};
use std::collections::BTreeMap;

/// The place of a tensor's memory when the method is loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum At {
    /// Planned memory, at that many bytes of a block. Tensors of one block share memory on purpose.
    Block(usize, u64),
    Constant(usize),
    /// Memory that an instruction assigns, which makes the tensor a view.
    RunTime,
    /// An input or output in the caller's memory.
    Caller,
}

#[derive(Clone, Debug)]
pub struct TensorValue {
    pub scalar_type: ScalarType,
    pub sizes: Vec<i32>,
    pub at: At,
    pub dynamic: bool,
}

impl TensorValue {
    pub fn bytes(&self) -> u64 {
        let width = match self.scalar_type {
            ScalarType::BOOL => 1,
            ScalarType::LONG => 8,
            _ => 4,
        };
        self.sizes.iter().map(|size| *size as u64).product::<u64>() * width
    }
}

#[derive(Clone, Debug)]
pub enum Value {
    Tensor(TensorValue),
    Int(i64),
    Bool(bool),
    Double(f64),
    Null,
    Ints(Vec<usize>),
    Tensors(Vec<usize>),
    OptionalTensors(Vec<usize>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arithmetic {
    Add,
    Sub,
    Eq,
    Lt,
}

/// The effect of a kernel on memory and on numbers.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Reads and writes whole tensors. An elementwise kernel may overwrite an input of the same shape.
    Compute {
        reads: Vec<usize>,
        writes: Vec<usize>,
        elementwise: bool,
    },
    /// `et_copy_index`: writes one row.
    CopyRow {
        to: usize,
        from: usize,
        index: usize,
    },
    /// `index_put_`: writes some rows.
    PutRows {
        to: usize,
        from: usize,
        rows: Vec<u64>,
    },
    View {
        of: usize,
        out: usize,
    },
    Size {
        of: usize,
        out: usize,
    },
    Arithmetic(Arithmetic, [usize; 3]),
}

#[derive(Clone, Debug)]
pub enum Step {
    Call { operator: (&'static str, &'static str), args: Vec<usize>, effect: Effect },
    Move { from: usize, to: usize },
    Jump { condition: usize, to: usize },
    Free(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    Temporary,
    Input,
    /// Memory that keeps its content from run to run.
    State,
}

/// Memory that some tensors share.
#[derive(Clone, Debug)]
pub struct Block {
    pub size: u64,
    pub role: Role,
    /// The content of a state when the method is loaded, if the file has it.
    pub initial: Option<Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub values: Vec<Value>,
    pub blocks: Vec<Block>,
    pub constants: Vec<Vec<u8>>,
    pub steps: Vec<Step>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

/// The places of blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub offsets: Vec<u64>,
    /// Tensors that were moved away from their block.
    pub alone: BTreeMap<usize, u64>,
}

impl Program {
    pub fn tensor(&self, value: usize) -> &TensorValue {
        match &self.values[value] {
            Value::Tensor(tensor) => tensor,
            other => panic!("value {value} is {other:?}"),
        }
    }

    pub fn tensors(&self) -> impl Iterator<Item = (usize, &TensorValue)> {
        self.values.iter().enumerate().filter_map(|(index, value)| match value {
            Value::Tensor(tensor) => Some((index, tensor)),
            _ => None,
        })
    }

    /// Returns `true` if each step can be reached, and everything that is read has content: each state has an initial content or is
    /// written, each input is set. A tensor in planned memory that is only read is a view of other content.
    pub fn is_complete(&self) -> bool {
        let mut reached = vec![false; self.steps.len()];
        let mut queue = vec![0];
        while let Some(step) = queue.pop() {
            let Some(is_reached) = reached.get_mut(step) else { continue };
            if std::mem::replace(is_reached, true) {
                continue;
            }
            match &self.steps[step] {
                Step::Jump { condition, to } => {
                    queue.push(*to);
                    // Constants, which are not results of a kernel, are false.
                    let is_result = |step: &Step| matches!(step, Step::Call { effect: Effect::Arithmetic(_, [_, _, out]), .. } if out == condition);
                    if matches!(self.values[*condition], Value::Tensor(_)) || self.steps.iter().any(is_result) {
                        queue.push(step + 1);
                    }
                }
                _ => queue.push(step + 1),
            }
        }
        let reads = |block: usize| {
            let mentions = self.steps.iter().flat_map(|step| self.mentions(step));
            mentions.chain(self.outputs.iter().copied()).any(|value| self.is_in(value, block))
        };
        let mut blocks = self.blocks.iter().enumerate();
        let are_given = blocks.all(|(index, block)| match block.role {
            Role::Temporary => true,
            Role::Input => self.inputs.iter().any(|input| self.is_in(*input, index)) || !reads(index),
            Role::State => block.initial.is_some() || self.is_written(index, self.steps.len()) || !reads(index),
        });
        reached.into_iter().all(|reached| reached) && are_given
    }

    /// Returns whether one of the first `steps` steps writes to a block.
    fn is_written(&self, block: usize, steps: usize) -> bool {
        self.steps[..steps].iter().any(|step| match step {
            Step::Call { effect: Effect::Compute { writes, .. }, .. } => {
                writes.iter().any(|value| self.is_in(*value, block))
            }
            Step::Call { effect: Effect::CopyRow { to, .. } | Effect::PutRows { to, .. }, .. } => {
                self.is_in(*to, block)
            }
            _ => false,
        })
    }

    fn is_in(&self, value: usize, block: usize) -> bool {
        matches!(&self.values[value], Value::Tensor(TensorValue { at: At::Block(other, _), .. }) if *other == block)
    }

    /// Returns the plan in which blocks do not share memory: the reference.
    pub fn apart(&self) -> Plan {
        let mut end = 0;
        let mut offset = |block: &Block| {
            let offset = end;
            end += block.size.next_multiple_of(16) + 16;
            offset
        };
        Plan { offsets: self.blocks.iter().map(&mut offset).collect(), alone: BTreeMap::new() }
    }

    /// Returns `true` if the plan does not determine the meaning: a view was moved away from its block, or two states have the same place,
    /// as if they were one.
    pub fn is_ambiguous(&self, plan: &Plan) -> bool {
        let states = self.blocks.iter().zip(&plan.offsets).filter(|(block, _)| block.role == Role::State);
        let mut places: Vec<(u64, u64)> = states.map(|(block, offset)| (*offset, block.size)).collect();
        places.sort_unstable();
        !plan.alone.is_empty() || places.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns `true` for a tensor that no instruction writes and that could also be a view of another block, which covers it and has
    /// content when the tensor is used first.
    pub fn may_be_view_of_another(&self, value: usize, plan: &Plan) -> bool {
        let Value::Tensor(TensorValue { at: At::Block(own, offset), .. }) = &self.values[value] else { return false };
        let is_first = self.tensors().find(|(_, tensor)| matches!(&tensor.at, At::Block(block, _) if block == own));
        if is_first.is_some_and(|(first, _)| first == value) {
            return false;
        }
        let start = plan.offsets[*own] + offset;
        let end = start + self.tensor(value).bytes();
        let first_use = self.steps.iter().position(|step| self.mentions(step).contains(&value));
        let has_content = |block: usize| {
            let Block { role, initial, .. } = &self.blocks[block];
            *role == Role::Input || initial.is_some() || self.is_written(block, first_use.unwrap_or(self.steps.len()))
        };
        plan.offsets.iter().enumerate().any(|(block, place)| {
            let covers = *place <= start && end <= place + self.blocks[block].size;
            block != *own && covers && has_content(block)
        })
    }

    /// Returns the values that a step refers to, with the items of lists.
    pub fn mentions(&self, step: &Step) -> Vec<usize> {
        match step {
            Step::Call { effect, .. } => match effect {
                Effect::Compute { reads, writes, .. } => reads.iter().chain(writes).copied().collect(),
                Effect::CopyRow { to, from, .. } | Effect::PutRows { to, from, .. } => vec![*to, *from],
                Effect::View { of, out } => vec![*of, *out],
                Effect::Size { .. } | Effect::Arithmetic(..) => Vec::new(),
            },
            Step::Move { from, to } => vec![*from, *to],
            Step::Jump { condition, .. } => vec![*condition],
            Step::Free(value) => vec![*value],
        }
    }

    /// Returns the numbers that a step computes.
    pub fn numbers(&self, step: &Step) -> Vec<usize> {
        match step {
            Step::Call { effect: Effect::Arithmetic(_, [_, _, out]) | Effect::Size { out, .. }, .. } => vec![*out],
            _ => Vec::new(),
        }
    }

    /// Returns the program as a file.
    pub fn file(&self, plan: &Plan) -> Vec<u8> {
        let mut data = DataCollector::new();
        let mut planned = 16;
        let indices = |items: &[usize]| items.iter().map(|item| *item as i32).collect::<Vec<_>>();
        let mut values: Vec<EValue<'_>> = Vec::new();
        for (index, value) in self.values.iter().enumerate() {
            values.push(match value {
                Value::Int(number) => (*number).into(),
                Value::Bool(flag) => (*flag).into(),
                Value::Double(number) => (*number).into(),
                Value::Null => EValue::null(),
                Value::Ints(items) => EValue::int_list(items.iter().map(|item| *item as i64).collect::<Vec<_>>()),
                Value::Tensors(items) => EValue::tensor_list(indices(items)),
                Value::OptionalTensors(items) => {
                    EValue { val: OptionalTensorList { items: Some(indices(items).into()) }.into() }
                }
                Value::Tensor(value) => {
                    let mut tensor = Tensor::new(value.scalar_type, value.sizes.clone());
                    if value.dynamic {
                        tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
                    }
                    match &value.at {
                        At::Block(block, offset) => {
                            let place = plan.alone.get(&index).copied().unwrap_or(plan.offsets[*block] + offset);
                            planned = planned.max(place + value.bytes());
                            tensor = tensor.with_planned(1, place);
                            if let Some(bytes) = &self.blocks[*block].initial {
                                tensor = tensor.with_data(data.initial_state(bytes.clone()));
                            }
                        }
                        At::Constant(constant) => {
                            tensor = tensor.with_data(data.constant(self.constants[*constant].clone()));
                        }
                        At::RunTime | At::Caller => (),
                    }
                    tensor.into()
                }
            });
        }
        let mut operators: Vec<(&str, &str)> = Vec::new();
        let mut instructions = Vec::new();
        for step in &self.steps {
            instructions.push(match step {
                Step::Call { operator, args, .. } => {
                    let known = operators.iter().position(|other| other == operator);
                    let index = known.unwrap_or_else(|| {
                        operators.push(*operator);
                        operators.len() - 1
                    });
                    Instruction::kernel_call(index as i32, indices(args))
                }
                Step::Move { from, to } => {
                    Instruction { instr_args: MoveCall { move_from: *from as i32, move_to: *to as i32 }.into() }
                }
                Step::Jump { condition, to } => Instruction {
                    instr_args: JumpFalseCall {
                        cond_value_index: *condition as i32,
                        destination_instruction: *to as i32,
                    }
                    .into(),
                },
                Step::Free(value) => Instruction { instr_args: FreeCall { value_index: *value as i32 }.into() },
            });
        }
        let operators = operators.into_iter().map(|(name, overload)| Operator::new(name, overload)).collect();
        let plan = ExecutionPlan::new("forward", values, operators, instructions, planned as i64)
            .with_inputs(indices(&self.inputs))
            .with_outputs(indices(&self.outputs));
        let program = Schema { execution_plan: Some(vec![plan]), ..Schema::default() };
        data.finish(program, &PteOptions::default()).unwrap().image().unwrap().to_vec().unwrap()
    }
}
