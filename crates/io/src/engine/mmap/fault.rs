//! Accesses to a mapping that have nothing behind them: a device that fails, a file that was cut short meanwhile, or a hole that there
//! is no room for. The kernel tells of them by `SIGBUS`; here they become an error of the one operation. Signals of anything else
//! go where they went before.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

/// What was to be done with the signal before, or why it cannot be caught.
static BEFORE: OnceLock<Result<libc::sigaction, i32>> = OnceLock::new();

/// The addresses that this thread is copying from or to, and whether something of them had nothing behind it.
struct Guarded {
    start: AtomicUsize,
    end: AtomicUsize,
    page: AtomicUsize,
    is_hit: AtomicBool,
}

thread_local! {
    // Neither made late nor dropped: a signal may ask for it at any time.
    static GUARDED: Guarded = const {
        Guarded {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            page: AtomicUsize::new(1),
            is_hit: AtomicBool::new(false),
        }
    };
}

/// Has the signals of guarded accesses become errors, from here on and for the process.
///
/// # Errors
/// What the kernel says of it.
pub(super) fn catch() -> io::Result<()> {
    BEFORE.get_or_init(installed).map(|_| ()).map_err(io::Error::from_raw_os_error)
}

/// Puts the handler in place, and returns what was there.
fn installed() -> Result<libc::sigaction, i32> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeroes are an action without flags, a mask or a handler.
    let action = unsafe { action.assume_init_mut() };
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the handler does nothing that a handler must not do, see there; `before` has room for an action.
    if unsafe { libc::sigaction(libc::SIGBUS, action, before.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
    }
    // SAFETY: filled by the kernel, and zeroes are one as well.
    Ok(unsafe { before.assume_init() })
}

/// Does something that accesses mapped memory in this range; false when some of it had nothing behind it, in place of which there is
/// then a page of nobody's: whoever guards has to map it anew. `page`: bytes of a page.
pub(super) fn guarded(start: usize, bytes: usize, page: usize, access: impl FnOnce()) -> bool {
    GUARDED.with(|guarded| {
        guarded.is_hit.store(false, Ordering::Relaxed);
        guarded.page.store(page, Ordering::Relaxed);
        guarded.start.store(start, Ordering::Relaxed);
        guarded.end.store(start + bytes, Ordering::Relaxed);
        // The access stays between both: a signal may come of any instruction in it.
        compiler_fence(Ordering::SeqCst);
        access();
        compiler_fence(Ordering::SeqCst);
        guarded.end.store(0, Ordering::Relaxed);
        !guarded.is_hit.load(Ordering::Relaxed)
    })
}

/// Puts a page of its own where an access of this thread had none, and has the access go on. It touches only memory of its thread that
/// was there before, and calls only what is one call of the kernel.
extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler with SA_SIGINFO what it tells, which for this signal has an address.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    // Somebody else's signals (`kill`), and those of memory that nobody accesses now, come of no access.
    let is_of_access = code > 0 && code != libc::BUS_MCEERR_AO;
    if is_of_access && GUARDED.with(|guarded| stands_in(guarded, address)) {
        return;
    }
    // Nothing of ours: told to whoever was asked before. An access is done again then; what is none is sent again.
    let default = MaybeUninit::<libc::sigaction>::zeroed();
    let before = BEFORE.get().and_then(|before| before.as_ref().ok());
    let before = before.map_or(default.as_ptr(), std::ptr::from_ref);
    // SAFETY: an action that was in force before, or the default one, which is all zeroes; a signal is sent to this thread.
    unsafe {
        libc::sigaction(libc::SIGBUS, before, null_mut());
        if !is_of_access {
            libc::raise(signal);
        }
    }
}

/// Maps a page of nobody's at an address that is guarded; false where it is not, or there is no room for one.
fn stands_in(guarded: &Guarded, address: usize) -> bool {
    let (start, end) = (guarded.start.load(Ordering::Relaxed), guarded.end.load(Ordering::Relaxed));
    let page = guarded.page.load(Ordering::Relaxed);
    if !(start..end).contains(&address) {
        return false;
    }
    let place = (address - address % page) as *mut libc::c_void;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page is one of the mapping that the guarded access is in, which nobody else uses.
    let made = unsafe { libc::mmap(place, page, protection, flags, -1, 0) };
    let is_made = made != libc::MAP_FAILED;
    if is_made {
        guarded.is_hit.store(true, Ordering::Relaxed);
    }
    is_made
}
