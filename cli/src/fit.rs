//! `pte fit`: checks whether a program will run on a device.

mod init;

use crate::context::Context;
use crate::data::{DataArguments, each_program, each_program_at_once, serving};
use crate::failure::Failure;
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::names::NameFiles;
use crate::remote::Need;
use crate::save::OutputArguments;
use crate::target;
use executorch_format::verify::Fit;
use executorch_format::{Analysis, Pte};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Check whether programs will load and run on a device
///
/// Lists what the device lacks, and what goes wrong on it. Limits that the target file leaves out are not checked. Programs, also in bundles, take
/// external data from the .ptd files that are named with them, or, with --recursive, from those in the same folder.
#[derive(clap::Args)]
#[command(
    after_help = "A target file in TOML. A file that ends in .yaml has the keys of ExecuTorch's selective build (operators, et_kernel_metadata,
include_all_operators) and two optional lists of names, scalar_types and backends:
  runtime = \"1.2\"              # the release of ExecuTorch's runtime
  libraries = [\"portable\"]     # its kernel libraries: portable, optimized, quantized, cortex_m, llm, cadence, python-wheel;
                               # left out, with no operators listed: portable
  backends = [\"XnnpackBackend\"]
  arena = \"256KiB\"             # for a method's planned memory on the CPU: bytes, or a size such as this
  memories = { 1 = \"26KiB\", 2 = \"4KiB\" }  # for each planned buffer, by its memory id; a buffer whose id is left out has none
  method-allocator = \"64KiB\"   # for the memory that the runtime allocates to load a method
  temp-allocator = true        # the runtime also has a temporary allocator [default: false]
  pointer-bits = 32            # 32 or 64 [default: 64]
  largest-file = \"4MiB\"
  accelerator = \"ethos-u55-128\"  # the Ethos-U that payloads must be compiled for; ethos-u55 for any size
  scratch = \"128KiB\"           # the maximum scratch memory of an Ethos-U delegate for one run
  scalar-types = [\"f32\"]       # the types that the kernels support

  [operators]                  # each with the types of tensors it takes; [] for any
  \"aten::add.out\" = [\"f32\", \"i32\"]
  \"aten::mul.out\" = []

`--init` writes such a file with the needs of models, with comments. Instead of a file, TARGET can be one of these, with a release after it, such as portable-1.2 (else the newest):
  official   the kernels that the model needs, of all libraries of ExecuTorch, and every backend
  portable   the portable kernels and no backend
  xnnpack    the portable kernels and XNNPACK
  optimized  the portable and the optimized kernels, and XNNPACK
  python     the kernels of the Python wheel, and its backends: OpenVINO and QNN on Linux, Core ML and MLX on macOS, XNNPACK on both
  android    the AAR of ExecuTorch: portable, optimized, quantized and LLM kernels, and XNNPACK (tools/cmake/preset/android.cmake)
  ios        all products of the Swift package: portable, optimized, quantized and LLM kernels; Core ML, MPS and XNNPACK
             (scripts/build_apple_frameworks.sh)
  cortex-m55 the portable, quantized and cortex_m kernels on a 32-bit target (tools/cmake/preset/arm_baremetal.cmake)
  cortex-m85+ethos-u55  the same with an Ethos-U55 (backends/arm)
The named files are ExecuTorch's, of release 1.5: other releases may build other kernels. `--init` with one of these writes it with the memory that the models need.

Examples:
  pte fit model.pte weights.ptd --target board.toml
  pte fit --init model.pte -o board.toml
  pte fit --init --target cortex-m55 model.pte -o board.toml
  pte fit --target portable-1.0 model.pte
  pte fit --recursive --jsonl models/ --target board.toml

Exit codes: 0 nothing that was checked is missing, 1 something is missing or a file is invalid, 2 wrong usage, or a file cannot be read."
)]
#[command(mut_arg("files", |argument| argument.help(files::PROGRAMS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    data: DataArguments,
    /// The device: a TOML file, YAML as for ExecuTorch's selective build, or the name of a runtime, such as portable-1.0
    #[arg(long, value_name = "TARGET", required_unless_present = "init")]
    target: Option<PathBuf>,
    /// Print a target file with everything that the models need, and with what TARGET has if it is the name of a runtime
    #[arg(long, conflicts_with_all = ["json", "jsonl"])]
    init: bool,
    #[command(flatten)]
    output: OutputArguments,
    #[command(flatten)]
    form: JsonArguments,
}

/// The things that a file needs and the device lacks.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileFit {
    file: String,
    /// `true` if everything required is present.
    ok: bool,
    #[serde(flatten)]
    check: Fit,
    errors: json::None,
}

/// Checks each program.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    arguments.output.only_with(arguments.init, "--init")?;
    match &arguments.target {
        Some(target) if !arguments.init => check(context, arguments, target),
        _ => init(context, arguments),
    }
}

/// Writes a target file with everything that the models need.
fn init(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let preset = arguments.target.as_ref().map(|target| target::preset(context, target)).transpose()?;
    let mut needs = init::Needs::new(preset);
    let outcome = each_program(context, &arguments.files, Need::Scales, None, |path, pte, _| {
        needs.add(path, pte);
        Ok(())
    })?;
    outcome?;
    arguments.output.write(context, needs.text().into_bytes())
}

/// Checks each program against a target file.
fn check(context: &Context, arguments: &Arguments, target: &Path) -> Result<(), Failure> {
    let target = target::read(context, target)?;
    let opened = arguments.data.open(context, &arguments.files)?;
    let data = opened.parse();
    let mut documents = json::Files::start(context, &arguments.form);
    let mut lacking = false;
    let of_program = |path: &Path, pte: &Pte<'_>| -> Result<Fit, Failure> {
        let names = NameFiles::of(context, path, &[])?;
        let sources = names.sources()?;
        let analysis = match sources.is_empty() {
            true => Analysis::new(pte),
            false => names.analysis(pte, &sources)?,
        };
        Ok(analysis.with_data(serving(&data, path)).fit(&target))
    };
    let outcome = each_program_at_once(
        context,
        &arguments.files,
        Need::Scales,
        documents.as_mut(),
        of_program,
        |path, check, documents| {
            let check = check?;
            lacking |= !check.missing.is_empty();
            match documents {
                Some(documents) => documents.add(&FileFit {
                    file: path.display().to_string(),
                    ok: check.missing.is_empty(),
                    check,
                    errors: [],
                }),
                None => target::print(context, path, &target, &check),
            }
        },
    )
    .map_err(|failure| failure.or_found(u8::from(lacking)))?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome?;
    if lacking { Err(Failure::Reported(1)) } else { Ok(()) }
}
