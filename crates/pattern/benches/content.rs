//! Bytes of new random content per second on one core: what writes with fresh data cost beside the device. Prints one
//! JSON object, block size to GB/s; `scripts/bench` runs it.

use fathom_pattern::Filler;
use fathom_schema::{Content, Fill, Freshness, Repeats};
use fathom_units::Ratio;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Long enough that the processor has settled, short enough to be one of several figures.
const LENGTH: Duration = Duration::from_millis(300);
/// Of so many turns the middle one counts: in a single one another program may have had the processor.
const TURNS: usize = 5;

#[expect(clippy::disallowed_methods, reason = "a benchmark times; nothing here is part of the program")]
fn gigabytes_per_s(block_size: usize) -> f64 {
    let content = Content {
        fill: Fill::Random,
        freshness: Freshness::Every,
        compressible: Ratio::ZERO,
        compress_chunk_bytes: 512,
        dedupable: Ratio::ZERO,
        repeats: Repeats::Any,
    };
    let mut filler = Filler::new(&content, 1, block_size);
    let mut buffer = vec![0; block_size];
    let (start, mut bytes) = (Instant::now(), 0_u64);
    while start.elapsed() < LENGTH {
        // A reading of the clock for every buffer would be part of the figure.
        for _ in 0..64 {
            filler.fill(black_box(&mut buffer), bytes);
            bytes += block_size as u64;
        }
    }
    bytes as f64 / start.elapsed().as_secs_f64() / 1e9
}

#[expect(clippy::print_stdout, reason = "its output is what it is for")]
fn main() {
    let turns: [[f64; 2]; TURNS] = std::array::from_fn(|_| [4096, 1 << 20].map(gigabytes_per_s));
    let [small, large] = [0, 1].map(|size| {
        let mut turns = turns.map(|turn| turn[size]);
        turns.sort_by(f64::total_cmp);
        turns[TURNS / 2]
    });
    println!("{{\"4096\": {small:.3}, \"1048576\": {large:.3}}}");
}
