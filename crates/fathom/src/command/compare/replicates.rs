//! Runs of jobs to be compared, in turns: what drifts meanwhile (temperature, fill, other load) then falls on all sides alike.

use crate::cli::{ConsentArgs, IometerArgs, JobArgs, QuickArgs};
use crate::diagnose::printable;
use crate::exit::Exit;
use crate::keep::Keeping;
use crate::load::{self, Loaded};
use crate::session::{self, Manner, Planned};
use crate::terminal;
use clap::Args;
use fathom_analysis::compare;
use fathom_model::Level;
use fathom_planner::Turn;
use fathom_run::{Changes, Stop};
use fathom_schema::Record;
use fathom_store::Detail;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "Running the sides")]
pub(super) struct Replicates {
    /// A job to run as a further side, after stored ones; may be given several times. The sides are run in turns: A B B A …
    #[arg(long = "run", value_name = "JOB")]
    pub(super) jobs: Vec<PathBuf>,
    /// How often each job is run
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    replicates: u32,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Replicates {
    /// The records of each job, in the order of the jobs. All of them are judged before the first is run; the first run that
    /// does not end well ends it all.
    /// `base`: the run that they are compared with, where that is a stored one.
    pub(super) fn run(
        &self,
        consent: &ConsentArgs,
        store: &Path,
        base: Option<&Record>,
    ) -> Result<Vec<Vec<Record>>, Exit> {
        let Self { jobs, replicates, quiet } = self;
        // One for all turns: seed = "fresh" is fresh for each comparison.
        let entropy = session::entropy();
        let mut agreed = session::consent_of(consent, false);
        let mut base: Option<Vec<String>> =
            base.map(|record| compare::step_names(record).into_iter().map(str::to_owned).collect());
        // Read once: what is edited meanwhile is another job.
        let read: Vec<Loaded> = jobs.iter().map(|job| read(job)).collect();
        for (job, loaded) in jobs.iter().zip(&read) {
            if loaded.job.workloads.iter().any(|workload| *workload.options.verify_only.get()) {
                let name = printable(&job.display().to_string());
                terminal::message(&format!(
                    "error: {name} only checks what an earlier run wrote, whose places and data each turn here has anew; run it \
                     with fathom run, and compare the records"
                ));
                return Err(Exit::Usage);
            }
            let planned = planned(loaded, entropy, Turn { block: 0, number: 0 }, true, consent, store)?;
            let steps = planned.plan.experiment.preview();
            let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
            let first = base.get_or_insert_with(|| names.iter().map(|&name| name.to_owned()).collect());
            let first: Vec<&str> = first.iter().map(String::as_str).collect();
            if compare::steps_in_common(&first, &names).is_empty() {
                let name = printable(&job.display().to_string());
                terminal::message(&format!(
                    "error: {name} has no step in common with the first side, so that nothing would be compared; its steps are \
                     {}, that side's {}",
                    printable(&listed(&names)),
                    printable(&listed(&first))
                ));
                return Err(Exit::Usage);
            }
            // A person is asked here, once for what all turns do, and not again before each.
            if terminal::can_ask() && *replicates > 1 {
                let name = printable(&job.display().to_string());
                terminal::message(&format!("{name} is to run {replicates} times"));
            }
            session::agree(&planned, &mut agreed)?;
        }
        let mut sides: Vec<Vec<Record>> = vec![Vec::new(); jobs.len()];
        // One for all of them: a signal between two runs ends the next as well.
        let stop = Stop::default();
        let all = jobs.len() * *replicates as usize;
        for (count, (block, side)) in turns(*replicates as usize, jobs.len()).enumerate() {
            let name = printable(&jobs[side].display().to_string());
            if !quiet {
                terminal::message(&format!("run {} of {all}: {name}", count + 1));
            }
            let turn = Turn { block, number: block * jobs.len() + side };
            let planned = planned(&read[side], entropy, turn, false, consent, store)?;
            let mut notes = session::agree(&planned, &mut agreed)?;
            // What was agreed to for another side is no mistake on the command line.
            let asked = agreed.destroy.iter().filter(|device| !consent.destroy.contains(device));
            for device in asked {
                notes.retain(|note| !note.starts_with(&format!("--destroy={device} ")));
            }
            let how = Manner {
                store,
                keeping: Keeping::Needed,
                live: !quiet,
                changes: Changes::default(),
                watchers: Vec::new(),
                stop: stop.clone(),
            };
            let mut done = session::run(planned, notes, how)?;
            if done.exit != Exit::Ok {
                let path =
                    done.path().map_or_else(String::new, |path| format!("; record: {}", path.display()));
                terminal::message(&printable(&format!(
                    "error: run {} of {all} ({name}) did not end well, so nothing is compared{path}",
                    count + 1
                )));
                return Err(done.exit);
            }
            let record = done.record(Detail::Overview).map_err(|reason| {
                terminal::message(&format!("error: {}", printable(&reason)));
                Exit::Target
            })?;
            sides[side].push(record);
        }
        Ok(sides)
    }
}

/// The first of these names.
fn listed(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("\"{name}\"")).collect();
    let more = if names.len() > shown.len() { " …" } else { "" };
    shown.join(", ") + more
}

/// Which side comes when, each with its block: every other block backwards, so that a steady drift falls on all sides alike.
fn turns(blocks: usize, sides: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..blocks).flat_map(move |block| {
        (0..sides).map(move |side| (block, if block % 2 == 0 { side } else { sides - 1 - side }))
    })
}

fn read(job: &Path) -> Loaded {
    load::load(&JobArgs {
        jobs: vec![job.to_owned()],
        target: None,
        iometer: IometerArgs::default(),
        quick: QuickArgs::default(),
    })
}

/// A job as it is run in a turn: with random places of its own, or of its block where it names its seed. `tells`: whether
/// warnings are printed; once is enough.
fn planned(
    loaded: &Loaded,
    entropy: u64,
    turn: Turn,
    tells: bool,
    consent: &ConsentArgs,
    store: &Path,
) -> Result<Planned, Exit> {
    let Loaded { job, diagnostics, extras, title, files, is_unread, .. } = loaded;
    let mut loaded = Loaded {
        job: job.clone(),
        diagnostics: diagnostics.clone(),
        extras: extras.clone(),
        title: title.clone(),
        files: files.clone(),
        is_unread: *is_unread,
        ..Loaded::default()
    };
    loaded.diagnostics.retain(|one| tells || one.level == Level::Error);
    session::plan_by(loaded, consent, store, |job, facts, _| {
        let (plan, mut found) = fathom_planner::plan_replicate(job, facts, entropy, turn);
        found.retain(|one| tells || one.level == Level::Error);
        (plan, found)
    })
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn sides_take_turns_so_that_drift_falls_on_all() {
        let order: String = turns(4, 2).map(|(_, side)| ['A', 'B'][side]).collect();
        assert_eq!(order, "ABBAABBA");
        let order: String = turns(2, 3).map(|(_, side)| ['A', 'B', 'C'][side]).collect();
        assert_eq!(order, "ABCCBA");
        // The mean place in time of both sides is the same.
        for side in 0..2 {
            let places = turns(4, 2).enumerate().filter(|(_, (_, own))| *own == side);
            assert_eq!(places.map(|(at, _)| at).sum::<usize>(), 14);
        }
    }
}
