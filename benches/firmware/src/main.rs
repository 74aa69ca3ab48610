//! Firmware that does one thing with a program, selected by a feature: `check` its structure, `parse` it, or verify it at the `runtime`
//! level. `size.sh` measures the linked code.

#![no_std]
#![no_main]
#![allow(missing_docs)]

extern crate alloc;

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

unsafe extern "C" {
    fn allocate(size: usize, alignment: usize) -> *mut u8;
    static PROGRAM: u8;
    static PROGRAM_SIZE: usize;
}

struct Outside;

// SAFETY: the firmware's own allocator, which is not measured.
unsafe impl GlobalAlloc for Outside {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { allocate(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Outside = Outside;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

#[unsafe(no_mangle)]
pub extern "C" fn _start() -> u32 {
    // SAFETY: the linker puts the program there.
    let file = unsafe { core::slice::from_raw_parts(&raw const PROGRAM, PROGRAM_SIZE) };
    look(file)
}

#[cfg(not(any(feature = "check", feature = "parse", feature = "runtime")))]
fn look(file: &[u8]) -> u32 {
    file.len() as u32
}

#[cfg(feature = "check")]
fn look(file: &[u8]) -> u32 {
    executorch_format::Pte::verify_structure(file).is_ok().into()
}

#[cfg(feature = "parse")]
fn look(file: &[u8]) -> u32 {
    executorch_format::Pte::parse(file).map_or(0, |pte| pte.methods().len() as u32)
}

#[cfg(feature = "runtime")]
fn look(file: &[u8]) -> u32 {
    executorch_format::Pte::parse(file).map_or(0, |pte| pte.verify_for_runtime().len() as u32)
}
