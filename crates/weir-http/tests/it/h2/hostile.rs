//! Peers that mean harm: floods, header bombs, windows that never open, and random frames. Nothing
//! panics or runs without end, and memory stays within the limits stated.

use std::sync::Arc;

use proptest::prelude::*;
use weir_http::h2::frame::{self, FrameKind, flags};
use weir_http::h2::server::H2Server;
use weir_http::h2::{H2Client, H2Options};
use weir_http::{
    BodyBudget, Interest, MessageFormat, MessageFraming, MessageKind, MessageReader,
    MessageReading, Multiplexed, ProtocolError, Request, RequestId, StreamEvent, StreamEventKind,
};

use super::raw::{Raw, get, post, request};

/// Frames of a flood: far more than any limit on them.
const FLOOD_FRAMES: usize = 100_000;

/// Most memory that a server may cause a client to hold, in bytes (decision 0036).
const HELD_BYTES_MAX: usize = 1 << 20;

/// Most bytes that a flood may leave in the output: an acknowledgement of 17 bytes for each frame
/// that is allowed.
const OUTPUT_BYTES_MAX: usize = 17 * 10_001 + 100;

fn opened(requests: &[Arc<Request>]) -> H2Client {
    let mut client = H2Client::new(100, &H2Options::default());
    client.open(0);
    let mut raw = Raw::new();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[]);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid settings");
    requests.iter().for_each(|request| {
        client.request(request, 0);
    });
    client.poll_transmit(&mut Vec::new());
    client
}

/// Sends a client the same frames again and again, and returns the error that ends it.
fn flood(build: impl Fn(&mut Raw, usize)) -> ProtocolError {
    let mut client = opened(&[get(), get()]);
    let mut raw = Raw::new();
    for nth in 0..FLOOD_FRAMES {
        raw.bytes.clear();
        build(&mut raw, nth);
        let received = client.receive(&raw.bytes, 0, &mut Vec::new());
        assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
        if let Err(error) = received {
            let mut out = Vec::new();
            client.poll_transmit(&mut out);
            assert!(out.len() <= OUTPUT_BYTES_MAX, "{}", out.len());
            return error;
        }
    }
    panic!("the flood has no end");
}

#[test]
fn floods_end_the_connection() {
    let check = |build: &dyn Fn(&mut Raw, usize)| {
        assert_eq!(flood(build), ProtocolError::TooManyFrames);
    };
    check(&|raw, _| raw.frame(FrameKind::PING, 0, 0, &[0; 8]));
    check(&|raw, _| raw.frame(FrameKind::PING, flags::ACK, 0, &[0; 8]));
    check(&|raw, _| raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]));
    check(&|raw, _| raw.frame(FrameKind::SETTINGS, flags::ACK, 0, &[]));
    check(&|raw, _| raw.frame(FrameKind::PRIORITY, 0, 1, &[0; 5]));
    check(&|raw, _| raw.frame(FrameKind(99), 0, 0, b"unknown"));
    check(&|raw, _| raw.frame(FrameKind::GOAWAY, 0, 0, &[0x7f; 8]));
    check(&|raw, _| raw.headers(1, &[(":status", "100")], false));
    check(&|raw, nth| match nth {
        0 => raw.headers(1, &[(":status", "200")], false),
        _ => raw.data(1, b"", false),
    });
    check(&|raw, nth| match nth {
        0 => raw.headers(1, &[(":status", "200")], true),
        _ => raw.frame(FrameKind::RST_STREAM, 0, 1, &[0; 4]),
    });
    check(&|raw, nth| match nth {
        0 => raw.headers(1, &[(":status", "200")], true),
        _ => raw.window_update(1, 1),
    });
    check(&|raw, nth| match nth {
        0 => raw.headers(1, &[("malformed", "200")], false),
        _ => raw.headers(1, &[(":status", "200")], false),
    });
    // A padded frame of padding only.
    check(&|raw, nth| match nth {
        0 => raw.headers(1, &[(":status", "200")], false),
        _ => raw.frame(FrameKind::DATA, flags::PADDED, 1, b"\x02\0\0"),
    });
}

/// Frames with content are no flood, however many.
#[test]
fn many_small_frames_with_content() {
    let mut client = opened(&[get()]);
    let mut raw = Raw::new();
    raw.headers(1, &[(":status", "200")], false);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("a valid head");
    raw.bytes.clear();
    (0..100).for_each(|_| raw.data(1, b"x", false));
    raw.frame(FrameKind::PING, 0, 0, &[0; 8]);
    for _ in 0..FLOOD_FRAMES / 5 {
        client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid data");
        client.poll_transmit(&mut Vec::new());
    }
}

/// Returns a client that splits the responses to this many requests into messages, whose heads it
/// has.
fn splitting(framing: MessageFraming, requests: u32) -> H2Client {
    let mut client = opened(&[]);
    client.set_interest(Interest::Head, &BodyBudget::default());
    let reader = Some(MessageReader::new(|content| {
        let is_counted = content.data.len() > 1_000;
        MessageReading::of_kind(if is_counted { content.kind } else { MessageKind::Other })
    }));
    client.set_messages(&MessageFormat { framing, reader });
    let mut raw = Raw::new();
    for nth in 0..requests {
        client.request(&get(), 0);
        raw.headers(1 + 2 * nth, &[(":status", "200")], false);
    }
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid heads");
    client
}

/// A server may send as many messages as it likes. Memory does not grow with their number.
#[test]
fn endless_messages_hold_no_memory() {
    let check = |framing, message: &[u8]| {
        let mut client = splitting(framing, 1);
        let mut raw = Raw::new();
        raw.data(1, &message.repeat(1_000), false);
        for _ in 0..FLOOD_FRAMES / 1_000 {
            client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid messages");
            assert_eq!(client.messages().len(), 1_000);
            assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
            client.poll_transmit(&mut Vec::new());
        }
    };
    check(MessageFraming::EventStream, b"data:\n\n");
    check(MessageFraming::Grpc, &[0; 5]);
}

/// Messages that never end, on all streams at once: each keeps what a test may see of it.
#[test]
fn messages_without_end_are_kept_in_part() {
    const STREAMS: u32 = 100;
    const LEAST: usize = STREAMS as usize * 64 * 1024;
    let check = |framing, begin: &[u8]| {
        let mut client = splitting(framing, STREAMS);
        let mut raw = Raw::new();
        (0..STREAMS).for_each(|nth| raw.data(1 + 2 * nth, begin, false));
        client.receive(&raw.bytes, 0, &mut Vec::new()).expect("a valid begin");
        raw.bytes.clear();
        (0..STREAMS).for_each(|nth| raw.data(1 + 2 * nth, &[b'x'; 10_000], false));
        for _ in 0..20 {
            client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid data");
            client.poll_transmit(&mut Vec::new());
        }
        assert_eq!(client.messages(), []);
        let held = client.held_bytes();
        assert!((LEAST..=2 * LEAST + HELD_BYTES_MAX).contains(&held), "{held}");
    };
    check(MessageFraming::EventStream, b"data: ");
    // A length of 4 GiB.
    check(MessageFraming::Grpc, &[0, 0xff, 0xff, 0xff, 0xff]);
    // Not kept: the flag is none of gRPC, or the line is a comment.
    let mut client = splitting(MessageFraming::Grpc, 1);
    let mut raw = Raw::new();
    raw.data(1, &[9; 10_000], false);
    (0..20).for_each(|_| client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid data"));
    assert!(client.held_bytes() <= 64 * 1024, "{}", client.held_bytes());
}

#[test]
fn header_bombs() {
    // One field of 4,000 bytes enters the table, and 60,000 indexes repeat it: 240 MB.
    let bomb = |raw: &mut Raw| {
        let mut block = raw.block(&[("x", &"y".repeat(2_500))]);
        block.extend([0xbe; 60_000]);
        let (first, rest) = block.split_at(16_000);
        raw.frame(FrameKind::HEADERS, 0, 1, first);
        let mut parts = rest.chunks(16_000).peekable();
        while let Some(part) = parts.next() {
            let flag = if parts.peek().is_none() { flags::END_HEADERS } else { 0 };
            raw.frame(FrameKind::CONTINUATION, flag, 1, part);
        }
    };
    let mut client = opened(&[get(), get()]);
    let mut raw = Raw::new();
    bomb(&mut raw);
    // Its stream fails, and the table is right for the next one.
    raw.frame(FrameKind::HEADERS, flags::END_HEADERS | flags::END_STREAM, 3, b"\x88\xbe");
    let mut events = Vec::new();
    assert_eq!(client.receive(&raw.bytes, 0, &mut events), Ok(()));
    let kinds: Vec<_> = events.iter().map(|event| event.kind).collect();
    let failed = StreamEventKind::Failed(ProtocolError::HeadTooLarge);
    assert_eq!(kinds, [failed, StreamEventKind::Response { status: 200 }]);
    assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
}

/// Everything that is held, at once: a full table, the longest strings, the longest block, and
/// acknowledgements that are not taken.
#[test]
fn the_most_that_is_held() {
    let mut client = opened(&[get(), get()]);
    let mut raw = Raw::new();
    // Codes of five bits make strings that are longer than their bytes.
    raw.block(&[("a", &"a".repeat(4_000))]);
    let block = raw.block(&[(&"a".repeat(60_000), &"e".repeat(40_000))]);
    assert!(block.len() > 60_000 && block.len() < 65_000, "{}", block.len());
    frame::push_headers(&mut raw.bytes, 1, &block, true, 16_384);
    (0..9_000).for_each(|_| raw.frame(FrameKind::PING, 0, 0, &[0; 8]));
    raw.frame(FrameKind::HEADERS, 0, 3, &block[..16_000]);
    for part in block[16_000..].chunks(16_000) {
        raw.frame(FrameKind::CONTINUATION, 0, 3, part);
    }
    let mut events = Vec::new();
    client.receive(&raw.bytes, 0, &mut events).expect("the last block is incomplete");
    assert!((300_000..=HELD_BYTES_MAX).contains(&client.held_bytes()), "{}", client.held_bytes());
}

#[test]
fn endless_header_blocks() {
    let continued = |part: &'static [u8]| {
        flood(move |raw, nth| match nth {
            0 => raw.frame(FrameKind::HEADERS, 0, 1, part),
            _ => raw.frame(FrameKind::CONTINUATION, 0, 1, part),
        })
    };
    assert_eq!(continued(b""), ProtocolError::TooManyFrames);
    assert_eq!(continued(b"\x88"), ProtocolError::TooManyFrames);
    assert_eq!(continued(&[0x88; 1_000]), ProtocolError::HeadTooLarge);
}

#[test]
fn a_window_that_never_opens() {
    let mut client = opened(&[]);
    let mut raw = Raw::new();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid settings");
    (0..100).for_each(|_| {
        client.request(&post(1_000_000), 0);
    });
    let mut out = Vec::new();
    (0..1_000).for_each(|_| client.poll_transmit(&mut out));
    assert!(out.len() < 100 * 100, "heads only: {}", out.len());
    assert_eq!(client.window_waits(1_000).waits, 100);
    // All are overdue, and the connection is given up.
    (0..100).for_each(|id| client.cancel(RequestId(id), 1_000_000_000));
    assert!(client.is_retiring());
    client.poll_transmit(&mut out);
    // One second for each of them.
    assert_eq!(client.window_waits(2_000_000_000).waited_ns, 100_000_000_000);
}

/// The window opens by one byte at a time: many frames, but each has content.
#[test]
fn a_window_that_opens_by_bytes() {
    let mut client = opened(&[]);
    let mut raw = Raw::new();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
    client.receive(&raw.bytes, 0, &mut Vec::new()).expect("valid settings");
    client.request(&post(20_000), 0);
    client.poll_transmit(&mut Vec::new());
    let mut sent_bytes = 0;
    for _ in 0..20_000 {
        raw.bytes.clear();
        raw.window_update(1, 1);
        client.receive(&raw.bytes, 0, &mut Vec::new()).expect("a valid update");
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        sent_bytes += out.len() - 9;
    }
    assert_eq!(sent_bytes, 20_000);
}

#[test]
fn resets_by_the_client_are_bounded() {
    let mut server = H2Server::new(&H2Options::server());
    let mut raw = Raw::client();
    let fields = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    for stream in (1..4_001).step_by(2) {
        raw.headers(stream, &fields, true);
        raw.frame(FrameKind::RST_STREAM, 0, stream, &[0; 4]);
    }
    server.receive(&raw.bytes, |_| {}).expect("valid frames");
    assert_eq!(server.open_streams(), 0);
}

/// A frame that may be valid, and may be anything.
#[derive(Clone, Debug)]
enum Step {
    Headers { stream: u32, fields: Vec<(&'static str, &'static str)>, is_end: bool },
    Frame { kind: u8, flags: u8, stream: u32, payload: Vec<u8> },
    Bytes(Vec<u8>),
    Request(usize),
    Cancel(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let field = prop::sample::select(vec![
        (":status", "200"),
        (":status", "100"),
        (":status", "204"),
        ("content-length", "3"),
        (":path", "/"),
        (":method", "GET"),
        (":scheme", "http"),
        ("x", "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"),
    ]);
    let stream = || prop::sample::select(vec![0u32, 1, 1, 2, 3, 3, 5, 7, 9, 0x7fff_ffff]);
    let headers = (stream(), prop::collection::vec(field, 0..4), any::<bool>());
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        prop::sample::select(vec![
            vec![0; 4],
            vec![0, 0, 0, 9],
            vec![0; 8],
            vec![0, 4, 0, 0, 0, 9]
        ]),
    ];
    let frame = (0..11u8, prop::sample::select(vec![0u8, 1, 4, 5, 8, 0x20]), stream(), payload);
    prop_oneof![
        5 => headers.prop_map(|(stream, fields, is_end)| Step::Headers { stream, fields, is_end }),
        5 => frame.prop_map(|(kind, flags, stream, payload)| {
            Step::Frame { kind, flags, stream, payload }
        }),
        1 => prop::collection::vec(any::<u8>(), 0..30).prop_map(Step::Bytes),
        3 => prop_oneof![Just(0usize), 1..100_000usize].prop_map(Step::Request),
        1 => (0..4u16).prop_map(Step::Cancel),
    ]
}

/// Appends the bytes of a step, if it has any.
fn push(raw: &mut Raw, step: &Step) {
    match step {
        Step::Headers { stream, fields, is_end } => raw.headers(*stream, fields, *is_end),
        Step::Frame { kind, flags, stream, payload } => {
            raw.frame(FrameKind(*kind), *flags, *stream, payload);
        }
        Step::Bytes(bytes) => raw.bytes.extend(bytes),
        Step::Request(_) | Step::Cancel(_) => {}
    }
}

/// State that must not depend on the pieces, and what was sent.
type Seen = (Vec<StreamEvent>, Option<ProtocolError>, u32, bool, Vec<u8>);

/// Runs a client through the steps. Each request ends once at most, and ids are below the limit.
fn drive(steps: &[Step], piece_bytes: usize) -> Seen {
    let mut client = H2Client::new(4, &H2Options::default());
    client.open(0);
    let mut raw = Raw::new();
    let mut events = Vec::new();
    let mut out = Vec::new();
    raw.frame(FrameKind::SETTINGS, 0, 0, &[]);
    let mut is_live = [false; 4];
    let mut error = None;
    let mut all = Vec::new();
    for step in steps {
        push(&mut raw, step);
        for piece in raw.bytes.chunks(piece_bytes) {
            error = client.receive(piece, 0, &mut events).err().or(error);
        }
        raw.bytes.clear();
        for event in events.drain(..) {
            assert!(is_live[usize::from(event.id.0)], "{event:?}");
            is_live[usize::from(event.id.0)] = !event.kind.is_last();
            all.push(event);
        }
        match step {
            Step::Request(body_bytes) if client.capacity() > 0 => {
                let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
                let request = if *body_bytes == 1 { request(head) } else { post(*body_bytes) };
                let RequestId(id) = client.request(&request, 0);
                assert!(!std::mem::replace(&mut is_live[usize::from(id)], true));
            }
            Step::Cancel(id) if std::mem::take(&mut is_live[usize::from(*id)]) => {
                client.cancel(RequestId(*id), 0);
            }
            _ => {}
        }
        assert!(client.held_bytes() <= HELD_BYTES_MAX, "{}", client.held_bytes());
        client.poll_transmit(&mut out);
    }
    (all, error, client.capacity(), client.is_mid_response(), out)
}

proptest! {
    #[test]
    fn any_server(steps in prop::collection::vec(step(), 1..40)) {
        let whole = drive(&steps, usize::MAX);
        for piece_bytes in [1, 5, 9, 13] {
            let (events, error, capacity, is_mid, _) = drive(&steps, piece_bytes);
            let expected = (&whole.0, whole.1, whole.2, whole.3);
            prop_assert_eq!((&events, error, capacity, is_mid), expected);
        }
    }

    #[test]
    fn any_client(steps in prop::collection::vec(step(), 1..40), piece_bytes in 1..50usize) {
        let mut server = H2Server::new(&H2Options::server());
        let mut raw = Raw::client();
        for step in &steps {
            push(&mut raw, step);
            let mut pieces = raw.bytes.chunks(piece_bytes);
            let _ = pieces.try_for_each(|piece| server.receive(piece, |_| {}));
            raw.bytes.clear();
            for stream in [1, 3] {
                server.respond(stream, 200, &[], false);
                server.send_data(stream, &[0; 1_000], stream == 1);
            }
            server.poll_transmit(&mut raw.bytes);
            raw.bytes.clear();
            prop_assert!(server.open_streams() <= 100);
        }
    }
}
