//! How much, how long, how often: rates, seeds, errors, the simulated device, sweeps.

use super::{Arrival, OddPlace, OnError, Rate, RatePiece, Seed, ServiceTime, Sweep, text};
use crate::check::BLOCK_SIZE_MAX;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, RATES, Ratio};

/// Bytes per second beyond which no block size makes a possible rate of operations: 1e8 per second of 2^30 bytes.
const BANDWIDTH_MAX: f64 = 1e8 * BLOCK_SIZE_MAX.0 as f64;

impl OptionValue for Rate {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let rate = match literal {
            Literal::Integer(n) if *n > 0 => Self::Operations(Iops(*n as f64)),
            Literal::Float(x) if *x > 0.0 => Self::Operations(Iops(*x)),
            Literal::Integer(_) | Literal::Float(_) => {
                return Err(format!(
                    "a rate of {} never comes; write \"max\" for no limit",
                    literal.describe()
                ));
            }
            Literal::Text(text) if text == "max" => Self::Max,
            Literal::Text(text) if text.ends_with('%') => Self::OfMaximum(Ratio::read(literal, kind)?),
            Literal::Text(text) => match text.parse::<BytesPerSec>() {
                Ok(rate) if text.trim_end_matches("/s").ends_with('B') => Self::Bandwidth(rate),
                // Of what is told in bytes the fault is one of bytes.
                Err(error) if text.trim_end().ends_with("B/s") => return Err(error.to_string()),
                _ => Self::Operations(text.parse().map_err(|error| format!("{error}"))?),
            },
            other => return Err(format!("{} is not a rate", other.describe())),
        };
        match rate {
            Self::Operations(Iops(rate)) | Self::Bandwidth(BytesPerSec(rate))
                if rate <= 0.0 || !rate.is_finite() =>
            {
                Err(format!("a rate of {} never comes; write \"max\" for no limit", literal.describe()))
            }
            Self::Operations(Iops(rate)) if !RATES.contains(&rate) => Err(format!(
                "a rate of {} is out of bounds: {} to {} operations per second are possible",
                literal.describe(),
                RATES.start(),
                RATES.end()
            )),
            Self::Bandwidth(BytesPerSec(rate)) if rate > BANDWIDTH_MAX => Err(format!(
                "a rate of {} is out of bounds: it is more than {} operations per second of {BLOCK_SIZE_MAX} each",
                literal.describe(),
                RATES.end()
            )),
            Self::OfMaximum(Ratio::ZERO) => Err("0% of the maximum never comes".to_owned()),
            rate => Ok(rate),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Max => "\"max\"".to_owned(),
            Self::Operations(Iops(rate)) => format!("\"{rate}/s\""),
            Self::Bandwidth(BytesPerSec(rate)) => format!("\"{rate}B/s\""),
            Self::OfMaximum(share) => share.print(),
        }
    }
}

/// Shortest time on or off, and shortest window of a b-model: what is shorter than a millisecond is not a burst but the
/// device's own queueing, and a source that changes every few operations costs more than they do.
const PHASE_MIN: Nanos = Nanos::millis(1);
/// Most sources: their changes are a part of generating each operation.
const SOURCES_MAX: u32 = 1024;
const ARRIVALS: &str = "constant, by-kind, poisson, uniform, on-off:ON/OFF, pareto-on-off:SHAPE[:ON/OFF[:SOURCES]] or b-model:BIAS[:WINDOW]";

impl OptionValue for Arrival {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let arrival = match name {
            "constant" | "deterministic" => Self::Constant,
            "by-kind" => Self::ByKind,
            "poisson" | "exponential" => Self::Poisson,
            "uniform" => Self::Uniform,
            "on-off" => {
                let (on, off) =
                    on_and_off(parts.next().ok_or("on-off needs its times, e.g. on-off:100ms/400ms")?)?;
                Self::OnOff(on, off)
            }
            "pareto-on-off" => {
                let shape = number(parts.next().unwrap_or("1.4"), "shape")?;
                if !(1.01..=1.99).contains(&shape) {
                    return Err(format!(
                        "a Pareto shape of {shape} is not in 1.01 to 1.99, where bursts are self-similar"
                    ));
                }
                let (on, off) = on_and_off(parts.next().unwrap_or("100ms/900ms"))?;
                let sources = parts.next().unwrap_or("32");
                let sources = sources.parse::<u32>().ok().filter(|n| (1..=SOURCES_MAX).contains(n));
                Self::ParetoOnOff(
                    shape,
                    on,
                    off,
                    sources.ok_or(format!("the sources are not a number from 1 to {SOURCES_MAX}"))?,
                )
            }
            "b-model" => {
                let bias = number(parts.next().ok_or("b-model needs its bias, e.g. b-model:0.7")?, "bias")?;
                if !(0.5..=0.99).contains(&bias) {
                    return Err(format!("a bias of {bias} is not in 0.5 (even) to 0.99"));
                }
                let window = time(parts.next().unwrap_or("10s"))?;
                if window < Nanos::secs(1) {
                    return Err(format!(
                        "a window of {} is below 1 s, so its finest slots are below 16 µs",
                        window.exact()
                    ));
                }
                Self::BModel(bias, window)
            }
            other => return Err(format!("\"{other}\" is not one of {ARRIVALS}")),
        };
        match parts.next() {
            Some(rest) => Err(format!("\"{rest}\" of \"{text}\" has no meaning; write {ARRIVALS}")),
            None => Ok(arrival),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Constant => "\"constant\"".to_owned(),
            Self::ByKind => "\"by-kind\"".to_owned(),
            Self::Poisson => "\"poisson\"".to_owned(),
            Self::Uniform => "\"uniform\"".to_owned(),
            Self::OnOff(on, off) => format!("\"on-off:{}/{}\"", tight(*on), tight(*off)),
            Self::ParetoOnOff(shape, on, off, sources) => {
                format!("\"pareto-on-off:{shape}:{}/{}:{sources}\"", tight(*on), tight(*off))
            }
            Self::BModel(bias, window) => format!("\"b-model:{bias}:{}\"", tight(*window)),
        }
    }
}

/// A time without the blank before its unit.
fn tight(time: Nanos) -> String {
    time.to_string().replace(' ', "")
}

fn time(text: &str) -> Result<Nanos, String> {
    text.trim().parse().map_err(|error| format!("{error}"))
}

fn number(text: &str, what: &str) -> Result<f64, String> {
    text.trim().parse::<f64>().map_err(|_| format!("the {what} \"{text}\" is no number"))
}

fn on_and_off(text: &str) -> Result<(Nanos, Nanos), String> {
    let (on, off) = text.split_once('/').ok_or(format!("\"{text}\" is not ON/OFF, e.g. 100ms/400ms"))?;
    let (on, off) = (time(on)?, time(off)?);
    if on.min(off) < PHASE_MIN {
        return Err(format!("times on and off are {PHASE_MIN} or more; \"{text}\" has a shorter one"));
    }
    Ok((on, off))
}

/// A rate over time: `["1k/s for 10s", "to 5k/s over 20s"]`.
impl OptionValue for Vec<RatePiece> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        let pieces = match literal {
            Literal::List(items) => {
                items.iter().map(|item| piece(text(&item.value)?, kind)).collect::<Result<_, _>>()?
            }
            one => vec![piece(text(one)?, kind)?],
        };
        match pieces.first() {
            None => Err("the list is empty".to_owned()),
            Some(RatePiece::Ramp(..)) => {
                Err("the first piece has nothing to start from: hold a rate or idle first".to_owned())
            }
            Some(_) if pieces.iter().all(|piece: &RatePiece| matches!(piece, RatePiece::Idle(_))) => {
                Err("a course that only idles never comes".to_owned())
            }
            Some(_) => Ok(pieces),
        }
    }
    fn print(&self) -> String {
        let bare = |rate: &Rate| rate.print().trim_matches('"').to_owned();
        let all: Vec<String> = self
            .iter()
            .map(|piece| match piece {
                RatePiece::Hold(rate, time) => format!("\"{} for {}\"", bare(rate), tight(*time)),
                RatePiece::Idle(time) => format!("\"idle for {}\"", tight(*time)),
                RatePiece::Ramp(rate, time) => format!("\"to {} over {}\"", bare(rate), tight(*time)),
            })
            .collect();
        format!("[{}]", all.join(", "))
    }
}

fn piece(text: &str, kind: Kind) -> Result<RatePiece, String> {
    let wrong = || format!("\"{text}\" is not \"RATE for TIME\", \"to RATE over TIME\" or \"idle for TIME\"");
    let rate = |text: &str| match Rate::read(&Literal::from(text.trim()), kind)? {
        Rate::Max => Err("a course needs rates; \"max\" is none".to_owned()),
        rate => Ok(rate),
    };
    let length = |text: &str| match time(text)? {
        Nanos::ZERO => Err(format!("\"{text}\" is no time")),
        time => Ok(time),
    };
    if let Some(ramp) = text.strip_prefix("to ") {
        let (to, over) = ramp.split_once(" over ").ok_or_else(wrong)?;
        return Ok(RatePiece::Ramp(rate(to)?, length(over)?));
    }
    let (held, over) = text.split_once(" for ").ok_or_else(wrong)?;
    if held.trim() == "idle" {
        Ok(RatePiece::Idle(length(over)?))
    } else {
        Ok(RatePiece::Hold(rate(held)?, length(over)?))
    }
}

impl OptionValue for Vec<Ratio> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => items.iter().map(|item| Ratio::read(&item.value, kind)).collect(),
            one => Ok(vec![Ratio::read(one, kind)?]),
        }
    }
    fn print(&self) -> String {
        format!("[{}]", self.iter().map(OptionValue::print).collect::<Vec<_>>().join(", "))
    }
}

impl OptionValue for Seed {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::Text(text) if text == "fresh" => Ok(Self::Fresh),
            other => u64::read(other, kind).map(Self::Fixed),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Fixed(seed) => seed.to_string(),
            Self::Fresh => "\"fresh\"".to_owned(),
        }
    }
}

impl OptionValue for OnError {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::Text(text) if text == "stop" => Ok(Self::Stop),
            Literal::Integer(_) => u64::read(literal, kind).map(Self::Count),
            other => {
                Err(format!("{} is not \"stop\" or a number of errors to count up to", other.describe()))
            }
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Stop => "\"stop\"".to_owned(),
            Self::Count(n) => n.to_string(),
        }
    }
}

impl OptionValue for ServiceTime {
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let text = text(literal)?;
        let time = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
        match text.split_once(' ') {
            Some(("constant", rest)) => time(rest).map(Self::Constant),
            Some(("exponential", rest)) => time(rest).map(Self::Exponential),
            Some(("uniform", rest)) => {
                let (min, max) = rest.split_once("..").ok_or(format!("\"{rest}\" is no range of times"))?;
                let (min, max) = (time(min)?, time(max)?);
                if min <= max {
                    Ok(Self::Uniform(min, max))
                } else {
                    Err(format!("\"{rest}\" is no range of times"))
                }
            }
            // A time alone is the same for all, as everywhere else.
            _ => time(text).map(Self::Constant).map_err(|_| {
                format!("\"{text}\" is not \"T\", \"constant T\", \"exponential T\" or \"uniform T..T\"")
            }),
        }
    }
    fn print(&self) -> String {
        match self {
            Self::Constant(time) => format!("\"constant {}\"", time.to_string().replace(' ', "")),
            Self::Exponential(mean) => format!("\"exponential {}\"", mean.to_string().replace(' ', "")),
            Self::Uniform(min, max) => format!("\"uniform {min}..{max}\"")
                .replace("s ", "s")
                .replace(' ', "")
                .replace("uniform", "uniform "),
        }
    }
}

/// Freezes of a simulated device: `"10s for 500ms"`.
impl OptionValue for Vec<(Nanos, Nanos)> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) => {
                let all: Result<Vec<Self>, String> =
                    items.iter().map(|item| Self::read(&item.value, kind)).collect();
                Ok(all?.concat())
            }
            one => {
                let text = text(one)?;
                let (at, length) =
                    text.split_once(" for ").ok_or(format!("\"{text}\" is not \"T for T\""))?;
                let time = |text: &str| text.parse::<Nanos>().map_err(|error| error.to_string());
                Ok(vec![(time(at)?, time(length)?)])
            }
        }
    }
    fn print(&self) -> String {
        let all: Vec<String> = self.iter().map(|(at, length)| format!("\"{at} for {length}\"")).collect();
        format!("[{}]", all.join(", "))
    }
}

/// Places of a simulated device at most: each operation looks at all of them.
const PLACES_MAX: usize = 4096;

/// Places of a simulated device: `"64MiB..65MiB takes 20ms"`, `"96MiB..97MiB fails"`.
impl OptionValue for Vec<OddPlace> {
    fn read(literal: &Literal, kind: Kind) -> Result<Self, String> {
        match literal {
            Literal::List(items) if items.len() > PLACES_MAX => {
                Err(format!("{} places are more than the {PLACES_MAX} that there may be", items.len()))
            }
            Literal::List(items) => {
                let all: Result<Vec<Self>, String> =
                    items.iter().map(|item| Self::read(&item.value, kind)).collect();
                Ok(all?.concat())
            }
            one => odd_place(text(one)?).map(|place| vec![place]),
        }
    }
    fn print(&self) -> String {
        let all: Vec<String> = self
            .iter()
            .map(|OddPlace { from, to, takes }| {
                let plain = |text: String| text.replace(' ', "");
                let range = format!("{}..{}", plain(from.to_string()), plain(to.to_string()));
                match takes {
                    Some(time) => format!("\"{range} takes {}\"", plain(time.to_string())),
                    None => format!("\"{range} fails\""),
                }
            })
            .collect();
        format!("[{}]", all.join(", "))
    }
}

fn odd_place(text: &str) -> Result<OddPlace, String> {
    let wrong = || format!("\"{text}\" is not \"A..B takes T\" or \"A..B fails\"");
    let (range, fate) = text.trim().split_once(' ').ok_or_else(wrong)?;
    let takes = match fate.trim() {
        "fails" => None,
        fate => {
            let time = fate.strip_prefix("takes ").ok_or_else(wrong)?.trim();
            Some(time.parse::<Nanos>().map_err(|error| format!("\"{text}\": {error}"))?)
        }
    };
    let (from, to) = range.split_once("..").ok_or_else(wrong)?;
    let place = |end: &str| end.parse::<Bytes>().map_err(|error| format!("\"{text}\": {error}"));
    let (from, to) = (place(from)?, place(to)?);
    if from >= to {
        return Err(format!("\"{text}\": {to} is not behind {from}; a place ends behind its first byte"));
    }
    Ok(OddPlace { from, to, takes })
}

impl OptionValue for Sweep {
    /// A table of option path → list of values, or `{ from = 1, to = 256, factor = 2 }`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let Literal::Table(entries) = literal else {
            return Err(format!("{} is not a table of option → list", literal.describe()));
        };
        let dimensions = entries
            .iter()
            .map(|(path, values)| Ok((path.value.clone(), sweep_values(&path.value, &values.value)?)))
            .collect::<Result<_, String>>()?;
        Ok(Self { dimensions })
    }
    fn print(&self) -> String {
        let dimensions: Vec<String> = self
            .dimensions
            .iter()
            .map(|(path, values)| {
                let values: Vec<String> = values.iter().map(Literal::print).collect();
                format!("{path:?} = [{}]", values.join(", "))
            })
            .collect();
        format!("{{ {} }}", dimensions.join(", "))
    }
}

fn sweep_values(path: &str, literal: &Literal) -> Result<Vec<Literal>, String> {
    match literal {
        Literal::List(items) if items.is_empty() => Err(format!("the list of {path} is empty")),
        Literal::List(items) => Ok(items.iter().map(|item| item.value.clone()).collect()),
        Literal::Table(entries) => {
            let (mut from, mut to, mut factor, mut step) = (None, None, None, None);
            for (key, value) in entries {
                let Literal::Integer(n) = value.value else {
                    return Err(format!("{path}: {} needs a whole number", key.value));
                };
                match key.value.as_str() {
                    "from" => from = Some(n),
                    "to" => to = Some(n),
                    "factor" => factor = Some(n),
                    "step" => step = Some(n),
                    other => {
                        return Err(format!(
                            "{path}: a range has from, to, and factor or step, not \"{other}\""
                        ));
                    }
                }
            }
            let (Some(from), Some(to)) = (from, to) else {
                return Err(format!("{path}: a range needs from and to"));
            };
            let next: Box<dyn Fn(i64) -> Option<i64>> = match (factor, step) {
                (Some(factor), None) if factor > 1 && from > 0 => Box::new(move |n| n.checked_mul(factor)),
                (None, Some(step)) if step > 0 => Box::new(move |n| n.checked_add(step)),
                _ => {
                    return Err(format!(
                        "{path}: a range needs a factor above 1 (from above 0) or a step above 0"
                    ));
                }
            };
            let values = std::iter::successors(Some(from), |&n| next(n)).take_while(|&n| n <= to);
            // One more than the limit is enough for the check of the whole job to refuse it.
            let values: Vec<Literal> = values.take(crate::POINTS_MAX + 1).map(Literal::Integer).collect();
            if values.is_empty() { Err(format!("{path}: the range is empty")) } else { Ok(values) }
        }
        other => Err(format!("{path}: {} is not a list of values", other.describe())),
    }
}
