//! Whose a file is: what fathom made it writes and removes unasked, and nothing else, whatever has happened since. Runs of
//! fathom that meet in one file tell each other.

use crate::support::{Bench, Running, skip};
use rustix::process::Signal;
use std::fs::File;
use std::path::Path;

const MIB: usize = 1 << 20;

/// Whether files here carry fathom's mark; without it every file is someone else's.
fn has_marks(bench: &Bench, test: &str) -> bool {
    let path = bench.write("attributes", "x");
    let set = rustix::fs::setxattr(&path, "user.fathom", b"x", rustix::fs::XattrFlags::empty());
    std::fs::remove_file(path).expect("it is ours");
    set.inspect_err(|error| skip(test, &error.to_string())).is_ok()
}

/// Starts a run and kills it as soon as `is_far` enough; what it left.
fn killed(bench: &Bench, line: &str, is_far: impl Fn(&mut Running) -> bool) {
    let mut running = bench.start(line);
    while running.is_running() && !is_far(&mut running) {
        std::thread::yield_now();
    }
    running.signal(Signal::KILL);
    running.ended().expect(137, &[]);
}

/// Kills a run that writes 1 MiB into `own`.
fn killed_writing(bench: &Bench) {
    killed(bench, "run --target own --size 1MiB --read 0% --time 30s", |running| {
        running.wait_for("1 s  ");
        true
    });
}

/// Kills a run that lays `own` out, at the first sight of its content.
fn killed_laying_out(bench: &Bench) {
    let path = bench.path("own");
    killed(bench, "run --target own --size 8GiB --read 0% --time 1s", |_| {
        std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 0)
    });
    let length = std::fs::metadata(path).expect("it was left").len();
    assert!(length < 8 << 30, "the whole file was laid out before the signal came");
}

/// Writes into a file without making another of it, as `cat >` does.
fn fill(path: &Path, content: &[u8]) {
    std::fs::write(path, content).expect("it is ours");
}

#[test]
fn a_file_of_fathoms_own_needs_no_consent() {
    let bench = Bench::new();
    for _ in 0..2 {
        bench.fathom("run --target own --size 1MiB --read 0% --time 100ms").expect(0, &[]);
    }
    // Whoever replaces it has made another file.
    bench.write("other", vec![1; MIB]);
    std::fs::rename(bench.path("other"), bench.path("own")).expect("both are ours");
    bench.check_refused("run --target own --size 1MiB --read 0% --time 1s", 3, &["--overwrite"]);
}

#[test]
fn what_was_filled_since_is_its_owners() {
    let bench = Bench::new();
    if !has_marks(&bench, "what_was_filled_since_is_its_owners") {
        return;
    }
    let path = bench.path("own");
    for keeps_time in [false, true] {
        bench.fathom("run --target own --size 1MiB --read 0% --time 100ms --overwrite").expect(0, &[]);
        std::fs::remove_file(&path).expect("it is ours");
        bench.fathom("run --target own --size 1MiB --read 0% --time 100ms").expect(0, &[]);
        let changed = std::fs::metadata(&path).and_then(|meta| meta.modified()).expect("it is there");
        fill(&path, &vec![7; MIB]);
        if keeps_time {
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_modified(changed))
                .expect("ours");
        }
        for options in ["--read 0%", "--read 0% --yes", "--remove --read 50%"] {
            let line = format!("run --target own --time 100ms {options}");
            bench.check_refused(&line, 3, &["fathom made it, and it has been changed since", "--overwrite"]);
        }
        // What is only read is left at the end, and that is told.
        bench.fathom("run --target own --time 100ms --remove").expect(0, &["target.kept"]);
        assert!(std::fs::read(&path).expect("it stays") == vec![7; MIB]);
    }
}

/// fio leaves files alone when it is told to trim them, so that nobody expects to lose one to a job of its.
#[test]
fn a_peers_trim_of_somebodys_file_takes_a_word_of_consent() {
    let bench = Bench::new();
    bench.write("theirs", vec![7; MIB]);
    let line = "fio --name=a --filename=theirs --rw=trim --bs=64k --size=1m";
    bench.check_refused(line, 1, &["holds 1 MiB that fathom did not write", "--overwrite"]);
    // With a value it is an option of fio's own.
    bench.check_refused(&format!("{line} --overwrite=1"), 1, &["--overwrite"]);
    bench.check_refused(&format!("{line} --overwrite 1"), 1, &["--overwrite"]);
    bench.fathom(&format!("{line} --overwrite")).expect(0, &[]);
    assert!(std::fs::read(bench.path("theirs")).expect("it is still there").iter().all(|&byte| byte == 0));
}

/// Nobody can tell the last writes of a killed run from what someone has put there since.
#[test]
fn what_a_killed_run_left_is_not_written_unasked() {
    for killed in [killed_writing, killed_laying_out] {
        let bench = Bench::new();
        if !has_marks(&bench, "what_a_killed_run_left_is_not_written_unasked") {
            return;
        }
        killed(&bench);
        let path = bench.path("own");
        let run = bench.report()["run"].as_str().expect("an id").to_owned();
        let says =
            ["unsafe.foreign-file", &run, "killed", "say --overwrite to lose its content, or remove it"];
        File::options()
            .append(true)
            .open(&path)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"mine"))
            .expect("ours");
        let size = std::fs::metadata(&path).expect("it is there").len();
        bench.check_refused(&format!("run --target own --size {size} --read 0% --time 1s"), 3, &says);
        fill(&path, &vec![7; MIB]);
        bench.check_refused("run --target own --size 1MiB --read 0% --time 1s", 3, &says);
        bench.fathom("run --target own --size 1MiB --remove --time 100ms").expect(0, &["target.kept"]);
        assert!(std::fs::read(&path).expect("it stays") == vec![7; MIB]);
        bench.fathom("run --target own --size 1MiB --time 100ms").expect(0, &[]);
        assert!(std::fs::read(&path).expect("it stays") == vec![7; MIB], "a run that reads has written");
        bench.fathom("run --target own --size 1MiB --read 0% --time 100ms --overwrite").expect(0, &[]);
        // What was half laid out is not so any more.
        assert!(!bench.fathom("plan --target own --size 1MiB").out.contains("half laid out"));
    }
}

#[test]
fn what_a_killed_run_was_laying_out_is_completed_when_agreed_to() {
    let bench = Bench::new();
    if !has_marks(&bench, "what_a_killed_run_was_laying_out") {
        return;
    }
    killed_laying_out(&bench);
    let plan = bench.fathom("plan --target own --size 8GiB --read 0% --overwrite");
    assert!(plan.expect(0, &[]).out.contains("left half laid out by a run that was killed"), "{plan:#?}");
    bench.fathom("run --target own --size 1MiB --read 0% --time 100ms --overwrite").expect(0, &[]);
    assert!(bench.report()["notes"].to_string().contains("left half laid out"));
}

#[test]
fn a_file_that_another_run_writes_is_left_to_it() {
    let bench = Bench::new();
    bench.fathom("run --target own --size 1MiB --read 0% --time 100ms").expect(0, &[]);
    std::fs::hard_link(bench.path("own"), bench.path("link")).expect("the file is ours");
    let mut first = bench.start("run --target own --read 0% --rate 100/s --time 30s --overwrite");
    first.wait_for("1 s  ");
    let stored = bench.stored();
    for name in ["own", "link"] {
        let line = format!("run --target {name} --read 0% --time 100ms --overwrite");
        let ended = bench.fathom(&line);
        ended.expect(3, &[name, "being written by another process, of fathom", "one job"]);
        assert_eq!((bench.stored(), &*ended.out), (stored, ""), "{ended:?}");
    }
    bench.fathom("run --target link --time 100ms").expect(0, &[]);
    let notes = bench.report()["notes"].to_string();
    assert!(notes.contains("link is being written by another process"), "{notes}");
    first.signal(Signal::INT);
    first.ended().expect(130, &[]);
    bench.fathom("run --target own --read 0% --time 100ms --overwrite").expect(0, &[]);
}

#[test]
fn a_file_that_goes_while_it_is_written_is_told() {
    let bench = Bench::new();
    let mut run = bench.start("run --target own --size 1MiB --read 0% --rate 100/s --time 30s");
    run.wait_for("1 s  ");
    std::fs::remove_file(bench.path("own")).expect("it was made");
    run.signal(Signal::INT);
    run.ended().expect(130, &[]);
    let notes = bench.report()["notes"].to_string();
    let says = "own is gone since the run began: what was written to it cannot be looked at";
    assert!(notes.contains(says) && notes.contains("\"warn\""), "{notes}");
}

/// Whoever came first, both records say it; what is being read is not removed.
#[test]
fn a_reader_is_told_of_a_later_writer_and_the_writer_of_the_reader() {
    let bench = Bench::new();
    bench.fathom("run --target own --size 1MiB --read 0% --time 100ms").expect(0, &[]);
    let mut reader = bench.start("run --target own --rate 100/s --time 30s --store readers");
    reader.wait_for("1 s  ");
    bench.fathom("run --target own --read 0% --time 100ms --remove").expect(0, &[]);
    let notes = bench.report()["notes"].to_string();
    assert!(notes.contains("own is being read by another process of fathom"), "{notes}");
    if has_marks(&bench, "what is read is not removed") {
        assert!(notes.contains("is left: another process of fathom reads it"), "{notes}");
    }
    assert!(bench.path("own").exists(), "it was removed under a reader");
    reader.signal(Signal::INT);
    reader.ended().expect(130, &[]);
    let notes = bench.fathom("report last --format json --store readers").json()["notes"].to_string();
    assert!(notes.contains("own has been changed by another program while this run read it"), "{notes}");
}

#[test]
fn a_file_is_laid_out_with_data_and_removed_when_asked() {
    let bench = Bench::new();
    bench.fathom("run --target laid --size 1MiB --time 100ms").expect(0, &[]);
    let content = std::fs::read(bench.path("laid")).expect("it stays");
    assert_eq!(content.len(), MIB);
    assert!(content.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "a hole was left");
    bench.fathom("run --target gone --size 1MiB --time 100ms --remove").expect(0, &[]);
    assert!(!bench.path("gone").exists());
    // A file that was there before the run is not fathom's to remove, even when fathom made it in an earlier one.
    bench.fathom("run --target laid --time 100ms").expect(0, &[]);
    assert!(bench.path("laid").exists());
}

/// A program that runs cannot be written: that is found before anything is stored.
#[test]
fn a_program_that_runs_is_refused_before_the_run() {
    let bench = Bench::new();
    std::fs::copy("/bin/sleep", bench.path("program")).expect("coreutils have sleep");
    let mut program =
        std::process::Command::new(bench.path("program")).arg("60").spawn().expect("it is a program");
    bench.check_refused(
        "run --target program --read 0% --overwrite --time 1s",
        3,
        &["cannot open program", "Text file busy", "a program that runs"],
    );
    program.kill().and_then(|()| program.wait()).expect("it is our child");
}

/// A measurement that only reads leaves no trace at all: not even when the file was read last.
#[test]
fn what_is_only_read_keeps_its_times() {
    let bench = Bench::new();
    bench.write("foreign", "0123456789abcdef".repeat(65536));
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::File::options().write(true).open(bench.path("foreign")).expect("it was just made");
    file.set_times(std::fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago))
        .expect("it is ours");
    let times = || {
        let all = std::fs::metadata(bench.path("foreign")).expect("it was just made");
        (all.accessed().expect("unix"), all.modified().expect("unix"))
    };
    // As a filesystem mounted with relatime would note the read.
    assert_eq!(times(), (long_ago, long_ago));
    for arguments in
        ["run --target foreign --time 100ms", "fio --name=a --filename=foreign --rw=read --number_ios=9"]
    {
        bench.fathom(arguments).expect(0, &[]);
        assert_eq!(times(), (long_ago, long_ago), "{arguments}");
    }
}

/// Zones lead on to the end of the region of their stream, and not behind it; what they skip stays.
#[test]
fn zones_stay_in_the_region_of_their_stream() {
    let all_zones = [
        // Zones, and what is written of the region of 2 MiB.
        ("64KiB of 128KiB", 2048),
        ("64KiB of 128KiB skip 128KiB", 1024),
        ("1MiB of 8MiB", 2048),
        ("100KiB of 300KiB skip 12KiB", 2048 - 6 * 12),
    ];
    for access in ["sequential", "random"] {
        for (zones, most_kib) in all_zones {
            let bench = Bench::new();
            let path = bench.write("f", vec![7; 8 * MIB]);
            bench.write(
                "job.toml",
                format!(
                    "[target.d]\npath = \"f\"\nsize = \"5MiB\"\n\
                     [workload.w]\nread = \"0%\"\nzones = \"{zones}\"\naccess = \"{access}\"\n\
                     [stream.w]\noffset = \"1MiB\"\nsize = \"2MiB\"\nbytes = \"12MiB\"\n[stage.m]\n"
                ),
            );
            bench.fathom("run job.toml --overwrite").expect(0, &[]);
            let content = std::fs::read(path).expect("it is there");
            let changed: Vec<usize> =
                (0..content.len()).step_by(1024).filter(|&at| content[at..at + 1024] != [7; 1024]).collect();
            let (first, last) = (changed[0], changed[changed.len() - 1]);
            assert!((MIB..3 * MIB).contains(&first) && last < 3 * MIB, "{access} {zones}: {first} to {last}");
            assert!(changed.len() <= most_kib, "{access} {zones}: {} KiB", changed.len());
            assert!(changed.len() > most_kib / 4, "{access} {zones}: {} KiB", changed.len());
        }
    }
}

/// `remove` is of what fathom makes: a file that was there is read without a word of consent, and stays.
#[test]
fn what_is_only_read_needs_no_consent_to_be_removed_if_it_were_made() {
    let bench = Bench::new();
    let path = bench.write("own", vec![7; MIB]);
    bench.write(
        "job.toml",
        "[target.d]\npath = \"own\"\nsize = \"1MiB\"\nremove = true\n[workload.r]\n[stream.r]\nbytes = \"1MiB\"\n[stage.m]\n",
    );
    let planned = bench.fathom("plan job.toml");
    planned.expect(0, &[]);
    assert!(planned.out.contains("own: created when absent, read\n"), "{}", planned.out);
    assert!(!planned.out.contains("removed"), "{}", planned.out);
    bench.fathom("run job.toml").expect(0, &[]);
    assert_eq!(std::fs::read(path).expect("it stays"), vec![7; MIB]);
    // Written it is someone's content.
    bench.check_refused("run --target own --read 0% --remove --time 100ms", 3, &["unsafe.foreign-file"]);
}
