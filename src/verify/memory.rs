//! Rules about the effects of instructions on memory: values must keep their bytes until the last use, and pointers must not be null.
//!
//! Memory planners let tensors share memory on purpose: one after the other, the result of an elementwise kernel in its input's memory,
//! a view in the memory of its base. An overlap is an error only if a value gets bytes that another value wrote.

use super::report::{POSSIBLE, Report};
use super::rule;
use crate::dataflow::{Branch, Calls, Conflict, Dataflow, DelegateOutputs, Event, Null, Rebound, Reordered, StaleView};
use crate::path::Path;
use crate::schema::program::{ExecutionPlan, InstructionArguments, Tensor, TensorShapeDynamism};
use crate::sorted::{find, set};
use alloc::string::String;
use alloc::{format, vec::Vec};
use core::fmt::Write;

/// The values of a method that keep their content from run to run.
pub(super) struct Kept {
    /// Those that are known to, in order.
    pub known: Vec<u32>,
    /// See [`Dataflow::kept_apart`].
    pub apart: Option<Vec<u32>>,
}

/// Checks a method, and returns the values that keep their content.
pub(super) fn check(
    (method, plan): (usize, &ExecutionPlan<'_>),
    delegates: &DelegateOutputs,
    path: &Path<'_>,
    report: &mut Report<'_>,
) -> Kept {
    let mut flow = Dataflow::check(plan, &Calls::new(plan, method, delegates));
    flow.conflicts.sort();
    flow.conflicts.dedup_by_key(|found| (found.new, found.old));
    // Uses in the same run come first.
    flow.nulls.sort_by_key(|null| (null.tensor, null.freed_by, null.freed_by > Some(null.used_by), null.used_by));
    flow.nulls.dedup_by_key(|found| (found.tensor, found.freed_by));
    flow.stale_views.sort();
    flow.stale_views.dedup_by_key(|found| (found.view, found.base, found.other.is_some()));
    let mut unknown =
        flow.unknown.iter().find(|unknown| unknown.time.is_none()).map(|unknown| String::from(unknown.why));
    let method = Method { plan, instructions: plan.instructions().collect(), flow, path };
    for (shown, conflict) in method.flow.conflicts.iter().enumerate() {
        match method.doubt(conflict) {
            None => method.overlap(conflict, shown < MAX_PATHS, report),
            Some(why) => {
                unknown = unknown
                    .or_else(|| Some(format!("value {} may overwrite value {}, and {why}", conflict.new, conflict.old)))
            }
        }
    }
    if let Some(why) = unknown {
        report.add(rule::PLANNED_MEMORY_UNKNOWN, path, format_args!("{why}: not all overlaps were checked"));
    }
    for (shown, null) in method.flow.nulls.iter().enumerate() {
        method.null(null, shown < MAX_PATHS, report);
    }
    method.flow.reordered.iter().for_each(|found| method.reordered(found, report));
    method.flow.stale_views.iter().for_each(|found| method.stale(found, report));
    let rebound = method.flow.rebound.chunk_by(|left, right| left.output == right.output);
    rebound.for_each(|of_output| method.rebound(of_output, report));
    method.frees(report);
    method.loops(report);
    let is_certain = method.flow.unknown.is_empty();
    let is_state =
        |value: &u32| plan.tensor(*value).is_some_and(|tensor| is_certain || tensor.extra_tensor_info.is_some());
    Kept { known: method.flow.kept().filter(is_state).collect(), apart: method.flow.kept_apart() }
}

/// The number of findings for which paths are searched.
const MAX_PATHS: usize = 16;

/// Returns a text about the sizes and the dim order of a tensor.
fn layout(tensor: &Tensor<'_>) -> String {
    let text = tensor.shape().to_string_with(tensor.shape_dynamism);
    if tensor.shape().is_natural() { text + " contiguous" } else { text }
}

struct Method<'m, 't, 'a> {
    plan: &'t ExecutionPlan<'a>,
    /// The instructions of all chains, each with the indices of its chain and in it. Instruction `i` runs at time `i + 1`.
    instructions: Vec<((usize, usize), &'t InstructionArguments<'a>)>,
    flow: Dataflow,
    path: &'m Path<'m>,
}

impl Method<'_, '_, '_> {
    /// Returns the reason why a conflict is uncertain, if it is.
    fn doubt(&self, conflict: &Conflict) -> Option<&'static str> {
        let (write, read) = (self.flow.event(conflict.write)?, self.flow.event(conflict.read)?);
        if let Some(event) = [write, read].into_iter().find(|event| !event.certain) {
            let unknown = find(&self.flow.unknown, |unknown| unknown.time.cmp(&Some(event.time as usize)));
            return Some(unknown.map_or("what the call does is not known", |unknown| unknown.why));
        }
        if write.time != read.time && self.flow.may_be_base(conflict.new, conflict.memory) {
            return Some("the latter may as well be a view of the former");
        }
        let (_, instruction) = self.instructions.get((write.time as usize).checked_sub(1)?)?;
        let is_delegate = matches!(instruction, InstructionArguments::DelegateCall(_));
        let in_place = write.time == read.time && read.kind.reads() && conflict.places[0] == conflict.places[1];
        (is_delegate && in_place).then_some("whether the delegate runs in place is not known")
    }

    fn overlap(&self, conflict: &Conflict, with_path: bool, report: &mut Report<'_>) {
        let (Some(write), Some(read)) = (self.flow.event(conflict.write), self.flow.event(conflict.read)) else {
            return;
        };
        let Conflict { new, old, memory, places: [place, old_place], .. } = conflict;
        let mut text = format!(
            "bytes {} to {} of planned buffer {} overlap bytes {} to {} of value {old}",
            place.start, place.end, place.buffer, old_place.start, old_place.end
        );
        if memory != old {
            let _ = write!(text, ", which has the memory of value {memory}");
        }
        let writer = self.instruction(write);
        let _ = if write.time != read.time {
            write!(text, ": {writer} writes to them, and {} still needs value {old}", self.instruction(read))
        } else if read.kind.reads() {
            write!(text, ": {writer} reads value {old} while it writes value {new}")
        } else {
            write!(text, ": {writer} writes both")
        };
        if with_path && write.time != read.time {
            self.branches(write, read, &mut text);
        }
        let path = self.path.item("values", *new as usize);
        let path = path.field("val.Tensor");
        report.add(rule::PLANNED_MEMORY_OVERLAP, &path.field("allocation_info"), text);
    }

    fn null(&self, null: &Null, with_path: bool, report: &mut Report<'_>) {
        let (Some(used), Some(tensor)) = (self.flow.event(null.used_by), self.plan.tensor(null.tensor as usize)) else {
            return;
        };
        let path = self.path.item("values", null.tensor as usize);
        let path = path.field("val.Tensor");
        let Some(freed) = null.freed_by.and_then(|freed| self.flow.event(freed)) else {
            let found = format!("{} without planned memory or data, expected one of them", tensor.shape());
            return report.add(rule::TENSOR_MEMORY, &path, found);
        };
        let run = if freed.time < used.time { "" } else { " in the run before or an earlier round of a loop" };
        let mut text = format!("{} uses it after {} freed it{run}", self.instruction(used), self.instruction(freed));
        if with_path && freed.time < used.time {
            self.branches(freed, used, &mut text);
        }
        report.add(rule::USE_AFTER_FREE, &path, text);
    }

    /// Reports a view with elements in another order than they were written.
    fn reordered(&self, found: &Reordered, report: &mut Report<'_>) {
        let Reordered { view, base, read } = *found;
        let tensor = |value: u32| self.plan.tensor(value as usize);
        let (Some(tensor), Some(of), Some(read)) = (tensor(view), tensor(base), self.flow.event(read)) else { return };
        let is_dynamic = [tensor, of].iter().any(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC);
        let (effect, verb) = if is_dynamic { (POSSIBLE, "may read") } else { (rule::VIEW_LAYOUT.effect(), "reads") };
        let text = format!(
            "{} as a view of value {base}, {}, whose elements are at other places: {} {verb} them in the wrong order; call \
             `.contiguous()` before the view, or export with contiguous inputs",
            layout(tensor),
            layout(of),
            self.instruction(read)
        );
        let path = self.path.item("values", view as usize);
        report.add_as(effect, rule::VIEW_LAYOUT, &path.field("val.Tensor.dim_order"), None, text);
    }

    /// Reports a view whose bytes are elsewhere.
    fn stale(&self, found: &StaleView, report: &mut Report<'_>) {
        let StaleView { view, base, moved_by, read, other } = *found;
        let (Some(moved), Some(read)) = (self.flow.event(moved_by), self.flow.event(read)) else { return };
        let (effect, or, verb) = match other {
            Some(other) => (POSSIBLE, format!(" or of value {other}"), "may read"),
            None => (rule::STALE_VIEW.effect(), String::new(), "reads"),
        };
        let text = format!(
            "at the place of value {base}, as a view of it{or}, but {} makes value {base} a tensor at another place: {} {verb} \
             other bytes; export with `remove_view_copy=False`",
            self.instruction(moved),
            self.instruction(read)
        );
        let path = self.path.item("values", view as usize);
        report.add_as(effect, rule::STALE_VIEW, &path.field("val.Tensor.allocation_info"), None, text);
    }

    /// Reports an output in the caller's memory that is another tensor after a run. The caller then sets that tensor's pointer, to
    /// memory that it may free after the next run.
    fn rebound(&self, of_output: &[Rebound], report: &mut Report<'_>) {
        let Some(Rebound { output, tensor: first, .. }) = of_output.first().copied() else { return };
        let is_planned =
            |value: u32| self.plan.tensor(value as usize).is_some_and(|tensor| tensor.allocation_info.is_some());
        let keeps = |value: u32| {
            self.plan.tensor(value as usize).is_some_and(Tensor::has_data) || self.flow.kept().any(|kept| kept == value)
        };
        let found = || of_output.iter().map(|found| found.tensor);
        let harm = if let Some(value) = found().find(|value| keeps(*value)) {
            format!("the content of value {value} is lost")
        } else if let (true, Some(value)) = (of_output.len() > 1, found().find(|value| is_planned(*value))) {
            format!("a later run writes value {value} to memory that the caller may have freed")
        } else if let Some(view) = self.flow.views_of(first).next().filter(|_| is_planned(first)) {
            format!("value {view}, a view of value {first}, is read at its old place")
        } else {
            return;
        };
        let mut text = String::from("in the caller's memory, and after a run it is ");
        for (at, found) in of_output.iter().take(MAX_PATHS).enumerate() {
            let separator = if at > 0 { " or " } else { "" };
            let moved = self.flow.event(found.moved_by).map(|event| self.instruction(event)).unwrap_or_default();
            let _ = write!(text, "{separator}value {} ({moved})", found.tensor);
        }
        let _ = write!(
            text,
            ", whose pointer is set for the next run: {harm}; expected an output in planned memory (`alloc_graph_output`)"
        );
        let path = self.path.item("values", output as usize);
        report.add(rule::OUTPUT_REBOUND, &path.field("val.Tensor"), text);
    }

    /// Appends the branches from one event to another.
    fn branches(&self, from: &Event, to: &Event, text: &mut String) {
        const MAX_BRANCHES: usize = 8;
        let branches = self.flow.path(from.time as usize, to.time as usize);
        for (index, Branch { instruction, jumps }) in branches.iter().take(MAX_BRANCHES).enumerate() {
            let when = if index == 0 { ", when" } else { " and" };
            let verb = if *jumps { "jumps" } else { "does not jump" };
            let _ = write!(text, "{when} instruction {instruction} {verb}");
        }
    }

    /// Returns a text about the instruction of an event.
    fn instruction(&self, event: &Event) -> String {
        match (event.time as usize).checked_sub(1) {
            None => "setting the inputs".into(),
            Some(_) if event.time as usize == self.flow.end() => match event.kind {
                crate::dataflow::Kind::Keep => "the next run".into(),
                _ => "the caller".into(),
            },
            Some(instruction) => format!("instruction {instruction}"),
        }
    }

    /// Reports tensors that are freed although they are used outside the run.
    fn frees(&self, report: &mut Report<'_>) {
        let [inputs, outputs] = [self.plan.inputs(), self.plan.outputs()].map(|values| set(values.to_vec()));
        for ((chain, index), instruction) in self.instructions.iter().copied() {
            let InstructionArguments::FreeCall(call) = instruction else { continue };
            let Some(tensor) = self.plan.tensor(call.value_index) else { continue };
            let kind = if inputs.binary_search(&call.value_index).is_ok() {
                "an input"
            } else if outputs.binary_search(&call.value_index).is_ok() {
                "an output"
            } else if tensor.allocation_info.is_none() && tensor.has_data() {
                "a constant"
            } else {
                continue;
            };
            let path = self.path.item("chains", chain);
            let path = path.item("instructions", index);
            let path = path.field("instr_args.FreeCall");
            let found = format!("value {} is {kind}, expected a temporary tensor", call.value_index);
            report.add(rule::FREE_USED, &path.field("value_index"), found);
        }
    }

    /// Reports endless loops.
    fn loops(&self, report: &mut Report<'_>) {
        for time in self.flow.endless() {
            let Some(((chain, index), instruction)) = self.instructions.get(time).copied() else { continue };
            let InstructionArguments::JumpFalseCall(jump) = instruction else { continue };
            // A jump to itself breaks another rule.
            if usize::try_from(jump.destination_instruction) == Ok(index) {
                continue;
            }
            let path = self.path.item("chains", chain);
            let path = path.item("instructions", index);
            let path = path.field("instr_args.JumpFalseCall");
            let found = format!(
                "always jumps back to instruction {}, and nothing in between jumps out: the run never ends",
                jump.destination_instruction
            );
            report.add(rule::ENDLESS_LOOP, &path.field("destination_instruction"), found);
        }
    }
}
