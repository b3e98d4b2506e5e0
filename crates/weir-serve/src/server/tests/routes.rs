//! Routes in virtual time: their bodies, headers, delays and broken responses, over HTTP/1 and
//! HTTP/2.

use weir_http::h2::frame::push_window_update;

use super::http2::{Wire, frames};
use super::*;
use crate::behaviour::Drip;
use crate::content_coding::ContentCoding;
use crate::routes::tests::{route, routes};
use crate::routes::{BrokenResponses, Route, RouteBody};

/// Bytes that differ everywhere, so that a piece in the wrong place is noticed.
fn text(bytes: usize) -> String {
    (0..)
        .flat_map(|number: u32| format!("{number} ").into_bytes())
        .map(char::from)
        .take(bytes)
        .collect()
}

fn with_routes(all: Vec<Route>) -> Behaviour {
    with(|p| p.routes = routes(all))
}

/// Returns the bytes sent for these requests, each read 1 ms after the one before.
fn sent(behaviour: Behaviour, requests: &[&str]) -> String {
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        for (request, at) in requests.iter().zip((1..).map(|ms| ms * MS)) {
            received(fake, at, 0, &format!("{request} HTTP/1.1\r\nHost: a\r\n\r\n"));
        }
    });
    let stats = server.shared.stats();
    assert_eq!(
        (stats.requests.received, stats.requests.answered),
        (requests.len() as u64, stats.requests.received)
    );
    server.backend.sent(0)
}

const MS: u64 = 1_000_000;

/// Returns head and body of a response whose body is in this framing.
fn parted(sent: &str, framing: Framing) -> (&str, String) {
    let (head, mut rest) = sent.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{sent}"));
    if !matches!(framing, Framing::Chunked { .. }) {
        return (head, rest.to_owned());
    }
    let mut body = String::new();
    loop {
        let (size, chunk) = rest.split_once("\r\n").unwrap_or_else(|| panic!("{rest}"));
        let size = usize::from_str_radix(size, 16).expect("a size");
        let (chunk, end) = chunk.split_at(size);
        body += chunk;
        rest = end.strip_prefix("\r\n").unwrap_or_else(|| panic!("{end}"));
        if size == 0 {
            assert_eq!(rest, "");
            return (head, body);
        }
    }
}

#[test]
fn bodies_are_whole_in_every_framing_and_piece() {
    for framing in [Framing::Length, Framing::Chunked { chunk_bytes: 1000 }, Framing::UntilClose] {
        for drip in [None, Some(Drip { pieces: 7, spacing: Duration::from_millis(1) })] {
            for bytes in [0, 10, 2048, 2049, 100_000] {
                let body = text(bytes);
                let own = Some(RouteBody::Text(body.clone()));
                let routes = routes([Route { body: own, ..route("/a") }]);
                let behaviour = Behaviour { framing, drip, routes, ..Behaviour::default() };
                let sent = sent(behaviour, &["GET /a"]);
                let (head, found) = parted(&sent, framing);
                assert!(found == body, "{framing:?}, {drip:?}, {bytes} bytes: {}", found.len());
                let length = head.contains(&format!("\r\nContent-Length: {bytes}\r\n"));
                assert_eq!(length, framing == Framing::Length, "{head}");
            }
        }
    }
}

#[test]
fn bodies_are_whole_over_http2_with_small_windows() {
    for drip in [None, Some(Drip { pieces: 7, spacing: Duration::from_millis(1) })] {
        let body = text(60_000);
        let own = Some(RouteBody::Text(body.clone()));
        let routes = routes([Route { body: own, ..route("/a") }]);
        let mut wire = Wire::opening(999);
        wire.get(1, "/a?b=c");
        wire.get(3, "/other");
        let mut more = Vec::new();
        push_window_update(&mut more, 1, 12_345);
        let server = run(Behaviour { drip, routes, ..Behaviour::default() }, |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            fake.will(2, 0, wire.take());
            for ms in 1..=5 {
                fake.will(ms * 2 * MS, 0, FakeEvent::Received(more.clone()));
            }
        });
        let frames = frames(&server, 0);
        let data = |stream: &str| -> Vec<u8> {
            let of_stream = frames.iter().filter(|frame| frame.is_of(stream));
            of_stream.flat_map(|frame| frame.data.clone()).collect()
        };
        assert!(data("1") == body.as_bytes(), "{drip:?}: {} bytes", data("1").len());
        assert_eq!(data("3"), [b'x'; 14]);
        let stats = server.shared.stats();
        assert_eq!(
            (stats.requests.received, stats.requests.answered, stats.routes[0].requests),
            (2, 2, 1)
        );
    }
}

#[test]
fn a_route_has_its_own_status_headers_and_delay() {
    let of_route = Route {
        method: Some("GET".to_owned()),
        status: Some(404),
        body: Some(RouteBody::Text("none\n".to_owned())),
        headers: ["content-type: a/b", "X-Own: 1"]
            .map(|line| line.parse().expect("valid"))
            .to_vec(),
        delay: Some("5ms".parse().expect("valid")),
        ..route("/a/*")
    };
    let mut behaviour = with_routes(vec![of_route]);
    behaviour.headers = vec!["Content-Type: c/d".parse().expect("valid")];
    let own =
        "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\ncontent-type: a/b\r\nX-Own: 1\r\n\r\n";
    let other = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\nContent-Type: c/d\r\n\r\nxxxxxxxxxxxxxx";
    let check = |requests: &[&str], expected: &str| {
        assert_eq!(sent(behaviour.clone(), requests), expected, "{requests:?}");
    };
    check(&["GET /a/b"], &format!("{own}none\n"));
    check(&["HEAD /a/b"], own);
    check(&["POST /a/b"], other);
    check(&["GET /a"], other);
    // Responses leave in the order of their requests, and the plain one is not taken for a route's.
    check(&["GET /a/", "GET /", "GET /a/", "GET /"], &format!("{own}none\n{other}").repeat(2));
    // The query is that of the service, and overrides nothing.
    check(&["GET /a/?status=open&size=1&delay=x"], &format!("{own}none\n"));
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, MS, 0, "GET /a/ HTTP/1.1\r\nHost: a\r\nx-status: 503\r\n\r\n");
    });
    let [(at, _, Done::Sent(text))] = &server.backend.done[..] else { panic!("one send") };
    assert_eq!((at.0, text.as_str()), (6 * MS, format!("{own}none\n").as_str()));
}

#[test]
fn a_status_without_a_body_has_none() {
    for coding in [ContentCoding::Identity, ContentCoding::Gzip] {
        let body = Some(RouteBody::Text("x".to_owned()));
        let of_route = Route { status: Some(204), body, coding, ..route("/a") };
        for framing in [Framing::Length, Framing::Chunked { chunk_bytes: 10 }] {
            let behaviour = Behaviour { framing, ..with_routes(vec![of_route.clone()]) };
            let sent = sent(behaviour, &["GET /a"]);
            let (head, body) = sent.split_once("\r\n\r\n").expect("a head");
            assert!(head.starts_with("HTTP/1.1 204 ") && body.is_empty(), "{sent}");
        }
    }
}

#[test]
fn exactly_every_third_response_of_a_route_is_broken() {
    let broken = BrokenResponses { every: 3, status: None, body: "no".to_owned() };
    let body = Some(RouteBody::Text("yes".to_owned()));
    let first = Route { body: body.clone(), broken: Some(broken.clone()), ..route("/a") };
    let status = BrokenResponses { status: Some(500), ..broken };
    let second = Route { body, broken: Some(status), ..route("/b") };
    let mut wire = Wire::opening(65_535);
    (0..4).for_each(|k| wire.get(1 + 2 * k, "/a"));
    let server = run(with_routes(vec![first, second]), |fake| {
        for conn in 0..2 {
            fake.will(1, conn, FakeEvent::Accepted);
        }
        received(fake, 2, 0, &"GET /a HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4));
        received(fake, 3, 0, &"GET /b HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
        fake.will(4, 1, wire.take());
    });
    let sent = server.backend.sent(0);
    let bodies: Vec<&str> = sent.split("\r\n\r\n").skip(1).map(|rest| &rest[..2]).collect();
    assert_eq!(bodies, ["ye", "ye", "no", "ye", "ye", "ye", "no"]);
    assert_eq!(sent.matches("HTTP/1.1 500 ").count(), 1);
    // Requests 5 to 8 of the route; the sixth is broken.
    let data: Vec<Vec<u8>> = frames(&server, 1).into_iter().map(|frame| frame.data).collect();
    let data: Vec<&[u8]> =
        data.iter().filter(|data| !data.is_empty()).map(|data| &data[..]).collect();
    assert_eq!(data, [&b"yes"[..], b"no", b"yes", b"yes"]);
    let json = server.shared.stats().to_json();
    let routes = "\"routes\":[{\"path\":\"/a\",\"requests\":8,\"broken\":2},\
                  {\"path\":\"/b\",\"requests\":3,\"broken\":1}]}";
    assert!(json.ends_with(routes), "{json}");
}

#[test]
fn a_coding_is_named_in_the_head() {
    for coding in ["gzip", "deflate", "br", "zstd"] {
        let coding: ContentCoding = coding.parse().expect("valid");
        let body = Some(RouteBody::Size(100_000));
        let behaviour = with_routes(vec![Route { body, coding, ..route("/a") }]);
        let encoded = coding.encoded(&[b'x'; 100_000][..]).len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {encoded}\r\nContent-Type: text/plain\r\n\
             Content-Encoding: {}\r\n\r\n",
            coding.name()
        );
        assert!(sent(behaviour.clone(), &["HEAD /a"]) == head);
        let mut wire = Wire::opening(65_535);
        wire.get(1, "/a");
        let server = run(behaviour, |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            fake.will(2, 0, wire.take());
        });
        let field = ("content-encoding".to_owned(), coding.name().to_owned());
        let frames = frames(&server, 0);
        assert!(frames.iter().any(|frame| frame.fields.contains(&field)), "{frames:?}");
    }
}

#[test]
fn faults_strike_responses_of_routes_too() {
    let body = Some(RouteBody::Text(text(100)));
    let mut behaviour = with_routes(vec![Route { body, ..route("/a") }]);
    behaviour.faults = vec!["partial:1/1".parse().expect("valid")];
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    });
    let sent = server.backend.sent(0);
    assert_eq!(sent.split_once("\r\n\r\n").map(|(_, body)| body), Some(&*text(50)));
    assert_eq!(server.shared.stats().requests.partial, 1);
}
