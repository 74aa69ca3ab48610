//! Numbers of the runtime's own operators, `prim_ops/register_prim_ops.cpp`, and the factor of sums.

use super::super::arguments::Number;
use super::super::call::Call;
use super::super::fault::{Checked, Fault, Reaction, demand, of_kind, of_setting};
use super::super::sizes::Size;
use crate::operators::Kind;
use crate::verify::rule;
use alloc::format;

impl Call<'_, '_> {
    /// Checks that integers are not divided by 0.
    pub(super) fn divisor(&self) -> Checked {
        let divides_integers = self.int("a").is_some() && self.int("b") == Some(Size::Is(0));
        demand(!divides_integers, || of_setting("b", "b is 0, by which integers are divided".into()))
    }

    /// Checks that `alpha` is 1 if the first tensor alone has one element: the kernel exchanges the tensors, but `alpha` stays a factor of
    /// the second.
    pub(super) fn first_of_one(&self) -> Checked {
        let (Some(first), Some(other)) = (self.tensor("self"), self.tensor("other")) else { return Ok(()) };
        let (one, number) = (Size::Is(1), self.number("alpha"));
        let has_factor = !matches!(number, None | Some(Number::Int(1) | Number::Bool(true) | Number::Double(1.0)));
        demand(!(has_factor && first.elements() == one && other.elements() != one), || {
            let text = "alpha is not 1, expected 1 for a tensor of one element plus one of several: the kernel multiplies the first \
                        instead of the second; multiply before the addition";
            Fault {
                argument: Some("self"),
                rule: rule::KERNEL_WRONG_VALUES,
                reaction: Reaction::Miscomputes,
                text: text.into(),
            }
        })
    }

    /// Checks the kind of the chosen value.
    pub(super) fn choice(&self) -> Checked {
        let Some(chosen) = self.boolean("b").map(|first| if first { "t" } else { "f" }) else { return Ok(()) };
        let Some(value) = self.with_known_kind(chosen) else { return Ok(()) };
        demand(Kind::Number.takes(value), || {
            let kind = value.name().unwrap_or("unknown");
            of_kind(chosen, format!("{chosen} is of kind {kind}, expected a number")).with(Reaction::Refuses(0x13))
        })
    }
}
