//! What the host does while tests record: the kernel's counters of CPUs, interrupts and networks before and after, for the
//! columns that Iometer has of them.

use fathom_engine::wall_ms;
use fathom_report::{IometerCpu, IometerHost};
use fathom_run::{Sink, SinkError};
use fathom_schema::{Event, Phase};

/// Takes the counters when a step begins to record and when it ends.
#[derive(Debug, Default)]
pub(super) struct HostWatch {
    before: Option<(u64, Counters)>,
    steps: Vec<Option<IometerHost>>,
}

impl HostWatch {
    /// What it saw, by step; nothing of those in the time of a simulated device, which is not the host's.
    pub(super) fn steps(&self) -> &[Option<IometerHost>] {
        &self.steps
    }
}

impl Sink for HostWatch {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::StepStarted(started) if started.step.is_simulated() => self.before = None,
            Event::StepStarted(_) => self.before = Some((wall_ms(), Counters::now())),
            // The ramp does not count: what comes after its last interval does.
            Event::Interval(interval) if interval.phase == Phase::Ramp && self.before.is_some() => {
                self.before = Some((wall_ms(), Counters::now()));
            }
            Event::StepFinished(_) => {
                let host = self.before.take().map(|(since_ms, before)| {
                    let seconds = wall_ms().saturating_sub(since_ms).max(1) as f64 / 1000.0;
                    Counters::now().since(&before, seconds)
                });
                self.steps.push(host);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Counters of the kernel since it started.
#[derive(Debug, Clone, Default, PartialEq)]
struct Counters {
    /// Of each CPU: user (nice included), privileged, interrupts, everything; in ticks.
    cpus: Vec<[u64; 4]>,
    interrupts: u64,
    packets: u64,
    packet_errors: u64,
    retransmits: u64,
}

impl Counters {
    fn now() -> Self {
        // What a kernel does not have counts nothing.
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Self::parse(&read("/proc/stat"), &read("/proc/net/dev"), &read("/proc/net/snmp"))
    }

    /// Reads `proc_stat(5)`, `proc_net_dev(5)` and the Tcp lines of `/proc/net/snmp`.
    fn parse(stat: &str, devices: &str, snmp: &str) -> Self {
        let mut counters = Self::default();
        for line in stat.lines() {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap_or_default();
            let numbers: Vec<u64> = words.map(|word| word.parse().unwrap_or(0)).collect();
            let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
            if name == "intr" {
                counters.interrupts = number(0);
            } else if name.strip_prefix("cpu").is_some_and(|rest| !rest.is_empty()) {
                let interrupt = number(5) + number(6);
                // Guests are within user already; time that waits for I/O is idle.
                let all = numbers.iter().take(8).sum();
                counters.cpus.push([number(0) + number(1), number(2) + interrupt, interrupt, all]);
            }
        }
        for line in devices.lines().filter_map(|line| line.split_once(':')).map(|(_, numbers)| numbers) {
            let numbers: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
            let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
            // Received: bytes, packets, errors and five more; then the same sent.
            counters.packets += number(1) + number(9);
            counters.packet_errors += number(2) + number(10);
        }
        let mut tcp = snmp.lines().filter(|line| line.starts_with("Tcp:"));
        if let (Some(names), Some(values)) = (tcp.next(), tcp.next()) {
            let at = names.split_whitespace().position(|name| name == "RetransSegs");
            let value = at.and_then(|at| values.split_whitespace().nth(at));
            counters.retransmits = value.and_then(|value| value.parse().ok()).unwrap_or(0);
        }
        counters
    }

    /// What happened since `before`, over `seconds`.
    fn since(&self, before: &Self, seconds: f64) -> IometerHost {
        let cpu = |(now, before): (&[u64; 4], &[u64; 4])| {
            let [user, privileged, interrupt, all] =
                std::array::from_fn(|at| now[at].saturating_sub(before[at]));
            let share = |ticks: u64| if all == 0 { 0.0 } else { ticks as f64 / all as f64 * 100.0 };
            IometerCpu {
                busy: share(user + privileged),
                user: share(user),
                privileged: share(privileged),
                interrupt: share(interrupt),
            }
        };
        let per_s = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        IometerHost {
            cpus: self.cpus.iter().zip(&before.cpus).map(cpu).collect(),
            interrupts_per_s: per_s(self.interrupts, before.interrupts),
            packets_per_s: per_s(self.packets, before.packets),
            packet_errors: self.packet_errors.saturating_sub(before.packet_errors) as f64,
            retransmits_per_s: per_s(self.retransmits, before.retransmits),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_shares_and_rates() {
        let stat = |user: u64, system: u64, idle: u64, interrupts: u64| {
            format!(
                "cpu  9 9 9 9\ncpu0 {user} 0 {system} {idle} 0 1 1 0 0 0\nintr {interrupts} 5 6\nctxt 7\n"
            )
        };
        let net = |packets: u64| {
            format!("Inter-|\n face |bytes\n  lo: 100 {packets} 1 0 0 0 0 0 100 {packets} 2 0 0 0 0 0\n")
        };
        let snmp = |segments: u64| format!("Ip: a\nIp: 1\nTcp: Active RetransSegs X\nTcp: 3 {segments} 5\n");
        let before = Counters::parse(&stat(100, 50, 850, 1000), &net(10), &snmp(4));
        let after = Counters::parse(&stat(130, 60, 910, 3000), &net(30), &snmp(8));
        let host = after.since(&before, 2.0);
        let IometerCpu { busy, user, privileged, interrupt } = host.cpus[0];
        assert_eq!((busy, user, privileged, interrupt), (40.0, 30.0, 10.0, 0.0));
        assert_eq!((host.interrupts_per_s, host.packets_per_s, host.retransmits_per_s), (1000.0, 20.0, 2.0));
        assert_eq!(Counters::parse("", "", ""), Counters::default());
        assert!(!Counters::now().cpus.is_empty(), "this kernel has CPUs");
    }
}
