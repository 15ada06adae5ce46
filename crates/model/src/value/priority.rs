//! Which operations of one kind and size carry an I/O priority of their own.

use super::{PriorityClass, text};
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, Ratio};

/// Shares of the operations of one kind and size.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PrioritySplit(pub Vec<PriorityPart>);

/// One share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriorityPart {
    /// Of the writes; else of the reads.
    pub writes: bool,
    /// Size of the operations.
    pub size: Bytes,
    /// Share of them.
    pub share: Ratio,
    /// Class and level; absent: those of the stream.
    pub own: Option<(PriorityClass, u32)>,
}

impl OptionValue for PrioritySplit {
    /// `read 4KiB 50% best-effort 4, write 64KiB 10%`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        text(literal)?.split(',').map(part).collect::<Result<_, _>>().map(Self)
    }

    fn print(&self) -> String {
        let parts = self.0.iter().map(|PriorityPart { writes, size, share, own }| {
            let kind = if *writes { "write" } else { "read" };
            let size = size.to_string().replace(' ', "");
            let own = own.map(|(class, level)| format!(" {} {level}", class.word())).unwrap_or_default();
            format!("{kind} {size} {share}{own}")
        });
        format!("\"{}\"", parts.collect::<Vec<_>>().join(", "))
    }
}

fn part(text: &str) -> Result<PriorityPart, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (kind, size, share, own) = match *words {
        [kind, size, share] => (kind, size, share, None),
        [kind, size, share, class, level] => (kind, size, share, Some((class, level))),
        _ => return Err(format!("\"{}\" is not \"read SIZE SHARE [CLASS LEVEL]\"", text.trim())),
    };
    let writes = match kind {
        "read" => false,
        "write" => true,
        other => return Err(format!("\"{other}\" is not read or write")),
    };
    let size = size.parse::<Bytes>().map_err(|error| error.to_string())?;
    let share = share.parse::<Ratio>().map_err(|error| error.to_string())?;
    let own = own.map(|(class, level)| {
        let class = PriorityClass::read(&Literal::Text(class.to_owned()), Kind::Text)?;
        let level = level.parse::<u32>().ok().filter(|level| *level <= 7);
        level.map(|level| (class, level)).ok_or_else(|| "a level is a whole number from 0 to 7".to_owned())
    });
    Ok(PriorityPart { writes, size, share, own: own.transpose()? })
}
