//! What a curve over rates says of queues whose answers are known.

use super::*;
use crate::sample::latency;
use fathom_units::Nanos;

/// What an open loop shows of a queue of mean response time `response_s` at a rate, with an error of `off`.
pub(super) fn point(rate: f64, response_s: f64, off: f64) -> LoadPoint {
    let mean_s = response_s * (1.0 + off);
    LoadPoint {
        held: rate * mean_s,
        rate,
        mean_s,
        response: latency(mean_s * 1e9, 1000),
        bytes_per_s: 0.0,
        errors: 0,
        offered: rate,
        dropped: 0,
        backlog_max: 0,
        stopped_s: 0.0,
    }
}

fn mean_goal(limit: Nanos) -> LatencyGoal {
    LatencyGoal { quantile: None, limit }
}

#[test]
fn queues_of_one_server_are_read_off_exactly() {
    for queues in [1.0, 4.0] {
        read_off_exactly(queues);
    }
}

/// M/M/1, S = 1 ms: R = S/(1 − ρ), so 5 ms at 800/s; twice S at 500/s, with one operation in flight. Of several beside one another
/// all rates and loads are as many times as large.
fn read_off_exactly(queues: f64) {
    let offered: Vec<(f64, LoadPoint)> = (1..10)
        .flat_map(|tenth| [-0.001, 0.0, 0.001].map(|off| (tenth, off)))
        .map(|(tenth, off)| {
            let rate = 100.0 * f64::from(tenth);
            (queues * rate, point(queues * rate, 0.001 / (1.0 - rate / 1000.0), off))
        })
        .collect();
    let full: Vec<(f64, LoadPoint)> =
        [999.0, 1000.0, 1001.0].map(|rate| (64.0, point(queues * rate, 0.064, 0.0))).to_vec();
    let goals = [mean_goal(Nanos::millis(5)), mean_goal(Nanos::millis(4))];
    let found = curve(&full, offered, queues, &goals).unwrap();
    let rates = found.rates.unwrap();
    let check = |estimate: Option<Estimate>, expect: f64| {
        let Estimate { value, interval } = estimate.expect("it is there");
        let (low, high) = interval.expect("every rate came three times");
        assert!((value / expect - 1.0).abs() < 2e-3, "{value}, not {expect}");
        assert!(low <= value && value <= high && high - low < 0.02 * expect, "{low} {value} {high}");
    };
    check(Some(rates.maximum), queues * 1000.0);
    check(rates.alone_s, 0.001);
    check(rates.doubled, queues * 500.0);
    check(found.answers.knee, queues * 1.0);
    check(found.answers.parallel_units, queues * 1.0);
    check(found.answers.latency_limits[0].x, queues * 800.0);
    check(found.answers.latency_limits[0].n, queues * 4.0);
    // Between two measured rates: 750/s, three in flight.
    check(found.answers.latency_limits[1].x, queues * 750.0);
    check(found.answers.latency_limits[1].n, queues * 3.0);
    assert_eq!((rates.carried, found.answers.verdict), (Some(queues * 900.0), Verdict::Queueing));
}

#[test]
fn a_device_that_takes_all_until_it_is_full_is_capped() {
    // Eight servers, evenly fed: 1 ms until 8000/s.
    let offered: Vec<(f64, LoadPoint)> = (1..=10)
        .map(|tenth| {
            let rate = 800.0 * f64::from(tenth);
            let done = if tenth == 10 { rate * 0.9 } else { rate };
            let mean_s = if tenth == 10 { 0.5 } else { 0.001 };
            let backlog_max = if tenth == 10 { 800 } else { 0 };
            (rate, LoadPoint { offered: rate, backlog_max, ..point(done, mean_s, 0.0) })
        })
        .collect();
    let found = curve(&[(256.0, point(8000.0, 0.032, 0.0))], offered, 1.0, &[mean_goal(Nanos::micros(500))]);
    let found = found.unwrap();
    let rates = found.rates.unwrap();
    assert_eq!((found.answers.verdict, rates.carried), (Verdict::Capped, Some(7200.0)));
    assert!((found.answers.parallel_units.unwrap().value - 8.0).abs() < 1e-6);
    assert_eq!(found.answers.latency_limits[0].x, None, "every rate takes longer");
    assert_eq!(*rates.states.last().unwrap(), State::Overloaded);
}

/// Between 0.5/s and what is not carried nothing tells where four servers take twice as long: at 3,300/s.
#[test]
fn what_lies_where_nothing_was_measured_has_an_interval_as_wide() {
    let rate = |asked: f64, done: f64, mean_s: f64| {
        [-0.001, 0.0, 0.001]
            .map(|off| (asked, LoadPoint { offered: asked, backlog_max: 9, ..point(done, mean_s, off) }))
    };
    let full = [3990.0, 4000.0, 4010.0].map(|rate| (64.0, point(rate, 0.016, 0.0)));
    let offered = [rate(0.5, 0.5, 0.001), rate(1e4, 3990.0, 6.0)].concat();
    let found = curve(&full, offered, 1.0, &[mean_goal(Nanos::millis(3))]).unwrap();
    for x in [found.rates.as_ref().unwrap().doubled, found.answers.latency_limits[0].x] {
        let (low, high) = x.unwrap().interval.unwrap();
        assert!(low <= 0.5 && high >= 3900.0, "{low} to {high}");
    }
    let remarks = &found.answers.remarks;
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    assert!(remarks[0].contains("no rate between 0.500/s and 3990/s was measured"), "{remarks:?}");
}

/// A thousand units of 100 ms, of which fathom keeps 256 busy: what that brings is no figure of the target's.
#[test]
fn a_queue_that_is_too_small_is_no_target_that_is_full() {
    let rate = |asked: f64, done: f64, mean_s: f64| {
        (asked, LoadPoint { offered: asked, backlog_max: 9, ..point(done, mean_s, 0.0) })
    };
    let offered = vec![rate(1000.0, 1000.0, 0.1), rate(2000.0, 2000.0, 0.1), rate(4000.0, 2560.0, 2.0)];
    let goal = mean_goal(Nanos::millis(150));
    let found = curve(&[(256.0, point(2560.0, 0.1, 0.0))], offered.clone(), 1.0, &[goal]).unwrap();
    let (answers, rates) = (&found.answers, found.rates.as_ref().unwrap());
    assert_eq!((answers.verdict, rates.is_held_back, rates.doubled), (Verdict::Linear, true, None));
    assert_eq!((answers.parallel_units, answers.latency_limits[0].x), (None, None));
    assert!(answers.remarks[0].contains("256 operations in flight"), "{:?}", answers.remarks);
    // Of 256 units all are busy, and operations wait for one another in the target.
    let full = curve(&[(512.0, point(2560.0, 0.2, 0.0))], offered, 1.0, &[goal]).unwrap();
    assert!(!full.rates.as_ref().unwrap().is_held_back);
    assert!((full.answers.parallel_units.unwrap().value - 256.0).abs() < 3.0, "{:?}", full.answers);
}

/// Response times of an overload say how long it went on, and nothing of an idle target.
#[test]
fn where_all_rates_are_too_much_nothing_is_told_of_an_idle_target() {
    let rate = |asked: f64, mean_s: f64| {
        (asked, LoadPoint { offered: asked, backlog_max: 900, ..point(1000.0, mean_s, 0.0) })
    };
    let full = [(64.0, point(1000.0, 0.064, 0.0))];
    let found = curve(&full, vec![rate(2000.0, 1.2), rate(3000.0, 2.1)], 1.0, &[]).unwrap();
    let rates = found.rates.as_ref().unwrap();
    assert_eq!((rates.alone_s, rates.doubled, rates.carried), (None, None, None));
    assert_eq!((found.answers.verdict, found.answers.parallel_units), (Verdict::Flat, None));
    // Nor do those of a queue that is well filled: M/M/1 and M/D/1 of other service times have the same.
    let of = |rho: f64| (1000.0 * rho, point(1000.0 * rho, 0.001 / (1.0 - rho), 0.0));
    let found = curve(&full, vec![of(0.8), of(0.99)], 1.0, &[]).unwrap();
    assert!(found.answers.remarks.iter().any(|remark| remark.contains("that of 64 operations in flight")));
    assert_eq!((found.rates.unwrap().alone_s, found.answers.parallel_units), (None, None));
    assert_eq!(found.answers.verdict, Verdict::NoLaw);
    // Between half of it and too much nothing says whether they wait before it is nearly full.
    let found = curve(&full, vec![of(0.4), rate(2000.0, 1.2)], 1.0, &[]).unwrap();
    assert_eq!(found.answers.verdict, Verdict::NoLaw);
    assert!(found.rates.unwrap().doubled_between.is_some());
}

#[test]
fn erlang_c_is_that_of_the_tables() {
    // 10 units at 0.8: 0.4092 (Gross and Harris, by their formula 2.40).
    for (units, utilisation, expect) in [(1.0, 0.3, 0.3), (2.0, 0.5, 1.0 / 3.0), (10.0, 0.8, 0.4092)] {
        let found = erlang_c(units, utilisation);
        assert!((found - expect).abs() < 1e-4, "{found} of {units} at {utilisation}");
    }
    let (below, between, above) = (erlang_c(3.0, 0.5), erlang_c(3.5, 0.5), erlang_c(4.0, 0.5));
    assert!(below > between && between > above, "{below} {between} {above}");
}

#[test]
fn one_rate_is_no_curve() {
    assert_eq!(curve(&[(1.0, point(10.0, 0.1, 0.0))], vec![(5.0, point(5.0, 0.1, 0.0)); 2], 1.0, &[]), None);
    assert_eq!(curve(&[], vec![(5.0, point(5.0, 0.1, 0.0)), (6.0, point(6.0, 0.1, 0.0))], 1.0, &[]), None);
}
