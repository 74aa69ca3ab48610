//! Limits on the differences between a file and its replacement.

use super::{Diff, DifferenceKind, DifferenceSubject};
use crate::analysis::Analysis;
use crate::file::pte::Pte;
use crate::model::Model;
use crate::schema::program::ExecutionPlan;
use crate::setters::setters;
use alloc::borrow::ToOwned;
use alloc::{format, string::String, string::ToString, vec::Vec};
use core::fmt;

/// Limits on the differences between a file and its replacement. `None` sets no limit.
///
/// ```
/// use executorch_format::Model;
/// use executorch_format::inspect::{DiffLimits, DiffOptions, GrowthLimit, Side, diff};
///
/// # fn main() -> executorch_format::Result<()> {
/// let (one, other) = (std::fs::read("tests/data/1.5.1/add/add.pte")?, std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?);
/// let (one, other) = (Model::parse(&one)?, Model::parse(&other)?);
/// let difference = diff(&Side::new(&one, &[]), &Side::new(&other, &[]), &DiffOptions::default());
/// let limits = DiffLimits::default().with_size(Some(GrowthLimit::Percent(10.0))).with_operators(Some(0));
/// for excess in limits.exceeded(&one, &other, &difference) {
///     println!("{excess}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DiffLimits {
    /// `true` if any difference at all exceeds the limits.
    pub any: bool,
    /// The maximum distance between two values of a weight. Needs [`DiffOptions::tensors`](super::DiffOptions::tensors). Weights that are in
    /// only one file, and changed weights and payloads with an unknown distance, exceed the limit.
    pub max_abs: Option<f64>,
    /// The maximum growth of the file.
    pub size: Option<GrowthLimit>,
    /// The maximum growth of the planned memory of a method. A new method counts as growth from 0 bytes.
    pub memory: Option<GrowthLimit>,
    /// The maximum number of new operators and backends: those that the second file calls, but not the first.
    pub operators: Option<usize>,
}

setters! {
    DiffLimits {
        any = with_any: bool,
        max_abs = with_max_abs: Option<f64>,
        size = with_size: Option<GrowthLimit>,
        memory = with_memory: Option<GrowthLimit>,
        operators = with_operators: Option<usize>,
    }
}

/// The maximum growth of a number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum GrowthLimit {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the size before.
    Percent(f64),
}

impl GrowthLimit {
    fn is_exceeded(self, before: u64, after: u64) -> bool {
        let growth = after.saturating_sub(before);
        match self {
            Self::Bytes(most) => growth > most,
            Self::Percent(most) => growth > 0 && growth as f64 * 100.0 > before as f64 * most,
        }
    }
}

impl fmt::Display for GrowthLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Percent(percent) => write!(f, "{percent} %"),
        }
    }
}

/// An exceeded limit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Excess {
    /// The name of the limit: `any`, `max-abs`, `size`, `memory` or `operators`.
    pub limit: &'static str,
    /// The thing that exceeds the limit, and by how much.
    pub message: String,
}

/// Writes the excess as `size: 2324 bytes to 8872, expected a growth of at most 5 %`.
impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.limit, self.message)
    }
}

impl DiffLimits {
    /// Returns the limits that the differences between two files exceed. Bundles are compared by the programs inside.
    pub fn exceeded(&self, before: &Model<'_>, after: &Model<'_>, diff: &Diff) -> Vec<Excess> {
        let mut found = Vec::new();
        let mut add = |limit, message| found.push(Excess { limit, message });
        if self.any && !diff.is_same() {
            add("any", format!("{} differences, expected none", diff.differences.len()));
        }
        if let Some(most) = self.max_abs {
            diff.differences
                .iter()
                .filter_map(|difference| apart(difference, most))
                .for_each(|text| add("max-abs", text));
        }
        if let Some(limit) = self.size {
            let [before, after] =
                [before, after].map(|model| model.source().map_or(0, |source| source.bytes.len() as u64));
            if limit.is_exceeded(before, after) {
                add("size", grown(before, after, limit));
            }
        }
        with_program(before, |before| {
            with_program(after, |after| {
                for (method, before, after) in self.memory.iter().flat_map(|_| planned(before, after)) {
                    if let Some(limit) = self.memory.filter(|limit| limit.is_exceeded(before, after)) {
                        add("memory", format!("method {method:?}: {}", grown(before, after, limit)));
                    }
                }
                let new = if self.operators.is_some() { new_operators(before, after) } else { Vec::new() };
                if let Some(most) = self.operators.filter(|most| new.len() > *most) {
                    add("operators", format!("{} new: {}, expected at most {most}", new.len(), listed(&new)));
                }
            });
        });
        found
    }
}

fn grown(before: u64, after: u64, limit: GrowthLimit) -> String {
    format!("{before} bytes to {after}, expected a growth of at most {limit}")
}

/// Returns the reason why a weight exceeds the limit `max_abs`.
fn apart(difference: &super::Difference, most: f64) -> Option<String> {
    use DifferenceSubject::{Delegate, Key, Payload, Weight};
    if !matches!(difference.subject, Weight | Key | Payload | Delegate) {
        return None;
    }
    let method = difference.method.as_ref().map(|method| format!("{method} ")).unwrap_or_default();
    let what = format!("{method}{} {}", difference.subject.name(), difference.name);
    match (&difference.distance, difference.kind) {
        (Some(distance), _) if distance.unbounded > 0 => {
            Some(format!("{what}: {} values are infinite or NaN in one file only", distance.unbounded))
        }
        (Some(distance), _) if distance.absolute <= most => None,
        (Some(distance), _) => {
            Some(format!("{what}: values are up to {:e} apart, expected at most {most:e}", distance.absolute))
        }
        (None, DifferenceKind::Added | DifferenceKind::Removed) => Some(format!("{what}: only one file has it")),
        (None, DifferenceKind::Moved) => None,
        (None, DifferenceKind::Changed) => Some(format!("{what}: how far the values are apart is not known")),
    }
}

/// Calls `work` with a file's program, or with the program of a bundle.
fn with_program(model: &Model<'_>, work: impl FnOnce(&Pte<'_>)) {
    match model {
        Model::Pte(pte) => work(pte),
        Model::Bpte(bpte) => {
            // A program that cannot be read is already among the differences.
            if let Ok(pte) = bpte.program() {
                work(&pte);
            }
        }
        _ => {}
    }
}

/// Returns the planned memory in the first file and in the second for each method of the second file.
fn planned(before: &Pte<'_>, after: &Pte<'_>) -> Vec<(String, u64, u64)> {
    let [old, new] = [before, after].map(Pte::methods_by_name);
    let size = |plan: Option<&&ExecutionPlan<'_>>| plan.map_or(0, |plan| plan.planned_memory().size);
    let methods = after.methods().iter().map(|plan| plan.name());
    methods.map(|name| (name.to_owned(), size(old.get(name)), size(new.get(name)))).collect()
}

fn new_operators(before: &Pte<'_>, after: &Pte<'_>) -> Vec<String> {
    let (before, after) = (Analysis::new(before).operators(), Analysis::new(after).operators());
    let called = after.operators.iter().filter(|(_, operator)| operator.calls > 0);
    let operators =
        called.map(|(name, _)| name).filter(|name| before.operators.get(*name).is_none_or(|old| old.calls == 0));
    let backends = after.backends.keys().filter(|name| !before.backends.contains_key(*name));
    operators.chain(backends).cloned().collect()
}

/// Lists the first of some names.
fn listed(names: &[String]) -> String {
    const MAX_SHOWN: usize = 8;
    let mut shown: Vec<String> =
        names.iter().take(MAX_SHOWN).map(|name| crate::names::shortened(name).to_string()).collect();
    if names.len() > MAX_SHOWN {
        shown.push("…".into());
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_may_reach_the_limit_but_not_exceed_it() {
        for (limit, before, after, exceeded) in [
            (GrowthLimit::Bytes(0), 10, 10, false),
            (GrowthLimit::Bytes(0), 10, 11, true),
            (GrowthLimit::Bytes(5), 10, 15, false),
            (GrowthLimit::Bytes(5), 10, 1, false),
            (GrowthLimit::Percent(10.0), 100, 110, false),
            (GrowthLimit::Percent(10.0), 100, 111, true),
            (GrowthLimit::Percent(0.0), 0, 1, true),
            (GrowthLimit::Percent(50.0), 0, 0, false),
        ] {
            assert_eq!(limit.is_exceeded(before, after), exceeded, "{limit} {before} {after}");
        }
    }
}
