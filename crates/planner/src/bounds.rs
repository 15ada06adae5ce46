//! The bounds of a run: what its steps have to keep, and what ends it. Their syntax is the schema's, since the command line
//! has the same.

use crate::remarks::Remarks;
use fathom_model::{RunOptions, Setting};
use fathom_schema::{Bound, Condition, OperationKind, Threshold};
use fathom_units::Nanos;
use std::str::FromStr;

/// The thresholds and the conditions; those that cannot be read are remarked upon.
pub(crate) fn of(run: &RunOptions, remarks: &mut Remarks) -> (Vec<Threshold>, Vec<Condition>) {
    let help = "write for example \"iops > 100k\", \"read.p99 < 1ms\" or \"errors < 1\"";
    let thresholds = read(&run.thresholds, ("plan.thresholds", help), remarks);
    let help = "write for example \"read.p99 > 10ms for 5s\" or \"errors > 0\"";
    (thresholds, read(&run.abort_when, ("plan.abort-when", help), remarks))
}

/// Warns of thresholds on kinds of operations of which no step has any: they cannot be kept. Syncs come with writes, or at the end.
pub(crate) fn judge_kinds(
    run: &RunOptions,
    thresholds: &[Threshold],
    issues: [bool; OperationKind::COUNT],
    remarks: &mut Remarks,
) {
    let has_any = issues.iter().any(|issues| *issues);
    for threshold in thresholds {
        if let Threshold::Bound(Bound { kind: Some(kind), .. }) = threshold
            && *kind != OperationKind::Sync
            && has_any
            && !issues[kind.index()]
        {
            let message =
                format!("the threshold {threshold} cannot be kept: no operation is a {}", kind.name());
            remarks.warn(
                "plan.thresholds",
                run.thresholds.span(),
                message,
                "leave it out, or name another kind",
            );
        }
    }
}

/// Warns of conditions that have to hold for longer than any step goes on: they end nothing. `longest`: of the steps, where that is
/// known of all.
pub(crate) fn judge_times(
    run: &RunOptions,
    conditions: &[Condition],
    longest: Option<Nanos>,
    remarks: &mut Remarks,
) {
    let Some(longest) = longest else { return };
    for condition in conditions.iter().filter(|condition| condition.hold > longest) {
        let message =
            format!("{condition} ends nothing: no step goes on for as long, the longest for {longest}");
        remarks.warn("plan.no-effect", run.abort_when.span(), message, "leave it out, or ask for less time");
    }
}

fn read<T: FromStr<Err = String>>(
    texts: &Setting<Vec<String>>,
    (code, help): (&'static str, &str),
    remarks: &mut Remarks,
) -> Vec<T> {
    let one = |text: &String| {
        let read = text.parse();
        read.map_err(|reason: String| remarks.error(code, texts.span(), reason, help)).ok()
    };
    texts.get().iter().filter_map(one).collect()
}
