//! How busy the host was over time. Owns how samples fall on the cells of a step's grid; does not know where they come from.

use super::grid::COVERED_MIN;
use super::rounded;
use fathom_schema::{DeviceUse, HostSample, StepRecord};
use fathom_units::Nanos;
use serde::Serialize;

/// Devices with lines of their own.
const DEVICES_MAX: usize = 8;

/// The processors together, or a device: an entry per cell of the step's grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Busy {
    /// The device's kernel name; empty for the processors.
    pub name: String,
    /// Share of the time in which they did something, 0 to 1; null where nobody looked.
    pub share: Vec<Option<f64>>,
}

/// The processors, then the devices; nothing where nobody looked.
pub(super) fn busy(step: &StepRecord, cell: Nanos, cells: usize) -> Vec<Busy> {
    let mut names: Vec<&str> = Vec::new();
    for DeviceUse { name, .. } in step.host.iter().flat_map(|sample| &sample.devices) {
        if names.len() < DEVICES_MAX && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let of_device = |name: &str, sample: &HostSample| {
        sample.devices.iter().find(|device| device.name == name).map(|device| sample.device_busy(device))
    };
    let line = |name: &str, of: &dyn Fn(&HostSample) -> Option<f64>| Busy {
        name: name.to_owned(),
        share: on_cells(&step.host, cell, cells, of),
    };
    let processors = line("", &|sample| sample.processors_busy());
    let devices = names.iter().map(|name| line(name, &|sample| of_device(name, sample)));
    let lines = std::iter::once(processors).chain(devices);
    lines.filter(|line| line.share.iter().any(Option::is_some)).collect()
}

/// The mean of what samples say of each cell, by how much of it they cover: a sample neither begins nor ends with a cell.
fn on_cells(
    samples: &[HostSample],
    cell: Nanos,
    cells: usize,
    of: &dyn Fn(&HostSample) -> Option<f64>,
) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0.0); cells];
    for sample in samples {
        let Some(share) = of(sample) else { continue };
        let first = usize::try_from(sample.start.0 / cell.0).unwrap_or(usize::MAX);
        let last = usize::try_from(sample.end.0.saturating_sub(1) / cell.0).unwrap_or(usize::MAX);
        for (at, (sum, covered)) in sums.iter_mut().enumerate().take(last.saturating_add(1)).skip(first) {
            let (from, to) = (cell.0 * at as u64, cell.0 * (at as u64 + 1));
            let part = sample.end.0.min(to).saturating_sub(sample.start.0.max(from)) as f64;
            *sum += share * part;
            *covered += part;
        }
    }
    let mean =
        |(sum, covered): (f64, f64)| (covered >= COVERED_MIN * cell.0 as f64).then(|| rounded(sum / covered));
    sums.into_iter().map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(from_ms: u64, to_ms: u64, busy_percent: u64, busy_ms: u64) -> HostSample {
        HostSample {
            step: 0,
            start: Nanos::millis(from_ms),
            end: Nanos::millis(to_ms),
            processor_ticks: 100,
            busy_ticks: busy_percent,
            devices: vec![DeviceUse { name: "sda".to_owned(), busy_ms, ..DeviceUse::default() }],
        }
    }

    #[test]
    fn a_cell_has_the_mean_of_what_covers_it() {
        let mut record = fathom_analysis::sample::record(&[fathom_analysis::sample::StreamShape::default()]);
        let step = &mut record.steps[0];
        assert_eq!(busy(step, Nanos::secs(1), 4), []);
        step.host = vec![sample(0, 1500, 20, 1500), sample(1500, 2050, 60, 0)];
        let line = |name: &str, share: [Option<f64>; 4]| Busy { name: name.to_owned(), share: share.into() };
        assert_eq!(
            busy(step, Nanos::secs(1), 4),
            // Of the third second a twentieth says nothing, of the fourth nobody has looked.
            [line("", [Some(0.2), Some(0.4), None, None]), line("sda", [Some(1.0), Some(0.5), None, None]),]
        );
        // One long sample, of a long record, on many cells.
        step.host = vec![sample(0, 4000, 50, 1000)];
        assert_eq!(busy(step, Nanos::secs(1), 4)[1], line("sda", [Some(0.25); 4]));
    }
}
