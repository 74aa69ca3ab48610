//! Reads ranges of a file in a store or a folder, and checks that it does not change.

use crate::error::{Error, Result};
use crate::folder;
use crate::stores::{Location, Spot};
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{GetOptions, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt, path::Path};
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum size of one request, in bytes.
const CHUNK: u64 = 8 << 20;

/// The maximum number of simultaneous requests for one file.
const AT_ONCE: usize = 4;

/// A file in the state of the first request.
pub struct Object {
    place: Location,
    /// The size in bytes.
    pub size: u64,
    /// The store's identifier of this content.
    pub etag: Option<String>,
    /// The time of the last change, in microseconds since 1970.
    pub modified: Option<i64>,
    requests: AtomicU64,
    read: AtomicU64,
}

impl Object {
    /// Opens a file and reads its first bytes, at most the given number.
    pub async fn open(place: Location, first: u64) -> Result<(Self, Vec<u8>)> {
        let read = |size, etag, modified, bytes: Vec<u8>| {
            let (requests, read) = (AtomicU64::new(1), AtomicU64::new(bytes.len() as u64));
            (Self { place: place.clone(), size, etag, modified, requests, read }, bytes)
        };
        match &place.spot {
            Spot::Unnamed(error) => Err(error.clone()),
            Spot::Folder(path) => {
                let file = fs::File::open(path)?;
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(Error::Failed("it is a folder".into()));
                }
                let (size, modified) = folder::facts(&metadata);
                let mut bytes = Vec::with_capacity(usize::try_from(first.min(size)).unwrap_or_default());
                file.take(first).read_to_end(&mut bytes)?;
                if bytes.len() as u64 != first.min(size) {
                    return Err(Error::Changed);
                }
                Ok(read(size, None, modified, bytes))
            }
            Spot::Store { store, path } => {
                let options = GetOptions { range: Some((0..first).into()), ..GetOptions::default() };
                let result = match store.get_opts(path, options).await {
                    Ok(result) => result,
                    // An empty file has no valid range.
                    Err(error) => match empty(store.as_ref(), path, &error).await {
                        Some(meta) => {
                            let modified = Some(meta.last_modified.timestamp_micros());
                            return Ok(read(0, meta.e_tag, modified, Vec::new()));
                        }
                        None => return Err(error.into()),
                    },
                };
                let size = result.meta.size;
                let etag = result.meta.e_tag.clone();
                let modified = Some(result.meta.last_modified.timestamp_micros());
                let bytes = body(result, first.min(size)).await?;
                Ok(read(size, etag, modified, bytes))
            }
        }
    }

    /// Returns the number of requests sent, and the number of bytes received.
    pub fn spent(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed))
    }

    /// Reads a range, a few large pieces at a time, and passes on each piece with its offset, in order.
    pub async fn read(&self, range: Range<u64>, mut take: impl FnMut(u64, &[u8])) -> Result<()> {
        let starts = (range.start..range.end).step_by(CHUNK as usize);
        let pieces = starts.map(|start| start..range.end.min(start + CHUNK));
        let mut pieces = stream::iter(pieces)
            .map(|piece| async move { Ok::<_, Error>((piece.start, self.piece(piece).await?)) })
            .buffered(AT_ONCE);
        while let Some((start, bytes)) = pieces.try_next().await? {
            take(start, &bytes);
        }
        Ok(())
    }

    async fn piece(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let size = range.end - range.start;
        let bytes = match &self.place.spot {
            Spot::Unnamed(error) => return Err(error.clone()),
            Spot::Folder(path) => {
                let mut file = fs::File::open(path)?;
                if folder::facts(&file.metadata()?) != (self.size, self.modified) {
                    return Err(Error::Changed);
                }
                let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
                file.seek(SeekFrom::Start(range.start))?;
                file.take(size).read_to_end(&mut bytes)?;
                if bytes.len() as u64 != size {
                    return Err(Error::Changed);
                }
                bytes
            }
            Spot::Store { store, path } => {
                // A weak ETag cannot be a condition of a request, but is compared below.
                let strong = self.etag.clone().filter(|etag| !etag.starts_with("W/"));
                let options = GetOptions { range: Some(range.into()), if_match: strong, ..GetOptions::default() };
                let result = store.get_opts(path, options).await?;
                let modified = Some(result.meta.last_modified.timestamp_micros());
                let same_time = self.etag.is_some() || modified == self.modified;
                if result.meta.e_tag != self.etag || result.meta.size != self.size || !same_time {
                    return Err(Error::Changed);
                }
                body(result, size).await?
            }
        };
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Returns the facts of an empty file if a range was refused because the file is empty.
async fn empty(store: &dyn ObjectStore, path: &Path, error: &object_store::Error) -> Option<ObjectMeta> {
    if !matches!(error, object_store::Error::Generic { .. }) || !error.to_string().contains("416") {
        return None;
    }
    store.head(path).await.ok().filter(|meta| meta.size == 0)
}

/// Returns the bytes of a response, whose length must be the announced size. Reads no more than that.
async fn body(result: GetResult, size: u64) -> Result<Vec<u8>> {
    let untrue =
        |found: &str| Error::Untrue(format!("the server sent {found} than the {size} bytes that it announced"));
    let mut bytes = Vec::new();
    let mut stream = result.into_stream();
    while let Some(part) = stream.try_next().await? {
        if (bytes.len() + part.len()) as u64 > size {
            return Err(untrue("more"));
        }
        bytes.extend_from_slice(&part);
    }
    if (bytes.len() as u64) < size { Err(untrue("fewer")) } else { Ok(bytes) }
}
