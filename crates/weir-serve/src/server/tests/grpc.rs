//! Calls of gRPC in virtual time: echoes, streams of messages, statuses, and their windows.

use weir_http::grpc::{GrpcSplitter, push_message};
use weir_http::h2::frame::{push_data, push_window_update};

use super::http2::{Sent, Wire, frames};
use super::*;
use crate::event_stream::EventStream;

const MS: u64 = 1_000_000;

/// Calls on the streams 1, 3, … of one connection, 10 ms after its start.
fn call(behaviour: Behaviour, bodies: &[&[u8]]) -> Server<Fake> {
    let mut wire = Wire::opening(65_535);
    for (stream, body) in (1..).step_by(2).zip(bodies) {
        begin(&mut wire, stream, "/a.B/C");
        push_data(&mut wire.bytes, stream, body, true);
    }
    run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(10 * MS, 0, wire.take());
    })
}

fn begin(wire: &mut Wire, stream: u32, path: &str) {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "a"),
        ("te", "trailers"),
        ("content-type", "application/grpc+proto"),
    ];
    wire.head(stream, &fields, false);
}

fn message(data: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    push_message(&mut message, false, data);
    message
}

/// Returns the frames of a stream with their times in ms.
fn of(server: &Server<Fake>, stream: &str) -> Vec<(u64, String)> {
    let own = frames(server, 0).into_iter().filter(|frame| frame.is_of(stream));
    own.map(|frame| (frame.at / MS, frame.text)).collect()
}

/// Returns the messages of a stream.
fn messages(server: &Server<Fake>, stream: &str) -> Vec<Vec<u8>> {
    let own = frames(server, 0).into_iter().filter(|frame| frame.is_of(stream));
    let body: Vec<u8> = own.flat_map(|frame| frame.data).collect();
    let mut messages = Vec::new();
    GrpcSplitter::new(1_000).receive(&body, |message| messages.push(message.data.to_vec()));
    messages
}

fn frame(at_ms: u64, text: &str) -> (u64, String) {
    (at_ms, text.to_owned())
}

/// Calls, messages in requests and responses, and the statuses that were sent.
fn counts(server: &Server<Fake>) -> (u64, u64, u64, Vec<(usize, u64)>) {
    let stats = server.shared.stats();
    assert_eq!(stats.requests.owed(), 0, "{stats:?}");
    let sent = stats.grpc_statuses.iter().copied().enumerate().filter(|(_, count)| *count > 0);
    (stats.grpc.calls, stats.grpc.received, stats.grpc.sent, sent.collect())
}

#[test]
fn the_last_message_is_returned_with_trailers() {
    let two = [message(b"a"), message(b"hello")].concat();
    let server = call(Behaviour::default(), &[&two, b""]);
    let expected = [frame(10, "1 200"), frame(10, "1 data 10"), frame(10, "1 0 end")];
    assert_eq!(of(&server, "1"), expected);
    assert_eq!(messages(&server, "1"), [b"hello"]);
    assert_eq!(messages(&server, "3"), [b""]);
    let named = |frame: &Sent| {
        let field = |(name, value): &(String, String)| format!("{name}: {value}");
        frame.fields.iter().map(field).collect::<Vec<_>>()
    };
    let head = frames(&server, 0).into_iter().find(|frame| frame.text == "1 200");
    assert_eq!(named(&head.expect("a head")), ["content-type: application/grpc"]);
    assert_eq!(counts(&server), (2, 2, 2, vec![(0, 2)]));
    let sized = call(with(|p| p.message_bytes = Some(3)), &[&two]);
    assert_eq!(messages(&sized, "1"), [b"xxx"]);
}

#[test]
fn messages_of_streams_leave_at_their_times() {
    let ms = |count| Delay::Fixed(Duration::from_millis(count));
    let stream = EventStream {
        first: ms(5),
        gap: ms(2),
        cut: Some("1/2@1".parse().expect("valid")),
        data: "text:x".parse().expect("valid"),
        ..EventStream::of(2)
    };
    let server = call(with(|p| p.events = Some(stream)), &[b"", b""]);
    let expected =
        [frame(10, "1 200"), frame(15, "1 data 8"), frame(17, "1 data 8"), frame(17, "1 0 end")];
    assert_eq!(of(&server, "1"), expected);
    assert_eq!(messages(&server, "1"), [b"\x0a\x01x", b"\x0a\x01x"]);
    let cut = [frame(10, "3 200"), frame(15, "3 data 8"), frame(15, "3 reset 2")];
    assert_eq!(of(&server, "3"), cut);
    assert_eq!(counts(&server), (2, 0, 3, vec![(0, 1)]));
    assert_eq!(server.shared.stats().events.cut, 1);
}

#[test]
fn faults_are_trailers_alone() {
    let behaviour = with(|p| {
        p.grpc_faults = vec!["14@1/2".parse().expect("valid")];
        p.events = Some(EventStream::of(3));
    });
    let server = call(behaviour, &[b"", b"", b"\x01\0\0\0\0", b"", b"\0\0\0"]);
    assert_eq!(of(&server, "3"), [frame(10, "3 200 end")]);
    let head = frames(&server, 0).into_iter().find(|frame| frame.is_of("3")).expect("a head");
    let status = ("grpc-status".to_owned(), "14".to_owned());
    assert!(head.fields.contains(&status), "{head:?}");
    // A compressed message, and one that is cut.
    assert_eq!(of(&server, "5"), [frame(10, "5 200 end")]);
    assert_eq!(of(&server, "9"), [frame(10, "9 200 end")]);
    assert_eq!(counts(&server), (5, 1, 3, vec![(0, 1), (12, 1), (13, 1), (14, 2)]));
    assert_eq!(server.shared.stats().requests.answered, 5);
}

#[test]
fn other_responses_are_those_of_http() {
    let server = call(with(|p| p.status = 503), &[b""]);
    assert_eq!(of(&server, "1"), [frame(10, "1 503"), frame(10, "1 data 14 end")]);
    assert_eq!(counts(&server), (0, 0, 0, vec![]));
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    begin(&mut wire, 3, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
    push_data(&mut wire.bytes, 3, b"", true);
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(10 * MS, 0, wire.take());
    });
    assert_eq!(of(&server, "1"), [frame(10, "1 200"), frame(10, "1 data 14 end")]);
    assert_eq!(counts(&server), (1, 0, 0, vec![(12, 1)]));
}

#[test]
fn trailers_wait_for_the_window() {
    let mut wire = Wire::opening(8);
    begin(&mut wire, 1, "/a.B/C");
    push_data(&mut wire.bytes, 1, &message(b"hello"), true);
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(10 * MS, 0, wire.take());
        push_window_update(&mut wire.bytes, 1, 100);
        fake.will(18 * MS, 0, wire.take());
    });
    let expected =
        [frame(10, "1 200"), frame(10, "1 data 8"), frame(18, "1 data 2"), frame(18, "1 0 end")];
    assert_eq!(of(&server, "1"), expected);
    assert_eq!(counts(&server), (1, 1, 1, vec![(0, 1)]));
}
