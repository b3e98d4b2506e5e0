//! Kernel time stamps on sends and receives: their bounds, and that requesting them changes nothing
//! else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread::{self, JoinHandle};

use weir_io::{Clock, Close, ConnId, Endpoint, Nanos, Segment, SocketOptions, StampRequest};

use crate::driver::{Driver, Machine, Seen, SeenKind, assert_same, bytes_at, tcp, unique};
use crate::ending::reset;

const STAMPED: SocketOptions =
    SocketOptions { stamps: StampRequest::All, discard: false, source: None };

/// Largest disagreement of CPU counters and clock conversion, in nanoseconds. It is far less than
/// the time between the instants compared.
const ERROR_NS: u64 = 1_000;

/// Creates a backend with one stamped TCP connection, and its peer.
fn pair<B: Machine>() -> (Driver<B>, TcpStream) {
    pair_with(StampRequest::All)
}

fn pair_with<B: Machine>(stamps: StampRequest) -> (Driver<B>, TcpStream) {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    driver.connected(0, &endpoint, SocketOptions { stamps, ..SocketOptions::default() });
    let peer = listener.accept().expect("accept").0;
    peer.set_nodelay(true).expect("nodelay");
    (driver, peer)
}

/// Responds to every eight bytes with the time at which the response started.
fn respond(mut peer: TcpStream, clock: Clock) -> JoinHandle<()> {
    peer.set_nodelay(true).expect("nodelay");
    thread::spawn(move || {
        let mut request = [0; 8];
        while peer.read_exact(&mut request).is_ok() {
            peer.write_all(&clock.now().0.to_ne_bytes()).expect("write");
        }
    })
}

/// Returns the time in a response.
fn began_at(response: &Seen) -> Nanos {
    let SeenKind::Received(bytes) = &response.kind else { panic!("{response:?}") };
    Nanos(u64::from_ne_bytes(bytes[..].try_into().expect("eight")))
}

/// Exchanges with stamps that a check waits for. The kernel starts to stamp a little after the
/// first request for it, and a stamp is dropped if two clock readings in a row were interrupted.
const ROUNDS: u32 = 300;

pub(crate) fn stamps_lie_where_they_belong<B: Machine>() {
    let (mut driver, peer) = pair::<B>();
    let server = respond(peer, driver.clock);
    let id = driver.template(b"request!");
    let mut stamped = 0;
    while stamped < ROUNDS {
        driver.backend.send(ConnId(0), &[Segment::Template { id, bytes: 8 }]);
        let sent_at = driver.backend.submit().before;
        let all = driver.take_events();
        let (last, before) = all.split_last().expect("an event");
        let began_at = began_at(last);
        assert!(before.len() <= 1, "one send, one transmission: {all:?}");
        assert!(began_at <= last.at);
        let Some(rx_at) = last.stamp else { continue };
        assert!(began_at <= rx_at.after(ERROR_NS), "arrived before it was sent: {all:?}");
        let Some(transmitted) = before.first() else { continue };
        assert_eq!(transmitted.kind, SeenKind::Transmitted);
        let tx_at = transmitted.stamp.expect("has one");
        assert!(sent_at <= tx_at.after(ERROR_NS), "transmitted before it was sent: {all:?}");
        assert!(tx_at <= began_at.after(ERROR_NS), "received before it was transmitted: {all:?}");
        stamped += 1;
    }
    drop(driver);
    server.join().expect("no panic");
}

pub(crate) fn a_late_read_keeps_the_time_of_arrival<B: Machine>() {
    const LATE_NS: u64 = 20_000_000;
    let (mut driver, mut peer) = pair::<B>();
    for _ in 0..50 {
        let began_at = driver.clock.now();
        peer.write_all(b"x").expect("write");
        let read_at = driver.clock.now().after(LATE_NS);
        while driver.clock.now() < read_at {
            std::hint::spin_loop();
        }
        let seen = driver.one();
        assert!(seen.at >= read_at && seen.kind == SeenKind::Received(b"x".to_vec()));
        let Some(rx_at) = seen.stamp else { continue };
        assert!(began_at <= rx_at.after(ERROR_NS));
        if rx_at < read_at {
            return;
        }
    }
    panic!("no stamp is older than the read");
}

pub(crate) fn transmissions_come_in_order_before_the_answer<B: Machine>() {
    const DEPTH: usize = 5;
    let (mut driver, mut peer) = pair::<B>();
    let id = driver.template(b"request!");
    let mut stamped = 0;
    while stamped < ROUNDS / 10 {
        let sent_at: Vec<Nanos> = (0..DEPTH)
            .map(|_| {
                driver.backend.send(ConnId(0), &[Segment::Template { id, bytes: 8 }]);
                driver.backend.submit().before
            })
            .collect();
        peer.read_exact(&mut [0; 8 * DEPTH]).expect("read");
        peer.write_all(b"response").expect("write");
        let all = driver.take_events();
        let (last, before) = all.split_last().expect("an event");
        assert_eq!(last.kind, SeenKind::Received(b"response".to_vec()));
        assert!(before.iter().all(|seen| seen.kind == SeenKind::Transmitted), "{all:?}");
        assert!(before.len() <= DEPTH && before.is_sorted_by_key(|seen| seen.stamp), "{all:?}");
        let Some(last_sent) = before.last() else { continue };
        assert!(sent_at[DEPTH - 1] <= last_sent.stamp.expect("has one").after(ERROR_NS));
        if before.len() == DEPTH {
            for (transmitted, sent_at) in before.iter().zip(sent_at) {
                assert!(sent_at <= transmitted.stamp.expect("has one").after(ERROR_NS));
            }
        }
        stamped += 1;
    }
    driver.quiet();
}

pub(crate) fn stamps_a_sample_of_sends<B: Machine>() {
    const EVERY: u32 = StampRequest::SAMPLE;
    let (mut driver, peer) = pair_with::<B>(StampRequest::Sample);
    let server = respond(peer, driver.clock);
    let id = driver.template(b"request!");
    let mut sends = 0;
    let mut stamped = 0;
    // The kernel begins to stamp packets some time after the first socket wants it.
    let mut received = 0;
    let mut since_first = 0;
    while stamped < ROUNDS / 10 || received == 0 {
        // One piece, or several.
        let half = Segment::Template { id, bytes: 4 };
        let whole = Segment::Template { id, bytes: 8 };
        let is_first = sends % EVERY == 0;
        let pieces = if (sends / EVERY).is_multiple_of(2) { &[whole][..] } else { &[half, half] };
        sends += 1;
        driver.backend.send(ConnId(0), pieces);
        let sent_at = driver.backend.submit().before;
        let all = driver.take_events();
        let (last, before) = all.split_last().expect("an event");
        let began_at = began_at(last);
        received += u32::from(last.stamp.is_some());
        since_first += u32::from(received > 0);
        let Some(transmitted) = before.first() else { continue };
        assert!(is_first && before.len() == 1, "send {sends}: {all:?}");
        assert_eq!(transmitted.kind, SeenKind::Transmitted);
        let tx_at = transmitted.stamp.expect("has one");
        assert!(sent_at <= tx_at.after(ERROR_NS), "transmitted before it was sent: {all:?}");
        assert!(tx_at <= began_at.after(ERROR_NS), "received before it was transmitted: {all:?}");
        stamped += 1;
    }
    assert!(received > since_first / 2, "{received} of {since_first} responses have a stamp");
    drop(driver);
    server.join().expect("no panic");
}

pub(crate) fn stamps_nothing_unrequested<B: Machine>() {
    // A stamped connection elsewhere makes the kernel stamp every packet of the machine.
    let (mut driver, mut peer) = pair::<B>();
    let exchange = |driver: &mut Driver<B>, conn: u32, peer: &mut dyn ReadWrite| {
        driver.send_pooled(conn, b"request!");
        driver.backend.submit();
        peer.read_exact(&mut [0; 8]).expect("read");
        peer.write_all(b"response").expect("write");
        driver.take_events()
    };
    while exchange(&mut driver, 0, &mut peer).iter().all(|seen| seen.stamp.is_none()) {}
    let (listener, endpoint) = tcp();
    driver.connected(1, &endpoint, SocketOptions::default());
    let mut plain = listener.accept().expect("accept").0;
    let name = unique("stamping");
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let listener = UnixListener::bind_addr(&address).expect("bind");
    driver.connected(2, &Endpoint::Unix(format!("@{name}").into()), STAMPED);
    let mut unix = listener.accept().expect("accept").0;
    for _ in 0..ROUNDS {
        for all in [exchange(&mut driver, 1, &mut plain), exchange(&mut driver, 2, &mut unix)] {
            let [Seen { stamp: None, kind: SeenKind::Received(bytes), .. }] = &all[..] else {
                panic!("{all:?}")
            };
            assert_eq!(bytes, b"response");
        }
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

pub(crate) fn serves_many_stamped_connections<B: Machine>() {
    const CONNS: u32 = 200;
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    let mut servers = Vec::new();
    for conn in 0..CONNS {
        driver.connected(conn, &endpoint, STAMPED);
        servers.push(listener.accept().expect("accept").0);
    }
    let clock = driver.clock;
    let server = thread::spawn(move || {
        let mut request = [0; 8];
        loop {
            for peer in &mut servers {
                if peer.read_exact(&mut request).is_err() {
                    return;
                }
                peer.write_all(&clock.now().0.to_ne_bytes()).expect("write");
            }
        }
    });
    let id = driver.template(b"request!");
    let mut stamped = 0;
    while stamped < 10 * CONNS {
        for conn in 0..CONNS {
            driver.backend.send(ConnId(conn), &[Segment::Template { id, bytes: 8 }]);
        }
        let sent_at = driver.backend.submit().before;
        let mut tx_at = vec![None; CONNS as usize];
        let mut responses = 0;
        while responses < CONNS {
            driver.handle(|_, seen| {
                let tx_at = &mut tx_at[seen.conn.index()];
                if seen.kind == SeenKind::Transmitted {
                    assert!(tx_at.is_none() && sent_at <= seen.stamp.expect("one").after(ERROR_NS));
                    *tx_at = seen.stamp;
                    return;
                }
                responses += 1;
                let began_at = began_at(&seen);
                let Some(rx_at) = seen.stamp else { return };
                assert!(began_at <= rx_at.after(ERROR_NS));
                assert!(tx_at.is_none_or(|tx_at| tx_at <= began_at.after(ERROR_NS)));
                stamped += u32::from(tx_at.is_some());
            });
        }
    }
    drop(driver);
    server.join().expect("no panic");
}

pub(crate) fn a_stamped_connection_fails_once<B: Machine>() {
    for len in [0, 1000, 40_000] {
        let (mut driver, mut peer) = pair::<B>();
        driver.send_pooled(0, b"request");
        driver.backend.submit();
        peer.read_exact(&mut [0; 7]).expect("read");
        // The error queue is not empty when the reset arrives.
        driver.send_pooled(0, b"another");
        driver.backend.submit();
        peer.read_exact(&mut [0; 7]).expect("read");
        peer.write_all(&bytes_at(0, len)).expect("write");
        reset(peer);
        let all = driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        let mut bytes = Vec::new();
        for seen in &all {
            match &seen.kind {
                SeenKind::Received(more) => bytes.extend(more),
                SeenKind::Transmitted => assert!(bytes.is_empty()),
                kind => assert_eq!(*kind, SeenKind::Failed(libc::ECONNRESET)),
            }
        }
        assert_same(&bytes, &bytes_at(0, len));
        let failures = all.iter().filter(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        assert_eq!(failures.count(), 1);
        driver.quiet();
    }
}

pub(crate) fn a_stamped_connection_may_send_much<B: Machine>() {
    const LEN: usize = 8 << 20;
    let (mut driver, mut peer) = pair::<B>();
    let id = driver.template(&bytes_at(0, LEN));
    for round in 0..3 {
        driver.backend.send(ConnId(0), &[Segment::Template { id, bytes: LEN as u32 }]);
        driver.backend.submit();
        let mut reading = peer.try_clone().expect("clone");
        let reader = thread::spawn(move || {
            let mut all = vec![0; LEN];
            reading.read_exact(&mut all).expect("read");
            reading.write_all(b"!").expect("write");
            all
        });
        let all = driver.until(|seen| matches!(seen.kind, SeenKind::Received(_)));
        let (last, before) = all.split_last().expect("an event");
        assert_eq!(last.kind, SeenKind::Received(b"!".to_vec()), "round {round}");
        assert!(before.iter().all(|seen| seen.kind == SeenKind::Transmitted));
        assert!(before.is_sorted_by_key(|seen| seen.stamp));
        assert_same(&reader.join().expect("no panic"), &bytes_at(0, LEN));
    }
    driver.close(0);
    driver.quiet();
    assert_eq!(peer.read(&mut [0; 10]).expect("an orderly end"), 0);
}

pub(crate) fn stamps_every_life_of_a_connection<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    let mut stamped = 0;
    while stamped < 30 {
        driver.connected(0, &endpoint, STAMPED);
        let mut peer = listener.accept().expect("accept").0;
        for round in 0..3u32 {
            driver.send_pooled(0, &vec![b'x'; 1 + 7 * round as usize]);
            let sent_at = driver.backend.submit().before;
            peer.read_exact(&mut vec![0; 1 + 7 * round as usize]).expect("read");
            peer.write_all(b"!").expect("write");
            let all = driver.take_events();
            assert_eq!(all.last().expect("one").kind, SeenKind::Received(b"!".to_vec()));
            assert!(all.len() <= 2, "{all:?}");
            for stamp in all.iter().filter_map(|seen| seen.stamp) {
                assert!(sent_at <= stamp.after(ERROR_NS), "of an older life: {all:?}");
            }
            stamped += u32::from(all.len() == 2 && all[1].stamp.is_some());
        }
        driver.backend.close(ConnId(0), Close::Reset);
    }
}

pub(crate) fn a_large_stamped_answer_is_whole<B: Machine>() {
    const LEN: usize = 8 << 20;
    let (mut driver, mut peer) = pair::<B>();
    let server = thread::spawn(move || {
        peer.write_all(&bytes_at(0, LEN)).expect("write");
        peer
    });
    // A permission to discard need not be used, and discarded bytes have no stamp.
    driver.backend.discard(ConnId(0), 4 << 20);
    assert_same(&driver.receive(0, LEN), &bytes_at(0, LEN));
    drop(server.join().expect("no panic"));
    assert_eq!(driver.one().kind, SeenKind::Closed);
}

pub(crate) fn closing_forgets_what_was_stamped<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    for _ in 0..200 {
        driver.connected(0, &endpoint, STAMPED);
        let mut peer = listener.accept().expect("accept").0;
        driver.send_pooled(0, b"x");
        driver.backend.submit();
        peer.write_all(b"response").expect("write");
        // At the first event, with the others of the same read still queued.
        driver.handle(|backend, seen| {
            assert!(matches!(seen.kind, SeenKind::Transmitted | SeenKind::Received(_)), "{seen:?}");
            backend.close(ConnId(0), Close::Graceful);
        });
    }
    driver.quiet();
}
