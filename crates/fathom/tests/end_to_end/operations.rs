//! Every operation as a row (`--operations`): as many as the report counts, where and when it says.

use crate::support::device::with_root;
use crate::support::{Bench, moved, number};
use std::collections::BTreeMap;

/// One row.
#[derive(Debug)]
struct Row {
    stream: String,
    kind: String,
    target: String,
    offset: u64,
    bytes: u64,
    /// Intended, submitted, accepted, completed: seconds.
    instants: [f64; 4],
}

fn rows(bench: &Bench, name: &str) -> Vec<Row> {
    let text = std::fs::read_to_string(bench.path(name)).expect("it was written");
    let mut lines = text.split("\r\n");
    let header = "step,stream,kind,target,offset,bytes,intended_s,submitted_s,accepted_s,completed_s";
    assert_eq!(lines.next(), Some(header));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [_, stream, kind, target, offset, bytes, ref instants @ ..] = fields[..] else {
            panic!("{line}")
        };
        let seconds = |at: usize| instants[at].parse().expect("a number");
        Row {
            stream: stream.to_owned(),
            kind: kind.to_owned(),
            target: target.to_owned(),
            offset: offset.parse().expect("a number"),
            bytes: bytes.parse().expect("a number"),
            instants: std::array::from_fn(seconds),
        }
    };
    lines.filter(|line| !line.is_empty()).map(row).collect()
}

#[test]
fn rows_are_what_the_report_counts() {
    let bench = Bench::new();
    let sim = "kind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential 1ms\"";
    bench.write(
        "job.toml",
        format!(
            "[target.left]\n{sim}\n[target.right]\n{sim}\n[workload.w]\nread = \"70%\"\naccess = \"random\"\n\
             [stream.queue]\ntargets = [\"left\", \"right\"]\nqueue_depth = 4\n\
             [stream.rated]\ntargets = [\"right\"]\nrate = \"900/s\"\narrival = \"poisson\"\n\
             [stage.main]\nramp = \"1s\"\ntime = \"10s\"\n"
        ),
    );
    bench.fathom("run job.toml --quiet --operations all.csv").expect(0, &[]);
    let (report, all) = (bench.report(), rows(&bench, "all.csv"));
    for (index, stream) in ["queue", "rated"].into_iter().enumerate() {
        let own = || all.iter().filter(|row| row.stream == stream);
        for kind in ["read", "write"] {
            let of_kind = || own().filter(|row| row.kind == kind);
            let counted = (of_kind().count() as u64, of_kind().map(|row| row.bytes).sum::<u64>());
            let place = format!("/steps/0/streams/{index}/total");
            assert_eq!(counted, moved(&report, &place, kind), "{stream} {kind}");
        }
        let response = own().map(|row| row.instants[3] - row.instants[0]).fold(0.0, f64::max) * 1e9;
        let told = number(&report, &format!("/steps/0/streams/{index}/total/all/response/max_ns"));
        assert!((response - told).abs() < 2.0, "{stream}: {response} and {told}");
    }
    let mut of_target: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for row in &all {
        assert!(row.instants.is_sorted() && row.instants[1] >= 1.0, "{row:?}");
        assert!(row.offset + row.bytes <= 1 << 30, "{row:?}");
        *of_target.entry((&row.stream, &row.target)).or_default() += 1;
    }
    let places: Vec<_> = of_target.keys().copied().collect();
    assert_eq!(places, [("queue", "left"), ("queue", "right"), ("rated", "right")]);
    assert!(all.iter().any(|row| row.instants[1] > row.instants[0]), "some waited for one before them");
}

/// Whether operations are looked at one by one or counted together, in rows of those that went down and came up together, is no matter
/// for any figure: with errors, syncs among them, several kinds, workers and stages, on devices that take many at once.
#[test]
fn what_is_counted_does_not_depend_on_whether_each_is_looked_at() {
    let sim = "kind = \"sim\"\nsize = \"1GiB\"\nparallelism = 8\n";
    for (target, workload, stream) in [
        ("service_time = \"constant 100us\"", "read = \"0%\"\nrange_sync_every = 4\nfdatasync_every = 7", ""),
        ("service_time = \"constant 100us\"", "read = \"50%\"\naccess = \"random\"", "workers = 2\n"),
        (
            "service_time = \"constant 50us\"\nerror_share = \"5%\"",
            "read = \"70%\"",
            "tolerate = [\"read EIO\", \"write EIO\"]\n",
        ),
        ("service_time = \"exponential 1ms\"", "access = \"random\"", "rate = \"20k/s\"\n"),
    ] {
        let bench = Bench::new();
        bench.write(
            "job.toml",
            format!(
                "[target.d]\n{sim}{target}\n[target.e]\n{sim}{target}\n[workload.w]\n{workload}\n[stream.s]\n\
                 targets = [\"d\", \"e\"]\nqueue_depth = 16\n{stream}[stage.a]\nramp = \"500ms\"\ntime = \"1s\"\n\
                 [stage.b]\ntime = \"1s\"\n"
            ),
        );
        let of = |more: &str| {
            bench.fathom(&format!("run job.toml --quiet{more}")).expect(0, &[]);
            let report = bench.report();
            let steps = report["steps"].as_array().expect("steps").clone();
            steps
                .iter()
                .map(|step| (step["total"].clone(), step["streams"][0]["total"].clone()))
                .collect::<Vec<_>>()
        };
        let (together, apart) = (of(""), of(" --operations all.csv"));
        assert_eq!(together, apart, "{target} {workload} {stream}");
        let counted: u64 = ["read", "write"]
            .iter()
            .flat_map(|kind| together.iter().map(|(total, _)| moved(total, "", kind).0))
            .sum();
        assert_eq!(rows(&bench, "all.csv").len() as u64, counted, "{target} {workload} {stream}");
    }
}

/// What is read back to be checked is in no figure of the load, and in no row.
#[test]
fn reads_that_check_are_no_rows() {
    let bench = Bench::new();
    bench.write(
        "job.toml",
        "[target.f]\npath = \"file\"\nsize = \"1MiB\"\n[workload.w]\nread = \"0%\"\nverify = \"crc32c\"\n[stream.s]\n\
         queue_depth = 4\npasses = 1\n",
    );
    bench.fathom("run job.toml --quiet --operations all.csv").expect(0, &[]);
    let all = rows(&bench, "all.csv");
    assert!(all.len() == 256 && all.iter().all(|row| row.kind == "write"), "{} rows", all.len());
}

/// What is emitted hits LRU caches as often as was asked for (Mattson's stack distances, reckoned up from the rows alone).
#[test]
fn the_places_that_are_emitted_have_the_hit_ratios_that_were_asked_for() {
    let bench = Bench::new();
    bench.write(
        "job.toml",
        "[target.d]\nkind = \"sim\"\nsize = \"64MiB\"\nservice_time = \"exponential 1ms\"\nparallelism = 16\n\
         [workload.w]\naccess = \"random\"\ndistribution = \"reuse:1MiB=50%,4MiB=80%\"\n[stream.s]\nqueue_depth = 16\n\
         operations = 60000\n",
    );
    bench.fathom("run job.toml --quiet --operations all.csv").expect(0, &[]);
    let mut all = rows(&bench, "all.csv");
    assert_eq!(all.len(), 60_000);
    all.sort_by(|one, other| one.instants[1].total_cmp(&other.instants[1]));
    let (mut stack, mut distances): (Vec<u64>, Vec<usize>) = (Vec::new(), Vec::new());
    for row in &all {
        let at = stack.iter().rev().position(|&offset| offset == row.offset);
        distances.push(at.unwrap_or(usize::MAX));
        if let Some(at) = at {
            stack.remove(stack.len() - 1 - at);
        }
        stack.push(row.offset);
    }
    // The caches are warm by then.
    let warm = &distances[20_000..];
    for (blocks, asked) in [(128, 0.25), (256, 0.5), (640, 0.65), (1024, 0.8)] {
        let hits = warm.iter().filter(|&&distance| distance < blocks).count() as f64 / warm.len() as f64;
        assert!((hits - asked).abs() <= 0.01, "{blocks} blocks: {hits}");
    }
}

#[test]
fn a_file_of_operations_takes_the_place_of_nothing_that_matters() {
    let bench = Bench::new();
    bench.write("data", vec![7_u8; 1 << 20]);
    let job = "--target data --access random --time 1s --quiet";
    bench.check_refused(&format!("run {job} --operations data"), 2, &["the target", "name another file"]);
    bench.check_refused(&format!("run {job} --operations absent/all.csv"), 4, &["does not exist"]);
    bench.check_refused(&format!("run {job} --operations x --json x"), 2, &["are one file"]);
    bench.check_refused(&format!("run {job} --operations -"), 2, &["standard output has the report"]);
    // Of a link what it leads to is replaced; what has other names is none to be replaced.
    bench.write("old.csv", "old");
    std::os::unix::fs::symlink("old.csv", bench.path("link.csv")).expect("it can be made");
    bench.fathom("run --target sim: --access random --time 1s --quiet --operations link.csv").expect(0, &[]);
    assert!(bench.path("link.csv").is_symlink() && !rows(&bench, "old.csv").is_empty());
    std::fs::hard_link(bench.path("old.csv"), bench.path("other.csv")).expect("it can be made");
    bench.check_refused(&format!("run {job} --operations other.csv"), 4, &["has other names"]);
    let full = bench.fathom("run --target sim: --access random --time 5s --quiet --operations /dev/full");
    full.expect(4, &["cannot write /dev/full"]);
}

/// A run whose operations cannot be kept any more ends, long before its time, and leaves no part of them.
#[test]
fn operations_without_room_end_the_run() {
    with_root("operations_without_room_end_the_run", |bench, stage| {
        let at = stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"])?;
        let ended =
            bench.fathom("run --target null: --access random --time 600s --quiet --operations small/all.csv");
        ended.expect(4, &["cannot write small/all.csv", "No space left"]);
        assert!(
            !at.join("all.csv").exists() && std::fs::read_dir(&at).expect("it is there").next().is_none()
        );
        assert_eq!(bench.report()["state"], "failed");
        Ok(())
    });
}
