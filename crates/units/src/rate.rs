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

    /// As it prints, with up to nine figures where three do not tell the value, for what people asked for: `1000`, `1000.5`, `12.34k`.
    pub fn in_full(self) -> String {
        let short = self.to_string();
        if short.parse().is_ok_and(|Self(told)| is_same(told, self.0)) {
            return short;
        }
        let (scaled, prefix) = self.scaled();
        format!("{}{prefix}", figures(scaled))
    }

    /// In the unit that it prints in, with its prefix.
    fn scaled(self) -> (f64, &'static str) {
        match self.0 {
            n if n >= 1e9 => (n / 1e9, "G"),
            n if n >= 1e6 => (n / 1e6, "M"),
            // What would be printed as 10000 is.
            n if n >= 9999.5 => (n / 1e3, "k"),
            n => (n, ""),
        }
    }
}

/// Whether two rates differ by rounding alone.
fn is_same(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * other.abs()
}

/// Nine significant figures, without zeros at the end.
fn figures(value: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 9")]
    let decimals = (8.0 - value.abs().max(1.0).log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

impl BytesPerSec {
    /// `bytes` moved in `window`; zero for an empty window.
    pub fn of(bytes: Bytes, window: Nanos) -> Self {
        if window.0 == 0 { Self(0.0) } else { Self(bytes.0 as f64 / window.as_secs_f64()) }
    }

    /// As it prints, with up to nine figures where three do not tell the value, for what people asked for: `4.10 MB/s`, `4.096 MB/s`.
    pub fn in_full(self) -> String {
        let short = self.to_string();
        if short.parse().is_ok_and(|Self(told)| is_same(told, self.0)) {
            return short;
        }
        let (scaled, unit) = self.scaled();
        format!("{} {unit}", figures(scaled))
    }

    /// In the unit that it prints in, with its name.
    fn scaled(self) -> (f64, &'static str) {
        match self.0 {
            n if n >= 1e9 => (n / 1e9, "GB/s"),
            n if n >= 1e6 => (n / 1e6, "MB/s"),
            n if n >= 1e3 => (n / 1e3, "kB/s"),
            n => (n, "B/s"),
        }
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
        let (scaled, prefix) = self.scaled();
        f.pad(&format!("{}{prefix}", significant(scaled)))
    }
}

impl fmt::Display for BytesPerSec {
    /// `12.3 MB/s`, `1.20 GB/s`: 1000-based.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scaled, unit) = self.scaled();
        let text = if self.0 >= 1e3 { significant(scaled) } else { format!("{scaled:.0}") };
        f.pad(&format!("{text} {unit}"))
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

    #[test]
    fn what_was_asked_for_is_told_in_full() {
        for (rate, text) in [
            (1000.0, "1000"),
            (1000.5, "1000.5"),
            (0.123_456, "0.123456"),
            (12_340.0, "12.34k"),
            (12_300.0, "12.3k"),
            (1_234_567_890.0, "1.23456789G"),
            (1e9 / 3.0, "333.333333M"),
        ] {
            assert_eq!(Iops(rate).in_full(), text);
        }
        for (rate, text) in
            [(4.1e6, "4.10 MB/s"), (4_096_000.0, "4.096 MB/s"), (12.5, "12.5 B/s"), (0.0, "0 B/s")]
        {
            assert_eq!(BytesPerSec(rate).in_full(), text);
        }
    }
}
