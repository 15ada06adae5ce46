//! The reports of `fathom fio` beside the peer's own: the same lines in the normal report, the same fields in the terse one,
//! whatever is asked for. What numbers there are, and which unit fits them, is left out of the comparison.

use crate::support::{Bench, FATHOM, skip, tool};

/// Options of one job of a megabyte, and what is asked for on the command line.
const JOBS: [&str; 10] = [
    "--rw=randrw",
    "--rw=write --fsync=16 --description=of-writes",
    "--rw=trim --ioengine=null --numjobs=2",
    "--rw=read --numjobs=3 --group_reporting --percentile_list=50:99.999 --significant_figures=6",
    "--rw=randrw --unified_rw_reporting=mixed --lat_percentiles=1 --ioengine=libaio --iodepth=4",
    "--rw=read --gtod_reduce=1 --disk_util=0 --continue_on_error=all",
    "--rw=write --bsrange=4k-64k --unit_base=1 --kb_base=1000 --disable_clat=1",
    "--rw=read --name=b --size=1m --stonewall --rw=write --new_group --iodepth=2 --ioengine=libaio",
    "--rw=write --nrfiles=3 --name=b --size=1m --rw=read --thread",
    "--rw=randread --bssplit=4k/50:1m/50 --norandommap --clat_percentiles=0",
];

/// What `program` prints for a job in an empty folder.
fn printed(bench: &Bench, program: &[&str], job: &str, more: &[&str]) -> String {
    let words = format!("--name=a --size=1m {job}");
    let ended = bench.run(&[program, more, &words.split(' ').collect::<Vec<_>>()].concat());
    assert_eq!(ended.code, 0, "{program:?} {words}: {}", ended.err);
    ended.out
}

/// Lines with their numbers taken out: `read: IOPS=#, BW=# (#)(#/#msec)`. Lines of which there are as many as the numbers
/// make are left out.
fn lines(report: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in report.lines() {
        // What takes how long decides how many of these there are.
        let is_open = line.starts_with("  lat (") || line.starts_with("     |");
        let is_note = line.starts_with("note:") || line.starts_with("fio-3.33");
        let is_sample = line.starts_with("   bw (") || line.starts_with("   iops ");
        if is_open || is_note || is_sample {
            continue;
        }
        // Where they differ in the devices they name, and whether a run was too short to count on them.
        let line = match line.split_once(": ios=") {
            Some((_, counts)) => format!("  DISK: ios={counts}"),
            None => line.to_owned(),
        };
        // The date has a day and a month in it.
        let line = line.split_once(": pid=").map_or(line.clone(), |(before, _)| format!("{before}: pid="));
        let units =
            ["(nsec)", "(usec)", "(msec)"].iter().fold(line, |line, unit| line.replace(unit, "(unit)"));
        lines.push(without_numbers(&units));
    }
    lines
}

/// Numbers, with the prefix and unit that belong to their size, as `#`.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out += rest[..at].trim_end_matches(' ');
        let number = &rest[at..];
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let tail = &number[end..];
        let unit = [
            "KiB", "MiB", "GiB", "kB", "MB", "GB", "Kibit", "Mibit", "Gibit", "kbit", "Mbit", "Gbit", "k",
            "M", "B",
        ]
        .iter()
        .filter(|unit| tail.starts_with(**unit) && !tail.starts_with("msec"))
        .map(|unit| unit.len())
        .max()
        .unwrap_or(0);
        out.push('#');
        rest = &tail[unit..];
    }
    out + rest
}

#[test]
fn the_normal_report_has_the_same_lines() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("the_normal_report_has_the_same_lines", &why);
    }
    for job in JOBS {
        // Files that one has laid out are there for the other.
        let bench = Bench::new();
        let theirs = printed(&bench, &["fio"], job, &[]);
        let bench = Bench::new();
        let ours = printed(&bench, &[FATHOM, "fio"], job, &[]);
        assert_eq!(lines(&ours), lines(&theirs), "{job}\n{theirs}\n{ours}");
    }
}

#[test]
fn the_terse_report_has_the_same_fields() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("the_terse_report_has_the_same_fields", &why);
    }
    let bench = Bench::new();
    // The version's own words, and what stands for a number, may differ; a name or a missing field may not.
    let fields = |report: &str| -> Vec<Vec<String>> {
        let line = |line: &str| {
            line.split(';')
                .map(|field| without_numbers(field.split("-fathom").next().unwrap_or(field)))
                .collect()
        };
        report.lines().map(line).collect()
    };
    for (at, job) in JOBS.into_iter().enumerate() {
        // Each job with one of the versions.
        let version = format!("--terse-version={}", 2 + at % 4);
        let more = ["--minimal", &version];
        let theirs = printed(&bench, &["fio"], job, &more);
        let ours = printed(&bench, &[FATHOM, "fio"], job, &more);
        assert_eq!(fields(&ours), fields(&theirs), "{job} {version}\n{theirs}\n{ours}");
    }
}

#[test]
fn a_list_of_formats_is_one_after_another() {
    let bench = Bench::new();
    let ended = bench.fathom("fio --output-format=normal,json+,terse --name=a --ioengine=null --size=1m");
    ended.expect(0, &[]);
    let (before, rest) = ended.out.split_once("\n{").expect("there is a document");
    let (document, after) = rest.split_once("\n}\n").expect("it ends");
    assert!(before.starts_with("a: (g=0)") && before.contains("\n3;fio-3.33"), "{before}");
    assert!(after.contains("Run status group 0 (all jobs):"), "{after}");
    let document: serde_json::Value =
        serde_json::from_str(&format!("{{{document}}}")).expect("the document is whole");
    assert!(document["jobs"][0]["read"]["clat_ns"]["bins"].is_object());
    // Nothing but the document where nothing else is asked for.
    bench.fathom("fio --output-format=json --name=a --ioengine=null --size=1m").json();
    // A list that comes later is the whole of what is wanted.
    bench.fathom("fio --append-terse --output-format=json --name=a --ioengine=null --size=1m").json();
    // In a file all of it is, and nothing beside.
    let ended = bench.fathom("fio --append-terse --output=both --name=a --ioengine=null --size=1m");
    assert_eq!(ended.expect(0, &[]).out, "");
    let both = std::fs::read_to_string(bench.path("both")).expect("it was written");
    assert!(both.contains("Starting 1 process\n3;fio-3.33") && both.contains("READ: bw="), "{both}");
}

#[test]
fn reports_come_while_the_jobs_run() {
    let bench = Bench::new();
    let line = "fio --status-interval=500ms --eta=always --eta-newline=500ms --bandwidth-log --idle-prof=system --output-format=json \
                --output=out --name=a --ioengine=null --rw=read --size=1m --time_based --runtime=1200ms";
    let ended = bench.fathom(line);
    ended.expect(0, &[]);
    assert!(ended.out.contains("Jobs: 1 (f=1): [R(1)]["), "{}", ended.out);
    let reports = std::fs::read_to_string(bench.path("out")).expect("it was written");
    let documents: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&reports)
        .into_iter()
        .collect::<Result<_, _>>()
        .expect("each is a document");
    assert!(documents.len() >= 3, "{}", documents.len());
    let moved: Vec<u64> = documents
        .iter()
        .map(|document| document["jobs"][0]["read"]["total_ios"].as_u64().unwrap_or(0))
        .collect();
    assert!(moved[0] > 0 && moved.is_sorted(), "{moved:?}");
    let idle = |document: &serde_json::Value| document["cpu_idleness"]["system"].as_f64();
    assert!(documents.iter().map(idle).all(|idle| idle.is_some_and(|idle| idle <= 100.0)), "{documents:#?}");
    let log = std::fs::read_to_string(bench.path("agg-read_bw.log")).expect("it was written");
    assert!(log.lines().count() >= 2 && log.lines().all(|row| row.split(", ").count() == 5), "{log}");
    // On standard output the line comes before a report for people, and not into a document.
    let line = "fio --eta=always --name=a --ioengine=null --rate_iops=8 --size=64k";
    let ended = bench.fathom(line);
    assert!(ended.out.contains("Jobs: 1 (f=1), 0-8 IOPS: [R(1)][") && ended.err.is_empty(), "{ended:#?}");
    let ended = bench.fathom(&format!("{line} --output-format=json"));
    ended.json();
    assert_eq!(ended.err, "");
    // Rates are right whatever logs make of the intervals.
    let line = "fio --eta=always --eta-newline=100ms --name=a --ioengine=null --rate_iops=1000 --size=4m --write_bw_log=log \
                --log_avg_msec=100";
    let ended = bench.fathom(line);
    let rates = ended.out.split("[r=").filter_map(|rest| rest.split_once(" IOPS]")?.0.parse::<f64>().ok());
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    assert!((800.0..=1200.0).contains(&rates[rates.len() / 2]), "{rates:?} in {ended:#?}");
}

/// A job of system calls alone: in each report most of its time is the kernel's, and what it used grows.
#[test]
fn reports_on_the_way_tell_the_time_of_the_kernel() {
    let bench = Bench::new();
    let line = "fio --status-interval=500ms --output-format=json --output=out --name=a --filename=f --ioengine=psync --rw=read \
                --bs=64k --size=1m --time_based --runtime=1600ms";
    bench.fathom(line).expect(0, &[]);
    let reports = std::fs::read_to_string(bench.path("out")).expect("it was written");
    let jobs: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&reports)
        .into_iter::<serde_json::Value>()
        .map(|document| document.expect("each is a document")["jobs"][0].clone())
        .collect();
    assert!(jobs.len() >= 3, "{}", jobs.len());
    let number = |job: &serde_json::Value, key: &str| job[key].as_f64().expect("a number");
    for job in &jobs {
        let (user, system) = (number(job, "usr_cpu"), number(job, "sys_cpu"));
        assert!(system > user && user + system <= 110.0, "{user} % and {system} %");
    }
    for counted in ["ctx", "minf", "majf"] {
        let all: Vec<f64> = jobs.iter().map(|job| number(job, counted)).collect();
        assert!(all.is_sorted(), "{counted}: {all:?}");
    }
    assert!(number(&jobs[0], "ctx") + number(&jobs[0], "minf") > 0.0, "{}", jobs[0]);
}

/// The first document of what a tool prints.
fn first_document(program: &[&str], bench: &Bench, line: &str) -> serde_json::Value {
    let words: Vec<&str> = line.split(' ').collect();
    let ended = bench.run(&[program, &words, &["--output-format=json"]].concat());
    let begin = ended.expect(0, &[]).out.find("{\n").expect("a document");
    let mut documents = serde_json::Deserializer::from_str(&ended.out[begin..]).into_iter();
    documents.next().expect("there is one").expect("it is whole")
}

#[test]
fn reports_have_the_devices_when_the_peer_has_them() {
    let test = "reports_have_the_devices_when_the_peer_has_them";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    let has_devices = |program: &[&str], line: &str| {
        let bench = Bench::new();
        first_document(program, &bench, "--name=w --rw=write --size=64k --write_iolog=ops --filename=f");
        first_document(program, &bench, line)["disk_util"].is_array()
    };
    for line in [
        "--name=a --rw=read --size=64k --filename=f",
        // While it runs: the first of several.
        "--name=a --rw=read --size=64k --filename=f --time_based --runtime=2 --status-interval=1",
        "--name=a --read_iolog=ops",
        "--name=a --read_iolog=ops --name=b --rw=read --size=64k --filename=f",
    ] {
        assert_eq!(has_devices(&[FATHOM, "fio"], line), has_devices(&["fio"], line), "{line}");
    }
}

#[test]
fn global_options_have_the_name_that_began_them() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("global_options_have_the_name_that_began_them", &why);
    }
    for line in [
        "--name=global --bs=8k --rw=write --name=a --size=64k",
        "--bs=8k --name=global --rw=write --name=globalx --iodepth=1 --name=a --size=64k",
        "--bs=8k --name=a --size=64k",
    ] {
        let of = |program: &[&str]| first_document(program, &Bench::new(), line)["global options"].clone();
        let peer = of(&["fio"]);
        assert!(peer.is_object(), "{line}");
        assert_eq!(of(&[FATHOM, "fio"]), peer, "{line}");
    }
}

/// What ends in its ramp is counted whole, and has no single operations: no part of them is in logs or percentiles.
#[test]
fn a_job_that_ends_in_its_ramp_has_no_part_of_its_operations_in_its_logs() {
    for (options, of_submission) in [("", 100), ("--slat_percentiles=1", 0)] {
        let bench = Bench::new();
        let job = "fio --name=a --filename=f --size=400k --rw=write --bs=4k --ioengine=libaio --iodepth=16 --ramp_time=10 \
                   --write_lat_log=R --output-format=json+";
        let ended = bench.fathom(format!("{job} {options}").trim());
        let document: serde_json::Value =
            serde_json::from_str(&ended.expect(0, &[]).out).expect("one document");
        let write = &document["jobs"][0]["write"];
        let counts = ["slat_ns", "clat_ns", "lat_ns"].map(|name| write[name]["N"].as_u64());
        assert_eq!(counts, [Some(of_submission), Some(100), Some(100)], "{options}: {write:#}");
        let bins = write["slat_ns"]["bins"].as_object().map_or(0, serde_json::Map::len);
        assert_eq!(bins, 0, "{options}: {write:#}");
        let log = std::fs::read_to_string(bench.path("R_clat.1.log")).expect("the log is there");
        assert_eq!(log, "", "{options}");
    }
}
