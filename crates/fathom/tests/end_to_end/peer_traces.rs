//! `write_iolog` beside fio's own: the same operations in the same order where a job says it, the same set where it is
//! drawn. Skipped aloud where fio is missing.

use crate::support::{Bench, FATHOM, skip, tool};

/// Name, action, first byte and bytes of each line, the times left out; whether `open` and `close` come is up to the tool.
fn lines(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').skip(1).collect();
        match fields.as_slice() {
            [_, "open" | "close"] => None,
            // fio says where the operation before a sync was.
            [name, action @ ("sync" | "datasync" | "sync_file_range"), ..] => {
                Some(format!("{name} {action}"))
            }
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
    lines(&text)
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
        ("--rw=read:8k --size=128k", false),
        ("--rw=write --size=64k --fsync=3 --fdatasync=5", false),
        ("--rw=write --size=64k --sync_file_range=write:4", false),
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
