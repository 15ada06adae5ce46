//! Keeps the workers of a step together that live in virtual time: each makes as much of it as its CPU gives, so that one
//! would be hours ahead of another. None goes past the edge of an interval before all others are there, and what is to end
//! them is seen at edges alone, by all at the same one: what they did belongs to the same time. Where what they did may end them, none
//! goes on before that was looked at, so that each run ends at the same edge. Knows no operations.

use fathom_schema::{EngineKind, FileLock, Stream};
use fathom_units::Nanos;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Whether workers of a stream keep together with others. Those that wait for each other in another way do not: one would
/// wait at an edge for one that waits for it.
pub(crate) fn keeps_together(stream: &Stream) -> bool {
    stream.engine.kind == EngineKind::Sim
        && stream.control.after.is_empty()
        && stream.flow.is_none()
        && stream.lock == FileLock::None
}

/// The workers that keep together.
#[derive(Debug)]
pub(crate) struct Lockstep {
    places: Mutex<Places>,
    moved: Condvar,
}

#[derive(Debug)]
struct Places {
    /// How many workers are at which edge, the earliest first. It has room for all of them: nothing is allocated later.
    at: Vec<(Nanos, usize)>,
    /// Up to which edge what they did was judged; `NEVER` where nobody does.
    judged: Nanos,
    /// Whether each goes as far as it likes.
    is_given_up: bool,
}

impl Places {
    fn earliest(&self) -> Nanos {
        self.at.first().map_or(Nanos::NEVER, |(at, _)| *at)
    }

    fn come(&mut self, place: Nanos) {
        match self.at.binary_search_by_key(&place, |(at, _)| *at) {
            Ok(found) => self.at[found].1 += 1,
            Err(next) => self.at.insert(next, (place, 1)),
        }
    }

    fn leave(&mut self, place: Nanos) {
        let found = self.at.binary_search_by_key(&place, |(at, _)| *at).expect("each is where it came to");
        self.at[found].1 -= 1;
        if self.at[found].1 == 0 {
            self.at.remove(found);
        }
    }
}

impl Lockstep {
    /// For so many workers, all at their start, that go on from an edge when what they did up to it was judged, if it is.
    pub(crate) fn of(workers: usize, is_judged: bool) -> Self {
        let mut at = Vec::with_capacity(workers);
        at.extend((workers > 0).then_some((Nanos::ZERO, workers)));
        let judged = if is_judged { Nanos::ZERO } else { Nanos::NEVER };
        Self { places: Mutex::new(Places { at, judged, is_given_up: false }), moved: Condvar::new() }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker has come from one edge to the next: waits until none is behind it. `passed` is called by the last of them,
    /// before any goes on.
    pub(crate) fn reach(&self, from: Nanos, to: Nanos, passed: impl FnOnce()) {
        let mut places = self.places();
        let before = places.earliest();
        places.leave(from);
        places.come(to);
        if places.earliest() != before {
            passed();
            self.moved.notify_all();
        }
        while places.earliest().min(places.judged) < to && !places.is_given_up {
            places = self.moved.wait(places).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker that was at this edge comes no more.
    pub(crate) fn leave(&self, place: Nanos, passed: impl FnOnce()) {
        let mut places = self.places();
        let before = places.earliest();
        places.leave(place);
        if places.earliest() != before {
            passed();
            self.moved.notify_all();
        }
    }

    /// What was done up to an edge, at which all are, was judged. `passed` is called before any goes on.
    pub(crate) fn judge(&self, edge: Nanos, passed: impl FnOnce()) {
        let mut places = self.places();
        if edge > places.judged {
            places.judged = edge;
            passed();
            self.moved.notify_all();
        }
    }

    /// Lets each go as far as it likes.
    pub(crate) fn give_up(&self) {
        self.places().is_given_up = true;
        self.moved.notify_all();
    }

    /// The edge at which the last of the workers are; `NEVER` when there are none.
    pub(crate) fn earliest(&self) -> Nanos {
        self.places().earliest()
    }
}

/// How long those that are to stop at an edge have been awaited there.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Where the last of them are, and since when that is known.
    waits: Option<(Nanos, Nanos)>,
    is_over: bool,
}

impl Patience {
    /// Whether they are awaited no longer. `edge`: where the last of them are, or `None` when nobody is to stop who does not
    /// know it. Counts anew when they have come on: a machine that is busy elsewhere only makes them slow. Once over, it
    /// stays over.
    pub(crate) fn is_over(&mut self, edge: Option<Nanos>, limit: Nanos, now: Nanos) -> bool {
        self.waits = edge.map(|edge| self.waits.filter(|(at, _)| *at == edge).unwrap_or((edge, now)));
        let is_over = self.waits.is_some_and(|(_, since)| self.is_over || now.since(since) > limit);
        self.is_over |= is_over;
        is_over
    }

    /// What the record says about it when it is over.
    pub(crate) fn describe(&self) -> Option<String> {
        self.is_over.then(|| {
            "the workers in virtual time took too long to the next edge of an interval once they were to stop: each ended \
             where it was, streams at different virtual times, so that the next run's figures differ; use a shorter \
             interval of the report or a simulated target with a longer service time"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn none_passes_an_edge_that_was_not_judged() {
        const EDGES: u64 = 100;
        let lockstep = Arc::new(Lockstep::of(2, true));
        let allowed = Arc::new(AtomicU64::new(0));
        let worker = || {
            let (lockstep, allowed) = (Arc::clone(&lockstep), Arc::clone(&allowed));
            std::thread::spawn(move || {
                for edge in 1..=EDGES {
                    lockstep.reach(Nanos(edge - 1), Nanos(edge), || {});
                    assert!(allowed.load(Ordering::SeqCst) >= edge, "{edge} was not judged");
                }
                lockstep.leave(Nanos(EDGES), || {});
            })
        };
        let workers = [worker(), worker()];
        let mut judged = Nanos::ZERO;
        // One that passed too soon has ended, and comes to no further edge.
        while judged < Nanos(EDGES) && !workers.iter().any(std::thread::JoinHandle::is_finished) {
            let edge = lockstep.earliest().min(Nanos(EDGES));
            if edge > judged {
                allowed.store(edge.0, Ordering::SeqCst);
                lockstep.judge(edge, || {});
                judged = edge;
            }
            std::thread::yield_now();
        }
        workers.into_iter().for_each(|worker| worker.join().expect("no edge was passed too soon"));
    }

    #[test]
    fn none_passes_an_edge_before_the_others_are_there() {
        const EDGES: u64 = 200;
        // One leaves early, and one goes over every other edge.
        let workers = [(EDGES / 2, 1), (EDGES, 1), (EDGES, 2)];
        let lockstep = Arc::new(Lockstep::of(workers.len(), false));
        let reached: Arc<[AtomicU64; 3]> = Arc::default();
        let threads = workers.into_iter().enumerate().map(|(number, (edges, step))| {
            let (lockstep, reached) = (Arc::clone(&lockstep), Arc::clone(&reached));
            std::thread::spawn(move || {
                for at in (0..edges).step_by(step) {
                    let next = at + step as u64;
                    reached[number].store(next, Ordering::SeqCst);
                    lockstep.reach(Nanos(at), Nanos(next), || {});
                    let least = reached.iter().map(|other| other.load(Ordering::SeqCst)).min();
                    assert!(least.is_some_and(|least| least >= next), "{least:?} is behind {next}");
                }
                reached[number].store(u64::MAX, Ordering::SeqCst);
                lockstep.leave(Nanos(edges), || {});
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().expect("no worker is behind");
        }
    }

    #[test]
    fn whoever_waits_goes_on_when_it_is_given_up() {
        let lockstep = Arc::new(Lockstep::of(2, false));
        let waits = Arc::clone(&lockstep);
        let waiting = std::thread::spawn(move || waits.reach(Nanos::ZERO, Nanos(5), || {}));
        // It holds the lock from when it is there until it waits.
        while lockstep.places().at.len() < 2 {
            std::thread::yield_now();
        }
        lockstep.give_up();
        waiting.join().expect("it does not panic");
    }

    #[test]
    fn patience_counts_anew_when_the_last_come_on_and_once_over_it_stays_over() {
        let (limit, first, second) = (Nanos::secs(3), Some(Nanos::ZERO), Some(Nanos::secs(1)));
        let mut patience = Patience::default();
        let mut is_over =
            |edge, at| (patience.is_over(edge, limit, Nanos::secs(at)), patience.describe().is_some());
        assert_eq!(is_over(None, 10), (false, false));
        assert_eq!(is_over(first, 100), (false, false));
        assert_eq!(is_over(first, 103), (false, false));
        // Come on, told, and to be told of another stop later: each begins anew.
        assert_eq!(is_over(second, 104), (false, false));
        assert_eq!(is_over(second, 107), (false, false));
        assert_eq!(is_over(None, 108), (false, false));
        assert_eq!(is_over(second, 109), (false, false));
        assert_eq!(is_over(second, 113), (true, true));
        assert_eq!(is_over(None, 114), (false, true));
        assert_eq!(is_over(first, 115), (true, true));
    }
}
