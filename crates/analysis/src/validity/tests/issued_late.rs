//! Arrivals that the generator issued late, told from those that waited for the device.

use super::*;

#[test]
fn arrivals_issued_late_beside_free_slots() {
    // The constructed response times are half as long again as the service times: no more than waiting for a device.
    let mut record = record(&[StreamShape { pacing: open(1000.0), ..base() }]);
    check(&record, &[]);
    let tally = &mut record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
    tally.arrivals = 10_000;
    let kind = &mut tally.kinds[0];
    let mut response = fathom_metrics::Latency::default();
    (0..kind.operations).for_each(|k| response.record(if k % 50 == 0 { 30_000_000 } else { 4_000_000 }));
    kind.response = Some(response.to_tally());
    let mut waited = record.clone();
    check(&record, &[("pacing.issued-late", Severity::Warn)]);
    // Those that waited for a slot are the device's.
    waited.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally.arrivals_late = 200;
    check(&waited, &[]);
    // Unless hardly any was in use: what waited longer than anything took waited for the host.
    let idle = |pacing: Pacing, response_ns: u64| {
        let mut record = crate::sample::record(&[StreamShape { pacing, fullness: 0.01, ..base() }]);
        let tally = &mut record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
        (tally.arrivals, tally.arrivals_late) = (10_000, 5_000);
        let mut response = fathom_metrics::Latency::default();
        (0..10_000).for_each(|_| response.record(response_ns));
        tally.kinds[0].response = Some(response.to_tally());
        // 40 µs in the mean, one in a hundred ten times that, and nine twice.
        let mut service = fathom_metrics::Latency::default();
        let takes_ns = |k: u64| match k % 100 {
            0 => 400_000,
            1..10 => 80_000,
            _ => 32_000,
        };
        (0..10_000).for_each(|k| service.record(takes_ns(k)));
        tally.kinds[0].service = service.to_tally();
        record
    };
    check(&idle(open(1000.0), 300_000_000), &[("pacing.issued-late", Severity::Warn)]);
    // Not so a wait as long as an operation that was slow, nor what came in bursts.
    let longest = {
        let record = idle(open(1000.0), 300_000_000);
        record.steps[0].finished.as_ref().unwrap().streams[0].workers[0].tally.kinds[0].service.moments.max_ns
    };
    check(&idle(open(1000.0), longest), &[]);
    // On a device of constant service times a quarter of whose time is taken, Poisson arrivals wait for one another: their p99
    // is 2.65 service times (M/D/1), which is nobody's fault.
    let Pacing::Open { rate, course, backlog, .. } = open(1000.0) else { unreachable!() };
    let random = Pacing::Open { rate, arrival: Arrival::Poisson, course, backlog };
    let mut even = idle(random.clone(), longest * 265 / 100);
    let worker = &mut even.steps[0].finished.as_mut().unwrap().streams[0].workers[0];
    let mut service = fathom_metrics::Latency::default();
    (0..10_000).for_each(|_| service.record(longest));
    worker.tally.kinds[0].service = service.to_tally();
    worker.tally.in_flight_ns = longest as f64 * 10_000.0;
    check(&even, &[]);
    check(&idle(random.clone(), longest * 5), &[("pacing.issued-late", Severity::Warn)]);
    // One operation that was under way when the host stopped the worker is not what all others waited for; two of each slot may be.
    let mut stopped = idle(random, 50_000_000);
    let depth = stopped.steps[0].started.step.streams[0].queue_depth;
    for (count, told) in [(2 * depth, &[][..]), (1, &[("pacing.issued-late", Severity::Warn)])] {
        let mut service = fathom_metrics::Latency::default();
        (0..10_000).for_each(|k| service.record(if k < count { 20_000_000 } else { 10_000 }));
        let worker = &mut stopped.steps[0].finished.as_mut().unwrap().streams[0].workers[0];
        worker.tally.kinds[0].service = service.to_tally();
        check(&stopped, told);
    }
    // Nor where all slots were in use whenever arrivals were late.
    let busy = &mut stopped.steps[0].intervals[3].tally;
    (busy.arrivals_late, busy.in_flight_ns) = (500, f64::from(depth) * 1e9);
    check(&stopped, &[]);
    // The slots of the null engine are taken for no time but the generator's own; what waits to the end is told as an overload.
    let mut null = stopped.clone();
    null.steps[0].started.step.streams[0].engine.kind = EngineKind::Null;
    let found = |record: &Record| findings(record).iter().any(|finding| finding.id == "pacing.issued-late");
    assert!(found(&null) && !found(&stopped));
    let Pacing::Open { rate, course, backlog, .. } = open(1000.0) else { unreachable!() };
    let arrival = Arrival::OnOff { on_ns: 1_000_000_000, off_ns: 1_000_000_000 };
    check(&idle(Pacing::Open { rate, arrival, course, backlog }, 300_000_000), &[]);
}
