//! Iometer's command line: the plan of a configuration, its runs, and its results file.

use crate::support::{Bench, project, skip};

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
    bench.fathom("iometer --plan absent.icf").expect(2, &["absent.icf"]);
    assert!(bench.fathom("iometer --plan absent.icf --json").json()["error"]["message"].is_string());
    bench.fathom("iometer").expect(2, &["-c FILE.icf"]);
    bench.fathom("iometer --plam").expect(2, &["--plam"]);
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
