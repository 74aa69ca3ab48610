//! What the viewer takes, in parts, so that the first can be seen before the last is there.

use crate::file::File;
use executorch_format::inspect::{BlobUser, Histogram, OperatorTime, Profile, Remains, RunProfile, Summary, Weight};
use executorch_format::validate::Finding;
use executorch_format::{Error, Etdp, FileKind, Model, Ptd, Pte, TensorView};
use serde::Serialize;

/// What the first view shows.
#[derive(Serialize)]
pub struct First<'t> {
    file: String,
    file_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    program_offset: Option<u64>,
    whole: bool,
    summary: Summary<'t>,
}

impl<'t> First<'t> {
    pub fn of(file: &File, model: &'t Model<'static>) -> Self {
        let inside = if file.program_offset.is_some() { ", the program inside" } else { "" };
        Self {
            file: format!("{}{inside}", file.name),
            file_size: model.source().map_or(file.size, |source| source.size()),
            program_offset: file.program_offset,
            whole: file.whole,
            summary: model.summary(),
        }
    }
}

/// What is known of a file that cannot be read.
#[derive(Serialize)]
pub struct Broken<'f> {
    file: String,
    file_size: u64,
    /// Its kind, by its first bytes.
    kind: Option<String>,
    extension: Option<&'static str>,
    error: Finding,
    known: Option<&'f Remains>,
}

impl<'f> Broken<'f> {
    pub fn of(file: &'f File, error: &Error) -> Self {
        Self {
            file: file.name.clone(),
            file_size: file.size,
            kind: file.kind.map(|kind| kind.to_string()),
            extension: file.kind.map(FileKind::extension),
            error: Finding::from_error(error),
            known: file.remains.as_ref(),
        }
    }
}

/// A finding, and the file that it is about where that is not the first.
#[derive(Serialize)]
pub struct Found {
    #[serde(flatten)]
    finding: Finding,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<Of>,
}

#[derive(Serialize)]
struct Of {
    index: usize,
    file: String,
}

pub fn found(findings: Vec<Finding>, of: Option<(usize, &str)>) -> Vec<Found> {
    let found = |finding| Found { finding, of: of.map(|(index, file)| Of { index, file: file.into() }) };
    findings.into_iter().map(found).collect()
}

/// A weight of the program, or of the `.ptd` files that serve it.
#[derive(Serialize)]
#[serde(untagged)]
pub enum AnyWeight<'t> {
    Own(Weight<'t>),
    External(ExternalWeight<'t>),
}

/// An external tensor: what the program says of it, and where it is.
#[derive(Serialize)]
pub struct ExternalWeight<'t> {
    kind: &'static str,
    offset: Option<u64>,
    size: u64,
    users: Vec<BlobUser<'t>>,
    histogram: Option<Histogram>,
    /// The `.ptd` file that it is in; `None` if no open file has its key.
    file: Option<String>,
    index: Option<usize>,
}

/// Of an external tensor with more bytes no histogram is made before it is asked for.
const LARGEST: u64 = 16 << 20;

pub fn weights<'t>(model: &'t Model<'static>, data: &[(&str, usize, &'t Ptd<'static>)]) -> Vec<AnyWeight<'t>> {
    let mut weights: Vec<AnyWeight<'t>> = model.weights().into_iter().map(AnyWeight::Own).collect();
    if !matches!(model, Model::Pte(_)) {
        return weights;
    }
    let external = |blob: &executorch_format::inspect::Blob<'t>| {
        blob.users.iter().find_map(|user| match user {
            BlobUser::External { key, .. } => Some(*key),
            _ => None,
        })
    };
    for blob in model.blobs().blobs {
        let Some(key) = external(&blob) else { continue };
        let mut weight = ExternalWeight {
            kind: "external",
            offset: None,
            size: blob.size,
            histogram: None,
            file: None,
            index: None,
            users: blob.users,
        };
        for (name, index, ptd) in data {
            let Some(entry) = ptd.get(key) else { continue };
            let Ok(place) = ptd.entry_data(&entry) else { continue };
            weight.offset = ptd.range(&place).map(|range| range.start);
            weight.size = place.size();
            (weight.file, weight.index) = (Some((*name).to_owned()), Some(*index));
            let shape = entry.shape.filter(|_| place.size() <= LARGEST);
            let bytes = ptd.entry_bytes(&entry).ok();
            let view = shape.zip(bytes).and_then(|(shape, bytes)| TensorView::new(shape, bytes).ok());
            weight.histogram = view.and_then(|view| view.histogram(40));
            break;
        }
        weights.push(AnyWeight::External(weight));
    }
    weights
}

/// What the file could do without.
#[derive(Serialize)]
pub struct Offer {
    kind: executorch_format::edit::SavingKind,
    size: u64,
    command: String,
}

pub fn savings(file: &File, model: &Model<'_>) -> Vec<Offer> {
    if file.program_offset.is_some() || !file.whole {
        return Vec::new();
    }
    let ending = file.kind.map_or("pte", FileKind::extension).trim_start_matches('.');
    let savings = model.savings().into_iter().filter(|saving| saving.is_worth_it(file.size));
    let offer = |saving: executorch_format::edit::Saving| {
        let options = saving.options.join(" ");
        let gap = if options.is_empty() { "" } else { " " };
        let command = match saving.command {
            "rewrite" => format!("pte rewrite {options}{gap}FILE smaller.{ending}"),
            other => format!("pte {other} FILE {options}{gap}-o smaller.{ending}"),
        };
        Offer { kind: saving.kind, size: saving.bytes, command }
    };
    savings.map(offer).collect()
}

/// How long things took.
#[derive(Serialize)]
pub struct Times<'t> {
    #[serde(flatten)]
    profile: Profile<'t>,
    /// For each group of runs, the times added up by operator.
    by_operator: Vec<Vec<OperatorTime>>,
}

pub fn times<'t>(etdp: &'t Etdp<'static>, pte: Option<&'t Pte<'static>>) -> Times<'t> {
    let profile = etdp.profile(pte, None);
    Times { by_operator: profile.runs.iter().map(RunProfile::by_operator).collect(), profile }
}
