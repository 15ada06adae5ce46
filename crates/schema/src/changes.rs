//! What a stream changes of what it is aimed at, which decides how that is opened, held and judged.

use crate::{OperationKind, Replay, Stream};

/// Files and devices that are only read and that a run shows to other runs as being read, each with a descriptor of its own.
/// Beyond, thousands of descriptors would be taken for a word to somebody who is hardly ever there.
pub const SHOWN_AS_READ_MAX: usize = 1024;

impl Stream {
    /// Whether it writes or trims anything.
    pub fn changes(&self) -> bool {
        if let Some(operation) = self.engine.kind.of_names() {
            return operation.removes();
        }
        let workload = &self.workload;
        let mut cases = workload.cases.iter();
        workload.verification.lets_write()
            && (workload.trim_then_write
                || cases.any(|case| matches!(case.kind, OperationKind::Write | OperationKind::Trim)))
    }

    /// Whether it writes or trims this target of the step: of the files of a trace, some may be read only.
    pub fn changes_target(&self, target: usize) -> bool {
        let is_only_read = |replay: &Replay| replay.only_read.iter().any(|&read| read as usize == target);
        self.changes() && !self.trace.as_ref().is_some_and(is_only_read)
    }
}
