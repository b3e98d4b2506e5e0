//! The addresses of the URL's host that carry the load: those that accept a connection, of one
//! family. Nothing here sends a request.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use weir_io::Endpoint;
use weir_result::Note;
use weir_text::setting::{CONNECTIONS, IPV4, IPV6};

use crate::patience::text_of;
use crate::spec::AddressFamily;

/// Connect timeout of an address.
const PATIENCE: Duration = Duration::from_secs(2);

/// Greatest number of addresses that are tried.
const TRIED_MAX: usize = 64;

/// Chooses among the addresses of `host`, in the resolver's order, for a load of `connections`
/// connections. The first one that accepts a connection decides the family. All of that family that
/// accept one carry the load, if each of them gets a connection, else the first alone. If none
/// accepts one, the first is taken, so that the load reports its failure.
///
/// Returns the addresses of the load, at least one, and a note on the others.
pub(crate) fn choose(
    host: &str,
    all: Vec<Endpoint>,
    connections: u32,
) -> (Vec<Endpoint>, Option<Note>) {
    let tried: Vec<SocketAddr> = all.iter().filter_map(tcp).take(TRIED_MAX).collect();
    if tried.len() < 2 {
        return (all, None);
    }
    let results: Vec<(SocketAddr, Option<String>)> =
        tried.iter().copied().zip(connect_to_each(&tried)).collect();
    let Some((first, _)) = results.iter().find(|(_, failure)| failure.is_none()) else {
        return (all.into_iter().take(1).collect(), None);
    };
    let is_alike = |address: &SocketAddr| address.is_ipv4() == first.is_ipv4();
    let accepting =
        results.iter().filter(|(address, failure)| failure.is_none() && is_alike(address));
    let mut taken: Vec<SocketAddr> = accepting.map(|(address, _)| *address).collect();
    // Resolvers rotate their results, and two runs against one host are alike.
    taken.sort_unstable();
    taken.dedup();
    let has_enough = taken.len() <= connections as usize;
    if !has_enough {
        taken = vec![*first];
    }
    let others = results.iter().filter_map(|(address, failure)| {
        let why = match failure {
            _ if taken.contains(address) => return None,
            Some(failure) => failure.clone(),
            None if is_alike(address) => format!("it has no connection: raise {CONNECTIONS}"),
            // The two addresses of this machine itself.
            None if address.ip().is_loopback() => return None,
            None if address.is_ipv4() => format!("{IPV4} chooses it"),
            None => format!("{IPV6} chooses it"),
        };
        Some(format!("{address} ({why})"))
    });
    let note = note(host, &others.collect::<Vec<_>>());
    (taken.into_iter().map(Endpoint::Tcp).collect(), note)
}

/// Removes the addresses of another family.
///
/// # Errors
/// When none is left; the message names the flag.
pub(crate) fn of_family(
    host: &str,
    mut all: Vec<Endpoint>,
    family: Option<AddressFamily>,
) -> Result<Vec<Endpoint>> {
    let Some(family) = family else { return Ok(all) };
    all.retain(|endpoint| tcp(endpoint).is_none_or(|address| family.has(address.ip())));
    match all.is_empty() {
        true => bail!("the host {host:?} has no {family} address; remove {}", family.setting()),
        false => Ok(all),
    }
}

fn tcp(endpoint: &Endpoint) -> Option<SocketAddr> {
    match endpoint {
        Endpoint::Tcp(address) => Some(*address),
        Endpoint::Unix(_) => None,
    }
}

/// Connects to all addresses at once. Returns the failure of each one that does not accept.
fn connect_to_each(addresses: &[SocketAddr]) -> Vec<Option<String>> {
    let connect = |address: SocketAddr| TcpStream::connect_timeout(&address, PATIENCE).map(drop);
    thread::scope(|scope| {
        let start = |address: &SocketAddr| {
            let address = *address;
            thread::Builder::new().spawn_scoped(scope, move || connect(address))
        };
        let attempts: Vec<_> = addresses.iter().map(start).collect();
        let results = attempts.into_iter().map(|attempt| {
            let result = attempt.and_then(|attempt| {
                attempt.join().unwrap_or_else(|_| Err(io::Error::other("its check failed")))
            });
            result.err().map(|error| reason(&error))
        });
        results.collect()
    })
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("no response within {}", text_of(PATIENCE))
        }
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}

/// Longest list of addresses in a note.
const NAMED_MAX: usize = 8;

fn note(host: &str, others: &[String]) -> Option<Note> {
    let count = others.len();
    let (verb, s) = if count == 1 { ("carries", "") } else { ("carry", "es") };
    let (named, more) = others.split_at(count.min(NAMED_MAX));
    let named = named.join(", ");
    let mut text = format!("{count} address{s} of {host} {verb} no load: {named}");
    if !more.is_empty() {
        text += &format!(" and {} more", more.len());
    }
    (count > 0).then(|| Note::new("other_addresses", text))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A port on which these addresses of this machine listen.
    fn listening(addresses: &[&str]) -> (Vec<TcpListener>, u16) {
        let first = TcpListener::bind((addresses[0], 0)).expect("a port");
        let port = first.local_addr().expect("it is bound").port();
        let bind = |address: &&str| TcpListener::bind((*address, port)).expect("the same port");
        let others: Vec<_> = addresses[1..].iter().map(bind).collect();
        ([first].into_iter().chain(others).collect(), port)
    }

    /// Chooses for a load of `connections` connections; returns the addresses without their port,
    /// and the note.
    fn chosen(all: &[&str], port: u16, connections: u32) -> (Vec<String>, Option<String>) {
        let all = all.iter().map(|ip| {
            let ip = ip.parse().expect("an address");
            Endpoint::Tcp(SocketAddr::new(ip, port))
        });
        let (taken, note) = choose("h.test", all.collect(), connections);
        let ips = taken.iter().filter_map(tcp).map(|address| address.ip().to_string());
        (ips.collect(), note.map(|note| note.text.replace(&format!(":{port}"), "")))
    }

    #[test]
    fn all_that_accept_carry_the_load() {
        let (listeners, port) = listening(&["127.0.0.3", "127.0.0.2"]);
        let both = || vec!["127.0.0.2".to_owned(), "127.0.0.3".to_owned()];
        assert_eq!(chosen(&["127.0.0.3", "127.0.0.2"], port, 2), (both(), None));
        let refused = "1 address of h.test carries no load: 127.0.0.4 (connection refused)";
        let (taken, note) = chosen(&["127.0.0.4", "127.0.0.3", "127.0.0.2"], port, 10);
        assert_eq!((taken, note.as_deref()), (both(), Some(refused)));
        let (taken, note) = chosen(&["127.0.0.3", "127.0.0.2"], port, 1);
        let text = "1 address of h.test carries no load: 127.0.0.2 \
                    (it has no connection: raise `load.connections`)";
        assert_eq!((taken, note.as_deref()), (vec!["127.0.0.3".to_owned()], Some(text)));
        drop(listeners);
        let (taken, note) = chosen(&["127.0.0.3", "127.0.0.2"], port, 10);
        assert_eq!((taken, note), (vec!["127.0.0.3".to_owned()], None), "the load reports it");
    }

    #[test]
    fn the_first_that_accepts_decides_the_family() {
        let (_listeners, port) = listening(&["::1", "127.0.0.1"]);
        let one = |ip: &str| (vec![ip.to_owned()], None);
        assert_eq!(chosen(&["::1", "127.0.0.1"], port, 10), one("::1"));
        assert_eq!(chosen(&["127.0.0.1", "::1"], port, 10), one("127.0.0.1"));
        let (_only_v4, port) = listening(&["127.0.0.1"]);
        let (taken, note) = chosen(&["::1", "127.0.0.1"], port, 10);
        assert_eq!(taken, ["127.0.0.1"]);
        let text = "1 address of h.test carries no load: [::1] (connection refused)";
        assert_eq!(note.as_deref(), Some(text));
    }

    #[test]
    fn a_family_that_a_host_lacks_is_an_error() {
        let all = || {
            let all = ["127.0.0.1:80", "[::1]:80"];
            all.map(|text| Endpoint::Tcp(text.parse().expect("an address"))).to_vec()
        };
        let of = |family| of_family("h", all(), family).expect("it has both");
        assert_eq!(of(None), all());
        assert_eq!(of(Some(AddressFamily::Ipv4)), all()[..1]);
        assert_eq!(of(Some(AddressFamily::Ipv6)), all()[1..]);
        let error = of_family("h", all()[..1].to_vec(), Some(AddressFamily::Ipv6));
        let error = error.expect_err("it has none").to_string();
        assert_eq!(error, "the host \"h\" has no IPv6 address; remove `target.family=ipv6`");
    }
}
