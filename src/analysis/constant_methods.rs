//! Methods that compute nothing and return constants. Exporters store metadata in such methods.

use super::value_shape::ValueShape;
use crate::schema::program::{ExecutionPlan, KernelTypes};
use alloc::vec::Vec;

/// A method without inputs and instructions, and the value that it returns.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConstantMethod<'t> {
    /// The method's name.
    pub name: &'t str,
    /// The value; a list if the method returns several values.
    pub value: Returned<'t>,
}

/// The value that a constant method returns.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Returned<'t> {
    /// Python's `None`.
    Null,
    /// An integer.
    Int(i64),
    /// A boolean.
    Bool(bool),
    /// A float.
    Double(f64),
    /// A float that JSON cannot express: `nan`, `inf` or `-inf`.
    NotFinite(&'static str),
    /// A string.
    String(&'t str),
    /// A tensor's shape. Its elements are left out, since they can be large.
    Tensor(ValueShape<'t>),
    /// Several values, or a list.
    List(Vec<Returned<'t>>),
}

impl<'a> ExecutionPlan<'a> {
    /// Returns `true` if the method computes nothing: it has outputs, but no inputs and no instructions.
    pub fn is_constant(&self) -> bool {
        self.inputs().is_empty() && !self.outputs().is_empty() && self.instructions().next().is_none()
    }

    /// Returns the constant that the method returns, if it computes nothing.
    pub fn constant(&self) -> Option<Returned<'_>> {
        self.is_constant().then(|| match self.outputs() {
            [output] if !self.returns_list() => constant(self, (*output).into(), true),
            outputs => items(self, outputs.iter().map(|index| (*index).into()), true),
        })
    }
}

impl ExecutionPlan<'_> {
    /// Returns `true` if the outputs are the items of a list, of which there may be only one.
    fn returns_list(&self) -> bool {
        let containers = self.container_meta_type.as_ref();
        containers
            .and_then(|containers| containers.encoded_out_str.as_deref())
            .is_some_and(|tree| tree.starts_with(LIST))
    }
}

/// The start of PyTorch's description of outputs that are a list: a pytree, with the version of its form.
pub(crate) const LIST: &str = r#"[1, {"type": "builtins.list","#;

fn items<'t>(plan: &'t ExecutionPlan<'_>, indices: impl Iterator<Item = i64>, lists: bool) -> Returned<'t> {
    Returned::List(indices.map(|index| constant(plan, index, lists)).collect())
}

/// Returns the value at an index. The items of a list are separate values. A list inside a list, which no writer makes, becomes `Null`.
fn constant<'t>(plan: &'t ExecutionPlan<'_>, index: i64, lists: bool) -> Returned<'t> {
    let wide = |items: &'t [i32]| items.iter().map(|index| i64::from(*index));
    match plan.value(index).map(|value| &value.val) {
        Some(KernelTypes::Int(value)) => Returned::Int(value.int_val),
        Some(KernelTypes::Bool(value)) => Returned::Bool(value.bool_val),
        Some(KernelTypes::Double(value)) => double(value.double_val),
        Some(KernelTypes::String(value)) => Returned::String(value.string_val()),
        Some(KernelTypes::Tensor(tensor)) => Returned::Tensor(ValueShape::of(tensor)),
        Some(KernelTypes::DoubleList(list)) => Returned::List(list.items().iter().map(|item| double(*item)).collect()),
        Some(KernelTypes::BoolList(list)) => {
            Returned::List(list.items().iter().map(|item| Returned::Bool(*item)).collect())
        }
        Some(KernelTypes::IntList(list)) if lists => items(plan, list.items().iter().copied(), false),
        Some(KernelTypes::TensorList(list)) if lists => items(plan, wide(list.items()), false),
        Some(KernelTypes::OptionalTensorList(list)) if lists => items(plan, wide(list.items()), false),
        _ => Returned::Null,
    }
}

pub(crate) fn double<'t>(number: f64) -> Returned<'t> {
    match number {
        number if number.is_nan() => Returned::NotFinite("nan"),
        f64::INFINITY => Returned::NotFinite("inf"),
        f64::NEG_INFINITY => Returned::NotFinite("-inf"),
        number => Returned::Double(number),
    }
}
