//! Sockets of this machine that accept connections to an address, from /proc/net/tcp and tcp6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::proc::listed_address;
use crate::root::{Root, Unreadable};

/// `TCP_LISTEN` in /proc/net/tcp.
const LISTENING: &str = "0A";

/// A socket that accepts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listener {
    /// Connections that wait to be accepted.
    pub(crate) waiting: u64,
    /// Number by which the descriptors of its processes name it.
    pub(crate) inode: u64,
}

/// Returns the sockets that accept connections to `address`.
///
/// # Errors
/// When no table of sockets can be read.
pub(crate) fn listeners(root: &Root, address: SocketAddr) -> Result<Vec<Listener>, Unreadable> {
    let port = address.port();
    let addresses: Vec<String> =
        serving(address.ip()).map(|ip| listed_address((ip, port).into())).collect();
    let v4 = root.text("proc/net/tcp");
    let v6 = root.text("proc/net/tcp6");
    if let (Err(reason), Err(_)) = (&v4, &v6) {
        return Err(reason.clone());
    }
    let tables = [v4.unwrap_or_default(), v6.unwrap_or_default()];
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    Ok(lines.filter_map(|line| listener(line, &addresses)).collect())
}

/// Parses `sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode`.
/// The receive queue of a socket that listens is its accept queue (proc_pid_net(5)).
fn listener(line: &str, addresses: &[String]) -> Option<Listener> {
    let words: Vec<&str> = line.split_whitespace().take(10).collect();
    let [_, local, _, state, queues, _, _, _, _, inode] = words[..] else { return None };
    if state != LISTENING || !addresses.iter().any(|address| address == local) {
        return None;
    }
    let waiting = u64::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
    Some(Listener { waiting, inode: inode.parse().ok()? })
}

/// Counts the sockets, in any state, whose peer is `server`: each holds a local port.
///
/// # Errors
/// When the table of sockets cannot be read.
pub(crate) fn sockets_to(root: &Root, server: SocketAddr) -> Result<u64, Unreadable> {
    let table = root.text(if server.is_ipv4() { "proc/net/tcp" } else { "proc/net/tcp6" })?;
    let peer = listed_address(server);
    let is_to = |line: &&str| line.split_whitespace().nth(2) == Some(&peer);
    Ok(table.lines().filter(is_to).count() as u64)
}

/// The addresses on which a connection to `ip` is accepted.
fn serving(ip: IpAddr) -> impl Iterator<Item = IpAddr> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let mapped = match ip {
        IpAddr::V4(ip) => Some(ip.to_ipv6_mapped().into()),
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map(IpAddr::V4),
    };
    [ip].into_iter().chain(mapped).chain(any)
}
