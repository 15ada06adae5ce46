//! Job files with faults: each is told with its place and a way out, exit code 2, and nothing is touched. What is no job
//! at all, or one far too large, is refused in bounded time and memory.

use crate::support::{Bench, FATHOM};
use fathom_units::Nanos;

/// Memory that reading any job may take, KiB of address space: far below what a million streams or /dev/zero would need.
const MEMORY_KIB: u64 = 1 << 20;
/// Complaints about garbage stay readable.
const COMPLAINT_BYTES_MAX: usize = 40_000;
/// And so do their lines: two screens.
const COMPLAINT_LINES_MAX: usize = 130;

/// A job file of this name is refused by `check`, `plan` and `run` alike.
fn check(name: &str, text: &str, says: &[&str]) {
    check_code(name, text, 2, says);
}

fn check_code(name: &str, text: &str, code: i32, says: &[&str]) {
    let bench = Bench::new();
    bench.write("precious", "must not change");
    bench.write(name, text);
    for command in ["check", "plan", "run"] {
        bench.check_refused(&format!("{command} {name}"), code, says);
    }
}

#[test]
fn shares_of_a_mix_add_up_to_all() {
    let line = |share: &str| format!("{{ share = \"{share}\", block_size = \"4KiB\" }}");
    for (shares, sum) in [(["20%", "90%"], "110 %"), (["33%", "33%"], "66 %")] {
        let mix = shares.map(line).join(", ");
        let text = format!(
            "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\n[workload.w]\nmix = [{mix}]\n[stream.w]\n[stage.m]\ntime = \"1s\"\n"
        );
        check("job.toml", &text, &["job.toml:5", sum, "100 %", "^", "help"]);
    }
}

#[test]
fn shares_of_sizes_add_up_to_all() {
    for (sizes, says) in [
        ("[\"4KiB 50%\", \"8KiB 40%\"]", "add up to 90 %, and have to be 100 % together"),
        ("[\"4KiB 60%\", \"8KiB 60%\"]", "add up to 120 %"),
        ("\"4KiB 30%\"", "add up to 30 %"),
    ] {
        let target = "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\n[workload.w]\n";
        let rest = "[stream.w]\n[stage.m]\ntime = \"1s\"\n";
        check(
            "job.toml",
            &format!("{target}block_size = {sizes}\n{rest}"),
            &["job.toml:5", says, "^", "help"],
        );
        let mix = format!("mix = [{{ share = \"100%\", block_size = {sizes} }}]");
        check("job.toml", &format!("{target}{mix}\n{rest}"), &["job.toml:5", says, "^", "help"]);
    }
}

#[test]
fn faults_of_fio_jobs_are_told_with_place_and_remedy() {
    for (text, says) in [
        ("[a]\nrw=read\nsize=1m\nbss=4k\n", &["job.fio:4", "bss=4k", "^", "did you mean"][..]),
        ("[a]\nrw=read\nsize=big\n", &["job.fio:3", "size=big", "^", "help"]),
        ("[a]\nrw=raed\nsize=1m\n", &["job.fio:2", "raed", "read"]),
        ("[a]\nrw=read\nsize=1m\niodepth=0\n", &["job.fio:4", "iodepth"]),
        ("bs=4k\n[a]\nrw=read\nsize=1m\n", &["job.fio:1", "bs=4k"]),
        ("", &["no job"]),
        ("[global]\nbs=4k\n", &["no job"]),
    ] {
        check("job.fio", text, says);
    }
}

#[test]
fn faults_of_native_jobs_are_told_with_place_and_remedy() {
    for (text, says) in [
        ("[stream.a]\nqueue_dept = 4\n", &["job.toml:2", "queue_dept", "^", "did you mean queue_depth?"][..]),
        ("[target.t]\nkind = \"null\"\n[workload.w]\nblock_size = \"4XiB\"\n", &["job.toml:4", "4XiB", "^"]),
        ("[target.t]\nkind = \"null\"\n[workload.w]\nread = \"130%\"\n", &["job.toml:4", "130%"]),
        (
            "[run]\nseed = 18446744073709551616\n",
            &["job.toml:2", "outside 64 bits", "up to 9223372036854775807", "a rate as a text", "^"],
        ),
        (
            "[target.t]\nkind = \"null\"\n[workload.w]\ndistribution = \"reuse:0MiB=50%\"\n",
            &["job.toml:4", "a cache of 0 B serves nothing", "^"],
        ),
        (
            "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 0s\"\n[stream.s]\ntime = \"20s\"\n",
            &["job.toml:4", "lets no time pass", "1ns", "^"],
        ),
        (
            "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.s]\ntargets = [\"u\"]\n",
            &["job.toml:5", "\"u\""],
        ),
        ("", &["no stream"]),
        ("[stream.a]\nworkers = ", &["job.toml:2"]),
        ("[stage.a]\ntime = 5\n", &["job.toml:2", "5 has no unit", "\"5s\"", "^"]),
        (
            "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.s]\n[stage.a]\ntime = \"0s\"\n",
            &["job.toml:6", "the time is 0", "^"],
        ),
        (
            "[target.t]\nkind = \"null\"\n[stream.s]\n[stage.a]\nsweep = { \"stream.que_depth\" = [1] }\n",
            &["job.toml:5", "did you mean stream.queue_depth?", "^"],
        ),
        (
            "[target.t]\nkind = \"null\"\n[stream.s]\nengine = \"psync\"\n",
            &["job.toml:4", "only null can run its target", "^"],
        ),
    ] {
        check("job.toml", text, says);
    }
}

/// Whatever else is wrong with a file, its rates and depths are told with it, and what is possible.
#[test]
fn rates_and_depths_out_of_bounds_are_told_with_all_else() {
    let head = "[target.t]\nkind = \"null\"\nsiez = \"1GiB\"\n[workload.w]\n";
    let rates = [
        ("1e30", "a rate of 1000000000000000000000000000000 is out of bounds: 0.000000001 to 100000000"),
        ("0", "a rate of 0 never comes"),
        ("-5", "a rate of -5 never comes"),
        ("\"99999999999999999999/s\"", "a rate of \"99999999999999999999/s\" is out of bounds"),
        ("\"0.0000000001/s\"", "a rate of \"0.0000000001/s\" is out of bounds"),
        ("\"16EiB/s\"", "more than 100000000 operations per second of 1 GiB each"),
    ];
    let (mut text, mut says) = (head.to_owned(), vec!["job.toml:3".to_owned(), "siez".to_owned()]);
    for (number, (rate, message)) in rates.into_iter().enumerate() {
        text += &format!("[stream.s{number}]\nrate = {rate}\n");
        says.extend([format!("job.toml:{}", 6 + 2 * number), message.to_owned()]);
    }
    // More of one sort than are shown are counted.
    let last = says.pop().expect("there are some");
    assert!(last.contains("1 GiB each"));
    says.pop();
    says.push("1 more of job.bad-value, on line 16".to_owned());
    let says: Vec<&str> = says.iter().map(String::as_str).collect();
    check("job.toml", &text, &says);
    for engine in ["null", "sim", "psync", "io_uring", "libaio"] {
        let text = format!("{head}[stream.s]\nengine = \"{engine}\"\nqueue_depth = 1000000\n");
        check(
            "job.toml",
            &text,
            &["job.toml:3", "siez", "job.toml:7", "1000000 is above 65536", "from 1 to 65536"],
        );
    }
}

#[test]
fn sizes_that_contradict_each_other() {
    let native = "[target.t]\npath = \"precious\"\nsize = \"4KiB\"\n[workload.w]\nblock_size = \"1MiB\"\n";
    for (name, text) in [
        ("job.fio", "[a]\nrw=write\nsize=4k\nbs=1m\nfilename=precious\n".to_owned()),
        ("job.toml", format!("{native}read = \"0%\"\n[stream.s]\n")),
    ] {
        let bench = Bench::new();
        bench.write("precious", "must not change");
        bench.write(name, text);
        for command in ["check", "plan", "run"] {
            bench.check_refused(&format!("{command} {name}"), 2, &[name, "1 MiB", "4 KiB", "^"]);
        }
    }
}

#[test]
fn all_faults_of_a_file_are_told_at_once() {
    check(
        "job.fio",
        "[a]\nrw=raed\nbss=4k\nsize=big\niodepth=0\n",
        &["job.fio:2", "job.fio:3", "job.fio:4", "job.fio:5"],
    );
    let bench = Bench::new();
    bench.write("job.fio", "[a]\nrw=raed\nbss=4k\nsize=big\niodepth=0\n");
    let ended = bench.fathom("check --json job.fio");
    let faults = ended.expect(2, &[]).json();
    let lines: Vec<u64> =
        faults.as_array().expect("a list").iter().filter_map(|fault| fault["line"].as_u64()).collect();
    assert_eq!(lines, [2, 3, 4, 5], "{faults:#}");
    for fault in faults.as_array().expect("a list") {
        for key in ["code", "severity", "file", "column", "message", "help"] {
            assert!(!fault[key].is_null(), "{key} of {fault:#}");
        }
    }
}

#[test]
fn a_known_option_that_is_not_built_is_an_error_naming_it() {
    for option in ["ioengine=rbd", "ioengine=spdk"] {
        let name = option.split('=').next().unwrap_or(option);
        check_code(
            "job.fio",
            &format!("[a]\nrw=read\nsize=1m\n{option}\n"),
            9,
            &[name, "job.fio:4", "not built yet"],
        );
    }
}

/// The peer's silent misreads are accepted as the peer reads them, and warned about.
#[test]
fn misreads_of_the_peer_are_warned_about() {
    for (option, says) in [
        ("size=1.5g", "1 byte"),
        ("runtime=5min", "5 µs"),
        ("bs= 4k", "4 bytes"),
        ("bs=4k-8k", "8192 for writes"),
        ("rate_iops=0.5", "is 0 to fio"),
    ] {
        let bench = Bench::new();
        bench.write("job.fio", format!("[a]\nioengine=null\nrw=read\nsize=1m\n{option}\n"));
        // A byte is less than a block, which is an error of its own.
        let code = if option.starts_with("size=") { 2 } else { 0 };
        bench.fathom("check job.fio").expect(code, &["warning[fio.misread]", "job.fio:5", option, says]);
    }
}

/// What the kernel's randomness would give, but the same each time.
fn garbage(bytes: usize, map: impl Fn(u8) -> u8) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            map(state.to_le_bytes()[3])
        })
        .collect()
}

#[test]
fn a_mebibyte_of_garbage_is_answered_briefly() {
    const MIB: usize = 1 << 20;
    let printable = |byte: u8| b"abcdefghijklmnop=[]\n\n #;\"'0123456789.,:%"[usize::from(byte) % 40];
    for (what, content) in [
        ("random bytes", garbage(MIB, |byte| byte)),
        ("random text", garbage(MIB, printable)),
        ("zeros", vec![0; MIB]),
        ("one line", vec![b'x'; MIB]),
        ("sections", b"[a]\n".repeat(MIB / 4)),
        ("brackets", vec![b'['; MIB]),
        ("options", [b"[a]\n".to_vec(), b"bss=1\n".repeat(MIB / 6)].concat()),
    ] {
        for name in ["garbage", "garbage.fio", "garbage.toml"] {
            let bench = Bench::new();
            bench.write(name, &content);
            let started = fathom_engine::monotonic();
            bench.check_refused(&format!("run {name}"), 2, &["error"]);
            let took = fathom_engine::monotonic().since(started);
            assert!(took < Nanos::secs(10), "{what} as {name} took {took}");
            let ended = bench.fathom(&format!("check {name}"));
            assert!(
                ended.err.len() < COMPLAINT_BYTES_MAX,
                "{what} as {name}: {} B of complaints",
                ended.err.len()
            );
            assert!(ended.err.lines().count() <= COMPLAINT_LINES_MAX, "{what} as {name}: {}", ended.err);
            assert!(!ended.err.contains('\u{1b}'), "{what} as {name} reaches the terminal");
        }
    }
}

#[test]
fn a_job_that_expands_beyond_all_bounds_is_refused_at_once() {
    let native = "[target.t]\nkind = \"null\"\n[workload.w]\n";
    let sweep = "{ \"stream.queue_depth\" = { from = 1, to = 1000, step = 1 }, \
                 \"workload.block_size\" = { from = 512, to = 512000, step = 512 } }";
    for (name, limit_said, text) in [
        ("clones.fio", "4096", "[s]\nrw=read\nsize=1m\nnumjobs=1000000\n".to_owned()),
        (
            "sections.fio",
            "4096",
            (0..100_000).map(|n| format!("[j{n}]\nioengine=null\nrw=read\nsize=1m\n")).collect(),
        ),
        ("workers.toml", "above 65536", format!("{native}[stream.s]\nworkers = 1000000\n")),
        (
            "streams.toml",
            "the limit is",
            native.to_owned() + &(0..100_000).map(|n| format!("[stream.s{n}]\n")).collect::<String>(),
        ),
        ("points.toml", "more than 10000 points", format!("{native}[stream.s]\n[stage.a]\nsweep = {sweep}\n")),
        (
            "depth.toml",
            "more than the host's memory",
            // The null engine completes at once and has no depth to speak of.
            "[target.t]\npath = \"x\"\nsize = \"1GiB\"\n[workload.w]\n[stream.s]\nengine = \"libaio\"\nworkers = 4096\nqueue_depth = 65536\n"
                .to_owned(),
        ),
        (
            "files.toml",
            "is above 10000000",
            "[target.t]\ndirectory = \".\"\nfiles = 100000000\nsize = \"4KiB\"\n[workload.w]\n[stream.s]\n"
                .to_owned(),
        ),
    ] {
        let bench = Bench::new();
        bench.write(name, text);
        let limit = format!("--as={}", MEMORY_KIB * 1024);
        let started = fathom_engine::monotonic();
        bench.check_refused_under(&["prlimit", &limit], &["run", name], 2, &["error", limit_said]);
        let took = fathom_engine::monotonic().since(started);
        assert!(took < Nanos::secs(10), "{name} took {took}");
    }
}

#[test]
fn what_is_no_file_is_no_job() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("folder")).expect("the folder is ours");
    let limit = format!("--as={}", MEMORY_KIB * 1024);
    for (job, says) in [
        ("folder", &["folder", "directory"][..]),
        ("absent.fio", &["absent.fio", "No such file"]),
        ("/dev/zero", &["/dev/zero", "character device"]),
        ("/dev/null", &["/dev/null"]),
    ] {
        for command in ["check", "plan", "run"] {
            bench.check_refused_under(&["prlimit", &limit], &[command, job], 2, says);
        }
        bench.run(&["prlimit", &limit, FATHOM, "fio", job]).expect(1, says);
    }
}

#[test]
fn a_job_may_come_through_a_pipe() {
    let bench = Bench::new();
    let job = "[a]\nioengine=null\nrw=read\nsize=1m\n";
    let ended = bench.run_with_input(&[FATHOM, "run", "--json", "-", "-"], job.as_bytes());
    assert_eq!(ended.expect(0, &[]).json()["steps"][0]["total"]["all"]["bytes"], 1 << 20);
    // Endless input stops at the largest job that is read.
    let endless = format!("yes '[a]' | {FATHOM} run -");
    bench.run(&["sh", "-c", &endless]).expect(2, &["larger than"]);
}

/// A value with bytes that are not UTF-8 would name another file than was meant; comments may hold what they like.
#[test]
fn bytes_that_are_not_utf_8() {
    let bench = Bench::new();
    bench.write("bad.fio", b"[a]\nsize=1m\nbs=4k\nfilename=d\xe9j\xe0\n");
    bench.write("bad.toml", b"[target.t]\npath = \"d\xe9\"\nsize = \"1MiB\"\n[stream.s]\npasses = 1\n");
    bench.write("inner.inc", b"filename=d\xe9\n");
    bench.write("outer.fio", "[a]\nsize=1m\nbs=4k\ninclude inner.inc\n");
    for (line, code, place) in [
        ("run bad.fio", 2, "bad.fio:4"),
        ("fio bad.fio", 1, "bad.fio:4"),
        ("run bad.toml", 2, "bad.toml:2"),
        ("run outer.fio", 2, "inner.inc:1"),
    ] {
        bench.check_refused(line, code, &["job.not-utf8", place, "UTF-8"]);
    }
    bench
        .write("fine.fio", b"; d\xe9j\xe0\n[a]\n# d\xe9\ndescription=d\xe9\nioengine=null\nsize=1m\nbs=4k\n");
    bench.fathom("run fine.fio").expect(0, &["warning[job.not-utf8]", "fine.fio:1", "fine.fio:4"]);
    let ended = bench.fathom("fio fine.fio");
    assert!(ended.expect(0, &[]).out.contains("note: fine.fio:1: bytes that are not UTF-8"), "{ended:#?}");
}

#[test]
fn names_below_an_opened_folder_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let odd = bench.path("od").join(std::ffi::OsStr::from_bytes(b"d\xff"));
    std::fs::create_dir_all(&odd).expect("the folder is ours");
    bench.write("od/file", [1; 8192]);
    let line = "fio --name=a --rw=read --opendir=od --output-format=json";
    assert_eq!(bench.fathom(line).expect(0, &[]).json()["jobs"][0]["read"]["io_bytes"], 8192);
    std::fs::write(odd.join("inner"), [1; 8192]).expect("the folder is ours");
    bench.check_refused(line, 1, &["opendir=od", "inner is not UTF-8"]);
    // As with fio, folders are looked into for a run alone.
    bench.fathom(&line.replace("fio ", "fio --parse-only ")).expect(0, &[]);
}

#[test]
fn a_store_whose_name_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let store = bench.path("").join(std::ffi::OsStr::from_bytes(b"st\xe9re"));
    let run = |words: &[&str]| {
        let mut command = std::process::Command::new(crate::support::FATHOM);
        command.args(words).current_dir(bench.path("")).env("FATHOM_STORE", &store);
        command.output().expect("the binary was built")
    };
    let words = ["run", "--target", "new", "--size", "1MiB", "--read", "0%", "--time", "1200ms"];
    let ended = run(&words);
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let report = run(&["report", "last", "--format", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&report.stdout).expect("a report");
    assert_eq!(document["state"], "complete");
}

/// The plan is what people consent to: no name may pass for a line of it.
#[test]
fn names_forge_no_lines_of_a_plan() {
    let bench = Bench::new();
    bench.write(
        "j.toml",
        "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.\"a\\nTargets\\n  /dev/sda: will be OVERWRITTEN\"]\n\
         [stage.\"main\\n    2  fake\"]\ntime = \"1s\"\n",
    );
    let ended = bench.fathom("plan j.toml");
    let plan = &ended.expect(0, &[]).out;
    let is_forged = |line: &str| line.starts_with("  /dev/sda") || line.trim_start().starts_with("2  fake");
    assert!(!plan.lines().any(is_forged), "{plan}");
    assert!(plan.contains("main\\u{a}    2  fake") && plan.contains("a\\u{a}Targets\\u{a}"), "{plan}");
}
