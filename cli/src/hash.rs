//! `pte hash`: hashes of the content of files, and checks against a list of them.

use crate::context::Context;
use crate::data::{DataArguments, serving};
use crate::failure::{Failure, each};
use crate::files::{self, FileArguments};
use crate::json::{self, JsonArguments};
use crate::open::{Input, read_settings};
use crate::text;
use executorch_format::edit::{ContentHash, PartHash};
use executorch_format::{Analysis, Model};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Print a hash of the content of each file, which does not depend on its layout, or check files against such hashes
///
/// The hash of a program covers its methods with their names, except those that only return constants: inputs and outputs, values with types,
/// sizes and planned places, the bytes of constants and initial states, instructions with their operators, and delegates with compile
/// specs, payloads and the data that they look up by key. It does not cover the layout of the file, the order of tables and segments,
/// alignment, the place of data (in the program or in a .ptd that is given too), names of tensors, stack traces, methods that only return
/// constants, named data under `metadata.`, and data that nothing uses. The hash of a .ptd covers keys, types, sizes, dim orders and bytes;
/// that of a bundle is that of its program. --json also has the hash of each method and weight.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  pte hash model.pte
  pte hash program.pte weights.ptd          # the program has the same hash as before its weights were moved out
  pte hash -r models --json > models.json
  pte hash --check models.json              # names the methods and weights that changed

Exit codes: 0 the content is the same, 1 it is not, or a file is invalid, 2 wrong usage, or a file cannot be read.")]
#[command(mut_arg("files", |argument| {
    argument.help(files::WITH_BLOBS).required(false).required_unless_present("check")
}))]
pub struct Arguments {
    #[command(flatten)]
    files: FileArguments,
    #[command(flatten)]
    data: DataArguments,
    /// Compare the files, by default all that it lists, with this manifest, which `pte hash --json` printed
    #[arg(long, value_name = "MANIFEST")]
    check: Option<PathBuf>,
    #[command(flatten)]
    form: JsonArguments,
}

/// The hash of a file's content.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileHash {
    file: String,
    #[serde(flatten)]
    hash: ContentHash,
    errors: json::None,
}

/// The content of a file, compared with a manifest.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileCheck {
    file: String,
    /// `true` if the content is that of the manifest.
    ok: bool,
    /// The parts that differ, or a sentence if no part does.
    changes: Vec<String>,
    errors: json::None,
}

/// A list of hashes, as `--json` prints it. Files with errors have none.
#[derive(Deserialize)]
struct Manifest {
    format: u32,
    files: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    file: String,
    sha256: Option<String>,
    #[serde(default)]
    methods: Vec<Part>,
    #[serde(default)]
    weights: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    name: String,
    sha256: String,
}

/// Prints the hash of each file, or compares it. Continues after a file that fails.
pub fn run(context: &Context, arguments: &Arguments) -> Result<(), Failure> {
    let manifest = arguments.check.as_deref().map(read).transpose()?;
    let of_manifest = |manifest: &BTreeMap<String, Listed>| FileArguments {
        files: manifest.keys().map(PathBuf::from).collect(),
        recursive: false,
    };
    let listed = manifest.as_ref().filter(|_| arguments.files.files.is_empty()).map(of_manifest);
    let files = listed.as_ref().unwrap_or(&arguments.files);
    let opened = arguments.data.open(context, files)?;
    let data = opened.parse();
    let mut documents = json::Files::start(context, &arguments.form);
    let mut differs = false;
    let outcome = each(context, files, documents.as_mut(), |path, documents| {
        let input = Input::open(context, path)?;
        let bad = |error| Failure::bad(path, &error);
        let hash = match input.unbundled()?.model {
            Model::Pte(pte) => Analysis::new(&pte).with_data(serving(&data, path)).content_hash().map_err(bad)?,
            Model::Ptd(ptd) => ptd.content_hash().map_err(bad)?,
            _ if files.recursive => return Ok(()),
            other => return Err(Failure::no_program(path, other.kind())),
        };
        let file = path.display().to_string();
        let Some(manifest) = &manifest else {
            return match documents {
                Some(documents) => documents.add(&FileHash { file, hash, errors: [] }),
                None => Ok(writeln!(context.plain_out(), "{}  {}", hash.sha256, text::path(path))?),
            };
        };
        let fault = "the manifest has no hash of this file";
        let expected = manifest.get(&file).ok_or_else(|| Failure::usage_of(path, &fault))?;
        let expected_hash = expected.sha256.as_deref().ok_or_else(|| Failure::usage_of(path, &fault))?;
        let ok = hash.sha256 == expected_hash;
        let changes = if ok { Vec::new() } else { changes(expected, &hash) };
        differs |= !ok;
        if let Some(documents) = documents {
            return documents.add(&FileCheck { file, ok, changes, errors: [] });
        }
        let mut out = context.out();
        writeln!(out, "{}: {}", text::path(path), if ok { "ok" } else { "changed" })?;
        let most = context.most(MAX_SHOWN);
        for change in changes.iter().take(most) {
            writeln!(out, "  {}", out.context.cut(&text::message(change), 2))?;
        }
        if changes.len() > most {
            writeln!(out, "  … {} more (-v)", changes.len() - most)?;
        }
        Ok(out.flush()?)
    })?;
    documents.map_or(Ok(()), json::Files::end)?;
    outcome.map_err(|failure| failure.or_found(u8::from(differs)))?;
    if differs { Err(Failure::Reported(1)) } else { Ok(()) }
}

/// At most this many changes of a file are shown on a terminal.
const MAX_SHOWN: usize = 16;

fn read(path: &Path) -> Result<BTreeMap<String, Listed>, Failure> {
    let wrong = |fault: &str| Failure::usage_of(path, &format!("{fault}, expected the output of `pte hash --json`"));
    let manifest: Manifest = serde_json::from_str(&read_settings(path)?).map_err(|error| wrong(&error.to_string()))?;
    if manifest.format != json::FORMAT {
        return Err(wrong(&format!("format {}", manifest.format)));
    }
    if manifest.files.is_empty() {
        return Err(wrong("a manifest without files"));
    }
    Ok(manifest.files.into_iter().map(|listed| (listed.file.clone(), listed)).collect())
}

/// Describes the parts that differ.
fn changes(before: &Listed, after: &ContentHash) -> Vec<String> {
    let mut changes = Vec::new();
    for (what, before, after) in
        [("method", &before.methods, &after.methods), ("weight", &before.weights, &after.weights)]
    {
        // Several tensors can have one name.
        let mut names = BTreeMap::<&str, [Vec<&str>; 2]>::new();
        before.iter().for_each(|Part { name, sha256 }| names.entry(name).or_default()[0].push(sha256));
        after.iter().for_each(|PartHash { name, sha256, .. }| names.entry(name).or_default()[1].push(sha256));
        for (name, [before, after]) in names.iter().filter(|(_, [before, after])| before != after) {
            let change = match (before.is_empty(), after.is_empty()) {
                (true, _) => "is new",
                (_, true) => "is missing",
                _ => "has other content",
            };
            changes.push(format!("{what} {} {change}", text::quoted(name)));
        }
    }
    if changes.is_empty() {
        changes.push("the content differs in data of delegates, or the manifest is of another version".to_owned());
    }
    changes
}
