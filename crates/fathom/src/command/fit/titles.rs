//! What the title of a column says of its figures: operations or bytes per second, thousands of them, and whether a latency is a
//! mean. Knows no table.

/// Words for operations per second, in each of which a letter before it may say how many are one.
const OPERATIONS: [&str; 5] = ["iops", "ops", "tps", "rps", "qps"];
/// Those that are per second whatever follows.
const PER_SECOND: [&str; 4] = ["iops", "tps", "rps", "qps"];
/// The same per minute: TPC-C's figure among them.
const PER_MINUTE: [&str; 6] = ["tpm", "tpmc", "opm", "rpm", "qpm", "iopm"];
/// What else is written for operations, before a time.
const ALSO: [&str; 3] = ["ios/", "io/", "op/"];
/// Words for what counts bytes, per second; such units as MB, Mbit and MiB do as well.
const BANDWIDTH: [&str; 10] =
    ["bandwidth", "bw", "bytes", "byte", "sectors", "sector", "blocks", "block", "pages", "page"];
/// Units of data, with letters before them.
const DATA: [&str; 10] = ["b", "ib", "bit", "bits", "ibit", "ibits", "bps", "bs", "byte", "bytes"];
/// Times behind "/" or "per", with how many of a second they are.
const TIMES: [(&[&str], f64); 7] = [
    (&["s", "sec", "secs", "second", "seconds"], 1.0),
    (&["min", "mins", "minute", "minutes", "m"], 60.0),
    (&["h", "hr", "hrs", "hour", "hours"], 3600.0),
    (&["d", "day", "days"], 86_400.0),
    (&["ms", "msec", "millisecond", "milliseconds"], 1e-3),
    (&["us", "µs", "μs", "usec", "microsecond", "microseconds"], 1e-6),
    (&["ns", "nsec", "nanosecond", "nanoseconds"], 1e-9),
];
/// Words for figures of a latency that are no mean.
const NO_MEAN: [&str; 9] =
    ["max", "maximum", "longest", "worst", "tail", "percentile", "median", "min", "minimum"];
/// Words for a latency.
const LATENCY: [&str; 6] = ["latency", "lat", "clat", "response", "mean", "avg"];
/// Words for what is no load: a moment or a number of the measurement, a place or a size of its operations, figures of it, and what
/// was to arrive per second, which is not what was in flight.
const NO_LOAD: [&str; 25] = [
    "rate",
    "rates",
    "arrival",
    "arrivals",
    "asked",
    "requested",
    "time",
    "timestamp",
    "elapsed",
    "date",
    "epoch",
    "interval",
    "round",
    "iteration",
    "sample",
    "index",
    "row",
    "bs",
    "blocksize",
    "offset",
    "lba",
    "latency",
    "lat",
    "response",
    "throughput",
];
/// Shortest run of digits behind a p, or before th, that is a percentile: p5 may be a name.
const DIGITS_MIN: usize = 2;

/// The title of the same figure for writes, of one for reads, or the other way round; `None` of one that names neither, or both.
pub(super) fn direction(title: &str) -> Option<String> {
    let title = title.to_lowercase();
    // Threads are no reads.
    let at = |word: &str| {
        let begins = |at: &usize| !title[..*at].ends_with(char::is_alphabetic);
        title.match_indices(word).map(|(at, _)| at).find(begins)
    };
    let put =
        |at: usize, word: &str, other: &str| format!("{}{other}{}", &title[..at], &title[at + word.len()..]);
    match (at("read"), at("write")) {
        (Some(at), None) => Some(put(at, "read", "write")),
        (None, Some(at)) => Some(put(at, "write", "read")),
        _ => None,
    }
}

/// What a throughput counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Counts {
    /// Operations, of which one in the column is so many.
    Operations(f64),
    /// Bytes in some unit, or bits or blocks: nothing that Little's law speaks of.
    Bytes,
    /// Not to be told: thousandths or millions, per second or per minute.
    Doubt,
}

/// What a title says that its throughput counts; `None` where it says nothing.
pub(super) fn counts(title: &str) -> Option<Counts> {
    let lower = title.to_lowercase();
    let joined = ALSO.iter().fold(lower.clone(), |title, also| title.replace(also, "ops/"));
    let words = words(&joined);
    let operations = words.iter().find_map(|word| {
        let scaled = |letter: char, factor: f64| {
            word.strip_prefix(letter).filter(|rest| OPERATIONS.contains(rest)).map(|_| factor)
        };
        let itself = OPERATIONS.contains(&word.as_str()).then_some(1.0);
        itself.or_else(|| scaled('k', 1e3)).or_else(|| scaled('m', 1e6)).or_else(|| scaled('g', 1e9))
    });
    let is_of_bytes = words.iter().any(|word| {
        let unit = word.strip_prefix(['k', 'm', 'g', 't']).unwrap_or(word);
        let unit = unit.strip_suffix("ps").unwrap_or(unit);
        BANDWIDTH.contains(&word.as_str()) || unit.len() < word.len() && DATA.contains(&unit)
    });
    if is_of_bytes && operations.is_none() {
        return Some(Counts::Bytes);
    }
    let per_second = words.iter().any(|word| PER_SECOND.iter().any(|name| word.ends_with(name)));
    let per_minute = words.iter().any(|word| PER_MINUTE.contains(&word.as_str()));
    let seconds = match per(&joined) {
        Per::Nothing if per_minute => Some(60.0),
        Per::Nothing => None,
        Per::Time(seconds) if per_second && seconds != 1.0 => return Some(Counts::Doubt),
        Per::Time(seconds) => Some(seconds),
        Per::Doubt => return Some(Counts::Doubt),
    };
    let Ok(scale) = scale(title, &words) else {
        // A letter or a number beside what is no throughput is none of its units.
        return (operations.is_some() || seconds.is_some()).then_some(Counts::Doubt);
    };
    match (operations, seconds, scale) {
        (None, None, None) => None,
        (of_word, seconds, scale) => {
            Some(Counts::Operations(of_word.unwrap_or(1.0) * scale.unwrap_or(1.0) / seconds.unwrap_or(1.0)))
        }
    }
}

/// What a figure is divided by.
enum Per {
    Nothing,
    /// Seconds.
    Time(f64),
    /// So many of a time, or two times.
    Doubt,
}

/// What stands behind "/" or "per" of a title in lower case, where that is a time.
fn per(title: &str) -> Per {
    let marked = title.replace('/', " per ");
    let words: Vec<&str> =
        marked.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let behind = |at: usize| {
        let rest = words[at + 1..].iter().filter(|word| !["a", "the", "one", "1"].contains(word));
        let word = rest.copied().next()?;
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let is_time =
            |word: &str| TIMES.iter().find(|(names, _)| names.contains(&word)).map(|(_, seconds)| *seconds);
        // "per 5 s", "/10s"; a number alone is a scale.
        let later = words.get(at + 2).copied().unwrap_or_default();
        match (digits, is_time(&word[digits..])) {
            (0, found) => found.map(Ok),
            (_, Some(_)) if &word[digits..] != "s" || !is_power_of_ten(&word[..digits]) => Some(Err(())),
            (_, _) if is_time(later).is_some() => Some(Err(())),
            (_, _) => None,
        }
    };
    let found: Vec<Result<f64, ()>> =
        (0..words.len()).filter(|&at| words[at] == "per").filter_map(behind).collect();
    match found.as_slice() {
        [] => Per::Nothing,
        [Ok(seconds)] => Per::Time(*seconds),
        _ => Per::Doubt,
    }
}

fn is_power_of_ten(digits: &str) -> bool {
    digits.len() > 2 && digits.starts_with('1') && digits[1..].bytes().all(|digit| digit == b'0')
}

/// How many one of a title's figures stands for, where it says so; an error where it may.
fn scale(title: &str, words: &[String]) -> Result<Option<f64>, ()> {
    let lower = title.to_lowercase();
    let mut found: Option<f64> = None;
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |at| words[at].as_str());
        let bare = word.strip_prefix('x').unwrap_or(word);
        let plural = bare.strip_suffix('s').unwrap_or(bare);
        let own = match word.as_str() {
            "k" | "thousand" | "thousands" => 1e3,
            "hundred" | "hundreds" => 100.0,
            "million" | "millions" => 1e6,
            "billion" | "billions" => 1e9,
            "m" if title.contains('M') => 1e6,
            // Thousandths, millions or a minute; in "/m" it is the time.
            "m" if !lower.contains("/m") => return Err(()),
            // 10^3, 10**3, 1e3
            "10" if ["10^", "10**"].iter().any(|sign| lower.contains(sign)) => continue,
            power if before == "10" && (lower.contains("10^") || lower.contains("10**")) => {
                match power.parse::<i32>() {
                    Ok(power) if (1..=12).contains(&power) => 10_f64.powi(power),
                    _ => return Err(()),
                }
            }
            "1e3" => 1e3,
            "1e6" => 1e6,
            "1e9" => 1e9,
            _ if is_power_of_ten(plural) => {
                // "/1000", "x1000", "1000s"; alone it may be a depth.
                let is_marked = bare.len() < word.len()
                    || plural.len() < bare.len()
                    || before == "x"
                    || ['/', '×', '*'].iter().any(|sign| {
                        lower.split(*sign).skip(1).any(|rest| rest.trim_start().starts_with(plural))
                    });
                if !is_marked {
                    return Err(());
                }
                plural.parse().map_err(|_| ())?
            }
            _ => continue,
        };
        if found.replace(own).is_some() {
            return Err(());
        }
    }
    if lower.contains('%') { Err(()) } else { Ok(found) }
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

/// Whether a title says that its figures are no load.
pub(super) fn is_no_load(title: &str) -> bool {
    let is_figure = |word: &String| NO_LOAD.contains(&word.as_str()) || OPERATIONS.contains(&word.as_str());
    let is_per_time = || !matches!(per(&title.to_lowercase()), Per::Nothing);
    words(title).iter().any(is_figure) || counts(title) == Some(Counts::Bytes) || is_per_time()
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
    fn titles_say_which_direction_they_are_of() {
        for (title, other) in [
            ("read_iops", Some("write_iops")),
            ("IOPS (Write)", Some("iops (read)")),
            ("threads", None),
            ("read/write ratio", None),
            ("iops", None),
        ] {
            assert_eq!(direction(title).as_deref(), other, "{title}");
        }
    }

    #[test]
    fn titles_say_what_a_throughput_counts() {
        for (expect, titles) in [
            (
                None,
                &["x", "io depth", "us per op", "throughput", "rate", "b", "column 2", "transactions", "m"][..],
            ),
            (
                Some(Counts::Operations(1.0)),
                &[
                    "iops",
                    "IOPS",
                    "ops/s",
                    "tps",
                    "iops 4KiB",
                    "IO/s",
                    "IO/sec",
                    "requests/s",
                    "hits/s",
                    "transactions/s",
                    "qps",
                    "rps",
                    "requests per second",
                    "tps/s",
                    "iops_2",
                ],
            ),
            (
                Some(Counts::Operations(1.0 / 60.0)),
                &["ops/min", "tpm", "tpmC", "requests per minute", "IO/min"],
            ),
            (Some(Counts::Operations(1.0 / 3600.0)), &["transactions/hour", "ops per hour", "op/h"]),
            (
                Some(Counts::Doubt),
                &[
                    "iops_m",
                    "IOPS (m)",
                    "iops per minute",
                    "iops 1000",
                    "ops/10s",
                    "requests per 5 minutes",
                    "iops (%)",
                    "kiops/ms",
                ],
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
                    "ops/ms",
                    "iops/1000",
                    "iops (x1000)",
                    "iops (x 1000)",
                    "iops (1000s)",
                    "iops (10^3)",
                    "iops (×1000)",
                    "iops*1000",
                ],
            ),
            (
                Some(Counts::Operations(1e6)),
                &["ops/us", "iops/1000000", "Miops", "Mops/s", "IOPS (M)", "million iops"],
            ),
            (
                Some(Counts::Bytes),
                &[
                    "MB/s",
                    "MiB/s",
                    "bw (KiB/s)",
                    "bandwidth",
                    "GBps",
                    "bytes/s",
                    "KBytes/s",
                    "MiBps",
                    "mbs",
                    "Mbit/s",
                    "Gbit/s",
                    "Mbps",
                    "kbps",
                    "sectors/s",
                    "blocks/s",
                    "MB/min",
                ],
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
