//! Where operations go and what they carry: distributions, order of files, content.

use super::{ContentSource, FileOrder, RandomDistribution, RangeSync, Zones, text};
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, Ratio};

impl OptionValue for RandomDistribution {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let number = || {
            let (number, center) =
                value.split_once(':').map_or((value, None), |(number, at)| (number, Some(at)));
            let read = number.trim().parse::<f64>().map_err(|_| format!("\"{number}\" is no number"))?;
            Ok::<_, String>((read, center.map(share).transpose()?))
        };
        match name {
            "uniform" => Ok(Self::Uniform),
            "zipf" => match number()? {
                (theta, center) if theta >= 0.0 && theta != 1.0 && theta.is_finite() => {
                    Ok(Self::Zipf(theta, center))
                }
                (theta, _) => Err(format!(
                    "zipf needs a theta of 0 or above and not 1, where its sum has no closed form, such as 0.99; {theta} is not"
                )),
            },
            "pareto" => match number()? {
                (h, center) if h > 0.0 && h < 1.0 => Ok(Self::Pareto(h, center)),
                (h, _) => Err(format!("pareto needs h between 0 and 1; {h} is not")),
            },
            "normal" => {
                let (deviation, scattered) = match value.split_once(':') {
                    None => (value, false),
                    Some((deviation, "scattered")) => (deviation, true),
                    Some((_, other)) => return Err(format!("\"{other}\" is not \"scattered\"")),
                };
                match share(deviation)? {
                    Ratio::ZERO => Err("a normal distribution needs a deviation above 0%".to_owned()),
                    deviation if scattered => Ok(Self::ScatteredNormal(deviation)),
                    deviation => Ok(Self::Normal(deviation)),
                }
            }
            "zoned" if KINDS.iter().any(|kind| value.trim_start().starts_with(kind)) => {
                zones_by_kind(value).map(|zones| Self::ZonedByKind(Box::new(zones)))
            }
            "zoned" => zones(value).map(Self::Zoned),
            "hot" => match pair(value)? {
                (Ratio::ZERO, _) | (_, Ratio::ZERO) => {
                    Err("hot needs shares above 0%, e.g. hot:80%/20%".to_owned())
                }
                (access, span) => Ok(Self::Hot(access, span)),
            },
            "reuse" => reuse(value).map(Self::Reuse),
            "blocks" => listed(value),
            "reuse-walk" if value.is_empty() => Ok(Self::ReuseWalk),
            "reuse-walk" => Err(format!("reuse-walk is set by nothing, not by \"{value}\"")),
            other => Err(format!(
                "unknown distribution \"{other}\"; use uniform, zipf, pareto, normal, zoned, hot, reuse, reuse-walk or blocks"
            )),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Uniform => "\"uniform\"".to_owned(),
            Self::Zipf(theta, None) => format!("\"zipf:{theta}\""),
            Self::Zipf(theta, Some(center)) => format!("\"zipf:{theta}:{center}\""),
            Self::Pareto(h, None) => format!("\"pareto:{h}\""),
            Self::Pareto(h, Some(center)) => format!("\"pareto:{h}:{center}\""),
            Self::Normal(deviation) => format!("\"normal:{deviation}\""),
            Self::ScatteredNormal(deviation) => format!("\"normal:{deviation}:scattered\""),
            Self::Hot(access, span) => format!("\"hot:{access}/{span}\""),
            Self::ReuseWalk => "\"reuse-walk\"".to_owned(),
            Self::Listed(blocks, advances) => {
                let blocks: Vec<String> = blocks.iter().map(u64::to_string).collect();
                format!("\"blocks:{}{}\"", blocks.join(","), if *advances { ":advancing" } else { "" })
            }
            Self::Reuse(points) => {
                let points: Vec<String> = points
                    .iter()
                    .map(|(size, hits)| format!("{}={hits}", size.to_string().replace(' ', "")))
                    .collect();
                format!("\"reuse:{}\"", points.join(","))
            }
            Self::Zoned(zones) => format!("\"zoned:{}\"", zone_list(zones)),
            Self::ZonedByKind(lists) => {
                let named = KINDS.iter().zip(&**lists).filter(|(_, zones)| !zones.is_empty());
                let named: Vec<String> =
                    named.map(|(kind, zones)| format!("{kind} {}", zone_list(zones))).collect();
                format!("\"zoned:{}\"", named.join(";"))
            }
        }
    }
}

/// What lists of zones by kind of operation are called, in the order of [`RandomDistribution::ZonedByKind`].
const KINDS: [&str; 3] = ["read", "write", "trim"];

fn zone_list(zones: &[(Ratio, Ratio)]) -> String {
    zones.iter().map(|(access, span)| format!("{access}/{span}")).collect::<Vec<_>>().join(",")
}

fn share(text: &str) -> Result<Ratio, String> {
    text.trim().parse().map_err(|error| format!("{error}"))
}

fn pair(zone: &str) -> Result<(Ratio, Ratio), String> {
    let (access, span) = zone.split_once('/').ok_or(format!("\"{zone}\" is not ACCESS%/SPAN%"))?;
    Ok((share(access)?, share(span)?))
}

/// Numbers of blocks, as fio's `sequence` has them.
fn listed(text: &str) -> Result<RandomDistribution, String> {
    let (blocks, advances) = match text.split_once(':') {
        None => (text, false),
        Some((blocks, "advancing")) => (blocks, true),
        Some((_, other)) => return Err(format!("\"{other}\" is not \"advancing\"")),
    };
    let block = |text: &str| {
        text.trim()
            .parse::<u64>()
            .map_err(|_| format!("\"{text}\" is no number of a block, e.g. blocks:2,0,1"))
    };
    Ok(RandomDistribution::Listed(blocks.split(',').map(block).collect::<Result<_, String>>()?, advances))
}

/// Cache sizes and the shares of accesses they serve, both growing.
fn reuse(text: &str) -> Result<Vec<(Bytes, Ratio)>, String> {
    let mut points: Vec<(Bytes, Ratio)> = Vec::new();
    for point in text.split(',') {
        let (size, hits) =
            point.split_once('=').ok_or(format!("\"{point}\" is not SIZE=HITS%, e.g. 64MiB=50%"))?;
        let size = size.trim().parse::<Bytes>().map_err(|error| error.to_string())?;
        let hits = share(hits)?;
        let (smaller, fewer) = points.last().copied().unwrap_or((Bytes::ZERO, Ratio::ZERO));
        if size == Bytes::ZERO {
            return Err("a cache of 0 B serves nothing; use a size above 0, e.g. 64MiB=50%".to_owned());
        }
        if hits == Ratio::ZERO {
            return Err(format!(
                "a cache of {size} that serves 0% says nothing; leave it out, or use a share above 0%"
            ));
        }
        if size <= smaller || hits < fewer {
            return Err(format!(
                "a cache of {size} that serves {hits} does not follow one of {smaller} that serves {fewer}; sizes grow, and what \
                 they serve does not shrink"
            ));
        }
        points.push((size, hits));
    }
    Ok(points)
}

fn zones_by_kind(text: &str) -> Result<[Vec<(Ratio, Ratio)>; 3], String> {
    let mut lists: [Vec<(Ratio, Ratio)>; 3] = Default::default();
    for part in text.split(';') {
        let (kind, list) = part.trim().split_once(' ').unwrap_or((part.trim(), ""));
        let kind = KINDS
            .iter()
            .position(|known| *known == kind)
            .ok_or_else(|| format!("\"{part}\" does not begin with read, write or trim"))?;
        if !lists[kind].is_empty() {
            return Err(format!("\"{part}\" says a second time what holds"));
        }
        lists[kind] = zones(list)?;
    }
    Ok(lists)
}

fn zones(text: &str) -> Result<Vec<(Ratio, Ratio)>, String> {
    let zones: Vec<(Ratio, Ratio)> = text.split(',').map(pair).collect::<Result<_, String>>()?;
    let sums = zones.iter().fold((0.0, 0.0), |(a, s), (access, span)| (a + access.value(), s + span.value()));
    if (sums.0 - 1.0_f64).abs() > 1e-6 || (sums.1 - 1.0_f64).abs() > 1e-6 {
        return Err(format!(
            "the zones sum to {:.1}% of accesses and {:.1}% of the span, not 100%",
            sums.0 * 100.0,
            sums.1 * 100.0
        ));
    }
    Ok(zones)
}

impl OptionValue for ContentSource {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        match text(literal)? {
            "random" => Ok(Self::Random),
            "zero" => Ok(Self::Zero),
            other => match other.strip_prefix("0x") {
                Some(hex) if !hex.is_empty() && hex.len() % 2 == 0 => (0..hex.len())
                    .step_by(2)
                    .map(|at| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                    .collect::<Option<Vec<u8>>>()
                    .map(Self::Pattern)
                    .ok_or_else(|| format!("\"{other}\" is not hexadecimal")),
                _ => Err(format!("\"{other}\" is not random, zero or a pattern such as 0xdeadbeef")),
            },
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Random => "\"random\"".to_owned(),
            Self::Zero => "\"zero\"".to_owned(),
            Self::Pattern(bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("\"0x{hex}\"")
            }
        }
    }
}

impl OptionValue for FileOrder {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let parts: Vec<&str> = parts.collect();
        let count = |part: Option<&&str>| match part {
            None => Ok(1),
            Some(count) => count
                .parse::<u32>()
                .ok()
                .filter(|&n| n > 0)
                .ok_or_else(|| format!("\"{text}\" does not end in a whole number from 1")),
        };
        let number = |what: &str| {
            let given = parts.first().ok_or_else(|| format!("{name} needs {what}, e.g. {name}:0.5"))?;
            given.parse::<f64>().map_err(|_| format!("\"{given}\" is no number"))
        };
        let center =
            || parts.get(1).map_or(Ok(Ratio::ZERO), |share| share.parse().map_err(|e| format!("{e}")));
        match name {
            "round-robin" => Ok(Self::RoundRobin(count(parts.first())?)),
            "sequential" => Ok(Self::Sequential),
            "random" => Ok(Self::Random(count(parts.first())?)),
            "zipf" => match number("a theta")? {
                theta if theta > 0.0 && theta != 1.0 && theta.is_finite() => {
                    Ok(Self::Zipf(theta, center()?, count(parts.get(2))?))
                }
                theta => Err(format!("zipf needs a theta above 0 and not 1, such as 0.99; {theta} is not")),
            },
            "pareto" => match number("h")? {
                h if h > 0.0 && h < 1.0 => Ok(Self::Pareto(h, center()?, count(parts.get(2))?)),
                h => Err(format!("pareto needs h between 0 and 1; {h} is not")),
            },
            "normal" => {
                let given = parts.first().ok_or("normal needs a deviation, e.g. normal:10%")?;
                let deviation = given.parse::<Ratio>().map_err(|error| error.to_string())?;
                Ok(Self::Normal(deviation, center()?, count(parts.get(2))?))
            }
            other => Err(format!(
                "\"{other}\" is not one of round-robin, sequential, random, zipf, pareto, normal"
            )),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::RoundRobin(1) => "\"round-robin\"".to_owned(),
            Self::RoundRobin(n) => format!("\"round-robin:{n}\""),
            Self::Sequential => "\"sequential\"".to_owned(),
            Self::Random(1) => "\"random\"".to_owned(),
            Self::Random(n) => format!("\"random:{n}\""),
            Self::Zipf(theta, center, n) => format!("\"zipf:{theta}:{center}:{n}\""),
            Self::Pareto(h, center, n) => format!("\"pareto:{h}:{center}:{n}\""),
            Self::Normal(deviation, center, n) => format!("\"normal:{deviation}:{center}:{n}\""),
        }
    }
}

impl OptionValue for Zones {
    /// `8MiB of 16MiB`, `8MiB of 16MiB skip 4MiB`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let bytes = |part: &str| part.trim().parse::<Bytes>().map_err(|error| error.to_string());
        let (size, rest) = text
            .split_once(" of ")
            .ok_or_else(|| format!("\"{text}\" is not \"SIZE of RANGE skip SKIP\""))?;
        let (range, skip) = rest.split_once(" skip ").unwrap_or((rest, "0B"));
        let zones = Self { size: bytes(size)?, range: bytes(range)?, skip: bytes(skip)? };
        if zones.size.0 == 0 || zones.range.0 == 0 {
            return Err("a zone of 0 bytes".to_owned());
        }
        Ok(zones)
    }
    fn print(&self) -> String {
        let Self { size, range, skip } = self;
        let plain = |bytes: &Bytes| bytes.to_string().replace(' ', "");
        let skip = if skip.0 == 0 { String::new() } else { format!(" skip {}", plain(skip)) };
        format!("\"{} of {}{skip}\"", plain(size), plain(range))
    }
}

impl OptionValue for RangeSync {
    /// `wait-before,write,wait-after`, at least one of them.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let mut range = Self { wait_before: false, write: false, wait_after: false };
        for word in text(literal)?.split(',') {
            match word.trim() {
                "wait-before" => range.wait_before = true,
                "write" => range.write = true,
                "wait-after" => range.wait_after = true,
                other => return Err(format!("\"{other}\" is not wait-before, write or wait-after")),
            }
        }
        Ok(range)
    }
    fn print(&self) -> String {
        let Self { wait_before, write, wait_after } = *self;
        let words = [(wait_before, "wait-before"), (write, "write"), (wait_after, "wait-after")];
        let words: Vec<&str> = words.into_iter().filter(|(set, _)| *set).map(|(_, word)| word).collect();
        format!("\"{}\"", words.join(","))
    }
}
