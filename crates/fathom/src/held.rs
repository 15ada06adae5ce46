//! The events of a run that are in no file, in memory: of a run of any length, since the oldest intervals are added up once
//! there are many. Does not know why they are in no file, and of those that are no more than how far the run is.

use fathom_metrics::merge_tally;
use fathom_schema::{Event, Interval, Note, NoteKind, Record, Severity};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// Events from which on older intervals are added up: a day of seconds of one stream, some 300 MiB of them.
const FOLD_FROM: usize = 100_000;
/// Events that are looked at for that at once, so that a run does not wait for more than some milliseconds.
const FOLD_AT_ONCE: usize = 4096;

/// Events in the order in which they came. Beyond [`FOLD_FROM`] only what cannot be added up adds to them: starts and ends of
/// steps, and notes.
#[derive(Debug, Default)]
pub(crate) struct Held {
    events: Vec<Event>,
    /// Where adding up goes on: it goes through the older half again and again.
    next: usize,
    /// Whether anything was added up.
    is_folded: bool,
    /// Whether some of the run went to a file before: how far it was then.
    stored_until: Option<Nanos>,
    /// When the run and its latest step began, wall clock in milliseconds.
    run_ms: u64,
    step_ms: u64,
    /// How far the latest step is.
    latest: Nanos,
}

impl Held {
    /// Takes the next event. Sums are not held, since nothing that they cover is where a file's reader would look for it once
    /// intervals were added up.
    pub(crate) fn take(&mut self, event: &Event) {
        if let Event::Sum(_) = event {
            return;
        }
        self.follow(event);
        if self.events.len() >= FOLD_FROM {
            if !self.is_folded {
                self.is_folded = true;
                self.events.push(self.note());
            }
            self.fold();
        }
        self.events.push(event.clone());
    }

    /// What they come to so far; `None` before the run has begun.
    pub(crate) fn record(&self) -> Option<Record> {
        let mut events = self.events.iter().cloned();
        let Some(Event::RunStarted(started)) = events.next() else { return None };
        let mut record = Record::begin(*started);
        for event in events {
            // One that cannot follow is no part of it.
            let _ = record.push(event);
        }
        Some(record)
    }

    /// All of them, in order.
    pub(crate) fn into_events(self) -> Vec<Event> {
        self.events
    }

    /// Sees an event that goes to a file: those that do not may be of a run and a step that began there.
    pub(crate) fn pass(&mut self, event: &Event) {
        self.follow(event);
        self.stored_until = Some(self.now());
    }

    fn follow(&mut self, event: &Event) {
        match event {
            Event::RunStarted(started) => self.run_ms = started.wall_ms,
            Event::StepStarted(started) => (self.step_ms, self.latest) = (started.wall_ms, Nanos::ZERO),
            Event::Interval(interval) => self.latest = interval.end,
            _ => {}
        }
    }

    /// How far the run is.
    fn now(&self) -> Nanos {
        Nanos::millis(self.step_ms.saturating_sub(self.run_ms)).after(self.latest)
    }

    /// That not every interval is told of.
    fn note(&self) -> Event {
        // It may be told in the file, where there is room again at the end.
        let (since, first) = match self.stored_until {
            Some(until) => {
                (format!("from second {:.0} on ", until.as_secs_f64()), "what it did first of that")
            }
            None => (String::new(), "what it did at first"),
        };
        Event::Note(Note {
            at: self.now(),
            kind: NoteKind::Job,
            severity: Severity::Info,
            message: format!(
                "{since}the run was held in memory and not in a file, and of more than {FOLD_FROM} events the older intervals \
                 are added up: totals are exact, and {first} is told of in longer intervals"
            ),
        })
    }

    /// Adds up successive intervals of one phase of a stream, two by two, and samples of the host, in the next part of the older
    /// half.
    fn fold(&mut self) {
        let older = self.events.len() / 2;
        if self.next + FOLD_AT_ONCE > older {
            self.next = 0;
        }
        let part = self.next..(self.next + FOLD_AT_ONCE).min(older);
        let mut kept: Vec<Event> = Vec::with_capacity(part.len());
        // Where the first of two is.
        let (mut streams, mut host): (BTreeMap<_, usize>, Option<usize>) = (BTreeMap::new(), None);
        for event in self.events.drain(part.clone()) {
            match &event {
                Event::Interval(next) => {
                    let key = (next.step, next.stream);
                    let first = streams.remove(&key).and_then(|at| kept.get_mut(at));
                    match first {
                        Some(Event::Interval(first)) if first.phase == next.phase => {
                            join(first, next);
                            continue;
                        }
                        _ => drop(streams.insert(key, kept.len())),
                    }
                }
                Event::Host(next) => match host.take().and_then(|at| kept.get_mut(at)) {
                    Some(Event::Host(first)) if first.step == next.step => {
                        first.extend((**next).clone());
                        continue;
                    }
                    _ => host = Some(kept.len()),
                },
                // A step may come again under its number.
                Event::StepStarted(_) => (streams, host) = (BTreeMap::new(), None),
                _ => {}
            }
            kept.push(event);
        }
        self.next = part.start + kept.len();
        self.events.splice(part.start..part.start, kept);
    }
}

/// Adds the interval that follows.
fn join(first: &mut Interval, next: &Interval) {
    let Interval { step: _, stream: _, sequence: _, start, end, phase: _, late, tally } = next;
    first.start = first.start.min(*start);
    first.end = first.end.max(*end);
    first.late |= late;
    merge_tally(&mut first.tally, tally);
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{ErrorPolicy, Facts, HostSample, Phase, RunStarted, Step, StepStarted, StreamTally};

    const WALL_MS: u64 = 1_795_165_164_000;

    fn run_started() -> Event {
        Event::RunStarted(Box::new(RunStarted {
            schema_version: fathom_schema::VERSION,
            run: "01JD3T5W2A0000000000000001".to_owned(),
            tool_version: "0.1.0".to_owned(),
            command: Vec::new(),
            title: String::new(),
            description: None,
            sources: Vec::new(),
            echo: Vec::new(),
            wall_ms: WALL_MS,
            expected_seconds: None,
            question: None,
            thresholds: Vec::new(),
            abort_when: Vec::new(),
            facts: Facts::default(),
        }))
    }

    fn step_started() -> Event {
        let step = Step {
            name: "main".to_owned(),
            stage_index: 0,
            point_index: 0,
            parameters: Vec::new(),
            pause_before: Nanos::ZERO,
            targets: Vec::new(),
            streams: Vec::new(),
            errors: ErrorPolicy::Stop,
            interval: Nanos::secs(1),
            abort_when: Vec::new(),
            trees: Vec::new(),
        };
        let (devices, gauges) = (Vec::new(), None);
        Event::StepStarted(Box::new(StepStarted { index: 0, step, wall_ms: WALL_MS + 100, devices, gauges }))
    }

    fn interval(stream: u32, second: u64, phase: Phase) -> Interval {
        Interval {
            step: 0,
            stream,
            sequence: second,
            start: Nanos::secs(second),
            end: Nanos::secs(second + 1),
            phase,
            late: false,
            tally: StreamTally { arrivals: second, backlog_max: second, ..StreamTally::default() },
        }
    }

    /// A run of `seconds` with two streams, of which the first `ramp` are a ramp; the most events that were held. Its first
    /// `stored` seconds went to a file, with its starts.
    fn held(seconds: u64, ramp: u64, stored: Option<u64>) -> (Record, usize) {
        let (mut held, mut events) = (Held::default(), Vec::new());
        let mut most = 0;
        let mut tell = |event: Event, second: u64| {
            if stored.is_some_and(|stored| second < stored) {
                held.pass(&event);
                events.push(event);
            } else {
                held.take(&event);
                most = most.max(held.events.len());
            }
        };
        tell(run_started(), 0);
        tell(step_started(), 0);
        for second in 0..seconds {
            for stream in 0..2 {
                let phase = if second < ramp { Phase::Ramp } else { Phase::Measure };
                tell(Event::Interval(Box::new(interval(stream, second, phase))), second);
            }
            let (start, end) = (Nanos::secs(second), Nanos::secs(second + 1));
            let (processor_ticks, busy_ticks, devices) = (200, second % 200, Vec::new());
            let sample = HostSample { step: 0, start, end, processor_ticks, busy_ticks, devices };
            tell(Event::Host(Box::new(sample)), second);
        }
        events.extend(held.into_events());
        let mut events = events.into_iter();
        let Some(Event::RunStarted(started)) = events.next() else { panic!("the first is the start") };
        let mut record = Record::begin(*started);
        assert!(events.all(|event| record.push(event).is_ok()), "one came where none can be");
        (record, most)
    }

    #[test]
    fn a_run_of_any_length_is_held_and_nothing_of_it_lost() {
        for (seconds, ramp) in [(10, 3), (33_000, 0), (33_334, 7), (200_000, 12_345), (300_000, 1)] {
            let (record, most) = held(seconds, ramp, None);
            assert!(most <= FOLD_FROM + 1, "{seconds}: {most} events");
            let step = &record.steps[0];
            for stream in 0..2 {
                let mut at = Nanos::ZERO;
                for interval in step.intervals.iter().filter(|interval| interval.stream == stream) {
                    let (first, next) = (interval.sequence, interval.end.0 / 1_000_000_000);
                    assert_eq!((interval.start, first), (at, at.0 / 1_000_000_000), "{seconds} {ramp}");
                    assert_eq!(interval.phase == Phase::Ramp, next <= ramp, "phases are mixed");
                    assert_eq!(interval.tally.arrivals, (first..next).sum::<u64>());
                    assert_eq!(interval.tally.backlog_max, next - 1);
                    at = interval.end;
                }
                assert_eq!(at, Nanos::secs(seconds), "{seconds} {ramp}");
                let length =
                    |interval: Option<&Interval>| interval.map(|interval| interval.end.since(interval.start));
                assert_eq!(length(step.intervals.last()), Some(Nanos::secs(1)), "the newest are all there");
            }
            let ticks: u64 = step.host.iter().map(|sample| sample.busy_ticks).sum();
            assert_eq!(ticks, (0..seconds).map(|second| second % 200).sum::<u64>());
            assert_eq!(step.host.last().map(|sample| sample.end), Some(Nanos::secs(seconds)));
            // It says so, once, when it began.
            let is_folded = 3 * seconds > FOLD_FROM as u64;
            let said: Vec<Nanos> = record.notes.iter().map(|note| note.at).collect();
            match (is_folded, said.as_slice()) {
                (true, [at]) => assert!(*at > Nanos::secs(33_000) && *at < Nanos::secs(33_400), "{at}"),
                (false, []) => {}
                (_, said) => panic!("{seconds}: {is_folded} {said:?}"),
            }
        }
    }

    #[test]
    fn what_began_in_a_file_is_told_of_from_there() {
        for stored in [1, 46, 5000] {
            let (record, most) = held(60_000, 0, Some(stored));
            assert!(most <= FOLD_FROM + 1, "{stored}: {most} events");
            let ticks: u64 = record.steps[0].host.iter().map(|sample| sample.busy_ticks).sum();
            assert_eq!(ticks, (0..60_000).map(|second| second % 200).sum::<u64>(), "{stored}");
            let [note] = record.notes.as_slice() else { panic!("{stored}: {:?}", record.notes) };
            // A third of that many seconds after the file's last, since each has three events.
            let expect = Nanos::secs(stored + FOLD_FROM as u64 / 3);
            assert!(note.at.since(expect) < Nanos::secs(3) && note.at >= expect, "{stored}: {}", note.at);
            let since = format!("from second {stored} on the run was held in memory");
            assert!(note.message.starts_with(&since), "{}", note.message);
        }
        // Also where a step begins that none of the file knows.
        let mut held = Held::default();
        held.pass(&run_started());
        held.pass(&step_started());
        held.take(&step_started());
        held.take(&Event::Interval(Box::new(interval(0, 45, Phase::Measure))));
        let Event::Note(note) = held.note() else { panic!("it is a note") };
        assert_eq!(note.at, Nanos::millis(46_100));
    }
}
