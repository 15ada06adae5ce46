//! From a change and its interval to a statement, and how many runs are missing for one.

use super::Metric;
use crate::statistics::t_quantile;

/// Most runs that are asked for: so many, or more. Nobody makes a thousand; what they would tell takes something else.
pub const MORE_RUNS_MAX: u64 = 1000;

/// What can be said of a change. In the order in which one outweighs another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The whole interval lies within the margin.
    Equivalent,
    /// The whole interval lies beyond the margin on the good side.
    Improved,
    /// Neither can be said.
    Inconclusive,
    /// The whole interval lies beyond the margin on the bad side.
    Regressed,
}

impl Verdict {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Equivalent => "equivalent",
            Self::Improved => "improved",
            Self::Inconclusive => "inconclusive",
            Self::Regressed => "regressed",
        }
    }
}

/// The statement that an interval of the relative change allows (two one-sided tests; Schuirmann 1987).
pub fn judge(interval: Option<(f64, f64)>, margin: f64, more_is_better: bool) -> Verdict {
    let Some((low, high)) = interval else { return Verdict::Inconclusive };
    if low >= -margin && high <= margin {
        Verdict::Equivalent
    } else if low > margin {
        if more_is_better { Verdict::Improved } else { Verdict::Regressed }
    } else if high < -margin {
        if more_is_better { Verdict::Regressed } else { Verdict::Improved }
    } else {
        Verdict::Inconclusive
    }
}

/// Runs per side, beside the `count` that there are, that would make the interval of this level, which reaches `half` to either
/// side on the scale of logarithms, narrow enough to keep clear of the margins it lies across, if the change and the noise stay as they are; [`MORE_RUNS_MAX`] for that many or more. On the scale of
/// logarithms, on which the interval was made, its width goes as t/√n: two runs a side know their noise so badly that one more
/// does far more than that root. With one run what stands in for runs is as many values as it has `rounds`, each further run bringing as
/// many, or, without rounds (1), many values. Of the `half`, `off` is for how finely values are told, which more of them do not
/// change; both are added as squares. `None` where the change lies on a margin, or nearer to it than values are told: no number of runs
/// tells on which side of it.
pub fn more_runs(
    change: f64,
    (half, off): (f64, f64),
    margin: f64,
    (count, rounds): (usize, usize),
    level: f64,
) -> Option<u64> {
    let from = |edge: f64| (change.ln_1p() - edge.ln_1p()).abs();
    let room = from(margin).min(from(-margin));
    let is_told = half.is_finite() && room > off;
    if !is_told {
        return None;
    }
    let of_chance = (half * half - off * off).max(0.0).sqrt();
    let width = |runs: f64| {
        let values = if count >= 2 { runs } else { runs * rounds as f64 };
        let t = if count >= 2 || rounds >= 2 { t_quantile(level, 2.0 * (values - 1.0)) } else { 1.0 };
        t / values.sqrt()
    };
    let now = width(count as f64);
    let is_enough = |more: u64| (of_chance * width(count as f64 + more as f64) / now).hypot(off) <= room;
    // The least of them that is enough, which more of them are as well.
    let (mut below, mut enough) = (0, MORE_RUNS_MAX);
    while enough - below > 1 {
        let middle = u64::midpoint(below, enough);
        if is_enough(middle) { enough = middle } else { below = middle }
    }
    Some(enough)
}

/// Runs that all of the figures take that are open; `None` where one of them is told by no number, or by none that is known.
pub(super) fn more_runs_of<'a>(metrics: impl Iterator<Item = &'a Metric>) -> Option<u64> {
    let open = metrics.filter(|metric| metric.verdict == Verdict::Inconclusive);
    let known = open.filter(|metric| metric.interval.is_some() || metric.more_runs.is_some());
    known
        .map(|metric| metric.more_runs)
        .reduce(|most, one| most.zip(one).map(|(most, one)| most.max(one)))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_follow_from_where_the_interval_lies() {
        let check = |interval: (f64, f64), throughput: Verdict, latency: Verdict| {
            assert_eq!(judge(Some(interval), 0.03, true), throughput, "{interval:?}");
            assert_eq!(judge(Some(interval), 0.03, false), latency, "{interval:?}");
        };
        check((-0.02, 0.02), Verdict::Equivalent, Verdict::Equivalent);
        check((-0.03, 0.03), Verdict::Equivalent, Verdict::Equivalent);
        check((0.04, 0.1), Verdict::Improved, Verdict::Regressed);
        check((-0.1, -0.04), Verdict::Regressed, Verdict::Improved);
        check((-0.1, 0.0), Verdict::Inconclusive, Verdict::Inconclusive);
        check((0.01, 0.05), Verdict::Inconclusive, Verdict::Inconclusive);
        assert_eq!(judge(None, 0.03, true), Verdict::Inconclusive);
    }

    #[test]
    fn more_runs_narrow_an_interval() {
        let half = |(low, high): (f64, f64)| (high.ln_1p() - low.ln_1p()) / 2.0;
        let more = |change: f64, interval: (f64, f64), count| {
            more_runs(change, (half(interval), 0.0), 0.03, (count, 1), 0.975)
        };
        // A factor of 1.04 either way around no change, and one of 1.03 is wanted: with one run whose parts stand in for runs
        // it takes (ln 1.04 ÷ ln 1.03)² = 1.8 of them.
        let little = (1.0 / 1.04 - 1.0, 0.04);
        assert_eq!(more(0.0, little, 1), Some(1));
        // With five, t(8) = 2.7515 falls as well: 8 runs have t(14) = 2.5096, and 2.5096/2.7515·√(5/8) = 0.721 is below the
        // 0.7537 that is wanted; 7 have t(12) = 2.5600 and 0.786.
        assert_eq!(more(0.0, little, 5), Some(3));
        // A factor of 1.2 about one of 1.1, 1.068 from the margin: (ln 1.2 ÷ ln(1.1/1.03))² = 7.7 of one; of five 38 with
        // the same t, which falls from 2.75 to 2.30: some 27.
        let much = (1.1 / 1.2 - 1.0, 1.1 * 1.2 - 1.0);
        assert_eq!(more(0.1, much, 1), Some(7));
        assert!(more(0.1, much, 5).is_some_and(|runs| (20..26).contains(&runs)), "{:?}", more(0.1, much, 5));
        assert_eq!(more(0.03, (-0.01, 0.07), 5), None, "on the margin itself");
        // What says nothing at all asks for few nevertheless, where t is what makes it so: with 112 statements and two runs,
        // of 1 % noise, t(2) is 47; six runs have t(10) = 5.0, and 5.0 · 1 % · √(2/6) are enough.
        let level = 1.0 - 0.05 / 112.0;
        let wide = t_quantile(level, 2.0) * 0.01;
        let asked = more_runs(0.0, (wide, 0.0), 0.03, (2, 1), level);
        assert!(asked.is_some_and(|more| (3..=6).contains(&more)), "{asked:?}");
        // One run of three rounds each: t(4) of 112 statements is 10.1 on √3, of two runs t(10) = 5.0 on √6, which is a third of it.
        let wide = 10.1 * 0.01 / 3.0_f64.sqrt();
        let asked = more_runs(0.0, (wide, 0.0), 0.03, (1, 3), level);
        assert_eq!(asked, Some(1));
        assert!(more_runs(0.0, (wide, 0.0), 0.01, (1, 3), level).is_some_and(|more| (2..=4).contains(&more)));
        // Half a bucket to either side stays, however many there are: 2.96 % of a margin of 3 % are all of it.
        let told = |off: f64| more_runs(0.0, (0.06, off), 0.03, (5, 1), 0.975);
        assert!(told(0.0).is_some_and(|more| more < told(0.028).expect("it is less than the margin")));
        assert_eq!(told(0.0296), None, "ln 1.03");
        // Any change matters: what is measured of it is the room there is, and only none has no room.
        let any = |change: f64| more_runs(change, (0.02, 0.0), 0.0, (5, 1), 0.975);
        assert!(any(0.01).is_some_and(|more| (5..20).contains(&more)), "{:?}", any(0.01));
        assert_eq!((any(0.03), any(0.0)), (Some(1), None));
        // Nobody makes as many runs as that.
        assert_eq!(more(0.0299, (-0.9, 10.0), 3), Some(MORE_RUNS_MAX));
    }

    #[test]
    fn as_many_runs_as_are_asked_for_are_enough() {
        for count in 2..8 {
            for half in [0.035, 0.1, 0.7] {
                let level = 0.99;
                let se = half / t_quantile(level, 2.0 * (count as f64 - 1.0));
                let more = more_runs(0.0, (half, 0.0), 0.03, (count, 1), level).expect("no margin is met");
                let of = |runs: u64| {
                    let runs = runs as f64;
                    t_quantile(level, 2.0 * (runs - 1.0)) * se * (count as f64 / runs).sqrt()
                };
                let room = 1.03_f64.ln();
                let runs = count as u64 + more;
                assert!(more == MORE_RUNS_MAX || of(runs) <= room, "{count}, {half}: {more}");
                assert!(of(runs - 1) > room, "{count}, {half}: {more}");
            }
        }
    }
}
