//! A TCP connection that is opened to be timed by the kernel, and carries nothing.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::Endpoint;
use crate::socket::{self, SockAddr};
use crate::tcp::TcpInfo;

/// A handshake, under way or done. Closed when it is dropped.
#[derive(Debug)]
pub struct Handshake {
    fd: OwnedFd,
}

impl Handshake {
    /// Begins to connect, from an address of this machine or from any, and does not wait.
    ///
    /// # Errors
    /// What socket(2), bind(2) and connect(2) say; also where `to` is no TCP address.
    pub fn begin(to: &Endpoint, source: Option<IpAddr>) -> io::Result<Handshake> {
        let Endpoint::Tcp(_) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        let address = SockAddr::new(to)?;
        let fd = socket::open(address.family(), true)?;
        source.map_or(Ok(()), |source| socket::bind_source(&fd, source))?;
        socket::connect(&fd, &address)?;
        Ok(Handshake { fd })
    }

    /// How long the network took, in nanoseconds; `None` while it is under way, and if it failed.
    pub fn round_trip_ns(&self) -> Option<u64> {
        TcpInfo::of(&self.fd).ok()?.rtt_min_ns
    }
}
