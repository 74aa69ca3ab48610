//! The limits on memory and output that `SECURITY.md` promises.

#[path = "../../benches/counting/mod.rs"]
mod counting;

use counting::heap;
use std::io::{self, Write};

/// Returns the limit in bytes for `opened` bytes of files: 64 MiB, and 32 times these.
fn limit(opened: usize) -> u64 {
    (64 << 20) + 32 * opened as u64
}

/// Runs a target and fails if it takes more memory than the limit.
pub fn measured(target: fn(&[u8]), bytes: &[u8]) {
    let peak = heap(|| target(bytes)).peak as u64;
    assert!(peak <= limit(bytes.len()), "{peak} bytes of memory for an input of {}", bytes.len());
}

/// A writer that counts bytes and drops them. It fails if there are more than the limit.
pub(crate) struct Output {
    left: u64,
}

impl Output {
    /// Creates a writer for what is made from files of this many bytes.
    pub(crate) fn of(opened: usize) -> Self {
        Self { left: limit(opened) }
    }

    /// Counts bytes that would be written.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.left = self.left.checked_sub(bytes).expect("more output than the limit");
    }

    /// Writes an answer as JSON.
    pub(crate) fn json(&mut self, answer: &impl serde::Serialize) {
        serde_json::to_writer(self, answer).expect("an answer is JSON");
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.count(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
