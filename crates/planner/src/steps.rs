//! One point of one stage to one step: what `Experiment` hands out.

use crate::advice;
use crate::control;
use crate::engines;
use crate::host;
use crate::links::Links;
use crate::points::Point;
use crate::remarks::Remarks;
use crate::safety::Intent;
use crate::scene::{self, Maxima, Scene};
use crate::streams::{Resolved, Setting};
use crate::targets;
use crate::verification;
use fathom_model::{Diagnostic, Job, Named, OnError, Rate, RunOptions, StageOptions, StreamOptions};
use fathom_schema::{ErrorPolicy, Step, Stream};
use fathom_units::Nanos;
use std::collections::HashSet;

/// A step with what the plan and the experiment keep about it.
pub(crate) struct Built {
    pub step: Step,
    pub intents: Vec<Intent>,
    /// From the step before it to its end; `None` when something but time ends it.
    pub duration: Option<Nanos>,
    /// Streams of the step that show their maximum: index in the step, index in the job.
    pub at_maximum: Vec<(usize, usize)>,
    /// Parts of targets over all workers.
    pub extents: u64,
}

/// Builds the step of a point; `None` when it has faults, which are then among the remarks.
pub(crate) fn build(
    scene: &Scene<'_>,
    job: &Job,
    stages: &[Named<StageOptions>],
    point: &Point,
    maxima: &Maxima,
    remarks: &mut Remarks,
) -> Option<Built> {
    let stage = &stages[point.stage];
    let StageOptions { streams: named, time: _, ramp: _, pause, sweep, curve } = &stage.options;
    let job = match point.apply(job) {
        Ok(job) => job,
        Err(reason) => {
            remarks.error("plan.sweep", sweep.span(), reason, "sweep values that the option can have");
            return None;
        }
    };
    if !point.settings.is_empty() {
        // What is written was checked; what the sweep has put in its place is checked here.
        let found = fathom_model::check_sections(&job);
        for Diagnostic { code, level: _, span, message, help } in found.all() {
            remarks.error(code, *span, message.clone(), help.clone());
        }
        if found.has_errors() {
            return None;
        }
    }
    let links = Links::of(&job);
    let loads = scene::loads(&links, &scene.facts.traces, remarks);
    let running = places_of(&job, named.get());
    if running.is_empty() {
        let message = format!("the stage \"{}\" has no stream", stage.name);
        remarks.error(
            "plan.empty-stage",
            named.span().or(Some(stage.span)),
            message,
            "name a stream of the job",
        );
        return None;
    }
    if !curve.get().is_empty() && running.iter().all(|&i| has_rate(&job.streams[i].options)) {
        let message =
            format!("the stage \"{}\" has a curve, but all its streams have rates of their own", stage.name);
        remarks.error("plan.curve", curve.span(), message, "leave the rate of the streams out");
        return None;
    }
    let targets = targets::resolve(scene, &links, &loads, &running, remarks);
    let places = control::running(&job, &running);
    let setting = Setting {
        scene,
        job: &job,
        links: &links,
        stage: &stage.options,
        earlier: &control::earlier(&stages[..point.stage]),
        running: &places,
        of_storage: &control::of_storage(&job, &places),
        curve: point.load,
        chooses_depth: asks_for_depths(point),
        targets: &targets,
        maxima,
    };
    let running_loads: Vec<&scene::Load<'_>> =
        loads.iter().filter(|load| running.binary_search(&load.index).is_ok()).collect();
    let mut resolved: Vec<Resolved> =
        running_loads.iter().filter_map(|load| setting.stream(load, remarks)).collect();
    if resolved.len() < running.len() {
        return None;
    }
    let mut pairs: Vec<(&scene::Load<'_>, &mut Stream)> =
        running_loads.iter().copied().zip(resolved.iter_mut().map(|resolved| &mut resolved.stream)).collect();
    engines::get_along(&pairs, &targets.of_step, remarks);
    host::check(scene, job.dialect, &mut pairs, &targets.of_step, remarks);
    let mut streams: Vec<&mut Stream> = pairs.into_iter().map(|(_, stream)| stream).collect();
    verification::shared(&mut streams, remarks);
    let at_maximum = at_maximum(&resolved, &running);
    let mut parameters = point.parameters();
    for Resolved { stream, share_of_maximum, .. } in &resolved {
        if let Some(share) = share_of_maximum {
            parameters.push((format!("stream.{}.rate", stream.name), format!("{share} of maximum")));
        }
    }
    let RunOptions { title: _, description: _, seed: _, on_error, interval, thresholds: _, abort_when: _ } =
        &job.run;
    let step = Step {
        name: point.name(&stage.name),
        stage_index: narrow(point.stage),
        point_index: narrow(point.index),
        parameters,
        pause_before: match &point.label {
            Some(label) => label.pause,
            None if point.index > 0 => *pause.get(),
            None => Nanos::ZERO,
        },
        targets: targets.of_step,
        streams: resolved.into_iter().map(|resolved| resolved.stream).collect(),
        errors: match on_error.get() {
            OnError::Stop | OnError::Count(0) => ErrorPolicy::Stop,
            OnError::Count(n) => ErrorPolicy::CountUpTo(*n),
        },
        interval: *interval.get(),
        abort_when: scene.abort_when.to_vec(),
        trees: targets.trees,
    };
    advice::trims_are_possible(scene, &step, &running_loads, remarks);
    advice::of_step(scene, &links, &step, &running_loads, remarks);
    let extents =
        step.streams.iter().flat_map(|stream| &stream.workers).map(|w| w.extents.len() as u64).sum();
    Some(Built { duration: duration(&step), intents: targets.intents, at_maximum, extents, step })
}

/// Streams that show their maximum: place in the step, place in the job.
fn at_maximum(resolved: &[Resolved], running: &[usize]) -> Vec<(usize, usize)> {
    let shows = resolved.iter().enumerate().filter(|(_, resolved)| resolved.at_maximum);
    shows.map(|(position, _)| (position, running[position])).collect()
}

/// Places of the streams that a stage names; of all where it names none.
fn places_of(job: &Job, named: Option<&Vec<String>>) -> Vec<usize> {
    let names = named.map(|names| names.iter().collect::<HashSet<_>>());
    let is_named = |name: &String| names.as_ref().is_none_or(|names| names.contains(name));
    let streams = job.streams.iter().enumerate();
    streams.filter(|(_, stream)| is_named(&stream.name)).map(|(place, _)| place).collect()
}

/// Whether a stream says itself how fast it goes.
fn has_rate(options: &StreamOptions) -> bool {
    *options.rate.get() != Rate::Max || options.rate_course.get().is_some()
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("at most POINTS_MAX points")
}

fn duration(step: &Step) -> Option<Nanos> {
    let ends = step.ends()?;
    Some(step.pause_before.after(ends.into_iter().max().unwrap_or_default()))
}

/// Whether a point is of a search for how many operations at a time, or which rate, its targets take: it sets nothing but a load.
fn asks_for_depths(point: &Point) -> bool {
    let of_load = ["stream.queue_depth", "stream.rate", "stream.arrival"];
    let mut paths = point.settings.iter().map(|(path, _)| path.as_str());
    paths.clone().any(|path| path == "stream.queue_depth") && paths.all(|path| of_load.contains(&path))
}
