//! Writing to where files are: any writer, or a path.

use super::image::{Image, Piece};
use crate::error::{Error, Result};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Receives progress: how many bytes are written, of how many.
pub trait Progress {
    /// `done` bytes of `total` are written.
    fn progress(&mut self, done: u64, total: u64);
}

impl<F: FnMut(u64, u64)> Progress for F {
    fn progress(&mut self, done: u64, total: u64) {
        self(done, total);
    }
}

/// How many bytes are written between two reports of progress.
const STEP: usize = 8 << 20;

impl Image<'_> {
    /// Writes the file, in order, with nothing but the metadata in memory.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) where `writer` does.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        self.write_with(writer, |_, _| {})
    }

    /// The same, with reports of progress.
    pub fn write_with(&self, writer: impl Write, progress: impl Progress) -> Result<()> {
        Ok(self.write(writer, progress)?)
    }

    fn write(&self, mut writer: impl Write, mut progress: impl Progress) -> io::Result<()> {
        const ZEROS: &[u8] = &[0; 4096];
        let mut done = 0;
        for piece in self.pieces() {
            match piece {
                Piece::Bytes(bytes) => {
                    for part in bytes.chunks(STEP) {
                        writer.write_all(part)?;
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
        Ok(())
    }

    /// Writes the file to `path`: to a file beside it, which is synced and then takes its name. The permissions of a file
    /// that was there before are kept. Where anything fails, that file is as it was, and nothing else is left.
    ///
    /// The tree may borrow from the very file that is replaced, if that is memory-mapped: the old one's bytes stay until
    /// it is unmapped.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, |_, _| {})
    }

    /// The same, with reports of progress.
    pub fn save_with(&self, path: impl AsRef<Path>, progress: impl Progress) -> Result<()> {
        let path = path.as_ref();
        self.replace(path, progress).map_err(|error| Error::io(error, path))
    }

    fn replace(&self, path: &Path, progress: impl Progress) -> io::Result<()> {
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            // A pipe or a device: nothing to keep, nothing to rename. A folder fails here.
            return self.write(fs::OpenOptions::new().write(true).open(path)?, progress);
        }
        // A link stays a link: the file that it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mut beside = Beside::create(&path)?;
        if let Ok(old) = fs::metadata(&path) {
            beside.file.set_permissions(old.permissions())?;
        }
        self.write(io::BufWriter::with_capacity(1 << 16, &mut beside.file), progress)?;
        beside.file.sync_all()?;
        beside.take_name(&path)
    }
}

/// A new file in the same folder, so that a rename is all it takes. It is removed unless it took the name.
struct Beside {
    file: fs::File,
    path: PathBuf,
    named: bool,
}

impl Beside {
    fn create(path: &Path) -> io::Result<Self> {
        let process = std::process::id();
        for attempt in 0..1000 {
            let path = path.with_file_name(std::format!(".executorch-format-{process}-{attempt}.tmp"));
            match fs::File::create_new(&path) {
                Ok(file) => return Ok(Self { file, path, named: false }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file"))
    }

    fn take_name(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.named = true;
        sync_folder(path);
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.named {
            // The error that led here is the one to tell.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the rename last. The file is the new one either way, so a folder that cannot be synced is no failure.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}
