//! A program as an operation: begun where the operation is pushed, over when the program has ended. Nothing is moved.
//!
//! That it may be run has been judged before; what it does is its own.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait};
use crate::clock::{monotonic, sleep_until};
use fathom_schema::{EngineKind, ProgramRun};
use fathom_units::Nanos;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// How often is looked whether the program has ended.
const LOOK_EVERY: Nanos = Nanos::millis(10);
/// Looks before a call comes back, so that whoever waits can be stopped.
const LOOKS: u32 = 10;

/// Runs a program once per operation.
#[derive(Debug)]
pub struct Program {
    run: ProgramRun,
    child: Option<Child>,
    /// How it ended, where that was not well.
    failure: Option<String>,
    done: Completion,
    waiting: bool,
}

impl Program {
    /// One that runs this.
    pub fn new(run: ProgramRun) -> Self {
        Self { run, child: None, failure: None, done: Completion::default(), waiting: false }
    }

    fn start(&self) -> io::Result<Child> {
        let ProgramRun { words, output, grace: _ } = &self.run;
        let file = |path: &Path| -> io::Result<File> {
            // Never through a link: where it leads has not been looked at.
            let mut options = OpenOptions::new();
            options
                .write(true)
                .create(true)
                .truncate(true)
                .custom_flags(libc::O_NOFOLLOW)
                .mode(0o644)
                .open(path)
        };
        let (stdout, stderr) = match output {
            Some((stdout, stderr)) => (file(stdout)?.into(), file(stderr)?.into()),
            // What fathom itself prints there is data.
            None => (Stdio::from(io::stderr()), Stdio::inherit()),
        };
        let (program, arguments) = words.split_first().expect("the planner gives a program");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        // A group of its own, so that all that it starts can be ended with it, and a signal for fathom is not for it.
        command.process_group(0).spawn()
    }

    fn perform(&mut self) -> i32 {
        if self.child.is_none() {
            match self.start() {
                Ok(child) => self.child = Some(child),
                Err(error) => return -error.raw_os_error().unwrap_or(libc::EIO),
            }
        }
        let child = self.child.as_mut().expect("it has just been started");
        for _ in 0..LOOKS {
            match child.try_wait() {
                Ok(Some(status)) => {
                    self.child = None;
                    if !status.success() {
                        let program = &self.run.words[0];
                        self.failure = Some(format!("the program \"{program}\" ended with {status}"));
                    }
                    return 0;
                }
                Ok(None) => sleep_until(monotonic().after(LOOK_EVERY)),
                Err(error) => return -error.raw_os_error().unwrap_or(libc::EIO),
            }
        }
        -libc::EAGAIN
    }

    /// Ends what still runs: asked to at first, and made to when it has not by the end of its grace.
    fn end(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let group = i32::try_from(child.id()).unwrap_or(0);
        let signal = |number| {
            if group > 0 {
                // SAFETY: a number of a group that exists as long as the child has not been waited for.
                unsafe { libc::kill(-group, number) };
            }
        };
        signal(libc::SIGTERM);
        let until = monotonic().after(self.run.grace);
        while monotonic() < until {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            sleep_until(until.min(monotonic().after(LOOK_EVERY)));
        }
        signal(libc::SIGKILL);
        // It is dead; only its number is taken back.
        let _ = child.wait();
    }
}

impl Engine for Program {
    const SYNCHRONOUS: bool = EngineKind::Exec.is_synchronous();
    const INSTANT: bool = false;
    const BYTELESS: bool = true;
    const WAITS_FOR_OTHERS: bool = true;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: EngineKind::Exec.name(), virtual_time: false, features: Vec::new() }
    }

    fn last_words(&mut self) -> Option<String> {
        self.failure.take()
    }

    fn open(&mut self, _: Setup) -> Result<(), EngineError> {
        Ok(())
    }

    fn push(&mut self, operation: &Operation) {
        self.done = Completion { slot: operation.slot, result: self.perform() };
        self.waiting = true;
    }

    fn submit(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        if !std::mem::take(&mut self.waiting) {
            return Ok(0);
        }
        into[0] = self.done;
        Ok(1)
    }

    fn close(&mut self) {
        self.end();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end();
    }
}
