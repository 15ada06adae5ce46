//! The percentiles of two sides: which of them both have enough operations for, and how far each may be off.

use super::change::{Between, Told, change_interval, resampled_too_narrow, widened};
use super::side::{Replicates, StepSide};
use super::{Figure, Metric, QUANTILES, Sides};
use crate::statistics::{Sample, Shift, bucket_at, quantile_shifts};
use fathom_metrics::{bucket_bounds, bucket_of};

/// Resamples of a bootstrap.
const RESAMPLES: usize = 1000;
/// Level up to which ends of intervals are resamples, of which two or three lie beyond; farther out they go as normal ones.
const RESAMPLED_LEVEL_MAX: f64 = 0.995;
/// Seed of the resampling: the same runs give the same answer.
const SEED: u64 = 17;
/// Operations that have to lie beyond a quantile: fewer are one slow moment's accident.
const BEYOND_MIN: f64 = 10.0;
/// Fewest independent blocks that a quantile's interval can be resampled from.
const BLOCKS_MIN: usize = 4;
/// Standard errors of its rank to either side of a percentile that a run shows it by itself to lie within (the binomial's, normal).
const OWN_ERRORS: f64 = 1.96;

/// The percentiles that both sides have enough operations for, and the one that decides in any case.
pub(super) fn percentiles(sides: &Sides<'_>) -> Vec<Metric> {
    let &Sides { one, base, new, margin, level } = sides;
    let value_of = |bucket: usize| {
        let (low, high) = bucket_bounds(bucket);
        u64::midpoint(low, high) as f64
    };
    let values = |side: &StepSide, q: f64| -> Vec<f64> {
        side.quantile_of_blocks(q).into_iter().map(value_of).collect()
    };
    // Of whole nanoseconds: the least that a latency is told to.
    let width = |side: &StepSide, q: f64| {
        let widths = side.quantile_of_blocks(q).into_iter().map(|bucket| {
            let (low, high) = bucket_bounds(bucket);
            (high - low + 1) as f64
        });
        widths.fold(0.0, f64::max)
    };
    // Where a percentile lies on a jump of the distribution, runs may fall on one side of it all together.
    let own = |side: &StepSide, q: f64| -> f64 {
        let of_block = |counts: &Vec<u64>| {
            let operations = counts.iter().sum::<u64>() as f64;
            let off = OWN_ERRORS * (q * (1.0 - q) / operations).sqrt();
            let at = |q: f64| bucket_at(counts, q.clamp(0.0, 1.0)).map(value_of);
            Some(((at(q + off)? - at(q - off)?) / (2.0 * OWN_ERRORS)).powi(2))
        };
        let variances: Vec<f64> = side.blocks.iter().filter_map(of_block).collect();
        if variances.is_empty() { 0.0 } else { Sample::of(&variances).mean.sqrt() }
    };
    // Stretches of a run are many, and alike but for chance: those are resampled. Runs and rounds are few: Student's t allows
    // for that, resampling does not.
    let is_resampled = [base.iops.of, new.iops.of] == [Replicates::Intervals; 2];
    let blocks = base.blocks.len().min(new.blocks.len());
    let intervals = base.iops.values.len().min(new.iops.values.len());
    let resamples = if is_resampled { RESAMPLES } else { 0 };
    let told = level.min(RESAMPLED_LEVEL_MAX);
    let all = quantile_shifts(&base.blocks, &new.blocks, &QUANTILES, &value_of, told, resamples, SEED);
    let metric = |Shift { q, first, second, ratio_interval }: Shift| {
        // Runs are values of their own, and the figure of a side is their mean: the percentile of all their operations
        // together would be that of the slowest run, about which the interval would not be.
        let mean = |side: &StepSide, all: f64| {
            let figure =
                if side.iops.of == Replicates::Intervals { all } else { Sample::of(&values(side, q)).mean };
            // Next to the end it is not the middle of its bucket: no operation takes longer than the longest.
            if figure > side.longest_ns && is_of_one_bucket(figure, side.longest_ns) {
                side.longest_ns
            } else {
                figure
            }
        };
        let figures = (mean(base, first), mean(new, second));
        let decides = q == 0.99 && one.deciding().contains(&"p99");
        let is_supported = base.operations().min(new.operations()) * (1.0 - q) >= BEYOND_MIN;
        // What decides is there even where there are too few operations to say something.
        if !is_supported && !decides {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let needs = (!is_supported).then(|| (BEYOND_MIN / (1.0 - q)).round() as u64);
        let (left, right) = (values(base, q), values(new, q));
        let left = Told { values: &left, width: width(base, q), own: own(base, q) };
        let right = Told { values: &right, width: width(new, q), own: own(new, q) };
        let change = figures.1 / figures.0 - 1.0;
        let interval = match ratio_interval {
            _ if !is_supported => None,
            _ if !is_resampled => sides.interval(&left, &right, change),
            // What comes and goes slowly leaves few stretches of a long run: Student's t allows for that as well.
            _ if (2..BLOCKS_MIN).contains(&blocks) && intervals >= BLOCKS_MIN => {
                change_interval(&left.sample(), &right.sample(), change, level)
                    .map(|found| widened(found, change, left.off() + right.off(), 1.0))
            }
            ratios => ratios.filter(|_| blocks >= BLOCKS_MIN).map(|ratios| {
                let times = resampled_too_narrow(blocks, told, level);
                widened(Between::ratios(ratios), change, left.off() + right.off(), times)
            }),
        };
        let name = format!("p{}", (q * 1e6).round() / 1e4);
        let count = (if sides.runs() > 1 { blocks } else { 1 }, sides.rounds());
        let off = left.off() + right.off();
        let figure = Figure { name, more_is_better: false, figures, interval, off, decides, count, needs };
        Some(figure.judged(margin, level))
    };
    all.into_iter().filter_map(metric).collect()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "latencies, above 0")]
fn is_of_one_bucket(one_ns: f64, other_ns: f64) -> bool {
    bucket_of(one_ns as u64) == bucket_of(other_ns as u64)
}
