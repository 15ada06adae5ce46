//! Thresholds: what a figure of a step is to stay above or below, as people write it. Does not know how figures come about.

use crate::question::LatencyGoal;
use fathom_units::{BytesPerSec, Iops};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A bound of one figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Threshold {
    /// Operations per second, at least.
    IopsAbove(f64),
    /// Operations per second, below.
    IopsBelow(f64),
    /// Bytes per second, at least.
    BandwidthAbove(f64),
    /// A response time, at most.
    Latency(LatencyGoal),
    /// Failed operations, below so many.
    ErrorsBelow(u64),
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IopsAbove(rate) => write!(f, "IOPS > {}", Iops(*rate)),
            Self::IopsBelow(rate) => write!(f, "IOPS < {}", Iops(*rate)),
            Self::BandwidthAbove(rate) => write!(f, "bandwidth > {}", BytesPerSec(*rate)),
            Self::Latency(goal) => write!(f, "{goal}"),
            Self::ErrorsBelow(count) => write!(f, "errors < {count}"),
        }
    }
}

impl FromStr for Threshold {
    type Err = String;

    /// Reads `iops>100k`, `bandwidth>500MB/s`, `p99<1ms`, `mean<500us`, `errors<1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text} is no threshold; write for example iops>100k, bandwidth>500MB/s, p99<1ms or errors<1"
            )
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, rest) = text.split_at(at);
        let (is_below, value) = (rest.starts_with('<'), rest[1..].trim_start_matches('=').trim());
        let said = |error: fathom_units::QuantityError| format!("{text}: {error}");
        match (name.trim().to_ascii_lowercase().as_str(), is_below) {
            ("iops", false) => Ok(Self::IopsAbove(value.parse::<Iops>().map_err(said)?.0)),
            ("iops", true) => Ok(Self::IopsBelow(value.parse::<Iops>().map_err(said)?.0)),
            ("bandwidth", false) => Ok(Self::BandwidthAbove(value.parse::<BytesPerSec>().map_err(said)?.0)),
            ("errors", true) => value.parse().map(Self::ErrorsBelow).map_err(|_| wrong()),
            (_, true) => {
                text.parse().map(Self::Latency).map_err(|reason: String| format!("{text}: {reason}"))
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_as_people_write_them() {
        let check = |text: &str, expect: &str| {
            let found =
                text.parse::<Threshold>().map_or_else(|reason| reason, |threshold| threshold.to_string());
            assert!(found.starts_with(expect), "{text}: {found}");
        };
        check("iops>100k", "IOPS > 100k");
        check("IOPS >= 5k/s", "IOPS > 5000");
        check("iops<10", "IOPS < 10.0");
        check("bandwidth>500MB/s", "bandwidth > 500 MB/s");
        check("p99.9<2ms", "p99.9 < 2.00 ms");
        check("mean<100us", "mean < 100 µs");
        check("errors<1", "errors < 1");
        check("p99>2ms", "p99>2ms is no threshold; write");
        check("fast", "fast is no threshold; write");
        check("iops>many", "iops>many: ");
        check("p0<1ms", "p0<1ms: p0 is neither mean nor");
    }
}
