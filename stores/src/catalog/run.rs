//! Writes a catalogue: lists files, reads them, and publishes the parts when all of them are written.

use super::earlier::{Known, Parts};
use super::output::{self, Output};
use super::part::{self, Entry, failed};
use super::rows::{self, History};
use super::tables::Rows;
use crate::error::{Error, Result};
use crate::stores::{ListedFile, Location, Spot, Stores, is_url};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt, stream};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// Options for a catalogue.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The number of files to read at a time.
    pub jobs: usize,
    /// `true` to hash blobs, which reads all of their bytes.
    pub hash: bool,
    /// The maximum number of files in a part.
    pub part_files: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { jobs: 64, hash: false, part_files: 4096 }
    }
}

impl Options {
    /// Sets [`jobs`](Self::jobs).
    pub fn with_jobs(self, jobs: usize) -> Self {
        Self { jobs, ..self }
    }

    /// Sets [`hash`](Self::hash).
    pub fn with_hash(self, hash: bool) -> Self {
        Self { hash, ..self }
    }

    /// Sets [`part_files`](Self::part_files).
    pub fn with_part_files(self, part_files: usize) -> Self {
        Self { part_files, ..self }
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of files found so far.
    pub found: u64,
    /// `true` if no more files will be found.
    pub all_found: bool,
    /// The number of files whose rows are known.
    pub done: u64,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The number of files with a row.
    pub files: u64,
    /// The number of unchanged files, which were not read again.
    pub unchanged: u64,
}

/// A part is closed when its rows take this many bytes of memory,
const PART_WEIGHT: usize = 24 << 20;

/// or after this time, which limits the work that is lost if the process ends.
const PART_TIME: Duration = Duration::from_secs(30);

/// The approximate memory that the rows of an unchanged file take, in bytes.
const UNCHANGED_WEIGHT: usize = 2 << 10;

/// The maximum number of files listed before they are read.
const AHEAD: usize = 1 << 16;

/// The maximum memory for files that are read whole, in MiB.
const MEMORY: usize = 128;

static IN_MEMORY: Semaphore = Semaphore::const_new(MEMORY);

/// Writes a catalogue of the model files with these names or below these prefixes, by URL or path, into a local folder.
///
/// Files that did not change since the last run are not read again, even if that run was killed. The tables of the last run stay
/// until all new ones are written. A file that cannot be read becomes a row with its error.
///
/// Fails if a prefix cannot be listed or is inside `out`, if no file was found, if `out` cannot be written, or if it would replace a folder
/// or file that this function did not write.
pub async fn write(
    stores: &Stores,
    prefixes: &[String],
    out: &Path,
    options: &Options,
    mut progress: impl FnMut(Progress),
) -> Result<Report> {
    for prefix in prefixes {
        if let Spot::Folder(input) = stores.place(prefix)?.spot {
            output::refuse_inside(&input, out)?;
        }
    }
    let output = Output::open(out)?;
    let (run, folder) = output.start()?;
    let mut earlier = Parts::find(output.roots());

    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let counts = Arc::new((AtomicU64::new(0), AtomicBool::new(false)));
    let lister = list(stores, prefixes, Arc::clone(&counts)).await?;
    let lister = tokio::spawn(async move {
        let mut lister = lister;
        while let Some(found) = lister.next().await {
            if sender.send(found).await.is_err() {
                return;
            }
        }
    });
    let step = stores.first_read();
    let work = stream::poll_fn(|context| receiver.poll_recv(context)).map(|found: Result<ListedFile>| {
        let found = match found {
            Ok(found) => found,
            Err(error) => return std::future::ready(Err(error)).boxed(),
        };
        let name = found.place.name.clone();
        match earlier.same(&found, options.hash, run) {
            Known::Unchanged(part) => {
                let file = name.clone();
                std::future::ready(Ok((name, Entry::Earlier { part, file }))).boxed()
            }
            Known::Changed(history) => {
                let rows = spawn(Ok(found), name.clone(), options.hash, step, history);
                async move { Ok((name, Entry::New(Box::new(rows.await)))) }.boxed()
            }
        }
    });
    let mut work = work.buffered(options.jobs.max(1));

    let mut report = Report::default();
    let mut open = Part::default();
    let mut writing: Option<JoinHandle<Result<()>>> = None;
    let mut parts = 0;
    let mut told = Instant::now();
    while let Some(entry) = work.next().await {
        let (name, entry) = entry?;
        report.files += 1;
        report.unchanged += u64::from(matches!(entry, Entry::Earlier { .. }));
        open.add(name, entry);
        if open.entries.len() >= options.part_files || open.weight >= PART_WEIGHT || open.since.elapsed() >= PART_TIME {
            parts += 1;
            start(&mut writing, std::mem::take(&mut open), &folder, run, parts).await?;
        }
        if told.elapsed() >= Duration::from_millis(100) {
            told = Instant::now();
            let (found, all_found) = (counts.0.load(Ordering::Relaxed), counts.1.load(Ordering::Relaxed));
            progress(Progress { found, all_found, done: report.files });
        }
    }
    lister.await.map_err(failed)?;
    if report.files == 0 {
        output::remove_run(&folder)?;
        return Err(Error::Failed("no model files found".into()));
    }
    if !open.entries.is_empty() {
        start(&mut writing, open, &folder, run, parts + 1).await?;
    }
    finish(&mut writing).await?;
    progress(Progress { found: report.files, all_found: true, done: report.files });
    output.publish(&folder, run, &report)?;
    Ok(report)
}

/// A part that is not written yet.
struct Part {
    entries: Vec<Entry>,
    first: String,
    last: String,
    weight: usize,
    since: Instant,
}

impl Default for Part {
    fn default() -> Self {
        Self { entries: Vec::new(), first: String::new(), last: String::new(), weight: 0, since: Instant::now() }
    }
}

impl Part {
    fn add(&mut self, name: String, entry: Entry) {
        self.weight += match &entry {
            Entry::New(rows) => rows.weight(),
            Entry::Earlier { .. } => UNCHANGED_WEIGHT,
        };
        // Some stores list in no order.
        if self.entries.is_empty() || name < self.first {
            self.first.clone_from(&name);
        }
        if name > self.last {
            self.last = name;
        }
        self.entries.push(entry);
    }
}

/// Starts writing a part once the previous one is written.
async fn start(
    writing: &mut Option<JoinHandle<Result<()>>>,
    part: Part,
    folder: &Path,
    run: u64,
    index: u64,
) -> Result<()> {
    finish(writing).await?;
    let folder = folder.to_owned();
    *writing = Some(tokio::task::spawn_blocking(move || {
        let name = format!("part-{run:06}-{index:06}.parquet");
        part::write(&part.entries, (&part.first, &part.last), &folder, &name)
    }));
    Ok(())
}

async fn finish(writing: &mut Option<JoinHandle<Result<()>>>) -> Result<()> {
    match writing.take() {
        Some(writing) => writing.await.map_err(failed)?,
        None => Ok(()),
    }
}

/// Reads a file on another thread.
pub fn spawn(
    found: Result<ListedFile>,
    name: String,
    hash: bool,
    step: u64,
    history: History,
) -> BoxFuture<'static, Rows> {
    let found = match found {
        Ok(found) => found,
        Err(error) => return std::future::ready(rows::unplaced(&name, &error, history)).boxed(),
    };
    let is_local = matches!(found.place.spot, Spot::Folder(_));
    let work = async move {
        let size = match found.place.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).as_deref() {
            Some("pte" | "ptd") => 1,
            _ => usize::try_from(found.size >> 20).unwrap_or(MEMORY).clamp(1, MEMORY),
        };
        let _memory = IN_MEMORY.acquire_many(size as u32).await;
        rows::of(found, hash, step, history).await
    };
    async move {
        let done = if is_local {
            let handle = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || handle.block_on(work)).await
        } else {
            tokio::spawn(work).await
        };
        done.unwrap_or_else(|error| rows::unplaced(&name, &failed(error), history))
    }
    .boxed()
}

/// Returns all files below prefixes, each file once.
pub async fn list(
    stores: &Stores,
    prefixes: &[String],
    counts: Arc<(AtomicU64, AtomicBool)>,
) -> Result<BoxStream<'static, Result<ListedFile>>> {
    let mut prefixes: Vec<String> = prefixes.iter().map(|prefix| absolute(prefix)).collect::<Result<_>>()?;
    prefixes.sort_unstable();
    let inside =
        |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    prefixes.dedup_by(|one, other| inside(one, other));
    let mut lists = Vec::new();
    for prefix in prefixes {
        lists.push(match stores.find(&prefix).await? {
            Some(found) => stream::iter([Ok(found)]).boxed(),
            None => {
                let listed = stores.list(&prefix)?;
                listed.map_err(move |error| failed(format!("{prefix}: {error}"))).boxed()
            }
        });
    }
    let (one, other) = (Arc::clone(&counts), counts);
    let all = stream::iter(lists).flatten().inspect(move |_| {
        one.0.fetch_add(1, Ordering::Relaxed);
    });
    let end = stream::poll_fn(move |_| {
        other.1.store(true, Ordering::Relaxed);
        std::task::Poll::Ready(None)
    });
    Ok(all.chain(end).boxed())
}

/// Removes a slash from the end of a prefix. A local prefix becomes an absolute path without links, so that a file has the same name from
/// every working folder.
fn absolute(prefix: &str) -> Result<String> {
    let trimmed = || prefix.trim_end_matches('/').to_owned();
    if is_url(prefix) {
        return Ok(trimmed());
    }
    match fs::canonicalize(prefix) {
        Ok(path) => match path.to_str() {
            Some(path) => Ok(path.to_owned()),
            None => Err(Error::Failed(format!("{}: its path is not UTF-8", path.display()))),
        },
        // The error is reported when the prefix is opened.
        Err(_) => Ok(trimmed()),
    }
}

impl Stores {
    /// Looks up a file by its name; `None` if the name is a prefix or folder.
    async fn find(&self, name: &str) -> Result<Option<ListedFile>> {
        let place = self.place(name)?;
        let (size, etag, modified) = match &place.spot {
            Spot::Folder(path) => {
                let metadata = fs::metadata(path).map_err(|error| Error::Failed(format!("{name}: {error}")))?;
                if metadata.is_dir() {
                    return Ok(None);
                }
                let (size, modified) = crate::folder::facts(&metadata);
                (size, None, modified)
            }
            Spot::Unnamed(error) => return Err(error.clone()),
            Spot::Store { path, .. } if !path.extension().is_some_and(crate::stores::is_ending) => return Ok(None),
            Spot::Store { store, path } => match object_store::ObjectStoreExt::head(store.as_ref(), path).await {
                Ok(meta) => (meta.size, meta.e_tag, Some(meta.last_modified.timestamp_micros())),
                // The error is reported when the file is read.
                Err(_) => (0, None, None),
            },
        };
        Ok(Some(ListedFile { place: Location { name: name.to_owned(), ..place }, size, etag, modified }))
    }
}
