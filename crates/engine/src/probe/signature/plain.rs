//! Signatures that are a fixed text at a fixed place, counted from the start of a device or back from its end.
//!
//! A table and its look-up. What takes more than a comparison is elsewhere.

use super::{Samples, signature};
use fathom_schema::Signature;

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

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

const BCACHE: &[u8] = b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
const BTRFS: &[u8] = b"_BHRfS_M";
const F2FS: &[u8] = b"\x10\x20\xf5\xf2";
const OCFS2: &[u8] = b"OCFSV2";
const STRATIS: &[u8] = b"!Stra0tis\x86\xff\x02^\x41rh";

/// By kind.
const PLAIN: &[Plain] = &[
    plain("aix", 0, b"\xc9\xc2\xd4\xc1", Name::None),
    plain("apfs", 32, b"NXSB", Name::None),
    plain("bcache", 4120, BCACHE, Name::Uuid(4136)),
    plain("bcachefs", 4120, BCACHEFS, Name::Uuid(4136)),
    plain("bcachefs", 2 * MIB + 24, BCACHEFS, Name::Uuid(2 * MIB + 40)),
    plain("befs", 32, b"BFS1", Name::Text(0, 32)),
    plain("befs", 32, b"1SFB", Name::Text(0, 32)),
    plain("befs", 544, b"BFS1", Name::Text(512, 32)),
    plain("befs", 544, b"1SFB", Name::Text(512, 32)),
    plain("bfs", 0, b"\xce\xfa\xad\x1b", Name::None),
    plain("bitlocker", 3, b"-FVE-FS-", Name::None),
    plain("bluestore", 0, b"bluestore block device", Name::None),
    plain("bsd", 64, b"\x57\x45\x56\x82", Name::None),
    plain("bsd", 128, b"\x57\x45\x56\x82", Name::None),
    plain("bsd", 512, b"\x57\x45\x56\x82", Name::None),
    plain("btrfs", 0x1_0040, BTRFS, Name::Either((0x1_012b, 256), 0x1_0020)),
    plain("btrfs", 0x400_0040, BTRFS, Name::Either((0x400_012b, 256), 0x400_0020)),
    plain("btrfs", 256 * GIB + 64, BTRFS, Name::Either((256 * GIB + 0x12b, 256), 256 * GIB + 32)),
    plain("btrfs", 1024 * TIB + 64, BTRFS, Name::Either((1024 * TIB + 0x12b, 256), 1024 * TIB + 32)),
    plain("cramfs", 0, b"\x45\x3d\xcd\x28", Name::Text(48, 16)),
    plain("cramfs", 0, b"\x28\xcd\x3d\x45", Name::Text(48, 16)),
    plain("dm-integrity", 0, b"integrt\0", Name::None),
    plain("dm-snapshot", 0, b"SnAp", Name::None),
    plain("dm-verity", 0, b"verity\0\0", Name::None),
    plain("drbdmanage", 0, b"$DRBDmgr=q", Name::None),
    plain("drbdproxy", 0, b"DRBDdlh*", Name::None),
    plain("erofs", 1024, b"\xe2\xe1\xf5\xe0", Name::None),
    plain("exfat", 3, b"EXFAT   ", Name::None),
    // The copy of the boot sectors, 12 sectors on.
    plain("exfat", 12 * 512 + 3, b"EXFAT   ", Name::None),
    plain("exfat", 12 * 4096 + 3, b"EXFAT   ", Name::None),
    plain("exfs", 0, b"EXFS", Name::None),
    plain("f2fs", 1024, F2FS, Name::Uuid(1132)),
    plain("f2fs", 5120, F2FS, Name::Uuid(5228)),
    plain("gfs2", 65536, b"\x01\x16\x19\x70", Name::None),
    plain("hfs", 1024, b"H+\0\x04", Name::None),
    plain("hfs", 1024, b"HX\0\x05", Name::None),
    plain("high-sierra", 32777, b"CDROM", Name::None),
    plain("hpfs", 8192, b"\x49\xe8\x95\xf9", Name::None),
    plain("hpt37x-raid", 4640, b"\xf0\x16\x78\x5a", Name::None),
    plain("hpt37x-raid", 4640, b"\xfd\x16\x78\x5a", Name::None),
    plain("iso9660", 32769, b"CD001", Name::Text(32808, 32)),
    plain("jfs", 32768, b"JFS1", Name::None),
    plain("jfs", 61440, b"JFS1", Name::None),
    plain("luks", 0, b"LUKS\xba\xbe\0\x01", Name::Text(168, 40)),
    plain("luks", 0, b"LUKS\xba\xbe\0\x02", Name::Text(168, 40)),
    plain("lvm1", 0, b"HM\x01\0", Name::None),
    plain("lvm1", 0, b"HM\x02\0", Name::None),
    // The header of the first metadata area, which outlives the wiping of the label.
    plain("lvm2", 4100, b" LVM2 x[5A%r0N*>", Name::None),
    plain("mpool", 0, b"mpoolDev", Name::Text(8, 32)),
    plain("nilfs2", 1024, b"\x02\0\0\0\0\0\x34\x34", Name::None),
    plain("nss", 4096, b"SPB5", Name::None),
    plain("ntfs", 3, b"NTFS    ", Name::None),
    plain("ocfs", 8192, b"OracleCFS", Name::None),
    plain("ocfs2", 1024, OCFS2, Name::None),
    plain("ocfs2", 2048, OCFS2, Name::None),
    plain("ocfs2", 4096, OCFS2, Name::None),
    plain("ocfs2", 8192, OCFS2, Name::None),
    plain("ocfs2", GIB, OCFS2, Name::None),
    plain("ocfs2", 4 * GIB, OCFS2, Name::None),
    plain("ocfs2", 16 * GIB, OCFS2, Name::None),
    plain("ocfs2", 64 * GIB, OCFS2, Name::None),
    plain("ocfs2", 256 * GIB, OCFS2, Name::None),
    plain("ocfs2", TIB, OCFS2, Name::None),
    plain("oracleasm", 32, b"ORCLDISK", Name::Text(40, 24)),
    plain("refs", 3, b"ReFS\0\0\0\0", Name::None),
    plain("reiser4", 65536, b"ReIsEr4", Name::None),
    plain("reiserfs", 8192 + 20, b"ReIsErFs", Name::None),
    plain("reiserfs", 8192 + 52, b"ReIsErFs", Name::None),
    plain("reiserfs", 65588, b"ReIsErFs", Name::None),
    plain("reiserfs", 65588, b"ReIsEr2Fs", Name::None),
    plain("reiserfs", 65588, b"ReIsEr3Fs", Name::None),
    plain("romfs", 0, b"-rom1fs-", Name::Text(16, 16)),
    plain("scoutfs", 65540, b"\x8b\x42\x3c\x10", Name::None),
    plain("sgi", 0, b"\x0b\xe5\xa9\x41", Name::None),
    plain("squashfs", 0, b"hsqs", Name::None),
    plain("squashfs", 0, b"sqsh", Name::None),
    plain("stratis", 516, STRATIS, Name::None),
    plain("stratis", 4612, STRATIS, Name::None),
    plain("tuxonice", 0, b"\xed\xc3\x02\xe9\x98\x56\xe5\x0c", Name::None),
    plain("ubi", 0, b"UBI#", Name::None),
    plain("ubifs", 0, b"\x31\x18\x10\x06", Name::None),
    plain("ultrix", 16312, b"\x57\x29\x03\0\x01\0\0\0", Name::None),
    plain("vdo", 0, b"dmvdo001", Name::None),
    plain("vfat", 54, b"FAT     ", Name::Text(43, 11)),
    plain("vfat", 54, b"FAT12   ", Name::Text(43, 11)),
    plain("vfat", 54, b"FAT16   ", Name::Text(43, 11)),
    plain("vfat", 54, b"MSDOS", Name::Text(43, 11)),
    plain("vfat", 82, b"FAT32   ", Name::Text(71, 11)),
    plain("vfat", 82, b"MSWIN", Name::Text(71, 11)),
    // The copy of the boot sector, in the sixth sector.
    plain("vfat", 6 * 512 + 82, b"FAT32   ", Name::Text(6 * 512 + 71, 11)),
    plain("vmfs", MIB, b"\x0d\xd0\x01\xc0", Name::None),
    plain("vmfs", 2 * MIB, b"\x5e\xf1\xab\x2f", Name::None),
    plain("vxfs", 1024, b"\xf5\xfc\x01\xa5", Name::None),
    plain("vxfs", 8192, b"\xa5\x01\xfc\xf5", Name::None),
    plain("xenix", 2040, b"\x44\x55\x2b\0", Name::None),
    plain("xenix", 2040, b"\0\x2b\x55\x44", Name::None),
    plain("xenix", 2048, b"\x2b\x55\x44", Name::None),
    plain("xenix", 2048, b"\x44\x55\x2b", Name::None),
    plain("xfs", 0, b"XFSB", Name::Either((108, 12), 32)),
    plain("zonefs", 0, b"SFOZ", Name::None),
];

/// Kind, bytes back from the end of the last whole sector, and magic: what firmware and copies write there.
const FROM_END: &[(&str, u64, &[u8])] = &[
    ("adaptec-raid", 512, b"\x37\xfc\x4d\x1e"),
    ("bcachefs", (1 << 20) - 24, BCACHEFS),
    ("ddf-raid", 512, b"\xde\x11\xde\x11"),
    ("ddf-raid", 512, b"\x11\xde\x11\xde"),
    ("ddf-raid", 257 * 512, b"\xde\x11\xde\x11"),
    ("ddf-raid", 257 * 512, b"\x11\xde\x11\xde"),
    ("drbd", 4096 - 60, b"\x83\x74\x02\x6b"),
    ("drbd", 4096 - 60, b"\x83\x74\x02\x6c"),
    ("drbd", 4096 - 60, b"\x83\x74\x02\x6d"),
    ("hfs", 1024, b"H+\0\x04"),
    ("hfs", 1024, b"HX\0\x05"),
    ("hpt45x-raid", 11 * 512, b"\xf3\x16\x78\x5a"),
    ("hpt45x-raid", 11 * 512, b"\xfd\x16\x78\x5a"),
    ("isw-raid", 1024, b"Intel Raid ISM Cfg Sig. "),
    ("isw-raid", 2 * 4096, b"Intel Raid ISM Cfg Sig. "),
    ("jmicron-raid", 512, b"JM"),
    ("lsi-raid", 512, b"$XIDE$"),
    ("ntfs", 512 - 3, b"NTFS    "),
    ("nvidia-raid", 1024, b"NVIDIA"),
];

/// Sectors back from the end at which a Promise controller may have put its text.
const PROMISE_SECTORS: [u64; 13] = [63, 255, 256, 16, 399, 591, 675, 735, 911, 974, 991, 951, 3087];

/// All of them that are there.
pub(super) fn find(samples: &Samples, found: &mut Vec<Signature>) {
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
    let end = samples.size / 512 * 512;
    for (kind, back, magic) in FROM_END {
        if let Some(offset) = end.checked_sub(*back)
            && samples.has(offset, magic)
        {
            found.push(signature(kind, offset, ""));
        }
    }
    for offset in PROMISE_SECTORS.iter().filter_map(|sectors| end.checked_sub(sectors * 512)) {
        if samples.has(offset, b"Promise Technology, Inc.") {
            found.push(signature("promise-raid", offset, ""));
        }
    }
}

/// Places outside of the first and the last mebibyte where one of them can be.
pub(in super::super) fn places(size: u64) -> Vec<u64> {
    let end = size / 512 * 512;
    let far = PLAIN.iter().map(|plain| plain.offset).filter(|&offset| offset >= MIB);
    far.chain(PROMISE_SECTORS.iter().filter_map(|sectors| end.checked_sub(sectors * 512))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device of this size that holds these bytes at this offset and nothing else.
    fn check(size: u64, offset: u64, magic: &[u8], kind: &str) {
        let start = offset.saturating_sub(100);
        let mut window = vec![0; 8192];
        let at = usize::try_from(offset - start).unwrap();
        window[at..at + magic.len()].copy_from_slice(magic);
        let mut found = Vec::new();
        find(&Samples { size, windows: vec![(start, window)] }, &mut found);
        assert!(found.iter().any(|s| s.kind == kind && s.offset == offset), "{kind} at {offset}: {found:?}");
    }

    #[test]
    fn every_plain_signature_is_found() {
        for Plain { kind, offset, magic, .. } in PLAIN {
            check(u64::MAX / 2, *offset, magic, kind);
            assert!(*offset < MIB || places(u64::MAX / 2).contains(offset), "{kind} is not looked for");
        }
        let size = (10 << 20) + 100;
        for (kind, back, magic) in FROM_END {
            check(size, (10 << 20) - back, magic, kind);
        }
        for sectors in PROMISE_SECTORS {
            check(size, (10 << 20) - sectors * 512, b"Promise Technology, Inc.", "promise-raid");
            assert!(places(size).contains(&((10 << 20) - sectors * 512)));
        }
    }
}
