//! Whether the steps of a run keep thresholds.

use crate::load::LoadPoint;
use fathom_metrics::Latency;
use fathom_schema::{Bound, BoundFigure, Record, Threshold};

/// A threshold and what was found in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The step's name.
    pub step: String,
    /// The threshold.
    pub threshold: Threshold,
    /// The figure: per second, seconds or a count.
    pub found: f64,
    /// Whether it is kept.
    pub is_kept: bool,
    /// Operations that its percentile takes, where the step has fewer: the largest latency stands for it then.
    pub needs: Option<u64>,
}

/// Every threshold on every step that measured something; one that measured nothing keeps none.
pub fn thresholds(record: &Record, thresholds: &[Threshold]) -> Vec<Kept> {
    let each = |step: &fathom_schema::StepRecord| -> Vec<Kept> {
        thresholds
            .iter()
            .map(|&threshold| {
                let kind = match threshold {
                    Threshold::Bound(bound) => bound.kind,
                    _ => None,
                };
                let finished = step.finished.as_ref();
                let point = finished
                    .and_then(|finished| LoadPoint::of_kind(&step.started.step, &finished.streams, kind));
                let (found, is_kept) = point.as_ref().map_or((0.0, false), |point| judged(point, &threshold));
                let needs = point.as_ref().zip(quantile(&threshold)).and_then(|(point, q)| point.needs(q));
                Kept { step: step.started.step.name.clone(), threshold, found, is_kept, needs }
            })
            .collect()
    };
    record.steps.iter().flat_map(each).collect()
}

fn quantile(threshold: &Threshold) -> Option<f64> {
    match threshold {
        Threshold::Latency(goal) => goal.quantile,
        Threshold::Bound(Bound { figure: BoundFigure::Quantile(q), .. }) => Some(*q),
        _ => None,
    }
}

/// The figure of a threshold, and whether it is kept.
pub fn judged(point: &LoadPoint, threshold: &Threshold) -> (f64, bool) {
    match threshold {
        Threshold::IopsAbove(least) => (point.rate, point.rate >= *least),
        Threshold::IopsBelow(most) => (point.rate, point.rate < *most),
        Threshold::BandwidthAbove(least) => (point.bytes_per_s, point.bytes_per_s >= *least),
        Threshold::Latency(goal) => {
            let found = point.latency_s(goal);
            (found, found <= goal.limit.as_secs_f64())
        }
        Threshold::Bound(bound) => {
            let found = match bound.figure {
                BoundFigure::Iops => point.rate,
                BoundFigure::Bandwidth => point.bytes_per_s,
                BoundFigure::Mean => point.mean_s,
                BoundFigure::Quantile(q) => {
                    Latency::from(&point.response).quantile(q).map_or(0.0, |ns| ns as f64 / 1e9)
                }
                BoundFigure::Max => point.response.moments.max_ns as f64 / 1e9,
                BoundFigure::Errors => point.errors as f64,
            };
            (found, bound.holds(found) || found == bound.limit && bound.figure != BoundFigure::Errors)
        }
        Threshold::ErrorsBelow(most) => (point.errors as f64, point.errors < *most),
    }
}
