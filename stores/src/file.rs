//! A file of which only the needed parts are read.

use crate::error::{Error, Result};
use crate::hash::{self, Hashes};
use crate::object::Object;
use crate::stores::Location;
use executorch_format::delegate::{PayloadKind, payload_metadata};
use executorch_format::{Analysis, Model, PROBE_SIZE, Pte, probe};
use memmap2::{MmapMut, MmapOptions};
use std::ops::Range;

/// The maximum size of the metadata: a FlatBuffer cannot be larger.
const MAX_METADATA: u64 = 1 << 31;

/// The parts of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The metadata, and delegates' payloads without their constants: enough for a file's contents, its needs, and the releases that load
    /// it. The scales of quantized constants are assumed to be valid.
    Graphs,
    /// Also those scales: enough for the checks before a file is loaded.
    Scales,
    /// Everything.
    All,
}

/// A file, with the parts that were read.
pub struct File {
    object: Object,
    bytes: Bytes,
    /// The ranges that were read, sorted.
    have: Vec<Range<u64>>,
    /// The number of bytes to read if the needed number is unknown.
    step: u64,
}

enum Bytes {
    /// The file.
    Whole(Vec<u8>),
    /// The bytes of the file, with zeros for unread parts, which take no memory.
    Sparse(MmapMut),
}

impl File {
    /// Opens a file, and reads the requested extent of it. The first request has `step` bytes.
    pub(crate) async fn open(place: Location, extent: Extent, step: u64) -> Result<Self> {
        let (object, first) = Object::open(place, step).await?;
        let read = first.len() as u64;
        if read == object.size {
            return Ok(Self { object, bytes: Bytes::Whole(first), have: joined(vec![0..0, 0..read], 0), step });
        }
        let probe = probe(first.get(..PROBE_SIZE).unwrap_or(&first));
        let size = object.size;
        let mut file = Self { bytes: sparse(size)?, object, have: Vec::new(), step };
        file.put(0, &first);
        // Faults are reported when the file is parsed.
        let Ok(probe) = probe else { return Ok(file) };
        let metadata = if extent == Extent::All { Ok(0..size) } else { probe.metadata(size) };
        let Ok(metadata) = metadata else { return Ok(file) };
        if metadata.end > MAX_METADATA && extent != Extent::All {
            let found = format!("its metadata has {} bytes, expected at most {MAX_METADATA}", metadata.end);
            return Err(Error::TooLarge(found));
        }
        file.read(vec![metadata]).await?;
        file.read_payloads().await?;
        file.read_scales(extent).await?;
        Ok(file)
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.object.size
    }

    /// Returns the store's identifier of this content.
    pub fn etag(&self) -> Option<&str> {
        self.object.etag.as_deref()
    }

    /// Returns the time of the last change, in microseconds since 1970.
    pub fn modified(&self) -> Option<i64> {
        self.object.modified
    }

    /// Returns the number of requests sent for the file, and the number of bytes received.
    pub fn spent(&self) -> (u64, u64) {
        self.object.spent()
    }

    /// Returns `true` if all of it was read.
    pub fn is_whole(&self) -> bool {
        self.has(&(0..self.object.size))
    }

    /// Returns the bytes of the whole file. Those that were not read are zeros.
    pub fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Whole(bytes) => bytes,
            Bytes::Sparse(map) => map,
        }
    }

    /// Parses the tree of the whole file. The bytes of constants that were not read are zeros.
    pub fn parse(&self) -> executorch_format::Result<Model<'_>> {
        let bytes = self.bytes();
        match probe(bytes.get(..PROBE_SIZE).unwrap_or(bytes)) {
            // The error for these bytes names the actual kind of file.
            Err(_) => Model::parse(slice(bytes, self.have.first().cloned().unwrap_or_default())),
            Ok(_) => Model::parse(bytes),
        }
    }

    /// Returns the SHA-256 of ranges of the file, which is read once for all of them and does not stay in memory.
    pub async fn hash(&self, ranges: &[Range<u64>], progress: impl FnMut(u64)) -> Result<Hashes> {
        let whole = self.is_whole().then(|| self.bytes());
        hash::all(&self.object, whole, ranges, progress).await
    }

    fn has(&self, range: &Range<u64>) -> bool {
        range.is_empty() || self.have.iter().any(|have| have.start <= range.start && range.end <= have.end)
    }

    /// Stores bytes that were read.
    #[expect(clippy::indexing_slicing, reason = "the map has the size of the file, and no byte after it is read")]
    fn put(&mut self, start: u64, bytes: &[u8]) {
        let Bytes::Sparse(map) = &mut self.bytes else { return };
        let end = start + bytes.len() as u64;
        map[start as usize..end as usize].copy_from_slice(bytes);
        self.have.push(start..end);
        self.have = joined(std::mem::take(&mut self.have), 0);
    }

    /// Reads the missing parts of some ranges.
    async fn read(&mut self, ranges: Vec<Range<u64>>) -> Result<()> {
        let size = self.object.size;
        let ranges = ranges.into_iter().map(|range| range.start.min(size)..range.end.min(size));
        let missing = ranges.flat_map(|range| missing(&self.have, range)).collect();
        for range in joined(missing, self.step / 2) {
            let mut pieces = Vec::new();
            self.object.read(range, |start, bytes| pieces.push((start, bytes.to_vec()))).await?;
            for (start, bytes) in pieces {
                self.put(start, &bytes);
            }
        }
        Ok(())
    }

    /// Reads delegates' payloads without their constants.
    async fn read_payloads(&mut self) -> Result<()> {
        let payloads = self.of_program(payloads);
        let first = |range: &Range<u64>| range.start..range.end.min(range.start.saturating_add(self.step));
        // The payload's kind is given by the delegate's id first, and by its first bytes later.
        let has_graph = |kind: Option<PayloadKind>| matches!(kind, Some(PayloadKind::Xnnpack | PayloadKind::Vulkan));
        let wanted = payloads.iter().map(|(range, kind)| match range.end - range.start {
            size if size > self.step && has_graph(*kind) => first(range),
            _ => range.clone(),
        });
        self.read(wanted.collect()).await?;
        let wanted = payloads.iter().map(|(range, _)| {
            let bytes = slice(self.bytes(), range.start..range.end.min(range.start.saturating_add(PROBE_SIZE as u64)));
            let metadata = payload_metadata(bytes, range.end - range.start);
            range.start..range.start.saturating_add(metadata.end)
        });
        let wanted = wanted.collect();
        self.read(wanted).await
    }

    /// Reads the scales of quantized constants, or fills in valid ones.
    async fn read_scales(&mut self, extent: Extent) -> Result<()> {
        let scales = self.of_program(scales);
        if extent >= Extent::Scales {
            return self.read(scales).await;
        }
        // The smallest normal number, as one f32 or as two bfloat16.
        const LEAST: [u8; 4] = [0x80, 0, 0x80, 0];
        for range in scales {
            for hole in missing(&self.have, range.clone()) {
                let Bytes::Sparse(map) = &mut self.bytes else { return Ok(()) };
                let place = usize::try_from(hole.start).ok().zip(usize::try_from(hole.end).ok());
                let place = place.and_then(|(start, end)| map.get_mut(start..end)).unwrap_or_default();
                let phase = (hole.start - range.start) as usize;
                place.iter_mut().zip(LEAST.iter().cycle().skip(phase % 4)).for_each(|(byte, least)| *byte = *least);
            }
        }
        Ok(())
    }

    /// Calls a function for the program; returns the default if the file has no valid program.
    fn of_program<T: Default>(&self, ask: impl FnOnce(&Pte<'_>) -> T) -> T {
        match self.parse() {
            Ok(Model::Pte(pte)) => ask(&pte),
            _ => T::default(),
        }
    }
}

/// Returns the ranges of payloads, with the kinds that their delegates name.
fn payloads(pte: &Pte<'_>) -> Vec<(Range<u64>, Option<PayloadKind>)> {
    let delegates = pte.methods().iter().flat_map(|plan| plan.delegates());
    let place = |delegate: &executorch_format::schema::program::BackendDelegate<'_>| {
        let range = pte.range(&pte.delegate_data(delegate).ok()?)?;
        Some((range, PayloadKind::of_id(delegate.id())))
    };
    delegates.filter_map(place).collect()
}

/// Returns the ranges of the scales of constants in payloads.
fn scales(pte: &Pte<'_>) -> Vec<Range<u64>> {
    let constants =
        Analysis::new(pte).delegate_constants().constants.into_iter().filter(|constant| constant.user.scales);
    constants.filter_map(|constant| Some(constant.offset?..constant.offset?.checked_add(constant.size?)?)).collect()
}

/// Allocates zeros, which take no memory until they are written.
fn sparse(size: u64) -> Result<Bytes> {
    let too_large = |found: String| Error::TooLarge(format!("it has {size} bytes, which is too large: {found}"));
    let length = usize::try_from(size).map_err(|_| too_large("the address space is smaller".into()))?;
    let map = MmapOptions::new().len(length).no_reserve_swap().map_anon();
    map.map(Bytes::Sparse).map_err(|error| too_large(error.to_string()))
}

fn slice(bytes: &[u8], range: Range<u64>) -> &[u8] {
    let range = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
    range.and_then(|(start, end)| bytes.get(start..end)).unwrap_or_default()
}

/// Sorts ranges, and merges those that are at most `gap` bytes apart.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the parts of a range that are not in `have`, which is sorted.
fn missing(have: &[Range<u64>], range: Range<u64>) -> Vec<Range<u64>> {
    let mut missing = Vec::new();
    let mut start = range.start;
    for have in have.iter().filter(|have| have.end > range.start && have.start < range.end) {
        missing.push(start..have.start.max(start));
        start = start.max(have.end);
    }
    missing.push(start..range.end.max(start));
    missing.retain(|range| !range.is_empty());
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_missing_ranges_are_read_and_close_ranges_are_joined() {
        let have = [0..10, 20..30];
        assert_eq!(missing(&have, 5..40), [10..20, 30..40]);
        assert_eq!(missing(&have, 21..29), []);
        assert_eq!(missing(&have, 12..25).first(), Some(&(12..20)));
        assert_eq!(joined(vec![30..40, 0..10, 12..15, 9..11], 2), [0..15, 30..40]);
        assert_eq!(joined(vec![5..5, 7..7], 2), []);
    }
}
