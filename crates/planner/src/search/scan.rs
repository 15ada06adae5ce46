//! The steps of a scan: zones over all of a target, read in sequence, one read at a time; then a closer look at those
//! with errors and slow reads, a sixteenth at a time, down to the sector that cannot be read and the block that stays
//! slow, which then is read a few times more. A zone that is slow beside its neighbours is read once more. Between zones come
//! random reads over all of the target, for its access time.

use super::{Choice, Settings};
use crate::points::Label;
use crate::seeds::splitmix;
use fathom_analysis::load::LoadPoint;
use fathom_analysis::scan::{Area, Pace, Part, is_below_sector, places, slow_zones};
use fathom_model::Literal;
use fathom_schema::{ScanOrder, ScanQuestion, Step, StepFinished};
use fathom_units::{Bytes, Nanos};
use std::collections::VecDeque;

/// Parts that an area is looked at in, closer.
const PARTS: u64 = 16;
/// Areas looked at more closely at most: a thousand unreadable sectors far apart say enough about a device, and each may
/// take seconds to fail.
const CLOSER_MAX: usize = 4000;
/// Time of all closer looks together at most: what fails may take half a minute each time, and a list that is not quite
/// complete today is worth more than one that is complete next week.
const CLOSER_TIME_MAX: Nanos = Nanos::secs(30 * 60);
/// The slowest that anything is read at, bytes per second, with a minute to spare: what is not read by then is skipped.
const SLOWEST: u64 = 1 << 20;
const SPARE: Nanos = Nanos::secs(60);

/// The order of zones that is called random: the same each time, so that a scan can be compared with another.
const ORDER_SEED: u64 = 0x5ca1_ab1e;

/// Goes over a target.
#[derive(Debug, Clone)]
pub struct ScanSearch {
    question: ScanQuestion,
    zones: usize,
    queue: VecDeque<(Part, Area)>,
    running: Option<(Part, Area)>,
    /// By zone, how it was read, and whether it is looked at closer.
    read: Vec<(Option<Pace>, bool)>,
    /// Zones that were read.
    done: usize,
    closer: usize,
    /// Time that closer looks took, and reads of slow blocks again.
    spent: Nanos,
}

impl ScanSearch {
    /// The scan of a question.
    pub fn new(question: &ScanQuestion) -> Self {
        let zones = places(question);
        let first = Area { start: 0, length: u64::from(question.block) };
        let burst = question.burst_reads > 0 && question.size.0 >= first.length;
        let mut queue: VecDeque<(Part, Area)> = burst.then_some((Part::Burst, first)).into_iter().collect();
        let all = Area { start: 0, length: whole(question.size.0, access_block(question)) };
        let has_access = question.access_reads > 0 && all.length > 0;
        for (turn, zone) in order(question.order, zones.len()).into_iter().enumerate() {
            queue.push_back((Part::Zone(zone), zones[zone]));
            if has_access {
                queue.push_back((Part::Access(turn), all));
            }
        }
        Self {
            question: question.clone(),
            zones: zones.len(),
            queue,
            running: None,
            read: vec![(None, false); zones.len()],
            done: 0,
            closer: 0,
            spent: Nanos::ZERO,
        }
    }

    pub(super) fn next(&mut self, finished: Option<(&Step, &StepFinished)>) -> Option<Choice> {
        if let (Some((part, area)), Some((step, finished))) = (self.running.take(), finished) {
            match part {
                Part::Burst | Part::Access(_) => {}
                Part::Retry => self.spent = self.spent.after(finished.elapsed),
                Part::Zone(zone) => {
                    let is_whole = area.length >= u64::from(self.question.block);
                    let pace = pace(step, finished).filter(|_| is_whole);
                    let is_looked_at = self.look_closer(area, step, finished);
                    self.read[zone] = (pace, is_looked_at);
                    self.done += 1;
                    if self.done == self.zones {
                        self.read_again();
                    }
                }
                Part::Again(zone) => {
                    if !self.read.get(zone).is_some_and(|(_, is_looked_at)| *is_looked_at) {
                        self.look_closer(area, step, finished);
                    }
                }
                Part::Closer => {
                    self.spent = self.spent.after(finished.elapsed);
                    self.look_closer(area, step, finished);
                }
            }
            if self.spent >= CLOSER_TIME_MAX {
                self.queue.retain(|(part, _)| !matches!(part, Part::Closer | Part::Retry));
            }
        }
        let (part, area) = self.queue.pop_front()?;
        self.running = Some((part, area));
        Some(self.choice(part, area))
    }

    /// Puts zones that are slow beside their neighbours at the front of the queue.
    fn read_again(&mut self) {
        let paces: Vec<Option<Pace>> = self.read.iter().map(|(pace, _)| *pace).collect();
        let zones = places(&self.question);
        for (zone, _) in slow_zones(&paces).zones.into_iter().rev() {
            self.queue.push_front((Part::Again(zone), zones[zone]));
        }
    }

    /// Puts the parts of an area into the queue where it had errors or slow reads. Whether it had.
    fn look_closer(&mut self, area: Area, step: &Step, finished: &StepFinished) -> bool {
        let has_errors = has_errors(finished);
        let is_slow = || {
            let point = LoadPoint::of(step, &finished.streams);
            point.is_some_and(|point| point.response.moments.max_ns >= self.question.slow.0)
        };
        let (block, sector) = (u64::from(self.question.block), u64::from(self.question.sector));
        let is_slow = is_slow();
        let smallest = match (has_errors, is_slow || has_short(finished)) {
            (true, _) if area.length > block => block,
            (true, _) => sector,
            // Of a single read it is known what came.
            (false, true) => block,
            (false, false) => return false,
        };
        if self.closer >= CLOSER_MAX {
            return false;
        }
        if area.length <= smallest {
            // It failed as often as it was read; one that is slow may be so by chance, which more reads tell.
            if is_slow && !has_errors && self.question.retries > 0 {
                self.queue.push_back((Part::Retry, area));
                self.closer += 1;
            }
            return false;
        }
        let part = area.length.div_ceil(PARTS).next_multiple_of(smallest);
        let end = area.start + area.length;
        let mut start = area.start;
        while start < end {
            let length = part.min(end - start);
            self.queue.push_back((Part::Closer, Area { start, length }));
            self.closer += 1;
            start += length;
        }
        true
    }

    fn choice(&self, part: Part, area: Area) -> Choice {
        let at = Bytes(area.start).approximate();
        let name = match part {
            Part::Zone(zone) => format!("zone {} of {} at {at}", zone + 1, self.zones),
            Part::Again(zone) => format!("zone {} of {} at {at} again", zone + 1, self.zones),
            Part::Closer => format!("closer look at {}, {}", Bytes(area.start), Bytes(area.length)),
            Part::Retry => format!("{} more reads of {}", self.question.retries, Bytes(area.start)),
            Part::Access(turn) => format!("access time, {} of {}", turn + 1, self.zones),
            Part::Burst => format!("the first {} again and again", Bytes(area.length)),
        };
        let label = Label { name, parameters: part.parameters(), pause: Nanos::ZERO };
        Choice { settings: self.reads(part, area), label: Some(label) }
    }

    fn reads(&self, part: Part, Area { start, length }: Area) -> Settings {
        let number = |value: u64| Literal::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let ScanQuestion { block, sector, access_reads, burst_reads, retries, .. } = self.question;
        // What is smaller than a block, a whole target or its end, is one read as well: reads of a sector are no measure of its
        // speed. A closer look at what cannot be read is.
        let block = u32::try_from(length).map_or(block, |length| length.min(block));
        let sector = if length >= u64::from(self.question.block) { block } else { sector.min(block) };
        let is_random = matches!(part, Part::Access(_));
        let is_below_sector = !is_random && is_below_sector(&self.question, &Area { start, length });
        let (block, bytes) = match part {
            Part::Access(_) => {
                let block = access_block(&self.question);
                (block, u64::from(access_reads) * u64::from(block))
            }
            Part::Burst => (block, u64::from(burst_reads) * length),
            Part::Retry => (block, u64::from(retries) * length),
            Part::Zone(_) | Part::Again(_) => (block, length),
            Part::Closer => (sector, length),
        };
        let access = if is_random { "random" } else { "sequential" };
        let mut settings = vec![
            ("workload.read", "100%".into()),
            ("workload.access", access.into()),
            ("workload.block_size", number(u64::from(block))),
            ("stream.workers", number(1)),
            ("stream.queue_depth", number(1)),
            ("stream.offset", number(start)),
            ("stream.size", number(length)),
            ("stream.bytes", number(bytes)),
            ("stream.time", Literal::Text(format!("{}s", SPARE.0 / 1_000_000_000 + bytes.div_ceil(SLOWEST)))),
        ];
        if is_below_sector {
            // Direct I/O reads whole sectors only.
            settings.push(("stream.direct", Literal::Boolean(false)));
        }
        settings.into_iter().map(|(path, value)| (path.to_owned(), value)).collect()
    }

    /// The first and the last zone, random reads, and the smallest reads.
    pub(super) fn extremes(&self) -> Vec<Choice> {
        let zones = places(&self.question);
        let ends = [0, zones.len().saturating_sub(1)];
        let ends = ends.into_iter().filter_map(|zone| Some(self.choice(Part::Zone(zone), *zones.get(zone)?)));
        let access = self.queue.iter().find(|(part, _)| matches!(part, Part::Access(_)));
        let sector = Area { start: 0, length: u64::from(self.question.sector) };
        let access = access.map(|&(part, area)| self.choice(part, area));
        // Of a target without a byte as well: planning says what is the matter with it.
        let has_sector = self.question.size.0 >= sector.length || self.zones == 0;
        let closer = has_sector.then(|| self.choice(Part::Closer, sector));
        ends.chain(access).chain(closer).collect()
    }

    pub(super) fn steps_hint(&self) -> usize {
        let has_access = self.question.access_reads > 0;
        self.zones * (1 + usize::from(has_access)) + usize::from(self.question.burst_reads > 0)
    }
}

/// Bytes of a read for the access time: what is asked for, no less than a sector.
fn access_block(question: &ScanQuestion) -> u32 {
    question.access_block.max(question.sector)
}

fn whole(size: u64, block: u32) -> u64 {
    size / u64::from(block) * u64::from(block)
}

/// Numbers of so many zones in the order in which they are read.
fn order(order: ScanOrder, zones: usize) -> Vec<usize> {
    match order {
        ScanOrder::Linear => (0..zones).collect(),
        ScanOrder::Reverse => (0..zones).rev().collect(),
        ScanOrder::Butterfly => {
            (0..zones).map(|turn| if turn % 2 == 0 { turn / 2 } else { zones - 1 - turn / 2 }).collect()
        }
        ScanOrder::Random => {
            let mut all: Vec<usize> = (0..zones).collect();
            for last in (1..zones).rev() {
                let other = splitmix(ORDER_SEED ^ last as u64) % (last as u64 + 1);
                all.swap(last, usize::try_from(other).expect("below the number of zones"));
            }
            all
        }
    }
}

/// How a step was read; `None` where it had errors, or read nothing.
fn pace(step: &Step, finished: &StepFinished) -> Option<Pace> {
    LoadPoint::of(step, &finished.streams).filter(|_| !has_errors(finished)).map(|point| Pace::of(&point))
}

/// Whether reads came back with less than was asked for, though engines ask for the rest.
fn has_short(finished: &StepFinished) -> bool {
    let tallies = finished.streams.iter().flat_map(|stream| &stream.workers).map(|worker| &worker.tally);
    tallies.flat_map(|tally| &tally.kinds).any(|kind| kind.short > 0)
}

fn has_errors(finished: &StepFinished) -> bool {
    let tallies = finished.streams.iter().flat_map(|stream| &stream.workers).map(|worker| &worker.tally);
    tallies.flat_map(|tally| &tally.kinds).any(|kind| !kind.errors.is_empty())
}
