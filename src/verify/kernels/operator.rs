//! Operators in the tables, and the kinds of values that their arguments take.

use super::Kernels;
use super::table::{KERNELS, Kernel, PORTABLE};
use crate::dataflow::signature;
use crate::schema::program::{KernelTypes, Operator};
use crate::sorted_text;
use alloc::vec::Vec;
use core::fmt;

/// An operator that a method calls.
pub(super) struct Called {
    pub(super) arguments: Vec<Argument>,
    /// The kernel. If an optimized kernel can replace the portable one, `portable` may contain the latter.
    pub(super) kernel: Kernel,
    pub(super) portable: Option<Kernel>,
}

/// An argument in an operator's schema.
pub(super) struct Argument {
    pub(super) name: &'static str,
    pub(super) kinds: Kinds,
    pub(super) is_output: bool,
}

/// The kinds of values that an argument takes, which follow from its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    kind: Kind,
    or_null: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tensor,
    Int,
    Bool,
    Double,
    Number,
    String,
    IntList,
    DoubleList,
    BoolList,
    TensorList,
    OptionalTensorList,
}

impl Called {
    /// Looks up an operator; `None` if it is not in the tables.
    pub(super) fn find(operator: &Operator<'_>, kernels: Kernels) -> Option<Self> {
        let (name, overload) = (operator.name(), operator.overload());
        let line = sorted_text::row(KERNELS, name, overload)?;
        let mut arguments = Vec::new();
        for argument in signature(operator)?.split(' ') {
            let (name, text) = argument.split_once(':')?;
            // `dataflow::access` explains the marks.
            let is_output = name.starts_with(['*', '=']);
            let name = name.trim_start_matches(['*', '=', '!', '.']);
            arguments.push(Argument { name, kinds: Kinds::of(text)?, is_output });
        }
        let kernel = Kernel::read(line, &arguments)?;
        let portable = sorted_text::row(PORTABLE, name, overload).and_then(|line| Kernel::read(line, &arguments));
        Some(match (kernels, portable) {
            (Kernels::Any, portable) => Self { arguments, kernel, portable },
            #[cfg(feature = "inspect")]
            (Kernels::Portable, Some(portable)) => Self { arguments, kernel: portable, portable: None },
            #[cfg(feature = "inspect")]
            (Kernels::Portable, None) | (Kernels::Optimized, _) => Self { arguments, kernel, portable: None },
        })
    }
}

impl Kinds {
    /// Parses a type in an operator's schema.
    fn of(text: &str) -> Option<Self> {
        let optional = text.strip_prefix("Optional[").and_then(|text| text.strip_suffix(']'));
        let kind = match optional.unwrap_or(text) {
            "Tensor" => Kind::Tensor,
            "int" => Kind::Int,
            "bool" => Kind::Bool,
            "float" => Kind::Double,
            "number" => Kind::Number,
            "str" => Kind::String,
            "List[int]" => Kind::IntList,
            "List[float]" => Kind::DoubleList,
            "List[bool]" => Kind::BoolList,
            "List[Tensor]" => Kind::TensorList,
            "List[Optional[Tensor]]" => Kind::OptionalTensorList,
            _ => return None,
        };
        Some(Self { kind, or_null: optional.is_some() })
    }

    /// Returns `true` if the argument takes a value of this kind. A value without content is reported elsewhere.
    pub(super) fn take(self, value: &KernelTypes<'_>) -> bool {
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
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Number => f.write_str("Int, Bool or Double")?,
            kind => write!(f, "{kind:?}")?,
        }
        f.write_str(if self.or_null { " or Null" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_can_be_parsed_and_its_operator_is_known() {
        for (table, lines) in [(KERNELS, 229), (PORTABLE, 20)] {
            sorted_text::check_all(table);
            assert_eq!(table.lines().count(), lines);
            for line in table.lines() {
                let name = line.split('\t').next().unwrap_or_default();
                let (name, overload) = name.split_once('.').unwrap_or((name, ""));
                let operator = Operator::new(name, overload);
                let called = Called::find(&operator, Kernels::Any);
                assert!(called.is_some_and(|called| table == KERNELS || called.portable.is_some()), "{line}");
            }
        }
    }

    #[test]
    fn kinds_follow_from_the_type_in_the_schema() {
        let takes = |text: &str, value: KernelTypes<'_>| Kinds::of(text).is_some_and(|kinds| kinds.take(&value));
        let (int, double) = (crate::schema::program::Int { int_val: 1 }, crate::schema::program::Double::default());
        assert!(takes("int", int.into()) && takes("number", int.into()) && !takes("float", int.into()));
        assert!(takes("float", double.into()) && takes("Optional[number]", double.into()));
        assert!(takes("Optional[int]", KernelTypes::Null(Default::default())));
        assert!(!takes("int", KernelTypes::Null(Default::default())));
        assert_eq!(Kinds::of("Dict"), None);
    }
}
