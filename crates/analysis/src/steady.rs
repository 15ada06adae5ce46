//! Steady state of a series of rounds, as SNIA's Performance Test Specification defines it and as a common variant reads
//! it. Looks at numbers only; what is tracked is not its business.

/// Rounds of a measurement window (PTS).
pub const WINDOW: usize = 5;
/// Largest range within a window, as a share of its mean.
pub const RANGE_MAX: f64 = 0.20;
/// Largest excursion of the straight line through a window, as a share of its mean.
pub const EXCURSION_MAX: f64 = 0.10;
/// Half of the band that the variant asks values and line to stay in, as a share of the mean.
const ENVELOPE: f64 = 0.10;
/// Limits are inclusive: rounding may not decide a window that lies on one exactly.
const SLACK: f64 = 1e-12;

/// Which rule judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rule {
    /// PTS: range ≤ 20 % of the mean, and the line rises or falls by no more than 10 % of the mean over the window.
    #[default]
    Literal,
    /// Every value and both ends of the line within ± 10 % of the mean: stricter on a single spike, looser on a slope.
    Envelope,
}

impl Rule {
    /// Name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Envelope => "envelope",
        }
    }
}

/// Five rounds and the straight line through them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Their mean.
    pub mean: f64,
    /// Largest − smallest.
    pub range: f64,
    /// Slope of the line per round, unrounded.
    pub slope: f64,
    smallest: f64,
    largest: f64,
}

impl Window {
    /// Of five values.
    pub fn of(values: &[f64; WINDOW]) -> Self {
        let mean = values.iter().sum::<f64>() / WINDOW as f64;
        // Σ(r − r̄)² = 10 for five rounds.
        let slope = (0..).zip(values).map(|(r, y)| (f64::from(r) - 2.0) * y).sum::<f64>() / 10.0;
        let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { mean, range: largest - smallest, slope, smallest, largest }
    }

    /// How far the line rises or falls over the window: 4·|slope|.
    pub fn slope_excursion(&self) -> f64 {
        4.0 * self.slope.abs()
    }

    /// Whether the rule calls it steady. A mean of 0 or less is nothing to be steady at.
    pub fn is_steady(&self, rule: Rule) -> bool {
        let within = |value: f64, share: f64| value <= share * self.mean * (1.0 + SLACK);
        self.mean > 0.0
            && match rule {
                Rule::Literal => {
                    within(self.range, RANGE_MAX) && within(self.slope_excursion(), EXCURSION_MAX)
                }
                Rule::Envelope => {
                    within(self.largest - self.mean, ENVELOPE)
                        && within(self.mean - self.smallest, ENVELOPE)
                        && within(self.slope_excursion() / 2.0, ENVELOPE)
                }
            }
    }
}

/// What a series of rounds came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judgement {
    /// Number (from 1) of the round whose window was the first steady one; `None` when none was.
    pub steady_at: Option<usize>,
    /// That window, else the last one; `None` without five rounds that follow one another.
    pub window: Option<Window>,
    /// Place (from 1) of the last round of that window; 0 without one.
    pub until: usize,
}

/// Judges rounds in order, none of which is missing.
pub fn judge(rounds: &[f64], rule: Rule) -> Judgement {
    judge_numbered(&(0..).zip(rounds.iter().copied()).collect::<Vec<_>>(), rule)
}

/// Judges rounds that have numbers, in ascending order. The rounds x−4 … x make a window: none goes over a round that is missing.
pub fn judge_numbered(rounds: &[(i64, f64)], rule: Rule) -> Judgement {
    let windows = || {
        let is_whole = |own: &[(i64, f64)]| {
            let span = own[WINDOW - 1].0.checked_sub(own[0].0);
            span.is_some_and(|span| usize::try_from(span) == Ok(WINDOW - 1))
        };
        let all = rounds.windows(WINDOW).enumerate().filter(move |(_, own)| is_whole(own));
        all.map(|(at, own)| {
            let values: [f64; WINDOW] = std::array::from_fn(|index| own[index].1);
            (at + WINDOW, Window::of(&values))
        })
    };
    let first = windows().find(|(_, window)| window.is_steady(rule));
    let judged = first.or_else(|| windows().next_back());
    Judgement {
        steady_at: first.map(|(until, _)| until),
        window: judged.map(|(_, window)| window),
        until: judged.map_or(0, |(until, _)| until),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inclusive_and_the_rules_differ() {
        let check = |values: [f64; 5], literal: bool, envelope: bool| {
            let window = Window::of(&values);
            assert_eq!(
                (window.is_steady(Rule::Literal), window.is_steady(Rule::Envelope)),
                (literal, envelope),
                "{values:?}"
            );
        };
        check([90.0, 100.0, 110.0, 100.0, 100.0], true, true);
        check([89.0, 100.0, 110.0, 100.0, 101.0], false, false);
        check([95.0, 97.5, 100.0, 102.5, 105.0], true, true);
        check([94.0, 97.0, 100.0, 103.0, 106.0], false, true);
        check([100.0, 100.0, 118.0, 100.0, 100.0], true, false);
        check([0.0; 5], false, false);
        // Tenths of a percent of a millisecond: nothing may be rounded on the way.
        check([0.000_16, 0.000_17, 0.000_18, 0.000_19, 0.000_2], false, false);
    }

    #[test]
    fn the_first_steady_window_ends_the_series() {
        let found =
            judge(&[400.0, 300.0, 220.0, 170.0, 140.0, 104.0, 102.0, 100.0, 99.0, 98.0, 97.0], Rule::Literal);
        assert_eq!(found.steady_at, Some(10));
        assert_eq!(judge(&[100.0; 4], Rule::Literal), Judgement { steady_at: None, window: None, until: 0 });
    }

    #[test]
    fn no_window_goes_over_a_missing_round() {
        let check = |numbers: &[i64], steady_at: Option<usize>, until: usize| {
            let rounds: Vec<(i64, f64)> = numbers.iter().map(|&number| (number, 100.0)).collect();
            let found = judge_numbered(&rounds, Rule::Literal);
            assert_eq!((found.steady_at, found.until), (steady_at, until), "{numbers:?}");
        };
        check(&[1, 2, 3, 4, 5], Some(5), 5);
        check(&[1, 2, 3, 5, 6], None, 0);
        check(&[1, 2, 3, 5, 6, 7, 8, 9], Some(8), 8);
        check(&[10, 20, 30, 40, 50, 60], None, 0);
        check(&[i64::MIN + 1, 0, 1, 2, i64::MAX], None, 0);
        // The last window that there is, where none is steady.
        let mut rounds: Vec<(i64, f64)> = (1..=6).map(|number| (number, 10.0 * number as f64)).collect();
        rounds.push((9, 70.0));
        let found = judge_numbered(&rounds, Rule::Literal);
        assert_eq!((found.steady_at, found.until), (None, 6));
        assert_eq!(found.window.map(|window| window.mean), Some(40.0));
    }
}
