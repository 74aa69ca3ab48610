//! The operators of ExecuTorch's kernel libraries, as one table of typed rows.
//!
//! A row says what an operator's arguments are and which of them it writes (taken from the schemas of torch 2.13 and from the
//! kernels' own sources), which releases of which libraries contain it, and what its kernels demand of a call. Everything that
//! depends on an operator's name is found here.

mod argument;
mod kernel;
mod library;
#[cfg(test)]
mod names;
mod releases;
mod table;
mod types;

pub(crate) use argument::{Argument, Effect, Kind, kind_names};
pub(crate) use kernel::{
    Alpha, Cast, Check, Common, Complex, Condition, Family, Kernel, Layouts, Names, Often, Only, OrderCheck, Orders,
    OtherNumbers, Promotion, Size,
};
pub use library::{KernelPlace, Library};
pub(crate) use releases::{Libraries, Span, Spans, versions};
pub(crate) use types::Types;

use crate::schema::program::Operator;
use core::cmp::Ordering;

/// An operator in the table.
pub(crate) struct KnownOperator {
    /// The name and the overload, joined by a dot unless there is no overload.
    pub(crate) name: &'static str,
    /// The arguments in the order of a call; none if they are not known.
    pub(crate) arguments: &'static [Argument],
    /// `true` if a call has its result once more, after the arguments.
    pub(crate) repeats_result: bool,
    pub(crate) libraries: Libraries,
    /// The backend that computes it, if it is in no library.
    pub(crate) backend: Option<&'static str>,
    /// The kernel in the Python wheel: the optimized one if there is one. `None` if its calls are not checked.
    pub(crate) kernel: Option<&'static Kernel>,
    /// The portable kernel, if the wheel has an optimized one.
    pub(crate) portable: Option<&'static Kernel>,
}

impl KnownOperator {
    const fn new(name: &'static str, arguments: &'static [Argument], libraries: Libraries) -> Self {
        Self { name, arguments, repeats_result: true, libraries, backend: None, kernel: None, portable: None }
    }

    const fn delegated(name: &'static str, arguments: &'static [Argument], backend: &'static str) -> Self {
        Self { backend: Some(backend), ..Self::new(name, arguments, Libraries::NONE) }.exact()
    }

    const fn kernel(self, kernel: &'static Kernel) -> Self {
        Self { kernel: Some(kernel), ..self }
    }

    /// Sets that a call has only these arguments.
    const fn exact(self) -> Self {
        Self { repeats_result: false, ..self }
    }

    /// Returns `true` if the demands of its kernels differ between releases.
    #[cfg(feature = "inspect")]
    pub(crate) fn depends_on_release(&self) -> bool {
        [self.kernel, self.portable].into_iter().flatten().any(Kernel::depends_on_release)
    }

    const fn portable(self, kernel: &'static Kernel) -> Self {
        Self { portable: Some(kernel), ..self }
    }
}

/// Returns the row of an operator.
pub(crate) fn find(operator: &Operator<'_>) -> Option<&'static KnownOperator> {
    let (name, overload) = (operator.name(), operator.overload());
    table::TABLES.iter().find_map(|rows| {
        let index = rows.binary_search_by(|row| compare(row.name, name, overload)).ok()?;
        rows.get(index)
    })
}

/// The namespaces of the operators that ExecuTorch's libraries contain. Operators in other namespaces may have kernels of the
/// application's own, and so may those of Cadence, whose exporter has many more operators than the public library.
const NAMESPACES: [&str; 8] =
    ["aten", "cortex_m", "dim_order_ops", "et_copy", "executorch_prim", "llama", "preprocess", "quantized_decomposed"];

/// Returns `true` if an operator is in one of ExecuTorch's own namespaces.
pub(crate) fn is_official(operator: &Operator<'_>) -> bool {
    operator.name().split_once("::").is_some_and(|(namespace, _)| NAMESPACES.contains(&namespace))
}

/// Returns `true` if an operator sums products, by its name without namespace and overload. The multiply-accumulates of those that
/// [`Analysis::macs`](crate::Analysis::macs) does not count are not known.
pub(crate) fn sums_products(name: &str) -> bool {
    const PARTS: [&str; 14] = [
        "_mm",
        "bmm",
        "addmv",
        "matmul",
        "conv",
        "linear",
        "attention",
        "sdpa",
        "dot",
        "cdist",
        "fft",
        "lstm",
        "gru",
        "rnn",
    ];
    name.contains("backward")
        || PARTS.iter().any(|part| name.contains(part))
            && !name.starts_with("upsample")
            && !name.starts_with("_upsample")
}

/// Returns all rows.
pub(crate) fn all() -> impl Iterator<Item = &'static KnownOperator> {
    table::TABLES.iter().copied().flatten()
}

/// Compares a full name with a name and an overload without joining them: in a damaged file, they may be long and looked up often.
pub(crate) fn compare(full: &str, name: &str, overload: &str) -> Ordering {
    let dot = if overload.is_empty() { "" } else { "." };
    let (start, rest) = full.as_bytes().split_at(name.len().min(full.len()));
    start.cmp(name.as_bytes()).then_with(|| rest.iter().copied().cmp(dot.bytes().chain(overload.bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_namespaces_are_those_of_the_table() {
        let rows = all().filter(|row| row.library().is_some_and(|library| library != Library::Cadence));
        let mut namespaces: Vec<&str> = rows.filter_map(|row| Some(row.name.split_once("::")?.0)).collect();
        namespaces.sort_unstable();
        namespaces.dedup();
        assert_eq!(namespaces, NAMESPACES);
    }

    fn found(name: &'static str, overload: &'static str) -> Option<&'static str> {
        find(&Operator::new(name, overload)).map(|row| row.name)
    }

    #[test]
    fn each_row_is_found_by_its_name_and_by_no_similar_one() {
        let mut names: Vec<&str> = all().map(|row| row.name).collect();
        assert_eq!(names.len(), 418);
        for name in &names {
            assert_eq!(found(name, ""), Some(*name));
            let (start, overload) = name.split_once('.').unwrap_or((name, ""));
            assert_eq!(found(start, overload), Some(*name));
            assert_eq!(found(name.get(1..).unwrap_or_default(), ""), None);
            assert_eq!(found(name, "x"), None);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 418);
    }

    #[test]
    fn the_rows_of_each_file_are_sorted() {
        for rows in table::TABLES {
            assert!(rows.is_sorted_by(|left, right| left.name < right.name), "{:?}", rows.first().map(|row| row.name));
        }
    }
}
