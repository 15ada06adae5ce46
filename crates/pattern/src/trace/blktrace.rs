//! Binary traces of blktrace, as `blkparse -d` puts them together: events of the block layer, of which those count that
//! put a request into a queue. The format is the kernel's, `struct blk_io_trace` in `include/uapi/linux/blktrace_api.h`.

use super::{Action, Called, Gatherer, TraceError};
use fathom_schema::OperationKind;
use std::io::{self, BufRead, Read};

/// Bytes of an event without what follows it.
const EVENT_BYTES: usize = 48;
/// The first word of an event, without the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
/// The only version there is.
const VERSION: u32 = 7;
/// Sectors are of 512 bytes, whatever those of the device are.
const SECTOR_BYTES: u64 = 512;
/// Bits of the minor number in a device's number.
const MINOR_BITS: u32 = 20;
/// Deepest queue that completions show: of stacked devices not all of them are told, and the count runs away. fio's bound.
const DEPTH_MAX: u32 = 1024;

/// Categories of an event, in the upper half of its action.
const WRITE: u32 = 1 << (16 + 1);
const FLUSH: u32 = 1 << (16 + 2);
const NOTIFY: u32 = 1 << (16 + 10);
const DISCARD: u32 = 1 << (16 + 13);
const READ: u32 = 1 << 16;

/// What happened, in the lower half.
const QUEUED: u32 = 1;
const BACK_MERGED: u32 = 2;
const FRONT_MERGED: u32 = 3;
const COMPLETED: u32 = 8;

/// In which order the bytes of numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// The order of a trace that begins with these bytes; `None` when it is no binary trace.
pub(super) fn order_of(first: &[u8]) -> Option<Order> {
    let word: [u8; 4] = first.get(..4)?.try_into().ok()?;
    if u32::from_le_bytes(word) & !0xff == MAGIC {
        Some(Order::Little)
    } else if u32::from_be_bytes(word) & !0xff == MAGIC {
        Some(Order::Big)
    } else {
        None
    }
}

/// One event, as far as it matters.
struct BlockEvent {
    magic: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    /// Bytes behind it.
    more: u16,
}

impl BlockEvent {
    fn of(bytes: &[u8; EVENT_BYTES], order: Order) -> Self {
        let short = |at: usize| {
            let word = [bytes[at], bytes[at + 1]];
            if order == Order::Little { u16::from_le_bytes(word) } else { u16::from_be_bytes(word) }
        };
        let word = |at: usize| {
            let word = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            if order == Order::Little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) }
        };
        let long = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            if order == Order::Little { second << 32 | first } else { first << 32 | second }
        };
        // At 4 the number of the event, at 32 the process, at 40 the CPU, at 44 an error.
        Self {
            magic: word(0),
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action: word(28),
            device: word(36),
            more: short(46),
        }
    }

    fn direction(&self) -> Option<usize> {
        [READ, WRITE, DISCARD].iter().position(|&category| self.action & category != 0)
    }
}

/// Requests in flight by direction, as far as completions tell: counted up by those that are queued, down by those that
/// are merged, and taken as the depth at each completion, which is how fio finds a trace's depth.
#[derive(Default)]
struct Depths {
    now: [i64; 3],
    most: [i64; 3],
}

impl Depths {
    fn note(&mut self, event: &BlockEvent) {
        let Some(direction) = event.direction() else { return };
        match event.action & 0xffff {
            QUEUED => self.now[direction] += 1,
            BACK_MERGED | FRONT_MERGED => self.now[direction] -= 1,
            COMPLETED => {
                let now = std::mem::take(&mut self.now[direction]);
                self.most[direction] = self.most[direction].max(now);
            }
            _ => {}
        }
    }

    fn depth(&self) -> u32 {
        let most = self.most.iter().copied().max().unwrap_or_default();
        u32::try_from(most).unwrap_or(0).clamp(1, DEPTH_MAX)
    }
}

pub(super) fn read(
    input: &mut dyn BufRead,
    order: Order,
    gatherer: &mut Gatherer<'_>,
) -> Result<(), TraceError> {
    let mut depths = Depths::default();
    let mut number = 0_u64;
    loop {
        let bytes = match event(input)? {
            Next::Whole(bytes) => bytes,
            // What a killed tracer leaves: all before it is whole.
            Next::Cut if number > 0 => {
                gatherer.fault(&format!("event {}", number + 1), CUT_OFF);
                break;
            }
            Next::Cut => return Err(TraceError::Format("it is cut off within an event".to_owned())),
            Next::End => break,
        };
        number += 1;
        let event = BlockEvent::of(&bytes, order);
        let bad = |what: String| TraceError::Format(format!("event {number} has {what}"));
        if event.magic & !0xff != MAGIC {
            return Err(bad(format!("the mark {:#010x}, where {MAGIC:#010x} begins one", event.magic)));
        }
        if event.magic & 0xff != VERSION {
            return Err(bad(format!("version {}; {VERSION} is known", event.magic & 0xff)));
        }
        let more = u64::from(event.more);
        if io::copy(&mut (&mut *input).take(more), &mut io::sink())? < more {
            gatherer.fault(&format!("event {number}"), CUT_OFF);
            break;
        }
        if event.action & NOTIFY != 0 {
            continue;
        }
        depths.note(&event);
        if event.action & 0xffff == QUEUED {
            take(&event, number, gatherer)?;
        }
    }
    gatherer.fact.depth = Some(depths.depth());
    Ok(())
}

/// What is said of an event within which a trace ends.
const CUT_OFF: &str = "not all of it: the trace is cut off there";

/// What there is of a next event.
enum Next {
    Whole([u8; EVENT_BYTES]),
    /// A part of it.
    Cut,
    /// Nothing: the trace is at its end.
    End,
}

fn event(input: &mut dyn BufRead) -> Result<Next, TraceError> {
    let mut bytes = [0; EVENT_BYTES];
    let mut filled = 0;
    while filled < EVENT_BYTES {
        match input.read(&mut bytes[filled..])? {
            0 if filled == 0 => return Ok(Next::End),
            0 => return Ok(Next::Cut),
            more => filled += more,
        }
    }
    Ok(Next::Whole(bytes))
}

/// Takes an event that put a request into a queue.
fn take(event: &BlockEvent, number: u64, gatherer: &mut Gatherer<'_>) -> Result<(), TraceError> {
    if let Err(what) = gatherer.stamp(event.time_ns) {
        gatherer.fault(&format!("event {number}"), &what);
        return Ok(());
    }
    let action = match event.action {
        action if action & DISCARD != 0 => Action::Trim,
        action if action & FLUSH != 0 => Action::Sync,
        action if action & WRITE != 0 => Action::Write,
        _ => Action::Read,
    };
    let place = || format!("event {number}");
    if action == Action::Sync && event.bytes > 0 && !gatherer.rule.skips[OperationKind::Sync.index()] {
        gatherer.fault(&place(), "a flush with data, of which the flush alone is replayed, as with fio");
    }
    let align = gatherer.rule.align;
    let length = u64::from(event.bytes).next_multiple_of(align);
    let (Ok(length), Some(offset)) = (u32::try_from(length), event.sector.checked_mul(SECTOR_BYTES)) else {
        gatherer.fault(&place(), "it ends beyond 2^63 bytes");
        return Ok(());
    };
    let device = Called::Device(event.device >> MINOR_BITS, event.device & ((1 << MINOR_BITS) - 1));
    gatherer.take(device, action, offset, length, &place)
}
