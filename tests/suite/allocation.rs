//! What reading may cost: memory in proportion to the program's size, nothing at all for the check-only run, and work
//! within the limits, whatever the file says. Allocations are counted for each thread by itself.

use crate::damage::{each, files, stride};
use allocation_counter::measure;
use executorch_format::{Error, ErrorKind, Limits, ParseOptions, Ptd, Pte, probe};
use executorch_format_support::fixtures::Fixture;

/// Bytes allocated for each byte that the default limits allow to be covered, at the most.
///
/// A method takes up to 264 bytes of memory and 16 in an honest file; what a list reserves beyond what it then
/// reads is a method for each 8 bytes of the file that are left.
const MULTIPLE: u64 = 48;

/// The bytes that the default limits allow to be covered.
fn most(size: u64) -> u64 {
    2 * size + (1 << 16)
}

/// In good files: the worst of those in `tests/data` takes 1.75 bytes for each of its own on a 64-bit machine.
const GOOD_MULTIPLE: u64 = 3;

/// An error with its text and its path.
const ERROR: u64 = 1024;

fn check(file: &Fixture, bytes: &[u8]) -> Result<(), Error> {
    if file.is_pte() { Pte::check(bytes) } else { Ptd::check(bytes) }
}

/// The bytes that decoding allocates, all in all, and whether it succeeds.
fn allocated(file: &Fixture, bytes: &[u8]) -> (u64, bool) {
    let mut ok = false;
    let info = measure(|| {
        ok = if file.is_pte() { Pte::parse(bytes).is_ok() } else { Ptd::parse(bytes).is_ok() };
    });
    (info.bytes_total, ok)
}

fn program_size(bytes: &[u8]) -> u64 {
    let end = probe(bytes).ok().filter(|probe| probe.header.is_some()).map(|probe| probe.metadata(0).end);
    end.map_or(bytes.len() as u64, |end| end.min(bytes.len() as u64))
}

#[test]
fn checking_a_good_file_allocates_nothing() {
    each(&files(), |file| {
        let info = measure(|| check(file, file.bytes()).unwrap());
        assert_eq!((info.count_total, info.bytes_total), (0, 0));
    });
}

#[test]
fn decoding_a_good_file_allocates_a_multiple_of_its_program() {
    each(&files(), |file| {
        let (bytes, ok) = allocated(file, file.bytes());
        assert!(ok);
        let size = program_size(file.bytes());
        println!("{:6.2} {}", bytes as f64 / size as f64, file.name());
        assert!(bytes <= GOOD_MULTIPLE * size, "{bytes} bytes for {size}");
    });
}

#[test]
fn damage_makes_decoding_allocate_no_more() {
    let small: Vec<_> = files().into_iter().filter(|file| file.bytes().len() <= 2500).collect();
    each(&small, |file| {
        let mut worst = 0.0f64;
        for at in (0..program_size(file.bytes()) as usize).step_by(4 * stride()) {
            for value in [0u32, 1, 4, 0x40, 0x100, 0x7fff_ffff, 0x8000_0000, u32::MAX, (file.bytes().len() / 8) as u32]
            {
                let mut bytes = file.bytes().to_vec();
                let end = bytes.len().min(at + 4);
                bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
                let (allocated, ok) = allocated(file, &bytes);
                let size = program_size(&bytes);
                worst = worst.max(allocated as f64 / size as f64);
                assert!(
                    allocated <= MULTIPLE * most(size) + ERROR,
                    "byte {at} = {value}: {allocated} bytes for {size}"
                );
                if ok {
                    let info = measure(|| check(file, &bytes).unwrap());
                    assert_eq!(info.count_total, 0);
                }
            }
        }
        println!("{worst:6.2} {}", file.name());
    });
}

/// A program with so many methods, chains in each, lists of frames in each of those, and frames in each list, where all
/// in one list are one table: `n`⁴ frames in about 16 × `n` bytes.
fn exponential(counts: [u32; 4]) -> Vec<u8> {
    let mut bytes = b"\0\0\0\0ET12".to_vec();
    // Program.execution_plan, ExecutionPlan.chains, Chain.stacktrace, FrameList.items.
    for (id, n) in [1u16, 5, 3, 0].into_iter().zip(counts) {
        let vtable = bytes.len();
        let words = [vec![6 + 2 * id, 8], vec![0; id.into()], vec![4]].concat();
        bytes.extend(words.into_iter().flat_map(u16::to_le_bytes));
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        link(&mut bytes, vtable);
        bytes.extend(4u32.to_le_bytes());
        bytes.extend(n.to_le_bytes());
        let vector = bytes.len();
        bytes.resize(vector + 4 * n as usize, 0);
    }
    // Frame, empty.
    let vtable = bytes.len();
    bytes.extend([4u16, 4].into_iter().flat_map(u16::to_le_bytes));
    link(&mut bytes, vtable);
    bytes
}

fn padded(mut bytes: Vec<u8>, times: usize) -> Vec<u8> {
    bytes.resize(bytes.len() * (1 + times), 0);
    bytes
}

/// Puts a table's offset to its vtable here, and makes all offsets to it that are still 0 lead here: the root's or
/// those of the vector before the vtable.
fn link(bytes: &mut Vec<u8>, vtable: usize) {
    let table = bytes.len();
    let mut place = if vtable == 8 { 0 } else { vtable - 4 };
    while bytes[place..place + 4] == [0; 4] {
        bytes[place..place + 4].copy_from_slice(&((table - place) as u32).to_le_bytes());
        place = place.saturating_sub(4);
    }
    bytes.extend(((table - vtable) as u32).to_le_bytes());
}

fn refused_for(bytes: &[u8], limits: &Limits) -> Option<(&'static str, u64)> {
    let checked = Pte::check_with(bytes, &ParseOptions { limits: *limits, ..ParseOptions::default() }).err();
    assert_eq!(checked, Pte::parse_with(bytes, &ParseOptions { limits: *limits, ..ParseOptions::default() }).err());
    match checked?.kind() {
        ErrorKind::Limit { what, limit } => Some((what, *limit)),
        other => panic!("{other}"),
    }
}

/// The tables visited before anything but their number stops it: the smallest limit that is not the reason.
fn visited_tables(bytes: &[u8]) -> u32 {
    let stops = |tables| {
        let limits = Limits { tables: Some(tables), bytes: None };
        refused_for(bytes, &limits).is_some_and(|(what, _)| what == "tables")
    };
    let (mut low, mut high) = (0, most(bytes.len() as u64) as u32);
    while low < high {
        let middle = low.midpoint(high);
        (low, high) = if stops(middle) { (middle + 1, high) } else { (low, middle) };
    }
    low
}

#[test]
fn an_exponential_tree_is_refused_in_time_linear_in_its_size() {
    for (n, padding) in [8, 64, 512, 4096].into_iter().flat_map(|n| [0, 1, 4, 12].map(|padding| (n, padding))) {
        for counts in [[n; 4], [n, 2, 2, 2], [2, n, 2, 2], [2, 2, n, 2], [2, 2, 2, n], [1, 1, 2, n], [8, 8, 8, n]] {
            // Bytes that follow, which the budget counts, let it come further.
            let bytes = padded(exponential(counts), padding);
            let size = bytes.len() as u64;
            let Some((what, limit)) = refused_for(&bytes, &Limits::default()) else {
                // It holds little more than a file of this size can.
                assert!(n < 64 || counts != [n; 4]);
                continue;
            };
            let most = most(size);
            assert!([("tables", most / 4), ("bytes of tables, vectors and strings", most)].contains(&(what, limit)));
            let visited = visited_tables(&bytes);
            assert!(u64::from(visited) <= most / 4, "{visited} of {size} bytes");
            let allocated = measure(|| assert!(Pte::parse(&bytes).is_err())).bytes_total;
            println!("{counts:?}: {size} bytes, {visited} tables visited, {allocated} bytes allocated");
            assert!(allocated <= MULTIPLE * most + ERROR, "{allocated} bytes for {size}");
        }
    }
}

/// Counted by hand: what a table, vector or string covers is counted as often as it is visited.
#[test]
fn limits_hold_at_the_limit_and_not_one_past_it() {
    let bytes = exponential([2; 4]);
    let tables = 1 + 2 + 4 + 8 + 16;
    let vectors = 1 + 2 + 4 + 8;
    let covered = 8 * (1 + 2 + 4 + 8) + 4 * 16 + vectors * (4 + 2 * 4);
    let limits = |tables, bytes| Limits { tables: Some(tables), bytes: Some(bytes) };
    assert_eq!(refused_for(&bytes, &limits(tables, covered)), None);
    assert_eq!(refused_for(&bytes, &limits(tables - 1, covered)), Some(("tables", u64::from(tables) - 1)));
    let what = "bytes of tables, vectors and strings";
    assert_eq!(refused_for(&bytes, &limits(tables, covered - 1)), Some((what, u64::from(covered) - 1)));
    assert_eq!(refused_for(&bytes, &limits(0, covered)), Some(("tables", 0)));
    assert_eq!(refused_for(&bytes, &limits(tables, 0)), Some((what, 0)));
}

/// No official writer shares anything but vtables, so the default limits leave room in every good file.
#[test]
fn good_files_stay_within_the_default_limits_and_reach_them_exactly() {
    each(&files(), |file| {
        if !file.is_pte() {
            return;
        }
        let tables = visited_tables(file.bytes());
        assert!(u64::from(tables) <= program_size(file.bytes()) / 4);
        let limits = |tables| Limits { tables: Some(tables), bytes: None };
        assert_eq!(refused_for(file.bytes(), &limits(tables)), None);
        assert_eq!(refused_for(file.bytes(), &limits(tables - 1)), Some(("tables", u64::from(tables) - 1)));
    });
}
