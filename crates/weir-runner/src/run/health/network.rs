//! The server's location, on this machine or elsewhere, and the share of local ports that
//! connections to it hold.

use std::io;
use std::net::UdpSocket;

use weir_io::Endpoint;
use weir_machine::{EphemeralPorts, Root, SocketCounts, sockets_to};

/// Share of the ports below which they cannot run out, so that their sockets are not listed.
const PLENTY: f64 = 0.25;

/// Maximum sockets that are listed one by one: the kernel takes about 1 µs for each.
const LISTED_MAX: u64 = 300_000;

/// True if the server's address is one of this machine; `None` if that cannot be determined.
pub(crate) fn is_local(endpoint: &Endpoint) -> Option<bool> {
    let Endpoint::Tcp(address) = endpoint else { return Some(true) };
    if address.ip().is_loopback() {
        return Some(true);
    }
    let family = if address.is_ipv4() { "ipv4" } else { "ipv6" };
    let may_bind_any = Root::machine().text(&format!("proc/sys/net/{family}/ip_nonlocal_bind"));
    if may_bind_any.is_ok_and(|text| text != "0") {
        return None;
    }
    // Any port will do, and nothing is sent: the bind only checks the address.
    let mut own = *address;
    own.set_port(0);
    match UdpSocket::bind(own) {
        Ok(_) => Some(true),
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Some(false),
        Err(_) => None,
    }
}

/// Number of ephemeral ports available to connections from one local address to one server.
pub(crate) fn ephemeral_port_count() -> Option<u64> {
    Some(EphemeralPorts::read(&Root::machine()).ok()?.usable())
}

/// The share of the ephemeral ports that sockets to the server's address and port hold, including
/// those in TIME_WAIT. Each port serves once for each of the `sources` local addresses. If all
/// sockets of the machine together hold few ports, their share is the result: listing each socket
/// takes more CPU time than a short run.
pub(super) fn ephemeral_ports(endpoint: &Endpoint, sources: u64) -> Option<f64> {
    let Endpoint::Tcp(address) = endpoint else { return None };
    let ports = ephemeral_port_count()?.saturating_mul(sources);
    let root = Root::machine();
    let SocketCounts { in_use, time_wait } = SocketCounts::read(&root).ok()?;
    let share = |taken: u64| (taken as f64 / ports.max(1) as f64).min(1.0);
    let at_most = share(time_wait + in_use);
    if at_most < PLENTY {
        return Some(at_most);
    }
    if time_wait + in_use > LISTED_MAX {
        return None;
    }
    sockets_to(&root, *address).ok().map(share)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn what_is_local() {
        let check = |endpoint: Endpoint, expected| assert_eq!(is_local(&endpoint), expected);
        check(Endpoint::Unix("/run/a.sock".into()), Some(true));
        check(Endpoint::Tcp("127.9.9.9:80".parse().expect("valid")), Some(true));
        check(Endpoint::Tcp("[::1]:80".parse().expect("valid")), Some(true));
        // TEST-NET-2 (RFC 5737) is assigned to no host.
        let elsewhere = is_local(&Endpoint::Tcp("198.51.100.7:80".parse().expect("valid")));
        assert_ne!(elsewhere, Some(true));
    }

    #[test]
    fn connections_hold_ports() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let endpoint = Endpoint::Tcp(address);
        let _stream = TcpStream::connect(address).expect("loopback");
        let share = ephemeral_ports(&endpoint, 1).expect("proc is mounted");
        assert!(share > 0.0 && share <= 1.0, "{share}");
        assert_eq!(ephemeral_ports(&Endpoint::Unix("@a".into()), 1), None);
    }
}
