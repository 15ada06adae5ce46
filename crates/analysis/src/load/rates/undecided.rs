//! Limits that lie within the noise of response times which hardly change from rate to rate, such as that of an idle target: whether
//! and where one is reached is chance.

use super::{Figures, LatencyGoal};
use crate::statistics::nearest_rank;
use fathom_units::Iops;

/// Loads and rates between which a limit is reached, if a twentieth of the resamples or more does not reach it from one rate to the
/// next: 95 % of all of them, each of those at its end of the rates. `None` where noise does not decide.
pub(super) fn undecided(drawn: &[Figures], which: usize) -> Option<[(f64, f64); 2]> {
    let reached = drawn.iter().filter(|figures| figures.limits[which].is_some()).count();
    if reached * 20 >= drawn.len() * 19 {
        return None;
    }
    let between = |of: &dyn Fn(&Figures) -> f64| {
        let mut values: Vec<f64> = drawn.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        [0.025, 0.975].map(|share| nearest_rank(&values, share))
    };
    let n = between(&|figures| figures.limits[which].map_or(figures.ends[which].0, |at| at.n));
    let x = between(&|figures| figures.limits[which].map_or(figures.ends[which].1, |at| at.x));
    Some([(n[0], x[0]), (n[1], x[1])])
}

/// What to say of limits that are reached where noise decides.
pub(super) fn of_noise(found: &Figures, drawn: &[Figures], limits: &[LatencyGoal]) -> Vec<String> {
    let told = limits.iter().enumerate().filter_map(|(which, goal)| {
        found.limits[which]?;
        let [low, high] = undecided(drawn, which)?.map(|(_, rate)| Iops(rate));
        Some(format!(
            "where {} reaches {} is noise: rates from {low}/s to {high}/s take about that long",
            goal.statistic(),
            goal.limit
        ))
    });
    told.collect()
}
