//! The server against frames made by hand: requests and their faults (RFC 9113 §5.1, §8). Every
//! result is the same for pieces of several sizes.

use weir_http::ProtocolError;
use weir_http::h2::frame::{FrameKind, PREFACE, Settings, flags};
use weir_http::h2::server::{H2Server, ServerEvent};
use weir_http::h2::{ErrorCode, H2Options};

use super::raw::{PIECES, Raw, Sent, frames};

const GET: &[(&str, &str)] = &[(":method", "GET"), (":scheme", "http"), (":path", "/")];

/// An event with its own bytes; the parts of a body are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Opened,
    Request(u32, String, bool),
    Data(u32, Vec<u8>, bool),
    Trailers(u32),
    Reset(u32, ErrorCode),
    GoAway(ErrorCode),
}

fn push(events: &mut Vec<Event>, event: ServerEvent<'_>) {
    let event = match (event, events.last_mut()) {
        (ServerEvent::Data { stream, data, is_end }, Some(Event::Data(last, before, was_end)))
            if *last == stream =>
        {
            before.extend(data);
            *was_end |= is_end;
            return;
        }
        (ServerEvent::Opened, _) => Event::Opened,
        (ServerEvent::Request { stream, fields, is_end }, _) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let line = [fields.method(), fields.scheme(), fields.authority(), fields.path()];
            let fields = fields.fields().filter(|(name, _)| name[0] != b':');
            let fields = fields.map(|(name, value)| text(name) + "=" + &text(value));
            let words: Vec<String> = line.map(text).into_iter().chain(fields).collect();
            Event::Request(stream, words.join(" "), is_end)
        }
        (ServerEvent::Data { stream, data, is_end }, _) => Event::Data(stream, data.into(), is_end),
        (ServerEvent::Trailers { stream, fields }, _) => {
            assert!(fields.fields().count() > 0 && fields.method().is_empty());
            Event::Trailers(stream)
        }
        (ServerEvent::Reset { stream, code }, _) => Event::Reset(stream, code),
        (ServerEvent::GoAway { code }, _) => Event::GoAway(code),
    };
    events.push(event);
}

/// Returns the stream that an event resets.
fn reset_stream(event: &Event) -> Option<u32> {
    match event {
        Event::Reset(stream, _) => Some(*stream),
        _ => None,
    }
}

/// Feeds a server bytes in pieces of each size, and returns its events and the frames that it sent
/// after its settings.
fn run(
    options: &H2Options,
    build: impl Fn(&mut Raw),
) -> (Vec<Event>, Result<(), ProtocolError>, Vec<Sent>) {
    let mut raw = Raw::client();
    build(&mut raw);
    let mut results = PIECES.iter().map(|piece_bytes| {
        let mut server = H2Server::new(options);
        let mut out = Vec::new();
        server.poll_transmit(&mut out);
        let mut events = Vec::new();
        let mut pieces = raw.bytes.chunks(*piece_bytes);
        let result =
            pieces.try_for_each(|piece| server.receive(piece, |event| push(&mut events, event)));
        // The part of a wrong body that is passed on depends on the pieces.
        let reset: Vec<u32> = events.iter().filter_map(reset_stream).collect();
        events.retain(|event| !matches!(event, Event::Data(id, ..) if reset.contains(id)));
        out.clear();
        server.poll_transmit(&mut out);
        (events, result, frames(&out))
    });
    let first = results.next().expect("there are sizes");
    assert!(results.all(|result| result == first), "{first:?}");
    first
}

/// Checks the events after the opening, and the resets sent.
fn check(build: impl Fn(&mut Raw), events: &[Event], resets: &[(u32, ErrorCode)]) {
    let (seen, result, sent) = run(&H2Options::server(), build);
    assert_eq!((result, seen[0].clone(), &seen[1..]), (Ok(()), Event::Opened, events));
    let sent = sent.iter().filter(|frame| frame.kind == FrameKind::RST_STREAM);
    let sent: Vec<_> = sent.map(|frame| (frame.stream, ErrorCode(frame.number(0)))).collect();
    assert_eq!(sent, resets);
}

fn check_error(build: impl Fn(&mut Raw), error: ProtocolError, code: ErrorCode) {
    let (_, result, sent) = run(&H2Options::server(), build);
    let last = sent.last().expect("GOAWAY is sent");
    assert_eq!((result, last.kind, last.number(4)), (Err(error), FrameKind::GOAWAY, code.0));
}

fn request(stream: u32, is_end: bool) -> Event {
    Event::Request(stream, "GET http  /".into(), is_end)
}

#[test]
fn requests() {
    let fields = [
        (":method", "POST"),
        (":scheme", "https"),
        (":path", "/a"),
        (":authority", "b"),
        ("te", "trailers"),
    ];
    let build = |raw: &mut Raw| {
        raw.headers(1, &fields, false);
        raw.headers(5, GET, true);
        raw.data(1, b"bo", false);
        raw.frame(FrameKind::DATA, flags::PADDED, 1, b"\x02dy\0\0");
        raw.headers(1, &[("trailer", "x")], true);
        raw.frame(FrameKind::GOAWAY, 0, 0, &[0; 8]);
    };
    let events = [
        Event::Request(1, "POST https b /a te=trailers".into(), false),
        request(5, true),
        Event::Data(1, b"body".into(), false),
        Event::Trailers(1),
        Event::GoAway(ErrorCode::NO_ERROR),
    ];
    check(build, &events, &[]);
    let connect =
        |raw: &mut Raw| raw.headers(1, &[(":method", "CONNECT"), (":authority", "a")], true);
    check(connect, &[Event::Request(1, "CONNECT  a ".into(), true)], &[]);
}

#[test]
fn malformed_requests() {
    let bad = |fields: &[(&str, &str)], is_end| {
        let build = |raw: &mut Raw| {
            raw.headers(1, fields, is_end);
            raw.data(3 - 2, b"late", false);
            raw.headers(3, GET, true);
        };
        check(build, &[request(3, true)], &[(1, ErrorCode::PROTOCOL_ERROR)]);
    };
    bad(&[(":method", "GET"), (":scheme", "http")], true);
    bad(&[(":method", "GET"), (":path", "/")], true);
    bad(&[(":method", "GET"), (":scheme", "http"), (":path", "")], true);
    bad(&[(":scheme", "http"), (":path", "/")], true);
    bad(&[(":method", "CONNECT"), (":authority", "a"), (":path", "/")], true);
    for extra in [
        (":path", "/"),
        (":status", "200"),
        ("A", "b"),
        ("connection", "close"),
        ("te", "gzip"),
        ("content-length", "x"),
        ("content-length", "5"),
    ] {
        bad(&[GET, &[extra]].concat(), true);
    }
    bad(&[&[("a", "b")], GET].concat(), true);
}

#[test]
fn faults_of_one_stream() {
    let reset = |build: &dyn Fn(&mut Raw), code| {
        let build = |raw: &mut Raw| {
            raw.headers(1, &[GET, &[("content-length", "3")]].concat(), false);
            build(raw);
            raw.headers(3, GET, true);
        };
        let (events, result, sent) = run(&H2Options::server(), build);
        assert_eq!(result, Ok(()));
        assert_eq!(events[events.len() - 2..], [Event::Reset(1, code), request(3, true)]);
        let sent = sent.iter().find(|frame| frame.kind == FrameKind::RST_STREAM);
        assert!(sent.is_some_and(|frame| frame.number(0) == code.0));
    };
    let protocol = ErrorCode::PROTOCOL_ERROR;
    reset(&|raw| raw.data(1, b"ab", true), protocol);
    reset(&|raw| raw.data(1, b"abcd", false), protocol);
    reset(&|raw| raw.headers(1, &[("a", "b")], true), protocol);
    reset(&|raw| raw.headers(1, &[("a", "b")], false), protocol);
    reset(&|raw| raw.window_update(1, 0), protocol);
    reset(&|raw| raw.window_update(1, 0x7fff_ffff), ErrorCode::FLOW_CONTROL_ERROR);
    reset(&|raw| raw.frame(FrameKind::PRIORITY, 0, 1, b"1"), ErrorCode::FRAME_SIZE_ERROR);
    let closed = |raw: &mut Raw| {
        raw.data(1, b"abc", true);
        raw.data(1, b"d", true);
    };
    reset(&closed, ErrorCode::STREAM_CLOSED);
    let closed = |raw: &mut Raw| {
        raw.data(1, b"abc", true);
        raw.headers(1, &[("a", "b")], true);
    };
    reset(&closed, ErrorCode::STREAM_CLOSED);
}

#[test]
fn faults_of_the_connection() {
    let protocol = |build: &dyn Fn(&mut Raw)| {
        check_error(build, ProtocolError::BadFrame, ErrorCode::PROTOCOL_ERROR);
    };
    protocol(&|raw| raw.headers(2, GET, true));
    protocol(&|raw| raw.data(1, b"", true));
    protocol(&|raw| raw.window_update(1, 1));
    protocol(&|raw| raw.frame(FrameKind::RST_STREAM, 0, 1, &[0; 4]));
    protocol(&|raw| raw.frame(FrameKind::PUSH_PROMISE, 4, 1, &[0; 4]));
    // A lower number after a higher one is closed, not idle.
    let lower = |raw: &mut Raw| {
        raw.headers(3, GET, true);
        raw.headers(1, GET, true);
    };
    check_error(lower, ProtocolError::StreamClosed, ErrorCode::STREAM_CLOSED);
    let window = |raw: &mut Raw| {
        raw.headers(1, GET, false);
        (0..5).for_each(|_| raw.data(1, &[0; 16_384], false));
    };
    let options = H2Options { refills_windows: false, ..H2Options::server() };
    assert_eq!(run(&options, window).1, Err(ProtocolError::FlowControl));
    assert_eq!(run(&H2Options::server(), window).1, Ok(()));
}

#[test]
fn the_preface() {
    for at in 0..PREFACE.len() {
        let mut bytes = PREFACE.to_vec();
        bytes[at] ^= 1;
        let mut server = H2Server::new(&H2Options::server());
        assert_eq!(server.receive(&bytes, |_| {}), Err(ProtocolError::BadPreface));
        assert_eq!(server.receive(b"", |_| {}), Err(ProtocolError::BadPreface));
    }
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let settings = Settings { max_concurrent_streams: Some(2), ..Settings::default() };
    let options = H2Options { settings, ..H2Options::server() };
    let build = |raw: &mut Raw| {
        [1, 3, 5].into_iter().for_each(|stream| raw.headers(stream, GET, stream != 5));
        raw.data(5, b"late", true);
    };
    let (events, result, sent) = run(&options, build);
    assert_eq!((events.len(), result), (3, Ok(())));
    let reset = sent.iter().find(|frame| frame.kind == FrameKind::RST_STREAM).expect("a reset");
    assert_eq!((reset.stream, reset.number(0)), (5, ErrorCode::REFUSED_STREAM.0));
}

#[test]
fn responses_follow_the_windows() {
    let settings = |raw: &mut Raw, bytes: u32| {
        let payload = [&[0, 4][..], &bytes.to_be_bytes()].concat();
        raw.frame(FrameKind::SETTINGS, 0, 0, &payload);
    };
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    settings(&mut raw, 10);
    raw.headers(1, GET, true);
    raw.headers(3, GET, true);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    let sent = |server: &mut H2Server| {
        let mut out = Vec::new();
        server.poll_transmit(&mut out);
        let frames = frames(&out).into_iter().filter(|frame| frame.stream > 0);
        frames.map(|f| (f.stream, f.kind, f.payload.len(), f.flags & 1)).collect::<Vec<_>>()
    };
    assert!(server.respond(1, 103, &[(b"link", b"x")], false));
    assert!(server.respond(1, 200, &[], false));
    assert!(!server.respond(1, 200, &[], false), "there is one head");
    assert!(server.send_data(1, &[0; 25], false) && server.send_data(1, &[0; 5], false));
    assert!(server.send_data(1, &[], true) && !server.send_data(1, b"x", true));
    assert!(server.respond(3, 204, &[], true) && !server.send_data(3, b"x", true));
    let first = sent(&mut server);
    let kinds: Vec<_> = first.iter().map(|(stream, kind, ..)| (*stream, kind.0)).collect();
    assert_eq!(kinds, [(1, 1), (1, 1), (1, 0), (3, 1)]);
    assert_eq!(server.open_streams(), 1);
    raw.bytes.clear();
    raw.window_update(1, 15);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert_eq!(sent(&mut server), [(1, FrameKind::DATA, 15, 0)]);
    raw.bytes.clear();
    settings(&mut raw, 20);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert_eq!(sent(&mut server), [(1, FrameKind::DATA, 5, 1)]);
    assert_eq!(server.open_streams(), 0);
}

#[test]
fn streams_after_the_end_of_new_ones_are_ignored() {
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    raw.headers(1, GET, true);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    server.go_away(None, ErrorCode::NO_ERROR);
    raw.bytes.clear();
    raw.headers(3, GET, false);
    raw.data(3, b"x", true);
    let mut events = Vec::new();
    server.receive(&raw.bytes, |event| push(&mut events, event)).expect("valid frames");
    assert_eq!((events, server.open_streams()), (vec![], 1));
}

#[test]
fn open_streams_above_the_last_one_are_dropped() {
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    [1, 3, 5].into_iter().for_each(|stream| raw.headers(stream, GET, stream != 5));
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    server.go_away(Some(1), ErrorCode::NO_ERROR);
    assert_eq!(server.open_streams(), 1);
    assert!(!server.respond(3, 200, &[], true));
    raw.bytes.clear();
    raw.data(5, b"x", true);
    raw.window_update(3, 1);
    let mut events = Vec::new();
    server.receive(&raw.bytes, |event| push(&mut events, event)).expect("valid frames");
    assert_eq!((events, server.respond(1, 200, &[], true)), (vec![], true));
}

#[test]
fn requests_without_events_are_counted() {
    let settings = Settings { max_concurrent_streams: Some(2), ..Settings::default() };
    let options = H2Options { settings, ..H2Options::server() };
    let mut server = H2Server::new(&options);
    let mut raw = Raw::client();
    // Accepted, invalid, accepted, beyond the limit, invalid while its body arrives.
    raw.headers(1, GET, true);
    raw.headers(3, &[(":method", "GET")], true);
    raw.headers(5, GET, false);
    raw.headers(7, GET, true);
    raw.headers(5, GET, false);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert_eq!((server.take_refused(), server.take_malformed()), (1, 2));
    server.go_away(None, ErrorCode::NO_ERROR);
    raw.bytes.clear();
    [9, 11].into_iter().for_each(|stream| raw.headers(stream, GET, true));
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert_eq!((server.take_refused(), server.take_malformed()), (2, 0));
    assert_eq!(server.take_refused(), 0);
}

#[test]
fn room_is_the_smaller_window_while_nothing_waits() {
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    raw.headers(1, GET, true);
    raw.headers(3, GET, true);
    raw.window_update(1, 1 << 20);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert_eq!((server.room(1), server.room(3), server.room(5)), (65_535, 65_535, 0));
    assert!(server.send_data(1, &[0; 60_000], false));
    assert_eq!((server.room(1), server.room(3)), (5_535, 5_535));
    assert!(server.send_data(1, &[0; 6_000], false));
    assert_eq!((server.room(1), server.room(3)), (0, 0));
    assert!(server.respond(3, 200, &[], true));
    assert_eq!(server.room(3), 0);
}

/// RFC 9113 §6.5.3: a smaller window holds once it is acknowledged, and what was used of a larger
/// one is given back.
#[test]
fn smaller_windows_hold_once_they_are_acknowledged() {
    let mut server = H2Server::new(&H2Options::server());
    let receive = |server: &mut H2Server, raw: &mut Raw| {
        let result = server.receive(&raw.bytes, |_| {});
        raw.bytes.clear();
        let mut out = Vec::new();
        server.poll_transmit(&mut out);
        let updates = frames(&out).into_iter().filter(|f| f.kind == FrameKind::WINDOW_UPDATE);
        (result, updates.map(|update| (update.stream, update.number(0))).collect::<Vec<_>>())
    };
    let mut raw = Raw::client();
    raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]);
    raw.headers(1, GET, false);
    raw.data(1, &[0; 5_000], false);
    assert_eq!(receive(&mut server, &mut raw), (Ok(()), vec![]));
    server.change_settings(&Settings { initial_window_bytes: 1_000, ..Settings::default() });
    assert_eq!(receive(&mut server, &mut raw), (Ok(()), vec![(1, 5_000)]));
    // Sent before the settings were seen.
    raw.data(1, &[0; 10_000], false);
    assert_eq!(receive(&mut server, &mut raw), (Ok(()), vec![(1, 10_000)]));
    raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]);
    raw.data(1, &[0; 1_000], false);
    assert_eq!(receive(&mut server, &mut raw), (Ok(()), vec![(1, 1_000)]));
    raw.data(1, &[0; 1_001], false);
    assert_eq!(receive(&mut server, &mut raw).0, Err(ProtocolError::FlowControl));
}

/// A size of the table that is announced after a larger one holds once it is acknowledged.
#[test]
fn tables_may_be_as_large_as_the_last_acknowledged_settings_permit() {
    let of = |header_table_bytes| Settings { header_table_bytes, ..Settings::default() };
    let options = H2Options { settings: of(10_000), ..H2Options::server() };
    let mut server = H2Server::new(&options);
    server.change_settings(&of(50));
    server.change_settings(&of(8_192));
    let mut raw = Raw::client();
    let get = |raw: &mut Raw, stream, updates: &[u8]| {
        let block = [updates, b"\x82\x84\x86"].concat();
        let flags = flags::END_HEADERS | flags::END_STREAM;
        raw.frame(FrameKind::HEADERS, flags, stream, &block);
    };
    raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]);
    get(&mut raw, 1, b"\x3f\xf1\x4d");
    (0..2).for_each(|_| raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]));
    get(&mut raw, 3, b"\x20\x3f\xe1\x3f");
    assert_eq!(server.receive(&raw.bytes, |_| {}), Ok(()));
    assert_eq!(server.open_streams(), 2);
    // The last acknowledged size is the limit.
    raw.bytes.clear();
    get(&mut raw, 5, b"\x3f\xe2\x3f");
    assert_eq!(server.receive(&raw.bytes, |_| {}), Err(ProtocolError::BadCompression));
}

#[test]
fn a_reset_stream_no_longer_waits() {
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 10]);
    raw.headers(1, GET, true);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert!(server.respond(1, 200, &[], false) && server.send_data(1, &[0; 100], true));
    raw.bytes.clear();
    raw.frame(FrameKind::RST_STREAM, 0, 1, &[0; 4]);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    server.poll_transmit(&mut Vec::new());
    assert_eq!(server.open_streams(), 0);
    raw.bytes.clear();
    raw.headers(3, GET, true);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert!(server.respond(3, 200, &[], false) && server.send_data(3, &[0; 11], true));
    raw.bytes.clear();
    raw.window_update(3, 1);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    let mut out = Vec::new();
    server.poll_transmit(&mut out);
    let sent: Vec<_> = frames(&out).iter().map(|f| (f.stream, f.payload.len())).collect();
    assert_eq!(sent[1..], [(3, 10), (3, 1)], "after the head");
    assert_eq!(server.open_streams(), 0);
}

#[test]
fn trailers_end_a_response_whose_body_is_sent() {
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    raw.headers(1, GET, true);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    let trailers: [(&[u8], &[u8]); 1] = [(b"grpc-status", b"0")];
    assert!(!server.send_trailers(1, &trailers), "a head comes first");
    assert!(server.respond(1, 200, &[], false) && server.send_data(1, &[0; 65_536], false));
    assert!(!server.send_trailers(1, &trailers), "a byte waits");
    let mut raw = Raw::new();
    raw.window_update(0, 100);
    raw.window_update(1, 100);
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    server.poll_transmit(&mut Vec::new());
    assert!(server.send_trailers(1, &trailers));
    assert!(!server.send_trailers(1, &trailers), "there is one end");
    assert_eq!(server.open_streams(), 0);
}
