//! The destinations of connections, the checks that this machine can carry them out, and notes on
//! connections that failed.

use std::io;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

use anyhow::{Context, Result, bail, ensure};
use weir_engine::Job;
use weir_io::Endpoint;
use weir_io::system::{self, DescriptorLimit};
use weir_result::document::ConnectionFailure;
use weir_result::{FailureCause, FailurePhase, Histogram, Measurements, Note, Plan, units};

use crate::addresses;
use crate::draft::Draft;
use crate::errors::NoServer;
use crate::health::ephemeral_port_count;
use crate::load::Outcome;
use crate::server_wait::ServerWait;
use crate::spec::{AddressFamily, RunSpec};
use crate::target::{Url, split_port};

/// Maximum source addresses that are checked before the load. A wrong one is rarely alone, so the
/// first ones are enough.
const CHECKED_SOURCES_MAX: u32 = 4096;

/// Descriptors of a worker that are no connections: the standard streams, the engine's, the waker.
const RESERVED: u64 = 8;

/// Resolves destinations written as `HOST[:PORT]`; the default port is that of the URL.
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
        let what = "--connect-to has a user name or a scheme: write HOST[:PORT] alone";
        ensure!(!text.contains('@') && !text.contains('/'), what);
        let (host, port) = split_port(text)
            .with_context(|| format!("invalid --connect-to {text:?}, not HOST[:PORT]"))?;
        let port = port.unwrap_or_else(|| url.port());
        let addresses = (host, port)
            .to_socket_addrs()
            .map_err(|error| NoServer(error.to_string()))
            .with_context(|| format!("the host {host:?} of --connect-to cannot be resolved"))?;
        let addresses = addresses.map(Endpoint::Tcp).collect();
        let addresses = addresses::of_family(host, addresses, family)?;
        addresses.into_iter().next().with_context(|| format!("{host:?} has no address"))
    };
    named.iter().map(resolve).collect()
}

/// The error of a run that ended before its warm-up because no connection could be opened.
pub(crate) fn no_server(
    spec: &RunSpec,
    job: &Job,
    outcome: &Outcome,
    notes: &mut Vec<Note>,
) -> Option<Note> {
    if !outcome.is_unconnected {
        return None;
    }
    let plan = &job.plan;
    let address = match &plan.connection.destinations[..] {
        [] => plan.target.address.clone(),
        several => several.join(", "),
    };
    let failures = &outcome.measurements.connections.failures;
    let is_tls = failures.keys().any(|kind| matches!(kind.cause, FailureCause::Tls(_)));
    let mut reasons: Vec<String> =
        failures.iter().map(|(kind, count)| ConnectionFailure::of(*kind, *count).text).collect();
    reasons.dedup();
    let goaways = outcome.measurements.connections.goaways.keys();
    let ended: Vec<String> = goaways
        .map(|reason| format!("the server ended the connection (GOAWAY: {reason})"))
        .collect();
    let remedy = match reasons.is_empty() && !ended.is_empty() {
        _ if is_tls => "check the server's TLS",
        true => "check the server's limits of HTTP/2",
        false => "start the server",
    };
    reasons.extend(ended);
    let failure = format!("cannot connect to {address}: {}", reasons.join(", "));
    let error = ServerWait::new(&spec.target).give_up(failure, remedy);
    notes.push(Note::new("no_server", error.to_string()));
    notes.last().cloned()
}

/// Checks that the sources are addresses of this machine, and of the family of the destinations.
///
/// # Errors
/// When one is not; the message contains the remedy.
pub(crate) fn check_sources(draft: &Draft) -> Result<()> {
    let plan = &draft.plan.connection;
    for range in &plan.sources {
        let source = range.first();
        for endpoint in draft.destinations.iter().chain([&draft.endpoint]) {
            match endpoint {
                Endpoint::Tcp(address) if address.is_ipv4() == source.is_ipv4() => {}
                Endpoint::Tcp(address) => bail!(
                    "--source-ip {range} cannot reach {address}: one is IPv4 and the other IPv6"
                ),
                Endpoint::Unix(_) => bail!(
                    "--source-ip cannot be used with --unix: Unix sockets have no source address"
                ),
            }
        }
    }
    let used = draft.plan.connections.min(CHECKED_SOURCES_MAX);
    let mut last = None;
    for source in (0..used).filter_map(|number| plan.source(number)) {
        if last.replace(source) != Some(source) {
            check_source(source)?;
        }
    }
    Ok(())
}

/// Checks one source address. It binds a datagram socket, which takes no port from the load.
fn check_source(source: IpAddr) -> Result<()> {
    match UdpSocket::bind((source, 0)) {
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => bail!(
            "--source-ip: {source} is not an address of this machine; `ip address add {source} dev \
             NAME` makes it one"
        ),
        // Other errors concern datagrams, and not the load's TCP connections.
        _ => Ok(()),
    }
}

/// Returns the least number of threads whose descriptor tables hold the connections; 1 with
/// scripts, whose threads share one table.
pub(crate) fn threads_min(connections: u32, has_scripts: bool) -> u32 {
    let limit = system::descriptor_limit().map_or(u64::MAX, |limit| limit.hard);
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
    let needed = u64::from(plan.own_connections().div_ceil(tables)) + of_workers;
    if needed <= limit.soft {
        return Ok(());
    }
    let connections = units::count(plan.own_connections().into());
    let each = if tables > 1 { " in each thread" } else { "" };
    let more_threads = if has_scripts { "" } else { ", use more threads (-t)" };
    bail!(
        "{connections} connections need {needed} descriptors{each}, and the limit is {}: raise it \
         (ulimit -n {needed}; a hard limit needs root){more_threads} or fewer connections \
         (-c)",
        limit.soft
    )
}

/// The note on connections that could not be opened because no local port was free.
pub(crate) fn out_of_ports(plan: &Plan, measurements: &Measurements) -> Option<Note> {
    let is_out = |cause| match cause {
        FailureCause::Errno(number) => {
            io::Error::from_raw_os_error(number).kind() == io::ErrorKind::AddrNotAvailable
        }
        _ => false,
    };
    let failures = measurements.connections.failures.iter();
    let of_ports =
        failures.filter(|(kind, _)| kind.phase == FailurePhase::Connect && is_out(kind.cause));
    let count: u64 = of_ports.map(|(_, count)| count).sum();
    if count == 0 {
        return None;
    }
    let remedy = match plan.connection.sources.is_empty() {
        true => "use --source-ip with several addresses",
        false => "give more addresses for --source-ip",
    };
    let text = format!(
        "{} connects failed: no local port was free (each pair of addresses has {}, and a closed \
         connection keeps its port for a minute); {remedy}",
        units::count(count),
        ephemeral_port_count().map_or_else(|| "some thousands".to_owned(), units::count),
    );
    Some(Note::new("out_of_ports", text))
}

/// The note on connections that reach their lifetime before they carry a request, because a connect
/// takes longer.
pub(crate) fn short_lifetime(plan: &Plan, measurements: &Measurements) -> Option<Note> {
    let lifetime_ns = plan.connection.lifetime_ns?;
    let median = |times: &Histogram| times.value_at_rank(times.count().div_ceil(2)).unwrap_or(0);
    let steps = [&measurements.connect, &measurements.tls_handshake, &measurements.opening];
    let connect_ns: u64 = steps.into_iter().map(median).sum();
    let text = format!(
        "--connection-lifetime {} is less than a connect takes (median {}), so most of the time \
         goes into connects; raise it, or use --close client",
        units::exact_duration(lifetime_ns),
        units::duration(connect_ns),
    );
    (lifetime_ns < connect_ns).then(|| Note::new("short_lifetime", text))
}

/// The note on more threads than CPUs, with the share of the window in which they waited for a CPU.
pub(crate) fn crowding(plan: &Plan, cpus: usize, measurements: &Measurements) -> Option<Note> {
    if plan.own_threads() as usize <= cpus {
        return None;
    }
    let usages = || measurements.workers.iter().map(|phases| phases.usage);
    let wall_ns: u64 = usages().map(|usage| usage.wall_ns).sum();
    let waited_ns: u64 = usages().filter_map(|usage| usage.run_delay_ns).sum();
    let share = (wall_ns > 0).then(|| units::percent(waited_ns as f64 / wall_ns as f64))?;
    let text = format!(
        "{} threads on {cpus} CPU{} waited {share} of the window for a CPU, which is part of their \
         latencies",
        plan.own_threads(),
        if cpus == 1 { "" } else { "s" },
    );
    Some(Note::new("threads_waited", text))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use weir_result::{AddressRange, Closer, FailureKind, Header, WorkerPhases, WorkerUsage};

    use super::*;
    use crate::observer::Silent;
    use crate::watchdog::OnStuck;

    /// Plans a run against `url` with changes to its specification.
    fn draft(url: &str, change: impl FnOnce(&mut RunSpec)) -> Result<Draft> {
        let mut spec = RunSpec::new(url);
        change(&mut spec);
        Ok(crate::plan::plan(&spec, &OnStuck::default(), &mut Silent)?.draft)
    }

    fn sources(text: &str) -> Vec<AddressRange> {
        let ranges = text.split(',').filter(|range| !range.is_empty());
        ranges.map(|range| range.parse().expect("a range of addresses")).collect()
    }

    const URL: &str = "http://127.0.0.1/";

    #[test]
    fn destinations_are_resolved_and_named() {
        let named = ["127.0.0.1:81", "[::1]", "127.0.0.2"];
        let draft = draft("http://h.test:8080/", |spec| {
            spec.connection.destinations = named.map(str::to_owned).to_vec();
        });
        let draft = draft.expect("addresses need no resolving");
        let expected = ["127.0.0.1:81", "[::1]:8080", "127.0.0.2:8080"];
        assert_eq!(draft.plan.connection.destinations, expected);
        assert_eq!(draft.plan.target.address, "127.0.0.1:81");
        assert_eq!(draft.plan.target.host, "h.test");
        let host = "Host: h.test:8080\r\n";
        let request = String::from_utf8_lossy(draft.request.bytes()).into_owned();
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
            let error = draft(URL, |spec| spec.connection.destinations = vec![text.to_owned()]);
            let error = error.expect_err(text);
            let error = format!("{error:#}");
            assert!(error.contains(part) && error.contains("--connect-to"), "{text}: {error}");
            assert!(!error.contains("SECRET"), "{text}: {error}");
        }
    }

    #[test]
    fn invalid_sources_are_errors() {
        let from = |connections, ranges: &str, unix: Option<&str>| {
            let draft = draft(URL, |spec| {
                spec.load.connections = connections;
                spec.connection.sources = sources(ranges);
                spec.target.unix = unix.map(PathBuf::from);
            });
            check_sources(&draft.expect(ranges))
        };
        for (connections, ranges, unix, part) in [
            (10, "192.0.2.1", None, "192.0.2.1 is not an address of this machine"),
            (9, "127.0.0.1,192.0.2.0/24", None, "192.0.2.0 is not an address"),
            (10, "::1", None, "one is IPv4 and the other IPv6"),
            (10, "127.0.0.1", Some("/x"), "cannot be used with --unix"),
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
        let check = |connections, threads, has_scripts, soft| {
            let plan = Plan { connections, threads, ..Plan::default() };
            check_descriptors(&plan, has_scripts, DescriptorLimit { soft, hard: soft })
        };
        check(1_000, 2, false, 508).expect("500 and 8 of each worker's own");
        check(1_001, 2, false, 508).expect_err("one worker has 501");
        check(1_000, 2, true, 1_016).expect("one table for all");
        let error = check(1_000, 2, true, 1_015).expect_err("one too few").to_string();
        assert!(error.contains("ulimit -n 1016") && error.contains("is 1015"), "{error}");
    }

    #[test]
    fn the_note_on_used_up_ports_has_the_remedy() {
        // EADDRNOTAVAIL and ECONNREFUSED.
        for (errno, phase, ranges, part) in [
            (99, FailurePhase::Connect, "", Some("--source-ip with several")),
            (99, FailurePhase::Connect, "127.0.0.1", Some("more addresses for")),
            (111, FailurePhase::Connect, "", None),
            (99, FailurePhase::Idle, "", None),
        ] {
            let mut measurements = Measurements::default();
            let kind = FailureKind { phase, cause: FailureCause::Errno(errno) };
            measurements.connections.failures.insert(kind, 1_234);
            let draft =
                draft(URL, |spec| spec.connection.sources = sources(ranges)).expect("valid");
            let note = out_of_ports(&draft.plan, &measurements).map(|note| note.text);
            let fits = part.is_none_or(|part| {
                note.as_ref().is_some_and(|text| text.contains(part) && text.contains("1,234"))
            });
            assert!(fits && note.is_some() == part.is_some(), "{errno}, {phase:?}: {note:?}");
        }
    }

    #[test]
    fn lifetimes_below_the_connect_time_are_noted() {
        for (lifetime_ns, connect_ns, is_noted) in [
            (Some(1_000_000), 2_000_000, true),
            (Some(3_000_000), 2_000_000, false),
            (Some(1_000_000), 0, false),
            (None, 2_000_000, false),
        ] {
            let mut measurements = Measurements::default();
            if connect_ns > 0 {
                measurements.connect.record(connect_ns);
            }
            let draft =
                draft(URL, |spec| spec.connection.lifetime_ns = lifetime_ns).expect("valid");
            let note = short_lifetime(&draft.plan, &measurements).map(|note| note.text);
            let fits = note.as_ref().is_some_and(|text| {
                text.contains("--connection-lifetime 1 ms") && text.contains("median 2.00 ms")
            });
            assert_eq!((fits, note.is_some()), (is_noted, is_noted), "{lifetime_ns:?}: {note:?}");
        }
    }

    #[test]
    fn the_note_on_crowded_threads_has_their_wait() {
        let usage = |run_delay_ns| WorkerUsage {
            wall_ns: 1_000,
            run_delay_ns: Some(run_delay_ns),
            ..WorkerUsage::default()
        };
        let workers = [100, 300].map(|ns| WorkerPhases { usage: usage(ns), ..Default::default() });
        let measurements = Measurements { workers: workers.to_vec(), ..Measurements::default() };
        let plan = Plan { threads: 2, ..Plan::default() };
        let note = crowding(&plan, 1, &measurements).expect("more threads than CPUs");
        assert!(note.text.contains("waited 20") && note.text.contains("1 CPU"), "{}", note.text);
        assert_eq!(crowding(&plan, 2, &measurements), None);
    }

    #[test]
    fn the_close_is_requested_unless_the_user_sets_the_header() {
        let check = |closer, value: Option<&str>, expected: usize| {
            let draft = draft(URL, |spec| {
                spec.connection.close = Some(closer);
                let header =
                    |value: &str| Header { name: "Connection".into(), value: value.into() };
                spec.request.headers.extend(value.map(header));
            });
            let draft = draft.expect("valid");
            let request = String::from_utf8_lossy(draft.request.bytes()).to_lowercase();
            let found = request.matches("connection: close\r\n").count();
            assert_eq!(found, expected, "{closer:?} {value:?}");
        };
        check(Closer::Server, None, 1);
        check(Closer::Server, Some("close"), 1);
        check(Closer::Server, Some("keep-alive"), 0);
        check(Closer::Client, None, 0);
    }
}
