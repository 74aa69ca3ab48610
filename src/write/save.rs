//! Writes to any writer, or to a path.
//!
//! Temporary files are created here instead of by a crate such as `tempfile`: several files are prepared and then renamed
//! together, the permissions of a replaced file are kept, and the default features need no further crates.

use super::attributes;
use super::image::{Image, Piece};
use crate::error::{Error, Result};
use crate::file::segment::offset_in;
use std::fs;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf, Prefix};
use std::string::{String, ToString};
use std::thread;
use std::time::Duration;
use std::vec::Vec;

/// A receiver of progress reports while a file is written. Closures that take the two numbers implement it.
pub trait Progress {
    /// Receives a report: `done` of `total` bytes have been written.
    fn progress(&mut self, done: u64, total: u64);

    /// Returns `true` to cancel; called before each 8 MiB. Writing then fails with [`std::io::ErrorKind::Interrupted`], and the
    /// new file is removed.
    fn is_cancelled(&self) -> bool {
        false
    }
}

impl<F: FnMut(u64, u64)> Progress for F {
    fn progress(&mut self, done: u64, total: u64) {
        self(done, total);
    }
}

/// The number of bytes written between two progress reports.
const STEP: usize = 8 << 20;

/// The smallest number of bytes that the system copies. Smaller pieces are written through the buffer.
const LEAST_COPIED: usize = 64 << 10;

impl<'t> Image<'t> {
    /// Lets [`save`](Self::save) and [`prepare`](Self::prepare) copy bytes that are borrowed from `bytes` directly from `file`.
    /// `bytes` must be a memory map of `file` from its start. The system then copies without passing the bytes
    /// through this process; on some file systems, both files share the same blocks.
    ///
    /// `save` does not map files itself. By default, each mapped page that it writes becomes resident: up to the size of the
    /// file, which the system can reclaim. With `copy_from`, these pages stay out of memory, and `save` needs only the metadata and its buffer.
    ///
    /// ```
    /// # #[allow(unsafe_code)]
    /// # fn main() -> executorch_format::Result<()> {
    /// let file = std::fs::File::open("tests/data/1.5.1/add_mul/add_mul.pte")?;
    /// let map = unsafe { memmap2::Mmap::map(&file)? };
    /// let mut pte = executorch_format::Pte::parse(&map)?;
    /// pte.program.execution_plan.as_mut().unwrap()[0].name = Some("main".into());
    /// let path = std::env::temp_dir().join("renamed-method.pte");
    /// pte.image()?.copy_from(&file, &map).save(&path)?;
    /// # assert_eq!(std::fs::read(&path)?, pte.image()?.to_vec()?);
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn copy_from(mut self, file: &'t fs::File, bytes: &'t [u8]) -> Self {
        self.files.push((file, bytes));
        self
    }
}

impl Image<'_> {
    /// Writes the file from start to end. Only the metadata takes memory in addition to the tree.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if `writer` fails.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        self.write_with(writer, |_, _| {})
    }

    /// Writes the file like [`write_to`](Self::write_to), with progress reports.
    pub fn write_with(&self, writer: impl Write, progress: impl Progress) -> Result<()> {
        Ok(self.write(writer, progress, |writer, bytes| writer.write_all(bytes))?)
    }

    fn write<W: Write>(
        &self,
        mut writer: W,
        mut progress: impl Progress,
        put: impl Fn(&mut W, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        const ZEROS: &[u8] = &[0; 4096];
        let mut done = 0;
        for piece in self.pieces() {
            match piece {
                Piece::Bytes(bytes) => {
                    for part in bytes.chunks(STEP) {
                        go_on(&progress)?;
                        put(&mut writer, part)?;
                        done += part.len() as u64;
                        if part.len() == STEP {
                            progress.progress(done, self.size());
                        }
                    }
                }
                Piece::Zeros(mut count) => {
                    while count > 0 {
                        let part = ZEROS.get(..count.min(ZEROS.len() as u64) as usize).unwrap_or(ZEROS);
                        writer.write_all(part)?;
                        done += part.len() as u64;
                        count -= part.len() as u64;
                    }
                }
            }
        }
        writer.flush()?;
        progress.progress(done, self.size());
        go_on(&progress)
    }

    /// Writes bytes, or copies them from the file that they are mapped from.
    fn copy_or_write(&self, writer: &mut FileWriter<'_>, bytes: &[u8]) -> io::Result<()> {
        let mapped = self.files.iter().find_map(|(file, map)| Some((*file, offset_in(map, bytes)?)));
        let Some((mut file, offset)) = mapped.filter(|_| bytes.len() >= LEAST_COPIED) else {
            return writer.write_all(bytes);
        };
        writer.flush()?;
        file.seek(SeekFrom::Start(offset))?;
        let size = bytes.len() as u64;
        if io::copy(&mut file.take(size), writer.get_mut())? < size {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file that it is copied from became shorter"));
        }
        Ok(())
    }

    /// Writes the file to `path`: to a temporary file in the same folder, which is synced and then renamed. On failure, the existing file is
    /// unchanged and the temporary file is removed.
    ///
    /// The permissions of an existing file are kept; on Unix also its owner and group, and with the feature `system` its extended attributes and
    /// access control list, as far as the process may set them: see [`Prepared::lost`]. A symbolic link stays a link, and the file that it points to is
    /// replaced; a link to a file that does not exist is an error.
    ///
    /// With the feature `system`, the file is replaced under its lock (`FileLock`). A program that saves a file that it read must hold that lock
    /// from reading to saving; otherwise it may undo changes that other programs made in between.
    ///
    /// A process that is killed while writing leaves the temporary file behind. With the feature `system`, on Linux and on
    /// file systems with `O_TMPFILE`, it leaves nothing behind, because the file has no name until it is complete.
    ///
    /// "Synced" refers to [`std::fs::File::sync_all`], which on Apple's systems is `F_FULLFSYNC`: the bytes are on the medium, not only
    /// in the drive's cache. The folder is synced too, except on Windows, which does not support that.
    ///
    /// Except on Windows, the tree may borrow from a memory map of the file that is replaced: the old bytes stay valid until they are
    /// unmapped. Windows cannot replace a mapped file: there, [`prepare`](Self::prepare) the new file, drop the tree and the map,
    /// and [`commit`](Prepared::commit). It cannot replace a file with the read-only attribute, either.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, |_, _| {})
    }

    /// Writes the file like [`save`](Self::save), with progress reports.
    pub fn save_with(&self, path: impl AsRef<Path>, progress: impl Progress) -> Result<()> {
        self.prepare(path, progress)?.commit()
    }

    /// Does everything that [`save_with`](Self::save_with) does except renaming. Prepare several files that belong
    /// together before you commit them, so that a full disk or a read-only folder leaves all old files in place.
    ///
    /// ```
    /// # fn main() -> executorch_format::Result<()> {
    /// # let file = std::fs::read("tests/data/1.5.1/add_mul/add_mul.pte")?;
    /// # let pte = executorch_format::Pte::parse(&file)?;
    /// # let (one, two) = (std::env::temp_dir().join("one.pte"), std::env::temp_dir().join("two.pte"));
    /// let image = pte.image()?;
    /// let prepared = [image.prepare(&one, |_, _| {})?, image.prepare(&two, |_, _| {})?];
    /// for file in prepared {
    ///     file.commit()?;
    /// }
    /// # std::fs::remove_file(one)?;
    /// # std::fs::remove_file(two)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn prepare(&self, path: impl AsRef<Path>, progress: impl Progress) -> Result<Prepared> {
        let put = |writer: &mut &mut FileWriter<'_>, bytes: &[u8]| self.copy_or_write(writer, bytes);
        Prepared::of(path.as_ref(), |writer| self.write(writer, progress, put))
    }
}

/// A file that is completely written but does not have its name yet. If dropped instead of committed, it is removed.
pub struct Prepared {
    /// `None` for a pipe or a device, which has already received everything.
    file: Option<(Beside, PathBuf)>,
    /// The path as passed by the caller.
    path: PathBuf,
    lost: Vec<String>,
}

impl Prepared {
    /// Creates a file that is not an [`Image`], such as a picture, like [`Image::prepare`] does. `write` gets a buffered writer.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use executorch_format::Prepared;
    ///
    /// let path = std::env::temp_dir().join("notes.txt");
    /// Prepared::new(&path, |out| writeln!(out, "Two models, one page."))?.commit()?;
    /// # std::fs::remove_file(path)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path, if `write` fails or the file cannot be written.
    // For the command, which writes all its output in this way.
    #[doc(hidden)]
    pub fn new(path: impl AsRef<Path>, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Self> {
        Self::of(path.as_ref(), |writer| write(writer))
    }

    fn of(path: &Path, write: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>) -> Result<Self> {
        prepare(path, write).map_err(|error| Error::io(error, path))
    }

    /// Returns the properties of the replaced file that the new file does not have, such as an owner that the process may not set or another
    /// hard link, each as a text for people.
    pub fn lost(&self) -> &[String] {
        &self.lost
    }

    /// Gives the file its name, replacing any file with that name. On Windows, waits up to about a second if another program, such as a
    /// virus scanner, has that file open. With the feature `system`, waits up to 60 seconds for another process that holds the file's lock.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path.
    pub fn commit(self) -> Result<()> {
        #[cfg(feature = "system")]
        let _lock = match &self.file {
            Some((_, target)) => Some(super::lock::FileLock::acquire(target)?),
            None => None,
        };
        self.name()
    }

    /// Gives the file its name like [`commit`](Self::commit), under a lock that the caller holds.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if it is the lock of another file.
    #[cfg(feature = "system")]
    pub fn commit_locked(self, lock: &super::lock::FileLock) -> Result<()> {
        if self.file.as_ref().is_some_and(|(_, target)| !lock.is_of(target)) {
            let error = io::Error::new(io::ErrorKind::InvalidInput, "the lock is that of another file");
            return Err(Error::io(error, &self.path));
        }
        self.name()
    }

    fn name(self) -> Result<()> {
        let named = self.file.map_or(Ok(()), |(beside, path)| beside.take_name(&path));
        named.map_err(|error| Error::io(error, &self.path))
    }
}

fn prepare(path: &Path, write: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>) -> io::Result<Prepared> {
    let Some(target) = replaced_path(path)? else {
        // Opening a folder fails.
        write_file(&mut fs::OpenOptions::new().write(true).open(path)?, write)?;
        return Ok(Prepared { file: None, path: path.to_path_buf(), lost: Vec::new() });
    };
    // Other systems can replace a read-only file. On Windows, fail before anything is written.
    if cfg!(windows) && fs::metadata(&target).is_ok_and(|old| old.permissions().readonly()) {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut beside = Beside::create(&target)?;
    let lost = match attributes::keep(&target, &beside.file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        kept => kept?,
    };
    write_file(&mut beside.file, write)?;
    beside.file.sync_all()?;
    Ok(Prepared { file: Some((beside, target)), path: path.to_path_buf(), lost })
}

/// Returns the canonical path of the file that saving to `path` replaces or creates; `None` for a pipe, a device or a folder, which is not
/// replaced. A link stays a link: the file that it points to is replaced.
pub(super) fn replaced_path(path: &Path) -> io::Result<Option<PathBuf>> {
    if is_device(path) {
        return Ok(None);
    }
    let missing = match fs::metadata(path) {
        Ok(there) if !there.is_file() => return Ok(None),
        Ok(_) => return canonical(path).map(Some),
        Err(error) => error,
    };
    if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
        let error = match fs::read_link(path) {
            Ok(to) => std::format!("it is a link to {}, which does not exist", to.display()),
            Err(error) => error.to_string(),
        };
        return Err(io::Error::new(io::ErrorKind::NotFound, error));
    }
    // All paths of a file have the same lock.
    let name = path.file_name().ok_or(missing)?;
    Ok(Some(canonical(folder(path))?.join(name)))
}

/// Returns the canonical path of what exists at `path`; if the system does not know it, the absolute path, unless that is a link.
fn canonical(path: &Path) -> io::Result<PathBuf> {
    let is_link = || fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink());
    match fs::canonicalize(path) {
        // Wine has no canonical paths of more than 260 characters.
        Err(error) if cfg!(windows) && error.kind() != io::ErrorKind::NotFound && !is_link() => {
            std::path::absolute(path)
        }
        found => found,
    }
}

/// A buffered writer of a file.
type FileWriter<'f> = BufWriter<&'f mut fs::File>;

fn write_file(file: &mut fs::File, write: impl FnOnce(&mut FileWriter<'_>) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    write(&mut writer)?;
    writer.flush()
}

/// Fails if the caller cancelled.
fn go_on(progress: &impl Progress) -> io::Result<()> {
    if progress.is_cancelled() {
        return Err(io::Error::new(io::ErrorKind::Interrupted, "it was interrupted"));
    }
    Ok(())
}

/// A temporary file in the same folder, so that it can be renamed. It is removed when dropped, unless it was renamed.
struct Beside {
    file: fs::File,
    /// The path, if the file has a name.
    path: Option<PathBuf>,
}

impl Beside {
    fn create(path: &Path) -> io::Result<Self> {
        if let Some(file) = unnamed::create(folder(path)) {
            return Ok(Self { file, path: None });
        }
        let (file, path) = with_free_name(path, |path| fs::File::create_new(path))?;
        Ok(Self { file, path: Some(path) })
    }

    fn take_name(mut self, path: &Path) -> io::Result<()> {
        if self.path.is_none() {
            // Linking cannot replace a file, so the file first gets a free name and is then renamed.
            let ((), name) = with_free_name(path, |name| unnamed::link(&self.file, name))?;
            self.path = Some(name);
        }
        if let Some(name) = &self.path {
            retry(|| fs::rename(name, path), is_temporary)?;
        }
        self.path = None;
        sync_folder(path);
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The error that led here is the one to report.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns `true` if a path is the name of a Windows device, such as `NUL` or `CON`, in any folder and, on old systems, with any extension.
fn is_device(path: &Path) -> bool {
    let Ok(path) = std::path::absolute(path) else { return false };
    let first = path.components().next();
    cfg!(windows) && matches!(first, Some(Component::Prefix(prefix)) if matches!(prefix.kind(), Prefix::DeviceNS(_)))
}

/// Returns `true` if another program, such as a virus scanner or an indexer, may have the file open for a moment, an error only on Windows.
pub(super) fn is_temporary(error: &io::Error) -> bool {
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    cfg!(windows) && matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | LOCK_VIOLATION))
}

/// Tries again after temporary errors, for about a second.
fn retry(attempt: impl Fn() -> io::Result<()>, is_temporary: impl Fn(&io::Error) -> bool) -> io::Result<()> {
    for milliseconds in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] {
        match attempt() {
            Err(error) if is_temporary(&error) => thread::sleep(Duration::from_millis(milliseconds)),
            done => return done,
        }
    }
    attempt()
}

/// Calls `make` with free names in the folder of `path` until one works.
fn with_free_name<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    let process = std::process::id();
    for attempt in 0..1000 {
        let path = path.with_file_name(std::format!(".executorch-format-{process}-{attempt}.tmp"));
        match make(&path) {
            Ok(made) => return Ok((made, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file"))
}

/// Files without a name, which are removed when they are closed, even if the process is killed.
#[cfg(all(feature = "system", target_os = "linux"))]
mod unnamed {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::os::fd::AsRawFd;
    use std::path::Path;
    use std::{format, fs, io};

    /// Creates a file in that folder. Returns `None` if the file system does not support that, or without `/proc`, through which the
    /// file gets its name.
    pub(super) fn create(folder: &Path) -> Option<fs::File> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = open(folder, flags, Mode::from_raw_mode(0o666)).ok().map(fs::File::from)?;
        fs::exists(name(&file)).is_ok_and(|there| there).then_some(file)
    }

    /// Gives the file a name, unless another file has that name.
    pub(super) fn link(file: &fs::File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, name(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn name(file: &fs::File) -> std::string::String {
        format!("/proc/self/fd/{}", file.as_raw_fd())
    }
}

#[cfg(not(all(feature = "system", target_os = "linux")))]
mod unnamed {
    use std::path::Path;
    use std::{fs, io};

    pub(super) fn create(_: &Path) -> Option<fs::File> {
        None
    }

    pub(super) fn link(_: &fs::File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the rename durable. The file is already replaced, so a failure to sync the folder is not an error. Windows cannot open folders.
fn sync_folder(path: &Path) {
    if let Ok(folder) = fs::File::open(folder(path)) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_rename_is_retried_a_limited_number_of_times_after_temporary_errors() {
        let renamed = |failures: usize, code: i32| {
            let attempts = Cell::new(0);
            let attempt = || {
                attempts.set(attempts.get() + 1);
                if attempts.get() > failures { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
            };
            let done = retry(attempt, |error| error.raw_os_error() == Some(32));
            (done.map_err(|error| error.raw_os_error()), attempts.get())
        };
        assert_eq!(renamed(0, 32), (Ok(()), 1));
        assert_eq!(renamed(3, 32), (Ok(()), 4));
        assert_eq!(renamed(3, 17), (Err(Some(17)), 1));
        assert_eq!(renamed(usize::MAX, 32), (Err(Some(32)), 11));
    }

    #[test]
    fn only_windows_has_names_of_devices() {
        for name in ["NUL", "nul", "models/model.pte", "C:\\models\\model.pte", "model.pte"] {
            assert_eq!(is_device(Path::new(name)), cfg!(windows) && name.eq_ignore_ascii_case("nul"), "{name}");
        }
    }
}
