//! What a curve that fathom measured says, over depths or rates, as a document.

use super::{document as law_document, interval};
use fathom_analysis::load::{Curve, Rates};
use fathom_report::curve;
use fathom_schema::{LatencyGoal, LoadAxis};
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
        let Rates {
            is_held_back,
            maximum,
            asked: _,
            states: _,
            carried,
            doubled,
            doubled_between: _,
            alone_s,
        } = rates;
        document["sentence"] = json!(curve::sentence_of(found));
        document["maximum"] = json!(maximum.value);
        document["maximum_interval"] = json!(interval(maximum.interval));
        document["is_held_back"] = json!(is_held_back);
        document["carried"] = json!(carried);
        document["doubled"] = json!(doubled.map(|at| at.value));
        document["doubled_interval"] = json!(doubled.and_then(|at| interval(at.interval)));
        document["alone_s"] = json!(alone_s.map(|alone| alone.value));
        document["alone_s_interval"] = json!(alone_s.and_then(|alone| interval(alone.interval)));
    }
    document
}
