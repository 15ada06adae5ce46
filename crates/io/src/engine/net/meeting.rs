//! How two ends find each other and part: listening, going there, fio's messages about the link.

use super::{LOOK_EVERY, close_message, is_readable_soon, last_errno, open_message, raw};
use crate::clock::monotonic;
use fathom_schema::{Peer, Protocol};
use fathom_units::Nanos;
use std::io::{self, Read};
use std::mem::size_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one attempt to reach a peer lasts before it is looked whether to go on.
const ATTEMPT: Duration = Duration::from_secs(1);
/// Attempts to reach a peer that does not answer: as long as a TCP that gives up after three repetitions.
const ATTEMPTS: u32 = 15;
/// How long the end that received goes on taking what still comes before it hangs up, so that a sender whose time ends at the
/// same moment does not meet a connection that was reset.
const LINGER: Nanos = Nanos::secs(1);

/// An end that waits for the other.
#[derive(Debug)]
pub(super) enum Listening {
    Tcp(TcpListener),
    Udp(UdpSocket),
    /// The path is fathom's own.
    Unix(UnixListener, PathBuf),
}

/// An open link.
#[derive(Debug)]
pub(super) struct Link {
    socket: OwnedFd,
    pub(super) is_datagram: bool,
    /// Of the other end of datagrams.
    address: libc::sockaddr_storage,
    /// 0: none.
    address_bytes: libc::socklen_t,
    /// Whether `address` is where the last datagram came from.
    is_sender: bool,
}

fn blank() -> libc::sockaddr_storage {
    // SAFETY: plain numbers, for which zeros are a value.
    unsafe { std::mem::zeroed() }
}

/// Addresses of a peer. `localhost` is this host, whatever is resolved.
pub(super) fn addresses(peer: &Peer) -> io::Result<Vec<SocketAddr>> {
    let Peer { protocol, host, port, .. } = peer;
    if host == "localhost" {
        let here =
            if protocol.is_v6() { IpAddr::V6(Ipv6Addr::LOCALHOST) } else { IpAddr::V4(Ipv4Addr::LOCALHOST) };
        return Ok(vec![SocketAddr::new(here, *port)]);
    }
    let found: Vec<SocketAddr> =
        (host.as_str(), *port).to_socket_addrs()?.filter(|at| at.is_ipv6() == protocol.is_v6()).collect();
    if found.is_empty() {
        let family = if protocol.is_v6() { "IPv6" } else { "IPv4" };
        return Err(io::Error::other(format!("the name has no {family} address")));
    }
    Ok(found)
}

/// Removes a socket at the path that nobody listens at; anything else there stays, and binding fails.
fn clear(path: &Path) {
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
    if is_socket
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    {
        // When it cannot be removed, binding says why.
        let _ = std::fs::remove_file(path);
    }
}

impl Listening {
    pub(super) fn at(peer: &Peer) -> io::Result<Self> {
        Ok(match peer.protocol {
            Protocol::Tcp | Protocol::Tcp6 => {
                let listener = TcpListener::bind(addresses(peer)?.as_slice())?;
                listener.set_nonblocking(true)?;
                Self::Tcp(listener)
            }
            Protocol::Udp | Protocol::Udp6 => {
                let socket = UdpSocket::bind(addresses(peer)?.as_slice())?;
                socket.set_read_timeout(Some(LOOK_EVERY))?;
                socket.set_write_timeout(Some(LOOK_EVERY))?;
                Self::Udp(socket)
            }
            Protocol::Unix => {
                let path = PathBuf::from(&peer.host);
                clear(&path);
                let listener = UnixListener::bind(&path)?;
                listener.set_nonblocking(true)?;
                Self::Unix(listener, path)
            }
        })
    }

    /// The link to the first who comes; `None` when the wait was called off.
    pub(super) fn await_peer(
        &mut self,
        peer: &Peer,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<Link>> {
        let descriptor = match self {
            Self::Tcp(listener) => raw(listener),
            Self::Udp(socket) => raw(socket),
            Self::Unix(listener, _) => raw(listener),
        };
        loop {
            if !goes_on() {
                return Ok(None);
            }
            if !is_readable_soon(descriptor)? {
                continue;
            }
            let link = match self {
                Self::Tcp(listener) => listener.accept().and_then(|(stream, _)| Link::of_tcp(stream, peer)),
                Self::Unix(listener, _) => listener.accept().and_then(|(stream, _)| Link::of_unix(stream)),
                Self::Udp(socket) => {
                    // Whatever comes first, someone sends; only the message about the link is no data.
                    let mut first = [0; 9];
                    let bytes = socket.peek(&mut first)?;
                    if first[..bytes] == open_message() {
                        socket.recv(&mut first)?;
                    }
                    socket.try_clone().map(|socket| Link::of_udp(socket, None))
                }
            };
            match link {
                // Who knocked has gone again.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                link => return link.map(Some),
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // It may have been removed by someone else, who then wanted that.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Link {
    /// Goes to the other end, which is at one of `to`; `None` when that was called off.
    pub(super) fn to(
        peer: &Peer,
        to: &[SocketAddr],
        goes_on: &mut dyn FnMut() -> bool,
    ) -> io::Result<Option<Self>> {
        match peer.protocol {
            Protocol::Unix => UnixStream::connect(&peer.host).and_then(Self::of_unix).map(Some),
            Protocol::Udp | Protocol::Udp6 => {
                let to = to[0];
                let any = if to.is_ipv6() {
                    IpAddr::V6(Ipv6Addr::UNSPECIFIED)
                } else {
                    Ipv4Addr::UNSPECIFIED.into()
                };
                let socket = UdpSocket::bind((any, 0))?;
                socket.set_read_timeout(Some(LOOK_EVERY))?;
                socket.set_write_timeout(Some(LOOK_EVERY))?;
                socket.send_to(&open_message(), to)?;
                Ok(Some(Self::of_udp(socket, Some(to))))
            }
            Protocol::Tcp | Protocol::Tcp6 => {
                let mut attempts = 0;
                loop {
                    if !goes_on() {
                        return Ok(None);
                    }
                    attempts += 1;
                    match TcpStream::connect_timeout(&to[0], ATTEMPT) {
                        Err(error) if error.kind() == io::ErrorKind::TimedOut && attempts < ATTEMPTS => {}
                        stream => return stream.and_then(|stream| Self::of_tcp(stream, peer)).map(Some),
                    }
                }
            }
        }
    }

    fn of_tcp(stream: TcpStream, peer: &Peer) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(LOOK_EVERY))?;
        if peer.no_delay {
            stream.set_nodelay(true)?;
        }
        Ok(Self::of(stream.into(), false))
    }

    fn of_unix(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK_EVERY))?;
        stream.set_write_timeout(Some(LOOK_EVERY))?;
        Ok(Self::of(stream.into(), false))
    }

    fn of_udp(socket: UdpSocket, to: Option<SocketAddr>) -> Self {
        let mut link = Self::of(socket.into(), true);
        match to {
            Some(to) => link.set_address(to),
            None => link.is_sender = true,
        }
        link
    }

    fn of(socket: OwnedFd, is_datagram: bool) -> Self {
        Self { socket, is_datagram, address: blank(), address_bytes: 0, is_sender: false }
    }

    fn set_address(&mut self, to: SocketAddr) {
        let room = &raw mut self.address;
        match to {
            SocketAddr::V4(to) => {
                let address = libc::sockaddr_in {
                    sin_family: libc::sa_family_t::try_from(libc::AF_INET).unwrap_or_default(),
                    sin_port: to.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage is large enough for, and aligned as, every address there is.
                unsafe { room.cast::<libc::sockaddr_in>().write(address) };
                self.address_bytes = bytes_of::<libc::sockaddr_in>();
            }
            SocketAddr::V6(to) => {
                let address = libc::sockaddr_in6 {
                    sin6_family: libc::sa_family_t::try_from(libc::AF_INET6).unwrap_or_default(),
                    sin6_port: to.port().to_be(),
                    sin6_flowinfo: to.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: to.ip().octets() },
                    sin6_scope_id: to.scope_id(),
                };
                // SAFETY: as above.
                unsafe { room.cast::<libc::sockaddr_in6>().write(address) };
                self.address_bytes = bytes_of::<libc::sockaddr_in6>();
            }
        }
    }

    pub(super) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Where to send to: null for what is connected.
    pub(super) fn destination(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        if self.address_bytes == 0 {
            return (std::ptr::null(), 0);
        }
        ((&raw const self.address).cast(), self.address_bytes)
    }

    /// Where the call puts who sent: null where that is known.
    pub(super) fn sender(&mut self) -> (*mut libc::sockaddr, *mut libc::socklen_t) {
        if !self.is_sender {
            return (std::ptr::null_mut(), std::ptr::null_mut());
        }
        self.address_bytes = bytes_of::<libc::sockaddr_storage>();
        ((&raw mut self.address).cast(), &raw mut self.address_bytes)
    }

    /// Ends the link. `tells`: the other end is told, as fio tells it; `lingers`: what still comes is taken for a moment.
    pub(super) fn part(self, tells: bool, lingers: bool) {
        if tells || self.is_datagram {
            let (address, address_bytes) = self.destination();
            let message = close_message();
            let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
            // SAFETY: the message and the address live for the whole call. That the other end has gone is no fault here.
            unsafe {
                let (from, bytes) = (message.as_ptr().cast(), message.len());
                libc::sendto(self.descriptor(), from, bytes, flags, address, address_bytes);
            }
        }
        if self.is_datagram || !lingers {
            return;
        }
        // SAFETY: the descriptor is open; no memory is passed.
        unsafe { libc::shutdown(self.descriptor(), libc::SHUT_WR) };
        let until = monotonic().after(LINGER);
        let mut stream = std::fs::File::from(self.socket);
        // Not from the heap: connections that are opened anew part within a load.
        let mut rest = [0; 16 << 10];
        while monotonic() < until {
            match stream.read(&mut rest) {
                Ok(0) => return,
                Err(_) if !matches!(last_errno(), libc::EAGAIN | libc::EINTR) => return,
                _ => {}
            }
        }
    }
}

fn bytes_of<T>() -> libc::socklen_t {
    libc::socklen_t::try_from(size_of::<T>()).expect("addresses are small")
}
