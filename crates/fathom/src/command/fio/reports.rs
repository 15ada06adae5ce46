//! The reports that a fio command line asks for, in fio's order. Owns which formats there are and which comes first; not
//! where they go.

use super::VERSION;
use super::fallen::Fallen;
use super::idle::Idleness;
use super::operations::OperationLog;
use super::shape::{banners, layouts, shape};
use crate::diagnose::printable;
use crate::exit::Exit;
use crate::load::Loaded;
use fathom_analysis::validity;
use fathom_engine::probe::device_counters;
use fathom_frontend::fio::{Extras, OutputFormat, Switches};
use fathom_planner::{Plan, safety::AS_NAMED};
use fathom_report::{fio_banner, fio_json, fio_normal, fio_terse};
use fathom_schema::{DeviceCounters, Facts, Finding, Note, NoteKind, Record, Severity};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// What a user of fio would not know otherwise: content that was lost without a question, and what went wrong in the run beside its
/// operations, such as a program that failed.
fn of_run(record: &Record) -> String {
    let is_of_run =
        |note: &&Note| note.at > Nanos::ZERO && (note.kind, note.severity) == (NoteKind::Job, Severity::Warn);
    let told = record.notes.iter().filter(|note| note.message.ends_with(AS_NAMED) || is_of_run(note));
    told.map(|note| format!("note: {}\n", printable(&note.message))).collect()
}

/// Version of the terse format when none is asked for.
const TERSE_VERSION: u8 = 3;

/// What was collected beside the record: percentiles of submission latencies, latencies by I/O priority, idle CPUs.
pub(super) struct Collected {
    pub(super) operations: OperationLog,
    pub(super) idleness: Idleness,
}

/// What is to be printed of any record of these jobs.
pub(super) struct Reports {
    extras: Extras,
    echo: Vec<(String, Vec<(String, String)>)>,
    terse: Option<u8>,
    json: bool,
    json_plus: bool,
    normal: bool,
    /// Streams whose jobs could not start, with their errors.
    fallen: BTreeMap<String, i32>,
    /// Warnings that are not messages, a line each.
    notes: String,
}

impl Reports {
    pub(super) fn of(loaded: &Loaded, switches: &Switches) -> Self {
        let version = switches.terse_version.unwrap_or(TERSE_VERSION);
        Self {
            extras: loaded.extras.clone(),
            echo: loaded.job.echo.clone(),
            terse: switches.wants(OutputFormat::Terse).then_some(version),
            json: switches.wants(OutputFormat::Json),
            json_plus: switches.wants(OutputFormat::JsonPlus),
            normal: switches.wants(OutputFormat::Normal),
            fallen: BTreeMap::new(),
            notes: String::new(),
        }
    }

    /// These could not start.
    pub(super) fn say_fallen(&mut self, fallen: &[Fallen]) {
        self.fallen.extend(fallen.iter().map(|fallen| (fallen.stream.clone(), fallen.errno)));
    }

    /// None of the jobs of a run that ends before its first step could start.
    pub(super) fn say_unprepared(&mut self, streams: &[String], errno: i32) {
        self.fallen.extend(streams.iter().map(|stream| (stream.clone(), errno)));
    }

    /// Whether what ends the jobs is said in a report.
    pub(super) fn says_ending(&self) -> bool {
        self.normal
    }

    /// What comes before the jobs start: something only in the normal report, so that others stay one document. Warnings that
    /// are not messages come after the report ([`Self::closing`]): scripts take figures out of it by the number of a line.
    pub(super) fn opening(&mut self, loaded: &Loaded, plan: Option<&Plan>, facts: &Facts) -> String {
        if !self.normal {
            return String::new();
        }
        let warnings = if loaded.says_warnings() { Vec::new() } else { loaded.kept_warnings() };
        self.notes = warnings.iter().map(|warning| format!("note: {warning}\n")).collect();
        let layouts = plan.map_or_else(String::new, |plan| layouts(&self.extras, plan, facts));
        fio_banner(&banners(&self.extras), VERSION) + &layouts
    }

    /// What comes after the last report: behind the warnings what makes its figures say nothing. Such a run looks like any other.
    pub(super) fn closing(&self, record: &Record) -> String {
        if !self.normal {
            return String::new();
        }
        let found = validity::findings(record);
        let found = found.iter().filter(|finding| finding.severity == Severity::Invalid);
        let line = |finding: &Finding| {
            let text = format!("{}; {} [{}]", finding.evidence, finding.remedy, finding.id);
            format!("note: INVALID: {}\n", printable(&text))
        };
        self.notes.clone() + &of_run(record) + &found.map(line).collect::<String>()
    }

    /// What comes before the last report when a signal ended the jobs.
    pub(super) fn ending(&self, exit: Exit) -> String {
        match exit {
            Exit::Signal(signal) if self.normal => format!("\nfio: terminating on signal {signal}\n"),
            _ => String::new(),
        }
    }

    /// The reports of a record, of one that still grows too. What no record holds is there where it was collected, just as
    /// far as the record goes. `eta_s`: when all will be done.
    pub(super) fn text(
        &self,
        record: &Record,
        idleness: Option<&Idleness>,
        operations: Option<&OperationLog>,
        eta_s: u64,
    ) -> String {
        let mut shape = shape(record, &self.extras, &self.echo, &self.fallen);
        shape.eta_s = eta_s;
        shape.json_plus = self.json_plus;
        shape.running = running(record);
        shape.idleness = idleness.and_then(Idleness::report);
        if let Some(operations) = operations {
            for entry in &mut shape.entries {
                entry.submissions = operations.submissions(record, &entry.workers);
                entry.priorities = operations.priorities(record, &entry.workers);
            }
        }
        let mut text = String::new();
        if let Some(version) = self.terse {
            text += &fio_terse(record, &shape, version);
        }
        if self.json {
            text += &fio_json(record, &shape);
        }
        if self.normal {
            text += &fio_normal(record, &shape);
        }
        text
    }

    /// What the jobs are, clone by clone.
    pub(super) fn extras(&self) -> &Extras {
        &self.extras
    }
}

/// What the devices under the step that still runs have counted by now.
fn running(record: &Record) -> Vec<DeviceCounters> {
    let step = record.steps.last().filter(|step| step.finished.is_none());
    let devices = step.map_or(&[][..], |step| &step.started.devices);
    device_counters(&devices.iter().map(|device| device.number).collect::<Vec<_>>())
}
