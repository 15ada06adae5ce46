//! Seeds: fio's own, and what its jobs make of them.

/// fio's seed when none is given.
pub(super) const SEED: u64 = 0x89;

/// Which of the seeds that fio makes of a job's own is that of the draws of reads and writes.
const PLACE: u64 = 4;

/// The seed of the draws of reads and writes of fio's job of this number, as was seen by what its jobs do.
pub(super) fn kind_seed(seed: u64, thread_number: u64) -> u32 {
    const FACTOR: u64 = 0x9e37_0001;
    let mut seed = seed;
    for _ in 0..4 + PLACE {
        seed = seed.wrapping_mul(FACTOR);
    }
    #[expect(clippy::cast_possible_truncation, reason = "fio's generator takes the low half")]
    let low = seed.wrapping_mul(thread_number).wrapping_add(PLACE) as u32;
    low
}

/// The same with `allrandrepeat`, of which the job's own seed is no part.
pub(super) fn repeated_kind_seed(thread_number: u64) -> u32 {
    const SEED: u64 = 0xb189_9bed;
    #[expect(clippy::cast_possible_truncation, reason = "fio's generator takes the low half")]
    let low = SEED.wrapping_mul(thread_number).wrapping_add(PLACE) as u32;
    low
}

/// A number in which every bit depends on every bit of `seed` (the finaliser of `SplitMix64`; Steele, Lea and Flood 2014).
pub(super) fn scrambled(seed: u64) -> u64 {
    let seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let seed = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let seed = (seed ^ seed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    seed ^ seed >> 31
}
