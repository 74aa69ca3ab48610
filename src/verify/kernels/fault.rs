//! A demand that a call does not meet.

use super::sizes::Fit;
use crate::verify::rule::{self, Rule};
use alloc::string::String;

/// A demand that a call does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The name of the argument, if it is about one.
    pub(super) argument: Option<&'static str>,
    pub(super) rule: &'static Rule,
    /// `true` if the demand is not met only at the upper bounds of sizes.
    pub(super) at_bound: bool,
    /// `true` if the process ends.
    pub(super) dies: bool,
    pub(super) text: String,
}

/// The result of a check.
pub(super) type Checked = Result<(), Fault>;

fn fault(rule: &'static Rule, argument: &'static str, text: String) -> Fault {
    Fault { argument: Some(argument), rule, at_bound: false, dies: false, text }
}

pub(super) fn of_type(argument: &'static str, text: String) -> Fault {
    fault(rule::KERNEL_TYPE, argument, text)
}

pub(super) fn of_setting(argument: &'static str, text: String) -> Fault {
    fault(rule::KERNEL_SETTING, argument, text)
}

pub(super) fn of_shape(argument: &'static str, text: String) -> Fault {
    fault(rule::KERNEL_SHAPE, argument, text)
}

pub(super) fn of_rank(argument: &'static str, text: String) -> Fault {
    fault(rule::KERNEL_RANK, argument, text)
}

/// Makes a fault of an answer other than yes.
pub(super) fn demand(fit: impl Into<Fit>, make: impl FnOnce() -> Fault) -> Checked {
    match fit.into() {
        Fit::Yes => Ok(()),
        Fit::AtBound => Err(Fault { at_bound: true, ..make() }),
        Fit::No => Err(make()),
    }
}
