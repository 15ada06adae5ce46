//! Means of few repeated measurements drawn anew, as they could have come out: what intervals of figures are made of that
//! depend on several such means in no simple way.
//!
//! Drawing the measurements themselves anew (the bootstrap) makes means of three scatter by √(2/3) of what they should, and
//! as if their spread were known: of intervals for 95 % two in three to four in five hold. Here a mean is drawn from
//! Student's distribution about it, which is what is known of a mean when its spread is only seen in as many values.

/// One draw for a group of measurements: how far its means lie off, in shares of each measurement, so that figures that
/// were measured together lie off together.
#[derive(Debug, Clone)]
pub struct Redraw(Vec<f64>);

impl Redraw {
    /// For so many measurements, two at least.
    pub fn of(count: usize, random: &mut fastrand::Rng) -> Self {
        let z: Vec<f64> = (0..count).map(|_| normal(random)).collect();
        let mean = z.iter().sum::<f64>() / count as f64;
        // Σ xᵢ(zᵢ − z̄) is normal with the variance (n − 1)s², and the squares are χ² with n − 1 degrees of freedom: one by
        // the root of n of the other is Student's t times s/√n. The degrees of freedom cancel.
        let squares: f64 = (1..count).map(|_| normal(random).powi(2)).sum();
        let scale = (count as f64 * squares).sqrt();
        Self(z.into_iter().map(|z| (z - mean) / scale).collect())
    }

    /// Means as they were measured.
    pub fn none(count: usize) -> Self {
        Self(vec![0.0; count])
    }

    /// The mean of a figure in this draw. Figures are positive, and stay so however far it lies off.
    pub fn mean(&self, figures: impl Iterator<Item = f64>) -> f64 {
        let (mut sum, mut off) = (0.0, 0.0);
        for (figure, share) in figures.zip(&self.0) {
            sum += figure;
            off += figure * share;
        }
        let mean = sum / self.0.len() as f64;
        if mean > 0.0 { mean * (off / mean).exp() } else { mean }
    }
}

/// A standard normal number (Box & Muller 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Sample, nearest_rank, t_quantile};

    /// Of one mean the draws give the interval of the textbook.
    #[test]
    fn draws_of_one_mean_are_students() {
        for values in [&[99.0, 100.0, 101.5][..], &[990.0, 1000.0, 1003.0, 1001.0, 995.0, 1004.0]] {
            let mut random = fastrand::Rng::with_seed(5);
            let mut drawn: Vec<f64> = (0..20_000)
                .map(|_| Redraw::of(values.len(), &mut random).mean(values.iter().copied()))
                .collect();
            drawn.sort_by(f64::total_cmp);
            let sample = Sample::of(values);
            let half =
                t_quantile(0.95, (values.len() - 1) as f64) * (sample.variance / values.len() as f64).sqrt();
            for (q, expect) in [(0.025, sample.mean - half), (0.5, sample.mean), (0.975, sample.mean + half)]
            {
                let found = nearest_rank(&drawn, q);
                assert!((found - expect).abs() < 0.08 * half, "{q}: {found}, not {expect} ± {half}");
            }
        }
    }

    #[test]
    fn figures_stay_positive_and_those_without_spread_stay() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..1000 {
            let draw = Redraw::of(2, &mut random);
            assert!(draw.mean([1.0, 3.0].into_iter()) > 0.0);
            assert!((draw.mean([2.0, 2.0].into_iter()) - 2.0).abs() < 1e-9);
            assert_eq!(draw.mean([0.0, 0.0].into_iter()), 0.0);
        }
    }
}
