//! Accepting connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use weir_io::{
    Close, ConnId, Endpoint, EventKind, ListenOptions, Listener, Nanos, Segment, SocketOptions,
    WaitPolicy, Waker,
};

use crate::driver::{Driver, Machine, SeenKind, assert_same, bytes_at, unique};

fn any_port() -> Endpoint {
    Endpoint::Tcp(([127, 0, 0, 1], 0).into())
}

fn listen<B: Machine>(driver: &mut Driver<B>, at: &Endpoint) -> Endpoint {
    let listener = Listener::bind(at, ListenOptions::default()).expect("bind");
    let endpoint = listener.local_endpoint().expect("name");
    driver.backend.listen(listener).expect("listen");
    endpoint
}

fn dial(to: &Endpoint) -> TcpStream {
    let Endpoint::Tcp(address) = to else { panic!("{to} is no TCP endpoint") };
    TcpStream::connect(address).expect("connect")
}

/// Sends everything back until woken.
fn echo<B: Machine>(mut driver: Driver<B>) {
    loop {
        driver.backend.wait(Nanos::MAX, WaitPolicy::Sleep).expect("wait");
        let mut any = false;
        let mut received = Vec::new();
        while let Some(event) = driver.backend.next() {
            any = true;
            match event.kind {
                EventKind::Received { bytes, .. } => {
                    received.push((event.conn, Some(bytes.to_vec())))
                }
                EventKind::Closed => received.push((event.conn, None)),
                EventKind::Accepted | EventKind::Failed(_) => {}
                kind => panic!("{kind:?}"),
            }
            while let Some((conn, bytes)) = received.pop() {
                match bytes {
                    Some(bytes) => {
                        let id = driver.backend.pool(&bytes);
                        driver.backend.send(conn, &[Segment::Pooled(id)]);
                    }
                    None => driver.backend.close(conn, Close::Graceful),
                }
            }
        }
        if !any {
            return;
        }
    }
}

pub(crate) fn serves_itself<B: Machine>() {
    const CONNS: u32 = 50;
    const LEN: usize = 200_000;
    for at in [any_port(), Endpoint::Unix(format!("@{}", unique("echo")).into())] {
        let waker = Waker::new().expect("waker");
        let (sender, endpoint) = std::sync::mpsc::channel();
        let given = waker.clone();
        // A backend belongs to the thread that created it.
        let server = thread::spawn(move || {
            let mut server = Driver::<B>::with(Some(given), CONNS);
            sender.send(listen(&mut server, &at)).expect("the other end waits");
            echo(server);
        });
        let endpoint = endpoint.recv().expect("the server listens");
        let mut client = Driver::<B>::new();
        let id = client.template(&bytes_at(0, LEN));
        for generation in 0..3 {
            for conn in 0..CONNS {
                client.connect(conn, &endpoint);
            }
            let mut received = vec![Vec::new(); CONNS as usize];
            while received.iter().any(|bytes| bytes.len() < LEN) {
                client.handle(|backend, seen| {
                    assert_eq!(seen.generation, generation);
                    match seen.kind {
                        SeenKind::Connected => {
                            let whole = Segment::Template { id, bytes: LEN as u32 };
                            backend.send(seen.conn, &[whole]);
                        }
                        SeenKind::Received(bytes) => received[seen.conn.index()].extend(bytes),
                        kind => panic!("{kind:?}"),
                    }
                });
            }
            received.iter().for_each(|bytes| assert_same(bytes, &bytes_at(0, LEN)));
            (0..CONNS).for_each(|conn| client.close(conn));
        }
        client.quiet();
        // The server is woken until it has nothing else to do.
        while !server.is_finished() {
            waker.wake();
            thread::yield_now();
        }
        server.join().expect("no panic");
    }
}

pub(crate) fn gives_the_lowest_free_number<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let endpoint = listen(&mut driver, &any_port());
    let mut peers = Vec::new();
    for number in 0..5 {
        peers.push(Some(dial(&endpoint)));
        let seen = driver.one();
        assert_eq!(
            (seen.conn, seen.generation, seen.kind),
            (ConnId(number), 0, SeenKind::Accepted)
        );
    }
    // One connection is closed by this side, one is reset by the peer, which closes with bytes
    // unread.
    driver.close(3);
    driver.send_pooled(1, b"unread");
    driver.backend.submit();
    let gone = peers[1].take().expect("open");
    gone.set_nonblocking(false).expect("blocking");
    gone.peek(&mut [0; 6]).expect("peek");
    drop(gone);
    assert_eq!(driver.one().kind, SeenKind::Failed(libc::ECONNRESET));
    for number in [1, 3] {
        peers.push(Some(dial(&endpoint)));
        let seen = driver.one();
        assert_eq!(
            (seen.conn, seen.generation, seen.kind),
            (ConnId(number), 1, SeenKind::Accepted)
        );
    }
    // The next connection gets a new number.
    peers.push(Some(dial(&endpoint)));
    let seen = driver.one();
    assert_eq!((seen.conn, seen.generation, seen.kind), (ConnId(5), 0, SeenKind::Accepted));
}

pub(crate) fn accepts_no_more_than_it_may<B: Machine>() {
    let mut driver = Driver::<B>::with(None, 2);
    let endpoint = listen(&mut driver, &any_port());
    let mut peers: Vec<_> = (0..4).map(|_| dial(&endpoint)).collect();
    let mut accepted = 0;
    while accepted < 2 {
        accepted += driver.take_events().len();
    }
    driver.quiet();
    for (i, peer) in peers.iter_mut().enumerate().take(2) {
        peer.write_all(b"x").expect("write");
        let seen = driver.one();
        assert_eq!((seen.conn.index(), seen.kind), (i, SeenKind::Received(b"x".to_vec())));
    }
    for number in [1, 0] {
        driver.close(number);
        let seen = driver.one();
        assert_eq!(
            (seen.conn, seen.generation, seen.kind),
            (ConnId(number), 1, SeenKind::Accepted)
        );
    }
    driver.quiet();
    assert_eq!(peers[1].read(&mut [0]).expect("an orderly end"), 0);
}

pub(crate) fn accepts_at_several_addresses<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let one = listen(&mut driver, &any_port());
    let two = listen(&mut driver, &any_port());
    let _peers: Vec<_> = [&one, &two, &two, &one].map(dial).into();
    let mut accepted = Vec::new();
    while accepted.len() < 4 {
        accepted.extend(driver.take_events());
    }
    for (number, seen) in accepted.iter().enumerate() {
        assert_eq!((seen.conn.index(), &seen.kind), (number, &SeenKind::Accepted));
    }
    // It may connect to itself, under numbers chosen by the caller.
    driver.backend.connect(ConnId(100), &one, SocketOptions::default());
    let mut both = Vec::new();
    while both.len() < 2 {
        both.extend(driver.take_events().into_iter().map(|seen| (seen.conn, seen.kind)));
    }
    both.sort_by_key(|(conn, _)| *conn);
    assert_eq!(both, [(ConnId(4), SeenKind::Accepted), (ConnId(100), SeenKind::Connected)]);
}
