//! Rates at which hardly anything comes.

use super::{Facts, GIB, check, job};

#[test]
fn a_rate_without_a_second_operation_is_told() {
    let same = |_: &mut Facts| {};
    let rare = |rate: &str| {
        format!(
            "plan.short-time: at {rate} the stream \"s\" has no second operation within the 1 min that it measures; measure for \
             longer, or raise the rate"
        )
    };
    check(&job("", "", "rate = \"0.01/s\""), GIB, same, &[&rare("0.010/s")]);
    check(&job("", "", "rate = \"0.02/s\""), GIB, same, &[]);
    check(&job("", "", "rate = \"60B/s\""), GIB, same, &[&rare("0.015/s")]);
    check(&job("", "", "rate_course = [\"0.001/s for 50s\", \"1k/s for 10s\"]"), GIB, same, &[]);
}
