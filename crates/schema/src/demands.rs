//! What a stream has to keep up, what its workers yield to each other, and how the kernel schedules them.
//!
//! Everything here is additive to a step: a record written before an option existed reads as one that does not use it.

use crate::step::{Arrival, Think};
use crate::tally::OperationKind;
use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};

/// What every worker of a stream has to keep; one that does not ends for an error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Demands {
    /// Least rates.
    pub rates: Vec<RateDemand>,
    /// Over how long each is looked at; at least 1 ms.
    #[serde(with = "wire::nanos")]
    pub rate_window: Nanos,
    /// How long after the start that begins.
    #[serde(with = "wire::nanos")]
    pub rate_settles: Nanos,
    /// Longest times of single operations, from submission to completion.
    pub latencies: Vec<LatencyDemand>,
}

impl Default for Demands {
    fn default() -> Self {
        Self {
            rates: Vec::new(),
            rate_window: Nanos::secs(1),
            rate_settles: Nanos::ZERO,
            latencies: Vec::new(),
        }
    }
}

impl Demands {
    /// Whether nothing is demanded.
    pub fn are_none(&self) -> bool {
        self.rates.is_empty() && self.latencies.is_empty()
    }
}

/// A least rate of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateDemand {
    /// Of which operations; all together when absent.
    pub kind: Option<OperationKind>,
    /// In what it is counted.
    pub unit: RateUnit,
    /// Per second; above 0.
    pub at_least: f64,
}

/// The most that a kind of operations comes to in a closed loop, while the others come as fast as they can.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct KindRate {
    /// Which operations: read, write or trim.
    pub kind: OperationKind,
    /// In what it is counted.
    pub unit: RateUnit,
    /// Per second, of the whole stream; above 0.
    pub per_second: f64,
    /// How they are spaced.
    pub arrival: Arrival,
}

/// In what a rate is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateUnit {
    /// Operations.
    Operations,
    /// Bytes.
    Bytes,
}

/// A longest time of single operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyDemand {
    /// Of which operations; all when absent.
    pub kind: Option<OperationKind>,
    /// In nanoseconds.
    pub at_most_ns: u64,
}

/// Pauses of an open loop: what comes due in one waits for its end, or comes later by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// When, and how long.
    pub think: Think,
    /// Whether each puts off what is due after it.
    pub puts_off: bool,
    /// By how much less than it is long: so much as lies between two operations, where that is no longer, so that the next
    /// one is due as it ends.
    #[serde(with = "wire::nanos")]
    pub lead: Nanos,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { think: Think::None, puts_off: false, lead: Nanos::ZERO }
    }
}

impl Pauses {
    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.think == Think::None
    }
}

/// A part in a flow: workers of one flow issue in proportion to their weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Streams with one number share a flow.
    pub id: u32,
    /// Weight of each worker; at least 1.
    pub weight: u32,
    /// What a worker that is ahead of its share waits before it looks again; 0: it polls.
    #[serde(with = "wire::nanos")]
    pub pause: Nanos,
}

/// How the kernel schedules the threads of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scheduling {
    /// −20 to 19; 0 changes nothing.
    pub nice: i32,
    /// Priority of their I/O (`ioprio_set(2)`).
    pub io: Option<IoPriority>,
    /// From which NUMA nodes their memory comes (`set_mempolicy(2)`).
    #[serde(default)]
    pub memory: MemoryPolicy,
    /// NUMA nodes on whose CPUs they run, as a set of bits; 0: on all.
    #[serde(default)]
    pub cpu_nodes: u64,
}

/// From which NUMA nodes memory comes; nodes are a set of bits, the lowest for node 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryPolicy {
    /// As for every process.
    #[default]
    Usual,
    /// The node of the CPU that asks.
    Local,
    /// This one, others where it is full.
    Prefer(u64),
    /// These alone.
    Bind(u64),
    /// These in turn.
    Interleave(u64),
}

/// Priority of I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoPriority {
    /// 1 real-time, 2 best-effort, 3 idle.
    pub class: u8,
    /// 0 (first) to 7.
    pub level: u8,
}
