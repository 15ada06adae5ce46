//! A configuration as fathom's model: each target of a worker is a stream, each test a stage, and tests that differ in
//! nothing but the queue depth are a sweep. Knows Iometer's meaning and the model; where targets lie is told to it.

mod connections;

use super::cycling::{Share, Test, tests};
use super::network::{self, Expanded};
use super::tree::{Document, IDLE, Kind, Spec, SpecLine, Target, Worker};
use super::workload;
use crate::names::Names;
use fathom_model::{
    Amount, Diagnostics, Job, Literal, Named, OnError, Seed, Span, StageOptions, StreamOptions, Sweep,
    TargetKind, TargetOptions, WorkloadOptions,
};
use fathom_units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// Deepest queue that the model knows (`stream.queue_depth`).
const DEPTH_MAX: i64 = 65_536;
/// Errors that are counted before they end a run: more than there will be, and within what TOML holds.
const ERRORS_MAX: u64 = i64::MAX.unsigned_abs();
/// Size of a simulated device for which the configuration names none: that of a quick job's.
const SIMULATED: Bytes = Bytes::gib(1);

/// What stands for a target of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file or block device.
    Path(String),
    /// Nothing: every operation completes at once.
    Null,
    /// A simulated device.
    Sim,
}

/// What lowering is told of the world around it.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// What stands for a target, by its name in the file; `None` where nothing does.
    pub place: &'a dyn Fn(&str) -> Option<Place>,
    /// Bytes of the sectors in which sizes and starts count, and to which an align of 0 goes.
    pub sector_bytes: u64,
    /// Whether a job is wanted that can run; else it is looked at or printed only, and what keeps it from running alone is a
    /// warning.
    pub is_to_run: bool,
    /// Whether an address is one of this host's.
    pub is_here: &'a dyn Fn(&str) -> bool,
    /// Where the first network worker listens; each further one has the next port.
    pub first_port: u16,
}

/// A configuration that was lowered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lowered {
    /// The job; its sources are the caller's.
    pub job: Job,
    /// What could not be carried over, or only nearly.
    pub diagnostics: Diagnostics,
    /// By test: which stream a worker has on a target.
    pub streams: Vec<Streams>,
    /// The configuration with the clients that network workers have, which no file names.
    pub document: Option<Document>,
    /// The tests that steps of the job are, in their order, with these clients.
    pub tests: Vec<Test>,
}

/// The streams of a test, by number of the manager, its worker, and the worker's target.
pub type Streams = BTreeMap<(usize, usize, usize), StreamOf>;

/// The stream of a worker on a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamOf {
    /// Its name.
    pub name: String,
    /// Name of the target in the record, where the stream is the worker's on others as well.
    pub target: Option<String>,
}

/// What a stream was made for: a worker, its target, its specification, and what else it depends on where it is not swept.
type Made = (usize, usize, usize, usize, Option<(usize, i64)>);

/// Lowers a configuration that was read without faults.
pub fn lower(document: &Document, surroundings: &Surroundings<'_>) -> Lowered {
    let Expanded { document: expanded, servers, lost } = network::expand(document);
    let read = document;
    let document = &expanded;
    let mut lowering = Lowering {
        document,
        servers: &servers,
        surroundings,
        job: Job { dialect: fathom_model::Dialect::Iometer, ..Job::default() },
        found: Diagnostics::default(),
        made: BTreeMap::new(),
        streams: Vec::new(),
        targets: BTreeMap::new(),
        workloads: BTreeMap::new(),
        names: [Names::default(), Names::default(), Names::default(), Names::default()],
    };
    let setup = &document.setup;
    lowering.job.run.title.set(title(document), setup.test_type_span);
    if !setup.description.is_empty() {
        lowering.job.run.description.set(setup.description.clone(), Span::default());
    }
    // Errors are counted, and the slot goes on; nothing ends by them.
    lowering.job.run.on_error.set(OnError::Count(ERRORS_MAX), setup.test_type_span);
    let (running, idle): (Vec<Test>, Vec<Test>) = tests(read)
        .unwrap_or_default()
        .into_iter()
        .map(|test| network::with_clients(&test, &servers))
        .partition(|test| test.managers.iter().flatten().any(|share| share.targets > 0));
    if !idle.is_empty() {
        let (is, have) = if idle.len() == 1 { ("test is", "has") } else { ("tests are", "have") };
        let message = format!(
            "{} {is} left out in which nobody does anything, and {have} no rows in the results",
            idle.len()
        );
        lowering.found.warn("icf.approximate", setup.test_type_span, message, "");
    }
    if document.managers.is_empty() && !document.specs.is_empty() {
        lowering.library();
    } else if running.is_empty() {
        let workers = || document.managers.iter().flat_map(|manager| &manager.workers);
        let can_run = workers()
            .any(|worker| !worker.targets.is_empty() && worker.specs.iter().any(|name| name != IDLE));
        let (message, help) = if can_run {
            (
                "the cycling has no test: there is nothing to run",
                "let its start be 1 or more and not beyond its end",
            )
        } else {
            (
                "no worker has both an access specification and a target: there is nothing to run",
                "assign specifications and targets to workers",
            )
        };
        lowering.found.error("icf.nothing-to-run", setup.test_type_span, message, help);
    }
    if setup.run_seconds == 0 && !document.managers.is_empty() {
        let message = "the run time is 0, which is until it is stopped by hand";
        lowering.unless_only_looked_at(
            "icf.no-run-time",
            setup.run_time_span,
            message,
            "give hours, minutes and seconds",
        );
    }
    lost.iter().for_each(|&(manager, worker)| lowering.say_lost(manager, worker));
    for group in running.chunk_by(|a, b| joined_of(document, a).next().is_none() && same_but_depth(a, b)) {
        lowering.stage(group);
    }
    lowering.set_target_sizes();
    let Lowering { job, mut found, streams, .. } = lowering;
    // They were found test by test; whoever mends a file goes through it line by line.
    found.sort_by_place();
    Lowered { job, diagnostics: found, streams, document: Some(expanded), tests: running }
}

/// What a run is called: the description, or what is run.
fn title(document: &Document) -> String {
    let description = document
        .setup
        .description
        .trim_end_matches(|letter: char| letter == ',' || letter.is_whitespace())
        .trim();
    if description.is_empty() { "Iometer configuration".to_owned() } else { description.to_owned() }
}

/// The workers of a test that are one stream over several targets: those whose pauses stall all of them.
fn joined_of<'a>(document: &'a Document, test: &'a Test) -> impl Iterator<Item = (usize, usize)> + 'a {
    let workers = test.managers.iter().enumerate().flat_map(|(manager, shares)| {
        shares.iter().enumerate().map(move |(worker, share)| (manager, worker, share.targets))
    });
    workers.filter_map(move |(manager, number, targets)| {
        let worker = &document.managers[manager].workers[number];
        let spec = document.spec(worker.specs.get(test.spec_index).filter(|_| targets > 1)?)?;
        let pauses = worker.kind == Kind::Disk && spec.lines.iter().any(|line| line.delay > 0);
        pauses.then_some((manager, number))
    })
}

/// Whether two tests that follow each other have the same workers on the same targets.
fn same_but_depth(a: &Test, b: &Test) -> bool {
    let targets =
        |test: &Test| -> Vec<usize> { test.managers.iter().flatten().map(|share| share.targets).collect() };
    let depths = |test: &Test| -> Vec<i64> { running_depths(test).collect() };
    a.spec_index == b.spec_index && targets(a) == targets(b) && depths(a) != depths(b)
}

fn running_depths(test: &Test) -> impl Iterator<Item = i64> {
    test.managers.iter().flatten().filter(|share| share.targets > 0).map(|share| share.outstanding)
}

struct Lowering<'a> {
    /// With the clients of network workers.
    document: &'a Document,
    servers: &'a BTreeMap<network::Place, network::Place>,
    surroundings: &'a Surroundings<'a>,
    job: Job,
    found: Diagnostics,
    made: BTreeMap<Made, String>,
    streams: Vec<Streams>,
    /// Names of the target sections, by what Iometer compares.
    targets: BTreeMap<String, String>,
    /// Names of the workload sections, by specification and what it is for.
    workloads: BTreeMap<(String, Use), String>,
    /// Of targets, workloads, streams and stages.
    names: [Names; 4],
}

/// What a specification is used for, which decides what its workload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// Nothing yet.
    Library,
    /// Disks, with this data pattern.
    Disk(u8),
    Network,
}

impl Lowering<'_> {
    /// Specifications that nobody runs, as such files are passed around: each is a workload, for whoever keeps them.
    fn library(&mut self) {
        let document = self.document;
        for spec in &document.specs {
            // What is written is a worker's to say.
            self.workload(spec, Use::Library);
            if let Some(line) = spec.lines.iter().find(|line| line.delay > 0 || line.burst > 1) {
                let message =
                    format!("delay and burst of \"{}\" are left out of the specification", spec.name);
                self.found.warn(
                    "icf.ignored",
                    line.span,
                    message,
                    "give the stream a think_time and a think_every",
                );
            }
        }
        let count = document.specs.len();
        let message = format!("the file has {count} access specifications, and no worker that runs one");
        let help = "assign them to workers, or drop the file on Compose in the browser, which keeps them in its library";
        self.found.error("icf.specifications-only", document.setup.test_type_span, message, help);
    }

    /// An error in a job that is to run, a warning in one that is not.
    fn unless_only_looked_at(&mut self, code: &'static str, span: Span, message: &str, help: &str) {
        if self.surroundings.is_to_run {
            self.found.error(code, span, message, help);
        } else {
            self.found.warn(code, span, message, help);
        }
    }

    /// One stage of tests that differ in the queue depth only.
    fn stage(&mut self, group: &[Test]) {
        let setup = &self.document.setup;
        let span = setup.test_type_span;
        let test = &group[0];
        let mut found = Streams::new();
        let joined: Vec<(usize, usize)> = joined_of(self.document, test).collect();
        let is_swept = joined.is_empty();
        let mut specs: Vec<&str> = Vec::new();
        for (manager, shares) in test.managers.iter().enumerate() {
            for (worker, share) in shares.iter().enumerate().filter(|(_, share)| share.targets > 0) {
                let section = &self.document.managers[manager].workers[worker];
                let spec = section.specs[test.spec_index].as_str();
                if !specs.contains(&spec) {
                    specs.push(spec);
                }
                if self.servers.contains_key(&(manager, worker)) {
                    continue;
                }
                let is_joined = joined.contains(&(manager, worker));
                for target in 0..share.targets {
                    let apart =
                        (!is_swept).then_some((if is_joined { share.targets } else { 1 }, share.outstanding));
                    let made = (manager, worker, if is_joined { 0 } else { target }, test.spec_index, apart);
                    let Some(name) = self.stream(made, *share) else { continue };
                    let section = &self.document.managers[manager].workers[worker].targets[target];
                    let target_name = is_joined.then(|| self.shown(section));
                    found.insert((manager, worker, target), StreamOf { name, target: target_name });
                }
            }
        }
        // Clients name their servers.
        let clients = self.servers.keys().filter(|place| test.managers[place.0][place.1].targets > 0);
        for &(manager, worker) in clients {
            let made = (manager, worker, 0, test.spec_index, None);
            if let Some(name) = self.stream(made, test.managers[manager][worker]) {
                found.insert((manager, worker, 0), StreamOf { name, target: None });
            }
        }
        let mut streams: Vec<String> = Vec::new();
        for StreamOf { name, target: _ } in found.values() {
            if !streams.contains(name) {
                streams.push(name.clone());
            }
        }
        self.streams.extend(group.iter().map(|_| found.clone()));
        let name = self.names[3].unique(&specs.join(" + "));
        let mut stage = Named::<StageOptions>::new(name, span);
        stage.options.streams.set(streams, span);
        if setup.run_seconds > 0 {
            stage.options.time.set(Nanos::secs(setup.run_seconds), setup.run_time_span);
        }
        if setup.ramp_seconds > 0 {
            stage.options.ramp.set(Nanos::secs(setup.ramp_seconds), setup.run_time_span);
        }
        // All disk workers have the same depth then.
        let depth_of = |test: &Test| {
            let workers = test.managers.iter().zip(&self.document.managers);
            let shares = workers.flat_map(|(shares, manager)| shares.iter().zip(&manager.workers));
            let mut disks = shares.filter(|(share, worker)| share.targets > 0 && worker.kind == Kind::Disk);
            disks.next().map(|(share, _)| share.outstanding)
        };
        let depths: Vec<i64> = group.iter().filter_map(depth_of).collect();
        if depths.len() > 1 {
            let values = depths.into_iter().map(Literal::Integer).collect();
            let dimensions = vec![("stream.queue_depth".to_owned(), values)];
            stage.options.sweep.set(Sweep { dimensions }, span);
        }
        self.job.stages.push(stage);
    }

    /// The stream of a worker on a target; `None` after a complaint.
    fn stream(&mut self, key: Made, share: Share) -> Option<String> {
        let (manager, worker, target, spec_index, apart) = key;
        // Of a connection there is one, whatever depth others have.
        let is_peer = self.document.managers[manager].workers[worker].kind != Kind::Disk;
        let key = if is_peer { (manager, worker, target, spec_index, None) } else { key };
        if let Some(name) = self.made.get(&key) {
            return Some(name.clone());
        }
        let document = self.document;
        let (section, many) = (&document.managers[manager], document.managers.len() > 1);
        let place = (manager, worker);
        let (manager, worker) = (&section.name, &section.workers[worker]);
        let spec = document.spec(&worker.specs[spec_index])?;
        if worker.kind == Kind::Vi {
            self.error_once(
                "icf.not-built",
                worker.span,
                "NETWORK,VI workers need a Virtual Interface Architecture, which no system has any more"
                    .to_owned(),
                "make it a NETWORK,TCP worker, or leave it out",
            );
            return None;
        }
        let span = worker.span;
        let joined = apart.map_or(1, |(targets, _)| targets);
        let name = [
            if many { format!("{manager}/") } else { String::new() },
            worker.name.clone(),
            match joined {
                0 | 1 if worker.targets.len() > 1 => format!(", {}", worker.targets[target].name),
                0 | 1 => String::new(),
                _ if joined < worker.targets.len() => format!(", {joined} targets"),
                _ => String::new(),
            },
            if worker.specs.len() > 1 { format!(": {}", spec.name) } else { String::new() },
        ]
        .concat();
        let name = self.names[2].unique(&name);
        let mut options = StreamOptions::default();
        if worker.kind == Kind::Tcp {
            self.end_of_connection(place, spec_index, spec, &mut options)?;
            self.job.streams.push(Named { name: name.clone(), span, options });
            self.made.insert(key, name.clone());
            return Some(name);
        }
        let targets = &worker.targets[target..target + joined.max(1)];
        options.targets.set(targets.iter().map(|target| self.target(target)).collect(), targets[0].span);
        options.workload.set(self.workload(spec, Use::Disk(worker.pattern)), spec.span);
        // A depth that is cycled is none of the worker's.
        let is_own = share.outstanding == worker.outstanding;
        let depth_span = if is_own { worker.depth_span } else { document.setup.test_type_span };
        let outstanding = share.outstanding.saturating_mul(i64::try_from(joined).unwrap_or(i64::MAX));
        self.set_depth(&mut options, outstanding, depth_span);
        self.set_region(&mut options, spec, worker);
        self.set_bursts(&mut options, spec);
        self.warn_of_connections(worker);
        options.seed.set(worker.fixed_seed.map_or(Seed::Fresh, Seed::Fixed), span);
        self.job.streams.push(Named { name: name.clone(), span, options });
        self.made.insert(key, name.clone());
        Some(name)
    }

    fn set_depth(&mut self, options: &mut StreamOptions, outstanding: i64, span: Span) {
        match u32::try_from(outstanding) {
            Ok(depth) if (1..=DEPTH_MAX).contains(&outstanding) => options.queue_depth.set(depth, span),
            _ => {
                let message = format!("{outstanding} outstanding I/Os are not within 1 to {DEPTH_MAX}");
                self.error_once("icf.bad-value", span, message, "give 1 or more");
            }
        }
    }

    /// The part of its targets that a worker uses.
    fn set_region(&mut self, options: &mut StreamOptions, spec: &Spec, worker: &Worker) {
        let span = worker.region_span;
        let bytes = |sectors: u64| sectors.checked_mul(self.surroundings.sector_bytes);
        let (Some(start), Some(size)) = (bytes(worker.start), bytes(worker.max_size)) else {
            let message = "the maximum size or the starting sector is beyond 2^64 bytes";
            self.error_once("icf.bad-value", span, message.to_owned(), "give fewer sectors");
            return;
        };
        if start > 0 {
            options.offset.set(Amount::Bytes(Bytes(start)), span);
        }
        if size > 0 {
            options.size.set(Amount::Bytes(Bytes(size)), span);
        }
        let largest = spec.lines.iter().filter(|line| line.pct > 0).map(|line| u64::from(line.size)).max();
        if let Some(largest) = largest.filter(|largest| (1..*largest).contains(&size)) {
            let sector_bytes = self.surroundings.sector_bytes;
            let message = format!(
                "\"{}\" uses {} of its targets, and \"{}\" has operations of {}",
                worker.name,
                Bytes(size),
                spec.name,
                Bytes(largest)
            );
            let help = format!(
                "give a maximum size of {} sectors or more, or 0 for all there are",
                largest.div_ceil(sector_bytes)
            );
            self.error_once("icf.bad-value", span, message, &help);
        }
    }

    /// Pauses before bursts. They are a worker's over all its targets, which are one stream then, of the line that is drawn.
    fn set_bursts(&mut self, options: &mut StreamOptions, spec: &Spec) {
        let first = spec.lines[0];
        let has_delay = spec.lines.iter().any(|line| line.delay > 0);
        let differ = |line: &&SpecLine| (line.delay, line.burst) != (first.delay, first.burst);
        if has_delay && let Some(line) = spec.lines.iter().find(differ) {
            let message = format!(
                "lines of \"{}\" that differ in delay or burst are known but not built yet",
                spec.name
            );
            self.found.error(
                "icf.not-built",
                line.span,
                message,
                "give all lines the same, or a specification each",
            );
        } else if has_delay {
            options.think_time.set(Nanos::millis(u64::from(first.delay)), first.span);
            options.think_every.set(u64::from(first.burst.max(1)), first.span);
            // Iometer counts what it issues, whatever comes back meanwhile.
            options.think_issued.set(true, first.span);
        } else if spec.lines.len() > 1 && spec.lines.iter().any(|line| line.burst > 1) {
            let message =
                format!("bursts of \"{}\" without a delay are drawn operation by operation", spec.name);
            self.warn_once("icf.approximate", spec.span, &message, "the shares of the lines are kept");
        }
    }

    fn warn_of_connections(&mut self, worker: &Worker) {
        if worker.connection_rate {
            let message = format!(
                "\"{}\" tests the connection rate, which is left out: targets stay open",
                worker.name
            );
            self.warn_once("icf.ignored", worker.span, &message, "connections in the results are 0");
        }
    }

    fn warn_once(&mut self, code: &'static str, span: Span, message: &str, help: &str) {
        if !self.found.all().iter().any(|one| one.message == message && one.span == Some(span)) {
            self.found.warn(code, span, message, help);
        }
    }

    /// An error that a worker has on each of its targets is said once.
    fn error_once(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        if !self.found.all().iter().any(|one| one.message == message && one.span == Some(span)) {
            self.found.error(code, span, message, help);
        }
    }

    /// Name of the workload of a specification, for what it is used for.
    fn workload(&mut self, spec: &Spec, used: Use) -> String {
        let key = (spec.name.to_lowercase(), used);
        if let Some(name) = self.workloads.get(&key) {
            return name.clone();
        }
        let name = self.names[1].unique(&spec.name);
        let mut options = WorkloadOptions::default();
        let sector_bytes = self.surroundings.sector_bytes;
        let found = &mut self.found;
        match used {
            Use::Library => workload::lower(spec, None, sector_bytes, &mut options, found),
            Use::Disk(pattern) => workload::lower(spec, Some(pattern), sector_bytes, &mut options, found),
            Use::Network => workload::lower_network(spec, &mut options, found),
        }
        self.job.workloads.push(Named { name: name.clone(), span: spec.span, options });
        self.workloads.insert(key, name.clone());
        name
    }

    /// What a target is called in the record of a run: its path, where it has one.
    fn shown(&mut self, target: &Target) -> String {
        match (self.surroundings.place)(&target.name) {
            Some(Place::Path(path)) => path,
            _ => self.target(target),
        }
    }

    /// Name of the section of a target.
    fn target(&mut self, target: &Target) -> String {
        let key = Target::key(&target.name);
        if let Some(name) = self.targets.get(&key) {
            return name.clone();
        }
        let name = self.names[0].unique(&target.name);
        let mut options = TargetOptions::default();
        match (self.surroundings.place)(&target.name) {
            Some(Place::Path(path)) => options.path.set(vec![path], target.span),
            Some(Place::Null) => options.kind.set(TargetKind::Null, target.span),
            Some(Place::Sim) => options.kind.set(TargetKind::Sim, target.span),
            None => {
                let message = format!("nothing on this machine is called {}", target.name);
                let help = format!(
                    "say what stands for it: --map '{}=/dev/…' or a file, sim: or null:",
                    flag_name(&target.name)
                );
                self.unless_only_looked_at("icf.unmapped", target.span, &message, &help);
                options.path.set(vec![target.name.clone()], target.span);
            }
        }
        self.job.targets.push(Named { name: name.clone(), span: target.span, options });
        self.targets.insert(key, name.clone());
        name
    }

    /// A file has to be as large as all its workers use of it; what is there decides where one of them uses all.
    fn set_target_sizes(&mut self) {
        for section in &mut self.job.targets {
            let uses = self.job.streams.iter().filter(|stream| {
                stream.options.targets.get().is_some_and(|names| names.contains(&section.name))
            });
            let end = uses.map(|stream| match (stream.options.offset.get(), stream.options.size.get()) {
                (Amount::Bytes(start), Some(Amount::Bytes(size))) => start.0.checked_add(size.0),
                _ => None,
            });
            let end = end.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max());
            let is_simulated = *section.options.kind.get() == TargetKind::Sim;
            if let Some(end) = end {
                section.options.size.set(Amount::Bytes(Bytes(end)), section.span);
            } else if is_simulated {
                section.options.size.set(Amount::Bytes(SIMULATED), section.span);
            }
        }
    }
}

/// The part of a target's name that is enough to name it: the drive's letter, or all.
fn flag_name(name: &str) -> String {
    if name.chars().nth(1) == Some(':') { name.chars().take(2).collect() } else { name.to_owned() }
}
