//! Others that use the device beside a run, and what of a run itself looks like them.

use super::{base, check, counters, findings};
use crate::sample::{StreamShape, on_file, record};
use fathom_schema::{DeviceCounters, IoMode, OperationKind, Record, Severity};
use fathom_units::Bytes;

#[test]
fn much_that_others_did_is_told_in_either_direction() {
    // Much that others did beside it does, in either direction; of what may be our own nothing is said.
    let beside = |change: fn(&mut Record)| {
        let mut small = record(&[StreamShape { rates: vec![(OperationKind::Read, 100)], ..base() }]);
        counters(&mut small).write_sectors += Bytes::mib(20).0 / DeviceCounters::SECTOR_BYTES;
        change(&mut small);
        small
    };
    let told = [("device.others", Severity::Warn)];
    check(&beside(|_| ()), &told);
    check(
        &beside(|small| counters(small).read_sectors += Bytes::mib(20).0 / DeviceCounters::SECTOR_BYTES),
        &told,
    );
    check(
        &beside(|small| counters(small).write_sectors -= Bytes::mib(5).0 / DeviceCounters::SECTOR_BYTES),
        &[],
    );
    // The journal of files that are written is nobody else's; where files are only read, there is none.
    let on_a_file = |kind: OperationKind| {
        let mut small = record(&[StreamShape { rates: vec![(kind, 100)], ..base() }]);
        on_file(&mut small, Bytes::gib(32));
        small.steps[0].started.step.streams[0].workload.cases[0].kind = kind;
        counters(&mut small).write_sectors += Bytes::mib(20).0 / DeviceCounters::SECTOR_BYTES;
        findings(&small).iter().any(|finding| finding.id == "device.others")
    };
    assert_eq!([OperationKind::Read, OperationKind::Write].map(on_a_file), [true, false]);
    let mut much = record(&[StreamShape { rates: vec![(OperationKind::Read, 10_000)], ..base() }]);
    counters(&mut much).write_sectors += Bytes::mib(20).0 / DeviceCounters::SECTOR_BYTES;
    check(&much, &[]);
    // What was written through the cache may come later.
    let buffered = beside(|small| small.steps[0].started.step.streams[0].engine.mode = IoMode::Buffered);
    assert!(findings(&buffered).iter().all(|finding| finding.id != "device.others"));
}
