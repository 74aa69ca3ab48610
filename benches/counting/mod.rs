//! A counting allocator. A target that includes this module uses it as its global allocator.

// Each target that includes this module uses only a part of it.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator with counters.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    fn count(size: usize) {
        ALLOCATIONS.fetch_add(1, Relaxed);
        PEAK.fetch_max(LIVE.fetch_add(size, Relaxed) + size, Relaxed);
    }
}

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The heap memory that a function uses.
pub struct Heap {
    pub allocations: usize,
    /// The size of the returned value, in bytes.
    pub held: usize,
    /// The peak of use, in bytes.
    pub peak: usize,
}

/// Measures the heap memory that `make` uses. Drops the value.
pub fn heap<T>(make: impl FnOnce() -> T) -> Heap {
    let (allocations, live) = (ALLOCATIONS.load(Relaxed), LIVE.load(Relaxed));
    PEAK.store(live, Relaxed);
    let made = make();
    let heap = Heap {
        allocations: ALLOCATIONS.load(Relaxed) - allocations,
        held: LIVE.load(Relaxed).saturating_sub(live),
        peak: PEAK.load(Relaxed).saturating_sub(live),
    };
    drop(made);
    heap
}
