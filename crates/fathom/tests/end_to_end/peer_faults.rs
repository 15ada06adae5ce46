//! What fails while jobs run, and what is said of it, beside the peer: which operations count, which errors do, the words for
//! damaged blocks, and the names of files in them. Skipped aloud where the peer is not installed.

use crate::peer_failures::document;
use crate::support::device::{image, with_root};
use crate::support::{Bench, Ended, FATHOM, skip, tool};

const BOTH: [&[&str]; 2] = [&["fio"], &[FATHOM, "fio"]];

/// What both tools say to a line in a folder that `prepare` has made, which neither changes.
fn both(prepare: &dyn Fn(&Bench), line: &str) -> [Ended; 2] {
    let bench = Bench::new();
    prepare(&bench);
    BOTH.map(|program| bench.run(&[program, &line.split_whitespace().collect::<Vec<_>>()].concat()))
}

/// The lines of either output that contain one of these.
fn lines(ended: &Ended, wanted: &[&str]) -> Vec<String> {
    let all = ended.out.lines().chain(ended.err.lines());
    all.filter(|line| wanted.iter().any(|word| line.contains(word))).map(str::to_owned).collect()
}

/// Asserts that both say the same in lines that contain one of these words, and that they say something.
fn check_lines(prepare: &dyn Fn(&Bench), line: &str, wanted: &[&str]) {
    let [theirs, ours] = both(prepare, line).map(|ended| lines(&ended, wanted));
    assert!(!theirs.is_empty(), "the peer says nothing of {wanted:?} with {line}");
    assert_eq!(ours, theirs, "{line}");
}

/// Operations, errors and the first error of the first job; absent where the document has no such keys.
fn counts(ended: &Ended) -> (u64, Option<u64>, Option<u64>) {
    let document = document(ended);
    let job = &document["jobs"][0];
    let operations = ["read", "write"].map(|kind| job[kind]["total_ios"].as_u64().expect("a count"));
    (operations.iter().sum(), job["total_err"].as_u64(), job["first_error"].as_u64())
}

/// A loop device of 4 MiB of whose file only the first is there: all behind it fails.
const THERE: u64 = 1 << 20;
const SIZE: u64 = 4 << 20;

fn with_failing_device(name: &str, test: impl FnOnce(&Bench, &str)) {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(name, &why);
    }
    with_root(name, |bench, stage| {
        let file = image(bench, "img", SIZE, &[]);
        let device = stage.attach(&file)?;
        let file = std::fs::File::options().write(true).open(&file).expect("it is ours");
        file.set_len(THERE).expect("it can be cut");
        test(bench, &device);
        Ok(())
    });
}

#[test]
fn number_ios_counts_what_completed() {
    with_failing_device("number_ios_counts_what_completed", |bench, device| {
        let run = |program: &[&str], job: &str| {
            let line = format!("--name=a --filename={device} --direct=1 --output-format=json {job}");
            counts(&bench.run(&[program, &line.split_whitespace().collect::<Vec<_>>()].concat()))
        };
        for (job, expect) in [
            // 16 of 64 complete.
            ("--rw=read --bs=64k --number_ios=20 --continue_on_error=read", (64, Some(48), Some(5))),
            ("--rw=read --bs=64k --number_ios=10 --continue_on_error=read", (10, Some(0), Some(0))),
            (
                "--rw=read --bs=64k --number_ios=20 --continue_on_error=all --loops=2",
                (128, Some(96), Some(5)),
            ),
        ] {
            assert_eq!(BOTH.map(|program| run(program, job)), [expect; 2], "{job}");
        }
        // Also those that fail when all others are under way.
        let random = "--rw=randread --bs=4k --number_ios=100 --continue_on_error=all";
        for (how, expect) in [
            ("--ioengine=libaio --iodepth=4", 100),
            ("--ioengine=libaio --iodepth=32", 100),
            ("--ioengine=io_uring --iodepth=4", 100),
            ("--ioengine=libaio --iodepth=32 --loops=2", 200),
        ] {
            for program in BOTH {
                let (all, failed, _) = run(program, &format!("{random} {how}"));
                let completed = all - failed.expect("it goes on after errors");
                assert!(all > expect, "nothing failed with {program:?} {how}");
                assert_eq!(completed, expect, "of {all} with {program:?} {how}");
            }
        }
    });
}

#[test]
fn errors_are_counted_where_jobs_go_on_after_them() {
    with_failing_device("errors_are_counted_where_jobs_go_on_after_them", |bench, device| {
        for how in ["write", "verify", "read", "all"] {
            let line = format!(
                "--name=a --filename={device} --direct=1 --output-format=json --rw=read --bs=64k \
                 --continue_on_error={how}"
            );
            let run = |program: &[&str]| {
                counts(&bench.run(&[program, &line.split_whitespace().collect::<Vec<_>>()].concat()))
            };
            let [theirs, ours] = BOTH.map(run);
            assert_eq!(ours, theirs, "{how}");
            assert_eq!(theirs.1 == Some(0), ["write", "verify"].contains(&how), "{how}");
        }
    });
}

/// Which of several errors is told does not depend on what other jobs may go on after.
#[test]
fn an_error_that_is_tolerated_hides_no_other() {
    with_failing_device("an_error_that_is_tolerated_hides_no_other", |bench, device| {
        let line = format!(
            "fio --name=a --rw=read --size=64k --filename=fresh --create_on_open=1 --continue_on_error=read --name=b \
             --rw=read --bs=64k --direct=1 --filename={device}"
        );
        let ended = bench.fathom(&line);
        let said = format!("fio: io_u error on file {device}: Input/output error: read offset=1048576");
        ended.expect(1, &[&said]);
        assert!(!ended.err.contains("fresh"), "{ended:#?}");
    });
}

/// Writes a file with the peer and changes bytes of it.
fn damaged(bench: &Bench, how: &str, changes: &[(usize, u8)]) {
    let line = format!("--name=a --rw=write --bs=4k --size=256k --filename=f --do_verify=0 {how}");
    let written = bench.run(&[&["fio"], &line.split(' ').collect::<Vec<_>>()[..]].concat());
    assert_eq!(written.code, 0, "{written:#?}");
    let mut content = std::fs::read(bench.path("f")).expect("it was written");
    for &(at, byte) in changes {
        content[at] = byte;
    }
    bench.write("f", content);
}

#[test]
fn damaged_fields_and_bytes_are_named_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("damaged_fields_and_bytes_are_named_as_by_the_peer", &why);
    }
    let check = |how: &str, changes: &[(usize, u8)], wanted: &[&str]| {
        let line = format!("--name=a --rw=read --bs=4k --size=256k --filename=f {how}");
        check_lines(&|bench| damaged(bench, how, changes), &line, wanted);
    };
    // Magic, length, offset, the number of the thread, length and offset.
    for changes in
        [&[(8192, 1)][..], &[(8196, 255)], &[(8208, 255)], &[(8226, 0x77)], &[(8196, 255), (8208, 255)]]
    {
        check("--verify=md5", changes, &["verify: bad "]);
    }
    let pattern = "--verify_pattern=0xdeadbeef";
    for (how, at) in [
        (format!("--verify=pattern {pattern}"), 10192),
        (format!("--verify=meta {pattern}"), 10192),
        (format!("--verify=pattern {pattern} --verify_interval=1k"), 10192),
    ] {
        check(&how, &[(at, 1)], &["fio: got pattern", "bad pattern block offset"]);
    }
}

#[test]
fn files_are_called_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("files_are_called_as_by_the_peer", &why);
    }
    let two = "--name=a --nrfiles=2 --filename_format=f$filenum --size=128k --verify=sha1";
    let damaged = |bench: &Bench| {
        let line = format!("{two} --rw=write --do_verify=0");
        let written = bench.run(&[&["fio"], &line.split(' ').collect::<Vec<_>>()[..]].concat());
        assert_eq!(written.code, 0, "{written:#?}");
        let mut content = std::fs::read(bench.path("f1")).expect("it was written");
        content[20_000] ^= 1;
        bench.write("f1", content);
    };
    check_lines(&damaged, &format!("{two} --rw=read"), &["verify failed at file"]);
    for job in
        ["--directory=.", "", "--nrfiles=2", "--directory=. --nrfiles=2", "--filename=./x", "--filename=x"]
    {
        let of = |program: &[&str]| {
            let bench = Bench::new();
            let line = format!("--name=b --rw=write --size=8k --write_iolog=il {job}");
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(bench.run(&[program, &words[..]].concat()).code, 0, "{program:?} {line}");
            let log = std::fs::read_to_string(bench.path("il")).expect("it was written");
            let added = log.lines().filter_map(|line| line.strip_suffix(" add"));
            added.map(|line| line.split(' ').nth(1).expect("a name").to_owned()).collect::<Vec<_>>()
        };
        let [theirs, ours] = BOTH.map(of);
        assert_eq!(ours, theirs, "{job}");
    }
}

#[test]
fn errors_of_verification_that_are_ignored_count_as_with_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("errors_of_verification_that_are_ignored_count_as_with_the_peer", &why);
    }
    for ignored in ["--ignore_error=::EILSEQ", "--ignore_error=::84", "--continue_on_error=verify"] {
        let prepare = |bench: &Bench| damaged(bench, "--verify=sha256", &[(20_000, 1)]);
        let line = "--name=a --rw=read --size=256k --filename=f --verify=sha256 --output-format=json";
        let [theirs, ours] = both(&prepare, &format!("{line} {ignored}")).map(|ended| counts(&ended));
        assert_eq!(ours, theirs, "{ignored}");
    }
}

#[test]
fn banners_and_trims_are_shown_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("banners_and_trims_are_shown_as_by_the_peer", &why);
    }
    for rw in ["readwrite", "readwrite:3", "rw", "randrw", "write"] {
        check_lines(&|_| (), &format!("--name=a --ioengine=null --size=8k --rw={rw}"), &["(g=0)"]);
    }
    with_root("banners_and_trims_are_shown_as_by_the_peer", |bench, stage| {
        let device = stage.device(bench, "img", &[])?;
        for engine in ["libaio", "io_uring"] {
            let line = format!(
                "--name=a --filename={device} --ioengine={engine} --rw=randtrim --iodepth=4 --bs=64k --size=1m"
            );
            let words: Vec<&str> = line.split(' ').collect();
            let shown = BOTH.map(|program| {
                let ended = bench.run(&[program, &words].concat());
                assert_eq!(ended.code, 0, "{ended:#?}");
                ["slat (", "clat (", " lat ("].map(|name| ended.out.contains(name))
            });
            assert_eq!(shown, [[false, true, true]; 2], "{engine}");
        }
        Ok(())
    });
}

#[test]
fn switches_without_sense_are_refused_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("switches_without_sense_are_refused_as_by_the_peer", &why);
    }
    for (line, says) in [
        ("--name=a --rw=write --size=4k --status-interval=0", "too short"),
        ("--name=a --rw=write --size=4k --eta-newline=0", "too short"),
        ("--name=a --rw=write --size=4k --eta-interval=249ms", "too short"),
        ("--name= --rw=write --size=4k", "option name requires an argument"),
    ] {
        for (program, says) in BOTH.into_iter().zip(["", says]) {
            let bench = Bench::new();
            let words: Vec<&str> = line.split(' ').collect();
            bench.run(&[program, &words].concat()).expect(1, &[says]);
            assert!(bench.snapshot().is_empty(), "{program:?} {line}");
        }
    }
}

#[test]
fn warnings_are_no_messages_beside_errors() {
    let bench = Bench::new();
    bench.write("w.fio", "[a]\nrw=write\nsize=64k\niodepth=8\nruntime=1\nnosuch=1\n");
    let ended = bench.fathom("fio w.fio");
    ended.expect(1, &["nosuch"]);
    assert!(!ended.err.contains("warning"), "{ended:#?}");
    // Where one asks what is wrong, they are said.
    bench.fathom("fio --parse-only w.fio").expect(1, &["nosuch", "warning"]);
}

#[test]
fn a_fault_of_alignment_is_told_at_its_option() {
    let line = "--name=a --rw=randwrite --size=64k --direct=1 --bs=4k --ba=256 --filename=f";
    let column = line.find("--ba").expect("it is there") + 1;
    let ended = Bench::new().fathom(&format!("fio {line}"));
    ended.expect(1, &["align 256 B", &format!("command line:1:{column}\n")]);
}
