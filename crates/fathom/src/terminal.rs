//! Where words go: data to standard output, messages to standard error. A closed pipe is no fault of ours.

use crate::diagnose::printable;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

/// Writes data. A reader that went away (a closed pipe) ends the output silently, as with any filter.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What came of writing data, as [`data`] takes it.
pub(crate) fn written(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a message for the user. What came from a name in it cannot steer the terminal.
pub(crate) fn message(text: &str) {
    styled(&text.lines().map(printable).collect::<Vec<_>>().join("\n"));
}

/// As [`message`], of a text that may have colours and was cleaned before it got them. At a terminal, lines are broken between words
/// where they would be within one.
pub(crate) fn styled(text: &str) {
    let mut err = io::stderr().lock();
    // There is nowhere left to say that standard error is gone.
    let _ = if err.is_terminal() {
        let width = width_of_messages();
        let lines: Vec<String> = text.lines().map(|line| folded(line, width)).collect();
        writeln!(err, "{}", lines.join("\n"))
    } else {
        writeln!(err, "{text}")
    };
}

/// A text for people on standard output: at a terminal, lines are broken between words where they would be within one.
pub(crate) fn page(text: &str) -> io::Result<()> {
    if !io::stdout().is_terminal() {
        return data(text);
    }
    let width = width();
    data(&text.lines().map(|line| folded(line, width) + "\n").collect::<String>())
}

/// What a remedy begins with.
const REMEDY: &str = "help: ";

/// The characters of a text that are seen, each once: without escape sequences.
fn seen(text: &str) -> String {
    let mut in_escape = false;
    let is_seen = |c: &char| {
        let was_in_escape = in_escape;
        in_escape = if in_escape { !c.is_ascii_alphabetic() } else { *c == '\u{1b}' };
        !was_in_escape && !in_escape
    };
    text.chars().filter(is_seen).collect()
}

/// A line broken at blanks so that no part is wider than `width`; a longer word stays whole. The parts that follow stand
/// where the words of a remedy (`= help: `) begin, else two further in than the line.
pub(crate) fn folded(line: &str, width: usize) -> String {
    let columns = |text: &str| seen(text).chars().count();
    if columns(line) <= width {
        return line.to_owned();
    }
    let shown = seen(line);
    let indent = shown.chars().take_while(|&c| c == ' ').count();
    let hang = shown.find(REMEDY).map_or(indent + 2, |at| shown[..at].chars().count() + REMEDY.len());
    let mut text = String::new();
    let mut column = 0;
    for word in line.split_inclusive(' ') {
        let wide = columns(word.trim_end_matches(' '));
        if column > hang && wide > 0 && column + wide > width {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
            text.push_str(&" ".repeat(hang));
            column = hang;
        }
        text.push_str(word);
        column += columns(word);
    }
    text
}

/// Whether somebody watches standard error.
pub(crate) fn shows_messages() -> bool {
    io::stderr().is_terminal()
}

/// Whether colours are wanted on standard error: a terminal, no `NO_COLOR`, not `TERM=dumb`.
pub(crate) fn colours_messages() -> bool {
    io::stderr().is_terminal() && colours_allowed()
}

/// Whether colours are wanted on standard output.
pub(crate) fn colours_data() -> bool {
    io::stdout().is_terminal() && colours_allowed()
}

fn colours_allowed() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether a person is there to be asked.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Columns of a text that goes to no terminal.
const WIDTH_ELSEWHERE: usize = 100;

/// Columns of the terminal that data goes to, at most what is still read easily; 100 where there is none.
pub(crate) fn width() -> usize {
    columns(io::stdout())
}

/// As [`width`], of messages.
pub(crate) fn width_of_messages() -> usize {
    columns(io::stderr())
}

fn columns(of: impl AsFd) -> usize {
    match rustix::termios::tcgetwinsize(of).map_or(0, |size| usize::from(size.ws_col)) {
        0 => WIDTH_ELSEWHERE,
        columns => columns.min(140),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        for (line, width, expect) in [
            ("one two", 7, "one two"),
            ("one two three", 8, "one two\n  three"),
            ("  = help: one two three", 18, "  = help: one two\n          three"),
            ("/a/path/without/blanks x", 10, "/a/path/without/blanks\n  x"),
            ("\u{1b}[1mone\u{1b}[0m two", 7, "\u{1b}[1mone\u{1b}[0m two"),
            ("\u{1b}[1mone two three\u{1b}[0m", 8, "\u{1b}[1mone two\n  three\u{1b}[0m"),
            (
                "\u{1b}[1m= \u{1b}[0m\u{1b}[1mhelp\u{1b}[0m: one two",
                11,
                "\u{1b}[1m= \u{1b}[0m\u{1b}[1mhelp\u{1b}[0m: one\n        two",
            ),
            ("    one two", 8, "    one\n      two"),
            ("", 4, ""),
        ] {
            assert_eq!(folded(line, width), expect);
        }
    }
}
