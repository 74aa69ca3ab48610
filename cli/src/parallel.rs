//! Work on several items at once.

use crate::failure::Failure;
use executorch_format::parallel::Jobs;
use std::thread;

/// Calls `work` for each item, on all cores, and then `done` with each item and its result, in the order of the items.
pub fn in_order<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
    mut done: impl FnMut(&T, R) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // In batches, so that the first results do not wait for the last, and few results are in memory at a time.
    for batch in items.chunks(batch()) {
        let mut results: Vec<Option<R>> = batch.iter().map(|_| None).collect();
        let mut jobs = Jobs::default();
        for (item, result) in batch.iter().zip(&mut results) {
            // A file is worth a thread, whatever its size.
            jobs.add(Jobs::WORTH, || *result = Some(work(item)));
        }
        jobs.run();
        for (item, result) in batch.iter().zip(results.into_iter().flatten()) {
            done(item, result)?;
        }
    }
    Ok(())
}

/// Returns the number of items that are processed before the first results are passed on.
pub fn batch() -> usize {
    8 * thread::available_parallelism().map_or(1, usize::from)
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
