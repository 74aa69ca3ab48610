//! The readable remains of a damaged file.

use crate::file::etdp::PREFIX;
use crate::file::header::FileKind;
use crate::flatbuffer::read::{Limits, Record};
use crate::flatbuffer::walk::{PartKind, Wanted, walk_at};
use crate::path::FieldPath;
use crate::schema::xnnpack::XNNGraph;
use crate::schema::{BundledProgram, ETDump};
use crate::schema::{FlatTensor, Program};
use alloc::collections::BTreeMap;
use alloc::{string::String, vec::Vec};

/// The readable remains of a damaged file. None of them were checked.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Salvage {
    /// The tables that were found before the fault, by their names in the schema.
    pub tables: Vec<SalvagedTables>,
    /// The first texts in these tables.
    pub texts: Vec<SalvagedText>,
}

/// Tables of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SalvagedTables {
    /// The schema's name.
    pub name: &'static str,
    /// The number of tables.
    pub count: usize,
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SalvagedText {
    /// The field that refers to it.
    pub path: FieldPath,
    /// The offset of its length field in bytes from the start of the file.
    pub offset: u64,
    /// The size in bytes, with the length field before it and the NUL after it.
    pub size: u32,
    /// The text, cut if it is long.
    pub text: String,
}

/// The maximum number of texts that are listed.
const MAX_SHOWN: usize = 100;

/// The maximum number of bytes of a text that are shown.
const LONGEST: usize = 200;

/// Lists the tables and texts of a damaged file of that kind, up to the first fault of structure. The contents before the fault may be
/// wrong too.
///
/// ```
/// use executorch_format::inspect::salvage;
/// use executorch_format::{FileKind, Model};
///
/// # fn main() -> executorch_format::Result<()> {
/// let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
/// let cut = &file[..file.len() / 2];
/// assert!(Model::parse(cut).is_err());
/// println!("{:?}", salvage(cut, FileKind::Pte).tables);
/// # Ok(())
/// # }
/// ```
pub fn salvage(bytes: &[u8], kind: FileKind) -> Salvage {
    let (position, root) = match kind {
        FileKind::Pte => (0, Program::DESCRIPTION),
        FileKind::Ptd => (0, FlatTensor::default().root()),
        FileKind::Bpte => (0, BundledProgram::DESCRIPTION),
        FileKind::Etdp => (PREFIX as u32, ETDump::DESCRIPTION),
        FileKind::Xnnpack => (0, XNNGraph::DESCRIPTION),
    };
    let mut remains = Salvage::default();
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    walk_at(position, bytes, root, &Limits::default(), Wanted::ALL, &mut |part| match part.kind {
        PartKind::Table(_) => *counts.entry(part.owner.name).or_default() += 1,
        PartKind::Text if remains.texts.len() < MAX_SHOWN => {
            let start = part.position as usize + 4;
            let end = start + (part.size as usize).saturating_sub(5).min(LONGEST);
            // The string was found in these bytes, so it is in range.
            let text = bytes.get(start..end).unwrap_or_default();
            remains.texts.push(SalvagedText {
                path: part.path.to_field_path(),
                offset: part.position.into(),
                size: part.size,
                text: String::from_utf8_lossy(text).into_owned(),
            });
        }
        _ => {}
    });
    for (name, count) in counts.iter() {
        remains.tables.push(SalvagedTables { name, count: *count });
    }
    remains
}
