//! Workers of Iometer's configurations that are more than a thread on a disk: both ends of a network, connections that are
//! tested, pauses over several targets. What both ends count is compared.

use crate::support::Bench;
use std::net::TcpListener;

/// A configuration of 1 s: specifications, and what its managers have.
fn text(specs: &[(&str, &str)], managers: &[&str]) -> String {
    let spec = |(name, lines): &(&str, &str)| {
        format!("'Access specification name,default assignment\n\t{name},NONE\n'size,%\n{lines}\n")
    };
    format!(
        "Version 1.1.0 \n'TEST SETUP\n'Run Time\n0 0 1\n'Record Results\nALL\n'END test setup\n'ACCESS SPECIFICATIONS\n\
         {}'END access specifications\n'MANAGER LIST\n{}'END manager list\nVersion 1.1.0 \n",
        specs.iter().map(spec).collect::<String>(),
        managers.concat()
    )
}

/// A manager at an address with its workers.
fn manager(id: u32, name: &str, address: &str, workers: &str) -> String {
    format!(
        "'Manager ID, manager name\n\t{id},{name}\n'Manager network address\n\t{address}\n{workers}'End manager\n"
    )
}

/// A worker that runs `specs` against the manager `peer`; `connections` is whether they are tested, and how long one is.
fn server(name: &str, connections: &str, specs: &str, peer: &str) -> String {
    format!(
        "'Worker\n\t{name}\n'Worker type\n\tNETWORK,TCP\n'Default target settings for worker\n\
         'Number of outstanding IOs,test connection rate,transactions per connection\n\t1,{connections}\n\
         'Local network interface\n\t127.0.0.1\n'End default target settings for worker\n\
         'Assigned access specs\n{specs}\n'End assigned access specs\n'Target assignments\n'Target\n\t127.0.0.1\n\
         'Target type\n\tNETWORK,TCP\n'Target manager ID, manager name\n\t{peer}\n'End target\n\
         'End target assignments\n'End worker\n"
    )
}

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    socket.local_addr().expect("it has one").port()
}

/// Rows of the results by their first two cells: what is in the columns of these headings.
fn rows(bench: &Bench, headings: &[&str]) -> Vec<(String, String, Vec<String>)> {
    let text = std::fs::read_to_string(bench.path("results.csv")).expect("it was written");
    let heads = text.lines().find(|line| line.starts_with("'Target Type,")).expect("there are results");
    let place =
        |heading: &&str| heads[1..].split(',').position(|head| head == *heading).expect("it is there");
    let places: Vec<usize> = headings.iter().map(place).collect();
    let kinds = ["ALL", "MANAGER", "WORKER", "NETWORK", "DISK"];
    let lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let rows = lines.filter(|cells| kinds.contains(&cells[0]));
    rows.map(|cells| {
        let found = places.iter().map(|&place| cells[place].to_owned()).collect();
        (cells[0].to_owned(), cells[1].to_owned(), found)
    })
    .collect()
}

/// The numbers of the only row of a kind and name.
fn numbers(bench: &Bench, kind: &str, name: &str, headings: &[&str]) -> Vec<f64> {
    let found = rows(bench, headings);
    let [row] = found.iter().filter(|row| row.0 == kind && row.1 == name).collect::<Vec<_>>()[..] else {
        panic!("{kind} {name} in {found:?}")
    };
    row.2.iter().map(|cell| cell.parse().unwrap_or_else(|_| panic!("{cell} of {kind} {name}"))).collect()
}

const COUNTS: [&str; 5] = ["Read I/Os", "Write I/Os", "Bytes Read", "Bytes Written", "Errors"];

#[test]
fn a_network_worker_and_its_client_move_the_same_bytes() {
    let bench = Bench::new();
    let managers = [
        manager(1, "A", "127.0.0.1", &server("Serve", "DISABLED,1", "mixed", "2,B")),
        manager(2, "B", "", ""),
    ];
    let specs = [("mixed", "4096,75,67,100,0,1,0,0\n65536,25,30,0,0,1,0,512")];
    bench.write("a.icf", text(&specs, &managers.each_ref().map(String::as_str)));
    let line = format!("iometer -c a.icf -r results.csv -p {} --quiet", free_port());
    bench.fathom(&line).expect(0, &["record:"]);
    let names: Vec<(String, String)> =
        rows(&bench, &[]).into_iter().map(|(kind, name, _)| (kind, name)).collect();
    let expect = [
        ("ALL", "All"),
        ("MANAGER", "A"),
        ("WORKER", "Serve"),
        ("NETWORK", "A:127.0.0.1 >> B:127.0.0.1"),
        ("MANAGER", "B"),
        ("WORKER", "[Serve]"),
        ("NETWORK", "B:127.0.0.1 >> A:127.0.0.1"),
    ];
    assert_eq!(names, expect.map(|(kind, name)| (kind.to_owned(), name.to_owned())));
    let [here, there] = ["Serve", "[Serve]"].map(|worker| numbers(&bench, "WORKER", worker, &COUNTS));
    // What one end receives, the other sends. When the time is over, some may be on their way.
    for (received, sent, slack) in
        [(0, 1, 32.0), (1, 0, 32.0), (2, 3, 32.0 * 65536.0), (3, 2, 32.0 * 65536.0)]
    {
        assert!(here[received] > 300.0, "{here:?}");
        assert!((here[received] - there[sent]).abs() <= slack, "{here:?} {there:?}");
    }
    assert_eq!((here[4], there[4]), (0.0, 0.0));
    // Of 100 requests 75 × 67 % + 25 × 30 % are received here, and 25 × 70 % of their replies; there are 125 I/Os.
    let share = here[0] / (here[0] + here[1]);
    let wanted = (0.75 * 0.67 + 0.25 * 0.3 + 0.25 * 0.7) / 1.25;
    // Requests are drawn one by one, and a slow machine comes to few: four standard deviations of so many.
    let deviation = (wanted * (1.0 - wanted) * 1.25 / (here[0] + here[1])).sqrt();
    assert!((share - wanted).abs() < 4.0 * deviation, "{share} {wanted} ± {deviation}");
    let rates = numbers(&bench, "NETWORK", expect[3].1, &["IOps", "Transactions per Second", "Connections"]);
    assert!((rates[0] / rates[1] - 1.25).abs() < 1e-3 && rates[2] == 0.0, "{rates:?}");
    // The sum is of both ends.
    let all = numbers(&bench, "ALL", "All", &["# Managers", "# Workers", "# Disks", "Read I/Os"]);
    assert_eq!(all, [2.0, 2.0, 2.0, here[0] + there[0]]);
}

#[test]
fn connections_are_opened_anew_and_counted_at_both_ends() {
    let columns = ["Connections", "Transactions per Connection", "Read I/Os", "Average Connection Time"];
    // With replies, with nothing but connections, and in one direction only, where each end has a loop of its own.
    for (per_connection, request, has_operations) in [
        (10, "512,100,0,0,0,1,0,4096", true),
        (0, "512,100,0,0,0,1,0,4096", false),
        (1, "512,100,100,0,0,1,0,0", true),
    ] {
        let bench = Bench::new();
        let serving = server("S", &format!("ENABLED,{per_connection}"), "requests", "1,A");
        let specs = [("requests", request)];
        bench.write("a.icf", text(&specs, &[&manager(1, "A", "", &serving)]));
        let line = format!("iometer -c a.icf -r results.csv -p {} --quiet", free_port());
        bench.fathom(&line).expect(0, &["record:"]);
        let [here, there] = ["S", "[S]"].map(|worker| numbers(&bench, "WORKER", worker, &columns));
        assert!(here[0] > 20.0 && (here[0] - there[0]).abs() <= 1.0, "{here:?} {there:?}");
        assert_eq!((here[1], there[1]), (f64::from(per_connection), f64::from(per_connection)));
        let errors = ["S", "[S]"].map(|worker| numbers(&bench, "WORKER", worker, &["Errors"])[0]);
        assert_eq!(errors, [0.0, 0.0], "the end of the load is no error");
        let report = bench.report();
        let counted = &report["steps"][0]["streams"][0]["connections"];
        assert_eq!(counted["count"].as_f64(), Some(here[0]), "{counted}");
        let findings = report["validity"].as_array().expect("findings");
        assert!(findings.iter().all(|finding| finding["id"] != "operations.none"), "{findings:?}");
        // A transaction is a request and its reply, of which each end receives one.
        let replies = if has_operations { here[0] * f64::from(per_connection) } else { 0.0 };
        assert!((here[2] - replies).abs() <= f64::from(per_connection), "{here:?}");
        // One after another, all of the time.
        let seconds = here[0] * here[3] / 1000.0;
        assert!(seconds <= 1.1, "{here:?}");
    }
}

#[test]
fn network_workers_are_planned_with_their_clients_and_refused_where_they_cannot_be() {
    let bench = Bench::new();
    let lone = |worker: &str| text(&[("s", "512,100,0,0,0,1,0,64")], &[&manager(1, "A", "", worker)]);
    let serving = server("S", "DISABLED,1", "s", "1,A");
    bench.write("a.icf", lone(&serving));
    let point = bench.fathom("iometer --plan a.icf").json()["points"][0].clone();
    assert_eq!(point["active"].as_array().map(Vec::len), Some(1), "workers are those of the file");
    assert_eq!(point["clients"][0]["worker"], "[S]");
    let steps = bench.fathom("plan --json a.icf").json()["steps"].clone();
    assert_eq!(steps[0]["streams"].as_array().map(Vec::len), Some(2), "{steps}");
    // What it becomes is a job like any other.
    let ended = bench.fathom("convert a.icf --to native");
    bench.write("a.toml", &ended.expect(0, &[]).out);
    bench.fathom("check a.toml").expect(0, &[]);
    bench.write("vi.icf", lone(&serving.replace("NETWORK,TCP", "NETWORK,VI")));
    bench.fathom("iometer vi.icf results.csv").expect(9, &["icf.not-built", "NETWORK,TCP"]);
    bench.write("lost.icf", lone(&serving.replace("1,A", "2,B")));
    bench.fathom("iometer lost.icf results.csv").expect(2, &["icf.no-manager", "\"B\""]);
    // An address of nobody here: it goes over loopback, and the record says so.
    bench.write(
        "far.icf",
        lone(
            &serving
                .replace("'Local network interface\n\t127.0.0.1", "'Local network interface\n\t192.0.2.7"),
        ),
    );
    bench.fathom("check far.icf").expect(0, &["icf.loopback", "192.0.2.7"]);
    // Ends that do not fit are told.
    for (from, to, why) in [
        ("mirrors = \"S\"", "mirrors = \"nobody\"", "there is no such stream"),
        ("mirrors = \"S\"", "mirrors = \"[S]\"", "it is itself"),
        ("listen = false", "listen = false\nper_connection = 3", "per_connection"),
        ("listen = false", "listen = true", "who listens"),
        ("mirrors = \"S\"", "", "nobody mirrors it"),
    ] {
        let job = bench.fathom("convert a.icf --to native").out;
        assert!(job.contains(from), "{job}");
        bench.write("b.toml", job.replace(from, to));
        bench.fathom("run b.toml").expect(2, &["plan.mirror", why]);
    }
}

#[test]
fn pauses_stall_all_targets_of_a_worker() {
    let bench = Bench::new();
    let target = |name: &str| format!("'Target\n\t{name}\n'Target type\n\tDISK\n'End target\n");
    let worker = format!(
        "'Worker\n\tW\n'Worker type\n\tDISK\n'Default target settings for worker\n\
         'Number of outstanding IOs,test connection rate,transactions per connection\n\t2,DISABLED,1\n\
         'Disk maximum size,starting sector,Data pattern\n\t2048,0,2\n'End default target settings for worker\n\
         'Assigned access specs\n\ts\n'End assigned access specs\n'Target assignments\n{}{}'End target assignments\n\
         'End worker\n",
        target("C:"),
        target("D:")
    );
    let text = text(&[("s", "4096,100,100,100,20,6,4096,0")], &[&manager(1, "A", "", &worker)]);
    bench.write("a.icf", &text);
    let run = "--map C:=file1 --map D:=file2 --quiet";
    bench.fathom(&format!("iometer -c a.icf -r results.csv {run}")).expect(0, &["record:"]);
    let columns = ["Read I/Os", "Bytes Read", "Total Raw Read Response Time"];
    let [worker, one, other] = [("WORKER", "W"), ("DISK", "C:"), ("DISK", "D:")]
        .map(|(kind, name)| numbers(&bench, kind, name, &columns));
    // Six I/Os, then 20 ms: no more than 50 bursts and the one that begins it all. Of two workers it would be twice as many,
    // and with what was in flight when six had come back, more as well.
    assert!(worker[0] <= 51.0 * 6.0 && worker[0] >= 6.0, "{worker:?}");
    for column in 0..columns.len() {
        let sum = one[column] + other[column];
        assert!((worker[column] - sum).abs() <= worker[column] * 1e-9, "{worker:?} {one:?} {other:?}");
    }
    assert!((one[0] - other[0]).abs() <= 4.0, "by turns: {one:?} {other:?}");
    // What is not measured is empty: classes of latencies of targets, and of what has one path all but what was set.
    let cells = |kind: &str, headings: &[&str]| -> Vec<Vec<String>> {
        rows(&bench, headings).into_iter().filter(|row| row.0 == kind).map(|row| row.2).collect()
    };
    let told = ["Read I/Os", "0 to 50 uS", " >= 10 s", "IOps", "Transactions per Connection"];
    for row in cells("DISK", &told) {
        assert_eq!(row[1..3], ["", ""], "{row:?}");
        assert!(!row[0].is_empty() && !row[3].is_empty(), "{row:?}");
    }
    assert!(cells("WORKER", &told).iter().flatten().all(|cell| !cell.is_empty()));
    std::fs::remove_file(bench.path("results.csv")).expect("it is there");
    bench
        .fathom("iometer -c a.icf -r results.csv --map *=file1 --quiet")
        .expect(0, &["warning: the rows of the target C: and 1 more have no figures"]);
    assert_eq!(cells("DISK", &told), [["", "", "", "", "-1"], ["", "", "", "", "-1"]]);
    assert!(cells("WORKER", &told).iter().flatten().all(|cell| !cell.is_empty()));
    // A depth that is cycled is that of each target.
    bench.write(
        "b.icf",
        text.replace(
            "'END test setup",
            "'Queue Depth Cycling\n1 4 2 EXPONENTIAL\n'Test Type\n6\n'END test setup",
        ),
    );
    let steps = bench.fathom("plan --json b.icf --map *=sim:").json()["steps"].clone();
    let depths: Vec<_> = (0..3).map(|step| steps[step]["streams"][0]["queue_depth"].as_u64()).collect();
    assert_eq!(depths, [Some(2), Some(4), Some(8)], "{steps}");
}
