//! `pte extract`: blobs out of a file into a folder.

use super::pattern::{self, Patterns};
use crate::failure::Failure;
use crate::open::Input;
use crate::{json, status, text};
use clap::ValueEnum;
use executorch_format::convert::Npy;
use executorch_format::edit::{Extracted, Extraction, User, default_key};
use executorch_format::{Model, NewEntry, Ptd, PtdOptions, TensorView};
use glob::Pattern;
use std::fs;
use std::path::{Path, PathBuf};

/// Write blobs of a file into a folder, each into a file of its own, with a manifest
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte extract model.pte -o blobs
  pte extract model.pte --name 'forward.*' --as npy -o blobs")]
pub struct Arguments {
    /// A .pte or .ptd file
    file: PathBuf,
    /// The folder, which is created if it does not exist; without one, the manifest is printed and nothing written
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// What has a name like this, or else a file in the manifest
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    name: Vec<Pattern>,
    /// The form of tensors
    #[arg(long = "as", value_enum, default_value_t = Form::Raw)]
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// Their bytes as they are
    Raw,
    /// A .ptd with the tensor as its only key
    Ptd,
    /// An array of numpy, in the natural dim order or the reversed one: types that numpy does not have are integers of the same size
    Npy,
}

/// Extracts blobs.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let model = input.parse()?;
    let mut extraction = model.extraction().map_err(|error| Failure::bad(input.path(), &error))?;
    let patterns = Patterns(&arguments.name);
    let names = extraction.files.iter().map(|file| file.name.unwrap_or(&file.file));
    patterns.check(input.path(), "blob like", names)?;
    extraction.files.retain(|file| patterns.allow(file.name.unwrap_or(&file.file)));
    let Some(folder) = &arguments.output else {
        return json::print(&extraction);
    };
    let unwritable = |error| Failure::Unwritable { file: folder.clone(), error };
    fs::create_dir_all(folder).map_err(unwritable)?;
    for file in &mut extraction.files {
        write(&model, file, folder, arguments.form, input.path())?;
    }
    manifest(&extraction, folder)?;
    status::say(format_args!("{}: {}", text::path(folder), text::count(extraction.files.len(), "blob")));
    Ok(())
}

fn write(model: &Model<'_>, file: &mut Extracted<'_>, folder: &Path, form: Form, input: &Path) -> Result<(), Failure> {
    let bad = |error| Failure::bad(input, &error);
    let bytes = model.bytes(&file.data).map_err(bad)?;
    let (ending, shape) = match (form, file.shape) {
        (Form::Ptd, Some(shape)) => ("ptd", shape),
        (Form::Npy, Some(shape)) => ("npy", shape),
        _ => {
            let path = folder.join(&file.file);
            return fs::write(&path, bytes).map_err(|error| Failure::Unwritable { file: path, error });
        }
    };
    file.file = format!("{}.{ending}", file.file.trim_end_matches(".bin"));
    let path = folder.join(&file.file);
    let view = TensorView::new(shape, bytes).map_err(bad)?;
    let saved = match form {
        Form::Npy => save_array(&view, &path, bad)?,
        _ => {
            let entry = NewEntry::view(key(model, file), &view).with_alignment(16);
            let ptd = Ptd::build([entry], &PtdOptions::default()).map_err(bad)?;
            ptd.image().and_then(|image| image.save(&path))
        }
    };
    saved.map_err(|error| Failure::Unwritable { file: path, error: error.into() })
}

/// Writes an array, with a message if its type or dim order is not the tensor's.
fn save_array(
    view: &TensorView<'_>,
    path: &Path,
    bad: impl Fn(executorch_format::Error) -> Failure,
) -> Result<executorch_format::Result<()>, Failure> {
    let array = Npy::of(view).map_err(&bad)?;
    let (own, shape) = (array.tensor_layout.shape(), view.shape());
    if own.scalar_type != shape.scalar_type || own.dim_order != shape.dim_order {
        status::say(format_args!("{}: {own} with the elements of {shape}", text::path(path)));
    }
    Ok(array.image().and_then(|image| image.save(path)))
}

/// The name, or what `externalize` would give.
fn key(model: &Model<'_>, file: &Extracted<'_>) -> String {
    match (file.name, file.users.first(), model) {
        (Some(name), ..) => Some(name.to_owned()),
        (None, Some(User::Value { method, value }), Model::Pte(pte)) => {
            pte.method(method).map(|plan| default_key(plan, *value))
        }
        _ => None,
    }
    .unwrap_or_else(|| file.file.clone())
}

fn manifest(extraction: &Extraction<'_>, folder: &Path) -> Result<(), Failure> {
    let path = folder.join("manifest.json");
    let text = json::to_vec_indented(extraction)?;
    fs::write(&path, text).map_err(|error| Failure::Unwritable { file: path, error })
}
