//! `pte report`: a page about a file.

use crate::failure::Failure;
use crate::json;
use crate::open::Input;
use crate::save::save;
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
    /// A .pte or .ptd file
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
    #[serde(flatten)]
    report: &'t Report<'t>,
    findings: Vec<Finding>,
}

/// Writes the page.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let model = input.parse()?;
    let report = model.report();
    let page = Page {
        file: arguments.file.file_name().unwrap_or(arguments.file.as_os_str()).to_string_lossy().into_owned(),
        file_size: input.bytes().len() as u64,
        report: &report,
        findings: model.validate(Level::Strict),
    };
    let Some(output) = &arguments.output else {
        return json::print(&page);
    };
    let html = executorch_format_viewer::page(&json::to_vec(&page)?);
    save(&Image::from(html.into_bytes()), output)
}
