//! The folder of a catalogue: its contents, and the replacement of old tables by new ones.
//!
//! Only files written by a run are replaced or removed. Each folder of a run has a marker, the metadata of each part identifies it,
//! and files are removed one by one.

use super::part::{self, VERSION};
use super::run::Report;
use super::tables::{FORMAT, TABLES};
use crate::error::{Error, Result};
use crate::stores::is_url;
use std::fs::{self, DirEntry, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The folder of a catalogue, locked for a run.
pub struct Output {
    folder: PathBuf,
    /// The folders of unfinished runs with their numbers, newest run first.
    unfinished: Vec<(u64, PathBuf)>,
    _lock: File,
}

/// The prefix of the names of unfinished runs' folders. The number of the run follows it.
const UNFINISHED: &str = ".unfinished-";

/// The file that marks a folder as written by a run. Engines skip names that start with a dot.
const MARKER: &str = ".executorch-format-catalog";

/// The file about the catalogue.
const ABOUT: &str = "catalog.json";

/// Fails if a file or folder to be read is inside the folder to be written.
pub fn refuse_inside(input: &Path, out: &Path) -> Result<()> {
    // A path that does not exist is not inside; its own error is reported later.
    let (Ok(input_path), Ok(out_path)) = (fs::canonicalize(input), fs::canonicalize(out)) else { return Ok(()) };
    if !input_path.starts_with(&out_path) {
        return Ok(());
    }
    let (input, out) = (input.display(), out.display());
    Err(Error::Failed(format!(
        "{input} is inside the output folder {out}: choose an output folder outside of the inputs"
    )))
}

impl Output {
    /// Creates or opens a folder, and locks it. Fails if another run has the lock, or if a run would replace something in the folder that
    /// no earlier run wrote.
    pub fn open(folder: &Path) -> Result<Self> {
        if folder.to_str().is_some_and(is_url) {
            return Err(Error::Url("a catalogue is written into a local folder: expected a path, found a URL".into()));
        }
        fs::create_dir_all(folder)?;
        let _lock = lock(folder)?;
        refuse_foreign(folder)?;
        Ok(Self { unfinished: unfinished(folder)?, folder: folder.to_owned(), _lock })
    }

    /// Returns the folders that may contain parts of earlier runs.
    pub fn roots(&self) -> Vec<PathBuf> {
        self.unfinished.iter().map(|(_, path)| path).chain([&self.folder]).cloned().collect()
    }

    /// Creates the folder of the next run, with a folder for each table. Also returns the number of the run.
    pub fn start(&self) -> Result<(u64, PathBuf)> {
        let mut run =
            self.unfinished.iter().map(|(run, _)| *run).chain(last_run(&self.folder)).max().unwrap_or_default();
        let folder = loop {
            run += 1;
            let folder = self.folder.join(format!("{UNFINISHED}{run:06}"));
            match fs::create_dir(&folder) {
                Ok(()) => break folder,
                // The folder has no marker: it was not created by a run, or that run was killed before it wrote the marker.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
        };
        let mark = |folder: &Path| fs::write(folder.join(MARKER), marker());
        if let Err(error) = mark(&folder) {
            // Without a marker, the next run would not remove it.
            let _ = remove_marked(&folder);
            return Err(error.into());
        }
        for table in TABLES {
            let folder = folder.join(table.name);
            fs::create_dir(&folder)?;
            mark(&folder)?;
        }
        Ok((run, folder))
    }

    /// Replaces the old tables by those of a run, and removes unfinished runs. Names of parts contain the number of their run, so that old
    /// and new names differ.
    pub fn publish(&self, run_folder: &Path, run: u64, report: &Report) -> Result<()> {
        // Checked again, since a run may take hours.
        refuse_foreign(&self.folder)?;
        for table in TABLES {
            let (new, place) = (run_folder.join(table.name), self.folder.join(table.name));
            if exists(&place) {
                exchange(&new, &place, &run_folder.join(format!("{}.old", table.name)))?;
            } else {
                fs::rename(&new, &place)?;
            }
        }
        let about = serde_json::json!({
            "format": FORMAT,
            "version": env!("CARGO_PKG_VERSION"),
            "run": run,
            "files": report.files,
            "tables": TABLES.iter().map(|table| table.name).collect::<Vec<_>>(),
        });
        let unfinished = run_folder.join(ABOUT);
        fs::write(&unfinished, format!("{about:#}\n"))?;
        fs::rename(&unfinished, self.folder.join(ABOUT))?;
        let runs = self.unfinished.iter().map(|(_, folder)| folder.as_path());
        runs.chain([run_folder]).try_for_each(remove_run)
    }
}

/// Removes the files that a run wrote into its folder, and then the folder. Fails if the folder has other files, which are kept.
pub fn remove_run(folder: &Path) -> Result<()> {
    for table in TABLES {
        for folder in [folder.join(table.name), folder.join(format!("{}.old", table.name))] {
            if exists(&folder) {
                for entry in fs::read_dir(&folder)? {
                    let entry = entry?;
                    if is_part(&entry) {
                        fs::remove_file(entry.path())?;
                    }
                }
                remove_marked(&folder)?;
            }
        }
    }
    let description = folder.join(ABOUT);
    if is_about(&description) || was_being_described(&description) {
        fs::remove_file(description)?;
    }
    remove_marked(folder)
}

/// Removes a folder that contains only a marker, or the start of one.
fn remove_marked(folder: &Path) -> Result<()> {
    let others = fs::read_dir(folder)?.filter(|entry| !entry.as_ref().is_ok_and(|entry| entry.file_name() == MARKER));
    if (is_marked(folder) || was_being_marked(folder)) && others.count() == 0 {
        let marker = folder.join(MARKER);
        if exists(&marker) {
            fs::remove_file(marker)?;
        }
        return Ok(fs::remove_dir(folder)?);
    }
    Err(Error::Failed(format!("{} has files that `pte catalog` did not write: they were kept", folder.display())))
}

/// Fails if a run would replace something that no earlier run wrote.
fn refuse_foreign(out: &Path) -> Result<()> {
    let refuse = |path: &Path| {
        let fault = "was not written by `pte catalog`, and is not replaced: move it, or choose another output folder";
        Err(Error::Failed(format!("{} {fault}", path.display())))
    };
    let about = out.join(ABOUT);
    if exists(&about) && !is_about(&about) {
        return refuse(&about);
    }
    for table in TABLES {
        let folder = out.join(table.name);
        if !exists(&folder) {
            continue;
        }
        if !is_marked(&folder) {
            return refuse(&folder);
        }
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_name() != MARKER && !is_part(&entry) {
                return refuse(&entry.path());
            }
        }
    }
    Ok(())
}

/// Returns `true` if a run created a folder. Links do not count.
fn is_marked(folder: &Path) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let marker = if is_folder { fs::read_to_string(folder.join(MARKER)).ok() } else { None };
    let format = marker.and_then(|text| text.strip_prefix(VERSION)?.trim().parse::<u32>().ok());
    format.is_some_and(|format| format <= FORMAT)
}

/// Returns `true` if a run was killed, or the disk was full, before the run had marked a folder. Links do not count.
fn was_being_marked(folder: &Path) -> bool {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    is_folder
        && fs::read(folder.join(MARKER)).map_or_else(
            |error| error.kind() == io::ErrorKind::NotFound,
            |start| marker().as_bytes().starts_with(&start),
        )
}

/// Returns the text of a marker.
fn marker() -> String {
    format!("{VERSION} {FORMAT}\n")
}

/// Returns `true` if a file in a run's own folder was written by the run: a part, or the start of one.
fn is_part(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
    let Some(name) = name.to_str().filter(|_| is_file) else { return false };
    let unfinished = name.strip_prefix('.').and_then(|name| name.strip_suffix(".unfinished"));
    let numbers = unfinished.unwrap_or(name).strip_prefix("part-").and_then(|name| name.strip_suffix(".parquet"));
    if !numbers.is_some_and(|numbers| numbers.chars().all(|c| c.is_ascii_digit() || c == '-')) {
        return false;
    }
    match unfinished {
        Some(_) => File::open(entry.path()).is_ok_and(starts_as_parquet),
        None => part::metadata(&entry.path()).is_some_and(|pairs| pairs.iter().any(|pair| pair.key == VERSION)),
    }
}

/// Returns `true` if a file begins like a Parquet file; it may be empty.
fn starts_as_parquet(file: File) -> bool {
    let mut start = Vec::new();
    file.take(4).read_to_end(&mut start).is_ok() && b"PAR1".starts_with(&start)
}

/// Returns `true` if a file describes a catalogue.
fn is_about(path: &Path) -> bool {
    let about = about(path).filter(|_| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()));
    about.is_some_and(|about| about.get("run").is_some() && about.get("tables").is_some_and(|tables| tables.is_array()))
}

/// Returns `true` if a run was killed, or the disk was full, while it wrote a description into its own folder.
fn was_being_described(path: &Path) -> bool {
    let mut start = Vec::new();
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let read = is_file && File::open(path).is_ok_and(|file| file.take(2).read_to_end(&mut start).is_ok());
    read && b"{\n".starts_with(&start)
}

fn about(path: &Path) -> Option<serde_json::Value> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Returns the number of the last finished run.
fn last_run(out: &Path) -> Option<u64> {
    about(&out.join(ABOUT))?.get("run")?.as_u64()
}

/// Returns the folders of unfinished runs, newest run first.
fn unfinished(out: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(out)? {
        let entry = entry?;
        let name = entry.file_name();
        let run = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED)?.parse().ok());
        folders.extend(run.filter(|_| is_marked(&entry.path())).map(|run| (run, entry.path())));
    }
    folders.sort_by(|one, other| other.cmp(one));
    Ok(folders)
}

/// Returns `true` if anything exists at a path, even a broken link.
fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Exchanges two folders, atomically if the system supports it.
fn exchange(new: &Path, place: &Path, aside: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    fs::rename(place, aside)?;
    fs::rename(new, place)
}

/// Locks a folder, so that only one run at a time writes a catalogue into it. An existing lock file is not changed.
fn lock(out: &Path) -> Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(out.join(".lock"))?;
    #[cfg(unix)]
    if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(Error::Failed("another run writes this catalogue".into()));
    }
    Ok(file)
}
