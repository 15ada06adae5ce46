//! What is left to a limit at a rate, and what all trials of that rate tell together.

use super::{BENT_P, ERRORS_FREEDOM, NORMAL_95, Trial, waiting};
use crate::load::LoadPoint;
use crate::scaling::Estimate;
use crate::statistics::{Sample, f_beyond, t_quantile};
use fathom_metrics::merge_sparse;
use fathom_schema::LatencyGoal;

/// Least standard error of a latency, as a share: of a percentile what comes from the histogram's buckets alone, which are 1/128 wide
/// at most and hold values spread evenly (√12 times less), of a mean what keeps operations that are all alike from counting for all.
const PERCENTILE_ERROR_MIN: f64 = 1.0 / 128.0 / 3.464;
const MEAN_ERROR_MIN: f64 = 1e-5;

/// What is left to a goal at the rate in question, or at the highest that kept all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Margin {
    /// The goal.
    pub goal: LatencyGoal,
    /// The worst latency of the trials of the rate, seconds.
    pub worst_s: f64,
    /// What is left from that to the limit, as a share of it; below 0 where it is above.
    pub left: f64,
    /// What all trials of the rate tell together, seconds, with its 95 % interval: that of all their operations; where one of them
    /// tells too little by itself, that of how they scatter; where neither has ends, and of one trial, that of the worst; of a rate
    /// that was searched for, up to that of the lowest one missed. Absent where that has no ends, and where trials are too short for
    /// what waits in a queue to come to rest in them.
    pub together_s: Option<Estimate>,
    /// Whether some of the trials kept it and others did not.
    pub is_split: bool,
    /// Whether there is a single trial.
    pub is_single: bool,
}

/// Share of a limit within which a single trial that has no interval leaves open on which side of it the rate lies: next to full speed
/// trials in which waiting does not come to rest miss a percentile by a third and more.
const NEAR_SHARE: f64 = 0.5;

/// Of each goal, by trials of one rate, whose operations go to so many queues, and where one alone takes `alone_s`, where that is known;
/// none of none.
pub(super) fn of(
    goals: &[LatencyGoal],
    trials: &[(&Trial, &LoadPoint)],
    queues: f64,
    alone_s: Option<f64>,
) -> Vec<Margin> {
    let one = |(which, goal): (usize, &LatencyGoal)| Margin::of(which, *goal, trials, queues, alone_s);
    goals.iter().enumerate().filter_map(one).collect()
}

/// Lets the intervals of a rate that was chosen for having kept its limits reach up to those of the lowest rate that was missed: of rates
/// that are about the same, the one whose trials were lucky is chosen, and latencies grow with the rate.
pub(super) fn reach_to(kept: &mut [Margin], missed: &[Margin]) {
    for (kept, missed) in kept.iter_mut().zip(missed) {
        let Some((_, high)) = missed.together_s.and_then(|all| all.interval) else { continue };
        if let Some(Estimate { interval: Some(interval), .. }) = &mut kept.together_s {
            interval.1 = interval.1.max(high);
        }
    }
}

impl Margin {
    fn of(
        which: usize,
        goal: LatencyGoal,
        trials: &[(&Trial, &LoadPoint)],
        queues: f64,
        alone_s: Option<f64>,
    ) -> Option<Self> {
        let latencies_s: Vec<f64> = trials.iter().map(|(trial, _)| trial.latencies_s[which]).collect();
        let worst = latencies_s.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?.0;
        let worst_s = latencies_s[worst];
        let all = all_of(trials.iter().map(|(_, point)| *point))?;
        let least = if goal.quantile.is_some() { PERCENTILE_ERROR_MIN } else { MEAN_ERROR_MIN };
        let errors: Option<Vec<f64>> = trials
            .iter()
            .map(|(trial, _)| Some(error_s(trial.intervals_s[which])? / trial.latencies_s[which]))
            .collect();
        let of_all = match errors {
            Some(errors) if errors.len() > 1 => {
                together(all.latency_s(&goal), &latencies_s, root_mean_square(&errors).max(least), least)
            }
            Some(_) => None,
            None => scattered(&latencies_s, least),
        };
        let own = trials[worst].0.intervals_s[which];
        let of_worst = error_s(own).map(|_| Estimate { value: worst_s, interval: Some(own) });
        let come_to_rest = alone_s.is_none_or(|alone_s| {
            trials.iter().all(|(_, point)| waiting::comes_to_rest(point, queues, alone_s))
        });
        let together_s = of_all.or(of_worst).filter(|_| come_to_rest);
        let limit_s = goal.limit.as_secs_f64();
        let is_split = worst_s > limit_s && latencies_s.iter().any(|latency_s| *latency_s <= limit_s);
        let is_single = trials.len() == 1;
        Some(Self { goal, worst_s, left: 1.0 - worst_s / limit_s, together_s, is_split, is_single })
    }

    /// Whether it may be chance that the worst of the trials kept the goal, or did not: all of them together do not show it, or tell
    /// nothing and do not agree, or are but one.
    pub fn is_chance(&self) -> bool {
        let limit_s = self.goal.limit.as_secs_f64();
        let interval = self.together_s.and_then(|together| together.interval);
        interval.map_or(self.is_split || self.is_single && self.left.abs() < NEAR_SHARE, |(low, high)| {
            if self.left < 0.0 { low <= limit_s } else { high > limit_s }
        })
    }
}

/// All operations of several trials of one rate; `None` of none.
fn all_of<'a>(points: impl Iterator<Item = &'a LoadPoint>) -> Option<LoadPoint> {
    points.cloned().reduce(|mut all, point| {
        all.response.moments.merge(&point.response.moments);
        merge_sparse(&mut all.response.histogram, &point.response.histogram);
        all.mean_s = all.response.moments.mean_ns() / 1e9;
        all
    })
}

/// The standard error that an interval comes from; `None` where it has an open end.
fn error_s((low, high): (f64, f64)) -> Option<f64> {
    (low > 0.0 && high.is_finite()).then_some((high - low) / 2.0 / NORMAL_95)
}

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt()
}

/// What several trials of one rate tell together, in seconds, with its 95 % interval, which is that of the inverse. `all_s`: the
/// figure of all their operations. Each trial's `error`, as a share of its figure, is taken for the same, since they are alike but for
/// chance: weighed by their own, those that chance makes short and even would count for more. Where trials lie farther apart than
/// that brings (F test), Student's t of how they scatter counts. `least`: what the error of all is at least.
fn together(all_s: f64, latencies_s: &[f64], error: f64, least: f64) -> Option<Estimate> {
    let count = latencies_s.len() as f64;
    let freedom = count - 1.0;
    let squares = latencies_s.iter().map(|latency_s| (all_s / latency_s - 1.0).powi(2)).sum::<f64>();
    let variance = squares / freedom.max(1.0);
    let scatter = variance / (error * error);
    let are_apart = freedom >= 1.0 && f_beyond(scatter, freedom, ERRORS_FREEDOM).is_some_and(|p| p < BENT_P);
    let half = if are_apart { t_quantile(0.95, freedom) * variance.sqrt() } else { NORMAL_95 * error }
        / count.sqrt();
    around(1.0 / all_s, half.max(NORMAL_95 * least))
}

/// The same by how they scatter alone (Student's t), where one of them is too short to tell its own error; two at least.
fn scattered(latencies_s: &[f64], least: f64) -> Option<Estimate> {
    if latencies_s.len() < 2 {
        return None;
    }
    let inverses: Vec<f64> = latencies_s.iter().map(|latency_s| 1.0 / latency_s).collect();
    let Sample { count, mean, variance } = Sample::of(&inverses);
    let half = t_quantile(0.95, count as f64 - 1.0) * (variance / count as f64).sqrt() / mean;
    around(mean, half.max(NORMAL_95 * least))
}

/// The inverse of a figure with the interval of that of `half` of it to either side; `None` where it may be nothing at all.
fn around(inverse: f64, half: f64) -> Option<Estimate> {
    let interval = (1.0 / (inverse * (1.0 + half)), 1.0 / (inverse * (1.0 - half)));
    (inverse.is_finite() && half < 1.0).then(|| Estimate { value: 1.0 / inverse, interval: Some(interval) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_units::Nanos;

    #[test]
    fn trials_of_one_rate_tell_more_together_and_no_more_than_their_scatter() {
        // Errors of 1 % each: of four together half of that.
        let half = |all_s: f64, latencies_s: &[f64], least: f64| {
            let found = together(all_s, latencies_s, 0.01, least).expect("it has one");
            let (low, high) = found.interval.expect("it has one");
            assert!(low < found.value && found.value < high, "{found:?}");
            (high - low) / 2.0
        };
        assert!((half(1.0, &[1.0; 4], 0.0) - 1.96 * 0.005).abs() < 1e-5);
        assert!((half(1.0, &[1.0], 0.0) - 1.96 * 0.01).abs() < 1e-4);
        // What all have in common does not become less.
        assert!((half(1.0, &[1.0; 4], 0.008) - 1.96 * 0.008).abs() < 1e-4);
        // A scatter that chance brings makes it no wider.
        let off = [1.0 / 1.011, 1.0 / 0.989];
        assert!((half(1.0, &off, 0.0) / (1.96 * 0.01 / 2.0_f64.sqrt()) - 1.0).abs() < 1e-3);
        // Four that scatter by 10 %: t(0.975, 3) = 3.182 of 10 % / 2.
        let apart = [1.0 / 1.1, 1.0 / 0.9, 1.0 / 1.1, 1.0 / 0.9];
        let expected = 3.182 * (4.0_f64 / 3.0).sqrt() * 0.1 / 2.0;
        assert!((half(1.0, &apart, 0.0) / expected - 1.0).abs() < 0.05, "{expected}");
        // An error of half of it and more says that it may be nothing at all.
        assert_eq!(together(1.0, &[1.0], 1.0, 0.0), None);
    }

    #[test]
    fn a_rate_that_was_chosen_for_its_luck_may_be_as_slow_as_the_next_one_that_was_missed() {
        let goal = LatencyGoal { quantile: None, limit: Nanos::secs(1) };
        let margin = |worst_s: f64, together: Option<(f64, f64)>| Margin {
            goal,
            worst_s,
            left: 0.0,
            together_s: together.map(|all| Estimate { value: worst_s, interval: Some(all) }),
            is_split: false,
            is_single: false,
        };
        let reached = |kept: Option<(f64, f64)>, missed: Option<(f64, f64)>| {
            let mut margins = [margin(1.0, kept)];
            reach_to(&mut margins, &[margin(1.3, missed)]);
            margins[0].together_s.and_then(|all| all.interval)
        };
        assert_eq!(reached(Some((0.9, 1.1)), Some((1.1, 1.5))), Some((0.9, 1.5)));
        assert_eq!(reached(Some((0.9, 1.1)), None), Some((0.9, 1.1)));
        assert_eq!(reached(Some((0.9, 1.6)), Some((1.1, 1.5))), Some((0.9, 1.6)));
        assert_eq!(reached(None, Some((1.1, 1.5))), None);
        let mut alone = [margin(1.0, Some((0.9, 1.1)))];
        reach_to(&mut alone, &[]);
        assert_eq!(alone[0].together_s.and_then(|all| all.interval), Some((0.9, 1.1)), "none was missed");
    }

    #[test]
    fn a_single_trial_without_an_interval_leaves_open_what_lies_next_to_its_limit() {
        let of = |left: f64, is_single: bool, together: Option<(f64, f64)>| {
            let goal = LatencyGoal { quantile: Some(0.99), limit: Nanos::secs(1) };
            let together_s = together.map(|all| Estimate { value: 1.0 - left, interval: Some(all) });
            Margin { goal, worst_s: 1.0 - left, left, together_s, is_split: false, is_single }.is_chance()
        };
        assert!(of(-0.045, true, None) && of(0.3, true, None));
        assert!(!of(-0.8, true, None) && !of(0.9, true, None), "far off it is none");
        assert!(!of(-0.045, false, None), "several agree");
        assert!(!of(-0.045, true, Some((1.02, 1.07))) && of(-0.045, true, Some((0.9, 1.2))));
    }

    #[test]
    fn few_trials_too_short_for_an_error_of_their_own_tell_by_their_scatter() {
        // t(0.975, 2) = 4.303.
        let apart: [f64; 3] = [1.1, 1.0, 0.9];
        assert_eq!(scattered(&[1.0], 0.0), None);
        let (low, high) = scattered(&apart, 0.0).and_then(|found| found.interval).expect("it has one");
        let mean = (1.0 / 1.1 + 1.0 + 1.0 / 0.9) / 3.0;
        let squares: f64 = apart.iter().map(|latency_s| (1.0 / latency_s - mean).powi(2)).sum();
        let half = 4.302_653 * (squares / 2.0 / 3.0_f64).sqrt();
        assert!((low - 1.0 / (mean + half)).abs() < 1e-6 && (high - 1.0 / (mean - half)).abs() < 1e-6);
        // Those that fall into one bucket are known no better than buckets tell.
        let (low, high) = scattered(&[1.0; 3], 0.01).and_then(|found| found.interval).expect("it has one");
        assert!((high - low - 2.0 * 0.0196).abs() < 1e-4, "{low} {high}");
    }
}
