//! Statistics against published figures and constructed series.

use crate::{close, json, number, numbers};
use fathom_analysis::statistics::{
    Sample, autocorrelation, change_points, dominant_segment, quantile_needs, quantiles, subsession_means,
    subsessions, warm_up, welch,
};
use serde_json::Value;

fn oracles() -> Option<Value> {
    json("stats/oracles.json")
}

#[test]
fn ferrari_response_times() {
    let Some(oracles) = oracles() else { return };
    let ferrari = &oracles["ferrari_response_times"];
    let values = numbers(&ferrari["data"]);
    let sample = Sample::of(&values);
    close("mean", sample.mean, number(&ferrari["mean"]), 1e-9);
    close("variance", sample.variance, number(&ferrari["var_q1"]), 1e-9);
    for (q, key) in [(1, "rho_q1"), (2, "rho_q2"), (3, "rho_q3_computed_here"), (4, "rho_q4")] {
        let found = autocorrelation(&subsession_means(&values, q), sample.mean);
        close(key, found, number(&ferrari[key]), 1e-9);
    }
    let found = subsessions(&values).expect("it is long enough");
    assert_eq!(found.length as f64, number(&ferrari["optimal_q_for_limit_0.1"]));
    assert!(found.is_independent);
    close("variance", found.sample.variance, number(&ferrari["var_q4"]), 1e-9);
    let width = 2.0 * found.half_width().expect("there are subsessions");
    close("width", width, number(&ferrari["ci_full_width_q4_95"]), 1e-6);
    let needed = found.needed_for_width(0.1 * sample.mean).expect("it varies");
    assert_eq!(needed as f64, number(&ferrari["optimal_sample_size_for_ci_10pct_of_mean"]));
}

#[test]
fn speed_of_light() {
    let Some(oracles) = oracles() else { return };
    let light = &oracles["welch"]["speed_of_light"];
    let side = |key: &str| Sample::of(&numbers(&light[key]));
    let found = welch(&side("v1"), &side("v2")).expect("both vary");
    close("t", found.t, number(&light["t"]), 1e-9);
    close("freedom", found.freedom, number(&light["dof"]), 1e-9);
    close("p", found.p, number(&light["p"]), 1e-6);
    let (low, high) = found.interval(0.99);
    let expect = numbers(&light["ci99"]);
    close("low", low, expect[0], 1e-6);
    close("high", high, expect[1], 1e-6);
    let summary = &oracles["welch"]["summary"];
    let side = |mean: &str, stddev: &str| Sample {
        count: 65,
        mean: number(&summary[mean]),
        variance: number(&summary[stddev]).powi(2),
    };
    let found = welch(&side("m1", "s1"), &side("m2", "s2")).expect("both vary");
    assert!((found.p - number(&summary["p"])).abs() < 5e-4);
    // Of means and deviations that are printed to three digits.
    let (low, high) = found.interval(0.95);
    let expect = numbers(&summary["ci95"]);
    assert!((low - expect[0]).abs() < 1e-3 && (high - expect[1]).abs() < 1e-3, "{low} {high}, {expect:?}");
}

#[test]
fn changes_of_level() {
    let Some(oracles) = oracles() else { return };
    let mut seen = 0;
    for row in oracles["changepoints"].as_array().expect("a list") {
        let series = match row["series"].as_str() {
            None => numbers(&row["series"]),
            Some(text) => written(text),
        };
        if row["expected"].is_array() {
            let found: Vec<f64> = change_points(&series).iter().map(|change| change.at as f64).collect();
            assert_eq!(found, numbers(&row["expected"]), "{}", row["series"]);
            seen += 1;
        }
        match &row["dominant_segment"] {
            Value::String(text) if text.starts_with("none") => assert_eq!(dominant_segment(&series), None),
            // The peer's own answer is approximate; the exact one is [30, 160).
            Value::Array(_) => assert_eq!(dominant_segment(&series), Some((30, 160))),
            _ => {}
        }
    }
    assert_eq!(seen, 4);
}

/// `30 x 1.1, 130 x 5.1` or `1000 x 0 then 1000 x 1`.
fn written(text: &str) -> Vec<f64> {
    text.replace(" then ", ", ")
        .split(", ")
        .flat_map(|part| {
            let (count, value) = part.split_once(" x ").expect("count x value");
            let count: usize = count.trim().parse().expect("a count");
            std::iter::repeat_n(value.trim().parse().expect("a value"), count)
        })
        .collect()
}

#[test]
fn warm_up_by_mser_5() {
    let Some(oracles) = oracles() else { return };
    let rows = oracles["mser5"].as_array().expect("a list");
    let first: Vec<f64> = written("30 x 100 then 170 x 50");
    let second: Vec<f64> = (0..200)
        .map(|i| 50.0 + 50.0 * (-f64::from(i) / 10.0).exp() + if i % 2 == 1 { 0.5 } else { -0.5 })
        .collect();
    for (series, row) in [first, second].iter().zip(rows) {
        let found = warm_up(series).expect("it is long enough");
        assert_eq!(found.length as f64, number(&row["truncate"]), "{}", row["series"]);
        assert!(found.is_found);
    }
}

#[test]
fn smallest_samples_and_merged_percentiles() {
    let Some(oracles) = oracles() else { return };
    let table = oracles["min_samples_for_two_sided_95_upper_bound"].as_object().expect("a table");
    for (q, needs) in table {
        assert_eq!(quantile_needs(q.parse().expect("a share")) as f64, number(needs));
    }
    let merge = &oracles["percentile_merge"];
    let a: Vec<f64> = [(9900, 100.0), (100, 10_000.0)].iter().flat_map(|&(n, v)| vec![v; n]).collect();
    let b = vec![5000.0; 1000];
    let p99 = |values: &[f64]| quantiles(values, &[0.99])[0].value.expect("there are enough");
    assert_eq!(p99(&a), number(&merge["p99_A_us"]));
    assert_eq!(p99(&b), number(&merge["p99_B_us"]));
    assert_eq!(p99(&[a, b].concat()), number(&merge["merged_p99_us"]));
}
