//! `pte metadata`: a program's metadata, listed and changed.

use super::{Destination, EditReport, program};
use crate::failure::Failure;
use crate::open::Input;
use crate::{json, text};
use executorch_format::Pte;
use executorch_format::edit::{Metadata, MetadataContent, MetadataValue};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// List, set or remove metadata: methods that return a constant, and named data under `metadata.`
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte metadata model.pte
  pte metadata model.pte --set get_vocab_size=32000 --set metadata.author=someone -i
  pte metadata model.pte --remove metadata.author -o new.pte")]
pub struct Arguments {
    /// A .pte file
    file: PathBuf,
    /// A new value: an integer, a float, true, false, or else a string
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A new value that is a string, whatever it looks like
    #[arg(long, value_name = "NAME=TEXT")]
    set_string: Vec<String>,
    /// Remove an entry
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
    #[command(flatten)]
    destination: Destination,
}

/// The metadata of a file, as JSON has it.
#[derive(Serialize)]
struct Listing<'t> {
    file: String,
    metadata: Vec<Metadata<'t>>,
}

/// Lists or changes metadata.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let input = Input::open(&arguments.file)?;
    let before = program(&input)?;
    let Arguments { set, set_string, remove, destination, .. } = arguments;
    if set.is_empty() && set_string.is_empty() && remove.is_empty() {
        return list(&input, &before, destination.how().json);
    }
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
        let value = if typed { typed_value(value) } else { MetadataValue::String(value.into()) };
        report.changes.append(&mut after.set_metadata(name, value).map_err(bad)?.changes);
    }
    destination.finish(&input, before, after, &report)
}

fn typed_value(text: &str) -> MetadataValue {
    let int = text.parse().ok().map(MetadataValue::Int);
    let bool = || text.parse().ok().map(MetadataValue::Bool);
    let float = || text.parse().ok().map(MetadataValue::Float);
    int.or_else(bool).or_else(float).unwrap_or_else(|| MetadataValue::String(text.into()))
}

fn list(input: &Input, pte: &Pte<'_>, as_json: bool) -> Result<(), Failure> {
    let metadata = pte.metadata();
    if as_json {
        return json::print(&Listing { file: input.path().display().to_string(), metadata });
    }
    let mut out = BufWriter::new(io::stdout().lock());
    for Metadata { name, content } in &metadata {
        let content = match content {
            MetadataContent::Method(value) => serde_json::to_string(value)?,
            MetadataContent::Bytes { text: Some(text), int: None, .. } => serde_json::to_string(text)?,
            MetadataContent::Bytes { int: Some(int), float: Some(float), .. } => {
                format!("{int}, or as a float {float}")
            }
            MetadataContent::Bytes { size, .. } => text::count(*size, "byte"),
            _ => "something newer".to_owned(),
        };
        writeln!(out, "{} = {}", text::name(name, 60), text::message(&content))?;
    }
    Ok(out.flush()?)
}
