//! The arguments of operators.

use crate::schema::program::KernelTypes;
use alloc::{string::String, vec::Vec};
use core::fmt;

/// An argument of an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// `true` if Null stands for an absent argument.
    pub(crate) or_null: bool,
    pub(crate) effect: Effect,
}

/// The kind of value that an argument takes. It follows from the type in the operator's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any: the operator looks at it itself.
    Any,
    Tensor,
    Int,
    Bool,
    Double,
    /// An Int, a Bool or a Double.
    Number,
    String,
    IntList,
    DoubleList,
    BoolList,
    TensorList,
    OptionalTensorList,
}

/// The effect of a call on an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Reads it.
    Read,
    /// Uses its type and sizes, but not its bytes.
    Refer,
    /// Overwrites it.
    Write,
    /// Overwrites it element by element, so that it may be in the place of an input.
    Elementwise,
    /// Overwrites it after it has read what it needs of the first argument, in whose place it may be if both have the same sizes.
    OverFirst,
    /// Reads it, and writes all or part of it.
    InPlace,
    /// Overwrites an argument that is both input and result, as `copy_` does.
    Replace,
    /// Writes it piece by piece, starting with the first, as `et_copy_index` does in a loop.
    Fill,
    /// Uses its memory during the call.
    Scratch,
    /// Makes it a view of the first argument.
    View,
}

impl Argument {
    const fn new(name: &'static str, kind: Kind, effect: Effect) -> Self {
        Self { name, kind, or_null: false, effect }
    }

    pub(super) const fn or_null(self) -> Self {
        Self { or_null: true, ..self }
    }

    /// Returns `true` if it is an output but not an input.
    pub(crate) fn is_output(&self) -> bool {
        matches!(self.effect, Effect::Write | Effect::Elementwise | Effect::OverFirst | Effect::View)
    }

    /// Returns `true` if the argument takes a value of this kind. A value without content is reported elsewhere.
    pub(crate) fn takes(&self, value: &KernelTypes<'_>) -> bool {
        match value {
            KernelTypes::Null(_) => self.or_null || self.kind == Kind::Any,
            value => self.kind.takes(value),
        }
    }

    /// Returns the kinds of values that the argument takes, as text.
    pub(crate) fn kinds(&self) -> impl fmt::Display {
        struct Kinds(Argument);
        impl fmt::Display for Kinds {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", self.0.kind.name(), if self.0.or_null { " or Null" } else { "" })
            }
        }
        Kinds(*self)
    }
}

impl Kind {
    /// Returns `true` if it includes the kind of a value other than Null. A value without content is reported elsewhere.
    pub(crate) fn takes(self, value: &KernelTypes<'_>) -> bool {
        match value {
            _ if self == Self::Any => true,
            KernelTypes::None | KernelTypes::Unknown(_) => true,
            KernelTypes::Null(_) => false,
            KernelTypes::Int(_) => matches!(self, Self::Int | Self::Number),
            KernelTypes::Bool(_) => matches!(self, Self::Bool | Self::Number),
            KernelTypes::Double(_) => matches!(self, Self::Double | Self::Number),
            KernelTypes::Tensor(_) => self == Self::Tensor,
            KernelTypes::String(_) => self == Self::String,
            KernelTypes::IntList(_) => self == Self::IntList,
            KernelTypes::DoubleList(_) => self == Self::DoubleList,
            KernelTypes::BoolList(_) => self == Self::BoolList,
            KernelTypes::TensorList(_) => self == Self::TensorList,
            KernelTypes::OptionalTensorList(_) => self == Self::OptionalTensorList,
        }
    }

    /// Returns `true` if a value of this kind can have tensors.
    pub(crate) fn has_tensors(self) -> bool {
        matches!(self, Self::Any | Self::Tensor | Self::TensorList | Self::OptionalTensorList)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "any kind",
            Self::Tensor => "Tensor",
            Self::Int => "Int",
            Self::Bool => "Bool",
            Self::Double => "Double",
            Self::Number => "Int, Bool or Double",
            Self::String => "String",
            Self::IntList => "IntList",
            Self::DoubleList => "DoubleList",
            Self::BoolList => "BoolList",
            Self::TensorList => "TensorList",
            Self::OptionalTensorList => "OptionalTensorList",
        }
    }
}

/// Returns the names of kinds, as alternatives.
pub(crate) fn kind_names(kinds: &[Kind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    names.join(" or ")
}

macro_rules! inputs {
    ($($function:ident $kind:ident)*) => {
        $(pub(super) const fn $function(name: &'static str) -> Argument {
            Argument::new(name, Kind::$kind, Effect::Read)
        })*
    };
}

inputs! {
    any Any
    tensor Tensor
    int Int
    boolean Bool
    double Double
    number Number
    string String
    ints IntList
    doubles DoubleList
    booleans BoolList
    tensors TensorList
    optional_tensors OptionalTensorList
}

macro_rules! tensors {
    ($($function:ident $effect:ident)*) => {
        $(pub(super) const fn $function(name: &'static str) -> Argument {
            Argument::new(name, Kind::Tensor, Effect::$effect)
        })*
    };
}

tensors! {
    unread Refer
    output Write
    elementwise Elementwise
    over_first OverFirst
    in_place InPlace
    replaced Replace
    filled Fill
    scratch Scratch
    view View
}

/// Returns a list of tensors that is written.
pub(super) const fn outputs(name: &'static str) -> Argument {
    Argument::new(name, Kind::TensorList, Effect::Write)
}

/// Returns an integer that is written.
pub(super) const fn int_output(name: &'static str) -> Argument {
    Argument::new(name, Kind::Int, Effect::Write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_the_type_in_the_schema() {
        let (value, number) = (crate::schema::program::Int { int_val: 1 }, crate::schema::program::Double::default());
        let (null, double) = (KernelTypes::Null(Default::default()), KernelTypes::from(number));
        let value = KernelTypes::from(value);
        assert!(int("x").takes(&value) && super::number("x").takes(&value) && !super::double("x").takes(&value));
        assert!(super::double("x").takes(&double) && super::number("x").or_null().takes(&double));
        assert!(int("x").or_null().takes(&null) && !int("x").takes(&null));
    }
}
