//! What the kernel counted of the devices under a run, as fio's reports have it. Knows no format.

use fathom_schema::{DeviceCounters, Record};
use std::collections::BTreeMap;

/// One device, summed over the steps.
pub(super) struct Disk {
    pub(super) name: String,
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) read_merges: u64,
    pub(super) write_merges: u64,
    pub(super) read_ms: u64,
    pub(super) write_ms: u64,
    pub(super) queue_ms: u64,
    /// Percent of the time in which it had anything to do.
    pub(super) utilisation: f64,
}

/// The devices by name. Those of a step that has not ended are as far as `running` says.
pub(super) fn disks(record: &Record, running: &[DeviceCounters]) -> Vec<Disk> {
    let mut disks: BTreeMap<&str, [u64; 8]> = BTreeMap::new();
    let mut elapsed_ms = 0;
    for step in &record.steps {
        let (elapsed, devices) = match &step.finished {
            Some(finished) => (finished.elapsed, &finished.devices[..]),
            None => (step.intervals.iter().map(|interval| interval.end).max().unwrap_or_default(), running),
        };
        elapsed_ms += elapsed.0 / 1_000_000;
        for after in devices {
            let Some(before) = step.started.devices.iter().find(|before| before.number == after.number)
            else {
                continue;
            };
            if record.started.facts.is_only_below(after.number) {
                continue;
            }
            let deltas = [
                (after.reads, before.reads),
                (after.writes, before.writes),
                (after.read_merges, before.read_merges),
                (after.write_merges, before.write_merges),
                (after.read_ms, before.read_ms),
                (after.write_ms, before.write_ms),
                (after.queue_ms, before.queue_ms),
                (after.busy_ms, before.busy_ms),
            ];
            let sums = disks.entry(&after.name).or_default();
            sums.iter_mut().zip(deltas).for_each(|(sum, (now, then))| *sum += now.saturating_sub(then));
        }
    }
    disks
        .into_iter()
        .map(|(name, [reads, writes, read_merges, write_merges, read_ms, write_ms, queue_ms, busy_ms])| {
            let busy = if elapsed_ms == 0 { 0.0 } else { busy_ms as f64 * 100.0 / elapsed_ms as f64 };
            Disk {
                name: name.to_owned(),
                reads,
                writes,
                read_merges,
                write_merges,
                read_ms,
                write_ms,
                queue_ms,
                utilisation: busy.min(100.0),
            }
        })
        .collect()
}
