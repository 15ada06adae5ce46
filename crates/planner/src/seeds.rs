//! Seeds of workers out of the seed of a run: one value per (seed, stream, worker), well mixed and stable for ever.

use fathom_model::{Job, Seed};

/// One step of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64 bits.
const fn splitmix(value: u64) -> u64 {
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
    let mut job = job.clone();
    let moved = |seed: Seed| match seed {
        Seed::Fixed(seed) => Seed::Fixed(splitmix(seed ^ splitmix(position as u64)) >> 1),
        Seed::Fresh => Seed::Fixed(splitmix(entropy ^ splitmix(position as u64)) >> 1),
    };
    let place = job.run.seed.span().unwrap_or_default();
    let of_run = moved(*job.run.seed.get());
    job.run.seed.set(of_run, place);
    for stream in &mut job.streams {
        if let Some(&own) = stream.options.seed.get() {
            let place = stream.options.seed.span().unwrap_or_default();
            stream.options.seed.set(moved(own), place);
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
    fn workers_differ() {
        let all: std::collections::BTreeSet<u64> = (0..1000).map(|worker| of_worker(7, worker)).collect();
        assert_eq!(all.len(), 1000);
    }
}
