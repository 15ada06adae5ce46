//! The summary as Markdown (GitHub's, for its tables): for tickets and wikis. Owns what has to be escaped there; words and
//! tables are those of the text report.

use crate::answer::{self, headline, step_line, what};
use crate::compare::{self, Sides};
use crate::history::Followed;
use crate::html::mapped;
use crate::resolved;
use crate::section::{Section, sections};
use crate::table::visible;
use crate::tables::{self, STREAMS_SHOWN, Table, seconds};
use crate::view::{FindingSummary, StepSummary, Summary};
use std::fmt::Write as _;

/// The report as Markdown.
pub fn markdown(summary: &Summary) -> String {
    let mut page = Page { out: String::new() };
    page.line(&format!("# {}", text(&summary.title)));
    page.line(&format!("**{}**", text(&headline(summary))));
    page.line(&text(&answer::circumstances(summary)));
    if let Some(description) = &summary.description {
        page.line(&text(description));
    }
    page.validity(summary);
    page.together(summary);
    if summary.shows_steps() {
        page.steps(&summary.steps);
    }
    page.job(summary);
    if !summary.notes.is_empty() {
        page.line("## Notes");
        page.list(summary.notes.iter().map(|note| match note.severity.as_str() {
            "info" => text(&note.message),
            other => format!("**{}** {}", other.to_uppercase(), text(&note.message)),
        }));
    }
    page.line("## Environment");
    page.list(answer::environment(summary).iter().map(|line| text(line)));
    page.line("## How to repeat it");
    let command: Vec<String> = summary.command.iter().map(|word| answer::quoted(word)).collect();
    page.fenced(&command.join(" "));
    for source in &summary.sources {
        page.line(&match source.maps.as_slice() {
            [] => format!("Job {}:", text(&source.name)),
            maps => format!("Job {} with {}:", text(&source.name), text(&mapped(maps))),
        });
        page.fenced(&source.text);
    }
    page.out
}

/// Sides of runs held against each other, as Markdown; `None` where one has no step in common with the first.
pub fn compare_markdown(sides: &Sides<'_>) -> Option<String> {
    let (sentence, sections) = compare::sections(sides)?;
    let mut page = Page { out: String::new() };
    page.line("# Comparison");
    page.line(&format!("**{}**", text(&sentence)));
    page.line(&format!("change that matters: {}", text(&sides.margin.to_string())));
    page.sections(sections);
    Some(page.out)
}

/// One job over many runs, as Markdown.
pub fn history_markdown(course: &Followed<'_>) -> String {
    let mut page = Page { out: String::new() };
    page.line(&format!("# {}", text(&course.runs[0].started.title)));
    page.line(&format!("**{}**", text(&course.sentence())));
    page.sections(course.sections());
    page.out
}

struct Page {
    out: String,
}

impl Page {
    /// A paragraph or heading, with a blank line before it.
    fn line(&mut self, line: &str) {
        let gap = if self.out.is_empty() { "" } else { "\n" };
        writeln!(self.out, "{gap}{line}").expect("a string takes everything");
    }

    fn list(&mut self, items: impl Iterator<Item = String>) {
        let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
        self.line(&items.join("\n"));
    }

    fn validity(&mut self, summary: &Summary) {
        let findings = &summary.validity;
        self.line("## Can it be trusted?");
        if findings.is_empty() {
            self.line(summary.nothing_found());
            return;
        }
        self.list(findings.iter().map(|FindingSummary { id, severity, evidence, remedy }| {
            format!("**{}** `{id}`: {} → {}", severity.to_uppercase(), text(evidence), text(remedy))
        }));
    }

    fn steps(&mut self, steps: &[StepSummary]) {
        if steps.len() > 1 {
            self.line("## Steps");
            self.table(&tables::overview(steps));
        }
        for step in steps {
            self.step(step, steps.len() > 1);
        }
    }

    /// What the steps come to together, in their place.
    fn together(&mut self, summary: &Summary) {
        self.sections(sections(summary));
    }

    fn sections(&mut self, sections: Vec<Section>) {
        for Section { title, lines, plots: _, tables, folded: _, matrices } in sections {
            self.line(&format!("## {}", text(&title)));
            if !lines.is_empty() {
                self.list(lines.iter().map(|line| text(line)));
            }
            let matrices = matrices.iter().map(|matrix| (matrix.caption.clone(), matrix.table()));
            for (caption, table) in matrices.chain(tables) {
                if !table.rows.is_empty() {
                    self.line(&format!("{}:", text(&caption)));
                    self.table(&table);
                }
            }
        }
    }

    fn step(&mut self, step: &StepSummary, is_one_of_several: bool) {
        let length = seconds(step.total.end_s - step.total.start_s);
        self.line(&format!("## Step {}: measured for {length}", text(&step.name)));
        if is_one_of_several {
            self.line(&text(&step_line(step)));
        }
        if let Some(until) = step.partial_until_s {
            self.line(&format!("No end was stored: figures go up to second {until:.0}."));
        }
        let shown = &step.streams[..step.streams.len().min(STREAMS_SHOWN)];
        let left_out = step.streams.len() - shown.len();
        let rest = (left_out > 0).then(|| format!("and {left_out} more, which JSON and CSV have"));
        let streams = shown.iter().map(|stream| format!("{}: {}", text(&stream.name), text(&what(stream))));
        self.list(streams.chain(rest));
        let parts = tables::parts(step, shown);
        self.table(&tables::rates(&parts));
        self.table(&tables::latencies(&parts));
        self.table(&tables::targets(step, shown));
        self.table(&tables::queues(shown));
        answer::beside_operations(shown).iter().for_each(|line| self.line(&text(line)));
        self.table(&tables::errors(&parts));
        self.table(&tables::devices(&step.devices));
    }

    /// The first step that measured something, as it ran.
    fn job(&mut self, summary: &Summary) {
        let Some(step) = resolved::first(summary) else { return };
        self.line("## Resolved job");
        if summary.steps.len() > 1 {
            let elsewhere = resolved::elsewhere(summary);
            self.line(&text(&format!("Of {}, one of {} steps. {elsewhere}", step.name, summary.steps.len())));
        }
        let (resolved, is_cut) = resolved::text(step);
        self.fenced(&resolved);
        if is_cut {
            self.line(resolved::CUT);
        }
    }

    fn table(&mut self, table: &Table) {
        let filled = table.filled();
        if table.rows.is_empty() {
            return;
        }
        let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
        let rule = |&at: &usize| if table.columns[at].right { "--:" } else { "--" }.to_owned();
        let mut lines = vec![
            line(filled.iter().map(|&at| table.columns[at].title.to_string()).collect()),
            line(filled.iter().map(rule).collect()),
        ];
        lines.extend(table.rows.iter().map(|row| line(filled.iter().map(|&at| text(&row[at])).collect())));
        self.line(&lines.join("\n"));
        if let Some(remark) = table.remark {
            self.line(&text(remark));
        }
    }

    /// A block of text as it is. The fence is longer than any row of back-ticks in it (`CommonMark` 4.5).
    fn fenced(&mut self, content: &str) {
        let longest = content.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat((longest + 1).max(3));
        let lines: Vec<String> = content
            .trim_end()
            .split('\n')
            .map(|line| line.split('\t').map(visible).collect::<Vec<_>>().join("\t"))
            .collect();
        self.line(&format!("{fence}\n{}\n{fence}", lines.join("\n")));
    }
}

/// Text in which nothing is markup: every sign that could begin some is escaped (`CommonMark` 2.4).
fn text(plain: &str) -> String {
    let mut out = String::new();
    for c in visible(plain).chars() {
        if "\\`*_{}[]<>#|~!&@".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    // What begins a line could still be a list, a rule or a heading.
    match out.chars().next() {
        Some('-' | '+' | '=') => format!("\\{out}"),
        _ => out,
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn no_name_is_markup() {
        for (name, expect) in [
            ("a_b*c", "a\\_b\\*c"),
            ("<script>alert(1)</script>", "\\<script\\>alert(1)\\</script\\>"),
            ("[x](javascript:y)", "\\[x\\](javascript:y)"),
            ("a|b", "a\\|b"),
            ("- x", "\\- x"),
            ("a\nb", "a\\\\u\\{a\\}b"),
            ("70 % read", "70 % read"),
        ] {
            assert_eq!(text(name), expect);
        }
    }
}
