//! From what fio's jobs say to what fio's reports print beside the record: which clones make one entry, and whose figures it
//! sums up.

use fathom_frontend::fio::{Extras, JobClone as FioClone};
use fathom_report::{FioEntry, FioShape, FioWorkers};
use fathom_schema::Record;

/// What fio's document says beside the record: one entry per clone, or per group where the group reports together.
pub(super) fn shape(
    record: &Record,
    extras: &Extras,
    echo: &[(String, Vec<(String, String)>)],
    json_plus: bool,
) -> FioShape {
    let mut entries: Vec<FioEntry> = Vec::new();
    let mut last: Option<&FioClone> = None;
    for clone in extras.clones.iter().filter(|clone| clone.is_reported) {
        let workers = workers_of(record, clone);
        let joins = clone.group_reporting
            && last.is_some_and(|last| last.group_reporting && last.group_id == clone.group_id);
        last = Some(clone);
        match entries.last_mut().filter(|_| joins) {
            Some(entry) => {
                let new =
                    workers.into_iter().filter(|worker| !entry.workers.contains(worker)).collect::<Vec<_>>();
                entry.workers.extend(new);
            }
            None => entries.push(FioEntry {
                jobname: clone.job_name.clone(),
                groupid: clone.group_id,
                desc: clone.description.clone().unwrap_or_default(),
                options: echo.get(clone.echo_index).map_or_else(Vec::new, |(_, options)| options.clone()),
                workers,
                continues_on_error: clone.continues_on_error,
                percentiles: clone.percentiles.clone(),
                clat_percentiles: clone.clat_percentiles,
                lat_percentiles: clone.lat_percentiles,
            }),
        }
    }
    FioShape {
        entries,
        globals: extras.globals.clone(),
        version: format!("fathom-{}", env!("CARGO_PKG_VERSION")),
        json_plus,
    }
}

/// Where in the record a clone's work is.
pub(super) fn workers_of(record: &Record, clone: &FioClone) -> Vec<FioWorkers> {
    let mut found = Vec::new();
    for (step, of_step) in record.steps.iter().enumerate() {
        for (stream, of_stream) in of_step.started.step.streams.iter().enumerate() {
            if of_stream.name == clone.stream {
                let worker = (of_stream.workers.len() > 1).then_some(clone.worker as usize);
                found.push(FioWorkers { step, stream, worker });
            }
        }
    }
    found
}
