//! The drawings of a test, as they stand in the page: a heat map and bars of each matrix, what is tracked over the rounds
//! with its window, long loads over time. Needs no script.

use super::{Matrix, Section};
use crate::view::Together;
use fathom_analysis::pts::{Answer, Minute, PartAnswer, RoundsAnswer};
use fathom_analysis::scan::Zone;
use fathom_analysis::steady::RANGE_MAX;
use maud::{Markup, html};

/// Size of a drawing, in units of its own.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
/// Room for the labels.
const LEFT: f64 = 90.0;
const BELOW: f64 = 34.0;
const ABOVE: f64 = 12.0;
/// How opaque the least and the greatest value of a heat map are.
const HEAT: (f64, f64) = (0.06, 0.66);

/// The drawings of a section, and its matrices as heat maps; tables are drawn elsewhere.
pub(crate) fn plots(together: &Together, section: &Section) -> Markup {
    match together {
        Together::Steady(answer) => of_test(answer, section),
        Together::Scan(scan) if section.title == "Profile" => profile(&scan.zones),
        Together::Scan(_) => html! {},
    }
}

/// The speed over the places.
fn profile(zones: &[Zone]) -> Markup {
    let gigabytes = |zone: &Zone| zone.area.start as f64 / 1e9;
    let points: Vec<(f64, f64)> = zones.iter().map(|zone| (gigabytes(zone), zone.bytes_per_s)).collect();
    let print = |value: f64| fathom_units::BytesPerSec(value).to_string();
    line(&points, None, print, "place, GB", "Bandwidth of reads over the places")
}

fn of_test(answer: &Answer, section: &Section) -> Markup {
    let of_title = |title: &str| title.eq_ignore_ascii_case(&section.title);
    html! {
        @for matrix in &section.matrices { (heat(matrix)) (bars(matrix)) }
        @for part in &answer.parts {
            @match part {
                PartAnswer::Rounds(found) if of_title(&found.title) => {
                    (convergence(found))
                    (over_time(&found.minutes))
                }
                PartAnswer::Sequence(found) if section.title == "Loads" => { (over_time(&found.minutes)) }
                _ => {}
            }
        }
    }
}

fn heat(matrix: &Matrix) -> Markup {
    let values = || matrix.rows.iter().flat_map(|(_, row)| row.iter().flatten().copied());
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    // Block sizes span orders of magnitude, and so do their figures.
    let place = |value: f64| {
        if low > 0.0 && high > low { (value / low).ln() / (high / low).ln() } else { 1.0 }
    };
    let style = |value: f64| {
        format!("background: rgba(37, 99, 235, {:.2})", HEAT.0 + (HEAT.1 - HEAT.0) * place(value))
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label=(matrix.caption) {
            table.heat {
                caption { (matrix.caption) }
                thead { tr { th scope="col" {} @for title in &matrix.columns { th.number scope="col" { (title) } } } }
                tbody {
                    @for (name, row) in &matrix.rows {
                        tr {
                            th scope="row" { (name) }
                            @for value in row {
                                @match value {
                                    Some(value) => { td.number style=(style(*value)) { ((matrix.print)(*value)) } }
                                    None => { td.number { "n/a" } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The same as bars, a group per row.
fn bars(matrix: &Matrix) -> Markup {
    let most = matrix.rows.iter().flat_map(|(_, row)| row.iter().flatten().copied()).fold(0.0, f64::max);
    let groups = matrix.rows.len().max(1) as f64;
    let group = (WIDTH - LEFT) / groups;
    let bar = group * 0.84 / matrix.columns.len().max(1) as f64;
    let tall = |value: f64| if most > 0.0 { value / most * (HEIGHT - ABOVE - BELOW) } else { 0.0 };
    html! {
        figure {
            svg viewBox=(view_box()) role="img" aria-label={ (matrix.caption) ", as bars" } {
                (scale(0.0, most, matrix.print))
                @for (index, (name, row)) in (0_u32..).zip(&matrix.rows) {
                    @let from = LEFT + f64::from(index) * group + group * 0.08;
                    @for (at, value) in (0_u32..).zip(row) {
                        @if let Some(value) = value {
                            rect x=(short(from + f64::from(at) * bar)) y=(short(HEIGHT - BELOW - tall(*value)))
                                width=(short(bar * 0.9)) height=(short(tall(*value)))
                                fill="rgb(37, 99, 235)" opacity=(short(shade(at, matrix.columns.len()))) {
                                title { (name) " " (matrix.columns[at as usize]) ": " ((matrix.print)(*value)) }
                            }
                        }
                    }
                    (text(from + group * 0.42, HEIGHT - BELOW + 16.0, "middle", name))
                }
            }
            figcaption { (matrix.caption) "; in each group " (matrix.columns.join(", ")) ", from left to right" }
        }
    }
}

fn shade(at: u32, of: usize) -> f64 {
    1.0 - 0.7 * f64::from(at) / of.max(1) as f64
}

/// What is tracked over the rounds; the window is a band as high as it may be.
fn convergence(found: &RoundsAnswer) -> Markup {
    let values: Vec<(f64, f64)> = (1_u32..).map(f64::from).zip(found.tracked.iter().copied()).collect();
    let band = found.judgement.window.map(|window| {
        let half = RANGE_MAX / 2.0 * window.mean;
        let (first, last) = (found.window.start as f64 + 1.0, found.window.end as f64);
        (first, last, window.mean - half, window.mean + half)
    });
    let name = found.rounds.cells[found.rounds.tracked].name();
    let title = format!("{name} over the rounds; the band is the window, 20 % of its mean high");
    line(&values, band, super::print(found.rounds.figure), "round", &title)
}

fn over_time(minutes: &[Minute]) -> Markup {
    let hours: Vec<(f64, f64)> = minutes.iter().map(|one| (one.end_s / 3600.0, one.iops)).collect();
    let fills: Vec<(f64, f64)> = minutes.iter().map(|one| (one.fills, one.iops)).collect();
    let rate = super::print(fathom_analysis::pts::Figure::Iops);
    let has_writes = minutes.last().is_some_and(|last| last.fills > 0.0);
    html! {
        (line(&hours, None, rate, "hours", "IOPS over time"))
        @if has_writes { (line(&fills, None, rate, "capacities written", "IOPS over what was written")) }
    }
}

/// A line through points; nothing for fewer than two.
fn line(
    points: &[(f64, f64)],
    band: Option<(f64, f64, f64, f64)>,
    print: fn(f64) -> String,
    x_title: &str,
    title: &str,
) -> Markup {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return html! {} };
    if last.0 <= first.0 {
        return html! {};
    }
    let most = points.iter().map(|(_, y)| *y).chain(band.map(|band| band.3)).fold(0.0, f64::max) * 1.05;
    let x = |value: f64| LEFT + (value - first.0) / (last.0 - first.0) * (WIDTH - LEFT - 10.0);
    let y =
        |value: f64| HEIGHT - BELOW - if most > 0.0 { value / most * (HEIGHT - ABOVE - BELOW) } else { 0.0 };
    let path: Vec<String> = points.iter().map(|&(a, b)| format!("{},{}", short(x(a)), short(y(b)))).collect();
    html! {
        figure {
            svg viewBox=(view_box()) role="img" aria-label=(title) {
                (scale(0.0, most, print))
                @if let Some((from, to, low, high)) = band {
                    rect x=(short(x(from))) y=(short(y(high))) width=(short(x(to) - x(from)))
                        height=(short(y(low) - y(high))) fill="rgb(22, 163, 74)" opacity="0.25" {}
                }
                polyline points=(path.join(" ")) fill="none" stroke="rgb(37, 99, 235)" stroke-width="2" {}
                (text(x(first.0), HEIGHT - BELOW + 16.0, "start", &short(first.0)))
                (text(x(last.0), HEIGHT - BELOW + 16.0, "end", &short(last.0)))
                (text(f64::midpoint(LEFT, WIDTH), HEIGHT - 4.0, "middle", x_title))
            }
            figcaption { (title) }
        }
    }
}

/// Lines at the bottom, the middle and the top, with their values.
fn scale(low: f64, high: f64, print: fn(f64) -> String) -> Markup {
    html! {
        @for share in [0.0, 0.5, 1.0] {
            @let y = HEIGHT - BELOW - share * (HEIGHT - ABOVE - BELOW);
            line x1=(LEFT) x2=(WIDTH) y1=(short(y)) y2=(short(y)) stroke="currentColor" opacity="0.2" {}
            (text(LEFT - 6.0, y + 4.0, "end", &print(low + share * (high - low))))
        }
    }
}

fn text(x: f64, y: f64, anchor: &str, words: &str) -> Markup {
    html! {
        text x=(short(x)) y=(short(y)) text-anchor=(anchor) font-size="12" fill="currentColor" { (words) }
    }
}

fn view_box() -> String {
    format!("0 0 {WIDTH} {HEIGHT}")
}

/// A coordinate, to a hundredth.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
