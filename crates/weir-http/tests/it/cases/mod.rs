//! Responses and their expected results: the table that the tests cut at every position, and that
//! forms the corpus of the fuzz targets.

mod invalid;

use weir_http::{ProtocolError, RequestTraits};

/// Bytes from a server, the requests in flight, and the expected result.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// One letter per request: G for GET, H for HEAD; a `!` after the last one if it closes.
    pub(crate) requests: &'static str,
    pub(crate) bytes: Vec<u8>,
    /// Status, body bytes, and true if the response closes.
    pub(crate) events: &'static [(u16, u64, bool)],
    pub(crate) interim: u64,
    pub(crate) end: End,
}

/// Expected end of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No error, and no response in progress.
    Clean,
    /// The last response is complete only at the end of the stream.
    AtClose,
    /// This error.
    Fails(ProtocolError),
    /// In mid-response; this error at the end of the stream.
    CutShort(ProtocolError),
}

impl Case {
    pub(crate) fn requests(&self) -> Vec<RequestTraits> {
        let closes = self.requests.ends_with('!');
        let letters = self.requests.trim_end_matches('!').as_bytes();
        let closes = |index| closes && index + 1 == letters.len();
        let request =
            |(index, &letter)| RequestTraits { head: letter == b'H', closes: closes(index) };
        letters.iter().enumerate().map(request).collect()
    }
}

type Replies = &'static [(u16, u64, bool)];

fn case(name: &'static str, requests: &'static str, bytes: &str, events: Replies) -> Case {
    let bytes = bytes.as_bytes().to_vec();
    Case { name, requests, bytes, events, interim: 0, end: End::Clean }
}

fn fails(name: &'static str, bytes: &str, error: ProtocolError) -> Case {
    Case { end: End::Fails(error), ..case(name, "G", bytes, &[]) }
}

fn fails_after(
    name: &'static str,
    requests: &'static str,
    bytes: &str,
    events: Replies,
    error: ProtocolError,
) -> Case {
    Case { end: End::Fails(error), ..case(name, requests, bytes, events) }
}

fn cut_short(name: &'static str, bytes: &str, error: ProtocolError) -> Case {
    Case { end: End::CutShort(error), ..case(name, "G", bytes, &[]) }
}

fn at_close(name: &'static str, bytes: &str, events: Replies) -> Case {
    Case { end: End::AtClose, ..case(name, "G", bytes, events) }
}

fn interim(count: u64, case: Case) -> Case {
    Case { interim: count, ..case }
}

/// Returns `HTTP/1.1 200 OK` with these fields.
fn ok(fields: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{fields}\r\n")
}

fn chunked(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}

/// Returns all cases.
pub(crate) fn all() -> Vec<Case> {
    [
        fixed(),
        bodiless(),
        chunks(),
        closing(),
        interims(),
        lines(),
        limits(),
        invalid::bad_lines(),
        invalid::bad_framing(),
        invalid::bad_chunks(),
        invalid::unasked(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn fixed() -> Vec<Case> {
    let hello = ok("Content-Length: 5\r\n") + "hello";
    vec![
        case("fixed", "G", &hello, &[(200, 5, false)]),
        case("fixed_empty", "G", &ok("Content-Length: 0\r\n"), &[(200, 0, false)]),
        case("fixed_twice", "GG", &hello.repeat(2), &[(200, 5, false); 2]),
        case("fixed_one_of_two", "GG", &hello, &[(200, 5, false)]),
        case("fixed_sixteen", "GGGGGGGGGGGGGGGG", &hello.repeat(16), &[(200, 5, false); 16]),
        case(
            "fixed_case_and_space",
            "G",
            &(ok("cONTENT-lENGTH:\t 5 \t\r\n") + "hello"),
            &[(200, 5, false)],
        ),
        case("fixed_list", "G", &(ok("Content-Length: 5, 5\r\n") + "hello"), &[(200, 5, false)]),
        case(
            "fixed_repeated",
            "G",
            &(ok("Content-Length: 5\r\nX: y\r\ncontent-length: 05\r\n") + "hello"),
            &[(200, 5, false)],
        ),
        case(
            "fixed_body_like_a_head",
            "GG",
            &(ok("Content-Length: 38\r\n") + &ok("Content-Length: 0\r\n") + &hello),
            &[(200, 38, false), (200, 5, false)],
        ),
        case(
            "fixed_many_fields",
            "G",
            "HTTP/1.1 404 Not Found\r\nServer: nginx/1.24.0\r\n\
             Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/html\r\n\
             Connection: keep-alive\r\nContent-Length: 11\r\n\
             Content-Lengths: 7\r\nConnections: close\r\nTransfer-Encodings: chunked\r\n\r\n\
             not\r\n\r\nhere",
            &[(404, 11, false)],
        ),
        case("status_999", "G", "HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n", &[(999, 0, false)]),
        cut_short(
            "fixed_huge",
            &ok("Content-Length: 18446744073709551615\r\n"),
            ProtocolError::ClosedInBody,
        ),
        cut_short("fixed_short", &hello[..hello.len() - 1], ProtocolError::ClosedInBody),
        cut_short("head_short", "HTTP/1.1 200 OK\r\nContent-Le", ProtocolError::ClosedInHead),
        cut_short("head_shortest", "H", ProtocolError::ClosedInHead),
    ]
}

fn bodiless() -> Vec<Case> {
    let hello = ok("Content-Length: 5\r\n") + "hello";
    let head = ok("Content-Length: 5\r\n");
    vec![
        case("head", "H", &head, &[(200, 0, false)]),
        case("head_of_chunked", "H", &chunked(""), &[(200, 0, false)]),
        case("head_without_length", "H", &ok(""), &[(200, 0, false)]),
        // RFC 9112 §6.3, rule 1: "regardless of the header fields present".
        case(
            "head_with_conflicts",
            "HG",
            &(ok("Content-Length: 5, x\r\nTransfer-Encoding: chunked\r\n") + &hello),
            &[(200, 0, false), (200, 5, false)],
        ),
        case(
            "head_between_gets",
            "GHGHHG",
            &[&hello, &head, &hello, &head, &head, &hello].map(String::as_str).concat(),
            &[
                (200, 5, false),
                (200, 0, false),
                (200, 5, false),
                (200, 0, false),
                (200, 0, false),
                (200, 5, false),
            ],
        ),
        case(
            "no_content_with_length",
            "GG",
            &("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n".to_owned() + &hello),
            &[(204, 0, false), (200, 5, false)],
        ),
        case(
            "not_modified_with_length",
            "GG",
            &("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n".to_owned() + &hello),
            &[(304, 0, false), (200, 5, false)],
        ),
        case(
            "not_modified_chunked",
            "G",
            "HTTP/1.1 304 \r\nTransfer-Encoding: chunked\r\n\r\n",
            &[(304, 0, false)],
        ),
    ]
}

fn chunks() -> Vec<Case> {
    let good = |name, body: &str, bytes| {
        let events: Replies = match bytes {
            0 => &[(200, 0, false)],
            5 => &[(200, 5, false)],
            _ => &[(200, 26, false)],
        };
        case(name, "G", &chunked(body), events)
    };
    vec![
        good("chunked", "5\r\nhello\r\n0\r\n\r\n", 5),
        good("chunked_empty", "0\r\n\r\n", 0),
        good("chunked_several", "1\r\nh\r\n3\r\nell\r\n1\r\no\r\n0\r\n\r\n", 5),
        good("chunked_hex", "1A\r\nabcdefghijklmnopqrstuvwxyz\r\n00\r\n\r\n", 26),
        good("chunked_hex_lower", "1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n", 26),
        good("chunked_zeros", "000000000000000000000005\r\nhello\r\n000\r\n\r\n", 5),
        good("chunked_extensions", "5;a;b=c ; d=\"e;\\\"f\"\r\nhello\r\n0;last\r\n\r\n", 5),
        good("chunked_padded", "5  \r\nhello\r\n0\t;x\r\n\r\n", 5),
        good("chunked_trailers", "5\r\nhello\r\n0\r\nX: y\r\nContent-Length: 7\r\n\r\n", 5),
        good("chunked_trailers_lf", "5\r\nhello\r\n0\r\nX: y\n\n", 5),
        good("chunked_data_like_framing", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", 5),
        case(
            "chunked_case",
            "G",
            &(ok("TRANSFER-encoding:  CHUNKED \r\n") + "5\r\nhello\r\n0\r\n\r\n"),
            &[(200, 5, false)],
        ),
        case(
            "chunked_after_gzip",
            "G",
            &(ok("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n")
                + "5\r\nhello\r\n0\r\n\r\n"),
            &[(200, 5, false)],
        ),
        case(
            "chunked_then_fixed",
            "GHG",
            &(chunked("5\r\nhello\r\n0\r\nT: u\r\n\r\n")
                + &chunked("")
                + &ok("Content-Length: 1\r\n")
                + "x"),
            &[(200, 5, false), (200, 0, false), (200, 1, false)],
        ),
        case(
            "chunked_closes",
            "G",
            &(ok("Connection: close\r\nTransfer-Encoding: chunked\r\n")
                + "5\r\nhello\r\n0\r\n\r\n"),
            &[(200, 5, true)],
        ),
        cut_short("chunked_short_size", &chunked("5"), ProtocolError::ClosedInBody),
        cut_short("chunked_short_data", &chunked("5\r\nhel"), ProtocolError::ClosedInBody),
        cut_short("chunked_no_last", &chunked("5\r\nhello\r\n"), ProtocolError::ClosedInBody),
        cut_short("chunked_no_end", &chunked("0\r\n"), ProtocolError::ClosedInBody),
        cut_short("chunked_in_trailers", &chunked("0\r\nX: y\r\n"), ProtocolError::ClosedInBody),
        cut_short("chunked_huge", &chunked("ffffffffffffffff\r\n"), ProtocolError::ClosedInBody),
    ]
}

fn closing() -> Vec<Case> {
    let hello = ok("Content-Length: 5\r\n") + "hello";
    let close = ok("Connection: close\r\nContent-Length: 5\r\n") + "hello";
    let old = |fields: &str| format!("HTTP/1.0 200 OK\r\n{fields}\r\n");
    vec![
        case("close", "G", &close, &[(200, 5, true)]),
        case("close_asked", "G!", &hello, &[(200, 5, true)]),
        case(
            "close_asked_last",
            "GGH!",
            &(hello.repeat(2) + &ok("")),
            &[(200, 5, false), (200, 5, false), (200, 0, true)],
        ),
        case(
            "close_in_list",
            "G",
            &(ok("connection: Foo ,\tCLOSE\r\nContent-Length: 5\r\n") + "hello"),
            &[(200, 5, true)],
        ),
        case(
            "close_in_second_field",
            "H",
            &ok("Connection: keep-alive\r\nConnection: close\r\n"),
            &[(200, 0, true)],
        ),
        case(
            "keep_alive",
            "G",
            &(ok("Connection: keep-alive\r\nContent-Length: 5\r\n") + "hello"),
            &[(200, 5, false)],
        ),
        // Bytes after a response that closes are ignored, as long as they may be a response.
        case(
            "close_in_pipeline",
            "GGG",
            &(hello.clone() + &close + &hello),
            &[(200, 5, false), (200, 5, true)],
        ),
        at_close("until_close", &(ok("") + "hello"), &[(200, 5, true)]),
        at_close("until_close_empty", &ok(""), &[(200, 0, true)]),
        at_close("until_close_like_head", &(ok("") + &ok("")), &[(200, 19, true)]),
        at_close(
            "until_close_coded",
            &(ok("Transfer-Encoding: gzip\r\n") + "hello"),
            &[(200, 5, true)],
        ),
        at_close(
            "until_close_not_last_chunked",
            &(ok("Transfer-Encoding: chunked, gzip\r\n") + "0\r\n\r\n"),
            &[(200, 5, true)],
        ),
        at_close("old_until_close", &(old("") + "hello"), &[(200, 5, true)]),
        case("old_fixed", "G", &(old("Content-Length: 5\r\n") + "hello"), &[(200, 5, true)]),
        case(
            "old_keep_alive",
            "GG",
            &(old("Connection: Keep-Alive\r\nContent-Length: 5\r\n") + "hello").repeat(2),
            &[(200, 5, false); 2],
        ),
        case("old_head", "H", &old(""), &[(200, 0, true)]),
        case("version_1_2", "G", "HTTP/1.2 204 \r\n\r\n", &[(204, 0, false)]),
    ]
}

fn interims() -> Vec<Case> {
    let hello = ok("Content-Length: 5\r\n") + "hello";
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nContent-Length: 9\r\n\r\n";
    let go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    vec![
        interim(1, case("continue", "G", &(go_on.to_owned() + &hello), &[(200, 5, false)])),
        interim(
            4,
            case(
                "interims",
                "GHG",
                &[go_on, early, &hello, early, &ok("Content-Length: 5\r\n"), go_on, &hello]
                    .concat(),
                &[(200, 5, false), (200, 0, false), (200, 5, false)],
            ),
        ),
        interim(
            1,
            case(
                "interim_close_is_not_final",
                "G",
                &("HTTP/1.1 102 \r\nConnection: close\r\n\r\n".to_owned() + &hello),
                &[(200, 5, false)],
            ),
        ),
        interim(1, case("interim_only", "G", go_on, &[])),
        interim(
            1,
            cut_short(
                "interim_then_short",
                &(go_on.to_owned() + "HT"),
                ProtocolError::ClosedInHead,
            ),
        ),
        interim(
            1,
            fails_after(
                "switching_protocols",
                "G",
                &(go_on.to_owned() + "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"),
                &[],
                ProtocolError::SwitchingProtocols,
            ),
        ),
    ]
}

fn lines() -> Vec<Case> {
    let good = |name, bytes: &str| case(name, "G", bytes, &[(200, 5, false)]);
    vec![
        good("no_reason", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello"),
        good("no_reason_no_space", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"),
        good("odd_reason", "HTTP/1.1 200 \t\u{fc} \x7f\x01:\r\nContent-Length: 5\r\n\r\nhello"),
        good("lone_lf", "HTTP/1.1 200\nContent-Length: 5\n\nhello"),
        good("mixed_ends", "HTTP/1.1 200 OK\nX: y\r\nContent-Length: 5\r\n\nhello"),
        good("empty_value", "HTTP/1.1 200 OK\r\nX:\r\nY: \r\nContent-Length:5\r\n\r\nhello"),
        good(
            "odd_value",
            "HTTP/1.1 200 OK\r\nX: \u{fc}\x01\x7f\t:\r\nContent-Length: 5\r\n\r\nhello",
        ),
        good("odd_name", "HTTP/1.1 200 OK\r\n(X)=\"~: y\r\nContent-Length: 5\r\n\r\nhello"),
        good("fold", "HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\t \r\nContent-Length: 5\r\n\r\nhello"),
        good(
            "fold_with_colon",
            "HTTP/1.1 200 OK\r\nX: y\r\n Content-Length: 9\r\nContent-Length: 5\r\n\r\nhello",
        ),
    ]
}

fn limits() -> Vec<Case> {
    const LIMIT: usize = 65536;
    let frame = |before: &str, after: &str, total: usize| {
        before.to_owned() + &"x".repeat(total - before.len() - after.len()) + after
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX: ";
    let many = |total: usize| {
        let start = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n";
        let lines = "a: b\r\n".repeat((total - start.len() - 20) / 6);
        frame(&(start.to_owned() + &lines + "c: "), "\r\n\r\n", total)
    };
    let trailers = |total| chunked("0\r\n") + &frame("X: ", "\r\n\r\n", total);
    vec![
        case("head_largest", "G", &(frame(head, "\r\n\r\n", LIMIT) + "x"), &[(200, 1, false)]),
        fails("head_too_large", &frame(head, "\r\n\r\n", LIMIT + 1), ProtocolError::HeadTooLarge),
        fails("head_line_too_large", &frame(head, "", LIMIT + 1), ProtocolError::HeadTooLarge),
        case("head_largest_in_lines", "G", &(many(LIMIT) + "x"), &[(200, 1, false)]),
        fails("head_too_large_in_lines", &many(LIMIT + 1), ProtocolError::HeadTooLarge),
        fails(
            "status_line_too_large",
            &frame("HTTP/1.1 200 ", "", LIMIT + 2),
            ProtocolError::HeadTooLarge,
        ),
        case("trailers_largest", "G", &trailers(LIMIT), &[(200, 0, false)]),
        fails("trailers_too_large", &trailers(LIMIT + 1), ProtocolError::TrailersTooLarge),
        case(
            "chunk_line_longest",
            "G",
            &chunked(&(frame("0;", "\r\n", 4096) + "\r\n")),
            &[(200, 0, false)],
        ),
        fails(
            "chunk_line_too_long",
            &chunked(&(frame("0;", "\r\n", 4097) + "\r\n")),
            ProtocolError::ChunkLineTooLong,
        ),
    ]
}
