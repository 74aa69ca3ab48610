//! From JSON and its files to a model.

use super::read::{Files, Reader, Text, is_name};
use super::{FORMAT, SEGMENTS, SOURCE, SourceEntry, firsts, kind_name, not_built, segment_name};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Error, Result, counted};
use crate::file::header::FileKind;
use crate::file::options::ParseOptions;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::segment::Segment;
use crate::file::{bpte::Bpte, etdp::Etdp};
use crate::model::Model;
use crate::schema::DataSegment;
use crate::schema::flat_tensor::{FlatTensor, Legacy, LegacySchema};
use crate::write::detect;
use crate::write::image::Image;
use crate::write::options::{PtdOptions, PteOptions};
use alloc::string::{String, ToString};
use alloc::{borrow::Cow, format, vec::Vec};
use core::fmt;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// JSON that was checked for its form only: what it is about, and which files it names.
#[derive(Clone, Debug)]
pub struct JsonTree<'j> {
    text: &'j str,
    source: Option<SourceEntry>,
    kind: Option<FileKind>,
    files: Vec<String>,
    /// The keys of the root that only the early schemas of a `.ptd` have, and the one that 0.6 has and 0.5 does not have.
    has_legacy: bool,
    has_named_data: bool,
}

impl<'j> JsonTree<'j> {
    /// Reads the form of JSON, without its tree.
    ///
    /// Fails with [`ErrorKind::Other`] if it is not JSON, is nested deeper than 127 levels, or its `source` is not as `pte dump` writes it.
    pub fn parse(text: &'j str) -> Result<Self> {
        let outline = serde_json::from_str(text).map_err(|error| Error::of_json(FORMAT, text, 0, &error))?;
        let Outline { source, mut files, has_legacy, has_named_data } = outline;
        let mut kind = None;
        if let Some(source) = &source {
            let known = [FileKind::Pte, FileKind::Ptd, FileKind::Bpte, FileKind::Etdp];
            kind = known.into_iter().find(|kind| kind_name(*kind) == source.kind);
            if kind.is_none() {
                let fault = format!("{:?} is not pte, ptd, bpte or etdp", source.kind);
                return Err(Error::other(FORMAT, 0, fault).in_field("kind").in_field(SOURCE));
            }
            files.push(source.metadata.clone());
            files.extend(source.rest.iter().map(|rest| rest.file.clone()));
        }
        files.retain(|name| is_name(name));
        Ok(Self { text, source, kind, files: crate::sorted::set(files), has_legacy, has_named_data })
    }

    /// Returns the kind of file that it was dumped from; `None` without `source`.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }

    /// Returns the names of all files that may be needed, sorted.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Makes the model: `file` gives the bytes of the files that it names. `kind` is the kind of file if the JSON does not say it.
    ///
    /// Fails with [`ErrorKind::Other`] if the JSON does not fit the schema, a number is out of its field's range, or a file is missing: with
    /// the path of the field, and its offset in the text. Fails with [`ErrorKind::Limit`] if the tree would take more memory than JSON of this
    /// size can need, or much more for copies of one file; and with [`ErrorKind::Unwritable`] if a changed file cannot be written, or `source`
    /// states a size of more than 64 MiB plus 32 times the JSON and the files that it names.
    pub fn build<'a>(&self, kind: Option<FileKind>, file: Files<'_, 'a>) -> Result<Built<'a>> {
        let given = self.files.iter().filter_map(|name| file(name)).map(|bytes| bytes.len() as u64).sum::<u64>();
        let most = Image::max_size(given.saturating_add(self.text.len() as u64));
        let source = match &self.source {
            Some(source) if source.size > most => {
                let fault = format!(
                    "{}, but the files that are named have {}: expected at most {most}, which is 64 MiB plus 32 times the JSON and its files",
                    counted(source.size, "byte"),
                    counted(given, "byte")
                );
                return Err(Error::unwritable(fault).in_field("size").in_field(SOURCE));
            }
            Some(source) => {
                let in_source = |error: Error, name| error.in_field(name).in_field(SOURCE);
                let metadata = named(file, &source.metadata).map_err(|error| in_source(error, "metadata"))?;
                let rest = source.rest.iter().enumerate().map(|(index, rest)| {
                    let bytes = named(file, &rest.file).map_err(|error| in_source(error.in_item(index), "rest"))?;
                    Ok((rest.offset, bytes))
                });
                Some(Given { metadata, size: source.size, rest: rest.collect::<Result<_>>()? })
            }
            None => None,
        };
        let reader = Reader::new(self.text, file, given);
        match self.kind.or(kind) {
            Some(FileKind::Pte) => pte(reader, source, file),
            Some(FileKind::Ptd) => ptd(reader, source, file, self.legacy()),
            Some(FileKind::Bpte) => bpte(reader, source),
            Some(FileKind::Etdp) => etdp(reader, source),
            Some(other) => Err(not_built(&format!("a {other} file"))),
            None => Err(Error::unwritable(
                "JSON without `source` is of an unknown kind of file, expected .pte, .ptd or .bpte",
            )),
        }
    }

    /// Returns the early schema of a `.ptd` that the keys of the root show.
    fn legacy(&self) -> Option<Legacy<'static>> {
        let schema = if self.has_named_data { LegacySchema::V0_6 } else { LegacySchema::V0_5 };
        self.has_legacy.then(|| Legacy { schema, ..Legacy::default() })
    }
}

/// The files that `source` names.
#[derive(Clone)]
struct Given<'a> {
    metadata: &'a [u8],
    size: u64,
    rest: Vec<(u64, &'a [u8])>,
}

fn named<'a>(file: Files<'_, 'a>, name: &str) -> Result<&'a [u8]> {
    let found = if is_name(name) { file(name) } else { None };
    found.ok_or_else(|| Error::other(FORMAT, 0, format!("there is no file {name:?} in the folder of the data")))
}

/// A model from JSON.
#[derive(Clone, Debug)]
pub struct Built<'a> {
    model: Model<'a>,
    before: Option<Model<'a>>,
    exact: Option<Given<'a>>,
    is_unchanged: bool,
}

impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("size", &self.size).field("rest", &self.rest.len()).finish()
    }
}

impl<'a> Built<'a> {
    /// Returns the model, with a new layout if the tree was changed.
    pub fn model(&self) -> &Model<'a> {
        &self.model
    }

    /// Returns the file that was dumped, with the data of today; `None` without `source`.
    pub fn before(&self) -> Option<&Model<'a>> {
        self.before.as_ref()
    }

    /// Returns `true` if the tree is the one that was dumped.
    pub fn is_unchanged(&self) -> bool {
        self.is_unchanged
    }

    /// Returns the file, ready to be written. That of an unchanged tree has the bytes that were dumped; bytes of segments that were replaced by as
    /// many others are where the old ones were.
    ///
    /// Fails as [`Model::image`] does.
    pub fn image(&self) -> Result<Image<'_>> {
        let Some(Given { metadata, size, rest }) = &self.exact else { return self.model.image() };
        let (base, table, segments): (_, &[DataSegment], &[Segment<'_>]) = match &self.model {
            Model::Pte(pte) => (pte.segment_base_offset(), pte.program.segments(), &pte.segments),
            Model::Ptd(ptd) => (ptd.segment_base_offset(), ptd.flat_tensor.segments(), &ptd.segments),
            _ => (0, &[], &[]),
        };
        let mut parts = Vec::new();
        for (entry, segment) in table.iter().zip(segments) {
            // An empty segment may be said to be anywhere.
            for (_, bytes) in segment.parts().filter(|(_, bytes)| !bytes.is_empty()) {
                let too_far = || Error::unwritable("a segment ends past 2^64 bytes");
                parts.push((base.checked_add(entry.offset).ok_or_else(too_far)?, bytes));
            }
        }
        parts.extend(rest.iter().copied());
        Image::of_parts(metadata, parts, *size)
    }
}

/// Returns the bytes of each segment, after those of the JSON.
fn segments<'a>(given: Vec<Option<&'a [u8]>>, table: &[DataSegment]) -> Vec<Segment<'a>> {
    let segment = |(bytes, entry): (Option<&'a [u8]>, &DataSegment)| match bytes {
        Some(bytes) => Segment::Whole(Cow::Borrowed(bytes)),
        None if entry.size == 0 => Segment::Whole(Cow::Borrowed(&[])),
        None => Segment::Absent,
    };
    given.into_iter().zip(table).map(segment).collect()
}

/// Returns the bytes of each segment of the file that was dumped, from the files that the dump named.
fn dumped<'a>(file: Files<'_, 'a>, table: &[DataSegment]) -> Vec<Segment<'a>> {
    let given = |(first, entry): (usize, &DataSegment)| {
        file(&segment_name(first)).filter(|bytes| bytes.len() as u64 == entry.size)
    };
    segments(firsts(table).into_iter().zip(table).map(given).collect(), table)
}

/// Fails for what a new layout would lose, and for segments that were not given.
fn check_changed(given: Option<&Given<'_>>, segments: &[Segment<'_>], table: &[DataSegment]) -> Result<()> {
    let rest = given.map_or(&[][..], |given| &given.rest);
    if let Some((offset, bytes)) = rest.first() {
        let (bytes, count) = (counted(bytes.len(), "byte"), rest.len());
        let fault = format!(
            "the tree was changed, and a new layout has no place for {bytes} at byte {offset} that no field describes ({count} in all): remove `rest` to drop them"
        );
        return Err(Error::unwritable(fault).in_field("rest").in_field(SOURCE));
    }
    let mut segments = segments.iter().zip(table).enumerate();
    match segments.find(|(_, (segment, _))| **segment == Segment::Absent) {
        Some((index, (_, DataSegment { size, .. }))) => {
            let fault = format!(
                "{} without a file, expected \"file\": NAME, as `pte dump --blobs` writes it",
                counted(*size, "byte")
            );
            Err(Error::unwritable(fault).in_item(index).in_field(SEGMENTS))
        }
        None => Ok(()),
    }
}

fn in_metadata(error: Error) -> Error {
    error.in_field("metadata").in_field(SOURCE)
}

fn pte<'a>(mut reader: Reader<'_, 'a>, given: Option<Given<'a>>, file: Files<'_, 'a>) -> Result<Built<'a>> {
    let mut pte = Pte::default();
    reader.root(&mut pte.program)?;
    pte.segments = segments(reader.segments, pte.program.segments());
    let mut before = None;
    if let Some(given) = &given {
        let mut original = Pte::parse_with(given.metadata, &ParseOptions::METADATA).map_err(in_metadata)?;
        original.segments = dumped(file, original.program.segments());
        (pte.header, pte.source) = (original.header, original.source.clone());
        before = Some(original);
    }
    if detect::unchanged_pte(&pte).is_some() {
        return Ok(Built { model: pte.into(), before: before.map(Model::Pte), exact: given, is_unchanged: true });
    }
    check_changed(given.as_ref(), &pte.segments, pte.program.segments())?;
    let options = before.as_ref().map(PteOptions::of).transpose()?.unwrap_or_default();
    Ok(Built { model: pte.lay_out(&options)?.into(), before: before.map(Model::Pte), exact: None, is_unchanged: false })
}

fn ptd<'a>(
    mut reader: Reader<'_, 'a>,
    given: Option<Given<'a>>,
    file: Files<'_, 'a>,
    legacy: Option<Legacy<'static>>,
) -> Result<Built<'a>> {
    let mut ptd = Ptd { flat_tensor: FlatTensor { legacy, ..FlatTensor::default() }, ..Ptd::default() };
    reader.root(&mut ptd.flat_tensor)?;
    ptd.segments = segments(reader.segments, ptd.flat_tensor.segments());
    let mut before = None;
    if let Some(given) = &given {
        let mut original = Ptd::parse_with(given.metadata, &ParseOptions::METADATA).map_err(in_metadata)?;
        original.segments = dumped(file, original.flat_tensor.segments());
        (ptd.header, ptd.source) = (original.header, original.source.clone());
        before = Some(original);
    }
    if detect::unchanged_ptd(&ptd).is_some() {
        return Ok(Built { model: ptd.into(), before: before.map(Model::Ptd), exact: given, is_unchanged: true });
    }
    check_changed(given.as_ref(), &ptd.segments, ptd.flat_tensor.segments())?;
    let options = before.as_ref().map(PtdOptions::of).transpose()?.unwrap_or_default();
    Ok(Built { model: ptd.lay_out(&options)?.into(), before: before.map(Model::Ptd), exact: None, is_unchanged: false })
}

fn bpte<'a>(mut reader: Reader<'_, 'a>, given: Option<Given<'a>>) -> Result<Built<'a>> {
    let mut bpte = Bpte::default();
    reader.root(&mut bpte.bundled_program)?;
    let before = given.map(|given| Bpte::parse(given.metadata).map_err(in_metadata)).transpose()?;
    bpte.source = before.as_ref().and_then(|before| before.source.clone());
    let is_unchanged = bpte.image()?.is_from_source();
    Ok(Built { model: bpte.into(), before: before.map(Model::Bpte), exact: None, is_unchanged })
}

/// Builds a trace, which must be unchanged: only runtimes write new ones.
fn etdp<'a>(mut reader: Reader<'_, 'a>, given: Option<Given<'a>>) -> Result<Built<'a>> {
    let mut etdp = Etdp::default();
    reader.root(&mut etdp.etdump)?;
    let before = given.map(|given| Etdp::parse(given.metadata).map_err(in_metadata)).transpose()?;
    etdp.source = before.as_ref().and_then(|before| before.source.clone());
    let is_unchanged = etdp.image()?.is_from_source();
    Ok(Built { model: etdp.into(), before: before.map(Model::Etdp), exact: None, is_unchanged })
}

/// The properties of JSON that need no schema.
#[derive(Default)]
struct Outline {
    source: Option<SourceEntry>,
    files: Vec<String>,
    has_legacy: bool,
    has_named_data: bool,
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> core::result::Result<Self, D::Error> {
        struct Root;

        impl<'de> Visitor<'de> for Root {
            type Value = Outline;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the tree of a file, an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> core::result::Result<Outline, A::Error> {
                let mut outline = Outline::default();
                while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
                    if name == SOURCE {
                        outline.source = Some(map.next_value()?);
                        continue;
                    }
                    outline.has_legacy |= matches!(&*name, "tensors" | "tensor_alignment");
                    outline.has_named_data |= name == "named_data";
                    map.next_value_seed(Names(&mut outline.files))?;
                }
                Ok(outline)
            }
        }

        deserializer.deserialize_map(Root)
    }
}

/// Finds the names of files in any value, which is returned if it is a text.
struct Names<'n>(&'n mut Vec<String>);

impl<'de> serde::de::DeserializeSeed<'de> for Names<'_> {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> core::result::Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Names<'_> {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> core::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> core::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> core::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> core::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> core::result::Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> core::result::Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> core::result::Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_string())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> core::result::Result<Self::Value, A::Error> {
        while items.next_element_seed(Names(self.0))?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> core::result::Result<Self::Value, A::Error> {
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            let value = map.next_value_seed(Names(self.0))?;
            if let Some(file) = value.filter(|_| name == crate::flatbuffer::serialize::FILE) {
                self.0.push(file.into_owned());
            }
        }
        Ok(None)
    }
}
