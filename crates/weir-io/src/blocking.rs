//! Blocking calls on sockets, for code beside the load. No backend uses them.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use crate::Endpoint;
use crate::socket::{self, Begun, SockAddr};

/// Connects to `to` from `source`, an address of this machine, and blocks until connected.
///
/// # Errors
/// Errors of bind(2) and connect(2), and `TimedOut` after `patience`, which must not be zero.
pub fn connect_from(source: IpAddr, to: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
    let address = SockAddr::new(&Endpoint::Tcp(to))?;
    let fd = socket::open(address.family(), false)?;
    socket::bind_source(&fd, source)?;
    // The send timeout also applies to connects (SO_SNDTIMEO, socket(7)).
    let stream = TcpStream::from(fd);
    stream.set_write_timeout(Some(patience))?;
    let fd = OwnedFd::from(stream);
    match socket::connect(&fd, &address)? {
        Begun::Connected => Ok(TcpStream::from(fd)),
        Begun::InProgress | Begun::Busy => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Returns the congestion control algorithm of new connections to `endpoint`; `None` if there is
/// none, as for Unix sockets.
pub fn congestion_control(endpoint: &Endpoint) -> Option<String> {
    let Endpoint::Tcp(_) = endpoint else { return None };
    let family = SockAddr::new(endpoint).ok()?.family();
    let name = socket::congestion_control(&socket::open(family, true).ok()?).ok()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn congestion_control_is_known_for_tcp_only() {
        let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 80).into());
        assert!(congestion_control(&endpoint).is_some_and(|name| !name.contains('\0')));
        assert_eq!(congestion_control(&Endpoint::Unix("@a".into())), None);
    }
}
