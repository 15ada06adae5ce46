//! Keeps a CPU busy and moves nothing: load beside that of storage.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait};
use crate::clock::monotonic;
use fathom_schema::{EngineKind, OperationKind};
use fathom_units::Nanos;

/// Numbers that are sorted at a time: some 20 µs of work, so that a chunk ends about when it should.
const NUMBERS: usize = 1024;

/// Spins, or sorts, for a while in each operation.
#[derive(Debug)]
pub struct Spin {
    chunk: Nanos,
    /// What is sorted; empty where nothing is.
    numbers: Vec<u32>,
    done: Completion,
    waiting: bool,
}

impl Spin {
    /// One that spins so long for each operation, or sorts numbers for so long.
    pub fn new(chunk: Nanos, sorts: bool) -> Self {
        Self {
            chunk,
            numbers: vec![0; if sorts { NUMBERS } else { 0 }],
            done: Completion::default(),
            waiting: false,
        }
    }
}

/// Fills the numbers with others and sorts them. Marsaglia's xorshift, started at one of them: what they are is all one as
/// long as they are in no order.
fn sort_anew(numbers: &mut [u32]) {
    let mut state = numbers[numbers.len() / 2] | 1;
    for number in &mut *numbers {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *number = state;
    }
    numbers.sort_unstable();
    std::hint::black_box(numbers);
}

impl Engine for Spin {
    const SYNCHRONOUS: bool = EngineKind::Spin { chunk_ns: 0, sorts: false }.is_synchronous();
    const INSTANT: bool = false;
    const BYTELESS: bool = true;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            name: EngineKind::Spin { chunk_ns: 0, sorts: false }.name(),
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
                if self.numbers.is_empty() {
                    std::hint::spin_loop();
                } else {
                    sort_anew(&mut self.numbers);
                }
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
