//! Rows of what a job has to keep, of flows, of how pauses come and queues refill, and of priorities.

use super::Priority::P1;
use super::{OptionRow, Value, built, number_of};
use crate::fio::values::Unit;

const ANY: u64 = u32::MAX as u64;

pub(super) const ROWS: &[OptionRow] = &[
    built(
        "rate_min",
        &["ratemin"],
        P1,
        Value::Triple(Unit::Bytes, 0, i64::MAX as u64, |s, rate| s.demands.rate_min = rate),
    ),
    built(
        "rate_iops_min",
        &[],
        P1,
        Value::Triple(Unit::Count, 0, ANY, |s, rate| s.demands.rate_iops_min = rate),
    ),
    built("rate_cycle", &["ratecycle"], P1, Value::Count(0, ANY, |s, ms| s.demands.rate_cycle_ms = Some(ms))),
    built(
        "max_latency",
        &[],
        P1,
        Value::Triple(Unit::Microseconds, 0, i64::MAX as u64, |s, us| s.demands.max_latency = us),
    ),
    built("flow", &[], P1, Value::Count(0, 1000, |s, weight| s.demands.flow = weight)),
    built("flow_id", &[], P1, Value::Count(0, 65_534, |s, id| s.demands.flow_id = id)),
    built("flow_sleep", &[], P1, Value::Count(0, ANY, |s, us| s.demands.flow_sleep = us)),
    built("thinktime_spin", &[], P1, Value::Time(Unit::Microseconds, |s, us| s.demands.think_spin = us)),
    built(
        "thinktime_blocks",
        &[],
        P1,
        Value::Count(1, i64::MAX as u64, |s, n| {
            s.engine.think_blocks = n;
            s.demands.think_counts = true;
        }),
    ),
    built(
        "thinktime_blocks_type",
        &[],
        P1,
        Value::Word(&["complete", "issue"], |s, word, _| s.demands.think_by_issue = word == "issue"),
    ),
    built("thinktime_iotime", &[], P1, Value::Time(Unit::Seconds, |s, us| s.demands.think_iotime = us)),
    built("iodepth_low", &[], P1, Value::Count(0, 65_536, |s, n| s.demands.depth_low = n)),
    built("iodepth_batch_complete_max", &[], P1, Value::Count(0, 65_536, |s, n| s.demands.complete_max = n)),
    built("serialize_overlap", &[], P1, Value::Boolean(|s, flag| s.demands.serialize_overlap = flag)),
    built(
        "nice",
        &[],
        P1,
        Value::Text(|s, text, misreads| {
            // What follows the number is passed over, as with fio's other numbers.
            let number = number_of(text, Unit::Count, s.kb_base, misreads)?;
            let nice = i32::try_from(number).ok().filter(|number| (-20..=19).contains(number));
            s.demands.nice = nice.ok_or_else(|| format!("\"{text}\" is no nice value from -20 to 19"))?;
            Ok(())
        }),
    ),
    built("prio", &[], P1, Value::Count(0, 7, |s, level| s.demands.prio = Some(level))),
    built("prioclass", &[], P1, Value::Count(0, 3, |s, class| s.demands.prio_class = class)),
];
