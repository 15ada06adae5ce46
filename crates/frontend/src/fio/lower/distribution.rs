//! fio's distributions of random places as the model's. Knows nothing of the other things that random jobs have.

use super::super::faults::Faults;
use super::super::settings::Settings;
use super::super::values::{self, Size, Unit, number};
use fathom_model::{RandomDistribution, Span};
use fathom_units::{Bytes, Ratio};

/// Why a value is not lowered.
pub(super) struct Refused {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// `random_distribution` at `place`.
pub(super) fn distribution(
    text: &str,
    settings: &Settings,
    place: Span,
    faults: &mut Faults,
) -> Result<RandomDistribution, Refused> {
    let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
    let bad = |message: String, help| Refused {
        code: "fio.bad-value",
        message: format!("random_distribution: {message}"),
        help,
    };
    let not_built = |what: &str| Refused {
        code: "fio.not-built",
        message: format!("random_distribution={what} is known but not built yet"),
        help: "use random, zipf:THETA, pareto:H, normal:PERCENT or zoned:ACCESS/SIZE:…",
    };
    let figure = |text: &str| {
        text.trim().parse::<f64>().map_err(|_| bad(format!("\"{text}\" is no number"), "1.1 and 0.5 are"))
    };
    let mut parameter = |default: f64| {
        let (value, center) = match value.and_then(|value| value.split_once(':')) {
            Some((value, center)) => (Some(value), Some(center)),
            None => (value, None),
        };
        if let Some(center) = center {
            if !(0.0..=1.0).contains(&figure(center)?) {
                return Err(bad(format!("the center {center} is not from 0 to 1"), "0.5 is the middle"));
            }
            let message = format!(
                "the center {center} of random_distribution={name} changes nothing: it moves all places alike, and they \
                 are scattered over the file"
            );
            faults.warn("fio.approximate", place, message, "leave it out");
        }
        match value {
            None | Some("") => Ok(default),
            Some(value) => figure(value),
        }
    };
    match name {
        "random" => Ok(RandomDistribution::Uniform),
        "zipf" => match parameter(1.1)? {
            theta if theta > 0.0 && theta != 1.0 && theta.is_finite() => Ok(RandomDistribution::Zipf(theta)),
            theta => {
                Err(bad(format!("zipf needs a theta above 0 that is not 1; {theta} is not"), "1.1 is usual"))
            }
        },
        "pareto" => match parameter(0.2)? {
            h if h > 0.0 && h < 1.0 => Ok(RandomDistribution::Pareto(h)),
            h => Err(bad(format!("pareto needs h between 0 and 1; {h} is not"), "0.2 is usual")),
        },
        "normal" | "gauss" => match parameter(0.0)? {
            percent if (0.0..100.0).contains(&percent) => {
                // The mean of twelve even numbers (a deviation of 1/12 of the range), and one from so many percent of the
                // range around it.
                let deviation = (1.0 / 144.0 + (percent / 100.0).powi(2) / 12.0).sqrt();
                Ok(RandomDistribution::ScatteredNormal(Ratio::new(deviation).unwrap_or_default()))
            }
            percent => Err(bad(
                format!("normal needs a percentage from 0 and below 100; {percent} is not"),
                "20 is usual",
            )),
        },
        "zoned" => zones(value.unwrap_or_default(), settings)
            .map_err(|message| bad(message, "let both columns sum to 100")),
        "zoned_abs" => absolute_zones(value.unwrap_or_default(), settings)
            .map_err(|message| bad(message, "let accesses sum to 100, and give size")),
        "sequence" => Err(not_built(name)),
        other => {
            Err(bad(format!("\"{other}\" is no distribution"), "use random, zipf, pareto, normal or zoned"))
        }
    }
}

/// `access/size:access/size`, in percent; one list for all directions.
fn zones(text: &str, settings: &Settings) -> Result<RandomDistribution, String> {
    let (groups, _) = values::split(text, Unit::Count, settings.kb_base)?;
    if groups[1] != groups[0] || groups[2] != groups[0] {
        return Err("lists that differ between reads and writes are known but not built yet".to_owned());
    }
    let zones: Vec<(u64, u64)> =
        groups[0].iter().map(|&(access, size)| (access, u64::from(size.unwrap_or(0)))).collect();
    let sums = zones
        .iter()
        .fold((0_u64, 0_u64), |(a, s), &(access, size)| (a.saturating_add(access), s.saturating_add(size)));
    if sums != (100, 100) {
        return Err(format!(
            "the zones sum to {}% of accesses and {}% of the range, not 100%",
            sums.0, sums.1
        ));
    }
    let percent = |n: u64| Ratio::percent(n as f64);
    Ok(RandomDistribution::Zoned(
        zones.into_iter().map(|(access, size)| (percent(access), percent(size))).collect(),
    ))
}

/// `access/bytes:access/bytes`, of each file: accesses in percent.
fn absolute_zones(text: &str, settings: &Settings) -> Result<RandomDistribution, String> {
    let files = settings.files.count.max(1);
    let file = match settings.operations.size {
        Some(Size::Bytes(bytes)) if bytes / files > 0 => bytes / files,
        _ => return Err("where zones have bytes, the size has to be given in bytes as well".to_owned()),
    };
    if text.contains(',') {
        return Err("lists that differ between reads and writes are known but not built yet".to_owned());
    }
    let (mut zones, mut accesses, mut end) = (Vec::new(), 0, 0_u64);
    for entry in text.split(':') {
        let (access, bytes) = entry.split_once('/').ok_or_else(|| format!("\"{entry}\" has no size"))?;
        let access = number(access, Unit::Count, settings.kb_base)?.value;
        let access = u64::try_from(access).map_err(|_| format!("\"{entry}\" is out of range"))?;
        let bytes = number(bytes, Unit::Bytes, settings.kb_base)?.value;
        let bytes = u64::try_from(bytes).map_err(|_| format!("\"{entry}\" is out of range"))?;
        accesses = u64::saturating_add(accesses, access);
        let fitting = bytes.min(file - end);
        end += fitting;
        if fitting == 0 {
            return Err(format!("\"{entry}\" lies behind the {} of a file", Bytes(file)));
        }
        zones.push((
            Ratio::percent(access as f64),
            Ratio::new(fitting as f64 / file as f64).unwrap_or_default(),
        ));
    }
    if accesses != 100 {
        return Err(format!("the zones sum to {accesses}% of accesses, not 100%"));
    }
    if end < file {
        let rest = Ratio::new((file - end) as f64 / file as f64).unwrap_or_default();
        zones.push((Ratio::ZERO, rest));
    }
    Ok(RandomDistribution::Zoned(zones))
}
