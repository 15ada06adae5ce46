//! What a host counts and measures of itself, read at the edges of a step: so that what others did meanwhile shows.

use serde::{Deserialize, Serialize};

/// What a host says of itself at one instant. What it does not have is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gauges {
    /// Time of all processors together, idle time included, since the host's start, in the kernel's ticks (`/proc/stat`).
    pub processor_ticks: u64,
    /// Of those, what a hypervisor gave to others.
    pub stolen_ticks: u64,
    /// How long some task has waited for a resource (`/proc/pressure`), since the host's start.
    pub pressure: Vec<Pressure>,
    /// Sensors of the devices under test.
    pub temperatures: Vec<Temperature>,
}

/// How long tasks had to wait for a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// `cpu`, `memory`, `io`.
    pub resource: String,
    /// Microseconds in which at least one task waited.
    pub waited_us: u64,
}

/// What a sensor shows, in thousandths of a degree Celsius.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temperature {
    /// Which device, by its kernel name.
    pub device: String,
    /// Now.
    pub now: i64,
    /// From where on the device itself warns, where it says so.
    pub warns_at: Option<i64>,
}
