//! Possible size savings, found by trying each edit on a copy.

use super::Strip;
use super::verify::new_errors_of_image;
use crate::error::Result;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::source::Source;
use crate::file::style::WriteStyle;
use crate::keyed::sort_by_key;
use crate::model::Model;
use crate::verify::Level;
use crate::write::detect::Detected;
use crate::write::options::{PtdOptions, PteOptions};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

/// An edit that makes a file smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Saving {
    /// The data that the edit removes.
    pub kind: SavingKind,
    /// The number of bytes saved.
    pub size: u64,
    /// The subcommand of `pte` that makes the edit.
    pub command: &'static str,
    /// The options of the subcommand.
    pub options: &'static [&'static str],
}

/// A kind of size saving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
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
    /// Bytes after the last segment, which no field describes.
    Trailing,
}

impl fmt::Display for SavingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::EqualBlobs => "equal blobs",
            Self::Unreferenced => "unreferenced",
            Self::Padding => "padding",
            Self::StackTraces => "stack traces",
            Self::Trailing => "bytes after the last segment",
        })
    }
}

impl Saving {
    /// Returns `true` if the edit saves at least a tenth of a file of this size, or at least 1 KiB and 1 %.
    pub fn is_worth_it(&self, file_size: u64) -> bool {
        self.size >= file_size.div_ceil(10) || self.size >= 1 << 10 && self.size >= file_size / 100
    }
}

const STRIP_PADDING: &[&str] = &["--padding"];
const ALIGN_16: &[&str] = &["--segment-alignment", "16", "--constant-alignment", "16"];
const ALIGN_16_SHORT: &[&str] = &["--segment-alignment", "16", "--constant-alignment", "16", "--header-length", "24"];

const DROP_TRAILING: &[&str] = &["--drop-trailing"];
const DROP_TRAILING_SHORT: &[&str] = &["--drop-trailing", "--header-length", "24"];

/// An edit to try.
struct Trial {
    kind: SavingKind,
    command: &'static str,
    options: &'static [&'static str],
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
    ///     println!("{} bytes without {}: pte {} {:?}", saving.bytes, saving.kind, saving.command, saving.options);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn savings(&self) -> Vec<Saving> {
        let Some(before) =
            self.source().filter(|source| source.whole).map(|source: &Source<'_>| source.bytes.len() as u64)
        else {
            return Vec::new();
        };
        let trial = |kind, command, options| Trial { kind, command, options };
        let trials = match self {
            Self::Pte(pte) => {
                let short = pte.header.is_some_and(|header| header.length < PteOptions::default().header_length);
                alloc::vec![
                    trial(SavingKind::EqualBlobs, "dedup", &[]),
                    trial(SavingKind::Unreferenced, "strip", &["--unreferenced"]),
                    trial(SavingKind::StackTraces, "strip", &["--stack-traces"]),
                    trial(SavingKind::Padding, "strip", STRIP_PADDING),
                    trial(SavingKind::Padding, "rewrite", if short { ALIGN_16_SHORT } else { ALIGN_16 }),
                    trial(SavingKind::Trailing, "rewrite", if short { DROP_TRAILING_SHORT } else { DROP_TRAILING }),
                ]
            }
            Self::Ptd(_) => alloc::vec![
                trial(SavingKind::EqualBlobs, "dedup", &[]),
                trial(SavingKind::Padding, "rewrite", &["--segment-alignment", "16"]),
                trial(SavingKind::Trailing, "rewrite", DROP_TRAILING),
            ],
            _ => Vec::new(),
        };
        // The style, which is the same for all copies, is detected once.
        let style = match self {
            Self::Pte(pte) => pte.write_style(),
            Self::Ptd(ptd) => ptd.write_style(),
            _ => return Vec::new(),
        };
        let style = style.and_then(Detected::proven).ok();
        let mut savings: Vec<Saving> = Vec::new();
        // A copy in which an edit changed nothing is reused for the next edit.
        let mut copy = None;
        let mut findings = None;
        for Trial { kind, command, options } in trials {
            // Files that cannot be edited have no savings.
            let after = match self {
                Self::Pte(pte) => tried_pte(pte, style, &mut copy, kind, command),
                Self::Ptd(ptd) => tried_ptd(ptd.clone(), style, kind),
                _ => Ok(None),
            };
            let Ok(Some(after)) = after else { continue };
            // `Model::image` would pull the writers of all other kinds of files into the web page.
            let image = match &after {
                Self::Pte(pte) => pte.image(),
                Self::Ptd(ptd) => ptd.image(),
                _ => continue,
            };
            let Ok(image) = image else { continue };
            let Some(bytes @ 1..) = before.checked_sub(image.size()) else { continue };
            // `rewrite` changes nothing that rules check.
            if command != "rewrite" {
                let findings = findings.get_or_insert_with(|| self.verify(Level::Strict));
                if !new_errors_of_image(findings, &after, &image).is_ok_and(|found| found.is_empty()) {
                    continue;
                }
            }
            match savings.iter_mut().find(|other| other.kind == kind) {
                Some(other) if other.size >= bytes => {}
                Some(other) => *other = Saving { kind, size: bytes, command, options },
                None => savings.push(Saving { kind, size: bytes, command, options }),
            }
        }
        sort_by_key(&mut savings, |saving| Reverse(saving.size));
        savings
    }
}

/// Returns the program after an edit; `None` if the edit changes nothing.
fn tried_pte<'a>(
    pte: &Pte<'a>,
    style: Option<WriteStyle>,
    copy: &mut Option<Pte<'a>>,
    kind: SavingKind,
    command: &str,
) -> Result<Option<Model<'a>>> {
    let mut after = copy.take().unwrap_or_else(|| pte.clone());
    after.style = style.or(after.style);
    let none = Strip::default();
    let report = match kind {
        SavingKind::EqualBlobs => after.dedup()?,
        SavingKind::Unreferenced => after.strip(&Strip { unreferenced: true, ..none })?,
        SavingKind::StackTraces => after.strip(&Strip { stack_traces: true, ..none })?,
        SavingKind::Padding if command == "strip" => after.strip(&Strip { padding: true, ..none })?,
        SavingKind::Padding => {
            if !after.trailing_bytes().is_empty() {
                return Ok(None);
            }
            let default = PteOptions::default();
            let header_length = after.header.map_or(default.header_length, |header| header.length);
            let constant_alignment = Some(16);
            let options = PteOptions { segment_alignment: 16, constant_alignment, header_length, ..default };
            return Ok(Some(Model::Pte(after.lay_out(&options)?)));
        }
        SavingKind::Trailing => {
            if after.trailing_bytes().is_empty() {
                return Ok(None);
            }
            let default = PteOptions::default();
            let header_length = after.header.map_or(default.header_length, |header| header.length);
            return Ok(Some(Model::Pte(after.lay_out(&PteOptions { header_length, ..default })?)));
        }
    };
    if report.changes.is_empty() {
        *copy = Some(after);
        return Ok(None);
    }
    Ok(Some(Model::Pte(after)))
}

/// Returns a `.ptd` after an edit, like [`tried_pte`].
fn tried_ptd<'a>(mut after: Ptd<'a>, style: Option<WriteStyle>, kind: SavingKind) -> Result<Option<Model<'a>>> {
    after.style = style.or(after.style);
    match kind {
        SavingKind::EqualBlobs => {
            if after.dedup()?.changes.is_empty() {
                return Ok(None);
            }
        }
        SavingKind::Trailing => {
            if after.trailing_bytes().is_empty() {
                return Ok(None);
            }
            after = after.lay_out(&PtdOptions { style: None, ..PtdOptions::default() })?;
        }
        _ => {
            if !after.trailing_bytes().is_empty() {
                return Ok(None);
            }
            after = after.lay_out(&PtdOptions { segment_alignment: 16, style: None })?;
        }
    }
    Ok(Some(Model::Ptd(after)))
}
