//! Iometer's configurations: what is read of every version, what is refused where, and in which order tests run.

use fathom_frontend::icf::{self, Document, Record, Row, Test, decode, parse, print, rows, tests};
use fathom_model::{Level, Sources};
use proptest::prelude::*;
use std::io::Write;

/// A worker of a fixture: name, specifications, targets.
type Worker<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// A configuration as Iometer 1.1.0 saves it, with one-line specifications of the names A to D.
fn fixture(test_type: &str, cycles: [&str; 3], managers: &[(&str, &[Worker<'_>])]) -> String {
    let [workers, disks, queue] = cycles;
    let mut text = format!(
        "Version 1.1.0 \n'TEST SETUP ====\n'Test Description\n\ta, b\n'Run Time\n'\thours      minutes    seconds\n\t0          1          30\n'Ramp Up Time (s)\n\t5\n'Worker Cycling\n'\tstart      step       step type\n\t{workers}\n'Disk Cycling\n'\tstart      step       step type\n\t{disks}\n'Queue Depth Cycling\n'\tstart      end        step       step type\n\t{queue}\n'Test Type\n\t{test_type}\n'END test setup\n'ACCESS SPECIFICATIONS ====\n"
    );
    for name in ["A", "B", "C", "D"] {
        text += &format!(
            "'Access specification name,default assignment\n\t{name},NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n\t4096,100,67,100,0,1,0,0\n"
        );
    }
    text += "'END access specifications\n'MANAGER LIST ====\n";
    for (number, (manager, workers)) in managers.iter().enumerate() {
        text +=
            &format!("'Manager ID, manager name\n\t{},{manager}\n'Manager network address\n\t\n", number + 1);
        for (worker, specs, targets) in *workers {
            text += &format!("'Worker\n\t{worker}\n'Worker type\n\tDISK\n'Assigned access specs\n");
            text += &specs.iter().map(|spec| format!("\t{spec}\n")).collect::<String>();
            text += "'End assigned access specs\n'Target assignments\n";
            for target in *targets {
                text += &format!("'Target\n\t{target}\n'Target type\n\tDISK\n'End target\n");
            }
            text += "'End target assignments\n'End worker\n";
        }
        text += "'End manager\n";
    }
    text + "'END manager list\nVersion 1.1.0 \n"
}

const CYCLES: [&str; 3] = ["1 1 LINEAR", "1 1 LINEAR", "1 4 2 EXPONENTIAL"];
const DISKS: [&str; 3] = ["C:", "D:", "E:"];

fn good(text: &str) -> Document {
    let (document, found) = parse(0, text);
    assert!(!found.has_errors(), "{found:?}\n{text}");
    document
}

/// Tests as `index: worker=spec×targets@depth …`.
fn order(text: &str) -> Vec<String> {
    let document = good(text);
    let describe = |test: &Test| {
        let mut parts = vec![format!("{}:", test.spec_index)];
        for (manager, shares) in document.managers.iter().zip(&test.managers) {
            for (worker, share) in manager.workers.iter().zip(shares).filter(|(_, share)| share.targets > 0) {
                let spec = &worker.specs[test.spec_index];
                parts.push(format!("{}={spec}×{}@{}", worker.name, share.targets, share.outstanding));
            }
        }
        parts.join(" ")
    };
    tests(&document).expect("they end").iter().map(describe).collect()
}

#[test]
fn tests_run_in_the_order_of_iometer() {
    let all = DISKS.as_slice();
    let one: &[(&str, &[Worker<'_>])] = &[("M", &[("w", &["A", "B"], all)])];
    let check = |test_type: &str, cycles: [&str; 3], managers: &[(&str, &[Worker<'_>])], expect: &[&str]| {
        assert_eq!(order(&fixture(test_type, cycles, managers)), expect, "{test_type} {cycles:?}");
    };
    check("NORMAL", CYCLES, one, &["0: w=A×3@1", "1: w=B×3@1"]);
    let by_ones = ["0: w=A×1@1", "0: w=A×2@1", "0: w=A×3@1", "1: w=B×1@1", "1: w=B×2@1", "1: w=B×3@1"];
    check("CYCLE_TARGETS", CYCLES, one, &by_ones);
    check("1", CYCLES, one, &by_ones);
    // The last step goes beyond what is there, and is cut to it.
    let by_twos = ["0: w=A×1@1", "0: w=A×2@1", "0: w=A×3@1", "1: w=B×1@1", "1: w=B×2@1", "1: w=B×3@1"];
    check("CYCLE_TARGETS", ["1 1 0", "1 2 1", "1 4 2 EXPONENTIAL"], one, &by_twos);
    let depths = ["0: w=A×3@1", "0: w=A×3@2", "0: w=A×3@4", "1: w=B×3@1", "1: w=B×3@2", "1: w=B×3@4"];
    check("CYCLE_OUTSTANDING_IOS", CYCLES, one, &depths);
    // The end is hit only where it is on the way.
    check(
        "CYCLE_OUTSTANDING_IOS",
        ["1 1 LINEAR", "1 1 LINEAR", "1 8 3 LINEAR"],
        &[("M", &[("w", &["A"], all)])],
        &["0: w=A×3@1", "0: w=A×3@4", "0: w=A×3@7"],
    );
    check(
        "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
        ["1 1 LINEAR", "2 2 LINEAR", "1 2 2 EXPONENTIAL"],
        &[("M", &[("w", &["A"], all)])],
        &["0: w=A×2@1", "0: w=A×2@2", "0: w=A×3@1", "0: w=A×3@2"],
    );
    let two = ["C:", "D:"].as_slice();
    let workers: &[(&str, &[Worker<'_>])] =
        &[("M", &[("a", &["A"], two), ("b", &["A"], two)]), ("N", &[("c", &["B"], two)])];
    check("CYCLE_WORKERS", CYCLES, workers, &["0: a=A×2@1 c=B×2@1", "0: a=A×2@1 b=A×2@1 c=B×2@1"]);
    check(
        "INCREMENT_TARGETS_PARALLEL",
        CYCLES,
        workers,
        &[
            "0: a=A×1@1 c=B×1@1",
            "0: a=A×2@1 c=B×2@1",
            "0: a=A×2@1 b=A×1@1 c=B×2@1",
            "0: a=A×2@1 b=A×2@1 c=B×2@1",
        ],
    );
    check(
        "INCREMENT_TARGETS_SERIAL",
        ["1 1 LINEAR", "2 2 LINEAR", "1 1 1 LINEAR"],
        workers,
        &["0: a=A×2@1", "0: a=A×2@1 b=A×2@1", "0: a=A×2@1 b=A×2@1 c=B×2@1"],
    );
    check(
        "CYCLE_WORKERS_AND_TARGETS",
        CYCLES,
        workers,
        &[
            "0: a=A×1@1 c=B×1@1",
            "0: a=A×2@1 c=B×2@1",
            "0: a=A×1@1 b=A×1@1 c=B×1@1",
            "0: a=A×2@1 b=A×2@1 c=B×2@1",
        ],
    );
    // The cycle of 1 to 256 has nine tests.
    let nine = order(&fixture("6", ["1 1 0", "1 1 0", "1 256 2 1"], &[("M", &[("w", &["A"], all)])]));
    assert_eq!(nine.len(), 9);
    assert_eq!(nine[8], "0: w=A×3@256");
}

#[test]
fn workers_with_fewer_specifications_are_idle_later() {
    let managers: &[(&str, &[Worker<'_>])] =
        &[("M", &[("a", &["A", "Idle", "idle"], &["C:"]), ("b", &["A", "B"], &["D:"]), ("c", &["A"], &[])])];
    let text = fixture("NORMAL", CYCLES, managers);
    assert_eq!(order(&text), ["0: a=A×1@1 b=A×1@1", "1: b=B×1@1", "2:"]);
    // A manager takes part when a worker is idle on purpose.
    let document = good(&text);
    let last = &tests(&document).unwrap()[2];
    let cells: Vec<_> =
        rows(&document, last, Record::All).into_iter().map(|row| row.cells.join(",")).collect();
    assert_eq!(cells, ["ALL,All,Idle,1,0,0", "MANAGER,M,Idle,,0,0"]);
}

#[test]
fn rows_are_those_of_the_results_file() {
    let managers: &[(&str, &[Worker<'_>])] = &[
        ("empty", &[]),
        ("M", &[("a", &["A"], &["1: \"X, 2.0\"", "D:"]), ("b", &["B"], &["D:"])]),
        ("N", &[("a", &["A"], &["C:"])]),
    ];
    let document = good(&fixture("NORMAL", CYCLES, managers));
    let test = &tests(&document).unwrap()[0];
    let cells = |record: Record| -> Vec<String> {
        rows(&document, test, record).into_iter().map(|Row { cells, .. }| cells.join(",")).collect()
    };
    let all = [
        "ALL,All,,2,3,4",
        "MANAGER,M,,,2,3",
        "WORKER,a,A,,,2",
        "DISK,1: \"X  2.0\",,,,",
        "DISK,D:,,,,",
        "WORKER,b,B,,,1",
        "DISK,D:,,,,",
        "MANAGER,N,A,,1,1",
        "WORKER,a,A,,,1",
        "DISK,C:,,,,",
    ];
    assert_eq!(cells(Record::All), all);
    let without = |heads: &[&str]| -> Vec<&str> {
        all.into_iter().filter(|row| !heads.iter().any(|head| row.starts_with(head))).collect()
    };
    assert_eq!(cells(Record::NoTargets), without(&["DISK"]));
    assert_eq!(cells(Record::NoWorkers), without(&["DISK", "WORKER"]));
    assert_eq!(cells(Record::NoManagers), without(&["DISK", "WORKER", "MANAGER"]));
    assert!(cells(Record::None).is_empty());
}

#[test]
fn what_is_written_is_read() {
    let text = "\u{feff}Version 2007.09.26 DEBUG \r\n\
        'manager list\r\n'Manager ID,manager name\r\n  3, HOST one \r\n'Manager network address\r\n\r\n\
        'Worker\r\nw, 1\r\n'WORKER TYPE\r\ndisk\r\n\r\n\
        'Default target settings for worker\r\n\
        'Number of outstanding IOs,test connection rate,transactions per connection\r\n 16 , enabled , 5 \r\n\
        'Disk maximum size,starting sector,Use Random Data\r\n2097152,64,1\r\n\
        'End default target settings for worker\r\n\
        'Assigned access specs\r\nSPEC one\r\nmissing\r\n'End assigned access specs\r\n\
        'Target assignments\r\n'Target\r\nE: data\r\n'Target type\r\nDISK\r\n'End target\r\n\
        'Target\r\ne:\r\n'Target type\r\nDISK\r\n'End target\r\n'End target assignments\r\n'End worker\r\n\
        'End manager\r\n'END manager list\r\n\
        'ACCESS SPECIFICATIONS\r\n'Access specification name,default assignment\r\n\tspec one , 2\r\n'size,\r\n\
        \r\n512,40,0,100,5,16,4096,64,\r\n\r\n 65536 , 60,100,0,0,1,0,0\r\n'END access specifications\r\n\
        'TEST SETUP\r\n\t'Test Description\r\n\r\n'Run Time\r\n' h m s\r\n1\t2\t3\r\n'Ramp Up Time\r\n7\r\n\
        'Default Workers to Spawn\r\n0\r\n'Record Results\r\n 2 \r\n'END test setup\r\n";
    let (document, found) = parse(0, text);
    let warned: Vec<_> = found.all().iter().map(|one| (one.level, one.code)).collect();
    assert_eq!(
        warned,
        [(Level::Warning, "icf.unknown-spec"), (Level::Warning, "icf.doubtful")],
        "the missing specification and the drive that is there twice: {found:?}"
    );
    assert_eq!(document.version, "2007.09.26 DEBUG");
    let setup = &document.setup;
    assert_eq!((setup.run_seconds, setup.ramp_seconds, setup.record), (3723, 7, Record::NoWorkers));
    let spec = &document.specs[0];
    assert_eq!((spec.name.as_str(), spec.assign, spec.lines.len()), ("spec one", icf::Assign::Disk, 2));
    let line = spec.lines[0];
    assert_eq!((line.size, line.delay, line.burst, line.align, line.reply), (512, 5, 16, 4096, 64));
    let manager = &document.managers[0];
    assert_eq!((manager.id, manager.name.as_str(), manager.address.as_str()), (3, "HOST one", ""));
    let worker = &manager.workers[0];
    assert_eq!((worker.name.as_str(), worker.specs.as_slice()), ("w, 1", ["spec one".to_owned()].as_slice()));
    assert_eq!((worker.outstanding, worker.connection_rate, worker.trans_per_conn), (16, true, 5));
    assert_eq!((worker.max_size, worker.start, worker.pattern), (2_097_152, 64, 2));
    assert_eq!(worker.targets.len(), 1);
}

/// Iometer takes a run of digits for each number, and leaves what is between and behind them.
#[test]
fn times_that_are_not_whole_numbers_alone_are_told() {
    let check = |run: &str, ramp: &str, seconds: (u64, u64), says: &[&str]| {
        let text = format!(
            "Version 1.1.0\n'TEST SETUP\n'Run Time\n\t{run}\n'Ramp Up Time (s)\n\t{ramp}\n'END test setup\n"
        );
        let (document, found) = parse(0, &text);
        let told: Vec<_> = found.all().iter().filter(|one| one.code == "icf.doubtful").collect();
        assert_eq!((document.setup.run_seconds, document.setup.ramp_seconds), seconds, "{text}");
        assert_eq!(told.len(), says.len(), "{text}: {told:?}");
        for (one, says) in told.iter().zip(says) {
            assert!(one.level == Level::Warning && one.message.contains(says), "{text}: {}", one.message);
        }
    };
    check("0 0 2", "5", (2, 5), &[]);
    check("0\t1, 30,", "5,", (90, 5), &[]);
    check("0 0 2.5", "5", (2, 5), &["\"0 0 2.5\", which is not 3 whole numbers; it counts as 0 h 0 min 2 s"]);
    check("0 1.5 2", "5", (65, 5), &["counts as 0 h 1 min 5 s"]);
    check("0 0 2 3", "5", (2, 5), &["\"0 0 2 3\""]);
    check("0 0 30s", "2.5", (30, 2), &["counts as 0 h 0 min 30 s", "the ramp up time is \"2.5\""]);
}

#[test]
fn nameless_specifications_get_the_names_of_iometer() {
    let specs = |lines: &str| {
        good(&format!(
            "Version 1998.02.01\n'ACCESS SPECIFICATIONS\n'size, %\n{lines}'END access specifications\n"
        ))
        .specs
    };
    let lines = "2048 100 67 100 0 1\n512 100 0 0 0 1\n2048 100 67 100 0 1\n1048576 100 100 30 0 1\n4096 50 100 0 0 1\n8192 50 0 0 0 1\n";
    let read = specs(lines);
    let names: Vec<&str> = read.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "2 KiB random 67% reads",
            "512 B sequential writes",
            "2 KiB random 67% reads 2",
            "1 MiB 30% random reads",
            "Untitled 1"
        ]
    );
    assert_eq!((read[0].lines[0].align, read[0].assign), (2048, icf::Assign::All));
    assert_eq!(read[4].lines.len(), 2);
    assert!(specs("").is_empty());
}

#[test]
fn versions_decide_what_is_allowed() {
    // Before 1999.02.17 an unknown key ends the section; later it is a fault.
    let text = |version: &str| format!("{version}\n'TEST SETUP\n'Run Time\n0 0 9\n'Something\nx\n");
    let errors = |text: &str| parse(0, text).1.has_errors();
    assert!(!errors(&text("Version 1998.10.08")));
    assert!(errors(&text("Version 1999.02.17")));
    assert!(errors(&text("Version 3.26.97")), "numbers are later than all dates");
    assert!(errors(&text("")), "and so is no version at all");
    assert!(errors("Version one\n'TEST SETUP\n'END test setup\n"));
    assert_eq!(good("'Version 2004.07.30-post\n'TEST SETUP\n'END test setup\n").version, "2004.07.30-post");
}

/// The first error: its line and its code.
fn first_error(text: &str) -> Option<(usize, &'static str)> {
    let mut sources = Sources::default();
    let source = sources.add("a.icf", text);
    let (_, found) = parse(source, text);
    let error = found.all().iter().find(|one| one.level == Level::Error)?;
    let (line, _) =
        sources.line_and_column(error.span.expect("errors have a place")).expect("within the text");
    assert!(!error.message.is_empty());
    Some((line, error.code))
}

/// Readers of results split at commas, and names written by hand may have some.
#[test]
fn rows_have_six_cells_whatever_the_names() {
    let managers: &[(&str, &[Worker<'_>])] = &[("M,1", &[("w,1", &["A"], &["C:", "T,2"])])];
    let document = good(&fixture("NORMAL", CYCLES, managers));
    for test in &tests(&document).unwrap() {
        for row in rows(&document, test, Record::All) {
            assert_eq!(row.cells.join(",").matches(',').count(), 5, "{row:?}");
        }
    }
    let names = |text: &str| {
        let all = tests(&document).unwrap();
        let found = all.iter().flat_map(|test| rows(&document, test, Record::All));
        found.filter(|row| row.cells[1] == text).count()
    };
    assert!(names("M 1") > 0 && names("w 1") > 0 && names("T 2") > 0);
}

#[test]
fn faults_have_their_line() {
    let managers: &[(&str, &[Worker<'_>])] = &[("M", &[("w", &["A"], &["C:"])])];
    let text = fixture("NORMAL", CYCLES, managers);
    assert_eq!(first_error(&text), None);
    for (from, to, expect) in [
        ("'Disk Cycling", "'Target Cycling", (13, "icf.unknown-key")),
        ("0          1          30", "0          1", (7, "icf.bad-value")),
        ("\t5\n", "\tfive\n", (9, "icf.bad-value")),
        ("\t5\n", "\t-5\n", (9, "icf.bad-value")),
        ("NORMAL", "NORMALLY", (20, "icf.bad-value")),
        ("'END test setup\n", "", (21, "icf.unknown-key")),
        ("4096,100,67,100,0,1,0,0", "4096,99,67,100,0,1,0,0", (24, "icf.shares")),
        ("4096,100,67,100,0,1,0,0", "4096,100,67,100,0,1,0", (26, "icf.bad-value")),
        ("4096,100,67,100,0,1,0,0", "4k,100,67,100,0,1,0,0", (26, "icf.bad-value")),
        ("4096,100,67,100,0,1,0,0", "4096,100,167,100,0,1,0,0", (26, "icf.bad-value")),
        ("\tA,NONE\n", "\t,NONE\n", (24, "icf.bad-value")),
        ("\t1,M\n", "\tM\n", (42, "icf.bad-value")),
        ("'Manager network address", "'Manager address", (43, "icf.unknown-key")),
        ("'Worker type\n\tDISK", "'Worker type\n\tDISC", (48, "icf.bad-value")),
        ("'End worker\n", "", (59, "icf.unknown-key")),
        ("'End manager\n", "", (60, "icf.unknown-key")),
        ("'END manager list\n", "", (61, "icf.unknown-key")),
        ("\tC:\n", "\t\n", (53, "icf.bad-value")),
        ("'End assigned access specs\n", "", (51, "icf.unknown-key")),
    ] {
        let broken = text.replacen(from, to, 1);
        assert_ne!(broken, text, "{from}");
        assert_eq!(first_error(&broken), Some(expect), "{from} → {to}");
    }
    // Cut off anywhere but between sections, it is a fault, and has a place.
    for (at, _) in text.match_indices('\n') {
        let cut = &text[..at];
        let last = cut.lines().last().unwrap_or_default();
        let is_whole = last.starts_with("'END ") || cut.contains("'END manager list");
        assert_eq!(first_error(cut).is_none(), is_whole, "{cut}");
    }
    for text in ["", "\n\n", "hello\n", "[global]\nbs=4k\n", "Version 1.1.0\n"] {
        assert_eq!(first_error(text).map(|(_, code)| code), Some("icf.no-section"), "{text}");
    }
}

#[test]
fn cycles_without_an_end_are_faults() {
    let managers: &[(&str, &[Worker<'_>])] = &[("M", &[("w", &["A"], &["C:"])])];
    for queue in ["1 32 0 LINEAR", "0 32 2 EXPONENTIAL", "1 32 -1 LINEAR", "1 32 0 EXPONENTIAL"] {
        let text = fixture("CYCLE_OUTSTANDING_IOS", ["1 1 0", "1 1 0", queue], managers);
        assert_eq!(first_error(&text), Some((20, "icf.endless")), "{queue}");
        // Where the queue does not cycle, its numbers do not matter.
        assert_eq!(first_error(&fixture("NORMAL", ["1 1 0", "1 1 0", queue], managers)), None);
    }
}

#[test]
fn bytes_of_windows_become_text() {
    assert_eq!(decode("Größe".as_bytes()), "Größe");
    assert_eq!(decode(b"Gr\xf6\xdfe \x80 \x96"), "Größe € –");
    assert!(!decode(&(0..=255).collect::<Vec<u8>>()).is_empty());
}

/// Every configuration of the corpus is understood, but for the one that no Iometer ever wrote.
#[test]
fn published_configurations_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/iometer");
    let Ok(files) = std::fs::read_dir(&folder) else {
        let folder = folder.display();
        writeln!(std::io::stderr(), "SKIPPED published_configurations_are_read: there is no {folder}")
            .expect("stderr can be written");
        return;
    };
    let mut seen = 0;
    for path in files.map(|file| file.expect("the corpus can be read").path()) {
        if path.extension().is_none_or(|ending| ending != "icf") {
            continue;
        }
        let name = path.file_name().expect("it has one").to_string_lossy().into_owned();
        let text = decode(&std::fs::read(&path).expect("it can be read"));
        let (document, found) = parse(0, &text);
        if name.starts_with("BROKEN") {
            assert_eq!(first_error(&text), Some((19, "icf.unknown-key")), "{found:?}");
            continue;
        }
        assert!(!found.has_errors(), "{name}: {found:?}");
        let again = good(&print(&document));
        assert_eq!(without_places(again).managers, without_places(document).managers, "{name}");
        seen += 1;
    }
    assert!(seen >= 30, "{seen}");
}

/// A tree with all places at the start of the text, and the version that is printed.
fn without_places(mut document: Document) -> Document {
    "1.1.0".clone_into(&mut document.version);
    let nowhere = fathom_model::Span::default();
    document.setup.run_time_span = nowhere;
    document.setup.test_type_span = nowhere;
    for spec in &mut document.specs {
        spec.span = nowhere;
        spec.lines.iter_mut().for_each(|line| line.span = nowhere);
    }
    for manager in &mut document.managers {
        manager.span = nowhere;
        for worker in &mut manager.workers {
            (worker.span, worker.depth_span, worker.region_span) = (nowhere, nowhere, nowhere);
            worker.targets.iter_mut().for_each(|target| target.span = nowhere);
        }
    }
    document
}

/// Names as people give them: with blanks, dots, percent signs and letters of anywhere.
fn names() -> impl Strategy<Value = String> {
    "[A-Za-zÄ-ü0-9][A-Za-zÄ-ü0-9 ;%.()_=:-]{0,12}[A-Za-zÄ-ü0-9]"
}

proptest! {
    #[test]
    fn whatever_is_printed_reads_back(
        names in proptest::collection::vec(names(), 1..6),
        numbers in proptest::collection::vec(0_u32..100_000, 40),
        kind in 0_usize..8,
    ) {
        let mut names: Vec<String> = names.into_iter().filter(|name| !name.eq_ignore_ascii_case("idle")).collect();
        names.sort();
        names.dedup_by(|a, b| a.eq_ignore_ascii_case(b));
        let mut next = numbers.into_iter().cycle();
        let mut number = move || next.next().expect("it goes round");
        let mut document = good("'TEST SETUP\n'END test setup\n");
        document.setup.run_seconds = u64::from(number());
        document.setup.ramp_seconds = u64::from(number());
        document.setup.test_type = icf::TestType::ALL[kind];
        document.setup.record = Record::ALL[kind % 5];
        document.setup.queue_end = i64::from(number() % 64);
        document.setup.description = names.join(", ");
        for name in &names {
            let share = number() % 101;
            let line = icf::SpecLine {
                size: number(), pct: share, read: number() % 101, random: number() % 101,
                delay: number(), burst: number(), align: number(), reply: number(),
                span: fathom_model::Span::default(),
            };
            let lines = vec![line, icf::SpecLine { pct: 100 - share, ..line }];
            let assign = icf::Assign::ALL[kind % 4];
            document.specs.push(icf::Spec { name: name.clone(), assign, lines, span: line.span });
        }
        for name in &names {
            let targets = names.iter().map(|name| icf::Target {
                name: format!("/mnt/{name} [xfs]"), kind: icf::Kind::Disk, manager: None,
                span: fathom_model::Span::default(),
            });
            let worker = icf::Worker {
                name: name.clone(), kind: icf::Kind::Disk, outstanding: i64::from(number()),
                connection_rate: kind % 2 == 0, trans_per_conn: i64::from(number()),
                fixed_seed: (kind > 3).then_some(u64::MAX), max_size: u64::MAX, start: u64::from(number()),
                pattern: u8::try_from(kind % 3).unwrap(), interface: String::new(), vi_outstanding: None,
                specs: names.iter().cloned().chain(["Idle".to_owned()]).collect(), targets: targets.collect(),
                span: fathom_model::Span::default(), depth_span: fathom_model::Span::default(),
                region_span: fathom_model::Span::default(),
            };
            document.managers.push(icf::Manager {
                id: i64::from(number()), name: name.clone(), address: String::new(), workers: vec![worker],
                span: fathom_model::Span::default(),
            });
        }
        let text = print(&document);
        let (again, found) = parse(0, &text);
        prop_assert!(found.is_empty(), "{:?}\n{}", found, text);
        prop_assert_eq!(without_places(again), without_places(document));
    }

    /// Bytes of any kind, and good files with pieces torn out and put elsewhere: never a panic, never an endless loop, and
    /// a place within the text for everything that is said.
    #[test]
    fn no_text_is_too_bad(bytes in proptest::collection::vec(any::<u8>(), 0..400), cuts in proptest::collection::vec(0_usize..3000, 4)) {
        let managers: &[(&str, &[Worker<'_>])] = &[("M", &[("w", &["A", "B"], &["C:", "D:"]), ("x", &["Idle"], &[])])];
        let good = fixture("CYCLE_OUTSTANDING_IOS_AND_TARGETS", CYCLES, managers);
        let at = |cut: usize| (0..=cut.min(good.len())).rev().find(|&at| good.is_char_boundary(at)).unwrap();
        let torn = format!("{}{}{}", &good[..at(cuts[0])], &good[at(cuts[1])..], &good[at(cuts[2])..at(cuts[2]).max(at(cuts[3]))]);
        for text in [decode(&bytes), torn] {
            let (document, found) = parse(0, &text);
            for one in found.all() {
                let span = one.span.expect("everything that is said has a place");
                prop_assert!(span.start <= span.end && span.end <= text.len());
            }
            if let Ok(tests) = tests(&document) {
                for test in tests.iter().take(20) {
                    let _ = rows(&document, test, Record::All);
                }
            }
            let _ = print(&document);
        }
    }
}
