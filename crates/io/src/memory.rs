//! Memory for buffers, from where a job wants it: the allocator, mappings, segments, huge pages; and memory that is only
//! held. It knows nothing of what is put there.

use fathom_schema::MemorySource;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::{fmt, io, ptr};

/// Alignment of every piece: a page.
pub(crate) const ALIGN: usize = 4096;

const FOR_BUFFERS: &str = "for buffers";
const TO_BE_HELD: &str = "to be held (locked_memory)";

/// Why there is no such memory.
#[derive(Debug)]
pub struct MemoryError {
    call: &'static str,
    bytes: usize,
    purpose: &'static str,
    error: io::Error,
    remedy: &'static str,
}

impl MemoryError {
    /// The kernel's number for it.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.error.raw_os_error()
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, bytes, purpose, error, remedy } = self;
        write!(f, "{call} of {bytes} B {purpose}: {error}; {remedy}")
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
            MemorySource::Heap => allocated(bytes)?,
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

fn allocated(bytes: usize) -> Result<NonNull<u8>, MemoryError> {
    // SAFETY: the layout's size is not zero: it is at least a page.
    let start = unsafe { alloc_zeroed(layout(bytes)) };
    let error = || MemoryError {
        call: "allocation",
        bytes,
        purpose: FOR_BUFFERS,
        error: io::Error::from_raw_os_error(libc::ENOMEM),
        remedy: "use a smaller depth or block size",
    };
    NonNull::new(start).ok_or_else(error)
}

fn failed(call: &'static str, bytes: usize, is_huge: bool) -> MemoryError {
    let remedy = if is_huge {
        "set huge pages aside with the sysctl vm.nr_hugepages, or use plain memory"
    } else {
        "use a smaller depth or block size, or plain memory"
    };
    MemoryError { call, bytes, purpose: FOR_BUFFERS, error: io::Error::last_os_error(), remedy }
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
        let of_locked = |error| MemoryError {
            purpose: TO_BE_HELD,
            remedy: "use a smaller locked_memory; each worker holds that much",
            ..error
        };
        let held = Self(Piece::new(MemorySource::Mapped, bytes).map_err(of_locked)?);
        // SAFETY: the range is our mapping.
        if unsafe { libc::mlock(held.0.start().cast(), held.0.bytes) } != 0 {
            let remedy = "raise the locked-memory limit (ulimit -l), or use a smaller locked_memory; each worker holds \
                          that much";
            let error = io::Error::last_os_error();
            return Err(MemoryError { call: "mlock", bytes, purpose: TO_BE_HELD, error, remedy });
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
/// It runs on a thread of its own, to which glibc gives a heap of its own as long as there are not very many. There it knows
/// what is fresh; of the first thread's heap it takes all for used that has ever been part of it (`malloc.c`,
/// `__libc_calloc`), and clears it by writing to it. So it does where a small piece that was given back lies before the fresh ones
/// and is joined with them on the way: such pieces are not kept by themselves meanwhile. Other allocators are left alone. Where
/// no thread can be had, it runs here.
pub fn with_fresh_zeroes<T: Send>(make: impl Fn() -> T + Send + Sync) -> T {
    let _whole = NoFastBins::new();
    std::thread::scope(|scope| {
        let made = std::thread::Builder::new().spawn_scoped(scope, &make);
        made.map_or_else(
            |_| make(),
            |made| made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        )
    })
}

/// While it lives, glibc joins small pieces of memory with their neighbours as they are given back.
struct NoFastBins;

impl NoFastBins {
    fn new() -> Self {
        Self::keep_up_to(0);
        Self
    }

    /// Sets up to which size pieces are kept by themselves.
    #[cfg(target_env = "gnu")]
    fn keep_up_to(bytes: usize) {
        let bytes = libc::c_int::try_from(bytes).expect("a small piece");
        // SAFETY: takes plain numbers. What other threads read of it meanwhile is one word, which says no more than where they
        // put what they give back.
        unsafe { libc::mallopt(libc::M_MXFAST, bytes) };
    }

    #[cfg(not(target_env = "gnu"))]
    fn keep_up_to(_: usize) {}
}

impl Drop for NoFastBins {
    fn drop(&mut self) {
        // What it is from the start on (mallopt(3)).
        Self::keep_up_to(64 * size_of::<usize>() / 4);
    }
}

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
        assert!(too_much.contains("70368744177664 B to be held (locked_memory)"), "{too_much}");
        assert!(!too_much.contains("depth") && too_much.contains("a smaller locked_memory"), "{too_much}");
    }

    /// As much as a worker's histograms take, and what lies between them in an engine: pieces on lines of their own.
    #[cfg(target_env = "gnu")]
    #[test]
    fn what_is_made_with_fresh_zeroes_becomes_no_memory() {
        #[repr(align(128))]
        struct Line([u8; 128]);
        const PIECES: u64 = 2000;
        const WORDS: usize = 4608;
        let faults = with_fresh_zeroes(|| {
            let before = crate::thread::usage().minor_faults;
            let piece = |_| {
                let line = Box::new(std::hint::black_box(Line([1; 128])));
                assert_eq!(line.0[0], 1);
                (line, vec![0_u64; WORDS])
            };
            let made: Vec<_> = (0..PIECES).map(piece).collect();
            assert!(made.iter().all(|(_, words)| words.len() == WORDS));
            crate::thread::usage().minor_faults - before
        });
        // One page for what is written between two of them, and one where the allocator notes its size.
        assert!(faults < PIECES * 3, "{faults} pages for {PIECES} pieces");
    }
}
