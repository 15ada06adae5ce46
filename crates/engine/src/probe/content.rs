//! What a block device holds, found by reading samples of it: signatures, nothing at all, or something unknown.
//!
//! Opens read-only. Knows where to look and what "blank" takes; what a signature looks like is `signature`'s.

use super::signature::{Samples, signatures};
use fathom_schema::ContentFact;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Read at each end: holds every signature known here but one, the first 512 KiB and the last of ZFS included.
const END_BYTES: u64 = 1 << 20;
/// The second copy of a btrfs superblock, which outlives the wiping of the first mebibytes.
const BTRFS_MIRROR_OFFSET: u64 = 64 << 20;
/// Devices up to this size are read as a whole before they are called blank: a tenth of a second on most.
const WHOLE_BYTES: u64 = 128 << 20;
/// Read at once of a device that is read as a whole.
const WHOLE_STEP_BYTES: u64 = 1 << 20;
/// Places between the ends of larger ones that are looked at. Zeros there say that a device seems blank, no more: 100 MiB
/// of data on a disk of 90 GiB are missed nine times in ten. A rotating disk reads them in half a second.
const SPREAD_BLOCKS: u64 = 64;
/// Bytes read at each of them.
const SPREAD_BYTES: u64 = 4096;
/// Alignment of buffers and offsets of direct reads, at least; no device in use needs more than its sector.
const ALIGN_BYTES: u64 = 4096;

/// Looks at the content of a device (or of a file in its place) of `size` bytes.
pub(super) fn content(path: &Path, size: u64, sector_bytes: u32) -> ContentFact {
    if size == 0 {
        return ContentFact::Unreadable("it has no medium (size 0)".to_owned());
    }
    look(path, size, ALIGN_BYTES.max(u64::from(sector_bytes)))
        .unwrap_or_else(|error| ContentFact::Unreadable(error.to_string()))
}

fn look(path: &Path, size: u64, align: u64) -> io::Result<ContentFact> {
    let mut reader = Reader::open(path, align)?;
    let mut samples = Samples { size, windows: Vec::new() };
    let tail = size.saturating_sub(END_BYTES) / align * align;
    for (offset, len) in [(0, END_BYTES), (tail, END_BYTES + align), (BTRFS_MIRROR_OFFSET, SPREAD_BYTES)] {
        if offset < size {
            samples.windows.push((offset, reader.read(offset, len.min(size - offset))?));
        }
    }
    let found = signatures(&samples);
    if !found.is_empty() {
        return Ok(ContentFact::Signed(found));
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    if !samples.windows.iter().all(|(_, bytes)| is_zero(bytes)) {
        return Ok(ContentFact::Unrecognised);
    }
    let whole = size <= WHOLE_BYTES;
    let (places, bytes): (Vec<u64>, u64) = if whole {
        ((0..size.div_ceil(WHOLE_STEP_BYTES)).map(|step| step * WHOLE_STEP_BYTES).collect(), WHOLE_STEP_BYTES)
    } else {
        (spread(size, align).collect(), SPREAD_BYTES)
    };
    for offset in places {
        if !is_zero(&reader.read(offset, bytes.min(size - offset))?) {
            return Ok(ContentFact::Unrecognised);
        }
    }
    Ok(if whole { ContentFact::Blank } else { ContentFact::SeemsBlank })
}

/// One place in each of equal parts of the device, shifted within its part so that a regular layout is not missed.
fn spread(size: u64, align: u64) -> impl Iterator<Item = u64> {
    let part = size / SPREAD_BLOCKS;
    (0..SPREAD_BLOCKS).map(move |index| {
        // Weyl sequence: multiples of the golden ratio modulo 2^64 spread evenly over the part.
        let shift = (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let within = (u128::from(part) * u128::from(shift)) >> 64;
        let within = u64::try_from(within).unwrap_or(0);
        (index * part + within) / align * align
    })
}

/// Reads past the page cache where that is possible: what the cache has of a device can be older than the device when
/// something above it (a volume, a loop device) was written.
struct Reader {
    file: File,
    align: u64,
    buffer: Vec<u8>,
    is_direct: bool,
    path: std::path::PathBuf,
}

impl Reader {
    fn open(path: &Path, align: u64) -> io::Result<Self> {
        let (file, is_direct) = match open_with(path, OFlags::DIRECT) {
            Ok(file) => (file, true),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                (open_with(path, OFlags::empty())?, false)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { file, align, buffer: Vec::new(), is_direct, path: path.to_owned() })
    }

    /// `len` bytes at `offset`. A device that ends before them is not what it says it is: an error.
    fn read(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        match self.read_once(offset, len) {
            Err(error) if self.is_direct && Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                self.file = open_with(&self.path, OFlags::empty())?;
                self.is_direct = false;
                self.read_once(offset, len)
            }
            other => other,
        }
    }

    fn read_once(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let too_large = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        let align = usize::try_from(self.align).map_err(too_large)?;
        let wanted = usize::try_from(len).map_err(too_large)?;
        let rounded = wanted.next_multiple_of(align);
        self.buffer.resize(rounded + align, 0);
        let skip = self.buffer.as_ptr().align_offset(align);
        let area = &mut self.buffer[skip..skip + rounded];
        let mut filled = 0;
        while filled < wanted {
            let at = offset + filled as u64;
            match self.file.read_at(&mut area[filled..], at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(area[..wanted].to_vec())
    }
}

/// Opens read-only and without waiting for a medium or the other end of a pipe.
pub(super) fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const SIZE: u64 = 80 << 20;

    /// A sparse file of [`SIZE`] with these bytes.
    fn check(bytes: &[(u64, &[u8])], expect: &str) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(SIZE).unwrap();
        for (offset, bytes) in bytes {
            file.as_file().write_all_at(bytes, *offset).unwrap();
        }
        file.flush().unwrap();
        let found = match content(file.path(), SIZE, 512) {
            ContentFact::Signed(found) => found.iter().map(|s| &*s.kind).collect::<Vec<_>>().join(" "),
            other => format!("{other:?}"),
        };
        assert_eq!(found, expect);
    }

    #[test]
    fn content_of_images() {
        check(&[], "Blank");
        check(&[(0, b"x")], "Unrecognised");
        check(&[(SIZE - 1, b"x")], "Unrecognised");
        check(&[(0, b"XFSB")], "xfs");
        check(&[(SIZE - 512, b"EFI PART")], "gpt");
        check(&[(BTRFS_MIRROR_OFFSET + 64, b"_BHRfS_M")], "btrfs");
        check(&[(20 << 20, &vec![1; 4 << 20])], "Unrecognised");
        check(&[(47 << 20, b"x")], "Unrecognised");
    }

    #[test]
    fn a_large_device_is_never_called_blank() {
        let size = 1 << 30;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(size).unwrap();
        assert_eq!(content(file.path(), size, 512), ContentFact::SeemsBlank);
        file.as_file().write_all_at(&vec![7; 32 << 20], 500 << 20).unwrap();
        assert_eq!(content(file.path(), size, 512), ContentFact::Unrecognised);
    }

    #[test]
    fn small_and_odd_sizes_are_read_whole() {
        for size in [512_u64, 4096, 1 << 20, (1 << 20) + 512, (3 << 20) + 1536] {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(size).unwrap();
            assert_eq!(content(file.path(), size, 512), ContentFact::Blank, "{size}");
            file.as_file().write_all_at(b"x", size - 1).unwrap();
            assert_eq!(content(file.path(), size, 512), ContentFact::Unrecognised, "{size}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let ContentFact::Unreadable(_) = content(Path::new("/nonexistent"), 1, 512) else { panic!() };
        let ContentFact::Unreadable(_) = content(Path::new("/dev/null"), 0, 512) else { panic!() };
    }

    #[test]
    fn the_spread_covers_the_device_in_order() {
        for size in [1 << 20, 10 << 30, u64::MAX / 2] {
            let places: Vec<u64> = spread(size, 4096).collect();
            assert!(places.is_sorted() && places.len() == 64 && places.iter().all(|&p| p < size), "{size}");
            assert!(places.iter().all(|p| p.is_multiple_of(4096)), "{size}");
        }
    }
}
