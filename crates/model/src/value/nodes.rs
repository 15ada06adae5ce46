//! NUMA nodes that memory comes from.

use crate::literal::Literal;
use crate::row::{Kind, OptionValue};

/// From which NUMA nodes memory comes (`set_mempolicy(2)`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryNodes {
    /// As for every process: the node of the CPU, others where it is full.
    Usual,
    /// The node of the CPU that asks.
    Local,
    /// This one, others where it is full.
    Prefer(u32),
    /// These alone.
    Bind(Vec<u32>),
    /// These in turn, page by page.
    Interleave(Vec<u32>),
}

/// Highest number of a node: the policy is a set of 64.
const NODE_MAX: u32 = 63;

fn nodes(text: &str) -> Option<Vec<u32>> {
    let node = |text: &str| text.trim().parse::<u32>().ok().filter(|&node| node <= NODE_MAX);
    let mut all = Vec::new();
    for piece in text.split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        all.extend(node(first)?..=node(last)?);
    }
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then_some(all)
}

impl OptionValue for MemoryNodes {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let read = |text: &str| {
            let (word, rest) = text.split_once(':').unwrap_or((text, ""));
            match word {
                "usual" | "default" if rest.is_empty() => Some(Self::Usual),
                "local" => Some(Self::Local),
                "prefer" => nodes(rest).filter(|nodes| nodes.len() == 1).map(|nodes| Self::Prefer(nodes[0])),
                "bind" => nodes(rest).map(Self::Bind),
                "interleave" => nodes(rest).map(Self::Interleave),
                _ => None,
            }
        };
        let found = if let Literal::Text(text) = literal { read(text) } else { None };
        found.ok_or_else(|| {
            format!(
                "{} is none of usual, local, prefer:NODE, bind:NODES and interleave:NODES, with nodes from 0 to {NODE_MAX}",
                literal.describe()
            )
        })
    }

    fn print(&self) -> String {
        let list = |nodes: &[u32]| nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::Usual => "\"usual\"".to_owned(),
            Self::Local => "\"local\"".to_owned(),
            Self::Prefer(node) => format!("\"prefer:{node}\""),
            Self::Bind(nodes) => format!("\"bind:{}\"", list(nodes)),
            Self::Interleave(nodes) => format!("\"interleave:{}\"", list(nodes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_name_their_nodes() {
        let read = |text: &str| MemoryNodes::read(&Literal::Text(text.to_owned()), Kind::Text);
        for (text, printed) in [("bind:0-2,5", "bind:0,1,2,5"), ("prefer:3", "prefer:3"), ("local", "local")]
        {
            assert_eq!(read(text).unwrap().print(), format!("\"{printed}\""));
        }
        for wrong in ["prefer", "prefer:0,1", "bind:", "bind:64", "bind:x", "wrong:1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
