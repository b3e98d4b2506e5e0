//! The share of local ports that connections to the server hold.

use weir_io::Endpoint;
use weir_machine::{EphemeralPorts, Root, SocketCounts, sockets_to};

/// Share of the ports below which they cannot run out, so that their sockets are not listed.
const PLENTY: f64 = 0.25;

/// Maximum sockets that are listed one by one: the kernel takes about 1 µs for each.
const LISTED_MAX: u64 = 300_000;

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
