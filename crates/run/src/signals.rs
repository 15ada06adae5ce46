//! The stop flag, and the signals that raise it.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Raised once, from outside, to end a run early; what was measured is kept.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    raised: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Lets SIGINT, SIGTERM and SIGHUP raise it. A second signal ends the process at once, should the first not get through
    /// (an operation that never completes).
    pub fn listen_to_signals(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // In this order: the first signal finds the flag down and only raises it, the second finds it up.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&self.raised))?;
            let number = usize::try_from(signal).unwrap_or(0);
            signal_hook::flag::register_usize(signal, Arc::clone(&self.signal), number)?;
            signal_hook::flag::register(signal, Arc::clone(&self.raised))?;
        }
        Ok(())
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
