//! The shop behind connections in virtual time: requests in pieces, and responses under the other
//! options, over HTTP/1 and HTTP/2. Its own rules are tested beside it.

use weir_http::h2::frame::{push_data, push_window_update};

use super::http2::{Wire, frames};
use super::*;
use crate::behaviour::Drip;
use crate::shop::{ShopOptions, ShopStats};

const MS: u64 = 1_000_000;

/// Body with which a client without a session gets a token, and the same in chunks.
const CLIENT: &str = r#"{"client":"setup","secret":"secret"}"#;
const CHUNKS: &str = "10\r\n{\"client\":\"setup\r\n14\r\n\",\"secret\":\"secret\"}\r\n0\r\n\r\n";

fn with_shop(change: impl FnOnce(&mut Behaviour)) -> Behaviour {
    with(|p| {
        p.shop = Some(ShopOptions::default());
        change(p);
    })
}

fn stats(server: &Server<Fake>) -> ShopStats {
    server.shared.stats().shop.expect("there is a shop")
}

/// Returns the requests of the endpoint with this name.
fn requests(server: &Server<Fake>, name: &str) -> u64 {
    stats(server).requests().find(|(own, _)| *own == name).expect(name).1
}

/// Runs a behaviour against bytes that arrive after 1 ms.
fn run_text(behaviour: Behaviour, text: &str) -> Server<Fake> {
    run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, MS, 0, text);
    })
}

#[test]
fn requests_are_whole_at_every_split() {
    let post = "POST /token HTTP/1.1\r\nHost: a\r\n";
    let text = format!(
        "{GET}{GET}{post}Content-Length: 36\r\n\r\n{CLIENT}{GET}\
         {post}Transfer-Encoding: chunked\r\n\r\n{CHUNKS}{GET}"
    );
    for split in 1..text.len() {
        let server = run(with_shop(|_| {}), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, &text[..split]);
            received(fake, 3, 0, &text[split..]);
        });
        let sent = server.backend.sent(0);
        assert_eq!(sent.matches("HTTP/1.1 200 OK\r\n").count(), 6, "split at {split}: {sent}");
        assert_eq!(sent.matches("<h1>Shop</h1>").count(), 4, "split at {split}: {sent}");
        let stats = stats(&server);
        assert_eq!((stats.tokens, stats.broken_line()), (2, "rules broken: none".to_owned()));
        assert_eq!(requests(&server, "GET /"), 4);
        let all = server.shared.stats().requests;
        assert_eq!((all.received, all.answered), (6, 6));
    }
}

/// A request changes the shop when it is read; cookies and tokens age from the response on.
#[test]
fn delays_hold_responses_back() {
    let behaviour = with_shop(|p| p.delay = "5ms".parse().expect("valid"));
    let text = "GET /none HTTP/1.1\r\nHost: a\r\n\r\nGET /?delay=1ms HTTP/1.1\r\nHost: a\r\n\r\n";
    let server = run_text(behaviour, text);
    let sent: Vec<(u64, bool)> = (server.backend.done.iter())
        .filter_map(|(at, _, done)| match done {
            Done::Sent(text) => Some((at.0 / MS, text.starts_with("HTTP/1.1 404 Not Found"))),
            Done::Closed(_) => None,
        })
        .collect();
    // The second, whose own delay is shorter, is behind the first.
    assert_eq!(sent, [(6, true), (6, false)]);
}

#[test]
fn responses_have_the_framing_and_headers_of_the_others() {
    let all = |p: &mut Behaviour| {
        p.headers = ["X-A: b", "content-type: a/b"].map(|text| text.parse().expect(text)).to_vec();
    };
    let text = "HEAD /stats HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n";
    let error = "{\"error\":\"not_found\"}\n";
    let fields = "Cache-Control: no-store\r\nContent-Type: application/json\r\nX-A: b\r\n\r\n";
    let sent = run_text(with_shop(all), text).backend.sent(0);
    let (head, rest) = sent.split_once("HTTP/1.1 404 Not Found\r\n").expect("two responses");
    assert!(head.ends_with(fields) && !head.contains("Content-Length: 0"), "{head}");
    assert_eq!(rest, format!("Content-Length: 22\r\n{fields}{error}"));

    let chunked = |p: &mut Behaviour| {
        all(p);
        p.framing = Framing::Chunked { chunk_bytes: 20 };
        p.drip = Some(Drip { pieces: 2, spacing: Duration::from_millis(1) });
    };
    let sent = run_text(with_shop(chunked), text).backend.sent(0);
    let chunks = "b\r\n{\"error\":\"n\r\nb\r\not_found\"}\n\r\n0\r\n\r\n";
    let expected = format!("Transfer-Encoding: chunked\r\n{fields}{chunks}");
    assert!(sent.ends_with(&expected), "{sent}");

    let partial = |p: &mut Behaviour| p.faults = vec!["partial:1/2".parse().expect("valid")];
    let server = run_text(with_shop(partial), text);
    let sent = server.backend.sent(0);
    assert!(sent.ends_with("\r\n\r\n{\"error\":\"n"), "{sent}");
    assert_eq!(server.shared.stats().requests.partial, 1);
}

#[test]
fn websocket_and_grpc_are_requests_like_others() {
    let text = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let server = run_text(with_shop(|_| {}), text);
    assert!(server.backend.sent(0).starts_with("HTTP/1.1 200 OK\r\n"));
    let mut wire = Wire::opening(65_535);
    post(&mut wire, 1, "/token", &[("content-type", "application/grpc")]);
    push_data(&mut wire.bytes, 1, CLIENT.as_bytes(), true);
    let server = run_wire(with_shop(|_| {}), &mut wire, &[]);
    assert_eq!((stats(&server).tokens, server.shared.stats().grpc.calls), (1, 0));
}

/// Begins a POST.
fn post(wire: &mut Wire, stream: u32, path: &str, more: &[(&str, &str)]) {
    let fields = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "a")];
    wire.head(stream, &[&fields, more].concat(), false);
}

/// Runs a behaviour against frames that arrive after 1 ms, and others after each next one.
fn run_wire(behaviour: Behaviour, wire: &mut Wire, more: &[Vec<u8>]) -> Server<Fake> {
    run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(MS, 0, wire.take());
        for (bytes, ms) in more.iter().zip(2..) {
            fake.will(ms * MS, 0, FakeEvent::Received(bytes.clone()));
        }
    })
}

#[test]
fn streams_have_contents_of_their_own_and_windows() {
    let mut wire = Wire::opening(10);
    // Cookies may be split (RFC 9113 §8.2.3).
    post(&mut wire, 1, "/token", &[("cookie", "session=a"), ("cookie", "session=b")]);
    post(&mut wire, 3, "/api/cart", &[("content-type", "application/json")]);
    push_data(&mut wire.bytes, 1, &CLIENT.as_bytes()[..9], false);
    push_data(&mut wire.bytes, 3, b"{\"product\":1,\"quantity\":2}", true);
    push_data(&mut wire.bytes, 1, &CLIENT.as_bytes()[9..], true);
    let windows = [1, 3].map(|stream| {
        let mut bytes = Vec::new();
        push_window_update(&mut bytes, stream, 1000);
        bytes
    });
    let server = run_wire(with_shop(|_| {}), &mut wire, &windows);
    let frames = frames(&server, 0);
    let of = |stream: &str| -> (String, usize) {
        let own: Vec<_> = frames.iter().filter(|frame| frame.is_of(stream)).collect();
        let data: Vec<u8> = own.iter().flat_map(|frame| frame.data.clone()).collect();
        (String::from_utf8(data).expect("text"), own.len())
    };
    let (token, sends) = of("1");
    assert!(token.starts_with("{\"access_token\":\"0-") && token.ends_with("}\n"), "{token}");
    assert_eq!(sends, 3, "the head, ten bytes, and the others once the window permits");
    let (cart, _) = of("3");
    assert!(
        cart.ends_with(",\"lines\":[{\"product\":1,\"quantity\":2}],\"total\":274}\n"),
        "{cart}"
    );
    let head = frames.iter().find(|frame| frame.text == "3 201").expect("a head");
    let names: Vec<&str> = head.fields.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["content-length", "cache-control", "content-type", "set-cookie"]);
    assert_eq!(stats(&server).broken_line(), "rules broken: cookie_twice 1");
    let all = server.shared.stats().requests;
    assert_eq!((all.received, all.answered), (2, 2));
}

#[test]
fn a_refused_request_changes_nothing() {
    let refuse = |p: &mut Behaviour| p.faults = vec!["refuse-stream:1/1".parse().expect("valid")];
    let mut wire = Wire::opening(65_535);
    post(&mut wire, 1, "/token", &[]);
    push_data(&mut wire.bytes, 1, CLIENT.as_bytes(), true);
    let server = run_wire(with_shop(refuse), &mut wire, &[]);
    assert_eq!((stats(&server).tokens, requests(&server, "POST /token")), (0, 0));
    assert_eq!(server.shared.stats().requests.refused_by_fault, 1);
}
