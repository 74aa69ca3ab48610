//! Changes between two contracts that break a caller.

use super::{Contract, ContractMethod, ContractValue, DimRange};
use crate::inspect::NameText;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec::Vec};

/// A change that breaks code or a device made for the earlier contract.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ContractChange {
    /// The place, such as `forward input 0` or `backends`.
    pub place: String,
    /// The change, as a sentence.
    pub change: String,
}

impl core::fmt::Display for ContractChange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.place, self.change)
    }
}

impl Contract<'_> {
    /// Returns the changes in `after` that break what was made for this contract: callers that give and take the same values, read the same
    /// metadata, and run it with the same release, libraries, backends and planned memory. Empty if `after` can take its place.
    pub fn breaks(&self, after: &Contract<'_>) -> Vec<ContractChange> {
        let mut changes = Vec::new();
        let mut add = |place: &str, change: String| changes.push(ContractChange { place: place.into(), change });
        let others = by_key(&after.methods, |method| method.name);
        for method in &self.methods {
            match others.get(method.name) {
                Some(other) => method.breaks(other, &mut add),
                None => add(method.name, "the method is missing".into()),
            }
        }
        let others = by_key(&after.metadata, |constant| constant.name);
        for constant in &self.metadata {
            match others.get(constant.name) {
                Some(other) if other.value == constant.value => {}
                Some(_) => add(constant.name, "the constant has another value".into()),
                None => add(constant.name, "the constant is missing".into()),
            }
        }
        let others = by_key(&self.backends, |backend| backend.id);
        for backend in &after.backends {
            match others.get(backend.id) {
                Some(other) => {
                    for accelerator in backend.accelerators.iter().filter(|name| !other.accelerators.contains(name)) {
                        add(backend.id, format!("delegates are compiled for {accelerator:?}"));
                    }
                }
                None => add("backends", format!("{:?} is needed", backend.id)),
            }
        }
        for kernels in &after.loads_in.kernels {
            let before = self.loads_in.kernels.iter().find(|other| other.library == kernels.library);
            let is_new = |name: &&String| before.is_none_or(|before| !before.operators.contains(*name));
            for operator in kernels.operators.iter().filter(is_new) {
                add("operators", format!("{operator:?} of library {} is needed", kernels.library));
            }
        }
        let (before_loads, after_loads) = (format!("{}", self.loads_in), format!("{}", after.loads_in));
        let covers = |first, last| after.loads_in.ranges.iter().any(|range| range.0 <= first && last <= range.1);
        if self.loads_in.ranges.iter().any(|(first, last)| !covers(*first, *last)) {
            add("releases", format!("loads in {after_loads}, and before in {before_loads}"));
        }
        if self.external_data.is_none() && after.external_data.is_some() {
            add("external data", "a .ptd file is needed".into());
        }
        changes
    }
}

/// Returns items by key. Among several of one key, the first counts.
fn by_key<T, K: Ord>(items: &[T], key: impl Fn(&T) -> K) -> BTreeMap<K, &T> {
    items.iter().rev().map(|item| (key(item), item)).collect()
}

impl ContractMethod<'_> {
    fn breaks(&self, after: &ContractMethod<'_>, add: &mut impl FnMut(&str, String)) {
        let sides = [("input", &self.inputs, &after.inputs), ("output", &self.outputs, &after.outputs)];
        for (what, before, after) in sides {
            if before.len() != after.len() {
                let change = format!("{} {what}s, and before {}", after.len(), before.len());
                add(self.name, change);
                continue;
            }
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                let place = format!("{} {what} {index}", self.name);
                before.breaks(after, what == "input", |change| add(&place, change));
            }
        }
        let others = by_key(&self.buffers, |buffer| buffer.memory_id);
        for buffer in &after.buffers {
            let before = others.get(&buffer.memory_id).map_or(0, |before| before.size);
            if buffer.size > before {
                let (id, size) = (buffer.memory_id, buffer.size);
                add(self.name, format!("memory id {id} needs {size} bytes, and before {before}"));
            }
        }
    }
}

impl ContractValue<'_> {
    fn breaks(&self, after: &ContractValue<'_>, is_input: bool, mut add: impl FnMut(String)) {
        let text =
            |name: &Option<NameText<'_>>| name.as_deref().map_or_else(|| "none".into(), |name| format!("{name:?}"));
        if self.name.is_some() && self.name != after.name {
            add(format!("the name is {}, and before {}", text(&after.name), text(&self.name)));
        }
        if self.kind != after.kind || self.scalar_type != after.scalar_type {
            add(format!("the type is {}, and before {}", after.type_text(), self.type_text()));
        }
        let (Some(before), Some(now)) = (self.dims, after.dims) else { return };
        let (before, now) = (before.ranges(), now.ranges());
        if before.len() != now.len() {
            return add(format!("{} dimensions, and before {}", now.len(), before.len()));
        }
        for (dim, (before, now)) in before.zip(now).enumerate() {
            // An input has to take all sizes that it took; an output may have no others.
            let fits = if is_input { now.contains(before) } else { before.contains(now) };
            if !fits {
                add(format!("dimension {dim} is {now}, and before {before}"));
            }
        }
        if self.dim_order != after.dim_order {
            add(format!("the dim order is {:?}, and before {:?}", order(after), order(self)));
        }
    }
}

fn order<'t>(value: &ContractValue<'t>) -> &'t [u8] {
    value.dim_order.unwrap_or_default()
}

impl DimRange {
    /// Returns `true` if all sizes of another range are in this one.
    fn contains(self, other: Self) -> bool {
        let starts = match (self.min, other.min) {
            (None, _) => true,
            (Some(own), Some(other)) => own <= other,
            (Some(_), None) => false,
        };
        let ends = match (self.max, other.max) {
            (None, _) => true,
            (Some(own), Some(other)) => other <= own,
            (Some(_), None) => false,
        };
        starts && ends
    }
}

/// Formats a range as `3`, `at most 8` or `any size`.
impl core::fmt::Display for DimRange {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match (self.min, self.max) {
            (Some(min), Some(max)) if min == max => write!(f, "{max}"),
            (Some(min), Some(max)) => write!(f, "{min} to {max}"),
            (None, Some(max)) => write!(f, "at most {max}"),
            (Some(min), None) => write!(f, "at least {min}"),
            (None, None) => f.write_str("any size"),
        }
    }
}
