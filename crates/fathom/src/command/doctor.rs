//! `fathom doctor`: what fathom finds on this machine, and how fast it is by itself.

use crate::cli::DoctorArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::{ceiling, diagnose, session};
use fathom_engine::RealClock;
use fathom_engine::probe::{self, EngineRefusals};
use fathom_schema::{Facts, HostLimits};

pub(crate) fn run(args: &DoctorArgs) -> Exit {
    let store = store_folder(None);
    let facts = probe::probe(&args.paths, &store, EngineRefusals::tried());
    if args.json {
        let text = serde_json::to_string_pretty(&facts).expect("facts have only string keys");
        return crate::printed(&(text + "\n"));
    }
    let mut clock = RealClock::new(session::kernel_trusts_tsc());
    let cost = clock.cost_ns();
    let mut text = engines_text(&facts);
    text += &format!("clock       {}, {cost:.1} ns per reading\n", clock.source().name());
    match ceiling::measure(clock) {
        Ok(rate) => {
            text += &format!("ceiling     {rate} operations per second on one core, null engine\n");
            text += &match ceiling::keep(&facts, rate) {
                Ok((best, path)) if best.0 > rate.0 => format!(
                    "            {best} operations per second were reached here before, which stays for the records of runs in {}\n",
                    path.display()
                ),
                Ok((_, path)) => format!("            kept for the records of runs in {}\n", path.display()),
                Err(reason) => format!("            not kept for the records of runs: {reason}\n"),
            };
        }
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

fn engines_text(facts: &Facts) -> String {
    let HostLimits { io_uring_refused, libaio_refused, open_files, .. } = &facts.limits;
    let state = |refused: &Option<String>| {
        refused.as_ref().map_or_else(|| "works".to_owned(), |why| format!("no: {why}"))
    };
    format!(
        "host        {}, {} CPUs usable, {} memory\nio_uring    {}\nlibaio      {}\nalways      psync, sync, vsync, pvsync, pvsync2, mmap, splice, falloc, ftruncate, filecreate and its kin, net, exec, cpuio, null, sim\nopen files  {open_files}\n",
        facts.host,
        facts.cpu.usable.len(),
        facts.memory.approximate(),
        state(io_uring_refused),
        state(libaio_refused),
    )
}
