//! `pte extract`: writes blobs of a file into a folder.

mod dequantized;

use super::pattern::{self, Patterns};
use crate::context::{Context, LONG_NAME};
use crate::existing::{exists, has_content, refuse_mapped};
use crate::failure::{Failure, each};
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::names::{GivenNames, NameFiles, NamesArguments};
use crate::open::Input;
use crate::save::{Output, make_output_folder, put};
use crate::table::{Column, Table};
use crate::{text, value};
use clap::ValueEnum;
use executorch_format::convert::{Npy, SafeTensor, Safetensors, Unsupported};
use executorch_format::edit::{Extracted, Extraction, Subject, Unpacked, User, default_key};
use executorch_format::schema::program::ExecutionPlan;
use executorch_format::{ErrorKind, Model, NewEntry, Ptd, PtdOptions, TensorShape, TensorView};
use glob::Pattern;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write blobs of a file into a folder: each into its own file, with a manifest
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte extract model.pte -o blobs
  pte extract model.pte --name '%1*' --as npy -o blobs
  pte extract model.pte --as npy --dequantized -o weights
  pte extract model.pte --as safetensors --name '*.weight' -o weights
  pte extract model.pte --unpack -o blobs     # Core ML: blobs/forward.delegate0.unpacked/model.mlpackage
  pte extract model.pte --unpack --data aoti_cuda_blob.ptd -o blobs
  pte extract -r models --as safetensors -o weights     # weights/model.pte/…")]
#[command(mut_arg("files", |argument| argument.help(files::WITH_BLOBS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// The folder, which is created if it does not exist; for several files, each gets a folder in it with its own name. Without it, only list
    /// the files
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Only blobs whose name matches, or the blob of a value (%12, METHOD:%12) or of a file in the manifest
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    name: Vec<Pattern>,
    /// The form of tensors
    #[arg(long = "as", value_enum, default_value_t = Form::Raw)]
    tensors: Form,
    /// Unpack payloads into files for the tools of their backends: Core ML's package as a folder, QNN's context binary, the blocks of an
    /// Ethos-U, the sections of a VGF file, the library and weights for CUDA, graphs and data of TOSA, OpenVINO, MLX, Vulkan and XNNPACK
    #[arg(long)]
    unpack: bool,
    /// A .ptd file in which payloads look up data, for --unpack and --as safetensors
    #[arg(long, value_name = "FILE.ptd")]
    data: Vec<PathBuf>,
    /// Write quantized tensors as their dequantized numbers (f32): those that an operator dequantizes, and weights of XNNPACK delegates
    #[arg(long)]
    dequantized: bool,
    #[command(flatten)]
    names: NamesArguments,
    #[command(flatten)]
    json: JsonArguments,
}

/// The content of `manifest.json` in a folder of blobs.
#[derive(Serialize)]
struct Manifest<'t> {
    files: [&'t FileBlobs<'t>; 1],
}

/// The blobs of a file.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileBlobs<'t> {
    file: String,
    blobs: &'t [Extracted<'t>],
    errors: json::None,
}

impl<'t> FileBlobs<'t> {
    fn new(file: &Path, extraction: &'t Extraction<'_>) -> Self {
        Self { file: file.display().to_string(), blobs: &extraction.files, errors: [] }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The raw bytes
    Raw,
    /// A .ptd with the tensor as its only key
    Ptd,
    /// Safetensors with the tensor as its only entry: in PyTorch's layout, under the model's name if it is known, also inside XNNPACK's delegates
    Safetensors,
    /// A NumPy array, in the natural dim order or the reversed one; types that NumPy does not have become integers of the same size
    Npy,
}

impl Form {
    /// Sets the extension of a tensor's file to that of this form.
    fn name(self, file: &mut Extracted<'_>, is_tensor: bool) {
        let ending = match self {
            Self::Raw => return,
            Self::Ptd => "ptd",
            Self::Safetensors => "safetensors",
            Self::Npy => "npy",
        };
        if is_tensor {
            file.file = format!("{}.{ending}", file.file.trim_end_matches(".bin"));
        }
    }
}

/// The name of the manifest.
const MANIFEST: &str = "manifest.json";

/// Extracts the blobs of each file. Continues after a file that fails.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let several = arguments.files.are_several();
    if let Some(folder) = arguments.output.as_deref().filter(|_| several) {
        make_output_folder(folder)?;
    }
    let mut taken = HashMap::new();
    let mut documents = json::Files::start(context, &arguments.json);
    let outcome = each(context, &arguments.files, documents.as_mut(), |path, documents| {
        let mut folder = arguments.output.clone();
        if let Some(folder) = folder.as_mut().filter(|_| several) {
            folder.push(path.file_name().unwrap_or_default());
            if let Some(other) = taken.insert(folder.clone(), path.to_owned()) {
                let (folder, other) = (text::path(folder), text::path(&other));
                let fault = format!("{folder} has the blobs of {other}: extract this file into another folder");
                return Err(Failure::usage_of(path, &fault));
            }
        }
        extract(context, arguments, path, folder.as_deref(), documents)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

/// Extracts the blobs of a file into a folder, or lists them.
fn extract(
    context: &Context,
    arguments: &Arguments,
    path: &Path,
    folder: Option<&Path>,
    documents: Option<&mut json::Files>,
) -> Result<(), Failure> {
    let input = Input::open(context, path)?;
    // From a bundle, extracts from the program inside.
    let model = input.unbundled()?.model;
    if arguments.files.recursive && !matches!(model, Model::Pte(_) | Model::Ptd(_)) {
        return Ok(());
    }
    let several = matches!(&model, Model::Pte(pte) if pte.methods().len() > 1);
    let files = match &model {
        Model::Pte(_) => arguments.names.open(context, input.path())?,
        _ => NameFiles::open(context, &[])?,
    };
    let sources = files.sources()?;
    let opened = super::open(context, &arguments.data)?;
    let data = opened.iter().map(super::data).collect::<Result<Vec<Ptd<'_>>, _>>()?;
    let bad = |error| Failure::bad(input.path(), &error);
    let is_safetensors = arguments.tensors == Form::Safetensors;
    let of_model = match &model {
        Model::Pte(pte) if is_safetensors => Some(pte.weights_with(&data).map_err(bad)?.0),
        Model::Ptd(ptd) if is_safetensors => Some(ptd.clone()),
        _ => None,
    };
    let weights = of_model.as_ref().map(|ptd| Safetensors::of_ptd(ptd, Unsupported::Skip)).transpose().map_err(bad)?;
    let mut weights = weights.map(|(weights, _)| weights).unwrap_or_default();
    let (blobs, given) = match &model {
        Model::Pte(pte) => {
            let analysis = files.analysis(pte, &sources)?;
            let given = (analysis.blobs(), GivenNames::new(&analysis));
            if is_safetensors {
                let analysis = analysis.with_data(&data);
                weights.arrange_as_in_the_model(&analysis, arguments.dequantized, &mut Vec::new()).map_err(bad)?;
            }
            given
        }
        model => (model.blobs(), GivenNames::default()),
    };
    let weights: HashMap<&str, &SafeTensor<'_>> =
        weights.tensors.iter().map(|tensor| (&*tensor.name, tensor)).collect();
    let mut extraction = model.extraction_of(blobs).map_err(|error| Failure::bad(input.path(), &error))?;
    let patterns = Patterns(&arguments.name);
    let mut matches = patterns.matches();
    for file in &extraction.files {
        matches.see(file.name.as_deref().unwrap_or(&file.file), &called(file, several, &given));
    }
    matches.check(input.path(), "blob like")?;
    extraction.files.retain(|file| {
        patterns.allow(file.name.as_deref().unwrap_or(&file.file))
            || called(file, several, &given).iter().any(|name| patterns.any(name))
    });
    if arguments.unpack {
        unpack(context, &mut extraction, (&model, &data), input.path())?;
    }
    let Some(folder) = folder else {
        return match documents {
            Some(documents) => documents.add(&FileBlobs::new(path, &extraction)),
            None => print(context, arguments.files.are_several().then_some(path), &extraction),
        };
    };
    let mut quantized = BTreeSet::new();
    let mut all: u64 = extraction.files.iter().map(size).sum();
    if arguments.dequantized && !is_safetensors {
        dequantized::visit(&model, &extraction, &mut |index, _, constant| {
            quantized.insert(index);
            let count = constant
                .numbers
                .as_ref()
                .map_or(0, |numbers| numbers.dims().iter().copied().map(u64::from).product::<u64>());
            all = all.saturating_add(count.saturating_mul(size_of::<f32>() as u64));
        });
        if quantized.is_empty() {
            return Err(Failure::usage_of(input.path(), &"none of the selected blobs is a quantized tensor"));
        }
    }
    context.volume.write(folder, all)?;
    make_output_folder(folder)?;
    let methods = match &model {
        Model::Pte(pte) => pte.methods().iter().rev().map(|plan| (plan.name(), plan)).collect(),
        _ => HashMap::new(),
    };
    let mut tensors = BTreeMap::new();
    for (index, file) in extraction.files.iter_mut().enumerate() {
        if is_safetensors {
            let names = weight_names(&methods, file, &given);
            let found = names.iter().find_map(|name| weights.get(name.as_str()));
            arguments.tensors.name(file, found.is_some());
            tensors.extend(found.map(|tensor| (index, *tensor)));
            continue;
        }
        let is_tensor = file.shape.is_some() || quantized.contains(&index);
        arguments.tensors.name(file, is_tensor);
    }
    let listed = FileBlobs::new(path, &extraction);
    let mut bytes = Vec::new();
    json::Form::INDENTED.write_line(&mut bytes, &json::Document::new(&Manifest { files: [&listed] }))?;
    let files = BlobFiles { context, model: &model, methods, folder, form: arguments.tensors, input: input.path() };
    let each = |output: &mut Output<'_>| {
        for (index, file) in extraction.files.iter().enumerate().filter(|(index, _)| !quantized.contains(index)) {
            match tensors.get(&index) {
                Some(tensor) => {
                    let alone = Safetensors { tensors: vec![(*tensor).clone()], ..Safetensors::default() };
                    output(&folder.join(&file.file), &|out| Ok(alone.image()?.write_to(out)?))?;
                }
                None => files.blob(file, output)?,
            }
        }
        if arguments.dequantized && !is_safetensors {
            dequantized::each(&files, &extraction, output)?;
        }
        output(&folder.join(MANIFEST), &|out| out.write_all(&bytes))
    };
    let foreign = foreign(folder, &extraction)?;
    if !foreign.is_empty() {
        each(&mut |path, content| match foreign.contains(path) && !has_content(path, content) {
            true => Err(Failure::exists(path)),
            false => Ok(false),
        })?;
    }
    each(&mut put)?;
    if let Some(documents) = documents {
        return documents.add(&listed);
    }
    context.say(format_args!("{}: {}", text::path(folder), text::count(extraction.files.len(), "blob")));
    Ok(())
}

/// Unpacks payloads, and prints the names of those whose formats only their backends know.
fn unpack<'t>(
    context: &Context,
    extraction: &mut Extraction<'t>,
    (model, data): (&'t Model<'_>, &'t [Ptd<'_>]),
    input: &Path,
) -> Result<(), Failure> {
    let count = extraction.unpack(model, data).map_err(|error| match error.kind() {
        ErrorKind::Unwritable(_) => Failure::Usage(format!("{}: {error}", text::path(input))),
        _ => Failure::bad(input, &error),
    })?;
    if count == 0 {
        let fault = "no payload can be unpacked: the formats of these backends are not supported";
        return Err(Failure::usage_of(input, &fault));
    }
    for file in &extraction.files {
        match &file.unpacked {
            Some(unpacked) if !unpacked.seen => {
                let kind = unpacked.kind;
                context.say(format_args!(
                    "{}: the format of {kind} is known from source code only",
                    context.name(&file.file, LONG_NAME)
                ));
            }
            None if file.subject == Subject::Payload => {
                context.say(format_args!(
                    "{}: not unpacked: only its backend knows the format",
                    context.name(&file.file, LONG_NAME)
                ));
            }
            _ => (),
        }
    }
    Ok(())
}

/// Returns the paths of a blob's files in the folder, including the folder of an unpacked payload.
fn paths<'t>(file: &'t Extracted<'_>) -> impl Iterator<Item = &'t str> {
    let parts = file.unpacked.iter().flat_map(|unpacked| &unpacked.files).map(|part| part.file.as_str());
    [file.file.as_str()].into_iter().chain(parts)
}

/// Returns the names of a blob besides its own, which are those of its value.
fn called(file: &Extracted<'_>, several: bool, given: &GivenNames) -> Vec<String> {
    let values = file.users.iter().filter_map(|user| match user {
        User::Value { method, value } => {
            let mut names = value::names(method, *value, several);
            names.extend(given.of(method, *value).map(str::to_owned));
            Some(names)
        }
        User::Key { key } => given.of_key(key).map(|name| vec![name.to_owned()]),
        _ => None,
    });
    values.flatten().collect()
}

/// Returns the bytes of a blob that are written.
fn size(file: &Extracted<'_>) -> u64 {
    let parts = |unpacked: &Unpacked<'_>| unpacked.files.iter().map(|part| part.size).sum();
    file.unpacked.as_ref().map_or(file.size, parts)
}

/// Returns the files to be written that exist and are not listed by an earlier manifest in the folder. Only an earlier extraction that was
/// interrupted leaves such files, with the content that is to be written.
fn foreign(folder: &Path, extraction: &Extraction<'_>) -> Result<BTreeSet<PathBuf>, Failure> {
    let earlier: BTreeSet<String> = earlier(folder).unwrap_or_default().into_iter().collect();
    let files = || extraction.files.iter().flat_map(paths).chain([MANIFEST]);
    files().try_for_each(|file| refuse_mapped(&folder.join(file)))?;
    let foreign = files().filter(|file| !earlier.contains(*file)).map(|file| folder.join(file));
    let foreign: BTreeSet<PathBuf> = foreign.filter(|path| exists(path)).collect();
    let own: BTreeSet<PathBuf> = files().map(|file| folder.join(file)).collect();
    foreign.iter().filter(|path| path.is_dir()).try_for_each(|path| refuse_other_files(path, &own))?;
    Ok(foreign)
}

/// Fails if the folder of an unpacked payload has a file that is not one of its own.
fn refuse_other_files(folder: &Path, own: &BTreeSet<PathBuf>) -> Result<(), Failure> {
    let unreadable = |error| Failure::Unreadable { file: folder.to_owned(), error };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            refuse_other_files(&path, own)?;
        } else if !own.contains(&path) && !is_left_by_a_kill(&path) {
            return Err(Failure::exists(folder));
        }
    }
    Ok(())
}

/// Returns `true` for a temporary file or a lock file that a killed process left.
fn is_left_by_a_kill(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".executorch-format-"))
}

/// Returns the files of an earlier extraction into a folder, with its manifest; `None` if there is no manifest.
fn earlier(folder: &Path) -> Option<Vec<String>> {
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()?;
    manifest.get("format")?.as_u64()?;
    let blobs = manifest.get("files")?.get(0)?.get("blobs")?.as_array()?;
    let parts = |blob: &serde_json::Value| blob.pointer("/unpacked/files").and_then(|parts| parts.as_array()).cloned();
    let files = blobs.iter().flat_map(|blob| parts(blob).into_iter().flatten().chain([blob.clone()]));
    let files = files.map(|file| Some(file.get("file")?.as_str()?.to_owned()));
    files.chain([Some(MANIFEST.to_owned())]).collect()
}

/// The files of blobs.
struct BlobFiles<'t> {
    context: &'t Context,
    model: &'t Model<'t>,
    /// The methods by name; among several of one name, the first.
    methods: HashMap<&'t str, &'t ExecutionPlan<'t>>,
    folder: &'t Path,
    /// The form of tensors.
    form: Form,
    input: &'t Path,
}

impl BlobFiles<'_> {
    /// Passes the files of a blob to `output`.
    fn blob(&self, file: &Extracted<'_>, output: &mut Output<'_>) -> Result<(), Failure> {
        if let Some(unpacked) = &file.unpacked {
            for part in &unpacked.files {
                output(&self.folder.join(&part.file), &|out| out.write_all(&part.bytes))?;
            }
            return Ok(());
        }
        let bytes = self.model.bytes(&file.data).map_err(|error| Failure::bad(self.input, &error))?;
        self.tensor(file, (file.shape, bytes), output)
    }

    /// Passes the file of a blob to `output`, in the form of tensors if it is a tensor, and so has a shape.
    fn tensor(
        &self,
        file: &Extracted<'_>,
        (shape, bytes): (Option<TensorShape<'_>>, &[u8]),
        output: &mut Output<'_>,
    ) -> Result<(), Failure> {
        let bad = |error| Failure::bad(self.input, &error);
        let path = self.folder.join(&file.file);
        let Some(shape) = shape.filter(|_| matches!(self.form, Form::Ptd | Form::Npy)) else {
            return output(&path, &|out| out.write_all(bytes)).map(drop);
        };
        let view = TensorView::new(shape, bytes).map_err(bad)?;
        if self.form == Form::Npy {
            return output_array(self.context, &view, &path, output);
        }
        let entry = NewEntry::view(key(&self.methods, file), &view).with_alignment(16);
        let ptd = Ptd::build([entry], &PtdOptions::default()).map_err(bad)?;
        output(&path, &|out| Ok(ptd.image()?.write_to(out)?)).map(drop)
    }
}

/// Passes an array to `output`. Prints a message if it was written and its type or dim order is not that of the tensor.
pub fn output_array(
    context: &Context,
    view: &TensorView<'_>,
    path: &Path,
    output: &mut Output<'_>,
) -> Result<(), Failure> {
    let array = Npy::of(view).map_err(|error| Failure::bad(path, &error))?;
    let is_written = output(path, &|out| Ok(array.image()?.write_to(out)?))?;
    let (own, shape) = (array.tensor_layout.shape(), view.shape());
    if is_written && (own.scalar_type != shape.scalar_type || own.dim_order != shape.dim_order) {
        context.say(format_args!("{}: {own} with the elements of {shape}", text::path(path)));
    }
    Ok(())
}

/// Returns the names that a blob may have among the model's weights: those of its values and keys, or else their keys.
fn weight_names(methods: &HashMap<&str, &ExecutionPlan<'_>>, file: &Extracted<'_>, given: &GivenNames) -> Vec<String> {
    let names = file.users.iter().flat_map(|user| match user {
        User::Value { method, value } => {
            let key = methods.get(method.as_str()).map(|plan| default_key(plan, *value));
            [given.of(method, *value).map(str::to_owned), key]
        }
        User::Key { key } => [given.of_key(key).map(str::to_owned), Some(key.clone())],
        _ => [None, None],
    });
    names.flatten().chain(file.name.as_deref().map(str::to_owned)).collect()
}

/// Returns the blob's name, or the key that `externalize` would give it.
fn key(methods: &HashMap<&str, &ExecutionPlan<'_>>, file: &Extracted<'_>) -> String {
    match (&file.name, file.users.first()) {
        (Some(name), _) => Some(name.to_string()),
        (None, Some(User::Value { method, value })) => {
            methods.get(method.as_str()).map(|plan| default_key(plan, *value))
        }
        _ => None,
    }
    .unwrap_or_else(|| file.file.clone())
}

/// Prints what would be written, one line for each blob.
fn print(context: &Context, file: Option<&Path>, extraction: &Extraction<'_>) -> Result<(), Failure> {
    let mut table = Table::new([
        ("OFFSET", Column::Right),
        ("SIZE", Column::Right),
        ("WHAT", Column::Left),
        ("FILE", Column::Left),
        ("SHAPE", Column::Left),
    ]);
    for Extracted { file, subject, shape, offset, size, unpacked, .. } in &extraction.files {
        let offset = offset.map(|offset| offset.to_string()).unwrap_or_default();
        let shape = shape.map(|shape| shape.to_string()).unwrap_or_default();
        let Some(unpacked) = unpacked else {
            table.row([offset, text::size(*size), subject.to_string(), context.name(file, LONG_NAME), shape]);
            continue;
        };
        for part in &unpacked.files {
            let what = unpacked.kind.to_string();
            let name = context.name(&part.file, 2 * LONG_NAME);
            table.row([String::new(), text::size(part.size), what, name, String::new()]);
        }
    }
    let mut out = context.out();
    if let Some(file) = file {
        writeln!(out, "{}:", text::path(file))?;
    }
    table.write(&mut out)?;
    writeln!(out, "{}, which --output FOLDER writes", text::count(extraction.files.len(), "blob"))?;
    Ok(out.flush()?)
}
