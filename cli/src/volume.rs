//! The limit on what a run of the command writes: in a small file, many parts can share bytes that would be written once for each of them.

use crate::failure::Failure;
use executorch_format::Image;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The bytes of all files that were opened, and of all that were written. Jobs on several threads share them, hence the atomic types.
#[derive(Default)]
pub struct Volume {
    unlimited: bool,
    read: AtomicU64,
    written: AtomicU64,
}

impl Volume {
    /// Creates the limit of a run that has read nothing yet; none if `--any-size` was given.
    pub fn new(unlimited: bool) -> Self {
        Self { unlimited, ..Self::default() }
    }

    /// Adds the size of a file that was opened.
    pub fn add_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Relaxed);
    }

    /// Adds the size of a file, or of files that belong together, before any of it is written. Fails if that is more than the limit.
    pub fn write(&self, file: &Path, bytes: u64) -> Result<(), Failure> {
        let all = self.written.fetch_add(bytes, Relaxed).saturating_add(bytes);
        let read = self.read.load(Relaxed);
        let most = Image::max_size(read);
        if self.unlimited || all <= most {
            return Ok(());
        }
        let fault = format!(
            "{all} bytes would be written for the {read} bytes that were read, since parts that share bytes are written separately: the limit is {most} (64 MiB plus 32 times what was read); add --any-size to write them"
        );
        Err(Failure::Unwritable { file: file.to_owned(), error: io::Error::other(fault) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_with_what_was_read_and_can_be_lifted() {
        let mut volume = Volume::default();
        let write = |volume: &Volume, bytes| volume.write(Path::new("out"), bytes).is_ok();
        assert!(write(&volume, 64 << 20) && !write(&volume, 1));
        volume.add_read(1);
        assert!(write(&volume, 31) && !write(&volume, 1));
        volume.unlimited = true;
        assert!(write(&volume, u64::MAX));
    }
}
