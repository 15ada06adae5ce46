//! `fathom doctor`: what fathom finds on this machine, and how fast it is by itself.

use crate::cli::DoctorArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::{diagnose, load, session};
use fathom_engine::probe::{self, EngineRefusals};
use fathom_engine::{Observer, RealClock, Share, execute, prepare};
use fathom_schema::{Facts, HostLimits, Interval};
use fathom_units::Iops;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(crate) fn run(args: &DoctorArgs) -> Exit {
    let engines = EngineRefusals { io_uring: fathom_io::probe_io_uring(), libaio: fathom_io::probe_libaio() };
    let store = store_folder(None);
    let facts = probe::probe(&args.paths, &store, engines);
    if args.json {
        let text = serde_json::to_string_pretty(&facts).expect("facts have only string keys");
        return crate::printed(&(text + "\n"));
    }
    let mut clock = RealClock::new(session::kernel_trusts_tsc());
    let cost = clock.cost_ns();
    let mut text = engines_text(&facts);
    text += &format!("clock       {}, {cost:.1} ns per reading\n", clock.source().name());
    match ceiling(clock) {
        Ok(rate) => text += &format!("ceiling     {rate} operations per second on one core, null engine\n"),
        Err(reason) => text += &format!("ceiling     not measured: {reason}\n"),
    }
    text += &format!("store       {}\n", store.display());
    let mut subject = "";
    for fact in &facts.environment {
        if fact.subject != subject {
            subject = &fact.subject;
            text += &format!("\n{subject}\n");
        }
        text += &format!("  {:<28} {}\n", fact.name, fact.value.as_deref().unwrap_or("absent"));
    }
    crate::shown(&text.lines().map(|line| diagnose::printable(line) + "\n").collect::<String>())
}

/// Sees nothing and says nothing.
struct Silent;

impl Observer for Silent {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, _: Interval) {}
    fn settled(&mut self) {}
}

/// The rate of the null engine at depth 1 with full statistics, over a third of a second: what this generator cannot pass
/// on one core, whatever the device.
fn ceiling(clock: RealClock) -> Result<Iops, String> {
    let loaded = load::null_for("333ms");
    let (plan, _) = fathom_planner::plan(&loaded.job, &Facts::default(), 0);
    let step =
        plan.and_then(|plan| plan.experiment.preview().into_iter().next()).ok_or("it cannot be planned")?;
    let stop = AtomicBool::new(false);
    let ready =
        prepare::prepare(step, 0, &Arc::default(), &mut |_| {}, &stop).map_err(|error| error.to_string())?;
    let done =
        execute(&ready, &clock, Share::WHOLE, &stop, &mut Silent).map_err(|error| error.to_string())?;
    let worker = done.streams.first().and_then(|stream| stream.workers.first()).ok_or("it ran no worker")?;
    let operations = worker.tally.kinds.iter().map(|kind| kind.operations).sum();
    Ok(Iops::of(operations, worker.end.since(worker.start)))
}

fn engines_text(facts: &Facts) -> String {
    let HostLimits { io_uring_refused, libaio_refused, open_files, locked_memory_bytes: _ } = &facts.limits;
    let state = |refused: &Option<String>| {
        refused.as_ref().map_or_else(|| "works".to_owned(), |why| format!("no: {why}"))
    };
    format!(
        "host        {}, {} CPUs usable, {} memory\nio_uring    {}\nlibaio      {}\nalways      psync, sync, vsync, pvsync, pvsync2, mmap, null, sim\nopen files  {open_files}\n",
        facts.host,
        facts.cpu.usable.len(),
        facts.memory.approximate(),
        state(io_uring_refused),
        state(libaio_refused),
    )
}
