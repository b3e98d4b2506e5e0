//! WebSocket: messages and their echoes are counted as the server counts them, in order and by
//! field, with faults, closed connections and refused upgrades.

use std::time::Duration;

use weir_result::FailurePhase::{Idle, InUse};
use weir_result::HttpPlan;
use weir_result::document::TargetState;
use weir_serve::{Behaviour, EventStream, Stats};

use crate::support::for_each_engine;
use crate::support::served::Served;
use crate::support::wait;
use crate::support::weir::{self, Ran, weir};

fn url(server: &Served) -> String {
    server.url().replace("http://", "ws://")
}

/// Runs a load on a server with this behaviour. Returns its end and the server's counters, once
/// the server has seen the end of all connections.
fn load(
    engine: &str,
    words: &str,
    more: &[&str],
    change: impl FnOnce(&mut Behaviour),
) -> (Ran, Stats) {
    let server = Served::with(change);
    let more: Vec<&str> = more.to_vec();
    let url = url(&server);
    let ran = weir::load(engine, words, &[&more[..], &[&url]].concat());
    wait::until("the end of all connections", || {
        (server.stats().websockets_open == 0).then_some(())
    });
    (ran, server.stop())
}

#[test]
fn each_message_is_echoed_and_counted() {
    for_each_engine(|engine| {
        for flags in ["-c 3 -t 2 -n 300", "-c 3 -t 2 -n 300 -R 2000", "-c 2 -n 300 --streams 5"] {
            let more = ["-b", "hello", "--expect", "body~^hello$", "--expect", "same"];
            let (ran, stats) = load(engine, flags, &more, |behaviour| {
                behaviour.websocket.ping = Some(Duration::from_millis(5));
            });
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert_eq!((stats.ws_messages, stats.ws_echoes), (300, 300), "{ran}");
            assert_eq!((stats.requests, stats.answered), (300, 300), "{ran}");
            // The preflight has a connection of its own.
            assert_eq!(stats.websockets, 1 + ran.connects(), "{ran}");
            assert_eq!(stats.ws_closed_1000, stats.websockets, "{stats:?} {ran}");
            let http = ran.document.plan.http;
            assert!(matches!(http, Some(HttpPlan::WebSocket(_))), "{ran}");
            assert_eq!(ran.document.run.preflight.as_ref().map(|it| it.status), Some(101), "{ran}");
        }
    });
}

#[test]
fn echoes_are_matched_by_a_field_among_pushed_messages() {
    for_each_engine(|engine| {
        let flags = "-c 2 -n 200 --streams 8 --match json:/id --no-preflight";
        let (ran, stats) = load(engine, flags, &["-b", r#"{"id":{{seq}}}"#], |behaviour| {
            behaviour.delay = "exp:1ms".parse().expect("valid");
            behaviour.websocket.is_unordered = true;
            behaviour.events = Some(EventStream::of(5));
        });
        ran.assert_all_ok();
        assert_eq!(ran.document.connections.failures, [], "{ran}");
        assert_eq!((stats.ws_messages, stats.ws_pushed), (200, 10), "{ran}");
        assert_eq!(ran.document.connections.pushed, 10, "{ran}");
        ran.assert_says("10 messages");
    });
}

#[test]
fn faults_are_counted_by_kind() {
    for_each_engine(|engine| {
        let (ran, stats) = load(engine, "-c 2 -n 400 --timeout 500ms", &["-b", "x"], |behaviour| {
            let faults = ["reset:1/50", "close:1/70", "garbage:1/90", "blackhole:1/300"];
            behaviour.faults = faults.map(|fault| fault.parse().expect("valid")).to_vec();
        });
        let accounting = &ran.document.accounting;
        assert_eq!(accounting.ok, stats.answered, "{ran}");
        assert_eq!(accounting.timed_out, stats.blackholed, "{ran}");
        assert_eq!(accounting.transport_error, stats.reset + stats.closed, "{ran}");
        assert_eq!(ran.failures(InUse, "closed"), stats.closed, "{ran}");
        assert_eq!(ran.failures(InUse, "ECONNRESET"), stats.reset, "{ran}");
        let spoiled = ran.failures(Idle, "protocol_bad_frame");
        // The bytes may arrive with the next message in flight.
        let in_use = ran.failures(InUse, "protocol_bad_frame");
        assert_eq!(spoiled + in_use, stats.garbage, "{ran}");
    });
}

#[test]
fn connections_that_the_server_closes_are_opened_again() {
    for_each_engine(|engine| {
        let (ran, stats) = load(engine, "-c 2 -n 200", &["-b", "x"], |behaviour| {
            behaviour.requests_per_connection = Some(20);
        });
        ran.assert_all_ok();
        ran.assert_no_failure();
        // The frames after the last echoes may come after the end of the load.
        let closed = ran.document.connections.goaways.get("1000 Normal Closure");
        assert!(closed.is_some_and(|count| (8..=10).contains(count)), "{ran}");
        ran.assert_says("ended by the server (Close frame): 1000 Normal Closure");
        assert_eq!(stats.ws_messages, 200, "{ran}");
    });
}

#[test]
fn idle_connections_are_held() {
    for_each_engine(|engine| {
        let (ran, stats) = load(engine, "-c 5 -d 300ms --ws-idle", &[], |behaviour| {
            behaviour.websocket.ping = Some(Duration::from_millis(20));
        });
        assert_eq!((ran.code, ran.document.connections.open_at_t0), (0, 5), "{ran}");
        ran.assert_says("held open: 5 of 5, 0 lost");
        ran.assert_says("as planned: 5 connections");
        // The grade also depends on the machine: a busy one stops the client.
        assert_eq!(ran.document.verdict.target.state, TargetState::Ok, "{ran}");
        assert_eq!((stats.requests, stats.websockets), (0, 6), "{ran}");
        assert!(stats.ws_pongs > 0, "{stats:?}");
    });
}

#[test]
fn idle_connections_that_the_server_ends_degrade_the_target() {
    for_each_engine(|engine| {
        let (ran, _) = load(engine, "-c 4 -d 1s --ws-idle --no-preflight", &[], |behaviour| {
            behaviour.idle_timeout = Some(Duration::from_millis(200));
        });
        assert!(ran.document.connections.lost() > 0, "{ran}");
        assert_ne!(ran.document.verdict.target.state, TargetState::Ok, "{ran}");
        ran.assert_says("connections ended");
    });
}

/// Connecting again is refused from then on.
#[test]
fn idle_connections_to_a_server_that_ends_are_lost() {
    for_each_engine(|engine| {
        let server = Served::with(|_| ());
        let url = url(&server);
        let flags = "-c 4 -d 2s --warmup 0 --ws-idle --no-preflight";
        let run = weir::start(engine, flags, &[&url]);
        wait::until("the connections", || (server.stats().websockets == 4).then_some(()));
        server.stop();
        let ran = run.finish();
        assert_eq!(ran.document.connections.lost(), 4, "{ran}");
        assert_eq!(ran.document.verdict.target.state, TargetState::Failed, "{ran}");
        ran.assert_says("connections ended 4 times, of 4 held");
    });
}

#[test]
fn pushed_messages_are_counted_and_timed() {
    for_each_engine(|engine| {
        let (ran, stats) =
            load(engine, "-c 3 -d 2s --warmup 0 --ws-idle --no-preflight", &[], |behaviour| {
                let gap = "20ms".parse().expect("valid");
                let first = "50ms".parse().expect("valid");
                behaviour.events = Some(EventStream { first, gap, ..EventStream::of(10) });
            });
        let connections = &ran.document.connections;
        assert_eq!(stats.ws_pushed, 30, "{stats:?}");
        assert_eq!((connections.pushed, connections.pushed_in_window), (30, 30), "{ran}");
        let gap = ran.document.latency.push_gap.as_ref().expect("times");
        assert_eq!(gap.ok.count, 27, "{ran}");
        // Nine gaps span 180 ms, less the lateness of the first read.
        assert!(gap.ok.max_ns.is_some_and(|ns| ns >= 5_000_000), "{ran}");
        ran.assert_says("30 messages");
    });
}

#[test]
fn a_refused_upgrade_is_an_error_with_its_status() {
    for_each_engine(|engine| {
        let server = Served::with(|behaviour| behaviour.status = 403);
        let output = weir("-d 1s --io", &[engine, &url(&server), "-b", "x"]);
        assert_eq!(output.code(), 1, "{output:?}");
        let text = "the server refuses the upgrade to WebSocket: status 403";
        assert!(output.stderr.contains(text), "{output:?}");
        let ran = weir::load(engine, "-d 300ms -c 2 --no-preflight", &["-b", "x", &url(&server)]);
        assert_eq!(ran.document.verdict.target.state, TargetState::Failed, "{ran}");
        let failures = &ran.document.connections.failures;
        let is_refusal = |cause: &str| cause == "protocol_upgrade_refused_403";
        assert!(failures.iter().all(|failure| is_refusal(&failure.cause)), "{ran}");
        assert!(!failures.is_empty() || ran.text.contains("refused: status 403"), "{ran}");
    });
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    for (flags, reason) in [
        ("ws://127.0.0.1:9/ --http 2", "--http 2 cannot be used with WebSocket"),
        ("ws://127.0.0.1:9/ --http 1.0", "--http 1.0 cannot be used with WebSocket"),
        ("ws://127.0.0.1:9/ --pipeline 2", "--streams is the number of messages in flight"),
        ("ws://127.0.0.1:9/ -X PUT", "a message has no method"),
        ("ws://127.0.0.1:9/ --close server", "the upgrade needs Connection: Upgrade"),
        ("ws://127.0.0.1:9/ -H Upgrade:x", "the handshake sets it"),
        ("ws://127.0.0.1:9/ -b x --match json:/id", "the message has no such field"),
        ("ws://127.0.0.1:9/ -b {} --match id", "write json:POINTER"),
        ("ws://127.0.0.1:9/ --ws-idle -b x", "--ws-idle sends no message"),
        ("ws://127.0.0.1:9/ --ws-idle -R 5", "--ws-idle sends no message"),
        ("http://127.0.0.1:9/ --ws-idle", "use a URL with ws:// or wss://"),
        ("http://127.0.0.1:9/ -b x --match json:/id", "--match needs WebSocket"),
    ] {
        let output = weir(flags, &[]);
        assert_eq!(output.code(), 2, "{flags}: {output:?}");
        assert!(output.stderr.contains(reason), "{flags}: {}", output.stderr);
    }
}
