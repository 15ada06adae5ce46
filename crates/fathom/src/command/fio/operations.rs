//! Single operations as they come in, for what fio's outputs say of each: logs without averages, percentiles of submission
//! latencies, and latencies by I/O priority, which no record holds. Knows which streams they are wanted of, and how many there is room for.

use fathom_frontend::fio::Extras;
use fathom_metrics::{IssuedRow, Latency, OperationRow};
use fathom_report::{FioPriority, FioWorkers, thread_priority};
use fathom_run::{Sink, SinkError};
use fathom_schema::{Event, OperationKind, Record, SparseHistogram, Stream};
use std::collections::BTreeMap;

/// Operations that are kept at most, over all jobs: 3.5 GiB of them. fio keeps as many as there is memory for.
const ROWS_MAX: usize = 64 << 20;

/// Issued operations that are kept at most, over all jobs: 2 GiB of them.
const ISSUED_MAX: usize = 64 << 20;

/// Collects single operations by the name of their stream.
#[derive(Default)]
pub(crate) struct OperationLog {
    rows: BTreeMap<String, Vec<OperationRow>>,
    submissions: BTreeMap<String, [Latency; OperationKind::COUNT]>,
    priorities: BTreeMap<String, Priorities>,
    kept: usize,
    lost: u64,
    issued: BTreeMap<String, Vec<IssuedRow>>,
    issued_kept: usize,
    issued_lost: u64,
}

/// Latencies of one stream by kind and I/O priority.
#[derive(Default)]
struct Priorities {
    /// Of total latencies, not of completion latencies.
    of_service: bool,
    latencies: BTreeMap<(OperationKind, u16), Latency>,
}

impl OperationLog {
    /// One that collects what these jobs ask for.
    pub(crate) fn of(extras: &Extras) -> Self {
        let mut log = Self::default();
        for clone in &extras.clones {
            if clone.logs.are_of_operations() {
                log.rows.insert(clone.stream.clone(), Vec::new());
            }
            if clone.logs.issued.is_some() {
                log.issued.insert(clone.stream.clone(), Vec::new());
            }
            if clone.slat_percentiles && clone.is_reported {
                log.submissions.insert(clone.stream.clone(), Default::default());
            }
            if clone.has_priorities && clone.is_reported {
                let of_service = clone.lat_percentiles;
                log.priorities
                    .insert(clone.stream.clone(), Priorities { of_service, ..Priorities::default() });
            }
        }
        log
    }

    /// Takes in those of other streams.
    pub(super) fn join(&mut self, other: Self) {
        let Self { rows, submissions, priorities, kept, lost, issued, issued_kept, issued_lost } = other;
        self.rows.extend(rows);
        self.submissions.extend(submissions);
        self.priorities.extend(priorities);
        self.issued.extend(issued);
        self.kept += kept;
        self.lost += lost;
        self.issued_kept += issued_kept;
        self.issued_lost += issued_lost;
    }

    /// Those of a stream, in the order in which they completed.
    pub(super) fn rows(&self, stream: &str) -> &[OperationRow] {
        self.rows.get(stream).map_or(&[], Vec::as_slice)
    }

    /// Those of a stream, in the order in which they were issued.
    pub(super) fn issued(&self, stream: &str) -> &[IssuedRow] {
        self.issued.get(stream).map_or(&[], Vec::as_slice)
    }

    /// Distributions of the submission latencies of these workers' streams by kind.
    pub(super) fn submissions(
        &self,
        record: &Record,
        workers: &[FioWorkers],
    ) -> Vec<(OperationKind, SparseHistogram)> {
        let latencies = streams_of(record, workers)
            .into_iter()
            .map(|stream| stream.name.as_str())
            .filter_map(|name| self.submissions.get(name))
            .flat_map(|latencies| {
                OperationKind::ALL
                    .into_iter()
                    .map(|kind| (kind, latencies[kind.index()].to_tally().histogram))
            });
        latencies.filter(|(_, histogram)| !histogram.is_empty()).collect()
    }

    /// Latencies of these workers' streams by kind and I/O priority.
    pub(super) fn priorities(&self, record: &Record, workers: &[FioWorkers]) -> Vec<FioPriority> {
        let mut found = Vec::new();
        for stream in streams_of(record, workers) {
            let Some(Priorities { of_service: _, latencies }) = self.priorities.get(&stream.name) else {
                continue;
            };
            found.extend(latencies.iter().map(|(&(kind, priority), latency)| FioPriority {
                kind,
                priority: if priority == 0 { thread_priority(stream) } else { priority },
                latency: latency.to_tally(),
            }));
        }
        found
    }

    /// What is missing in the logs, in words.
    pub(super) fn lost(&self) -> Vec<String> {
        let missing = |lost: u64, what: &str, most: usize, help: &str| {
            (lost > 0).then(|| format!("{what} are full after {most}; the last {lost} are missing; {help}"))
        };
        let rows = missing(self.lost, "logs of single operations", ROWS_MAX, "use log_avg_msec");
        let issued = missing(self.issued_lost, "files of write_iolog", ISSUED_MAX, "use a shorter job");
        rows.into_iter().chain(issued).collect()
    }
}

/// The streams of these workers, each once.
fn streams_of<'a>(record: &'a Record, workers: &[FioWorkers]) -> Vec<&'a Stream> {
    let mut streams: Vec<&Stream> =
        workers.iter().map(|worker| &record.steps[worker.step].started.step.streams[worker.stream]).collect();
    streams.dedup_by(|one, other| one.name == other.name);
    streams
}

impl Sink for OperationLog {
    fn event(&mut self, _: &Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn wants_operations(&self, stream: &str) -> bool {
        self.rows.contains_key(stream)
            || self.submissions.contains_key(stream)
            || self.priorities.contains_key(stream)
    }

    fn wants_issued(&self, stream: &str) -> bool {
        self.issued.contains_key(stream)
    }

    fn issued(&mut self, stream: &str, rows: &[IssuedRow]) {
        if let Some(kept) = self.issued.get_mut(stream) {
            let room = (ISSUED_MAX - self.issued_kept).min(rows.len());
            kept.extend_from_slice(&rows[..room]);
            self.issued_kept += room;
            self.issued_lost += (rows.len() - room) as u64;
        }
    }

    fn operations(&mut self, stream: &str, rows: &[OperationRow]) {
        if let Some(kept) = self.rows.get_mut(stream) {
            let room = (ROWS_MAX - self.kept).min(rows.len());
            kept.extend_from_slice(&rows[..room]);
            self.kept += room;
            self.lost += (rows.len() - room) as u64;
        }
        if let Some(Priorities { of_service, latencies }) = self.priorities.get_mut(stream) {
            for row in rows {
                let from = if *of_service { row.submitted } else { row.accepted };
                let latency = latencies.entry((row.kind, row.priority)).or_default();
                latency.record(row.completed.since(from).0);
            }
        }
        if let Some(latencies) = self.submissions.get_mut(stream) {
            // A synchronous engine takes an operation by doing it; fio has no submission latency of those.
            for row in rows.iter().filter(|row| row.accepted > row.submitted) {
                latencies[row.kind.index()].record(row.accepted.since(row.submitted).0);
            }
        }
    }
}
