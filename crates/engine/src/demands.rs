//! What a worker has to keep: least rates, looked at over windows, and longest times of single operations; and its turn in a
//! flow. It says what was not kept; what follows from that is decided by the worker.

use crate::worker::{Slot, State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, Operation};
use fathom_schema::{Demands, Flow, LatencyDemand, OperationKind, RateDemand, RateUnit};
use fathom_units::Nanos;
use rustix::io::Errno;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a worker did not keep.
#[derive(Debug)]
pub(crate) enum Broken {
    /// In words.
    Said(String),
    /// An operation that took longer than was allowed.
    Latency {
        /// Which.
        operation: Operation,
        /// How long.
        took: Nanos,
        /// And how long it might have.
        at_most: Nanos,
    },
}

impl Broken {
    /// What the stream ends with.
    pub(crate) fn errno(&self) -> Errno {
        match self {
            Self::Said(_) => Errno::IO,
            Self::Latency { .. } => Errno::TIMEDOUT,
        }
    }
}

/// Keeps an eye on one worker.
pub(crate) struct Watch {
    demands: Demands,
    /// When rates are looked at next, should no operation complete before.
    pub(crate) next: Nanos,
    /// Since when operations are counted; absent before the first look.
    since: Option<Nanos>,
    /// Operations and bytes since then, by kind.
    done: [(u64, u64); OperationKind::COUNT],
    /// The most bytes that one operation has moved.
    largest: u64,
}

impl Watch {
    /// One for these demands; `None` when there are none.
    pub(crate) fn new(demands: &Demands) -> Option<Box<Self>> {
        (!demands.are_none()).then(|| {
            Box::new(Self {
                demands: demands.clone(),
                next: Nanos::NEVER,
                since: None,
                done: [(0, 0); OperationKind::COUNT],
                largest: 0,
            })
        })
    }

    /// The worker starts.
    pub(crate) fn begin(&mut self, start: Nanos) {
        if !self.demands.rates.is_empty() {
            self.next = start.after(self.demands.rate_settles);
        }
    }

    /// The load was held up until now: rates are looked at over what follows.
    pub(crate) fn begin_anew(&mut self, now: Nanos) {
        if self.since.is_some() {
            self.start_window(now);
        }
    }

    fn start_window(&mut self, now: Nanos) {
        self.since = Some(now);
        self.done = [(0, 0); OperationKind::COUNT];
    }

    /// Counts an operation; says so when it took too long, or when a window ends with it in which a rate was not kept. Windows
    /// go from completion to completion, as fio's do: what keeps its rate exactly has done it in each of them, which no window
    /// between two other moments can say.
    pub(crate) fn note(
        &mut self,
        slot: &Slot,
        moved: u64,
        completed: Nanos,
        is_loaded: bool,
    ) -> Option<Broken> {
        let kind = slot.operation.kind;
        let (operations, bytes) = &mut self.done[kind.index()];
        *operations += 1;
        *bytes += moved;
        self.largest = self.largest.max(moved);
        let took = completed.since(slot.submitted);
        let is_of = |demand: &&LatencyDemand| match demand.kind {
            Some(of) => of == kind,
            None => kind != OperationKind::Sync,
        };
        if let Some(demand) =
            self.demands.latencies.iter().filter(is_of).find(|demand| took.0 > demand.at_most_ns)
        {
            let at_most = Nanos(demand.at_most_ns);
            return Some(Broken::Latency { operation: slot.operation, took, at_most });
        }
        // What completes once nothing more is issued is no rate.
        let since =
            self.since.filter(|since| is_loaded && completed >= since.after(self.demands.rate_window))?;
        let broken = self.broken(completed.since(since), false);
        self.start_window(completed);
        broken.map(Broken::Said)
    }

    /// Looks at the rates when no operation has ended the window in time; says so when another one would not do either.
    pub(crate) fn look(&mut self, now: Nanos) -> Option<String> {
        if now < self.next {
            return None;
        }
        self.next = now.after(self.demands.rate_window);
        let Some(since) = self.since else {
            self.start_window(now);
            return None;
        };
        let window = now.since(since);
        if window < self.demands.rate_window { None } else { self.broken(window, true) }
    }

    /// The rate that was not kept in a window, be it that one more operation `may_come`; in whole milliseconds, which
    /// begin with the first, as fio counts them.
    fn broken(&self, window: Nanos, may_come: bool) -> Option<String> {
        let millis = (window.0 / 1_000_000).max(1);
        let coming = if may_come { (1, self.largest) } else { (0, 0) };
        self.demands.rates.iter().find_map(|&RateDemand { kind, unit, at_least }| {
            let kinds = OperationKind::ALL.into_iter().filter(|&of| match kind {
                Some(kind) => kind == of,
                None => of != OperationKind::Sync,
            });
            let (operations, bytes) = kinds.fold((0, 0), |(operations, bytes), kind| {
                let done = self.done[kind.index()];
                (operations + done.0, bytes + done.1)
            });
            let (count, coming, name) = match unit {
                RateUnit::Operations => (operations, coming.0, "operations"),
                RateUnit::Bytes => (bytes, coming.1, "bytes"),
            };
            let rate = |count: u64| count as f64 * 1e3 / millis as f64;
            let of = kind.map_or(String::new(), |kind| format!("{} ", kind.name()));
            (rate(count + coming) < at_least).then(|| {
                let rate = rate(count);
                format!("{rate:.0} {of}{name} per second in {window}, below the {at_least:.0} of rate_min")
            })
        })
    }
}

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Looks at the least rates when that is due, which is no edge of an interval by itself.
    pub(crate) fn look_at_rates(&mut self, now: Nanos) {
        let Some(watch) = &mut self.watch else { return };
        let due = watch.next;
        if now < due || !matches!(self.state, State::Ramp | State::Measure) {
            return;
        }
        let broken = watch.look(now);
        if self.next_event == due {
            self.next_event = self.event_after(Nanos(due.0.saturating_sub(1)));
        }
        if let Some(broken) = broken {
            self.break_off(Errno::IO, self.slots[0].operation, Broken::Said(broken));
        }
    }
}

/// What the workers of one flow have issued together, and their weights.
#[derive(Debug)]
pub(crate) struct FlowGroup {
    id: u32,
    /// From 1, so that shares can be told from the start.
    issued: AtomicU64,
    weight: AtomicU64,
}

impl FlowGroup {
    /// One for each flow that streams take part in.
    pub(crate) fn of<'a>(flows: impl Iterator<Item = &'a Flow>) -> Vec<Self> {
        let mut ids: Vec<u32> = flows.map(|flow| flow.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let group = |id| Self { id, issued: AtomicU64::new(1), weight: AtomicU64::new(0) };
        ids.into_iter().map(group).collect()
    }
}

/// A worker's part in a flow.
pub(crate) struct FlowShare<'a> {
    group: &'a FlowGroup,
    weight: u64,
    pub(crate) pause: Nanos,
    issued: u64,
    /// Operations that it may still issue at all.
    left: u64,
    has_joined: bool,
}

impl<'a> FlowShare<'a> {
    /// The part of a worker that issues at most `operations`.
    pub(crate) fn new(flow: &Flow, groups: &'a [FlowGroup], operations: u64) -> Self {
        let group = groups.iter().find(|group| group.id == flow.id).expect("there is one for each flow");
        Self {
            group,
            weight: u64::from(flow.weight),
            pause: flow.pause,
            issued: 0,
            left: operations,
            has_joined: false,
        }
    }

    /// The worker starts, or will with the others: whoever wakes first must not have the flow to itself until they have.
    pub(crate) fn join(&mut self) {
        if !self.has_joined {
            self.has_joined = true;
            self.group.weight.fetch_add(self.weight, Ordering::Relaxed);
        }
    }

    /// The worker ends: the others share what is left.
    pub(crate) fn leave(&mut self) {
        if !std::mem::take(&mut self.has_joined) {
            return;
        }
        self.group.weight.fetch_sub(self.weight, Ordering::Relaxed);
        self.group.issued.fetch_sub(self.issued, Ordering::Relaxed);
    }

    /// An operation failed: it may issue another.
    pub(crate) fn give_back(&mut self) {
        self.left = self.left.saturating_add(1);
    }

    /// True when nothing more may be issued at all.
    pub(crate) fn is_used_up(&self) -> bool {
        self.left == 0
    }

    /// Takes a turn; false while the worker is ahead of its share. fio's rule: its share of what was issued may not be above
    /// its share of the weights.
    pub(crate) fn take_turn(&mut self) -> bool {
        let (all, weights) =
            (self.group.issued.load(Ordering::Relaxed), self.group.weight.load(Ordering::Relaxed));
        if u128::from(self.issued) * u128::from(weights) > u128::from(self.weight) * u128::from(all) {
            return false;
        }
        self.group.issued.fetch_add(1, Ordering::Relaxed);
        self.issued += 1;
        self.left = self.left.saturating_sub(u64::from(self.left != u64::MAX));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_share_by_weight() {
        let flow = |weight| Flow { id: 7, weight, pause: Nanos::ZERO };
        let groups = FlowGroup::of([flow(8), flow(2)].iter());
        let mut shares = [8, 2].map(|weight| FlowShare::new(&flow(weight), &groups, u64::MAX));
        shares.iter_mut().for_each(FlowShare::join);
        let mut counts = [0_u32; 2];
        for _ in 0..1000 {
            for (share, count) in shares.iter_mut().zip(&mut counts) {
                *count += u32::from(share.take_turn());
            }
        }
        // One that may always go gets a turn each time; the other a quarter of that.
        assert_eq!(counts[0], 1000);
        assert!(counts[1].abs_diff(250) <= 2, "{counts:?}");
        shares[0].leave();
        assert!((0..10).all(|_| shares[1].take_turn()), "alone it may always go");
    }
}
