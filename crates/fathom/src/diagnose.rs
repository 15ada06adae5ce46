//! Diagnostics as people and programs read them: the source line, a caret, the reason, the way out; or JSON.

use annotate_snippets::{AnnotationKind, Group, Level as Severity, Renderer, Snippet};
use fathom_model::{Diagnostic, Diagnostics, Level, Sources};
use serde_json::json;
use std::collections::BTreeMap;

/// Faults of one kind that are shown in full; of further ones only the lines are said. Enough to see what the slip is.
const SHOWN_OF_A_KIND: usize = 5;

/// Lines listed of faults that are not shown.
const LINES_LISTED: usize = 10;

/// For a terminal of `width` columns: one after another, of each kind the first few, then where the others are.
pub(crate) fn render(diagnostics: &Diagnostics, sources: &Sources, colour: bool, width: usize) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() }.term_width(width);
    let mut text = String::new();
    let mut of_kind: BTreeMap<&str, usize> = BTreeMap::new();
    let mut left_out: Vec<(&str, Vec<&Diagnostic>)> = Vec::new();
    for diagnostic in diagnostics.all() {
        let seen = of_kind.entry(diagnostic.code).or_default();
        *seen += 1;
        if *seen > SHOWN_OF_A_KIND {
            match left_out.iter_mut().find(|(code, _)| *code == diagnostic.code) {
                Some((_, more)) => more.push(diagnostic),
                None => left_out.push((diagnostic.code, vec![diagnostic])),
            }
            continue;
        }
        let cleaned = Cleaned::of(diagnostic, sources);
        text += &renderer.render(&[cleaned.group(diagnostic)]);
        text.push('\n');
    }
    for (code, more) in left_out {
        // No more than are told are looked for: each takes a walk through the text.
        let mut lines: Vec<usize> = Vec::new();
        for (line, _) in more.iter().filter_map(|one| sources.line_and_column(one.span?)) {
            if lines.last() != Some(&line) {
                lines.push(line);
            }
            if lines.len() > LINES_LISTED {
                break;
            }
        }
        let shown: Vec<String> = lines.iter().take(LINES_LISTED).map(usize::to_string).collect();
        let lines = match (shown.len(), lines.len() - shown.len()) {
            (0, _) => String::new(),
            (1, 0) => format!(", on line {}", shown[0]),
            (_, 0) => format!(", on lines {}", shown.join(", ")),
            (_, _) => format!(", on lines {} …", shown.join(", ")),
        };
        text += &format!("… and {} more of {code}{lines}\n", more.len());
    }
    text
}

/// The warnings among them, each as one line with place, reason, way out and code, for outputs that consist of lines.
pub(crate) fn warning_lines(diagnostics: &Diagnostics, sources: &Sources) -> Vec<String> {
    let warnings = diagnostics.all().iter().filter(|diagnostic| diagnostic.level == Level::Warning);
    let line = |Diagnostic { code, level: _, span, message, help }: &Diagnostic| {
        let place = span.and_then(|span| Some((sources.of(span)?, sources.line_and_column(span)?.0)));
        let place = match place {
            // There the option that the message names is place enough.
            None => String::new(),
            Some((source, _)) if source.name == COMMAND_LINE => String::new(),
            Some((source, line)) => format!("{}:{line}: ", source.name),
        };
        let help = if help.is_empty() { String::new() } else { format!("; {help}") };
        shortened(&format!("{place}{message}{help} [{code}]"))
    };
    warnings.map(line).collect()
}

/// Name of the source that no file is.
pub(crate) const COMMAND_LINE: &str = "command line";

/// All of them as a JSON array.
pub(crate) fn as_json(diagnostics: &Diagnostics, sources: &Sources) -> serde_json::Value {
    diagnostics
        .all()
        .iter()
        .map(|Diagnostic { code, level, span, message, help }| {
            let place = span.and_then(|span| sources.line_and_column(span));
            json!({
                "code": code,
                "severity": match level { Level::Error => "error", Level::Warning => "warning" },
                "file": span.and_then(|span| sources.of(span)).map(|source| &source.name),
                "line": place.map(|(line, _)| line),
                "column": place.map(|(_, column)| column),
                "message": message,
                "help": help,
            })
        })
        .collect()
}

/// Longest piece of a line shown on either side of the place: a garbage file may be one line of a megabyte.
const CONTEXT_BYTES: usize = 120;

/// Longest message: a name that it quotes may be a megabyte too.
const MESSAGE_BYTES: usize = 600;

/// A diagnostic's texts, fit for a terminal: no control characters, no endless lines.
struct Cleaned {
    message: String,
    help: String,
    /// File name, number of the line, the line, and the place within it.
    place: Option<(String, usize, String, std::ops::Range<usize>)>,
}

impl Cleaned {
    fn of(diagnostic: &Diagnostic, sources: &Sources) -> Self {
        let place = diagnostic.span.and_then(|span| {
            let source = sources.of(span)?;
            let (number, _) = sources.line_and_column(span)?;
            // A place may begin or end inside of a character; what is pointed at are whole ones.
            let start = boundary(&source.text, span.start);
            let line_start = source.text[..start].rfind('\n').map_or(0, |at| at + 1);
            let line_end = source.text[start..].find('\n').map_or(source.text.len(), |at| start + at);
            // The first half of a line end from Windows is no part of the line.
            let line_end = if source.text[start..line_end].ends_with('\r') { line_end - 1 } else { line_end };
            let from = boundary(&source.text, line_start.max(start.saturating_sub(CONTEXT_BYTES)));
            let end = span.end.clamp(start, line_end);
            let to = boundary(&source.text, line_end.min(end.min(start + CONTEXT_BYTES) + CONTEXT_BYTES));
            let line = printable(&source.text[from..to]);
            let end = boundary(&source.text, end.min(to)).max(start);
            let head = printable(&source.text[from..start]).len();
            let width = match printable(&source.text[start..end]).len() {
                0 => line[head..].chars().next().map_or(0, char::len_utf8),
                width => width,
            };
            let range = head..head + width;
            Some((printable(&source.name), number, line, range))
        });
        Self { message: shortened(&diagnostic.message), help: shortened(&diagnostic.help), place }
    }

    fn group<'a>(&'a self, diagnostic: &'a Diagnostic) -> Group<'a> {
        let severity = match diagnostic.level {
            Level::Error => Severity::ERROR,
            Level::Warning => Severity::WARNING,
        };
        let mut group = Group::with_title(severity.primary_title(&self.message).id(diagnostic.code));
        if let Some((name, number, line, range)) = &self.place {
            let place = AnnotationKind::Primary.span(range.clone());
            group = group.element(Snippet::source(line).line_start(*number).path(name).annotation(place));
        }
        if self.help.is_empty() { group } else { group.element(Severity::HELP.message(&self.help)) }
    }
}

/// The nearest character boundary at or below `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A message as [`printable`], cut where it is far too long.
fn shortened(text: &str) -> String {
    if text.len() <= MESSAGE_BYTES {
        return printable(text);
    }
    let half = MESSAGE_BYTES / 2;
    let tail = boundary(text, text.len() - half);
    format!("{} … {}", printable(&text[..boundary(text, half)]), printable(&text[tail..]))
}

/// `text` with control characters replaced, and those that turn the direction of what is written, so that a file cannot steer the
/// terminal it is complained about on.
pub(crate) fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if c.is_control() && c != '\t' || turns(c) { '\u{FFFD}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::Span;

    fn rendered(text: &str, start: usize, end: usize) -> String {
        let mut sources = Sources::default();
        let source = sources.add("job.fio", text);
        let mut found = Diagnostics::default();
        found.error("x.y", Span { source, start, end }, "it is wrong", "make it right");
        render(&found, &sources, false, 100)
    }

    #[test]
    fn the_line_the_caret_the_reason_and_the_way_out_are_shown() {
        let text = rendered("[a]\nbs=4k\nsize=x\n", 15, 16);
        for part in ["error[x.y]: it is wrong", "job.fio:3", "size=x", "^", "help: make it right"] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn warnings_are_lines_with_place_reason_way_out_and_code() {
        let mut sources = Sources::default();
        let [line, file] = ["command line", "job.fio"].map(|name| sources.add(name, "[a]\nbs=4k\n"));
        let mut found = Diagnostics::default();
        for source in [line, file] {
            found.warn("x.y", Span { source, start: 4, end: 6 }, "it is odd", "make it even");
        }
        found.error("x.z", None, "it is wrong", "");
        found.warn("a.b", None, "odd\u{1b}", "");
        let expect = [
            "it is odd; make it even [x.y]",
            "job.fio:2: it is odd; make it even [x.y]",
            "odd\u{FFFD} [a.b]",
        ];
        assert_eq!(warning_lines(&found, &sources), expect);
    }

    #[test]
    fn of_many_faults_of_a_kind_the_first_are_shown_and_the_others_placed() {
        let text = "x\n".repeat(40);
        let shown = |faults: usize| {
            let mut sources = Sources::default();
            let source = sources.add("job.fio", &text);
            let mut found = Diagnostics::default();
            for at in 0..faults {
                found.error("x.y", Span { source, start: at * 2, end: at * 2 + 1 }, "it is wrong", "");
            }
            found.error("a.b", None, "another", "");
            let text = render(&found, &sources, false, 100);
            let lines: Vec<&str> = text.lines().filter(|line| line.contains("more of")).collect();
            assert_eq!(text.matches("another").count(), 1, "{text}");
            (text.matches("it is wrong").count(), lines.join("\n"))
        };
        assert_eq!(shown(5), (5, String::new()));
        assert_eq!(shown(6), (5, "… and 1 more of x.y, on line 6".to_owned()));
        assert_eq!(shown(8), (5, "… and 3 more of x.y, on lines 6, 7, 8".to_owned()));
        let many = "… and 35 more of x.y, on lines 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 …".to_owned();
        assert_eq!(shown(40), (5, many));
    }

    #[test]
    fn any_place_in_any_text_can_be_shown() {
        let garbage = "\u{1b}[31mµ".repeat(1000);
        let ends = [(0, garbage.len()), (garbage.len(), garbage.len() + 10)];
        // Every byte of a piece, between characters and within them, with no width, one byte and more.
        let within = (0..14).flat_map(|start| [0, 1, 2, 5].map(|width| (start, start + width)));
        for (start, end) in ends.into_iter().chain(within) {
            let text = rendered(&garbage, start, end);
            assert!(!text.contains('\u{1b}'));
            assert!(text.len() < 3000);
        }
    }
}
