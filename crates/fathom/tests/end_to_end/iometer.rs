//! Iometer's command line: the plan of a configuration, its runs, and its results file.

use crate::support::{Bench, project, skip, tool};

/// A configuration of Iometer 1.1.0: a manager with two workers, of which the second runs two specifications, cycling
/// queue depths 1 and 2.
const CONFIGURATION: &str = "Version 1.1.0 \r\n\
    'TEST SETUP ====\r\n'Test Description\r\n\tfirst, light\r\n'Run Time\r\n'\thours\r\n\t0          0          1\r\n\
    'Ramp Up Time (s)\r\n\t0\r\n'Record Results\r\n\tALL\r\n\
    'Queue Depth Cycling\r\n'\tstart      end        step       step type\r\n\t1          2          2          EXPONENTIAL\r\n\
    'Test Type\r\n\tCYCLE_OUTSTANDING_IOS\r\n'END test setup\r\n\
    'ACCESS SPECIFICATIONS ====\r\n\
    'Access specification name,default assignment\r\n\tmixed,NONE\r\n\
    'size,% of size,% reads,% random,delay,burst,align,reply\r\n\
    \t4096,75,67,100,0,1,4096,0\r\n\t65536,25,100,0,0,1,4096,0\r\n\
    'Access specification name,default assignment\r\n\treads,ALL\r\n\
    'size,% of size,% reads,% random,delay,burst,align,reply\r\n\t8192,100,100,0,0,1,8192,0\r\n\
    'END access specifications\r\n\
    'MANAGER LIST ====\r\n'Manager ID, manager name\r\n\t1,HOST\r\n'Manager network address\r\n\t\r\n\
    'Worker\r\n\tWorker 1\r\n'Worker type\r\n\tDISK\r\n\
    'Default target settings for worker\r\n\
    'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\r\n\
    \t4,DISABLED,1,ENABLED,42\r\n'Disk maximum size,starting sector,Data pattern\r\n\t2048,0,2\r\n\
    'End default target settings for worker\r\n\
    'Assigned access specs\r\n\tmixed\r\n'End assigned access specs\r\n\
    'Target assignments\r\n'Target\r\n\tC: first\r\n'Target type\r\n\tDISK\r\n'End target\r\n\
    'Target\r\n\t1: \"X, 2\"\r\n'Target type\r\n\tDISK\r\n'End target\r\n'End target assignments\r\n'End worker\r\n\
    'Worker\r\n\tWorker 2\r\n'Worker type\r\n\tDISK\r\n\
    'Default target settings for worker\r\n\
    'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\r\n\
    \t4,DISABLED,1,DISABLED,0\r\n'Disk maximum size,starting sector,Data pattern\r\n\t1024,2048,2\r\n\
    'End default target settings for worker\r\n\
    'Assigned access specs\r\n\tmixed\r\n\treads\r\n'End assigned access specs\r\n\
    'Target assignments\r\n'Target\r\n\tC: first\r\n'Target type\r\n\tDISK\r\n'End target\r\n'End target assignments\r\n'End worker\r\n\
    'End manager\r\n'END manager list\r\nVersion 1.1.0 \r\n";

#[test]
fn a_plan_is_printed_as_json() {
    let bench = Bench::new();
    bench.write("a.icf", CONFIGURATION.replace("first, light", "Gr\u{f6}\u{df}e"));
    // As Windows has it: code page 1252.
    let bytes = CONFIGURATION.replace("first, light", "Gr?").into_bytes();
    let bytes: Vec<u8> = bytes.into_iter().map(|byte| if byte == b'?' { 0xf6 } else { byte }).collect();
    bench.write("b.icf", bytes);
    assert_eq!(bench.fathom("iometer --plan b.icf").json()["description"], "Gr\u{f6}");
    let ended = bench.fathom("iometer --plan a.icf");
    ended.expect(0, &[]);
    let plan = ended.json();
    assert_eq!(plan["description"], "Gr\u{f6}\u{df}e");
    assert_eq!(plan["version"], "1.1.0");
    assert_eq!((&plan["run_seconds"], &plan["ramp_seconds"]), (&1.into(), &0.into()));
    assert_eq!(plan["queue_cycling"], serde_json::json!([1, 2, 2, "EXPONENTIAL"]));
    assert_eq!(plan["worker_cycling"], serde_json::json!([1, 1, "LINEAR"]));
    assert_eq!(plan["specs"][0]["lines"][1]["size"], 65536);
    assert_eq!(plan["managers"][0]["workers"][0]["fixed_seed"], 42);
    assert!(plan["managers"][0]["workers"][1]["fixed_seed"].is_null());
    let points = plan["points"].as_array().unwrap();
    let order: Vec<_> = points.iter().map(|p| (&p["spec_index"], &p["active"][0]["outstanding"])).collect();
    let expect = [0, 0, 1, 1].map(serde_json::Value::from);
    let depths = [1, 2, 1, 2].map(serde_json::Value::from);
    assert_eq!(order, expect.iter().zip(&depths).collect::<Vec<_>>());
    assert_eq!(
        points[0]["rows"],
        serde_json::json!([
            ["ALL", "All", "mixed", 1, 2, 3],
            ["MANAGER", "HOST", "mixed", "", 2, 3],
            ["WORKER", "Worker 1", "mixed", "", "", 2],
            ["DISK", "C: first", "", "", "", ""],
            ["DISK", "1: \"X  2\"", "", "", "", ""],
            ["WORKER", "Worker 2", "mixed", "", "", 1],
            ["DISK", "C: first", "", "", "", ""],
        ])
    );
}

#[test]
fn a_bad_configuration_is_refused_with_its_line() {
    let bench = Bench::new();
    bench.write("bad.icf", CONFIGURATION.replace("4096,75,", "4096,74,"));
    bench.fathom("iometer --plan bad.icf").expect(2, &["icf.shares", "sum to 99 %", "bad.icf:20"]);
    let ended = bench.fathom("iometer --json --plan bad.icf");
    ended.expect(2, &["icf.shares"]);
    let error = &ended.json()["error"];
    assert_eq!(error["line"], 20);
    assert!(error["message"].as_str().unwrap().contains("99 %"));
    let lines = "'x\n".repeat(38);
    bench.write("binary.icf", format!("Version 1.1.0\n{lines}a\0b\n"));
    let binary = bench.fathom("iometer --plan binary.icf --json");
    let says = ["binary.icf is not a text: in line 40, byte 129 of it is 0"];
    assert_eq!(binary.expect(2, &says).json()["error"]["line"], 40);
    bench.fathom("iometer --plan absent.icf").expect(2, &["absent.icf"]);
    let absent = bench.fathom("iometer --plan absent.icf --json").json();
    assert!(absent["error"]["message"].is_string() && absent["error"]["line"] == 1, "{absent}");
    bench.fathom("iometer").expect(2, &["-c FILE.icf"]);
    bench.fathom("iometer --plam").expect(2, &["--plam"]);
}

#[test]
fn what_would_not_run_is_told_with_the_plan() {
    let bench = Bench::new();
    // Iometer takes all of these without a word, and so there is a plan.
    let normal = CONFIGURATION.replace("CYCLE_OUTSTANDING_IOS", "NORMAL");
    for (from, to, says) in [
        ("\t65536,25", "\t0,25", ["icf.bad-value", "operations of 0 bytes"]),
        (
            "\t2048,0,2",
            "\t8,0,2",
            ["icf.bad-value", "uses 4 KiB of its targets, and \"mixed\" has operations of 64 KiB"],
        ),
        ("\t4,DISABLED,1,ENABLED", "\t0,DISABLED,1,ENABLED", ["icf.bad-value", "0 outstanding I/Os"]),
        ("\t0          0          1", "\t0 0 0", ["icf.no-run-time", "the run time is 0"]),
        ("0,0,1,8192,0", "0,0,1,3,0", ["icf.unaligned", "align 3 of \"reads\""]),
        ("\t8192,100", "\t5000,100", ["icf.unaligned", "operations of 5000 B of \"reads\""]),
    ] {
        let text = normal.replace(from, to);
        assert_ne!(text, normal, "{from}");
        bench.write("a.icf", text);
        let ended = bench.fathom("iometer --plan a.icf");
        ended.expect(0, &says);
        assert!(ended.err.contains("warning") && !ended.err.contains("error"), "{}", ended.err);
        ended.json();
    }
    // What a sector is, is asked for as where it runs.
    bench.write("a.icf", normal.replace("0,0,1,8192,0", "0,0,1,512,0"));
    let says = |line: &str| bench.fathom(line).expect(0, &[]).err.contains("icf.unaligned");
    assert!(!says("iometer --plan a.icf") && says("iometer --plan --sector-size 4096 a.icf"));
    // Nobody runs anything: the points are none.
    let begin = CONFIGURATION.find("'MANAGER LIST").expect("it is there");
    bench.write("a.icf", &CONFIGURATION[..begin]);
    let ended = bench.fathom("iometer --plan a.icf");
    ended.expect(0, &["icf.specifications-only", "2 access specifications, and no worker"]);
    assert_eq!(ended.json()["points"], serde_json::json!([]));
    let idle = CONFIGURATION.replace("'Target assignments\r\n", "'Target assignments\r\n'End target assignments\r\n'End worker\r\n'End manager\r\n'END manager list\r\n");
    let end = idle.find("'END manager list\r\n").expect("it is there") + "'END manager list\r\n".len();
    bench.write("a.icf", &idle[..end]);
    let ended = bench.fathom("iometer --plan a.icf");
    ended.expect(0, &["icf.nothing-to-run", "there is nothing to run"]);
    assert_eq!(ended.json()["points"], serde_json::json!([]));
    // A cycling that begins behind its end has no test, which is not for want of workers.
    let backwards =
        CONFIGURATION.replace("1          2          2          EXPONENTIAL", "32 1 2 EXPONENTIAL");
    assert_ne!(backwards, CONFIGURATION);
    bench.write("a.icf", backwards);
    bench.fathom("iometer --plan a.icf").expect(0, &["icf.nothing-to-run", "the cycling has no test"]);
    // Line ends that Iometer does not know.
    bench.write("a.icf", CONFIGURATION.replace("\r\n", "\r"));
    bench.fathom("iometer --plan a.icf").expect(2, &["a.icf:1", "carriage return (CR) alone", "LF"]);
}

#[test]
fn published_configurations_have_plans() {
    let Ok(files) = std::fs::read_dir(project().join("../shared/corpus/iometer")) else {
        return skip("published_configurations_have_plans", "the corpus of configurations is not there");
    };
    let bench = Bench::new();
    for path in files.map(|file| file.expect("the corpus can be read").path()) {
        if path.extension().is_some_and(|ending| ending == "icf") {
            let path = path.to_str().expect("names are plain");
            let ended = bench.fathom_with(&["iometer", "--plan", path, "--json"]);
            ended.expect(if path.contains("BROKEN") { 2 } else { 0 }, &[]);
            assert!(ended.json().is_object());
        }
    }
}

/// The lines of a results file.
fn lines(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path("results.csv")).expect("it was written");
    assert!(text.split_inclusive('\n').all(|line| line.ends_with("\r\n")), "lines end as on Windows");
    text.lines().map(str::to_owned).collect()
}

/// Whoever cuts the power in a night of tests finds those that were over.
#[test]
fn tests_that_have_ended_are_in_the_results_of_a_killed_run() {
    let bench = Bench::new();
    // Long enough that the third goes on when it is killed.
    bench.write("a.icf", CONFIGURATION.replace("0          0          1\r", "0 0 4\r"));
    let mut running = bench.start("iometer -c a.icf -r results.csv -t 30 --map C:=file --map *=null:");
    running.wait_for("[3/4]");
    running.signal(rustix::process::Signal::KILL);
    running.ended();
    let killed = lines(&bench);
    let tests = killed.iter().filter(|line| *line == "'Results").count();
    assert_eq!(tests, 2, "{killed:#?}");
    assert_eq!(killed[killed.len() - 2], "'Time Stamp", "the last test is whole");
    // The next run's are added behind them.
    bench.write("a.icf", CONFIGURATION);
    bench.fathom("iometer -c a.icf -r results.csv -t 30 --map C:=file --map *=null: --quiet").expect(0, &[]);
    let both = lines(&bench);
    assert_eq!(both[..killed.len()], killed);
    assert_eq!(both.iter().filter(|line| *line == "'Results").count(), tests + 4);
    assert_eq!(both.iter().filter(|line| line.starts_with("'Test Type,")).count(), 2);
}

/// The cells of a results file's rows by the heading of their column, for the rows that begin with `kind`.
fn column(lines: &[String], kind: &str, heading: &str) -> Vec<String> {
    let heads = lines.iter().find(|line| line.starts_with("'Target Type,")).expect("there are results");
    let at = heads[1..].split(',').position(|head| head == heading).expect("there is such a column");
    let rows = lines.iter().filter(|line| line.split(',').next() == Some(kind));
    rows.map(|line| line.split(',').nth(at).expect("rows have all columns").to_owned()).collect()
}

fn numbers(lines: &[String], kind: &str, heading: &str) -> Vec<f64> {
    column(lines, kind, heading).iter().map(|cell| cell.parse().expect("it is a number")).collect()
}

#[test]
fn a_configuration_runs_and_its_results_are_appended() {
    let bench = Bench::new();
    bench.write("a.icf", CONFIGURATION);
    let line = "iometer -c a.icf -r results.csv -t 30 --map C:=file --map *=sim: --quiet";
    bench.fathom(line).expect(0, &["record:"]);
    let once = lines(&bench);
    assert_eq!(once[..4], ["'Test Type,Test Description", "6,first, light", "'Version", "1.1.0"]);
    assert_eq!(once.last().map(String::as_str), Some("'End Test"));
    assert_eq!(once.iter().filter(|line| *line == "'Results").count(), 4);
    // Specifications are listed where they change: those of the first two tests, then that of the others.
    let heads: Vec<_> = once
        .iter()
        .enumerate()
        .filter(|(_, line)| line.starts_with("'Access specification name"))
        .map(|(at, _)| once[at + 1].as_str())
        .collect();
    assert_eq!(heads, ["mixed,0", "reads,1"]);
    assert!(once.contains(&"4096,75,67,100,0,1,4096,0,".to_owned()));
    for line in once
        .iter()
        .filter(|line| ["ALL", "MANAGER", "WORKER", "DISK"].contains(&line.split(',').next().unwrap()))
    {
        assert_eq!(line.split(',').count(), 80, "{line}");
    }
    for line in once.iter().filter(|line| line.starts_with("PROCESSOR")) {
        assert_eq!(line.split(',').count(), 59, "{line}");
    }
    assert_eq!(column(&once, "ALL", "Queue Depth"), ["1", "2", "1", "2"]);
    assert_eq!(column(&once, "ALL", "Access Specification Name"), ["mixed", "mixed", "reads", "reads"]);
    assert_eq!(column(&once, "DISK", "Target Name")[..3], ["C: first", "1: \"X  2\"", "C: first"]);
    // Rows add up: the manager to the sum, workers to the manager, targets to their worker.
    let sums = |heading: &str| {
        let of = |kind: &str| numbers(&once, kind, heading);
        let (all, managers, workers, disks) = (of("ALL"), of("MANAGER"), of("WORKER"), of("DISK"));
        assert_eq!(all, managers, "{heading}");
        assert!((all.iter().sum::<f64>() - workers.iter().sum::<f64>()).abs() < 1e-3, "{heading}");
        assert!((all.iter().sum::<f64>() - disks.iter().sum::<f64>()).abs() < 1e-3, "{heading}");
        assert!((workers[0] - disks[0] - disks[1]).abs() < 1e-3, "{heading}");
        all
    };
    let operations = sums("Read I/Os").iter().sum::<f64>() + sums("Write I/Os").iter().sum::<f64>();
    assert!(sums("IOps").iter().all(|&iops| iops > 0.0));
    assert_eq!(sums("Errors"), [0.0; 4]);
    // The classes of latencies hold every operation.
    let classes = numbers_from(&once, "ALL", 59);
    assert_eq!(classes.iter().sum::<f64>(), operations);
    // Only what a file of half the sectors of the second worker begins at is used: the file ends where both end.
    let size = std::fs::metadata(bench.path("file")).expect("it was laid out").len();
    assert_eq!(size, (2048 + 1024) * 512);
    assert_eq!(column(&once, "WORKER", "Starting Sector")[..2], ["0", "2048"]);
    assert_eq!(column(&once, "ALL", "Maximum Size")[0], u64::MAX.to_string());

    bench.fathom(line).expect(0, &[]);
    let twice = lines(&bench);
    assert_eq!(twice[..once.len()], once[..]);
    assert_eq!(twice.iter().filter(|line| *line == "'End Test").count(), 2);
    // A link called iometer is Iometer to whoever calls it.
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fathom"), bench.path("Iometer"))
        .expect("links can be made");
    let link = bench.path("Iometer");
    let ended = bench.run(&[link.to_str().unwrap(), "--plan", "a.icf"]);
    ended.expect(0, &[]);
    assert_eq!(ended.json()["test_type"], "CYCLE_OUTSTANDING_IOS");
}

#[test]
fn updates_are_recorded_beside_the_results_where_that_is_asked_for() {
    let bench = Bench::new();
    let display = |values: &str| {
        let section = format!(
            "'RESULTS DISPLAY ====\r\n'Record Last Update Results,Update Frequency,Update Type\r\n\t{values}\r\n\
             'END results display\r\n'ACCESS SPECIFICATIONS ===="
        );
        let longer = CONFIGURATION.replace("0          0          1", "0          0          5");
        longer.replace("'ACCESS SPECIFICATIONS ====", &section)
    };
    bench.write("a.icf", display("DISABLED,1,LAST_UPDATE"));
    bench.fathom("iometer -c a.icf -r results.csv --map *=sim: --quiet").expect(0, &[]);
    assert!(!bench.path("instresults.csv").exists());
    bench.write("a.icf", display("ENABLED,2,LAST_UPDATE"));
    bench.fathom("iometer -c a.icf -r results.csv --map *=sim: --quiet").expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("instresults.csv")).expect("it was written");
    assert!(text.split_inclusive('\n').all(|line| line.ends_with("\r\n")), "lines end as on Windows");
    let head = text.lines().find(|line| line.starts_with("TimeStamp,'Target Type,")).expect("it has results");
    assert_eq!(
        head,
        format!("TimeStamp,'{}", fathom_report::IOMETER_COLUMNS.join(",").replace("MiBps", "MBps"))
    );
    assert_eq!(text.lines().last(), Some("'End Test"));
    let rows: Vec<Vec<&str>> =
        text.lines().map(|line| line.split(',').collect()).filter(|row: &Vec<_>| row.len() == 81).collect();
    let of = |kind: &str, name: &str, spec: &str| -> Vec<f64> {
        let wanted = rows.iter().filter(|row| row[1..4] == [kind, name, spec]);
        wanted.map(|row| row[33].parse().expect("Read I/Os are a number")).collect()
    };
    // Two tests of the first specification, of 5 s each: after 2, 4 and 5 s, and the whole.
    let (updates, whole) = (of("WORKER", "Worker 1", ""), of("WORKER", "Worker 1", "mixed"));
    assert_eq!((updates.len(), whole.len()), (6, 2));
    for test in 0..2 {
        let sum: f64 = updates[3 * test..3 * test + 3].iter().sum();
        assert!(sum > 0.0 && sum <= whole[test] && sum > 0.9 * whole[test], "{sum} of {}", whole[test]);
    }
    assert_eq!(of("ALL", "All", "mixed").len() + of("ALL", "All", "reads").len(), 4);
    let real =
        project().join("../shared/corpus/iometer/results/QuarchTechnologyLtd_AN-016__insttestfile.csv");
    match std::fs::read_to_string(&real) {
        Ok(real) => assert!(real.lines().any(|line| line.trim_end() == head)),
        Err(error) => {
            skip("updates_are_recorded_beside_the_results_where_that_is_asked_for", &error.to_string());
        }
    }
}

/// Milliseconds of the day of the time stamps, in order; `2026-11-20 08:59:24:123`.
fn stamps(lines: &[String]) -> Vec<u64> {
    let heads = lines.iter().enumerate().filter(|(_, line)| *line == "'Time Stamp");
    let of = |(at, _): (usize, &String)| {
        let (_, time) = lines[at + 1].split_once(' ').expect("it has a day and a time");
        let parts: Vec<u64> = time.split(':').map(|part| part.parse().expect("it is a number")).collect();
        ((parts[0] * 60 + parts[1]) * 60 + parts[2]) * 1000 + parts[3]
    };
    heads.map(of).collect()
}

#[test]
fn tests_in_virtual_time_have_one_clock_and_no_processors() {
    let bench = Bench::new();
    bench.write("a.icf", CONFIGURATION);
    bench.fathom("iometer -c a.icf -r results.csv -t 30 --map *=sim: --quiet").expect(0, &[]);
    let lines = lines(&bench);
    let stamps = stamps(&lines);
    assert_eq!(stamps.len(), 5, "the start and four tests");
    for pair in stamps.windows(2) {
        let took = (pair[1] + 86_400_000 - pair[0]) % 86_400_000;
        assert!(took >= 1000, "a test of 1 s is at an end {took} ms after the one before it");
    }
    // How busy this host was meanwhile has nothing to do with them.
    assert_eq!(lines.iter().filter(|line| line.starts_with("PROCESSOR")).count(), 0);
    for heading in ["% CPU Utilization", "Interrupts per Second", "CPU Effectiveness", "Packets/Second"] {
        for kind in ["ALL", "MANAGER"] {
            assert_eq!(column(&lines, kind, heading), [""; 4], "{kind} {heading}");
        }
    }
    // What takes real time has them.
    let other = Bench::new();
    other.write("a.icf", CONFIGURATION);
    other.fathom("iometer -c a.icf -r results.csv -t 30 --map *=null: --quiet").expect(0, &[]);
    let lines = self::lines(&other);
    assert!(lines.iter().any(|line| line.starts_with("PROCESSOR")), "{lines:?}");
    assert!(numbers(&lines, "ALL", "% CPU Utilization").iter().all(|&busy| busy > 0.0));
}

#[test]
fn results_begin_on_a_line_of_their_own() {
    let bench = Bench::new();
    bench.write("a.icf", CONFIGURATION);
    bench.write("results.csv", "Aborted test");
    bench.fathom("iometer -c a.icf -r results.csv -t 30 --map *=sim: --quiet").expect(0, &[]);
    let lines = lines(&bench);
    assert_eq!(lines[..2], ["Aborted test", "'Test Type,Test Description"]);
}

#[test]
fn results_and_updates_are_written_whatever_becomes_of_the_other() {
    let updated = CONFIGURATION.replace(
        "'ACCESS SPECIFICATIONS ====",
        "'RESULTS DISPLAY ====\r\n'Record Last Update Results,Update Frequency,Update Type\r\n\tENABLED,1,LAST_UPDATE\r\n\
         'END results display\r\n'ACCESS SPECIFICATIONS ====",
    );
    let full = |names: &[&str]| {
        let bench = Bench::new();
        bench.write("a.icf", &updated);
        for name in names {
            // Nothing is wrong with it until it is written to.
            std::os::unix::fs::symlink("/dev/full", bench.path(name)).expect("links can be made");
        }
        let ended = bench.fathom("iometer -c a.icf -r results.csv --map *=sim: --quiet");
        ended.expect(4, &["record:"]);
        let fails = |name: &str| ended.err.contains(&format!("cannot write {name}"));
        let is_whole = |name: &str| {
            // What the device gives to read has no end.
            !names.contains(&name)
                && std::fs::read_to_string(bench.path(name)).is_ok_and(|text| text.ends_with("'End Test\r\n"))
        };
        ["results.csv", "instresults.csv"].map(|name| (fails(name), is_whole(name)))
    };
    assert_eq!(full(&["instresults.csv"]), [(false, true), (true, false)]);
    assert_eq!(full(&["results.csv"]), [(true, false), (false, true)]);
    assert_eq!(full(&["results.csv", "instresults.csv"]), [(true, false), (true, false)]);
}

fn numbers_from(lines: &[String], kind: &str, first: usize) -> Vec<f64> {
    let rows = lines.iter().filter(|line| line.split(',').next() == Some(kind));
    rows.flat_map(|line| line.split(',').skip(first).map(|cell| cell.parse::<f64>().expect("it is a number")))
        .collect()
}

#[test]
fn targets_that_are_not_here_have_to_be_mapped() {
    let bench = Bench::new();
    bench.write("a.icf", CONFIGURATION);
    for line in ["iometer -c a.icf -r results.csv", "run a.icf", "plan a.icf"] {
        bench.check_refused(line, 4, &["icf.unmapped", "C: first", "--map 'C:="]);
    }
    bench.fathom("run a.icf --map C:").expect(2, &["--map C:"]);
    assert!(!bench.path("results.csv").exists());
    // To look at it, nothing has to be here.
    bench.fathom("check a.icf").expect(0, &["icf.unmapped"]);
    let ended = bench.fathom("convert a.icf --to native --map *=sim:");
    ended.expect(0, &[]);
    bench.write("a.toml", &ended.out);
    let steps = |line: &str| bench.fathom(line).json()["steps"].clone();
    let native = steps("plan --json a.toml");
    assert_eq!(native.as_array().map(Vec::len), Some(4));
    let names = |steps: &serde_json::Value| -> Vec<String> {
        steps.as_array().unwrap().iter().map(|step| step["name"].to_string()).collect()
    };
    assert_eq!(names(&native), names(&steps("plan --json a.icf --map *=sim:")));
    let ended = bench.fathom("run a.icf --map *=sim: --quiet");
    assert!(ended.expect(0, &[]).out.contains("Step mixed (queue_depth=1)"), "{}", ended.out);
}

#[test]
fn results_spare_targets_and_files_of_others() {
    let bench = Bench::new();
    bench.write("a.icf", CONFIGURATION);
    bench.write("precious", vec![7; 4 << 20]);
    bench.check_refused("iometer -c a.icf -r results.csv --map *=precious", 3, &["precious", "--overwrite"]);
    bench.check_refused("iometer -c a.icf -r file --map *=file", 2, &["the output file is the target"]);
}

#[test]
fn published_configurations_run_on_a_simulated_device() {
    let Ok(files) = std::fs::read_dir(project().join("../shared/corpus/iometer")) else {
        return skip("published_configurations_run_on_a_simulated_device", "the corpus is not there");
    };
    let bench = Bench::new();
    let mut planned = 0;
    for path in files.map(|file| file.expect("the corpus can be read").path()) {
        let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
        if path.extension().is_none_or(|ending| ending != "icf") || name.starts_with("BROKEN") {
            continue;
        }
        let path = path.to_str().expect("names are plain");
        let ended = bench.fathom_with(&["plan", "--json", "--map", "*=sim:", path]);
        // Some have no workers or targets.
        let is_idle =
            ["icf.nothing-to-run", "icf.specifications-only"].iter().any(|code| ended.err.contains(code));
        if is_idle {
            continue;
        }
        ended.expect(0, &[]);
        let tests = bench.fathom_with(&["iometer", "--plan", path]).json()["points"].as_array().map(Vec::len);
        assert_eq!(ended.json()["steps"].as_array().map(Vec::len), tests, "{name}");
        planned += 1;
    }
    assert!(planned > 25, "{planned}");
}

#[test]
fn the_columns_are_those_of_real_results() {
    let real = project().join("../shared/corpus/iometer/results/QuarchTechnologyLtd_AN-016__testfile.csv.gz");
    let real = match tool("gzip", &["-dc", real.to_str().expect("its name is plain")]) {
        Ok(text) => text,
        Err(reason) => return skip("the_columns_are_those_of_real_results", &reason),
    };
    let head = real.lines().find(|line| line.starts_with("'Target Type")).expect("it has results");
    let ours = fathom_report::IOMETER_COLUMNS.join(",");
    assert_eq!(head.trim_end_matches('\r'), format!("'{ours}"));
}
