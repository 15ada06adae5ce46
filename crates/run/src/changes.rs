//! Changing the load of a run while it goes on: what may ask for it, and the step that takes the running one's place. It
//! does not know who asks.

use fathom_schema::{
    Arrival, Backlog, OpenRule, Pacing, Quota, RATES, RatePiece, Reach, Step, Stream, Think, TimeLimit,
};
use fathom_units::{ARRIVALS_PER_WORKER_MAX, Iops, Nanos};
use std::fmt;
use std::sync::{Arc, Mutex, mpsc};

/// Added to seeds with each change, so that no operation comes again: 2^64 / golden ratio.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Another load for a stream of the step that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RateChange {
    /// The stream's name.
    pub stream: String,
    /// What it is to do from now on.
    pub load: NewLoad,
}

/// What a stream is to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NewLoad {
    /// So many operations per second over all its workers; one of [`RATES`].
    Rate(Iops),
    /// As fast as slots free up.
    Maximum,
}

impl fmt::Display for RateChange {
    /// `stream.users.rate = 5000/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stream.{}.rate = {}", self.stream, self.load)
    }
}

impl fmt::Display for NewLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(Iops(rate)) => write!(f, "{rate}/s"),
            Self::Maximum => f.write_str("max"),
        }
    }
}

/// What is asked of a run that goes on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    /// A note with this text.
    Mark(String),
    /// Another load.
    Load(RateChange),
    /// What nobody can read as one, and why.
    Unreadable(String),
}

/// The way into a run for whoever wants to change its load; clones lead into the same run. It is looked at several times a
/// second; what is asked is told of at the moment when it was, and in its order.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// With the moment of each.
    asked: Arc<Mutex<Vec<(Nanos, Asked)>>>,
    /// Where it goes at once that a change is not made.
    refusals: Option<mpsc::Sender<String>>,
}

impl Changes {
    /// A way that tells at once, besides in the record, of each change that is not made, and why.
    pub fn telling() -> (Self, mpsc::Receiver<String>) {
        let (refusals, told) = mpsc::channel();
        (Self { refusals: Some(refusals), ..Self::default() }, told)
    }

    /// A change is not made.
    pub(crate) fn refuse(&self, message: &str) {
        if let Some(refusals) = &self.refusals {
            // Nobody may listen any more: the record has it.
            let _ = refusals.send(message.to_owned());
        }
    }

    /// Asks for a change. It is made within a second, or refused with a note in the record.
    pub fn ask(&self, change: RateChange) {
        self.put(Asked::Load(change));
    }

    /// Asks for a mark: a note with the text `what`, at this moment. It is in the record within a second while a step runs,
    /// else with the next one or the end of the run.
    pub fn mark(&self, what: String) {
        self.put(Asked::Mark(what));
    }

    /// Has it in the record that what was asked at this moment is no change, and why. Who asked is told by whom it was read.
    pub fn unreadable(&self, reason: String) {
        self.put(Asked::Unreadable(reason));
    }

    fn put(&self, asked: Asked) {
        let mut all = self.asked.lock().expect("no thread panics while it holds the lock");
        // Read under the lock: moments are in the order of what is asked.
        all.push((fathom_engine::monotonic(), asked));
    }

    pub(crate) fn take(&self) -> Vec<(Nanos, Asked)> {
        std::mem::take(&mut *self.asked.lock().expect("no thread panics while it holds the lock"))
    }
}

/// Why a change cannot be made on a step, in words. Only steps whose end is a time can go on where they were ended.
pub(crate) fn refusal(step: &Step, change: &RateChange) -> Option<String> {
    let RateChange { stream: name, load } = change;
    let mut of_name = step.streams.iter().filter(|stream| stream.name == *name);
    let Some(workers) = of_name.next().map(|stream| stream.workers.len()) else {
        let names: Vec<String> =
            step.streams.iter().take(NAMED_STREAMS).map(|stream| format!("\"{}\"", stream.name)).collect();
        let more = if step.streams.len() > NAMED_STREAMS { " and others" } else { "" };
        let names = names.join(", ");
        return Some(format!(
            "no stream \"{name}\" runs in the step \"{}\"; there {names}{more} do",
            step.name
        ));
    };
    if let NewLoad::Rate(Iops(rate)) = load {
        let (least, most) = (RATES.start(), RATES.end());
        if !RATES.contains(rate) {
            return Some(format!("a rate of {rate} operations per second is not one of {least} to {most}"));
        }
        let each = rate / workers.max(1) as f64;
        if each > ARRIVALS_PER_WORKER_MAX {
            return Some(format!(
                "a rate of {} asks for {} operations per second of each worker of \"{name}\"; one can follow {}",
                Iops(*rate),
                Iops(each),
                Iops(ARRIVALS_PER_WORKER_MAX)
            ));
        }
    }
    let reason = |stream: &Stream| {
        let limits = &stream.limits;
        if limits.time == TimeLimit::Unbounded
            || (limits.bytes, limits.operations) != (Quota::Unlimited, Quota::Unlimited)
        {
            Some(
                "ends by its work, and what is left of that is not known; give each stream of the stage a time and no \
                 operations, bytes or passes",
            )
        } else if !stream.control.after.is_empty() {
            Some("waits for others; a load can be changed where no stream of the stage does")
        } else if stream.control.at_end != Reach::Nothing {
            Some("ends others with itself; a load can be changed where no stream of the stage does")
        } else {
            None
        }
    };
    step.streams
        .iter()
        .find_map(|stream| reason(stream).map(|why| format!("the stream \"{}\" {why}", stream.name)))
}

/// Streams that a refusal names.
const NAMED_STREAMS: usize = 4;

/// The step that goes on where `step` was ended after `elapsed`, with `changes`; `earlier` are the names of those that
/// changes of this run made. `None` when nothing is left to do.
pub(crate) fn follow(
    step: &Step,
    changes: &[RateChange],
    elapsed: Nanos,
    earlier: &[String],
) -> Option<Step> {
    let number = earlier.len() as u64 + 1;
    let mut next = step.clone();
    next.pause_before = Nanos::ZERO;
    next.streams.retain_mut(|stream| go_on(stream, elapsed));
    for stream in &mut next.streams {
        // Where it goes on, the cache is as the load before left it.
        stream.engine.open = OpenRule::KeepCache;
        for worker in &mut stream.workers {
            worker.seed = worker.seed.wrapping_add(SEED_STEP.wrapping_mul(number));
        }
    }
    for RateChange { stream: name, load } in changes {
        for stream in next.streams.iter_mut().filter(|stream| stream.name == *name) {
            stream.pacing = match (load, &stream.pacing) {
                (NewLoad::Maximum, _) => Pacing::Closed { think: Think::None },
                (NewLoad::Rate(Iops(rate)), Pacing::Open { arrival, course: _, rate: _, backlog }) => {
                    Pacing::Open { rate: *rate, arrival: *arrival, course: Vec::new(), backlog: *backlog }
                }
                (NewLoad::Rate(Iops(rate)), Pacing::Closed { .. }) => Pacing::Open {
                    rate: *rate,
                    arrival: Arrival::Constant,
                    course: Vec::new(),
                    backlog: Backlog::Keep,
                },
            };
        }
        let path = format!("stream.{name}.rate");
        next.parameters.retain(|(known, _)| *known != path);
        next.parameters.push((path, load.to_string()));
        next.name = renamed(&next.name, name, *load);
    }
    next.name = numbered(next.name, earlier);
    (!next.streams.is_empty()).then_some(next)
}

/// A name that none of `earlier` has: `main, users.rate=5000/s (2)` where that load was there before.
fn numbered(name: String, earlier: &[String]) -> String {
    let like = |known: &&String| {
        known.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
    };
    match earlier.iter().filter(like).count() {
        0 => name,
        before => format!("{name} ({})", before + 1),
    }
}

/// The name of a step whose `stream` has a new load: `main, users.rate=5000/s`, in place of what an earlier change made of it.
fn renamed(step: &str, stream: &str, load: NewLoad) -> String {
    let part = format!(", {stream}.rate=");
    let base = match step.split_once(&part) {
        Some((before, after)) => {
            let rest = after.find(", ").map_or("", |end| &after[end..]);
            format!("{before}{rest}")
        }
        None => step.to_owned(),
    };
    format!("{base}{part}{load}")
}

/// Takes `elapsed` off a stream's times; false when nothing is left of it.
fn go_on(stream: &mut Stream, elapsed: Nanos) -> bool {
    let begun = elapsed.since(stream.start_delay);
    stream.start_delay = stream.start_delay.since(elapsed);
    let measured = begun.since(stream.ramp);
    stream.ramp = stream.ramp.since(begun);
    if let Pacing::Open { course, .. } = &mut stream.pacing {
        *course = rest_of(course, begun);
    }
    match &mut stream.limits.time {
        TimeLimit::Unbounded => true,
        TimeLimit::Nanoseconds(left) => {
            *left = left.saturating_sub(measured.0);
            *left > 0
        }
    }
}

/// What is left of a course after `elapsed`.
fn rest_of(course: &[RatePiece], elapsed: Nanos) -> Vec<RatePiece> {
    let mut gone = elapsed.0;
    let mut rest = Vec::new();
    for &RatePiece { length_ns, from_per_s, to_per_s } in course {
        let share = gone.min(length_ns) as f64 / length_ns.max(1) as f64;
        let left = length_ns.saturating_sub(gone);
        gone = gone.saturating_sub(length_ns);
        let from_per_s = from_per_s + (to_per_s - from_per_s) * share;
        rest.push(RatePiece { length_ns: left, from_per_s, to_per_s });
    }
    // The last piece stays, however short: its rate holds ever after.
    let last = rest.pop();
    rest.retain(|piece| piece.length_ns > 0);
    rest.extend(last);
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn piece(seconds: u64, from_per_s: f64, to_per_s: f64) -> RatePiece {
        RatePiece { length_ns: seconds * SECOND, from_per_s, to_per_s }
    }

    #[test]
    fn what_is_asked_has_its_moment_and_its_order() {
        let changes = Changes::default();
        let load = || RateChange { stream: "a".to_owned(), load: NewLoad::Maximum };
        let before = fathom_engine::monotonic();
        changes.ask(load());
        changes.mark("it is up".to_owned());
        changes.ask(load());
        let after = fathom_engine::monotonic();
        let (moments, asked): (Vec<_>, Vec<_>) = changes.take().into_iter().unzip();
        assert_eq!(asked, [Asked::Load(load()), Asked::Mark("it is up".to_owned()), Asked::Load(load())]);
        assert!(moments.is_sorted() && moments[0] >= before && moments[2] <= after, "{moments:?}");
        assert_eq!(changes.take(), [], "each is taken once");
    }

    #[test]
    fn a_step_is_called_after_its_new_load() {
        let to = |step: &str, stream: &str, rate| renamed(step, stream, NewLoad::Rate(Iops(rate)));
        assert_eq!(to("main", "a", 2000.0), "main, a.rate=2000/s");
        assert_eq!(to("main, a.rate=2000/s", "a", 500.0), "main, a.rate=500/s");
        assert_eq!(to("main, a.rate=2000/s, b.rate=9/s", "a", 500.0), "main, b.rate=9/s, a.rate=500/s");
        assert_eq!(
            renamed("main (queue_depth=4)", "a", NewLoad::Maximum),
            "main (queue_depth=4), a.rate=max"
        );
    }

    #[test]
    fn a_load_that_comes_back_has_a_name_of_its_own() {
        let mut names: Vec<String> = Vec::new();
        let mut last = "main".to_owned();
        for (rate, expect) in [
            (5.0, "main, a.rate=5/s"),
            (5.0, "main, a.rate=5/s (2)"),
            (9.0, "main, a.rate=9/s"),
            (5.0, "main, a.rate=5/s (3)"),
            (50.0, "main, a.rate=50/s"),
        ] {
            last = numbered(renamed(&last, "a", NewLoad::Rate(Iops(rate))), &names);
            assert_eq!(last, expect);
            names.push(last.clone());
        }
    }

    #[test]
    fn a_course_goes_on_where_it_was() {
        let course = [piece(10, 100.0, 100.0), piece(10, 100.0, 200.0), piece(5, 50.0, 50.0)];
        for (seconds, expect) in [
            (0, course.to_vec()),
            (4, vec![piece(6, 100.0, 100.0), course[1], course[2]]),
            (15, vec![piece(5, 150.0, 200.0), course[2]]),
            (100, vec![piece(0, 50.0, 50.0)]),
        ] {
            assert_eq!(rest_of(&course, Nanos::secs(seconds)), expect, "after {seconds} s");
        }
        assert_eq!(rest_of(&[], Nanos::secs(5)), []);
    }
}
