//! Unpacks payloads into folders of files.

use super::extract::{Extracted, Extraction};
use super::report::Subject;
use crate::delegate::{NamedBlobs, PayloadKind, UnpackedFile, UnpackedPayload, unpack};
use crate::error::{Error, Result};
use crate::file::ptd::Ptd;
use crate::file::source::Source;
use crate::model::Model;
use crate::names::safe_file_name;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{borrow::Cow, format, string::String, vec::Vec};

/// The most bytes in the files of payloads, in multiples of the program's size. Most are as large as the program; if a whole payload is
/// beside its parts, twice as large.
const MAX_GROWTH: u64 = 4;

/// The files of a payload.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Unpacked<'t> {
    /// The backend.
    pub kind: PayloadKind,
    /// `true` if the format is known from real payloads, `false` if it follows the backend's source code.
    pub seen: bool,
    /// The files.
    pub files: Vec<UnpackedPart<'t>>,
}

/// A file of a payload.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct UnpackedPart<'t> {
    /// The path in the folder of the extraction, with `/` between folders: letters, digits, `.`, `_` and `-`, and no component that leaves
    /// the folder.
    pub file: String,
    /// The path in the payload.
    pub name: String,
    /// The size, in bytes.
    pub size: u64,
    /// The content.
    #[serde(skip)]
    pub bytes: Cow<'t, [u8]>,
}

impl<'t> Extraction<'t> {
    /// Unpacks payloads into the files that their backends' own tools open, as [`unpack`] does, each payload into a separate
    /// folder. Returns the number of these payloads; the rest stay unchanged, because only their backends can read them. `data` are the
    /// program's `.ptd` files, which some payloads look up data in.
    ///
    /// ```
    /// use executorch_format::Model;
    ///
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::read("tests/data/payloads/other/coreml.pte")?;
    /// let model = Model::parse(&file)?;
    /// let mut extraction = model.extraction()?;
    /// assert_eq!(extraction.unpack(&model, [])?, 1);
    /// let package = extraction.files[0].unpacked.as_ref().unwrap();
    /// assert_eq!(package.files[1].file, "forward.delegate0.unpacked/model.mlpackage/Manifest.json");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails if a payload is damaged, with its offset in the file, and with [`ErrorKind::Unwritable`](crate::ErrorKind::Unwritable) if two
    /// of its files would have the same path on systems that treat `A` and `a` as equal.
    pub fn unpack(&mut self, model: &'t Model<'_>, data: impl IntoIterator<Item = &'t Ptd<'t>>) -> Result<usize> {
        let Model::Pte(pte) = model else { return Ok(0) };
        let data: Vec<&'t Ptd<'t>> = data.into_iter().collect();
        let size = |source: Option<&Source<'_>>| source.map_or(u64::MAX, |source| source.bytes.len() as u64);
        let available =
            data.iter().map(|ptd| size(ptd.source.as_ref())).fold(size(model.source()), u64::saturating_add);
        let blobs = NamedBlobs::new(pte, data);
        let mut ids = BTreeMap::new();
        for delegate in pte.methods().iter().flat_map(|plan| plan.delegates()) {
            if let Ok(data) = pte.delegate_data(delegate) {
                ids.entry(data).or_insert_with(|| delegate.id());
            }
        }
        // Files of a payload can overlap, and blocks can share named data.
        let limit = available.saturating_mul(MAX_GROWTH);
        let (mut count, mut total) = (0, 0u64);
        for file in self.files.iter_mut().filter(|file| file.subject == Subject::Payload) {
            let start = file.offset.unwrap_or_default();
            let id = ids.get(&file.data).copied().unwrap_or_default();
            let unpacked = unpack(id, model.bytes(&file.data)?, &blobs);
            let Some(payload) = unpacked.map_err(|error| error.inside(start))? else { continue };
            let sizes = payload.files.iter().map(|file| file.bytes.len() as u64);
            total = sizes.fold(total, u64::saturating_add);
            if total > limit {
                return Err(Error::unwritable(format!(
                    "the files of its payloads overlap: separately they would take over {total} bytes, but the files have {available}"
                )));
            }
            fold(file, payload)?;
            count += 1;
        }
        Ok(count)
    }
}

/// Replaces the file of a payload with a folder of its files.
fn fold<'t>(extracted: &mut Extracted<'t>, payload: UnpackedPayload<'t>) -> Result<()> {
    let folder = format!("{}.unpacked", extracted.file.trim_end_matches(".payload"));
    let part = |UnpackedFile { name, bytes }: UnpackedFile<'t>| {
        let mut file = folder.clone();
        for component in name.split('/') {
            file.push('/');
            file.push_str(&safe_file_name(component));
        }
        UnpackedPart { file, name, size: bytes.len() as u64, bytes }
    };
    let files: Vec<_> = payload.files.into_iter().map(part).collect();
    refuse_equal(&files)?;
    extracted.file = folder;
    extracted.unpacked = Some(Unpacked { kind: payload.kind, seen: payload.seen, files });
    Ok(())
}

/// Fails if two files have the same path, or if one has the path of another's folder.
fn refuse_equal(files: &[UnpackedPart<'_>]) -> Result<()> {
    let (mut paths, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for part in files {
        let path = part.file.to_ascii_lowercase();
        let mut rest = path.as_str();
        while let Some((folder, _)) = rest.rsplit_once('/') {
            if !folders.insert(String::from(folder)) {
                break;
            }
            rest = folder;
        }
        if !paths.insert(path) {
            return Err(same(part));
        }
    }
    match files.iter().find(|part| folders.contains(&part.file.to_ascii_lowercase())) {
        Some(part) => Err(same(part)),
        None => Ok(()),
    }
}

#[cold]
fn same(part: &UnpackedPart<'_>) -> Error {
    let file = &part.file;
    Error::unwritable(format!("two files of a payload would be {file} on some systems, expected a path for each"))
}
