//! How many blocks of a target are all zero: what was never written, or was deallocated, reads as zeros on most devices,
//! which need not look for it on their medium.
//!
//! Opens read-only and reads past the page cache, which is left as it is: where that is not possible nothing is read. Knows
//! neither what a run has read nor what zeros come to.

use super::content::Reader;
use fathom_io::clock::monotonic;
use fathom_pattern::rng::Rng;
use fathom_schema::ZeroBlocks;
use fathom_units::Nanos;
use std::path::Path;

/// Blocks that are looked at, at most: of a share of one half the 95 % interval is 6 % wide then.
const SAMPLED_MAX: u64 = 1000;
/// So many of a larger number that are all zero, or none of which is, are enough: the 95 % interval of the share of others ends at
/// 1.5 % (Wilson). Each costs a processor 15 µs, which are part of what a run is seen to take.
const ALIKE_MAX: u64 = 250;
/// Bytes of a block: what flash devices map at once, and a page.
const BLOCK_BYTES: u64 = 4096;

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

/// Looks at blocks at random places of these regions, none of which overlap, until `until`. `None` where nothing can be read
/// past the page cache, or there is no whole block. What cannot be read ends the look.
pub fn zero_blocks(
    path: &Path,
    regions: &[Region],
    sector_bytes: u32,
    seed: u64,
    until: Nanos,
) -> Option<ZeroBlocks> {
    let block = BLOCK_BYTES.max(u64::from(sector_bytes));
    let whole: Vec<(u64, u64)> = regions
        .iter()
        .map(|region| (region.start.div_ceil(block), region.start.saturating_add(region.length) / block))
        .filter(|(from, to)| from < to)
        .collect();
    let blocks: u64 = whole.iter().map(|(from, to)| to - from).sum();
    let mut reader = Reader::open(path, block).ok().filter(Reader::is_direct)?;
    let (mut sampled, mut zero) = (0, 0);
    for place in places(blocks, seed) {
        let is_alike = zero == 0 || zero == sampled;
        let is_enough = blocks > SAMPLED_MAX && sampled >= ALIKE_MAX && is_alike;
        if sampled > 0 && (is_enough || monotonic() >= until) {
            break;
        }
        let Ok(bytes) = reader.read_once(place_of(&whole, place) * block, block) else { break };
        sampled += 1;
        zero += u64::from(bytes.iter().all(|&byte| byte == 0));
    }
    let block_bytes = u32::try_from(block).ok()?;
    (sampled > 0).then(|| ZeroBlocks { path: path.to_owned(), block_bytes, blocks, sampled, zero })
}

/// Which of so many blocks are looked at, in an order that may end anywhere: each once where there are few, else at random.
fn places(blocks: u64, seed: u64) -> Vec<u64> {
    let mut random = Rng::new(seed);
    if blocks > SAMPLED_MAX {
        return (0..SAMPLED_MAX).map(|_| random.below(blocks)).collect();
    }
    let mut all: Vec<u64> = (0..blocks).collect();
    for (last, left) in (1..all.len()).rev().zip((2..=blocks).rev()) {
        let other = usize::try_from(random.below(left)).expect("below a length");
        all.swap(last, other);
    }
    all
}

/// The number of block `place` of those in these regions, of which there is one.
fn place_of(regions: &[(u64, u64)], mut place: u64) -> u64 {
    for (from, to) in regions {
        if place < to - from {
            return from + place;
        }
        place -= to - from;
    }
    unreachable!("places are below the number of blocks")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const BLOCK: usize = 4096;
    /// Later than any test goes on.
    const LATE: Nanos = Nanos(u64::MAX);

    /// What is found in a file of these blocks, as [`look_at`] finds it.
    fn look(is_zero: impl Fn(usize) -> bool, count: usize, regions: &[Region]) -> Option<ZeroBlocks> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for block in 0..count {
            // A single byte that is not zero makes a block of data.
            let mut bytes = [0; BLOCK];
            bytes[BLOCK - 1] = u8::from(!is_zero(block));
            file.write_all(&bytes).unwrap();
        }
        file.as_file().sync_all().unwrap();
        look_at(file.path(), regions, LATE)
    }

    /// What is found until then in a file. `None`, said aloud, where it cannot be read directly.
    fn look_at(path: &Path, regions: &[Region], until: Nanos) -> Option<ZeroBlocks> {
        let found = zero_blocks(path, regions, 512, 1, until);
        if found.is_none() {
            writeln!(std::io::stderr(), "SKIPPED: no direct I/O on {}", path.display()).unwrap();
        }
        found
    }

    #[test]
    fn written_zeros_and_data_are_told_apart() {
        let all = Region { start: 0, length: (300 * BLOCK) as u64 };
        let check = |is_zero: &dyn Fn(usize) -> bool, regions: &[Region], expect: (u64, u64, u64)| {
            let Some(found) = look(is_zero, 300, regions) else { return };
            assert_eq!((found.blocks, found.sampled, found.zero), expect, "{regions:?}");
        };
        check(&|_| true, &[all], (300, 300, 300));
        check(&|_| false, &[all], (300, 300, 0));
        check(&|block| block % 3 == 0, &[all], (300, 300, 100));
        // Whole blocks of two regions, and nothing beside them.
        let (first, second) = (Region { start: 1, length: 8192 }, Region { start: 409_600, length: 8195 });
        check(&|block| block == 1 || block >= 100, &[first, second], (3, 3, 3));
        check(&|block| block != 1 && block < 100, &[first, second], (3, 3, 0));
        let part = Region { start: 100, length: 4096 };
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(2 * BLOCK as u64).unwrap();
        assert_eq!(zero_blocks(file.path(), &[part], 512, 1, LATE), None, "no whole block");
    }

    #[test]
    fn a_large_region_is_sampled_all_over() {
        let regions = [Region { start: 0, length: 1 << 30 }];
        let blocks = regions[0].length / BLOCK as u64;
        let found = places(blocks, 7);
        assert_eq!(found.len(), 1000);
        let eighths = found.iter().fold([0; 8], |mut counts, place| {
            counts[usize::try_from(place * 8 / blocks).unwrap()] += 1;
            counts
        });
        // 125 ± 5 standard deviations.
        assert!(eighths.iter().all(|count| (73..=177).contains(count)), "{eighths:?}");
        assert_eq!(places(0, 1), [] as [u64; 0]);
        let mut few = places(1000, 3);
        assert!(!few.is_sorted());
        few.sort_unstable();
        assert_eq!(few, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn few_say_what_is_alike() {
        let region = Region { start: 0, length: 1 << 23 };
        let check = |is_zero: &dyn Fn(usize) -> bool, expect: &dyn Fn(u64, u64) -> bool| {
            let Some(found) = look(is_zero, 1 << 11, &[region]) else { return };
            assert!(expect(found.sampled, found.zero), "{found:?}");
        };
        check(&|_| true, &|sampled, zero| (sampled, zero) == (250, 250));
        check(&|_| false, &|sampled, zero| (sampled, zero) == (250, 0));
        // One in sixteen is 62 of 1000, with a standard deviation of 8.
        check(&|block| block % 16 == 0, &|sampled, zero| sampled == 1000 && (30..=94).contains(&zero));
    }

    #[test]
    fn the_time_bounds_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 30).unwrap();
        let regions = [Region { start: 0, length: 1 << 30 }];
        let Some(found) = look_at(file.path(), &regions, Nanos::ZERO) else { return };
        assert_eq!((found.sampled, found.zero), (1, 1), "one is always looked at");
    }
}
