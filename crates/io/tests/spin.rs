//! The engine that keeps a CPU busy: an operation takes as long as was asked, on the clock and on the CPU, and counts
//! nothing.

use fathom_io::clock::monotonic;
use fathom_io::{Buffers, Completion, Engine, Operation, Setup, Spin, Wait, thread};
use fathom_schema::OperationKind;
use fathom_units::Nanos;
use std::rc::Rc;

#[test]
fn an_operation_takes_its_time_and_moves_nothing() {
    check(false);
    check(true);
}

fn check(sorts: bool) {
    let chunk = Nanos::millis(2);
    let mut engine = Spin::new(chunk, sorts);
    let buffers = Rc::new(Buffers::new(1, 1));
    engine.open(Setup { targets: Vec::new(), queue_depth: 1, buffers, seed: 1 }).expect("it opens nothing");
    let operation = |kind| Operation {
        slot: 0,
        kind,
        target: 0,
        offset: 0,
        length: 4096,
        data_only: false,
        range_flags: 0,
    };
    for (kind, takes_time) in
        [(OperationKind::Read, true), (OperationKind::Write, true), (OperationKind::Sync, false)]
    {
        let (start, cpu) = (monotonic(), thread::cpu_ns());
        engine.push(&operation(kind));
        let (took, busy) = (monotonic().since(start), thread::cpu_ns() - cpu);
        assert!(!takes_time || took >= chunk, "{kind:?} took {took}");
        // However little of the CPU it was given, it used some of it.
        assert!(!takes_time || busy > 0, "{kind:?} used no CPU");
        let mut done = [Completion { slot: 7, result: 7 }];
        let wait = Wait { min_complete: 1, timeout_ns: 0 };
        assert_eq!(engine.reap(wait, &mut done).expect("it never fails"), 1);
        assert_eq!(done[0], Completion { slot: 0, result: 0 });
        assert_eq!(engine.reap(wait, &mut done).expect("it never fails"), 0, "it came once");
    }
    engine.close();
}
