//! Digests of protected data, as fio 3.33 puts them behind its header. Two of them are not what they are called: fio keeps
//! its working buffer instead of the digest. That of SHA-256 has 8 bytes of a hash in it; that of SHA-512 covers some bytes at
//! both ends of the data only. Data that both tools can check has to have the same.

use crc_fast::{CrcAlgorithm, CrcParams, checksum, checksum_with_params, crc32_iscsi};
use fathom_schema::Protection;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::block_api::compress256;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use std::sync::LazyLock;

/// Longest digest, in bytes.
pub(crate) const DIGEST_MAX: usize = 128;

/// CRC-64 with the polynomial of Jones, as Redis has it.
static CRC64: LazyLock<CrcParams> =
    LazyLock::new(|| CrcParams::new("CRC-64/REDIS", 64, 0xad93_d235_94c9_35a9, 0, true, 0, 0));
/// CRC-32 of cksum, without the length behind the data and not inverted at the end.
static CRC32: LazyLock<CrcParams> =
    LazyLock::new(|| CrcParams::new("CRC-32/CKSUM without xorout", 32, 0x04c1_1db7, 0, false, 0, 0));
const CRC7: crc::Crc<u8> = crc::Crc::<u8>::new(&crc::CRC_7_MMC);
/// Seed of fio's XXH32.
const XXH_SEED: u32 = 1;

/// A digest with its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestBytes {
    bytes: [u8; DIGEST_MAX],
    length: usize,
}

impl DigestBytes {
    /// These bytes; at most 128.
    pub fn new(from: &[u8]) -> Self {
        let mut bytes = [0; DIGEST_MAX];
        bytes[..from.len()].copy_from_slice(from);
        Self { bytes, length: from.len() }
    }

    /// The bytes, in the order in which they lie on the medium.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// CRC-32C as fio has it: started from all ones, not inverted at the end.
pub(crate) fn crc32c_of(data: &[u8]) -> u32 {
    !crc32_iscsi(data)
}

/// The digest of `data`; empty where the protection has none.
pub fn digest(protection: Protection, data: &[u8]) -> DigestBytes {
    match protection {
        Protection::Header | Protection::PatternHeader | Protection::Pattern | Protection::Null => {
            DigestBytes::new(&[])
        }
        Protection::Crc7 => DigestBytes::new(&[CRC7.checksum(data)]),
        Protection::Crc16 => first_bytes::<2>(checksum(CrcAlgorithm::Crc16Arc, data)),
        Protection::Crc32 => first_bytes::<4>(checksum_with_params(*CRC32, data)),
        Protection::Crc32c => DigestBytes::new(&crc32c_of(data).to_le_bytes()),
        Protection::Xxhash => DigestBytes::new(&xxhash_rust::xxh32::xxh32(data, XXH_SEED).to_le_bytes()),
        Protection::Crc64 => first_bytes::<8>(checksum_with_params(*CRC64, data)),
        Protection::Md5 => DigestBytes::new(&Md5::digest(data)),
        Protection::Sha1 => sha1_words(data),
        Protection::Sha3_224 => DigestBytes::new(&Sha3_224::digest(data)),
        Protection::Sha3_256 => DigestBytes::new(&Sha3_256::digest(data)),
        Protection::Sha3_384 => DigestBytes::new(&Sha3_384::digest(data)),
        Protection::Sha3_512 => DigestBytes::new(&Sha3_512::digest(data)),
        Protection::Sha256 => buffer_256(data),
        Protection::Sha512 => buffer_512(data),
    }
}

/// A checksum of `LENGTH` bytes, the least first.
fn first_bytes<const LENGTH: usize>(checksum: u64) -> DigestBytes {
    DigestBytes::new(&checksum.to_le_bytes()[..LENGTH])
}

/// SHA-1 as five words of the machine, least byte first.
fn sha1_words(data: &[u8]) -> DigestBytes {
    let mut bytes: [u8; 20] = Sha1::digest(data).into();
    bytes.chunks_exact_mut(4).for_each(<[u8]>::reverse);
    DigestBytes::new(&bytes)
}

/// fio's buffer after SHA-256: the last padded block, whose length is little-endian, with the low bytes of the eight words
/// of the state over its start.
fn buffer_256(data: &[u8]) -> DigestBytes {
    const BLOCK: usize = 64;
    const INITIAL: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    let mut state = INITIAL;
    let (blocks, tail) = data.as_chunks::<BLOCK>();
    compress256(&mut state, blocks);
    let mut last = [0; BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    last[tail.len()] = 0x80;
    if tail.len() >= BLOCK - 8 {
        // No room for the length: it goes into a block of its own.
        compress256(&mut state, &[last]);
        last = [0; BLOCK];
    }
    last[BLOCK - 8..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    compress256(&mut state, &[last]);
    for (byte, word) in last.iter_mut().zip(state) {
        *byte = word.to_le_bytes()[0];
    }
    DigestBytes::new(&last)
}

/// SHA-512's buffer after the data was put in and before padding: the first block, overwritten by what is left after the
/// last whole one.
fn buffer_512(data: &[u8]) -> DigestBytes {
    const BLOCK: usize = 128;
    let mut block = [0; BLOCK];
    let first = data.len().min(BLOCK);
    block[..first].copy_from_slice(&data[..first]);
    let tail = &data[data.len() / BLOCK * BLOCK..];
    block[..tail.len()].copy_from_slice(tail);
    DigestBytes::new(&block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc::{Algorithm, CRC_16_ARC, CRC_32_CKSUM, CRC_32_ISCSI, CRC_64_REDIS, Crc};
    use proptest::prelude::*;

    proptest! {
        /// What takes many bytes at once against what takes one after the other, for lengths around those of all its steps.
        #[test]
        fn checksums_are_those_of_the_catalogue(mut data in prop::collection::vec(any::<u8>(), 0..1500), blocks in 0..16_usize) {
            const CKSUM: Algorithm<u32> = Algorithm { xorout: 0, ..CRC_32_CKSUM };
            const REDIS: Algorithm<u64> = CRC_64_REDIS;
            // As long as the blocks that storage has.
            data.extend((0_u8..=255).cycle().step_by(7).take(blocks * 4096));
            let found = |protection| digest(protection, &data).bytes().to_vec();
            prop_assert_eq!(found(Protection::Crc16), Crc::<u16>::new(&CRC_16_ARC).checksum(&data).to_le_bytes());
            prop_assert_eq!(found(Protection::Crc32), Crc::<u32>::new(&CKSUM).checksum(&data).to_le_bytes());
            prop_assert_eq!(found(Protection::Crc32c), (!Crc::<u32>::new(&CRC_32_ISCSI).checksum(&data)).to_le_bytes());
            prop_assert_eq!(found(Protection::Crc64), Crc::<u64>::new(&REDIS).checksum(&data).to_le_bytes());
        }
    }

    /// What fio 3.33 laid down behind its header in a block of 512 bytes with `--verify_pattern=0x000102…3f`.
    #[test]
    fn digests_are_fios() {
        let check = |protection: Protection, expect: &str| {
            let length = 512 - 40 - protection.digest_bytes() as usize;
            let start = 512 - length;
            let data: Vec<u8> = (0..64).cycle().skip(start % 64).take(length).collect();
            let digest = digest(protection, &data);
            assert_eq!(digest.bytes().len(), protection.digest_bytes() as usize);
            let hex: String = digest.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expect, "{protection:?}");
        };
        check(Protection::Md5, "e2d1ed1c6a2492e575cc93750fa57732");
        check(Protection::Crc64, "962804daa4a0d17b");
        check(Protection::Crc32c, "be52b3c9");
        check(Protection::Crc32, "b309bbe4");
        check(Protection::Crc16, "bba8");
        check(Protection::Crc7, "37");
        check(Protection::Xxhash, "cda7ebca");
        check(Protection::Sha1, "2d9badcadd63b304e5377debe7dde10f6492822a");
        check(
            Protection::Sha256,
            "09cf52c4cfbcf183303132333435363738393a3b3c3d3e3f8000000000000000000000000000000000000000000000000000000000000000c00c000000000000",
        );
        check(
            Protection::Sha512,
            "28292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f2021222324252627",
        );
        check(Protection::Sha3_224, "40e401045f8a75048fc7e8897a15fdb47fb46e638a990321e2efc554");
        check(Protection::Sha3_256, "02b5e73872df420c95641352041bb9ab0d1fc7ca4581b511ef38481eff47a3a9");
        check(
            Protection::Sha3_384,
            "76ba752c230f9365181cf95cdb724f32bc8c0c814a5bd2060c7ed578a69e520a12568350729cf063b735bc0f43f5f828",
        );
        check(
            Protection::Sha3_512,
            "a0cd9cda76caea3655ac749a4709e84cbf9cda5e4d5da8e89acd9fa640b42123712b7b751a34cc8f453f689f8e3cacd0b7833eb07739350a0d958a76e9a4d946",
        );
    }

    #[test]
    fn tails_without_room_for_the_length_are_padded_twice() {
        for length in [55, 56, 63, 64, 119, 120, 128] {
            let data = vec![7; length];
            let buffer = buffer_256(&data);
            assert_eq!(buffer.bytes()[56..], (length as u64 * 8).to_le_bytes());
            let mut other = data.clone();
            other[0] ^= 1;
            assert_ne!(buffer_256(&other), buffer, "{length}");
        }
    }
}
