//! Minimizes programs while a verdict about them stays wrong.

use crate::Case;
use crate::has_meaning;
use crate::judge::{Server, runs, truth, verdict};
use crate::program::{Plan, Program, Step, Value};
use crate::shadow::Seen;
use executorch_format::verify::Level;
use executorch_format_support::verdict::findings;
use std::path::Path;

/// Writes the smallest program with the same disagreement, its reference, and a description into the folder.
pub fn keep(case: &Case, server: &mut Server, folder: &Path) {
    let (program, seen) = minimize(case, server);
    let name = format!("{:?}-{:?}-{}", case.truth, case.verdict, case.name())
        .replace(['/', '"', '(', ')'], "-")
        .to_lowercase();
    std::fs::write(folder.join(format!("{name}.pte")), program.file(&case.plan)).unwrap();
    std::fs::write(folder.join(format!("{name}.reference.pte")), program.file(&program.apart())).unwrap();
    let file = program.file(&case.plan);
    let found: String =
        findings(&[&file], Level::Strict).iter().map(|found| format!("{}: {}\n", found.rule, found.message)).collect();
    let text = format!(
        "{found}case {}\nplan {:?}\ntruth {:?}\nverdict {:?}\nshadow {seen:?} (step, value; the last step is the end)\nruns {} with seed {}\n",
        case.name(),
        case.kind,
        case.truth,
        case.verdict,
        runs(&program),
        case.seed,
    );
    std::fs::write(folder.join(format!("{name}.txt")), text).unwrap();
}

fn minimize(case: &Case, server: &mut Server) -> (Program, Seen) {
    let (mut program, mut seen) = (case.program.clone(), case.seen);
    let mut attempt = |program: &mut Program, smaller: Program| {
        let Some(found) = same(case, &smaller, &case.plan, server) else { return false };
        (*program, seen) = (smaller, found);
        true
    };
    loop {
        let before = (program.steps.len(), program.outputs.len(), program.inputs.len());
        // Removes steps, first many at once and then one by one.
        let mut count = program.steps.len();
        while count > 0 {
            let mut start = 0;
            while start + count <= program.steps.len() {
                let smaller = without_steps(&program, start, count);
                if !attempt(&mut program, smaller) {
                    start += 1.max(count / 2);
                }
            }
            count /= 2;
        }
        for list in 0..2 {
            let mut index = 0;
            loop {
                let mut smaller = program.clone();
                let items = if list == 0 { &mut smaller.outputs } else { &mut smaller.inputs };
                if index >= items.len() {
                    break;
                }
                items.remove(index);
                if !attempt(&mut program, smaller) {
                    index += 1;
                }
            }
        }
        if (program.steps.len(), program.outputs.len(), program.inputs.len()) == before {
            break;
        }
    }
    let smaller = without_unused(&program);
    attempt(&mut program, smaller);
    (program, seen)
}

/// Returns the shadow's judgement, if the program has a meaning and the same verdict about it is wrong.
fn same(case: &Case, program: &Program, plan: &Plan, server: &mut Server) -> Option<Seen> {
    if !has_meaning(program, case.seed) {
        return None;
    }
    let file = program.file(plan);
    if verdict(&file) != (case.verdict, case.others.clone()) {
        return None;
    }
    let results = server.run(case.seed, runs(program), &[program.file(&program.apart()), file]);
    if results[0].contains(' ') && results[0].split_whitespace().any(|result| result.len() != 16) {
        return None;
    }
    let (truth, seen) = truth(program, plan, [&results[0], &results[1]], case.verdict, case.seed, 60);
    (truth == case.truth).then_some(seen)
}

fn without_steps(program: &Program, start: usize, count: usize) -> Program {
    let mut smaller = program.clone();
    smaller.steps.drain(start..start + count);
    for step in &mut smaller.steps {
        if let Step::Jump { to, .. } = step {
            *to = if *to >= start + count { *to - count } else { (*to).min(start) };
        }
    }
    smaller
}

/// Returns the program without unused values, so that the file is easy to read.
fn without_unused(program: &Program) -> Program {
    let mut used = vec![false; program.values.len()];
    let mut queue: Vec<usize> = program.inputs.iter().chain(&program.outputs).copied().collect();
    for step in &program.steps {
        queue.extend(program.mentions(step));
        if let Step::Call { args, .. } = step {
            queue.extend(args);
        }
    }
    while let Some(value) = queue.pop() {
        if !std::mem::replace(&mut used[value], true) {
            if let Value::Ints(items) | Value::Tensors(items) | Value::OptionalTensors(items) = &program.values[value] {
                queue.extend(items);
            }
        }
    }
    // Indices stay: unused values become nulls, which cost at most a line.
    let mut smaller = program.clone();
    for (value, used) in smaller.values.iter_mut().zip(used) {
        if !used {
            *value = Value::Null;
        }
    }
    smaller
}
