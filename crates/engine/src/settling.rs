//! Streams that end in a steady state: ends them when it is found, and says what became of it.

use crate::shared::Shared;
use fathom_metrics::Settling;
use fathom_schema::{SteadyFigure, SteadyLimit, SteadyRule, Step};
use fathom_units::Nanos;

/// Ends the streams that are found to be steady.
pub(crate) fn end_settled(
    settling: &mut [Settling],
    shared: &Shared,
    mut found: impl FnMut(&mut Settling) -> bool,
) {
    for settling in settling {
        if found(settling) {
            shared.end_streams(settling.streams());
        }
    }
}

/// What became of streams that were to settle.
pub(crate) fn describe_settling(step: &Step, settling: &Settling) -> String {
    let names: Vec<&str> =
        settling.streams().map(|stream| step.streams[stream as usize].name.as_str()).collect();
    let SteadyRule { figure, by_slope, limit, samples, every, after: _, with_group: _ } = settling.rule();
    let figure = match figure {
        SteadyFigure::Operations => "operations per second",
        SteadyFigure::Bytes => "bytes per second",
        SteadyFigure::Latency => "latency",
    };
    let how = if *by_slope { "slope" } else { "largest deviation" };
    let shown = |figure: f64| match limit {
        SteadyLimit::Share(_) => format!("{:.3} %", figure * 100.0),
        SteadyLimit::Absolute(_) => format!("{figure:.3}"),
    };
    let (SteadyLimit::Share(most) | SteadyLimit::Absolute(most)) = *limit;
    let window = Nanos(every.0.saturating_mul(u64::from(*samples)));
    let found = settling.criterion().map_or_else(
        || format!("only {} of {samples} samples were taken", settling.window().len()),
        |found| format!("{how} of {figure} over {window}: {}, to be below {}", shown(found), shown(most)),
    );
    let verdict = if settling.is_steady() { "reached a steady state" } else { "reached no steady state" };
    format!("{} {verdict}: {found}", names.join(", "))
}
