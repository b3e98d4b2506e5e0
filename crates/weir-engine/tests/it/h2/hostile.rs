//! Servers that break HTTP/2 or abuse it, without end: every run ends at its time, and every
//! request is accounted for. Bounds of memory are tested in weir-http.

use weir_engine::{Job, MessageRules};
use weir_http::h2::frame::{self, FrameKind, PREFACE, Settings, flags};
use weir_http::h2::hpack::Encoder;
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_http::{MessageFormat, MessageFraming, Prepared};
use weir_io::Nanos;
use weir_sim::{Link, Service, ServiceFactory, World};

use crate::observers::PerTag;
use crate::setup::{MS, Run, US, job, open, run_job};

/// Time between two sends of an attack, in nanoseconds.
const PAUSE_NS: u64 = 100 * US;

/// Frames of one send.
const FRAMES: usize = 200;

/// Appends the nth send of an attack. The requests have streams 1, 3, 5, …
type Attack = fn(nth: usize, out: &mut Vec<u8>);

/// A server that sends its attack again and again, once the first request has arrived.
#[derive(Debug)]
struct Hostile {
    settings: Settings,
    attack: Attack,
    received: usize,
    sends: usize,
}

impl Service for Hostile {
    fn accepted(&mut self, link: &mut Link<'_>) {
        let mut out = Vec::new();
        frame::push_settings(&mut out, &self.settings, &Settings::default());
        link.send(&out);
    }

    fn received(&mut self, bytes: &[u8], _sent_at: Nanos, link: &mut Link<'_>) {
        // The preface, settings and a window come first.
        let is_opening = self.received < PREFACE.len() + 60;
        self.received += bytes.len();
        if is_opening && self.received >= PREFACE.len() + 60 {
            link.wake(PAUSE_NS, 0);
        }
    }

    fn woken(&mut self, _token: u64, link: &mut Link<'_>) {
        let mut out = Vec::new();
        (self.attack)(self.sends, &mut out);
        self.sends += 1;
        if !out.is_empty() {
            link.send(&out);
            link.wake(PAUSE_NS, 0);
        }
    }
}

/// Runs uploads against the attack.
fn attacked(settings: Settings, attack: Attack) -> Run {
    run_attacked(settings, attack, None)
}

/// Runs requests, whose responses are split into messages, against the attack.
fn streamed(framing: MessageFraming, attack: Attack) -> Run {
    let format = Some(MessageFormat { framing, reader: None });
    run_attacked(
        Settings::default(),
        attack,
        Some(MessageRules { format, ..MessageRules::default() }),
    )
}

/// Appends the nth part of a response without end to the first request of a connection.
fn push_part(nth: usize, out: &mut Vec<u8>, content: &[u8]) {
    if nth == 0 {
        frame::push_headers(out, 1, &block(&[(":status", "200")]), false, 16_384);
    }
    frame::push_data(out, 1, &content.repeat(FRAMES), false);
}

fn run_attacked(settings: Settings, attack: Attack, messages: Option<MessageRules>) -> Run {
    let service =
        ServiceFactory::new(move || Box::new(Hostile { settings, attack, received: 0, sends: 0 }));
    let plan = open(1_000, 1, 2).with_load(|load| {
        load.pipeline = 10;
        load.duration_ns = Some(200 * MS);
        load.timeout_ns = 30 * MS;
        load.connect_timeout_ns = 30 * MS;
    });
    let observed = PerTag::default();
    let request = Prepared::http1("POST", "/", "sim", &[], Some(&[b'x'; 200_000]));
    let mut job = Job {
        protocol: H2Client::factory(H2Options::default()),
        observers: vec![observed.factory()],
        ..job(&plan)
    };
    job.requests.request = request.expect("a plain request");
    job.responses.messages = messages;
    let world = World { service: Some(service), ..World::default() };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    observed.check(&run, "attacked");
    assert_eq!((run.measured.results.planned, run.measured.results.outcomes.ok), (200, 0));
    run
}

/// Checks that an attack ends connections with this error.
#[track_caller]
fn ends_with(error: &str, attack: Attack) {
    let run = attacked(Settings::default(), attack);
    let causes: Vec<String> =
        run.measured.results.errors.keys().map(weir_result::ErrorKind::name).collect();
    let expected = format!("protocol_{error}");
    assert!(causes.contains(&expected), "{causes:?} instead of {expected}");
    assert!(!run.measured.connections.failures.is_empty());
}

fn many(out: &mut Vec<u8>, push: impl Fn(&mut Vec<u8>)) {
    (0..FRAMES).for_each(|_| push(out));
}

fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut encoder = Encoder::new(0);
    let mut block = Vec::new();
    encoder.begin(&mut block);
    for (name, value) in fields {
        encoder.field(name.as_bytes(), value.as_bytes(), &mut block);
    }
    block
}

#[test]
fn floods() {
    let flood = "too_many_frames";
    ends_with(flood, |_, out| {
        many(out, |out| frame::push_frame(out, FrameKind::SETTINGS, 0, 0, &[]));
    });
    ends_with(flood, |_, out| many(out, |out| frame::push_ping(out, [1; 8], false)));
    ends_with(flood, |_, out| {
        many(out, |out| frame::push_frame(out, FrameKind::PRIORITY, 0, 1, &[0; 5]));
    });
    // Resets of streams that have ended.
    ends_with(flood, |_, out| many(out, |out| frame::push_reset(out, 1, ErrorCode::CANCEL)));
    let continued: Attack = |nth, out| match nth {
        0 => frame::push_frame(out, FrameKind::HEADERS, 0, 1, b"\x88"),
        _ => many(out, |out| frame::push_frame(out, FrameKind::CONTINUATION, 0, 1, b"")),
    };
    ends_with(flood, continued);
}

/// A field of 2,500 bytes that enters the table, and indexes that repeat it: 125 MB.
#[test]
fn header_bombs() {
    let run = attacked(Settings::default(), |nth, out| {
        let mut encoder = Encoder::new(4_096);
        let mut bomb = Vec::new();
        encoder.begin(&mut bomb);
        encoder.field(b"x", &[b'y'; 2_500], &mut bomb);
        bomb.extend([0xbe; 50_000]);
        frame::push_headers(out, 1 + 2 * nth as u32, &bomb, true, 16_384);
    });
    let names: Vec<String> =
        run.measured.results.errors.keys().map(weir_result::ErrorKind::name).collect();
    assert!(names.contains(&"protocol_head_too_large".to_owned()), "{names:?}");
}

#[test]
fn frames_out_of_place() {
    // DATA on a stream that was never opened, and HEADERS on a stream of the server.
    ends_with("bad_frame", |_, out| frame::push_data(out, 0x7fff_ffff, b"x", false));
    ends_with("bad_frame", |_, out| {
        frame::push_headers(out, 2, &block(&[(":status", "200")]), true, 16_384);
    });
    ends_with("bad_frame", |_, out| frame::push_frame(out, FrameKind::PUSH_PROMISE, 4, 1, &[0; 4]));
    ends_with("bad_frame", |_, out| frame::push_frame(out, FrameKind::CONTINUATION, 4, 1, &[]));
    ends_with("bad_frame", |_, out| frame::push_window_update(out, 0, 0));
    ends_with("flow_control", |_, out| {
        many(out, |out| frame::push_window_update(out, 0, (1 << 31) - 1));
    });
    ends_with("frame_too_large", |_, out| out.extend([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]));
    ends_with("bad_compression", |_, out| frame::push_headers(out, 1, &[0xff; 20], true, 16_384));
    // A response on a stream that the server has ended.
    ends_with("stream_closed", |_, out| {
        frame::push_reset(out, 1, ErrorCode::CANCEL);
        frame::push_headers(out, 1, &block(&[(":status", "200")]), true, 16_384);
    });
}

/// Streams fail one by one; their connections stay.
#[test]
fn resets_of_every_stream() {
    let run = attacked(Settings::default(), |nth, out| {
        // A request arrives every other millisecond.
        frame::push_reset(out, 1 + 2 * (nth / 25) as u32, ErrorCode::INTERNAL_ERROR);
    });
    assert!(
        run.measured.results.outcomes.transport_error > 100,
        "{:?}",
        run.measured.results.outcomes
    );
}

/// Each announcement has a greater last stream than the one before. Whatever it says later, what
/// was returned stays returned.
#[test]
fn announcements_that_contradict_earlier_ones() {
    let run = attacked(Settings::default(), |nth, out| {
        frame::push_goaway(out, 2 * nth as u32, ErrorCode::NO_ERROR);
    });
    let sent = run.measured.sent;
    assert!(sent.returned > 0 && sent.resent > 0, "{sent:?}");
    assert!(run.measured.connections.goaways["NO_ERROR"] > 1, "{:?}", run.measured.connections);
}

#[test]
fn limits_and_windows_of_zero() {
    let no_streams = Settings { max_concurrent_streams: Some(0), ..Settings::default() };
    let run = attacked(no_streams, |_, _| ());
    assert_eq!(run.measured.results.outcomes.never_sent, 200);
    assert_eq!(run.measured.connections.without_streams, 2, "of the two at the end");
    let no_window = Settings { initial_window_bytes: 0, ..Settings::default() };
    let run = attacked(no_window, |_, _| ());
    let outcomes = run.measured.results.outcomes;
    assert_eq!(outcomes.timed_out + outcomes.never_sent + outcomes.in_flight_at_end, 200);
    assert!(outcomes.timed_out > 100, "{outcomes:?}");
    // A window that opens by one byte at a time.
    let run = attacked(no_window, |_, out| {
        many(out, |out| frame::push_window_update(out, 1, 1));
    });
    assert!(run.measured.connections.window_waits > 100, "{:?}", run.measured.connections);
    assert_eq!(run.measured.results.outcomes.ok, 0);
}

/// A response without end keeps its request alive as long as messages come, and no other. After
/// some timeouts its connection takes no more requests, and waits for it; the run ends at its time.
#[test]
fn messages_for_ever() {
    let events =
        streamed(MessageFraming::EventStream, |nth, out| push_part(nth, out, b"data:\n\n"));
    let calls = streamed(MessageFraming::Grpc, |nth, out| push_part(nth, out, &[0; 5]));
    for run in [events, calls] {
        let outcomes = run.measured.results.outcomes;
        assert_eq!(outcomes.in_flight_at_end, 2, "one of each connection: {outcomes:?}");
        assert!(outcomes.timed_out >= 2 * 9, "{outcomes:?}");
        let messages = run.measured.messages.expect("they are measured");
        assert!(messages.measured > 100_000, "{messages:?}");
    }
}

/// Content without a message keeps no request alive, however much there is.
#[test]
fn a_message_without_end() {
    let events = streamed(MessageFraming::EventStream, |nth, out| push_part(nth, out, b"data: x"));
    // A length of 4 GiB, and flags that are none of gRPC.
    let calls = streamed(MessageFraming::Grpc, |nth, out| push_part(nth, out, &[0xff; 5]));
    let broken =
        streamed(MessageFraming::Grpc, |nth, out| push_part(nth, out, &[1, 0xff, 0, 0, 0]));
    for run in [events, calls, broken] {
        let outcomes = run.measured.results.outcomes;
        assert_eq!(outcomes.timed_out + outcomes.in_flight_at_end + outcomes.never_sent, 200);
        assert!(outcomes.timed_out > 100, "{outcomes:?}");
        assert_eq!(run.measured.messages.map(|messages| messages.measured), Some(0));
    }
}

/// Frames without content are a flood within a response too.
#[test]
fn parts_without_content() {
    ends_with("too_many_frames", |nth, out| {
        push_part(nth, out, b"x");
        many(out, |out| frame::push_data(out, 1, b"", false));
    });
}

/// Flags that a frame does not have are ignored, and so are frames of unknown types.
#[test]
fn frames_without_a_meaning() {
    let run = attacked(Settings::default(), |nth, out| {
        frame::push_frame(out, FrameKind(0xee), flags::ACK, 1, b"unknown");
        frame::push_frame(out, FrameKind::PING, 0xfe, 0, &[nth as u8; 8]);
    });
    assert!(run.measured.connections.failures.is_empty(), "{:?}", run.measured.connections);
}
