//! What a stream has to keep, its part in a flow, its pauses and its threads' priorities, as its workers obey them. It knows
//! nothing of the operations.

use crate::operations::Operations;
use crate::remarks::Remarks;
use fathom_model::{ByKind, Direction, MemoryNodes, Named, PriorityClass, Rate, StreamOptions};
use fathom_schema::{
    Arrival, Demands, Flow, IoPriority, KindOrder, KindRate, LatencyDemand, MemoryPolicy, OperationKind,
    Pacing, Pauses, RATES, RateDemand, RateUnit, Scheduling, Think, Verification, VerifySchedule,
};
use fathom_units::{BytesPerSec, Iops, Nanos};

/// How long a rate may take to come up: fio's rule for `rate_min`, which fathom takes over.
const SETTLES: Nanos = Nanos::secs(2);

/// What each of `workers` workers has to keep; of operations that there are none of, nothing.
pub(crate) fn demands(options: &StreamOptions, operations: &Operations, workers: u64) -> Demands {
    let occurs = |kind: Option<Direction>| match kind {
        None => true,
        Some(Direction::Read) => operations.reads,
        Some(Direction::Write) => operations.writes,
        Some(Direction::Trim) => operations.trims,
    };
    let rate = |(kind, rate): &(Option<Direction>, Rate)| {
        let (unit, whole) = match *rate {
            Rate::Operations(Iops(rate)) => (RateUnit::Operations, rate),
            Rate::Bandwidth(BytesPerSec(rate)) => (RateUnit::Bytes, rate),
            // The model lets neither of them through.
            Rate::Max | Rate::OfMaximum(_) => return None,
        };
        Some(RateDemand { kind: kind.map(kind_of), unit, at_least: whole / workers.max(1) as f64 })
    };
    let latency = |&(kind, time): &(Option<Direction>, Nanos)| LatencyDemand {
        kind: kind.map(kind_of),
        at_most_ns: time.0,
    };
    Demands {
        rates: items(options.rate_min.get()).filter(|item| occurs(item.0)).filter_map(rate).collect(),
        rate_window: (*options.rate_min_window.get()).max(Nanos::millis(1)),
        rate_settles: SETTLES,
        latencies: items(options.latency_max.get()).map(latency).collect(),
    }
}

fn items<T>(given: Option<&ByKind<T>>) -> impl Iterator<Item = &(Option<Direction>, T)> {
    given.into_iter().flat_map(|ByKind(items)| items)
}

fn kind_of(direction: Direction) -> OperationKind {
    match direction {
        Direction::Read => OperationKind::Read,
        Direction::Write => OperationKind::Write,
        Direction::Trim => OperationKind::Trim,
    }
}

/// Rates that some kinds of its operations do not exceed; `None` when that cannot be, which is then among the remarks.
pub(crate) fn kind_rates(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    pacing: &Pacing,
    arrival: Arrival,
    verification: &Verification,
    remarks: &mut Remarks,
) -> Option<Vec<KindRate>> {
    let options = &stream.options;
    let Some(ByKind(given)) = options.rate_max.get() else { return Some(Vec::new()) };
    let mut rates = Vec::new();
    for &(direction, rate) in given {
        let (unit, per_second) = match rate {
            Rate::Operations(Iops(rate)) => (RateUnit::Operations, rate),
            Rate::Bandwidth(BytesPerSec(rate)) => (RateUnit::Bytes, rate),
            // The model lets neither of them through.
            Rate::Max | Rate::OfMaximum(_) => continue,
        };
        if let Some(kind) = direction.map(kind_of) {
            rates.push(KindRate { kind, unit, per_second, arrival });
        }
    }
    let cases = &operations.workload.cases;
    let occurs = |kind: OperationKind| cases.iter().any(|case| case.kind == kind);
    let is_limited = |kind: OperationKind| rates.iter().any(|rate| rate.kind == kind);
    let in_rates = |rate: f64| RATES.contains(&rate);
    let mean_bytes = |kind: OperationKind| {
        let of_kind = cases.iter().filter(|case| case.kind == kind);
        let sum = of_kind.fold((0.0, 0.0), |(weight, bytes), case| {
            (weight + case.weight, bytes + case.weight * case.size.mean())
        });
        sum.1 / sum.0
    };
    let reads_back =
        verification.rule().is_some_and(|rule| rule.schedule != VerifySchedule::Never || !rule.writes);
    let fault = if rates.len() < given.len() {
        Some(("names no kind", "say which, such as \"read 1k/s\"; for all of them there is rate"))
    } else if matches!(pacing, Pacing::Open { .. }) {
        Some(("meets a rate of the whole stream", "leave one of them out"))
    } else if rates.iter().any(|rate| !occurs(rate.kind)) {
        Some(("names a kind that the mix has none of", "leave it out"))
    } else if cases.iter().all(|case| is_limited(case.kind)) {
        Some((
            "leaves no kind free",
            "use rate for all of them together, with shares in their proportion and kind_order = \"even\"",
        ))
    } else if operations.workload.kinds != KindOrder::Drawn {
        Some(("and kind_order contradict each other", "leave kind_order out: what is due decides instead"))
    } else if operations.workload.trim_then_write {
        Some(("and trim_then_write contradict each other", "use rate"))
    } else if rates.iter().any(|rate| match rate.unit {
        RateUnit::Operations => !in_rates(rate.per_second),
        RateUnit::Bytes => !in_rates(rate.per_second / mean_bytes(rate.kind)),
    }) {
        Some(("is out of range", "use 1 per hour to 1G per second"))
    } else if reads_back {
        // The sequence that is read back is generated again, which knows nothing of time.
        Some((
            "and verification that reads back exclude each other",
            "leave verify out, or read back by another stream (verify_when = \"never\", fio's do_verify=0)",
        ))
    } else {
        None
    };
    if let Some((what, help)) = fault {
        let message = format!("rate_max of the stream \"{}\" {what}", stream.name);
        remarks.error("plan.rate-max", options.rate_max.span(), message, help);
        return None;
    }
    Some(rates)
}

/// The flow it takes part in.
pub(crate) fn flow(options: &StreamOptions) -> Option<Flow> {
    let (id, weight, pause) = (*options.flow.get(), *options.flow_weight.get(), *options.flow_pause.get());
    (id > 0).then_some(Flow { id, weight, pause })
}

/// Whether it can take part in a flow; what keeps it from that is among the remarks.
pub(crate) fn flow_is_possible(
    stream: &Named<StreamOptions>,
    verification: &Verification,
    remarks: &mut Remarks,
) -> bool {
    let reads_back =
        verification.rule().is_some_and(|rule| rule.schedule != VerifySchedule::Never || !rule.writes);
    let is_possible = *stream.options.flow.get() == 0 || !reads_back;
    if !is_possible {
        let message = format!(
            "the stream \"{}\" takes part in a flow and reads back what it writes: the others would wait for it while it \
             reads, or it would read by turns of single operations",
            stream.name
        );
        let help =
            "leave flow out, or read back by another stream (verify_when = \"never\", fio's do_verify=0)";
        remarks.error("plan.flow-verify", stream.options.flow.span(), message, help);
    }
    is_possible
}

/// Values of kinds; one without a kind is every kind's.
pub(crate) fn by_kind<T: Copy, U: Copy>(
    given: Option<&ByKind<T>>,
    value: impl Fn(T) -> U,
) -> Vec<(OperationKind, U)> {
    let all = [Direction::Read, Direction::Write, Direction::Trim];
    let of = |direction: &Direction| {
        let own = items(given).find(|item| item.0 == Some(*direction));
        let item = own.or_else(|| items(given).find(|item| item.0.is_none()))?;
        Some((kind_of(*direction), value(item.1)))
    };
    all.iter().filter_map(of).collect()
}

/// How its threads are scheduled. A level without a class is one of the usual class.
pub(crate) fn scheduling(options: &StreamOptions) -> Scheduling {
    let level = options.thread_priority_level.get().copied();
    let class = options.thread_priority_class.get().map(|class| match class {
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    });
    let level_of = |level: Option<u32>| u8::try_from(level.unwrap_or(0)).unwrap_or(7);
    Scheduling {
        nice: options.nice.get().map_or(0, |nice| nice.0),
        io: (class.is_some() || level.is_some())
            .then(|| IoPriority { class: class.unwrap_or(2), level: level_of(level) }),
        memory: match options.memory_nodes.get() {
            MemoryNodes::Usual => MemoryPolicy::Usual,
            MemoryNodes::Local => MemoryPolicy::Local,
            MemoryNodes::Prefer(node) => MemoryPolicy::Prefer(bits(&[*node])),
            MemoryNodes::Bind(nodes) => MemoryPolicy::Bind(bits(nodes)),
            MemoryNodes::Interleave(nodes) => MemoryPolicy::Interleave(bits(nodes)),
        },
        cpu_nodes: options.cpu_nodes.get().map_or(0, |nodes| bits(nodes)),
    }
}

/// Nodes as a set of bits; what is no bit of it, the model lets not through.
fn bits(nodes: &[u32]) -> u64 {
    nodes.iter().fold(0, |set, &node| set | 1_u64.checked_shl(node).unwrap_or(0))
}

/// The pauses of a stream that has a rate.
pub(crate) fn pauses(options: &StreamOptions, pacing: &Pacing, lanes: u32) -> Pauses {
    let Pacing::Open { rate, .. } = pacing else { return Pauses::default() };
    let think = think(options, lanes);
    let (puts_off, pause) = (*options.think_puts_off.get(), options.think_time.get().0);
    let workers = f64::from(*options.workers.get()) * f64::from(lanes);
    // fio's rule (`handle_thinktime`): an operation that would have come in the pause comes as it ends.
    let gap = 1e9 * workers / rate;
    let is_within = puts_off && gap <= pause as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no longer than a pause")]
    let lead = if is_within { Nanos(gap as u64) } else { Nanos::ZERO };
    Pauses { think, puts_off, lead }
}

/// Its pauses; `lanes` threads share the operations of one worker.
pub(crate) fn think(options: &StreamOptions, lanes: u32) -> Think {
    let pause = *options.think_time.get();
    if pause == Nanos::ZERO {
        return Think::None;
    }
    let after = *options.think_after.get();
    let counts = after == Nanos::ZERO || options.think_every.span().is_some();
    Think::Every {
        operations: if counts { options.think_every.get().div_ceil(u64::from(lanes)) } else { u64::MAX },
        pause_ns: pause.0,
        by_issue: *options.think_issued.get(),
        after_ns: if after == Nanos::ZERO { u64::MAX } else { after.0 },
        spin_ns: options.think_spin.get().0.min(pause.0),
    }
}
