//! Scaling laws: throughput as a function of load, with their inverses and what one reads off them.
//!
//! Owns the closed forms. Does not know how coefficients were found, nor how well they fit.

/// Throughput X (operations per second) of a closed load of N operations in flight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// X = γN: nothing is shared.
    Linear {
        /// Throughput at N = 1.
        gamma: f64,
    },
    /// The Universal Scalability Law X = γN / (1 + α(N−1) + βN(N−1)) (Gunther 2007). With β = 0 it is the exact throughput
    /// of 1/α equal parallel units that are hit at random with exponential service (product form).
    Usl {
        /// Contention.
        alpha: f64,
        /// Coherency: cost per pair.
        beta: f64,
        /// Throughput at N = 1.
        gamma: f64,
    },
    /// X = gN / (1 + (gN/C)^q)^(1/q): a slope that bends into a ceiling, sharper with q. q = 1 is the USL with β = 0.
    SoftMin {
        /// Slope at the origin.
        slope: f64,
        /// Ceiling.
        cap: f64,
        /// Sharpness of the knee, at least 1.
        sharpness: f64,
    },
    /// X = min(γN / (1 + α(N−1)), C): contention up to a hard ceiling.
    Capped {
        /// Contention.
        alpha: f64,
        /// Throughput at N = 1.
        gamma: f64,
        /// Ceiling.
        cap: f64,
    },
}

/// A load and the throughput there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operating {
    /// Operations in flight.
    pub n: f64,
    /// Operations per second.
    pub x: f64,
}

/// ln(1 + e^y) without overflow.
fn softplus(y: f64) -> f64 {
    if y > 30.0 { y } else { y.exp().ln_1p() }
}

impl Law {
    /// Name in documents: `linear`, `usl`, `softmin`, `capped`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Linear { .. } => "linear",
            Self::Usl { .. } => "usl",
            Self::SoftMin { .. } => "softmin",
            Self::Capped { .. } => "capped",
        }
    }

    /// Coefficients by name.
    pub fn coefficients(&self) -> Vec<(&'static str, f64)> {
        match *self {
            Self::Linear { gamma } => vec![("gamma", gamma)],
            Self::Usl { alpha, beta, gamma } => vec![("alpha", alpha), ("beta", beta), ("gamma", gamma)],
            Self::SoftMin { slope, cap, sharpness } => vec![("g", slope), ("cap", cap), ("q", sharpness)],
            Self::Capped { alpha, gamma, cap } => vec![("alpha", alpha), ("gamma", gamma), ("cap", cap)],
        }
    }

    /// The same law with other coefficients, in the order of [`Law::coefficients`].
    pub(super) fn with(&self, values: &[f64]) -> Self {
        match (self, values) {
            (Self::Linear { .. }, &[gamma]) => Self::Linear { gamma },
            (Self::Usl { .. }, &[alpha, beta, gamma]) => Self::Usl { alpha, beta, gamma },
            (Self::SoftMin { .. }, &[slope, cap, sharpness]) => Self::SoftMin { slope, cap, sharpness },
            (Self::Capped { .. }, &[alpha, gamma, cap]) => Self::Capped { alpha, gamma, cap },
            _ => unreachable!("as many values as coefficients"),
        }
    }

    /// Throughput at load `n`, n > 0.
    pub fn throughput(&self, n: f64) -> f64 {
        match *self {
            Self::Linear { gamma } => gamma * n,
            Self::Usl { alpha, beta, gamma } => gamma * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0)),
            Self::SoftMin { slope, cap, sharpness } => {
                slope * n * (-softplus(sharpness * (slope * n / cap).ln()) / sharpness).exp()
            }
            Self::Capped { alpha, gamma, cap } => (gamma * n / (1.0 + alpha * (n - 1.0))).min(cap),
        }
    }

    /// Mean latency at load `n` in seconds (Little: R = N / X).
    pub fn latency(&self, n: f64) -> f64 {
        n / self.throughput(n)
    }

    /// Where throughput is highest, when it falls beyond: N* = √((1−α)/β). `None` for laws that never fall.
    pub fn peak(&self) -> Option<Operating> {
        match *self {
            Self::Usl { alpha, beta, .. } if beta > 0.0 && alpha < 1.0 => {
                let n = ((1.0 - alpha) / beta).sqrt();
                Some(Operating { n, x: self.throughput(n) })
            }
            _ => None,
        }
    }

    /// What throughput approaches as the load grows, where it has such a limit: γ/α or the cap. For a law that falls
    /// beyond a peak it is the limit that contention alone would leave.
    pub fn ceiling(&self) -> Option<f64> {
        match *self {
            Self::Linear { .. } => None,
            Self::Usl { alpha, gamma, .. } => (alpha > 0.0).then(|| gamma / alpha),
            Self::SoftMin { cap, .. } | Self::Capped { cap, .. } => Some(cap),
        }
    }

    /// Most throughput it ever gives: at the peak, else the ceiling.
    pub fn most(&self) -> Option<f64> {
        self.peak().map(|peak| peak.x).or_else(|| self.ceiling())
    }

    /// Load from which on more load buys more waiting than throughput. Of a ceiling that is kept hard it is where the
    /// slope meets it, else where X/R is largest ("power", Kleinrock 1979).
    pub fn knee(&self) -> Option<f64> {
        match *self {
            Self::Linear { .. } => None,
            Self::Usl { alpha, beta, .. } => {
                // d(X/R)/dN = 0: 3βN² + (α−β)N − (1−α) = 0, in the form that holds for β = 0 too.
                let b = alpha - beta;
                Some(2.0 * (1.0 - alpha) / (b + (b * b + 12.0 * beta * (1.0 - alpha)).sqrt()))
            }
            Self::SoftMin { slope, cap, sharpness } => {
                // Power X²/N has its top where (gN/C)^q = 1, whatever q: where the slope meets the cap.
                debug_assert!(sharpness >= 1.0, "the fit keeps it so");
                Some(cap / slope)
            }
            Self::Capped { alpha, gamma, cap } => {
                let meets = cap * (1.0 - alpha) / (gamma - cap * alpha);
                let smooth = if alpha > 0.0 { (1.0 - alpha) / alpha } else { f64::INFINITY };
                Some(if meets > 0.0 { meets.min(smooth) } else { smooth })
            }
        }
        .filter(|n| n.is_finite() && *n > 0.0)
    }

    /// Smallest load that gives throughput `x`; `None` when none does.
    pub fn load_at(&self, x: f64) -> Option<f64> {
        let n = match *self {
            Self::Linear { gamma } => x / gamma,
            Self::Usl { alpha, beta, gamma } => {
                // βx N² + (αx − βx − γ)N + (1−α)x = 0.
                let (a, b, c) = (beta * x, alpha * x - beta * x - gamma, (1.0 - alpha) * x);
                let root = b * b - 4.0 * a * c;
                if root < 0.0 {
                    return None;
                }
                // The smaller root in the form that does not cancel; with β = 0 it is the only one.
                2.0 * c / (-b + root.sqrt())
            }
            Self::SoftMin { slope, cap, sharpness } => {
                if x >= cap {
                    return None;
                }
                let spent = (-(x / cap).powf(sharpness)).ln_1p() / sharpness;
                x / slope * (-spent).exp()
            }
            Self::Capped { alpha, gamma, cap } => {
                if x > cap {
                    return None;
                }
                x * (1.0 - alpha) / (gamma - alpha * x)
            }
        };
        (n.is_finite() && n > 0.0).then_some(n)
    }

    /// Load at which the mean latency reaches `seconds`; `None` when it is above at every load, or never reached.
    pub fn load_at_latency(&self, seconds: f64) -> Option<f64> {
        let r = seconds;
        let n = match *self {
            Self::Linear { .. } => return None,
            Self::Usl { alpha, beta, gamma } => {
                // βN² + (α−β)N + (1−α−γR) = 0, the larger root: in the form that does not cancel as β goes to 0, and where α is
                // below β in that which does not as R goes to that of an operation alone.
                let (b, c) = (alpha - beta, 1.0 - alpha - gamma * r);
                let inner = b * b - 4.0 * beta * c;
                if inner < 0.0 {
                    return None;
                }
                if b < 0.0 { (inner.sqrt() - b) / (2.0 * beta) } else { -2.0 * c / (b + inner.sqrt()) }
            }
            Self::SoftMin { slope, cap, sharpness } => {
                let y = sharpness * (slope * r).ln();
                if y <= 0.0 {
                    return None;
                }
                // (gR)^q − 1 = (gN/C)^q, in logarithms since q may be large.
                let log = if y > 30.0 { y } else { y.exp_m1().ln() };
                cap / slope * (log / sharpness).exp()
            }
            Self::Capped { alpha, gamma, cap } => {
                let below = (gamma * r - 1.0 + alpha) / alpha;
                let meets = self.load_at(cap);
                if meets.is_some_and(|meets| below > meets || alpha == 0.0) { cap * r } else { below }
            }
        };
        (n.is_finite() && n > 0.0 && self.latency(n.max(f64::MIN_POSITIVE)) > 0.0).then_some(n)
    }

    /// Ceiling in units of one operation's throughput alone: how many equal units would work in parallel. 1/α for the
    /// USL.
    pub fn parallel_units(&self) -> Option<f64> {
        self.ceiling().map(|ceiling| ceiling / self.throughput(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(found: f64, expect: f64) {
        assert!((found / expect - 1.0).abs() < 1e-6, "{found} is not {expect}");
    }

    #[test]
    fn closed_forms_of_the_usl() {
        // cisco32 (usl-rs), with the inverses that its own formulas get wrong recomputed from the closed forms.
        let cisco = Law::Usl { alpha: 0.026_715_91, beta: 0.000_769_094_5, gamma: 995.648_6 };
        for (x, n) in [(955.0, 0.958_069_6), (11048.0, 19.923_899_6), (12201.0, 29.569_030_2)] {
            close(cisco.load_at(x).unwrap(), n);
        }
        assert_eq!(cisco.load_at(12_400.0), None, "above the peak");
        for (seconds, n) in [(0.03, 177.698_407_92), (0.04, 208.524_539_96), (0.05, 235.614_693_38)] {
            close(cisco.load_at_latency(seconds).unwrap(), n);
        }
        close(cisco.throughput(177.698_407_92), 5923.278);
        close(cisco.latency(20.0), 0.001_807_724_444_2);
    }

    #[test]
    fn a_device_of_equal_units_is_the_usl_without_coherency() {
        // c = 8 exponential units of 1000/s: X = 8000 N / (N + 7).
        let device = Law::Usl { alpha: 0.125, beta: 0.0, gamma: 1000.0 };
        let soft = Law::SoftMin { slope: 8000.0 / 7.0, cap: 8000.0, sharpness: 1.0 };
        for n in [1.0, 2.0, 5.0, 64.0, 1000.0] {
            close(device.throughput(n), 8000.0 * n / (n + 7.0));
            close(soft.throughput(n), device.throughput(n));
        }
        for law in [device, soft] {
            close(law.parallel_units().unwrap(), 8.0);
            close(law.ceiling().unwrap(), 8000.0);
            close(law.knee().unwrap(), 7.0);
            assert_eq!(law.peak(), None);
            close(law.load_at(0.95 * 8000.0).unwrap(), 133.0);
        }
    }

    /// Where α is below β the latency of an operation alone is on the flat part of a parabola.
    #[test]
    fn the_load_of_the_latency_of_one_operation_is_one() {
        for (alpha, gamma) in [(0.0, 999.999_999_999_999_8), (0.0, 1000.0), (0.01, 1e-9), (0.3, 1e12)] {
            let law = Law::Usl { alpha, beta: 0.05, gamma };
            let found = law.load_at_latency(1.0 / gamma).unwrap();
            assert!((found - 1.0).abs() < 1e-6, "{alpha} {gamma}: {found}");
        }
    }

    fn any_law() -> impl Strategy<Value = Law> {
        let (alpha, beta) = (0.001..0.9_f64, 1e-6..0.01_f64);
        prop_oneof![
            (alpha.clone(), beta, 10.0..1e5_f64).prop_map(|(alpha, beta, gamma)| Law::Usl {
                alpha,
                beta,
                gamma
            }),
            (alpha.clone(), 10.0..1e5_f64).prop_map(|(alpha, gamma)| Law::Usl { alpha, beta: 0.0, gamma }),
            (10.0..1e5_f64, 1.5..500.0_f64, 1.0..500.0_f64).prop_map(|(slope, units, sharpness)| {
                Law::SoftMin { slope, cap: slope * units, sharpness }
            }),
            (alpha, 10.0..1e5_f64, 0.05..0.9_f64).prop_map(|(alpha, gamma, share)| {
                Law::Capped { alpha, gamma, cap: gamma + (gamma / alpha - gamma) * share }
            }),
        ]
    }

    proptest! {
        #[test]
        fn inverses_undo(law in any_law(), share in 0.05..0.98_f64) {
            let n = law.load_at(law.most().unwrap() * share).unwrap();
            prop_assert!((law.throughput(n) / (law.most().unwrap() * share) - 1.0).abs() < 1e-6);
            // Beyond the load of one operation, where latency grows.
            let n = 1.0 + n;
            let back = law.load_at_latency(law.latency(n));
            // A hard knee holds its latency until it is reached, and then many loads share it.
            let expect = law.latency(n);
            if let Some(back) = back {
                prop_assert!((law.latency(back) / expect - 1.0).abs() < 1e-6, "{back} for {n}");
            }
        }
    }
}
