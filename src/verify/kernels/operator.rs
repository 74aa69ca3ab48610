//! Operators in the table, and the kernels of a runtime that their calls are checked with.

use super::Kernels;
use crate::operators::{self, Argument, Kernel};
use crate::schema::program::Operator;

/// An operator that a method calls.
pub(super) struct Called {
    pub(super) arguments: &'static [Argument],
    /// `true` if a call has its result once more, after the arguments.
    pub(super) repeats_result: bool,
    /// The kernel. If an optimized kernel can replace the portable one, `portable` may contain the latter.
    pub(super) kernel: &'static Kernel,
    pub(super) portable: Option<&'static Kernel>,
}

impl Called {
    /// Returns the number of arguments of a call.
    pub(super) fn argument_count(&self) -> usize {
        self.arguments.len() + usize::from(self.repeats_result)
    }

    /// Looks up an operator; `None` if it is not in the table, or its calls are not checked.
    pub(super) fn find(operator: &Operator<'_>, kernels: Kernels) -> Option<Self> {
        let row = operators::find(operator)?;
        let (arguments, repeats_result, kernel) = (row.arguments, row.repeats_result, row.kernel?);
        Some(match (kernels, row.portable) {
            (Kernels::Any, portable) => Self { arguments, repeats_result, kernel, portable },
            #[cfg(feature = "inspect")]
            (Kernels::Portable, Some(portable)) => Self { arguments, repeats_result, kernel: portable, portable: None },
            #[cfg(feature = "inspect")]
            (Kernels::Portable, None) | (Kernels::Optimized, _) => {
                Self { arguments, repeats_result, kernel, portable: None }
            }
        })
    }
}
