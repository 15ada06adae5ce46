//! What a user declares: the job, the table of its options, diagnostics, and the checks that need no facts.
//!
//! A job may be incomplete or contradictory: reading one never fails, it yields diagnostics. This crate knows no
//! dialect's grammar, no host and no hardware; front ends fill a [`Job`], the planner resolves it.
#![forbid(unsafe_code)]

mod check;
mod diagnostic;
mod job;
mod literal;
mod options;
mod row;
mod value;

pub use check::{BLOCK_SIZE_MAX, POINTS_MAX, SECTIONS_MAX, WORKERS_MAX, check, check_sections};
pub use diagnostic::{Diagnostic, Diagnostics, Level, Source, Sources, Span, nearest};
pub use job::{Dialect, Job, Named, Reading};
pub use literal::{Literal, Spanned};
pub use options::{RunOptions, StageOptions, StreamOptions, TargetOptions, WorkloadOptions};
pub use row::{Given, Group, Kind, OptionValue, Options, Row, Setting, rows};
pub use value::{
    Access, Advice, Amount, Arrival, AtEnd, AtError, BlockSizes, ByKind, ContentSource, Coverage, CpuWork,
    CpusPolicy, Cursor, Direction, Durability, Engine, FileLock, FileOrder, FilesEnd, Freshness, KindOrder,
    Layout, MemoryKind, MemoryNodes, MixLine, Nice, OddPlace, OnError, PriorityClass, PrioritySplit,
    RandomDistribution, RangeSync, Rate, RatePiece, RepeatKind, RunKind, Seed, ServiceTime, StatCall, Steady,
    SteadyBound, SteadyFigure, Sweep, TargetKind, Tolerated, TreeDistribution, WorkerRegions, Zones,
    errno_of,
};
pub use value::{
    PatternPiece, PeerAddress, PeerProtocol, PriorityPart, TraceSkips, Verify, VerifyOrder, VerifyPattern,
    VerifyWhen,
};
