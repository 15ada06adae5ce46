//! Whether the steps of a run keep thresholds.

use crate::load::LoadPoint;
use fathom_schema::{Record, Threshold};

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
}

/// Every threshold on every step that measured something; one that measured nothing keeps none.
pub fn thresholds(record: &Record, thresholds: &[Threshold]) -> Vec<Kept> {
    let each = |step: &fathom_schema::StepRecord| -> Vec<Kept> {
        let point = step.finished.as_ref().and_then(|finished| LoadPoint::of(&finished.streams));
        thresholds
            .iter()
            .map(|&threshold| {
                let (found, is_kept) = point.as_ref().map_or((0.0, false), |point| judged(point, &threshold));
                Kept { step: step.started.step.name.clone(), threshold, found, is_kept }
            })
            .collect()
    };
    record.steps.iter().flat_map(each).collect()
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
        Threshold::ErrorsBelow(most) => (point.errors as f64, point.errors < *most),
    }
}
