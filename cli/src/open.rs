//! Opens files: maps their bytes into memory, and parses trees from them.

use crate::context::Context;
use crate::failure::Failure;
use crate::remote::{self, Need};
use crate::text;
use executorch_format::{Image, Model, PROBE_SIZE, ParseOptions, Pte, probe};
use memmap2::Mmap;
use std::fs::{self, File, Metadata};
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// A file, or bytes in memory.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// An open file.
pub struct Input {
    path: PathBuf,
    bytes: Bytes,
    /// The state of a file on disk when it was opened.
    version: Option<Version>,
}

/// The state of a file on disk. It differs for another file of the same name and for other content.
#[derive(Clone, PartialEq, Eq)]
pub struct Version {
    size: u64,
    modified: Option<SystemTime>,
    /// The inode number on Unix.
    number: Option<u64>,
}

impl Version {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let number = Some(std::os::unix::fs::MetadataExt::ino(metadata));
        #[cfg(not(unix))]
        let number = None;
        Self { size: metadata.len(), modified: metadata.modified().ok(), number }
    }

    /// Returns `true` if a file still has this state.
    pub fn is_of(&self, file: &Path) -> bool {
        fs::metadata(file).is_ok_and(|metadata| *self == Self::of(&metadata))
    }
}

/// A file's tree; for a bundle, the tree of the program inside.
pub struct Unbundled<'i> {
    /// The tree. Its offsets count from the first byte of the program.
    pub model: Model<'i>,
    /// The start of the program in the bundle, in bytes; `None` if the file is not a bundle.
    pub program_offset: Option<u64>,
}

enum Bytes {
    Mapped(Mapped),
    /// A small or empty file, or a pipe, which cannot or need not be mapped.
    Read(Vec<u8>),
    /// A file in a store.
    #[cfg(feature = "remote")]
    Distant(Box<remote::Distant>),
}

/// A mapped file, listed in [`MAPPED`] while it is mapped.
struct Mapped {
    map: Mmap,
    file: File,
    /// The canonical path.
    path: PathBuf,
}

/// The canonical paths of mapped files. A file that is opened twice is listed twice. A static, since what matters to Windows is the process: no
/// run of the command may replace a file that another one has mapped.
static MAPPED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Mapped {
    fn new(path: &Path, file: File) -> io::Result<Self> {
        // A file that was deleted in the meantime has no canonical path.
        let (map, path) = (map(&file)?, path.canonicalize().unwrap_or_else(|_| path.to_owned()));
        list_of_mapped().push(path.clone());
        Ok(Self { map, file, path })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let mut paths = list_of_mapped();
        if let Some(index) = paths.iter().position(|path| *path == self.path) {
            paths.swap_remove(index);
        }
    }
}

/// Returns `true` while this process has the file mapped. Windows cannot replace such a file.
pub fn is_mapped(file: &Path) -> bool {
    file.canonicalize().is_ok_and(|file| list_of_mapped().contains(&file))
}

fn list_of_mapped() -> MutexGuard<'static, Vec<PathBuf>> {
    // A thread that panicked leaves no incomplete entry.
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Smaller files are read instead of mapped, which is faster, above all if other threads do it too.
const LEAST_MAPPED: u64 = 64 << 10;

/// The maximum number of bytes of metadata to read from a pipe: a FlatBuffer cannot be larger.
const MAX_METADATA: u64 = 1 << 31;

/// The maximum size of a file with settings: a policy, a target, a table of names.
const MAX_SETTINGS: u64 = 16 << 20;

/// The maximum size of JSON to read as a tree.
const MAX_JSON: u64 = 1 << 30;

/// The maximum size of data that is no model, such as a tensor or a safetensors file, from a pipe.
const MAX_DATA: u64 = 2 << 30;

/// The maximum number of bytes that a pipe may have after the end that the file's header states.
const MAX_TRAILING: u64 = 1 << 20;

impl Input {
    /// Opens a file, or standard input if the path is `-`. Pipes and files with a URL are read whole; other files are mapped.
    pub fn open(context: &Context, path: &Path) -> Result<Self, Failure> {
        Self::open_for(context, path, Need::All)
    }

    /// Opens a file that need not be a model, such as the bytes of a tensor or a safetensors file. From a pipe or a device, reads up to 2 GiB.
    pub fn open_data(context: &Context, path: &Path) -> Result<Self, Failure> {
        Self::open_as(context, path, Need::All, MAX_DATA)
    }

    /// Opens a file. From a file with a URL, reads only the parts that are needed.
    pub fn open_for(context: &Context, path: &Path, need: Need) -> Result<Self, Failure> {
        // Data that is no model is not read further: the command refuses it by its start.
        Self::open_as(context, path, need, 0)
    }

    /// Opens a file. From a pipe or a device, reads up to `max_data` bytes if it is not a model.
    #[cfg_attr(not(feature = "remote"), allow(unreachable_code, reason = "this build opens no files in stores"))]
    fn open_as(context: &Context, path: &Path, need: Need, max_data: u64) -> Result<Self, Failure> {
        if let Some(url) = remote::url(path).filter(|_| !path.exists()) {
            let _file = context.stores.open(url, need)?;
            #[cfg(feature = "remote")]
            context.volume.add_read(_file.bytes().len() as u64);
            #[cfg(feature = "remote")]
            return Ok(Self { path: path.to_owned(), bytes: Bytes::Distant(Box::new(_file)), version: None });
        }
        let unreadable = |error| Failure::Unreadable { file: path.to_owned(), error };
        let mut version = None;
        let bytes = if path.as_os_str() == text::STANDARD {
            Bytes::Read(read_stream(path, io::stdin().lock(), max_data)?)
        } else {
            // On Windows, opening a folder fails.
            if path.is_dir() {
                let hint = "it is a directory: name the files in it, or add --recursive";
                return Err(unreadable(io::Error::other(hint)));
            }
            let file = File::open(path).map_err(unreadable)?;
            let metadata = file.metadata().map_err(unreadable)?;
            version = metadata.is_file().then(|| Version::of(&metadata));
            // A file of the system, such as those in `/proc`, may be endless although its size is 0.
            if !metadata.is_file() || metadata.len() == 0 {
                Bytes::Read(read_stream(path, file, max_data)?)
            } else if metadata.len() < LEAST_MAPPED {
                Bytes::Read(read_small(file).map_err(unreadable)?)
            } else {
                Bytes::Mapped(Mapped::new(path, file).map_err(unreadable)?)
            }
        };
        let input = Self { path: path.to_owned(), bytes, version };
        context.volume.add_read(input.bytes().len() as u64);
        Ok(input)
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns `true` for a pipe, a device or standard input, which was read whole.
    pub fn is_stream(&self) -> bool {
        self.version.is_none() && matches!(self.bytes, Bytes::Read(_))
    }

    /// Returns the state that the file on disk had when it was opened; `None` for a pipe and for a file in a store.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// Returns the bytes of the whole file.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Mapped(mapped) => &mapped.map,
            Bytes::Read(bytes) => bytes,
            #[cfg(feature = "remote")]
            Bytes::Distant(file) => file.bytes(),
        }
    }

    /// Returns `true` if all bytes were read, and not only the parts that were needed.
    pub fn is_whole(&self) -> bool {
        #[cfg(feature = "remote")]
        if let Bytes::Distant(file) = &self.bytes {
            return file.is_whole();
        }
        true
    }

    /// Returns the file, if it is in a store.
    #[cfg(feature = "remote")]
    pub fn distant(&self) -> Option<&remote::Distant> {
        match &self.bytes {
            Bytes::Distant(file) => Some(file),
            _ => None,
        }
    }

    /// Returns a reader over the whole file. Unlike mapped pages, the bytes that it reads do not stay in memory.
    pub fn reader(&self) -> io::Result<Box<dyn ReadSeek + '_>> {
        Ok(match &self.bytes {
            Bytes::Mapped(..) => Box::new(File::open(&self.path)?),
            _ => Box::new(Cursor::new(self.bytes())),
        })
    }

    /// Returns the image, with the parts that borrow from this file copied from it.
    pub fn copied<'t>(&'t self, image: Image<'t>) -> Image<'t> {
        match &self.bytes {
            Bytes::Mapped(Mapped { map, file, .. }) => image.copy_from(file, map),
            _ => image,
        }
    }

    /// Parses the file. An error does not name the file.
    pub fn model(&self) -> executorch_format::Result<Model<'_>> {
        match &self.bytes {
            #[cfg(feature = "remote")]
            Bytes::Distant(file) => file.parse(),
            _ => Model::parse(self.bytes()),
        }
    }

    /// Parses the file.
    pub fn parse(&self) -> Result<Model<'_>, Failure> {
        self.model().map_err(|error| Failure::bad(&self.path, &error))
    }

    /// Parses the file, and unwraps the program in a bundle.
    pub fn unbundled(&self) -> Result<Unbundled<'_>, Failure> {
        Ok(match self.parse()? {
            Model::Bpte(bpte) => {
                let program_offset = bpte.program_offset();
                let program = bpte.into_program().map_err(|error| Failure::bad(&self.path, &error))?;
                Unbundled { model: Model::Pte(program), program_offset }
            }
            model => Unbundled { model, program_offset: None },
        })
    }

    /// Returns the program in the file: a whole `.pte`, or the program inside a `.bpte`. Fails for other kinds of files.
    pub fn program(&self) -> Result<Pte<'_>, Failure> {
        match self.unbundled()?.model {
            Model::Pte(pte) => Ok(pte),
            other => Err(Failure::no_program(&self.path, other.kind())),
        }
    }
}

/// Reads a file with settings, such as a policy, a target or a table of names: up to 16 MiB, also from a pipe or a device.
pub fn read_settings(path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::Unreadable { file: path.to_owned(), error };
    let file = File::open(path).map_err(unreadable)?;
    text_of(file, MAX_SETTINGS, "a file with settings").map_err(unreadable)
}

/// Reads JSON that `pte dump` printed, also from standard input: up to 1 GiB. Another file is not read past its start.
pub fn read_tree(context: &Context, path: &Path) -> Result<String, Failure> {
    let unreadable = |error| Failure::Unreadable { file: path.to_owned(), error };
    let read = |from: &mut dyn Read| {
        let mut start = Vec::new();
        from.take(PROBE_SIZE as u64).read_to_end(&mut start)?;
        if start.trim_ascii_start().first() != Some(&b'{') {
            return Err(io::Error::other("it is not JSON as `pte dump` prints it, expected an object"));
        }
        let text = text_of(Cursor::new(start).chain(from), MAX_JSON, "JSON")?;
        context.volume.add_read(text.len() as u64);
        Ok(text)
    };
    if path.as_os_str() == text::STANDARD {
        return read(&mut io::stdin().lock()).map_err(unreadable);
    }
    read(&mut File::open(path).map_err(unreadable)?).map_err(unreadable)
}

fn text_of(from: impl Read, max: u64, what: &str) -> io::Result<String> {
    let mut text = String::new();
    from.take(max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > max {
        return Err(io::Error::other(format!("more than {max} bytes, the most for {what}")));
    }
    Ok(text)
}

fn read_small(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a pipe or a device, which may be endless. From a model, reads no more than its header states, and a little after that. From anything
/// else, reads up to `max_data` bytes, and fails if there are more; if `max_data` is 0, only the first bytes.
fn read_stream(path: &Path, mut from: impl Read, max_data: u64) -> Result<Vec<u8>, Failure> {
    let unreadable = |error| Failure::Unreadable { file: path.to_owned(), error };
    let mut bytes = Vec::new();
    let mut read_to = |bytes: &mut Vec<u8>, end: u64| -> Result<bool, Failure> {
        let missing = end.saturating_sub(bytes.len() as u64);
        from.by_ref().take(missing).read_to_end(bytes).map_err(unreadable)?;
        Ok(bytes.len() as u64 == end)
    };
    let whole = !read_to(&mut bytes, PROBE_SIZE as u64)?;
    if whole {
        return Ok(bytes);
    }
    let Ok(probe) = probe(&bytes) else {
        // An error is reported where the file is used.
        if max_data > 0 && read_to(&mut bytes, max_data + 1)? {
            let fault = format!("more than {max_data} bytes, the most for data from a pipe: write it to a file first");
            return Err(unreadable(io::Error::other(fault)));
        }
        return Ok(bytes);
    };
    let end = if probe.header.is_some() {
        // The length of a stream is not known before its end.
        let metadata = probe.metadata(u64::MAX).map_err(|error| Failure::bad(path, &error))?;
        if !read_to(&mut bytes, metadata.end.min(MAX_METADATA))? {
            return Ok(bytes);
        }
        let model = Model::parse_with(&bytes, &ParseOptions::METADATA).map_err(|error| Failure::bad(path, &error))?;
        let data = probe.data(u64::MAX).map_err(|error| Failure::bad(path, &error))?;
        let end = data.map_or(0, |data| if data.end == u64::MAX { data_end(&model) } else { data.end });
        end.max(bytes.len() as u64)
    } else {
        MAX_METADATA
    };
    if read_to(&mut bytes, end.saturating_add(MAX_TRAILING))? {
        let fault = format!("the stream is longer than the {end} bytes its header allows: write it to a file first");
        return Err(unreadable(io::Error::other(fault)));
    }
    Ok(bytes)
}

/// Returns the end of the data that the tree refers to. Old headers do not state it.
fn data_end(model: &Model<'_>) -> u64 {
    let (segments, header) = match model {
        Model::Pte(pte) => (pte.program.segments(), pte.header.map(|header| header.segment_base_offset)),
        Model::Ptd(ptd) => (ptd.flat_tensor.segments(), ptd.header.map(|header| header.segment_base_offset)),
        _ => return 0,
    };
    let end = segments.iter().map(|segment| segment.offset.saturating_add(segment.size)).max();
    header.unwrap_or_default().saturating_add(end.unwrap_or_default())
}

#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is only read. The system cannot prevent another process from changing or truncating the file
    // at the same time; the official runtime, which also maps its files, has the same limitation.
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_pipe_is_not_read_to_its_end() {
        let path = Path::new("pipe");
        assert_eq!(read_stream(path, io::repeat(0), 0).map(|bytes| bytes.len()).ok(), Some(PROBE_SIZE));
    }

    #[test]
    fn data_from_a_pipe_is_read_whole_up_to_the_maximum() {
        let path = Path::new("pipe");
        let read = |size, max| read_stream(path, io::repeat(7).take(size), max).map(|bytes| bytes.len() as u64).ok();
        for size in [0, 63, 64, 65, 100, 999, 1000] {
            assert_eq!(read(size, 1000), Some(size));
        }
        assert_eq!((read(1001, 1000), read(u64::MAX, 1000)), (None, None));
    }

    #[test]
    fn settings_are_read_up_to_their_maximum_size() {
        let settings = |from| text_of(from, MAX_SETTINGS, "a file with settings");
        let read = |size| settings(io::repeat(b'#').take(size)).map(|text| text.len() as u64);
        assert_eq!(read(MAX_SETTINGS).ok(), Some(MAX_SETTINGS));
        let error = read(u64::MAX).map_err(|error| error.to_string());
        assert_eq!(error, Err("more than 16777216 bytes, the most for a file with settings".to_owned()));
    }

    #[test]
    fn a_model_followed_by_endless_bytes_is_refused() {
        let file = executorch_format_support::data().join("1.5.1/add_mul/add_mul.pte");
        let file = std::fs::read(file).unwrap_or_default();
        assert!(!file.is_empty());
        let path = Path::new("pipe");
        assert_eq!(read_stream(path, &*file, 0).ok().as_deref(), Some(&*file));
        let trailing = [&file, &b"more"[..]].concat();
        assert_eq!(read_stream(path, &*trailing, 0).ok(), Some(trailing));
        let failed = read_stream(path, file.chain(io::repeat(7)), 0).map(|bytes| bytes.len());
        assert!(matches!(failed, Err(Failure::Unreadable { .. })), "{failed:?}");
    }
}
