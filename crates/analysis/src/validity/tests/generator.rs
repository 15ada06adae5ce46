//! Findings of a generator that has no reserve: its CPUs, and what it reaches without a device.

use super::*;

#[test]
fn generator() {
    let busy = StreamShape { cpu: 0.95, ..base() };
    check(&record(std::slice::from_ref(&busy)), &[("generator.cpu-bound", Severity::Warn)]);
    check(&record(&[StreamShape { cpu: 0.9, ..base() }]), &[]);
    let mut null = record(std::slice::from_ref(&busy));
    null.steps[0].started.step.targets[0].kind = TargetKind::Null;
    check(&null, &[("generator.ceiling", Severity::Info)]);
    let mut sim = record(&[busy]);
    sim.steps[0].started.step.targets[0].kind = TargetKind::Sim(SimDevice {
        service: SimService::Constant { ns: 1000 },
        parallelism: 1,
        error_share: Ratio::ZERO,
        short_share: Ratio::ZERO,
        stalls: Vec::new(),
        places: Vec::new(),
    });
    check(&sim, &[]);
}

/// On a CPU for half of the time, and with none for some more.
#[test]
fn a_worker_that_waits_for_a_cpu() {
    let waiting = |percent: u64| {
        let mut record = record(&[StreamShape { cpu: 0.5, ..base() }]);
        let done = record.steps[0].finished.as_mut().expect("it ended");
        let worker = &mut done.streams[0].workers[0];
        worker.runnable_ns = worker.end.since(worker.start).0 * percent / 100;
        record
    };
    check(&waiting(45), &[("generator.cpu-bound", Severity::Warn)]);
    check(&waiting(24), &[]);
    check(&waiting(26), &[("generator.cpu-bound", Severity::Warn)]);
    // Wakes alone take it from a CPU for as long.
    let mut busy = record(&[StreamShape { cpu: 0.89, ..base() }]);
    let window = busy.steps[0].finished.as_ref().expect("it ended").streams[0].workers[0].end.0;
    let workers = |record: &mut Record, runnable: [(u64, u64); 2]| {
        let done = record.steps[0].finished.as_mut().expect("it ended");
        for (worker, (on, waited)) in done.streams[0].workers.iter_mut().zip(runnable) {
            (worker.user_ns, worker.system_ns, worker.runnable_ns) =
                (window * on / 100, 0, window * waited / 100);
        }
    };
    workers(&mut busy, [(89, 4), (0, 0)]);
    check(&busy, &[]);
    // One that waits for longer has more in reserve than another.
    let mut two = record(&[StreamShape { workers: 2, ..base() }]);
    workers(&mut two, [(10, 60), (60, 38)]);
    check(&two, &[("generator.cpu-bound", Severity::Warn)]);
    // The busiest does not hide another that waits.
    workers(&mut two, [(70, 6), (10, 40)]);
    check(&two, &[("generator.cpu-bound", Severity::Warn)]);
    workers(&mut two, [(70, 6), (10, 20)]);
    check(&two, &[]);
    let mut spins = waiting(45);
    spins.steps[0].started.step.streams[0].pacing = Pacing::Closed {
        think: Think::Every {
            operations: 1,
            pause_ns: 1000,
            spin_ns: 1000,
            by_issue: false,
            after_ns: u64::MAX,
        },
    };
    let is_told = |finding: &Finding| finding.id == "generator.cpu-bound";
    assert!(!findings(&spins).iter().any(is_told));
    let mut null = waiting(45);
    null.steps[0].started.step.targets[0].kind = TargetKind::Null;
    check(&null, &[("generator.ceiling", Severity::Info)]);
    let told = findings(&waiting(45));
    let text = &told.first().expect("it is told").evidence;
    assert!(text.contains("on a CPU for 50 %") && text.contains("waited for one for 45 %"), "{text}");
}

#[test]
fn ceiling() {
    // 1,000 operations per second of each worker.
    let with = |operations_per_s, workers| {
        let mut record = record(&[StreamShape { workers, ..base() }]);
        record.started.facts.ceiling = Some(Ceiling { operations_per_s, engines: BTreeMap::new() });
        record
    };
    check(&with(2100.0, 1), &[]);
    check(&with(1900.0, 1), &[("generator.near-ceiling", Severity::Warn)]);
    check(&with(1900.0, 4), &[("generator.near-ceiling", Severity::Warn)]);
    // What was measured with the engine itself is nearer to what it can do.
    let engine = record(&[base()]).steps[0].started.step.streams[0].engine.kind.name();
    // Whatever is faster than it was not held back by it.
    for (name, rate, told) in
        [(engine, 1900.0, true), (engine, 2100.0, false), (engine, 900.0, false), ("net", 1900.0, false)]
    {
        let mut of_engine = with(2100.0, 1);
        let ceiling = of_engine.started.facts.ceiling.as_mut().expect("it has one");
        ceiling.engines.insert(name.to_owned(), rate);
        let expected: &[_] = if told { &[("generator.near-ceiling", Severity::Warn)] } else { &[] };
        check(&of_engine, expected);
    }
    let mut null = with(500.0, 1);
    null.steps[0].started.step.targets[0].kind = TargetKind::Null;
    check(&null, &[]);
}
