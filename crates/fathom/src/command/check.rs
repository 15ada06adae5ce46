//! `fathom check`: every fault of a job file at once, without looking at any host.

use crate::cli::CheckArgs;
use crate::exit::Exit;
use crate::{diagnose, load, session, terminal};

pub(crate) fn run(args: &CheckArgs) -> Exit {
    let mut loaded = load::look_at(&args.job);
    let checked = loaded.check_in_full();
    loaded.diagnostics.extend(checked);
    if args.json {
        let document = diagnose::as_json(&loaded.diagnostics, &loaded.job.sources);
        let text = serde_json::to_string_pretty(&document).expect("diagnostics have only string keys");
        if terminal::data(&(text + "\n")).is_err() {
            return Exit::Internal;
        }
        return if loaded.diagnostics.has_errors() { Exit::Usage } else { Exit::Ok };
    }
    match session::report_faults(&loaded) {
        Ok(()) => {
            let warnings = loaded.diagnostics.all().len();
            let found = if warnings == 0 {
                "no faults".to_owned()
            } else {
                format!("no errors, {warnings} warnings")
            };
            terminal::message(&format!("{}: {found}", diagnose::printable(&loaded.title)));
            Exit::Ok
        }
        Err(exit) => exit,
    }
}
