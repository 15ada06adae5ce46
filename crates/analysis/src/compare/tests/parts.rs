//! Jobs that differ in a part that no words for the whole tell: in one worker of many, in what one kind of operation does.

use super::super::compare;
use super::run;
use fathom_schema::{Case, OperationKind, Record, Size, Stream};
use fathom_units::Bytes;

#[test]
fn what_differs_in_a_part_of_a_job_is_named() {
    type Told<'a> = &'a [(&'a str, &'a str, &'a str)];
    let check = |left: &dyn Fn(&mut Stream), right: &dyn Fn(&mut Stream), expect: Told<'_>| {
        let with = |change: &dyn Fn(&mut Stream)| {
            let mut run = run(100);
            change(&mut run.steps[0].started.step.streams[0]);
            run
        };
        let found = compare(&[&with(left)], &[&with(right)], 0.03).unwrap().job_differences;
        let told: Vec<_> = found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(told, expect);
    };
    // Of many workers, one: those that are alike are not told.
    let workers = |last: u64| {
        move |stream: &mut Stream| {
            stream.workers = (0..9).map(|_| stream.workers[0].clone()).collect();
            stream.workers[8].extents[0].start = Bytes::gib(last);
        }
    };
    check(&workers(0), &workers(32), &[("regions", "4 GiB from 0 B", "4 GiB from 32 GiB")]);
    let elsewhere = |stream: &mut Stream| stream.workers[0].extents[0].target = 3;
    let told = ("regions", "4 GiB from 0 B of target 1", "4 GiB from 0 B of target 4");
    check(&|_| (), &elsewhere, &[told]);
    let all_elsewhere = |by: u64| {
        move |stream: &mut Stream| {
            let at = |n| {
                let mut worker = stream.workers[0].clone();
                worker.extents[0].start = Bytes::gib(n * by);
                worker
            };
            stream.workers = (1..9).map(at).collect();
        }
    };
    let of = |starts: [u64; 4]| {
        let texts: Vec<String> = starts.iter().map(|start| format!("4 GiB from {start} GiB")).collect();
        texts.join(", ") + " and 4 more"
    };
    check(&all_elsewhere(1), &all_elsewhere(2), &[("regions", &of([1, 2, 3, 4]), &of([2, 4, 6, 8]))]);
    // Mixes that are alike as a whole: their sizes are exchanged, or where they go.
    let of = |cases: Vec<(OperationKind, f64, u32, bool)>| {
        move |stream: &mut Stream| {
            let like = stream.workload.cases[0];
            let case = |&(kind, weight, size, random): &(OperationKind, f64, u32, bool)| Case {
                kind,
                weight,
                size: Size::Fixed(size),
                random,
                ..like
            };
            stream.workload.cases = cases.iter().map(case).collect();
        }
    };
    let (read, write) = (OperationKind::Read, OperationKind::Write);
    let base = || of(vec![(read, 0.7, 4096, true), (write, 0.3, 65_536, true)]);
    check(
        &base(),
        &of(vec![(read, 0.5, 65_536, true), (write, 0.5, 4096, true)]),
        &[
            ("mix", "70 % read 30 % write", "50 % read 50 % write"),
            ("block size of reads", "4 KiB", "64 KiB"),
            ("block size of writes", "64 KiB", "4 KiB"),
        ],
    );
    check(
        &of(vec![(read, 0.5, 4096, true), (write, 0.5, 4096, false)]),
        &of(vec![(read, 0.5, 4096, false), (write, 0.5, 4096, true)]),
        &[("access of reads", "random", "sequential"), ("access of writes", "sequential", "random")],
    );
    // All of them alike.
    check(
        &of(vec![(read, 0.5, 4096, true), (write, 0.5, 4096, true)]),
        &of(vec![(read, 0.5, 8192, true), (write, 0.5, 8192, true)]),
        &[("block size", "4 KiB", "8 KiB")],
    );
    // Beside another mix, sizes within a kind.
    check(
        &of(vec![(read, 0.4, 4096, true), (read, 0.1, 65_536, true), (write, 0.5, 4096, true)]),
        &of(vec![(read, 0.1, 4096, true), (read, 0.4, 65_536, true), (write, 0.5, 4096, true)]),
        &[(
            "shares of reads",
            "80 % random 4 KiB, 20 % random 64 KiB",
            "20 % random 4 KiB, 80 % random 64 KiB",
        )],
    );
    let coarse = |align| {
        move |stream: &mut Stream| {
            base()(stream);
            stream.workload.cases[1].align = align;
        }
    };
    check(
        &coarse(None),
        &coarse(Some(1 << 20)),
        &[("shares of writes", "100 % random 64 KiB", "100 % random 64 KiB at multiples of 1 MiB")],
    );
    // Less than words have room for.
    check(
        &of(vec![(read, 0.7, 4096, true), (write, 0.3, 4096, true)]),
        &of(vec![(read, 0.7001, 4096, true), (write, 0.2999, 4096, true)]),
        &[("exact mix", "70 % read 30 % write", "70.01 % read 29.99 % write")],
    );
}

#[test]
fn reads_of_the_same_places_are_told() {
    let is_told = |left: &Record, right: &Record| {
        let found = compare(&[left], &[right], 0.03).unwrap();
        found
            .remarks
            .iter()
            .any(|one| one.starts_with("both sides read the same random places of /dev/nvme0n1, "))
    };
    let named = |name: &str, change: &dyn Fn(&mut Record)| {
        let mut run = run(100);
        name.clone_into(&mut run.started.run);
        change(&mut run);
        run
    };
    let base = named("one", &|_| ());
    assert!(is_told(&base, &named("other", &|_| ())));
    let stream =
        |run: &mut Record, change: &dyn Fn(&mut Stream)| change(&mut run.steps[0].started.step.streams[0]);
    for (why, change) in [
        (
            "another seed",
            &(|run: &mut Record| stream(run, &|one| one.workers[0].seed += 1)) as &dyn Fn(&mut Record),
        ),
        ("another place", &|run| stream(run, &|one| one.workers[0].extents[0].start = Bytes::gib(1))),
        ("another target", &|run| run.steps[0].started.step.targets[0].name = "/dev/sda".to_owned()),
        ("another host", &|run| run.started.facts.host = "lab2".to_owned()),
        ("sequential", &|run| stream(run, &|one| one.workload.cases[0].random = false)),
        ("writes", &|run| stream(run, &|one| one.workload.cases[0].kind = OperationKind::Write)),
        ("more than a cache holds", &|run| {
            run.steps[0].intervals[0].tally.kinds[0].bytes = 1 << 30;
        }),
        ("one run", &|run| run.started.run = "one".to_owned()),
    ] {
        assert!(!is_told(&base, &named("other", change)), "{why}");
    }
}
