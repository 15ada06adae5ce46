//! From a change and its interval to a statement, and how many runs are missing for one.

/// Most runs that are asked for; beyond it the answer is that it cannot be told this way.
const RUNS_MAX: f64 = 1000.0;

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

/// Runs per side that would make the interval narrow enough to keep clear of the margins it lies across, if the change
/// stays as it is: on the scale of logarithms, on which the interval was made, its width shrinks as 1/√n. `None` when more
/// than a thousand would be needed.
pub fn more_runs(change: f64, (low, high): (f64, f64), margin: f64, count: usize) -> Option<u64> {
    let half = (high.ln_1p() - low.ln_1p()) / 2.0;
    let from = |edge: f64| (change.ln_1p() - edge.ln_1p()).abs();
    let room = from(margin).min(from(-margin));
    let needed = count as f64 * (half / room).powi(2);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked: between 1 and a thousand"
    )]
    (needed.is_finite() && needed <= RUNS_MAX).then(|| (needed - count as f64).ceil().max(1.0) as u64)
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
        // A factor of 1.04 either way around no change with 5 runs: for one of 1.03 it takes 5·(ln 1.04 ÷ ln 1.03)² = 8.8, that
        // is 4 more.
        assert_eq!(more_runs(0.0, (1.0 / 1.04 - 1.0, 0.04), 0.03, 5), Some(4));
        // Four times as much, and sixteen: what counts is the distance from the margin, in factors.
        assert_eq!(more_runs(0.1, (1.1 / 1.2 - 1.0, 1.1 * 1.2 - 1.0), 0.03, 5), Some(34));
        assert_eq!(more_runs(0.03, (-0.01, 0.07), 0.03, 5), None, "on the margin itself");
    }
}
