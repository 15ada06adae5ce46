//! `fathom plan`: what a job would do here, without doing any of it.

use crate::cli::PlanArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::session::{self, Planned};
use crate::{load, terminal};
use fathom_model::{Job, Rate};
use fathom_planner::PlanNote;
use fathom_planner::safety::{self, Intent, Verdict};
use fathom_report::visible;
use fathom_schema::{Case, Size, Step, Stream};
use fathom_units::{Bytes, Iops, Nanos};
use serde_json::json;
use std::collections::HashMap;
use std::path::Path;

/// Steps listed one by one; further ones are counted.
const STEPS_SHOWN: usize = 40;

pub(crate) fn run(args: &PlanArgs) -> Exit {
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &PlanArgs) -> Result<Exit, Exit> {
    let store = store_folder(None);
    let mut loaded = load::load(&args.job);
    let checked = loaded.check();
    if loaded.diagnostics.has_errors() || checked.has_errors() {
        loaded.diagnostics.extend(checked);
        session::report_faults(&loaded)?;
    }
    let facts = session::look_at_all(&mut loaded, &args.consent, &store);
    let (plan, diagnostics) = fathom_planner::plan(&loaded.job, &facts, 0);
    loaded.diagnostics.extend(diagnostics);
    session::report_faults(&loaded)?;
    let plan = plan.ok_or(Exit::Internal)?;
    let planned = Planned { loaded, facts, plan, earlier: fathom_run::Earlier::default() };
    let consent = session::consent_of(&args.consent, false);
    let verdict = safety::judge(&planned.plan.intents, &planned.plan.commands, &planned.facts, &consent);
    let printed = if args.json {
        terminal::data(&as_json(&planned, &verdict))
    } else {
        terminal::page(&as_text(&planned, &verdict))
    };
    printed.map_err(|_| Exit::Internal)?;
    Ok(if verdict.allows() {
        Exit::Ok
    } else if verdict.refusals.is_empty() {
        Exit::Unsafe
    } else {
        Exit::of_refusals(verdict.refusals.iter())
    })
}

fn as_json(planned: &Planned, verdict: &Verdict) -> String {
    let intents: Vec<_> = intents(planned)
        .iter()
        .map(|intent| {
            let Intent { path, reads, writes, trims, deletes, creates, makes_folder: _, is_folder: _, lays_out: _, grows: _, removes } =
                intent;
            json!({
                "path": path, "reads": reads, "writes": writes, "trims": trims, "deletes": deletes, "creates": creates,
                "lays_out_bytes": intent.needs().0, "removes": removes,
            })
        })
        .collect();
    let refusals: Vec<_> = verdict
        .refusals
        .iter()
        .map(|refusal| json!({ "code": refusal.code, "path": refusal.path, "reason": refusal.reason, "remedy": refusal.remedy }))
        .chain(verdict.questions.iter().map(|question| {
            json!({ "code": question.code, "path": question.path, "reason": question.reason, "remedy": question.remedy })
        }))
        .collect();
    let document = json!({
        "schema_version": fathom_schema::VERSION,
        "expected_seconds": planned.plan.expected.map(Nanos::as_secs_f64),
        "steps": planned.plan.experiment.preview(),
        "targets": intents,
        "refusals": refusals,
        "notes": notes(planned, verdict),
    });
    let mut text = serde_json::to_string_pretty(&document).expect("the plan has only string keys");
    text.push('\n');
    text
}

/// What there is to note, before anything is run.
fn notes<'a>(planned: &'a Planned, verdict: &'a Verdict) -> Vec<&'a str> {
    let of_plan = planned.plan.notes.iter().map(PlanNote::in_plan);
    of_plan.chain(verdict.notes.iter().map(String::as_str)).collect()
}

fn as_text(planned: &Planned, verdict: &Verdict) -> String {
    let steps = planned.plan.experiment.preview();
    let time = planned.plan.expected.map_or_else(
        || "ends when its work is done".to_owned(),
        |time| format!("takes about {}", time.approximate()),
    );
    // What is refused comes first: all below it would happen otherwise, and does not.
    let mut lines: Vec<String> = Vec::new();
    if !verdict.allows() {
        lines.push("Refused as it stands".to_owned());
        lines.extend(verdict.refusals.iter().map(|refusal| format!("  {refusal}")));
        lines.extend(verdict.questions.iter().map(|question| format!("  {question}")));
        lines.extend([String::new(), "Without that it would be".to_owned()]);
    }
    lines.push(format!("{} {}; {time}", steps.len(), plural(steps.len(), "step")));
    lines.extend([String::new(), "Targets".to_owned()]);
    lines.extend(intents(planned).iter().map(|intent| format!("  {}", describe_intent(intent))));
    let laid_out: Bytes = planned.plan.intents.iter().map(|intent| intent.lays_out).sum();
    if laid_out > Bytes::ZERO {
        lines.push(format!("  {} are written before the first step", laid_out.approximate()));
    }
    lines.extend([String::new(), "Steps".to_owned()]);
    for (number, step) in steps.iter().enumerate().take(STEPS_SHOWN) {
        lines.extend(describe_step(number + 1, step, &planned.loaded.job));
    }
    if steps.len() > STEPS_SHOWN {
        lines.push(format!("  … and {} more", steps.len() - STEPS_SHOWN));
    }
    let notes = notes(planned, verdict);
    if !notes.is_empty() {
        lines.extend([String::new(), "Notes".to_owned()]);
        lines.extend(notes.iter().map(|note| format!("  {note}")));
    }
    // Line by line: a name that has line ends of its own must not pass for a line of the plan, which is what people consent to.
    lines.iter().map(|line| visible(line) + "\n").collect()
}

/// What is meant to be done with what was found.
fn intents(planned: &Planned) -> Vec<Intent> {
    let found: HashMap<&Path, _> =
        planned.facts.targets.iter().map(|fact| (fact.path.as_path(), fact)).collect();
    let of = |intent: &Intent| intent.of_found(found.get(intent.path.as_path()).copied());
    planned.plan.intents.iter().map(of).collect()
}

fn describe_intent(intent: &Intent) -> String {
    let Intent {
        path,
        reads,
        writes,
        trims,
        deletes,
        creates,
        makes_folder: _,
        is_folder: _,
        lays_out: _,
        grows: _,
        removes,
    } = intent;
    let mut deeds = Vec::new();
    for (does, word) in [
        (creates, "created when absent"),
        (reads, "read"),
        (writes, "WRITTEN"),
        (trims, "TRIMMED"),
        (deletes, "REMOVED"),
    ] {
        if *does {
            deeds.push(word.to_owned());
        }
    }
    if intent.needs().0 > 0 {
        deeds.push(format!("{} laid out", intent.needs().approximate()));
    }
    if *removes {
        deeds.push("removed afterwards".to_owned());
    }
    format!(
        "{}: {}",
        path.display(),
        if deeds.is_empty() { "not touched".to_owned() } else { deeds.join(", ") }
    )
}

/// The share of what it reaches at full speed that a stream is to do in a step, where its rate is one: how many that are is not known
/// before.
fn share_of_maximum(step: &Step, stream: &Stream, job: &Job) -> Option<String> {
    let options = &job.streams.iter().find(|section| section.name == stream.name)?.options;
    match options.rate.get() {
        Rate::OfMaximum(share) => Some(share.to_string()),
        Rate::Max => {
            let share = step.parameters.iter().find(|(path, _)| path == "stage.curve");
            share.map(|(_, share)| share.clone()).filter(|share| share != "max")
        }
        Rate::Operations(_) | Rate::Bandwidth(_) => None,
    }
}

/// Its lines.
fn describe_step(number: usize, step: &Step, job: &Job) -> Vec<String> {
    let pause = if step.pause_before > Nanos::ZERO {
        format!("  (after a pause of {})", step.pause_before.exact())
    } else {
        String::new()
    };
    let mut lines = vec![format!("  {number:>3}  {}{pause}", step.name)];
    for stream in &step.streams {
        let time = match stream.limits.time {
            fathom_schema::TimeLimit::Nanoseconds(ns) => format!("at most {}", Nanos(ns).exact()),
            fathom_schema::TimeLimit::Unbounded => "until its work is done".to_owned(),
        };
        let ramp =
            if stream.ramp > Nanos::ZERO { format!(", ramp {}", stream.ramp.exact()) } else { String::new() };
        let rate = match &stream.pacing {
            fathom_schema::Pacing::Open { rate, course, .. } => {
                let mean = if course.is_empty() { "" } else { " on average" };
                // A few a minute are a rate as well.
                let rate = if *rate < 100.0 { Iops(*rate).to_string() } else { format!("{rate:.0}") };
                match share_of_maximum(step, stream, job).filter(|_| course.is_empty()) {
                    Some(share) => format!(", {share} of its maximum, which the run finds"),
                    None => format!(", {rate} per second{mean}"),
                }
            }
            fathom_schema::Pacing::Closed { .. } => {
                let most = |rate: &fathom_schema::KindRate| {
                    let unit = match rate.unit {
                        fathom_schema::RateUnit::Operations => "",
                        fathom_schema::RateUnit::Bytes => " B",
                    };
                    format!(", at most {:.0}{unit} {}s per second", rate.per_second, rate.kind.name())
                };
                stream.kind_rates.iter().map(most).collect()
            }
        };
        lines.push(format!(
            "       {}: {} {} × depth {}{rate}, {time}{ramp}",
            stream.name,
            stream.workers.len(),
            plural(stream.workers.len(), "worker"),
            stream.queue_depth
        ));
        let sizes = shares_of_sizes(&stream.workload.cases);
        if sizes.len() > 1 {
            let one =
                |(size, share): &(Size, f64)| format!("{} {} %", words(*size), (share * 1e4).round() / 100.0);
            lines.push(format!("         sizes: {}", sizes.iter().map(one).collect::<Vec<_>>().join(", ")));
        }
    }
    lines
}

/// The sizes of a stream's operations with their shares of all, in the order of the job.
fn shares_of_sizes(cases: &[Case]) -> Vec<(Size, f64)> {
    let mut sizes: Vec<(Size, f64)> = Vec::new();
    for case in cases {
        match sizes.iter_mut().find(|(size, _)| *size == case.size) {
            Some((_, share)) => *share += case.weight,
            None => sizes.push((case.size, case.weight)),
        }
    }
    sizes
}

fn words(size: Size) -> String {
    let bytes = |bytes: u32| Bytes(u64::from(bytes));
    match size {
        Size::Fixed(size) => bytes(size).to_string(),
        Size::Range { min, max, step } if step == min => format!("{} to {}", bytes(min), bytes(max)),
        Size::Range { min, max, step } => {
            format!("{} to {} by {}", bytes(min), bytes(max), bytes(step))
        }
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}
