//! Files that exist already under the names of outputs: which of them a command refuses to replace.

use crate::failure::Failure;
use crate::open::is_mapped;
use executorch_format::{ErrorKind as FileError, Image, PROBE_SIZE, probe};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

/// Writes the content of a file. May be called several times.
pub type Content<'t> = dyn Fn(&mut dyn Write) -> io::Result<()> + 't;

/// Fails if a file exists under a name that the command chose, unless files may be overwritten, or an earlier run, which was perhaps
/// interrupted, left the same content.
pub fn refuse_existing(overwrite: bool, file: &Path, content: &Content<'_>) -> Result<(), Failure> {
    refuse_mapped(file)?;
    if overwrite || !exists(file) || has_content(file, content) {
        return Ok(());
    }
    let error = io::Error::new(ErrorKind::AlreadyExists, "it exists: add --overwrite to replace it");
    Err(Failure::Unwritable { file: file.to_owned(), error })
}

/// Fails like [`refuse_existing`], for the images of files.
pub fn refuse_existing_images<'p>(
    overwrite: bool,
    files: impl Iterator<Item = (&'p Path, &'p Image<'p>)>,
) -> Result<(), Failure> {
    for (file, image) in files {
        refuse_existing(overwrite, file, &|out| Ok(image.write_to(out)?))?;
    }
    Ok(())
}

/// Returns `true` if there is a file of any kind, also a dangling link.
pub fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

/// Returns `true` if a regular file has exactly this content.
pub fn has_content(file: &Path, content: &Content<'_>) -> bool {
    if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let Ok(file) = File::open(file) else { return false };
    let mut compare = BufWriter::with_capacity(1 << 16, Compare { file: BufReader::new(file) });
    let is_start = content(&mut compare).and_then(|()| compare.flush()).is_ok();
    is_start && compare.get_mut().file.read(&mut [0]).is_ok_and(|size| size == 0)
}

/// A writer that fails if a file has other bytes.
struct Compare {
    file: BufReader<File>,
}

impl Write for Compare {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut found = vec![0; bytes.len()];
        self.file.read_exact(&mut found)?;
        if found == bytes { Ok(bytes.len()) } else { Err(io::Error::other("other content")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails if a file exists under a name that the command chose, unless the command wrote it: its first bytes then contain `mark`.
pub fn refuse_foreign(file: &Path, mark: &str) -> Result<(), Failure> {
    const HEAD: u64 = 4 << 10;
    refuse_mapped(file)?;
    match head(file, HEAD) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(head) if head.windows(mark.len()).any(|part| part == mark.as_bytes()) => Ok(()),
        _ => Err(Failure::exists(file)),
    }
}

/// Fails if a file of another kind would replace a model, such as the input itself, or a mapped file.
pub fn refuse_model(output: &Path) -> Result<(), Failure> {
    refuse_mapped(output)?;
    // A pipe or a device is not replaced, and reading it may take bytes meant for another process.
    let is_model = |head: Vec<u8>| match probe(&head) {
        Ok(_) => true,
        // A file with a damaged header is a model too.
        Err(error) => !matches!(error.kind(), FileError::Foreign { .. } | FileError::Truncated { .. }),
    };
    if !output.is_file() || !head(output, PROBE_SIZE as u64).is_ok_and(is_model) {
        return Ok(());
    }
    let error = io::Error::new(ErrorKind::AlreadyExists, "it is a model and would be overwritten: name another file");
    Err(Failure::Unwritable { file: output.to_owned(), error })
}

/// Fails if this process has the file mapped: it is an input, and Windows cannot replace it.
pub fn refuse_mapped(output: &Path) -> Result<(), Failure> {
    if !is_mapped(output) {
        return Ok(());
    }
    let error = io::Error::other("it is being read, and cannot be replaced: name another file");
    Err(Failure::Unwritable { file: output.to_owned(), error })
}

/// Reads the first bytes of a file.
fn head(file: &Path, size: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    fs::File::open(file)?.take(size).read_to_end(&mut head)?;
    Ok(head)
}
