//! Job control: what a stream has to do with the other streams of its step, and what it does when something goes wrong.
//!
//! Everything here is additive to a step: a record written before an option existed reads as one that does not use it.

use crate::wire;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a stream has to do with the other streams of its step, and with errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Control {
    /// Streams of the step, by index, that must have ended before this one starts.
    pub after: Vec<u32>,
    /// Streams of the step, by index, with the last of which this one ends; empty: it ends by itself.
    pub ends_with: Vec<u32>,
    /// What else ends as soon as one of its workers has ended.
    pub at_end: Reach,
    /// What else ends as soon as one of its workers ends for an error; the worker itself does always.
    pub at_error: Reach,
    /// Errors that are counted and do not end a worker.
    pub tolerates: Tolerance,
    /// What each of its workers has a shell run before it starts.
    pub before: Option<ShellCommand>,
    /// And after it has ended.
    pub after_end: Option<ShellCommand>,
}

/// A command that a shell runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShellCommand {
    /// For `sh -c`.
    pub line: String,
    /// File that takes what it prints; made anew.
    #[serde(with = "wire::path")]
    pub output: PathBuf,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            after: Vec::new(),
            ends_with: Vec::new(),
            at_end: Reach::Nothing,
            at_error: Reach::Run,
            tolerates: Tolerance::ByPolicy,
            before: None,
            after_end: None,
        }
    }
}

/// How far an end goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Nothing else ends.
    Nothing,
    /// All streams of the step in its group; for a stream in no group, its own workers.
    Group,
    /// All streams of the step that have started; those that still wait for others, or for their time, have yet to run.
    Running,
    /// All streams of the step; the next step runs.
    Stage,
    /// The whole run.
    Run,
}

/// Errors that do not end a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// As the step's policy says.
    ByPolicy,
    /// These error numbers, however often.
    Listed {
        /// Of reads.
        reads: Vec<i32>,
        /// Of writes, trims and syncs.
        writes: Vec<i32>,
    },
}
