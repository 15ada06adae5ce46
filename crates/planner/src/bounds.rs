//! The bounds of a run: what its steps have to keep, and what ends it. Their syntax is the schema's, since the command line
//! has the same.

use crate::remarks::Remarks;
use fathom_model::{RunOptions, Setting};
use fathom_schema::{Condition, Threshold};
use std::str::FromStr;

/// The thresholds and the conditions; those that cannot be read are remarked upon.
pub(crate) fn of(run: &RunOptions, remarks: &mut Remarks) -> (Vec<Threshold>, Vec<Condition>) {
    let help = "write for example \"iops > 100k\", \"read.p99 < 1ms\" or \"errors < 1\"";
    let thresholds = read(&run.thresholds, ("plan.thresholds", help), remarks);
    let help = "write for example \"read.p99 > 10ms for 5s\" or \"errors > 0\"";
    (thresholds, read(&run.abort_when, ("plan.abort-when", help), remarks))
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
