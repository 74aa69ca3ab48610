//! A timeline from an ETDump: every timing by itself.

use super::events::{Key, Methods, Times, instruction, plan_of, target};
use super::profile::EventKind;
use crate::analysis::Analysis;
use crate::file::etdp::Etdp;
use crate::names::shortened;
use alloc::{format, string::String, vec::Vec};

/// Something that was timed once.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TimelineEvent {
    /// The name of what ran.
    pub name: String,
    /// The kind of thing that was timed.
    pub kind: EventKind,
    /// The index of its run, in the file's order.
    pub run: usize,
    /// Index of its instruction in its chain.
    pub instruction: Option<usize>,
    /// The start, in ticks.
    pub start: u64,
    /// The duration, in ticks.
    pub ticks: u64,
}

pub(super) fn timeline<'t, 'p: 't>(
    etdp: &'t Etdp<'_>,
    program: Option<&Analysis<'p>>,
    method: Option<&str>,
) -> Vec<TimelineEvent> {
    let mut all = Vec::new();
    let methods = program.map(Methods::of);
    for (index, run) in etdp.etdump.run_data().iter().enumerate() {
        // Mismatches are reported by the profile.
        let mut mismatches = Vec::new();
        let keys = Times::of(run, index, &mut mismatches).keys;
        let plan = methods.as_ref().and_then(|all| plan_of(all, method, (index, &keys), &mut mismatches));
        for (_, event) in run.profile_events() {
            let key = Key::of(event);
            let place = key.place();
            let target = plan.and_then(|plan| target(plan, instruction(plan, place?)?));
            let own = key.delegate_id.or(key.name).unwrap_or_default();
            let name = match (key.kind(), target) {
                (EventKind::Instruction, Some(target)) => format!("{target}"),
                (EventKind::Delegate, _) if own.is_empty() => format!("event {}", key.delegate_number),
                _ => String::from(shortened(own)),
            };
            let ticks = event.end_time.saturating_sub(event.start_time);
            let instruction = place.map(|(_, instruction)| instruction);
            all.push(TimelineEvent { name, kind: key.kind(), run: index, instruction, start: event.start_time, ticks });
        }
    }
    all
}
