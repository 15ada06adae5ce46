//! The I/O priority that an operation carries: which ones have one of their own is drawn one by one, by kind or by kind and
//! size. Does not know how an engine hands it to the kernel.

use crate::chance::Chance;
use fathom_schema::{OperationKind, OperationPriority, SizedPriority};

/// Draws the priorities of one worker's operations.
#[derive(Debug)]
pub(crate) struct Priorities {
    by_kind: OperationPriority,
    by_size: Box<[SizedPriority]>,
    chance: Chance,
}

/// As `ioprio_set(2)` has it.
fn value(class: u8, level: u8) -> u16 {
    u16::from(class) << 13 | u16::from(level)
}

impl Priorities {
    pub(crate) fn new(by_kind: OperationPriority, by_size: &[SizedPriority], seed: u64) -> Self {
        Self { by_kind, by_size: by_size.into(), chance: Chance::new(seed) }
    }

    /// The priority of the next operation, as `ioprio_set(2)` has it; 0 for the thread's own.
    #[inline]
    pub(crate) fn draw(&mut self, kind: OperationKind, bytes: u32) -> u16 {
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

    #[inline(never)]
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
        let mut priorities = Priorities::new(OperationPriority::NONE, &table, 5);
        let mut drawn =
            |kind, bytes, of: u16| (0..100_000).filter(|_| priorities.draw(kind, bytes) == of).count();
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
