//! fathom's own ceiling on this machine: how it is measured, and where it is kept between `fathom doctor` and the runs
//! whose records tell it. It does not judge figures by it.

use crate::cli::QuickArgs;
use crate::load::{self, Loaded};
use crate::{output, session};
use fathom_engine::probe::{self, EngineRefusals};
use fathom_engine::{Crew, Observer, RealClock, Share, execute, prepare};
use fathom_model::Span;
use fathom_schema::{Ceiling, Facts, Interval};
use fathom_units::{Bytes, Iops, Nanos};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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

/// How often each is measured. A ceiling is what is reached when nothing disturbs: the best counts.
const TURNS: u32 = 3;
/// How long each time.
const TURN: &str = "333ms";
/// Engines that are measured with a file in the page cache, and the queue depth.
const ENGINES: [(&str, u32); 3] = [("psync", 1), ("libaio", 32), ("io_uring", 32)];
/// As small as operations are: moving the bytes is no work of the generator's.
const BLOCK: &str = "512B";
/// Size of the file: no more than a last-level cache holds.
const FILE: Bytes = Bytes::mib(16);

/// What was measured and, by name, why engines were not.
pub(crate) type Found = (Ceiling, Vec<(&'static str, String)>);

/// The rates of one worker with full statistics, the best of several thirds of a second: what this generator cannot pass on one
/// core, whatever the device.
pub(crate) fn measure(clock: &RealClock, facts: &Facts) -> Result<Found, String> {
    let operations_per_s = best_of(clock, &load::null_for(TURN), &Facts::default())?.0;
    let mut ceiling = Ceiling { operations_per_s, engines: BTreeMap::new() };
    let mut refused = Vec::new();
    let file = path().ok_or_else(|| NO_FOLDER.to_owned()).and_then(|path| {
        let folder = path.parent().expect("a file in a folder");
        InCache::new(folder).map_err(|error| format!("a file in {}: {error}", folder.display()))
    });
    for (engine, depth) in ENGINES {
        let lacking = match engine {
            "io_uring" => facts.limits.io_uring_refused.clone(),
            "libaio" => facts.limits.libaio_refused.clone(),
            _ => None,
        };
        let measured = match (lacking, &file) {
            (Some(reason), _) => Err(reason),
            (None, Err(reason)) => Err(reason.clone()),
            (None, Ok(file)) => {
                let folder = file.0.parent().expect("a file in a folder");
                let facts = probe::probe(std::slice::from_ref(&file.0), folder, EngineRefusals::tried());
                best_of(clock, &in_cache(&file.0, engine, depth), &facts)
            }
        };
        match measured {
            Ok(rate) => drop(ceiling.engines.insert(engine.to_owned(), rate.0)),
            Err(reason) => refused.push((engine, reason)),
        }
    }
    Ok((ceiling, refused))
}

/// The load that a ceiling is of: small reads of a file that is in the page cache and stays there.
fn in_cache(file: &Path, engine: &str, depth: u32) -> Loaded {
    let quick = QuickArgs {
        engine: Some(engine.to_owned()),
        queue_depth: Some(depth.to_string()),
        block_size: Some(BLOCK.to_owned()),
        time: Some(TURN.to_owned()),
        direct: Some(false),
        ..QuickArgs::default()
    };
    let mut loaded = load::of_target(&file.to_string_lossy(), &quick);
    for stream in &mut loaded.job.streams {
        stream.options.keep_cache.set(true, Span::default());
    }
    loaded
}

/// A file that was just written, so that it is in the page cache; removed when it is dropped.
struct InCache(PathBuf);

impl InCache {
    /// One in this folder, where others may be that an interrupted fathom left behind.
    fn new(folder: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        for left in std::fs::read_dir(folder)?.flatten() {
            let name = left.file_name();
            let owner = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('.').next());
            // Whoever has the number now may be somebody else, and so may its file be: it goes when that has ended.
            if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
                let _ = std::fs::remove_file(left.path());
            }
        }
        let path = folder.join(format!("{NAME}{}.{:016x}", std::process::id(), session::entropy()));
        let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let made = Self(path);
        file.write_all(&vec![0x5a; usize::try_from(FILE.0).expect("it fits into memory")])?;
        Ok(made)
    }
}

/// What the names of such files begin with; then come the process and a random number.
const NAME: &str = "measured.";

impl Drop for InCache {
    fn drop(&mut self) {
        // Nothing can be done about a name that stays.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn best_of(clock: &RealClock, loaded: &Loaded, facts: &Facts) -> Result<Iops, String> {
    (0..TURNS).try_fold(Iops(0.0), |best, _| Ok(Iops(best.0.max(measure_once(clock, loaded, facts)?.0))))
}

fn measure_once(clock: &RealClock, loaded: &Loaded, facts: &Facts) -> Result<Iops, String> {
    let (plan, _) = fathom_planner::plan(&loaded.job, facts, 0);
    let step =
        plan.and_then(|plan| plan.experiment.preview().into_iter().next()).ok_or("it cannot be planned")?;
    let stop = AtomicBool::new(false);
    let ready =
        prepare::prepare(step, 0, &Arc::default(), &mut |_| {}, &stop).map_err(|error| error.to_string())?;
    let done = execute(&ready, &mut Crew::default(), clock, Share::WHOLE, &stop, &mut Silent)
        .map_err(|error| error.to_string())?;
    let worker = done.streams.first().and_then(|stream| stream.workers.first()).ok_or("it ran no worker")?;
    let operations = worker.tally.kinds.iter().map(|kind| kind.operations).sum();
    // While others had its processor it did nothing, which is no limit of its own.
    let had_processor = Nanos(worker.end.since(worker.start).0.saturating_sub(worker.runnable_ns));
    Ok(Iops::of(operations, had_processor))
}

/// How much higher than what is measured a ceiling may be that was measured before, for the difference to be what else the host
/// does: beyond, one of the two is a mistake, and the newer counts.
const BUSY_TIMES_MAX: f64 = 2.0;

/// Why nothing can be kept.
const NO_FOLDER: &str = "neither XDG_CACHE_HOME nor HOME is set";

/// Keeps measured ceilings for runs to come, but where a higher one was measured on the same machine: the host does something
/// else now. Says which are kept, and where.
pub(crate) fn keep(facts: &Facts, measured: &Ceiling) -> Result<(Ceiling, PathBuf), String> {
    let path = path().ok_or(NO_FOLDER)?;
    let say = |error: io::Error| format!("{}: {error}", path.display());
    let folder = path.parent().expect("a file in a folder");
    std::fs::create_dir_all(folder).map_err(say)?;
    let best = best(known(facts).as_ref(), measured);
    let text = json!({ "machine": machine(facts), "ceiling": best }).to_string();
    // Renamed into place: a run that looks at the same time sees the old one or the new one.
    output::replace(&path, text.as_bytes()).map_err(say)?;
    Ok((best, path))
}

fn best(known: Option<&Ceiling>, measured: &Ceiling) -> Ceiling {
    let of = |known: Option<f64>, rate: f64| {
        known.filter(|known| (rate..=rate * BUSY_TIMES_MAX).contains(known)).unwrap_or(rate)
    };
    let engines = measured.engines.iter().map(|(name, rate)| {
        let known = known.and_then(|known| known.engines.get(name).copied());
        (name.clone(), of(known, *rate))
    });
    let operations_per_s = of(known.map(|known| known.operations_per_s), measured.operations_per_s);
    Ceiling { operations_per_s, engines: engines.collect() }
}

/// The ceiling that was measured on this machine as it is now, if it was.
pub(crate) fn known(facts: &Facts) -> Option<Ceiling> {
    let text = std::fs::read_to_string(path()?).ok()?;
    of_text(&text, &machine(facts))
}

fn of_text(text: &str, machine: &Value) -> Option<Ceiling> {
    let mut kept: Value = serde_json::from_str(text).ok()?;
    let ceiling: Ceiling = serde_json::from_value(kept.get_mut("ceiling")?.take()).ok()?;
    let is_told = ceiling.engines.values().chain([&ceiling.operations_per_s]).all(|rate| *rate > 0.0);
    (is_told && kept["machine"] == *machine).then_some(ceiling)
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
    use fathom_schema::OpenRule;

    fn ceiling(operations_per_s: f64, io_uring: f64) -> Ceiling {
        Ceiling { operations_per_s, engines: BTreeMap::from([("io_uring".to_owned(), io_uring)]) }
    }

    #[test]
    fn a_busy_moment_does_not_spoil_a_ceiling() {
        let measured = ceiling(100.0, 10.0);
        let after = |known: Option<Ceiling>| best(known.as_ref(), &measured);
        assert_eq!(after(None), measured);
        assert_eq!(after(Some(ceiling(50.0, 15.0))), ceiling(100.0, 15.0));
        assert_eq!(after(Some(ceiling(150.0, 25.0))), ceiling(150.0, 10.0));
        assert_eq!(after(Some(ceiling(250.0, 9.0))), measured);
        // No engine could be measured before.
        let plain = Ceiling { operations_per_s: 150.0, engines: BTreeMap::new() };
        assert_eq!(after(Some(plain)), ceiling(150.0, 10.0));
    }

    #[test]
    fn a_ceiling_holds_for_the_machine_it_was_measured_on() {
        let here = json!({ "host": "a", "kernel": "6.1" });
        let kept = |ceiling: Ceiling| json!({ "machine": here, "ceiling": ceiling }).to_string();
        let text = kept(ceiling(2.5e7, 2e6));
        assert_eq!(of_text(&text, &here), Some(ceiling(2.5e7, 2e6)));
        assert_eq!(of_text(&text, &json!({ "host": "a", "kernel": "6.2" })), None);
        for broken in ["", "{}", "[1]", &text[..20], &kept(ceiling(0.0, 1.0)), &kept(ceiling(1.0, 0.0))] {
            assert_eq!(of_text(broken, &here), None, "{broken}");
        }
    }

    #[test]
    fn nothing_is_left_of_a_file_in_the_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let of_folder = || std::fs::read_dir(folder.path()).map(Iterator::count).ok();
        let file = InCache::new(folder.path()).expect("a file");
        assert_eq!(std::fs::metadata(&file.0).map(|found| found.len()).ok(), Some(FILE.0));
        // Of another that lives, and of one that was killed: no process has as high a number.
        let other = InCache::new(folder.path()).expect("another");
        std::fs::write(folder.path().join(format!("{NAME}4194305.0")), "left").expect("it can be written");
        assert_eq!(of_folder(), Some(3));
        drop(InCache::new(folder.path()).expect("a third"));
        assert_eq!(of_folder(), Some(2));
        drop((file, other));
        assert_eq!(of_folder(), Some(0));
    }

    /// Else each turn begins with reads of the device.
    #[test]
    fn what_is_measured_stays_in_the_page_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = InCache::new(folder.path()).expect("a file");
        for (engine, depth) in ENGINES {
            let facts = probe::probe(std::slice::from_ref(&file.0), folder.path(), EngineRefusals::default());
            let (plan, found) = fathom_planner::plan(&in_cache(&file.0, engine, depth).job, &facts, 0);
            let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
            let steps = plan.experiment.preview();
            assert_eq!(steps[0].streams[0].engine.open, OpenRule::KeepCache, "{engine}");
        }
    }
}
