//! Table of responses, each cut at every position.

use crate::cases;
use crate::cases::{Case, End};
use crate::check;
use crate::check::{Outcome, Setup};
use weir_http::{Http1, ProtocolError, RequestTraits};

/// Largest case that is cut at every position; larger ones are cut at some only.
const EVERY_POSITION_BYTES_MAX: usize = 3000;

#[test]
fn responses_are_the_same_however_they_are_cut() {
    for case in cases::all() {
        let whole = outcome(&case, false, |_| case.bytes.len());
        verify(&case, &whole);
        let length = case.bytes.len();
        for skips in [false, true] {
            assert_eq!(outcome(&case, skips, |_| 1), whole, "{}: byte by byte", case.name);
            for cut in (0..length).filter(|cut| is_tried(*cut, length)) {
                let two = outcome(&case, skips, |at| if at < cut { cut - at } else { length });
                assert_eq!(two, whole, "{}: cut at {cut}", case.name);
            }
        }
    }
}

fn is_tried(cut: usize, length: usize) -> bool {
    length <= EVERY_POSITION_BYTES_MAX || cut.is_multiple_of(1999) || cut + 40 > length || cut < 40
}

fn outcome(case: &Case, skips: bool, cut: impl FnMut(usize) -> usize) -> Outcome {
    let setup = Setup { requests: case.requests(), seed: 0 };
    check::run(&mut check::protocol(&setup), &setup, &case.bytes, skips, cut).outcome
}

fn verify(case: &Case, outcome: &Outcome) {
    let name = case.name;
    let events: Vec<_> =
        outcome.events.iter().map(|event| (event.status, event.body_bytes, event.closes)).collect();
    assert_eq!(events, case.events, "{name}");
    assert_eq!(outcome.state.interim, case.interim, "{name}");
    let (error, at_end, is_mid_response) = match case.end {
        End::Clean => (None, Ok(()), false),
        End::AtClose => (None, Ok(()), true),
        End::Fails(error) => (Some(error), Err(error), false),
        End::CutShort(error) => (None, Err(error), true),
    };
    assert_eq!(outcome.error, error, "{name}");
    assert_eq!(outcome.at_end, at_end, "{name}");
    assert_eq!(outcome.state.is_mid_response, is_mid_response, "{name}");
    let requests = case.requests();
    let left = requests.len() - outcome.events.len() + usize::from(case.end == End::AtClose);
    assert_eq!(outcome.state.in_flight as usize, left, "{name}");
    let is_over = error.is_some()
        || requests.last().is_some_and(|last| last.closes)
        || (case.end == End::Clean && outcome.events.last().is_some_and(|event| event.closes));
    let capacity = if is_over { 0 } else { requests.len().max(1) - left };
    assert_eq!(outcome.state.capacity as usize, capacity, "{name}");
}

#[test]
fn responses_hold_what_any_bytes_hold() {
    for case in cases::all() {
        let setup = Setup { requests: case.requests(), seed: 5 };
        let input = [&setup.bytes()[..], &case.bytes].concat();
        let (parsed, bytes) = Setup::parse(&input).unwrap();
        assert_eq!((parsed.requests, bytes), (setup.requests, &case.bytes[..]), "{}", case.name);
        check::response(&input);
        check::head(&case.bytes);
    }
}

#[test]
fn discardable_is_what_is_certain() {
    let get = RequestTraits::default();
    let steps = |bytes: &[(&str, u64)]| {
        let mut protocol = Http1::new(1);
        let mut events = Vec::new();
        protocol.request(get);
        for &(piece, expected) in bytes {
            protocol.receive(piece.as_bytes(), &mut events).unwrap();
            assert_eq!(protocol.discardable(), expected, "after {piece:?}");
        }
        (protocol, events)
    };
    let fixed = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
    let (mut protocol, mut events) = steps(&[("H", 0), (&fixed[1..], 10), ("abc", 7)]);
    protocol.skip(6, &mut events).unwrap();
    assert_eq!((protocol.discardable(), events.len()), (1, 0));
    protocol.skip(1, &mut events).unwrap();
    assert_eq!((protocol.discardable(), events[0].body_bytes), (0, 10));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    steps(&[(chunked, 0), ("a", 0), ("\r\n", 10), ("12345", 5), ("67890", 0), ("\r\n0\r\n", 0)]);
    let (mut protocol, mut events) = steps(&[("HTTP/1.1 200 OK\r\n\r\n", u64::MAX)]);
    protocol.skip(u64::MAX, &mut events).unwrap();
    protocol.skip(1, &mut events).unwrap();
    assert!(events.is_empty());
    protocol.end_of_stream(&mut events).unwrap();
    assert_eq!(events[0].body_bytes, u64::MAX);
}

#[test]
#[should_panic(expected = "skipped 6 bytes of 5")]
fn framing_is_not_skipped() {
    let mut protocol = Http1::new(1);
    let mut events = Vec::new();
    protocol.request(RequestTraits::default());
    protocol.receive(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", &mut events).unwrap();
    let _ = protocol.skip(6, &mut events);
}

#[test]
fn the_first_byte_is_that_of_the_final_response() {
    let mut protocol = Http1::new(2);
    let mut events = Vec::new();
    protocol.request(RequestTraits::default());
    protocol.request(RequestTraits::default());
    let mut step = |bytes: &str, began_here, events_began: &[bool]| {
        events.clear();
        protocol.receive(bytes.as_bytes(), &mut events).unwrap();
        assert_eq!(protocol.began_here(), began_here, "{bytes:?}");
        let began: Vec<_> = events.iter().map(|event| event.began_here).collect();
        assert_eq!(began, events_began, "{bytes:?}");
    };
    step("HTTP/1.1 100 Continue\r\n\r\n", false, &[]);
    step("HTTP/1.1 103 Early Hints\r\n", true, &[]); // cannot be told from a final one yet
    step("\r\n", false, &[]);
    step("HTTP/1.1 103 \r\n\r\nHTTP/1.1 2", true, &[]);
    step("00 OK\r\nContent-Length: 2\r\n\r\na", false, &[]);
    step("bHTTP/1.1 204 \r\n\r\n", false, &[false, true]);
}

#[test]
fn a_new_socket_starts_afresh() {
    let mut protocol = Http1::new(3);
    let mut events = Vec::new();
    protocol.request(RequestTraits { head: true, closes: false });
    protocol.request(RequestTraits { head: true, closes: true });
    assert_eq!((protocol.capacity(), protocol.in_flight()), (0, 2));
    assert_eq!(protocol.receive(b"HTTP/1.1 100 \r\n\r\nHTTP/1.1 2", &mut events), Ok(()));
    assert!(protocol.is_mid_response());
    protocol.reset();
    assert_eq!((protocol.capacity(), protocol.in_flight()), (3, 0));
    assert!(!protocol.is_mid_response() && !protocol.began_here());
    assert_eq!(protocol.interim_responses(), 1);
    let id = protocol.request(RequestTraits::default());
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    assert_eq!(protocol.receive(response, &mut events), Ok(()));
    assert_eq!((events[0].id, events[0].body_bytes, events[0].closes), (id, 1, false));
    assert_eq!(protocol.receive(b"x", &mut events), Err(ProtocolError::UnsolicitedBytes));
    assert_eq!(protocol.receive(response, &mut events), Err(ProtocolError::UnsolicitedBytes));
    protocol.reset();
    assert_eq!(protocol.capacity(), 3);
}
