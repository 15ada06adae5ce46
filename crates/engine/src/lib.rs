//! One host: probes it, prepares targets, runs the worker loops and collects their intervals.
//!
//! A step goes in, events come out. Knows nothing of jobs, options, stores or reports.
#![forbid(unsafe_code)]
#![expect(
    clippy::inline_always,
    reason = "leaves of the worker loop: left to the compiler, the null engine ran at 27 instead of 49 M/s"
)]

mod batch;
mod caches;
mod claims;
mod collect;
mod commands;
mod crew;
mod demands;
mod depth_search;
mod drive;
mod ended;
mod execute;
mod handovers;
mod issue;
mod kind_rates;
mod layout;
mod lock;
mod lockstep;
mod mark;
mod mismatch;
mod names;
mod open;
mod others;
mod outcome;
mod pace;
mod passes;
pub mod prepare;
pub mod probe;
mod quiet;
mod recorder;
mod rounds;
mod schedule;
mod seat;
mod settling;
mod shared;
mod syncs;
mod timeline;
mod told;
pub mod traces;
mod turns;
mod unable;
mod used;
mod verify;
mod worker;

pub use crew::Crew;
pub use execute::{ExecuteError, Executed, Observer, Share, execute};
pub use fathom_io::clock::{RealClock, monotonic, sleep_until, wall_ms};
pub use mark::LeftFile;
