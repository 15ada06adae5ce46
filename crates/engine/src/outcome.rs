//! How a worker ended, and what its thread used. Knows what is told of it, not how it came about.

use crate::demands::Broken;
use crate::schedule::LeftWaiting;
use crate::verify::Verified;
use crate::worker::FirstError;
use fathom_io::thread::{self, Usage};
use fathom_schema::{DepthFound, Emptied};
use fathom_units::Nanos;

/// What the calling thread had used when what counts began.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    usage: Usage,
    runnable_ns: Option<u64>,
}

impl Account {
    /// From here on. Opens a file: not for between two operations.
    pub(crate) fn open() -> Self {
        Self { usage: thread::usage(), runnable_ns: thread::runnable_ns() }
    }

    /// From here on, but for how long the thread waits for a CPU: cheap enough for between two segments of operations.
    pub(crate) fn open_briefly() -> Self {
        Self { usage: thread::usage(), runnable_ns: None }
    }

    /// What was used since.
    pub(crate) fn used(&self) -> Usage {
        thread::usage().since(&self.usage)
    }

    /// For how long it waited for a CPU since; 0 where that is not counted.
    pub(crate) fn waited_ns(&self) -> u64 {
        let since = |before| Some(thread::runnable_ns()?.saturating_sub(before));
        self.runnable_ns.and_then(since).unwrap_or(0)
    }
}

/// How a worker ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Start of its measure phase, since the step's start.
    pub(crate) start: Nanos,
    /// End of its measure phase, since the step's start.
    pub(crate) end: Nanos,
    /// How long the sync took that is the last part of it.
    pub(crate) synced: Nanos,
    pub(crate) usage: Usage,
    /// For how long it waited for a CPU; 0 where that is not counted, and where data is read back in between.
    pub(crate) runnable_ns: u64,
    pub(crate) first_error: Option<FirstError>,
    /// What it did not keep.
    pub(crate) broken: Option<Broken>,
    /// How long it waited inside the measured time for single operations to be taken.
    pub(crate) waited: Nanos,
    /// Why it could not go on.
    pub(crate) failure: Option<String>,
    /// How the command after the load ended, where that was not well.
    pub(crate) farewell: Option<String>,
    /// What verification came to.
    pub(crate) verified: Option<Verified>,
    /// What its search for a queue depth came to.
    pub(crate) depth: Option<DepthFound>,
    /// How its queue ran empty before the end of its measure phase.
    pub(crate) emptied: Option<Emptied>,
    /// Whether it came to measure. Else what was done before may be what counts.
    pub(crate) has_measured: bool,
    /// Arrivals that were not issued.
    pub(crate) left: LeftWaiting,
    /// The edge in virtual time after which it ended, where others wait there until that is known.
    pub(crate) edge: Option<Nanos>,
}

impl Ended {
    /// Of a worker that came to no operation, `at` since the step's start.
    pub(crate) fn without_load(at: Nanos) -> Self {
        Self {
            start: at,
            end: at,
            synced: Nanos::ZERO,
            usage: Usage::default(),
            runnable_ns: 0,
            first_error: None,
            broken: None,
            waited: Nanos::ZERO,
            failure: None,
            farewell: None,
            verified: None,
            depth: None,
            emptied: None,
            has_measured: false,
            left: LeftWaiting::default(),
            edge: None,
        }
    }
}
