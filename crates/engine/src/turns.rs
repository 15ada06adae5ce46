//! Locks on files between the workers that ask for them. A worker takes them between operations and blocks until it has
//! them; it knows nothing of what is done meanwhile.

use fathom_schema::{FileLock, OperationKind, Stream, WorkerPlan};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// One lock per target of the step.
pub(crate) type TargetLocks = Vec<RwLock<()>>;

/// A lock that is held.
#[derive(Debug)]
#[expect(dead_code, reason = "held, and given back when dropped")]
pub(crate) enum Held<'a> {
    Shared(RwLockReadGuard<'a, ()>),
    Alone(RwLockWriteGuard<'a, ()>),
}

/// The locks of one worker: on the targets of its extents, each once, in the order of the targets, which all workers
/// keep, so that none waits for another in a circle.
#[derive(Debug)]
pub(crate) struct FileLocks<'a> {
    locks: Vec<&'a RwLock<()>>,
    /// By extent: which of `locks`.
    of_extent: Vec<usize>,
    alone: bool,
    held: Vec<Held<'a>>,
}

impl<'a> FileLocks<'a> {
    /// The locks of a worker of `stream`; `None` when it asks for none.
    pub(crate) fn new(stream: &Stream, plan: &WorkerPlan, all: &'a TargetLocks) -> Option<Self> {
        let changes = stream.workload.trim_then_write
            || stream.workload.cases.iter().any(|case| case.kind != OperationKind::Read);
        let alone = match stream.lock {
            FileLock::None => return None,
            FileLock::Exclusive => true,
            FileLock::ReadWrite => changes,
        };
        let mut targets: Vec<usize> = plan.extents.iter().map(|extent| extent.target as usize).collect();
        targets.sort_unstable();
        targets.dedup();
        let place = |target: u32| targets.binary_search(&(target as usize)).expect("it is among them");
        Some(Self {
            of_extent: plan.extents.iter().map(|extent| place(extent.target)).collect(),
            locks: targets.iter().map(|&target| &all[target]).collect(),
            alone,
            held: Vec::with_capacity(targets.len()),
        })
    }

    /// Takes the lock of one extent for an operation of this kind.
    pub(crate) fn take(&mut self, extent: u32, kind: OperationKind, mode: FileLock) {
        let lock = self.locks[self.of_extent[extent as usize]];
        let alone = mode == FileLock::Exclusive || kind != OperationKind::Read;
        self.held.push(taken(lock, alone));
    }

    /// Takes all.
    pub(crate) fn take_all(&mut self) {
        for lock in &self.locks {
            self.held.push(taken(lock, self.alone));
        }
    }

    /// Gives all back.
    pub(crate) fn give_back(&mut self) {
        self.held.clear();
    }
}

fn taken(lock: &RwLock<()>, alone: bool) -> Held<'_> {
    // There is nothing behind the lock that a panic could have left half-done.
    if alone {
        Held::Alone(lock.write().unwrap_or_else(PoisonError::into_inner))
    } else {
        Held::Shared(lock.read().unwrap_or_else(PoisonError::into_inner))
    }
}
