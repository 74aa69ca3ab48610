//! The edge program of a record: its nodes, and the model's tensors that they take.

use super::{Json, Memory, about};
use crate::analysis::{Parameter, RecordedNode, SourceLine};
use crate::error::Result;
use crate::names::shortened;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};
use serde::Deserialize;
use serde_json::value::RawValue;

/// `ExportedProgram` of PyTorch's `export/serde/schema.py`, reduced to the fields that names need.
#[derive(Deserialize)]
struct Exported<'j> {
    #[serde(borrow)]
    graph_module: GraphModule<'j>,
}

#[derive(Deserialize)]
struct GraphModule<'j> {
    #[serde(borrow)]
    graph: Graph<'j>,
    #[serde(borrow)]
    signature: Signature<'j>,
}

#[derive(Deserialize)]
struct Graph<'j> {
    /// A list of `Node`.
    #[serde(borrow)]
    nodes: &'j RawValue,
    /// `TensorMeta` by name.
    #[serde(borrow)]
    tensor_values: Option<&'j RawValue>,
}

#[derive(Deserialize)]
struct Node<'j> {
    name: Option<String>,
    target: String,
    /// A list of `NamedArgument`.
    #[serde(borrow)]
    inputs: Option<&'j RawValue>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct NamedArgument {
    #[serde(default)]
    name: String,
    arg: ArgumentValue,
}

/// An argument. Only tensors, out of its many forms, have names.
#[derive(Deserialize)]
struct ArgumentValue {
    as_tensor: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Default, Deserialize)]
struct Metadata {
    debug_handle: Option<String>,
    nn_module_stack: Option<String>,
    stack_trace: Option<String>,
}

#[derive(Deserialize)]
struct TensorMeta<'j> {
    /// A list of `Size`.
    #[serde(borrow)]
    sizes: &'j RawValue,
}

/// A size: a number or an expression.
#[derive(Deserialize)]
struct Size {
    as_int: Option<u64>,
}

#[derive(Deserialize)]
struct Signature<'j> {
    /// A list of `InputSpec`.
    #[serde(borrow)]
    input_specs: &'j RawValue,
}

/// An input of the graph. Exactly one field is set.
#[derive(Deserialize)]
struct InputSpec {
    parameter: Option<ParameterSpec>,
    buffer: Option<ParameterSpec>,
    tensor_constant: Option<ParameterSpec>,
    user_input: Option<UserInput>,
}

#[derive(Deserialize)]
struct ParameterSpec {
    arg: Named,
    #[serde(alias = "buffer_name", alias = "tensor_constant_name")]
    parameter_name: String,
}

#[derive(Deserialize)]
struct UserInput {
    arg: ArgumentValue,
}

/// The operator of a node that a backend took.
const DELEGATE_CALL: &str = "higher_order::executorch_call_delegate";

/// The nodes and the inputs of an exported program, and the number of elements of its parameters.
pub(super) type Recorded = (Vec<RecordedNode>, Vec<String>, Option<u64>);

/// Reads the nodes and the inputs of an exported program, and counts its parameters.
pub(super) fn program(json: Json<'_>, memory: &mut Memory) -> Result<Recorded> {
    let GraphModule { graph, signature } = json.parse::<Exported<'_>>()?.graph_module;
    let (mut parameters, inputs) = signature_of(json, &graph, &signature, memory)?;
    let mut count = elements(parameters.values());
    let mut nodes = Vec::new();
    json.at(graph.nodes).items(|node: Node<'_>| {
        let (node, dequantized) = node.recorded(json, &parameters, memory)?;
        // The parameters of a delegate are inside of it.
        count = count.filter(|_| node.operator != DELEGATE_CALL);
        nodes.push(node);
        if let Some((name, parameter)) = dequantized {
            memory.take(PARAMETER_MEMORY + name.len() + parameter.memory())?;
            parameters.insert(name, parameter);
        }
        Ok(())
    })?;
    Ok((nodes, inputs, count))
}

/// Returns the number of elements of a model's parameters. `None` if a quantizer replaced some of them by others, or sizes are not known.
pub(super) fn elements<'p>(mut parameters: impl Iterator<Item = &'p Parameter>) -> Option<u64> {
    parameters.try_fold(0u64, |sum, parameter| {
        if parameter.has_generated_name() {
            return None;
        }
        let elements = match parameter.trained {
            true => parameter.sizes.as_ref()?.iter().try_fold(1u64, |product, size| product.checked_mul(*size))?,
            false => 0,
        };
        sum.checked_add(elements)
    })
}

/// Reads the parameters, buffers and constants of an exported program, sorted by their names in the graph.
pub(super) fn parameters(json: Json<'_>, memory: &mut Memory) -> Result<Vec<Parameter>> {
    let GraphModule { graph, signature } = json.parse::<Exported<'_>>()?.graph_module;
    let (parameters, _) = signature_of(json, &graph, &signature, memory)?;
    Ok(parameters.into_values().collect())
}

/// Reads the parameters, buffers and constants of an exported program by their names in the graph, and the inputs that a caller passes.
fn signature_of(
    json: Json<'_>,
    graph: &Graph<'_>,
    signature: &Signature<'_>,
    memory: &mut Memory,
) -> Result<(BTreeMap<String, Parameter>, Vec<String>)> {
    let mut parameters: BTreeMap<String, Parameter> = BTreeMap::new();
    let mut inputs = Vec::new();
    json.at(signature.input_specs).items(|spec: InputSpec| {
        if let Some(input) = spec.user_input {
            let name = input.arg.as_tensor.map(|named| shortened(&named.name).into_owned()).unwrap_or_default();
            memory.take(size_of_val(&name) + name.len())?;
            inputs.push(name);
        }
        let trained = spec.parameter.is_some();
        let Some(spec) = spec.parameter.or(spec.buffer).or(spec.tensor_constant) else { return Ok(()) };
        let name = shortened(&spec.parameter_name).into_owned();
        let parameter = Parameter { name, trained, ..Parameter::default() };
        memory.take(PARAMETER_MEMORY + spec.arg.name.len() + parameter.name.len())?;
        match parameters.insert(spec.arg.name, parameter) {
            Some(twice) => Err(about(json.entry, &format!("two inputs have the name of {}", twice.name))),
            None => Ok(()),
        }
    })?;
    if let Some(tensor_values) = graph.tensor_values {
        json.at(tensor_values).entries(|name, meta: TensorMeta<'_>| {
            let Some(parameter) = parameters.get_mut(&name) else { return Ok(()) };
            let mut sizes = Some(Vec::new());
            json.at(meta.sizes).items(|size: Size| {
                memory.take(size_of::<u64>())?;
                match size.as_int.zip(sizes.as_mut()) {
                    Some((size, sizes)) => sizes.push(size),
                    None => sizes = None,
                }
                Ok(())
            })?;
            match core::mem::replace(&mut parameter.sizes, sizes) {
                Some(_) => Err(about(json.entry, &format!("{} occurs twice", shortened(&name)))),
                None => Ok(()),
            }
        })?;
    }
    Ok((parameters, inputs))
}

/// The memory of a parameter by its name in the graph, besides its names and sizes.
const PARAMETER_MEMORY: usize = 160;

impl Parameter {
    /// Returns the memory of its names and sizes, in bytes.
    fn memory(&self) -> usize {
        let sizes = self.sizes.as_ref().map_or(0, |sizes| size_of_val(sizes.as_slice()));
        self.argument.len() + self.name.len() + sizes
    }
}

impl Node<'_> {
    /// Returns the node and, if it dequantizes a parameter, its name with that parameter.
    fn recorded(
        self,
        json: Json<'_>,
        parameters: &BTreeMap<String, Parameter>,
        memory: &mut Memory,
    ) -> Result<(RecordedNode, Option<(String, Parameter)>)> {
        let Metadata { debug_handle, nn_module_stack, stack_trace } = self.metadata;
        let (mut taken, mut producers, mut first) = (Vec::new(), Vec::new(), None);
        let module = nn_module_stack.as_deref().map(module).unwrap_or_default();
        let mut is_first = true;
        if let Some(inputs) = self.inputs {
            json.at(inputs).items(|argument: NamedArgument| {
                let is_first = core::mem::take(&mut is_first);
                let Some(named) = argument.arg.as_tensor else { return Ok(()) };
                let Some(parameter) = parameters.get(&named.name) else {
                    let producer = shortened(&named.name).into_owned();
                    memory.take(size_of_val(&producer) + producer.len())?;
                    producers.push(producer);
                    return Ok(());
                };
                if is_first {
                    first = Some(parameter);
                }
                let argument = shortened(&argument.name).into_owned();
                let parameter = Parameter { argument, ..parameter.clone() };
                memory.take(size_of_val(&parameter) + parameter.memory())?;
                taken.push(parameter);
                Ok(())
            })?;
        }
        taken.sort_by_key(|parameter| parameter.argument.clone());
        let name = self.name;
        let node = RecordedNode {
            name: name.as_deref().map(|name| shortened(name).into_owned()).unwrap_or_default(),
            operator: operator(&self.target),
            handle: debug_handle.and_then(|handle| handle.parse().ok()).filter(|handle| *handle != 0),
            module,
            source: stack_trace.as_deref().and_then(source_line),
            parameters: taken,
            producers,
        };
        let source =
            node.source.as_ref().map_or(0, |source| source.file.len() + source.function.len() + source.text.len());
        memory.take(size_of_val(&node) + node.name.len() + node.operator.len() + node.module.len() + source)?;
        let passes_on = |parameter: &&Parameter| node.dequantizes() || parameter.quantized && node.is_view();
        let dequantized = name
            .zip(first.filter(passes_on))
            .map(|(name, parameter)| (name, Parameter { quantized: true, ..parameter.clone() }));
        Ok((node, dequantized))
    }
}

/// Converts `executorch.exir.dialects.edge.ops.aten.convolution.default` to `aten::convolution`. Other forms of target are kept.
fn operator(target: &str) -> String {
    let name = target.rsplit_once(".ops.").and_then(|(_, name)| {
        let mut parts = name.split('.');
        Some(format!("{}::{}", parts.next()?, parts.next()?))
    });
    shortened(&name.unwrap_or_else(|| target.into())).into_owned()
}

/// Returns the path of the innermost module of a stack. Its entries have the form `KEY,PATH,CLASS`, separated by semicolons,
/// outermost first.
fn module(stack: &str) -> String {
    let innermost = stack.rsplit(';').next().and_then(|entry| entry.split(',').nth(1));
    shortened(innermost.unwrap_or_default()).into_owned()
}

/// Returns the innermost line of a stack trace that is not in an installed package, or the outermost line if all are.
fn source_line(trace: &str) -> Option<SourceLine> {
    let mut lines = trace.lines();
    let mut found = None;
    while let Some(line) = lines.next() {
        let Some((file, rest)) =
            line.trim_start().strip_prefix("File \"").and_then(|rest| rest.split_once("\", line "))
        else {
            continue;
        };
        let Some((number, function)) = rest.split_once(", in ") else { continue };
        let Ok(number) = number.parse() else { continue };
        let is_installed = file.contains("site-packages/") || file.contains("dist-packages/");
        if found.is_none() || !is_installed {
            let text = lines.clone().next().map(str::trim).unwrap_or_default();
            let [file, function, text] = [file, function, text].map(|text| shortened(text).into_owned());
            found = Some(SourceLine { file, line: number, function, text });
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_line_of_the_model_itself_is_its_source() {
        let trace = "File \"net.py\", line 16, in forward\n    x = s.stem(x)\n  \
                     File \"site-packages/torch/nn/modules/conv.py\", line 565, in forward\n    return s._conv_forward(x)";
        let line = source_line(trace).unwrap();
        assert_eq!((line.file.as_str(), line.line, line.text.as_str()), ("net.py", 16, "x = s.stem(x)"));
        assert_eq!(source_line("File \"net.py\", line x, in f\nFile \""), None);
        assert_eq!(operator("torch.ops.aten.add.Tensor"), "aten::add");
        assert_eq!(operator("_operator.getitem"), "_operator.getitem");
        assert_eq!(module("L__self__,,Net;L__self__layers.0,layers.0,Block"), "layers.0");
        assert_eq!(module(""), "");
    }
}
