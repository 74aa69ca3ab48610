//! `pte catalog`: many files as tables.

mod report;

use crate::context::Context;
use crate::failure::Failure;
use crate::save::make_output_folder;
use crate::text;
use executorch_format_stores::catalog::{self, Limit, Options, Overview, Progress};
use executorch_format_stores::wait;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Write the contents of many files as Parquet tables
///
/// For DuckDB, Spark and similar tools. The tables are files, methods, inputs_outputs, operators, delegates, nodes, blobs,
/// metadata, compile_specs and findings, each a folder of Parquet files. From each file, the metadata and the payloads without
/// their constants are read. A file that cannot be read becomes a row with its error.
#[derive(clap::Args)]
#[command(
    after_help = "Files that did not change since the last run into the same folder, by ETag or by size and time, are not read again, even if
that run was killed. The old tables stay until all new ones are written. docs/catalog.md describes the tables and has examples in SQL.

Examples:
  pte catalog models/ -o catalog
  pte catalog s3://bucket/models gs://other/models -o catalog --jobs 200
  pte catalog s3://bucket/models -o catalog --fail-on errors,release=1.5,growth=10%
  pte catalog report catalog -o catalog.html
  duckdb -c \"SELECT kind, count(*), sum(size) FROM 'catalog/files/*.parquet' GROUP BY kind\"

Limits of --fail-on: errors (a file cannot be read), findings (a file breaks a rule that ExecuTorch 1.5 refuses), release=1.5 (that release
does not run a file), growth=10% (a changed file is larger by more), duplicates=BYTES (with --hash), native-code.

Exit codes: 0 the tables were written, 1 a limit was exceeded, 2 wrong usage, a prefix cannot be listed or has no model files, or the folder cannot be written."
)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    question: Option<Question>,
    /// Folders, prefixes of stores, and files
    #[arg(value_name = "PREFIX", required = true)]
    prefixes: Vec<String>,
    /// The folder for the tables
    #[arg(short, long, value_name = "DIR", required = true)]
    output: Option<PathBuf>,
    /// Add the SHA-256 of each file and of each blob: reads whole files
    #[arg(long)]
    hash: bool,
    /// Number of files to read at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Maximum number of files in a part, which is one Parquet file in each table
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    part_files: u32,
    /// Exit with 1 if the catalogue exceeds one of these limits
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    fail_on: Vec<Limit>,
    /// Run again and again, with this much time in between (30s, 10m, 2h), until a limit is exceeded
    #[arg(long, value_name = "TIME", requires = "fail_on", value_parser = duration)]
    every: Option<Duration>,
}

/// Questions about a catalogue.
#[derive(clap::Subcommand)]
enum Question {
    Report(report::Arguments),
}

/// Returns a time such as `30s`, `10m` or `2h`.
fn duration(text: &str) -> Result<Duration, String> {
    let unit = [("s", 1), ("m", 60), ("h", 3600)].into_iter().find_map(|(unit, seconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(seconds).filter(|seconds| *seconds > 0)
    });
    unit.map(Duration::from_secs).ok_or_else(|| "expected a time such as 30s, 10m or 2h".to_owned())
}

/// Writes a catalogue, or answers a question about one.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if let Some(Question::Report(question)) = &arguments.question {
        return report::run(context, question);
    }
    let Some(out) = &arguments.output else { return Err(Failure::Usage("--output is missing".to_owned())) };
    loop {
        write(context, arguments, out)?;
        refuse_exceeded(arguments, out)?;
        match arguments.every {
            Some(every) => std::thread::sleep(every),
            None => return Ok(()),
        }
    }
}

fn write(context: &Context, arguments: &Arguments, out: &Path) -> Result<(), Failure> {
    make_output_folder(out)?;
    let stores = context.stores.stores().map_err(|error| failed(out, &error))?;
    let options = Options::default()
        .with_jobs(arguments.jobs.into())
        .with_hash(arguments.hash)
        .with_part_files(arguments.part_files as usize);
    let bar = bar(context);
    let progress = |progress: Progress| {
        bar.set_length(progress.found);
        bar.set_position(progress.done);
        bar.set_message(if progress.all_found { "" } else { ", still listing" });
    };
    let report = wait(catalog::write(stores, &arguments.prefixes, out, &options, progress));
    bar.finish_and_clear();
    let report = report.map_err(|error| failed(out, &error))?;
    let (files, unchanged, out) = (report.files, report.unchanged, text::path(out));
    context.say(format_args!("{out}: {files} files, {unchanged} of them not read again"));
    Ok(())
}

/// Fails with the limits that the catalogue exceeds.
fn refuse_exceeded(arguments: &Arguments, out: &Path) -> Result<(), Failure> {
    if arguments.fail_on.is_empty() {
        return Ok(());
    }
    let overview = Overview::read(out).map_err(|error| failed(out, &error))?;
    let exceeded = overview.exceeded(&arguments.fail_on).map_err(|error| Failure::Usage(error.to_string()))?;
    if exceeded.is_empty() {
        return Ok(());
    }
    Err(Failure::Bad { file: out.to_owned(), findings: exceeded })
}

fn failed(out: &Path, error: &executorch_format_stores::Error) -> Failure {
    Failure::Unwritable { file: out.to_owned(), error: io::Error::other(error.to_string()) }
}

/// Returns a bar, which is shown if stderr is a terminal.
fn bar(context: &Context) -> ProgressBar {
    let shown = io::stderr().is_terminal() && !context.quiet;
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    match ProgressStyle::with_template("{bar:40} {pos}/{len} files, {per_sec}, {eta} left{msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
