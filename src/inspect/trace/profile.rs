//! Times from an ETDump: the events of similar runs, matched with the program's instructions.

use super::delegate_events::{NeuralStatistics, VulkanShader};
use super::events::{DELEGATE_CALL, Key, Methods, Times, instruction, plan_of, target};
use super::linked::ProfiledNode;
use crate::analysis::Analysis;
use crate::file::etdp::Etdp;
use crate::inspect::NameText;
use crate::inspect::operators::macs::{Macs, MethodMacs};
use crate::path::{FieldPath, Path};
use crate::schema::etdump::RunData;
use crate::schema::program::ExecutionPlan;
use crate::sorted::equal_range;
use alloc::collections::BTreeMap;
use alloc::{format, string::String, vec, vec::Vec};
use core::cmp::Reverse;
use core::fmt;

/// The times of everything that was measured in the runs of an ETDump.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Profile<'t> {
    /// The groups of runs. Runs of a group have the same name, test case and events.
    pub runs: Vec<RunProfile<'t>>,
    /// Events that contradict each other or the program.
    pub errors: Vec<Mismatch>,
    /// Runs that fit the program, but are likely to be of another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Mismatch>,
}

impl Profile<'_> {
    /// Sorts the instructions of each group of runs by total time, the longest first.
    pub fn sort_by_total(&mut self) {
        for run in &mut self.runs {
            let mut totals = BTreeMap::<_, u64>::new();
            for event in &run.events {
                let total = totals.entry(event.place()).or_default();
                *total = event.total.max(*total);
            }
            // The sort is stable: events of one instruction stay together and in order.
            let key = |event: &EventProfile<'_>| {
                (event.kind != EventKind::Method, Reverse(totals.get(&event.place()).copied()), event.place())
            };
            run.events.sort_by_key(key);
        }
    }
}

/// A group of similar runs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunProfile<'t> {
    /// The name of the runs: `Default` for loading a method, `Execute` for running it.
    pub name: &'t str,
    /// The test case that was loaded before; `None` if no test case was loaded.
    pub test_case: Option<i32>,
    /// The method that ran, if the program is given and a method fits.
    pub method: Option<&'t str>,
    /// The number of runs.
    pub count: usize,
    /// The number of runs before these that were left out, to warm up.
    #[serde(skip_serializing_if = "is_zero")]
    pub warm_up: usize,
    /// The time from the first start to the last end, summed over the runs, in ticks.
    pub total: u64,
    /// The part of the total in calls of delegates, in ticks.
    pub in_delegates: u64,
    /// The part of the total in other instructions, in ticks.
    pub in_other_instructions: u64,
    /// The events: whole methods first, then each instruction followed by its parts, in the order of their first runs.
    pub events: Vec<EventProfile<'t>>,
}

/// Something that was timed, with all its times.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct EventProfile<'t> {
    /// The kind of thing that was timed.
    pub kind: EventKind,
    /// The name: the runtime's, or a delegate's own.
    pub name: &'t str,
    /// The delegate's own number for the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate_debug_id: Option<i32>,
    /// The chain of its instruction.
    pub chain: Option<usize>,
    /// Index of its instruction in the chain.
    pub instruction: Option<usize>,
    /// The label of the instruction or of the node inside a delegate, such as `convolution.3`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<NameText<'t>>,
    /// The path of its module, such as `layers.0.conv`; empty for the model itself.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub module: Option<&'t str>,
    /// The target that its instruction runs, according to the program.
    pub runs: Option<EventTarget<'t>>,
    /// The shader that a Vulkan delegate timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shader: Option<VulkanShader>,
    /// The timed node of a delegate's graph. Those of XNNPACK are matched by order, and known if a kind has as many events as nodes; those of Vulkan
    /// by the number in the event's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<ProfiledNode>,
    /// The multiply-accumulates of one run of the instruction or of the node, if the program is given and they are known: see
    /// [`Macs`](crate::inspect::Macs). With dynamic shapes, an upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macs: Option<u64>,
    /// The text that the delegate recorded with the first of these events, such as the statistics of a VGF delegate's accelerator (JSON).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "crate::names::serialize_shortened_option")]
    pub metadata: Option<&'t str>,
    /// The statistics of an accelerator that a VGF delegate recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<NeuralStatistics>,
    /// The number of measurements.
    pub count: usize,
    /// The sum of the times, in ticks.
    pub total: u64,
    /// The shortest time.
    pub min: u64,
    /// The median of the times.
    pub median: f64,
    /// The average time.
    pub mean: f64,
    /// The longest time.
    pub max: u64,
    /// The share of the runs' time, from 0 to 1. The time of a part is included in the time of the whole.
    pub share: f64,
}

pub(in crate::inspect) fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl EventProfile<'_> {
    /// Returns the chain of its instruction, and the index in the chain.
    fn place(&self) -> (Option<usize>, Option<usize>) {
        (self.chain, self.instruction)
    }
}

/// The kind of thing that an event times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum EventKind {
    /// A whole method: loading or running it.
    Method,
    /// One instruction.
    Instruction,
    /// A part of an instruction: the kernel alone.
    Part,
    /// A part of a delegate's call, named by the delegate.
    Delegate,
}

/// The target of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum EventTarget<'t> {
    /// A kernel.
    Kernel {
        /// Name and overload, such as `aten::add.out`.
        operator: String,
    },
    /// A delegate.
    Delegate {
        /// The backend's name.
        backend: &'t str,
        /// Index into the method's delegates.
        delegate: i32,
    },
    /// Another kind of instruction.
    Other {
        /// The schema's name of the instruction.
        instruction_kind: &'static str,
    },
}

impl fmt::Display for EventTarget<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel { operator } => f.write_str(operator),
            Self::Delegate { backend, delegate } => write!(f, "{backend} (delegate {delegate})"),
            Self::Other { instruction_kind } => f.write_str(instruction_kind),
        }
    }
}

/// A contradiction in an ETDump, or between an ETDump and a program. Serialized as its text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mismatch {
    /// The field of the ETDump.
    pub path: FieldPath,
    /// The message: what was found, then what was expected.
    pub message: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl serde::Serialize for Mismatch {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

crate::json_schema::json_schema_of_text!(Mismatch);

#[expect(clippy::indexing_slicing, reason = "`known` has the indices of the groups")]
pub(super) fn profile<'t, 'p: 't>(
    etdp: &'t Etdp<'_>,
    program: Option<&Analysis<'p>>,
    method: Option<&str>,
    warm_up: usize,
) -> Profile<'t> {
    let mut mismatches = Vec::new();
    let mut groups: Vec<Group<'t>> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for (index, run) in etdp.etdump.run_data().iter().enumerate() {
        let found = Times::of(run, index, &mut mismatches);
        let key = (run.name(), run.bundled_input_index, found.keys);
        let group = *known.entry(key.clone()).or_insert_with(|| {
            let ticks = vec![Vec::new(); found.ticks.len()];
            let metadata = found.metadata;
            groups.push(Group { first: index, run, keys: key.2, count: 0, warm_up: 0, total: 0, ticks, metadata });
            groups.len() - 1
        });
        let group = &mut groups[group];
        // Loading a method is no run of it.
        if group.warm_up < warm_up && group.keys.iter().any(|key| key.place().is_some()) {
            group.warm_up += 1;
        } else {
            group.add(run, found.ticks);
        }
    }
    groups.retain(|group| {
        if group.count == 0 {
            let path = Path::ROOT.item("run_data", group.first).to_field_path();
            let message = format!("all {} runs like it are left out to warm up", group.warm_up);
            mismatches.push(Mismatch { path, message });
        }
        group.count > 0
    });
    let methods = program.map(Methods::of);
    let mut warnings = Vec::new();
    let profile = |group: Group<'t>| {
        let methods = methods.as_ref();
        let plan = methods.and_then(|all| plan_of(all, method, (group.first, &group.keys), &mut mismatches));
        let doubt = methods.zip(plan).and_then(|(all, plan)| all.doubt(&group.keys, plan));
        warnings.extend(doubt.map(|message| {
            let path = Path::ROOT.item("run_data", group.first).to_field_path();
            Mismatch { path, message }
        }));
        group.profile(plan)
    };
    let mut runs: Vec<RunProfile<'_>> = groups.into_iter().map(profile).collect();
    if let Some(methods) = &methods {
        methods.nodes.link(&mut runs);
    }
    if let Some(program) = program {
        add_macs(&mut runs, &program.macs());
        add_names(&mut runs, program);
    }
    Profile { runs, errors: mismatches, warnings }
}

/// Adds the multiply-accumulates of instructions, and of the nodes that steps of a delegate's first call are linked to.
fn add_macs(runs: &mut [RunProfile<'_>], macs: &Macs<'_>) {
    let mut methods: BTreeMap<&str, &MethodMacs<'_>> = BTreeMap::new();
    for method in &macs.methods {
        methods.entry(method.name).or_insert(method);
    }
    for run in runs {
        let Some(method) = run.method.and_then(|name| methods.get(name)) else { continue };
        // The shaders of a node of Vulkan share its products.
        let mut shaders: BTreeMap<_, usize> = BTreeMap::new();
        for event in &run.events {
            let node = event.node.as_ref().map(|node| node.index);
            *shaders.entry((event.chain, event.instruction, node)).or_default() += 1;
        }
        for event in &mut run.events {
            let Some(place) = event.chain.zip(event.instruction) else { continue };
            let shaders = |node: usize| shaders.get(&(event.chain, event.instruction, Some(node))).copied();
            // The calls are in the order of instructions; those of a delegate are its nodes.
            let calls = equal_range(&method.calls, |call| (call.chain, call.instruction).cmp(&place));
            event.macs = match (event.kind, &event.node) {
                (EventKind::Part, _) if calls.len() > 1 => None,
                (EventKind::Instruction | EventKind::Part, _) if !calls.is_empty() => {
                    calls.iter().map(|call| call.macs).try_fold(0, |sum: u64, macs| Some(sum.saturating_add(macs?)))
                }
                (EventKind::Delegate, Some(node)) if shaders(node.index) == Some(1) => {
                    calls.get(node.index).filter(|call| call.node == Some(node.index)).and_then(|call| call.macs)
                }
                _ => None,
            };
        }
    }
}

/// Adds the names of instructions and of nodes inside delegates, and their modules.
fn add_names<'t, 'p: 't>(runs: &mut [RunProfile<'t>], program: &Analysis<'p>) {
    let Some(names) = program.answer_names() else { return };
    let methods = names.by_method(program.pte());
    for run in runs {
        let Some(names) = run.method.and_then(|method| methods.get(method)) else { continue };
        for event in &mut run.events {
            let name = match (event.kind, &event.runs, &event.node) {
                (EventKind::Instruction, ..) => {
                    let place = event.chain.zip(event.instruction);
                    place.and_then(|(chain, instruction)| names.instruction(chain, instruction))
                }
                (EventKind::Delegate, Some(EventTarget::Delegate { delegate, .. }), Some(node)) => {
                    let delegate = usize::try_from(*delegate).ok().and_then(|index| names.delegates.get(index));
                    delegate.and_then(|delegate| delegate.nodes.get(node.index))
                }
                _ => None,
            };
            if let Some(name) = name {
                (event.label, event.module) = (Some(name.label.clone()), name.module);
            }
        }
    }
}

/// A group of similar runs.
struct Group<'t> {
    /// The index of the first run.
    first: usize,
    /// The first run.
    run: &'t RunData<'t>,
    keys: Vec<Key<'t>>,
    count: usize,
    /// The number of runs that are left out.
    warm_up: usize,
    total: u64,
    ticks: Vec<Vec<u64>>,
    metadata: Vec<Option<&'t str>>,
}

impl<'t> Group<'t> {
    fn add(&mut self, run: &RunData<'_>, ticks: Vec<Vec<u64>>) {
        self.count += 1;
        self.total = self.total.saturating_add(run.ticks());
        for (all, more) in self.ticks.iter_mut().zip(ticks) {
            all.extend(more);
        }
    }

    fn profile(self, plan: Option<&'t ExecutionPlan<'_>>) -> RunProfile<'t> {
        let total = self.total;
        let events = self.keys.into_iter().zip(self.ticks).zip(self.metadata);
        let events = events.map(|((key, ticks), metadata)| {
            let statistics = metadata.and_then(NeuralStatistics::of_metadata);
            EventProfile { metadata, statistics, ..event(key, ticks, total, plan) }
        });
        let mut events: Vec<_> = events.collect();
        let mut first = BTreeMap::new();
        for (index, event) in events.iter().enumerate() {
            first.entry(event.place()).or_insert(index);
        }
        // The file lists an event when it ends, after its parts.
        let key = |event: &EventProfile<'_>| {
            let is_part = matches!(event.kind, EventKind::Part | EventKind::Delegate);
            (event.kind != EventKind::Method, first.get(&event.place()).copied(), is_part)
        };
        events.sort_by_key(key);
        let sum = |of_delegates: bool| {
            let is = |event: &&EventProfile<'_>| {
                event.kind == EventKind::Instruction && (event.name == DELEGATE_CALL) == of_delegates
            };
            events.iter().filter(is).map(|event| event.total).fold(0, u64::saturating_add)
        };
        RunProfile {
            name: self.run.name(),
            test_case: self.run.test_case(),
            method: plan.map(|plan| plan.name()),
            count: self.count,
            warm_up: self.warm_up,
            total,
            in_delegates: sum(true),
            in_other_instructions: sum(false),
            events,
        }
    }
}

#[expect(clippy::indexing_slicing, reason = "every event was timed at least once")]
fn event<'t>(key: Key<'t>, mut ticks: Vec<u64>, all: u64, plan: Option<&'t ExecutionPlan<'_>>) -> EventProfile<'t> {
    ticks.sort();
    let count = ticks.len();
    let total = ticks.iter().copied().fold(0, u64::saturating_add);
    let middle = [ticks[(count - 1) / 2], ticks[count / 2]].map(|time| time as f64);
    let place = key.place();
    EventProfile {
        kind: key.kind(),
        name: key.delegate_id.or(key.name).unwrap_or_default(),
        delegate_debug_id: Some(key.delegate_number).filter(|number| *number != -1),
        chain: place.map(|(chain, _)| chain),
        instruction: place.map(|(_, instruction)| instruction),
        label: None,
        module: None,
        runs: plan.and_then(|plan| target(plan, instruction(plan, place?)?)),
        shader: key.delegate_id.and_then(VulkanShader::of_event),
        node: None,
        macs: None,
        metadata: None,
        statistics: None,
        count,
        total,
        min: ticks[0],
        median: middle.iter().sum::<f64>() / 2.0,
        mean: total as f64 / count as f64,
        max: ticks[count - 1],
        share: if all > 0 { total as f64 / all as f64 } else { 0.0 },
    }
}
