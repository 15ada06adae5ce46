//! Rows of whole areas that are not built yet: traces.

use super::Priority::{P1, P2};
use super::{OptionRow, Value, accepted, not_yet};

pub(super) const ROWS: &[OptionRow] = &[
    not_yet("read_iolog", &[], P1, &[]),
    // What shapes a replay has no effect without one, and read_iolog is an error.
    accepted("read_iolog_chunked", &[], P2, Value::Any, ""),
    accepted("replay_no_stall", &[], P1, Value::Any, ""),
    accepted("replay_redirect", &[], P1, Value::Any, ""),
    accepted("replay_scale", &[], P2, Value::Any, ""),
    accepted("replay_align", &[], P2, Value::Any, ""),
    accepted("replay_time_scale", &[], P1, Value::Any, ""),
    accepted("replay_skip", &[], P2, Value::Any, ""),
    not_yet("merge_blktrace_file", &[], P2, &[]),
    accepted("merge_blktrace_scalars", &[], P2, Value::Any, ""),
    accepted("merge_blktrace_iters", &[], P2, Value::Any, ""),
];
