//! Runs that other processes make in the store of this server, which are followed there: which they are, and what is said to
//! those who ask for what only the other process can do. Looks at files; nothing is told of them as it happens.

use crate::App;
use crate::fault::Fault;
use fathom_store::{State, Summary};

/// Whether another process makes this run. Takes a moment where it has told nothing for some seconds.
pub(crate) fn goes_on(app: &App, run: &Summary) -> bool {
    // Most that have no end were killed: they are not read for that.
    run.state == State::Unfinished
        && app.running.of(&run.id).is_none()
        && fathom_store::is_held(&run.path).unwrap_or(false)
        && fathom_store::with_progress(&run.path, fathom_run::wall_ms()).is_ok_and(|(_, goes_on)| goes_on)
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
