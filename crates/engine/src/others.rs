//! Operations that depend on others, who may never do their part: what the loop of a synchronous engine does while one waits.

use crate::worker::{Slot, State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, EngineError, Operation, Wait};
use fathom_units::Nanos;
use rustix::io::Errno;

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// The rest of an operation that depends on others: it is pushed again until it has ended, with whatever falls due
    /// meanwhile; the end of the load gives it up, and it counts for nothing.
    #[inline(never)]
    pub(crate) fn await_others(
        &mut self,
        operation: Operation,
        intended: Nanos,
        submitted: Nanos,
        now: Nanos,
    ) -> Result<Nanos, EngineError> {
        let mut now = now;
        while self.completions[0].result == -Errno::AGAIN.raw_os_error() {
            if self.needs_control(now) {
                self.control(now);
                if self.state == State::Drain {
                    return Ok(now);
                }
            }
            self.engine.push(&operation);
            self.engine.reap(Wait { min_complete: 1, timeout_ns: 0 }, &mut self.completions[..1])?;
            now = self.clock.now();
        }
        let result = self.completions[0].result;
        if result == 0 && !E::BYTELESS {
            // The other end has nothing more: that is an end like any other.
            self.state = State::Drain;
            return Ok(now);
        }
        Ok(self.count(&Slot { operation, intended, submitted, accepted: submitted }, result, now))
    }
}
