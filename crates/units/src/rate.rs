//! Rates: operations and bytes per second.

use crate::text::{QuantityError, number_and_unit, significant};
use crate::{Bytes, Nanos};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Rates that a stream can have, operations per second. Below, times would not fit their 64 bits soon; above, counting the
/// arrivals, be they issued or not, would take all of a worker's time: 2 to 10 ns each.
pub const RATES: RangeInclusive<f64> = 1e-9..=1e8;
/// Arrivals per second that one worker can follow: counting those that come due takes it up to 50 ns each, and at more than
/// this it would do little else.
pub const ARRIVALS_PER_WORKER_MAX: f64 = 2e7;

/// Operations per second. Not negative, not NaN.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Iops(pub f64);

/// Bytes per second. Not negative, not NaN.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct BytesPerSec(pub f64);

impl Iops {
    /// `operations` done in `window`; zero for an empty window.
    pub fn of(operations: u64, window: Nanos) -> Self {
        if window.0 == 0 { Self(0.0) } else { Self(operations as f64 / window.as_secs_f64()) }
    }
}

impl BytesPerSec {
    /// `bytes` moved in `window`; zero for an empty window.
    pub fn of(bytes: Bytes, window: Nanos) -> Self {
        if window.0 == 0 { Self(0.0) } else { Self(bytes.0 as f64 / window.as_secs_f64()) }
    }

    /// In MB/s (10⁶ bytes), as device data sheets print it.
    pub fn megabytes(self) -> f64 {
        self.0 / 1e6
    }

    /// In MiB/s (2²⁰ bytes), as fio prints it first.
    pub fn mebibytes(self) -> f64 {
        self.0 / 1_048_576.0
    }
}

impl fmt::Display for Iops {
    /// `950`, `12.3k`, `1.90M`, `2.10G`: operations per second with 1000-based prefixes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n >= 1e9 => format!("{}G", significant(n / 1e9)),
            n if n >= 1e6 => format!("{}M", significant(n / 1e6)),
            // What would be printed as 10000 is.
            n if n >= 9999.5 => format!("{}k", significant(n / 1e3)),
            n => significant(n),
        };
        f.pad(&text)
    }
}

impl fmt::Display for BytesPerSec {
    /// `12.3 MB/s`, `1.20 GB/s`: 1000-based.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n >= 1e9 => format!("{} GB/s", significant(n / 1e9)),
            n if n >= 1e6 => format!("{} MB/s", significant(n / 1e6)),
            n if n >= 1e3 => format!("{} kB/s", significant(n / 1e3)),
            n => format!("{n:.0} B/s"),
        };
        f.pad(&text)
    }
}

impl FromStr for Iops {
    type Err = QuantityError;

    /// Reads `100`, `100/s`, `5k IOPS`, `1.2M`; prefixes are 1000-based, since these are not bytes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (value, unit) = number_and_unit(text)?;
        let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("IOPS")).unwrap_or(unit).trim_end();
        let factor = match unit {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            other => {
                return Err(QuantityError::UnknownUnit {
                    found: other.to_owned(),
                    units: "/s, IOPS, k/s, M/s, G/s",
                });
            }
        };
        Ok(Self(value * factor))
    }
}

impl FromStr for BytesPerSec {
    type Err = QuantityError;

    /// Reads `200MB/s`, `1GiB/s`; the `/s` is required, so that a size is never taken for a rate.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some(size) = text.trim().strip_suffix("/s") else {
            let found = text.trim();
            let likely = if found.ends_with(['B', 'b']) {
                vec![format!("{found}/s")]
            } else {
                vec![format!("{found}MB/s")]
            };
            return Err(QuantityError::NoUnit { found: found.to_owned(), likely });
        };
        Ok(Self(size.parse::<Bytes>()?.0 as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_and_print() {
        assert_eq!("5k IOPS".parse(), Ok(Iops(5000.0)));
        assert_eq!("100/s".parse(), Ok(Iops(100.0)));
        for (text, rate) in [("1e3", 1e3), ("2.5E+4/s", 2.5e4), ("1e-1k", 100.0)] {
            assert_eq!(text.parse(), Ok(Iops(rate)), "{text}");
        }
        assert!("1e400".parse::<Iops>().is_err() && "1e400B/s".parse::<BytesPerSec>().is_err());
        assert!("1e".parse::<Iops>().is_err() && "1e+/s".parse::<Iops>().is_err());
        assert_eq!("200MB/s".parse(), Ok(BytesPerSec(2e8)));
        assert!("200MB".parse::<BytesPerSec>().is_err());
        assert_eq!(Iops(1_904_000.0).to_string(), "1.90M");
        assert_eq!((Iops(2.1e9).to_string(), "2.1G/s".parse()), ("2.10G".to_owned(), Ok(Iops(2.1e9))));
        assert_eq!(BytesPerSec(123_456_789.0).to_string(), "123 MB/s");
        assert_eq!(Iops::of(300, Nanos::secs(3)), Iops(100.0));
    }
}
