//! One exchange at a time over each protocol: complete, begun, without an end, and refused.

use std::sync::Arc;

use weir_http::h2::server::{H2Server, ServerEvent};
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_http::ws::frame::{push_close, push_frame};
use weir_http::ws::{CloseCode, Opcode, UpgradeKey, WsClient, handshake};
use weir_http::{
    BodyBudget, ExchangeError, Http1, Interest, Multiplexed, Prepared, ProtocolError,
    SingleExchange,
};

use crate::check::ws::options;

fn prepared(body: &str) -> Prepared {
    Prepared::http1("POST", "/", "h", &[], Some(body.as_bytes())).expect("valid")
}

fn http1(interest: Interest) -> SingleExchange {
    let mut protocol = Http1::new(1);
    protocol.set_interest(interest, &BodyBudget::default());
    let request = prepared("hi");
    let mut exchange =
        SingleExchange::http1(protocol, Arc::clone(request.bytes()), request.traits());
    assert!(!exchange.progress().is_sent);
    assert_eq!(&exchange.take_output(0)[..], &request.bytes()[..]);
    assert!(exchange.progress().is_sent && exchange.take_output(1).is_empty());
    exchange
}

#[test]
fn responses_end_where_their_framing_says() {
    // Each in one piece and byte by byte, and then the end of the stream.
    let check = |text: &str, expected: Result<(&str, bool), ExchangeError>| {
        for piece in [text.len(), 1] {
            let mut exchange = http1(Interest::Body);
            let mut pieces = text.as_bytes().chunks(piece).chain([&b""[..]]);
            let mut read = Ok(());
            while !exchange.progress().is_complete && read.is_ok() {
                read = exchange.receive(pieces.next().expect("it ends"), 5);
            }
            let body = exchange.response().map_or(&b""[..], |response| response.body);
            let found =
                read.map(|()| (str::from_utf8(body).expect("text"), exchange.is_reusable()));
            assert_eq!(found, expected, "{text}");
            assert_eq!(exchange.progress().begun_ns, Some(5));
        }
    };
    let in_head = ExchangeError::Protocol(ProtocolError::ClosedInHead);
    let in_body = || ExchangeError::Protocol(ProtocolError::ClosedInBody);
    check("HTTP/1.1 200 OK\r\n", Err(in_head));
    check("HTTP/1.1 100 Continue\r\n\r\n", Err(ExchangeError::Closed));
    let with_length = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    check(with_length, Err(in_body()));
    check(&format!("{with_length}abc"), Ok(("abc", true)));
    check(&format!("HTTP/1.1 100 Continue\r\n\r\n{with_length}abc"), Ok(("abc", true)));
    check("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nab", Ok(("ab", false)));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(&format!("{chunked}2\r\nab\r\n1;x=y\r\nc\r\n"), Err(in_body()));
    check(&format!("{chunked}2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n"), Ok(("abc", true)));
    check(&format!("{chunked}zz\r\n"), Err(ProtocolError::BadChunkSize.into()));
}

#[test]
fn a_response_counts_whatever_follows_it() {
    let mut exchange = http1(Interest::Status);
    let bytes = b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\n\r\n";
    assert_eq!(exchange.receive(bytes, 0), Ok(()));
    assert_eq!(exchange.response().map(|response| response.status), Some(204));
    assert_eq!(exchange.progress().fault, Some(ProtocolError::UnsolicitedBytes));
    assert!(!exchange.is_reusable());
}

#[test]
fn a_long_body_has_the_length_of_its_head() {
    let mut exchange = http1(Interest::Status);
    let head = "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\nServer: s\r\n\
                Content-Length: 99\r\n\r\n";
    assert_eq!(exchange.receive(head.as_bytes(), 0), Ok(()));
    assert_eq!(exchange.receive(b"begin", 0), Ok(()));
    assert!(!exchange.progress().is_complete);
    assert_eq!((exchange.body_bytes(), exchange.interim_responses()), (Some(99), 1));
    let found = exchange.head().expect("it is complete");
    assert_eq!((found.version, found.status, found.bytes), ("HTTP/1.0", 200, head.len()));
}

#[test]
fn an_event_stream_has_its_type_and_no_coding() {
    let begins = |head: &str| {
        let mut exchange = http1(Interest::Status);
        let head = format!("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n{head}");
        assert_eq!(exchange.receive(head.as_bytes(), 0), Ok(()));
        exchange.is_event_stream()
    };
    assert!(begins("Content-Type: text/event-stream\r\n\r\n"));
    assert!(begins("content-type: TEXT/Event-Stream; charset=utf-8\r\n\r\n"));
    assert!(begins("Content-Type: text/event-stream\r\nContent-Encoding: identity\r\n\r\n"));
    assert!(!begins("Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"));
    assert!(!begins("Content-Type: text/event-streams\r\n\r\n"));
    assert!(!begins("A: text/event-stream\r\n\r\n"));
    assert!(!begins("Content-Type: text/event-stream\r\n"), "the head is incomplete");
}

/// An exchange over HTTP/2, and its server.
struct Streams {
    exchange: SingleExchange,
    server: H2Server,
}

impl Streams {
    fn new() -> Streams {
        let mut client = H2Client::new(1, &H2Options::default());
        client.set_interest(Interest::Body, &BodyBudget::default());
        let exchange = SingleExchange::http2(client, 0);
        Streams { exchange, server: H2Server::new(&H2Options::server()) }
    }

    /// Sends the request, and returns its stream.
    fn request(&mut self) -> u32 {
        self.exchange.request(&Arc::new(prepared("hi").request("http")));
        let mut found = None;
        while found.is_none() {
            let out = self.exchange.take_output(0);
            let received = self.server.receive(&out, |event| {
                if let ServerEvent::Request { stream, .. } = event {
                    found = Some(stream);
                }
            });
            received.expect("valid frames");
            self.answered(1).expect("no end");
        }
        found.expect("a request")
    }

    fn answered(&mut self, now_ns: u64) -> Result<(), ExchangeError> {
        let mut out = Vec::new();
        self.server.poll_transmit(&mut out);
        if out.is_empty() { Ok(()) } else { self.exchange.receive(&out, now_ns) }
    }
}

#[test]
fn requests_follow_each_other_over_http2() {
    let mut streams = Streams::new();
    for body in ["one", "other"] {
        let stream = streams.request();
        assert!(
            streams.exchange.progress().is_sent && streams.exchange.progress().begun_ns.is_none()
        );
        let length = body.len().to_string();
        streams.server.respond(stream, 200, &[(b"content-length", length.as_bytes())], false);
        assert_eq!(streams.answered(7), Ok(()));
        let exchange = &streams.exchange;
        assert_eq!(
            (exchange.progress().begun_ns, exchange.progress().is_complete),
            (Some(7), false)
        );
        assert_eq!(exchange.body_bytes(), Some(body.len() as u64));
        streams.server.send_data(stream, body.as_bytes(), true);
        assert_eq!(streams.answered(9), Ok(()));
        let exchange = &streams.exchange;
        assert!(exchange.progress().is_complete && exchange.is_reusable());
        assert_eq!(exchange.response().map(|it| it.body), Some(body.as_bytes()));
        let head = exchange.head().expect("it is complete");
        assert_eq!((head.version, head.status), ("HTTP/2", 200));
    }
}

#[test]
fn ends_without_a_response_over_http2() {
    let mut streams = Streams::new();
    let stream = streams.request();
    streams.server.reset_stream(stream, ErrorCode::INTERNAL_ERROR);
    let error = streams.answered(1).expect_err("no response").to_string();
    assert_eq!(error, "the server reset the stream: INTERNAL_ERROR");

    let mut streams = Streams::new();
    let stream = streams.request();
    streams.server.reset_stream(stream, ErrorCode::REFUSED_STREAM);
    assert_eq!(streams.answered(1), Err(ExchangeError::Returned));
    assert!(streams.exchange.progress().is_returned);

    let mut streams = Streams::new();
    streams.request();
    streams.server.go_away(None, ErrorCode::ENHANCE_YOUR_CALM);
    assert_eq!(streams.answered(1), Ok(()), "the response may come");
    let error = streams.exchange.receive(b"", 1).expect_err("no response").to_string();
    assert_eq!(error, "the server ended the connection (GOAWAY: ENHANCE_YOUR_CALM)");

    let mut streams = Streams::new();
    assert_eq!(streams.exchange.receive(b"", 1), Err(ProtocolError::BadPreface.into()));
}

/// Returns the exchange that opens a connection of WebSocket, and the response that accepts it.
fn upgrade() -> (SingleExchange, Vec<u8>) {
    let mut exchange = SingleExchange::upgrade(WsClient::new(1, &options(false), 7), 0);
    let sent = exchange.take_output(0);
    let (_, key) = str::from_utf8(&sent)
        .expect("ASCII")
        .split_once("Sec-WebSocket-Key: ")
        .expect("an upgrade");
    let key = UpgradeKey::parse(&key.as_bytes()[..24]).expect("a key");
    let mut acceptance = Vec::new();
    handshake::push_acceptance(&mut acceptance, &key, &[]);
    (exchange, acceptance)
}

#[test]
fn an_upgrade_and_an_echo() {
    let (mut exchange, acceptance) = upgrade();
    assert_eq!(exchange.receive(&acceptance[..9], 1), Ok(()));
    assert!(!exchange.progress().is_complete && exchange.progress().begun_ns.is_none());
    assert_eq!(exchange.receive(&acceptance[9..], 2), Ok(()));
    assert_eq!((exchange.progress().is_complete, exchange.progress().begun_ns), (true, Some(2)));
    exchange.request(&Arc::new(prepared("a").request("ws")));
    assert!(!exchange.progress().is_complete && !exchange.take_output(3).is_empty());
    let mut echo = Vec::new();
    push_frame(&mut echo, Opcode::TEXT, true, None, b"a");
    assert_eq!(exchange.receive(&echo, 4), Ok(()));
    assert!(exchange.progress().is_complete);
    exchange.listen();
    let mut close = Vec::new();
    push_close(&mut close, CloseCode::NORMAL, None);
    let error = exchange.receive(&close, 5).expect_err("an end").to_string();
    let expected = format!("Close frame: {})", CloseCode::NORMAL.reason().name);
    assert!(error.contains(&expected), "{error}");
    assert!(!exchange.take_output(6).is_empty(), "a Close frame is answered");
}

#[test]
fn an_upgrade_that_is_none() {
    let (mut exchange, _) = upgrade();
    assert_eq!(exchange.receive(b"HTTP/1.1 404 Not Found\r\n\r\n", 1), Ok(()));
    assert!(exchange.progress().is_complete, "the response to a refused upgrade");
    assert_eq!(exchange.head().map(|head| head.status), Some(404));

    let (mut exchange, _) = upgrade();
    let error = exchange.receive(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 1);
    assert_eq!(error, Err(ExchangeError::Upgrade(ProtocolError::BadUpgrade)));

    let (mut exchange, _) = upgrade();
    assert_eq!(exchange.receive(b"", 1), Err(ExchangeError::Closed));
}
