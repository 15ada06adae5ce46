//! What holds of every text that somebody may take for a job: it is read to its end, and each fault that is told of has its
//! place within the text. Shared by the fuzz targets and by the tests that run their corpora.

use fathom_frontend::{fio, icf, native, vdbench};
use fathom_model::{Diagnostic, Diagnostics, Job, Sources};

/// Diagnostics of one reading, at most: those that are told and the one that counts the rest. Checks of the model come on
/// top where a reading is not refused.
const TOLD_MAX: usize = 101;

/// As a job file of fio.
pub(crate) fn fio_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let reading = fio::read("job.fio", &text, &fio::Surroundings::empty());
    fio_reading(&reading);
}

/// As the words of fio's command line, one on each line.
pub(crate) fn fio_command_line(bytes: &[u8]) {
    let words: Vec<String> = String::from_utf8_lossy(bytes).lines().map(str::to_owned).collect();
    let (reading, _) = fio::read_arguments(&words, &fio::Surroundings::empty());
    fio_reading(&reading);
}

fn fio_reading(reading: &fio::Reading) {
    let fio::Reading { job, diagnostics, extras } = reading;
    assert!(job.streams.len() <= fio::JOBS_MAX && extras.clones.len() <= fio::JOBS_MAX, "too many jobs");
    judged(job, diagnostics);
}

/// As a native job. What was read whole can be printed, and says the same again.
pub(crate) fn native(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (job, diagnostics) = native::read("job.toml", &text);
    judged(&job, &diagnostics);
    if !diagnostics.has_errors() {
        let printed = native::print(&job);
        let (again, found) = native::read("printed.toml", &printed);
        assert!(!found.has_errors(), "what was printed is not read again: {found:?}\n{printed}");
        assert_eq!(native::print(&again), printed, "printed twice");
    }
}

/// As a configuration of Iometer, looked at rather than run.
pub(crate) fn icf(bytes: &[u8]) {
    let text = icf::decode(bytes);
    let mut sources = Sources::default();
    let source = sources.add("job.icf", &*text);
    let (document, diagnostics) = icf::parse(source, &text);
    in_place(&diagnostics, &sources);
    if !diagnostics.has_errors() {
        let place = |name: &str| Some(icf::Place::Path(format!("/{name}")));
        let world = icf::Surroundings {
            place: &place,
            sector_bytes: 512,
            is_to_run: false,
            is_here: &|_| true,
            first_port: 10_660,
        };
        in_place(&icf::lower(&document, &world).diagnostics, &sources);
    }
}

/// As a parameter file of Vdbench. What was read without faults is a native job as well.
pub(crate) fn vdbench(bytes: &[u8]) {
    let (job, diagnostics) = vdbench::read("job.parm", &String::from_utf8_lossy(bytes));
    judged(&job, &diagnostics);
    if !diagnostics.has_errors() {
        let printed = native::print(&job);
        let (_, found) = native::read("printed.toml", &printed);
        assert!(!found.has_errors(), "what was printed is not read again: {found:?}\n{printed}");
    }
}

fn judged(job: &Job, diagnostics: &Diagnostics) {
    in_place(diagnostics, &job.sources);
    let found = fathom_model::check(job);
    found.all().iter().for_each(|one| has_place(one, &job.sources));
}

/// No more than anybody reads, each with its place.
fn in_place(diagnostics: &Diagnostics, sources: &Sources) {
    let found = diagnostics.all();
    assert!(found.len() <= TOLD_MAX, "{} diagnostics", found.len());
    found.iter().for_each(|one| has_place(one, sources));
}

fn has_place(one: &Diagnostic, sources: &Sources) {
    let Some(span) = one.span else { return };
    let text = sources.of(span).unwrap_or_else(|| panic!("no such text: {one:?}"));
    assert!(text.text.get(span.start..span.end).is_some(), "outside of its text: {one:?}");
}
