//! The report as one HTML file that needs nothing else: words and tables as the text report has them, charts drawn by the
//! script that the file carries.
//!
//! Owns the order of the page and what of it stays readable without the script. Computes no figure. All text goes through
//! the template, which escapes it; what a job's author or a device chose as a name stays a name.

mod parts;

use crate::answer::{self, headline};
use crate::charts::{CHARTS_VERSION, Charts, StepCharts, charts};
use crate::compare::{self, Sides};
use crate::history::Followed;
use crate::plot::Plot;
use crate::resolved;
use crate::section::sections;
use crate::summary::summary_of;
use crate::table::visible;
use crate::tables;
use crate::view::{FindingSummary, NoteSummary, Summary, Together};
use fathom_analysis::validity::Progress;
use fathom_schema::Record;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use parts::table;
use serde::Serialize;

/// What draws the charts, built from `web/`.
const SCRIPT: &str = include_str!("../../../web/dist/report.js");
/// What the script must hash to for a browser to run it.
const SCRIPT_HASH: &str = include_str!("../../../web/dist/report.js.sha256");
/// How the page looks.
const STYLE: &str = include_str!("../../../web/dist/report.css");
/// How what is wide finds room in it, on a screen and on paper.
const ROOM: &str = include_str!("html/room.css");
/// Steps that are open at first; of more, a reader chooses.
const STEPS_OPEN_MAX: usize = 2;

/// The data that the script of a page draws.
#[derive(Serialize)]
struct Drawn {
    #[serde(flatten)]
    charts: Charts,
    /// The drawings of the answer, in the order of their places.
    plots: Vec<Plot>,
}

/// The report of a record, whole or an overview, as one HTML document.
pub fn html(record: &Record) -> String {
    html_of(record, Progress::Unknown)
}

/// As [`html`], where it is known what became of a run without an end.
pub fn html_of(record: &Record, progress: Progress) -> String {
    let summary = summary_of(record, progress);
    let charts = if summary.shows_steps() {
        charts(record)
    } else {
        // Charts of a thousand minutes would be no use.
        Charts { version: CHARTS_VERSION, steps: Vec::new(), sweep: None }
    };
    let sections = sections(&summary);
    let plots = sections.iter().flat_map(|section| section.plots.clone()).collect();
    let drawn = Drawn { charts, plots };
    let title = visible(&summary.title);
    let body = html! {
        (masthead(&summary, &title))
        main #content {
            (validity(&summary))
            (parts::answer(&sections))
            @if summary.shows_steps() { (steps(&summary, record, &drawn.charts)) } @else { (job(&summary)) }
            (notes(&summary.notes))
            (environment(&summary))
            (repeat(&summary))
        }
        (footer(&summary, &drawn.charts.steps))
    };
    document(&title, &summary.tool_version, &body, &drawn)
}

/// Sides of runs held against each other, as one HTML document; `None` where one has no step in common with the first.
pub fn compare_html(sides: &Sides<'_>) -> Option<String> {
    let (sentence, sections) = compare::sections(sides)?;
    let plots = sections.iter().flat_map(|section| section.plots.clone()).collect();
    let charts = Charts { version: CHARTS_VERSION, steps: Vec::new(), sweep: None };
    let others = sides.others.iter().flatten();
    let names =
        sides.base.iter().copied().chain(others.copied()).map(|record| visible(&record.started.title));
    let mut names: Vec<String> = names.collect();
    names.dedup();
    let title = names.join(" / ");
    let version = env!("CARGO_PKG_VERSION");
    let body = html! {
        header.masthead {
            p.brand { "fathom" }
            h1 { bdi { (title) } }
            p.answer { (sentence) }
            p.circumstances { "change that matters: " (sides.margin) ", fathom " (version) }
        }
        main #content { (parts::answer(&sections)) }
        footer {
            p { "Percentiles are nearest rank, to 0.4 %; the first side is what the others are held against." }
        }
    };
    Some(document(&title, version, &body, &Drawn { charts, plots }))
}

/// One job over many runs, as one HTML document.
pub fn history_html(course: &Followed<'_>) -> String {
    let sections = course.sections();
    let plots = sections.iter().flat_map(|section| section.plots.clone()).collect();
    let charts = Charts { version: CHARTS_VERSION, steps: Vec::new(), sweep: None };
    let title = visible(&course.runs[0].started.title);
    let version = env!("CARGO_PKG_VERSION");
    let body = html! {
        header.masthead {
            p.brand { "fathom" }
            h1 { bdi { (title) } }
            p.answer { (course.sentence()) }
            p.circumstances { (course.runs.len()) " runs, change that matters: " (course.margin) ", fathom " (version) }
        }
        main #content { (parts::answer(&sections)) }
        footer { p { "Percentiles are nearest rank, to 0.4 %." } }
    };
    document(&title, version, &body, &Drawn { charts, plots })
}

/// A page around its body, with what draws it.
fn document(title: &str, version: &str, body: &Markup, drawn: &Drawn) -> String {
    // Nothing but this very script may run, and nothing is loaded from anywhere, whatever slipped into the page.
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
        SCRIPT_HASH.trim()
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "fathom " (version) };
                title { (title) " – fathom" }
                style { (PreEscaped(STYLE)) (PreEscaped(ROOM)) }
            }
            body {
                a.skip href="#content" { "Skip to the figures" }
                (body)
                script type="application/json" id="fathom-charts" { (PreEscaped(embedded(drawn))) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// JSON that may stand in a `script` element: no `<` of it can end the element or begin a comment (HTML standard,
/// "restrictions for contents of script elements").
fn embedded(drawn: &Drawn) -> String {
    serde_json::to_string(drawn).expect("charts have only string keys").replace('<', "\\u003c")
}

fn masthead(summary: &Summary, title: &str) -> Markup {
    let (grade, verdict) = grade(summary);
    html! {
        header.masthead {
            p.brand { "fathom" }
            h1 { bdi { (title) } }
            p.answer { (headline(summary)) }
            p.grade.(grade) { (verdict) }
            p.circumstances { (answer::circumstances(summary)) }
            @if let Some(description) = &summary.description {
                p.description { bdi { (visible(description)) } }
            }
        }
    }
}

/// What can be said at once of whether the figures can be trusted: its class and its words. What a scan has found of its target
/// speaks against that and not against the figures; what the notes warn of was so from the start, and is no finding.
fn grade(summary: &Summary) -> (&'static str, &'static str) {
    let has_found = match &summary.together {
        Some(Together::Scan(scan)) => scan.has_failed() || !scan.slow.is_empty() || !scan.is_through(),
        _ => false,
    };
    match summary.validity.first().map(|finding| finding.severity.as_str()) {
        Some("invalid") => ("invalid", "Invalid: see below"),
        Some("warn") => ("warn", "With warnings: see below"),
        _ if has_found => ("good", "Nothing found against the measurement; what it found is told above"),
        _ if summary.notes.iter().any(|note| note.severity != "info") => {
            ("warn", "Nothing found against the measurement; the notes warn")
        }
        _ => ("good", "Nothing found against the measurement"),
    }
}

fn validity(summary: &Summary) -> Markup {
    let findings = &summary.validity;
    html! {
        section #validity {
            h2 { "Can it be trusted?" }
            @if findings.is_empty() {
                p { (summary.nothing_found()) }
            } @else {
                ul.findings {
                    @for FindingSummary { id, severity, evidence, remedy } in findings {
                        li.(severity) {
                            p { strong.word { (severity.to_uppercase()) } " " code { (id) } }
                            p { bdi { (visible(evidence)) } }
                            p.remedy { "→ " (remedy) }
                        }
                    }
                }
            }
        }
    }
}

fn steps(summary: &Summary, record: &Record, charts: &Charts) -> Markup {
    html! {
        @if summary.steps.len() > 1 {
            (overview(summary))
        }
        @let is_one_of_several = summary.steps.len() > 1;
        @for ((step, record), charts) in summary.steps.iter().zip(&record.steps).zip(&charts.steps) {
            @if is_one_of_several {
                details.step open[summary.is_plain() && summary.steps.len() <= STEPS_OPEN_MAX] id={ "step-" (step.index) } {
                    summary { h2 { "Step " bdi { (visible(&step.name)) } } }
                    (parts::step(step, record, charts, true))
                }
            } @else {
                section.step id={ "step-" (step.index) } {
                    h2 { "Step " bdi { (visible(&step.name)) } }
                    (parts::step(step, record, charts, false))
                }
            }
        }
    }
}

fn overview(summary: &Summary) -> Markup {
    html! {
        section #steps {
            h2 { "Steps" }
            // Those of a search come in the order of its choices, and its answer has the drawings that they make.
            @if summary.is_plain() {
                div.charts {
                    (parts::chart("sweep-iops", None, "IOPS of each step", "The table of steps has its figures."))
                    (parts::chart("sweep-latency", None, "Latency of each step", "The table of steps has its figures."))
                }
            }
            (table(&tables::overview(&summary.steps), "Steps and what they reached"))
        }
    }
}

/// The job of a run whose steps are not shown one by one.
fn job(summary: &Summary) -> Markup {
    html! {
        @if !summary.steps.is_empty() {
            section #job {
                h2 { "Resolved job" }
                p { "The first step of each part. " (resolved::elsewhere(summary)) }
                @for step in resolved::of_each_part(summary) {
                    (parts::resolved(step, "A step with every option resolved", Some(&step.name)))
                }
            }
        }
    }
}

fn notes(notes: &[NoteSummary]) -> Markup {
    html! {
        @if !notes.is_empty() {
            section #notes {
                h2 { "Notes" }
                ul {
                    @for note in notes {
                        li {
                            @if note.severity != "info" { strong { (note.severity.to_uppercase()) } " " }
                            bdi { (visible(&note.message)) }
                        }
                    }
                }
            }
        }
    }
}

fn environment(summary: &Summary) -> Markup {
    html! {
        section #environment {
            h2 { "Environment" }
            ul { @for line in answer::environment(summary) { li { bdi { (line) } } } }
            @if !summary.environment.is_empty() {
                details {
                    summary { "All " (summary.environment.len()) " facts" }
                    (parts::facts(&summary.environment))
                }
            }
        }
    }
}

/// What it takes to measure the same again.
fn repeat(summary: &Summary) -> Markup {
    let command: Vec<String> = summary.command.iter().map(|word| answer::quoted(word)).collect();
    html! {
        section #repeat {
            h2 { "How to repeat it" }
            p { "With fathom " (summary.tool_version) ":" }
            pre tabindex="0" { code { (command.join(" ")) } }
            @for source in &summary.sources {
                details open[summary.sources.len() == 1] {
                    summary { "Job " code { bdi { (visible(&source.name)) } } }
                    @if !source.maps.is_empty() {
                        p { "With " code { bdi { (visible(&mapped(&source.maps))) } } }
                    }
                    pre tabindex="0" { code { (lines_visible(&source.text)) } }
                }
            }
        }
    }
}

/// What stood for a job's targets, as the command line has it.
pub(crate) fn mapped(maps: &[String]) -> String {
    maps.iter().map(|map| format!("--map {}", answer::quoted(map))).collect::<Vec<_>>().join(" ")
}

/// A text whose line ends and tabs stay what they are.
fn lines_visible(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split('\t').map(visible).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn footer(summary: &Summary, steps: &[StepCharts]) -> Markup {
    let reduced = steps.iter().map(|step| step.reduced).max().unwrap_or(1);
    html! {
        footer {
            @if reduced > 1 {
                p {
                    "In charts a point stands for up to " (reduced) " intervals: the mean of their rates, with the lowest \
                    and highest as a band, and the percentiles of all operations in them together. Every stored interval: "
                    code { "fathom report " (summary.run) " --format csv" }
                }
            }
            p { "Percentiles are nearest rank, to 0.4 %. Run " code { (summary.run) } ", measured by fathom " (summary.tool_version) "." }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_analysis::sample::{StreamShape, record};

    #[test]
    fn a_grade_hides_no_warning_of_the_notes() {
        let mut summary = crate::summary(&record(&[StreamShape::default()]));
        summary.validity.clear();
        summary.notes.clear();
        assert_eq!(grade(&summary), ("good", "Nothing found against the measurement"));
        for (severity, expect) in [("info", "good"), ("warn", "warn")] {
            summary.notes.push(NoteSummary {
                at_s: 0.0,
                kind: "job".to_owned(),
                severity: severity.to_owned(),
                message: "not PTS: no purge is possible".to_owned(),
            });
            assert_eq!(grade(&summary).0, expect, "{severity}");
        }
        assert_eq!(grade(&summary).1, "Nothing found against the measurement; the notes warn");
    }
}
