//! `io_uring_enter(2)`, with no more handed over than a call needs: at one operation per call this is most of its cost.

use io_uring::types;
use std::os::fd::{AsRawFd, RawFd};
use std::thread::{self, ThreadId};
use std::time::Duration;
use std::{io, ptr};

// Of `io_uring.h`.
const REGISTER_RING_FDS: libc::c_uint = 20;
const UNREGISTER_RING_FDS: libc::c_uint = 21;
const ENTER_GETEVENTS: libc::c_uint = 1;
const ENTER_EXT_ARG: libc::c_uint = 1 << 3;
const ENTER_REGISTERED_RING: libc::c_uint = 1 << 4;

/// What an entry is for, beside handing over what is in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Nothing else: what completes while it is taken is in the ring afterwards, what completes later is not looked for.
    HandOver,
    /// Work that the kernel deferred is done.
    LookFor,
    /// As many completions are waited for, so many nanoseconds at most.
    WaitFor(u32, u64),
}

/// The way into a ring. Where the kernel can (5.18), the thread has told it of the ring beforehand, so that it need not be
/// looked up in each call.
#[derive(Debug)]
pub(super) struct Entrance {
    ring: RawFd,
    /// Index among what the thread registered, and which thread that is: another one's index is of something else.
    registered: Option<(u32, ThreadId)>,
}

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct Update {
    offset: u32,
    reserved: u32,
    data: u64,
}

impl Entrance {
    /// The way of the calling thread into `ring`, which must outlive it.
    pub(super) fn new(ring: &io_uring::IoUring) -> Self {
        let ring = ring.as_raw_fd();
        let mut update =
            Update { offset: u32::MAX, reserved: 0, data: u64::try_from(ring).unwrap_or(u64::MAX) };
        let registered = register(ring, REGISTER_RING_FDS, &mut update);
        let registered = registered.then(|| (update.offset, thread::current().id()));
        Self { ring, registered }
    }

    /// Enters: `submit` entries may be taken. Returns how many were.
    ///
    /// # Safety
    /// The buffers and files that the entries refer to live until their completions are there.
    #[inline]
    pub(super) unsafe fn enter(&self, submit: u32, purpose: Purpose) -> io::Result<u32> {
        let (number, mut flags) = match self.registered {
            Some((index, _)) => (index.cast_signed(), ENTER_REGISTERED_RING),
            None => (self.ring, 0),
        };
        let outcome = match purpose {
            Purpose::WaitFor(count, timeout_ns) => {
                let timespec = types::Timespec::from(Duration::from_nanos(timeout_ns));
                let arguments = types::SubmitArgs::new().timespec(&timespec);
                flags |= ENTER_GETEVENTS | ENTER_EXT_ARG;
                let length = size_of::<types::SubmitArgs<'_, '_>>();
                // SAFETY: the argument is what EXT_ARG promises and lives for the whole call; the caller answers for the entries.
                unsafe { system_call(number, submit, count, flags, (&raw const arguments).cast(), length) }
            }
            Purpose::HandOver | Purpose::LookFor => {
                flags |= if purpose == Purpose::LookFor { ENTER_GETEVENTS } else { 0 };
                // SAFETY: there is no argument; the caller answers for the entries.
                unsafe { system_call(number, submit, 0, flags, ptr::null(), 0) }
            }
        };
        u32::try_from(outcome).map_err(|_| io::Error::last_os_error())
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        // What a thread registered goes with it at the latest; until then the kernel would keep the ring.
        if let Some((index, owner)) = self.registered
            && owner == thread::current().id()
        {
            register(self.ring, UNREGISTER_RING_FDS, &mut Update { offset: index, reserved: 0, data: 0 });
        }
    }
}

/// Whether the kernel did what was asked about one ring.
fn register(ring: RawFd, what: libc::c_uint, update: &mut Update) -> bool {
    // SAFETY: `update` is one `struct io_uring_rsrc_update`, writable for the whole call, and the count is 1.
    unsafe { libc::syscall(libc::SYS_io_uring_register, ring, what, &raw mut *update, 1) == 1 }
}

/// # Safety
/// The argument is what the flags promise; what the entries in the ring refer to outlives the ring.
#[inline]
unsafe fn system_call(
    number: i32,
    submit: u32,
    min_complete: u32,
    flags: u32,
    argument: *const libc::c_void,
    length: usize,
) -> libc::c_long {
    // SAFETY: the caller's.
    unsafe { libc::syscall(libc::SYS_io_uring_enter, number, submit, min_complete, flags, argument, length) }
}
