//! Checks a single call.

use super::Violation;
use super::operator::Called;
use super::table::{Condition, Kernel, Often, Only, Orders};
use super::tensors::{CHANNELS_LAST, CONTIGUOUS, OTHER, Shapes, Tensors, types_in};
use crate::error::counted;
use crate::schema::program::{ExecutionPlan, KernelTypes, Operator};
use crate::verify::Severity;
use crate::verify::report::Few;
use crate::verify::rule::{self, Rule};
use crate::verify::values::value;
use alloc::{format, string::String, vec::Vec};
use core::fmt;

/// A call of a kernel in the tables.
pub(super) struct Call<'t, 'a> {
    pub(super) operator: &'t Operator<'a>,
    pub(super) called: &'t Called,
    pub(super) plan: &'t ExecutionPlan<'a>,
    pub(super) args: &'t [i32],
    pub(super) tensors: &'t [Tensors<'t>],
}

/// The release whose kernels the tables describe.
const TESTED: &str = "ExecuTorch 1.5.1";

/// The advice on dim orders that a kernel does not support. Each suggestion was tried.
const HELP: &str = "make the tensors contiguous, as inputs of the method or with `.contiguous()` before the operator (in an export with dim order ops, the default), or delegate the operator";

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
        let first = found(&called.kernel);
        let Some(portable) = &called.portable else { return first.map(|first| (Self::Every, first)) };
        match (first, found(portable)) {
            (None, None) => None,
            (Some(first), None) => Some((Self::Optimized, first)),
            (None, Some(second)) => Some((Self::Portable, second)),
            (Some(first), Some(_)) => Some((Self::Every, first)),
        }
    }

    fn severity(self, rule: &Rule) -> Severity {
        if self == Self::Every { rule.severity } else { Severity::Warning }
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
    /// Returns the violations. `has_orders` is `true` if any tensor of the method is not contiguous.
    pub(super) fn judge(&self, has_orders: bool) -> Vec<Violation> {
        let mut found = Vec::new();
        // With a wrong count, arguments cannot be matched.
        if self.count(&mut found) {
            self.kinds(&mut found);
            if has_orders && self.of_arguments().any(|tensors| tensors.has_orders()) {
                self.dim_orders(&mut found);
            }
            for (at, tensors) in self.of_arguments().enumerate() {
                if tensors.ranks != 0 {
                    self.ranks(at, tensors.ranks, &mut found);
                }
                if tensors.types != 0 {
                    self.types(at, tensors.types, &mut found);
                }
            }
        }
        found
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
        let expected = self.called.arguments.len() + 1;
        if self.args.len() == expected {
            return true;
        }
        let every: Vec<usize> = (0..self.called.arguments.len()).collect();
        let (have, names) = (counted(self.args.len(), "argument"), self.names(&every));
        found.push(Violation {
            rule: rule::KERNEL_ARGUMENT_COUNT,
            severity: rule::KERNEL_ARGUMENT_COUNT.severity,
            is_certain: true,
            argument: None,
            message: format!(
                "{have} for {}, expected {expected}: {names}, then the result again; {} refuses the call when it runs (error 0x23)",
                self.name(),
                TESTED
            ),
        });
        false
    }

    fn kinds(&self, found: &mut Vec<Violation>) {
        let values = self.plan.values();
        for (at, (argument, index)) in self.called.arguments.iter().zip(self.args).enumerate() {
            let Some(value) = value(values, *index) else { continue };
            if argument.kinds.take(value) {
                continue;
            }
            let (kind, name) = (value.name().unwrap_or("unknown"), argument.name);
            found.push(Violation {
                rule: rule::KERNEL_ARGUMENT_KIND,
                severity: rule::KERNEL_ARGUMENT_KIND.severity,
                is_certain: true,
                argument: Some(at),
                message: format!(
                    "{name} of {} is of kind {kind}, expected {}: {} ends the process when it runs",
                    self.name(),
                    argument.kinds,
                    TESTED
                ),
            });
        }
    }

    fn dim_orders(&self, found: &mut Vec<Violation>) {
        let layouts = self.of_arguments().fold(0, |layouts, tensors| layouts | tensors.layouts);
        let refused = Which::of(self.called, |kernel| self.refused_order(kernel));
        if let Some((which, (argument, message))) = &refused {
            found.push(Violation {
                rule: rule::KERNEL_DIM_ORDER,
                severity: which.severity(rule::KERNEL_DIM_ORDER),
                is_certain: true,
                argument: Some(*argument),
                message: format!("{message}: {} refuses the call when it runs{which} (error 0x12); {HELP}", TESTED),
            });
        }
        let other_numbers = Which::of(self.called, |kernel| match self.refused_order(kernel) {
            Some(_) => None,
            None => {
                let mut numbers = kernel.other_numbers.iter();
                numbers
                    .find(|numbers| numbers.is_about(layouts) && self.is_so(numbers.only))
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
                is_certain: often != Often::Sometimes,
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
            Only::Differences(wanted) => {
                let mut shapes = Shapes::default();
                (0..self.called.arguments.len()).for_each(|at| shapes.join(self.tensors(at).shapes));
                shapes.differences & wanted != 0
            }
            Only::Dim => {
                let found = arguments.find(|(_, argument)| matches!(argument.name, "dim" | "dims"));
                !found.is_some_and(|(at, _)| self.is_first_dimension(at))
            }
            Only::Result => {
                arguments.any(|(at, argument)| argument.is_output && self.tensors(at).layouts & !CONTIGUOUS != 0)
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
        kernel.conditions.iter().find_map(|condition| self.broken(condition))
    }

    fn broken(&self, condition: &Condition) -> Option<(usize, String)> {
        if let Some(KernelTypes::Bool(unless)) = condition.unless.and_then(|at| self.value(at)) {
            if unless.bool_val {
                return None;
            }
        }
        let arguments = &condition.arguments;
        let first = |refused: u8| arguments.iter().copied().find(|at| self.tensors(*at).orders & refused != 0);
        let (argument, expected) = match condition.orders {
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

    #[expect(clippy::indexing_slicing, reason = "a kernel has an item for each argument of its operator")]
    fn ranks(&self, at: usize, ranks: u8, found: &mut Vec<Violation>) {
        let refused = Which::of(self.called, |kernel| {
            let refused = kernel.refused_ranks[at];
            (ranks & refused != 0).then_some(refused)
        });
        let Some((which, refused)) = refused else { return };
        let rank = (ranks & refused).trailing_zeros();
        let taken: Vec<u32> = (0..7).filter(|rank| refused >> rank & 1 == 0).collect();
        found.push(Violation {
            rule: rule::KERNEL_RANK,
            severity: which.severity(rule::KERNEL_RANK),
            is_certain: true,
            argument: Some(at),
            message: format!(
                "{} of {} has rank {rank}, expected one of {}: {} refuses the call when it runs{which} (error 0x12)",
                self.argument_name(at),
                self.name(),
                Few(&taken),
                TESTED
            ),
        });
    }

    #[expect(clippy::indexing_slicing, reason = "a kernel has an item for each argument of its operator")]
    fn types(&self, at: usize, types: u32, found: &mut Vec<Violation>) {
        let unseen = Which::of(self.called, |kernel| {
            let seen = kernel.types[at];
            (seen != 0 && types & !seen != 0).then_some(seen)
        });
        let Some((Which::Every, seen)) = unseen else { return };
        found.push(Violation {
            rule: rule::KERNEL_TYPE,
            severity: rule::KERNEL_TYPE.severity,
            is_certain: false,
            argument: Some(at),
            message: format!(
                "{} of {} is {}, expected one of {}: in {}, no call with another type was seen to run",
                self.argument_name(at),
                self.name(),
                types_in(types & !seen),
                types_in(seen),
                TESTED
            ),
        });
    }
}
