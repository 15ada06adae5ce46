//! The plain data that crosses a process or a time boundary: facts of a host, steps to run, events of a run, the record.
//!
//! These are the only serialised types of fathom. They hold no behaviour beyond what keeps them consistent, and know
//! nothing of who writes or reads them. Every document carries [`VERSION`]; a change that an older reader would
//! misunderstand raises it, and a fixture of each version is kept under `fixtures/` and read for ever.
#![forbid(unsafe_code)]

mod buckets;
mod changes;
mod control;
mod course;
mod demands;
pub mod drive;
mod engine;
mod event;
mod facts;
mod gauges;
mod memory;
mod names;
mod peer;
mod question;
mod record;
mod settling;
mod simulated;
mod step;
mod tally;
mod targets;
mod threshold;
mod trace;
mod verification;
mod walk;
mod wire;

pub use buckets::{Buckets, SparseHistogram};
pub use changes::SHOWN_AS_READ_MAX;
pub use control::{Control, Reach, ShellCommand, Tolerance};
pub use demands::{
    Demands, Flow, IoPriority, KindRate, LatencyDemand, MemoryPolicy, Pauses, RateDemand, RateUnit,
    Scheduling,
};
pub use engine::{
    AioSettings, CallFlags, Durability, EngineKind, EngineSettings, ForcedAsync, IoMode, OpenRule,
    OperationPriority, ProgramRun, Registration, RingSettings, SizedPriority, Submitter, TrimBy, ring_bytes,
};
pub use event::{
    DeviceCounters, Event, IntervalSum, Note, NoteKind, Outcome, RunFinished, RunStarted, Severity,
    StepFinished, StepStarted, Stop,
};
pub use facts::{
    BlockDevice, Ceiling, ContentFact, CpuFacts, DeviceNumber, EnvironmentFact, Facts, FileFact, FileKind,
    Filesystem, InUse, Limits as HostLimits, Signature, TargetFact, VoidMark, ZeroBlocks,
};
pub use fathom_units::RATES;
pub use gauges::{DeviceUse, Gauges, HostSample, Pressure, Temperature};
pub use memory::{Advice, Memory, MemorySource};
pub use names::{NameOperation, StatCall};
pub use peer::{Peer, Protocol};
pub use question::{
    CapacityPart, DeviceClass, LatencyGoal, LoadAxis, Question, ScanOrder, ScanQuestion, Singles,
    SteadyQuestion, SteadyTest,
};
pub use record::{Emptied, Finding, RECORD_MARK, Record, StepRecord, StreamTotals, WorkerTotals};
pub use settling::{DepthFound, DepthSearch, SteadyFigure, SteadyLimit, SteadyRule};
pub use simulated::{SimDevice, SimPlace, SimService};
pub use step::{
    Arrival, Backlog, Case, Content, Coverage, Cursor, Distribution, ErrorPolicy, Extent, Fill, Freshness,
    LayoutRule, Pacing, Quota, RangeSync, RatePiece, Repeats, ReuseClass, SharePart, Size, Step, Stream,
    StreamLimits, SyncRule, Target, TargetKind, Think, TimeLimit, Tree, WorkerPlan, Workload, ZoneShare,
};
pub use tally::{Interval, KindTally, LatencyTally, Moments, OperationKind, Phase, StreamTally, ThreadUse};
pub use targets::{LatencySum, TARGETS_COUNTED_MAX, TargetTally};
pub use threshold::{Bound, BoundFigure, Condition, Threshold};
pub use trace::{Replay, TraceFact, TraceFile, TraceKind, TraceName, TraceRule};
pub use verification::{
    Ledger, MismatchKind, PatternPiece, Protection, TrimRule, VERIFY_HEADER_BYTES, Verification, VerifyRule,
    VerifySchedule, VerifyTotals,
};
pub use walk::{Counted, FileLock, FileOrder, FileSkew, KindOrder, PassEnd, Passes, Run, Zones};

/// Version of every serialised form here. Raised when an older reader would misread a newer document.
pub const VERSION: u32 = 1;
