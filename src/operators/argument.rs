//! The arguments of operators.

use crate::schema::program::KernelTypes;
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
        matches!(self.effect, Effect::Write | Effect::Elementwise | Effect::View)
    }

    /// Returns `true` if the argument takes a value of this kind. A value without content is reported elsewhere.
    pub(crate) fn takes(&self, value: &KernelTypes<'_>) -> bool {
        match value {
            KernelTypes::None | KernelTypes::Unknown(_) => true,
            KernelTypes::Null(_) => self.or_null,
            KernelTypes::Int(_) => matches!(self.kind, Kind::Int | Kind::Number),
            KernelTypes::Bool(_) => matches!(self.kind, Kind::Bool | Kind::Number),
            KernelTypes::Double(_) => matches!(self.kind, Kind::Double | Kind::Number),
            KernelTypes::Tensor(_) => self.kind == Kind::Tensor,
            KernelTypes::String(_) => self.kind == Kind::String,
            KernelTypes::IntList(_) => self.kind == Kind::IntList,
            KernelTypes::DoubleList(_) => self.kind == Kind::DoubleList,
            KernelTypes::BoolList(_) => self.kind == Kind::BoolList,
            KernelTypes::TensorList(_) => self.kind == Kind::TensorList,
            KernelTypes::OptionalTensorList(_) => self.kind == Kind::OptionalTensorList,
        }
    }

    /// Returns the kinds of values that the argument takes, as text.
    pub(crate) fn kinds(&self) -> impl fmt::Display {
        struct Kinds(Argument);
        impl fmt::Display for Kinds {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0.kind {
                    Kind::Number => f.write_str("Int, Bool or Double")?,
                    kind => write!(f, "{kind:?}")?,
                }
                f.write_str(if self.0.or_null { " or Null" } else { "" })
            }
        }
        Kinds(*self)
    }
}

macro_rules! inputs {
    ($($function:ident $kind:ident)*) => {
        $(pub(super) const fn $function(name: &'static str) -> Argument {
            Argument::new(name, Kind::$kind, Effect::Read)
        })*
    };
}

inputs! {
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
    in_place InPlace
    replaced Replace
    filled Fill
    scratch Scratch
    view View
}

/// A list of tensors that is written.
pub(super) const fn outputs(name: &'static str) -> Argument {
    Argument::new(name, Kind::TensorList, Effect::Write)
}

/// An integer that is written.
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
