//! Numbers of the runtime's own operators: `prim_ops/register_prim_ops.cpp`.

use super::super::call::Call;
use super::super::fault::{Checked, Reaction, demand, of_kind, of_setting};
use super::super::sizes::Size;
use crate::operators::Kind;
use alloc::format;

impl Call<'_, '_> {
    /// Checks that integers are not divided by 0.
    pub(super) fn divisor(&self) -> Checked {
        let divides_integers = self.int("a").is_some() && self.int("b") == Some(Size::Is(0));
        demand(!divides_integers, || of_setting("b", "b is 0, by which integers are divided".into()))
    }

    /// Checks the kind of the chosen value.
    pub(super) fn choice(&self) -> Checked {
        let Some(chosen) = self.boolean("b").map(|first| if first { "t" } else { "f" }) else { return Ok(()) };
        let Some(value) = self.constant(chosen) else { return Ok(()) };
        demand(Kind::Number.takes(value), || {
            let kind = value.name().unwrap_or("unknown");
            of_kind(chosen, format!("{chosen} is of kind {kind}, expected a number")).with(Reaction::Refuses(0x13))
        })
    }
}
