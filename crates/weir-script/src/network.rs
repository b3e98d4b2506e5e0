//! Network access for scripts before a run: name resolution and connection checks.
//!
//! The load itself does not use this module.

use std::fs;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Connect timeout; bounds the time that an unresponsive host can block a script.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the addresses of `host`, in the resolver's order; `service` is a port or a service name.
/// All are of one family if `is_ipv4` chooses it.
pub(crate) fn lookup(
    host: &str,
    service: &str,
    is_ipv4: Option<bool>,
) -> Result<Vec<SocketAddr>, String> {
    let unable = |reason: &str| format!("unable to resolve {host}:{service} {reason}");
    let port = port(service).ok_or_else(|| unable("Servname not supported"))?;
    let found = (host, port).to_socket_addrs().map_err(|error| {
        let text = error.to_string();
        unable(text.rsplit(": ").next().unwrap_or(&text))
    })?;
    let found: Vec<SocketAddr> =
        found.filter(|address| is_ipv4.is_none_or(|wanted| address.is_ipv4() == wanted)).collect();
    match (found.is_empty(), is_ipv4) {
        (false, _) => Ok(found),
        (true, Some(true)) => Err(unable("it has no IPv4 address")),
        (true, Some(false)) => Err(unable("it has no IPv6 address")),
        (true, None) => Err(unable("it has no address")),
    }
}

/// True if the address accepts a TCP connection.
pub(crate) fn accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok()
}

/// Returns the wall-clock time since 1970, in microseconds; below 2^53, so a Lua number holds it.
pub(crate) fn wall_clock_us() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_nanos() / 1_000) as f64
}

fn port(service: &str) -> Option<u16> {
    match service {
        "http" => Some(80),
        "https" => Some(443),
        _ => service.parse().ok().or_else(|| {
            let known = fs::read_to_string("/etc/services").unwrap_or_default();
            known.lines().find_map(|line| port_in(line, service))
        }),
    }
}

/// Returns the port if this line of services(5), `NAME PORT/tcp ALIAS… # COMMENT`, defines the
/// service.
fn port_in(line: &str, service: &str) -> Option<u16> {
    let mut words = line.split('#').next()?.split_whitespace();
    let name = words.next()?;
    let port = words.next()?.strip_suffix("/tcp")?;
    (name == service || words.any(|alias| alias == service)).then(|| port.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn services_are_ports_or_names() {
        assert_eq!(port("8080"), Some(8080));
        assert_eq!(port("http"), Some(80));
        assert_eq!(port("https"), Some(443));
        assert_eq!(port("no-such-service"), None);
        assert_eq!(port_in("http-alt 8080/tcp webcache # WWW", "http-alt"), Some(8080));
        assert_eq!(port_in("http-alt 8080/tcp webcache # WWW", "webcache"), Some(8080));
        assert_eq!(port_in("http-alt 8080/tcp webcache # WWW", "WWW"), None);
        assert_eq!(port_in("http-alt 8080/udp", "http-alt"), None);
        assert_eq!(port_in("# http-alt 8080/tcp", "http-alt"), None);
    }

    #[test]
    fn literal_addresses_resolve_to_themselves() {
        assert_eq!(lookup("127.0.0.1", "80", None), Ok(vec!["127.0.0.1:80".parse().unwrap()]));
        assert_eq!(lookup("::1", "http", Some(false)), Ok(vec!["[::1]:80".parse().unwrap()]));
    }

    #[test]
    fn failures_name_host_and_service() {
        let error = lookup("::1", "80", Some(true)).unwrap_err();
        assert_eq!(error, "unable to resolve ::1:80 it has no IPv4 address");
        let error = lookup("127.0.0.1", "no-such-service", None).unwrap_err();
        assert_eq!(error, "unable to resolve 127.0.0.1:no-such-service Servname not supported");
        // A label of more than 63 octets (RFC 1035 §2.3.4) needs no name server to fail.
        let host = "a".repeat(64);
        let error = lookup(&host, "80", None).unwrap_err();
        assert!(error.starts_with(&format!("unable to resolve {host}:80 ")), "{error}");
        assert!(!error.contains("failed to lookup"), "{error}");
    }

    #[test]
    fn a_listener_accepts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert!(accepts(address));
        drop(listener);
        assert!(!accepts(address));
    }
}
