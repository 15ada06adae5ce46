//! Sentences and figures of curves whose laws are known.

use super::*;
use fathom_analysis::scaling::{Point, Weighting, answers};

fn usl(n: f64) -> f64 {
    900.0 * n / (1.0 + 0.02 * (n - 1.0) + 1e-4 * n * (n - 1.0))
}

#[test]
fn percentiles_of_limits_are_named_in_full() {
    let points: Vec<Point> = [1.0, 2.0, 4.0, 8.0].map(|n| Point { n, x: usl(n) }).to_vec();
    let mut found = answers(&points, None, Weighting::Equal, &[1e-6; 3], 1);
    for (limit, q) in found.latency_limits.iter_mut().zip([0.5, 0.9995, 0.9999]) {
        limit.quantile = Some(q);
    }
    let names: Vec<String> = figures(&found).into_iter().map(|(name, _)| name).collect();
    for expect in ["p50 latency 1.00 µs", "p99.95 latency 1.00 µs", "p99.99 latency 1.00 µs"] {
        assert!(names.iter().any(|name| name == expect), "{names:?}");
    }
}

#[test]
fn what_only_falls_is_told_as_that() {
    let said = |points: &[(f64, f64)]| {
        let points: Vec<Point> = points.iter().map(|&(n, x)| Point { n, x }).collect();
        sentence(&answers(&points, None, Weighting::Equal, &[], 1))
    };
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let falling = said(&loads.map(|n| (n, 5000.0 / (1.0 + 0.05 * n))));
    assert_eq!(
        falling,
        "Throughput falls from the smallest load on: 4762/s at load 1 is the most measured; more load is lost."
    );
    // Whatever the load is counted in: nothing tells where it grew.
    for (first, share) in [(1.0, 0.8), (4.0, 0.8), (8.0, 0.9), (1000.0, 0.7)] {
        let mut x = 1000.0 / share;
        let fallen = said(&loads.map(|n| {
            x *= share;
            (n * first, x)
        }));
        assert!(
            fallen.starts_with("Throughput falls from the smallest load on: 1000/s"),
            "{first}: {fallen}"
        );
    }
    let flat = said(&loads.map(|n| (n, 5000.0)));
    assert!(flat.contains("Saturated from the start"), "{flat}");
}

const EIGHT: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// Of eight loads, each of which was measured three times, a per cent apart.
fn said_of_eight(throughputs: [f64; 8]) -> String {
    let again = |(&n, x): (&f64, f64)| [0.99, 1.0, 1.01].map(|off| Point { n, x: x * off });
    let points: Vec<Point> = EIGHT.iter().zip(throughputs).flat_map(again).collect();
    sentence(&answers(&points, None, Weighting::Equal, &[], 1))
}

/// One operation at a time does 5000/s, and of eight loads that do the same one came out 4 % higher.
#[test]
fn what_is_saturated_is_not_told_by_its_luckiest_load() {
    let offs = [0.0, -0.01, 0.04, 0.005, -0.015, 0.01, -0.02, -0.01];
    assert_eq!(
        said_of_eight(offs.map(|off| 5000.0 * (1.0 + off))),
        "Saturated from the start: one operation at a time already saturates it, with 5000/s; more load only waits."
    );
}

#[test]
fn what_grows_faster_than_the_load_is_told_as_that() {
    for power in [1.1_f64, 1.15, 1.3] {
        let said = said_of_eight(EIGHT.map(|n| 100.0 * n.powf(power)));
        assert!(said.starts_with("Throughput grows faster than the load, up to "), "{power}: {said}");
        assert!(
            said.contains(" at load 128, as in no queue") && !said.contains("straight"),
            "{power}: {said}"
        );
    }
}

/// Nine tenths of a soft ceiling are no full one: the load that gives 95 % is told.
#[test]
fn a_soft_knee_is_not_called_full() {
    let said = |x: &[f64]| {
        let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 24.0, 32.0, 48.0, 64.0];
        let points: Vec<Point> = loads.iter().zip(x).map(|(&n, &x)| Point { n, x }).collect();
        let found = answers(&points, None, Weighting::Equal, &[], 1);
        (sentence(&found), figures(&found))
    };
    let measured = [1000.0, 1999.6, 3992.8, 7871.3, 14126.4, 17412.2, 18784.3, 19635.0, 19851.2];
    let (full, told) = said(&measured);
    assert!(full.starts_with("It is full at 20.0k/s, nearly (95 %) from load 34"), "{full}");
    let ceiling = |told: &[(String, String)]| told.iter().find(|(title, _)| title == "ceiling").cloned();
    assert!(ceiling(&told).is_some_and(|(_, value)| !value.contains("beyond")), "{told:?}");
    // The same up to two thirds of its ceiling.
    let (approached, told) = said(&measured[..6]);
    assert!(approached.starts_with("By the law it is full at 2"), "{approached}");
    assert!(approached.contains("and 17.4k/s at load 24 is the most that was measured"), "{approached}");
    assert!(ceiling(&told).is_some_and(|(_, value)| value.contains("beyond what was measured")), "{told:?}");
}

/// What is done of what is offered says nothing of the waiting there.
#[test]
fn a_full_target_is_told_by_the_rate_at_which_latency_doubles() {
    let estimate = |value: f64| Estimate { value, interval: None };
    let rates = |doubled: Option<f64>| Rates {
        is_held_back: false,
        doubled_between: None,
        maximum: estimate(8000.0),
        asked: Vec::new(),
        states: Vec::new(),
        carried: Some(7977.0),
        doubled: doubled.map(estimate),
        alone_s: Some(estimate(0.001)),
    };
    let said = of_rates(&rates(Some(7200.0)), Verdict::Capped);
    assert!(said.contains("twice the 1.00 ms of an idle target from 7200/s on, 90 % of"), "{said}");
    assert!(!said.contains("without much waiting"), "{said}");
    // Noise of the rates beside a gap may have it beyond either.
    let doubled = Some(Estimate { value: 5000.0, interval: Some((3000.0, 5500.0)) });
    let gap = Rates { doubled, doubled_between: Some((4000.0, 6000.0)), ..rates(None) };
    let expect = "Full speed is 8000/s; from where on response times are twice the 1.00 ms of an idle target was not measured: it \
                  lies between 3000/s and 6000/s, 38 to 75 % of that.";
    assert_eq!(of_rates(&gap, Verdict::Capped), expect);
    let said = of_rates(&rates(None), Verdict::Capped);
    assert!(said.contains("7977/s are carried without much waiting"), "{said}");
    let said = of_rates(&Rates { alone_s: None, ..rates(None) }, Verdict::Flat);
    assert!(said.starts_with("Saturated from the lowest rate on: 7977/s are carried"), "{said}");
    let said = of_rates(&Rates { alone_s: None, ..rates(None) }, Verdict::NoLaw);
    assert!(said.starts_with("7977/s are carried") && said.contains("is not told"), "{said}");
}

#[test]
fn nearly_full_does_not_contradict_what_is_busy() {
    let points: Vec<Point> =
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|n: f64| Point { n, x: 1000.0 * n.min(3.0) }).to_vec();
    let found = answers(&points, None, Weighting::Equal, &[], 1);
    let said = |n95: (f64, f64, f64), units: f64| {
        let of = |(value, low, high): (f64, f64, f64)| Estimate { value, interval: Some((low, high)) };
        let parallel_units = Some(of((units, units, units)));
        sentence(&Answers { n_at_95_percent: Some(of(n95)), parallel_units, ..found.clone() })
    };
    assert!(said((2.9, 2.8, 3.1), 3.0).contains("nearly (95 %) from load 2.9 on: its ≈ 3 parallel"));
    let one = said((3.07, 2.9, 3.2), 3.01);
    assert!(!one.contains("nearly") && one.contains("its ≈ 3.01 parallel units are all busy"), "{one}");
    // A soft knee: beyond what the data leaves open.
    assert!(said((6.0, 5.8, 6.2), 3.0).contains("nearly (95 %) from load 6 on"));
}

#[test]
fn small_numbers_keep_their_digits() {
    let of = [0.0, -0.0, 0.000_16, 0.012_34, 0.5, 1.6e-9, 1e-10].map(number);
    assert_eq!(of, ["0", "0", "0.00016", "0.0123", "0.5", "1.60e-9", "1.00e-10"]);
}

fn said(loads: &[f64], off: &[f64]) -> String {
    let points: Vec<Point> =
        loads.iter().zip(off).map(|(&n, off)| Point { n, x: usl(n) * (1.0 + off) }).collect();
    sentence(&answers(&points, None, Weighting::Relative, &[], 1))
}

/// Its peak lies at √(0.98/10⁻⁴) = 99, with 22.7k/s.
#[test]
fn a_peak_that_was_not_measured_is_told_as_such() {
    let loads = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 48.0, 64.0];
    let exact = said(&loads, &[0.0; 8]);
    assert!(exact.contains("at load 64 is the most that was measured"), "{exact}");
    assert!(exact.contains("throughput peaks beyond, with 22.7k/s at load 99 (exact)"), "{exact}");
    let noisy = said(&loads, &[0.01, -0.02, 0.015, -0.01, 0.02, -0.015, 0.01, -0.01]);
    assert!(noisy.contains("peaks beyond"), "{noisy}");
    assert!(noisy.contains("(95 %: ") || noisy.contains("does not pin it down"), "{noisy}");
    // Where the data reaches it, it is what was found.
    let reached = said(&[1.0, 8.0, 32.0, 64.0, 99.0, 160.0, 220.0, 300.0], &[0.0; 8]);
    assert!(reached.starts_with("More load does harm: throughput peaks with"), "{reached}");
}

#[test]
fn what_holds_a_capped_curve_is_the_cap() {
    let points: Vec<Point> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0]
        .map(|n| Point { n, x: (32_000.0 * n / (n + 31.0_f64)).min(10_000.0) })
        .to_vec();
    let found = answers(&points, None, Weighting::Equal, &[], 1);
    let said = sentence(&found);
    assert!(said.contains("holds it there, below what its ≈ 32 parallel units would give"), "{said}");
    assert!(!said.contains("all busy"), "{said}");
}

#[test]
fn an_interval_that_is_open_or_without_width_is_no_exact_figure() {
    let of = |interval| with_interval(&Estimate { value: 100.0, interval }, "/s", &number);
    assert_eq!(of(Some((90.0, f64::INFINITY))), "100/s (95 %: at least 90)");
    assert_eq!(of(Some((100.0, 100.0))), "100/s (95 %: 100 to 100)");
    assert_eq!(of(None), "100/s");
}
