//! The tests of SNIA's Solid State Storage Performance Test Specification (PTS 2.0): what they consist of, and what a record
//! of one shows. Owns the matrices, times and rules; does not know how a step is run, nor how an answer is shown.

mod answer;
mod flow;
mod idle;

pub use answer::{
    Answer, Conditioning, Ending, Idle, Level, Measure, Minute, PartAnswer, RoundsAnswer, SequenceAnswer,
    answer, is_conditioning, is_empty, is_purge_refused, repeated, resumable, windows,
};
pub use flow::{
    BLOCK_MIN, Blocks, Cell, Figure, Flow, Outlook, Part, PartKind, Place, ROUNDS_MAX, Rounds, deviations,
    operating_points, purge_words,
};
pub use idle::{AfterIdle, IdleRecovery, idle_recovery};
