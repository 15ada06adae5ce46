//! Verification of a stream, resolved: what protects written data, when it is read back, and what reading back found.

use crate::step::Quota;
use crate::tally::StreamTally;
use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};

/// Whether what a stream writes or reads is checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// Not at all.
    #[default]
    Off,
    /// By this rule.
    On(Box<VerifyRule>),
}

impl Verification {
    /// The rule, when there is one.
    pub fn rule(&self) -> Option<&VerifyRule> {
        match self {
            Self::Off => None,
            Self::On(rule) => Some(rule),
        }
    }

    /// Whether operations that write really do: not where an earlier run's writes are only checked.
    pub fn lets_write(&self) -> bool {
        self.rule().is_none_or(|rule| rule.writes)
    }
}

/// How data is protected and checked. The format on the medium is that of fio 3.33.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "eight independent facts, not states")]
pub struct VerifyRule {
    /// What the header carries, if there is one.
    pub protection: Protection,
    /// What fills the data, repeated from the start of each operation; empty: random bytes that the seed in the header
    /// gives again.
    pub pattern: Vec<PatternPiece>,
    /// Bytes of an operation after which the pattern begins anew, at least 1; what it has of offsets is then that of the place.
    #[serde(default)]
    pub pattern_interval: Quota,
    /// Distance of headers in bytes; one at the start of each operation when it is `Unlimited`.
    pub interval: Quota,
    /// Byte of its interval at which the header lies, having changed places with the data there.
    pub header_at: u32,
    /// When what was written is read back.
    pub schedule: VerifySchedule,
    /// Bytes of operations between two passes of reading back; at least one block.
    pub round_bytes: u64,
    /// Whether the first operation with a mismatch ends the step.
    pub stops: bool,
    /// Whether a mismatch alone makes the run fail.
    pub fails: bool,
    /// Whether blocks with a mismatch are written to files in the current directory.
    pub dumps: bool,
    /// Whether the number of the write is compared.
    pub checks_sequence: bool,
    /// Whether the seed of the write is compared.
    pub checks_seed: bool,
    /// Whether others write what it verifies: a block may be someone else's, or half written.
    #[serde(default)]
    pub is_shared: bool,
    /// False: nothing is written; what an equal run wrote before is checked.
    pub writes: bool,
    /// Which write came last at each place.
    pub ledger: Ledger,
    /// Whether some of what was written is trimmed again before it is read back.
    #[serde(default)]
    pub trims: Option<TrimRule>,
    /// How many writes are checked, from the first.
    #[serde(default)]
    pub until: Quota,
    /// Whether what is read back while the load goes on counts towards the operations that bound the stream, as with fio.
    #[serde(default)]
    pub checks_count: bool,
    /// Whether a round is read back file by file from its start on, and not in the order in which it was written.
    #[serde(default)]
    pub by_place: bool,
}

/// Trims of written blocks, for finding out whether they take away what they should and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrimRule {
    /// Writes between two batches; at least 1.
    pub operations: u64,
    /// Writes trimmed at once, at most; at least 1.
    pub batch: u64,
    /// Share of all writes, 0 to 1.
    pub share: f64,
    /// Whether what was trimmed has to be read as zeroes; it is not read back else.
    pub zeroes: bool,
}

/// How a worker knows which of its writes is the last one at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ledger {
    /// No place is written twice between two passes of reading back, so every write is; costs no memory.
    NotNeeded,
    /// 4 bytes are kept for every so many bytes of the worker's extents.
    Every(u32),
}

/// When writes are read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifySchedule {
    /// Never; they only carry what makes them checkable.
    Never,
    /// When a round has been written.
    AfterRound,
    /// While the load goes on, and what is left after the round.
    Backlog {
        /// Writes between two batches; at least 1.
        operations: u64,
        /// Writes read back at once; at least 1.
        batch: u64,
        /// What is left after a round is read back with the load, and nothing when it has ended.
        #[serde(default)]
        alone: bool,
    },
}

/// What protects a stretch of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// The header alone.
    Header,
    /// MD5.
    Md5,
    /// CRC-64, Jones.
    Crc64,
    /// CRC-32, POSIX `cksum`.
    Crc32,
    /// CRC-32C.
    Crc32c,
    /// CRC-16, ARC.
    Crc16,
    /// CRC-7, MMC.
    Crc7,
    /// What fio 3.33 keeps under this name: its buffer, with 8 bytes of a SHA-256.
    Sha256,
    /// What fio 3.33 keeps under this name: its buffer, which holds a few bytes of both ends of the data and no digest.
    Sha512,
    /// SHA3-224.
    Sha3_224,
    /// SHA3-256.
    Sha3_256,
    /// SHA3-384.
    Sha3_384,
    /// SHA3-512.
    Sha3_512,
    /// XXH32.
    Xxhash,
    /// SHA-1.
    Sha1,
    /// A header and a pattern.
    PatternHeader,
    /// A pattern without a header.
    Pattern,
    /// Nothing: data is read back and not looked at.
    Null,
}

impl Protection {
    /// Bytes of the digest on the medium; 0 where there is none.
    pub const fn digest_bytes(self) -> u32 {
        match self {
            Self::Header | Self::PatternHeader | Self::Pattern | Self::Null => 0,
            Self::Crc7 => 1,
            Self::Crc16 => 2,
            Self::Crc32 | Self::Crc32c | Self::Xxhash => 4,
            Self::Crc64 => 8,
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha3_224 => 28,
            Self::Sha3_256 => 32,
            Self::Sha3_384 => 48,
            Self::Sha256 | Self::Sha3_512 => 64,
            Self::Sha512 => 128,
        }
    }

    /// Bytes of header and digest on the medium; 0 where there is no header. An interval has to be longer.
    pub const fn header_bytes(self) -> u32 {
        match self {
            Self::Pattern | Self::Null => 0,
            _ => VERIFY_HEADER_BYTES + self.digest_bytes(),
        }
    }
}

/// Bytes of a header in the format of fio 3.33, without the digest behind it.
pub const VERIFY_HEADER_BYTES: u32 = 40;

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternPiece {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The offset of the operation, 8 bytes, least first.
    Offset,
}

/// What is wrong with a block, in the order in which it is looked for. The index order is fixed: it is used in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MismatchKind {
    /// Nothing but zeroes, as never written or trimmed.
    Zeroed = 0,
    /// No header where one should be.
    NoHeader = 1,
    /// The header is damaged.
    Header = 2,
    /// The header of an interval of another length.
    Length = 3,
    /// The block of another place: a write that went astray, or blocks that changed places.
    Misplaced = 4,
    /// An earlier content of this place: a write that was lost.
    Stale = 5,
    /// Protected by something else than is checked.
    OtherKind = 6,
    /// The data does not match its digest.
    Data = 7,
    /// The data is not the pattern.
    Pattern = 8,
    /// The file ends before the block does.
    Short = 9,
    /// Something else than zeroes where it was trimmed.
    Untrimmed = 10,
}

impl MismatchKind {
    /// How many there are.
    pub const COUNT: usize = 11;
    /// All, in index order.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Zeroed,
        Self::NoHeader,
        Self::Header,
        Self::Length,
        Self::Misplaced,
        Self::Stale,
        Self::OtherKind,
        Self::Data,
        Self::Pattern,
        Self::Short,
        Self::Untrimmed,
    ];

    /// 0 to `COUNT − 1`.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether it is seen in the header, where there is one, before the data is looked at.
    pub const fn is_of_header(self) -> bool {
        match self {
            Self::Zeroed
            | Self::NoHeader
            | Self::Header
            | Self::Length
            | Self::Misplaced
            | Self::Stale
            | Self::OtherKind => true,
            Self::Data | Self::Pattern | Self::Short | Self::Untrimmed => false,
        }
    }

    /// Lower-case name, as serialised.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeroed => "zeroed",
            Self::NoHeader => "no_header",
            Self::Header => "header",
            Self::Length => "length",
            Self::Misplaced => "misplaced",
            Self::Stale => "stale",
            Self::OtherKind => "other_kind",
            Self::Data => "data",
            Self::Pattern => "pattern",
            Self::Short => "short",
            Self::Untrimmed => "untrimmed",
        }
    }
}

/// What verification came to on one worker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerifyTotals {
    /// The reads of the verify phases, which are no part of what was measured.
    pub tally: StreamTally,
    /// How long the verify phases took together.
    #[serde(with = "wire::nanos")]
    pub elapsed: Nanos,
    /// Operations whose data was looked at, wherever they were read.
    pub checked: u64,
    /// Writes that were not read back because a later one covers at least a part of their place.
    pub superseded: u64,
    /// Operations in which something was wrong, by what was found first.
    pub mismatches: Vec<(MismatchKind, u64)>,
    /// Writes that were finished, from the first up to one that was not.
    #[serde(default)]
    pub finished: u64,
    /// The last ones that finished, as many as the queue is deep, the latest last: extent of the worker and offset.
    #[serde(default)]
    pub finished_last: Vec<(u32, u64)>,
}
