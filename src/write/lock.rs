//! Locks on files that are replaced.
//!
//! A rename replaces a file's inode, so a lock on the file itself would not exclude the next writer. The lock is on another file beside it,
//! which exists only while a lock is held or awaited.

use super::save::{is_temporary, replaced_path};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{format, io, thread};

/// Exclusive access to a file for a program that reads it, changes it and replaces it.
///
/// [`Image::save`](crate::Image::save) and [`Prepared::commit`](crate::Prepared::commit) hold this lock while they replace a file, so a
/// file does not change while a program holds the lock: other savers wait. Commit the change with
/// [`Prepared::commit_locked`](crate::Prepared::commit_locked), since `save` would wait for the lock too. Programs that do not use
/// this crate are not affected.
///
/// The lock ends when it is dropped, and when its process ends, even if it is killed: a lock file (`.executorch-format-….lock`) that is left behind
/// blocks nobody. On a file system without locks, nothing is locked, see [`is_exclusive`](Self::is_exclusive). Pipes and devices are not replaced,
/// and need no lock.
///
/// ```
/// # fn main() -> executorch_format::Result<()> {
/// use executorch_format::{FileLock, Pte};
///
/// # let path = std::env::temp_dir().join("executorch-format-locked.pte");
/// # std::fs::copy("tests/data/1.5.1/add_mul/add_mul.pte", &path)?;
/// let lock = FileLock::acquire(&path)?;
/// let file = std::fs::read(&path)?;
/// let mut pte = Pte::parse(&file)?;
/// pte.program.execution_plan.as_mut().unwrap()[0].name = Some("main".into());
/// pte.image()?.prepare(&path, |_, _| {})?.commit_locked(&lock)?;
/// # drop(lock);
/// # std::fs::remove_file(path)?;
/// # Ok(())
/// # }
/// ```
pub struct FileLock {
    /// The canonical path of the locked file.
    target: PathBuf,
    /// `None` if there is nothing to lock.
    held: Option<Held>,
}

/// The longest time to wait for a lock.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

/// The longest time for which another program, such as a virus scanner, may have the lock file open.
const MAX_DENIED: Duration = Duration::from_secs(2);

/// The longest time between two attempts to lock.
const MAX_PAUSE: Duration = Duration::from_millis(50);

impl FileLock {
    /// Waits for the lock of a file, which need not exist, for up to 60 seconds.
    ///
    /// Fails with [`ErrorKind::Io`](crate::ErrorKind::Io), which names the path, if another process holds the lock for longer, or if files
    /// cannot be created in the folder.
    pub fn acquire(path: impl AsRef<Path>) -> Result<Self> {
        Self::acquire_with(path, |_| true)
    }

    /// Waits for the lock like [`acquire`](Self::acquire), and calls `go_on` before each further attempt, with the time waited so far. Gives up
    /// if it returns `false`.
    pub fn acquire_with(path: impl AsRef<Path>, go_on: impl FnMut(Duration) -> bool) -> Result<Self> {
        let path = path.as_ref();
        Self::wait(path, MAX_WAIT, go_on).map_err(|error| Error::io(error, path))
    }

    fn wait(path: &Path, limit: Duration, mut go_on: impl FnMut(Duration) -> bool) -> io::Result<Self> {
        let Some(target) = replaced_path(path)? else { return Ok(Self { target: path.to_path_buf(), held: None }) };
        let lock = lock_path(&target);
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            match Held::attempt(&lock) {
                Ok(Attempt::Held(held)) => return Ok(Self { target, held: Some(held) }),
                Ok(Attempt::Unsupported) => return Ok(Self { target, held: None }),
                Ok(Attempt::Busy) => {}
                Err(error) if is_temporary(&error) && start.elapsed() < MAX_DENIED => {}
                Err(error) => return Err(error),
            }
            let waited = start.elapsed();
            if waited >= limit {
                let fault = format!("another process has been changing it for {} s: try again later", limit.as_secs());
                return Err(io::Error::new(io::ErrorKind::WouldBlock, fault));
            }
            if !go_on(waited) {
                let fault = "interrupted while another process was changing it";
                return Err(io::Error::new(io::ErrorKind::Interrupted, fault));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Returns `true` if other processes are excluded; `false` for a pipe or a device, and on a file system without locks.
    pub fn is_exclusive(&self) -> bool {
        self.held.is_some()
    }

    /// Returns `true` if this is the lock of the file with this canonical path.
    pub(super) fn is_of(&self, target: &Path) -> bool {
        self.target == target
    }
}

/// Returns the path of a file's lock file. Its name has a fixed length, since that of the file may already have the longest that is possible.
fn lock_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    // FNV-1a, which unlike the hash of `std` is the same in each version.
    let hash = name
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    target.with_file_name(format!(".executorch-format-{hash:016x}.lock"))
}

/// The result of one attempt to lock.
#[cfg_attr(
    not(any(windows, all(unix, not(target_os = "solaris")))),
    expect(dead_code, reason = "a system without locks returns only the last")
)]
enum Attempt {
    Held(Held),
    /// Another process or thread holds the lock.
    Busy,
    /// The file system, or the operating system, has no locks.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows opens a file for one process on every file system"))]
    Unsupported,
}

#[cfg(all(unix, not(target_os = "solaris")))]
use unix::Held;

#[cfg(all(unix, not(target_os = "solaris")))]
mod unix {
    use super::Attempt;
    use rustix::fs::{FlockOperation, OFlags, flock};
    use rustix::io::Errno;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::{Path, PathBuf};
    use std::{fs, io};

    /// An open and locked lock file.
    pub(super) struct Held {
        path: PathBuf,
        _file: fs::File,
    }

    impl Held {
        pub(super) fn attempt(path: &Path) -> io::Result<Attempt> {
            let Some(file) = open(path)? else { return Ok(Attempt::Busy) };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(Attempt::Busy),
                Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => {
                    let _ = fs::remove_file(path);
                    return Ok(Attempt::Unsupported);
                }
                Err(error) => return Err(error.into()),
            }
            // The previous holder removed the file between opening and locking: others lock a new one.
            let ours = file.metadata()?;
            let is_current =
                fs::symlink_metadata(path).is_ok_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
            Ok(if is_current { Attempt::Held(Self { path: path.to_path_buf(), _file: file }) } else { Attempt::Busy })
        }
    }

    /// Opens the lock file, or creates it. Returns `None` if others created or removed it in the meantime. Links are not followed, and a pipe
    /// of that name does not block.
    fn open(path: &Path) -> io::Result<Option<fs::File>> {
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        // Reading suffices for a lock, and another user may not write to the file.
        match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map(Some),
        }
        match fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o644).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            created => created.map(Some),
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            // Removed before it is unlocked, which happens when it is closed. If that fails, the file blocks nobody.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(windows)]
use windows::Held;

#[cfg(windows)]
mod windows {
    use super::Attempt;
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::Path;
    use std::{fs, io};

    /// A lock file that no other process can open, and that the system removes when it is closed.
    pub(super) struct Held(#[expect(dead_code, reason = "it is open until it is dropped")] fs::File);

    impl Held {
        pub(super) fn attempt(path: &Path) -> io::Result<Attempt> {
            const GENERIC_WRITE: u32 = 0x4000_0000;
            const DELETE: u32 = 0x0001_0000;
            const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
            const SHARING_VIOLATION: i32 = 32;
            let mut options = fs::OpenOptions::new();
            options.create(true).truncate(false).write(true).access_mode(GENERIC_WRITE | DELETE).share_mode(0);
            match options.custom_flags(FILE_FLAG_DELETE_ON_CLOSE).open(path) {
                Ok(file) => Ok(Attempt::Held(Self(file))),
                Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(Attempt::Busy),
                Err(error) => Err(error),
            }
        }
    }
}

#[cfg(not(any(windows, all(unix, not(target_os = "solaris")))))]
enum Held {}

#[cfg(not(any(windows, all(unix, not(target_os = "solaris")))))]
impl Held {
    fn attempt(_: &Path) -> io::Result<Attempt> {
        Ok(Attempt::Unsupported)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use std::fs;
    use std::string::ToString;

    #[test]
    fn a_lock_that_stays_busy_is_refused_after_the_limit() {
        let path = std::env::temp_dir().join(format!("executorch-format-{}-busy.pte", std::process::id()));
        let lock = FileLock::acquire(&path).unwrap();
        assert!(lock.is_exclusive());
        let mut attempts = 0;
        let busy = FileLock::wait(&path, Duration::from_millis(30), |_| {
            attempts += 1;
            true
        });
        let error = busy.err().unwrap();
        assert_eq!((error.kind(), attempts > 2), (io::ErrorKind::WouldBlock, true));
        assert!(error.to_string().contains("another process has been changing it"), "{error}");
        let error = FileLock::wait(&path, MAX_WAIT, |_| false).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        drop(lock);
        drop(FileLock::wait(&path, Duration::ZERO, |_| false).unwrap());
        assert!(!fs::exists(lock_path(&path)).unwrap());
    }

    #[test]
    fn names_of_lock_files_stay_the_same() {
        let lock = lock_path(Path::new("models/model.pte"));
        assert_eq!(lock, Path::new("models/.executorch-format-7bf63c613c8e75ef.lock"));
    }
}
