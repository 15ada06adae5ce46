//! Faults of a user's file: collected, never thrown; each with its place, reason and way out.

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The job runs; this may not be what was meant.
    Warning,
    /// The job does not run.
    Error,
}

/// A place in a source, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span {
    /// Index into [`Sources`].
    pub source: u32,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// One text that a job was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File name, or `command line`.
    pub name: String,
    /// The text.
    pub text: String,
}

/// All texts that a job was read from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    sources: Vec<Source>,
}

impl Sources {
    /// Adds a text and returns its index, for spans.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        self.sources.push(Source { name: name.into(), text: text.into() });
        u32::try_from(self.sources.len() - 1).expect("fewer than 2^32 sources")
    }

    /// All, in index order.
    pub fn all(&self) -> &[Source] {
        &self.sources
    }

    /// The source a span lies in.
    pub fn of(&self, span: Span) -> Option<&Source> {
        self.sources.get(span.source as usize)
    }

    /// Line and column of a span's start, both from 1; columns count characters.
    pub fn line_and_column(&self, span: Span) -> Option<(usize, usize)> {
        let text = &self.of(span)?.text;
        let before = text.get(..span.start.min(text.len()))?;
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Some((before.matches('\n').count() + 1, before[line_start..].chars().count() + 1))
    }
}

/// One fault of a user's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable, documented name, e.g. `fio.unknown-option`.
    pub code: &'static str,
    /// How much it matters.
    pub level: Level,
    /// Where; absent when it is about the job as a whole.
    pub span: Option<Span>,
    /// What is wrong: a lower-case fragment in present tense, with value and limit.
    pub message: String,
    /// The way out; empty when the message says it.
    pub help: String,
}

/// Diagnostics as they are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    found: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds an error.
    pub fn error(
        &mut self,
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Level::Error, span.into(), message.into(), help.into());
    }

    /// Adds a warning.
    pub fn warn(
        &mut self,
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, Level::Warning, span.into(), message.into(), help.into());
    }

    fn push(&mut self, code: &'static str, level: Level, span: Option<Span>, message: String, help: String) {
        self.found.push(Diagnostic { code, level, span, message, help });
    }

    /// Adds those of another collection.
    pub fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
    }

    /// Leaves those out that are not `wanted`.
    pub fn retain(&mut self, wanted: impl FnMut(&Diagnostic) -> bool) {
        self.found.retain(wanted);
    }

    /// Puts them in the order of their places; those of the whole job come last.
    pub fn sort_by_place(&mut self) {
        self.found.sort_by_key(|one| (one.span.is_none(), one.span));
    }

    /// True when the job cannot run.
    pub fn has_errors(&self) -> bool {
        self.found.iter().any(|d| d.level == Level::Error)
    }

    /// All, in the order found.
    pub fn all(&self) -> &[Diagnostic] {
        &self.found
    }

    /// True when nothing was found.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// The known name nearest to `unknown`, when it is near enough to be a slip: edit distance at most (length + 1) / 2,
/// as fio has it, and at most 4.
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = usize::midpoint(unknown.chars().count(), 1).min(4);
    known
        .into_iter()
        .map(|name| (edit_distance(unknown, name), name))
        .filter(|&(distance, _)| distance <= limit)
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Levenshtein distance in characters.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_slips_and_nothing_else() {
        let known = ["iodepth", "ioengine", "runtime"];
        for (unknown, expect) in [
            ("iodeph", Some("iodepth")),
            ("run_time", Some("runtime")),
            ("x", None),
            ("ioengin", Some("ioengine")),
        ] {
            assert_eq!(nearest(unknown, known), expect, "{unknown}");
        }
    }

    #[test]
    fn line_and_column_count_from_one() {
        let mut sources = Sources::default();
        let source = sources.add("a", "x\nµ=1\n");
        assert_eq!(sources.line_and_column(Span { source, start: 2, end: 3 }), Some((2, 1)));
        assert_eq!(sources.line_and_column(Span { source, start: 4, end: 5 }), Some((2, 2)));
    }
}
