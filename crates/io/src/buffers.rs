//! The buffers of one worker: one allocation, page-aligned, a slot of equal size per operation that can be in flight.
//!
//! A slot is either ours (the worker may fill it) or lent (the kernel may read or write it); touching a lent slot is a
//! bug and stops the program.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;

/// Alignment of every slot: a page, which satisfies every device's direct I/O.
const ALIGN: usize = 4096;

/// The buffers of one worker. Not shared between threads.
#[derive(Debug)]
pub struct Buffers {
    memory: NonNull<u8>,
    layout: Layout,
    slot_bytes: usize,
    lent: Box<[Cell<bool>]>,
}

impl Buffers {
    /// `slots` buffers of at least `bytes` each, zeroed. `slots` and `bytes` are at least 1.
    ///
    /// # Panics
    /// When the product does not fit the address space; the planner bounds both.
    pub fn new(slots: u32, bytes: u32) -> Self {
        let slot_bytes = (bytes.max(1) as usize).next_multiple_of(ALIGN);
        let total =
            slot_bytes.checked_mul(slots.max(1) as usize).expect("depth × block size fits the address space");
        let layout = Layout::from_size_align(total, ALIGN).expect("a page-aligned layout below isize::MAX");
        // SAFETY: the layout's size is not zero: both factors are at least 1.
        let memory = unsafe { alloc_zeroed(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Self { memory, layout, slot_bytes, lent: (0..slots.max(1)).map(|_| Cell::new(false)).collect() }
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        u32::try_from(self.lent.len()).expect("made from a u32")
    }

    /// Bytes of one slot, a multiple of the page.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Gives the first `length` bytes of a slot to `fill`.
    ///
    /// # Panics
    /// When the slot is lent, or `length` is more than a slot.
    #[inline]
    pub fn fill<R>(&self, slot: u32, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let flag = &self.lent[slot as usize];
        assert!(!flag.get(), "slot {slot} is in flight");
        assert!(length <= self.slot_bytes, "{length} bytes do not fit a slot of {}", self.slot_bytes);
        // Lent for the duration of the closure, so that a nested call on the same slot is caught as well.
        flag.set(true);
        // SAFETY: the slot lies inside our allocation (index checked by `lent`, length above); it was not lent, so no
        // kernel operation and no other closure refers to it, and `Buffers` is not Sync.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.pointer(slot), length) };
        let result = fill(bytes);
        flag.set(false);
        result
    }

    /// Start of a slot, for handing to the kernel.
    #[inline]
    pub(crate) fn pointer(&self, slot: u32) -> *mut u8 {
        debug_assert!((slot as usize) < self.lent.len());
        // SAFETY: the offset stays inside the allocation: slot < slots.
        unsafe { self.memory.as_ptr().add(slot as usize * self.slot_bytes) }
    }

    /// Marks a slot as the kernel's and returns its start.
    #[inline]
    pub(crate) fn lend(&self, slot: u32) -> *mut u8 {
        let was = self.lent[slot as usize].replace(true);
        debug_assert!(!was, "slot {slot} is lent twice");
        self.pointer(slot)
    }

    /// Marks a slot as ours again.
    #[inline]
    pub(crate) fn give_back(&self, slot: u32) {
        let was = self.lent[slot as usize].replace(false);
        debug_assert!(was, "slot {slot} was not lent");
    }

    /// Marks all slots as ours again: for an engine whose kernel side is gone with nothing in flight.
    pub(crate) fn reclaim(&self) {
        self.lent.iter().for_each(|slot| slot.set(false));
    }

    /// True while the kernel may touch any slot.
    pub(crate) fn any_lent(&self) -> bool {
        self.lent.iter().any(Cell::get)
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // Memory that the kernel may still write to is leaked rather than reused: a stuck device must not corrupt us.
        if !self.any_lent() {
            // SAFETY: allocated in `new` with this layout and not freed before.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_disjoint() {
        let buffers = Buffers::new(3, 5000);
        assert_eq!(buffers.slot_bytes(), 8192);
        for slot in 0..3 {
            buffers.fill(slot, 8192, |bytes| {
                assert_eq!(bytes.as_ptr() as usize % ALIGN, 0);
                bytes.fill(u8::try_from(slot).unwrap() + 1);
            });
        }
        for slot in 0..3 {
            let expect = u8::try_from(slot).unwrap() + 1;
            buffers.fill(slot, 8192, |bytes| assert!(bytes.iter().all(|&b| b == expect)));
        }
    }

    #[test]
    #[should_panic(expected = "slot 1 is in flight")]
    fn a_lent_slot_is_not_touched() {
        let buffers = Buffers::new(2, 512);
        buffers.lend(1);
        buffers.fill(1, 1, |_| ());
    }
}
