//! What a simulated device is: how long it takes for an operation, how many at a time, and where it is odd. Does not know how that is
//! done.

use crate::wire;
use fathom_units::Ratio;
use serde::{Deserialize, Serialize};

/// A simulated device: `parallelism` servers, each serving one operation at a time from one queue. Every worker has a
/// device of its own, since virtual time is a worker's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimDevice {
    /// How long one server takes for one operation.
    pub service: SimService,
    /// Operations served at once; at least 1.
    pub parallelism: u32,
    /// Share of operations that fail with EIO.
    #[serde(with = "wire::ratio")]
    pub error_share: Ratio,
    /// Share of operations that transfer only half of what was asked.
    #[serde(with = "wire::ratio")]
    pub short_share: Ratio,
    /// Freezes: from the first instant for the second duration nothing completes (instants since the device opened).
    pub stalls: Vec<(u64, u64)>,
    /// Bytes that are served otherwise than the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<SimPlace>,
}

/// Bytes of a simulated device that are served otherwise than the rest. An operation that touches several such places fails
/// where one of them does, else it takes as long as the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimPlace {
    /// First byte.
    pub from: u64,
    /// First byte behind it.
    pub to: u64,
    /// How long an operation takes, nanoseconds; absent: it fails with EIO.
    pub service_ns: Option<u64>,
}

/// Distribution of a simulated service time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SimService {
    /// Always the same.
    Constant {
        /// Service time.
        ns: u64,
    },
    /// Exponential with this mean.
    Exponential {
        /// Mean service time.
        mean_ns: u64,
    },
    /// Uniform between two values, both included.
    Uniform {
        /// Shortest.
        min_ns: u64,
        /// Longest.
        max_ns: u64,
    },
}
