//! Calls on names: files and folders are made, asked about and removed, one per operation, and nothing is read or written.
//!
//! What a call leaves to be done, and the look that keeps it from removing what is not the target, are no part of its time.

use super::{
    Capabilities, Completion, Engine, EngineError, Operation, Setup, TargetHandle, TargetName, Wait,
    last_errno,
};
use fathom_schema::{EngineKind, NameOperation, OperationKind, StatCall};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;

/// What the modes of new files and folders are: nobody else's business.
const FILE_MODE: libc::c_uint = 0o600;
const FOLDER_MODE: libc::mode_t = 0o700;

/// Performs one call on a name for each operation.
#[derive(Debug)]
pub struct Names {
    call: NameOperation,
    setup: Option<Setup>,
    /// The file that was made last; closed when its making has been timed.
    made: Option<OwnedFd>,
    /// What is at the next name to be removed is something else than the target.
    is_other: bool,
    done: Completion,
    waiting: bool,
}

impl Names {
    /// One that makes this call.
    pub fn new(call: NameOperation) -> Self {
        Self { call, setup: None, made: None, is_other: false, done: Completion::default(), waiting: false }
    }

    fn name(&self, operation: &Operation) -> Option<&TargetName> {
        let setup = self.setup.as_ref().expect("open is called before push");
        match &setup.targets[operation.target as usize].handle {
            TargetHandle::Name(name) => Some(name),
            TargetHandle::File(_)
            | TargetHandle::BlockDevice { .. }
            | TargetHandle::Closed(_)
            | TargetHandle::Null
            | TargetHandle::Sim { .. }
            | TargetHandle::Peer(_) => None,
        }
    }

    fn perform(&mut self, operation: &Operation) -> i32 {
        let call = self.call;
        let is_other = self.is_other;
        if !matches!(operation.kind, OperationKind::Read | OperationKind::Write) {
            return -libc::EINVAL;
        }
        let Some(name) = self.name(operation) else { return -libc::EINVAL };
        let path = name.path.as_c_str();
        match call {
            NameOperation::CreateFile => match create(name) {
                Ok(file) => {
                    self.made = Some(file);
                    0
                }
                Err(errno) => -errno,
            },
            NameOperation::CreateFolder => {
                // SAFETY: the path is text that ends, and lives for the call.
                let made = unsafe { libc::mkdir(path.as_ptr(), FOLDER_MODE) };
                if made < 0 {
                    return -last_errno();
                }
                name.made.store(true, Ordering::Relaxed);
                0
            }
            NameOperation::StatFile(call) | NameOperation::StatFolder(call) => stat(path, call),
            // What came there since the target was opened is not the target.
            NameOperation::RemoveFile | NameOperation::RemoveFolder if is_other => -libc::ESTALE,
            NameOperation::RemoveFile => {
                // SAFETY: the path is text that ends, and lives for the call.
                let removed = unsafe { libc::unlink(path.as_ptr()) };
                if removed < 0 { -last_errno() } else { 0 }
            }
            NameOperation::RemoveFolder => {
                // SAFETY: the path is text that ends, and lives for the call.
                let removed = unsafe { libc::rmdir(path.as_ptr()) };
                if removed < 0 { -last_errno() } else { 0 }
            }
        }
    }
}

/// Opens a file, which is made when it is not there. What nobody has made before is made so that it is known whose it is.
fn create(name: &TargetName) -> Result<OwnedFd, i32> {
    let open = |flags: libc::c_int| {
        let flags = libc::O_CREAT | libc::O_RDWR | libc::O_CLOEXEC | flags;
        // SAFETY: the path is text that ends, and lives for the call.
        let opened = unsafe { libc::open64(name.path.as_ptr(), flags, FILE_MODE) };
        if opened < 0 {
            return Err(last_errno());
        }
        // SAFETY: the descriptor is new, and nobody else has it.
        Ok(unsafe { OwnedFd::from_raw_fd(opened) })
    };
    if name.there.is_some() || name.made.load(Ordering::Relaxed) {
        return open(0);
    }
    match open(libc::O_EXCL) {
        Ok(file) => {
            name.made.store(true, Ordering::Relaxed);
            Ok(file)
        }
        // Someone else was quicker.
        Err(libc::EEXIST) => open(0),
        Err(errno) => Err(errno),
    }
}

fn stat(path: &CStr, call: StatCall) -> i32 {
    let mut found = MaybeUninit::<libc::stat64>::uninit();
    let mut more = MaybeUninit::<libc::statx>::uninit();
    // SAFETY: the path is text that ends; the kernel writes what fits what it is given.
    let outcome = unsafe {
        match call {
            StatCall::Stat => libc::stat64(path.as_ptr(), found.as_mut_ptr()),
            StatCall::Lstat => libc::lstat64(path.as_ptr(), found.as_mut_ptr()),
            StatCall::Statx => {
                libc::statx(libc::AT_FDCWD, path.as_ptr(), 0, libc::STATX_ALL, more.as_mut_ptr())
            }
        }
    };
    if outcome < 0 { -last_errno() } else { 0 }
}

/// Filesystem and inode of what is at a path, a link itself; `None` when nothing can be seen there.
fn identity(path: &CStr) -> Option<(u64, u64)> {
    let mut found = MaybeUninit::<libc::stat64>::uninit();
    // SAFETY: the path is text that ends; the kernel writes one stat64 where there is room for it.
    let outcome = unsafe { libc::lstat64(path.as_ptr(), found.as_mut_ptr()) };
    if outcome < 0 {
        return None;
    }
    // SAFETY: the call succeeded and has filled it.
    let found = unsafe { found.assume_init() };
    Some((found.st_dev, found.st_ino))
}

impl Engine for Names {
    const SYNCHRONOUS: bool = EngineKind::Names(NameOperation::CreateFile).is_synchronous();
    const INSTANT: bool = false;
    const BYTELESS: bool = true;
    const HAS_ASIDES: bool = true;

    fn capabilities(&self) -> Capabilities {
        let features = match self.call {
            NameOperation::StatFile(call) | NameOperation::StatFolder(call) => match call {
                StatCall::Stat => vec!["stat"],
                StatCall::Lstat => vec!["lstat"],
                StatCall::Statx => vec!["statx"],
            },
            _ => Vec::new(),
        };
        Capabilities { name: self.call.name(), virtual_time: false, features }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.setup = Some(setup);
        Ok(())
    }

    #[inline]
    fn aside(&mut self, next: Option<&Operation>) {
        match next {
            None => self.made = None,
            Some(next) if self.call.removes() => {
                self.is_other = self
                    .name(next)
                    .is_some_and(|name| identity(&name.path).is_some_and(|now| name.there != Some(now)));
            }
            Some(_) => {}
        }
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        debug_assert!(!self.waiting, "a synchronous engine has one operation in flight");
        self.done = Completion { slot: operation.slot, result: self.perform(operation) };
        self.waiting = true;
    }

    #[inline]
    fn submit(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        if !std::mem::take(&mut self.waiting) {
            return Ok(0);
        }
        into[0] = self.done;
        Ok(1)
    }

    fn close(&mut self) {
        self.made = None;
        self.setup = None;
    }
}
