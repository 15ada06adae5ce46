//! What was counted: in one interval of one stream, or over a whole measure phase.

use crate::buckets::SparseHistogram;
use crate::targets::TargetTally;
use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};

/// What an operation does. The index order is fixed: it is used for arrays and in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// Moves bytes from the target.
    Read = 0,
    /// Moves bytes to the target.
    Write = 1,
    /// Gives bytes of the target back (discard).
    Trim = 2,
    /// Makes earlier writes stable; moves no bytes and is not counted in IOPS.
    Sync = 3,
}

impl OperationKind {
    /// How many there are.
    pub const COUNT: usize = 4;
    /// All, in index order.
    pub const ALL: [Self; Self::COUNT] = [Self::Read, Self::Write, Self::Trim, Self::Sync];

    /// 0 to `COUNT − 1`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// What the other end of a connection does meanwhile: sends what is received here, and receives what is sent.
    pub const fn opposite(self) -> Option<Self> {
        match self {
            Self::Read => Some(Self::Write),
            Self::Write => Some(Self::Read),
            Self::Trim | Self::Sync => None,
        }
    }

    /// Lower-case name: `read`, `write`, `trim`, `sync`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
            Self::Sync => "sync",
        }
    }
}

/// Where in a stream's life an interval lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its operations never count.
    Ramp,
    /// Its operations make the result.
    Measure,
    /// Reads that check what was written; they are counted apart from the result.
    Verify,
}

/// One interval of one stream, merged over its workers on one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Index of the step in the run, from 0.
    pub step: u32,
    /// Index of the stream in the step.
    pub stream: u32,
    /// Number of the interval since the step's start, from 0; edges are at `sequence × Step::interval`.
    pub sequence: u64,
    /// Start, since the step's start.
    #[serde(with = "wire::nanos")]
    pub start: Nanos,
    /// End, since the step's start; earlier than the next edge when the stream ended inside.
    #[serde(with = "wire::nanos")]
    pub end: Nanos,
    /// Whether it counts.
    pub phase: Phase,
    /// True when it came late: it covers more than one edge, or is the part of some workers beside a row of the others.
    pub late: bool,
    /// What was counted.
    pub tally: StreamTally,
}

/// What one stream (or one worker of it) did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamTally {
    /// One entry per kind that occurred, in index order.
    pub kinds: Vec<KindTally>,
    /// The same by target, for a stream on several (see [`crate::Stream::counted_targets`]): one entry per target and kind
    /// that occurred, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetTally>,
    /// Connections that were closed again, from the moment at which each began to be opened to its close; none where
    /// connections stay (see [`crate::Peer::per_connection`]).
    #[serde(default, skip_serializing_if = "Moments::is_empty")]
    pub connections: Moments,
    /// Operations in flight integrated over time, in operation-nanoseconds; ÷ duration = queue depth held.
    pub in_flight_ns: f64,
    /// Time in flight of operations that failed, in operation-nanoseconds: no latency has it.
    #[serde(default)]
    pub failed_ns: f64,
    /// Time in flight of operations that count after the end of what was measured, less that of those that do not count within
    /// it, in operation-nanoseconds. With the time in flight it makes what operations that count took.
    #[serde(default)]
    pub outside_ns: f64,
    /// CPU time of the workers, in nanoseconds.
    pub cpu_ns: u64,
    /// What else they used of their host; nothing in records of before it was counted.
    #[serde(default, skip_serializing_if = "ThreadUse::is_none")]
    pub used: ThreadUse,
    /// Operations by the number in flight right after their submission: 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64.
    pub depth_levels: [u64; 7],
    /// Submissions by operations handed over at once: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64.
    pub submit_sizes: [u64; 7],
    /// Reaps by operations found at once, in the same classes.
    pub complete_sizes: [u64; 7],
    /// Arrivals that came due (open loop only).
    pub arrivals: u64,
    /// Those of them that came due while no slot was free (open loop only).
    pub arrivals_late: u64,
    /// Those of them that were given up since more waited than may (open loop only).
    #[serde(default)]
    pub arrivals_dropped: u64,
    /// For how long those had waited that had come due by the end of the measure phase and were not issued (open loop only): they
    /// are in no latency. Of whole measure phases, never of intervals; absent where none waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_waiting: Option<Box<LatencyTally>>,
    /// Most arrivals waiting at once in a worker (open loop only); in an interval, of each worker in its own moment, added up: no
    /// more than these waited at once.
    pub backlog_max: u64,
}

/// What threads use of their host beside CPU time. Stored as the list of its four figures, since each interval has one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct ThreadUse {
    /// The part of their CPU time that was the kernel's, nanoseconds.
    pub system_ns: u64,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
}

impl ThreadUse {
    /// Whether it is nothing.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Adds that of other threads, or of another time.
    pub fn merge(&mut self, other: Self) {
        let Self { system_ns, context_switches, major_faults, minor_faults } = other;
        self.system_ns += system_ns;
        self.context_switches += context_switches;
        self.major_faults += major_faults;
        self.minor_faults += minor_faults;
    }
}

impl From<[u64; 4]> for ThreadUse {
    fn from([system_ns, context_switches, major_faults, minor_faults]: [u64; 4]) -> Self {
        Self { system_ns, context_switches, major_faults, minor_faults }
    }
}

impl From<ThreadUse> for [u64; 4] {
    fn from(used: ThreadUse) -> Self {
        [used.system_ns, used.context_switches, used.major_faults, used.minor_faults]
    }
}

/// What operations of one kind did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindTally {
    /// Which kind.
    pub kind: OperationKind,
    /// Operations completed without an error.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Those of them that moved fewer bytes than asked.
    pub short: u64,
    /// Of syncs, failed ones too, those that are no `fsync(2)`: `fdatasync(2)` and `sync_file_range(2)`.
    #[serde(default)]
    pub data_syncs: u64,
    /// Failed operations by error number (`errno`).
    pub errors: Vec<(i32, u64)>,
    /// Submitted → completed.
    pub service: LatencyTally,
    /// Intended start → completed; absent in a closed loop, where it equals `service`.
    pub response: Option<LatencyTally>,
    /// Submitted → accepted by the kernel (fio's slat); count 0 for synchronous engines.
    pub submission: Moments,
    /// Accepted → completed (fio's clat); present only when the stream asks for it.
    pub completion: Option<LatencyTally>,
}

/// Moments and distribution of one latency.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyTally {
    /// Count, extremes, sums: exact.
    pub moments: Moments,
    /// Distribution, relative error ≤ 1/256.
    pub histogram: SparseHistogram,
}

/// Exact moments of a set of latencies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// How many.
    pub count: u64,
    /// Smallest, in nanoseconds; 0 when there is none.
    pub min_ns: u64,
    /// Largest, in nanoseconds.
    pub max_ns: u64,
    /// Sum, in nanoseconds.
    pub sum_ns: f64,
    /// Sum of squares, in nanoseconds squared.
    pub sum_squares: f64,
}

impl Moments {
    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds those of another set.
    pub fn merge(&mut self, other: &Self) {
        let Self { count, min_ns, max_ns, sum_ns, sum_squares } = *other;
        if count == 0 {
            return;
        }
        self.min_ns = if self.count == 0 { min_ns } else { self.min_ns.min(min_ns) };
        self.max_ns = self.max_ns.max(max_ns);
        self.count += count;
        self.sum_ns += sum_ns;
        self.sum_squares += sum_squares;
    }

    /// Arithmetic mean in nanoseconds; 0 when there is none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns / self.count as f64 }
    }

    /// Sample standard deviation (n − 1) in nanoseconds; 0 below two values.
    pub fn stddev_ns(&self) -> f64 {
        // What is all alike has none, which the difference of large sums would not come to.
        if self.count < 2 || self.min_ns == self.max_ns {
            return 0.0;
        }
        let n = self.count as f64;
        let variance = (self.sum_squares - self.sum_ns * self.sum_ns / n) / (n - 1.0);
        variance.max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_merge_like_one_set() {
        let of = |values: &[u64]| {
            let mut m = Moments::default();
            for &v in values {
                let v =
                    Moments { count: 1, min_ns: v, max_ns: v, sum_ns: v as f64, sum_squares: (v * v) as f64 };
                m.merge(&v);
            }
            m
        };
        let mut left = of(&[2, 4, 4]);
        left.merge(&of(&[4, 5, 5, 7, 9]));
        assert_eq!(left, of(&[2, 4, 4, 4, 5, 5, 7, 9]));
        assert_eq!(left.mean_ns(), 5.0);
        // Sample variance of 2 4 4 4 5 5 7 9 is 32/7.
        assert!((left.stddev_ns() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }
}
