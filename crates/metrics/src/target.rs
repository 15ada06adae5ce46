//! What one worker counts in one interval on each of its targets, beside the whole. Owns memory for it that is there before
//! the start; does not know which operation goes where.

use crate::cell::KindCell;
use fathom_schema::{LatencySum, OperationKind, TargetTally};

/// What was counted of one kind on one target.
#[derive(Debug, Clone, Copy, Default)]
pub struct TargetCell {
    operations: u64,
    bytes: u64,
    errors: u64,
    service: LatencySum,
    response: LatencySum,
}

impl TargetCell {
    /// Counts one operation that moved `bytes` and took so many nanoseconds from its submission, and from its intended start.
    #[inline]
    pub fn record(&mut self, bytes: u64, service_ns: u64, response_ns: u64) {
        self.operations += 1;
        self.bytes += bytes;
        self.service.record(service_ns);
        self.response.record(response_ns);
    }

    /// Counts one failed operation.
    pub fn record_error(&mut self) {
        self.errors += 1;
    }

    fn is_empty(&self) -> bool {
        self.operations == 0 && self.errors == 0
    }
}

/// The targets that are told apart, in ascending order.
#[derive(Debug, Clone)]
pub(crate) enum TargetCells {
    /// None is.
    None,
    /// All that the worker does goes to this one.
    One(u32),
    /// Each by its number, with a part for every kind.
    Several(Box<[(u32, [TargetCell; OperationKind::COUNT])]>),
}

impl TargetCells {
    pub(crate) fn of(targets: &[u32]) -> Self {
        match *targets {
            [] => Self::None,
            [one] => Self::One(one),
            _ => Self::Several(targets.iter().map(|&target| (target, Default::default())).collect()),
        }
    }

    /// The part of a target, by its position among them, and kind; `None` where nothing is counted by target.
    #[inline]
    pub(crate) fn part(&mut self, position: usize, kind: OperationKind) -> Option<&mut TargetCell> {
        match self {
            Self::None | Self::One(_) => None,
            Self::Several(cells) => Some(&mut cells[position].1[kind.index()]),
        }
    }

    pub(crate) fn numbers(&self) -> Vec<u32> {
        match self {
            Self::None | Self::One(_) => Vec::new(),
            Self::Several(cells) => cells.iter().map(|(target, _)| *target).collect(),
        }
    }

    pub(crate) fn clear(&mut self) {
        if let Self::Several(cells) = self {
            cells.iter_mut().for_each(|(_, kinds)| *kinds = Default::default());
        }
    }

    /// The form that is stored; what one target alone has is what the whole cell has.
    pub(crate) fn to_tallies(&self, whole: &[(OperationKind, &KindCell)]) -> Vec<TargetTally> {
        let is_open =
            |kind: OperationKind| whole.iter().any(|(known, cell)| *known == kind && cell.response.is_some());
        match self {
            Self::None => Vec::new(),
            Self::One(target) => whole.iter().map(|(kind, cell)| cell.to_target(*target, *kind)).collect(),
            Self::Several(cells) => cells
                .iter()
                .flat_map(|(target, kinds)| {
                    OperationKind::ALL.into_iter().zip(kinds).map(|(kind, cell)| (*target, kind, cell))
                })
                .filter(|(.., cell)| !cell.is_empty())
                .map(|(target, kind, cell)| {
                    let TargetCell { operations, bytes, errors, service, response } = *cell;
                    let response = is_open(kind).then_some(response);
                    TargetTally { target, kind, operations, bytes, errors, service, response }
                })
                .collect(),
        }
    }
}
