//! Valid files: they have no finding at any level, and together they use everything that the schema offers.

use super::choices::Choices;
use super::files::any_style;
use crate::error::Result;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::style::ALIGNMENT;
use crate::schema::ScalarType;
use crate::schema::flat_tensor::TensorLayout;
use crate::schema::program::{
    BackendDelegate, CompileSpec, DataLocation, EValue, ExecutionPlan, Instruction, MoveCall, Operator,
    OptionalTensorList, Program, Tensor, TensorShapeDynamism,
};
use crate::write::collect::{DataCollector, NewEntry};
use crate::write::options::{PtdOptions, PteOptions};
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};

/// Creates a valid program: methods with planned, constant, mutable and dynamic tensors, lists, calls of operators and delegates,
/// moves, and named data, in any official style and layout.
///
/// Fails only if this crate has a bug.
pub fn valid_program(choices: &mut Choices<'_>) -> Result<Pte<'static>> {
    program(choices, &[])
}

/// Creates a valid `.ptd` of tensors and blobs, some with equal bytes, in any layout.
///
/// Fails only if this crate has a bug.
pub fn valid_tensors(choices: &mut Choices<'_>) -> Result<Ptd<'static>> {
    let entries = entries(choices);
    tensors(choices, entries)
}

/// Creates a valid program, and a valid `.ptd` with the data of its external tensors.
///
/// Fails only if this crate has a bug.
pub fn valid_pair(choices: &mut Choices<'_>) -> Result<(Pte<'static>, Ptd<'static>)> {
    let entries = entries(choices);
    let pte = program(choices, &entries)?;
    Ok((pte, tensors(choices, entries)?))
}

fn tensors(choices: &mut Choices<'_>, entries: Vec<NewEntry<'static>>) -> Result<Ptd<'static>> {
    let style = Some(any_style(choices));
    Ptd::build(entries, &PtdOptions { segment_alignment: 1 << choices.below(13), style })
}

fn entries(choices: &mut Choices<'_>) -> Vec<NewEntry<'static>> {
    let count = choices.below(6);
    let entry = |index: u8| {
        // All keys have the same length, so that no key is a prefix of another.
        let key = format!("weight.{index:03}");
        let alignment = 1 << choices.below(8);
        let entry = if choices.below(4) == 3 {
            NewEntry::blob(key, bytes(choices))
        } else {
            let shape = shape(choices);
            let bytes = elements(choices, &shape);
            let Shape { scalar_type, sizes, dim_order } = shape;
            let layout = TensorLayout { scalar_type, sizes: Some(sizes.into()), dim_order: Some(dim_order.into()) };
            NewEntry { tensor_layout: Some(layout), ..NewEntry::blob(key, bytes) }
        };
        entry.with_alignment(alignment)
    };
    (0..count).map(entry).collect()
}

fn program(choices: &mut Choices<'_>, external: &[NewEntry<'static>]) -> Result<Pte<'static>> {
    let mut data = DataCollector::new();
    let count = 1 + choices.below(3);
    let plans: Vec<_> = (0..count).map(|index| method(choices, index, &mut data, external)).collect();
    for index in 0..choices.below(4) {
        data.named(format!("named.{index:03}"), bytes(choices), 1 << choices.below(8))?;
    }
    let options = PteOptions {
        segment_alignment: 1 << choices.below(13),
        constants: None,
        constant_alignment: Some(ALIGNMENT << choices.below(6)),
        delegate_alignment: ALIGNMENT << choices.below(6),
        delegates: Some(choices.one_of(DataLocation::SEGMENT, &[DataLocation::INLINE])),
        style: Some(any_style(choices)),
        header_length: choices.one_of(32, &[24]),
    };
    data.finish(Program { execution_plan: Some(plans), ..Program::default() }, &options)
}

/// A type and shape with few bytes.
#[derive(Clone)]
struct Shape {
    scalar_type: ScalarType,
    sizes: Vec<i32>,
    dim_order: Vec<u8>,
}

fn shape(choices: &mut Choices<'_>) -> Shape {
    let others = [
        ScalarType::LONG,
        ScalarType::INT,
        ScalarType::BOOL,
        ScalarType::BYTE,
        ScalarType::CHAR,
        ScalarType::SHORT,
        ScalarType::HALF,
        ScalarType::BFLOAT16,
        ScalarType::DOUBLE,
    ];
    let scalar_type = choices.one_of(ScalarType::FLOAT, &others);
    let rank = choices.below(5);
    let sizes = (0..rank).map(|_| i32::from(choices.one_of(1u8, &[2, 3, 5, 0]))).collect();
    let mut dim_order: Vec<u8> = (0..rank).collect();
    if choices.yes() {
        // Channels last, for images.
        dim_order.rotate_left(usize::from(rank > 1));
    }
    Shape { scalar_type, sizes, dim_order }
}

fn bytes(choices: &mut Choices<'_>) -> Vec<u8> {
    (0..choices.below(40)).map(|_| choices.byte()).collect()
}

fn elements(choices: &mut Choices<'_>, shape: &Shape) -> Vec<u8> {
    let size = Tensor::from(shape.clone()).byte_size().unwrap_or_default();
    let last = if shape.scalar_type == ScalarType::BOOL { 1 } else { u8::MAX };
    (0..size).map(|_| choices.byte() & last).collect()
}

impl From<Shape> for Tensor<'static> {
    fn from(shape: Shape) -> Self {
        Self { dim_order: Some(Cow::Owned(shape.dim_order)), ..Self::new(shape.scalar_type, shape.sizes) }
    }
}

/// The values of a method under construction.
#[derive(Default)]
struct Values {
    values: Vec<EValue<'static>>,
    /// The tensors with planned memory and without an initial state.
    planned: Vec<i32>,
    /// All tensors.
    tensors: Vec<i32>,
    /// The integers.
    integers: Vec<i32>,
    /// The size of planned memory, in bytes.
    arena: u64,
}

impl Values {
    fn add(&mut self, value: impl Into<EValue<'static>>) -> i32 {
        self.values.push(value.into());
        self.values.len() as i32 - 1
    }

    /// Gives each tensor memory of its own, so that it is not overwritten while it is needed.
    fn place(&mut self, tensor: Tensor<'static>) -> Tensor<'static> {
        let offset = self.arena;
        let size = tensor.byte_size().unwrap_or_default().max(1);
        self.arena = (offset + size).next_multiple_of(ALIGNMENT.into());
        tensor.with_planned(1, offset)
    }

    fn tensor(&mut self, choices: &mut Choices<'_>, data: &mut DataCollector<'static>, external: &[NewEntry<'static>]) {
        let shape = shape(choices);
        let tensor = Tensor::from(shape.clone());
        let index = match choices.below(6) {
            0 | 1 => {
                let dynamism = choices.one_of(TensorShapeDynamism::STATIC, &[TensorShapeDynamism::DYNAMIC_BOUND]);
                let tensor = self.place(Tensor { shape_dynamism: dynamism, ..tensor });
                let index = self.add(tensor);
                self.planned.push(index);
                index
            }
            2 | 3 => {
                let constant = data.constant(elements(choices, &shape));
                self.add(tensor.with_data(constant))
            }
            4 => {
                let state = data.initial_state(elements(choices, &shape));
                let tensor = self.place(tensor).with_data(state);
                self.add(tensor)
            }
            _ => {
                let entry = external.get(usize::from(choices.below(external.len() as u8)));
                let Some((entry, layout)) = entry.and_then(|entry| Some((entry, entry.tensor_layout.clone()?))) else {
                    return;
                };
                let TensorLayout { scalar_type, sizes, dim_order } = layout;
                let key = String::from(&*entry.key);
                self.add(Tensor { scalar_type, sizes, dim_order, ..Tensor::default() }.with_external(key))
            }
        };
        self.tensors.push(index);
    }

    /// Picks some items of a list, if it has any.
    fn some(choices: &mut Choices<'_>, of: &[i32]) -> Vec<i32> {
        let count = choices.below(4);
        let one = |_| of.get(usize::from(choices.below(of.len() as u8))).copied();
        (0..count).filter_map(one).collect()
    }

    fn other(&mut self, choices: &mut Choices<'_>) {
        let value = match choices.below(9) {
            0 => {
                let index = self.add(i64::from(choices.byte()) - 100);
                return self.integers.push(index);
            }
            1 => EValue::null(),
            2 => f64::from(choices.byte()).into(),
            3 => choices.yes().into(),
            4 => choices.one_of("text", &["", "é語🦀", "\"\\\n"]).into(),
            5 => {
                let items: Vec<i64> = Self::some(choices, &self.integers).into_iter().map(i64::from).collect();
                EValue::int_list(items)
            }
            6 => EValue::tensor_list(Self::some(choices, &self.tensors)),
            7 => {
                let mut items = Self::some(choices, &self.tensors);
                items.push(-1);
                EValue { val: OptionalTensorList { items: Some(items.into()) }.into() }
            }
            _ => EValue::double_list(vec![0.5; usize::from(choices.below(4))]),
        };
        self.add(value);
    }
}

fn method(
    choices: &mut Choices<'_>,
    index: u8,
    data: &mut DataCollector<'static>,
    external: &[NewEntry<'static>],
) -> ExecutionPlan<'static> {
    let mut values = Values::default();
    for _ in 0..choices.below(8) {
        values.tensor(choices, data, external);
    }
    for _ in 0..choices.below(8) {
        values.other(choices);
    }
    let operators: Vec<_> =
        (0..1 + choices.below(3)).map(|index| Operator::new(format!("test::op{index}"), "out")).collect();
    let delegates: Vec<_> = (0..choices.below(3)).map(|_| delegate(choices, data)).collect();
    let mut instructions = Vec::new();
    for _ in 0..choices.below(6) {
        instructions.extend(instruction(choices, &values, operators.len(), delegates.len()));
    }
    // Instructions do not overwrite inputs before they are read, and outputs are existing values.
    let inputs = Values::some(choices, &values.planned);
    let outputs = Values::some(choices, &values.tensors);
    let name = if index == 0 { "forward".into() } else { format!("method_{index}") };
    // The method has only a few small tensors.
    let planned = i64::try_from(values.arena).unwrap_or_default();
    let plan = ExecutionPlan::new(name, values.values, operators, instructions, planned)
        .with_inputs(inputs)
        .with_outputs(outputs);
    ExecutionPlan { delegates: Some(delegates), ..plan }
}

fn delegate(choices: &mut Choices<'_>, data: &mut DataCollector<'static>) -> BackendDelegate<'static> {
    let spec = |choices: &mut Choices<'_>| CompileSpec::new("setting", bytes(choices));
    let delegate = BackendDelegate::new("TestBackend", data.delegate(bytes(choices)));
    delegate.with_compile_specs((0..choices.below(3)).map(|_| spec(choices)).collect())
}

/// Creates a call, or a move of an integer to another, or `None` if the method has no values for it.
fn instruction(
    choices: &mut Choices<'_>,
    values: &Values,
    operators: usize,
    delegates: usize,
) -> Option<Instruction<'static>> {
    let mut arguments = Values::some(choices, &values.tensors);
    arguments.extend(values.planned.first());
    Some(match choices.below(4) {
        0 if delegates > 0 => Instruction::delegate_call(choices.below(delegates as u8).into(), arguments),
        1 => {
            let (from, to) = (values.integers.first()?, values.integers.last()?);
            Instruction { instr_args: MoveCall { move_from: *from, move_to: *to }.into() }
        }
        _ => Instruction::kernel_call(choices.below(operators as u8).into(), arguments),
    })
}
