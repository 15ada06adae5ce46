//! A scan for people: its sentence and its tables. Owns which figures are shown; they are `fathom_analysis::scan`'s.

use crate::plot::{Plot, PlotAxis, PlotLine, PlotMark, Shape, Unit, ns};
use crate::section::Section;
use crate::table::{left, right};
use crate::tables::{Table, seconds};
use fathom_analysis::errno_name;
use fathom_analysis::scan::{
    ACCESS_QUANTILES, Access, Area, ROTATION_CLASSES, SLOW_SHARE, Scan, Skipped, Zone, is_below_sector,
};
use fathom_schema::{ScanOrder, ScanQuestion};
use fathom_units::{Bytes, BytesPerSec, Nanos};

/// Rows of the profile at most; a page draws every zone.
const ROWS_MAX: usize = 32;
/// Places that are listed at most; JSON has all.
const PLACES_MAX: usize = 64;

/// What a scan came to, in one sentence.
pub fn sentence(scan: &Scan) -> String {
    let Scan {
        question,
        zones,
        slow_share,
        unreadable,
        errors_once,
        slow,
        slow_once,
        slow_unproven: _,
        skipped,
        is_complete,
        access,
        burst: _,
    } = scan;
    let (was_read, to_read) = scan.read_of();
    if zones.is_empty() && unreadable.is_empty() && slow.is_empty() {
        return of_none(scan);
    }
    // What lies behind the last whole block is a smaller read, and says nothing of speeds beside others.
    let usual = zones.iter().map(|zone| zone.area.length).max().unwrap_or(0).min(question.block.into());
    let read = || zones.iter().filter(|zone| zone.bytes_per_s > 0.0 && zone.area.length >= usual);
    let mean = average(read());
    let lost: u64 = unreadable.iter().map(|(area, _)| area.length).sum();
    let faults: Vec<String> = [
        (lost > 0).then(|| {
            // Where it was ended, nobody looked closer which part of a place it is.
            let up_to = if *is_complete { "" } else { "up to " };
            let places = count(unreadable.len(), "place");
            format!("{up_to}{} in {places} CANNOT BE READ", Bytes(lost).approximate())
        }),
        access.as_ref().filter(|access| access.errors > 0).map(|access| {
            let all = access.errors + access.reads.len() as u64;
            format!("{} of {all} random reads FAILED", access.errors)
        }),
        left_out(skipped, Skipped::TooLong, "skipped, since it took too long to read"),
        left_out(skipped, Skipped::Short, "NOT READ, since reads brought less than was asked for"),
        left_out(skipped, Skipped::Untried, "not read"),
        (!errors_once.is_empty())
            .then(|| format!("{} with errors that did not come again", count(errors_once.len(), "area"))),
        (!slow.is_empty()).then(|| slow_blocks(scan)),
        (!slow_once.is_empty())
            .then(|| format!("{} with a slow read that did not come again", count(slow_once.len(), "area"))),
        zones.iter().any(|zone| zone.is_slow).then(|| slow_zones(zones, *is_complete)),
        zones.iter().any(|zone| zone.was_slow).then(|| {
            let disturbed = zones.iter().filter(|zone| zone.was_slow).count();
            format!("{} slow at first and not when read again", count(disturbed, "zone"))
        }),
    ]
    .into_iter()
    .flatten()
    .collect();
    let is_told_apart = *slow_share >= SLOW_SHARE;
    let of_that = if *is_complete { "" } else { " of that" };
    let known = if is_told_apart { "" } else { "known to be " };
    let faults = if faults.is_empty() {
        format!("nothing{of_that} is {known}slow and all{of_that} can be read")
    } else {
        faults.join(", ")
    };
    let share = || format!("{} of {}", Bytes(was_read).approximate(), Bytes(to_read).approximate());
    let all = match (question.sample_bytes.is_some(), scan.is_through()) {
        (true, _) => " (samples of it)",
        (false, true) => " (all of it)",
        (false, false) => "",
    };
    let ended = if *is_complete {
        String::new()
    } else {
        format!("Ended before it was through, with {} read. ", share())
    };
    let by = |a: &&Zone, b: &&Zone| a.bytes_per_s.total_cmp(&b.bytes_per_s);
    let speed = match (read().min_by(by), read().max_by(by)) {
        (Some(least), Some(most)) => format!(
            "Reads {} on average, {} to {} by place",
            BytesPerSec(mean),
            BytesPerSec(least.bytes_per_s),
            BytesPerSec(most.bytes_per_s)
        ),
        _ => "Reads nothing without errors".to_owned(),
    };
    let accessed = access.as_ref().filter(|access| !access.reads.is_empty());
    let accessed = accessed.map_or_else(String::new, |access| {
        format!(" A random read takes {} on average.", seconds(access.mean_s()))
    });
    let told = if is_told_apart { String::new() } else { format!(" {}", scattered(zones, *slow_share)) };
    format!("{ended}{speed}: {faults}{all}.{told}{accessed}")
}

/// Of a scan that has read no place through.
fn of_none(scan: &Scan) -> String {
    if scan.is_complete {
        return "No zone was read.".to_owned();
    }
    let (_, to_read) = scan.read_of();
    let to_read = Bytes(to_read).approximate();
    format!("Ended before a place was read: nothing is known of the {to_read} that were to be read.")
}

/// How many blocks are slow, and what is not known of them.
fn slow_blocks(scan: &Scan) -> String {
    let Scan { question, slow, slow_unproven, is_complete, .. } = scan;
    let unproven = match slow_unproven.len() {
        0 => String::new(),
        unproven if *is_complete => format!(" ({unproven} not read again, since that takes too long)"),
        unproven => format!(" ({unproven} not read again, since the scan was ended)"),
    };
    // Of what was not looked at closer, nobody knows how much was slow.
    let within = slow.iter().filter(|(area, _)| is_within(question, area)).count();
    let within = if within == 0 {
        String::new()
    } else {
        format!(", {within} of which somewhere within a longer area")
    };
    let blocks = count(slow.len(), "slow block");
    format!("{blocks} of {} and more{within}{unproven}", question.slow.approximate())
}

/// Whether an area is longer than a read: some of it is what it is said to be.
fn is_within(question: &ScanQuestion, area: &Area) -> bool {
    area.length > u64::from(question.block)
}

/// How much was not read for one reason, where anything was not.
fn left_out(skipped: &[(Area, Skipped)], wanted: Skipped, how: &str) -> Option<String> {
    let of_it = || skipped.iter().filter(|(_, why)| *why == wanted);
    let bytes: u64 = of_it().map(|(area, _)| area.length).sum();
    (bytes > 0)
        .then(|| format!("{} in {} {how}", Bytes(bytes).approximate(), count(of_it().count(), "place")))
}

/// That zones scatter so much that slow ones could only be told from chance below a share of their neighbours' speed.
fn scattered(zones: &[Zone], share: f64) -> String {
    let mut reads: Vec<u64> = zones.iter().map(|zone| zone.classes.iter().sum()).collect();
    reads.sort_unstable();
    let reads = reads.get(reads.len() / 2).map_or_else(String::new, |&reads| match reads {
        1 => " (1 read each)".to_owned(),
        reads => format!(" ({reads} reads each)"),
    });
    let percent = share * 100.0;
    if percent < 0.1 {
        return format!(
            "Zones{reads} hold too little to tell slow ones from chance: have fewer, larger ones."
        );
    }
    let percent = if percent < 1.0 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    format!(
        "Zones{reads} scatter by themselves: only one below {percent} % of its neighbours would be called slow."
    )
}

/// Bytes per second over several zones: each counts for the time that it takes, as reading them one after another does. Of one
/// with errors that is what was read of it: without it a defect would make a device faster.
fn average<'a>(zones: impl Iterator<Item = &'a Zone>) -> f64 {
    let read = zones.filter(|zone| zone.bytes_per_s > 0.0);
    let (bytes, time) = read.fold((0.0, 0.0), |(bytes, time), zone| {
        let share = zone.reads() / (zone.reads() + zone.errors as f64).max(1.0);
        let length = zone.area.length as f64 * share;
        (bytes + length, time + length / zone.bytes_per_s)
    });
    if time > 0.0 { bytes / time } else { 0.0 }
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
    let mut profiled = section(
        "Profile",
        "Reads by place",
        profile(&scan.zones, scan.slow_share),
        vec![bandwidths(scan), latencies(scan), worst(scan)],
    );
    profiled.lines = manner(scan);
    let latency = section("Latency", "Reads by latency", classes(scan), vec![class_bars(scan)]);
    let access = scan.access.as_ref().filter(|access| access.reads.len() as u64 + access.errors > 0);
    let access = access.map(|access| {
        section("Access time", &accessed(scan, access), access_times(access), vec![access_dots(access)])
    });
    faults.into_iter().chain([profiled, latency]).chain(access).collect()
}

/// How the places were read, where it is not as always, and the burst rate.
fn manner(scan: &Scan) -> Vec<String> {
    let order = match scan.question.order {
        ScanOrder::Linear => None,
        ScanOrder::Reverse => Some("Places were read from the last to the first."),
        ScanOrder::Butterfly => Some("Places were read in turns from the first and from the last on."),
        ScanOrder::Random => Some("Places were read in random order."),
    };
    let burst = scan.burst.map(|burst| {
        let (reads, block) = (scan.question.burst_reads, Bytes(u64::from(scan.question.block)));
        format!("Burst rate (the first {block} read {reads} times, the median): {}.", BytesPerSec(burst))
    });
    let rest = scan.zones.iter().map(|zone| zone.area).find(|area| is_below_sector(&scan.question, area));
    let rest = rest.filter(|_| !scan.question.target.starts_with("sim:")).map(|rest| {
        format!("The last {}: less than a sector, read through the page cache.", Bytes(rest.length))
    });
    order.map(str::to_owned).into_iter().chain(burst).chain(rest).collect()
}

fn accessed(scan: &Scan, access: &Access) -> String {
    let block = Bytes(u64::from(scan.question.access_block.max(scan.question.sector)));
    format!(
        "{} random reads of {block} over all of it, queue depth 1, between the places",
        access.reads.len()
    )
}

/// The access time in figures; these reads are in none of the classes.
fn access_times(access: &Access) -> Table {
    let (least, most) = access.range_s();
    let told = |s: f64| if access.reads.is_empty() { "n/a".to_owned() } else { seconds(s) };
    let mut rows = vec![("mean".to_owned(), told(access.mean_s())), ("shortest".to_owned(), told(least))];
    rows.extend(ACCESS_QUANTILES.iter().map(|&quantile| {
        let found = access.quantile_s(quantile);
        let value = found.map_or_else(|needs| format!("n/a (needs n ≥ {needs} reads)"), seconds);
        (format!("p{}", (quantile * 1e6).round() / 1e4), value)
    }));
    rows.push(("longest".to_owned(), told(most)));
    if access.errors > 0 {
        rows.push(("failed".to_owned(), access.errors.to_string()));
    }
    let rows = rows.into_iter().map(|(name, value)| vec![name, value]).collect();
    Table { columns: vec![left(""), right("a read takes")], rows, remark: None }
}

/// Each random read where it went.
fn access_dots(access: &Access) -> Plot {
    let dots: Vec<(f64, f64)> = access.reads.iter().map(|&(at, ns)| (at as f64, ns as f64)).collect();
    Plot {
        title: "Access time by place".to_owned(),
        x: PlotAxis::linear("place", Unit::Bytes),
        y: PlotAxis::linear("latency of a random read", Unit::Latency),
        lines: vec![PlotLine::new("random read", Shape::Points, &dots)],
        marks: vec![PlotMark::y("mean", ns(access.mean_s()), None)],
        bands: Vec::new(),
    }
}

/// The longest read of each place, told apart by the worst class that any of its reads is in.
fn worst(scan: &Scan) -> Plot {
    let of = |class: usize| -> Vec<(f64, f64)> {
        let zones = scan.zones.iter().filter(|zone| zone.errors == 0 && zone.worst() == Some(class));
        zones.map(|zone| (middle(zone), ns(zone.max_s))).collect()
    };
    let failed = scan.zones.iter().filter(|zone| zone.errors > 0);
    let slow = ns(scan.question.slow.as_secs_f64());
    // A place where nothing could be read stands where slow reads do.
    let longest = |zone: &Zone| if zone.max_s > 0.0 { ns(zone.max_s) } else { slow };
    let failed: Vec<(f64, f64)> = failed.map(|zone| (middle(zone), longest(zone))).collect();
    let classes = (0..=scan.question.classes_ns.len())
        .map(|class| PlotLine::new(class_name(scan, class), Shape::Points, &of(class)));
    let mut lines: Vec<PlotLine> = classes.collect();
    lines.push(PlotLine::new("with errors", Shape::Points, &failed));
    lines.retain(|line| !line.x.is_empty());
    Plot {
        title: "Places by the class of their slowest read".to_owned(),
        x: PlotAxis::linear("place", Unit::Bytes),
        y: PlotAxis::log("longest read", Unit::Latency),
        lines,
        marks: Vec::new(),
        bands: Vec::new(),
    }
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
    lines.push(PlotLine::new("slow", Shape::Points, &of(|zone| zone.is_slow)));
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
fn class_name(scan: &Scan, class: usize) -> String {
    let limits = &scan.question.classes_ns;
    let written =
        |ns: u64| if ns.is_multiple_of(10_000) { Nanos(ns).exact() } else { Nanos(ns).approximate() };
    let limit = match limits.get(class) {
        Some(&limit) => format!("< {}", written(limit)),
        None => format!("≥ {}", limits.last().map_or_else(|| "0 s".to_owned(), |&limit| written(limit))),
    };
    match scan.question.rpm.and(ROTATION_CLASSES.get(class)) {
        Some(meaning) => format!("{limit} ({meaning})"),
        None => limit,
    }
}

fn count_of(scan: &Scan, class: usize) -> u64 {
    scan.zones.iter().map(|zone| zone.classes.get(class).copied().unwrap_or(0)).sum()
}

/// How many reads each class has; on an axis of ratios, where one among a million is still seen.
fn class_bars(scan: &Scan) -> Plot {
    let all = 0..=scan.question.classes_ns.len();
    let reads = all.clone().filter(|&class| count_of(scan, class) > 0);
    let reads: Vec<(f64, f64)> = reads.map(|class| (class as f64, count_of(scan, class) as f64)).collect();
    let names = all.map(|class| (class as f64, class_name(scan, class))).collect();
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
    let all: u64 = scan.zones.iter().flat_map(|zone| &zone.classes).sum();
    let errors: u64 = scan.zones.iter().map(|zone| zone.errors).sum();
    let share = |count: u64| format!("{:.3} %", count as f64 / (all + errors).max(1) as f64 * 100.0);
    let mut rows: Vec<Vec<String>> = (0..=scan.question.classes_ns.len())
        .map(|class| {
            let count = count_of(scan, class);
            vec![class_name(scan, class), count.to_string(), share(count)]
        })
        .collect();
    rows.push(vec!["error".to_owned(), errors.to_string(), share(errors)]);
    Table { columns: vec![left("class"), right("reads"), right("share")], rows, remark: None }
}

fn profile(zones: &[Zone], slow_share: f64) -> Table {
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
        let reads: f64 = group.iter().map(Zone::reads).sum();
        let mean_s = group.iter().map(|zone| zone.mean_s * zone.reads()).sum::<f64>() / reads.max(1.0);
        let errors: u64 = group.iter().map(|zone| zone.errors).sum();
        // What nothing was read of has neither a speed nor a latency.
        let told = |figure: String| if reads > 0.0 { figure } else { "n/a".to_owned() };
        vec![
            Bytes(group[0].area.start).as_place(),
            Bytes(length).approximate(),
            told(BytesPerSec(average(group.iter())).to_string()),
            told(seconds(mean_s)),
            told(seconds(group.iter().map(|zone| zone.max_s).fold(0.0, f64::max))),
            if errors > 0 { errors.to_string() } else { String::new() },
            match (errors, group.iter().any(|zone| zone.is_slow)) {
                (0, true) if group.iter().all(|zone| !zone.is_slow || zone.is_unproven) => {
                    "slow, not read again"
                }
                (0, true) => "slow",
                (0, false) if group.iter().any(|zone| zone.was_slow) => "slow once",
                (0, false) => "",
                (_, true) => "errors, slow",
                (_, false) => "errors",
            }
            .to_owned(),
        ]
    };
    let remark = if slow_share < SLOW_SHARE {
        "slow: further below the median of its neighbours than zones scatter by chance, or below 70 % of what a sharp border \
         separates it from, also when it was read again"
    } else {
        "slow: below 70 % of the median of its neighbours, or of what a sharp border separates it from, also when it was read again"
    };
    let remark = Some(remark).filter(|_| zones.iter().any(|zone| zone.is_slow || zone.was_slow));
    Table { columns: columns.to_vec(), rows: zones.chunks(each).map(row).collect(), remark }
}

/// What is not as it should be, each on a line of CSV with its bytes and its blocks of a sector.
pub fn places_csv(scan: &Scan) -> String {
    let sector = u64::from(scan.question.sector);
    let row = |what: &str, area: &Area, took: Option<f64>, error: &str| {
        let Area { start, length } = area;
        let last = start + length - 1;
        let took = took.map_or_else(String::new, |s| s.to_string());
        format!("{what},{start},{length},{},{},{took},{error}\n", start / sector, last / sector)
    };
    let all = |what: &'static str, areas: &[Area]| {
        areas.iter().map(|area| row(what, area, None, "")).collect::<String>()
    };
    let slow: Vec<Area> = scan.zones.iter().filter(|zone| zone.is_slow).map(|zone| zone.area).collect();
    let mut csv = "what,first_byte,bytes,first_sector,last_sector,took_s,error\n".to_owned();
    csv.extend(
        scan.unreadable.iter().map(|(area, errno)| row("unreadable", area, None, &errno_name(*errno))),
    );
    csv.extend(scan.slow.iter().map(|(area, s)| row(slow_word(scan, area), area, Some(*s), "")));
    csv += &all("error_once", &scan.errors_once);
    csv += &all("slow_once", &scan.slow_once);
    csv += &all("slow_zone", &slow);
    csv.extend(scan.skipped.iter().map(|(area, _)| row("skipped", area, None, "")));
    csv
}

/// How many zones are slow, and how many of them nobody has read again.
fn slow_zones(zones: &[Zone], is_complete: bool) -> String {
    let slow = zones.iter().filter(|zone| zone.is_slow);
    let told = count(slow.clone().count(), "slow zone");
    match slow.filter(|zone| zone.is_unproven).count() {
        0 => told,
        unproven if is_complete => format!("{told} ({unproven} not read again)"),
        unproven => format!("{told} ({unproven} not read again, since the scan was ended)"),
    }
}

/// What a slow area is called in tables.
fn slow_word(scan: &Scan, area: &Area) -> &'static str {
    if is_within(&scan.question, area) { "slow_within" } else { "slow" }
}

/// Slow zones that follow one another.
fn slow_runs(zones: &[Zone]) -> impl Iterator<Item = &[Zone]> {
    zones.chunk_by(|a, b| a.is_slow == b.is_slow).filter(|run| run[0].is_slow)
}

fn places(scan: &Scan) -> Table {
    let sector = u64::from(scan.question.sector);
    let row = |what: &str, area: &Area, took: String| {
        let last = area.start + area.length - 1;
        let place = format!("{} to {}", area.start / sector, last / sector);
        vec![what.to_owned(), area.start.to_string(), Bytes(area.length).to_string(), place, took]
    };
    let unreadable = scan.unreadable.iter().map(|(area, errno)| row("unreadable", area, errno_name(*errno)));
    let skipped = scan.skipped.iter().map(|(area, why)| row("skipped", area, why.name().replace('_', " ")));
    let slow =
        scan.slow.iter().map(|(area, s)| row(&slow_word(scan, area).replace('_', " "), area, seconds(*s)));
    let once = scan.errors_once.iter().map(|area| row("error once", area, String::new()));
    let slow_once = scan.slow_once.iter().map(|area| row("slow once", area, String::new()));
    let zones = slow_runs(&scan.zones).map(|run| {
        let (first, last) = (run[0].area, run[run.len() - 1].area);
        let area = Area { length: last.start + last.length - first.start, ..first };
        let what = if run.len() == 1 { "slow zone".to_owned() } else { format!("{} slow zones", run.len()) };
        row(&what, &area, BytesPerSec(average(run.iter())).to_string())
    });
    let rows: Vec<Vec<String>> = unreadable
        .chain(skipped)
        .chain(once)
        .chain(slow)
        .chain(slow_once)
        .chain(zones)
        .take(PLACES_MAX)
        .collect();
    let columns = vec![left("what"), right("first byte"), right("length"), right("sectors"), right("")];
    let remark = (rows.len() == PLACES_MAX).then_some("there may be more: JSON has all");
    Table { columns, rows, remark }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(start: u64, rate: f64, errors: u64) -> Zone {
        Zone {
            area: Area { start: start << 20, length: 64 << 20 },
            bytes_per_s: rate,
            mean_s: 1_048_576.0 / rate,
            max_s: 0.01,
            errors,
            classes: vec![64 - errors],
            variance: None,
            is_slow: false,
            was_slow: false,
            is_unproven: false,
        }
    }

    fn of(zones: Vec<Zone>) -> Scan {
        Scan {
            question: ScanQuestion::of("sim:", Bytes(192 << 20)),
            zones,
            slow_share: SLOW_SHARE,
            unreadable: Vec::new(),
            errors_once: Vec::new(),
            slow: Vec::new(),
            slow_once: Vec::new(),
            slow_unproven: Vec::new(),
            skipped: Vec::new(),
            is_complete: true,
            access: None,
            burst: None,
        }
    }

    /// A slow zone counts though one of its blocks cannot be read: the device is no faster for it.
    #[test]
    fn a_zone_with_an_unreadable_block_stays_in_the_average() {
        let of = |errors: u64| of(vec![zone(0, 5e9, 0), zone(64, 3e8, errors), zone(128, 5e9, 0)]);
        assert!(sentence(&of(0)).starts_with("Reads 804 MB/s on average, 300 MB/s to 5.00 GB/s by place"));
        let broken = sentence(&of(1));
        assert!(broken.starts_with("Reads 811 MB/s on average, 300 MB/s to 5.00 GB/s by place"), "{broken}");
        // A row of several zones: what it says of bandwidth and of the mean belongs together.
        let many: Vec<Zone> =
            (0..64).map(|at| zone(at * 64, if at % 2 == 0 { 5e9 } else { 3e8 }, at % 2)).collect();
        let row = &profile(&many, SLOW_SHARE).rows[0];
        assert_eq!((row[2].as_str(), row[3].as_str()), ("570 MB/s", "1.84 ms"), "{row:?}");
    }

    /// The last read of an odd size is no place of its own: an average lies between the least and the most that are told with it.
    #[test]
    fn a_last_read_of_a_few_bytes_is_in_no_figure() {
        let mut last = zone(128, 1e3, 0);
        (last.area.length, last.classes) = (511, vec![1]);
        let told = sentence(&of(vec![zone(0, 2e8, 0), zone(64, 2e8, 0), last]));
        assert!(told.starts_with("Reads 200 MB/s on average, 200 MB/s to 200 MB/s by place"), "{told}");
    }

    /// What was slow once and not looked at closer has no size.
    #[test]
    fn slow_areas_that_were_not_looked_at_closer_are_told_as_such() {
        let mut scan = of(vec![zone(0, 2e8, 0), zone(64, 2e8, 0)]);
        let whole = Area { start: 64 << 20, length: 64 << 20 };
        let block = Area { start: 1 << 20, length: scan.question.block.into() };
        (scan.slow, scan.slow_unproven) = (vec![(block, 0.4), (whole, 0.5)], vec![whole]);
        let told = sentence(&scan);
        assert!(
            told.contains("2 slow blocks of 150 ms and more, 1 of which somewhere within a longer area"),
            "{told}"
        );
        let words: Vec<String> = places(&scan).rows.iter().map(|row| row[0].clone()).collect();
        assert_eq!(words, ["slow", "slow within"]);
        let csv = places_csv(&scan);
        assert!(csv.contains("\nslow,1048576,") && csv.contains("\nslow_within,67108864,67108864,"), "{csv}");
    }
}
