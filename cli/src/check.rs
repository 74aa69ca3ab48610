//! `pte check`: whether a program will run on a device.

use crate::failure::{Failure, each};
use crate::files::FileArguments;
use crate::json::{self, JsonArguments};
use crate::open::Input;
use crate::target;
use executorch_format::Model;
use executorch_format::validate::Lack;
use serde::Serialize;
use std::path::PathBuf;

/// Check whether programs will run on a device, and list what the device lacks
///
/// What the target file leaves out is not checked.
#[derive(clap::Args)]
#[command(after_help = "A target file (a file that ends in .yaml has the keys that `pte ops --help` names):
  runtime = \"1.2\"              # the release of ExecuTorch's runtime
  backends = [\"XnnpackBackend\"]
  arena = 262144               # bytes for a method's planned memory on the CPU
  method-allocator = 65536     # bytes for what the runtime allocates to load a method
  pointer-bits = 32            # else 64
  largest-file = 4194304       # bytes
  scalar-types = [\"FLOAT\"]     # the types that there are kernels for

  [operators]                  # each with the types of tensors it takes; [] for any
  \"aten::add.out\" = [\"FLOAT\", \"INT\"]
  \"aten::mul.out\" = []

Examples:
  pte check model.pte --target board.toml
  pte check --recursive --jsonl models/ --target board.toml

Exit codes: 0 every file will run, 1 something is missing or a file is invalid, 2 wrong usage, or a file cannot be read.")]
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
    lacks: Vec<Lack>,
}

/// Checks each file.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let target = target::read(&arguments.target)?;
    let mut documents = arguments.form.any().then(|| json::Files::start(&arguments.form));
    let mut lacking = false;
    let outcome = each(&arguments.files, documents.as_mut(), |path, documents| {
        let input = Input::open(path)?;
        let lacks = match input.parse()? {
            Model::Pte(pte) => pte.check_target(&target),
            _ => {
                let fault = "it is no program (.pte): there is nothing to run in it".to_owned();
                return Err(Failure::Bad { file: path.to_owned(), findings: vec![fault] });
            }
        };
        lacking |= !lacks.is_empty();
        match documents {
            Some(documents) => {
                documents.add(&Verdict { file: path.display().to_string(), ok: lacks.is_empty(), lacks })
            }
            None => target::print(path, &lacks),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome.and(if lacking { Err(Failure::Reported(1)) } else { Ok(()) })
}
