//! The numbers in constant tensors.

use super::arguments::View;
use crate::file::pte::Pte;
use crate::schema::ScalarType;
use core::cell::Cell;

/// The constants of a program.
pub(super) struct Constants<'t, 'a> {
    pte: &'t Pte<'a>,
    /// The number of elements that may still be read.
    budget: Cell<usize>,
}

/// The most elements that are read for the calls of a method: a damaged file may use a large constant in many calls.
const MAX_ELEMENTS: usize = 1 << 16;

impl<'t, 'a> Constants<'t, 'a> {
    pub(super) fn new(pte: &'t Pte<'a>) -> Self {
        Self { pte, budget: Cell::new(MAX_ELEMENTS) }
    }

    /// Returns the numbers in a constant tensor of integers; `None` if it is not one, or too large.
    fn numbers(&self, view: View<'t>) -> Option<impl Iterator<Item = i64> + use<'t>> {
        let is_constant = view.tensor.allocation_info.is_none() && view.tensor.data_buffer_idx != 0;
        if !is_constant || !matches!(view.scalar_type, ScalarType::INT | ScalarType::LONG) {
            return None;
        }
        let bytes = self.pte.tensor_view(view.tensor).ok()??.bytes();
        let width = if view.scalar_type == ScalarType::INT { 4 } else { 8 };
        self.budget.set(self.budget.get().checked_sub(bytes.len() / width)?);
        let number = move |bytes: &[u8]| match width {
            4 => bytes.try_into().map(i32::from_le_bytes).map(i64::from).ok(),
            _ => bytes.try_into().map(i64::from_le_bytes).ok(),
        };
        Some(bytes.chunks_exact(width).filter_map(number))
    }

    /// Returns the sum of the numbers in a constant tensor of integers, and the smallest of them, or 0 if none is negative; `None` if it is not
    /// one, or too large.
    pub(super) fn sum(&self, view: View<'t>) -> Option<(i64, i64)> {
        self.numbers(view)?
            .try_fold((0, 0), |(sum, least): (i64, i64), number| Some((sum.checked_add(number)?, least.min(number))))
    }

    /// Returns `true` if a constant tensor of integers contains 0; `false` also if it is not one, or too large.
    pub(super) fn has_zero(&self, view: View<'t>) -> bool {
        self.numbers(view).is_some_and(|mut numbers| numbers.any(|number| number == 0))
    }

    /// Returns the smallest and the largest number in a constant tensor of integers; `None` if it is not one, or too large.
    pub(super) fn range(&self, view: View<'t>) -> Option<(i64, i64)> {
        let mut numbers = self.numbers(view)?;
        let first = numbers.next()?;
        Some(numbers.fold((first, first), |(low, high), number| (low.min(number), high.max(number))))
    }
}
