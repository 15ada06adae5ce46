//! One stream section to one stream of a step: pacing, limits, engine, workers.
//!
//! It takes targets and operations as resolved and does not know stages beyond their times.

use crate::alignment::aligned;
use crate::control;
use crate::course::{self, Leg};
use crate::demands;
use crate::endings;
use crate::engines;
use crate::links::Links;
use crate::locality;
use crate::peers;
use crate::points;
use crate::programs;
use crate::regions;
use crate::remarks::{PlanNote, Remarks};
use crate::scene::{Load, Maxima, Scene};
use crate::seeds;
use crate::steady;
use crate::targets::{Addressed, Targets};
use crate::traces::Traced;
use crate::verification;
use crate::workers::{Crew, Manned};
use fathom_model::{
    Advice, Arrival, Dialect, Durability, Engine, FileLock, Job, MemoryKind, Rate, RatePiece, Seed,
    StageOptions, StreamOptions, WORKERS_MAX,
};
use fathom_schema::{
    self as schema, Backlog, Counted, Distribution, EngineKind, EngineSettings, IoMode, KindOrder,
    MemorySource, NoteKind, OpenRule, OperationKind, Pacing, PassEnd, Passes, Quota, RATES, Repeats,
    Severity, Stream, StreamLimits, TimeLimit, Workload,
};
use fathom_units::{ARRIVALS_PER_WORKER_MAX, Bytes, Iops, Nanos, Ratio};

/// How long a stream measures that has no bound of its own.
pub const TIME_DEFAULT: Nanos = Nanos::secs(30);

/// What a stream is resolved in.
pub(crate) struct Setting<'a> {
    pub scene: &'a Scene<'a>,
    pub job: &'a Job,
    pub links: &'a Links<'a>,
    pub stage: &'a StageOptions,
    /// Streams of the stages before.
    pub earlier: &'a control::Earlier<'a>,
    /// The streams of the step, in order, by name.
    pub running: &'a control::Running<'a>,
    /// Those of them that have to do with storage.
    pub of_storage: &'a [u32],
    pub curve: points::Load,
    /// Whether the queue depth is the point's: a search asks for it, and not the job.
    pub chooses_depth: bool,
    pub targets: &'a Targets,
    pub maxima: &'a Maxima,
}

/// A stream and whether it shows how fast it can go.
pub(crate) struct Resolved {
    pub stream: Stream,
    /// Nothing holds it back, so what it reaches is its maximum.
    pub at_maximum: bool,
    /// The share of its maximum that its own rate asks for.
    pub share_of_maximum: Option<Ratio>,
}

impl Setting<'_> {
    /// Resolves one stream; `None` when it has faults, which are then among the remarks.
    #[expect(clippy::too_many_lines, reason = "one list of all that a stream has, taken apart in full")]
    pub(crate) fn stream(&self, load: &Load<'_>, remarks: &mut Remarks) -> Option<Resolved> {
        let Load { index, section, operations, workload: _, trace, mirrors, is_paired: _ } = load;
        let StreamOptions {
            workload: _,   // in `operations`
            targets: _,    // in `sections`
            workers: _,    // `depth` and Crew::plans
            kind_seeds: _, // Crew::plans
            queue_depth: _,
            engine: _, // and `direct`, buffers and files: engines::engine and engines::mode
            direct: _,
            durability: _, // here to `batch_complete`: engine_settings
            keep_cache: _,
            drop_each_pass: _,
            pre_read: _,
            advice: _,
            memory: _,
            huge_page: _,
            memory_shift: _,
            locked_memory: _,
            file_lock,
            fixed_buffers: _,
            registered_files: _,
            polled: _, // here to `priority_level`: engines::engine
            nowait: _,
            uncached: _,
            untorn: _,
            submit_thread: _,
            submit_thread_cpu: _,
            vectored: _,
            force_async: _,
            userspace_reap: _,
            stat_call: _,
            ping_pong: _, // engines::engine
            mirrors: _,   // peers::check_mirror, and the seed here
            program: _,   // here to `program_files`: programs
            arguments: _,
            program_grace: _,
            program_files: _,
            cpu_load: _, // and `cpu_chunk`: engines::engine, pacing
            cpu_chunk: _,
            cpu_work: _,
            end_with_io: _, // limits and control
            priority_reads: _,
            priority_writes: _,
            priority_class: _,
            priority_level: _,
            priority_split: _,
            batch_submit: _,
            batch_complete: _,
            refill_at: _,
            batch_complete_max: _,
            serialize_overlap: _,
            rate, // here to `think_puts_off`: pacing
            arrival: _,
            rate_course: _,
            backlog: _,
            think_time: _,
            think_every: _,
            think_issued: _,
            think_after: _,
            think_spin: _,
            think_puts_off: _,
            time: _, // limits
            ramp,
            ramp_bytes: _, // steady::ramp_bytes
            ramp_counts,
            start_delay,
            start_delay_of_run,
            passes: _, // and `bytes`, here to `passes_suffice`: Crew::byte_quota, Crew::passes
            pass_bytes: _,
            passes_suffice: _,
            fresh_files,
            prepare_only: _, // limits
            until_full,
            bytes: _,
            operations: _, // limits
            offset: _,     // here to `size`: regions
            offset_align: _,
            append: _,
            offset_per_worker: _,
            size: _,
            latency_target: _, // here to `latency_adapts`: steady::depth_search
            latency_window: _,
            latency_share: _,
            latency_adapts: _,
            steady: _, // here to `steady_group`: steady
            steady_window: _,
            steady_after: _,
            steady_every: _,
            steady_group: _,
            worker_regions: _, // here to `first_worker`: Crew::plans
            first_worker: _,
            trace: _, // here to `trace_skip`: traces
            trace_timed: _,
            trace_makes_files: _,
            trace_speed_percent: _,
            trace_scale: _,
            trace_align: _,
            trace_skip: _,
            seed: _,
            cpus: _,
            cpu_nodes: _, // and `memory_nodes`: demands::scheduling
            memory_nodes: _,
            cpus_policy: _,
            report_group,
            wait_for: _, // here to `command_output`: control
            at_end: _,
            at_error: _,
            tolerate: _,
            command_before: _,
            command_after: _,
            command_output: _,
            verify_until,
            rate_max: _, // demands::kind_rates
            rate_min: _, // here to `thread_priority_level`: demands
            rate_min_window: _,
            latency_max: _,
            flow: _,
            flow_weight: _,
            flow_pause: _,
            nice: _,
            thread_priority_class: _,
            thread_priority_level: _,
            completion_latency,
        } = &section.options;
        if !peers::check_mirror(self, load, remarks) {
            return None;
        }
        let sections = self.sections(load)?;
        let addressed: Vec<&Addressed> = sections.iter().flat_map(|section| section.iter()).collect();
        let mode = engines::mode(section, &addressed, remarks)?;
        let kind = engines::engine(self.scene, load, &addressed, mode, remarks)?;
        // What has no effect on those is told of by `idle`, and has none.
        let is_simulated = kind == EngineKind::Sim;
        let (depth, lanes) = self.depth(load, kind, remarks)?;
        let (pacing, at_maximum) = match kind {
            EngineKind::Spin { chunk_ns, .. } => (engines::pauses_between(&section.options, chunk_ns), false),
            _ => self.pacing(load, lanes, remarks)?,
        };
        let crew = Crew {
            stream: section,
            operations,
            sections: &sections,
            pacing: &pacing,
            lanes,
            has_ramp: ramp.get().copied().unwrap_or(*self.stage.ramp.get()) > Nanos::ZERO
                || section.options.ramp_bytes.get().is_some(),
            // Both ends of a connection draw the same.
            seed: seeds::of_stream(self.job, mirrors.unwrap_or(*index), self.scene.entropy),
            dialect: self.job.dialect,
            fios: self.scene.grown.get(*index),
        };
        let mut manned = match trace {
            None => crew.plans(remarks)?,
            Some(trace) => trace.manned(section, &addressed, crew.lone_worker(), remarks)?,
        };
        let threads = manned.plans.len() as u64;
        let distribution = locality::of_workers(section, operations, &manned.plans, remarks)?;
        let rate_counts = rate_counts(load);
        let (mut workload, passes, bytes) = match trace {
            None => Self::passage(load, &crew, &manned, distribution, remarks)?,
            Some(_) => (operations.workload.clone(), Passes::Endless, Quota::Unlimited),
        };
        if workload.ends == PassEnd::Anew || manned.ends_with_shares {
            let extents = manned.plans.iter_mut().flat_map(|plan| &mut plan.extents);
            extents.for_each(|extent| extent.room = Bytes::ZERO);
        }
        let mut limits =
            StreamLimits { full_ends: *until_full.get(), passes, ..self.limits(load, bytes, lanes, remarks) };
        limits.steady = steady::rule(section, *self.job.run.interval.get(), remarks)?;
        steady::judge_time(section, &limits, remarks);
        if manned.is_idle {
            limits.operations = Quota::AtMost(0);
        }
        let ramp = if operations.verification.lets_write() {
            self.ramp(load, ramp.get().copied(), remarks)?
        } else {
            // What an earlier run wrote is gone through without any load.
            Nanos::ZERO
        };
        let circumstances = verification::Circumstances {
            stream: &section.name,
            place: load.workload.and_then(|workload| workload.options.verify.span()),
            operations,
            workload: &workload,
            plans: &manned.plans,
            pass_bytes: manned.pass_bytes,
            region_bytes: manned.region_bytes,
            depth,
            serializes: *section.options.serialize_overlap.get(),
            until: verify_until.get().map_or(Quota::Unlimited, |&writes| Quota::AtMost(writes)),
            is_fios: self.job.dialect == Dialect::Fio,
            keeps_data: kind.moves_bytes(),
            memory: self.scene.facts.memory,
        };
        workload.verification = verification::complete(&operations.verification, &circumstances, remarks)?;
        let reads_back = workload.verification.rule().is_some();
        // What is read back begins after the ramp.
        limits.ramp_counts = *ramp_counts.get() && !reads_back;
        let needs_alignment = mode == IoMode::Direct && kind.moves_bytes();
        if needs_alignment && !aligned(load, &manned.plans, &addressed, remarks) {
            return None;
        }
        let ramp_bytes = steady::ramp_bytes(section, reads_back, lanes, remarks)?;
        if !demands::flow_is_possible(section, &workload.verification, remarks) {
            return None;
        }
        let kind_rates = demands::kind_rates(
            section,
            operations,
            &pacing,
            arrival(&section.options),
            &workload.verification,
            remarks,
        )?;
        let pauses = demands::pauses(&section.options, &pacing, lanes);
        let depth_search = steady::depth_search(section, &pacing, reads_back, remarks)?;
        say_trims_are_alone(load, kind, depth, remarks);
        self.say_seed(load, remarks);
        Some(Resolved {
            at_maximum,
            share_of_maximum: match rate.get() {
                Rate::OfMaximum(share) => Some(*share),
                _ => None,
            },
            stream: Stream {
                name: section.name.clone(),
                report_group: *report_group.get(),
                engine: EngineSettings {
                    program: programs::run(section, kind, limits.time),
                    ..engines::batched(engine_settings(&section.options, kind, mode, depth), &pacing)
                },
                queue_depth: depth,
                workload,
                trace: trace.as_ref().map(|trace| trace.replay(&manned.plans[0].extents)),
                pacing,
                rate_counts,
                limits,
                start_delay: *start_delay.get(),
                start_delay_of_run: *start_delay_of_run.get(),
                ramp,
                workers: manned.plans,
                record_completion: *completion_latency.get(),
                control: control::of(load.section, self.running, self.earlier, self.of_storage, remarks)?,
                lock: match file_lock.get() {
                    _ if is_simulated => schema::FileLock::None,
                    FileLock::None => schema::FileLock::None,
                    FileLock::Exclusive => schema::FileLock::Exclusive,
                    FileLock::ReadWrite => schema::FileLock::ReadWrite,
                },
                fresh_files: *fresh_files.get() && !is_simulated,
                demands: demands::demands(&section.options, operations, threads),
                flow: demands::flow(&section.options)
                    .filter(|_| !is_simulated && !self.is_share_of_maximum(&section.options)),
                scheduling: demands::scheduling(&section.options),
                depth_search,
                ramp_bytes,
                kind_rates,
                pauses,
            },
        })
    }

    /// Time whose operations do not count; a trace counts from its first.
    fn ramp(&self, load: &Load<'_>, own: Option<Nanos>, remarks: &mut Remarks) -> Option<Nanos> {
        let ramp = own.unwrap_or(*self.stage.ramp.get());
        if load.trace.is_none() || ramp == Nanos::ZERO {
            return Some(ramp);
        }
        let options = &load.section.options;
        let (name, length) = (&load.section.name, ramp.exact());
        let message = format!("the stream \"{name}\" replays a trace after a ramp of {length}");
        let help = "leave ramp out: all operations of a trace count";
        remarks.error("trace.ramp", options.ramp.span().or(options.trace.span()), message, help);
        None
    }

    /// How its workers go through their regions: the operations, how often, and how many bytes at most.
    fn passage(
        load: &Load<'_>,
        crew: &Crew<'_>,
        manned: &Manned,
        distribution: Distribution,
        remarks: &mut Remarks,
    ) -> Option<(Workload, Passes, Quota)> {
        let mut workload =
            Workload { coverage: manned.coverage, distribution, ..load.operations.workload.clone() };
        if let KindOrder::Even(counted) = &mut workload.kinds {
            *counted = rate_counts(load);
        }
        let (mut passes, mut bytes) = (Passes::Endless, Quota::Unlimited);
        if manned.ends_with_shares {
            workload.ends = PassEnd::Stop;
            passes = crew.passes_of_shares(manned, remarks);
            bytes = crew.byte_quota(manned.pass_bytes, remarks)?;
        } else if load.operations.ends() {
            (passes, bytes) = crew.passes(manned);
        }
        if !manned.ends_with_shares
            && !*load.section.options.fresh_files.get()
            && endings::are_alike(&workload, &manned.plans, passes)
        {
            bytes = endings::bytes_of(passes, bytes, &workload);
            endings::make_endless(&mut workload);
            passes = Passes::Endless;
        }
        if workload.ends == PassEnd::Anew && bytes == Quota::Unlimited {
            bytes = crew.byte_quota(manned.pass_bytes, remarks)?;
        }
        if !endings::have_no_memory_of_places(&workload, load.section, remarks)
            || !endings::keep_to_grids(&workload, load.section, remarks)
            || !endings::fit_in_memory(&workload, &manned.plans, load.section, remarks)
        {
            return None;
        }
        if let Repeats::Of(set) = &mut workload.content.repeats {
            let share =
                load.workload.map_or(Ratio::percent(5.0), |workload| *workload.options.working_set.get());
            *set = (regions::share_of(share, manned.region_bytes) / load.operations.smallest).max(1);
        }
        Some((workload, passes, bytes))
    }

    /// The targets by section; `None` when one of them has faults.
    fn sections(&self, load: &Load<'_>) -> Option<Vec<&[Addressed]>> {
        let used = self.links.targets_of(load.index).map(|place| &self.job.targets[place]);
        used.map(|target| {
            self.targets.sections.get(&target.name).map(Vec::as_slice).filter(|s| !s.is_empty())
        })
        .collect()
    }

    /// Queue depth of a thread, and threads per worker. A synchronous engine has depth 1; more becomes more threads.
    fn depth(&self, load: &Load<'_>, kind: EngineKind, remarks: &mut Remarks) -> Option<(u32, u32)> {
        let (name, options) = (&load.section.name, &load.section.options);
        let (asked, workers) = (*options.queue_depth.get(), *options.workers.get());
        if let Some(trace) = &load.trace {
            let shown = options.queue_depth.given().copied().or(trace.depth());
            return Some((if kind.is_synchronous() { 1 } else { shown.unwrap_or(1).max(1) }, 1));
        }
        if !kind.is_synchronous() || asked <= 1 {
            return Some((asked.max(1), 1));
        }
        if load.is_paired {
            let message = format!(
                "the stream \"{name}\" has queue depth 1, not {asked}: the ends of its connection do one operation after \
                 another"
            );
            remarks.note(NoteKind::Engine, Severity::Info, message);
            return Some((1, 1));
        }
        if kind == EngineKind::Null {
            let message = format!(
                "the stream \"{name}\" has queue depth 1, not {asked}: the null engine completes at once, so depth means \
                 nothing"
            );
            remarks.note(NoteKind::Engine, Severity::Info, message);
            return Some((1, 1));
        }
        // Who asks how many operations at a time a target takes means that many, by whatever engine.
        if self.job.dialect == Dialect::Fio && !self.chooses_depth {
            let message =
                format!("the stream \"{name}\" has queue depth 1, not {asked}: its engine is synchronous");
            remarks.note(NoteKind::Engine, Severity::Warn, message);
            return Some((1, 1));
        }
        if u64::from(workers) * u64::from(asked) > WORKERS_MAX {
            let message = format!(
                "the stream \"{name}\" becomes {workers} × {asked} workers, since its engine is synchronous; the limit \
                 is {WORKERS_MAX}"
            );
            let help = "use a smaller queue_depth";
            remarks.error("plan.too-many-workers", options.queue_depth.span(), message, help);
            return None;
        }
        let message = format!(
            "the stream \"{name}\" keeps {asked} operations in flight with {asked} threads per worker: its engine is \
             synchronous"
        );
        remarks.note(NoteKind::Engine, Severity::Info, message);
        Some((1, asked))
    }

    /// When operations are due, and whether that is as fast as they can.
    fn pacing(&self, load: &Load<'_>, lanes: u32, remarks: &mut Remarks) -> Option<(Pacing, bool)> {
        let options = &load.section.options;
        if let Some(trace) = &load.trace {
            let think = demands::think(options, lanes);
            return Some((trace.pacing(think, &load.section.name, remarks), false));
        }
        if let Some(pieces) = options.rate_course.get() {
            return self.course(load, pieces, remarks);
        }
        let pause = *options.think_time.get();
        let share = match (options.rate.get(), self.curve) {
            (Rate::Max, points::Load::AsDeclared | points::Load::Maximum) => {
                let think = demands::think(options, lanes);
                return Some((Pacing::Closed { think }, pause == Nanos::ZERO));
            }
            (Rate::Max, points::Load::Share(share)) => share,
            (Rate::OfMaximum(share), _) => *share,
            (Rate::Operations(Iops(rate)), _) => return asked(load, *rate, lanes, remarks),
            (Rate::Bandwidth(rate), _) => {
                return asked(load, rate.0 / load.operations.mean_bytes, lanes, remarks);
            }
        };
        if pause > Nanos::ZERO {
            let message = format!(
                "the stream \"{}\" has a think_time and a share of its maximum as rate",
                load.section.name
            );
            remarks.error("plan.think-and-rate", options.think_time.span(), message, "leave think_time out");
            return None;
        }
        open(load, self.share_of_maximum(load, share, remarks)?, remarks)
    }

    /// Whether its rate is a point of a curve, the same share for all streams of what each did at full speed. Such rates keep streams of a
    /// flow in proportion by themselves; to wait for one another as well would be in their response times.
    fn is_share_of_maximum(&self, options: &StreamOptions) -> bool {
        matches!((options.rate.get(), self.curve), (Rate::Max, points::Load::Share(_)))
    }

    /// A rate that changes; the mean over what is measured stands for it.
    fn course(&self, load: &Load<'_>, given: &[RatePiece], remarks: &mut Remarks) -> Option<(Pacing, bool)> {
        let options = &load.section.options;
        let mut legs = Vec::new();
        for piece in given {
            let mut per_second = |rate: &Rate| match rate {
                Rate::Operations(Iops(rate)) => Some(*rate),
                Rate::Bandwidth(rate) => Some(rate.0 / load.operations.mean_bytes),
                Rate::OfMaximum(share) => self.share_of_maximum(load, *share, remarks),
                Rate::Max => None,
            };
            legs.push(match piece {
                RatePiece::Hold(rate, time) => Leg::Hold(per_second(rate)?, *time),
                RatePiece::Idle(time) => Leg::Hold(0.0, *time),
                RatePiece::Ramp(rate, time) => Leg::Ramp(per_second(rate)?, *time),
            });
        }
        let highest = legs.iter().map(|&(Leg::Hold(rate, _) | Leg::Ramp(rate, _))| rate).fold(0.0, f64::max);
        let time = options.time.get().or(self.stage.time.get()).copied().unwrap_or_else(|| length_of(given));
        let mean = fathom_schema::RatePiece::mean(&course::pieces(&legs, Nanos::ZERO), Nanos::ZERO, time);
        if mean < *RATES.start() || highest > *RATES.end() {
            let message = if mean < *RATES.start() {
                format!(
                    "nothing of the stream \"{}\" comes in the {} that it measures",
                    load.section.name,
                    time.exact()
                )
            } else {
                format!(
                    "the stream \"{}\" has a rate of {highest:.0} operations per second; the limit is {:.0}",
                    load.section.name,
                    RATES.end()
                )
            };
            remarks.error("plan.rate", options.rate_course.span(), message, "change its rate_course");
            return None;
        }
        let ends_idle = matches!(legs.last(), Some(Leg::Hold(rate, _)) if *rate <= 0.0);
        let is_timed = options.time.get().or(self.stage.time.get()).is_some();
        let counts = options.bytes.get().is_some()
            || options.operations.get().is_some()
            || options.passes.get().is_some();
        if ends_idle && counts && !is_timed {
            let message = format!(
                "the rate_course of the stream \"{}\" ends idle, so that its work may never be done",
                load.section.name
            );
            remarks.error("plan.rate", options.rate_course.span(), message, "give it a time as well");
            return None;
        }
        let ramp = options.ramp.get().copied().unwrap_or(*self.stage.ramp.get());
        let course = course::pieces(&legs, ramp);
        let backlog = backlog(options);
        Some((Pacing::Open { rate: mean, arrival: arrival(options), course, backlog }, false))
    }

    fn share_of_maximum(&self, load: &Load<'_>, share: Ratio, remarks: &mut Remarks) -> Option<f64> {
        let Some(&maximum) = self.maxima.get(&load.index) else {
            let message = format!(
                "the stream \"{}\" is to run at {share} of its maximum, but nothing before it measures that",
                load.section.name
            );
            let help = "run it with rate = \"max\" in an earlier stage or point, or use curve in the stage";
            let options = &load.section.options;
            let place = options.rate.span().or(options.rate_course.span()).or(Some(load.section.span));
            remarks.error("plan.no-maximum", place, message, help);
            return None;
        };
        Some(share_of_maximum(self.job.dialect, maximum, share))
    }

    fn limits(&self, load: &Load<'_>, bytes: Quota, lanes: u32, remarks: &mut Remarks) -> StreamLimits {
        let options = &load.section.options;
        // A job that only reads checks as many blocks as are known to be written. One that goes through its writes without doing
        // them counts those, and not what it reads back meanwhile.
        let verifies = load.operations.verification.rule().is_some();
        let only_reads = load.operations.workload.cases.iter().all(|case| case.kind == OperationKind::Read);
        let until = options.verify_until.get().filter(|_| verifies && only_reads);
        let asked = options.operations.get().map(|&n| n.div_ceil(u64::from(lanes)).max(1));
        let asked = load.trace.as_ref().map(Traced::operations).or(asked);
        // It ends with its program.
        let asked = if *options.engine.get() == Engine::Exec { Some(1) } else { asked };
        let operations = match (asked, until) {
            (asked, Some(&until)) => Some(Quota::AtMost(asked.unwrap_or(u64::MAX).min(until))),
            (asked, None) => asked.map(Quota::AtMost),
        };
        let operations = if *options.prepare_only.get() {
            Quota::AtMost(0)
        } else {
            operations.unwrap_or(Quota::Unlimited)
        };
        let time = match options.time.get().or(self.stage.time.get()) {
            Some(&time) => TimeLimit::Nanoseconds(time.0),
            None if *options.end_with_io.get() && !self.of_storage.is_empty() => TimeLimit::Unbounded,
            None if bytes != Quota::Unlimited || operations != Quota::Unlimited => TimeLimit::Unbounded,
            None if options.rate_course.get().is_some() => {
                let length = options.rate_course.get().map_or(TIME_DEFAULT, |course| length_of(course));
                TimeLimit::Nanoseconds(length.0)
            }
            None => {
                let name = &load.section.name;
                let message =
                    format!("the stream \"{name}\" measures for {TIME_DEFAULT}: nothing else bounds it");
                remarks.note(NoteKind::Job, Severity::Info, message);
                TimeLimit::Nanoseconds(TIME_DEFAULT.0)
            }
        };
        StreamLimits {
            time,
            bytes,
            operations,
            full_ends: false,
            passes: Passes::Endless,
            ramp_counts: false,
            steady: None,
        }
    }

    fn say_seed(&self, load: &Load<'_>, remarks: &mut Remarks) {
        let seed = load.section.options.seed.get().unwrap_or_else(|| self.job.run.seed.get());
        if *seed == Seed::Fresh {
            let message = PlanNote::of_fresh_seed(self.scene.entropy);
            remarks.note(NoteKind::Job, Severity::Info, message);
        }
    }
}

/// Both asynchronous engines carry out a trim while they submit it, one after another.
fn say_trims_are_alone(load: &Load<'_>, kind: EngineKind, depth: u32, remarks: &mut Remarks) {
    let is_of_storage = !kind.is_synchronous() && kind.moves_bytes();
    if load.operations.trims && is_of_storage && depth > 1 {
        let message = format!(
            "trims of the stream \"{}\" are issued one at a time: their depth is 1, whatever the queue depth of {depth}",
            load.section.name
        );
        remarks.note(NoteKind::Engine, Severity::Warn, message);
    }
}

fn engine_settings(options: &StreamOptions, kind: EngineKind, mode: IoMode, depth: u32) -> EngineSettings {
    let batch = |asked: u32| asked.clamp(1, depth);
    let most = |asked: Option<u32>| {
        asked.filter(|&asked| asked < depth).map_or(Quota::Unlimited, |asked| Quota::AtMost(u64::from(asked)))
    };
    EngineSettings {
        kind,
        mode,
        durability: match options.durability.get() {
            Durability::None => schema::Durability::None,
            Durability::Data => schema::Durability::Data,
            Durability::All => schema::Durability::All,
        },
        open: if *options.pre_read.get() {
            OpenRule::FillCache
        } else if *options.keep_cache.get() {
            OpenRule::KeepCache
        } else if *options.drop_each_pass.get() && mode == IoMode::Buffered {
            OpenRule::DropCacheEachPass
        } else {
            OpenRule::DropCache
        },
        batch_submit: batch(options.batch_submit.get().copied().unwrap_or(depth)),
        exact_batches: options.batch_submit.get().is_some(),
        batch_complete: batch(*options.batch_complete.get()),
        refill_at: most(options.refill_at.get().copied()),
        batch_complete_max: most(options.batch_complete_max.get().copied()),
        serialize_overlap: *options.serialize_overlap.get() && depth > 1,
        advice: match options.advice.get() {
            Advice::None => schema::Advice::None,
            Advice::Random => schema::Advice::Random,
            Advice::Sequential => schema::Advice::Sequential,
            Advice::NoReuse => schema::Advice::NoReuse,
        },
        memory: memory(options, kind),
        priorities: engines::sized_priorities(options),
        trim_by: schema::TrimBy::Discard,
        program: None,
    }
}

fn memory(options: &StreamOptions, kind: EngineKind) -> schema::Memory {
    let locked = *options.locked_memory.get();
    if kind == EngineKind::Sim {
        // Nothing is in the buffers: a host need not have the memory that they were to lie in.
        return schema::Memory { locked, ..schema::Memory::default() };
    }
    let narrow = |bytes: Bytes| u32::try_from(bytes.0).expect("checked by the model");
    let page_bytes = narrow(*options.huge_page.get());
    schema::Memory {
        source: match options.memory.get() {
            MemoryKind::Heap => MemorySource::Heap,
            MemoryKind::Mapped => MemorySource::Mapped,
            MemoryKind::MappedShared => MemorySource::MappedShared,
            MemoryKind::MappedHuge => MemorySource::MappedHuge { page_bytes },
            MemoryKind::Segment => MemorySource::Segment,
            MemoryKind::SegmentHuge => MemorySource::SegmentHuge { page_bytes },
        },
        shift_bytes: narrow(*options.memory_shift.get()),
        locked,
    }
}

/// What the rate of a stream counts: bytes make a difference where operations have several sizes.
fn rate_counts(load: &Load<'_>) -> Counted {
    let options = &load.section.options;
    let is_in_bytes = |rate: &Rate| matches!(rate, Rate::Bandwidth(_));
    let all_in_bytes = match options.rate_course.get() {
        None => is_in_bytes(options.rate.get()),
        Some(pieces) => pieces.iter().all(|piece| match piece {
            RatePiece::Hold(rate, _) | RatePiece::Ramp(rate, _) => is_in_bytes(rate),
            RatePiece::Idle(_) => true,
        }),
    };
    if all_in_bytes && load.operations.only_size().is_none() { Counted::Bytes } else { Counted::Operations }
}

/// How many arrivals may wait, over all workers.
fn backlog(options: &StreamOptions) -> Backlog {
    options.backlog.get().map_or(Backlog::Keep, |&arrivals| Backlog::DropBeyond(arrivals))
}

/// As [`open`], of a rate that the user named.
fn asked(load: &Load<'_>, rate: f64, lanes: u32, remarks: &mut Remarks) -> Option<(Pacing, bool)> {
    let options = &load.section.options;
    let workers = f64::from(*options.workers.get()) * f64::from(lanes);
    if RATES.contains(&rate) && rate > ARRIVALS_PER_WORKER_MAX * workers {
        let message = format!(
            "the stream \"{}\" asks for {} operations per second of each worker; one can follow {}",
            load.section.name,
            Iops(rate / workers),
            Iops(ARRIVALS_PER_WORKER_MAX)
        );
        remarks.error(
            "plan.rate",
            options.rate.span(),
            message,
            "use more workers, a lower rate, or \"max\"",
        );
        return None;
    }
    open(load, rate, remarks)
}

fn open(load: &Load<'_>, rate: f64, remarks: &mut Remarks) -> Option<(Pacing, bool)> {
    let options = &load.section.options;
    if !RATES.contains(&rate) {
        let message = format!(
            "the stream \"{}\" has a rate of {rate} operations per second; {} to {} is possible",
            load.section.name,
            RATES.start(),
            RATES.end()
        );
        remarks.error("plan.rate", options.rate.span(), message, "use a rate of that range or \"max\"");
        return None;
    }
    let (arrival, course) = (arrival(options), Vec::new());
    if arrival == schema::Arrival::ByKind && !matches!(load.operations.workload.kinds, KindOrder::Even(_)) {
        let message = format!(
            "arrival = \"by-kind\" of the stream \"{}\" needs kinds of operations that are not drawn",
            load.section.name
        );
        let help = "add kind_order = \"even\" to its workload, or use arrival = \"constant\"";
        remarks.error("plan.arrival-by-kind", options.arrival.span(), message, help);
        return None;
    }
    Some((Pacing::Open { rate, arrival, course, backlog: backlog(options) }, false))
}

fn arrival(options: &StreamOptions) -> schema::Arrival {
    match *options.arrival.get() {
        Arrival::Constant => schema::Arrival::Constant,
        Arrival::ByKind => schema::Arrival::ByKind,
        Arrival::Poisson => schema::Arrival::Poisson,
        Arrival::Uniform => schema::Arrival::Uniform,
        Arrival::OnOff(on, off) => schema::Arrival::OnOff { on_ns: on.0, off_ns: off.0 },
        Arrival::ParetoOnOff(shape, on, off, sources) => {
            schema::Arrival::ParetoOnOff { shape, on_ns: on.0, off_ns: off.0, sources }
        }
        Arrival::BModel(bias, window) => schema::Arrival::BModel { bias, window_ns: window.0 },
    }
}

fn length_of(course: &[RatePiece]) -> Nanos {
    course.iter().fold(Nanos::ZERO, |sum, piece| sum.after(piece.length()))
}

/// The rate that is `share` of `maximum`. Vdbench's parameter files mean rates rounded up to the next 10, above 1,000 to
/// the next 100 (its manual, run definition "curve"). A share of almost nothing is one operation a second: a rate of 0
/// would never end.
fn share_of_maximum(dialect: Dialect, maximum: f64, share: Ratio) -> f64 {
    let rate = maximum * share.value();
    let rate = if dialect == Dialect::Vdbench {
        let whole = rate.floor();
        let step = if whole > 1000.0 { 100.0 } else { 10.0 };
        (whole / step).ceil() * step
    } else {
        rate
    };
    rate.clamp(1.0, *RATES.end())
}
