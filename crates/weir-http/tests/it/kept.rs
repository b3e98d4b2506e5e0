//! Stored responses, fields and bodies, for every division into pieces.

use crate::cases;
use crate::check;
use crate::check::Setup;
use weir_http::{BodyBudget, Http1, Interest, ReceivedResponse, RequestTraits};

const GET: RequestTraits = RequestTraits { head: false, closes: false };
const HEAD: RequestTraits = RequestTraits { head: true, closes: false };

/// Feeds responses cut at every position, byte by byte and whole. Checks the stored status, head
/// and body.
fn check(requests: &[RequestTraits], bytes: &str, expected: &[(u16, &str, &str)]) {
    let setup = Setup { requests: requests.to_vec(), seed: 0 };
    for interest in [Interest::Head, Interest::Body] {
        let keeps_bodies = interest == Interest::Body;
        let body = |body: &str| if keeps_bodies { body.into() } else { vec![] };
        let expected: Vec<_> = expected
            .iter()
            .map(|&(status, head, text)| (status, head.as_bytes().to_vec(), body(text)))
            .collect();
        let length = bytes.len();
        let kept = |skips, cut: &mut dyn FnMut(usize) -> usize| {
            let (_, kept) = check::kept(&setup, bytes.as_bytes(), interest, skips, cut);
            kept.into_iter().map(|kept| (kept.status, kept.head, kept.body)).collect::<Vec<_>>()
        };
        for skips in [false, true] {
            assert_eq!(kept(skips, &mut |_| 1), expected, "byte by byte: {bytes:?}");
            for cut in 0..length {
                let kept = kept(skips, &mut |at| if at < cut { cut - at } else { length });
                assert_eq!(kept, expected, "cut at {cut}: {bytes:?}");
            }
        }
    }
}

#[test]
fn fixed_bodies() {
    let ok = "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\nhello";
    let ok_head = "Server: a\r\nContent-Length: 5\r\n";
    check(&[GET], ok, &[(200, ok_head, "hello")]);
    let empty = "HTTP/1.1 404\nX: y\nContent-Length: 0\n\n";
    let empty_head = "X: y\nContent-Length: 0\n";
    check(&[GET], empty, &[(404, empty_head, "")]);
    let mixed = "HTTP/1.1 200 \r\nX: y\nContent-Length: 3\r\n\n\r\n\n";
    let mixed_head = "X: y\nContent-Length: 3\r\n";
    check(&[GET], mixed, &[(200, mixed_head, "\r\n\n")]);
    let three = [ok, empty, ok].concat();
    let expected = [(200, ok_head, "hello"), (404, empty_head, ""), (200, ok_head, "hello")];
    check(&[GET, GET, GET, GET], &three, &expected);
    let folded = "HTTP/1.1 200 OK\r\nA: b\r\n\tc\r\nA: d\r\nContent-Length: 1\r\n\r\nx";
    check(&[GET], folded, &[(200, "A: b\r\n\tc\r\nA: d\r\nContent-Length: 1\r\n", "x")]);
}

#[test]
fn no_bodies() {
    let head = "Content-Length: 5\r\n";
    let responses = |status| format!("HTTP/1.1 {status} \r\n{head}\r\n").repeat(2);
    check(&[HEAD, HEAD], &responses(200), &[(200, head, ""); 2]);
    check(&[GET, GET], &responses(204), &[(204, head, ""); 2]);
    check(&[GET, GET], &responses(304), &[(304, head, ""); 2]);
    check(&[GET, GET], &"HTTP/1.1 204 \r\n\r\n".repeat(2), &[(204, "", ""); 2]);
}

#[test]
fn chunked_bodies() {
    let head = "A: b\r\nTransfer-Encoding: chunked\r\n";
    let response = |body: &str| format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}");
    check(&[GET, GET], &response("0\r\n\r\n").repeat(2), &[(200, head, ""); 2]);
    let trailers = "3;x=\"y\"; z\r\nabc\r\n2\r\nde\r\n000;a=b\r\nT: u\r\n v\r\nA: c\r\n\r\n";
    let kept_head = head.to_owned() + "T: u\r\n v\r\nA: c\r\n";
    check(&[GET, GET], &response(trailers).repeat(2), &[(200, kept_head.as_str(), "abcde"); 2]);
    let lone_lf = response("1\r\na\r\n0\r\nT: u\n\n") + &response("0\r\n\r\n");
    let kept_head = head.to_owned() + "T: u\n";
    check(&[GET, GET], &lone_lf, &[(200, &kept_head, "a"), (200, head, "")]);
}

#[test]
fn bodies_that_end_with_the_connection() {
    let first = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let responses = [first, "HTTP/1.0 500 \r\nA: b\r\n\r\nsome\r\n\r\nbytes"].concat();
    let expected = [(200, "Content-Length: 1\r\n", "x"), (500, "A: b\r\n", "some\r\n\r\nbytes")];
    check(&[GET, GET], &responses, &expected);
    check(&[GET], "HTTP/1.1 200 OK\r\n\r\n", &[(200, "", "")]);
    let closes = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 200";
    check(&[GET, GET], closes, &[(200, "Connection: close\r\nContent-Length: 1\r\n", "x")]);
}

#[test]
fn interim_responses_leave_nothing() {
    let response = "HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.1 103 \r\n\r\n\
                  HTTP/1.1 200 OK\r\nC: d\r\nContent-Length: 1\r\n\r\nx";
    let expected = (200, "C: d\r\nContent-Length: 1\r\n", "x");
    check(&[GET, GET], &response.repeat(2), &[expected; 2]);
}

#[test]
fn responses_before_an_error_are_kept() {
    let first = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let expected = (200, "Content-Length: 1\r\n", "x");
    for second in ["HTTP/1.1 200 OK\r\nA b\r\n", "HTTP/1.1 101 \r\n\r\n", "HTTP/2", first] {
        check(&[GET], &[first, second].concat(), &[expected]);
    }
    for second in ["Content-Length: 1,2\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"] {
        check(&[GET, GET], &format!("{first}HTTP/1.1 200 OK\r\n{second}"), &[expected]);
    }
}

/// All cases of the table, with the checks that corpus.rs applies to its mutations.
#[test]
fn every_case_is_kept_however_it_is_cut() {
    for case in cases::all().iter().filter(|case| case.bytes.len() < 3000) {
        let setup = Setup { requests: case.requests(), seed: 0 };
        for interest in [Interest::Head, Interest::Body] {
            let whole = check::kept(&setup, &case.bytes, interest, false, &mut |_| usize::MAX);
            assert_eq!(whole.0.len(), whole.1.len(), "{}", case.name);
            for cut in 0..case.bytes.len() {
                let mut two = |at| if at < cut { cut - at } else { usize::MAX };
                let cut_in_two = check::kept(&setup, &case.bytes, interest, true, &mut two);
                assert_eq!(cut_in_two, whole, "{}: cut at {cut}", case.name);
            }
        }
    }
}

fn keeping(interest: Interest, requests: usize) -> Http1 {
    let mut protocol = Http1::new(requests as u16);
    protocol.set_interest(interest, &BodyBudget::default());
    for _ in 0..requests {
        protocol.request(GET);
    }
    protocol
}

#[test]
fn fields_come_in_order_and_trimmed() {
    let mut protocol = keeping(Interest::Body, 1);
    let response = b"HTTP/1.1 200 OK\r\nA:\t b \r\na: \r\nTransfer-Encoding: chunked\r\n\r\n\
                   1\r\nx\r\n0\r\nA: c\r\n\r\n";
    protocol.receive(response, &mut Vec::new()).unwrap();
    let response: ReceivedResponse<'_> = protocol.response(0);
    let fields: Vec<_> = response.fields().collect();
    let expected: [(&[u8], &[u8]); 4] =
        [(b"A", b"b"), (b"a", b""), (b"Transfer-Encoding", b"chunked"), (b"A", b"c")];
    assert_eq!(fields, expected);
    assert_eq!((response.status, response.body, response.is_cut), (200, &b"x"[..], false));
}

#[test]
fn bodies_are_discarded_unless_they_are_kept() {
    let head = b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n";
    for (interest, discardable) in [(Interest::Head, 5), (Interest::Body, 0)] {
        let mut protocol = keeping(interest, 1);
        let mut events = Vec::new();
        protocol.receive(head, &mut events).unwrap();
        assert_eq!(protocol.discardable(), discardable, "{interest:?}");
        if interest == Interest::Head {
            protocol.skip(5, &mut events).unwrap();
        } else {
            protocol.receive(b"hello", &mut events).unwrap();
        }
        let response = protocol.response(0);
        assert_eq!(
            (events[0].body_bytes, response.head),
            (5, &b"A: b\r\nContent-Length: 5\r\n"[..])
        );
    }
}

#[test]
fn a_body_is_kept_up_to_64_mib() {
    let kept = 64 << 20;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kept + 1);
    let small = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let mut protocol = keeping(Interest::Body, 2);
    let mut events = Vec::new();
    protocol.receive(head.as_bytes(), &mut events).unwrap();
    protocol.receive(&vec![0; kept - 1], &mut events).unwrap();
    protocol.receive(&[&[1, 2], &small[..]].concat(), &mut events).unwrap();
    assert_eq!(events[0].body_bytes, kept as u64 + 1);
    let response = protocol.response(0);
    assert_eq!((response.body.len(), response.body[kept - 1], response.is_cut), (kept, 1, true));
    let response = protocol.response(1);
    assert_eq!((response.body, response.is_cut), (&b"ab"[..], false));
}

#[test]
fn a_reset_forgets_what_was_kept() {
    let response = b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\n\r\nab";
    for cut in 0..response.len() {
        let mut protocol = keeping(Interest::Body, 2);
        let mut events = Vec::new();
        protocol.receive(&[response, &response[..cut]].concat(), &mut events).unwrap();
        assert_eq!(protocol.response(0).body, b"ab");
        protocol.reset();
        protocol.request(GET);
        protocol.receive(response, &mut events).unwrap();
        let kept = protocol.response(0);
        assert_eq!((kept.head, kept.body), (&b"A: b\r\nContent-Length: 2\r\n"[..], &b"ab"[..]));
    }
}

#[test]
fn interest_changes_on_a_new_socket() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    let mut protocol = Http1::new(1);
    let mut events = Vec::new();
    for interest in [Interest::Status, Interest::Body, Interest::Head, Interest::Status] {
        protocol.set_interest(interest, &BodyBudget::default());
        protocol.request(GET);
        protocol.receive(response, &mut events).unwrap();
        match interest {
            Interest::Status => {}
            Interest::Head => assert_eq!(protocol.response(0).body, b""),
            Interest::Body => assert_eq!(protocol.response(0).body, b"ab"),
        }
        protocol.reset();
    }
    assert_eq!(events.len(), 4);
}

#[test]
#[should_panic(expected = "interest is set before any request")]
fn interest_does_not_change_in_flight() {
    keeping(Interest::Head, 1).set_interest(Interest::Body, &BodyBudget::default());
}

#[test]
#[should_panic(expected = "responses are kept if there is interest in them")]
fn without_interest_there_are_no_responses() {
    keeping(Interest::Status, 1).response(0);
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn the_responses_are_those_of_the_last_call() {
    let response = b"HTTP/1.1 204 \r\n\r\n";
    let mut protocol = keeping(Interest::Body, 1);
    let mut events = Vec::new();
    protocol.receive(response, &mut events).unwrap();
    assert_eq!(protocol.response(0).status, 204);
    protocol.receive(b"", &mut events).unwrap();
    protocol.response(0);
}

#[test]
fn the_depth_changes_between_batches() {
    let mut protocol = Http1::new(2);
    let mut events = Vec::new();
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    for depth in [3, 1, 100, 1024, 2] {
        protocol.set_depth(depth);
        assert_eq!(protocol.capacity(), u32::from(depth));
        let heads = (0..depth).map(|index| index % 3 == 0);
        let ids: Vec<_> = heads
            .clone()
            .map(|head| protocol.request(RequestTraits { head, closes: false }))
            .collect();
        assert!(ids.iter().all(|id| id.0 < depth));
        let bytes: String =
            heads.map(|head| [response, if head { "" } else { "hello" }].concat()).collect();
        events.clear();
        protocol.receive(bytes.as_bytes(), &mut events).unwrap();
        assert_eq!(events.iter().map(|event| event.id).collect::<Vec<_>>(), ids);
        assert_eq!(protocol.in_flight(), 0);
    }
}

#[test]
#[should_panic(expected = "the depth changes while nothing is in flight")]
fn the_depth_does_not_change_in_flight() {
    keeping(Interest::Status, 1).set_depth(2);
}
