//! Verification on real files: fathom checks what the peer wrote and the peer what fathom wrote; every fault of a medium is
//! found, named and told with its place; and no load makes a fault where there is none.

use crate::support::{Bench, Ended, FATHOM, skip, tool};
use serde_json::Value;
use std::path::PathBuf;

/// How to write, and how to check it, as options of fio's.
type Case = (String, String);

/// Runs a fio command line on a file of 256 KiB in the bench's folder; the code and what was said on both streams.
fn on_file(bench: &Bench, program: &[&str], options: &str) -> (i32, String) {
    let line = format!("--name=v --filename=file --size=256k --verify_state_save=0 --output=out {options}");
    let words: Vec<&str> = line.split(' ').collect();
    let ended = bench.run(&[program, &words].concat());
    (ended.code, format!("{}{}", ended.out, ended.err))
}

const PEER: &[&str] = &["fio"];
const OURS: &[&str] = &[FATHOM, "fio"];

/// One job per case, each on a file of its own: all are written by one program and checked by another.
fn check_both_ways(cases: &[Case]) {
    let job = |of: fn(&Case) -> &str| {
        let sections = cases
            .iter()
            .enumerate()
            .map(|(at, case)| format!("[c{at}]\nfilename=c{at}\n{}\n", of(case).replace(' ', "\n")));
        format!("[global]\nsize=256k\nverify_state_save=0\n{}", sections.collect::<String>())
    };
    for (writer, checker) in [(PEER, OURS), (OURS, PEER), (OURS, OURS)] {
        let bench = Bench::new();
        bench.write("write.fio", job(|case| &case.0));
        bench.write("check.fio", job(|case| &case.1));
        for (program, file) in [(writer, "write.fio"), (checker, "check.fio")] {
            let ended = bench.run(&[program, &["--output=out", file]].concat());
            assert_eq!(ended.code, 0, "{program:?} {file} after {writer:?}: {}{}", ended.out, ended.err);
        }
    }
}

fn has_peer(test: &str) -> bool {
    match tool("fio", &["--version"]) {
        // Later ones have another header.
        Ok(version) if version.contains("fio-3.33") => true,
        Ok(version) => {
            skip(test, &format!("{} is not fio-3.33", version.trim()));
            false
        }
        Err(why) => {
            skip(test, &why);
            false
        }
    }
}

#[test]
fn each_checks_what_the_other_wrote() {
    if !has_peer("each_checks_what_the_other_wrote") {
        return;
    }
    let kinds = [
        "md5",
        "crc64",
        "crc32c",
        "crc32c-intel",
        "crc32",
        "crc16",
        "crc7",
        "xxhash",
        "sha1",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "meta",
        "null",
    ];
    let mut cases: Vec<Case> = kinds
        .iter()
        .map(|kind| (format!("rw=randwrite bs=4k verify={kind}"), format!("rw=read bs=4k verify={kind}")))
        .collect();
    for (writes, checks, both) in [
        ("rw=write", "rw=randread", "bs=512 verify=crc32c"),
        ("rw=write", "rw=read", "bs=64k verify=md5"),
        ("rw=write", "rw=randread", "bs=8k verify=crc32c verify_interval=1k verify_offset=64"),
        ("rw=randwrite", "rw=read", "bs=8k verify=sha3-256 verify_interval=512 verify_offset=256"),
        // Headers lie 1 KiB apart; which blocks the tail gets is drawn.
        ("rw=write bsrange=1k-4k", "rw=read bs=1k size=128k", "verify=crc32c"),
        ("rw=write", "rw=randread", "bs=4k verify_pattern=0xdeadbeef"),
        ("rw=write", "rw=read", "bs=4k verify=pattern verify_pattern=0xab%o\"xy\"258"),
        ("rw=write", "rw=randread", "bs=4k verify=meta verify_pattern=%o"),
        ("rw=write", "rw=read", "bs=4k verify=sha1 verify_pattern=-12"),
        ("rw=randwrite iodepth=16", "rw=randread iodepth=8", "bs=4k verify=crc32c ioengine=libaio direct=1"),
        ("rw=randwrite ioengine=libaio iodepth=4 verify_backlog=8", "rw=read", "bs=4k verify=crc32c"),
    ] {
        cases.push((format!("{writes} {both}"), format!("{checks} {both}")));
    }
    check_both_ways(&cases);
}

#[test]
fn each_reads_how_far_the_other_came() {
    if !has_peer("each_reads_how_far_the_other_came") {
        return;
    }
    // What they write, how many writes of it are done, and the size of the peer's file: it lists the last writes of each
    // file, where fathom lists those of the job.
    let cases = [
        ("--name=v --filename=file --size=256k", 5, 192),
        ("--name=a/b --filename=file --size=256k", 5, 192),
        ("--name=v --numjobs=3 --size=96k", 5, 192),
        ("--name=v --nrfiles=30 --size=120k", 30, 656),
        ("--name=v --nrfiles=3 --size=96k --file_service_type=sequential", 10, 224),
        ("--name=v --nrfiles=3 --size=96k --file_service_type=roundrobin:2", 10, 224),
        ("--name=v --filename=file --size=64k --ioengine=libaio --iodepth=32", 5, 688),
    ];
    for (job, writes, length) in cases {
        for (writer, checker) in [(PEER, OURS), (OURS, PEER), (OURS, OURS)] {
            let case = format!("{job}: {checker:?} after {writer:?}");
            let bench = Bench::new();
            std::fs::create_dir(bench.path("a")).expect("the folder is new");
            let run = |program: &[&str], options: &str| {
                let line = format!("{job} --bs=4k --verify=crc32c --output=out {options}");
                let ended = bench.run(&[program, &line.split(' ').collect::<Vec<_>>()].concat());
                (ended.code, ended.out + &ended.err)
            };
            let (code, said) = run(writer, &format!("--rw=write --do_verify=0 --number_ios={writes}"));
            assert_eq!(code, 0, "{case}: {said}");
            let name = job.split(['=', ' ']).nth(1).expect("a job has a name").replace('/', ".");
            let state = std::fs::metadata(bench.path(&format!("local-{name}-0-verify.state")));
            let state = state.expect("the state has this name").len();
            assert!(if writer == PEER { state == length } else { state <= length }, "{case}: {state}");
            // The rest was never written: only what the state tells of can be checked.
            let (code, said) = run(checker, "--rw=read --verify_state_load=1 --output-format=json");
            assert_eq!(code, 0, "{case}: {said}");
            let text = std::fs::read_to_string(bench.path("out")).expect("it was written");
            let document: Value = serde_json::from_str(&text).expect("a document");
            // Where the peer's last write of several files went its state does not tell for certain.
            let is_open = (writer, checker) == (PEER, OURS) && job.contains("--nrfiles");
            for checked in document["jobs"].as_array().expect("a list of jobs") {
                assert_eq!(checked["read"]["total_ios"], writes - i32::from(is_open), "{case}");
            }
            if checker == OURS {
                let (code, said) = run(checker, "--rw=write --verify_only --verify_state_load=1");
                assert_eq!(code, 0, "{case}: {said}");
            }
            if writes != 30 {
                let (code, _) = run(checker, "--rw=read --verify_state_save=0");
                let jobs = if job.contains("--numjobs=3") { 3 } else { 1 };
                assert_eq!(code, jobs, "{case}");
            }
        }
    }
}

/// Operations and bytes of reads and writes.
fn moved(bench: &Bench, program: &[&str], options: &str) -> [u64; 4] {
    let (code, said) = on_file(bench, program, &format!("--output-format=json {options}"));
    assert_eq!(code, 0, "{program:?} {options}: {said}");
    let text = std::fs::read_to_string(bench.path("out")).expect("it was written");
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let job = &document["jobs"][0];
    [("read", "total_ios"), ("read", "io_bytes"), ("write", "total_ios"), ("write", "io_bytes")]
        .map(|(of, key)| job[of][key].as_u64().expect("a count"))
}

/// A job that goes on until its time is over writes for all of it: only what a backlog says is read back. Where the engine comes to
/// the end of a pass nevertheless, each is read back.
#[test]
fn a_job_that_ends_with_its_time_reads_back_what_the_peer_does() {
    if !has_peer("a_job_that_ends_with_its_time_reads_back_what_the_peer_does") {
        return;
    }
    for (options, is_read_back) in [
        ("--rw=randwrite", false),
        ("--rw=write", false),
        ("--rw=randwrite --filename=other", false),
        ("--rw=write --filename=other", true),
        ("--rw=write --ioengine=libaio --iodepth=4", true),
        ("--rw=randwrite --verify_backlog=16", true),
        ("--rw=write --verify_backlog=16 --ioengine=libaio --iodepth=4", true),
        ("--rw=randwrite --verify_backlog=16 --verify_backlog_batch=4", true),
    ] {
        for program in [PEER, OURS] {
            let bench = Bench::new();
            let line =
                format!("--bs=4k --verify=crc32c --time_based --runtime=1 --output-format=json {options}");
            let (code, said) = on_file(&bench, program, &line);
            assert_eq!(code, 0, "{program:?} {options}: {said}");
            let text = std::fs::read_to_string(bench.path("out")).expect("it was written");
            let text = &text[text.find('{').expect("a document")..];
            let document: Value = serde_json::from_str(text).expect("a document");
            let job = &document["jobs"][0];
            let of = |key: &str| job[key]["total_ios"].as_u64().expect("a count");
            let (read, written) = (of("read"), of("write"));
            // Between passes that are read back the files are synced, which is nobody's time.
            let is_all_measured = !is_read_back || options.contains("--verify_backlog");
            let runtime = job["job_runtime"].as_u64();
            assert!(!is_all_measured || runtime >= Some(990), "{program:?} {options}: {job}");
            if is_read_back {
                assert!(
                    read <= written && read + 64 >= written,
                    "{program:?} {options}: {read} of {written}"
                );
            } else {
                assert!(read == 0 && written > 64, "{program:?} {options}: {read} of {written}");
            }
        }
    }
}

#[test]
fn what_is_read_back_is_counted_as_the_peer_counts_it() {
    if !has_peer("what_is_read_back_is_counted_as_the_peer_counts_it") {
        return;
    }
    for options in [
        "--rw=write --bs=4k --verify=crc32c",
        "--rw=randwrite --bs=4k --verify=crc32c --do_verify=0",
        "--rw=randwrite --bs=4k --verify=crc32c --loops=3",
        "--rw=randwrite --bs=4k --verify=md5 --verify_backlog=10",
        "--rw=randwrite --bs=4k --verify=md5 --verify_backlog=16 --verify_backlog_batch=4",
        "--rw=write --bs=4k --verify=md5 --number_ios=10",
        "--rw=read --bs=4k --verify=null",
        "--rw=write --bs=8k --verify=crc32c --nrfiles=2 --filename_format=f.$filenum",
        // Nothing is compared where nothing is kept.
        "--ioengine=null --rw=randwrite --bs=4k --verify=crc32c",
        "--ioengine=null --rw=write --bs=4k --verify=pattern --verify_pattern=0x55 --iodepth=4 --verify_backlog=8",
    ] {
        let bench = Bench::new();
        let peer = moved(&bench, PEER, options);
        let bench = Bench::new();
        assert_eq!(moved(&bench, OURS, options), peer, "{options}");
    }
    // Each draws its own places; what is read back are the distinct ones.
    let bench = Bench::new();
    let [reads, _, writes, _] = moved(&bench, OURS, "--rw=randwrite --bs=4k --norandommap --verify=crc32c");
    assert!(writes == 64 && (30..60).contains(&reads), "{reads} of {writes}");
    // Half of 64 operations are reads; every write is read once more.
    let [reads, _, writes, _] = moved(&bench, OURS, "--rw=randrw --bs=4k --verify=crc32c");
    assert_eq!((reads, (10..54).contains(&writes)), (64, true));
}

/// The random map has the smallest block of reads, and cuts writes to what it leaves: no multiple of the distance of headers.
#[test]
fn writes_that_a_map_has_cut_are_found_as_written() {
    for sizes in [
        "--bsrange=4k-4k,8k-32k",
        "--bssplit=4k/100,8k/50:16k/50",
        "--bsrange=1k-2k,8k-32k --verify_offset=5k",
    ] {
        for seed in 1..5 {
            let bench = Bench::new();
            let options = format!("--rw=randrw {sizes} --verify=crc32c --randseed={seed}");
            let [reads, _, writes, _] = moved(&bench, OURS, &options);
            assert!(reads > writes && writes > 0, "{options}: {reads} and {writes}");
        }
    }
}

/// Kind and block of each operation, in order, of a job of 64 KiB in blocks of 4 KiB.
fn sequence(program: &[&str], options: &str) -> Vec<(String, u64)> {
    let bench = Bench::new();
    let line = format!(
        "--name=a --size=64k --bs=4k --rw=write --verify=crc32c --write_iolog=ops --output=out {options}"
    );
    let ended = bench.run(&[program, &line.split(' ').collect::<Vec<_>>()].concat());
    assert_eq!(ended.code, 0, "{program:?} {options}: {ended:?}");
    let log = std::fs::read_to_string(bench.path("ops")).expect("it was written");
    let operation = |line: &str| match *line.split(' ').collect::<Vec<_>>() {
        [_, _, kind @ ("read" | "write"), offset, _] => {
            Some((kind.to_owned(), offset.parse::<u64>().expect("a place") / 4096))
        }
        _ => None,
    };
    log.lines().filter_map(operation).collect()
}

#[test]
fn a_backlog_is_read_back_in_the_peers_order() {
    if !has_peer("a_backlog_is_read_back_in_the_peers_order") {
        return;
    }
    for options in [
        "--verify_backlog=4 --verify_backlog_batch=2",
        "--verify_backlog=5 --verify_backlog_batch=3",
        "--verify_backlog=4 --verify_backlog_batch=1 --io_size=40k",
        "--verify_backlog=5 --loops=3 --size=32k",
        // What a batch lacks is read back as it comes, in the next loop too.
        "--verify_backlog=4 --verify_backlog_batch=8 --loops=3 --size=24k",
        // Of a mix the writes count, not what is read beside them.
        "--rw=rw --verify_backlog=4",
        "--rw=rw --verify_backlog=8 --verify_backlog_batch=2 --size=128k",
        "--rw=rw --rwmixread=80 --verify_backlog=3 --size=256k",
        "--rw=rw --verify_backlog=16 --size=64k",
    ] {
        let peer = sequence(PEER, options);
        assert!(peer.len() > 16, "{options}: {peer:?}");
        assert_eq!(sequence(OURS, options), peer, "{options}");
    }
}

/// What an earlier run wrote is checked by reads as by writes that are not done, with the peer's verdict.
#[test]
fn only_checking_finds_what_the_peer_finds() {
    if !has_peer("only_checking_finds_what_the_peer_finds") {
        return;
    }
    let written = || {
        let bench = Bench::new();
        assert_eq!(on_file(&bench, PEER, "--rw=write --bs=4k --verify=crc32c --do_verify=0").0, 0);
        bench
    };
    let checked = |bench: &Bench, program: &[&str], options: &str| {
        let line = format!("--bs=4k --verify_only --output-format=json {options}");
        let (code, _) = on_file(bench, program, &line);
        let text = std::fs::read_to_string(bench.path("out")).expect("it was written");
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        let (job, findings) = (&document["jobs"][0], document["fathom"]["findings"].to_string());
        assert!(!findings.contains("operations.none") || code != 0, "{options}: {findings}");
        (code, job["error"].as_u64(), job["read"]["total_ios"].as_u64())
    };
    for (options, corrupt, expect) in [
        ("--rw=read --verify=crc32c", false, (0, Some(0), Some(64))),
        ("--rw=randread --verify=crc32c", false, (0, Some(0), Some(64))),
        ("--rw=write --verify=crc32c", false, (0, Some(0), Some(64))),
        ("--rw=read --verify=crc32c", true, (1, Some(84), Some(3))),
        ("--rw=write --verify=crc32c", true, (1, Some(84), Some(3))),
        ("--rw=read --verify=md5", false, (1, Some(84), Some(1))),
    ] {
        for program in [PEER, OURS] {
            let bench = written();
            if corrupt {
                let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
                bytes[9000] ^= 1;
                bench.write("file", &bytes);
            }
            assert_eq!(checked(&bench, program, options), expect, "{program:?} {options}");
        }
    }
    // Each draws its own places.
    for program in [PEER, OURS] {
        let bench = written();
        bench.write("file", vec![7; 256 << 10]);
        assert_eq!(checked(&bench, program, "--rw=randread --verify=crc32c"), (1, Some(84), Some(1)));
    }
}

const JOB: &str = "[target.t]\npath = \"file\"\nsize = \"64KiB\"\n[workload.w]\nread = \"0%\"\naccess = \"random\"\n\
                   coverage = \"once-per-pass\"\nverify = \"crc32c\"\n[stream.s]\nengine = \"psync\"\npasses = 1\n\
                   direct = false\n";

fn check_clean(ended: &Ended) {
    ended.expect(0, &[]);
    assert!(ended.out.contains("no mismatch"), "{ended:?}");
}

/// A verified file whose blocks were changed, checked again without writing: exit code and report.
fn damaged(job: &str, change: impl Fn(&mut Vec<u8>)) -> (Bench, i32, Value) {
    let bench = Bench::new();
    bench.write("job.toml", job);
    check_clean(&bench.fathom("run job.toml"));
    let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
    change(&mut bytes);
    bench.write("file", &bytes);
    bench.write("again.toml", job.replace("[stream.s]", "verify_only = true\n[stream.s]"));
    let code = bench.fathom("run again.toml --overwrite").code;
    let report = bench.report();
    (bench, code, report)
}

/// Kinds and counts of mismatches, and the places they are told at.
fn found(report: &Value) -> (Vec<(String, u64)>, Vec<String>) {
    let verified = &report["steps"][0]["streams"][0]["verified"];
    let by_kind = verified["mismatches_by_kind"].as_array().expect("it was verified");
    let kinds = by_kind.iter().map(|found| {
        (found["kind"].as_str().expect("a name").to_owned(), found["count"].as_u64().expect("a count"))
    });
    let notes = report["notes"].as_array().expect("a report has notes").iter();
    let told = notes.filter(|note| note["kind"] == "mismatch");
    (kinds.collect(), told.map(|note| note["message"].as_str().expect("a text").to_owned()).collect())
}

#[test]
fn damage_is_found_named_and_told_with_its_place() {
    type Change = fn(&mut Vec<u8>);
    let cases: [(Change, &str, u64, &str); 5] = [
        (
            |bytes| bytes[5000] ^= 1,
            "data",
            1,
            "file at offset 4096, length 4096: the block has damaged data; digest expected ",
        ),
        (|bytes| bytes[8192..12_288].fill(0), "zeroed", 1, "offset 8192"),
        (|bytes| bytes[8192 + 16] ^= 4, "header", 1, "offset 8192"),
        (
            |bytes| {
                let (front, back) = bytes.split_at_mut(4096);
                front.swap_with_slice(&mut back[..4096]);
            },
            "misplaced",
            2,
            "offset expected 0, found 4096",
        ),
        (|bytes| bytes[4096..8192].fill(0xee), "no_header", 1, "magic expected 0xacca, found 0xeeee"),
    ];
    for (change, kind, count, says) in cases {
        let (_bench, code, report) = damaged(JOB, change);
        let (kinds, told) = found(&report);
        assert_eq!((code, kinds), (6, vec![(kind.to_owned(), count)]), "{kind}: {told:?}");
        assert!(told.iter().any(|line| line.contains(says)), "{kind}: {says} is not in {told:?}");
        assert_eq!(report["state"], "mismatch");
        let findings = report["validity"].as_array().expect("a report has findings");
        assert!(findings.iter().any(|finding| finding["id"] == "verify.mismatch"), "{findings:?}");
    }
}

#[test]
fn an_earlier_content_of_a_place_is_stale() {
    let bench = Bench::new();
    bench.write("job.toml", JOB);
    check_clean(&bench.fathom("run job.toml"));
    let old = std::fs::read(bench.path("file")).expect("it was written");
    let other = JOB.replace("passes = 1", "passes = 1\nseed = 2");
    bench.write("other.toml", &other);
    check_clean(&bench.fathom("run other.toml --overwrite"));
    let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
    bytes[12_288..16_384].copy_from_slice(&old[12_288..16_384]);
    bench.write("file", &bytes);
    bench.write("again.toml", other.replace("[stream.s]", "verify_only = true\n[stream.s]"));
    assert_eq!(bench.fathom("run again.toml --overwrite").code, 6);
    let (kinds, told) = found(&bench.report());
    assert_eq!(kinds, [("stale".to_owned(), 1)], "{told:?}");
    assert!(told[0].contains("offset 12288"), "{told:?}");
}

/// What an earlier run went over several times holds what it wrote last: the passes before cannot be asked for their own writes, and
/// the last one is.
#[test]
fn several_passes_are_checked_for_what_the_last_one_wrote() {
    let sequential = JOB.replace("access = \"random\"\ncoverage = \"once-per-pass\"\n", "");
    for (job, more) in [(JOB, ""), (&sequential, ""), (&sequential, "verify_backlog = 4")] {
        let bench = Bench::new();
        let twice = job.replace("passes = 1", "passes = 2");
        let twice = twice.replace("[stream.s]", &format!("{more}\n[stream.s]"));
        bench.write("once.toml", twice.replace("passes = 2", "passes = 1"));
        check_clean(&bench.fathom("run once.toml"));
        let earlier = std::fs::read(bench.path("file")).expect("it was written");
        bench.write("twice.toml", &twice);
        check_clean(&bench.fathom("run twice.toml --overwrite"));
        bench.write("again.toml", twice.replace("[stream.s]", "verify_only = true\n[stream.s]"));
        check_clean(&bench.fathom("run again.toml --overwrite"));
        // A block that the second pass lost.
        let last = std::fs::read(bench.path("file")).expect("it was written");
        let mut bytes = last.clone();
        bytes[12_288..16_384].copy_from_slice(&earlier[12_288..16_384]);
        bench.write("file", &bytes);
        assert_eq!(bench.fathom("run again.toml --overwrite").code, 6, "{more}");
        assert_eq!(found(&bench.report()).0, [("stale".to_owned(), 1)], "{more}");
        // Damage is told of every pass that reads it.
        bytes[12_288..16_384].copy_from_slice(&last[12_288..16_384]);
        bytes[13_000] ^= 1;
        bench.write("file", &bytes);
        assert_eq!(bench.fathom("run again.toml --overwrite").code, 6, "{more}");
        assert_eq!(found(&bench.report()).0, [("data".to_owned(), 2)], "{more}");
    }
}

/// What an earlier run wrote and is not there any more was lost: it is not made, which would hide it.
#[test]
fn what_is_checked_alone_is_never_made() {
    let bench = Bench::new();
    let job = JOB.replace("crc32c", "header");
    bench.write("job.toml", &job);
    bench.write("again.toml", job.replace("[stream.s]", "verify_only = true\n[stream.s]"));
    let refused = |says: &str| {
        for consent in ["", " --overwrite"] {
            bench.fathom(&format!("run again.toml{consent}")).expect(4, &[says, "without verify_only"]);
        }
    };
    refused("file does not exist, and what is missing of it cannot be checked");
    assert!(!bench.path("file").exists());
    check_clean(&bench.fathom("run job.toml"));
    check_clean(&bench.fathom("run again.toml"));
    let whole = std::fs::read(bench.path("file")).expect("it was written");
    bench.write("file", &whole[..60_000]);
    refused("file has 60000 B, less than the 64 KiB needed");
    assert_eq!(std::fs::metadata(bench.path("file")).expect("it is there").len(), 60_000);
    // Where another stage writes it before, it is made; whose writes those are, the other stream does not know.
    let checks = "[workload.c]\nread = \"0%\"\naccess = \"random\"\ncoverage = \"once-per-pass\"\nverify = \"header\"\n\
                  verify_only = true\n[stream.s]\nworkload = \"w\"";
    let stages = "[stream.t]\nworkload = \"c\"\nengine = \"psync\"\npasses = 1\ndirect = false\n\
                  [stage.write]\nstreams = [\"s\"]\n[stage.check]\nstreams = [\"t\"]\n";
    std::fs::remove_file(bench.path("file")).expect("it is there");
    bench.write("both.toml", job.replace("[stream.s]", checks) + stages);
    assert_eq!(bench.fathom("run both.toml").code, 6);
}

#[test]
fn workers_with_maps_of_their_own_keep_off_each_others_blocks() {
    let bench = Bench::new();
    let job = JOB.replace("once-per-pass", "map").replace("[stream.s]", "[stream.s]\nworkers = 4");
    bench.write("job.toml", job);
    for _ in 0..5 {
        check_clean(&bench.fathom("run job.toml --overwrite"));
        let checked = &bench.report()["steps"][0]["streams"][0]["verified"];
        assert_eq!(checked["checked"], 16, "{checked:#}");
    }
}

#[test]
fn fatal_stops_at_the_first_and_dump_keeps_what_was_found() {
    let all_wrong = |bytes: &mut Vec<u8>| bytes.chunks_mut(4096).for_each(|block| block[4095] ^= 1);
    let (_bench, code, report) = damaged(JOB, all_wrong);
    assert_eq!((code, found(&report).0), (6, vec![("data".to_owned(), 16)]));
    let fatal = JOB.replace("[stream.s]", "verify_fatal = true\nverify_dump = true\n[stream.s]");
    let (bench, code, report) = damaged(&fatal, all_wrong);
    assert_eq!((code, found(&report).0), (6, vec![("data".to_owned(), 1)]));
    let dumps: Vec<_> = bench
        .snapshot()
        .into_keys()
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.starts_with("file.") && (name.ends_with(".received") || name.ends_with(".expected"))
        })
        .collect();
    let [expected, received] = &dumps[..] else { panic!("{dumps:?}") };
    let taken = received;
    let (expected, received) = (std::fs::read(expected).unwrap(), std::fs::read(received).unwrap());
    let differs: Vec<usize> = (0..4096).filter(|&at| expected[at] != received[at]).collect();
    assert_eq!(differs, [4095]);
    // Whatever has a dump's name by then stays as it is.
    std::fs::write(taken, "somebody's").unwrap();
    assert_eq!(bench.fathom("run job.toml --overwrite").code, 0);
    let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
    all_wrong(&mut bytes);
    bench.write("file", &bytes);
    bench.write("again.toml", fatal.replace("verify_fatal", "verify_only = true\nverify_fatal"));
    assert_eq!(bench.fathom("run again.toml --overwrite").code, 6);
    assert_eq!(std::fs::read_to_string(taken).unwrap(), "somebody's");
    let next = std::fs::read(format!("{}.1", taken.display())).unwrap();
    assert!(bytes.chunks(4096).any(|block| block == next), "the new dump has a number");
}

#[test]
fn as_with_the_peer_a_job_ends_at_the_first_bad_block_unless_it_is_to_go_on() {
    for (options, code, reads) in [("", 1, 2), ("--continue_on_error=verify", 0, 64)] {
        let bench = Bench::new();
        assert_eq!(on_file(&bench, OURS, "--rw=write --bs=4k --verify=crc32c").0, 0);
        let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
        (bytes[5000], bytes[20_000]) = (!bytes[5000], !bytes[20_000]);
        bench.write("file", &bytes);
        let line = format!("--output-format=json --rw=read --bs=4k --verify=crc32c {options}");
        let (found, said) = on_file(&bench, OURS, line.trim_end());
        assert_eq!(found, code, "{options}: {said}");
        let line = |start: &str| said.lines().filter(|line| line.starts_with(start)).count();
        assert!(line("crc32c: verify failed at file file offset 4096") > 0, "{said}");
        assert_eq!(line("       Received CRC: "), line("crc32c: "), "{said}");
        assert_eq!(line("fio: pid="), usize::from(code != 0), "{said}");
        let text = std::fs::read_to_string(bench.path("out")).expect("it was written");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        let job = &document["jobs"][0];
        assert_eq!(
            (job["error"].as_u64(), job["read"]["total_ios"].as_u64()),
            (Some(84), Some(reads)),
            "{options}"
        );
        if code == 0 {
            assert_eq!((job["total_err"].as_u64(), job["first_error"].as_u64()), (Some(2), Some(84)));
        }
    }
}

/// What is wrong in a header is told and kept as the peer does it: no flags, and a file of another name.
#[test]
fn damaged_headers_are_told_and_kept_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("damaged_headers_are_told_and_kept_as_by_the_peer", &why);
    }
    // Magic, checksum of the header, data; and parts of what one operation reads.
    let (whole, part, meta) = ("crc32c", "crc64 --verify_interval=512", "md5 --verify_interval=1k");
    for (at, verify) in
        [(4096, whole), (4106, whole), (6000, whole), (5000, part), (4608, part), (5200, meta), (5130, meta)]
    {
        let told = |checker: &[&str]| {
            let bench = Bench::new();
            let writes = format!("--rw=write --bs=4k --verify={verify} --do_verify=0");
            assert_eq!(on_file(&bench, PEER, &writes).0, 0);
            let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
            bytes[at] = !bytes[at];
            bench.write("file", &bytes);
            let reads = format!("--rw=read --bs=4k --verify={verify} --verify_dump=1");
            let (code, said) = on_file(&bench, checker, &reads);
            let told =
                said.lines().find(|line| line.contains("at file file")).expect("it is told").to_owned();
            // What is found in a header is made by chance.
            let place = told.split_once(" at file ").expect("it has a place").1.to_owned();
            let begins: String = told.chars().take(16).collect();
            let name = |path: PathBuf| path.file_name().expect("it has one").to_string_lossy().into_owned();
            let kept = bench.snapshot().into_iter().map(|(path, (size, ..))| (name(path), size));
            // fathom cannot know what the peer had written.
            let kept: Vec<(String, u64)> =
                kept.filter(|(name, _)| name.starts_with("file.") && !name.ends_with(".expected")).collect();
            let is_told = |line: &&str| line.contains(" data dumped as ") && !line.contains("expected");
            let dumped: Vec<String> = said.lines().filter(is_told).map(str::to_owned).collect();
            assert_eq!(dumped.len(), 1, "{said}");
            (code, (begins, place, kept, dumped))
        };
        let (ours, theirs) = (told(OURS), told(PEER));
        assert_eq!(ours.1, theirs.1, "damaged at {at} with {verify}");
        // The peer forgets data that is wrong where what follows it in the block is right.
        assert_eq!(ours.0, 1, "at {at} with {verify}");
        assert!(verify != whole || theirs.0 == 1, "at {at} with {verify}");
    }
}

/// What a pattern should have been is known whoever wrote it, and kept as the peer keeps it.
#[test]
fn what_a_pattern_should_have_been_is_kept_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_a_pattern_should_have_been_is_kept_as_by_the_peer", &why);
    }
    for pattern in ["0xdeadbeef", "%o", "\"ab\"%o"] {
        let kept = |checker: &[&str]| {
            let bench = Bench::new();
            let verify = format!("--bs=4k --verify=pattern --verify_pattern={pattern}");
            let writes = format!("--rw=write {verify} --do_verify=0");
            assert_eq!(on_file(&bench, PEER, &writes).0, 0);
            let mut bytes = std::fs::read(bench.path("file")).expect("it was written");
            bytes[5000] = !bytes[5000];
            bench.write("file", &bytes);
            assert_eq!(on_file(&bench, checker, &format!("--rw=read {verify} --verify_dump=1")).0, 1);
            ["received", "expected"]
                .map(|what| std::fs::read(bench.path(&format!("file.4096.{what}"))).expect("it was kept"))
        };
        assert!(kept(OURS) == kept(PEER), "{pattern}");
    }
}

/// A job that loads the state of an earlier run leaves its own in its place, as the peer's does.
#[test]
fn a_state_that_was_loaded_is_left_anew() {
    let bench = Bench::new();
    let line = "fio --name=a --filename=f --rw=write --bs=4k --size=1m --verify=md5 --output=out";
    bench.fathom(line).expect(0, &[]);
    let state = bench.path("local-a-0-verify.state");
    let whole = std::fs::read(&state).expect("it was left");
    // One that says less is there: that of all writes takes its place.
    bench.fathom(&format!("{line} --number_ios=16")).expect(0, &[]);
    let less = std::fs::read(&state).expect("it was left");
    assert_ne!(less, whole);
    let ended = bench.fathom(&format!("{line} --verify_state_load=1"));
    assert_eq!((ended.code, &*ended.err), (0, ""), "nothing is said of it");
    assert_eq!(std::fs::read(&state).expect("it was left"), whole);
}

/// What was read back in between counts for nothing where a state says how much there is to check.
#[test]
fn all_that_a_state_tells_of_is_checked_beside_a_backlog() {
    for backlog in [
        "--verify_backlog=50",
        "--verify_backlog=1",
        "--verify_backlog=64 --verify_backlog_batch=8",
        "--verify_backlog=7 --rw=randrw",
    ] {
        let bench = Bench::new();
        let line = format!(
            "fio --name=a --filename=f --size=8m --bs=64k --rw=write --verify=crc32c {backlog} --output-format=json"
        );
        let written = bench.fathom(&format!("{line} --write_iolog=log")).expect(0, &[]).json();
        let written = written["jobs"][0]["write"]["total_ios"].clone();
        let checking = format!("{line} --verify_only --verify_state_load=1 --verify_state_save=0");
        let read = bench.fathom(&checking).expect(0, &[]).json()["jobs"][0]["read"]["total_ios"].clone();
        assert_eq!(read, written, "{backlog}");
        // The block of the last write: all are looked at.
        let log = std::fs::read_to_string(bench.path("log")).expect("it was asked for");
        let last = log
            .lines()
            .filter_map(|line| line.split_once(" write "))
            .next_back()
            .expect("something was written")
            .1;
        let offset: usize = last.split(' ').next().and_then(|word| word.parse().ok()).expect("an offset");
        let mut content = std::fs::read(bench.path("f")).expect("it was written");
        content[offset + 5000] ^= 1;
        bench.write("f", content);
        bench.fathom(&checking).expect(1, &["verify failed"]);
    }
}

/// The peer draws places and sizes otherwise: what it wrote would be told to be lost.
#[test]
fn a_state_of_the_peer_that_tells_of_draws_is_not_taken() {
    if let Err(why) = tool(PEER[0], &["--version"]) {
        return skip("a_state_of_the_peer_that_tells_of_draws_is_not_taken", &why);
    }
    for (options, is_taken) in [
        ("--rw=randwrite --bs=8k", false),
        ("--rw=write --bsrange=4k-16k", false),
        ("--rw=write --bs=8k", true),
    ] {
        let bench = Bench::new();
        let line = format!("--name=a --filename=f --size=1m --verify=md5 --number_ios=40 {options}");
        let peers = format!("{line} --do_verify=0 --output=o");
        bench.run(&[PEER, &peers.split(' ').collect::<Vec<_>>()].concat()).expect(0, &[]);
        let ended = bench.fathom(&format!("fio {line} --verify_only --verify_state_load=1"));
        if is_taken {
            ended.expect(0, &[]);
        } else {
            ended.expect(1, &["local-a-0-verify.state is of fio", "check it with fio"]);
        }
    }
}

/// Of the last writes those are checked that the peer's state lists: damage there does not pass.
#[test]
fn the_last_writes_of_a_state_of_the_peer_are_checked() {
    if !has_peer("the_last_writes_of_a_state_of_the_peer_are_checked") {
        return;
    }
    for depth in [1_usize, 4, 16] {
        let bench = Bench::new();
        let line = format!(
            "--name=a --filename=f --rw=write --bs=4k --size=64k --verify=md5 --ioengine=libaio --iodepth={depth}"
        );
        let peers = format!("{line} --do_verify=0 --output=o");
        bench.run(&[PEER, &peers.split(' ').collect::<Vec<_>>()].concat()).expect(0, &[]);
        let checking = format!("fio {line} --verify_only --verify_state_load=1 --output-format=json");
        let ended = bench.fathom(&checking);
        assert_eq!(ended.expect(0, &[]).json()["jobs"][0]["read"]["total_ios"], 16, "{depth}");
        let mut content = std::fs::read(bench.path("f")).expect("it was written");
        content[61_000] ^= 1;
        bench.write("f", content);
        bench.fathom(&checking).expect(1, &["verify failed", "57344"]);
    }
}

/// Whoever leaves the kind of verification out wants to look at what there is, and would lose it to a write.
#[test]
fn verify_only_never_writes() {
    let sound = vec![b'A'; 256 << 10];
    for options in [
        "--rw=write",
        "--rw=randwrite --verify=0",
        "--rw=rw --fsync=2 --loops=2",
        "--rw=write --ioengine=libaio --iodepth=4",
        "--rw=write --verify=null",
        "--rw=write --verify=md5 --do_verify=0",
        // What only reads is left alone.
        "--rw=randread --latency_target=10s --latency_window=100ms",
    ] {
        let bench = Bench::new();
        bench.write("f", &sound);
        let line = format!("fio --name=a --filename=f --size=256k --verify_only {options}");
        bench.fathom(&line).expect(0, &[]);
        assert_eq!(std::fs::read(bench.path("f")).expect("it is there"), sound, "{options}");
    }
    let bench = Bench::new();
    bench.write("f", &sound);
    bench.write(
        "j.toml",
        "[target.f]\npath = \"f\"\n[workload.w]\nread = \"0%\"\nverify_only = true\n[stream.s]\n[stage.m]\ntime = \"1s\"\n",
    );
    bench
        .fathom("run j.toml --overwrite")
        .expect(2, &["is only to verify, and does not say how", "verify = \"crc32c\""]);
    assert_eq!(std::fs::read(bench.path("f")).expect("it is there"), sound);
}
