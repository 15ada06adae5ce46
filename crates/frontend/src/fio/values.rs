//! fio's value rules: numbers with suffixes, times, lists, ranges. Reads them as fio does, silent slips included, and says
//! beside each what a person would have meant. Knows no option.

use fathom_model::{PatternPiece, VerifyPattern};
use fathom_units::Nanos;
use std::collections::BTreeSet;

/// What a bare number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Bytes; suffixes are binary.
    Bytes,
    /// Anything else; fio takes the byte suffixes here too.
    Count,
    /// Time in microseconds; a bare number is seconds.
    Seconds,
    /// Time in microseconds; a bare number is microseconds.
    Microseconds,
}

/// A number that fio takes for something else than what it seems to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misread {
    /// The piece of the value that is meant, without blanks around it.
    pub(crate) piece: String,
    /// What fio makes of it: `1 byte`.
    pub(crate) reads_as: String,
    /// Why.
    pub(crate) because: &'static str,
    /// What to write to get what seems meant, without the option's name.
    pub(crate) instead: String,
}

/// A number as fio reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number {
    /// The value: bytes, microseconds, a count, or percent.
    pub(crate) value: i128,
    /// Whether it was followed by `%`.
    pub(crate) is_percent: bool,
    /// Set when that is probably not what was meant.
    pub(crate) misread: Option<Misread>,
}

/// Reads one number. `kb_base` is 1024 or 1000. Fails where fio fails: no digits at the start, or beyond 64 bits.
pub(crate) fn number(text: &str, unit: Unit, kb_base: u64) -> Result<Number, String> {
    if text.ends_with('z') {
        return Err(format!("\"{text}\" counts zones, in which only {ZONED} may be given"));
    }
    let is_hex = text.contains("0x");
    let start = text.trim_start_matches([' ', '\t', '\r', '\u{b}', '\u{c}']);
    let (is_negative, digits) = match start.as_bytes().first() {
        Some(b'-') => (true, &start[1..]),
        Some(b'+') => (false, &start[1..]),
        _ => (false, start),
    };
    let (radix, digits) =
        if is_hex { (16, digits.strip_prefix("0x").unwrap_or(digits)) } else { (10, digits) };
    let length = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if length == 0 {
        return Err(format!("\"{text}\" does not begin with a number"));
    }
    let magnitude = i64::from_str_radix(&digits[..length], radix)
        .map_err(|_| format!("\"{text}\" is outside 64 bits"))?;
    let (factor, is_percent) = match unit {
        Unit::Bytes | Unit::Count => byte_factor(suffix_of(text), kb_base),
        Unit::Seconds => (time_factor(suffix_of(text), true), false),
        Unit::Microseconds => (time_factor(suffix_of(text), false), false),
    };
    let value = i128::from(magnitude) * i128::from(factor) * if is_negative { -1 } else { 1 };
    if i64::try_from(value).is_err() {
        return Err(format!("\"{text}\" is outside 64 bits"));
    }
    let misread = if is_percent || is_hex { None } else { misread(text, value, unit, kb_base) };
    Ok(Number { value, is_percent, misread })
}

/// The options whose values may count zones.
const ZONED: &str = "size, io_size, offset, offset_increment and zoneskip";

/// How many zones a value such as `10z` counts; `None` for one without that suffix. Fails where fio fails: for anything but a
/// whole number before it.
pub(crate) fn zones(text: &str) -> Option<Result<u64, String>> {
    if !text.ends_with('z') {
        return None;
    }
    let digits = text.trim_start();
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let count = digits[..end].parse().ok().filter(|_| digits[end..].starts_with('z'));
    Some(count.ok_or_else(|| format!("\"{text}\" is no whole number of zones")))
}

/// Where fio looks for a suffix: at the first byte behind a sign that is no digit, if it is a letter or `%`.
fn suffix_of(text: &str) -> Option<&str> {
    let mut seen_digit = false;
    let at = text.bytes().position(|b| {
        let is_sign = !seen_digit && (b == b'+' || b == b'-');
        seen_digit |= b.is_ascii_digit();
        !b.is_ascii_digit() && !is_sign
    })?;
    let first = text.as_bytes()[at];
    (first.is_ascii_alphabetic() || first == b'%').then(|| &text[at..])
}

/// Factor and whether it is a percentage. `kib` and its kin are the other base than `k`: fio's inversion.
fn byte_factor(suffix: Option<&str>, kb_base: u64) -> (u64, bool) {
    let Some(suffix) = suffix.map(str::to_ascii_lowercase) else { return (1, false) };
    if suffix.starts_with('%') {
        return (1, true);
    }
    let inverted = if kb_base == 1000 { 1024 } else { 1000 };
    for (power, letter) in (1..).zip(["k", "m", "g", "t", "p"]) {
        if let Some(rest) = suffix.strip_prefix(letter) {
            let base: u64 = if rest.starts_with("ib") { inverted } else { kb_base };
            return (base.pow(power), false);
        }
    }
    (1, false)
}

fn time_factor(suffix: Option<&str>, bare_is_seconds: bool) -> u64 {
    let Some(suffix) = suffix.map(str::to_ascii_lowercase) else {
        return if bare_is_seconds { 1_000_000 } else { 1 };
    };
    match suffix.as_str() {
        "s" => 1_000_000,
        "m" => 60_000_000,
        "h" => 3_600_000_000,
        "d" => 86_400_000_000,
        other if other.starts_with("ms") => 1_000,
        _ => 1,
    }
}

/// Compares what fio reads with what the text says to a person.
fn misread(text: &str, value: i128, unit: Unit, kb_base: u64) -> Option<Misread> {
    let trimmed = text.trim();
    let meant = meant(trimmed, unit, kb_base);
    let has_count_suffix = unit == Unit::Count && trimmed.bytes().any(|b| b.is_ascii_alphabetic());
    let because = match meant {
        Some(meant) if meant == value && !has_count_suffix => return None,
        Some(meant) if meant == value => "suffixes are powers of 1024 for plain numbers too",
        _ if value < 0 => "a sign has no meaning here",
        _ if trimmed.contains('.') => "the fraction is cut and the unit after it ignored",
        _ if text.starts_with(char::is_whitespace) || trimmed.contains(char::is_whitespace) => {
            "a blank hides the unit"
        }
        _ if matches!(unit, Unit::Bytes | Unit::Count) && trimmed.to_ascii_lowercase().contains("ib") => {
            "kib, mib and gib have the other base than k, m and g, inverted for compatibility"
        }
        _ if matches!(unit, Unit::Seconds | Unit::Microseconds) => {
            "times know only us, ms, s, m, h and d, and one of them"
        }
        _ => "what follows the number is ignored",
    };
    let instead = spell(meant.filter(|&meant| meant >= 0).unwrap_or(value.abs()), unit, kb_base);
    Some(Misread { piece: trimmed.to_owned(), reads_as: describe(value, unit), because, instead })
}

/// What the text says to a person, in the unit's own scale.
fn meant(trimmed: &str, unit: Unit, kb_base: u64) -> Option<i128> {
    if let Ok(plain) = trimmed.parse::<i128>() {
        return Some(if unit == Unit::Seconds { plain.checked_mul(1_000_000)? } else { plain });
    }
    if matches!(unit, Unit::Seconds | Unit::Microseconds) {
        let lower = trimmed.to_ascii_lowercase();
        if let Ok(seconds) = lower.parse::<f64>() {
            let scale = if unit == Unit::Seconds { 1e6 } else { 1.0 };
            return whole(seconds * scale);
        }
        let spelled = ["usec", "msec", "sec"]
            .iter()
            .fold(lower.clone(), |text, unit| text.replace(unit, &unit[..unit.len() - 2]));
        let nanos = spelled.parse::<Nanos>().or_else(|_| lower.parse::<Nanos>()).ok()?;
        return Some(i128::from(nanos.0) / 1000);
    }
    if let Ok(number) = trimmed.parse::<f64>() {
        return if number.fract() == 0.0 { whole(number) } else { None };
    }
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number: f64 = trimmed[..end].parse().ok()?;
    let suffix = trimmed[end..].trim_start().to_ascii_lowercase();
    let suffix = suffix.strip_suffix("/s").unwrap_or(&suffix);
    let mut letters = suffix.chars();
    let power = "kmgtp".find(letters.next()?)? + 1;
    let base = match letters.as_str() {
        "" | "b" => kb_base,
        "i" | "ib" => 1024,
        _ => return None,
    };
    whole(number * (base as f64).powi(i32::try_from(power).ok()?))
}

fn whole(value: f64) -> Option<i128> {
    #[expect(clippy::cast_possible_truncation, reason = "checked: below 2^63")]
    (value.abs() < 9.2e18).then_some(value as i128)
}

/// A value in words.
pub(crate) fn describe(value: i128, unit: Unit) -> String {
    match unit {
        Unit::Bytes => match u64::try_from(value) {
            Ok(1) => "1 byte".to_owned(),
            Ok(bytes) => format!("{bytes} bytes"),
            Err(_) => format!("{value} bytes"),
        },
        Unit::Count => value.to_string(),
        Unit::Seconds | Unit::Microseconds => {
            let micros = u64::try_from(value).unwrap_or_default();
            Nanos::micros(micros.min(u64::MAX / 1000)).exact()
        }
    }
}

/// As fio would read it without a slip.
fn spell(value: i128, unit: Unit, kb_base: u64) -> String {
    let units: &[(i128, &str)] = match unit {
        Unit::Bytes if kb_base == 1024 => &[(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")],
        Unit::Bytes => &[(1_000_000_000, "g"), (1_000_000, "m"), (1_000, "k")],
        Unit::Count => &[],
        Unit::Seconds | Unit::Microseconds => {
            &[(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms"), (1, "us")]
        }
    };
    let fits = units.iter().find(|&&(factor, _)| value >= factor && value % factor == 0);
    fits.map_or_else(|| value.to_string(), |(factor, suffix)| format!("{}{suffix}", value / factor))
}

/// What is at one place of a list of up to three: read, write, trim.
pub(crate) type Triple<T> = [Option<T>; 3];

/// Splits a list of numbers as fio does: at commas, else at colons, else at minus signs, decided anew for each item.
/// Each item keeps the rest of the text behind it, as fio's number reader sees it; `true` tells that another separator than
/// a comma was taken.
pub(crate) fn items(text: &str) -> (Vec<&str>, bool) {
    let mut items = Vec::new();
    let mut took_other = false;
    let mut rest = text;
    loop {
        let separator =
            [',', ':', '-'].into_iter().find_map(|separator| rest.find(separator).map(|at| (separator, at)));
        let Some((separator, at)) = separator else {
            items.push(rest);
            break;
        };
        let item = &rest[..at];
        took_other |= separator != ',';
        items.push(item);
        rest = &rest[at + 1..];
        if separator == ',' && rest.is_empty() {
            // A trailing comma sets only what stands before it.
            items.push("");
            break;
        }
    }
    (items, took_other)
}

/// A size as a share or in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Bytes.
    Bytes(u64),
    /// Percent of what is there, 0 to 100.
    Percent(u8),
}

/// One entry of a split such as `4k/60:64k/40`: value and percentage, if one was given that is not 0.
pub(crate) type SplitEntry = (u64, Option<u32>);

/// Reads `value[/percent]:…`, one group per direction separated by commas; a missing third group is the second, missing
/// second and third the first. At most `max` entries each; what follows an empty one is left out, as by fio. A percentage of 0
/// is none that is given (`split_parse_ddir` of fio 3.33). Returns misreads beside.
pub(crate) fn split(
    text: &str,
    unit: Unit,
    kb_base: u64,
    max: usize,
) -> Result<([Vec<SplitEntry>; 3], Vec<Misread>), String> {
    let mut misreads = Vec::new();
    let mut group = |text: &str| -> Result<Vec<SplitEntry>, String> {
        let mut entries = Vec::new();
        for entry in text.split(':').take_while(|entry| !entry.is_empty()) {
            let (value, percent) =
                entry.split_once('/').map_or((entry, None), |(value, percent)| (value, Some(percent)));
            let value = number(value, unit, kb_base)?;
            misreads.extend(value.misread);
            let percent = match percent.map(str::trim).filter(|percent| !percent.is_empty()) {
                None => 0,
                Some(percent) => {
                    let (percent, misread) = percentage(percent)?;
                    misreads.extend(misread);
                    percent
                }
            };
            let bytes = u64::try_from(value.value).map_err(|_| format!("{} is negative", value.value))?;
            entries.push((bytes, Some(percent).filter(|&percent| percent > 0)));
        }
        if entries.len() > max {
            return Err(format!("{} entries are more than {max}", entries.len()));
        }
        misreads.extend(zeros_that_get_a_share(text, &entries));
        Ok(entries)
    };
    let groups: Vec<Vec<SplitEntry>> = text.split(',').take(3).map(&mut group).collect::<Result<_, _>>()?;
    let read = groups.first().cloned().unwrap_or_default();
    let write = groups.get(1).cloned().unwrap_or_else(|| read.clone());
    let trim = groups.get(2).cloned().unwrap_or_else(|| write.clone());
    Ok(([read, write, trim], misreads))
}

/// The percentage of an entry as C's `atoi` reads it, 100 at most. fio takes one below 0 for more than all, and one that begins
/// with no digits for none; neither is taken here.
fn percentage(text: &str) -> Result<(u32, Option<Misread>), String> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (digits, behind) = unsigned.split_at(end);
    if digits.is_empty() {
        return Err(format!("\"{text}\" does not begin with a number"));
    }
    let percent = digits.parse::<u32>().unwrap_or(u32::MAX).min(100);
    if text.starts_with('-') && percent > 0 {
        return Err(format!("\"{text}\" is no percentage from 0 to 100"));
    }
    let misread = (!matches!(behind, "" | "%")).then(|| Misread {
        piece: text.to_owned(),
        reads_as: format!("{percent}%"),
        because: "a percentage is a whole number here, and what follows it is ignored",
        instead: percent.to_string(),
    });
    Ok((percent, misread))
}

/// Tells of a group in which a percentage of 0 gets a share of what is left, which whoever writes it may not mean.
fn zeros_that_get_a_share(group: &str, entries: &[SplitEntry]) -> Option<Misread> {
    let asked: u32 = entries.iter().filter_map(|entry| entry.1).sum();
    let is_zero = |entry: &&str| {
        entry.split_once('/').is_some_and(|(_, percent)| matches!(percentage(percent.trim()), Ok((0, _))))
    };
    let written: Vec<&str> = group.split(':').take(entries.len()).collect();
    let others: Vec<&str> = written.iter().copied().filter(|entry| !is_zero(entry)).collect();
    // One size alone, and sizes that all have 0, are what they seem.
    let is_told = (1..entries.len()).contains(&others.len()) && asked < 100;
    let shares = weights(entries).ok().filter(|shares| is_told && shares.len() > others.len())?;
    let shares: Vec<String> = shares.iter().map(|(weight, value)| format!("{value}/{weight}")).collect();
    Some(Misread {
        piece: group.trim().to_owned(),
        reads_as: shares.join(":"),
        because: "entries with 0 share what is left of 100, as those without a percentage do",
        instead: others.join(":"),
    })
}

/// Gives entries without a percentage an equal part of what is left, in whole percent, and what no entry asks for to the last of
/// the largest, as fio does: of more than all, the largest shares lose what is beyond. One without a percentage gets none where the
/// others ask for all; fails where they ask for more.
pub(crate) fn weights(entries: &[SplitEntry]) -> Result<Vec<(f64, u64)>, String> {
    let asked: u32 = entries.iter().filter_map(|entry| entry.1).sum();
    let without = entries.iter().map(|entry| u32::from(entry.1.is_none())).sum::<u32>();
    if asked > 100 && without > 0 {
        return Err(format!("the percentages sum to {asked}, more than 100"));
    }
    let each = 100_u32.saturating_sub(asked).checked_div(without).unwrap_or(0);
    let mut kept: Vec<(u32, u64)> =
        entries.iter().map(|&(value, percent)| (percent.unwrap_or(each), value)).collect();
    if asked > 100 {
        kept.sort_by_key(|entry| entry.0);
        let mut left = 100;
        for (percent, _) in &mut kept {
            *percent = (*percent).min(left);
            left -= *percent;
        }
    } else {
        let left = 100 - asked - each * without;
        let largest = kept.iter().map(|entry| entry.0).max();
        if let Some(last) = kept.iter_mut().rev().find(|entry| Some(entry.0) == largest) {
            last.0 += left;
        }
    }
    kept.retain(|entry| entry.0 > 0);
    Ok(kept.into_iter().map(|(percent, value)| (f64::from(percent), value)).collect())
}

/// Splits a list of names at `:`; `\:` stands for the character itself.
pub(crate) fn names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                names.last_mut().expect("starts with one").push(chars.next().unwrap_or(':'));
            }
            ':' => names.push(String::new()),
            other => names.last_mut().expect("starts with one").push(other),
        }
    }
    names.retain(|name| !name.trim().is_empty());
    names
}

/// Reads the bytes of a pattern that no offset is in; its syntax is that of [`VerifyPattern`], with `'file'`.
pub(crate) fn pattern(text: &str, file: &dyn Fn(&str) -> Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
    let pieces = VerifyPattern::parse_with(text, file)?.pieces.into_iter().map(|piece| match piece {
        PatternPiece::Bytes(bytes) => Ok(bytes),
        PatternPiece::Offset => Err("%o is of verify_pattern alone".to_owned()),
    });
    Ok(pieces.collect::<Result<Vec<_>, _>>()?.concat())
}

/// The largest number of a CPU: Linux has no more than 8192, and the largest machines of today less than half of that.
const CPU_MAX: u32 = 4095;

/// The CPUs of `cpus_allowed`, as fio 3.33 reads them: what begins with no number is 0, of `1-2-3` the ends count, and the
/// list ends where a part of it is empty.
pub(crate) fn allowed_cpus(text: &str, misreads: &mut Vec<Misread>) -> Result<Vec<u32>, String> {
    let text = text.trim();
    let mut allowed = BTreeSet::new();
    let mut parts = Vec::new();
    for part in text.split(',').take_while(|part| !part.is_empty()) {
        let first = leading_cpu(part.split('-').next().unwrap_or_default())?;
        let last = part.split('-').take_while(|end| !end.is_empty()).last().map_or(Ok(first), leading_cpu)?;
        if first > last {
            return Err(format!("\"{part}\" is no range of CPUs from 0 to {CPU_MAX}"));
        }
        allowed.extend(first..=last);
        let written = if first == last { first.to_string() } else { format!("{first}-{last}") };
        if !parts.contains(&written) {
            parts.push(written);
        }
    }
    if allowed.is_empty() {
        return Err("the list of CPUs is empty".to_owned());
    }
    if !cpus(text).is_ok_and(|written| written.into_iter().collect::<BTreeSet<u32>>() == allowed) {
        let instead = parts.join(",");
        misreads.push(Misread {
            piece: text.to_owned(),
            reads_as: format!("CPU {instead}"),
            because: "what begins with no number is 0 there, and a list ends where a part of it is empty",
            instead,
        });
    }
    Ok(allowed.into_iter().collect())
}

/// The number of a CPU that a text begins with, as C reads it; 0 where there is none.
fn leading_cpu(text: &str) -> Result<u32, String> {
    let text = text.trim_start();
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 {
        return Ok(0);
    }
    let number = digits[..end].parse::<u32>().ok().filter(|&cpu| cpu <= CPU_MAX);
    number.ok_or_else(|| format!("\"{text}\" is no CPU from 0 to {CPU_MAX}"))
}

/// Numbers of a list `0,2-4` of CPUs or nodes.
pub(crate) fn cpus(text: &str) -> Result<Vec<u32>, String> {
    let number =
        |text: &str| text.trim().parse::<u32>().map_err(|_| format!("\"{text}\" is no number of a CPU"));
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) if !first.trim().is_empty() => (number(first)?, number(last)?),
            _ => (number(part)?, number(part)?),
        };
        if last > CPU_MAX || first > last {
            return Err(format!("\"{part}\" is no range of CPUs from 0 to {CPU_MAX}"));
        }
        cpus.extend(first..=last);
    }
    if cpus.is_empty() { Err("the list of CPUs is empty".to_owned()) } else { Ok(cpus) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What fio 3.33 printed for each (`--parse-only --debug=parse`), and whether that deserves a warning.
    fn check(text: &str, unit: Unit, value: i128, instead: Option<&str>) {
        let read = number(text, unit, 1024).unwrap();
        assert_eq!(read.value, value, "{text}");
        assert_eq!(read.misread.map(|misread| misread.instead).as_deref(), instead, "{text}");
    }

    #[test]
    fn numbers_are_what_fio_reads() {
        check("1.5g", Unit::Bytes, 1, Some("1536m"));
        check(" 4k", Unit::Bytes, 4, Some("4k"));
        check("1 g", Unit::Bytes, 1, Some("1g"));
        check("1Mi", Unit::Bytes, 1 << 20, None);
        check("4kib", Unit::Bytes, 4000, Some("4k"));
        check("4kB/s", Unit::Bytes, 4096, None);
        check("10MB/s", Unit::Bytes, 10 << 20, None);
        check("0x1000", Unit::Bytes, 4096, None);
        check("4096x", Unit::Bytes, 4096, Some("4k"));
        check("4096 ", Unit::Bytes, 4096, None);
        check("1e9", Unit::Bytes, 1, Some("1000000000"));
        check("1GIGA", Unit::Bytes, 1 << 30, Some("1g"));
        check("1gb", Unit::Bytes, 1 << 30, None);
        check("10q", Unit::Bytes, 10, Some("10"));
        check("+1m", Unit::Bytes, 1 << 20, Some("1m"));
        check("1k", Unit::Count, 1024, Some("1024"));
        check("0.5", Unit::Count, 0, Some("0"));
        check(" 8", Unit::Count, 8, None);
        check("1.5", Unit::Count, 1, Some("1"));
        check("5min", Unit::Seconds, 5, Some("5m"));
        check("+3min", Unit::Seconds, 3, Some("3us"));
        check("10sec", Unit::Seconds, 10, Some("10s"));
        check("2h30m", Unit::Seconds, 2, Some("150m"));
        check("1.5m", Unit::Seconds, 1_000_000, Some("90s"));
        check("1 min", Unit::Seconds, 1_000_000, Some("1m"));
        check("10 s", Unit::Seconds, 10_000_000, None);
        check("5M", Unit::Seconds, 300_000_000, None);
        check("500msec", Unit::Seconds, 500_000, None);
        check("60", Unit::Seconds, 60_000_000, None);
        check("1d", Unit::Seconds, 86_400_000_000, None);
        check("10", Unit::Microseconds, 10, None);
        check("1.5ms", Unit::Microseconds, 1, Some("1500us"));
        assert!(number("50%x", Unit::Bytes, 1024).unwrap().is_percent);
        for text in ["abc", "", "-", "9999999999999999999", "99999999999999999g", "3z"] {
            assert!(number(text, Unit::Bytes, 1024).is_err(), "{text}");
        }
        assert_eq!(number("4k", Unit::Bytes, 1000).unwrap().value, 4000);
        assert_eq!(number("4KiB", Unit::Bytes, 1000).unwrap().value, 4096);
        assert_eq!(number("4KiB", Unit::Bytes, 1000).unwrap().misread, None);
    }

    #[test]
    fn zones_are_whole_numbers() {
        for (text, expect) in [
            ("10z", Some(Some(10))),
            (" +3z", Some(Some(3))),
            ("10zz", Some(Some(10))),
            ("0z", Some(Some(0))),
            ("10Z", None),
            ("10", None),
            ("z", Some(None)),
            ("1.5z", Some(None)),
            ("2 z", Some(None)),
            ("2kz", Some(None)),
            ("0x10z", Some(None)),
            ("99999999999999999999z", Some(None)),
        ] {
            assert_eq!(zones(text).map(Result::ok), expect, "{text}");
        }
    }

    #[test]
    fn lists_are_split_as_fio_splits() {
        for (text, expect) in [
            ("4k", (vec!["4k"], false)),
            ("4k,8k,16k", (vec!["4k", "8k", "16k"], false)),
            ("4k-8k", (vec!["4k", "8k"], true)),
            ("4k:8k", (vec!["4k", "8k"], true)),
            (",8k", (vec!["", "8k"], false)),
            ("4k,", (vec!["4k", ""], false)),
        ] {
            assert_eq!(items(text), expect, "{text}");
        }
        assert_eq!(names("a:b\\:c::d"), ["a", "b:c", "d"]);
        let plain = |text: &str| pattern(text, &|name| Ok(name.as_bytes().to_vec())).unwrap();
        assert_eq!(plain("'ab'0x63"), *b"abc");
        assert_eq!(plain("0xdeadbeef"), [0xde, 0xad, 0xbe, 0xef]);
        assert_eq!(plain("0xabc\"xy\"258"), [0x0a, 0xbc, b'x', b'y', 2, 1]);
        assert_eq!(cpus("0,2-4").unwrap(), [0, 2, 3, 4]);
        assert_eq!(cpus("-1").unwrap_err(), "\"-1\" is no number of a CPU");
    }

    /// As fio 3.33 pinned its jobs on a machine with two CPUs, and what it refused.
    #[test]
    fn allowed_cpus_are_those_of_fio() {
        let cases: [(&str, Option<&[u32]>, bool); 19] = [
            ("0,2-4", Some(&[0, 2, 3, 4]), false),
            (" 1,0 ", Some(&[0, 1]), false),
            ("0,", Some(&[0]), false),
            ("0-1,1", Some(&[0, 1]), false),
            ("x", Some(&[0]), true),
            ("0,x", Some(&[0]), true),
            ("x-1", Some(&[0, 1]), true),
            ("0-x", Some(&[0]), true),
            ("1-", Some(&[1]), true),
            ("-1", Some(&[0]), true),
            ("0-5-1", Some(&[0, 1]), true),
            ("0,,1", Some(&[0]), true),
            ("1 0", Some(&[1]), true),
            ("0x1", Some(&[0]), true),
            (",", None, false),
            ("", None, false),
            ("1-0", None, false),
            ("9999", None, false),
            ("99999999999", None, false),
        ];
        for (text, expect, is_told) in cases {
            let mut misreads = Vec::new();
            let read = allowed_cpus(text, &mut misreads).ok();
            assert_eq!(read.as_deref(), expect, "{text}");
            assert_eq!(!misreads.is_empty(), is_told, "{text}: {misreads:?}");
            for Misread { instead, .. } in misreads {
                assert_eq!(cpus(&instead).ok().as_deref(), expect, "{text}");
            }
        }
    }

    #[test]
    fn split_percentages_are_completed() {
        let weights_of = |text: &str| weights(&split(text, Unit::Bytes, 1024, 64).unwrap().0[1]);
        assert_eq!(weights_of("4k/60:64k/40"), Ok(vec![(60.0, 4096), (40.0, 65536)]));
        assert_eq!(weights_of("4k/60:8k:16k"), Ok(vec![(60.0, 4096), (20.0, 8192), (20.0, 16384)]));
        assert_eq!(weights_of("4k"), Ok(vec![(100.0, 4096)]));
        assert_eq!(weights_of("4k/100,8k/110"), Ok(vec![(100.0, 8192)]));
        assert_eq!(weights_of("4k/30:8k/30"), Ok(vec![(30.0, 4096), (70.0, 8192)]));
        assert_eq!(weights_of("4k/50:8k/70:16k/10"), Ok(vec![(10.0, 16384), (50.0, 4096), (40.0, 8192)]));
        assert_eq!(weights_of("4k/100:8k/100:16k/50"), Ok(vec![(50.0, 16384), (50.0, 4096)]));
        assert!(weights_of("4k/50:8k/60:16k").is_err());
        assert_eq!(weights_of("4k/50::8k/50"), Ok(vec![(100.0, 4096)]));
        assert_eq!(weights_of("4k:8k:16k"), Ok(vec![(33.0, 4096), (33.0, 8192), (34.0, 16384)]));
    }

    /// As the logs of fio 3.33 have it (`ioengine=null`, `write_iolog`).
    #[test]
    fn a_percentage_of_zero_is_none() {
        let (k4, k8, k16) = (4096, 8192, 16384);
        for (text, expect, is_told) in [
            ("4k/40:8k/0", vec![(40.0, k4), (60.0, k8)], true),
            ("4k/0:8k", vec![(50.0, k4), (50.0, k8)], true),
            ("4k/0:8k/50:16k", vec![(25.0, k4), (50.0, k8), (25.0, k16)], true),
            ("4k/00:8k/25", vec![(75.0, k4), (25.0, k8)], true),
            ("4k/-0:8k/25", vec![(75.0, k4), (25.0, k8)], true),
            ("4k/0:8k/0", vec![(50.0, k4), (50.0, k8)], false),
            ("4k/0", vec![(100.0, k4)], false),
            ("4k/100:8k/0", vec![(100.0, k4)], false),
            ("4k/99:8k/0:16k/0", vec![(100.0, k4)], false),
            ("4k/:8k/50", vec![(50.0, k4), (50.0, k8)], false),
            ("4k/1k:8k", vec![(1.0, k4), (99.0, k8)], true),
            ("4k/33.7:8k", vec![(33.0, k4), (67.0, k8)], true),
            ("4k/50%:8k", vec![(50.0, k4), (50.0, k8)], false),
        ] {
            let (groups, misreads) = split(text, Unit::Bytes, 1024, 64).unwrap();
            assert_eq!(weights(&groups[0]), Ok(expect), "{text}");
            assert_eq!(!misreads.is_empty(), is_told, "{text}: {misreads:?}");
        }
        let (groups, misreads) = split("4k/60:8k/40,4k/10:8k/0:16k/40", Unit::Bytes, 1024, 64).unwrap();
        let of = |group: usize| weights(&groups[group]).unwrap();
        assert_eq!(of(0), [(60.0, k4), (40.0, k8)]);
        assert_eq!((of(1), of(2)), (vec![(10.0, k4), (50.0, k8), (40.0, k16)], of(1)));
        let [Misread { piece, reads_as, because: _, instead }] = misreads.as_slice() else {
            panic!("{misreads:?}");
        };
        let told = [piece, reads_as, instead].map(String::as_str);
        assert_eq!(told, ["4k/10:8k/0:16k/40", "4096/10:8192/50:16384/40", "4k/10:16k/40"]);
        for (text, reason) in [
            ("4k/-5:8k", "\"-5\" is no percentage from 0 to 100"),
            ("4k/abc", "\"abc\" does not begin with a number"),
        ] {
            assert_eq!(split(text, Unit::Bytes, 1024, 64), Err(reason.to_owned()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*", base in prop_oneof![Just(1000_u64), Just(1024)]) {
            for unit in [Unit::Bytes, Unit::Count, Unit::Seconds, Unit::Microseconds] {
                let _ = number(&text, unit, base);
            }
            let _ = (items(&text), names(&text), pattern(&text, &|_| Err(String::new())), cpus(&text), allowed_cpus(&text, &mut Vec::new()), split(&text, Unit::Bytes, base, 64));
        }

        #[test]
        fn what_the_warning_offers_is_read_as_meant(text in "[0-9]{1,4}(\\.[0-9])? ?(k|m|g|kib|s|min|h|sec|ms)?") {
            for unit in [Unit::Bytes, Unit::Count, Unit::Seconds, Unit::Microseconds] {
                if let Ok(Number { misread: Some(misread), .. }) = number(&text, unit, 1024) {
                    let again = number(&misread.instead, unit, 1024).unwrap();
                    prop_assert_eq!(again.misread, None, "{} → {}", text, misread.instead);
                }
            }
        }
    }
}
