//! A test of SNIA's PTS for people: its sentence, and its tables as the standard has them. Owns which figures are shown in
//! which table; the figures are `fathom_analysis::pts`'s.

mod noted;
mod plots;
mod setup;
mod spread;

use crate::plot::PlotMark;
use crate::section::{Matrix, Section};
use crate::table::{left, right, right_of, spare, visible};
use crate::tables::{Table, seconds};
use crate::view::Summary;
use fathom_analysis::pts::{
    AfterIdle, Answer, Cell, Distribution, Ending, FIVE_NINES_FROM, Figure, Idle, IdleRecovery, Level,
    Measure, Minute, PartAnswer, RoundsAnswer, SequenceAnswer, deviations, idle_recovery, purge_words,
};
use fathom_analysis::steady::{EXCURSION_MAX, RANGE_MAX, WINDOW};
use fathom_schema::SteadyTest;
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};

/// Rows of a table over time at most.
const ROWS_MAX: usize = 24;
/// Share of the baseline by which bursts have to differ from it for an idle time to do something: as much as two rounds of a
/// steady state may differ from their mean.
const IDLE_MATTERS: f64 = 0.1;

/// Caption of the table of five nines.
const FIVE_NINES: &str = "99.999 % of the response times of a round, mean of the window";

/// A share, for people.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A figure of the cells' means.
fn matrix(
    answer: &RoundsAnswer,
    caption: &str,
    figure: fn(&Measure) -> Option<f64>,
    print: fn(f64) -> String,
) -> Matrix {
    let mut columns: Vec<&'static str> = Vec::new();
    let mut rows: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    let shown = || answer.rounds.cells.iter().zip(&answer.means).filter(|(cell, _)| !cell.row.is_empty());
    for (cell, _) in shown() {
        if !columns.contains(&cell.column) {
            columns.push(cell.column);
        }
    }
    for (cell, mean) in shown() {
        let at = columns.iter().position(|column| *column == cell.column).expect("it was put there");
        if rows.iter().all(|(row, _)| *row != cell.row) {
            rows.push((cell.row.clone(), vec![None; columns.len()]));
        }
        let row = rows.iter_mut().find(|(row, _)| *row == cell.row).expect("it was put there");
        row.1[at] = figure(mean);
    }
    Matrix { caption: caption.to_owned(), columns, rows, print }
}

/// What a test came to, in one sentence.
pub fn sentence(answer: &Answer) -> String {
    let Answer { question, parts, ending, idle: _, setup: _ } = answer;
    let manner = match (question.haste, deviations(question).as_slice()) {
        (1, []) => String::new(),
        (1, all) => format!("Not PTS ({}). ", all.join(", ")),
        _ => "A try, not PTS. ".to_owned(),
    };
    let mut all: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            PartAnswer::Rounds(found) => Some(of_rounds(found)),
            PartAnswer::Sequence(found) if question.test == SteadyTest::Xsr => Some(of_recovery(found)),
            PartAnswer::Conditioning(_) | PartAnswer::Sequence(_) => None,
        })
        .collect();
    all.extend(idle_recovery(answer).map(|found| of_idle(&found)));
    let verdict = match ending {
        // Of a test that goes on as well, which nobody here knows.
        Ending::Unfinished => "There is no answer yet. ",
        Ending::Steady | Ending::NotSteady | Ending::Complete => "",
    };
    format!(
        "{manner}{verdict}{}",
        if all.is_empty() { "No round was complete.".to_owned() } else { all.join(" ") }
    )
}

fn of_rounds(found: &RoundsAnswer) -> String {
    let RoundsAnswer { title, rounds, tracked, judgement, window, means, is_complete, .. } = found;
    let Some(mean) = means.get(rounds.tracked) else { return format!("{}: no whole round.", capital(title)) };
    let figure = print(rounds.figure)(mean.figure(rounds.figure));
    let name = rounds.cells[rounds.tracked].name();
    let state = match (judgement.steady_at, is_complete) {
        (Some(at), _) => format!("steady at round {at}"),
        (None, true) if !rounds.has_to_be_steady() => {
            format!("complete after {} without a steady state", count(tracked.len(), "round"))
        }
        (None, true) => format!("NOT STEADY after {}", count(tracked.len(), "round")),
        (None, false) => format!("not steady yet after {}", count(tracked.len(), "round")),
    };
    let of = match window.len() {
        1 => format!("round {}", window.end),
        _ => format!("mean of rounds {} to {}", window.start + 1, window.end),
    };
    let fresh = if found.is_of_a_fresh_device() {
        format!(
            "; less than one capacity written: {:.2} fills, as of a device that is not full yet",
            found.fills
        )
    } else {
        String::new()
    };
    format!("{}: {state}, {name} {figure} ({of}){fresh}.", capital(title))
}

fn of_recovery(found: &SequenceAnswer) -> String {
    let figures = match found.cells.as_slice() {
        [(load, before), (_, between), (_, after)] => {
            let rate = |measure: &Measure| BytesPerSec(measure.bytes_per_s).to_string();
            format!(
                ": {} did {} before, {} after; the other load {}",
                load.name(),
                rate(before),
                rate(after),
                rate(between)
            )
        }
        _ => String::new(),
    };
    match (found.recovery_s, found.is_complete) {
        (Some(0.0), _) => format!("Recovered at once after the other load had ended{figures}."),
        (Some(s), _) => format!("Recovered {} after the other load had ended{figures}.", seconds(s)),
        (None, true) => {
            format!(
                "Not recovered: after the other load the first one never does again what it did{figures}."
            )
        }
        (None, false) => "Whether it recovers is not known.".to_owned(),
    }
}

/// What idle times do for bursts of writes.
fn of_idle(IdleRecovery { baseline_iops, after }: &IdleRecovery) -> String {
    let Some(AfterIdle { burst, .. }) = after.first() else {
        return "What idle time brings is not known.".to_owned();
    };
    let share = |one: &AfterIdle| format!("{:.0} %", one.share * 100.0);
    let most = after.iter().map(|one| one.share).fold(f64::NEG_INFINITY, f64::max);
    let least_of = |of: fn(&AfterIdle) -> f64| after.iter().map(of).fold(f64::INFINITY, f64::min);
    // What a burst loses while its last operations drain is the same after any idle time.
    let least = least_of(|one| one.undrained_share);
    let drained = if least >= 1.0 - IDLE_MATTERS && least_of(|one| one.share) < 1.0 - IDLE_MATTERS {
        "; what they lack is lost at the end of bursts that brief, while their last operations drain"
    } else {
        ""
    };
    let what = match (least < 1.0 - IDLE_MATTERS, most > 1.0 + IDLE_MATTERS) {
        (false, false) => "Idle time recovers nothing",
        (false, true) => "Idle time recovers performance",
        (true, false) => "Idle time costs performance",
        (true, true) => "Idle time changes performance",
    };
    let time = |time: Nanos| {
        if time.0.is_multiple_of(1_000_000) { time.to_string() } else { time.approximate() }
    };
    let each: Vec<String> =
        after.iter().map(|one| format!("{} after {} idle", share(one), time(one.idle))).collect();
    format!(
        "{what}: against the baseline of {} IOPS, bursts of {} do {}{drained}.",
        Iops(*baseline_iops),
        time(*burst),
        each.join(", ")
    )
}

/// A time that is known to a millisecond.
fn approximate(time: Nanos) -> String {
    if time < Nanos::millis(1) { "less than 1 ms".to_owned() } else { time.approximate() }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// How a figure is written.
fn print(figure: Figure) -> fn(f64) -> String {
    match figure {
        Figure::Iops => |value| format!("{} IOPS", Iops(value)),
        Figure::Throughput => |value| BytesPerSec(value).to_string(),
        Figure::MeanLatency => seconds,
    }
}

/// How a figure is written under a heading that says what it is.
fn bare(figure: Figure) -> fn(f64) -> String {
    match figure {
        Figure::Iops => |value| Iops(value).to_string(),
        Figure::Throughput | Figure::MeanLatency => print(figure),
    }
}

/// What is tracked, for a heading.
fn tracked_name(found: &RoundsAnswer) -> String {
    let what = match found.rounds.figure {
        Figure::Iops => "IOPS",
        Figure::Throughput => "throughput",
        Figure::MeanLatency => "mean response time",
    };
    format!("{what} of {}", found.rounds.cells[found.rounds.tracked].name())
}

/// The drawings and tables of a test, part by part.
pub(crate) fn sections(summary: &Summary, answer: &Answer) -> Vec<Section> {
    let head = ("Head of the report".to_owned(), setup::fields(answer));
    let mut all =
        vec![Section { title: "Test and set-up".to_owned(), tables: vec![head], ..Section::default() }];
    let done: Vec<String> = answer
        .parts
        .iter()
        .filter_map(|part| match part {
            PartAnswer::Conditioning(found) => Some(match found.elapsed {
                Some(elapsed) => format!(
                    "{}: {} in {}",
                    found.title,
                    Bytes(found.bytes).approximate(),
                    elapsed.approximate()
                ),
                None => format!("{}: did not come to its end", found.title),
            }),
            PartAnswer::Rounds(_) | PartAnswer::Sequence(_) => None,
        })
        .collect();
    let mut lines = vec![format!("purge: {}", visible(&purge_words(&answer.question)))];
    lines.extend(done);
    lines.extend(answer.idle.map(|Idle { gaps, median, longest }| {
        format!(
            "idle between loads: {} as a rule, {} at most, of {gaps} gaps",
            approximate(median),
            approximate(longest)
        )
    }));
    all.push(Section { title: "Conditioning".to_owned(), lines, ..Section::default() });
    let mut sequences: Vec<&SequenceAnswer> = Vec::new();
    let mut noted: Vec<Vec<PlotMark>> = Vec::new();
    for (at, part) in answer.parts.iter().enumerate() {
        match part {
            PartAnswer::Conditioning(_) => {}
            PartAnswer::Rounds(found) => all.push(rounds(found, &noted::of_part(summary, at))),
            PartAnswer::Sequence(found) => {
                sequences.push(found);
                noted.push(noted::of_part(summary, at));
            }
        }
    }
    if !sequences.is_empty() {
        let mut loads = sequence(&sequences, &noted);
        if let Some(found) = idle_recovery(answer) {
            loads.plots.splice(0..0, plots::of_idle(&found, &sequences));
            loads.tables.insert(0, ("Bursts after idle times".to_owned(), bursts(&found)));
        }
        all.push(loads);
    }
    all
}

fn rounds(found: &RoundsAnswer, noted: &[PlotMark]) -> Section {
    let what = tracked_name(found);
    let mut tables = vec![
        (format!("Steady state: {what}"), determination(found)),
        (format!("Round by round: {what}"), tracked(found)),
    ];
    tables.extend(by_round(found));
    if found.levels.len() > 1 {
        tables.push(("Levels of the load".to_owned(), levels(&found.levels)));
    }
    if !found.minutes.is_empty() {
        tables.push(("Over time".to_owned(), over_time(&found.minutes)));
    }
    let rate = |mean: &Measure| Some(mean.iops);
    let mean_s = |mean: &Measure| Some(mean.mean_s);
    let has_many = found.rounds.cells.iter().filter(|cell| !cell.row.is_empty()).count() > 1;
    let demand = found.rounds.cells.iter().any(|cell| cell.column.starts_with("depth"));
    let mut matrices = match found.rounds.figure {
        _ if !has_many || found.means.is_empty() => Vec::new(),
        Figure::Iops if demand => vec![
            matrix(found, "IOPS, mean of the window", rate, |value| Iops(value).to_string()),
            matrix(found, "Mean response time, mean of the window", mean_s, seconds),
            matrix(
                found,
                "System CPU: share of the time in which processors were busy, mean of the window",
                |mean| mean.processors_busy,
                percent,
            ),
        ],
        Figure::Iops => {
            vec![matrix(found, "IOPS by block size and reads/writes, mean of the window", rate, |v| {
                Iops(v).to_string()
            })]
        }
        Figure::Throughput => {
            let bytes = |mean: &Measure| Some(mean.bytes_per_s);
            vec![matrix(
                found,
                "Throughput by block size and reads/writes, mean of the window",
                bytes,
                |value| BytesPerSec(value).to_string(),
            )]
        }
        Figure::MeanLatency => vec![
            matrix(found, "Mean response time, mean of the window", mean_s, seconds),
            matrix(found, FIVE_NINES, |mean| mean.five_nines_s, seconds),
            matrix(
                found,
                "Largest response time of a round, mean of the window",
                |mean| Some(mean.max_s),
                seconds,
            ),
        ],
    };
    // Nobody looked at the processors in virtual time; and short cells have no fifth nine.
    let is_known = |matrix: &Matrix| matrix.rows.iter().any(|(_, row)| row.iter().any(Option::is_some));
    let is_short = matrices.iter().any(|matrix| matrix.caption == FIVE_NINES && !is_known(matrix));
    matrices.retain(is_known);
    let mut lines = vec![of_rounds(found)];
    if let [fresh, .., last] = found.levels.as_slice() {
        lines.push(format!(
            "It began with {} IOPS until {:.2} capacities were written, and ended with {}.",
            Iops(fresh.iops),
            fresh.fills,
            Iops(last.iops)
        ));
    }
    if found.rounds.figure == Figure::MeanLatency
        && let Some(largest) = found.largest_s.iter().copied().reduce(f64::max)
    {
        lines.push(format!("The longest of all operations in the window took {}.", seconds(largest)));
        if is_short {
            lines.push(format!(
                "Five nines (99.999 %) of the cells are n/a: they need n ≥ {FIVE_NINES_FROM} operations a round."
            ));
        }
    }
    tables.retain(|(_, table)| !table.rows.is_empty());
    let plots = plots::of_rounds(found, &matrices, noted);
    Section { title: capital(&found.title), lines, plots, tables, matrices, ..Section::default() }
}

/// The data that steady state is determined by.
fn determination(found: &RoundsAnswer) -> Table {
    let columns = [
        left("rounds"),
        right("mean"),
        right("range"),
        right("allowed range"),
        right("slope excursion"),
        right("allowed excursion"),
        spare("line", 1),
        left("steady"),
    ];
    let RoundsAnswer { rounds, judgement, window: range, .. } = found;
    let write = bare(rounds.figure);
    let of_mean = |share: f64, mean: f64| write(share * mean);
    let rows = judgement.window.map(|window| {
        vec![
            format!("{} to {}", range.start + 1, range.end),
            write(window.mean),
            write(window.range),
            of_mean(RANGE_MAX, window.mean),
            write(window.slope_excursion()),
            of_mean(EXCURSION_MAX, window.mean),
            // Rounds of the window count from 1, as in the standard's reports.
            line(window.slope, window.mean - 3.0 * window.slope, write),
            if judgement.steady_at.is_some() { "yes" } else { "no" }.to_owned(),
        ]
    });
    let remark = Some(
        "a window is five rounds; allowed: 20 % of its mean for the range, 10 % for the excursion of the line",
    );
    Table { columns: columns.to_vec(), rows: rows.into_iter().collect(), remark }
}

/// A line over rounds, in the unit of what it is about.
fn line(slope: f64, start: f64, write: fn(f64) -> String) -> String {
    let sign = |value: f64| {
        if value < 0.0 && write(-value) != write(0.0) { "−".to_owned() } else { String::new() }
    };
    let (slope, start) = (sign(slope) + &write(slope.abs()), sign(start) + &write(start.abs()));
    format!("{slope}·R + {start} (R = 1 … {WINDOW})")
}

fn tracked(found: &RoundsAnswer) -> Table {
    let write = bare(found.rounds.figure);
    let row = |(at, value): (usize, &f64)| {
        let is_inside = found.judgement.steady_at.is_some() && found.window.contains(&at);
        vec![(at + 1).to_string(), write(*value), if is_inside { "window" } else { "" }.to_owned()]
    };
    let rows = found.tracked.iter().enumerate().map(row).collect();
    Table { columns: vec![right("round"), right("value"), left("")], rows, remark: None }
}

/// What is drawn of the cells over the rounds.
fn by_round(found: &RoundsAnswer) -> impl Iterator<Item = (String, Table)> {
    let write = bare(found.rounds.figure);
    plots::converging(found).into_iter().map(move |plots::Converging { what, cells, value }| {
        let row = |(at, measures): (usize, &Vec<Measure>)| {
            let values = cells.iter().map(|(cell, _)| write(value(&measures[*cell])));
            std::iter::once((at + 1).to_string()).chain(values).collect()
        };
        let rows = found.measures.iter().enumerate().map(row).collect();
        let names = cells.iter().map(|(_, name)| right_of(name.clone()));
        let columns = std::iter::once(right("round")).chain(names).collect();
        (format!("Round by round: {what}"), Table { columns, rows, remark: None })
    })
}

fn levels(levels: &[Level]) -> Table {
    let row = |level: &Level| {
        vec![seconds(level.until_s), format!("{:.2}", level.fills), Iops(level.iops).to_string()]
    };
    let remark =
        Some("where the rate changes for long, by a tenth or more; fills: capacities written until then");
    let columns = vec![right("until"), right("fills"), right("IOPS")];
    Table { columns, rows: levels.iter().map(row).collect(), remark }
}

fn over_time(minutes: &[Minute]) -> Table {
    let each = minutes.len().div_ceil(ROWS_MAX).max(1);
    // A row is of one load.
    let groups = minutes.chunk_by(|a, b| a.load == b.load).flat_map(|load| load.chunks(each));
    let row = |group: &[Minute]| {
        let mean = |of: fn(&Minute) -> f64| group.iter().map(of).sum::<f64>() / group.len() as f64;
        let most = |of: fn(&Minute) -> f64| group.iter().map(of).fold(0.0, f64::max);
        let nines =
            group.iter().map(|one| one.five_nines_s).try_fold(0.0, |most: f64, one| Some(most.max(one?)));
        let last = group.last().expect("a group has a sample");
        vec![
            seconds(last.end_s),
            format!("{:.2}", last.fills),
            Iops(mean(|one| one.iops)).to_string(),
            BytesPerSec(mean(|one| one.bytes_per_s)).to_string(),
            seconds(mean(|one| one.mean_s)),
            // Of a row, the worst of its samples.
            nines.map_or_else(String::new, seconds),
            seconds(most(|one| one.max_s)),
        ]
    };
    let columns = [
        right("until"),
        right("fills"),
        right("IOPS"),
        right("bandwidth"),
        right("mean"),
        right("99.999 %"),
        right("largest"),
    ];
    let remark = Some(
        "fills: how many times the capacity was written until then; 99.999 % and largest: of the worst sample",
    );
    Table { columns: columns.to_vec(), rows: groups.map(row).collect(), remark }
}

/// What bursts do after each idle time, beside the baseline.
fn bursts(IdleRecovery { baseline_iops, after }: &IdleRecovery) -> Table {
    let row = |AfterIdle { idle, burst, iops, share, undrained_share: _ }: &AfterIdle| {
        let length = |time: &Nanos| seconds(time.as_secs_f64());
        vec![
            length(idle),
            length(burst),
            Iops(*iops).to_string(),
            Iops(*baseline_iops).to_string(),
            percent(*share),
        ]
    };
    let columns = vec![right("idle"), right("burst"), right("IOPS"), right("baseline"), right("of it")];
    Table { columns, rows: after.iter().map(row).collect(), remark: None }
}

/// The loads of sequences, with what was noted while each ran; a load that comes many times is one row.
fn sequence(found: &[&SequenceAnswer], noted: &[Vec<PlotMark>]) -> Section {
    let columns = [
        left("load"),
        right("times"),
        right("IOPS"),
        right("least"),
        right("most"),
        right("bandwidth"),
        right("mean"),
        right("largest"),
        spare("99.999 %", 1),
    ];
    let mut rows = Vec::new();
    for part in found {
        let mut at = 0;
        while let Some((cell, _)) = part.cells.get(at) {
            let same = part.cells[at..].iter().take_while(|(next, _)| next == cell).count();
            let all: Vec<&Measure> = part.cells[at..at + same].iter().map(|(_, measure)| measure).collect();
            rows.push(load_row(part, cell, &all));
            at += same;
        }
    }
    let lines: Vec<String> = found
        .iter()
        .filter(|part| !part.is_complete)
        .map(|part| format!("{}: did not come to its end", capital(&part.title)))
        .collect();
    let mut tables =
        vec![("Loads in order".to_owned(), Table { columns: columns.to_vec(), rows, remark: None })];
    tables.extend(
        found
            .iter()
            .filter(|part| !part.minutes.is_empty())
            .map(|part| (format!("{} over time", capital(&part.title)), over_time(&part.minutes))),
    );
    let named: Vec<&Distribution> = found.iter().flat_map(|part| &part.distributions).collect();
    let mut plots = spread::plots(&named);
    plots.extend(found.iter().zip(noted).flat_map(|(part, noted)| plots::of_sequence(part, noted)));
    tables.splice(1..1, spread::tables(&named));
    Section { title: "Loads".to_owned(), lines, plots, tables, ..Section::default() }
}

fn load_row(part: &SequenceAnswer, cell: &Cell, all: &[&Measure]) -> Vec<String> {
    let mean = |of: fn(&Measure) -> f64| all.iter().map(|one| of(one)).sum::<f64>() / all.len() as f64;
    let most = |of: fn(&Measure) -> f64| all.iter().map(|one| of(one)).fold(f64::NEG_INFINITY, f64::max);
    let least = all.iter().map(|one| one.iops).fold(f64::INFINITY, f64::min);
    let load = format!("{} T{}Q{}", cell.name(), cell.threads, cell.depth);
    let is_several = all.len() > 1;
    let only_several = |text: String| if is_several { text } else { String::new() };
    let nines =
        all.iter().map(|one| one.five_nines_s).try_fold(0.0, |most: f64, one| one.map(|one| most.max(one)));
    let role = if cell.row.is_empty() { String::new() } else { format!(", {}", cell.row) };
    vec![
        format!("{}{role}: {load}", part.title),
        all.len().to_string(),
        Iops(mean(|one| one.iops)).to_string(),
        only_several(Iops(least).to_string()),
        only_several(Iops(most(|one| one.iops)).to_string()),
        BytesPerSec(mean(|one| one.bytes_per_s)).to_string(),
        seconds(mean(|one| one.mean_s)),
        seconds(most(|one| one.max_s)),
        nines.map_or_else(String::new, seconds),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_not_blamed_for_what_brief_bursts_lose_at_their_end() {
        let says = |shares: [(f64, f64); 2], expect: &str, is_drained: bool| {
            let after = |idle: u64, (share, undrained_share): (f64, f64)| AfterIdle {
                idle: Nanos::millis(idle),
                burst: Nanos::millis(80),
                iops: share * 1000.0,
                share,
                undrained_share,
            };
            let found = IdleRecovery {
                baseline_iops: 1000.0,
                after: vec![after(80, shares[0]), after(400, shares[1])],
            };
            let sentence = of_idle(&found);
            assert!(sentence.starts_with(&format!("Idle time {expect}: against the baseline of 1000 IOPS")));
            assert_eq!(sentence.contains("while their last operations drain"), is_drained, "{sentence}");
        };
        says([(0.98, 1.0), (0.97, 1.0)], "recovers nothing", false);
        says([(0.89, 0.97), (0.89, 0.98)], "recovers nothing", true);
        says([(0.89, 0.97), (0.70, 0.78)], "costs performance", false);
        says([(0.50, 0.50), (0.50, 0.52)], "costs performance", false);
        says([(0.89, 0.97), (1.20, 1.25)], "recovers performance", true);
        says([(0.60, 0.65), (1.20, 1.25)], "changes performance", false);
    }

    #[test]
    fn a_line_is_in_the_unit_of_its_figure() {
        let of = |figure: Figure, slope: f64, start: f64| line(slope, start, bare(figure));
        assert_eq!(of(Figure::MeanLatency, -1.234e-6, 1.04e-4), "−1.23 µs·R + 104 µs (R = 1 … 5)");
        assert_eq!(of(Figure::MeanLatency, -1e-15, 1e-4), "0 ns·R + 100 µs (R = 1 … 5)");
        assert_eq!(of(Figure::Iops, -12.3, 5120.0), "−12.3·R + 5120 (R = 1 … 5)");
    }
}
