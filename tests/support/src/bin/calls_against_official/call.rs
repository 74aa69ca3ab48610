//! Calls of kernels as text and as programs.

use executorch_format::schema::program::{
    EValue, ExecutionPlan, Instruction, KernelTypes, Operator, OptionalTensorList, Tensor, TensorShapeDynamism,
};
use executorch_format::schema::{Program, ScalarType};
use executorch_format::{DataCollector, PteOptions};
use std::fmt;

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Tensor(Shape),
    Int(i64),
    Double(f64),
    Bool(bool),
    String(String),
    Null,
    Ints(Vec<i64>),
    Doubles(Vec<f64>),
    Bools(Vec<bool>),
    Tensors(Vec<Shape>),
    OptionalTensors(Vec<Option<Shape>>),
}

/// A tensor of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    pub scalar_type: ScalarType,
    pub sizes: Vec<i32>,
    /// The dim order; contiguous if absent.
    pub order: Option<Vec<u8>>,
    pub is_dynamic: bool,
    /// The elements of a constant tensor of type i64.
    pub constant: Option<Vec<i64>>,
}

/// A call of an operator.
#[derive(Clone, Debug)]
pub struct Call {
    /// The operator's name, with its overload.
    pub operator: String,
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
}

const TYPES: [(&str, i8); 14] = [
    ("u8", 0),
    ("i8", 1),
    ("i16", 2),
    ("i32", 3),
    ("i64", 4),
    ("f16", 5),
    ("f32", 6),
    ("f64", 7),
    ("c64", 9),
    ("bool", 11),
    ("bf16", 15),
    ("u16", 27),
    ("u32", 28),
    ("u64", 29),
];

/// The types that changed calls have.
pub fn scalar_types() -> impl Iterator<Item = ScalarType> + Clone {
    TYPES.into_iter().map(|(_, number)| ScalarType(number))
}

impl Shape {
    /// Parses a tensor such as `f32[2,3,4,4]@0,2,3,1`: a type, sizes, and the dim order if it is not contiguous.
    fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once('[')?;
        let (sizes, order) = rest.split_once(']')?;
        let number = TYPES.iter().find(|(other, _)| *other == name)?.1;
        let order = match order.strip_prefix('@') {
            Some(order) => Some(list(order, |item| item.parse().ok())?),
            None => None,
        };
        let sizes = list(sizes, |size| size.parse().ok())?;
        Some(Self { order, ..Self::new(ScalarType(number), sizes) })
    }

    /// Returns a contiguous tensor.
    pub fn new(scalar_type: ScalarType, sizes: Vec<i32>) -> Self {
        Self { scalar_type, sizes, order: None, is_dynamic: false, constant: None }
    }

    fn byte_size(&self) -> u64 {
        let elements: u64 = self.sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)).product();
        elements * self.scalar_type.element_size().unwrap_or(8) as u64
    }
}

/// Parses items between separators.
fn list<T>(text: &str, item: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split([',', ';']).filter(|part| !part.is_empty()).map(item).collect()
}

impl Value {
    fn parse(text: &str) -> Option<Self> {
        let items = |open: &str, close: char| text.strip_prefix(open)?.strip_suffix(close);
        Some(match text {
            "null" => Self::Null,
            "true" | "false" => Self::Bool(text == "true"),
            _ if text.starts_with('"') => Self::String(text.trim_matches('"').into()),
            _ => {
                if let Some(ints) = items("i(", ')') {
                    Self::Ints(list(ints, |item| item.parse().ok())?)
                } else if let Some(doubles) = items("d(", ')') {
                    Self::Doubles(list(doubles, |item| item.parse().ok())?)
                } else if let Some(bools) = items("b(", ')') {
                    Self::Bools(list(bools, |item| item.parse().ok())?)
                } else if let Some(tensors) = items("t{", '}') {
                    Self::Tensors(tensors.split(';').map(Shape::parse).collect::<Option<_>>()?)
                } else if let Some(tensors) = items("o{", '}') {
                    let item = |item: &str| if item == "null" { Some(None) } else { Shape::parse(item).map(Some) };
                    Self::OptionalTensors(tensors.split(';').map(item).collect::<Option<_>>()?)
                } else if text.contains('[') {
                    Self::Tensor(Shape::parse(text)?)
                } else {
                    let int = text.parse().map(Self::Int);
                    int.or_else(|_| text.parse().map(Self::Double)).ok()?
                }
            }
        })
    }

    /// Returns the tensors that it consists of.
    pub fn tensors_mut(&mut self) -> Vec<&mut Shape> {
        match self {
            Self::Tensor(shape) => vec![shape],
            Self::Tensors(shapes) => shapes.iter_mut().collect(),
            Self::OptionalTensors(shapes) => shapes.iter_mut().flatten().collect(),
            _ => Vec::new(),
        }
    }
}

impl Call {
    /// Parses a call such as `f32[2,3] f32[2,3] 1 > f32[2,3]`: inputs, then results.
    fn parse(operator: &str, text: &str) -> Option<Self> {
        let (inputs, outputs) = text.split_once('>')?;
        let values = |text: &str| text.split_whitespace().map(Value::parse).collect::<Option<Vec<_>>>();
        Some(Self { operator: operator.into(), inputs: values(inputs)?, outputs: values(outputs)? })
    }

    /// Returns a program that consists of the call.
    pub fn program(&self) -> executorch_format::Result<Vec<u8>> {
        let mut made = Made { values: Vec::new(), inputs: Vec::new(), planned: 0, data: DataCollector::new() };
        let mut args: Vec<i32> = self.inputs.iter().map(|value| made.value(value, true)).collect();
        let outputs: Vec<i32> = self.outputs.iter().map(|value| made.value(value, false)).collect();
        args.extend(&outputs);
        // Other kernels take their result once more.
        if !self.operator.starts_with("executorch_prim::")
            && !self.operator.starts_with("aten::sym_")
            && self.operator != "aten::_local_scalar_dense"
        {
            args.push(match outputs.as_slice() {
                [] => args[0],
                [output] => *output,
                outputs => made.add(EValue::tensor_list(outputs.to_vec())),
            });
        }
        let (name, overload) = self.operator.split_once('.').unwrap_or((&self.operator, ""));
        let is_tensor = |output: &i32| matches!(made.values[*output as usize].val, KernelTypes::Tensor(_));
        let outputs: Vec<i32> = outputs.iter().copied().filter(is_tensor).collect();
        let call = vec![Instruction::kernel_call(0, args)];
        let operators = vec![Operator::new(name, overload)];
        let plan = ExecutionPlan::new("forward", made.values, operators, call, made.planned.max(16) as i64)
            .with_inputs(made.inputs)
            .with_outputs(outputs);
        let program = Program { execution_plan: Some(vec![plan]), ..Program::default() };
        made.data.finish(program, &PteOptions::default())?.image()?.to_vec()
    }
}

/// The values of a program.
struct Made {
    values: Vec<EValue<'static>>,
    inputs: Vec<i32>,
    /// The size of planned memory.
    planned: u64,
    data: DataCollector<'static>,
}

impl Made {
    fn add(&mut self, value: EValue<'static>) -> i32 {
        self.values.push(value);
        self.values.len() as i32 - 1
    }

    /// Adds a tensor with memory of its own: an input of the method, a constant, or a result.
    fn tensor(&mut self, shape: &Shape, is_input: bool) -> i32 {
        let mut tensor = Tensor::new(shape.scalar_type, shape.sizes.clone());
        if let Some(order) = shape.order.as_ref().filter(|order| order.len() == shape.sizes.len()) {
            tensor.dim_order = Some(order.clone().into());
        }
        if shape.is_dynamic {
            tensor.shape_dynamism = TensorShapeDynamism::DYNAMIC_BOUND;
        }
        if let Some(numbers) = &shape.constant {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let constant = self.data.constant(bytes);
            return self.add(tensor.with_data(constant).into());
        }
        let tensor = tensor.with_planned(1, self.planned);
        self.planned += (shape.byte_size() + 31) / 16 * 16;
        let index = self.add(tensor.into());
        if is_input {
            self.inputs.push(index);
        }
        index
    }

    fn value(&mut self, value: &Value, is_input: bool) -> i32 {
        let value = match value {
            Value::Tensor(shape) => return self.tensor(shape, is_input),
            Value::Int(int) => (*int).into(),
            Value::Double(double) => (*double).into(),
            Value::Bool(bool) => (*bool).into(),
            Value::String(text) => {
                KernelTypes::from(executorch_format::schema::program::String { string_val: Some(text.clone().into()) })
                    .into()
            }
            Value::Null => EValue::null(),
            Value::Ints(ints) => {
                let items: Vec<i64> = ints.iter().map(|int| i64::from(self.add((*int).into()))).collect();
                EValue::int_list(items)
            }
            Value::Doubles(doubles) => EValue::double_list(doubles.clone()),
            Value::Bools(bools) => EValue::bool_list(bools.clone()),
            Value::Tensors(shapes) => {
                let items: Vec<i32> = shapes.iter().map(|shape| self.tensor(shape, is_input)).collect();
                EValue::tensor_list(items)
            }
            Value::OptionalTensors(shapes) => {
                let item = |shape: &Option<Shape>| shape.as_ref().map_or(-1, |shape| self.tensor(shape, is_input));
                let items: Vec<i32> = shapes.iter().map(item).collect();
                KernelTypes::from(OptionalTensorList { items: Some(items.into()) }).into()
            }
        };
        self.add(value)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = TYPES.iter().find(|(_, number)| *number == self.scalar_type.0).map_or("?", |(name, _)| name);
        let sizes: Vec<String> = self.sizes.iter().map(i32::to_string).collect();
        write!(f, "{name}[{}]", sizes.join(","))?;
        if let Some(order) = &self.order {
            write!(f, "@{order:?}")?;
        }
        f.write_str(if self.is_dynamic { " dynamic" } else { "" })?;
        match &self.constant {
            Some(numbers) => write!(f, " = {numbers:?}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.operator)?;
        for value in self.inputs.iter().chain(&self.outputs) {
            match value {
                Value::Tensor(shape) => write!(f, " | {shape}")?,
                Value::Tensors(shapes) => {
                    let shapes: Vec<String> = shapes.iter().map(Shape::to_string).collect();
                    write!(f, " | {{{}}}", shapes.join("; "))?;
                }
                Value::OptionalTensors(shapes) => {
                    let shapes: Vec<String> =
                        shapes.iter().map(|shape| shape.as_ref().map_or("null".into(), Shape::to_string)).collect();
                    write!(f, " | {{{}}}", shapes.join("; "))?;
                }
                value => write!(f, " | {value:?}")?,
            }
        }
        Ok(())
    }
}

/// Returns calls that the runtime runs, by operator.
pub fn examples() -> Vec<Vec<Call>> {
    let mut examples: Vec<Vec<Call>> = Vec::new();
    let mut operator = "";
    for line in include_str!("calls.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("  ") {
            Some(text) => {
                let call = Call::parse(operator, text).unwrap_or_else(|| panic!("{operator}: {text}"));
                examples.last_mut().expect("an operator").push(call);
            }
            None => {
                operator = line;
                examples.push(Vec::new());
            }
        }
    }
    examples
}
