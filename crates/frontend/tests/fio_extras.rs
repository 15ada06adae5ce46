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
