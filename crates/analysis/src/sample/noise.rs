//! Noise for tests, of this crate and of those beside it. Not what the statistics themselves draw: noise that is made by what
//! it tests would share its faults.

/// A value of mean 0 and standard deviation 1, normal enough for noise (Irwin & Hall).
pub(crate) fn normal(random: &mut fastrand::Rng) -> f64 {
    (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
}
