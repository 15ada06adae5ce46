//! Statistics of measured series: intervals of means and percentiles, autocorrelation, comparison of two samples, warm-up,
//! changes and trends.
//!
//! All of it is exact or seeded, and none takes more than about n·ln n steps, since a run of two weeks has a million
//! intervals.

mod alternation;
mod changes;
mod compare;
mod dependence;
mod distributions;
mod hurst;
mod levels;
mod memory;
mod quantile;
mod redraw;
mod rhythm;
mod runs;
mod sample;
mod share;
mod trend;
mod warmup;

pub use alternation::alternation;
pub use changes::{Change, change_points, dominant_segment};
pub use compare::{Difference, Shift, bucket_at, quantile_shifts, welch};
pub use dependence::{
    Subsessions, autocorrelation, correlation_allowed, memory, subsession_means, subsessions,
};
pub use distributions::t_quantile;
pub(crate) use distributions::{f_beyond, poisson_at_most};
pub use hurst::{Hurst, hurst};
pub use levels::{Course, Passage, Wave, course, course_among, passage, wave};
pub use quantile::{QuantileEstimate, nearest_rank, quantile_needs, quantiles, rank_bounds, rank_interval};
pub use redraw::Redraw;
pub use rhythm::{Rhythm, rhythm};
pub use runs::runs_p;
pub use sample::Sample;
pub use share::share_interval;
pub use trend::{Trend, trend};
pub use warmup::{WarmUp, warm_up};
