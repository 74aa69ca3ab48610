//! Work on much data: on all cores with the feature `parallel`, otherwise one piece after the other.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// The fewest bytes for which other threads are started.
#[cfg(feature = "parallel")]
const WORTH: u64 = 1 << 20;

/// Work of which none needs the result of another.
#[derive(Default)]
pub(crate) struct Jobs<'j> {
    list: Vec<Job<'j>>,
    /// How many bytes they read.
    bytes: u64,
}

type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

impl<'j> Jobs<'j> {
    /// Adds one that reads that many bytes.
    pub(crate) fn add(&mut self, bytes: u64, job: impl FnOnce() + Send + 'j) {
        self.list.push(Box::new(job));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Runs them all.
    pub(crate) fn run(self) {
        #[cfg(feature = "parallel")]
        if self.list.len() > 1 && self.bytes >= WORTH {
            rayon::scope(|scope| {
                for job in self.list {
                    scope.spawn(move |_| job());
                }
            });
            return;
        }
        for job in self.list {
            job();
        }
    }
}
