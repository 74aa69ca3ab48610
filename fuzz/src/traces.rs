//! Traces, with a program and compared with each other.

use crate::limits::Output;
use crate::pair::pair;
use executorch_format::convert::Npy;
use executorch_format::inspect::TimesBy;
use executorch_format::{Analysis, Etdp, Pte};

const PROGRAM: &[u8] = include_bytes!("../../tests/data/payloads/profile_xnnpack.pte");

const DEBUG_PROGRAM: &[u8] = include_bytes!("../../tests/data/payloads/profile_debug.pte");

/// Lists every timing of a trace, adds the times to a program's graphs, and compares the times with those of another trace.
pub fn timeline(bytes: &[u8]) {
    let files = pair(bytes);
    let [Ok(before), Ok(after)] = files.each_ref().map(|file| Etdp::parse(file)) else { return };
    let pte = Pte::parse(PROGRAM).expect("a good file");
    let analysis = Analysis::new(&pte);
    let opened = files[0].len() + files[1].len() + PROGRAM.len();
    for program in [None, Some(&analysis)] {
        Output::of(opened).json(&before.timeline(program, None));
        let profiles = [before.profile(program, None), after.profile(program, None)];
        let mut graphs = analysis.graphs();
        for run in &profiles[0].runs {
            run.by_operator();
        }
        profiles[0].add_times(&mut graphs);
        Output::of(opened).json(&graphs);
        for by in [TimesBy::Instruction, TimesBy::Operator, TimesBy::Module] {
            Output::of(opened).json(&profiles[0].compare(&profiles[1], by));
        }
        Output::of(opened).json(&profiles[0]);
    }
}

/// Compares the values that two runs recorded, and with an array.
pub fn debug_gaps(bytes: &[u8]) {
    let files = pair(bytes);
    let [Ok(before), Ok(after)] = files.each_ref().map(|file| Etdp::parse(file)) else { return };
    let pte = Pte::parse(DEBUG_PROGRAM).expect("a good file");
    // Each trace is its own debug buffer.
    let analysis = Analysis::new(&pte);
    let opened = 2 * (files[0].len() + files[1].len()) + DEBUG_PROGRAM.len();
    for program in [None, Some(&analysis)] {
        let mut values = before.debug_values(Some(&files[0]), program, None);
        let others = after.debug_values(Some(&files[1]), program, None);
        let mut gaps = values.compare(&others);
        gaps.iter_mut().for_each(|run| run.sort_by_gap());
        Output::of(opened).json(&gaps);
        let views = values.runs.iter().flat_map(|run| &run.values).filter_map(|value| value.tensor.as_ref());
        let views: Vec<_> = views.filter_map(|tensor| tensor.view().ok().flatten()).take(4).collect();
        let arrays: Vec<_> = views.iter().filter_map(|view| Npy::of(view).ok()).collect();
        let references: Vec<_> = arrays.iter().filter_map(|array| Some(("add.out", array.view().ok()?))).collect();
        Output::of(opened).json(&values.compare_with(&references));
        drop((references, views));
        values.count(16);
        Output::of(opened).json(&values.runs);
    }
}
