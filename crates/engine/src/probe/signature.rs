//! Known signatures of partition tables, filesystems and volume managers, found in samples of a device's content.
//!
//! Pure: bytes in, signatures out; knows nothing of devices. Positions and magic numbers are those of the formats' own
//! on-disk definitions; all that libblkid knows is known here. A signature missed here may cost somebody's data, one too
//! many costs a question.

pub(super) mod copies;
mod filesystems;
mod plain;
mod tables;
mod volumes;

use fathom_schema::Signature;
pub(super) use plain::places;

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

    fn be32(&self, offset: u64) -> Option<u32> {
        self.le32(offset).map(u32::swap_bytes)
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

/// All signatures in the samples, in the order of their offsets; the same kind is told once per offset.
pub(super) fn signatures(samples: &Samples) -> Vec<Signature> {
    let mut found = Vec::new();
    for find in [plain::find, tables::find, filesystems::find, volumes::find] {
        find(samples, &mut found);
    }
    found.sort_by_key(|signature| signature.offset);
    found.dedup_by(|one, other| (&one.kind, one.offset) == (&other.kind, other.offset));
    found
}

fn signature(kind: &str, offset: u64, label: impl Into<String>) -> Signature {
    Signature { kind: kind.to_owned(), offset, label: label.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 2 << 20;

    /// An image with these bytes at these offsets (negative: from the end), seen through two windows.
    pub(super) fn check(bytes: &[(i64, &[u8])], expect: &[(&str, u64, &str)]) {
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
