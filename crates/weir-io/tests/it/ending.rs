//! Ends of connections, from either side, graceful or not.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use weir_io::{Close, ConnId, Endpoint, Segment, SocketOptions, StampRequest, WaitPolicy};

use crate::driver::{Driver, Machine, Seen, SeenKind, assert_same, bytes_at, tcp};

/// Closes with a reset.
pub(crate) fn reset(peer: TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let len = size_of_val(&linger) as libc::socklen_t;
    let value = (&raw const linger).cast();
    // SAFETY: the value has the given length.
    let result = unsafe {
        libc::setsockopt(peer.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, value, len)
    };
    assert_eq!(result, 0);
}

/// Splits events into the received bytes and the rest.
fn split(all: Vec<Seen>) -> (Vec<u8>, Vec<SeenKind>) {
    let mut bytes = Vec::new();
    let mut rest = Vec::new();
    for seen in all {
        match seen.kind {
            SeenKind::Received(more) => {
                assert!(rest.is_empty(), "bytes after {rest:?}");
                bytes.extend(more);
            }
            kind => rest.push(kind),
        }
    }
    (bytes, rest)
}

fn pair<B: Machine>(driver: &mut Driver<B>) -> TcpStream {
    let (listener, endpoint) = tcp();
    driver.connected(0, &endpoint, SocketOptions::default());
    listener.accept().expect("accept").0
}

pub(crate) fn end_of_file_comes_once<B: Machine>() {
    let mut driver = Driver::<B>::new();
    for len in [0, 1, 4096, 100_000] {
        let mut peer = pair(&mut driver);
        let server = thread::spawn(move || peer.write_all(&bytes_at(0, len)).expect("write"));
        let (bytes, rest) = split(driver.until(|seen| seen.kind == SeenKind::Closed));
        assert_same(&bytes, &bytes_at(0, len));
        assert_eq!(rest, [SeenKind::Closed]);
        server.join().expect("no panic");
        driver.quiet();
        driver.close(0);
        driver.quiet();
    }
}

pub(crate) fn sends_after_the_peer_has_ended<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let mut peer = pair(&mut driver);
    peer.shutdown(Shutdown::Write).expect("shutdown");
    assert_eq!(driver.one().kind, SeenKind::Closed);
    driver.send_pooled(0, b"still here");
    driver.backend.submit();
    let mut bytes = [0; 10];
    peer.read_exact(&mut bytes).expect("read");
    assert_eq!(&bytes, b"still here");
    driver.quiet();
    // The peer closes its socket, and then sending fails.
    drop(peer);
    let failed = loop {
        driver.send_pooled(0, b"anybody?");
        driver.backend.submit();
        let soon = driver.clock.now().after(1_000_000);
        driver.backend.wait(soon, WaitPolicy::Sleep).expect("wait");
        if let Some(event) = driver.backend.next() {
            break format!("{event:?}");
        }
    };
    assert!(failed.contains("Failed"), "{failed}");
    driver.quiet();
}

pub(crate) fn delivers_what_came_before_a_reset<B: Machine>() {
    let mut driver = Driver::<B>::new();
    for len in [0, 1, 1000, 40_000] {
        let mut peer = pair(&mut driver);
        // Fits the first window, as nothing is read meanwhile: the rest would be lost with the
        // peer.
        peer.write_all(&bytes_at(0, len)).expect("write");
        reset(peer);
        let all = driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        let (bytes, rest) = split(all);
        assert_same(&bytes, &bytes_at(0, len));
        assert_eq!(rest, [SeenKind::Failed(libc::ECONNRESET)]);
        driver.quiet();
    }
}

pub(crate) fn delivers_what_came_before_a_failed_send<B: Machine>() {
    let mut driver = Driver::<B>::new();
    for len in [0, 1000, 40_000] {
        let mut peer = pair(&mut driver);
        peer.write_all(&bytes_at(0, len)).expect("write");
        reset(peer);
        // The send fails by the reset before anything has been read.
        driver.send_pooled(0, b"request");
        driver.backend.submit();
        let all = driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        let (bytes, rest) = split(all);
        assert_same(&bytes, &bytes_at(0, len));
        // Either the send or the receive reports the reason, but only one, once.
        let errors = [SeenKind::Failed(libc::ECONNRESET), SeenKind::Failed(libc::EPIPE)];
        let rest: Vec<_> = rest.into_iter().filter(|kind| *kind != SeenKind::Closed).collect();
        assert!(rest.len() == 1 && errors.contains(&rest[0]), "{rest:?}");
        driver.quiet();
    }
}

pub(crate) fn reports_the_unsent_bytes_of_a_failed_send<B: Machine>() {
    let mut driver = Driver::<B>::new();
    for round in 0..20 {
        let peer = pair(&mut driver);
        driver.send_pooled(0, b"taken");
        driver.backend.submit();
        reset(peer);
        // The first send fails by the reset; the second is not attempted.
        driver.send_pooled(0, b"lost");
        driver.backend.submit();
        driver.send_pooled(0, b"later");
        driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        assert_eq!(driver.backend.unsent_bytes(), 9, "round {round}");
    }
}

pub(crate) fn counts_its_own_tcp_sockets<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let mut peers = Vec::new();
    for _ in 0..3 {
        peers.push(pair(&mut driver));
        driver.close(0);
        driver.backend.submit();
    }
    reset(pair(&mut driver));
    driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
    let tally = driver.backend.tcp();
    assert_eq!((tally.sockets, tally.sampled), (4, 4), "closed and failed ones alike");
    assert_eq!(tally.retransmitted_segments, 0);
    assert!(tally.rtts_min_ns.iter().all(|ns| *ns > 0), "{tally:?}");
    assert!(tally.rtts_min_ns.len() >= 3, "{tally:?}");
}

pub(crate) fn fails_once<B: Machine>() {
    let mut driver = Driver::<B>::new();
    for round in 0..100u16 {
        let peer = pair(&mut driver);
        driver.send_pooled(0, b"one");
        reset(peer);
        driver.send_pooled(0, b"two");
        driver.backend.submit();
        driver.send_pooled(0, b"three");
        let all = driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        let terminal = all.iter().filter(|seen| matches!(seen.kind, SeenKind::Failed(_)));
        assert_eq!(terminal.count(), 1);
        // Already closed by the backend, so these calls have no effect.
        driver.send_pooled(0, b"four");
        driver.backend.discard(ConnId(0), 10);
        if round % 2 == 0 {
            driver.close(0);
        }
        driver.backend.submit();
    }
    driver.quiet();
}

pub(crate) fn graceful_close_delivers_everything<B: Machine>() {
    const LEN: usize = 8 << 20;
    let mut driver = Driver::<B>::new();
    for len in [10, 100_000, LEN] {
        let mut peer = pair(&mut driver);
        let id = driver.template(&bytes_at(0, len));
        driver.backend.send(ConnId(0), &[Segment::Template { id, bytes: len as u32 }]);
        driver.close(0);
        let reader = thread::spawn(move || {
            let mut all = Vec::new();
            peer.read_to_end(&mut all).expect("read");
            all
        });
        // Meanwhile the number is free for another connection.
        let mut other = pair(&mut driver);
        driver.send_pooled(0, b"other");
        driver.backend.submit();
        while !reader.is_finished() {
            let soon = driver.clock.now().after(1_000_000);
            driver.backend.wait(soon, WaitPolicy::Sleep).expect("wait");
            assert!(driver.backend.next().is_none());
        }
        assert_same(&reader.join().expect("no panic"), &bytes_at(0, len));
        let mut five = [0; 5];
        other.read_exact(&mut five).expect("read");
        assert_eq!(&five, b"other");
        driver.close(0);
    }
}

pub(crate) fn reset_close_resets<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let mut peer = pair(&mut driver);
    driver.backend.close(ConnId(0), Close::Reset);
    driver.quiet();
    let error = peer.read(&mut [0; 10]).expect_err("a reset");
    assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));
    // Also with bytes in flight.
    let mut peer = pair(&mut driver);
    let id = driver.template(&bytes_at(0, 16 << 20));
    driver.backend.send(ConnId(0), &[Segment::Template { id, bytes: 16 << 20 }]);
    driver.backend.submit();
    driver.backend.close(ConnId(0), Close::Reset);
    driver.quiet();
    let error = peer.read_to_end(&mut Vec::new()).expect_err("a reset");
    assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));
}

/// A socket that both sides have ended may connect again, without a visible difference.
pub(crate) fn renewed_after_its_end_is_as_new<B: Machine>() {
    let (v4, to_v4) = tcp();
    let v6 = TcpListener::bind("[::1]:0").ok();
    let to_v6 = v6.as_ref().map(|v6| Endpoint::Tcp(v6.local_addr().expect("name")));
    let mut driver = Driver::<B>::new();
    let mut ports = Vec::new();
    for round in 0..60u16 {
        let (listener, to) = match (&v6, &to_v6) {
            (Some(v6), Some(to_v6)) if round % 7 == 6 => (v6, to_v6),
            _ => (&v4, &to_v4),
        };
        let source = (round % 10 == 9).then(|| if to == &to_v4 { "127.0.0.5" } else { "::1" });
        let source = source.filter(|_| B::CAPABILITIES.sources);
        let source = source.map(|source| source.parse().expect("valid"));
        let stamps = if round % 8 == 7 { StampRequest::All } else { StampRequest::None };
        let options = SocketOptions { source, stamps, ..Default::default() };
        driver.connected(0, to, options);
        let (mut peer, from) = listener.accept().expect("accept");
        if let Some(source) = source {
            assert_eq!(from.ip(), source);
        }
        ports.push(from.port());
        driver.send_pooled(0, b"request");
        driver.backend.submit();
        let mut request = [0; 7];
        peer.read_exact(&mut request).expect("read");
        assert_eq!(&request, b"request");
        let response = bytes_at(round.into(), 1000);
        peer.write_all(&response).expect("write");
        if round % 6 == 2 {
            driver.receive(0, 1000);
            driver.backend.close(ConnId(0), Close::Reset);
            continue;
        }
        peer.shutdown(Shutdown::Write).expect("shutdown");
        let received = driver.until(|seen| seen.kind == SeenKind::Closed).into_iter();
        let bytes = received.flat_map(|seen| match seen.kind {
            SeenKind::Received(bytes) => bytes,
            _ => Vec::new(),
        });
        assert_same(&bytes.collect::<Vec<u8>>(), &response);
        if round % 5 == 3 {
            driver.backend.close(ConnId(0), Close::Reset);
            driver.quiet();
            let error = peer.read(&mut request).expect_err("a reset");
            assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));
        } else if round % 5 == 4 {
            // The peer's side is closed by then, and does not acknowledge that this side ends.
            reset(peer);
            driver.close(0);
        } else {
            driver.close(0);
            driver.quiet();
            assert_eq!(peer.read(&mut request).expect("the end"), 0);
        }
    }
    // The kernel gives each connection a port, and none twice in so short a time.
    ports.sort_unstable();
    ports.dedup();
    assert!(ports.len() > 50, "{ports:?}");
}

pub(crate) fn closing_twice_is_harmless<B: Machine>() {
    let mut driver = Driver::<B>::new();
    driver.close(0);
    driver.close(4000);
    let mut peer = pair(&mut driver);
    driver.close(0);
    driver.close(0);
    driver.backend.close(ConnId(0), Close::Reset);
    driver.quiet();
    assert_eq!(peer.read(&mut [0; 10]).expect("an orderly end"), 0);
    driver.close(0);
    let mut peer = pair(&mut driver);
    driver.send_pooled(0, b"works");
    driver.backend.submit();
    let mut five = [0; 5];
    peer.read_exact(&mut five).expect("read");
}

pub(crate) fn dropping_ends_the_connections<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let mut peer = pair(&mut driver);
    driver.send_pooled(0, b"last words");
    driver.backend.submit();
    drop(driver);
    let mut all = Vec::new();
    peer.read_to_end(&mut all).expect("an orderly end");
    assert_eq!(all, b"last words");
}
