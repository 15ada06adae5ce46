//! Addresses of other ends of connections.

use super::text;
use crate::diagnostic::nearest;
use crate::literal::Literal;
use crate::row::{Kind, OptionValue};
use std::fmt;

/// Where the other end of a connection is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerAddress {
    /// How bytes travel.
    pub protocol: PeerProtocol,
    /// Name or address of the host; the path of a socket for [`PeerProtocol::Unix`].
    pub host: String,
    /// From 1; 0 for [`PeerProtocol::Unix`].
    pub port: u16,
}

choice! {
    /// How bytes travel to the other end of a connection.
    PeerProtocol {
        /// TCP over IPv4.
        Tcp = "tcp",
        /// TCP over IPv6.
        Tcp6 = "tcp6",
        /// UDP over IPv4.
        Udp = "udp",
        /// UDP over IPv6.
        Udp6 = "udp6",
        /// A stream between processes of one host.
        Unix = "unix",
    }
}

impl PeerProtocol {
    /// Whether each operation is a datagram.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Udp | Self::Udp6)
    }

    /// Whether either end may be the one that listens: with others it is the one that reads.
    pub const fn is_tcp(self) -> bool {
        matches!(self, Self::Tcp | Self::Tcp6)
    }
}

impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, host, port } = self;
        let word = protocol.word();
        match protocol {
            PeerProtocol::Unix => write!(f, "{word}:{host}"),
            _ if host.contains(':') => write!(f, "{word}://[{host}]:{port}"),
            _ => write!(f, "{word}://{host}:{port}"),
        }
    }
}

impl OptionValue for PeerAddress {
    /// `tcp://db1:9000`, `udp6://[::1]:9000`, `unix:/run/bench.sock`.
    fn read(literal: &Literal, _: Kind) -> Result<Self, String> {
        let whole = text(literal)?;
        let wrong = || format!("\"{whole}\" is not PROTOCOL://HOST:PORT or unix:PATH");
        let (word, rest) = whole.split_once(':').ok_or_else(wrong)?;
        let protocol = PeerProtocol::read(&Literal::Text(word.to_owned()), Kind::Text)?;
        if protocol == PeerProtocol::Unix {
            let host = rest.strip_prefix("//").unwrap_or(rest).to_owned();
            // Linux's struct sockaddr_un has room for 107 bytes and the end.
            if host.is_empty() || host.len() > 107 {
                return Err("a path of a socket has 1 to 107 bytes".to_owned());
            }
            return Ok(Self { protocol, host, port: 0 });
        }
        let (host, port) =
            rest.strip_prefix("//").and_then(|rest| rest.rsplit_once(':')).ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned();
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| "a port is a whole number from 1 to 65535".to_owned())?;
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self { protocol, host, port })
    }

    fn print(&self) -> String {
        format!("{:?}", self.to_string())
    }
}
