//! TCP handshake timed by the kernel, on a connection that carries no data.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::endpoint::Endpoint;
use crate::socket::{self, SockAddr};
use crate::tcp::TcpInfo;

/// A handshake, in progress or complete. Closed when dropped.
#[derive(Debug)]
pub struct Handshake {
    fd: OwnedFd,
}

impl Handshake {
    /// Starts to connect, from a given local address or from any, without waiting.
    ///
    /// # Errors
    /// Errors of socket(2), bind(2) and connect(2); also if `to` is not a TCP address.
    pub fn begin(to: &Endpoint, source: Option<IpAddr>) -> io::Result<Handshake> {
        let Endpoint::Tcp(_) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let address = SockAddr::new(to)?;
        let fd = socket::open(address.family(), true)?;
        source.map_or(Ok(()), |source| socket::bind_source(&fd, source))?;
        socket::connect(&fd, &address)?;
        Ok(Handshake { fd })
    }

    /// Returns the round-trip time in nanoseconds; `None` while in progress and after a failure.
    pub fn round_trip_ns(&self) -> Option<u64> {
        TcpInfo::of(&self.fd).ok()?.rtt_min_ns
    }
}
