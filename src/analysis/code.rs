//! The instructions of a program.

use super::constant_methods::{Returned, double};
use super::delegate_code::DelegateCode;
use super::{Fault, InstructionName, NameText, Names, ValueShape};
use crate::dataflow::{Accesses, Calls, DelegateOutputs, Role, ValueFacts};
use crate::error::Error;
use crate::file::pte::{Pte, TensorData};
use crate::file::segment::DataRef;
use crate::path::Path;
use crate::schema::program::{Chain, EValue, ExecutionPlan, Frame, InstructionArguments, KernelTypes};
use crate::sorted;
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// The instructions of all methods of a program.
///
/// ```
/// use executorch_format::inspect::Operation;
/// use executorch_format::{Analysis, Pte};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/multi_method/multi_method.pte")?;
/// let pte = Pte::parse(&file)?;
/// let disassembly = Analysis::new(&pte).disassembly();
/// let operators: Vec<&str> = disassembly.methods[0].chains[0].instructions.iter().filter_map(|instruction| {
///     match &instruction.operation {
///         Operation::Kernel { operator, .. } => Some(*operator),
///         _ => None,
///     }
/// }).collect();
/// assert_eq!(operators.last(), Some(&"aten::addmm"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Disassembly<'t> {
    /// The methods, in the file's order.
    pub methods: Vec<MethodCode<'t>>,
    /// References that are out of range.
    pub errors: Vec<Fault>,
}

/// The instructions of a method, with the values that they refer to.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodCode<'t> {
    /// The method's name.
    pub name: &'t str,
    /// Indices into `values`.
    pub inputs: &'t [i32],
    /// Indices into `values`.
    pub outputs: &'t [i32],
    /// The name of each input: a keyword argument or the keys that lead to it, or else the argument's name in an ETRecord.
    pub input_names: Vec<Option<NameText<'t>>>,
    /// The name of each output: the keys that lead to it.
    pub output_names: Vec<Option<NameText<'t>>>,
    /// The values that instructions refer to.
    pub values: Vec<CodeValue<'t>>,
    /// The instructions. Every file seen has a single chain.
    pub chains: Vec<ChainCode<'t>>,
    /// The contents of delegates, by the index in [`Operation::Delegate`].
    pub delegates: Vec<DelegateCode<'t>>,
}

/// A list of instructions.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChainCode<'t> {
    /// The instructions, run in order.
    pub instructions: Vec<Code<'t>>,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Code<'t> {
    /// The operation, with its arguments.
    #[serde(flatten)]
    pub operation: Operation<'t>,
    /// `true` if an instruction jumps here.
    pub jumped_to: bool,
    /// The reason why `output` of its arguments is an assumption; `None` if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed: Option<&'static str>,
    /// The name and the place in the model; `None` for an instruction of a newer schema.
    #[serde(flatten)]
    pub name: Option<InstructionName<'t>>,
    /// The stack of Python calls, outermost first, if the file has it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub stack: &'t [Frame<'t>],
}

/// A line of Python source.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceLine {
    /// The file.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The function.
    pub function: String,
    /// The text of the line.
    pub text: String,
}

/// The origin of a name. The first origin in this order that has a name is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum NamedBy {
    /// The file itself: a tensor's `fully_qualified_name`, or a constant method with the names of a training program's parameters.
    File,
    /// An ETRecord.
    Record,
    /// A state dict with a tensor of the same bytes, or whose numbers are within half a scale of the quantized ones.
    StateDict,
    /// The caller: a keyword argument, or the keys of dictionaries that lead to an input or output.
    Caller,
    /// The position among the inputs of the method.
    Input,
    /// The instruction that takes or writes the value, counted by operator, and the argument: `convolution.3 weight`.
    Operator,
}

impl NamedBy {
    /// Returns `true` if the model's author gave the name, rather than the name being derived from a place in the program.
    pub fn is_given(self) -> bool {
        self <= Self::Caller
    }
}

/// The operation of an instruction.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(tag = "operation", rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Operation<'t> {
    /// A call of a kernel.
    Kernel {
        /// The operator's name, such as `aten::add`; empty if its index is out of range.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        operator: &'t str,
        /// The overload, such as `out`.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        overload: &'t str,
        /// The arguments.
        arguments: Vec<Argument>,
    },
    /// A call of a delegate.
    Delegate {
        /// The backend's name; empty if the delegate's index is out of range.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        backend: &'t str,
        /// Index into the method's delegates.
        delegate: i32,
        /// The arguments: inputs, then outputs.
        arguments: Vec<Argument>,
    },
    /// An assignment of a value to another.
    Move {
        /// Index into the method's values.
        from: i32,
        /// Index into the method's values.
        to: i32,
    },
    /// A jump if a value is false.
    JumpFalse {
        /// Index into the method's values.
        condition: i32,
        /// Index into the chain's instructions.
        destination: i32,
    },
    /// The release of a dynamic tensor's memory.
    Free {
        /// Index into the method's values.
        value: i32,
    },
    /// An instruction of a newer schema.
    Unknown,
}

/// An argument of a kernel or a delegate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Argument {
    /// The name, if the operator is known. `None` also for the result, which a call repeats as its last argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<&'static str>,
    /// `true` if the kernel or the delegate writes it. [`Code::assumed`] is set if this is not known.
    pub output: bool,
    /// `true` if the argument is both read and written, so that it is changed in place.
    pub in_place: bool,
    /// The value that shares its bytes. Either the instruction makes the argument a view of that value or assigns that value to it, or no
    /// instruction makes the view, and the argument has that value's place in planned memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view_of: Option<i32>,
    /// Index into the method's values.
    pub value: i32,
}

/// A value of a method.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CodeValue<'t> {
    /// The schema's name of the value's type; `None` for a type of a newer schema.
    #[serde(rename = "type")]
    pub kind: Option<&'static str>,
    /// The number, text or list of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant: Option<Returned<'t>>,
    /// The indices of a list's values, −1 for a missing one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Vec<i64>>,
    /// The type and shape, if it is a tensor.
    #[serde(flatten)]
    pub tensor: Option<ValueShape<'t>>,
    /// The origin of the tensor's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_by: Option<NamedBy>,
    /// The place of a tensor's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<TensorPlace<'t>>,
    /// `true` if an instruction is known to write the value. A number is then only the initial value.
    pub written: bool,
}

/// The place of a tensor's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum TensorPlace<'t> {
    /// Given at run time.
    Runtime,
    /// In planned memory, without an initial state.
    Planned {
        /// Index of the buffer, from 1.
        buffer: u32,
        /// The offset from the start of the buffer, in bytes.
        offset: u64,
    },
    /// A constant.
    Constant {
        /// Index of the constant.
        index: u32,
        /// The reference to its bytes in the file.
        data: DataRef,
    },
    /// In planned memory, with an initial state.
    InitialState {
        /// Index of the initial state.
        index: u32,
        /// The reference to its bytes in the file.
        data: DataRef,
        /// Index of the buffer, from 1.
        buffer: u32,
        /// The offset from the start of the buffer, in bytes.
        offset: u64,
    },
    /// In a `.ptd` file.
    External {
        /// The key.
        #[serde(serialize_with = "crate::names::serialize_shortened")]
        key: &'t str,
    },
}

impl<'t> Disassembly<'t> {
    /// Adds the names.
    pub(super) fn with_names(mut self, names: Option<&Names<'t>>) -> Self {
        let names = names.map(|names| names.methods.as_slice()).unwrap_or_default();
        for (names, code) in names.iter().zip(&mut self.methods) {
            code.input_names.clone_from(&names.inputs);
            for (name, value) in names.values.iter().zip(&mut code.values) {
                if let (Some(name), Some(tensor)) = (name, &mut value.tensor) {
                    (tensor.name, value.named_by) = (Some(name.name.clone()), Some(name.named_by));
                }
            }
            for (names, chain) in names.chains.iter().zip(&mut code.chains) {
                for (name, code) in names.iter().zip(&mut chain.instructions) {
                    code.name.clone_from(name);
                }
            }
        }
        self
    }

    /// Adds the contents of delegates, and the errors from reading them.
    pub(super) fn with_delegates(mut self, (delegates, errors): (Vec<Vec<DelegateCode<'t>>>, Vec<Fault>)) -> Self {
        self.errors.extend(errors);
        for (method, delegates) in self.methods.iter_mut().zip(delegates) {
            method.delegates = delegates;
        }
        self
    }
}

/// Returns the instructions of each method, without names and the contents of delegates.
pub(super) fn code<'t>(pte: &'t Pte<'_>, delegates: &DelegateOutputs) -> Disassembly<'t> {
    let mut errors = Vec::new();
    let methods = pte.methods().iter().enumerate();
    let methods = methods.map(|(index, plan)| method_code(pte, index, plan, delegates, &mut errors)).collect();
    Disassembly { methods, errors }
}

fn method_code<'t>(
    pte: &'t Pte<'_>,
    method: usize,
    plan: &'t ExecutionPlan<'_>,
    delegates: &DelegateOutputs,
    errors: &mut Vec<Fault>,
) -> MethodCode<'t> {
    let root = Path::ROOT.item("execution_plan", method);
    let calls = Calls::new(plan, method, delegates);
    let facts = ValueFacts::of(plan, &calls);
    let mut values: Vec<CodeValue<'t>> = Vec::with_capacity(plan.values().len());
    for ((index, value), written) in plan.values().iter().enumerate().zip(&facts.is_written) {
        values.push(code_value(value, *written));
        let KernelTypes::Tensor(tensor) = &value.val else {
            continue;
        };
        match pte.tensor_data(tensor) {
            Ok(data) => {
                let place = TensorPlace::of(data, tensor.data_buffer_idx, tensor.allocation_info.as_ref());
                if let Some(value) = values.last_mut() {
                    value.place = Some(place);
                }
            }
            Err(error) => {
                let path = root.item("values", index).field("val.Tensor").to_field_path();
                errors.push(Fault { path, error });
            }
        }
    }
    let chains: Vec<ChainCode<'t>> = plan
        .chains()
        .iter()
        .enumerate()
        .map(|(index, chain)| chain_code(plan, chain, (&calls, &facts), &root.item("chains", index), errors))
        .collect();
    let (inputs, outputs) = (plan.inputs(), plan.outputs());
    let (input_names, output_names) = (plan.input_names(), plan.output_names());
    MethodCode { name: plan.name(), inputs, outputs, input_names, output_names, values, chains, delegates: Vec::new() }
}

fn code_value<'t>(value: &'t EValue<'_>, written: bool) -> CodeValue<'t> {
    let mut code = CodeValue { kind: value.val.name(), written, ..CodeValue::default() };
    let wide = |items: &[i32]| items.iter().map(|item| i64::from(*item)).collect();
    match &value.val {
        KernelTypes::Int(value) => code.constant = Some(Returned::Int(value.int_val)),
        KernelTypes::Bool(value) => code.constant = Some(Returned::Bool(value.bool_val)),
        KernelTypes::Double(value) => code.constant = Some(double(value.double_val)),
        KernelTypes::String(value) => code.constant = Some(Returned::String(value.string_val())),
        KernelTypes::DoubleList(list) => {
            code.constant = Some(Returned::List(list.items().iter().map(|item| double(*item)).collect()));
        }
        KernelTypes::BoolList(list) => {
            code.constant = Some(Returned::List(list.items().iter().map(|item| Returned::Bool(*item)).collect()));
        }
        KernelTypes::IntList(list) => code.items = Some(list.items().to_vec()),
        KernelTypes::Tensor(tensor) => {
            let shape = ValueShape::of(tensor);
            code.named_by = shape.name.as_ref().map(|_| NamedBy::File);
            code.tensor = Some(shape);
        }
        list => code.items = list.tensors().map(wide),
    }
    code
}

impl<'t> TensorPlace<'t> {
    pub(crate) fn of(
        data: TensorData<'t>,
        index: u32,
        allocation: Option<&crate::schema::program::AllocationDetails>,
    ) -> Self {
        let (buffer, offset) = allocation.map_or((0, 0), |place| (place.memory_id, place.memory_offset()));
        match data {
            TensorData::None => Self::Runtime,
            TensorData::Planned(_) => Self::Planned { buffer, offset },
            TensorData::Constant(data) => Self::Constant { index, data },
            TensorData::InitialState(data) => Self::InitialState { index, data, buffer, offset },
            TensorData::External(key) => Self::External { key },
        }
    }
}

fn chain_code<'t>(
    plan: &'t ExecutionPlan<'_>,
    chain: &'t Chain<'_>,
    (calls, facts): (&Calls<'_, '_>, &ValueFacts),
    path: &Path<'_>,
    errors: &mut Vec<Fault>,
) -> ChainCode<'t> {
    let mut stacks = chain.stacktrace().iter();
    // One list from the start, since a chain can have millions of small instructions.
    let mut instructions: Vec<Code<'t>> = Vec::with_capacity(chain.instructions().len());
    let mut accesses = Accesses::default();
    for instruction in chain.instructions() {
        calls.find(&instruction.instr_args, &mut accesses);
        let assumed = accesses.unknown;
        let stack = stacks.next().map(|frames| frames.items()).unwrap_or_default();
        let operation = operation(plan, &instruction.instr_args, &accesses, facts);
        instructions.push(Code { operation, jumped_to: false, assumed, name: None, stack });
    }
    for index in sorted::set(instructions.iter().filter_map(|code| code.operation.destination()).collect()) {
        if let Some(code) = instructions.get_mut(index) {
            code.jumped_to = true;
        }
    }
    for (index, (Code { operation, .. }, instruction)) in instructions.iter().zip(chain.instructions()).enumerate() {
        let mut check = |list, item: i32, count| {
            if usize::try_from(item).ok().is_none_or(|item| item >= count) {
                let error = Error::reference(format!("{list} {item}, but there are {count}"));
                errors.push(Fault { path: path.item("instructions", index).to_field_path(), error });
            }
        };
        match &instruction.instr_args {
            InstructionArguments::KernelCall(call) => check("operator", call.op_index, plan.operators().len()),
            InstructionArguments::DelegateCall(call) => check("delegate", call.delegate_index, plan.delegates().len()),
            // A jump to the end of the chain is valid.
            InstructionArguments::JumpFalseCall(call) => {
                check("instruction", call.destination_instruction, instructions.len() + 1);
            }
            _ => {}
        }
        operation.values().for_each(|value| check("value", value, plan.values().len()));
    }
    ChainCode { instructions }
}

fn operation<'t>(
    plan: &'t ExecutionPlan<'_>,
    instruction: &InstructionArguments<'_>,
    accesses: &Accesses,
    facts: &ValueFacts,
) -> Operation<'t> {
    let mut arguments = Vec::with_capacity(accesses.list.len());
    for access in &accesses.list {
        let (output, in_place) = (access.role.writes(), access.role.is_in_place());
        let view_of = match access.role {
            Role::View(of) | Role::Move(of) => Some(of),
            _ if output => None,
            _ => facts.base(access.value),
        };
        arguments.push(Argument { name: access.name, output, in_place, view_of, value: access.value });
    }
    match instruction {
        InstructionArguments::KernelCall(call) => {
            let operator = plan.operator(call);
            let (operator, overload) = operator.map_or_else(Default::default, |one| (one.name(), one.overload()));
            Operation::Kernel { operator, overload, arguments }
        }
        InstructionArguments::DelegateCall(call) => {
            let backend = plan.delegate(call).map_or("", |delegate| delegate.id());
            Operation::Delegate { backend, delegate: call.delegate_index, arguments }
        }
        InstructionArguments::MoveCall(call) => Operation::Move { from: call.move_from, to: call.move_to },
        InstructionArguments::JumpFalseCall(call) => {
            Operation::JumpFalse { condition: call.cond_value_index, destination: call.destination_instruction }
        }
        InstructionArguments::FreeCall(call) => Operation::Free { value: call.value_index },
        _ => Operation::Unknown,
    }
}

impl fmt::Display for TensorPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime => f.write_str("given at run time"),
            Self::Planned { buffer, offset } => write!(f, "buffer {buffer} at {offset}"),
            Self::Constant { index, .. } => write!(f, "constant {index}"),
            Self::InitialState { index, buffer, offset, .. } => {
                write!(f, "initial state {index}, buffer {buffer} at {offset}")
            }
            Self::External { key } => write!(f, "external {}", crate::names::shortened(key)),
        }
    }
}

impl Operation<'_> {
    /// Returns the instruction that it may jump to.
    fn destination(&self) -> Option<usize> {
        match self {
            Self::JumpFalse { destination, .. } => usize::try_from(*destination).ok(),
            _ => None,
        }
    }

    /// Iterates over the values that it refers to, in order.
    pub fn values(&self) -> impl Iterator<Item = i32> {
        let (arguments, others) = match self {
            Self::Kernel { arguments, .. } | Self::Delegate { arguments, .. } => (arguments.as_slice(), [None, None]),
            Self::Move { from, to } => (Default::default(), [Some(*from), Some(*to)]),
            Self::JumpFalse { condition: value, .. } | Self::Free { value } => {
                (Default::default(), [Some(*value), None])
            }
            Self::Unknown => Default::default(),
        };
        arguments.iter().map(|argument| argument.value).chain(others.into_iter().flatten())
    }
}
