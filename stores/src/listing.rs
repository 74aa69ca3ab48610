//! Lists the keys of a bucket, page by page, within limits.

use crate::access::Access;
use crate::client::Listing;
use crate::error::{Error, Result, source};
use crate::keys::BadKeys;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::{Extensions, ObjectMeta, ObjectStore, path::Path};
use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of keys that a page without keys counts for: as many as a full page of S3.
const EMPTY_PAGE: u64 = 1000;

/// An entry of a listing.
pub enum Entry {
    Object(ObjectMeta),
    /// A key that cannot be the path of a file.
    BadKey(String),
}

/// The time and keys used by a listing so far. Only the time of requests counts: a consumer may take longer.
struct Spent {
    keys: u64,
    time: Duration,
    max_keys: u64,
    max_time: Duration,
}

impl Spent {
    fn new(access: &Access) -> Self {
        Self { keys: 0, time: Duration::ZERO, max_keys: access.max_keys, max_time: access.list_timeout }
    }

    /// Waits for a request, up to the remaining time.
    async fn wait<T>(&mut self, request: impl Future<Output = object_store::Result<T>>) -> Result<T> {
        let start = Instant::now();
        let answer = tokio::time::timeout(self.max_time.saturating_sub(self.time), request).await;
        self.time += start.elapsed();
        match answer {
            Ok(answer) => Ok(answer?),
            Err(_) => {
                let seconds = self.max_time.as_secs();
                let limit = "--list-timeout (PTE_LIST_TIMEOUT) sets the limit";
                Err(Error::TooLarge(format!("its listing takes longer than {seconds} seconds: {limit}")))
            }
        }
    }

    /// Counts keys. Fails if they exceed the limit.
    fn count(&mut self, keys: u64) -> Result<()> {
        self.keys += keys;
        if self.keys <= self.max_keys {
            return Ok(());
        }
        let (most, limit) = (self.max_keys, "--max-keys (PTE_MAX_KEYS) sets the limit");
        let empty = format!("a page without keys counts as {EMPTY_PAGE}");
        Err(Error::TooLarge(format!("its listing has more than {most} keys ({empty}): {limit}")))
    }
}

/// Returns the keys below a path, from a store that lists in pages. Fails if the listing exceeds a limit or repeats a continuation token.
pub fn pages(store: Arc<dyn PaginatedListStore>, path: &Path, access: &Access) -> BoxStream<'static, Result<Entry>> {
    let prefix = (!path.as_ref().is_empty()).then(|| format!("{path}/"));
    let start = (Spent::new(access), HashSet::new(), Some(None::<String>));
    let hasher = RandomState::new();
    let next = move |(mut spent, mut tokens, next): (Spent, HashSet<u64>, Option<Option<String>>)| {
        let (store, prefix, hasher) = (Arc::clone(&store), prefix.clone(), hasher.clone());
        async move {
            let Some(page_token) = next else { return Ok(None) };
            let mut extensions = Extensions::new();
            extensions.insert(Listing);
            let options = PaginatedListOptions { page_token, extensions, ..PaginatedListOptions::default() };
            let page: PaginatedListResult = spent.wait(store.list_paginated(prefix.as_deref(), options)).await?;
            let PaginatedListResult { mut result, page_token } = page;
            let bad = result.extensions.remove::<BadKeys>().unwrap_or_default();
            let count = result.objects.len() + bad.0.len();
            spent.count(if count == 0 && page_token.is_some() { EMPTY_PAGE } else { count as u64 })?;
            let token = page_token.filter(|token| !token.is_empty());
            // Only hashes of tokens are kept, since a server may send long ones.
            if token.as_ref().is_some_and(|token| !tokens.insert(hasher.hash_one(token))) {
                return Err(Error::Untrue("the server's listing is endless: it repeats a continuation token".into()));
            }
            let objects = result.objects.into_iter().map(Entry::Object);
            let entries: Vec<_> = objects.chain(bad.0.into_iter().map(Entry::BadKey)).map(Ok).collect();
            Ok(Some((stream::iter(entries), (spent, tokens, token.map(Some)))))
        }
    };
    stream::try_unfold(start, next).try_flatten().boxed()
}

/// Returns the files below a path, from a web server, which lists all at once.
pub fn at_once(store: Arc<dyn ObjectStore>, path: Path, access: &Access) -> BoxStream<'static, Result<Entry>> {
    let start = (store.list(Some(&path)), Spent::new(access));
    let next = |(mut list, mut spent): (BoxStream<'static, object_store::Result<ObjectMeta>>, Spent)| async move {
        let Some(entry) = spent.wait(async { Ok(list.next().await) }).await? else { return Ok(None) };
        spent.count(1)?;
        let entry = match entry {
            Ok(meta) => Entry::Object(meta),
            Err(error) => Entry::BadKey(bad_path(&error).ok_or(error)?),
        };
        Ok(Some((entry, (list, spent))))
    };
    stream::try_unfold(start, next).boxed()
}

/// Returns the invalid path if that is the error.
fn bad_path(error: &object_store::Error) -> Option<String> {
    use object_store::path::Error as Bad;
    match source(error)? {
        Bad::EmptySegment { path } | Bad::BadSegment { path, .. } => Some(path.clone()),
        _ => None,
    }
}
