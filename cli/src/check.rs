//! `pte check`: whether a program will run on a device.

use crate::data::{DataFiles, of_program, serving};
use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::target;
use executorch_format::Pte;
use executorch_format::validate::TargetCheck;
use serde::Serialize;
use std::path::PathBuf;

/// Check whether programs will load on a device, and list what the device lacks
///
/// What the target file leaves out is not checked. Programs, and those in bundles, take external data from the .ptd files that are named with
/// them, or, with --recursive, from those in the same folder.
#[derive(clap::Args)]
#[command(after_help = "A target file (a file that ends in .yaml has the keys that `pte ops --help` names):
  runtime = \"1.2\"              # the release of ExecuTorch's runtime
  libraries = [\"portable\"]     # its kernel libraries: portable, optimized, quantized, python-wheel;
                               # left out, with no operators listed: portable
  backends = [\"XnnpackBackend\"]
  arena = 262144               # bytes for a method's planned memory on the CPU
  method-allocator = 65536     # bytes for what the runtime allocates to load a method
  temp-allocator = true        # whether there is one besides; left out, none is assumed
  pointer-bits = 32            # else 64
  largest-file = 4194304       # bytes
  scalar-types = [\"FLOAT\"]     # the types that there are kernels for

  [operators]                  # each with the types of tensors it takes; [] for any
  \"aten::add.out\" = [\"FLOAT\", \"INT\"]
  \"aten::mul.out\" = []

Examples:
  pte check model.pte weights.ptd --target board.toml
  pte check --recursive --jsonl models/ --target board.toml

Exit codes: 0 nothing that was checked is missing, 1 something is missing or a file is invalid, 2 wrong usage, or a file cannot be read.")]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// A TOML file that says what the device has, or YAML as ExecuTorch's selective build reads it
    #[arg(long, value_name = "TARGET")]
    target: PathBuf,
    #[command(flatten)]
    form: JsonArguments,
}

/// What a file needs and the device does not have.
#[derive(Serialize)]
struct Verdict {
    file: String,
    /// Whether nothing lacks.
    ok: bool,
    #[serde(flatten)]
    check: TargetCheck,
}

/// Checks each program.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = target::read(&arguments.target)?;
    let opened = DataFiles::open(&arguments.files.expand());
    let data = opened.parse();
    let mut documents = arguments.form.any().then(|| json::Files::start(&arguments.form));
    let (mut lacking, mut programs, mut other) = (false, 0, None);
    let outcome = each(&arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(path)?;
        let ptds = serving(&data, path);
        let check = |pte: &Pte<'_>| pte.check_target_with(&target, Some(&ptds));
        let model = input.parse()?;
        let Some(check) = of_program(path, &model, &arguments.files, check)? else {
            other.get_or_insert_with(|| (path.to_owned(), model.kind()));
            return Ok(());
        };
        programs += 1;
        lacking |= !check.lacks.is_empty();
        match documents {
            Some(documents) => {
                documents.add(&Verdict { file: path.display().to_string(), ok: check.lacks.is_empty(), check })
            }
            None => target::print(path, &check),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome?;
    match other {
        Some((path, kind)) if programs == 0 => Err(Failure::no_program(&path, kind)),
        _ if lacking => Err(Failure::Reported(1)),
        _ => Ok(()),
    }
}
