//! What a run is to find out beyond its figures, kept with the record so that every report of it gives the answer. Does not
//! know how the answer is found.

use crate::{Threshold, TrimBy, wire};
use fathom_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A question that a run answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Where does it saturate, and at which load does latency reach these limits?
    Curve {
        /// Limits asked about.
        limits: Vec<LatencyGoal>,
        /// What grows.
        #[serde(default)]
        over: LoadAxis,
    },
    /// Does every step keep these bounds? Written by 0.1 alone; they are `thresholds` of the run's start since.
    Thresholds {
        /// The bounds.
        thresholds: Vec<Threshold>,
    },
    /// Does it carry a rate within these limits; or, without a rate, which is the highest that does?
    Objective {
        /// Operations per second; absent: the highest is looked for.
        rate: Option<f64>,
        /// Limits to keep.
        goals: Vec<LatencyGoal>,
    },
    /// What do the targets do in the long run, by a test of SNIA's PTS?
    Steady(SteadyQuestion),
    /// How fast is it read over all its places, and where is it slow or cannot be read?
    Scan(ScanQuestion),
}

/// What a load curve goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadAxis {
    /// Operations in flight, in a closed loop.
    #[default]
    Depth,
    /// Operations per second that are offered, in an open loop.
    Rate,
}

impl LoadAxis {
    /// Name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depth => "depth",
            Self::Rate => "rate",
        }
    }
}

impl FromStr for LoadAxis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Depth, Self::Rate]
            .into_iter()
            .find(|axis| axis.name() == text)
            .ok_or_else(|| format!("{text} is no load; there are depth and rate"))
    }
}

/// A scan as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanQuestion {
    /// The target as it was named.
    pub target: String,
    /// Its size.
    #[serde(with = "wire::bytes")]
    pub size: Bytes,
    /// Places whose speed is told apart.
    pub zones: u32,
    /// How much is read at each; absent: all of the target.
    pub sample_bytes: Option<u64>,
    /// Bytes of one read.
    pub block: u32,
    /// Smallest read, bytes.
    pub sector: u32,
    /// From which latency a read is slow.
    #[serde(with = "wire::nanos")]
    pub slow: Nanos,
    /// Upper limits of the classes of latency in nanoseconds, ascending, each the lower one of the next; what is not below
    /// the last is a class of its own.
    #[serde(default = "usual_classes")]
    pub classes_ns: Vec<u64>,
    /// Rotations a minute that the limits come out of, where they do.
    #[serde(default)]
    pub rpm: Option<u32>,
    /// In which order the places are read.
    #[serde(default)]
    pub order: ScanOrder,
    /// Random reads after each place, for the access time.
    #[serde(default)]
    pub access_reads: u32,
    /// Bytes of each.
    #[serde(default)]
    pub access_block: u32,
    /// Reads of the first block again and again, before all others.
    #[serde(default)]
    pub burst_reads: u32,
    /// How often a block that stays slow is read more: the median of these is what it takes.
    #[serde(default)]
    pub retries: u32,
}

impl ScanQuestion {
    /// Limits of the classes that are told unless others are asked for.
    pub const CLASSES_MS: [u64; 5] = [3, 10, 50, 150, 500];

    /// Of a target of so many bytes: places alone, in blocks of 1 MiB.
    pub fn of(target: &str, size: Bytes) -> Self {
        Self {
            target: target.to_owned(),
            size,
            zones: 128,
            sample_bytes: None,
            block: 1 << 20,
            sector: 512,
            slow: Nanos::millis(150),
            classes_ns: usual_classes(),
            rpm: None,
            order: ScanOrder::Linear,
            access_reads: 0,
            access_block: 4096,
            burst_reads: 0,
            retries: 0,
        }
    }
}

/// Records of before there were others have these.
fn usual_classes() -> Vec<u64> {
    ScanQuestion::CLASSES_MS.iter().map(|ms| Nanos::millis(*ms).0).collect()
}

/// In which order a scan reads the places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanOrder {
    /// From the first to the last.
    #[default]
    Linear,
    /// From the last to the first.
    Reverse,
    /// The first, the last, the second, the last but one, and so on: the longest ways first.
    Butterfly,
    /// Any, each once.
    Random,
}

impl ScanOrder {
    /// All.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Reverse, Self::Butterfly, Self::Random];

    /// Name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Reverse => "reverse",
            Self::Butterfly => "butterfly",
            Self::Random => "random",
        }
    }
}

impl FromStr for ScanOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|order| order.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|order| order.name()).collect();
            format!("{text} is no order; there are {}", names.join(", "))
        })
    }
}

/// Single reads of a step of a scan, which tell what a histogram does not: on which side of a limit each was, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Singles {
    /// Reads without an error by class of latency, exactly; one class more than there are limits.
    pub classes: Vec<u64>,
    /// First byte and nanoseconds of each, in the order of completion; none where there were more than are kept.
    pub reads: Vec<(u64, u64)>,
}

impl Singles {
    /// Reads of a step that are kept by themselves at most: those of access times are, those of a place are not.
    pub const KEPT_MAX: u64 = 64;

    /// Of no read yet, with so many limits.
    pub fn new(limits: usize) -> Self {
        Self { classes: vec![0; limits + 1], reads: Vec::new() }
    }

    /// Adds a read at a byte that took so long; classes are half open, `[low, high)`.
    pub fn add(&mut self, limits_ns: &[u64], at: u64, took_ns: u64) {
        self.classes[limits_ns.partition_point(|limit| *limit <= took_ns)] += 1;
        if self.classes.iter().sum::<u64>() <= Self::KEPT_MAX {
            self.reads.push((at, took_ns));
        } else {
            self.reads.clear();
        }
    }
}

/// A test of SNIA's Performance Test Specification as it was asked for: with the targets all that its steps come out of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteadyQuestion {
    /// Which test.
    pub test: SteadyTest,
    /// For which kind of device.
    #[serde(default)]
    pub class: DeviceClass,
    /// What all its times are divided by; 1 is the standard's. Any other is not the standard's test.
    pub haste: u32,
    /// The targets as they were named.
    pub targets: Vec<String>,
    /// Part of each target that is used, as it was given; absent: all of it.
    pub size: Option<String>,
    /// The engine as it was given; absent: chosen.
    pub engine: Option<String>,
    /// Whether the page cache is passed by, as it was given; absent: where that is possible.
    pub direct: Option<bool>,
    /// Whether all of the targets is trimmed before.
    pub purge: bool,
    /// How.
    #[serde(default)]
    pub purge_by: TrimBy,
    /// What purged the targets before the test, in words.
    #[serde(default)]
    pub purged_before: Option<String>,
    /// Smaller blocks cannot be read and written here, bytes: the cells with such are left out.
    pub block_min: u32,
    /// Whether a latency test ends with the histogram run that PTS 2.0 has; absent in records from before fathom did it, whose
    /// tests came to their end without.
    #[serde(default)]
    pub has_histogram: bool,
    /// The same of a composite test, and histograms at its operating points.
    #[serde(default)]
    pub has_operating_points: bool,
    /// The active range: how much of each target the loads go to, from its beginning, per cent; a purge goes to all of it.
    #[serde(default = "all_of_it")]
    pub active_percent: u32,
    /// The part of what targets hold that the whole test is kept to, its purge included; absent: all is used.
    #[serde(default)]
    pub part: Option<CapacityPart>,
    /// The run that the first steps were taken over from.
    pub resumed: Option<String>,
}

/// Records of before there was an active range had all of what their `size` says.
const fn all_of_it() -> u32 {
    100
}

/// A part of the user capacity of a target; of several targets, of the one that is used least of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityPart {
    /// What is purged, written and read of it.
    #[serde(with = "wire::bytes")]
    pub used: Bytes,
    /// All of it; more than `used`.
    #[serde(with = "wire::bytes")]
    pub capacity: Bytes,
}

/// The two kinds of devices that PTS knows, which it loads differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceClass {
    /// PTS-E: all of the device, at four threads of depth 32, its write cache off.
    #[default]
    Enterprise,
    /// PTS-C: three quarters of it, at two threads of depth 16, its write cache on.
    Client,
}

impl DeviceClass {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enterprise => "enterprise",
            Self::Client => "client",
        }
    }

    /// The standard that they are tested by.
    pub const fn standard(self) -> &'static str {
        match self {
            Self::Enterprise => "PTS-E",
            Self::Client => "PTS-C",
        }
    }

    /// How much of the user capacity its tests go to, per cent.
    pub const fn active_percent(self) -> u32 {
        match self {
            Self::Enterprise => 100,
            Self::Client => 75,
        }
    }
}

impl FromStr for DeviceClass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Enterprise, Self::Client]
            .into_iter()
            .find(|class| class.name() == text)
            .ok_or_else(|| format!("{text} is no class of devices; there are enterprise and client"))
    }
}

/// The tests of PTS 2.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyTest {
    /// Random IOPS of block sizes and mixes of reads and writes.
    Iops,
    /// Sequential throughput.
    Throughput,
    /// Response times of single random operations.
    Latency,
    /// Write saturation: random writes until nothing changes any more.
    Wsat,
    /// Host idle recovery: what pauses between writes bring.
    Hir,
    /// Cross stimulus recovery: what another load leaves behind.
    Xsr,
    /// A composite of block sizes, over numbers of threads and queue depths.
    Composite,
    /// Demand intensity and response time histogram, over numbers of threads and queue depths.
    Dirth,
}

impl SteadyTest {
    /// All, in the order of the standard.
    pub const ALL: [Self; 8] = [
        Self::Iops,
        Self::Throughput,
        Self::Latency,
        Self::Wsat,
        Self::Hir,
        Self::Xsr,
        Self::Composite,
        Self::Dirth,
    ];

    /// Name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::Wsat => "wsat",
            Self::Hir => "hir",
            Self::Xsr => "xsr",
            Self::Composite => "composite",
            Self::Dirth => "dirth",
        }
    }
}

impl FromStr for SteadyTest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|test| test.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|test| test.name()).collect();
            format!("{text} is no test; there are {}", names.join(", "))
        })
    }
}

/// A limit of latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyGoal {
    /// Which quantile, 0 to 1; absent: the mean.
    pub quantile: Option<f64>,
    /// What it is to stay below.
    #[serde(with = "wire::nanos")]
    pub limit: Nanos,
}

impl LatencyGoal {
    /// `mean`, `p99`, `p99.9`.
    pub fn statistic(&self) -> String {
        match self.quantile {
            None => "mean".to_owned(),
            Some(q) => format!("p{}", (q * 1e8).round() / 1e6),
        }
    }
}

impl fmt::Display for LatencyGoal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} < {}", self.statistic(), self.limit.in_full())
    }
}

impl FromStr for LatencyGoal {
    type Err = String;

    /// Reads `p99<1ms`, `mean<500us`, and `1ms`, which is the mean's.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((statistic, limit)) =
            text.split_once(['>', '=']).filter(|(before, _)| !before.contains('<'))
        {
            let (statistic, limit) = (statistic.trim(), limit.trim_start_matches(['>', '=']).trim());
            quantile(statistic)?;
            if limit.is_empty() {
                return Err(format!("{text}: there is no limit; write for example p99<1ms"));
            }
            return Err(format!("{text}: a latency is kept by staying below it; write {statistic}<{limit}"));
        }
        let (statistic, limit) = text.split_once('<').unwrap_or(("mean", text));
        let limit: Nanos =
            limit.trim_start_matches('=').trim().parse().map_err(|error| format!("{error}"))?;
        if limit.0 == 0 {
            return Err(format!("{text}: no operation takes no time; write for example p99<1ms"));
        }
        Ok(Self { quantile: quantile(statistic.trim())?, limit })
    }
}

/// The quantile that a statistic of latency names, 0 to 1; of the mean, which is meant where none is named, none.
fn quantile(statistic: &str) -> Result<Option<f64>, String> {
    if matches!(statistic, "mean" | "") {
        return Ok(None);
    }
    let percent = statistic.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
    let inside = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
    let percent =
        inside.ok_or_else(|| format!("{statistic} is neither mean nor a percentile such as p99"))?;
    Ok(Some(percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_half_open_to_the_nanosecond() {
        let limits = usual_classes();
        let mut singles = Singles::new(limits.len());
        for ns in [1, 2_999_999, 3_000_000, 9_999_999, 10_000_000, 149_999_999, 150_000_000, 500_000_000] {
            singles.add(&limits, 4096, ns);
        }
        assert_eq!(singles.classes, [2, 2, 1, 1, 1, 1]);
        assert_eq!(singles.reads[2], (4096, 3_000_000));
        (0..Singles::KEPT_MAX).for_each(|_| singles.add(&limits, 0, 1));
        assert_eq!((singles.reads.len(), singles.classes[0]), (0, 66), "too many to keep, all counted");
    }

    #[test]
    fn goals_as_people_write_them() {
        let check = |text: &str, expect: &str| {
            let found = text.parse::<LatencyGoal>().map_or_else(|reason| reason, |goal| goal.to_string());
            assert_eq!(found, expect, "{text}");
        };
        check("p99<1ms", "p99 < 1.00 ms");
        check("p99.9 <= 500us", "p99.9 < 500 µs");
        check("mean<2ms", "mean < 2.00 ms");
        check("1ms", "mean < 1.00 ms");
        check("mean<1005us", "mean < 1.005 ms");
        check("max<1ms", "max is neither mean nor a percentile such as p99");
        check("p100<1ms", "p100 is neither mean nor a percentile such as p99");
        check("p99>5ms", "p99>5ms: a latency is kept by staying below it; write p99<5ms");
        check("mean >= 5ms", "mean >= 5ms: a latency is kept by staying below it; write mean<5ms");
        check("<5ms", "mean < 5.00 ms");
        check(">5ms", ">5ms: a latency is kept by staying below it; write <5ms");
        check("p99=", "p99=: there is no limit; write for example p99<1ms");
        check("iops>5", "iops is neither mean nor a percentile such as p99");
        check("p99=5ms", "p99=5ms: a latency is kept by staying below it; write p99<5ms");
        check("p99<0ms", "p99<0ms: no operation takes no time; write for example p99<1ms");
    }
}
