//! A simulated device in virtual time: servers with a service-time distribution, one queue, injected faults.
//!
//! Operations are served in the order they were submitted by the first server that is free. Time passes only here.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, TargetHandle, Wait};
use crate::chance::Chance;
use crate::clock::VirtualClock;
use fathom_schema::{EngineKind, SimDevice, SimPlace, SimService};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A simulated device that advances a [`VirtualClock`].
#[derive(Debug)]
pub struct Sim {
    clock: VirtualClock,
    devices: Vec<Device>,
    /// By target, the device that it is a place of.
    device_of: Vec<usize>,
    pushed: Vec<Operation>,
    /// Operations being served or queued, by completion time, then by order of submission.
    in_service: BinaryHeap<Reverse<(u64, u64, u32, i32)>>,
    submitted: u64,
    chance: Chance,
}

#[derive(Debug)]
struct Device {
    description: SimDevice,
    servers: Servers,
}

/// When each server of a device is free again.
#[derive(Debug)]
enum Servers {
    /// So few that looking at all of them costs less than keeping them in order.
    Few(Box<[u64]>),
    Many(BinaryHeap<Reverse<u64>>),
}

impl Servers {
    /// Servers from which on they are kept in order: counted by callgrind, an operation takes about as long either way.
    const MANY: usize = 32;

    /// At least one.
    fn new(count: usize) -> Self {
        if count < Self::MANY {
            Self::Few(vec![0; count.max(1)].into())
        } else {
            Self::Many(std::iter::repeat_n(Reverse(0), count).collect())
        }
    }

    /// Gives the first that is free work that begins then at the earliest: `work` says when it is done. Returns that.
    #[inline]
    fn take_up(&mut self, work: impl FnOnce(u64) -> u64) -> u64 {
        match self {
            Self::Few(free_at) => {
                let server = free_at.iter_mut().min_by_key(|at| **at).expect("there is at least 1");
                *server = work(*server);
                *server
            }
            Self::Many(free_at) => {
                let mut server = free_at.peek_mut().expect("there is at least 1");
                *server = Reverse(work(server.0));
                server.0
            }
        }
    }
}

impl Sim {
    /// A device whose time is told by `clock`.
    pub fn new(clock: VirtualClock) -> Self {
        Self {
            clock,
            devices: Vec::new(),
            device_of: Vec::new(),
            pushed: Vec::new(),
            in_service: BinaryHeap::new(),
            submitted: 0,
            chance: Chance::new(0),
        }
    }

    fn service_ns(&mut self, service: SimService) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times below 2^53 ns")]
        match service {
            SimService::Constant { ns } => ns,
            SimService::Exponential { mean_ns } => {
                (-self.chance.uniform().ln() * mean_ns as f64).round() as u64
            }
            SimService::Uniform { min_ns, max_ns } => {
                min_ns + ((max_ns - min_ns) as f64 * self.chance.uniform()).round() as u64
            }
        }
    }

    fn start(&mut self, operation: &Operation) {
        let now = self.clock.instant();
        let at = self.device_of[operation.target as usize];
        let SimDevice { service, parallelism: _, error_share, short_share, stalls: _, places } =
            &self.devices[at].description;
        let (service, has_places) = (*service, !places.is_empty());
        let (mut error_share, short_share) = (error_share.value(), short_share.value());
        let mut service_ns = self.service_ns(service);
        let fate = self.chance.uniform();
        if has_places {
            (service_ns, error_share) = self.at_place(at, operation, (service_ns, error_share));
        }
        let Device { description, servers } = &mut self.devices[at];
        let done = servers.take_up(|free| after_stalls(&description.stalls, now.max(free), service_ns));
        #[expect(clippy::cast_possible_wrap, reason = "block sizes are below 2^31")]
        let length = operation.length as i32;
        let result = if fate <= error_share {
            -libc::EIO
        } else if fate <= error_share + short_share {
            length / 2
        } else {
            length
        };
        self.submitted += 1;
        self.in_service.push(Reverse((done, self.submitted, operation.slot, result)));
    }

    /// How long an operation takes and which share of its like fails, by where it goes; `usual` where nothing is odd.
    #[cold]
    #[inline(never)]
    fn at_place(&self, at: usize, operation: &Operation, usual: (u64, f64)) -> (u64, f64) {
        match place_of(&self.devices[at].description.places, operation) {
            None => usual,
            Some(SimPlace { service_ns: Some(ns), .. }) => (ns, usual.1),
            Some(SimPlace { service_ns: None, .. }) => (usual.0, 1.0),
        }
    }
}

/// The worst of the places that an operation touches.
fn place_of(places: &[SimPlace], operation: &Operation) -> Option<SimPlace> {
    let end = operation.offset + u64::from(operation.length);
    let touched = places.iter().filter(|place| place.from < end && operation.offset < place.to);
    touched.copied().max_by_key(|place| place.service_ns.unwrap_or(u64::MAX))
}

/// Stalls in their order, those that meet as one: while it stands still a device cannot do so once more.
fn merged(mut stalls: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    stalls.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::with_capacity(stalls.len());
    for (at, length) in stalls {
        match merged.last_mut() {
            Some((begins, lasts)) if at <= begins.saturating_add(*lasts) => {
                *lasts = (*lasts).max(at.saturating_add(length) - *begins);
            }
            _ => merged.push((at, length)),
        }
    }
    merged
}

/// When `service_ns` of work begun at `start` is done, if nothing proceeds during the stalls, which do not meet.
fn after_stalls(stalls: &[(u64, u64)], start: u64, service_ns: u64) -> u64 {
    let mut done = start + service_ns;
    for &(at, length) in stalls {
        if at < done && start < at + length {
            // Work overlaps the freeze: what remains of it continues after.
            done += at + length - start.max(at);
        }
    }
    done
}

impl Engine for Sim {
    const SYNCHRONOUS: bool = EngineKind::Sim.is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "sim", virtual_time: true, features: vec!["virtual time"] }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.chance = Chance::new(setup.seed);
        self.pushed.reserve(setup.queue_depth as usize);
        self.in_service.reserve(setup.queue_depth as usize);
        self.devices.clear();
        self.device_of.clear();
        let mut numbers: Vec<u32> = Vec::new();
        for target in setup.targets {
            let (number, description) = match target.handle {
                TargetHandle::Sim { number, description } => (number, description),
                // The planner aims the sim engine at simulated targets only.
                TargetHandle::File(_)
                | TargetHandle::BlockDevice { .. }
                | TargetHandle::Closed(_)
                | TargetHandle::Name(_)
                | TargetHandle::Null
                | TargetHandle::Peer(_) => {
                    unreachable!("the sim engine has only simulated targets")
                }
            };
            let known = numbers.iter().position(|known| *known == number);
            self.device_of.push(known.unwrap_or(numbers.len()));
            if known.is_none() {
                numbers.push(number);
                let mut description = description;
                description.stalls = merged(description.stalls);
                let servers = Servers::new(description.parallelism as usize);
                self.devices.push(Device { description, servers });
            }
        }
        Ok(())
    }

    fn push(&mut self, operation: &Operation) {
        self.pushed.push(*operation);
    }

    fn submit(&mut self) -> Result<u32, EngineError> {
        let pushed = std::mem::take(&mut self.pushed);
        for operation in &pushed {
            self.start(operation);
        }
        let count = u32::try_from(pushed.len()).unwrap_or(u32::MAX);
        self.pushed = pushed;
        self.pushed.clear();
        Ok(count)
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        let deadline = self.clock.instant().saturating_add(wait.timeout_ns);
        let mut count = 0;
        while count < into.len() {
            let Some(&Reverse((done, _, slot, result))) = self.in_service.peek() else { break };
            if done > self.clock.instant() {
                if count >= wait.min_complete as usize || done > deadline {
                    break;
                }
                self.clock.advance_to(done);
            }
            self.in_service.pop();
            into[count] = Completion { slot, result };
            count += 1;
        }
        if count < wait.min_complete as usize {
            self.clock.advance_to(deadline.min(u64::MAX - 1));
        }
        Ok(count)
    }

    fn close(&mut self) {
        self.in_service.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, Servers, SimPlace, after_stalls, merged, place_of};
    use fathom_schema::OperationKind;

    #[test]
    fn the_first_server_that_is_free_works_however_many_there_are() {
        for count in [1, 2, Servers::MANY - 1, Servers::MANY, 1000] {
            let mut servers = Servers::new(count);
            let mut plain = vec![0_u64; count];
            for work in (0..5 * count as u64).map(|n| n * 7919 % 1009 + 1) {
                let first = plain.iter_mut().min().expect("there is at least 1");
                *first += work;
                assert_eq!(servers.take_up(|free| free + work), *first, "{count} servers");
            }
        }
    }

    #[test]
    fn the_worst_place_that_is_touched_decides() {
        let place = |from, to, service_ns| SimPlace { from, to, service_ns };
        let places = [place(100, 200, Some(5)), place(150, 160, None), place(190, 300, Some(9))];
        for (offset, length, expect) in [
            (0, 100, None),
            (0, 101, Some(Some(5))),
            (140, 20, Some(None)),
            (160, 40, Some(Some(9))),
            (299, 1, Some(Some(9))),
            (300, 1, None),
        ] {
            let operation = Operation {
                slot: 0,
                kind: OperationKind::Read,
                target: 0,
                offset,
                length,
                data_only: false,
                range_flags: 0,
            };
            let found = place_of(&places, &operation).map(|place| place.service_ns);
            assert_eq!(found, expect, "{offset}, {length}");
        }
    }

    #[test]
    fn freezes_that_meet_are_one() {
        assert_eq!(
            merged(vec![(20, 30), (10, 20), (100, 5), (12, 3), (105, 5), (200, 0)]),
            [(10, 40), (100, 10), (200, 0)]
        );
        assert_eq!(merged(Vec::new()), []);
    }

    #[test]
    fn a_freeze_holds_up_exactly_its_length() {
        let stall = [(100, 50)];
        for (start, service, done) in
            [(0, 10, 10), (0, 100, 100), (90, 20, 160), (120, 10, 160), (150, 10, 160), (0, 101, 151)]
        {
            assert_eq!(after_stalls(&stall, start, service), done, "{start} + {service}");
        }
    }
}
