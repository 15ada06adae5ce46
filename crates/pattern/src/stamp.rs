//! Blocks that say what they are: the header that fio 3.33 puts into verified data, making whole blocks of it, and telling what
//! is wrong with one that was read back. It does not know when blocks are written or read, nor which write was the last.

use crate::content::Texture;
use crate::digest::{DigestBytes, crc32c_of, digest};
use fathom_schema::{
    Content, MismatchKind, PatternPiece, Protection, Quota, VERIFY_HEADER_BYTES, VerifyRule,
};
use std::ops::Range;

/// First two bytes of every header.
const MAGIC: u16 = 0xacca;
/// Bytes of a header, without the digest behind it: magic 2, kind 2, length 4, seed 8, offset 8, seconds 4, nanoseconds 4,
/// thread 2, number of the write 2, CRC-32C of all before it 4; least byte first.
const HEADER_BYTES: usize = VERIFY_HEADER_BYTES as usize;
/// Where the CRC lies.
const HEADER_CRC_AT: usize = 36;
/// A pattern is repeated until it has at least so many bytes, so that a block has few stretches.
const STRETCH_MIN: usize = 512;

/// Which write a block comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// First byte of the operation, from the target's start.
    pub offset: u64,
    /// Number of the write in its worker, from 0.
    pub number: u64,
    /// Seed of its random bytes.
    pub seed: u64,
}

/// What of a write has to be found in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// First byte of the operation that was read.
    pub offset: u64,
    /// Number of the write, where it is known and compared.
    pub number: Option<u64>,
    /// Seed of the write, where it is known and compared.
    pub seed: Option<u64>,
    /// Its place was trimmed afterwards: there has to be nothing but zeroes.
    pub is_trimmed: bool,
}

/// What is wrong with an operation that was read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// What was found first.
    pub kind: MismatchKind,
    /// First byte of the interval it was found in, from the operation's start.
    pub at: u32,
    /// Length of that interval.
    pub length: u32,
    /// What should be there: a number, or the digest of what was read.
    pub expected: Evidence,
    /// What is there.
    pub found: Evidence,
}

/// A side of a [`Mismatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// Nothing to be told.
    None,
    /// A number: a magic, a length, an offset, a number or seed of a write, a byte.
    Number(u64),
    /// A digest.
    Digest(DigestBytes),
    /// The length in a header that is damaged.
    Length(u64),
    /// The offset in a header that is damaged.
    Offset(u64),
    /// A byte of a pattern, and which one of the data it is.
    Byte {
        /// What it is.
        value: u8,
        /// From the begin of the data on, behind a header if there is one.
        at: u32,
    },
}

/// A fault of an interval: what, what should be there, what is. In a box, since it is large and rare.
type Wrong = Box<(MismatchKind, Evidence, Evidence)>;

fn wrong(kind: MismatchKind, expected: Evidence, found: Evidence) -> Wrong {
    Box::new((kind, expected, found))
}

/// A header whose checksum is wrong, with the first field that is wrong for certain, in fio's order.
#[cold]
fn damaged(head: &[u8], (right, crc): (u32, u32), wanted_length: u64, wanted_offset: u64) -> Wrong {
    use Evidence::{Length, Number, Offset};
    let Header { length, offset, kind: _, seed: _, thread: _, number: _ } = Header::read(head);
    let (expected, found) = if u64::from(length) != wanted_length {
        (Length(wanted_length), Length(u64::from(length)))
    } else if offset != wanted_offset {
        (Offset(wanted_offset), Offset(offset))
    } else {
        (Number(u64::from(right)), Number(u64::from(crc)))
    };
    wrong(MismatchKind::Header, expected, found)
}

/// Makes and checks the blocks of one worker.
#[derive(Debug, Clone)]
pub struct Stamper {
    protection: Protection,
    pattern: Vec<PatternPiece>,
    pattern_length: usize,
    /// Bytes after which the pattern begins anew; `usize::MAX` where it goes on through the operation.
    pattern_interval: usize,
    /// Distance of headers; `usize::MAX` for the whole operation.
    interval: usize,
    header_at: usize,
    /// What fills a block without a pattern.
    texture: Texture,
    /// Number of the worker from 1, as fio counts its jobs.
    thread: u16,
}

impl Stamper {
    /// One that keeps to `rule`, for the worker `worker_index`. Of `content` it takes how much of it compresses, and
    /// to what.
    pub fn new(rule: &VerifyRule, content: &Content, worker_index: u32) -> Self {
        // Tables are made with the first digest, which is none of the load's.
        let _ = digest(rule.protection, &[]);
        let pattern = stretched(&rule.pattern);
        let pattern_length = pattern.iter().map(piece_length).sum();
        let interval = |quota| match quota {
            Quota::Unlimited => usize::MAX,
            // One that is longer than any operation is as good as none.
            Quota::AtMost(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
        };
        Self {
            protection: rule.protection,
            pattern,
            pattern_length,
            pattern_interval: interval(rule.pattern_interval),
            interval: interval(rule.interval),
            header_at: rule.header_at as usize,
            texture: Texture::new(content, 0),
            thread: u16::try_from((worker_index + 1) & 0xffff).expect("cut to 16 bits"),
        }
    }

    /// Makes all of `block` what the write carries.
    pub fn stamp(&self, block: &mut [u8], write: &Write) {
        if self.pattern_length == 0 {
            self.texture.fill(write.seed, block);
        } else {
            self.find_stretch(block.len(), 0, write.offset, |range, right| {
                block[range].copy_from_slice(right);
                None::<()>
            });
        }
        let header_bytes = self.protection.header_bytes() as usize;
        if header_bytes == 0 {
            return;
        }
        let (mut rest, mut at) = (block, 0);
        while rest.len() > header_bytes {
            let (piece, behind) = rest.split_at_mut(self.piece(rest.len()));
            let bytes = piece.len();
            let (head, data) = piece.split_at_mut(header_bytes);
            head[HEADER_BYTES..].copy_from_slice(digest(self.protection, data).bytes());
            let header = Header {
                kind: code(self.protection),
                length: narrow(bytes),
                seed: if self.pattern_length == 0 { write.seed } else { 0 },
                offset: write.offset + at,
                thread: self.thread,
                number: low_16(write.number),
            };
            head[..HEADER_BYTES].copy_from_slice(&header.bytes());
            self.exchange(piece);
            at += bytes as u64;
            rest = behind;
        }
    }

    /// Says what is wrong with an operation that was read back. The block's headers change places with the data, where
    /// they lie apart, and are left so.
    pub fn check(&self, block: &mut [u8], expected: &Expected) -> Result<(), Box<Mismatch>> {
        if expected.is_trimmed {
            return all_zero(block);
        }
        if self.protection == Protection::Null {
            return Ok(());
        }
        let header_bytes = self.protection.header_bytes() as usize;
        let (mut rest, mut at) = (block, 0);
        // Of a write that a map has cut to less than a header nothing is known.
        while !rest.is_empty() && rest.len() > header_bytes {
            let (piece, behind) = rest.split_at_mut(self.piece(rest.len()));
            let bytes = piece.len();
            self.check_interval(piece, at, expected).map_err(|wrong| {
                let (kind, expected, found) = *wrong;
                Box::new(Mismatch { kind, at: narrow(at), length: narrow(bytes), expected, found })
            })?;
            at += bytes;
            rest = behind;
        }
        Ok(())
    }

    /// Bytes of the next piece with a header, of so many that are left: where what would be left behind it has no room for a header of
    /// its own, as what a map has cut off, it is part of this one.
    fn piece(&self, left: usize) -> usize {
        let bytes = self.interval.min(left).max(1);
        let has_room = left - bytes > self.protection.header_bytes() as usize;
        if has_room { bytes } else { left }
    }

    fn check_interval(&self, piece: &mut [u8], at: usize, expected: &Expected) -> Result<(), Wrong> {
        use Evidence::{Digest, Number};
        let header_bytes = self.protection.header_bytes() as usize;
        if header_bytes == 0 {
            return self.check_pattern(piece, at, expected.offset);
        }
        self.exchange(piece);
        let (head, data) = piece.split_at(header_bytes);
        let magic = u16::from_le_bytes([head[0], head[1]]);
        if magic != MAGIC {
            let zeroed = head.iter().chain(data).all(|&byte| byte == 0);
            let kind = if zeroed { MismatchKind::Zeroed } else { MismatchKind::NoHeader };
            return Err(wrong(kind, Number(u64::from(MAGIC)), Number(u64::from(magic))));
        }
        let crc = u32::from_le_bytes(array(&head[HEADER_CRC_AT..]));
        let right = crc32c_of(&head[..HEADER_CRC_AT]);
        if crc != right {
            return Err(damaged(head, (right, crc), piece.len() as u64, expected.offset + at as u64));
        }
        let Header { kind, length, seed, offset, thread: _, number } = Header::read(head);
        let compare = |what, right: u64, found: u64| {
            if right == found { Ok(()) } else { Err(wrong(what, Number(right), Number(found))) }
        };
        compare(MismatchKind::Length, piece.len() as u64, u64::from(length))?;
        compare(MismatchKind::Misplaced, expected.offset + at as u64, offset)?;
        if let (Some(right), 0) = (expected.seed, self.pattern_length) {
            compare(MismatchKind::Stale, right, seed)?;
        }
        if let Some(right) = expected.number {
            compare(MismatchKind::Stale, u64::from(low_16(right)), u64::from(number))?;
        }
        if self.protection == Protection::Header || self.protection == Protection::PatternHeader {
            // A pattern is checked wherever one is given, also behind a bare header.
            return self.check_pattern(data, at + header_bytes, expected.offset);
        }
        compare(MismatchKind::OtherKind, u64::from(code(self.protection)), u64::from(kind))?;
        let found = digest(self.protection, data);
        if found.bytes() != &head[HEADER_BYTES..] {
            let stored = DigestBytes::new(&head[HEADER_BYTES..]);
            return Err(wrong(MismatchKind::Data, Digest(stored), Digest(found)));
        }
        Ok(())
    }

    /// Compares bytes from `at` of the operation on with the pattern.
    fn check_pattern(&self, data: &[u8], at: usize, offset: u64) -> Result<(), Wrong> {
        if self.pattern_length == 0 {
            return Ok(());
        }
        let wrong_byte = self.find_stretch(data.len(), at, offset, |range, right| {
            if data[range.clone()] == *right {
                return None;
            }
            let mut pairs = data[range.clone()].iter().zip(right).zip(range.start..);
            pairs.find(|((found, right), _)| found != right).map(|((&found, &right), at)| (found, right, at))
        });
        match wrong_byte {
            None => Ok(()),
            Some(_) if data.iter().all(|&byte| byte == 0) => {
                Err(wrong(MismatchKind::Zeroed, Evidence::None, Evidence::None))
            }
            Some((found, right, at)) => {
                let byte = |value| Evidence::Byte { value, at: narrow(at) };
                Err(wrong(MismatchKind::Pattern, byte(right), byte(found)))
            }
        }
    }

    /// Shows `look` every stretch of `length` bytes that a piece of the pattern fills, from `at` of the operation at `offset` on,
    /// with what belongs there, until it has something to say.
    fn find_stretch<T>(
        &self,
        length: usize,
        at: usize,
        offset: u64,
        mut look: impl FnMut(Range<usize>, &[u8]) -> Option<T>,
    ) -> Option<T> {
        let mut done = 0;
        while done < length {
            let from_start = at + done;
            let within = from_start % self.pattern_interval;
            let offset = (offset + (from_start - within) as u64).to_le_bytes();
            let part_end = length.min(done.saturating_add(self.pattern_interval - within));
            let mut skip = within % self.pattern_length;
            for piece in &self.pattern {
                let bytes = match piece {
                    PatternPiece::Bytes(bytes) => bytes,
                    PatternPiece::Offset => &offset[..],
                };
                let bytes = &bytes[skip.min(bytes.len())..];
                skip = skip.saturating_sub(piece_length(piece));
                let end = part_end.min(done + bytes.len());
                if let Some(found) = look(done..end, &bytes[..end - done]) {
                    return Some(found);
                }
                done = end;
            }
        }
        None
    }

    /// Lets header and data at `header_at` change places.
    fn exchange(&self, piece: &mut [u8]) {
        let header_bytes = self.protection.header_bytes() as usize;
        // What a map leaves of a write may be too short for it: there the header stays in front.
        if self.header_at > 0 && self.header_at + header_bytes <= piece.len() {
            let (front, rest) = piece.split_at_mut(self.header_at);
            front[..header_bytes].swap_with_slice(&mut rest[..header_bytes]);
        }
    }
}

fn piece_length(piece: &PatternPiece) -> usize {
    match piece {
        PatternPiece::Bytes(bytes) => bytes.len(),
        PatternPiece::Offset => 8,
    }
}

/// The pattern as often as it takes to be [`STRETCH_MIN`] long, with neighbouring bytes in one piece.
fn stretched(pattern: &[PatternPiece]) -> Vec<PatternPiece> {
    let once: usize = pattern.iter().map(piece_length).sum();
    let mut pieces: Vec<PatternPiece> = Vec::new();
    let times = if once == 0 { 0 } else { STRETCH_MIN.div_ceil(once) };
    for piece in std::iter::repeat_n(pattern, times).flatten() {
        match (pieces.last_mut(), piece) {
            (Some(PatternPiece::Bytes(known)), PatternPiece::Bytes(bytes)) => known.extend(bytes),
            _ => pieces.push(piece.clone()),
        }
    }
    pieces
}

/// Says where something was not trimmed.
fn all_zero(block: &[u8]) -> Result<(), Box<Mismatch>> {
    let Some(at) = block.iter().position(|&byte| byte != 0) else { return Ok(()) };
    Err(Box::new(Mismatch {
        kind: MismatchKind::Untrimmed,
        at: 0,
        length: narrow(block.len()),
        expected: Evidence::Number(0),
        found: Evidence::Number(u64::from(block[at])),
    }))
}

/// What a header says; its times are 0, since nothing checks them.
struct Header {
    kind: u16,
    length: u32,
    seed: u64,
    offset: u64,
    thread: u16,
    number: u16,
}

impl Header {
    fn bytes(&self) -> [u8; HEADER_BYTES] {
        let Self { kind, length, seed, offset, thread, number } = *self;
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[2..4].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&length.to_le_bytes());
        bytes[8..16].copy_from_slice(&seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&offset.to_le_bytes());
        bytes[32..34].copy_from_slice(&thread.to_le_bytes());
        bytes[34..36].copy_from_slice(&number.to_le_bytes());
        let crc = crc32c_of(&bytes[..HEADER_CRC_AT]);
        bytes[HEADER_CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Self {
        Self {
            kind: u16::from_le_bytes(array(&bytes[2..])),
            length: u32::from_le_bytes(array(&bytes[4..])),
            seed: u64::from_le_bytes(array(&bytes[8..])),
            offset: u64::from_le_bytes(array(&bytes[16..])),
            thread: u16::from_le_bytes(array(&bytes[32..])),
            number: u16::from_le_bytes(array(&bytes[34..])),
        }
    }
}

/// The number of a protection in fio 3.33's headers.
const fn code(protection: Protection) -> u16 {
    match protection {
        Protection::Header => 1,
        Protection::Md5 => 2,
        Protection::Crc64 => 3,
        Protection::Crc32 => 4,
        Protection::Crc32c => 5,
        Protection::Crc16 => 7,
        Protection::Crc7 => 8,
        Protection::Sha256 => 9,
        Protection::Sha512 => 10,
        Protection::Sha3_224 => 11,
        Protection::Sha3_256 => 12,
        Protection::Sha3_384 => 13,
        Protection::Sha3_512 => 14,
        Protection::Xxhash => 15,
        Protection::Sha1 => 16,
        Protection::PatternHeader => 17,
        Protection::Pattern => 18,
        Protection::Null => 19,
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("cut to the length")
}

fn narrow(length: usize) -> u32 {
    u32::try_from(length).expect("operations are counted in 32 bits")
}

fn low_16(number: u64) -> u16 {
    u16::try_from(number & 0xffff).expect("cut to 16 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{Fill, Freshness, Ledger, Repeats, VerifySchedule};
    use fathom_units::Ratio;

    const KINDS: [Protection; 17] = [
        Protection::Header,
        Protection::Md5,
        Protection::Crc64,
        Protection::Crc32,
        Protection::Crc32c,
        Protection::Crc16,
        Protection::Crc7,
        Protection::Sha256,
        Protection::Sha512,
        Protection::Sha3_224,
        Protection::Sha3_256,
        Protection::Sha3_384,
        Protection::Sha3_512,
        Protection::Xxhash,
        Protection::Sha1,
        Protection::PatternHeader,
        Protection::Pattern,
    ];
    const BLOCK: usize = 4096;

    fn rule(protection: Protection, interval: Quota, header_at: u32) -> VerifyRule {
        let needs_pattern = matches!(protection, Protection::Pattern | Protection::PatternHeader);
        let pattern = vec![PatternPiece::Bytes(vec![0xab]), PatternPiece::Offset];
        VerifyRule {
            protection,
            pattern: if needs_pattern { pattern } else { Vec::new() },
            pattern_interval: Quota::Unlimited,
            interval,
            header_at,
            schedule: VerifySchedule::AfterRound,
            round_bytes: 1 << 20,
            stops: false,
            fails: true,
            dumps: false,
            checks_sequence: true,
            checks_seed: true,
            is_shared: false,
            writes: true,
            ledger: Ledger::NotNeeded,
            trims: None,
            until: Quota::Unlimited,
            checks_count: false,
            by_place: false,
        }
    }

    fn content(compressible: f64) -> Content {
        Content {
            fill: Fill::Random,
            freshness: Freshness::Every,
            compressible: Ratio::percent(compressible),
            compress_chunk_bytes: 1024,
            dedupable: Ratio::ZERO,
            repeats: Repeats::Any,
        }
    }

    fn stamper(rule: &VerifyRule) -> Stamper {
        Stamper::new(rule, &content(0.0), 0)
    }

    #[test]
    fn data_that_is_verified_compresses_as_much_as_asked() {
        let stamper = Stamper::new(&rule(Protection::Md5, Quota::Unlimited, 0), &content(75.0), 0);
        let mut block = vec![0xaa; BLOCK];
        stamper.stamp(&mut block, &write(8192, 3));
        for chunk in block.chunks(1024) {
            let random = chunk.iter().rposition(|&byte| byte != 0);
            assert!(random.is_some_and(|last| (240..256).contains(&last)), "{random:?}");
        }
        stamper.check(&mut block, &expected(&write(8192, 3))).unwrap();
    }

    fn write(offset: u64, number: u64) -> Write {
        Write { offset, number, seed: number ^ 0x5eed }
    }

    fn expected(write: &Write) -> Expected {
        Expected {
            offset: write.offset,
            number: Some(write.number),
            seed: Some(write.seed),
            is_trimmed: false,
        }
    }

    /// What a block of write `3` at 8192 is found to be after `change`.
    fn found(rule: &VerifyRule, change: impl Fn(&Stamper, &mut Vec<u8>)) -> Option<(MismatchKind, u32)> {
        let stamper = stamper(rule);
        let mut block = vec![0; BLOCK];
        stamper.stamp(&mut block, &write(8192, 3));
        change(&stamper, &mut block);
        stamper.check(&mut block, &expected(&write(8192, 3))).err().map(|wrong| (wrong.kind, wrong.at))
    }

    #[test]
    fn a_pattern_begins_anew_with_the_offset_of_its_place() {
        for (protection, from) in [(Protection::Pattern, 0), (Protection::PatternHeader, VERIFY_HEADER_BYTES)]
        {
            for interval in [1, 10, 129, 512, 4089, 4096, 5000] {
                let rule = VerifyRule {
                    pattern_interval: Quota::AtMost(interval),
                    ..rule(protection, Quota::AtMost(1024), 0)
                };
                let stamper = stamper(&rule);
                let mut block = vec![0; BLOCK];
                stamper.stamp(&mut block, &write(8192, 3));
                for (at, &byte) in (0_u64..).zip(&block).filter(|(at, _)| at % 1024 >= u64::from(from)) {
                    // The rule's pattern: a byte, then the offset.
                    let place = (at % interval % 9) as usize;
                    let offset = (8192 + at - at % interval).to_le_bytes();
                    assert_eq!(
                        byte,
                        if place == 0 { 0xab } else { offset[place - 1] },
                        "{protection:?} {interval} {at}"
                    );
                }
                stamper.check(&mut block.clone(), &expected(&write(8192, 3))).unwrap();
                block[3000] ^= 1;
                let wrong = stamper.check(&mut block, &expected(&write(8192, 3))).unwrap_err();
                assert_eq!((wrong.kind, wrong.at), (MismatchKind::Pattern, 2048), "{interval}");
            }
        }
    }

    #[test]
    fn what_was_written_is_found_as_written() {
        for protection in KINDS {
            for (interval, header_at) in [
                (Quota::Unlimited, 0),
                (Quota::AtMost(512), 0),
                (Quota::AtMost(1024), 512),
                (Quota::Unlimited, 1000),
                // The last one is what a map left of a write.
                (Quota::AtMost(1536), 0),
                (Quota::AtMost(1536), 1200),
                (Quota::AtMost(4080), 0),
                (Quota::AtMost(510), 0),
            ] {
                assert_eq!(found(&rule(protection, interval, header_at), |_, _| ()), None, "{protection:?}");
            }
        }
    }

    #[test]
    fn every_fault_is_found_and_named() {
        for protection in KINDS {
            let has_header = protection != Protection::Pattern;
            let has_digest = protection.digest_bytes() > 0;
            let whole = rule(protection, Quota::Unlimited, 0);
            let named = |kind| Some((kind, 0));
            let misplaced = if has_header { MismatchKind::Misplaced } else { MismatchKind::Pattern };
            let swapped = |stamper: &Stamper, block: &mut Vec<u8>| stamper.stamp(block, &write(4096, 3));
            assert_eq!(found(&whole, swapped), named(misplaced), "{protection:?}");
            assert_eq!(
                found(&whole, |_, block| block.fill(0)),
                named(MismatchKind::Zeroed),
                "{protection:?}"
            );
            let foreign = |_: &Stamper, block: &mut Vec<u8>| block.fill(7);
            let kind = if has_header { MismatchKind::NoHeader } else { MismatchKind::Pattern };
            assert_eq!(found(&whole, foreign), named(kind), "{protection:?}");
            if has_header {
                let stale = |stamper: &Stamper, block: &mut Vec<u8>| stamper.stamp(block, &write(8192, 2));
                assert_eq!(found(&whole, stale), named(MismatchKind::Stale), "{protection:?}");
                let header = |_: &Stamper, block: &mut Vec<u8>| block[20] ^= 1;
                assert_eq!(found(&whole, header), named(MismatchKind::Header), "{protection:?}");
                let parts = rule(protection, Quota::AtMost(512), 0);
                let longer = |_: &Stamper, block: &mut Vec<u8>| {
                    stamper(&whole).stamp(block, &write(8192, 3));
                };
                assert_eq!(found(&parts, longer), named(MismatchKind::Length), "{protection:?}");
            }
            // The last byte is one that every kind covers.
            let flipped = |_: &Stamper, block: &mut Vec<u8>| block[BLOCK - 1] ^= 0x10;
            let kind = match protection {
                Protection::Header => None,
                _ if has_digest => named(MismatchKind::Data),
                _ => named(MismatchKind::Pattern),
            };
            assert_eq!(found(&whole, flipped), kind, "{protection:?}");
            let third = |_: &Stamper, block: &mut Vec<u8>| block[3 * 512 + 511] ^= 1;
            let kind = kind.map(|(kind, _)| (kind, 3 * 512));
            assert_eq!(found(&rule(protection, Quota::AtMost(512), 0), third), kind, "{protection:?}");
        }
    }

    #[test]
    fn a_trimmed_place_holds_nothing() {
        let stamper = stamper(&rule(Protection::Crc32c, Quota::Unlimited, 0));
        let gone = Expected { is_trimmed: true, ..expected(&write(8192, 3)) };
        let mut block = vec![0; BLOCK];
        assert_eq!(stamper.check(&mut block, &gone), Ok(()));
        block[700] = 9;
        let wrong = stamper.check(&mut block, &gone).unwrap_err();
        assert_eq!((wrong.kind, wrong.found), (MismatchKind::Untrimmed, Evidence::Number(9)));
    }

    #[test]
    fn a_block_protected_by_something_else_is_told() {
        let other = |_: &Stamper, block: &mut Vec<u8>| {
            stamper(&rule(Protection::Md5, Quota::Unlimited, 0)).stamp(block, &write(8192, 3));
        };
        let whole = rule(Protection::Crc32c, Quota::Unlimited, 0);
        assert_eq!(found(&whole, other), Some((MismatchKind::OtherKind, 0)));
    }

    #[test]
    fn the_seed_tells_writes_apart_whose_numbers_look_alike() {
        let whole = rule(Protection::Crc32c, Quota::Unlimited, 0);
        let earlier =
            |stamper: &Stamper, block: &mut Vec<u8>| stamper.stamp(block, &write(8192, 3 + (1 << 16)));
        assert_eq!(found(&whole, earlier), Some((MismatchKind::Stale, 0)));
    }
}
