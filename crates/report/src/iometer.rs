//! A record as Iometer's results file: the 80 columns of version 1.1.0 and their framing. Who has a row, and under which
//! name, is handed in; the figures are the record's.
//!
//! Two slips of Iometer are not repeated: raw times of targets are their own, not their worker's, and the last latency
//! class counts what is slower than 10 s.

mod updates;

pub use updates::iometer_updates;

use crate::calendar;
use fathom_metrics::{Histogram, bucket_bounds};
use fathom_schema::{
    KindTally, Moments, OperationKind, Record, StepFinished, StepRecord, Stop, Stream, StreamTally, Target,
    TargetTally,
};
use fathom_units::Nanos;

/// The columns, in order.
pub const IOMETER_COLUMNS: [&str; 80] = [
    "Target Type",
    "Target Name",
    "Access Specification Name",
    "# Managers",
    "# Workers",
    "# Disks",
    "IOps",
    "Read IOps",
    "Write IOps",
    "MiBps (Binary)",
    "Read MiBps (Binary)",
    "Write MiBps (Binary)",
    "MBps (Decimal)",
    "Read MBps (Decimal)",
    "Write MBps (Decimal)",
    "Transactions per Second",
    "Connections per Second",
    "Average Response Time",
    "Average Read Response Time",
    "Average Write Response Time",
    "Average Transaction Time",
    "Average Connection Time",
    "Maximum Response Time",
    "Maximum Read Response Time",
    "Maximum Write Response Time",
    "Maximum Transaction Time",
    "Maximum Connection Time",
    "Errors",
    "Read Errors",
    "Write Errors",
    "Bytes Read",
    "Bytes Written",
    "Read I/Os",
    "Write I/Os",
    "Connections",
    "Transactions per Connection",
    "Total Raw Read Response Time",
    "Total Raw Write Response Time",
    "Total Raw Transaction Time",
    "Total Raw Connection Time",
    "Maximum Raw Read Response Time",
    "Maximum Raw Write Response Time",
    "Maximum Raw Transaction Time",
    "Maximum Raw Connection Time",
    "Total Raw Run Time",
    "Starting Sector",
    "Maximum Size",
    "Queue Depth",
    "% CPU Utilization",
    "% User Time",
    "% Privileged Time",
    "% DPC Time",
    "% Interrupt Time",
    "Processor Speed",
    "Interrupts per Second",
    "CPU Effectiveness",
    "Packets/Second",
    "Packet Errors",
    "Segments Retransmitted/Second",
    "0 to 50 uS",
    "50 to 100 uS",
    "100 to 200 uS",
    "200 to 500 uS",
    "0.5 to 1 mS",
    "1 to 2 mS",
    "2 to 5 mS",
    "5 to 10 mS",
    "10 to 15 mS",
    "15 to 20 mS",
    "20 to 30 mS",
    "30 to 50 mS",
    "50 to 100 mS",
    "100 to 200 mS",
    "200 to 500 mS",
    "0.5 to 1 S",
    "1 to 2 s",
    "2 to 4.7 s",
    "4.7 to 5 s",
    "5 to 10 s",
    " >= 10 s",
];

/// Upper edges of the latency classes but the last, in nanoseconds, as their headings say.
const EDGES_NS: [u64; 20] = [
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    15_000_000,
    20_000_000,
    30_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    4_700_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// The column of transactions per connection.
const PER_CONNECTION: usize = 35;
/// Ticks of the clock per second, in which raw times are: nanoseconds.
const TICKS_PER_SECOND: f64 = 1e9;
/// What stands for a value that is not the same for all, and for no transactions per connection.
const AMBIGUOUS: &str = "-1";
/// Lines end as on Windows, where Iometer writes them.
const LINE_END: &str = "\r\n";

/// What the results of a run need beside its record.
#[derive(Debug, Clone, PartialEq)]
pub struct IometerShape {
    /// Number of the test type, 0 to 7.
    pub test_type: u8,
    /// The test description.
    pub description: String,
    /// Tests in the order of the record's steps.
    pub tests: Vec<IometerTest>,
}

/// One test.
#[derive(Debug, Clone, PartialEq)]
pub struct IometerTest {
    /// Which of the workers' specifications runs: where it changes, the specifications are listed.
    pub spec_index: usize,
    /// Those that run.
    pub specs: Vec<IometerSpec>,
    /// Its rows, those of processors left out.
    pub rows: Vec<IometerRow>,
}

/// One access specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IometerSpec {
    /// Its name.
    pub name: String,
    /// Number of the default assignment, 0 to 3.
    pub assign: u8,
    /// Its lines: size, % of size, % reads, % random, delay, burst, align, reply.
    pub lines: Vec<[u32; 8]>,
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub struct IometerRow {
    /// The first six columns.
    pub cells: [String; 6],
    /// The streams that it sums up.
    pub streams: Vec<IometerStream>,
    /// Starting sector, when it is the same for all.
    pub start: Option<u64>,
    /// Maximum size in sectors, when it is the same for all.
    pub max_size: Option<u64>,
    /// I/Os in flight per target and worker, when they are the same for all.
    pub queue_depth: Option<i64>,
    /// Transactions of a connection where connections are tested, when they are the same for all.
    pub per_connection: Option<i64>,
}

/// A stream of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct IometerStream {
    /// Its name.
    pub name: String,
    /// Name of the target that alone is meant, of several that the stream has.
    pub target: Option<String>,
    /// How many of its I/Os are a transaction: 1, and another one as far as replies come.
    pub per_transaction: f64,
}

/// What the host did while a test recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IometerHost {
    /// Its CPUs.
    pub cpus: Vec<IometerCpu>,
    /// Interrupts per second, all CPUs together.
    pub interrupts_per_s: f64,
    /// Packets in and out per second, over all interfaces.
    pub packets_per_s: f64,
    /// Packets with errors.
    pub packet_errors: f64,
    /// TCP segments sent again, per second.
    pub retransmits_per_s: f64,
}

/// What one CPU did, in percent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IometerCpu {
    /// Busy: user and privileged.
    pub busy: f64,
    /// In user mode.
    pub user: f64,
    /// In the kernel.
    pub privileged: f64,
    /// In interrupts.
    pub interrupt: f64,
}

/// What the tests from number `first` on add to a results file that has those before already, without the line at their end. Of tests
/// before it the record need not hold what they came to. `hosts` are what the host did in each step, where its time was that of
/// the step.
pub fn iometer_results_from(
    record: &Record,
    shape: &IometerShape,
    hosts: &[Option<IometerHost>],
    first: usize,
) -> String {
    framed(record, shape, first, |lines, Timed { index, step, .. }, test| {
        let finished = step.finished.as_ref()?;
        lines.test(test, &Figures::of(step, finished, host_of(hosts, index)));
        Some(finished)
    })
}

/// The line at the end of the results of a run.
pub fn iometer_end(record: &Record, shape: &IometerShape) -> String {
    let end = if is_whole(record, shape) { "'End Test" } else { "Aborted test" };
    format!("{end}{LINE_END}")
}

/// Names of targets whose rows have no figures, since what was done on each of them was not counted.
pub fn iometer_uncounted(record: &Record, shape: &IometerShape) -> Vec<String> {
    let mut names = Vec::new();
    for (step, test) in record.steps.iter().zip(&shape.tests) {
        let step = &step.started.step;
        let is_uncounted = |of_row: &IometerStream| {
            let Some(name) = &of_row.target else { return false };
            let mut streams = step.streams.iter().filter(|stream| stream.name == of_row.name);
            streams.any(|stream| !is_counted(stream, &step.targets, name))
        };
        for row in test.rows.iter().filter(|row| row.streams.iter().any(is_uncounted)) {
            let [_, name, ..] = &row.cells;
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
    }
    names
}

/// Whether what a stream does on the target of this name is counted by itself.
fn is_counted(stream: &Stream, targets: &[Target], name: &str) -> bool {
    let is_it = |number: &u32| targets.get(*number as usize).is_some_and(|target| target.name == name);
    stream.counted_targets().iter().any(is_it)
}

fn host_of(hosts: &[Option<IometerHost>], index: usize) -> Option<&IometerHost> {
    hosts.get(index).and_then(Option::as_ref)
}

/// A step with its number, and when it began.
#[derive(Clone, Copy)]
struct Timed<'a> {
    index: usize,
    step: &'a StepRecord,
    began_ms: u64,
}

impl Timed<'_> {
    /// The clock so long after the step began.
    fn wall_ms_at(self, elapsed: Nanos) -> u64 {
        self.began_ms.saturating_add(elapsed.0 / 1_000_000)
    }
}

/// What the tests of a run from number `first` on have come to: each with the specifications before it where they change, and the
/// time after it; before the first of all what the file begins with. `add` adds the lines of one; a test without an end is the last.
fn framed<'a>(
    record: &'a Record,
    shape: &IometerShape,
    first: usize,
    mut add: impl FnMut(&mut Lines, Timed<'a>, &IometerTest) -> Option<&'a StepFinished>,
) -> String {
    let mut lines = if first == 0 { Lines::begun(record, shape) } else { Lines::default() };
    let mut spec_index = first.checked_sub(1).and_then(|before| Some(shape.tests.get(before)?.spec_index));
    for (index, (step, test)) in record.steps.iter().zip(&shape.tests).enumerate().skip(first) {
        if spec_index != Some(test.spec_index) {
            spec_index = Some(test.spec_index);
            lines.specs(&test.specs);
        }
        let timed = Timed { index, step, began_ms: step.started.wall_ms };
        let Some(finished) = add(&mut lines, timed, test) else { break };
        lines.time_stamp(timed.wall_ms_at(finished.elapsed));
    }
    lines.0
}

/// Whether all tests came to their ends.
fn is_whole(record: &Record, shape: &IometerShape) -> bool {
    let is_complete =
        |step: &StepRecord| step.finished.as_ref().is_some_and(|end| end.stop == Stop::Complete);
    record.steps.len() == shape.tests.len() && record.steps.iter().all(is_complete)
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    /// What comes before the tests.
    fn begun(record: &Record, shape: &IometerShape) -> Self {
        let mut lines = Self::default();
        lines.add("'Test Type,Test Description");
        lines.add(&format!("{},{}", shape.test_type, shape.description));
        lines.add("'Version");
        lines.add("1.1.0");
        lines.time_stamp(record.started.wall_ms);
        lines
    }

    fn add(&mut self, line: &str) {
        self.0 += line;
        self.0 += LINE_END;
    }

    fn time_stamp(&mut self, wall_ms: u64) {
        self.add("'Time Stamp");
        self.add(&calendar::iometer(wall_ms));
    }

    fn specs(&mut self, specs: &[IometerSpec]) {
        self.add("'Access specifications");
        for IometerSpec { name, assign, lines } in specs {
            self.add("'Access specification name,default assignment");
            self.add(&format!("{name},{assign}"));
            self.add("'size,% of size,% reads,% random,delay,burst,align,reply");
            for line in lines {
                self.add(&line.map(|field| format!("{field},")).concat());
            }
        }
        self.add("'End access specifications");
    }

    fn test(&mut self, test: &IometerTest, figures: &Figures<'_>) {
        self.add("'Results");
        self.add(&format!("'{}", IOMETER_COLUMNS.join(",")));
        for row in &test.rows {
            self.add(&figures.row(row).join(","));
            if row.cells[0] == "MANAGER" {
                figures.processors().iter().for_each(|line| self.add(line));
            }
        }
    }
}

/// What one test has come to.
struct Figures<'a> {
    parts: Vec<Part<'a>>,
    host: Option<&'a IometerHost>,
    /// How numbers that are no whole ones are written.
    real: fn(f64) -> String,
}

/// What a worker of a stream has counted.
struct Part<'a> {
    stream: &'a Stream,
    /// Those of the step.
    targets: &'a [Target],
    tally: &'a StreamTally,
    /// How long that took.
    time: Nanos,
}

/// The sums of a row.
#[derive(Default)]
struct Sums {
    read: OfKind,
    write: OfKind,
    transactions: Transactions,
    connections: Moments,
    connections_per_s: f64,
    /// Longest time that a worker recorded, in ticks.
    run_ticks: u64,
    classes: [u64; EDGES_NS.len() + 1],
    /// Whether a part of it is what a stream did on one of its targets, of which there are no classes of latencies.
    is_of_target: bool,
    /// Whether that was not counted: a stream on very many targets is counted as a whole, and so is one whose targets have the
    /// same path.
    is_uncounted: bool,
}

/// Transactions: a request, with the reply to it where there is one.
#[derive(Default)]
struct Transactions {
    count: f64,
    per_s: f64,
    latency_ns: f64,
    max_ns: u64,
}

impl Transactions {
    /// Adds the operations of one kind, of which so many make one. They follow one another, so that all their time is that of
    /// transactions; which of them was the longest is not known where there are replies: then it is the longest I/O.
    fn add(&mut self, tally: &KindTally, per_transaction: f64, seconds: f64) {
        let count = tally.operations as f64 / per_transaction;
        self.count += count;
        if seconds > 0.0 {
            self.per_s += count / seconds;
        }
        self.latency_ns += tally.service.moments.sum_ns;
        self.max_ns = self.max_ns.max(tally.service.moments.max_ns);
    }

    fn mean_ns(&self) -> f64 {
        if self.count > 0.0 { self.latency_ns / self.count } else { 0.0 }
    }
}

/// The sums of reads or writes.
#[derive(Default)]
struct OfKind {
    count: u64,
    bytes: u64,
    errors: u64,
    per_s: f64,
    bytes_per_s: f64,
    latency: Moments,
}

impl OfKind {
    fn add(&mut self, tally: &KindTally, seconds: f64) {
        self.count += tally.operations;
        self.bytes += tally.bytes;
        self.errors += tally.errors.iter().map(|(_, count)| count).sum::<u64>();
        if seconds > 0.0 {
            self.per_s += tally.operations as f64 / seconds;
            self.bytes_per_s += tally.bytes as f64 / seconds;
        }
        self.latency.merge(&tally.service.moments);
    }
}

impl Sums {
    /// Adds what a stream did on one of its targets.
    fn add_target(&mut self, &Part { stream, targets, tally, time }: &Part<'_>, name: &str) {
        let seconds = Nanos::as_secs_f64(time);
        let is_it = |number: u32| targets.get(number as usize).is_some_and(|target| target.name == name);
        self.is_of_target = true;
        self.is_uncounted |= !is_counted(stream, targets, name);
        for tally in tally.targets.iter().filter(|tally| is_it(tally.target)) {
            let TargetTally { target: _, kind, operations, bytes, errors, service, response: _ } = tally;
            let of_kind = match kind {
                OperationKind::Read => &mut self.read,
                OperationKind::Write => &mut self.write,
                OperationKind::Trim | OperationKind::Sync => continue,
            };
            let sum_ns = service.sum_ns as f64;
            let latency =
                Moments { count: *operations, max_ns: service.max_ns, sum_ns, ..Moments::default() };
            of_kind.count += operations;
            of_kind.bytes += bytes;
            of_kind.errors += errors;
            if seconds > 0.0 {
                of_kind.per_s += *operations as f64 / seconds;
                of_kind.bytes_per_s += *bytes as f64 / seconds;
                self.transactions.per_s += *operations as f64 / seconds;
            }
            of_kind.latency.merge(&latency);
            self.transactions.count += *operations as f64;
            self.transactions.latency_ns += sum_ns;
            self.transactions.max_ns = self.transactions.max_ns.max(service.max_ns);
        }
    }
}

impl<'a> Figures<'a> {
    /// What a step has come to.
    fn of(step: &'a StepRecord, finished: &'a StepFinished, host: Option<&'a IometerHost>) -> Self {
        let streams = step.started.step.streams.iter().zip(&finished.streams);
        let parts = streams.flat_map(|(stream, totals)| {
            totals.workers.iter().map(|worker| Part {
                stream,
                targets: &step.started.step.targets,
                tally: &worker.tally,
                time: worker.end.since(worker.start),
            })
        });
        Self { parts: parts.collect(), host, real }
    }

    /// The sums over the streams of a row, each over its own time, as Iometer adds workers up.
    fn sums(&self, row: &IometerRow) -> Sums {
        let mut sums = Sums::default();
        let mut histogram = Histogram::default();
        for part in &self.parts {
            let &Part { stream, targets: _, tally, time } = part;
            let Some(of_row) = row.streams.iter().find(|of_row| of_row.name == stream.name) else { continue };
            let seconds = Nanos::as_secs_f64(time);
            sums.connections.merge(&tally.connections);
            if seconds > 0.0 {
                sums.connections_per_s += tally.connections.count as f64 / seconds;
            }
            sums.run_ticks = sums.run_ticks.max(time.0);
            if let Some(name) = &of_row.target {
                sums.add_target(part, name);
                continue;
            }
            for tally in &tally.kinds {
                match tally.kind {
                    OperationKind::Read => sums.read.add(tally, seconds),
                    OperationKind::Write => sums.write.add(tally, seconds),
                    OperationKind::Trim | OperationKind::Sync => continue,
                }
                sums.transactions.add(tally, of_row.per_transaction, seconds);
                histogram.merge_sparse(&tally.service.histogram);
            }
        }
        for (index, &count) in histogram.counts().iter().enumerate().filter(|(_, count)| **count > 0) {
            let (low, high) = bucket_bounds(index);
            let middle = u64::midpoint(low, high);
            sums.classes[EDGES_NS.iter().position(|&edge| middle < edge).unwrap_or(EDGES_NS.len())] += count;
        }
        sums
    }

    fn row(&self, row: &IometerRow) -> Vec<String> {
        let Sums {
            read,
            write,
            transactions,
            connections,
            connections_per_s,
            run_ticks,
            classes,
            is_of_target,
            is_uncounted,
        } = self.sums(row);
        let real = self.real;
        let is_all = row.cells[0] == "ALL";
        let has_host = is_all || row.cells[0] == "MANAGER";
        let ms = |ns: f64| real(ns / 1e6);
        let whole = |number: u64| number.to_string();
        let mut both = read.latency;
        both.merge(&write.latency);
        let iops = read.per_s + write.per_s;
        let mut cells: Vec<String> = row.cells.to_vec();
        cells.extend([iops, read.per_s, write.per_s].map(real));
        for unit in [1_048_576.0, 1e6] {
            let rates = [read.bytes_per_s + write.bytes_per_s, read.bytes_per_s, write.bytes_per_s];
            cells.extend(rates.map(|rate| real(rate / unit)));
        }
        cells.extend([transactions.per_s, connections_per_s].map(real));
        let of_kinds = [both.mean_ns(), read.latency.mean_ns(), write.latency.mean_ns()].map(ms);
        cells.extend(of_kinds);
        cells.extend([transactions.mean_ns(), connections.mean_ns()].map(ms));
        let maxima = [both.max_ns, read.latency.max_ns, write.latency.max_ns];
        let maxima = maxima.into_iter().chain([transactions.max_ns, connections.max_ns]);
        cells.extend(maxima.map(|ns| ms(ns as f64)));
        cells.extend([read.errors + write.errors, read.errors, write.errors].map(whole));
        cells.extend([read.bytes, write.bytes, read.count, write.count, connections.count].map(whole));
        cells.push(row.per_connection.map_or_else(|| AMBIGUOUS.to_owned(), |count| count.to_string()));
        if is_all {
            cells.extend(std::iter::repeat_n(String::new(), 9));
        } else {
            let sums =
                [read.latency.sum_ns, write.latency.sum_ns, transactions.latency_ns, connections.sum_ns];
            cells.extend(sums.map(|ticks| format!("{ticks:.0}")));
            let maxima = [read.latency.max_ns, write.latency.max_ns, transactions.max_ns, connections.max_ns];
            cells.extend(maxima.into_iter().chain([run_ticks]).map(whole));
        }
        if is_uncounted {
            // What nobody knows is no 0. How many transactions a connection has is a setting.
            let figures = cells.iter_mut().enumerate().skip(row.cells.len());
            figures.filter(|(at, _)| *at != PER_CONNECTION).for_each(|(_, cell)| cell.clear());
        }
        // Unsigned in Iometer, so that -1 becomes the largest number.
        cells.extend([row.start, row.max_size].map(|sectors| whole(sectors.unwrap_or(u64::MAX))));
        cells.push(row.queue_depth.map_or_else(|| AMBIGUOUS.to_owned(), |depth| depth.to_string()));
        let speed = || real(TICKS_PER_SECOND);
        match self.host.filter(|_| has_host) {
            Some(host) => {
                let busy = mean(host, |cpu| cpu.busy);
                cells.extend(
                    [busy, mean(host, |cpu| cpu.user), mean(host, |cpu| cpu.privileged), 0.0].map(real),
                );
                cells.push(real(mean(host, |cpu| cpu.interrupt)));
                cells.push(if is_all { String::new() } else { speed() });
                let effectiveness = if busy > 0.0 { iops / busy } else { 0.0 };
                let IometerHost {
                    cpus: _,
                    interrupts_per_s,
                    packets_per_s,
                    packet_errors,
                    retransmits_per_s,
                } = host;
                let rest =
                    [*interrupts_per_s, effectiveness, *packets_per_s, *packet_errors, *retransmits_per_s];
                cells.extend(rest.map(real));
            }
            None => {
                cells.extend(std::iter::repeat_n(String::new(), 5));
                cells.push(if is_all { String::new() } else { speed() });
                cells.extend(std::iter::repeat_n(String::new(), 5));
            }
        }
        cells.extend(classes.map(|count| if is_of_target { String::new() } else { whole(count) }));
        assert_eq!(cells.len(), IOMETER_COLUMNS.len(), "a row has all columns");
        cells
    }

    /// The rows of the CPUs: 59 columns, as Iometer leaves the latency classes out.
    fn processors(&self) -> Vec<String> {
        let Some(host) = self.host else { return Vec::new() };
        let line = |(number, cpu): (usize, &IometerCpu)| {
            let IometerCpu { busy, user, privileged, interrupt } = *cpu;
            // Interrupts are counted for all CPUs together; on Linux Iometer gives them to the first.
            let interrupts = if number == 0 { host.interrupts_per_s } else { 0.0 };
            let shares = [busy, user, privileged, 0.0, interrupt, TICKS_PER_SECOND, interrupts].map(real);
            format!("PROCESSOR,CPU {number}{}{},,,,", ",".repeat(47), shares.join(","))
        };
        host.cpus.iter().enumerate().map(line).collect()
    }
}

fn mean(host: &IometerHost, of: impl Fn(&IometerCpu) -> f64) -> f64 {
    if host.cpus.is_empty() { 0.0 } else { host.cpus.iter().map(of).sum::<f64>() / host.cpus.len() as f64 }
}

fn real(number: f64) -> String {
    format!("{number:.6}")
}
