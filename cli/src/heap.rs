//! How the process uses memory, where the system is Linux with glibc: its allocator, without returning what is freed, and with huge pages
//! for a large heap. With a program of 100 MB of metadata, pages of 4 KiB took a fifth of the time.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// In bytes. A smaller heap has small pages, of which no more are taken than are needed.
const SMALL: usize = 32 << 20;

/// How much more than is needed the heap grows by, in bytes: huge pages are asked for before they are used.
const AHEAD: i32 = 32 << 20;

/// The largest heap, in bytes. Other memory, such as that of other threads, is farther away from it.
const MOST: usize = 1 << 40;

/// The address up to which huge pages were asked for, or the end of a small heap.
static ASKED: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's allocator; the process's heap gets huge pages as it grows.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

/// Lets freed memory be used again instead of returning it to the system, which has to clear each page that it gives anew, and asks for huge
/// pages from now on. To be called before there is another thread.
pub fn set_up() {
    // SAFETY: the first three set numbers of the allocator, and no other thread uses it; the last returns the end of the heap.
    let end = unsafe {
        libc::mallopt(libc::M_MMAP_MAX, 0);
        libc::mallopt(libc::M_TRIM_THRESHOLD, -1);
        libc::mallopt(libc::M_TOP_PAD, AHEAD);
        libc::sbrk(0)
    };
    ASKED.store(end.addr().saturating_add(SMALL), Ordering::Relaxed);
}

impl Heap {
    /// Asks for huge pages if this allocation is in a part of the heap for which they were not asked for.
    #[inline]
    fn took(&self, start: *mut u8, size: usize) -> *mut u8 {
        let end = start.addr().wrapping_add(size);
        if end.wrapping_sub(ASKED.load(Ordering::Relaxed)) < MOST {
            self.ask();
        }
        start
    }

    #[cold]
    fn ask(&self) {
        // SAFETY: the range is a part of the heap, and the advice does not change what is in it. If it is not taken, nothing is lost.
        unsafe {
            let end = libc::sbrk(0);
            let asked = ASKED.swap(end.addr(), Ordering::Relaxed);
            let size = end.addr().saturating_sub(asked & !0xfff);
            libc::madvise(end.wrapping_byte_sub(size), size, libc::MADV_HUGEPAGE);
        }
    }
}

// SAFETY: all is the system's allocator's.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.took(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.took(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.took(unsafe { System.realloc(start, layout, size) }, size)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(start, layout) }
    }
}
