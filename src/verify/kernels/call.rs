//! Checks a single call.

use super::Violation;
use super::constants::Constants;
use super::fault::{Fault, Reaction};
use super::ints::Ints;
use super::operator::Called;
use super::tensors::{BROADCAST, CHANNELS_LAST, CONTIGUOUS, INNER, OTHER, SIZES, Shapes, Tensors};
use crate::error::counted;
use crate::operators::{Kernel, Layouts, Names, Often, Only, OrderCheck, Orders, OtherNumbers};
use crate::schema::program::{ExecutionPlan, KernelTypes, Operator};
use crate::verify::instructions::prim;
use crate::verify::report::{Few, POSSIBLE};
use crate::verify::rule::{self, Rule};
use crate::verify::values::value;
use crate::verify::{Outcome, Release, Severity};
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// A call of a kernel in the tables.
pub(super) struct Call<'t, 'a> {
    pub(super) operator: &'t Operator<'a>,
    pub(super) called: &'t Called,
    pub(super) plan: &'t ExecutionPlan<'a>,
    pub(super) args: &'t [i32],
    pub(super) tensors: &'t [Tensors<'t>],
    pub(super) ints: &'t Ints,
    pub(super) constants: &'t Constants<'t, 'a>,
    /// The release of the kernels.
    pub(super) release: Release,
    /// `true` if dynamic sizes are taken to be their upper bounds, `false` if any smaller ones are possible.
    pub(super) at_bound: bool,
}

/// The most items of a list that are looked at.
pub(super) const MAX_ITEMS: usize = 64;

/// The newest release whose kernels were tested.
const TESTED: &str = "ExecuTorch 1.5.1";

/// The advice on dim orders that a kernel does not support. Each suggestion was tried.
const HELP: &str = "export the model and its inputs contiguous, or delegate the operator; `.contiguous()` before the operator helps if those after it take contiguous tensors too";

/// The kernels of an operator that have a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// All kernels in the release.
    Every,
    Portable,
    Optimized,
}

impl Which {
    /// Combines the answers of the operator's kernel, and of the portable kernel that it replaces.
    fn of<T>(called: &Called, found: impl Fn(&Kernel) -> Option<T>) -> Option<(Self, T)> {
        let first = found(called.kernel);
        let Some(portable) = called.portable else { return first.map(|first| (Self::Every, first)) };
        match (first, found(portable)) {
            (None, None) => None,
            (Some(first), None) => Some((Self::Optimized, first)),
            (None, Some(second)) => Some((Self::Portable, second)),
            (Some(first), Some(_)) => Some((Self::Every, first)),
        }
    }

    /// Returns the effect of a violation that all these kernels do not accept.
    fn effect(self, rule: &Rule) -> (Severity, Outcome) {
        if self == Self::Every { rule.effect() } else { POSSIBLE }
    }
}

/// Formats the kernels as the end of a clause.
impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Every => "",
            Self::Portable => " with portable kernels",
            Self::Optimized => " with optimized kernels",
        })
    }
}

impl Call<'_, '_> {
    /// Returns the violations. `has_orders` is `true` if any tensor of the method is not contiguous, `is_dynamic` if any is dynamic.
    pub(super) fn judge(&self, has_orders: bool, is_dynamic: bool) -> Vec<Violation> {
        let mut found = Vec::new();
        // With a wrong count, arguments cannot be matched.
        if self.count(&mut found) {
            self.kinds(&mut found);
            if has_orders && self.of_arguments().any(|tensors| tensors.has_orders()) {
                self.dim_orders(&mut found);
            }
            // A value of another kind has neither sizes nor a type.
            if found.iter().all(|violation| violation.rule != rule::KERNEL_ARGUMENT_KIND) {
                let others = found.len();
                self.demands(&mut found);
                if is_dynamic && found.len() == others {
                    Call { at_bound: true, ..*self }.demands(&mut found);
                }
            }
        }
        found
    }

    /// Adds the demands on types, and those on sizes and settings, that the call does not meet: of each kind at most one, since others
    /// may be consequences.
    fn demands(&self, found: &mut Vec<Violation>) {
        let of_kernel = |kernel: &'static Kernel| {
            let (mut of_type, mut other) = (None, None);
            for check in kernel.checks {
                let Err(fault) = self.check(check) else { continue };
                let place: &mut Option<Fault> = if fault.rule == rule::KERNEL_TYPE { &mut of_type } else { &mut other };
                place.get_or_insert(fault);
            }
            [of_type, other]
        };
        let first = of_kernel(self.called.kernel);
        let portable = self.called.portable.map(of_kernel);
        let Some(portable) = portable else {
            first.into_iter().flatten().for_each(|fault| found.push(self.violation(fault, Which::Every)));
            return;
        };
        let is_refused = |faults: &[Option<Fault>; 2]| faults.iter().any(Option::is_some);
        let both = is_refused(&first) && is_refused(&portable);
        for (fault, other) in first.into_iter().zip(portable) {
            match (fault, other) {
                (Some(fault), Some(_)) => found.push(self.violation(fault, Which::Every)),
                (Some(fault), None) => {
                    found.push(self.violation(fault, if both { Which::Every } else { Which::Optimized }))
                }
                (None, Some(_)) if both => {}
                (None, Some(fault)) => found.push(self.violation(fault, Which::Portable)),
                (None, None) => {}
            }
        }
    }

    fn violation(&self, fault: Fault, which: Which) -> Violation {
        let reaction = fault.reaction;
        let (severity, outcome) = match which.effect(fault.rule) {
            _ if self.at_bound => POSSIBLE,
            (severity, Outcome::RefusesCall | Outcome::Dies) => (severity, reaction.outcome()),
            effect => effect,
        };
        let bound = if self.at_bound { " at the upper bounds of the sizes" } else { "" };
        let code = match reaction {
            Reaction::Refuses(code) => format!(" (error 0x{code:x})"),
            _ => String::new(),
        };
        Violation {
            rule: fault.rule,
            severity,
            outcome,
            argument: fault.argument.and_then(|name| self.position(name)),
            message: format!(
                "{}: {}: {} {reaction} when it runs{which}{bound}{code}",
                self.name(),
                fault.text,
                self.tested()
            ),
        }
    }

    /// Returns the name of the release whose kernels were tested.
    fn tested(&self) -> String {
        match self.release {
            Release::LATEST => String::from(TESTED),
            release => format!("ExecuTorch {release}"),
        }
    }

    /// Returns the full name. Names in the tables are short.
    fn name(&self) -> String {
        self.operator.full_name()
    }

    /// Returns the properties of each argument's tensors.
    fn of_arguments(&self) -> impl Iterator<Item = Tensors<'_>> {
        self.args.iter().take(self.called.arguments.len()).map(|value| self.of_value(*value))
    }

    /// Returns the properties of an argument's tensors.
    fn tensors(&self, argument: usize) -> Tensors<'_> {
        self.args.get(argument).map(|value| self.of_value(*value)).unwrap_or_default()
    }

    /// Returns the properties of a value's tensors; those of no tensor if the value does not exist, which breaks another rule.
    fn of_value(&self, value: i32) -> Tensors<'_> {
        usize::try_from(value).ok().and_then(|value| self.tensors.get(value)).copied().unwrap_or_default()
    }

    fn value(&self, argument: usize) -> Option<&KernelTypes<'_>> {
        value(self.plan.values(), *self.args.get(argument)?)
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "arguments are found by `position` in this list, or counted by `of_arguments`"
    )]
    fn argument_name(&self, argument: usize) -> &'static str {
        self.called.arguments[argument].name
    }

    /// Returns the names of arguments as a list in a sentence.
    fn names(&self, arguments: &[usize]) -> String {
        let mut text = String::new();
        for (at, argument) in arguments.iter().enumerate() {
            text += match at {
                0 => "",
                at if at + 1 == arguments.len() => " and ",
                _ => ", ",
            };
            text += self.argument_name(*argument);
        }
        text
    }

    /// Returns `true` if the call has as many arguments as the kernel takes; otherwise adds a violation.
    fn count(&self, found: &mut Vec<Violation>) -> bool {
        let repeats = self.called.repeats_result;
        let expected = self.called.argument_count();
        if self.args.len() == expected {
            return true;
        }
        // `prim-arguments` reports these.
        if prim(self.operator).is_some() {
            return false;
        }
        let every: Vec<usize> = (0..self.called.arguments.len()).collect();
        let (have, names) = (counted(self.args.len(), "argument"), self.names(&every));
        found.push(Violation {
            rule: rule::KERNEL_ARGUMENT_COUNT,
            severity: rule::KERNEL_ARGUMENT_COUNT.severity,
            outcome: rule::KERNEL_ARGUMENT_COUNT.outcome,
            argument: None,
            message: format!(
                "{have} for {}, expected {expected}: {names}{}; {} refuses the call when it runs (error 0x23)",
                self.name(),
                if repeats { ", then the result again" } else { "" },
                self.tested()
            ),
        });
        false
    }

    fn kinds(&self, found: &mut Vec<Violation>) {
        let values = self.plan.values();
        for (at, (argument, index)) in self.called.arguments.iter().zip(self.args).enumerate() {
            let Some(value) = value(values, *index) else { continue };
            if argument.takes(value) {
                continue;
            }
            let (kind, name) = (value.name().unwrap_or("unknown"), argument.name);
            found.push(Violation {
                rule: rule::KERNEL_ARGUMENT_KIND,
                severity: rule::KERNEL_ARGUMENT_KIND.severity,
                outcome: rule::KERNEL_ARGUMENT_KIND.outcome,
                argument: Some(at),
                message: format!(
                    "{name} of {} is of kind {kind}, expected {}: {} ends the process when it runs",
                    self.name(),
                    argument.kinds(),
                    self.tested()
                ),
            });
        }
    }

    fn dim_orders(&self, found: &mut Vec<Violation>) {
        let layouts = self.of_arguments().fold(0, |layouts, tensors| layouts | tensors.layouts);
        let refused = Which::of(self.called, |kernel| self.refused_order(kernel));
        if let Some((which, (argument, message))) = &refused {
            let (severity, outcome) = which.effect(rule::KERNEL_DIM_ORDER);
            found.push(Violation {
                rule: rule::KERNEL_DIM_ORDER,
                severity,
                outcome,
                argument: Some(*argument),
                message: format!(
                    "{message}: {} refuses the call when it runs{which} (error 0x12); {HELP}",
                    self.tested()
                ),
            });
        }
        let other_numbers = Which::of(self.called, |kernel| match self.refused_order(kernel) {
            Some(_) => None,
            None => {
                let mut numbers = kernel.other_numbers.iter();
                numbers
                    .find(|numbers| is_about(numbers, layouts) && self.is_so(numbers.only))
                    .map(|numbers| numbers.often)
            }
        });
        let first = |wanted: u8| self.of_arguments().position(|tensors| tensors.layouts & wanted != 0);
        let argument = first(CHANNELS_LAST).or_else(|| first(OTHER));
        if let (Some((which, often)), Some(argument)) = (other_numbers, argument) {
            let what = match often {
                Often::Always => "computes other numbers than with contiguous tensors, without an error",
                Often::Sometimes => "may compute other numbers than with contiguous tensors, without an error",
                Often::Crash => "ends the process, or computes other numbers than with contiguous tensors",
            };
            let has = self.has(argument);
            found.push(Violation {
                rule: rule::KERNEL_WRONG_VALUES,
                severity: rule::KERNEL_WRONG_VALUES.severity,
                outcome: match (which, often) {
                    // The numbers of other releases were not compared.
                    _ if self.release != Release::LATEST => Outcome::Unknown,
                    (Which::Every, Often::Always) => Outcome::Miscomputes,
                    (Which::Every, Often::Crash) => Outcome::Dies,
                    (_, Often::Sometimes) | (Which::Portable | Which::Optimized, _) => Outcome::Unknown,
                },
                argument: Some(argument),
                message: format!("{has}, expected contiguous tensors: when it runs{which}, {} {what}; {HELP}", TESTED),
            });
        }
    }

    /// Returns `true` if the condition holds under which a kernel computes other numbers.
    fn is_so(&self, only: Only) -> bool {
        let mut arguments = self.called.arguments.iter().enumerate();
        match only {
            Only::Always => true,
            Only::Sizes | Only::Inner | Only::Broadcast => {
                let wanted = match only {
                    Only::Sizes => SIZES,
                    Only::Inner => INNER,
                    _ => BROADCAST,
                };
                let mut shapes = Shapes::default();
                (0..self.called.arguments.len()).for_each(|at| shapes.join(self.tensors(at).shapes));
                shapes.differences & wanted != 0
            }
            Only::Dim => {
                let found = arguments.find(|(_, argument)| matches!(argument.name, "dim" | "dims"));
                !found.is_some_and(|(at, _)| self.is_first_dimension(at))
            }
            Only::Result => {
                arguments.any(|(at, argument)| argument.is_output() && self.tensors(at).layouts & !CONTIGUOUS != 0)
            }
        }
    }

    /// Returns `true` if an argument lists no dimension except the first.
    fn is_first_dimension(&self, argument: usize) -> bool {
        let rank = i64::from(self.tensors(0).ranks.trailing_zeros());
        let is_first = |value: Option<&KernelTypes<'_>>| match value {
            Some(KernelTypes::Int(dim)) => dim.int_val == 0 || dim.int_val == -rank,
            _ => false,
        };
        match self.value(argument) {
            // A longer list contains a dimension twice.
            Some(KernelTypes::IntList(list)) => {
                let items = list.items();
                items.len() <= 5 && items.iter().all(|item| is_first(value(self.plan.values(), *item)))
            }
            value => is_first(value),
        }
    }

    /// Returns the first argument with a dim order that the kernel refuses, with a text about the found and the expected order.
    fn refused_order(&self, kernel: &Kernel) -> Option<(usize, String)> {
        let mut checks = kernel.orders.iter().filter(|check| self.release.is_in(check.releases));
        checks.find_map(|check| self.broken(check))
    }

    fn broken(&self, check: &OrderCheck) -> Option<(usize, String)> {
        if let Some(KernelTypes::Bool(unless)) = check.unless.and_then(|name| self.named(name)) {
            if unless.bool_val {
                return None;
            }
        }
        let arguments = &self.positions(check.arguments);
        let first = |refused: u8| arguments.iter().copied().find(|at| self.tensors(*at).orders & refused != 0);
        let (argument, expected) = match check.orders {
            Orders::Contiguous => (first(!CONTIGUOUS)?, "contiguous"),
            Orders::Either => (first(OTHER)?, "contiguous or channels-last"),
            Orders::Same => {
                let all = arguments.iter().fold(0, |set, at| set | self.tensors(*at).orders);
                match all {
                    0 | CONTIGUOUS | CHANNELS_LAST => return None,
                    _ if all & OTHER != 0 => (first(OTHER)?, "all contiguous or all channels-last"),
                    _ => {
                        let (argument, other) = (first(CHANNELS_LAST)?, first(CONTIGUOUS)?);
                        let names = self.names(arguments);
                        let is =
                            if self.tensors(other).ranks & 0b11_0000 == 0 { "not channels-last" } else { "contiguous" };
                        let text = format!(
                            "{}, and {} is {is}, expected {names} to be all contiguous or all channels-last",
                            self.has(argument),
                            self.argument_name(other)
                        );
                        return Some((argument, text));
                    }
                }
            }
        };
        Some((argument, format!("{}, expected {} to be {expected}", self.has(argument), self.names(arguments))))
    }

    /// Returns a text about the dim order of an argument.
    fn has(&self, argument: usize) -> String {
        let (name, operator) = (self.argument_name(argument), self.name());
        match self.value(argument) {
            Some(KernelTypes::Tensor(tensor)) => {
                let layout = if self.tensors(argument).orders == CHANNELS_LAST {
                    "channels-last"
                } else {
                    "stored in another order"
                };
                format!("{name} of {operator} is {layout}, with dim order {}", Few(tensor.dim_order()))
            }
            _ => format!("{name} of {operator} has a tensor that is not contiguous"),
        }
    }

    /// Returns the indices of arguments.
    fn positions(&self, names: Names) -> Vec<usize> {
        names.iter().filter_map(|name| self.position(name)).collect()
    }
}

/// Returns `true` if the entry applies to calls whose tensors have these dim orders in total.
fn is_about(numbers: &OtherNumbers, layouts: u8) -> bool {
    match numbers.layouts {
        Layouts::ChannelsLast => layouts == CHANNELS_LAST,
        Layouts::Other => layouts == OTHER,
        Layouts::Mixed => layouts.count_ones() > 1,
    }
}
