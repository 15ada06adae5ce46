//! The steps of a test of SNIA's PTS: its parts in order, rounds of a whole matrix until the rule calls them steady. The parts,
//! cells and the rule are `fathom_analysis::pts`; here they become settings of a job of one stream.

use super::{Choice, Settings};
use crate::points::Label;
use fathom_analysis::load::LoadPoint;
use fathom_analysis::pts::{Blocks, Cell, Flow, PartKind, Place, operating_points};
use fathom_analysis::steady::WINDOW;
use fathom_model::{Literal, Span, Spanned};
use fathom_schema::{
    BoundFigure, Extent, FileOrder, LayoutRule, OperationKind, Quota, SteadyQuestion, Step, Target,
    TargetKind,
};
use fathom_units::{Bytes, Nanos};

/// Bytes of one trim of a purge: as many as a small target has at least, and 8 TB are trimmed in minutes.
const TRIM_BYTES: i64 = 1 << 20;
/// User capacities that are written before rounds (PTS).
const FILLS: u64 = 2;
/// Sizes of the composite with their shares, per cent (JESD219).
const COMPOSITE: [(u32, u32); 12] = [
    (512, 4),
    (1024, 1),
    (1536, 1),
    (2048, 1),
    (2560, 1),
    (3072, 1),
    (3584, 1),
    (4096, 67),
    (8192, 10),
    (16_384, 7),
    (32_768, 3),
    (65_536, 3),
];
/// Passes over the active range that a fill is planned with; it ends by its bytes.
const FILL_PASSES: u32 = 2;
/// Where the composite goes: half of it to the first 5 % (JESD219).
const COMPOSITE_PLACES: &str = "zoned:50%/5%,30%/15%,20%/80%";

/// How often a load may end without an operation before the test does: what is empty three times stays so.
const EMPTY_MAX: u32 = 3;

/// Goes through a test.
#[derive(Debug, Clone)]
pub struct SteadySearch {
    flow: Flow,
    question: SteadyQuestion,
    running: Option<Place>,
    /// Bytes of all targets together.
    capacity: u64,
    /// The tracked figure of each round of this part.
    tracked: Vec<f64>,
    /// Operations per second and mean response time of the cells of its rounds; the last one may be unfinished.
    rounds: Vec<Vec<(f64, f64)>>,
    /// Bytes written in this part.
    written: f64,
    /// Cells of the operating points, once they are known.
    points: Vec<Cell>,
    /// How often the load that runs has ended without an operation.
    empty: u32,
}

impl SteadySearch {
    /// The test of a question.
    pub fn new(question: &SteadyQuestion) -> Self {
        Self {
            flow: Flow::of(question),
            question: question.clone(),
            running: None,
            capacity: 0,
            tracked: Vec::new(),
            rounds: Vec::new(),
            written: 0.0,
            points: Vec::new(),
            empty: 0,
        }
    }

    pub(super) fn next(&mut self, result: Option<&LoadPoint>) -> Option<Choice> {
        let place = match self.running {
            None => self.begin(0)?,
            Some(at) => self.after(at, result?)?,
        };
        self.empty = 0;
        self.running = Some(place);
        Some(self.choice(place))
    }

    /// The same load again, where it came to its end without an operation: a device that pauses, or a host that is busy, takes
    /// a short one whole.
    pub(super) fn again(&mut self) -> Option<Choice> {
        self.empty += 1;
        self.running.filter(|_| self.empty < EMPTY_MAX).map(|place| self.choice(place))
    }

    pub(super) fn built(&mut self, step: &mut Step) {
        let part = self.running.map(|place| &self.flow.parts[place.part].kind);
        self.capacity = step.targets.iter().map(|target| target.size).sum::<Bytes>().0;
        if let Some(PartKind::Fill(block)) = part {
            // By the user capacity, whatever part of it the active range is: passes would be of that part.
            let most = Bytes(self.capacity.saturating_mul(FILLS)).round_down(Bytes(u64::from(*block)));
            step.streams.iter_mut().for_each(|stream| stream.limits.bytes = Quota::AtMost(most.0));
        }
        if let Some(PartKind::Purge | PartKind::Fill(_)) = part {
            // As with thresholds: what is asked of the loads says nothing of what prepares for them, but errors are errors.
            step.abort_when.retain(|condition| condition.bound.figure == BoundFigure::Errors);
        }
        step.streams.iter_mut().for_each(|stream| stream.engine.trim_by = self.question.purge_by);
        if self.question.purge || self.question.purged_before.is_some() {
            step.targets.iter_mut().for_each(leave_empty);
        }
        self.write_on(step);
    }

    /// Lets sequential writes begin where those of the round before ended, and go over all of the target nevertheless: the
    /// same place again and again is another load, and so is a part of the target.
    fn write_on(&self, step: &mut Step) {
        for stream in &mut step.streams {
            let workload = &mut stream.workload;
            let block = workload.cases.iter().map(|case| u64::from(case.size.largest())).max().unwrap_or(1);
            let is_sequential =
                workload.cases.iter().all(|case| case.kind == OperationKind::Write && !case.random);
            // Several targets are written in turn: they begin anew.
            let ([worker], true) = (&mut stream.workers[..], is_sequential) else { continue };
            let [Extent { target, start, length, room }] = worker.extents[..] else { continue };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the length")]
            let at = (self.written % length.0 as f64) as u64 / block * block;
            if at == 0 || at + block > length.0 {
                continue;
            }
            let behind = Extent { target, start: Bytes(start.0 + at), length: Bytes(length.0 - at), room };
            let before = Extent { target, start, length: Bytes(at), room: Bytes(length.0 - at + room.0) };
            worker.extents = vec![behind, before];
            workload.file_order = FileOrder::Sequential;
        }
    }

    /// The first place of a part, or of the next one that has any.
    fn begin(&mut self, part: usize) -> Option<Place> {
        let kind = &self.flow.parts.get(part)?.kind;
        if let PartKind::OperatingPoints = kind {
            self.points = self.operating_points(part);
            if self.points.is_empty() {
                return self.begin(part + 1);
            }
        }
        self.tracked.clear();
        self.rounds.clear();
        self.written = 0.0;
        Some(Place { part, ..Place::default() })
    }

    /// Of the rounds of the part before.
    fn operating_points(&self, part: usize) -> Vec<Cell> {
        let Some(PartKind::Rounds(rounds)) = self.flow.parts[..part].last().map(|part| &part.kind) else {
            return Vec::new();
        };
        let window = &self.rounds[self.rounds.len().saturating_sub(WINDOW)..];
        let mean = |cell: usize| {
            let sum = window.iter().map(|round| round[cell]).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
            (sum.0 / window.len() as f64, sum.1 / window.len() as f64)
        };
        let means: Vec<(f64, f64)> = (0..rounds.cells.len()).map(mean).collect();
        operating_points(rounds, &means, self.question.haste)
    }

    /// What comes after a place where `result` was measured.
    fn after(&mut self, at: Place, result: &LoadPoint) -> Option<Place> {
        let onward = Place { cell: at.cell + 1, ..at };
        let cells = match &self.flow.parts[at.part].kind {
            PartKind::Purge | PartKind::Fill(_) => return self.begin(at.part + 1),
            PartKind::Sequence(cells) => cells.len(),
            PartKind::OperatingPoints => self.points.len(),
            PartKind::Rounds(rounds) => {
                if at.cell == 0 {
                    self.rounds.push(Vec::new());
                }
                self.rounds.last_mut()?.push((result.rate, result.mean_s));
                self.written += rounds.cells[at.cell].written(result.bytes_per_s);
                if at.cell == rounds.tracked {
                    self.tracked.push(rounds.figure.of(result));
                }
                if onward.cell == rounds.cells.len() {
                    let fills = self.written / self.capacity as f64;
                    return if rounds.is_over(&self.tracked, at.round + 1, fills) {
                        self.begin(at.part + 1)
                    } else {
                        Some(Place { round: at.round + 1, cell: 0, ..at })
                    };
                }
                rounds.cells.len()
            }
        };
        if onward.cell < cells { Some(onward) } else { self.begin(at.part + 1) }
    }

    fn choice(&self, place: Place) -> Choice {
        let part = &self.flow.parts[place.part];
        // In every shape that names a step, that of a spreadsheet included.
        let manner = match (self.question.haste, self.question.part) {
            (1, None) => "",
            (1, Some(_)) => "not PTS: ",
            _ => "quick, not PTS: ",
        };
        let of_cell = |cell: &Cell, round: &str| {
            let load = format!("{} T{}Q{}", cell.name(), cell.threads, cell.depth);
            let name = format!("{manner}{}{round}: {load}", part.title);
            let label = Label { name, parameters: place.parameters(&load), pause: cell.pause };
            Choice { settings: self.load(cell), label: Some(label) }
        };
        let conditioning = |settings: Settings| {
            let name = format!("{manner}{}", part.title);
            let label = Label { name, parameters: place.parameters(""), pause: Nanos::ZERO };
            Choice { settings, label: Some(label) }
        };
        match &part.kind {
            PartKind::Purge => conditioning(purge()),
            PartKind::Fill(block) => conditioning(self.in_active_range(fill(*block))),
            PartKind::Sequence(cells) => of_cell(&cells[place.cell], ""),
            PartKind::OperatingPoints => of_cell(&self.points[place.cell], ""),
            PartKind::Rounds(rounds) => {
                of_cell(&rounds.cells[place.cell], &format!(", round {}", place.round + 1))
            }
        }
    }

    fn load(&self, cell: &Cell) -> Settings {
        let mut settings = vec![
            set("workload.block_size", self.block_size(cell.blocks)),
            set("workload.read", Literal::Text(format!("{}%", cell.read_percent))),
            set("workload.access", if cell.is_random { "random".into() } else { "sequential".into() }),
            set("stream.workers", count(cell.threads)),
            set("stream.queue_depth", count(cell.depth)),
            set("stream.worker_regions", "same".into()),
            set("stream.time", Literal::Text(format!("{}ns", cell.time.0))),
        ];
        if cell.blocks == Blocks::Composite {
            settings.push(set("workload.distribution", COMPOSITE_PLACES.into()));
        }
        self.in_active_range(settings)
    }

    /// Kept to the active range, where that is not all of the targets.
    fn in_active_range(&self, mut settings: Settings) -> Settings {
        let percent = self.question.active_percent;
        if percent < 100 {
            settings.push(set("stream.size", Literal::Text(format!("{percent}%"))));
        }
        settings
    }

    fn block_size(&self, blocks: Blocks) -> Literal {
        match blocks {
            Blocks::Of(bytes) => count(bytes),
            Blocks::Composite => {
                let possible = |size: &u32| size.is_multiple_of(self.question.block_min.max(1));
                let sizes = COMPOSITE.into_iter().filter(|(size, _)| possible(size));
                let literal = |(size, share)| Literal::Text(format!("{size}B {share}%"));
                let spanned = |value| Spanned { value, span: Span::default() };
                Literal::List(sizes.map(literal).map(spanned).collect())
            }
        }
    }

    /// Each load that may come, once.
    pub(super) fn extremes(&self) -> Vec<Choice> {
        let mut all: Vec<Choice> = Vec::new();
        let mut add = |settings: Settings, title: &str| {
            if all.iter().all(|known| known.settings != settings) {
                let label = Label { name: title.to_owned(), parameters: Vec::new(), pause: Nanos::ZERO };
                all.push(Choice { settings, label: Some(label) });
            }
        };
        for part in &self.flow.parts {
            match &part.kind {
                PartKind::Purge => add(purge(), &part.title),
                PartKind::Fill(block) => add(self.in_active_range(fill(*block)), &part.title),
                PartKind::Sequence(cells) => cells.iter().for_each(|cell| add(self.load(cell), &cell.name())),
                PartKind::Rounds(rounds) => {
                    rounds.cells.iter().for_each(|cell| add(self.load(cell), &cell.name()));
                }
                // They are cells of the rounds before, only longer.
                PartKind::OperatingPoints => {}
            }
        }
        all
    }

    pub(super) fn steps_hint(&self) -> usize {
        self.flow.steps_max()
    }
}

fn set(path: &str, value: Literal) -> (String, Literal) {
    (path.to_owned(), value)
}

fn count(n: u32) -> Literal {
    Literal::Integer(i64::from(n))
}

/// A file that was emptied for the test, or made for it, is written by the test alone: laying it out before a step would
/// fill what the purge gave back.
fn leave_empty(target: &mut Target) {
    if let TargetKind::File { layout: layout @ LayoutRule::Written, .. } = &mut target.kind {
        *layout = LayoutRule::Allocated;
    }
}

fn purge() -> Settings {
    vec![
        set("workload.trim", "100%".into()),
        set("workload.read", "0%".into()),
        set("workload.access", "sequential".into()),
        set("workload.block_size", Literal::Integer(TRIM_BYTES)),
        set("stream.workers", count(1)),
        set("stream.queue_depth", count(1)),
        set("stream.passes", count(1)),
    ]
}

fn fill(block: u32) -> Settings {
    vec![
        set("workload.read", "0%".into()),
        set("workload.access", "sequential".into()),
        set("workload.block_size", count(block)),
        set("stream.workers", count(1)),
        set("stream.queue_depth", count(32)),
        set("stream.passes", count(FILL_PASSES)),
    ]
}
