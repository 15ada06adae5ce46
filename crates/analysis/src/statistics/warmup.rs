//! How much of a series' start is warm-up: MSER-5 (White 1997; Franklin & White 2008).

/// Values per batch.
const BATCH: usize = 5;

/// Where the warm-up of a series ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Values to leave out.
    pub length: usize,
    /// Whether a steady part was found: false when the rule would cut half of the series, the most it may.
    pub is_found: bool,
}

/// Leaves out so many batches of five that the standard error of the mean of the rest is least: argmin over d ≤ n/2 of
/// Σ(y − ȳ)²/(n−d)². `None` below four batches. Where that is the half, which of few batches noise makes it, it is looked for within
/// the first quarter: a series without an end of its warm-up cuts that off as well.
pub fn warm_up(values: &[f64]) -> Option<WarmUp> {
    let batches = super::dependence::subsession_means(values, BATCH);
    let n = batches.len();
    if n < 4 {
        return None;
    }
    // From the end, by Welford's recurrence, so that a constant end has variance 0 and no less.
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    let mut early = best;
    for cut in (0..n).rev() {
        let kept = (n - cut) as f64;
        let off = batches[cut] - mean;
        mean += off / kept;
        squares += off * (batches[cut] - mean);
        let error = squares / (kept * kept);
        // Ties go to the smaller cut.
        if cut <= n / 2 && error <= best.0 {
            best = (error, cut);
        }
        if cut <= n / 4 && error <= early.0 {
            early = (error, cut);
        }
    }
    let (cut, most) = if best.1 < n / 2 { (best.1, n / 2) } else { (early.1, n / 4) };
    Some(WarmUp { length: cut * BATCH, is_found: cut < most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steady_series_have_none() {
        assert_eq!(warm_up(&[7.0; 100]), Some(WarmUp { length: 0, is_found: true }));
        assert_eq!(warm_up(&[1.0; 19]), None);
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(!warm_up(&ramp).unwrap().is_found, "a ramp has no steady part");
    }

    /// Of a dozen batches noise alone makes the half the best cut now and then.
    #[test]
    fn a_clear_beginning_is_found_whatever_the_noise_behind_it() {
        let mut cut_off = 0;
        for seed in 0..500 {
            let mut random = fastrand::Rng::with_seed(seed);
            let value = |at: usize, off: f64| if at < 5 { 200.0 } else { 1000.0 } + 100.0 * (off - 0.5);
            let values: Vec<f64> = (0..60).map(|at| value(at, random.f64())).collect();
            let found = warm_up(&values).expect("there are twelve batches");
            cut_off += u32::from(found.is_found && found.length >= 5);
        }
        assert!(cut_off >= 490, "{cut_off} of 500");
    }
}
