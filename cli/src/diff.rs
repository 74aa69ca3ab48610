//! `pte diff`: differences between two files, or between the files of two folders.

pub mod folders;
mod limits;
mod print;

use crate::context::Context;
use crate::contract;
use crate::failure::Failure;
use crate::json::{self, JsonArguments};
use crate::names::NameFiles;
use crate::open::Input;
use crate::{policy, remote, text};
use clap::ValueEnum;
use executorch_format::inspect::{Diff, DiffLimits, DiffOptions, Excess, ModuleGap, Side};
use executorch_format::naming::NameSource;
use executorch_format::{Analysis, Model, Ptd, Pte};
pub use limits::of_table;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Show the differences between two files: methods, instructions, values, plans, delegates, weights, names, metadata
#[derive(clap::Args)]
#[command(
    after_help = "Values and weights with the same name in both programs are compared with each other. Names come from the ETRecord beside \
    each program, MODEL.etrecord, and from the programs themselves. \
    Differences in storage only (alignment, segments, order, weights in a .ptd file) are listed, but do not count as a \
    difference. With --quiet, nothing is printed; the exit code has the result.

Limits, for --fail-on and in the table [diff] of a policy file (max-abs = 0.001, size = \"5%\"), each without a value: 0
  any              any difference
  max-abs=X        values of a weight that differ by more than X; also weights in only one file, and weights that cannot be compared
  size=X           a file that grows by more than X: 5%, 64KiB
  memory=X         a method whose planned memory grows by more than X
  operators=N      more than N operators and backends that the first file does not call

Examples:
  pte diff old.pte new.pte
  pte diff --stat -r old/ new/
  pte diff f32.pte quantized.pte --tensors --by module
  pte diff --contract old.pte new.pte
  pte diff old.pte new.pte --fail-on size=5%,memory=0,operators
  pte diff f32.pte quantized.pte --before-data f32.ptd --fail-on max-abs=1e-2

Exit codes: 0 the same model, or no limit exceeded, 1 different, or a limit exceeded, 2 wrong usage or a file cannot be read."
)]
pub struct Arguments {
    /// A .pte, .ptd, .bpte or .etdp file, or, with --recursive, a folder
    before: PathBuf,
    /// The file or folder to compare it with
    after: PathBuf,
    /// Compare the files of two folders that have the same name
    #[arg(short, long, conflicts_with_all = ["before_data", "after_data", "before_names", "after_names"])]
    recursive: bool,
    /// The .ptd files with the first program's external tensors
    #[arg(long, value_name = "PTD")]
    before_data: Vec<PathBuf>,
    /// The .ptd files with the second program's external tensors
    #[arg(long, value_name = "PTD")]
    after_data: Vec<PathBuf>,
    /// Take the first program's names from an ETRecord, or from its state dict as safetensors
    #[arg(long, value_name = "FILE")]
    before_names: Vec<PathBuf>,
    /// Take the second program's names from an ETRecord, or from its state dict as safetensors
    #[arg(long, value_name = "FILE")]
    after_names: Vec<PathBuf>,
    /// Only count the differences of each kind
    #[arg(long)]
    stat: bool,
    /// Measure the distance between the values of changed weights, also inside delegates; quantized weights are dequantized first
    #[arg(long)]
    tensors: bool,
    /// Instead of the differences, list the distances of weights by module, with the largest error first: those of the worst weight of each
    #[arg(long, value_name = "WHAT", value_enum, requires = "tensors", conflicts_with_all = ["recursive", "stat"])]
    by: Option<By>,
    /// Fail only if one of these limits is exceeded: any, max-abs=X, size=X, memory=X, operators=N. More than 64 differences are counted
    /// instead of listed, unless -v is given
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// A TOML file whose table [diff] has limits, to which --fail-on adds
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Instead, print what breaks callers or devices of the first program if the second takes its place: inputs, outputs, metadata, backends,
    /// operators' libraries, releases, planned memory
    #[arg(long, conflicts_with_all = ["recursive", "before_data", "after_data", "stat", "tensors", "fail_on", "policy"])]
    contract: bool,
    #[command(flatten)]
    form: JsonArguments,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// The modules of the model
    Module,
}

/// The differences of two files, with their names.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Comparison<'d> {
    files: [json::Named; 2],
    #[serde(flatten)]
    found: &'d FileDiff,
    /// The distances of weights by module, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ModuleGap>,
}

/// The differences of two files.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct FileDiff {
    /// The sizes of both files, in bytes.
    sizes: [u64; 2],
    same: bool,
    #[serde(flatten)]
    diff: Diff,
    /// The exceeded limits, if limits were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    exceeded: Option<Vec<Excess>>,
}

impl FileDiff {
    /// Returns `true` if the differences change the exit code.
    fn fails(&self) -> bool {
        self.exceeded.as_ref().map_or(!self.same, |exceeded| !exceeded.is_empty())
    }
}

/// The exit code for two different files.
const DIFFERENT: u8 = 1;

/// The exit code if nothing could be compared.
const UNREADABLE: u8 = 2;

/// Compares two files, or two folders.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    if arguments.contract {
        let names: [&[PathBuf]; 2] = [&arguments.before_names, &arguments.after_names];
        return contract::compare(context, [&arguments.before, &arguments.after], names, &arguments.form);
    }
    let mut limits = DiffLimits::default();
    if let Some(path) = &arguments.policy {
        limits = policy::read(path)?.1;
    }
    limits::of_options(&arguments.fail_on, &mut limits)?;
    let judge = Judge { tensors: arguments.tensors || limits.max_abs.is_some(), limits };
    let (before, after) = (&arguments.before, &arguments.after);
    let is_folder = |path: &Path| path.is_dir() || remote::url(path).is_some();
    if arguments.recursive && is_folder(before) && is_folder(after) {
        return folders::run(context, arguments, &judge);
    }
    // An invalid file does not count as a difference.
    let data = [&*arguments.before_data, &arguments.after_data];
    let found = judge.compare(context, [before, after], data, [&arguments.before_names, &arguments.after_names]);
    let found = found.map_err(|failure| match failure {
        bad @ Failure::Bad { .. } => {
            if arguments.form.any() {
                // If standard output is closed, there is no other place to report it.
                let _ = json::print_failure(context, &bad);
            }
            bad.report();
            Failure::Reported(UNREADABLE)
        }
        other => other,
    })?;
    let code = if found.fails() { DIFFERENT } else { 0 };
    if arguments.form.any() {
        let files = [before, after].map(|path| json::Named::new(path));
        let modules = arguments.by.map(|By::Module| found.diff.weights_by_module()).unwrap_or_default();
        let comparison = Comparison { files, found: &found, modules };
        json::print(context, &comparison, &arguments.form).map_err(|failure| failure.or_found(code))?;
    } else if let (Some(By::Module), false) = (arguments.by, context.quiet) {
        let mut out = context.out();
        let modules = found.diff.weights_by_module();
        if modules.is_empty() {
            writeln!(out, "no weight differs that both files have")?;
        }
        crate::debug::print::modules(&mut out, &modules, None)?;
        out.flush()?;
    } else if !context.quiet {
        print::text(context, before, after, &found, arguments.stat).map_err(|failure| failure.or_found(code))?;
    }
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// The settings of a comparison.
struct Judge {
    tensors: bool,
    /// The limits for the exit code. By default, any difference exceeds them.
    limits: DiffLimits,
}

impl Judge {
    fn compare(
        &self,
        context: &Context,
        [before, after]: [&Path; 2],
        [before_data, after_data]: [&[PathBuf]; 2],
        [before_names, after_names]: [&[PathBuf]; 2],
    ) -> Result<FileDiff, Failure> {
        let open =
            |paths: &[PathBuf]| paths.iter().map(|path| Input::open(context, path)).collect::<Result<Vec<_>, _>>();
        let inputs = [Input::open(context, before)?, Input::open(context, after)?];
        let (before_data, after_data) = (open(before_data)?, open(after_data)?);
        let models = [inputs[0].parse()?, inputs[1].parse()?];
        let (before_data, after_data) = (keys(&before_data)?, keys(&after_data)?);
        let (program, other_program) = (program(&models[0], before)?, program(&models[1], after)?);
        let (files, other_files) =
            (NameFiles::of(context, before, before_names)?, NameFiles::of(context, after, after_names)?);
        let (sources, other_sources) = (files.sources()?, other_files.sources()?);
        let analysis = analysis(&files, program.as_deref(), &sources)?;
        let other_analysis = self::analysis(&other_files, other_program.as_deref(), &other_sources)?;
        let mut sides = [Side::new(&models[0], &before_data), Side::new(&models[1], &after_data)];
        // Identical files are not compared by names, which take longer than all else.
        if inputs[0].bytes() != inputs[1].bytes() || !before_data.is_empty() || !after_data.is_empty() {
            for (side, analysis) in sides.iter_mut().zip([&analysis, &other_analysis]) {
                side.names = analysis.as_ref().map(Analysis::names);
            }
        }
        let mut options = DiffOptions::default();
        options.tensors = self.tensors;
        let diff = executorch_format::inspect::diff(&sides[0], &sides[1], &options);
        let limited = self.limits != DiffLimits::default();
        let exceeded = limited.then(|| self.limits.exceeded(&models[0], &models[1], &diff));
        let sizes = models.each_ref().map(|model| model.source().map_or(0, |source| source.bytes.len() as u64));
        Ok(FileDiff { sizes, same: diff.is_same(), diff, exceeded })
    }
}

/// Returns the program of a file, or the one in a bundle. Fails for a bundle whose program cannot be read.
fn program<'m>(model: &'m Model<'_>, path: &Path) -> Result<Option<Cow<'m, Pte<'m>>>, Failure> {
    match model {
        Model::Pte(pte) => Ok(Some(Cow::Borrowed(pte))),
        Model::Bpte(bpte) => {
            bpte.program().map(|pte| Some(Cow::Owned(pte))).map_err(|error| Failure::bad(path, &error))
        }
        _ => Ok(None),
    }
}

/// Returns the analysis of a program, if there is one.
fn analysis<'t>(
    files: &NameFiles,
    program: Option<&'t Pte<'_>>,
    sources: &'t [NameSource<'_>],
) -> Result<Option<Analysis<'t>>, Failure> {
    program.map(|pte| files.analysis(pte, sources)).transpose()
}

/// Returns the keys of `.ptd` files.
fn keys(inputs: &[Input]) -> Result<Vec<Ptd<'_>>, Failure> {
    let mut files = Vec::new();
    for input in inputs {
        match input.parse()? {
            Model::Ptd(ptd) => files.push(ptd),
            _ => return Err(Failure::Usage(format!("{}: not a .ptd file", text::path(input.path())))),
        }
    }
    Ok(files)
}
