//! Sockets of this machine that accept connections to an address, from /proc/net/tcp and tcp6.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::proc::listed_address;
use crate::root::{Root, Unreadable};

/// `TCP_LISTEN` in /proc/net/tcp.
const LISTENING: &str = "0A";

/// Returns the number of connections that wait to be accepted, for each socket that listens there.
///
/// # Errors
/// When no table of sockets can be read.
pub(crate) fn accept_queues(root: &Root, address: SocketAddr) -> Result<Vec<u64>, Unreadable> {
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
    Ok(lines.filter_map(|line| waiting(line, &addresses)).collect())
}

/// Parses `sl local_address rem_address st tx_queue:rx_queue …`. The receive queue of a socket that
/// listens is its accept queue (proc_pid_net(5)).
fn waiting(line: &str, addresses: &[String]) -> Option<u64> {
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    let [_, local, _, state, queues] = words[..] else { return None };
    let is_it = state == LISTENING && addresses.iter().any(|address| address == local);
    u64::from_str_radix(queues.split_once(':')?.1, 16).ok().filter(|_| is_it)
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
