//! What a host counts and measures of itself, read at the edges of a step and about once a second between them: so that
//! what others did meanwhile shows.

use crate::wire;
use fathom_units::Nanos;
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

/// How busy the host was for a part of a step. Counts, so that successive samples add up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSample {
    /// Index of the step in the run.
    pub step: u32,
    /// Begin, since the step's start.
    #[serde(with = "wire::nanos")]
    pub start: Nanos,
    /// End, since the step's start.
    #[serde(with = "wire::nanos")]
    pub end: Nanos,
    /// Time of all processors together, idle time included, in the kernel's ticks (`/proc/stat`).
    pub processor_ticks: u64,
    /// Of those, what was neither idle nor waiting for I/O.
    pub busy_ticks: u64,
    /// The block devices under the step's targets.
    pub devices: Vec<DeviceUse>,
}

/// What a block device did, as the kernel counts it: for all who use it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Kernel name.
    pub name: String,
    /// Milliseconds in which at least one request was in flight.
    pub busy_ms: u64,
    /// Completed reads, writes and discards. As all that follows, 0 in records of before it was kept.
    #[serde(default)]
    pub operations: u64,
    /// Bytes read and written.
    #[serde(default)]
    pub bytes: u64,
    /// Milliseconds from when requests were made until they completed, summed over them.
    #[serde(default)]
    pub waited_ms: u64,
}

impl DeviceUse {
    /// Adds what it did in the time that follows.
    fn extend(&mut self, next: &Self) {
        let Self { name: _, busy_ms, operations, bytes, waited_ms } = next;
        self.busy_ms += busy_ms;
        self.operations += operations;
        self.bytes += bytes;
        self.waited_ms += waited_ms;
    }

    /// What it did since `before`; counters that run backwards count as nothing.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let Self { name, busy_ms, operations, bytes, waited_ms } = self;
        Self {
            name: name.clone(),
            busy_ms: busy_ms.saturating_sub(before.busy_ms),
            operations: operations.saturating_sub(before.operations),
            bytes: bytes.saturating_sub(before.bytes),
            waited_ms: waited_ms.saturating_sub(before.waited_ms),
        }
    }
}

impl HostSample {
    /// Share of the processors' time in which they did something, 0 to 1; `None` where the kernel tells nothing.
    pub fn processors_busy(&self) -> Option<f64> {
        (self.processor_ticks > 0).then(|| (self.busy_ticks as f64 / self.processor_ticks as f64).min(1.0))
    }

    /// Share of the time in which a device had a request in flight, 0 to 1. The kernel counts whole milliseconds, and an
    /// operation at the time when it ends: a share above 1 is cut.
    pub fn device_busy(&self, device: &DeviceUse) -> f64 {
        let length_ms = self.end.since(self.start).0 as f64 / 1e6;
        if length_ms > 0.0 { (device.busy_ms as f64 / length_ms).min(1.0) } else { 0.0 }
    }

    /// Takes in the sample that follows this one in the same step.
    pub fn extend(&mut self, next: Self) {
        let Self { step: _, start: _, end, processor_ticks, busy_ticks, devices } = next;
        self.end = end;
        self.processor_ticks += processor_ticks;
        self.busy_ticks += busy_ticks;
        for device in devices {
            match self.devices.iter_mut().find(|known| known.name == device.name) {
                Some(known) => known.extend(&device),
                None => self.devices.push(device),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(from_s: u64, to_s: u64, ticks: (u64, u64), busy_ms: u64) -> HostSample {
        HostSample {
            step: 0,
            start: Nanos::secs(from_s),
            end: Nanos::secs(to_s),
            processor_ticks: ticks.0,
            busy_ticks: ticks.1,
            devices: vec![DeviceUse {
                name: "sda".to_owned(),
                busy_ms,
                operations: 10 * busy_ms,
                bytes: 4096 * busy_ms,
                waited_ms: 2 * busy_ms,
            }],
        }
    }

    #[test]
    fn samples_add_up() {
        let mut both = sample(0, 1, (200, 50), 400);
        assert_eq!((both.processors_busy(), both.device_busy(&both.devices[0])), (Some(0.25), 0.4));
        both.extend(sample(1, 4, (600, 550), 3600));
        assert_eq!(both, sample(0, 4, (800, 600), 4000));
        // The counter ran ahead by the operation that was in flight at the begin.
        both.devices[0].busy_ms = 4100;
        assert_eq!(
            both.devices[0].since(&both.devices[0]),
            DeviceUse { name: "sda".to_owned(), ..DeviceUse::default() }
        );
        assert_eq!((both.processors_busy(), both.device_busy(&both.devices[0])), (Some(0.75), 1.0));
        assert_eq!(sample(1, 1, (0, 0), 5).processors_busy(), None);
        assert_eq!(sample(1, 1, (0, 0), 5).device_busy(&both.devices[0]), 0.0);
    }
}
