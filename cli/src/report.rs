//! `pte report`: a page about a file.

mod models;

use crate::context::Context;
use crate::data::{DataArguments, serving, with_data};
use crate::existing::refuse_foreign;
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::graph::{Times, is_too_large, too_large};
use crate::json::{self, JsonArguments};
use crate::names::NamesArguments;
use crate::open::{Input, Unbundled};
use crate::profile::{Tick, time};
use crate::save::{make_output_folder, save_with};
use crate::size::{Offer, offers};
use crate::text;
use executorch_format::Analysis;
use executorch_format::Model;
use executorch_format::inspect::{Drawing, Report};
use executorch_format::verify::{Finding, Level, Releases, Target};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// Write a page about a file for a browser: sizes, memory, graph, operators, weights, findings
#[derive(clap::Args)]
#[command(
    after_help = "The page is one HTML file that needs no network. It has names, shapes and histograms of values, but no weights.\n\n\
    Examples:\n  pte report model.pte -o model.html\n  pte report --compare fp32.pte int8.pte -o models.html"
)]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// The file for the page; - is standard output; for several files, the folder for the pages
    #[arg(short, long, value_name = "HTML", required_unless_present_any = ["json", "jsonl"])]
    output: Option<PathBuf>,
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    names: NamesArguments,
    /// Add the time that each node of the graph took, from an ETDump of this program
    #[arg(long, value_name = "TRACE.etdp")]
    trace: Option<PathBuf>,
    /// Write one page that shows the files beside each other: methods, inputs and outputs, size, parameters, multiply-accumulates, memory, backends,
    /// kernels and verdict
    #[arg(long, requires = "output", conflicts_with = "trace")]
    compare: bool,
    #[command(flatten)]
    form: JsonArguments,
}

/// The text at the start of each page.
const MARK: &str = "<title>ExecuTorch file</title>";

/// The input of the viewer.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Page<'t> {
    file: String,
    /// Bytes.
    file_size: u64,
    /// The start of the program in a bundle; all other fields are then about the program alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    program_offset: Option<u64>,
    #[serde(flatten)]
    report: &'t Report<'t>,
    savings: Vec<Offer>,
    findings: Vec<Finding>,
    /// The releases that load the file, and the behaviour of each.
    releases: Releases,
    errors: json::None,
}

/// Returns the page about a file with the name `name` and this size in bytes, which for an unsaved file is its future size.
pub fn page(name: &str, file_size: u64, model: &Model<'_>, report: &Report<'_>) -> io::Result<Vec<u8>> {
    let page = Page {
        file: name.to_owned(),
        file_size,
        program_offset: None,
        report,
        savings: Vec::new(),
        findings: model.verify(Level::Strict),
        releases: model.releases(&Target::default(), None),
        errors: [],
    };
    let mut html = Vec::new();
    executorch_format_viewer::write_page(&mut html, |out| Ok(serde_json::to_writer(out, &page)?))?;
    Ok(html)
}

/// Writes the page of each file.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.form.any() && arguments.output.is_some() {
        return Err(Failure::Usage("--output cannot be used with --json or --jsonl".to_owned()));
    }
    if let (Some(output), true) = (&arguments.output, arguments.compare) {
        return models::write(context, arguments, output);
    }
    let several = arguments.files.are_several();
    if let Some(folder) = arguments.output.as_deref().filter(|_| several) {
        make_output_folder(folder)?;
    }
    let opened = arguments.data.open(context, &arguments.files)?;
    let data = opened.parse();
    let mut written = HashMap::new();
    let mut documents = json::Files::start(context, &arguments.form);
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(context, path)?;
        let Unbundled { model, program_offset } = input.unbundled()?;
        // Before the report, because all of them take memory for each instruction while they are found.
        let savings = if program_offset.is_none() { offers(path, &model) } else { Vec::new() };
        let findings = model.verify(Level::Strict);
        let ptds = serving(&data, path);
        let given = (!ptds.is_empty()).then_some(&*ptds);
        let releases = model.releases(&Target::default(), given);
        let write = |mut report: Report<'_>| {
            if let (Some(trace), Model::Pte(pte)) = (&arguments.trace, &model) {
                let (trace, analysis) = (Times::open(context, trace)?, Analysis::new(pte));
                for drawing in &mut report.graphs {
                    trace.put_on(&analysis, std::slice::from_mut(&mut drawing.graph))?;
                    drawing.graph.label_times(&|ticks| time(ticks, Tick::Ns));
                    *drawing = Drawing::of(std::mem::take(&mut drawing.graph));
                }
            }
            if let Some(drawing) = report.graphs.iter().find(|drawing| is_too_large(&drawing.graph)) {
                context.say(format_args!("{}: {}", text::path(path), too_large(&drawing.graph)));
            }
            let inside = if program_offset.is_some() { ", the program inside" } else { "" };
            let name = path.file_name().unwrap_or(path.as_os_str());
            let file = if arguments.form.any() { path.as_os_str() } else { name }.to_string_lossy();
            let page = Page {
                file: if arguments.form.any() { file.into_owned() } else { format!("{file}{inside}") },
                file_size: model.source().map_or(0, |source| source.bytes.len() as u64),
                program_offset,
                report: &report,
                savings,
                findings,
                releases,
                errors: [],
            };
            let output = match (documents, &arguments.output) {
                (Some(documents), _) => return documents.add(&page),
                (None, Some(output)) if !several => output.clone(),
                (None, output) => {
                    let folder = output.as_deref().unwrap_or(Path::new(""));
                    let output = folder.join(format!("{}.html", name.to_string_lossy()));
                    if let Some(other) = written.insert(output.clone(), path.to_owned()) {
                        let (output, other) = (text::path(&output), text::path(&other));
                        let fault = format!("{output} has the page of {other}: write this page into another folder");
                        return Err(Failure::usage_of(path, &fault));
                    }
                    refuse_foreign(&output, MARK)?;
                    output
                }
            };
            save_with(context, &output, |out| {
                executorch_format_viewer::write_page(out, |out| json::Form::LINE.write(out, &page))
            })
        };
        match &model {
            Model::Pte(pte) => {
                let names = arguments.names.open(context, path)?;
                let sources = names.sources()?;
                write(with_data(names.analysis(pte, &sources)?, &ptds).report())
            }
            _ => write(model.report()),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}
