//! The time of a run: the host's clock, but while simulated devices are worked with, whose time it is then. What a run tells
//! has one time line so, on which steps follow one another; it does not know what is told.

use fathom_units::Nanos;

/// How long a run goes on, and what the calendar says of that.
#[derive(Debug)]
pub(crate) struct RunTime {
    /// When it began, on the host's clock.
    started_at: Nanos,
    /// By how much the run's time is ahead of the host's; behind it where devices were simulated slower than they are.
    ahead_ns: i128,
    /// When the step in virtual time began that goes on, in the run's time, and how far it has come.
    simulated: Option<(Nanos, Nanos)>,
}

impl RunTime {
    /// Of a run that begins at this moment of the host's clock.
    pub(crate) fn from(started_at: Nanos) -> Self {
        Self { started_at, ahead_ns: 0, simulated: None }
    }

    /// The run's time when the host's clock shows `host`. In virtual time nothing is between what was told and what will be.
    pub(crate) fn at(&self, host: Nanos) -> Nanos {
        if let Some((began, reached)) = self.simulated {
            return began.after(reached);
        }
        let run = i128::from(host.since(self.started_at).0) + self.ahead_ns;
        Nanos(u64::try_from(run.max(0)).unwrap_or(u64::MAX))
    }

    /// What the calendar says when the host's says `wall_ms` and its clock shows `host`, milliseconds.
    pub(crate) fn wall_ms(&self, host: Nanos, wall_ms: u64) -> u64 {
        let run = i128::from(self.at(host).0) - i128::from(host.since(self.started_at).0);
        let ahead_ms = i64::try_from(run.div_euclid(1_000_000)).unwrap_or(i64::MAX);
        wall_ms.saturating_add_signed(ahead_ms)
    }

    /// From now on a step goes on in virtual time.
    pub(crate) fn simulate(&mut self, host: Nanos) {
        self.simulated = Some((self.at(host), Nanos::ZERO));
    }

    /// The step has come so far; of no weight where it is the host's time that passes.
    pub(crate) fn reached(&mut self, since_step: Nanos) {
        if let Some((_, reached)) = &mut self.simulated {
            *reached = since_step.max(*reached);
        }
    }

    /// The step has taken `elapsed`: the host's clock goes on from there.
    pub(crate) fn step_ended(&mut self, host: Nanos, elapsed: Nanos) {
        let Some((began, _)) = self.simulated.take() else { return };
        self.ahead_ns = i128::from(began.after(elapsed).0) - i128::from(host.since(self.started_at).0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: Nanos = Nanos::secs(100);
    const WALL_MS: u64 = 1_795_165_164_000;

    /// What the run's clock and its calendar show when the host's shows `host_ms` since the run's start.
    #[track_caller]
    fn check(time: &RunTime, host_ms: u64, run_ms: u64) {
        let host = STARTED.after(Nanos::millis(host_ms));
        assert_eq!(time.at(host), Nanos::millis(run_ms));
        assert_eq!(time.wall_ms(host, WALL_MS + host_ms), WALL_MS + run_ms);
    }

    #[test]
    fn steps_in_virtual_time_follow_one_another_faster_and_slower_than_the_host() {
        let at = |host_ms| STARTED.after(Nanos::millis(host_ms));
        let mut time = RunTime::from(STARTED);
        check(&time, 100, 100);
        time.step_ended(at(100), Nanos::secs(5));
        check(&time, 100, 100);
        time.simulate(at(100));
        time.reached(Nanos::secs(3));
        time.reached(Nanos::secs(2));
        check(&time, 150, 3100);
        time.step_ended(at(200), Nanos::secs(12));
        check(&time, 200, 12_100);
        check(&time, 250, 12_150);
        time.simulate(at(300));
        time.step_ended(at(50_300), Nanos::secs(1));
        check(&time, 50_300, 13_200);
        check(&time, 50_400, 13_300);
    }
}
