//! The short runs beside the run, and what the machine is seen to do meanwhile: they are made, they
//! are told apart from the run, and they stand in the document.

use weir_run::document::SelfcheckSection;

use crate::support::for_each_engine;
use crate::support::served::Served;
use crate::support::weir::{self, weir};

#[test]
fn the_noise_floor_needs_no_url() {
    for_each_engine(|engine| {
        let output = weir(&format!("--selfcheck --format json -c7 -t2 --io {engine}"), &[]);
        assert_eq!(output.code(), 0, "{output:?}");
        let floor: SelfcheckSection = serde_json::from_str(&output.stdout).expect("JSON");
        assert_eq!((floor.connections, floor.threads, floor.requests), (7, 2, 1_000), "{floor:?}");
        assert!(floor.service_time.p50_ns > 0, "{floor:?}");
        assert!(floor.service_time.p99_ns >= floor.service_time.p50_ns, "{floor:?}");
        assert!(floor.send_lag.p99_ns >= floor.send_lag.p50_ns, "{floor:?}");
    });
    let text = weir("--selfcheck", &[]).stdout;
    assert!(text.contains("service") && text.contains("tell of the server"), "{text}");
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
    assert_eq!(ran.document.accounting.sent.total, server.stop().requests, "{ran}");
    assert_eq!(ran.document.prove_client, None, "{ran}");
}

#[test]
fn a_client_is_proved_by_a_thread_more() {
    for_each_engine(|engine| {
        for load in ["-R2k", ""] {
            let server = Served::plainly();
            let words = format!("--prove-client -c10 -t1 -d2s --warmup 0 {load}");
            let ran = weir::load(engine, &words, &[&server.url()]);
            ran.assert_all_ok();
            let proof = ran.document.prove_client.expect("it was asked for");
            assert_eq!((proof.threads, proof.more_threads, proof.pairs), (1, 2, 2), "{ran}");
            assert_eq!(proof.window_ns, 200_000_000, "{ran}");
            // What the short runs sent is told, and is not the run's.
            assert!(proof.sent > 0, "{ran}");
            let sent = ran.document.accounting.sent.total + proof.sent;
            assert_eq!(sent, server.stop().requests, "{ran}");
            ran.assert_says("2 threads instead of 1");
        }
    });
}

#[test]
fn what_cannot_be_proved_is_said_before_any_load() {
    let server = Served::plainly();
    let check = |words: &str, part: &str| {
        let output = weir(&format!("--prove-client {words}"), &[&server.url()]);
        assert_eq!(output.code(), 2, "{output:?}");
        let stderr = &output.stderr;
        assert!(stderr.contains("--prove-client") && stderr.contains(part), "{stderr}");
    };
    check("-n5", "give -d");
    check("-c2 -t2", "-c2");
    check("-c1", "needs a connection");
    assert_eq!(server.stop().requests, 0);
}

#[test]
fn the_machine_is_watched_over_the_window() {
    for_each_engine(|engine| {
        let server = Served::plainly();
        for words in ["-R500 -d400ms", "-n300", "-d400ms --warmup 100ms"] {
            let ran = weir::load(engine, &format!("-c4 -t2 {words}"), &[&server.url()]);
            let health = ran.document.health.expect("it had a window");
            // Nearly all of it: without a warm-up t0 is known only 5 ms ahead, and a busy machine
            // may wake the watcher later than that.
            assert!(health.watched_ns > 0, "{health:?}\n{ran}");
            assert_eq!(health.is_server_local, Some(true), "{ran}");
            assert!(health.heartbeat_gap_ns.is_some(), "{ran}");
            let ports = health.ephemeral_ports.expect("a TCP server");
            assert!(ports > 0.0 && ports < 1.0, "{ports}\n{ran}");
        }
    });
}
