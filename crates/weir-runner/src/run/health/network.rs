//! The server's location, on this machine or elsewhere, and the share of local ports that
//! connections to it hold.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use weir_io::Endpoint;

use super::parse;

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
    let may_bind_any = fs::read_to_string(format!("/proc/sys/net/{family}/ip_nonlocal_bind"));
    if may_bind_any.is_ok_and(|text| text.trim() != "0") {
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
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
    let range = parse::port_range(&read("ip_local_port_range").ok()?)?;
    let reserved =
        parse::reserved_ports(&read("ip_local_reserved_ports").unwrap_or_default(), range);
    Some((u64::from(range.1 - range.0) + 1).saturating_sub(reserved))
}

/// The share of the ephemeral ports that sockets to the server's address and port hold, including
/// those in TIME_WAIT. Each port serves once for each of the `sources` local addresses. If all
/// sockets of the machine together hold few ports, their share is the result: listing each socket
/// takes more CPU time than a short run.
pub(super) fn ephemeral_ports(endpoint: &Endpoint, sources: u64) -> Option<f64> {
    let Endpoint::Tcp(address) = endpoint else { return None };
    let ports = ephemeral_port_count()?.saturating_mul(sources);
    let sockets = fs::read_to_string("/proc/net/sockstat").ok()?;
    let waiting = parse::sockstat(&sockets, "TCP", "tw")?;
    let v6 = fs::read_to_string("/proc/net/sockstat6").unwrap_or_default();
    let in_use = parse::sockstat(&sockets, "TCP", "inuse")?
        + parse::sockstat(&v6, "TCP6", "inuse").unwrap_or(0);
    let share = |taken: u64| (taken as f64 / ports.max(1) as f64).min(1.0);
    let at_most = share(waiting + in_use);
    if at_most < PLENTY {
        return Some(at_most);
    }
    if waiting + in_use > LISTED_MAX {
        return None;
    }
    sockets_to(*address).ok().map(share)
}

/// Number of sockets, in any state, whose peer is `server`.
fn sockets_to(server: SocketAddr) -> io::Result<u64> {
    let table = if server.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let peer = as_listed(server);
    let mut count = 0;
    for line in BufReader::new(File::open(table)?).lines() {
        count += u64::from(is_to(&line?, &peer));
    }
    Ok(count)
}

/// True if a line of the table describes a socket to `peer`.
fn is_to(line: &str, peer: &str) -> bool {
    line.split_whitespace().nth(2) == Some(peer)
}

/// Formats an address as in /proc/net/tcp and tcp6: words of 32 bits in the machine's byte order,
/// in hex, and the port.
pub(super) fn as_listed(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| {
        let word = word.try_into().expect("chunks of four");
        format!("{:08X}", u32::from_ne_bytes(word))
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
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

    #[cfg(target_endian = "little")]
    #[test]
    fn lines_are_matched_by_their_peer() {
        let line = "   1: 020200C0:8DC8 507100CB:0050 06 00000000:00000000 03:000006EA 00000000  0";
        assert!(is_to(line, &as_listed("203.0.113.80:80".parse().expect("valid"))));
        assert!(!is_to(line, &as_listed("203.0.113.80:81".parse().expect("valid"))));
        assert!(!is_to(line, &as_listed("192.0.2.2:36296".parse().expect("valid"))), "its own end");
        let v6: SocketAddr = "[2001:db8::1]:8080".parse().expect("valid");
        assert_eq!(as_listed(v6), "B80D0120000000000000000001000000:1F90");
    }

    #[test]
    fn connections_hold_ports() {
        // An address of this process alone: sockets of an earlier listener may be in TIME_WAIT.
        let [_, a, b, c] = std::process::id().to_be_bytes();
        let own = format!("127.{}.{b}.{c}:0", 64 + a % 128);
        let listener = TcpListener::bind(own).expect("a port");
        let address = listener.local_addr().expect("bound");
        let endpoint = Endpoint::Tcp(address);
        let streams: Vec<_> = (0..3).map(|_| TcpStream::connect(address)).collect();
        assert!(streams.iter().all(Result::is_ok));
        // The kernel may list a socket twice while others come and go.
        let counts = (0..100).map(|_| sockets_to(address).expect("proc is mounted"));
        assert!(counts.into_iter().any(|count| count == 3));
        let share = ephemeral_ports(&endpoint, 1).expect("proc is mounted");
        assert!(share > 0.0 && share <= 1.0, "{share}");
        assert_eq!(ephemeral_ports(&Endpoint::Unix("@a".into()), 1), None);
    }
}
