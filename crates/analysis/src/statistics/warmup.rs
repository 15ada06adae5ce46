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
/// Σ(y − ȳ)²/(n−d)². `None` below four batches.
pub fn warm_up(values: &[f64]) -> Option<WarmUp> {
    let batches = super::dependence::subsession_means(values, BATCH);
    let n = batches.len();
    if n < 4 {
        return None;
    }
    // From the end, by Welford's recurrence, so that a constant end has variance 0 and no less.
    let (mut mean, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
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
    }
    let (_, cut) = best;
    Some(WarmUp { length: cut * BATCH, is_found: cut < n / 2 })
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
}
