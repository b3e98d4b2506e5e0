//! The short runs beside the main run, and the health of the machine: the document contains both,
//! apart from the run.

use std::time::Duration;

use weir_io::Endpoint;
use weir_result::document::SelfcheckSection;
use weir_serve::Delay;

use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::wait::{self, let_pass};
use crate::support::weir::{self, weir};

#[test]
fn the_noise_floor_needs_no_url() {
    on_an_engine(|engine| {
        let output = weir(&format!("--selfcheck --format json -c7 -t2 --io {engine}"), &[]);
        assert_eq!(output.code(), 0, "{output:?}");
        let floor: SelfcheckSection = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!((floor.connections, floor.threads, floor.requests), (7, 2, 1_000), "{floor:?}");
        assert!(floor.service_time.p50_ns > 0, "{floor:?}");
        assert!(floor.service_time.p99_ns >= floor.service_time.p50_ns, "{floor:?}");
        assert!(floor.send_lag.p99_ns >= floor.send_lag.p50_ns, "{floor:?}");
    });
    let text = weir("--selfcheck", &[]).stdout;
    assert!(text.contains("service") && text.contains("are mostly the server's"), "{text}");
    assert_eq!(weir("--selfcheck -q", &[]).stdout, "");
}

#[test]
fn the_noise_floor_is_not_the_server_s() {
    let server = Served::plainly();
    let ran = weir::load("epoll", "--selfcheck -c120 -t1 -d300ms --warmup 0", &[&server.url()]);
    ran.assert_all_ok();
    let floor = ran.document.selfcheck.expect("it was asked for");
    assert_eq!((floor.connections, floor.requests), (100, 1_000), "{ran}");
    ran.assert_says("noise floor");
    assert_eq!(ran.document.accounting.sent.total, server.stop().requests.received, "{ran}");
    assert_eq!(ran.document.prove_client, None, "{ran}");
}

#[test]
fn a_client_is_proved_by_a_thread_more() {
    on_an_engine(|engine| {
        for load in ["-R2k", ""] {
            // It delays its responses, or the closed loop would keep the CPUs busy.
            let server =
                Served::with(|behaviour| behaviour.delay = Delay::Fixed(Duration::from_millis(1)));
            let words = format!("--prove-client -c10 -t1 -d2s --warmup 0 {load}");
            let ran = weir::load(engine, &words, &[&server.url()]);
            ran.assert_all_ok();
            let proof = ran.document.prove_client.expect("it was asked for");
            assert_eq!((proof.threads, proof.more_threads, proof.pairs), (1, 2, 2), "{ran}");
            assert_eq!(proof.window_ns, 200_000_000, "{ran}");
            // The requests of the short runs are reported, and do not count as the run's.
            assert!(proof.sent > 0, "{ran}");
            let sent = ran.document.accounting.sent.total + proof.sent;
            assert_eq!(sent, server.stop().requests.received, "{ran}");
            ran.assert_says("2 threads instead of 1");
        }
    });
}

#[test]
fn what_cannot_be_proved_is_reported_before_any_load() {
    let server = Served::plainly();
    let check = |words: &str, part: &str| {
        let output = weir(&format!("--prove-client {words}"), &[&server.url()]);
        assert_eq!(output.code(), 2, "{output:?}");
        let stderr = &output.stderr;
        assert!(stderr.contains("--prove-client") && stderr.contains(part), "{stderr}");
    };
    check("-n5", "give -d");
    check("-c2 -t2", "-c 2");
    check("-c1", "needs a connection");
    assert_eq!(server.stop().requests.received, 0);
}

#[test]
fn the_machine_is_watched_over_the_window() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        for words in ["-R500 -d400ms", "-n300", "-d400ms --warmup 100ms"] {
            let ran = weir::load(engine, &format!("-c4 -t2 {words}"), &[&server.url()]);
            let health = ran.document.health.expect("it had a window");
            // Nearly all of it: without a warm-up, t0 is fixed only 5 ms ahead, and a busy machine
            // may wake the watcher later than that.
            assert!(health.watched_ns > 0, "{health:?}\n{ran}");
            assert_eq!(health.is_server_local, Some(true), "{ran}");
            assert!(health.heartbeat_gap_ns.is_some(), "{ran}");
            let ports = health.ephemeral_ports.expect("a TCP server");
            assert!(ports > 0.0 && ports < 1.0, "{ports}\n{ran}");
        }
    });
}

#[test]
fn the_target_is_probed_over_one_connection_before_the_load() {
    on_an_engine(|engine| {
        for words in ["-c4 -t2 -n300", "-c4 -t2 -R500 -d400ms --warmup 0"] {
            let server = Served::plainly();
            let ran = weir::load(engine, words, &[&server.url()]);
            ran.assert_all_ok();
            let probe = ran.document.probe.expect("the server responds at once");
            let times = probe.service_time;
            assert!(times.min_ns > 0 && times.min_ns <= times.p50_ns, "{probe:?}\n{ran}");
            assert!(times.p50_ns <= times.p90_ns && times.p90_ns <= times.max_ns, "{probe:?}");
            assert!(
                (1..=300).contains(&times.count) && probe.ok == times.count,
                "{probe:?}\n{ran}"
            );
            assert_eq!(probe.connects, 1, "{ran}");
            let sent = ran.document.accounting.sent;
            assert_eq!(sent.probe, probe.requests, "{ran}");
            let connections = &ran.document.connections;
            assert_eq!((connections.connects, connections.connects_probe), (5, 1), "{ran}");
            let stats = server.stop();
            assert_eq!(sent.total, stats.requests.received, "{ran}");
            // The connect of the preflight is not one of the run.
            assert_eq!(connections.connects + 1, stats.accepted, "{ran}");
        }
    });
}

#[test]
fn the_witness_s_connect_is_counted() {
    let server = Served::plainly();
    let words = "--witness on -c2 -t1 -R500 -d400ms --warmup 0";
    let ran = weir::load("epoll", words, &[&server.url()]);
    let connections = &ran.document.connections;
    let beside = (connections.connects_probe, connections.connects_witness);
    assert_eq!((connections.connects, beside), (4, (1, 1)), "{ran}");
    assert_eq!(connections.connects + 1, server.stop().accepted, "{ran}");
}

#[test]
fn no_probe_where_there_may_be_no_preflight() {
    let check = |words: &str| {
        let server = Served::plainly();
        let ran = weir::load("epoll", &format!("-c2 -t1 {words}"), &[&server.url()]);
        assert_eq!((ran.document.probe, ran.document.accounting.sent.probe), (None, 0), "{ran}");
        assert_eq!(server.stop().requests.received, ran.document.accounting.sent.total, "{ran}");
    };
    check("-n200 --no-preflight");
    check("-n200 -X POST");
    // A load of few requests is not probed.
    check("-n20");
    check("-R20 -d1s --warmup 0");
}

#[test]
fn a_slow_target_is_not_waited_for() {
    let server = Raw::start(|peer| {
        while peer.read_request()?.is_some() {
            let_pass(Duration::from_millis(700));
            peer.write(OK.as_bytes())?;
        }
        Ok(())
    });
    let ran = weir::load("epoll", "-c1 -t1 -d300ms --warmup 0", &[&server.url()]);
    assert_eq!(ran.document.probe, None, "{ran}");
    let sent = ran.document.accounting.sent;
    assert!(sent.probe <= 1, "it is abandoned with its first request: {ran}");
    assert_eq!(sent.total, server.requests(), "{ran}");
}

#[test]
fn the_load_s_own_sockets_and_a_local_server_are_watched() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        // weir looks for the server for at most 50 ms, in which a busy machine may not let it run.
        let ran = wait::until("a look at the server", || {
            let ran = weir::load(engine, "-c4 -t2 -d400ms --warmup 50ms", &[&server.url()]);
            let health = ran.document.health.as_ref().expect("it had a window");
            health.server_cpu.is_some().then_some(ran)
        });
        let network = ran.document.network.expect("TCP sockets");
        assert_eq!((network.sockets, network.sampled), (4, 4), "{ran}");
        assert!(network.rtt_min_ns.is_some_and(|ns| ns > 0), "{network:?}\n{ran}");
        // To a server on this machine there is no network to measure.
        assert_eq!((network.rtt_loaded_ns, network.handshakes), (None, 0), "{ran}");
        let health = ran.document.health.expect("it had a window");
        let server_cpu = health.server_cpu.expect("it was waited for");
        assert_eq!(server_cpu.processes, 1, "{ran}");
        assert!(server_cpu.busiest_thread_share <= 1.0, "{server_cpu:?}");
        assert!(server_cpu.busiest_thread_share > 0.0, "it answered: {server_cpu:?}\n{ran}");
        assert!(server_cpu.total_share >= server_cpu.busiest_thread_share, "{server_cpu:?}");
    });
}

#[test]
fn unix_sockets_have_no_network() {
    let name = format!("@weir-trials-{}", std::process::id());
    let server = Served::at(Endpoint::Unix(name.clone().into()), |_| {});
    let ran = weir::load("epoll", "-c2 -t1 -n200", &["--unix", &name, &server.url()]);
    assert_eq!(ran.document.network, None, "{ran}");
    assert!(ran.document.probe.is_some(), "{ran}");
    assert_eq!(ran.document.accounting.sent.total, server.stop().requests.received, "{ran}");
}
