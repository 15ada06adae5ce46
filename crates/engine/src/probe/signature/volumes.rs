//! Arrays, pools, volume managers and encryption that take more than a comparison to tell from data.

use super::{Samples, signature};
use fathom_schema::Signature;

/// All that are there.
pub(super) fn find(samples: &Samples, found: &mut Vec<Signature>) {
    for probe in [md, firmware_raid, zfs, lvm2, luks_second_header, core_storage] {
        probe(samples, found);
    }
}

/// Linux md of all versions.
fn md(samples: &Samples, found: &mut Vec<Signature>) {
    const MAGIC: u32 = 0xa92b_4efc;
    let sectors = samples.size / 512;
    let version_1_0 = sectors.checked_sub(16).map(|sector| (sector & !7) * 512);
    for offset in [Some(0), Some(4096), version_1_0].into_iter().flatten() {
        if samples.le32(offset) == Some(MAGIC) && samples.le32(offset + 4) == Some(1) {
            found.push(signature("md", offset, samples.label_or_uuid((offset + 32, 32), offset + 16)));
        }
    }
    if let Some(offset) = (samples.size & !0xffff).checked_sub(0x1_0000) {
        // Version 0.90 is written in the byte order of the host that made it.
        let magic = samples.le32(offset);
        if magic == Some(MAGIC) || magic == Some(MAGIC.swap_bytes()) {
            found.push(signature("md", offset, ""));
        }
    }
}

/// Firmware RAID whose sign in the last sector is short, by the fields around it.
fn firmware_raid(samples: &Samples, found: &mut Vec<Signature>) {
    let Some(offset) = (samples.size / 512 * 512).checked_sub(512) else { return };
    let Some(sector) = samples.at(offset, 512) else { return };
    // VIA: a sum over its first 50 bytes, and a version up to 2. Zeros do not have the magic.
    let sum = sector[..50].iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
    if sector.starts_with(&[0x55, 0xaa]) && sector[2] <= 2 && sector[50] == sum {
        found.push(signature("via-raid", offset, ""));
    }
    // Silicon Image: the number of the disk, of at most eight, and a checksum that brings the sum of the words to zero.
    let words = sector[..0x140].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    let is_whole = words.fold(0_u16, u16::wrapping_add) == 0;
    if samples.le32(offset + 0x60) == Some(0x2f00_0000) && sector[0x116] < 8 && is_whole {
        found.push(signature("silicon-raid", offset + 0x60, ""));
    }
}

/// ZFS: four labels, two at each end, each with a list of the pool's properties and a ring of uberblocks.
fn zfs(samples: &Samples, found: &mut Vec<Signature>) {
    const LABEL: u64 = 256 * 1024;
    const UBERBLOCK_MAGIC: u64 = 0x00ba_b10c;
    let end = samples.size / LABEL * LABEL;
    for offset in
        [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)].into_iter().flatten()
    {
        // The pairs are XDR-encoded in either byte order, version 0, unique names.
        let pairs = offset + 16 * 1024;
        let has_pairs = [&b"\x01\x00\0\0\0\0\0\0\0\0\0\x01"[..], b"\x01\x01\0\0\0\0\0\0\0\0\0\x01"]
            .iter()
            .any(|magic| samples.has(pairs, magic));
        let mut ring = (0..128).map(|slot| samples.le64(offset + LABEL / 2 + slot * 1024));
        let has_uberblock = ring
            .any(|magic| magic.is_some_and(|m| m == UBERBLOCK_MAGIC || m.swap_bytes() == UBERBLOCK_MAGIC));
        if has_pairs || has_uberblock {
            found.push(signature("zfs", offset, zfs_pool_name(samples, pairs)));
        }
    }
}

fn zfs_pool_name(samples: &Samples, pairs: u64) -> String {
    // Name of the pair (length 4, "name"), type string (9), one element; then the string's length and text.
    const KEY: &[u8] = b"\0\0\0\x04name\0\0\0\x09\0\0\0\x01";
    let area = samples.at(pairs, 4096).unwrap_or_default();
    let at = area.windows(KEY.len()).position(|window| window == KEY).map(|at| at + KEY.len());
    let name = at.and_then(|at| {
        let length = u32::from_be_bytes(area.get(at..at + 4)?.try_into().ok()?);
        area.get(at + 4..at + 4 + usize::try_from(length).ok()?)
    });
    String::from_utf8_lossy(name.unwrap_or_default()).into_owned()
}

/// LVM2 puts its label into one of the first four sectors.
fn lvm2(samples: &Samples, found: &mut Vec<Signature>) {
    for offset in [0, 512, 1024, 1536] {
        if samples.has(offset, b"LABELONE") && samples.has(offset + 24, b"LVM2 001") {
            found.push(signature("lvm2", offset, samples.text(offset + 32, 32)));
        }
    }
}

/// LUKS2 keeps a second header, which outlives the wiping of the first.
fn luks_second_header(samples: &Samples, found: &mut Vec<Signature>) {
    for kib in [16, 32, 64, 128, 256, 512] {
        if samples.has(kib << 10, b"SKUL\xba\xbe\0\x02") {
            found.push(signature("luks", kib << 10, samples.text((kib << 10) + 168, 40)));
        }
    }
}

/// Apple's Core Storage: a sign of two bytes, and the version and kind of the block before it.
fn core_storage(samples: &Samples, found: &mut Vec<Signature>) {
    if samples.has(88, b"CS") && samples.has(8, &[1, 0, 0x10, 0]) {
        found.push(signature("core-storage", 88, ""));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn arrays_and_volumes() {
        let md: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9, 1, 0, 0, 0];
        check(&[(0, md), (32, b"host:0")], &[("md", 0, "host:0")]);
        check(&[(4096, md), (4128, b"host:1")], &[("md", 4096, "host:1")]);
        check(&[(-8192, md), (-8160, b"host:2")], &[("md", (2 << 20) - 8192, "host:2")]);
        check(&[(-65536, &md[..4])], &[("md", (2 << 20) - 65536, "")]);
        check(&[(-65536, &[0xa9, 0x2b, 0x4e, 0xfc])], &[("md", (2 << 20) - 65536, "")]);
        check(&[(512, b"LABELONE"), (536, b"LVM2 001"), (544, b"abcdef")], &[("lvm2", 512, "abcdef")]);
        check(&[(512, b"LABELONE")], &[]);
        check(&[(-512, b"\xde\x11\xde\x11")], &[("ddf-raid", (2 << 20) - 512, "")]);
        check(&[(-1024, b"Intel Raid ISM Cfg Sig. ")], &[("isw-raid", (2 << 20) - 1024, "")]);
        check(&[(0x8000, b"SKUL\xba\xbe\0\x02"), (0x80a8, b"1-2-3")], &[("luks", 0x8000, "1-2-3")]);
    }

    #[test]
    fn zfs_at_either_end() {
        let magic: &[u8] = &0x00ba_b10c_u64.to_le_bytes();
        let swapped: &[u8] = &0x00ba_b10c_u64.to_be_bytes();
        let pairs: &[u8] = b"\x01\x01\0\0\0\0\0\0\0\0\0\x01";
        let name: &[u8] = b"\0\0\0\x04name\0\0\0\x09\0\0\0\x01\0\0\0\x04tank";
        check(&[(131_072 + 5 * 1024, magic)], &[("zfs", 0, "")]);
        check(&[(131_072, swapped), (16384, pairs), (16500, name)], &[("zfs", 0, "tank")]);
        check(&[(-262_144 + 131_072, magic)], &[("zfs", (2 << 20) - 262_144, "")]);
        check(&[(262_144 + 16384, pairs)], &[("zfs", 262_144, "")]);
    }

    #[test]
    fn short_signs_by_what_is_around_them() {
        let last = (2 << 20) - 512;
        check(&[(-512, &[0x55, 0xaa, 1]), (-512 + 50, &[0; 1])], &[("via-raid", last, "")]);
        check(&[(-512, &[0x55, 0xaa, 1]), (-512 + 50, &[1; 1])], &[]);
        let silicon: (i64, &[u8]) = (-512 + 0x60, &[0, 0, 0, 0x2f]);
        check(&[silicon, (-512 + 0x13e, &[0, 0xd1])], &[("silicon-raid", last + 0x60, "")]);
        check(&[silicon], &[]);
        check(&[(88, b"CS"), (8, &[1, 0, 0x10, 0])], &[("core-storage", 88, "")]);
        check(&[(88, b"CS")], &[]);
    }
}
