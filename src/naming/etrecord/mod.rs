//! ETRecords, in which ExecuTorch's devtools store facts about a program when it is exported. They are read as in ExecuTorch 1.5.1
//! (`devtools/etrecord`, `exir/serde`). Their pickles, with weights and example inputs, are never read.

#[cfg(feature = "etrecord")]
mod archive;
mod json;
mod program;
mod quantized;

use crate::analysis::{EtRecord, RecordedMethod};
use crate::error::{Error, ErrorKind, Result};
use crate::names::shortened;
use alloc::collections::BTreeMap;
use alloc::{borrow::Cow, format, string::String, vec::Vec};
use json::{Json, with_json};
use program::program;
use serde_json::value::RawValue;
#[cfg(feature = "etrecord")]
use {
    crate::file::foreign::ZIP,
    std::io::{Cursor, Read},
    zip::ZipArchive,
};

/// The entry that identifies a ZIP file as an ETRecord.
const IDENTIFIER: &str = "ETRECORD_V0";

/// The entries with the edge program of each method: the name is followed by `/` and the name of the method. Older records contain
/// one program, of `forward`, without a name.
const EDGE_PROGRAM: &str = "edge_dialect_exported_program";

/// The entry with the program before lowering: it has the parameters that quantization replaced.
const EXPORTED_PROGRAM: &str = "exported_program";

/// The method of the program without a name.
const FORWARD: &str = "forward";

/// The entry that maps instructions to handles of nodes.
const HANDLES: &str = "debug_handle_map";

/// The memory that any record may take while it is read, in bytes.
const BASE_MEMORY: u64 = 16 << 20;

/// The memory that a record may take beyond that, in multiples of the size of the file. Records of ExecuTorch take less than their size.
const MAX_EXPANSION: u64 = 10;

/// Returns the limit on memory for a record in a file of that size.
fn most(file_size: u64) -> u64 {
    MAX_EXPANSION.saturating_mul(file_size).saturating_add(BASE_MEMORY)
}

/// The memory that a record may still take: for the entry that is being read, and for everything that is kept.
struct Memory {
    left: u64,
    most: u64,
}

impl Memory {
    fn of_file(size: u64) -> Self {
        Self { left: most(size), most: most(size) }
    }

    fn take(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes as u64).ok_or_else(|| too_large(self.most))?;
        Ok(())
    }

    fn give_back(&mut self, bytes: usize) {
        self.left += bytes as u64;
    }
}

#[cold]
fn too_large(most: u64) -> Error {
    bad(format!(
        "it takes more than {most} bytes of memory: {MAX_EXPANSION} times the file, and {BASE_MEMORY} bytes more"
    ))
}

/// The content of an entry of a ZIP file; `None` if there is no such entry.
type EntryContent<'e> = Option<Cow<'e, [u8]>>;

impl EtRecord {
    /// Returns `true` for the entries that [`from_entries`](Self::from_entries) reads. The others are pickles, which may be large.
    /// `size` is the size of the entry and of all entries before it for which this returned `true`.
    ///
    /// Fails with [`ErrorKind::Other`] if that is more memory than a record in a file of that size may take: 16 MiB plus 10 times the file.
    // For the page, which unpacks ZIP files in JavaScript.
    #[doc(hidden)]
    pub fn takes_entry(name: &str, size: u64, file_size: u64) -> Result<bool> {
        let program = name.split_once('/').map_or(name, |(program, _)| program);
        if ![IDENTIFIER, HANDLES, EXPORTED_PROGRAM].contains(&name) && program != EDGE_PROGRAM {
            return Ok(false);
        }
        if size > most(file_size) { Err(too_large(most(file_size))) } else { Ok(true) }
    }

    /// Reads a record like [`parse`](Self::parse), from entries that the caller unpacked. `entry` returns the content of an entry by name, or fails.
    #[doc(hidden)]
    pub fn from_entries<'e>(file_size: u64, entry: &mut dyn FnMut(&str) -> Result<EntryContent<'e>>) -> Result<Self> {
        Self::read(&mut Memory::of_file(file_size), &mut |name, _| entry(name))
    }

    /// Reads the methods. `entry` returns the content of an entry, and fails if it is larger than the given number of bytes.
    fn read<'e>(memory: &mut Memory, entry: &mut dyn FnMut(&str, u64) -> Result<EntryContent<'e>>) -> Result<Self> {
        if entry(IDENTIFIER, memory.left)?.is_none() {
            return Err(bad(format!("a ZIP file without the entry {IDENTIFIER}")));
        }
        let map = entry(HANDLES, memory.left)?;
        let mut methods = with_json(HANDLES, map, memory, handles)?;
        methods.sort_by_key(|method| method.name.clone());
        let is_twice = |pair: &&[RecordedMethod]| matches!(pair, [method, next] if method.name == next.name);
        if let Some([method, ..]) = methods.windows(2).find(is_twice) {
            return Err(about(HANDLES, &format!("method {} occurs twice", shortened(&method.name))));
        }
        let is_only = methods.len() == 1;
        for method in &mut methods {
            let mut name = format!("{EDGE_PROGRAM}/{}", method.name);
            let mut json = entry(&name, memory.left)?;
            if json.is_none() {
                name = EDGE_PROGRAM.into();
                json = entry(EDGE_PROGRAM, memory.left)?;
                // It is the program of one method.
                if json.is_some() && !is_only && method.name != FORWARD {
                    method.handles.clear();
                    continue;
                }
            }
            (method.nodes, method.inputs, method.parameters) = with_json(&name, json, memory, program)?;
        }
        if quantized::any(&methods) || methods.iter().any(|method| method.parameters.is_none()) {
            let originals = match entry(EXPORTED_PROGRAM, memory.left)? {
                Some(json) => with_json(EXPORTED_PROGRAM, Some(json), memory, program::parameters)?,
                None => Vec::new(),
            };
            quantized::rename(&mut methods, &originals);
            if let ([method], false) = (&mut *methods, originals.is_empty()) {
                method.parameters = method.parameters.or_else(|| program::elements(originals.iter()));
            }
        }
        Ok(Self { methods })
    }

    /// Reads the edge programs of a record, and the nodes that each instruction runs.
    ///
    /// Fails with [`ErrorKind::Other`] if the bytes are not a ZIP file from the first byte on, if an entry is missing, overlaps another or has the
    /// same name, if its JSON is invalid or repeats a key, and if the record takes more memory than 16 MiB plus 10 times the size of the file.
    #[cfg(feature = "etrecord")]
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        // A ZIP file may be behind other bytes, such as a program, which would be another file for other readers.
        if !bytes.starts_with(ZIP) {
            return Err(bad("not a ZIP file: the first entry is not at byte 0".into()));
        }
        let mut archive =
            ZipArchive::new(Cursor::new(bytes)).map_err(|error| bad(format!("not a ZIP file: {error}")))?;
        archive::check_entries(bytes, &mut archive)?;
        Self::read(&mut Memory::of_file(bytes.len() as u64), &mut |name, most| {
            if archive.index_for_name(name).is_none() {
                return Ok(None);
            }
            let entry = archive.by_name(name).map_err(|error| about(name, &error))?;
            let mut content = Vec::new();
            entry.take(most.saturating_add(1)).read_to_end(&mut content).map_err(|error| about(name, &error))?;
            Ok(Some(Cow::Owned(content)))
        })
    }
}

/// Reads the methods, each with its handles.
fn handles(json: Json<'_>, memory: &mut Memory) -> Result<Vec<RecordedMethod>> {
    let mut methods = Vec::new();
    json.entries(|method, instructions: &RawValue| {
        memory.take(size_of::<RecordedMethod>() + method.len())?;
        let mut by_index = BTreeMap::new();
        json.at(instructions).entries(|instruction, value: &RawValue| {
            let fault = |fault: &str| about(HANDLES, &format!("{method}: {:?} {fault}", shortened(&instruction)));
            let index: usize = instruction.parse().map_err(|_| fault("is not the number of an instruction"))?;
            memory.take(INSTRUCTION_MEMORY)?;
            let (value, mut handles) = (json.at(value), Vec::new());
            // A single handle, or those of all nodes that a delegate replaced.
            if value.part.starts_with('[') {
                value.items(|handle: u32| {
                    handles.push(handle);
                    memory.take(size_of_val(&handle))
                })?;
            } else {
                handles.push(value.parse()?);
            }
            match by_index.insert(index, handles) {
                Some(_) => Err(fault("occurs twice")),
                None => Ok(()),
            }
        })?;
        let handles = by_index.into_iter().collect();
        methods.push(RecordedMethod { name: method, handles, ..RecordedMethod::default() });
        Ok(())
    })?;
    Ok(methods)
}

/// The memory of an instruction with its handles, besides the handles.
const INSTRUCTION_MEMORY: usize = 96;

#[cold]
fn about(entry: &str, fault: &dyn core::fmt::Display) -> Error {
    bad(format!("entry {}: {fault}", shortened(entry)))
}

#[cold]
fn bad(what: String) -> Error {
    Error::new(ErrorKind::Other { format: "ETRecord", fault: what.into() })
}
