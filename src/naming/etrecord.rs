//! ETRecords, in which ExecuTorch's devtools store facts about a program when it is exported. They are read as in ExecuTorch 1.5.1
//! (`devtools/etrecord`, `exir/serde`). Their pickles, with weights and example inputs, are never read.

use crate::analysis::{EtRecord, Parameter, RecordedMethod, RecordedNode, SourceLine};
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "etrecord")]
use crate::keyed::sort;
use crate::keyed::{Keyed, sort_by_key};
use crate::names::shortened;
use alloc::{borrow::Cow, format, string::String, vec, vec::Vec};
use core::fmt;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
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

/// The method of the program without a name.
const FORWARD: &str = "forward";

/// The entry that maps instructions to handles of nodes.
const HANDLES: &str = "debug_handle_map";

/// The memory that any record may take while it is read, in bytes.
const BASE_MEMORY: u64 = 16 << 20;

/// The memory that a record may take beyond that, in multiples of the size of the file. Records of ExecuTorch take less than their size.
const MAX_EXPANSION: u64 = 10;

/// Returns the limit on memory for a record in a file of that size.
fn most(file_size: u64) -> u64 {
    MAX_EXPANSION.saturating_mul(file_size).saturating_add(BASE_MEMORY)
}

/// The memory that a record may still take: for the entry that is being read, and for everything that is kept.
struct Memory {
    left: u64,
    most: u64,
}

impl Memory {
    fn of_file(size: u64) -> Self {
        Self { left: most(size), most: most(size) }
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| too_large(self.most))?;
        Ok(())
    }

    fn give_back(&mut self, bytes: usize) {
        self.left += bytes as u64;
    }
}

#[cold]
fn too_large(most: u64) -> Error {
    bad(format!(
        "it takes more than {most} bytes of memory: {MAX_EXPANSION} times the file, and {BASE_MEMORY} bytes more"
    ))
}

/// The content of an entry of a ZIP file; `None` if there is no such entry.
pub type EntryContent<'e> = Option<Cow<'e, [u8]>>;

impl EtRecord {
    /// Returns `true` if the bytes are a ZIP file, which may be an ETRecord.
    pub fn is_zip(bytes: &[u8]) -> bool {
        bytes.starts_with(b"PK\x03\x04")
    }

    /// Returns `true` for the entries that [`from_entries`](Self::from_entries) reads. The others are pickles, which may be large.
    /// `size` is the size of the entry and of all entries before it for which this returned `true`.
    ///
    /// Fails with [`ErrorKind::Other`] if that is more memory than a record in a file of that size may take: 16 MiB plus 10 times the file.
    pub fn takes_entry(name: &str, size: u64, file_size: u64) -> Result<bool> {
        let program = name.split_once('/').map_or(name, |(program, _)| program);
        if ![IDENTIFIER, HANDLES].contains(&name) && program != EDGE_PROGRAM {
            return Ok(false);
        }
        if size > most(file_size) { Err(too_large(most(file_size))) } else { Ok(true) }
    }

    /// Reads the edge programs of a record, and the nodes that each instruction runs. `entry` returns the content of an entry of the
    /// ZIP file by name.
    ///
    /// Fails with [`ErrorKind::Other`] if an entry is missing, its JSON is invalid or repeats a key, or the record takes more memory than
    /// 16 MiB plus 10 times the size of the file; and if `entry` fails.
    pub fn from_entries<'e>(file_size: u64, entry: &mut dyn FnMut(&str) -> Result<EntryContent<'e>>) -> Result<Self> {
        Self::read(&mut Memory::of_file(file_size), &mut |name, _| entry(name))
    }

    /// `entry` returns the content of an entry, and fails if it is larger than the given number of bytes.
    fn read<'e>(memory: &mut Memory, entry: &mut dyn FnMut(&str, u64) -> Result<EntryContent<'e>>) -> Result<Self> {
        if entry(IDENTIFIER, memory.left)?.is_none() {
            return Err(bad(format!("a ZIP file without the entry {IDENTIFIER}")));
        }
        let map = entry(HANDLES, memory.left)?;
        let mut methods = with_json(HANDLES, map, memory, handles)?;
        sort_by_key(&mut methods, |method| method.name.clone());
        let is_twice = |pair: &&[RecordedMethod]| matches!(pair, [method, next] if method.name == next.name);
        if let Some([method, ..]) = methods.windows(2).find(is_twice) {
            return Err(about(HANDLES, &format!("method {} occurs twice", shortened(&method.name))));
        }
        let is_only = methods.len() == 1;
        for method in &mut methods {
            let mut name = format!("{EDGE_PROGRAM}/{}", method.name);
            let mut json = entry(&name, memory.left)?;
            if json.is_none() {
                name = EDGE_PROGRAM.into();
                json = entry(EDGE_PROGRAM, memory.left)?;
                // It is the program of one method.
                if json.is_some() && !is_only && method.name != FORWARD {
                    method.handles.clear();
                    continue;
                }
            }
            (method.nodes, method.inputs) = with_json(&name, json, memory, program)?;
        }
        Ok(Self { methods })
    }

    /// Reads a record, see [`from_entries`](Self::from_entries).
    ///
    /// Also fails with [`ErrorKind::Other`] if the bytes are not a ZIP file, or if entries overlap or have the same name.
    #[cfg(feature = "etrecord")]
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| bad(format!("not a ZIP file: {error}")))?;
        check_entries(bytes, &mut archive)?;
        Self::read(&mut Memory::of_file(bytes.len() as u64), &mut |name, most| {
            if archive.index_for_name(name).is_none() {
                return Ok(None);
            }
            let entry = archive.by_name(name).map_err(|error| about(name, &error))?;
            let mut content = Vec::new();
            entry.take(most.saturating_add(1)).read_to_end(&mut content).map_err(|error| about(name, &error))?;
            Ok(Some(Cow::Owned(content)))
        })
    }
}

/// Checks that no entries of a ZIP file overlap, and that none has the name of another.
#[cfg(feature = "etrecord")]
fn check_entries(bytes: &[u8], archive: &mut ZipArchive<Cursor<&[u8]>>) -> Result<()> {
    let directory = archive.central_directory_start();
    // The directory is after all entries.
    let mut ranges = vec![(directory, directory)];
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index).map_err(|error| bad(format!("entry {index}: {error}")))?;
        ranges.push((entry.header_start(), entry.data_start().saturating_add(entry.compressed_size())));
    }
    sort(&mut ranges);
    let overlap = |pair: &&[(u64, u64)]| matches!(pair, [(_, end), (next, _)] if end > next);
    if let Some([_, (start, _)]) = ranges.windows(2).find(overlap) {
        return Err(Error::other("ETRecord", to_usize(*start), "an entry of the ZIP file overlaps the one before it"));
    }
    let mut rest = bytes.get(to_usize(directory)..).unwrap_or_default();
    for _ in 0..archive.len() {
        rest = after_entry(rest).unwrap_or_default();
    }
    if rest.starts_with(ENTRY) {
        return Err(bad("two entries of the ZIP file have the same name".into()));
    }
    Ok(())
}

/// The start of an entry in the directory of a ZIP file.
#[cfg(feature = "etrecord")]
const ENTRY: &[u8] = b"PK\x01\x02";

/// Returns the bytes after an entry of the directory of a ZIP file.
#[cfg(feature = "etrecord")]
fn after_entry(directory: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(usize::from(u16::from_le_bytes(directory.get(at..at + 2)?.try_into().ok()?)));
    // After 46 bytes: the name, extra fields, and a comment.
    directory.get(46 + number(28)? + number(30)? + number(32)?..)
}

#[cfg(feature = "etrecord")]
fn to_usize(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Calls a function with the content of an entry. The content takes memory only during the call.
fn with_json<T>(
    entry: &str,
    content: EntryContent<'_>,
    memory: &mut Memory,
    read: fn(Json<'_>, &mut Memory) -> Result<T>,
) -> Result<T> {
    let content = content.ok_or_else(|| about(entry, &"it is missing"))?;
    memory.take(content.len())?;
    let whole = core::str::from_utf8(&content).map_err(|error| about(entry, &error))?;
    let read = read(Json { entry, whole, part: whole }, memory);
    memory.give_back(content.len());
    read
}

/// A part of the JSON of an entry. Lists and objects are read one item at a time: held together, they could take many times the text.
#[derive(Clone, Copy)]
struct Json<'j> {
    entry: &'j str,
    whole: &'j str,
    part: &'j str,
}

impl<'j> Json<'j> {
    fn at(self, part: &'j RawValue) -> Self {
        Self { part: part.get(), ..self }
    }

    fn parse<T: Deserialize<'j>>(self) -> Result<T> {
        serde_json::from_str(self.part).map_err(|error| self.fault(&error))
    }

    /// Calls a function with each item of an array.
    fn items<T: Deserialize<'j>>(self, mut call: impl FnMut(T) -> Result<()>) -> Result<()> {
        let mut failed = None;
        let each = Each { expected: "an array", failed: &mut failed, call: &mut |_, item| call(item) };
        let done = serde_json::Deserializer::from_str(self.part).deserialize_seq(each);
        failed.map_or_else(|| done.map_err(|error| self.fault(&error)), Err)
    }

    /// Calls a function with each key of an object and its value.
    fn entries<T: Deserialize<'j>>(self, mut call: impl FnMut(String, T) -> Result<()>) -> Result<()> {
        let mut failed = None;
        let each = Each { expected: "an object", failed: &mut failed, call: &mut call };
        let done = serde_json::Deserializer::from_str(self.part).deserialize_map(each);
        failed.map_or_else(|| done.map_err(|error| self.fault(&error)), Err)
    }

    fn fault(self, error: &serde_json::Error) -> Error {
        // The part is in the whole.
        let start = (self.part.as_ptr() as usize).saturating_sub(self.whole.as_ptr() as usize);
        about(self.entry, &Error::of_json("JSON", self.part, start, error))
    }
}

/// Calls a function for each item of an array, or each entry of an object.
struct Each<'c, T> {
    expected: &'static str,
    call: &'c mut dyn FnMut(String, T) -> Result<()>,
    /// The error of the function.
    failed: &'c mut Option<Error>,
}

impl<T> Each<'_, T> {
    fn call<E: serde::de::Error>(&mut self, key: String, item: T) -> core::result::Result<(), E> {
        (self.call)(key, item).map_err(|error| {
            *self.failed = Some(error);
            E::custom("a part cannot be read")
        })
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> core::result::Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            self.call(String::new(), item)?;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> core::result::Result<(), A::Error> {
        while let Some((key, item)) = map.next_entry()? {
            self.call(key, item)?;
        }
        Ok(())
    }
}

/// Reads the methods, each with its handles.
fn handles(json: Json<'_>, memory: &mut Memory) -> Result<Vec<RecordedMethod>> {
    let mut methods = Vec::new();
    json.entries(|method, instructions: &RawValue| {
        memory.take(size_of::<RecordedMethod>() + method.len())?;
        let mut by_index = Keyed::new();
        json.at(instructions).entries(|instruction, value: &RawValue| {
            let fault = |fault: &str| about(HANDLES, &format!("{method}: {:?} {fault}", shortened(&instruction)));
            let index: usize = instruction.parse().map_err(|_| fault("is not the number of an instruction"))?;
            memory.take(INSTRUCTION_MEMORY)?;
            let (value, mut handles) = (json.at(value), Vec::new());
            // A single handle, or those of all nodes that a delegate replaced.
            if value.part.starts_with('[') {
                value.items(|handle: u32| {
                    handles.push(handle);
                    memory.take(size_of_val(&handle))
                })?;
            } else {
                handles.push(value.parse()?);
            }
            match by_index.insert(index, handles) {
                Some(_) => Err(fault("occurs twice")),
                None => Ok(()),
            }
        })?;
        let handles = by_index.into_sorted();
        methods.push(RecordedMethod { name: method, handles, ..RecordedMethod::default() });
        Ok(())
    })?;
    Ok(methods)
}

/// The memory of an instruction with its handles, besides the handles.
const INSTRUCTION_MEMORY: usize = 96;

#[cold]
fn about(entry: &str, fault: &dyn core::fmt::Display) -> Error {
    bad(format!("entry {}: {fault}", shortened(entry)))
}

#[cold]
fn bad(what: String) -> Error {
    Error::new(ErrorKind::Other { format: "ETRecord", fault: what.into() })
}

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

/// Reads the nodes and the inputs of an exported program.
fn program(json: Json<'_>, memory: &mut Memory) -> Result<(Vec<RecordedNode>, Vec<String>)> {
    let GraphModule { graph, signature } = json.parse::<Exported<'_>>()?.graph_module;
    let mut parameters: Keyed<String, Parameter> = Keyed::new();
    let mut inputs = Vec::new();
    json.at(signature.input_specs).items(|spec: InputSpec| {
        if let Some(input) = spec.user_input {
            let name = input.arg.as_tensor.map(|named| shortened(&named.name).into_owned()).unwrap_or_default();
            memory.take(size_of_val(&name) + name.len())?;
            inputs.push(name);
        }
        let Some(spec) = spec.parameter.or(spec.buffer).or(spec.tensor_constant) else { return Ok(()) };
        let name = shortened(&spec.parameter_name).into_owned();
        let parameter = Parameter { name, ..Parameter::default() };
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
    let mut nodes = Vec::new();
    json.at(graph.nodes).items(|node: Node<'_>| {
        let (node, dequantized) = node.recorded(json, &parameters, memory)?;
        nodes.push(node);
        if let Some((name, parameter)) = dequantized {
            memory.take(PARAMETER_MEMORY + name.len() + parameter.memory())?;
            parameters.insert(name, parameter);
        }
        Ok(())
    })?;
    Ok((nodes, inputs))
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
        parameters: &Keyed<String, Parameter>,
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
                let mut parameter = parameter.clone();
                // Folding quantization into a weight gives it a name of its own, such as `_frozen_param0`.
                if parameter.quantized && !parameter.name.ends_with(&argument) {
                    parameter.name = if module.is_empty() { argument.clone() } else { format!("{module}.{argument}") };
                }
                parameter.argument = argument;
                memory.take(size_of_val(&parameter) + parameter.memory())?;
                taken.push(parameter);
                Ok(())
            })?;
        }
        sort_by_key(&mut taken, |parameter| parameter.argument.clone());
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
        let is_dequantizing = node.operator.split_once("::").is_some_and(|(_, name)| name.starts_with("dequantize_"));
        let dequantized = name
            .zip(first.filter(|_| is_dequantizing))
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
