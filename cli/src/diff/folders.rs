//! Compares the files of two folders, pairwise by name.

use super::{Arguments, DIFFERENT, FileDiff, Judge, UNREADABLE, print};
use crate::context::Context;
use crate::data::folder;
use crate::failure::Failure;
use crate::files::{FilePath, iter};
use crate::{json, parallel, text};
use anstyle::{AnsiColor, Style};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

const NEW: Style = AnsiColor::Green.on_default();
const GONE: Style = AnsiColor::Red.on_default();

/// A name, and the differences of the files with that name.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The path within the folder.
    file: String,
    /// The file in the first folder, if there is one.
    before: Option<String>,
    /// The file in the second folder, if there is one.
    after: Option<String>,
    #[serde(flatten)]
    found: Option<FileDiff>,
    errors: Vec<String>,
}

/// The number of names of each kind.
#[derive(Default)]
struct Counts {
    same: usize,
    different: usize,
    exceeding: usize,
    lonely: usize,
    failed: usize,
}

/// Compares two folders. A file in only one of them is a difference.
pub(super) fn run(context: &Context, arguments: &Arguments, judge: &Judge) -> Result<(), Failure> {
    let [before, after] = [names(context, &arguments.before)?, names(context, &arguments.after)?];
    let all: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    if all.is_empty() {
        let fault = "no .pte, .ptd, .bpte, .etdp or .etdump file in these folders";
        return Err(Failure::Usage(fault.to_owned()));
    }
    let mut documents = json::Files::start(context, &arguments.form);
    let (mut counts, mut code) = (Counts::default(), 0);
    let quiet = context.quiet || arguments.form.any();
    let all: Vec<_> = all.into_iter().map(|name| (name, before.get(name), after.get(name))).collect();
    let compare = |&(_, left, right): &(&PathBuf, Option<&PathBuf>, Option<&PathBuf>)| {
        let (left, right) = (left?, right?);
        Some(judge.compare(context, [left, right], [&beside(left, &before), &beside(right, &after)], [&[], &[]]))
    };
    parallel::in_order(&all, compare, |&(name, left, right), found| {
        let mut pair = Pair {
            file: name.display().to_string(),
            before: left.map(|path| path.display().to_string()),
            after: right.map(|path| path.display().to_string()),
            found: None,
            errors: Vec::new(),
        };
        match (left, right, found) {
            (Some(left), Some(right), Some(Ok(found))) => {
                code = code.max(if found.fails() { DIFFERENT } else { 0 });
                counts.same += usize::from(found.same);
                counts.different += usize::from(!found.same);
                counts.exceeding += usize::from(found.exceeded.is_some() && found.fails());
                if !quiet && (!found.same || found.fails()) {
                    print::text(context, left, right, &found, arguments.stat)
                        .map_err(|failure| failure.or_found(code))?;
                }
                pair.found = Some(found);
            }
            (_, _, Some(Err(failure))) => {
                counts.failed += 1;
                failure.report();
                code = UNREADABLE;
                pair.errors = failure.messages();
            }
            (left, ..) => {
                counts.lonely += 1;
                // Limits apply to two files. A file in only one folder is listed, and decides the exit code only if any difference does.
                if judge.limits == Default::default() || judge.limits.any {
                    code = code.max(DIFFERENT);
                }
                if !quiet {
                    let (mark, style, root) =
                        if left.is_some() { ('-', GONE, &arguments.before) } else { ('+', NEW, &arguments.after) };
                    let line = format!("{mark} {}: only in {}", text::path(name), text::path(root));
                    writeln!(anstream::stdout(), "{style}{line}{style:#}")?;
                }
            }
        }
        match &mut documents {
            Some(documents) => documents.add(&pair).map_err(|failure| failure.or_found(code)),
            None => Ok(()),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    if !quiet {
        let Counts { same, different, exceeding, lonely, failed } = counts;
        let mut line = format!("{same} the same, {different} different, {lonely} in one folder only");
        for (count, what) in [(exceeding, "over a limit"), (failed, "not comparable")] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        writeln!(anstream::stdout(), "{line}")?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// Returns the files of a folder, by their paths within it.
fn names(context: &Context, root: &Path) -> Result<BTreeMap<PathBuf, PathBuf>, Failure> {
    let name = |file: FilePath| (file.path.strip_prefix(root).unwrap_or(&file.path).to_owned(), file.path);
    iter(context, &[root.to_owned()], true).map(|file| file.map(name)).collect()
}

/// Returns the `.ptd` files in a program's folder.
fn beside(program: &Path, files: &BTreeMap<PathBuf, PathBuf>) -> Vec<PathBuf> {
    if program.extension().is_some_and(|ending| ending == "ptd") {
        return Vec::new();
    }
    let serves =
        |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "ptd") && folder(path) == folder(program);
    files.values().filter(serves).cloned().collect()
}
