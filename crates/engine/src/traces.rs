//! Trace files on this host: looked at before a run is planned, read into memory before a step starts. Knows where a
//! device's number leads; what is in a trace is `pattern`'s.

use crate::prepare::PrepareError;
use fathom_pattern::{Trace, TraceError};
use fathom_schema::{Step, TraceFact, TraceName, TraceRule};
use rustix::fs::{self, Mode, OFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

/// Read from a trace at once.
const BUFFER_BYTES: usize = 1 << 20;

/// What there is to say of these traces, each read once through; nothing of them is kept.
pub fn look(rules: &[TraceRule]) -> Vec<TraceFact> {
    rules.iter().map(look_at).collect()
}

fn look_at(rule: &TraceRule) -> TraceFact {
    let fact = open(&rule.path).map_err(TraceError::Read).and_then(|mut input| Trace::look(&mut input, rule));
    match fact {
        Ok(mut fact) => {
            for file in &mut fact.files {
                if let TraceName::Device(major, minor) = file.name
                    && let Some(path) = device_path(major, minor)
                {
                    file.name = TraceName::Path(path);
                }
            }
            fact
        }
        Err(error) => TraceFact {
            rule: rule.clone(),
            error: Some(error.to_string()),
            faults: Vec::new(),
            faults_total: 0,
            files: Vec::new(),
            kinds: Vec::new(),
            offset_granule: 0,
            span_ns: 0,
            depth: None,
            fingerprint: 0,
        },
    }
}

/// The traces of a step's streams, by stream; one that several replay is there once.
pub(crate) fn load(step: &Step) -> Result<Vec<Option<Arc<Trace>>>, PrepareError> {
    let mut by_rule: BTreeMap<&TraceRule, Arc<Trace>> = BTreeMap::new();
    let mut of_streams = Vec::with_capacity(step.streams.len());
    for stream in &step.streams {
        let Some(replay) = &stream.trace else {
            of_streams.push(None);
            continue;
        };
        if let Some(known) = by_rule.get(&replay.rule) {
            of_streams.push(Some(Arc::clone(known)));
            continue;
        }
        let path = &replay.rule.path;
        let mut input = open(path).map_err(|error| PrepareError::system("cannot read", path, error))?;
        let changed = |what: String| PrepareError::Changed { path: path.clone(), what };
        let (trace, fact) = Trace::read(&mut input, &replay.rule).map_err(|error| match error {
            TraceError::Read(error) => PrepareError::system("cannot read", path, error),
            error => changed(error.to_string()),
        })?;
        if (trace.operations(), fact.fingerprint) != (replay.operations, replay.fingerprint) {
            let what = format!(
                "it has {} operations, or others, where {} were found",
                trace.operations(),
                replay.operations
            );
            return Err(changed(what));
        }
        let trace = Arc::new(trace);
        by_rule.insert(&replay.rule, Arc::clone(&trace));
        of_streams.push(Some(trace));
    }
    Ok(of_streams)
}

/// Opens a trace for reading. Neither a device, which would be read to its end, nor a pipe, which could be read but once.
fn open(path: &Path) -> io::Result<BufReader<File>> {
    // A pipe that nobody writes to would be waited for.
    let file =
        File::from(fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?);
    if !file.metadata()?.is_file() {
        let what = "it is no regular file; write the trace to a file first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(BufReader::with_capacity(BUFFER_BYTES, file))
}

/// The path of the block device with this number, if it is here.
fn device_path(major: u32, minor: u32) -> Option<String> {
    let link = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    // Where a name has a slash, sysfs has an exclamation mark.
    let name = link.file_name()?.to_str()?.replace('!', "/");
    Some(format!("/dev/{name}"))
}
