//! `pte ptd`: makes, merges, splits, renames and filters `.ptd` files.

use super::pattern::{self, Patterns};
use super::scalar_type;
use super::source::Source;
use super::{Destination, EditReport, How, Output, data, finish, open};
use crate::context::Context;
use crate::existing::refuse_existing_images;
use crate::failure::Failure;
use crate::open::Input;
use crate::save::Pending;
use crate::{lock, text};
use clap::{Args, Subcommand, ValueEnum};
use executorch_format::edit::{Action, Change, NewData, Subject};
use executorch_format::schema::ScalarType;
use executorch_format::{Error, NewEntry, Ptd, PtdOptions};
use glob::Pattern;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Make, merge, split, rename or filter .ptd files
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Create(Create),
    Merge(Merge),
    Split(Split),
    Rename(Rename),
    Filter(Filter),
}

/// Make a .ptd from tensors and blobs in other files
#[derive(Args)]
#[command(after_help = "Examples:
  pte ptd create -o weights.ptd linear.weight:f32:64x32=weight.bin tokenizer=tokenizer.json
  pte ptd create -o weights.ptd linear.weight=weight.npy linear.bias=model.safetensors:fc.bias")]
struct Create {
    /// KEY=FILE.npy for a NumPy array; KEY=FILE.ptd or KEY=FILE.safetensors for the entry of that name or the only one, with
    /// :NAME for another; KEY:TYPE:SIZES=FILE for a tensor of bytes, such as weight:f32:64x32=weight.bin; KEY=FILE for a blob
    #[arg(required = true, value_name = "KEY=FILE")]
    entries: Vec<String>,
    /// The .ptd to write
    #[arg(short, long, value_name = "OUT.ptd", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    /// Start each entry at a multiple of this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    alignment: u32,
    #[command(flatten)]
    how: How,
}

/// Merge several .ptd files into one; a key in two of them must have the same content, unless --prefer is given
#[derive(Args)]
#[command(after_help = "Examples:
  pte ptd merge a.ptd b.ptd -o both.ptd
  pte ptd merge base.ptd fine-tuned.ptd --prefer last -o weights.ptd")]
struct Merge {
    /// .ptd files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// For a key in several files, take the content of the first or the last
    #[arg(long, value_enum)]
    prefer: Option<Preferred>,
    /// The .ptd to write
    #[arg(short, long, value_name = "OUT.ptd", required_unless_present = "dry_run")]
    output: Option<PathBuf>,
    #[command(flatten)]
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preferred {
    /// The content in the first file with the key
    First,
    /// The content in the last file with the key
    Last,
}

/// Split a .ptd into several, by size or by patterns of keys
#[derive(Args)]
#[command(after_help = "Examples:
  pte ptd split weights.ptd --max-size 2GB -o part.ptd   (part-00001-of-00003.ptd, …)
  pte ptd split weights.ptd --name 'layers.0.*' --name 'layers.1.*' -o part.ptd")]
struct Split {
    /// A .ptd file
    file: PathBuf,
    /// Maximum bytes of data in each part, such as 2GB; a larger blob gets its own part
    #[arg(long, value_name = "SIZE", required_unless_present = "name", conflicts_with = "name", value_parser = text::parse_size)]
    max_size: Option<u64>,
    /// A part for the keys that match; parts are in the order given, and a last one has all other keys
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    name: Vec<Pattern>,
    /// The name of the parts: OUT.ptd makes OUT-00001-of-00003.ptd
    #[arg(short, long, value_name = "OUT.ptd")]
    output: PathBuf,
    /// Replace parts that exist
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    how: How,
}

/// Rename keys
#[derive(Args)]
#[command(after_help = "Examples:
  pte ptd rename weights.ptd old.weight=new.weight -i
  pte ptd rename weights.ptd --prefix model. -i")]
struct Rename {
    /// A .ptd file
    file: PathBuf,
    /// Old and new name
    #[arg(value_name = "OLD=NEW", required_unless_present = "prefix")]
    names: Vec<String>,
    /// Add this prefix to every key that is not renamed
    #[arg(long)]
    prefix: Option<String>,
    #[command(flatten)]
    destination: Destination,
}

/// Keep or remove keys
#[derive(Args)]
#[command(after_help = "Examples:
  pte ptd filter weights.ptd --keep 'layers.*' -o layers.ptd")]
struct Filter {
    /// A .ptd file
    file: PathBuf,
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    destination: Destination,
}

#[derive(Args)]
#[group(required = true, multiple = true)]
struct Which {
    /// Keep keys that match, and remove all others
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    keep: Vec<Pattern>,
    /// Remove keys that match
    #[arg(long, value_name = "GLOB", value_parser = pattern::parse)]
    remove: Vec<Pattern>,
}

/// Runs one of the subcommands.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    match &arguments.command {
        Command::Create(arguments) => create(context, arguments),
        Command::Merge(arguments) => merge(context, arguments),
        Command::Split(arguments) => split(context, arguments),
        Command::Rename(arguments) => rename(context, arguments),
        Command::Filter(arguments) => filter(context, arguments),
    }
}

fn refused(error: Error) -> Failure {
    Failure::Usage(error.to_string())
}

fn create<'a>(context: &Context, arguments: &'a Create) -> Result<Pending<'a>, Failure> {
    if let Some(output) = arguments.output.as_deref().filter(|_| !arguments.how.dry_run) {
        lock::before_reading(context, output)?;
    }
    let mut sources = Vec::new();
    for entry in &arguments.entries {
        let Some((key, file)) = entry.split_once('=') else {
            return Err(Failure::Usage(format!("{entry}: expected KEY=FILE or KEY:TYPE:SIZES=FILE")));
        };
        if key.is_empty() || key.starts_with(':') {
            return Err(Failure::Usage(format!("{entry}: an empty key, expected KEY=FILE or KEY:TYPE:SIZES=FILE")));
        }
        sources.push((key, Source::open(context, file)?));
    }
    let entry = |(key, source)| new_entry(key, source).map(|entry| entry.with_alignment(arguments.alignment));
    let entries = sources.iter().map(|(key, source)| entry((*key, source))).collect::<Result<Vec<_>, _>>()?;
    let added = |entry: &NewEntry<'_>| key_change(Action::Added, &entry.key, [0, entry.bytes.len() as u64]);
    let report = EditReport::from(entries.iter().map(added).collect::<Vec<_>>());
    let ptd = Ptd::build(entries, &PtdOptions::default()).map_err(refused)?;
    let output =
        Output::new(arguments.output.as_deref(), ptd.image(), arguments.output.as_deref().unwrap_or(Path::new("")))?;
    let inputs: Vec<&Input> = sources.iter().map(|(_, source)| source.input()).collect();
    finish(context, &inputs, vec![output], report, &arguments.how)
}

/// Returns the change made to a key.
fn key_change(action: Action, key: &str, [bytes_before, bytes_after]: [u64; 2]) -> Change {
    Change::new(action, Subject::Key, key, bytes_before, bytes_after)
}

/// Parses `KEY:TYPE:SIZES`. Returns `None` for any other form.
fn typed(text: &str) -> Result<Option<(&str, ScalarType, &str)>, Failure> {
    let wrong = |fault: String| Failure::Usage(format!("{text}: {fault}"));
    let parts: Vec<&str> = text.rsplitn(3, ':').collect();
    let number = |sizes: &str| sizes.chars().all(|c| c.is_ascii_digit() || "x,;*[]() ".contains(c));
    match parts[..] {
        [sizes, kind, key] => match scalar_type::parse(kind) {
            Ok(scalar_type) => Ok(Some((key, scalar_type, sizes))),
            // The key itself may contain colons.
            Err(fault) if number(sizes) => Err(wrong(fault)),
            Err(_) => Ok(None),
        },
        [kind, key] if kind.parse::<i8>().is_err() && scalar_type::parse(kind).is_ok() => {
            Err(wrong(format!("a type without sizes, expected {key}:{kind}:SIZES, such as {key}:{kind}:3x4")))
        }
        _ => Ok(None),
    }
}

/// Creates an entry with the key at the start of `text`. With a type and sizes after the key, the bytes become a tensor; a source that is
/// already a tensor must have the same type and sizes.
fn new_entry<'t>(text: &'t str, source: &'t Source) -> Result<NewEntry<'t>, Failure> {
    let Some((key, scalar_type, sizes)) = typed(text)? else {
        let NewData { tensor_layout, bytes, .. } = source.read(text)?;
        return Ok(NewEntry::blob(text, bytes).with_tensor_layout(tensor_layout));
    };
    // A tensor without dimensions has no sizes.
    let sizes = if sizes.is_empty() { Ok(Vec::new()) } else { sizes.split('x').map(str::parse::<i32>).collect() };
    let sizes = sizes.map_err(|_| Failure::Usage(format!("{text}: expected sizes such as 3x4")))?;
    let NewData { tensor_layout, bytes, numpy, .. } = source.read(key)?;
    let Some(mut layout) = tensor_layout else {
        return Ok(NewEntry::tensor(key, scalar_type, sizes, bytes));
    };
    // Types that NumPy does not have are stored as integers.
    let stored = if numpy { scalar_type.numpy_type() } else { Some(scalar_type) };
    if stored != Some(layout.scalar_type) || layout.sizes() != sizes {
        let (file, found) = (text::path(source.input().path()), layout.shape());
        let expected = scalar_type.short_name().unwrap_or("unknown");
        return Err(Failure::Usage(format!("{file} holds {found}, expected {expected}{sizes:?}")));
    }
    layout.scalar_type = scalar_type;
    Ok(NewEntry::blob(key, bytes).with_tensor_layout(Some(layout)))
}

fn merge<'a>(context: &Context, arguments: &'a Merge) -> Result<Pending<'a>, Failure> {
    if let Some(output) = arguments.output.as_deref().filter(|_| !arguments.how.dry_run) {
        lock::before_reading(context, output)?;
    }
    let inputs = open(context, &arguments.files)?;
    let mut files = inputs.iter().map(data).collect::<Result<Vec<_>, _>>()?;
    match arguments.prefer {
        Some(preferred) => {
            let mut owners = BTreeMap::new();
            for (at, file) in files.iter().enumerate() {
                for entry in file.entries() {
                    let owner = owners.entry(entry.key().to_owned()).or_insert(at);
                    *owner = if preferred == Preferred::Last { at } else { *owner };
                }
            }
            for (at, file) in files.iter_mut().enumerate() {
                file.filter(|entry| owners.get(entry.key()) == Some(&at)).map_err(refused)?;
            }
        }
        None => check_contents(&files, &arguments.files)?,
    }
    let (merged, report) = Ptd::merge(&files, &PtdOptions::default()).map_err(refused)?;
    let path = arguments.output.as_deref();
    let output = Output::new(path, merged.image(), path.unwrap_or(Path::new("")))?;
    finish(context, &inputs.iter().collect::<Vec<_>>(), vec![output], report, &arguments.how)
}

/// Fails if two files have different contents for the same key.
fn check_contents(files: &[Ptd<'_>], paths: &[PathBuf]) -> Result<(), Failure> {
    let mut owners = BTreeMap::new();
    // Many keys can share a segment: pairs of equal bytes, by their addresses and lengths, are compared once.
    let mut known = BTreeSet::new();
    let place = |bytes: &[u8]| (bytes.as_ptr().addr(), bytes.len());
    let mut equal = |left: &[u8], right: &[u8]| {
        let pair = (place(left), place(right));
        known.contains(&pair) || left == right && known.insert(pair)
    };
    for (file, path) in files.iter().zip(paths) {
        for entry in file.entries() {
            let bytes = file.entry_bytes(&entry).map_err(|error| Failure::bad(path, &error))?;
            match owners.get(entry.key()) {
                None => drop(owners.insert(entry.key().to_owned(), (path, entry.shape, bytes))),
                Some((_, shape, before)) if *shape == entry.shape && equal(before, bytes) => {}
                Some((first, ..)) => {
                    let (key, first, second) = (text::quoted(entry.key()), text::path(first), text::path(path));
                    let fault = format!("the key {key} has another content in {first} than in {second}");
                    return Err(Failure::Usage(format!("{fault}: --prefer first or last takes one of them")));
                }
            }
        }
    }
    Ok(())
}

fn refuse_without_keys(ptd: &Ptd<'_>, path: &Path) -> Result<(), Failure> {
    match ptd.entries().next() {
        Some(_) => Ok(()),
        None => Err(Failure::usage_of(path, &"the file has no keys")),
    }
}

fn split<'a>(context: &Context, arguments: &'a Split) -> Result<Pending<'a>, Failure> {
    let input = Input::open(context, &arguments.file)?;
    let ptd = data(&input)?;
    Patterns(&arguments.name).check(input.path(), "key like", ptd.entries().map(|entry| entry.key()))?;
    refuse_without_keys(&ptd, input.path())?;
    let options = PtdOptions::default();
    let parts = match arguments.max_size {
        Some(most) => {
            let mut parts = ptd.parts_by_size(most).map_err(refused)?.into_iter();
            ptd.split(&options, |_| parts.next().unwrap_or_default())
        }
        None => ptd.split(&options, |entry| {
            let matching = arguments.name.iter().position(|pattern| pattern.matches(entry.key()));
            matching.unwrap_or(arguments.name.len())
        }),
    };
    let parts = parts.map_err(refused)?;
    let stem = arguments.output.with_extension("");
    let name = |number| PathBuf::from(format!("{}-{number:05}-of-{:05}.ptd", stem.display(), parts.len()));
    let names: Vec<PathBuf> = (1..=parts.len()).map(name).collect();
    let mut report = EditReport::default();
    for (part, path) in parts.iter().zip(&names) {
        for entry in part.entries() {
            let size = part.entry_data(&entry).map_err(refused)?.size();
            report.changes.push(key_change(Action::Extracted, entry.key(), [size, size]));
        }
        let keys = text::count(part.entries().count(), "key");
        report.notes.push(format!("{} has {keys}", text::path(path)));
    }
    let outputs = parts.iter().zip(&names).map(|(part, path)| Output::new(Some(path), part.image(), path));
    let outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    refuse_existing_images(
        arguments.overwrite,
        names.iter().zip(&outputs).map(|(path, output)| (&**path, &output.image)),
    )?;
    finish(context, &[&input], outputs, report, &arguments.how)
}

fn rename<'a>(context: &Context, arguments: &'a Rename) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let before = data(&input)?;
    refuse_without_keys(&before, input.path())?;
    let mut names = BTreeMap::new();
    for pair in &arguments.names {
        let Some((old, new)) = pair.split_once('=') else {
            return Err(Failure::Usage(format!("{pair}: expected OLD=NEW")));
        };
        if before.get(old).is_none() {
            return Err(Failure::no_match(
                input.path(),
                "key",
                old,
                before.entries().map(|entry| entry.key()).collect(),
            ));
        }
        names.insert(old, new);
    }
    let mut after = before.clone();
    let prefixed = |key: &str| arguments.prefix.as_ref().map(|prefix| format!("{prefix}{key}"));
    let report = after.rename(|key| names.get(key).map(|name| (*name).to_owned()).or_else(|| prefixed(key)));
    arguments.destination.finish(context, &input, before, after, report.map_err(refused)?)
}

fn filter<'a>(context: &Context, arguments: &'a Filter) -> Result<Pending<'a>, Failure> {
    let input = arguments.destination.open(context, &arguments.file)?;
    let before = data(&input)?;
    let mut after = before.clone();
    let Which { keep, remove } = &arguments.which;
    for patterns in [keep, remove] {
        Patterns(patterns).check(input.path(), "key like", before.entries().map(|entry| entry.key()))?;
    }
    let report = after.filter(|entry| Patterns(keep).allow(entry.key()) && !Patterns(remove).any(entry.key()));
    arguments.destination.finish(context, &input, before, after, report.map_err(refused)?)
}
