//! The destinations of connections, and the checks that this machine can open them.

use std::net::{IpAddr, ToSocketAddrs};

use anyhow::{Context, Result, bail, ensure};
use weir_io::Endpoint;
use weir_machine::sys::{self, DescriptorLimit};
use weir_result::Plan;
use weir_text::setting::{CONNECT_TO, CONNECTIONS, SOURCE_IP, THREADS, UNIX};
use weir_text::units;

use crate::errors::NoServer;
use crate::prepare::addresses;
use crate::prepare::location::is_own;
use crate::spec::AddressFamily;
use crate::spec::url::{Url, split_port};

/// Maximum source addresses that are checked before the load. A wrong one is rarely alone, so the
/// first ones are enough.
const CHECKED_SOURCES_MAX: u32 = 4096;

/// Descriptors of a worker that are no connections: the standard streams, the engine's, the waker.
const RESERVED: u64 = 8;

/// Resolves destinations written as `HOST[:PORT]`; the default port is the URL's.
///
/// # Errors
/// When one of them is no host, or has no address.
pub(crate) fn destinations(
    named: &[String],
    url: &Url,
    family: Option<AddressFamily>,
) -> Result<Vec<Endpoint>> {
    let resolve = |text: &String| {
        // The text before the `@` may be a password, which is not printed.
        let what = || format!("{CONNECT_TO} has a user name or a scheme: write HOST[:PORT] alone");
        ensure!(!text.contains('@') && !text.contains('/'), what());
        let (host, port) = split_port(text)
            .with_context(|| format!("invalid {CONNECT_TO} {text:?}, not HOST[:PORT]"))?;
        let port = port.unwrap_or_else(|| url.port());
        let addresses = (host, port)
            .to_socket_addrs()
            .map_err(|error| NoServer(error.to_string()))
            .with_context(|| format!("the host {host:?} of {CONNECT_TO} cannot be resolved"))?;
        let addresses = addresses.map(Endpoint::Tcp).collect();
        let addresses = addresses::of_family(host, addresses, family)?;
        addresses.into_iter().next().with_context(|| format!("{host:?} has no address"))
    };
    named.iter().map(resolve).collect()
}

/// Checks that the sources are addresses of this machine, and of the family of the destinations.
///
/// # Errors
/// When one is not; the message contains the remedy.
pub(crate) fn check_sources<'e>(
    plan: &Plan,
    endpoints: impl Iterator<Item = &'e Endpoint> + Clone,
) -> Result<()> {
    for range in &plan.connection.sources {
        let source = range.first();
        for endpoint in endpoints.clone() {
            match endpoint {
                Endpoint::Tcp(address) if address.is_ipv4() == source.is_ipv4() => {}
                Endpoint::Tcp(address) => bail!(
                    "{SOURCE_IP} {range} cannot reach {address}: one is IPv4 and the other IPv6"
                ),
                Endpoint::Unix(_) => bail!(
                    "{SOURCE_IP} cannot be used with {UNIX}: Unix sockets have no source address"
                ),
            }
        }
    }
    let most = plan.load.connections.most();
    let used = most.min(CHECKED_SOURCES_MAX);
    let mut last = None;
    for source in (0..used).filter_map(|number| plan.connection.source(number)) {
        if last.replace(source) != Some(source) {
            check_source(source)?;
        }
    }
    Ok(())
}

/// Checks one source address.
fn check_source(source: IpAddr) -> Result<()> {
    // Other errors concern datagrams, and not the load's TCP connections.
    ensure!(
        is_own((source, 0).into()) != Some(false),
        "{SOURCE_IP}: {source} is not an address of this machine; `ip address add {source} dev \
         NAME` makes it one"
    );
    Ok(())
}

/// Returns the least number of threads whose descriptor tables hold the connections; 1 with
/// scripts, whose threads share one table.
pub(crate) fn threads_min(connections: u32, has_scripts: bool) -> u32 {
    let limit = sys::descriptor_limit().map_or(u64::MAX, |limit| limit.hard);
    let of_thread = limit.saturating_sub(RESERVED).max(1);
    match has_scripts {
        true => 1,
        false => u32::try_from(u64::from(connections).div_ceil(of_thread)).unwrap_or(u32::MAX),
    }
}

/// Checks that every connection can have a descriptor. Each worker thread has its own descriptor
/// table, except with scripts: these may share open files, so all threads use one table.
///
/// # Errors
/// When they cannot; the message names the remedies.
pub(crate) fn check_descriptors(
    plan: &Plan,
    has_scripts: bool,
    limit: DescriptorLimit,
) -> Result<()> {
    let threads = plan.own_threads();
    let tables = if has_scripts { 1 } else { threads };
    let of_workers = RESERVED * u64::from(threads / tables);
    let needed = u64::from(plan.own_connections_max().div_ceil(tables)) + of_workers;
    if needed <= limit.soft {
        return Ok(());
    }
    let connections = units::count(plan.own_connections_max().into());
    let each = if tables > 1 { " in each thread" } else { "" };
    let more_threads = match has_scripts {
        true => String::new(),
        false => format!(", use more threads ({THREADS})"),
    };
    bail!(
        "{connections} connections need {needed} descriptors{each}, and the limit is {}: raise it \
         (ulimit -n {needed}; a hard limit needs root){more_threads} or fewer connections \
         ({CONNECTIONS})",
        limit.soft
    )
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use weir_result::{AddressRange, Closer, Header, Load};

    use super::*;
    use crate::access::MachineAccess;
    use crate::observer::Silent;
    use crate::prepare::load::PreparedLoad;
    use crate::prepare::watchdog::OnStuck;
    use crate::spec::RunSpec;

    /// Plans a run against `url` with changes to its specification.
    fn planned(url: &str, change: impl FnOnce(&mut RunSpec)) -> Result<PreparedLoad> {
        let mut spec = RunSpec::new(url);
        change(&mut spec);
        let means = crate::prepare::Means {
            access: &MachineAccess::Full,
            on_stuck: &OnStuck::default(),
            load_schema: &|_, _| unreachable!("no call of gRPC"),
        };
        Ok(crate::prepare::prepare(&spec, &means, &mut Silent)?.load)
    }

    fn sources(text: &str) -> Vec<AddressRange> {
        let ranges = text.split(',').filter(|range| !range.is_empty());
        ranges.map(|range| range.parse().expect("a range of addresses")).collect()
    }

    const URL: &str = "http://127.0.0.1/";

    #[test]
    fn destinations_are_resolved_and_named() {
        let named = ["127.0.0.1:81", "[::1]", "127.0.0.2"];
        let load = planned("http://h.test:8080/", |spec| {
            spec.connection.destinations = named.map(str::to_owned).to_vec();
        });
        let load = load.expect("addresses need no resolving");
        let expected = ["127.0.0.1:81", "[::1]:8080", "127.0.0.2:8080"];
        assert_eq!(load.plan.connection.destinations, expected);
        assert_eq!(load.plan.target.address, "127.0.0.1:81");
        assert_eq!(load.plan.target.host, "h.test");
        let host = "Host: h.test:8080\r\n";
        let request = String::from_utf8_lossy(load.requests.request.bytes()).into_owned();
        assert!(request.contains(host), "{request}");
    }

    #[test]
    fn invalid_destinations_are_errors() {
        for (text, part) in [
            ("::1", "belongs in brackets"),
            ("h:1:g:2", "belongs in brackets"),
            ("127.0.0.1:0", "not a number from 1"),
            ("127.0.0.1:x", "not a number from 1"),
            ("host.invalid:80", "cannot be resolved"),
            ("me:SECRET@h:80", "write HOST[:PORT] alone"),
            ("http://me:SECRET/x@h", "write HOST[:PORT] alone"),
        ] {
            let error = planned(URL, |spec| spec.connection.destinations = vec![text.to_owned()]);
            let error = error.expect_err(text);
            let error = format!("{error:#}");
            assert!(
                error.contains(part) && error.contains("`connection.destinations`"),
                "{text}: {error}"
            );
            assert!(!error.contains("SECRET"), "{text}: {error}");
        }
    }

    #[test]
    fn invalid_sources_are_errors() {
        let from = |connections: u32, ranges: &str, unix: Option<&str>| {
            let load = planned(URL, |spec| {
                spec.load.connections = connections.into();
                spec.connection.sources = sources(ranges);
                spec.target.unix = unix.map(PathBuf::from);
            });
            let load = load.expect(ranges);
            check_sources(&load.plan, load.endpoints())
        };
        for (connections, ranges, unix, part) in [
            (10, "192.0.2.1", None, "192.0.2.1 is not an address of this machine"),
            (9, "127.0.0.1,192.0.2.0/24", None, "192.0.2.0 is not an address"),
            (10, "::1", None, "one is IPv4 and the other IPv6"),
            (10, "127.0.0.1", Some("/x"), "cannot be used with `target.unix`"),
        ] {
            let error = from(connections, ranges, unix).expect_err(ranges).to_string();
            assert!(error.contains(part), "{ranges}: {error}");
        }
        from(100, "127.0.0.1-127.0.0.9,127.1.0.0/24", None)
            .expect("all of 127.0.0.0/8 is this machine");
        from(1, "127.0.0.1,192.0.2.1", None)
            .expect("an address that no connection has is none of the load's");
    }

    #[test]
    fn descriptors_are_counted_by_thread() {
        let check = |connections: u32, threads, has_scripts, soft| {
            let plan = Plan {
                load: Load { connections: connections.into(), ..Plan::default().load },
                threads,
                ..Plan::default()
            };
            check_descriptors(&plan, has_scripts, DescriptorLimit { soft, hard: soft })
        };
        check(1_000, 2, false, 508).expect("500 and 8 of each worker's own");
        let growing = {
            let connections = weir_result::ConnectionLoad::Growing { first: 10, most: 1_001 };
            Plan { load: Load { connections, ..Plan::default().load }, ..Plan::default() }
        };
        let limit = DescriptorLimit { soft: 1_008, hard: 1_008 };
        check_descriptors(&growing, false, limit).expect_err("the last of them has none");
        check(1_001, 2, false, 508).expect_err("one worker has 501");
        check(1_000, 2, true, 1_016).expect("one table for all");
        let error = check(1_000, 2, true, 1_015).expect_err("one too few").to_string();
        assert!(error.contains("ulimit -n 1016") && error.contains("is 1015"), "{error}");
    }

    #[test]
    fn the_close_is_requested_unless_the_user_sets_the_header() {
        let check = |closer, value: Option<&str>, expected: usize| {
            let load = planned(URL, |spec| {
                spec.connection.close = Some(closer);
                let header =
                    |value: &str| Header { name: "Connection".into(), value: value.into() };
                spec.request.headers.extend(value.map(header));
            });
            let load = load.expect("valid");
            let request = String::from_utf8_lossy(load.requests.request.bytes()).to_lowercase();
            let found = request.matches("connection: close\r\n").count();
            assert_eq!(found, expected, "{closer:?} {value:?}");
        };
        check(Closer::Server, None, 1);
        check(Closer::Server, Some("close"), 1);
        check(Closer::Server, Some("keep-alive"), 0);
        check(Closer::Client, None, 0);
    }
}
