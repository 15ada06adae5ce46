//! What a scan shows: the profile of zones, classes of latency, what cannot be read and what is slow. Owns when a zone or a
//! block is called slow (zones: in `slow`); does not know how it is shown.

mod places;
mod scatter;
mod slow;

pub use places::{is_below_sector, places};
pub use scatter::Pace;
pub use slow::{SLOW_SHARE, Slow, slow_zones};

use crate::load::{LoadPoint, operations_for, slots};
use fathom_metrics::{Latency, bucket_bounds};
use fathom_schema::{LatencyTally, Question, Record, ScanQuestion, Step, StepRecord, Stop};

/// In front of the number of a zone that is read again.
const AGAIN: &str = "again ";
/// In front of the number of random reads.
const ACCESS: &str = "access ";

/// Quantiles of the access time that are told, where there are reads enough: one beyond each.
pub const ACCESS_QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

/// A rotation of a disk takes so many times as long as a read of 256 sectors with what lies around it.
const ROTATION_TO_BASE: f64 = 5.13;

/// Upper limits of the classes of latency of a disk with so many rotations a minute, nanoseconds, as hdck has them for 256
/// sectors: a read as it should be; one that changes the cylinder; one, two, four and six more rotations, each a failed try
/// to read (the last four half a rotation further). At 7200 rotations: 2.44, 5.79, 14.12, 22.46, 39.12 and 55.79 ms.
pub fn rotation_limits(rpm: u32) -> Vec<u64> {
    let rotation_ns = 60e9 / f64::from(rpm);
    let base = rotation_ns / ROTATION_TO_BASE;
    let later = [0.5, 1.5, 2.5, 4.5, 6.5].map(|rotations| base + rotations * rotation_ns);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds at most")]
    let ns = |limit: f64| limit.round() as u64;
    std::iter::once(1.5 * base).chain(later).map(ns).collect()
}

/// What the classes of [`rotation_limits`] mean, the last without a limit.
pub const ROTATION_CLASSES: [&str; 7] = [
    "as it should be",
    "change of cylinder",
    "1 re-read",
    "2 re-reads",
    "4 re-reads",
    "6 re-reads",
    "more re-reads",
];

/// Bytes of a target in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

impl Area {
    fn holds(&self, other: &Self) -> bool {
        self != other && self.start <= other.start && other.start + other.length <= self.start + self.length
    }
}

/// What a step of a scan is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The zone of this number, from 0.
    Zone(usize),
    /// The same again, since it was slow beside its neighbours.
    Again(usize),
    /// A closer look at a part of what was read before.
    Closer,
    /// More reads of a block that stays slow.
    Retry,
    /// Random reads over all of it, the so-manieth of them.
    Access(usize),
    /// The first block again and again.
    Burst,
}

impl Part {
    /// As parameters of its step; zones count from 1.
    pub fn parameters(self) -> Vec<(String, String)> {
        let value = match self {
            Self::Zone(zone) => (zone + 1).to_string(),
            Self::Again(zone) => format!("{AGAIN}{}", zone + 1),
            Self::Closer => "closer".to_owned(),
            Self::Retry => "retry".to_owned(),
            Self::Access(turn) => format!("{ACCESS}{}", turn + 1),
            Self::Burst => "burst".to_owned(),
        };
        vec![("scan.zone".to_owned(), value)]
    }

    fn of(step: &Step) -> Option<Self> {
        let (_, value) = step.parameters.iter().find(|(name, _)| name == "scan.zone")?;
        let number = |text: &str| text.parse::<usize>().ok()?.checked_sub(1);
        match value.as_str() {
            "closer" => Some(Self::Closer),
            "retry" => Some(Self::Retry),
            "burst" => Some(Self::Burst),
            value => match (value.strip_prefix(AGAIN), value.strip_prefix(ACCESS)) {
                (Some(zone), _) => number(zone).map(Self::Again),
                (None, Some(turn)) => number(turn).map(Self::Access),
                (None, None) => number(value).map(Self::Zone),
            },
        }
    }
}

/// Whether a step of a scan is none of those that all scans of a target have: the places.
pub(crate) fn is_aside(step: &Step) -> bool {
    Part::of(step).is_some_and(|part| !matches!(part, Part::Zone(_)))
}

/// Whether a step of a scan reads what lies behind the last whole sector.
pub(crate) fn reads_below_sector(record: &Record, step: &Step) -> bool {
    let Some(Question::Scan(question)) = &record.started.question else { return false };
    let extents = step.streams.iter().flat_map(|stream| &stream.workers).flat_map(|worker| &worker.extents);
    let mut areas = extents.map(|extent| Area { start: extent.start.0, length: extent.length.0 });
    !matches!(Part::of(step), None | Some(Part::Access(_)))
        && areas.all(|area| is_below_sector(question, &area))
}

/// A zone that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    /// What of the target was read.
    pub area: Area,
    /// Bytes per second, without the time that reads took to fail.
    pub bytes_per_s: f64,
    /// Mean latency of a read, seconds.
    pub mean_s: f64,
    /// Longest, seconds.
    pub max_s: f64,
    /// Reads that failed.
    pub errors: u64,
    /// Reads by class of latency.
    pub classes: Vec<u64>,
    /// Variance of what reads took by the square of its mean; `None` of fewer than two.
    pub variance: Option<f64>,
    /// Whether it is slow beside its neighbours or behind a sharp border, each time that it was read.
    pub is_slow: bool,
    /// Whether it was so at first and no more when it was read again, which is when `bytes_per_s` was measured.
    pub was_slow: bool,
    /// Whether it is slow and was not read again, so that something else may have disturbed it.
    pub is_unproven: bool,
}

impl Zone {
    /// Reads that did not fail.
    pub fn reads(&self) -> f64 {
        self.classes.iter().sum::<u64>() as f64
    }

    /// The worst class that any of its reads is in; `None` where none was read without an error.
    pub fn worst(&self) -> Option<usize> {
        self.classes.iter().rposition(|reads| *reads > 0)
    }
}

/// What random reads showed, which are in no class and in no zone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Access {
    /// Where each went, first byte, and how long it took, nanoseconds; in the order of places.
    pub reads: Vec<(u64, u64)>,
    /// How many failed.
    pub errors: u64,
}

impl Access {
    /// Mean, seconds.
    pub fn mean_s(&self) -> f64 {
        self.reads.iter().map(|(_, ns)| *ns as f64).sum::<f64>() / self.reads.len().max(1) as f64 / 1e9
    }

    /// Shortest and longest, seconds.
    pub fn range_s(&self) -> (f64, f64) {
        let all = || self.reads.iter().map(|(_, ns)| *ns);
        (all().min().unwrap_or(0) as f64 / 1e9, all().max().unwrap_or(0) as f64 / 1e9)
    }

    /// A quantile by nearest rank, seconds.
    ///
    /// # Errors
    /// The number of reads that it takes, where there are fewer: one beyond it.
    pub fn quantile_s(&self, quantile: f64) -> Result<f64, u64> {
        let needs = operations_for(quantile);
        let mut sorted: Vec<u64> = self.reads.iter().map(|(_, ns)| *ns).collect();
        sorted.sort_unstable();
        if (sorted.len() as u64) < needs {
            return Err(needs);
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most their number")]
        let rank = (quantile * sorted.len() as f64).ceil() as usize;
        Ok(sorted[rank.clamp(1, sorted.len()) - 1] as f64 / 1e9)
    }
}

/// What a scan came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Scan {
    /// What was asked.
    pub question: ScanQuestion,
    /// The zones that were read, in order.
    pub zones: Vec<Zone>,
    /// The share of its neighbours' speed below which a zone is slow: [`SLOW_SHARE`], or less where zones scatter by chance; 0
    /// where nothing can be told from that.
    pub slow_share: f64,
    /// What cannot be read: sectors, or more where the search for them was given up; each with the `errno` it fails with.
    pub unreadable: Vec<(Area, i32)>,
    /// Areas with errors that did not come again at a closer look, or came at one of several reads of the same.
    pub errors_once: Vec<Area>,
    /// Blocks that were slow every time, and how long they take, seconds: the median of the reads that were for this, or the last.
    pub slow: Vec<(Area, f64)>,
    /// Areas with a slow read that did not come again.
    pub slow_once: Vec<Area>,
    /// Those of the slow blocks that were to be read again and were not, since that takes too long: each was slow once.
    pub slow_unproven: Vec<Area>,
    /// What was to be read and was not, and why: neither known to be well nor not. Of a scan that ended early not what it did
    /// not come to.
    pub skipped: Vec<(Area, Skipped)>,
    /// Whether all zones were read and looked at.
    pub is_complete: bool,
    /// The access time; `None` where it was not measured.
    pub access: Option<Access>,
    /// Bytes per second of one block that is read again and again: what the way to the device carries.
    pub burst: Option<f64>,
}

impl Scan {
    /// Whether any read failed, be it once.
    pub fn has_failed(&self) -> bool {
        let has_lost = self.access.as_ref().is_some_and(|access| access.errors > 0);
        has_lost || !self.unreadable.is_empty() || !self.errors_once.is_empty()
    }

    /// Whether all that was to be read was: otherwise what was found is not all that there is.
    pub fn is_through(&self) -> bool {
        self.is_complete && self.skipped.is_empty() && !self.zones.is_empty()
    }

    /// Bytes of the places that were read, and of those that were to be.
    pub fn read_of(&self) -> (u64, u64) {
        let read = self.zones.iter().map(|zone| zone.area.length).sum();
        (read, places(&self.question).iter().map(|area| area.length).sum())
    }
}

/// Why something was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skipped {
    /// It takes too long.
    TooLong,
    /// Reads brought less than was asked for.
    Short,
    /// It was not tried.
    Untried,
}

impl Skipped {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Short => "short",
            Self::Untried => "untried",
        }
    }
}

/// One step: an area and what reading it showed.
struct Look {
    /// What was read of it.
    area: Area,
    /// What was to be read.
    wanted: Area,
    errors: u64,
    /// What most of them were.
    errno: i32,
    max_s: f64,
    /// Of reads that brought less than was asked for: how many bytes from the start on are known to have come.
    short: Option<u64>,
    /// Whether the same was read before.
    is_again: bool,
}

/// The scan of a record; `None` when it is of none.
pub fn scan(record: &Record) -> Option<Scan> {
    let Some(Question::Scan(question)) = &record.started.question else { return None };
    let slow_s = question.slow.as_secs_f64();
    // A finished run has asked for all that there was to ask.
    let ended = Ended::of(record);
    let (mut zones, mut looks, mut again) = (Vec::new(), Vec::new(), Vec::new());
    let (mut retried, mut access, mut burst) = (Vec::new(), None, None);
    let (mut failed_once, mut slow_at_first, mut broken_off) = (Vec::new(), Vec::new(), Vec::new());
    for step in &record.steps {
        let Some(part) = Part::of(&step.started.step) else { continue };
        let Some((mut look, point)) = look(step) else { continue };
        let stop = step.finished.as_ref().map(|finished| finished.stop);
        if stop != Some(Stop::Complete) && !matches!(part, Part::Access(_)) {
            // How far it came is not known of each read, as it is of random ones, but what one of them showed is.
            if part != Part::Burst {
                broken_off.push(look);
            }
            continue;
        }
        match part {
            Part::Zone(_) => zones.push(zone(&look, point.as_ref(), step, &question.classes_ns)),
            Part::Again(zone) => {
                look.is_again = true;
                again.extend(point.filter(|_| look.errors == 0).map(|point| (zone, point.bytes_per_s)));
            }
            Part::Closer => {}
            Part::Retry => {
                retried.push((look, median(step)));
                continue;
            }
            Part::Access(_) => {
                let all = access.get_or_insert_with(Access::default);
                all.errors += look.errors;
                all.reads.extend(singles(step));
                continue;
            }
            Part::Burst => {
                failed_once.extend((look.errors > 0).then_some(look.area));
                burst =
                    median(step).filter(|ns| *ns > 0).map(|ns| f64::from(question.block) * 1e9 / ns as f64);
                continue;
            }
        }
        looks.push(look);
    }
    // They were read in any order.
    zones.sort_by_key(|zone| zone.area.start);
    // What several reads agree on is what a block takes, and not what one took.
    for (again, ns) in &retried {
        failed_once.extend((again.errors > 0).then_some(again.wanted));
        let Some(ns) = ns else { continue };
        // A zone of one block was looked at as a zone, and perhaps again.
        let is_of_it = |look: &&mut Look| {
            look.area.start == again.wanted.start && look.area.length <= again.wanted.length
        };
        for look in looks.iter_mut().filter(is_of_it) {
            let took_s = *ns as f64 / 1e9;
            if look.max_s >= slow_s && took_s < slow_s {
                slow_at_first.push(look.area);
            }
            look.max_s = took_s;
        }
    }
    if let Some(access) = &mut access {
        access.reads.sort_unstable();
    }
    let slow_share = mark_slow(&mut zones, &again, u64::from(question.block));
    let (mut unreadable, mut errors_once) = ends(&looks, &|look| look.errors > 0);
    let skipped = given_up(skipped(&looks, &|look| look.is_bad(slow_s)), &looks, ended);
    let untried = if ended == Ended::Complete { untried(question, &looks) } else { Vec::new() };
    let (mut slow, mut slow_once) = ends(&looks, &|look| look.max_s >= slow_s);
    for look in broken_off {
        let is_new = |known: &[Area]| !known.iter().any(|area| look.area.holds(area) || look.area == *area);
        if look.errors > 0 && is_new(&unreadable) {
            unreadable.push(look.area);
        }
        if look.max_s >= slow_s && is_new(&slow) {
            slow.push(look.area);
        }
        looks.push(look);
    }
    unreadable.sort_by_key(|area| area.start);
    slow.sort_by_key(|area| area.start);
    let has_retry = |area: &Area| retried.iter().any(|(again, _)| again.wanted == *area);
    let slow_unproven =
        slow.iter().filter(|area| question.retries > 0 && !has_retry(area)).copied().collect();
    add(&mut errors_once, failed_once, &unreadable);
    add(&mut slow_once, slow_at_first, &slow);
    let took = |area: Area| {
        let look = looks.iter().rev().find(|look| look.area == area);
        (area, look.map_or(0.0, |look| look.max_s))
    };
    Some(Scan {
        question: question.clone(),
        zones,
        slow_share,
        unreadable: joined(unreadable).into_iter().map(|area| (area, errno(&looks, area))).collect(),
        errors_once,
        slow: slow.into_iter().map(took).collect(),
        slow_once,
        slow_unproven,
        skipped: skipped.into_iter().chain(untried).collect(),
        is_complete: ended == Ended::Complete,
        access,
        burst,
    })
}

/// Adds areas to those that were so once, where they are in none of these, and not so each time.
fn add(once: &mut Vec<Area>, areas: Vec<Area>, always: &[Area]) {
    for area in areas {
        let is_known = once.iter().chain(always).any(|other| *other == area || other.holds(&area));
        // What holds an area that is so each time was so because of that.
        if !is_known && !always.iter().any(|other| area.holds(other)) {
            once.push(area);
        }
    }
    once.sort_by_key(|area| area.start);
}

/// Reads of a step by themselves.
fn singles(step: &StepRecord) -> impl Iterator<Item = (u64, u64)> {
    let singles = step.finished.as_ref().and_then(|finished| finished.singles.as_ref());
    singles.into_iter().flat_map(|singles| singles.reads.iter().copied())
}

/// The lower median of the reads of a step, nanoseconds.
fn median(step: &StepRecord) -> Option<u64> {
    let mut all: Vec<u64> = singles(step).map(|(_, ns)| ns).collect();
    all.sort_unstable();
    all.get(all.len().checked_sub(1)? / 2).copied()
}

impl Look {
    /// Whether what it says of its area is not well: errors, a slow read, or less than was asked for.
    fn is_bad(&self, slow_s: f64) -> bool {
        self.errors > 0 || self.max_s >= slow_s || self.short.is_some()
    }
}

/// What reads of an area fail with, by the last that was within.
fn errno(looks: &[Look], area: Area) -> i32 {
    let within = |look: &&Look| look.errors > 0 && (area == look.area || area.holds(&look.area));
    looks.iter().rev().find(within).map_or(0, |look| look.errno)
}

/// What was to be read and neither the look itself nor closer ones have read. What a look says of an area that is not
/// well goes no further than the closer looks at it, where there were any.
fn skipped(looks: &[Look], is_so: &dyn Fn(&Look) -> bool) -> Vec<(Area, Skipped)> {
    let mut all = Vec::new();
    for look in looks.iter().filter(|look| !look.is_again) {
        let mut read: Vec<Area> =
            looks.iter().map(|other| other.wanted).filter(|other| look.wanted.holds(other)).collect();
        if !is_so(look) || read.is_empty() {
            read.push(Area { length: look.short.unwrap_or(look.area.length), ..look.area });
        }
        all.extend(gaps(look.wanted, read));
    }
    all.sort_by_key(|area| area.start);
    all.dedup();
    let is_short = |area: &Area| {
        let of_it = |look: &&Look| look.short.is_some() && (look.wanted == *area || look.wanted.holds(area));
        // What was looked at closer is told by that.
        looks.iter().filter(of_it).any(|look| !looks.iter().any(|other| look.wanted.holds(&other.wanted)))
    };
    let (short, long) = all.into_iter().partition(is_short);
    let because = |areas, why| joined(areas).into_iter().map(move |area| (area, why));
    let mut all: Vec<(Area, Skipped)> =
        because(long, Skipped::TooLong).chain(because(short, Skipped::Short)).collect();
    all.sort_by_key(|(area, _)| area.start);
    all
}

/// Where a scan came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// All was asked for that there was to ask.
    Complete,
    /// Behind a look, with others still to come.
    Between,
    /// Within a look.
    Within,
}

impl Ended {
    fn of(record: &Record) -> Self {
        let is_cut =
            |step: &StepRecord| step.finished.as_ref().is_none_or(|one| one.stop == Stop::Interrupted);
        match record.outcome() {
            Some(fathom_schema::Outcome::Complete) => Self::Complete,
            _ if record.steps.last().is_some_and(is_cut) => Self::Within,
            _ => Self::Between,
        }
    }
}

/// The same where the scan was ended: what was still to be looked at in the area that was looked at last was not given up for its time.
fn given_up(mut skipped: Vec<(Area, Skipped)>, looks: &[Look], ended: Ended) -> Vec<(Area, Skipped)> {
    let Some(last) = looks.last().map(|look| look.wanted).filter(|_| ended != Ended::Complete) else {
        return skipped;
    };
    // Closer looks at an area go from its start to its end.
    let was_to_come = |area: &Area| {
        let is_around = |wanted: &Area| wanted.holds(&last) && (wanted == area || wanted.holds(area));
        let is_behind =
            area.start >= last.start + last.length && looks.iter().any(|look| is_around(&look.wanted));
        is_behind || ended == Ended::Within && (*area == last || last.holds(area))
    };
    for (area, why) in &mut skipped {
        if *why == Skipped::TooLong && was_to_come(area) {
            *why = Skipped::Untried;
        }
    }
    skipped
}

/// What no step was to read, though it was asked for: records of before the last bytes were read have such.
fn untried(question: &ScanQuestion, looks: &[Look]) -> Vec<(Area, Skipped)> {
    let tried: Vec<Area> = looks.iter().map(|look| look.wanted).collect();
    let missing = places(question).into_iter().flat_map(|place| gaps(place, tried.clone())).collect();
    joined(missing).into_iter().map(|area| (area, Skipped::Untried)).collect()
}

/// What of an area is in none of these.
fn gaps(area: Area, mut covered: Vec<Area>) -> Vec<Area> {
    covered.sort_by_key(|area| area.start);
    let end = area.start + area.length;
    let mut all = Vec::new();
    let mut at = area.start;
    for other in covered.into_iter().chain([Area { start: end, length: 0 }]) {
        let to = other.start.min(end);
        if at < to {
            all.push(Area { start: at, length: to - at });
        }
        at = at.max(other.start + other.length);
    }
    all
}

/// The smallest areas that are so each time they were looked at, and those that were not when they were looked at closer.
fn ends(looks: &[Look], is_so: &dyn Fn(&Look) -> bool) -> (Vec<Area>, Vec<Area>) {
    let (mut always, mut once) = (Vec::new(), Vec::new());
    for look in looks.iter().filter(|look| is_so(look)) {
        let mut closer = looks.iter().filter(|other| look.wanted.holds(&other.wanted)).peekable();
        if closer.peek().is_none() {
            always.push(look.area);
        } else if !closer.any(is_so) {
            once.push(look.area);
        }
    }
    always.sort_by_key(|area: &Area| area.start);
    // What was read twice is told once.
    always.dedup();
    once.sort_by_key(|area: &Area| area.start);
    once.dedup();
    (always, once)
}

/// Areas that follow one another, as one.
fn joined(areas: Vec<Area>) -> Vec<Area> {
    let mut all: Vec<Area> = Vec::new();
    for area in areas {
        match all.last_mut() {
            Some(last) if last.start + last.length == area.start => last.length += area.length,
            _ => all.push(area),
        }
    }
    all
}

fn look(step: &StepRecord) -> Option<(Look, Option<LoadPoint>)> {
    let finished = step.finished.as_ref()?;
    let extent = step.started.step.streams.first()?.workers.first()?.extents.first()?;
    let wanted = Area { start: extent.start.0, length: extent.length.0 };
    let stream = step.started.step.streams.first()?;
    let block = stream.workload.cases.iter().map(|case| u64::from(case.size.largest())).max()?;
    let kinds =
        || finished.streams.iter().flat_map(|stream| &stream.workers).flat_map(|worker| &worker.tally.kinds);
    let errors = kinds().flat_map(|kind| &kind.errors).map(|(_, count)| count).sum();
    let most = kinds().flat_map(|kind| &kind.errors).max_by_key(|(_, count)| *count);
    let errno = most.map_or(0, |(errno, _)| *errno);
    let tried: u64 = kinds().map(|kind| kind.operations).sum::<u64>() + errors;
    let area = Area { length: tried.saturating_mul(block).min(wanted.length), ..wanted };
    let has_short = kinds().any(|kind| kind.short > 0);
    // Which of several brought less is not known.
    let short = has_short.then(|| if tried == 1 { kinds().map(|kind| kind.bytes).sum() } else { 0 });
    let area = short.filter(|_| tried == 1).map_or(area, |length| Area { length, ..area });
    let point = LoadPoint::of(&step.started.step, &finished.streams);
    let max_s = point.as_ref().map_or(0.0, |point| point.response.moments.max_ns as f64 / 1e9);
    Some((Look { area, wanted, errors, errno, max_s, short, is_again: false }, point))
}

fn zone(look: &Look, point: Option<&LoadPoint>, step: &StepRecord, limits: &[u64]) -> Zone {
    let counted = step.finished.as_ref().and_then(|finished| finished.singles.as_ref());
    let counted = counted.map(|singles| &singles.classes).filter(|classes| classes.len() == limits.len() + 1);
    Zone {
        area: look.area,
        bytes_per_s: point.map_or(0.0, |point| point.bytes_per_s * without_failing(point, step)),
        mean_s: point.map_or(0.0, |point| point.mean_s),
        max_s: look.max_s,
        errors: look.errors,
        classes: match (counted, point) {
            (Some(counted), _) => counted.clone(),
            (None, Some(point)) => classes(&point.response, limits),
            (None, None) => vec![0; limits.len() + 1],
        },
        variance: point.and_then(|point| Pace::of(point).variance),
        is_slow: false,
        was_slow: false,
        is_unproven: false,
    }
}

/// How many times as fast a step was without the time that its reads took to fail.
fn without_failing(point: &LoadPoint, step: &StepRecord) -> f64 {
    let workers =
        step.finished.iter().flat_map(|finished| &finished.streams).flat_map(|stream| &stream.workers);
    let failed_s: f64 = workers.map(|worker| worker.tally.failed_ns / 1e9).sum();
    let all_s = point.response.moments.count as f64 / point.rate;
    let read_s = all_s - failed_s / slots(&step.started.step).max(1.0);
    if read_s > 0.0 && read_s < all_s { all_s / read_s } else { 1.0 }
}

/// Reads by class in records of before they were counted one by one: to the width of a bucket (0.8 %).
fn classes(latencies: &LatencyTally, limits: &[u64]) -> Vec<u64> {
    let mut classes = vec![0; limits.len() + 1];
    for (index, &count) in Latency::from(latencies).histogram().counts().iter().enumerate() {
        if count > 0 {
            let (low, high) = bucket_bounds(index);
            classes[limits.partition_point(|limit| *limit <= u64::midpoint(low, high))] += count;
        }
    }
    classes
}

/// `again`: the speed of zones that were read once more. One that is not slow then was disturbed by something else. What is
/// left of a target behind its last whole block is a smaller read, and has no neighbour that is. Below which share of its neighbours'
/// speed a zone is slow.
fn mark_slow(zones: &mut [Zone], again: &[(usize, f64)], block: u64) -> f64 {
    let is_comparable = |zone: &Zone| zone.errors == 0 && zone.area.length >= block;
    let pace = |zone: &Zone| Pace {
        bytes_per_s: zone.bytes_per_s,
        reads: zone.classes.iter().sum(),
        variance: zone.variance,
    };
    let paces: Vec<Option<Pace>> = zones.iter().map(|zone| is_comparable(zone).then(|| pace(zone))).collect();
    let found = slow_zones(&paces);
    for (at, limit) in found.zones {
        let second = again.iter().rev().find(|(zone, _)| *zone == at).map(|(_, rate)| *rate);
        let zone = &mut zones[at];
        match second.filter(|rate| *rate >= limit) {
            Some(rate) => (zone.was_slow, zone.bytes_per_s) = (true, rate),
            None => (zone.is_slow, zone.is_unproven) = (true, second.is_none()),
        }
    }
    found.share
}

#[cfg(test)]
mod tests;
