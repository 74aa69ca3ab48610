//! Saving to a path: writes the whole file, or nothing.

use executorch_format::{Error, ErrorKind, NewEntry, Ptd, PtdOptions, Pte};
use executorch_format_support::fixtures::fixture;
use std::cell::Cell;
use std::io::{self, Seek, Write};
use std::path::PathBuf;

/// A temporary folder, removed at the end.
struct TempFolder(PathBuf);

impl TempFolder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("executorch-format-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A writer that fails after this many bytes.
struct Failing(usize);

impl Write for Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let written = bytes.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the system's kind of error.
fn kind(failed: executorch_format::Result<()>) -> io::ErrorKind {
    io::Error::from(failed.unwrap_err()).kind()
}

#[test]
fn a_writer_that_fails_after_any_byte_is_reported() {
    let file = fixture("1.5.1/linear_xnnpack/linear_xnnpack.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let image = pte.image().unwrap();
    for bytes in 0..file.bytes().len() {
        assert_eq!(kind(image.write_to(Failing(bytes))), io::ErrorKind::StorageFull, "after {bytes} bytes");
    }
    image.write_to(Failing(file.bytes().len())).unwrap();
}

#[test]
fn progress_ends_with_the_whole_file() {
    let blob = vec![7; 20 << 20];
    let ptd = Ptd::build([NewEntry::blob("blob", blob)], &PtdOptions::default()).unwrap();
    let image = ptd.image().unwrap();
    let (last, reports) = (Cell::new(0), Cell::new(0));
    let progress = |done, total| {
        assert!(done > last.get() && done <= total && total == image.size());
        last.set(done);
        reports.set(reports.get() + 1);
    };
    image.write_with(io::sink(), progress).unwrap();
    assert_eq!(last.get(), image.size());
    assert!(reports.get() > 2);
}

#[test]
fn a_file_is_replaced_and_keeps_its_permissions() {
    let folder = TempFolder::new("replace");
    let path = folder.0.join("model.pte");
    std::fs::write(&path, "old").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    }
    let file = fixture("1.5.1/linear/linear.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    pte.image().unwrap().save(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == file.bytes());
    assert_eq!(folder.files(), ["model.pte"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

/// Root may set any owner. Extended attributes need a file system that has them.
#[cfg(all(target_os = "linux", feature = "system"))]
#[test]
fn a_replaced_file_keeps_its_owner_and_extended_attributes() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = TempFolder::new("properties");
    let path = folder.0.join("model.pte");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let is_root = chown(&path, Some(1234), Some(5678)).is_ok();
    let has_attributes = setxattr(&path, "user.origin", b"lab", XattrFlags::empty()).is_ok();
    // Version 2: the owner rw, user 1000 r, the group r, mask r, others nothing.
    let list: Vec<u8> =
        [(1_u16, 6_u16, u32::MAX), (2, 4, 1000), (4, 4, u32::MAX), (16, 4, u32::MAX), (32, 0, u32::MAX)]
            .iter()
            .flat_map(|(tag, rights, id)| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat())
            .collect();
    let list = [&2_u32.to_le_bytes()[..], &list].concat();
    let has_list = setxattr(&path, "system.posix_acl_access", &list, XattrFlags::empty()).is_ok();
    assert!(has_attributes && has_list, "the folder of temporary files has no extended attributes");
    let file = fixture("1.5.1/linear/linear.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let prepared = pte.image().unwrap().prepare(&path, |_, _| {}).unwrap();
    assert_eq!(prepared.lost(), [""; 0]);
    prepared.commit().unwrap();
    let new = std::fs::metadata(&path).unwrap();
    assert_eq!(new.mode() & 0o7777, 0o640);
    if is_root {
        assert_eq!((new.uid(), new.gid()), (1234, 5678));
    }
    let value = |name| {
        let mut value = [0; 100];
        getxattr(&path, name, &mut value[..]).map(|size| value[..size].to_vec()).unwrap()
    };
    assert_eq!(value("user.origin"), b"lab");
    assert_eq!(value("system.posix_acl_access"), list);
}

#[cfg(unix)]
#[test]
fn a_broken_hard_link_is_listed_and_a_dangling_link_is_an_error() {
    let folder = TempFolder::new("links");
    let path = folder.0.join("model.pte");
    std::fs::write(&path, "old").unwrap();
    std::fs::hard_link(&path, folder.0.join("other.pte")).unwrap();
    let file = fixture("1.5.1/linear/linear.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let prepared = pte.image().unwrap().prepare(&path, |_, _| {}).unwrap();
    assert!(prepared.lost().iter().any(|lost| lost.contains("hard links")), "{:?}", prepared.lost());
    drop(prepared);
    let link = folder.0.join("link.pte");
    std::os::unix::fs::symlink("missing.pte", &link).unwrap();
    assert_eq!(kind(pte.image().unwrap().save(&link)), io::ErrorKind::NotFound);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[cfg(feature = "system")]
#[test]
fn a_save_waits_for_the_lock_of_the_file_and_removes_its_own() {
    use executorch_format::FileLock;
    let folder = TempFolder::new("lock");
    let path = folder.0.join("model.pte");
    let file = fixture("1.5.1/linear/linear.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let lock = FileLock::acquire(&path).unwrap();
    std::thread::scope(|scope| {
        let saved = scope.spawn(|| pte.image().unwrap().save(&path));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert!(!path.exists());
        drop(lock);
        saved.join().unwrap().unwrap();
    });
    assert_eq!(folder.files(), ["model.pte"]);
    let other = FileLock::acquire(folder.0.join("other.pte")).unwrap();
    let prepared = pte.image().unwrap().prepare(&path, |_, _| {}).unwrap();
    assert_eq!(kind(prepared.commit_locked(&other)), io::ErrorKind::InvalidInput);
}

#[cfg(feature = "system")]
#[test]
fn waiting_for_a_lock_ends_when_the_caller_gives_up() {
    use executorch_format::FileLock;
    let folder = TempFolder::new("give-up");
    let path = folder.0.join("model.pte");
    let _held = FileLock::acquire(&path).unwrap();
    let mut attempts = 0;
    let waited = FileLock::acquire_with(&path, |_| {
        attempts += 1;
        attempts < 3
    });
    assert_eq!((kind(waited.map(drop)), attempts), (io::ErrorKind::Interrupted, 3));
}

/// Windows limits paths to 260 characters, unless they are absolute and in a special form.
#[test]
fn a_file_with_a_long_path_is_saved_and_replaced() {
    let folder = TempFolder::new("long");
    let long = (0..10).fold(folder.0.clone(), |path, _| path.join("x".repeat(40)));
    std::fs::create_dir_all(&long).unwrap();
    let path = long.join("model.pte");
    assert!(path.as_os_str().len() > 400);
    let file = fixture("1.5.1/add/add.pte");
    let image = Pte::parse(file.bytes()).unwrap();
    let image = image.image().unwrap();
    for _ in 0..2 {
        image.save(&path).unwrap();
        assert!(std::fs::read(&path).unwrap() == file.bytes());
    }
    assert_eq!(std::fs::read_dir(long).unwrap().count(), 1);
}

/// On other systems, the permissions of the folder decide whether a file can be replaced.
#[cfg(windows)]
#[test]
fn a_read_only_file_is_refused_and_no_other_file_is_left() {
    let folder = TempFolder::new("read-only");
    let path = folder.0.join("model.pte");
    std::fs::write(&path, "old").unwrap();
    let set = |readonly| {
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(readonly);
        std::fs::set_permissions(&path, permissions).unwrap();
    };
    set(true);
    let file = fixture("1.5.1/add/add.pte");
    let image = Pte::parse(file.bytes()).unwrap();
    let image = image.image().unwrap();
    assert_eq!(kind(image.save(&path)), io::ErrorKind::PermissionDenied);
    assert_eq!((std::fs::read(&path).unwrap(), folder.files()), (b"old".to_vec(), vec!["model.pte".to_owned()]));
    set(false);
    image.save(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == file.bytes());
}

#[cfg(windows)]
#[test]
fn a_file_that_another_program_has_open_is_replaced_once_it_is_closed() {
    use std::os::windows::fs::OpenOptionsExt;

    const SHARE_READ: u32 = 1;
    let folder = TempFolder::new("in-use");
    let path = folder.0.join("model.pte");
    std::fs::write(&path, "old").unwrap();
    let file = fixture("1.5.1/add/add.pte");
    let image = Pte::parse(file.bytes()).unwrap();
    let image = image.image().unwrap();
    let user = std::fs::OpenOptions::new().read(true).share_mode(SHARE_READ).open(&path).unwrap();
    image.save(&path).unwrap_err();
    assert_eq!((std::fs::read(&path).unwrap(), folder.files()), (b"old".to_vec(), vec!["model.pte".to_owned()]));
    drop(user);
    image.save(&path).unwrap();
    assert!(std::fs::read(&path).unwrap() == file.bytes());
}

/// `NUL` is a device in every folder.
#[cfg(windows)]
#[test]
fn writing_to_a_device_creates_no_file() {
    let folder = TempFolder::new("device");
    let file = fixture("1.5.1/add/add.pte");
    let image = Pte::parse(file.bytes()).unwrap();
    let image = image.image().unwrap();
    for name in ["NUL", "nul"] {
        image.save(name).unwrap();
        image.save(folder.0.join(name)).unwrap();
    }
    assert_eq!(folder.files(), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_stays_a_link() {
    let folder = TempFolder::new("link");
    let (path, link) = (folder.0.join("model.pte"), folder.0.join("link.pte"));
    std::fs::write(&path, "old").unwrap();
    std::os::unix::fs::symlink("model.pte", &link).unwrap();
    let file = fixture("1.5.1/add/add.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    pte.image().unwrap().save(&link).unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read(&path).unwrap() == file.bytes());
}

/// `/dev/full` accepts no bytes. A folder that cannot be replaced by a file makes the last step fail.
#[cfg(target_os = "linux")]
#[test]
fn when_saving_fails_the_old_file_is_unchanged_and_no_other_file_is_left() {
    let file = fixture("1.5.1/add/add.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    let image = pte.image().unwrap();
    let full = image.save("/dev/full");
    assert!(full.as_ref().is_err_and(|error| error.to_string().contains("/dev/full")), "{full:?}");
    assert_eq!(kind(full), io::ErrorKind::StorageFull);

    let folder = TempFolder::new("fail");
    let path = folder.0.join("model.pte");
    std::fs::write(&path, "old").unwrap();
    let stop = |_, _| panic!("a progress report that panics");
    let saved = std::panic::catch_unwind(|| image.save_with(&path, stop));
    assert!(saved.is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.files(), ["model.pte"], "no other file is left");

    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir_all(path.join("inside")).unwrap();
    image.save(&path).unwrap_err();
    assert_eq!(folder.files(), ["model.pte"]);
    image.save(folder.0.join("no such folder/model.pte")).unwrap_err();
    assert_eq!(folder.files(), ["model.pte"]);
}

/// Cancels after this many reports of progress.
struct Impatient(usize);

impl executorch_format::Progress for Impatient {
    fn progress(&mut self, _: u64, _: u64) {
        self.0 = self.0.saturating_sub(1);
    }

    fn is_cancelled(&self) -> bool {
        self.0 == 0
    }
}

#[test]
fn a_cancelled_save_keeps_the_old_file_and_leaves_no_other() {
    let folder = TempFolder::new("cancelled");
    let path = folder.0.join("a.ptd");
    std::fs::write(&path, b"old").unwrap();
    let large = vec![7u8; 20 << 20];
    let ptd = Ptd::build([NewEntry::blob("large", &large)], &PtdOptions::default()).unwrap();
    let image = ptd.image().unwrap();
    for reports in [0, 1, 2, 3] {
        let failed = image.save_with(&path, Impatient(reports));
        assert_eq!(kind(failed), io::ErrorKind::Interrupted, "{reports}");
        assert_eq!(folder.files(), ["a.ptd"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
    image.save_with(&path, Impatient(usize::MAX)).unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len() as u64, image.size());
}

#[cfg(all(feature = "system", target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_file_has_no_name_before_it_is_complete() {
    use std::os::unix::fs::OpenOptionsExt;

    let folder = TempFolder::new("unnamed");
    let path = folder.0.join("a.ptd");
    let large = vec![7u8; 20 << 20];
    let ptd = Ptd::build([NewEntry::blob("large", &large)], &PtdOptions::default()).unwrap();
    let seen = Cell::new(0);
    let look = |_, _| seen.set(seen.get().max(folder.files().len()));
    ptd.image().unwrap().save_with(&path, look).unwrap();
    // Some file systems do not support files without a name (`O_TMPFILE`, with x86's number).
    let mut options = std::fs::OpenOptions::new();
    let unnamed = options.write(true).custom_flags(0o20_200_000).open(&folder.0);
    assert_eq!(seen.get(), usize::from(unnamed.is_err()));
    assert_eq!(folder.files(), ["a.ptd"]);
}

#[test]
fn a_prepared_save_changes_nothing_until_it_is_committed() {
    let folder = TempFolder::new("prepared");
    let file = fixture("1.5.1/add/add.pte");
    let image = Pte::parse(file.bytes()).unwrap();
    let image = image.image().unwrap();
    let path = folder.0.join("old.pte");
    std::fs::write(&path, "old").unwrap();
    drop(image.prepare(&path, |_, _| {}).unwrap());
    assert_eq!((std::fs::read(&path).unwrap(), folder.files()), (b"old".to_vec(), vec!["old.pte".to_owned()]));
    let prepared = image.prepare(&path, |_, _| {}).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    prepared.commit().unwrap();
    assert_eq!((std::fs::read(&path).unwrap(), folder.files()), (file.bytes().to_vec(), vec!["old.pte".to_owned()]));
}

/// Returns a `.ptd` with large tensors, written to a file and read again: the file, and its bytes in place of a map.
fn large(folder: &TempFolder) -> (std::fs::File, Vec<u8>) {
    let blobs: Vec<Vec<u8>> =
        [100_000, 70_001, 9].iter().map(|size| (0..*size).map(|byte| byte as u8).collect()).collect();
    let entries = blobs.iter().enumerate().map(|(key, bytes)| NewEntry::blob(format!("key{key}"), bytes.as_slice()));
    let path = folder.0.join("source.ptd");
    Ptd::build(entries, &PtdOptions::default()).unwrap().image().unwrap().save(&path).unwrap();
    (std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap(), std::fs::read(path).unwrap())
}

#[test]
fn bytes_copied_from_a_file_equal_those_that_would_be_written() {
    let folder = TempFolder::new("copied");
    let (file, bytes) = large(&folder);
    let mut ptd = Ptd::parse(&bytes).unwrap();
    ptd.rename(|key| Some(format!("{key}.with.a.longer.name"))).unwrap();
    let path = folder.0.join("new.ptd");
    ptd.image().unwrap().copy_from(&file, &bytes).save(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), ptd.image().unwrap().to_vec().unwrap());
    // The bytes do come from the file: changes in it are copied.
    let zeros = vec![0; bytes.len()];
    (&file).seek(io::SeekFrom::Start(0)).unwrap();
    (&file).write_all(&zeros).unwrap();
    ptd.image().unwrap().copy_from(&file, &bytes).save(&path).unwrap();
    let copied = std::fs::read(&path).unwrap();
    let entry = Ptd::parse(&copied).unwrap();
    let of = |key: usize| entry.entry_bytes(&entry.entry(key).unwrap()).unwrap().to_vec();
    assert!(of(0).iter().all(|byte| *byte == 0) && of(2) == [0, 1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_file_that_became_shorter_is_not_copied_from_and_the_old_one_stays() {
    let folder = TempFolder::new("shorter");
    let (file, bytes) = large(&folder);
    let path = folder.0.join("old.ptd");
    std::fs::write(&path, "old").unwrap();
    file.set_len(bytes.len() as u64 / 2).unwrap();
    let ptd = Ptd::parse(&bytes).unwrap();
    let saved = ptd.image().unwrap().copy_from(&file, &bytes).save(&path);
    assert_eq!(kind(saved), io::ErrorKind::UnexpectedEof);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(folder.files(), ["old.ptd", "source.ptd"]);
}

/// Returns the error of a save into a folder that does not exist.
fn nowhere_to_save() -> Error {
    let folder = TempFolder::new("nowhere");
    let file = fixture("1.5.1/add_mul/add_mul.pte");
    let pte = Pte::parse(file.bytes()).unwrap();
    pte.image().unwrap().save(folder.0.join("nowhere").join("file.pte")).unwrap_err()
}

/// Returns the error for a truncated file.
fn cut_off() -> Error {
    Pte::parse(&fixture("1.5.1/add_mul/add_mul.pte").bytes()[..700]).unwrap_err()
}

#[test]
fn an_error_of_the_system_is_said_once_with_its_code_and_the_file() {
    let error = nowhere_to_save();
    let expected = io::Error::from_raw_os_error(std::fs::canonicalize("nowhere").unwrap_err().raw_os_error().unwrap());
    let ErrorKind::Io { kind, message, code, file } = error.kind() else { panic!("{error}") };
    assert_eq!((*kind, *code, message), (expected.kind(), expected.raw_os_error(), &expected.to_string()));
    assert!(error.to_string().ends_with(&format!("{}: {expected}", file.as_ref().unwrap().display())), "{error}");
    assert!([&error, &cut_off()].iter().all(|error| std::error::Error::source(error).is_none()));
}

#[test]
fn an_error_as_json_has_its_rule_place_and_message() {
    let value = serde_json::to_value(nowhere_to_save()).unwrap();
    assert_eq!(
        (&value["rule"], &value["path"], &value["offset"]),
        (&"io".into(), &"".into(), &serde_json::Value::Null)
    );

    let value = serde_json::to_value(cut_off()).unwrap();
    assert_eq!((&value["rule"], &value["offset"]), (&"truncated".into(), &700.into()));
    assert!(value["message"].as_str().unwrap().contains("has only 700 bytes"), "{value}");
}
