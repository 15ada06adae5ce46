//! Bounds of figures as people write them: thresholds, which a step keeps or breaches as a whole, and conditions, which end a
//! run when they hold for a while. One syntax for both; does not know how figures come about.

use crate::question::LatencyGoal;
use crate::tally::OperationKind;
use crate::wire;
use fathom_units::{BytesPerSec, Iops, Nanos};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What a bound is about. Latencies are response times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundFigure {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency, seconds.
    Mean,
    /// A quantile of latencies, from 0 to 1, seconds.
    Quantile(f64),
    /// Longest latency, seconds.
    Max,
    /// Failed operations.
    Errors,
}

/// A bound of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Of operations of this kind; absent: of all.
    pub kind: Option<OperationKind>,
    /// What is bounded.
    pub figure: BoundFigure,
    /// Whether it is to be above the limit; else below.
    pub is_above: bool,
    /// The limit, in the figure's unit.
    pub limit: f64,
}

impl Bound {
    /// Whether a figure is on the bound's side of the limit, and not on it.
    pub fn holds(&self, found: f64) -> bool {
        if self.is_above { found > self.limit } else { found < self.limit }
    }

    /// A figure of this kind, for people, with as many digits as tell it.
    pub fn in_full(&self, found: f64) -> String {
        match self.figure {
            BoundFigure::Iops => Iops(found).in_full(),
            BoundFigure::Bandwidth => BytesPerSec(found).in_full(),
            BoundFigure::Errors => format!("{found:.0}"),
            BoundFigure::Mean | BoundFigure::Quantile(_) | BoundFigure::Max => latency(found).in_full(),
        }
    }

    /// A figure of this kind, for people.
    pub fn print(&self, found: f64) -> String {
        match self.figure {
            BoundFigure::Iops => Iops(found).to_string(),
            BoundFigure::Bandwidth => BytesPerSec(found).to_string(),
            BoundFigure::Errors => format!("{found:.0}"),
            BoundFigure::Mean | BoundFigure::Quantile(_) | BoundFigure::Max => latency(found).approximate(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a latency: positive, below 2^63 ns"
)]
fn latency(seconds: f64) -> Nanos {
    Nanos((seconds * 1e9).round() as u64)
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, figure, is_above, limit } = self;
        if let Some(kind) = kind {
            write!(f, "{}.", kind.name())?;
        }
        match figure {
            BoundFigure::Iops => f.write_str("IOPS")?,
            BoundFigure::Bandwidth => f.write_str("bandwidth")?,
            BoundFigure::Mean => f.write_str("mean")?,
            BoundFigure::Quantile(q) => write!(f, "p{}", (q * 1e8).round() / 1e6)?,
            BoundFigure::Max => f.write_str("max")?,
            BoundFigure::Errors => f.write_str("errors")?,
        }
        let limit = self.in_full(*limit);
        write!(f, " {} {limit}", if *is_above { '>' } else { '<' })
    }
}

impl FromStr for Bound {
    type Err = String;

    /// Reads `iops>100k`, `read.p99 < 1ms`, `errors > 0`; `>=` and `<=` are the same as `>` and `<`, but for errors, which are counted.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text} is no bound; write for example iops>100k, bandwidth>500MB/s, read.p99<1ms or errors<1"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, rest) = text.split_at(at);
        let is_above = rest.starts_with('>');
        let (is_or_equal, value) =
            rest[1..].strip_prefix('=').map_or((false, &rest[1..]), |value| (true, value));
        let value = value.trim();
        let name = name.trim().to_ascii_lowercase();
        let (kind, name) = match name.split_once('.') {
            Some((kind, figure)) if !kind.starts_with('p') => {
                let kinds = [OperationKind::Read, OperationKind::Write, OperationKind::Trim];
                let kind = kinds.into_iter().find(|known| known.name() == kind);
                let reason = || format!("{text}: a bound is of read, write or trim, or of all");
                (Some(kind.ok_or_else(reason)?), figure.to_owned())
            }
            _ => (None, name),
        };
        let is_statistic = name == "mean"
            || name.strip_prefix('p').is_some_and(|of| of.starts_with(|c: char| c.is_ascii_digit()));
        if !is_statistic && !["iops", "bandwidth", "errors", "max"].contains(&name.as_str()) {
            return Err(format!(
                "{text}: there is no figure \"{name}\"; there are iops, bandwidth, mean, percentiles such as p99, max and errors, \
                 also of read., write. or trim.; write for example read.p99<1ms"
            ));
        }
        let said = |error: fathom_units::QuantityError| format!("{text}: {error}");
        let (figure, limit) = match name.as_str() {
            "iops" => (BoundFigure::Iops, value.parse::<Iops>().map_err(said)?.0),
            "bandwidth" => (BoundFigure::Bandwidth, value.parse::<BytesPerSec>().map_err(said)?.0),
            "errors" => {
                let count = f64::from(value.parse::<u32>().map_err(|_| wrong())?);
                // Counts of which one more or less is another verdict.
                let limit = match (is_or_equal, is_above) {
                    (false, _) => count,
                    (true, true) => count - 1.0,
                    (true, false) => count + 1.0,
                };
                if limit < 0.0 {
                    return Err(format!("{text}: there are never fewer; write for example errors>0"));
                }
                (BoundFigure::Errors, limit)
            }
            "max" => (BoundFigure::Max, value.parse::<Nanos>().map_err(said)?.as_secs_f64()),
            statistic => {
                let said = |reason: String| format!("{text}: {reason}");
                let goal: LatencyGoal = format!("{statistic}<{value}").parse().map_err(said)?;
                (goal.quantile.map_or(BoundFigure::Mean, BoundFigure::Quantile), goal.limit.as_secs_f64())
            }
        };
        if !is_above && limit <= 0.0 {
            let instead = match figure {
                BoundFigure::Errors => "errors<1",
                BoundFigure::Iops => "iops>1k",
                BoundFigure::Bandwidth => "bandwidth>1MB/s",
                BoundFigure::Mean | BoundFigure::Quantile(_) | BoundFigure::Max => "max<1s",
            };
            return Err(format!("{text}: nothing is below 0; write for example {instead}"));
        }
        Ok(Self { kind, figure, is_above, limit })
    }
}

/// What a step has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Operations per second, at least.
    IopsAbove(f64),
    /// Operations per second, at most.
    IopsBelow(f64),
    /// Bytes per second, at least.
    BandwidthAbove(f64),
    /// A response time, at most.
    Latency(LatencyGoal),
    /// Failed operations, below so many.
    ErrorsBelow(u64),
    /// Any other figure on its side of the limit, or on it.
    Bound(Bound),
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IopsAbove(rate) => write!(f, "IOPS > {}", Iops(*rate).in_full()),
            Self::IopsBelow(rate) => write!(f, "IOPS < {}", Iops(*rate).in_full()),
            Self::BandwidthAbove(rate) => write!(f, "bandwidth > {}", BytesPerSec(*rate).in_full()),
            Self::Latency(goal) => write!(f, "{goal}"),
            Self::ErrorsBelow(count) => write!(f, "errors < {count}"),
            Self::Bound(bound) => write!(f, "{bound}"),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    /// Reads `iops>100k`, `bandwidth>500MB/s`, `p99<1ms`, `write.mean<500us`, `errors<1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let bound: Bound = text.parse()?;
        Ok(match bound {
            Bound { kind: None, figure: BoundFigure::Iops, is_above: true, limit } => Self::IopsAbove(limit),
            Bound { kind: None, figure: BoundFigure::Iops, is_above: false, limit } => Self::IopsBelow(limit),
            Bound { kind: None, figure: BoundFigure::Bandwidth, is_above: true, limit } => {
                Self::BandwidthAbove(limit)
            }
            Bound {
                kind: None,
                figure: BoundFigure::Mean | BoundFigure::Quantile(_),
                is_above: false,
                limit: _,
            } => Self::Latency(text.parse()?),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it was read as a whole number"
            )]
            Bound { kind: None, figure: BoundFigure::Errors, is_above: false, limit } => {
                Self::ErrorsBelow(limit as u64)
            }
            other => Self::Bound(other),
        })
    }
}

/// What ends a run: a bound that holds in every interval for so long; one of a percentile in every so many as tell it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// What has to hold.
    pub bound: Bound,
    /// For how long; 0: in one interval.
    #[serde(with = "wire::nanos")]
    pub hold: Nanos,
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bound, hold } = self;
        if *hold == Nanos::ZERO {
            write!(f, "{bound}")
        } else {
            write!(f, "{bound} for {}", hold.approximate())
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    /// Reads `read.p99 > 10ms for 5s`, `errors > 0`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_end().ends_with(" for") {
            return Err(format!(
                "{text}: it does not say for how long; write for example {} 5s",
                text.trim_end()
            ));
        }
        let (bound, hold) = match text.split_once(" for ") {
            Some((bound, hold)) => {
                (bound, hold.trim().parse::<Nanos>().map_err(|error| format!("{text}: {error}"))?)
            }
            None => (text, Nanos::ZERO),
        };
        Ok(Self { bound: bound.trim().parse()?, hold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: FromStr<Err = String> + fmt::Display>(text: &str, expect: &str) {
        let found = text.parse::<T>().map_or_else(|reason| reason, |read| read.to_string());
        assert!(found.starts_with(expect), "{text}: {found}");
    }

    #[test]
    fn thresholds_as_people_write_them() {
        let check = check::<Threshold>;
        check("iops>100k", "IOPS > 100k");
        check("IOPS >= 5k/s", "IOPS > 5000");
        check("iops<10", "IOPS < 10.0");
        check("bandwidth>500MB/s", "bandwidth > 500 MB/s");
        check("bandwidth<500MB/s", "bandwidth < 500 MB/s");
        check("p99.9<2ms", "p99.9 < 2.00 ms");
        check("mean<100us", "mean < 100 µs");
        check("write.p99.9 < 2ms", "write.p99.9 < 2.00 ms");
        check("read.iops>1k", "read.IOPS > 1000");
        check("max<1s", "max < 1.00 s");
        check("errors<1", "errors < 1");
        check("p99>2ms", "p99 > 2.00 ms");
        check("fast", "fast is no bound; write");
        check("errors<0", "errors<0: nothing is below 0; write for example errors<1");
        check("errors<=0", "errors < 1");
        check("write.errors <= 2", "write.errors < 3");
        check("errors>=1", "errors > 0");
        check("errors>=0", "errors>=0: there are never fewer; write for example errors>0");
        check("errors<==1", "errors<==1 is no bound");
        check("write.iops<0", "write.iops<0: nothing is below 0; write for example iops>1k");
        check("max<0ms", "max<0ms: nothing is below 0; write for example max<1s");
        check("errors>0", "errors > 0");
        check("iops>many", "iops>many: ");
        check("p0<1ms", "p0<1ms: p0 is neither mean nor");
        check(
            "bogus<1",
            "bogus<1: there is no figure \"bogus\"; there are iops, bandwidth, mean, percentiles",
        );
        check("write.pace<1", "write.pace<1: there is no figure \"pace\"");
        check("<1ms", "<1ms: there is no figure \"\"");
        check("sync.iops>1", "sync.iops>1: a bound is of read, write or trim");
    }

    #[test]
    fn conditions_as_people_write_them() {
        let check = check::<Condition>;
        check("read.p99 > 10ms for 5s", "read.p99 > 10.0 ms for 5.00 s");
        check("errors > 0", "errors > 0");
        check("iops < 1000 for 10s", "IOPS < 1000 for 10.0 s");
        check("iops < 1000 for ever", "iops < 1000 for ever: ");
        check("for 10s", "for 10s is no bound");
        check("iops>1k for", "iops>1k for: it does not say for how long; write for example iops>1k for 5s");
        check("errors>0 for ", "errors>0 for : it does not say for how long");
    }

    /// What older records hold reads the same.
    #[test]
    fn the_plain_ones_are_kept_as_they_were() {
        for (text, expect) in [
            ("iops>100", r#"{"iops_above":100.0}"#),
            ("bandwidth>1MB/s", r#"{"bandwidth_above":1000000.0}"#),
            ("errors<2", r#"{"errors_below":2}"#),
        ] {
            let read: Threshold = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), expect);
        }
    }
}
