//! Iometer's dialect: configurations (.icf) of every version to a tree of their own, the tests they ask for in Iometer's
//! order, and the one model. Owns everything that is peculiar to Iometer; opens no file and asks no host.

mod cycling;
mod lines;
mod lower;
mod managers;
mod network;
mod parse;
mod print;
mod rows;
mod specs;
mod tree;
mod workload;

pub use cycling::{Endless, Share, TESTS_MAX, Test, tests};
pub use lower::{Lowered, Place, StreamOf, Streams, Surroundings, lower};
pub use network::{Client, clients};
pub use print::print;
pub use rows::{Row, Subject, rows};
pub use tree::{
    Assign, Cycling, Document, IDLE, Kind, Manager, Record, Setup, Spec, SpecLine, Target, TestType, Worker,
};

use crate::cap::capped;
use fathom_model::Diagnostics;

/// Reads a configuration. `source` is where the places of its faults point to. However bad the text, there is a tree and
/// all that is wrong with it.
pub fn parse(source: u32, text: &str) -> (Document, Diagnostics) {
    let mut found = Diagnostics::default();
    let document = parse::parse(source, text, &mut found);
    if !found.has_errors()
        && let Err(Endless) = tests(&document)
    {
        let span = document.setup.test_type_span;
        let message =
            format!("{} does not come to an end within {TESTS_MAX} tests", document.setup.test_type.name());
        found.error(
            "icf.endless",
            span,
            message,
            "let its start be above 0 and its step 1 or more, and have fewer steps: a larger one, or EXPONENTIAL",
        );
    }
    (document, capped(found))
}

/// Text of a file: UTF-8, or else the code page 1252 that Iometer writes on western Windows. Never fails.
pub fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| of_code_page(byte)).collect(),
    }
}

/// Code page 1252 above the control characters that Latin-1 has from 0x80 to 0x9F (WHATWG Encoding, windows-1252).
fn of_code_page(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}
