//! Intervals of shares: how many of all have a property, when some were looked at.

use statrs::distribution::{ContinuousCDF, Normal};

/// 95 % interval of a share of which `found` of `sampled` have the property (Wilson 1927): inside of 0 to 1, and of use where
/// none or all have it. Worked value: 0.0552 to 0.1744 for 10 of 100. 0 to 1 where nothing was sampled.
pub fn share_interval(found: u64, sampled: u64) -> (f64, f64) {
    if sampled == 0 {
        return (0.0, 1.0);
    }
    let z = Normal::standard().inverse_cdf(0.975);
    let (n, share) = (sampled as f64, found.min(sampled) as f64 / sampled as f64);
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (((middle - half) / scale).max(0.0), ((middle + half) / scale).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        let check = |found: u64, sampled: u64, expect: (f64, f64)| {
            let (low, high) = share_interval(found, sampled);
            let is_close = (low - expect.0).abs() < 5e-5 && (high - expect.1).abs() < 5e-5;
            assert!(is_close, "{found} of {sampled}: {low} to {high}");
        };
        check(10, 100, (0.0552, 0.1744));
        // Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        check(81, 263, (0.2553, 0.3662));
        check(15, 148, (0.0624, 0.1605));
        check(0, 20, (0.0, 0.1611));
        check(1, 29, (0.0061, 0.1718));
        check(20, 20, (0.8389, 1.0));
        check(0, 0, (0.0, 1.0));
    }

    /// The binomial distribution says how often the interval holds the share: on average over shares in 95 %.
    #[test]
    fn it_holds_the_share_as_often_as_it_says() {
        use statrs::distribution::{Binomial, Discrete};
        for n in [50_u64, 1000] {
            let held = |share: f64| -> f64 {
                let of = Binomial::new(share, n).unwrap();
                (0..=n)
                    .filter(|&found| {
                        let (low, high) = share_interval(found, n);
                        (low..=high).contains(&share)
                    })
                    .map(|found| of.pmf(found))
                    .sum()
            };
            let mean = (1..100).map(|k| held(f64::from(k) / 100.0)).sum::<f64>() / 99.0;
            assert!((0.94..0.965).contains(&mean), "{mean} of {n}");
        }
    }
}
