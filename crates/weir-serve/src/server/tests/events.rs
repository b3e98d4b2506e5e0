//! Streams of events in virtual time: when each event leaves, how it is framed, and how streams
//! stall and end early, over HTTP/1 and HTTP/2.

use weir_http::h2::frame::push_window_update;
use weir_http::sse::EventSplitter;

use super::http2::{Wire, frames};
use super::*;
use crate::counters::EventCounts;
use crate::event_stream::EventStream;
use crate::routes::tests::{route, routes};
use crate::routes::{BrokenResponses, Route};

const MS: u64 = 1_000_000;

fn ms(count: u64) -> Delay {
    Delay::Fixed(Duration::from_millis(count))
}

/// Three events: 5 ms after the request, and 2 ms apart.
fn stream() -> EventStream {
    EventStream { first: ms(5), gap: ms(2), ..EventStream::of(3) }
}

fn streaming(change: impl FnOnce(&mut EventStream)) -> Behaviour {
    let mut stream = stream();
    change(&mut stream);
    with(|p| p.events = Some(stream))
}

/// Returns the sends on a connection with their times in ms, and its end.
fn sends(server: &Server<Fake>, conn: u32) -> Vec<(u64, String)> {
    let of_conn = server.backend.done.iter().filter(|(_, id, _)| id.0 == conn);
    let text = |done: &Done| match done {
        Done::Sent(text) => text.clone(),
        Done::Closed(how) => format!("{how:?}"),
    };
    of_conn.map(|(at, _, done)| (at.0 / MS, text(done))).collect()
}

/// Returns the data of the events in `bytes`.
fn data(bytes: &str) -> Vec<String> {
    let mut events = Vec::new();
    EventSplitter::new().receive(bytes.as_bytes(), |event| {
        events.push(String::from_utf8_lossy(event.data).into_owned());
    });
    events
}

fn counts(server: &Server<Fake>) -> [u64; 6] {
    let Stats { requests, events, .. } = server.shared.stats();
    assert_eq!(requests.owed(), 0, "{requests:?}");
    let EventCounts { streams, sent, cut } = events;
    [requests.received, requests.answered, requests.partial, streams, sent, cut]
}

fn request(behaviour: Behaviour, requests: &[(u64, &str)]) -> Server<Fake> {
    run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        for (at_ms, text) in requests {
            received(fake, at_ms * MS, 0, text);
        }
    })
}

#[test]
fn events_leave_at_their_times_in_chunks() {
    let server = request(streaming(|_| {}), &[(10, GET)]);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\
                Content-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\n";
    let chunk = |n: u64, ms: u64, end: &str| {
        let event = format!("data: {{\"n\":{n},\"sent_ns\":{}}}\n\n", ms * MS);
        (ms, format!("{:x}\r\n{event}\r\n{end}", event.len()))
    };
    let expected =
        [(10, head.to_owned()), chunk(1, 15, ""), chunk(2, 17, ""), chunk(3, 19, "0\r\n\r\n")];
    assert_eq!(sends(&server, 0), expected);
    assert_eq!(counts(&server), [1, 1, 0, 1, 3, 0]);
}

#[test]
fn http_1_0_gets_events_until_the_close() {
    let server = request(streaming(|_| {}), &[(10, "GET / HTTP/1.0\r\n\r\n")]);
    let sent = sends(&server, 0);
    assert!(!sent[0].1.contains("chunked") && sent[0].1.contains("\r\nConnection: close\r\n"));
    assert_eq!(sent[3], (19, "data: {\"n\":3,\"sent_ns\":19000000}\n\n".to_owned()));
    assert_eq!(sent[4], (19, "Graceful".to_owned()));
    let http10 = with(|p| (p.events, p.http10) = (Some(stream()), true));
    let sent = request(http10, &[(10, GET)]).backend.sent(0);
    assert!(sent.starts_with("HTTP/1.0 200 OK\r\nConnection: close\r\n"), "{sent}");
    assert_eq!(data(sent.split_once("\r\n\r\n").expect("a head").1).len(), 3);
}

#[test]
fn late_events_do_not_shift_those_after_them() {
    // The head waits for a delay of its own.
    let delayed = Behaviour { delay: ms(8), ..streaming(|_| {}) };
    let times: Vec<u64> = sends(&request(delayed, &[(10, GET)]), 0).iter().map(|s| s.0).collect();
    assert_eq!(times, [18, 18, 18, 19]);
}

#[test]
fn responses_wait_for_the_stream_before_them() {
    let stats = "GET /weir/stats HTTP/1.1\r\nHost: a\r\n\r\n";
    let text = format!("{GET}{GET}{stats}");
    let sent = sends(&request(streaming(|_| {}), &[(10, &text), (12, GET)]), 0);
    let times: Vec<u64> = sent.iter().map(|send| send.0).collect();
    // The events of the last stream, whose request came 2 ms later, are due by 21 ms.
    assert_eq!(times, [10, 15, 17, 19, 19, 19, 19, 19, 19, 19, 19, 19, 21]);
    assert!(sent[8].1.contains("\"event_streams\":3") && sent[8].1.contains("text/plain"));
    let heads: Vec<_> = (0..13).filter(|at| sent[*at].1.starts_with("HTTP/1.1 200")).collect();
    assert_eq!(heads, [0, 4, 8, 9]);
}

#[test]
fn every_nth_stream_stalls_or_is_cut() {
    let behaviour = streaming(|s| {
        s.stall = Some("1/2@1+100ms".parse().expect("valid"));
        s.cut = Some("1/3@2".parse().expect("valid"));
    });
    let server = run(behaviour, |fake| {
        for conn in 0..6 {
            fake.will(1, conn, FakeEvent::Accepted);
        }
        (0..6).for_each(|conn| received(fake, 10 * MS, conn, GET));
    });
    let times = |conn: u32| sends(&server, conn).iter().map(|s| s.0).collect::<Vec<_>>();
    assert_eq!(times(0), [10, 15, 17, 19]);
    assert_eq!(times(1), [10, 15, 117, 119]);
    assert_eq!(times(2), [10, 15, 17, 17]);
    assert_eq!(times(5), [10, 15, 117, 117]);
    for conn in [2, 5] {
        assert_eq!(sends(&server, conn)[3].1, "Graceful");
        assert!(!server.backend.sent(conn).contains("\r\n0\r\n"));
    }
    assert_eq!(counts(&server), [6, 4, 2, 6, 4 * 3 + 2 * 2, 2]);
    let at_once = streaming(|s| s.cut = Some("1/1@0".parse().expect("valid")));
    let server = request(at_once, &[(10, GET)]);
    let sent = server.backend.sent(0);
    assert!(sent.ends_with("\r\n\r\n") && !sent.ends_with("0\r\n\r\n"), "{sent:?}");
    assert_eq!(sends(&server, 0)[1].1, "Graceful");
    assert_eq!(counts(&server), [1, 0, 1, 1, 0, 1]);
}

#[test]
fn responses_without_a_body_have_no_events() {
    let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
    let server = request(streaming(|_| {}), &[(10, head), (20, GET)]);
    let sent = sends(&server, 0);
    assert_eq!((sent.len(), sent[0].1 == sent[1].1), (5, true), "{sent:?}");
    assert_eq!(counts(&server), [2, 2, 0, 1, 3, 0]);
}

#[test]
fn faults_take_the_place_of_streams() {
    let behaviour =
        Behaviour { faults: vec!["reset:1/2".parse().expect("valid")], ..streaming(|_| {}) };
    let server = request(behaviour, &[(10, GET), (30, GET)]);
    assert_eq!(sends(&server, 0).last(), Some(&(30, "Reset".to_owned())));
    let stats = server.shared.stats();
    assert_eq!((stats.requests.answered, stats.requests.reset, stats.events.sent), (1, 1, 3));
}

#[test]
fn routes_have_streams_of_their_own() {
    let tokens = EventStream { data: "tokens".parse().expect("valid"), ..EventStream::of(2) };
    let broken = BrokenResponses { every: 2, status: Some(500), body: "wrong".to_owned() };
    let chat = Route { events: Some(tokens), broken: Some(broken), ..route("/chat") };
    let headers = vec!["Cache-Control: no-cache".parse().expect("valid")];
    let all = [chat, Route { events: Some(stream()), headers, ..route("/own") }];
    let behaviour = with(|p| p.routes = routes(all));
    let chat = "GET /chat HTTP/1.1\r\nHost: a\r\n\r\n";
    let own = "GET /own HTTP/1.1\r\nHost: a\r\n\r\n";
    let server = request(behaviour, &[(10, chat), (20, chat), (30, own), (50, GET)]);
    let sent = sends(&server, 0);
    assert_eq!(sent.len(), 3 + 1 + 4 + 1, "{sent:?}");
    assert!(sent[2].1.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"), "{sent:?}");
    assert!(sent[3].1.starts_with("HTTP/1.1 500") && sent[3].1.ends_with("wrong"), "{sent:?}");
    assert!(sent[4].1.contains("no-cache") && !sent[4].1.contains("no-store"), "{sent:?}");
    assert_eq!(sent[8].1, PLAIN);
    assert_eq!(counts(&server), [4, 4, 0, 2, 5, 0]);
}

/// Two streams at once, the second of which is cut.
#[test]
fn streams_of_http2_are_sent_in_frames_and_reset() {
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    wire.get(3, "/");
    let behaviour = streaming(|s| s.cut = Some("1/2@1".parse().expect("valid")));
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(10 * MS, 0, wire.take());
    });
    let sent = frames(&server, 0);
    let of = |stream: &str| {
        let own = sent.iter().filter(|frame| frame.is_of(stream));
        own.map(|frame| (frame.at / MS, frame.text.clone())).collect::<Vec<_>>()
    };
    let frame = |at, text: &str| (at, text.to_owned());
    let expected = [
        frame(10, "1 200"),
        frame(15, "1 data 34"),
        frame(17, "1 data 34"),
        frame(19, "1 data 34 end"),
    ];
    assert_eq!(of("1"), expected);
    assert_eq!(of("3"), [frame(10, "3 200"), frame(15, "3 data 34"), frame(15, "3 reset 2")]);
    let head = sent.iter().find(|frame| frame.text == "1 200").expect("a head");
    let names: Vec<_> =
        head.fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    assert_eq!(names, ["content-type: text/event-stream", "cache-control: no-store"]);
    assert_eq!(counts(&server), [2, 1, 1, 2, 4, 1]);
}

/// Events that the client's window holds back are sent as soon as it permits.
#[test]
fn events_of_http2_wait_for_the_window() {
    let mut wire = Wire::opening(40);
    wire.get(1, "/");
    let server = run(streaming(|_| {}), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(10 * MS, 0, wire.take());
        push_window_update(&mut wire.bytes, 1, 1000);
        fake.will(18 * MS, 0, wire.take());
    });
    let sent = frames(&server, 0);
    let body: Vec<u8> = sent.iter().flat_map(|frame| frame.data.clone()).collect();
    assert_eq!(data(&String::from_utf8_lossy(&body)).len(), 3);
    let own = sent.iter().filter(|frame| frame.is_of("1"));
    let texts: Vec<_> = own.map(|frame| (frame.at / MS, &*frame.text)).collect();
    let held = [(17, "1 data 6"), (18, "1 data 28"), (19, "1 data 34 end")];
    assert_eq!(texts[2..], held);
    assert_eq!(counts(&server), [1, 1, 0, 1, 3, 0]);
}
