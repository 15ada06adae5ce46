//! Under which circumstances a test was made: what the standard's reports have at the head of each page. Owns which facts of a
//! record those are; does not know how they are written.

use super::flow::{Flow, PartKind, Place};
use fathom_schema::{Content, EngineKind, IoMode, OperationKind, Record, SteadyQuestion, Step, TargetFact};
use fathom_units::Bytes;
use std::path::Path;

/// Most targets that are told one by one; more are counted.
pub const TARGETS_MAX: usize = 16;

/// What was tested, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// When the run began, milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
    /// The run's identity.
    pub run: String,
    /// fathom's version.
    pub tool_version: String,
    /// Name of the host.
    pub host: String,
    /// Model of its processors; empty when unknown.
    pub cpu: String,
    /// How many of them fathom may use.
    pub cpus: usize,
    /// Memory of the host.
    pub memory: Bytes,
    /// Release of its kernel.
    pub kernel: Option<String>,
    /// The first targets, in order.
    pub targets: Vec<TargetSetup>,
    /// How many there are.
    pub targets_count: usize,
    /// What writes carry; absent where no step that writes began.
    pub content: Option<Content>,
    /// How the targets are read and written; absent where no step began.
    pub engine: Option<EngineKind>,
    /// Whether the page cache is passed by; absent where no file or device is opened.
    pub mode: Option<IoMode>,
    /// Bytes that the test may touch, of all targets together.
    pub active_range: Bytes,
    /// Pieces of addresses that those are: one per target.
    pub segments: usize,
    /// User capacity of all targets together; absent where that of one is not known.
    pub capacity: Option<Bytes>,
    /// Bytes written by the loads so far, fills included.
    pub written: Bytes,
}

/// One target.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetSetup {
    /// As it was named.
    pub name: String,
    /// Device, or the one under a file's filesystem; empty when unknown.
    pub model: String,
    /// Its serial number; empty when unknown.
    pub serial: String,
    /// Its size, where it is a device itself.
    pub size: Option<Bytes>,
    /// What its environment says: name and value, such as the write cache, firmware and link.
    pub facts: Vec<(String, String)>,
}

/// Facts of a device's environment that belong to a set-up.
const FACTS: [&str; 5] = ["firmware", "transport", "write_cache", "scheduler", "rotational"];

/// The circumstances of a record of a test.
pub(super) fn setup(record: &Record, question: &SteadyQuestion) -> Setup {
    let facts = &record.started.facts;
    let steps = || record.steps.iter().map(|step| &step.started.step);
    let writes = |step: &&Step| {
        let cases = step.streams.iter().flat_map(|stream| &stream.workload.cases);
        cases.into_iter().any(|case| case.kind == OperationKind::Write)
    };
    let content = steps().find(writes).and_then(|step| Some(step.streams.first()?.workload.content.clone()));
    let first = steps().next();
    let engine = first.and_then(|step| Some(&step.streams.first()?.engine));
    let sizes: Vec<Bytes> =
        first.map_or_else(Vec::new, |step| step.targets.iter().map(|one| one.size).collect());
    let fact_of = |name: &String| facts.targets.iter().find(|fact| fact.path == Path::new(name));
    // What is simulated, and a file that is made, has the size that it is given; a file that is there may be larger.
    let size = |(at, name): (usize, &String)| {
        let given = sizes.get(at).copied();
        let fact = fact_of(name);
        let of_device = fact.and_then(|fact| Some(own_device(fact)?.size));
        let of_file = || fact.and_then(|fact| fact.file.as_ref()).map(|file| file.size);
        of_device.or_else(|| given.map(|given| given.max(of_file().unwrap_or_default())))
    };
    let all: Option<Vec<Bytes>> = question.targets.iter().enumerate().map(size).collect();
    let target = |name: &String| {
        let fact = fact_of(name);
        let device = fact.and_then(|fact| fact.device.as_ref());
        let is_of = |subject: &str| {
            device.is_some_and(|device| {
                subject.split_whitespace().any(|word| word == device.name || word == device.disk)
            })
        };
        let of_environment =
            facts.environment.iter().filter(|fact| is_of(&fact.subject)).filter_map(|fact| {
                let name = FACTS.iter().find(|known| fact.name.ends_with(**known))?;
                Some(((*name).to_owned(), fact.value.as_ref()?.trim().to_owned()))
            });
        TargetSetup {
            name: name.clone(),
            model: device.map(|device| device.model.clone()).unwrap_or_default(),
            serial: device.map(|device| device.serial.clone()).unwrap_or_default(),
            size: fact.and_then(|fact| Some(own_device(fact)?.size)),
            facts: of_environment.collect(),
        }
    };
    let kernel = facts.environment.iter().find(|fact| fact.subject == "kernel" && fact.name == "release");
    Setup {
        wall_ms: record.started.wall_ms,
        run: record.started.run.clone(),
        tool_version: record.started.tool_version.clone(),
        host: facts.host.clone(),
        cpu: facts.cpu.model.clone(),
        cpus: facts.cpu.usable.len(),
        memory: facts.memory,
        kernel: kernel.and_then(|fact| fact.value.clone()),
        targets: question.targets.iter().take(TARGETS_MAX).map(target).collect(),
        targets_count: question.targets.len(),
        content,
        engine: engine.map(|engine| engine.kind),
        mode: engine.filter(|engine| opens(&engine.kind)).map(|engine| engine.mode),
        active_range: share(sizes.iter().copied().sum(), question.active_percent),
        segments: sizes.len(),
        capacity: all.map(|all| all.into_iter().sum()),
        written: Bytes(written(record, question)),
    }
}

/// Whether an engine reads and writes what the kernel may have cached.
const fn opens(engine: &EngineKind) -> bool {
    !matches!(engine, EngineKind::Null | EngineKind::Sim)
}

/// So many per cent of it.
fn share(all: Bytes, percent: u32) -> Bytes {
    let part = u128::from(all.0) * u128::from(percent) / 100;
    Bytes(u64::try_from(part).unwrap_or(u64::MAX))
}

fn own_device(fact: &TargetFact) -> Option<&fathom_schema::BlockDevice> {
    let is_device = fact.kind == fathom_schema::FileKind::BlockDevice;
    fact.device.as_ref().filter(|_| is_device)
}

/// Bytes that loads and fills wrote; a purge writes nothing that a host would count.
fn written(record: &Record, question: &SteadyQuestion) -> u64 {
    let flow = Flow::of(question);
    let is_purge = |step: &Step| {
        let part = Place::of(step).and_then(|place| flow.parts.get(place.part));
        part.is_some_and(|part| matches!(part.kind, PartKind::Purge))
    };
    let steps = record.steps.iter().filter(|step| !is_purge(&step.started.step));
    let streams = steps.filter_map(|step| step.finished.as_ref()).flat_map(|finished| &finished.streams);
    let kinds = streams.flat_map(|stream| &stream.workers).flat_map(|worker| &worker.tally.kinds);
    kinds.filter(|kind| kind.kind == OperationKind::Write).map(|kind| kind.bytes).sum()
}
