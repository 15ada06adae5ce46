//! The stop flag, and the signals that raise it.

use fathom_units::Nanos;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A signal that comes this soon after another is the same one: `timeout` of the GNU coreutils signals the program and then
/// its group, which the program is in; a terminal signals the group, and a wrapper in it passes that on.
const SAME_SIGNAL: Nanos = Nanos::millis(250);

/// Lets writes beyond the limit of a file's size (`RLIMIT_FSIZE`) fail with an error, and not end the process: a stream or a
/// record that meets it is told like any other.
///
/// # Errors
/// Where the system lets no handler be made.
pub fn outlive_file_limits() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Raised once, from outside, to end a run early; what was measured is kept.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    raised: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    listens: Arc<AtomicBool>,
    /// Longer than [`SAME_SIGNAL`] where not zero.
    patience: Nanos,
}

impl Stop {
    /// One that takes signals for the first one again for as long as `patience` after it.
    pub fn patient(patience: Nanos) -> Self {
        Self { patience, ..Self::default() }
    }

    /// Lets SIGINT, SIGTERM and SIGHUP raise it, from the first call on; a process has one that does, since who listens
    /// never ends. A SIGHUP that the process was begun to ignore, as by `nohup`, stays ignored. A second signal ends the
    /// process at once, should the first not get through (an operation that never completes); one that comes right behind the
    /// first is none.
    ///
    /// # Errors
    /// Where the system lets no handler or no thread be made.
    pub fn listen_to_signals(&self) -> io::Result<()> {
        begin_once(&self.listens, || self.begin_to_listen())
    }

    fn begin_to_listen(&self) -> io::Result<()> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        if !is_ignored(&status, SIGHUP) {
            signals.add_signal(SIGHUP)?;
        }
        let stop = self.clone();
        let same = SAME_SIGNAL.max(self.patience);
        let listen = move || {
            let mut first = None;
            for signal in signals.forever() {
                let now = fathom_engine::monotonic();
                match first {
                    None => {
                        first = Some(now);
                        stop.signal.store(usize::try_from(signal).unwrap_or(0), Ordering::Relaxed);
                        stop.raise();
                    }
                    Some(first) if now.since(first) < same => {}
                    // It fails for signals without a default only, which these are not.
                    Some(_) => drop(signal_hook::low_level::emulate_default_handler(signal)),
                }
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map(drop)
    }

    /// Raises it.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// True once it was raised.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// The signal that raised it; 0 when none did.
    pub fn signal(&self) -> i32 {
        i32::try_from(self.signal.load(Ordering::Relaxed)).unwrap_or(0)
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.raised
    }
}

/// Whether a process ignores a signal, by its `/proc/PID/status` (`proc_pid_status(5)`).
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

/// Begins what is to be begun once, unless it was; what could not begin is tried again the next time.
fn begin_once(has_begun: &AtomicBool, begin: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    // Taken before it begins: two that come at once do not both begin.
    if has_begun.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    begin().inspect_err(|_| has_begun.store(false, Ordering::Relaxed))
}

/// Raised from outside, any number of times: somebody asks how a run stands.
#[derive(Debug)]
pub struct Asked {
    raised: Arc<AtomicBool>,
}

impl Asked {
    /// One that SIGUSR1 raises, which ends the process no longer.
    pub fn on_signal() -> io::Result<Self> {
        let raised = Arc::default();
        signal_hook::flag::register(SIGUSR1, Arc::clone(&raised))?;
        Ok(Self { raised })
    }

    /// Whether it was raised since it was last taken.
    pub fn take(&self) -> bool {
        self.raised.swap(false, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_ignores_is_in_its_status() {
        let status = "Name:\tfathom\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
        let ignored =
            [SIGHUP, SIGINT, signal_hook::consts::SIGPIPE, SIGTERM].map(|one| is_ignored(status, one));
        assert_eq!(ignored, [true, false, true, false]);
        assert!(!is_ignored("", SIGHUP));
    }

    #[test]
    fn what_could_not_begin_begins_the_next_time() {
        let has_begun = AtomicBool::new(false);
        let mut times = 0;
        let mut begin = |result: io::Result<()>| {
            begin_once(&has_begun, || {
                times += 1;
                result
            })
        };
        let refused = begin(Err(io::ErrorKind::OutOfMemory.into())).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::OutOfMemory));
        begin(Ok(())).unwrap();
        begin(Err(io::ErrorKind::OutOfMemory.into())).unwrap();
        assert_eq!(times, 2, "the third time it had begun");
    }
}
