//! Which of a device's zones are slow: beside the zones around them, or behind a sharp border to faster ones, and by more than
//! chance explains (`scatter`). Does not know how zones are read or shown.

use super::scatter::{self, Pace};

/// Zones on each side that a zone is compared with: disks grow slower from the outside in, so that the mean of all says
/// little about one.
pub(super) const NEIGHBOURS: usize = 8;
/// A zone is slow below this share of the median of its neighbours, or of what lies in front of or behind a sharp border. One with
/// errors is not: how long a read takes to fail is no speed.
pub const SLOW_SHARE: f64 = 0.7;
/// Zones on each side of a border whose median is the level there.
const LEVEL: usize = 3;
/// Zones within which a border is sharp: the one that it runs through may be as fast as both sides together.
const SHARP: usize = 2;
/// Zones from which on a border may run through one of them: of fewer, two are so far apart that a disk's inner half alone lies as far
/// below the outer one.
const THROUGH_MIN: usize = 8;
/// Zones from which on there are borders at all: disks are twice as fast outside as inside, which is 15 % from each of six
/// zones to the next.
pub(super) const BORDERS_MIN: usize = 6;
/// How many times the spread of single zones a border is high, at least: of zones whose speeds scatter so much nothing tells a
/// border from chance. In 2000 profiles of 128 zones of noise alone the highest was 5.3 times.
const BORDER_SPREADS: f64 = 6.0;
/// The same of levels that are medians of more zones, of which there are [`WIDE_PARTS`] times as many at least: they scatter less, and a
/// disk does not fall by much within them.
const BORDER_SPREADS_WIDE: f64 = 4.0;
const WIDE_PARTS: usize = 16;
/// Zones on each side of a border that tell by how much zones scatter there: a side may not do so at all, and is no word for the other.
const SCATTERING: usize = 16;
/// Fewest of them that tell it by how they differ.
const SCATTERING_MIN: usize = 8;
/// Share of the zones that are fast for what lies lower to be slow beside them: fewer may be what a cache still had.
const FAST_SHARE: f64 = 0.25;
/// Levels that differ by less than this share are one: they are sums of borders, each with its noise.
const SAME_LEVEL: f64 = 0.85;

/// What is slow of some zones.
#[derive(Debug, Clone, PartialEq)]
pub struct Slow {
    /// Which they are, each with the speed below which it is slow.
    pub zones: Vec<(usize, f64)>,
    /// The share of its neighbours' speed below which a zone is slow: [`SLOW_SHARE`], or less where zones scatter by chance; 0
    /// where nothing can be told from that.
    pub share: f64,
}

/// Zones that are slow beside their neighbours or behind a border, by how each was read; `None`: it has errors.
pub fn slow_zones(zones: &[Option<Pace>]) -> Slow {
    let rates: Vec<Option<f64>> = zones.iter().map(|zone| zone.map(|pace| pace.bytes_per_s)).collect();
    let (beyond, shares) = (beyond_borders(&rates, &scatter::of_reads(zones)), scatter::shares(zones));
    let limits = (0..rates.len()).map(|at| (at, (shares[at] * beside(&rates, at)).max(beyond[at])));
    let slow = limits.filter(|&(at, limit)| rates[at].is_some_and(|rate| rate < limit)).collect();
    Slow { zones: slow, share: scatter::usual(zones, &shares) }
}

/// The speed of the zones around one.
fn beside(rates: &[Option<f64>], at: usize) -> f64 {
    let from = at.saturating_sub(NEIGHBOURS);
    let to = (at + NEIGHBOURS + 1).min(rates.len());
    upper_median((from..to).filter(|&other| other != at).filter_map(|other| rates[other]))
}

/// The upper one of two in the middle; 0 of none.
pub(super) fn upper_median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Zones between two borders.
struct Run {
    start: usize,
    end: usize,
    /// Sum of the borders in front of it, as logarithms: what is left of the profile without its smooth part, such as that of
    /// a disk.
    level: f64,
}

/// For each zone the speed below which it is slow since a sharp border separates it from faster ones; 0 where none does. `errors`: how
/// much each scatters by its reads.
fn beyond_borders(rates: &[Option<f64>], errors: &[f64]) -> Vec<f64> {
    let mut limits = vec![0.0; rates.len()];
    let known: Vec<(usize, f64)> = rates
        .iter()
        .enumerate()
        .filter_map(|(at, rate)| Some((at, rate.filter(|rate| *rate > 0.0)?)))
        .collect();
    let speeds: Vec<f64> = known.iter().map(|(_, rate)| *rate).collect();
    let errors: Vec<f64> = known.iter().map(|(at, _)| errors[*at]).collect();
    let mut runs = vec![Run { start: 0, end: speeds.len(), level: 0.0 }];
    for (at, height) in borders(&speeds, &errors) {
        let last = runs.last_mut().expect("it begins with one");
        last.end = at;
        let level = last.level + height;
        runs.push(Run { start: at, end: speeds.len(), level });
    }
    let Some(fast) = fast_level(&runs, speeds.len()) else { return limits };
    let is_slow = |run: &Run| run.level < fast + SLOW_SHARE.ln();
    // Slow runs that follow one another lie below what is in front of the first and behind the last of them.
    for group in runs.chunk_by(|a, b| is_slow(a) == is_slow(b)).filter(|group| is_slow(&group[0])) {
        let (start, end) = (group[0].start, group[group.len() - 1].end);
        let in_front = (start > 0).then(|| level_before(&speeds, start, LEVEL));
        let behind = (end < speeds.len()).then(|| level_after(&speeds, end, LEVEL));
        let limit = SLOW_SHARE * in_front.into_iter().chain(behind).fold(0.0, f64::max);
        // A rise back that is no border, since it falls short of one, ends it all the same: what falls later does so smoothly.
        let is_back = |at: &usize| level_after(&speeds, *at, LEVEL) >= limit && speeds[*at] >= limit;
        let end = (start + 1..end).find(is_back).filter(|_| in_front.is_some()).unwrap_or(end);
        known[start..end].iter().for_each(|&(at, _)| limits[at] = limit);
    }
    limits
}

/// The highest level that enough zones have.
fn fast_level(runs: &[Run], zones: usize) -> Option<f64> {
    let has_enough = |level: &f64| {
        let of_it = runs.iter().filter(|run| run.level >= level + SAME_LEVEL.ln());
        let zones_of_it: usize = of_it.map(|run| run.end - run.start).sum();
        zones_of_it as f64 >= FAST_SHARE * zones as f64
    };
    runs.iter().map(|run| run.level).filter(has_enough).max_by(f64::total_cmp)
}

/// A place where levels change sharply.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Border {
    /// The first zone behind it.
    at: usize,
    /// The logarithm by which the speed changes there.
    height: f64,
    /// Zones within which another one that changes in the same direction is the same.
    reach: usize,
}

/// Where levels change sharply: the first zone behind each border, and the logarithm by which the speed changes there. `errors`: how much
/// each zone scatters by its reads.
fn borders(speeds: &[f64], errors: &[f64]) -> Vec<(usize, f64)> {
    if speeds.len() < BORDERS_MIN {
        return Vec::new();
    }
    let (everywhere, few) = (spread(speeds), scatter::of_few(speeds.len()));
    let beside = |at: usize| (speeds[at] / speeds[at - 1]).ln();
    let is_sharp = |at: usize, height: f64| {
        let falls = |before: usize, after: usize| (speeds[after] / speeds[before]).ln() * height.signum();
        let through = [at.checked_sub(SHARP).map(|before| (before, at)), Some((at - 1, at + SHARP - 1))];
        let through = through.into_iter().flatten().filter(|_| speeds.len() >= THROUGH_MIN);
        let mut pairs =
            through.filter(|(_, after)| *after < speeds.len()).chain(std::iter::once((at - 1, at)));
        pairs.any(|(before, after)| falls(before, after) > -SLOW_SHARE.ln())
    };
    let wide = NEIGHBOURS.min(speeds.len() / WIDE_PARTS);
    let levels =
        [(LEVEL, BORDER_SPREADS, SHARP), (wide, BORDER_SPREADS_WIDE, wide)].map(|(level, spreads, reach)| {
            move |at: usize, scatter: f64| {
                let height = (level_after(speeds, at, level) / level_before(speeds, at, level)).ln();
                let least = (-SLOW_SHARE.ln()).max(spreads * scatter * few);
                (level >= LEVEL && height.abs() > least).then_some(Border { at, height, reach })
            }
        });
    let border = |at: usize| {
        let scatter = everywhere.max(scatter_beside(speeds, errors, at));
        levels.iter().filter_map(|of| of(at, scatter)).find(|border| is_sharp(at, border.height))
    };
    let mut found: Vec<Border> = (1..speeds.len()).filter_map(border).collect();
    // One border shows at several zones next to it: it lies where the speed changes most from one zone to the next.
    found.sort_by(|a, b| {
        let most = |border: &Border| beside(border.at) * border.height.signum();
        a.reach.cmp(&b.reach).then(most(b).total_cmp(&most(a))).then(a.at.cmp(&b.at))
    });
    let mut kept: Vec<Border> = Vec::new();
    for border in found {
        let is_same = |other: &Border| {
            other.at.abs_diff(border.at) <= border.reach.max(other.reach)
                && other.height.signum() == border.height.signum()
        };
        if !kept.iter().any(is_same) {
            kept.push(border);
        }
    }
    kept.sort_by_key(|border| border.at);
    kept.into_iter().map(|border| (border.at, border.height)).collect()
}

/// How much zones scatter on both sides of a place, as a share: by their reads, and by how they differ from one another.
fn scatter_beside(speeds: &[f64], errors: &[f64], at: usize) -> f64 {
    let squared = |from: usize, to: usize| {
        let by_zones = if to - from < SCATTERING_MIN { 0.0 } else { spread(&speeds[from..to]) };
        upper_median(errors[from..to].iter().copied()).max(by_zones).powi(2)
    };
    let (from, to) = (at.saturating_sub(SCATTERING), (at + SCATTERING).min(speeds.len()));
    f64::midpoint(squared(from, at), squared(at, to)).sqrt()
}

/// How much single zones scatter, as a share: from what each differs by from the one before, whose median borders leave as it is.
pub(super) fn spread(speeds: &[f64]) -> f64 {
    let steps = speeds.windows(2).map(|pair| (pair[1] / pair[0]).ln().abs());
    1.4826 * upper_median(steps) / std::f64::consts::SQRT_2
}

fn level_before(speeds: &[f64], at: usize, zones: usize) -> f64 {
    upper_median(speeds[at.saturating_sub(zones)..at].iter().copied())
}

fn level_after(speeds: &[f64], at: usize, zones: usize) -> f64 {
    upper_median(speeds[at..(at + zones).min(speeds.len())].iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;

    fn check(speeds: &[f64], expect: &[usize]) {
        let zones: Vec<Option<Pace>> = speeds.iter().map(|speed| Some(pace(*speed))).collect();
        let slow: Vec<usize> = slow_zones(&zones).zones.into_iter().map(|(at, _)| at).collect();
        assert_eq!(slow, expect, "{speeds:?}");
    }

    /// A zone whose reads are all alike.
    fn pace(bytes_per_s: f64) -> Pace {
        Pace { bytes_per_s, reads: 64, variance: Some(0.0) }
    }

    /// A device of one speed but for these zones.
    fn but_for(zones: usize, slow: &[Range<usize>], share: f64) -> (Vec<f64>, Vec<usize>) {
        let at = |zone: usize| slow.iter().any(|range| range.contains(&zone));
        let speeds = (0..zones).map(|zone| if at(zone) { 1000.0 * share } else { 1000.0 }).collect();
        (speeds, (0..zones).filter(|&zone| at(zone)).collect())
    }

    #[test]
    fn regions_between_sharp_borders_are_found_whole() {
        for slow in [0..16, 112..128, 0..32, 48..96, 64..128, 0..64, 60..62, 0..3, 125..128, 20..116] {
            for share in [0.05, 0.3, 0.65] {
                let (speeds, expect) = but_for(128, std::slice::from_ref(&slow), share);
                check(&speeds, &expect);
            }
        }
        let (speeds, expect) = but_for(128, &[8..16, 40..41, 60..100], 0.2);
        check(&speeds, &expect);
        let (speeds, expect) = but_for(8, std::slice::from_ref(&(4..8)), 0.5);
        check(&speeds, &expect);
    }

    #[test]
    fn borders_may_run_through_a_zone() {
        let (mut speeds, mut expect) = but_for(128, std::slice::from_ref(&(48..96)), 0.2);
        (speeds[47], speeds[96]) = (550.0, 330.0);
        expect.splice(0..0, [47]);
        expect.push(96);
        check(&speeds, &expect);
    }

    /// A simple stair down, and half of the way back up: all of it lies below 70 % of what is in front.
    #[test]
    fn what_comes_back_half_way_is_slow_still() {
        let mut speeds = vec![1000.0; 40];
        speeds.extend([vec![100.0; 20], vec![500.0; 20], vec![950.0; 40]].concat());
        check(&speeds, &(40..80).collect::<Vec<_>>());
        // A drop that is made up for little by little ends where it is.
        let mut speeds = vec![1000.0; 40];
        speeds.extend((0..80).map(|at| 300.0 * 1.02_f64.powi(at).min(1000.0 / 300.0)));
        let end = speeds.iter().rposition(|speed| *speed < 700.0).expect("some are slow") + 1;
        check(&speeds, &(40..end).collect::<Vec<_>>());
    }

    /// Twice as fast outside as inside, in steps of some percents, with noise; of any number of zones.
    #[test]
    fn the_profile_of_a_disk_is_clean() {
        let mut random = fastrand::Rng::with_seed(7);
        for zones in [4, 6, 8, 12, 16, 32, 64, 128, 500] {
            for ratio in [1.8, 2.0, 2.2] {
                for steps in [8.0, 16.0, 30.0, 1000.0_f64] {
                    let speeds: Vec<f64> = (0..zones)
                        .map(|zone| {
                            let share = f64::from(zone) / f64::from(zones - 1);
                            let share = (share * steps).floor() / steps;
                            200.0 * (1.0 - share * (1.0 - 1.0 / ratio)) * (0.98 + 0.04 * random.f64())
                        })
                        .collect();
                    // The last of so few lies far below all others, with or without borders.
                    if zones >= 32 {
                        check(&speeds, &[]);
                    }
                    assert_eq!(borders(&speeds, &vec![0.0; speeds.len()]), [], "{zones} {ratio} {steps}");
                }
            }
        }
    }

    /// A spot that the disk falls into by a border, and rises out of by less than one: what lies behind it is as fast as a disk is there.
    #[test]
    fn a_slow_spot_makes_no_inner_part_slow() {
        for at in [8, 12, 15, 20] {
            let speeds: Vec<f64> = (0..32)
                .flat_map(|part| std::iter::repeat_n(200.0 - 100.0 * f64::from(part) / 31.0, 4))
                .enumerate()
                .map(|(zone, speed)| if zone / 4 == at { 0.69 * speed } else { speed })
                .collect();
            check(&speeds, &(4 * at..4 * at + 4).collect::<Vec<_>>());
        }
    }

    /// What is lower on a disk is found on it as well.
    #[test]
    fn a_slow_part_of_a_disk_is_found_on_either_side() {
        for slow in [0..20, 50..80, 100..128] {
            let speeds: Vec<f64> = (0..128)
                .map(|zone| {
                    (200.0 - 100.0 * zone as f64 / 127.0) * if slow.contains(&zone) { 0.3 } else { 1.0 }
                })
                .collect();
            check(&speeds, &slow.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_few_fast_zones_make_no_others_slow() {
        let (mut speeds, _) = but_for(128, &[], 1.0);
        speeds[..4].fill(5000.0);
        speeds[60..64].fill(4000.0);
        check(&speeds, &[]);
    }

    #[test]
    fn speeds_that_scatter_have_no_borders() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..200 {
            let speeds: Vec<f64> =
                (0..128).map(|_| 1000.0 * (0.35 * crate::sample::normal(&mut random)).exp()).collect();
            assert_eq!(borders(&speeds, &[0.0; 128]), []);
        }
    }

    #[test]
    fn zones_with_errors_are_passed_over() {
        let (speeds, expect) = but_for(128, std::slice::from_ref(&(64..128)), 0.2);
        let mut zones: Vec<Option<Pace>> = speeds.iter().map(|speed| Some(pace(*speed))).collect();
        zones[60..70].fill(None);
        let slow: Vec<usize> = slow_zones(&zones).zones.into_iter().map(|(at, _)| at).collect();
        assert_eq!(slow, expect[6..]);
    }
}
