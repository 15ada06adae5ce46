//! Traces: logs of operations that are replayed. What is asked of one, what a look at it found, and what a step keeps of
//! it. The operations themselves are in the file, never in a step or a record.

use crate::tally::OperationKind;
use crate::wire;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Which operations of a trace are replayed, and how they are changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TraceRule {
    /// The file.
    #[serde(with = "wire::path")]
    pub path: PathBuf,
    /// Kinds that are left out, by index.
    pub skips: [bool; OperationKind::COUNT],
    /// Offsets are divided by this; at least 1.
    pub scale: u64,
    /// Offsets are rounded down to multiples of this, a power of two; lengths of a binary trace are rounded up to them.
    pub align: u64,
}

/// What a look at a trace found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceFact {
    /// What was asked of it.
    pub rule: TraceRule,
    /// Why it cannot be replayed at all, in words.
    pub error: Option<String>,
    /// Lines that say nothing that can be replayed, and why: the first of them.
    pub faults: Vec<String>,
    /// How many there are.
    pub faults_total: u64,
    /// The files that it has operations on, in the order in which they come.
    pub files: Vec<TraceFile>,
    /// What there is of each kind.
    pub kinds: Vec<TraceKind>,
    /// What all offsets are multiples of, as far as reads, writes and trims go; 0 where all of them are 0.
    pub offset_granule: u64,
    /// When the last operation is due, nanoseconds since the first line.
    pub span_ns: u64,
    /// The queue depth that its completions show, where it has some.
    pub depth: Option<u32>,
    /// Equal for equal operations.
    pub fingerprint: u64,
}

/// A file or device that a trace has operations on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceFile {
    /// What the trace calls it.
    pub name: TraceName,
    /// Where its last byte ends that is touched; 0 where it is only synced.
    pub end: u64,
    /// Whether it is read.
    pub reads: bool,
    /// Whether it is written or trimmed.
    pub changes: bool,
}

/// What a trace calls a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceName {
    /// By its path.
    Path(String),
    /// By the number of its device: major, minor.
    Device(u32, u32),
}

/// The operations of one kind in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceKind {
    /// Which kind.
    pub kind: OperationKind,
    /// How many; at least 1.
    pub operations: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the smallest; 0 of syncs.
    pub smallest: u32,
    /// Bytes of the largest.
    pub largest: u32,
    /// What all their lengths are multiples of.
    pub granule: u32,
}

/// The trace that a stream replays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// Which operations of which file.
    pub rule: TraceRule,
    /// How many, syncs included.
    pub operations: u64,
    /// Whether there are syncs among them.
    pub has_syncs: bool,
    /// See [`TraceFact::fingerprint`].
    pub fingerprint: u64,
    /// Targets of the step that it neither writes nor trims.
    pub only_read: Vec<u32>,
}
