//! `fathom scan` on simulated devices whose slow and broken places are known: counts have to be exact.

use crate::support::Bench;
use serde_json::{Value, json};

/// A gibibyte read in blocks of 1 MiB that take 1 ms each, but for these: six in other classes, one at the very limit of a
/// class, one with a sector that cannot be read.
const ODD: &str = "sim:size=1GiB,service_time=constant 1ms,\
    100MiB..101MiB takes 5ms,200MiB..201MiB takes 20ms,300MiB..301MiB takes 100ms,400MiB..401MiB takes 300ms,\
    500MiB..501MiB takes 700ms,600MiB..601MiB takes 3ms,734003712..734004224 fails";

fn scanned(bench: &Bench, target: &str, words: &str, code: i32) -> Value {
    let all: Vec<&str> =
        ["scan", target, "--quiet", "--json"].into_iter().chain(words.split_whitespace()).collect();
    bench.fathom_with(&all).expect(code, &[]).json()
}

fn classes(document: &Value) -> Vec<u64> {
    let zones = document["zones"].as_array().expect("a list");
    let of = |zone: &Value| -> Vec<u64> {
        zone["classes"].as_array().expect("a list").iter().filter_map(Value::as_u64).collect()
    };
    zones
        .iter()
        .map(of)
        .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect())
        .expect("there are zones")
}

#[test]
fn classes_of_a_scripted_device_are_counted_exactly() {
    let bench = Bench::new();
    let found = scanned(&bench, ODD, "--zones 32 --places odd.csv", 5);
    // 1024 blocks; the one with the sector that fails is in no class. 3.000 ms are not below 3 ms.
    assert_eq!(classes(&found), [1017, 2, 1, 1, 1, 1], "{found:#}");
    let errors: u64 =
        found["zones"].as_array().unwrap().iter().filter_map(|zone| zone["errors"].as_u64()).sum();
    assert_eq!(errors, 1);
    assert_eq!(found["unreadable"], json!([{ "first_byte": 734_003_712, "bytes": 512, "error": "EIO" }]));
    let block = |mib: u64, s: f64| json!({ "first_byte": mib << 20, "bytes": 1 << 20, "took_s": s, "read_again": true });
    assert_eq!(found["slow"], json!([block(400, 0.3), block(500, 0.7)]));
    assert_eq!(found["class_limits_s"], json!([0.003, 0.01, 0.05, 0.15, 0.5]));
    // A thousand MiB a second, from where nothing is odd; and each read for it takes as long.
    assert_eq!(found["burst_bytes_per_s"], json!(1_048_576_000.0));
    let csv = std::fs::read_to_string(bench.path("odd.csv")).expect("it was written");
    let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with("slow_zone,")).collect();
    assert_eq!(
        lines,
        [
            "what,first_byte,bytes,first_sector,last_sector,took_s,error",
            "unreadable,734003712,512,1433601,1433601,,EIO",
            "slow,419430400,1048576,819200,821247,0.3,",
            "slow,524288000,1048576,1024000,1026047,0.7,",
        ]
    );
    assert_eq!(
        csv.lines().count() - lines.len(),
        4,
        "zones of 32 blocks, that take half as long again: {csv}"
    );
    // Whatever the order, the same is found.
    for order in ["reverse", "butterfly", "random"] {
        let other = scanned(&bench, ODD, &format!("--zones 32 --order {order}"), 5);
        for member in ["unreadable", "slow", "zones"] {
            assert_eq!(other[member], found[member], "{order}: {member}");
        }
    }
}

#[test]
fn random_reads_have_counts_of_their_own() {
    let bench = Bench::new();
    let sim = "sim:size=1GiB,service_time=constant 1ms";
    let found = scanned(&bench, sim, "--zones 16 --access 32", 0);
    assert_eq!(classes(&found), [1024, 0, 0, 0, 0, 0]);
    let access = &found["access"];
    assert_eq!(
        (&access["operations"], &access["mean_s"], &access["errors"]),
        (&json!(512), &json!(0.001), &json!(0))
    );
    let quantiles: Vec<(Option<f64>, Option<u64>)> = access["quantiles"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["s"].as_f64(), one["needs"].as_u64()))
        .collect();
    assert_eq!(quantiles[3..], [(Some(0.001), None), (None, Some(1000))], "p99 and p99.9 of 512");
    let mut at: Vec<u64> =
        access["reads"].as_array().unwrap().iter().filter_map(|read| read[0].as_u64()).collect();
    assert!(at.iter().all(|byte| byte % 4096 == 0 && *byte < 1 << 30) && at.is_sorted());
    at.dedup();
    assert!(at.len() > 500, "they go to places of their own: {}", at.len());
    assert!(at[0] < 64 << 20 && at.last().is_some_and(|last| *last > 960 << 20), "all over the device");
    let none = scanned(&bench, sim, "--zones 16 --access 0", 0);
    assert_eq!((&none["access"], classes(&none)), (&Value::Null, vec![1024, 0, 0, 0, 0, 0]));
    // Where a random read fails, something cannot be read, in whichever place.
    let lost = scanned(&bench, "sim:size=1GiB,service_time=constant 1ms,0B..1GiB fails", "--zones 2", 5);
    assert_eq!((&lost["verdict"], &lost["access"]["errors"]), (&json!("unreadable"), &json!(8)));
}

#[test]
fn classes_are_those_that_are_asked_for() {
    let bench = Bench::new();
    let seeds = scanned(&bench, ODD, "--full --zones 8 --classes 5ms,20ms,50ms,150ms,500ms --access 0", 5);
    assert_eq!(classes(&seeds), [1018, 1, 1, 1, 1, 1], "half open: 5 ms and 20 ms are in the next");
    // A disk of 7200 rotations: 20 ms are one re-read and less than two, 3 ms a change of cylinder.
    let rotating = scanned(&bench, ODD, "--full --zones 8 --rpm 7200 --block 1MiB --access 0", 5);
    assert_eq!(classes(&rotating), [1017, 2, 0, 1, 0, 0, 3]);
    let limits: Vec<String> = rotating["class_limits_s"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .map(|s| format!("{:.2}", s * 1e3))
        .collect();
    assert_eq!(limits, ["2.44", "5.79", "14.12", "22.46", "39.12", "55.79"]);
    assert_eq!(rotating["rpm"], 7200);
    for (words, says) in [
        ("--classes 5ms,20", "limit 2: "),
        (
            "--classes 20ms,5ms",
            "limit 2: 5 ms is not above the 20 ms before it; write them in ascending order",
        ),
        ("--classes 0ms", "limit 1: no read takes less than 0"),
        ("--classes 5ms --rpm 7200", "cannot be used with"),
        ("--rpm 72", "72 is not in 1000..=60000"),
        ("--order sideways", "there are linear, reverse, butterfly, random"),
        ("--access-block 3KiB", "no power of two"),
    ] {
        bench.check_refused(&format!("scan sim: {words}"), 2, &[says]);
    }
    for (target, says) in [
        ("sim:64MiB..32MiB", "is not \"A..B takes T\" or \"A..B fails\""),
        ("sim:64MiB..32MiB fails", "is not behind"),
        ("sim:speed=3", "is nothing that is set of a simulated device"),
    ] {
        bench.check_refused_under(&[], &["scan", target], 2, &[says]);
    }
}

/// A block that is slow is read more often; one that was slow by chance is told apart by these reads, as the tests of `scan` in
/// the analysis have it.
#[test]
fn a_block_that_is_slow_is_read_again() {
    let bench = Bench::new();
    let job = "sim:size=64MiB,service_time=constant 1ms,32MiB..33MiB takes 200ms";
    let found = scanned(&bench, job, "--access 0", 0);
    assert_eq!(
        found["slow"],
        json!([{ "first_byte": 32 << 20, "bytes": 1 << 20, "took_s": 0.2, "read_again": true }])
    );
    let report = bench.report();
    let names: Vec<&str> =
        report["steps"].as_array().unwrap().iter().filter_map(|step| step["name"].as_str()).collect();
    assert!(names.contains(&"3 more reads of 32 MiB"), "{names:?}");
}

#[test]
fn a_large_part_that_is_slow_is_found_whole() {
    let bench = Bench::new();
    for (from, to) in [(3, 6), (0, 1), (7, 8), (4, 8)] {
        let target = format!("sim:size=8GiB,service_time=constant 1ms,{from}GiB..{to}GiB takes 20ms");
        let found = scanned(&bench, &target, "--access 0 --sample 4MiB", 0);
        let zones = found["zones"].as_array().expect("a list");
        for zone in zones {
            let start = zone["first_byte"].as_u64().expect("a number");
            assert_eq!(zone["slow"], json!((from << 30..to << 30).contains(&start)), "{from}..{to}: {zone}");
        }
        assert_eq!((zones.len(), &found["verdict"]), (128, &json!("slow")));
        let sentence = found["sentence"].as_str().expect("text");
        assert!(sentence.contains(&format!("{} slow zones", (to - from) * 16)), "{sentence}");
    }
}

/// What is smaller than a block is one read, and not one of each sector.
#[test]
fn a_target_below_a_block_is_one_read() {
    let bench = Bench::new();
    let found = scanned(&bench, "sim:size=900KiB,service_time=constant 1ms", "--access 0", 0);
    assert_eq!(found["zones"][0]["bytes"], 900 << 10);
    assert_eq!(found["zones"][0]["bytes_per_s"], 921_600_000.0);
    assert_eq!(classes(&found), [1, 0, 0, 0, 0, 0]);
    let found =
        scanned(&bench, "sim:size=900KiB,service_time=constant 1ms,4KiB..5KiB fails", "--access 0", 5);
    assert_eq!(found["unreadable"], json!([{ "first_byte": 4096, "bytes": 1024, "error": "EIO" }]));
}

/// A device whose places are all alike has none that is slow, however few reads are in a zone; and the answer says what can be told.
#[test]
fn reads_that_scatter_make_no_zone_slow() {
    let bench = Bench::new();
    for (device, words, reads) in [
        ("size=128MiB,service_time=exponential 1ms", "", 1),
        ("size=256MiB,service_time=exponential 1ms", "", 2),
        ("size=1GiB,service_time=exponential 1ms", "", 8),
        ("size=1GiB,service_time=exponential 1ms", "--zones 300 --sample 1MiB", 1),
        ("size=2GiB,service_time=exponential 1ms", "", 16),
        ("size=256MiB,service_time=uniform 0.5ms..1.5ms", "", 2),
    ] {
        let found = scanned(&bench, &format!("sim:{device}"), words, 0);
        let zones = found["zones"].as_array().expect("a list");
        let is_slow = |zone: &&Value| zone["slow"] == true || zone["slow_once"] == true;
        assert_eq!(zones.iter().filter(is_slow).count(), 0, "{device} {words}");
        let sentence = found["sentence"].as_str().expect("a text");
        assert!(sentence.contains("nothing is known to be slow and all can be read"), "{sentence}");
        let told = format!("Zones ({reads} read{} each) scatter", if reads == 1 { "" } else { "s" });
        assert!(sentence.contains(&told), "{sentence}");
        assert!(found["slow_zone_share"].as_f64().is_some_and(|share| share < 0.7), "{found:#}");
    }
    // Enough reads for the rule.
    let even = scanned(&bench, "sim:size=256MiB,service_time=uniform 0.9ms..1.1ms", "", 0);
    assert_eq!(even["slow_zone_share"], json!(0.7));
    assert!(even["sentence"].as_str().is_some_and(|text| text.contains("nothing is slow")), "{even:#}");
}

/// A zone that takes longer than chance allows is found, also where reads scatter.
#[test]
fn zones_that_are_slow_among_reads_that_scatter_are_found() {
    let bench = Bench::new();
    for (device, slow) in [
        // 64 reads a zone.
        ("size=8GiB,service_time=exponential 1ms,3GiB..3136MiB takes 3ms", vec![48]),
        ("size=8GiB,service_time=uniform 0.5ms..1.5ms,3GiB..3136MiB takes 2ms", vec![48]),
        // 2 reads a zone.
        ("size=256MiB,service_time=uniform 0.5ms..1.5ms,20MiB..22MiB takes 8ms", vec![10]),
        ("size=1GiB,service_time=uniform 0.5ms..1.5ms,80MiB..96MiB takes 5ms", vec![10, 11]),
    ] {
        let found = scanned(&bench, &format!("sim:{device}"), "", 0);
        let zones = found["zones"].as_array().expect("a list");
        let is_slow: Vec<usize> = (0..zones.len()).filter(|&at| zones[at]["slow"] == true).collect();
        assert_eq!(is_slow, slow, "{device}: {}", found["sentence"]);
    }
}

/// What nothing was read of has neither a speed nor a latency; and that it cannot be read is no fault of the measurement.
#[test]
fn a_target_that_cannot_be_read_has_no_figures() {
    let bench = Bench::new();
    let lost = scanned(&bench, "sim:size=64MiB,0B..64MiB fails", "--zones 3", 5);
    for zone in lost["zones"].as_array().expect("a list") {
        for figure in ["bytes_per_s", "mean_s", "max_s"] {
            assert_eq!(zone[figure], Value::Null, "{figure}: {zone}");
        }
    }
    for figure in ["mean_s", "min_s", "max_s"] {
        assert_eq!(lost["access"][figure], Value::Null, "{figure}");
    }
    assert!(!lost.to_string().contains("-0.0") && lost["burst_bytes_per_s"] == Value::Null, "{lost:#}");
    let text = bench.fathom_with(&["report", "last"]).expect(0, &[]).out.clone();
    assert!(text.contains("n/a") && !text.contains("0 ns"), "{text}");
    assert!(text.contains("is the answer of a scan"), "{text}");
    let page = bench.fathom_with(&["report", "last", "--format", "html"]).expect(0, &[]).out.clone();
    let grade = ">Nothing found against the measurement; what it found is told above<";
    assert!(page.contains("CANNOT BE READ") && page.contains(grade));
}

/// What was not read is not known to be sound, and the sentence speaks of what was.
#[test]
fn a_scan_that_was_ended_early_is_incomplete() {
    let bench = Bench::new();
    let target = "sim:size=4GiB,service_time=constant 1ms,2GiB..3GiB takes 4ms";
    // Zones of 64 MiB; from the 33rd on reads take longer than 3 ms, which ends it within that.
    let all = ["scan", target, "-q", "--json", "--access", "0", "--full", "--zones", "64"];
    let ended = [&all[..], &["--abort-when", "mean > 3ms"]].concat();
    let found = bench.fathom_with(&ended).expect(99, &[]).json();
    assert_eq!(
        (&found["verdict"], &found["whole"], &found["complete"]),
        (&json!("incomplete"), &json!(false), &json!(false)),
        "{found:#}"
    );
    assert_eq!((&found["read_bytes"], &found["to_read_bytes"]), (&json!(2_u64 << 30), &json!(4_u64 << 30)));
    let sentence = found["sentence"].as_str().expect("text");
    assert!(sentence.starts_with("Ended before it was through, with 2 GiB of 4 GiB read. "), "{sentence}");
    assert!(sentence.contains("nothing of that is slow and all of that can be read."), "{sentence}");
    let rows = bench.fathom("report last --format answer-csv").expect(0, &[]).out.clone();
    assert!(rows.contains("answer,0,verdict,incomplete"), "{rows}");
    for format in ["text", "markdown", "html"] {
        let page = bench.fathom(&format!("report last --format {format}")).expect(0, &[]).out.clone();
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.contains("with 2 GiB of 4 GiB read") && !page.contains("all of it"), "{format}: {page}");
    }
    // Nothing at all.
    let none = [&all[..], &["--abort-when", "iops > 1"]].concat();
    let none = bench.fathom_with(&none).expect(99, &[]).json();
    assert_eq!((&none["verdict"], &none["read_bytes"]), (&json!("incomplete"), &json!(0)), "{none:#}");
    assert!(
        none["sentence"].as_str().is_some_and(|text| text.contains("nothing is known of the 4 GiB")),
        "{none:#}"
    );
    let whole = bench.fathom_with(&all).expect(0, &[]).json();
    assert_eq!((&whole["verdict"], &whole["whole"]), (&json!("slow"), &json!(true)));
}

/// What reads do not bring is not read, though they do not fail.
#[test]
fn what_short_reads_leave_out_is_skipped() {
    let bench = Bench::new();
    let found = scanned(&bench, "sim:size=64MiB,short_share=100%", "--access 0", 8);
    assert_eq!((&found["verdict"], &found["whole"]), (&json!("incomplete"), &json!(false)));
    let skipped = found["skipped"].as_array().expect("a list");
    assert_eq!(skipped.len(), 64);
    assert_eq!(skipped[1], json!({ "first_byte": 3 << 19, "bytes": 1 << 19, "why": "short" }));
    let sentence = found["sentence"].as_str().expect("text");
    assert!(sentence.contains("32 MiB in 64 places NOT READ, since reads brought less"), "{sentence}");
    // In zones of several reads it is known of each after a closer look.
    let found = scanned(&bench, "sim:size=64MiB,short_share=100%", "--access 0 --zones 4", 8);
    assert_eq!(found["skipped"].as_array(), Some(skipped), "{found:#}");
}

/// The last bytes are read as well, however few, of simulated devices and of files.
#[test]
fn the_end_behind_the_last_sector_is_read() {
    let bench = Bench::new();
    for (size, rest) in [(1_u64, 1_u64), (100, 100), (511, 511), (1_000_000, 64), (1_048_577, 1)] {
        let odd = format!("sim:size={size},{}..{size} fails", size - 1);
        let found = scanned(&bench, &odd, "--access 0", 5);
        let expect = json!([{ "first_byte": size - rest, "bytes": rest, "error": "EIO" }]);
        assert_eq!(found["unreadable"], expect, "{size}");
        assert_eq!(found["read_bytes"], size);
        let path = bench.write("odd", vec![7_u8; usize::try_from(size).unwrap()]);
        let path = path.to_str().expect("a path");
        let found = scanned(&bench, path, "--access 0", 0);
        assert_eq!((&found["whole"], &found["read_bytes"]), (&json!(true), &json!(size)), "{found:#}");
        assert!(!found["doubts"].to_string().contains("cache."), "{found:#}");
        let zones: Vec<(u64, u64)> = found["zones"]
            .as_array()
            .unwrap()
            .iter()
            .map(|zone| (zone["first_byte"].as_u64().unwrap(), zone["bytes"].as_u64().unwrap()))
            .collect();
        assert_eq!(zones.last().map(|(start, length)| start + length), Some(size), "{zones:?}");
        assert_eq!(zones.iter().map(|(_, length)| length).sum::<u64>(), size, "{zones:?}");
        let bytes: u64 = read_bytes(&bench.report());
        assert_eq!(
            bytes,
            size + if size > 1 << 20 { 32 << 20 } else { 0 },
            "with the reads of the first block"
        );
    }
}

/// Bytes that the steps of a run have read.
fn read_bytes(report: &Value) -> u64 {
    let steps = report["steps"].as_array().expect("a list");
    steps.iter().filter_map(|step| step["total"]["all"]["bytes"].as_u64()).sum()
}

#[test]
fn what_has_no_places_is_refused_once() {
    let bench = Bench::new();
    let empty = bench.write("empty", "");
    let empty = empty.to_str().expect("a path");
    for (target, says) in [
        (empty, "is empty: there is nothing to read"),
        ("/dev/zero", "/dev/zero has no end, and no places to tell apart"),
        ("null:", "null: holds nothing, and has no places to tell apart"),
        ("absent", "absent does not exist"),
    ] {
        let refused = bench.fathom_with(&["scan", target]);
        refused.expect(4, &[]);
        assert_eq!(refused.err.matches("error[").count(), 1, "{}", refused.err);
        assert!(refused.err.contains(says), "{}", refused.err);
        for word in ["layout", "offset", "size smaller"] {
            assert!(!refused.err.contains(word), "{word}: {}", refused.err);
        }
    }
    assert_eq!(bench.stored(), 0, "nothing was run");
}
