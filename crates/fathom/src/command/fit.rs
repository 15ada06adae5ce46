//! `fathom fit`: a scaling law for measured loads and throughputs, and what it says.

mod titles;

use crate::exit::Exit;
use crate::numbers::{Table, UNITS_NS};
use crate::{answer, terminal};
use clap::{Args, ValueEnum};
use fathom_analysis::scaling::{self, Point, Weighting};
use fathom_units::{Nanos, significant};
use std::path::PathBuf;
use titles::Counts;

/// Titles that a column of loads goes by in the field.
const LOAD: [&str; 14] = [
    "n",
    "load",
    "depth",
    "queue_depth",
    "qd",
    "iodepth",
    "concurrency",
    "processors",
    "threads",
    "workers",
    "users",
    "clients",
    "vusers",
    "db_time",
];
/// Titles of a load that is one worker's, beside which a column says how many there are.
const DEPTH: [&str; 4] = ["depth", "queue_depth", "qd", "iodepth"];
/// Titles of how many workers there are.
const WORKERS: [&str; 8] =
    ["numjobs", "num_jobs", "jobs", "nr_jobs", "threads", "workers", "processes", "clients"];
/// The same for throughput.
const THROUGHPUT: [&str; 10] = [
    "x",
    "throughput",
    "iops",
    "rate",
    "tps",
    "txn_rate",
    "ops_per_s",
    "operations_per_second",
    "bandwidth",
    "bw",
];
/// The same for latency. An ending names the unit.
const LATENCY: [&str; 20] = [
    "r",
    "r_s",
    "r_ms",
    "r_us",
    "r_ns",
    "latency",
    "latency_s",
    "latency_ms",
    "latency_us",
    "latency_ns",
    "response",
    "response_s",
    "response_ms",
    "response_us",
    "response_ns",
    "lat",
    "lat_ms",
    "lat_us",
    "lat_ns",
    "mean_ns",
];
/// Fewest loads that say anything about growth.
const LOADS_MIN: usize = 3;
/// Seed of the resampling: the same file gives the same intervals.
const SEED: u64 = 5;

#[derive(Debug, Args)]
pub(crate) struct FitArgs {
    /// A table with a row per measurement: load, throughput and, where it was measured, mean latency; `-` reads standard
    /// input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Titles or numbers of the columns of load, throughput and latency; found by their titles when not given
    #[arg(long, value_name = "N,X[,R]", value_delimiter = ',')]
    columns: Vec<String>,
    /// Latency whose load is asked for; may be given several times
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = limit)]
    latency: Vec<Nanos>,
    /// What a residual counts by: every operation alike, or every per cent
    #[arg(long, value_enum, default_value = "equal")]
    weights: Weights,
    /// Print a JSON document; docs/answers-json.md explains it
    #[arg(long)]
    json: bool,
}

/// A latency that there can be.
fn limit(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(Nanos(0)) => Err("no operation takes no time; write for example 1ms".to_owned()),
        Ok(limit) => Ok(limit),
        Err(error) => Err(error.to_string()),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Weights {
    /// As published fits do
    Equal,
    /// Where the error grows with the figure
    Relative,
}

pub(crate) fn run(args: &FitArgs) -> Exit {
    match read(args) {
        Ok(Measured { table, points, latency, bandwidth, said }) => {
            let weighting = match args.weights {
                Weights::Equal => Weighting::Equal,
                Weights::Relative => Weighting::Relative,
            };
            let limits = args.latency.iter().map(|limit| limit.as_secs_f64());
            // Load ÷ bytes per second is no latency.
            let limits: Vec<f64> = limits.filter(|_| bandwidth.is_none() || latency.is_some()).collect();
            let (latency, unit) = latency.unzip();
            let mut answers = scaling::answers(&points, latency.as_deref(), weighting, &limits, SEED);
            if let Some(unit) = &bandwidth {
                answers.remarks.push(format!(
                    "throughput is in {unit}, which counts no operations: no latency follows from load and throughput"
                ));
            } else {
                let contradicts = |latency| contradiction(&points, latency);
                answers.remarks.extend(latency.as_deref().and_then(contradicts));
            }
            answers.remarks.extend(said);
            if args.json {
                crate::printed(&answer::json(&answers, &points, unit, bandwidth.as_deref()))
            } else {
                crate::shown(&answer::text(table.name(), &answers, &points, unit, bandwidth.as_deref()))
            }
        }
        Err(reason) => {
            terminal::message(&format!("error: {reason}"));
            Exit::Usage
        }
    }
}

/// What a table has.
struct Measured {
    table: Table,
    points: Vec<Point>,
    /// Seconds, and the unit that they were taken in.
    latency: Option<(Vec<f64>, &'static str)>,
    /// Title of a throughput that counts bytes.
    bandwidth: Option<String>,
    /// What is to be said of columns that make the load together, or are not used.
    said: Vec<String>,
}

fn read(args: &FitArgs) -> Result<Measured, String> {
    let table = Table::read(&args.file)?;
    let (load, throughput, latency) = columns(&table, &args.columns)?;
    if let Some(at) = latency.filter(|at| titles::is_no_mean(&table.title(*at))) {
        return Err(format!(
            "{}: {} is a percentile or an extreme by its title, and no mean, which the laws are about; name the column of the mean \
             with --columns N,X,R, or none with --columns N,X",
            table.name(),
            table.title(at)
        ));
    }
    let other = if args.columns.is_empty() { other_direction(&table, throughput) } else { None };
    // What the load does is all of it; a latency of one direction is none of both.
    let latency = latency.filter(|at| other.is_none() || titles::direction(&table.title(*at)).is_none());
    let x = match other {
        Some(other) => sum(&table, throughput, other)?,
        None => table.positive(throughput)?,
    };
    let mut n = table.positive(load)?;
    // What a target has to do is all that is in flight.
    // A column of names is none of numbers of workers, and a load that goes by another title is what it is.
    let is_of_load = |(depth, workers): &(usize, usize)| {
        args.columns.is_empty() && [*depth, *workers].contains(&load) && table.positive(*workers).is_ok()
    };
    let of_each = table.column(&DEPTH).zip(table.column(&WORKERS)).filter(is_of_load);
    if let Some((depth, workers)) = of_each {
        let each = table.positive(workers)?;
        n = table.positive(depth)?.into_iter().zip(each).map(|(depth, workers)| depth * workers).collect();
    }
    let title = table.title(throughput);
    let (factor, bandwidth) = match titles::counts(&title) {
        Some(Counts::Operations(factor)) => (factor, None),
        Some(Counts::Bytes) => (1.0, Some(title)),
        Some(Counts::Doubt) => {
            return Err(format!(
                "{}: the title {} leaves open how many operations a second one of its figures is; rename the column, such as iops, \
                 kiops or ops/min",
                table.name(),
                table.short_title(throughput)
            ));
        }
        None => (1.0, None),
    };
    let points: Vec<Point> = n.into_iter().zip(x).map(|(n, x)| Point { n, x: x * factor }).collect();
    let mut loads: Vec<f64> = points.iter().map(|point| point.n).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    if loads.len() < LOADS_MIN {
        return Err(format!(
            "{} has {} {} in {}, at least {LOADS_MIN} are needed; measure more of them",
            table.name(),
            loads.len(),
            if loads.len() == 1 { "load" } else { "different loads" },
            of_each.map_or_else(
                || table.title(load),
                |(depth, workers)| format!("{} × {}", table.title(depth), table.title(workers))
            )
        ));
    }
    let latency_at = latency;
    let latency = match latency {
        Some(at) => Some(seconds(&table, at, &points, bandwidth.is_some())?),
        None => None,
    };
    let (depth, workers) = of_each.unzip();
    let others =
        |at: &usize| ![Some(load), Some(throughput), other, latency_at, depth, workers].contains(&Some(*at));
    let others: Vec<String> = (0..table.width()).filter(others).map(|at| table.title(at)).collect();
    let product = of_each.map(|(depth, workers)| {
        format!(
            "the load is {} × {}, all that is in flight; --columns {},{} takes the one alone",
            table.title(depth),
            table.title(workers),
            table.title(depth),
            table.title(throughput)
        )
    });
    let ignored = (args.columns.is_empty() && !others.is_empty())
        .then(|| format!("not used: {}; a mean latency is taken in with --columns N,X,R", others.join(", ")));
    let sum = other.map(|other| {
        let (one, other) = (table.title(throughput), table.title(other));
        format!("the throughput is {one} + {other}, all that the load does; --columns N,X takes one alone")
    });
    let said = product.into_iter().chain(sum).chain(ignored).collect();
    Ok(Measured { table, points, latency, bandwidth, said })
}

/// The column of the same figure for the other direction: that of writes beside one of reads.
fn other_direction(table: &Table, throughput: usize) -> Option<usize> {
    let other = titles::direction(&table.title(throughput))?;
    (0..table.width()).find(|at| *at != throughput && table.title(*at).eq_ignore_ascii_case(&other))
}

/// The sum of two columns, row by row: nothing may be done in one direction, and something is in one of them.
fn sum(table: &Table, one: usize, other: usize) -> Result<Vec<f64>, String> {
    let one = table.numbers(one)?;
    let add = |((line, one), (_, other)): ((u64, f64), (u64, f64))| match one + other {
        sum if sum > 0.0 && one >= 0.0 && other >= 0.0 => Ok(sum),
        _ => Err(table.fault(
            line,
            &format!("{one} and {other} are no throughputs"),
            "remove the row: it measured nothing",
        )),
    };
    one.into_iter().zip(table.numbers(other)?).map(add).collect()
}

/// Columns of load, throughput and latency.
fn columns(table: &Table, given: &[String]) -> Result<(usize, usize, Option<usize>), String> {
    match given {
        [] => match (table.column(&LOAD), throughput(table)) {
            (Some(load), Some(throughput)) => {
                let is_mean = |at: &usize| {
                    let title = table.title(*at);
                    ![load, throughput].contains(at)
                        && (titles::is_latency(&title) || table.width() == 3)
                        && matches!(table.unit(*at), Ok(Some(_)))
                        && !titles::is_no_mean(&title)
                };
                let latency = table.column(&LATENCY).or_else(|| (0..table.width()).find(is_mean));
                Ok((load, throughput, latency))
            }
            (load, throughput) => by_place(table, load, throughput).ok_or_else(|| match table.width() {
                1 => format!("{} has one column; a load and a throughput are needed in each row", table.name()),
                width => format!(
                    "{} has {width} columns, and their titles do not say which are load and throughput; name them with --columns N,X",
                    table.name()
                ),
            }),
        },
        [load, throughput] => apart(table, given, (table.named(load)?, table.named(throughput)?, None)),
        [load, throughput, latency] => {
            let latency = Some(table.named(latency)?);
            apart(table, given, (table.named(load)?, table.named(throughput)?, latency))
        }
        _ => Err(format!(
            "--columns takes two or three names, not {}; write --columns N,X or N,X,R",
            given.len()
        )),
    }
}

/// Columns that were named, each of which is another one.
fn apart(
    table: &Table,
    given: &[String],
    columns: (usize, usize, Option<usize>),
) -> Result<(usize, usize, Option<usize>), String> {
    let (load, throughput, latency) = columns;
    if load == throughput || latency.is_some_and(|latency| [load, throughput].contains(&latency)) {
        let given = given.join(",");
        return Err(format!(
            "{}: --columns {given} names one column twice; each is another figure",
            table.name()
        ));
    }
    Ok(columns)
}

/// Columns of a table of two or three whose titles do not tell both of the first two: load, throughput, latency in this order, but for
/// the one that is told. A time is no throughput, wherever it stands, and nor is it a load, or what else says by its title that it
/// is none.
fn by_place(
    table: &Table,
    load: Option<usize>,
    throughput: Option<usize>,
) -> Option<(usize, usize, Option<usize>)> {
    let width = table.width();
    let (load, throughput) = match (load, throughput) {
        _ if !(2..=3).contains(&width) => return None,
        (Some(load), None) if width == 2 => (load, 1 - load),
        (None, Some(throughput)) if width == 2 => (1 - throughput, throughput),
        (load, throughput) => (load.unwrap_or(0), throughput.unwrap_or(1)),
    };
    let is_time = table.is_time(throughput) || titles::is_no_mean(&table.title(throughput));
    let title = table.title(load);
    let is_other = table.column(&LOAD).is_none_or(|at| at != load)
        && table.has_title(load)
        && (table.is_time(load) || titles::is_no_load(&title));
    let is_told =
        load != throughput && !is_other && !(is_time && titles::counts(&table.title(throughput)).is_none());
    is_told.then(|| (load, throughput, (0..width).find(|at| ![load, throughput].contains(at))))
}

/// The column of throughput by its title: one that goes by it in the field, or else the first that names its unit.
fn throughput(table: &Table) -> Option<usize> {
    let names_it = |at: &usize| {
        let title = table.title(*at);
        titles::counts(&title).is_some()
            && !titles::is_latency(&title)
            && !titles::is_no_mean(&title)
            && !table.is_time(*at)
    };
    table.column(&THROUGHPUT).or_else(|| (0..table.width()).find(names_it))
}

/// Latencies in seconds, and their unit. The unit is what the title names; without one it is the one in which Little's law, load =
/// throughput × latency, holds best.
fn seconds(
    table: &Table,
    at: usize,
    points: &[Point],
    is_of_bytes: bool,
) -> Result<(Vec<f64>, &'static str), String> {
    let values = table.positive(at)?;
    let units = UNITS_NS.map(|(name, ns)| (name, ns * 1e-9));
    let (name, factor) = match table.unit(at) {
        Ok(Some((name, ns))) => (name, ns * 1e-9),
        Ok(None) | Err(_) if is_of_bytes => {
            return Err(format!(
                "{}: the title {} names no unit of time, and beside bytes per second no law tells it; end it with _s, _ms, _us or \
                 _ns",
                table.name(),
                table.title(at)
            ));
        }
        // A word that is no unit is none here either: the law tells.
        Ok(None) | Err(_) => {
            let mut ratios: Vec<f64> = points.iter().zip(&values).map(|(p, r)| p.n / (p.x * r)).collect();
            ratios.sort_by(f64::total_cmp);
            let ratio = ratios[ratios.len() / 2];
            let off = |factor: f64| (ratio / factor).ln().abs();
            let (name, factor) = units
                .into_iter()
                .min_by(|(_, a), (_, b)| off(*a).total_cmp(&off(*b)))
                .expect("there are four units");
            if off(factor) > 2.0_f64.ln() {
                return Err(format!(
                    "{}: {} is in no unit in which load = throughput × latency; end its title with _s, _ms, _us or _ns",
                    table.name(),
                    table.title(at)
                ));
            }
            (name, factor)
        }
    };
    Ok((values.into_iter().map(|value| value * factor).collect(), name))
}

/// Factor by which latencies may be off Little's law at the median of all loads.
const LITTLE_MAX: f64 = 1.2;

/// What is to be said of latencies that the loads and throughputs beside them contradict.
fn contradiction(points: &[Point], seconds: &[f64]) -> Option<String> {
    let mut ratios: Vec<f64> = points.iter().zip(seconds).map(|(p, r)| p.x * r / p.n).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = *ratios.get(ratios.len() / 2)?;
    let (factor, side) = if ratio >= 1.0 { (ratio, "above") } else { (1.0 / ratio, "below") };
    (factor > LITTLE_MAX).then(|| {
        format!(
            "latency: it is {}, in the median, {side} what load ÷ throughput gives (Little's law): the loads were not what was in \
             flight, or a column is in another unit than its title says",
            if factor < 2.0 {
                format!("{:.0} %", if ratio >= 1.0 { ratio - 1.0 } else { 1.0 - ratio } * 100.0)
            } else {
                format!("{} times", significant(factor))
            }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_that_the_loads_contradict_are_remarked() {
        let points = [(1.0, 1000.0), (2.0, 1900.0), (4.0, 3500.0)].map(|(n, x)| Point { n, x });
        let said = |factor: f64| contradiction(&points, &points.map(|p| factor * p.n / p.x));
        assert_eq!((said(1.0), said(1.15), said(0.9)), (None, None, None));
        for (factor, expect) in [
            (1000.0, "1000 times, in the median, above"),
            (1.3, "30 %, in the median, above"),
            (0.5, "2.00 times, in the median, below"),
        ] {
            assert!(said(factor).is_some_and(|told| told.contains(expect)), "{:?}", said(factor));
        }
    }
}
