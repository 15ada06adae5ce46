//! Syncs between a worker's operations and at its end. It does not know when operations go out.

use crate::worker::Worker;
use fathom_io::clock::Clock;
use fathom_io::{Engine, EngineError, Operation, Wait, range_flags};
use fathom_pattern::Planned;
use fathom_schema::{OperationKind, Pacing, Quota, Stream, SyncRule};
use fathom_units::Nanos;
use rustix::io::Errno;
use std::sync::atomic::Ordering;

/// How long the sync at a stream's end may go on once the run was interrupted: what is in memory may be minutes of work for a slow device,
/// which nobody waits for who has ended the run.
const SYNC_PATIENCE: Nanos = Nanos::secs(60);
/// How often it is looked whether it was.
const SYNC_LOOK: Nanos = Nanos::secs(1);

/// A range that holds nothing: from behind everything to its start.
const NOTHING_WRITTEN: (u64, u64) = (u64::MAX, 0);

/// A sync that became due.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingSync {
    target: u32,
    data_only: bool,
    offset: u64,
    length: u32,
    range_flags: u32,
}

impl PendingSync {
    /// Of a whole target. `offset` is where the operation before it went, which logs tell; the sync does not heed it.
    fn whole(target: u32, data_only: bool, offset: u64) -> Self {
        Self { target, data_only, offset, length: 0, range_flags: 0 }
    }

    pub(crate) fn operation(self, slot: u32) -> Operation {
        let Self { target, data_only, offset, length, range_flags } = self;
        Operation { slot, kind: OperationKind::Sync, target, offset, length, data_only, range_flags }
    }
}

/// Whether syncs come between the operations of a stream.
pub(crate) fn come_between(stream: &Stream) -> bool {
    let SyncRule { fsync_every, fdatasync_every, range_every, range: _, fsync_at_end: _, syncfs_at_end: _ } =
        stream.workload.sync;
    [fsync_every, fdatasync_every, range_every] != [Quota::Unlimited; 3]
}

/// A worker's writes counted down to their next syncs.
#[derive(Debug)]
pub(crate) struct Syncs {
    rule: SyncRule,
    /// Whether any come at all.
    pub(crate) come: bool,
    /// Writes left until the next sync of each kind.
    until_full: u64,
    until_data: u64,
    until_range: u64,
    /// By extent: first byte and end of what was written since its last sync of a range.
    written: Vec<(u64, u64)>,
    /// The sync that became due and has not gone out.
    pub(crate) pending: Option<PendingSync>,
    /// Whether nothing went out after the last one, which was of all of a target.
    is_last: bool,
}

impl Syncs {
    /// Those of a worker of `stream` with so many extents.
    pub(crate) fn new(stream: &Stream, extents: usize) -> Self {
        let rule = stream.workload.sync;
        let every = |quota: Quota| if let Quota::AtMost(n) = quota { n } else { u64::MAX };
        Self {
            come: come_between(stream),
            until_full: every(rule.fsync_every),
            until_data: every(rule.fdatasync_every),
            until_range: every(rule.range_every),
            written: vec![NOTHING_WRITTEN; extents],
            pending: None,
            is_last: false,
            rule,
        }
    }

    /// The sync that became due, to be issued.
    pub(crate) fn take(&mut self) -> Option<PendingSync> {
        let pending = self.pending.take();
        self.is_last |= pending.is_some_and(|sync| !sync.data_only && sync.range_flags == 0);
        pending
    }

    /// Counts a write down to the next sync, which then goes before anything else. One that falls due at the very
    /// last write is not issued, as with fio; `fsync_at_end` is for that.
    #[inline]
    pub(crate) fn note(&mut self, planned: &Planned) {
        self.is_last = false;
        if planned.kind != OperationKind::Write || !self.come {
            return;
        }
        let SyncRule { fsync_every, fdatasync_every, range_every, range, fsync_at_end: _, syncfs_at_end: _ } =
            self.rule;
        let written = &mut self.written[planned.extent as usize];
        *written = (written.0.min(planned.offset), written.1.max(planned.offset + u64::from(planned.length)));
        let due = |left: &mut u64, every: Quota| match every {
            Quota::AtMost(n) => {
                *left -= 1;
                let is_due = *left == 0;
                if is_due {
                    *left = n;
                }
                is_due
            }
            Quota::Unlimited => false,
        };
        // Of several that fall due together the most thorough goes.
        if due(&mut self.until_range, range_every) {
            let (offset, end) = std::mem::replace(written, NOTHING_WRITTEN);
            let length = u32::try_from(end - offset).unwrap_or(0); // 0: to the end of the file
            let range_flags = range_flags(range);
            self.pending =
                Some(PendingSync { target: planned.extent, data_only: false, offset, length, range_flags });
        }
        for (left, every, data_only) in
            [(&mut self.until_data, fdatasync_every, true), (&mut self.until_full, fsync_every, false)]
        {
            if due(left, every) {
                self.pending = Some(PendingSync::whole(planned.extent, data_only, planned.offset));
            }
        }
    }
}

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Syncs all targets when the load is over, if it is to. As with fio that is a part of the load where there were writes, and comes
    /// before they are read back: they are on the medium when the measured time ends. Returns that end; `None` where it stays as it
    /// is, such as that of a rate, which is about the time asked for.
    pub(crate) fn sync_at_end(&mut self) -> Option<Nanos> {
        if !self.stream.workload.sync.fsync_at_end {
            return None;
        }
        let writes = self.stream.workload.cases.iter().any(|case| case.kind == OperationKind::Write);
        // As with fio a sync is followed by no other. Of several targets it may have been another's, and of several operations at a time
        // some may have been under way.
        if !(self.syncs.is_last && self.targets == 1 && self.stream.queue_depth == 1) {
            self.sync_all_targets(writes);
        }
        (writes && matches!(self.stream.pacing, Pacing::Closed { .. })).then(|| self.clock.now())
    }

    /// Syncs all targets, one after the other; an error counts as one of the load. `is_of_load`: whoever wants to know what is
    /// issued hears of it.
    pub(crate) fn sync_all_targets(&mut self, is_of_load: bool) {
        let targets = u32::try_from(self.targets).expect("extents are counted in 32 bits");
        for target in 0..targets {
            let operation = PendingSync::whole(target, false, 0).operation(0);
            if is_of_load {
                self.tell_of(&operation);
            }
            self.engine.push(&operation);
            let outcome = self.await_sync();
            if let Ok(Some(result)) = outcome
                && result >= 0
            {
                continue;
            }
            let errno = match outcome {
                Ok(Some(result)) => -result,
                Ok(None) => Errno::TIMEDOUT.raw_os_error(),
                Err(_) => Errno::IO.raw_os_error(),
            };
            self.account_error(errno, operation);
            if !matches!(outcome, Ok(Some(_))) {
                // Its slot may still be the kernel's.
                return;
            }
        }
    }

    /// Submits the only operation there is and waits for its end; `None` when the run was interrupted and that takes too long.
    fn await_sync(&mut self) -> Result<Option<i32>, EngineError> {
        self.engine.submit()?;
        let mut deadline = Nanos::NEVER;
        loop {
            let one = Wait { min_complete: 1, timeout_ns: SYNC_LOOK.0 };
            // A signal may have ended the wait.
            if self.engine.reap(one, &mut self.completions[..1])? == 1 {
                return Ok(Some(self.completions[0].result));
            }
            let now = self.clock.now();
            if self.shared.interrupted().load(Ordering::Relaxed) {
                deadline = deadline.min(now.after(SYNC_PATIENCE));
            }
            if now >= deadline {
                return Ok(None);
            }
        }
    }
}
