//! The null engine: operations complete at once, nothing is moved. Shows the generator's own ceiling.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait};
use fathom_schema::EngineKind;

/// Completes at once without touching anything.
#[derive(Debug, Default)]
pub struct Null {
    done: Completion,
    waiting: bool,
}

impl Engine for Null {
    const SYNCHRONOUS: bool = EngineKind::Null.is_synchronous();
    const INSTANT: bool = true;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "null", virtual_time: false, features: Vec::new() }
    }

    fn open(&mut self, _: Setup) -> Result<(), EngineError> {
        Ok(())
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        debug_assert!(!self.waiting, "a synchronous engine has one operation in flight");
        #[expect(
            clippy::cast_possible_wrap,
            reason = "block sizes are below 2^31 where a result must carry them"
        )]
        let result = operation.length as i32;
        self.done = Completion { slot: operation.slot, result };
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
