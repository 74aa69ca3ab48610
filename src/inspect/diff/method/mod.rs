//! Two methods of the same name.

mod delegates;
mod instructions;
mod text;
mod values;

use super::data::Comparer;
use super::tree;
use super::{Difference, DifferenceKind, DifferenceSubject, Indexed, Which};
use crate::analysis::{MethodNames, Name};
use crate::dataflow::{Calls, DelegateOutputs, size};
use crate::file::pte::Pte;
use crate::inspect::graph::value_text;
use crate::names::shortened;
use crate::path::Path;
use crate::schema::program::{ContainerMetadata, ExecutionPlan, InstructionArguments};
use crate::sorted;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, string::String, string::ToString, vec, vec::Vec};
use text::exact_value;
pub(super) use text::returned;

/// Compares two methods of the same name.
pub(super) fn compare<'s>(
    comparer: &mut Comparer<'s>,
    (pte, (index, plan)): (&'s Pte<'s>, Indexed<'s>),
    (other_pte, (other_index, other_plan)): (&'s Pte<'s>, Indexed<'s>),
) {
    let names = [comparer.method_names(Which::Before, index), comparer.method_names(Which::After, other_index)];
    let mut pair = Pair {
        comparer,
        ptes: [pte, other_pte],
        plans: [plan, other_plan],
        indices: [index, other_index],
        names,
        name: plan.name(),
        values: BTreeMap::new(),
        taken: BTreeMap::new(),
        delegates: BTreeMap::new(),
        computed: [plan, other_plan].map(computed),
        renumbered: 0,
        replaced: Vec::new(),
        operators: [plan, other_plan]
            .map(|plan| plan.operators().iter().map(|operator| operator.full_name()).collect()),
        budget: 16 * (size(plan) + size(other_plan)),
    };
    pair.containers();
    pair.same_names();
    pair.ends(DifferenceSubject::Input, [plan.inputs(), other_plan.inputs()]);
    pair.instructions();
    pair.ends(DifferenceSubject::Output, [plan.outputs(), other_plan.outputs()]);
    pair.rest();
    pair.operators();
    pair.plan();
    pair.delegates();
    pair.constant();
    pair.other_fields();
}

/// The fields of methods that other functions compare. All others are compared by the schema.
const COMPARED: [(&str, &str); 11] = [
    ("ExecutionPlan", "name"),
    ("ExecutionPlan", "container_meta_type"),
    ("ExecutionPlan", "values"),
    ("ExecutionPlan", "inputs"),
    ("ExecutionPlan", "outputs"),
    ("ExecutionPlan", "operators"),
    ("ExecutionPlan", "delegates"),
    ("ExecutionPlan", "non_const_buffer_sizes"),
    ("ExecutionPlan", "non_const_buffer_device"),
    ("Chain", "instructions"),
    ("Chain", "stacktrace"),
];

type InstructionOf<'s> = &'s InstructionArguments<'s>;

/// Two methods and their matched values.
struct Pair<'c, 's> {
    comparer: &'c mut Comparer<'s>,
    ptes: [&'s Pte<'s>; 2],
    plans: [&'s ExecutionPlan<'s>; 2],
    /// The indices of the methods.
    indices: [usize; 2],
    names: [Option<&'s MethodNames<'s>>; 2],
    name: &'s str,
    /// The matched values, by the first method's index.
    values: BTreeMap<usize, usize>,
    /// The same pairs by the second method's index.
    taken: BTreeMap<usize, usize>,
    /// The matched delegates, by the first method's index.
    delegates: BTreeMap<usize, usize>,
    /// The values that kernels write, such as computed sizes, in ascending order.
    computed: [Vec<usize>; 2],
    /// The number of matched values with different indices.
    renumbered: usize,
    /// The tensors with different places in planned memory: the value, its shape, the old and the new place.
    replaced: Vec<(usize, String, String, String)>,
    /// The operators' names with their overloads.
    operators: [Vec<String>; 2],
    /// The number of list items that may still be matched: many instructions may refer to the same long list.
    budget: usize,
}

/// Returns the values that kernels and moves write, in ascending order.
fn computed(plan: &ExecutionPlan<'_>) -> Vec<usize> {
    let delegates = DelegateOutputs::default();
    let calls = Calls::new(plan, 0, &delegates);
    let mut computed = Vec::new();
    for (_, instruction) in plan.instructions() {
        for access in calls.accesses(instruction).list {
            if access.role.writes() {
                computed.extend(usize::try_from(access.value));
            }
        }
    }
    sorted::set(computed)
}

impl<'s> Pair<'_, 's> {
    fn changed(&mut self, subject: DifferenceSubject, name: &str, before: &str, after: &str) {
        self.comparer.changed(subject, Some(self.name), name, before, after);
    }

    fn change(
        &mut self,
        subject: DifferenceSubject,
        kind: DifferenceKind,
        name: String,
        before: Option<String>,
        after: Option<String>,
    ) {
        let change = Difference::new(subject, kind, Some(self.name), name);
        self.comparer.difference(Difference { before, after, ..change });
    }

    /// Returns the name of a value of one side.
    fn value_name(&self, side: Which, value: usize) -> Option<&'s Name<'s>> {
        side.of(&self.names).as_ref()?.values.get(value)?.as_ref()
    }

    /// Adds a difference of a value of the first method if two texts differ.
    fn value_changed(&mut self, subject: DifferenceSubject, value: usize, what: &str, before: &str, after: &str) {
        if before != after {
            let change = Difference::new(subject, DifferenceKind::Changed, Some(self.name), format!("%{value}{what}"));
            let change = change.named(self.value_name(Which::Before, value));
            self.comparer.difference(Difference { before: Some(before.into()), after: Some(after.into()), ..change });
        }
    }

    fn containers(&mut self) {
        let [left, right] = self.plans.map(|plan| plan.container_meta_type.as_ref());
        let text = |text: Option<&'s str>| text.unwrap_or("absent");
        let inputs = |containers: &'s ContainerMetadata<'s>| containers.encoded_inp_str();
        self.changed(DifferenceSubject::Input, "containers", text(left.map(inputs)), text(right.map(inputs)));
        let outputs = |containers: &'s ContainerMetadata<'s>| containers.encoded_out_str();
        self.changed(DifferenceSubject::Output, "containers", text(left.map(outputs)), text(right.map(outputs)));
    }

    /// Matches inputs or outputs by position.
    fn ends(&mut self, subject: DifferenceSubject, indices: [&'s [i32]; 2]) {
        let ([before, after], [plan, other_plan]) = (indices, self.plans);
        let moved = self.moved(subject, before, after);
        for position in (0..before.len().max(after.len())).filter(|position| !moved.contains(position)) {
            match (before.get(position).copied(), after.get(position).copied()) {
                (Some(value), Some(other_value)) => {
                    let (text, other_text) = (value_text(plan, value), value_text(other_plan, other_value));
                    self.changed(subject, &position.to_string(), &text, &other_text);
                    // Texts show only the first items of long lists.
                    if text == other_text && exact_value(plan, value) != exact_value(other_plan, other_value) {
                        let after = Some("the same with other values".into());
                        self.change(subject, DifferenceKind::Changed, position.to_string(), Some(text), after);
                    }
                    if !self.match_values(value, other_value, true) {
                        let text = |side: Which, value: i32| {
                            let named = usize::try_from(value).ok().and_then(|value| self.value_name(side, value));
                            named.map_or_else(
                                || format!("%{value}"),
                                |named| format!("%{value} {}", shortened(&named.name)),
                            )
                        };
                        let (before, after) = (text(Which::Before, value), text(Which::After, other_value));
                        let after = if before == after { "another value".into() } else { after };
                        self.change(subject, DifferenceKind::Changed, position.to_string(), Some(before), Some(after));
                    }
                }
                (before, after) => {
                    let kind = if before.is_some() { DifferenceKind::Removed } else { DifferenceKind::Added };
                    let before = before.map(|value| value_text(plan, value));
                    let after = after.map(|value| value_text(other_plan, value));
                    self.change(subject, kind, position.to_string(), before, after);
                }
            }
        }
    }

    /// Reports inputs or outputs whose counterpart is known and has a different position. Returns the positions on both sides that need no
    /// further comparison.
    fn moved(&mut self, subject: DifferenceSubject, before: &[i32], after: &[i32]) -> BTreeSet<usize> {
        let mut positions: BTreeMap<usize, usize> = BTreeMap::new();
        for (position, value) in after.iter().enumerate().rev() {
            if let Ok(value) = usize::try_from(*value) {
                positions.insert(value, position);
            }
        }
        // The position of the counterpart, if it differs.
        let target = |position: usize| {
            let value = usize::try_from(*before.get(position)?).ok()?;
            let other = self.values.get(&value)?;
            let is_same = after.get(position).is_some_and(|value| usize::try_from(*value) == Ok(*other));
            positions.get(other).copied().filter(|_| !is_same)
        };
        let (mut names, mut moved) = (Vec::new(), BTreeSet::new());
        for (first, second) in (0..before.len()).filter_map(|position| Some((position, target(position)?))) {
            moved.insert(first);
            if target(second) != Some(first) {
                names.push(format!("{first} is {second} of the second file"));
            } else if first < second {
                names.push(format!("s {first} and {second} are swapped"));
            }
        }
        for name in names {
            self.change(subject, DifferenceKind::Moved, name, None, None);
        }
        moved
    }

    /// Compares the number of calls of each operator.
    fn operators(&mut self) {
        let mut counts: BTreeMap<String, [Option<usize>; 2]> = BTreeMap::new();
        let sides = [Which::Before, Which::After];
        for (side, (plan, names)) in sides.into_iter().zip(self.plans.iter().zip(&self.operators)) {
            let mut calls = vec![0; names.len()];
            for (_, instruction) in plan.instructions() {
                if let InstructionArguments::KernelCall(call) = instruction {
                    let index = usize::try_from(call.op_index).unwrap_or(usize::MAX);
                    if let Some(count) = calls.get_mut(index) {
                        *count += 1;
                    }
                }
            }
            for (name, calls) in names.iter().zip(calls) {
                *side.of_mut(counts.entry(name.clone()).or_default()).get_or_insert(0) += calls;
            }
        }
        let calls = |count: usize| if count == 1 { "1 call".into() } else { format!("{count} calls") };
        for (name, [before, after]) in counts {
            match (before.map(calls), after.map(calls)) {
                (Some(left), Some(right)) => self.changed(DifferenceSubject::Operator, &name, &left, &right),
                (left @ Some(_), None) => {
                    self.change(DifferenceSubject::Operator, DifferenceKind::Removed, name, left, None)
                }
                (None, right) => self.change(DifferenceSubject::Operator, DifferenceKind::Added, name, None, right),
            }
        }
    }

    /// Compares the sizes of planned buffers, and the places in them.
    fn plan(&mut self) {
        let [left, right] = self.plans.map(ExecutionPlan::planned_memory);
        let text = |buffer: Option<&crate::inspect::PlannedBuffer>| {
            buffer.map_or("none".into(), |buffer| {
                format!("{} bytes on {}:{}", buffer.size, buffer.device_type, buffer.device_index)
            })
        };
        for index in 0..left.buffers.len().max(right.buffers.len()) {
            let (before, after) = (text(left.buffers.get(index)), text(right.buffers.get(index)));
            self.changed(DifferenceSubject::Plan, &format!("buffer {}", index + 1), &before, &after);
        }
        let replaced = core::mem::take(&mut self.replaced);
        for (value, shape, before, after) in replaced {
            self.value_changed(DifferenceSubject::Plan, value, &format!(" {shape}"), &before, &after);
        }
    }

    /// Compares the fields that no other function compares, by the schema: a new field cannot be missed.
    fn other_fields(&mut self) {
        let [left, right] = self.plans;
        let mut fields = Vec::new();
        tree::compare_except(left, right, &COMPARED, &Path::ROOT, &mut |path, before, after| {
            fields.push((path.to_string(), before, after))
        });
        // The same values of a chain may have other indices.
        let ends = |plan: &ExecutionPlan<'_>| -> Vec<Vec<i32>> {
            plan.chains()
                .iter()
                .flat_map(|chain| {
                    [chain.inputs.as_deref(), chain.outputs.as_deref()].map(|list| list.unwrap_or_default().to_vec())
                })
                .collect()
        };
        let counterpart = |value: &i32| {
            let found = usize::try_from(*value).ok().and_then(|value| self.values.get(&value));
            found.and_then(|value| i32::try_from(*value).ok()).unwrap_or(*value)
        };
        let expected: Vec<Vec<i32>> =
            ends(left).iter().map(|values| values.iter().map(counterpart).collect()).collect();
        if expected == ends(right) {
            let is_end = |path: &str| path.ends_with("].inputs") || path.ends_with("].outputs");
            fields.retain(|(path, ..)| !is_end(path));
        }
        for (path, before, after) in fields {
            self.changed(DifferenceSubject::Method, &path, &before, &after);
        }
    }

    /// Compares the values that two constant methods return. The data of tensors was compared before.
    fn constant(&mut self) {
        let [left, right] =
            self.plans.map(|plan| plan.constant().map_or_else(|| "is computed".into(), |value| returned(&value)));
        // Outputs that differ were already reported; these reports are replaced.
        if left != right {
            let (name, shown) = (self.name, shortened(self.name));
            self.comparer.differences.retain(|(change, _)| {
                change.subject != DifferenceSubject::Output || change.method.as_deref() != Some(&*shown)
            });
            self.comparer.changed(DifferenceSubject::Metadata, None, name, &left, &right);
        }
    }
}
