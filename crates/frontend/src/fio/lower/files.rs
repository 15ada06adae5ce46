//! In which order a fio job serves its files, and how many at once.

use super::super::faults::Faults;
use super::super::settings::Settings;
use fathom_model::{FileOrder, Span, WorkloadOptions};
use fathom_units::Ratio;

/// `file_service_type` and `openfiles`.
pub(super) fn set_order(options: &mut WorkloadOptions, settings: &Settings, span: Span, faults: &mut Faults) {
    let files = &settings.files;
    if files.open_at_once > 0 && files.open_at_once < files.count {
        options.files_at_once.set(files.open_at_once, settings.span("openfiles", span));
    }
    if !settings.has("file_service_type") {
        return;
    }
    let place = settings.span("file_service_type", span);
    let (word, postfix) = &files.service;
    let counts = matches!(word.as_str(), "random" | "roundrobin");
    if let Some(text) = postfix.as_deref().filter(|text| counts && text.trim().parse::<u32>().is_err()) {
        let message = format!(
            "file_service_type={word}:{text} is {} to fio, which reads the digits it begins with",
            count(text)
        );
        faults.warn("fio.misread", place, message, "write the number of operations of a file in full");
    }
    match order(word, postfix.as_deref()) {
        Ok(order) => options.file_order.set(order, place),
        Err(reason) => {
            let help = "write random:8, zipf:1.2, pareto:0.2 or normal:10";
            faults.error(
                "fio.bad-value",
                place,
                format!("file_service_type={word}:{}: {reason}", postfix.as_deref().unwrap_or_default()),
                help,
            );
        }
    }
}

/// The number that a text begins with, as glibc's `atoi` reads it: 0 where it begins with none, and the low half of 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "as there")]
fn count(text: &str) -> i32 {
    let text = text.trim_start();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let found = if end == 0 { 0 } else { unsigned[..end].parse().unwrap_or(i64::MAX) };
    (if text.starts_with('-') { -found } else { found }) as i32
}

/// How many operations go to a file by that number; none where it is not above 0, after which fio never leaves the file.
fn operations(text: &str) -> Option<u32> {
    u32::try_from(count(text)).ok().filter(|&operations| operations > 0)
}

/// An order of service by its word and what follows it: a number of operations, or a parameter and a centre.
fn order(word: &str, postfix: Option<&str>) -> Result<FileOrder, String> {
    let every = postfix.map_or(Some(1), operations);
    let (first, center) = match postfix.and_then(|text| text.split_once(':')) {
        Some((first, center)) => (Some(first), Some(center)),
        None => (postfix, None),
    };
    let center_given = center.is_some();
    let number = |text: Option<&str>, default: f64| match text.map(str::trim) {
        None => Ok(default),
        Some(text) => text.parse::<f64>().map_err(|_| format!("\"{text}\" is no number")),
    };
    let center = || {
        let center = number(center, 0.0)?;
        Ratio::new(center).ok_or_else(|| format!("the centre {center} is outside 0 to 1"))
    };
    match word {
        "sequential" => Ok(FileOrder::Sequential),
        // As with fio: of none it stays with the file that it drew first.
        "random" => Ok(FileOrder::Random(every.unwrap_or(u32::MAX))),
        "zipf" => match number(first, 1.1)? {
            // All are as popular then.
            0.0 => Ok(FileOrder::Random(1)),
            theta if theta > 0.0 && theta != 1.0 && theta.is_finite() => {
                Ok(FileOrder::Zipf(theta, center()?, 1))
            }
            theta => Err(format!("zipf needs a theta of 0 or more that is not 1; {theta} is not")),
        },
        "pareto" => match number(first, 0.2)? {
            h if h > 0.0 && h < 1.0 => Ok(FileOrder::Pareto(h, center()?, 1)),
            h => Err(format!("pareto needs h between 0 and 1; {h} is not")),
        },
        "normal" | "gauss" => match number(first, 0.0)? {
            percent if (0.0..=100.0).contains(&percent) => {
                // Without one the middle is most popular, which is half the list behind the first.
                let shift = if center_given { (center()?.value() + 0.5).fract() } else { 0.0 };
                Ok(FileOrder::Normal(Ratio::percent(percent), Ratio::new(shift).unwrap_or_default(), 1))
            }
            percent => Err(format!("a deviation of {percent} percent is outside 0 to 100")),
        },
        // As with fio: after none it never goes on to the next one.
        _ => Ok(every.map_or(FileOrder::Sequential, FileOrder::RoundRobin)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_the_peer_does() {
        for (word, postfix, expect) in [
            ("roundrobin", None, FileOrder::RoundRobin(1)),
            ("roundrobin", Some("2k"), FileOrder::RoundRobin(2)),
            ("roundrobin", Some(" +3"), FileOrder::RoundRobin(3)),
            // Of none it never goes on to the next.
            ("roundrobin", Some("0"), FileOrder::Sequential),
            ("roundrobin", Some("-3"), FileOrder::Sequential),
            ("random", Some("-3"), FileOrder::Random(u32::MAX)),
            ("random", Some("3000000000"), FileOrder::Random(u32::MAX)),
            ("random", Some("4294967298"), FileOrder::Random(2)),
            ("roundrobin", Some("x"), FileOrder::Sequential),
            ("random", Some("8x"), FileOrder::Random(8)),
            ("random", Some("0"), FileOrder::Random(u32::MAX)),
            ("zipf", Some("0"), FileOrder::Random(1)),
        ] {
            assert_eq!(order(word, postfix), Ok(expect), "{word}:{postfix:?}");
        }
        assert!(order("zipf", Some("1")).is_err() && order("zipf", Some("-1")).is_err());
    }
}
