//! The clock: nanoseconds of `CLOCK_MONOTONIC`, read as cheaply as the machine allows, or virtual time.
//!
//! Where the kernel itself trusts the time stamp counter (its clock source is `tsc`), readings are a `rdtsc` and a
//! multiplication, anchored to `CLOCK_MONOTONIC` and re-anchored by the worker once per interval; elsewhere every
//! reading is a `clock_gettime`.

use fathom_units::Nanos;
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Something that tells the time and can wait for it.
pub trait Clock {
    /// Now. Never earlier than an earlier reading of the same clock.
    fn now(&mut self) -> Nanos;
    /// Waits until `deadline`; returns at once when it has passed.
    fn wait_until(&mut self, deadline: Nanos);
    /// Compares itself with its reference and corrects its rate; called once per interval, outside of any timing.
    fn discipline(&mut self);
    /// True when time only passes by what the engine does.
    fn is_virtual(&self) -> bool;
}

/// Wall clock, in milliseconds since 1970-01-01 UTC.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn wall_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// `CLOCK_MONOTONIC` now.
pub fn monotonic() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the whole call; CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Nanos(u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// How the readings of a [`RealClock`] are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// Time stamp counter, anchored to `CLOCK_MONOTONIC`.
    Tsc,
    /// `clock_gettime(CLOCK_MONOTONIC)`.
    Monotonic,
}

impl ClockSource {
    /// Name for the record.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Monotonic => "clock_gettime",
        }
    }
}

/// Real time. Cheap to copy: each worker has its own.
#[derive(Debug, Clone, Copy)]
pub struct RealClock {
    source: ClockSource,
    /// First anchor: the long baseline from which the rate is corrected.
    first: Anchor,
    /// Latest anchor: readings are extrapolated from here.
    anchor: Anchor,
    /// Nanoseconds per tick, as a fixed-point number with 32 fraction bits.
    ns_per_tick: u64,
    last: u64,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    ticks: u64,
    ns: u64,
}

/// Baseline of the first calibration. Two anchors are each good to about 50 ns, so 5 ms gives 20 ppm until the first
/// interval's end, when the baseline is 200 times as long.
const CALIBRATION: Duration = Duration::from_millis(5);

impl RealClock {
    /// A clock calibrated now; takes 5 ms where the counter is used. `kernel_trusts_tsc`: whether the kernel's own clock
    /// source is `tsc`, which it only is when the counter is invariant and synchronised over all processors.
    pub fn new(kernel_trusts_tsc: bool) -> Self {
        let source = if cfg!(target_arch = "x86_64") && kernel_trusts_tsc {
            ClockSource::Tsc
        } else {
            ClockSource::Monotonic
        };
        let first = Anchor::take(source);
        let mut clock = Self { source, first, anchor: first, ns_per_tick: 1 << 32, last: first.ns };
        if source == ClockSource::Tsc {
            sleep_until(Nanos(first.ns).after(CALIBRATION.into()));
            clock.discipline();
        }
        clock
    }

    /// How readings are made.
    pub fn source(&self) -> ClockSource {
        self.source
    }

    /// Mean cost of one reading, in nanoseconds, over 10,000 readings.
    pub fn cost_ns(&mut self) -> f64 {
        const READINGS: u32 = 10_000;
        let start = monotonic();
        for _ in 0..READINGS {
            std::hint::black_box(self.now());
        }
        monotonic().since(start).0 as f64 / f64::from(READINGS)
    }
}

impl Clock for RealClock {
    #[inline]
    fn now(&mut self) -> Nanos {
        if self.source == ClockSource::Monotonic {
            return monotonic();
        }
        let elapsed = ticks().wrapping_sub(self.anchor.ticks);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "nanoseconds since an anchor at most seconds old"
        )]
        let ns = self.anchor.ns + ((u128::from(elapsed) * u128::from(self.ns_per_tick)) >> 32) as u64;
        // A correction may set the clock back by nanoseconds; readings must not show it.
        self.last = if ns > self.last { ns } else { self.last };
        Nanos(self.last)
    }

    fn wait_until(&mut self, deadline: Nanos) {
        // Timer wake-ups come late by up to some 50 µs on an idle core; the rest is spun away for exactness.
        const SPIN: Nanos = Nanos::micros(60);
        if deadline.since(self.now()) > SPIN {
            sleep_until(Nanos(deadline.0 - SPIN.0));
        }
        while self.now() < deadline {
            std::hint::spin_loop();
        }
    }

    fn discipline(&mut self) {
        if self.source == ClockSource::Monotonic {
            return;
        }
        let anchor = Anchor::take(self.source);
        let ticks = anchor.ticks.wrapping_sub(self.first.ticks);
        if ticks > 0 {
            let ratio = (u128::from(anchor.ns - self.first.ns) << 32) / u128::from(ticks);
            self.ns_per_tick = u64::try_from(ratio).unwrap_or(self.ns_per_tick);
        }
        self.anchor = anchor;
    }

    fn is_virtual(&self) -> bool {
        false
    }
}

impl Anchor {
    /// Counter and `CLOCK_MONOTONIC` at one instant: of five pairs the one read fastest.
    fn take(source: ClockSource) -> Self {
        if source == ClockSource::Monotonic {
            return Self { ticks: 0, ns: monotonic().0 };
        }
        let pair = |_| {
            let before = ticks();
            let ns = monotonic().0;
            let after = ticks();
            (
                after.wrapping_sub(before),
                Self { ticks: before.wrapping_add(after.wrapping_sub(before) / 2), ns },
            )
        };
        (0..5).map(pair).min_by_key(|(width, _)| *width).expect("five pairs were read").1
    }
}

/// The processor's time stamp counter; 0 where there is none.
#[inline]
fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: rdtsc exists on every x86_64 processor and Linux leaves it enabled for user space.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Sleeps until an instant of `CLOCK_MONOTONIC`; returns early when a signal arrives.
pub fn sleep_until(deadline: Nanos) {
    let time = libc::timespec {
        tv_sec: i64::try_from(deadline.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(deadline.0 % 1_000_000_000).unwrap_or(0),
    };
    // SAFETY: `time` is a valid timespec for the whole call; no remainder is asked for.
    unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
}

/// Virtual time of one worker: shared with the simulated device that advances it.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock {
    now: Rc<Cell<u64>>,
}

impl VirtualClock {
    /// Moves time on to `instant`, if that is later.
    pub(crate) fn advance_to(&self, instant: u64) {
        self.now.set(self.now.get().max(instant));
    }

    /// Now, without the need of a unique borrow.
    pub(crate) fn instant(&self) -> u64 {
        self.now.get()
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&mut self) -> Nanos {
        Nanos(self.now.get())
    }

    fn wait_until(&mut self, deadline: Nanos) {
        self.advance_to(deadline.0);
    }

    fn discipline(&mut self) {}

    fn is_virtual(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_agrees_with_the_kernels_clock() {
        let mut clock = RealClock::new(true);
        let start = monotonic();
        clock.wait_until(start.after(Nanos::millis(20)));
        let (ours, theirs) = (clock.now(), monotonic());
        // Between the two readings the thread may be preempted; only ours being ahead or far behind is a fault.
        assert!(ours.0 <= theirs.0 + 20_000, "{ours:?} is ahead of {theirs:?}");
        assert!(ours >= start.after(Nanos::millis(20)));
    }

    #[test]
    fn readings_never_go_back() {
        let mut clock = RealClock::new(true);
        let mut last = clock.now();
        for n in 0..100_000 {
            if n % 1000 == 0 {
                clock.discipline();
            }
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn virtual_time_moves_only_when_told() {
        let mut clock = VirtualClock::default();
        assert_eq!(clock.now(), Nanos(0));
        clock.wait_until(Nanos(5));
        clock.wait_until(Nanos(3));
        assert_eq!(clock.now(), Nanos(5));
    }
}
