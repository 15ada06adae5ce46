//! What comes beside the model of a fio job: the command lines that are shown, and the jobs that have nothing to move.

use fathom_frontend::fio::{Reading, Surroundings, read, read_all};

/// As fio 3.33 printed them before it ended.
#[test]
fn command_lines_end_before_a_fault() {
    let lines = |files: &[(&str, &str)]| read_all(files, &Surroundings::empty()).extras.command_lines;
    let (fine, faulty) = ("[a]\nsize=1m\n", "[b]\nsize=1m\n[c]\nbs=8k\nbs=x\n[d]\nbs=4k\n");
    let shown = ["fio --name=a --size=1m ", "fio --name=b --size=1m --name=c "];
    assert_eq!(lines(&[("1", fine), ("2", faulty), ("3", fine)]), shown);
    assert_eq!(lines(&[("1", "[global]\nfoo=1\n[a]\n")]), ["fio "]);
    assert_eq!(lines(&[("1", "[global]\n")]), ["fio "]);
    assert_eq!(lines(&[("1", "bs=4k\n[a]\n")]), [""]);
    // What fio has and fathom does not is no fault there.
    assert_eq!(
        lines(&[("1", "[a]\nprofile=tiobench\n[b]\n")]),
        ["fio --name=a --profile=tiobench --name=b "]
    );
}

/// Shares of a size that is known; others are the planner's.
#[test]
fn a_share_of_less_than_a_block_is_noted() {
    for (options, is_noted) in [
        ("size=64k\nio_size=6%", true),
        ("size=64k\nio_size=7%", false),
        ("size=64k\nio_size=6%\nbs=,2k", false),
        ("size=64k\nio_size=6%\nrw=write\ntime_based\nruntime=1", true),
        ("filesize=16k\nnrfiles=4\nio_size=5%", true),
        ("filesize=16k\nnrfiles=4\nio_size=7%", false),
        ("size=64k\nio_size=1k", false),
        ("size=2k\nio_size=50%", false),
        ("filename=x\nio_size=1%", false),
        ("size=64k\nio_size=1%\nioengine=cpuio\ncpuload=50", false),
    ] {
        let Reading { extras, .. } =
            read("1", &format!("[a]\n{options}\nnumjobs=2\n"), &Surroundings::empty());
        let noted: Vec<&str> = extras.starved.iter().map(|(stream, _)| stream.as_str()).collect();
        assert_eq!(noted, if is_noted { &["a.0", "a.1"][..] } else { &[] }, "{options}");
    }
}

/// Codes of what is said of a job.
fn told(options: &str) -> Vec<String> {
    let Reading { diagnostics, .. } = read("1", &format!("[a]\n{options}\n"), &Surroundings::empty());
    diagnostics.all().iter().map(|one| format!("{}: {}", one.code, one.message)).collect()
}

#[test]
fn what_no_block_of_several_files_covers_is_told() {
    let expect = "fio.tail: each of the 10 files has 104857 B of size=1 MiB, of which the last 39321 B are less than a block of 64 KiB \
                  and are never touched";
    assert_eq!(told("rw=randread\nsize=1m\nnrfiles=10\nbs=64k"), [expect]);
    for (options, is_told) in [
        ("size=1000k\nfilename=b:c\nbs=64k", true),
        // Of a third of a MiB, 341 B are less than a hundredth.
        ("size=1m\nnrfiles=3\nbs=4k", false),
        ("size=1m\nnrfiles=16\nbs=64k", false),
        // Told of the whole region, or no job at all.
        ("size=1000k\nbs=64k", false),
        ("filesize=1000k\nnrfiles=2\nbs=64k", false),
        ("size=64k\nnrfiles=4\nbs=64k", false),
    ] {
        let told = told(options);
        assert_eq!(told.iter().any(|one| one.starts_with("fio.tail")), is_told, "{options}: {told:?}");
    }
}

#[test]
fn a_map_of_several_sizes_cuts_nothing_where_nothing_jumps() {
    let is_told = |options: &str| told(options).iter().any(|one| one.starts_with("fio.random-map"));
    assert!(is_told("rw=randread\nsize=1g\nbssplit=4k/50:64k/50"));
    assert!(is_told("rw=randread\nsize=1g\nbssplit=4k/50:64k/50\npercentage_random=10"));
    assert!(!is_told("rw=randread\nsize=1g\nbssplit=4k/50:64k/50\npercentage_random=0"));
}
