//! Scales and zero points: `quantized/cpu/op_quantize.cpp`, `op_dequantize.cpp`, `op_choose_qparams.cpp`.

use super::super::call::Call;
use super::super::fault::{Checked, demand, of_rank, of_shape};
use super::super::sizes::{Size, product};
use alloc::format;

impl Call<'_, '_> {
    /// Checks that scales and zero points have an element for each of `expected`.
    fn one_for_each(&self, expected: Size) -> Checked {
        for name in ["scales", "zero_points"] {
            if let Some(view) = self.tensor(name) {
                let found = view.elements();
                demand(found.equals(expected), || {
                    of_shape(name, format!("{name} has {found} elements, expected {expected}"))
                })?;
            }
        }
        Ok(())
    }

    pub(super) fn per_channel(&self, axis: &'static str) -> Checked {
        let Some(input) = self.tensor("input") else { return Ok(()) };
        match self.dimension(axis, input.rank()).and_then(|axis| input.size(axis as i64)) {
            Some(channels) => self.one_for_each(channels),
            None => Ok(()),
        }
    }

    pub(super) fn per_token(&self) -> Checked {
        let Some(input) = self.tensor("input") else { return Ok(()) };
        match input.shape().split_last() {
            Some((_, tokens)) => self.one_for_each(product(tokens)),
            None => Err(of_rank("input", "input has rank 0, expected at least 1".into())),
        }
    }

    pub(super) fn choose_qparams(&self) -> Checked {
        let Some(input) = self.tensor("input") else { return Ok(()) };
        let mut expected = input.shape();
        if let Some(last) = expected.last_mut() {
            *last = Size::Is(1);
        }
        self.resize("scale_out", &expected)?;
        self.resize("zero_point_out", &expected)
    }
}
