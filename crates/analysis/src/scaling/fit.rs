//! Laws fitted to measured points: each law's best coefficients within their bounds, their standard errors and how far the
//! points are off. Does not choose between laws.

use super::law::Law;
use super::solve::{Weighted, covariance, least_squares};
use std::collections::BTreeMap;

/// A measured load and throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Operations in flight, above 0.
    pub n: f64,
    /// Operations per second, above 0.
    pub x: f64,
}

/// How residuals count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weighting {
    /// Every operation per second alike: what published fits do.
    #[default]
    Equal,
    /// Every per cent alike: where the error grows with the figure, as it does from run to run.
    Relative,
}

impl Weighting {
    /// The power of throughput that errors are taken to grow with.
    pub(super) const fn power(self) -> f64 {
        match self {
            Self::Equal => 0.0,
            Self::Relative => 1.0,
        }
    }
}

/// A coefficient of a fitted law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    /// Its name: `alpha`, `beta`, `gamma`, `g`, `cap`, `q`.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Standard error; `None` when the data cannot tell.
    pub standard_error: Option<f64>,
    /// Whether it lies at a bound, so that the error is one-sided at best.
    pub at_bound: bool,
}

/// A law fitted to points.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The law.
    pub law: Law,
    /// Its coefficients.
    pub coefficients: Vec<Coefficient>,
    /// Covariance of the coefficients, in their order.
    covariance: Option<Vec<Vec<f64>>>,
    /// Weighted sum of squared residuals.
    pub rss: f64,
    /// Root of the mean squared error, √(RSS/(n − p)); `None` without degrees of freedom.
    pub residual_standard_error: Option<f64>,
    /// Largest |fitted − measured| ÷ measured.
    pub max_relative_error: f64,
    /// Akaike's criterion for small samples; `None` with too few points for so many coefficients.
    pub aicc: Option<f64>,
    /// For the USL: the coefficients without bounds, when the bounds changed them.
    pub unconstrained: Option<Vec<Coefficient>>,
}

/// Sharpest knee that is looked for: at 1000 the law lies 0.07 % below a hard knee, less than any measurement tells.
pub(super) const SHARPNESS_MAX: f64 = 1000.0;
/// Distance from a bound of the sharpness, as a share, that is a rounding error of the search.
const AT_BOUND: f64 = 1e-9;
/// Share of the denominator below which a term is a rounding error of the search.
const TRACE: f64 = 1e-9;
/// Relative residual from which on a fit is exact: data is printed with six digits at best.
const EXACT: f64 = 1e-6;
/// Times the sharpness of a bend that its standard error may be to be told: of a hard knee all large ones fit alike.
const SHARPNESS_TIMES: f64 = 100.0;

/// Splits of the loads that are tried for a hard ceiling: each is a fit of its own.
const SPLITS_MAX: usize = 64;

/// A law fitted once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    pub(super) law: Law,
    /// With coefficients beyond their bounds too, which are no law but scatter as those of data do.
    pub(super) unbounded: Law,
}

impl Fit {
    /// Straight line through the origin.
    pub fn linear(points: &[Point], weighting: Weighting) -> Option<Self> {
        Self::linear_by(points, weighting.power())
    }

    fn linear_by(points: &[Point], power: f64) -> Option<Self> {
        let weighted = weigh(points, power);
        let curve = |[gamma]: &[f64; 1], n: f64| (gamma * n, [n]);
        let top: f64 = weighted.iter().map(|p| p.root * p.root * p.n * p.x).sum();
        let bottom: f64 = weighted.iter().map(|p| (p.root * p.n).powi(2)).sum();
        let gamma = top / bottom;
        gamma.is_finite().then(|| {
            let covariance = covariance(&weighted, &curve, &[gamma]);
            Self::of(Law::Linear { gamma }, &weighted, covariance.map(nested), &[false])
        })
    }

    /// The USL with 0 ≤ α ≤ 1, β ≥ 0.
    pub fn usl(points: &[Point], weighting: Weighting) -> Option<Self> {
        let weighted = weigh(points, weighting.power());
        let starts = usl_starts(points);
        let free = free_usl(&weighted, &starts).map(|(parameters, _)| without_traces(parameters, points));
        let (parameters, unconstrained) = match free {
            Some(parameters) if is_feasible(&parameters) => (parameters, None),
            free => (without_traces(usl_on_faces(&weighted, &starts)?, points), free),
        };
        let fit = |[alpha, beta, gamma]: [f64; 3], bounds: [bool; 3]| {
            let covariance = covariance(&weighted, &usl, &[alpha, beta, gamma]);
            Self::of(Law::Usl { alpha, beta, gamma }, &weighted, covariance.map(nested), &bounds)
        };
        let [alpha, beta, _] = parameters;
        let mut bounded = fit(parameters, [alpha <= 0.0 || alpha >= 1.0, beta <= 0.0, false]);
        bounded.unconstrained = unconstrained.map(|free| fit(free, [false; 3]).coefficients);
        Some(bounded)
    }

    /// The soft minimum of a slope and a ceiling, 1 ≤ q ≤ 1000.
    pub fn soft_min(points: &[Point], weighting: Weighting) -> Option<Self> {
        let weighted = weigh(points, weighting.power());
        let slope = points.iter().map(|p| p.x / p.n).fold(0.0, f64::max).ln();
        let cap = points.iter().map(|p| p.x).fold(0.0, f64::max).ln();
        let starts: Vec<[f64; 3]> = [cap, cap + 0.3, cap + 1.0]
            .iter()
            .flat_map(|&cap| [1.0, 2.0, 5.0, 20.0, 100.0].map(|sharpness: f64| [slope, cap, sharpness.ln()]))
            .collect();
        let best = best_soft_min(&weighted, &starts)?;
        let [slope, cap, sharpness] = best.map(f64::exp);
        let at_bound = sharpness <= 1.0 + AT_BOUND || sharpness >= SHARPNESS_MAX * (1.0 - AT_BOUND);
        // A bound that holds has no error, and what is left has that of the law with it.
        let of_logarithms = if at_bound {
            let held = |[slope, cap]: &[f64; 2], n: f64| {
                let (x, [by_slope, by_cap, _]) = soft_min(&[*slope, *cap, best[2]], n);
                (x, [by_slope, by_cap])
            };
            covariance(&weighted, &held, &[best[0], best[1]])
                .map(|of| [[of[0][0], of[0][1], 0.0], [of[1][0], of[1][1], 0.0], [0.0; 3]])
        } else {
            covariance(&weighted, &soft_min, &best)
        };
        // The error of a logarithm is the relative one: s(e^p) = e^p · s(p).
        let natural = [slope, cap, sharpness];
        let covariance = of_logarithms.map(|of_logarithms| {
            let scaled =
                |row: usize, column: usize| of_logarithms[row][column] * natural[row] * natural[column];
            (0..3).map(|row| (0..3).map(|column| scaled(row, column)).collect()).collect()
        });
        let law = Law::SoftMin { slope, cap, sharpness };
        Some(Self::of(law, &weighted, covariance, &[false, false, at_bound]))
    }

    /// Contention up to a hard ceiling: every split of the loads into a part below and a part at it is tried, and of very many
    /// loads [`SPLITS_MAX`] of them, evenly spread.
    pub fn capped(points: &[Point], weighting: Weighting) -> Option<Self> {
        Self::capped_by(points, weighting.power())
    }

    fn capped_by(points: &[Point], power: f64) -> Option<Self> {
        let mut sorted = points.to_vec();
        sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
        let weighted = weigh(&sorted, power);
        let mut best: Option<([f64; 3], f64)> = None;
        // What was measured at one load lies on one side.
        let splits: Vec<usize> = (2..sorted.len()).filter(|&at| sorted[at - 1].n < sorted[at].n).collect();
        for &split in splits.iter().step_by(splits.len().div_ceil(SPLITS_MAX).max(1)) {
            let (below, above) = weighted.split_at(split);
            let Some([alpha, _, gamma]) =
                usl_on(below, &usl_starts(&sorted[..split]), &[Face::NoCoherency, Face::Neither])
            else {
                continue;
            };
            let weight: f64 = above.iter().map(|p| p.root * p.root).sum();
            let cap = above.iter().map(|p| p.root * p.root * p.x).sum::<f64>() / weight;
            let rss: f64 =
                weighted.iter().map(|p| (p.root * (capped(&[alpha, gamma, cap], p.n).0 - p.x)).powi(2)).sum();
            if best.is_none_or(|(_, least)| rss < least) {
                best = Some(([alpha, gamma, cap], rss));
            }
        }
        let (parameters, _) = best?;
        let [alpha, gamma, cap] = parameters;
        let covariance = covariance(&weighted, &capped, &parameters);
        let law = Law::Capped { alpha, gamma, cap };
        Some(Self::of(law, &weighted, covariance.map(nested), &[alpha <= 0.0, false, false]))
    }

    fn of(law: Law, points: &[Weighted], covariance: Option<Vec<Vec<f64>>>, at_bound: &[bool]) -> Self {
        let residual = |p: &Weighted| law.throughput(p.n) - p.x;
        let rss: f64 = points.iter().map(|p| (p.root * residual(p)).powi(2)).sum();
        let values = law.coefficients();
        let freedom = points.len().checked_sub(values.len()).filter(|&freedom| freedom > 0);
        let coefficients = values
            .iter()
            .zip(at_bound)
            .enumerate()
            .map(|(at, (&(name, value), &at_bound))| Coefficient {
                name,
                value,
                standard_error: covariance
                    .as_ref()
                    .map(|covariance| covariance[at][at].sqrt())
                    .filter(|error| !at_bound || *error > 0.0)
                    .filter(|error| name != "q" || *error < value * SHARPNESS_TIMES),
                at_bound,
            })
            .collect();
        Self {
            law,
            coefficients,
            covariance,
            rss,
            residual_standard_error: freedom.map(|freedom| (rss / freedom as f64).sqrt()),
            max_relative_error: points.iter().map(|p| (residual(p) / p.x).abs()).fold(0.0, f64::max),
            aicc: aicc(points, rss, values.len()),
            unconstrained: None,
        }
    }

    /// Standard error of a figure that follows from the law, by the delta method: √(gᵀCg) with the gradient g by the
    /// coefficients (Cox 1990). `None` when the data cannot tell.
    pub fn standard_error_of(&self, figure: impl Fn(&Law) -> Option<f64>) -> Option<f64> {
        let covariance = self.covariance.as_ref()?;
        let values: Vec<f64> = self.coefficients.iter().map(|c| c.value).collect();
        let slope = |at: usize| {
            let step = (values[at].abs() * 1e-5).max(1e-12);
            let moved = |by: f64| {
                let mut moved = values.clone();
                moved[at] += by;
                figure(&self.law.with(&moved))
            };
            Some((moved(step)? - moved(-step)?) / (2.0 * step))
        };
        let gradient: Vec<f64> = (0..values.len()).map(slope).collect::<Option<_>>()?;
        let variance: f64 = gradient
            .iter()
            .zip(covariance)
            .map(|(left, row)| left * row.iter().zip(&gradient).map(|(c, right)| c * right).sum::<f64>())
            .sum();
        (variance.is_finite() && variance >= 0.0).then(|| variance.sqrt())
    }

    /// The same law fitted to other points, or to errors that grow with another power of throughput, starting where this one ended.
    pub(super) fn again(&self, points: &[Point], power: f64) -> Option<Again> {
        let weighted = weigh(points, power);
        let law = match self.law {
            Law::Linear { .. } => Self::linear_by(points, power).map(|fit| fit.law),
            Law::Usl { alpha, beta, gamma } => {
                let found = free_usl(&weighted, &[[alpha, beta, gamma]]).map(|(parameters, _)| parameters);
                let bounded =
                    found.filter(is_feasible).or_else(|| usl_on_faces(&weighted, &[[alpha, beta, gamma]]))?;
                let law_of = |[alpha, beta, gamma]: [f64; 3]| Law::Usl { alpha, beta, gamma };
                return Some(Again { law: law_of(bounded), unbounded: law_of(found.unwrap_or(bounded)) });
            }
            Law::SoftMin { slope, cap, sharpness } => {
                let starts = [[slope.ln(), cap.ln(), sharpness.ln()]];
                let [slope, cap, sharpness] = best_soft_min(&weighted, &starts)?.map(f64::exp);
                Some(Law::SoftMin { slope, cap, sharpness })
            }
            Law::Capped { .. } => Self::capped_by(points, power).map(|fit| fit.law),
        };
        law.map(|law| Again { law, unbounded: law })
    }

    /// Whether no point is off the law by more than a millionth.
    pub fn is_exact(&self) -> bool {
        self.max_relative_error < EXACT
    }
}

/// n·ln(RSS/n) + 2k + 2k(k+1)/(n−k−1), k coefficients and the variance (Hurvich & Tsai 1989). Residuals of a millionth of
/// the figures count as none, so that laws that are both exact are told apart by nothing but their size.
fn aicc(points: &[Weighted], rss: f64, coefficients: usize) -> Option<f64> {
    let (n, k) = (points.len() as f64, (coefficients + 1) as f64);
    if n < k + 2.0 {
        return None;
    }
    let floor: f64 = points.iter().map(|p| (EXACT * p.root * p.x).powi(2)).sum();
    Some(n * (rss.max(floor) / n).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0))
}

/// Every per cent alike is every per cent of its load's mean: by those of single points the low ones would count
/// more, and a law would lie below the means by twice the variance.
pub(super) fn weigh(points: &[Point], power: f64) -> Vec<Weighted> {
    let mut loads: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for point in points {
        let load = loads.entry(point.n.to_bits()).or_default();
        *load = (load.0 + point.x, load.1 + 1.0);
    }
    let root = |n: f64| loads.get(&n.to_bits()).map_or(1.0, |(sum, count)| (count / sum).powf(power));
    points.iter().map(|&Point { n, x }| Weighted { n, x, root: root(n) }).collect()
}

fn nested<const K: usize>(matrix: [[f64; K]; K]) -> Vec<Vec<f64>> {
    matrix.iter().map(|row| row.to_vec()).collect()
}

/// The USL and its gradient by (α, β, γ).
fn usl(&[alpha, beta, gamma]: &[f64; 3], n: f64) -> (f64, [f64; 3]) {
    let pairs = n * (n - 1.0);
    let d = 1.0 + alpha * (n - 1.0) + beta * pairs;
    let x = gamma * n / d;
    (x, [-x * (n - 1.0) / d, -x * pairs / d, n / d])
}

/// The soft minimum and its gradient by the logarithms of (g, C, q).
fn soft_min(&[slope, cap, sharpness]: &[f64; 3], n: f64) -> (f64, [f64; 3]) {
    let law = Law::SoftMin { slope: slope.exp(), cap: cap.exp(), sharpness: sharpness.exp() };
    let x = law.throughput(n);
    let q = sharpness.exp();
    let z = slope + n.ln() - cap;
    let share = 1.0 / (1.0 + (-q * z).exp());
    let softplus = if q * z > 30.0 { q * z } else { (q * z).exp().ln_1p() };
    (x, [x * (1.0 - share), x * share, x * (softplus / q - z * share)])
}

/// Contention up to a ceiling and its gradient by (α, γ, C).
fn capped(&[alpha, gamma, cap]: &[f64; 3], n: f64) -> (f64, [f64; 3]) {
    let (x, [by_alpha, _, by_gamma]) = usl(&[alpha, 0.0, gamma], n);
    if x < cap { (x, [by_alpha, by_gamma, 0.0]) } else { (cap, [0.0, 0.0, 1.0]) }
}

/// Where the search for the USL begins: the regression of N/X on N − 1 and N(N − 1), and four points of a grid.
fn usl_starts(points: &[Point]) -> Vec<[f64; 3]> {
    let gamma = points.iter().map(|p| p.x / p.n).fold(0.0, f64::max);
    let mut starts: Vec<[f64; 3]> = [(0.01, 1e-5), (0.1, 1e-4), (0.1, 1e-2), (0.6, 1e-3)]
        .iter()
        .map(|&(alpha, beta)| [alpha, beta, gamma])
        .collect();
    starts.extend(linear_start(points));
    starts
}

/// N/X = 1/γ + (α/γ)(N−1) + (β/γ)N(N−1), solved as it stands: close, but it weighs errors of latency.
fn linear_start(points: &[Point]) -> Option<[f64; 3]> {
    let rows = nalgebra::DMatrix::from_fn(points.len(), 3, |row, column| {
        let n = points[row].n;
        [1.0, n - 1.0, n * (n - 1.0)][column]
    });
    let latencies = nalgebra::DVector::from_iterator(points.len(), points.iter().map(|p| p.n / p.x));
    let solved = rows.svd(true, true).solve(&latencies, 1e-12).ok()?;
    let gamma = 1.0 / solved[0];
    let start = [solved[1] * gamma, solved[2] * gamma, gamma];
    (gamma > 0.0 && start.iter().all(|value| value.is_finite())).then_some(start)
}

fn free_usl(points: &[Weighted], starts: &[[f64; 3]]) -> Option<([f64; 3], f64)> {
    least_squares(points, &usl, starts).filter(|([_, _, gamma], _)| *gamma > 0.0)
}

/// α and β that change no figure within the measured loads are 0: a peak at ten million would be a rounding error.
fn without_traces([alpha, beta, gamma]: [f64; 3], points: &[Point]) -> [f64; 3] {
    let n = points.iter().map(|p| p.n).fold(1.0, f64::max);
    let whole = 1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0);
    let kept = |value: f64, weight: f64| if (value * weight).abs() < TRACE * whole { 0.0 } else { value };
    [kept(alpha, n - 1.0), kept(beta, n * (n - 1.0)), gamma]
}

fn is_feasible(&[alpha, beta, _]: &[f64; 3]) -> bool {
    (0.0..=1.0).contains(&alpha) && beta >= 0.0
}

/// The best soft minimum within the bounds of its sharpness, as logarithms.
fn best_soft_min(points: &[Weighted], starts: &[[f64; 3]]) -> Option<[f64; 3]> {
    let top = SHARPNESS_MAX.ln();
    let free = least_squares(points, &soft_min, starts);
    if let Some((parameters, _)) = free.filter(|(p, _)| (0.0..=top).contains(&p[2])) {
        return Some(parameters);
    }
    [soft_min_of(points, starts, 0.0), soft_min_of(points, starts, top)]
        .into_iter()
        .flatten()
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(parameters, _)| parameters)
}

/// The best soft minimum of one sharpness, and what it leaves, all as logarithms but that.
pub(super) fn soft_min_of(
    points: &[Weighted],
    starts: &[[f64; 3]],
    sharpness: f64,
) -> Option<([f64; 3], f64)> {
    let curve = |[slope, cap]: &[f64; 2], n: f64| {
        let (x, [by_slope, by_cap, _]) = soft_min(&[*slope, *cap, sharpness], n);
        (x, [by_slope, by_cap])
    };
    let starts: Vec<[f64; 2]> = starts.iter().map(|&[slope, cap, _]| [slope, cap]).collect();
    least_squares(points, &curve, &starts).map(|([slope, cap], rss)| ([slope, cap, sharpness], rss))
}

/// Where a bound of the USL holds.
#[derive(Debug, Clone, Copy)]
enum Face {
    /// β = 0.
    NoCoherency,
    /// α = 0.
    NoContention,
    /// α = β = 0.
    Neither,
    /// α = 1: throughput does not grow at all.
    AllContention,
    /// α = 1, β = 0.
    Constant,
}

fn usl_on_faces(points: &[Weighted], starts: &[[f64; 3]]) -> Option<[f64; 3]> {
    use Face::{AllContention, Constant, Neither, NoCoherency, NoContention};
    usl_on(points, starts, &[Neither, Constant, NoCoherency, NoContention, AllContention])
}

/// The best feasible point on the given faces.
fn usl_on(points: &[Weighted], starts: &[[f64; 3]], faces: &[Face]) -> Option<[f64; 3]> {
    let solve_two = |full: &dyn Fn(f64, f64) -> [f64; 3], pick: usize| {
        let curve = |&[free, gamma]: &[f64; 2], n: f64| {
            let (x, gradient) = usl(&full(free, gamma), n);
            (x, [gradient[pick], gradient[2]])
        };
        let starts: Vec<[f64; 2]> = starts.iter().map(|start| [start[pick], start[2]]).collect();
        least_squares(points, &curve, &starts).map(|([free, gamma], rss)| (full(free, gamma), rss))
    };
    let solve_one = |alpha: f64| {
        let curve = |&[gamma]: &[f64; 1], n: f64| {
            let (x, gradient) = usl(&[alpha, 0.0, gamma], n);
            (x, [gradient[2]])
        };
        least_squares(points, &curve, &[[starts[0][2]]]).map(|([gamma], rss)| ([alpha, 0.0, gamma], rss))
    };
    faces
        .iter()
        .filter_map(|face| match face {
            Face::NoCoherency => solve_two(&|alpha, gamma| [alpha, 0.0, gamma], 0),
            Face::NoContention => solve_two(&|beta, gamma| [0.0, beta, gamma], 1),
            Face::AllContention => solve_two(&|beta, gamma| [1.0, beta, gamma], 1),
            Face::Neither => solve_one(0.0),
            Face::Constant => solve_one(1.0),
        })
        .filter(|&([alpha, beta, gamma], _)| (0.0..=1.0).contains(&alpha) && beta >= 0.0 && gamma > 0.0)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(parameters, _)| parameters)
}
