//! A run's events for those who watch it: numbered, so that whoever was cut off goes on where it was. The run puts them
//! into a queue and goes on; a thread of its own makes texts of them. Knows nothing of HTTP.

use fathom_report::{Gauges, Live, live};
use fathom_run::{Progress, Sink, SinkError};
use fathom_schema::Event;
use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Intervals that are kept for those who come late: over five minutes of 64 streams, some 20 MB. What is older is in the
/// store.
const INTERVALS_MAX: usize = 20_000;

/// One event as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// Number in the run, from 1.
    pub(crate) number: u64,
    /// Its kind, e.g. `interval`.
    pub(crate) kind: &'static str,
    /// JSON.
    pub(crate) text: Arc<str>,
}

#[derive(Debug, Default)]
struct Log {
    /// All but intervals, samples of the host and progress.
    milestones: Vec<Told>,
    intervals: VecDeque<Told>,
    /// The newest figures of targets: each has all that those before it had, and there may be many.
    targets: Option<Told>,
    /// Number of the newest interval that was forgotten.
    forgotten: u64,
    last: u64,
    is_over: bool,
}

impl Log {
    /// Keeps an event. Returns its number.
    fn add(&mut self, kind: &'static str, text: String) -> u64 {
        self.last += 1;
        let told = Told { number: self.last, kind, text: text.into() };
        if kind == "targets" {
            self.targets = Some(told);
        } else if matches!(kind, "interval" | "figures" | "host" | "preparing") {
            self.intervals.push_back(told);
            if self.intervals.len() > INTERVALS_MAX {
                self.forgotten = self.intervals.pop_front().map_or(0, |told| told.number);
            }
        } else {
            self.milestones.push(told);
        }
        self.last
    }
}

/// The events of one run.
#[derive(Debug, Clone)]
pub(crate) struct Hub {
    log: Arc<Mutex<Log>>,
    changed: watch::Sender<u64>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { log: Arc::default(), changed: watch::Sender::new(0) }
    }
}

/// What comes after a number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Since {
    /// The events, in order.
    pub(crate) told: Vec<Told>,
    /// Whether some in between are no longer here.
    pub(crate) has_gap: bool,
    /// Whether no more will come.
    pub(crate) is_over: bool,
}

impl Hub {
    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().expect("no thread panics while it holds the lock")
    }

    fn add(&self, kind: &'static str, text: String) {
        let number = self.log().add(kind, text);
        self.changed.send_replace(number);
    }

    /// Adds the last of what is told. Whoever hears of it finds the run over, and may begin another.
    fn end(&self, rest: Vec<(&'static str, String)>) {
        let last = {
            let mut log = self.log();
            rest.into_iter().for_each(|(kind, text)| _ = log.add(kind, text));
            log.is_over = true;
            log.last
        };
        self.changed.send_replace(last + 1);
    }

    /// Whether no more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.log().is_over
    }

    /// All events after `number` that are here.
    pub(crate) fn since(&self, number: u64) -> Since {
        let log = self.log();
        // Whoever has more than there is has what is none of this run's: it begins anew.
        let number = if number > log.last { 0 } else { number };
        let after = |told: &&Told| told.number > number;
        // Numbers grow in both, so that what is new is at their ends.
        let new = |many: usize, at: &dyn Fn(usize) -> u64| {
            (0..many).rev().take_while(|&index| at(index) > number).count()
        };
        let intervals = new(log.intervals.len(), &|index| log.intervals[index].number);
        let milestones = new(log.milestones.len(), &|index| log.milestones[index].number);
        let mut told: Vec<Told> = log.milestones[log.milestones.len() - milestones..]
            .iter()
            .chain(log.intervals.range(log.intervals.len() - intervals..))
            .chain(&log.targets)
            .filter(after)
            .cloned()
            .collect();
        told.sort_by_key(|told| told.number);
        Since { told, has_gap: log.forgotten > number, is_over: log.is_over }
    }

    /// Tells when something is new.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The end that a run puts its events into. The thread behind it ends with it.
    pub(crate) fn sink(&self) -> HubSink {
        let (queue, events) = channel();
        let hub = self.clone();
        let spawned =
            std::thread::Builder::new().name("fathom-live".to_owned()).spawn(move || tell(&hub, events));
        HubSink { queue: spawned.is_ok().then_some(queue), hub: self.clone() }
    }
}

fn tell(hub: &Hub, events: impl IntoIterator<Item = Queued>) {
    let mut gauges = Gauges::default();
    // The end, and what may come behind it: told when the sink is dropped, since the record is whole only then.
    let mut rest = Vec::new();
    let mut is_ending = false;
    for queued in events {
        let told: Vec<(&'static str, String)> = match queued {
            Queued::Event(event) => {
                is_ending |= matches!(*event, Event::RunFinished(_));
                // What was left to be told of a step comes before its end.
                let (figures, live) = (gauges.take(&event), live(&event));
                let is_end = matches!(*event, Event::StepFinished(_));
                let (before, after) = if is_end { (figures, Vec::new()) } else { (Vec::new(), figures) };
                let told = before.into_iter().chain(live).chain(after);
                told.map(|live| (kind_of(&live), json(&live))).collect()
            }
            Queued::Preparing(text) => vec![("preparing", text)],
        };
        if is_ending {
            rest.extend(told);
        } else {
            told.into_iter().for_each(|(kind, text)| hub.add(kind, text));
        }
    }
    hub.end(rest);
}

fn json(live: &Live) -> String {
    serde_json::to_string(live).expect("it has only string keys")
}

const fn kind_of(live: &Live) -> &'static str {
    match live {
        Live::RunStarted { .. } => "run_started",
        Live::StepStarted { .. } => "step_started",
        Live::Interval(_) => "interval",
        Live::Figures(_) => "figures",
        Live::Targets(_) => "targets",
        Live::Host(_) => "host",
        Live::Note { .. } => "note",
        Live::StepFinished { .. } => "step_finished",
        Live::RunFinished { .. } => "run_finished",
    }
}

enum Queued {
    Event(Box<Event>),
    Preparing(String),
}

/// What a run puts its events into; it never waits.
pub(crate) struct HubSink {
    /// Absent when there is no thread to read it: viewers see nothing then, and the run goes on.
    queue: Option<Sender<Queued>>,
    hub: Hub,
}

impl Drop for HubSink {
    fn drop(&mut self) {
        if self.queue.is_none() {
            // Nobody else says that the run is over, which would be in the way of every other.
            self.hub.end(Vec::new());
        }
    }
}

impl HubSink {
    fn put(&self, queued: Queued) {
        if let Some(queue) = &self.queue {
            // The thread ends after the sender, so that it is there.
            let _ = queue.send(queued);
        }
    }
}

impl Sink for HubSink {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        if !matches!(event, Event::Sum(_)) {
            self.put(Queued::Event(Box::new(event.clone())));
        }
        Ok(())
    }

    fn preparing(&mut self, progress: &Progress<'_>) {
        let text = serde_json::json!({
            "event": "preparing", "path": progress.path, "done_bytes": progress.done.0, "total_bytes": progress.total.0,
        });
        self.put(Queued::Preparing(text.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_cut_off_goes_on_where_it_was() {
        let hub = Hub::default();
        hub.add("run_started", "a".to_owned());
        hub.add("interval", "b".to_owned());
        hub.add("note", "c".to_owned());
        hub.add("interval", "d".to_owned());
        let numbers = |since: u64| hub.since(since).told.iter().map(|told| told.number).collect::<Vec<_>>();
        assert_eq!(numbers(0), [1, 2, 3, 4]);
        assert_eq!(numbers(2), [3, 4]);
        assert_eq!(numbers(4), [0_u64; 0]);
        // What is none of this run's.
        assert_eq!(numbers(999_999), [1, 2, 3, 4]);
        assert!(!hub.since(2).has_gap && !hub.since(2).is_over);
        for _ in 0..INTERVALS_MAX {
            hub.add("interval", String::new());
        }
        // The oldest intervals are forgotten; what else happened is not, and the gap is known.
        assert_eq!(numbers(0)[..2], [1, 3]);
        assert!(hub.since(0).has_gap && hub.since(3).has_gap);
        assert!(!hub.since(4).has_gap);
        hub.end(Vec::new());
        assert!(hub.since(0).is_over && hub.is_over());
    }

    #[test]
    fn of_figures_of_targets_the_newest_is_kept() {
        let hub = Hub::default();
        for text in ["a", "b", "c"] {
            hub.add("interval", text.to_owned());
            hub.add("targets", text.to_uppercase());
        }
        let told = |since: u64| {
            hub.since(since).told.iter().map(|told| (told.number, told.text.to_string())).collect::<Vec<_>>()
        };
        let of = |all: &[(u64, &str)]| all.iter().map(|&(n, text)| (n, text.to_owned())).collect::<Vec<_>>();
        assert_eq!(told(0), of(&[(1, "a"), (3, "b"), (5, "c"), (6, "C")]));
        assert_eq!(told(5), of(&[(6, "C")]));
        assert_eq!(told(6), []);
        assert!(!hub.since(0).has_gap, "those before it had nothing that it has not");
    }

    fn finished() -> Event {
        Event::RunFinished(fathom_schema::RunFinished {
            outcome: fathom_schema::Outcome::Complete,
            wall_ms: 5,
            drives: Vec::new(),
        })
    }

    #[test]
    fn the_end_is_not_told_before_the_record_is_whole() {
        let hub = Hub::default();
        let mut queued =
            vec![Queued::Event(Box::new(finished())), Queued::Preparing("a".to_owned())].into_iter();
        // Asked for the next one, what came before is dealt with; the run still has its record to write.
        let events = std::iter::from_fn(|| {
            assert!(hub.since(0).told.is_empty() && !hub.is_over());
            queued.next()
        });
        tell(&hub, events);
        let told: Vec<_> = hub.since(0).told.iter().map(|told| told.kind).collect();
        assert_eq!(told, ["run_finished", "preparing"]);
        assert!(hub.is_over());
    }

    #[test]
    fn the_end_of_the_run_is_the_end_of_its_events() {
        let hub = Hub::default();
        let mut sink = hub.sink();
        sink.event(&finished()).expect("it never fails");
        let mut watch = hub.watch();
        drop(sink);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be made");
        runtime.block_on(async {
            while !hub.since(0).is_over {
                watch.changed().await.expect("the hub is there");
            }
        });
        let since = hub.since(0);
        assert_eq!(since.told.len(), 1);
        assert_eq!(
            &*since.told[0].text,
            r#"{"event":"run_finished","state":"complete","reason":null,"finished_ms":5}"#
        );
    }
}
