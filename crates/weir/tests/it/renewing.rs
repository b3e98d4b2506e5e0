//! Connections that are opened, renewed and partitioned: by count, by age, after each request, at a
//! rate, from several addresses and to several. A server counts them, and none of it is an error.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::secure::{Authority, Secure};
use crate::support::served::Served;
use crate::support::weir::{self, Ran};

/// Runs a closed and an open loop, each against its own server. Nothing fails, and the server
/// counts the same number of requests.
fn check_renewed(flags: &str, check: impl Fn(&Ran, u64)) {
    on_an_engine(|engine| {
        for load in ["", "-R 400"] {
            let server = Served::plainly();
            let flags = format!("-c4 -t2 -n 120 --no-preflight {flags} {load}");
            let ran = weir::load(engine, &flags, &[&server.url()]);
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert_eq!(ran.document.results.outcomes.ok, 120, "{ran}");
            let stats = server.stop();
            assert_eq!((stats.requests.received, stats.requests.answered), (120, 120), "{ran}");
            check(&ran, stats.accepted);
        }
    });
}

#[test]
fn connections_are_renewed_after_so_many_requests() {
    check_renewed("--requests-per-connection 5", |ran, accepted| {
        let connections = &ran.document.connections;
        // Up to four requests of each connection's last five may be missing.
        assert!((21..=24).contains(&connections.renewed), "{ran}");
        assert!((connections.renewed..=connections.renewed + 4).contains(&accepted), "{ran}");
        assert_eq!(connections.closed_by_peer, 0, "{ran}");
        ran.assert_says(&format!("renewed as planned: {} of", connections.renewed));
        ran.assert_says("before the load");
        let window = ran.document.latency.connect_window.as_ref().expect("some were opened");
        assert_eq!(window.ok.count, connections.connects_in_window, "{ran}");
        assert!(connections.connects_per_second > 0.0, "{ran}");
    });
}

#[test]
fn the_client_ends_connections_after_each_request() {
    check_renewed("--close client", |ran, accepted| {
        assert!((120..=124).contains(&accepted), "{accepted} {ran}");
        assert_eq!(ran.document.connections.renewed, 120, "{ran}");
    });
}

#[test]
fn the_server_ends_connections_after_each_request() {
    check_renewed("--close server", |ran, accepted| {
        assert!((120..=124).contains(&accepted), "{accepted} {ran}");
        let connections = &ran.document.connections;
        assert_eq!(connections.renewed, 0, "{ran}");
        assert!((116..=120).contains(&connections.closed_by_peer), "{ran}");
        let headers = &ran.document.plan.request.headers;
        assert!(headers.iter().any(|header| header.value == "close"), "{ran}");
    });
}

#[test]
fn connections_are_renewed_at_an_age() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        let flags = "-c4 -t2 -R 400 -d1s --warmup 0 --no-preflight --connection-lifetime 100ms";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        // Ten generations of four; fewer if the machine was stopped.
        let renewed = ran.document.connections.renewed;
        assert!((4..=44).contains(&renewed), "{ran}");
        assert!(server.stop().accepted >= 4 + renewed - 4, "{ran}");
    });
}

#[test]
fn encrypted_connections_are_renewed_too() {
    let server = Secure::answering(&Authority::new().sign_loopback(), OK);
    on_an_engine(|engine| {
        let flags = "-c2 -t1 -n 20 --insecure --requests-per-connection 4";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        assert!((4..=5).contains(&ran.document.connections.renewed), "{ran}");
    });
}

#[test]
fn connects_keep_to_their_rate() {
    let server = Served::plainly();
    on_an_engine(|engine| {
        let flags = "-c20 -t2 -n 40 --no-preflight --connect-rate 100";
        let ran = weir::load(engine, flags, &[&server.url()]);
        ran.assert_all_ok();
        let setup_ns = ran.document.connections.setup_ns;
        assert!(setup_ns >= 190_000_000, "the twentieth slot is 190 ms after the first: {ran}");
        ran.assert_says("opened at 100/s, all within");
    });
}

/// A server that counts requests by a key of the client's address.
fn counting<K: Ord + Send + 'static>(
    key: impl Fn(SocketAddr) -> K + Send + Sync + 'static,
) -> (Raw, Arc<Mutex<BTreeMap<K, u64>>>) {
    let counts = Arc::new(Mutex::new(BTreeMap::new()));
    let theirs = Arc::clone(&counts);
    let server = Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            *theirs.lock().expect("no panic").entry(key(peer.address)).or_default() += 1;
            peer.write(OK)?;
        }
        Ok(())
    });
    (server, counts)
}

#[test]
fn connections_come_from_all_sources() {
    on_an_engine(|engine| {
        let (server, counts) = counting(|address| address.ip());
        let sources = "127.0.1.1-127.0.1.3,127.0.2.8/31";
        let flags = format!("-c10 -t2 -n 200 --source-ip {sources}");
        let ran = weir::load(engine, &flags, &[&server.url()]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        server.finish();
        let counts = counts.lock().expect("no panic");
        let seen: Vec<String> = counts.keys().map(IpAddr::to_string).collect();
        let expected = ["127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.2.8", "127.0.2.9"];
        assert_eq!(seen, expected, "{ran}");
        assert_eq!(counts.values().sum::<u64>(), ran.document.accounting.sent.total, "{ran}");
        let planned: Vec<String> =
            ran.document.plan.connection.sources.iter().map(ToString::to_string).collect();
        assert_eq!(planned, ["127.0.1.1-127.0.1.3", "127.0.2.8-127.0.2.9"], "{ran}");
    });
}

#[test]
fn connections_are_partitioned_over_destinations() {
    on_an_engine(|engine| {
        let servers = [(); 3].map(|()| Served::plainly());
        let address =
            |server: &Served| server.url()["http://".len()..].trim_end_matches('/').into();
        let addresses: Vec<String> = servers.iter().map(address).collect();
        let to = addresses.join(",");
        let flags = format!("-c6 -t2 -n 300 --no-preflight --connect-to {to}");
        let ran = weir::load(engine, &flags, &["http://www.example.com/"]);
        ran.assert_all_ok();
        ran.assert_no_failure();
        let shares = &ran.document.connections.destinations;
        assert_eq!(shares.len(), 3, "{ran}");
        for ((share, address), server) in shares.iter().zip(&addresses).zip(servers) {
            let stats = server.stop();
            assert_eq!(&share.address, address, "{ran}");
            assert_eq!((share.connects, stats.accepted), (2, 2), "{ran}");
            assert_eq!(share.outcomes.ok, stats.requests.received, "{ran}");
            ran.assert_says(&format!("{address} 2 connects ok: {}", share.outcomes.ok));
        }
        assert_eq!(shares.iter().map(|share| share.outcomes.ok).sum::<u64>(), 300, "{ran}");
    });
}

#[test]
fn a_destination_that_refuses_is_distinguished() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        let address = server.url()["http://".len()..].trim_end_matches('/').to_owned();
        // Nothing listens on the discard port of a test machine.
        let to = format!("{address},127.0.0.1:9");
        let flags = format!("-c2 -t1 -d300ms --warmup 0 --no-preflight --connect-to {to}");
        let ran = weir::load(engine, &flags, &["http://www.example.com/"]);
        let shares = &ran.document.connections.destinations;
        assert_eq!((shares[0].connects, shares[0].connects_failed), (1, 0), "{ran}");
        assert_eq!(shares[1].connects, 0, "{ran}");
        assert!(shares[1].connects_failed > 0, "{ran}");
        assert_eq!(
            (shares[0].outcomes.ok, shares[1].outcomes.ok),
            (ran.document.results.outcomes.ok, 0),
            "{ran}"
        );
        ran.assert_says("failed to connect");
    });
}
