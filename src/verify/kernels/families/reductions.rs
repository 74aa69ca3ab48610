//! Reductions: `portable/cpu/util/reduce_util.cpp`, and others along a dimension.

use super::super::call::Call;
use super::super::fault::{Checked, demand, of_setting, of_shape};
use super::super::sizes::Size;
use crate::operators::{Names, Types};
use alloc::{format, vec::Vec};

impl Call<'_, '_> {
    /// Returns `true` if the optimized `sum` uses its code for one dimension.
    pub(in super::super) fn sums_one_dimension(&self) -> bool {
        let (Some(input), Some(out)) = (self.tensor("self"), self.tensor("out")) else { return false };
        let of_one_type = input.scalar_type == out.scalar_type && !Types::COMPLEX.contains(input.scalar_type);
        of_one_type && self.list("dim").is_some_and(|dims| dims.len() == 1)
    }

    pub(super) fn reduction(
        &self,
        input: &'static str,
        dims: Option<&'static str>,
        keep: Option<&'static str>,
        outs: Names,
    ) -> Checked {
        let Some(view) = self.tensor(input) else { return Ok(()) };
        let keeps = match keep.map(|keep| self.boolean(keep)) {
            None => false,
            Some(Some(keeps)) => keeps,
            Some(None) => return Ok(()),
        };
        let rank = view.rank() as i64;
        let mut reduced: u32 = u32::MAX;
        if let Some(dims) = dims.filter(|dims| !self.is_null(dims)) {
            let list = match self.known_list(dims).or_else(|| self.known(dims).map(|dim| [dim].into())) {
                Some(list) => list,
                None => return Ok(()),
            };
            if !(list.is_empty() && self.is_list(dims)) {
                let bit = |dim: i64| {
                    u32::try_from(if dim < 0 { dim + rank } else { dim }).ok().and_then(|dim| 1_u32.checked_shl(dim))
                };
                reduced = list.into_iter().filter_map(bit).fold(0, |set, bit| set | bit);
            }
        }
        let mut expected = Vec::new();
        for (dim, size) in view.shape().into_iter().enumerate() {
            match (reduced >> dim & 1 == 1, keeps) {
                (true, true) => expected.push(Size::Is(1)),
                (true, false) => {}
                (false, _) => expected.push(size),
            }
        }
        outs.iter().try_for_each(|out| self.resize(out, &expected))
    }

    pub(super) fn dim_not_empty(&self, dim: &'static str, tensor: &'static str) -> Checked {
        let Some(view) = self.tensor(tensor) else { return Ok(()) };
        let Some(size) = self.dimension(dim, view.rank()).and_then(|at| view.size(at as i64)) else { return Ok(()) };
        demand(!size.is(0), || {
            of_shape(tensor, format!("{tensor} has sizes {}, expected elements in dimension {dim}", view.text()))
        })
    }

    /// Checks a dimension, and those after it.
    pub(super) fn end_not_empty(&self, dim: &'static str, tensor: &'static str) -> Checked {
        let Some(view) = self.tensor(tensor) else { return Ok(()) };
        let Some(first) = self.dimension(dim, view.rank()) else { return Ok(()) };
        demand(!view.each().skip(first).any(|size| size.is(0)), || {
            let text =
                format!("{tensor} has sizes {}, expected elements in dimension {first} and after it", view.text());
            of_shape(tensor, text)
        })
    }

    pub(super) fn top_k(&self) -> Checked {
        let (Some(view), Some(k)) = (self.tensor("self"), self.known("k")) else { return Ok(()) };
        let Some(dim) = self.dimension("dim", view.rank()) else { return Ok(()) };
        let size = view.size(dim as i64).unwrap_or(Size::Is(1));
        let most = size.bound().unwrap_or(i64::MAX);
        demand((0..=most).contains(&k), || {
            of_setting("k", format!("k is {k}, expected 0 to {most}, the size of the dimension"))
        })?;
        let mut expected = view.shape();
        if let Some(size) = expected.get_mut(dim) {
            *size = Size::Is(k);
        }
        self.resize("values", &expected)?;
        self.resize("indices", &expected)
    }

    pub(super) fn glu(&self) -> Checked {
        let (Some(view), Some(dim)) = (self.tensor("self"), self.known("dim")) else { return Ok(()) };
        let rank = view.rank() as i64;
        demand(-rank <= dim && dim < rank, || of_setting("dim", format!("dim is {dim}, but self has rank {rank}")))?;
        let at = usize::try_from(if dim < 0 { dim + rank } else { dim }).unwrap_or_default();
        let mut expected = view.shape();
        if let Some(size) = expected.get_mut(at) {
            let is_even = !matches!(size, Size::Is(size) if *size % 2 != 0);
            demand(is_even, || {
                of_shape("self", format!("dimension {at} of self has size {size}, expected an even number"))
            })?;
            *size = size.map(|size| size / 2);
        }
        self.resize("out", &expected)
    }
}
