//! What a stream does, in the few words a storage engineer uses. Knows nothing of what it measured.

use fathom_schema::{Stream, Workload};
use fathom_units::{Bytes, Ratio};

/// `random 70 % read 30 % write 8 KiB`, `sequential write 1 MiB`, `45 % sequential read 4 KiB`.
pub fn workload(workload: &Workload) -> String {
    format!("{} {} {}", access(workload), mix(workload), sizes(workload))
}

/// Operations asked to be in flight over all workers.
pub fn queue_depth(stream: &Stream) -> u64 {
    u64::from(stream.queue_depth) * stream.workers.len() as u64
}

/// `random`, `sequential`, or the share that is random.
pub(crate) fn access(workload: &Workload) -> String {
    let random: f64 = workload.cases.iter().filter(|case| case.random).map(|case| case.weight).sum();
    if random > 0.999_999 {
        "random".to_owned()
    } else if random < 0.000_001 {
        "sequential".to_owned()
    } else {
        format!("{} random", percent(random))
    }
}

/// `read`, or each kind with its share, the largest first.
pub(crate) fn mix(workload: &Workload) -> String {
    let mut shares: Vec<(&str, f64)> = Vec::new();
    for case in &workload.cases {
        match shares.iter_mut().find(|(name, _)| *name == case.kind.name()) {
            Some((_, share)) => *share += case.weight,
            None => shares.push((case.kind.name(), case.weight)),
        }
    }
    shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    match shares.as_slice() {
        [(name, _)] => (*name).to_owned(),
        many => many
            .iter()
            .map(|(name, share)| format!("{} {name}", percent(*share)))
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// The block size, or the smallest and the largest.
pub(crate) fn sizes(workload: &Workload) -> String {
    let sizes = workload.cases.iter().map(|case| case.size);
    let smallest = sizes.clone().map(fathom_schema::Size::smallest).min().unwrap_or(0);
    let largest = sizes.map(fathom_schema::Size::largest).max().unwrap_or(0);
    if smallest == largest {
        Bytes(u64::from(smallest)).to_string()
    } else {
        format!("{} to {}", Bytes(u64::from(smallest)), Bytes(u64::from(largest)))
    }
}

/// A share to a tenth of a percent, without needless decimals.
pub(crate) fn percent(share: f64) -> String {
    Ratio::percent((share * 1000.0).round() / 10.0).to_string().replace('%', " %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::OperationKind::{self, Read, Trim, Write};
    use fathom_schema::Size;

    #[test]
    fn workloads_read_like_their_names() {
        let of = |rates: Vec<(OperationKind, u64)>, random, block_bytes| {
            let record = record(&[StreamShape { rates, block_bytes, random, ..StreamShape::default() }]);
            record.steps[0].started.step.streams[0].workload.clone()
        };
        for (rates, random, block_bytes, expect) in [
            (vec![(Read, 1)], true, 4096, "random read 4 KiB"),
            (vec![(Write, 1)], false, 1 << 20, "sequential write 1 MiB"),
            (vec![(Write, 300), (Read, 700)], true, 8192, "random 70 % read 30 % write 8 KiB"),
            (vec![(Trim, 1), (Read, 2)], true, 1000, "random 66.7 % read 33.3 % trim 1000 B"),
        ] {
            assert_eq!(workload(&of(rates, random, block_bytes)), expect);
        }
        let mut mixed = of(vec![(Read, 55), (Write, 45)], true, 4096);
        mixed.cases[1].random = false;
        mixed.cases[1].size = Size::Range { min: 512, max: 65_536, step: 512 };
        assert_eq!(workload(&mixed), "55 % random 55 % read 45 % write 512 B to 64 KiB");
    }
}
