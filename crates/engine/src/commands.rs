//! Commands that a job has a shell run beside the load. That it may has been judged before; what they do is theirs.

use fathom_io::clock::{monotonic, sleep_until};
use fathom_schema::ShellCommand;
use fathom_units::Nanos;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

/// How often is looked whether a command has ended, or the run is to.
const LOOK_EVERY: Nanos = Nanos::millis(10);

/// Waits for `until`; false when the stream was stopped before.
pub(crate) fn wait(until: Nanos, stop: &AtomicBool) -> bool {
    while monotonic() < until && !stop.load(Ordering::Relaxed) {
        sleep_until(until.min(monotonic().after(LOOK_EVERY)));
    }
    !stop.load(Ordering::Relaxed)
}

/// How a command ended.
pub(crate) enum End {
    /// As it should.
    Well,
    /// With a status other than 0; in words.
    Badly(String),
    /// It was ended with all that it had started, since a stop was asked for.
    Stopped,
}

/// Runs a command to its end, or until `stop` has been raised for `grace` while it ran. What it prints goes to its file,
/// which is never a link: it was looked at before the run.
pub(crate) fn run(command: &ShellCommand, stop: &AtomicBool, grace: Nanos) -> Result<End, String> {
    let ShellCommand { line, output } = command;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = open(output, flags, Mode::from_bits_truncate(0o644)).map(File::from);
    let file = file.map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    let fails = |error: std::io::Error| format!("cannot run the command \"{line}\": {error}");
    let start = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(line).stdin(Stdio::null()).stdout(file.try_clone()?);
        // A group of its own, so that all that it started can be ended with it.
        command.stderr(file.try_clone()?).process_group(0).spawn()
    };
    // A second signal ends fathom at once, and then the shell, which no signal of the terminal reaches. Asked for by a program
    // in between and not by this process, which would have to be copied for that, memory of other workers' I/O and all.
    let mut child = match start(&["setpriv", "--pdeathsig", "KILL", "--", "sh", "-c"]) {
        Err(error) if error.kind() == ErrorKind::NotFound => start(&["sh", "-c"]).map_err(fails)?,
        started => started.map_err(fails)?,
    };
    let mut stopped_at = None;
    loop {
        if let Some(status) = child.try_wait().map_err(fails)? {
            let output = output.display();
            return Ok(if status.success() {
                End::Well
            } else {
                End::Badly(format!("the command \"{line}\" ended with {status}; what it said is in {output}"))
            });
        }
        let is_over = stop.load(Ordering::Relaxed) && {
            let now = monotonic();
            now.since(*stopped_at.get_or_insert(now)) >= grace
        };
        if is_over {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            if let Some(group) = group {
                // It may just have ended by itself.
                let _ = kill_process_group(group, Signal::KILL);
            }
            child.wait().map_err(fails)?;
            return Ok(End::Stopped);
        }
        sleep_until(monotonic().after(LOOK_EVERY));
    }
}
