//! Memory for buffers, from where a job wants it: the allocator, mappings, segments, huge pages; and memory that is only
//! held. It knows nothing of what is put there.

use fathom_schema::MemorySource;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::{fmt, io, ptr};

/// Alignment of every piece: a page.
pub(crate) const ALIGN: usize = 4096;

/// Why there is no such memory.
#[derive(Debug)]
pub struct MemoryError {
    call: &'static str,
    bytes: usize,
    error: io::Error,
    remedy: &'static str,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, bytes, error, remedy } = self;
        write!(f, "{call} of {bytes} B for buffers: {error}; {remedy}")
    }
}

impl std::error::Error for MemoryError {}

/// A zeroed piece of memory. Freed by [`Piece::free`] only: whoever lent it to the kernel knows when that may be.
#[derive(Debug)]
pub(crate) struct Piece {
    start: NonNull<u8>,
    bytes: usize,
    source: MemorySource,
}

impl Piece {
    /// At least `bytes` bytes from `source`.
    pub(crate) fn new(source: MemorySource, bytes: usize) -> Result<Self, MemoryError> {
        let unit = match source {
            MemorySource::MappedHuge { page_bytes } | MemorySource::SegmentHuge { page_bytes } => {
                page_bytes as usize
            }
            _ => ALIGN,
        };
        let bytes = bytes.max(1).next_multiple_of(unit);
        let start = match source {
            MemorySource::Heap => allocated(bytes),
            MemorySource::Mapped => mapped(bytes, libc::MAP_PRIVATE)?,
            MemorySource::MappedShared => mapped(bytes, libc::MAP_SHARED)?,
            MemorySource::MappedHuge { .. } => mapped(bytes, libc::MAP_PRIVATE | libc::MAP_HUGETLB)?,
            MemorySource::Segment => segment(bytes, 0)?,
            MemorySource::SegmentHuge { .. } => segment(bytes, libc::SHM_HUGETLB)?,
        };
        Ok(Self { start, bytes, source })
    }

    /// Its first byte.
    #[inline]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Gives it back. Nothing may refer to it any more, and it is not to be used after.
    pub(crate) fn free(&mut self) {
        let start = self.start();
        match self.source {
            // SAFETY: allocated in `new` with this layout; the caller is done with it, once.
            MemorySource::Heap => unsafe { dealloc(start, layout(self.bytes)) },
            MemorySource::Mapped | MemorySource::MappedShared | MemorySource::MappedHuge { .. } => {
                // SAFETY: mapped in `new` with this length; the caller is done with it, once.
                unsafe { libc::munmap(start.cast(), self.bytes) };
            }
            MemorySource::Segment | MemorySource::SegmentHuge { .. } => {
                // SAFETY: attached in `new` at this address; the caller is done with it, once.
                unsafe { libc::shmdt(start.cast()) };
            }
        }
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, ALIGN).expect("a page-aligned layout below isize::MAX")
}

fn allocated(bytes: usize) -> NonNull<u8> {
    let layout = layout(bytes);
    // SAFETY: the layout's size is not zero: it is at least a page.
    NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

fn failed(call: &'static str, bytes: usize, is_huge: bool) -> MemoryError {
    let remedy = if is_huge {
        "set huge pages aside with the sysctl vm.nr_hugepages, or use plain memory"
    } else {
        "use a smaller depth or block size, or plain memory"
    };
    MemoryError { call, bytes, error: io::Error::last_os_error(), remedy }
}

fn mapped(bytes: usize, flags: libc::c_int) -> Result<NonNull<u8>, MemoryError> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new anonymous mapping touches no memory that is in use.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags | libc::MAP_ANONYMOUS, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(failed("mmap", bytes, flags & libc::MAP_HUGETLB != 0));
    }
    Ok(NonNull::new(start.cast()).expect("the kernel maps nothing at 0"))
}

fn segment(bytes: usize, flags: libc::c_int) -> Result<NonNull<u8>, MemoryError> {
    let is_huge = flags & libc::SHM_HUGETLB != 0;
    // SAFETY: no memory is passed.
    let id = unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, libc::IPC_CREAT | 0o600 | flags) };
    if id < 0 {
        return Err(failed("shmget", bytes, is_huge));
    }
    // SAFETY: attaching at an address that the kernel chooses touches no memory that is in use.
    let start = unsafe { libc::shmat(id, ptr::null(), 0) };
    let attached = start.addr() != usize::MAX;
    let error = failed("shmat", bytes, is_huge);
    // Marked for removal while attached: it goes with the last process that has it, however that ends.
    // SAFETY: no memory is passed.
    unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) };
    if !attached {
        return Err(error);
    }
    Ok(NonNull::new(start.cast()).expect("the kernel attaches nothing at 0"))
}

/// Memory that is held and not swapped out, so that less is left for the page cache. Given back when dropped.
#[derive(Debug)]
pub struct Locked(Piece);

impl Locked {
    /// Locks `bytes` of new memory (`mlock(2)`).
    pub fn new(bytes: usize) -> Result<Self, MemoryError> {
        let held = Self(Piece::new(MemorySource::Mapped, bytes)?);
        // SAFETY: the range is our mapping.
        if unsafe { libc::mlock(held.0.start().cast(), held.0.bytes) } != 0 {
            let remedy = "raise the locked-memory limit (ulimit -l), or ask for less";
            return Err(MemoryError { call: "mlock", bytes, error: io::Error::last_os_error(), remedy });
        }
        Ok(held)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.free();
    }
}

/// Runs `make` so that what it asks the allocator for zeroed comes from the kernel as it is, and becomes memory only where
/// something is put. Meant for much that is made at once and of which little is used.
///
/// glibc takes 128 KiB more than it is asked for whenever its heap grows, and then clears that part by writing to it, since it
/// does not remember where it is from (`malloc.c`, `__libc_calloc`: only what it has just asked for counts as cleared).
/// Other allocators are left alone. What stays behind: glibc no longer moves the size from which on it maps memory by itself
/// (`mallopt(3)`, `M_MMAP_THRESHOLD`).
pub fn with_fresh_zeroes<T>(make: impl FnOnce() -> T) -> T {
    /// What `M_TOP_PAD` is where nobody sets it (`mallopt(3)`).
    const USUAL: libc::c_int = 128 << 10;
    grow_by(0);
    let made = make();
    grow_by(USUAL);
    made
}

/// Sets how much more memory than it is asked for the allocator takes.
#[cfg(target_env = "gnu")]
fn grow_by(bytes: libc::c_int) {
    // SAFETY: no memory is passed. The allocator's lock is held while the number is set; another thread that grows a heap at
    // the same time takes one number or the other.
    unsafe { libc::mallopt(libc::M_TOP_PAD, bytes) };
}

/// Sets how much more memory than it is asked for the allocator takes.
#[cfg(not(target_env = "gnu"))]
fn grow_by(_bytes: libc::c_int) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_memory_counts_as_locked() {
        let locked_kib = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
        };
        let before = locked_kib();
        let held = Locked::new(64 << 10).expect("every process may lock 64 KiB");
        assert!(locked_kib() >= before + 64);
        drop(held);
        let too_much = Locked::new(1 << 46).unwrap_err().to_string();
        assert!(too_much.contains("70368744177664 B"), "{too_much}");
    }
}
