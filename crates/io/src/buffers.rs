//! The buffers of one worker: one piece of memory, a slot of equal size per operation that can be in flight.
//!
//! A slot is either ours (the worker may fill it) or lent (the kernel may read or write it); touching a lent slot is a
//! bug and stops the program.

use crate::memory::{self, MemoryError, Piece};
use fathom_schema::Memory;
use std::cell::Cell;

/// Alignment of every slot of at least a page, but for the shift that was asked for: satisfies every device's direct I/O.
const ALIGN: usize = memory::ALIGN;
/// Alignment of smaller slots, the smallest sector of any device. A page apart they would all lie in the same few sets of
/// the processor's first cache and push one another out of it.
const SMALL_ALIGN: usize = 512;

/// The buffers of one worker. Not shared between threads.
#[derive(Debug)]
pub struct Buffers {
    memory: Piece,
    shift_bytes: usize,
    /// Bytes from one slot to the next.
    slot_bytes: Cell<usize>,
    /// As many as it was made for.
    slot_bytes_max: usize,
    lent: Box<[Cell<bool>]>,
}

impl Buffers {
    /// `slots` buffers of at least `bytes` each, zeroed. `slots` and `bytes` are at least 1.
    ///
    /// # Panics
    /// When the product does not fit the address space, which the planner sees to, or memory.
    pub fn new(slots: u32, bytes: u32) -> Self {
        Self::of(&Memory::default(), slots, bytes).expect("there is memory for the buffers")
    }

    /// As [`Buffers::new`], in this memory.
    ///
    /// # Panics
    /// When the product does not fit the address space, which the planner sees to.
    pub fn of(memory: &Memory, slots: u32, bytes: u32) -> Result<Self, MemoryError> {
        let shift_bytes = memory.shift_bytes as usize;
        let bytes = bytes.max(1) as usize;
        let slot_bytes = aligned(bytes);
        let total =
            slot_bytes.checked_mul(slots.max(1) as usize).and_then(|all| all.checked_add(shift_bytes));
        let memory = Piece::new(memory.source, total.expect("depth × block size fits the address space"))?;
        Ok(Self {
            memory,
            shift_bytes,
            slot_bytes: Cell::new(slot_bytes),
            slot_bytes_max: slot_bytes,
            lent: (0..slots.max(1)).map(|_| Cell::new(false)).collect(),
        })
    }

    /// Number of slots.
    pub fn slots(&self) -> u32 {
        u32::try_from(self.lent.len()).expect("made from a u32")
    }

    /// Bytes of one slot: a multiple of the page, or below it of 512.
    #[inline]
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes.get()
    }

    /// Lets the slots be of `bytes` each from here on, as if they had been made so: small ones lie side by side whatever the
    /// memory was used for before.
    ///
    /// # Panics
    /// When a slot is lent, or was made smaller.
    pub fn divide(&self, bytes: u32) {
        let slot_bytes = aligned(bytes.max(1) as usize);
        assert!(!self.any_lent(), "a slot is in flight");
        assert!(slot_bytes <= self.slot_bytes_max, "{bytes} bytes do not fit {}", self.slot_bytes_max);
        self.slot_bytes.set(slot_bytes);
    }

    /// Gives the first `length` bytes of a slot to `fill`.
    ///
    /// # Panics
    /// When the slot is lent, or `length` is more than a slot.
    #[inline]
    pub fn fill<R>(&self, slot: u32, length: usize, fill: impl FnOnce(&mut [u8]) -> R) -> R {
        let flag = &self.lent[slot as usize];
        assert!(!flag.get(), "slot {slot} is in flight");
        assert!(length <= self.slot_bytes(), "{length} bytes do not fit a slot of {}", self.slot_bytes());
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
        // SAFETY: the offset stays inside the memory: slot < slots, and the shift was added to their sum.
        unsafe { self.memory.start().add(self.shift_bytes + slot as usize * self.slot_bytes()) }
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

    /// Whether the kernel may touch any slot.
    pub fn any_lent(&self) -> bool {
        self.lent.iter().any(Cell::get)
    }
}

/// Bytes of a slot that holds so many.
const fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(if bytes < ALIGN { SMALL_ALIGN } else { ALIGN })
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // Memory that the kernel may still write to is leaked rather than reused: a stuck device must not corrupt us.
        if !self.any_lent() {
            self.memory.free();
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
        assert_eq!(Buffers::new(3, 512).slot_bytes(), 512);
        assert_eq!(Buffers::new(3, 700).slot_bytes(), 1024);
        for slot in 0..3 {
            let expect = u8::try_from(slot).unwrap() + 1;
            buffers.fill(slot, 8192, |bytes| assert!(bytes.iter().all(|&b| b == expect)));
        }
    }

    #[test]
    fn every_kind_of_memory_holds_what_is_put_there() {
        use fathom_schema::MemorySource::{Heap, Mapped, MappedHuge, MappedShared, Segment, SegmentHuge};
        let page_bytes = 2 << 20;
        for source in
            [Heap, Mapped, MappedShared, Segment, MappedHuge { page_bytes }, SegmentHuge { page_bytes }]
        {
            for shift_bytes in [0, 64] {
                let memory = Memory { source, shift_bytes, ..Memory::default() };
                let buffers = match Buffers::of(&memory, 3, 5000) {
                    Ok(buffers) => buffers,
                    Err(error) => {
                        // Huge pages have to be set aside by the administrator.
                        assert!(matches!(source, MappedHuge { .. } | SegmentHuge { .. }), "{error}");
                        assert!(error.to_string().contains("nr_hugepages"), "{error}");
                        continue;
                    }
                };
                for slot in 0..3 {
                    buffers.fill(slot, 8192, |bytes| {
                        assert_eq!(bytes.as_ptr() as usize % ALIGN, shift_bytes as usize, "{source:?}");
                        assert!(bytes.iter().all(|&byte| byte == 0), "{source:?}");
                        bytes.fill(u8::try_from(slot).unwrap() + 1);
                    });
                }
                for slot in 0..3 {
                    let expect = u8::try_from(slot).unwrap() + 1;
                    buffers.fill(slot, 8192, |bytes| assert!(bytes.iter().all(|&b| b == expect)));
                }
            }
        }
    }

    #[test]
    fn slots_are_divided_anew_inside_the_same_memory() {
        let buffers = Buffers::new(3, 8192);
        let start = buffers.pointer(0);
        for (bytes, expect) in [(512, 512), (5000, 8192), (4096, 4096)] {
            buffers.divide(bytes);
            assert_eq!(buffers.slot_bytes(), expect);
            assert_eq!(buffers.pointer(0), start);
            assert_eq!(buffers.pointer(2) as usize - start as usize, 2 * expect);
        }
    }

    #[test]
    #[should_panic(expected = "8193 bytes do not fit 8192")]
    fn slots_never_grow() {
        Buffers::new(1, 8192).divide(8193);
    }

    #[test]
    #[should_panic(expected = "slot 1 is in flight")]
    fn a_lent_slot_is_not_touched() {
        let buffers = Buffers::new(2, 512);
        buffers.lend(1);
        buffers.fill(1, 1, |_| ());
    }
}
