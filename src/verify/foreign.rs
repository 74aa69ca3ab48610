//! Rules about foreign content: data that begins like another format, a ZIP archive at the end of the file, and bytes that no
//! field describes. The runtime ignores all of it; other programs may not.

use super::formats::Format;
use super::report::{Name, Report};
use super::rule;
use crate::delegate::{AotInductor, PayloadKind};
use crate::error::counted;
use crate::file::bpte::Bpte;
use crate::file::ptd::Ptd;
use crate::file::pte::Pte;
use crate::file::references::DataUser;
use crate::file::segment::Segments;
use crate::file::source::Source;
use crate::path::Path;
use crate::sorted::set;
use alloc::{format, string::String, vec::Vec};

pub(super) fn check_pte(pte: &Pte<'_>, report: &mut Report<'_>) {
    also_zip(pte.source.as_ref(), report);
    padding(&pte.segment_data(), report);
    let mut found = ReportedBytes::new(report);
    let root = Path::ROOT;
    let libraries = libraries(pte);
    for (user, data) in pte.data_users() {
        let Some(bytes) = data.ok().and_then(|data| pte.bytes(&data.data_ref()?).ok()) else { continue };
        match user {
            DataUser::Tensor { method, value, .. } => {
                let path = root.item("execution_plan", method);
                found.data(bytes, &path.item("values", value), report);
            }
            DataUser::Delegate { method, index, delegate, .. } => {
                let path = root.item("execution_plan", method);
                found.payload(delegate.id(), bytes, &path.item("delegates", index).field("processed"), report);
            }
            DataUser::NamedData { index, named } => {
                // The rule about machine code reports AOTInductor's libraries.
                if libraries.binary_search_by(|key| (**key).cmp(named.key())).is_err() {
                    found.data(bytes, &root.item("named_data", index), report);
                }
            }
        }
    }
    // Segments without references.
    for (index, users) in pte.segment_users().into_iter().enumerate() {
        if users > 0 {
            continue;
        }
        // A segment in several parts, which files do not contain, would have to be copied.
        if let Ok(bytes) = pte.whole_segment(index as u32).and_then(|data| pte.bytes(&data)) {
            found.data(bytes, &root.item("segments", index), report);
        }
    }
}

pub(super) fn check_ptd(ptd: &Ptd<'_>, report: &mut Report<'_>) {
    also_zip(ptd.source.as_ref(), report);
    padding(&ptd.segment_data(), report);
    let mut found = ReportedBytes::new(report);
    let root = Path::ROOT;
    for (index, entry) in ptd.entries().enumerate() {
        let Ok(bytes) = ptd.entry_bytes(&entry) else { continue };
        let path = root.item("named_data", index);
        match found.format(bytes) {
            Some(format) if format.is_machine_code() && entry.key().ends_with("_so_blob") => {
                let (size, key, name) = (counted(bytes.len(), "byte"), Name(entry.key()), format.name());
                let message = format!(
                    "{size} under AOTInductor's key {key} begin as {name}: machine code that runs when it is loaded"
                );
                report.add_at(rule::NATIVE_CODE, &path, report.offset(Some(bytes)), message);
            }
            Some(format) => found.add(format, bytes, "", &path, report),
            None => (),
        }
    }
}

pub(super) fn check_bpte(bpte: &Bpte<'_>, report: &mut Report<'_>) {
    if !report.is_strict() {
        return;
    }
    also_zip(bpte.source.as_ref(), report);
    let mut found = ReportedBytes::new(report);
    let path = Path::ROOT.field("method_test_suites");
    for (at, suite) in bpte.bundled_program.method_test_suites().iter().enumerate() {
        for (case, test_case) in suite.test_cases().iter().enumerate() {
            let path = path.index(at);
            let path = path.item("test_cases", case);
            for (list, values) in [("inputs", test_case.inputs()), ("expected_outputs", test_case.expected_outputs())] {
                for (index, value) in values.iter().enumerate() {
                    if let Some(tensor) = value.tensor() {
                        found.data(tensor.data(), &path.item(list, index), report);
                    }
                }
            }
        }
    }
}

/// Returns the keys of AOTInductor's libraries, sorted, which the rule about machine code reports.
fn libraries(pte: &Pte<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    for delegate in pte.methods().iter().flat_map(|plan| plan.delegates()) {
        if PayloadKind::of_id(delegate.id()).is_some_and(PayloadKind::is_native_code) {
            // Missing data breaks another rule.
            let payload = pte.delegate_data(delegate).and_then(|data| pte.bytes(&data)).unwrap_or_default();
            keys.extend(AotInductor::parse(payload).map(|aot| String::from(aot.library)));
        }
    }
    set(keys)
}

/// The bytes reported so far: tensors and segments can share bytes, which are reported once.
struct ReportedBytes {
    starts: Vec<usize>,
    /// The number of pickle opcodes that may still be read: overlapping segments can repeat the same bytes many times.
    budget: u64,
}

impl ReportedBytes {
    fn new(report: &Report<'_>) -> Self {
        const LEAST: u64 = 1 << 16;
        Self { starts: Vec::new(), budget: report.file_size().max(LEAST) }
    }

    fn format(&mut self, bytes: &[u8]) -> Option<Format> {
        Format::of(bytes, &mut self.budget)
    }

    fn data(&mut self, bytes: &[u8], path: &Path<'_>, report: &mut Report<'_>) {
        if let Some(format) = self.format(bytes) {
            self.add(format, bytes, "", path, report);
        }
    }

    /// Checks a payload. A payload in an unknown format may be machine code: OpenVINO's payloads are ELF files for Intel's
    /// NPUs.
    fn payload(&mut self, id: &str, bytes: &[u8], path: &Path<'_>, report: &mut Report<'_>) {
        let Some(format) = self.format(bytes) else { return };
        let kind = PayloadKind::of_id(id);
        if format.is_machine_code() && kind.is_some_and(|kind| kind.is_in(bytes).is_none()) {
            return;
        }
        let of = format!(", in a payload for {}", Name(id));
        self.add(format, bytes, &of, path, report);
    }

    #[cold]
    fn add(&mut self, format: Format, bytes: &[u8], place: &str, path: &Path<'_>, report: &mut Report<'_>) {
        let start = bytes.as_ptr() as usize;
        if self.starts.contains(&start) || self.starts.len() > 1000 {
            return;
        }
        self.starts.push(start);
        let (size, name) = (counted(bytes.len(), "byte"), format.name());
        let message = format!("{size} that begin as {name}{place}, expected numbers or what a backend reads");
        report.add_at(rule::FOREIGN_FORMAT, path, report.offset(Some(bytes)), message);
    }
}

/// Reports a ZIP archive. Its readers look for the end-of-central-directory record in the last 64 KiB of a file and count
/// offsets from there, ignoring everything before the archive.
fn also_zip(source: Option<&Source<'_>>, report: &mut Report<'_>) {
    const RECORD: usize = 22;
    const LONGEST: usize = RECORD + 0xffff;
    /// The size of blocks that are skipped unless they contain `PK`, which is much faster than examining each byte.
    const BLOCK: usize = 1 << 10;
    let Some(source) = source.filter(|source| source.whole) else { return };
    let file = &*source.bytes;
    let first = file.len().saturating_sub(LONGEST);
    let (_, last) = file.split_at(first);
    for start in (0..last.len()).step_by(BLOCK).rev() {
        let (_, block) = last.split_at(start);
        let [_, next @ ..] = block.get(..BLOCK + 1).unwrap_or(block) else { continue };
        let pairs = block.iter().zip(next);
        if !pairs.fold(false, |found, (byte, next)| found | ((*byte == b'P') & (*next == b'K'))) {
            continue;
        }
        for at in (start..start + BLOCK).rev() {
            let Some(record) = last.get(at..at + RECORD) else { continue };
            if !record.starts_with(b"PK\x05\x06") || !is_directory_end(file, first + at, record) {
                continue;
            }
            let message =
                "an end-of-central-directory record: the file is a ZIP archive as well, expected no second format";
            return report.add_at(rule::ALSO_ZIP, &Path::ROOT, Some((first + at) as u64), message);
        }
    }
}

/// Returns `true` if a record ends a central directory. In random bytes, the last 64 KiB contain one with a probability of 2^-48.
fn is_directory_end(file: &[u8], at: usize, record: &[u8]) -> bool {
    let [.., a, b, c, d, _, _, _, _, _, _] = *record else { return false };
    let size = u32::from_le_bytes([a, b, c, d]);
    let starts = |start: Option<usize>, magic: &[u8]| {
        start.and_then(|start| file.get(start..)).is_some_and(|bytes| bytes.starts_with(magic))
    };
    // The central directory, or ZIP64's locator, directly precedes the record, or the archive is empty.
    starts(at.checked_sub(size as usize), b"PK\x01\x02")
        || starts(at.checked_sub(20), b"PK\x06\x07")
        || record.get(4..20).is_some_and(|numbers| numbers.iter().all(|byte| *byte == 0))
}

/// Checks the bytes between segments, from the end of the metadata to the end of the data as stated by the header. Bytes
/// after that break another rule.
fn padding(segments: &Segments<'_, '_>, report: &mut Report<'_>) {
    let base = segments.base;
    let Some(source) = segments.source.filter(|source| source.whole && base > 0) else { return };
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for segment in segments.table {
        let start = base.saturating_add(segment.offset);
        ranges.push((start, start.saturating_add(segment.size)));
    }
    let end = base.saturating_add(segments.data_size.unwrap_or(0));
    ranges.push((end, end));
    ranges.sort();
    let mut before = source.metadata_size;
    for (start, end) in ranges {
        // A place past the end of the file is moved to the end, even if it does not fit in 32 bits.
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(source.bytes.len());
        // There are no bytes between overlapping segments.
        let gap = source.bytes.get(place(before)..place(start)).unwrap_or_default();
        if let Some(first) = gap.iter().position(|byte| *byte != 0) {
            let count = gap.iter().filter(|byte| **byte != 0).count();
            let message = format!(
                "{} that are not zero among the {} before byte {start}, which no field describes: expected zeros",
                counted(count, "byte"),
                gap.len()
            );
            report.add_at(rule::PADDING, &Path::ROOT, Some(before.saturating_add(first as u64)), message);
        }
        before = before.max(end);
    }
}
