//! What of a trace is left out.

use super::text;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};

/// Operations of a trace that are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one per kind of operation")]
pub struct TraceSkips {
    /// Reads.
    pub reads: bool,
    /// Writes.
    pub writes: bool,
    /// Trims.
    pub trims: bool,
    /// Syncs.
    pub syncs: bool,
}

impl OptionValue for TraceSkips {
    /// `trim,sync`, at least one of the four.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let mut skips = Self::default();
        for word in text(literal)?.split(',') {
            match word.trim() {
                "read" => skips.reads = true,
                "write" => skips.writes = true,
                "trim" => skips.trims = true,
                "sync" => skips.syncs = true,
                other => return Err(format!("\"{other}\" is not read, write, trim or sync")),
            }
        }
        Ok(skips)
    }
    fn print(&self) -> String {
        let Self { reads, writes, trims, syncs } = *self;
        let words = [(reads, "read"), (writes, "write"), (trims, "trim"), (syncs, "sync")];
        let words: Vec<&str> = words.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect();
        format!("\"{}\"", words.join(","))
    }
}
