//! The other end of a connection, as a target: which protocol, where, and who waits for whom.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// How bytes travel.
    pub protocol: Protocol,
    /// Name or address of a host; for [`Protocol::Unix`] the path of a socket. Who listens, listens there.
    pub host: String,
    /// Port; 0 for [`Protocol::Unix`].
    pub port: u16,
    /// Whether this end waits for the other; else it goes there.
    pub listens: bool,
    /// Whether TCP sends small pieces at once (`TCP_NODELAY`).
    pub no_delay: bool,
    /// Operations after which the connection is closed and opened again, by both ends alike; 0: it is opened and closed, and
    /// nothing else. `None`: it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_connection: Option<u64>,
}

/// How bytes travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4: each operation is a datagram.
    Udp,
    /// UDP over IPv6: each operation is a datagram.
    Udp6,
    /// A stream between processes of one host.
    Unix,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Tcp, Self::Tcp6, Self::Udp, Self::Udp6, Self::Unix];

    /// Its word in an address.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Tcp6 => "tcp6",
            Self::Udp => "udp",
            Self::Udp6 => "udp6",
            Self::Unix => "unix",
        }
    }

    /// Whether each operation is a datagram, which may be lost.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::Udp | Self::Udp6)
    }

    /// Whether addresses are those of IPv6.
    pub const fn is_v6(self) -> bool {
        matches!(self, Self::Tcp6 | Self::Udp6)
    }
}

impl Peer {
    /// Whether it is a place of this host that no other host reaches. A name other than `localhost` may be anywhere.
    pub fn is_here(&self) -> bool {
        if self.protocol == Protocol::Unix || self.host == "localhost" {
            return true;
        }
        self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { protocol, host, port, listens: _, no_delay: _, per_connection: _ } = self;
        let word = protocol.word();
        match protocol {
            Protocol::Unix => write!(f, "{word}:{host}"),
            _ if host.contains(':') => write!(f, "{word}://[{host}]:{port}"),
            _ => write!(f, "{word}://{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_here() {
        let at = |protocol, host: &str| Peer {
            protocol,
            host: host.to_owned(),
            port: 1,
            listens: false,
            no_delay: false,
            per_connection: None,
        };
        for (protocol, host, here, text) in [
            (Protocol::Tcp, "localhost", true, "tcp://localhost:1"),
            (Protocol::Tcp, "127.0.0.2", true, "tcp://127.0.0.2:1"),
            (Protocol::Udp6, "::1", true, "udp6://[::1]:1"),
            (Protocol::Unix, "/tmp/s", true, "unix:/tmp/s"),
            (Protocol::Tcp, "0.0.0.0", false, "tcp://0.0.0.0:1"),
            (Protocol::Tcp6, "::", false, "tcp6://[::]:1"),
            (Protocol::Udp, "db1", false, "udp://db1:1"),
            (Protocol::Tcp, "localhost.example.org", false, "tcp://localhost.example.org:1"),
        ] {
            let peer = at(protocol, host);
            assert_eq!((peer.is_here(), peer.to_string().as_str()), (here, text));
        }
    }
}
