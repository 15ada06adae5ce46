//! How throughput grows with load: laws, their fits, the choice between them, and what one reads off the chosen one.
//!
//! The method is the project's reference on measurement, §2: the Universal Scalability Law is one candidate among others,
//! chosen by `AICc`, and "no law" is an answer.

mod choice;
mod curve;
mod estimate;
mod fit;
mod law;
mod lone;
mod profile;
mod refuted;
mod remarks;
mod resample;
mod rivals;
mod solve;
mod verdict;

pub use choice::{Answers, LOADS_MIN, LatencyLimit, Lawless, Peak, answers};
pub(crate) use curve::GAP;
pub(crate) use curve::anywhere;
pub use curve::{EXACT, Statistic, measured_limit};
pub use estimate::Estimate;
pub use fit::{Coefficient, Fit, Point, Weighting};
pub use law::{Law, Operating};
pub use verdict::Verdict;
