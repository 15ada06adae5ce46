//! How many operations go down, and how many completions are taken up, at a time. Knows what submissions and completions took;
//! not what they are.

use fathom_units::Nanos;

/// How many operations go down in one system call.
///
/// More in one call cost less each, but none of them reaches the device before all were taken. Where taking one is real
/// work (a virtual disk's doorbell: 4 µs), a batch of 16 adds 70 µs to every latency and the queue at the device is never
/// as deep as asked: measured on virtio, depth 32, 4 KiB random reads: 68 k/s in whole batches, 80 k/s one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Batch {
    most: usize,
    /// As many as that go down whatever it takes, and all that there are come up: nothing is learnt then.
    is_exact: bool,
    /// Completions that may come up at once however many go down.
    up: usize,
    /// How long a submission may take, nanoseconds: by whether a device is waited for.
    longest_ns: u64,
    /// The same while one is.
    device_longest_ns: u64,
    /// Mean time that one operation adds to a submission, nanoseconds, weighted to the recent ones.
    each_ns: u64,
    /// Times in a row that completions did not have to be waited for.
    quick: u8,
    /// Operations that the device is known to have.
    at_device: usize,
    /// The last time, all completions there were have been taken up.
    is_drained: bool,
    /// The next submission is a small one, to give the device something to do.
    starts: bool,
    /// As many as go down first to a device that has nothing to do.
    first: usize,
}

/// A submission should not hold its operations up for longer than this: 32 cached 512-byte reads still go in one call, where each
/// waits for memory for 2 µs (measured where it takes 1.5 µs: 2 to 10 % more of them than with 24 µs, which are 15 at a time).
const SUBMISSION_NS_MAX: u64 = 64_000;
/// The same while a device is waited for, which is the longer idle the more go down at once. Measured on virtio, 4 KiB random
/// reads, depth 32, medians of six to twelve turns: of both asynchronous engines, 27 µs with four that go first take 4 to 6 %
/// less processor time per operation than 18 µs with one, at the same rate, and depths 16 to 64 are held at 0.999 (libaio 0.994
/// to 0.999 before); 36 µs with six take no less, and libaio holds 0.975 of depth 16.
const DEVICE_SUBMISSION_NS_MAX: u64 = 27_000;
/// The same of queues so short that what waits to go down is a share of them: libaio at depth 4 holds 3.97 with 12 µs, 3.78 with
/// 18 µs.
const SHORT_QUEUE_SUBMISSION_NS_MAX: u64 = 12_000;
/// From so many operations on, a queue is not short: the fewest that 27 µs were seen to hold as asked (0.999 of 16).
/// In shorter ones no operation goes first: where waking the device takes long, the others are held back as long (virtio, 4 KiB
/// random reads of a device that answers all at once: libaio at depth 3 held 2.8 and at 4 3.5, with all of them at once 3.00 and
/// 3.99, at the same rate and processor time).
const LONG_QUEUE_MIN: usize = 16;
/// How many go first to a device that has nothing to do, of a long queue: with more than two in a call, libaio has the kernel
/// wake the device once for all of them (`AIO_PLUG_THRESHOLD`).
const FIRST: usize = 4;
/// Who waits longer for completions waits for a device: those of cached reads are there when the submission returns.
const WAIT_MIN: Nanos = Nanos::micros(5);
/// Who has not waited so many times in a row is not waiting for a device, or has no time to.
const QUICK_MAX: u8 = 16;

impl Batch {
    /// `most` operations go down at a time, of the `depth` that are in flight.
    pub(crate) fn new(most: u32, is_exact: bool, depth: u32) -> Self {
        let is_long = depth as usize >= LONG_QUEUE_MIN;
        Self {
            most: most.max(1) as usize,
            is_exact,
            up: if is_exact { usize::MAX } else { 0 },
            longest_ns: SUBMISSION_NS_MAX,
            device_longest_ns: if is_long { DEVICE_SUBMISSION_NS_MAX } else { SHORT_QUEUE_SUBMISSION_NS_MAX },
            each_ns: 0,
            quick: QUICK_MAX,
            at_device: 0,
            is_drained: false,
            starts: false,
            // What is held back meanwhile is a share of a short queue that matters.
            first: if is_long { FIRST } else { usize::MAX },
        }
    }

    #[inline]
    fn operations(self) -> usize {
        let fitting = self.longest_ns / self.each_ns.max(1);
        usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, self.most)
    }

    #[inline]
    fn waits(self) -> bool {
        self.quick < QUICK_MAX
    }

    /// The most that go down at a time where they come due by themselves: as many as were asked for, or all.
    pub(crate) fn most_due(self) -> usize {
        if self.is_exact { self.most } else { usize::MAX }
    }

    /// How many go down next: a device that has nothing to do gets a few of a long queue first, then three times as many as it has, so
    /// that it works while the others are taken.
    #[inline]
    pub(crate) fn next(&mut self) -> usize {
        let most = self.operations();
        let few = (3 * self.at_device).max(self.first);
        self.starts = self.waits() && few < most;
        if self.starts { few } else { most }
    }

    /// How many completions are taken up next: as many as can go down again. After all that were there, the next one
    /// comes from a device that may have nothing left.
    #[inline]
    pub(crate) fn take_up(self) -> usize {
        let most = self.operations();
        match self.waits() {
            true if self.is_drained => 1,
            true => most.min((3 * self.at_device).max(1)),
            false => most.max(self.up),
        }
    }

    /// After completions were taken up: how many operations the device has left, where that is known, and how long they were
    /// waited for.
    #[inline]
    pub(crate) fn learn_completions(&mut self, left: Option<usize>, waited: Option<Nanos>) {
        if self.is_exact {
            return;
        }
        self.is_drained = left.is_some();
        if let Some(waited) = waited {
            let is_long = waited >= WAIT_MIN;
            self.quick = if is_long { 0 } else { self.quick.saturating_add(1).min(QUICK_MAX) };
            self.at_device = if is_long { 0 } else { self.at_device };
            self.longest_ns = if self.waits() { self.device_longest_ns } else { SUBMISSION_NS_MAX };
        }
        self.at_device = left.unwrap_or(self.at_device);
    }

    #[inline]
    pub(crate) fn learn(&mut self, took_ns: u64, operations: usize) {
        if self.is_exact {
            return;
        }
        self.at_device += operations;
        // What waking a device takes is shared by few.
        if !self.starts {
            self.each_ns = (self.each_ns * 7 + took_ns / operations.max(1) as u64) / 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Submissions of a queue of 32 from empty, each operation taking `each` to hand down.
    fn submissions(batch: &mut Batch, each: Nanos) -> Vec<usize> {
        let (mut free, mut went) = (32, Vec::new());
        while free > 0 {
            let count = batch.next().min(free);
            batch.learn(each.0 * count as u64, count);
            free -= count;
            went.push(count);
        }
        went
    }

    #[test]
    fn an_idle_device_gets_a_few_first_and_what_is_in_memory_goes_down_at_once() {
        let each = Nanos(1_500);
        let mut batch = Batch::new(32, false, 32);
        assert_eq!(submissions(&mut batch, Nanos(500)), [32]);
        for _ in 0..50 {
            // Completions were there without waiting: nothing is gained by going in parts.
            batch.learn_completions(None, Some(Nanos(200)));
            submissions(&mut batch, each);
        }
        assert_eq!((submissions(&mut batch, each), batch.take_up()), (vec![32], 32));
        for _ in 0..50 {
            submissions(&mut batch, Nanos(4_000));
        }
        assert_eq!((submissions(&mut batch, Nanos(4_000)), batch.take_up()), (vec![16, 16], 16));
        for _ in 0..50 {
            submissions(&mut batch, each);
        }
        batch.learn_completions(None, Some(Nanos::micros(300)));
        assert_eq!(submissions(&mut batch, each), [4, 12, 16]);
        // What is left at the device keeps it busy meanwhile.
        batch.learn_completions(Some(16), Some(Nanos::micros(300)));
        assert_eq!((batch.next(), batch.take_up()), (18, 1));
        // One that takes long to be handed to gets one at a time.
        for _ in 0..50 {
            batch.learn_completions(Some(16), Some(Nanos::micros(300)));
            submissions(&mut batch, Nanos::micros(30));
        }
        assert_eq!(batch.next(), 1);
    }

    #[test]
    fn a_short_queue_is_held_up_for_less() {
        let next = |depth| {
            let mut batch = Batch::new(depth, false, depth);
            for _ in 0..50 {
                batch.learn_completions(Some(8), Some(Nanos::micros(300)));
                batch.learn(12_000, 2);
            }
            batch.next()
        };
        assert_eq!((next(32), next(4)), (4, 2));
    }

    #[test]
    fn a_short_queue_goes_down_at_once() {
        for depth in [2, 3, 4, 8, 15] {
            let mut batch = Batch::new(depth, false, depth);
            for _ in 0..3 {
                batch.learn_completions(Some(0), Some(Nanos::micros(80)));
                assert_eq!(batch.next(), depth as usize);
                // Waking the device takes the same for one and for many.
                batch.learn(6_000, depth as usize);
            }
        }
    }

    #[test]
    fn no_more_are_taken_up_than_go_down_again() {
        let mut batch = Batch::new(16, false, 32);
        let (mut went, mut left) = (Vec::new(), 32);
        batch.learn(48_000, 32);
        batch.learn_completions(Some(0), Some(Nanos::micros(300)));
        while left > 0 {
            let found = batch.take_up().min(left);
            let rest = (found == left).then_some(32 - found);
            left -= found;
            // The first of them was waited for.
            let waited = if went.is_empty() { Nanos::micros(300) } else { Nanos(200) };
            batch.learn_completions(rest, Some(waited));
            assert!(batch.next() >= found, "{found} have to go in parts");
            batch.learn(1500 * found as u64, found);
            went.push(found);
        }
        assert_eq!(went, [1, 3, 12, 16]);
    }

    #[test]
    fn batches_that_were_asked_for_are_whole() {
        let mut batch = Batch::new(8, true, 32);
        for _ in 0..50 {
            batch.learn_completions(Some(0), Some(Nanos::micros(300)));
            assert_eq!(submissions(&mut batch, Nanos::micros(30)), [8; 4]);
        }
        assert_eq!(batch.take_up(), usize::MAX);
    }
}
