//! What fio 3.33 makes of values and jobs that one would not expect, as observed: shares of 0, counts of what keeps CPUs busy,
//! appends to what is never opened.

use fathom_frontend::fio::{Reading, Surroundings, read};
use fathom_frontend::native;

/// A job of these options becomes these lines of a native one and not those, and this is told.
fn check(options: &str, lines: &[&str], others: &[&str], codes: &[&str]) {
    let Reading { job, diagnostics, .. } =
        read("job.fio", &format!("[a]\n{options}\n"), &Surroundings::empty());
    let printed = native::print(&job);
    for line in lines {
        assert!(printed.lines().any(|printed| printed == *line), "no {line} in\n{printed}\nfrom\n{options}");
    }
    for other in others {
        assert!(!printed.contains(other), "{other} in\n{printed}\nfrom\n{options}");
    }
    let told: Vec<&str> = diagnostics.all().iter().map(|one| one.code).collect();
    assert_eq!(told, codes, "{options}\n{diagnostics:#?}");
}

#[test]
fn a_share_of_zero_is_none_that_is_given() {
    let split = |given: &str, lines: &[&str], codes: &[&str]| {
        check(&format!("rw=write\nsize=1g\nbssplit={given}"), lines, &[], codes);
    };
    split("4k/40:8k/0", &["block_size = [\"4KiB 40%\", \"8KiB 60%\"]"], &["fio.misread"]);
    split("4k/0:8k/50:16k", &["block_size = [\"4KiB 25%\", \"8KiB 50%\", \"16KiB 25%\"]"], &["fio.misread"]);
    split("4k/0:8k/0", &["block_size = [\"4KiB 50%\", \"8KiB 50%\"]"], &[]);
    split("4k/100:8k/0", &["block_size = \"4KiB\""], &[]);
    split("8k/100,4k/40:8k/0", &["block_size = [\"4KiB 40%\", \"8KiB 60%\"]"], &["fio.misread"]);
    split("4k/-5:8k", &[], &["fio.bad-value"]);
    let zoned = |given: &str, lines: &[&str], codes: &[&str]| {
        check(&format!("rw=randread\nsize=1g\nrandom_distribution=zoned:{given}"), lines, &[], codes);
    };
    zoned("60/0:40/50", &["distribution = \"zoned:60%/50%,40%/50%\""], &[]);
    zoned("50/0:50/0", &["distribution = \"zoned:50%/50%,50%/50%\""], &[]);
    zoned("60/-5:40/50", &[], &["fio.bad-value"]);
    let Reading { diagnostics, .. } = read("x", "[a]\nsize=1g\nbssplit=4k/40:8k/0\n", &Surroundings::empty());
    let expect = "bssplit=4k/40:8k/0 is 4096/40:8192/60 to fio: entries with 0 share what is left of 100, as those without a \
                  percentage do";
    assert_eq!(diagnostics.all()[0].message, expect);
    assert_eq!(diagnostics.all()[0].help, "write bssplit=4k/40");
}

/// As the logs of fio 3.33 have it (`write_iolog`).
#[test]
fn what_nobody_opens_is_as_long_as_size_says() {
    let appends = |options: &str, lines: &[&str]| {
        check(&format!("size=16k\nfile_append=1\n{options}"), lines, &[], &[]);
    };
    let null = |options: &str, lines: &[&str]| appends(&format!("ioengine=null\n{options}"), lines);
    null("rw=write", &["append = false", "offset = \"16KiB\"", "size = \"16KiB\""]);
    null("rw=write\noffset=4k", &["offset = \"16KiB\""]);
    null("rw=read\nnrfiles=2", &["offset = \"8KiB\""]);
    appends("rw=write\nioengine=psync", &["append = true"]);
}

#[test]
fn what_keeps_cpus_busy_ends_with_its_count() {
    let cpu = "ioengine=cpuio\ncpuload=50\nsize=1g\nrw=randrw\n";
    let check = |options: &str, lines: &[&str], others: &[&str]| {
        check(&format!("{cpu}{options}"), lines, &[others, &["passes"]].concat(), &[]);
    };
    check("number_ios=3", &["operations = 3"], &["time = "]);
    check("number_ios=3\nloops=4", &["operations = 12"], &["time = "]);
    check("number_ios=3\nruntime=9", &["operations = 3", "time = \"9s\""], &[]);
    check("number_ios=3\nruntime=9\ntime_based", &["time = \"9s\""], &["operations = "]);
    check("runtime=9", &["time = \"9s\""], &["operations = "]);
    // Nothing bounds it but what the planner takes for enough.
    check("", &[], &["operations = ", "time = "]);
}

/// Positions that jump pass the end of their files, where fio drops what is cached of them, and begin anew behind it.
#[test]
fn jumps_go_round_in_what_is_cached() {
    let timed = |options: &str, lines: &[&str], others: &[&str], codes: &[&str]| {
        check(&format!("size=4m\ntime_based\nruntime=1\n{options}"), lines, others, codes);
    };
    let each = ["drop_each_pass = true"];
    for jumps in ["rw=read:4k", "rw=write:4k", "rw=read:-8k"] {
        timed(jumps, &[], &["drop_each_pass", "keep_cache"], &[]);
    }
    timed("rw=read", &each, &[], &[]);
    timed("rw=randread", &each, &[], &[]);
    timed("rw=read:4k\nfilesize=8m", &each, &[], &[]);
    check("size=4m\nrw=read:4k\nloops=2", &each, &[], &[]);
    // What appends ends with its files, but where it jumps.
    timed("rw=write\nfile_append=1", &["passes = 1"], &[], &["fio.appends-once"]);
    let appended = |[jump, size]: [&str; 2], lines: &[&str], others: &[&str], codes: &[&str]| {
        let options = format!("rw=write:{jump}\nsize={size}\nbs=4k\nfile_append=1\ntime_based\nruntime=1");
        check(&options, lines, others, codes);
    };
    for ends in [["8k", "64k"], ["3k", "64k"], ["4k", "60k"], ["8k", "4m"]] {
        appended(ends, &["passes = 1"], &[], &["fio.appends-once"]);
    }
    for goes_round in [["3k", "62k"], ["8k", "60k"], ["-8k", "60k"], ["64k", "60k"], ["4k", "4m"]] {
        appended(goes_round, &[], &["passes"], &[]);
    }
    check("size=4m\nrw=read:4k\nloops=2\ntime_based", &each, &[], &["fio.no-runtime"]);
}

/// As fio 3.33 has it: of all files behind the offset, and no more than `size`.
#[test]
fn a_share_to_be_moved_is_of_what_files_hold() {
    let moves = |options: &str, bytes: &str| {
        check(&format!("rw=write\nbs=64k\n{options}"), &[&format!("bytes = \"{bytes}\"")], &[], &[]);
    };
    moves("size=4m\nfilesize=16m\nio_size=10%", "1677721B");
    moves("size=4m\nfilesize=16m\nio_size=50%", "4MiB");
    moves("size=4m\nfilesize=4m\nio_size=50%\noffset=512k", "1792KiB");
    moves("size=1m\nio_size=50%", "512KiB");
}

/// The calls of `filecreate` write nothing that could be read back.
#[test]
fn names_are_not_verified() {
    for verify in ["verify=null", "verify=crc32c", "verify_pattern=7"] {
        let codes: &[&str] = if verify == "verify_pattern=7" { &[] } else { &["fio.no-effect"] };
        check(&format!("ioengine=filecreate\nsize=1m\nbs=1m\nrw=write\n{verify}"), &[], &["verify"], codes);
    }
}

/// Of what is random in part, each loop goes on to `io_size` where the engine waits for each operation, and to `size` where not.
#[test]
fn loops_that_are_random_in_part_go_on_by_the_engine() {
    for options in ["rw=randwrite:4", "rw=randread\npercentage_random=50"] {
        let options = format!("{options}\nbs=4k\nsize=256k\nio_size=512k\nloops=2");
        check(&options, &["pass_bytes = \"512KiB\""], &[], &[]);
        check(&format!("{options}\nioengine=libaio"), &[], &["pass_bytes"], &[]);
    }
}
