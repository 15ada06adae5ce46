//! `--idle-prof`: how idle the CPUs were while the jobs ran. fio has a thread of the idle class spin on each CPU and counts how
//! far it comes; that keeps CPUs from sleeping and takes turns from whoever shares a core, so here it is what the kernel
//! accounts in `/proc/stat`. What a unit of that work takes is measured as fio does it, before the jobs start.

use fathom_frontend::fio::IdleProfile;
use fathom_io::clock::monotonic;
use fathom_io::thread::pin;
use fathom_report::FioIdleness;
use fathom_run::{Sink, SinkError};
use fathom_schema::Event;
use std::hint::black_box;

/// Bytes that a unit of work stores, one by one: a page.
const UNIT: usize = 4096;
/// Units that are timed together, and how often: the fastest counts, as with fio.
const UNITS: usize = 100;
const TRIES: usize = 10;

/// Listens to a run and adds up what the CPUs did during its steps.
#[derive(Default)]
pub(super) struct Idleness {
    shows_cpus: bool,
    is_wanted: bool,
    unit: (f64, f64),
    before: Vec<Ticks>,
    sums: Vec<Ticks>,
}

/// Of one CPU, in the kernel's ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Ticks {
    idle: u64,
    all: u64,
}

impl Idleness {
    /// Measures what a unit of work takes, if anything is wanted.
    pub(super) fn of(profile: IdleProfile) -> Self {
        match profile {
            IdleProfile::None => Self::default(),
            IdleProfile::System | IdleProfile::EachCpu | IdleProfile::Calibration => Self {
                shows_cpus: profile == IdleProfile::EachCpu,
                is_wanted: true,
                unit: unit_work(),
                ..Self::default()
            },
        }
    }

    /// Adds what the CPUs did in a run after this one.
    pub(super) fn join(&mut self, later: &Self) {
        self.sums = self.until_now();
        self.before.clear();
        self.sums.resize(later.sums.len().max(self.sums.len()), Ticks::default());
        for (sum, later) in self.sums.iter_mut().zip(&later.sums) {
            sum.idle += later.idle;
            sum.all += later.all;
        }
    }

    /// The sums, with what a step has come to that goes on.
    fn until_now(&self) -> Vec<Ticks> {
        let mut sums = self.sums.clone();
        if !self.before.is_empty() {
            let after = now();
            sums.resize(after.len().max(sums.len()), Ticks::default());
            for ((sum, after), before) in sums.iter_mut().zip(&after).zip(&self.before) {
                sum.idle += after.idle.saturating_sub(before.idle);
                sum.all += after.all.saturating_sub(before.all);
            }
        }
        sums
    }

    /// What the reports say of it.
    pub(super) fn report(&self) -> Option<FioIdleness> {
        let share =
            |ticks: &Ticks| if ticks.all == 0 { 0.0 } else { ticks.idle as f64 * 100.0 / ticks.all as f64 };
        let cpus: Vec<f64> = self.until_now().iter().map(share).collect();
        self.is_wanted.then(|| FioIdleness {
            system: cpus.iter().sum::<f64>() / cpus.len().max(1) as f64,
            cpus: if self.shows_cpus { cpus } else { Vec::new() },
            unit_mean_us: self.unit.0,
            unit_stddev_us: self.unit.1,
        })
    }
}

/// `--idle-prof=calibrate`.
pub(super) fn calibration() -> String {
    let (mean, stddev) = unit_work();
    format!("CPU idleness:\n  unit work: mean={mean:3.2}us, stddev={stddev:3.2}\n")
}

impl Sink for Idleness {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::StepStarted(_) if self.is_wanted => self.before = now(),
            Event::StepFinished(_) if self.is_wanted => {
                self.sums = self.until_now();
                self.before.clear();
            }
            _ => {}
        }
        Ok(())
    }
}

/// Without `/proc` there is nothing to say, and the reports say 0.
fn now() -> Vec<Ticks> {
    std::fs::read_to_string("/proc/stat").map_or_else(|_| Vec::new(), |text| parse(&text))
}

/// `cpu0 user nice system idle iowait irq softirq steal …` (`proc_stat(5)`); guests are part of `user`. A CPU that waits for I/O
/// has nothing else to do: fio's thread would run on it.
fn parse(stat: &str) -> Vec<Ticks> {
    let of_cpu = |line: &str| {
        let (name, counts) = line.split_once(' ')?;
        name.strip_prefix("cpu")?.parse::<u32>().ok()?;
        let counts: Vec<u64> =
            counts.split_whitespace().take(8).map_while(|count| count.parse().ok()).collect();
        Some(Ticks { idle: counts.get(3)? + counts.get(4)?, all: counts.iter().sum() })
    };
    stat.lines().filter_map(of_cpu).collect()
}

/// Mean and standard deviation over the CPUs of what a unit of work takes, in microseconds.
fn unit_work() -> (f64, f64) {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    let on = |cpu: u32| {
        std::thread::spawn(move || {
            // A CPU that this process may not use is measured on another.
            let _ = pin(&[cpu]);
            unit_us()
        })
    };
    let units: Vec<f64> = (0..cpus).filter_map(|cpu| on(cpu).join().ok()).collect();
    let n = units.len().max(1) as f64;
    let mean = units.iter().sum::<f64>() / n;
    let squares: f64 = units.iter().map(|unit| (unit - mean).powi(2)).sum();
    (mean, if units.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 })
}

fn unit_us() -> f64 {
    let mut data = vec![0_u8; UNIT];
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let start = monotonic();
        for turn in 0..UNITS {
            for (at, byte) in (0..UNIT).zip((0..=u8::MAX).cycle()) {
                data[(at + turn) % UNIT] = black_box(byte);
            }
            black_box(&mut data);
        }
        best = best.min(monotonic().since(start).0 as f64 / 1000.0);
    }
    best / UNITS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_that_of_each_cpu() {
        let stat = "cpu  5 5 5 5 5 5 5 5\ncpu0 10 0 20 60 10 0 0 0 3 3\ncpu1 1 1 1 1 1 1 1 1 0 0\nintr 9\ncpufreq 1\n";
        assert_eq!(parse(stat), [Ticks { idle: 70, all: 100 }, Ticks { idle: 2, all: 8 }]);
        assert_eq!(parse("cpu0 1 2\n"), []);
        let mut idle = Idleness { is_wanted: true, shows_cpus: true, ..Idleness::default() };
        idle.sums = parse(stat);
        let report = idle.report().expect("it is wanted");
        assert_eq!((report.system, &report.cpus[..]), (47.5, &[70.0, 25.0][..]));
        assert_eq!(Idleness::default().report(), None);
    }
}
