//! The server's parser of requests: known requests and faults, the end of bodies, and httparse as a
//! second opinion over a corpus and thousands of mutations of it, the same in every run.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use weir_http::server::{RequestBody, RequestFault, RequestHead, RequestParser};

use crate::check::XorShift;
use crate::check::server::{Difference, Received, compare, receive, received};
use crate::corpus::mutate;

/// Mutations of each file of the corpus.
const MUTATIONS: usize = 300;

/// Insertions of the mutations: protocol elements, and bytes that invalidate them.
const WORDS: [&[u8]; 30] = [
    b"GET / HTTP/1.1\r\n",
    b"HEAD /a?b HTTP/1.0\n",
    b"POST * HTTP/1.2\r\n",
    b"Host: a\r\n",
    b"Content-Length: 3\r\n",
    b"Content-Length: ",
    b"Content-Length: 5, 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Connection: close\r\n",
    b"Expect: 100-continue\r\n",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
    b"0\r\nA: b\r\n\r\n",
    b"\r\n\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b":",
    b"A: b",
    b"\0",
    b"\x01",
    b"\x7f",
    b"\xff",
    b"\xc3\xa9",
    b"@",
    b"abc",
    b"18446744073709551616",
];

fn read(text: &[u8]) -> (Vec<Received>, Option<RequestFault>) {
    received(text);
    receive(&mut RequestParser::default(), text, |_| text.len())
}

fn read_head(text: &str) -> RequestHead {
    let (requests, fault) = read(text.as_bytes());
    assert_eq!(fault, None, "{text:?}");
    requests[0].head.unwrap_or_else(|| panic!("a head: {text:?}"))
}

#[test]
fn parts_of_a_request() {
    let text = b"\r\n\nPOST /a?b=c HTTP/1.1\r\nHost:a\r\nX-Y: \t z w \r\nEmpty:\n\
        Content-Length: 3\r\n\r\nabcHEAD * HTTP/1.0\r\n\r\nGET /";
    let (requests, fault) = read(text);
    assert_eq!((requests.len(), fault), (2, None));
    let post = &requests[0];
    let head = &requests[1];
    assert_eq!((&post.method[..], &post.target[..], post.minor), (&b"POST"[..], &b"/a?b=c"[..], 1));
    let fields: Vec<_> = post.fields.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let expected: [(&[u8], &[u8]); 4] =
        [(b"Host", b"a"), (b"X-Y", b"z w"), (b"Empty", b""), (b"Content-Length", b"3")];
    assert_eq!(fields, expected);
    assert_eq!(post.head.map(|head| head.body), Some(RequestBody::Length(3)));
    assert_eq!((&post.body[..], &head.body[..]), (&b"abc"[..], &b""[..]));
    assert_eq!((&head.method[..], &head.target[..], head.minor), (&b"HEAD"[..], &b"*"[..], 0));
    let ends: Vec<_> = requests.iter().map(|request| request.end).collect();
    assert_eq!(ends, [Some(text.len() - 24), Some(text.len() - 5)]);
}

#[test]
fn heads() {
    let with = |minor, line: &str| read_head(&format!("GET / HTTP/1.{minor}\r\n{line}\r\n\r\n"));
    let body = |line| with(1, line).body;
    assert_eq!(body("A: b"), RequestBody::None);
    assert_eq!(body("Content-Length: 0"), RequestBody::None);
    assert_eq!(body("content-length:  5 "), RequestBody::Length(5));
    assert_eq!(body("Content-Length: 5\r\nContent-Length: 05"), RequestBody::Length(5));
    assert_eq!(body("Content-Length: 18446744073709551615"), RequestBody::Length(u64::MAX));
    assert_eq!(body("Transfer-Encoding: Chunked"), RequestBody::Chunked);
    assert!(with(1, "Expect: 100-Continue").expects_continue);
    assert!(!with(1, "Expect: 200-ok").expects_continue);
    assert!(with(1, "Connection: x, CLOSE").wants_close);
    assert!(with(1, "Connection: keep-alive").wants_keep_alive);
    for (minor, line, closes) in [
        (1, "A: b", false),
        (1, "Connection: close", true),
        (0, "A: b", true),
        (0, "Connection: Keep-Alive", false),
        (0, "Connection: keep-alive, close", true),
    ] {
        assert_eq!(with(minor, line).closes(), closes, "1.{minor} {line}");
    }
}

#[test]
fn faults() {
    let check = |text: &str, expected| {
        let (_, fault) = read(text.as_bytes());
        assert_eq!(fault, Some(expected), "{text:?}");
    };
    for line in ["GET /", "GET  / HTTP/1.1", "GET / FTP/1.1", " / HTTP/1.1", "GET / HTTP/1.1 "] {
        check(&format!("{line}\r\n"), RequestFault::BadRequestLine);
    }
    for line in ["G@T / HTTP/1.1", "G@T / HTTP/2", "GET /a b HTTP/1.1", "GET /\t HTTP/1.1", "\rGET"]
    {
        check(&format!("{line}\r\n"), RequestFault::BadRequestLine);
    }
    for line in ["PRI * HTTP/2.0", "GET / HTTP/1.2", "GET / HTTP/0.9"] {
        check(&format!("{line}\r\n"), RequestFault::UnsupportedVersion);
    }
    let with = |line: &str, fault| check(&format!("GET / HTTP/1.1\r\n{line}\r\n\r\n"), fault);
    for line in ["A : b", "no colon", ": a", "A: b\r\n c", " A: b", "A: \0", "A: b\rc", "\u{fc}: a"]
    {
        with(line, RequestFault::BadHeader);
    }
    for value in ["", "-1", "+1", "1 1", "0x1", "5, 5", "18446744073709551616"] {
        with(&format!("Content-Length: {value}"), RequestFault::BadContentLength);
    }
    with("Content-Length: 1\r\nContent-Length: 2", RequestFault::ConflictingFraming);
    with("Content-Length: 1\r\nTransfer-Encoding: chunked", RequestFault::ConflictingFraming);
    with("Transfer-Encoding: chunked\r\nContent-Length: 1", RequestFault::ConflictingFraming);
    let twice = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked";
    with(twice, RequestFault::ConflictingFraming);
    for value in ["gzip", "gzip, chunked", "chunked;a=b", "identity", ""] {
        with(&format!("Transfer-Encoding: {value}"), RequestFault::UnsupportedTransferEncoding);
    }
    let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    check(old, RequestFault::TransferEncodingInHttp10);
}

#[test]
fn a_head_has_a_limit() {
    let limit = 64 * 1024;
    let head = |bytes: usize| {
        let start = "GET / HTTP/1.1\r\nA: ";
        let end = "\r\n\r\n";
        [start, &"b".repeat(bytes - start.len() - end.len()), end].concat()
    };
    let (requests, fault) = read(head(limit).as_bytes());
    assert_eq!((requests[0].end, fault), (Some(limit), None));
    for text in [head(limit + 1), "x".repeat(limit), "\r\n".repeat(limit / 2)] {
        assert_eq!(read(text.as_bytes()).1, Some(RequestFault::HeadTooLarge));
        assert_eq!(read(&text.as_bytes()[..limit - 1]).1, None);
    }
    let many = format!("GET / HTTP/1.1\r\n{}", "A:\n".repeat(limit / 3));
    assert_eq!(read(many.as_bytes()).1, Some(RequestFault::HeadTooLarge));
}

const POST: &str = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";

#[test]
fn bodies_are_whole_and_end_where_they_end_at_every_split() {
    let check = |head: &str, body: &str, content: &str| {
        let text = [head, body, "GET"].concat();
        let end = text.len() - 3;
        for split in 0..=text.len() {
            let cut = |at| if at < split { split - at } else { text.len() };
            let (requests, fault) = receive(&mut RequestParser::default(), text.as_bytes(), cut);
            assert_eq!((requests.len(), fault), (1, None), "{text:?} split at {split}");
            assert_eq!(requests[0].end, Some(end), "{text:?} split at {split}");
            assert_eq!(requests[0].body, content.as_bytes(), "{text:?} split at {split}");
        }
    };
    check("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "12345", "12345");
    check(POST, "0\r\n\r\n", "");
    check(POST, "5\r\nhello\r\n0\r\n\r\n", "hello");
    let trailed = "A;x=y\r\n0123456789\r\n1 \r\n\n\r\n00\r\nTrailer: 1\r\nb: c\r\n\r\n";
    check(POST, trailed, "0123456789\n");
    check(POST, "5\nhello\n0\n\n", "hello");
}

#[test]
fn a_broken_chunked_body_is_refused() {
    let check = |body: &str, expected| {
        let (_, fault) = read([POST, body].concat().as_bytes());
        assert_eq!(fault, Some(expected), "{body:?}");
    };
    for body in ["\r\n", "x\r\n", "5\r\nhelloX", "1111111111111111\r\n", "-1\r\n", "5\rX"] {
        check(body, RequestFault::BadChunk);
    }
    check(&format!("5;{}", "x".repeat(64 * 1024)), RequestFault::ChunkFramingTooLong);
    check(&format!("0\r\n{}", "A: b\r\n".repeat(11_000)), RequestFault::ChunkFramingTooLong);
    check("0\r\nno colon\r\n", RequestFault::BadHeader);
}

#[test]
fn a_reset_forgets_every_phase() {
    let text = [POST, "5\r\nhello\r\n0\r\nA: b\r\n\r\n"].concat();
    let mut parser = RequestParser::default();
    for cut in 0..text.len() {
        receive(&mut parser, &text.as_bytes()[..cut], |_| 3);
        parser.reset();
        assert!(parser.is_idle());
        let (requests, fault) = receive(&mut parser, text.as_bytes(), |_| text.len());
        assert_eq!((requests[0].end, fault), (Some(text.len()), None), "after {cut} bytes");
    }
}

#[test]
fn faults_have_a_status_of_an_error() {
    let faults = [
        RequestFault::BadRequestLine,
        RequestFault::UnsupportedVersion,
        RequestFault::BadHeader,
        RequestFault::HeadTooLarge,
        RequestFault::BadContentLength,
        RequestFault::ConflictingFraming,
        RequestFault::UnsupportedTransferEncoding,
        RequestFault::TransferEncodingInHttp10,
        RequestFault::BadChunk,
        RequestFault::ChunkFramingTooLong,
    ];
    for fault in faults {
        assert!(matches!(fault.status(), 400 | 431 | 501 | 505), "{fault:?}");
    }
}

/// Every deliberate difference from httparse is met, so that the list is not out of date.
#[test]
fn httparse_agrees_over_the_corpus_and_mutations_of_it() {
    let inputs = corpus();
    assert!(inputs.len() >= 30, "the corpus is in fuzz/corpus");
    let large = format!("GET / HTTP/1.1\r\nA: {}", "b".repeat(64 * 1024));
    let mut met: BTreeSet<_> = compare(large.as_bytes());
    let mut random = XorShift::new(20_261_123);
    for input in &inputs {
        received(input);
        met.extend(compare(input));
        for _ in 0..MUTATIONS {
            let other = &inputs[random.below(inputs.len())];
            let mutant = mutate(input, other, &WORDS, &mut random);
            // The message of a failure contains its input, for a regression test.
            let result = std::panic::catch_unwind(|| {
                received(&mutant);
                compare(&mutant)
            });
            let found = result
                .unwrap_or_else(|_| panic!("failed: {:?}", mutant.escape_ascii().to_string()));
            met.extend(found);
        }
    }
    assert_eq!(met, BTreeSet::from(Difference::ALL));
}

/// Returns the files of the corpus, ordered by name.
fn corpus() -> Vec<Vec<u8>> {
    let directory =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/http1_request");
    let entries = fs::read_dir(directory).expect("the corpus is in the tree");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a readable file")).collect()
}
