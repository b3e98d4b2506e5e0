//! Servers of a few lines, for behaviour that no proper server has: a function reads the requests
//! of each connection and writes arbitrary bytes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::wait;

/// Time before each request is read: no test wants speed, and closed loops at full speed take the
/// CPUs of the tests beside them.
const PAUSE: Duration = Duration::from_micros(300);

/// The simplest response.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server on a free port, with a thread per connection. It ends with its test.
#[derive(Debug)]
pub(crate) struct Raw {
    address: SocketAddr,
    authority: String,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

/// State shared by the connections of a server.
#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    accepted: AtomicU64,
    requests: AtomicU64,
    streams: Mutex<Vec<TcpStream>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// One accepted connection.
#[derive(Debug)]
pub(crate) struct Peer {
    stream: TcpStream,
    shared: Arc<Shared>,
    buffer: Vec<u8>,
    /// Its number among all connections, from 0.
    pub(crate) number: u64,
    /// Address of the client.
    pub(crate) address: SocketAddr,
}

impl Raw {
    /// Serves each connection by `serve`, which ends it by returning.
    pub(crate) fn start(
        serve: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static,
    ) -> Raw {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared::default());
        let serve = Arc::new(serve);
        let theirs = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            for stream in listener.incoming() {
                if theirs.is_over.load(Ordering::Acquire) {
                    return;
                }
                let stream = stream.expect("connections can be accepted");
                // Responses to pipelined requests must not wait for each other (tcp(7)).
                stream.set_nodelay(true).expect("it is a TCP socket");
                let number = theirs.accepted.fetch_add(1, Ordering::Relaxed);
                lock(&theirs.streams).push(stream.try_clone().expect("descriptors are left"));
                let shared = Arc::clone(&theirs);
                let address = stream.peer_addr().expect("it is connected");
                let mut peer = Peer { stream, shared, buffer: Vec::new(), number, address };
                let serve = Arc::clone(&serve);
                lock(&theirs.threads).push(thread::spawn(move || {
                    // A client that closes the connection is no failure of a server.
                    let _gone = serve(&mut peer);
                    let _closed = peer.stream.shutdown(Shutdown::Both);
                }));
            }
        });
        Raw { address, authority: address.to_string(), shared, acceptor: Some(acceptor) }
    }

    /// Responds to every request with the same bytes, and keeps connections open.
    pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> Raw {
        let answer = answer.into();
        Raw::start(move |peer| {
            while peer.read_request()?.is_some() {
                peer.write(&answer)?;
            }
            Ok(())
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        &self.authority
    }

    /// Requests read so far.
    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Acquire)
    }

    /// Connections accepted so far.
    pub(crate) fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Acquire)
    }

    /// Waits until that many requests have been read.
    pub(crate) fn await_requests(&self, count: u64) {
        let what = format!("{count} requests");
        wait::until(&what, || (self.requests() >= count).then_some(()));
    }

    /// Waits until every connection has ended, which the end of the client causes; returns the
    /// number of requests read.
    pub(crate) fn finish(mut self) -> u64 {
        self.stop_accepting();
        for thread in std::mem::take(&mut *lock(&self.shared.threads)) {
            thread.join().expect("no server of a test panics");
        }
        self.requests()
    }

    fn stop_accepting(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        if let Some(acceptor) = self.acceptor.take() {
            // A connection wakes the acceptor.
            let _ended = TcpStream::connect(self.address);
            let _panicked = acceptor.join();
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.stop_accepting();
        for stream in lock(&self.shared.streams).drain(..) {
            let _closed = stream.shutdown(Shutdown::Both);
        }
        for thread in std::mem::take(&mut *lock(&self.shared.threads)) {
            let _panicked = thread.join();
        }
    }
}

impl Peer {
    /// Reads the next request's head; `None` if the client has closed.
    pub(crate) fn read_request(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..at + 4).collect();
                self.shared.requests.fetch_add(1, Ordering::AcqRel);
                wait::let_pass(PAUSE);
                return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
            }
            let mut chunk = [0; 4096];
            match self.stream.read(&mut chunk)? {
                0 => return Ok(None),
                count => self.buffer.extend_from_slice(&chunk[..count]),
            }
        }
    }

    /// Reads the next bytes, which are the body of the last request.
    pub(crate) fn read_body(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut body: Vec<u8> = self.buffer.drain(..bytes.min(self.buffer.len())).collect();
        let rest = body.len();
        body.resize(bytes, 0);
        self.stream.read_exact(&mut body[rest..])?;
        Ok(body)
    }

    /// The connection's socket, for another protocol on top of it.
    pub(crate) fn stream(&self) -> io::Result<TcpStream> {
        self.stream.try_clone()
    }

    /// Counts a request that was read from [`stream`](Peer::stream).
    pub(crate) fn count_request(&self) {
        self.shared.requests.fetch_add(1, Ordering::AcqRel);
    }

    /// Requests that the server has read so far, over all connections.
    pub(crate) fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Acquire)
    }

    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Shuts down the sending side, and continues to read.
    pub(crate) fn end_stream(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Reads and discards until the client closes.
    pub(crate) fn await_close(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        while self.stream.read(&mut chunk)? > 0 {}
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
