//! `pte metadata`: lists and changes a program's metadata.

use super::{Destination, EditReport, program};
use crate::context::{Context, LONG_NAME};
use crate::data::each_program;
use crate::failure::Failure;
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::open::read_settings;
use crate::remote::Need;
use crate::save::Pending;
use crate::text;
use executorch_format::Pte;
use executorch_format::edit::{Metadata, MetadataContent, MetadataValue};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;
use std::path::Path;

/// List, set or remove metadata: methods that return a constant, and named data under `metadata.`
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte metadata model.pte
  pte metadata model.pte --set get_vocab_size=32000 --set metadata.author=someone -i
  pte metadata model.pte --set get_eos_ids=[128009,128001] --set get_template=@chat.jinja -i
  pte metadata model.pte --remove metadata.author -o new.pte")]
#[command(mut_arg("files", |argument| argument.help(files::PROGRAMS)))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    /// A new value: an integer, a float, true or false, or a list of such as JSON, [5,6]; @FILE stands for the text in a file; anything else is
    /// a string
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A new value that is always a string
    #[arg(long, value_name = "NAME=TEXT")]
    set_string: Vec<String>,
    /// Remove an entry
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
    #[command(flatten)]
    destination: Destination,
}

/// The metadata of a file, as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Listing<'t> {
    file: String,
    metadata: Vec<Metadata<'t>>,
    errors: json::None,
}

/// Lists or changes metadata.
pub fn run<'a>(context: &Context, arguments: &'a Arguments) -> Result<Pending<'a>, Failure> {
    let Arguments { set, set_string, remove, destination, .. } = arguments;
    if set.is_empty() && set_string.is_empty() && remove.is_empty() {
        if destination.is_given() {
            return Err(Failure::Usage("nothing to write: give --set, --set-string or --remove".into()));
        }
        list(context, &arguments.files, &destination.how().form)?;
        return Ok(Pending::default());
    }
    let input = destination.open(context, arguments.files.single("a change of metadata")?)?;
    let before = program(&input)?;
    let mut after = before.clone();
    let mut report = EditReport::default();
    let bad = |error: executorch_format::Error| Failure::Usage(format!("{}: {error}", text::path(input.path())));
    let values = set.iter().map(|pair| (pair, true)).chain(set_string.iter().map(|pair| (pair, false)));
    for name in remove {
        if !after.metadata().iter().any(|entry| entry.name == name) {
            let there = after.metadata().iter().map(|entry| entry.name).collect();
            return Err(Failure::no_match(input.path(), "metadata", name, there));
        }
        report.changes.append(&mut after.remove_metadata(name).map_err(bad)?.changes);
    }
    for (pair, typed) in values {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(Failure::Usage(format!("{pair}: expected NAME=VALUE")));
        };
        let value = match value.strip_prefix('@') {
            _ if !typed => MetadataValue::String(value.into()),
            Some(file) => MetadataValue::String(read_settings(Path::new(file))?),
            None if value.starts_with('[') => list_value(value)
                .map_err(|fault| Failure::Usage(format!("{pair}: {fault}; --set-string sets a text")))?,
            None => typed_value(value),
        };
        report.changes.append(&mut after.set_metadata(name, value).map_err(bad)?.changes);
        let shown = |pte: &Pte<'_>| {
            let entry = pte.metadata().into_iter().find(|entry| entry.name == name);
            entry.map(|entry| content_text(&entry.content)).transpose()
        };
        let (old, new, name) = (shown(&before)?, shown(&after)?, context.name(name, LONG_NAME));
        match (old, new) {
            (None, Some(new)) => report.notes.push(format!("{name} = {new}")),
            (Some(old), Some(new)) if old != new => report.notes.push(format!("changed {name} from {old} to {new}")),
            _ => {}
        }
    }
    destination.finish(context, &input, before, after, report)
}

fn typed_value(text: &str) -> MetadataValue {
    let int = text.parse().ok().map(MetadataValue::Int);
    let bool = || text.parse().ok().map(MetadataValue::Bool);
    let float = || text.parse().ok().map(MetadataValue::Float);
    int.or_else(bool).or_else(float).unwrap_or_else(|| MetadataValue::String(text.into()))
}

/// Reads a list as JSON.
fn list_value(text: &str) -> Result<MetadataValue, String> {
    let items: Vec<Value> = serde_json::from_str(text).map_err(|error| format!("it is not a list as JSON: {error}"))?;
    let item = |value: Value| match value {
        Value::Bool(value) => Ok(MetadataValue::Bool(value)),
        Value::String(value) => Ok(MetadataValue::String(value)),
        Value::Number(value) => match (value.as_i64(), value.as_f64().filter(|_| value.is_f64())) {
            (Some(int), _) => Ok(MetadataValue::Int(int)),
            (_, Some(float)) => Ok(MetadataValue::Float(float)),
            _ => Err(format!("{value} does not fit a signed integer of 64 bits")),
        },
        other => Err(format!("{other} in the list, expected a number, true, false or a string")),
    };
    items.into_iter().map(item).collect::<Result<_, _>>().map(MetadataValue::List)
}

fn list(context: &Context, files: &FileArguments, form: &JsonArguments) -> Result<(), Failure> {
    let mut documents = json::Files::start(context, form);
    let outcome = each_program(context, files, Need::All, documents.as_mut(), |path, pte, documents| {
        let metadata = pte.metadata();
        match documents {
            Some(documents) => documents.add(&Listing { file: path.display().to_string(), metadata, errors: [] }),
            None => print(context, files.are_several().then_some(path), &metadata),
        }
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome
}

/// Prints one entry per line, after the file's name if there are several files.
fn print(context: &Context, path: Option<&Path>, metadata: &[Metadata<'_>]) -> Result<(), Failure> {
    let mut out = context.plain_out();
    if let Some(path) = path {
        writeln!(out, "{}:", text::path(path))?;
    }
    let indent = if path.is_some() { "  " } else { "" };
    for Metadata { name, content, .. } in metadata {
        let content = content_text(content)?;
        let name = context.name(name, LONG_NAME);
        writeln!(out, "{indent}{name} = {}", context.cut(&text::message(&content), indent.len() + name.len() + 3))?;
    }
    if metadata.is_empty() {
        context.say(format_args!("{indent}no metadata"));
    }
    Ok(out.flush()?)
}

/// Formats an entry's content as `--set` takes it.
fn content_text(content: &MetadataContent<'_>) -> Result<String, Failure> {
    Ok(match content {
        MetadataContent::Method(value) => serde_json::to_string(value)?,
        MetadataContent::Bytes { text: Some(text), .. } => serde_json::to_string(text)?,
        // The same bytes can be read as an integer, which is then a large one.
        MetadataContent::Bytes { int: Some(int), float: Some(float), .. } if (1e-9..1e15).contains(&float.abs()) => {
            format!("{float}, or as an integer {int}")
        }
        MetadataContent::Bytes { int: Some(int), .. } => int.to_string(),
        MetadataContent::Bytes { size, .. } => text::count(*size, "byte"),
        _ => "something newer".to_owned(),
    })
}
