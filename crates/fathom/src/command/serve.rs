//! `fathom serve`: the server with what it has to know of this machine.

use crate::cli::{self, FIRST_PORT, IometerArgs, ServeArgs};
use crate::command::steady;
use crate::exit::Exit;
use crate::load::Loaded;
use crate::{answer, diagnose, load, preset, session, terminal};
use fathom_engine::RealClock;
use fathom_model::{Diagnostics, Job, Level};
use fathom_planner::Plan;
use fathom_report::Summary;
use fathom_run::Earlier;
use fathom_schema::{Facts, Record, Severity, SteadyQuestion};
use fathom_serve::{Machine, Preset, Role, Server, Settings, Unfinished, Upload};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &ServeArgs) -> Exit {
    let ServeArgs { run, listen, hosts, tls_cert, tls_key, insecure_listen, store } = args;
    let store = crate::command::store_folder(store.as_ref());
    let page = match run.as_deref().map(|which| page_of(&store, which)).transpose() {
        Ok(page) => page.unwrap_or_default(),
        Err(reason) => {
            terminal::message(&format!("error: {}", diagnose::printable(&reason)));
            return Exit::Usage;
        }
    };
    session::raise_file_limit();
    let settings = Settings {
        listen: *listen,
        hosts: hosts.clone(),
        store: store.clone(),
        tls: tls_cert.clone().zip(tls_key.clone()),
        insecure_listen: *insecure_listen,
    };
    let server = match Server::bind(settings, Box::new(ThisMachine { store })) {
        Ok(server) => server,
        Err(error) => {
            terminal::message(&format!("error: {}", diagnose::printable(&error.to_string())));
            return Exit::Usage;
        }
    };
    if *insecure_listen && !listen.ip().is_loopback() && tls_cert.is_none() {
        terminal::message("warning: without TLS, whoever can read the network can take over sessions");
    }
    terminal::message(&format!(
        "fathom listens at {}; open this address, which works once:\n  {}{page}",
        server.address(),
        server.invitation(Role::Admin)
    ));
    match server.run() {
        Ok(()) => Exit::Ok,
        Err(error) => {
            terminal::message(&format!("error: {}", diagnose::printable(&error.to_string())));
            Exit::Internal
        }
    }
}

/// The part of an address that leads to the page of a run in the store.
fn page_of(store: &Path, which: &str) -> Result<String, String> {
    let path = super::found(store, which).map_err(|error| error.to_string())?;
    let id = path.file_stem().filter(|_| path.parent() == Some(store));
    let id = id.and_then(std::ffi::OsStr::to_str).ok_or_else(|| {
        format!("{} is not in {}; name its folder with --store", path.display(), store.display())
    })?;
    Ok(format!("#/run/{id}"))
}

/// The machine that this program runs on.
struct ThisMachine {
    store: PathBuf,
}

/// Reads a job that someone sent; with the faults that were found in reading come those of `check`.
fn with_faults(upload: &Upload, check: impl FnOnce(&Loaded) -> Diagnostics) -> (Job, Diagnostics) {
    let Upload { name, text, maps, sector_size } = upload;
    let size = sector_size.unwrap_or(cli::SECTOR_BYTES);
    if let Err(reason) = cli::sector_size(&size.to_string()) {
        let mut found = Diagnostics::default();
        found.error("run.sector-size", None, reason, "leave it out for 512");
        return (Job::default(), found);
    }
    let args = IometerArgs { maps: maps.clone(), sector_size: size, first_port: FIRST_PORT };
    let mut loaded = load::uploaded(name, text, &args);
    let checked = check(&loaded);
    loaded.diagnostics.extend(checked);
    (loaded.job, loaded.diagnostics)
}

impl Machine for ThisMachine {
    fn read(&self, upload: &Upload) -> (Job, Diagnostics) {
        with_faults(upload, Loaded::check)
    }

    fn check(&self, upload: &Upload) -> (Job, Diagnostics) {
        with_faults(upload, Loaded::check_in_full)
    }

    fn facts(&self, paths: &[PathBuf]) -> Facts {
        session::facts_of(paths, &self.store)
    }

    fn devices(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir("/sys/block") else { return Vec::new() };
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
        // Drives without a medium and loop devices without a file have no size.
        let size = |name: &Path| std::fs::read_to_string(Path::new("/sys/block").join(name).join("size"));
        let has_size = |name: &Path| size(name).is_ok_and(|size| size.trim() != "0");
        let mut names: Vec<PathBuf> = names.map(PathBuf::from).filter(|name| has_size(name)).collect();
        names.sort();
        // The kernel writes the slash of a name as an exclamation mark.
        names.iter().map(|name| Path::new("/dev").join(name.to_string_lossy().replace('!', "/"))).collect()
    }

    fn clock(&self, facts: &mut Facts) -> RealClock {
        let mut clock = RealClock::new(session::kernel_trusts_tsc());
        session::describe_clock(&mut clock, facts);
        clock
    }

    fn presets(&self) -> Vec<Preset> {
        preset::all()
            .map(|(name, title, text)| Preset { name: name.to_owned(), title, text: text.to_owned() })
            .collect()
    }

    fn report(&self, record: &Record, summary: &Summary) -> String {
        answer::within(record, summary)
    }

    fn answer_rows(&self, record: &Record, summary: &Summary) -> Option<String> {
        answer::rows(record, summary)
    }

    fn complete(&self, asked: &mut SteadyQuestion, facts: &Facts) -> Vec<(Severity, String)> {
        steady::complete(asked, facts)
    }

    fn title_of(&self, asked: &SteadyQuestion) -> String {
        fathom_analysis::pts::title(asked)
    }

    fn unfinished(&self, record: Record) -> Result<Unfinished, String> {
        let (question, record) = steady::left(record)?;
        let Loaded { job, title, diagnostics, .. } =
            steady::job_of(&question, &record, steady::removes(&record));
        match diagnostics.all().iter().find(|one| one.level == Level::Error) {
            Some(fault) => Err(fault.message.clone()),
            None => Ok(Unfinished { question, job, diagnostics, title, record }),
        }
    }

    fn go_on(&self, plan: &mut Plan, facts: &Facts, left: Record) -> Result<Earlier, String> {
        steady::go_on(plan, facts, left)
    }

    fn entropy(&self) -> u64 {
        session::entropy()
    }

    fn say(&self, message: &str) {
        terminal::message(&diagnose::printable(message));
    }
}
