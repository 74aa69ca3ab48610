//! `pte debug`: the values that a run recorded, and how far they are from those of another.

pub mod print;

use crate::context::Context;
use crate::edit::extract::output_array;
use crate::existing::refuse_existing;
use crate::failure::Failure;
use crate::json::{self, JsonArguments};
use crate::names::{NameFiles, NamesArguments};
use crate::open::Input;
use crate::profile::etdp;
use crate::save::{Output, make_output_folder, put};
use crate::text;
use clap::ValueEnum;
use executorch_format::convert::Npy;
use executorch_format::inspect::{DebugRun, DebugValues, GapOutcome, Mismatch, ModuleGap, NodeMeasure, RunGaps};
use executorch_format::pictures::node_data;
use executorch_format::{Analysis, Etdp};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The values that a run recorded (ETDump's debug events and debug buffer): listed, as .npy files, or compared layer by layer
///
/// The runtime records what each instruction writes, the arguments of delegates' calls and the outputs of the method if it has a debug
/// buffer: in Python with `enable_etdump=True, debug_buffer_size=N`.
#[derive(clap::Args)]
#[command(
    after_help = "Of two runs, values are matched by instruction if both ran the same ones, and otherwise by name. The first is the \
reference: SNR is its signal-to-noise ratio in decibels, MSE the mean squared difference, L1 the sum of absolute differences, as in \
ExecuTorch's Inspector.calculate_numeric_gap. NaN and infinite elements are left out and counted.

A reference is a .npy file with the name of a value (relu.1.npy), of a file that -o writes (003-relu.1.npy), or of a module \
(layers.0.npy), for the last value that was recorded of it.

Examples:
  pte debug trace.etdp --debug-buffer debug.bin --program model.pte
  pte debug trace.etdp --debug-buffer debug.bin --program model.pte -o values
  pte debug new.etdp --debug-buffer new.bin --before old.etdp --before-debug-buffer old.bin --worst
  pte debug q8.etdp --debug-buffer q8.bin --program q8.pte --before f32.etdp --before-debug-buffer f32.bin --before-program f32.pte
  pte debug q8.etdp --debug-buffer q8.bin --program q8.pte --before f32.etdp --before-debug-buffer f32.bin --before-program f32.pte --by module
  pte debug trace.etdp --debug-buffer debug.bin --program model.pte --reference expected/ --min-snr 40"
)]
pub struct Arguments {
    /// An .etdp (.etdump) file
    trace: PathBuf,
    /// The debug buffer of the run, which has the bytes of tensors
    #[arg(long, value_name = "FILE.bin")]
    debug_buffer: Option<PathBuf>,
    /// The program that was run: adds the names of values and operators
    #[arg(long, value_name = "FILE.pte")]
    program: Option<PathBuf>,
    /// The method that was run, needed if the trace fits several
    #[arg(long, requires = "program")]
    method: Option<String>,
    #[command(flatten)]
    names: NamesArguments,
    /// Write each tensor as a .npy file into this folder
    #[arg(short, long, value_name = "FOLDER", conflicts_with_all = ["before", "reference"])]
    output: Option<PathBuf>,
    /// Replace files of the same name in the folder
    #[arg(long, requires = "output")]
    overwrite: bool,
    /// Compare with the values of this trace, which is the reference
    #[arg(long, value_name = "OLD.etdp", requires = "before_debug_buffer", conflicts_with = "reference")]
    before: Option<PathBuf>,
    /// The debug buffer of the reference
    #[arg(long, value_name = "OLD.bin", requires = "before")]
    before_debug_buffer: Option<PathBuf>,
    /// The program of the reference [default: that of --program]
    #[arg(long, value_name = "OLD.pte", requires = "before")]
    before_program: Option<PathBuf>,
    /// Take the names in the reference's program from an ETRecord, or from its state dict as safetensors
    #[arg(long, value_name = "FILE", requires = "before_program")]
    before_names: Vec<PathBuf>,
    /// Compare with .npy files: a folder of them, or one
    #[arg(long, value_name = "PATH")]
    reference: Vec<PathBuf>,
    /// List the largest differences first: by SNR, after those that cannot be compared
    #[arg(long)]
    worst: bool,
    /// List each value, or the worst value of each module, with the largest error first
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = By::Value)]
    by: By,
    /// Fail if a value's SNR is below this many decibels, or if it cannot be compared
    #[arg(long, value_name = "DB")]
    min_snr: Option<f64>,
    /// Maximum lines of each run [default: all; on a terminal 60]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Print the signal-to-noise ratios as node data for Model Explorer, which colours the graph of `pte graph --model-explorer` with them
    #[arg(long, requires = "program", requires = "before", conflicts_with_all = ["by", "top", "worst", "json", "jsonl"])]
    node_data: bool,
    #[command(flatten)]
    form: JsonArguments,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum By {
    /// Each value
    Value,
    /// The modules of the model: needs --before or --reference, and names
    Module,
}

/// The values of a trace.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Recorded<'t> {
    files: [FileValues<'t>; 1],
}

#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct FileValues<'t> {
    file: String,
    runs: &'t [DebugRun<'t>],
    errors: &'t [Mismatch],
    /// The files that were written for the values of each run; `null` for a number, and for a tensor whose bytes are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<Vec<Vec<Option<String>>>>,
}

/// The values of a trace compared with those of another, or with references.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Gaps<'t> {
    /// The references, then the trace.
    files: Vec<json::Named>,
    runs: &'t [RunGaps],
    /// The differences of each run by module, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<Vec<ModuleGap>>,
}

/// The bins of a histogram: fewer than in the histograms of weights, since a trace has many values.
const BINS: usize = 16;

/// A trace with its debug buffer, and the program that was run with files of names.
struct Trace<'c> {
    input: Input,
    buffer: Option<Input>,
    program: Option<(Input, NameFiles<'c>)>,
}

impl<'c> Trace<'c> {
    fn open(
        context: &Context,
        trace: &Path,
        buffer: Option<&Path>,
        program: Option<&Path>,
        names: impl FnOnce(&Path) -> Result<NameFiles<'c>, Failure>,
    ) -> Result<Self, Failure> {
        let program = match program {
            Some(program) => Some((Input::open(context, program)?, names(program)?)),
            None => None,
        };
        Ok(Self {
            input: Input::open(context, trace)?,
            buffer: buffer.map(|buffer| Input::open_data(context, buffer)).transpose()?,
            program,
        })
    }

    /// Calls a function with the values, which have their names.
    fn with<R>(
        &self,
        method: Option<&str>,
        call: impl FnOnce(DebugValues<'_>) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        let etdp = etdp(self.input.path(), self.input.parse()?, "recorded values")?;
        let Some((program, files)) = &self.program else {
            return call(self.values(&etdp, None, None)?);
        };
        let pte = program.program()?;
        if let Some(name) = method.filter(|name| pte.method(name).is_none()) {
            return Err(Failure::no_method(program.path(), name, &pte));
        }
        let sources = files.sources()?;
        let analysis = files.analysis(&pte, &sources)?;
        call(self.values(&etdp, Some(&analysis), method)?)
    }

    /// Prints the errors of the program's nodes.
    fn print_node_data(&self, context: &Context, gaps: &[RunGaps]) -> Result<(), Failure> {
        let Some((program, files)) = &self.program else { return Ok(()) };
        let (pte, sources) = (program.program()?, files.sources()?);
        let graphs = files.analysis(&pte, &sources)?.graphs();
        let errors = graphs.iter().map(|graph| graph.errors(gaps)).collect();
        let mut out = context.plain_out();
        json::Form::INDENTED.write_line(&mut out, &node_data(NodeMeasure::Error, &graphs, errors))?;
        Ok(out.flush()?)
    }

    fn values<'t, 'p: 't>(
        &'t self,
        etdp: &'t Etdp<'_>,
        program: Option<&Analysis<'p>>,
        method: Option<&str>,
    ) -> Result<DebugValues<'t>, Failure> {
        let values = etdp.debug_values(self.buffer.as_ref().map(Input::bytes), program, method);
        if values.runs.is_empty() {
            let fault = "no run recorded values: the runtime needs a debug buffer for that (enable_etdump=True, debug_buffer_size=N)";
            return Err(Failure::usage_of(self.input.path(), &fault));
        }
        Ok(values)
    }
}

/// Prints the values, writes them, or compares them; then on standard error what does not fit.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let is_compared = arguments.before.is_some() || !arguments.reference.is_empty();
    if !is_compared && (arguments.worst || arguments.min_snr.is_some()) {
        return Err(Failure::Usage("--worst and --min-snr require --before or --reference".to_owned()));
    }
    if !is_compared && arguments.by == By::Module {
        return Err(Failure::Usage("--by module requires --before or --reference".to_owned()));
    }
    if arguments.debug_buffer.is_none() && (is_compared || arguments.output.is_some()) {
        let fault = "no bytes of tensors: --debug-buffer takes the file that was written with the trace";
        return Err(Failure::usage_of(&arguments.trace, &fault));
    }
    let (buffer, program) = (arguments.debug_buffer.as_deref(), arguments.program.as_deref());
    let trace =
        Trace::open(context, &arguments.trace, buffer, program, |program| arguments.names.open(context, program))?;
    let method = arguments.method.as_deref();
    if let Some(before) = &arguments.before {
        let old_program = arguments.before_program.as_deref();
        let old_buffer = arguments.before_debug_buffer.as_deref();
        let old = Trace::open(context, before, old_buffer, old_program.or(program), |path| match old_program {
            Some(_) => NameFiles::of(context, path, &arguments.before_names),
            None => arguments.names.open(context, path),
        })?;
        return old.with(method, |old_values| {
            trace.with(method, |values| {
                let gaps = old_values.compare(&values);
                if arguments.node_data {
                    trace.print_node_data(context, &gaps)?;
                }
                report(context, gaps, &[before], arguments)?;
                Failure::unless_sound(before, &old_values.errors)?;
                Failure::unless_sound(&arguments.trace, &values.errors)
            })
        });
    }
    if !arguments.reference.is_empty() {
        return trace.with(method, |values| {
            let (gaps, paths) = compare_with(context, &arguments.trace, &values, &arguments.reference)?;
            report(context, gaps, &paths, arguments)?;
            Failure::unless_sound(&arguments.trace, &values.errors)
        });
    }
    trace.with(method, |mut values| {
        values.count(BINS);
        let written = arguments
            .output
            .as_deref()
            .map(|folder| write(context, &values, folder, arguments.overwrite))
            .transpose()?;
        if arguments.form.any() {
            let (file, runs, errors) = (arguments.trace.display().to_string(), &*values.runs, &*values.errors);
            json::print(context, &Recorded { files: [FileValues { file, runs, errors, written }] }, &arguments.form)?;
        } else if let (Some(folder), Some(written)) = (&arguments.output, &written) {
            let count = written.iter().flatten().flatten().count();
            context.say(format_args!("{}: {}", text::path(folder), text::count(count, "array")));
        } else {
            print::values(context, &values, arguments.top)?;
            if arguments.debug_buffer.is_none() {
                context.say(format_args!("without --debug-buffer, only types and sizes of tensors are known"));
            }
        }
        Failure::unless_sound(&arguments.trace, &values.errors)
    })
}

/// Prints differences, and fails if one is over the limit.
fn report(
    context: &Context,
    mut runs: Vec<RunGaps>,
    references: &[impl AsRef<Path>],
    arguments: &Arguments,
) -> Result<(), Failure> {
    if arguments.worst {
        for run in &mut runs {
            run.sort_by_gap();
        }
    }
    let modules = match arguments.by {
        By::Value => Vec::new(),
        By::Module => runs.iter().map(RunGaps::by_module).collect(),
    };
    for run in runs.iter().filter(|run| run.inputs_differ) {
        let runs = run.runs.map(|run| run.map_or_else(|| "-".to_owned(), |run| run.to_string())).join(" and ");
        context.say(format_args!(
            "warning: runs {runs} seem to have had different inputs: the differences are not those of the programs"
        ));
    }
    match arguments.form.any() {
        _ if arguments.node_data => {}
        true => {
            let files = references.iter().map(AsRef::as_ref).chain([arguments.trace.as_path()]);
            json::print(context, &Gaps { files: json::Named::all(files), runs: &runs, modules }, &arguments.form)?;
        }
        false if arguments.by == By::Module => {
            print::of_runs(context, &runs, |out, index, _| {
                let modules = modules.get(index).map(Vec::as_slice).unwrap_or_default();
                print::modules(out, modules, arguments.top)
            })?;
        }
        false => print::of_runs(context, &runs, |out, _, run| print::gaps(out, run, arguments.top))?,
    }
    let Some(least) = arguments.min_snr else { return Ok(()) };
    let gaps = runs.iter().flat_map(|run| &run.values);
    let below = gaps.filter(|gap| match gap.outcome {
        GapOutcome::Equal => false,
        // If programs differ, values that only one run recorded are expected.
        GapOutcome::OnlyBefore | GapOutcome::OnlyAfter => arguments.before.is_none(),
        _ => gap.distance.is_none_or(|distance| distance.unbounded > 0 || distance.snr.is_none_or(|snr| snr < least)),
    });
    match below.count() {
        0 => Ok(()),
        count => {
            context.say(format_args!("{} below {least} dB, or not comparable", text::count(count, "value")));
            Err(Failure::Reported(BELOW))
        }
    }
}

/// The exit code for values that are too far apart.
const BELOW: u8 = 1;

/// Compares values with .npy files. Returns the files too. Fails if no value has the name of a file.
fn compare_with(
    context: &Context,
    trace: &Path,
    values: &DebugValues<'_>,
    references: &[PathBuf],
) -> Result<(Vec<RunGaps>, Vec<PathBuf>), Failure> {
    let mut paths = Vec::new();
    for path in references {
        if !path.is_dir() {
            paths.push(path.clone());
            continue;
        }
        let unreadable = |error| Failure::Unreadable { file: path.clone(), error };
        let entries = std::fs::read_dir(path).map_err(unreadable)?;
        let entries = entries.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
        let mut inside: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
        inside.retain(|path| path.extension().is_some_and(|extension| extension == "npy"));
        if inside.is_empty() {
            return Err(Failure::usage_of(path, &"no .npy file in this folder"));
        }
        inside.sort_unstable();
        paths.append(&mut inside);
    }
    let inputs = paths.iter().map(|path| Input::open_data(context, path)).collect::<Result<Vec<_>, _>>()?;
    let mut arrays = Vec::new();
    for input in &inputs {
        let name = input.path().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        arrays.push((name, Npy::parse(input.bytes()).map_err(|error| Failure::bad(input.path(), &error))?));
    }
    let mut named = Vec::new();
    for ((name, array), input) in arrays.iter().zip(&inputs) {
        named.push((name.as_str(), array.view().map_err(|error| Failure::bad(input.path(), &error))?));
    }
    let gaps = values.compare_with(&named);
    let matches = gaps.iter().flat_map(|run| &run.values).any(|gap| gap.outcome != GapOutcome::OnlyBefore);
    match arrays.first().filter(|_| !matches) {
        Some((name, _)) => {
            let recorded =
                values.runs.iter().flat_map(|run| &run.values).filter_map(|value| value.name.as_deref()).collect();
            Err(Failure::no_match(trace, "recorded value is called", name, recorded))
        }
        None => Ok((gaps, paths)),
    }
}

/// Writes the tensors whose bytes are known. Returns the names of their files.
fn write(
    context: &Context,
    values: &DebugValues<'_>,
    folder: &Path,
    overwrite: bool,
) -> Result<Vec<Vec<Option<String>>>, Failure> {
    let tensors = values.runs.iter().flat_map(|run| &run.values).filter_map(|value| value.tensor.as_ref());
    context.volume.write(folder, tensors.filter_map(|tensor| tensor.bytes).map(|bytes| bytes.len() as u64).sum())?;
    make_output_folder(folder)?;
    each_array(context, values, folder, &mut |path, content| {
        refuse_existing(overwrite, path, content)?;
        Ok(false)
    })?;
    each_array(context, values, folder, &mut put)
}

/// Passes the tensors whose bytes are known to `output`. Returns the names of their files.
fn each_array(
    context: &Context,
    values: &DebugValues<'_>,
    folder: &Path,
    output: &mut Output<'_>,
) -> Result<Vec<Vec<Option<String>>>, Failure> {
    let mut written = Vec::new();
    for (run, files) in values.runs.iter().zip(values.file_names("npy")) {
        let mut of_run = Vec::new();
        for (value, file) in run.values.iter().zip(files) {
            let path = folder.join(&file);
            let bad = |error| Failure::bad(&path, &error);
            let view = value.tensor.as_ref().and_then(|tensor| tensor.view().transpose()).transpose().map_err(bad)?;
            if let Some(view) = &view {
                output_array(context, view, &path, output)?;
            }
            of_run.push(view.map(|_| file));
        }
        written.push(of_run);
    }
    Ok(written)
}
