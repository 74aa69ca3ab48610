//! `pte report`: a page about a file.

use crate::failure::Failure;
use crate::json;
use crate::open::{Input, Unbundled};
use crate::save::save;
use crate::size::{Offer, offers};
use executorch_format::Image;
use executorch_format::inspect::Report;
use executorch_format::validate::{Finding, Level};
use serde::Serialize;
use std::path::PathBuf;

/// A page about a file, to be opened in a browser: sizes, memory, graph, operators, weights, findings
#[derive(clap::Args)]
#[command(
    after_help = "The page is one HTML file that needs no network. It holds names, shapes, and how values are spread, but no weights.\n\n\
    Example:\n  pte report model.pte -o model.html"
)]
pub struct Arguments {
    /// A .pte or .ptd file, or a .bpte: the program inside it
    file: PathBuf,
    /// Where to write the page; - is standard output
    #[arg(short, long, value_name = "HTML", required_unless_present = "json")]
    output: Option<PathBuf>,
    /// Print what the page shows as JSON instead
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

/// What the viewer takes.
#[derive(Serialize)]
struct Page<'t> {
    file: String,
    /// Bytes.
    file_size: u64,
    /// Where the program starts in the file that it is inside of, a bundle: then all that follows is about the program alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    program_offset: Option<u64>,
    #[serde(flatten)]
    report: &'t Report<'t>,
    savings: Vec<Offer>,
    findings: Vec<Finding>,
}

/// Writes the page.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let Unbundled { model, program_offset } = input.unbundled()?;
    let report = model.report();
    let name = arguments.file.file_name().unwrap_or(arguments.file.as_os_str()).to_string_lossy();
    let inside = if program_offset.is_some() { ", the program inside" } else { "" };
    let page = Page {
        file: format!("{name}{inside}"),
        file_size: model.source().map_or(0, |source| source.bytes.len() as u64),
        program_offset,
        report: &report,
        savings: if program_offset.is_none() { offers(&arguments.file, &model) } else { Vec::new() },
        findings: model.validate(Level::Strict),
    };
    let Some(output) = &arguments.output else {
        return json::print(&page);
    };
    let html = executorch_format_viewer::page(&json::to_vec(&page)?);
    save(&Image::from(html.into_bytes()), output)
}
