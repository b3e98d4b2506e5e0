//! HTTP/2 in the clear, with weir-http's client.

use std::collections::BTreeMap;
use std::net::Shutdown;

use weir_http::h2::{ErrorCode, H2Options};
use weir_http::{Multiplexed, StreamEventKind};
use weir_serve::Http2Options;

use crate::protocols::client::{Connection, check, connect, get, request};

const OK: StreamEventKind = StreamEventKind::Response { status: 200 };

fn count(ends: &[StreamEventKind], kind: StreamEventKind) -> u64 {
    ends.iter().filter(|other| **other == kind).count() as u64
}

#[test]
fn many_streams_with_delays_all_end() {
    check(
        None,
        |p| p.delay = "uniform:0ms..5ms".parse().expect("valid"),
        |_, address| {
            let mut connection = Connection::open(connect(address), 100, &H2Options::default());
            let (sent, ends) = connection.load(&vec![get("/"); 1000]);
            assert_eq!((sent, count(&ends, OK)), (1000, 1000));
        },
        |stats| {
            let requests = stats.requests;
            assert_eq!((requests.received, requests.answered, requests.refused), (1000, 1000, 0));
        },
    );
}

#[test]
fn bodies_larger_than_the_windows_pass_in_both_directions() {
    let http2 = Http2Options { window_bytes: 1000, ..Http2Options::default() };
    let body = "y".repeat(300_000);
    let head = "POST /?size=300000 HTTP/1.1\r\nHost: test\r\nContent-Length: 300000\r\n\r\n";
    let post = request(&(head.to_owned() + &body));
    check(
        None,
        |p| p.http2 = http2,
        |_, address| {
            let mut options = H2Options { connection_window_bytes: 65_535, ..H2Options::default() };
            options.settings.initial_window_bytes = 1000;
            let mut connection = Connection::open(connect(address), 4, &options);
            let (_, ends) = connection.load(&vec![post.clone(); 8]);
            assert_eq!(ends, [OK; 8]);
            assert!(connection.client.window_waits(connection.now_ns).waits > 0);
        },
        |stats| assert_eq!((stats.requests.received, stats.requests.answered), (8, 8)),
    );
}

#[test]
fn a_client_may_end_its_side_before_the_responses() {
    check(
        None,
        |p| p.delay = "uniform:10ms..30ms".parse().expect("valid"),
        |_, address| {
            let stream = connect(address);
            let own_side = stream.try_clone().expect("a descriptor is free");
            let mut connection = Connection::open(stream, 10, &H2Options::default());
            for _ in 0..10 {
                connection.client.request(&get("/"), connection.now_ns);
            }
            connection.flush();
            own_side.shutdown(Shutdown::Write).expect("it is connected");
            let mut ends = Vec::new();
            while let Some(events) = connection.turn() {
                ends.extend(events.into_iter().map(|event| event.kind));
            }
            assert_eq!(count(&ends, OK), 10, "{ends:?}");
        },
        |stats| {
            let requests = stats.requests;
            assert_eq!((requests.received, requests.answered, requests.abandoned), (10, 10, 0));
        },
    );
}

#[test]
fn requests_before_and_after_goaway_are_counted_apart() {
    check(
        None,
        |p| p.requests_per_connection = Some(7),
        |handle, address| {
            let mut answered = 0;
            let mut returned = 0;
            while answered < 100 {
                let mut connection = Connection::open(connect(address), 10, &H2Options::default());
                let (sent, ends) = connection.load(&vec![get("/"); 10]);
                let ok = count(&ends, OK);
                let back = count(&ends, StreamEventKind::Returned);
                assert_eq!((ok, ok + back), (7, sent as u64));
                answered += ok;
                returned += back;
                // The server counts what it reads, also after GOAWAY.
                while handle.stats().requests.refused < returned {
                    std::thread::yield_now();
                }
            }
            let stats = handle.stats();
            assert_eq!((stats.requests.received, stats.requests.answered), (answered, answered));
            assert_eq!(stats.requests.refused, returned);
        },
        |stats| assert_eq!((stats.requests.abandoned, stats.requests.owed()), (0, 0)),
    );
}

#[test]
fn refused_and_reset_streams_are_counted_as_the_client_sees_them() {
    let faults = ["refuse-stream:1/10", "reset-stream:1/7"];
    check(
        None,
        |p| p.faults = faults.map(|text| text.parse().expect(text)).to_vec(),
        |_, address| {
            let mut connection = Connection::open(connect(address), 50, &H2Options::default());
            let (_, ends) = connection.load(&vec![get("/"); 700]);
            let mut kinds = BTreeMap::new();
            ends.iter().for_each(|kind| *kinds.entry(format!("{kind:?}")).or_insert(0) += 1);
            // Every 10th of 700 is refused; of the 100 multiples of 7, 10 are among them.
            assert_eq!(count(&ends, StreamEventKind::Returned), 70, "{kinds:?}");
            assert_eq!(count(&ends, OK), 540, "{kinds:?}");
            let failed = StreamEventKind::Reset(ErrorCode::INTERNAL_ERROR.reason());
            assert_eq!(count(&ends, failed), 90, "{kinds:?}");
        },
        |stats| {
            assert_eq!(
                (stats.requests.received, stats.requests.answered, stats.requests.reset_streams),
                (630, 540, 90)
            );
            assert_eq!((stats.requests.refused, stats.requests.refused_by_fault), (70, 70));
        },
    );
}

#[test]
fn the_limit_of_streams_is_respected_by_both_sides() {
    let http2 = Http2Options { streams: 3, ..Http2Options::default() };
    check(
        None,
        |p| {
            p.http2 = http2;
            p.delay = "1ms".parse().expect("valid");
        },
        |_, address| {
            let mut connection = Connection::open(connect(address), 100, &H2Options::default());
            let (_, ends) = connection.load(&vec![get("/"); 30]);
            assert_eq!(count(&ends, OK), 30);
        },
        |stats| assert_eq!((stats.requests.received, stats.requests.refused), (30, 0)),
    );
}
