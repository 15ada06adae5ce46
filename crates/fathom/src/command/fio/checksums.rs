//! `--crctest`: how fast the digests are that verification knows. Owns which there are and how long each is tried; the
//! digests themselves are `pattern`'s.

use super::help::Help;
use fathom_io::clock::monotonic;
use fathom_pattern::digest;
use fathom_schema::Protection;
use std::fmt::Write;
use std::hint::black_box;

/// Bytes of one digest, as fio has it.
const CHUNK: usize = 128 << 10;
/// How long each is tried, nanoseconds: some hundred chunks even of the slowest.
const TRIED_NS: u64 = 100_000_000;

/// Those that fio tries too, under its names and in its order.
const DIGESTS: [(&str, Protection); 14] = [
    ("md5", Protection::Md5),
    ("crc64", Protection::Crc64),
    ("crc32", Protection::Crc32),
    ("crc32c", Protection::Crc32c),
    ("crc16", Protection::Crc16),
    ("crc7", Protection::Crc7),
    ("sha1", Protection::Sha1),
    ("sha256", Protection::Sha256),
    ("sha512", Protection::Sha512),
    ("xxhash", Protection::Xxhash),
    ("sha3-224", Protection::Sha3_224),
    ("sha3-256", Protection::Sha3_256),
    ("sha3-384", Protection::Sha3_384),
    ("sha3-512", Protection::Sha3_512),
];

/// The speeds of those in `list`, separated by commas; of all where it is empty. As with fio, asking which there are fails.
pub(super) fn speeds(list: &str) -> Help {
    let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
    let unknown = names.iter().find(|name| DIGESTS.iter().all(|(known, _)| known != *name));
    if let Some(unknown) = unknown {
        let is_question = ["help", "list"].contains(unknown);
        return Help {
            text: DIGESTS.iter().map(|(name, _)| format!("{name}\n")).collect(),
            message: if is_question {
                String::new()
            } else {
                format!("fio: unknown hash `{unknown}`. Available:")
            },
            fails: true,
        };
    }
    let data: Vec<u8> = (0..=250).cycle().take(CHUNK).collect();
    let mut text = String::new();
    for (name, protection) in DIGESTS.iter().filter(|(name, _)| names.is_empty() || names.contains(name)) {
        let tabs = if name.len() >= 7 { "\t" } else { "\t\t" };
        let speed = speed(*protection, &data);
        writeln!(text, "{name}:{tabs}{speed:8.2} MiB/sec").expect("a string takes everything");
    }
    Help { text, ..Help::default() }
}

/// MiB per second.
fn speed(protection: Protection, data: &[u8]) -> f64 {
    // Tables and caches are warm after the first.
    black_box(digest(protection, black_box(data)));
    let start = monotonic();
    let mut chunks = 0_u64;
    loop {
        black_box(digest(protection, black_box(data)));
        chunks += 1;
        let took = monotonic().since(start);
        if took.0 >= TRIED_NS {
            return (chunks * CHUNK as u64) as f64 / f64::from(1 << 20) / took.as_secs_f64();
        }
    }
}
