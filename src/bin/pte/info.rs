//! `pte info`: what a person wants to know about a file first.

mod flat_tensor;
mod print;
mod program;

use crate::failure::Failure;
use crate::json;
use crate::open::{Input, Model};
use executorch_format::probe;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is in each file, in short: methods, shapes, operators, delegates, memory, weights, metadata
#[derive(clap::Args)]
pub struct Arguments {
    /// .pte and .ptd files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print JSON: one object for each file, on a line of its own
    #[arg(long)]
    json: bool,
}

/// The facts about a file.
#[derive(Serialize)]
struct Info<'t> {
    file: String,
    /// `pte` or `ptd`.
    kind: &'static str,
    /// The four identifier bytes.
    identifier: String,
    /// Bytes.
    file_size: u64,
    header: Option<Header>,
    #[serde(flatten)]
    content: Content<'t>,
}

/// The extended header.
#[derive(Serialize)]
struct Header {
    /// Bytes.
    length: u32,
    /// Bytes from the start of the file to the end of the FlatBuffer.
    metadata_size: u64,
    segment_base_offset: u64,
    /// Bytes; `None` in an old header.
    segment_data_size: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'t> {
    Program(program::Facts<'t>),
    FlatTensor(flat_tensor::Facts<'t>),
}

/// How many, and how many bytes in all. What several refer to counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Amount {
    count: usize,
    bytes: u64,
}

impl FromIterator<u64> for Amount {
    fn from_iter<I: IntoIterator<Item = u64>>(sizes: I) -> Self {
        let add = |sum: Self, size| Self { count: sum.count + 1, bytes: sum.bytes.saturating_add(size) };
        sizes.into_iter().fold(Self::default(), add)
    }
}

/// Tells about each file, the good ones also where others are bad.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut code = 0;
    for (at, file) in arguments.files.iter().enumerate() {
        match show(file, arguments.json, at > 0) {
            Ok(()) => {}
            Err(output @ Failure::Output(_)) => return Err(output),
            Err(failure) => {
                failure.report();
                code = code.max(failure.code());
            }
        }
    }
    if code == 0 { Ok(()) } else { Err(Failure::Reported(code)) }
}

/// Tells about one file. What it refers to and does not hold comes behind the facts, as a failure.
fn show(file: &Path, as_json: bool, apart: bool) -> Result<(), Failure> {
    let input = Input::open(file)?;
    let model = input.parse()?;
    let mut findings = Vec::new();
    let (content, header) = match &model {
        Model::Pte(pte) => {
            let header = pte.header.map(|header| Header {
                length: header.length,
                metadata_size: header.program_size,
                segment_base_offset: header.segment_base_offset,
                segment_data_size: header.segment_data_size,
            });
            (Content::Program(program::facts(pte, &mut findings)), header)
        }
        Model::Ptd(ptd) => {
            let header = ptd.header.map(|header| Header {
                length: header.length,
                metadata_size: header.flatbuffer_offset.saturating_add(header.flatbuffer_size),
                segment_base_offset: header.segment_base_offset,
                segment_data_size: Some(header.segment_data_size),
            });
            (Content::FlatTensor(flat_tensor::facts(ptd, &mut findings)), header)
        }
    };
    let identifier = probe(input.bytes()).map_err(|error| Failure::bad(file, &error))?.identifier;
    let info = Info {
        file: file.display().to_string(),
        kind: if matches!(content, Content::Program(_)) { "pte" } else { "ptd" },
        identifier: identifier.escape_ascii().to_string(),
        file_size: input.bytes().len() as u64,
        header,
        content,
    };
    if as_json {
        json::print_line(&info)?;
    } else {
        print::text(&info, apart)?;
    }
    if findings.is_empty() { Ok(()) } else { Err(Failure::Bad { file: file.to_owned(), findings }) }
}
