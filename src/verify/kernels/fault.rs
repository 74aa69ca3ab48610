//! A demand that a call does not meet.

use crate::verify::Outcome;
use crate::verify::rule::{self, Rule};
use alloc::string::String;
use core::fmt;

/// A demand that a call does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The name of the argument, if it is about one.
    pub(super) argument: Option<&'static str>,
    pub(super) rule: &'static Rule,
    pub(super) reaction: Reaction,
    pub(super) text: String,
}

/// The reaction of a kernel to a call that does not meet a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    /// An error with this number.
    Refuses(u8),
    /// The process ends.
    Dies,
    /// Memory outside of the tensors is read or written, or other numbers are computed.
    Strays,
    /// Other numbers are computed.
    Miscomputes,
}

impl Reaction {
    /// Returns the outcome for the model.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Refuses(_) => Outcome::RefusesCall,
            Self::Dies | Self::Strays => Outcome::Dies,
            Self::Miscomputes => Outcome::Miscomputes,
        }
    }
}

impl Fault {
    /// Returns the fault with another reaction than a refusal for an invalid argument.
    pub(super) fn with(self, reaction: Reaction) -> Self {
        if self.reaction == INVALID_ARGUMENT { Self { reaction, ..self } } else { self }
    }

    pub(super) fn dies(self) -> Self {
        self.with(Reaction::Dies)
    }
}

/// Formats the reaction as a predicate.
impl fmt::Display for Reaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refuses(_) => "refuses the call",
            Self::Dies => "ends the process",
            Self::Strays => "accesses memory outside of the tensors, or computes other numbers,",
            Self::Miscomputes => "computes other numbers, without an error,",
        })
    }
}

/// The error of most checks.
const INVALID_ARGUMENT: Reaction = Reaction::Refuses(0x12);

/// The result of a check.
pub(super) type Checked = Result<(), Fault>;

fn fault(rule: &'static Rule, argument: &'static str, text: String) -> Fault {
    Fault { argument: Some(argument), rule, reaction: INVALID_ARGUMENT, text }
}

pub(super) fn of_type(argument: &'static str, text: String) -> Fault {
    fault(rule::KERNEL_TYPE, argument, text)
}

pub(super) fn of_kind(argument: &'static str, text: String) -> Fault {
    fault(rule::KERNEL_ARGUMENT_KIND, argument, text)
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

/// Makes a fault if a demand is not met.
pub(super) fn demand(is_met: bool, make: impl FnOnce() -> Fault) -> Checked {
    if is_met { Ok(()) } else { Err(make()) }
}
