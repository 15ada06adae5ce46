//! Filesystems that take more than a comparison to tell from data, and swap space.

use super::{Samples, signature};
use fathom_schema::Signature;

/// All that are there.
pub(super) fn find(samples: &Samples, found: &mut Vec<Signature>) {
    found.extend(ext(samples, 1024));
    for probe in [fat, hfs, minix] {
        found.extend(probe(samples));
    }
    for probe in [apfs, nilfs, swap, sysv, udf, ufs, xfs_log] {
        probe(samples, found);
    }
}

/// ext2, ext3, ext4 and their external journals, by a superblock at `at`: a magic of two bytes, so the fields around it must
/// make sense too.
pub(super) fn ext(samples: &Samples, at: u64) -> Option<Signature> {
    let field = |offset: u64| samples.le32(at + offset);
    let (blocks, log_block_size, revision) = (field(4)?, field(24)?, field(76)?);
    if !samples.has(at + 56, &[0x53, 0xef]) || blocks == 0 || log_block_size > 6 || revision > 1 {
        return None;
    }
    let compat = field(92).unwrap_or(0);
    let incompat = field(96).unwrap_or(0);
    let read_only_compat = field(100).unwrap_or(0);
    // journal device; any of extents, 64bit, flex_bg, or huge_file and later; has_journal.
    let kind = if incompat & 0x8 != 0 {
        "ext-journal"
    } else if incompat & !0x1f != 0 || read_only_compat & !0x7 != 0 {
        "ext4"
    } else if compat & 0x4 != 0 {
        "ext3"
    } else {
        "ext2"
    };
    Some(signature(kind, at + 56, samples.label_or_uuid((at + 120, 16), at + 104)))
}

/// FAT as old floppies have it, without a magic: the parameters of the boot sector must make sense.
fn fat(samples: &Samples) -> Option<Signature> {
    let sector = samples.at(0, 512)?;
    let [sector_bytes, reserved] = [11, 14].map(|at| u16::from_le_bytes([sector[at], sector[at + 1]]));
    let (cluster, tables, media) = (sector[13], sector[16], sector[21]);
    let is_fat = sector[510..] == [0x55, 0xaa]
        && sector_bytes.is_power_of_two()
        && (512..=4096).contains(&sector_bytes)
        && cluster.is_power_of_two()
        && tables > 0
        && reserved > 0
        && (media == 0xf0 || media >= 0xf8);
    let is_named = ["FAT", "MSDOS"].iter().any(|name| sector[54..].starts_with(name.as_bytes()))
        || ["FAT32", "MSWIN"].iter().any(|name| sector[82..].starts_with(name.as_bytes()));
    let is_other = ["JFS", "HPFS"].iter().any(|name| sector[54..].starts_with(name.as_bytes()))
        || ["NTFS    ", "EXFAT   "].iter().any(|name| sector[3..].starts_with(name.as_bytes()));
    (is_fat && !is_named && !is_other).then(|| signature("vfat", 11, ""))
}

/// The first HFS: a magic of two bytes, and blocks of whole sectors.
fn hfs(samples: &Samples) -> Option<Signature> {
    let block = samples.be32(1024 + 20)?;
    let is_hfs = samples.has(1024, b"BD") && block > 0 && block.is_multiple_of(512);
    is_hfs.then(|| signature("hfs", 1024, ""))
}

/// Minix, versions 1 to 3 in both byte orders: a magic of two bytes, and maps that are large enough.
fn minix(samples: &Samples) -> Option<Signature> {
    /// Bits that one block of a map holds.
    const BITS: u64 = 1024 * 8;
    let sb = samples.at(1024, 32)?;
    for big_endian in [false, true] {
        let number = |at: usize, len: usize| {
            let bytes = sb[at..at + len].iter();
            let add = |sum: u64, &byte: &u8| sum << 8 | u64::from(byte);
            if big_endian { bytes.fold(0, add) } else { bytes.rev().fold(0, add) }
        };
        let (version, zones) = match (number(16, 2), number(24, 2)) {
            (0x137f | 0x138f, _) => (1, number(2, 2)),
            (0x2468 | 0x2478, _) => (2, number(20, 4)),
            (_, 0x4d5a) => (3, number(20, 4)),
            _ => continue,
        };
        let (inode_map, zone_map) =
            if version == 3 { (number(6, 2), number(8, 2)) } else { (number(4, 2), number(6, 2)) };
        // Version 3 has blocks of several sizes.
        let fits = version == 3
            || (inode_map * BITS > number(0, 2) && zone_map * BITS > zones.saturating_sub(number(8, 2)));
        if inode_map > 0 && zone_map > 0 && fits {
            return Some(signature("minix", if version == 3 { 1048 } else { 1040 }, ""));
        }
    }
    None
}

/// Copies of an APFS container's superblock, which each checkpoint leaves in the blocks behind the first.
fn apfs(samples: &Samples, found: &mut Vec<Signature>) {
    if let Some(block) = (1..256).map(|block| block * 4096).find(|block| samples.has(block + 32, b"NXSB")) {
        found.push(signature("apfs", block + 32, ""));
    }
}

/// The second superblock of NILFS2, in the last block but one of 4 KiB.
fn nilfs(samples: &Samples, found: &mut Vec<Signature>) {
    if let Some(block) = (samples.size >> 12).checked_sub(1).map(|block| block << 12)
        && samples.has(block, b"\x02\0\0\0\0\0\x34\x34")
    {
        found.push(signature("nilfs2", block, ""));
    }
}

/// Swap space, and memory that was saved to it, sign at the end of the first page, whatever its size was where it was made.
fn swap(samples: &Samples, found: &mut Vec<Signature>) {
    const SAVED: [&[u8]; 4] = [b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"];
    for page in [4096_u64, 8192, 16384, 32768, 65536] {
        let offset = page - 10;
        if samples.has(offset, b"SWAPSPACE2") || samples.has(offset, b"SWAP-SPACE") {
            found.push(signature("swap", offset, samples.label_or_uuid((1052, 16), 1036)));
        }
        if SAVED.iter().any(|magic| samples.has(offset, magic)) {
            found.push(signature("hibernation", offset, ""));
        }
    }
}

/// System V: a superblock in the second half of one of four blocks, in either byte order.
fn sysv(samples: &Samples, found: &mut Vec<Signature>) {
    const MAGIC: u32 = 0xfd18_7e20;
    for offset in [0, 9, 15, 18].map(|block| block * 1024 + 512 + 504) {
        if samples.le32(offset) == Some(MAGIC) || samples.be32(offset) == Some(MAGIC) {
            found.push(signature("sysv", offset, ""));
        }
    }
}

/// UDF: a volume recognition sequence of 2048-byte (or sector-sized) descriptors from 32 KiB on.
fn udf(samples: &Samples, found: &mut Vec<Signature>) {
    for step in [2048, 4096] {
        for slot in 0..16 {
            let offset = 32768 + slot * step + 1;
            if samples.has(offset, b"NSR02") || samples.has(offset, b"NSR03") {
                found.push(signature("udf", offset, ""));
                return;
            }
        }
    }
}

/// UFS of all makers: a superblock at one of four places, whose magic ends it, in either byte order.
fn ufs(samples: &Samples, found: &mut Vec<Signature>) {
    const MAGICS: [u32; 6] = [0x1954_0119, 0x0001_1954, 0x0019_5612, 0x0009_5014, 0x0061_2195, 0x0523_1994];
    for offset in [0, 8, 64, 256].map(|kib| kib * 1024 + 1372) {
        let is_magic = |found: Option<u32>| found.is_some_and(|found| MAGICS.contains(&found));
        if is_magic(samples.le32(offset)) || is_magic(samples.be32(offset)) {
            found.push(signature("ufs", offset, ""));
        }
    }
}

/// An external log of XFS has no superblock: records begin at any of the first sectors.
fn xfs_log(samples: &Samples, found: &mut Vec<Signature>) {
    let is_record = |at: u64| {
        samples.has(at, b"\xfe\xed\xba\xbe") && samples.be32(at + 8).is_some_and(|v| matches!(v, 1 | 2))
    };
    if let Some(at) = (0..512).map(|sector| sector * 512).find(|&at| is_record(at)) {
        found.push(signature("xfs-log", at, ""));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn ext_by_its_features() {
        let base: &[(i64, &[u8])] = &[(1028, &[1]), (1080, &[0x53, 0xef]), (1144, b"data")];
        for (features, kind) in [
            (&[][..], "ext2"),
            (&[(1116, &[4_u8][..])], "ext3"),
            (&[(1116, &[4]), (1120, &[0x40])], "ext4"),
            (&[(1124, &[8])], "ext4"),
            (&[(1120, &[8])], "ext-journal"),
        ] {
            check(&[base, features].concat(), &[(kind, 1080, "data")]);
        }
        // Two bytes of chance in data are no filesystem.
        check(&[(1028, &[1]), (1080, &[0x53, 0xef]), (1048, &[200])], &[]);
    }

    #[test]
    fn superblocks_in_either_byte_order() {
        for (place, at) in [(0, 1372), (8, 9564), (64, 66908), (256, 263_516)] {
            check(&[(at, &0x1954_0119_u32.to_le_bytes())], &[("ufs", at.unsigned_abs(), "")]);
            check(&[(at, &0x0001_1954_u32.to_be_bytes())], &[("ufs", at.unsigned_abs(), "")]);
            assert_eq!(at, place * 1024 + 1372);
        }
        check(&[(1016, &0xfd18_7e20_u32.to_le_bytes())], &[("sysv", 1016, "")]);
        check(&[(19448, &0xfd18_7e20_u32.to_be_bytes())], &[("sysv", 19448, "")]);
        // Inodes, zones, blocks of their maps; then the magic.
        for (fields, magic, at) in [
            (&[32_u8, 0, 64, 0, 1, 0, 1, 0][..], (1040, &[0x7f_u8, 0x13][..]), 1040),
            (&[0, 32, 0, 64, 0, 1, 0, 1], (1040, &[0x13, 0x8f]), 1040),
            (&[32, 0, 0, 0, 1, 0, 1, 0], (1040, &[0x78, 0x24]), 1040),
            (&[32, 0, 0, 0, 0, 0, 1, 0, 1, 0], (1048, &[0x5a, 0x4d]), 1048),
        ] {
            check(&[(1024, fields), magic], &[("minix", at, "")]);
            check(&[magic], &[]);
        }
    }

    #[test]
    fn old_filesystems_by_what_makes_sense() {
        let fat: &[u8] = &[0xeb, 0x3c, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 0, 2, 224, 0, 64, 11, 0xf0];
        let flags: &[u8] = &[9];
        check(&[(0, fat), (446, flags), (510, &[0x55, 0xaa])], &[("vfat", 11, "")]);
        check(&[(0, fat), (446, flags), (13, &[3]), (510, &[0x55, 0xaa])], &[]);
        check(&[(1024, b"BD"), (1044, &[0, 0, 2, 0])], &[("hfs", 1024, "")]);
        check(&[(1024, b"BD"), (1044, &[0, 0, 2, 1])], &[]);
        check(&[(5120, b"\xfe\xed\xba\xbe\0\0\0\x01\0\0\0\x02")], &[("xfs-log", 5120, "")]);
        check(&[(12320, b"NXSB")], &[("apfs", 12320, "")]);
        check(&[(-4096, b"\x02\0\0\0\0\0\x34\x34")], &[("nilfs2", (2 << 20) - 4096, "")]);
    }

    #[test]
    fn swap_and_discs() {
        check(&[(4086, b"SWAPSPACE2"), (1052, b"sw")], &[("swap", 4086, "sw")]);
        check(&[(65526, b"SWAPSPACE2"), (1052, b"sw")], &[("swap", 65526, "sw")]);
        check(&[(4086, b"S1SUSPEND")], &[("hibernation", 4086, "")]);
        check(&[(8182, b"LINHIB0001")], &[("hibernation", 8182, "")]);
        check(&[(34817, b"NSR03")], &[("udf", 34817, "")]);
    }
}
