//! Sources of names besides the program, as plain data. The module `naming` reads them from files.

use super::super::code::SourceLine;
use super::super::modules::own_name;
use crate::schema::ScalarType;
use crate::sorted::find;
use alloc::{borrow::Cow, string::String, vec::Vec};

/// A source of names besides the program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NameSource<'a> {
    /// An ETRecord, written by the exporter.
    Record(EtRecord),
    /// The weights of the model, by name.
    StateDict(Vec<StateTensor<'a>>),
}

/// A tensor of a state dict.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StateTensor<'a> {
    /// The name, such as `layers.0.conv.weight`.
    pub name: Cow<'a, str>,
    /// The type of the elements; `None` for types that ExecuTorch does not have.
    pub scalar_type: Option<ScalarType>,
    /// The size of each dimension, in elements.
    pub sizes: Vec<u64>,
    /// The elements, little-endian, the last dimension innermost.
    pub bytes: Cow<'a, [u8]>,
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
    /// The number of elements of the model's parameters; `None` if the record does not have them, as of many quantized models.
    pub parameters: Option<u64>,
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

    /// Returns `true` for an operator that computes numbers from quantized elements, scales and zero points.
    pub(crate) fn dequantizes(&self) -> bool {
        self.operator.split_once("::").is_some_and(|(_, name)| name.starts_with("dequantize_"))
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
    /// `true` for a parameter, which training changes; `false` for buffers and constants.
    pub trained: bool,
}

impl Parameter {
    /// Returns `true` for names that quantizers and passes of the exporter give to tensors: `_frozen_param0` (PT2E), and
    /// `layers.0.parametrizations.weight.original0` (torchao, for tensors that have parts).
    pub(crate) fn has_generated_name(&self) -> bool {
        let last = own_name(&self.name);
        let is_numbered = last.starts_with('_') && last.ends_with(|end: char| end.is_ascii_digit());
        is_numbered || self.name.contains("parametrizations.")
    }
}
