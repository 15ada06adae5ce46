//! The summary as text for people: the answer in one sentence, then whether it can be trusted, then the figures.
//!
//! Owns order, wording and alignment. Computes nothing beyond units; whatever a figure is, the summary has it.

use crate::answer::{self, headline, step_line, what};
use crate::history::Followed;
use crate::section::{Section, sections};
use crate::table::{lines, visible, wrap};
use crate::tables::{self, STREAMS_SHOWN, Table, seconds};
use crate::view::{FindingSummary, StepSummary, Summary, Totals};

/// Narrowest text that is still laid out; below it lines run over.
const WIDTH_MIN: usize = 40;

/// Below this, what belongs to a finding stands under its word and not beside it.
const NARROW: usize = 60;

/// The report, `width` columns wide (at least 40), with ANSI colours when `colour` is set.
pub fn text(summary: &Summary, width: usize, colour: bool) -> String {
    let mut page = Page { out: String::new(), width: width.max(WIDTH_MIN), colour };
    page.heading(summary);
    page.validity(summary);
    page.together(summary);
    if summary.shows_steps() {
        page.steps(&summary.steps);
    }
    page.notes(summary);
    page.environment(summary);
    page.out
}

/// The answer to the run's question alone, with what speaks against it; shaped as [`text`].
pub fn text_of_answer(summary: &Summary, width: usize, colour: bool) -> String {
    let mut page = Page { out: String::new(), width: width.max(WIDTH_MIN), colour };
    page.headline(summary);
    page.together(summary);
    page.validity(summary);
    page.out
}

/// One job over many runs; shaped as [`text`].
pub fn history_text(course: &Followed<'_>, width: usize, colour: bool) -> String {
    let mut page = Page { out: String::new(), width: width.max(WIDTH_MIN), colour };
    page.bold(&course.sentence());
    page.sections(course.sections());
    page.out
}

struct Page {
    out: String,
    width: usize,
    colour: bool,
}

const BOLD: &str = "1";
const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const CYAN: &str = "36";

impl Page {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A blank line and a title.
    fn section(&mut self, title: &str) {
        let title = self.paint(BOLD, title);
        self.line("");
        self.line(&title);
    }

    fn paragraph(&mut self, text: &str, indent: usize) {
        for line in wrap(text, self.width - indent) {
            self.line(format!("{:indent$}{line}", "").trim_end());
        }
    }

    /// A blank line, the table and what is said about it; nothing for a table without rows.
    fn table(&mut self, table: &Table) {
        if table.rows.is_empty() {
            return;
        }
        self.line("");
        self.rows(table);
        if let Some(remark) = table.remark {
            self.paragraph(remark, 2);
        }
    }

    fn rows(&mut self, Table { columns, rows, remark: _ }: &Table) {
        lines(columns, rows, self.width).iter().for_each(|line| self.line(line));
    }

    /// The answer.
    fn headline(&mut self, summary: &Summary) {
        let trust = match summary.validity.first().map(|finding| finding.severity.as_str()) {
            Some("invalid") => " — INVALID, see below",
            Some("warn") => " — see the warnings below",
            _ => "",
        };
        let answer = headline(summary);
        // A sentence goes on.
        let answer = if trust.is_empty() { answer.as_str() } else { answer.trim_end_matches('.') };
        self.bold(&format!("{answer}{trust}"));
    }

    /// A paragraph that stands out.
    fn bold(&mut self, text: &str) {
        for line in wrap(text, self.width) {
            let line = self.paint(BOLD, &line);
            self.line(&line);
        }
    }

    /// The answer, and what run it is.
    fn heading(&mut self, summary: &Summary) {
        self.headline(summary);
        self.paragraph(&format!("{}, {}", visible(&summary.title), answer::circumstances(summary)), 0);
        if let Some(description) = &summary.description {
            self.paragraph(&visible(description), 0);
        }
    }

    fn validity(&mut self, summary: &Summary) {
        self.section("Can it be trusted?");
        if summary.validity.is_empty() {
            self.paragraph(summary.nothing_found(), 2);
        }
        for FindingSummary { id, severity, evidence, remedy } in &summary.validity {
            let (style, word) = match severity.as_str() {
                "invalid" => (RED, "INVALID"),
                "warn" => (YELLOW, "WARN"),
                _ => (CYAN, "INFO"),
            };
            let word = format!("{}{:pad$}", self.paint(style, word), "", pad = 9 - word.len());
            self.line(&format!("  {word}{id}"));
            let indent = if self.width < NARROW { 4 } else { 11 };
            self.paragraph(&visible(evidence), indent);
            self.paragraph(&format!("→ {remedy}"), indent);
        }
    }

    fn steps(&mut self, steps: &[StepSummary]) {
        if steps.len() > 1 {
            self.section("Steps");
            self.rows(&tables::overview(steps));
        }
        for step in steps {
            self.step(step, steps.len() > 1);
        }
    }

    /// What the steps come to together; one by one they are hundreds, and for programs.
    fn together(&mut self, summary: &Summary) {
        self.sections(sections(summary));
    }

    fn sections(&mut self, all: Vec<Section>) {
        for Section { title, lines, plots: _, tables, folded: _, matrices } in all {
            self.section(&title);
            lines.iter().for_each(|line| self.paragraph(line, 2));
            let matrices = matrices.iter().map(|matrix| (matrix.caption.clone(), matrix.table()));
            for (caption, table) in matrices.chain(tables) {
                if table.rows.is_empty() {
                    continue;
                }
                self.line("");
                self.paragraph(&format!("{caption}:"), 2);
                self.rows(&table);
                if let Some(remark) = table.remark {
                    self.paragraph(remark, 2);
                }
            }
        }
    }

    fn step(&mut self, step: &StepSummary, is_one_of_several: bool) {
        let Totals { start_s, end_s, all: _, kinds: _ } = &step.total;
        let length = seconds(end_s - start_s);
        let title = format!("Step {}: measured for {length}", visible(&step.name));
        self.section(&title);
        if is_one_of_several {
            self.paragraph(&step_line(step), 2);
        }
        if let Some(until) = step.partial_until_s {
            self.paragraph(&format!("no end was stored: figures go up to second {until:.0}"), 2);
        }
        let shown = &step.streams[..step.streams.len().min(STREAMS_SHOWN)];
        if shown.len() < step.streams.len() {
            let rest = step.streams.len() - shown.len();
            self.paragraph(
                &format!("{} streams; the last {rest} are in JSON and CSV only", step.streams.len()),
                2,
            );
        }
        for stream in shown {
            let name = if shown.len() > 1 { format!("{}: ", visible(&stream.name)) } else { String::new() };
            self.paragraph(&format!("{name}{}", what(stream)), 2);
        }
        let parts = tables::parts(step, shown);
        let of_targets = tables::targets(step, shown);
        for table in [tables::rates(&parts), tables::latencies(&parts), of_targets, tables::queues(shown)] {
            self.table(&table);
        }
        answer::beside_operations(shown).iter().for_each(|line| self.paragraph(line, 2));
        for table in [tables::errors(&parts), tables::devices(&step.devices)] {
            self.table(&table);
        }
    }

    fn notes(&mut self, summary: &Summary) {
        if summary.notes.is_empty() {
            return;
        }
        self.section("Notes");
        for note in &summary.notes {
            let word = match note.severity.as_str() {
                "info" => String::new(),
                other => format!("{}: ", other.to_uppercase()),
            };
            self.paragraph(&format!("{word}{}", visible(&note.message)), 2);
        }
    }

    fn environment(&mut self, summary: &Summary) {
        self.section("Environment");
        answer::environment(summary).iter().for_each(|line| self.paragraph(line, 2));
    }
}
