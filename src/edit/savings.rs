//! Possible size savings, found by trying each edit on a copy.

use super::dedup;
use super::strip::{self, Strip};
use crate::error::Result;
use crate::file::pte::Pte;
use crate::file::references::DataList;
use crate::model::Model;
use crate::verify::Level;
use crate::write::detect::Detected;
use crate::write::entries::Entries;
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
        is_worth_it(self.size, file_size)
    }
}

fn is_worth_it(size: u64, file_size: u64) -> bool {
    size >= file_size.div_ceil(10) || size >= 1 << 10 && size >= file_size / 100
}

impl Model<'_> {
    /// Returns the edits that would make the file smaller, the largest saving first; if two edits save the same thing, the better one.
    /// They are tried on a copy that is not written: an edit that fails, or adds an error, is not listed. Together they
    /// may save less than their sum. A new layout is tried if a file has so much padding that it [is worth it](Saving::is_worth_it).
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
        // Most files have little padding, and a new layout takes long.
        let is_padded = padding(self).is_ok_and(|size| is_worth_it(size, before));
        let (mut original, mut findings) = (None, None);
        let mut savings: Vec<Saving> = Vec::new();
        for (kind, edit) in edits(self).into_iter().filter(|(kind, _)| is_padded || *kind != SavingKind::Padding) {
            // Files that cannot be edited have no savings.
            let Ok(Some(after)) = edited(self, &mut original, &edit) else { continue };
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

/// Returns the most bytes that a new layout can save: those that are neither metadata nor in a segment or, in the segment of the constants, not in a
/// constant. All bytes, if blobs are inside the metadata, where there may be padding too.
fn padding(file: &Model<'_>) -> Result<u64> {
    let Some(source) = file.source() else { return Ok(0) };
    let mut needed = source.metadata_size;
    let segments = match file {
        Model::Pte(pte) => pte.program.segments(),
        Model::Ptd(ptd) => ptd.flat_tensor.segments(),
        _ => return Ok(0),
    };
    for segment in segments {
        needed = needed.saturating_add(segment.size);
    }
    if let Model::Pte(pte) = file {
        if pte.program.constant_buffer().len() > 1 || !pte.program.backend_delegate_data().is_empty() {
            return Ok(source.size());
        }
        if let Some(constants) = &pte.program.constant_segment {
            let segment = segments.get(constants.segment_index as usize).map_or(0, |segment| segment.size);
            let blobs = Entries::of(pte, DataList::Constants)?.blobs;
            let used = blobs.iter().map(|blob| blob.len() as u64).fold(0, u64::saturating_add);
            needed = needed.saturating_sub(segment).saturating_add(used);
        }
    }
    Ok(source.size().saturating_sub(needed))
}

/// Returns the file after an edit; `None` if the edit changes nothing. Parts are stripped even if the file is then larger. `original` is the file
/// with its style, which is detected for the first edit that changes something.
fn edited<'a>(file: &Model<'a>, original: &mut Option<Model<'a>>, edit: &SavingEdit) -> Result<Option<Model<'a>>> {
    // The copy of a program; `None` for an edit that makes its own.
    let copy = match (file, edit) {
        (Model::Pte(pte), SavingEdit::Dedup) => match dedup::shared(pte)? {
            (_, report) if report.changes.is_empty() => return Ok(None),
            (copy, _) => Some(copy),
        },
        (Model::Pte(pte), SavingEdit::Strip(parts)) => match strip::without(pte, parts)? {
            (_, report) if report.changes.is_empty() && !parts.padding => return Ok(None),
            (copy, _) => Some(copy),
        },
        _ => None,
    };
    Ok(match (&*original.get_or_insert_with(|| in_its_style(file)), edit) {
        (Model::Pte(pte), edit) => {
            let options = match edit {
                SavingEdit::Strip(parts) => strip::layout(pte, parts)?,
                SavingEdit::LayOutPte(options) => *options,
                _ => PteOptions::of(pte)?,
            };
            let copy = Pte { style: pte.style, ..copy.unwrap_or_else(|| pte.clone()) };
            Some(copy.lay_out(&options)?.into())
        }
        (Model::Ptd(ptd), SavingEdit::LayOutPtd(options)) => Some(ptd.clone().lay_out(options)?.into()),
        (Model::Ptd(ptd), SavingEdit::Dedup) => {
            let mut ptd = ptd.clone();
            let report = ptd.dedup()?;
            (!report.changes.is_empty()).then(|| ptd.into())
        }
        _ => None,
    })
}

/// Returns a copy with the style that its source was written in, if one reproduces it.
fn in_its_style<'a>(file: &Model<'a>) -> Model<'a> {
    let mut file = file.clone();
    match &mut file {
        Model::Pte(pte) => pte.style = pte.write_style().and_then(Detected::proven).ok().or(pte.style),
        Model::Ptd(ptd) => ptd.style = ptd.write_style().and_then(Detected::proven).ok().or(ptd.style),
        _ => {}
    }
    file
}
