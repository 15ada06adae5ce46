//! Levels that a limit sets and no device: interval after interval the same round number. Does not know who limits: what
//! control groups say is looked at in `surroundings`.

use super::{Second, StepView, median};
use crate::statistics::Change;
use crate::validity::Found;
use fathom_schema::{Pacing, Severity, Think};
use fathom_units::{BytesPerSec, Iops};

/// What volumes and instances are limited to is one of these times a power of ten, in the tables of those who rent them out:
/// of all numbers one in thirteen lies as near to one as [`NEAR`].
const ROUND: [f64; 18] =
    [1.0, 1.2, 1.25, 1.5, 1.6, 1.8, 2.0, 2.3, 2.4, 2.5, 3.0, 4.0, 5.0, 6.0, 6.4, 7.5, 8.0, 9.0];
/// How far from a round number, as a share of it.
const NEAR: f64 = 0.005;
/// Share of the intervals that lie so near: a limit that lets more through after it has let less does so in few of them.
const HELD_MIN: f64 = 0.75;
/// Fewest intervals.
const INTERVALS_MIN: usize = 20;
/// Fewest operations of an interval: of fewer, one more or less is more than what is near.
const OPERATIONS_MIN: f64 = 400.0;

/// Tells the last level that is held at a round number, where nothing but the device and its limits sets the pace.
pub(super) fn check(seconds: &[Second], changes: &[Change], view: &StepView<'_>, found: &mut Found) {
    let is_free = |pacing: &Pacing| matches!(pacing, Pacing::Closed { think: Think::None });
    let streams = &view.step.started.step.streams;
    if !streams.iter().all(|stream| view.is_real(stream) && is_free(&stream.pacing) && stream.flow.is_none())
    {
        return;
    }
    let mut edges: Vec<usize> = changes.iter().map(|change| change.at).collect();
    edges.insert(0, 0);
    edges.push(seconds.len());
    let levels = edges.windows(2).map(|edge| &seconds[edge[0]..edge[1]]);
    let of_last = levels.rev().find_map(|level| Some((level, held(level)?)));
    let Some((level, rate)) = of_last else { return };
    let from = match level[0].start {
        _ if level.len() == seconds.len() => "throughout".to_owned(),
        start => {
            format!("from {:.0} s to {:.0} s", start.as_secs_f64(), level[level.len() - 1].end.as_secs_f64())
        }
    };
    found.add(
        "device.limited",
        Severity::Info,
        format!("{}throughput is held at {rate} {from}, as a limit does it and hardly a device", view.place()),
        "look for a limit of the volume, the instance, the hypervisor or a control group: it is what is measured, and \
         beyond it nothing is known of the device",
    );
}

/// The round number that a level is held at, in words; operations before bytes, which are both round for blocks that are.
fn held(level: &[Second]) -> Option<String> {
    let of = |rate: fn(&Second) -> f64| level.iter().map(rate).collect::<Vec<f64>>();
    let (iops, bandwidth) = (of(|second| second.iops), of(|second| second.bandwidth));
    let is_enough = level.len() >= INTERVALS_MIN
        && median(&level.iter().map(|second| second.iops * second.length).collect::<Vec<_>>())
            >= OPERATIONS_MIN;
    let words = || {
        let of_mebibytes = bandwidth.iter().map(|rate| rate / f64::from(1 << 20)).collect::<Vec<_>>();
        held_at(&iops)
            .map(|round| format!("{} IOPS", Iops(round)))
            .or_else(|| Some(format!("{}", BytesPerSec(held_at(&bandwidth)?))))
            .or_else(|| Some(format!("{} MiB/s", (held_at(&of_mebibytes)? * 100.0).round() / 100.0)))
    };
    is_enough.then(words).flatten()
}

/// The round number that most values lie at.
fn held_at(values: &[f64]) -> Option<f64> {
    let middle = median(values);
    if middle <= 0.0 {
        return None;
    }
    let ten = 10_f64.powf(middle.log10().floor());
    let of_round = ROUND.iter().chain(&[10.0]).map(|digits| digits * ten);
    let round = of_round.min_by(|one, other| (one - middle).abs().total_cmp(&(other - middle).abs()))?;
    let is_near = |value: &&f64| (**value - round).abs() <= NEAR * round;
    let near = values.iter().filter(is_near).count();
    (near as f64 >= HELD_MIN * values.len() as f64).then_some(round)
}
