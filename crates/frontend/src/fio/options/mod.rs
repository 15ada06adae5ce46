//! The table of fio's options: one row each with its names, how its value reads, how far it is built, and what it sets.
//! Knows fio's settings; what they mean in the model is lowering's.

mod content;
mod control;
mod demands;
mod engine;
mod files;
mod foreign;
mod operations;
mod report;
mod traces;

mod verify;

use super::faults::Faults;
use super::grammar::{Line, shortened};
use super::settings::Settings;
use super::values::{Misread, Size, Triple, Unit, describe, items, number, zones};
use fathom_model::nearest;
use std::collections::HashMap;
use std::sync::LazyLock;

/// One option of fio.
#[derive(Debug, Clone, Copy)]
pub struct OptionRow {
    /// Canonical name, as fio's own output has it.
    pub name: &'static str,
    /// Other names it goes by.
    pub aliases: &'static [&'static str],
    /// How much jobs in the wild depend on it.
    pub priority: Priority,
    /// How far it is built.
    pub status: Status,
    pub(crate) value: Value,
}

/// How much jobs in the wild depend on an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Nearly every benchmark job.
    P0,
    /// Experts and test suites.
    P1,
    /// Exotic.
    P2,
}

/// How far an option is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does what fio's does.
    Built,
    /// Taken without effect, since nothing that is measured depends on it; the text, where there is one, says what is lost.
    Accepted(&'static str),
    /// An error for good, unless its value is one of these, which ask for nothing; the text says why.
    Refused(&'static [&'static str], &'static str),
    /// Known with these engines only, which fathom does not have: with one of them, that is what is said.
    Elsewhere(&'static [&'static str]),
}

/// How a value reads and what it sets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    /// Not looked at.
    Any,
    /// `stonewall`, `stonewall=1`.
    Flag(fn(&mut Settings, bool)),
    /// `direct=1`.
    Boolean(fn(&mut Settings, bool)),
    /// A whole number in a range.
    Count(u64, u64, fn(&mut Settings, u64)),
    /// A size of something that has no share.
    Bytes(u64, u64, fn(&mut Settings, u64)),
    /// Sizes or counts for reads, writes, trims.
    Triple(Unit, u64, u64, fn(&mut Settings, Triple<u64>)),
    /// A size or a percentage.
    Size(fn(&mut Settings, Size)),
    /// A time in microseconds; the unit says what a bare number is.
    Time(Unit, fn(&mut Settings, u64)),
    /// Two values `a-b`, or one.
    Span(Unit, fn(&mut Settings, (u64, u64))),
    /// One of these words; what follows `:` is handed over too.
    Word(&'static [&'static str], fn(&mut Settings, &str, Option<&str>)),
    /// A text; the function says what is wrong with it, and adds misreads.
    Text(fn(&mut Settings, &str, &mut Vec<Misread>) -> Result<(), String>),
    /// A text that may be absent.
    OptionalText(fn(&mut Settings, &str)),
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static OptionRow> {
    let tables = [
        control::ROWS,
        demands::ROWS,
        files::ROWS,
        operations::ROWS,
        engine::ROWS,
        content::ROWS,
        verify::ROWS,
        report::ROWS,
        traces::ROWS,
        foreign::ROWS,
    ];
    tables.into_iter().flatten()
}

/// The row of a name or an alias.
pub fn find(name: &str) -> Option<&'static OptionRow> {
    static BY_NAME: LazyLock<HashMap<&str, &OptionRow>> = LazyLock::new(|| {
        let names = |row: &'static OptionRow| std::iter::once(row.name).chain(row.aliases.iter().copied());
        rows().flat_map(|row| names(row).map(move |name| (name, row))).collect()
    });
    BY_NAME.get(name).copied()
}

impl OptionRow {
    /// Smallest and largest value, where it is a number; no largest where none is meant.
    pub(crate) fn range(&self) -> Option<(u64, Option<u64>)> {
        let (Value::Count(min, max, _) | Value::Bytes(min, max, _) | Value::Triple(_, min, max, _)) =
            self.value
        else {
            return matches!(self.value, Value::Boolean(_)).then_some((0, Some(1)));
        };
        let is_open = max >= u64::from(u32::MAX);
        (min > 0 || !is_open).then_some((min, (!is_open).then_some(max)))
    }

    /// The words that it may be.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        if let Value::Word(words, _) = self.value { words } else { &[] }
    }

    /// Whether it is no option of jobs at all, but of one of fio's profiles.
    #[cfg(test)]
    pub(crate) fn is_of_profile(&self) -> bool {
        foreign::ROWS.iter().any(|row| row.name == self.name)
    }

    /// In which order fio applies the options of a section: `kb_base` first, `filename` late, an engine's own at the end.
    pub(crate) fn order(&self) -> i8 {
        match self.name {
            "kb_base" | "unit_base" | "lockfile" | "cpus_allowed_policy" => -1,
            "filename" | "filename_format" => 1,
            name if super::lower::is_private(name) => 2,
            _ => 0,
        }
    }
}

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    priority: Priority,
    status: Status,
    value: Value,
) -> OptionRow {
    OptionRow { name, aliases, priority, status, value }
}

/// A row that is built.
const fn built(
    name: &'static str,
    aliases: &'static [&'static str],
    priority: Priority,
    value: Value,
) -> OptionRow {
    row(name, aliases, priority, Status::Built, value)
}

/// A row that is taken without effect.
const fn accepted(
    name: &'static str,
    aliases: &'static [&'static str],
    priority: Priority,
    value: Value,
    loses: &'static str,
) -> OptionRow {
    row(name, aliases, priority, Status::Accepted(loses), value)
}

/// A row that is an error for good, unless switched off; `why` says why, or what there is instead.
const fn refused(
    name: &'static str,
    aliases: &'static [&'static str],
    off: &'static [&'static str],
    why: &'static str,
) -> OptionRow {
    row(name, aliases, Priority::P2, Status::Refused(off, why), Value::Any)
}

const NO_BOOLEAN: Value = Value::Boolean(|_, _| {});

/// Applies one option to the settings. Returns the row and the value as fio echoes it; `None` when the option is unknown.
pub(crate) fn apply(
    line: &Line,
    settings: &mut Settings,
    faults: &mut Faults,
) -> Option<(&'static OptionRow, Option<String>)> {
    let Some(row) = find(&line.key) else {
        unknown(line, faults);
        return None;
    };
    let value = line.value.as_deref();
    let text = value.unwrap_or_default();
    match row.status {
        Status::Refused(off, why) => {
            if !off.contains(&text.trim()) {
                let message = format!("the fio option {} is not taken: {why}", row.name);
                faults.error("fio.refused", line.key_span, message, "leave it out");
            }
        }
        // Said when the engine of the section is known.
        Status::Elsewhere(_) => {}
        Status::Built | Status::Accepted(_) => {
            settings.spans.insert(row.name, line.value_span);
            let mut misreads = Vec::new();
            let result = match zones_of(row, text, &mut misreads) {
                Some(zones) => zones.map(|zones| {
                    settings.zones.insert(row.name, (zones, line.value_span));
                }),
                None => read(row, value, settings, &mut misreads),
            };
            // What asks for nothing may be written in whatever way fio takes.
            let is_ignored = matches!(row.status, Status::Accepted(_)) && is_number_to_fio(row.value, text);
            let is_read = result.is_ok() || is_ignored;
            if let Err(Fault { message, help }) =
                result.or_else(|fault| if is_ignored { Ok(()) } else { Err(fault) })
            {
                faults.error("fio.bad-value", line.value_span, message, help);
            }
            for misread in misreads {
                tell(row, text, misread, line, faults);
            }
            // A switch that is off asks for nothing.
            let is_off = matches!(row.value, Value::Boolean(_) | Value::Word(..))
                && ["0", "none"].contains(&text.trim());
            if let Status::Accepted(loses) = row.status
                && !loses.is_empty()
                && is_read
                && !is_off
            {
                faults.warn(
                    "fio.no-effect",
                    line.key_span,
                    format!("{} has no effect: {loses}", row.name),
                    "leave it out",
                );
            }
        }
    }
    Some((row, line.value.clone()))
}

/// How many zones this value of an option counts, where the option may and the value does. Of a list fio keeps the last.
fn zones_of(row: &OptionRow, text: &str, misreads: &mut Vec<Misread>) -> Option<Result<u64, Fault>> {
    if !matches!(row.value, Value::Size(_)) && row.name != "zoneskip" {
        return None;
    }
    let (items, _) = items(text);
    let used = items.iter().rev().find(|item| !item.trim().is_empty())?;
    let read = zones(used)?;
    if let Ok(count) = read
        && used.len() != text.len()
    {
        misreads.push(Misread {
            piece: text.trim().to_owned(),
            reads_as: format!("{count} zones"),
            because: "commas, colons and minus signs separate values, and only the last counts",
            instead: used.trim().to_owned(),
        });
    }
    let name = row.name;
    Some(read.map_err(|message| Fault {
        message: format!("{name}: {message}"),
        help: format!("write e.g. {name}=4z for four times zonesize"),
    }))
}

/// Makes bytes of what was given in zones, when all of the job is known: how long a zone is may be said last. As with fio 3.33,
/// one without `zonesize` has no bytes, and bytes that are given later replace no zones but none (`0z`).
pub(crate) fn resolve_zones(settings: &mut Settings, faults: &mut Faults) {
    let zone_bytes = settings.files.zone[0];
    for (name, (count, span)) in std::mem::take(&mut settings.zones) {
        let Some(row) = find(name) else { continue };
        let last = settings.span(name, span);
        if count == 0 && last != span {
            continue;
        }
        // A missing length is told where zones are asked for.
        if zone_bytes == 0 && settings.files.zone_mode.as_deref().is_none_or(|mode| mode == "none") {
            let message = format!("{name}={count}z is 0 bytes to fio: without zonesize a zone has none");
            faults.warn(
                "fio.misread",
                span,
                message,
                "add zonemode=strided and zonesize=1m, or write a size",
            );
        }
        if last != span {
            let message =
                format!("{name} stays {count}z to fio 3.33, which keeps zones whatever comes after");
            faults.warn("fio.misread", last, message, "keep one of them");
        }
        let bytes = count.checked_mul(zone_bytes).filter(|&bytes| match row.value {
            Value::Bytes(_, max, _) => bytes <= max,
            _ => i64::try_from(bytes).is_ok(),
        });
        match (row.value, bytes) {
            (Value::Size(set), Some(bytes)) => set(settings, Size::Bytes(bytes)),
            (Value::Bytes(_, _, set), Some(bytes)) => set(settings, bytes),
            _ => {
                let message =
                    format!("{name}: {count} zones of {zone_bytes} bytes are more than a file can have");
                faults.error("fio.bad-value", span, message, "use fewer or smaller zones");
            }
        }
    }
}

/// Whether fio finds a number in this value, which it takes apart at commas, colons and dashes: one of the parts is enough
/// for it. Of the parts before the first comma it looks at the first only.
fn is_number_to_fio(value: Value, text: &str) -> bool {
    let is_number = |part: &str| match value {
        Value::Boolean(_) => matches!(leading_integer(part), Some(0 | 1)),
        Value::Flag(_) | Value::Count(0, ..) | Value::Bytes(0, ..) => {
            part.trim_start().starts_with(|c: char| c.is_ascii_digit())
        }
        _ => false,
    };
    let mut rest = text;
    loop {
        if is_number(rest) {
            return true;
        }
        let Some((_, behind)) = [',', ':', '-'].into_iter().find_map(|sign| rest.split_once(sign)) else {
            return false;
        };
        rest = behind;
    }
}

/// Warns of a value that fio takes for something else than what it says.
fn tell(row: &OptionRow, text: &str, misread: Misread, line: &Line, faults: &mut Faults) {
    let Misread { piece, reads_as, because, instead } = misread;
    let name = row.name;
    let (message, mut help) = if piece == text.trim() {
        (format!("{name}={text} is {reads_as} to fio: {because}"), format!("write {name}={instead}"))
    } else {
        (
            format!("{piece} in {name}={text} is {reads_as} to fio: {because}"),
            format!("write {instead} there"),
        )
    };
    if name == "bs" && text.contains('-') {
        help.push_str(&format!(", or bsrange={} for a range", text.trim()));
    }
    if name == "rate_iops" && reads_as == "0" {
        "0 is no limit to fio, which has no rate below 1/s".clone_into(&mut help);
    }
    faults.warn("fio.misread", line.value_span, message, help);
}

/// Why a value is not taken.
struct Fault {
    message: String,
    help: String,
}

fn unknown(line: &Line, faults: &mut Faults) {
    let name = shortened(&line.key);
    let help = if faults.are_too_many() {
        String::new()
    } else {
        let names = rows().flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied()));
        nearest(&name, names).map_or_else(
            || "`fathom fio --cmdhelp` lists the options".to_owned(),
            |near| format!("did you mean {near}?"),
        )
    };
    faults.error("fio.unknown-option", line.key_span, format!("fio has no option \"{name}\""), help);
}

fn read(
    row: &OptionRow,
    value: Option<&str>,
    settings: &mut Settings,
    misreads: &mut Vec<Misread>,
) -> Result<(), Fault> {
    let name = row.name;
    let bad = |message: String| Fault { message: format!("{name}: {message}"), help: how_to_write(row) };
    match row.value {
        Value::Any if value.is_some() => return Ok(()),
        Value::Flag(set) if value.is_none() => {
            set(settings, true);
            return Ok(());
        }
        Value::OptionalText(set) => {
            set(settings, value.unwrap_or_default());
            return Ok(());
        }
        _ => {}
    }
    let text =
        value.ok_or_else(|| Fault { message: format!("{name} needs a value"), help: how_to_write(row) })?;
    let base = settings.kb_base;
    match row.value {
        Value::Flag(set) => {
            let flag = leading_integer(text).ok_or_else(|| bad(format!("\"{text}\" is not 0 or 1")))?;
            set(settings, flag != 0);
        }
        Value::Boolean(set) => match leading_integer(text) {
            // fio has a largest value here and no smallest.
            Some(flag) if flag <= 1 => set(settings, flag != 0),
            _ => return Err(bad(format!("\"{}\" is not 0 or 1", shortened(text)))),
        },
        // No dash that parts two values: the number is below 0 to fio, too.
        Value::Count(min, max, set) if text.trim_start().starts_with('-') => {
            let value = number_of(text, Unit::Count, base, &mut Vec::new()).map_err(bad)?;
            let value = match name {
                "fsync" | "fdatasync" if value < 0 => wrapped(value, text, misreads),
                "flow" if value < 0 => unweighed(value, text, misreads),
                _ => value,
            };
            set(settings, in_range(Ok(value), min, max).map_err(bad)?);
        }
        Value::Count(min, max, set) => {
            set(settings, in_range(single(text, Unit::Count, base, misreads), min, max).map_err(bad)?);
        }
        Value::Bytes(min, max, set) => {
            set(settings, in_range(single(text, Unit::Bytes, base, misreads), min, max).map_err(bad)?);
        }
        // Elsewhere a dash parts two values; one that begins with it is below 0 to fio, of which nothing comes, or, of times, a job
        // without an end.
        Value::Triple(..) | Value::Span(..) | Value::Time(..) if text.trim_start().starts_with('-') => {
            return Err(bad(format!("\"{}\" is below 0", shortened(text))));
        }
        Value::Triple(unit, min, max, set) => {
            let triple =
                triple(text, unit, base, misreads, |value| in_range(value, min, max)).map_err(bad)?;
            set(settings, triple);
        }
        Value::Size(set) => set(settings, size(text, base, misreads).map_err(bad)?),
        Value::Time(unit, set) => {
            set(settings, in_range(single(text, unit, base, misreads), 0, u64::MAX / 1000).map_err(bad)?);
        }
        Value::Span(unit, set) => {
            // No file has no bytes; a time may be none.
            let least = u64::from(matches!(unit, Unit::Bytes));
            let mut number = |end| in_range(number_of(end, unit, base, misreads), least, u64::MAX / 1000);
            // The first and the last of however many.
            let (mut ends, _) = super::values::items(text);
            ends.retain(|end| !end.is_empty());
            let (Some(low), Some(high)) = (ends.first(), ends.last()) else {
                return Err(bad("it is empty".to_owned()));
            };
            let low = number(low).map_err(bad)?;
            let high = if ends.len() > 1 { number(high).map_err(bad)? } else { low };
            set(settings, (low.min(high), low.max(high)));
        }
        Value::Word(words, set) => {
            let end = text.find([',', ':']).unwrap_or(text.len());
            let Some(word) = words.iter().find(|&&word| word == &text[..end]) else {
                let message = format!("\"{}\" is not one of {}", shortened(&text[..end]), words.join(", "));
                let help = nearest(text[..end].trim(), words.iter().copied())
                    .map_or_else(|| how_to_write(row), |near| format!("did you mean {name}={near}?"));
                return Err(Fault { message: format!("{name}: {message}"), help });
            };
            set(settings, word, text[end..].strip_prefix(':'));
        }
        Value::Text(_) if text.is_empty() => return Err(bad("its value is empty".to_owned())),
        Value::Text(set) => set(settings, text, misreads).map_err(bad)?,
        Value::Any | Value::OptionalText(_) => {}
    }
    Ok(())
}

/// A number below 0 as fio keeps it where it asks for no smallest: in 32 bits without a sign (`fsync=-1` of fio 3.33 syncs
/// nothing, as no job has that many writes).
fn wrapped(value: i128, text: &str, misreads: &mut Vec<Misread>) -> i128 {
    let kept = value.rem_euclid(1 << 32);
    let because = "numbers have no sign there, and so many writes there will not be";
    let piece = text.trim().to_owned();
    misreads.push(Misread { piece, reads_as: kept.to_string(), because, instead: "0".to_owned() });
    kept
}

/// A weight below 0 has no sign to fio 3.33 and is larger than what all weights are said to be together: no share of a flow
/// is beyond it.
fn unweighed(value: i128, text: &str, misreads: &mut Vec<Misread>) -> i128 {
    let because = "weights have no sign there, so that such a job never waits for the others of its flow";
    let reads_as = "more than all weights together".to_owned();
    misreads.push(Misread {
        piece: text.trim().to_owned(),
        reads_as,
        because,
        instead: (-value).to_string(),
    });
    0
}

fn how_to_write(row: &OptionRow) -> String {
    let name = row.name;
    match row.value {
        Value::Flag(_) => format!("write {name} alone, or {name}=0"),
        Value::Boolean(_) => format!("write {name}=1 or {name}=0"),
        Value::Count(min, u64::MAX, _) => format!("write a whole number from {min}"),
        Value::Count(min, max, _) => format!("write a whole number from {min} to {max}"),
        Value::Bytes(..) | Value::Span(Unit::Bytes, _) => format!("write a size, e.g. {name}=64k"),
        Value::Triple(Unit::Bytes, ..) => {
            format!("write a size, or one each for reads, writes and trims, e.g. {name}=4k,8k")
        }
        Value::Triple(..) => {
            format!("write a number, or one each for reads, writes and trims, e.g. {name}=100,50")
        }
        Value::Size(_) => format!("write a size or a percentage, e.g. {name}=1g or {name}=20%"),
        Value::Time(..) => format!("write a time, e.g. {name}=30s"),
        Value::Span(..) => format!("write one value, or two as {name}=LOW-HIGH"),
        Value::Word(words, _) => format!("use one of {}", words.join(", ")),
        Value::Text(_) | Value::OptionalText(_) | Value::Any => example(name).map_or_else(
            || format!("`fathom fio --cmdhelp={name}` says what it is for"),
            |example| format!("write it like {name}={example}"),
        ),
    }
}

/// A value of an option whose values have a form of their own.
fn example(name: &str) -> Option<&'static str> {
    Some(match name {
        "buffer_pattern" | "verify_pattern" => "0xdeadbeef, or like \"abcd\" in quotation marks",
        "bsrange" => "4k-64k",
        "bssplit" | "cmdprio_bssplit" => "4k/60:64k/40",
        "cpumask" => "3 for the CPUs 0 and 1",
        "cpus_allowed" | "numa_cpu_nodes" => "0,2-3",
        "ignore_error" => "EIO:ENOSPC, for reads, writes and trims with commas between them",
        "latency_percentile" => "99.9",
        "nice" => "5",
        "numa_mem_policy" => "bind:0",
        "percentile_list" => "50:99:99.9, up to 20 numbers from 0 to 100",
        "random_distribution" => "zipf:1.1, pareto:0.9, normal:50 or zoned:60/10:40/90",
        "replay_skip" => "write,trim",
        "rwmixread" | "rwmixwrite" => "70",
        "steadystate" => "iops:2%",
        "sync_file_range" => "write:16",
        _ => return None,
    })
}

/// The whole number a text begins with, as fio reads those of switches (`sscanf` with `%u`, and with `%x` where `0x` is anywhere in
/// it): of 32 bits, so that what is larger comes round.
fn leading_integer(text: &str) -> Option<i32> {
    let is_hex = text.contains("0x") || text.contains("0X");
    let start = text.trim_start();
    let (is_negative, digits) = match start.as_bytes().first() {
        Some(b'-') => (true, &start[1..]),
        Some(b'+') => (false, &start[1..]),
        _ => (false, start),
    };
    let prefixed = || digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (radix, digits) = if is_hex { (16, prefixed().unwrap_or(digits)) } else { (10, digits) };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    if end == 0 {
        return None;
    }
    // What 64 bits do not hold is the most that they do.
    let magnitude = u64::from_str_radix(&digits[..end], radix).unwrap_or(u64::MAX);
    let value = if is_negative { magnitude.wrapping_neg() } else { magnitude };
    #[expect(clippy::cast_possible_truncation, reason = "as C stores it")]
    Some(value as i32)
}

/// A number that is no percentage.
fn number_of(text: &str, unit: Unit, base: u64, misreads: &mut Vec<Misread>) -> Result<i128, String> {
    let read = number(text, unit, base)?;
    if read.is_percent {
        return Err(format!("\"{}\" is a percentage, which has no meaning here", shortened(text)));
    }
    misreads.extend(read.misread);
    Ok(read.value)
}

/// One number; of a list fio keeps the first.
fn single(text: &str, unit: Unit, base: u64, misreads: &mut Vec<Misread>) -> Result<i128, String> {
    let (items, _) = items(text);
    let used = items.iter().find(|item| !item.trim().is_empty()).copied().unwrap_or(text);
    let value = number_of(used, unit, base, misreads)?;
    if used.len() != text.len() && misreads.is_empty() {
        let because = "commas, colons and minus signs separate values, and only one of them counts";
        misreads.push(one_of_several(value, unit, used, text, because));
    }
    Ok(value)
}

fn one_of_several(value: i128, unit: Unit, used: &str, text: &str, because: &'static str) -> Misread {
    let (piece, instead) = (text.trim().to_owned(), used.trim().to_owned());
    Misread { piece, reads_as: describe(value, unit), because, instead }
}

fn in_range(value: Result<i128, String>, min: u64, max: u64) -> Result<u64, String> {
    let value = value?;
    if value < i128::from(min) {
        return Err(format!("{value} is below {min}"));
    }
    u64::try_from(value).ok().filter(|&value| value <= max).ok_or_else(|| format!("{value} is above {max}"))
}

/// Up to three numbers. One stands for all; of two the second is for trims too; an empty one leaves what was.
fn triple(
    text: &str,
    unit: Unit,
    base: u64,
    misreads: &mut Vec<Misread>,
    check: impl Fn(Result<i128, String>) -> Result<u64, String>,
) -> Result<Triple<u64>, String> {
    let (items, took_other) = items(text);
    let mut values: Vec<Option<u64>> = Vec::new();
    for item in items.iter().take(3) {
        values.push(if item.is_empty() { None } else { Some(check(number_of(item, unit, base, misreads))?) });
    }
    let triple = match values.as_slice() {
        [one] => [*one; 3],
        [first, second] if !items.last().is_some_and(|item| item.is_empty()) => [*first, *second, *second],
        [first, second, rest @ ..] => [*first, *second, rest.first().copied().flatten()],
        [] => [None; 3],
    };
    if triple.iter().all(Option::is_none) {
        return Err(format!("\"{}\" has no value", shortened(text)));
    }
    if took_other && misreads.is_empty() {
        let word =
            |value: Option<u64>| value.map_or_else(|| "as it was".to_owned(), |value| value.to_string());
        let reads_as = format!("{} for reads and {} for writes", word(triple[0]), word(triple[1]));
        let because = "colons and minus signs separate reads from writes like commas; they make no range";
        let given: Vec<&str> = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()).collect();
        misreads.push(Misread { piece: text.trim().to_owned(), reads_as, because, instead: given.join(",") });
    }
    Ok(triple)
}

/// A size or a percentage; of a list the last counts.
fn size(text: &str, base: u64, misreads: &mut Vec<Misread>) -> Result<Size, String> {
    let (items, _) = items(text);
    let used = items.iter().rev().find(|item| !item.trim().is_empty()).copied().unwrap_or(text);
    let read = number(used, Unit::Bytes, base)?;
    misreads.extend(read.misread);
    if read.is_percent {
        // As fio, to which no share is no size given.
        if read.value == 0 {
            return Ok(Size::Bytes(0));
        }
        return u8::try_from(read.value)
            .ok()
            .filter(|&percent| percent <= 100)
            .map(Size::Percent)
            .ok_or_else(|| format!("{}% is outside 0% to 100%", read.value));
    }
    if used.len() != text.len() && misreads.is_empty() {
        let because = "commas, colons and minus signs separate values, and only the last counts";
        misreads.push(one_of_several(read.value, Unit::Bytes, used, text, because));
    }
    in_range(Ok(read.value), 0, u64::MAX).map(Size::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_one_row() {
        let mut seen = std::collections::BTreeSet::new();
        for name in rows().flat_map(|row| std::iter::once(row.name).chain(row.aliases.iter().copied())) {
            assert!(seen.insert(name), "{name} is there twice");
        }
        assert!(seen.len() > 246, "{}", seen.len());
    }

    #[test]
    fn what_nearly_every_job_needs_is_there() {
        let missing: Vec<&str> = rows()
            .filter(|row| row.priority == Priority::P0 && matches!(row.status, Status::Refused(..)))
            .map(|row| row.name)
            .collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
