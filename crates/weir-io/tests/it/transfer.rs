//! Bytes in both directions: complete, in order, and nothing else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;

use weir_io::{
    ConnId, Endpoint, EventKind, Nanos, Segment, SocketOptions, StampRequest, WaitPolicy,
};

use crate::driver::{Driver, Machine, SeenKind, assert_same, byte_at, bytes_at, tcp, unique};

const MIB: usize = 1 << 20;

/// Creates a backend with one TCP connection, and its peer.
fn pair<B: Machine>() -> (Driver<B>, TcpStream) {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    driver.connected(0, &endpoint, SocketOptions::default());
    let peer = listener.accept().expect("accept").0;
    peer.set_nodelay(true).expect("nodelay");
    (driver, peer)
}

pub(crate) fn bytes_arrive_whole_at_every_split<B: Machine>() {
    let (mut driver, mut peer) = pair::<B>();
    let message = bytes_at(0, 120);
    for split in 1..message.len() {
        let (head, tail) = message.split_at(split);
        peer.write_all(head).expect("write");
        // The second part is written only after the first has arrived.
        assert_same(&driver.receive(0, head.len()), head);
        peer.write_all(tail).expect("write");
        assert_same(&driver.receive(0, tail.len()), tail);
        // Both parts at once.
        peer.write_all(head).expect("write");
        peer.write_all(tail).expect("write");
        assert_same(&driver.receive(0, message.len()), &message);
    }
}

pub(crate) fn receives_much<B: Machine>() {
    const LEN: usize = 16 * MIB;
    let (mut driver, mut peer) = pair::<B>();
    let server = thread::spawn(move || {
        for position in (0..LEN).step_by(MIB) {
            peer.write_all(&bytes_at(position as u64, MIB)).expect("write");
        }
    });
    let mut position = 0u64;
    let mut closed = false;
    while !closed {
        driver.handle(|_, seen| match seen.kind {
            SeenKind::Received(bytes) => {
                assert!(bytes.iter().enumerate().all(|(i, b)| *b == byte_at(position + i as u64)));
                position += bytes.len() as u64;
            }
            SeenKind::Closed => closed = true,
            kind => panic!("{kind:?}"),
        });
    }
    assert_eq!(position, LEN as u64);
    server.join().expect("no panic");
}

/// Reads `len` bytes in small pieces, yielding in between, and checks every one. Then sends a
/// confirmation and expects the end.
fn read_slowly(mut peer: impl Read + Write, len: usize) {
    let mut position = 0;
    let mut buffer = [0; 5000];
    while position < len {
        let read = peer.read(&mut buffer).expect("read");
        assert!(read > 0, "ended at {position}");
        for (i, byte) in buffer[..read].iter().enumerate() {
            assert_eq!(*byte, byte_at((position + i) as u64), "at {}", position + i);
        }
        position += read;
        thread::yield_now();
    }
    assert_eq!(position, len);
    peer.write_all(b"!").expect("write");
    assert_eq!(peer.read(&mut buffer).expect("read"), 0);
}

pub(crate) fn sends_much_to_a_slow_reader<B: Machine>() {
    const LEN: usize = 16 * MIB;
    let (mut driver, peer) = pair::<B>();
    let template = driver.template(&bytes_at(0, LEN));
    let reader = thread::spawn(move || read_slowly(peer, LEN));
    driver.backend.send(ConnId(0), &[Segment::Template { id: template, bytes: LEN as u32 }]);
    driver.backend.submit();
    assert_eq!(driver.receive(0, 1), b"!");
    driver.close(0);
    driver.quiet();
    reader.join().expect("no panic");
}

/// Sends segments of every size and kind: several in one call or in one submit, some while the
/// socket's buffer is full.
fn send_mixture<B: Machine>(driver: &mut Driver<B>, len: usize) {
    let mut position = 0;
    let mut round = 0u64;
    while position < len {
        let size = match round % 7 {
            0 => 1,
            1 => 200,
            2 => 30_000,
            3 => 7,
            4 => 300_000,
            5 => 2,
            _ => 70_000,
        };
        let size = size.min(len - position);
        let bytes = bytes_at(position as u64, size);
        let (first, second) = bytes.split_at(size / 3);
        let pooled = driver.backend.pool(first);
        // Longer than the part sent.
        let id = driver.template(&[second, b"not this"].concat());
        let rest = Segment::Template { id, bytes: second.len() as u32 };
        driver.backend.send(ConnId(0), &[Segment::Pooled(pooled), rest]);
        position += size;
        round += 1;
        match round % 5 {
            0 => drop(driver.backend.submit()),
            3 => {
                driver.backend.wait(Nanos::ZERO, WaitPolicy::Sleep).expect("wait");
                assert!(driver.backend.next().is_none());
            }
            _ => {}
        }
    }
    driver.backend.submit();
}

pub(crate) fn keeps_order_between_sends_of_all_kinds<B: Machine>() {
    const LEN: usize = 20 * MIB;
    let (mut driver, peer) = pair::<B>();
    let reader = thread::spawn(move || read_slowly(peer, LEN));
    send_mixture(&mut driver, LEN);
    assert_eq!(driver.receive(0, 1), b"!");
    driver.close(0);
    driver.quiet();
    reader.join().expect("no panic");

    let name = unique("order");
    let address = SocketAddr::from_abstract_name(&name).expect("a short name");
    let listener = UnixListener::bind_addr(&address).expect("bind");
    let endpoint = Endpoint::Unix(format!("@{name}").into());
    driver.connected(0, &endpoint, SocketOptions::default());
    let peer = listener.accept().expect("accept").0;
    let reader = thread::spawn(move || read_slowly(peer, LEN));
    send_mixture(&mut driver, LEN);
    assert_eq!(driver.receive(0, 1), b"!");
    driver.close(0);
    driver.quiet();
    reader.join().expect("no panic");
}

pub(crate) fn sends_prefixes_of_templates<B: Machine>() {
    let (mut driver, mut peer) = pair::<B>();
    let id = driver.template(&bytes_at(0, 1000));
    let other = driver.template(b"other");
    let mut expected = Vec::new();
    for bytes in (0..=1000u32).step_by(13) {
        let segments = [Segment::Template { id, bytes }, Segment::Template { id: other, bytes: 5 }];
        driver.backend.send(ConnId(0), &segments);
        expected.extend(bytes_at(0, bytes as usize));
        expected.extend(b"other");
        if bytes % 2 == 0 {
            driver.backend.submit();
        }
    }
    driver.backend.send(ConnId(0), &[]);
    driver.backend.submit();
    let mut sent = vec![0; expected.len()];
    peer.read_exact(&mut sent).expect("read");
    assert_same(&sent, &expected);
}

pub(crate) fn uses_pooled_buffers_again<B: Machine>() {
    let (mut driver, mut peer) = pair::<B>();
    let server = thread::spawn(move || {
        let mut four = [0; 4];
        while peer.read_exact(&mut four).is_ok() {
            peer.write_all(&four).expect("write");
        }
    });
    let mut largest = 0;
    for round in 0..10_000u32 {
        let id = driver.send_pooled(0, &round.to_ne_bytes());
        largest = largest.max(id.0);
        driver.backend.submit();
        assert_eq!(driver.receive(0, 4), round.to_ne_bytes());
    }
    // One is in use at a time; a few more may still be in use by the kernel.
    assert!(largest < 64, "{largest}");
    // Buffers of bytes that can no longer be sent do not accumulate either.
    driver.close(0);
    for _ in 0..1_000 {
        largest = largest.max(driver.send_pooled(0, b"late").0);
        largest = largest.max(driver.send_pooled(17, b"never opened").0);
    }
    assert!(largest < 64, "{largest}");
    driver.quiet();
    server.join().expect("no panic");
    // Nor do buffers of sends that stall on a full socket and are dropped.
    let (listener, endpoint) = tcp();
    for round in 0..100 {
        driver.connected(0, &endpoint, SocketOptions::default());
        let _peer = listener.accept().expect("accept").0;
        for _ in 0..6 {
            largest = largest.max(driver.send_pooled(0, &[0; 3 * MIB]).0);
        }
        driver.backend.submit();
        if round % 2 == 0 {
            driver.backend.wait(Nanos::ZERO, WaitPolicy::Sleep).expect("wait");
        }
        driver.backend.close(ConnId(0), weir_io::Close::Reset);
    }
    driver.quiet();
    assert!(largest < 64, "{largest}");
}

/// Responses, each of a head, a body and a tail; the body may be discarded.
const HEAD: u64 = 100;
const TAIL: u64 = 50;
const BODIES: [u64; 12] =
    [0, 1, 4095, 4096, 4097, 65_536, 100_000, 10 * MIB as u64, 5, 300_000, 8192, 1_000_000];

/// Returns the positions in the stream at which each body begins and ends.
fn bodies() -> Vec<(u64, u64)> {
    let mut position = 0;
    let place = |body: &u64| {
        let begins = position + HEAD;
        position = begins + body + TAIL;
        (begins, begins + body)
    };
    BODIES.iter().map(place).collect()
}

fn check_discard<B: Machine>(driver: &mut Driver<B>, mut peer: impl Write + Send + 'static) {
    let bodies = bodies();
    let len = bodies.last().expect("not empty").1 + TAIL;
    let server = thread::spawn(move || {
        let stream = bytes_at(0, len as usize);
        // In uneven pieces, so that heads and bodies may or may not share segments.
        for (i, piece) in stream.chunks(77_777).enumerate() {
            let (first, second) = piece.split_at(piece.len() * (i % 4) / 4);
            peer.write_all(first).expect("write");
            peer.write_all(second).expect("write");
        }
        peer
    });
    let mut position = 0u64;
    let mut response = 0;
    while position < len {
        driver.handle(|backend, seen| {
            let (mut begins, mut ends) = bodies[response];
            let from = position;
            match seen.kind {
                SeenKind::Received(bytes) => {
                    for byte in bytes {
                        assert_eq!(byte, byte_at(position), "at {position}");
                        position += 1;
                    }
                }
                SeenKind::Discarded(bytes) => {
                    assert!(bytes > 0 && begins <= from && from + bytes <= ends);
                    position += bytes;
                }
                kind => panic!("{kind:?} at {from}"),
            }
            // Skips complete responses; within a body, whose head has just arrived, discards the
            // rest.
            while response + 1 < bodies.len() && position >= ends + TAIL {
                response += 1;
                (begins, ends) = bodies[response];
            }
            if (begins..ends).contains(&position) && from < begins {
                backend.discard(ConnId(0), ends - position);
            }
        });
    }
    assert_eq!(position, len);
    driver.close(0);
    drop(server.join().expect("no panic"));
    driver.quiet();
}

pub(crate) fn discards_exactly_what_is_permitted<B: Machine>() {
    for discard in [true, false] {
        let options = SocketOptions { discard, ..SocketOptions::default() };
        let (listener, endpoint) = tcp();
        let mut driver = Driver::<B>::new();
        driver.connected(0, &endpoint, options);
        check_discard(&mut driver, listener.accept().expect("accept").0);

        let name = unique("discard");
        let address = SocketAddr::from_abstract_name(&name).expect("a short name");
        let listener = UnixListener::bind_addr(&address).expect("bind");
        driver.connected(0, &Endpoint::Unix(format!("@{name}").into()), options);
        check_discard(&mut driver, listener.accept().expect("accept").0);
    }
}

pub(crate) fn delivers_what_may_not_be_discarded<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    let options = SocketOptions { discard: true, ..SocketOptions::default() };
    driver.connected(0, &endpoint, options);
    let mut peer = listener.accept().expect("accept").0;
    let message = bytes_at(0, 300_000);
    let server = thread::spawn(move || {
        peer.write_all(&message).expect("write");
        peer
    });
    assert_same(&driver.receive(0, 300_000), &bytes_at(0, 300_000));
    // A permission that was withdrawn, or belonged to an older socket, permits nothing.
    driver.backend.discard(ConnId(0), 1 << 40);
    driver.backend.discard(ConnId(0), 0);
    driver.quiet();
    driver.backend.discard(ConnId(0), 1 << 40);
    driver.quiet();
    driver.backend.discard(ConnId(0), 0);
    driver.quiet();
    let mut peer = server.join().expect("no panic");
    peer.write_all(b"seen").expect("write");
    assert_eq!(driver.receive(0, 4), b"seen");
    driver.backend.discard(ConnId(0), 1 << 40);
    driver.close(0);
    driver.connected(0, &endpoint, options);
    let mut peer = listener.accept().expect("accept").0;
    peer.write_all(b"seen too").expect("write");
    assert_eq!(driver.receive(0, 8), b"seen too");
}

pub(crate) fn bytes_may_be_changed_in_place<B: Machine>() {
    let (mut driver, mut peer) = pair::<B>();
    for round in 0..2_000u64 {
        peer.write_all(&bytes_at(round, 100)).expect("write");
        let mut position = round;
        while position < round + 100 {
            driver.backend.wait(Nanos::MAX, WaitPolicy::Sleep).expect("wait");
            while let Some(event) = driver.backend.next() {
                let EventKind::Received { bytes, .. } = event.kind else { panic!("{event:?}") };
                for byte in bytes {
                    assert_eq!(*byte, byte_at(position));
                    position += 1;
                    *byte = 0xff;
                }
            }
        }
    }
}

pub(crate) fn serves_all_when_one_floods<B: Machine>() {
    // A backend of few connections has few buffers, which one connection can fill at once.
    for (connections, stamps) in
        [(4096, StampRequest::None), (3, StampRequest::None), (3, StampRequest::Sample)]
    {
        serves_both::<B>(connections, SocketOptions { stamps, ..SocketOptions::default() });
    }
}

/// Receives from a connection without a pause, and exchanges messages on another beside it.
fn serves_both<B: Machine>(connections: u32, options: SocketOptions) {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::with(None, connections);
    driver.connected(0, &endpoint, options);
    let mut flood = listener.accept().expect("accept").0;
    driver.connected(1, &endpoint, options);
    let mut quiet = listener.accept().expect("accept").0;
    let flooder = thread::spawn(move || while flood.write_all(&[7; 200_000]).is_ok() {});
    let server = thread::spawn(move || {
        let mut four = [0; 4];
        for _ in 0..100 {
            quiet.read_exact(&mut four).expect("read");
            quiet.write_all(&four).expect("write");
        }
    });
    let mut responses = 0;
    driver.send_pooled(1, b"ping");
    while responses < 100 {
        driver.handle(|backend, seen| {
            // The server closes after its last response.
            let is_other = matches!(seen.kind, SeenKind::Closed | SeenKind::Transmitted);
            if seen.conn == ConnId(1) && !is_other {
                assert_eq!(seen.kind, SeenKind::Received(b"ping".to_vec()));
                responses += 1;
                if responses < 100 {
                    let ping = backend.pool(b"ping");
                    backend.send(ConnId(1), &[Segment::Pooled(ping)]);
                }
            }
        });
    }
    server.join().expect("no panic");
    driver.backend.close(ConnId(0), weir_io::Close::Reset);
    while !flooder.is_finished() {
        driver.backend.wait(Nanos::ZERO, WaitPolicy::Sleep).expect("wait");
        while driver.backend.next().is_some() {}
    }
    flooder.join().expect("no panic");
}
