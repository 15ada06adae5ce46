//! What a stream did on each of the targets that it goes to, told apart. Owns which streams are told apart; does not know
//! who counts.

use crate::step::Stream;
use crate::tally::OperationKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Targets of a stream that are counted apart at most: more rows than anyone reads, and 3.5 KiB in each cell of a worker
/// and kind, less than its histogram has.
pub const TARGETS_COUNTED_MAX: usize = 64;

impl Stream {
    /// Numbers of the targets that it goes to.
    pub fn targets(&self) -> BTreeSet<u32> {
        self.aims().collect()
    }

    /// Numbers of its targets that are counted apart, ascending: all of them where there are 2 to
    /// [`TARGETS_COUNTED_MAX`]. One alone has all that the stream did.
    pub fn counted_targets(&self) -> Vec<u32> {
        let mut found = BTreeSet::new();
        for target in self.aims() {
            found.insert(target);
            if found.len() > TARGETS_COUNTED_MAX {
                return Vec::new();
            }
        }
        if found.len() > 1 { found.into_iter().collect() } else { Vec::new() }
    }

    fn aims(&self) -> impl Iterator<Item = u32> + '_ {
        self.workers.iter().flat_map(|worker| &worker.extents).map(|extent| extent.target)
    }
}

/// What operations of one kind did on one target.
///
/// Serialised flat, as a record has many of them: target, index of the kind, operations, bytes, errors, sum and largest of
/// the service times; of an open loop also sum and largest of the response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct TargetTally {
    /// Index into [`crate::Step::targets`].
    pub target: u32,
    /// Which kind.
    pub kind: OperationKind,
    /// Operations completed without an error.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Failed operations.
    pub errors: u64,
    /// Submitted → completed.
    pub service: LatencySum,
    /// Intended start → completed; absent in a closed loop, where it equals `service`.
    pub response: Option<LatencySum>,
}

/// Latencies added up, and the largest of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatencySum {
    /// Sum, in nanoseconds.
    pub sum_ns: u64,
    /// Largest, in nanoseconds.
    pub max_ns: u64,
}

impl LatencySum {
    /// Counts one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.merge(&Self { sum_ns: ns, max_ns: ns });
    }

    /// Adds others.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        let Self { sum_ns, max_ns } = *other;
        self.sum_ns = self.sum_ns.wrapping_add(sum_ns);
        self.max_ns = self.max_ns.max(max_ns);
    }
}

impl TargetTally {
    /// Nothing of this kind on this target.
    pub fn nothing(target: u32, kind: OperationKind) -> Self {
        let service = LatencySum::default();
        Self { target, kind, operations: 0, bytes: 0, errors: 0, service, response: None }
    }

    /// Adds those of other operations.
    pub fn merge(&mut self, other: &Self) {
        let Self { target: _, kind: _, operations, bytes, errors, service, response } = other;
        self.operations += operations;
        self.bytes += bytes;
        self.errors += errors;
        // An absent response equals the service time: spelt out before a present one joins it.
        if response.is_some() || self.response.is_some() {
            let response = response.as_ref().unwrap_or(service);
            self.response.get_or_insert(self.service).merge(response);
        }
        self.service.merge(service);
    }
}

impl From<TargetTally> for Vec<u64> {
    fn from(tally: TargetTally) -> Self {
        let TargetTally { target, kind, operations, bytes, errors, service, response } = tally;
        let mut flat = vec![u64::from(target), kind.index() as u64, operations, bytes, errors];
        for LatencySum { sum_ns, max_ns } in [Some(service), response].into_iter().flatten() {
            flat.extend([sum_ns, max_ns]);
        }
        flat
    }
}

impl TryFrom<Vec<u64>> for TargetTally {
    type Error = String;

    fn try_from(flat: Vec<u64>) -> Result<Self, String> {
        let (known, times) = flat.split_at_checked(5).ok_or("a tally of a target has 7 or 9 numbers")?;
        let &[target, kind, operations, bytes, errors] = known else { unreachable!("it is cut there") };
        let (service, response) = match *times {
            [sum_ns, max_ns] => (LatencySum { sum_ns, max_ns }, None),
            [sum_ns, max_ns, response_sum_ns, response_max_ns] => {
                let response = LatencySum { sum_ns: response_sum_ns, max_ns: response_max_ns };
                (LatencySum { sum_ns, max_ns }, Some(response))
            }
            _ => return Err(format!("a tally of a target has 7 or 9 numbers, not {}", flat.len())),
        };
        let of_kind = usize::try_from(kind).ok().and_then(|kind| OperationKind::ALL.get(kind));
        Ok(Self {
            target: u32::try_from(target).map_err(|_| format!("{target} is no number of a target"))?,
            kind: *of_kind.ok_or_else(|| format!("{kind} is no kind of operations"))?,
            operations,
            bytes,
            errors,
            service,
            response,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> TargetTally {
        let service = LatencySum { sum_ns: 900, max_ns: 500 };
        let kind = OperationKind::Trim;
        TargetTally { target: 7, kind, operations: 3, bytes: 4096, errors: 1, service, response: None }
    }

    #[test]
    fn the_flat_form_reads_back() {
        let open = TargetTally { response: Some(LatencySum { sum_ns: 1000, max_ns: 600 }), ..tally() };
        for (tally, text) in [(tally(), "[7,2,3,4096,1,900,500]"), (open, "[7,2,3,4096,1,900,500,1000,600]")]
        {
            assert_eq!(serde_json::to_string(&tally).unwrap(), text);
            assert_eq!(serde_json::from_str::<TargetTally>(text).unwrap(), tally);
        }
    }

    #[test]
    fn what_is_no_tally_is_refused() {
        for text in
            ["[]", "[7,2,3]", "[7,2,3,4096,1]", "[7,2,3,4096,1,9]", "[7,2,3,4096,1,9,9,9]", "[7,9,3,0,0,9,9]"]
        {
            assert!(serde_json::from_str::<TargetTally>(text).is_err(), "{text}");
        }
        assert!(serde_json::from_str::<TargetTally>("[4294967296,0,0,0,0,0,0]").is_err());
    }

    #[test]
    fn a_closed_loops_times_join_those_of_an_open_one() {
        let open = TargetTally { response: Some(LatencySum { sum_ns: 1000, max_ns: 600 }), ..tally() };
        let expect = Some(LatencySum { sum_ns: 1900, max_ns: 600 });
        for (mut into, from) in [(tally(), open), (open, tally())] {
            into.merge(&from);
            assert_eq!((into.operations, into.response), (6, expect));
        }
    }
}
