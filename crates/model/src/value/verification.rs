//! Patterns of verified data: how they are read and printed.

use super::text;
use crate::diagnostic::nearest;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};

choice! {
    /// When writes are read back.
    VerifyWhen {
        /// After each pass.
        AfterPass = "after-pass",
        /// While the load goes on, as `verify_backlog` says, and not when it has ended.
        Backlog = "backlog",
        /// Not by this run.
        Never = "never",
    }
}

choice! {
    /// In which order writes are read back.
    VerifyOrder {
        /// As they were written.
        Writes = "writes",
        /// File by file, each from its start on.
        Place = "place",
    }
}

/// Longest pattern, in bytes: what fio 3.41 uses of it for the longest common operation. fio 3.33 used no more than 512 bytes.
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// Bytes that fill what is verified, repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyPattern {
    /// The pieces, in order; at least one byte together.
    pub pieces: Vec<PatternPiece>,
}

/// A piece of a [`VerifyPattern`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPiece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The offset of the operation, 8 bytes, least first.
    Offset,
}

impl VerifyPattern {
    /// Reads fio's syntax: hexadecimal as written, decimal least byte first, `"text"`, `%o`; several in a row.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parse_with(text, &|_| Err("what a file holds is written out here: 0x…".to_owned()))
    }

    /// As [`Self::parse`], with `'file'` for what a file holds; of that, no more than what makes the pattern the longest that
    /// there is.
    pub fn parse_with(text: &str, file: &dyn Fn(&str) -> Result<Vec<u8>, String>) -> Result<Self, String> {
        let mut pieces: Vec<PatternPiece> = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (bytes, left) = if let Some(left) = rest.strip_prefix("%o") {
                pieces.push(PatternPiece::Offset);
                (Vec::new(), left)
            } else if let Some(quoted) = rest.strip_prefix('\'') {
                let end = quoted.find('\'').ok_or_else(|| format!("the file {rest} has no closing quote"))?;
                let mut bytes = file(&quoted[..end])?;
                let room = PATTERN_BYTES_MAX.saturating_sub(pieces.iter().map(PatternPiece::length).sum());
                bytes.truncate(room);
                (bytes, &quoted[end + 1..])
            } else {
                literal_bytes(rest)?
            };
            match pieces.last_mut() {
                Some(PatternPiece::Bytes(known)) => known.extend(bytes),
                _ if bytes.is_empty() => {}
                _ => pieces.push(PatternPiece::Bytes(bytes)),
            }
            rest = left.trim_start();
        }
        let pattern = Self { pieces };
        match pattern.length() {
            0 => Err("the pattern is empty".to_owned()),
            length if length > PATTERN_BYTES_MAX => {
                Err(format!("the pattern has {length} bytes, more than {PATTERN_BYTES_MAX}"))
            }
            _ => Ok(pattern),
        }
    }

    /// Bytes until it repeats.
    pub fn length(&self) -> usize {
        self.pieces.iter().map(PatternPiece::length).sum()
    }
}

impl PatternPiece {
    fn length(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::Offset => 8,
        }
    }
}

/// The bytes of the literal that `text` begins with, and what follows it.
fn literal_bytes(text: &str) -> Result<(Vec<u8>, &str), String> {
    if let Some(quoted) = text.strip_prefix('"') {
        let end = quoted.find('"').ok_or_else(|| format!("the text {text} has no closing quote"))?;
        return Ok((quoted.as_bytes()[..end].to_vec(), &quoted[end + 1..]));
    }
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let end = before_hexadecimal(hex, hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len()));
        if end == 0 {
            return Err(format!("\"{text}\" has no digits"));
        }
        let even = if end.is_multiple_of(2) { hex[..end].to_owned() } else { format!("0{}", &hex[..end]) };
        let bytes =
            (0..even.len()).step_by(2).filter_map(|at| u8::from_str_radix(&even[at..at + 2], 16).ok());
        return Ok((bytes.collect(), &hex[end..]));
    }
    let end = text.char_indices().find(|&(at, c)| !(c.is_ascii_digit() || at == 0 && matches!(c, '-' | '+')));
    let end = before_hexadecimal(text, end.map_or(text.len(), |(at, _)| at));
    let value: i64 = text[..end].parse().map_err(|_| format!("\"{text}\" is no pattern"))?;
    // Of fio's length, which shows where a number is below zero.
    let below_zero = || i32::try_from(value).map(i32::cast_unsigned);
    let value = u32::try_from(value).or_else(|_| below_zero());
    let least_first = value.map_err(|_| format!("\"{text}\" is beyond 32 bits"))?.to_le_bytes();
    let used = least_first.iter().rposition(|&byte| byte != 0).map_or(1, |at| at + 1);
    Ok((least_first[..used].to_vec(), &text[end..]))
}

/// `end` of the digits that `text` begins with, or one before when the last of them begins a hexadecimal number: `-120xab` is
/// −12 and `0xab`.
fn before_hexadecimal(text: &str, end: usize) -> usize {
    let begins = text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']);
    end - usize::from(begins)
}

impl OptionValue for VerifyPattern {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        Self::parse(text(literal)?)
    }
    fn print(&self) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            PatternPiece::Bytes(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("0x{digits}")
            }
            PatternPiece::Offset => "%o".to_owned(),
        });
        format!("\"{}\"", pieces.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PatternPiece::{Bytes, Offset};

    #[test]
    fn patterns_are_pieces_in_a_row() {
        let check = |text: &str, expect: &[PatternPiece]| {
            let pattern = VerifyPattern::parse(text).unwrap();
            assert_eq!(pattern.pieces, expect, "{text}");
            assert_eq!(VerifyPattern::parse(pattern.print().trim_matches('"')), Ok(pattern), "{text}");
        };
        check("0xdeadbeef", &[Bytes(vec![0xde, 0xad, 0xbe, 0xef])]);
        check("%o", &[Offset]);
        check("0xab%o0xcd", &[Bytes(vec![0xab]), Offset, Bytes(vec![0xcd])]);
        check("0xf\"ab\"258", &[Bytes(vec![0x0f, b'a', b'b', 2, 1])]);
        check("\"abcd\"-120xdeadface", &[Bytes(b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce".to_vec())]);
        check("0xff0x14+5", &[Bytes(vec![0xff, 0x14, 5])]);
        check("0xff0X1%o300", &[Bytes(vec![0xff, 1]), Offset, Bytes(vec![0x2c, 1])]);
        check("%o%o0", &[Offset, Offset, Bytes(vec![0])]);
        for wrong in ["", "%x", "abc", "0x", "\"ab", "'file'", "%", "5000000000", "00x"] {
            assert!(VerifyPattern::parse(wrong).is_err(), "{wrong}");
        }
        let file = |name: &str| if name == "long" { Ok(vec![7; 2 << 20]) } else { Err("no file".to_owned()) };
        let pattern = VerifyPattern::parse_with("0xab'long'", &file).unwrap();
        assert_eq!(
            (pattern.length(), &pattern.pieces[0]),
            (1 << 20, &Bytes([vec![0xab], vec![7; (1 << 20) - 1]].concat()))
        );
        assert!(VerifyPattern::parse_with("'other'", &file).is_err());
        let long = "%o".repeat((1 << 17) + 1);
        assert!(VerifyPattern::parse(&long).is_err());
    }
}
