//! Independent jobs, on all cores.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Independent jobs.
#[derive(Default)]
pub struct Jobs<'j> {
    list: Vec<Job<'j>>,
    /// The number of bytes that the jobs read.
    bytes: u64,
}

type Job<'j> = Box<dyn FnOnce() + Send + 'j>;

impl<'j> Jobs<'j> {
    /// The number of bytes that justifies another thread.
    pub const WORTH: u64 = 1 << 20;

    /// Adds a job that reads `bytes` bytes.
    pub fn add(&mut self, bytes: u64, job: impl FnOnce() + Send + 'j) {
        self.list.push(Box::new(job));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Runs all jobs, on threads that end with the call. A pool would outlive it, and after a `fork` the child process would wait forever
    /// for the pool's threads, which it does not have.
    pub fn run(self) {
        use std::sync::{Mutex, PoisonError};
        use std::thread;

        let cores = thread::available_parallelism().map_or(1, usize::from);
        let worth = usize::try_from(self.bytes / Self::WORTH).unwrap_or(usize::MAX);
        let threads = cores.min(self.list.len()).min(worth);
        let jobs = Mutex::new(self.list.into_iter());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(job) = next() {
                job();
            }
        };
        thread::scope(|scope| {
            // If the system refuses a thread, the others do its work.
            let helper = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (1..threads).map_while(helper).collect();
            work();
            // The scope waits for the work, but not until the threads have ended.
            for helper in helpers {
                helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::{Barrier, Mutex};
    use std::thread;

    #[test]
    fn each_job_runs_once() {
        let mut results = [0_u32; 100];
        let mut jobs = Jobs::default();
        for (index, result) in (0..).zip(&mut results) {
            jobs.add(Jobs::WORTH, move || *result += index);
        }
        jobs.run();
        assert!(results.into_iter().eq(0..100));
    }

    #[test]
    fn little_work_stays_on_its_thread() {
        let threads = Mutex::new(HashSet::new());
        let mut jobs = Jobs::default();
        for _ in 0..8 {
            jobs.add(Jobs::WORTH / 8, || {
                drop(threads.lock().map(|mut threads| threads.insert(thread::current().id())))
            });
        }
        jobs.run();
        assert!(threads.into_inner().is_ok_and(|threads| threads.into_iter().eq([thread::current().id()])));
    }

    #[test]
    fn much_work_runs_at_once() {
        // On a single core, the two jobs would wait for each other.
        if thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
            let both = Barrier::new(2);
            let mut jobs = Jobs::default();
            for _ in 0..2 {
                jobs.add(Jobs::WORTH, || {
                    both.wait();
                });
            }
            jobs.run();
        }
    }
}
