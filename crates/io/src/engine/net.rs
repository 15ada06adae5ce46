//! Sockets: reads receive, writes send. The messages that open and close a link are fio's, so that one end may be fio.
//!
//! Calls that wait come back after a tenth of a second without having moved anything, so that whoever waits for a peer can
//! be stopped; what was moved by then is kept for the next attempt.

mod meeting;

use super::{
    Capabilities, Completion, Engine, EngineError, Operation, Setup, TargetHandle, Wait, last_errno,
};
use fathom_schema::{EngineKind, OperationKind, Peer, Protocol};
use meeting::{Link, Listening, addresses};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

/// How long a call waits before it comes back.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// First word of fio's messages about a link.
const LINK_MAGIC: u32 = 0x6c69_6e6b;
/// Second word of the message that opens one for datagrams; both words in network order.
const LINK_OPEN: u32 = 0x98;
/// Second word of the message that closes one; both words in little-endian order.
const LINK_CLOSE: u32 = 0x89;

fn open_message() -> [u8; 8] {
    (u64::from(LINK_MAGIC) << 32 | u64::from(LINK_OPEN)).to_be_bytes()
}

fn close_message() -> [u8; 8] {
    (u64::from(LINK_CLOSE) << 32 | u64::from(LINK_MAGIC)).to_le_bytes()
}

/// Sends or receives each operation's bytes over one connection.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "how it is set, and where its one operation stands")]
pub struct Net {
    ping_pong: bool,
    setup: Option<Setup>,
    peer: Option<Peer>,
    listening: Option<Listening>,
    /// Where the peer is, once that was asked for.
    addresses: Vec<SocketAddr>,
    link: Option<Link>,
    /// Bytes of the current operation that were moved, and whether those are the answer's already.
    moved: usize,
    answering: bool,
    receives: bool,
    /// Whether it has received anything, and whether it has sent anything.
    has_received: bool,
    has_sent: bool,
    done: Completion,
    waiting: bool,
}

/// How a transfer ended.
enum Moved {
    /// All that there is to be had, which may be less than was asked for.
    All(usize),
    /// Nothing has come, or gone, for a while.
    NotYet,
    /// The other end has closed.
    Over,
    Failed(i32),
}

impl Net {
    /// One whose operations are each answered by the other end with the same bytes, or not.
    pub fn new(ping_pong: bool) -> Self {
        Self {
            ping_pong,
            setup: None,
            peer: None,
            listening: None,
            addresses: Vec::new(),
            link: None,
            moved: 0,
            answering: false,
            receives: false,
            has_received: false,
            has_sent: false,
            done: Completion::default(),
            waiting: false,
        }
    }

    fn perform(&mut self, operation: &Operation) -> i32 {
        let setup = self.setup.as_ref().expect("open is called before push");
        let Some(link) = &mut self.link else { return -libc::ENOTCONN };
        let sends = match operation.kind {
            OperationKind::Read => false,
            OperationKind::Write => true,
            OperationKind::Trim | OperationKind::Sync => return -libc::EOPNOTSUPP,
        };
        self.receives = !sends;
        self.has_received |= !sends;
        self.has_sent |= sends;
        let length = operation.length as usize;
        assert!(length <= setup.buffers.slot_bytes(), "an operation fits its slot");
        let memory = setup.buffers.lend(operation.slot);
        let outcome = loop {
            // What comes back has the length of what went out.
            let is_sent = sends != self.answering;
            let moved = if is_sent {
                // SAFETY: the slot holds `length` bytes (asserted above) and is lent to this call alone.
                unsafe { send(link, memory, length, &mut self.moved) }
            } else {
                // SAFETY: as above; they may be overwritten.
                unsafe { receive(link, memory, length, &mut self.moved) }
            };
            match moved {
                Moved::All(_) if self.ping_pong && !self.answering => {
                    self.answering = true;
                    self.moved = 0;
                }
                Moved::All(moved) => break i32::try_from(moved).unwrap_or(i32::MAX),
                Moved::NotYet => break -libc::EAGAIN,
                Moved::Over => break 0,
                Moved::Failed(errno) => break -errno,
            }
        };
        setup.buffers.give_back(operation.slot);
        if outcome != -libc::EAGAIN {
            self.answering = false;
            self.moved = 0;
        }
        outcome
    }
}

/// Sends `length` bytes from `memory` on, from `moved` on.
///
/// # Safety
/// `memory` must have `length` bytes that may be read during the call.
unsafe fn send(link: &Link, memory: *const u8, length: usize, moved: &mut usize) -> Moved {
    loop {
        let rest = length - *moved;
        let (address, address_bytes) = link.destination();
        // SAFETY: the caller's promise about the memory; the address is null or borrowed from `link`.
        let sent = unsafe {
            let from = memory.add(*moved).cast();
            libc::sendto(link.descriptor(), from, rest, libc::MSG_NOSIGNAL, address, address_bytes)
        };
        match usize::try_from(sent) {
            Ok(sent) => {
                *moved += sent;
                if *moved >= length || link.is_datagram {
                    return Moved::All(*moved);
                }
            }
            Err(_) => match last_errno() {
                libc::EINTR | libc::EAGAIN | libc::ENOBUFS => return Moved::NotYet,
                errno => return Moved::Failed(errno),
            },
        }
    }
}

/// Receives up to `length` bytes into `memory`, from `moved` on: all of them, fewer where the other end has closed, or one
/// datagram.
///
/// # Safety
/// `memory` must have `length` bytes that may be overwritten during the call.
unsafe fn receive(link: &mut Link, memory: *mut u8, length: usize, moved: &mut usize) -> Moved {
    loop {
        let rest = length - *moved;
        let (address, address_bytes) = link.sender();
        // SAFETY: the caller's promise about the memory; the address is null or has room for what its length says.
        let received = unsafe {
            let into = memory.add(*moved).cast();
            libc::recvfrom(link.descriptor(), into, rest, libc::MSG_WAITALL, address, address_bytes)
        };
        match usize::try_from(received) {
            Ok(received) => {
                *moved += received;
                // SAFETY: these bytes have just been received, and nothing else refers to them.
                let there = unsafe { std::slice::from_raw_parts(memory, *moved) };
                if link.is_datagram {
                    match there {
                        _ if there == close_message() => return Moved::Over,
                        // Of no bytes, or once more that the link is open.
                        _ if there.is_empty() || there == open_message() => *moved = 0,
                        _ => return Moved::All(*moved),
                    }
                } else if *moved >= length {
                    return Moved::All(*moved);
                } else if received == 0 {
                    let whole = there.strip_suffix(&close_message()).map_or(*moved, <[u8]>::len);
                    return if whole == 0 { Moved::Over } else { Moved::All(whole) };
                }
            }
            Err(_) => match last_errno() {
                libc::EINTR | libc::EAGAIN => return Moved::NotYet,
                errno => return Moved::Failed(errno),
            },
        }
    }
}

/// Waits a while for something to be had from a descriptor.
fn is_readable_soon(descriptor: RawFd) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let milliseconds = i32::try_from(LOOK_EVERY.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one entry, which lives for the whole call.
    match unsafe { libc::poll(&raw mut poll, 1, milliseconds) } {
        0 => Ok(false),
        1.. => Ok(true),
        _ if last_errno() == libc::EINTR => Ok(false),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Engine for Net {
    const SYNCHRONOUS: bool = EngineKind::Net { ping_pong: false }.is_synchronous();
    const INSTANT: bool = false;
    const WAITS_FOR_OTHERS: bool = true;

    fn capabilities(&self) -> Capabilities {
        let mut features: Vec<_> = self.peer.iter().map(|peer| peer.protocol.word()).collect();
        if self.ping_pong {
            features.push("ping-pong");
        }
        Capabilities { name: EngineKind::Net { ping_pong: false }.name(), virtual_time: false, features }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        let peer = setup.targets.iter().find_map(|target| match &target.handle {
            TargetHandle::Peer(peer) => Some(peer.clone()),
            _ => None,
        });
        let peer = peer.expect("the planner gives the engine a peer");
        if peer.listens {
            // Before anyone goes anywhere: whoever comes in the same step is awaited already.
            self.listening = Some(Listening::at(&peer).map_err(|error| failed("listen at", &peer, error))?);
        }
        self.peer = Some(peer);
        self.setup = Some(setup);
        Ok(())
    }

    fn meet(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<bool, EngineError> {
        let peer = self.peer.as_ref().expect("open is called before");
        let link = match self.listening.as_mut() {
            Some(listening) => listening
                .await_peer(peer, goes_on)
                .map_err(|error| failed("take a connection at", peer, error))?,
            None => {
                let went = |error| failed("connect to", peer, error);
                if self.addresses.is_empty() && peer.protocol != Protocol::Unix {
                    self.addresses = addresses(peer).map_err(went)?;
                }
                Link::to(peer, &self.addresses, goes_on).map_err(went)?
            }
        };
        let is_met = link.is_some();
        self.link = link;
        Ok(is_met)
    }

    fn per_connection(&self) -> Option<u64> {
        self.peer.as_ref()?.per_connection
    }

    fn part(&mut self) {
        // Both ends part after the same operation: all that was sent has been received, and what comes is the other's end.
        if let Some(link) = self.link.take() {
            link.part(false, true);
        }
        (self.moved, self.answering) = (0, false);
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        debug_assert!(!self.waiting, "a synchronous engine has one operation in flight");
        self.done = Completion { slot: operation.slot, result: self.perform(operation) };
        self.waiting = true;
    }

    #[inline]
    fn submit(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        if !std::mem::take(&mut self.waiting) {
            return Ok(0);
        }
        into[0] = self.done;
        Ok(1)
    }

    fn close(&mut self) {
        if let Some(link) = self.link.take() {
            // Where either may be sending, nobody knows what is a message about the link: both take what still comes.
            let sends_and_receives = self.has_received && self.has_sent && !self.ping_pong;
            let tells = self.ping_pong || !self.receives;
            link.part(tells && !sends_and_receives, self.receives || sends_and_receives);
        }
        self.listening = None;
        self.setup = None;
    }
}

fn failed(action: &'static str, peer: &Peer, error: io::Error) -> EngineError {
    let remedy = match error.raw_os_error() {
        Some(libc::ECONNREFUSED | libc::ENOENT) if !peer.listens => "start the end that listens first",
        Some(libc::EADDRINUSE) => "name a port that nobody else has",
        Some(libc::EADDRNOTAVAIL) => "name an address of this host",
        Some(libc::EACCES) => "use a port above 1023, or run as root",
        _ => "",
    };
    EngineError::Peer { action, peer: peer.to_string(), error, remedy }
}

/// Descriptors are all the same to the calls.
fn raw(of: &impl AsRawFd) -> RawFd {
    of.as_raw_fd()
}
