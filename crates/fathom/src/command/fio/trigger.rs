//! `--trigger-timeout`, `--trigger-file`, `--trigger`: ends the jobs at a time or when a file is there, and then runs a
//! command. Knows when; how a run ends is the run's.

use crate::{diagnose, terminal};
use fathom_frontend::fio::Trigger as Wanted;
use fathom_run::{Sink, SinkError, Stop};
use fathom_schema::{Event, Interval};
use fathom_units::Nanos;
use std::path::Path;
use std::process::Command;

/// Listens to a run until it is time to end it.
pub(super) struct Trigger<'a> {
    wanted: &'a Wanted,
    stop: Stop,
    /// When the first run began and when the current step did, milliseconds since 1970.
    run_ms: Option<u64>,
    step_ms: u64,
    /// Step's start and number of the interval at which was last looked.
    looked_at: Option<(u64, u64)>,
    is_pulled: bool,
}

impl<'a> Trigger<'a> {
    pub(super) fn new(wanted: &'a Wanted, stop: Stop) -> Self {
        Self { wanted, stop, run_ms: None, step_ms: 0, looked_at: None, is_pulled: false }
    }

    /// Whether it has ended the jobs.
    pub(super) fn is_pulled(&self) -> bool {
        self.is_pulled
    }

    /// Runs the command, if it has ended the jobs and there is one, to its end.
    pub(super) fn run_command(&self) {
        let Some(line) = self.wanted.command.as_ref().filter(|_| self.is_pulled) else { return };
        let failed = match Command::new("sh").arg("-c").arg(line).status() {
            Ok(status) if status.success() => return,
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("cannot be run: {error}"),
        };
        let text = format!("warning: the command of --trigger, \"{line}\", {failed}");
        terminal::message(&diagnose::printable(&text));
    }

    fn look(&mut self, interval: &Interval) {
        let Wanted { file, after_us, command: _ } = self.wanted;
        let now = Some((self.step_ms, interval.sequence));
        if self.is_pulled || self.looked_at == now {
            return;
        }
        self.looked_at = now;
        let before = Nanos::millis(self.step_ms.saturating_sub(self.run_ms.unwrap_or(self.step_ms)));
        let is_late = *after_us > 0 && before.after(interval.end) >= Nanos::micros(*after_us);
        if is_late || file.as_ref().is_some_and(|file| is_taken_away(file)) {
            self.is_pulled = true;
            self.stop.raise();
        }
    }
}

/// Whether the file is there; as with fio it is gone then.
fn is_taken_away(file: &str) -> bool {
    let path = Path::new(file);
    path.symlink_metadata().is_ok_and(|meta| meta.is_file()) && std::fs::remove_file(path).is_ok()
}

impl Sink for Trigger<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::RunStarted(started) => {
                self.run_ms.get_or_insert(started.wall_ms);
            }
            Event::StepStarted(started) => self.step_ms = started.wall_ms,
            Event::Interval(interval) => self.look(interval),
            _ => {}
        }
        Ok(())
    }
}
