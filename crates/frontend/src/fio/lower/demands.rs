//! fio's demands on a job, its flow, pauses and priorities as options of a stream.

use super::super::demands::Demands;
use super::super::extras::HeldTo;
use super::super::faults::Faults;
use super::super::settings::Settings;
use super::super::values::Triple;
use fathom_model::{ByKind, Direction, Nice, PriorityClass, Rate, Span, StreamOptions};
use fathom_units::{BytesPerSec, Iops, Nanos};

/// Sets everything but the least rates.
pub(super) fn set(options: &mut StreamOptions, settings: &Settings, span: Span, faults: &mut Faults) {
    let Demands {
        rate_min: _,
        rate_iops_min: _,
        rate_cycle_ms,
        max_latency,
        flow,
        flow_id,
        flow_sleep,
        think_iotime,
        think_spin,
        think_by_issue,
        think_counts,
        think_puts_off,
        depth_low,
        complete_max,
        serialize_overlap,
        nice,
        prio,
        prio_class,
        latency_target: _, // here to `steady_every`: settling
        latency_window: _,
        latency_percent: _,
        latency_run: _,
        steady: _,
        steady_window: _,
        steady_after: _,
        steady_every: _,
    } = &settings.demands;
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    if let Some(ms) = rate_cycle_ms {
        options.rate_min_window.set(Nanos::millis(*ms), settings.span("rate_cycle", span));
    }
    let latencies = by_kind(max_latency, Nanos::micros);
    if !latencies.0.is_empty() {
        options.latency_max.set(latencies, settings.span("max_latency", span));
    }
    if *flow > 0 {
        let place = settings.span("flow", span);
        // fio's flows count from 0, which is none here.
        options.flow.set(narrow(*flow_id).saturating_add(1), settings.span("flow_id", place));
        options.flow_weight.set(narrow(*flow), place);
        options.flow_pause.set(Nanos::micros(*flow_sleep), settings.span("flow_sleep", place));
    }
    if settings.engine.thinktime > 0 {
        if *think_iotime > 0 {
            options.think_after.set(Nanos::micros(*think_iotime), settings.span("thinktime_iotime", span));
        }
        if *think_counts || *think_iotime == 0 {
            let place = settings.span("thinktime_blocks", span);
            options.think_every.set(settings.engine.think_blocks, place);
        }
        if *think_spin > 0 {
            options.think_spin.set(Nanos::micros(*think_spin), settings.span("thinktime_spin", span));
        }
        if *think_by_issue {
            options.think_issued.set(true, settings.span("thinktime_blocks_type", span));
        }
        if *think_puts_off {
            options.think_puts_off.set(true, settings.span("rate_ignore_thinktime", span));
        }
    }
    if (1..settings.engine.depth).contains(depth_low) {
        options.refill_at.set(narrow(*depth_low), settings.span("iodepth_low", span));
    }
    // No more are taken up than are waited for, unless that is said. Where nothing is said of batches the engine finds them.
    let complete_max = match (*complete_max, settings.engine.complete_min) {
        (0, min) if min > 1 || settings.engine.batch.is_some() => min.max(1),
        (0, _) => 0,
        // As fio has it: no fewer than are waited for.
        (max, min) => max.max(min),
    };
    if (1..settings.engine.depth).contains(&complete_max) {
        options
            .batch_complete_max
            .set(narrow(complete_max), settings.span("iodepth_batch_complete_max", span));
    }
    if *serialize_overlap && settings.engine.depth > 1 {
        options.serialize_overlap.set(true, settings.span("serialize_overlap", span));
    }
    if *nice != 0 {
        options.nice.set(Nice(*nice), settings.span("nice", span));
    }
    if let Some(level) = prio {
        options.thread_priority_level.set(narrow(*level), settings.span("prio", span));
    }
    let class = match prio_class {
        1 => Some(PriorityClass::RealTime),
        2 => Some(PriorityClass::BestEffort),
        3 => Some(PriorityClass::Idle),
        _ => None,
    };
    if let Some(class) = class {
        options.thread_priority_class.set(class, settings.span("prioclass", span));
    } else if prio.is_some() {
        let message = "prio without prioclass is a level of the best-effort class";
        faults.warn("fio.approximate", settings.span("prio", span), message, "add prioclass=2");
    }
}

/// Least rates of a stream that stands for so many clones. Of the two, fio looks at bytes first.
pub(super) fn set_rates(
    options: &mut StreamOptions,
    settings: &Settings,
    clones: u32,
    span: Span,
    faults: &mut Faults,
) {
    let Demands { rate_min, rate_iops_min, .. } = &settings.demands;
    for (name, least, most) in [
        ("rate_min", rate_min, &settings.engine.rate),
        ("rate_iops_min", rate_iops_min, &settings.engine.rate_iops),
    ] {
        let exceeds = |(least, most): (&Option<u64>, &Option<u64>)| {
            most.is_some_and(|most| most > 0 && least.is_some_and(|least| least > most))
        };
        if least.iter().zip(most).any(exceeds) {
            let message = format!("{name} is above the rate itself");
            faults.error("fio.contradiction", settings.span(name, span), message, "lower it");
        }
    }
    let all = |rate: u64| rate as f64 * f64::from(clones);
    let bytes = by_kind(rate_min, |rate| Rate::Bandwidth(BytesPerSec(all(rate))));
    let operations = by_kind(rate_iops_min, |rate| Rate::Operations(Iops(all(rate))));
    let place = settings.span("rate_min", settings.span("rate_iops_min", span));
    let mut rates = bytes;
    for (direction, rate) in operations.0 {
        if rates.0.iter().all(|&(known, _)| known != direction) {
            rates.0.push((direction, rate));
        }
    }
    if !rates.0.is_empty() {
        options.rate_min.set(rates, place);
    }
}

/// The rates of a job's directions, added up.
pub(super) fn held_to(settings: &Settings) -> HeldTo {
    let rw = settings.operations.rw.as_str();
    let is_mix = rw.ends_with("rw") || rw == "readwrite";
    let goes = [is_mix || rw.ends_with("read"), is_mix || rw.ends_with("write"), rw.contains("trim")];
    let sum = |rates: &Triple<u64>| {
        let used = rates.iter().zip(goes).filter_map(|(rate, goes)| rate.filter(|_| goes));
        used.fold(0, u64::saturating_add)
    };
    let Demands { rate_min, rate_iops_min, .. } = &settings.demands;
    HeldTo {
        bytes_min: sum(rate_min),
        bytes: sum(&settings.engine.rate),
        operations_min: sum(rate_iops_min),
        operations: sum(&settings.engine.rate_iops),
    }
}

/// What is above 0, by direction.
fn by_kind<T>(triple: &Triple<u64>, item: impl Fn(u64) -> T) -> ByKind<T> {
    let directions = [Direction::Read, Direction::Write, Direction::Trim];
    let given = directions.into_iter().zip(*triple);
    let above_zero = given.filter_map(|(direction, number)| Some((direction, number.filter(|&n| n > 0)?)));
    ByKind(above_zero.map(|(direction, number)| (Some(direction), item(number))).collect())
}
