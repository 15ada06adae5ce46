//! fathom's own ceiling on this machine: how it is measured, and where it is kept between `fathom doctor` and the runs
//! whose records tell it. It does not judge figures by it.

use crate::{load, output, session};
use fathom_engine::{Crew, Observer, RealClock, Share, execute, prepare};
use fathom_schema::{Ceiling, Facts, Interval};
use fathom_units::Iops;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Sees nothing and says nothing.
struct Silent;

impl Observer for Silent {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, _: Interval) {}
    fn settled(&mut self) {}
}

/// How often it is measured. A ceiling is what is reached when nothing disturbs: the best counts.
const TURNS: u32 = 3;

/// The rate of the null engine at depth 1 with full statistics, the best of several thirds of a second: what this generator
/// cannot pass on one core, whatever the device.
pub(crate) fn measure(clock: RealClock) -> Result<Iops, String> {
    (0..TURNS).try_fold(Iops(0.0), |best, _| Ok(Iops(best.0.max(measure_once(&clock)?.0))))
}

fn measure_once(clock: &RealClock) -> Result<Iops, String> {
    let loaded = load::null_for("333ms");
    let (plan, _) = fathom_planner::plan(&loaded.job, &Facts::default(), 0);
    let step =
        plan.and_then(|plan| plan.experiment.preview().into_iter().next()).ok_or("it cannot be planned")?;
    let stop = AtomicBool::new(false);
    let ready =
        prepare::prepare(step, 0, &Arc::default(), &mut |_| {}, &stop).map_err(|error| error.to_string())?;
    let done = execute(&ready, &mut Crew::default(), clock, Share::WHOLE, &stop, &mut Silent)
        .map_err(|error| error.to_string())?;
    let worker = done.streams.first().and_then(|stream| stream.workers.first()).ok_or("it ran no worker")?;
    let operations = worker.tally.kinds.iter().map(|kind| kind.operations).sum();
    Ok(Iops::of(operations, worker.end.since(worker.start)))
}

/// How much higher than what is measured a ceiling may be that was measured before, for the difference to be what else the host
/// does: beyond, one of the two is a mistake, and the newer counts.
const BUSY_TIMES_MAX: f64 = 2.0;

/// Keeps a measured ceiling for runs to come, unless a higher one was measured on the same machine: the host does something
/// else now. Says which is kept, and where.
pub(crate) fn keep(facts: &Facts, rate: Iops) -> Result<(Iops, PathBuf), String> {
    let path = path().ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
    let say = |error: std::io::Error| format!("{}: {error}", path.display());
    let folder = path.parent().expect("a file in a folder");
    std::fs::create_dir_all(folder).map_err(say)?;
    let best = best(known(facts), rate);
    let text = json!({ "machine": machine(facts), "operations_per_s": best.0 }).to_string();
    // Renamed into place: a run that looks at the same time sees the old one or the new one.
    output::replace(&path, &text).map_err(say)?;
    Ok((best, path))
}

fn best(known: Option<Ceiling>, rate: Iops) -> Iops {
    let known = known.map(|known| known.operations_per_s);
    Iops(known.filter(|known| (rate.0..=rate.0 * BUSY_TIMES_MAX).contains(known)).unwrap_or(rate.0))
}

/// The ceiling that was measured on this machine as it is now, if it was.
pub(crate) fn known(facts: &Facts) -> Option<Ceiling> {
    let text = std::fs::read_to_string(path()?).ok()?;
    of_text(&text, &machine(facts))
}

fn of_text(text: &str, machine: &Value) -> Option<Ceiling> {
    let kept: Value = serde_json::from_str(text).ok()?;
    let operations_per_s = kept["operations_per_s"].as_f64().filter(|rate| *rate > 0.0)?;
    (kept["machine"] == *machine).then_some(Ceiling { operations_per_s })
}

/// All that a ceiling depends on: another machine, kernel, clock, governor or fathom has another.
fn machine(facts: &Facts) -> Value {
    let governor = facts.environment.iter().find(|fact| fact.source.ends_with("/scaling_governor"));
    json!({
        "host": facts.host,
        "cpu": facts.cpu.model,
        "kernel": rustix::system::uname().release().to_string_lossy(),
        "tsc": session::kernel_trusts_tsc(),
        "governor": governor.and_then(|fact| fact.value.as_deref()),
        "fathom": env!("CARGO_PKG_VERSION"),
        "optimised": !cfg!(debug_assertions),
    })
}

/// `fathom/ceiling.json` in the user's cache (XDG Base Directory Specification 0.8: a relative path is none).
fn path() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("fathom").join("ceiling.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_moment_does_not_spoil_a_ceiling() {
        let after = |known: Option<f64>| {
            best(known.map(|operations_per_s| Ceiling { operations_per_s }), Iops(100.0)).0
        };
        assert_eq!([None, Some(50.0), Some(150.0), Some(250.0)].map(after), [100.0, 100.0, 150.0, 100.0]);
    }

    #[test]
    fn a_ceiling_holds_for_the_machine_it_was_measured_on() {
        let here = json!({ "host": "a", "kernel": "6.1" });
        let text = json!({ "machine": here, "operations_per_s": 2.5e7 }).to_string();
        assert_eq!(of_text(&text, &here), Some(Ceiling { operations_per_s: 2.5e7 }));
        assert_eq!(of_text(&text, &json!({ "host": "a", "kernel": "6.2" })), None);
        let zero = json!({ "machine": here, "operations_per_s": 0.0 }).to_string();
        for broken in ["", "{}", "[1]", &text[..20], &zero] {
            assert_eq!(of_text(broken, &here), None, "{broken}");
        }
    }
}
