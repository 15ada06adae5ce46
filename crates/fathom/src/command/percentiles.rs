//! `fathom percentiles`: percentiles of a list of latencies with their intervals, and what other tools would print.

use crate::exit::Exit;
use crate::numbers::{Table, UNITS_NS};
use crate::terminal;
use clap::Args;
use fathom_analysis::layouts;
use fathom_analysis::load::operations_for;
use fathom_analysis::statistics::{QuantileEstimate, Sample, quantiles};
use fathom_units::Nanos;
use serde_json::json;
use std::path::PathBuf;

/// Titles of columns of latencies.
const TITLES: [&str; 16] = [
    "latency_ns",
    "latency_us",
    "latency_ms",
    "latency_s",
    "lat_ns",
    "lat_us",
    "lat_ms",
    "lat_s",
    "ns",
    "us",
    "ms",
    "s",
    "latency",
    "lat",
    "value",
    "clat",
];

/// Titles below which numbers are nanoseconds, as they are without any: those of this command's own format, and fio's.
const BARE: [&str; 5] = ["value", "latency", "lat", "clat", "slat"];

#[derive(Debug, Args)]
pub(crate) struct PercentilesArgs {
    /// One latency per line, in the order they were measured; in the unit that the title names (`latency_us`,
    /// `lat (ms)`, `seconds`), without a title in nanoseconds. `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Which percentiles
    #[arg(long, value_name = "P,…", value_delimiter = ',', default_value = "50,90,95,99,99.9,99.99,99.999")]
    #[arg(allow_negative_numbers = true, value_parser = percent)]
    percentiles: Vec<f64>,
    /// Title or number of the column of latencies
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,
    /// Print a JSON document; docs/answers-json.md explains it
    #[arg(long)]
    json: bool,
}

/// A number; whether it is one of a percentile is seen with the others.
fn percent(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "it is no number; write for example 50,99,99.9".to_owned())
}

pub(crate) fn run(args: &PercentilesArgs) -> Exit {
    match read(args) {
        Ok((values, unit)) => {
            let wanted: Vec<f64> = args.percentiles.iter().map(|percent| share(*percent)).collect();
            let found = quantiles(&values, &wanted);
            if args.json {
                crate::printed(&document(&values, unit, &args.percentiles, &found))
            } else {
                crate::shown(&text(&values, unit, &args.percentiles, &found))
            }
        }
        Err(reason) => {
            terminal::message(&format!("error: {reason}"));
            Exit::Usage
        }
    }
}

/// A percentile as a share of 1: the number that is nearest to that in decimals, as 99.9 / 100 is not, where it has 12 of them
/// at most.
fn share(percent: f64) -> f64 {
    let share = (percent * 1e12).round() / 1e14;
    if share > 0.0 && share < 1.0 { share } else { percent / 100.0 }
}

/// Latencies in nanoseconds, and the unit that they were taken in.
fn read(args: &PercentilesArgs) -> Result<(Vec<f64>, &'static str), String> {
    if let Some(wrong) = args.percentiles.iter().find(|percent| !(**percent > 0.0 && **percent < 100.0)) {
        return Err(format!("--percentiles: {wrong} is not between 0 and 100; write for example 99.9"));
    }
    let table = Table::read(&args.file)?;
    let column = match &args.column {
        Some(name) => table.named(name)?,
        None if table.width() == 1 => 0,
        None => table.column(&TITLES).ok_or_else(|| {
            format!(
                "{} has {} columns; name that of the latencies with --column",
                table.name(),
                table.width()
            )
        })?,
    };
    let (unit, unit_ns) = match table.unit(column)? {
        Some(unit) => unit,
        None if !table.has_title(column) || is_bare(&table.title(column)) => UNITS_NS[0],
        None => {
            return Err(format!(
                "{}: the title {} names no unit of time; end it with _ns, _us, _ms or _s, or name another column with --column",
                table.name(),
                table.short_title(column)
            ));
        }
    };
    let numbers = table.numbers(column)?;
    match numbers.iter().find(|(_, value)| *value < 0.0) {
        Some((line, value)) => {
            Err(table.fault(*line, &format!("{value} is below 0"), "a latency is not; remove the row"))
        }
        None => Ok((numbers.into_iter().map(|(_, value)| value * unit_ns).collect(), unit)),
    }
}

/// See [`BARE`].
fn is_bare(title: &str) -> bool {
    BARE.iter().any(|bare| title.trim().eq_ignore_ascii_case(bare))
}

/// Smallest and largest.
fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
}

fn document(values: &[f64], unit: &str, percents: &[f64], found: &[QuantileEstimate]) -> String {
    let sample = Sample::of(values);
    let (low, high) = extremes(values);
    let rows: Vec<_> = percents
        .iter()
        .zip(found)
        .map(|(percent, found)| {
            let QuantileEstimate {
                q,
                value,
                interval,
                interval_with_memory,
                needs,
                needs_with_memory,
                inflation,
            } = found;
            json!({
                "percentile": percent,
                "quantile": q,
                "value_ns": value,
                "interval_ns": interval.map(|(low, high)| [low, high]),
                "interval_with_memory_ns": interval_with_memory.map(|(low, high)| [low, high]),
                "needs": needs,
                "needs_with_memory": needs_with_memory,
                "variance_inflation": inflation,
                "as_printed_by": value.map(others),
            })
        })
        .collect();
    let document = json!({
        "count": sample.count,
        "unit": unit,
        "min_ns": low,
        "max_ns": high,
        "mean_ns": sample.mean,
        "stddev_ns": sample.stddev(),
        "quantiles": rows,
    });
    serde_json::to_string_pretty(&document).expect("it has only string keys") + "\n"
}

/// What other tools' histograms make of a value.
fn others(value: f64) -> serde_json::Value {
    let ns = nanos(value).0;
    json!({
        "fio": layouts::fio(ns),
        "hdrhistogram_3_digits": layouts::hdr(ns),
        "elbencho": layouts::elbencho_bucket(ns).map(layouts::elbencho_value),
        "ddsketch_1_percent": (ns > 0).then(|| layouts::ddsketch_value(layouts::ddsketch_key(ns))),
    })
}

fn nanos(value: f64) -> Nanos {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be no less than 0"
    )]
    Nanos(value.round() as u64)
}

fn text(values: &[f64], unit: &str, percents: &[f64], found: &[QuantileEstimate]) -> String {
    let sample = Sample::of(values);
    let (low, high) = extremes(values);
    let time = |value: f64| nanos(value).approximate();
    let mut text = format!(
        "{} latenc{}, taken in {unit}: mean {}, standard deviation {}, smallest {}, largest {}\n\n",
        sample.count,
        if sample.count == 1 { "y" } else { "ies" },
        time(sample.mean),
        if sample.count > 1 { time(sample.stddev()) } else { "n/a".to_owned() },
        time(low),
        time(high)
    );
    text += "  percentile      value  95 % interval\n";
    for (percent, found) in percents.iter().zip(found) {
        let interval = interval_text(values.len() as u64, found);
        let value = found.value.map_or_else(|| "n/a".to_owned(), time);
        text += &format!("  {:>10}  {value:>9}  {interval}\n", format!("p{percent}"));
    }
    text + "\nNearest rank, no interpolation. A percentile is printed where a value lies beyond it (n·(1 − p) ≥ 1, \
            below p50 n·p ≥ 1); its\ninterval takes more, so that 95 % of samples have both ends within.\n"
}

/// The interval that allows for memory, or what it takes for one.
fn interval_text(count: u64, found: &QuantileEstimate) -> String {
    let QuantileEstimate { q, value, interval: _, interval_with_memory, needs, needs_with_memory, inflation } =
        found;
    let time = |value: f64| nanos(value).approximate();
    let is_remembered = inflation.is_none_or(|inflation| inflation > 1.0);
    match (interval_with_memory, needs_with_memory) {
        (Some((low, high)), _) if is_remembered => {
            format!("{} to {}, widened: neighbours resemble one another", time(*low), time(*high))
        }
        (Some((low, high)), _) => format!("{} to {}", time(*low), time(*high)),
        (None, _) if value.is_none() => {
            format!("n/a (needs n ≥ {}, an interval n ≥ {needs})", operations_for(q.max(1.0 - q)))
        }
        (None, _) if count < *needs => format!("n/a (an interval needs n ≥ {needs})"),
        (None, Some(all)) => {
            format!("n/a (neighbours resemble one another: an interval needs n ≥ about {})", roughly(*all))
        }
        (None, None) => {
            "n/a (neighbours resemble one another, and this is too short to tell for how long)".to_owned()
        }
    }
}

/// Two digits of a count, rounded up: what it follows from is no better known.
fn roughly(count: u64) -> u64 {
    let step = 10_u64.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(1));
    count.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_the_decimals_that_were_asked_for() {
        assert_eq!([99.9, 99.99, 50.0, 0.1].map(share), [0.999, 0.9999, 0.5, 0.001]);
        for extreme in [1e-13, 99.999_999_999_999_9] {
            assert!(share(extreme) > 0.0 && share(extreme) < 1.0, "{extreme}");
        }
    }

    #[test]
    fn it_is_said_what_an_interval_lacks() {
        let of = |count, inflation: Option<f64>, needs_with_memory, interval| {
            interval_text(
                count,
                &QuantileEstimate {
                    q: 0.99,
                    value: Some(2000.0),
                    interval,
                    interval_with_memory: interval,
                    needs: 368,
                    needs_with_memory,
                    inflation,
                },
            )
        };
        assert_eq!(of(100, Some(1.0), Some(368), None), "n/a (an interval needs n ≥ 368)");
        assert_eq!(
            of(11_000, Some(92.0), Some(38_610), None),
            "n/a (neighbours resemble one another: an interval needs n ≥ about 39000)"
        );
        assert_eq!(
            of(11_000, None, None, None),
            "n/a (neighbours resemble one another, and this is too short to tell for how long)"
        );
        let found = Some((1000.0, 3000.0));
        assert_eq!(of(11_000, Some(1.0), Some(368), found), "1.00 µs to 3.00 µs");
        let widened = of(11_000, Some(2.0), Some(800), found);
        assert_eq!(widened, "1.00 µs to 3.00 µs, widened: neighbours resemble one another");
    }
}
