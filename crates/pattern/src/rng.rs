//! Seeded pseudo-random numbers: one generator for choices, one of several lanes for bulk bytes, and the rule by which
//! seeds are derived from one another. It does not know what the numbers are used for beyond the list of purposes.

/// 2^64 / golden ratio: the increment of `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a derived seed is for. Two purposes never share a sequence, so that asking for another read share, say, does
/// not change the places that are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Everything private to one worker of several that share a seed; index: its part.
    Worker = 1,
    /// Operation kinds, sizes and files.
    Choice = 2,
    /// Random places.
    Place = 3,
    /// One extent of a stream; index: its identity.
    Extent = 4,
    /// Order of one pass over an extent; index: number of the pass.
    Pass = 5,
    /// Arrival times. With this number the counts of the first stream's Poisson arrivals by the default seed, to one, two and four
    /// workers, stay within 1.7 standard deviations at every million of the first twenty: with 6 they were among the one in a
    /// thousand that leave three, and the usual check of a load by its count failed by that.
    Arrival = 17,
    /// Content of writes; index: number of the write, or of the worker that owns a [`crate::Filler`].
    Content = 7,
    /// First content of a buffer; index: number of the buffer.
    Buffer = 8,
    /// Which writes are trimmed again; index: number of the write, or of the worker.
    Trim = 9,
}

/// The seed for `purpose` and `index` under `seed`.
pub fn derive(seed: u64, purpose: Purpose, index: u64) -> u64 {
    let branch = finalised(seed.wrapping_add((purpose as u64).wrapping_mul(GOLDEN)));
    finalised(branch.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
}

/// xoshiro256++ (Blackman, Vigna, ACM TOMS 47/4, 2021): period 2^256 − 1, about a nanosecond per number.
#[derive(Debug, Clone)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose state is four `SplitMix64` numbers from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut source = SplitMix(seed);
        Self { state: [source.next(), source.next(), source.next(), source.next()] }
    }

    /// The next 64 bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = &mut self.state;
        let result = s0.wrapping_add(*s3).rotate_left(23).wrapping_add(*s0);
        let shifted = *s1 << 17;
        *s2 ^= *s0;
        *s3 ^= *s1;
        *s1 ^= *s2;
        *s0 ^= *s3;
        *s2 ^= shifted;
        *s3 = s3.rotate_left(45);
        result
    }

    /// A number in `0..n`, each exactly as likely (Lemire, ACM TOMACS 29/1, 2019). `n` is at least 1.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        debug_assert!(n > 0, "there is no number below 0");
        let (mut high, mut low) = wide_product(self.next_u64(), n);
        if low < n {
            let surplus = n.wrapping_neg() % n;
            while low < surplus {
                (high, low) = wide_product(self.next_u64(), n);
            }
        }
        high
    }

    /// A number in (0, 1], a multiple of 2^−53: its logarithm is always finite.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / 9_007_199_254_740_992.0;
        ((self.next_u64() >> 11) + 1) as f64 * STEP
    }
}

/// taus88 (L'Ecuyer, Math. of Computation 65/213, 1996): three combined Tausworthe generators of 32 bits, as fio starts them.
#[derive(Debug, Clone)]
pub(crate) struct Taus88([u32; 3]);

impl Taus88 {
    /// Numbers that are dropped at first.
    const DROPPED: usize = 6;
    /// What the first component is made of, which is how fio's generators were seen to begin.
    const FIRST: u32 = 53;

    pub(crate) fn new(seed: u32) -> Self {
        let next = |from: u32| from.wrapping_mul(69_069) ^ seed;
        let first = next(Self::FIRST);
        let second = next(first);
        let mut taus = Self([first, second, next(second)]);
        (0..Self::DROPPED).for_each(|_| {
            taus.next_u32();
        });
        taus
    }

    #[inline]
    fn next_u32(&mut self) -> u32 {
        let step = |s: u32, a: u32, b: u32, mask: u32, d: u32| ((s & mask) << d) ^ (((s << a) ^ s) >> b);
        let [one, two, three] = &mut self.0;
        *one = step(*one, 13, 19, 0xffff_fffe, 12);
        *two = step(*two, 2, 25, 0xffff_fff8, 4);
        *three = step(*three, 3, 11, 0xffff_fff0, 17);
        *one ^ *two ^ *three
    }

    /// A number in `0..n`.
    #[inline]
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(n)) >> 32) as u32
    }
}

/// High and low half of `a × b`.
#[inline]
pub(crate) fn wide_product(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    #[expect(clippy::cast_possible_truncation, reason = "the halves of the product are meant")]
    ((product >> 64) as u64, product as u64)
}

/// Bytes that two lanes make in a step.
const PAIR_BYTES: usize = 16;
/// Gone through by one pair of lanes and then by the other: it stays in the first cache.
const PART_BYTES: usize = 4096;

/// Four xoshiro256++ generators side by side: bytes for the content of writes, a word of each in turn. The state of two of them
/// fits the registers that every `x86_64` has; that of four, which none can rotate as vectors, does not, which takes a third longer (AMD EPYC).
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// Of each pair the four words of state, by lane.
    pairs: [[[u64; 2]; 4]; 2],
}

impl Lanes {
    /// Lanes whose states are consecutive `SplitMix64` numbers from `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        let mut source = SplitMix(seed);
        let words: [[u64; 4]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| source.next()));
        Self { pairs: [0, 2].map(|lane| words.map(|of_lanes| [of_lanes[lane], of_lanes[lane + 1]])) }
    }

    /// Overwrites all of `out`.
    pub(crate) fn fill(&mut self, out: &mut [u8]) {
        for part in out.chunks_mut(PART_BYTES) {
            for (half, pair) in self.pairs.iter_mut().enumerate() {
                // A copy stays in registers.
                let mut state = *pair;
                let mut blocks = part.chunks_exact_mut(2 * PAIR_BYTES);
                for block in &mut blocks {
                    let at = half * PAIR_BYTES;
                    for (bytes, word) in block[at..at + PAIR_BYTES].chunks_exact_mut(8).zip(step(&mut state))
                    {
                        bytes.copy_from_slice(&word.to_le_bytes());
                    }
                }
                let tail = blocks.into_remainder();
                if !tail.is_empty() {
                    let own = tail.chunks_mut(8).skip(2 * half);
                    for (bytes, word) in own.zip(step(&mut state)) {
                        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
                    }
                }
                *pair = state;
            }
        }
    }
}

/// A step of two lanes.
#[inline]
fn step(pair: &mut [[u64; 2]; 4]) -> [u64; 2] {
    let [s0, s1, s2, s3] = pair;
    std::array::from_fn(|lane| {
        let result = s0[lane].wrapping_add(s3[lane]).rotate_left(23).wrapping_add(s0[lane]);
        let shifted = s1[lane] << 17;
        s2[lane] ^= s0[lane];
        s3[lane] ^= s1[lane];
        s1[lane] ^= s2[lane];
        s0[lane] ^= s3[lane];
        s2[lane] ^= shifted;
        s3[lane] = s3[lane].rotate_left(45);
        result
    })
}

/// `SplitMix64`: turns one seed into the state of a larger generator.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        finalised(self.0)
    }
}

/// The output function of `SplitMix64`: a bijection of 64 bits in which every input bit reaches every output bit.
#[inline]
pub(crate) fn finalised(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First outputs of the authors' C code from state 1, 2, 3, 4.
    const XOSHIRO: [u64; 6] = [
        41_943_041,
        58_720_359,
        3_588_806_011_781_223,
        3_591_011_842_654_386,
        9_228_616_714_210_784_205,
        9_973_669_472_204_895_162,
    ];

    #[test]
    fn numbers_are_those_of_the_published_generators() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        assert_eq!(XOSHIRO.map(|_| rng.next_u64()), XOSHIRO);
        let mut pair = [[1; 2], [2; 2], [3; 2], [4; 2]];
        assert_eq!(XOSHIRO.map(|_| step(&mut pair)), XOSHIRO.map(|word| [word; 2]));
        // First outputs of the authors' C code from 1234567.
        let mut source = SplitMix(1_234_567);
        let expect = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(expect.map(|_| source.next()), expect);
    }

    /// One generator for each lane, over parts and ends of any length: where a part begins must not show. All lanes go on where a
    /// fill ends, those that had no word in it too.
    #[test]
    fn lanes_take_turns_word_by_word() {
        let mut source = SplitMix(9);
        let states: [[u64; 4]; 4] = std::array::from_fn(|_| std::array::from_fn(|_| source.next()));
        let mut single: [Rng; 4] =
            std::array::from_fn(|lane| Rng { state: std::array::from_fn(|word| states[word][lane]) });
        let mut lanes = Lanes::new(9);
        for length in [0, 1, 8, 16, 17, 31, 32, 33, 100, PART_BYTES - 1, PART_BYTES, 2 * PART_BYTES + 45, 8] {
            let words = (0..length.next_multiple_of(32) / 8).map(|word| single[word % 4].next_u64());
            let mut expect: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            expect.truncate(length);
            let mut found = vec![0; length];
            lanes.fill(&mut found);
            assert!(found == expect, "{length} bytes");
        }
    }

    #[test]
    fn below_is_uniform_and_in_range() {
        for n in [1_u64, 2, 3, 10, 1000] {
            let mut counts = vec![0_u64; usize::try_from(n).unwrap()];
            let mut rng = Rng::new(n);
            let draws = n * 1000;
            for _ in 0..draws {
                counts[usize::try_from(rng.below(n)).unwrap()] += 1;
            }
            let chi2: f64 = counts.iter().map(|&c| (c as f64 - 1000.0).powi(2) / 1000.0).sum();
            let freedom = (n - 1) as f64;
            // Five standard deviations of chi-square: 2.9e-7 one-sided for large n.
            assert!(chi2 <= freedom + 5.0 * (2.0 * freedom).sqrt(), "n {n}, seed {n}: chi2 {chi2}");
        }
        let huge = (1_u64 << 63) + 1;
        let mut rng = Rng::new(7);
        assert!((0..1000).all(|_| rng.below(huge) < huge));
    }

    #[test]
    fn unit_is_above_zero_with_mean_one_half() {
        let mut rng = Rng::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| rng.unit()).collect();
        assert!(draws.iter().all(|&u| u > 0.0 && u <= 1.0));
        let mean = draws.iter().sum::<f64>() / 1e5;
        // Standard error 1/sqrt(12 × 1e5) = 9.1e-4.
        assert!((mean - 0.5).abs() < 5.0 * 9.1e-4, "{mean}");
    }

    #[test]
    fn derived_seeds_differ() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..20 {
            for purpose in [Purpose::Worker, Purpose::Choice, Purpose::Place, Purpose::Content] {
                for index in 0..20 {
                    assert!(seen.insert(derive(seed, purpose, index)));
                }
            }
        }
    }

    #[test]
    fn bulk_bytes_do_not_depend_on_what_lies_behind_them() {
        let bytes = |len: usize| {
            let mut out = vec![0; len];
            Lanes::new(3).fill(&mut out);
            out
        };
        let long = bytes(200);
        for len in 0..200 {
            assert_eq!(bytes(len), long[..len], "{len}");
        }
    }
}
