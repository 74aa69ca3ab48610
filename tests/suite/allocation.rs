//! The cost of reading any file: memory in proportion to the program's size, no allocation when only checking, and work
//! within the limits. Allocations are counted per thread.

use crate::damage::each;
use allocation_counter::measure;
use executorch_format::delegate::Payload;
use executorch_format::{Error, ErrorKind, Limits, ParseOptions, Ptd, Pte, probe};
use executorch_format_support::fixtures::{Fixture, fixtures, step, stride};

/// The maximum number of bytes to allocate for each byte that the default limits allow to be covered.
///
/// A method takes up to 264 bytes of memory, and at least 16 bytes in a valid file. A list reserves at most one method for each 8
/// remaining bytes of the file.
const MULTIPLE: u64 = 48;

/// Returns the bytes that the default limits allow to be covered.
fn most(size: u64) -> u64 {
    size + (1 << 16)
}

/// The same for valid files, per byte of the file. The worst file in `tests/data` takes 1.75 bytes on a 64-bit machine.
const GOOD_MULTIPLE: u64 = 3;

/// The maximum number of bytes for an error with its text and path.
const ERROR: u64 = 1024;

fn check(file: &Fixture, bytes: &[u8]) -> Result<(), Error> {
    if file.is_pte() { Pte::verify_structure(bytes) } else { Ptd::verify_structure(bytes) }
}

/// Returns the total number of bytes that decoding allocates, and whether it succeeds.
fn allocated(file: &Fixture, bytes: &[u8]) -> (u64, bool) {
    let mut ok = false;
    let info = measure(|| {
        ok = if file.is_pte() { Pte::parse(bytes).is_ok() } else { Ptd::parse(bytes).is_ok() };
    });
    (info.bytes_total, ok)
}

fn program_size(bytes: &[u8]) -> u64 {
    let end =
        probe(bytes).ok().filter(|probe| probe.header.is_some()).map(|probe| probe.metadata(u64::MAX).unwrap().end);
    end.map_or(bytes.len() as u64, |end| end.min(bytes.len() as u64))
}

#[test]
fn checking_a_valid_file_allocates_nothing() {
    each(&fixtures(), |file| {
        let info = measure(|| check(file, file.bytes()).unwrap());
        assert_eq!((info.count_total, info.bytes_total), (0, 0));
    });
}

#[test]
fn decoding_a_valid_file_allocates_a_multiple_of_its_program() {
    each(&fixtures(), |file| {
        let (bytes, ok) = allocated(file, file.bytes());
        assert!(ok);
        let size = program_size(file.bytes());
        println!("{:6.2} {}", bytes as f64 / size as f64, file.name());
        assert!(bytes <= GOOD_MULTIPLE * size, "{bytes} bytes for {size}");
    });
}

#[test]
fn decoding_a_damaged_file_does_not_allocate_more() {
    let small: Vec<_> = fixtures().into_iter().filter(|file| file.bytes().len() <= 2500).collect();
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

/// Returns a program with the given numbers of methods, chains in each method, lists of frames in each chain, and frames in each list.
/// All items of a list are the same table, so `n`⁴ frames take about 16 × `n` bytes.
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
    // An empty Frame.
    let vtable = bytes.len();
    bytes.extend([4u16, 4].into_iter().flat_map(u16::to_le_bytes));
    link(&mut bytes, vtable);
    bytes
}

fn padded(mut bytes: Vec<u8>, times: usize) -> Vec<u8> {
    bytes.resize(bytes.len() * (1 + times), 0);
    bytes
}

/// Starts a table with its offset to `vtable`, and makes the offsets that are still 0 point to the table: the root offset, or those
/// in the vector before the vtable.
fn link(bytes: &mut Vec<u8>, vtable: usize) {
    let table = bytes.len();
    let mut at = if vtable == 8 { 0 } else { vtable - 4 };
    while bytes[at..at + 4] == [0; 4] {
        bytes[at..at + 4].copy_from_slice(&((table - at) as u32).to_le_bytes());
        at = at.saturating_sub(4);
    }
    bytes.extend(((table - vtable) as u32).to_le_bytes());
}

fn refused_for(bytes: &[u8], limits: &Limits) -> Option<(&'static str, u64)> {
    let checked = Pte::verify_structure_with(bytes, &ParseOptions::default().with_limits(*limits)).err();
    assert_eq!(checked, Pte::parse_with(bytes, &ParseOptions::default().with_limits(*limits)).err());
    match checked?.kind() {
        ErrorKind::Limit { what, limit } => Some((what, *limit)),
        other => panic!("{other}"),
    }
}

/// The text for the limit on bytes.
const BYTES: &str = "bytes of tables, vectors and strings";

/// Returns the number of bytes covered by a visit: the smallest limit on bytes that is not the reason for refusal.
fn visited_bytes(bytes: &[u8]) -> u32 {
    let stops =
        |most| refused_for(bytes, &Limits::default().with_bytes(Some(most))).is_some_and(|(what, _)| what == BYTES);
    let (mut low, mut high) = (0, most(bytes.len() as u64) as u32);
    while low < high {
        let middle = low.midpoint(high);
        (low, high) = if stops(middle) { (middle + 1, high) } else { (low, middle) };
    }
    low
}

#[test]
fn an_exponential_tree_is_refused_in_linear_time() {
    // The largest sizes take most of the time.
    let sizes = match (stride(), step()) {
        (1, _) => &[8, 64, 512, 4096][..],
        (_, 1) => &[8, 64, 512],
        _ => &[8, 64],
    };
    for (n, padding) in sizes.iter().flat_map(|n| [0, 1, 4, 12].map(|padding| (*n, padding))) {
        for counts in [[n; 4], [n, 2, 2, 2], [2, n, 2, 2], [2, 2, n, 2], [2, 2, 2, n], [1, 1, 2, n], [8, 8, 8, n]] {
            // Padding increases the budget.
            let bytes = padded(exponential(counts), padding);
            let size = bytes.len() as u64;
            let Some((what, limit)) = refused_for(&bytes, &Limits::default()) else {
                // The tree is hardly larger than a tree without sharing.
                assert!(n < 64 || counts != [n; 4]);
                continue;
            };
            let most = most(size);
            assert_eq!((what, limit), (BYTES, most));
            let allocated = measure(|| assert!(Pte::parse(&bytes).is_err())).bytes_total;
            println!("{counts:?}: {size} bytes, {allocated} bytes allocated");
            assert!(allocated <= MULTIPLE * most + ERROR, "{allocated} bytes for {size}");
        }
    }
}

/// The counts were made by hand: a table, vector or string counts each time it is visited.
#[test]
fn a_file_at_the_limit_is_accepted_and_one_beyond_it_is_refused() {
    let bytes = exponential([2; 4]);
    let vectors = 1 + 2 + 4 + 8;
    let covered = 8 * (1 + 2 + 4 + 8) + 4 * 16 + vectors * (4 + 2 * 4);
    let limits = |bytes| Limits::default().with_bytes(Some(bytes));
    assert_eq!(refused_for(&bytes, &limits(covered)), None);
    assert_eq!(refused_for(&bytes, &limits(covered - 1)), Some((BYTES, u64::from(covered) - 1)));
    assert_eq!(refused_for(&bytes, &limits(0)), Some((BYTES, 0)));
}

/// Official writers share only vtables, so every valid file is well within the default limits.
#[test]
fn valid_files_are_within_the_default_limits_and_reach_exact_limits() {
    each(&fixtures(), |file| {
        if !file.is_pte() {
            return;
        }
        let visited = visited_bytes(file.bytes());
        assert!(u64::from(visited) <= program_size(file.bytes()));
        let limits = |bytes| Limits::default().with_bytes(Some(bytes));
        assert_eq!(refused_for(file.bytes(), &limits(visited)), None);
        assert_eq!(refused_for(file.bytes(), &limits(visited - 1)), Some((BYTES, u64::from(visited) - 1)));
    });
}

/// The memory of a file and its payloads by `Limits::memory` bounds the allocations for them.
#[test]
fn a_limit_on_memory_bounds_what_is_allocated() {
    each(&fixtures(), |file| {
        if !file.is_pte() {
            return;
        }
        let bytes = file.bytes();
        let parse = |memory| {
            let limits = Limits::default().with_memory(Some(memory));
            Pte::parse_with(bytes, &ParseOptions::default().with_limits(limits))
        };
        let taken = Pte::parse(bytes).unwrap().source.unwrap().memory();
        let allocated = measure(|| drop(parse(taken).unwrap())).bytes_max;
        assert!(allocated <= taken, "{}: {allocated} bytes allocated, {taken} counted", file.name());
        for less in [taken - 1, taken / 2, 0] {
            let mut error = None;
            let allocated = measure(|| error = parse(less).err()).bytes_max;
            assert!(allocated <= less + ERROR, "{}: {allocated} bytes allocated of {less}", file.name());
            assert_eq!(error.unwrap().kind(), &ErrorKind::Limit { what: "bytes of memory", limit: less });
        }
        // With no memory left for payloads.
        let pte = parse(taken).unwrap();
        for open in pte.open_payloads() {
            if let Ok(Payload::Xnnpack(_) | Payload::Vulkan(_)) = open.payload {
                panic!("{}: a graph in no memory", file.name());
            }
        }
    });
}

/// Its constants are parts of one segment; no rule needs all of it at once.
#[test]
fn verifying_a_new_program_copies_no_constants() {
    use executorch_format::schema::program::{EValue, ExecutionPlan, Program, Tensor};
    use executorch_format::schema::{DataSegment, ScalarType};
    use executorch_format::verify::Level;
    use executorch_format::{DataCollector, PteOptions};

    const ELEMENTS: usize = 1 << 20;
    let weights = [vec![1u8; ELEMENTS], vec![2; ELEMENTS]];
    let mut data = DataCollector::new();
    let values: Vec<EValue> = weights
        .iter()
        .map(|weight| Tensor::new(ScalarType::BYTE, vec![ELEMENTS as i32]).with_data(data.constant(&weight[..])).into())
        .collect();
    let program = Program {
        execution_plan: Some(vec![ExecutionPlan::new("forward", values, Vec::new(), Vec::new(), 0)]),
        ..Program::default()
    };
    let mut pte = data.finish(program, &PteOptions::default()).unwrap();
    let taken = |pte: &Pte<'_>| measure(|| drop(pte.verify(Level::Strict))).bytes_total;
    assert!(taken(&pte) < ELEMENTS as u64 / 4, "{} bytes", taken(&pte));
    // A tree that was changed by hand may claim any size.
    for DataSegment { size, .. } in pte.program.segments.iter_mut().flatten() {
        *size = 1 << 60;
    }
    assert!(taken(&pte) < ELEMENTS as u64 / 4, "{} bytes", taken(&pte));
    assert!(pte.segment(0).is_err() && pte.clone().into_owned().segment(0).is_err());
}
