//! `write_iolog` and `read_iolog` beside fio's own: the same operations in the same order where a job or a trace says it,
//! the same set where it is drawn. Skipped aloud where fio is missing.

use crate::sequences::{Alike, check_with, tools_are_missing};
use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

/// Name, action, first byte and bytes of each line, the times left out; whether `open` and `close` come is up to the tool.
fn lines(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').skip(1).collect();
        match fields.as_slice() {
            [_, "open" | "close"] => None,
            // fio says where the operation before it was, and not its range.
            [name, "sync_file_range", ..] => Some(format!("{name} sync_file_range")),
            _ => Some(fields.join(" ")),
        }
    };
    text.lines().filter_map(line).collect()
}

/// What `program` logs of this job in an empty folder.
fn logged(bench: &Bench, program: &[&str], job: &str) -> Vec<String> {
    for path in bench.snapshot().into_keys() {
        std::fs::remove_file(path).expect("the folder is ours");
    }
    let words = format!("--name=a --minimal --write_iolog=ops {job}");
    let ended = bench.run(&[program, &words.split(' ').collect::<Vec<_>>()].concat());
    assert_eq!(ended.code, 0, "{program:?} {words}: {}", ended.err);
    let text = std::fs::read_to_string(bench.path("ops")).expect("it was written");
    assert!(text.starts_with("fio version 3 iolog\n"), "{text}");
    let mut lines = lines(&text);
    if job.contains("end_fsync") || job.contains("fsync_on_close") {
        // That at the end has no place here, and that of the operation before it in fio's.
        for line in &mut lines {
            if let Some((before, _)) = line.split_once(" sync ") {
                *line = format!("{before} sync");
            }
        }
    }
    lines
}

#[test]
fn logs_of_what_is_issued_say_the_same_operations() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("logs_of_what_is_issued_say_the_same_operations", &why);
    }
    let bench = Bench::new();
    for (job, is_drawn) in [
        ("--rw=write --size=64k", false),
        ("--rw=read --size=64k --bs=16k --loops=2", false),
        // Those of the ramp are among the job's.
        ("--rw=write --size=64k --rate_iops=100 --ramp_time=50ms", false),
        ("--rw=read:8k --size=128k", false),
        ("--rw=write --size=64k --fsync=3 --fdatasync=5", false),
        ("--rw=write --size=64k --sync_file_range=write:4", false),
        ("--rw=write --size=64k --fsync=5 --end_fsync=1", false),
        // What is left is less than a block: the last operation was a sync already.
        ("--rw=write --size=100k --bs=8k --fsync=4 --end_fsync=1", false),
        ("--rw=write --size=100k --bs=8k --fsync=4 --fsync_on_close=1", false),
        ("--rw=write --size=64k --bs=8k --fsync=8 --end_fsync=1", false),
        ("--rw=write --size=64k --nrfiles=2 --fsync_on_close=1", false),
        ("--rw=read --size=64k --end_fsync=1", false),
        ("--rw=write --size=64k --verify=md5 --end_fsync=1", false),
        ("--rw=read --size=256k --zonemode=strided --zonesize=8k --zonerange=32k --zoneskip=16k", false),
        ("--rw=read --nrfiles=4 --size=64k --file_service_type=sequential", false),
        ("--rw=write --nrfiles=4 --size=64k", false),
        ("--rw=write --size=256k --ioengine=libaio --iodepth=8", false),
        ("--rw=write --size=64k --bs=8k --verify=crc32c", false),
        ("--rw=randread --size=256k", true),
        ("--rw=randwrite --size=256k --ioengine=libaio --iodepth=16 --bs=4k", true),
        ("--rw=randread --size=256k --bsrange=4k-16k --number_ios=0 --filename=x:y", true),
    ] {
        let (mut theirs, mut ours) = (logged(&bench, &["fio"], job), logged(&bench, &[FATHOM, "fio"], job));
        if is_drawn {
            theirs.sort();
            ours.sort();
        }
        if job.contains("bsrange") {
            // Sizes are drawn too: the bytes are the same.
            let bytes = |lines: &[String]| {
                let length =
                    |line: &String| line.rsplit(' ').next().and_then(|word| word.parse::<u64>().ok());
                lines.iter().filter_map(length).sum::<u64>()
            };
            assert_eq!(bytes(&ours), bytes(&theirs), "{job}");
        } else {
            assert_eq!(ours, theirs, "{job}");
        }
    }
}

#[test]
fn clones_add_to_one_file_each_with_a_first_line() {
    let bench = Bench::new();
    let line = "fio --minimal --name=a --rw=write --size=8k --numjobs=2 --group_reporting --write_iolog=ops";
    bench.write("ops", "what was there\n");
    bench.fathom(line).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("ops")).expect("it is there");
    assert!(text.starts_with("what was there\n"), "{text}");
    assert_eq!(text.matches("fio version 3 iolog\n").count(), 2, "{text}");
    for file in ["a.0.0", "a.1.0"] {
        for action in ["add\n", "open\n", "write 0 4096\n", "write 4096 4096\n", "close\n"] {
            assert_eq!(text.matches(&format!(" {file} {action}")).count(), 1, "{action}: {text}");
        }
    }
}

#[test]
fn no_target_becomes_a_log() {
    let bench = Bench::new();
    // One that cannot be written is told before the run, as by fio, and not after it.
    let nowhere = "fio --name=a --ioengine=null --size=64k --write_iolog=nowhere/log";
    bench.check_refused(nowhere, 1, &["nowhere/log", "does not exist"]);
    for line in [
        "fio --name=a --rw=write --size=8k --filename=x --write_iolog=x",
        "fio --name=a --rw=write --size=8k --filename=x --write_iolog=./x",
        "fio job --write_iolog=job",
    ] {
        bench.write("job", "[a]\nrw=write\nsize=8k\nfilename=x\nwrite_iolog=job\n");
        bench.write("x", "kept");
        let ended = bench.fathom(line);
        assert_eq!(ended.code, 1, "{line}: {}", ended.err);
        assert!(ended.err.contains("name another file"), "{line}: {}", ended.err);
        assert_eq!(std::fs::read_to_string(bench.path("x")).expect("it is there"), "kept", "{line}");
    }
}

#[test]
fn no_target_of_a_later_replay_becomes_an_output() {
    let bench = Bench::new();
    let job = "[a]\nrw=write\nsize=8k\nfilename=x\nwrite_iolog=ops\n\
               [b]\nstonewall\nread_iolog=ops\nreplay_redirect=kept\n";
    for (name, text, output) in [
        ("target", job.to_owned(), "kept"),
        ("first", job.replace("filename=x\n", "filename=x\nwrite_bw_log=kept\nper_job_logs=0\n"), "out"),
        (
            "later",
            format!("{job}write_bw_log=x\nper_job_logs=0\n").replace("filename=x\n", "filename=x_bw.log\n"),
            "out",
        ),
    ] {
        let text = if name == "first" { text.replace("redirect=kept", "redirect=kept_bw.log") } else { text };
        let kept = if name == "first" { "kept_bw.log" } else { "kept" };
        bench.write("job", text);
        bench.write(kept, "kept");
        let ended = bench.fathom(&format!("fio job --output={output}"));
        assert_eq!(ended.code, 1, "{name}: {}", ended.err);
        assert!(ended.err.contains("name another file"), "{name}: {}", ended.err);
        assert_eq!(std::fs::read_to_string(bench.path(kept)).expect("it is there"), "kept", "{name}");
        assert!(!bench.path("ops").exists() && !bench.path("x").exists(), "{name}: nothing ran");
    }
}

/// Reads, writes and syncs of two files, over 40 ms.
const TRACE: &str = "fio version 3 iolog\n5 x add\n6 y add\n7 x open\n8 y open\n10 x read 0 4096\n12 y write 8192 4096\n\
                     10012 x write 16384 8192\n10015 x sync 0 0\n20015 y datasync 0 0\n20020 x read 1000 3000\n\
                     40020 y write 0 8192\n40020 x close\n40020 y close\n";

/// The same in version 2, which waits until so many milliseconds after the start.
const WAITING: &str = "fio version 2 iolog\nx add\nx open\nx read 0 4096\nx wait 20 0\nx write 8192 4096\n\
                       x wait 40 0\nx sync 0 0\nx read 4096 512\nx close\n";

/// One event of a binary trace, as blktrace writes it: time, sector, bytes, action and categories.
fn event((time_ns, sector, bytes, action): (u64, u64, u32, u32)) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend(0x6561_7407_u32.to_le_bytes());
    out.extend(1_u32.to_le_bytes());
    out.extend(time_ns.to_le_bytes());
    out.extend(sector.to_le_bytes());
    // Bytes, action, process, device 240:5, CPU, then error and bytes that follow.
    for word in [bytes, action, 1, 240 << 20 | 5, 0, 0] {
        out.extend(word.to_le_bytes());
    }
    out
}

/// A binary trace of reads, writes, a flush, and what is no request.
fn binary() -> Vec<u8> {
    const QUEUED: u32 = 1;
    let (read, write, flush, notify) = (1 << 16, 1 << 17, 1 << 18, 1 << 26);
    let events = [
        (0, 0, 0, notify),
        (1_000_000_000, 8, 4096, QUEUED | read),
        (1_005_000_000, 16, 4096, QUEUED | write),
        (1_005_000_000, 16, 512, 7 | write),
        (1_010_000_000, 24, 8192, QUEUED | write),
        (1_010_000_000, 0, 0, QUEUED | flush | write),
        (1_011_000_000, 3, 1024, QUEUED | read),
    ];
    events.into_iter().flat_map(event).collect()
}

#[test]
fn traces_are_replayed_as_fio_does() {
    if tools_are_missing("traces_are_replayed_as_fio_does") {
        return;
    }
    let binary = binary();
    let faulty = TRACE.replace("10012 ", "nonsense\n10000 x lick 0 1\n10000 x read 0\n10012 ");
    // A wait without a length is none.
    let endless =
        WAITING.replace("version 2 iolog\n", "version 2 iolog\nx wait 99999999\nx wait 99999999 x\n");
    let files: [(&str, &[u8]); 5] = [
        ("t", TRACE.as_bytes()),
        ("u", WAITING.as_bytes()),
        ("b", &binary),
        ("f", faulty.as_bytes()),
        ("e", endless.as_bytes()),
    ];
    for arguments in [
        "--read_iolog=t",
        "--read_iolog=t --replay_no_stall=1",
        "--read_iolog=t --replay_time_scale=400",
        "--read_iolog=t --replay_redirect=x",
        "--read_iolog=t --replay_scale=2 --replay_align=4096",
        "--read_iolog=u",
        "--read_iolog=u --replay_no_stall=1",
        "--read_iolog=e",
        "--read_iolog=f --replay_no_stall=1",
        "--read_iolog=t --rw=randwrite --bs=64k --size=1m --loops=3 --filename=z",
        "--read_iolog=b --replay_redirect=x",
        "--read_iolog=b --replay_redirect=x --replay_align=4096",
        "--read_iolog=b --replay_redirect=x --replay_skip=write,sync",
        "--read_iolog=t:u --numjobs=2 --stonewall",
    ] {
        // Of two that run at once, strace shows no order, and some calls in two lines.
        let alike = if arguments.contains("numjobs") { Alike::Counts } else { Alike::Sequence };
        check_with(arguments, 65_536, &files, alike);
    }
}

/// fio's document of a replay.
fn document(bench: &Bench, arguments: &str) -> Value {
    bench.write("x", vec![7; 65_536]);
    let ended = bench.fathom(&format!("fio --name=a --output-format=json {arguments}"));
    ended.expect(0, &[]).json()
}

#[test]
fn a_replay_takes_the_time_that_its_trace_says() {
    let bench = Bench::new();
    bench.write("t", TRACE);
    bench.write("u", WAITING);
    for (arguments, at_least_ms) in [
        ("--read_iolog=t", 40),
        ("--read_iolog=t --replay_time_scale=50", 80),
        ("--read_iolog=t --ioengine=libaio --iodepth=4", 40),
        ("--read_iolog=u", 40),
    ] {
        let document = document(&bench, arguments);
        let job = &document["jobs"][0];
        let took = job["job_runtime"].as_u64().expect("a time");
        assert!(took >= at_least_ms, "{arguments}: {took} ms");
        let count = |of: &str| job[of]["total_ios"].as_u64().expect("a count");
        let expect = if arguments.contains("=u") { (2, 1, 1) } else { (2, 3, 1) };
        assert_eq!((count("read"), count("write"), count("sync")), expect, "{arguments}");
    }
}

#[test]
fn a_log_that_was_written_is_replayed() {
    let bench = Bench::new();
    let line =
        "fio --name=a --rw=randrw --size=256k --bs=4k --fsync=8 --write_iolog=ops --output-format=json";
    let written = bench.fathom(line).expect(0, &[]).json();
    let line = "fio --name=b --read_iolog=ops --replay_no_stall=1 --output-format=json";
    let replayed = bench.fathom(line).expect(0, &[]).json();
    for (kind, key) in
        [("read", "total_ios"), ("read", "io_bytes"), ("write", "io_bytes"), ("sync", "total_ios")]
    {
        let of = |document: &Value| document["jobs"][0][kind][key].as_u64();
        assert_eq!(of(&replayed), of(&written), "{kind}/{key}");
    }
}

/// fio 3.33 leaves trims of its own logs out, newer versions carry them out; fathom does so where the content may be lost.
#[test]
fn trims_of_logs_are_carried_out_with_consent() {
    let bench = Bench::new();
    let rest = |stamp: &str| {
        ["add", "open", "read 0 4096", "trim 4096 4096", "close"]
            .map(|line| format!("{stamp}x {line}\n"))
            .concat()
    };
    bench.write("two", format!("fio version 2 iolog\n{}", rest("")));
    bench.write("three", format!("fio version 3 iolog\n{}", rest("1 ")));
    bench.write("x", vec![7; 65_536]);
    for log in ["two", "three"] {
        let line = format!("fio --name=a --read_iolog={log} --output-format=json");
        bench.check_refused(&line, 1, &["x: holds 64 KiB that fathom did not write", "--overwrite"]);
    }
    if let Err(why) = tool("fio", &["--version"]) {
        skip("trims_of_logs_are_carried_out_with_consent", &why);
    } else {
        let line = ["fio", "--name=a", "--read_iolog=two", "--minimal"];
        bench.run(&line).expect(0, &["bad ddir: 2"]);
    }
    let line = "fio --name=a --read_iolog=two --output-format=json --overwrite";
    let document = bench.fathom(line).expect(0, &[]).json();
    let job = &document["jobs"][0];
    assert_eq!(
        (&job["read"]["total_ios"], &job["trim"]["total_ios"]),
        (&1.into(), &1.into()),
        "{document:#}"
    );
}

#[test]
fn a_trace_comes_on_standard_input() {
    let bench = Bench::new();
    bench.write("x", vec![7; 65_536]);
    let command =
        [FATHOM, "fio", "--name=a", "--read_iolog=-", "--replay_no_stall=1", "--output-format=json"];
    let document = bench.run_with_input(&command, TRACE.as_bytes()).expect(0, &[]).json();
    assert_eq!(document["jobs"][0]["write"]["io_bytes"].as_u64(), Some(4096 + 8192 + 8192));
}

#[test]
fn a_native_job_replays_a_trace_too() {
    let bench = Bench::new();
    bench.write("t", TRACE);
    let job = "[target.disk]\nkind = \"sim\"\nsize = \"1MiB\"\n[stream.a]\ntrace = \"t\"\ntargets = [\"disk\"]\nqueue_depth = 4\n";
    bench.write("job.toml", job);
    let document = bench.fathom("run job.toml --quiet --json -").expect(0, &[]).json();
    let text = document.to_string();
    assert!(text.contains("20480"), "12 KiB and 8 KiB are written: {text}");
    // Its own files, which are made where they are not there and only written.
    bench.write("x", vec![7; 65_536]);
    bench.write("job.toml", "[stream.a]\ntrace = \"t\"\ntrace_timed = false\ndirect = false\n");
    let refused = bench.fathom("run job.toml --quiet");
    assert_eq!(refused.code, 3, "x is someone else's and written: {}", refused.err);
    let ended = bench.fathom("run job.toml --quiet --overwrite");
    ended.expect(0, &[]);
    assert!(!ended.err.contains("reads-unwritten"), "{}", ended.err);
    assert_eq!(std::fs::metadata(bench.path("y")).expect("it was made").len(), 12_288);
    // A file that is only read is opened for nothing else.
    bench.write("only", vec![7; 65_536]);
    bench.write("t", "fio version 2 iolog\nonly read 0 4096\ny write 0 4096\n");
    bench.fathom("run job.toml --quiet").expect(0, &[]);
}

#[test]
fn what_cannot_be_replayed_is_refused_by_name() {
    let bench = Bench::new();
    bench.write("t", TRACE);
    bench.write("e", "fio version 3 iolog\n1 x add\n");
    bench.write("b", binary());
    bench.write("x", vec![7; 65_536]);
    for (arguments, expect) in [
        ("--read_iolog=nothere", "nothere cannot be replayed"),
        ("--read_iolog=e", "no read, write or trim"),
        ("--read_iolog=x", "its first line is"),
        ("--read_iolog=b", "the device 240:5, which is not here"),
        ("--read_iolog=t --verify=crc32c", "is not verified"),
        ("--read_iolog=t --rate_iops=100", "has rate"),
        ("--read_iolog=t --thinktime=1000", "think_time"),
        ("--read_iolog=t --ramp_time=1", "leave ramp out"),
        ("--read_iolog=t --replay_skip=flush", "is not read, write, trim or sync"),
        ("--read_iolog=t --replay_align=3000", "no power of two"),
        ("--read_iolog=t --merge_blktrace_file=m", "merge the traces with fio"),
    ] {
        let ended = bench.fathom(&format!("fio --name=a {arguments}"));
        assert_eq!(ended.code, 1, "{arguments}: {}", ended.err);
        assert!(ended.err.contains(expect), "{arguments}: {}", ended.err);
    }
    assert!(!bench.path("y").exists(), "nothing was made");
    let ended = bench.fathom("fio --name=a --read_iolog=t --rw=write --bs=8k --replay_no_stall=1");
    assert!(ended.expect(0, &[]).out.contains("rw and bs have no effect"), "{ended:#?}");
}

/// A trace of production is replayed without harm: what writes is left out.
#[test]
fn only_reads_of_a_trace_are_replayed_where_nothing_may_be_written() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("only_reads_of_a_trace_are_replayed_where_nothing_may_be_written", &why);
    }
    let bench = Bench::new();
    bench.write(
        "trace",
        "fio version 2 iolog\nf add\nf open\nf write 0 4096\nf read 4096 4096\nf read 0 8192\nf close\n",
    );
    bench.write("f", vec![b'Q'; 1 << 20]);
    let before = bench.snapshot();
    let [theirs, ours] = [&["fio"][..], &[FATHOM, "fio"]].map(|program| {
        let line = ["--readonly", "--name=a", "--read_iolog=trace", "--output-format=json"];
        let ended = bench.run(&[program, &line].concat());
        ended.expect(0, &[]);
        let document: Value =
            serde_json::from_str(&ended.out[ended.out.find('{').expect("a document")..]).expect("JSON");
        ["read", "write"].map(|kind| document["jobs"][0][kind]["io_bytes"].clone())
    });
    assert_eq!(ours, theirs);
    assert_eq!(ours, [12_288, 0]);
    let after = bench.snapshot();
    assert!(before.iter().all(|(path, found)| after.get(path) == Some(found)), "nothing was written to");
}

/// What can be read once alone is looked at and replayed all the same, by two jobs too.
#[test]
fn traces_come_through_pipes_and_from_sockets() {
    let trace = "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf read 8192 4096\nf close\n";
    let bench = Bench::new();
    bench.write("f", vec![b'Q'; 1 << 20]);
    bench.write("trace", trace);
    let reads = |ended: &crate::support::Ended| {
        let document = ended.expect(0, &[]).json();
        let jobs = document["jobs"].as_array().expect("a list").iter();
        jobs.map(|job| job["read"]["total_ios"].as_u64()).collect::<Vec<_>>()
    };
    let jobs = "--output-format=json --name=a --read_iolog=there --name=b --read_iolog=there";
    let script =
        format!("mkfifo there && cat trace > there & while [ ! -p there ]; do :; done; \"$0\" fio {jobs}");
    assert_eq!(reads(&bench.run(&["bash", "-c", &script, FATHOM])), [Some(2), Some(2)], "a pipe");
    std::fs::remove_file(bench.path("there")).expect("it was made");
    let listener = std::os::unix::net::UnixListener::bind(bench.path("there")).expect("the name is short");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody connects");
        std::io::Write::write_all(&mut stream, trace.as_bytes()).expect("it is read");
    });
    assert_eq!(reads(&bench.fathom(&format!("fio {jobs}"))), [Some(2), Some(2)], "a socket");
    server.join().expect("it was asked once");
}
