//! What the streams of a step do together, while it goes on: all of them, and those that go to the same targets, at the
//! moment and since the measuring began. Histograms are merged, so that a percentile of several streams is theirs and not
//! the slowest one's. Knows nothing of how it gets to whoever looks.

use super::{
    FiguresView, GroupView, KindView, Live, SpanView, TargetSpan, TargetView, TargetsView, kind_view,
};
use crate::aims::{Apart, Missing, Uncounted, added_up, by_targets, response};
use crate::summary::kinds;
use fathom_metrics::merge_tally;
use fathom_schema::{Event, Interval, Phase, Step, StreamTally, TargetTally};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};
use std::collections::BTreeMap;

/// The figures of the step that goes on.
#[derive(Debug, Default)]
pub struct Gauges {
    step: Option<Going>,
}

#[derive(Debug)]
struct Going {
    index: u32,
    streams: Vec<OfStream>,
    /// Streams by the targets that they go to.
    groups: Vec<Vec<usize>>,
    /// How each stream is told by target.
    apart: Vec<Apart>,
    /// Targets that are told of; none where no stream goes to several.
    targets: BTreeMap<u32, OfTarget>,
    /// Those of which the totals are made.
    added: Vec<usize>,
    /// The interval that is being told of.
    newest: (u64, Phase),
    /// Whether something came that was not told.
    is_new: bool,
}

#[derive(Debug)]
struct OfTarget {
    name: String,
    /// Streams that go there and are told apart by target, or go nowhere else.
    streams: Vec<usize>,
    /// Streams that go there, too, and are not.
    without: Missing,
}

#[derive(Debug, Default)]
struct OfStream {
    last: Option<Interval>,
    since: Option<Part>,
}

/// What operations of a stream did in a part of its time.
#[derive(Debug, Clone)]
struct Part {
    start: Nanos,
    end: Nanos,
    tally: StreamTally,
}

impl Gauges {
    /// Takes in what happened. Gives the figures once all streams that are there have told of an interval, or where one of
    /// them has not when another is in the next; with them those of targets, where a stream goes to several.
    pub fn take(&mut self, event: &Event) -> Vec<Live> {
        match event {
            Event::StepStarted(started) => {
                self.step = Some(Going::new(started.index, &started.step));
                Vec::new()
            }
            Event::Interval(interval) => {
                self.step.as_mut().and_then(|going| going.interval(interval)).unwrap_or_default()
            }
            Event::StepFinished(_) => self
                .step
                .take()
                .filter(|going| going.is_new)
                .map(|mut going| going.told())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

impl Going {
    fn new(index: u32, step: &Step) -> Self {
        let added: Vec<usize> = (0..step.streams.len()).filter(|&at| step.adds_up(at)).collect();
        let apart: Vec<Apart> = step.streams.iter().map(Apart::of).collect();
        let mut targets: BTreeMap<u32, OfTarget> = BTreeMap::new();
        if apart.iter().any(Apart::is_several) {
            let adding = || apart.iter().enumerate().filter(|(at, _)| step.adds_up(*at));
            let uncounted = adding().filter(|(_, apart)| **apart == Apart::Not).map(|(at, _)| at);
            let uncounted = Uncounted::of(step, uncounted);
            for (stream, apart) in adding() {
                for &target in apart.targets() {
                    let of = || OfTarget {
                        name: step.targets[target as usize].name.clone(),
                        streams: Vec::new(),
                        without: uncounted.on(target),
                    };
                    targets.entry(target).or_insert_with(of).streams.push(stream);
                }
            }
        }
        Self {
            index,
            apart,
            targets,
            streams: step.streams.iter().map(|_| OfStream::default()).collect(),
            groups: by_targets(step).into_iter().map(|(_, streams)| streams).collect(),
            added: if added.is_empty() { (0..step.streams.len()).collect() } else { added },
            newest: (0, Phase::Ramp),
            is_new: false,
        }
    }

    fn interval(&mut self, interval: &Interval) -> Option<Vec<Live>> {
        let key = (interval.sequence, interval.phase);
        let overtaken = (key > self.newest && self.is_new).then(|| self.told());
        self.newest = self.newest.max(key);
        let OfStream { last, since } = self.streams.get_mut(interval.stream as usize)?;
        self.is_new = true;
        if interval.phase == Phase::Measure {
            match since {
                Some(Part { start, end, tally }) => {
                    (*start, *end) = ((*start).min(interval.start), (*end).max(interval.end));
                    merge_tally(tally, &interval.tally);
                }
                None => {
                    let (start, end, tally) = (interval.start, interval.end, interval.tally.clone());
                    *since = Some(Part { start, end, tally });
                }
            }
        }
        *last = Some(interval.clone());
        // One that was not in the interval before has ended, or has not begun; in the first interval all may be about to tell.
        let newest = self.newest;
        let is_done = |stream: &OfStream| match &stream.last {
            Some(last) => (last.sequence, last.phase) == newest || last.sequence + 1 < newest.0,
            None => newest.0 > 0,
        };
        let is_whole = self.streams.iter().all(is_done);
        overtaken.or_else(|| is_whole.then(|| self.told()))
    }

    fn told(&mut self) -> Vec<Live> {
        self.is_new = false;
        let reached = self.reached();
        std::iter::once(self.figures(reached)).chain(self.of_targets(reached)).collect()
    }

    fn figures(&self, reached: Nanos) -> Live {
        Live::Figures(Box::new(FiguresView {
            step: self.index,
            reached_s: reached.as_secs_f64(),
            last: self.last(&self.added, reached),
            since: self.since(&self.added),
            streams: (0..self.streams.len()).map(|at| self.since(&[at])).collect(),
            groups: self
                .groups
                .iter()
                .map(|streams| GroupView {
                    streams: streams.iter().map(|&at| at as u64).collect(),
                    last: self.last(streams, reached),
                    since: self.since(streams),
                })
                .collect(),
        }))
    }

    /// What was done on each target, where a stream goes to several.
    fn of_targets(&self, reached: Nanos) -> Option<Live> {
        if self.targets.is_empty() {
            return None;
        }
        let indices = |streams: &[usize]| streams.iter().map(|&at| at as u64).collect();
        let view = |target: u32, name: &String, streams: &[usize], without: &Missing| TargetView {
            target: name.clone(),
            streams: indices(streams),
            without: indices(&without.first),
            without_count: without.count,
            last: self.last_on(target, streams, reached),
            since: self.since_on(target, streams),
        };
        let several = self.apart.iter().enumerate().filter(|(_, apart)| apart.is_several());
        let of_stream = |(at, apart): (usize, &Apart)| {
            let known =
                apart.targets().iter().filter_map(|&target| Some((target, self.targets.get(&target)?)));
            known.map(|(target, of)| view(target, &of.name, &[at], &Missing::default())).collect::<Vec<_>>()
        };
        Some(Live::Targets(Box::new(TargetsView {
            step: self.index,
            parts: several.flat_map(of_stream).collect(),
            targets: self
                .targets
                .iter()
                .map(|(&target, of)| view(target, &of.name, &of.streams, &of.without))
                .collect(),
        })))
    }

    /// The newest interval of each on one target; rates add up.
    fn last_on(&self, target: u32, streams: &[usize], reached: Nanos) -> Option<TargetSpan> {
        let of = || streams.iter().filter_map(|&at| Some((at, self.newest_of(at, reached)?)));
        let start = of().map(|(_, last)| last.start).min()?;
        let end = of().map(|(_, last)| last.end).max()?;
        let on = |at: usize, last: &Interval| self.apart[at].on(target, &last.tally);
        let all = of().flat_map(|(at, last)| on(at, last));
        let mut span = TargetSpan { iops: 0.0, bytes_per_s: 0.0, ..target_span(all, start, end) };
        for (at, last) in of() {
            let TargetSpan { iops, bytes_per_s, .. } = target_span(on(at, last), last.start, last.end);
            span.iops += iops;
            span.bytes_per_s += bytes_per_s;
        }
        Some(span)
    }

    /// As in a report: operations of all over the time from the first start to the last end.
    fn since_on(&self, target: u32, streams: &[usize]) -> Option<TargetSpan> {
        let of = || streams.iter().filter_map(|&at| Some((at, self.streams[at].since.as_ref()?)));
        let start = of().map(|(_, part)| part.start).min()?;
        let end = of().map(|(_, part)| part.end).max()?;
        Some(target_span(of().flat_map(|(at, part)| self.apart[at].on(target, &part.tally)), start, end))
    }

    /// The newest interval of a stream that goes on: one that has ended has no part in what happens now.
    fn newest_of(&self, stream: usize, reached: Nanos) -> Option<&Interval> {
        let is_now = |last: &&Interval| last.end.after(Nanos(last.end.since(last.start).0 / 2)) > reached;
        self.streams[stream].last.as_ref().filter(is_now)
    }

    fn reached(&self) -> Nanos {
        let ends = self.streams.iter().filter_map(|stream| stream.last.as_ref()).map(|last| last.end);
        ends.max().unwrap_or_default()
    }

    /// The newest interval of each; rates add up.
    fn last(&self, streams: &[usize], reached: Nanos) -> Option<SpanView> {
        let of = || streams.iter().filter_map(|&at| self.newest_of(at, reached));
        let start = of().map(|last| last.start).min()?;
        let end = of().map(|last| last.end).max()?;
        let (all, _) = kinds(of().map(|last| &last.tally));
        let mut view = KindView { iops: 0.0, bytes_per_s: 0.0, ..kind_view("all", &all, end.since(start)) };
        let mut queue_depth_held = 0.0;
        for last in of() {
            let length = last.end.since(last.start);
            let (one, _) = kinds(std::iter::once(&last.tally));
            let KindView { iops, bytes_per_s, .. } = kind_view("all", &one, length);
            view.iops += iops;
            view.bytes_per_s += bytes_per_s;
            queue_depth_held += held(&last.tally, length);
        }
        Some(SpanView { start_s: start.as_secs_f64(), end_s: end.as_secs_f64(), queue_depth_held, all: view })
    }

    /// As in a report: operations of all over the time from the first start to the last end.
    fn since(&self, streams: &[usize]) -> Option<SpanView> {
        let of = || streams.iter().filter_map(|&at| self.streams[at].since.as_ref());
        let start = of().map(|part| part.start).min()?;
        let end = of().map(|part| part.end).max()?;
        let window = end.since(start);
        let (all, _) = kinds(of().map(|part| &part.tally));
        Some(SpanView {
            start_s: start.as_secs_f64(),
            end_s: end.as_secs_f64(),
            queue_depth_held: of().map(|part| held(&part.tally, window)).sum(),
            all: kind_view("all", &all, window),
        })
    }
}

fn target_span(tallies: impl IntoIterator<Item = TargetTally>, start: Nanos, end: Nanos) -> TargetSpan {
    let (all, _) = added_up(tallies);
    let some = (all.operations > 0).then_some(());
    let window = end.since(start);
    TargetSpan {
        start_s: start.as_secs_f64(),
        end_s: end.as_secs_f64(),
        operations: all.operations,
        errors: all.errors,
        iops: Iops::of(all.operations, window).0,
        bytes_per_s: BytesPerSec::of(Bytes(all.bytes), window).0,
        mean_ns: some.map(|()| response(&all).sum_ns as f64 / all.operations as f64),
        max_ns: some.map(|()| response(&all).max_ns),
    }
}

fn held(tally: &StreamTally, length: Nanos) -> f64 {
    if length.0 == 0 { 0.0 } else { tally.in_flight_ns / length.0 as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aims::TARGETS_MAX;
    use crate::{Summary, summary};
    use fathom_analysis::sample::{StreamShape, record, spread};
    use fathom_schema::{OperationKind, Record};

    fn told(record: &Record) -> Vec<FiguresView> {
        let all = all_told(record).into_iter();
        all.filter_map(|live| if let Live::Figures(view) = live { Some(*view) } else { None }).collect()
    }

    fn of_targets(record: &Record) -> Vec<TargetsView> {
        let all = all_told(record).into_iter();
        all.filter_map(|live| if let Live::Targets(view) = live { Some(*view) } else { None }).collect()
    }

    /// What is told of a record's steps, as they go on.
    fn all_told(record: &Record) -> Vec<Live> {
        let mut gauges = Gauges::default();
        let mut told = Vec::new();
        for step in &record.steps {
            let begun = Event::StepStarted(Box::new(step.started.clone()));
            let mut intervals = step.intervals.clone();
            intervals.sort_by_key(|interval| (interval.end, interval.stream));
            let events = intervals.into_iter().map(|interval| Event::Interval(Box::new(interval)));
            let finished = step.finished.clone().map(|finished| Event::StepFinished(Box::new(finished)));
            told.extend(std::iter::once(begun).chain(events).chain(finished).flat_map(|e| gauges.take(&e)));
        }
        told
    }

    /// Three streams, the first two on one target; the last is slower by far, and does little.
    fn three() -> Record {
        let shape = |name, rate| StreamShape {
            name,
            rates: vec![(OperationKind::Read, rate)],
            ..StreamShape::default()
        };
        let mut record = record(&[shape("a", 9000), shape("b", 900), shape("c", 50)]);
        let step = &mut record.steps[0].started.step;
        let mut other = step.targets[0].clone();
        other.name = "other".to_owned();
        step.targets.push(other);
        let number = u32::try_from(step.targets.len() - 1).expect("there are two");
        step.streams[2].workers.iter_mut().flat_map(|w| &mut w.extents).for_each(|e| e.target = number);
        record
    }

    #[test]
    fn what_is_told_at_the_end_is_what_the_report_says() {
        let record = three();
        let last = told(&record).pop().expect("something is told");
        let Summary { steps, .. } = summary(&record);
        let check = |found: Option<&SpanView>, expect: &crate::view::Totals| {
            let found = found.expect("it has measured");
            assert_eq!(found.all.operations, expect.all.operations);
            assert!(
                (found.all.iops / expect.all.iops - 1.0).abs() < 1e-9,
                "{} {}",
                found.all.iops,
                expect.all.iops
            );
            for (percent, ns) in [(50.0, found.all.p50_ns), (99.0, found.all.p99_ns)] {
                let of = expect.all.response.percentiles.iter().find(|one| one.percent == percent);
                assert_eq!(ns, of.and_then(|one| one.ns), "p{percent}");
            }
        };
        check(last.since.as_ref(), &steps[0].total);
        for (found, stream) in last.streams.iter().zip(&steps[0].streams) {
            check(found.as_ref(), &stream.total);
        }
        let groups: Vec<&[u64]> = last.groups.iter().map(|group| &*group.streams).collect();
        assert_eq!(groups, [&[0, 1][..], &[2]]);
        check(last.groups[1].since.as_ref(), &steps[0].streams[2].total);
    }

    #[test]
    fn what_is_told_of_targets_at_the_end_is_what_the_report_says() {
        let mut record = three();
        assert!(of_targets(&record).is_empty(), "each stream goes to one");
        spread(&mut record.steps[0], 0, &["x", "y", "z"]);
        let all = of_targets(&record);
        assert_eq!(all.len(), told(&record).len());
        let TargetsView { step: _, parts, targets } = all.last().expect("it is told");
        let Summary { steps, .. } = summary(&record);
        let figures = |view: &TargetView| view.since.clone().expect("it has measured");
        let expect = steps[0].streams[0].targets.iter().map(|of| (None, of));
        let expect = expect.chain(steps[0].targets.iter().map(|of| (Some(&of.streams), &of.figures)));
        let found: Vec<&TargetView> = parts.iter().chain(targets).collect();
        assert_eq!(found.len(), 3 + 5, "three of the one stream; they, and those of the two others");
        for (view, (streams, expect)) in found.into_iter().zip(expect) {
            let span = figures(view);
            assert_eq!((&view.target, span.operations), (&expect.target, expect.all.operations));
            assert_eq!(
                (span.mean_ns, span.max_ns),
                (expect.all.response_mean_ns, expect.all.response_max_ns)
            );
            assert!((span.iops - expect.all.iops).abs() < 1e-9 && span.bytes_per_s == expect.all.bytes_per_s);
            let of = |at: &u64| steps[0].streams[usize::try_from(*at).expect("few")].name.clone();
            let names: Vec<String> = view.streams.iter().map(of).collect();
            assert_eq!(&names, streams.unwrap_or(&vec!["a".to_owned()]));
            let now = view.last.as_ref().expect("they go on");
            // Every second has the same.
            assert!((now.iops / span.iops - 1.0).abs() < 1e-3, "{now:?} {span:?}");
        }
        let now: f64 = targets.iter().filter_map(|view| Some(view.last.as_ref()?.iops)).sum();
        let last = told(&record).pop().and_then(|view| view.last).expect("they go on");
        assert!((now / last.all.iops - 1.0).abs() < 1e-9);
    }

    #[test]
    fn figures_of_a_target_say_without_whom_they_are() {
        let mut record = three();
        spread(&mut record.steps[0], 0, &["x", "y", "z"]);
        let step = &mut record.steps[0].started.step;
        let (on_x, extent) = (step.streams[0].targets(), step.streams[1].workers[0].extents[0]);
        step.targets.resize(100, step.targets[0].clone());
        step.streams[1].workers[0].extents =
            (0..100).map(|target| fathom_schema::Extent { target, ..extent }).collect();
        let TargetsView { parts, targets, .. } = of_targets(&record).pop().expect("it is told");
        assert!(parts.iter().all(|part| part.without.is_empty()), "{parts:?}");
        assert_eq!(targets.len(), on_x.len() + 1);
        for view in targets {
            assert_eq!(
                (view.without, view.without_count),
                (vec![1], 1),
                "{} is one of the hundred",
                view.target
            );
        }
        // Of more than are named all are counted.
        let step = &mut record.steps[0].started.step;
        step.streams.extend(vec![step.streams[1].clone(); 40]);
        for view in of_targets(&record).pop().expect("it is told").targets {
            assert_eq!((view.without.len(), view.without_count), (TARGETS_MAX, 41), "{}", view.target);
        }
    }

    #[test]
    fn percentiles_of_several_streams_are_not_those_of_the_slowest() {
        let record = three();
        let now = told(&record).pop().expect("each interval is told").last;
        let now = now.expect("they go on");
        let of = |stream: u32| {
            let found =
                record.steps[0].intervals.iter().rfind(|i| i.stream == stream && i.phase == Phase::Measure);
            super::super::interval_view(found.expect("it has some")).all
        };
        // Half a per cent of all operations are those of the slow one: the 99th percentile is not among them.
        let (fast, slow) = (of(0), of(2));
        assert!(now.all.p50_ns < slow.p50_ns && now.all.p99_ns < slow.p50_ns, "{now:?}");
        assert!(now.all.p50_ns >= fast.p50_ns);
        assert!((now.all.iops - (0..3).map(|stream| of(stream).iops).sum::<f64>()).abs() < 1.0, "{now:?}");
    }

    #[test]
    fn an_interval_is_told_once_all_have_told_of_it_or_one_is_in_the_next() {
        let record = three();
        let all = told(&record);
        let edges: std::collections::BTreeSet<u64> =
            record.steps[0].intervals.iter().map(|interval| interval.end.0).collect();
        assert_eq!(all.len(), edges.len());
        let mut without = record.clone();
        without.steps[0].intervals.retain(|interval| interval.stream != 1 || interval.sequence < 3);
        let reached = |told: &[FiguresView]| told.iter().map(|view| view.reached_s).reduce(f64::max);
        assert_eq!(reached(&told(&without)), reached(&all), "one that has ended keeps nobody waiting");
        without.steps[0].intervals.retain(|interval| interval.stream != 1);
        assert_eq!(reached(&told(&without)), reached(&all), "nor does one that never begins");
        assert!(told(&without).len() >= edges.len() - 1);
    }
}
