//! Times of a profile: added up by operator, compared with another trace, and added to a graph.

use super::events::DELEGATE_CALL;
use super::run_pairs::run_pairs;
use crate::inspect::{EventKind, EventProfile, EventTarget, Graph, Profile, RunProfile};
use alloc::collections::BTreeMap;
use alloc::{format, string::String, string::ToString, vec::Vec};

/// The time of an operator's calls, or of a kind of step inside a backend.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorTime {
    /// The operator with its overload, the backend, or the backend with its own name of a step: `XnnpackBackend: Softmax (NC, F32)`.
    pub name: String,
    /// `true` if it is inside a backend, whose time includes it.
    pub inside: bool,
    /// The number of times it ran.
    pub count: usize,
    /// The sum of the times, in ticks.
    pub total: u64,
    /// The share of the runs' time, from 0 to 1.
    pub share: f64,
    /// The multiply-accumulates of all calls together; `None` if those of a call are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macs: Option<u64>,
}

/// The things whose times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimesBy {
    /// Each instruction, and each step inside a delegate.
    Instruction,
    /// Operators and, inside delegates, the backend's names of its steps.
    Operator,
    /// Modules with the modules inside them: needs names.
    Module,
}

/// A change of time from the first trace to the second, in ticks for one run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimeChange {
    /// The name of what was timed; of a module its path, which is empty for the model itself.
    pub name: String,
    /// `true` if it is inside a backend or a module, whose time includes it.
    pub inside: bool,
    /// The chain of its instruction; `None` if times are added up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chain: Option<usize>,
    /// Index of its instruction in the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<usize>,
    /// The time in the first trace, in ticks; `None` if it was not measured there.
    pub before: Option<f64>,
    /// The time in the second trace, in ticks; `None` if it was not measured there.
    pub after: Option<f64>,
}

/// A change of a run's time from the first trace to the second, in ticks for one run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunChange<'t> {
    /// The name of the runs, as in [`RunProfile`].
    pub name: &'t str,
    /// The test case that was loaded before.
    pub test_case: Option<i32>,
    /// The time in the first trace, in ticks; `None` if it has no such runs.
    pub before: Option<f64>,
    /// The time in the second trace, in ticks; `None` if it has no such runs.
    pub after: Option<f64>,
    /// The changes of their steps, the largest first.
    pub changes: Vec<TimeChange>,
}

impl RunProfile<'_> {
    /// Returns the kernels that instructions run, as named by events: for a profile without a program.
    fn kernels(&self) -> BTreeMap<(Option<usize>, Option<usize>), &str> {
        let mut kernels = BTreeMap::new();
        for event in &self.events {
            if let (EventKind::Part, Some(name)) = (event.kind, event.name.strip_prefix(super::events::KERNEL)) {
                kernels.entry((event.chain, event.instruction)).or_insert(name);
            }
        }
        kernels
    }

    /// Returns the name under which an event is added up or, with its number, compared; `None` if it is not a step of a run or a part of one.
    fn step(
        &self,
        event: &EventProfile<'_>,
        kernels: &BTreeMap<(Option<usize>, Option<usize>), &str>,
        numbered: bool,
    ) -> Option<String> {
        let backend = match &event.runs {
            Some(EventTarget::Delegate { backend, .. }) => backend,
            _ => NO_BACKEND,
        };
        match (event.kind, &event.runs) {
            (EventKind::Instruction, Some(EventTarget::Delegate { backend, .. })) => Some((*backend).into()),
            (EventKind::Instruction, Some(target)) => Some(target.to_string()),
            (EventKind::Instruction, None) => {
                Some((*kernels.get(&(event.chain, event.instruction)).unwrap_or(&event.name)).into())
            }
            (EventKind::Delegate, _) => {
                // XNNPACK numbers its steps.
                let plain = event.name.rsplit_once(" #").map_or(event.name, |(name, _)| name);
                let name = if numbered { event.name } else { plain };
                let number = event.delegate_debug_id.filter(|_| name.is_empty());
                Some(match number {
                    Some(number) => format!("{backend}: event {number}"),
                    None => format!("{backend}: {name}"),
                })
            }
            _ => None,
        }
    }

    /// Adds up the times by operator and, inside delegates, by the backend's names of its steps. The longest come first; steps come after
    /// their backend, the longest first.
    pub fn by_operator(&self) -> Vec<OperatorTime> {
        let kernels = self.kernels();
        let mut sums: BTreeMap<(bool, String), OperatorTime> = BTreeMap::new();
        for event in &self.events {
            if let Some(name) = self.step(event, &kernels, false) {
                let inside = event.kind == EventKind::Delegate;
                let new = || OperatorTime { name: name.clone(), inside, count: 0, total: 0, share: 0.0, macs: Some(0) };
                let sum = sums.entry((inside, name.clone())).or_insert_with(new);
                sum.count += event.count;
                sum.total = sum.total.saturating_add(event.total);
                sum.share += event.share;
                let macs = event.macs.map(|macs| macs.saturating_mul(event.count as u64));
                sum.macs = sum.macs.zip(macs).map(|(sum, macs)| sum.saturating_add(macs));
            }
        }
        let times: Vec<OperatorTime> = sums.into_values().collect();
        let (mut steps, mut times): (Vec<_>, Vec<_>) = times.into_iter().partition(|time| time.inside);
        times.sort_by_key(|item| core::cmp::Reverse(item.total));
        steps.sort_by_key(|item| core::cmp::Reverse(item.total));
        let mut of_backends: BTreeMap<&str, Vec<OperatorTime>> = BTreeMap::new();
        let names: Vec<String> = steps.iter().map(|step| backend_of(&step.name).into()).collect();
        for (step, backend) in steps.into_iter().zip(&names) {
            of_backends.entry(backend.as_str()).or_default().push(step);
        }
        let mut sorted = Vec::new();
        for time in times {
            let name = if time.name == DELEGATE_CALL { NO_BACKEND } else { &time.name };
            let steps = of_backends.get_mut(name).map(core::mem::take);
            sorted.push(time);
            sorted.extend(steps.into_iter().flatten());
        }
        // A trace can have the steps of a call without the call.
        sorted.extend(of_backends.into_values().flatten());
        sorted
    }

    /// Returns the times of its steps in one run.
    fn steps(&self, by: TimesBy) -> Vec<(Step, f64)> {
        let runs = self.count.max(1) as f64;
        let step = |name, inside, total| (Step { name, inside, place: None, nth: 0 }, total as f64 / runs);
        match by {
            TimesBy::Instruction => {}
            TimesBy::Operator => {
                let times = self.by_operator().into_iter();
                return times.map(|time| step(time.name, time.inside, time.total)).collect();
            }
            TimesBy::Module => {
                let modules = self.by_module().into_iter();
                let name = |path: Option<&str>| path.map_or_else(|| NO_MODULE.into(), String::from);
                return modules.map(|module| step(name(module.path), module.depth > 0, module.total)).collect();
            }
        }
        let kernels = self.kernels();
        let mut seen: BTreeMap<Step, usize> = BTreeMap::new();
        let mut steps = Vec::new();
        for event in &self.events {
            let Some(name) = self.step(event, &kernels, true) else { continue };
            let place = event.chain.zip(event.instruction);
            let mut step = Step { name, inside: event.kind == EventKind::Delegate, place, nth: 0 };
            let count = seen.entry(step.clone()).or_default();
            step.nth = *count;
            *count += 1;
            steps.push((step, event.total as f64 / runs));
        }
        steps
    }
}

/// The name of the sum of everything whose module is not known.
const NO_MODULE: &str = "(of no module, or not known)";

/// The name of a backend that is not known because the program is not given.
const NO_BACKEND: &str = "delegate";

/// Returns the backend of a step.
fn backend_of(step: &str) -> &str {
    step.split_once(": ").map_or(step, |(backend, _)| backend)
}

/// A step of a run, which is compared with the equal step of another run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    inside: bool,
    place: Option<(usize, usize)>,
    name: String,
    /// The number of equal steps before it.
    nth: usize,
}

impl<'t> Profile<'t> {
    /// Compares the times with those in `after`, for one run, by instruction or added up. The traces may be of different programs.
    pub fn compare(&self, after: &Profile<'t>, by: TimesBy) -> Vec<RunChange<'t>> {
        let pairs = run_pairs(&self.runs, &after.runs, |run| ((run.name, run.test_case), None));
        pairs.into_iter().map(|(before, after)| change(before, after, by)).collect()
    }

    /// Sets the times of the nodes of graphs, each for one run of its method. A node inside a delegate gets the time of the event that is
    /// linked to it.
    pub fn add_times(&self, graphs: &mut [Graph<'_>]) {
        for graph in graphs {
            for run in self.runs.iter().filter(|run| run.method == Some(graph.method)) {
                graph.add_times(run);
            }
        }
    }
}

fn change<'t>(before: Option<&RunProfile<'t>>, after: Option<&RunProfile<'t>>, by: TimesBy) -> RunChange<'t> {
    let mean = |run: &RunProfile<'_>| run.total as f64 / run.count.max(1) as f64;
    let mut times: BTreeMap<Step, [Option<f64>; 2]> = BTreeMap::new();
    for (step, time) in before.into_iter().flat_map(|run| run.steps(by)) {
        let [before, _] = times.entry(step).or_default();
        *before = Some(time);
    }
    for (step, time) in after.into_iter().flat_map(|run| run.steps(by)) {
        let [_, after] = times.entry(step).or_default();
        *after = Some(time);
    }
    let change = |(step, [before, after]): (Step, [Option<f64>; 2])| {
        let (chain, instruction) = step.place.unzip();
        TimeChange { name: step.name, inside: step.inside, chain, instruction, before, after }
    };
    let mut changes: Vec<TimeChange> = times.into_iter().map(change).collect();
    let size = |change: &TimeChange| (change.after.unwrap_or_default() - change.before.unwrap_or_default()).abs();
    changes.sort_by(|left, right| size(right).total_cmp(&size(left)));
    RunChange {
        name: before.or(after).map_or("", |run| run.name),
        test_case: before.or(after).and_then(|run| run.test_case),
        before: before.map(mean),
        after: after.map(mean),
        changes,
    }
}

impl Graph<'_> {
    fn add_times(&mut self, run: &RunProfile<'_>) {
        let runs = run.count.max(1) as f64;
        let mut times: BTreeMap<(usize, usize, Option<usize>), u64> = BTreeMap::new();
        for event in &run.events {
            let Some(place) = event.chain.zip(event.instruction) else { continue };
            let node = match (event.kind, &event.node) {
                (EventKind::Instruction, _) => None,
                (EventKind::Delegate, Some(node)) => Some(node.index),
                _ => continue,
            };
            let time = times.entry((place.0, place.1, node)).or_default();
            *time = time.saturating_add(event.total);
        }
        let inside = self.payload_indices();
        for (node, inside) in self.nodes.iter_mut().zip(inside) {
            let Some(place) = node.instruction else { continue };
            node.time = times.get(&(place.chain, place.instruction, inside)).map(|time| *time as f64 / runs);
        }
    }

    /// Appends the times of nodes to their labels, for pictures.
    pub fn label_times(&mut self, show: &dyn Fn(f64) -> String) {
        for node in &mut self.nodes {
            if let Some(time) = node.time {
                node.label = format!("{} ({})", node.label, show(time));
            }
        }
    }
}
