//! What the tests consist of: parts in order, each with its cells. Sources: PTS 2.0.1 as its implementations have it, since
//! the text itself was not read; what is not the standard's own words is said where it stands.

use crate::load::LoadPoint;
use crate::steady::{Rule, WINDOW, Window};
use fathom_schema::{CapacityPart, DeviceClass, SteadyQuestion, SteadyTest, Step};
use fathom_units::Nanos;

/// Rounds after which a test is given up (PTS).
pub const ROUNDS_MAX: u32 = 25;

/// Shares of reads of the IOPS test, in its order, per cent.
const MIXES: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// Block sizes of the IOPS test, in its order, bytes.
const SIZES: [u32; 8] = [1024 << 10, 128 << 10, 64 << 10, 32 << 10, 16 << 10, 8 << 10, 4 << 10, 512];
/// Block sizes of the latency test, bytes.
const LATENCY_SIZES: [u32; 3] = [512, 4 << 10, 8 << 10];
/// Its shares of reads, per cent.
const LATENCY_MIXES: [u32; 3] = [100, 65, 0];
/// Numbers of threads and queue depths of the matrices of demand, high to low.
const DEMANDS: [u32; 7] = [32, 16, 8, 6, 4, 2, 1];
/// Idle times of host idle recovery, seconds.
const IDLE_S: [u64; 5] = [5, 10, 15, 25, 50];
/// Bursts of writes per idle time: 1800 s of writing in bursts of 5 s.
const BURSTS: usize = 360;
/// Cycles of write saturation at most: 24 h of 31 minutes.
const WSAT_CYCLES_MAX: u32 = 47;
/// User capacities that write saturation writes at most.
const WSAT_FILLS_MAX: f64 = 4.0;
/// Mean response time that the largest operating point keeps below, seconds.
const OPERATING_LATENCY_MAX_S: f64 = 0.005;
/// Share of the shortest mean response time by which others are as short, where none keeps below that.
const AS_SHORT: f64 = 0.05;

const MINUTE: Nanos = Nanos::secs(60);

/// The block sizes of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocks {
    /// One size, bytes.
    Of(u32),
    /// The sizes and places of the client composite (JESD219).
    Composite,
}

/// One load of a test.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Row of the table that it stands in; empty: it only conditions.
    pub row: String,
    /// Column of that table.
    pub column: &'static str,
    /// Block sizes.
    pub blocks: Blocks,
    /// Share of reads, per cent; the rest are writes.
    pub read_percent: u32,
    /// Whether it goes to random places.
    pub is_random: bool,
    /// Workers.
    pub threads: u32,
    /// Operations that each keeps in flight.
    pub depth: u32,
    /// How long it lasts.
    pub time: Nanos,
    /// Idle time before it.
    pub pause: Nanos,
}

impl Cell {
    /// `RND 4 KiB 65/35`.
    pub fn name(&self) -> String {
        let access = if self.is_random { "RND" } else { "SEQ" };
        let size = match self.blocks {
            Blocks::Of(bytes) => size_name(bytes),
            Blocks::Composite => "composite",
        };
        format!("{access} {size} {}", mix_name(self.read_percent))
    }

    /// Whether it is another one's load, however long either lasts.
    pub fn is_same_load(&self, other: &Self) -> bool {
        let Self { row: _, column: _, blocks, read_percent, is_random, threads, depth, time: _, pause: _ } =
            self;
        (*blocks, *read_percent, *is_random, *threads, *depth)
            == (other.blocks, other.read_percent, other.is_random, other.threads, other.depth)
    }

    /// Whether it writes at all.
    pub const fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// Bytes that it writes when it moves so many per second.
    pub fn written(&self, bytes_per_s: f64) -> f64 {
        bytes_per_s * self.time.as_secs_f64() * f64::from(100 - self.read_percent) / 100.0
    }
}

/// What is tracked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean response time, seconds.
    MeanLatency,
}

impl Figure {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Throughput => "bytes_per_s",
            Self::MeanLatency => "mean_s",
        }
    }

    /// Of one cell.
    pub const fn of(self, point: &LoadPoint) -> f64 {
        match self {
            Self::Iops => point.rate,
            Self::Throughput => point.bytes_per_s,
            Self::MeanLatency => point.mean_s,
        }
    }
}

/// Rounds of a whole matrix until they are steady.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// The matrix, in order.
    pub cells: Vec<Cell>,
    /// Which of the cells is tracked.
    pub tracked: usize,
    /// What of it.
    pub figure: Figure,
    /// Rounds at most.
    pub rounds_max: u32,
    /// User capacities that are written at most; absent: no bound.
    pub fills_max: Option<f64>,
}

impl Rounds {
    /// Whether it has to become steady. Write saturation ends as well when enough is written or after a day: what it is run
    /// for is how it went.
    pub const fn has_to_be_steady(&self) -> bool {
        self.fills_max.is_none()
    }

    /// Whether no further round is wanted after so many whose tracked figures are these and that wrote so many user
    /// capacities.
    pub fn is_over(&self, tracked: &[f64], rounds: usize, fills: f64) -> bool {
        let last = tracked.last_chunk::<WINDOW>();
        last.is_some_and(|values| Window::of(values).is_steady(Rule::Literal))
            || rounds >= self.rounds_max as usize
            || self.fills_max.is_some_and(|most| fills >= most)
    }
}

/// What a part does.
#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Trims everything.
    Purge,
    /// Writes twice the capacity in sequence, in blocks of so many bytes.
    Fill(u32),
    /// Rounds until steady.
    Rounds(Rounds),
    /// These cells once.
    Sequence(Vec<Cell>),
    /// The operating points that come out of the rounds before: each is led up to by an hour of writes, then measured.
    OperatingPoints,
}

/// A part with its title.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// For people.
    pub title: String,
    /// What it does.
    pub kind: PartKind,
}

/// Where in a test a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// Index of the part.
    pub part: usize,
    /// Round, from 0; 0 where there are none.
    pub round: usize,
    /// Index of the cell; 0 where there are none.
    pub cell: usize,
}

impl Place {
    /// As parameters of a step; rounds count from 1, as people do.
    pub fn parameters(&self, cell: &str) -> Vec<(String, String)> {
        let Self { part, round, cell: index } = self;
        [("part", part.to_string()), ("round", (round + 1).to_string()), ("index", index.to_string())]
            .into_iter()
            .map(|(name, value)| (format!("steady.{name}"), value))
            .chain([("steady.cell".to_owned(), cell.to_owned())])
            .collect()
    }

    /// Of a step, if it is one of a test.
    pub fn of(step: &Step) -> Option<Self> {
        let number = |name: &str| {
            let found = step.parameters.iter().find(|(known, _)| known.strip_prefix("steady.") == Some(name));
            found.and_then(|(_, value)| value.parse::<usize>().ok())
        };
        Some(Self { part: number("part")?, round: number("round")?.checked_sub(1)?, cell: number("index")? })
    }
}

/// When a test may end, counted from the step that begins; neither what is filled is in it, nor operating points, nor what lies
/// between one cell and the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// When every part is steady as early as it can be.
    pub earliest: Nanos,
    /// When none becomes steady.
    pub latest: Nanos,
    /// How often the targets are filled until then, which takes as long as it takes.
    pub fills: u32,
    /// Cells until the earliest end, and until the latest.
    pub cells: (u64, u64),
}

/// Smallest block of any test, bytes.
pub const BLOCK_MIN: u32 = 512;

/// What makes a test another one than the standard's, in words; empty: nothing that is known here.
pub fn deviations(question: &SteadyQuestion) -> Vec<String> {
    let SteadyQuestion {
        test,
        class,
        haste,
        purge,
        purged_before,
        block_min,
        has_histogram,
        has_operating_points,
        part,
        ..
    } = question;
    let quick = (*haste != 1).then(|| format!("all times are divided by {haste}"));
    let unpurged = !purge && purged_before.is_none();
    let unpurged = unpurged.then(|| "no purge, so that what was written before is not known".to_owned());
    let coarse = (*block_min > BLOCK_MIN).then(|| format!("no blocks smaller than {block_min} B"));
    let unspread = match test {
        SteadyTest::Latency if !has_histogram => Some("no histogram run, which the standard has since 2.0"),
        SteadyTest::Composite if !has_operating_points => Some("no histograms at operating points"),
        _ => None,
    };
    let unspread = unspread.map(str::to_owned);
    let partial = part.map(|part| partial(part, *class));
    [quick, partial, unpurged, coarse, unspread].into_iter().flatten().collect()
}

/// What is left of a target as it was is room for its controller, as over-provisioning is, and flatters it.
fn partial(CapacityPart { used, capacity }: CapacityPart, class: DeviceClass) -> String {
    let percent = (used.0 as f64 / capacity.0.max(1) as f64 * 1000.0).round() / 10.0;
    let (used, capacity) = (used.approximate(), capacity.approximate());
    let wants = match class {
        DeviceClass::Enterprise => "has 100 %",
        DeviceClass::Client => "purges 100 % and tests 75 %",
    };
    let standard = class.standard();
    format!(
        "only {used} of a user capacity of {capacity} ({percent} %) are purged and written where {standard} {wants}"
    )
}

/// What the run of a question is called.
pub fn title(question: &SteadyQuestion) -> String {
    let (kind, manner) = match (question.haste, question.class) {
        (2.., _) => ("quick ", ", not PTS"),
        _ if !deviations(question).is_empty() => ("", ", not PTS"),
        (_, DeviceClass::Enterprise) => ("PTS ", ""),
        (_, DeviceClass::Client) => ("PTS-C ", ""),
    };
    format!("{kind}{} test of {}{manner}", question.test.name(), question.targets.join(", "))
}

/// How the targets were purged, for people.
pub fn purge_words(question: &SteadyQuestion) -> String {
    match (question.purge, &question.purged_before) {
        (true, _) => question.purge_by.describe().to_owned(),
        (false, Some(how)) => how.clone(),
        (false, None) => "none; what was written before is not known".to_owned(),
    }
}

/// A test.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

impl Flow {
    /// The test that a question is about.
    pub fn of(question: &SteadyQuestion) -> Self {
        let busy = threads_and_depth(question.class);
        let parts = match question.test {
            SteadyTest::Iops => vec![fill(128 << 10), rounds("IOPS", iops(busy))],
            SteadyTest::Throughput => {
                return Self::finished(throughput(question.purge), question, false);
            }
            SteadyTest::Latency => {
                let histogram = || Part {
                    title: "histogram run".to_owned(),
                    kind: PartKind::Sequence(vec![histogram()]),
                };
                let mut parts = vec![fill(128 << 10), rounds("response times", latency())];
                parts.extend(question.has_histogram.then(histogram));
                parts
            }
            SteadyTest::Wsat => {
                vec![rounds("write saturation", saturation(busy, WSAT_CYCLES_MAX, Some(WSAT_FILLS_MAX)))]
            }
            SteadyTest::Hir => idle_recovery(busy, question.haste),
            SteadyTest::Xsr => vec![Part {
                title: "cross stimulus recovery".to_owned(),
                kind: PartKind::Sequence(cross_stimulus()),
            }],
            SteadyTest::Composite => {
                let load = |threads, depth| cell(Blocks::Composite, 40, true, (threads, depth));
                let mut parts = vec![
                    rounds("preconditioning", precondition(&load(32, 32))),
                    rounds("demand", demand(&load)),
                ];
                parts.extend(question.has_operating_points.then(operating_part));
                parts
            }
            SteadyTest::Dirth => {
                let load = |threads, depth| cell(Blocks::Of(8 << 10), 65, true, (threads, depth));
                let writes = cell(Blocks::Of(8 << 10), 0, true, (32, 32));
                vec![
                    fill(128 << 10),
                    rounds("preconditioning", precondition(&writes)),
                    rounds("demand", demand(&load)),
                    operating_part(),
                ]
            }
        };
        Self::finished(parts, question, question.purge)
    }

    /// With a purge first where it is wanted, without what is not possible, and as hasty as asked.
    fn finished(mut parts: Vec<Part>, question: &SteadyQuestion, purged: bool) -> Self {
        if purged {
            parts.insert(0, purge());
        }
        let possible = |cell: &Cell| match cell.blocks {
            Blocks::Of(bytes) => bytes >= question.block_min,
            Blocks::Composite => true,
        };
        for part in &mut parts {
            match &mut part.kind {
                PartKind::Rounds(rounds) => {
                    // What is tracked is a block that any target of this size of sector has.
                    let tracked = rounds.cells[rounds.tracked].clone();
                    rounds.cells.retain(|cell| possible(cell) || *cell == tracked);
                    rounds.tracked =
                        rounds.cells.iter().position(|cell| *cell == tracked).expect("it was kept");
                    rounds.cells.iter_mut().for_each(|cell| hasten(cell, question.haste));
                }
                PartKind::Sequence(cells) => cells.iter_mut().for_each(|cell| hasten(cell, question.haste)),
                PartKind::Purge | PartKind::Fill(_) | PartKind::OperatingPoints => {}
            }
        }
        Self { parts }
    }

    /// Steps, when every part takes all its rounds.
    pub fn steps_max(&self) -> usize {
        let of = |part: &Part| match &part.kind {
            PartKind::Purge | PartKind::Fill(_) => 1,
            PartKind::Rounds(rounds) => rounds.cells.len() * rounds.rounds_max as usize,
            PartKind::Sequence(cells) => cells.len(),
            PartKind::OperatingPoints => 6,
        };
        self.parts.iter().map(of).sum()
    }

    /// When it may end, counted from the beginning of the step at `place`.
    pub fn outlook(&self, place: Place) -> Outlook {
        let (mut earliest, mut latest, mut fills) = (0_u64, 0_u64, 0);
        let mut count = (0_u64, 0_u64);
        let time = |cells: &[Cell]| cells.iter().map(|cell| cell.time.0 + cell.pause.0).sum::<u64>();
        for (index, part) in self.parts.iter().enumerate().skip(place.part) {
            let at = if index == place.part { place } else { Place { part: index, ..Place::default() } };
            match &part.kind {
                PartKind::Rounds(Rounds { cells, rounds_max, .. }) => {
                    let rest = &cells[at.cell.min(cells.len())..];
                    let after = |rounds: usize| rounds.saturating_sub(at.round + 1) as u64;
                    let (left, whole) = (time(rest), time(cells));
                    let counted = |rounds| rest.len() as u64 + cells.len() as u64 * after(rounds);
                    earliest += left + whole * after(WINDOW);
                    latest += left + whole * after(*rounds_max as usize);
                    count.0 += counted(WINDOW);
                    count.1 += counted(*rounds_max as usize);
                }
                PartKind::Sequence(cells) => {
                    let rest = &cells[at.cell.min(cells.len())..];
                    earliest += time(rest);
                    latest += time(rest);
                    count.0 += rest.len() as u64;
                    count.1 += rest.len() as u64;
                }
                PartKind::Fill(_) => fills += 1,
                PartKind::Purge | PartKind::OperatingPoints => {}
            }
        }
        Outlook { earliest: Nanos(earliest), latest: Nanos(latest), fills, cells: count }
    }
}

/// Makes a cell as hasty as asked.
fn hasten(cell: &mut Cell, haste: u32) {
    cell.time = Nanos(cell.time.0 / u64::from(haste));
    cell.pause = Nanos(cell.pause.0 / u64::from(haste));
}

fn purge() -> Part {
    Part { title: "purge".to_owned(), kind: PartKind::Purge }
}

fn fill(block: u32) -> Part {
    let title = format!("preconditioning: twice the capacity, SEQ {} writes", size_name(block));
    Part { title, kind: PartKind::Fill(block) }
}

fn rounds(title: &str, rounds: Rounds) -> Part {
    Part { title: title.to_owned(), kind: PartKind::Rounds(rounds) }
}

/// A minute of a load that is in no table.
fn cell(blocks: Blocks, read_percent: u32, is_random: bool, (threads, depth): (u32, u32)) -> Cell {
    let (row, column) = (String::new(), "");
    Cell { row, column, blocks, read_percent, is_random, threads, depth, time: MINUTE, pause: Nanos::ZERO }
}

/// The same load in the table of sizes and mixes.
fn in_matrix(size: u32, read_percent: u32, is_random: bool, load: (u32, u32)) -> Cell {
    let cell = cell(Blocks::Of(size), read_percent, is_random, load);
    Cell { row: size_name(size).to_owned(), column: mix_name(read_percent), ..cell }
}

fn until_steady(cells: Vec<Cell>, tracked: usize, figure: Figure) -> Rounds {
    Rounds { cells, tracked, figure, rounds_max: ROUNDS_MAX, fills_max: None }
}

fn matrix(mixes: &[u32], sizes: &[u32], load: (u32, u32), figure: Figure) -> Rounds {
    let of_mix = |&mix: &u32| sizes.iter().map(move |&size| in_matrix(size, mix, true, load));
    let cells: Vec<Cell> = mixes.iter().flat_map(of_mix).collect();
    let tracked = cells.iter().position(|cell| cell.blocks == Blocks::Of(4 << 10) && cell.read_percent == 0);
    until_steady(cells, tracked.expect("4 KiB writes are in every matrix"), figure)
}

/// Threads and queue depth that keep a device busy.
const fn threads_and_depth(class: DeviceClass) -> (u32, u32) {
    match class {
        DeviceClass::Enterprise => (4, 32),
        DeviceClass::Client => (2, 16),
    }
}

fn iops(busy: (u32, u32)) -> Rounds {
    matrix(&MIXES, &SIZES, busy, Figure::Iops)
}

fn latency() -> Rounds {
    matrix(&LATENCY_MIXES, &LATENCY_SIZES, (1, 1), Figure::MeanLatency)
}

/// What PTS 2.0 adds to the latency test: what is tracked, for 20 minutes, and how its response times are spread.
fn histogram() -> Cell {
    let load = cell(Blocks::Of(4 << 10), 0, true, (1, 1));
    Cell { row: "histogram".to_owned(), time: Nanos::secs(20 * 60), ..load }
}

/// Each block size is a test of its own, purged and preconditioned in that size.
fn throughput(purged: bool) -> Vec<Part> {
    let of_size = |size: u32| {
        let cells = [100, 0].map(|mix| in_matrix(size, mix, false, (1, 32))).to_vec();
        let title = format!("throughput in {}", size_name(size));
        let parts = [fill(size), rounds(&title, until_steady(cells, 1, Figure::Throughput))];
        purged.then(purge).into_iter().chain(parts)
    };
    [128 << 10, 1024 << 10].into_iter().flat_map(of_size).collect()
}

/// Random 4 KiB writes; half an hour of them, then a minute that is looked at.
fn saturation(busy: (u32, u32), rounds_max: u32, fills_max: Option<f64>) -> Rounds {
    let sample = in_matrix(4 << 10, 0, true, busy);
    let load = Cell { row: String::new(), column: "", time: Nanos::secs(30 * 60), ..sample.clone() };
    Rounds { rounds_max, fills_max, ..until_steady(vec![load, sample], 1, Figure::Iops) }
}

/// Writes to a steady state; then for each idle time bursts of writes with it in between, and as much writing without.
fn idle_recovery(busy: (u32, u32), haste: u32) -> Vec<Part> {
    let write = cell(Blocks::Of(4 << 10), 0, true, busy);
    // By the standard's times; those of a hasty test are its own, to three figures.
    let named = |secs: u64| match haste {
        1 => format!("{secs} s"),
        haste => Nanos(Nanos::secs(secs).0 / u64::from(haste)).approximate(),
    };
    let of_idle = |idle: u64| {
        let burst = Cell { time: Nanos::secs(5), pause: Nanos::secs(idle), ..write.clone() };
        let back = Cell { time: Nanos::secs(5 * BURSTS as u64), ..write.clone() };
        [
            Part {
                title: format!("{} of writes, {} idle", named(5), named(idle)),
                kind: PartKind::Sequence(vec![burst; BURSTS]),
            },
            Part {
                title: format!("back to the baseline after {}", named(idle)),
                kind: PartKind::Sequence(vec![back]),
            },
        ]
    };
    std::iter::once(rounds("baseline", saturation(busy, ROUNDS_MAX, None)))
        .chain(IDLE_S.into_iter().flat_map(of_idle))
        .collect()
}

fn cross_stimulus() -> Vec<Cell> {
    let hours = |hours: u64| Nanos::secs(hours * 3600);
    let sequential = Cell { time: hours(8), ..cell(Blocks::Of(1024 << 10), 0, false, (1, 32)) };
    let random = Cell { time: hours(6), ..cell(Blocks::Of(8 << 10), 0, true, (1, 32)) };
    vec![sequential.clone(), random, sequential]
}

/// Histograms at three of the loads that were found.
fn operating_part() -> Part {
    Part { title: "operating points".to_owned(), kind: PartKind::OperatingPoints }
}

/// Rounds of half an hour, judged by their first minute.
fn precondition(load: &Cell) -> Rounds {
    let rest = Cell { time: Nanos::secs(29 * 60), ..load.clone() };
    let sample = Cell { row: "first minute".to_owned(), column: mix_name(load.read_percent), ..load.clone() };
    until_steady(vec![sample, rest], 0, Figure::Iops)
}

/// Five minutes at full load, then every number of threads with every queue depth.
fn demand(load: &dyn Fn(u32, u32) -> Cell) -> Rounds {
    let full = Cell { time: Nanos::secs(5 * 60), read_percent: 0, ..load(32, 32) };
    let of = |threads: u32, depth: u32| {
        let row = if threads == 1 { "1 thread".to_owned() } else { format!("{threads} threads") };
        Cell { row, column: depth_name(depth), ..load(threads, depth) }
    };
    let all = DEMANDS.into_iter().flat_map(|threads| DEMANDS.into_iter().map(move |depth| (threads, depth)));
    let cells: Vec<Cell> =
        std::iter::once(full).chain(all.map(|(threads, depth)| of(threads, depth))).collect();
    until_steady(cells, 1, Figure::Iops)
}

/// The cells of the operating points of rounds whose cells came to these means, operations per second and seconds: the
/// highest IOPS with a mean response time below 5 ms, one thread at depth 1, and what is nearest to their middle. Where none
/// keeps below that, which its row says, it is the highest IOPS of those whose response time is the shortest but for noise.
/// `haste` as the question has it.
pub fn operating_points(rounds: &Rounds, means: &[(f64, f64)], haste: u32) -> Vec<Cell> {
    let shown = || rounds.cells.iter().zip(means).filter(|(cell, _)| !cell.row.is_empty());
    let shortest = shown().map(|(_, (_, mean_s))| *mean_s).fold(f64::INFINITY, f64::min);
    let is_kept = shortest < OPERATING_LATENCY_MAX_S;
    let keeps = |mean_s: f64| {
        if is_kept { mean_s < OPERATING_LATENCY_MAX_S } else { mean_s <= shortest * (1.0 + AS_SHORT) }
    };
    let most = shown().filter(|(_, (_, mean_s))| keeps(*mean_s)).max_by(|a, b| a.1.0.total_cmp(&b.1.0));
    let largest = if is_kept { "largest" } else { "largest, though none is below 5 ms" };
    let least = shown().find(|(cell, _)| (cell.threads, cell.depth) == (1, 1));
    let (Some(most), Some(least)) = (most, least) else { return Vec::new() };
    let middle = f64::midpoint(most.1.0, least.1.0);
    let distance = |rate: f64| (rate - middle).abs();
    let middle = shown().min_by(|a, b| distance(a.1.0).total_cmp(&distance(b.1.0))).unwrap_or(most);
    [(largest, most), ("middle", middle), ("smallest", least)]
        .into_iter()
        .flat_map(|(row, (cell, _))| {
            let full = rounds.cells[0].clone();
            let lead = Cell { time: Nanos::secs(3600), row: String::new(), column: "", ..full };
            let measured = Cell { time: Nanos::secs(600), row: row.to_owned(), column: "", ..cell.clone() };
            [lead, measured]
        })
        .map(|mut cell| {
            hasten(&mut cell, haste);
            cell
        })
        .collect()
}

const fn size_name(bytes: u32) -> &'static str {
    match bytes {
        512 => "0.5 KiB",
        4096 => "4 KiB",
        8192 => "8 KiB",
        16_384 => "16 KiB",
        32_768 => "32 KiB",
        65_536 => "64 KiB",
        131_072 => "128 KiB",
        _ => "1024 KiB",
    }
}

const fn mix_name(read_percent: u32) -> &'static str {
    match read_percent {
        100 => "100/0",
        95 => "95/5",
        65 => "65/35",
        50 => "50/50",
        40 => "40/60",
        35 => "35/65",
        5 => "5/95",
        _ => "0/100",
    }
}

const fn depth_name(depth: u32) -> &'static str {
    match depth {
        1 => "depth 1",
        2 => "depth 2",
        4 => "depth 4",
        6 => "depth 6",
        8 => "depth 8",
        16 => "depth 16",
        _ => "depth 32",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(test: SteadyTest, haste: u32) -> Flow {
        flow_of(DeviceClass::Enterprise, test, haste)
    }

    fn flow_of(class: DeviceClass, test: SteadyTest, haste: u32) -> Flow {
        Flow::of(&SteadyQuestion {
            test,
            class,
            haste,
            targets: vec!["sim:".to_owned()],
            size: None,
            engine: None,
            direct: None,
            purge: false,
            purge_by: fathom_schema::TrimBy::Discard,
            purged_before: None,
            block_min: 512,
            has_histogram: true,
            has_operating_points: true,
            active_percent: 100,
            part: None,
            resumed: None,
        })
    }

    #[test]
    fn the_matrix_of_iops_has_56_minutes_a_round() {
        let flow = flow(SteadyTest::Iops, 1);
        let PartKind::Rounds(rounds) = &flow.parts[1].kind else { panic!("{flow:?}") };
        assert_eq!(rounds.cells.len(), 56);
        assert_eq!(rounds.cells[rounds.tracked].name(), "RND 4 KiB 0/100");
        assert_eq!(flow.steps_max(), 1 + 25 * 56);
    }

    #[test]
    fn clients_are_kept_less_busy() {
        for (test, part) in [(SteadyTest::Iops, 1), (SteadyTest::Wsat, 0), (SteadyTest::Hir, 0)] {
            for (class, expect) in [(DeviceClass::Enterprise, (4, 32)), (DeviceClass::Client, (2, 16))] {
                let flow = flow_of(class, test, 1);
                let PartKind::Rounds(rounds) = &flow.parts[part].kind else { panic!("{flow:?}") };
                assert!(rounds.cells.iter().all(|cell| (cell.threads, cell.depth) == expect), "{rounds:?}");
            }
        }
        // Single operations are the same for both.
        assert_eq!(flow_of(DeviceClass::Client, SteadyTest::Latency, 1), flow(SteadyTest::Latency, 1));
    }

    #[test]
    fn bursts_are_named_by_their_own_times() {
        let second_of = |haste| flow(SteadyTest::Hir, haste).parts[1].title.clone();
        assert_eq!(second_of(1), "5 s of writes, 5 s idle");
        assert_eq!(second_of(600), "8.33 ms of writes, 8.33 ms idle");
        assert_eq!(flow(SteadyTest::Hir, 60).parts[4].title, "back to the baseline after 167 ms");
    }

    #[test]
    fn an_outlook_counts_what_is_left_of_a_round() {
        let minutes = |nanos: Nanos| nanos.0 / 60_000_000_000;
        let check = |round: usize, cell: usize, earliest: u64, latest: u64| {
            let found = flow(SteadyTest::Iops, 1).outlook(Place { part: 1, round, cell });
            assert_eq!(
                (minutes(found.earliest), minutes(found.latest)),
                (earliest, latest),
                "{round} {cell}"
            );
        };
        check(0, 0, 5 * 56, 25 * 56);
        check(4, 50, 6, 20 * 56 + 6);
        // Each is of a minute: cells are as many.
        let cells = flow(SteadyTest::Iops, 1).outlook(Place { part: 1, round: 4, cell: 50 }).cells;
        assert_eq!(cells, (6, 20 * 56 + 6));
        // A window may be steady at the end of any round from the fifth on.
        check(9, 0, 56, 16 * 56);
        check(24, 55, 1, 1);
        let hasty = flow(SteadyTest::Iops, 60).outlook(Place::default());
        assert_eq!((hasty.latest, hasty.fills), (Nanos::secs(25 * 56), 1));
        let throughput = flow(SteadyTest::Throughput, 1);
        let fills = |part| throughput.outlook(Place { part, ..Place::default() }).fills;
        let is_fill = |part: &Part| matches!(part.kind, PartKind::Fill(_));
        let first = throughput.parts.iter().position(is_fill).expect("there are two");
        assert_eq!((fills(0), fills(first), fills(first + 1)), (2, 2, 1));
    }

    #[test]
    fn rounds_count_from_one_for_people() {
        let place = Place { part: 2, round: 6, cell: 11 };
        let parameters = place.parameters("RND 4 KiB 65/35 T4Q32");
        assert_eq!(parameters[1], ("steady.round".to_owned(), "7".to_owned()));
    }

    #[test]
    fn operating_points_keep_their_latency() {
        let load = |threads, depth| cell(Blocks::Of(8 << 10), 65, true, (threads, depth));
        let rounds = demand(&load);
        // 100 per slot in flight; latency grows with the square of them.
        let mean = |cell: &Cell| {
            let in_flight = f64::from(cell.threads * cell.depth);
            (100.0 * in_flight, 1e-5 * in_flight * in_flight)
        };
        let means: Vec<(f64, f64)> = rounds.cells.iter().map(mean).collect();
        let points = operating_points(&rounds, &means, 1);
        // Below 5 ms are 22 in flight; 16 is the most that a cell has.
        let in_flight: Vec<u32> =
            points.iter().skip(1).step_by(2).map(|cell| cell.threads * cell.depth).collect();
        assert_eq!(in_flight, [16, 8, 1]);
        assert!(
            points.iter().step_by(2).all(|lead| lead.time == Nanos::secs(3600) && lead.read_percent == 0)
        );
        // 8 ms each whatever is in flight, but for noise: all 1024 of them is the most.
        let slow = |cell: &Cell| {
            let in_flight = f64::from(cell.threads * cell.depth);
            (in_flight / 0.008, if in_flight > 100.0 { 0.0081 } else { 0.008 })
        };
        let means: Vec<(f64, f64)> = rounds.cells.iter().map(slow).collect();
        let points = operating_points(&rounds, &means, 1);
        assert_eq!((points[1].threads * points[1].depth, points[5].threads * points[5].depth), (1024, 1));
        assert_eq!(points[1].row, "largest, though none is below 5 ms");
    }
}
