//! Known signatures of partition tables, filesystems and volume managers, found in samples of a device's content.
//!
//! Pure: bytes in, signatures out; knows nothing of devices. Positions and magic numbers are those of the formats' own
//! on-disk definitions. A signature missed here may cost somebody's data, one too many costs a question.

use fathom_schema::Signature;

/// Bytes of a device by their offset: what was sampled of it.
pub(super) struct Samples {
    /// Size of the device in bytes.
    pub(super) size: u64,
    /// Offsets and what was read there.
    pub(super) windows: Vec<(u64, Vec<u8>)>,
}

impl Samples {
    /// `len` bytes at `offset` when they were sampled in one piece.
    fn at(&self, offset: u64, len: usize) -> Option<&[u8]> {
        self.windows.iter().find_map(|(start, bytes)| {
            let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
            bytes.get(from..from.checked_add(len)?)
        })
    }

    fn has(&self, offset: u64, magic: &[u8]) -> bool {
        self.at(offset, magic.len()) == Some(magic)
    }

    fn le32(&self, offset: u64) -> Option<u32> {
        self.at(offset, 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
    }

    fn le64(&self, offset: u64) -> Option<u64> {
        self.at(offset, 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
    }

    fn text(&self, offset: u64, len: usize) -> String {
        let bytes = self.at(offset, len).unwrap_or_default();
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).trim().replace(char::is_control, "?")
    }

    fn uuid(&self, offset: u64) -> String {
        let Some(bytes) = self.at(offset, 16) else { return String::new() };
        let groups = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
        let hex = |group: &&[u8]| group.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        groups.iter().map(hex).collect::<Vec<_>>().join("-")
    }

    /// The label when there is one, else the UUID.
    fn label_or_uuid(&self, label: (u64, usize), uuid: u64) -> String {
        let text = self.text(label.0, label.1);
        if text.is_empty() { self.uuid(uuid) } else { text }
    }
}

/// Where the label of a plain signature is.
enum Name {
    None,
    Uuid(u64),
    Text(u64, usize),
    Either((u64, usize), u64),
}

/// A signature that is a fixed text at a fixed place.
struct Plain {
    kind: &'static str,
    offset: u64,
    magic: &'static [u8],
    name: Name,
}

const fn plain(kind: &'static str, offset: u64, magic: &'static [u8], name: Name) -> Plain {
    Plain { kind, offset, magic, name }
}

/// Sorted by kind where order does not matter.
const PLAIN: &[Plain] = &[
    plain("apfs", 32, b"NXSB", Name::None),
    plain(
        "bcache",
        4120,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
        Name::Uuid(4136),
    ),
    plain(
        "bcachefs",
        4120,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
        Name::Uuid(4136),
    ),
    plain("bitlocker", 3, b"-FVE-FS-", Name::None),
    plain("bluestore", 0, b"bluestore block device", Name::None),
    plain("bsd", 512, b"\x57\x45\x56\x82", Name::None),
    plain("btrfs", 0x1_0040, b"_BHRfS_M", Name::Either((0x1_012b, 256), 0x1_0020)),
    plain("btrfs", 0x400_0040, b"_BHRfS_M", Name::Either((0x400_012b, 256), 0x400_0020)),
    plain("cramfs", 0, b"\x45\x3d\xcd\x28", Name::None),
    plain("dm-integrity", 0, b"integrt\0", Name::None),
    plain("dm-verity", 0, b"verity\0\0", Name::None),
    plain("erofs", 1024, b"\xe2\xe1\xf5\xe0", Name::None),
    plain("exfat", 3, b"EXFAT   ", Name::None),
    plain("f2fs", 1024, b"\x10\x20\xf5\xf2", Name::Uuid(1132)),
    plain("f2fs", 5120, b"\x10\x20\xf5\xf2", Name::Uuid(5228)),
    plain("gfs2", 65536, b"\x01\x16\x19\x70", Name::None),
    plain("hfs", 1024, b"H+\0\x04", Name::None),
    plain("hfs", 1024, b"HX\0\x05", Name::None),
    plain("hibernation", 4086, b"S1SUSPEND", Name::None),
    plain("iso9660", 32769, b"CD001", Name::Text(32808, 32)),
    plain("jfs", 32768, b"JFS1", Name::None),
    plain("luks", 0, b"LUKS\xba\xbe\0\x01", Name::Text(168, 40)),
    plain("luks", 0, b"LUKS\xba\xbe\0\x02", Name::Text(168, 40)),
    plain("nilfs2", 1024, b"\x02\0\0\0\0\0\x34\x34", Name::None),
    plain("ntfs", 3, b"NTFS    ", Name::None),
    plain("ocfs2", 8192, b"OCFSV2", Name::None),
    plain("oracleasm", 32, b"ORCLDISK", Name::Text(40, 24)),
    plain("refs", 3, b"ReFS\0\0\0\0", Name::None),
    plain("reiserfs", 65588, b"ReIsErFs", Name::None),
    plain("reiserfs", 65588, b"ReIsEr2Fs", Name::None),
    plain("reiserfs", 65588, b"ReIsEr3Fs", Name::None),
    plain("squashfs", 0, b"hsqs", Name::None),
    plain("stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh", Name::None),
    plain("vdo", 0, b"dmvdo001", Name::None),
    plain("vfat", 54, b"FAT12   ", Name::Text(43, 11)),
    plain("vfat", 54, b"FAT16   ", Name::Text(43, 11)),
    plain("vfat", 82, b"FAT32   ", Name::Text(71, 11)),
    plain("vmfs", 0x10_0000, b"\x0d\xd0\x01\xc0", Name::None),
    plain("xfs", 0, b"XFSB", Name::Either((108, 12), 32)),
];

/// All signatures in the samples, in the order of their offsets; the same kind is told once per offset.
pub(super) fn signatures(samples: &Samples) -> Vec<Signature> {
    let mut found = Vec::new();
    for Plain { kind, offset, magic, name } in PLAIN {
        if samples.has(*offset, magic) {
            let label = match *name {
                Name::None => String::new(),
                Name::Uuid(at) => samples.uuid(at),
                Name::Text(at, len) => samples.text(at, len),
                Name::Either(label, uuid) => samples.label_or_uuid(label, uuid),
            };
            found.push(signature(kind, *offset, label));
        }
    }
    for probe in [partition_tables, ext, raid, zfs, lvm2, swap, udf, luks_second_header] {
        probe(samples, &mut found);
    }
    found.sort_by_key(|signature| signature.offset);
    found
}

fn signature(kind: &str, offset: u64, label: impl Into<String>) -> Signature {
    Signature { kind: kind.to_owned(), offset, label: label.into() }
}

/// GPT in the second and in the last sector, and the table of a master boot record.
fn partition_tables(samples: &Samples, found: &mut Vec<Signature>) {
    let mut has_gpt = false;
    // The sector is not asked of the device: a table made behind another bridge may count in the other size.
    for sector in [512, 4096] {
        for offset in [Some(sector), samples.size.checked_sub(sector)].into_iter().flatten() {
            if samples.has(offset, b"EFI PART") {
                has_gpt = true;
                found.push(signature("gpt", offset, samples.uuid(offset + 56)));
            }
        }
    }
    let boot_sector =
        |magic: &[u8]| samples.has(3, magic) || samples.has(54, magic) || samples.has(82, magic);
    let is_filesystem = [&b"NTFS    "[..], b"EXFAT   ", b"FAT12   ", b"FAT16   ", b"FAT32   ", b"-FVE-FS-"];
    if !samples.has(510, &[0x55, 0xaa]) || is_filesystem.iter().any(|magic| boot_sector(magic)) {
        return;
    }
    let entries = samples.at(446, 64).unwrap_or_default();
    // Boot flag, and for a used entry a kind and a length; anything else is code or data that ends in 55 AA by chance.
    let plausible = entries.chunks(16).all(|entry| {
        let used = entry[4] != 0;
        matches!(entry[0], 0 | 0x80) && used == entry[12..16].iter().any(|&byte| byte != 0)
    });
    let is_protective = entries.chunks(16).any(|entry| entry[4] == 0xee);
    if plausible && !(is_protective && has_gpt) {
        found.push(signature("mbr", 510, ""));
    }
}

/// ext2, ext3, ext4 and their external journals: a magic of two bytes, so the fields around it must make sense too.
fn ext(samples: &Samples, found: &mut Vec<Signature>) {
    const SUPERBLOCK: u64 = 1024;
    let field = |at: u64| samples.le32(SUPERBLOCK + at);
    let (Some(blocks), Some(log_block_size), Some(revision)) = (field(4), field(24), field(76)) else {
        return;
    };
    if !samples.has(SUPERBLOCK + 56, &[0x53, 0xef]) || blocks == 0 || log_block_size > 6 || revision > 1 {
        return;
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
    found.push(signature(
        kind,
        SUPERBLOCK + 56,
        samples.label_or_uuid((SUPERBLOCK + 120, 16), SUPERBLOCK + 104),
    ));
}

/// Linux md of all versions, and the metadata of firmware RAID at the end of a disk.
fn raid(samples: &Samples, found: &mut Vec<Signature>) {
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
    for (from_end, magic, kind) in [
        (1024, &b"Intel Raid ISM Cfg Sig. "[..], "isw-raid"),
        (512, b"\xde\x11\xde\x11", "ddf-raid"),
        (4096, b"\x83\x74\x02\x6b", "drbd"),
        (4096, b"\x83\x74\x02\x6c", "drbd"),
        (4096, b"\x83\x74\x02\x6d", "drbd"),
    ] {
        if let Some(offset) = samples.size.checked_sub(from_end)
            && (samples.has(offset, magic) || (kind == "drbd" && samples.has(offset + 60, magic)))
        {
            found.push(signature(kind, offset, ""));
        }
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

/// Swap space signs at the end of its first page, whatever the page's size was where it was made.
fn swap(samples: &Samples, found: &mut Vec<Signature>) {
    for page in [4096_u64, 8192, 16384, 32768, 65536] {
        let offset = page - 10;
        if samples.has(offset, b"SWAPSPACE2") || samples.has(offset, b"SWAP-SPACE") {
            found.push(signature("swap", offset, samples.label_or_uuid((1052, 16), 1036)));
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

/// LUKS2 keeps a second header, which outlives the wiping of the first.
fn luks_second_header(samples: &Samples, found: &mut Vec<Signature>) {
    for kib in [16, 32, 64, 128, 256, 512] {
        if samples.has(kib << 10, b"SKUL\xba\xbe\0\x02") {
            found.push(signature("luks", kib << 10, samples.text((kib << 10) + 168, 40)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 2 << 20;

    /// An image with these bytes at these offsets (negative: from the end), seen through two windows.
    fn check(bytes: &[(i64, &[u8])], expect: &[(&str, u64, &str)]) {
        let mut image = vec![0_u8; SIZE];
        for (at, bytes) in bytes {
            let at =
                if *at < 0 { SIZE - usize::try_from(-at).unwrap() } else { usize::try_from(*at).unwrap() };
            image[at..at + bytes.len()].copy_from_slice(bytes);
        }
        let tail = image.split_off(SIZE / 2);
        let samples = Samples { size: SIZE as u64, windows: vec![(0, image), (SIZE as u64 / 2, tail)] };
        let found = signatures(&samples);
        let found: Vec<(&str, u64, &str)> = found.iter().map(|s| (&*s.kind, s.offset, &*s.label)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn nothing_is_found_in_zeros() {
        check(&[], &[]);
    }

    #[test]
    fn every_plain_signature_is_found() {
        for Plain { kind, offset, magic, .. } in PLAIN.iter().filter(|plain| plain.offset < 1 << 20) {
            let mut image = vec![0_u8; 1 << 20];
            let at = usize::try_from(*offset).unwrap();
            image[at..at + magic.len()].copy_from_slice(magic);
            let found = signatures(&Samples { size: SIZE as u64, windows: vec![(0, image)] });
            assert!(found.iter().any(|s| s.kind == *kind && s.offset == *offset), "{kind}: {found:?}");
        }
    }

    #[test]
    fn partition_tables_are_told_from_boot_sectors() {
        let uuid = [1_u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
        let name = "01020304-0506-0708-090a-0b0c0d0e0f10";
        let used: &[u8] = &[0x80, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 16, 0, 0];
        let protective: &[u8] = &[0, 0, 2, 0, 0xee, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255];
        let end: (i64, &[u8]) = (510, &[0x55, 0xaa]);
        check(&[end], &[("mbr", 510, "")]);
        check(&[(446, used), end], &[("mbr", 510, "")]);
        check(&[(446, &[7_u8]), end], &[]);
        check(&[(3, b"NTFS    "), (446, used), end], &[("ntfs", 3, "")]);
        check(&[(446, protective), end, (512, b"EFI PART"), (568, &uuid)], &[("gpt", 512, name)]);
        // The first table wiped, the second left: the disk is still somebody's.
        check(&[(-512, b"EFI PART"), (-456, &uuid)], &[("gpt", (2 << 20) - 512, name)]);
        check(&[(4096, b"EFI PART")], &[("gpt", 4096, "00000000-0000-0000-0000-000000000000")]);
        check(&[(446, protective), end], &[("mbr", 510, "")]);
    }

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
    fn swap_and_discs() {
        check(&[(4086, b"SWAPSPACE2"), (1052, b"sw")], &[("swap", 4086, "sw")]);
        check(&[(65526, b"SWAPSPACE2"), (1052, b"sw")], &[("swap", 65526, "sw")]);
        check(&[(34817, b"NSR03")], &[("udf", 34817, "")]);
    }

    #[test]
    fn random_data_is_not_taken_for_something() {
        for seed in 1..=32_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut byte = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state.to_le_bytes()[3]
            };
            let mut window: Vec<u8> = (0..256 << 10).map(|_| byte()).collect();
            // What chance gives once in 65 536: the two-byte magics of a boot record and of ext.
            window[510..512].copy_from_slice(&[0x55, 0xaa]);
            window[1080..1082].copy_from_slice(&[0x53, 0xef]);
            let size = 256 << 10;
            assert_eq!(signatures(&Samples { size, windows: vec![(0, window)] }), [], "seed {seed}");
        }
    }

    #[test]
    fn samples_of_any_length_are_searched_without_fault() {
        for size in [0, 1, 511, 512, 1023, 4095, 65535, 262_144] {
            let len = usize::try_from(size).unwrap();
            for byte in [0_u8, 0xff, 0x55] {
                signatures(&Samples { size, windows: vec![(0, vec![byte; len])] });
            }
        }
    }
}
