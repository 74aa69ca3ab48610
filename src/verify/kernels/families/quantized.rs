//! Scales and zero points: `quantized/cpu/op_quantize.cpp`, `op_dequantize.cpp`, `op_choose_qparams.cpp`.

use super::super::arguments::View;
use super::super::call::Call;
use super::super::fault::{Checked, demand, of_rank, of_setting, of_shape};
use super::super::sizes::{Size, product};
use crate::schema::ScalarType;
use alloc::format;

impl Call<'_, '_> {
    /// Checks that scales and zero points have an element for each of `expected`.
    fn one_for_each(&self, expected: Size) -> Checked {
        for name in ["scales", "zero_points"] {
            if let Some(view) = self.tensor(name) {
                let found = view.elements();
                demand(found.can_equal(expected), || {
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

    /// Returns `true` if `dequantize` uses its code for contiguous bytes with a sign.
    pub(in super::super) fn dequantizes_bytes(&self) -> bool {
        let wanted = self.int("out_dtype").or_else(|| self.int("output_dtype"));
        let is_f32 = wanted.is_none_or(|number| number.is(i64::from(ScalarType::FLOAT.0)));
        let is_bytes = |view: View<'_>| view.scalar_type == ScalarType::CHAR && view.tensor.shape().is_natural();
        is_f32 && self.tensor("input").is_some_and(is_bytes)
    }

    /// Checks that zero points are in the range of quantized numbers.
    pub(super) fn zero_points(&self) -> Checked {
        let (Some(input), Some(low), Some(high)) =
            (self.tensor("input"), self.known("quant_min"), self.known("quant_max"))
        else {
            return Ok(());
        };
        let (first, last) = match self.tensor("zero_points") {
            None if self.is_null("zero_points") => (0, 0),
            points => match points.and_then(|points| self.constants.range(points)) {
                Some(range) => range,
                None => return Ok(()),
            },
        };
        demand(input.is_open || input.is_empty() || low <= first && last <= high, || {
            let found = if low <= first { last } else { first };
            of_setting(
                "zero_points",
                format!("zero_points contains {found}, expected quant_min, {low}, to quant_max, {high}"),
            )
        })
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
