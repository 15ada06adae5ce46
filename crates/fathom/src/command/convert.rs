//! `fathom convert`: a job file in another dialect, with the same plan.

use crate::cli::{ConvertArgs, ConvertTo, JobArgs, QuickArgs};
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::{session, terminal};
use fathom_frontend::native;
use fathom_planner::in_native_terms;

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
    if let Some(lost) = lost(&loaded) {
        terminal::message(&format!("note: {lost}"));
    }
    crate::printed(&text)
}

/// What the other dialect has no words for.
fn lost(loaded: &Loaded) -> Option<String> {
    let has_logs = loaded.extras.clones.iter().any(|clone| !clone.logs.are_none());
    has_logs.then(|| {
        "native jobs have no log files; `fathom report --format csv` has the intervals of every run"
            .to_owned()
    })
}
