//! Where words go: data to standard output, messages to standard error. A closed pipe is no fault of ours.

use std::io::{self, IsTerminal, Write};

/// Writes data. A reader that went away (a closed pipe) ends the output silently, as with any filter.
pub(crate) fn data(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a message for the user.
pub(crate) fn message(text: &str) {
    // There is nowhere left to say that standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes a message that brings its own end of line, or none.
pub(crate) fn message_part(text: &str) {
    let mut err = io::stderr().lock();
    // There is nowhere left to say that standard error is gone.
    let _ = write!(err, "{text}").and_then(|()| err.flush());
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

/// Columns of the terminal; 100 where there is none.
pub(crate) fn width() -> usize {
    let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { 100 } else { columns.clamp(60, 140) }
}
