//! A step: one point of one stage, fully resolved, ready to run on any host. No field means "default", no zero means
//! "unlimited"; whatever was a percentage, a dialect's quirk or the user's silence ended in the planner.

use crate::control::Control;
use crate::demands::{Demands, Flow, KindRate, Pauses, Scheduling};
use crate::engine::{EngineKind, EngineSettings};
use crate::peer::Peer;
use crate::settling::{DepthSearch, SteadyRule};
use crate::simulated::SimDevice;
use crate::tally::OperationKind;
use crate::threshold::Condition;
use crate::trace::Replay;
use crate::verification::Verification;
use crate::walk::{Counted, FileLock, FileOrder, KindOrder, PassEnd, Passes, Run, Zones};
use crate::wire;
use fathom_units::{Bytes, Nanos, Ratio};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One point of one stage. Identical on every host; a host's only private input is its share of the workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name for people: the stage's, with the point's parameters when it is swept.
    pub name: String,
    /// Index of the stage in the job, from 0.
    pub stage_index: u32,
    /// Index of the point in the stage's sweep, from 0.
    pub point_index: u32,
    /// What is swept and its value here, e.g. `("stream.queue_depth", "16")`.
    pub parameters: Vec<(String, String)>,
    /// Idle time before this step.
    #[serde(with = "wire::nanos")]
    pub pause_before: Nanos,
    /// Everything the streams touch. Streams refer to targets by index.
    pub targets: Vec<Target>,
    /// The streams that run together.
    pub streams: Vec<Stream>,
    /// What an I/O error does.
    pub errors: ErrorPolicy,
    /// Length of an interval; 1 s unless stated.
    #[serde(with = "wire::nanos")]
    pub interval: Nanos,
    /// What ends the run before its time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort_when: Vec<Condition>,
    /// Directory trees that go after the run: what of their folders the run has made, and nothing is left in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<Tree>,
}

/// A directory tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tree {
    /// Its root.
    #[serde(with = "wire::path")]
    pub root: PathBuf,
}

/// One file, device or substitute that operations are aimed at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Name for people: the path, or the section's name.
    pub name: String,
    /// What it is.
    pub kind: TargetKind,
    /// Bytes that may be addressed, from offset 0, once prepared.
    #[serde(with = "wire::bytes")]
    pub size: Bytes,
}

/// What a target is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// A regular file.
    File {
        /// Its path.
        #[serde(with = "wire::path")]
        path: PathBuf,
        /// What `prepare` does to it.
        layout: LayoutRule,
        /// Whether fathom removes it after the run.
        remove_after: bool,
    },
    /// A folder whose name is worked on, and nothing in it.
    Folder {
        /// Its path.
        #[serde(with = "wire::path")]
        path: PathBuf,
        /// Whether it is made before the step; else it is left as it is, there or not.
        made: bool,
        /// Whether fathom removes it after the run, if it is empty.
        remove_after: bool,
    },
    /// A block device; never created, grown or removed.
    BlockDevice {
        /// Its path.
        #[serde(with = "wire::path")]
        path: PathBuf,
    },
    /// A device of the kernel that has no end and keeps nothing, such as `/dev/zero`; only ever opened.
    MemoryDevice {
        /// Its path.
        #[serde(with = "wire::path")]
        path: PathBuf,
    },
    /// Completes at once without touching anything: shows the generator's own ceiling.
    Null,
    /// A simulated device in virtual time.
    Sim(SimDevice),
    /// The other end of a connection.
    Peer(Peer),
}

/// What `prepare` does to a regular file before the step, the less thorough before the more thorough: where two streams
/// want different ones of a file, it gets the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayoutRule {
    /// Is left as it is, there or not.
    Untouched,
    /// Must exist with at least the target's size; is not changed.
    MustExist,
    /// Only created when absent; grows as it is written.
    Created,
    /// Extended to the size by truncation.
    Extended,
    /// Space up to the size is taken by `fallocate` where the filesystem can; the file's length stays.
    Reserved,
    /// As `Allocated`, below, where the filesystem can and has the room, else as `Created`.
    AllocatedIfRoom,
    /// Extended to the size by `fallocate` where the filesystem can, else by truncation; content is not written.
    Allocated,
    /// What is missing at the end is written; holes and unwritten extents of what is there are left alone. For files that
    /// are someone else's and only read.
    Appended,
    /// What is missing up to the size is written with real data, holes and unwritten extents included.
    Written,
}

/// A workload aimed at targets with concurrency and pacing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Name for people; not necessarily unique.
    pub name: String,
    /// Streams with one number are reported together, beside each by itself; those of group 0 are in none.
    pub report_group: u32,
    /// The engine and how it is set.
    pub engine: EngineSettings,
    /// Operations one worker keeps in flight; at least 1, and 1 for a synchronous engine.
    pub queue_depth: u32,
    /// What the operations are.
    pub workload: Workload,
    /// The trace whose operations take the place of the workload's; its files are the extents of the one worker, in their
    /// order, or its only extent takes them all.
    #[serde(default)]
    pub trace: Option<Replay>,
    /// When the operations are due.
    pub pacing: Pacing,
    /// What its rate counts: with bytes, the next operation is due when those of the one before have passed at the rate of
    /// mean operations.
    #[serde(default)]
    pub rate_counts: Counted,
    /// When the stream ends.
    pub limits: StreamLimits,
    /// Delay between the step's start and the stream's.
    #[serde(with = "wire::nanos")]
    pub start_delay: Nanos,
    /// Whether that is since the start of the run's first step. Not in a step that has started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_delay_of_run: bool,
    /// Time at the stream's start whose operations never count.
    #[serde(with = "wire::nanos")]
    pub ramp: Nanos,
    /// Bytes that a worker moves before it measures, where they are what says when that begins.
    #[serde(default)]
    pub ramp_bytes: Quota,
    /// Pauses of an open loop.
    #[serde(default, skip_serializing_if = "Pauses::are_none")]
    pub pauses: Pauses,
    /// In a closed loop, kinds of operations that come at most at a rate of their own; not all that there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kind_rates: Vec<KindRate>,
    /// One entry per worker, over all hosts.
    pub workers: Vec<WorkerPlan>,
    /// Whether the time from accepted to completed gets a histogram of its own (fio's `clat`).
    pub record_completion: bool,
    /// What it has to do with the other streams.
    #[serde(default)]
    pub control: Control,
    /// Whether its workers keep other streams' workers off a file while they access it.
    #[serde(default)]
    pub lock: FileLock,
    /// Whether files that fathom made are removed after each pass, and made again, empty, for the next.
    #[serde(default)]
    pub fresh_files: bool,
    /// What each of its workers has to keep.
    #[serde(default)]
    pub demands: Demands,
    /// The flow that its workers take part in.
    #[serde(default)]
    pub flow: Option<Flow>,
    /// How the kernel schedules its workers.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// How its workers find the queue depth that they keep; absent where they keep `queue_depth`.
    #[serde(default)]
    pub depth_search: Option<DepthSearch>,
}

/// When a stream ends: at the first of these.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StreamLimits {
    /// Time in the measure phase.
    pub time: TimeLimit,
    /// Bytes one worker moves in the measure phase.
    pub bytes: Quota,
    /// Operations one worker completes in the measure phase; 0 where targets are prepared and nothing more.
    pub operations: Quota,
    /// Whether a full filesystem or quota ends a worker like a bound that was reached, and is no error.
    #[serde(default)]
    pub full_ends: bool,
    /// How often a worker goes through its extents.
    #[serde(default)]
    pub passes: Passes,
    /// Whether the bytes and passes of the ramp are among these, as in fio. Operations count anew after it; a worker that is
    /// at its end before, or made to end, has measured all of it.
    #[serde(default)]
    pub ramp_counts: bool,
    /// The steady state that ends it.
    #[serde(default)]
    pub steady: Option<SteadyRule>,
}

/// A bound in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimit {
    /// Until something else ends the stream.
    Unbounded,
    /// At most this many nanoseconds.
    Nanoseconds(u64),
}

/// A bound on work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    /// No bound.
    #[default]
    Unlimited,
    /// At most this much.
    AtMost(u64),
}

/// What one worker works on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerPlan {
    /// The parts of targets it addresses; at least one.
    pub extents: Vec<Extent>,
    /// Its part when several workers cover one extent together.
    pub part: SharePart,
    /// Seed of everything random in it.
    pub seed: u64,
    /// CPUs it may run on; empty: any.
    pub cpus: Vec<u32>,
}

/// A contiguous part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Index into [`Step::targets`].
    pub target: u32,
    /// First byte.
    #[serde(with = "wire::bytes")]
    pub start: Bytes,
    /// Length.
    #[serde(with = "wire::bytes")]
    pub length: Bytes,
    /// Bytes of the target behind it, into which an operation that begins inside may reach. Not for
    /// [`PassEnd::Anew`].
    #[serde(with = "wire::bytes", default)]
    pub room: Bytes,
}

impl Extent {
    /// Longest one that operations are placed in, in bytes: positions stay exact when a size and a stride are added to them.
    pub const LENGTH_MAX: u64 = 1 << 62;
}

/// Worker `index` of `count` that cover one extent together: it owns every k with k ≡ index (mod count) of a random
/// once-per-pass order, and of an arrival schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharePart {
    /// 0 ≤ index < count.
    pub index: u32,
    /// At least 1.
    pub count: u32,
}

/// The operations of a stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// What one operation may be; drawn independently by weight. At least one; weights sum to 1.
    pub cases: Vec<Case>,
    /// Bytes that the other end of a connection sends back for each operation of a case, in the order of the cases: the next
    /// operation, of the other kind; 0: none. Empty where no case has any. Only for [`PassEnd::Anew`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<u32>,
    /// How the kind of one is chosen.
    #[serde(default)]
    pub kinds: KindOrder,
    /// Whether reads, writes and trims each have a sequential position of their own.
    pub cursor: Cursor,
    /// Where random operations go.
    pub distribution: Distribution,
    /// Whether random operations repeat a block before all were touched.
    pub coverage: Coverage,
    /// Random offsets are multiples of this from the extent's start; at least 1.
    #[serde(with = "wire::bytes")]
    pub align: Bytes,
    /// Kinds whose random offsets are multiples of something else, at least 1. Not for [`PassEnd::Anew`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub align_of: Vec<(OperationKind, u64)>,
    /// Operations at consecutive addresses from each random jump on (fio `randread:N`); at least 1.
    pub run_length: u32,
    /// Where the others of such a run go.
    #[serde(default)]
    pub run: Run,
    /// Bytes skipped after each sequential operation (fio `read:8k`); negative goes backwards.
    pub stride_bytes: i64,
    /// What happens where an extent has been gone through.
    #[serde(default)]
    pub ends: PassEnd,
    /// Parts of an extent that are worked on one after another.
    #[serde(default)]
    pub zones: Zones,
    /// Order in which a worker visits its extents.
    pub file_order: FileOrder,
    /// Extents among which that order chooses at once; the next comes in when one is done. Not for [`PassEnd::Anew`].
    #[serde(default)]
    pub extents_at_once: Quota,
    /// What is written.
    pub content: Content,
    /// Synchronising operations in between.
    pub sync: SyncRule,
    /// Whether each trim is followed by a write of the same place.
    pub trim_then_write: bool,
    /// Whether what is written or read is checked.
    #[serde(default)]
    pub verification: Verification,
}

/// One kind of operation in the mix.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Share of all operations, 0 to 1.
    pub weight: f64,
    /// What it does: read, write or trim.
    pub kind: OperationKind,
    /// How many bytes.
    pub size: Size,
    /// Whether it goes to a random place or to the next one.
    pub random: bool,
    /// Bytes that its offsets are multiples of, from the extent's start, the next ones as well: those are rounded up. At
    /// least 1; `None` where random ones keep to the workload's and the next begin anywhere. Only for [`PassEnd::Anew`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<u32>,
}

/// Bytes of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Always the same.
    Fixed(u32),
    /// Uniform over `min`, `min + step`, … not above `max`.
    Range {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
        /// Distance of two sizes; at least 1.
        step: u32,
    },
}

impl Step {
    /// Whether its time is that of simulated devices, and not the host's.
    pub fn is_simulated(&self) -> bool {
        self.streams.iter().all(|stream| stream.engine.kind == EngineKind::Sim)
    }

    /// Whether this stream is part of what all streams together come to.
    pub fn adds_up(&self, stream: usize) -> bool {
        self.streams.get(stream).is_none_or(|stream| stream.engine.kind.adds_up())
    }

    /// When time ends each stream, since the step's start, unless its work or another stream ends it before; `None` when
    /// time does not bound them all. No stream waits for itself, be it through others: the job's checks have seen to that.
    pub fn ends(&self) -> Option<Vec<Nanos>> {
        let mut ends: Vec<Option<Nanos>> = vec![None; self.streams.len()];
        let mut open: Vec<usize> = (0..self.streams.len()).rev().collect();
        while let Some(&index) = open.last() {
            let Stream { control, limits, start_delay, ramp, .. } = &self.streams[index];
            let unknown: Vec<usize> =
                control.after.iter().map(|&i| i as usize).filter(|&i| ends[i].is_none()).collect();
            if ends[index].is_none() && !unknown.is_empty() {
                open.extend(unknown);
                continue;
            }
            open.pop();
            let TimeLimit::Nanoseconds(time) = limits.time else { return None };
            let awaited = control.after.iter().filter_map(|&i| ends[i as usize]).max().unwrap_or_default();
            ends[index] = Some(awaited.max(*start_delay).after(*ramp).after(Nanos(time)));
        }
        ends.into_iter().collect()
    }
}

impl Size {
    /// The largest size that can come.
    pub const fn largest(self) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::Range { max, .. } => max,
        }
    }

    /// The smallest size that can come.
    pub const fn smallest(self) -> u32 {
        match self {
            Self::Fixed(n) => n,
            Self::Range { min, .. } => min,
        }
    }

    /// The mean size, in bytes.
    pub fn mean(self) -> f64 {
        match self {
            Self::Fixed(n) => f64::from(n),
            Self::Range { min, max, step } => {
                f64::from(min) + f64::from((max - min) / step) * f64::from(step) / 2.0
            }
        }
    }
}

/// Whose sequential position an operation continues from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cursor {
    /// One position for all operations of a worker on an extent (Vdbench, Iometer).
    Shared,
    /// Reads, writes and trims each have their own (fio).
    PerKind,
}

/// Where random operations go within an extent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Every block alike.
    Uniform,
    /// Zipf: the block of rank r with probability ∝ r^−theta; ranks are scattered over the extent.
    Zipf {
        /// > 0 and ≠ 1.
        theta: f64,
    },
    /// Self-similar (fio `pareto:h`): ⌊n·u^(log h / log(1−h))⌋, scattered over the extent.
    Pareto {
        /// 0 < h < 1.
        h: f64,
    },
    /// A Zipf or Pareto distribution whose most popular block is not anywhere.
    Centered {
        /// The distribution.
        of: Box<Distribution>,
        /// How far into the extent that block is, 0 to 1; the order of the others is turned with it.
        center: f64,
    },
    /// Normal around the middle, with this standard deviation as a share of the extent.
    Normal {
        /// 0 < deviation ≤ 1.
        deviation: f64,
        /// Whether the blocks are scattered over the extent, so that the middle is anywhere (fio).
        #[serde(default)]
        scattered: bool,
    },
    /// Shares of the accesses to consecutive shares of the extent.
    Zoned(Vec<ZoneShare>),
    /// The same with zones of their own for reads, writes and trims, in this order; each has one at least.
    ZonedByKind([Vec<ZoneShare>; 3]),
    /// A share of the accesses to a share of the blocks, which are scattered over the extent; both 0 to 1.
    Hot(ZoneShare),
    /// Back to the block that so many different ones were touched after (LRU stack distance), by classes of distance; the
    /// rest of the accesses goes to blocks not touched for longer than any class says. Blocks are of one size.
    Reuse(Vec<ReuseClass>),
    /// The hierarchical reuse random walk of business applications (`SPC-1`): reads and writes drift over the extent.
    ReuseWalk,
    /// These blocks of the extent in turn, over and over.
    Listed {
        /// Numbers of blocks from the extent's start; at least one. One that the extent does not have is counted round.
        blocks: Vec<u64>,
        /// Whether each time round begins as many blocks further on as the list is long.
        advances: bool,
    },
}

/// One class of [`Distribution::Reuse`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReuseClass {
    /// Distances below this many blocks of one worker on one extent, not below those of the class before; all alike.
    pub blocks: u64,
    /// Share of the accesses, 0 to 1; all classes sum to 1 or less.
    pub share: f64,
}

/// One zone of [`Distribution::Zoned`] and [`Distribution::ZonedByKind`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ZoneShare {
    /// Share of the accesses, 0 to 1; all zones sum to 1.
    pub access: f64,
    /// Share of the extent, 0 to 1; all zones sum to 1.
    pub span: f64,
}

/// Whether random operations repeat a block before all were touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coverage {
    /// Each draw is independent.
    Independent,
    /// Every block exactly once per pass, in an order that a keyed permutation gives.
    OncePerPass,
    /// Every smallest block once per pass, kept in a map: a place that was touched is replaced by the next that was not,
    /// and an operation is cut where it would touch one again. Not for [`PassEnd::Anew`].
    Map,
}

/// What writes carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// Where the bytes come from.
    pub fill: Fill,
    /// How different one write is from the next.
    pub freshness: Freshness,
    /// Share of each `chunk` that compresses away (is constant: zeroes, or the pattern of [`Content::fill`]).
    #[serde(with = "wire::ratio")]
    pub compressible: Ratio,
    /// Piece inside which the compressible share holds, in bytes; at least 1.
    pub compress_chunk_bytes: u32,
    /// Share of writes that repeat the content of an earlier one.
    #[serde(with = "wire::ratio")]
    pub dedupable: Ratio,
    /// Which one.
    #[serde(default)]
    pub repeats: Repeats,
}

/// Which earlier content a repeating write carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// Any of the worker's earlier ones.
    #[default]
    Any,
    /// That of the worker's write before it.
    Last,
    /// One of the worker's first so many, those to come included; at least 1.
    Of(u64),
}

/// Where written bytes come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Pseudo-random, incompressible.
    Random,
    /// All zero.
    Zero,
    /// These bytes repeated; not empty. They are the compressible share alone where there is one, and the rest is random.
    Pattern(Vec<u8>),
}

/// How different one write is from the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// New content for every write.
    Every,
    /// The same content with a few bytes changed in every 512 (fio's default).
    Scrambled,
    /// The same content always.
    Never,
}

/// Synchronising operations a worker issues in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncRule {
    /// `fsync(2)` after this many writes.
    pub fsync_every: Quota,
    /// `fdatasync(2)` after this many writes.
    pub fdatasync_every: Quota,
    /// `sync_file_range(2)` after this many writes, from the first byte written since the last one to the last.
    #[serde(default)]
    pub range_every: Quota,
    /// How it is called.
    #[serde(default)]
    pub range: RangeSync,
    /// `fsync(2)` of each file when the stream has ended.
    pub fsync_at_end: bool,
    /// `syncfs(2)` of each filesystem when the stream has ended.
    #[serde(default)]
    pub syncfs_at_end: bool,
}

/// The flags of `sync_file_range(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RangeSync {
    /// Waits first for what is being written already.
    pub wait_before: bool,
    /// Begins to write what is dirty.
    pub write: bool,
    /// Waits for that.
    pub wait_after: bool,
}

/// When operations are due.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// A slot frees, the next operation goes.
    Closed {
        /// Pauses in between.
        think: Think,
    },
    /// An arrival process at a rate; operation k of the stream has its intended time from (start, rate, process, seed, k).
    Open {
        /// Operations per second of the whole stream, over all workers; > 0. With a course, its mean over the measure
        /// phase.
        rate: f64,
        /// How the arrivals are spaced.
        arrival: Arrival,
        /// How the rate changes from the stream's start on; the last piece's end rate holds ever after. Empty: not at
        /// all. Only with constant, Poisson and uniform arrivals.
        #[serde(default)]
        course: Vec<RatePiece>,
        /// What happens to arrivals that find no free slot.
        backlog: Backlog,
    },
}

/// Pauses in a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Think {
    /// None.
    None,
    /// After every so many operations the worker drains its queue and waits.
    Every {
        /// At least 1; `u64::MAX` where only time counts.
        operations: u64,
        /// How long it waits.
        pause_ns: u64,
        /// Whether they are counted when they are issued; else when they complete.
        #[serde(default)]
        by_issue: bool,
        /// Time of load after which it waits, whatever was done; `u64::MAX`: never.
        #[serde(default = "never")]
        after_ns: u64,
        /// First part of the pause, in which it keeps its CPU busy.
        #[serde(default)]
        spin_ns: u64,
    },
}

fn never() -> u64 {
    u64::MAX
}

impl Workload {
    /// Bytes from the start of an extent on in which operations begin: zones lead on through the room behind it.
    pub fn span(&self, extent: &Extent) -> u64 {
        let beyond = if self.zones == Zones::None { 0 } else { extent.room.0 };
        extent.length.0.saturating_add(beyond)
    }

    /// Bytes from the start of an extent on that operations reach into.
    pub fn reach(&self, extent: &Extent) -> u64 {
        self.span(extent).saturating_add(extent.room.0.min(u64::from(self.largest())))
    }

    /// Whether an operation of this kind may come, be it as the answer to another.
    pub fn may_issue(&self, kind: OperationKind) -> bool {
        let (is_own, replies) = (|case: &Case| case.kind == kind, &self.replies);
        let is_reply = |(case, &bytes): (&Case, &u32)| bytes > 0 && case.kind.opposite() == Some(kind);
        self.cases.iter().any(is_own)
            || self.cases.iter().zip(replies).any(is_reply)
            || self.trim_then_write && kind == OperationKind::Write
    }

    /// Bytes of the largest operation, replies among them.
    pub fn largest(&self) -> u32 {
        let cases = self.cases.iter().map(|case| case.size.largest());
        cases.chain(self.replies.iter().copied()).max().unwrap_or(1).max(1)
    }
}

impl Stream {
    /// Its pauses, whether or not it has a rate.
    pub fn think(&self) -> Think {
        match self.pacing {
            Pacing::Closed { think } => think,
            Pacing::Open { .. } => self.pauses.think,
        }
    }
}

/// A stretch of a rate that changes along a straight line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatePiece {
    /// How long it lasts.
    pub length_ns: u64,
    /// Operations per second of the whole stream at its start; 0 or more.
    pub from_per_s: f64,
    /// Operations per second of the whole stream at its end; 0 or more.
    pub to_per_s: f64,
}

/// Spacing of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// Every 1/rate seconds.
    Constant,
    /// Each kind of operations every so many seconds, from the start on: several may be due at once. Only with
    /// [`KindOrder::Even`].
    ByKind,
    /// Exponential gaps with mean 1/rate.
    Poisson,
    /// Gaps uniform between 0 and 2/rate (Vdbench).
    Uniform,
    /// Poisson while on, nothing while off, with exponential times in both; the rate while on makes the mean the rate.
    OnOff {
        /// Mean time on; at least 1.
        on_ns: u64,
        /// Mean time off.
        off_ns: u64,
    },
    /// The sum of sources as above whose times in both have a Pareto distribution: self-similar with the Hurst exponent
    /// (3 − shape) / 2.
    ParetoOnOff {
        /// Above 1, below 2.
        shape: f64,
        /// Mean time on of one source; at least 1.
        on_ns: u64,
        /// Mean time off of one source.
        off_ns: u64,
        /// How many; at least 1.
        sources: u32,
    },
    /// The b-model: each half of a window gets the share `bias` of its operations or the rest, and so on down 16 levels.
    BModel {
        /// 0.5 (even) or more, below 1.
        bias: f64,
        /// The window; every one has rate × window operations. At least 65,536.
        window_ns: u64,
    },
    /// When the stream's trace says.
    Traced {
        /// How much faster its time goes; above 0.
        speed: f64,
    },
}

/// What happens to arrivals that find no free slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backlog {
    /// They wait and are issued as soon as a slot frees, with their intended time kept.
    Keep,
    /// As many as this wait in all workers together, each of which has its part of them, which may be none; beyond, the one that
    /// has waited longest is given up and counted.
    DropBeyond(u64),
}

/// What an I/O error does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorPolicy {
    /// The first error stops the run.
    Stop,
    /// Errors are counted and the run goes on until one stream has this many.
    CountUpTo(u64),
}
