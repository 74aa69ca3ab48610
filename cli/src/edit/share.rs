//! `pte dedup --data SHARED.ptd` for several files: moves what they share into one `.ptd`.

use super::dedup::Arguments;
use super::{Output, checked, findings_with, finish, open, refuse};
use crate::context::Context;
use crate::failure::Failure;
use crate::save::{Pending, make_output_folder};
use crate::{lock, text};
use executorch_format::edit::{EditReport, share};
use executorch_format::{Model, PtdOptions};
use std::path::{Path, PathBuf};

/// Moves what several programs share into `data`.
pub(super) fn run<'a>(
    context: &Context,
    arguments: &'a Arguments,
    files: &[PathBuf],
    data: &'a Path,
) -> Result<Pending<'a>, Failure> {
    let destination = &arguments.destination;
    let how = destination.how();
    if !destination.is_given() && !how.dry_run {
        return Err(Failure::Usage("nothing to write to: give --output FOLDER or --in-place".into()));
    }
    let output = |file: &Path| match (destination.is_in_place(), destination.output()) {
        (true, _) => Some(file.to_owned()),
        (false, folder) => folder.map(|folder| folder.join(file.file_name().unwrap_or_default())),
    };
    let outputs: Vec<Option<PathBuf>> = files.iter().map(|file| output(file)).collect();
    if !how.dry_run {
        if let Some(folder) = destination.output() {
            make_output_folder(folder)?;
        }
        for output in outputs.iter().flatten().map(PathBuf::as_path).chain([data]) {
            lock::before_reading(context, output)?;
        }
    }
    let inputs = open(context, files)?;
    let (mut programs, mut places, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (input, output) in inputs.iter().zip(&outputs) {
        match input.parse()? {
            Model::Pte(pte) => {
                programs.push(pte);
                places.push((input, output.as_deref()));
            }
            Model::Ptd(ptd) => others.push(ptd),
            _ => return Err(Failure::Usage(format!("{}: expected a .pte or .ptd", text::path(input.path())))),
        }
    }
    let min_size = arguments.min_size.unwrap_or(0);
    let shared = share(&programs, &others, min_size, &PtdOptions::default())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let mut report = EditReport::default();
    let data_file = [shared.data];
    // The findings of each program before, and whether it stays as it is.
    let mut states = Vec::new();
    for ((((input, _), before), after), moved) in places.iter().zip(&programs).zip(&shared.programs).zip(shared.reports)
    {
        let found = findings_with(before, &others);
        refuse(input.path(), &after.new_errors_with(&data_file, &found))?;
        states.push((found, moved.changes.is_empty()));
        let size: u64 = moved.changes.iter().map(|change| change.size_before).sum();
        let (file, count) = (text::path(input.path()), text::count(moved.changes.len(), "blob"));
        report.notes.push(match moved.changes.is_empty() {
            true => format!("{file} has nothing that the others have, and stays as it is"),
            false => format!("{count} of {file} moved, {}", text::count_bytes(size)),
        });
        report.changes.extend(moved.changes);
        report.notes.extend(moved.notes);
    }
    if report.changes.is_empty() {
        let fault = "the files share no constant, initial state or named data: there is nothing to move";
        return Err(Failure::Usage(fault.into()));
    }
    let after: Vec<Model<'_>> = shared.programs.into_iter().map(Model::Pte).collect();
    // The data comes first: an old program does not need it, and a new one is useless without it.
    let mut results = vec![Output::new(Some(data), data_file[0].image(), data)?];
    for ((((input, output), before), after), (found, is_unchanged)) in
        places.iter().zip(&programs).zip(&after).zip(&states)
    {
        if destination.is_in_place() && *is_unchanged {
            continue;
        }
        let result = Output::of_image(*output, checked(input.path(), found, after)?);
        result.keeps(&before.trailing_bytes(), input.path())?;
        results.push(result);
    }
    let inputs: Vec<_> = inputs.iter().collect();
    finish(context, &inputs, results, report, how)
}
