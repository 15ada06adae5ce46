//! The unit of time that the title of a column names, among all else that people write there: what a figure was averaged over,
//! what it is a rate of. Doubt is an error, since a unit that is guessed is wrong by a thousand or more. Knows no table.

use super::UNITS_NS;

/// Other names of [`UNITS_NS`], in their order; each may have an s behind it. The letter before the s is the micro sign, or
/// the Greek one that it resembles.
const ALSO: [&[&str]; 4] = [
    &["nsec", "nano", "nanosec", "nanosecond"],
    &["µs", "μs", "µsec", "μsec", "usec", "micro", "microsec", "microsecond"],
    &["msec", "milli", "millisec", "millisecond"],
    &["sec", "second"],
];
/// Words that mean a unit at a title's end or in brackets, and elsewhere something else: `second_disk`, `micro benchmark`.
const AMBIGUOUS: [&str; 5] = ["second", "milli", "micro", "nano", "s"];
/// Those of them that make one word with the seconds that follow.
const PARTS: [&str; 3] = ["milli", "micro", "nano"];
/// Words behind which a unit is that of something else, also with [`BETWEEN`] or a number between.
const BEFORE_OTHERS: [&str; 7] = ["per", "over", "every", "each", "within", "during", "for"];
const BETWEEN: [&str; 6] = ["the", "a", "one", "last", "past", "first"];
/// Words for a time, beside which a title has to name its unit.
const TIMES: [&str; 16] = [
    "r",
    "lat",
    "clat",
    "slat",
    "latency",
    "latencies",
    "response",
    "time",
    "times",
    "duration",
    "durations",
    "delay",
    "elapsed",
    "wait",
    "waiting",
    "rt",
];
/// Shortest of those words that are looked for where a unit is written on to them, as in `latencyms`: an rms is no r in ms.
const GLUED_MIN: usize = 3;

/// Longest title that is read, in bytes: a name for a column with its unit takes a tenth of it.
const TITLE_MAX: usize = 200;

/// A unit's name and its nanoseconds.
type Unit = (&'static str, f64);

/// The unit that a title names, such as `latency_us`, `latency (ms)` or `microseconds of reads`. `None` where it names none and
/// no time either, or nothing but a time. Else a reason in words, with the remedy, to follow "the title …".
pub(super) fn of(title: &str) -> Result<Option<Unit>, &'static str> {
    if title.len() > TITLE_MAX {
        return Err(
            "is longer than 200 bytes; shorten it to the figure's name and its unit, such as latency_us",
        );
    }
    let words = words(title);
    let mut named: Vec<Unit> = Vec::new();
    let mut is_others = false;
    for (at, word) in words.iter().enumerate() {
        let Some(unit) = unit_of(&word.text) else { continue };
        let is_clear = word.is_bracketed || at + 1 == words.len() || !AMBIGUOUS.contains(&word.text.as_str());
        if !word.is_bracketed && is_of_another(&words[..at], &word.before) {
            is_others = true;
        } else if is_clear && !named.contains(&unit) {
            named.push(unit);
        }
    }
    match named.as_slice() {
        [unit] => Ok(Some(*unit)),
        [_, _, ..] => Err("names more than one unit of time; leave the one that the numbers are in"),
        [] if is_others => Err(
            "names a unit only behind a number, \"per\" or the like, where it is that of something else; \
             put the one that the numbers are in into brackets, such as (ms)",
        ),
        [] if words.iter().any(is_time) && !words.iter().all(is_time) => {
            Err("names no unit of time that is known; end it with _ns, _us, _ms or _s")
        }
        [] => Ok(None),
    }
}

/// Whether a title says that its figures are times: it names a unit of one that is its own, or a word for one before any "per".
pub(super) fn is_time_by_title(title: &str) -> bool {
    let words = words(title.get(..TITLE_MAX).unwrap_or(title));
    let own = words.iter().take_while(|word| word.text != "per");
    matches!(of(title), Ok(Some(_))) || own.into_iter().any(is_time)
}

/// The unit of time that a word is, or that is written on to a word for one.
fn unit_of(word: &str) -> Option<Unit> {
    let is_other = |names: &[&str], word: &str| {
        names.iter().any(|name| word.strip_prefix(name).is_some_and(|s| s.is_empty() || s == "s"))
    };
    // What is left of the word behind words for a time, one after another.
    let mut rests = vec![word];
    while let Some(word) = rests.pop() {
        let mut all = UNITS_NS.iter().zip(ALSO);
        if let Some((unit, _)) = all.find(|((unit, _), also)| *unit == word || is_other(also, word)) {
            return Some(*unit);
        }
        // An s may be a plural's.
        let times = TIMES.iter().rev().filter(|time| time.len() >= GLUED_MIN && **time != word);
        let behind = times.filter_map(|time| word.strip_prefix(time));
        rests.extend(behind.filter(|rest| !rest.is_empty() && *rest != "s"));
    }
    None
}

/// Whether a unit behind these words is that of something else: a number of them, or what there are so many of for each.
fn is_of_another(words: &[Word], before: &str) -> bool {
    let Some(last) = words.last() else { return false };
    // "ops/s"; but "time / s" is how axes are labelled.
    if before.contains('/') {
        return !is_time(last);
    }
    let is_number = |word: &Word| word.number().is_some();
    // "99.9_us", "99 % (us)"
    let is_percentile =
        before.contains('%') || last.number().is_some_and(|number| (90.0..100.0).contains(&number));
    let is_between = |word: &&Word| is_number(word) || BETWEEN.contains(&word.text.as_str());
    let earlier = words.iter().rev().find(|word| !is_between(word));
    is_number(last) && !is_percentile
        || earlier.is_some_and(|word| BEFORE_OTHERS.contains(&word.text.as_str()))
}

/// Whether it is a word for a time.
fn is_time(word: &Word) -> bool {
    TIMES.contains(&word.text.as_str())
}

/// A word of a title.
#[derive(Debug)]
struct Word {
    /// In lower case.
    text: String,
    /// What stands between it and the word before it.
    before: String,
    /// Whether it is all that a pair of brackets holds.
    is_bracketed: bool,
}

impl Word {
    /// The number that it is: "nan" and "infinity" are words.
    fn number(&self) -> Option<f64> {
        self.text.starts_with(|first: char| first.is_ascii_digit()).then(|| self.text.parse().ok())?
    }
}

/// The words of a title: letters and digits in a row, and those that begin with a capital within, as in `readLatencyMs`.
fn words(title: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut rest = title;
    loop {
        let start = rest.find(char::is_alphanumeric).unwrap_or(rest.len());
        let (before, from) = rest.split_at(start);
        if from.is_empty() {
            return join_parts(words);
        }
        let (token, after) = from.split_at(token_length(from));
        let opens = before.trim_end().ends_with(['(', '[', '{']);
        let is_bracketed = opens && after.trim_start().starts_with([')', ']', '}']);
        let is_ending = token == "s" && (is_bracketed && before == "(" || ["'", "’"].contains(&before));
        let parts = parts(token);
        match words.last_mut() {
            // "disk(s)", "disk's"; of "time(s)" it is the unit.
            Some(last) if is_ending && !is_time(last) => last.text.push('s'),
            _ => {
                let is_bracketed = is_bracketed && parts.len() == 1;
                for (at, text) in parts.into_iter().enumerate() {
                    let before = if at == 0 { before.to_owned() } else { String::new() };
                    words.push(Word { text, before, is_bracketed });
                }
            }
        }
        rest = after;
    }
}

/// How long the letters and digits are that a text begins with; a decimal point is one of them.
fn token_length(text: &str) -> usize {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_point = |at: usize| text[at..].starts_with('.') && at > 0 && is_digit(at - 1) && is_digit(at + 1);
    let ends = |(at, c): &(usize, char)| !c.is_alphanumeric() && !is_point(*at);
    text.char_indices().find(ends).map_or(text.len(), |(at, _)| at)
}

/// A token at its capitals, in lower case. Single letters belong to what is beside them: `uS`, `mSec`, `latencyuS`.
fn parts(token: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    for c in token.chars() {
        let is_next = c.is_uppercase() && part.ends_with(|last: char| !last.is_uppercase());
        if is_next && part.chars().count() > 1 {
            parts.push(std::mem::take(&mut part).to_lowercase());
        }
        part.push(c);
    }
    let last = part.to_lowercase();
    match parts.last_mut() {
        Some(before) if last == "s" && !TIMES.contains(&before.as_str()) => before.push('s'),
        _ => parts.push(last),
    }
    parts
}

/// "milli seconds" are one word.
fn join_parts(words: Vec<Word>) -> Vec<Word> {
    let is_part = |word: &Word| PARTS.contains(&word.text.as_str());
    let is_second =
        |word: &Word| unit_of(&word.text).is_some_and(|(unit, _)| unit == "s") && word.text != "s";
    let mut joined: Vec<Word> = Vec::with_capacity(words.len());
    for word in words {
        match joined.last_mut() {
            Some(last) if is_part(last) && is_second(&word) => {
                last.text.push_str(&word.text);
                last.is_bracketed |= word.is_bracketed;
            }
            _ => joined.push(word),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(title: &str) -> Option<&'static str> {
        of(title).unwrap_or_else(|said| panic!("{title}: {said}")).map(|(name, _)| name)
    }

    #[test]
    fn long_titles_are_refused_and_long_words_take_no_stack() {
        for title in ["lat".repeat(100_000), "milli ".repeat(1_000_000), "lat_us ".repeat(29)] {
            assert!(of(&title).is_err_and(|said| said.starts_with("is longer than 200 bytes")));
        }
        assert_eq!(named(&format!("{}us", "lat".repeat(60))), Some("us"));
        // Without the bound: neither depth nor squares.
        assert_eq!(unit_of(&"lat".repeat(100_000)), None);
        assert_eq!(unit_of(&("timesresponse".repeat(10_000) + "ms")).map(|(name, _)| name), Some("ms"));
        let joined = words(&"milli second ".repeat(100_000));
        assert!(joined.len() == 100_000 && joined[99_999].text == "millisecond", "{}", joined.len());
    }

    #[test]
    fn a_title_names_its_unit_wherever_it_says_so() {
        for (expect, titles) in [
            (
                Some("ns"),
                &["nanoseconds", "ns", "nanos", "clat [nsec]", "latencyNs", "clat (nano)", "latency ns"][..],
            ),
            (
                Some("us"),
                &[
                    "microseconds",
                    "usecs",
                    "latency µs",
                    "μs",
                    "lat_us_p99",
                    "Micros",
                    "Latency(µS)",
                    "latencyuS",
                    "latencyus",
                    "microSeconds",
                    "micro-seconds",
                    "latency in micro seconds",
                    "latency (micro)",
                    "p99.9_us",
                    "clat_99.9_us",
                    "lat_99_us",
                    "99% (us)",
                    "us/op",
                    "us per op",
                    "US",
                    "latency micro",
                    "second_disk_latency_us",
                ],
            ),
            (
                Some("ms"),
                &[
                    "milliseconds",
                    "latency (ms)",
                    "msecs",
                    "millis",
                    "Mean time in ms of reads",
                    "lat_msec",
                    "readLatencyMs",
                    "responseTimeMS",
                    "Avg. Response Time (ms)",
                    "latency[ms]",
                    "latency / ms",
                    "MilliSeconds",
                    "mSec",
                    "read latency in ms (1 sec average)",
                    "time per request in ms over 60 seconds",
                    "latency (ms) over 60 s",
                    "latency_ms_over_60_s",
                    "60 s average latency (ms)",
                    "latency over the last second (ms)",
                    "average over 10 ms, in ms",
                    "ms (milliseconds)",
                    "micro benchmark latency ms",
                    "disk(s) latency ms",
                    "ms at 1000 requests/second",
                    "1-second average latency, ms",
                ],
            ),
            (
                Some("s"),
                &[
                    "seconds",
                    "s",
                    "response_s",
                    "secs",
                    "elapsed sec",
                    "time(s)",
                    "time (s) of reads",
                    "latencyS",
                    "latency, second",
                    "seconds per request",
                    "time / s",
                ],
            ),
            // In nanoseconds, as it is documented.
            (
                None,
                &[
                    "latency",
                    "response time",
                    "value",
                    "clat",
                    "r",
                    "second_disk",
                    "micro benchmark",
                    "disk(s)",
                    "disk's",
                    "rms",
                ],
            ),
        ] {
            for title in titles {
                assert_eq!(named(title), expect, "{title}");
            }
        }
    }

    #[test]
    fn doubt_is_no_unit() {
        let check = |titles: &[&str], expect: &str| {
            for title in titles {
                let said = of(title).expect_err(title);
                assert!(said.contains(expect), "{title}: {said}");
            }
        };
        check(
            &[
                "latency_ps",
                "mean latency",
                "lat of reads",
                "time (ticks)",
                "disk's latency",
                "delay jiffies",
                "readLatency",
                "latency of the second disk",
                "latency of disk(s)",
                "lat_p99us",
                "nano latency of reads",
            ],
            "end it with _ns",
        );
        check(
            &["latency_ms (s)", "us latency of ms", "seconds since start, latency ms", "latency us-east ms"],
            "more than one",
        );
        check(
            &[
                "requests per second",
                "ops/s",
                "IO/sec",
                "bytes per s",
                "latency, 60 s average",
                "latency (100 ns)",
                "IOs over 10 ms",
                "latency over the last second",
                "requests each second",
                "lat_avg_60_s",
            ],
            "into brackets",
        );
    }
}
