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
    let figure = |text: &str| {
        text.trim().parse::<f64>().map_err(|_| bad(format!("\"{text}\" is no number"), "1.1 and 0.5 are"))
    };
    let (first, second) = match value.and_then(|value| value.split_once(':')) {
        Some((first, second)) => (Some(first), Some(second)),
        None => (value, None),
    };
    let parameter = |default: f64| match first {
        None => Ok(default),
        Some(first) => figure(first),
    };
    let center = || match second {
        None => Ok(None),
        Some(text) => Ratio::new(figure(text)?)
            .map(Some)
            .ok_or_else(|| bad(format!("the center {text} is not from 0 to 1"), "0.5 is the middle")),
    };
    match name {
        "random" => Ok(RandomDistribution::Uniform),
        "zipf" => match parameter(1.1)? {
            // With 0 all places are alike, but drawn each time anew.
            theta if theta >= 0.0 && theta != 1.0 && theta.is_finite() => {
                Ok(RandomDistribution::Zipf(theta, center()?))
            }
            theta => Err(bad(
                format!("zipf needs a theta of 0 or above that is not 1; {theta} is not"),
                "1.1 is usual",
            )),
        },
        "pareto" => match parameter(0.2)? {
            h if h > 0.0 && h < 1.0 => Ok(RandomDistribution::Pareto(h, center()?)),
            h => Err(bad(format!("pareto needs h between 0 and 1; {h} is not"), "0.2 is usual")),
        },
        "normal" => match parameter(0.0)? {
            percent if (0.0..100.0).contains(&percent) => {
                if center()?.is_some() {
                    let message = "the center of random_distribution=normal changes nothing: it moves all places alike, and \
                                   they are scattered over the file";
                    faults.warn("fio.approximate", place, message, "leave it out");
                }
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
            .map_err(|message| bad(message, "let the accesses sum to 100, and the sizes to no more")),
        "zoned_abs" => absolute_zones(value.unwrap_or_default(), settings)
            .map_err(|message| bad(message, "let accesses sum to 100, and give size")),
        "sequence" => sequence(value.unwrap_or_default(), settings)
            .map_err(|message| bad(message, "sequence:2,0,1, say")),
        other => Err(bad(
            format!("\"{other}\" is no distribution"),
            "use random, zipf, pareto, normal, zoned or sequence",
        )),
    }
}

/// Most blocks of a sequence, as with fio.
const SEQUENCE_MAX: usize = 64;

/// Most zones of one direction, as with fio, which leaves out the others.
const ZONES_MAX: usize = 256;

/// `block,block,…`, numbers of blocks of the file.
fn sequence(text: &str, settings: &Settings) -> Result<RandomDistribution, String> {
    let block = |text: &str| {
        text.trim().parse::<u64>().map_err(|_| format!("\"{text}\" of the sequence is no number of a block"))
    };
    let blocks: Vec<u64> = text.split(',').map(block).collect::<Result<_, String>>()?;
    if blocks.len() > SEQUENCE_MAX {
        return Err(format!("a sequence of {} blocks is longer than {SEQUENCE_MAX}", blocks.len()));
    }
    Ok(RandomDistribution::Listed(blocks, settings.operations.sequence_advances))
}

/// Zones of the range: their shares of the accesses and of the range.
type ZoneList = Vec<(Ratio, Ratio)>;

/// Lists of reads, writes and trims as one distribution. As with fio, a kind without zones has all places alike.
fn by_kind([read, write, trim]: [ZoneList; 3]) -> RandomDistribution {
    if read.is_empty() && write.is_empty() && trim.is_empty() {
        return RandomDistribution::Uniform;
    }
    if read == write && write == trim {
        return RandomDistribution::Zoned(read);
    }
    RandomDistribution::ZonedByKind(Box::new([read, write, trim]))
}

/// `access/size:access/size`, in percent, for all directions, or lists of each with commas between them.
fn zones(text: &str, settings: &Settings) -> Result<RandomDistribution, String> {
    if text.trim().is_empty() {
        return Err("there is no zone".to_owned());
    }
    let (groups, _) = values::split(text, Unit::Count, settings.kb_base, ZONES_MAX)?;
    let [read, write, trim] = groups.map(zones_in_percent);
    Ok(by_kind([read?, write?, trim?]))
}

/// As with fio, zones without a size share what is left of the range in whole percent, and what no zone has is not touched.
fn zones_in_percent(zones: Vec<(u64, Option<u32>)>) -> Result<ZoneList, String> {
    if zones.is_empty() {
        return Ok(Vec::new());
    }
    let accesses = zones.iter().fold(0_u64, |sum, zone| sum.saturating_add(zone.0));
    let sizes: u32 = zones.iter().filter_map(|zone| zone.1).sum();
    let Some(left) = 100_u32.checked_sub(sizes).filter(|_| accesses == 100) else {
        return Err(format!(
            "the zones sum to {accesses}% of accesses and {sizes}% of the range, not 100% and no more than 100%"
        ));
    };
    let without = u32::try_from(zones.iter().filter(|zone| zone.1.is_none()).count()).unwrap_or(u32::MAX);
    let each = left.checked_div(without).unwrap_or(0);
    let untouched = left - each * without;
    let zones = zones.into_iter().map(|(access, size)| (access, size.unwrap_or(each)));
    let all = zones.chain((untouched > 0).then_some((0, untouched)));
    Ok(all.map(|(access, size)| (Ratio::percent(access as f64), Ratio::percent(f64::from(size)))).collect())
}

/// `access/bytes:access/bytes`, of each file: accesses in percent; lists of directions with commas between them.
fn absolute_zones(text: &str, settings: &Settings) -> Result<RandomDistribution, String> {
    let files = settings.files.count.max(1);
    let file = match settings.operations.size {
        Some(Size::Bytes(bytes)) if bytes / files > 0 => bytes / files,
        _ => return Err("where zones have bytes, the size has to be given in bytes as well".to_owned()),
    };
    let mut lists = Vec::new();
    for list in text.split(',').take(3) {
        lists.push(zones_in_bytes(list, file, settings.kb_base)?);
    }
    let read = lists.first().cloned().unwrap_or_default();
    let write = lists.get(1).unwrap_or(&read).clone();
    let trim = lists.get(2).unwrap_or(&write).clone();
    Ok(by_kind([read, write, trim]))
}

/// One of these lists, for files of `file` bytes.
fn zones_in_bytes(list: &str, file: u64, kb_base: u64) -> Result<ZoneList, String> {
    let (mut zones, mut accesses, mut end) = (Vec::new(), 0, 0_u64);
    for entry in list.split(':').take_while(|entry| !entry.is_empty()).take(ZONES_MAX) {
        let (access, bytes) = entry.split_once('/').ok_or_else(|| format!("\"{entry}\" has no size"))?;
        let access = number(access, Unit::Count, kb_base)?.value;
        let access = u64::try_from(access).map_err(|_| format!("\"{entry}\" is out of range"))?;
        let bytes = number(bytes, Unit::Bytes, kb_base)?.value;
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
    if zones.is_empty() {
        return Ok(zones);
    }
    if accesses != 100 {
        return Err(format!("the zones sum to {accesses}% of accesses, not 100%"));
    }
    if end < file {
        let rest = Ratio::new((file - end) as f64 / file as f64).unwrap_or_default();
        zones.push((Ratio::ZERO, rest));
    }
    Ok(zones)
}
