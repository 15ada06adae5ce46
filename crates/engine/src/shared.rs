//! What the workers of a step share: stop flags, counts of errors, and who has ended.
//!
//! A worker's loop reads its stream's stop flag, nothing else; all that is locked or waited for here happens before a
//! worker's start and after its end.

use fathom_units::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

/// What all workers of a step share.
#[derive(Debug)]
pub(crate) struct Shared {
    streams: Vec<SharedStream>,
    /// Raised when a stream had more errors than its policy allows.
    errors_beyond_policy: AtomicBool,
    ends: Mutex<Vec<End>>,
    changed: Condvar,
}

/// What the workers of one stream share.
#[derive(Debug, Default)]
struct SharedStream {
    /// Raised from outside (a signal) or by a worker whose end ends this stream.
    stop: AtomicBool,
    /// I/O errors so far.
    errors: AtomicU64,
}

/// How far a stream is from its end.
#[derive(Debug, Clone, Copy)]
struct End {
    /// Workers that have not ended.
    left: usize,
    /// Since the step's start, of those that have.
    latest: Nanos,
}

impl Shared {
    /// For streams with so many workers each.
    pub(crate) fn new(workers: impl Iterator<Item = usize>) -> Self {
        let ends: Vec<End> = workers.map(|left| End { left, latest: Nanos::ZERO }).collect();
        Self {
            streams: ends.iter().map(|_| SharedStream::default()).collect(),
            errors_beyond_policy: AtomicBool::new(false),
            ends: Mutex::new(ends),
            changed: Condvar::new(),
        }
    }

    /// The flag that ends a stream early.
    pub(crate) fn stop_flag(&self, stream: usize) -> &AtomicBool {
        &self.streams[stream].stop
    }

    /// Ends all streams early.
    pub(crate) fn stop_all(&self) {
        let ends = self.lock();
        for stream in &self.streams {
            stream.stop.store(true, Ordering::Relaxed);
        }
        drop(ends);
        self.changed.notify_all();
    }

    /// Counts an error of a stream; how many it has had with this one.
    pub(crate) fn count_error(&self, stream: usize) -> u64 {
        self.streams[stream].errors.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends the step for its errors.
    pub(crate) fn fail_for_errors(&self) {
        self.errors_beyond_policy.store(true, Ordering::Relaxed);
        self.stop_all();
    }

    /// True when errors ended the step.
    pub(crate) fn has_failed_for_errors(&self) -> bool {
        self.errors_beyond_policy.load(Ordering::Relaxed)
    }

    /// A worker has ended, `at` since the step's start.
    pub(crate) fn ended(&self, stream: usize, at: Nanos) {
        let mut ends = self.lock();
        let end = &mut ends[stream];
        end.left = end.left.saturating_sub(1);
        end.latest = end.latest.max(at);
        drop(ends);
        self.changed.notify_all();
    }

    /// Waits until all of `streams` have ended; when the last one did, since the step's start. `None` when `own` was
    /// stopped meanwhile.
    pub(crate) fn await_ends(&self, own: usize, streams: &[u32]) -> Option<Nanos> {
        let mut ends = self.lock();
        loop {
            if self.streams[own].stop.load(Ordering::Relaxed) {
                return None;
            }
            let awaited = || streams.iter().map(|&stream| ends[stream as usize]);
            if awaited().all(|end| end.left == 0) {
                return Some(awaited().map(|end| end.latest).max().unwrap_or_default());
            }
            ends = self.changed.wait(ends).expect("no thread panics while it holds the lock");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<End>> {
        self.ends.lock().expect("no thread panics while it holds the lock")
    }
}
