//! Partition tables that take more than a comparison to tell from data.

use super::{Samples, signature};
use fathom_schema::Signature;

/// All that are there.
pub(super) fn find(samples: &Samples, found: &mut Vec<Signature>) {
    gpt_and_mbr(samples, found);
    for probe in [atari, mac, sun] {
        found.extend(probe(samples));
    }
}

/// GPT in the second and in the last sector, and the table of a master boot record.
fn gpt_and_mbr(samples: &Samples, found: &mut Vec<Signature>) {
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
    // The boot flag of each entry; anything else is code or data that ends in 55 AA by chance.
    let plausible = entries.chunks(16).all(|entry| matches!(entry[0], 0 | 0x80));
    let is_protective = entries.chunks(16).any(|entry| entry[4] == 0xee);
    if plausible && !(is_protective && has_gpt) {
        found.push(signature("mbr", 510, ""));
    }
}

/// Atari's root sector has no magic: an entry counts that is active, has a kind of letters and digits, and lies on the disk.
fn atari(samples: &Samples) -> Option<Signature> {
    let sectors = samples.size / 512;
    let is_valid = |entry: u64| {
        let at = 454 + entry * 12;
        let Some(&[flags, ref kind @ ..]) = samples.at(at, 4) else { return false };
        let (start, size) = (samples.be32(at + 4).unwrap_or(0), samples.be32(at + 8).unwrap_or(0));
        let end = u64::from(start) + u64::from(size);
        // The kernel takes the letters of Latin-1 too.
        let is_letter = |&byte: &u8| byte.is_ascii_alphanumeric() || (byte >= 0xc0 && byte & 0x3f != 0x17);
        flags & 1 == 1 && kind.iter().all(is_letter) && end <= sectors
    };
    (0..4).find(|&entry| is_valid(entry)).map(|entry| signature("atari", 454 + entry * 12, ""))
}

/// Apple's partition map: a driver descriptor, then the map's own entry.
fn mac(samples: &Samples) -> Option<Signature> {
    let has_map = [512, 1024, 2048, 4096].iter().any(|&at| samples.has(at, b"PM") || samples.has(at, b"TS"));
    (samples.has(0, b"ER") && has_map).then(|| signature("mac", 0, ""))
}

/// Sun's label: a magic of two bytes, and a checksum over the sector that comes out as zero.
fn sun(samples: &Samples) -> Option<Signature> {
    let sector = samples.at(0, 512)?;
    let sum = sector.chunks(2).fold([0, 0], |sum, pair| [sum[0] ^ pair[0], sum[1] ^ pair[1]]);
    (samples.has(508, &[0xda, 0xbe]) && sum == [0, 0]).then(|| signature("sun", 508, samples.text(0, 128)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

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
    fn tables_of_other_systems() {
        check(&[(0, b"ER"), (512, b"PM")], &[("mac", 0, "")]);
        check(&[(0, b"ER")], &[]);
        check(
            &[(0, b"disk"), (508, &[0xda, 0xbe]), (510, &[0xda ^ b'd' ^ b's', 0xbe ^ b'i' ^ b'k'])],
            &[("sun", 508, "disk")],
        );
        check(&[(508, &[0xda, 0xbe])], &[]);
        // 2 MiB have 4,096 sectors.
        check(&[(466, b"\x01GEM\0\0\0\x02\0\0\x0f\0")], &[("atari", 466, "")]);
        check(&[(466, b"\x01GEM\0\0\0\x02\0\0\x10\0")], &[]);
        check(&[(466, b"\x00GEM\0\0\0\x02\0\0\x0f\0")], &[]);
    }
}
