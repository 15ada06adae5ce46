//! How much the speeds of zones scatter by chance alone, and how slow one has to be beside its neighbours to be told from that:
//! from the reads within zones, and from how zones differ. Knows nothing of borders.

use super::slow::{BORDERS_MIN, NEIGHBOURS, SLOW_SHARE, spread, upper_median};
use crate::load::LoadPoint;

/// So many times the scatter lies a slow zone below its neighbours, at least: of noise that is normal, one zone in four thousand
/// does, and one in twenty millions both times that it is read.
const CHANCE_SPREADS: f64 = 3.5;
/// What is known from few reads or zones is known to that much less: 1 + 6 ÷ degrees of freedom follows the quantiles of Student's t at
/// that chance from four of them on (9.0 of 4, 4.4 of 16).
const FEW: f64 = 6.0;
/// Degrees of freedom from which on reads say how they scatter.
const FREEDOM_MIN: usize = 8;
/// The median distance from the median, times this, is the standard deviation of what is normal.
const OF_NORMAL: f64 = 1.4826;

/// How a zone was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Reads.
    pub reads: u64,
    /// Variance of what they took by the square of its mean; `None` of fewer than two.
    pub variance: Option<f64>,
}

impl Pace {
    /// Of the reads of one step, which is as fast as it says.
    pub fn of(point: &LoadPoint) -> Self {
        let moments = &point.response.moments;
        let (reads, count) = (moments.count, moments.count as f64);
        let mean = moments.sum_ns / count;
        let squares = (moments.sum_squares - moments.sum_ns * mean).max(0.0);
        let variance = (reads > 1 && mean > 0.0).then(|| squares / (count - 1.0) / (mean * mean));
        Self { bytes_per_s: point.bytes_per_s, reads, variance }
    }
}

/// For each zone the share of its neighbours' speed below which it is slow: [`SLOW_SHARE`], or less where chance reaches as far.
pub(super) fn shares(zones: &[Option<Pace>]) -> Vec<f64> {
    let speeds: Vec<f64> =
        zones.iter().flatten().map(|pace| pace.bytes_per_s).filter(|rate| *rate > 0.0).collect();
    let of_zones = (speeds.len() >= BORDERS_MIN).then(|| between(&speeds));
    let share = |at: usize| {
        // Zones that are as they are hide a scatter of reads only where these are alike.
        let scatter = match (within(zones, at), of_zones) {
            (None, None) => f64::INFINITY,
            (reads, zones) => reads.unwrap_or(0.0).max(zones.unwrap_or(0.0)),
        };
        SLOW_SHARE.min((-CHANCE_SPREADS * beside_some(zones, at) * scatter).exp())
    };
    (0..zones.len()).map(share).collect()
}

/// The share that half of the zones have to fall below, or less.
pub(super) fn usual(zones: &[Option<Pace>], shares: &[f64]) -> f64 {
    let known: Vec<f64> =
        zones.iter().zip(shares).filter_map(|(zone, share)| zone.and(Some(*share))).collect();
    if known.is_empty() { SLOW_SHARE } else { upper_median(known.into_iter()) }
}

/// How much more a zone differs by chance from its neighbours than from what these are like: they scatter as well, and the upper one of
/// two lies above both in the middle.
fn beside_some(zones: &[Option<Pace>], at: usize) -> f64 {
    let others = around(zones, at).iter().flatten().count() - usize::from(zones[at].is_some());
    1.0 + 2.0 / others.max(1) as f64
}

/// A zone and its neighbours.
fn around(zones: &[Option<Pace>], at: usize) -> &[Option<Pace>] {
    &zones[at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(zones.len())]
}

/// How much zones differ from one another, as a share: the less of what neighbours differ by, which says nothing where many zones
/// have others beside them, and of what all differ by from their median, which says nothing of a disk.
fn between(speeds: &[f64]) -> f64 {
    let logs: Vec<f64> = speeds.iter().map(|speed| speed.ln()).collect();
    let middle = upper_median(logs.iter().copied());
    let from_middle = OF_NORMAL * upper_median(logs.iter().map(|log| (log - middle).abs()));
    spread(speeds).min(from_middle) * of_few(speeds.len())
}

/// How much more a scatter may be than what is known of it by so many.
pub(super) fn of_few(freedom: usize) -> f64 {
    1.0 + FEW / freedom as f64
}

/// How much each zone scatters by its own reads, as a share; 0 where these do not tell.
pub(super) fn of_reads(zones: &[Option<Pace>]) -> Vec<f64> {
    let error = |pace: Pace| pace.variance.map_or(0.0, |variance| (variance / pace.reads as f64).sqrt());
    zones.iter().map(|zone| zone.map_or(0.0, error)).collect()
}

/// The standard error of a zone's speed, as a share, by how the reads of it and of its neighbours scatter: the median of them, since a
/// single read that takes long is no scatter. `None` where they are too few to say.
fn within(zones: &[Option<Pace>], at: usize) -> Option<f64> {
    let pace = zones[at]?;
    let known = || {
        around(zones, at)
            .iter()
            .flatten()
            .filter_map(|pace| Some((usize::try_from(pace.reads).ok()? - 1, pace.variance?)))
    };
    let freedom: usize = known().map(|(freedom, _)| freedom).sum();
    let variance = upper_median(known().map(|(_, variance)| variance));
    // Those on one side may not scatter at all, and are no word for the others.
    let of_side =
        |side: &[Option<Pace>]| upper_median(side.iter().flatten().filter_map(|pace| pace.variance));
    let (first, end) = (at.saturating_sub(NEIGHBOURS), (at + NEIGHBOURS + 1).min(zones.len()));
    let variance = variance.max(f64::midpoint(of_side(&zones[first..at]), of_side(&zones[at + 1..end])));
    (freedom >= FREEDOM_MIN).then(|| (variance / pace.reads as f64).sqrt() * of_few(freedom))
}

#[cfg(test)]
mod tests {
    use super::super::slow::slow_zones;
    use super::*;
    use fastrand::Rng;

    /// One zone after another of so many reads, each of which takes what is drawn.
    fn zones(count: usize, reads: u64, random: &mut Rng, draw: fn(&mut Rng) -> f64) -> Vec<Option<Pace>> {
        (0..count).map(|_| Some(zone(reads, 1.0, random, draw))).collect()
    }

    fn zone(reads: u64, times: f64, random: &mut Rng, draw: fn(&mut Rng) -> f64) -> Pace {
        let took: Vec<f64> = (0..reads).map(|_| times * draw(random)).collect();
        let (count, sum) = (reads as f64, took.iter().sum::<f64>());
        let mean = sum / count;
        let squares: f64 = took.iter().map(|one| (one - mean).powi(2)).sum();
        let variance = (reads > 1).then(|| squares / (count - 1.0) / (mean * mean));
        Pace { bytes_per_s: count / sum, reads, variance }
    }

    const EXPONENTIAL: fn(&mut Rng) -> f64 = |random| -(1.0 - random.f64()).ln();
    const UNIFORM: fn(&mut Rng) -> f64 = |random| 0.5 + random.f64();
    const LOGNORMAL: fn(&mut Rng) -> f64 = |random| crate::sample::normal(random).exp();

    /// Devices whose places are all alike, of any number of zones and reads: one zone in three hundred is read again at most, which
    /// is to say that one in 90,000 is called slow, if reads know nothing of those before.
    #[test]
    fn zones_that_are_alike_are_not_slow() {
        let mut random = Rng::with_seed(3);
        for draw in [EXPONENTIAL, UNIFORM, LOGNORMAL] {
            for reads in [1, 2, 4, 8, 16, 64] {
                for count in [1, 2, 3, 4, 6, 8, 16, 32, 128, 300] {
                    let devices = 6_000 / count;
                    let slow: usize = (0..devices)
                        .map(|_| slow_zones(&zones(count, reads, &mut random, draw)).zones.len())
                        .sum();
                    assert!(
                        slow <= 20,
                        "{slow} of {} zones of {reads} reads, {count} a device",
                        devices * count
                    );
                }
            }
        }
    }

    /// One of 128 zones takes so many times as long.
    #[test]
    fn a_zone_that_is_slower_than_chance_allows_is_found() {
        let mut random = Rng::with_seed(5);
        let mut found = |reads: u64, times: f64, draw: fn(&mut Rng) -> f64| {
            (0..100)
                .filter(|_| {
                    let mut all = zones(128, reads, &mut random, draw);
                    all[70] = Some(zone(reads, times, &mut random, draw));
                    slow_zones(&all).zones.iter().any(|(at, _)| *at == 70)
                })
                .count()
        };
        for (reads, times, draw) in [
            (64, 2.0, UNIFORM),
            (64, 2.0, EXPONENTIAL),
            (16, 2.0, UNIFORM),
            (16, 5.0, EXPONENTIAL),
            (8, 2.0, UNIFORM),
            (8, 10.0, EXPONENTIAL),
            (2, 5.0, UNIFORM),
            (1, 10.0, UNIFORM),
        ] {
            let found = found(reads, times, draw);
            assert!(found >= 85, "{found} of 100: {times} times as slow, {reads} reads");
        }
    }

    /// Half of a device, or another part of it, takes twice as long, each time exactly or by chance as well, at either end: all of it is
    /// slow, and of the other part next to nothing.
    #[test]
    fn a_part_that_does_not_scatter_hides_no_border() {
        const EXACT: fn(&mut Rng) -> f64 = |_| 1.0;
        let mut random = Rng::with_seed(13);
        for slow in [16, 40, 56, 60, 62, 63, 64, 65, 66, 72, 80, 88, 94] {
            for (of_slow, of_fast, least) in
                [(EXACT, EXPONENTIAL, 36), (EXPONENTIAL, EXACT, 36), (EXPONENTIAL, EXPONENTIAL, 28)]
            {
                let (mut whole, mut others) = (0, 0);
                for turn in 0..40 {
                    let is_slow = |at: usize| if turn % 2 == 0 { at < slow } else { at >= 128 - slow };
                    let zones: Vec<Option<Pace>> = (0..128)
                        .map(|at| {
                            let (times, draw) = if is_slow(at) { (2.0, of_slow) } else { (1.0, of_fast) };
                            Some(zone(64, times, &mut random, draw))
                        })
                        .collect();
                    let found = slow_zones(&zones).zones;
                    let right = found.iter().filter(|(at, _)| is_slow(*at)).count();
                    // Of those that scatter, one or the other is as fast as 70 % by chance.
                    whole += usize::from(right * 10 >= slow * 7);
                    others += found.len() - right;
                }
                assert!(whole >= least && others <= 3, "{whole} of 40 and {others} others, {slow} zones");
            }
        }
    }

    #[test]
    fn what_can_be_told_is_told() {
        let mut random = Rng::with_seed(9);
        let mut share =
            |count: usize, reads: u64, draw| slow_zones(&zones(count, reads, &mut random, draw)).share;
        assert!((share(128, 64, UNIFORM) - SLOW_SHARE).abs() < 1e-9);
        assert!((0.01..0.2).contains(&share(128, 2, EXPONENTIAL)));
        assert!(share(3, 1, EXPONENTIAL) < 1e-9, "of three reads nothing says how much they scatter");
        assert!((slow_zones(&[]).share - SLOW_SHARE).abs() < 1e-9);
    }
}
