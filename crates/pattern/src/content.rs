//! What writes carry: bytes that neither compress nor repeat unless a share of them is asked to. It knows nothing of
//! who writes them; a buffer and an offset are all it sees.

use crate::rng::{Lanes, Purpose, Rng, derive, finalised};
use fathom_schema::{Content, Fill, Freshness, Repeats};

/// Piece in which [`Freshness::Scrambled`] changes something: the smallest sector of any device.
const PIECE_BYTES: usize = 512;

/// What it changes there: address, number of the write, and a mix of both.
const STAMP_BYTES: usize = 24;

/// Fills the buffers of one worker. Give each worker a seed of its own, or they all write the same bytes.
#[derive(Debug, Clone)]
pub struct Filler {
    source: Source,
    renewal: Renewal,
    /// Largest buffer it was made for, in bytes.
    largest: usize,
    /// Buffers prepared so far.
    prepared: u64,
}

#[derive(Debug, Clone)]
enum Source {
    /// This image's first bytes; empty for all zero. With what stamps them, where something does.
    Fixed(Vec<u8>, Option<Box<Stamps>>),
    Random(Texture),
}

/// Stamps on what is otherwise the same in every write. Of its own, so that the loop of all others has none of it.
#[derive(Debug, Clone)]
struct Stamps {
    texture: Texture,
    /// The next write's.
    number: u64,
}

impl Stamps {
    #[cold]
    #[inline(never)]
    fn put(&mut self, buffer: &mut [u8], offset: u64) {
        self.texture.stamp(buffer, offset, self.number);
        self.number += 1;
    }
}

/// Random bytes of which a share is constant.
#[derive(Debug, Clone)]
pub(crate) struct Texture {
    seed: u64,
    /// What the constant share repeats, anew in each chunk; empty for zeroes.
    constant: Vec<u8>,
    /// Share of each chunk that is random, 0 to 1.
    random_share: f64,
    chunk_bytes: usize,
}

/// What happens before each write.
#[derive(Debug, Clone)]
enum Renewal {
    None,
    /// A stamp in every piece; with the number of the next write.
    Stamp(u64),
    /// New bytes; with the number of different contents so far, and a draw whether an earlier one comes again.
    Bytes {
        distinct: u64,
        repeat_share: f64,
        repeats: Repeats,
        draw: Rng,
    },
}

impl Filler {
    /// A filler for buffers of up to `largest` bytes. A dedupable share needs whole contents to come again, and so makes
    /// new ones for every write even where [`Freshness::Scrambled`] would do.
    pub fn new(content: &Content, seed: u64, largest: usize) -> Self {
        let Content { fill, freshness, compressible, compress_chunk_bytes: _, dedupable, repeats } = content;
        let texture = Texture::new(content, seed);
        let stamps = (*freshness == Freshness::Scrambled).then(|| {
            let texture = Texture { random_share: 1.0, chunk_bytes: usize::MAX, ..texture.clone() };
            Box::new(Stamps { texture, number: 0 })
        });
        let source = match fill {
            Fill::Zero => Source::Fixed(Vec::new(), stamps),
            Fill::Pattern(bytes) if compressible.value() == 0.0 => {
                assert!(!bytes.is_empty(), "a pattern of no bytes");
                Source::Fixed(bytes.iter().copied().cycle().take(largest).collect(), stamps)
            }
            Fill::Pattern(_) | Fill::Random => Source::Random(texture),
        };
        let renewal = match (&source, freshness) {
            (Source::Fixed(..), _) | (_, Freshness::Never) => Renewal::None,
            (_, Freshness::Scrambled) if dedupable.value() == 0.0 => Renewal::Stamp(0),
            (_, Freshness::Scrambled | Freshness::Every) => Renewal::Bytes {
                distinct: 0,
                repeat_share: dedupable.value(),
                repeats: *repeats,
                draw: Rng::new(derive(seed, Purpose::Choice, 0)),
            },
        };
        Self { source, renewal, largest, prepared: 0 }
    }

    /// Whether [`Filler::fill`] does nothing, so that callers may skip it.
    pub fn is_static(&self) -> bool {
        matches!(self.renewal, Renewal::None) && !matches!(self.source, Source::Fixed(_, Some(_)))
    }

    /// Whether [`Filler::fill`] overwrites all of the buffer, whatever it held before.
    pub fn overwrites(&self) -> bool {
        matches!(self.renewal, Renewal::Bytes { .. })
    }

    /// Gives a buffer its first content. Needed again, unless [`Filler::overwrites`], after a read has gone into it.
    pub fn prepare(&mut self, buffer: &mut [u8]) {
        assert!(buffer.len() <= self.largest, "a buffer of {} B; made for {} B", buffer.len(), self.largest);
        match &self.source {
            Source::Fixed(image, _) if image.is_empty() => buffer.fill(0),
            Source::Fixed(image, _) => buffer.copy_from_slice(&image[..buffer.len()]),
            Source::Random(texture) => texture.draw(Purpose::Buffer, self.prepared, buffer),
        }
        self.prepared += 1;
    }

    /// Makes a prepared buffer ready for the write of all of it to `offset`.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8], offset: u64) {
        debug_assert!(buffer.len() <= self.largest, "a buffer of {} B", buffer.len());
        let texture = match &mut self.source {
            Source::Random(texture) => texture,
            Source::Fixed(_, None) => return,
            Source::Fixed(_, Some(stamps)) => return stamps.put(buffer, offset),
        };
        match &mut self.renewal {
            Renewal::None => {}
            Renewal::Stamp(number) => {
                texture.stamp(buffer, offset, *number);
                *number += 1;
            }
            Renewal::Bytes { distinct, repeat_share, repeats, draw } => {
                let again = *repeat_share > 0.0 && draw.unit() <= *repeat_share;
                let number = match *repeats {
                    // The first of all contents, come up already or not: were they others, they would add to those that
                    // differ, and less would repeat than was asked for.
                    Repeats::Of(set) if again => draw.below(set),
                    Repeats::Any if again && *distinct > 0 => draw.below(*distinct),
                    Repeats::Last if again && *distinct > 0 => *distinct - 1,
                    Repeats::Of(_) | Repeats::Any | Repeats::Last => {
                        *distinct += 1;
                        *distinct - 1
                    }
                };
                texture.draw(Purpose::Content, number, buffer);
            }
        }
    }
}

impl Texture {
    /// What `content` asks to compress.
    pub(crate) fn new(content: &Content, seed: u64) -> Self {
        let Content { fill, compressible, compress_chunk_bytes, .. } = content;
        Self {
            seed,
            constant: match fill {
                Fill::Pattern(bytes) => bytes.clone(),
                Fill::Zero | Fill::Random => Vec::new(),
            },
            random_share: compressible.rest().value(),
            // Without a constant share there is nothing that chunks would bound.
            chunk_bytes: if compressible.value() > 0.0 {
                to_usize(*compress_chunk_bytes)
            } else {
                usize::MAX
            },
        }
    }

    /// Overwrites `buffer` with content `number` of a purpose; equal numbers give equal bytes.
    fn draw(&self, purpose: Purpose, number: u64, buffer: &mut [u8]) {
        self.fill(derive(self.seed, purpose, number), buffer);
    }

    /// Overwrites `buffer` with what a seed of its own gives.
    pub(crate) fn fill(&self, seed: u64, buffer: &mut [u8]) {
        let mut lanes = Lanes::new(seed);
        for chunk in buffer.chunks_mut(self.chunk_bytes) {
            let (random, constant) = chunk.split_at_mut(self.random_bytes(chunk.len()));
            lanes.fill(random);
            repeat(&self.constant, constant);
        }
    }

    /// Marks every piece with the address it goes to and the number of the write. Where the constant part of a chunk
    /// begins, stamps end: they would spoil what is asked to compress.
    fn stamp(&self, buffer: &mut [u8], offset: u64, number: u64) {
        let total = buffer.len();
        for (piece, at) in buffer.chunks_mut(PIECE_BYTES).zip((0..).step_by(PIECE_BYTES)) {
            let inside = at % self.chunk_bytes;
            let chunk = self.chunk_bytes.min(total - (at - inside));
            let room = self.random_bytes(chunk).saturating_sub(inside).min(STAMP_BYTES).min(piece.len());
            let address = offset.wrapping_add(at as u64);
            let mixed = finalised(self.seed ^ address ^ number.rotate_left(32));
            let mut stamp = [0; STAMP_BYTES];
            for (bytes, word) in stamp.chunks_exact_mut(8).zip([mixed, address, number]) {
                bytes.copy_from_slice(&word.to_le_bytes());
            }
            piece[..room].copy_from_slice(&stamp[..room]);
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    fn random_bytes(&self, chunk: usize) -> usize {
        if self.random_share >= 1.0 { chunk } else { (chunk as f64 * self.random_share).round() as usize }
    }
}

/// Fills `out` with `pattern` from its first byte on, over and over. Each copy doubles what is there: a pattern of one byte
/// costs hardly more than zeroes.
fn repeat(pattern: &[u8], out: &mut [u8]) {
    if pattern.is_empty() {
        out.fill(0);
        return;
    }
    let mut done = pattern.len().min(out.len());
    out[..done].copy_from_slice(&pattern[..done]);
    while done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
}

fn to_usize(bytes: u32) -> usize {
    usize::try_from(bytes.max(1)).expect("addresses have at least 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_units::Ratio;
    use std::collections::{HashMap, HashSet};

    const SEED: u64 = 5;

    fn content(fill: Fill, freshness: Freshness) -> Content {
        Content {
            fill,
            freshness,
            compressible: Ratio::ZERO,
            compress_chunk_bytes: 4096,
            dedupable: Ratio::ZERO,
            repeats: Repeats::Any,
        }
    }

    /// The contents of `count` writes of `size` bytes to consecutive addresses out of one buffer.
    fn writes(content: &Content, count: usize, size: usize) -> Vec<Vec<u8>> {
        let mut filler = Filler::new(content, SEED, size);
        let mut buffer = vec![0xaa; size];
        filler.prepare(&mut buffer);
        (0..count)
            .map(|number| {
                filler.fill(&mut buffer, (number * size) as u64);
                buffer.clone()
            })
            .collect()
    }

    #[test]
    fn fixed_contents_are_what_they_say() {
        for freshness in [Freshness::Every, Freshness::Never] {
            let zero = writes(&content(Fill::Zero, freshness), 2, 1000);
            assert!(zero.concat().iter().all(|&byte| byte == 0));
            let pattern = writes(&content(Fill::Pattern(vec![1, 2, 3]), freshness), 2, 1000);
            assert!(pattern.iter().all(|bytes| (0..1000).all(|at| usize::from(bytes[at]) == at % 3 + 1)));
        }
    }

    #[test]
    fn random_contents_are_new_for_every_write_and_spread_over_all_bytes() {
        let all = writes(&content(Fill::Random, Freshness::Every), 64, 4096).concat();
        let pieces: HashSet<&[u8]> = all.chunks(16).collect();
        assert_eq!(pieces.len(), all.len() / 16);
        let mut counts = [0_u32; 256];
        for &byte in &all {
            counts[usize::from(byte)] += 1;
        }
        // 1024 of each; five standard deviations of chi-square with 255 degrees of freedom.
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 1024.0).powi(2) / 1024.0).sum();
        assert!(chi2 < 255.0 + 5.0 * 510.0_f64.sqrt(), "seed {SEED}: chi2 {chi2}");
    }

    #[test]
    fn scrambled_changes_a_little_of_every_piece_and_never_nothing() {
        let all = writes(&content(Fill::Random, Freshness::Scrambled), 50, 4096 + 100);
        for pair in all.windows(2) {
            for (before, after) in pair[0].chunks(512).zip(pair[1].chunks(512)) {
                let changed = before.iter().zip(after).filter(|(a, b)| a != b).count();
                assert!((1..=24).contains(&changed), "{changed}");
            }
        }
        let pieces: HashSet<&[u8]> = all.iter().flat_map(|bytes| bytes.chunks(512)).collect();
        assert_eq!(pieces.len(), 50 * 9);
        let never = writes(&content(Fill::Random, Freshness::Never), 3, 4096);
        assert!(never[0] == never[1] && never[1] == never[2]);
    }

    #[test]
    fn scrambled_zeroes_and_patterns_differ_from_themselves_by_the_stamps_alone() {
        for (fill, image) in [(Fill::Zero, vec![0; 4096]), (Fill::Pattern(vec![7, 9]), [7, 9].repeat(2048))] {
            for bytes in writes(&content(fill.clone(), Freshness::Scrambled), 20, 4096) {
                for (piece, plain) in bytes.chunks(512).zip(image.chunks(512)) {
                    assert_ne!(piece[..STAMP_BYTES], plain[..STAMP_BYTES]);
                    assert_eq!(piece[STAMP_BYTES..], plain[STAMP_BYTES..]);
                }
            }
            for freshness in [Freshness::Every, Freshness::Never] {
                for bytes in writes(&content(fill.clone(), freshness), 3, 4096) {
                    assert_eq!(bytes, image);
                }
            }
        }
    }

    /// Asserts the share of zero bytes in each whole chunk.
    fn check_compressible(freshness: Freshness, percent: f64, chunk: u32, size: usize) {
        let content = Content {
            compressible: Ratio::percent(percent),
            compress_chunk_bytes: chunk,
            ..content(Fill::Random, freshness)
        };
        for bytes in writes(&content, 4, size) {
            for piece in bytes.chunks(to_usize(chunk)) {
                let tail = piece.iter().rev().take_while(|&&byte| byte == 0).count();
                let expect = piece.len() as f64 * percent / 100.0;
                // Up to two random bytes before the tail may be zero by chance; rounding gives one more.
                let case = format!("{freshness:?} {percent}% of {chunk} in {size}, seed {SEED}");
                assert!((tail as f64 - expect).abs() <= 3.0, "{case}: {tail} of {}", piece.len());
            }
        }
    }

    #[test]
    fn the_compressible_share_is_constant_in_every_chunk() {
        for freshness in [Freshness::Every, Freshness::Scrambled, Freshness::Never] {
            for percent in [0.0, 25.0, 50.0, 99.9, 100.0] {
                for (chunk, size) in [(4096, 16_384), (512, 4096), (1000, 4500), (65_536, 4096)] {
                    check_compressible(freshness, percent, chunk, size);
                }
            }
        }
    }

    #[test]
    fn the_constant_share_is_the_pattern_anew_in_every_chunk() {
        for freshness in [Freshness::Every, Freshness::Scrambled, Freshness::Never] {
            for (percent, chunk) in [(50_usize, 1000), (75, 512), (100, 4096), (99, 1 << 20)] {
                let content = Content {
                    compressible: Ratio::percent(percent as f64),
                    compress_chunk_bytes: chunk,
                    ..content(Fill::Pattern(vec![0x41, 0x42, 0x43]), freshness)
                };
                for bytes in writes(&content, 3, 4500) {
                    for piece in bytes.chunks(to_usize(chunk)) {
                        let random = piece.len() - (piece.len() * percent + 50) / 100;
                        let right = [0x41, 0x42, 0x43].iter().cycle();
                        let case = format!("{freshness:?} {percent}% of {chunk}, seed {SEED}");
                        assert!(
                            piece[random..].iter().zip(right).all(|(byte, right)| byte == right),
                            "{case}"
                        );
                        let kept =
                            piece[..random].iter().filter(|&&byte| (0x41..=0x43).contains(&byte)).count();
                        assert!(kept <= random / 8 + 4, "{case}: {kept} of {random} are no random bytes");
                    }
                }
            }
        }
    }

    #[test]
    fn the_dedupable_share_repeats_earlier_contents() {
        for (percent, freshness) in [
            (0.0, Freshness::Every),
            (30.0, Freshness::Every),
            (80.0, Freshness::Scrambled),
            (100.0, Freshness::Every),
        ] {
            let content = Content { dedupable: Ratio::percent(percent), ..content(Fill::Random, freshness) };
            let all = writes(&content, 5000, 64);
            let distinct = all.iter().collect::<HashSet<_>>().len() as f64;
            let expect = (5000.0 * (1.0 - percent / 100.0)).max(1.0);
            // Binomial: at most sqrt(5000)/2 = 35.
            assert!((distinct - expect).abs() < 5.0 * 35.0, "{percent}%, seed {SEED}: {distinct}");
        }
    }

    #[test]
    fn a_working_set_takes_nothing_from_the_share_that_repeats() {
        for (percent, set) in [(50.0, 1500), (80.0, 500), (80.0, 250), (50.0, 1)] {
            let content = Content {
                dedupable: Ratio::percent(percent),
                repeats: Repeats::Of(set),
                ..content(Fill::Random, Freshness::Every)
            };
            let all = writes(&content, 5000, 64);
            let mut counts: HashMap<&[u8], u64> = HashMap::new();
            for bytes in &all {
                *counts.entry(bytes).or_default() += 1;
            }
            let expect = 5000.0 * (1.0 - percent / 100.0);
            let case = format!("{percent}% of {set}, seed {SEED}: {}", counts.len());
            // What is left of the set at the end has not come up by itself; binomial beside that: at most sqrt(5000)/2 = 35.
            assert!((counts.len() as f64 - expect).abs() < 5.0 * 35.0, "{case}");
            let repeated = counts.values().filter(|&&count| count > 1).count() as u64;
            assert!((set * 3 / 4..=set).contains(&repeated), "{case}, of which {repeated} come again");
        }
    }

    #[test]
    fn fillers_know_what_their_buffers_need() {
        for (fill, freshness, is_static, overwrites) in [
            (Fill::Zero, Freshness::Every, true, false),
            (Fill::Random, Freshness::Never, true, false),
            (Fill::Random, Freshness::Scrambled, false, false),
            (Fill::Random, Freshness::Every, false, true),
        ] {
            let filler = Filler::new(&content(fill, freshness), SEED, 512);
            assert_eq!((filler.is_static(), filler.overwrites()), (is_static, overwrites));
        }
    }

    #[test]
    fn equal_seeds_give_equal_bytes() {
        let bytes = |seed| {
            let mut buffer = [0; 100];
            Filler::new(&content(Fill::Random, Freshness::Every), seed, 100).fill(&mut buffer, 0);
            buffer
        };
        assert_eq!(bytes(1), bytes(1));
        assert_ne!(bytes(1), bytes(2));
    }
}
