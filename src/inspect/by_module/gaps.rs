//! Numeric differences by module: of recorded values, and of weights.

use crate::inspect::{Diff, DifferenceSubject, Distance, GapOutcome, RunGaps};
use alloc::collections::BTreeMap;
use alloc::{string::String, vec::Vec};
use core::cmp::Ordering;

/// The numeric difference of a module: that of its value, or weight, with the lowest signal-to-noise ratio.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModuleGap {
    /// The path, such as `layers.0.conv`; empty for the model itself; `None` for values whose module is not known.
    pub module: Option<String>,
    /// The number of values that were compared, without those of the modules inside it.
    pub values: usize,
    /// The number of these that differ.
    pub different: usize,
    /// The value with the lowest ratio; `None` if all are equal.
    pub worst: Option<String>,
    /// Its distance.
    pub distance: Option<Distance>,
}

impl RunGaps {
    /// Returns the differences by module: the lowest signal-to-noise ratio first, modules without a difference last.
    pub fn by_module(&self) -> Vec<ModuleGap> {
        let compared = |outcome| matches!(outcome, GapOutcome::Equal | GapOutcome::Different);
        let values = self.values.iter().filter(|gap| compared(gap.outcome));
        by_module(values.map(|gap| (gap.module.as_deref(), &*gap.name, gap.distance.as_ref())))
    }
}

impl Diff {
    /// Returns the differences of weights by module, as [`RunGaps::by_module`] does. Only weights that differ and were compared as numbers
    /// ([`DiffOptions::tensors`](crate::inspect::DiffOptions::tensors)) are counted.
    pub fn weights_by_module(&self) -> Vec<ModuleGap> {
        let weights = self.differences.iter().filter(|found| found.subject == DifferenceSubject::Weight);
        by_module(weights.filter_map(|found| {
            let name = found.tensor_name.as_deref().unwrap_or(&found.name);
            Some((found.module.as_deref(), name, Some(found.distance.as_ref()?)))
        }))
    }
}

/// Returns the ratio of a distance by which the worst is found: infinite without noise, and below all others without a signal.
fn ratio(distance: &Distance) -> f64 {
    match distance.snr {
        _ if distance.unbounded > 0 => f64::NEG_INFINITY,
        Some(snr) => snr,
        None if distance.changed == 0 => f64::INFINITY,
        None => f64::NEG_INFINITY,
    }
}

fn by_module<'v>(values: impl Iterator<Item = (Option<&'v str>, &'v str, Option<&'v Distance>)>) -> Vec<ModuleGap> {
    let mut modules: BTreeMap<Option<&str>, ModuleGap> = BTreeMap::new();
    for (module, name, distance) in values {
        let gap = modules.entry(module).or_insert_with(|| ModuleGap {
            module: module.map(String::from),
            values: 0,
            different: 0,
            worst: None,
            distance: None,
        });
        gap.values += 1;
        let Some(distance) = distance.filter(|distance| distance.changed > 0) else { continue };
        gap.different += 1;
        if gap.distance.as_ref().is_none_or(|worst| ratio(distance) < ratio(worst)) {
            (gap.worst, gap.distance) = (Some(name.into()), Some(*distance));
        }
    }
    let mut modules: Vec<ModuleGap> = modules.into_values().collect();
    let of = |gap: &ModuleGap| gap.distance.as_ref().map_or(f64::INFINITY, ratio);
    modules.sort_by(|left, right| of(left).partial_cmp(&of(right)).unwrap_or(Ordering::Equal));
    modules
}
