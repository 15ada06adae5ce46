//! What writes carry, beside the peer: how much of it is which byte, and how many blocks differ, since the random rest is each
//! one's own. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use std::collections::HashSet;

/// Blocks of each file.
const BLOCKS: usize = 2048;
const BLOCK_BYTES: usize = 4096;

/// What `program` writes for these options, or lays out to be read.
fn written(program: &[&str], options: &str, direction: &str) -> Vec<u8> {
    let bench = Bench::new();
    let job = format!("--name=a --filename=x --rw={direction} --bs=4k --size=8m --output=report");
    let words = program.iter().copied().chain(job.split(' ')).chain(options.split(' '));
    bench.run(&words.collect::<Vec<_>>()).expect(0, &[]);
    let content = std::fs::read(bench.path("x")).expect("it was written");
    assert_eq!(content.len(), BLOCKS * BLOCK_BYTES, "{options}");
    content
}

/// What both write.
fn both(options: &str) -> [Vec<u8>; 2] {
    [&["fio"][..], &[FATHOM, "fio"]].map(|program| written(program, options, "write"))
}

fn distinct(content: &[u8]) -> usize {
    content.chunks(BLOCK_BYTES).collect::<HashSet<_>>().len()
}

#[test]
fn what_compresses_is_the_pattern_or_zeroes() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_compresses_is_the_pattern_or_zeroes", &why);
    }
    for options in [
        "--buffer_compress_percentage=50 --buffer_pattern=0x41",
        "--buffer_pattern=0x41 --buffer_compress_percentage=50",
        "--buffer_compress_percentage=50 --buffer_pattern=0x41 --refill_buffers",
        "--buffer_pattern=0x41 --buffer_compress_percentage=50 --refill_buffers",
        "--buffer_pattern=0x414243 --buffer_compress_percentage=75 --buffer_compress_chunk=1000",
        "--buffer_pattern=0x41 --buffer_compress_percentage=50 --buffer_compress_chunk=0",
        "--buffer_pattern=0x41 --buffer_compress_percentage=50 --buffer_compress_chunk=64k",
        "--buffer_pattern=0x41 --buffer_compress_percentage=100",
        "--buffer_compress_percentage=100",
        "--buffer_pattern=0x41 --buffer_compress_percentage=0",
        "--zero_buffers --buffer_compress_percentage=50",
        "--zero_buffers --buffer_pattern=0x41 --buffer_compress_percentage=50",
        "--buffer_pattern=0x41 --buffer_compress_percentage=50 --verify=md5",
    ] {
        let contents = both(options);
        let of_byte = |wanted: u8| {
            let is_wanted = |&byte: &u8| f64::from(u8::from(byte == wanted));
            contents.each_ref().map(|content| content.iter().map(is_wanted).sum::<f64>())
        };
        for byte in [0, 0x41, 0x42, 0x43] {
            let [theirs, ours] = of_byte(byte).map(|count| count / contents[0].len() as f64 * 100.0);
            let case = format!(
                "{options}: {ours:.1} % of fathom's bytes are {byte:#x}, {theirs:.1} % of the peer's"
            );
            assert!((theirs - ours).abs() < 1.0, "{case}");
        }
        assert_eq!(distinct(&contents[1]), distinct(&contents[0]), "{options}");
    }
}

#[test]
fn writes_differ_from_one_another_as_much() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("writes_differ_from_one_another_as_much", &why);
    }
    for options in [
        "--refill_buffers",
        "--scramble_buffers=1",
        "--scramble_buffers=0",
        "--zero_buffers",
        "--zero_buffers --scramble_buffers=1",
        "--scramble_buffers=1 --zero_buffers",
        "--buffer_pattern=0x41 --scramble_buffers=1",
        "--scramble_buffers=1 --buffer_pattern=0x41",
        "--zero_buffers --buffer_pattern=0x41",
        "--buffer_pattern=0x41 --zero_buffers",
        "--buffer_compress_percentage=100",
        "--buffer_compress_percentage=0",
        "--buffer_compress_percentage=50 --refill_buffers=0",
        "--refill_buffers=0 --buffer_compress_percentage=50",
        "--dedupe_percentage=0",
        "--dedupe_percentage=0 --refill_buffers=0",
        "--dedupe_percentage=0 --buffer_pattern=0x41",
        "--buffer_pattern=0x41 --dedupe_percentage=0",
        "--dedupe_percentage=100 --scramble_buffers=1",
    ] {
        let contents = both(options);
        let [theirs, ours] = contents.each_ref().map(|content| distinct(content));
        assert_eq!(ours, theirs, "{options}: blocks that differ");
        // What is mostly zeroes or a pattern is so with both.
        for byte in [0, 0x41] {
            let counts = contents
                .each_ref()
                .map(|content| content.iter().map(|one| usize::from(*one == byte)).sum::<usize>());
            let [theirs, ours] = counts.map(|count| 2 * count > BLOCKS * BLOCK_BYTES);
            assert_eq!(ours, theirs, "{options}: {counts:?} bytes are {byte:#x}");
        }
    }
}

#[test]
fn a_working_set_repeats_as_much() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_working_set_repeats_as_much", &why);
    }
    for (percent, set) in [(50, 30), (80, 10), (80, 5), (10, 50)] {
        let options = format!(
            "--dedupe_percentage={percent} --dedupe_mode=working_set --dedupe_working_set_percentage={set}"
        );
        let [theirs, ours] = both(&options).map(|content| distinct(&content));
        // Both draw: of 2048 writes, one half has a standard deviation of 23.
        assert!(theirs.abs_diff(ours) < 5 * 32, "{options}: {ours} blocks differ, the peer's {theirs}");
    }
}

#[test]
fn what_is_laid_out_to_be_read_is_as_compressible() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_is_laid_out_to_be_read_is_as_compressible", &why);
    }
    for options in ["--buffer_compress_percentage=50", "--zero_buffers", "--refill_buffers"] {
        let [theirs, ours] = [&["fio"][..], &[FATHOM, "fio"]].map(|program| {
            let content = written(program, options, "read");
            content.iter().map(|byte| f64::from(u8::from(*byte == 0))).sum::<f64>() / content.len() as f64
                * 100.0
        });
        assert!(
            (theirs - ours).abs() < 1.0,
            "{options}: {ours:.1} % are zeroes, {theirs:.1} % of the peer's"
        );
    }
}
