//! A trace in memory: operations that somebody once issued, to be issued again in the same order, and when they were due.
//!
//! It reads what it is given, a line or an event at a time, and opens no file. Texts are in `iolog`, binary traces in
//! `blktrace`; both tell the `Gatherer` here, which applies what is asked of the trace.

mod blktrace;
mod iolog;

use crate::generator::Planned;
use fathom_schema::{OperationKind, TraceFact, TraceFile, TraceKind, TraceName, TraceRule};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead};
use std::sync::Arc;

/// Operations of one trace, at most: 1.5 GiB of them in memory.
pub const TRACE_OPERATIONS_MAX: u64 = 64 << 20;

/// Files and devices of one trace, at most; each is opened.
const FILES_MAX: usize = 1 << 16;

/// Faulty lines that are told one by one.
const FAULTS_TOLD: usize = 8;

/// Largest read or write: what one system call moves, rounded down to a power of two. Trims, which move nothing, go in parts of it.
const LENGTH_MAX: u32 = 1 << 30;

/// Why a trace cannot be replayed.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceError {
    /// It cannot be read.
    Read(io::Error),
    /// It is not what it should be; in words.
    Format(String),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => write!(f, "{error}"),
            Self::Format(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for TraceError {}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// What one operation of a trace does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Read,
    Write,
    Trim,
    Sync,
    DataSync,
}

impl Action {
    const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Trim, Self::Sync, Self::DataSync];

    fn kind(self) -> OperationKind {
        match self {
            Self::Read => OperationKind::Read,
            Self::Write => OperationKind::Write,
            Self::Trim => OperationKind::Trim,
            Self::Sync | Self::DataSync => OperationKind::Sync,
        }
    }
}

/// One operation in 24 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    due_ns: u64,
    offset: u64,
    length: u32,
    /// Index of the file, and in the lowest three bits that of the action.
    tag: u32,
}

/// The operations of a trace, those that are left out not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    entries: Vec<Entry>,
}

impl Trace {
    /// Reads a trace: its operations, and what there is to say of them. Text is told from a binary trace by its first bytes.
    pub fn read(input: &mut dyn BufRead, rule: &TraceRule) -> Result<(Self, TraceFact), TraceError> {
        let mut entries = Vec::new();
        let fact = read(input, rule, &mut |entry| entries.push(entry))?;
        entries.shrink_to_fit();
        Ok((Self { entries }, fact))
    }

    /// What there is to say of a trace, whose operations are not kept.
    pub fn look(input: &mut dyn BufRead, rule: &TraceRule) -> Result<TraceFact, TraceError> {
        read(input, rule, &mut |_| {})
    }

    /// How many operations it has.
    pub fn operations(&self) -> u64 {
        self.entries.len() as u64
    }

    /// When operation `index` is due, nanoseconds since the first line; `u64::MAX` behind the last one.
    pub fn due_ns(&self, index: usize) -> u64 {
        self.entries.get(index).map_or(u64::MAX, |entry| entry.due_ns)
    }
}

/// The operations of a trace, one after another.
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    trace: Arc<Trace>,
    next: usize,
    /// Whether all files are one.
    onto_one: bool,
}

impl Replayed {
    pub(crate) fn new(trace: Arc<Trace>, onto_one: bool) -> Self {
        Self { trace, next: 0, onto_one }
    }

    /// The next operation. A sync of data alone has [`Planned::DATA_ONLY`] as length.
    pub(crate) fn next(&mut self) -> Option<Planned> {
        let Entry { due_ns: _, offset, length, tag } = *self.trace.entries.get(self.next)?;
        self.next += 1;
        let action = Action::ALL[(tag & 7) as usize];
        let extent = if self.onto_one { 0 } else { tag >> 3 };
        let length = match action {
            Action::Read | Action::Write | Action::Trim => length,
            Action::Sync => 0,
            Action::DataSync => Planned::DATA_ONLY,
        };
        Some(Planned { kind: action.kind(), extent, offset, length })
    }

    pub(crate) fn begin_again(&mut self) {
        self.next = 0;
    }
}

/// When the operations of a trace are due.
#[derive(Debug, Clone)]
pub(crate) struct DueTimes {
    trace: Arc<Trace>,
    next: usize,
    /// How much faster its time goes.
    speed: f64,
}

impl DueTimes {
    pub(crate) fn new(trace: Arc<Trace>, speed: f64) -> Self {
        Self { trace, next: 0, speed }
    }

    /// The next one; stays at `u64::MAX` behind the last.
    #[inline]
    pub(crate) fn next_ns(&mut self) -> u64 {
        let due = self.trace.due_ns(self.next);
        self.next += 1;
        #[expect(clippy::float_cmp, reason = "what nobody changed is exactly 1")]
        if due == u64::MAX || self.speed == 1.0 {
            return due;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it saturates, and is never negative"
        )]
        let scaled = (due as f64 / self.speed) as u64;
        scaled
    }
}

fn read(
    input: &mut dyn BufRead,
    rule: &TraceRule,
    keep: &mut dyn FnMut(Entry),
) -> Result<TraceFact, TraceError> {
    let mut gatherer = Gatherer::new(rule, keep);
    let first = input.fill_buf()?;
    if first.is_empty() {
        return Err(TraceError::Format("it is empty".to_owned()));
    }
    match blktrace::order_of(first) {
        Some(order) => blktrace::read(input, order, &mut gatherer)?,
        None => iolog::read(input, &mut gatherer)?,
    }
    gatherer.finish()
}

/// What a trace calls a file, where it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called<'a> {
    Path(&'a str),
    Device(u32, u32),
}

impl Called<'_> {
    fn is(self, name: &TraceName) -> bool {
        match (self, name) {
            (Self::Path(path), TraceName::Path(known)) => path == known,
            (Self::Device(major, minor), TraceName::Device(other, of_it)) => {
                (major, minor) == (*other, *of_it)
            }
            _ => false,
        }
    }

    fn to_name(self) -> TraceName {
        match self {
            Self::Path(path) => TraceName::Path(path.to_owned()),
            Self::Device(major, minor) => TraceName::Device(major, minor),
        }
    }
}

const DAY_NS: u64 = 86_400 * 1_000_000_000;
/// How long after the start of a trace an operation is due at most. Published block traces last weeks.
const DUE_MAX_DAYS: u64 = 366;
const DUE_MAX_NS: u64 = DUE_MAX_DAYS * DAY_NS;

/// Takes operations as they are read, changes them as is asked, and sums them up.
struct Gatherer<'a> {
    rule: &'a TraceRule,
    keep: &'a mut dyn FnMut(Entry),
    fact: TraceFact,
    by_name: HashMap<TraceName, u32>,
    kinds: [Option<TraceKind>; OperationKind::COUNT],
    operations: u64,
    /// The file of the operation before, which is most often that of the next.
    last_file: u32,
    /// When what comes now is due.
    now_ns: u64,
    /// The time that the trace said last.
    last_stamp_ns: Option<u64>,
}

impl<'a> Gatherer<'a> {
    fn new(rule: &'a TraceRule, keep: &'a mut dyn FnMut(Entry)) -> Self {
        let fact = TraceFact {
            rule: rule.clone(),
            error: None,
            faults: Vec::new(),
            faults_total: 0,
            files: Vec::new(),
            kinds: Vec::new(),
            offset_granule: 0,
            span_ns: 0,
            depth: None,
            fingerprint: 0,
        };
        let kinds = [None; OperationKind::COUNT];
        Self {
            rule,
            keep,
            fact,
            by_name: HashMap::new(),
            kinds,
            operations: 0,
            last_file: 0,
            now_ns: 0,
            last_stamp_ns: None,
        }
    }

    /// Something is wrong with a line or an event, and nothing of it is replayed.
    fn fault(&mut self, place: &str, what: &str) {
        self.fact.faults_total += 1;
        if self.fact.faults.len() < FAULTS_TOLD {
            self.fact.faults.push(format!("{place}: {what}"));
        }
    }

    /// What comes now was logged at this time. Where times go back, as in a file that several jobs added to, nothing is
    /// waited for and the new times go on from here, as with fio.
    fn stamp(&mut self, stamp_ns: u64) -> Result<(), String> {
        let gap_ns = self.last_stamp_ns.map_or(0, |last| stamp_ns.saturating_sub(last));
        self.last_stamp_ns = Some(stamp_ns);
        self.wait_until(self.now_ns.saturating_add(gap_ns))
    }

    /// What comes now is due at this time. One that nobody lives to see is a slip, and nothing waits for it.
    fn wait_until(&mut self, due_ns: u64) -> Result<(), String> {
        if due_ns > DUE_MAX_NS {
            return Err(format!(
                "its time is {} days after the start, and has to be at most {DUE_MAX_DAYS}; correct or split the trace",
                due_ns / DAY_NS
            ));
        }
        self.now_ns = self.now_ns.max(due_ns);
        Ok(())
    }

    /// Takes one operation; `place` says where it is from.
    fn take(
        &mut self,
        name: Called<'_>,
        action: Action,
        offset: u64,
        length: u32,
        place: &dyn Fn() -> String,
    ) -> Result<(), TraceError> {
        let kind = action.kind();
        if self.rule.skips[kind.index()] {
            return Ok(());
        }
        let is_sync = kind == OperationKind::Sync;
        if !is_sync && length == 0 {
            self.fault(&place(), "an operation of 0 bytes");
            return Ok(());
        }
        if length > LENGTH_MAX && matches!(action, Action::Read | Action::Write) {
            self.fault(&place(), &format!("{length} bytes; one operation moves at most {LENGTH_MAX}"));
            return Ok(());
        }
        let offset = if is_sync { 0 } else { offset / self.rule.scale / self.rule.align * self.rule.align };
        let length = if is_sync { 0 } else { length };
        let end = offset.saturating_add(u64::from(length));
        if i64::try_from(end).is_err() {
            self.fault(&place(), "it ends beyond 2^63 bytes");
            return Ok(());
        }
        let file = self.file(name)?;
        // A result has a sign: what it cannot count goes in parts, as the kernel cuts trims itself.
        let (mut offset, mut left) = (offset, length);
        while left > LENGTH_MAX {
            self.add(file, action, offset, LENGTH_MAX)?;
            (offset, left) = (offset + u64::from(LENGTH_MAX), left - LENGTH_MAX);
        }
        self.add(file, action, offset, left)
    }

    /// Adds one operation that can be made.
    fn add(&mut self, file: u32, action: Action, offset: u64, length: u32) -> Result<(), TraceError> {
        let kind = action.kind();
        let is_sync = kind == OperationKind::Sync;
        let end = offset + u64::from(length);
        if self.operations == TRACE_OPERATIONS_MAX {
            let message = format!("it has more than {TRACE_OPERATIONS_MAX} operations; split it");
            return Err(TraceError::Format(message));
        }
        let of_file = &mut self.fact.files[file as usize];
        of_file.end = of_file.end.max(end);
        of_file.reads |= action == Action::Read;
        of_file.changes |= matches!(action, Action::Write | Action::Trim);
        if !is_sync {
            self.fact.offset_granule = greatest_common_divisor(self.fact.offset_granule, offset);
        }
        let of_kind = self.kinds[kind.index()].get_or_insert(TraceKind {
            kind,
            operations: 0,
            bytes: 0,
            smallest: length,
            largest: length,
            granule: length,
        });
        of_kind.operations += 1;
        of_kind.bytes = of_kind.bytes.saturating_add(u64::from(length));
        of_kind.smallest = of_kind.smallest.min(length);
        of_kind.largest = of_kind.largest.max(length);
        let granule = greatest_common_divisor(u64::from(of_kind.granule), u64::from(length));
        of_kind.granule = u32::try_from(granule).unwrap_or(length);
        self.operations += 1;
        self.fact.span_ns = self.now_ns;
        let tag = file << 3 | action as u32;
        let entry = Entry { due_ns: self.now_ns, offset, length, tag };
        self.fact.fingerprint = mixed(self.fact.fingerprint, &entry);
        (self.keep)(entry);
        Ok(())
    }

    fn file(&mut self, called: Called<'_>) -> Result<u32, TraceError> {
        if self.fact.files.get(self.last_file as usize).is_some_and(|file| called.is(&file.name)) {
            return Ok(self.last_file);
        }
        let name = called.to_name();
        if let Some(&known) = self.by_name.get(&name) {
            self.last_file = known;
            return Ok(known);
        }
        let index = self.fact.files.len();
        if index == FILES_MAX {
            return Err(TraceError::Format(format!("it has more than {FILES_MAX} files")));
        }
        self.fact.files.push(TraceFile { name: name.clone(), end: 0, reads: false, changes: false });
        let index = u32::try_from(index).expect("fewer than FILES_MAX");
        self.by_name.insert(name, index);
        self.last_file = index;
        Ok(index)
    }

    fn finish(self) -> Result<TraceFact, TraceError> {
        let Self { mut fact, kinds, .. } = self;
        fact.kinds = kinds.into_iter().flatten().collect();
        if fact.kinds.iter().all(|of| of.kind == OperationKind::Sync) {
            let why = fact.faults.first().map_or_else(String::new, |fault| format!("; {fault}"));
            return Err(TraceError::Format(format!("it has no read, write or trim to replay{why}")));
        }
        Ok(fact)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// A step of a multiply-xorshift hash (Steele, Lea and Flood, 2014, as in `SplitMix64`).
fn mixed(hash: u64, entry: &Entry) -> u64 {
    let Entry { due_ns, offset, length, tag } = *entry;
    [due_ns, offset, u64::from(length) << 32 | u64::from(tag)].into_iter().fold(hash, |hash, word| {
        let z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
mod tests;
