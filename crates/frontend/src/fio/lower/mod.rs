//! fio jobs as fathom's model: clones become streams, barriers become stages, everything quirky becomes plain. Knows fio's
//! meaning and the model; how it was written is behind it.

mod amounts;
mod appends;
mod caches;
mod content;
mod control;
mod cpu;
mod demands;
mod distribution;
mod engines;
mod files;
mod names;
mod peers;
mod seeds;
mod settling;
mod targets;
mod traces;
mod verify;
mod workload;

use super::extras::{Extras, JobClone, Logs};
use super::faults::Faults;
use super::settings::Settings;
use super::values::Size;
use super::{JOBS_MAX, ParsedJob, Surroundings, listed};
use crate::names::Names;
use engines::FioEngine;
use fathom_model::{
    Amount, Arrival, ByKind, CpusPolicy, Durability, Engine, Job, Named, Rate, Seed, Span, StageOptions,
    StreamOptions, WorkerRegions,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, Ratio};
use seeds::{SEED, kind_seed, repeated_kind_seed, scrambled};
use targets::{Targets, need_of, place_of, region_of, region_span};
use workload::Lowered;

pub(super) use engines::{check_private, forget_of_another_engine, is_private, private_options};
pub(crate) use targets::joined;

/// How often the bins of a logged histogram can be halved: as often as there are powers of two in one of their groups.
const COARSENESS_MAX: u8 = 6;

/// Lowers all jobs into `job` and `extras`.
pub(super) fn lower(
    jobs: &[ParsedJob],
    job: Job,
    extras: Extras,
    surroundings: &Surroundings<'_>,
    aux_path: &str,
    faults: &mut Faults,
) -> (Job, Extras) {
    let mut lowering = Lowering {
        job,
        extras,
        surroundings,
        aux_path,
        faults,
        targets: Targets::default(),
        workload_names: Names::default(),
        stream_names: Names::default(),
        stages: vec![Stage::default()],
        group: Group::default(),
        names: None,
        sections: control::Sections::default(),
        exit_all: jobs.iter().any(|parsed| parsed.settings.control.exit_all),
    };
    for parsed in jobs {
        lowering.section(parsed);
    }
    let Lowering { mut job, extras, stages, .. } = lowering;
    if stages.len() > 1 {
        job.stages = stages.into_iter().zip(1..).map(|(stage, number)| stage.named(number)).collect();
    }
    set_run(&mut job, jobs, faults);
    let samples = jobs.iter().flat_map(|parsed| parsed.settings.report.sampled_ms());
    let extras = Extras { sample_ms: samples.fold(0, greatest_common_divisor), ..extras };
    (job, extras)
}

/// fio's report group.
#[derive(Default)]
struct Group {
    id: u32,
    jobs: u32,
    /// Whether those that later jobs are put together with have percentiles of the latency.
    lat_percentiles: bool,
    /// What ends its first job as its steady state.
    steady: Option<settling::Asked>,
}

/// What runs together: the jobs from one barrier to the next.
#[derive(Default)]
struct Stage {
    span: Span,
    streams: Vec<String>,
}

impl Stage {
    fn named(self, number: u32) -> Named<StageOptions> {
        let mut stage = Named::<StageOptions>::new(format!("stage {number}"), self.span);
        stage.options.streams.set(self.streams, self.span);
        stage
    }
}

struct Lowering<'a> {
    job: Job,
    extras: Extras,
    surroundings: &'a Surroundings<'a>,
    aux_path: &'a str,
    faults: &'a mut Faults,
    targets: Targets,
    workload_names: Names,
    stream_names: Names,
    stages: Vec<Stage>,
    group: Group,
    /// Of the section at hand: see [`names::adapted`].
    names: Option<(u64, u64)>,
    sections: control::Sections,
    /// One `exitall` is every job's.
    exit_all: bool,
}

impl Lowering<'_> {
    /// One section with all its clones.
    fn section(&mut self, parsed: &ParsedJob) {
        let ParsedJob { name, section: _, span, settings, options } = parsed;
        let adapted = names::adapted(parsed, self.faults);
        let parsed = adapted.as_ref().map_or(parsed, |(adapted, _)| adapted);
        let adapted_to_engine = cpu::adapted(parsed).or_else(|| amounts::adapted_to_null(parsed));
        let parsed = adapted_to_engine.as_ref().unwrap_or(parsed);
        let is_adapted = adapted.is_some() || adapted_to_engine.is_some();
        let settings = if is_adapted { &parsed.settings } else { settings };
        self.names = adapted.as_ref().map(|(_, counts)| *counts);
        self.job.echo.push((name.clone(), listed(options)));
        let bare;
        let parsed = if settings.trace.files.is_empty() {
            parsed
        } else {
            bare = traces::bare(parsed, self.faults);
            &bare
        };
        let settings = &parsed.settings;
        let Some(clones) = self.clones_of(parsed) else { return };
        self.stage_and_group(parsed);
        let lowered = workload::lower(parsed, self.surroundings, self.faults);
        let workload_name = self.workload_names.unique(name);
        self.job.workloads.push(Named {
            name: workload_name.clone(),
            span: *span,
            options: lowered.options.clone(),
        });

        let engine = engines::of(parsed, self.faults);
        amounts::refuse_less_than_a_block(parsed, self.faults);
        amounts::tell_of_replaced_percents(parsed, self.faults);
        self.refuse_standard_streams(parsed, engine);
        let (place, is_shared) = place_of(parsed, 0, self.surroundings);
        self.set_verify_when(parsed, engine, &place);
        // A connection has one job at each end.
        let is_shared = is_shared && engine.engine != Engine::Net;
        // Each clone has a state of its own.
        let loads_state = settings.verify.loads_state && lowered.options.verify.span().is_some();
        let replays = !settings.trace.files.is_empty();
        let is_merged =
            clones > 1 && is_shared && !loads_state && !replays && self.may_be_merged(parsed, &place);
        let mut base = self.stream(parsed, &lowered, engine);
        base.workload.set(workload_name, *span);
        self.set_wait(&mut base, parsed, clones);
        self.set_ends(&mut base, parsed);
        Self::set_commands(&mut base, parsed);
        Self::set_nodes(&mut base, parsed);
        self.sections.begin(name, self.stages.len());
        if is_merged {
            self.set_cpus(&mut base, parsed, clones);
            let target = self.target(parsed, place, clones - 1, &lowered, engine, &mut base);
            base.targets.set(vec![target], settings.span("filename", *span));
            base.workers.set(clones, settings.span("numjobs", *span));
            demands::set_rates(&mut base, settings, clones, *span, self.faults);
            if let Some(rate) = of_all(*base.rate.get(), clones) {
                base.rate.set(rate, base.rate.span().unwrap_or(*span));
            }
            if let Some((direction, rate)) = lowered.rate_max
                && let Some(rate) = of_all(rate, clones)
            {
                let place = base.rate_max.span().unwrap_or(*span);
                base.rate_max.set(ByKind(vec![(Some(direction), rate)]), place);
            }
            self.set_kind_seeds(&mut base, &lowered, clones, parsed.settings.operations.all_rand_repeat);
            let stream = self.add_stream(name, parsed, base);
            for order in 0..clones {
                self.add_clone(parsed, &stream, subjob_of(order, clones), subjob_of(order, clones));
            }
            return;
        }
        for order in 0..clones {
            let subjob = subjob_of(order, clones);
            let mut options = base.clone();
            demands::set_rates(&mut options, settings, 1, *span, self.faults);
            self.set_cpus(&mut options, parsed, 1);
            self.set_drawn_delay(&mut options, parsed);
            let (place, is_shared) = place_of(parsed, subjob, self.surroundings);
            if replays {
                self.set_trace(&mut options, parsed, subjob);
            } else if engine.engine == Engine::Net {
                let target = self.peer(parsed, place, subjob, &lowered, &mut options);
                options.targets.set(vec![target], settings.span("hostname", *span));
            } else {
                let last = if is_shared { clones - 1 } else { subjob };
                let target = self.target(parsed, place, last, &lowered, engine, &mut options);
                options.targets.set(vec![target], settings.span("filename", *span));
            }
            options.first_worker.set(subjob, settings.span("numjobs", *span));
            if loads_state {
                self.set_known_writes(&mut options, parsed);
            }
            self.set_kind_seeds(&mut options, &lowered, 1, parsed.settings.operations.all_rand_repeat);
            let stream_name = if clones == 1 { name.clone() } else { format!("{name}.{subjob}") };
            let stream = self.add_stream(&stream_name, parsed, options);
            self.add_clone(parsed, &stream, 0, subjob);
        }
    }

    /// Whether clones on the same files may be the workers of one stream.
    fn may_be_merged(&self, parsed: &ParsedJob, place: &targets::Place) -> bool {
        let Settings { operations, report, control, files, .. } = &parsed.settings;
        let has_logs = report.logs.iter().any(Option::is_some) || report.iolog.is_some();
        // Which clones have a region depends on where what is there ends, and those that have none do nothing alone.
        let is_each_alone = match operations.offset_increment {
            Size::Bytes(0) => false,
            Size::Bytes(_) => {
                need_of(parsed, place, 0, false, self.surroundings).is_special
                    || !matches!(operations.size, Some(Size::Bytes(_)))
            }
            Size::Percent(_) => true,
        };
        // What appends begins where the one before it ends.
        let begins_alike = !is_each_alone && !files.append && control.startdelay.0 == control.startdelay.1;
        begins_alike && report.group_reporting && !has_logs
    }

    /// When what the last section's workload writes is read back, which hangs on its engine and files.
    fn set_verify_when(&mut self, parsed: &ParsedJob, engine: &FioEngine, place: &targets::Place) {
        if let Some(Named { options, .. }) = self.job.workloads.last_mut() {
            verify::set_when(
                options,
                parsed,
                engine.goes_on(parsed.settings.engine.depth),
                place.files(),
                self.faults,
            );
        }
    }

    /// The delay of the next clone, where it is drawn between two: evenly, from the seed and the clone's number.
    fn set_drawn_delay(&self, options: &mut StreamOptions, parsed: &ParsedJob) {
        let (low, high) = parsed.settings.control.startdelay;
        if low < high {
            let seed = parsed.settings.operations.seed.unwrap_or(SEED);
            let drawn = scrambled(seed ^ (self.extras.clones.len() as u64 + 1).rotate_left(32));
            // The high half of the product is below the span.
            let above = (u128::from(drawn) * (u128::from(high - low) + 1)) >> 64;
            let delay = low + u64::try_from(above).unwrap_or(0);
            options.start_delay.set(Nanos::micros(delay), parsed.settings.span("startdelay", parsed.span));
        }
    }

    /// To fio, `-` is the standard input or output, which it then finds to have no size; an engine that opens no file
    /// takes it.
    fn refuse_standard_streams(&mut self, parsed: &ParsedJob, engine: &FioEngine) {
        let settings = &parsed.settings;
        let opens = !matches!(engine.engine, Engine::Null | Engine::Cpu);
        if opens && self.names.is_none() && settings.files.names.iter().any(|name| name == "-") {
            let message = "filename=- is the standard input or output to fio, which has no size to work on";
            let help = "name a file; ./- is one of that name";
            self.faults.error("fio.bad-value", settings.span("filename", parsed.span), message, help);
        }
    }

    /// What an earlier run of the next clone left is all that is checked.
    fn set_known_writes(&mut self, options: &mut StreamOptions, parsed: &ParsedJob) {
        let place = parsed.settings.span("verify_state_load", parsed.span);
        let number = self.extras.clones.len() + 1;
        match verify::known_writes(parsed, number, self.aux_path, self.surroundings) {
            Ok(verify::Known { count, of, file }) => {
                options.verify_until.set(count, place);
                if count < of {
                    let message = format!(
                        "verify_state_load: {file} tells of {of} writes, and of {count} that they had finished before any that \
                         had not: the others are not checked"
                    );
                    let help = "a state that fathom leaves tells of all that had finished";
                    self.faults.warn("fio.verify-state", place, message, help);
                }
            }
            Err(reason) => {
                let message = format!("verify_state_load: {reason}");
                let help = "run the job that writes first, with verify_state_save=1, in the same folder";
                self.faults.error("fio.bad-value", place, message, help);
            }
        }
    }

    /// How many clones there are; none when the limit of all jobs is reached.
    fn clones_of(&mut self, parsed: &ParsedJob) -> Option<u32> {
        let wanted = parsed.settings.control.numjobs;
        let left = JOBS_MAX - self.extras.clones.len().min(JOBS_MAX);
        if wanted > left as u64 {
            let span = parsed.settings.span("numjobs", parsed.span);
            let message = format!(
                "maximum number of jobs reached: there are more than {JOBS_MAX} with the {wanted} of \"{}\"",
                parsed.name
            );
            self.faults.error("fio.too-many-jobs", span, message, "use fewer clones with a deeper iodepth");
            // One is enough to find the section's other faults.
            return (left > 0).then_some(1);
        }
        u32::try_from(wanted).ok()
    }

    fn stage_and_group(&mut self, parsed: &ParsedJob) {
        let control = &parsed.settings.control;
        if (control.stonewall || control.new_group) && self.group.jobs > 0 {
            self.group = Group { id: self.group.id + 1, ..Group::default() };
        }
        let asked = settling::asked(&parsed.settings.demands);
        if self.group.jobs == 0 {
            self.group.steady = asked;
        } else if self.group.steady != asked {
            settling::refuse_differences(&parsed.settings, parsed.span, self.faults);
        }
        let report = &parsed.settings.report;
        if self.group.jobs == 0 || !report.group_reporting {
            self.group.lat_percentiles = report.lat_percentiles;
        } else if self.group.lat_percentiles != report.lat_percentiles {
            let place = parsed.settings.span("lat_percentiles", parsed.span);
            let message = "lat_percentiles differs from that of the jobs that this one is reported with; fio gives no report then";
            self.faults.error(
                "fio.contradiction",
                place,
                message,
                "set it alike, or leave group_reporting out",
            );
        }
        if control.stonewall && self.stages.last().is_some_and(|stage| !stage.streams.is_empty()) {
            self.stages
                .push(Stage { span: parsed.settings.span("stonewall", parsed.span), streams: Vec::new() });
        }
    }

    fn add_stream(&mut self, name: &str, parsed: &ParsedJob, options: StreamOptions) -> String {
        let (name, span) = (self.stream_names.unique(name), parsed.span);
        // Where its engine moves bytes of files.
        let has_files = !matches!(options.engine.get(), Engine::Net | Engine::Cpu | Engine::Exec)
            && self.names.is_none()
            && parsed.settings.trace.files.is_empty();
        if has_files && let Some(fault) = amounts::shortfall(parsed) {
            self.extras.starved.push((name.clone(), fault));
        }
        self.job.streams.push(Named { name: name.clone(), span, options });
        self.stages.last_mut().expect("starts with one and only grows").streams.push(name.clone());
        self.sections.add(&name);
        name
    }

    /// What the draws of reads and writes of the next clones begin with, in the order of their workers: with the seed of a job
    /// its number decides it, with a fresh one nothing does.
    fn set_kind_seeds(&self, options: &mut StreamOptions, lowered: &Lowered, clones: u32, repeats: bool) {
        let (true, Some(&Seed::Fixed(seed))) = (lowered.redraws, options.seed.get()) else { return };
        let of_worker = |worker: u32| {
            let order = if worker == 0 { 0 } else { clones - worker };
            let number = self.extras.clones.len() as u64 + 1 + u64::from(order);
            if repeats { repeated_kind_seed(number) } else { kind_seed(seed, number) }
        };
        let span = options.seed.span().unwrap_or_default();
        options.kind_seeds.set((0..clones).map(of_worker).collect(), span);
    }

    fn add_clone(&mut self, parsed: &ParsedJob, stream: &str, worker: u32, subjob: u32) {
        let settings = &parsed.settings;
        let report = &settings.report;
        let [bandwidth, latency, iops, histogram] = report
            .logs
            .clone()
            .map(|prefix| prefix.map(|prefix| if prefix.is_empty() { parsed.name.clone() } else { prefix }));
        let coarseness = self.coarseness(parsed);
        self.group.jobs += 1;
        self.extras.clones.push(JobClone {
            stream: stream.to_owned(),
            worker,
            job_name: parsed.name.clone(),
            group_id: self.group.id,
            thread_number: u32::try_from(self.extras.clones.len() + 1).unwrap_or(u32::MAX),
            subjob,
            description: parsed.settings.control.description.clone(),
            echo_index: self.job.echo.len() - 1,
            has_options: !parsed.options.is_empty(),
            is_reported: report.stats,
            group_reporting: report.group_reporting,
            continues_on_error: parsed.settings.control.continues.contains(&true),
            kept_latency: settings.demands.kept_latency(),
            percentiles: report.percentiles.clone(),
            percentile_digits: report.percentile_digits,
            unified: report.unified,
            measures: if self.names.is_some() { names::measured(report.measures) } else { report.measures },
            units: peers::units(settings),
            // fio looks at the devices of files that the job names, and a trace names its own later.
            disk_util: report.disk_util
                && !settings.has("read_iolog")
                && !names::is_diskless(&parsed.settings.engine.name),
            rw: parsed.settings.operations.rw.clone(),
            block_sizes: self
                .names
                .map_or_else(|| block_sizes(&parsed.settings), |(_, bytes)| [(bytes, bytes); 3]),
            engine: parsed.settings.engine.name.clone(),
            is_thread: parsed.settings.control.thread,
            queue_depth: parsed.settings.engine.depth,
            names: self.names,
            cpu: cpu::is_of(settings).then(|| cpu::shown(settings)),
            saves_state: parsed.settings.verify.saves_state && !parsed.settings.verify.only,
            clat_percentiles: report.clat_percentiles && report.measures.completion,
            lat_percentiles: report.lat_percentiles && report.measures.service,
            slat_percentiles: report.slat_percentiles && report.measures.submission,
            has_priorities: engines::has_priorities(settings),
            sample_ms: report.sampled_ms(),
            rates: demands::held_to(settings),
            logs: Logs {
                bandwidth,
                latency,
                iops,
                histogram,
                issued: report.iolog.clone(),
                per_job: report.per_job_logs,
                is_stored: report.log_stored,
                value: report.log_value,
                columns: report.log_columns,
                rate_ms: report.rate_windows_ms(),
                average_ms: report.log_avg_ms,
                histogram_ms: report.log_hist_ms,
                coarseness,
            },
        });
    }

    /// How often the bins of a job's histograms are halved. Above the largest, fio 3.33 counts some bins twice; where no
    /// histogram is logged it means nothing.
    fn coarseness(&mut self, parsed: &ParsedJob) -> u8 {
        let report = &parsed.settings.report;
        let known = u8::try_from(report.hist_coarseness).ok().filter(|&halved| halved <= COARSENESS_MAX);
        if known.is_none() && report.logs[3].is_some() {
            let place = parsed.settings.span("log_hist_coarseness", parsed.span);
            let message =
                format!("log_hist_coarseness: {} is above {COARSENESS_MAX}", report.hist_coarseness);
            let help = format!("write a whole number from 0 to {COARSENESS_MAX}");
            self.faults.error("fio.bad-value", place, message, help);
        }
        known.unwrap_or(COARSENESS_MAX)
    }

    /// The target of a clone, and the region and bounds that follow from it.
    fn target(
        &mut self,
        parsed: &ParsedJob,
        place: targets::Place,
        last: u32,
        lowered: &Lowered,
        engine: &FioEngine,
        options: &mut StreamOptions,
    ) -> String {
        let settings = &parsed.settings;
        let mut need = need_of(parsed, &place, last, lowered.reads, self.surroundings);
        let stage = self.stages.len();
        if settings.files.fill && lowered.writes {
            self.targets.fill(&place, stage);
        } else if amounts::goes_to_the_end(parsed, lowered, engine.engine)
            && self.targets.is_filled(&place, stage)
        {
            need.layout = fathom_model::Layout::Created;
            options.until_full.set(true, parsed.span);
        }
        let region = region_of(settings, &place, lowered.smallest, need.is_special);
        if let Some(region) = region {
            options.size.set(region, region_span(settings, parsed.span));
        }
        amounts::set(options, parsed, lowered, place.files(), engine.goes_on(parsed.settings.engine.depth));
        if need.is_special {
            amounts::set_of_device(options, parsed, lowered);
        } else {
            appends::refuse_mappings(parsed, engine.engine, self.faults);
            appends::end(options, parsed, lowered, place.files(), self.faults);
            appends::begin_where_nothing_is_opened(options, parsed, engine.engine, place.files());
        }
        amounts::set_tails(options, settings, place.files(), lowered.smallest);
        amounts::tell_tails(parsed, place.files(), lowered.smallest, self.faults);
        amounts::join_loops(options, parsed, lowered, engine.goes_on(parsed.settings.engine.depth));
        let is_opened = engine.engine != Engine::Null;
        if is_opened && self.targets.are_absent(&place, &need, engine.engine, self.surroundings) {
            amounts::begin_where_nothing_is(options, parsed, self.faults);
        }
        self.targets.name_of(&mut self.job, place, &need, parsed, engine.engine, self.surroundings)
    }

    /// What all clones of a section have in common.
    fn stream(&mut self, parsed: &ParsedJob, lowered: &Lowered, engine: &FioEngine) -> StreamOptions {
        let (settings, span) = (&parsed.settings, parsed.span);
        let Settings { operations, engine: set, .. } = settings;
        let mut options = StreamOptions::default();
        options.engine.set(engine.engine, settings.span("ioengine", span));
        options.direct.set(set.direct, settings.span("direct", span));
        if set.untorn {
            // As fio does.
            options.direct.set(true, settings.span("atomic", span));
            options.untorn.set(true, settings.span("atomic", span));
        }
        options.worker_regions.set(WorkerRegions::Same, span);
        options.completion_latency.set(true, span);
        options.report_group.set(self.group.id + 1, span);
        self.set_depth(&mut options, parsed, engine);
        match set.sync.as_str() {
            "sync" | "1" => options.durability.set(Durability::All, settings.span("sync", span)),
            "dsync" => options.durability.set(Durability::Data, settings.span("sync", span)),
            _ => {}
        }
        let control = &settings.control;
        // Jumps go round without a look at the cache: fio drops it where a position comes to the end, which they pass.
        let jumps = *lowered.options.stride.get() != 0 && settings.files.filesize.is_none();
        let goes_round = if jumps {
            control.loops > 1 && !(control.time_based && control.runtime.is_some())
        } else {
            control.time_based || control.loops > 1 || settings.operations.io_size.is_some()
        };
        if !settings.files.invalidate {
            options.keep_cache.set(true, settings.span("invalidate", span));
        } else if goes_round && !settings.engine.direct {
            // Observed with fio 3.33, whose manual says before the start only.
            options.drop_each_pass.set(true, settings.span("invalidate", span));
        }
        engines::set_private(&mut options, engine, settings, span, self.faults);
        if lowered.rate != Rate::Max || lowered.rate_max.is_some() {
            let place = settings.span("rate_iops", settings.span("rate", span));
            if let Some((direction, rate)) = lowered.rate_max {
                options.rate_max.set(ByKind(vec![(Some(direction), rate)]), place);
            } else {
                options.rate.set(lowered.rate, place);
            }
            if set.poisson {
                options.arrival.set(Arrival::Poisson, settings.span("rate_process", span));
            } else if lowered.has_rates_by_kind {
                options.arrival.set(Arrival::ByKind, place);
            }
        } else if set.poisson {
            let message = "rate_process has no effect without a rate";
            self.faults.warn("fio.no-effect", settings.span("rate_process", span), message, "add rate_iops");
        }
        if set.thinktime > 0 {
            options.think_time.set(Nanos::micros(set.thinktime), settings.span("thinktime", span));
        }
        let seed = match (operations.seed, operations.rand_repeat) {
            _ if operations.all_rand_repeat => Seed::Fixed(SEED),
            (Some(seed), _) => Seed::Fixed(seed),
            (None, true) => Seed::Fixed(SEED),
            (None, false) => Seed::Fresh,
        };
        options.seed.set(seed, settings.span("randseed", settings.span("randrepeat", span)));
        if operations.offset != Size::Bytes(0) {
            options.offset.set(amount(operations.offset), settings.span("offset", span));
        }
        if operations.offset_increment != Size::Bytes(0) {
            options
                .offset_per_worker
                .set(amount(operations.offset_increment), settings.span("offset_increment", span));
        }
        if matches!(
            (operations.offset, operations.offset_increment),
            (Size::Percent(_), _) | (_, Size::Percent(_))
        ) {
            let align = if operations.offset_align > 0 { operations.offset_align } else { lowered.smallest };
            options
                .offset_align
                .set(Bytes(align), settings.span("offset_align", settings.span("offset", span)));
        }
        demands::set(&mut options, settings, span, self.faults);
        settling::set(&mut options, settings, span, self.faults);
        settling::set_depth(&mut options, settings, span);
        self.set_times(&mut options, parsed, lowered);
        caches::set_files(&mut options, parsed, lowered.is_random);
        caches::set_memory(&mut options, parsed, self.faults);
        options
    }

    /// CPUs of a stream that stands for `clones`, from the next clone of the run on. fio keeps a set and, when it splits,
    /// deals it out by the number of the clone over the whole run.
    fn set_cpus(&self, options: &mut StreamOptions, parsed: &ParsedJob, clones: u32) {
        let (settings, span) = (&parsed.settings, parsed.span);
        let mut cpus = settings.control.cpus.clone();
        if cpus.is_empty() {
            return;
        }
        cpus.sort_unstable();
        cpus.dedup();
        if settings.control.splits_cpus {
            let before = self.extras.clones.len() % cpus.len();
            cpus.rotate_left(before);
            if clones == 1 {
                cpus.truncate(1);
            } else {
                options.cpus_policy.set(CpusPolicy::Split, settings.span("cpus_allowed_policy", span));
            }
        }
        options.cpus.set(cpus, settings.span("cpus_allowed", settings.span("cpumask", span)));
    }

    fn set_depth(&mut self, options: &mut StreamOptions, parsed: &ParsedJob, engine: &FioEngine) {
        let (settings, span) = (&parsed.settings, parsed.span);
        let set = &settings.engine;
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let place = settings.span("iodepth", span);
        if set.offloads && engine.engine == Engine::IoUring {
            let message = "fio has no io_submit_mode=offload with ioengine=io_uring";
            let help = "leave it out: operations go out when they are due, whatever is in flight";
            self.faults.error("fio.offload", settings.span("io_submit_mode", span), message, help);
        }
        let waits = [Engine::Psync, Engine::Sync, Engine::Vsync, Engine::Pvsync, Engine::Pvsync2];
        if set.offloads && set.depth > 1 && waits.contains(&engine.engine) {
            let message = format!(
                "io_submit_mode=offload has {} threads of fio's wait for the operations of ioengine={}; here an \
                 asynchronous engine keeps as many in flight",
                set.depth, set.name
            );
            let place = settings.span("io_submit_mode", span);
            self.faults.warn("fio.offload", place, message, "name an asynchronous engine to choose which");
            options.engine.set(Engine::Auto, place);
            options.queue_depth.set(narrow(set.depth), settings.span("iodepth", span));
        } else if engine.is_synchronous && set.depth > 1 {
            let message = format!(
                "iodepth={} is 1 with ioengine={}, which waits for each operation",
                set.depth, set.name
            );
            let help = "fio does the same; use libaio or io_uring, or more numjobs";
            self.faults.warn("fio.sync-depth", place, message, help);
            options.queue_depth.set(1, place);
        } else {
            options.queue_depth.set(narrow(set.depth), place);
        }
        let depth = *options.queue_depth.get();
        // What is due at one time goes down by itself where a rate is held: a read would else take as long as the write beside it.
        let is_rated = [&set.rate, &set.rate_iops].into_iter().flatten().flatten().any(|&rate| rate > 0);
        if let Some(batch) = set.batch.or((is_rated && depth > 1).then_some(1)) {
            options.batch_submit.set(narrow(batch).clamp(1, depth), settings.span("iodepth_batch", span));
        }
        if set.complete_min != 1 {
            let place = settings.span("iodepth_batch_complete_min", span);
            if set.complete_min == 0 {
                let message = "iodepth_batch_complete_min=0 waits for one completion instead of polling";
                self.faults.warn("fio.approximate", place, message, "");
            }
            options.batch_complete.set(narrow(set.complete_min).clamp(1, depth), place);
        }
    }

    fn set_times(&mut self, options: &mut StreamOptions, parsed: &ParsedJob, lowered: &Lowered) {
        let (settings, span) = (&parsed.settings, parsed.span);
        let control = &settings.control;
        if let Some(us) = control.runtime {
            let place = settings.span("runtime", span);
            options.time.set(Nanos::micros(us), place);
            if !control.time_based && !cpu::is_of(settings) {
                let message =
                    "runtime without time_based only caps the job, which ends sooner when its size is done";
                let help = "add time_based to run for all of it, or leave runtime out";
                self.faults.warn("fio.runtime-caps", place, message, help);
            }
        } else if control.time_based {
            let message = "time_based needs a runtime and is switched off without one";
            self.faults.warn("fio.no-runtime", settings.span("time_based", span), message, "add runtime=30s");
        }
        if control.ramp_time > 0 {
            options.ramp.set(Nanos::micros(control.ramp_time), settings.span("ramp_time", span));
        }
        if control.ramp_size > 0 {
            options.ramp_bytes.set(Bytes(control.ramp_size), settings.span("ramp_size", span));
        }
        if control.ramp_time > 0 || control.ramp_size > 0 {
            options.ramp_counts.set(true, settings.span("ramp_time", span));
        }
        let place = settings.span("startdelay", span);
        if self.stages.len() > 1 && control.startdelay.1 > 0 {
            options.start_delay_of_run.set(true, place);
        }
        match control.startdelay {
            (0, 0) => {}
            (low, high) if low == high => options.start_delay.set(Nanos::micros(low), place),
            // Each clone draws its own.
            (_, _) => {}
        }
        // Observed with fio 3.33: what runs for a time does not count its operations.
        if control.number_ios > 0 && !(control.time_based && control.runtime.is_some()) {
            // Of a trim and the write after it, fio counts one.
            let each = if lowered.is_trimwrite { 2 } else { 1 };
            let operations = control.number_ios.saturating_mul(control.loops).saturating_mul(each);
            options.operations.set(operations, settings.span("number_ios", span));
        }
    }
}

/// Smallest and largest block of each direction, over its sizes or those of its split.
fn block_sizes(settings: &Settings) -> [(u64, u64); 3] {
    let Settings { operations, .. } = settings;
    std::array::from_fn(|at| {
        let sizes = operations.splits[at].iter().map(|&(size, _)| size);
        match (sizes.clone().min(), sizes.max()) {
            (Some(low), Some(high)) => (low, high),
            _ => operations.block_sizes[at],
        }
    })
}

/// The order in which fio numbers clones: the section itself, then from the last to the first.
fn subjob_of(order: u32, clones: u32) -> u32 {
    if order == 0 { 0 } else { clones - order }
}

fn amount(size: Size) -> Amount {
    match size {
        Size::Bytes(bytes) => Amount::Bytes(Bytes(bytes)),
        Size::Percent(percent) => Amount::Share(Ratio::percent(f64::from(percent))),
    }
}

/// The rate of all clones together; `None` for no rate.
fn of_all(rate: Rate, clones: u32) -> Option<Rate> {
    match rate {
        Rate::Operations(Iops(rate)) => Some(Rate::Operations(Iops(rate * f64::from(clones)))),
        Rate::Bandwidth(BytesPerSec(rate)) => Some(Rate::Bandwidth(BytesPerSec(rate * f64::from(clones)))),
        Rate::Max | Rate::OfMaximum(_) => None,
    }
}

/// What fio has per job and the model for the whole run.
fn set_run(job: &mut Job, jobs: &[ParsedJob], faults: &mut Faults) {
    control::describe(job, jobs);
    set_interval(job, jobs, faults);
}

/// The shortest interval of a run, in milliseconds; windows of logs are multiples of it.
const FINEST_MS: u64 = 10;

/// The interval must divide every log's window.
fn set_interval(job: &mut Job, jobs: &[ParsedJob], faults: &mut Faults) {
    let mut interval_ms = 1000;
    let mut place = None;
    for parsed in jobs {
        let every = parsed.settings.demands.steady_every;
        if parsed.settings.demands.steady_window > 0 && every > 0 {
            interval_ms = greatest_common_divisor(interval_ms, (every / 1000).max(1));
            place = Some(parsed.settings.span("steadystate_check_interval", parsed.span));
        }
    }
    for parsed in jobs.iter().filter(|parsed| parsed.settings.report.logs.iter().any(Option::is_some)) {
        let report = &parsed.settings.report;
        let [bandwidth_ms, iops_ms] = report.rate_windows_ms();
        for (option, ms) in [
            ("log_avg_msec", report.log_avg_ms),
            ("log_hist_msec", report.log_hist_ms),
            ("bwavgtime", bandwidth_ms),
            ("iopsavgtime", iops_ms),
        ] {
            if ms > 0 {
                if ms % FINEST_MS > 0 && parsed.settings.has(option) {
                    let kept = ms.next_multiple_of(FINEST_MS);
                    let span = parsed.settings.span(option, parsed.span);
                    let message = format!("{option}={ms} is kept in windows of {kept} ms");
                    faults.warn("fio.approximate", span, message, "use a multiple of 10");
                }
                interval_ms = greatest_common_divisor(interval_ms, ms);
                place = Some(parsed.settings.span(option, parsed.span));
                // Windows count from the end of the ramp; where no edge can lie there, the first is cut off by the one it has.
                let before_ms =
                    parsed.settings.control.ramp_time.saturating_add(parsed.settings.control.startdelay.0)
                        / 1000;
                if before_ms % FINEST_MS == 0 {
                    interval_ms = greatest_common_divisor(interval_ms, before_ms);
                }
            }
        }
    }
    if let Some(span) = place
        && interval_ms < 1000
    {
        job.run.interval.set(Nanos::millis(interval_ms.max(FINEST_MS)), span);
    }
}

pub(super) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
