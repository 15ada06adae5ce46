//! A load curve for people: what limits it in one sentence, its figures, its tables and its drawings. Owns which are shown
//! and in which words; they are `fathom_analysis::scaling`'s and `fathom_analysis::load`'s.

use fathom_analysis::scaling::{Answers, Coefficient, Estimate, Law, Point, Verdict};
use fathom_units::{Iops, Nanos, significant};

/// What limits it, in one sentence.
pub fn sentence(answers: &Answers) -> String {
    let law = answers.chosen.map(|at| answers.fits[at].law);
    let most = answers.ceiling.unwrap_or(answers.peak.x);
    let rate = |x: f64| format!("{}/s", Iops(x));
    let knee = answers.knee.map_or_else(String::new, |knee| format!(" from load {} on", number(knee.value)));
    match (answers.verdict, law) {
        (Verdict::Linear, _) => format!(
            "No saturation seen: throughput grows with the load up to {} at load {}; what limits it lies beyond.",
            rate(answers.peak.x.value),
            number(answers.peak.n.value)
        ),
        (Verdict::Flat, _) => format!(
            "It is saturated from the start: the smallest load has all of the {}, and more only waits.",
            rate(most.value)
        ),
        (Verdict::Retrograde, Some(Law::Usl { alpha, beta, .. })) => format!(
            "More load does harm: throughput peaks with {} at load {} and falls beyond (contention {}, coherency {}).",
            rate(answers.peak.x.value),
            number(answers.peak.n.value),
            percent(alpha),
            percent(beta)
        ),
        (Verdict::Capped, _) => format!(
            "Something holds it at {}{knee}: a link, a controller, a quota or one CPU; more load only waits.",
            rate(most.value)
        ),
        (Verdict::Contention | Verdict::Retrograde, _) => {
            let units = answers.parallel_units.map_or_else(String::new, |units| {
                format!(", as ≈ {} parallel units would", number(units.value))
            });
            format!("Operations wait for one another: throughput approaches {}{units}.", rate(most.value))
        }
        (Verdict::NoLaw, _) => format!(
            "No scaling law fits; the measured curve is the answer: at most {}, at load {}.",
            rate(answers.peak.x.value),
            number(answers.peak.n.value)
        ),
    }
}

/// The figures that were asked for: what it is, and what was found.
pub fn figures(answers: &Answers, points: &[Point]) -> Vec<(String, String)> {
    let lowest = points.iter().map(|p| p.n / p.x).reduce(f64::min);
    let mut lines: Vec<(String, String)> = Vec::new();
    let peak = &answers.peak;
    let source = match (peak.is_of_law, peak.is_extrapolated) {
        (true, true) => ", beyond what was measured",
        (true, false) => "",
        (false, _) => ", the best that was measured",
    };
    let title = if peak.is_of_law { "peak" } else { "most" };
    lines.push((title.to_owned(), format!("{} at load {}{source}", rate(&peak.x), load(&peak.n))));
    let mut push = |title: &str, figure: &Option<Estimate>, print: &dyn Fn(&Estimate) -> String| {
        if let Some(figure) = figure {
            lines.push((title.to_owned(), print(figure)));
        }
    };
    push("ceiling", &answers.ceiling, &rate);
    // Below the smallest load there is nothing to read off.
    let smallest = points.iter().map(|p| p.n).fold(f64::INFINITY, f64::min);
    let within = |figure: Option<Estimate>| figure.filter(|figure| figure.value >= smallest);
    push("knee", &within(answers.knee), &|figure| format!("load {}", load(figure)));
    push("95 % of it", &within(answers.n_at_95_percent), &|figure| format!("load {}", load(figure)));
    push("works like", &answers.parallel_units, &|figure| format!("{} parallel units", load(figure)));
    for limit in &answers.latency_limits {
        let found = match (&limit.n, &limit.x) {
            (Some(n), Some(x)) => format!(
                "{} at load {}{}",
                rate(x),
                load(n),
                if limit.is_extrapolated { ", beyond what was measured" } else { "" }
            ),
            _ => "not reached".to_owned(),
        };
        let found = match lowest {
            Some(lowest) if limit.quantile.is_none() && limit.seconds < lowest => {
                "every measured load takes longer".to_owned()
            }
            _ => found,
        };
        let statistic =
            limit.quantile.map_or_else(|| "mean".to_owned(), |q| format!("p{}", number(q * 100.0)));
        lines.push((format!("{statistic} latency {}", time(limit.seconds)), found));
    }
    lines
}

/// A coefficient of a law with its standard error.
pub fn coefficient(coefficient: &Coefficient) -> String {
    let Coefficient { name, value, standard_error, at_bound } = coefficient;
    let name = match *name {
        "alpha" => "α",
        "beta" => "β",
        "gamma" => "γ",
        "cap" => "C",
        other => other,
    };
    let error = match standard_error {
        // An error of a bound's own size says that the data cannot tell.
        Some(error) if !at_bound && error.abs() < value.abs() * 100.0 => format!(" ± {}", scientific(*error)),
        _ if *at_bound => " (bound)".to_owned(),
        _ => String::new(),
    };
    format!("{name} {}{error}", scientific(*value))
}

/// Three figures, with an exponent where they would be zeros or go on for ever.
fn scientific(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(0.001..1e9).contains(&magnitude) {
        format!("{value:.2e}")
    } else {
        number(value)
    }
}

/// Three figures at least, without superfluous zeros.
pub fn number(value: f64) -> String {
    let text = if value.abs() < 0.1 && value != 0.0 { format!("{value:.4}") } else { significant(value) };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn percent(share: f64) -> String {
    format!("{} %", scientific(share * 100.0))
}

fn with_interval(estimate: &Estimate, unit: &str, print: &dyn Fn(f64) -> String) -> String {
    let Estimate { value, interval } = estimate;
    let value = print(*value) + unit;
    match interval.map(|(low, high)| (print(low), print(high))) {
        Some((low, high)) => format!("{value} (95 %: {low} to {high})"),
        None => value,
    }
}

fn rate(estimate: &Estimate) -> String {
    with_interval(estimate, "/s", &|x| Iops(x).to_string())
}

fn load(estimate: &Estimate) -> String {
    with_interval(estimate, "", &number)
}

/// A latency.
pub fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency, above 0")]
    let ns = (seconds * 1e9).round() as u64;
    Nanos(ns).approximate()
}
