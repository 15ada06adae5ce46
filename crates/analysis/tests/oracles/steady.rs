//! The steady state rules against boundary cases, a published report, and 1,086 real series.

use crate::{close, corpus, json, number, numbers};
use fathom_analysis::steady::{Rule, WINDOW, Window, judge};
use std::collections::BTreeMap;

#[test]
fn boundary_windows() {
    let Some(windows) = json("snia/steady_windows.json") else { return };
    for row in windows.as_array().expect("a list") {
        let name = row["name"].as_str().expect("a name");
        let values: [f64; WINDOW] = numbers(&row["window"]).try_into().expect("five rounds");
        let window = Window::of(&values);
        let check = |key: &str, found: f64| {
            let expect = number(&row[key]);
            assert!(
                (found - expect).abs() <= 1e-9 * expect.abs().max(1.0),
                "{name} {key}: {found}, not {expect}"
            );
        };
        check("mean", window.mean);
        check("range", window.range);
        check("slope", window.slope);
        check("slope_excursion", window.slope_excursion());
        assert_eq!(Some(window.is_steady(Rule::Literal)), row["pts_literal"].as_bool(), "{name}");
        assert_eq!(Some(window.is_steady(Rule::Envelope)), row["envelope_rule"].as_bool(), "{name}");
    }
}

#[test]
fn sequences_end_at_their_first_steady_window() {
    let Some(sequences) = json("snia/steady_sequences.json") else { return };
    for row in sequences.as_array().expect("a list") {
        let found = judge(&numbers(&row["series"]), Rule::Literal);
        let expect = row["first_steady_round"].as_u64().and_then(|round| usize::try_from(round).ok());
        assert_eq!(found.steady_at, expect, "{}", row["name"]);
    }
}

#[test]
fn a_published_report() {
    let Some(report) = json("snia/published_linode_report.json") else { return };
    for row in report["windows"].as_array().expect("a list") {
        // The rounds themselves are not printed; the identities that the report keeps are those of `Window`.
        let (slope, start) = (number(&row["slope"]), number(&row["intercept_R0"]));
        let line: [f64; WINDOW] = std::array::from_fn(|at| start + slope * (at + 1) as f64);
        let window = Window::of(&line);
        let mean = row.get("mean_from_table").unwrap_or(&row["mean"]);
        close("mean", window.mean, number(mean), 1e-3);
        close("excursion", window.slope_excursion(), number(&row["measured_slope"]), 1e-2);
        assert_eq!(Some(window.is_steady(Rule::Literal)), row["steady"].as_bool());
    }
}

#[test]
fn every_real_series() {
    let (Some(verdicts), Some(rounds)) =
        (corpus("snia/ssspt_series_verdicts.csv"), corpus("snia/ssspt_rounds.csv"))
    else {
        return;
    };
    let measured = measured(&rounds);
    let (mut series, mut steady, mut envelope_only, mut neither) = (0, 0, 0, 0);
    let mut reader = csv::Reader::from_reader(verdicts.as_bytes());
    for row in reader.records() {
        let row = row.expect("a row");
        let key: Vec<String> = (0..5).map(|at| row[at].to_owned()).collect();
        let values = &measured[&key];
        let last = Window::of(values[values.len() - WINDOW..].try_into().expect("five rounds"));
        for (rule, first, at_end) in [(Rule::Literal, 6, 11), (Rule::Envelope, 7, 12)] {
            let found = judge(values, rule);
            let printed = found.steady_at.map_or(String::new(), |at| at.to_string());
            assert_eq!(&printed, row[first].trim_end_matches(".0"), "{key:?} {}", rule.name());
            assert_eq!(last.is_steady(rule), &row[at_end] == "True", "{key:?} {}", rule.name());
        }
        series += 1;
        match (last.is_steady(Rule::Literal), last.is_steady(Rule::Envelope)) {
            (true, true) => steady += 1,
            (false, true) => envelope_only += 1,
            (false, false) => neither += 1,
            (true, false) => {}
        }
    }
    assert_eq!((series, steady, envelope_only, neither), (1086, 995, 89, 2));
}

/// The tracked figure of every series by platform, test, run, block size and read share: throughput for the throughput
/// test, mean latency for the latency test, else IOPS.
fn measured(text: &str) -> BTreeMap<Vec<String>, Vec<f64>> {
    let mut all: BTreeMap<Vec<String>, Vec<(u32, f64)>> = BTreeMap::new();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for row in reader.records() {
        let row = row.expect("a row");
        let key: Vec<String> = (0..5).map(|at| row[at].to_owned()).collect();
        let column = match &row[1] {
            "iops" => 6,
            "throughput" | "tp" => 7,
            _ => 8,
        };
        let value = row[column].parse().expect("a number");
        all.entry(key).or_default().push((row[5].parse().expect("a round"), value));
    }
    all.into_iter()
        .map(|(key, mut rounds)| {
            rounds.sort_by_key(|(round, _)| *round);
            (key, rounds.into_iter().map(|(_, value)| value).collect())
        })
        .collect()
}
