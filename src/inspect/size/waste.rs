//! What a file could do without.

use super::SizeKind;
use super::ledger::Settled;
use crate::inspect::BlobUser;
use crate::schema::program::DataLocation;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

/// Bytes that a file could do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Waste {
    /// What they are.
    pub kind: WasteKind,
    /// Bytes.
    pub bytes: u64,
    /// How many: second copies of a blob, gaps, tables.
    pub count: usize,
}

/// What bytes are that a file could do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum WasteKind {
    /// Other blobs that are equal to another one.
    EqualBlobs,
    /// Delegate payloads inside the FlatBuffer that are equal to another one.
    InlineCopies,
    /// Bytes that nothing refers to.
    Unreferenced,
    /// Zeros between blobs beyond what an alignment to 16 takes, which is what ExecuTorch's kernels count on.
    Padding,
    /// Where in the Python source each instruction came from.
    StackTraces,
}

impl WasteKind {
    /// The command that writes the file without them, for a file `IN`.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::EqualBlobs => "pte dedup",
            Self::InlineCopies => "pte rewrite --delegate segment",
            Self::Unreferenced => "pte strip --unreferenced",
            Self::Padding => "pte rewrite --segment-alignment 16 --constant-alignment 16",
            Self::StackTraces => "pte strip --stack-traces",
        }
    }
}

impl fmt::Display for WasteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::EqualBlobs => "equal blobs",
            Self::InlineCopies => "inline copies",
            Self::Unreferenced => "unreferenced",
            Self::Padding => "padding",
            Self::StackTraces => "stack traces",
        })
    }
}

/// All waste in a file, the largest first.
pub(super) fn find(file: &[u8], settled: &Settled<'_>) -> Vec<Waste> {
    let mut waste: BTreeMap<WasteKind, (u64, usize)> = BTreeMap::new();
    let mut add = |kind, bytes, count| {
        let (all, counted) = waste.entry(kind).or_default();
        *all += bytes;
        *counted += count;
    };
    // A map of the bytes themselves: it looks no further than to the first byte that differs.
    let mut blobs: BTreeSet<(u64, &[u8])> = BTreeSet::new();
    // The parts of one payload are one copy.
    let mut last = None;
    add(WasteKind::Padding, settled.slack.bytes, settled.slack.gaps);
    for part in &settled.parts {
        match (part.kind, part.detail) {
            (SizeKind::Unreferenced, _) => add(WasteKind::Unreferenced, part.bytes, part.pieces),
            (SizeKind::Program, Some("Frame" | "FrameList")) => add(WasteKind::StackTraces, part.bytes, part.pieces),
            _ => {}
        }
        let Some(bytes) = part.offset.filter(|_| !part.users.is_empty() && part.bytes > 0).and_then(|start| {
            let start = usize::try_from(start).ok()?;
            file.get(start..)?.get(..usize::try_from(part.bytes).ok()?)
        }) else {
            continue;
        };
        if !blobs.insert((part.bytes, bytes)) {
            let inline =
                part.users.iter().any(|user| matches!(user, BlobUser::Delegate { location: DataLocation::INLINE, .. }));
            let kind = if inline { WasteKind::InlineCopies } else { WasteKind::EqualBlobs };
            add(kind, part.bytes, usize::from(last != Some(&part.users)));
            last = Some(&part.users);
        }
    }
    let mut waste: Vec<Waste> = waste
        .into_iter()
        .map(|(kind, (bytes, count))| Waste { kind, bytes, count })
        .filter(|one| one.bytes > 0)
        .collect();
    waste.sort_by_key(|one| Reverse(one.bytes));
    waste
}
