//! A scan for people: its sentence and its tables. Owns which figures are shown; they are `fathom_analysis::scan`'s.

use crate::plot::{Plot, PlotAxis, PlotLine, PlotMark, Shape, Unit, ns};
use crate::section::Section;
use crate::table::{left, right};
use crate::tables::{Table, seconds};
use fathom_analysis::scan::{Area, CLASS_LIMITS, Scan, Zone};
use fathom_units::{Bytes, BytesPerSec};

/// Rows of the profile at most; a page draws every zone.
const ROWS_MAX: usize = 32;
/// Places that are listed at most; JSON has all.
const PLACES_MAX: usize = 64;

/// What a scan came to, in one sentence.
pub fn sentence(scan: &Scan) -> String {
    let Scan { question, zones, unreadable, errors_once, slow, slow_once, skipped, is_complete } = scan;
    if zones.is_empty() {
        return "No zone was read.".to_owned();
    }
    // How long a read takes to fail is no speed.
    let whole = || zones.iter().filter(|zone| zone.errors == 0 && zone.bytes_per_s > 0.0);
    let bytes: u64 = whole().map(|zone| zone.area.length).sum();
    let time: f64 = whole().map(|zone| zone.area.length as f64 / zone.bytes_per_s).sum();
    let mean = if time > 0.0 { bytes as f64 / time } else { 0.0 };
    let left_out: u64 = skipped.iter().map(|area| area.length).sum();
    let lost: u64 = unreadable.iter().map(|area| area.length).sum();
    let faults: Vec<String> = [
        (lost > 0).then(|| {
            format!("{} in {} CANNOT BE READ", Bytes(lost).approximate(), count(unreadable.len(), "place"))
        }),
        (left_out > 0).then(|| {
            format!(
                "{} in {} skipped, since it took too long to read",
                Bytes(left_out).approximate(),
                count(skipped.len(), "place")
            )
        }),
        (!errors_once.is_empty())
            .then(|| format!("{} with errors that did not come again", count(errors_once.len(), "area"))),
        (!slow.is_empty()).then(|| {
            format!("{} of {} and more", count(slow.len(), "slow block"), question.slow.approximate())
        }),
        (!slow_once.is_empty())
            .then(|| format!("{} with a slow read that did not come again", count(slow_once.len(), "area"))),
        zones
            .iter()
            .any(|zone| zone.is_slow)
            .then(|| count(zones.iter().filter(|zone| zone.is_slow).count(), "slow zone")),
        zones.iter().any(|zone| zone.was_slow).then(|| {
            let disturbed = zones.iter().filter(|zone| zone.was_slow).count();
            format!("{} slow at first and not when read again", count(disturbed, "zone"))
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    let faults =
        if faults.is_empty() { "nothing is slow and all can be read".to_owned() } else { faults.join(", ") };
    let all = if question.sample_bytes.is_some() { "samples of it" } else { "all of it" };
    let ended = if *is_complete { "" } else { "Ended before it was through. " };
    let by = |a: &&Zone, b: &&Zone| a.bytes_per_s.total_cmp(&b.bytes_per_s);
    let speed = match (whole().min_by(by), whole().max_by(by)) {
        (Some(least), Some(most)) => format!(
            "Reads {} on average, {} to {} by place",
            BytesPerSec(mean),
            BytesPerSec(least.bytes_per_s),
            BytesPerSec(most.bytes_per_s)
        ),
        _ => "Reads no zone without errors".to_owned(),
    };
    format!("{ended}{speed}: {faults} ({all}).")
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The tables of a scan.
pub(crate) fn sections(scan: &Scan) -> Vec<Section> {
    let section = |title: &str, caption: &str, table: Table, plots: Vec<Plot>| Section {
        title: title.to_owned(),
        plots,
        tables: vec![(caption.to_owned(), table)],
        ..Section::default()
    };
    let places = places(scan);
    let faults =
        (!places.rows.is_empty()).then(|| section("Places", "What was found, and where", places, Vec::new()));
    [
        section("Latency", "Reads by latency", classes(scan), vec![class_bars(scan)]),
        section("Profile", "Reads by place", profile(&scan.zones), vec![bandwidths(scan), latencies(scan)]),
    ]
    .into_iter()
    .chain(faults)
    .collect()
}

/// The middle of a zone, bytes.
fn middle(zone: &Zone) -> f64 {
    zone.area.start as f64 + zone.area.length as f64 / 2.0
}

/// The speed over the places.
fn bandwidths(scan: &Scan) -> Plot {
    let of = |wanted: fn(&Zone) -> bool| -> Vec<(f64, f64)> {
        scan.zones.iter().filter(|zone| wanted(zone)).map(|zone| (middle(zone), zone.bytes_per_s)).collect()
    };
    let mut lines = vec![PlotLine::new("bandwidth", Shape::Line, &of(|_| true))];
    lines.push(PlotLine::new("slow beside its neighbours", Shape::Points, &of(|zone| zone.is_slow)));
    lines.push(PlotLine::new("with errors", Shape::Points, &of(|zone| zone.errors > 0)));
    lines.retain(|line| !line.x.is_empty());
    Plot {
        title: "Bandwidth of reads by place".to_owned(),
        x: PlotAxis::linear("place", Unit::Bytes),
        y: PlotAxis::linear("bandwidth", Unit::Bandwidth),
        lines,
        marks: Vec::new(),
        bands: Vec::new(),
    }
}

fn latencies(scan: &Scan) -> Plot {
    let of = |figure: fn(&Zone) -> f64| -> Vec<(f64, f64)> {
        let read = scan.zones.iter().filter(|zone| figure(zone) > 0.0);
        read.map(|zone| (middle(zone), ns(figure(zone)))).collect()
    };
    let again: Vec<(f64, f64)> =
        scan.slow.iter().map(|(area, s)| (area.start as f64 + area.length as f64 / 2.0, ns(*s))).collect();
    let mut lines = vec![
        PlotLine::new("mean", Shape::Line, &of(|zone| zone.mean_s)),
        PlotLine::new("longest", Shape::Line, &of(|zone| zone.max_s)),
        PlotLine::new("slow every time", Shape::Points, &again),
    ];
    lines.retain(|line| !line.x.is_empty());
    let from = scan.question.slow;
    Plot {
        title: "Latency of reads by place".to_owned(),
        x: PlotAxis::linear("place", Unit::Bytes),
        y: PlotAxis::log("latency", Unit::Latency),
        lines,
        marks: vec![PlotMark::y("slow from", from.0 as f64, None)],
        bands: Vec::new(),
    }
}

/// Name of a class of latency.
fn class_name(class: usize) -> String {
    match CLASS_LIMITS.get(class) {
        Some(limit) => format!("< {} ms", limit.0 / 1_000_000),
        None => format!("≥ {} ms", CLASS_LIMITS[class - 1].0 / 1_000_000),
    }
}

/// How many reads each class has; on an axis of ratios, where one among a million is still seen.
fn class_bars(scan: &Scan) -> Plot {
    let count = |class: usize| scan.zones.iter().map(|zone| zone.classes[class]).sum::<u64>();
    let reads: Vec<(f64, f64)> = (0..=CLASS_LIMITS.len())
        .filter(|&class| count(class) > 0)
        .map(|class| (class as f64, count(class) as f64))
        .collect();
    let names = (0..=CLASS_LIMITS.len()).map(|class| (class as f64, class_name(class))).collect();
    Plot {
        title: "Reads by latency".to_owned(),
        x: PlotAxis::named("latency of a read", names),
        y: PlotAxis::log("reads", Unit::Plain),
        lines: vec![PlotLine::new("reads", Shape::Bars, &reads)],
        marks: Vec::new(),
        bands: Vec::new(),
    }
}

fn classes(scan: &Scan) -> Table {
    let all: u64 = scan.zones.iter().flat_map(|zone| zone.classes).sum();
    let errors: u64 = scan.zones.iter().map(|zone| zone.errors).sum();
    let share = |count: u64| format!("{:.3} %", count as f64 / (all + errors).max(1) as f64 * 100.0);
    let mut rows: Vec<Vec<String>> = (0..=CLASS_LIMITS.len())
        .map(|class| {
            let count: u64 = scan.zones.iter().map(|zone| zone.classes[class]).sum();
            vec![class_name(class), count.to_string(), share(count)]
        })
        .collect();
    rows.push(vec!["error".to_owned(), errors.to_string(), share(errors)]);
    Table { columns: vec![left("class"), right("reads"), right("share")], rows, remark: None }
}

fn profile(zones: &[Zone]) -> Table {
    let columns = [
        right("from"),
        right("read"),
        right("bandwidth"),
        right("mean"),
        right("longest"),
        right("errors"),
        left(""),
    ];
    let each = zones.len().div_ceil(ROWS_MAX).max(1);
    let row = |group: &[Zone]| {
        let length: u64 = group.iter().map(|zone| zone.area.length).sum();
        let of = |figure: fn(&Zone) -> f64| group.iter().map(figure).sum::<f64>() / group.len() as f64;
        let errors: u64 = group.iter().map(|zone| zone.errors).sum();
        vec![
            Bytes(group[0].area.start).approximate(),
            Bytes(length).approximate(),
            BytesPerSec(of(|zone| zone.bytes_per_s)).to_string(),
            seconds(of(|zone| zone.mean_s)),
            seconds(group.iter().map(|zone| zone.max_s).fold(0.0, f64::max)),
            if errors > 0 { errors.to_string() } else { String::new() },
            match (errors, group.iter().any(|zone| zone.is_slow)) {
                (0, true) => "slow",
                (0, false) if group.iter().any(|zone| zone.was_slow) => "slow once",
                (0, false) => "",
                (_, true) => "errors, slow",
                (_, false) => "errors",
            }
            .to_owned(),
        ]
    };
    let remark = Some("slow: below 70 % of the median of its neighbours, also when it was read again");
    let remark = remark.filter(|_| zones.iter().any(|zone| zone.is_slow || zone.was_slow));
    Table { columns: columns.to_vec(), rows: zones.chunks(each).map(row).collect(), remark }
}

fn places(scan: &Scan) -> Table {
    let sector = u64::from(scan.question.sector);
    let row = |what: &str, area: &Area, took: String| {
        let last = area.start + area.length - 1;
        let place = format!("{} to {}", area.start / sector, last / sector);
        vec![what.to_owned(), area.start.to_string(), Bytes(area.length).to_string(), place, took]
    };
    let unreadable = scan.unreadable.iter().map(|area| row("unreadable", area, String::new()));
    let skipped = scan.skipped.iter().map(|area| row("skipped", area, String::new()));
    let slow = scan.slow.iter().map(|(area, s)| row("slow", area, seconds(*s)));
    let once = scan.errors_once.iter().map(|area| row("error once", area, String::new()));
    let slow_once = scan.slow_once.iter().map(|area| row("slow once", area, String::new()));
    let rows: Vec<Vec<String>> =
        unreadable.chain(skipped).chain(once).chain(slow).chain(slow_once).take(PLACES_MAX).collect();
    let columns = vec![left("what"), right("first byte"), right("length"), right("sectors"), right("took")];
    let remark = (rows.len() == PLACES_MAX).then_some("there may be more: JSON has all");
    Table { columns, rows, remark }
}
