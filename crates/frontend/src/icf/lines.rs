//! The lines of an Iometer configuration and how numbers and words are taken out of them, after Iometer's own reader
//! (`ICF_ifstream.cpp` of 1.1.0). Knows keys and values; what they mean is behind it.

use fathom_model::Span;

/// One line without the blanks around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The text between the blanks.
    pub text: &'a str,
    /// Where that is.
    pub span: Span,
    /// Whether the line begins with `'` in its first column, blanks not skipped.
    is_flush: bool,
}

impl Line<'_> {
    /// Whether it is a key, which selects what the next line means. Iometer wants the `'` in the first column; files made
    /// by hand indent it, and then it counts where the words are those of a key, or of a hint to one (`'` and blanks).
    pub(super) fn is_key(&self) -> bool {
        let is_hint = |text: &str| text.starts_with([' ', '\t']);
        self.is_flush || self.text.strip_prefix('\'').is_some_and(is_hint) || is_known(self.text)
    }

    /// Whether nothing stands on it.
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether it is the key `words` (with their `'`), whatever the case and the blanks after commas.
    pub(super) fn is(&self, words: &str) -> bool {
        normal(self.text) == normal(words)
    }

    /// Whether it begins with `words`, whatever the case.
    pub(super) fn begins(&self, words: &str) -> bool {
        begins(self.text, words)
    }
}

/// Whether `text` begins with `words`, whatever the case.
pub(super) fn begins(text: &str, words: &str) -> bool {
    text.get(..words.len()).is_some_and(|start| start.eq_ignore_ascii_case(words))
}

fn normal(text: &str) -> String {
    let parts: Vec<String> = text
        .split(',')
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase())
        .collect();
    parts.join(",")
}

/// Beginnings of all keys, for telling an indented key from a value that begins with an apostrophe, and for seeing that a
/// value is missing.
const KNOWN: [&str; 36] = [
    "'TEST SETUP",
    "'Test Description",
    "'Run Time",
    "'Ramp Up Time",
    "'Default Disk Workers to Spawn",
    "'Default Network Workers to Spawn",
    "'Default Workers to Spawn",
    "'Record Results",
    "'Worker Cycling",
    "'Disk Cycling",
    "'Queue Depth Cycling",
    "'Test Type",
    "'END ",
    "'RESULTS DISPLAY",
    "'Update Frequency,",
    "'Record Last Update Results,",
    "'Bar chart ",
    "'ACCESS SPECIFICATIONS",
    "'Access specification name,",
    "'size,",
    "'MANAGER LIST",
    "'Manager ID,",
    "'Manager network address",
    "'Worker type",
    "'Worker",
    "'Default target settings for worker",
    "'Number of outstanding IOs,",
    "'Disk maximum size,",
    "'Local network interface",
    "'VI outstanding IOs",
    "'Assigned access specs",
    "'Target assignments",
    "'Target type",
    "'Target manager ID,",
    "'Target",
    "'Version",
];

/// Whether `text` begins like a key that Iometer writes.
pub(super) fn is_known(text: &str) -> bool {
    KNOWN.iter().any(|known| begins(text, known))
}

/// A key with its value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    pub key: Line<'a>,
    /// The line after it; of no width where there is none to take.
    pub value: Line<'a>,
    /// A known key that stands where the value was due and was passed over like a comment, as Iometer does.
    pub passed_over: Option<Line<'a>>,
}

/// Why there is no pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPair<'a> {
    /// The text ends here.
    End,
    /// Something that is no key stands there.
    NoKey(Line<'a>),
}

/// The lines of one text, gone through from a place on.
#[derive(Debug, Clone)]
pub(super) struct Lines<'a> {
    lines: Vec<Line<'a>>,
    next: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn of(source: u32, text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        // A byte order mark is no part of the first line.
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        start += text.len() - body.len();
        for raw in body.split_inclusive('\n') {
            let trimmed = raw.trim();
            let at = start + raw.len() - raw.trim_start().len();
            let span = Span { source, start: at, end: at + trimmed.len() };
            lines.push(Line { text: trimmed, span, is_flush: raw.starts_with('\'') });
            start += raw.len();
        }
        Self { lines, next: 0 }
    }

    /// Goes to the line after the first that begins with `head`, from the start of the text; false where there is none.
    pub(super) fn skip_to(&mut self, head: &str) -> bool {
        match self.lines.iter().position(|line| line.begins(head)) {
            Some(at) => {
                self.next = at + 1;
                true
            }
            None => false,
        }
    }

    /// The next line that is not blank, without taking it.
    pub(super) fn peek(&mut self) -> Option<Line<'a>> {
        while self.lines.get(self.next).is_some_and(Line::is_blank) {
            self.next += 1;
        }
        self.lines.get(self.next).copied()
    }

    /// The next line that is not blank.
    pub(super) fn take(&mut self) -> Option<Line<'a>> {
        let line = self.peek()?;
        self.next += 1;
        Some(line)
    }

    /// The next line, blank or not: where a value may be empty.
    fn take_raw(&mut self) -> Option<Line<'a>> {
        let line = self.lines.get(self.next).copied()?;
        self.next += 1;
        Some(line)
    }

    /// The next line, which has to hold a value; blank lines count as empty ones.
    pub(super) fn take_value(&mut self) -> Option<Line<'a>> {
        self.take_raw()
    }

    /// A key and its value: the key's line, then, past further lines with `'`, the line of data. An end has no value, and
    /// one that stands where the value was due leaves it empty and is taken next.
    pub(super) fn pair(&mut self) -> Result<Pair<'a>, NoPair<'a>> {
        let key = self.take().ok_or(NoPair::End)?;
        if !key.is_key() {
            return Err(NoPair::NoKey(key));
        }
        let empty = Line { text: "", span: Span { start: key.span.end, ..key.span }, is_flush: false };
        let is_end = |line: &Line<'_>| line.begins("'End") || line.begins("'Version");
        let mut passed_over = None;
        if is_end(&key) {
            return Ok(Pair { key, value: empty, passed_over });
        }
        while let Some(line) = self.lines.get(self.next).copied().filter(Line::is_key) {
            if is_end(&line) {
                return Ok(Pair { key, value: empty, passed_over });
            }
            if passed_over.is_none() && is_known(line.text) {
                passed_over = Some(line);
            }
            self.next += 1;
        }
        let value = self.take_raw().unwrap_or(empty);
        Ok(Pair { key, value, passed_over })
    }

    /// Where the text ends, for complaints that something is missing there: its last line that is not blank.
    pub(super) fn end(&self) -> Span {
        let last = self.lines.iter().rev().find(|line| !line.is_blank());
        last.map_or_else(Span::default, |line| line.span)
    }

    /// How many lines were gone through.
    pub(super) fn position(&self) -> usize {
        self.next
    }

    /// All lines with their index.
    pub(super) fn all(&self) -> impl Iterator<Item = (usize, &Line<'a>)> {
        self.lines.iter().enumerate()
    }
}

/// What is left of a value while numbers and words are taken out of it from the left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest<'a>(pub &'a str);

impl<'a> Rest<'a> {
    /// The first whole number, whatever stands before it, and one comma after it. `None` where there is none, or one too
    /// large for what Iometer keeps.
    pub(super) fn number(&mut self) -> Option<i64> {
        let is_digit = |c: char| c.is_ascii_digit() || c == '-';
        let from = self.0.find(is_digit)?;
        let digits = &self.0[from..];
        let digits = &digits[..digits.find(|c| !is_digit(c)).unwrap_or(digits.len())];
        let number = digits.parse().ok()?;
        self.pass(from + digits.len());
        Some(number)
    }

    /// As [`Rest::number`], for what may need all of 64 bits.
    pub(super) fn long(&mut self) -> Option<u64> {
        let from = self.0.find(|c: char| c.is_ascii_digit() || c == '-')?;
        let digits = &self.0[from..];
        let digits =
            &digits[..digits.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(digits.len())];
        let number = digits.parse().ok()?;
        self.pass(from + digits.len());
        Some(number)
    }

    /// The next word: up to a comma, a bar or a blank; empty where nothing is left.
    pub(super) fn word(&mut self) -> &'a str {
        let is_part = |c: char| c != ',' && c != '|' && !c.is_whitespace();
        let Some(from) = self.0.find(is_part) else { return "" };
        let word = &self.0[from..];
        let word = &word[..word.find(|c| !is_part(c)).unwrap_or(word.len())];
        self.0 = self.0[from + word.len()..].trim();
        word
    }

    fn pass(&mut self, bytes: usize) {
        let rest = self.0[bytes..].trim_start();
        self.0 = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_come_out_as_from_iometer() {
        let mut rest = Rest("  1,2 3\tLINEAR");
        assert_eq!((rest.number(), rest.number(), rest.number()), (Some(1), Some(2), Some(3)));
        assert_eq!((rest.word(), rest.word()), ("LINEAR", ""));
        assert_eq!(Rest("abc").number(), None);
        assert_eq!(Rest("x=-5,").number(), Some(-5));
        assert_eq!(Rest("5-3").number(), None, "a minus within a number");
        assert_eq!(Rest("18446744073709551615").long(), Some(u64::MAX));
        assert_eq!(Rest("DISABLED,1").word(), "DISABLED");
    }

    #[test]
    fn a_pair_passes_over_headers_and_stops_at_ends() {
        let text = "'Run Time\n  '\thours minutes\n\t0 0 3\n\n  'Worker type\nDISK\n'Worker\n'End worker\n";
        let mut lines = Lines::of(0, text);
        let pair = lines.pair().unwrap();
        assert_eq!((pair.key.text, pair.value.text), ("'Run Time", "0 0 3"));
        let pair = lines.pair().unwrap();
        assert_eq!((pair.key.text, pair.value.text), ("'Worker type", "DISK"), "an indented key counts");
        let pair = lines.pair().unwrap();
        assert_eq!((pair.key.text, pair.value.text), ("'Worker", ""));
        assert_eq!(lines.pair().unwrap().key.text, "'End worker");
        assert_eq!(lines.pair().unwrap_err(), NoPair::End);
    }

    #[test]
    fn places_are_those_of_the_text_without_blanks() {
        let text = "\u{feff}Version 1\r\n\t a,b \r\n";
        let lines: Vec<_> =
            Lines::of(0, text).all().map(|(_, line)| (line.span.start, line.span.end)).collect();
        assert_eq!(lines, [(3, 12), (16, 19)]);
        assert_eq!(&text[16..19], "a,b");
    }
}
