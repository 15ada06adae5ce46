//! `fathom doctor`: what fathom finds on this machine, and how fast it is by itself.

use crate::cli::DoctorArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::{ceiling, diagnose, session};
use fathom_engine::RealClock;
use fathom_engine::probe::{self, EngineRefusals};
use fathom_schema::{Ceiling, Facts, HostLimits};
use fathom_units::Iops;

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
    text += &ceiling_text(&clock, &facts);
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

/// What one worker reaches, which is measured here and kept.
fn ceiling_text(clock: &RealClock, facts: &Facts) -> String {
    let (measured, refused) = match ceiling::measure(clock, facts) {
        Ok(found) => found,
        Err(reason) => return format!("ceiling     not measured: {reason}\n"),
    };
    let kept = ceiling::keep(facts, &measured);
    let before = |best: Option<f64>, rate: f64| match best {
        Some(best) if best > rate => format!("; {} were reached here before, and stay", Iops(best)),
        _ => String::new(),
    };
    let best = kept.as_ref().ok().map(|(best, _)| best);
    let Ceiling { operations_per_s, engines } = &measured;
    let mut text = format!(
        "ceiling     {} operations per second of one worker without a device{}\n",
        Iops(*operations_per_s),
        before(best.map(|best| best.operations_per_s), *operations_per_s)
    );
    for (name, rate) in engines {
        let best = best.and_then(|best| best.engines.get(name).copied());
        text +=
            &format!("            {} with {name} from the page cache{}\n", Iops(*rate), before(best, *rate));
    }
    for (name, reason) in refused {
        text += &format!("            not measured with {name}: {reason}\n");
    }
    text += &match &kept {
        Ok((_, path)) => format!("            kept for the records of runs in {}\n", path.display()),
        Err(reason) => format!("            not kept for the records of runs: {reason}\n"),
    };
    text
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
