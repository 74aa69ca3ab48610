//! The names in a program, as plain data. The module `naming` finds them.

use super::code::{NamedBy, SourceLine};
use alloc::{borrow::Cow, string::String, vec::Vec};

/// A name and its origin.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Name<'t> {
    /// The name.
    pub name: Cow<'t, str>,
    /// The origin of the name.
    pub named_by: NamedBy,
    /// The path of its module, such as `layers.0.conv`: the module that has a parameter or buffer, and for other tensors the module of the
    /// instruction that writes the tensor.
    pub module: Option<&'t str>,
    /// The sizes of the model's own tensor, if the source of the name has them.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub sizes: Option<Cow<'t, [u64]>>,
    /// `true` if the program has the model's matrix transposed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub transposed: bool,
}

impl<'t> Name<'t> {
    /// Creates a name of a tensor whose sizes in the model are not known.
    pub(crate) fn new(name: Cow<'t, str>, named_by: NamedBy, module: Option<&'t str>) -> Self {
        Self { name, named_by, module, sizes: None, transposed: false }
    }
}

/// The names in a program. The feature `convert` finds them: `Names::new`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Names<'t> {
    /// The methods, in the file's order.
    pub methods: Vec<MethodNames<'t>>,
    /// The names of constants inside delegates that are stored as named data, sorted by key. Keys over 512 bytes, which no writer makes, are
    /// left out.
    pub keys: Vec<(String, Name<'t>)>,
    /// The tensors of the model that the program has no copy of, sorted by name, each with the reason.
    pub computed: Vec<(Cow<'t, str>, String)>,
}

/// The names in a method.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MethodNames<'t> {
    /// The name of each value; `None` unless the value is a tensor in use.
    pub values: Vec<Option<Name<'t>>>,
    /// The instructions of each chain.
    pub chains: Vec<Vec<InstructionName<'t>>>,
    /// The names inside each delegate; empty unless its payload is XNNPACK's and not shared with an earlier delegate.
    pub delegates: Vec<DelegateNames<'t>>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionName<'t> {
    /// The operator or backend without its namespace, and the number of earlier instructions of the same kind: `convolution.3`.
    pub label: String,
    /// The path of the module, such as `layers.0.conv`, if a record has it; empty for the model itself. For a delegate, the module that
    /// contains all of its nodes.
    pub module: Option<&'t str>,
    /// The line of source, if a record has it. For a delegate, the line of its first node.
    pub source: Option<&'t SourceLine>,
}
