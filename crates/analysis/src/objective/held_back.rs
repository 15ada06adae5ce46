//! Whether it was fathom's own queue that kept a rate from being carried, and not the target: all slots were in use, and what
//! was in flight took no longer than an operation alone does.

use super::{State, Trial, state};
use crate::load::{LoadPoint, rate, slots};
use crate::scaling::Estimate;
use fathom_schema::{LatencyGoal, Record, Step, StepRecord};

/// Share of its slots from which on a step's queue is full.
const FULL_SHARE: f64 = 0.8;
/// Times the time of an operation alone that one takes at most on a target which has room for more: of one that has not, so many
/// in flight wait for one another.
pub(crate) const CALM: f64 = 1.25;

/// What kept rates from being tried for what the target carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldBack {
    /// Operations that were in flight at most, of all workers.
    pub slots: f64,
    /// The lowest rate that was held back, operations per second.
    pub rate: f64,
    /// What was done of it, operations per second.
    pub done: f64,
    /// What each operation took, from its submission on, seconds.
    pub each_s: f64,
    /// Whether the rate was done, and only a limit was not kept.
    pub is_done: bool,
}

/// Whether so many in flight bring a rate at which none waits for another, where one takes `alone_s` by itself.
pub(crate) fn is_calm(in_flight: f64, rate: f64, alone_s: f64) -> bool {
    in_flight <= CALM * alone_s * rate
}

/// What held a step back that did not carry its rate, after what an operation `alone` takes; `None` where the target did.
pub(super) fn held_back(step: &Step, point: &LoadPoint, rate: f64, alone: &LoadPoint) -> Option<HeldBack> {
    let slots = slots(step);
    let is_full = point.backlog_max > 0 && point.held >= FULL_SHARE * slots;
    let is_done = state(point, rate, &[]) != State::Overloaded;
    let held = HeldBack { slots, rate, done: point.rate, each_s: point.held / point.rate, is_done };
    (is_full && is_calm(point.held, point.rate, alone.mean_s)).then_some(held)
}

/// What became of a rate, where fathom's own queue may have kept it from being carried, or its operations are too few.
pub(super) fn own(
    found: State,
    held_back: Option<HeldBack>,
    alone: Option<&LoadPoint>,
    goals: &[LatencyGoal],
) -> State {
    // A limit that an operation alone breaks is broken by the target.
    let may_wait = || alone.is_some_and(|alone| !goals.iter().any(|goal| alone.exceeds(goal)));
    match found {
        State::Overloaded | State::NotMet if held_back.is_some() && may_wait() => State::DepthLimited,
        _ => found,
    }
}

/// Of those among trials that were missed: what held them back, where it was that alone.
pub(super) fn of_all<'a>(trials: impl Iterator<Item = &'a Trial>) -> Option<HeldBack> {
    let missed: Vec<&Trial> = trials.filter(|trial| !trial.state.is_kept()).collect();
    if !missed.iter().all(|trial| trial.state == State::DepthLimited) {
        return None;
    }
    missed.into_iter().filter_map(|trial| trial.held_back).min_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// What full speed was held to, where no rate that a search tried was missed: a search tries none beyond it.
pub(super) fn at_full_speed(record: &Record, alone: &LoadPoint) -> Option<HeldBack> {
    let of = |step: &StepRecord| slots(&step.started.step);
    let paceless = || record.steps.iter().filter(|step| rate(&step.started.step).is_none());
    let step = paceless().max_by(|a, b| of(a).total_cmp(&of(b)))?;
    // The first has one operation of each worker at a time.
    if paceless().next().is_some_and(|first| of(first) >= of(step)) {
        return None;
    }
    let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
    let slots = of(step);
    let is_held = point.held >= FULL_SHARE * slots && is_calm(point.held, point.rate, alone.mean_s);
    let each_s = point.held / point.rate;
    is_held.then_some(HeldBack { slots, rate: point.rate, done: point.rate, each_s, is_done: false })
}

/// Where limits are reached, with an interval that goes no higher than what the target does at full speed, where that was measured: beyond
/// it what waits grows without end. What was measured may itself lie two standard errors of as many independent operations too low, and a
/// rate that was kept was done.
pub(super) fn within_full_speed(reached: Estimate, record: &Record, trials: &[Trial]) -> Estimate {
    let paceless = || record.steps.iter().filter(|step| rate(&step.started.step).is_none());
    // The first has one operation of each worker at a time, which need not be all that the target can do.
    let alone = paceless().next().map_or(f64::INFINITY, |first| slots(&first.started.step));
    let full = paceless().filter(|step| slots(&step.started.step) > alone).filter_map(|step| {
        let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
        let operations = point.response.moments.count.max(1) as f64;
        Some(point.rate * (1.0 + 2.0 / operations.sqrt()))
    });
    let Some(full) = full.reduce(f64::max) else { return reached };
    let kept = trials.iter().filter(|trial| trial.state.is_kept()).map(|trial| trial.rate);
    let most = kept.fold(full.max(reached.value), f64::max);
    let interval = reached.interval.map(|(low, high)| (low, high.min(most)));
    Estimate { interval, ..reached }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, push, record};
    use fathom_schema::{Arrival, Backlog, OperationKind, Pacing};

    /// A step of ten seconds with so many slots, of which so many are held.
    fn shape(queue_depth: u32, rate: u64, asked: Option<f64>) -> StreamShape {
        let (course, backlog) = (Vec::new(), Backlog::Keep);
        let pacing = asked.map(|rate| Pacing::Open { rate, arrival: Arrival::Poisson, course, backlog });
        StreamShape {
            queue_depth,
            rates: vec![(OperationKind::Read, rate)],
            pacing: pacing.unwrap_or(StreamShape::default().pacing),
            ..StreamShape::default()
        }
    }

    #[test]
    fn full_speed_is_that_of_the_queue_where_it_has_more_slots_than_one_operation_a_worker() {
        let of = |shapes: &[(u32, u64, f64)]| {
            let mut all = record(&[shape(shapes[0].0, shapes[0].1, None)]);
            for ((depth, rate, _), index) in shapes.iter().zip(0..).skip(1) {
                push(&mut all, &[shape(*depth, *rate, None)], index);
            }
            for (step, (_, _, held)) in all.steps.iter_mut().zip(shapes) {
                let streams = &mut step.finished.as_mut().expect("it has an end").streams;
                let worker = &mut streams[0].workers[0];
                worker.tally.in_flight_ns = held * worker.end.since(worker.start).0 as f64;
                worker.tally.kinds[0].service = crate::sample::latency(1e6, 1000);
                worker.tally.kinds[0].response = None;
            }
            let first = &all.steps[0];
            let streams = &first.finished.as_ref().expect("it has an end").streams;
            let alone = LoadPoint::of(&first.started.step, streams).expect("it measured");
            at_full_speed(&all, &alone).map(|held| held.slots)
        };
        // One takes 1 ms: 64 at 64,000/s wait for nothing, at 8000/s for one another.
        assert_eq!(of(&[(1, 1000, 1.0), (64, 64_000, 64.0)]), Some(64.0));
        assert_eq!(of(&[(1, 1000, 1.0), (64, 8000, 64.0)]), None);
        // One operation at a time is calm whatever the target.
        assert_eq!(of(&[(1, 1000, 1.0)]), None);
        assert_eq!(of(&[(4, 4000, 4.0), (4, 4000, 4.0)]), None);
    }

    #[test]
    fn full_speed_bounds_where_limits_are_reached() {
        let high = |shapes: &[(u32, u64)], value: f64| {
            let mut all = record(&[shape(shapes[0].0, shapes[0].1, None)]);
            for ((depth, rate), index) in shapes.iter().zip(0..).skip(1) {
                push(&mut all, &[shape(*depth, *rate, None)], index);
            }
            let reached = Estimate { value, interval: Some((500.0, 9000.0)) };
            within_full_speed(reached, &all, &[]).interval.expect("it has one").1
        };
        let bounded = high(&[(1, 1000), (64, 4000)], 3000.0);
        assert!((4000.0..4100.0).contains(&bounded), "{bounded}");
        // It holds the figure itself in any case.
        assert!((high(&[(1, 1000), (64, 4000)], 5000.0) - 5000.0).abs() < 1e-9);
        // One operation at a time need not be all that a target can do.
        assert!((high(&[(1, 1000)], 3000.0) - 9000.0).abs() < 1e-9);
    }
}
