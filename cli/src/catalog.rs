//! `pte catalog`: many files as tables.

use crate::failure::Failure;
use crate::save::make_output_folder;
use crate::{remote, status, text};
use executorch_format_stores::catalog::{self, Options, Progress};
use executorch_format_stores::wait;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::path::PathBuf;

/// Write the contents of many files as Parquet tables
///
/// For DuckDB, Spark and similar tools. The tables are files, methods, inputs_outputs, operators, delegates, nodes, blobs and findings,
/// each a folder of Parquet files. The metadata of each file is read, and its payloads without constants. A file that cannot be read is a
/// row with its error.
#[derive(clap::Args)]
#[command(
    after_help = "Files that did not change since the last run into the same folder, by ETag or by size and time, are not read again, even if
that run was killed. The old tables stay until all new ones are written. docs/catalog.md describes the tables and has examples in SQL.

Examples:
  pte catalog models/ --out catalog
  pte catalog s3://bucket/models gs://other/models --out catalog --jobs 200
  duckdb -c \"SELECT kind, count(*), sum(size) FROM 'catalog/files/*.parquet' GROUP BY kind\"

Exit codes: 0 the tables were written, 2 wrong usage, a prefix cannot be listed or has no model files, or the folder cannot be written."
)]
pub struct Arguments {
    /// Folders, prefixes of stores, and files
    #[arg(value_name = "PREFIX", required = true)]
    prefixes: Vec<String>,
    /// The folder for the tables
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Add the SHA-256 of each blob's bytes: reads all of each file
    #[arg(long)]
    hash: bool,
    /// How many files to read at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
    /// Maximum files of a part, which is a Parquet file in each table
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    part_files: u32,
}

/// Writes a catalogue.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    make_output_folder(&arguments.out)?;
    let unwritten = |error: executorch_format_stores::Error| {
        let error = io::Error::other(error.to_string());
        Failure::Unwritable { file: arguments.out.clone(), error }
    };
    let stores = remote::stores().map_err(unwritten)?;
    let options = Options::default()
        .with_jobs(arguments.jobs.into())
        .with_hash(arguments.hash)
        .with_part_files(arguments.part_files as usize);
    let bar = bar();
    let progress = |progress: Progress| {
        bar.set_length(progress.found);
        bar.set_position(progress.done);
        bar.set_message(if progress.all_found { "" } else { ", still listing" });
    };
    let report = wait(catalog::write(stores, &arguments.prefixes, &arguments.out, &options, progress));
    bar.finish_and_clear();
    let report = report.map_err(unwritten)?;
    let (files, unchanged, out) = (report.files, report.unchanged, text::path(&arguments.out));
    status::say(format_args!("{out}: {files} files, {unchanged} of them not read again"));
    Ok(())
}

/// Shown where stderr is a terminal.
fn bar() -> ProgressBar {
    let shown = io::stderr().is_terminal() && !status::is_quiet();
    let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    match ProgressStyle::with_template("{bar:40} {pos}/{len} files, {per_sec}, {eta} left{msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
