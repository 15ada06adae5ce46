//! What a run is to find out beyond its figures, kept with the record so that every report of it gives the answer. Does not
//! know how the answer is found.

use crate::{Threshold, wire};
use fathom_units::Nanos;
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
    },
    /// Does every step keep these bounds?
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
        write!(f, "{} < {}", self.statistic(), self.limit.approximate())
    }
}

impl FromStr for LatencyGoal {
    type Err = String;

    /// Reads `p99<1ms`, `mean<500us`, and `1ms`, which is the mean's.
    fn from_str(text: &str) -> Result<Self, String> {
        let (statistic, limit) = text.split_once('<').unwrap_or(("mean", text));
        let limit: Nanos =
            limit.trim_start_matches('=').trim().parse().map_err(|error| format!("{error}"))?;
        if limit.0 == 0 {
            return Err(format!("{text}: no operation takes no time; write for example p99<1ms"));
        }
        let quantile = match statistic.trim() {
            "mean" => None,
            other => {
                let percent = other.strip_prefix('p').and_then(|number| number.parse::<f64>().ok());
                let inside = percent.filter(|percent| *percent > 0.0 && *percent < 100.0);
                Some(
                    inside.ok_or_else(|| format!("{other} is neither mean nor a percentile such as p99"))?
                        / 100.0,
                )
            }
        };
        Ok(Self { quantile, limit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        check("max<1ms", "max is neither mean nor a percentile such as p99");
        check("p100<1ms", "p100 is neither mean nor a percentile such as p99");
        check("p99<0ms", "p99<0ms: no operation takes no time; write for example p99<1ms");
    }
}
