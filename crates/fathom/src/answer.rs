//! What a load curve says, in words and as JSON: for measured tables and for curves that fathom measured itself. Owns the
//! sentences; computes nothing.

mod record;
mod scan;
mod steady;

pub(crate) use record::{above, of_record, within};

use fathom_analysis::scaling::{Answers, Coefficient, Estimate, Fit, LatencyLimit, Law, Point, Verdict};
use fathom_units::{Iops, Nanos, significant};
use serde_json::{Map, Value, json};

/// The document of `fathom fit --json`, which `fathom curve` has as its answer.
pub(crate) fn document(answers: &Answers, points: &[Point]) -> Value {
    let Answers {
        fits,
        chosen,
        verdict,
        peak,
        ceiling,
        knee,
        n_at_95_percent,
        parallel_units,
        latency_limits,
        remarks,
    } = answers;
    let mut limits: Vec<Value> = latency_limits.iter().map(latency_limit).collect();
    if let Some(ceiling) = ceiling {
        limits.push(json!({
            "kind": "throughput", "x": ceiling.value, "x_interval": interval(ceiling.interval),
        }));
    }
    let value = |estimate: &Option<Estimate>| estimate.map(|estimate| estimate.value);
    let range = |estimate: &Option<Estimate>| estimate.and_then(|estimate| interval(estimate.interval));
    json!({
        "models": fits.iter().map(model).collect::<Vec<_>>(),
        "chosen": chosen.map(|at| fits[at].law.name()),
        "verdict": verdict.name(),
        "sentence": sentence(answers),
        "peak": {
            "n": peak.n.value,
            "x": peak.x.value,
            "n_interval": interval(peak.n.interval),
            "x_interval": interval(peak.x.interval),
            "source": if peak.is_of_law { "law" } else { "measured" },
            "extrapolated": peak.is_extrapolated,
        },
        "knee": value(knee),
        "knee_interval": range(knee),
        "n_at_95_percent": value(n_at_95_percent),
        "n_at_95_percent_interval": range(n_at_95_percent),
        "parallel_units": value(parallel_units),
        "parallel_units_interval": range(parallel_units),
        "limits": limits,
        "points": points.iter().map(|point| json!({ "n": point.n, "x": point.x })).collect::<Vec<_>>(),
        "remarks": remarks,
    })
}

/// [`document`] as text.
pub(crate) fn json(answers: &Answers, points: &[Point]) -> String {
    serde_json::to_string_pretty(&document(answers, points)).expect("it has only string keys") + "\n"
}

fn interval(interval: Option<(f64, f64)>) -> Option<[f64; 2]> {
    interval.map(|(low, high)| [low, high])
}

fn latency_limit(limit: &LatencyLimit) -> Value {
    let LatencyLimit { quantile, seconds, n, x, is_extrapolated } = limit;
    json!({
        "kind": "latency",
        "quantile": quantile,
        "seconds": seconds,
        "n": n.map(|n| n.value),
        "x": x.map(|x| x.value),
        "n_interval": n.and_then(|n| interval(n.interval)),
        "x_interval": x.and_then(|x| interval(x.interval)),
        "extrapolated": is_extrapolated,
    })
}

fn model(fit: &Fit) -> Value {
    let values = |coefficients: &[Coefficient]| -> Map<String, Value> {
        coefficients.iter().map(|c| (c.name.to_owned(), json!(c.value))).collect()
    };
    let errors: Map<String, Value> =
        fit.coefficients.iter().map(|c| (c.name.to_owned(), json!(c.standard_error))).collect();
    let at_bound: Vec<&str> = fit.coefficients.iter().filter(|c| c.at_bound).map(|c| c.name).collect();
    let peak = fit.law.peak();
    json!({
        "name": fit.law.name(),
        "coefficients": values(&fit.coefficients),
        "standard_errors": errors,
        "at_bound": at_bound,
        "unconstrained": fit.unconstrained.as_ref().map(|free| values(free)),
        "aicc": fit.aicc,
        "max_relative_error": fit.max_relative_error,
        "residual_standard_error": fit.residual_standard_error,
        "peak": peak.map(|peak| json!({ "n": peak.n, "x": peak.x })),
        "limit": fit.law.ceiling(),
    })
}

/// The page for people.
pub(crate) fn text(name: &str, answers: &Answers, points: &[Point]) -> String {
    let mut text = sentence(answers) + "\n";
    let span = |figure: fn(&Point) -> f64| {
        let (low, high) = points
            .iter()
            .map(figure)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        format!("{} to {}", number(low), number(high))
    };
    text +=
        &format!("{name}: {} points, load {}, throughput {}\n\n", points.len(), span(|p| p.n), span(|p| p.x));
    text += &figures(answers, points);
    text + &laws(answers)
}

/// Every law with its coefficients, and which was chosen.
fn laws(answers: &Answers) -> String {
    let mut text = "\n  law       error   AICc  coefficients ± standard error\n".to_owned();
    for (at, fit) in answers.fits.iter().enumerate() {
        let mark = if answers.chosen == Some(at) { '*' } else { ' ' };
        let coefficients: Vec<String> = fit.coefficients.iter().map(coefficient).collect();
        text += &format!(
            "{mark} {:<7}{:>6.1} %{:>7}  {}\n",
            fit.law.name(),
            fit.max_relative_error * 100.0,
            fit.aicc.map_or_else(|| "–".to_owned(), |aicc| format!("{aicc:.1}")),
            coefficients.join(", ")
        );
    }
    let legend = match answers.chosen {
        Some(_) => "* the law of lowest AICc that explains the points",
        None => "no law explains the points; answers are read off between them",
    };
    text += &format!("  {legend}; error: the largest of a point\n");
    for remark in &answers.remarks {
        text += &format!("  note: {remark}\n");
    }
    text
}

/// The figures that were asked for, one a line.
pub(crate) fn figures(answers: &Answers, points: &[Point]) -> String {
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
    let width = lines.iter().map(|(title, _)| title.chars().count()).max().unwrap_or(0);
    lines
        .iter()
        .map(|(title, found)| format!("  {title}{}  {found}\n", " ".repeat(width - title.chars().count())))
        .collect()
}

/// What limits it, in one sentence.
pub(crate) fn sentence(answers: &Answers) -> String {
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

fn coefficient(coefficient: &Coefficient) -> String {
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
pub(crate) fn number(value: f64) -> String {
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
pub(crate) fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency, above 0")]
    let ns = (seconds * 1e9).round() as u64;
    Nanos(ns).approximate()
}
