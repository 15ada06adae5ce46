//! Job control: what a stream has to do with the other streams of its step.
//!
//! Everything here is additive to a step: a record written before an option existed reads as one that does not use it.

use serde::{Deserialize, Serialize};

/// What a stream has to do with the other streams of its step. The default has nothing to do with them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Control {
    /// Streams of the step, by index, that must have ended before this one starts.
    pub after: Vec<u32>,
}
