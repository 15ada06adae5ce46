//! The measured curve itself, without a law: means per load, and reading off between them. Does not fit.

use super::choice::{Estimate, LatencyLimit};
use super::fit::Point;

/// All points of one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    pub(super) n: f64,
    /// Mean throughput.
    pub(super) x: f64,
    /// Half of the 95 % interval of the mean; `None` of a single point.
    pub(super) margin: Option<f64>,
}

/// Fall below the best that counts where a load was measured once.
const FALL_MIN: f64 = 0.03;

/// Means per load, by ascending load.
pub(super) fn by_load(points: &[Point]) -> Vec<Load> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    sorted
        .chunk_by(|a, b| a.n == b.n)
        .map(|group| {
            let values: Vec<f64> = group.iter().map(|p| p.x).collect();
            let moments = crate::statistics::Sample::of(&values);
            Load { n: group[0].n, x: moments.mean, margin: moments.half_width(0.95) }
        })
        .collect()
}

/// Whether throughput falls beyond its best: the two largest loads lie below it by more than their error, the last one
/// lowest.
pub(super) fn falls(loads: &[Load]) -> bool {
    let Some(best) = loads.iter().max_by(|a, b| a.x.total_cmp(&b.x)) else { return false };
    let below = |load: &Load| {
        let margins = load.margin.zip(best.margin).map(|(own, of_best)| own + of_best);
        best.x - load.x > margins.unwrap_or(0.0).max(FALL_MIN * best.x)
    };
    match loads {
        [.., one, last] => one.n > best.n && below(one) && below(last) && last.x < one.x,
        _ => false,
    }
}

/// Smallest load that gives throughput `x`, on straight lines between the means.
pub(super) fn load_at(loads: &[Load], x: f64) -> Option<f64> {
    if loads.first().is_some_and(|first| first.x >= x) {
        return loads.first().map(|first| first.n);
    }
    loads.windows(2).find(|pair| pair[0].x < x && pair[1].x >= x).map(|pair| {
        let share = (x - pair[0].x) / (pair[1].x - pair[0].x);
        pair[0].n + share * (pair[1].n - pair[0].n)
    })
}

/// Where N/X of the means reaches a limit.
pub(super) fn little_limit(loads: &[Load], seconds: f64) -> LatencyLimit {
    let rows: Vec<[f64; 3]> = loads.iter().map(|load| [load.n, load.x, load.n / load.x]).collect();
    crossing(&rows, seconds)
}

/// Where measured latencies reach a limit.
pub(super) fn measured_limit(points: &[Point], latencies: &[f64], seconds: f64) -> LatencyLimit {
    let mut rows: Vec<[f64; 3]> = points.iter().zip(latencies).map(|(p, &r)| [p.n, p.x, r]).collect();
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let rows: Vec<[f64; 3]> = rows
        .chunk_by(|a, b| a[0] == b[0])
        .map(|group| {
            std::array::from_fn(|at| group.iter().map(|row| row[at]).sum::<f64>() / group.len() as f64)
        })
        .collect();
    crossing(&rows, seconds)
}

/// First crossing of the limit by rows of load, throughput, latency, on straight lines between them.
fn crossing(rows: &[[f64; 3]], seconds: f64) -> LatencyLimit {
    let at = rows.windows(2).find(|pair| pair[0][2] <= seconds && pair[1][2] > seconds).map(|pair| {
        let share = (seconds - pair[0][2]) / (pair[1][2] - pair[0][2]);
        [0, 1].map(|at| pair[0][at] + share * (pair[1][at] - pair[0][at]))
    });
    let bare = |value| Estimate { value, interval: None };
    LatencyLimit { seconds, n: at.map(|[n, _]| bare(n)), x: at.map(|[_, x]| bare(x)), is_extrapolated: false }
}
