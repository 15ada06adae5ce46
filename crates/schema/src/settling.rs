//! When a stream's figures have settled, and which queue depth keeps a latency: what ends a stream, or sets its depth, by
//! what it measures.
//!
//! Everything here is additive to a step: a record written before an option existed reads as one that does not use it.

use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};

/// A stream ends when a figure has settled: over a window of samples it keeps close to its mean, or does not rise or fall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SteadyRule {
    /// Which figure.
    pub figure: SteadyFigure,
    /// Whether the slope of the straight line through the window is bounded, in figures per sample, instead of the largest
    /// distance from its mean.
    pub by_slope: bool,
    /// What it has to stay below.
    pub limit: SteadyLimit,
    /// Samples of a window; at least 1, and 2 for a slope.
    pub samples: u32,
    /// Length of a sample, a multiple of [`crate::Step::interval`].
    #[serde(with = "wire::nanos")]
    pub every: Nanos,
    /// How long after measuring began the first sample begins, at the earliest.
    #[serde(with = "wire::nanos")]
    pub after: Nanos,
    /// Whether all streams of the report group that have such a rule are judged, and end, together.
    pub with_group: bool,
}

/// A figure that settles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyFigure {
    /// Operations per second.
    Operations,
    /// Bytes per second.
    Bytes,
    /// Mean service time, in nanoseconds.
    Latency,
}

/// A bound of what is left of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyLimit {
    /// As a share of the window's mean: 0.05 is 5 %.
    Share(f64),
    /// In the unit of the figure.
    Absolute(f64),
}

/// The largest queue depth at which a share of the operations keeps a time is found by each worker, from depth 1 up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DepthSearch {
    /// The time, from submission to completion.
    #[serde(with = "wire::nanos")]
    pub target: Nanos,
    /// Over how long a depth is looked at.
    #[serde(with = "wire::nanos")]
    pub window: Nanos,
    /// Share of the operations that has to keep it, 0 to 1.
    pub share: f64,
    /// Whether it goes on for as long as the stream does and all of that is measured; else one more window at the depth that
    /// was found is what is measured, and ends the worker.
    pub goes_on: bool,
}

/// What a worker's search came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthFound {
    /// The depth that it had last.
    pub depth: u32,
    /// Whether the search had come to its end. Else what was measured is all of the search.
    pub is_settled: bool,
}
