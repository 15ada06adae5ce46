//! Engines that work on the names of files and folders: what they make, ask about and remove, and what they leave alone.
//! Their counts are compared with the peer's where it is installed and has the engine.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

/// I/Os, bytes and timed calls of each job, and what it left in the folder.
fn figures(program: &[&str], rest: &str) -> (Vec<[u64; 3]>, Vec<String>) {
    let bench = Bench::new();
    bench.write("job.fio", format!("[a]\n{rest}"));
    bench.run(&[program, &["--output-format=json", "--output=out.json", "job.fio"]].concat()).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    let document: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let count = |job: &Value, path: &[&str]| -> u64 {
        let of = |direction: &&str| {
            path.iter().fold(&job[*direction], |value, key| &value[*key]).as_u64().unwrap_or(0)
        };
        ["read", "write", "trim"].iter().map(of).sum()
    };
    let of_job = |job: &Value| {
        assert_eq!(count(job, &["lat_ns", "N"]), 0, "I/Os that do nothing have no latency: {text}");
        [count(job, &["total_ios"]), count(job, &["io_bytes"]), count(job, &["clat_ns", "N"])]
    };
    let figures = document["jobs"].as_array().expect("a document has jobs").iter().map(of_job).collect();
    let name = |path: std::path::PathBuf| {
        let length = std::fs::metadata(&path).expect("it is there").len();
        format!("{} {length}", path.file_name().expect("files have names").to_string_lossy())
    };
    let left = bench.snapshot().into_keys().map(name).filter(|name| !name.contains(".json "));
    (figures, left.collect())
}

#[test]
fn calls_on_files_are_counted_and_leave_what_the_peers_do() {
    for rest in [
        "ioengine=filecreate\nnrfiles=20\nfilesize=4k\n",
        "ioengine=filecreate\nnrfiles=10\n",
        "ioengine=filecreate\nnrfiles=10\nsize=1m\nrw=randwrite\nloops=2\n",
        "ioengine=filecreate\nfilename=one:two\nfilesize=64k\nnumjobs=2\nunlink=1\n",
        "ioengine=filestat\nnrfiles=10\nfilesize=64k\nloops=3\n",
        "ioengine=filestat\nnrfiles=10\nfilesize=4k\nsize=20k\nrw=randread\nstat_type=lstat\n",
        "ioengine=filestat\nnrfiles=10\nfilesize=4k\nbs=3k\nio_size=60k\nstat_type=statx\n",
        "ioengine=filestat\nnrfiles=10\nfilesize=4k\nnumber_ios=5\nnumjobs=2\ngroup_reporting\n",
        "ioengine=filedelete\nnrfiles=10\nfilesize=16k\nnumjobs=2\n",
        "ioengine=filedelete\nnrfiles=5\nfilesize=8k\nrw=write\nfile_service_type=sequential\n",
    ] {
        let ours = figures(&[FATHOM, "fio"], rest);
        match tool("fio", &["--version"]) {
            Ok(_) => assert_eq!(ours, figures(&["fio"], rest), "{rest}"),
            Err(why) => {
                return skip("calls_on_files_are_counted_and_leave_what_the_peers_do", &why);
            }
        }
    }
}

/// fio 3.33 does not have these engines; those after it count like those of files.
#[test]
fn folders_are_made_asked_about_and_removed() {
    let files = "nrfiles=10\nfilesize=16k\n";
    let (made, asked) = ([40, 40 << 12, 10], [80, 80 << 12, 20]);
    for (rest, expect, left) in [
        ("ioengine=dircreate\n", vec![made], 11),
        ("ioengine=dircreate\nunlink=1\n", vec![made], 1),
        ("ioengine=dirstat\nloops=2\nstat_type=statx\n", vec![asked], 11),
        ("ioengine=dirdelete\n", vec![made], 1),
        (
            "ioengine=dircreate\nfilename_format=f.$filenum\n[b]\nstonewall\nioengine=dirdelete\nfilename_format=f.$filenum\n",
            vec![made, made],
            1,
        ),
    ] {
        let bench = Bench::new();
        bench.write("job.fio", format!("[global]\n{files}[a]\n{rest}"));
        let ended = bench.fathom("fio --output-format=json job.fio");
        let document = ended.expect(0, &[]).json();
        let figure = |job: &Value| {
            let read = &job["read"];
            [&read["total_ios"], &read["io_bytes"], &read["clat_ns"]["N"]]
                .map(|n| n.as_u64().expect("a count"))
        };
        let found: Vec<_> = document["jobs"].as_array().expect("jobs").iter().map(figure).collect();
        assert_eq!(found, expect, "{rest}");
        let entries = std::fs::read_dir(bench.path("")).expect("it is ours").count();
        assert_eq!(entries, left, "{rest}");
    }
}

#[test]
fn only_what_fathom_made_is_removed() {
    let bench = Bench::new();
    let job = |engine: &str| {
        format!("[a]\nioengine={engine}\nnrfiles=3\nfilesize=4k\nfilename_format=f.$filenum\n")
    };
    bench.write("make.fio", job("filecreate"));
    bench.write("remove.fio", job("filedelete"));
    let names = || (0..3).filter(|n| bench.path(&format!("f.{n}")).exists()).count();
    // Someone's own, be it empty: neither as the peer's job nor as fathom's.
    for content in ["", "theirs"] {
        bench.write("f.1", content);
        bench.check_refused(
            "run remove.fio",
            3,
            &["f.1", "fathom is not known to have made it", "--overwrite"],
        );
        bench.check_refused("fio remove.fio", 1, &["f.1", "fathom is not known to have made it"]);
    }
    bench.fathom("run remove.fio --overwrite").expect(0, &[]);
    assert_eq!(names(), 0);
    // What is there is opened and stays someone's own; what is not is made, and fathom's.
    bench.write("f.1", "theirs");
    bench.fathom("fio make.fio").expect(0, &[]);
    assert_eq!((names(), std::fs::read(bench.path("f.1")).expect("it is there")), (3, b"theirs".to_vec()));
    bench.check_refused("fio remove.fio", 1, &["f.1"]);
    std::fs::remove_file(bench.path("f.1")).expect("it is ours");
    if rustix::fs::setxattr(bench.path("f.0"), "user.other", b"x", rustix::fs::XattrFlags::empty()).is_err() {
        return skip("only_what_fathom_made_is_removed", "the filesystem has no user attributes");
    }
    // The attribute was a change; made anew, they carry a mark that holds.
    std::fs::remove_file(bench.path("f.0")).expect("it is ours");
    bench.fathom("fio make.fio").expect(0, &[]);
    bench.fathom("fio remove.fio").expect(0, &[]);
    assert_eq!(names(), 0);
}

#[test]
fn folders_of_others_stay() {
    let bench = Bench::new();
    let job = |engine: &str| format!("[a]\nioengine={engine}\nnrfiles=2\nfilename_format=d.$filenum\n");
    bench.write("make.fio", job("dircreate"));
    bench.write("remove.fio", job("dirdelete"));
    std::fs::create_dir(bench.path("d.0")).expect("it is ours");
    bench.check_refused("fio remove.fio", 1, &["d.0", "fathom is not known to have made it"]);
    // As with the peer, what is there already cannot be made.
    bench.fathom("fio make.fio").expect(1, &[]);
    std::fs::remove_dir(bench.path("d.0")).expect("it is ours");
    if bench.path("d.1").exists() {
        std::fs::remove_dir(bench.path("d.1")).expect("it is ours");
    }
    bench.fathom("fio make.fio").expect(0, &[]);
    if rustix::fs::getxattr(bench.path("d.1"), "user.fathom", &mut [0_u8; 256][..]).is_err() {
        return skip("folders_of_others_stay", "the filesystem has no user attributes");
    }
    // Something in it makes it someone else's.
    bench.write("d.1/theirs", "x");
    bench.check_refused("fio remove.fio", 1, &["d.1"]);
    std::fs::remove_file(bench.path("d.1/theirs")).expect("it is ours");
    bench.check_refused("fio remove.fio", 1, &["d.1"]);
    for folder in ["d.0", "d.1"] {
        std::fs::remove_dir(bench.path(folder)).expect("it is ours");
    }
    bench.fathom("fio make.fio").expect(0, &[]);
    bench.fathom("fio remove.fio").expect(0, &[]);
    assert!(!bench.path("d.0").exists() && !bench.path("d.1").exists());
}

#[test]
fn a_native_job_counts_calls_and_no_bytes() {
    let bench = Bench::new();
    let target = format!("directory = \"{}\"\nfiles = 50\nsize = \"4KiB\"\n", bench.path("").display());
    bench.write(
        "job.toml",
        format!("[target.t]\n{target}[workload.w]\n[stream.s]\nengine = \"filestat\"\npasses = 4\n"),
    );
    bench.fathom("run job.toml").expect(0, &[]);
    let report = bench.report();
    let text = report.to_string();
    assert!(text.contains("moves no bytes"), "{text}");
    let stream = &report["steps"][0]["streams"][0];
    let all = &stream["total"]["all"];
    assert_eq!(
        (&all["operations"], &all["bytes"], &all["short"]),
        (&200.into(), &0.into(), &0.into()),
        "{stream}"
    );
}

/// Small, empty, sparse: nobody's file is changed by being asked about, and --overwrite is no reason to.
#[test]
fn asking_about_a_file_changes_nothing() {
    let bench = Bench::new();
    bench.write("empty", "");
    bench.write("small", "twelve bytes");
    let sparse = std::fs::File::create(bench.path("sparse")).expect("it is ours");
    sparse.set_len(1 << 20).expect("it has room");
    let contents =
        || ["empty", "small", "sparse"].map(|name| std::fs::read(bench.path(name)).expect("it is there"));
    let blocks = || std::os::unix::fs::MetadataExt::blocks(&sparse.metadata().expect("it is there"));
    let before = (contents(), blocks());
    for name in ["empty", "small", "sparse"] {
        for consent in ["", "--overwrite"] {
            bench.write(
                "job.toml",
                format!("[target.t]\npath = \"{name}\"\n[workload.w]\n[stream.s]\nengine = \"filestat\"\npasses = 1\n"),
            );
            let line = format!("run job.toml {consent}");
            bench.fathom(&line).expect(0, &[]);
            assert!((contents(), blocks()) == before, "{name}: {line}");
            let all = &bench.report()["steps"][0]["total"]["all"];
            assert!(
                all["operations"].as_u64().is_some_and(|operations| operations > 0),
                "{name}: {line}: {all}"
            );
        }
    }
}

/// Neither form of the command line takes another file than was meant, and each says which argument it is.
#[test]
fn names_that_are_not_utf_8_are_told() {
    let bench = Bench::new();
    // A shell makes the byte, since the words of a test are UTF-8.
    for form in ["run --time 1s --target", "fio --name=a --size=4k --filename"] {
        let script = format!("exec {FATHOM} {form}=$(printf 'b\\377d')");
        bench.run(&["sh", "-c", &script]).expect(2, &["b\u{fffd}d\" is not UTF-8", "or a link"]);
    }
}
