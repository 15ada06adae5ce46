//! Numbers as fio writes them for people: short, with a prefix, and latencies in the unit that fits them. Knows no report.

use super::figures::whole;
use fathom_schema::Moments;

const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// `value` in at most `digits` digits before its prefix, the decimal point counted as one: fio's way, but for its slip of
/// writing 1.9996 as 1.000. A prefix comes only with a value that is too long without.
pub(super) fn short(value: u64, digits: usize, is_binary: bool, unit: &str) -> String {
    let (thousand, prefixes) = if is_binary { (1024, BINARY) } else { (1000, DECIMAL) };
    let (mut whole, mut rest, mut power) = (value, None, 0);
    while length(whole) > digits && power + 1 < prefixes.len() {
        rest = Some(whole % thousand);
        whole /= thousand;
        power += 1;
    }
    let prefix = prefixes[power];
    let Some(rest) = rest else { return format!("{whole}{unit}") };
    match digits.saturating_sub(length(whole)) {
        0 | 1 => {
            let rounded = whole + u64::from(rest >= thousand / 2);
            format!("{rounded}{prefix}{unit}")
        }
        room => {
            let exact = whole as f64 + rest as f64 / thousand as f64;
            format!("{exact:.*}{prefix}{unit}", room - 1)
        }
    }
}

fn length(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// How bandwidth is written: fio's `kb_base`, `unit_base` and `significant_figures`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioUnits {
    /// Binary prefixes first, decimal ones in brackets (`kb_base=1024`); else the other way round.
    pub is_binary: bool,
    /// Bits, not bytes, per second.
    pub is_bits: bool,
    /// Digits, 1 to 10.
    pub digits: usize,
}

impl Default for FioUnits {
    fn default() -> Self {
        Self { is_binary: true, is_bits: false, digits: 4 }
    }
}

impl FioUnits {
    /// Bytes per second, both ways: `62.5MiB/s (65.5MB/s)`, without brackets round the second.
    pub(super) fn rate(self, bytes_per_s: u64) -> [String; 2] {
        let (value, unit) =
            if self.is_bits { (bytes_per_s.saturating_mul(8), "bit/s") } else { (bytes_per_s, "B/s") };
        [self.is_binary, !self.is_binary].map(|is_binary| short(value, self.digits, is_binary, unit))
    }

    /// Bytes per second in the first of them.
    pub fn rate_per_s(self, bytes_per_s: f64) -> String {
        let [rate, _] = self.rate(whole(bytes_per_s));
        rate
    }

    /// A count, as of operations per second.
    pub fn count(self, count: f64) -> String {
        short(whole(count), self.digits, false, "")
    }

    /// Bytes, both ways.
    pub(super) fn bytes(self, bytes: u64) -> [String; 2] {
        [self.is_binary, !self.is_binary].map(|is_binary| short(bytes, self.digits, is_binary, "B"))
    }

    /// 1024 or 1000.
    pub(super) fn base(self) -> f64 {
        if self.is_binary { 1024.0 } else { 1000.0 }
    }
}

/// A latency's smallest, largest, mean and deviation in the unit that fio chooses for it.
pub(super) struct Scaled {
    pub(super) unit: &'static str,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
}

impl Scaled {
    pub(super) fn of(moments: &Moments) -> Self {
        let (min, max, mean, stddev) =
            (moments.min_ns, moments.max_ns, moments.mean_ns(), moments.stddev_ns());
        let (unit, factor) = if min > 2_000_000 && max > 99_999_999 && stddev > 1000.0 {
            ("msec", 1_000_000)
        } else if min > 2_000 && max > 99_999 && stddev > 1000.0 {
            ("usec", 1_000)
        } else {
            ("nsec", 1)
        };
        let by = |value: f64| value / factor as f64;
        Self { unit, min: min / factor, max: max / factor, mean: by(mean), stddev: by(stddev) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_fios() {
        // Left: what fio 3.33 printed for these figures.
        for (expect, value, digits, is_binary, unit) in [
            ("256k", 256_000, 4, false, ""),
            ("16.0k", 16_000, 4, false, ""),
            ("1000", 1000, 4, false, ""),
            ("62.5MiB/s", 65_536_000, 4, true, "B/s"),
            ("65.5MB/s", 65_536_000, 4, false, "B/s"),
            ("1000MiB/s", 1_048_576_000, 4, true, "B/s"),
            ("1049MB/s", 1_048_576_000, 4, false, "B/s"),
            ("1024KiB", 1 << 20, 4, true, "B"),
            ("1049kB", 1 << 20, 4, false, "B"),
            ("4096B", 4096, 4, true, "B"),
            ("64.0KiB", 65_536, 4, true, "B"),
            ("500Mibit/s", 524_288_000, 4, true, "bit/s"),
            ("2048.0KiB", 2 << 20, 6, true, "B"),
            ("46545", 46_545, 6, false, ""),
            ("10410k", 10_409_800, 6, false, ""),
            ("0", 0, 4, false, ""),
        ] {
            assert_eq!(short(value, digits, is_binary, unit), expect);
        }
    }
}
