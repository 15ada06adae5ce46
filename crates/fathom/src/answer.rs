//! What a load curve says, in words and as JSON: for measured tables and for curves that fathom measured itself. Owns the
//! sentences; computes nothing.

mod load;
mod record;
mod scan;
mod steady;

pub(crate) use fathom_report::curve::{number, sentence};
pub(crate) use record::{of_summary, rows, within};

use fathom_analysis::scaling::{Answers, Coefficient, Estimate, Fit, LatencyLimit, Point};
use fathom_report::curve::{self, coefficient, is_ceiling_beyond};
use serde_json::{Map, Value, json};

/// The document of `fathom fit --json`, which `fathom curve` has as its answer.
pub(crate) fn document(answers: &Answers, points: &[Point]) -> Value {
    let Answers {
        fits,
        chosen,
        verdict,
        smallest: _,
        peak,
        best,
        ceiling,
        knee,
        n_at_95_percent,
        parallel_units,
        latency_limits,
        remarks,
        level: _,  // in the sentence
        fallen: _, // likewise
        lawless: _,
        is_ceiling_open: _,
    } = answers;
    let mut limits: Vec<Value> = latency_limits.iter().map(latency_limit).collect();
    if let Some(ceiling) = ceiling {
        limits.push(json!({
            "kind": "throughput", "x": ceiling.value, "x_interval": interval(ceiling.interval),
            "extrapolated": is_ceiling_beyond(answers),
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
        "most_measured": { "n": best.n, "x": best.x },
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

/// [`document`] of a table as text, with the unit that its latencies were taken in.
pub(crate) fn json(
    answers: &Answers,
    points: &[Point],
    latency_unit: Option<&str>,
    bandwidth: Option<&str>,
) -> String {
    let mut document = document(answers, points);
    document["sentence"] = json!(of_bytes(sentence(answers), bandwidth));
    document["latency_unit"] = json!(latency_unit);
    document["throughput_unit"] = json!(bandwidth);
    serde_json::to_string_pretty(&document).expect("it has only string keys") + "\n"
}

/// An end that is open is null.
fn interval(interval: Option<(f64, f64)>) -> Option<[Option<f64>; 2]> {
    interval.map(|(low, high)| [low, high].map(|end| end.is_finite().then_some(end)))
}

fn latency_limit(limit: &LatencyLimit) -> Value {
    let LatencyLimit { quantile, seconds, n, x, is_extrapolated, is_exceeded, is_exceeded_at_first: _ } =
        limit;
    json!({
        "kind": "latency",
        "quantile": quantile,
        "seconds": seconds,
        "n": n.map(|n| n.value),
        "x": x.map(|x| x.value),
        "n_interval": n.and_then(|n| interval(n.interval)),
        "x_interval": x.and_then(|x| interval(x.interval)),
        "extrapolated": is_extrapolated,
        "exceeded": is_exceeded,
        "reason": limit.reason(),
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

/// Words about a throughput that counts bytes, where there is such a unit: its figures are in that, and no operations per second.
fn of_bytes(said: String, bandwidth: Option<&str>) -> String {
    if bandwidth.is_some() { said.replace("/s", "") } else { said }
}

/// The page for people; `latency_unit` is what the latencies of the table were taken in, where it has any, and `bandwidth` the
/// title of a throughput that counts bytes.
pub(crate) fn text(
    name: &str,
    answers: &Answers,
    points: &[Point],
    latency_unit: Option<&str>,
    bandwidth: Option<&str>,
) -> String {
    let mut text = of_bytes(sentence(answers), bandwidth) + "\n";
    let span = |figure: fn(&Point) -> f64| {
        let (low, high) = points
            .iter()
            .map(figure)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        format!("{} to {}", number(low), number(high))
    };
    let latency = latency_unit.map_or_else(String::new, |unit| format!(", latency in {unit}"));
    let (loads, throughputs) = (span(|p| p.n), span(|p| p.x));
    let throughput = bandwidth.map_or_else(String::new, |unit| format!(" ({unit})"));
    text += &format!(
        "{name}: {} points, load {loads}, throughput {throughputs}{throughput}{latency}\n\n",
        points.len()
    );
    text += &of_bytes(figures(answers), bandwidth);
    text + &laws(answers)
}

/// Every law with its coefficients, and which was chosen.
fn laws(answers: &Answers) -> String {
    let cells: Vec<(String, String)> = answers
        .fits
        .iter()
        .map(|fit| {
            let share = fit.max_relative_error * 100.0;
            let error = if share < 1e4 { format!("{share:.1} %") } else { format!("{share:.1e} %") };
            (error, fit.aicc.map_or_else(|| "–".to_owned(), |aicc| format!("{aicc:.1}")))
        })
        .collect();
    let error_width = cells.iter().map(|(error, _)| error.chars().count()).max().unwrap_or(0).max(9);
    let aicc_width = cells.iter().map(|(_, aicc)| aicc.chars().count()).max().unwrap_or(0).max(6);
    let mut text = format!(
        "\n  law      {:>error_width$}  {:>aicc_width$}  coefficients ± standard error\n",
        "error", "AICc"
    );
    for (at, (fit, (error, aicc))) in answers.fits.iter().zip(cells).enumerate() {
        let mark = if answers.chosen == Some(at) { '*' } else { ' ' };
        let coefficients: Vec<String> = fit.coefficients.iter().map(coefficient).collect();
        text += &format!(
            "{mark} {:<7}  {error:>error_width$}  {aicc:>aicc_width$}  {}\n",
            fit.law.name(),
            coefficients.join(", ")
        );
    }
    // The mark of the chosen one stands before it here.
    let mark = if answers.chosen.is_some() { "* " } else { "" };
    let legend = curve::choice(answers);
    text += &format!("  {mark}{legend}\n");
    for remark in &answers.remarks {
        text += &format!("  note: {remark}\n");
    }
    text
}

/// The figures that were asked for, one a line.
pub(crate) fn figures(answers: &Answers) -> String {
    lines(&curve::figures(answers))
}

/// What it is and what was found, one a line.
fn lines(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(title, _)| title.chars().count()).max().unwrap_or(0);
    lines
        .iter()
        .map(|(title, found)| format!("  {title}{}  {found}\n", " ".repeat(width - title.chars().count())))
        .collect()
}
