//! Copies of superblocks that a filesystem keeps throughout a device, and that outlive the wiping of its start: those of
//! ext and of XFS. Copies at fixed places are among the plain signatures.

use super::filesystems::ext;
use super::{Samples, signature};
use fathom_schema::Signature;

/// Groups of ext blocks that have a copy, by its rule of powers of 3, 5 and 7; the first few outlive a partial wiping.
const EXT_GROUPS: [u64; 7] = [1, 3, 5, 7, 9, 25, 49];
/// Most parts (allocation groups) of an XFS that are tried: it makes 4 on a single disk, 16 or 32 on an array, and as many
/// as there are processors in newer versions.
const XFS_PARTS_MAX: u64 = 64;
/// Parts of an XFS are of this size where more than four of them are on the device.
const XFS_PART_BYTES_MAX: u64 = 1 << 40;
/// Blocks of an XFS in nearly all cases; a part is a whole number of them.
const XFS_BLOCK_BYTES: u64 = 4096;

/// Where copies can be, on a device that is too large to be read as a whole.
pub(in super::super) fn places(size: u64) -> Vec<u64> {
    let ext = [1024, 2048, 4096].into_iter().flat_map(|block| {
        // A group has as many blocks as one block has bits; with blocks of 1 KiB the first group begins at block 1.
        let first = u64::from(block == 1024);
        EXT_GROUPS.iter().map(move |group| (group * block * 8 + first) * block)
    });
    let blocks = size / XFS_BLOCK_BYTES;
    let xfs = (2..=XFS_PARTS_MAX).map(|parts| blocks.div_ceil(parts) * XFS_BLOCK_BYTES);
    let mut places: Vec<u64> =
        ext.chain(xfs).chain([XFS_PART_BYTES_MAX]).filter(|place| place + 512 <= size).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The first copy among the samples, which begins at a whole sector.
pub(in super::super) fn find(samples: &Samples) -> Option<Signature> {
    let sectors = |&(start, ref bytes): &(u64, Vec<u8>)| {
        (start.div_ceil(512)..(start + bytes.len() as u64) / 512).map(|sector| sector * 512)
    };
    samples.windows.iter().flat_map(sectors).find_map(|at| at_sector(samples, at))
}

fn at_sector(samples: &Samples, at: u64) -> Option<Signature> {
    if samples.has(at, b"XFSB") {
        return Some(signature("xfs", at, samples.label_or_uuid((at + 108, 12), at + 32)));
    }
    // Each copy holds the number of its group.
    let is_copy = samples.has(at + 56, &[0x53, 0xef]) && samples.at(at + 90, 2) != Some(&[0, 0]);
    is_copy.then(|| ext(samples, at)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_where_they_are_looked_for() {
        let gib = 1 << 30;
        let places = |size| -> Vec<u64> { super::places(size) };
        // mke2fs(8): 8193, 16384 and 32768 are the first copies' blocks.
        for place in [8193 << 10, 16384 << 11, 32768 << 12, 3 * (32768 << 12)] {
            assert!(places(gib).contains(&place), "{place}");
        }
        // mkfs.xfs on 1 GiB: agcount=4, agsize=65536 blks; on 1 GiB and 4 KiB: 65537.
        assert!(places(gib).contains(&(65536 << 12)) && places(gib + 4096).contains(&(65537 << 12)));
        assert!(places(10 << 40).contains(&(1 << 40)));
        assert!(places(gib).iter().all(|&place| place < gib) && places(0).is_empty());
    }

    #[test]
    fn a_copy_is_told_from_data() {
        let mut bytes = vec![0; 4096];
        bytes[512 + 4] = 1;
        bytes[512 + 56..512 + 58].copy_from_slice(&[0x53, 0xef]);
        let found = |bytes: &[u8]| {
            find(&Samples { size: 1 << 30, windows: vec![(1 << 20, bytes.to_vec())] })
                .map(|found| (found.kind, found.offset))
        };
        assert_eq!(found(&bytes), None, "group 0 has no copy");
        bytes[512 + 90] = 3;
        assert_eq!(found(&bytes), Some(("ext2".to_owned(), (1 << 20) + 568)));
        bytes[1024..1028].copy_from_slice(b"XFSB");
        bytes[512 + 24] = 200;
        assert_eq!(found(&bytes), Some(("xfs".to_owned(), (1 << 20) + 1024)));
    }
}
