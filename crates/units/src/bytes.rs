//! Sizes and offsets in bytes.

use crate::text::{QuantityError, number_and_unit, scaled};
use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

/// A size or an offset, in bytes. Prints with a 1024-based unit when that is exact, else as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(pub u64);

/// What the messages offer.
const UNITS: &str = "B, KiB, MiB, GiB, TiB, PiB (1024-based), kB, MB, GB, TB, PB (1000-based)";

const BINARY: [(&str, u64); 6] =
    [("PiB", 1 << 50), ("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// `n` KiB; the largest size where that does not fit.
    pub const fn kib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 10))
    }

    /// `n` MiB; the largest size where that does not fit.
    pub const fn mib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 20))
    }

    /// `n` GiB; the largest size where that does not fit.
    pub const fn gib(n: u64) -> Self {
        Self(n.saturating_mul(1 << 30))
    }

    /// The largest multiple of `unit` that is not above `self`; `self` for a `unit` of 0 or 1.
    pub const fn round_down(self, unit: Self) -> Self {
        if unit.0 <= 1 { self } else { Self(self.0 - self.0 % unit.0) }
    }

    /// With one decimal in the largest fitting 1024-based unit, for people: `1.5 GiB`. Not exact; never parse it back.
    pub fn approximate(self) -> String {
        for (unit, factor) in BINARY {
            if self.0 >= factor && factor > 1 {
                let value = self.0 as f64 / factor as f64;
                return if value >= 100.0 || self.0.is_multiple_of(factor) {
                    format!("{value:.0} {unit}")
                } else {
                    format!("{value:.1} {unit}")
                };
            }
        }
        format!("{} B", self.0)
    }
}

impl Bytes {
    /// A place: in whole units where it is so many, in four figures where not, `1.188 GiB`: neighbouring places of a long list differ in
    /// them.
    pub fn as_place(self) -> String {
        let large = BINARY.into_iter().find(|&(_, factor)| self.0 >= factor && factor > 1);
        let Some((unit, factor)) = large.filter(|(_, factor)| !self.0.is_multiple_of(*factor)) else {
            return self.approximate();
        };
        let value = self.0 as f64 / factor as f64;
        let decimals = match value {
            value if value < 10.0 => 3,
            value if value < 100.0 => 2,
            _ => 1,
        };
        format!("{value:.decimals$} {unit}")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, factor) in BINARY {
            if self.0 >= factor && self.0.is_multiple_of(factor) {
                return f.pad(&format!("{} {unit}", self.0 / factor));
            }
        }
        f.pad(&format!("{} B", self.0))
    }
}

impl Sum for Bytes {
    /// At most `u64::MAX`, as [`crate::saturating_sum`] says.
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        Self(crate::saturating_sum(all.map(|bytes| bytes.0)))
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;

    /// Reads `64MiB`, `1.5 GB`, `4k`, `512`. A bare number is bytes. A bare letter (`k m g t p`) is 1024-based, as in
    /// fio, Vdbench and dd; `kB MB GB TB PB` are 1000-based and `KiB …` 1024-based, as IEC 80000-13 has it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (value, unit) = number_and_unit(text)?;
        let factor = match unit {
            "" | "B" | "b" => 1,
            "k" | "K" | "KiB" | "kiB" | "kib" => 1 << 10,
            "m" | "M" | "MiB" | "mib" => 1 << 20,
            "g" | "G" | "GiB" | "gib" => 1 << 30,
            "t" | "T" | "TiB" | "tib" => 1 << 40,
            "p" | "P" | "PiB" | "pib" => 1 << 50,
            "kB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "TB" => 1_000_000_000_000,
            "PB" => 1_000_000_000_000_000,
            other => return Err(QuantityError::UnknownUnit { found: other.to_owned(), units: UNITS }),
        };
        let bytes = value * factor as f64;
        if bytes.fract() != 0.0 && factor == 1 {
            return Err(QuantityError::OutOfRange { found: text.to_owned(), range: "whole bytes" });
        }
        scaled(value, factor, text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        for (text, expect) in [
            ("512", 512),
            ("4k", 4096),
            ("4KiB", 4096),
            ("4 KiB", 4096),
            ("4kB", 4000),
            ("1.5GiB", 3 << 29),
            ("64M", 64 << 20),
            ("1_000_000", 1_000_000),
            ("1PiB", 1 << 50),
            ("16383PiB", 16383 << 50),
        ] {
            assert_eq!(text.parse::<Bytes>(), Ok(Bytes(expect)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_size() {
        for text in ["", "k", "-4k", "4 furlongs", "0.5", "1.2.3k", "20000PiB", "1e30", "1e"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_the_largest_size() {
        for of in [Bytes::kib, Bytes::mib, Bytes::gib] {
            assert_eq!((of(u64::MAX), of(1 << 60)), (Bytes(u64::MAX), Bytes(u64::MAX)));
        }
        assert_eq!((Bytes::kib(3), Bytes::gib(1 << 33)), (Bytes(3072), Bytes(1 << 63)));
    }

    #[test]
    fn approximate_is_short() {
        assert_eq!(Bytes(1536 << 20).approximate(), "1.5 GiB");
        assert_eq!(Bytes::gib(2).approximate(), "2 GiB");
        assert_eq!(Bytes(100).approximate(), "100 B");
    }

    #[test]
    fn neighbouring_places_differ() {
        for (bytes, shown) in [
            (1216 << 20, "1.188 GiB"),
            (1280 << 20, "1.250 GiB"),
            (2 << 30, "2 GiB"),
            ((20 << 30) + (64 << 20), "20.06 GiB"),
            ((500 << 30) + (200 << 20), "500.2 GiB"),
            (100, "100 B"),
        ] {
            assert_eq!(Bytes(bytes).as_place(), shown);
        }
    }

    proptest! {
        #[test]
        fn printing_reads_back_exactly(n in 0_u64..1 << 53, shift in 0_u32..11) {
            prop_assert_eq!(Bytes(n << shift).to_string().parse::<Bytes>(), Ok(Bytes(n << shift)));
        }

        #[test]
        fn round_down_is_the_largest_multiple_not_above(n in any::<u64>(), unit in 1_u64..1 << 40) {
            let down = Bytes(n).round_down(Bytes(unit)).0;
            prop_assert!(down <= n && down.is_multiple_of(unit) && n - down < unit);
        }
    }
}
