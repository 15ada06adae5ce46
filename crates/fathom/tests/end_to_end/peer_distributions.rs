//! What is drawn, beside the peer: both keep a trace of what they issue, and how often places, kinds and sizes come is compared,
//! since the numbers that are drawn differ. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use std::collections::{BTreeMap, BTreeSet};

/// Operations of each trace. A share of one half then has a standard deviation of 0.35 percentage points.
const OPERATIONS: usize = 20_000;
/// Percentage points that two shares may differ by: chance, and places that the peer's hash maps to one block.
const APART: f64 = 3.0;

/// What an iolog says of one operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Issued {
    kind: String,
    offset: u64,
    length: u64,
}

/// The operations that `program` issues for this job on 4 MiB without a device.
fn issued(program: &[&str], job: &str) -> Vec<Issued> {
    let bench = Bench::new();
    let fixed = "--name=a --ioengine=null --size=4m --write_iolog=trace --output=report";
    let words: Vec<&str> = program.iter().copied().chain(fixed.split(' ')).chain(job.split(' ')).collect();
    bench.run(&words).expect(0, &[]);
    let trace = std::fs::read_to_string(bench.path("trace")).expect("it was written");
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [_, _, kind @ ("read" | "write"), offset, length] => Some(Issued {
            kind: kind.to_owned(),
            offset: offset.parse().expect("a number"),
            length: length.parse().expect("a number"),
        }),
        _ => None,
    };
    trace.lines().filter_map(line).collect()
}

/// Shares in percent, by name.
type Shares = BTreeMap<String, f64>;

/// How the operations are distributed. Where places are scattered, only how many come how often says something.
fn shares(issued: &[Issued], is_scattered: bool) -> Shares {
    let all = issued.len() as f64;
    let mut shares = Shares::new();
    let mut add = |name: String, count: usize| *shares.entry(name).or_default() += count as f64 / all * 100.0;
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    for Issued { kind, offset, length } in issued {
        add(format!("kind {kind}"), 1);
        add(format!("{length} B"), 1);
        if !is_scattered {
            add(format!("part {}", offset >> 19), 1);
            add(format!("{kind} on multiples of {}", 4096 << (offset >> 12).trailing_zeros().min(3)), 1);
        }
        *places.entry(*offset).or_default() += 1;
    }
    let onward = issued.windows(2).filter(|pair| pair[1].offset == pair[0].offset + pair[0].length);
    add("onward".to_owned(), onward.count());
    let mut counts: Vec<usize> = places.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    for most in [1, 10, 50, 100, 300] {
        add(format!("the {most} most frequent"), counts.iter().take(most).sum());
    }
    shares
}

fn check(job: &str, is_scattered: bool) {
    let job = format!("{job} --number_ios={OPERATIONS} --io_size=4g");
    let [theirs, ours] =
        [&["fio"][..], &[FATHOM, "fio"]].map(|program| shares(&issued(program, &job), is_scattered));
    for name in theirs.keys().chain(ours.keys()).collect::<BTreeSet<_>>() {
        let [theirs, ours] = [&theirs, &ours].map(|shares| shares.get(name).copied().unwrap_or(0.0));
        assert!((theirs - ours).abs() <= APART, "{job}, {name}: fathom {ours:.2}%, the peer {theirs:.2}%");
    }
}

#[test]
fn places_that_are_preferred_come_as_often() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("places_that_are_preferred_come_as_often", &why);
    }
    for job in [
        "zipf:1.2",
        "zipf:0.7",
        "zipf:1.4:0.3",
        "pareto:0.2",
        "pareto:0.6:0.5",
        "normal:10",
        "normal",
        "normal:25:0.5",
    ] {
        check(&format!("--rw=randread --random_distribution={job}"), true);
    }
    for job in
        ["zoned:60/10:30/20:10/70", "zoned:90/25:10/75", "zoned:60/0:40/50", "zoned_abs:60/1m:30/512k:10/1m"]
    {
        check(&format!("--rw=randread --random_distribution={job}"), false);
    }
    check("--rw=randread --norandommap", false);
}

/// fio's manual has lists of directions, which fio 3.33 refuses: each direction has to be as with its list alone.
#[test]
fn directions_have_zones_of_their_own() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("directions_have_zones_of_their_own", &why);
    }
    let parts = |program: &[&str], zones: &str, kind: &str| {
        let job = format!("--rw=randrw --random_distribution={zones} --number_ios={OPERATIONS} --io_size=4g");
        let mut issued = issued(program, &job);
        issued.retain(|operation| operation.kind == kind);
        let mut parts = [0.0; 8];
        for Issued { offset, .. } in &issued {
            parts[usize::try_from(offset >> 19).expect("eight parts")] += 100.0 / issued.len() as f64;
        }
        parts
    };
    for (name, read, write) in
        [("zoned", "60/10:30/20:10/70", "40/25:60/75"), ("zoned_abs", "100/1m", "20/512k:80/2m")]
    {
        let both = format!("{name}:{read},{write}");
        for (kind, list) in [("read", read), ("write", write)] {
            let theirs = parts(&["fio"], &format!("{name}:{list}"), kind);
            let ours = parts(&[FATHOM, "fio"], &both, kind);
            let is_alike = theirs.iter().zip(&ours).all(|(theirs, ours)| (theirs - ours).abs() <= APART);
            assert!(is_alike, "{kind} of {both}: fathom {ours:.1?}, the peer {theirs:.1?}");
        }
    }
}

#[test]
fn kinds_and_sizes_come_as_often() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("kinds_and_sizes_come_as_often", &why);
    }
    for job in [
        "--rw=randrw --rwmixread=70 --norandommap",
        "--rw=randrw --rwmixwrite=90 --norandommap --bs=4k,8k",
        "--rw=randrw --norandommap --bsrange=16k-32k,4k-8k",
        "--rw=randrw --norandommap --ba=4k,16k",
        "--rw=randread --norandommap --percentage_random=30",
        "--rw=randread --norandommap --bssplit=4k/10:64k/50:32k/40",
        "--rw=randread --norandommap --bssplit=4k/40:8k/0",
        "--rw=randrw --norandommap --bssplit=4k/0:64k/50:32k,4k/0:8k",
        "--rw=randread --norandommap --bsrange=4k-20k",
        "--rw=randread --norandommap --bsrange=4k-10k",
    ] {
        check(job, false);
    }
}

#[test]
fn a_random_map_lets_every_block_come_once() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_random_map_lets_every_block_come_once", &why);
    }
    // Blocks that are touched, and how many operations begin at each.
    let touched = |program: &[&str], job: &str| {
        let issued = issued(program, job);
        let distinct: BTreeSet<Issued> = issued.iter().cloned().collect();
        assert_eq!(distinct.len(), issued.len(), "{program:?} {job}: an operation came twice");
        distinct
    };
    for job in [
        "--rw=randread",
        "--rw=randwrite --bs=3k",
        "--rw=randread --bs=64k --random_generator=lfsr",
        "--rw=randwrite --size=1001k --bs=8k",
        "--rw=randread --offset=1m --size=2m --bs=16k",
        "--rw=randread --random_generator=tausworthe64 --randrepeat=0",
    ] {
        assert_eq!(touched(&[FATHOM, "fio"], job), touched(&["fio"], job), "{job}");
    }
}
