//! Operators in the table, and the kernels of a runtime that their calls are checked with.

use super::Kernels;
use crate::operators::{self, Argument, Kernel};
use crate::schema::program::Operator;

/// An operator that a method calls.
pub(super) struct Called {
    pub(super) arguments: &'static [Argument],
    /// The kernel. If an optimized kernel can replace the portable one, `portable` may contain the latter.
    pub(super) kernel: &'static Kernel,
    pub(super) portable: Option<&'static Kernel>,
}

impl Called {
    /// Looks up an operator; `None` if it is not in the table, or its calls are not checked.
    pub(super) fn find(operator: &Operator<'_>, kernels: Kernels) -> Option<Self> {
        let row = operators::find(operator)?;
        let (arguments, kernel) = (row.arguments, row.kernel?);
        Some(match (kernels, row.portable) {
            (Kernels::Any, portable) => Self { arguments, kernel, portable },
            #[cfg(feature = "inspect")]
            (Kernels::Portable, Some(portable)) => Self { arguments, kernel: portable, portable: None },
            #[cfg(feature = "inspect")]
            (Kernels::Portable, None) | (Kernels::Optimized, _) => Self { arguments, kernel, portable: None },
        })
    }
}
