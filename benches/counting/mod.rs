//! The heap, counted: whoever takes this module gets its allocator.

// Each target that takes this module uses its own part of it.
#![allow(dead_code)]

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

/// What making something took of the heap.
pub struct Heap {
    pub allocations: usize,
    /// Bytes that what was made still holds.
    pub held: usize,
    /// Bytes at most, on the way.
    pub peak: usize,
}

/// Makes it, counts, and drops it.
pub fn heap<T>(make: impl FnOnce() -> T) -> Heap {
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
