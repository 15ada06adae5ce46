//! The tests of a configuration in the order in which Iometer runs them: `GalileoView.cpp` of 1.1.0 (`CalcRunCount` and
//! the functions it calls) as one state machine. Knows who runs, not what is run.

use super::tree::{Cycling, Document, IDLE, Kind, TestType, Worker};

/// Tests of one configuration, at most: as many points as a job may have (`fathom_model::POINTS_MAX`).
pub const TESTS_MAX: usize = fathom_model::POINTS_MAX;

/// One test: who runs, and how deep the queues are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Which of the specifications assigned to each worker runs, from 0.
    pub spec_index: usize,
    /// For each manager and each of its workers.
    pub managers: Vec<Vec<Share>>,
}

/// What one worker does in one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// How many of its targets run, from the first on; 0: none.
    pub targets: usize,
    /// I/Os in flight on each of them.
    pub outstanding: i64,
}

/// All tests do not come to an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endless;

/// All tests, in the order they run.
pub fn tests(document: &Document) -> Result<Vec<Test>, Endless> {
    let mut state = State::of(document);
    let specs =
        document.managers.iter().flat_map(|manager| &manager.workers).map(|worker| worker.specs.len());
    let mut tests = Vec::new();
    for spec_index in 0..specs.max().unwrap_or(0) {
        state.begin(spec_index);
        let before = tests.len();
        while state.next() {
            if tests.len() == TESTS_MAX {
                return Err(Endless);
            }
            tests.push(state.test());
            if document.setup.test_type == TestType::Normal {
                break;
            }
        }
        if tests.len() == before && state.has_idle() {
            // All are idle, and at least one on purpose: that takes its time as well.
            state.clear();
            tests.push(state.test());
        }
    }
    Ok(tests)
}

/// Whether a worker has something to do under a specification: not none, not the idle one.
fn has_spec(worker: &Worker, spec_index: usize) -> bool {
    worker.specs.get(spec_index).is_some_and(|name| name != IDLE)
}

struct State<'a> {
    document: &'a Document,
    spec_index: usize,
    /// Targets that are active, and the depth, per manager and worker.
    shares: Vec<Vec<Share>>,
    targets: i64,
    workers: i64,
    queue: i64,
    target_exponent: u32,
    worker_exponent: u32,
    queue_exponent: u32,
}

impl<'a> State<'a> {
    fn of(document: &'a Document) -> Self {
        let share = |worker: &Worker| Share { targets: 0, outstanding: worker.outstanding };
        let shares =
            document.managers.iter().map(|manager| manager.workers.iter().map(share).collect()).collect();
        Self {
            document,
            spec_index: 0,
            shares,
            targets: 0,
            workers: 0,
            queue: 0,
            target_exponent: 1,
            worker_exponent: 1,
            queue_exponent: 1,
        }
    }

    /// `InitAccessSpecRun`: the sweep starts again for every specification.
    fn begin(&mut self, spec_index: usize) {
        let setup = &self.document.setup;
        self.spec_index = spec_index;
        self.target_exponent = 1;
        self.worker_exponent = 1;
        self.queue_exponent = 1;
        self.targets = setup.targets.start;
        self.workers = setup.workers.start;
        self.queue = setup.queue.start;
        self.clear();
    }

    fn next(&mut self) -> bool {
        match self.document.setup.test_type {
            TestType::Normal => self.normal(),
            TestType::CycleTargets => self.cycle_targets(),
            TestType::CycleWorkers => self.cycle_workers(),
            TestType::IncrementTargetsParallel => self.increment_targets(false),
            TestType::IncrementTargetsSerial => self.increment_targets(true),
            TestType::CycleWorkersAndTargets => self.cycle_workers_and_targets() > 0,
            TestType::CycleOutstandingIos => self.cycle_queue(),
            TestType::CycleOutstandingIosAndTargets => self.cycle_queue_and_targets(),
        }
    }

    fn test(&self) -> Test {
        Test { spec_index: self.spec_index, managers: self.shares.clone() }
    }

    fn has_idle(&self) -> bool {
        let workers = self.document.managers.iter().flat_map(|manager| &manager.workers);
        workers.into_iter().any(|worker| worker.specs.get(self.spec_index).is_some_and(|name| name == IDLE))
    }

    /// `ClearActiveTargets`.
    fn clear(&mut self) {
        for share in self.shares.iter_mut().flatten() {
            share.targets = 0;
        }
    }

    fn active(&self) -> usize {
        self.shares.iter().flatten().map(|share| share.targets).sum()
    }

    /// The workers that can run under the specification, with what they are told; `false` ends their manager's turn.
    fn each(&mut self, mut tell: impl FnMut(usize, &Worker, &mut Share) -> bool) {
        for (index, (manager, shares)) in self.document.managers.iter().zip(&mut self.shares).enumerate() {
            for (worker, share) in manager.workers.iter().zip(shares) {
                let can_run = has_spec(worker, self.spec_index) && !worker.targets.is_empty();
                if can_run && !tell(index, worker, share) {
                    break;
                }
            }
        }
    }

    fn normal(&mut self) -> bool {
        let before = self.active();
        self.each(|_, worker, share| {
            share.targets = worker.targets.len();
            true
        });
        self.active() > before
    }

    fn cycle_targets(&mut self) -> bool {
        let before = self.active();
        let count = self.targets;
        let mut now = 0;
        self.each(|_, worker, share| {
            now += activate(worker, share, count);
            true
        });
        self.more_targets();
        now > before
    }

    fn more_targets(&mut self) {
        let cycling = self.document.setup.targets;
        self.targets = stepped(cycling, cycling.step, self.targets, &mut self.target_exponent);
    }

    fn more_workers(&mut self) {
        let cycling = self.document.setup.workers;
        self.workers = stepped(cycling, cycling.step, self.workers, &mut self.worker_exponent);
    }

    fn cycle_workers(&mut self) -> bool {
        let before = self.active();
        let mut now = 0;
        let mut left = vec![self.workers; self.shares.len()];
        self.each(|manager, worker, share| {
            share.targets = worker.targets.len();
            now += share.targets;
            left[manager] -= 1;
            left[manager] != 0
        });
        self.more_workers();
        now > before
    }

    fn increment_targets(&mut self, over_all: bool) -> bool {
        let before = self.active();
        let mut now = 0;
        let mut left = vec![self.targets; self.shares.len()];
        self.each(|manager, worker, share| {
            let left = &mut left[if over_all { 0 } else { manager }];
            let set = activate(worker, share, *left);
            now += set;
            *left -= i64::try_from(set).unwrap_or(i64::MAX);
            true
        });
        self.more_targets();
        now > before
    }

    /// How many workers run in the next test; 0 when there is none.
    fn cycle_workers_and_targets(&mut self) -> usize {
        let first = self.workers_with_targets();
        if first.is_more || !first.is_active {
            return if first.is_active { first.workers } else { 0 };
        }
        // All targets of these workers ran: more workers, from the first targets on.
        self.clear();
        self.targets = self.document.setup.targets.start;
        self.target_exponent = 1;
        self.more_workers();
        let next = self.workers_with_targets();
        // Told by the number of workers, which is the same again when there are no more of them.
        if next.is_active && next.workers > first.workers { next.workers } else { 0 }
    }

    fn workers_with_targets(&mut self) -> Turn {
        let before = self.active();
        let (mut now, mut workers) = (0, 0);
        let count = self.targets;
        let mut left = vec![self.workers; self.shares.len()];
        self.each(|manager, worker, share| {
            now += activate(worker, share, count);
            workers += 1;
            left[manager] -= 1;
            left[manager] != 0
        });
        let is_more = now > before;
        if is_more {
            // Iometer looks at the step of the workers here where that of the targets is meant.
            let setup = &self.document.setup;
            self.targets =
                stepped(setup.targets, setup.workers.step, self.targets, &mut self.target_exponent);
        }
        Turn { is_active: now > 0, is_more, workers }
    }

    fn cycle_queue(&mut self) -> bool {
        let setup = &self.document.setup;
        if self.queue > setup.queue_end {
            return false;
        }
        let depth = self.queue;
        let (mut is_running, mut has_disks) = (false, false);
        self.each(|_, worker, share| {
            share.targets = worker.targets.len();
            is_running = true;
            if worker.kind == Kind::Disk {
                share.outstanding = depth;
                has_disks = true;
            }
            true
        });
        if has_disks {
            self.queue = stepped(setup.queue, setup.queue.step, self.queue, &mut self.queue_exponent);
        } else {
            // Network workers have no depth: they run once.
            self.queue = setup.queue_end.saturating_add(1);
        }
        is_running
    }

    fn cycle_queue_and_targets(&mut self) -> bool {
        if self.cycle_queue() {
            let saved = (self.targets, self.target_exponent);
            self.clear();
            self.cycle_targets();
            (self.targets, self.target_exponent) = saved;
            return true;
        }
        self.cycle_targets();
        let saved = (self.targets, self.target_exponent);
        if !self.cycle_targets() {
            return false;
        }
        (self.targets, self.target_exponent) = saved;
        self.queue_exponent = 1;
        self.queue = self.document.setup.queue.start;
        self.cycle_queue();
        self.clear();
        self.cycle_targets();
        (self.targets, self.target_exponent) = saved;
        true
    }
}

/// How a turn of workers with targets went.
struct Turn {
    is_active: bool,
    is_more: bool,
    workers: usize,
}

/// `Worker::SetActiveTargets`: the first `count` of a worker's targets; how many there are of them.
fn activate(worker: &Worker, share: &mut Share, count: i64) -> usize {
    share.targets = usize::try_from(count).unwrap_or(0).min(worker.targets.len());
    share.targets
}

/// The next value of a cycle. `single` is the step that, at 1, makes a factor a summand.
fn stepped(cycling: Cycling, single: i64, value: i64, exponent: &mut u32) -> i64 {
    if !cycling.is_exponential || single == 1 {
        return value.saturating_add(cycling.step);
    }
    let factor = cycling.step.saturating_pow(*exponent);
    *exponent += 1;
    cycling.start.saturating_mul(factor)
}
