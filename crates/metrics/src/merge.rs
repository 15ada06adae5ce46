//! Merging what is stored: tallies of intervals, workers and streams add up to those of longer stretches and groups.

use crate::latency::Latency;
use fathom_schema::{KindTally, LatencyTally, OperationKind, SparseHistogram, StreamTally};

/// Adds the counts of `from` to `into`.
pub fn merge_sparse(into: &mut SparseHistogram, from: &SparseHistogram) {
    into.add(from);
}

/// Adds `from` to `into`.
pub fn merge_latency(into: &mut LatencyTally, from: &LatencyTally) {
    into.moments.merge(&from.moments);
    merge_sparse(&mut into.histogram, &from.histogram);
}

/// Adds `from` to `into`; both of one kind.
pub fn merge_kind(into: &mut KindTally, from: &KindTally) {
    let KindTally {
        kind: _,
        operations,
        bytes,
        short,
        data_syncs,
        errors,
        service,
        response,
        submission,
        completion,
    } = from;
    into.operations += operations;
    into.bytes += bytes;
    into.short += short;
    into.data_syncs += data_syncs;
    for &(errno, count) in errors {
        match into.errors.iter_mut().find(|(known, _)| *known == errno) {
            Some((_, total)) => *total += count,
            None => into.errors.push((errno, count)),
        }
    }
    // An absent response equals the service time: spelt out before a present one joins it.
    if response.is_some() || into.response.is_some() {
        let response = response.as_ref().unwrap_or(service);
        let of_into = into.response.get_or_insert_with(|| into.service.clone());
        // Where nothing waits both are the same, and the sum of many is long.
        if (&response.histogram, &of_into.histogram) == (&service.histogram, &into.service.histogram) {
            merge_latency(&mut into.service, service);
            of_into.moments.merge(&response.moments);
            of_into.histogram.clone_from(&into.service.histogram);
        } else {
            merge_latency(of_into, response);
            merge_latency(&mut into.service, service);
        }
    } else {
        merge_latency(&mut into.service, service);
    }
    match (into.completion.as_mut(), completion) {
        (Some(into), Some(from)) => merge_latency(into, from),
        (None, Some(from)) => into.completion = Some(from.clone()),
        (_, None) => {}
    }
    into.submission.merge(submission);
}

/// What a stream did of each kind, and for how long those arrivals had waited that were left at its end and are of no kind. In
/// response times one that was left counts as one that took as long as it had waited, the least that it would have taken:
/// percentiles without them would hide that a target stood still. Where a stream has operations of one kind only, beside
/// syncs, they would have been of that.
pub fn kinds_with_left(tally: &StreamTally) -> (Vec<KindTally>, Option<&LatencyTally>) {
    let mut kinds = tally.kinds.clone();
    let Some(left) = tally.left_waiting.as_deref() else { return (kinds, None) };
    let mut moving = kinds.iter_mut().filter(|kind| kind.kind != OperationKind::Sync);
    match (moving.next(), moving.next()) {
        (Some(only), None) => {
            merge_latency(only.response.get_or_insert_with(|| only.service.clone()), left);
            (kinds, None)
        }
        _ => (kinds, Some(left)),
    }
}

/// Adds `from` to `into`: the tally of a longer stretch, or of several workers or streams together.
pub fn merge_tally(into: &mut StreamTally, from: &StreamTally) {
    let StreamTally {
        kinds,
        targets,
        connections,
        in_flight_ns,
        failed_ns,
        outside_ns,
        cpu_ns,
        used,
        depth_levels,
        submit_sizes,
        complete_sizes,
        arrivals,
        arrivals_late,
        arrivals_dropped,
        left_waiting,
        backlog_max,
    } = from;
    for kind in kinds {
        match into.kinds.iter_mut().find(|known| known.kind == kind.kind) {
            Some(known) => merge_kind(known, kind),
            None => {
                into.kinds.push(kind.clone());
                into.kinds.sort_by_key(|kind| kind.kind);
            }
        }
    }
    for tally in targets {
        let place = into.targets.binary_search_by_key(&(tally.target, tally.kind), |t| (t.target, t.kind));
        match place {
            Ok(at) => into.targets[at].merge(tally),
            Err(at) => into.targets.insert(at, *tally),
        }
    }
    into.connections.merge(connections);
    into.in_flight_ns += in_flight_ns;
    into.failed_ns += failed_ns;
    into.outside_ns += outside_ns;
    into.cpu_ns += cpu_ns;
    into.used.merge(*used);
    for (into, from) in [
        (&mut into.depth_levels, depth_levels),
        (&mut into.submit_sizes, submit_sizes),
        (&mut into.complete_sizes, complete_sizes),
    ] {
        into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
    }
    into.arrivals += arrivals;
    into.arrivals_late += arrivals_late;
    into.arrivals_dropped += arrivals_dropped;
    if let Some(left) = left_waiting {
        merge_latency(into.left_waiting.get_or_insert_default(), left);
    }
    // The largest of any stretch; workers of one stretch were added up when their cells were merged.
    into.backlog_max = into.backlog_max.max(*backlog_max);
}

impl From<&Latency> for LatencyTally {
    fn from(latency: &Latency) -> Self {
        latency.to_tally()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::histogram::BUCKETS;
    use fathom_schema::{LatencySum, OperationKind, TargetTally};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// What cells of several workers and intervals hold of targets: those of each in order, as they are counted.
    fn of_targets() -> impl Strategy<Value = Vec<TargetTally>> {
        let kind = prop::sample::select(OperationKind::ALL.to_vec());
        let counts = (0_u64..1 << 20, 0_u64..1 << 30, 0_u64..9, 0_u64..1 << 40, 0_u64..1 << 30);
        prop::collection::btree_map((0_u32..9, kind), counts, 0..12).prop_map(|found| {
            let tally = |((target, kind), (operations, bytes, errors, sum_ns, max_ns))| TargetTally {
                service: LatencySum { sum_ns, max_ns },
                operations,
                bytes,
                errors,
                ..TargetTally::nothing(target, kind)
            };
            found.into_iter().map(tally).collect()
        })
    }

    fn of_kind(kind: OperationKind, ns: u64) -> KindTally {
        let mut cell = crate::Cell::new(crate::CellShape {
            kinds: [true; OperationKind::COUNT],
            response: true,
            ..crate::CellShape::default()
        });
        let counted = cell.kind(kind);
        counted.service.record(ns);
        counted.response.as_mut().expect("it was asked for").record(ns + 1);
        cell.to_tally().kinds.remove(0)
    }

    fn left(waits: &[u64]) -> StreamTally {
        let mut latency = Latency::default();
        waits.iter().for_each(|&ns| latency.record(ns));
        StreamTally { left_waiting: Some(Box::new(latency.to_tally())), ..StreamTally::default() }
    }

    #[test]
    fn what_was_left_waiting_is_of_the_only_kind_that_moves_something() {
        let (read, write, sync) = (OperationKind::Read, OperationKind::Write, OperationKind::Sync);
        for (kinds, moved) in [(vec![write, sync], true), (vec![read, write], false), (vec![sync], false)] {
            let kinds: Vec<KindTally> = kinds.into_iter().map(|kind| of_kind(kind, 100)).collect();
            let mut tally = StreamTally { kinds: kinds.clone(), ..StreamTally::default() };
            merge_tally(&mut tally, &left(&[7000, 9000]));
            merge_tally(&mut tally, &left(&[5000]));
            let (found, of_none) = kinds_with_left(&tally);
            let response = |kind: &KindTally| kind.response.as_ref().expect("it has one").moments;
            let expect = if moved { (4, 21_101.0, 9000) } else { (1, 101.0, 101) };
            let moments = response(&found[0]);
            assert_eq!((moments.count, moments.sum_ns, moments.max_ns), expect);
            assert!(found.iter().zip(&kinds).all(|(found, kind)| found.service == kind.service));
            assert_eq!(of_none.map(|left| left.moments.sum_ns), (!moved).then_some(21_000.0));
        }
    }

    proptest! {
        #[test]
        fn tallies_of_targets_add_up_in_any_order(all in prop::collection::vec(of_targets(), 0..6)) {
            let mut expect: BTreeMap<(u32, OperationKind), TargetTally> = BTreeMap::new();
            for one in all.iter().flatten() {
                let nothing = TargetTally::nothing(one.target, one.kind);
                let sum = expect.entry((one.target, one.kind)).or_insert(nothing);
                sum.operations += one.operations;
                sum.bytes += one.bytes;
                sum.errors += one.errors;
                sum.service.sum_ns += one.service.sum_ns;
                sum.service.max_ns = sum.service.max_ns.max(one.service.max_ns);
            }
            let expect: Vec<TargetTally> = expect.into_values().collect();
            let tally = |targets: &Vec<TargetTally>| StreamTally { targets: targets.clone(), ..StreamTally::default() };
            let (mut one_by_one, mut backwards) = (StreamTally::default(), StreamTally::default());
            all.iter().for_each(|targets| merge_tally(&mut one_by_one, &tally(targets)));
            all.iter().rev().for_each(|targets| merge_tally(&mut backwards, &tally(targets)));
            // Two halves, as workers and intervals are merged before they are merged with others.
            let (left, right) = all.split_at(all.len() / 2);
            let [mut halves, right] = [left, right].map(|half| {
                let mut sum = StreamTally::default();
                half.iter().for_each(|targets| merge_tally(&mut sum, &tally(targets)));
                sum
            });
            merge_tally(&mut halves, &right);
            for found in [one_by_one, backwards, halves] {
                prop_assert_eq!(&found.targets, &expect);
            }
        }

        #[test]
        fn merging_sparse_forms_is_merging_histograms(
            left in prop::collection::vec(0_u64..1 << 20, 0..60),
            right in prop::collection::vec(0_u64..1 << 20, 0..60),
        ) {
            let of = |values: &[u64]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|&v| histogram.record(v));
                histogram
            };
            let mut sparse = of(&left).to_sparse(0..BUCKETS);
            merge_sparse(&mut sparse, &of(&right).to_sparse(0..BUCKETS));
            let mut dense = of(&left);
            dense.merge(&of(&right), 0..BUCKETS);
            prop_assert_eq!(sparse, dense.to_sparse(0..BUCKETS));
        }
    }
}
