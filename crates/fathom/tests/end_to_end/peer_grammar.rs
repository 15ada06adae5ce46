//! Small job files that hit the corners of fio's grammar: both tools read each, end with the same code and show the same command
//! line. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use std::fs;
use std::sync::Mutex;

/// Files that jobs include or use.
const BESIDE: [(&str, &[u8]); 5] = [
    ("inc.fio", b"bs=8k\n"),
    ("sub/deep.fio", b"include more.fio\nrw=randread\n"),
    ("sub/more.fio", b"bs=16k\n"),
    ("more.fio", b"bs=32k\n"),
    ("section.fio", b"[x]\nbs=4k\n"),
];

/// What jobs may name as `${…}`.
const VARIABLES: [&str; 3] = ["BS=4k", "SZ=64", "KEY=bs"];

/// Whole files: lines, sections, what ends a line.
const FILES: &[&[u8]] = &[
    b"",
    b"# c\n",
    b"# c\n; d\n[a]\nrw=read # x\nbs=4k ; y\nsize=64k\n",
    b"[a]  \nbs=4k   \nsize=64k\t\n",
    b"  [a]\n\tsize=64k\n",
    b"[a]\r\nbs=4k\r\nsize=64k\r\n",
    b"[global]\r\nstonewall\r\n[a]\r\nrw=randread\r\nsize=64k\r\n",
    b"[a]\rbs=4k\rsize=64k\r",
    b"[a]\nbs=4k\nsize=64k",
    b"[a]\nsize=64k\n[b]",
    b"\xef\xbb\xbf[a]\nsize=64k\n",
    "[jöb]\ndescription=ü\nsize=64k\n".as_bytes(),
    b"bs=4k\n[a]\nsize=64k\n",
    b"[a b]\nsize=64k\n",
    b"[a,b/c%d]\nsize=64k\nfilename=x\n",
    b"[job\nsize=64k\n",
    b"[job] x\nsize=64k\n",
    b"[job] # x\nsize=64k\n",
    b"[a]\nsize=64k\n[a]\nsize=32k\n",
    b"[global]\nbs=4k\n[a]\nsize=64k\n[global]\nbs=8k\nsize=64k\n[b]\n[globalfoo]\nbs=16k\n[c]\n",
    b"[global]\nname=g\nbs=4k\n[a]\nsize=64k\n",
    b"[global]\nthread\nsize=64k\n[a]\n[b]\nthread=0\n",
    b"[global]\ninclude inc.fio\n[a]\nsize=64k\n",
    b"include inc.fio\n[a]\nsize=64k\n",
    b"[a${BS}]\nsize=64k\n",
    b"[a]\nsize=64k\n[b]\nwait_for=a\nsize=64k\n",
    b"[a]\nfoo=1\nbar=2\n[b]\nbaz=3\n",
];

/// Options of a job `[a]` with `size=64k`.
const OPTIONS: &[&str] = &[
    // Blanks, quotes, signs.
    "bs= 4k",
    "bs =4k",
    "bs = 4k",
    "bs\t=\t4k",
    "rw\t=read",
    "ioengine\t=psync",
    "ioengine\t=\tpsync",
    "ioengine= psync",
    "filename=\tx",
    "cpus_allowed=x",
    "cpus_allowed=0,x",
    "cpus_allowed=0-x",
    "cpus_allowed=0-",
    "cpus_allowed=0,,1",
    "cpus_allowed=-1",
    "log_hist_coarseness=7",
    "write_bw_log=",
    "filename=\"x y\"",
    "bs='4k'",
    "bs=\"4k\"",
    "=4k",
    "--bs=4k",
    "bs=+4k",
    "description=a=b",
    "description={x}",
    "description=$HOME $x",
    "description=${BS}-${SZ}",
    "bs=4k\nbs=8k",
    "filename=x\nfilename=y",
    "filename=x\\:y:z",
    // Variables and what is counted.
    "bs=${BS}",
    "size=${SZ}k",
    "bs=${NOPE}4k",
    "bs=${NOPE}",
    "${KEY}=8k",
    "bs=${BS",
    "filename=${NOPE:-x}",
    "filename=x$jobname",
    "filename_format=$jobname.$jobnum.$filenum\nnumjobs=2",
    "numjobs=$ncpus",
    "bs=$pagesize",
    "bs=$pagesize*2",
    "bs=($pagesize*2)",
    "size=(4*1024)",
    "size=(1g)",
    "size=$mb_memory*1024",
    // Numbers, units, ranges, lists.
    "kb_base=1000\nbs=4k\nsize=64kib",
    "bs=4kib\nsize=64KiB",
    "bs=4kb\nsize=64KB",
    "unit_base=8",
    "unit_base=3",
    "kb_base=2000",
    "filename=x\nsize=50%",
    "size=1.5g",
    "bsrange=4k-16k",
    "bsrange=4k:16k,8k:16k",
    "bsrange=16k-4k",
    "bsrange=4k",
    "bsrange=4k-x",
    "bs=4k-8k",
    "bs=4k,8k,16k\nrw=randrw",
    "bs=4k,8k,16k,32k",
    "bs=,8k\nrw=randrw",
    "bs=8k,\nrw=randrw",
    "filesize=4k-8k\nnrfiles=2",
    "bs=0x1000\nsize=0x10000",
    "bs=0",
    "bs=",
    "bs",
    "bs=x",
    "runtime=5min\nthinktime=10ms",
    "runtime=2h30m",
    "runtime=x",
    "iodepth=1k",
    "iodepth=4x",
    "iodepth=four",
    "rw=rw\nrwmixread=70\nrwmixwrite=10",
    "rw=rw\nrwmixread=170",
    "bssplit=4k/50:8k/50",
    "bssplit=4k/:8k/50",
    "rw=randrw\nbssplit=4k/50:8k/50,16k/100",
    "percentile_list=50:99:99.9",
    // Words and flags.
    "rw=READ",
    "rw=randr",
    "rw= read",
    "rw=randread:8",
    "rw=",
    "BS=4k",
    "filename=",
    "description=",
    "direct",
    "direct=true",
    "invalidate=2",
    "invalidate=-1",
    "time_based\nruntime=1\nstonewall",
    "time_based=0\nnorandommap=0",
    "thread=",
    "thread=2",
    "thread=x",
    "exitall=1",
    // Names.
    "blocksize=8k\nreadwrite=randread\nnr_files=2\niomem=malloc\ntimeout=3",
    "blocksi=4k",
    "bss=4k",
    "nonsense_option=1",
    "nonsense",
    "name=zz",
    "hipri\nioengine=io_uring\nfilename=x",
    "hipri\nioengine=psync",
    // Files within.
    "include inc.fio",
    "include sub/deep.fio",
    "include=inc.fio",
];

/// What fathom refuses when it reads a job, and fio when it runs it, or never; with the reason.
const STRICTER: &[(&[u8], &str)] = &[
    (b"[a]\nsize=200%\n", "is outside 0% to 100%"),
    (b"[a]\nsize=64k\ninclude section.fio\n", "an included file has a section of its own"),
    (b"[a]\nbs=50%\nsize=64k\n", "has no meaning here"),
    (b"[a]\nsize=64k\npercentile_list=50:x\n", "is no number"),
    (b"[a]\nsize=64k\nnumjobs=0\n", "is below 1"),
    (b"[]\nsize=64k\n", "the section has no name"),
    (b"[a]\nbs=4k\0\nsize=64k\n", "is not a text"),
    (b"[j\xf6b]\nsize=64k\n", "not UTF-8"),
];

/// Exit code of reading it, the command line that is shown, and what is said.
fn read(program: &[&str], text: &[u8]) -> (i32, String, String) {
    let bench = Bench::new();
    fs::create_dir(bench.path("sub")).expect("the folder is ours");
    for (name, content) in BESIDE {
        bench.write(name, content);
    }
    bench.write("job.fio", text);
    let switches = &["--parse-only", "--showcmd", "job.fio"];
    let shown = bench.run(&[&["env"], &VARIABLES[..], program, switches].concat());
    let line = if shown.code == 0 { shown.out } else { String::new() };
    (shown.code, line, shown.err)
}

#[test]
fn corners_of_the_grammar_are_read_alike() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("corners_of_the_grammar_are_read_alike", &why);
    }
    let name = |bytes: usize| format!("[{}]\nsize=64k\n", "n".repeat(bytes)).into_bytes();
    let long =
        |line: &str, bytes: usize| format!("[a]\n{line}{}\nsize=64k\n", "x".repeat(bytes)).into_bytes();
    let options = OPTIONS.iter().map(|options| format!("[a]\nsize=64k\n{options}\n").into_bytes());
    let mut cases: Vec<Vec<u8>> = FILES.iter().map(|text| text.to_vec()).chain(options).collect();
    cases.extend([name(253), name(254), name(255), name(256), name(300)]);
    cases.extend([long("description=", 8170), long("description=", 9000), long("# ", 9000)]);
    cases.extend([long("filename=", 4095), long("filename=", 4096)]);
    let cases = &cases[..];
    let differing = Mutex::new(Vec::new());
    let differing = &differing;
    std::thread::scope(|scope| {
        for part in cases.chunks(cases.len().div_ceil(4)) {
            scope.spawn(move || {
                for text in part {
                    let (theirs, ours) = (read(&["fio"], text), read(&[FATHOM, "fio"], text));
                    let of = |(code, line, _): &(i32, String, String)| (*code, line.clone());
                    if of(&ours) != of(&theirs) {
                        let text = String::from_utf8_lossy(text);
                        let mut differing =
                            differing.lock().expect("no thread panics while it holds the lock");
                        differing.push(format!("{text}\n{:?}\n{:?}\n{}", of(&theirs), of(&ours), ours.2));
                    }
                }
            });
        }
    });
    let differing = differing.lock().expect("all threads have ended");
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    for (text, says) in STRICTER {
        let (theirs, ours) = (read(&["fio"], text), read(&[FATHOM, "fio"], text));
        assert_eq!((theirs.0, ours.0), (0, 1), "{}", String::from_utf8_lossy(text));
        assert!(ours.2.contains(says), "{}", ours.2);
    }
}

#[test]
fn files_are_named_after_sections_and_reports_after_names() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("files_are_named_after_sections_and_reports_after_names", &why);
    }
    let made = |program: &[&str], arguments: &[&str], text: &str| {
        let bench = Bench::new();
        bench.write("job.fio", text);
        let ended = bench.run(&[program, &["--output-format=terse"], arguments, &["job.fio"]].concat());
        let names: Vec<String> = bench
            .snapshot()
            .into_keys()
            .map(|path| path.file_name().expect("a file").to_string_lossy().into_owned())
            .collect();
        let jobs: Vec<String> =
            ended.out.lines().filter_map(|line| Some(line.split(';').nth(2)?.to_owned())).collect();
        (ended.code, names, jobs)
    };
    let named = "[a]\nname=zz\nsize=64k\nrw=write\nwrite_bw_log\nverify=md5\n";
    for (arguments, text) in [
        (&[][..], named.to_owned()),
        (&["--section=a"], named.to_owned()),
        (&["--section=zz"], named.to_owned()),
        (&[], format!("{named}filename_format=f.$jobname\n")),
        (&[], format!("{named}[b]\nwait_for=zz\nsize=64k\n")),
        (&[], format!("{named}[b]\nwait_for=a\nsize=64k\n")),
    ] {
        assert_eq!(
            made(&[FATHOM, "fio"], arguments, &text),
            made(&["fio"], arguments, &text),
            "{arguments:?} {text}"
        );
    }
}
