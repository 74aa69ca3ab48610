//! `pte bundle`: lists the test cases of a bundle, extracts its program, or replaces it; and makes bundles.

use super::source::Source;
use super::{Destination, EditReport, Output, finish};
use crate::context::{Context, NAME};
use crate::failure::{Failure, each};
use crate::files::{self, FileArguments};
use crate::info::test_value;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::save::Pending;
use crate::table::{Column, Table};
use crate::text;
use clap::{Args, Subcommand};
use executorch_format::edit::{Action, Change, NewData, Subject};
use executorch_format::inspect::{BundleSummary, Content, TestValue};
use executorch_format::schema::program::KernelTypes;
use executorch_format::{Bpte, Error, Model};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// List test cases of a .bpte bundle, extract or replace its program
///
/// A program is extracted byte for byte. A new program must fit the test cases: it needs the method of each, with the same inputs and
/// outputs.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte bundle model.bpte
  pte bundle model.bpte --extract-program -o model.pte
  pte bundle model.bpte --program new.pte -i
  pte bundle create model.pte --case x.npy --expect y.npy -o model.bpte")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(mut_arg("files", |argument| argument.help(files::BUNDLES)))]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Command>,
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

#[derive(Subcommand)]
enum Command {
    Create(Create),
}

/// Make a bundle from a program and test cases, or add test cases to a bundle
///
/// Each case has one file for each tensor input of the method, in order; numbers are part of the program. For several cases, give --case
/// several times, or once with the files of all cases. --expect has the outputs of each case, or is left out.
#[derive(Args)]
#[command(after_help = "Examples:
  pte bundle create model.pte --case x.npy --expect y.npy -o model.bpte
  pte bundle create model.pte --case a.npy b.npy --case c.npy d.npy -o model.bpte
  pte bundle create model.bpte --method decode --case tokens.npy -i")]
struct Create {
    /// A .pte, or a .bpte to which the cases are added
    file: PathBuf,
    /// The method; may be left out if the program has one
    #[arg(long)]
    method: Option<String>,
    /// The inputs: .npy files; other files as for pte replace
    #[arg(long, required = true, num_args = 1.., value_name = "INPUT")]
    case: Vec<String>,
    /// The expected outputs
    #[arg(long, num_args = 1.., value_name = "OUTPUT")]
    expect: Vec<String>,
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
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let Arguments { action, files, extract_program, program, destination } = arguments;
    if let Some(Command::Create(arguments)) = action {
        return create(context, arguments);
    }
    if !extract_program && program.is_none() {
        if destination.is_given() {
            return Err(Failure::Usage("nothing to write: give --extract-program, or --program NEW.pte".into()));
        }
        list_all(context, files, &destination.how().form)?;
        return Ok(Pending::default());
    }
    let input = destination.open(context, files.single("a change of a bundle")?)?;
    let Model::Bpte(before) = input.parse()? else {
        return Err(Failure::usage_of(input.path(), &"expected a .bpte"));
    };
    let Some(program) = program else {
        return extract(context, &input, &before, destination);
    };
    let new = Input::open(context, program)?;
    let mut after = before.clone();
    let report = after.replace_program(new.bytes()).map_err(|error| Failure::bad(new.path(), &error))?;
    destination.finish(context, &input, before, after, report)
}

fn create<'a>(context: &Context, arguments: &'a Create) -> Result<Pending<'a>, Failure> {
    let Create { file, method, case, expect, destination } = arguments;
    let input = destination.open(context, file)?;
    let before = match input.parse()? {
        Model::Bpte(bpte) => bpte,
        Model::Pte(_) if destination.is_in_place() => {
            return Err(Failure::usage_of(file, &"a bundle cannot replace its program: give --output OUT"));
        }
        Model::Pte(_) => Bpte::new(input.bytes()),
        _ => return Err(Failure::usage_of(file, &"expected a .pte or .bpte")),
    };
    let program = before.program().map_err(|error| Failure::bad(input.path(), &error))?;
    let plan = match (method, program.methods()) {
        (Some(name), _) => program.method(name).ok_or_else(|| Failure::no_method(file, name, &program))?,
        (None, [only]) => only,
        (None, plans) => {
            let fault = format!("{}: name one with --method", text::count(plans.len(), "method"));
            return Err(Failure::usage_of(file, &fault));
        }
    };
    let is_tensor = |index: &&i32| matches!(plan.value(**index).map(|value| &value.val), Some(KernelTypes::Tensor(_)));
    let [inputs, outputs] = [plan.inputs(), plan.outputs()].map(|values| values.iter().filter(is_tensor).count());
    let cases = split(case, inputs, "input")?;
    let expected = split(expect, outputs, "output")?;
    if !expected.is_empty() && expected.len() != cases.len() {
        let [cases, expected] = [cases.len(), expected.len()].map(|count| text::count(count, "case"));
        return Err(Failure::Usage(format!(
            "{cases} with inputs, {expected} with outputs: expected the same number, or no outputs"
        )));
    }
    let open = |files: &[String]| files.iter().map(|file| Source::open(context, file)).collect::<Result<Vec<_>, _>>();
    let sources = [open(case)?, open(expect)?];
    let [case_data, expected_data] = [read(&sources[0])?, read(&sources[1])?];
    let expected = split(&expected_data, outputs, "output")?;
    let (mut after, mut report) = (before.clone(), EditReport::default());
    // Without expected outputs, a case consists of its inputs.
    let cases =
        split(&case_data, inputs, "input")?.into_iter().zip(expected.into_iter().chain(std::iter::repeat(&[][..])));
    for (index, (inputs, outputs)) in cases.enumerate() {
        let added = after
            .add_case(plan.name(), inputs, outputs)
            .map_err(|error| Failure::Usage(format!("case {index}: {error}")))?;
        report.changes.extend(added.changes);
    }
    let before = before.clone();
    destination.finish(context, &input, before, after.into_owned(), report)
}

fn read(sources: &[Source]) -> Result<Vec<NewData<'_>>, Failure> {
    sources.iter().map(|source| source.read("")).collect()
}

/// Splits a list of files, or of their data, into one part for each case.
fn split<'t, T>(files: &'t [T], count: usize, what: &str) -> Result<Vec<&'t [T]>, Failure> {
    match files.len().checked_rem(count) {
        Some(0) => Ok(files.chunks(count).collect()),
        None if files.is_empty() => Ok(Vec::new()),
        _ => {
            let found = text::count(files.len(), "file");
            Err(Failure::Usage(format!(
                "{found}, expected {} for each case, as the method has",
                text::count(count, what)
            )))
        }
    }
}

fn list_all(context: &Context, files: &FileArguments, form: &JsonArguments) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, form);
    let outcome = each(context, files, documents.as_mut(), |path, documents| {
        let input = Input::open(context, path)?;
        match input.parse()? {
            Model::Bpte(bpte) => list(context, path, bpte, files.are_several(), documents),
            _ if files.recursive => Ok(()),
            _ => Err(Failure::usage_of(path, &"expected a .bpte")),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

fn extract<'a>(
    context: &Context,
    input: &Input,
    bpte: &Bpte<'_>,
    destination: &'a Destination,
) -> Result<Pending<'a>, Failure> {
    let bad = |error: Error| Failure::bad(input.path(), &error);
    let program = bpte.program().map_err(bad)?;
    let output = Output::new(destination.path(input.path())?, program.image(), input.path())?;
    let size = bpte.bundled_program.program().len() as u64;
    let report = EditReport::from(vec![Change::new(Action::Extracted, Subject::Program, "", size, size)]);
    finish(context, &[input], vec![output], report, destination.how())
}

fn list(
    context: &Context,
    path: &Path,
    bpte: Bpte<'_>,
    named: bool,
    documents: Option<&mut json::Files>,
) -> Result<(), Failure> {
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
            let method = context.name(suite.method, NAME);
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
    let mut out = context.out();
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
