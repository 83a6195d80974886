//! The same work for many items, on every core.

use std::{
    num::NonZero,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::progress::Progress;

/// More threads than this only wait for each other in the kernel's directory locks.
const MAX_THREADS: usize = 8;
/// Fewer items than this are not worth a thread.
const MIN_ITEMS_PER_THREAD: usize = 32;

/// How many threads work at once.
pub(crate) fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS)
}

/// `work` of each item, in the items' order, counting each that is done. Each thread makes one `context` and keeps it.
pub(crate) fn map<T: Sync, R: Send, C>(
    items: &[T],
    progress: &Progress,
    context: impl Fn() -> C + Sync,
    work: impl Fn(&mut C, &T) -> R + Sync,
) -> Vec<R> {
    let counted = |context: &mut C, item: &T| {
        let result = work(context, item);
        progress.advance(1);
        result
    };
    let threads = threads().min(items.len() / MIN_ITEMS_PER_THREAD + 1);
    if threads == 1 {
        let mut context = context();
        return items.iter().map(|item| counted(&mut context, item)).collect();
    }
    let next = AtomicUsize::new(0);
    let run = || {
        let mut context = context();
        let mut results = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return results };
            results.push((at, counted(&mut context, item)));
        }
    };
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(run)).collect();
        let mut results = run();
        for other in others {
            match other.join() {
                Ok(theirs) => results.extend(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        results
    });
    results.sort_unstable_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}
