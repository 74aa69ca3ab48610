//! The input of the viewer, in parts, so that the first part is shown before the last is ready.

use crate::file::File;
use executorch_format::inspect::{MacsSummary, ModuleTotal, OperatorTime, Profile, RunProfile, Salvage, Summary};
use executorch_format::verify::{Finding, Releases, Verdict};
use executorch_format::{Error, FileKind, Model};
use serde::Serialize;

/// The content of the first view.
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

/// A file beside others, with the fields of `pte info --json`.
#[derive(Serialize)]
pub struct Beside<'f> {
    pub file: &'f str,
    pub file_size: u64,
    #[serde(flatten)]
    pub summary: Summary<'f>,
    /// The verdict of the newest release.
    pub verdict: Option<Verdict>,
    #[serde(flatten)]
    pub releases: Releases,
    pub macs: Vec<MacsSummary<'static>>,
}

/// The known facts about a file that cannot be read.
#[derive(Serialize)]
pub struct Broken<'f> {
    file: String,
    file_size: u64,
    /// The kind, by the first bytes.
    kind: Option<String>,
    extension: Option<&'static str>,
    error: Finding,
    /// The damage of a transfer that explains the error, and what to do.
    damage: Option<String>,
    known: Option<&'f Salvage>,
}

impl<'f> Broken<'f> {
    pub fn of(file: &'f File, error: &Error) -> Self {
        Self {
            file: file.name.clone(),
            file_size: file.size,
            kind: file.kind.map(|kind| kind.to_string()),
            extension: file.kind.map(FileKind::extension),
            error: Finding::from_error(error),
            damage: error.transfer_damage().map(|damage| damage.to_string()),
            known: file.remains.as_ref(),
        }
    }
}

/// A finding, and its file if that is not the main file.
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

/// The profile of a trace.
#[derive(Serialize)]
pub struct Times<'t> {
    #[serde(flatten)]
    profile: Profile<'t>,
    /// For each group of runs, the times added up by operator.
    by_operator: Vec<Vec<OperatorTime>>,
    /// For each group of runs, the times added up by module, if names were requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_module: Vec<Vec<ModuleTotal<'t>>>,
}

impl<'t> Times<'t> {
    pub fn of(profile: Profile<'t>) -> Self {
        Self { by_operator: profile.runs.iter().map(RunProfile::by_operator).collect(), profile, by_module: Vec::new() }
    }
}
