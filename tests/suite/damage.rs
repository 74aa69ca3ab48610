//! Truncated files and files with wrong bytes: the result is an error or a tree that can be walked, never a panic, and the
//! check-only run agrees with the decoding run.

use executorch_format::{Error, ErrorKind, ParseOptions, Ptd, Pte, Segment, probe};
use executorch_format_support::fixtures::{Fixture, fixtures, some_fixtures, stride};
use executorch_format_support::visit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of the largest file for which every byte is changed and every length is tried.
const SMALL: usize = 2500;

/// Runs `test` on each file, on all cores. Prints the name of a file that panics.
pub fn each(files: &[Fixture], test: impl Fn(&Fixture) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _name = OnPanic(file);
            test(file);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

struct OnPanic<'a>(&'a Fixture);

impl Drop for OnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}", self.0.name());
        }
    }
}

/// Decodes and checks a file, and visits the tree. Returns a hash of the tree.
fn read(pte: bool, bytes: &[u8]) -> Result<u64, Error> {
    let (checked, read) = match pte {
        true => (Pte::verify_structure(bytes), Pte::parse(bytes).map(|file| visit::pte(bytes, &file))),
        false => (Ptd::verify_structure(bytes), Ptd::parse(bytes).map(|file| visit::ptd(bytes, &file))),
    };
    assert_eq!(checked.err().as_ref(), read.as_ref().err(), "the check-only run and the decoding run disagree");
    if let Err(error) = &read {
        assert!(!error.to_string().is_empty());
        assert!(error.offset().is_none_or(|offset| offset <= bytes.len() as u64), "{error}");
    }
    read
}

#[test]
fn valid_files_can_be_read_completely() {
    each(&fixtures(), |file| {
        read(file.is_pte(), file.bytes()).unwrap();
        // The parser for the other kind of file refuses it.
        let error = read(!file.is_pte(), file.bytes()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Foreign { .. }), "{error}");
    });
}

/// A file without a header may end in padding, which may be missing. In any other file, every part is needed.
#[test]
fn files_truncated_at_any_length_are_refused_or_give_the_same_tree() {
    each(&some_fixtures(), |file| {
        let whole = read(file.is_pte(), file.bytes()).unwrap();
        let probe = probe(file.bytes()).unwrap();
        let size = file.bytes().len() as u64;
        let (metadata_end, data) = (probe.metadata(size).unwrap().end as usize, probe.data(size).unwrap());
        // An old header does not state the end of the data, which is then the end of any file.
        let data_end = data.as_ref().map(|data| data.end).filter(|_| probe.data(size + 1).unwrap() == data);
        let stride = stride() * if file.bytes().len() <= SMALL { 1 } else { 1 + file.bytes().len() / 800 };
        let lengths =
            (0..file.bytes().len()).filter(|len| *len < 64 || len % stride == 0 || file.bytes().len() - len < 8);
        for len in lengths.chain(metadata_end.saturating_sub(8)..(metadata_end + 8).min(file.bytes().len())) {
            let cut = &file.bytes()[..len];
            match read(file.is_pte(), cut) {
                Err(error) => {
                    if len >= 64 && probe.header.is_some() {
                        assert!(matches!(error.kind(), ErrorKind::Truncated { .. }), "{len}: {error}");
                    }
                }
                // An old header does not state the end of the data.
                Ok(seen) => {
                    assert!(len >= metadata_end || probe.header.is_none(), "{len}");
                    assert!(data_end.is_none_or(|end| len as u64 >= end), "{len}");
                    assert!(seen == whole || data.is_some(), "{len}");
                }
            }
            metadata_is_enough(file, cut, metadata_end);
        }
    });
}

/// Checks that the metadata alone decodes to the same tree, with or without part of the data.
fn metadata_is_enough(file: &Fixture, cut: &[u8], metadata_end: usize) {
    if probe(file.bytes()).unwrap().header.is_none() {
        return;
    }
    let part = match file.is_pte() {
        true => Pte::parse_with(cut, &ParseOptions::METADATA).map(|part| {
            assert!(part.segments.iter().all(|segment| *segment == Segment::Absent));
            visit::tree(&part.program) == visit::tree(&Pte::parse(file.bytes()).unwrap().program)
        }),
        false => Ptd::parse_with(cut, &ParseOptions::METADATA).map(|part| {
            assert!(part.segments.iter().all(|segment| *segment == Segment::Absent));
            visit::tree(&part.flat_tensor) == visit::tree(&Ptd::parse(file.bytes()).unwrap().flat_tensor)
        }),
    };
    match part {
        Ok(same) => assert!(same && cut.len() >= metadata_end, "{}", cut.len()),
        Err(error) => assert!(cut.len() < metadata_end, "{}: {error}", cut.len()),
    }
}

#[test]
fn the_first_64_bytes_give_the_places_of_metadata_and_data() {
    each(&fixtures(), |file| {
        let whole = probe(file.bytes()).unwrap();
        assert_eq!(probe(&file.bytes()[..64.min(file.bytes().len())]).unwrap(), whole);
        assert!(whole.metadata(file.bytes().len() as u64).unwrap().end <= file.bytes().len() as u64);
        // 12 bytes show whether there is a header. No FlatBuffer is shorter.
        for len in 12..64.min(file.bytes().len()) {
            match probe(&file.bytes()[..len]) {
                Ok(early) => assert_eq!(early, whole, "{len}"),
                Err(error) => assert!(len < 48, "{len}: {error}"),
            }
        }
    });
}

/// Returns values to replace a byte with: small values, extremes of signed and unsigned numbers, single flipped bits, all bits flipped.
fn damaged(byte: u8) -> impl Iterator<Item = u8> {
    let values = [0, 1, 4, 0x7f, 0x80, 0xff, !byte, byte ^ 1, byte ^ 0x10, byte.wrapping_add(4), byte.wrapping_sub(4)];
    (0..values.len())
        .filter(move |at| values[*at] != byte && !values[..*at].contains(&values[*at]))
        .map(move |at| values[at])
}

#[test]
fn small_files_with_a_changed_byte_are_refused_or_can_be_walked() {
    let small: Vec<_> = fixtures().into_iter().filter(|file| file.bytes().len() <= SMALL).collect();
    assert!(small.len() >= 5, "only {} small files", small.len());
    let (refused, accepted) = (AtomicUsize::new(0), AtomicUsize::new(0));
    each(&small, |file| {
        let metadata_end = probe(file.bytes()).unwrap().metadata(file.bytes().len() as u64).unwrap().end as usize;
        let mut bytes = file.bytes().to_vec();
        for at in (0..metadata_end).step_by(stride()) {
            for value in damaged(file.bytes()[at]) {
                bytes[at] = value;
                let count = if read(file.is_pte(), &bytes).is_ok() { &accepted } else { &refused };
                count.fetch_add(1, Ordering::Relaxed);
            }
            bytes[at] = file.bytes()[at];
        }
        assert_eq!(bytes, file.bytes());
    });
    let (refused, accepted) = (refused.into_inner(), accepted.into_inner());
    println!("{refused} damaged files refused, {accepted} accepted");
    assert!(refused > accepted / 10 && accepted > refused / 10);
}

/// Sets every aligned u32, the size of most offsets and counts, to values that make sums overflow.
#[test]
fn small_files_with_a_changed_word_are_refused_or_can_be_walked() {
    let small: Vec<_> = fixtures().into_iter().filter(|file| file.bytes().len() <= SMALL).collect();
    each(&small, |file| {
        let metadata_end = probe(file.bytes()).unwrap().metadata(file.bytes().len() as u64).unwrap().end as usize;
        for at in (0..metadata_end / 4 * 4).step_by(4 * stride()) {
            let mut bytes = file.bytes().to_vec();
            let old = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let values = [u32::MAX, 0x8000_0000, 0x7fff_ffff, 0x4000_0000, 0x2000_0000, 0xffff_fffc, old ^ 0xffff];
            for value in values.into_iter().chain([metadata_end, metadata_end - at].map(|value| value as u32)) {
                bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
                let _ = read(file.is_pte(), &bytes);
            }
        }
    });
}

/// Sets each number of the extended header to extreme values, which make sums overflow.
#[test]
fn headers_with_extreme_numbers_are_refused_or_can_be_walked() {
    each(&some_fixtures(), |file| {
        for at in [12, 16, 24, 32, 40] {
            for value in [0u64, 1, 8, 1 << 31, u64::from(u32::MAX), 1 << 63, u64::MAX - 8, u64::MAX - 7, u64::MAX] {
                let mut bytes = file.bytes().to_vec();
                bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
                let _ = read(file.is_pte(), &bytes);
                for later in (at + 8..48).step_by(8) {
                    bytes[later..later + 8].copy_from_slice(&u64::MAX.wrapping_sub(value).to_le_bytes());
                    let _ = read(file.is_pte(), &bytes);
                }
            }
        }
    });
}
