//! `pread(2)`/`pwrite(2)`: one operation at a time, performed where it is pushed.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait, perform_now};
use fathom_schema::OperationKind;

/// `pread`/`pwrite`.
#[derive(Debug, Default)]
pub struct Psync {
    setup: Option<Setup>,
    done: Completion,
    waiting: bool,
}

impl Engine for Psync {
    const SYNCHRONOUS: bool = true;
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "psync", synchronous: true, virtual_time: false, features: "" }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.setup = Some(setup);
        Ok(())
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        debug_assert!(!self.waiting, "a synchronous engine has one operation in flight");
        let setup = self.setup.as_ref().expect("open is called before push");
        self.done = Completion { slot: operation.slot, result: perform(setup, operation) };
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
        self.setup = None;
    }
}

fn perform(setup: &Setup, operation: &Operation) -> i32 {
    let target = &setup.targets[operation.target as usize];
    let descriptor = target.descriptor();
    let offset = i64::try_from(operation.offset).unwrap_or(i64::MAX);
    let length = operation.length as usize;
    assert!(length <= setup.buffers.slot_bytes(), "an operation fits its slot");
    let moved = match operation.kind {
        OperationKind::Read => {
            let buffer = setup.buffers.lend(operation.slot);
            // SAFETY: the slot holds at least `length` bytes (asserted) and is lent to this call alone.
            unsafe { libc::pread64(descriptor, buffer.cast(), length, offset) }
        }
        OperationKind::Write => {
            let buffer = setup.buffers.lend(operation.slot);
            // SAFETY: as above; the call only reads the memory.
            unsafe { libc::pwrite64(descriptor, buffer.cast(), length, offset) }
        }
        OperationKind::Trim | OperationKind::Sync => return perform_now(target, operation),
    };
    setup.buffers.give_back(operation.slot);
    if moved < 0 {
        return -std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
    }
    i32::try_from(moved).unwrap_or(i32::MAX)
}
