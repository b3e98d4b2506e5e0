//! Start of connections, and the socket of a number that an event belongs to.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;

use weir_io::{ConnId, Endpoint, SocketOptions};

use crate::driver::{Driver, Machine, SeenKind, tcp, unique};

/// Exchanges a few bytes both ways on connection 0.
fn exchange<B: Machine>(driver: &mut Driver<B>, mut peer: impl Read + Write) {
    driver.send_pooled(0, b"ping");
    driver.backend.submit();
    let mut four = [0; 4];
    peer.read_exact(&mut four).expect("read");
    assert_eq!(&four, b"ping");
    peer.write_all(b"pong!").expect("write");
    assert_eq!(driver.receive(0, 5), b"pong!");
}

pub(crate) fn connects_to_every_kind_of_endpoint<B: Machine>() {
    let mut driver = Driver::<B>::new();

    for address in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(address) else {
            assert!(address.starts_with('['), "a machine may lack IPv6, but not IPv4");
            continue;
        };
        let endpoint = Endpoint::Tcp(listener.local_addr().expect("name"));
        driver.connected(0, &endpoint, SocketOptions::default());
        exchange(&mut driver, listener.accept().expect("accept").0);
        driver.close(0);
    }

    let path = std::env::temp_dir().join(unique("path"));
    let listener = UnixListener::bind(&path).expect("bind");
    driver.connected(0, &Endpoint::Unix(path.clone()), SocketOptions::default());
    exchange(&mut driver, listener.accept().expect("accept").0);
    driver.close(0);
    std::fs::remove_file(&path).expect("remove");

    let name = unique("abstract");
    let address = SocketAddr::from_abstract_name(&name).expect("a short name");
    let listener = UnixListener::bind_addr(&address).expect("bind");
    let endpoint = Endpoint::Unix(format!("@{name}").into());
    driver.connected(0, &endpoint, SocketOptions::default());
    exchange(&mut driver, listener.accept().expect("accept").0);
}

pub(crate) fn connects_from_the_source_it_was_given<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    for source in ["127.0.0.2", "127.77.1.254"] {
        let source: IpAddr = source.parse().expect("an address");
        let options = SocketOptions { source: Some(source), ..SocketOptions::default() };
        driver.connected(0, &endpoint, options);
        let (peer, from) = listener.accept().expect("accept");
        assert_eq!(from.ip(), source);
        exchange(&mut driver, peer);
        driver.close(0);
    }
    // An address reserved for documentation belongs to no machine.
    let source = Some("192.0.2.1".parse().expect("an address"));
    let options = SocketOptions { source, ..SocketOptions::default() };
    driver.backend.connect(ConnId(1), &endpoint, options);
    assert_eq!(driver.one().kind, SeenKind::Failed(libc::EADDRNOTAVAIL));
}

pub(crate) fn reports_why_a_connect_failed<B: Machine>() {
    let mut driver = Driver::<B>::new();
    let (listener, unbound) = tcp();
    drop(listener);
    let absent = Endpoint::Unix("/nonexistent/weir.sock".into());
    let nameless = Endpoint::Unix(format!("@{}", unique("unbound")).into());
    let long = Endpoint::Unix("x".repeat(200).into());
    for (endpoint, errno) in [
        (unbound, libc::ECONNREFUSED),
        (absent, libc::ENOENT),
        (nameless, libc::ECONNREFUSED),
        (long, libc::ENAMETOOLONG),
    ] {
        driver.connect(3, &endpoint);
        let seen = driver.one();
        assert_eq!((seen.conn, seen.kind), (ConnId(3), SeenKind::Failed(errno)));
        driver.quiet();
    }
}

pub(crate) fn counts_generations<B: Machine>() {
    let (listener, endpoint) = tcp();
    let (gone, unbound) = tcp();
    drop(gone);
    let mut driver = Driver::<B>::new();
    for round in 0..100u16 {
        // Failed connects count as sockets of the number too.
        let to = if round % 3 == 1 { &unbound } else { &endpoint };
        driver.connect(7, to);
        let seen = driver.one();
        assert_eq!(seen.generation, round);
        driver.close(7);
        // Other numbers count separately.
        if round == 50 {
            driver.connect(0, &endpoint);
            assert_eq!(driver.one().generation, 0);
            driver.close(0);
        }
    }
    drop(listener);
}

pub(crate) fn delivers_nothing_of_an_older_socket<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    for round in 0..50u16 {
        driver.connect(0, &endpoint);
        driver.connect(1, &endpoint);
        let mut connected = 0;
        while connected < 2 {
            connected += driver.take_events().len();
        }
        let mut peers =
            [listener.accept().expect("accept").0, listener.accept().expect("accept").0];
        for peer in &mut peers {
            peer.write_all(b"old").expect("write");
        }
        // Both have bytes to read; while the first is handled, the second is renewed.
        let mut old = Vec::new();
        driver.handle(|backend, seen| {
            if old.is_empty() {
                let other = ConnId(1 - seen.conn.0);
                backend.close(other, weir_io::Close::Graceful);
                backend.connect(other, &endpoint, SocketOptions::default());
            }
            old.push(seen);
        });
        let first = old[0].conn;
        let other = ConnId(1 - first.0);
        while !old.iter().any(|seen| seen.conn == other) {
            old.extend(driver.take_events());
        }
        let seen = old.iter().find(|seen| seen.conn == other).expect("just seen");
        assert_eq!(seen.kind, SeenKind::Connected, "round {round}");
        let mut peer = listener.accept().expect("accept").0;
        peer.write_all(b"new").expect("write");
        assert_eq!(driver.receive(other.0, 3), b"new");
        driver.close(0);
        driver.close(1);
    }
}

pub(crate) fn delivers_nothing_of_an_abandoned_connect<B: Machine>() {
    let (_listener, endpoint) = tcp();
    let (gone, unbound) = tcp();
    drop(gone);
    let mut driver = Driver::<B>::new();
    for to in [&endpoint, &unbound, &Endpoint::Unix("/nonexistent/weir.sock".into())] {
        driver.connect(0, to);
        driver.close(0);
        driver.quiet();
        driver.connect(0, to);
        driver.backend.submit();
        driver.close(0);
        driver.quiet();
        // After the wait and before the event is taken.
        driver.connect(0, to);
        let soon = driver.clock.now() + std::time::Duration::from_secs(100);
        driver.backend.wait(soon, weir_io::WaitPolicy::Sleep).expect("wait");
        driver.close(0);
        driver.quiet();
    }
}

pub(crate) fn sends_what_was_queued_while_connecting<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    driver.connect(0, &endpoint);
    driver.send_pooled(0, b"early ");
    driver.backend.submit();
    driver.send_pooled(0, b"bird");
    assert_eq!(driver.one().kind, SeenKind::Connected);
    driver.backend.submit();
    let mut bytes = [0; 10];
    listener.accept().expect("accept").0.read_exact(&mut bytes).expect("read");
    assert_eq!(&bytes, b"early bird");
}

pub(crate) fn takes_a_greeting<B: Machine>() {
    let (listener, endpoint) = tcp();
    let mut driver = Driver::<B>::new();
    driver.connect(0, &endpoint);
    driver.backend.submit();
    // The greeting and the end have arrived before the backend polls.
    let mut peer = listener.accept().expect("accept").0;
    peer.write_all(b"220 hello").expect("write");
    drop(peer);
    let all = driver.until(|seen| seen.kind == SeenKind::Closed);
    let kind: Vec<SeenKind> = all.into_iter().map(|seen| seen.kind).collect();
    assert_eq!(
        kind,
        [SeenKind::Connected, SeenKind::Received(b"220 hello".to_vec()), SeenKind::Closed]
    );
}

pub(crate) fn waits_for_room_in_a_unix_backlog<B: Machine>() {
    let name = unique("backlog");
    let address = SocketAddr::from_abstract_name(&name).expect("a short name");
    let listener = UnixListener::bind_addr(&address).expect("bind");
    // SAFETY: listen takes no pointers; on a listening socket it changes the backlog.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let endpoint = Endpoint::Unix(format!("@{name}").into());
    let mut driver = Driver::<B>::new();
    for conn in 0..20 {
        driver.connect(conn, &endpoint);
    }
    let accept = move || (0..20).map(|_| listener.accept().expect("accept").0).collect();
    let server = thread::spawn(accept);
    let mut connected = 0;
    while connected < 20 {
        driver.handle(|_, seen| {
            assert_eq!(seen.kind, SeenKind::Connected);
            connected += 1;
        });
    }
    let peers: Vec<UnixStream> = server.join().expect("no panic");
    assert_eq!(peers.len(), 20);
}

pub(crate) fn holds_many_connections<B: Machine>() {
    const MANY: u32 = 2_000;
    let (listener, endpoint) = tcp();
    let server = thread::spawn(move || {
        let mut peers: Vec<_> = (0..MANY).map(|_| listener.accept().expect("accept").0).collect();
        for peer in &mut peers {
            let mut four = [0; 4];
            peer.read_exact(&mut four).expect("read");
            peer.write_all(&four).expect("write");
        }
        peers
    });
    let mut driver = Driver::<B>::new();
    for chunk in 0..MANY / 100 {
        for conn in chunk * 100..(chunk + 1) * 100 {
            driver.connect(conn, &endpoint);
        }
        let mut connected = 0;
        while connected < 100 {
            driver.handle(|_, seen| {
                assert_eq!(seen.kind, SeenKind::Connected, "{seen:?}");
                connected += 1;
            });
        }
    }
    for conn in 0..MANY {
        driver.send_pooled(conn, &conn.to_ne_bytes());
    }
    driver.backend.submit();
    let mut has_response = vec![false; MANY as usize];
    let mut count = 0;
    while count < MANY {
        driver.handle(|_, seen| {
            assert_eq!(seen.kind, SeenKind::Received(seen.conn.0.to_ne_bytes().to_vec()));
            assert!(!std::mem::replace(&mut has_response[seen.conn.index()], true));
            count += 1;
        });
    }
    drop(server.join().expect("no panic"));
}
