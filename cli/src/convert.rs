//! `pte convert`: weights in another format.

mod rename;

use crate::context::{Context, LINE_NAME};
use crate::existing::refuse_existing_images;
use crate::failure::Failure;
use crate::names::{NameFiles, NamesArguments};
use crate::open::Input;
use crate::save::{LastArgument, Pending, prepare_all};
use crate::{edit, json, lock, text, to_c};
use executorch_format::convert::{Safetensors, ShardIndex, Skipped, Unsupported};
use executorch_format::{Error, ErrorKind, ForeignFormat, Image, Model, Ptd, PtdOptions, SEGMENT_ALIGNMENT};
use rename::Renames;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Convert weights between .ptd, safetensors, .pte and C
///
/// The endings of the files determine the direction:
///
///   .safetensors or its index  to  .ptd
///   .ptd, .pte                 to  .safetensors
///   .pte, .ptd                 to  .c, as `pte to-c` does
///   .safetensors               to  .safetensors, with other names or shards
///
/// From a .pte, all constants and initial states are converted, with the model's names or else METHOD.VALUE. Weights inside XNNPACK's
/// delegates have the model's names and PyTorch's layout, or their key and the layout of the payload. `pte replace` puts them back.
/// Tensors whose dim order is not the natural one are permuted in memory; all others are copied from file to file.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(after_help = "Examples:
  pte convert model.safetensors weights.ptd
  pte convert weights.ptd model.safetensors --max-shard-size 2GB
  pte convert model.safetensors.index.json weights.ptd --rename-pattern '^model\\.='")]
pub struct Arguments {
    /// A .safetensors, an index of shards (.index.json), a .ptd or a .pte
    input: PathBuf,
    #[command(flatten)]
    output: LastArgument,
    #[command(flatten)]
    names: NamesArguments,
    /// Skip what the other format does not support, with a message, instead of refusing the file
    #[arg(long)]
    skip_unsupported: bool,
    #[command(flatten)]
    renames: Renames,
    /// Write several safetensors files with at most this many bytes of tensors each, such as 2GB or 500MiB, and an index
    #[arg(long, value_name = "SIZE", value_parser = text::parse_size)]
    max_shard_size: Option<u64>,
    /// Replace shards and an index that exist
    #[arg(long, requires = "max_shard_size")]
    overwrite: bool,
    /// Start each tensor of a .ptd at a multiple of this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = SEGMENT_ALIGNMENT)]
    alignment: u32,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write quantized weights as their dequantized numbers (f32): those that an operator dequantizes, and weights of XNNPACK delegates
    #[arg(long)]
    dequantized: bool,
    /// A .ptd file with external data of a .pte: its tensors, and those of payloads for CUDA and XNNPACK, are converted too
    #[arg(long, value_name = "FILE.ptd")]
    data: Vec<PathBuf>,
    #[command(flatten)]
    form: json::JsonArguments,
}

impl Arguments {
    fn unsupported(&self) -> Unsupported {
        if self.skip_unsupported { Unsupported::Skip } else { Unsupported::Refuse }
    }

    /// Writes files that belong together, unless it is a dry run.
    fn write<'t>(
        &self,
        context: &Context,
        inputs: &[&'t Input],
        files: Vec<(Image<'t>, PathBuf)>,
    ) -> Result<(Pending<'static>, Vec<Written>), Failure> {
        let copied = |image| inputs.iter().fold(image, |image, input| input.copied(image));
        let files: Vec<_> = files.into_iter().map(|(image, path)| (copied(image), path)).collect();
        let pending = if self.dry_run {
            for (image, path) in files.iter().filter(|_| !self.form.any()) {
                context.say(format_args!("{}: would have {} bytes", text::path(path), image.size()));
            }
            Pending::default()
        } else {
            prepare_all(
                context,
                &files.iter().map(|(image, path)| (image, path.as_path())).collect::<Vec<_>>(),
                inputs,
            )?
        };
        let written =
            |(image, path): &(Image<'_>, PathBuf)| Written { file: path.display().to_string(), size: image.size() };
        Ok((pending, files.iter().map(written).collect()))
    }
}

/// The result of a conversion, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Outcome {
    files: Vec<json::Named>,
    /// The files that were written, or would be.
    outputs: Vec<Written>,
    dry_run: bool,
    tensors: usize,
    skipped: Vec<Skipped>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct Written {
    file: String,
    /// In bytes.
    size: u64,
}

/// The format of the output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Weights(Weights),
    C,
}

/// A format with tensors by name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weights {
    Ptd,
    Safetensors,
}

impl Format {
    fn of(file: &Path) -> Result<Self, Failure> {
        Ok(match ending(file) {
            "ptd" => Self::Weights(Weights::Ptd),
            "safetensors" => Self::Weights(Weights::Safetensors),
            "c" => Self::C,
            _ => {
                let file = text::path(file);
                return Err(Failure::Usage(format!("{file}: expected a name that ends in .ptd, .safetensors or .c")));
            }
        })
    }
}

/// Converts a file.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let format = Format::of(arguments.output.path())?;
    // C sources are locked when they are written.
    if format != Format::C && !arguments.dry_run {
        lock::before_reading(context, arguments.output.path())?;
    }
    let input = Input::open_data(context, &arguments.input)?;
    // A pipe has no name to go by.
    let ending = if is_piped_safetensors(&input) { "safetensors" } else { ending(&arguments.input) };
    match (format, ending) {
        (Format::C, _) if arguments.dry_run => Err(Failure::Usage(
            "--dry-run does not apply to C sources: it requires .ptd or .safetensors output".to_owned(),
        )),
        (Format::C, _) => to_c::write(context, &input, arguments.output.path()).map(|()| Pending::default()),
        (Format::Weights(to), "safetensors") => finish(context, arguments, to, &[&input], parse(&input)?, Vec::new()),
        (Format::Weights(to), "json") => sharded(context, arguments, to, &input),
        (Format::Weights(_), _) if is_checkpoint(&input) => {
            let (file, saved) = (text::path(input.path()), text::path(&input.path().with_extension("safetensors")));
            let python = format!("safetensors.torch.save_file(torch.load({file:?}, weights_only=True), {saved:?})");
            Err(Failure::Usage(format!(
                "{file}: a PyTorch checkpoint: save its state dict as safetensors in Python, with `{python}`, and convert that"
            )))
        }
        (Format::Weights(Weights::Ptd), _) => {
            let file = text::path(input.path());
            let hint = "`pte externalize` moves weights out of a .pte, `pte ptd` changes a .ptd";
            Err(Failure::Usage(format!("{file}: cannot be converted to a .ptd: {hint}")))
        }
        (Format::Weights(Weights::Safetensors), _) => models(context, arguments, &input),
    }
}

/// Returns `true` for a stream that begins like a safetensors file: with the length of an object in JSON, and its start.
fn is_piped_safetensors(input: &Input) -> bool {
    input.is_stream() && ending(input.path()).is_empty() && input.bytes().get(8..9) == Some(b"{")
}

/// Returns `true` for a file of `torch.save`, which only Python can read.
fn is_checkpoint(input: &Input) -> bool {
    let is = |kind: &ErrorKind| matches!(kind, ErrorKind::Foreign { format: ForeignFormat::PyTorchCheckpoint, .. });
    Model::parse(input.bytes()).is_err_and(|error| is(error.kind()))
}

fn parse(input: &Input) -> Result<Safetensors<'_>, Failure> {
    Safetensors::parse(input.bytes()).map_err(|error| Failure::bad(input.path(), &error))
}

fn models<'a>(context: &Context, arguments: &'a Arguments, input: &Input) -> Result<Pending<'a>, Failure> {
    let bad = |error: Error| refused(input.path(), &error);
    let model = input.unbundled()?.model;
    let opened = edit::open(context, &arguments.data)?;
    let data = opened.iter().map(edit::data).collect::<Result<Vec<Ptd<'_>>, _>>()?;
    if !data.is_empty() && !matches!(model, Model::Pte(_)) {
        return Err(Failure::usage_of(input.path(), &"--data applies only to programs (.pte)"));
    }
    let files = match &model {
        Model::Pte(_) => arguments.names.open(context, input.path())?,
        _ => NameFiles::open(context, &[])?,
    };
    let sources = files.sources()?;
    let (ptd, mut skipped) = match &model {
        Model::Pte(pte) => pte.weights_with(&data).map_err(bad)?,
        Model::Ptd(_) if arguments.names.are_given() => {
            let fault = "--names applies only to programs; --rename-pattern changes the keys of a .ptd";
            return Err(Failure::usage_of(input.path(), &fault));
        }
        Model::Ptd(_) if arguments.dequantized => {
            let fault = "--dequantized applies only to programs, which have the scales";
            return Err(Failure::usage_of(input.path(), &fault));
        }
        Model::Ptd(ptd) => (ptd.clone(), Vec::new()),
        _ => return Err(Failure::Usage(format!("{}: expected a .pte or .ptd", text::path(input.path())))),
    };
    let (mut safetensors, more) = Safetensors::of_ptd(&ptd, arguments.unsupported()).map_err(bad)?;
    skipped.extend(more);
    if let Model::Pte(pte) = &model {
        let analysis = files.analysis(pte, &sources)?.with_data(&data);
        safetensors.arrange_as_in_the_model(&analysis, arguments.dequantized, &mut skipped).map_err(bad)?;
    }
    if safetensors.tensors.is_empty() && matches!(model, Model::Pte(_)) {
        let reason = skipped.first().map_or_else(
            || "it has no constants".to_owned(),
            |Skipped { kind, name, reason, .. }| format!("{kind} {}: {reason}", text::quoted(name)),
        );
        return Err(Failure::usage_of(input.path(), &format!("no tensor to convert: {reason}")));
    }
    finish(context, arguments, Weights::Safetensors, &[input], safetensors, skipped)
}

fn sharded<'a>(
    context: &Context,
    arguments: &'a Arguments,
    to: Weights,
    index_file: &Input,
) -> Result<Pending<'a>, Failure> {
    let bad = |error: Error| refused(index_file.path(), &error);
    let index = ShardIndex::parse(index_file.bytes()).map_err(bad)?;
    let folder = index_file.path().parent().unwrap_or(Path::new(""));
    let open = |file: &&str| Input::open(context, &folder.join(file));
    let inputs = index.files().iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut shards = Vec::new();
    for (file, input) in index.files().into_iter().zip(&inputs) {
        shards.push((file, parse(input)?));
    }
    let (safetensors, skipped) = Safetensors::join(shards, &index, arguments.unsupported()).map_err(bad)?;
    let inputs: Vec<&Input> = [index_file].into_iter().chain(&inputs).collect();
    finish(context, arguments, to, &inputs, safetensors, skipped)
}

/// Writes tensors in the requested format. The files are named and reported when the inputs are closed.
fn finish<'a>(
    context: &Context,
    arguments: &'a Arguments,
    to: Weights,
    inputs: &[&Input],
    mut safetensors: Safetensors<'_>,
    mut skipped: Vec<Skipped>,
) -> Result<Pending<'a>, Failure> {
    let renames = arguments.renames.read(context)?;
    safetensors.rename(|name| renames.apply(name));
    renames.check(&arguments.input)?;
    let bad = |error: Error| refused(&arguments.input, &error);
    let mut tensors = safetensors.tensors.len();
    let (pending, outputs) = match to {
        Weights::Ptd => {
            let options = PtdOptions::default().with_segment_alignment(arguments.alignment).with_style(None);
            let (ptd, more) = safetensors.into_ptd(&options, arguments.unsupported()).map_err(bad)?;
            tensors -= more.len();
            skipped.extend(more);
            arguments.write(context, inputs, vec![(ptd.image().map_err(bad)?, arguments.output.path().to_owned())])?
        }
        Weights::Safetensors => match arguments.max_shard_size {
            Some(most) => write_shards(context, arguments, inputs, &safetensors.split(most), bad)?,
            None => arguments.write(
                context,
                inputs,
                vec![(safetensors.image().map_err(bad)?, arguments.output.path().to_owned())],
            )?,
        },
    };
    let files = json::Named::all(inputs.iter().map(|input| input.path()));
    Ok(pending.then(move |context| {
        for Skipped { kind, name, reason, .. } in &skipped {
            let name = context.quoted(name, LINE_NAME);
            context.say(format_args!("left out: {kind} {name}: {}", text::message(reason)));
        }
        if arguments.form.any() {
            let outcome = Outcome { files, outputs, dry_run: arguments.dry_run, tensors, skipped };
            return json::print(context, &outcome, &arguments.form);
        }
        context.say(format_args!("{}", text::count(tensors, "tensor")));
        Ok(())
    }))
}

/// Writes shards in one folder, and their index; a single one is an ordinary file.
fn write_shards(
    context: &Context,
    arguments: &Arguments,
    inputs: &[&Input],
    shards: &[Safetensors<'_>],
    bad: impl Fn(Error) -> Failure,
) -> Result<(Pending<'static>, Vec<Written>), Failure> {
    let output = arguments.output.path();
    if let [only] = shards {
        return arguments.write(context, inputs, vec![(only.image().map_err(bad)?, output.to_owned())]);
    }
    let stem = output.file_stem().unwrap_or_default().to_string_lossy();
    let name = |number| format!("{stem}-{number:05}-of-{:05}.safetensors", shards.len());
    let names: Vec<String> = (1..=shards.len()).map(name).collect();
    let index = Safetensors::index(shards, &names).to_json().map_err(&bad)?;
    let mut files = Vec::new();
    for (shard, name) in shards.iter().zip(&names) {
        files.push((shard.image().map_err(&bad)?, output.with_file_name(name)));
    }
    files.push((index.into_bytes().into(), output.with_file_name(format!("{stem}.safetensors.index.json"))));
    refuse_existing_images(arguments.overwrite, files.iter().map(|(image, path)| (path.as_path(), image)))?;
    arguments.write(context, inputs, files)
}

/// Returns the failure for an input that is invalid, or that the other format cannot express.
pub fn refused(file: &Path, error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::Unwritable(reason) => Failure::Usage(format!("{}: {reason}", text::path(file))),
        _ => Failure::bad(file, error),
    }
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}
