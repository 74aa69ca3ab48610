//! A file that was dropped on the page: the parts that were read, and their contents.

use executorch_format::inspect::{Salvage, salvage};
use executorch_format::{DataRef, Error, FileKind, Model, PROBE_SIZE, ParseOptions, Pte, Segment, probe};
use executorch_format::{
    convert::Safetensors,
    naming::{EtRecord, NameSource},
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A source of a file's bytes.
pub trait Storage {
    /// Reads `size` bytes from `start`.
    fn read(&self, start: u64, size: u64) -> Result<Vec<u8>, String>;

    /// Reads the entries of a ZIP file for which [`EtRecord::takes_entry`] returns `true`, with their content.
    fn entries(&self) -> Result<Vec<(String, Vec<u8>)>, String> {
        Err("ZIP files are not read here".into())
    }
}

impl Storage for [u8] {
    fn read(&self, start: u64, size: u64) -> Result<Vec<u8>, String> {
        let range = usize::try_from(start).ok().zip(usize::try_from(start.saturating_add(size)).ok());
        let bytes = range.and_then(|(start, end)| self.get(start..end));
        bytes.map(<[u8]>::to_vec).ok_or_else(|| "the file has become shorter".into())
    }
}

/// The size up to which a file is read whole, in bytes.
const WHOLE: u64 = 64 << 20;

/// The largest file of a kind that must be read whole, in bytes.
const MAX_WHOLE: u64 = 1 << 30;

/// The largest number of bytes of payloads that are read for their contents.
const PAYLOADS: u64 = 64 << 20;

/// A file, with the parts that were read.
pub struct File {
    /// The name.
    pub name: String,
    /// The size, in bytes.
    pub size: u64,
    /// The kind, by the first bytes.
    pub kind: Option<FileKind>,
    /// `true` if the whole file was read.
    pub whole: bool,
    /// The file, or the program inside a bundle.
    pub model: Result<Model<'static>, Error>,
    /// The bundle around the program.
    pub bundle: Option<Model<'static>>,
    /// The start of the program in the bundle.
    pub program_offset: Option<u64>,
    /// The contents that could be recovered, if it cannot be parsed.
    pub remains: Option<Salvage>,
    /// The names in it, if it is an ETRecord or a state dict.
    pub names: Option<Result<&'static NameSource<'static>, String>>,
    /// The same program or `.ptd` file once more, which nothing changes, so that what is found in it can be kept.
    pub fixed: Option<&'static Model<'static>>,
}

impl File {
    /// Reads a file: its metadata, and its payloads if they are not too large. The bytes are kept until the worker ends, which lives as
    /// long as the page shows these files, since trees borrow from them.
    ///
    /// Fails if the bytes cannot be read. A file with faults is opened, too.
    pub fn open(name: String, size: u64, storage: &(impl Storage + ?Sized)) -> Result<Self, String> {
        let first = storage.read(0, size.min(PROBE_SIZE as u64))?;
        let failed = |kind, error| Ok(Self::new(name.clone(), size, kind, false, Err(error)));
        let probe = match probe(&first) {
            Ok(probe) => probe,
            Err(error) => {
                let names = names(&name, &first, size, storage);
                return failed(None, error).map(|file| Self { names, ..file });
            }
        };
        let kind = Some(probe.kind);
        let whole = size <= WHOLE || probe.header.is_none();
        if whole && size > MAX_WHOLE {
            return Err(format!(
                "a {} of {size} bytes has to be read whole, and {MAX_WHOLE} is the most for that",
                probe.kind
            ));
        }
        let end = match if whole { Ok(0..size) } else { probe.metadata(size) } {
            Ok(range) => range.end,
            Err(error) => return failed(kind, error),
        };
        if end > MAX_WHOLE {
            return Err(format!("its metadata has {end} bytes, and {MAX_WHOLE} is the most that is read"));
        }
        let bytes: &'static [u8] = storage.read(0, end)?.leak();
        let options = if whole { ParseOptions::default() } else { ParseOptions::metadata_of(size) };
        let mut file = Self::new(name, size, kind, whole, Model::parse_with(bytes, &options));
        if file.model.is_err() {
            file.remains = Some(salvage(bytes, probe.kind));
        }
        file.unbundle(bytes);
        if let (Ok(Model::Pte(pte)), false) = (&mut file.model, whole) {
            read_payloads(pte, storage)?;
        }
        if let Ok(model @ (Model::Pte(_) | Model::Ptd(_))) = &file.model {
            file.fixed = Some(Box::leak(Box::new(model.clone())));
        }
        Ok(file)
    }

    fn new(name: String, size: u64, kind: Option<FileKind>, whole: bool, model: Result<Model<'static>, Error>) -> Self {
        Self {
            name,
            size,
            kind,
            whole,
            model,
            bundle: None,
            program_offset: None,
            remains: None,
            names: None,
            fixed: None,
        }
    }

    /// Takes the program out of a bundle.
    fn unbundle(&mut self, bytes: &'static [u8]) {
        let Ok(Model::Bpte(bpte)) = &self.model else { return };
        self.program_offset = bpte.program_offset();
        let program = bpte.clone().into_program().map(Model::Pte);
        self.bundle = Model::parse(bytes).ok();
        self.model = program;
    }

    /// Returns the program, if the file is one.
    pub fn program(&self) -> Option<&Pte<'static>> {
        match &self.model {
            Ok(Model::Pte(pte)) => Some(pte),
            _ => None,
        }
    }

    /// Returns the start of the model's offsets, in bytes from the start of the file.
    pub fn start(&self) -> u64 {
        self.program_offset.unwrap_or_default()
    }
}

/// Reads the names of an ETRecord, which is a ZIP file, or of a state dict.
fn names(
    name: &str,
    first: &[u8],
    size: u64,
    storage: &(impl Storage + ?Sized),
) -> Option<Result<&'static NameSource<'static>, String>> {
    let is_zip = first.starts_with(b"PK\x03\x04");
    if !is_zip && !name.ends_with(".safetensors") {
        return None;
    }
    let read = || -> Result<&'static NameSource<'static>, String> {
        if size > MAX_WHOLE {
            return Err(format!("{size} bytes, and {MAX_WHOLE} is the most that is read for names"));
        }
        let names = if is_zip {
            let entries: BTreeMap<String, Vec<u8>> = storage.entries()?.into_iter().collect();
            let mut content = |name: &str| Ok(entries.get(name).map(|content| content.as_slice().into()));
            EtRecord::from_entries(size, &mut content).map(NameSource::Record)
        } else {
            Safetensors::parse(storage.read(0, size)?.leak()).map(NameSource::from)
        };
        names.map(|names| &*Box::leak(Box::new(names))).map_err(|error| error.to_string())
    };
    Some(read())
}

/// Reads the segments with payloads, small segments first.
fn read_payloads(pte: &mut Pte<'static>, storage: &(impl Storage + ?Sized)) -> Result<(), String> {
    let delegates = pte.methods().iter().flat_map(|plan| plan.delegates());
    let mut places: Vec<(u64, u32, u64)> = Vec::new();
    for delegate in delegates {
        let Ok(DataRef::Segment { index, .. }) = pte.delegate_data(delegate) else { continue };
        let size = pte.program.segments().get(index as usize).map_or(0, |segment| segment.size);
        let whole = DataRef::Segment { index, offset: 0, size };
        places.extend(pte.range(&whole).map(|range| (size, index, range.start)));
    }
    places.sort_unstable();
    places.dedup();
    let mut left = PAYLOADS;
    for (size, index, start) in places {
        let Some(rest) = left.checked_sub(size) else { break };
        left = rest;
        let bytes = storage.read(start, size)?;
        if let Some(segment) = pte.segments.get_mut(index as usize) {
            *segment = Segment::Whole(Cow::Owned(bytes));
        }
    }
    Ok(())
}
