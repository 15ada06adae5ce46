//! How busy the host is while a step runs: what its processors and the step's devices did since the last look. Looks on the
//! thread that collects, never on a worker's; does not know who is shown it.

use fathom_engine::probe::{HostCounts, host_counts};
use fathom_schema::{DeviceNumber, DeviceUse, HostSample};
use fathom_units::Nanos;

/// Shortest time that a sample covers. The kernel counts processor time in ticks of 10 ms (4 ms at best), so that of less
/// the share would be mostly rounding; and looking takes some 100 µs.
const SHORTEST: Nanos = Nanos::millis(500);
/// Shortest last sample of a step: what came after the one before would be missing otherwise.
const SHORTEST_LAST: Nanos = Nanos::millis(100);

/// Looks at the host while one step runs.
pub(crate) struct HostMeter {
    step: u32,
    devices: Vec<DeviceNumber>,
    began: Nanos,
    /// Until when samples reach, since the step's start.
    reached: Nanos,
    apart: Nanos,
    counts: HostCounts,
}

impl HostMeter {
    /// Begins with the step; a sample is to cover about an interval.
    pub(crate) fn start(step: u32, interval: Nanos, devices: &[DeviceNumber], now: Nanos) -> Self {
        Self {
            step,
            devices: devices.to_vec(),
            began: now,
            reached: Nanos::ZERO,
            // Intervals come when all workers have passed them: one that comes early begins no sample of its own.
            apart: Nanos(interval.0 / 4 * 3).max(SHORTEST),
            counts: host_counts(devices),
        }
    }

    /// What happened since the last sample, where that is long enough ago.
    pub(crate) fn sample(&mut self, now: Nanos) -> Option<HostSample> {
        self.since(now, self.apart)
    }

    /// The rest of the step.
    pub(crate) fn finish(&mut self, now: Nanos) -> Option<HostSample> {
        self.since(now, SHORTEST_LAST)
    }

    fn since(&mut self, now: Nanos, at_least: Nanos) -> Option<HostSample> {
        let now = now.since(self.began);
        if now.since(self.reached) < at_least {
            return None;
        }
        let counts = host_counts(&self.devices);
        let sample = between(self.step, self.reached, now, &self.counts, &counts);
        (self.reached, self.counts) = (now, counts);
        Some(sample)
    }
}

/// What was done between two looks. Counters may run backwards (those of waiting for I/O do, `proc_stat(5)`; a device may
/// have been replaced): that counts as nothing.
fn between(step: u32, start: Nanos, end: Nanos, before: &HostCounts, after: &HostCounts) -> HostSample {
    let ticks = after.processor_ticks.saturating_sub(before.processor_ticks);
    let idle = after.idle_ticks.saturating_sub(before.idle_ticks);
    let of = |device: &DeviceUse| {
        let known = before.devices.iter().find(|known| known.name == device.name)?;
        Some(device.since(known))
    };
    HostSample {
        step,
        start,
        end,
        processor_ticks: ticks,
        busy_ticks: ticks.saturating_sub(idle),
        devices: after.devices.iter().filter_map(of).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ticks: u64, idle: u64, devices: &[(&str, u64)]) -> HostCounts {
        let of = |&(name, busy_ms): &(&str, u64)| DeviceUse {
            name: name.to_owned(),
            busy_ms,
            operations: 3 * busy_ms,
            ..DeviceUse::default()
        };
        HostCounts { processor_ticks: ticks, idle_ticks: idle, devices: devices.iter().map(of).collect() }
    }

    #[test]
    fn a_sample_is_what_was_done_between_two_looks() {
        let before = counts(1000, 800, &[("sda", 70), ("gone", 5)]);
        let after = counts(1200, 850, &[("sda", 570), ("new", 9)]);
        let sample = between(3, Nanos::secs(1), Nanos::secs(2), &before, &after);
        let devices = counts(0, 0, &[("sda", 500)]).devices;
        let (start, end) = (Nanos::secs(1), Nanos::secs(2));
        assert_eq!(
            sample,
            HostSample { step: 3, start, end, processor_ticks: 200, busy_ticks: 150, devices }
        );
        let back = between(3, start, end, &after, &before);
        assert_eq!((back.processor_ticks, back.busy_ticks, back.devices[0].busy_ms), (0, 0, 0));
    }

    #[test]
    fn samples_follow_one_another_without_gaps() {
        let at = |ms| Nanos::secs(100).after(Nanos::millis(ms));
        let mut meter = HostMeter::start(0, Nanos::secs(1), &[], at(0));
        assert_eq!(meter.sample(at(740)), None);
        let ends = |sample: HostSample| (sample.start, sample.end);
        assert_eq!(meter.sample(at(1010)).map(ends), Some((Nanos::ZERO, Nanos::millis(1010))));
        assert_eq!(meter.sample(at(1500)), None);
        assert_eq!(meter.sample(at(1990)).map(ends), Some((Nanos::millis(1010), Nanos::millis(1990))));
        assert_eq!(meter.finish(at(2089)), None);
        assert_eq!(meter.finish(at(2090)).map(ends), Some((Nanos::millis(1990), Nanos::millis(2090))));
    }
}
