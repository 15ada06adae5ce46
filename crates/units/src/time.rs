//! Durations and instants in nanoseconds.

use crate::text::{QuantityError, number_and_unit, scaled, significant};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration, or an instant as the duration since a stated origin, in nanoseconds. Range 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

const UNITS: &str = "ns, us, ms, s, m (or min), h, d";

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Later than every instant that occurs.
    pub const NEVER: Self = Self(u64::MAX);

    /// `n` whole seconds; [`Nanos::NEVER`] when that does not fit.
    pub const fn secs(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000_000))
    }

    /// `n` milliseconds; [`Nanos::NEVER`] when that does not fit.
    pub const fn millis(n: u64) -> Self {
        Self(n.saturating_mul(1_000_000))
    }

    /// `n` microseconds; [`Nanos::NEVER`] when that does not fit.
    pub const fn micros(n: u64) -> Self {
        Self(n.saturating_mul(1_000))
    }

    /// In seconds, for rates and printing.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self − earlier`, or zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self + by`; stays at [`Nanos::NEVER`] when the sum does not fit.
    #[must_use]
    pub const fn after(self, by: Self) -> Self {
        Self(self.0.saturating_add(by.0))
    }

    /// As it prints, with `µs`, for people: `us` is what files and options have.
    pub fn exact(self) -> String {
        self.to_string().replace("us", "µs")
    }

    /// With three significant figures in a unit that fits, for people: `1.25 ms`, `88 ns`, `2 min 5 s`.
    pub fn approximate(self) -> String {
        let n = self.0 as f64;
        match self.0 {
            0..1_000 => format!("{} ns", self.0),
            1_000..1_000_000 => format!("{} µs", significant(n / 1e3)),
            1_000_000..1_000_000_000 => format!("{} ms", significant(n / 1e6)),
            1_000_000_000..100_000_000_000 => format!("{} s", significant(n / 1e9)),
            _ => {
                let secs = self.0.saturating_add(500_000_000) / 1_000_000_000;
                match (secs / 86_400, secs / 3600 % 24, secs / 60 % 60, secs % 60) {
                    (0, 0, m, s) => format!("{m} min {s} s"),
                    (0, h, m, _) => format!("{h} h {m} min"),
                    (d, h, _, _) => format!("{d} d {h} h"),
                }
            }
        }
    }
}

impl Nanos {
    /// As [`Nanos::approximate`], with more figures where three do not tell the value, for what people asked for: `1.00 ms`,
    /// `1.005 ms`.
    pub fn in_full(self) -> String {
        let short = self.approximate();
        if short.parse() == Ok(self) || self.0 < 1_000 {
            return short;
        }
        let (factor, unit): (u64, _) = match self.0 {
            0..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let width = factor.ilog10() as usize;
        let rest = format!("{:0width$}", self.0 % factor);
        let rest = rest.trim_end_matches('0');
        format!("{}{}{rest} {unit}", self.0 / factor, if rest.is_empty() { "" } else { "." })
    }
}

impl From<Duration> for Nanos {
    /// Durations beyond 584 years become [`Nanos::NEVER`].
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl fmt::Display for Nanos {
    /// Exact, as files and options have it: the largest unit of ns, us, ms, s, min, h in which the value is whole, e.g. `90 s`,
    /// `24 h`. Sentences take [`Nanos::exact`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (factor, unit) = [
            (3_600_000_000_000, "h"),
            (60_000_000_000, "min"),
            (1_000_000_000, "s"),
            (1_000_000, "ms"),
            (1_000, "us"),
            (1, "ns"),
        ]
        .into_iter()
        .find(|&(factor, _)| self.0 >= factor && self.0.is_multiple_of(factor))
        .unwrap_or((1, "ns"));
        f.pad(&format!("{} {unit}", self.0 / factor))
    }
}

impl FromStr for Nanos {
    type Err = QuantityError;

    /// Reads `90s`, `1.5 ms`, `2h30m`, `24h`. A bare number has no meaning (seconds here, microseconds there) and is
    /// refused, except 0.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut total = 0_u64;
        let mut rest = text.trim();
        loop {
            let (value, tail) = number_and_unit(rest)?;
            let unit_end = tail
                .char_indices()
                .find(|&(_, c)| c.is_ascii_digit() || c.is_whitespace())
                .map_or(tail.len(), |(at, _)| at);
            let factor = match &tail[..unit_end] {
                "ns" => 1,
                "us" | "µs" => 1_000,
                "ms" => 1_000_000,
                "s" | "sec" => 1_000_000_000,
                "m" | "min" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "d" => 86_400_000_000_000,
                "" if value == 0.0 => 1,
                "" => {
                    // Seconds to fio and Vdbench, and what a person says without thinking of a unit.
                    let likely = ["s", "min", "ms"].map(|unit| format!("{rest}{unit}")).to_vec();
                    return Err(QuantityError::NoUnit { found: rest.to_owned(), likely });
                }
                other => return Err(QuantityError::UnknownUnit { found: other.to_owned(), units: UNITS }),
            };
            total = scaled(value, factor, text)?
                .checked_add(total)
                .ok_or_else(|| QuantityError::OutOfRange { found: text.to_owned(), range: "584 years" })?;
            rest = tail[unit_end..].trim_start();
            if rest.is_empty() {
                return Ok(Self(total));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        for (text, expect) in [
            ("0", 0),
            ("90s", 90_000_000_000),
            ("1.5 ms", 1_500_000),
            ("2h30m", 9_000_000_000_000),
            ("2 h 30 min", 9_000_000_000_000),
            ("5min", 300_000_000_000),
            ("20us", 20_000),
            ("7d", 604_800_000_000_000),
        ] {
            assert_eq!(text.parse::<Nanos>(), Ok(Nanos(expect)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for text in ["", "5", "s", "-1s", "5 parsecs", "1h 5", "1000000000d"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_without_unit_is_shown_with_likely_ones() {
        for (text, expect) in [
            ("5", "5 has no unit; did you mean \"5s\" or \"5min\" or \"5ms\"?"),
            ("1h 30", "30 has no unit; did you mean \"30s\" or \"30min\" or \"30ms\"?"),
        ] {
            assert_eq!(text.parse::<Nanos>().unwrap_err().to_string(), expect);
        }
    }

    #[test]
    fn approximate_fits_the_magnitude() {
        for (n, expect) in [
            (88, "88 ns"),
            (1_250_000, "1.25 ms"),
            (125_000_000_000, "2 min 5 s"),
            (90_000_000_000, "90.0 s"),
            (86_400_000_000_000, "1 d 0 h"),
        ] {
            assert_eq!(Nanos(n).approximate(), expect);
        }
    }

    #[test]
    fn sentences_and_files_write_microseconds_each_in_their_way() {
        assert_eq!(
            (Nanos(20_000).to_string(), Nanos(20_000).exact()),
            ("20 us".to_owned(), "20 µs".to_owned())
        );
        assert_eq!(Nanos::secs(90).exact(), "90 s");
        for (ns, expect) in [
            (1_000_000, "1.00 ms"),
            (1_005_000, "1.005 ms"),
            (500_000, "500 µs"),
            (1_234_567_891, "1.234567891 s"),
            (1_999, "1.999 µs"),
            (999, "999 ns"),
            (125_000_000_000, "2 min 5 s"),
            (125_500_000_000, "125.5 s"),
        ] {
            assert_eq!(Nanos(ns).in_full(), expect);
        }
    }

    proptest! {
        #[test]
        fn printing_reads_back_exactly(n in 0_u64..1 << 53) {
            prop_assert_eq!(Nanos(n).to_string().parse::<Nanos>(), Ok(Nanos(n)));
        }
    }
}
