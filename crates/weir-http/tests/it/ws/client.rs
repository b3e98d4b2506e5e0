//! The client: the upgrade, messages and their echoes in order and by key, pushed messages, Pings,
//! and the closing handshake.

use std::sync::Arc;

use weir_http::ws::frame::{push_close, push_frame};
use weir_http::ws::{CloseCode, DeflateTerms, Opcode, WsClient, WsEvent, WsOptions, WsServer};
use weir_http::{
    BodyBudget, Interest, Multiplexed, ProtocolError, Request, RequestId, StreamEvent,
    StreamEventKind,
};

use crate::check::ws::{acceptance, acceptance_with, opened, options};

/// A request whose body is a message.
fn message(text: &str) -> Arc<Request> {
    let request = weir_http::Prepared::http1("GET", "/", "h", &[], Some(text.as_bytes()));
    Arc::new(request.expect("valid").request("ws"))
}

fn text(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_frame(&mut out, Opcode::TEXT, true, None, text.as_bytes());
    out
}

fn receive(client: &mut WsClient, bytes: &[u8], now_ns: u64) -> Vec<StreamEvent> {
    let mut events = Vec::new();
    client.receive(bytes, now_ns, &mut events).expect("valid frames");
    events
}

fn echo(id: u16) -> StreamEvent {
    StreamEvent { id: RequestId(id), kind: StreamEventKind::Response { status: 200 } }
}

/// Bytes of each message that the server pushed in the last call.
fn pushed(client: &WsClient) -> Vec<u64> {
    client.pushed().iter().map(|pushed| pushed.bytes).collect()
}

/// Returns the events of a server that gets the client's output.
fn at_server(server: &mut WsServer, client: &mut WsClient) -> Vec<String> {
    let mut out = Vec::new();
    let mut seen = Vec::new();
    client.poll_transmit(&mut out);
    let read = server.receive(&out, |event| {
        seen.push(match event {
            WsEvent::Message { opcode, content } => {
                format!("{} {}", opcode.0, String::from_utf8_lossy(content))
            }
            WsEvent::Ping(content) => format!("ping {}", content.escape_ascii()),
            WsEvent::Pong(content) => format!("pong {}", content.escape_ascii()),
            WsEvent::Close(code, reason) => format!("close {} {reason}", code.0).trim().to_owned(),
        });
    });
    read.expect("valid frames");
    seen
}

#[test]
fn the_upgrade_arrives_in_pieces_with_the_first_messages() {
    let options = options(false);
    let mut client = WsClient::new(1, &options, 7);
    client.open(0);
    assert!(!client.is_open() && client.capacity() == 0);
    let mut bytes = b"HTTP/1.1 103 Early Hints\r\n\r\n".to_vec();
    bytes.extend(acceptance(&mut client));
    bytes.extend(text("hi"));
    let mut events = Vec::new();
    for byte in bytes {
        client.receive(&[byte], 5, &mut events).expect("valid");
    }
    assert_eq!((client.is_open(), client.capacity()), (true, 1));
    assert_eq!((events, client.interim_responses()), (vec![], 1));
    assert_eq!(pushed(&client), [2]);
}

#[test]
fn other_responses_are_errors_with_their_status() {
    let check = |head: &str, error: ProtocolError| {
        let mut client = WsClient::new(1, &options(false), 7);
        client.open(0);
        let head = format!("HTTP/1.1 {head}\r\n\r\n");
        let mut events = Vec::new();
        assert_eq!(client.receive(head.as_bytes(), 0, &mut events), Err(error), "{head}");
        assert_eq!(client.receive(b"", 0, &mut events), Err(error), "an error lasts");
        assert!(!client.is_open() && client.capacity() == 0);
    };
    check("200 OK", ProtocolError::UpgradeIgnored);
    check("302 Found", ProtocolError::UpgradeRedirected);
    check("401 Unauthorized", ProtocolError::UpgradeUnauthorized);
    check("426 Upgrade Required", ProtocolError::UpgradeClientError);
    check("500 Oops", ProtocolError::UpgradeServerError);
    check("503 Busy", ProtocolError::UpgradeUnavailable);
    check("101 Switching Protocols", ProtocolError::BadUpgrade);
}

#[test]
fn echoes_in_order() {
    let mut client = opened(&options(false), 2);
    client.set_interest(Interest::Body, &BodyBudget::default());
    let mut server = WsServer::new(1_000);
    let ids = [client.request(&message("a"), 1), client.request(&message("b"), 2)];
    assert_eq!(client.capacity(), 0);
    assert_eq!(at_server(&mut server, &mut client), ["1 a", "1 b"]);
    let events = receive(&mut client, &[text("one"), text("two"), text("three")].concat(), 9);
    assert_eq!(events, [echo(ids[0].0), echo(ids[1].0)]);
    assert_eq!(pushed(&client), [5]);
    assert_eq!((client.response(0).body, client.response(1).body), (&b"one"[..], &b"two"[..]));
    assert_eq!(client.capacity(), 2);
}

#[test]
fn the_first_byte_of_an_echo_is_reported() {
    let mut client = opened(&options(false), 1);
    let RequestId(id) = client.request(&message("a"), 1);
    let bytes = text("echo");
    assert_eq!(receive(&mut client, &bytes[..1], 10), []);
    assert!(client.is_mid_response());
    assert_eq!(receive(&mut client, &bytes[1..3], 20), []);
    let events = receive(&mut client, &bytes[3..], 30);
    let began = StreamEvent { id: RequestId(id), kind: StreamEventKind::Began { at_ns: 10 } };
    assert_eq!(events, [began, echo(id)]);
    assert!(!client.is_mid_response());
}

/// The key is the first byte.
#[test]
fn echoes_by_key_in_any_order() {
    let mut client = opened(&options(true), 4);
    let ids = ["a1", "b1", "a2"].map(|text| client.request(&message(text), 1).0);
    let events = receive(&mut client, &[text("b"), text("x"), text("a"), text("a")].concat(), 2);
    assert_eq!(events, [echo(ids[1]), echo(ids[0]), echo(ids[2])]);
    assert_eq!(pushed(&client), [1]);
}

#[test]
fn a_late_echo_is_no_push() {
    let mut client = opened(&options(true), 2);
    let first = client.request(&message("a"), 1);
    client.cancel(first, 5);
    assert_eq!((client.capacity(), client.is_retiring()), (2, false));
    let second = client.request(&message("b"), 6);
    assert_eq!(receive(&mut client, &[text("a"), text("b")].concat(), 7), [echo(second.0)]);
    assert_eq!(pushed(&client), [0; 0]);
    assert_eq!(receive(&mut client, &text("a"), 8), []);
    assert_eq!(pushed(&client), [1]);
}

#[test]
fn pushed_messages_have_the_time_since_the_one_before() {
    let mut client = opened(&options(true), 1);
    let gaps = |client: &mut WsClient, texts: &[&str], now_ns| {
        let frames: Vec<Vec<u8>> = texts.iter().map(|content| text(content)).collect();
        assert_eq!(receive(client, &frames.concat(), now_ns), []);
        client.pushed().iter().map(|pushed| pushed.gap_ns).collect::<Vec<_>>()
    };
    assert_eq!(gaps(&mut client, &["x"], 100), [None]);
    assert_eq!(gaps(&mut client, &["x", "y"], 130), [Some(30), Some(0)]);
    assert_eq!(gaps(&mut client, &[], 140), []);
    assert_eq!(gaps(&mut client, &["x"], 150), [Some(20)]);
    // Another socket.
    client.reset();
    client.open(200);
    let accepted = acceptance(&mut client);
    receive(&mut client, &accepted, 210);
    assert_eq!(gaps(&mut client, &["x"], 300), [None]);
}

/// In order, an echo that is missing would shift all later ones.
#[test]
fn a_timeout_retires_a_connection_in_order() {
    let mut client = opened(&options(false), 2);
    let first = client.request(&message("a"), 1);
    let second = client.request(&message("b"), 1);
    client.cancel(first, 5);
    assert_eq!((client.capacity(), client.is_retiring()), (0, true));
    assert_eq!(receive(&mut client, &text("a"), 7), []);
    assert_eq!(receive(&mut client, &text("b"), 8), [echo(second.0)]);
}

#[test]
fn pings_are_answered_once_for_the_last() {
    let mut client = opened(&options(false), 1);
    let mut pings = Vec::new();
    for content in [b"one", b"two"] {
        push_frame(&mut pings, Opcode::PING, true, None, content);
    }
    push_frame(&mut pings, Opcode::PONG, true, None, b"unasked");
    assert_eq!(receive(&mut client, &pings, 1), []);
    assert_eq!(at_server(&mut WsServer::new(1_000), &mut client), ["pong two"]);
    assert_eq!(at_server(&mut WsServer::new(1_000), &mut client), Vec::<String>::new());
}

#[test]
fn a_close_frame_is_answered_and_ends_the_messages() {
    let mut client = opened(&options(false), 3);
    let ids = [client.request(&message("a"), 1), client.request(&message("b"), 1)];
    let mut server = WsServer::new(1_000);
    at_server(&mut server, &mut client);
    let mut bytes = text("a");
    push_close(&mut bytes, CloseCode::GOING_AWAY, None);
    bytes.extend(text("after the end"));
    let events = receive(&mut client, &bytes, 2);
    let reset = StreamEventKind::Reset(CloseCode::GOING_AWAY.reason());
    assert_eq!(events, [echo(ids[0].0), StreamEvent { id: ids[1], kind: reset }]);
    assert!(client.is_retiring() && client.capacity() == 0);
    assert_eq!(client.goaway().map(|reason| reason.name), Some("1001 Going Away"));
    assert_eq!(client.goaway_text(), "");
    client.close();
    assert_eq!(at_server(&mut server, &mut client), ["close 1001"]);
}

#[test]
fn a_close_frame_of_an_application_has_its_code_and_reason() {
    let mut client = opened(&options(false), 1);
    let id = client.request(&message("a"), 1);
    let mut bytes = Vec::new();
    let payload = [&4401_u16.to_be_bytes()[..], b"token expired"].concat();
    push_frame(&mut bytes, Opcode::CLOSE, true, None, &payload);
    let reset = StreamEventKind::Reset(CloseCode(4401).reason());
    assert_eq!(receive(&mut client, &bytes, 2), [StreamEvent { id, kind: reset }]);
    let reason = client.goaway().expect("a Close frame");
    assert_eq!((reason.name, reason.reset_code), ("4401", "closed_4401"));
    assert_eq!(client.goaway_text(), "token expired");
    client.reset();
    assert_eq!((client.goaway(), client.goaway_text()), (None, ""));
}

#[test]
fn a_first_message_precedes_all_others_and_its_answer_opens() {
    for awaits_message in [false, true] {
        let mut options = WsOptions::clone(&options(false));
        options.first = Some(b"init"[..].into());
        options.awaits_message = awaits_message;
        let options = Arc::new(options);
        let mut client = WsClient::new(1, &options, 7);
        let mut server = WsServer::new(1_000);
        for at in [1, 100] {
            client.reset();
            client.open(at);
            let accepted = acceptance(&mut client);
            receive(&mut client, &accepted, at);
            assert_eq!(client.is_open(), !awaits_message);
            assert_eq!(at_server(&mut server, &mut client), ["1 init"]);
            if awaits_message {
                assert_eq!(
                    (receive(&mut client, &text("ack"), at), client.capacity()),
                    (vec![], 1)
                );
                assert_eq!(pushed(&client), [0; 0], "the answer is no push");
            }
            let id = client.request(&message("a"), at);
            assert_eq!(at_server(&mut server, &mut client), ["1 a"]);
            assert_eq!(receive(&mut client, &text("a"), at), [echo(id.0)]);
        }
    }
}

#[test]
fn the_own_close_frame_is_sent_once() {
    let mut client = opened(&options(false), 1);
    let mut server = WsServer::new(1_000);
    client.close();
    client.close();
    assert_eq!(at_server(&mut server, &mut client), ["close 1000"]);
    let mut out = Vec::new();
    server.poll_transmit(&mut out);
    assert!(server.is_closed());
    receive(&mut client, &out, 2);
    assert_eq!(at_server(&mut server, &mut client), Vec::<String>::new());
    client.reset();
    client.close();
    assert_eq!(at_server(&mut server, &mut client), Vec::<String>::new(), "it is not open");
}

#[test]
fn a_reset_makes_a_new_connection() {
    let mut client = opened(&options(false), 1);
    client.request(&message("a"), 1);
    receive(&mut client, &text("long")[..3], 2);
    client.reset();
    client.open(3);
    let bytes = acceptance(&mut client);
    receive(&mut client, &bytes, 4);
    let id = client.request(&message("b"), 5);
    assert_eq!(receive(&mut client, &text("b"), 6), [echo(id.0)]);
}

/// Returns a client whose server has accepted permessage-deflate with these words.
fn compressed(words: &'static str) -> WsClient {
    let mut offering = WsOptions::clone(&options(false));
    offering.offers_deflate = true;
    let mut client = WsClient::new(4, &Arc::new(offering), 7);
    client.open(0);
    let head = acceptance_with(&mut client, &[("Sec-WebSocket-Extensions", words)]);
    receive(&mut client, &head, 0);
    assert!(client.is_open());
    client
}

/// A frame of "Hello" as RFC 7692 §7.2.3 has it, in fragments that end at these bytes.
fn fragments(ends: &[usize]) -> Vec<u8> {
    const HELLO: &[u8] = &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
    let mut out = Vec::new();
    let mut begin = 0;
    for (place, end) in ends.iter().copied().chain([HELLO.len()]).enumerate() {
        let opcode = if place == 0 { 0x41 } else { 0 };
        let is_final = if place == ends.len() { 0x80 } else { 0 };
        out.extend([opcode | is_final, u8::try_from(end - begin).expect("short")]);
        out.extend(&HELLO[begin..end]);
        begin = end;
    }
    out
}

#[test]
fn messages_are_compressed_both_ways() {
    let words = "permessage-deflate; server_no_context_takeover";
    let mut client = compressed(words);
    let mut server = WsServer::new(1_000);
    server.deflate(DeflateTerms::of_offers(words.as_bytes()).expect("an offer"));
    client.set_interest(Interest::Body, &BodyBudget::default());
    let long = "hello ".repeat(20);
    for text in ["hello", &long, "hello", ""] {
        let RequestId(id) = client.request(&message(text), 1);
        assert_eq!(at_server(&mut server, &mut client), [format!("1 {text}")]);
        server.send(Opcode::TEXT, text.as_bytes());
        let mut out = Vec::new();
        server.poll_transmit(&mut out);
        assert_eq!(out[0], 0xc1, "the mark of a compressed message");
        assert!(out.len() < 30 + text.len() / 4, "{out:?}");
        assert_eq!(receive(&mut client, &out, 9), [echo(id)]);
        assert_eq!(client.response(0).body, text.as_bytes());
    }
    assert!(client.is_compressed());
}

#[test]
fn compressed_messages_come_in_fragments_with_control_frames_between() {
    for ends in [&[][..], &[3], &[1, 1, 2, 6], &[0, 7]] {
        let mut client = compressed("permessage-deflate; server_no_context_takeover");
        let mut bytes = fragments(ends);
        let length = usize::from(bytes[1]);
        bytes.splice(2 + length..2 + length, [0x89, 1, b'p']);
        bytes.extend(text("not compressed"));
        receive(&mut client, &bytes, 1);
        assert_eq!(pushed(&client), [5, 14], "{ends:?}");
        assert_eq!(at_server(&mut WsServer::new(10), &mut client), ["pong p"]);
    }
}

#[test]
fn what_compression_does_not_allow_is_an_error() {
    let check = |bytes: &[u8], error: ProtocolError| {
        let mut client = compressed("permessage-deflate");
        assert_eq!(client.receive(bytes, 0, &mut Vec::new()), Err(error), "{bytes:02x?}");
        assert_eq!(client.receive(b"", 0, &mut Vec::new()), Err(error), "an error lasts");
    };
    let mut marked_again = fragments(&[3]);
    marked_again[5] |= 0x40;
    check(&marked_again, ProtocolError::BadFrame);
    check(&[0xc9, 0], ProtocolError::BadFrame);
    check(&[0xc1, 4, 0xff, 0xff, 0xff, 0xff], ProtocolError::BadDeflate);
    check(&[0xc1, 0], ProtocolError::BadDeflate);
    // 1,000 zeros, beyond the limit of 300; and bytes that are no text.
    const ZEROS: [u8; 15] =
        [0xc2, 13, 0x62, 0x60, 0x18, 5, 0xa3, 0x21, 0x30, 0x1a, 2, 0xc3, 0x3d, 4, 0];
    check(&ZEROS, ProtocolError::MessageTooLarge);
    check(&[0xc1, 7, 0, 1, 0, 0xfe, 0xff, 0xff, 0], ProtocolError::BadText);
    let mut plain = opened(&options(false), 1);
    let read = plain.receive(&fragments(&[]), 0, &mut Vec::new());
    assert_eq!(read, Err(ProtocolError::BadFrame), "it was not offered");
}

/// An end of a connection ends what was agreed on it.
#[test]
fn compression_is_agreed_on_each_socket() {
    let mut client = compressed("permessage-deflate");
    client.reset();
    client.open(1);
    let head = acceptance(&mut client);
    receive(&mut client, &head, 1);
    assert!(client.is_open() && !client.is_compressed());
    client.request(&message("hello"), 1);
    assert_eq!(at_server(&mut WsServer::new(10), &mut client), ["1 hello"]);
}
