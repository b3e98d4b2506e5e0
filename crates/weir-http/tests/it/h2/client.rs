//! The client against frames made by hand: the states of streams and connections (RFC 9113 §5 and
//! §6), with every result for pieces of several sizes.

use std::sync::Arc;

use weir_http::h2::frame::{FrameKind, PREFACE, Settings, flags, push_settings};
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_http::{
    Multiplexed, ProtocolError, Request, RequestId, StreamEvent, StreamEventKind, WindowWaits,
};

use super::raw::{PIECES, Raw, Sent, frames, get, post, request};

const OK: &[(&str, &str)] = &[(":status", "200")];

const BEGAN: StreamEventKind = StreamEventKind::Began { at_ns: 0 };
const DONE: StreamEventKind = StreamEventKind::Response { status: 200 };
const RETURNED: StreamEventKind = StreamEventKind::Returned;

fn failed(error: ProtocolError) -> StreamEventKind {
    StreamEventKind::Failed(error)
}

/// Passes bytes on in pieces.
fn feed(
    client: &mut H2Client,
    bytes: &[u8],
    piece_bytes: usize,
    events: &mut Vec<StreamEvent>,
) -> Result<(), ProtocolError> {
    bytes.chunks(piece_bytes).try_for_each(|piece| client.receive(piece, 0, events))
}

fn sent(client: &mut H2Client) -> Vec<Sent> {
    let mut out = Vec::new();
    client.poll_transmit(&mut out);
    frames(&out)
}

/// Returns an open client with these settings of the server and requests in flight.
fn opened(settings: &Settings, requests: &[Arc<Request>]) -> H2Client {
    let mut client = H2Client::new(10, &H2Options::default());
    client.open(0);
    assert!(!client.is_open() && client.capacity() == 0);
    let mut bytes = Vec::new();
    push_settings(&mut bytes, settings, &Settings::default());
    feed(&mut client, &bytes, usize::MAX, &mut Vec::new()).expect("valid settings");
    assert!(client.is_open());
    for request in requests {
        client.request(request, 0);
    }
    sent(&mut client);
    client
}

/// Events by request id.
fn listed(events: &[StreamEvent]) -> Vec<(u16, StreamEventKind)> {
    events.iter().map(|StreamEvent { id: RequestId(id), kind }| (*id, *kind)).collect()
}

/// Checks the events of frames that arrive with three GETs in flight, on streams 1, 3 and 5, and
/// the frames sent for them: pairs of a stream and a code are resets.
fn check(build: impl Fn(&mut Raw), events: &[(u16, StreamEventKind)], resets: &[(u32, ErrorCode)]) {
    for piece_bytes in PIECES {
        let mut client = opened(&Settings::default(), &[get(), get(), get()]);
        let mut raw = Raw::new();
        build(&mut raw);
        let mut seen = Vec::new();
        let result = feed(&mut client, &raw.bytes, piece_bytes, &mut seen);
        assert_eq!((result, &listed(&seen)[..]), (Ok(()), events), "pieces of {piece_bytes}");
        let sent = sent(&mut client);
        let sent: Vec<_> = sent.iter().filter(|f| f.kind == FrameKind::RST_STREAM).collect();
        let sent: Vec<_> = sent.iter().map(|f| (f.stream, ErrorCode(f.number(0)))).collect();
        assert_eq!(sent, resets, "pieces of {piece_bytes}");
    }
}

/// Checks that frames are an error of the connection.
fn check_error(build: impl Fn(&mut Raw), error: ProtocolError, code: ErrorCode) {
    for piece_bytes in PIECES {
        let mut client = opened(&Settings::default(), &[get(), get(), get()]);
        let mut raw = Raw::new();
        build(&mut raw);
        let result = feed(&mut client, &raw.bytes, piece_bytes, &mut Vec::new());
        assert_eq!(result, Err(error), "pieces of {piece_bytes}");
        assert_eq!(client.receive(b"", 0, &mut Vec::new()), Err(error), "an error lasts");
        assert_eq!((client.capacity(), client.is_open()), (0, false));
        let last = sent(&mut client).pop().expect("GOAWAY is sent");
        assert_eq!((last.kind, last.number(4)), (FrameKind::GOAWAY, code.0));
        client.reset();
        client.open(0);
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        assert_eq!(client.receive(&settings, 0, &mut Vec::new()), Ok(()));
        assert_eq!(client.capacity(), 10);
    }
}

#[test]
fn the_opening() {
    let mut client = H2Client::new(10, &H2Options::default());
    client.open(0);
    let mut out = Vec::new();
    client.poll_transmit(&mut out);
    assert!(out.starts_with(PREFACE));
    let sent = frames(&out);
    assert_eq!(sent[0].kind, FrameKind::SETTINGS);
    // A table of 4 KiB, no push, windows of 2^30 - 1, lists of fields up to 64 KiB.
    let payload = [
        [0, 1, 0, 0, 0x10, 0],
        [0, 2, 0, 0, 0, 0],
        [0, 4, 0x3f, 0xff, 0xff, 0xff],
        [0, 6, 0, 1, 0, 0],
    ];
    assert_eq!(sent[0].payload, payload.concat());
    assert_eq!((sent[1].kind, sent[1].number(0)), (FrameKind::WINDOW_UPDATE, (1 << 30) - 65_536));
}

#[test]
fn the_first_frame_is_settings() {
    let check = |bytes: &[u8]| {
        let mut client = H2Client::new(10, &H2Options::default());
        client.open(0);
        let error = Err(ProtocolError::BadPreface);
        assert_eq!(client.receive(bytes, 0, &mut Vec::new()), error, "{bytes:?}");
    };
    check(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    check(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    // An acknowledgement is none of its own.
    check(&[0, 0, 0, 4, 1, 0, 0, 0, 0]);
}

#[test]
fn responses() {
    let done = [(0, BEGAN), (0, DONE)];
    let complete = |raw: &mut Raw| {
        raw.headers(1, OK, false);
        raw.data(1, b"body", true);
    };
    check(complete, &done, &[]);
    check(|raw| raw.headers(3, OK, true), &[(1, DONE)], &[]);
    let trailers = |raw: &mut Raw| {
        raw.headers(1, &[(":status", "200"), ("content-length", "4")], false);
        raw.data(1, b"bo", false);
        raw.data(1, b"", false);
        raw.data(1, b"dy", false);
        raw.headers(1, &[("trailer", "x")], true);
    };
    check(trailers, &done, &[]);
    let interims = |raw: &mut Raw| {
        raw.headers(1, &[(":status", "103"), ("link", "x")], false);
        raw.headers(1, &[(":status", "100")], false);
        complete(raw);
    };
    check(interims, &done, &[]);
    let interleaved = |raw: &mut Raw| {
        [5, 1, 3].into_iter().for_each(|stream| raw.headers(stream, OK, false));
        [3, 5, 1].into_iter().for_each(|stream| raw.data(stream, b"x", true));
    };
    let events = [(2, BEGAN), (0, BEGAN), (1, BEGAN), (1, DONE), (2, DONE), (0, DONE)];
    check(interleaved, &events, &[]);
    let padded = |raw: &mut Raw| {
        let block = raw.block(&[(":status", "404"), ("content-length", "2")]);
        let mut payload = vec![3, 0, 0, 0, 0, 16];
        payload.extend(block);
        payload.extend([0; 3]);
        let all = flags::PADDED | flags::PRIORITY | flags::END_HEADERS;
        raw.frame(FrameKind::HEADERS, all, 1, &payload);
        raw.frame(FrameKind::DATA, flags::PADDED | flags::END_STREAM, 1, b"\x04ab\0\0\0\0");
    };
    check(padded, &[(0, BEGAN), (0, StreamEventKind::Response { status: 404 })], &[]);
    let continued = |raw: &mut Raw| {
        let block = raw.block(&[(":status", "200"), ("x", "a long value, in pieces")]);
        let (first, rest) = block.split_at(1);
        raw.frame(FrameKind::HEADERS, flags::END_STREAM, 1, first);
        raw.frame(FrameKind::CONTINUATION, 0, 1, b"");
        raw.frame(FrameKind::CONTINUATION, flags::END_HEADERS, 1, rest);
    };
    check(continued, &[(0, DONE)], &[]);
}

/// RFC 9113 §8.1.1: malformed responses fail their stream only.
#[test]
fn malformed_responses() {
    let malformed = |build: &dyn Fn(&mut Raw), error, began: bool| {
        let mut events = vec![(0, failed(error)), (1, DONE)];
        if began {
            events.insert(0, (0, BEGAN));
        }
        let build = |raw: &mut Raw| {
            build(raw);
            raw.headers(3, OK, true);
        };
        check(build, &events, &[(1, ErrorCode::PROTOCOL_ERROR)]);
    };
    let bad = ProtocolError::BadHeader;
    for fields in [
        &[("server", "x")][..],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "20x")],
        &[(":status", "99")],
        &[(":status", "101")],
        &[(":status", "200"), (":path", "/")],
        &[("server", "x"), (":status", "200")],
        &[(":status", "200"), ("Server", "x")],
        &[(":status", "200"), ("connection", "close")],
        &[(":status", "200"), ("content-length", "x")],
        &[(":status", "200"), ("x", "a\nb")],
    ] {
        malformed(&|raw| raw.headers(1, fields, false), bad, false);
    }
    malformed(&|raw| raw.headers(1, &[(":status", "100")], true), bad, false);
    malformed(&|raw| raw.data(1, b"x", false), ProtocolError::BadFrame, false);
    let trailers = |fields: &'static [(&str, &str)], is_end| {
        move |raw: &mut Raw| {
            raw.headers(1, OK, false);
            raw.headers(1, fields, is_end);
        }
    };
    malformed(&trailers(&[("a", "b")], false), bad, true);
    malformed(&trailers(OK, true), bad, true);
    malformed(&trailers(&[("A", "b")], true), bad, true);
    let length = ProtocolError::BodyLengthMismatch;
    let with_length = [(":status", "200"), ("content-length", "3")];
    malformed(&|raw| raw.headers(1, &with_length, true), length, false);
    for data in [&b"ab"[..], b"abcd"] {
        let build = |raw: &mut Raw| {
            raw.headers(1, &with_length, false);
            raw.data(1, data, true);
        };
        malformed(&build, length, true);
    }
}

#[test]
fn responses_without_a_body() {
    for (text, status, has_body) in [
        ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "200", false),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "304", false),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "200", true),
    ] {
        let mut client = opened(&Settings::default(), &[request(text)]);
        let mut raw = Raw::new();
        raw.headers(1, &[(":status", status), ("content-length", "3")], true);
        let mut events = Vec::new();
        assert_eq!(client.receive(&raw.bytes, 0, &mut events), Ok(()));
        let is_response = matches!(events[0].kind, StreamEventKind::Response { .. });
        assert_eq!(is_response, !has_body, "{text} {status}");
    }
}

#[test]
fn resets_by_the_server() {
    let reset = |stream: u32, code: ErrorCode| {
        move |raw: &mut Raw| raw.frame(FrameKind::RST_STREAM, 0, stream, &code.0.to_be_bytes())
    };
    check(reset(1, ErrorCode::REFUSED_STREAM), &[(0, RETURNED)], &[]);
    for code in [ErrorCode::NO_ERROR, ErrorCode::CANCEL, ErrorCode(0x99)] {
        check(reset(3, code), &[(1, StreamEventKind::Reset(code.reason()))], &[]);
    }
    // A begun response was processed.
    let begun = |raw: &mut Raw| {
        raw.headers(1, OK, false);
        reset(1, ErrorCode::REFUSED_STREAM)(raw);
    };
    let was_reset = StreamEventKind::Reset(ErrorCode::REFUSED_STREAM.reason());
    check(begun, &[(0, BEGAN), (0, was_reset)], &[]);
    let after_response = |raw: &mut Raw| {
        raw.headers(1, OK, true);
        reset(1, ErrorCode::NO_ERROR)(raw);
    };
    check(after_response, &[(0, DONE)], &[]);
}

/// RFC 9113 §5.1, §6: frames that end the connection.
#[test]
fn connection_errors() {
    let protocol = |build: &dyn Fn(&mut Raw)| {
        check_error(build, ProtocolError::BadFrame, ErrorCode::PROTOCOL_ERROR);
    };
    // Idle streams, and streams of the server.
    for stream in [7, 2] {
        protocol(&|raw| raw.headers(stream, OK, true));
        protocol(&|raw| raw.data(stream, b"", false));
        protocol(&|raw| raw.frame(FrameKind::RST_STREAM, 0, stream, &[0; 4]));
        protocol(&|raw| raw.window_update(stream, 1));
    }
    protocol(&|raw| raw.frame(FrameKind::PUSH_PROMISE, 4, 1, &[0, 0, 0, 2]));
    protocol(&|raw| raw.window_update(0, 0));
    protocol(&|raw| raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 2, 0, 0, 0, 1]));
    protocol(&|raw| raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 5, 0, 0, 0, 1]));
    protocol(&|raw| raw.frame(FrameKind::CONTINUATION, 4, 1, &[]));
    let flow = |build: &dyn Fn(&mut Raw)| {
        check_error(build, ProtocolError::FlowControl, ErrorCode::FLOW_CONTROL_ERROR);
    };
    flow(&|raw| raw.window_update(0, 0x7fff_ffff));
    flow(&|raw| raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 4, 0x80, 0, 0, 0]));
    let overflow = |raw: &mut Raw| {
        raw.window_update(1, 0x7fff_0000);
        raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 4, 0x7f, 0, 0, 0]);
    };
    flow(&overflow);
    let closed = |build: &dyn Fn(&mut Raw)| {
        let build = |raw: &mut Raw| {
            raw.headers(1, OK, true);
            build(raw);
        };
        check_error(build, ProtocolError::StreamClosed, ErrorCode::STREAM_CLOSED);
    };
    closed(&|raw| raw.headers(1, OK, true));
    closed(&|raw| raw.data(1, b"x", true));
    let compression = |block: &'static [u8]| {
        let build = |raw: &mut Raw| raw.frame(FrameKind::HEADERS, flags::END_HEADERS, 1, block);
        check_error(build, ProtocolError::BadCompression, ErrorCode::COMPRESSION_ERROR);
    };
    compression(b"\xff");
    compression(b"\x80");
    compression(b"\xbe");
    let large = |raw: &mut Raw| raw.frame(FrameKind::DATA, 0, 1, &[0; 16_385]);
    check_error(large, ProtocolError::FrameTooLarge, ErrorCode::FRAME_SIZE_ERROR);
}

#[test]
fn windows_of_one_stream() {
    let overflow = |raw: &mut Raw| raw.window_update(1, 0x7fff_ffff);
    let flow = failed(ProtocolError::FlowControl);
    check(overflow, &[(0, flow)], &[(1, ErrorCode::FLOW_CONTROL_ERROR)]);
    let zero = |raw: &mut Raw| raw.window_update(1, 0);
    check(zero, &[(0, failed(ProtocolError::BadFrame))], &[(1, ErrorCode::PROTOCOL_ERROR)]);
    // After the response it has no meaning.
    let late = |raw: &mut Raw| {
        raw.headers(1, OK, true);
        raw.window_update(1, 0);
    };
    check(late, &[(0, DONE)], &[]);
}

#[test]
fn frames_without_a_meaning() {
    let build = |raw: &mut Raw| {
        raw.frame(FrameKind(0xfa), 0xff, 99, b"unknown");
        raw.frame(FrameKind::PRIORITY, 0, 99, &[0; 5]);
        raw.frame(FrameKind::SETTINGS, 0, 0, &[0x12, 0x34, 0, 0, 0, 1]);
        raw.frame(FrameKind::PING, flags::ACK, 0, &[0; 8]);
        raw.headers(1, OK, true);
    };
    check(build, &[(0, DONE)], &[]);
    let size = failed(ProtocolError::FrameTooLarge);
    let build = |raw: &mut Raw| raw.frame(FrameKind::PRIORITY, 0, 1, &[0; 4]);
    check(build, &[(0, size)], &[(1, ErrorCode::FRAME_SIZE_ERROR)]);
}

#[test]
fn probes_and_settings_are_acknowledged() {
    let mut client = opened(&Settings::default(), &[]);
    let mut raw = Raw::new();
    raw.frame(FrameKind::PING, 0, 0, b"12345678");
    raw.frame(FrameKind::SETTINGS, 0, 0, &[]);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid frames");
    let ack = |kind, payload: &[u8]| Sent { kind, flags: 1, stream: 0, payload: payload.into() };
    let expected = [ack(FrameKind::PING, b"12345678"), ack(FrameKind::SETTINGS, b"")];
    assert_eq!(sent(&mut client), expected);
}

#[test]
fn the_limit_on_streams_changes_at_any_time() {
    let limited = |most| Settings { max_concurrent_streams: Some(most), ..Settings::default() };
    let mut client = opened(&limited(2), &[get()]);
    assert_eq!(client.capacity(), 1);
    for (most, capacity) in [(0, 0), (1, 0), (5, 4), (100, 9)] {
        let mut bytes = Vec::new();
        push_settings(&mut bytes, &limited(most), &Settings::default());
        client.receive(&bytes, 0, &mut Vec::new()).expect("valid settings");
        assert_eq!(client.capacity(), capacity, "{most}");
        assert!(!client.is_retiring());
    }
}

/// RFC 9113 §6.8.
#[test]
fn the_end_of_new_streams() {
    let go_away = |raw: &mut Raw, last: u32| {
        raw.frame(FrameKind::GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
    };
    let mut client = opened(&Settings::default(), &[get(), get(), get()]);
    assert_eq!(client.goaway(), None);
    let mut raw = Raw::new();
    // The first of two announces the end, and returns nothing.
    go_away(&mut raw, 0x7fff_ffff);
    let mut events = Vec::new();
    client.receive(&raw.bytes, 0, &mut events).expect("valid frames");
    assert_eq!((client.is_retiring(), client.capacity(), events.len()), (true, 0, 0));
    raw.bytes.clear();
    go_away(&mut raw, 3);
    raw.headers(1, OK, true);
    raw.headers(3, OK, true);
    client.receive(&raw.bytes, 0, &mut events).expect("valid frames");
    assert_eq!(listed(&events), [(2, RETURNED), (0, DONE), (1, DONE)]);
    assert_eq!(client.goaway(), Some(ErrorCode::NO_ERROR.reason()));
}

/// An error counts, whatever comes before and after it.
#[test]
fn the_reason_of_the_end() {
    let mut client = opened(&Settings::default(), &[get()]);
    let mut raw = Raw::new();
    let codes = [ErrorCode::NO_ERROR, ErrorCode::ENHANCE_YOUR_CALM, ErrorCode::NO_ERROR];
    for code in codes {
        let payload = [1_u32.to_be_bytes(), code.0.to_be_bytes()].concat();
        raw.frame(FrameKind::GOAWAY, 0, 0, &payload);
    }
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid frames");
    assert_eq!(client.goaway(), Some(ErrorCode::ENHANCE_YOUR_CALM.reason()));
    client.reset();
    assert_eq!(client.goaway(), None);
    let names = [ErrorCode::NO_ERROR, ErrorCode::HTTP_1_1_REQUIRED, ErrorCode(0x99)];
    assert_eq!(names.map(|code| code.reason().name), ["NO_ERROR", "HTTP_1_1_REQUIRED", "UNKNOWN"]);
    let codes = ["stream_reset_no_error", "stream_reset_http_1_1_required", "stream_reset_unknown"];
    assert_eq!(names.map(|code| code.reason().reset_code), codes);
}

#[test]
fn cancelled_streams_keep_the_connection_right() {
    let options = H2Options { connection_window_bytes: 65_535, ..H2Options::default() };
    let mut client = H2Client::new(10, &options);
    client.open(0);
    let mut raw = Raw::new();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[]);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid settings");
    let ids = [get(), get()].map(|request| client.request(&request, 0));
    sent(&mut client);
    client.cancel(ids[0], 0);
    let reset = sent(&mut client);
    assert_eq!((reset[0].kind, reset[0].stream), (FrameKind::RST_STREAM, 1));
    assert_eq!(reset[0].number(0), ErrorCode::CANCEL.0);
    raw.bytes.clear();
    // The late head enters the table; the other response has to use it.
    raw.headers(1, &[(":status", "200"), ("x", "in the table")], false);
    (0..4).for_each(|_| raw.data(1, &[0; 10_000], false));
    let before = raw.bytes.len();
    raw.headers(3, &[(":status", "200"), ("x", "in the table")], true);
    assert!(raw.bytes.len() < before + 15);
    let mut events = Vec::new();
    client.receive(&raw.bytes, 0, &mut events).expect("late frames are no error");
    assert_eq!(listed(&events), [(1, DONE)]);
    let updates = sent(&mut client);
    assert_eq!((updates[0].kind, updates[0].stream), (FrameKind::WINDOW_UPDATE, 0));
    assert_eq!(updates[0].number(0), 40_000);
}

#[test]
fn too_many_cancellations_retire_the_connection() {
    let mut client = opened(&Settings::default(), &[get()]);
    let mut raw = Raw::new();
    raw.headers(1, OK, true);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid frames");
    for nth in 1..=10 {
        assert!(!client.is_retiring(), "{nth}");
        let id = client.request(&get(), 0);
        client.cancel(id, 0);
    }
    assert!(client.is_retiring());
    client.reset();
    assert!(!client.is_retiring());
}

/// A server that sends nothing is probed once, and has a whole timeout to respond to that.
#[test]
fn a_dead_connection_is_given_up() {
    const SECOND: u64 = 1_000_000_000;
    let time_out = |client: &mut H2Client, at: u64| {
        let id = client.request(&get(), at * SECOND);
        client.cancel(id, (at + 1) * SECOND);
        sent(client).iter().filter(|frame| frame.kind == FrameKind::PING).count()
    };
    let mut client = opened(&Settings::default(), &[]);
    let early = client.request(&get(), 0);
    assert_eq!((time_out(&mut client, 0), client.is_retiring()), (1, false));
    // This request came before the probe.
    client.cancel(early, 2 * SECOND);
    assert_eq!((sent(&mut client).len(), client.is_retiring()), (1, false));
    assert_eq!((time_out(&mut client, 2), client.is_retiring()), (0, true));
    // A server that responds to probes lives, however late its responses are.
    let mut client = opened(&Settings::default(), &[]);
    for at in 0..100 {
        let probes = time_out(&mut client, 10 * at);
        assert_eq!((probes, client.is_retiring()), (1, false));
        let mut raw = Raw::new();
        raw.frame(FrameKind::PING, flags::ACK, 0, b"weir/2.0");
        let at_ns = (10 * at + 2) * SECOND;
        client.receive(&raw.bytes, at_ns, &mut Vec::new()).expect("it is the one sent");
    }
}

/// The first byte is the head's, even if the rest of it comes later.
#[test]
fn the_first_byte_of_a_response_in_pieces() {
    let began = |at_ns| StreamEventKind::Began { at_ns };
    let mut raw = Raw::new();
    raw.headers(1, &[(":status", "103"), ("x-a", "b")], false);
    let interim = raw.bytes.len();
    raw.headers(1, &[(":status", "200"), ("x-b", "c")], true);
    for cut in 0..=raw.bytes.len() {
        let mut client = opened(&Settings::default(), &[get()]);
        let mut events = Vec::new();
        client.receive(&raw.bytes[..cut], 10, &mut events).expect("valid frames");
        client.receive(&[], 15, &mut events).expect("no frames");
        client.receive(&raw.bytes[cut..], 20, &mut events).expect("valid frames");
        let is_split = (interim + 1..raw.bytes.len()).contains(&cut);
        let expected = if is_split { vec![(0, began(10)), (0, DONE)] } else { vec![(0, DONE)] };
        assert_eq!(listed(&events), expected, "{cut} of {}", raw.bytes.len());
    }
    // A block in two frames begins with the first one.
    let block = raw.block(OK);
    let mut client = opened(&Settings::default(), &[get()]);
    let mut events = Vec::new();
    for (at_ns, bytes) in [(1, &block[..0]), (2, &block[..])] {
        let mut raw = Raw::new();
        match at_ns {
            1 => raw.frame(FrameKind::HEADERS, 0, 1, bytes),
            _ => raw.frame(FrameKind::CONTINUATION, flags::END_HEADERS, 1, bytes),
        }
        client.receive(&raw.bytes, at_ns, &mut events).expect("valid frames");
    }
    assert_eq!(listed(&events), [(0, began(1))]);
}

#[test]
fn bodies_wait_for_windows() {
    let small = Settings { initial_window_bytes: 10, ..Settings::default() };
    let mut client = opened(&small, &[]);
    client.request(&post(25), 1_000);
    let data = |client: &mut H2Client| {
        let frames = sent(client).into_iter().filter(|frame| frame.kind == FrameKind::DATA);
        frames.map(|frame| (frame.payload.len(), frame.flags)).collect::<Vec<_>>()
    };
    assert_eq!(data(&mut client), [(10, 0)]);
    let receive = |client: &mut H2Client, now_ns, build: &dyn Fn(&mut Raw)| {
        let mut raw = Raw::new();
        build(&mut raw);
        client.receive(&raw.bytes, now_ns, &mut Vec::new()).expect("valid frames");
        data(client)
    };
    let waits = |client: &H2Client, now_ns| {
        let WindowWaits { waits, waited_ns } = client.window_waits(now_ns);
        (waits, waited_ns)
    };
    // A body that waits counts up to now.
    assert_eq!([1_000, 1_500].map(|now_ns| waits(&client, now_ns)), [(0, 0), (1, 500)]);
    // A smaller first window makes the window negative: 10 sent of 4.
    let settings = |bytes: u8| [0, 4, 0, 0, 0, bytes];
    let shrink = |raw: &mut Raw| raw.frame(FrameKind::SETTINGS, 0, 0, &settings(4));
    assert_eq!(receive(&mut client, 2_000, &shrink), []);
    assert_eq!(receive(&mut client, 3_000, &|raw| raw.window_update(1, 6)), []);
    assert_eq!(receive(&mut client, 4_000, &|raw| raw.window_update(1, 1)), [(1, 0)]);
    let grow = |raw: &mut Raw| raw.frame(FrameKind::SETTINGS, 0, 0, &settings(100));
    assert_eq!(receive(&mut client, 5_000, &grow), [(14, 1)]);
    assert_eq!(waits(&client, 9_000), (1, 4_000));
    // A body that fits does not wait.
    client.request(&post(10), 9_000);
    assert_eq!((data(&mut client).len(), waits(&client, 9_900)), (1, (1, 4_000)));
}

#[test]
fn bodies_share_the_window_of_the_connection() {
    let large = Settings { initial_window_bytes: 1 << 20, ..Settings::default() };
    let mut client = opened(&large, &[]);
    [post(60_000), post(60_000), post(0)].iter().for_each(|request| {
        client.request(request, 0);
    });
    let frames = sent(&mut client);
    let of = |stream: u32| {
        let frames = frames.iter().filter(|f| f.kind == FrameKind::DATA && f.stream == stream);
        frames.map(|frame| frame.payload.len()).sum::<usize>()
    };
    assert_eq!((of(1), of(3), of(5)), (32_768, 32_767, 0));
    let mut raw = Raw::new();
    raw.window_update(0, 1 << 20);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("a valid update");
    let rest: usize = sent(&mut client).iter().map(|frame| frame.payload.len()).sum();
    assert_eq!(rest, 120_000 - 65_535);
}

#[test]
fn a_response_before_the_end_of_its_request() {
    let mut client = opened(&Settings::default(), &[post(100_000)]);
    let mut raw = Raw::new();
    raw.headers(1, &[(":status", "413")], true);
    raw.window_update(1, 100);
    raw.frame(FrameKind::RST_STREAM, 0, 1, &[0; 4]);
    let mut events = Vec::new();
    client.receive(&raw.bytes, 0, &mut events).expect("valid frames");
    assert_eq!(listed(&events), [(0, StreamEventKind::Response { status: 413 })]);
    let sent = sent(&mut client);
    assert_eq!((sent.len(), sent[0].kind), (1, FrameKind::RST_STREAM));
    assert_eq!(sent[0].number(0), ErrorCode::CANCEL.0);
}

#[test]
fn windows_for_responses_are_refilled_by_halves() {
    let mut options = H2Options { connection_window_bytes: 0, ..H2Options::default() };
    options.settings.initial_window_bytes = 1_000;
    let mut client = H2Client::new(10, &options);
    client.open(0);
    let mut raw = Raw::new();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[]);
    raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid settings");
    client.request(&get(), 0);
    // The connection's window cannot be smaller than the protocol's.
    let sent_before = sent(&mut client);
    assert!(sent_before.iter().all(|frame| frame.kind != FrameKind::WINDOW_UPDATE));
    let receive = |client: &mut H2Client, build: &dyn Fn(&mut Raw)| {
        let mut raw = Raw::new();
        build(&mut raw);
        client.receive(&raw.bytes, 0, &mut Vec::new())
    };
    let head = |raw: &mut Raw| raw.headers(1, OK, false);
    assert_eq!(receive(&mut client, &head), Ok(()));
    assert_eq!(receive(&mut client, &|raw| raw.data(1, &[0; 499], false)), Ok(()));
    assert_eq!(sent(&mut client), []);
    assert_eq!(receive(&mut client, &|raw| raw.data(1, &[0; 1], false)), Ok(()));
    let update = sent(&mut client);
    assert_eq!((update[0].stream, update[0].number(0)), (1, 500));
    let beyond = receive(&mut client, &|raw| raw.data(1, &[0; 1_001], false));
    assert_eq!(beyond, Err(ProtocolError::FlowControl));
}

/// A head that is equal to the last one is compared only, unless the table has changed.
#[test]
fn equal_blocks_with_another_table() {
    let mut client = opened(&Settings::default(), &[get(), get(), get(), get()]);
    let block = |raw: &mut Raw, stream, block: &[u8]| {
        raw.frame(FrameKind::HEADERS, flags::END_HEADERS | flags::END_STREAM, stream, block);
    };
    let mut raw = Raw::new();
    // `:status: 201` enters the table, is used, moves by one entry, and is no longer at the index.
    block(&mut raw, 1, b"\x48\x03201");
    block(&mut raw, 3, b"\xbe");
    block(&mut raw, 5, b"\x48\x03404");
    block(&mut raw, 7, b"\xbe");
    let mut events = Vec::new();
    client.receive(&raw.bytes, 0, &mut events).expect("valid frames");
    let statuses: Vec<_> = events.iter().map(|event| event.kind).collect();
    let status = |status| StreamEventKind::Response { status };
    assert_eq!(statuses, [status(201), status(201), status(404), status(404)]);
}

/// Trailers change the table too, without a head between.
#[test]
fn equal_blocks_after_trailers() {
    let build = |raw: &mut Raw| {
        let block = |raw: &mut Raw, stream, flag, block: &[u8]| {
            raw.frame(FrameKind::HEADERS, flags::END_HEADERS | flag, stream, block);
        };
        block(raw, 1, 0, b"\x48\x03200");
        block(raw, 3, flags::END_STREAM, b"\xbe");
        block(raw, 1, flags::END_STREAM, b"\x40\x01x\x01y");
        // Now the index means the trailer, which is no head.
        block(raw, 5, flags::END_STREAM, b"\xbe");
    };
    let events = [(0, BEGAN), (1, DONE), (0, DONE), (2, failed(ProtocolError::BadHeader))];
    check(build, &events, &[(5, ErrorCode::PROTOCOL_ERROR)]);
}
