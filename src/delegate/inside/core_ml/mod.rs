//! The nodes of a payload for Core ML: the operations of its ML Program.

mod program;
mod text;

use super::budget::GraphBudget;
use super::{
    InsideArgument, InsideData, InsideNode, InsideTensorType, MAX_ARGUMENTS, attention_macs, convolution_macs,
};
use crate::delegate::{CoreMl, NamedBlobs};
use crate::error::Result;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, string::String, sync::Arc, vec::Vec};

/// Returns the nodes, or `None` if the package has no ML Program that this crate reads.
pub(super) fn nodes(
    core_ml: &CoreMl,
    payload: &[u8],
    blobs: &NamedBlobs<'_>,
    budget: &mut GraphBudget,
) -> Result<Option<Vec<InsideNode>>> {
    match core_ml {
        CoreMl::Package(_) => of_package(core_ml, payload, "main", budget),
        CoreMl::Function { key, function_name } => {
            let package = blobs.of_payload(key)?;
            match CoreMl::parse(package)? {
                core_ml @ CoreMl::Package(_) => of_package(&core_ml, package, function_name, budget),
                // A function of a function: no exporter writes one.
                CoreMl::Function { .. } => Ok(None),
            }
        }
    }
}

fn of_package(
    core_ml: &CoreMl,
    payload: &[u8],
    function: &str,
    budget: &mut GraphBudget,
) -> Result<Option<Vec<InsideNode>>> {
    // The bytes of a file are inside the payload: parsing checked it.
    let (mut model, mut mil, mut ends) = (None, None, Ends::default());
    for (path, range) in core_ml.files() {
        let (Ok(start), Ok(end)) = (usize::try_from(range.start), usize::try_from(range.end)) else { continue };
        let Some(bytes) = payload.get(start..end) else { continue };
        match path.rsplit('/').next() {
            Some("model.mlmodel") => model = Some((bytes, start)),
            Some("model.mil") => mil = Some((bytes, start)),
            Some("metadata.json") if !path.contains('/') => ends = serde_json::from_slice(bytes).unwrap_or_default(),
            _ => {}
        }
    }
    let mut builder = Builder::new(&ends, function, budget);
    let is_program = match (model, mil) {
        (Some((bytes, start)), _) => program::read(bytes, start, &mut builder)?,
        (None, Some((bytes, start))) => text::read(bytes, start, &mut builder)?,
        (None, None) => false,
    };
    Ok(is_program.then_some(builder.nodes))
}

/// The inputs and outputs of the delegate, as ExecuTorch's `metadata.json` lists them.
#[derive(Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ends {
    input_names: Vec<String>,
    output_names: Vec<String>,
}

/// An operation, as both forms of a program have it.
#[derive(Default)]
struct Operation<'p> {
    kind: &'p str,
    /// Each argument with its name.
    inputs: Vec<(&'p str, Bound<'p>)>,
    outputs: Vec<(&'p str, InsideTensorType)>,
    attributes: Vec<(&'p str, Immediate)>,
}

/// An argument: a value by name, or a constant.
enum Bound<'p> {
    Name(&'p str),
    Constant(Immediate),
}

/// A constant.
#[derive(Clone, Debug, Default)]
struct Immediate {
    tensor: InsideTensorType,
    /// The value, if it is in the program itself. Long lists are cut.
    text: String,
    /// The offset in the file of weights, if it is there.
    blob: Option<u64>,
}

impl Immediate {
    /// Returns `true` for data of the model, `false` for a setting of an operation, such as a stride.
    fn is_data(&self) -> bool {
        let is_float = ["f", "bf"].iter().any(|start| self.tensor.datatype.starts_with(start));
        self.blob.is_some() || self.tensor.rank > 1 || self.tensor.rank == 1 && is_float
    }
}

/// A value that operations take.
struct Value {
    id: u32,
    name: Arc<str>,
    tensor: Arc<InsideTensorType>,
    constant: Option<Immediate>,
    argument: Option<u32>,
}

/// Converts operations to nodes, one after the other.
struct Builder<'p, 'b> {
    ends: &'b Ends,
    /// The function that the delegate runs.
    function: &'b str,
    budget: &'b mut GraphBudget,
    values: BTreeMap<&'p str, Value>,
    next: u32,
    nodes: Vec<InsideNode>,
}

impl<'p, 'b> Builder<'p, 'b> {
    fn new(ends: &'b Ends, function: &'b str, budget: &'b mut GraphBudget) -> Self {
        Self { ends, function, budget, values: BTreeMap::new(), next: 0, nodes: Vec::new() }
    }

    fn id(&mut self) -> u32 {
        // A program has fewer values than bytes.
        self.next += 1;
        self.next - 1
    }

    /// Adds an input of the function, in its order.
    fn input(&mut self, name: &'p str, tensor: InsideTensorType, position: usize) {
        let position = match self.ends.input_names.is_empty() {
            true => Some(position),
            // States are inputs of the function, but not arguments of the delegate.
            false => self.ends.input_names.iter().position(|input| input == name),
        };
        let argument = position.and_then(|position| u32::try_from(position).ok());
        self.value(name, tensor, None, argument);
    }

    /// Adds a value, and returns what arguments have of it.
    fn value(
        &mut self,
        name: &'p str,
        tensor: InsideTensorType,
        constant: Option<Immediate>,
        argument: Option<u32>,
    ) -> InsideArgument {
        let (id, tensor) = (self.id(), Arc::new(tensor));
        let value = Value { id, name: crate::names::short(name).into(), tensor, constant, argument };
        let found = value.as_argument("".into());
        self.values.insert(name, value);
        found
    }

    /// Adds an operation. `block` names the nested block that contains it.
    fn operation(&mut self, operation: Operation<'p>, block: Option<&str>) -> Result<()> {
        let Operation { kind, inputs, outputs, attributes } = operation;
        if kind == "const" {
            let constant = attributes.into_iter().find(|(name, _)| *name == "val").map(|(_, value)| value);
            for (name, tensor) in outputs {
                self.value(name, tensor, Some(constant.clone().unwrap_or_default()), None);
            }
            return Ok(());
        }
        let mut node = InsideNode::new(crate::names::short(kind));
        for (name, bound) in inputs.into_iter().take(MAX_ARGUMENTS) {
            let name: Cow<'static, str> = Cow::Owned(crate::names::short(name));
            match bound {
                Bound::Name(value) => {
                    if !self.values.contains_key(value) {
                        self.value(value, InsideTensorType::default(), None, None);
                    }
                    match self.values.get(value) {
                        Some(Value { constant: Some(constant), .. }) if !constant.is_data() => {
                            node.set(name, constant.text.clone());
                        }
                        Some(value) => node.arguments.push(value.as_argument(name)),
                        None => {}
                    }
                }
                Bound::Constant(constant) if constant.is_data() => {
                    let id = self.id();
                    node.arguments.push(constant.into_argument(name, id));
                }
                Bound::Constant(constant) => node.set(name, constant.text),
            }
        }
        for (name, value) in attributes.into_iter().take(MAX_ARGUMENTS) {
            match name {
                "name" => node.name = Some(value.text.trim_matches('"').into()),
                name => node.set(crate::names::short(name), value.text),
            }
        }
        if let Some(block) = block {
            node.set("in block", block);
        }
        let inputs = self.ends.input_names.len();
        for (name, tensor) in outputs.into_iter().take(MAX_ARGUMENTS) {
            let position = self.ends.output_names.iter().position(|output| output == name);
            let argument = position.and_then(|position| u32::try_from(inputs.checked_add(position)?).ok());
            let given = self.value(name, tensor, None, argument);
            node.arguments.push(InsideArgument { name: "output".into(), output: true, ..given });
        }
        node.macs = macs(&node);
        self.budget.push(&mut self.nodes, node)
    }
}

impl Value {
    fn as_argument(&self, name: Cow<'static, str>) -> InsideArgument {
        InsideArgument {
            name,
            id: self.id,
            value_name: Some(self.name.clone()),
            output: false,
            tensor: self.tensor.clone(),
            argument: self.argument,
            constant: self.constant.is_some(),
            data: self.constant.as_ref().and_then(|constant| constant.blob).map(InsideData::Index),
        }
    }
}

impl Immediate {
    fn into_argument(self, name: Cow<'static, str>, id: u32) -> InsideArgument {
        InsideArgument {
            name,
            id,
            tensor: Arc::new(self.tensor),
            constant: true,
            data: self.blob.map(InsideData::Index),
            ..InsideArgument::default()
        }
    }
}

/// Returns the multiply-accumulates of an operation, or `None` if it has products that are not counted here.
fn macs(node: &InsideNode) -> Option<u64> {
    let is_set = |name: &str| node.settings.iter().any(|set| set.name == name && set.value == "true");
    let output = || node.output()?.elements();
    match &*node.operator {
        "conv" => convolution_macs(node.output()?, node.input("weight")?),
        "conv_transpose" => convolution_macs(node.input("x")?, node.input("weight")?),
        "linear" => Some(output()?.saturating_mul(node.input("x")?.dim(-1)?)),
        "matmul" => {
            let axis = if is_set("transpose_x") { -2 } else { -1 };
            Some(output()?.saturating_mul(node.input("x")?.dim(axis)?))
        }
        "scaled_dot_product_attention" => attention_macs(node),
        "einsum" | "lstm" | "gru" | "rnn" | "conv_quantized" | "custom_layer" => None,
        _ => Some(0),
    }
}
