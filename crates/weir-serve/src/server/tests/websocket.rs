//! WebSocket in virtual time: the upgrade, when echoes and pushed messages leave, faults, Pings and
//! the closing handshake.

use weir_http::ws::frame::{push_close, push_frame};
use weir_http::ws::{CloseCode, Opcode, WsEvent, WsReader};

use super::*;
use crate::event_stream::EventStream;
use crate::routes::Route;
use crate::routes::tests::{route, routes};

const MS: u64 = 1_000_000;

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
                       Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

const ACCEPTED: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                        Connection: Upgrade\r\n\
                        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

const MASK: Option<[u8; 4]> = Some([1, 2, 3, 4]);

fn message(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_frame(&mut out, Opcode::TEXT, true, MASK, text.as_bytes());
    out
}

fn close(code: CloseCode) -> Vec<u8> {
    let mut out = Vec::new();
    push_close(&mut out, code, MASK);
    out
}

/// Runs a behaviour with a client that upgrades at 1 ms and sends these bytes.
fn serve(behaviour: Behaviour, sends: &[(u64, Vec<u8>)]) -> Server<Fake> {
    run(behaviour, |fake| {
        fake.will(MS, 0, FakeEvent::Accepted);
        received(fake, MS, 0, UPGRADE);
        for (at_ms, bytes) in sends {
            fake.will(at_ms * MS, 0, FakeEvent::Received(bytes.clone()));
        }
    })
}

/// Returns what left after the upgrade, with times in ms, and the end of the connection.
fn seen(server: &Server<Fake>) -> Vec<(u64, String)> {
    let mut reader = WsReader::new(false, 1_000);
    let mut seen = Vec::new();
    let mut sent = server.backend.bytes.iter();
    for (at, _, done) in &server.backend.done {
        let at_ms = at.0 / MS;
        let bytes = match done {
            Done::Sent(_) => &sent.next().expect("each has its bytes").2[..],
            Done::Closed(how) => {
                seen.push((at_ms, format!("{how:?}")));
                continue;
            }
        };
        let frames = bytes.strip_prefix(ACCEPTED.as_bytes()).unwrap_or(bytes);
        let read = reader.read(frames, |event| {
            let text = match event {
                WsEvent::Message { content, .. } => String::from_utf8_lossy(content).into_owned(),
                WsEvent::Ping(_) => "ping".to_owned(),
                WsEvent::Pong(content) => format!("pong {}", String::from_utf8_lossy(content)),
                WsEvent::Close(code, _) => format!("close {}", code.0),
            };
            seen.push((at_ms, text));
        });
        if read.is_err() {
            seen.push((at_ms, "no frame".to_owned()));
        }
    }
    seen
}

fn texts(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(at, text)| (*at, (*text).to_owned())).collect()
}

fn ms(count: u64) -> Delay {
    Delay::Fixed(Duration::from_millis(count))
}

#[test]
fn a_message_is_echoed_after_the_delay() {
    let behaviour = with(|p| p.delay = ms(5));
    let server = serve(
        behaviour,
        &[(10, message("one")), (12, message("two")), (30, close(CloseCode::NORMAL))],
    );
    assert!(server.backend.sent(0).starts_with(ACCEPTED));
    let expected = [(15, "one"), (17, "two"), (30, "close 1000"), (30, "Graceful")];
    assert_eq!(seen(&server), texts(&expected));
    let stats = server.shared.stats();
    assert_eq!(
        (stats.requests.received, stats.requests.answered, stats.requests.owed()),
        (2, 2, 0)
    );
    assert_eq!(
        (stats.websockets.opened, stats.websockets.messages, stats.websockets.echoes),
        (1, 2, 2)
    );
    assert_eq!((stats.websockets.closed_1000, stats.websockets.open()), (1, 0));
}

#[test]
fn an_upgrade_and_a_message_at_every_split() {
    let bytes = [UPGRADE.as_bytes(), &message("hi")].concat();
    for split in 0..bytes.len() {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            for part in [&bytes[..split], &bytes[split..]] {
                fake.will(2, 0, FakeEvent::Received(part.to_vec()));
            }
        });
        assert_eq!(seen(&server), texts(&[(0, "hi")]), "split at {split}");
    }
}

#[test]
fn echoes_keep_their_order_unless_they_may_overtake() {
    let delays = "bimodal:1ms,20ms,0.5";
    let list: Vec<_> = (0..8).map(|n| (10, message(&n.to_string()))).collect();
    let behaviour = |is_unordered| {
        with(|p| {
            p.delay = delays.parse().expect("valid");
            p.websocket.is_unordered = is_unordered;
        })
    };
    let order = |is_unordered| {
        let seen = seen(&serve(behaviour(is_unordered), &list));
        seen.into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    let sorted: Vec<_> = (0..8).map(|n| n.to_string()).collect();
    assert_eq!(order(false), sorted);
    let mut overtaken = order(true);
    assert_ne!(overtaken, sorted);
    overtaken.sort();
    assert_eq!(overtaken, sorted);
}

#[test]
fn messages_are_pushed_at_their_times() {
    let events = EventStream { first: ms(5), gap: ms(2), ..EventStream::of(3) };
    let server = serve(with(|p| p.events = Some(events)), &[(7, message("hi"))]);
    let pushed = |n: u64, ms: u64| (ms, format!("{{\"n\":{n},\"sent_ns\":{}}}", ms * MS));
    let expected = [pushed(1, 6), (7, "hi".to_owned()), pushed(2, 8), pushed(3, 10)];
    assert_eq!(seen(&server), expected);
    let stats = server.shared.stats();
    assert_eq!((stats.websockets.pushed, stats.websockets.echoes, stats.events.sent), (3, 1, 0));
}

#[test]
fn pushed_messages_stall_and_are_cut() {
    let events = EventStream {
        gap: ms(2),
        stall: Some("1/1@1+10ms".parse().expect("valid")),
        cut: Some("1/1@2".parse().expect("valid")),
        data: "text:x".parse().expect("valid"),
        ..EventStream::of(9)
    };
    let server = serve(with(|p| p.events = Some(events)), &[]);
    assert_eq!(seen(&server), texts(&[(1, "x"), (13, "x"), (13, "Graceful")]));
    assert_eq!(server.shared.stats().websockets.unclosed, 1);
}

#[test]
fn a_connection_ends_after_its_last_message() {
    let behaviour = with(|p| p.requests_per_connection = Some(2));
    let list = [(10, message("a").repeat(3)), (20, close(CloseCode::NORMAL))];
    let server = serve(behaviour.clone(), &list);
    let expected = [(10, "a"), (10, "a"), (10, "close 1000"), (20, "Graceful")];
    assert_eq!(seen(&server), texts(&expected));
    assert_eq!(server.shared.stats().requests.received, 2);
    // A client that does not answer is left after a second.
    let server = serve(behaviour, &list[..1]);
    assert_eq!(seen(&server).last(), Some(&(1_010, "Graceful".to_owned())));
    assert_eq!(server.shared.stats().websockets.unclosed, 1);
}

#[test]
fn idle_connections_get_a_close_frame() {
    let behaviour = with(|p| p.idle_timeout = Some(Duration::from_millis(50)));
    let server = serve(behaviour, &[(20, message("a")), (80, close(CloseCode::GOING_AWAY))]);
    let expected = [(20, "a"), (70, "close 1001"), (80, "Graceful")];
    assert_eq!(seen(&server), texts(&expected));
    assert_eq!(server.shared.stats().websockets.closed_1001, 1);
}

#[test]
fn pings_are_sent_and_answered() {
    let behaviour = with(|p| p.websocket.ping = Some(Duration::from_millis(10)));
    let mut frames = Vec::new();
    push_frame(&mut frames, Opcode::PING, true, MASK, b"x");
    push_frame(&mut frames, Opcode::PONG, true, MASK, b"weir");
    let server = serve(behaviour, &[(15, frames), (25, close(CloseCode(4000)))]);
    let expected =
        [(11, "ping"), (15, "pong x"), (21, "ping"), (25, "close 4000"), (25, "Graceful")];
    assert_eq!(seen(&server), texts(&expected));
    let stats = server.shared.stats();
    assert_eq!(
        (stats.websockets.pings, stats.websockets.pongs, stats.websockets.closed_other),
        (2, 1, 1)
    );
}

#[test]
fn faults_strike_messages() {
    let check = |fault: &str, expected: &[(u64, &str)]| {
        let behaviour = with(|p| p.faults = vec![fault.parse().expect("valid")]);
        let server = serve(behaviour, &[(10, message("one")), (20, message("two"))]);
        assert_eq!(seen(&server), texts(expected), "{fault}");
        let stats = server.shared.stats();
        assert_eq!((stats.requests.received, stats.requests.owed()), (2, 0), "{stats:?}");
        assert_eq!(injected(&stats).iter().sum::<u64>(), 1, "{stats:?}");
    };
    check("reset:1/2", &[(10, "one"), (20, "Reset")]);
    check("close:1/2", &[(10, "one"), (20, "Graceful")]);
    check("partial:1/2", &[(10, "one"), (20, "Graceful")]);
    check("garbage:1/2", &[(10, "one"), (20, "two"), (20, "no frame")]);
    check("blackhole:1/2", &[(10, "one")]);
}

#[test]
fn what_is_no_frame_ends_the_connection() {
    let server = serve(Behaviour::default(), &[(10, b"\x81\x02hi".to_vec())]);
    assert_eq!(seen(&server), texts(&[(10, "close 1002"), (10, "Graceful")]));
    let stats = server.shared.stats();
    assert_eq!((stats.requests.bad, stats.requests.received, stats.websockets.unclosed), (1, 0, 1));
}

#[test]
fn a_route_has_its_delay_and_may_refuse() {
    let of_path = |path: &str, change: fn(&mut Route)| {
        let mut route = route(path);
        change(&mut route);
        route
    };
    let list = routes(vec![
        of_path("/chat", |route| route.delay = Some(ms(3))),
        of_path("/closed", |route| route.status = Some(403)),
    ]);
    let behaviour = with(|p| p.routes = list);
    let server = serve(behaviour.clone(), &[(10, message("a"))]);
    assert_eq!(seen(&server), texts(&[(13, "a")]));
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, &UPGRADE.replace("/chat", "/closed"));
    });
    assert!(server.backend.sent(0).starts_with("HTTP/1.1 403"), "{}", server.backend.sent(0));
    let stats = server.shared.stats();
    assert_eq!((stats.websockets.opened, stats.requests.received), (0, 1));
}

#[test]
fn other_requests_are_no_upgrades() {
    for (part, other) in [
        ("GET", "HEAD"),
        ("HTTP/1.1", "HTTP/1.0"),
        ("Upgrade: websocket", "Upgrade: h2c"),
        ("keep-alive, Upgrade", "keep-alive"),
        ("Version: 13", "Version: 8"),
        ("jZQ==", "jZQ"),
        ("\r\n\r\n", "\r\nContent-Length: 1\r\n\r\nx"),
    ] {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, &UPGRADE.replacen(part, other, 1));
        });
        assert!(server.backend.sent(0).contains(" 200 OK"), "{other}: {}", server.backend.sent(0));
        assert_eq!(server.shared.stats().websockets.opened, 0);
    }
}

#[test]
fn messages_are_in_the_log() {
    let behaviour = with(|p| (p.delay, p.arrivals_max) = (ms(5), 10));
    let mut server = serve(behaviour, &[(10, message("one")), (20, message("two"))]);
    server.responder.accounts.hand_over_arrivals();
    let mut stats = server.shared.stats();
    server.shared.move_arrivals(&mut stats);
    let times: Vec<_> =
        stats.arrivals[0].iter().map(|it| (it.request, it.received_ns, it.sent_ns)).collect();
    assert_eq!(times, [(0, 10 * MS, Some(15 * MS)), (1, 20 * MS, Some(25 * MS))]);
}
