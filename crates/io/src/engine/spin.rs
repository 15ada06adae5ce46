//! Keeps a CPU busy and moves nothing: load beside that of storage.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait};
use crate::clock::monotonic;
use fathom_schema::{EngineKind, OperationKind};
use fathom_units::Nanos;

/// Spins for a while in each operation.
#[derive(Debug)]
pub struct Spin {
    chunk: Nanos,
    done: Completion,
    waiting: bool,
}

impl Spin {
    /// One that spins so long for each operation.
    pub fn new(chunk: Nanos) -> Self {
        Self { chunk, done: Completion::default(), waiting: false }
    }
}

impl Engine for Spin {
    const SYNCHRONOUS: bool = EngineKind::Spin { chunk_ns: 0 }.is_synchronous();
    const INSTANT: bool = false;
    const BYTELESS: bool = true;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: EngineKind::Spin { chunk_ns: 0 }.name(),
            virtual_time: false,
            features: Vec::new(),
        }
    }

    fn open(&mut self, _: Setup) -> Result<(), EngineError> {
        Ok(())
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        if operation.kind != OperationKind::Sync {
            let end = monotonic().after(self.chunk);
            while monotonic() < end {
                std::hint::spin_loop();
            }
        }
        self.done = Completion { slot: operation.slot, result: 0 };
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

    fn close(&mut self) {}
}
