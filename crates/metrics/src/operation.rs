//! Single operations, for listeners that want each by itself. Owns what is kept of one, and memory for them that is there
//! before the start; does not know who listens.

use fathom_schema::OperationKind;
use fathom_units::Nanos;

/// One completed operation. Instants are since the step's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationRow {
    /// What it did.
    pub kind: OperationKind,
    /// It read back what had been written.
    pub reads_back: bool,
    /// The I/O priority that it alone was given, as `ioprio_set(2)` has it; 0: that of its thread.
    pub priority: u16,
    /// Bytes it moved.
    pub bytes: u32,
    /// Number of its target in the step.
    pub target: u32,
    /// First byte in its file or device.
    pub offset: u64,
    /// When it was to begin; without a rate the same as `submitted`.
    pub intended: Nanos,
    /// When it was handed to the engine.
    pub submitted: Nanos,
    /// When the kernel had taken it; with a synchronous engine the same as `submitted`.
    pub accepted: Nanos,
    /// When it had completed.
    pub completed: Nanos,
}

/// One operation as it was issued, whatever became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssuedRow {
    /// When, since the step's start.
    pub at: Nanos,
    /// What it does.
    pub kind: OperationKind,
    /// A sync of data without what is only known about it.
    pub data_only: bool,
    /// A sync of a range.
    pub is_ranged: bool,
    /// Index into the worker's extents.
    pub extent: u32,
    /// First byte in its file or device.
    pub offset: u64,
    /// Bytes that it is to move.
    pub length: u32,
}

/// Room for a fixed number of operations. A copy has the same room.
#[derive(Debug)]
pub(crate) struct Rows(Vec<OperationRow>);

impl Rows {
    pub(crate) fn with_room_for(rows: usize) -> Self {
        Self(Vec::with_capacity(rows))
    }

    /// Operations that fit.
    pub(crate) fn room(&self) -> usize {
        self.0.capacity()
    }

    /// Adds one. There has to be room: the caller hands the cell over when it is full.
    #[inline]
    pub(crate) fn push(&mut self, row: OperationRow) {
        debug_assert!(self.0.len() < self.0.capacity(), "a full cell is handed over");
        self.0.push(row);
    }

    pub(crate) fn all(&self) -> &[OperationRow] {
        &self.0
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Clone for Rows {
    fn clone(&self) -> Self {
        let mut rows = Vec::with_capacity(self.0.capacity());
        rows.extend_from_slice(&self.0);
        Self(rows)
    }
}
