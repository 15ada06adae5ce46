//! Verification on one worker: what its writes carry, which of them are to be read back, and looking at what came. It finds
//! the writes again by generating their sequence once more; where places are written twice, a table says which write was
//! the last. When anything is issued is not its concern.
//!
//! What happens at a mismatch or an error may allocate and write files: the run has failed its purpose by then.

use crate::caches::Pages;
use crate::worker::{FirstError, Worker};
use fathom_io::clock::Clock;
use fathom_io::thread::Usage;
use fathom_io::{Engine, OpenTarget, Operation};
use fathom_pattern::rng::{Purpose, Rng, derive};
use fathom_pattern::{Evidence, Expected, Generator, LastWrites, Mismatch, Planned, Stamper, Write};
use fathom_schema::{
    Ledger, MismatchKind, OperationKind, Protection, Quota, VerifyRule, VerifySchedule, WorkerPlan, Workload,
};
use fathom_units::Nanos;
use rustix::io::Errno;
use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::PathBuf;

/// Mismatches that a worker keeps with their evidence; further ones are counted. Enough to see a pattern in them.
const KEPT_MAX: usize = 16;
/// Writes of a worker that are put in the order of their places, at most: 100 MB. Longer rounds are read back as they were written.
const BY_PLACE_MAX: u64 = 1 << 22;
/// The same of those that there is memory for from the start on, 1.5 MB: a job may ask for a backlog that it never comes to.
const READY_MAX: u64 = 1 << 16;
/// Numbers added to the name of a dump that is taken, at most.
const DUMPS_OF_NAME: u32 = 1000;

/// Where the numbers of a ramp's writes begin: their data is not taken for that of any write that counts, neither by its seed
/// nor by the 16 bits of the number that a header has.
pub(crate) const RAMP_NUMBERS: u64 = 1 << 62 | 1 << 15;

/// A mismatch with its place.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Index into the worker's extents.
    pub(crate) extent: u32,
    /// First byte of the operation that was read.
    pub(crate) offset: u64,
    /// Its length.
    pub(crate) length: u32,
    pub(crate) mismatch: Mismatch,
    /// Files that the block was dumped to.
    pub(crate) dumps: Vec<String>,
}

/// What verification came to.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) elapsed: Nanos,
    pub(crate) checked: u64,
    pub(crate) superseded: u64,
    pub(crate) mismatches: [u64; MismatchKind::COUNT],
    /// The first of them.
    pub(crate) kept: Vec<Found>,
    /// Why blocks could not be dumped, the first time.
    pub(crate) dump_failure: Option<String>,
    /// Writes that were finished, from the first up to one that was not.
    pub(crate) finished: u64,
    /// The last ones that finished, by extent and offset.
    pub(crate) finished_last: VecDeque<(u32, u64)>,
}

/// Which writes are trimmed again.
struct Trimmed {
    /// The operations from the first write on that was not looked at yet.
    replay: Generator,
    /// Its number.
    next: u64,
    share: f64,
    seed: u64,
}

impl Trimmed {
    /// Whether a write is one of them.
    fn takes(&self, number: u64) -> bool {
        Rng::new(derive(self.seed, Purpose::Trim, number)).unit() < self.share
    }
}

/// A write that is to be read back.
#[derive(Debug, Clone, Copy)]
struct Unchecked {
    offset: u64,
    number: u64,
    extent: u32,
    length: u32,
}

const _: () = assert!(size_of::<Unchecked>() == 24, "so many of them are kept");

/// The state of verification of one worker.
pub(crate) struct Verifier {
    pub(crate) rule: VerifyRule,
    stamper: Stamper,
    last_writes: Option<LastWrites>,
    content_seed: u64,
    /// The operations from the oldest write on that was not read back yet.
    replay: Generator,
    /// How many of them were issued, and how many of those are writes.
    issued: u64,
    writes: u64,
    /// Number of the first of these writes, of the next one to come, and of the first of the round.
    oldest: u64,
    next: u64,
    round_first: u64,
    pub(crate) largest: u64,
    /// Whether nothing writes, so that every read is checked.
    reads_only: bool,
    /// Whether numbers and seeds of writes are compared: not where what an earlier run wrote is gone through for the first of several
    /// times, since what it wrote last is there.
    pub(crate) compares: bool,
    trimmed: Trimmed,
    /// Writes to be read back in the order of their places, the last of them first.
    by_place: Vec<Unchecked>,
    /// What the read in each slot has to find.
    expected: Vec<Option<Expected>>,
    /// Number of the write in each slot.
    number_in: Vec<u64>,
    /// Writes that failed and were not read back yet: what is at their places is not known.
    failed: BTreeSet<u64>,
    /// Some trim failed, so that what was to be trimmed may or may not be.
    has_failed_trims: bool,
    first_failed: u64,
    /// Files whose cached pages are dropped before they are read back.
    pub(crate) cached: Vec<Pages>,
    /// Names of the extents' targets, for dumps.
    names: Vec<PathBuf>,
    /// End of the measured time, without the phases of reading back between.
    pub(crate) measured_end: Option<Nanos>,
    /// How long the syncs took that rounds ended with.
    pub(crate) synced: Nanos,
    pub(crate) used: Usage,
    pub(crate) verified: Verified,
}

impl Verifier {
    /// One for the worker `plan`. `cached`: its targets, where their cached pages should not be what is read back.
    pub(crate) fn new(
        rule: &VerifyRule,
        workload: &Workload,
        plan: &WorkerPlan,
        worker_index: u32,
        depth: u32,
        cached: Vec<Pages>,
        names: Vec<PathBuf>,
    ) -> Self {
        let largest = workload.cases.iter().map(|case| case.size.largest()).max().unwrap_or(1);
        let last_writes = match rule.ledger {
            Ledger::NotNeeded => None,
            Ledger::Every(bytes) => {
                Some(LastWrites::new(&plan.extents, bytes, |extent| workload.reach(extent)))
            }
        };
        Self {
            stamper: Stamper::new(rule, &workload.content, worker_index),
            last_writes,
            content_seed: derive(plan.seed, Purpose::Content, u64::from(worker_index)),
            replay: Generator::new(workload, plan),
            trimmed: Trimmed {
                replay: Generator::new(workload, plan),
                next: 0,
                share: rule.trims.map_or(0.0, |trims| trims.share),
                seed: derive(plan.seed, Purpose::Trim, u64::from(worker_index)),
            },
            by_place: match rule.schedule {
                // Of a backlog they are put in order while the load goes on, where nothing may be asked of the allocator.
                VerifySchedule::Backlog { operations, batch, .. } if rule.by_place && batch >= operations => {
                    Vec::with_capacity(usize::try_from(batch.min(READY_MAX)).unwrap_or(0))
                }
                _ => Vec::new(),
            },
            issued: 0,
            writes: 0,
            oldest: 0,
            next: 0,
            round_first: 0,
            largest: u64::from(largest),
            reads_only: !workload.trim_then_write
                && workload.cases.iter().all(|case| case.kind == OperationKind::Read),
            compares: true,
            expected: vec![None; depth as usize],
            number_in: vec![0; depth as usize],
            failed: BTreeSet::new(),
            has_failed_trims: false,
            first_failed: u64::MAX,
            cached,
            names,
            measured_end: None,
            synced: Nanos::ZERO,
            used: Usage::default(),
            verified: Verified {
                kept: Vec::with_capacity(KEPT_MAX),
                finished_last: VecDeque::with_capacity(depth as usize),
                ..Verified::default()
            },
            rule: rule.clone(),
        }
    }

    fn write(&self, offset: u64, number: u64) -> Write {
        Write { offset, number, seed: derive(self.content_seed, Purpose::Content, number) }
    }

    /// The number of a write as the table of last writes has it: from 1 in each round.
    fn in_round(&self, number: u64) -> u32 {
        u32::try_from((number - self.round_first) % u64::from(u32::MAX) + 1).expect("a remainder of 32 bits")
    }

    /// Takes note of a write that came back. One that moved less than all of it is as good as failed: what lies there is
    /// known to nobody.
    fn note_end(&mut self, operation: &Operation, result: i32) {
        if i64::from(result) < i64::from(operation.length) {
            let number = self.number_in[operation.slot as usize];
            self.failed.insert(number);
            self.first_failed = self.first_failed.min(number);
            return;
        }
        let last = &mut self.verified.finished_last;
        if last.len() == self.expected.len() {
            last.pop_front();
        }
        last.push_back((operation.target, operation.offset));
    }

    /// What it all came to, with everything back that was issued.
    pub(crate) fn finish(self) -> Verified {
        // Whatever the ramp wrote is not counted.
        let finished = if self.next >= RAMP_NUMBERS { 0 } else { self.next.min(self.first_failed) };
        Verified { finished, ..self.verified }
    }

    /// Whether all writes have been gone through that are to be checked.
    pub(crate) fn is_through(&self) -> bool {
        matches!(self.rule.until, Quota::AtMost(writes) if self.next >= writes)
    }

    /// Takes note that the next pass begins, with all of the last one read back. To find its end, the sequence may have
    /// been asked for more than was issued; so it is taken over as it is now.
    pub(crate) fn begin_pass(&mut self, sequence: &Generator) {
        self.replay.clone_from(sequence);
        self.trimmed.replay.clone_from(sequence);
        self.trimmed.next = self.next;
    }

    /// Takes note that the targets were opened once more, as new files.
    pub(crate) fn reopened(&mut self, targets: &[OpenTarget]) -> std::io::Result<()> {
        if !self.cached.is_empty() {
            self.cached = Pages::of(targets)?;
        }
        Ok(())
    }

    /// Takes note of an operation that is issued; of a write, its number.
    pub(crate) fn note(&mut self, planned: &Planned) -> u64 {
        let Planned { kind, extent, offset, length } = *planned;
        self.issued += 1;
        if kind == OperationKind::Write {
            self.writes += 1;
            self.next += 1;
        }
        let number = self.next.wrapping_sub(1);
        let mark = match kind {
            OperationKind::Write => self.in_round(number),
            // What is trimmed is no longer what was written.
            OperationKind::Trim => 0,
            OperationKind::Read | OperationKind::Sync => return number,
        };
        if let Some(last) = &mut self.last_writes {
            last.note(extent, offset, length, mark);
        }
        number
    }

    /// Writes that were not read back yet.
    pub(crate) fn unchecked_writes(&self) -> u64 {
        self.writes + self.by_place.len() as u64
    }

    /// Leaves the writes so far alone.
    pub(crate) fn forget(&mut self) {
        self.number_from(self.next);
    }

    /// Numbers the writes to come, of which there are none yet.
    pub(crate) fn number_from(&mut self, number: u64) {
        (self.issued, self.writes) = (0, 0);
        (self.next, self.oldest, self.round_first, self.trimmed.next) = (number, number, number, number);
        self.failed.clear();
        self.by_place.clear();
        if let Some(last) = &mut self.last_writes {
            last.forget();
        }
    }

    /// The operations from the oldest write on that was not read back yet.
    pub(crate) fn sequence(&self) -> &Generator {
        &self.replay
    }

    /// Takes note that all of a round was read back, in this time.
    pub(crate) fn end_round(&mut self, took: Nanos) {
        self.verified.elapsed = self.verified.elapsed.after(took);
        self.round_first = self.next;
        self.by_place.clear();
        if let Some(last) = &mut self.last_writes {
            last.forget();
        }
    }

    /// Puts what there is to read back in order, where it is to be read by place: with what was put in order before and was not read.
    pub(crate) fn line_up(&mut self) {
        if self.rule.by_place && self.unchecked_writes() <= BY_PLACE_MAX {
            self.by_place.reserve_exact(usize::try_from(self.writes).unwrap_or(0));
            while let Some(unchecked) = self.next_unchecked() {
                self.by_place.push(unchecked);
            }
            self.by_place.sort_unstable_by_key(|one| Reverse((one.extent, one.offset)));
        }
    }

    /// The next write that is to be read back, into this slot.
    pub(crate) fn next_read(&mut self, slot: u32) -> Option<Planned> {
        let Unchecked { offset, number, extent, length } =
            self.by_place.pop().or_else(|| self.next_unchecked())?;
        let expected = Expected {
            offset,
            number: (self.compares && self.rule.checks_sequence).then_some(number),
            seed: (self.compares && self.rule.checks_seed).then_some(self.write(offset, number).seed),
            is_trimmed: self.is_trimmed(number),
        };
        self.expected[slot as usize] = Some(expected);
        Some(Planned { kind: OperationKind::Write, extent, offset, length })
    }

    /// Whether a write was trimmed again.
    fn is_trimmed(&self, number: u64) -> bool {
        number < self.trimmed.next && self.trimmed.takes(number)
    }

    /// The next write that is still to be read back.
    fn next_unchecked(&mut self) -> Option<Unchecked> {
        let mut one = [Planned::BLANK];
        while self.issued > 0 {
            let going = self.replay.fill(&mut one);
            assert!(going == 1, "an operation was issued that the sequence does not have");
            self.issued -= 1;
            let Planned { kind, extent, offset, length } = one[0];
            if kind != OperationKind::Write {
                continue;
            }
            let number = self.oldest;
            self.oldest += 1;
            self.writes -= 1;
            if self.failed.remove(&number) || matches!(self.rule.until, Quota::AtMost(n) if number >= n) {
                continue;
            }
            let mark = self.in_round(number);
            if self.last_writes.as_ref().is_some_and(|last| !last.is_last(extent, offset, length, mark)) {
                self.verified.superseded += 1;
                continue;
            }
            // Which of an earlier run's writes came so far as to be trimmed is not known; nor, of another than the last time, what came of
            // the place since.
            let may_be_trimmed = !self.rule.writes
                && (self.trimmed.takes(number) || !self.compares && self.rule.trims.is_some());
            let is_unknown = self.has_failed_trims || self.rule.trims.is_some_and(|trims| !trims.zeroes);
            if may_be_trimmed || is_unknown && self.is_trimmed(number) {
                continue;
            }
            return Some(Unchecked { offset, number, extent, length });
        }
        None
    }

    /// The next write that is to be trimmed.
    pub(crate) fn next_trimmed(&mut self) -> Option<Planned> {
        let mut one = [Planned::BLANK];
        while self.trimmed.next < self.next {
            self.trimmed.replay.fill(&mut one);
            let planned = one[0];
            if planned.kind != OperationKind::Write {
                continue;
            }
            let number = self.trimmed.next;
            self.trimmed.next += 1;
            // What was read back, or written over since, stays.
            if number < self.oldest || self.failed.contains(&number) || !self.trimmed.takes(number) {
                continue;
            }
            let (Planned { extent, offset, length, .. }, mark) = (planned, self.in_round(number));
            if self.last_writes.as_ref().is_none_or(|last| last.is_last(extent, offset, length, mark)) {
                return Some(planned);
            }
        }
        None
    }
}

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Takes note of an operation that goes out, and makes what a write carries.
    pub(crate) fn prepare_verified(&mut self, slot: u32, planned: &Planned) {
        let Some(verifier) = &mut self.verifier else { return };
        let number = verifier.note(planned);
        // Reads among writes look at what may be anything by now; those of a job that writes nothing are checked.
        let checks = verifier.reads_only;
        let offset = planned.offset;
        verifier.expected[slot as usize] =
            checks.then_some(Expected { offset, number: None, seed: None, is_trimmed: false });
        if planned.kind == OperationKind::Write {
            verifier.number_in[slot as usize] = number;
            let write = verifier.write(offset, number);
            let stamper = &verifier.stamper;
            self.buffers.fill(slot, planned.length as usize, |block| stamper.stamp(block, &write));
        }
    }

    /// Whether an operation reads something back that is to be checked.
    pub(crate) fn is_checked(&self, operation: &Operation) -> bool {
        let Some(verifier) = &self.verifier else { return false };
        operation.kind == OperationKind::Read && verifier.expected[operation.slot as usize].is_some()
    }

    /// Looks at what a read brought, where it is to be checked; takes note of writes that failed.
    pub(crate) fn examine(&mut self, operation: &Operation, result: i32) {
        let Some(verifier) = &mut self.verifier else { return };
        match operation.kind {
            OperationKind::Write => verifier.note_end(operation, result),
            OperationKind::Trim => verifier.has_failed_trims |= result < 0,
            OperationKind::Read | OperationKind::Sync => {}
        }
        if operation.kind != OperationKind::Read || result < 0 {
            return;
        }
        let Some(expected) = verifier.expected[operation.slot as usize].take() else { return };
        verifier.verified.checked += 1;
        let stamper = &verifier.stamper;
        let outcome = if result.unsigned_abs() < operation.length {
            Err(Box::new(Mismatch {
                kind: MismatchKind::Short,
                at: 0,
                length: operation.length,
                expected: Evidence::Number(u64::from(operation.length)),
                found: Evidence::Number(u64::from(result.unsigned_abs())),
            }))
        } else {
            self.buffers
                .fill(operation.slot, operation.length as usize, |block| stamper.check(block, &expected))
        };
        if let Err(mismatch) = outcome {
            self.mismatch(operation, &expected, &mismatch);
        }
    }

    #[cold]
    fn mismatch(&mut self, operation: &Operation, expected: &Expected, mismatch: &Mismatch) {
        let Some(verifier) = &mut self.verifier else { return };
        verifier.verified.mismatches[mismatch.kind.index()] += 1;
        let Operation { slot, target: extent, offset, length, .. } = *operation;
        if verifier.verified.kept.len() < KEPT_MAX {
            let mut dumps = Vec::new();
            if verifier.rule.dumps
                && let Err(error) = self.buffers.fill(slot, length as usize, |block| {
                    verifier.dump(extent, block, expected, mismatch, &mut dumps)
                })
            {
                verifier.verified.dump_failure.get_or_insert(error.to_string());
            }
            verifier.verified.kept.push(Found { extent, offset, length, mismatch: *mismatch, dumps });
        }
        // Where a file ends there is no content that could be wrong: an error of the read, as with fio, also for its jobs
        // that go on after what does not match.
        let is_short = mismatch.kind == MismatchKind::Short;
        let errno = if is_short { Errno::IO } else { Errno::ILSEQ }.raw_os_error();
        self.first_error.get_or_insert(FirstError { errno, operation: *operation, at_end: false });
        let Some(verifier) = &self.verifier else { return };
        if verifier.rule.fails || is_short {
            self.shared.fail_for_mismatch();
        }
        if verifier.rule.stops || is_short && !verifier.rule.fails {
            self.fail(self.stream.control.at_error);
            // Seen at once: no further operation goes out.
            self.next_event = Nanos::ZERO;
        }
    }
}

/// Writes a block to a new file of the current directory. Whatever has the name already, a target or somebody's data as
/// well as an earlier dump, is left as it is; the next free number is added to the name. Returns the name.
fn put(name: &str, block: &[u8]) -> std::io::Result<String> {
    let mut numbered = name.to_owned();
    let mut number = 0;
    loop {
        match File::create_new(&numbered) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && number < DUMPS_OF_NAME => {
                number += 1;
                numbered = format!("{name}.{number}");
            }
            created => return created?.write_all(block).map(|()| numbered),
        }
    }
}

impl Verifier {
    /// Writes what was read of the part that is wrong, and what should have been where that is known, into the current
    /// directory, as fio names them; `dumps` gets the names.
    fn dump(
        &self,
        extent: u32,
        block: &mut [u8],
        expected: &Expected,
        wrong: &Mismatch,
        dumps: &mut Vec<String>,
    ) -> std::io::Result<()> {
        let name = self.names[extent as usize].file_name().unwrap_or_default().to_string_lossy().into_owned();
        let has_header = self.rule.protection != Protection::Pattern;
        let ending = if has_header && wrong.kind.is_of_header() { "hdr_fail" } else { "received" };
        let (at, offset) = (wrong.at as usize, expected.offset + u64::from(wrong.at));
        let part = at..at + wrong.length as usize;
        dumps.push(put(&format!("{name}.{offset}.{ending}"), &block[part.clone()])?);
        // A pattern alone is the same of whatever write; where it was trimmed nothing of it is.
        if expected.is_trimmed {
            block.fill(0);
            dumps.push(put(&format!("{name}.{offset}.expected"), &block[part])?);
        } else if let Some(seed) = expected.seed.or((!has_header).then_some(0)) {
            let number = expected.number.unwrap_or(0);
            let write = Write { offset: expected.offset, number, seed };
            self.stamper.stamp(block, &write);
            dumps.push(put(&format!("{name}.{offset}.expected"), &block[part])?);
        }
        Ok(())
    }
}
