//! `pte bundle`: lists the test cases of a bundle, extracts its program, or replaces it.

use super::{Destination, EditReport, Output, finish};
use crate::failure::{Failure, each};
use crate::files::{self, FileArguments};
use crate::info::test_value;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::save::Pending;
use crate::table::{Column, Table};
use crate::text;
use executorch_format::edit::{Action, Change, Subject};
use executorch_format::inspect::{BundleSummary, Content, TestValue};
use executorch_format::{Bpte, Error, Model};
use serde::Serialize;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// List test cases of a .bpte bundle, extract or replace its program
///
/// A program is extracted byte for byte. A new program must fit the test cases: it needs the method of each, with the same inputs and
/// outputs.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte bundle model.bpte
  pte bundle model.bpte --extract-program -o model.pte
  pte bundle model.bpte --program new.pte -i")]
#[command(mut_arg("files", |argument| argument.help(files::BUNDLES)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// Write the program to --output
    #[arg(long, conflicts_with_all = ["program", "in_place"])]
    extract_program: bool,
    /// Replace the program by this .pte
    #[arg(long, value_name = "NEW.pte")]
    program: Option<PathBuf>,
    #[command(flatten)]
    destination: Destination,
}

/// The content of a bundle, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Listing<'t> {
    file: String,
    #[serde(flatten)]
    bundle: BundleSummary<'t>,
    errors: json::None,
}

/// Lists bundles, or changes one.
pub fn run(arguments: &Arguments) -> Result<Pending<'_>, Failure> {
    let Arguments { files, extract_program, program, destination } = arguments;
    if !extract_program && program.is_none() {
        if destination.is_given() {
            return Err(Failure::Usage("nothing to write: give --extract-program, or --program NEW.pte".into()));
        }
        list_all(files, &destination.how().form)?;
        return Ok(Pending::default());
    }
    let input = destination.open(files.single("a change of a bundle")?)?;
    let Model::Bpte(before) = input.parse()? else {
        return Err(Failure::usage_of(input.path(), &"expected a .bpte"));
    };
    let Some(program) = program else {
        return extract(&input, &before, destination);
    };
    let new = Input::open(program)?;
    let mut after = before.clone();
    let report = after.replace_program(new.bytes()).map_err(|error| Failure::bad(new.path(), &error))?;
    destination.finish(&input, before, after, report)
}

fn list_all(files: &FileArguments, form: &JsonArguments) -> Result<(), Failure> {
    let mut documents = form.any().then(|| json::Files::start(form));
    let outcome = each(files, documents.as_mut(), |path, documents| {
        let input = Input::open(path)?;
        match input.parse()? {
            Model::Bpte(bpte) => list(path, bpte, files.are_several(), documents),
            _ if files.recursive => Ok(()),
            _ => Err(Failure::usage_of(path, &"expected a .bpte")),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

fn extract<'a>(input: &Input, bpte: &Bpte<'_>, destination: &'a Destination) -> Result<Pending<'a>, Failure> {
    let bad = |error: Error| Failure::bad(input.path(), &error);
    let program = bpte.program().map_err(bad)?;
    let output = Output::new(destination.path(input.path())?, program.image(), input.path())?;
    let size = bpte.bundled_program.program().len() as u64;
    let report = EditReport::from(vec![Change::new(Action::Extracted, Subject::Program, "", size, size)]);
    finish(&[input], vec![output], report, destination.how())
}

fn list(path: &Path, bpte: Bpte<'_>, named: bool, documents: Option<&mut json::Files>) -> Result<(), Failure> {
    let Content::Bundle(bundle) = bpte.summary().content else { return Ok(()) };
    if let Some(documents) = documents {
        return documents.add(&Listing { file: path.display().to_string(), bundle, errors: [] });
    }
    let mut table = Table::new([
        ("METHOD", Column::Left),
        ("CASE", Column::Right),
        ("VALUE", Column::Left),
        ("SIZE", Column::Right),
        ("WHAT", Column::Left),
    ]);
    let mut cases = 0;
    for suite in &bundle.test_suites {
        for (index, case) in suite.test_cases.iter().enumerate() {
            cases += 1;
            let inputs = case.inputs.iter().enumerate().map(|(at, value)| (format!("input {at}"), value));
            let outputs = case.expected_outputs.iter().enumerate();
            let outputs = outputs.map(|(at, value)| (format!("expected output {at}"), value));
            let method = text::name(suite.method, 40);
            for (what, value) in inputs.chain(outputs) {
                table.row(row(method.clone(), index, what, value));
            }
            if case.expected_outputs.is_empty() {
                let what = ["expected outputs", "", "none: nothing is compared"].map(str::to_owned);
                let [what, size, none] = what;
                table.row([method, index.to_string(), what, size, none]);
            }
        }
    }
    let mut out = BufWriter::new(anstream::stdout().lock());
    if named {
        writeln!(out, "{}:", text::path(path))?;
    }
    table.write(&mut out)?;
    let (cases, size) = (text::count(cases, "test case"), text::size(bundle.program_size));
    writeln!(out, "{cases} for {}, and a program of {size}", text::count(bundle.test_suites.len(), "method"))?;
    Ok(out.flush()?)
}

fn row(method: String, case: usize, what: String, value: &TestValue<'_>) -> [String; 5] {
    [method, case.to_string(), what, value.size.map(text::size).unwrap_or_default(), test_value(value)]
}
