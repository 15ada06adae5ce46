//! Seeds of workers out of the seed of a run: one value per (seed, stream, worker), well mixed and stable for ever.

use fathom_model::{Job, Seed};

/// One step of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64 bits.
pub(crate) const fn splitmix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The seed of the stream at the place `stream` of the job, which goes by its number. `entropy` is what `"fresh"` stands for in this run.
pub(crate) fn of_stream(job: &Job, stream: usize, entropy: u64) -> u64 {
    let own = job.streams[stream].options.seed.get();
    let seed = match own.unwrap_or_else(|| job.run.seed.get()) {
        Seed::Fixed(seed) => *seed,
        Seed::Fresh => entropy,
    };
    splitmix(splitmix(seed) ^ job.number_of(stream) as u64)
}

/// The job with seeds for a step of a search: a depth that is measured again shall not hit the same places again, which a
/// cache may hold by now.
pub(crate) fn for_step(job: &Job, position: usize, entropy: u64) -> Job {
    moved(job, |seed, _| match seed {
        Seed::Fixed(seed) => at(seed, position),
        Seed::Fresh => at(entropy, position),
    })
}

/// The job with seeds for one of several runs that are compared: of its own, so that sides are as independent as their analysis
/// takes them to be. A seed that the job names is that of its block instead: who names one wants the same places on all sides.
pub(crate) fn for_replicate(job: &Job, turn: Turn, entropy: u64) -> Job {
    let Turn { block, number } = turn;
    moved(job, |seed, is_named| match seed {
        Seed::Fixed(seed) if is_named => at(seed, block),
        Seed::Fixed(seed) => at(seed, number),
        Seed::Fresh => at(entropy, number),
    })
}

/// Which of several runs to be compared one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Index of the block, in which every side has a turn.
    pub block: usize,
    /// Index among the runs of all sides.
    pub number: usize,
}

/// A seed for a place in an order, within 63 bits: a native integer is signed.
const fn at(seed: u64, position: usize) -> Seed {
    Seed::Fixed(splitmix(seed ^ splitmix(position as u64)) >> 1)
}

/// The job with other seeds; `of` gets each, and whether the job names it.
fn moved(job: &Job, of: impl Fn(Seed, bool) -> Seed) -> Job {
    let mut job = job.clone();
    let (place, seed) = (job.run.seed.span(), *job.run.seed.get());
    job.run.seed.set(of(seed, place.is_some()), place.unwrap_or_default());
    for stream in &mut job.streams {
        if let Some(&own) = stream.options.seed.get() {
            let place = stream.options.seed.span().unwrap_or_default();
            stream.options.seed.set(of(own, true), place);
        }
    }
    job
}

/// The seed of one worker of a stream that has `of_stream`.
pub(crate) const fn of_worker(of_stream: u64, worker: u64) -> u64 {
    splitmix(of_stream ^ splitmix(worker.wrapping_add(1)))
}

/// A number for a name, from all 64 bits.
pub(crate) fn of_name(seed: u64, name: &str) -> u64 {
    name.bytes().fold(splitmix(seed), |hash, byte| splitmix(hash ^ u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the published generator started at 0.
    #[test]
    fn splitmix_gives_the_published_sequence() {
        assert_eq!(splitmix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }

    #[test]
    fn runs_that_are_compared_have_seeds_of_their_own_unless_the_job_names_one() {
        let of = |job: &Job, block: usize, number: usize| {
            *for_replicate(job, Turn { block, number }, 99).run.seed.get()
        };
        let (unnamed, mut named, mut fresh) = (Job::default(), Job::default(), Job::default());
        named.run.seed.set(Seed::Fixed(1), fathom_model::Span::default());
        fresh.run.seed.set(Seed::Fresh, fathom_model::Span::default());
        for job in [&unnamed, &fresh] {
            assert_ne!(of(job, 0, 0), of(job, 0, 1), "both sides of a block");
            assert_ne!(of(job, 0, 0), of(job, 1, 3), "a side in two blocks");
            assert_eq!(of(job, 0, 1), of(job, 0, 1), "and the same when it is done again");
        }
        assert_eq!(of(&named, 0, 0), of(&named, 0, 1));
        assert_ne!(of(&named, 0, 0), of(&named, 1, 2));
    }

    #[test]
    fn workers_differ() {
        let all: std::collections::BTreeSet<u64> = (0..1000).map(|worker| of_worker(7, worker)).collect();
        assert_eq!(all.len(), 1000);
    }
}
