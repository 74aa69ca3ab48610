//! Work on several items at once.

use crate::failure::Failure;
#[cfg(feature = "parallel")]
use rayon::prelude::*;

/// Calls `work` for each item, on all cores, and then `done` with each item and its result, in the order of the items.
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(&T, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // A single item needs no other threads, which take time to start, and memory.
    if let [item] = items {
        return done(item, work(item));
    }
    // In batches, so that the first results do not wait for the last, and few results are in memory at a time.
    for batch in items.chunks(batch()) {
        for (item, result) in batch.iter().zip(results(batch, &work)) {
            done(item, result)?;
        }
    }
    Ok(())
}

/// Returns the number of items that are processed before the first results are passed on.
#[cfg(feature = "parallel")]
pub fn batch() -> usize {
    8 * rayon::current_num_threads()
}

#[cfg(feature = "parallel")]
fn results<T: Sync, R: Send>(batch: &[T], work: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    batch.par_iter().map(work).collect()
}

/// Returns 1: without threads, there is one item at a time.
#[cfg(not(feature = "parallel"))]
pub fn batch() -> usize {
    1
}

#[cfg(not(feature = "parallel"))]
fn results<T, R>(batch: &[T], work: &impl Fn(&T) -> R) -> Vec<R> {
    batch.iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_until_one_fails() {
        let items: Vec<usize> = (0..1000).collect();
        let mut found = Vec::new();
        let outcome = in_order(
            &items,
            |item| item * 2,
            |item, double| {
                found.push((*item, double));
                if *item == 900 { Err(Failure::Reported(1)) } else { Ok(()) }
            },
        );
        assert!(matches!(outcome, Err(Failure::Reported(1))));
        assert!(found.into_iter().eq((0..=900).map(|item| (item, item * 2))));
    }
}
