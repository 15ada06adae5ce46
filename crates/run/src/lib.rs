//! Drives an experiment on this host: claims, prepares and executes one step after another, and tells the bus.
//!
//! The only thing that flows back is the stop flag. Who listens (store, live view) and how anything is shown is not known
//! here.
#![forbid(unsafe_code)]

mod ahead;
mod bus;
mod changes;
mod drive;
mod host;
mod removals;
mod signals;
mod sums;
mod time;
mod watch;
mod zeroes;

pub use bus::{Bus, Sink, SinkError};
pub use changes::{Changes, NewLoad, RateChange};
pub use drive::{Earlier, FILES_STAY, RunError, RunOutcome, RunRequest, claim, run};
pub use fathom_engine::prepare::Claims;
pub use fathom_engine::prepare::{PrepareError, Progress};
pub use fathom_engine::{ExecuteError, LeftFile, RealClock, probe, wall_ms};
pub use signals::{Asked, Stop, outlive_file_limits};
