//! Possible size savings, found by trying each edit on a copy.

use super::report::EditReport;
use super::strip::{self, Strip};
use crate::error::Result;
use crate::model::Model;
use crate::verify::Level;
use crate::write::detect::Detected;
use crate::write::options::{PtdOptions, PteOptions};
use alloc::{vec, vec::Vec};
use core::cmp::Reverse;
use core::fmt;

/// An edit that makes a file smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Saving {
    /// The data that the edit removes.
    pub kind: SavingKind,
    /// The number of bytes saved.
    pub size: u64,
    /// The edit, with its options.
    #[serde(flatten)]
    pub edit: SavingEdit,
}

/// The edit of a [`Saving`]: a method of the file, with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(tag = "edit", content = "options", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SavingEdit {
    /// `dedup`.
    Dedup,
    /// [`Pte::strip`](crate::Pte::strip).
    Strip(Strip),
    /// [`Pte::lay_out`](crate::Pte::lay_out).
    #[serde(rename = "lay_out")]
    LayOutPte(PteOptions),
    /// [`Ptd::lay_out`](crate::Ptd::lay_out).
    #[serde(rename = "lay_out")]
    LayOutPtd(PtdOptions),
}

/// A kind of size saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum SavingKind {
    /// Blobs that equal another blob.
    EqualBlobs,
    /// Constants, initial states, payloads and segments that nothing refers to.
    Unreferenced,
    /// Bytes between blobs that an alignment of 16, which ExecuTorch's kernels expect, does not need.
    Padding,
    /// The Python source line of each instruction.
    StackTraces,
    /// Bytes at the end that the file does not refer to.
    Trailing,
}

impl fmt::Display for SavingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::EqualBlobs => "equal blobs",
            Self::Unreferenced => "unreferenced",
            Self::Padding => "padding",
            Self::StackTraces => "stack traces",
            Self::Trailing => "trailing bytes",
        })
    }
}

impl Saving {
    /// Returns `true` if the edit saves at least a tenth of a file of this size, or at least 1 KiB and 1 %.
    pub fn is_worth_it(&self, file_size: u64) -> bool {
        self.size >= file_size.div_ceil(10) || self.size >= 1 << 10 && self.size >= file_size / 100
    }
}

impl Model<'_> {
    /// Returns the edits that would make the file smaller, the largest saving first; if two edits save the same thing, the better one.
    /// They are tried on a copy that is not written: an edit that fails, or adds an error, is not listed. Together they
    /// may save less than their sum.
    ///
    /// ```
    /// use executorch_format::Model;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/1.5.1/stacktrace/stacktrace.pte")?;
    /// for saving in Model::parse(&file)?.savings() {
    ///     println!("{} bytes without {}: {:?}", saving.size, saving.kind, saving.edit);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn savings(&self) -> Vec<Saving> {
        let Some(source) = self.source().filter(|source| source.whole) else { return Vec::new() };
        let before = source.bytes.len() as u64;
        let edits = edits(self);
        let mut original = self.clone();
        // Detected once for all copies.
        match &mut original {
            Self::Pte(pte) => pte.style = pte.write_style().and_then(Detected::proven).ok().or(pte.style),
            Self::Ptd(ptd) => ptd.style = ptd.write_style().and_then(Detected::proven).ok().or(ptd.style),
            _ => return Vec::new(),
        }
        let mut savings: Vec<Saving> = Vec::new();
        let mut findings = None;
        for (kind, edit) in edits {
            // Files that cannot be edited have no savings.
            let Ok(Some(after)) = edited(&original, &edit) else { continue };
            let Ok(image) = after.image() else { continue };
            let Some(size @ 1..) = before.checked_sub(image.size()) else { continue };
            // A new layout changes nothing that rules check.
            if !matches!(edit, SavingEdit::LayOutPte(_) | SavingEdit::LayOutPtd(_)) {
                let findings = findings.get_or_insert_with(|| self.verify(Level::Strict));
                if !after.new_errors(findings, &image).is_ok_and(|found| found.is_empty()) {
                    continue;
                }
            }
            let saving = Saving { kind, size, edit };
            match savings.iter_mut().find(|other| other.kind == kind) {
                Some(other) if other.size >= size => {}
                Some(other) => *other = saving,
                None => savings.push(saving),
            }
        }
        savings.sort_by_key(|saving| Reverse(saving.size));
        savings
    }
}

/// Returns the edits to try.
fn edits(model: &Model<'_>) -> Vec<(SavingKind, SavingEdit)> {
    let mut edits = vec![(SavingKind::EqualBlobs, SavingEdit::Dedup)];
    // A new layout drops trailing bytes: only if there are none, all that it saves is padding.
    match model {
        Model::Pte(pte) => {
            let strip = Strip::default();
            edits.push((SavingKind::Unreferenced, SavingEdit::Strip(strip.with_unreferenced())));
            let mut chains = pte.methods().iter().flat_map(|plan| plan.chains());
            if chains.any(|chain| !chain.stacktrace().is_empty()) {
                edits.push((SavingKind::StackTraces, SavingEdit::Strip(strip.with_stack_traces())));
            }
            edits.push((SavingKind::Padding, SavingEdit::Strip(strip.with_padding())));
            let default = PteOptions::default();
            let header_length = pte.header.map_or(default.header_length, |header| header.length);
            let options = default.with_header_length(header_length);
            edits.push(if pte.trailing_bytes().is_empty() {
                let aligned = options.with_segment_alignment(16).with_constant_alignment(Some(16));
                (SavingKind::Padding, SavingEdit::LayOutPte(aligned))
            } else {
                (SavingKind::Trailing, SavingEdit::LayOutPte(options))
            });
        }
        Model::Ptd(ptd) => {
            let options = PtdOptions::default();
            edits.push(if ptd.trailing_bytes().is_empty() {
                (SavingKind::Padding, SavingEdit::LayOutPtd(options.with_segment_alignment(16)))
            } else {
                (SavingKind::Trailing, SavingEdit::LayOutPtd(options))
            });
        }
        _ => edits.clear(),
    }
    edits
}

/// Returns the file after an edit; `None` if the edit changes nothing. Parts are stripped even if the file is then larger.
fn edited<'a>(file: &Model<'a>, edit: &SavingEdit) -> Result<Option<Model<'a>>> {
    let if_changed = |report: EditReport, file| (!report.changes.is_empty()).then_some(file);
    Ok(match (file, edit) {
        (Model::Pte(pte), SavingEdit::Strip(parts)) => {
            let (stripped, report) = strip::without(pte, parts)?;
            (parts.padding || !report.changes.is_empty()).then(|| stripped.into())
        }
        (Model::Pte(pte), SavingEdit::LayOutPte(options)) => Some(pte.clone().lay_out(options)?.into()),
        (Model::Ptd(ptd), SavingEdit::LayOutPtd(options)) => Some(ptd.clone().lay_out(options)?.into()),
        (Model::Pte(pte), SavingEdit::Dedup) => {
            let mut pte = pte.clone();
            if_changed(pte.dedup()?, pte.into())
        }
        (Model::Ptd(ptd), SavingEdit::Dedup) => {
            let mut ptd = ptd.clone();
            if_changed(ptd.dedup()?, ptd.into())
        }
        _ => None,
    })
}
