//! Another engine whose files are too many to be all open: each is opened for its turns, and the one that was not used for
//! longest is closed for it.
//!
//! The engine below has as many targets as may be open at once. Which file is behind one of them changes: a new file is
//! opened and put under the same descriptor. It knows no order of files; who limits how many are in service keeps the
//! changes few.

use super::{
    Capabilities, Completion, Engine, EngineError, OpenTarget, Operation, Setup, TargetHandle, Wait,
    last_errno,
};
use crate::file::{advise, drop_clean, open_quietly};
use fathom_schema::Advice;
use std::ffi::CString;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// A file that is open only while it is used.
#[derive(Debug, Clone)]
pub struct ClosedFile {
    /// The path.
    pub path: CString,
    /// Flags for `open(2)`, of those that `O_CLOEXEC` is not.
    pub flags: i32,
    /// Filesystem and inode that have to be there.
    pub there: (u64, u64),
    /// What the kernel is told each time.
    pub advice: Advice,
    /// Whether its cached pages are dropped each time.
    pub drops_cache: bool,
}

impl ClosedFile {
    /// Opens it; the error number where that is not possible, or where another file is there (`ESTALE`).
    pub fn open(&self) -> Result<File, i32> {
        let opened = open_quietly(&self.path, self.flags)?;
        let mut found = MaybeUninit::<libc::stat64>::uninit();
        // SAFETY: the descriptor is open; the kernel writes one stat64 where there is room for it.
        if unsafe { libc::fstat64(opened.as_raw_fd(), found.as_mut_ptr()) } < 0 {
            return Err(last_errno());
        }
        // SAFETY: the call succeeded and has filled it.
        let found = unsafe { found.assume_init() };
        if (found.st_dev, found.st_ino) != self.there {
            return Err(libc::ESTALE);
        }
        if self.drops_cache {
            drop_clean(&opened);
        }
        advise(&opened, self.advice);
        Ok(opened)
    }
}

/// No place, no file, no operation.
const NONE: u32 = u32::MAX;

/// One of the descriptors.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The file that is open under it.
    file: u32,
    /// Operations that go there and have not ended.
    in_flight: u32,
    /// Its neighbours in the order of use, while nothing is in flight on it.
    before: u32,
    after: u32,
}

/// An engine with so many of its files open at once.
#[derive(Debug)]
pub struct FewOpen<E> {
    engine: E,
    most: u32,
    files: Box<[ClosedFile]>,
    /// By file: under which descriptor it is open.
    place_of: Box<[u32]>,
    places: Box<[Place]>,
    descriptors: Box<[i32]>,
    /// Those with nothing in flight, by their last use.
    least_recent: u32,
    most_recent: u32,
    /// By slot: where its operation goes, or the error with which its file could not be opened; nothing until it was looked at.
    turns: Box<[Option<Result<u32, i32>>]>,
    /// Ends of operations whose files could not be opened.
    failed: Vec<Completion>,
}

impl<E: Engine> FewOpen<E> {
    /// `engine` with at most `most` files open at once, which has to be as many as operations are in flight at least. All its
    /// targets are [`TargetHandle::Closed`].
    pub fn new(engine: E, most: u32) -> Self {
        Self {
            engine,
            most,
            files: Box::default(),
            place_of: Box::default(),
            places: Box::default(),
            descriptors: Box::default(),
            least_recent: NONE,
            most_recent: NONE,
            turns: Box::default(),
            failed: Vec::new(),
        }
    }

    /// Makes sure that the file of an operation is open, and stays so until it ends.
    fn take_turn(&mut self, operation: &Operation) -> Result<u32, i32> {
        let file = operation.target as usize;
        let at = match self.place_of[file] {
            NONE => self.exchange(operation.target)?,
            at => at,
        };
        if self.places[at as usize].in_flight == 0 {
            self.unlink(at);
        }
        self.places[at as usize].in_flight += 1;
        Ok(at)
    }

    /// Opens a file in the place of the one that was not used for longest.
    fn exchange(&mut self, file: u32) -> Result<u32, i32> {
        let opened = self.files[file as usize].open()?;
        let at = self.least_recent;
        assert!(at != NONE, "at least one more descriptor than other operations in flight");
        let descriptor = self.descriptors[at as usize];
        // SAFETY: both descriptors are open and ours; nothing is in flight on the one that changes. The file under it is
        // closed by this, and the new one stays open when `opened` goes.
        if unsafe { libc::dup3(opened.as_raw_fd(), descriptor, libc::O_CLOEXEC) } < 0 {
            return Err(last_errno());
        }
        let place = &mut self.places[at as usize];
        let gone = std::mem::replace(&mut place.file, file);
        if gone != NONE {
            self.place_of[gone as usize] = NONE;
        }
        self.place_of[file as usize] = at;
        self.engine.changed(at);
        Ok(at)
    }

    /// Takes a place out of the order of use.
    fn unlink(&mut self, at: u32) {
        let Place { before, after, .. } = self.places[at as usize];
        match before {
            NONE => self.least_recent = after,
            before => self.places[before as usize].after = after,
        }
        match after {
            NONE => self.most_recent = before,
            after => self.places[after as usize].before = before,
        }
    }

    /// Puts a place at the end of the order of use.
    fn append(&mut self, at: u32) {
        let before = std::mem::replace(&mut self.most_recent, at);
        match before {
            NONE => self.least_recent = at,
            before => self.places[before as usize].after = at,
        }
        let place = &mut self.places[at as usize];
        (place.before, place.after) = (before, NONE);
    }

    fn end_turn(&mut self, slot: u32) {
        if let Some(Ok(at)) = self.turns[slot as usize].take() {
            let place = &mut self.places[at as usize];
            place.in_flight -= 1;
            if place.in_flight == 0 {
                self.append(at);
            }
        }
    }
}

/// A descriptor that files are put under.
fn placeholder() -> Result<File, EngineError> {
    File::open("/dev/null").map_err(|error| EngineError::system("open", error))
}

impl<E: Engine> Engine for FewOpen<E> {
    const SYNCHRONOUS: bool = E::SYNCHRONOUS;
    const INSTANT: bool = false;
    const BYTELESS: bool = E::BYTELESS;
    const HAS_ASIDES: bool = true;

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.engine.capabilities();
        capabilities.features.push("files opened in turn");
        capabilities
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        let Setup { targets, queue_depth, buffers, seed } = setup;
        let (mut files, mut largest, mut trim_by) = (Vec::with_capacity(targets.len()), 0, None);
        for target in targets {
            let TargetHandle::Closed(file) = target.handle else {
                unreachable!("files that take turns are closed before");
            };
            files.push(file);
            largest = target.size.max(largest);
            trim_by = Some(target.trim_by);
        }
        let count = self.most.max(queue_depth) as usize;
        let mut open = Vec::with_capacity(count);
        for _ in 0..count {
            let handle = TargetHandle::File(placeholder()?);
            open.push(OpenTarget { handle, size: largest, trim_by: trim_by.unwrap_or_default() });
        }
        self.place_of = vec![NONE; files.len()].into();
        self.files = files.into();
        self.descriptors = open.iter().map(OpenTarget::descriptor).collect();
        self.places = vec![Place { file: NONE, in_flight: 0, before: NONE, after: NONE }; count].into();
        (self.least_recent, self.most_recent) = (NONE, NONE);
        (0..u32::try_from(count).unwrap_or(NONE)).for_each(|at| self.append(at));
        self.turns = vec![None; queue_depth as usize].into();
        self.failed = Vec::with_capacity(queue_depth as usize);
        self.engine.open(Setup { targets: open, queue_depth, buffers, seed })
    }

    fn is_as_asked(&self) -> bool {
        self.engine.is_as_asked()
    }

    fn push(&mut self, operation: &Operation) {
        self.aside(Some(operation));
        match self.turns[operation.slot as usize] {
            Some(Ok(target)) => self.engine.push(&Operation { target, ..*operation }),
            Some(Err(errno)) => self.failed.push(Completion { slot: operation.slot, result: -errno }),
            None => unreachable!("its turn was just taken"),
        }
    }

    /// Opening is no part of an operation's time.
    #[inline]
    fn aside(&mut self, next: Option<&Operation>) {
        if let Some(next) = next
            && self.turns[next.slot as usize].is_none()
        {
            self.turns[next.slot as usize] = Some(self.take_turn(next));
        }
    }

    fn rest(&mut self, operation: &Operation, moved: i32) -> i32 {
        self.aside(Some(operation));
        let whole = match self.turns[operation.slot as usize] {
            Some(Ok(target)) => self.engine.rest(&Operation { target, ..*operation }, moved),
            _ => moved,
        };
        self.end_turn(operation.slot);
        whole
    }

    fn priority_of(&self, slot: u32) -> u16 {
        self.engine.priority_of(slot)
    }

    fn submit(&mut self) -> Result<u32, EngineError> {
        self.engine.submit()
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        let mut found = 0;
        while found < into.len()
            && let Some(completion) = self.failed.pop()
        {
            into[found] = completion;
            found += 1;
        }
        let ended = u32::try_from(found).unwrap_or(u32::MAX);
        let wait = Wait { min_complete: wait.min_complete.saturating_sub(ended), ..wait };
        if found < into.len() {
            found += self.engine.reap(wait, &mut into[found..])?;
        }
        for completion in &into[..found] {
            self.end_turn(completion.slot);
        }
        Ok(found)
    }

    fn close(&mut self) {
        self.engine.close();
        self.descriptors = Box::default();
    }
}
