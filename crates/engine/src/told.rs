//! What the workers of a step have told when it is over, in words. Knows what went wrong, not what becomes of the step.

use crate::demands::Broken;
use crate::execute::Share;
use crate::outcome::Ended;
use crate::worker::FirstError;
use fathom_schema::{OperationKind, Step, Stream};
use fathom_units::Nanos;
use rustix::io::Errno;

/// Whether a worker of a step runs on this host.
pub(crate) fn mine(worker: usize, share: Share) -> bool {
    worker % share.of.max(1) as usize == share.index as usize
}

/// Streams whose workers waited for their single operations to be taken: such a wait is no time of the target.
pub(crate) fn held_up(step: &Step, ends: &[Vec<Option<Ended>>]) -> Vec<String> {
    let told = |(stream, workers): (&Stream, &Vec<Option<Ended>>)| {
        let waited = workers.iter().flatten().fold(Nanos::ZERO, |sum, ended| sum.after(ended.waited));
        (waited > Nanos::ZERO).then(|| {
            format!(
                "{}: its workers waited {waited} in all for the log of single operations, so that its rate is lower than \
                 without that log; log averages instead",
                stream.name
            )
        })
    };
    step.streams.iter().zip(ends).filter_map(told).collect()
}

/// What workers did not keep, and to which queue depth those came that searched for one.
pub(crate) fn describe_broken(step: &Step, share: Share, ends: &[Vec<Option<Ended>>]) -> Vec<String> {
    let mut found = Vec::new();
    for (stream, workers) in step.streams.iter().zip(ends) {
        let plans = stream.workers.iter().enumerate().filter(|(k, _)| mine(*k, share)).map(|(_, plan)| plan);
        for (plan, broken) in
            plans.zip(workers).filter_map(|(plan, of)| Some((plan, of.as_ref()?.broken.as_ref()?)))
        {
            let what = match broken {
                Broken::Said(what) => what.clone(),
                Broken::Latency { operation, took, at_most } => {
                    let extent = plan.extents.get(operation.target as usize);
                    let name =
                        extent.map_or("?", |extent| step.targets[extent.target as usize].name.as_str());
                    let (kind, offset, length) = (operation.kind.name(), operation.offset, operation.length);
                    let (took, most) = (took.0, at_most.0);
                    // In fio's words, which others look for.
                    format!(
                        "latency of {took} nsec exceeds specified max ({most} nsec): {name} {kind} {offset} {length}"
                    )
                }
            };
            found.push(format!("{}: {what}", stream.name));
        }
    }
    found
}

/// The first error of each worker, and where it came from.
pub(crate) fn describe_errors(step: &Step, share: Share, ends: &[Vec<Option<Ended>>]) -> Vec<String> {
    let mut found = Vec::new();
    for (stream, workers) in step.streams.iter().zip(ends) {
        let plans = stream.workers.iter().enumerate().filter(|(k, _)| mine(*k, share)).map(|(_, plan)| plan);
        for (plan, ended) in plans.zip(workers) {
            // What was not kept is told by itself.
            if ended.as_ref().is_some_and(|ended| ended.broken.is_some()) {
                continue;
            }
            let first = ended.as_ref().and_then(|ended| ended.first_error);
            // Mismatches are told by themselves.
            let Some(FirstError { errno, operation, at_end }) =
                first.filter(|first| first.errno != Errno::ILSEQ.raw_os_error())
            else {
                continue;
            };
            let target = plan.extents.get(operation.target as usize).map(|extent| extent.target as usize);
            let name =
                target.and_then(|target| step.targets.get(target)).map_or("?", |target| target.name.as_str());
            let mut error = if at_end {
                "nothing was moved, the file ends before it".to_owned()
            } else {
                std::io::Error::from_raw_os_error(errno).to_string()
            };
            if let Some(setting) = stream.engine.kind.behind(errno) {
                error += &format!("; {setting}");
            }
            found.push(match operation.kind {
                OperationKind::Sync => format!("sync of {name}: {error}"),
                kind => format!(
                    "{} of {} B at offset {} of {name}: {error}",
                    kind.name(),
                    operation.length,
                    operation.offset
                ),
            });
        }
    }
    found
}
