//! What the title of a column says of its figures: operations or bytes per second, thousands of them, and whether a latency is a
//! mean. Knows no table.

/// Words for operations per second, in each of which a letter before it may say how many are one.
const OPERATIONS: [&str; 5] = ["iops", "ops", "tps", "rps", "qps"];
/// What else is written for the first of them.
const ALSO: [&str; 3] = ["ios/s", "io/s", "op/s"];
/// Words for bytes per second; such units as MB and MiB are as well.
const BANDWIDTH: [&str; 4] = ["bandwidth", "bw", "bytes", "byte"];
/// Words for figures of a latency that are no mean.
const NO_MEAN: [&str; 9] =
    ["max", "maximum", "longest", "worst", "tail", "percentile", "median", "min", "minimum"];
/// Words for a latency.
const LATENCY: [&str; 6] = ["latency", "lat", "clat", "response", "mean", "avg"];
/// Shortest run of digits behind a p, or before th, that is a percentile: p5 may be a name.
const DIGITS_MIN: usize = 2;

/// What a throughput counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Counts {
    /// Operations, of which one in the column is so many.
    Operations(f64),
    /// Bytes in some unit: nothing that Little's law speaks of.
    Bytes,
}

/// What a title says that its throughput counts; `None` where it says nothing.
pub(super) fn counts(title: &str) -> Option<Counts> {
    let joined = ALSO.iter().fold(title.to_lowercase(), |title, also| title.replace(also, "iops "));
    let words = words(&joined);
    let scales = words.iter().filter_map(|word| match word.as_str() {
        "k" | "thousand" | "thousands" => Some(1e3),
        "million" | "millions" => Some(1e6),
        // A small one may be anything.
        "m" if title.contains('M') => Some(1e6),
        _ => None,
    });
    let operations = words.iter().find_map(|word| {
        let scaled = |letter: char, factor: f64| {
            word.strip_prefix(letter).filter(|rest| OPERATIONS.contains(rest)).map(|_| factor)
        };
        let itself = OPERATIONS.contains(&word.as_str()).then_some(1.0);
        itself.or_else(|| scaled('k', 1e3)).or_else(|| scaled('m', 1e6)).or_else(|| scaled('g', 1e9))
    });
    let is_of_bytes = |word: &String| {
        let unit = word
            .trim_end_matches("ps")
            .trim_end_matches('s')
            .trim_end_matches("ytes")
            .trim_end_matches("yte");
        BANDWIDTH.contains(&word.as_str())
            || matches!(unit, "kb" | "mb" | "gb" | "tb" | "kib" | "mib" | "gib" | "tib")
    };
    match operations {
        Some(factor) => Some(Counts::Operations(factor * scales.fold(1.0, f64::max))),
        None if words.iter().any(is_of_bytes) => Some(Counts::Bytes),
        None => {
            let factor = scales.fold(1.0, f64::max);
            (factor > 1.0).then_some(Counts::Operations(factor))
        }
    }
}

/// Whether a title says that its figures are a percentile or an extreme.
pub(super) fn is_no_mean(title: &str) -> bool {
    words(title).iter().any(|word| {
        let digits = |rest: &str| rest.len() >= DIGITS_MIN && rest.bytes().all(|byte| byte.is_ascii_digit());
        let glued = |name: &&str| word.strip_prefix(*name).is_some_and(digits);
        NO_MEAN.contains(&word.as_str())
            || ["p", "lat", "clat", "latp"].iter().any(glued)
            || word.strip_suffix("th").is_some_and(digits)
    })
}

/// Whether a title speaks of a latency.
pub(super) fn is_latency(title: &str) -> bool {
    words(title).iter().any(|word| LATENCY.contains(&word.as_str()))
}

/// Letters and digits in a row, in lower case.
fn words(title: &str) -> Vec<String> {
    title
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_say_what_a_throughput_counts() {
        for (expect, titles) in [
            (None, &["x", "io depth", "us per op", "throughput", "rate", "b", "column 2"][..]),
            (
                Some(Counts::Operations(1.0)),
                &["iops", "IOPS", "ops/s", "tps", "iops 4KiB", "IOPS (m)", "IO/s", "IO/sec"],
            ),
            (
                Some(Counts::Operations(1e3)),
                &[
                    "kiops",
                    "KIOPS",
                    "IOPS (k)",
                    "iops_k",
                    "Kops/s",
                    "kIO/s",
                    "iops (thousands)",
                    "rate (thousands)",
                ],
            ),
            (Some(Counts::Operations(1e6)), &["Miops", "Mops/s", "IOPS (M)", "million iops"]),
            (
                Some(Counts::Bytes),
                &["MB/s", "MiB/s", "bw (KiB/s)", "bandwidth", "GBps", "bytes/s", "KBytes/s", "MiBps", "mbs"],
            ),
        ] {
            for title in titles {
                assert_eq!(counts(title), expect, "{title}");
            }
        }
    }

    #[test]
    fn titles_say_whether_a_latency_is_a_mean() {
        for title in
            ["p99_ms", "p95", "p99.9 (us)", "max", "max_lat_us", "lat_max", "99th", "lat99_us", "median"]
        {
            assert!(is_no_mean(title), "{title}");
        }
        for title in ["lat_ms", "mean", "avg (us)", "latency", "response_s", "r", "p", "ms"] {
            assert!(!is_no_mean(title), "{title}");
        }
    }
}
