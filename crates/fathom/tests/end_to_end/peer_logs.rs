//! The logs of `fathom fio` beside the peer's own: the same files, the same columns, a row for each operation.

use crate::support::device::with_root;
use crate::support::{Bench, FATHOM, skip, tool};
use std::collections::BTreeMap;

/// Logs by name, the time and the value of each row left out: they are measured.
fn logs(bench: &Bench, program: &[&str], job: &str) -> BTreeMap<String, Vec<String>> {
    for path in bench.snapshot().into_keys() {
        std::fs::remove_file(path).expect("the folder is ours");
    }
    let words = format!("--name=a --size=64k --minimal {job}");
    let ended = bench.run(&[program, &words.split(' ').collect::<Vec<_>>()].concat());
    assert_eq!(ended.code, 0, "{program:?} {words}: {}", ended.err);
    let mut logs = BTreeMap::new();
    for (path, (_, _, _, content)) in bench.snapshot() {
        let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let text = String::from_utf8(content).expect("logs are text");
        let is_counted = name.contains("iops");
        let row =
            |row: &str| row.split(", ").skip(if is_counted { 1 } else { 2 }).collect::<Vec<_>>().join(", ");
        logs.insert(name, text.lines().map(row).collect());
    }
    logs
}

#[test]
fn each_operation_has_the_same_row() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("each_operation_has_the_same_row", &why);
    }
    let bench = Bench::new();
    for job in [
        "--rw=write --write_bw_log=x --write_lat_log=x --write_iops_log=x",
        "--rw=read --bs=8k --write_iops_log odd --log_offset=1",
        "--rw=read --write_lat_log=y --ioengine=libaio --log_offset=1 --log_prio=1",
        "--rw=write --write_bw_log=z --per_job_logs=0 --numjobs=2 --stonewall --log_unix_epoch=1",
        "--rw=write --write_lat_log=w --disable_slat=1 --disable_lat=1 --log_max_value=1",
        "--rw=read --numjobs=2 --group_reporting --write_iops_log=g",
        "--rw=read --gtod_reduce=1 --write_bw_log=r --write_iops_log=r --write_lat_log=r --write_hist_log=r",
        "--rw=read --ioengine=null --disable_bw=1 --write_bw_log=b --write_iops_log=b --write_lat_log=b",
        "--rw=read --disable_clat=1 --disable_lat=1 --disable_slat=1 --write_bw_log=d --write_iops_log=d",
        "--rw=read --prioclass=1 --prio=3 --write_lat_log=p --log_prio=1",
        "--rw=read --prioclass=1 --prio=3 --write_lat_log=q",
        "--rw=read --stats=0 --write_bw_log=s --write_lat_log=s --write_iops_log=s --write_hist_log=s",
    ] {
        let (theirs, ours) = (logs(&bench, &["fio"], job), logs(&bench, &[FATHOM, "fio"], job));
        assert_eq!(ours, theirs, "{job}");
    }
}

/// Engines with a queue do trims at once: they have no submission of their own, and their completion is all of their time.
#[test]
fn trims_have_the_same_rows_with_every_engine() {
    let test = "trims_have_the_same_rows_with_every_engine";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    with_root(test, |images, stage| {
        let device = stage.device(images, "image", &[])?;
        let bench = Bench::new();
        for engine in ["psync", "libaio", "io_uring"] {
            let job = format!(
                "--filename={device} --rw=trim --bs=4k --ioengine={engine} --write_lat_log=x --log_offset=1"
            );
            let ours = logs(&bench, &[FATHOM, "fio", "--yes"], &job);
            let theirs = logs(&bench, &["fio"], &job);
            assert_eq!(ours, theirs, "{engine}");
            assert!(
                ours["x_slat.1.log"].is_empty() && ours["x_clat.1.log"].len() == 16,
                "{engine}: {ours:?}"
            );
        }
        Ok(())
    });
}

/// A row of rates is as long as a sample of them, those of latencies as long as the window; the report has as many samples.
#[test]
fn rates_have_windows_of_their_own() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("rates_have_windows_of_their_own", &why);
    }
    let bench = Bench::new();
    let base = "--name=a --ioengine=null --rw=read --bs=4k --size=1g --time_based --runtime=2 --rate_iops=1000 --write_bw_log=x \
                --write_iops_log=x --write_lat_log=x --output-format=json --output=report";
    for (more, windows_ms) in [
        ("--log_avg_msec=1000 --bwavgtime=100", [100, 1000, 1000]),
        ("--log_avg_msec=100 --bwavgtime=200 --iopsavgtime=400", [200, 400, 100]),
        ("--log_avg_msec=100", [100; 3]),
    ] {
        for program in [&["fio"][..], &[FATHOM, "fio"]] {
            let words: Vec<&str> = base.split(' ').chain(more.split(' ')).collect();
            bench.run(&[program, &words].concat()).expect(0, &[]);
            let report = std::fs::read_to_string(bench.path("report")).expect("it was written");
            let report: serde_json::Value = serde_json::from_str(&report).expect("a document");
            let samples = ["bw_samples", "iops_samples"].map(|name| report["jobs"][0]["read"][name].as_u64());
            for ((log, window_ms), samples) in
                ["bw", "iops", "lat"].into_iter().zip(windows_ms).zip(samples.into_iter().chain([None]))
            {
                let rows = std::fs::read_to_string(bench.path(&format!("x_{log}.1.log"))).expect("a log");
                let (rows, most) = (rows.lines().count() as u64, 2000_u64 / window_ms);
                // The peer loses the last one, and on a busy host joins others.
                let least = if program[0] == "fio" { most / 2 } else { most - 1 };
                assert!((least..=most).contains(&rows), "{program:?} {more} {log}: {rows}");
                let fits = |samples: u64| (least..=most).contains(&samples);
                assert!(samples.is_none_or(fits), "{program:?} {more} {log}: {samples:?} samples");
            }
        }
    }
}

/// Stored by either, shown by the other; and the same with rows of windows.
#[test]
fn stored_logs_are_read_both_ways() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("stored_logs_are_read_both_ways", &why);
    }
    let bench = Bench::new();
    let base = "--minimal --name=a --ioengine=null --rw=write --bs=4k --size=8m --log_store_compressed=1";
    for more in [
        "--write_iops_log=x --log_compression=10k",
        "--write_iops_log=x --log_offset=1 --per_job_logs=0 --numjobs=2 --stonewall",
        "--write_iops_log=x --log_offset=1 --log_prio=1",
        "--write_iops_log=x --log_avg_msec=100 --rate_iops=8000",
    ] {
        let mut all = Vec::new();
        for program in [&["fio"][..], &[FATHOM, "fio"]] {
            let words: Vec<&str> = base.split(' ').chain(more.split(' ')).collect();
            bench.run(&[program, &words].concat()).expect(0, &[]);
            let per_job = if more.contains("per_job_logs=0") { "" } else { ".1" };
            let log = format!("--inflate-log=x_iops{per_job}.log.fz");
            let shown = [&["fio"][..], &[FATHOM, "fio"]].map(|reader| {
                let ended = bench.run(&[reader, &[log.as_str()]].concat());
                ended.expect(0, &[]).out.clone()
            });
            assert!(shown[0] == shown[1] && !shown[0].is_empty(), "{program:?} {more}");
            all.push(shown[1].clone());
        }
        if !more.contains("avg") {
            let rows = |text: &str| -> Vec<String> {
                text.lines().map(|row| row.split_once(", ").expect("a time").1.to_owned()).collect()
            };
            assert_eq!(rows(&all[0]), rows(&all[1]), "{more}");
        }
    }
    bench.write("text", "0, 1, 0, 4096, 0\n");
    bench.check_refused("fio --inflate-log=text", 1, &["cannot read text", ".log.fz"]);
}

#[test]
fn no_operation_is_missing() {
    let bench = Bench::new();
    let line = "fio --output-format=json --name=a --ioengine=null --rw=randrw --size=200m --write_iops_log=x --log_offset=1 \
                --slat_percentiles=1";
    let ended = bench.fathom(line);
    let document = ended.expect(0, &[]).json();
    let log = std::fs::read_to_string(bench.path("x_iops.1.log")).expect("it was written");
    let mut offsets: Vec<u64> = Vec::new();
    for row in log.lines() {
        let fields: Vec<&str> = row.split(", ").collect();
        assert_eq!((fields.len(), fields[1], fields[3], fields[5]), (6, "1", "4096", "0"), "{row}");
        offsets.push(fields[4].parse().expect("it is a number"));
    }
    let reads = log.lines().filter(|row| row.split(", ").nth(2) == Some("0")).count() as u64;
    assert_eq!(document["jobs"][0]["read"]["total_ios"], reads);
    // Once per pass: each block is there, and once.
    offsets.sort_unstable();
    assert!(offsets.iter().copied().eq((0..51_200).map(|block| block * 4096)));
    // Times go up from the job's beginning.
    let times: Vec<u64> = log
        .lines()
        .map(|row| row.split(',').next().unwrap_or_default().parse().expect("milliseconds"))
        .collect();
    assert!(times.is_sorted() && times[0] < 1000, "{:?}", &times[..5]);
}

#[test]
fn operations_have_the_priority_that_they_were_given() {
    let bench = Bench::new();
    let job = "fio --minimal --name=a --filename=f --size=4m --rw=randread --direct=1 --ioengine=libaio --iodepth=4";
    let line = format!(
        "{job} --cmdprio_percentage=40 --cmdprio_class=3 --prioclass=2 --prio=1 --write_lat_log=x --log_prio=1"
    );
    if bench.fathom(&format!("{job} --cmdprio_percentage=100 --cmdprio_class=3")).code != 0 {
        return skip(
            "operations_have_the_priority_that_they_were_given",
            "no direct I/O through libaio here",
        );
    }
    bench.fathom(&line).expect(0, &[]);
    let log = std::fs::read_to_string(bench.path("x_clat.1.log")).expect("it was written");
    let of = |priority: &str| log.lines().filter(|row| row.ends_with(priority)).count();
    let (own, others) = (of(", 0x6000"), of(", 0x4001"));
    // Six standard deviations of a binomial of 1,024 at 40 % are 94.
    assert!(own + others == 1024 && own.abs_diff(410) < 94, "{own} and {others}");
    // The report tells them apart as the log does.
    let document = bench.fathom(&line.replace("--minimal", "--output-format=json")).json();
    let priorities = document["jobs"][0]["read"]["prios"].as_array().expect("there are two").clone();
    let counts: Vec<_> =
        priorities.iter().map(|of| (&of["prioclass"], &of["prio"], of["clat_ns"]["N"].as_u64())).collect();
    let read: u64 = counts.iter().filter_map(|(.., n)| *n).sum();
    assert!(counts.len() == 2 && read == 1024 && *counts[0].0 == 2 && *counts[1].0 == 3, "{counts:?}");
    // So do reports of a job that goes on; fio 3.33 crashes.
    let going = line.replace("--minimal", "--output-format=json --status-interval=500ms --rate_iops=1000");
    let ended = bench.fathom(&going);
    let documents: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&ended.out)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("documents");
    assert!(documents.len() >= 2, "{}", documents.len());
    for document in documents {
        let read = &document["jobs"][0]["read"];
        let of = read["prios"].as_array().expect("there are two").iter();
        let counted: Option<u64> = of.map(|of| of["clat_ns"]["N"].as_u64()).sum();
        assert_eq!(counted, read["total_ios"].as_u64(), "{read:#}");
    }
    // One that is asked for has no more than its record, which is a little older.
    bench.write("fio-dump-status", "");
    let ended = bench.fathom(&going.replace("--status-interval=500ms ", ""));
    let documents: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&ended.out)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("documents");
    assert_eq!(documents.len(), 2, "{ended:?}");
    for document in documents {
        let read = &document["jobs"][0]["read"];
        let of = read["prios"].as_array().into_iter().flatten();
        let counted: u64 = of.filter_map(|of| of["clat_ns"]["N"].as_u64()).sum();
        assert!(Some(counted) <= read["total_ios"].as_u64(), "{read:#}");
    }
}

#[test]
fn windows_count_from_the_end_of_the_ramp() {
    let bench = Bench::new();
    let line = "fio --minimal --name=a --ioengine=null --rw=read --rate_iops=1000 --size=1m --time_based --ramp_time=350ms \
                --runtime=1 --log_avg_msec=250 --log_hist_msec=500 --write_iops_log=x --write_hist_log=x";
    bench.fathom(line).expect(0, &[]);
    let times = |log: &str| -> Vec<u64> {
        let log = std::fs::read_to_string(bench.path(log)).expect("it was written");
        log.lines().map(|row| row.split(',').next().unwrap_or_default().parse().expect("a time")).collect()
    };
    // A window in which a busy machine did nothing has no row.
    for (log, window_ms) in [("x_iops.1.log", 250), ("x_clat_hist.1.log", 500)] {
        let times = times(log);
        let are_edges = times.iter().all(|time| time % window_ms == 0 && *time <= 1000);
        assert!(!times.is_empty() && are_edges && times.is_sorted(), "{log}: {times:?}");
    }
}

#[test]
fn windows_have_the_figure_that_is_asked_for() {
    let bench = Bench::new();
    let job = "fio --minimal --name=a --ioengine=null --rw=read --size=1m --time_based --runtime=700ms --write_lat_log=x";
    let line = format!("{job} --log_avg_msec=200 --log_window_value=both --log_offset=1");
    let ran = bench.fathom(&line);
    // The ninth field of a terse line is the run's time in ms; a busy machine makes it longer than was asked.
    let took: u64 = ran.expect(0, &[]).out.split(';').nth(8).and_then(|ms| ms.parse().ok()).expect("a time");
    let log = std::fs::read_to_string(bench.path("x_lat.1.log")).expect("it was written");
    for row in log.lines() {
        let fields: Vec<u64> = row.split(", ").map(|field| field.parse().expect("a number")).collect();
        let [time, mean, largest, direction, size, offset, priority] = fields[..] else { panic!("{row}") };
        assert!(time <= took + 1 && mean <= largest, "{row} of {took} ms");
        assert_eq!((direction, size, offset, priority), (0, 0, 0, 0), "{row}");
    }
    assert_eq!(log.lines().count() as u64, took.div_ceil(200), "{log}");
    // Without a period no histogram is ever written.
    bench.fathom(&format!("{job} --write_hist_log=h")).expect(0, &[]);
    assert_eq!(std::fs::read_to_string(bench.path("h_clat_hist.1.log")).expect("it was written"), "");
}
