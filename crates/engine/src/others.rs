//! Operations that depend on others, who may never do their part: what the loop of a synchronous engine does while one waits.

use crate::worker::{Slot, State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, EngineError, Operation, Wait};
use fathom_units::Nanos;
use rustix::io::Errno;

/// How long a connection that cannot be opened is tried again: an end that is busy for longer has gone.
const PATIENCE: Nanos = Nanos::secs(5);
/// Pause between two such attempts.
const RETRY: Nanos = Nanos::millis(1);

/// A connection that is opened anew after so many operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    /// 0: it is opened and closed, and nothing else.
    operations: u64,
    /// How many are left to do before it is closed.
    left: u64,
    /// When it began to be opened; the first of a load is open when that begins.
    opened: Option<Nanos>,
}

impl Connection {
    pub(crate) fn of(operations: u64) -> Self {
        Self { operations, left: operations, opened: None }
    }

    /// Whether connections are all that there is to do.
    pub(crate) fn is_all(&self) -> bool {
        self.operations == 0
    }
}

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
        // Who listens and ends first resets a connection that it has not taken up.
        let is_reset = self.connection.is_some()
            && [Errno::CONNRESET, Errno::PIPE].iter().any(|errno| result == -errno.raw_os_error());
        if (result == 0 || is_reset) && !E::BYTELESS {
            // The other end has nothing more: that is an end like any other.
            self.state = State::Drain;
            return Ok(now);
        }
        let now = self.count(&Slot { operation, intended, submitted, accepted: submitted }, result, now);
        if let Some(connection) = &mut self.connection {
            connection.left = connection.left.saturating_sub(1);
            if connection.left == 0 {
                return self.connect_anew(now);
            }
        }
        Ok(now)
    }

    /// Opens and closes connections until the end of the load.
    pub(crate) fn only_connect(&mut self, now: Nanos) -> Result<(), EngineError> {
        let mut now = now;
        while self.state != State::Drain {
            now = self.connect_anew(now)?;
            if self.needs_control(now) {
                self.control(now);
            }
        }
        Ok(())
    }

    /// Closes the connection, counts it, and opens the next one; the end of the load gives that up.
    fn connect_anew(&mut self, now: Nanos) -> Result<Nanos, EngineError> {
        self.engine.part();
        let closed = self.clock.now();
        let Some(connection) = &mut self.connection else { return Ok(closed) };
        let opened = connection.opened.replace(closed).unwrap_or(self.times.start);
        connection.left = connection.operations;
        // As operations: what began in the ramp is in no figure of the measurement.
        if self.state == State::Ramp || opened >= self.times.measure_start {
            self.recorder.cell.record_connection(closed.since(opened).0);
            self.last_completion = closed;
        }
        let mut now = closed.max(now);
        loop {
            if self.needs_control(now) {
                self.control(now);
            }
            if self.state == State::Drain {
                return Ok(now);
            }
            let mut tries = true;
            match self.engine.meet(&mut || std::mem::take(&mut tries)) {
                Ok(true) => return Ok(self.clock.now()),
                Ok(false) => {}
                // The other end may be about to end, or not back at its place.
                Err(error) if self.clock.now().since(closed) > PATIENCE => return Err(error),
                Err(_) => {
                    let again = self.clock.now().after(RETRY);
                    self.wait_until(again.min(self.next_event));
                }
            }
            now = self.clock.now();
        }
    }
}
