//! What is done with an operation before it goes out: its buffer gets what a write carries, and who wants to know of it is
//! told. Does not know when operations go out, nor what becomes of them.

use crate::worker::{State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, Operation};
use fathom_metrics::IssuedRow;
use fathom_pattern::Planned;
use fathom_schema::OperationKind;

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Makes ready what `operation` was planned as.
    #[inline(always)]
    pub(crate) fn fill(&mut self, planned: &Planned, operation: Operation) -> Operation {
        if self.fills { self.make_ready(planned, operation) } else { operation }
    }

    #[inline(always)]
    fn make_ready(&mut self, planned: &Planned, operation: Operation) -> Operation {
        let operation = if planned.kind == OperationKind::Sync {
            Operation { data_only: planned.length == Planned::DATA_ONLY, length: 0, ..operation }
        } else {
            operation
        };
        let told = operation;
        self.tell_of(&told);
        let slot = operation.slot;
        if self.verifier.is_some() {
            self.prepare_verified(slot, planned);
            return operation;
        }
        match planned.kind {
            OperationKind::Write => self.fill_write(slot, planned),
            OperationKind::Read => self.holds_content[slot as usize] = false,
            OperationKind::Trim | OperationKind::Sync => {}
        }
        operation
    }

    fn fill_write(&mut self, slot: u32, planned: &Planned) {
        let Some(filler) = &mut self.filler else { return };
        // A slot that took a read, or nothing yet, holds no content of ours.
        let holds = &mut self.holds_content[slot as usize];
        let anew = !filler.overwrites() && !std::mem::replace(holds, true);
        let length = if anew { self.buffers.slot_bytes() } else { planned.length as usize };
        self.buffers.fill(slot, length, |bytes| {
            if anew {
                filler.prepare(bytes);
            }
            filler.fill(&mut bytes[..planned.length as usize], planned.offset);
        });
    }

    /// Tells whoever wants to know that an operation goes out.
    #[inline]
    pub(crate) fn tell_of(&mut self, operation: &Operation) {
        if self.recorder.tells_of_issues() {
            self.tell(operation);
        }
    }

    #[cold]
    fn tell(&mut self, operation: &Operation) {
        let Operation { slot: _, kind, target, offset, length, data_only, range_flags } = *operation;
        let now = self.clock.now();
        let (at, is_ranged) = (now.since(self.times.step_start), range_flags != 0);
        let row = IssuedRow { at, kind, data_only, is_ranged, extent: target, offset, length };
        if self.recorder.issued(row) && self.state == State::Measure {
            let took = self.clock.now().since(now);
            self.recorder.waited = self.recorder.waited.after(took);
        }
    }
}
