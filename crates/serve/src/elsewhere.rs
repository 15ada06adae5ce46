//! Runs that other processes make in the store of this server, which are followed there: which they are, and what is said to
//! those who ask for what only the other process can do. Looks at files; nothing is told of them as it happens.

use crate::App;
use crate::fault::Fault;
use fathom_store::{State, Summary};
use std::time::Duration;

/// How long a run under load tells nothing, milliseconds: an interval, and a second until that is committed.
const SILENT_MS: u64 = 3000;
/// How often and how far apart it is looked whether a silent run's file is held: somebody may be reading what was killed,
/// which takes a fraction of that.
const LOOKS: u32 = 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);

/// Whether another process makes this run. Waits for a moment where that is not clear at once.
pub(crate) fn goes_on(app: &App, run: &Summary) -> bool {
    // Whether a file is held may not be asked by its writer.
    if run.state != State::Unfinished || app.running.of(&run.id).is_some() {
        return false;
    }
    let is_held = || fathom_store::is_held(&run.path).unwrap_or(false);
    if !is_held() {
        return false;
    }
    let told_ms = run.wall_ms.unwrap_or(0).saturating_add(run.duration.0 / 1_000_000);
    let is_silent = fathom_run::wall_ms().saturating_sub(told_ms) > SILENT_MS;
    !is_silent
        || (0..LOOKS).all(|_| {
            std::thread::park_timeout(BETWEEN_LOOKS);
            is_held()
        })
}

/// All of them, oldest first. What nobody has open has no index beside it, so that few files are looked into.
pub(crate) fn all(app: &App) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(app.store()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut runs: Vec<Summary> = names
        .filter_map(|name| Some(fathom_store::path_of(app.store(), name.strip_suffix(".fathom-shm")?)))
        .filter(|path| path.is_file())
        .map(fathom_store::look)
        .filter(|run| goes_on(app, run))
        .collect();
    runs.sort_by_key(|run| run.wall_ms);
    runs.into_iter().map(|run| run.id).collect()
}

/// Refuses what only the process that makes a run can do, where that is another one.
pub(crate) fn refuse(app: &App, id: &str, help: &str) -> Result<(), Fault> {
    let path = crate::running::file_of(app.store(), id)?;
    if goes_on(app, &fathom_store::look(path)) {
        let message = format!("the run {id} is made by another process");
        return Err(Fault::conflict("run.elsewhere", message, help));
    }
    Ok(())
}

/// Refuses a run while another process makes one: they would measure each other.
pub(crate) fn refuse_beside(app: &App) -> Result<(), Fault> {
    let Some(id) = all(app).pop() else { return Ok(()) };
    let message = format!("the run {id} goes on, which another process makes in this store");
    Err(Fault::conflict("run.busy", message, "stop it there, or wait until it has ended"))
}
