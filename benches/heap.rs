//! Heap: what the tree takes, and that a check takes none. Prints a Markdown table.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod inputs;

use executorch_format::Pte;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, counting.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    fn took(size: usize) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        PEAK.fetch_max(LIVE.fetch_add(size, Relaxed) + size, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::took(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::took(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Heap {
    allocations: usize,
    /// Bytes that what was made still holds.
    held: usize,
    /// Bytes at most, on the way.
    peak: usize,
}

fn heap<T>(make: impl FnOnce() -> T) -> Heap {
    let (allocations, live) = (ALLOCATIONS.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    let made = make();
    let heap = Heap {
        allocations: ALLOCATIONS.load(Relaxed) - allocations,
        held: LIVE.load(Relaxed) - live,
        peak: PEAK.load(Relaxed) - live,
    };
    drop(made);
    heap
}

fn main() {
    println!("| heap of | allocations | bytes held | bytes at most | held per byte of program |");
    println!("|---|---:|---:|---:|---:|");
    for input in [inputs::llama48_narrow(), inputs::llama6_external()] {
        let program = input.metadata().len() as f64;
        let line = |what: &str, Heap { allocations, held, peak }| {
            let ratio = held as f64 / program;
            println!("| {} of {} | {allocations} | {held} | {peak} | {ratio:.2} |", what, input.name);
        };
        line("parse", heap(|| Pte::parse(&input.file).unwrap()));
        let check = heap(|| Pte::check(&input.file).unwrap());
        assert_eq!(check.allocations, 0, "a check allocates nothing");
        line("check", check);
    }
}
