//! Capabilities that a backend lacks: what belongs to them returns its default, and nothing else
//! changes.

use std::io::{ErrorKind, Read, Write};

use weir_io::{
    ConnId, Endpoint, ListenOptions, Listener, SocketOptions, StampRequest, TcpTally, ThreadUsage,
};

use crate::driver::{self, Driver, Machine, SeenKind};
use crate::ending::reset;

pub(crate) fn listen<B: Machine>() {
    let endpoint = Endpoint::Tcp(([127, 0, 0, 1], 0).into());
    let listener = Listener::bind(&endpoint, ListenOptions::default()).expect("bind");
    let error = Driver::<B>::new().backend.listen(listener).expect_err("not a server");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

pub(crate) fn sources<B: Machine>() {
    let (_listener, endpoint) = driver::tcp();
    let mut driver = Driver::<B>::new();
    let source = Some("127.0.0.1".parse().expect("an address"));
    driver.backend.connect(ConnId(0), &endpoint, SocketOptions { source, ..Default::default() });
    assert_eq!(driver.one().kind, SeenKind::Failed(libc::EOPNOTSUPP));
}

pub(crate) fn stamps<B: Machine>() {
    let (listener, endpoint) = driver::tcp();
    let mut driver = Driver::<B>::new();
    for stamps in [StampRequest::All, StampRequest::Sample] {
        driver.connected(0, &endpoint, SocketOptions { stamps, ..Default::default() });
        let mut peer = listener.accept().expect("accept").0;
        for _ in 0..100 {
            driver.send_pooled(0, b"request!");
            driver.backend.submit();
            peer.read_exact(&mut [0; 8]).expect("read");
            peer.write_all(b"response").expect("write");
            let seen = driver.one();
            assert_eq!((seen.kind, seen.stamp), (SeenKind::Received(b"response".to_vec()), None));
        }
        driver.close(0);
    }
}

pub(crate) fn tcp<B: Machine>() {
    let (listener, endpoint) = driver::tcp();
    let mut driver = Driver::<B>::new();
    driver.connected(0, &endpoint, SocketOptions::default());
    drop(listener.accept().expect("accept"));
    driver.until(|seen| seen.kind == SeenKind::Closed);
    driver.close(0);
    assert_eq!(driver.backend.tcp(), TcpTally::default());
}

pub(crate) fn unsent_bytes<B: Machine>() {
    let (listener, endpoint) = driver::tcp();
    let mut driver = Driver::<B>::new();
    driver.connected(0, &endpoint, SocketOptions::default());
    reset(listener.accept().expect("accept").0);
    driver.send_pooled(0, b"lost");
    driver.backend.submit();
    driver.until(|seen| matches!(seen.kind, SeenKind::Failed(_)));
    assert_eq!(driver.backend.unsent_bytes(), 0);
}

pub(crate) fn usage<B: Machine>() {
    let mut driver = Driver::<B>::new();
    driver.quiet();
    assert_eq!(driver.backend.usage(), ThreadUsage::default());
}
