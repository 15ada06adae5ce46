//! Least squares for curves of up to three parameters: Levenberg–Marquardt from several starts, standard errors from the
//! Jacobian. Does not know what the parameters mean.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{Const, DMatrix, Dyn, Matrix, OVector, Owned, VecStorage, Vector};

/// One measured point and the square root of its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub(super) n: f64,
    pub(super) x: f64,
    pub(super) root: f64,
}

/// A curve of `K` parameters: value and gradient at a load.
pub(super) trait Curve<const K: usize> {
    fn at(&self, parameters: &[f64; K], n: f64) -> (f64, [f64; K]);
}

impl<const K: usize, F: Fn(&[f64; K], f64) -> (f64, [f64; K])> Curve<K> for F {
    fn at(&self, parameters: &[f64; K], n: f64) -> (f64, [f64; K]) {
        self(parameters, n)
    }
}

struct Problem<'a, const K: usize, C> {
    points: &'a [Weighted],
    curve: &'a C,
    parameters: OVector<f64, Const<K>>,
}

impl<const K: usize, C: Curve<K>> LeastSquaresProblem<f64, Dyn, Const<K>> for Problem<'_, K, C> {
    type ResidualStorage = VecStorage<f64, Dyn, nalgebra::U1>;
    type JacobianStorage = Owned<f64, Dyn, Const<K>>;
    type ParameterStorage = Owned<f64, Const<K>>;

    fn set_params(&mut self, parameters: &Vector<f64, Const<K>, Self::ParameterStorage>) {
        self.parameters.copy_from(parameters);
    }

    fn params(&self) -> Vector<f64, Const<K>, Self::ParameterStorage> {
        self.parameters
    }

    fn residuals(&self) -> Option<Vector<f64, Dyn, Self::ResidualStorage>> {
        let parameters = array(&self.parameters);
        let all: Vec<f64> =
            self.points.iter().map(|p| p.root * (self.curve.at(&parameters, p.n).0 - p.x)).collect();
        all.iter().all(|r| r.is_finite()).then(|| OVector::<f64, Dyn>::from_vec(all))
    }

    fn jacobian(&self) -> Option<Matrix<f64, Dyn, Const<K>, Self::JacobianStorage>> {
        let parameters = array(&self.parameters);
        let mut jacobian = Matrix::<f64, Dyn, Const<K>, Self::JacobianStorage>::zeros(self.points.len());
        for (row, point) in self.points.iter().enumerate() {
            let (_, gradient) = self.curve.at(&parameters, point.n);
            for (column, slope) in gradient.iter().enumerate() {
                jacobian[(row, column)] = point.root * slope;
            }
        }
        jacobian.iter().all(|j| j.is_finite()).then_some(jacobian)
    }
}

fn array<const K: usize>(vector: &OVector<f64, Const<K>>) -> [f64; K] {
    std::array::from_fn(|at| vector[at])
}

/// Weighted sum of squared residuals.
pub(super) fn squares<const K: usize>(
    points: &[Weighted],
    curve: &impl Curve<K>,
    parameters: &[f64; K],
) -> f64 {
    points.iter().map(|p| (p.root * (curve.at(parameters, p.n).0 - p.x)).powi(2)).sum()
}

/// One point for each load, with the weighted mean and all the weight: what is off a curve there is more by the same whatever
/// the curve, so that the best of the points is the best of all.
fn pooled(points: &[Weighted]) -> Vec<Weighted> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let pool = |points: &[Weighted]| {
        let weight: f64 = points.iter().map(|p| p.root * p.root).sum();
        let x = points.iter().map(|p| p.root * p.root * p.x).sum::<f64>() / weight;
        Weighted { n: points[0].n, x, root: weight.sqrt() }
    };
    sorted.chunk_by(|a, b| a.n == b.n).map(pool).collect()
}

/// The best parameters that any of the starts leads to, with their weighted sum of squares; `None` when all diverge.
pub(super) fn least_squares<const K: usize>(
    points: &[Weighted],
    curve: &impl Curve<K>,
    starts: &[[f64; K]],
) -> Option<([f64; K], f64)> {
    let pooled = pooled(points);
    // Fewer loads than parameters leave some of them open, which is for the caller to see.
    let fitted = if pooled.len() < K { points } else { &pooled };
    starts
        .iter()
        .filter_map(|start| {
            let problem = Problem { points: fitted, curve, parameters: OVector::from(*start) };
            let (solved, _) = LevenbergMarquardt::new().minimize(problem);
            let parameters = array(&solved.parameters);
            let rss = squares(points, curve, &parameters);
            rss.is_finite().then_some((parameters, rss))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Covariance of the parameters, (JᵀJ)⁻¹·RSS/(n − K); `None` when there are too few points or the parameters cannot be
/// told apart. `gradient` is of the parameters whose covariance is wanted.
pub(super) fn covariance<const K: usize>(
    points: &[Weighted],
    curve: &impl Curve<K>,
    parameters: &[f64; K],
) -> Option<[[f64; K]; K]> {
    if points.len() <= K {
        return None;
    }
    let mut normal = DMatrix::<f64>::zeros(K, K);
    for point in points {
        let (_, gradient) = curve.at(parameters, point.n);
        for row in 0..K {
            for column in 0..K {
                normal[(row, column)] += point.root * point.root * gradient[row] * gradient[column];
            }
        }
    }
    // Scaled to ones on the diagonal: β is a thousand times smaller than α, γ a million times larger.
    let scale: [f64; K] = std::array::from_fn(|at| normal[(at, at)].sqrt());
    if scale.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
        return None;
    }
    let scaled = DMatrix::from_fn(K, K, |row, column| normal[(row, column)] / (scale[row] * scale[column]));
    let inverse = scaled.try_inverse()?;
    let variance = squares(points, curve, parameters) / (points.len() - K) as f64;
    let covariance: [[f64; K]; K] = std::array::from_fn(|row| {
        std::array::from_fn(|column| variance * inverse[(row, column)] / (scale[row] * scale[column]))
    });
    (0..K).all(|at| covariance[at][at].is_finite() && covariance[at][at] >= 0.0).then_some(covariance)
}
