//! What others moved on the device while a scan read it: a place that is slow may be slow by that.
//!
//! Each place is looked at by itself, since a scan of hours tells nothing by its sums of the minute in which a backup ran.

use super::Found;
use fathom_schema::{DeviceCounters, Facts, IoMode, OperationKind, Question, Record, Severity, StepRecord};
use fathom_units::Bytes;

/// What others may read meanwhile, as a share of what the scan reads, and besides: metadata of a filesystem, a look at a
/// partition table.
const READ_SHARE: f64 = 0.10;
const READ_SLACK: Bytes = Bytes::kib(256);
/// What may be written: the record of the run may lie on the same device.
const WRITTEN_SLACK: Bytes = Bytes::mib(1);

/// Tells places of a scan at which others used its device.
pub(super) fn run(record: &Record, found: &mut Found) {
    if !matches!(record.started.question, Some(Question::Scan(_))) {
        return;
    }
    let places: Vec<[u64; 2]> =
        record.steps.iter().filter_map(|step| of_others(&record.started.facts, step)).collect();
    let disturbed: Vec<&[u64; 2]> =
        places.iter().filter(|bytes| bytes.iter().any(|&bytes| bytes > 0)).collect();
    if disturbed.is_empty() {
        return;
    }
    let sum = |which: usize| Bytes(disturbed.iter().map(|bytes| bytes[which]).sum());
    found.add(
        "scan.disturbed",
        Severity::Warn,
        format!(
            "at {} of {} places others used the device: they read {} and wrote {} while it was read",
            disturbed.len(),
            places.len(),
            sum(0).approximate(),
            sum(1).approximate()
        ),
        "what is slow may be slow by that: look what else uses the device, and scan it again without",
    );
}

/// Bytes that others read and wrote while a step read, each 0 where it is no more than may be. `None` where the device's
/// counters say nothing of it.
fn of_others(facts: &Facts, step: &StepRecord) -> Option<[u64; 2]> {
    let finished = step.finished.as_ref()?;
    // Through the page cache the kernel reads ahead, and less than was asked for.
    if step.started.step.streams.iter().any(|stream| stream.engine.mode != IoMode::Direct) {
        return None;
    }
    let (mut read, mut written) = (0, 0);
    // The disk below a loop device counts the same bytes once more.
    for before in step.started.devices.iter().filter(|before| !facts.is_only_below(before.number)) {
        let after = finished.devices.iter().find(|after| after.number == before.number)?;
        read += after.read_sectors.checked_sub(before.read_sectors)? * DeviceCounters::SECTOR_BYTES;
        written += after.write_sectors.checked_sub(before.write_sectors)? * DeviceCounters::SECTOR_BYTES;
    }
    let tallies = step.intervals.iter().flat_map(|interval| &interval.tally.kinds);
    let ours: u64 = tallies.filter(|kind| kind.kind == OperationKind::Read).map(|kind| kind.bytes).sum();
    // What is tried again after an error is counted by the device, and moves nothing of ours.
    let errors =
        step.intervals.iter().flat_map(|interval| &interval.tally.kinds).any(|kind| !kind.errors.is_empty());
    if step.started.devices.is_empty() || errors {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count of bytes"
    )]
    let share = (ours as f64 * READ_SHARE) as u64;
    let beyond = |bytes: u64, slack: Bytes| if bytes > share + slack.0 { bytes } else { 0 };
    Some([beyond(read.saturating_sub(ours), READ_SLACK), beyond(written, WRITTEN_SLACK)])
}
