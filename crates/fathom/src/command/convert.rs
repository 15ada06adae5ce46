//! `fathom convert`: a job file in another dialect, with the same plan.

use crate::cli::{ConvertArgs, ConvertTo, JobArgs, QuickArgs};
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::{session, terminal};
use fathom_frontend::native;
use fathom_model::{Amount, Dialect, Job, StreamOptions, WorkloadOptions};
use fathom_planner::in_native_terms;
use std::collections::BTreeSet;

pub(crate) fn run(args: &ConvertArgs) -> Exit {
    let ConvertArgs { jobs, iometer, to } = args;
    let (jobs, iometer) = (jobs.clone(), iometer.clone());
    let loaded = load::look_at(&JobArgs { jobs, target: None, iometer, quick: QuickArgs::default() });
    if let Err(exit) = session::report_faults(&loaded) {
        return exit;
    }
    let text = match to {
        ConvertTo::Native => native::print(&in_native_terms(&loaded.job)),
    };
    for note in lost(&loaded).into_iter().chain(unreported(&loaded.job)).chain(elsewhere(&loaded.job)) {
        terminal::message(&format!("note: {note}"));
    }
    crate::printed(&text)
}

/// What of a job of fio goes on behind `size`, or is counted from the end of a file that was there.
fn elsewhere(job: &Job) -> Option<String> {
    let is_share = |amount: &Amount| matches!(amount, Amount::Share(_));
    let goes_on = |options: &WorkloadOptions| options.zones.get().is_some() || *options.stride.get() != 0;
    let is_counted = |options: &StreamOptions| {
        let StreamOptions { offset, offset_per_worker, append, .. } = options;
        *append.get() || is_share(offset.get()) || is_share(offset_per_worker.get())
    };
    let differs = job.workloads.iter().any(|workload| goes_on(&workload.options))
        || job.streams.iter().any(|stream| is_counted(&stream.options));
    (job.dialect == Dialect::Fio && differs).then(|| {
        "the targets are as long as this job needs them, and native regions end there: in a file or device that is longer, \
         zones, jumps, appends and offsets in percent go elsewhere than the job of fio; give the targets its size"
            .to_owned()
    })
}

/// What of a job of fio says which figures are reported, which a native job does not.
fn unreported(job: &Job) -> Option<String> {
    let given = job.echo.iter().flat_map(|(_, options)| options);
    let is_lost = |name: &str, value: &str| name == "percentile_list" || name == "stats" && value == "0";
    let names: BTreeSet<&str> =
        given.filter(|(name, value)| is_lost(name, value)).map(|(name, _)| name.as_str()).collect();
    (job.dialect == Dialect::Fio && !names.is_empty()).then(|| {
        let (names, are) = (names.iter().copied().collect::<Vec<_>>().join(" and "), if names.len() == 1 { "is" } else { "are" });
        format!("{names} {are} left out: reports of native runs have all jobs, and percentiles of their own choice")
    })
}

/// What the other dialect has no words for.
fn lost(loaded: &Loaded) -> Option<String> {
    let has_logs = loaded.extras.clones.iter().any(|clone| !clone.logs.are_none());
    has_logs.then(|| {
        "native jobs have no log files; `fathom report --format csv` has the intervals of every run"
            .to_owned()
    })
}
