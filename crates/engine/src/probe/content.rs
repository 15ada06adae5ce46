//! What a block device holds, found by reading samples of it: signatures, nothing at all, or something unknown.
//!
//! Opens read-only. Knows where to look and what "blank" takes; what a signature looks like is `signature`'s.

use super::signature::{Samples, copies, places, signatures};
use crate::quiet;
use fathom_schema::ContentFact;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Read at each end: holds nearly every signature, the first 512 KiB and the last of ZFS included.
const END_BYTES: u64 = 1 << 20;
/// Read at other places where a signature can be.
const PLACE_BYTES: u64 = 8192;
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
    let ends = [(0, END_BYTES), (tail, END_BYTES + align)].into_iter();
    let far = places(size).into_iter().map(|place| (place / align * align, PLACE_BYTES));
    for (offset, len) in ends.chain(far) {
        if offset < size {
            samples.windows.push((offset, reader.read(offset, len.min(size - offset))?));
        }
    }
    let found = signatures(&samples);
    if !found.is_empty() {
        return Ok(ContentFact::Signed(found));
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let mut is_blank = samples.windows.iter().all(|(_, bytes)| is_zero(bytes));
    let whole = size <= WHOLE_BYTES;
    let copies_at: Vec<(u64, u64)> = if whole {
        (0..size.div_ceil(WHOLE_STEP_BYTES)).map(|step| (step * WHOLE_STEP_BYTES, WHOLE_STEP_BYTES)).collect()
    } else {
        copies::places(size).into_iter().map(|place| (place / align * align, PLACE_BYTES)).collect()
    };
    for (offset, len) in copies_at {
        let bytes = reader.read(offset, len.min(size - offset))?;
        is_blank &= is_zero(&bytes);
        if let Some(copy) = copies::find(&Samples { size, windows: vec![(offset, bytes)] }) {
            return Ok(ContentFact::Signed(vec![copy]));
        }
    }
    if !is_blank {
        return Ok(ContentFact::Unrecognised);
    }
    if whole {
        return Ok(ContentFact::Blank);
    }
    for offset in spread(size, align) {
        if !is_zero(&reader.read(offset, SPREAD_BYTES.min(size - offset))?) {
            return Ok(ContentFact::Unrecognised);
        }
    }
    Ok(ContentFact::SeemsBlank)
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
pub(super) struct Reader {
    file: File,
    align: u64,
    buffer: Vec<u8>,
    is_direct: bool,
    path: std::path::PathBuf,
}

impl Reader {
    pub(super) fn open(path: &Path, align: u64) -> io::Result<Self> {
        let (file, is_direct) = match open_with(path, OFlags::DIRECT) {
            Ok(file) => (file, true),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {
                (open_with(path, OFlags::empty())?, false)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { file, align, buffer: Vec::new(), is_direct, path: path.to_owned() })
    }

    pub(super) fn is_direct(&self) -> bool {
        self.is_direct
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

    /// As [`Reader::read`], and as it was opened: without another try past a refusal of direct I/O.
    pub(super) fn read_once(&mut self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
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
    Ok(quiet::open(path, flags)?)
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
        check(&[((64 << 20) + 64, b"_BHRfS_M")], "btrfs");
        check(&[(1 << 20, b"\x0d\xd0\x01\xc0")], "vmfs");
        check(&[(2 << 20, b"\x5e\xf1\xab\x2f")], "vmfs");
        // A copy that outlived what was at the start.
        check(&[(0, b"leftovers"), (20 << 20, b"XFSB")], "xfs");
        check(&[(20 << 20, &vec![1; 4 << 20])], "Unrecognised");
        check(&[(47 << 20, b"x")], "Unrecognised");
    }

    #[test]
    fn a_large_device_is_never_called_blank() {
        let size = 1 << 30;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(size).unwrap();
        assert_eq!(content(file.path(), size, 512), ContentFact::SeemsBlank);
        // The second group of an ext4 with blocks of 4 KiB.
        file.as_file().write_all_at(&[0, 0, 0, 0, 1], 128 << 20).unwrap();
        file.as_file().write_all_at(&[0x53, 0xef], (128 << 20) + 56).unwrap();
        file.as_file().write_all_at(&[1], (128 << 20) + 90).unwrap();
        let ContentFact::Signed(found) = content(file.path(), size, 512) else { panic!("a copy is missed") };
        assert_eq!((&*found[0].kind, found[0].offset), ("ext2", (128 << 20) + 56));
        file.as_file().write_all_at(&[0; 512], 128 << 20).unwrap();
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

    /// What a system tool makes of a file of 160 MiB, the size in which copies are looked for one by one. `None`, said aloud,
    /// where the tool is missing.
    fn made(tool: &[&str], input: &str) -> Option<tempfile::NamedTempFile> {
        let file = tempfile::NamedTempFile::new().unwrap();
        // That of XFS makes no smaller ones than 300 MiB.
        let mebibytes = if tool[0] == "mkfs.xfs" { 320 } else { 160 };
        file.as_file().set_len(mebibytes << 20).unwrap();
        let path = file.path().to_str().unwrap();
        let mut command = std::process::Command::new(tool[0]);
        command.args(tool[1..].iter().map(|word| if *word == "FILE" { path } else { *word }));
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        let Ok(mut child) = command.spawn() else {
            writeln!(std::io::stderr(), "SKIPPED: {} is not here", tool[0]).unwrap();
            return None;
        };
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "{tool:?}");
        Some(file)
    }

    /// Whether libblkid has a name for it; false where it is not here.
    fn blkid_names(path: &Path) -> bool {
        let said = std::process::Command::new("blkid").args(["-p", "-o", "value"]).arg(path).output();
        said.is_ok_and(|said| !said.stdout.is_empty())
    }

    fn kinds(path: &Path) -> Vec<String> {
        match content(path, 160 << 20, 512) {
            ContentFact::Signed(found) => found.into_iter().map(|found| found.kind).collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn what_tools_make_and_libblkid_names_is_known() {
        for (tool, input, kind) in [
            (&["mkfs.ext2", "-q", "-F", "FILE"][..], "", "ext2"),
            (&["mkfs.ext4", "-q", "-F", "-b", "1024", "FILE"], "", "ext4"),
            (&["mkfs.minix", "-1", "FILE", "20000"], "", "minix"),
            (&["mkfs.minix", "-2", "FILE"], "", "minix"),
            (&["mkfs.minix", "-3", "FILE"], "", "minix"),
            (&["mkfs.bfs", "FILE", "8192"], "", "bfs"),
            (&["mkfs.btrfs", "-q", "FILE"], "", "btrfs"),
            (&["mkfs.xfs", "-q", "FILE"], "", "xfs"),
            (&["mkfs.f2fs", "-q", "FILE"], "", "f2fs"),
            (&["mkfs.vfat", "FILE"], "", "vfat"),
            (&["mkfs.vfat", "-F", "32", "FILE"], "", "vfat"),
            (&["mkfs.exfat", "FILE"], "", "exfat"),
            (&["mkfs.ntfs", "-q", "-F", "FILE"], "", "ntfs"),
            (&["mkfs.jfs", "-q", "FILE"], "", "jfs"),
            (&["mkfs.nilfs2", "-q", "FILE"], "", "nilfs2"),
            (&["mkfs.udf", "FILE"], "", "udf"),
            (&["mkswap", "FILE"], "", "swap"),
            (&["sfdisk", "-q", "-X", "dos", "FILE"], ",,L\n", "mbr"),
            (&["sfdisk", "-q", "-X", "gpt", "FILE"], ",,L\n", "gpt"),
            (&["sfdisk", "-q", "-X", "sun", "FILE"], ",,83\n", "sun"),
            (&["sfdisk", "-q", "-X", "sgi", "FILE"], ",,83\n", "sgi"),
        ] {
            let Some(file) = made(tool, input) else { continue };
            let found = kinds(file.path());
            assert!(found.iter().any(|found| found == kind), "{tool:?} makes {found:?}");
            // With its start gone, whatever libblkid still sees is seen here too.
            file.as_file().write_all_at(&[0; 512], 0).unwrap();
            let found = kinds(file.path());
            assert!(
                !blkid_names(file.path()) || !found[0].starts_with(char::is_uppercase),
                "{tool:?}: {found:?}"
            );
        }
    }

    /// The first mebibytes are gone, as after a slip with dd, and the rest could still be saved.
    #[test]
    fn what_outlives_the_wiping_of_the_start_is_known() {
        for (tool, kind) in [
            (&["mkfs.ext4", "-q", "-F", "-b", "1024", "FILE"][..], "ext4"),
            (&["mkfs.ext4", "-q", "-F", "-b", "2048", "FILE"], "ext4"),
            (&["mkfs.ext4", "-q", "-F", "-b", "4096", "FILE"], "ext4"),
            (&["mkfs.xfs", "-q", "FILE"], "xfs"),
            (&["mkfs.btrfs", "-q", "FILE"], "btrfs"),
            (&["mkfs.ntfs", "-q", "-F", "FILE"], "ntfs"),
        ] {
            let Some(file) = made(tool, "") else { continue };
            for rest in [0, 0xa5] {
                file.as_file().write_all_at(&vec![rest; 4 << 20], 0).unwrap();
                assert_eq!(kinds(file.path()), [kind], "{tool:?}");
            }
        }
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
