//! How a worker goes through its extents: in which order, to which end, how often. It does not know what the operations
//! are.

use crate::{EngineKind, Quota, Stream, Target, TargetKind, WorkerPlan};
use serde::{Deserialize, Serialize};

/// What happens where an extent has been gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PassEnd {
    /// It begins anew.
    #[default]
    Anew,
    /// Random places begin anew; sequential ones too where there is only one extent. Else it is done.
    Renew,
    /// It is done, and when all are, the pass is over. An operation that would pass the target's end ends its extent.
    Stop,
}

/// How often a worker goes through its extents, where [`PassEnd::Stop`] makes that a thing that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Passes {
    /// As often as the other limits allow.
    #[default]
    Endless,
    /// So often, and then again while too little was moved.
    Counted {
        /// At least 1.
        count: u64,
        /// Bytes after which a pass ends though its extents have not.
        bytes: u64,
        /// Further passes follow while a worker has moved less than this by a largest operation or more.
        at_least: u64,
    },
}

/// What a share or a rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counted {
    /// Operations, however large.
    #[default]
    Operations,
    /// The bytes of operations.
    Bytes,
}

/// Which kind an operation of a mix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KindOrder {
    /// Drawn by its share.
    #[default]
    Drawn,
    /// The one that is furthest behind its share. Not for [`PassEnd::Anew`].
    Even(Counted),
    /// Of reads and writes the kind that came last, until it has done as many as its share was of them when it took over; then
    /// drawn, by the numbers of a taus88 that begins with the low 32 bits of the worker's seed, or, of workers that share one, of a seed of its own: fio's rule, and its numbers.
    /// Not for [`PassEnd::Anew`].
    Redrawn {
        /// Share of reads, 1 to 99 %.
        read_percent: u32,
        /// Whether another pass goes on with the numbers of the one before; else each draws the same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        onward: bool,
    },
}

/// Where the operations of a run go after its first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// Each behind the one before it.
    #[default]
    Onward,
    /// To the same place again.
    Again,
}

/// Parts of an extent that are worked on one after another. Not for [`PassEnd::Anew`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Zones {
    /// The extent is one.
    #[default]
    None,
    /// In windows of `range` bytes that lie `skip` bytes apart: `size` bytes are moved in one, then in the next.
    Strided {
        /// At least 1.
        size: u64,
        /// At least the largest operation.
        range: u64,
        /// May be 0: the windows touch.
        skip: u64,
    },
}

/// Order in which a worker visits its extents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOrder {
    /// This many operations on each in turn; at least 1.
    RoundRobin(u32),
    /// One to its end, then the next.
    Sequential,
    /// One at random for every this many operations; at least 1.
    Random(u32),
    /// One for every so many operations, some more often than others. Not for [`PassEnd::Anew`]; its extents begin anew.
    Skewed {
        /// How often.
        by: FileSkew,
        /// Where the favourite is, as a share of the list.
        favourite: f64,
        /// At least 1.
        turns: u32,
    },
}

/// How often an extent is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSkew {
    /// The r-th with probability ∝ r^−theta.
    Zipf {
        /// > 0 and ≠ 1.
        theta: f64,
    },
    /// Self-similar: ⌊n·u^(log h / log(1−h))⌋.
    Pareto {
        /// 0 < h < 1.
        h: f64,
    },
    /// The mean of twelve uniform draws, moved by up to half of this share of the list to either side.
    Normal {
        /// 0 to 1.
        deviation: f64,
    },
}

/// Whether workers keep others off a file while they access it. It holds between streams that both ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLock {
    /// No.
    #[default]
    None,
    /// Everyone else.
    Exclusive,
    /// Reads keep writes and trims off, these keep off everything.
    ReadWrite,
}

impl Stream {
    /// How many of its files a worker has open at once, where those are fewer than it works on: as many as are in service, or
    /// in flight. Each is then opened for its turns. `targets`: those of the step.
    pub fn open_at_once(&self, worker: &WorkerPlan, targets: &[Target]) -> Option<u32> {
        let Quota::AtMost(most) = self.workload.extents_at_once else { return None };
        let takes_turns = match self.engine.kind {
            EngineKind::Psync
            | EngineKind::Sync
            | EngineKind::Vsync
            | EngineKind::Pvsync
            | EngineKind::Pvsync2(_)
            | EngineKind::Falloc
            | EngineKind::Ftruncate
            | EngineKind::Splice
            | EngineKind::IoUring(_)
            | EngineKind::Libaio(_) => !self.fresh_files && self.trace.is_none(),
            EngineKind::Null
            | EngineKind::Sim
            | EngineKind::Mmap { .. }
            | EngineKind::Names(_)
            | EngineKind::Net { .. }
            | EngineKind::Exec
            | EngineKind::Spin { .. } => false,
        };
        let is_file = |target: u32| {
            matches!(targets.get(target as usize), Some(Target { kind: TargetKind::File { .. }, .. }))
        };
        let most = most.max(u64::from(self.queue_depth));
        let is_fewer = most < worker.extents.len() as u64;
        let all_files = || worker.extents.iter().all(|extent| is_file(extent.target));
        (takes_turns && is_fewer && all_files()).then(|| u32::try_from(most).unwrap_or(u32::MAX))
    }
}
