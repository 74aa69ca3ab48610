//! Writing to any writer, or to a path.

use super::image::{Image, Piece};
use crate::error::{Error, Result};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Receives progress while a file is written.
pub trait Progress {
    /// `done` bytes of `total` are written.
    fn progress(&mut self, done: u64, total: u64);
}

impl<F: FnMut(u64, u64)> Progress for F {
    fn progress(&mut self, done: u64, total: u64) {
        self(done, total);
    }
}

/// How many bytes are written between two progress reports.
const STEP: usize = 8 << 20;

impl Image<'_> {
    /// Writes the file, from start to end. Only the metadata takes memory in addition to the tree.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io) if `writer` fails.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        self.write_with(writer, |_, _| {})
    }

    /// [`write_to`](Self::write_to) with progress reports.
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

    /// Writes the file to `path`: to a temporary file in the same folder, which is synced and then renamed. The permissions of an
    /// existing file are kept. If anything fails, the existing file is unchanged and the temporary file is removed.
    ///
    /// The tree may borrow from a memory map of the file that is replaced: the old bytes stay valid until it is unmapped.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.save_with(path, |_, _| {})
    }

    /// [`save`](Self::save) with progress reports.
    pub fn save_with(&self, path: impl AsRef<Path>, progress: impl Progress) -> Result<()> {
        let path = path.as_ref();
        self.replace(path, progress).map_err(|error| Error::io(error, path))
    }

    fn replace(&self, path: &Path, progress: impl Progress) -> io::Result<()> {
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            // A pipe or a device is not replaced. A folder cannot be opened.
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

/// A temporary file in the same folder, so that it can be renamed. If it was not renamed, it is removed when dropped.
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
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the rename durable. The file is already replaced, so a folder that cannot be synced is not an error.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}
