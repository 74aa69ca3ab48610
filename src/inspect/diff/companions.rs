//! Compares two bundles by their programs and test cases, and two traces by their runs and events.

use super::{Diff, DiffOptions, Difference, DifferenceKind, DifferenceSubject, Side, diff, matched, tree};
use crate::file::bpte::Bpte;
use crate::file::etdp::Etdp;
use crate::flatbuffer::any::AnyTable;
use crate::model::Model;
use crate::path::Path;
use crate::schema::bundled::BundledMethodTestSuite;
use crate::schema::etdump::{Event, RunData};
use alloc::borrow::ToOwned;
use alloc::{format, string::String, string::ToString, vec::Vec};

/// Compares the programs of bundles like other programs, and the test cases of methods of the same name.
pub(super) fn bundles([before, after]: [&Side<'_>; 2], bundles: [Option<&Bpte<'_>>; 2], options: &DiffOptions) -> Diff {
    let programs = bundles.map(|bundle| bundle.map(|bundle| bundle.program().map(Model::Pte)));
    let [program, other_program] = &programs;
    let program = program.as_ref().map_or(Ok(before.model), |program| program.as_ref());
    let other_program = other_program.as_ref().map_or(Ok(after.model), |program| program.as_ref());
    let bytes = bundles.map(|bundle| bundle.map(|bundle| bundle.bundled_program.program()));
    let mut found = match (program, other_program) {
        (Ok(program), Ok(other_program)) => {
            let before = Side { model: program, ..*before };
            diff(&before, &Side { model: other_program, ..*after }, options)
        }
        _ if bytes[0] == bytes[1] => Diff::default(),
        (program, other_program) => {
            let text = |program: Result<_, &crate::Error>| {
                program.map_or_else(|error| error.to_string(), |_| "readable".into())
            };
            let mut found = Diff::default();
            let change = Difference::new(DifferenceSubject::File, DifferenceKind::Changed, None, "program");
            let (before, after) = (Some(text(program)), Some(text(other_program)));
            found.differences.push(Difference { before, after, ..change });
            found
        }
    };
    let [version, other_version] = bundles.map(|bundle| Some(bundle?.bundled_program.version.to_string()));
    if version.is_some() && other_version.is_some() && version != other_version {
        let change = Difference::new(DifferenceSubject::File, DifferenceKind::Changed, None, "bundle version");
        found.differences.push(Difference { before: version, after: other_version, ..change });
    }
    let name = |suite: &&BundledMethodTestSuite<'_>| suite.method_name().to_owned();
    let [suites, other_suites] =
        bundles.map(|bundle| bundle.map_or(&[][..], |bundle| bundle.bundled_program.method_test_suites()));
    for pair in matched(&mut suites.iter(), &mut other_suites.iter(), &name) {
        let (before, after) = (pair.before(), pair.after());
        let method = Some(pair.any().method_name());
        let cases = before.map_or(&[][..], |suite| suite.test_cases());
        let other_cases = after.map_or(&[][..], |suite| suite.test_cases());
        for index in 0..cases.len().max(other_cases.len()) {
            let (case, other_case) = (cases.get(index), other_cases.get(index));
            let case = case.map(|case| case as &dyn AnyTable);
            let other_case = other_case.map(|case| case as &dyn AnyTable);
            tables(&mut found, DifferenceSubject::TestCase, method, &index.to_string(), case, other_case);
        }
        if cases.is_empty() && other_cases.is_empty() && before.is_some() != after.is_some() {
            let kind = if before.is_some() { DifferenceKind::Removed } else { DifferenceKind::Added };
            found.differences.push(Difference::new(
                DifferenceSubject::TestCase,
                kind,
                method,
                "none: the suite is empty",
            ));
        }
    }
    if bundles.iter().any(Option::is_none) {
        let [before, after] = [before, after].map(|side| Some(side.model.kind().to_string()));
        let change = Difference::new(DifferenceSubject::File, DifferenceKind::Changed, None, "kind");
        found.storage.push(Difference { before, after, ..change });
    }
    found
}

/// Compares runs by their order, and the events of each run by theirs.
pub(super) fn traces(left: &Etdp<'_>, right: &Etdp<'_>) -> Diff {
    let mut found = Diff::default();
    if left.etdump.version != right.etdump.version {
        let change = Difference::new(DifferenceSubject::File, DifferenceKind::Changed, None, "version");
        let (before, after) = (Some(left.etdump.version.to_string()), Some(right.etdump.version.to_string()));
        found.differences.push(Difference { before, after, ..change });
    }
    let (runs, other_runs) = (left.etdump.run_data(), right.etdump.run_data());
    for index in 0..runs.len().max(other_runs.len()) {
        let (run, other_run) = (runs.get(index), other_runs.get(index));
        let (Some(run), Some(other_run)) = (run, other_run) else {
            let (run, other_run) = (run.map(as_table), other_run.map(as_table));
            tables(&mut found, DifferenceSubject::Run, None, &index.to_string(), run, other_run);
            continue;
        };
        let name = format!("{index}{}", called(run.name()));
        let (events, other_events) = (run.events(), other_run.events());
        let (head, other_head) = (without_events(run), without_events(other_run));
        tables(&mut found, DifferenceSubject::Run, None, &name, Some(&head), Some(&other_head));
        for event in 0..events.len().max(other_events.len()) {
            let (left, right) = (events.get(event), other_events.get(event));
            let what = left.or(right).map(event_name).unwrap_or_default();
            let name = format!("{event} of run {name}{what}");
            let (left, right) = (left.map(|left| left as &dyn AnyTable), right.map(|right| right as &dyn AnyTable));
            tables(&mut found, DifferenceSubject::Event, None, &name, left, right);
        }
    }
    found
}

fn as_table<'t>(run: &'t RunData<'_>) -> &'t dyn AnyTable {
    run
}

/// Returns a run without its events, which are compared one by one.
fn without_events<'a>(run: &RunData<'a>) -> RunData<'a> {
    let (name, allocators) = (run.name.clone(), run.allocators.clone());
    RunData { name, bundled_input_index: run.bundled_input_index, allocators, events: None }
}

/// Formats a name in parentheses, cut because each difference repeats it.
fn called(name: &str) -> String {
    const MAX_NAME: usize = 60;
    let short: String = name.chars().take(MAX_NAME).collect();
    format!(" ({short}{})", if short.len() < name.len() { "…" } else { "" })
}

fn event_name(event: &Event<'_>) -> String {
    let name = match (&event.profile_event, &event.debug_event) {
        (Some(event), _) => event.name.as_deref().or(event.delegate_debug_id_str.as_deref()),
        (None, Some(event)) => event.name.as_deref().or(event.delegate_debug_id_str.as_deref()),
        (None, None) => None,
    };
    name.map(called).unwrap_or_default()
}

/// Compares two tables field by field, or reports that only one is present.
fn tables(
    found: &mut Diff,
    subject: DifferenceSubject,
    method: Option<&str>,
    name: &str,
    left: Option<&dyn AnyTable>,
    right: Option<&dyn AnyTable>,
) {
    let (Some(left), Some(right)) = (left, right) else {
        let kind = if left.is_some() { DifferenceKind::Removed } else { DifferenceKind::Added };
        return found.differences.push(Difference::new(subject, kind, method, name));
    };
    let mut fields: Vec<Difference> = Vec::new();
    tree::compare(left, right, &Path::ROOT, &mut |path, before, after| {
        let change = Difference::new(subject, DifferenceKind::Changed, method, format!("{name} {path}"));
        fields.push(Difference { before: Some(before), after: Some(after), ..change });
    });
    found.differences.append(&mut fields);
}
