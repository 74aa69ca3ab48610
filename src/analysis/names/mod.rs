//! The names in a program: those in the file itself, and those from ETRecords and state dicts.

mod find;
mod model_tensor;
mod quantized;
mod sources;
mod state_dict;
mod tensors;
mod text;

pub use model_tensor::{ModelPlace, ModelTensor};
pub use sources::{EtRecord, NameSource, Parameter, RecordedMethod, RecordedNode, StateTensor};
pub use text::NameText;

pub(super) use find::Unnamed;

use super::code::{NamedBy, SourceLine};
use super::modules::outer;
use crate::error::Error;
use crate::file::pte::Pte;
use crate::sorted::find;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, string::String, vec::Vec};

/// A name and its origin.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Name<'t> {
    /// The name.
    pub name: NameText<'t>,
    /// The origin of the name.
    pub named_by: NamedBy,
    /// The path of its module, such as `layers.0.conv`: the module that has a parameter or buffer, and for other tensors the module of the
    /// instruction that writes the tensor.
    pub module: Option<&'t str>,
    /// The sizes of the model's own tensor, if the source of the name has them.
    #[serde(skip)]
    pub sizes: Option<Cow<'t, [u64]>>,
    /// `true` if the program has the model's matrix transposed.
    #[serde(skip)]
    pub transposed: bool,
}

impl<'t> Name<'t> {
    /// Creates a name of a tensor whose sizes in the model are not known.
    fn new(name: NameText<'t>, named_by: NamedBy, module: Option<&'t str>) -> Self {
        Self { name, named_by, module, sizes: None, transposed: false }
    }

    /// Returns the name and its origin as two fields of an answer.
    pub(crate) fn fields(name: Option<&Self>) -> (Option<NameText<'t>>, Option<NamedBy>) {
        (name.map(|name| name.name.clone()), name.map(|name| name.named_by))
    }
}

/// The names in a program: see [`Analysis::names`](super::Analysis::names).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Names<'t> {
    /// The methods, in the file's order.
    pub methods: Vec<MethodNames<'t>>,
    /// The names of constants inside delegates that are stored as named data, sorted by key. Keys over 512 bytes, which no writer makes, are
    /// left out.
    pub keys: Vec<(String, Name<'t>)>,
    /// The tensors of the model that the program has no copy of, sorted by name, each with the reason.
    pub computed: Vec<(&'t str, String)>,
    /// The sources that are not used because they belong to another program, by their indices, each with the reason.
    pub rejected: Vec<(usize, Error)>,
}

impl<'t> Names<'t> {
    /// Returns the values with a name, as indices of the method and the value.
    pub fn values(&self, name: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (method, names) in self.methods.iter().enumerate() {
            let is = |(_, own): &(usize, &Option<Name<'_>>)| own.as_ref().is_some_and(|own| own.name == name);
            found.extend(names.values.iter().enumerate().filter(is).map(|(value, _)| (method, value)));
        }
        found
    }

    /// Returns the name of a value.
    pub fn value(&self, method: usize, value: usize) -> Option<&Name<'t>> {
        self.methods.get(method)?.value(value)
    }

    /// Returns the name of a constant inside a delegate that is stored as named data.
    pub fn key(&self, key: &str) -> Option<&Name<'t>> {
        find(&self.keys, |(own, _)| own.as_str().cmp(key)).map(|(_, name)| name)
    }

    /// Returns the name of a constant inside a delegate.
    pub fn constant(&self, method: usize, delegate: usize, value: usize) -> Option<&Name<'t>> {
        self.methods.get(method)?.delegates.get(delegate)?.constant(value)
    }

    /// Returns the names in each method of a program by the method's name. Among several of one name, the first counts.
    pub(crate) fn by_method<'n, 'p>(&'n self, pte: &'p Pte<'_>) -> BTreeMap<&'p str, &'n MethodNames<'t>> {
        pte.methods().iter().map(|plan| plan.name()).zip(&self.methods).rev().collect()
    }
}

/// The names in a method.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MethodNames<'t> {
    /// The name of each input: a keyword argument or the keys that lead to it, or else the argument's name in an ETRecord.
    pub inputs: Vec<Option<NameText<'t>>>,
    /// The number of elements of the model's parameters, if a record or a state dict has it.
    pub parameters: Option<u64>,
    /// `true` if `parameters` may count buffers too: a state dict does not tell them from parameters, except by the names in PyTorch's modules.
    pub may_count_buffers: bool,
    /// The name of each value; `None` unless the value is a tensor in use.
    pub values: Vec<Option<Name<'t>>>,
    /// The instructions of each chain; `None` for an instruction of a newer schema.
    pub chains: Vec<Vec<Option<InstructionName<'t>>>>,
    /// The names inside each delegate; empty unless its payload is XNNPACK's and not shared with an earlier delegate.
    pub delegates: Vec<DelegateNames<'t>>,
}

impl<'t> MethodNames<'t> {
    /// Returns the name of a value.
    pub(crate) fn value(&self, value: usize) -> Option<&Name<'t>> {
        self.values.get(value)?.as_ref()
    }

    /// Returns the name of an instruction.
    pub(crate) fn instruction(&self, chain: usize, instruction: usize) -> Option<&InstructionName<'t>> {
        self.chains.get(chain)?.get(instruction)?.as_ref()
    }
}

/// The names inside a delegate.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DelegateNames<'t> {
    /// The path of the module that contains all of its nodes, if a record has it.
    pub module: Option<&'t str>,
    /// The name of each value of the payload; `None` for values that are not constants.
    pub constants: Vec<Option<Name<'t>>>,
    /// The label of each node of the payload, made of its kind and index, such as `XNNConv2d 3`, and its place in the model.
    pub nodes: Vec<InstructionName<'t>>,
}

impl<'t> DelegateNames<'t> {
    /// Returns the name of a value, if it is a constant.
    pub fn constant(&self, value: usize) -> Option<&Name<'t>> {
        self.constants.get(value)?.as_ref()
    }
}

/// The name of an instruction and its place in the model.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InstructionName<'t> {
    /// The operator or backend without its namespace, and the number of earlier instructions of the same kind: `convolution.3`.
    pub label: NameText<'t>,
    /// The path of the module, such as `layers.0.conv`, if a record has it; empty for the model itself. For a delegate, the module that
    /// contains all of its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<&'t str>,
    /// The line of source, if a record has it. For a delegate, the line of its first node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'t SourceLine>,
}
