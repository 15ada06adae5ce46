//! The tests of SNIA's Solid State Storage Performance Test Specification (PTS 2.0): what they consist of, and what a record
//! of one shows. Owns the matrices, times and rules; does not know how a step is run, nor how an answer is shown.

mod answer;
mod cells;
mod flow;
mod idle;
mod samples;
mod setup;

pub use answer::{
    Answer, Conditioning, Distribution, Ending, FIVE_NINES_FROM, Idle, Level, Measure, Minute, PartAnswer,
    RoundsAnswer, SequenceAnswer, answer, is_conditioning, is_empty, is_purge_refused, repeated, resumable,
    windows,
};
pub use cells::{CellSteps, cells};
pub use flow::{
    BLOCK_MIN, Blocks, Cell, Figure, Flow, Outlook, Part, PartKind, Place, ROUNDS_MAX, Rounds, deviations,
    operating_points, purge_words, title,
};
pub use idle::{AfterIdle, IdleRecovery, idle_recovery};
pub use setup::{Setup, TARGETS_MAX, TargetSetup};
