//! Responses that are stored: the fields and bodies of several streams at once.

use weir_http::h2::frame::{FrameKind, Settings, push_settings};
use weir_http::h2::{H2Client, H2Options};
use weir_http::{
    BodyBudget, Interest, MessageFormat, MessageFraming, MessageKind, Multiplexed, RequestId,
    StreamEvent, StreamEventKind, StreamMessage,
};

use super::raw::{PIECES, Raw, get};

/// Returns an open client with four GETs in flight, on streams 1 to 7.
fn opened(interest: Interest, budget: &BodyBudget) -> H2Client {
    let mut client = H2Client::new(10, &H2Options::default());
    client.set_interest(interest, budget);
    client.open(0);
    let mut bytes = Vec::new();
    push_settings(&mut bytes, &Settings::default(), &Settings::default());
    client.receive(&bytes, 0, &mut Vec::new()).expect("valid settings");
    (0..4).for_each(|_| {
        client.request(&get(), 0);
    });
    client
}

/// A stored response: its id, fields as text, body, and true if the body was cut.
type Kept = (u16, String, Vec<u8>, bool);

/// Receives bytes in pieces, and returns the responses as they are stored.
fn kept(client: &mut H2Client, bytes: &[u8], piece_bytes: usize) -> Vec<Kept> {
    let mut events = Vec::<StreamEvent>::new();
    let mut all = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        events.clear();
        client.receive(piece, 0, &mut events).expect("valid frames");
        let is_response =
            |event: &&StreamEvent| matches!(event.kind, StreamEventKind::Response { .. });
        for (nth, event) in events.iter().filter(is_response).enumerate() {
            let response = client.response(nth);
            let line = |(name, value): (&[u8], &[u8])| {
                format!("{}={};", name.escape_ascii(), value.escape_ascii())
            };
            let fields = response.fields().map(line).collect();
            let RequestId(id) = event.id;
            all.push((id, fields, response.body.to_vec(), response.is_cut));
        }
    }
    all
}

/// Interleaved: a response with trailers, one that fails, one without a body after an interim one,
/// and one with strange names.
fn conversation() -> Vec<u8> {
    let mut raw = Raw::new();
    raw.headers(1, &[(":status", "200"), ("x-a", "b"), ("x-a", " c ")], false);
    raw.headers(3, &[(":status", "200"), ("lost", "1")], false);
    raw.data(1, b"one", false);
    raw.data(3, b"lost", false);
    raw.headers(5, &[(":status", "103"), ("link", "early")], false);
    raw.frame(FrameKind::RST_STREAM, 0, 3, &[0; 4]);
    raw.headers(5, &[(":status", "204"), ("y", "")], true);
    raw.headers(7, &[(":status", "200"), ("a(b\"", "c:d")], false);
    raw.data(1, b" two", false);
    raw.data(7, b"seven", true);
    raw.headers(1, &[("trailer", "t")], true);
    raw.bytes
}

#[test]
fn fields_and_bodies_of_streams() {
    let bytes = conversation();
    let expected = |has_bodies: bool| {
        let body = |body: &[u8]| if has_bodies { body.to_vec() } else { Vec::new() };
        vec![
            (2, "y=;".to_owned(), Vec::new(), false),
            (3, "a(b\\\"=c:d;".to_owned(), body(b"seven"), false),
            (0, "x-a=b;x-a=c;trailer=t;".to_owned(), body(b"one two"), false),
        ]
    };
    for piece_bytes in PIECES {
        for (interest, has_bodies) in [(Interest::Head, false), (Interest::Body, true)] {
            let budget = BodyBudget::default();
            let mut client = opened(interest, &budget);
            let kept = kept(&mut client, &bytes, piece_bytes);
            assert_eq!(kept, expected(has_bodies), "pieces of {piece_bytes}");
            client.forget_responses();
            drop(client);
            assert_eq!(budget.held(), 0);
        }
    }
}

/// Messages of gRPC on two streams at once, the first of which ends within one; and the fields of
/// its trailers, or of a head alone.
#[test]
fn messages_of_streams() {
    let format = MessageFormat { framing: MessageFraming::Grpc, reader: None };
    let mut raw = Raw::new();
    raw.headers(1, &[(":status", "200")], false);
    raw.headers(3, &[(":status", "200")], false);
    raw.data(1, b"\0\0\0\0\x02ab\0\0", false);
    raw.data(3, b"\0\0\0\0\0\x01\0\0\0\x03a", false);
    raw.headers(1, &[("grpc-status", "0")], true);
    raw.data(3, b"bc", false);
    raw.frame(FrameKind::RST_STREAM, 0, 3, &[0, 0, 0, 2]);
    raw.headers(5, &[(":status", "200"), ("grpc-status", "14")], true);
    let message = |id, bytes| (id, bytes, MessageKind::Counted);
    for piece_bytes in PIECES {
        let mut client = opened(Interest::Head, &BodyBudget::default());
        client.set_messages(&format);
        let mut messages = Vec::new();
        let mut fields = Vec::new();
        for piece in raw.bytes.chunks(piece_bytes) {
            let mut events = Vec::new();
            client.receive(piece, 0, &mut events).expect("valid frames");
            for StreamMessage { id: RequestId(id), message: it } in client.messages() {
                messages.push((*id, it.bytes, it.kind));
            }
            for StreamEvent { kind, .. } in events {
                if let StreamEventKind::Response { .. } = kind {
                    fields.extend(client.response(0).fields().map(|(_, value)| value.to_vec()));
                }
            }
            client.forget_responses();
        }
        assert_eq!(messages, [message(0, 2), message(1, 0), message(1, 3)]);
        if piece_bytes == 1 {
            assert_eq!(fields, [b"0".to_vec(), b"14".to_vec()]);
        }
    }
}

/// Equal heads have equal fields, though they are not decoded again without an interest.
#[test]
fn equal_heads_are_stored_each() {
    let mut raw = Raw::new();
    for stream in [1, 3, 5, 7] {
        raw.headers(stream, &[(":status", "200"), ("server", "a")], true);
    }
    let mut client = opened(Interest::Head, &BodyBudget::default());
    let kept = kept(&mut client, &raw.bytes, usize::MAX);
    assert_eq!(kept.len(), 4);
    assert!(kept.iter().all(|(_, fields, ..)| fields == "server=a;"), "{kept:?}");
}

#[test]
fn bodies_are_cut_within_their_budget() {
    let budget = BodyBudget::new(2_000);
    let mut client = opened(Interest::Body, &budget);
    let mut raw = Raw::new();
    for stream in [1, 3] {
        raw.headers(stream, &[(":status", "200")], false);
        raw.data(stream, &[b'x'; 1_500], false);
    }
    [1, 3].iter().for_each(|stream| raw.data(*stream, b"", true));
    let kept = kept(&mut client, &raw.bytes, usize::MAX);
    let sizes = kept.iter().map(|(id, _, body, is_cut)| (*id, body.len(), *is_cut));
    let bodies: Vec<_> = sizes.collect();
    // A piece that does not fit is left out whole.
    assert_eq!(bodies, [(0, 1_500, false), (1, 0, true)]);
    assert!(budget.held() <= 2_000);
}
