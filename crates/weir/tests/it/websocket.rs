//! WebSocket: messages and their echoes are counted as the server counts them, in order and by
//! field, with faults, closed connections and refused upgrades.

use std::io::Read;
use std::time::Duration;

use weir_http::ws::CloseCode;
use weir_result::FailurePhase::{Idle, InUse};
use weir_result::document::{Grade, TargetState};
use weir_result::quantile::Bound;
use weir_result::{Document, HttpPlan};
use weir_serve::{Behaviour, EventStream, Stats};

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::served::Served;
use crate::support::sockets;
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
        (server.stats().websockets.open() == 0).then_some(())
    });
    (ran, server.stop())
}

#[test]
fn each_message_is_echoed_and_counted() {
    on_an_engine(|engine| {
        for flags in ["-c 3 -t 2 -n 300", "-c 3 -t 2 -n 300 -R 2000", "-c 2 -n 300 --streams 5"] {
            let more = ["-b", "hello", "--expect", "body~^hello$", "--expect", "same"];
            let (ran, stats) = load(engine, flags, &more, |behaviour| {
                behaviour.websocket.ping = Some(Duration::from_millis(5));
            });
            ran.assert_all_ok();
            ran.assert_no_failure();
            assert_eq!((stats.websockets.messages, stats.websockets.echoes), (300, 300), "{ran}");
            assert_eq!((stats.requests.received, stats.requests.answered), (300, 300), "{ran}");
            // The preflight has a connection of its own.
            assert_eq!(stats.websockets.opened, 1 + ran.connects(), "{ran}");
            // A Ping that arrives while weir closes resets the connection, and its Close frame is
            // lost.
            let ended = stats.websockets.closed_1000 + stats.websockets.unclosed;
            assert_eq!(ended, stats.websockets.opened, "{stats:?} {ran}");
            assert!(stats.websockets.closed_1000 > 0, "{stats:?} {ran}");
            let http = ran.document.plan.http;
            assert!(matches!(http, Some(HttpPlan::WebSocket(_))), "{ran}");
            assert_eq!(ran.document.run.preflight.as_ref().map(|it| it.status), Some(101), "{ran}");
        }
    });
}

#[test]
fn echoes_are_matched_by_a_field_among_pushed_messages() {
    on_an_engine(|engine| {
        let flags = "-c 2 -n 200 --streams 8 --match json:/id --no-preflight";
        let (ran, stats) = load(engine, flags, &["-b", r#"{"id":{{seq}}}"#], |behaviour| {
            behaviour.delay = "exp:1ms".parse().expect("valid");
            behaviour.websocket.is_unordered = true;
            behaviour.events = Some(EventStream::of(5));
        });
        ran.assert_all_ok();
        assert_eq!(ran.document.connections.failures, [], "{ran}");
        assert_eq!((stats.websockets.messages, stats.websockets.pushed), (200, 10), "{ran}");
        assert_eq!(ran.document.connections.pushed, 10, "{ran}");
        ran.assert_says("10 messages");
    });
}

#[test]
fn faults_are_counted_by_kind() {
    on_an_engine(|engine| {
        let (ran, stats) = load(engine, "-c 2 -n 400 --timeout 500ms", &["-b", "x"], |behaviour| {
            let faults = ["reset:1/50", "close:1/70", "garbage:1/90", "blackhole:1/300"];
            behaviour.faults = faults.map(|fault| fault.parse().expect("valid")).to_vec();
        });
        let results = &ran.document.results;
        assert_eq!(results.outcomes.ok, stats.requests.answered, "{ran}");
        assert_eq!(results.outcomes.timed_out, stats.requests.blackholed, "{ran}");
        assert_eq!(
            results.outcomes.transport_error,
            stats.requests.reset + stats.requests.closed,
            "{ran}"
        );
        assert_eq!(ran.failures(InUse, "closed"), stats.requests.closed, "{ran}");
        assert_eq!(ran.failures(InUse, "ECONNRESET"), stats.requests.reset, "{ran}");
        let spoiled = ran.failures(Idle, "protocol_bad_frame");
        // The bytes may arrive with the next message in flight.
        let in_use = ran.failures(InUse, "protocol_bad_frame");
        assert_eq!(spoiled + in_use, stats.requests.garbage, "{ran}");
    });
}

#[test]
fn connections_that_the_server_closes_are_opened_again() {
    on_an_engine(|engine| {
        let (ran, stats) = load(engine, "-c 2 -n 200", &["-b", "x"], |behaviour| {
            behaviour.requests_per_connection = Some(20);
        });
        ran.assert_all_ok();
        ran.assert_no_failure();
        // The frames after the last echoes may come after the end of the load.
        let closed = ran.document.connections.goaways.get("1000 Normal Closure");
        assert!(closed.is_some_and(|count| (8..=10).contains(count)), "{ran}");
        ran.assert_says("ended by the server (Close frame): 1000 Normal Closure");
        assert_eq!(stats.websockets.messages, 200, "{ran}");
    });
}

#[test]
fn idle_connections_are_held() {
    on_an_engine(|engine| {
        let (ran, stats) = load(engine, "-c 5 -d 300ms --ws-idle", &[], |behaviour| {
            behaviour.websocket.ping = Some(Duration::from_millis(20));
        });
        assert_eq!((ran.code, ran.document.connections.open_at_t0), (0, 5), "{ran}");
        ran.assert_says("held open: 5 of 5, 0 lost");
        ran.assert_says("as planned: 5 connections");
        // The grade also depends on the machine: a busy one stops the client.
        assert_eq!(ran.document.verdict.target.state, TargetState::Ok, "{ran}");
        assert_eq!((stats.requests.received, stats.websockets.opened), (0, 6), "{ran}");
        assert!(stats.websockets.pongs > 0, "{stats:?}");
    });
}

#[test]
fn idle_connections_that_the_server_ends_degrade_the_target() {
    on_an_engine(|engine| {
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
    on_an_engine(|engine| {
        let server = Served::with(|behaviour| {
            behaviour.websocket.ping = Some(Duration::from_millis(5));
        });
        let url = url(&server);
        let flags = "-c 4 -d 4s --warmup 0 --ws-idle --no-preflight";
        let run = weir::start(engine, flags, &[&url]);
        // As many Pongs come only from connections that are held.
        wait::until("Pongs of the window", || {
            (server.stats().websockets.pongs >= 400).then_some(())
        });
        server.stop();
        let ran = run.finish();
        assert_eq!(ran.document.connections.lost(), 4, "{ran}");
        assert_eq!(ran.document.verdict.target.state, TargetState::Failed, "{ran}");
        ran.assert_says("connections ended 4 times, of 4 held");
    });
}

#[test]
fn pushed_messages_are_counted_and_timed() {
    on_an_engine(|engine| {
        let (ran, stats) =
            load(engine, "-c 3 -d 2s --warmup 0 --ws-idle --no-preflight", &[], |behaviour| {
                let gap = "20ms".parse().expect("valid");
                let first = "50ms".parse().expect("valid");
                behaviour.events = Some(EventStream { first, gap, ..EventStream::of(10) });
            });
        let connections = &ran.document.connections;
        assert_eq!(stats.websockets.pushed, 30, "{stats:?}");
        assert_eq!((connections.pushed, connections.pushed_in_window), (30, 30), "{ran}");
        let gap = ran.document.latency.push_gap.as_ref().expect("times");
        assert_eq!(gap.ok.count, 27, "{ran}");
        // Nine gaps span 180 ms, less the lateness of the first read.
        assert!(gap.ok.max_ns.is_some_and(|ns| ns >= 5_000_000), "{ran}");
        ran.assert_says("30 messages");
    });
}

/// Pushes that outlast the run are no failure of connections that only listen.
#[test]
fn endless_pushes_are_no_failure() {
    on_an_engine(|engine| {
        let flags = "-c 2 -d 500ms --warmup 0 --ws-idle --no-preflight";
        let (ran, stats) = load(engine, flags, &[], |behaviour| {
            let gap = "10ms".parse().expect("valid");
            behaviour.events = Some(EventStream { gap, ..EventStream::of(100_000) });
        });
        assert_eq!(ran.code, 0, "{ran}");
        assert_eq!(ran.document.verdict.target.state, TargetState::Ok, "{ran}");
        let pushed = ran.document.connections.pushed;
        assert!(pushed > 0 && pushed <= stats.websockets.pushed, "{ran}");
    });
}

/// A greeting takes the place of the first echo of its connection, and each echo that of the next.
#[test]
fn pushed_messages_among_echoes_are_a_finding() {
    on_an_engine(|engine| {
        let server = sockets::start(&[], |socket| {
            socket.send("welcome")?;
            while let Some(message) = socket.next()? {
                socket.send(&message)?;
            }
            Ok(())
        });
        let url = server.url().replace("http:", "ws:");
        let ran = weir::load(engine, "-c 2 -n 40 --no-preflight -b x", &[&url]);
        let Document { connections, verdict, results, .. } = &ran.document;
        assert_eq!((connections.pushed, verdict.grade), (2, Grade::Void), "{ran}");
        let p50 = results.response_time.ok.percentile(50.0).expect("responses");
        assert_eq!(p50.bound, Bound::Unknown, "{ran}");
        assert!(verdict.reason.starts_with("pushed messages: 2 messages are no echo"), "{ran}");
        ran.assert_says("unknown: pushed messages may have counted as echoes");
        let ran = weir::load(engine, "-c 2 -n 40 --ws-ack -b x", &[&url]);
        ran.assert_all_ok();
        assert_eq!(ran.document.connections.pushed, 0, "{ran}");
        assert_ne!(ran.document.verdict.grade, Grade::Void, "{ran}");
    });
}

#[test]
fn close_frames_of_applications_keep_their_codes_and_reasons() {
    on_an_engine(|engine| {
        let server = sockets::start(&[], |socket| {
            socket.next()?;
            socket.close(CloseCode(4401), "token expired")
        });
        let url = server.url().replace("http:", "ws:");
        let ran = weir::load(engine, "-n 6 -c 2 -b hi", &[&url]);
        let counts = |name: &str| std::collections::BTreeMap::from([(name.to_owned(), 6)]);
        assert_eq!(ran.document.connections.goaways, counts("4401 token expired"), "{ran}");
        assert_eq!(ran.document.results.errors, counts("protocol_closed_4401"), "{ran}");
        ran.assert_says("4401 token expired 6");
    });
}

/// They are foreign text, of which any amount may come.
#[test]
fn reasons_of_close_frames_are_bounded_and_printable() {
    let server = sockets::start(&[], |socket| {
        socket.next()?;
        let reason = format!("\u{1b}[1m{} token=SECRETSECRET", socket.peer.number);
        socket.close(CloseCode(4000), &reason)
    });
    let url = server.url().replace("http:", "ws:");
    let ran = weir::load("epoll", "-n 40 -c 40 -t 1 -b hi --no-preflight", &[&url]);
    let goaways = &ran.document.connections.goaways;
    assert_eq!((goaways.len(), goaways.values().sum::<u64>()), (33, 40), "{ran}");
    assert_eq!(goaways.get("4000"), Some(&8), "{ran}");
    ran.assert_says("for other reasons");
    let text = format!("{ran}");
    assert!(!text.contains('\u{1b}') && !text.contains("SECRETSECRET"), "{text}");
}

#[test]
fn a_field_that_makes_no_upgrade_is_named() {
    const EXTENSION: &[(&str, &str)] = &[("Sec-WebSocket-Extensions", "permessage-deflate")];
    const TWICE: &[(&str, &str)] = &[("Sec-WebSocket-Accept", "x")];
    const PROTOCOL: &[(&str, &str)] = &[("Sec-WebSocket-Protocol", "chat")];
    for (fields, fault, word) in [
        (EXTENSION, "Sec-WebSocket-Extensions: permessage-deflate was not offered", "Extensions"),
        (TWICE, "Sec-WebSocket-Accept is there 2 times", "Accept"),
        (PROTOCOL, "Sec-WebSocket-Protocol: chat was not offered", "Protocol"),
    ] {
        let server = sockets::start(fields, |_| Ok(()));
        let url = server.url().replace("http:", "ws:");
        let output = weir("-n 5 -c 1 -b hi", &[&url]);
        assert!(output.code() == 1 && output.stderr.contains(fault), "{output:?}");
        let output = weir("-n 5 -c 1 -b hi --no-preflight", &[&url]);
        assert!(output.stderr.contains(word), "{output:?}");
        assert!(!output.stderr.contains("start the server"), "{output:?}");
    }
}

/// A body of 5,000 bytes that deflates to a few.
fn long_body() -> String {
    format!(r#"{{"id":{{{{seq}}}},"text":"{}"}}"#, "hello ".repeat(830))
}

#[test]
fn messages_are_compressed_where_the_server_accepts_it() {
    on_an_engine(|engine| {
        let directory = Directory::new();
        let lines = directory.file("lines");
        std::fs::write(&lines, long_body()).expect("a file");
        for flags in ["-c 3 -t 2 -n 300", "-c 3 -n 300 --streams 5 --match json:/id"] {
            let flags = format!("{flags} --ws-deflate --no-preflight");
            let more = ["--body-lines", &lines, "--expect", "body~hello hello"];
            let (ran, stats) = load(engine, &flags, &more, |behaviour| {
                behaviour.websocket.deflates = true;
                behaviour.websocket.ping = Some(Duration::from_millis(5));
            });
            ran.assert_all_ok();
            assert_eq!(ran.document.connections.failures, [], "{ran}");
            assert_eq!((stats.websockets.messages, stats.websockets.echoes), (300, 300), "{ran}");
            assert_eq!(stats.websockets.deflated, stats.websockets.opened, "{stats:?}");
            assert_eq!(ran.document.connections.deflated, ran.connects(), "{ran}");
            let received =
                ran.document.throughput.bytes_per_second * ran.document.throughput.window_s;
            assert!(received < 300.0 * 1_000.0, "{received} bytes on the wire: {ran}");
            ran.assert_says(&format!(
                "compressed (permessage-deflate): {0} of {0}",
                ran.connects()
            ));
        }
    });
}

#[test]
fn a_server_that_declines_compression_is_seen() {
    on_an_engine(|engine| {
        let (ran, stats) = load(engine, "-c 2 -n 100 --ws-deflate -b x", &[], |_| ());
        ran.assert_all_ok();
        assert_eq!((stats.websockets.deflated, ran.document.connections.deflated), (0, 0), "{ran}");
        ran.assert_says("compressed (permessage-deflate): 0 of 2");
    });
}

/// The window of the client was no part of the offer.
#[test]
fn parameters_that_were_not_offered_are_named() {
    const WINDOW: &[(&str, &str)] =
        &[("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits=10")];
    let server = sockets::start(WINDOW, |_| Ok(()));
    let output = weir("-n 5 -c 1 -b hi --ws-deflate", &[&server.url().replace("http:", "ws:")]);
    let fault = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=10 was not \
                 offered (permessage-deflate was)";
    assert!(output.code() == 1 && output.stderr.contains(fault), "{output:?}");
}

#[test]
fn a_damaged_compressed_message_is_a_failure_of_its_own() {
    const FIELDS: &[(&str, &str)] = &[("Sec-WebSocket-Extensions", "permessage-deflate")];
    on_an_engine(|engine| {
        let server = sockets::start(FIELDS, |socket| {
            // It cannot read the message, which is compressed.
            socket.peer.stream()?.read_exact(&mut [0; 8])?;
            socket.peer.write([0xc1, 4, 0xff, 0xff, 0xff, 0xff])
        });
        let url = server.url().replace("http:", "ws:");
        let ran = weir::load(engine, "-n 6 -c 2 -b hi --ws-deflate", &[&url]);
        let counts = std::collections::BTreeMap::from([("protocol_bad_deflate".to_owned(), 6)]);
        assert_eq!(ran.document.results.errors, counts, "{ran}");
        ran.assert_says("a compressed message cannot be inflated");
    });
}

#[test]
fn compressed_messages_are_shown_inflated() {
    let server = Served::with(|behaviour| behaviour.websocket.deflates = true);
    let body = long_body().replace("{{seq}}", "7");
    let output = weir("--debug --ws-deflate -b", &[&body, &url(&server)]);
    let text = output.stdout.matches("hello hello hello").count();
    assert!(output.code() == 0 && text >= 2, "{output:?}");
    assert!(output.stdout.contains("permessage-deflate"), "{output:?}");
}

/// A protocol that begins with a message per connection, and then only listens.
#[test]
fn connections_begin_with_a_message_and_listen() {
    on_an_engine(|engine| {
        let server = sockets::start(&[], |socket| {
            if socket.next()?.as_deref() != Some("init") {
                return socket.close(CloseCode(4400), "no init");
            }
            socket.send("ack")?;
            for number in 0..5 {
                socket.send(&format!("news {number}"))?;
            }
            Ok(())
        });
        let url = server.url().replace("http:", "ws:");
        let flags = "-c 3 -d 500ms --warmup 0 --ws-idle --ws-first init --ws-ack --no-preflight";
        let ran = weir::load(engine, flags, &[&url]);
        let connections = &ran.document.connections;
        assert_eq!((connections.open_at_t0, connections.pushed), (3, 15), "{ran}");
        assert_eq!(connections.goaways.len(), 0, "{ran}");
        ran.assert_says("listening");
        let output = weir("-c 1 -n 1 -b x --ws-first hello --ws-ack", &[&url]);
        let text = "the server ended the connection (Close frame: 4400 no init)";
        assert!(output.code() == 1 && output.stderr.contains(text), "{output:?}");
    });
}

#[test]
fn held_connections_that_are_interrupted_before_the_window_are_no_measurement() {
    let server = Served::with(|_| ());
    let flags = "-c 3 -d 5s --warmup 30s --ws-idle --no-preflight";
    let run = weir::start("epoll", flags, &[&url(&server)]);
    wait::until("the connections", || (server.stats().websockets.opened == 3).then_some(()));
    run.process.signal(&["INT"]);
    let ran = run.finish();
    assert_eq!(ran.document.verdict.grade, Grade::Void, "{ran}");
    ran.assert_says("nothing was measured");
}

#[test]
fn a_refused_upgrade_is_an_error_with_its_status() {
    on_an_engine(|engine| {
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
        ("ws://127.0.0.1:9/ --ws-idle --ws-binary", "--ws-idle sends no message"),
        (
            "ws://127.0.0.1:9/ -H Sec-WebSocket-Extensions:x",
            "--ws-deflate offers the one extension",
        ),
        ("http://127.0.0.1:9/ --ws-deflate", "--ws-deflate needs WebSocket"),
        ("http://127.0.0.1:9/ --ws-ack", "--ws-ack needs WebSocket"),
        ("http://127.0.0.1:9/ --ws-first x", "--ws-first needs WebSocket"),
        ("http://127.0.0.1:9/ --ws-idle", "use a URL with ws:// or wss://"),
        ("http://127.0.0.1:9/ -b x --match json:/id", "--match needs WebSocket"),
    ] {
        let output = weir(flags, &[]);
        assert_eq!(output.code(), 2, "{flags}: {output:?}");
        assert!(output.stderr.contains(reason), "{flags}: {}", output.stderr);
    }
}
