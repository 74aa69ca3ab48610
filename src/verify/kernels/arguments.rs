//! The arguments of a call, by name.

use super::call::Call;
use super::sizes::Size;
use crate::operators::Kind;
use crate::schema::ScalarType;
use crate::schema::program::{KernelTypes, Tensor, TensorShapeDynamism};
use crate::verify::values::value;
use alloc::{string::String, vec::Vec};
use core::fmt::Write;

/// A tensor in a call.
#[derive(Clone, Copy)]
pub(super) struct View<'t> {
    pub(super) sizes: &'t [i32],
    /// `true` if it can be resized.
    pub(super) is_dynamic: bool,
    /// `true` if its sizes are not known: they are upper bounds.
    pub(super) is_open: bool,
    pub(super) scalar_type: ScalarType,
    pub(super) tensor: &'t Tensor<'t>,
}

/// A number in a call.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Double(f64),
    Bool(bool),
}

impl<'t> View<'t> {
    fn new(tensor: &'t Tensor<'t>, at_bound: bool) -> Option<Self> {
        let is_dynamic = tensor.shape_dynamism != TensorShapeDynamism::STATIC;
        let sizes = tensor.sizes();
        // Other rules report tensors that the runtime does not load.
        let size = |bytes: i64, size: &i32| bytes.checked_mul(i64::from(*size)).filter(|bytes| *bytes >= 0);
        let element = i64::try_from(tensor.scalar_type.element_size()?).ok()?;
        let is_valid = sizes.len() <= 16 && sizes.iter().try_fold(element, size).is_some();
        is_valid.then_some(Self {
            sizes,
            is_dynamic,
            is_open: is_dynamic && !at_bound,
            scalar_type: tensor.scalar_type,
            tensor,
        })
    }

    pub(super) fn rank(self) -> usize {
        self.sizes.len()
    }

    fn sized(self, size: i64) -> Size {
        if self.is_open { Size::UpTo(size) } else { Size::Is(size) }
    }

    /// Returns a size; negative dimensions count from the end.
    pub(super) fn size(self, dim: i64) -> Option<Size> {
        let dim = if dim < 0 { dim + self.rank() as i64 } else { dim };
        let size = *self.sizes.get(usize::try_from(dim).ok()?)?;
        Some(self.sized(i64::from(size)))
    }

    /// Returns each size.
    pub(super) fn each(self) -> impl DoubleEndedIterator<Item = Size> + ExactSizeIterator + use<'t> {
        self.sizes.iter().map(move |size| self.sized(i64::from(*size)))
    }

    pub(super) fn shape(self) -> Vec<Size> {
        self.each().collect()
    }

    /// Returns the number of elements.
    pub(super) fn elements(self) -> Size {
        self.sized(self.sizes.iter().fold(1, |product: i64, size| product.saturating_mul(i64::from(*size))))
    }

    /// Returns `true` if it certainly has no element.
    pub(super) fn is_empty(self) -> bool {
        self.sizes.contains(&0)
    }

    /// Returns the sizes as text.
    pub(super) fn text(self) -> String {
        text_of(&self.shape())
    }
}

/// Returns sizes as text, such as `[4, <=3]`.
pub(super) fn text_of(sizes: &[Size]) -> String {
    let mut text = String::from("[");
    for (at, size) in sizes.iter().enumerate() {
        text += if at > 0 { ", " } else { "" };
        let _ = write!(text, "{size}");
    }
    text + "]"
}

impl<'t> Call<'t, '_> {
    /// Returns the index of an argument.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.called.arguments.iter().position(|argument| argument.name == name)
    }

    pub(super) fn named(&self, name: &str) -> Option<&'t KernelTypes<'t>> {
        value(self.plan.values(), *self.args.get(self.position(name)?)?)
    }

    /// Returns a tensor; `None` if the argument is Null or a list.
    pub(super) fn tensor(&self, name: &str) -> Option<View<'t>> {
        match self.named(name)? {
            KernelTypes::Tensor(tensor) => View::new(tensor, self.at_bound),
            _ => None,
        }
    }

    /// Returns a tensor, or the items of a list of tensors; `None` for an item that is absent.
    pub(super) fn views(&self, name: &str) -> impl Iterator<Item = Option<View<'t>>> + use<'t, '_> {
        let (single, items) = match self.named(name) {
            Some(KernelTypes::Tensor(tensor)) => (Some(View::new(tensor, self.at_bound)), &[][..]),
            Some(other) => (None, other.tensors().unwrap_or_default()),
            None => (None, &[][..]),
        };
        let items = items.iter().take(super::call::MAX_ITEMS);
        single.into_iter().chain(items.map(|item| View::new(self.plan.tensor(*item)?, self.at_bound)))
    }

    pub(super) fn is_null(&self, name: &str) -> bool {
        matches!(self.named(name), Some(KernelTypes::Null(_)))
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        usize::try_from(*self.args.get(self.position(name)?)?).ok()
    }

    /// Returns an integer whose value in the file is `constant`.
    fn value_of(&self, value: usize, constant: i64) -> Size {
        let size = self.ints.get(value, constant);
        if self.at_bound { size.at_bound() } else { size }
    }

    /// Returns an Int; `None` if it is Null or of another kind.
    pub(super) fn int(&self, name: &str) -> Option<Size> {
        match self.named(name)? {
            KernelTypes::Int(int) => Some(self.value_of(self.index_of(name)?, int.int_val)),
            _ => None,
        }
    }

    /// Returns an Int whose value is known.
    pub(super) fn known(&self, name: &str) -> Option<i64> {
        match self.int(name)? {
            Size::Is(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the items of a list of integers; `None` if it is Null or of another kind.
    pub(super) fn list(&self, name: &str) -> Option<Vec<Size>> {
        let KernelTypes::IntList(list) = self.named(name)? else { return None };
        let items = list.items().iter().take(super::call::MAX_ITEMS);
        let item = |index: &i64| match value(self.plan.values(), *index) {
            Some(KernelTypes::Int(int)) => {
                usize::try_from(*index).map_or(Size::Any, |index| self.value_of(index, int.int_val))
            }
            _ => Size::Any,
        };
        Some(items.map(item).collect())
    }

    /// Returns the items of a list of integers whose values are all known.
    pub(super) fn known_list(&self, name: &str) -> Option<Vec<i64>> {
        self.list(name)?.into_iter().map(|size| if let Size::Is(value) = size { Some(value) } else { None }).collect()
    }

    /// Returns an argument that nothing sets.
    pub(super) fn constant(&self, name: &str) -> Option<&'t KernelTypes<'t>> {
        let index = self.index_of(name)?;
        if self.ints.is_constant(index) { self.named(name) } else { None }
    }

    pub(super) fn number(&self, name: &str) -> Option<Number> {
        match self.constant(name)? {
            KernelTypes::Int(int) => Some(Number::Int(int.int_val)),
            KernelTypes::Double(double) => Some(Number::Double(double.double_val)),
            KernelTypes::Bool(value) => Some(Number::Bool(value.bool_val)),
            _ => None,
        }
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        match self.number(name)? {
            Number::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns `true` if an argument is a list of integers or optional.
    pub(super) fn is_list(&self, name: &str) -> bool {
        self.position(name)
            .and_then(|at| self.called.arguments.get(at))
            .is_some_and(|argument| argument.kind == Kind::IntList)
    }
}
