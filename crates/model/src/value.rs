//! The types that option values have, and the words that stand for them. How they are read from literals and printed
//! back is in the modules below, by what they describe.

mod basic;
mod demands;
mod errors;
mod load;
mod nodes;
mod operations;
mod places;
mod priority;
mod settling;
mod traces;

use crate::diagnostic::nearest;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
pub use errors::{Tolerated, errno_of};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, Ratio};
pub use nodes::MemoryNodes;
pub use priority::{PriorityPart, PrioritySplit};
pub use settling::{Steady, SteadyBound, SteadyFigure};
use std::fmt::Display;
use std::str::FromStr;
pub use traces::TraceSkips;

/// Declares an option type that is one of a few words.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        $type:ident { $( $(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal $(| $alias:literal)*, )+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type { $( $(#[doc = $variant_doc])+ $variant, )+ }

        impl $type {
            /// The words, in declaration order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// The word of this value.
            pub const fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )+ }
            }
        }

        impl OptionValue for $type {
            fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
                match literal {
                    $( Literal::Text(word) if [$word $(, $alias)*].contains(&word.as_str()) => Ok(Self::$variant), )+
                    other => {
                        let near = match other {
                            Literal::Text(word) => nearest(word, Self::WORDS.iter().copied()),
                            _ => None,
                        };
                        let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
                        Err(format!("{} is not one of {}{near}", other.describe(), Self::WORDS.join(", ")))
                    }
                }
            }
            fn print(&self) -> String { format!("{:?}", self.word()) }
        }
    };
}

mod engine;
pub use engine::{CpuWork, Engine, StatCall};
mod peer;
pub use peer::{PeerAddress, PeerProtocol};
mod verification;
pub use verification::{PatternPiece, VerifyOrder, VerifyPattern, VerifyWhen};

choice! {
    /// What else ends with a worker.
    AtEnd {
        /// Nothing.
        Nothing = "nothing",
        /// All streams of the stage with its `report_group`.
        Group = "group",
        /// All streams of the stage that have started.
        Running = "running",
        /// All streams of the stage.
        Stage = "stage",
        /// The run.
        Run = "run",
    }
}
choice! {
    /// What ends at an error.
    AtError {
        /// The worker that met it.
        Worker = "worker",
        /// All streams of the stage with its `report_group`.
        Group = "group",
        /// All streams of the stage that have started.
        Running = "running",
        /// All streams of the stage.
        Stage = "stage",
        /// The run.
        Run = "run",
    }
}
choice! {
    /// Class of an I/O priority.
    PriorityClass {
        /// Before all others; needs privileges.
        RealTime = "real-time",
        /// The usual one.
        BestEffort = "best-effort",
        /// When nobody else asks.
        Idle = "idle",
    }
}
choice! {
    /// What a target is.
    TargetKind {
        /// Told by what is at the path; a file when nothing is.
        Auto = "auto",
        /// A regular file.
        File = "file",
        /// A block device.
        Block = "block",
        /// A directory tree of many files.
        Tree = "tree",
        /// Completes at once.
        Null = "null",
        /// A simulated device.
        Sim = "sim",
        /// The other end of a connection.
        Peer = "peer",
    }
}
choice! {
    /// What is done to a file before the run.
    Layout {
        /// What is missing is written with real data.
        Written = "written",
        /// Space is allocated, not written.
        Allocated = "allocated",
        /// Space is allocated where there is enough.
        AllocatedIfRoom = "allocated-if-room",
        /// Space is allocated, and the file stays as long as it is.
        Reserved = "reserved",
        /// It is made as long as it is to be, without space.
        Extended = "extended",
        /// Only created.
        Created = "created",
        /// Nothing; it must be there.
        MustExist = "must-exist",
    }
}
choice! {
    /// Whether random operations repeat a block before all were touched.
    Coverage {
        /// Each draw is independent.
        Independent = "independent",
        /// Every block once per pass.
        OncePerPass = "once-per-pass",
        /// Every smallest block once per pass, of several sizes: operations are cut to what is left.
        Map = "map",
    }
}
choice! {
    /// What happens where a region has been gone through.
    FilesEnd {
        /// It begins anew, as often as it takes.
        Anew = "anew",
        /// Random places begin anew, sequential ones where there is one file; a file that has no room left is done.
        Renew = "renew",
        /// A file is done, and when all are, the pass is over.
        Stop = "stop",
    }
}
choice! {
    /// Where the operations of a run go after its first.
    RunKind {
        /// Each behind the one before it.
        Onward = "onward",
        /// To the same place again.
        Again = "again",
    }
}
choice! {
    /// How the kind of an operation of a mix is chosen.
    KindOrder {
        /// By its share, by chance.
        Drawn = "drawn",
        /// The one that is furthest behind its share; where the rate is in bytes, by bytes.
        Even = "even",
        /// Of reads and writes the one that came last, until it has done its share of those before; then by chance. fio's rule.
        Redrawn = "redrawn",
        /// The same, where another pass goes on drawing instead of beginning with the numbers of the first.
        RedrawnOnward = "redrawn-onward",
    }
}
choice! {
    /// Which earlier content a repeating write carries.
    RepeatKind {
        /// Any of the worker's earlier ones.
        Any = "any",
        /// That of the write before it.
        Last = "last",
        /// One of a set that is kept for it.
        WorkingSet = "working-set",
    }
}
choice! {
    /// What the kernel is told about how files will be accessed.
    Advice {
        /// Nothing.
        None = "none",
        /// At random: nothing is read ahead.
        Random = "random",
        /// One after another: more is read ahead.
        Sequential = "sequential",
        /// Once.
        NoReuse = "noreuse",
    }
}
choice! {
    /// Where buffers lie.
    MemoryKind {
        /// Memory of the process.
        Heap = "heap",
        /// A private mapping.
        Mapped = "mapped",
        /// A shared mapping.
        MappedShared = "mapped-shared",
        /// A mapping of huge pages.
        MappedHuge = "mapped-huge",
        /// A System V segment.
        Segment = "segment",
        /// A System V segment of huge pages.
        SegmentHuge = "segment-huge",
    }
}
choice! {
    /// Whether workers keep others off a file while they access it.
    FileLock {
        /// No.
        None = "none",
        /// Everyone else.
        Exclusive = "exclusive",
        /// Reads keep writes off, writes everyone.
        ReadWrite = "read-write",
    }
}
choice! {
    /// Whose sequential position an operation continues from.
    Cursor {
        /// One for all kinds.
        Shared = "shared",
        /// One per kind.
        PerKind = "per-kind",
    }
}
choice! {
    /// How different one write is from the next.
    Freshness {
        /// New content for every write.
        Every = "every",
        /// A few bytes changed in every 512.
        Scrambled = "scrambled",
        /// Always the same.
        Never = "never",
    }
}
choice! {
    /// What a completed write promises.
    Durability {
        /// Nothing.
        None = "none",
        /// Data is stable (`O_DSYNC`).
        Data = "data",
        /// Data and metadata are stable (`O_SYNC`).
        All = "all",
    }
}
choice! {
    /// How several workers of a stream divide its region.
    WorkerRegions {
        /// Sequential: each has its own equal slice; random: all cover the region together.
        Split = "split",
        /// Each works on the whole region for itself, as fio's clones do.
        Same = "same",
    }
}
choice! {
    /// How the CPUs of a stream go to its workers.
    CpusPolicy {
        /// Each worker may run on all of them.
        Shared = "shared",
        /// Each worker runs on one, in turn.
        Split = "split",
    }
}
choice! {
    /// Where in a directory tree the files lie.
    TreeDistribution {
        /// Only in the deepest directories.
        Bottom = "bottom",
        /// In all directories.
        All = "all",
    }
}

choice! {
    /// What written data is protected with.
    Verify {
        /// Nothing.
        None = "none",
        /// MD5 of the data.
        Md5 = "md5",
        /// CRC-64 (Jones).
        Crc64 = "crc64",
        /// CRC-32C, in hardware where there is some.
        Crc32c = "crc32c" | "crc32c-intel",
        /// CRC-32 as POSIX `cksum` has it.
        Crc32 = "crc32",
        /// CRC-16 (ARC).
        Crc16 = "crc16",
        /// CRC-7 (MMC).
        Crc7 = "crc7",
        /// XXH32.
        Xxhash = "xxhash",
        /// SHA-1.
        Sha1 = "sha1",
        /// What fio calls SHA-256: 8 bytes of a hash.
        Sha256 = "sha256",
        /// What fio calls SHA-512: it covers some bytes at both ends of the data only.
        Sha512 = "sha512",
        /// SHA3-224.
        Sha3_224 = "sha3-224",
        /// SHA3-256.
        Sha3_256 = "sha3-256",
        /// SHA3-384.
        Sha3_384 = "sha3-384",
        /// SHA3-512.
        Sha3_512 = "sha3-512",
        /// The header alone: address, number of the write, seed.
        Header = "header" | "meta",
        /// A pattern, without a header.
        Pattern = "pattern",
        /// A header and a pattern.
        PatternHeader = "pattern-header" | "pattern_hdr",
        /// Reads everything back and checks nothing.
        Null = "null",
    }
}
/// A size, or a share of what is there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// This many bytes.
    Bytes(Bytes),
    /// This share.
    Share(Ratio),
}

/// Share of operations that go to a random place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Access {
    /// 0: sequential; 1: random.
    pub random: Ratio,
}

/// Sizes of operations with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockSizes {
    /// Weight (any positive scale; read, per cent that add up to 100, or 1 each), smallest, largest and step; smallest =
    /// largest for a fixed size.
    pub sizes: Vec<(f64, Bytes, Bytes, Bytes)>,
}

impl BlockSizes {
    /// One fixed size.
    pub fn fixed(size: Bytes) -> Self {
        Self { sizes: vec![(1.0, size, size, size)] }
    }
}

/// One line of a mix: a share of the operations with sizes, operation mix and access of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct MixLine {
    /// Share of all operations, per cent; written in a job, those of all lines add up to 100.
    pub share: f64,
    /// Sizes of the line's operations.
    pub block_size: BlockSizes,
    /// Share of reads within the line.
    pub read: Ratio,
    /// Share of trims within the line; the rest are writes.
    pub trim: Ratio,
    /// Access within the line.
    pub access: Access,
    /// What offsets of the line are multiples of, sequential ones too; `None` where they keep to what holds for all.
    pub align: Option<Bytes>,
    /// Bytes that the other end of a connection sends back for each operation of the line; `None`: nothing.
    pub reply: Option<Bytes>,
}

/// A nice value, from −20 to 19.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nice(pub i32);

/// A kind of operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
}

/// Something that holds for all operations together (no direction), or for one kind of them; each at most once.
#[derive(Debug, Clone, PartialEq)]
pub struct ByKind<T>(pub Vec<(Option<Direction>, T)>);

/// When operations are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As fast as slots free up (closed loop).
    Max,
    /// Operations per second of the whole stream.
    Operations(Iops),
    /// Bytes per second of the whole stream.
    Bandwidth(BytesPerSec),
    /// A share of the maximum that an earlier point of the stage found.
    OfMaximum(Ratio),
}

/// Spacing of arrivals at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrival {
    /// `constant`: every 1/rate seconds.
    Constant,
    /// `by-kind`: each kind of operations at a constant pace of its own.
    ByKind,
    /// `poisson`: exponential gaps.
    Poisson,
    /// `uniform`: gaps uniform between 0 and 2/rate.
    Uniform,
    /// `on-off:ON/OFF`: Poisson for exponential times on, nothing for exponential times off.
    OnOff(Nanos, Nanos),
    /// `pareto-on-off:SHAPE:ON/OFF:SOURCES`: the sum of sources with Pareto times on and off, which is self-similar.
    ParetoOnOff(f64, Nanos, Nanos, u32),
    /// `b-model:BIAS:WINDOW`: a cascade of uneven halves.
    BModel(f64, Nanos),
}

/// How a rate changes over a stream's time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RatePiece {
    /// `5k/s for 10s`.
    Hold(Rate, Nanos),
    /// `idle for 10s`.
    Idle(Nanos),
    /// `to 5k/s over 10s`: along a straight line from what was before.
    Ramp(Rate, Nanos),
}

impl RatePiece {
    /// How long it lasts.
    pub const fn length(self) -> Nanos {
        match self {
            Self::Hold(_, time) | Self::Idle(time) | Self::Ramp(_, time) => time,
        }
    }
}

/// Where random operations go.
#[derive(Debug, Clone, PartialEq)]
pub enum RandomDistribution {
    /// Every block alike.
    Uniform,
    /// `zipf:THETA`, `zipf:THETA:CENTER%`: the most popular block is anywhere, or this far into the range.
    Zipf(f64, Option<Ratio>),
    /// `pareto:H`, `pareto:H:CENTER%`, as with `zipf`.
    Pareto(f64, Option<Ratio>),
    /// `normal:DEVIATION%`, around the middle.
    Normal(Ratio),
    /// `normal:DEVIATION%:scattered`, around a middle whose blocks are scattered.
    ScatteredNormal(Ratio),
    /// `zoned:ACCESS%/SPAN%,…`.
    Zoned(Vec<(Ratio, Ratio)>),
    /// `zoned:read ACCESS%/SPAN%,…;write …;trim …`: each kind of operations has zones of its own; without any, all places are
    /// alike.
    ZonedByKind(Box<[Vec<(Ratio, Ratio)>; 3]>),
    /// `hot:ACCESS%/SPAN%`, scattered.
    Hot(Ratio, Ratio),
    /// `reuse:SIZE=HITS%,…`: the share of accesses that a cache of each size serves.
    Reuse(Vec<(Bytes, Ratio)>),
    /// `reuse-walk`.
    ReuseWalk,
    /// `blocks:2,0,1`, `blocks:2,0,1:advancing`: these in turn, from the extent's start or ever further on.
    Listed(Vec<u64>, bool),
}

/// What writes carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentSource {
    /// Incompressible.
    Random,
    /// All zero.
    Zero,
    /// These bytes repeated.
    Pattern(Vec<u8>),
}

/// Windows that are worked on one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zones {
    /// Bytes moved in each.
    pub size: Bytes,
    /// Bytes it has.
    pub range: Bytes,
    /// Bytes between it and the next.
    pub skip: Bytes,
}

/// How `sync_file_range` is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeSync {
    /// Waits first for what is being written already.
    pub wait_before: bool,
    /// Begins to write.
    pub write: bool,
    /// Waits for that.
    pub wait_after: bool,
}

/// In which order a worker visits its files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileOrder {
    /// `round-robin` or `round-robin:N`: N operations on each in turn.
    RoundRobin(u32),
    /// `sequential`: one to its end, then the next.
    Sequential,
    /// `random` or `random:N`: one at random for every N operations.
    Random(u32),
    /// `zipf:THETA:CENTER:N`: the files from the one at the share CENTER of the list on, ever more rarely; 1,024 places each.
    Zipf(f64, Ratio, u32),
    /// `pareto:H:CENTER:N`: the same, self-similar.
    Pareto(f64, Ratio, u32),
    /// `normal:DEVIATION%:CENTER:N`: most often those half the list behind the one at CENTER.
    Normal(Ratio, Ratio, u32),
}

/// Seed of everything random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seed {
    /// The same sequence in every run.
    Fixed(u64),
    /// Another sequence in every run; the record says which.
    Fresh,
}

/// What an I/O error does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// `stop`: the first error ends the run.
    Stop,
    /// A number: errors are counted up to it.
    Count(u64),
}

/// Service time of a simulated device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceTime {
    /// `constant 100us`, or `100us` alone.
    Constant(Nanos),
    /// `exponential 100us`: with this mean.
    Exponential(Nanos),
    /// `uniform 50us..150us`.
    Uniform(Nanos, Nanos),
}

/// A place of a simulated device that is not served as the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OddPlace {
    /// First byte.
    pub from: Bytes,
    /// First byte behind it.
    pub to: Bytes,
    /// How long an operation that touches it takes; `None`: it fails.
    pub takes: Option<Nanos>,
}

/// Lists of values that a stage goes through, first written outermost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sweep {
    /// Option path (`stream.queue_depth`, `stream.NAME.queue_depth`) and the values in order.
    pub dimensions: Vec<(String, Vec<Literal>)>,
}

fn text(literal: &Literal) -> Result<&str, String> {
    match literal {
        Literal::Text(text) => Ok(text),
        Literal::List(_) | Literal::Table(_) => Err(format!("{} is not a text", literal.describe())),
        other => Err(format!("{0} is not a text; in quotes it is: \"{0}\"", other.describe())),
    }
}

/// A quantity with its unit; a bare number is told which units it could have.
fn quantity<T: FromStr>(literal: &Literal) -> Result<T, String>
where
    T::Err: Display,
{
    let bare = match literal {
        Literal::Integer(_) | Literal::Float(_) => Some(literal.describe()),
        _ => None,
    };
    let text = bare.as_deref().map_or_else(|| text(literal), Ok)?;
    text.parse().map_err(|error: T::Err| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StageOptions, StreamOptions, TargetOptions, WorkloadOptions, rows};

    fn read<T: OptionValue>(text: &str) -> Result<T, String> {
        T::read(&Literal::from(text), Kind::Text)
    }

    #[test]
    fn values_read_what_people_write() {
        assert_eq!(read::<Access>("55% random"), Ok(Access { random: Ratio::percent(55.0) }));
        assert_eq!(read::<Amount>("20%"), Ok(Amount::Share(Ratio::percent(20.0))));
        assert_eq!(read::<Rate>("200MB/s"), Ok(Rate::Bandwidth(BytesPerSec(2e8))));
        assert_eq!(read::<Rate>("5k/s"), Ok(Rate::Operations(Iops(5000.0))));
        assert_eq!(read::<Vec<u32>>("0-2,5"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(read::<i64>("-8KiB"), Ok(-8192));
        assert_eq!(read::<ContentSource>("0xdead"), Ok(ContentSource::Pattern(vec![0xde, 0xad])));
        let between = ServiceTime::Uniform(Nanos(50_000), Nanos(1_000_000));
        assert_eq!(read::<ServiceTime>("uniform 50us..1ms"), Ok(between));
        assert_eq!(read::<ServiceTime>("1ms"), Ok(ServiceTime::Constant(Nanos(1_000_000))));
        assert!(read::<ServiceTime>("constant").is_err());
        assert_eq!(
            read::<BlockSizes>("4KiB..64KiB step 8KiB 100%"),
            Ok(BlockSizes { sizes: vec![(1.0, Bytes::kib(4), Bytes::kib(64), Bytes::kib(8))] })
        );
    }

    #[test]
    fn values_refuse_what_has_no_meaning() {
        assert!(read::<Rate>("0").is_err());
        assert!(read::<Rate>("0%").is_err());
        let told = |error: Result<BlockSizes, String>| error.expect_err("it is none");
        for of_nothing in ["0..4KiB", "4KiB..8KiB step 0"] {
            assert!(told(read(of_nothing)).ends_with("by no byte"), "{of_nothing}");
        }
        assert!(told(read("8KiB..4KiB")).contains("ends below where it begins"));
        let below = read::<Rate>("0.1B/s").expect_err("no byte");
        assert!(!below.contains("IOPS"), "{below}");
        assert!(read::<RandomDistribution>("zipf:1").is_err());
        for wrong in [
            "sometimes",
            "on-off",
            "on-off:1ms",
            "on-off:0s/1s",
            "on-off:1us/1s",
            "pareto-on-off:2",
            "pareto-on-off:1.4:1ms/1ms:0",
            "b-model:1",
            "b-model:0.7:1ms",
            "poisson:3",
        ] {
            assert!(read::<Arrival>(wrong).is_err(), "{wrong}");
        }
        for wrong in [
            "1k/s",
            "for 10s",
            "0 for 10s",
            "max for 10s",
            "to 1k/s for 10s",
            "1k/s for 0s",
            "to 1k/s over 10s",
        ] {
            assert!(read::<Vec<RatePiece>>(wrong).is_err(), "{wrong}");
        }
        assert!(read::<RandomDistribution>("zoned:50%/5%,30%/15%").is_err());
        for wrong in
            ["read 50%/50%", "read 100%/100%;100%/100%", "read 100%/100%;read 100%/100%", "sync 100%/100%"]
        {
            assert!(read::<RandomDistribution>(&format!("zoned:{wrong}")).is_err(), "{wrong}");
        }
        assert!(read::<RandomDistribution>("blocks:").is_err());
        assert!(read::<RandomDistribution>("blocks:1:2").is_err());
        assert!(read::<RandomDistribution>("zipf:1.2:130%").is_err());
        for wrong in [
            "hot:80%",
            "hot:80%/0%",
            "hot:0%/20%",
            "reuse:",
            "reuse:1MiB=0%",
            "reuse:1GiB=50%,1MiB=80%",
            "reuse:1MiB=50%,1GiB=40%",
            "reuse:0=50%",
            "reuse:1MiB=0%",
            "reuse-walk:3",
            "normal:5%:spread",
        ] {
            assert!(read::<RandomDistribution>(wrong).is_err(), "{wrong}");
        }
        assert!(read::<BlockSizes>("0").is_err());
        assert!(read::<BlockSizes>("8KiB..4KiB").is_err());
        assert!(read::<ContentSource>("0xabc").is_err());
        assert!(read::<Access>("sometimes").is_err());
    }

    /// Counts are bare; sizes in bytes and rates in operations are what a bare number means everywhere; times and shares
    /// are nothing without a unit.
    #[test]
    fn bare_numbers_are_read_or_told_what_they_lack() {
        fn check<T: OptionValue>(literal: &Literal, says: &str) {
            let reason = T::read(literal, Kind::Text).err().unwrap_or_default();
            assert!(reason.contains(says) && reason.is_empty() == says.is_empty(), "{literal:?}: {reason}");
        }
        check::<Nanos>(&Literal::Integer(5), "5 has no unit; did you mean \"5s\" or \"5min\"");
        check::<Nanos>(&Literal::Float(0.5), "0.5 has no unit; did you mean \"0.5s\"");
        check::<Nanos>(&Literal::Integer(0), "");
        check::<Ratio>(&Literal::Integer(70), "70 has no unit; did you mean \"70%\"?");
        check::<Ratio>(&Literal::Float(0.7), "did you mean \"70%\"?");
        check::<Access>(&Literal::Integer(55), "did you mean \"55% random\"?");
        check::<Bytes>(&Literal::Integer(4096), "");
        check::<Amount>(&Literal::Integer(4096), "");
        check::<Amount>(&Literal::Float(0.5), "did you mean \"50%\"?");
        check::<BlockSizes>(&Literal::Integer(4096), "");
        check::<Rate>(&Literal::Integer(100), "");
        check::<Engine>(&Literal::from("uring"), "did you mean \"io_uring\"?");
        check::<String>(&Literal::Integer(5), "in quotes it is: \"5\"");
    }

    #[test]
    fn values_print_what_reads_back() {
        fn check<T: OptionValue + PartialEq + std::fmt::Debug>(text: &str) {
            let value: T = read(text).unwrap();
            let printed = value.print();
            assert_eq!(read::<T>(printed.trim_matches(['"', '[', ']'])).unwrap(), value, "{printed}");
        }
        check::<Access>("55% random");
        check::<Rate>("12.5/s");
        check::<Rate>("200MB/s");
        check::<RandomDistribution>("zoned:50%/5%,30%/15%,20%/80%");
        check::<RandomDistribution>("zoned:read 50%/5%,50%/95%;trim 100%/20%,0%/80%");
        check::<RandomDistribution>("blocks:2,0,1");
        check::<RandomDistribution>("blocks:7:advancing");
        check::<RandomDistribution>("zipf:1.2");
        check::<RandomDistribution>("zipf:1.2:30%");
        check::<RandomDistribution>("pareto:0.2:0%");
        check::<RandomDistribution>("normal:20%");
        check::<RandomDistribution>("normal:20%:scattered");
        check::<RandomDistribution>("hot:80%/12.5%");
        check::<RandomDistribution>("reuse:64MiB=50%,1GiB=80%");
        check::<RandomDistribution>("reuse-walk");
        check::<ServiceTime>("uniform 50us..1ms");
        check::<ServiceTime>("exponential 100us");
        check::<BlockSizes>("4KiB..64KiB step 8KiB");
        check::<FileOrder>("random:4");
        check::<Arrival>("on-off:10ms/1500us");
        check::<Arrival>("pareto-on-off:1.4:10ms/90ms:32");
        check::<Arrival>("b-model:0.7:1min");
        check::<Vec<RatePiece>>("1.5k/s for 10s");
        check::<Vec<RatePiece>>("200MB/s for 1500ms");
        check::<FileOrder>("zipf:1.2:0%:1");
        check::<FileOrder>("pareto:0.2:50%:8");
        check::<FileOrder>("normal:10%:0%:1");
        check::<Zones>("8KiB of 16KiB skip 4KiB");
        check::<RangeSync>("wait-before,write,wait-after");
        check::<PeerAddress>("tcp://db1:9000");
        check::<PeerAddress>("udp6://[::1]:1");
        check::<PeerAddress>("unix:/run/bench.sock");
        check::<PrioritySplit>("read 4KiB 50% best-effort 4, write 64KiB 10%");
        check::<Nanos>("90s");
    }

    #[test]
    fn every_row_has_an_example_and_a_sentence() {
        use crate::Options;
        for row in rows() {
            assert!(!row.example.is_empty() && row.doc.trim().contains('.'), "{}", row.path);
        }
        // The four sections share no option name, so that a sweep path is never ambiguous to a reader.
        let mut names: Vec<&str> = Vec::new();
        for rows in
            [StreamOptions::rows(), WorkloadOptions::rows(), TargetOptions::rows(), StageOptions::rows()]
        {
            names.extend(rows.iter().map(crate::Row::name));
        }
        assert!(names.contains(&"queue_depth"));
    }
}
