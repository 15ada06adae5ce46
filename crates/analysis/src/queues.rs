//! What lies under the targets of a step: its block devices, and how many queues they make. Does not know what was measured.

use fathom_schema::{BlockDevice, Extent, Facts, Record, Step, TargetFact, TargetKind};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// The devices that the step's targets lie on; `None` where one of them is unknown, or there are none.
pub(crate) fn devices<'a>(facts: &'a Facts, step: &Step) -> Option<Vec<&'a BlockDevice>> {
    let mut devices = Vec::new();
    let by_path: HashMap<&Path, &TargetFact> = facts
        .targets
        .iter()
        .flat_map(|fact| [(fact.resolved.as_path(), fact), (fact.path.as_path(), fact)])
        .collect();
    for target in &step.targets {
        let path: &Path = match &target.kind {
            TargetKind::File { path, .. } | TargetKind::BlockDevice { path } => path,
            TargetKind::Folder { .. }
            | TargetKind::MemoryDevice { .. }
            | TargetKind::Null
            | TargetKind::Sim(_)
            | TargetKind::Peer(_) => continue,
        };
        let fact = by_path.get(path)?;
        devices.push(fact.device.as_ref()?);
    }
    (!devices.is_empty()).then_some(devices)
}

/// How many queues the operations of a search go to, those of its rates if it has one.
pub(crate) fn of(record: &Record) -> f64 {
    let mut steps = record.steps.iter().map(|step| &step.started.step);
    let of_rate = steps.clone().find(|step| crate::load::rate(step).is_some());
    of_rate.or_else(|| steps.next()).map_or(1.0, |step| count(&record.started.facts, step))
}

/// How many queues the operations of a step go to, at least 1: one for each disk, and of simulated devices one for each worker, which
/// has them for itself. Targets on a device that is not known are one together.
fn count(facts: &Facts, step: &Step) -> f64 {
    let is_simulated = |extent: &&Extent| {
        let target = step.targets.get(extent.target as usize);
        target.is_some_and(|target| matches!(target.kind, TargetKind::Sim(_)))
    };
    let simulated = step.streams.iter().flat_map(|stream| &stream.workers).map(|worker| {
        let devices: BTreeSet<u32> =
            worker.extents.iter().filter(is_simulated).map(|extent| extent.target).collect();
        devices.len()
    });
    let disks: BTreeSet<&str> =
        devices(facts, step).unwrap_or_default().iter().map(|device| &*device.disk).collect();
    (simulated.sum::<usize>() + disks.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::{LayoutRule, SimDevice, SimService, Target};
    use fathom_units::{Bytes, Ratio};
    use std::path::PathBuf;

    /// Of two workers, with targets of such kinds on such disks.
    fn of_targets(targets: &[(TargetKind, Option<&str>)]) -> f64 {
        let mut one = record(&[StreamShape { workers: 2, ..StreamShape::default() }]);
        let template = one.started.facts.targets.first().cloned();
        let step = &mut one.steps[0].started.step;
        let target = |(kind, _): &(TargetKind, Option<&str>)| Target {
            name: "t".to_owned(),
            kind: kind.clone(),
            size: Bytes::mib(1),
        };
        step.targets = targets.iter().map(target).collect();
        one.started.facts.targets.clear();
        for (kind, disk) in targets {
            let (TargetKind::BlockDevice { path } | TargetKind::File { path, .. }) = kind else { continue };
            let mut fact = template.clone().expect("the sample has a target");
            (fact.path, fact.resolved) = (path.clone(), path.clone());
            let device = |disk: &str| BlockDevice { disk: disk.to_owned(), ..BlockDevice::default() };
            fact.device = disk.map(device);
            one.started.facts.targets.push(fact);
        }
        count(&one.started.facts, &one.steps[0].started.step)
    }

    #[test]
    fn disks_and_workers_of_simulated_devices_are_counted() {
        let device = |path: &str| TargetKind::BlockDevice { path: PathBuf::from(path) };
        let file = |path: &str| TargetKind::File {
            path: PathBuf::from(path),
            layout: LayoutRule::MustExist,
            remove_after: false,
        };
        let simulated = SimDevice {
            service: SimService::Constant { ns: 1 },
            parallelism: 1,
            error_share: Ratio::ZERO,
            short_share: Ratio::ZERO,
            stalls: Vec::new(),
            places: Vec::new(),
        };
        assert_eq!(of_targets(&[(TargetKind::Sim(simulated), None)]), 2.0);
        assert_eq!(of_targets(&[(device("/dev/sda"), Some("sda")), (device("/dev/sdb"), Some("sdb"))]), 2.0);
        // Parts of one disk have its queue together, files of one filesystem too.
        assert_eq!(of_targets(&[(device("/dev/sda1"), Some("sda")), (file("/mnt/a"), Some("sda"))]), 1.0);
        assert_eq!(of_targets(&[(file("/mnt/a"), None), (file("/mnt/b"), None)]), 1.0);
        assert_eq!(of_targets(&[(TargetKind::Null, None)]), 1.0);
    }
}
