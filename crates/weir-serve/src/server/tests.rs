//! The server in virtual time, on the fake backend.

use self::fake::{Done, Fake, FakeEvent};
use super::*;
use crate::behaviour::{Behaviour, Framing, Mode};
use crate::delay::Delay;
use crate::stats::Stats;

mod events;
pub(crate) mod fake;
mod grpc;
mod http2;
mod routes;
mod shop;
mod websocket;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const PLAIN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 14\r\nContent-Type: text/plain\r\n\r\n\
                     xxxxxxxxxxxxxx";

/// Returns the counts of injected faults, in the order of [`FaultKind::ALL`].
fn injected(stats: &Stats) -> [u64; 7] {
    FaultKind::ALL.map(|kind| *stats.requests.injected(kind))
}

/// Runs a behaviour against a script to its end, in virtual time.
fn run(behaviour: Behaviour, script: impl FnOnce(&mut Fake)) -> Server<Fake> {
    let mut fake = Fake::default();
    script(&mut fake);
    let shared = Shared::new(behaviour, 0, 1);
    let mut server = Server::new(fake, shared, 0, WaitPolicy::Hybrid);
    let stop = AtomicBool::new(false);
    for _ in 0..1_000_000 {
        server.turn(&stop).expect("the fake never fails");
        if server.backend.is_exhausted() && server.responder.next_due_at().is_none() {
            return server;
        }
    }
    panic!("the server does not come to rest");
}

fn received(fake: &mut Fake, at: u64, conn: u32, text: &str) {
    fake.will(at, conn, FakeEvent::Received(text.as_bytes().to_vec()));
}

fn with(change: impl FnOnce(&mut Behaviour)) -> Behaviour {
    let mut behaviour = Behaviour::default();
    change(&mut behaviour);
    behaviour
}

#[test]
fn pipelined_plain_requests_share_one_send_at_every_split() {
    let text = GET.repeat(3);
    for split in 0..=text.len() {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, GET);
            for part in [&text[..split], &text[split..]] {
                if !part.is_empty() {
                    received(fake, 3, 0, part);
                }
            }
        });
        assert_eq!(server.backend.sent(0), PLAIN.repeat(4), "split at {split}");
        if split == 0 {
            assert_eq!(server.backend.sends, 2);
        }
        let requests = server.shared.stats().requests;
        assert_eq!((requests.received, requests.answered, requests.owed()), (4, 4, 0));
    }
}

/// Requests that begin like the plain one, split everywhere. Another connection may change the
/// plain head in between.
#[test]
fn a_request_that_begins_like_the_plain_one_is_read_in_full() {
    let other = "GET / HTTP/1.1\r\nHost: a\r\nX-Status: 503\r\n\r\n";
    for (split, is_changed) in (1..other.len()).flat_map(|at| [(at, false), (at, true)]) {
        let server = run(Behaviour::default(), |fake| {
            for conn in 0..2 {
                fake.will(1, conn, FakeEvent::Accepted);
            }
            received(fake, 2, 0, GET);
            received(fake, 3, 0, &other[..split]);
            if is_changed {
                received(fake, 4, 1, "GET /b HTTP/1.1\r\nHost: b\r\n\r\n");
            }
            received(fake, 5, 0, &format!("{}{GET}", &other[split..]));
        });
        let sent = server.backend.sent(0);
        let statuses: Vec<&str> = sent.split("HTTP/1.1 ").skip(1).map(|text| &text[..3]).collect();
        assert_eq!(statuses, ["200", "503", "200"], "split at {split}, changed: {is_changed}");
    }
}

#[test]
fn a_plain_head_in_pieces_is_cached_as_a_whole() {
    for size in 1..GET.len() {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            for piece in GET.as_bytes().chunks(size) {
                fake.will(2, 0, FakeEvent::Received(piece.to_vec()));
            }
            received(fake, 3, 0, &GET.repeat(2));
            for piece in GET.repeat(3).as_bytes().chunks(size) {
                fake.will(4, 0, FakeEvent::Received(piece.to_vec()));
            }
        });
        assert_eq!(server.backend.sent(0), PLAIN.repeat(6), "pieces of {size}");
        // Two whole copies leave in one send, which shows that they were compared.
        assert!(server.backend.sends <= 5, "pieces of {size}: {} sends", server.backend.sends);
    }
}

#[test]
fn bodies_are_skipped_at_every_split() {
    let text = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\
                POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                3\r\nabc\r\n0\r\n\r\nPOST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    for split in 1..text.len() {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, &text[..split]);
            received(fake, 3, 0, &text[split..]);
        });
        assert_eq!(server.backend.sent(0), PLAIN.repeat(3), "split at {split}");
    }
}

#[test]
fn a_delay_is_exact_and_responses_keep_their_order() {
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        let slow = "GET /?delay=1us&status=201 HTTP/1.1\r\nHost: a\r\n\r\n";
        let fast = "GET /?delay=10ns&status=202 HTTP/1.1\r\nHost: a\r\n\r\n";
        received(fake, 100, 0, &format!("{slow}{fast}{GET}"));
    });
    let seen: Vec<_> = server.backend.done.iter().map(|(at, _, done)| (at.0, done)).collect();
    assert_eq!(seen.len(), 3);
    for ((at, done), status) in seen.into_iter().zip(["201", "202", "200"]) {
        assert_eq!(at, 1100);
        let Done::Sent(text) = done else { panic!("{done:?}") };
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
    }
}

#[test]
fn fifo_serves_connections_one_after_another() {
    let behaviour = with(|p| {
        p.mode = Mode::Fifo;
        p.delay = Delay::Fixed(Duration::from_nanos(100));
    });
    let server = run(behaviour, |fake| {
        for conn in 0..3 {
            fake.will(1, conn, FakeEvent::Accepted);
        }
        received(fake, 1000, 0, GET);
        received(fake, 1010, 1, GET);
        received(fake, 1020, 2, GET);
        received(fake, 5000, 1, GET);
    });
    let departures: Vec<_> =
        server.backend.done.iter().map(|(at, conn, _)| (at.0, conn.0)).collect();
    assert_eq!(departures, [(1100, 0), (1200, 1), (1300, 2), (5100, 1)]);
}

#[test]
fn a_dripped_body_leaves_in_pieces() {
    let behaviour = with(|p| {
        p.drip = "3@100ns".parse().ok();
        p.framing = Framing::Chunked { chunk_bytes: 4 };
    });
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 1000, 0, &GET.repeat(2));
    });
    let seen: Vec<_> = server.backend.done.iter().map(|(at, _, done)| (at.0, done)).collect();
    let pieces = ["4\r\nxxxx\r\n", "4\r\nxxxx\r\n1\r\nx\r\n", "4\r\nxxxx\r\n1\r\nx\r\n0\r\n\r\n"];
    assert_eq!(seen.len(), 6);
    for ((k, (at, done)), due) in seen.into_iter().enumerate().zip([1000, 1100, 1200].repeat(2)) {
        assert_eq!(at, due + if k < 3 { 0 } else { 200 }, "piece {k}");
        let Done::Sent(text) = done else { panic!("{done:?}") };
        assert!(text.ends_with(pieces[k % 3]), "piece {k}: {text}");
    }
}

#[test]
fn what_ends_a_connection_ends_it() {
    let check = |behaviour: Behaviour, request: &str, header: &str| {
        let server = run(behaviour, |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, &format!("{request}{GET}"));
            received(fake, 3, 0, GET);
        });
        let sent = server.backend.sent(0);
        assert_eq!(sent.matches("HTTP/1.").count(), 1, "{sent}");
        assert!(sent.contains(header), "{sent}");
        let last = server.backend.done.last().map(|(_, _, done)| done.clone());
        assert_eq!(last, Some(Done::Closed(Close::Graceful)));
    };
    let close = "Connection: close\r\n";
    check(Behaviour::default(), "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", close);
    check(Behaviour::default(), "GET / HTTP/1.0\r\n\r\n", close);
    check(Behaviour::default(), "BROKEN\r\n\r\n", "HTTP/1.1 400 Bad Request");
    check(with(|p| p.close = true), GET, close);
    check(with(|p| p.http10 = true), GET, "HTTP/1.0 200 OK");
    check(with(|p| p.framing = Framing::UntilClose), GET, close);
    check(with(|p| p.requests_per_connection = Some(1)), GET, close);
    let old = "GET / HTTP/1.0\r\n\r\n";
    check(with(|p| p.framing = Framing::Chunked { chunk_bytes: 16_384 }), old, close);
}

#[test]
fn an_http10_client_may_keep_its_connection() {
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    });
    assert!(server.backend.sent(0).contains("Connection: keep-alive\r\n"));
    assert_eq!(server.backend.done.len(), 1);
}

#[test]
fn head_and_bodiless_statuses_have_no_body() {
    let check = |request: &str, ending: &str| {
        let server = run(Behaviour::default(), |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, request);
        });
        let sent = server.backend.sent(0);
        assert!(sent.ends_with(ending), "{sent}");
    };
    check("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "14\r\nContent-Type: text/plain\r\n\r\n");
    let text = "GET /?status=304 HTTP/1.1\r\nHost: a\r\n\r\n";
    check(text, "14\r\nContent-Type: text/plain\r\n\r\n");
    let text = "GET /?status=204 HTTP/1.1\r\nHost: a\r\n\r\n";
    check(text, "HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\n\r\n");
}

#[test]
fn the_peer_may_end_its_side_first() {
    let server = run(with(|p| p.delay = Delay::Fixed(Duration::from_nanos(50))), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, GET);
        fake.will(3, 0, FakeEvent::Closed);
        fake.will(4, 1, FakeEvent::Accepted);
        fake.will(5, 1, FakeEvent::Closed);
    });
    let seen: Vec<_> = server.backend.done.iter().map(|(at, conn, _)| (at.0, conn.0)).collect();
    assert_eq!(seen, [(5, 1), (52, 0), (52, 0)], "an owed response is given before closing");
}

#[test]
fn a_number_that_is_used_again_gets_no_response_of_its_past() {
    let server = run(with(|p| p.delay = Delay::Fixed(Duration::from_nanos(50))), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, &GET.repeat(2));
        fake.will(3, 0, FakeEvent::Failed);
        fake.will(4, 0, FakeEvent::Accepted);
        received(fake, 10, 0, GET);
    });
    assert_eq!(server.backend.done.len(), 1);
    assert_eq!(server.backend.done[0].0, Nanos(60));
    let stats = server.shared.stats();
    assert_eq!(
        (stats.requests.received, stats.requests.answered, stats.requests.abandoned),
        (3, 1, 2)
    );
    assert_eq!((stats.accepted, stats.requests.owed()), (2, 0));
}

#[test]
fn faults_are_counted_and_do_what_they_say() {
    let ask = |kind: &str| format!("GET /?fault={kind} HTTP/1.1\r\nHost: a\r\n\r\n");
    let server = run(Behaviour::default(), |fake| {
        for (conn, kind) in (0u32..).zip(FaultKind::ALL) {
            fake.will(1, conn, FakeEvent::Accepted);
            received(fake, 2, conn, &format!("{GET}{}{GET}", ask(kind.name())));
        }
        fake.will(9, 2, FakeEvent::Closed);
    });
    let backend = &server.backend;
    let ended = |conn: u32| {
        let last = backend.done.iter().rfind(|(_, id, _)| id.0 == conn);
        last.map(|(_, _, done)| done.clone())
    };
    assert_eq!((backend.sent(0), ended(0)), (PLAIN.into(), Some(Done::Closed(Close::Reset))));
    assert_eq!((backend.sent(1), ended(1)), (PLAIN.into(), Some(Done::Closed(Close::Graceful))));
    assert_eq!((backend.sent(2), ended(2)), (PLAIN.into(), Some(Done::Closed(Close::Graceful))));
    let half = &PLAIN[..PLAIN.len() - 7];
    assert_eq!(backend.sent(3), format!("{PLAIN}{half}"));
    assert_eq!(ended(3), Some(Done::Closed(Close::Graceful)));
    assert!(backend.sent(4).starts_with(&format!("{}\0garbage", PLAIN.repeat(2))));
    assert!(backend.sent(4).ends_with(PLAIN), "the connection goes on");
    for conn in [5, 6] {
        assert_eq!(backend.sent(conn), PLAIN.repeat(3), "faults of streams do not strike HTTP/1");
    }
    let stats = server.shared.stats();
    assert_eq!(injected(&stats), [1, 1, 1, 1, 1, 0, 0]);
    assert_eq!(
        (
            stats.requests.received,
            stats.requests.answered,
            stats.requests.abandoned,
            stats.requests.owed()
        ),
        (21, 13, 4, 0)
    );
}

#[test]
fn a_partial_response_without_a_body_is_half_a_head() {
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, "GET /?fault=partial&size=0 HTTP/1.1\r\nHost: a\r\n\r\n");
    });
    let sent = server.backend.sent(0);
    assert!(sent.starts_with("HTTP/1.1 200 OK\r\n") && !sent.contains("\r\n\r\n"), "{sent}");
}

#[test]
fn stamps_separate_reading_and_sending() {
    let behaviour = with(|p| {
        p.stamps = true;
        p.delay = Delay::Fixed(Duration::from_nanos(500));
    });
    let server = run(behaviour, |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 1000, 0, "GET / HTTP/1.1\r\nHost: a\r\nX-Slot: 42\r\n\r\n");
    });
    let sent = server.backend.sent(0);
    let expected = "x-slot: 42\r\nx-srv-recv-ns: 1000\r\nx-srv-send-ns: 1500\r\n\r\n";
    assert!(sent.contains(expected), "{sent}");
}

#[test]
fn continue_is_sent_only_where_it_is_waited_for() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, head);
        received(fake, 3, 0, "ab");
        fake.will(4, 1, FakeEvent::Accepted);
        received(fake, 5, 1, &format!("{head}ab"));
    });
    assert_eq!(server.backend.sent(0), format!("HTTP/1.1 100 Continue\r\n\r\n{PLAIN}"));
    assert_eq!(server.backend.sent(1), PLAIN);
}

#[test]
fn idle_connections_are_closed_and_busy_ones_not() {
    let server = run(with(|p| p.idle_timeout = Some(Duration::from_nanos(1000))), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        fake.will(1, 1, FakeEvent::Accepted);
        received(fake, 900, 1, GET);
        received(fake, 1500, 1, "GET /?delay=5us HTTP/1.1\r\nHost: a\r\n\r\n");
    });
    let closed = server.backend.done.iter().filter(|(_, _, done)| matches!(done, Done::Closed(_)));
    let closed: Vec<_> = closed.map(|(at, conn, _)| (at.0, conn.0)).collect();
    assert_eq!(closed, [(1001, 0), (7500, 1)]);
}

#[test]
fn statistics_are_reported_and_not_counted() {
    let server = run(Behaviour::default(), |fake| {
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 2, 0, &GET.repeat(2));
        received(fake, 3, 0, "GET /weir/stats HTTP/1.1\r\nHost: a\r\n\r\n");
    });
    let sent = server.backend.sent(0);
    let json = server.shared.stats().to_json();
    assert!(json.contains("\"requests\":2,\"answered\":2"), "{json}");
    let ending =
        format!("Content-Length: {}\r\nContent-Type: text/plain\r\n\r\n{json}", json.len());
    assert!(sent.ends_with(&ending), "{sent}");
}

#[test]
fn large_bodies_in_every_framing_have_their_size() {
    let size = 3_000_001u64;
    let check = |framing: Framing, expected: u64| {
        let behaviour = with(|p| {
            p.framing = framing;
            p.body_bytes = size;
        });
        let server = run(behaviour, |fake| {
            fake.will(1, 0, FakeEvent::Accepted);
            received(fake, 2, 0, GET);
        });
        let sent = server.backend.sent(0);
        let (_, body) = sent.split_once("\r\n\r\n").expect("a head");
        assert_eq!(body.len() as u64, expected, "{framing:?}");
        assert_eq!(body.matches('x').count() as u64, size);
    };
    check(Framing::Length, size);
    check(Framing::UntilClose, size);
    // 2,929 chunks of 1,024 with "400\r\n" and "\r\n", the rest of 705 with "2c1\r\n" and
    // "\r\n", and the end.
    check(Framing::Chunked { chunk_bytes: 1024 }, size + 2929 * 7 + 7 + 5);
}

#[test]
fn a_stall_covers_no_send() {
    let behaviour = with(|p| {
        p.stalls = vec!["1us+10us".parse().expect("valid")];
        p.stamps = true;
    });
    let server = run(behaviour, |fake| {
        fake.tick_ns = 1;
        fake.will(1, 0, FakeEvent::Accepted);
        received(fake, 1000, 0, GET);
        received(fake, 2500, 0, GET);
        received(fake, 13_000, 0, GET);
    });
    let sent_at: Vec<u64> = server.backend.done.iter().map(|(at, ..)| at.0).collect();
    assert_eq!(sent_at.len(), 3);
    assert!(sent_at[0] < 2000 && sent_at[1] >= 12_000 && sent_at[2] >= 13_000, "{sent_at:?}");
}
