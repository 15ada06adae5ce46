//! Exit codes: documented in `docs/exit-codes.md`, decided by `main` alone.

use fathom_planner::safety::Refusal;
use fathom_run::RunOutcome;
use fathom_schema::Outcome;
use std::process::ExitCode;

/// How fathom ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well.
    Ok,
    /// A fault of fathom's own.
    Internal,
    /// The command line or the job is wrong.
    Usage,
    /// Something unsafe was refused; nothing was written.
    Unsafe,
    /// A target or the set-up failed.
    Target,
    /// I/O errors beyond policy.
    IoErrors,
    /// Data that was read back is not what was written.
    Mismatch,
    /// What was measured allows no statement.
    Inconclusive,
    /// A threshold was breached.
    Threshold,
    /// An engine or a part of fathom is not available here.
    Unsupported,
    /// A signal ended it; what was measured is kept.
    Signal(i32),
}

impl Exit {
    /// The number the shell sees.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Unsafe => 3,
            Self::Target => 4,
            Self::IoErrors => 5,
            Self::Mismatch => 6,
            Self::Inconclusive => 8,
            Self::Unsupported => 9,
            Self::Threshold => 99,
            // 128 + signal number, as shells have it: 130 for Ctrl-C, 143 for SIGTERM.
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(130),
        }
    }

    /// The code for refusals: unsafe when going on would endanger what is there, else a target that could not work.
    pub(crate) fn of_refusals<'a>(mut refusals: impl Iterator<Item = &'a Refusal>) -> Self {
        if refusals.any(Refusal::protects) { Self::Unsafe } else { Self::Target }
    }

    /// The code for a run that began.
    pub(crate) fn of_run(run: &RunOutcome) -> Self {
        match (&run.outcome, &run.error) {
            (_, Some(_)) | (Outcome::Failed { .. }, None) => Self::Target,
            (Outcome::Complete, None) => Self::Ok,
            (Outcome::Interrupted { signal: 0 }, None) => Self::Signal(2),
            (Outcome::Interrupted { signal }, None) => Self::Signal(*signal),
            (Outcome::IoErrors, None) => Self::IoErrors,
            (Outcome::Mismatch, None) => Self::Mismatch,
            (Outcome::Aborted { .. }, None) => Self::Threshold,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}
