//! The I/O priority that an operation carries: which ones have one of their own is drawn one by one, by kind or by kind and
//! size. Does not know how an engine hands it to the kernel.

use crate::chance::Chance;
use crate::engine::Operation;
use fathom_schema::{OperationKind, OperationPriority, SizedPriority};

/// Draws the priorities of one worker's operations.
#[derive(Debug)]
pub(crate) struct Priorities {
    by_kind: OperationPriority,
    by_size: Box<[SizedPriority]>,
    chance: Chance,
    /// What was drawn last for each slot; empty where no operation has a priority of its own.
    drawn: Box<[u16]>,
}

/// As `ioprio_set(2)` has it.
fn value(class: u8, level: u8) -> u16 {
    u16::from(class) << 13 | u16::from(level)
}

impl Priorities {
    pub(crate) fn new(
        by_kind: OperationPriority,
        by_size: &[SizedPriority],
        seed: u64,
        queue_depth: u32,
    ) -> Self {
        let has_any = !by_size.is_empty() || by_kind.reads_percent > 0 || by_kind.writes_percent > 0;
        let drawn = vec![0; if has_any { queue_depth as usize } else { 0 }].into();
        Self { by_kind, by_size: by_size.into(), chance: Chance::new(seed), drawn }
    }

    /// The priority of the next operation, as `ioprio_set(2)` has it; 0 for the thread's own.
    #[inline]
    pub(crate) fn draw(&mut self, operation: &Operation) -> u16 {
        if self.drawn.is_empty() {
            return 0;
        }
        let priority = self.draw_one(operation.kind, operation.length);
        self.drawn[operation.slot as usize] = priority;
        priority
    }

    /// What was drawn for the operation on this slot.
    pub(crate) fn of(&self, slot: u32) -> u16 {
        self.drawn.get(slot as usize).copied().unwrap_or(0)
    }

    #[inline(never)]
    fn draw_one(&mut self, kind: OperationKind, bytes: u32) -> u16 {
        if !self.by_size.is_empty() {
            return self.draw_by_size(kind, bytes);
        }
        let OperationPriority { reads_percent, writes_percent, class, level } = self.by_kind;
        let percent = match kind {
            OperationKind::Read => reads_percent,
            OperationKind::Write => writes_percent,
            OperationKind::Sync | OperationKind::Trim => 0,
        };
        if self.chance.hits(percent) { value(class, level) } else { 0 }
    }

    fn draw_by_size(&mut self, kind: OperationKind, bytes: u32) -> u16 {
        let writes = kind == OperationKind::Write;
        if !writes && kind != OperationKind::Read {
            return 0;
        }
        let drawn = self.chance.percent();
        let mut below = 0;
        for entry in self.by_size.iter().filter(|entry| entry.writes == writes && entry.bytes == bytes) {
            below += entry.percent;
            if drawn < below {
                return value(entry.class, entry.level);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_and_size_has_its_own_shares() {
        let entry =
            |writes, bytes, percent, class, level| SizedPriority { writes, bytes, percent, class, level };
        let table =
            [entry(false, 4096, 50, 2, 4), entry(false, 4096, 20, 1, 0), entry(true, 8192, 100, 3, 7)];
        let mut priorities = Priorities::new(OperationPriority::NONE, &table, 5, 2);
        let mut drawn = |kind, bytes, of: u16| {
            let operation = Operation {
                slot: 1,
                kind,
                target: 0,
                offset: 0,
                length: bytes,
                data_only: false,
                range_flags: 0,
            };
            let mut is_hit = || {
                let priority = priorities.draw(&operation);
                assert_eq!((priorities.of(1), priorities.of(0)), (priority, 0), "it is known by its slot");
                priority == of
            };
            (0..100_000).filter(|_| is_hit()).count()
        };
        // Six standard deviations of a binomial of 100,000 are below 950.
        let near = |hits: usize, expect: usize| assert!(hits.abs_diff(expect) < 950, "{hits} for {expect}");
        near(drawn(OperationKind::Read, 4096, 2 << 13 | 4), 50_000);
        near(drawn(OperationKind::Read, 4096, 1 << 13), 20_000);
        near(drawn(OperationKind::Read, 4096, 0), 30_000);
        assert_eq!(drawn(OperationKind::Read, 8192, 0), 100_000, "another size has none");
        assert_eq!(drawn(OperationKind::Write, 8192, 3 << 13 | 7), 100_000);
        assert_eq!(drawn(OperationKind::Write, 4096, 0), 100_000);
        assert_eq!(drawn(OperationKind::Sync, 4096, 0), 100_000);
    }
}
