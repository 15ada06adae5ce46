//! Which workers have handed a cell over since the collector looked last: one bit per worker, so that looking after ten
//! thousand of them costs as much as there is to take, and not as many as there are. Does not know what was handed over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bits of a step's workers.
#[derive(Debug)]
pub(crate) struct Handovers {
    words: Box<[AtomicU64]>,
}

impl Handovers {
    /// For so many workers, none of which has handed anything over.
    pub(crate) fn of(workers: usize) -> Arc<Self> {
        Arc::new(Self { words: (0..workers.div_ceil(64)).map(|_| AtomicU64::new(0)).collect() })
    }

    /// Says that a worker has put a cell into its queue.
    pub(crate) fn tell(&self, worker: usize) {
        // What was put into the queue before is seen by whoever takes the bit.
        self.words[worker / 64].fetch_or(1 << (worker % 64), Ordering::Release);
    }

    /// The workers that have said so since the last call.
    pub(crate) fn take(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            // A read first: to write to a word that nobody has written to would take it from the workers' caches.
            let told = if word.load(Ordering::Relaxed) == 0 { 0 } else { word.swap(0, Ordering::Acquire) };
            (0..64).filter(move |bit| told & (1 << bit) != 0).map(move |bit| at * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_that_told_is_taken_once() {
        let handovers = Handovers::of(200);
        let told = [0, 1, 63, 64, 127, 199];
        told.iter().for_each(|&worker| handovers.tell(worker));
        handovers.tell(63);
        assert_eq!(handovers.take().collect::<Vec<_>>(), told);
        assert_eq!(handovers.take().next(), None);
    }
}
