//! What a curve that fathom measured says, over depths or rates: page and document. Owns the sentences about rates; those
//! about depths are the same as for measured tables.

use super::{document as law_document, interval, laws, lines, number, time};
use fathom_analysis::load::{Curve, LoadPoint, Rates};
use fathom_report::curve;
use fathom_schema::{LatencyGoal, LoadAxis};
use fathom_units::{Iops, Nanos};
use serde_json::{Value, json};

/// The document of `fathom curve --json`: that of `fathom fit`, with what each step measured.
pub(super) fn document(found: &Curve, limits: &[LatencyGoal]) -> Value {
    let Curve { answers, points, steps, rates } = found;
    let mut document = law_document(answers, points);
    let over = if rates.is_some() { LoadAxis::Rate } else { LoadAxis::Depth };
    document["over"] = json!(over.name());
    for (at, step) in steps.iter().enumerate() {
        let point = &mut document["points"][at];
        point["mean_s"] = json!(step.mean_s);
        point["latencies_s"] = limits.iter().map(|goal| step.latency_s(goal)).collect();
        if let Some(rates) = rates {
            point["asked"] = json!(rates.asked[at]);
            point["verdict"] = json!(rates.states[at].name());
        }
    }
    if let Some(rates) = rates {
        let Rates { maximum, asked: _, states: _, carried, doubled, alone_s } = rates;
        document["sentence"] = json!(curve::sentence_of(found));
        document["maximum"] = json!(maximum.value);
        document["maximum_interval"] = json!(interval(maximum.interval));
        document["carried"] = json!(carried);
        document["doubled"] = json!(doubled.map(|at| at.value));
        document["doubled_interval"] = json!(doubled.and_then(|at| interval(at.interval)));
        document["alone_s"] = json!(alone_s.value);
    }
    document
}

/// The page for people.
pub(super) fn page(found: &Curve) -> String {
    let Curve { answers, points: _, steps: _, rates } = found;
    let mut text = curve::sentence_of(found) + "\n\n" + &lines(&curve::figures_of(found));
    text += &table(found);
    if rates.is_none() {
        return text + &laws(answers);
    }
    for remark in &answers.remarks {
        text += &format!("  note: {remark}\n");
    }
    text
}

/// What each load came to, several measurements of one averaged.
fn table(found: &Curve) -> String {
    let Curve { answers: _, points, steps, rates } = found;
    let (title, load) = match rates {
        Some(_) => ("   asked", "in flight "),
        None => ("    load", ""),
    };
    let mut text = format!("\n{title}      IOPS      mean       p99  {load}measured\n");
    let key = |at: usize| rates.as_ref().map_or(points[at].n, |rates| rates.asked[at]);
    let mut rows: Vec<(f64, usize)> = (0..points.len()).map(|at| (key(at), at)).collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let p99 = LatencyGoal { quantile: Some(0.99), limit: Nanos(1) };
    for group in rows.chunk_by(|a, b| (a.0 / b.0 - 1.0).abs() < 1e-6) {
        let count = group.len() as f64;
        let mean =
            |of: &dyn Fn(&LoadPoint) -> f64| group.iter().map(|(_, at)| of(&steps[*at])).sum::<f64>() / count;
        let (first, in_flight) = match rates {
            Some(_) => (
                Iops(group[0].0).to_string(),
                format!("{:>9} ", number(mean(&|step| step.rate * step.mean_s))),
            ),
            None => (number(group[0].0), String::new()),
        };
        text += &format!(
            "{first:>8}{:>10}{:>10}{:>10}  {in_flight}{}\n",
            Iops(mean(&|step| step.rate)).to_string(),
            time(mean(&|step| step.mean_s)),
            if group.iter().all(|(_, at)| steps[*at].needs(0.99).is_none()) {
                time(mean(&|step| step.latency_s(&p99)))
            } else {
                "n/a".to_owned()
            },
            if group.len() == 1 { "once".to_owned() } else { format!("{} times", group.len()) }
        );
    }
    text
}
