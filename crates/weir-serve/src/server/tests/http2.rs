//! HTTP/2 in virtual time: frames made by hand, and the frames that the server sends, read back.

use weir_http::h2::ErrorCode;
use weir_http::h2::frame::{
    FrameKind, HEADER_BYTES, PREFACE, Settings, flags, push_data, push_frame, push_headers,
    push_ping, push_reset, push_settings, push_window_update,
};
use weir_http::h2::hpack::{Decoder, Encoder};

use super::*;
use crate::http_version::{Http2Options, HttpVersion};

/// Bytes of a client.
pub(super) struct Wire {
    pub(super) bytes: Vec<u8>,
    encoder: Encoder,
}

impl Wire {
    fn new() -> Wire {
        Wire { bytes: Vec::new(), encoder: Encoder::new(4096) }
    }

    /// Begins with the preface and settings with this window.
    pub(super) fn opening(window_bytes: u32) -> Wire {
        let mut wire = Wire::new();
        wire.bytes.extend_from_slice(PREFACE);
        let settings = Settings { initial_window_bytes: window_bytes, ..Settings::default() };
        push_settings(&mut wire.bytes, &settings, &Settings::default());
        wire
    }

    pub(super) fn head(&mut self, stream: u32, fields: &[(&str, &str)], is_end: bool) {
        let mut block = Vec::new();
        self.encoder.begin(&mut block);
        for (name, value) in fields {
            self.encoder.field(name.as_bytes(), value.as_bytes(), &mut block);
        }
        push_headers(&mut self.bytes, stream, &block, is_end, 16_384);
    }

    fn request(&mut self, stream: u32, method: &str, path: &str, is_end: bool) {
        let fields =
            [(":method", method), (":scheme", "http"), (":path", path), (":authority", "a")];
        self.head(stream, &fields, is_end);
    }

    pub(super) fn get(&mut self, stream: u32, path: &str) {
        self.request(stream, "GET", path, true);
    }

    pub(super) fn take(&mut self) -> FakeEvent {
        FakeEvent::Received(std::mem::take(&mut self.bytes))
    }
}

/// A frame that the server sent, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) at: u64,
    pub(super) text: String,
    pub(super) fields: Vec<(String, String)>,
    /// Payload of a DATA frame.
    pub(super) data: Vec<u8>,
}

impl Sent {
    pub(super) fn is_of(&self, stream: &str) -> bool {
        self.text.split(' ').next() == Some(stream)
    }
}

/// Returns the frames sent on a connection, without acknowledgements of settings.
pub(super) fn frames(server: &Server<Fake>, conn: u32) -> Vec<Sent> {
    let mut decoder = Decoder::new(1 << 16);
    let mut frames = Vec::new();
    let sends = server.backend.bytes.iter().filter(|(_, id, _)| id.0 == conn);
    for (at, _, bytes) in sends {
        let mut rest = &bytes[..];
        while let Some((header, after)) = rest.split_first_chunk::<HEADER_BYTES>() {
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
            let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            let (payload, after) = after.split_at(length);
            let number =
                |at: usize| u32::from_be_bytes(payload[at..at + 4].try_into().expect("four bytes"));
            let end = if header[4] & flags::END_STREAM != 0 { " end" } else { "" };
            let mut fields = Vec::new();
            let mut data = Vec::new();
            let text = match FrameKind(header[3]) {
                FrameKind::HEADERS => {
                    let field = |name: &[u8], value: &[u8]| {
                        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                        fields.push((text(name), text(value)));
                    };
                    decoder.decode(payload, field).expect("a valid block");
                    format!("{stream} {}{end}", fields.remove(0).1)
                }
                FrameKind::DATA => {
                    data.extend_from_slice(payload);
                    format!("{stream} data {length}{end}")
                }
                FrameKind::RST_STREAM => format!("{stream} reset {}", number(0)),
                FrameKind::GOAWAY => format!("goaway {} {}", number(0), number(4)),
                FrameKind::WINDOW_UPDATE => format!("{stream} window {}", number(0)),
                FrameKind::PING => "ping".to_owned(),
                FrameKind::SETTINGS if !end.is_empty() => String::new(),
                FrameKind::SETTINGS => "settings".to_owned(),
                other => format!("{other:?}"),
            };
            if !text.is_empty() {
                frames.push(Sent { at: at.0, text, fields, data });
            }
            rest = after;
        }
        assert!(rest.is_empty(), "half a frame was sent");
    }
    frames
}

fn texts(server: &Server<Fake>) -> Vec<String> {
    frames(server, 0).into_iter().map(|frame| frame.text).collect()
}

/// Runs a behaviour against one client, whose bytes arrive at these times.
fn run_wire(behaviour: Behaviour, arrivals: Vec<(u64, FakeEvent)>) -> Server<Fake> {
    run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        for (at, event) in arrivals {
            fake.will(at, 0, event);
        }
    })
}

/// The first frames of every connection: settings, and the window of the connection.
const OPENING: [&str; 2] = ["settings", "0 window 1073676288"];

/// Checks all frames after the opening.
#[track_caller]
fn check_frames(server: &Server<Fake>, expected: &[&str]) {
    let texts = texts(server);
    assert_eq!(texts[..OPENING.len().min(texts.len())], OPENING);
    assert_eq!(texts[OPENING.len()..], *expected);
}

#[test]
fn the_preface_is_recognised_at_every_split() {
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    for split in 1..wire.bytes.len() {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            fake.will(2, 0, FakeEvent::Received(wire.bytes[..split].to_vec()));
            fake.will(3, 0, FakeEvent::Received(wire.bytes[split..].to_vec()));
        });
        check_frames(&server, &["1 200", "1 data 14 end"]);
        let requests = server.shared.stats().requests;
        assert_eq!((requests.received, requests.answered), (1, 1), "split at {split}");
    }
    let post = "PRI / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
    for split in 1..post.len() {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, &post[..split]);
            received(fake, 3, 0, &post[split..]);
        });
        assert_eq!(server.backend.sent(0), PLAIN, "split at {split}");
    }
}

#[test]
fn one_protocol_may_be_left_out() {
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    for change in
        [|p: &mut Behaviour| p.http = HttpVersion::Http1, |p: &mut Behaviour| p.http10 = true]
    {
        let bytes = wire.bytes.clone();
        let server = run_wire(with(change), vec![(2, FakeEvent::Received(bytes))]);
        assert!(server.backend.sent(0).contains(" 505 "), "{}", server.backend.sent(0));
        assert_eq!(server.shared.stats().requests.bad, 1);
    }
    let only = with(|p| p.http = HttpVersion::Http2);
    let server = run_wire(only.clone(), vec![(2, wire.take())]);
    check_frames(&server, &["1 200", "1 data 14 end"]);
    let server = run_wire(only, vec![(2, FakeEvent::Received(GET.into()))]);
    check_frames(&server, &["goaway 0 1"]);
    assert_eq!(
        server.backend.done.last().map(|done| &done.2),
        Some(&Done::Closed(Close::Graceful))
    );
    let requests = server.shared.stats().requests;
    assert_eq!((requests.bad, requests.received), (1, 0));
}

#[test]
fn each_stream_has_its_own_delay() {
    let mut wire = Wire::opening(65_535);
    let delay = |k: u32| u64::from(k) * 7919 % 1000 + 1;
    for k in 0..100 {
        wire.get(2 * k + 1, &format!("/?delay_ns={}", delay(k)));
    }
    let server = run_wire(Behaviour::default(), vec![(1000, wire.take())]);
    let mut expected: Vec<(u64, String)> =
        (0..100).map(|k| (1000 + delay(k), format!("{} data 14 end", 2 * k + 1))).collect();
    expected.sort_by_key(|(at, _)| *at);
    let frames = frames(&server, 0).into_iter().filter(|frame| frame.text.contains("data"));
    let seen: Vec<(u64, String)> = frames.map(|frame| (frame.at, frame.text)).collect();
    assert_eq!(seen, expected);
}

#[test]
fn responses_have_the_programmed_fields() {
    let behaviour = with(|p| {
        p.headers = vec!["X-Kind: Test".parse().expect("valid")];
        p.stamps = true;
        p.delay = Delay::Fixed(Duration::from_nanos(500));
    });
    let mut wire = Wire::opening(65_535);
    let fields = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/?status=404"),
        (":authority", "a"),
        ("x-slot", "42"),
        ("x-size", "5"),
    ];
    wire.head(1, &fields, true);
    let server = run_wire(behaviour, vec![(1000, wire.take())]);
    check_frames(&server, &["1 404", "1 data 5 end"]);
    let seen = frames(&server, 0).into_iter().find(|frame| frame.text == "1 404");
    let seen = seen.expect("it was seen").fields;
    let seen: Vec<(&str, &str)> = seen.iter().map(|(name, value)| (&**name, &**value)).collect();
    let expected = [
        ("content-length", "5"),
        ("content-type", "text/plain"),
        ("x-kind", "Test"),
        ("x-slot", "42"),
        ("x-srv-recv-ns", "1000"),
        ("x-srv-send-ns", "1500"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn bodiless_responses_end_with_their_head() {
    let mut wire = Wire::opening(65_535);
    wire.request(1, "HEAD", "/", true);
    wire.get(3, "/?status=204");
    wire.get(5, "/?status=304");
    wire.get(7, "/?size=0");
    wire.get(9, "/?size=none");
    let server = run_wire(Behaviour::default(), vec![(2, wire.take())]);
    let texts = texts(&server);
    for text in ["1 200 end", "3 204 end", "5 304 end", "7 200 end", "9 400"] {
        assert!(texts.iter().any(|other| other == text), "{text} is missing in {texts:?}");
    }
    let requests = server.shared.stats().requests;
    assert_eq!((requests.received, requests.answered, requests.bad), (4, 4, 1));
}

#[test]
fn the_connection_goes_away_after_its_last_request() {
    for is_closed_by_client in [false, true] {
        let mut wire = Wire::opening(65_535);
        wire.request(1, "POST", "/", false);
        (3..=9).step_by(2).for_each(|stream| wire.get(stream, "/?delay=1us"));
        let mut arrivals = vec![(1000, wire.take())];
        // Requests that the client sent before it saw GOAWAY, and the end of the first one.
        wire.get(11, "/");
        push_data(&mut wire.bytes, 7, b"late", true);
        push_data(&mut wire.bytes, 1, b"body", true);
        arrivals.push((3000, wire.take()));
        if is_closed_by_client {
            arrivals.push((4000, FakeEvent::Closed));
        }
        let server = run_wire(with(|p| p.requests_per_connection = Some(3)), arrivals);
        let expected = [
            "goaway 5 0",
            "3 200",
            "3 data 14 end",
            "5 200",
            "5 data 14 end",
            "1 200",
            "1 data 14 end",
        ];
        check_frames(&server, &expected);
        let requests = server.shared.stats().requests;
        assert_eq!((requests.received, requests.answered, requests.refused), (3, 3, 3));
        let closed = server.backend.done.last().map(|(at, _, done)| (at.0, done.clone()));
        let at = if is_closed_by_client { 4000 } else { 1_000_003_000 };
        assert_eq!(closed, Some((at, Done::Closed(Close::Graceful))));
    }
    let mut wire = Wire::opening(65_535);
    [1, 3].into_iter().for_each(|stream| wire.get(stream, "/"));
    let server = run_wire(with(|p| p.close = true), vec![(2, wire.take())]);
    check_frames(&server, &["goaway 1 0", "1 200", "1 data 14 end"]);
    let requests = server.shared.stats().requests;
    assert_eq!((requests.received, requests.refused), (1, 1));
}

/// RFC 9113 §5.1: streams end each for itself, also after the end of the client's bytes.
#[test]
fn responses_follow_the_end_of_the_clients_bytes() {
    let check = |window_bytes: u32, change: fn(&mut Behaviour), closed_at: u64, sent: &[&str]| {
        let mut wire = Wire::opening(window_bytes);
        wire.request(1, "POST", "/", false);
        wire.get(3, "/?delay=2us");
        wire.get(5, "/?delay=5us");
        let arrivals = vec![(1000, wire.take()), (1500, FakeEvent::Closed)];
        let server = run_wire(with(change), arrivals);
        check_frames(&server, sent);
        let requests = server.shared.stats().requests;
        let answered = sent.iter().filter(|text| text.ends_with(" end")).count() as u64;
        let counts = (requests.received, requests.answered, requests.abandoned, requests.owed());
        assert_eq!(counts, (2, answered, 2 - answered, 0));
        let closed =
            server.backend.done.iter().filter(|(_, _, done)| !matches!(done, Done::Sent(_)));
        let closed: Vec<_> = closed.map(|(at, _, done)| (at.0, done.clone())).collect();
        assert_eq!(closed, [(closed_at, Done::Closed(Close::Graceful))]);
    };
    let all = ["3 200", "3 data 14 end", "5 200", "5 data 14 end"];
    check(65_535, |_| {}, 6000, &all);
    check(65_535, |p| p.stamps = true, 6000, &all);
    check(
        65_535,
        |p| p.drip = "2@1us".parse().ok(),
        7000,
        &["3 200", "3 data 7", "3 data 7 end", "5 200", "5 data 7", "5 data 7 end"],
    );
    check(65_535, |p| p.http2.settings_delay = Duration::from_micros(9), 10_000, &all);
    // No window is opened any more.
    check(10, |_| {}, 6000, &["3 200", "3 data 10", "5 200", "5 data 10"]);
}

#[test]
fn streams_beyond_the_limit_are_refused_and_not_processed() {
    let http2 = Http2Options { streams: 2, ..Http2Options::default() };
    let behaviour = with(|p| {
        p.http2 = http2;
        p.delay = Delay::Fixed(Duration::from_nanos(100));
    });
    let mut wire = Wire::opening(65_535);
    [1, 3, 5].into_iter().for_each(|stream| wire.get(stream, "/"));
    let first = wire.take();
    wire.get(7, "/");
    let server = run_wire(behaviour, vec![(1000, first), (2000, wire.take())]);
    let texts = texts(&server);
    assert!(texts.contains(&"5 reset 7".to_owned()), "{texts:?}");
    let requests = server.shared.stats().requests;
    assert_eq!((requests.received, requests.answered, requests.refused), (3, 3, 1));
    assert_eq!(requests.refused_by_fault, 0);
}

#[test]
fn faults_of_streams_leave_the_connection() {
    let faults = ["refuse-stream:1/3", "reset-stream:1/4"];
    let behaviour = with(|p| p.faults = faults.map(|text| text.parse().expect(text)).to_vec());
    let mut wire = Wire::opening(65_535);
    (0..12).for_each(|k| wire.get(2 * k + 1, "/"));
    let server = run_wire(behaviour, vec![(2, wire.take())]);
    let texts = texts(&server);
    let count = |ending: &str| texts.iter().filter(|text| text.ends_with(ending)).count();
    assert_eq!((count(" reset 7"), count(" reset 2"), count(" end")), (4, 2, 6), "{texts:?}");
    let requests = server.shared.stats().requests;
    assert_eq!((requests.received, requests.answered, requests.reset_streams), (8, 6, 2));
    assert_eq!((requests.refused, requests.refused_by_fault, requests.owed()), (4, 4, 0));
}

#[test]
fn faults_of_connections_end_all_their_streams() {
    let check = |kind: &str, texts_after: &[&str], end: Option<Close>| {
        let mut wire = Wire::opening(65_535);
        wire.get(1, "/?delay=1us");
        wire.get(3, &format!("/?fault={kind}"));
        let server = run_wire(Behaviour::default(), vec![(2, wire.take())]);
        check_frames(&server, texts_after);
        let last = server.backend.done.last().map(|(_, _, done)| done.clone());
        match end {
            Some(how) => assert_eq!(last, Some(Done::Closed(how)), "{kind}"),
            None => assert!(matches!(last, Some(Done::Sent(_))), "{kind}"),
        }
        let stats = server.shared.stats();
        let kind: FaultKind = kind.parse().expect("a kind");
        let count = injected(&stats)[kind as usize];
        assert_eq!(
            (count, stats.requests.received, stats.requests.abandoned),
            (1, 2, 1),
            "{kind:?}"
        );
        assert_eq!(stats.requests.owed(), 0);
    };
    check("reset", &[], Some(Close::Reset));
    check("close", &[], Some(Close::Graceful));
    check("partial", &["3 200", "3 data 7"], Some(Close::Graceful));
}

#[test]
fn a_black_hole_swallows_the_streams_of_its_connection() {
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    let first = wire.take();
    wire.get(3, "/?fault=blackhole");
    wire.get(5, "/");
    push_ping(&mut wire.bytes, [7; 8], false);
    let arrivals = vec![(2, first), (3, wire.take()), (9, FakeEvent::Closed)];
    let server = run_wire(Behaviour::default(), arrivals);
    check_frames(&server, &["1 200", "1 data 14 end"]);
    let requests = server.shared.stats().requests;
    assert_eq!(
        (requests.received, requests.blackholed, requests.abandoned, requests.owed()),
        (3, 1, 1, 0)
    );
    assert_eq!(server.backend.done.last().map(|done| done.0), Some(Nanos(9)));
}

#[test]
fn garbage_follows_the_response() {
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/?fault=garbage");
    let server = run_wire(Behaviour::default(), vec![(2, wire.take())]);
    let bytes: Vec<u8> =
        server.backend.bytes.iter().flat_map(|(.., bytes)| bytes.clone()).collect();
    assert!(bytes.ends_with(b"xx\0garbage\r\n\xff\xfe\xfd\xfc\r\n"));
    let requests = server.shared.stats().requests;
    assert_eq!((requests.received, requests.answered, requests.garbage), (1, 1, 1));
}

#[test]
fn bodies_wait_for_the_windows_of_the_client() {
    let mut wire = Wire::opening(10);
    wire.get(1, "/?size=25");
    wire.get(3, "/?size=25");
    let first = wire.take();
    push_window_update(&mut wire.bytes, 1, 8);
    let second = wire.take();
    push_window_update(&mut wire.bytes, 1, 100);
    push_reset(&mut wire.bytes, 3, ErrorCode::CANCEL);
    let arrivals = vec![(2, first), (3, second), (4, wire.take())];
    let server = run_wire(Behaviour::default(), arrivals);
    let expected = ["1 200", "3 200", "1 data 10", "3 data 10", "1 data 8", "1 data 7 end"];
    check_frames(&server, &expected);
    let requests = server.shared.stats().requests;
    assert_eq!(
        (requests.received, requests.answered, requests.abandoned, requests.owed()),
        (2, 1, 1, 0)
    );
}

#[test]
fn large_bodies_share_the_window_of_the_connection() {
    let mut wire = Wire::opening(1 << 20);
    wire.get(1, "/?size=200k");
    wire.get(3, "/?size=200k");
    let first = wire.take();
    push_window_update(&mut wire.bytes, 0, 1 << 20);
    let server = run_wire(Behaviour::default(), vec![(2, first), (3, wire.take())]);
    let sum = |at: u64, stream: &str| -> usize {
        let frames = frames(&server, 0).into_iter().filter(|frame| frame.at <= at);
        let data = frames.filter_map(|frame| {
            let bytes = frame.text.strip_prefix(&format!("{stream} data "))?.to_owned();
            bytes.trim_end_matches(" end").parse::<usize>().ok()
        });
        data.sum()
    };
    let one = sum(2, "1");
    let three = sum(2, "3");
    assert_eq!(one + three, 65_535);
    assert!(one.abs_diff(three) <= 16_384, "{one} and {three}");
    assert_eq!((sum(3, "1"), sum(3, "3")), (204_800, 204_800));
    assert_eq!(server.shared.stats().requests.answered, 2);
}

#[test]
fn uploads_get_their_windows_back() {
    let http2 = Http2Options { window_bytes: 1000, ..Http2Options::default() };
    let behaviour = with(|p| p.http2 = http2);
    let mut wire = Wire::opening(65_535);
    wire.request(1, "POST", "/", false);
    (0..80).for_each(|_| push_data(&mut wire.bytes, 1, &[0; 500], false));
    push_data(&mut wire.bytes, 1, &[0; 500], true);
    let server = run_wire(behaviour, vec![(2, wire.take())]);
    let texts = texts(&server);
    let count = |text: &str| texts.iter().filter(|other| *other == text).count();
    assert_eq!((count("1 window 500"), count("0 window 33000")), (80, 1), "{texts:?}");
    assert_eq!((texts[0].as_str(), count("1 data 14 end")), ("settings", 1));
    assert_eq!(server.shared.stats().requests.received, 1);
}

#[test]
fn continue_is_sent_while_the_body_is_missing() {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "a"),
        ("expect", "100-continue"),
    ];
    let mut wire = Wire::opening(65_535);
    wire.head(1, &fields, false);
    wire.head(3, &fields, false);
    push_data(&mut wire.bytes, 3, b"x", true);
    let first = wire.take();
    push_data(&mut wire.bytes, 1, b"x", true);
    let server = run_wire(Behaviour::default(), vec![(2, first), (3, wire.take())]);
    check_frames(&server, &["1 100", "3 200", "3 data 14 end", "1 200", "1 data 14 end"]);
}

#[test]
fn delayed_settings_delay_all_frames() {
    let settings_delay = Duration::from_nanos(500);
    let http2 = Http2Options { settings_delay, ..Http2Options::default() };
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    wire.get(3, "/?delay=1us");
    push_ping(&mut wire.bytes, [0; 8], false);
    let server = run_wire(with(|p| p.http2 = http2), vec![(1000, wire.take())]);
    let seen: Vec<_> = frames(&server, 0).into_iter().map(|frame| (frame.at, frame.text)).collect();
    let at = |at: u64, text: &str| (at, text.to_owned());
    let expected = [
        at(1500, OPENING[0]),
        at(1500, OPENING[1]),
        at(1500, "ping"),
        at(1500, "1 200"),
        at(1500, "1 data 14 end"),
        at(2000, "3 200"),
        at(2000, "3 data 14 end"),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn a_dripped_body_leaves_in_frames() {
    let mut wire = Wire::opening(65_535);
    [1, 3].into_iter().for_each(|stream| wire.get(stream, "/"));
    let behaviour = with(|p| p.drip = "3@100ns".parse().ok());
    let server = run_wire(behaviour, vec![(1000, wire.take())]);
    let frames = frames(&server, 0).into_iter().filter(|frame| frame.text.starts_with("3 data"));
    let seen: Vec<_> = frames.map(|frame| (frame.at, frame.text)).collect();
    let expected = [(1000, "3 data 4"), (1100, "3 data 5"), (1200, "3 data 5 end")];
    assert_eq!(seen, expected.map(|(at, text)| (at, text.to_owned())));
    assert_eq!(server.shared.stats().requests.answered, 2);
}

#[test]
fn fifo_serves_streams_one_after_another() {
    let behaviour = with(|p| {
        p.mode = Mode::Fifo;
        p.delay = Delay::Fixed(Duration::from_nanos(100));
    });
    let mut wire = Wire::opening(65_535);
    [1, 3, 5].into_iter().for_each(|stream| wire.get(stream, "/"));
    let server = run_wire(behaviour, vec![(1000, wire.take())]);
    let frames = frames(&server, 0).into_iter().filter(|frame| frame.text.ends_with("end"));
    let at: Vec<u64> = frames.map(|frame| frame.at).collect();
    assert_eq!(at, [1100, 1200, 1300]);
}

#[test]
fn idle_connections_are_reported_before_they_are_closed() {
    let behaviour = with(|p| p.idle_timeout = Some(Duration::from_nanos(1000)));
    let mut wire = Wire::opening(65_535);
    wire.get(1, "/");
    let server = run_wire(behaviour, vec![(500, wire.take())]);
    check_frames(&server, &["1 200", "1 data 14 end", "goaway 1 0"]);
    let closed = server.backend.done.last().map(|(at, _, done)| (at.0, done.clone()));
    assert_eq!(closed, Some((1500, Done::Closed(Close::Graceful))));
}

#[test]
fn invalid_frames_end_their_connection_only() {
    let mut wire = Wire::opening(65_535);
    push_frame(&mut wire.bytes, FrameKind::SETTINGS, 0, 0, b"x");
    let bad = wire.take();
    let mut good = Wire::opening(65_535);
    good.get(1, "/");
    let server = run(Behaviour::default(), |fake| {
        for conn in 0..2 {
            fake.will(1, conn, FakeEvent::Accepted);
        }
        fake.will(2, 0, bad);
        fake.will(3, 1, good.take());
    });
    let ended: Vec<_> = server
        .backend
        .done
        .iter()
        .filter(|(_, _, done)| *done == Done::Closed(Close::Graceful))
        .collect();
    assert_eq!(ended.len(), 1);
    assert!(texts(&server).contains(&"goaway 0 6".to_owned()));
    assert_eq!(
        frames(&server, 1).last().map(|frame| frame.text.clone()),
        Some("1 data 14 end".into())
    );
    let requests = server.shared.stats().requests;
    assert_eq!((requests.bad, requests.answered), (1, 1));
}

#[test]
fn arrivals_of_streams_are_kept_with_the_time_of_their_last_byte() {
    let behaviour = with(|p| {
        p.arrivals_max = 10;
        p.faults = vec!["refuse-stream:1/3".parse().expect("valid")];
    });
    let mut wire = Wire::opening(10);
    wire.get(1, "/?size=20&delay=5ns");
    wire.get(3, "/?size=5");
    wire.get(5, "/");
    let first = wire.take();
    push_window_update(&mut wire.bytes, 1, 10);
    let mut server = run_wire(behaviour, vec![(100, first), (900, wire.take())]);
    server.responder.accounts.hand_over_arrivals();
    let mut stats = server.shared.stats();
    server.shared.move_arrivals(&mut stats);
    let seen: Vec<_> =
        stats.arrivals[0].iter().map(|a| (a.request, a.received_ns, a.sent_ns)).collect();
    assert_eq!(seen, [(0, 100, Some(900)), (1, 100, Some(100))]);
}
