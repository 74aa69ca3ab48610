//! The delegates of two methods, and the contents of their payloads.

use super::Pair;
use crate::delegate::{DelegateGraph, InsideNode};
use crate::error::counted;
use crate::file::pte::Pte;
use crate::inspect::CompileSetting;
use crate::inspect::diff::{DifferenceKind, DifferenceSubject, Which, tree};
use crate::path::Path;
use crate::schema::program::{BackendDelegate, CompileSpec, ExecutionPlan};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, string::ToString, vec::Vec};

/// The maximum number of arguments of a node in a list of them.
const MAX_ARGUMENTS: usize = 16;

impl<'s> Pair<'_, 's> {
    pub(super) fn delegates(&mut self) {
        let [plan, other_plan] = self.plans;
        let [pte, other_pte] = self.ptes;
        let (mut used, mut other_used) = (BTreeSet::new(), BTreeSet::new());
        // Overlapping segments can repeat bytes many times: the files' own sizes limit the number of parsed bytes.
        let file = |pte: &Pte<'_>| pte.source.as_ref().map_or(u64::MAX, |source| source.bytes.len() as u64);
        let mut bytes_left = file(pte).saturating_add(file(other_pte));
        // Delegates without a call are matched by index.
        let mut taken: BTreeSet<usize> = BTreeSet::new();
        for index in self.delegates.values() {
            taken.insert(*index);
        }
        let both = plan.delegates().len().min(other_plan.delegates().len());
        for index in (0..both).filter(|index| !taken.contains(index)) {
            self.delegates.entry(index).or_insert(index);
        }
        for (index, other_index) in core::mem::take(&mut self.delegates) {
            let (Some(before), Some(after)) = (plan.delegates().get(index), other_plan.delegates().get(other_index))
            else {
                continue;
            };
            used.insert(index);
            other_used.insert(other_index);
            let name = format!("{index} ({})", before.id());
            self.changed(DifferenceSubject::Delegate, &index.to_string(), before.id(), after.id());
            let specs = |delegate: &'s BackendDelegate<'s>| delegate.compile_specs();
            if specs(before) != specs(after) {
                self.change(
                    DifferenceSubject::Delegate,
                    DifferenceKind::Changed,
                    format!("{name} compile specs"),
                    Some(specs_text(before, after)),
                    Some(specs_text(after, before)),
                );
            }
            let bytes = |pte: &'s Pte<'s>, delegate: &'s BackendDelegate<'s>| {
                pte.delegate_data(delegate).and_then(|data| pte.bytes(&data))
            };
            match (bytes(pte, before), bytes(other_pte, after)) {
                (Ok(before), Ok(after)) => {
                    if self.comparer.equal(before, after) == Some(true) {
                        // The data that the payloads look up by key may differ.
                        let places = [(self.indices[0], index), (self.indices[1], other_index)];
                        if let Some(rest) = bytes_left.checked_sub(before.len() as u64) {
                            bytes_left = rest;
                            self.comparer.inside(places, self.plans);
                        }
                    } else {
                        let found = self.comparer.differences.len();
                        match bytes_left.checked_sub((before.len() + after.len()) as u64) {
                            Some(rest) => {
                                bytes_left = rest;
                                self.payload(index, other_index);
                            }
                            None => {
                                let why = "not compared: payloads overlap, and have more bytes than the file";
                                let (name, why) = (index.to_string(), Some(why.into()));
                                self.change(DifferenceSubject::Payload, DifferenceKind::Changed, name, None, why);
                            }
                        }
                        if before.len() != after.len() || self.comparer.differences.len() == found {
                            let text = |bytes: &[u8]| Some(format!("payload of {} bytes", bytes.len()));
                            let (before, after) = (text(before), text(after));
                            self.change(DifferenceSubject::Delegate, DifferenceKind::Changed, name, before, after);
                        }
                    }
                }
                (before, after) => {
                    let text = |bytes: crate::Result<&[u8]>| {
                        bytes.map_or_else(|error| error.to_string(), |_| "present".into())
                    };
                    self.changed(DifferenceSubject::Delegate, &name, &text(before), &text(after));
                }
            }
        }
        let [indices, other_indices] = self.indices;
        let only = |plan: &ExecutionPlan<'_>, used: &BTreeSet<usize>| {
            (0..plan.delegates().len()).filter(|index| !used.contains(index)).collect::<Vec<_>>()
        };
        self.comparer.only_inside(Which::Before, (indices, plan), only(plan, &used).into_iter());
        self.comparer.only_inside(Which::After, (other_indices, other_plan), only(other_plan, &other_used).into_iter());
        let id = |delegate: &BackendDelegate<'_>| Some(delegate.id().into());
        for (index, delegate) in plan.delegates().iter().enumerate().filter(|(index, _)| !used.contains(index)) {
            self.change(DifferenceSubject::Delegate, DifferenceKind::Removed, index.to_string(), id(delegate), None);
        }
        for (index, delegate) in
            other_plan.delegates().iter().enumerate().filter(|(index, _)| !other_used.contains(index))
        {
            self.change(DifferenceSubject::Delegate, DifferenceKind::Added, index.to_string(), None, id(delegate));
        }
    }

    /// Compares the contents of two payloads, if this crate can read them.
    fn payload(&mut self, index: usize, other_index: usize) {
        let places = [(self.indices[0], index), (self.indices[1], other_index)];
        let payloads =
            (self.comparer.xnnpack(Which::Before, places[0]), self.comparer.xnnpack(Which::After, places[1]));
        let (Some(left), Some(right)) = payloads else { return self.graphs(index, places) };
        let all = self.comparer.inside(places, self.plans);
        let mut fields = Vec::new();
        tree::compare(&left.graph, &right.graph, &Path::ROOT, &mut |path, before, after| {
            let path = path.to_string();
            // Constants were compared through the nodes that take them.
            if !(all && path.starts_with("constant_data[") && path.ends_with(".named_key")) {
                fields.push((format!("{index} {path}"), before, after));
            }
        });
        if !all && left.constant_data != right.constant_data {
            let text = |bytes: &[u8]| format!("{} bytes", bytes.len());
            let (text, other_text) = (text(&left.constant_data), text(&right.constant_data));
            let other_text = if text == other_text { "other values".into() } else { other_text };
            fields.push((format!("{index} constant data"), text, other_text));
        }
        // Nodes in lists of different lengths cannot be matched by position: their kinds are counted instead.
        if left.graph.xnodes().len() != right.graph.xnodes().len() {
            fields.extend(kinds(index, [left.graph.count_nodes(), right.graph.count_nodes()]));
        }
        self.fields(fields);
    }

    /// Compares the graphs of two payloads of other backends than XNNPACK, if this crate can read them.
    fn graphs(&mut self, index: usize, [place, other_place]: [(usize, usize); 2]) {
        let [pte, other_pte] = self.ptes;
        let graphs =
            (self.comparer.graph(Which::Before, pte, place), self.comparer.graph(Which::After, other_pte, other_place));
        let (Some(left), Some(right)) = graphs else { return };
        let operators =
            |graph: &DelegateGraph| graph.nodes.iter().map(|node| node.operator.clone()).collect::<Vec<_>>();
        if operators(&left) != operators(&right) {
            let mut found = kinds(index, [left.count_nodes(), right.count_nodes()]);
            if found.is_empty() {
                found.push((format!("{index} nodes"), "one order".into(), "another order".into()));
            }
            return self.fields(found);
        }
        for (position, (left, right)) in left.nodes.iter().zip(&right.nodes).enumerate() {
            self.fields(nodes(&format!("{index} {} {position}", left.operator), [left, right]));
        }
    }

    /// Reports fields of payloads that differ.
    fn fields(&mut self, fields: Vec<(String, String, String)>) {
        for (name, before, after) in fields {
            self.change(DifferenceSubject::Payload, DifferenceKind::Changed, name, Some(before), Some(after));
        }
    }
}

/// Compares how many nodes there are of each kind.
fn kinds(index: usize, counts: [Vec<(&str, usize)>; 2]) -> Vec<(String, String, String)> {
    let mut both: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let [before, after] = counts;
    for (kind, count) in before {
        both.entry(kind).or_default()[0] = count;
    }
    for (kind, count) in after {
        both.entry(kind).or_default()[1] = count;
    }
    let text = |count: usize| if count == 0 { "none".into() } else { counted(count, "node") };
    let changed = both.into_iter().filter(|(_, [before, after])| before != after);
    changed.map(|(kind, [before, after])| (format!("{index} {kind}"), text(before), text(after))).collect()
}

/// Compares two nodes at the same place of graphs with the same kinds of nodes: their tensors and settings.
fn nodes(label: &str, [left, right]: [&InsideNode; 2]) -> Vec<(String, String, String)> {
    let parts = |node: &InsideNode| {
        let mut parts: Vec<(String, String)> = Vec::new();
        for argument in &node.arguments {
            parts.push((argument.name.to_string(), argument.tensor.to_string()));
        }
        for setting in &node.settings {
            parts.push((setting.name.to_string(), setting.value.clone()));
        }
        parts
    };
    let (before, after) = (parts(left), parts(right));
    if before.iter().map(|(name, _)| name).ne(after.iter().map(|(name, _)| name)) {
        let names = |parts: Vec<(String, String)>| {
            let names: Vec<String> = parts.into_iter().take(MAX_ARGUMENTS).map(|(name, _)| name).collect();
            names.join(", ")
        };
        return [(format!("{label} arguments"), names(before), names(after))].into();
    }
    let pairs = before.into_iter().zip(after).filter(|((_, before), (_, after))| before != after);
    pairs.map(|((name, before), (_, after))| (format!("{label} {name}"), before, after)).collect()
}

/// Formats the compile specs of a delegate that differ from those at the same places of another delegate: up to 16, with their values.
fn specs_text(delegate: &BackendDelegate<'_>, other: &BackendDelegate<'_>) -> String {
    let other = other.compile_specs();
    let specs = delegate.compile_specs().iter().enumerate().filter(|(index, spec)| other.get(*index) != Some(*spec));
    let texts: Vec<String> = specs.take(16).map(|(_, spec)| spec_text(spec)).collect();
    if texts.is_empty() { "none".into() } else { texts.join(", ") }
}

/// Formats a compile spec as `compile_flags = --output-format=raw`, with bytes in hexadecimal: `max_value = 04 00 00 00`.
fn spec_text(spec: &CompileSpec<'_>) -> String {
    const MAX_SHOWN: usize = 16;
    let setting = CompileSetting::of(spec);
    if setting.text.is_some() || spec.value().is_empty() {
        return setting.to_string();
    }
    let bytes: Vec<String> = spec.value().iter().take(MAX_SHOWN).map(|byte| format!("{byte:02x}")).collect();
    let more =
        if spec.value().len() > MAX_SHOWN { format!("… of {} bytes", spec.value().len()) } else { String::new() };
    format!("{} = {}{more}", setting.key, bytes.join(" "))
}
