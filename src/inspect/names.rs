//! The names in a program, as plain data: see `naming`, which finds them.

use super::{NamedBy, SourceLine};
use alloc::{borrow::Cow, string::String, vec::Vec};

/// A name, and where it is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Name<'t> {
    /// The name.
    pub name: Cow<'t, str>,
    /// Where it is known from.
    pub named_by: NamedBy,
    /// The path of the module that it belongs to, such as `layers.0.conv`: for a parameter or a buffer, that which has it; for another
    /// tensor, that of the instruction that writes it.
    pub module: Option<&'t str>,
}

/// The names in a program. The feature `names` finds them: `Names::new`.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Names<'t> {
    /// The methods, in the file's order.
    pub methods: Vec<MethodNames<'t>>,
    /// The names of constants inside delegates that are named data, sorted by the key. Keys over 512 bytes, which no writer makes, are
    /// left out.
    pub keys: Vec<(String, Name<'t>)>,
}

/// The names in a method.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MethodNames<'t> {
    /// For each value: its name, if it is a tensor that something takes or writes.
    pub values: Vec<Option<Name<'t>>>,
    /// For each chain: its instructions.
    pub chains: Vec<Vec<InstructionName<'t>>>,
    /// For each delegate: what is inside it, if its payload is one of XNNPACK and no delegate before has it too.
    pub delegates: Vec<DelegateNames<'t>>,
}

/// The names inside a delegate.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DelegateNames<'t> {
    /// The path of the module that contains all of it, if a record has it.
    pub module: Option<&'t str>,
    /// For each value of the payload: its name, if it is a constant.
    pub constants: Vec<Option<Name<'t>>>,
    /// For each node of the payload: its kind and index, such as `XNNConv2d 3`, and where in the model it comes from.
    pub nodes: Vec<InstructionName<'t>>,
}

impl<'t> DelegateNames<'t> {
    /// The name of a value, if it is a constant.
    pub fn constant(&self, value: usize) -> Option<&Name<'t>> {
        self.constants.get(value)?.as_ref()
    }
}

/// The name of an instruction, and where in the model it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionName<'t> {
    /// The operator or backend without its namespace, and how many such instructions come before it: `convolution.3`.
    pub label: String,
    /// The path of the module, such as `layers.0.conv`, if a record has it; empty for the model itself. Of a delegate, the module that
    /// contains all of its nodes.
    pub module: Option<&'t str>,
    /// The line of source, if a record has it. Of a delegate, that of its first node.
    pub source: Option<&'t SourceLine>,
}
