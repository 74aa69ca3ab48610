//! A file's tree as JSON, with its blobs in files of their own, and back: what `pte dump --blobs` writes and `pte build` reads.
//!
//! The JSON is that of [`Model::root`]'s `Serialize`, which is flatc's, with two additions. A list of bytes that the schema aligns (a
//! constant or payload inside the FlatBuffer, the program in a bundle) is `{"file": "NAME"}`, and each of `segments` has a `file`. The
//! key `source` names the files of everything else: the metadata that the tree was read from, and bytes that no field describes.
//!
//! As long as the tree is the one that the metadata decodes to, the result has the bytes of the metadata, so it is the file that was
//! dumped, whoever wrote it. A changed tree is encoded in the style of the metadata and gets a new layout, as after any edit. JSON
//! without `source`, such as flatc's, is written in the default style.
//!
//! ```
//! use executorch_format::Model;
//! use executorch_format::json::{JsonDump, JsonTree};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
//! let model = Model::parse(&file)?;
//! let dump = JsonDump::new(&model)?;
//! let text = serde_json::to_string(&dump)?;
//! let blob = |name: &str| dump.files().iter().find(|file| file.name == name).map(|file| file.bytes);
//! assert_eq!(JsonTree::parse(&text)?.build(None, &blob)?.image()?.to_vec()?, file);
//!
//! let edited = text.replace("\"forward\"", "\"infer\"");
//! let built = JsonTree::parse(&edited)?.build(None, &blob)?;
//! assert!(!built.is_unchanged());
//! let file = built.image()?.to_vec()?;
//! assert_eq!(executorch_format::Pte::parse(&file)?.methods()[0].name(), "infer");
//! # Ok(())
//! # }
//! ```

mod build;
mod number;
mod read;

pub use build::{Built, JsonTree};

use crate::error::{Error, Result};
use crate::file::header::FileKind;
use crate::file::segment::{Segment, offset_in};
use crate::file::source::Source;
use crate::flatbuffer::any::{AnyField, AnyNumbers, AnyTable, Value};
use crate::flatbuffer::description::{FieldKind, NumberKind};
use crate::flatbuffer::serialize::{self, At};
use crate::model::Model;
use crate::path::{Path, Step};
use crate::schema::DataSegment;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::{borrow::ToOwned, format, vec::Vec};
use serde::ser::{Serialize, Serializer};

/// The format in errors.
const FORMAT: &str = "JSON";

/// The key of the root that names the files of what is not in the tree.
const SOURCE: &str = "source";

/// The file of the metadata.
const METADATA: &str = "metadata.bin";

/// The field of the root that lists the segments, and the table of each.
const SEGMENTS: &str = "segments";
const SEGMENT: &str = "DataSegment";

/// A file's tree as JSON, by `Serialize`, and the files that hold the rest.
#[derive(Debug)]
pub struct JsonDump<'t> {
    model: &'t Model<'t>,
    files: Vec<DumpFile<'t>>,
    source: SourceEntry,
}

/// A file beside the JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DumpFile<'t> {
    /// Its name: letters, digits, `_` and `.`.
    pub name: String,
    /// Its content.
    pub bytes: &'t [u8],
}

/// The entry `source` of the root.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceEntry {
    kind: String,
    /// The size of the file, in bytes.
    size: u64,
    metadata: String,
    /// Bytes that no field describes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rest: Vec<RestEntry>,
}

/// Bytes that no field describes, by their offset in the file.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RestEntry {
    offset: u64,
    file: String,
}

impl<'t> JsonDump<'t> {
    /// Returns the JSON of a file and the files beside it.
    ///
    /// Fails with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) for what JSON does not keep: a string that is not UTF-8 and a union
    /// member of a newer schema; for a payload in a file of its own, and for a file that was not read whole.
    pub fn new(model: &'t Model<'t>) -> Result<Self> {
        let Some(source) = model.source().filter(|source| source.whole && source.file_size.is_none()) else {
            return Err(Error::unwritable("only a file that was read whole is dumped with its data"));
        };
        let (metadata, segments): (_, &[Segment<'_>]) = match model {
            Model::Pte(pte) => (source.metadata(), &pte.segments),
            Model::Ptd(ptd) => (source.metadata(), &ptd.segments),
            Model::Bpte(_) | Model::Etdp(_) => (&*source.bytes, &[]),
            #[cfg(feature = "verify")]
            Model::Xnnpack(_) => return Err(not_built("a payload in a file of its own")),
        };
        let mut files = Vec::from([DumpFile { name: METADATA.to_owned(), bytes: metadata }]);
        let table = segments_of(model);
        let firsts = firsts(table);
        for (index, segment) in segments.iter().enumerate() {
            match segment {
                Segment::Whole(bytes) if !bytes.is_empty() => {
                    if firsts.get(index) == Some(&index) {
                        files.push(DumpFile { name: segment_name(index), bytes });
                    }
                }
                Segment::Whole(_) | Segment::Absent => {}
                Segment::Parts(_) => {
                    return Err(Error::unwritable("its segments were changed: write it to a file first"));
                }
            }
        }
        let rest = rest(source, &files)?;
        let source = SourceEntry {
            kind: kind_name(model.kind()).to_owned(),
            size: source.bytes.len() as u64,
            metadata: METADATA.to_owned(),
            rest: rest.iter().map(|(offset, _)| RestEntry { offset: *offset, file: rest_name(*offset) }).collect(),
        };
        files.extend(rest.into_iter().map(|(offset, bytes)| DumpFile { name: rest_name(offset), bytes }));
        collect(model.root(), &Path::ROOT, &mut files)?;
        Ok(Self { model, files, source })
    }

    /// Returns the files that the JSON names.
    pub fn files(&self) -> &[DumpFile<'t>] {
        &self.files
    }
}

/// Returns the table of segments of a file.
fn segments_of<'m>(model: &'m Model<'_>) -> &'m [DataSegment] {
    match model {
        Model::Pte(pte) => pte.program.segments(),
        Model::Ptd(ptd) => ptd.flat_tensor.segments(),
        _ => &[],
    }
}

/// Returns for each segment the first one with the same bytes of the file: they share a file of the dump.
fn firsts(table: &[DataSegment]) -> Vec<usize> {
    let mut by_place = BTreeMap::new();
    table
        .iter()
        .enumerate()
        .map(|(index, entry)| *by_place.entry((entry.offset, entry.size)).or_insert(index))
        .collect()
}

/// Returns the name of the file for a segment.
fn segment_name(index: usize) -> String {
    name_of(&Path::ROOT.item(SEGMENTS, index))
}

/// Returns the error for a kind of file that is not built.
fn not_built(found: &str) -> Error {
    Error::unwritable(format!("{found} is not built from JSON, expected a .pte, .ptd, .bpte or .etdp"))
}

/// Returns the name of a kind in `source`.
fn kind_name(kind: FileKind) -> &'static str {
    kind.extension().trim_start_matches('.')
}

/// The most bytes that no field describes for which zeros are left out: [`JsonTree::build`] makes up no more.
const MAX_ZEROS: u64 = 32 << 20;

/// The bytes of a file that no field describes and that are not zero, each with its offset.
#[expect(
    clippy::indexing_slicing,
    reason = "all ranges but the last are inside the file, and that one starts at its end"
)]
fn rest<'t>(source: &'t Source<'_>, files: &[DumpFile<'t>]) -> Result<Vec<(u64, &'t [u8])>> {
    let mut covered = Vec::new();
    for file in files {
        let Some(start) = offset_in(&source.bytes, file.bytes) else {
            return Err(Error::unwritable("its segments were changed: write it to a file first"));
        };
        covered.push((start, start + file.bytes.len() as u64));
    }
    covered.push((source.bytes.len() as u64, u64::MAX));
    covered.sort_by_key(|range| *range);
    let (mut gaps, mut end) = (Vec::new(), 0);
    for (start, next) in covered {
        gaps.push((end, &source.bytes[end as usize..start.max(end) as usize]));
        end = end.max(next);
    }
    if gaps.iter().map(|(_, gap)| gap.len() as u64).sum::<u64>() > MAX_ZEROS {
        gaps.retain(|(_, gap)| !gap.is_empty());
        return Ok(gaps);
    }
    let without_zeros = |(start, gap): (u64, &'t [u8])| {
        let first = gap.iter().position(|byte| *byte != 0)?;
        let last = gap.iter().rposition(|byte| *byte != 0)?;
        Some((start + first as u64, &gap[first..=last]))
    };
    Ok(gaps.into_iter().filter_map(without_zeros).collect())
}

fn rest_name(offset: u64) -> String {
    format!("rest_{offset}.bin")
}

/// Returns the name of the file for the bytes at a path: `constant_buffer_3_storage.bin`.
fn name_of(path: &Path<'_>) -> String {
    let mut name = String::new();
    for step in path.to_field_path().steps() {
        match step {
            Step::Field(field) => name += field,
            Step::Index(index) => name += &index.to_string(),
        }
        name.push('_');
    }
    name.pop();
    name + ".bin"
}

/// Returns `true` if a field is a blob: bytes that the schema aligns.
fn is_blob(kind: &FieldKind) -> bool {
    matches!(kind, FieldKind::Numbers { number: NumberKind::U8, alignment: 2.. })
}

/// Adds the blobs in a table. Fails for a value that JSON does not keep.
fn collect<'t>(table: &'t dyn AnyTable, path: &Path<'_>, files: &mut Vec<DumpFile<'t>>) -> Result<()> {
    for (index, field) in table.description().fields.iter().enumerate() {
        let path = &path.field(field.name);
        match table.field(index).map(AnyField::value) {
            Some(Value::Text(text)) if !text.is_utf8() => {
                return Err(Error::unwritable("a string that is not UTF-8, which JSON does not keep").at_path(path));
            }
            Some(Value::Numbers(AnyNumbers::U8(bytes))) if is_blob(&field.kind) && !bytes.is_empty() => {
                files.push(DumpFile { name: name_of(path), bytes });
            }
            Some(Value::Table(table)) => collect(table, path, files)?,
            Some(Value::Tables(tables)) => {
                for (index, table) in (0..tables.len()).filter_map(|index| Some((index, tables.get(index)?))) {
                    collect(table, &path.index(index), files)?;
                }
            }
            Some(Value::Union { name: Some(name), member: Some(member), .. }) => {
                collect(member, &path.field(name), files)?;
            }
            Some(Value::Union { name: None, tag, .. }) => {
                let fault = match tag {
                    0 => "a union with a value but no type, which JSON does not keep".to_owned(),
                    tag => format!("union member {tag} is of a newer schema, which JSON does not keep"),
                };
                return Err(Error::unwritable(fault).at_path(path));
            }
            _ => {}
        }
    }
    Ok(())
}

impl Serialize for JsonDump<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Document<'t> {
            source: &'t SourceEntry,
            #[serde(flatten)]
            tree: Tree<'t>,
        }

        Document { source: &self.source, tree: Tree(self) }.serialize(serializer)
    }
}

/// The tree, without the bytes that are in files.
struct Tree<'t>(&'t JsonDump<'t>);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> core::result::Result<S::Ok, S::Error> {
        let Self(dump) = self;
        // Segments that are outside the file have no bytes.
        let firsts = firsts(segments_of(dump.model));
        let segments: &[Segment<'_>] = match dump.model {
            Model::Pte(pte) => &pte.segments,
            Model::Ptd(ptd) => &ptd.segments,
            _ => &[],
        };
        let file_of = |path: &Path<'_>, kind: Option<&FieldKind>| match kind {
            Some(kind) => is_blob(kind).then(|| name_of(path)),
            None => {
                let index = path.item_of_root(SEGMENTS)?;
                (!segments.get(index)?.is_empty()).then(|| segment_name(firsts.get(index).copied().unwrap_or(index)))
            }
        };
        let at = At { path: &Path::ROOT, file_of: Some(&file_of) };
        match dump.model {
            Model::Ptd(ptd) => ptd.flat_tensor.serialize_at(at, serializer),
            other => serialize::table(other.root(), at, serializer),
        }
    }
}
