//! Splits payloads into the files that their backends' own tools open.

use super::summary::opaque_parts;
use super::{AotInductor, CoreMl, NamedBlobs, Payload, PayloadKind, PayloadPart};
use crate::error::{Error, ErrorKind, Result};
use crate::flatbuffer::read::Limits;
use alloc::borrow::{Cow, ToOwned};
use alloc::{format, string::String, vec, vec::Vec};

/// The files of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackedPayload<'t> {
    /// The backend.
    pub kind: PayloadKind,
    /// `true` if the format is known from real payloads. Otherwise it follows the backend's source code, and was not tried on a real
    /// payload.
    pub seen: bool,
    /// The files, in the order of the payload.
    pub files: Vec<UnpackedFile<'t>>,
}

/// A file of a payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnpackedFile<'t> {
    /// The path inside the payload, with `/` between folders. It comes from the file and may have any characters and components, such
    /// as `..`. [`Extraction::unpack`](crate::edit::Extraction::unpack) builds paths that stay inside a folder.
    pub name: String,
    /// The content.
    pub bytes: Cow<'t, [u8]>,
}

impl<'t> UnpackedFile<'t> {
    fn new(name: impl Into<String>, bytes: impl Into<Cow<'t, [u8]>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }
}

/// The largest number of folders in the path of a file of a Core ML package.
const MAX_FOLDERS: usize = 32;

/// Splits the payload of a delegate with the given id into files. Returns `None` if only its backend can read it.
///
/// | backend | files | known from |
/// |---|---|---|
/// | Core ML | the files of the package in their folders: `model.mlpackage`, and `metadata.json` and `debug_info.json` of ExecuTorch. For a function of a shared package (source only), that package from named data | payloads |
/// | Ethos-U | each block: `cmd_data.bin`, `weight_data.bin`, … | payloads |
/// | XNNPACK, Vulkan | `graph.bin`, a FlatBuffer, and `constants.bin` or `raw_bytes.bin`, if not empty | payloads |
/// | TOSA, native | `graph.tosa` or `graph.bin`: the whole payload, a FlatBuffer | payloads |
/// | OpenVINO | `settings.xml`, `constants.bin`, `model.bin`, and `model.blob`: the whole payload, which `import_model` takes | models that OpenVINO 2025.4 and 2026.4 exported |
/// | VGF | the sections `modules.bin`, `sequence.bin`, `resources.bin`, `constants.bin`, and `model.vgf`: the whole payload, which `vgf_dump` takes | a file that Arm's encoder wrote |
/// | QNN | `context_binary.bin`, without the wrapper | source |
/// | MLX, MPS | `graph.bin`, a FlatBuffer, and `data.bin` | source |
/// | NeuroPilot | `model.bin`, without the header | source |
/// | CUDA, Metal | `library.so`, native code, and `weights.bin` or, from 1.5, `weights/NAME.bin` with the elements of each tensor in the natural order | source, and the encoder of 1.5 |
///
/// Fails if the payload is damaged, with the offset in the payload, and with [`ErrorKind::Reference`] if data under a key is not in `blobs`.
pub fn unpack<'t>(id: &str, payload: &'t [u8], blobs: &NamedBlobs<'t>) -> Result<Option<UnpackedPayload<'t>>> {
    let parsed = Payload::parse_with(payload, &Limits::default())?;
    let Some(kind) = parsed.kind().or_else(|| PayloadKind::of_id(id)) else { return Ok(None) };
    let named = |key: &str| blobs.of_payload(key);
    let mut seen = true;
    let files = match &parsed {
        Payload::CoreMl(core_ml @ CoreMl::Package(_)) => package(core_ml, payload)?,
        Payload::CoreMl(CoreMl::Function { key, .. }) => {
            seen = false;
            let payload = named(key)?;
            match CoreMl::parse(payload)? {
                core_ml @ CoreMl::Package(_) => package(&core_ml, payload)?,
                CoreMl::Function { .. } => {
                    return Err(Error::reference(format!(
                        "{key:?} is a function of another package, expected a package"
                    )));
                }
            }
        }
        Payload::EthosU(ethos_u) => {
            let mut files = Vec::new();
            for block in ethos_u.blocks.iter().filter(|block| !block.data.is_empty()) {
                let bytes = match block.external {
                    true => named(&String::from_utf8_lossy(block.data))?,
                    false => block.data,
                };
                seen &= !block.external;
                files.push(UnpackedFile::new(format!("{}.bin", String::from_utf8_lossy(block.name)), bytes));
            }
            files
        }
        Payload::AotInductor(aot) => {
            seen = aot.lists_tensors;
            aot.check_sizes(blobs)?;
            aot_inductor(aot, &named)?
        }
        Payload::Xnnpack(_) | Payload::Vulkan(_) => match parsed.parts() {
            parts if parts.is_empty() => vec![UnpackedFile::new("graph.bin", payload)],
            parts => of_parts(&parts, payload),
        },
        Payload::Opaque(_) => match opaque(kind, payload)? {
            Some(files) => {
                // Formats that were tried on real payloads.
                seen =
                    matches!(kind, PayloadKind::Tosa | PayloadKind::Native | PayloadKind::OpenVino | PayloadKind::Vgf);
                files
            }
            None => return Ok(None),
        },
    };
    Ok(Some(UnpackedPayload { kind, seen, files }))
}

/// Returns the library and the weights of AOTInductor.
fn aot_inductor<'t>(aot: &AotInductor<'_>, named: &dyn Fn(&str) -> Result<&'t [u8]>) -> Result<Vec<UnpackedFile<'t>>> {
    let mut files = vec![UnpackedFile::new("library.so", named(aot.library)?)];
    if let Some(key) = aot.weights {
        files.push(UnpackedFile::new("weights.bin", named(key)?));
    }
    for tensor in &aot.tensors {
        let elements = tensor.elements(named(tensor.key)?)?;
        files.push(UnpackedFile::new(format!("weights/{}.bin", tensor.name), elements));
    }
    Ok(files)
}

/// Returns the files of a Core ML package, which is the parsed payload.
#[expect(clippy::indexing_slicing, reason = "parsing checked that the files are inside the payload")]
fn package<'t>(core_ml: &CoreMl, payload: &'t [u8]) -> Result<Vec<UnpackedFile<'t>>> {
    // A path repeats the names of all its folders. In a real package, the paths are shorter than the JSON about the files.
    let mut left = payload.len().saturating_mul(4);
    let file = |(path, range): (String, core::ops::Range<u64>)| {
        let rest = left.checked_sub(path.len()).filter(|_| path.split('/').count() <= MAX_FOLDERS);
        let Some(rest) = rest.filter(|_| !path.starts_with('…')) else {
            let found = format!(
                "a Core ML payload: a file in more than {MAX_FOLDERS} folders, or with a path that is too long"
            );
            return Err(Error::at(range.start as usize, ErrorKind::Header(found.into())));
        };
        left = rest;
        Ok(UnpackedFile::new(path, &payload[range.start as usize..range.end as usize]))
    };
    core_ml.files().map(file).collect()
}

/// Converts the parts of a payload that are not empty into files.
fn of_parts<'t>(parts: &[PayloadPart], payload: &'t [u8]) -> Vec<UnpackedFile<'t>> {
    let file = |part: &PayloadPart| {
        let bytes = payload.get(part.offset as usize..)?.get(..part.size as usize)?;
        let ending = if part.name == "settings" { "xml" } else { "bin" };
        Some(UnpackedFile::new(format!("{}.{ending}", part.name.replace(' ', "_")), bytes))
    };
    parts.iter().filter(|part| part.size != 0).filter_map(file).collect()
}

/// Returns the files of a payload that is not decoded further.
fn opaque(kind: PayloadKind, payload: &[u8]) -> Result<Option<Vec<UnpackedFile<'_>>>> {
    let whole = |name: &str| UnpackedFile::new(name, payload);
    if kind.is_in(payload) == Some(false) {
        let found = format!("a {kind} payload: its first bytes are those of something else");
        return Err(Error::at(0, ErrorKind::Header(found.into())));
    }
    Ok(Some(match kind {
        PayloadKind::Tosa => vec![whole("graph.tosa")],
        PayloadKind::Native => vec![whole("graph.bin")],
        PayloadKind::Mlx | PayloadKind::Mps | PayloadKind::Qnn => headed(kind, payload, opaque_parts(kind, payload))?,
        PayloadKind::OpenVino => {
            let mut files = match openvino_table(payload) {
                Some((start, rest)) => {
                    headed(kind, rest, opaque_parts(kind, rest)).map_err(|error| error.inside(start as u64))?
                }
                None => Vec::new(),
            };
            files.push(whole("model.blob"));
            files
        }
        PayloadKind::Vgf => {
            let mut files = headed(kind, payload, vgf_sections(payload))?;
            files.push(whole("model.vgf"));
            files
        }
        PayloadKind::Neuropilot => headed(kind, payload, vec![(NEUROPILOT_SIZE, neuropilot_model(payload))])?,
        _ => return Ok(None),
    }))
}

/// Converts the parts that a header states into files, each with the offset of its field.
fn headed<'t>(
    kind: PayloadKind,
    payload: &'t [u8],
    parts: Vec<(usize, Option<PayloadPart>)>,
) -> Result<Vec<UnpackedFile<'t>>> {
    let mut known = Vec::new();
    for (at, part) in parts {
        known.push(part.ok_or_else(|| {
            let found = format!("a {kind} payload: a part that is not inside its {} bytes", payload.len());
            Error::at(at.min(payload.len()), ErrorKind::Header(found.into()))
        })?);
    }
    Ok(of_parts(&known, payload))
}

/// Finds the table of parts in a model that OpenVINO exported. Returns its start, and the bytes from there on, in which the table
/// counts offsets, or `None` for other releases. OpenVINO 2025.4 writes the table first, 2026.4 after a text about its release:
/// `RR_UPCVO`, a u32, the u64 size of the text, the text.
fn openvino_table(payload: &[u8]) -> Option<(usize, &[u8])> {
    /// The size of the table, which is also the offset of the first part.
    const TABLE: &[u8; 8] = &48u64.to_le_bytes();
    let start = match payload.strip_prefix(b"RR_UPCVO") {
        Some(rest) => {
            let size = rest.get(4..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
            usize::try_from(size).ok()?.checked_add(20)?
        }
        None => 0,
    };
    let rest = payload.get(start..)?;
    rest.starts_with(TABLE).then_some((start, rest))
}

/// Returns the sections of a VGF file, as placed by `src/header.hpp` of Arm's library (formats 0.4.3 and 0.5.0): four pairs of a u64 offset and size.
fn vgf_sections(payload: &[u8]) -> Vec<(usize, Option<PayloadPart>)> {
    let number = |at: usize| payload.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let section = |(name, at): (&str, usize)| {
        let (offset, size) = (number(at)?, number(at + 8)?);
        let end = offset.checked_add(size)?;
        (end <= payload.len() as u64).then(|| PayloadPart { name: name.to_owned(), offset, size })
    };
    let sections = [("modules", 16), ("sequence", 32), ("resources", 48), ("constants", 64)];
    sections.into_iter().map(|named| (named.1, section(named))).collect()
}

/// The position of the size of a NeuroPilot model, and of the model. The header has a u8 version, then as u32 the numbers of inputs
/// and outputs and this size.
const NEUROPILOT_SIZE: usize = 9;
const NEUROPILOT_MODEL: usize = 13;

fn neuropilot_model(payload: &[u8]) -> Option<PayloadPart> {
    let size = payload.get(NEUROPILOT_SIZE..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?.into();
    let is_whole = (payload.len() as u64).checked_sub(NEUROPILOT_MODEL as u64).is_some_and(|rest| size <= rest);
    is_whole.then(|| PayloadPart { name: "model".to_owned(), offset: NEUROPILOT_MODEL as u64, size })
}
