//! What a store promises, tried on real files: nothing committed is lost, whatever happens to the writer, the folder or
//! the file. Holds the small events the tests write.

use crate::{
    State, StoreError, Writer, default_folder, each_interval, find, find_begun, is_held, list, overview,
    path_of, read, whole,
};
use fathom_schema::{
    EnvironmentFact, ErrorPolicy, Event, HostSample, Interval, KindTally, LatencySum, LatencyTally, Moments,
    Note, NoteKind, OperationKind, Outcome, Phase, Record, RunFinished, RunStarted, Severity,
    SparseHistogram, Step, StepFinished, StepStarted, Stop, StreamTally, StreamTotals, TargetTally,
    WorkerTotals,
};
use fathom_units::Nanos;
use rusqlite::Connection;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

pub(crate) const RUN: &str = "01JD3T5W2A0000000000000001";
const LATER: &str = "01JD3T5W2B0000000000000002";
const WALL_MS: u64 = 1_795_165_164_000;

pub(crate) fn run_started() -> Event {
    Event::RunStarted(Box::new(RunStarted {
        schema_version: 1,
        run: RUN.to_owned(),
        tool_version: "0.1.0".to_owned(),
        command: vec!["fathom".to_owned(), "run".to_owned(), "job.toml".to_owned()],
        title: "a job".to_owned(),
        description: None,
        sources: vec![("job.toml".to_owned(), "title = \"a job\"\n".to_owned())],
        echo: Vec::new(),
        wall_ms: WALL_MS,
        expected_seconds: Some(3.0),
        question: None,
        thresholds: Vec::new(),
        abort_when: Vec::new(),
        facts: fathom_schema::Facts::default(),
    }))
}

pub(crate) fn step_started(index: u32) -> Event {
    let step = Step {
        name: "main".to_owned(),
        stage_index: 0,
        point_index: index,
        parameters: Vec::new(),
        pause_before: Nanos::ZERO,
        targets: Vec::new(),
        streams: Vec::new(),
        errors: ErrorPolicy::Stop,
        interval: Nanos::secs(1),
        abort_when: Vec::new(),
        trees: Vec::new(),
    };
    Event::StepStarted(Box::new(StepStarted {
        index,
        step,
        wall_ms: WALL_MS + 100,
        devices: Vec::new(),
        gauges: None,
    }))
}

fn tally() -> StreamTally {
    let moments = Moments { count: 3, min_ns: 100, max_ns: 300, sum_ns: 600.0, sum_squares: 140_000.0 };
    let histogram = SparseHistogram::from_iter([(100, 1), (200, 1), (250, 1)]);
    let kind = KindTally {
        kind: OperationKind::Read,
        operations: 3,
        bytes: 12_288,
        short: 0,
        data_syncs: 0,
        errors: vec![(5, 1)],
        service: LatencyTally { moments, histogram },
        response: None,
        submission: Moments::default(),
        completion: None,
    };
    StreamTally { kinds: vec![kind], in_flight_ns: 600.0, ..StreamTally::default() }
}

pub(crate) fn interval(step: u32, stream: u32, sequence: u64) -> Event {
    Event::Interval(Box::new(Interval {
        step,
        stream,
        sequence,
        start: Nanos::secs(sequence),
        end: Nanos::secs(sequence + 1),
        phase: Phase::Measure,
        late: false,
        tally: tally(),
    }))
}

pub(crate) fn note(message: &str) -> Event {
    Event::Note(Note {
        at: Nanos::millis(150),
        kind: NoteKind::Engine,
        severity: Severity::Info,
        message: message.to_owned(),
    })
}

fn step_finished(index: u32) -> Event {
    let worker = WorkerTotals {
        tally: tally(),
        start: Nanos::ZERO,
        end: Nanos::secs(3),
        synced: Nanos::ZERO,
        user_ns: 1,
        system_ns: 2,
        context_switches: 3,
        major_faults: 0,
        minor_faults: 4,
        runnable_ns: 0,
        error: 0,
        verified: None,
        depth: None,
        emptied: None,
        waiting: 0,
        oldest_waiting: Nanos::ZERO,
    };
    Event::StepFinished(Box::new(StepFinished {
        index,
        streams: vec![StreamTotals { workers: vec![worker] }],
        stop: Stop::Complete,
        elapsed: Nanos::secs(3),
        devices: Vec::new(),
        environment_changes: Vec::new(),
        gauges: None,
        zero_blocks: Vec::new(),
        singles: None,
    }))
}

fn run_finished(outcome: Outcome) -> Event {
    Event::RunFinished(RunFinished { outcome, wall_ms: WALL_MS + 3_200, drives: Vec::new() })
}

/// All events of a small run that ended well.
fn whole_run() -> Vec<Event> {
    vec![
        run_started(),
        step_started(0),
        note("engine psync stands in for io_uring"),
        interval(0, 0, 0),
        interval(0, 0, 1),
        interval(0, 0, 2),
        step_finished(0),
        run_finished(Outcome::Complete),
    ]
}

fn store(folder: &Path, run: &str, events: &[Event]) -> PathBuf {
    let mut writer = Writer::create(folder, run).unwrap();
    for event in events {
        writer.append(event).unwrap();
    }
    writer.finish().unwrap()
}

/// What these events add up to.
fn record_of(events: &[Event]) -> Record {
    let Event::RunStarted(started) = &events[0] else { panic!("a run starts with its start") };
    let mut record = Record::begin(*started.clone());
    events[1..].iter().for_each(|event| record.push(event.clone()).unwrap());
    record
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn host(step: u32, from_s: u64, to_s: u64) -> Event {
    let (processor_ticks, busy_ticks) = ((to_s - from_s) * 200, (to_s - from_s) * 50);
    let (start, end) = (Nanos::secs(from_s), Nanos::secs(to_s));
    Event::Host(Box::new(HostSample { step, start, end, processor_ticks, busy_ticks, devices: Vec::new() }))
}

#[test]
fn samples_of_the_host_grow_longer_with_the_run_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    // Two hours and a half, a sample a second.
    let seconds = 9000;
    let mut events = vec![run_started(), step_started(0)];
    events.extend((0..seconds).map(|at| host(0, at, at + 1)));
    events.extend([step_finished(0), run_finished(Outcome::Complete)]);
    let record = read(&store(folder.path(), RUN, &events)).unwrap();
    let samples = &record.steps[0].host;
    assert!(samples.windows(2).all(|pair| pair[0].end == pair[1].start), "they follow one another");
    assert_eq!((samples[0].start, samples[samples.len() - 1].end), (Nanos::ZERO, Nanos::secs(seconds)));
    assert_eq!(samples.iter().map(|sample| sample.busy_ticks).sum::<u64>(), seconds * 50);
    assert_eq!(samples[999].end, Nanos::secs(1000), "none is lost of the first quarter of an hour");
    // 1024 · (1 + ln(9000 / 1024)) where lengths could be any; they are whole seconds here.
    assert!((2000..3300).contains(&samples.len()), "{}", samples.len());
}

#[test]
fn the_last_sample_of_a_step_that_was_cut_off_is_kept() {
    // After half an hour a sample of one second is added up with the next.
    let samples = |step| (0..2001).map(move |at| host(step, at, at + 1));
    let busy = |record: &Record, step: usize| -> u64 {
        record.steps[step].host.iter().map(|sample| sample.busy_ticks).sum()
    };
    let cut: Vec<Event> = [run_started(), step_started(0)].into_iter().chain(samples(0)).collect();
    let after = [step_started(1), run_finished(Outcome::Complete)];
    for events in [cut.clone(), [&cut[..], &after[1..]].concat(), [&cut[..], &after].concat()] {
        let folder = tempfile::tempdir().unwrap();
        let record = read(&store(folder.path(), RUN, &events)).unwrap();
        assert_eq!(busy(&record, 0), 2001 * 50, "{} events", events.len());
    }
}

#[test]
fn what_is_written_reads_back_from_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = store(folder.path(), RUN, &whole_run());
    assert_eq!(names(folder.path()), [format!("{RUN}.fathom")]);
    assert_eq!(read(&path).unwrap(), record_of(&whole_run()));
    let record = read(&path).unwrap();
    assert_eq!((record.steps.len(), record.steps[0].intervals.len(), record.notes.len()), (1, 3, 1));
    assert_eq!(record.outcome(), Some(&Outcome::Complete));
    assert_eq!(names(folder.path()).len(), 1, "reading a finished run leaves nothing beside it");
}

/// Not a test of its own: the process that `a_killed_writer_…` kills.
#[test]
fn child_that_is_killed() {
    let Some(folder) = env::var_os("FATHOM_TEST_KILLED_IN") else { return };
    let mut writer = Writer::create(Path::new(&folder), RUN).unwrap();
    for event in &whole_run()[..5] {
        writer.append(event).unwrap();
    }
    writer.commit().unwrap();
    writer.append(&interval(0, 0, 2)).unwrap();
    println!("\ncommitted");
    // Held until the parent kills this process; it never closes the pipe before.
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

#[test]
fn a_killed_writer_leaves_all_that_was_committed() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "tests::child_that_is_killed", "--nocapture"])
        .env("FATHOM_TEST_KILLED_IN", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "committed"), "the child ended before it committed");

    let path = path_of(folder.path(), RUN);
    assert_eq!(read(&path).unwrap(), record_of(&whole_run()[..5]), "while the writer lives");
    assert!(is_held(&path).unwrap(), "its writer has it open");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(names(folder.path()).contains(&format!("{RUN}.fathom-wal")));
    // Without its -wal file a copy is not silently an empty run.
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("copy.fathom");
    fs::copy(&path, &copy).unwrap();
    let error = read(&copy).unwrap_err().to_string();
    assert!(error.contains("-wal"), "{error}");

    assert_eq!(read(&path).unwrap(), record_of(&whole_run()[..5]), "after its death");
    assert_eq!(names(folder.path()), [format!("{RUN}.fathom")], "it is one file again");
    assert!(!is_held(&path).unwrap(), "nobody has it open");
    let alone = folder.path().join("taken-along.fathom");
    fs::write(&alone, whole(&path).unwrap()).unwrap();
    assert_eq!(read(&alone).unwrap(), record_of(&whole_run()[..5]), "as one file");
    fs::remove_file(alone).unwrap();
    let record = read(&path).unwrap();
    assert_eq!((record.outcome(), record.steps[0].finished.is_some()), (None, false));
    let runs = list(folder.path()).unwrap();
    assert_eq!(
        (&runs[0].state, runs[0].steps, runs[0].duration),
        (&State::Unfinished, 1, Nanos::millis(2100))
    );
}

#[test]
fn a_killed_run_reads_from_a_folder_that_cannot_be_written() {
    use std::os::unix::fs::PermissionsExt;
    if rustix::process::geteuid().is_root() {
        writeln!(std::io::stderr(), "SKIPPED a_killed_run_reads_from_a_folder: root may write everywhere")
            .expect("stderr can be written");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), RUN).unwrap();
    writer.append(&run_started()).unwrap();
    let cold = folder.path().join("cold");
    fs::create_dir(&cold).unwrap();
    for suffix in ["fathom", "fathom-wal"] {
        fs::copy(folder.path().join(format!("{RUN}.{suffix}")), cold.join(format!("{RUN}.{suffix}")))
            .unwrap();
    }
    fs::set_permissions(&cold, fs::Permissions::from_mode(0o500)).unwrap();
    let record = read(&path_of(&cold, RUN));
    fs::set_permissions(&cold, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(record.unwrap(), record_of(&[run_started()]));
}

#[test]
fn a_copy_with_its_wal_reads_like_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(folder.path(), RUN).unwrap();
    writer.append(&run_started()).unwrap();
    let opened = crate::reader::open_copy(writer.path()).unwrap();
    let events: i64 = opened.query_row("SELECT count(*) FROM event", (), |row| row.get(0)).unwrap();
    assert_eq!(events, 1);
}

#[test]
fn the_fixtures_of_all_layouts_are_read() {
    for (name, events) in [
        ("v1.fathom", whole_run()),
        ("v2.fathom", whole_run()),
        ("v3.fathom", with_all_latencies(whole_run())),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        let record = record_of(&events);
        assert_eq!(read(&path).unwrap(), record, "{name}");
        assert_eq!(overview(&path).unwrap(), record, "{name}");
        let mut intervals = Vec::new();
        each_interval(&path, &mut |_, interval| intervals.push(interval)).unwrap();
        assert_eq!(intervals, record.steps[0].intervals, "{name}");
    }
}

#[test]
fn figures_of_targets_are_kept_in_intervals_sums_and_totals() {
    let targets: Vec<TargetTally> = [(4, None), (9, Some(LatencySum { sum_ns: 700, max_ns: 500 }))]
        .into_iter()
        .map(|(target, response)| TargetTally {
            operations: u64::from(target),
            errors: 1,
            service: LatencySum { sum_ns: 400, max_ns: 300 },
            response,
            ..TargetTally::nothing(target, OperationKind::Write)
        })
        .collect();
    let mut events = whole_run();
    for event in &mut events {
        match event {
            Event::Interval(interval) => interval.tally.targets.clone_from(&targets),
            Event::Sum(sum) => sum.sum.tally.targets.clone_from(&targets),
            Event::StepFinished(finished) => {
                let workers = finished.streams.iter_mut().flat_map(|stream| &mut stream.workers);
                workers.for_each(|worker| worker.tally.targets.clone_from(&targets));
            }
            _ => {}
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = store(folder.path(), RUN, &events);
    let record = read(&path).unwrap();
    assert_eq!(record, record_of(&events));
    assert_eq!(record.steps[0].intervals[0].tally.targets, targets);
}

/// The first interval with response and completion times of its own, the others with those that they have anyway.
fn with_all_latencies(mut events: Vec<Event>) -> Vec<Event> {
    for event in &mut events {
        let Event::Interval(interval) = event else { continue };
        let kind = &mut interval.tally.kinds[0];
        let mut other = kind.service.clone();
        if interval.sequence == 0 {
            other.moments.max_ns += 1;
            other.histogram = [(100, 1), (200, 1), (7000, 300)].into_iter().collect();
        }
        (kind.response, kind.completion) = (Some(other.clone()), Some(other));
    }
    events
}

/// Wrote the fixture of layout 3. A fixture is never written again: a new version gets a fixture of its own.
#[test]
#[ignore = "writes a fixture, once per version"]
fn write_the_fixture() {
    let folder = tempfile::tempdir().unwrap();
    let path = store(folder.path(), RUN, &with_all_latencies(whole_run()));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/v3.fathom");
    assert!(!fixture.exists(), "{} is kept for ever", fixture.display());
    fs::copy(path, fixture).unwrap();
}

/// Spoils a good file and checks what reading it says, and that nothing panics.
fn check_spoiled(spoil: impl FnOnce(&Path), expect: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = store(folder.path(), RUN, &whole_run());
    spoil(&path);
    let error = read(&path).expect_err("a spoiled file is not read").to_string();
    for part in expect {
        assert!(error.contains(part), "{error:?} does not say {part:?}");
    }
    let runs = list(folder.path()).unwrap();
    assert_eq!(runs.len(), 1);
}

#[test]
fn what_cannot_be_read_says_why() {
    let sql =
        |text: &'static str| move |path: &Path| Connection::open(path).unwrap().execute_batch(text).unwrap();
    check_spoiled(|path| fs::write(path, b"").unwrap(), &["not a run", "empty"]);
    check_spoiled(|path| fs::write(path, b"[global]\nrw=read\n").unwrap(), &["not a run"]);
    check_spoiled(
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        },
        &["damaged", "cut short", "bytes are there"],
    );
    check_spoiled(
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[4096..].fill(0xA5);
            fs::write(path, bytes).unwrap();
        },
        &["damaged"],
    );
    check_spoiled(sql("PRAGMA application_id = 0"), &["not a run", "without fathom's mark"]);
    check_spoiled(sql("PRAGMA application_id = 17"), &["another program", "0x11"]);
    check_spoiled(sql("PRAGMA user_version = 9"), &["version 9", "reads up to 3", "newer"]);
    check_spoiled(sql("UPDATE run SET schema_version = 2"), &["version 2", "reads up to 1"]);
    // What computes its rows may have them without end.
    for (text, name) in [
        ("ALTER TABLE interval RENAME TO i; CREATE VIEW interval AS SELECT * FROM i", "\"interval\""),
        ("CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM run; END", "\"t\""),
        ("ALTER TABLE run ADD COLUMN more BLOB AS (zeroblob(1000000000))", "\"run\""),
    ] {
        check_spoiled(sql(text), &["not a run", name, "compute nothing"]);
    }
    check_spoiled(sql("DELETE FROM event WHERE seq = 3"), &["damaged", "event 3 is missing"]);
    check_spoiled(sql("UPDATE event SET body = '{' WHERE seq = 2"), &["damaged", "event 2"]);
    check_spoiled(
        sql("UPDATE interval SET body = x'00' WHERE seq = 1"),
        &["damaged", "interval 1", "it has no length"],
    );
    check_spoiled(
        sql("UPDATE interval SET body = substr(body, 1, 40)"),
        &["damaged", "interval 0", "cannot be read"],
    );
    check_spoiled(
        sql("DELETE FROM run"),
        &["holds no event", "killed before it had stored one", "run it anew"],
    );
    check_spoiled(
        sql("DELETE FROM event WHERE seq = 0; UPDATE event SET seq = seq - 1"),
        &["damaged", "step_started", "where none can be"],
    );
    let gone = read(Path::new("/nowhere/run.fathom")).unwrap_err().to_string();
    assert!(gone.contains("/nowhere/run.fathom"), "{gone}");
    assert!(read(&env::temp_dir()).unwrap_err().to_string().contains("regular file"));
}

#[test]
fn a_damaged_file_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), RUN, &whole_run());
    fs::write(folder.path().join("broken.fathom"), b"garbage").unwrap();
    fs::write(folder.path().join("notes.txt"), b"not ours").unwrap();
    let runs = list(folder.path()).unwrap();
    let words: Vec<_> = runs.iter().map(|run| (run.id.as_str(), run.state.word())).collect();
    assert_eq!(words, [("broken", "foreign"), (RUN, "complete")]);
    assert!(
        runs[0].wall_ms.is_none() && runs[0].state.unread_because().is_some_and(|why| why.contains("broken"))
    );
    let good = &runs[1];
    assert_eq!((good.title.as_str(), good.wall_ms, good.steps), ("a job", Some(WALL_MS), 1));
    assert_eq!(good.duration, Nanos::millis(3200));
    assert_eq!(list(Path::new("/nowhere/at/all")).unwrap(), []);
}

/// A listing says of each file that cannot be read what it is, and calls damaged only what is.
#[test]
fn a_listing_tells_newer_foreign_and_damaged_apart() {
    for (spoil, word) in [
        ("PRAGMA user_version = 9", "newer"),
        ("UPDATE run SET schema_version = 99", "newer"),
        ("PRAGMA application_id = 17", "foreign"),
        ("PRAGMA application_id = 0", "foreign"),
        ("DELETE FROM run", "damaged"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = store(folder.path(), RUN, &whole_run());
        rusqlite::Connection::open(path).unwrap().execute_batch(spoil).unwrap();
        let runs = list(folder.path()).unwrap();
        assert_eq!((runs[0].state.word(), runs[0].wall_ms), (word, None), "{spoil}");
        assert!(runs[0].state.unread_because().is_some(), "{spoil}");
    }
}

#[test]
fn every_outcome_is_listed_as_it_is() {
    for (outcome, word) in [
        (Outcome::Complete, "complete"),
        (Outcome::Interrupted { signal: 2 }, "interrupted"),
        (Outcome::IoErrors, "io errors"),
        (Outcome::Mismatch, "mismatch"),
        (Outcome::Aborted { reason: "errors > 0".to_owned() }, "aborted"),
        (Outcome::Failed { reason: "the device went away".to_owned() }, "failed"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), RUN, &[run_started(), run_finished(outcome.clone())]);
        let state = list(folder.path()).unwrap().remove(0).state;
        assert_eq!(state.word(), word);
        assert_eq!(state, State::Ended(outcome));
    }
}

#[test]
fn find_takes_last_an_identity_a_beginning_or_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let find = |which: &str| find(folder.path(), which);
    assert!(matches!(find("last"), Err(StoreError::NotFound { .. })));
    let first = store(folder.path(), RUN, &whole_run());
    let second = store(folder.path(), LATER, &whole_run());
    fs::write(folder.path().join("zzz.fathom"), b"garbage").unwrap();
    for (which, expect) in [
        ("last", &second),
        (RUN, &first),
        (&RUN.to_lowercase(), &first),
        ("01JD3T5W2b", &second),
        (first.to_str().unwrap(), &first),
    ] {
        assert_eq!(&find(which).unwrap(), expect, "{which}");
    }
    // What a run leaves that is killed before anything is stored hides no other.
    let newest = folder.path().join(format!("7{}.fathom", &LATER[1..]));
    for left in [&b""[..], b"garbage"] {
        fs::write(&newest, left).unwrap();
        assert_eq!(find_begun(folder.path(), "last").unwrap(), (second.clone(), 1));
        assert_eq!(find("last").unwrap(), newest);
    }
    fs::remove_file(&newest).unwrap();
    let ambiguous = find("01JD3T").unwrap_err().to_string();
    assert!(ambiguous.contains(RUN) && ambiguous.contains(LATER), "{ambiguous}");
    for which in ["", "01JE", "/nowhere/x.fathom", "nothing"] {
        assert!(matches!(find(which), Err(StoreError::NotFound { .. })), "{which}");
    }
}

#[test]
fn what_drives_said_at_the_end_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let drives = vec![EnvironmentFact {
        subject: "drive sda".to_owned(),
        name: "pending sectors".to_owned(),
        value: Some("8".to_owned()),
        source: "smartctl".to_owned(),
    }];
    let ended = RunFinished { outcome: Outcome::Complete, wall_ms: WALL_MS, drives };
    let path = store(folder.path(), RUN, &[run_started(), Event::RunFinished(ended.clone())]);
    assert_eq!(read(&path).unwrap().finished, Some(ended));
}

#[test]
fn a_run_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    store(folder.path(), RUN, &whole_run());
    assert!(matches!(Writer::create(folder.path(), RUN), Err(StoreError::Exists { .. })));
    assert!(matches!(Writer::create(folder.path(), "../escape"), Err(StoreError::BadId { .. })));
    assert_eq!(read(&path_of(folder.path(), RUN)).unwrap(), record_of(&whole_run()));
    let error = Writer::create(&path_of(folder.path(), RUN), LATER).unwrap_err().to_string();
    assert!(error.contains("create folder"), "{error}");
}

#[test]
fn the_default_folder_follows_the_environment() {
    let check = |set: &[(&str, &str)], expect: &str| {
        let env =
            |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        assert_eq!(default_folder(&env), Path::new(expect), "{set:?}");
    };
    check(&[("FATHOM_STORE", "/a"), ("XDG_DATA_HOME", "/b"), ("HOME", "/c")], "/a");
    check(&[("XDG_DATA_HOME", "/b"), ("HOME", "/c")], "/b/fathom/runs");
    let home = tempfile::tempdir().unwrap();
    let (home, runs) = (home.path().to_str().unwrap(), home.path().join(".local/share/fathom/runs"));
    check(&[("FATHOM_STORE", ""), ("XDG_DATA_HOME", "b"), ("HOME", home)], runs.to_str().unwrap());
    check(&[], "fathom-runs");
    // No folder can be made there.
    check(&[("HOME", "/dev/null")], "fathom-runs");
}
