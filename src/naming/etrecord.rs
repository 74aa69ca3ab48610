//! ETRecords, in which ExecuTorch's devtools store facts about a program when it is exported. They are read as in ExecuTorch 1.5.1
//! (`devtools/etrecord`, `exir/serde`). Their pickles, with weights and example inputs, are never read.

#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Error, Result};
use crate::inspect::SourceLine;
use crate::keyed::{Keyed, find, sort_by_key};
use crate::names::shortened;
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::{fmt, marker::PhantomData};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
#[cfg(feature = "etrecord")]
use {
    std::io::{Cursor, Read},
    zip::ZipArchive,
};

/// The entry that identifies a ZIP file as an ETRecord.
const IDENTIFIER: &str = "ETRECORD_V0";

/// The entries with the edge program of each method: the name is followed by `/` and the name of the method. Older records contain
/// one program, of `forward`, without a name.
const EDGE_PROGRAM: &str = "edge_dialect_exported_program";

/// The entry that maps instructions to handles of nodes.
const HANDLES: &str = "debug_handle_map";

/// The limit on the size of an entry, in multiples of the size of the whole file. JSON has a lower compression ratio.
const MAX_EXPANSION: u64 = 64;

/// Returns the size limit of an entry in a file of that size.
fn most(file_size: u64) -> u64 {
    MAX_EXPANSION.saturating_mul(file_size)
}

/// The names and source locations that an ETRecord contains for a program.
///
/// ```
/// use executorch_format::naming::EtRecord;
///
/// # fn main() -> executorch_format::Result<()> {
/// let record = EtRecord::parse(&std::fs::read("tests/data/etrecord/net_portable.etrecord")?)?;
/// let node = &record.methods[0].nodes[1];
/// assert_eq!((node.operator.as_str(), node.module.as_str()), ("aten::convolution", "layers.0.conv"));
/// assert_eq!(node.parameter("weight").unwrap().name, "layers.0.conv.weight");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EtRecord {
    /// The methods, sorted by name.
    pub methods: Vec<RecordedMethod>,
}

/// A method as exported, before it was lowered.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RecordedMethod {
    /// The name.
    pub name: String,
    /// The handles of the nodes that each instruction runs, with the index of the instruction, in order. Instructions without handles
    /// are left out. Handle 0 means no node.
    pub handles: Vec<(usize, Vec<u32>)>,
    /// The operators, in the order of the graph.
    pub nodes: Vec<RecordedNode>,
    /// The names of the inputs that a caller passes, in order.
    pub inputs: Vec<String>,
}

/// An operator of an exported graph.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RecordedNode {
    /// The name in the graph, such as `aten_convolution_default_1`.
    pub name: String,
    /// The operator without its overload, such as `aten::convolution`.
    pub operator: String,
    /// The handle by which instructions refer to the operator, if it has one.
    pub handle: Option<u32>,
    /// The path of the module that contains the operator, such as `layers.0.conv`; empty for the model itself.
    pub module: String,
    /// The line of the model's source that the operator comes from.
    pub source: Option<SourceLine>,
    /// The parameters, buffers and constants that the operator takes, sorted by argument.
    pub parameters: Vec<Parameter>,
    /// The names of the other nodes whose outputs the operator takes.
    pub producers: Vec<String>,
}

impl RecordedNode {
    /// Returns the parameter, buffer or constant that the operator takes as the argument with this name.
    pub fn parameter(&self, argument: &str) -> Option<&Parameter> {
        find(&self.parameters, |parameter| parameter.argument.as_str().cmp(argument))
    }
}

/// A parameter, buffer or constant of a model.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name of the operator's argument, such as `weight`.
    pub argument: String,
    /// The name in the model, such as `layers.0.conv.weight`.
    pub name: String,
    /// The size of each dimension, in elements; `None` if the record does not have it.
    pub sizes: Option<Vec<u64>>,
    /// `true` if the operator takes the dequantized numbers of the parameter.
    pub quantized: bool,
}

/// The content of an entry of a ZIP file; `None` if there is no such entry.
pub type EntryContent<'e> = Option<Cow<'e, [u8]>>;

impl EtRecord {
    /// Returns `true` if the bytes are a ZIP file, which may be an ETRecord.
    pub fn is_zip(bytes: &[u8]) -> bool {
        bytes.starts_with(b"PK\x03\x04")
    }

    /// Returns `true` for the entries that [`from_entries`](Self::from_entries) reads. The others are pickles, which may be large.
    ///
    /// Fails with [`ErrorKind::Other`] if such an entry is larger than 64 times the size of the file.
    pub fn takes_entry(name: &str, size: u64, file_size: u64) -> Result<bool> {
        let program = name.split_once('/').map_or(name, |(program, _)| program);
        if ![IDENTIFIER, HANDLES].contains(&name) && program != EDGE_PROGRAM {
            return Ok(false);
        }
        let most = most(file_size);
        if size > most {
            return Err(about(name, &format!("over {most} bytes, which is {MAX_EXPANSION} times the file")));
        }
        Ok(true)
    }

    /// Reads the edge programs of a record, and the nodes that each instruction runs. `entry` returns the content of an entry of the
    /// ZIP file by name.
    ///
    /// Fails with [`ErrorKind::Other`] if an entry is missing or its JSON is invalid, and if `entry` fails.
    pub fn from_entries<'e>(entry: &mut dyn FnMut(&str) -> Result<EntryContent<'e>>) -> Result<Self> {
        if entry(IDENTIFIER)?.is_none() {
            return Err(bad(format!("a ZIP file without the entry {IDENTIFIER}")));
        }
        let handles: Object<Object<Handles>> = read(HANDLES, entry(HANDLES)?)?;
        let mut methods = Vec::new();
        for (method, Object(instructions)) in handles.0 {
            let mut name = format!("{EDGE_PROGRAM}/{method}");
            let mut json = entry(&name)?;
            if json.is_none() {
                name = EDGE_PROGRAM.into();
                json = entry(EDGE_PROGRAM)?;
            }
            let program: Exported = read(&name, json)?;
            let mut recorded = program.method();
            let mut by_index = Keyed::new();
            for (instruction, handles) in instructions {
                let index = instruction.parse().map_err(|_| {
                    bad(format!(
                        "{HANDLES}: {method}: {:?} is not the number of an instruction",
                        shortened(&instruction)
                    ))
                })?;
                by_index.insert(index, handles.list());
            }
            recorded.handles = by_index.into_sorted();
            recorded.name = method;
            methods.push(recorded);
        }
        sort_by_key(&mut methods, |method| method.name.clone());
        Ok(Self { methods })
    }

    /// Reads a record, see [`from_entries`](Self::from_entries).
    ///
    /// Also fails with [`ErrorKind::Other`] if the bytes are not a ZIP file, or if an entry is larger than 64 times the size of the file.
    #[cfg(feature = "etrecord")]
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| bad(format!("not a ZIP file: {error}")))?;
        let size = bytes.len() as u64;
        Self::from_entries(&mut |name| {
            if archive.index_for_name(name).is_none() {
                return Ok(None);
            }
            let entry = archive.by_name(name).map_err(|error| about(name, &error))?;
            let mut content = Vec::new();
            entry.take(most(size) + 1).read_to_end(&mut content).map_err(|error| about(name, &error))?;
            Self::takes_entry(name, content.len() as u64, size)?;
            Ok(Some(Cow::Owned(content)))
        })
    }
}

/// Parses the content of an entry as JSON.
fn read<T: DeserializeOwned>(name: &str, content: EntryContent<'_>) -> Result<T> {
    let content = content.ok_or_else(|| about(name, &"it is missing"))?;
    let json = core::str::from_utf8(&content).map_err(|error| about(name, &error))?;
    serde_json::from_str(json).map_err(|error| about(name, &error))
}

#[cold]
fn about(entry: &str, fault: &dyn core::fmt::Display) -> Error {
    bad(format!("entry {}: {fault}", shortened(entry)))
}

#[cold]
fn bad(what: String) -> Error {
    Error::other("ETRecord", 0, what)
}

/// A JSON object, in the order of the text.
struct Object<V>(Vec<(String, V)>);

impl<V> Default for Object<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Object<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        struct Entries<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = Object<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> core::result::Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// The handles of an instruction: a single handle, or those of all nodes that a delegate replaced.
#[derive(Deserialize)]
#[serde(untagged)]
enum Handles {
    One(u32),
    Several(Vec<u32>),
}

impl Handles {
    fn list(self) -> Vec<u32> {
        match self {
            Self::One(handle) => alloc::vec![handle],
            Self::Several(handles) => handles,
        }
    }
}

/// `ExportedProgram` of PyTorch's `export/serde/schema.py`, reduced to the fields that names need.
#[derive(Deserialize)]
struct Exported {
    graph_module: GraphModule,
}

#[derive(Deserialize)]
struct GraphModule {
    graph: Graph,
    signature: Signature,
}

#[derive(Deserialize)]
struct Graph {
    nodes: Vec<Node>,
    #[serde(default)]
    tensor_values: Object<TensorMeta>,
}

#[derive(Deserialize)]
struct Node {
    name: Option<String>,
    target: String,
    #[serde(default)]
    inputs: Vec<NamedArgument>,
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
struct TensorMeta {
    sizes: Vec<Size>,
}

/// A size: a number or an expression.
#[derive(Deserialize)]
struct Size {
    as_int: Option<u64>,
}

#[derive(Deserialize)]
struct Signature {
    input_specs: Vec<InputSpec>,
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

impl Exported {
    fn method(self) -> RecordedMethod {
        let GraphModule { graph, signature } = self.graph_module;
        let tensor_values: Keyed<String, TensorMeta> = graph.tensor_values.0.into_iter().collect();
        let mut parameters: Keyed<String, Parameter> = Keyed::new();
        let mut inputs = Vec::new();
        for spec in signature.input_specs {
            if let Some(input) = spec.user_input {
                inputs.push(input.arg.as_tensor.map(|named| shortened(&named.name).into_owned()).unwrap_or_default());
            }
            let Some(spec) = spec.parameter.or(spec.buffer).or(spec.tensor_constant) else { continue };
            let sizes = tensor_values.get(&spec.arg.name);
            let sizes = sizes.and_then(|meta| meta.sizes.iter().map(|size| size.as_int).collect());
            let name = shortened(&spec.parameter_name).into_owned();
            parameters.insert(spec.arg.name, Parameter { name, sizes, ..Parameter::default() });
        }
        let mut nodes = Vec::with_capacity(graph.nodes.len());
        for node in graph.nodes {
            let dequantized = node.dequantized(&parameters);
            nodes.push(node.recorded(&parameters));
            if let Some((name, parameter)) = dequantized {
                parameters.insert(name, parameter);
            }
        }
        RecordedMethod { nodes, inputs, ..RecordedMethod::default() }
    }
}

impl Node {
    /// Returns the name of the node, and the parameter whose numbers it dequantizes.
    fn dequantized(&self, parameters: &Keyed<String, Parameter>) -> Option<(String, Parameter)> {
        let operator = operator(&self.target);
        let (_, name) = operator.split_once("::")?;
        let first = self.inputs.first().filter(|_| name.starts_with("dequantize_"))?;
        let parameter = parameters.get(&first.arg.as_tensor.as_ref()?.name)?.clone();
        Some((self.name.clone()?, Parameter { quantized: true, ..parameter }))
    }

    fn recorded(self, parameters: &Keyed<String, Parameter>) -> RecordedNode {
        let Metadata { debug_handle, nn_module_stack, stack_trace } = self.metadata;
        let (mut taken, mut producers) = (Vec::new(), Vec::new());
        let module = nn_module_stack.as_deref().map(module).unwrap_or_default();
        for argument in self.inputs {
            let Some(Named { name: tensor }) = argument.arg.as_tensor else { continue };
            let Some(parameter) = parameters.get(&tensor) else {
                producers.push(shortened(&tensor).into_owned());
                continue;
            };
            let argument = shortened(&argument.name).into_owned();
            let mut parameter = parameter.clone();
            // Folding quantization into a weight gives it a name of its own, such as `_frozen_param0`.
            if parameter.quantized && !parameter.name.ends_with(&argument) {
                parameter.name = if module.is_empty() { argument.clone() } else { format!("{module}.{argument}") };
            }
            taken.push(Parameter { argument, ..parameter });
        }
        sort_by_key(&mut taken, |parameter| parameter.argument.clone());
        RecordedNode {
            name: self.name.map(|name| shortened(&name).into_owned()).unwrap_or_default(),
            operator: operator(&self.target),
            handle: debug_handle.and_then(|handle| handle.parse().ok()).filter(|handle| *handle != 0),
            module,
            source: stack_trace.as_deref().and_then(source_line),
            parameters: taken,
            producers,
        }
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
