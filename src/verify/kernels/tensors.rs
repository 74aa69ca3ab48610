//! Dim orders, ranks and sizes of the tensors that a value stands for.

use crate::schema::program::{ExecutionPlan, KernelTypes, Tensor};
use crate::tensor::TensorShape;
use crate::verify::tensors::is_permutation;
use alloc::{vec, vec::Vec};

/// Dimensions stored in their own order: a bit in a set of dim orders.
pub(super) const CONTIGUOUS: u8 = 1;
/// Channels stored last, in tensors with 4 or 5 dimensions: a bit in a set of dim orders.
pub(super) const CHANNELS_LAST: u8 = 2;
/// Another order: a bit in a set of dim orders.
pub(super) const OTHER: u8 = 4;

/// Sizes differ: a bit in a set of differences.
pub(super) const SIZES: u8 = 1;
/// Sizes differ in a dimension other than the first: a bit in a set of differences.
pub(super) const INNER: u8 = 2;
/// Sizes of tensors with more than one element differ: a bit in a set of differences.
pub(super) const BROADCAST: u8 = 4;

/// The properties of the tensors that a value stands for: itself, the items of a list, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tensors<'t> {
    /// A set of dim orders.
    pub(super) orders: u8,
    /// The dim orders of those tensors whose elements would be elsewhere in memory in the other order.
    pub(super) layouts: u8,
    /// A set of ranks, up to 7.
    pub(super) ranks: u8,
    pub(super) shapes: Shapes<'t>,
}

/// The differences between the sizes of several tensors of 4 or 5 dimensions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shapes<'t> {
    /// The sizes of one of the tensors, preferably one with more than one element.
    example: Option<&'t [i32]>,
    /// A set of differences.
    pub(super) differences: u8,
}

impl<'t> Tensors<'t> {
    fn of(tensor: &'t Tensor<'_>) -> Self {
        let shape = tensor.shape();
        let TensorShape { sizes, dim_order, .. } = shape;
        let mut tensors = Self::default();
        // Other rules report tensors that contradict themselves.
        if sizes.len() == dim_order.len() {
            let order = order_of(&shape);
            tensors.orders = order;
            tensors.layouts = if is_in_both_orders(sizes, dim_order) { 0 } else { order };
            tensors.ranks = u32::try_from(sizes.len()).ok().and_then(|rank| 1_u8.checked_shl(rank)).unwrap_or(0);
        }
        if matches!(sizes.len(), 4 | 5) {
            tensors.shapes.example = Some(sizes);
        }
        tensors
    }

    /// Returns `true` if any of the tensors is not contiguous.
    pub(super) fn has_orders(&self) -> bool {
        self.orders & !CONTIGUOUS != 0
    }

    fn join(&mut self, other: Self) {
        self.orders |= other.orders;
        self.layouts |= other.layouts;
        self.ranks |= other.ranks;
        self.shapes.join(other.shapes);
    }
}

impl Shapes<'_> {
    pub(super) fn join(&mut self, other: Self) {
        self.differences |= other.differences;
        let Some(second) = other.example else { return };
        let Some(first) = self.example else {
            self.example = other.example;
            return;
        };
        if first == second {
            return;
        }
        let is_single = |sizes: &[i32]| sizes.iter().all(|size| *size == 1);
        self.differences |= SIZES;
        self.differences |= if first.get(1..) == second.get(1..) { 0 } else { INNER };
        self.differences |= if is_single(first) || is_single(second) { 0 } else { BROADCAST };
        if is_single(first) {
            self.example = other.example;
        }
    }
}

/// Returns the bit of a dim order; 0 if the order is not a permutation. Dimensions of size 1 do not matter to kernels.
fn order_of(shape: &TensorShape<'_>) -> u8 {
    match shape.dim_order {
        [0, 2, 3, 1] | [0, 2, 3, 4, 1] => CHANNELS_LAST,
        _ if shape.is_natural() => CONTIGUOUS,
        order if is_permutation(order) => OTHER,
        _ => 0,
    }
}

/// Returns `true` if the elements are at the same places in the contiguous order and, with 4 or 5 dimensions, in the
/// channels-last order: dimensions of size 1 can be anywhere.
fn is_in_both_orders(sizes: &[i32], dim_order: &[u8]) -> bool {
    let is_sorted = |order: &[u8]| {
        let of_some_size = |dimension: &&u8| sizes.get(usize::from(**dimension)).is_some_and(|size| *size != 1);
        order.iter().filter(of_some_size).is_sorted()
    };
    match sizes.len() {
        4 => is_sorted(&[0, 2, 3, 1]) && is_sorted(dim_order),
        5 => is_sorted(&[0, 2, 3, 4, 1]) && is_sorted(dim_order),
        // All orders are the same for a single dimension.
        _ => sizes.iter().filter(|size| **size != 1).count() <= 1,
    }
}

/// Returns the properties of the tensors of each value of a method.
#[expect(clippy::indexing_slicing, reason = "`index` is that of a value, and each value has an item in `tensors`")]
pub(super) fn of_values<'t>(plan: &'t ExecutionPlan<'_>) -> Vec<Tensors<'t>> {
    let (mut tensors, mut lists) = (vec![Tensors::default(); plan.values().len()], Vec::new());
    for ((index, value), of_value) in plan.values().iter().enumerate().zip(&mut tensors) {
        match &value.val {
            KernelTypes::Tensor(tensor) => *of_value = Tensors::of(tensor),
            other => lists.extend(other.tensors().map(|items| (index, items))),
        }
    }
    // An item of a list is a tensor, not another list.
    for (index, items) in lists {
        let mut of_list = Tensors::default();
        for item in items {
            let item = usize::try_from(*item).ok().filter(|item| plan.tensor(*item).is_some());
            if let Some(of_item) = item.and_then(|item| tensors.get(item)) {
                of_list.join(*of_item);
            }
        }
        tensors[index] = of_list;
    }
    tensors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_of_size_1_make_two_orders_the_same() {
        assert!(is_in_both_orders(&[2, 3, 1, 1], &[0, 2, 3, 1]));
        assert!(is_in_both_orders(&[2, 1, 4, 5], &[0, 1, 2, 3]));
        assert!(!is_in_both_orders(&[2, 3, 4, 1], &[0, 1, 2, 3]));
        assert!(!is_in_both_orders(&[2, 3, 4, 1], &[0, 2, 3, 1]));
        assert!(!is_in_both_orders(&[2, 3], &[0, 1]));
        assert!(is_in_both_orders(&[2, 1], &[1, 0]));
        assert!(is_in_both_orders(&[], &[]));
    }
}
