//! The HTTP endpoint of `--listen`: one thread of low priority that serves `/metrics` to a few
//! clients, and waits for none of them. Threads of the load do nothing for it. On the loopback it
//! answers no foreign host name: a page in a browser could have its own name resolve to this
//! machine, and read the metrics (DNS rebinding).

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_machine::sys;
use weir_runner::NoThread;

use super::scrapers::Scrapers;
use super::{LivePhase, SharedTotals, metrics};
use crate::terminal;

/// Most connections. A further one closes the oldest.
const CLIENTS_MAX: usize = 8;

/// Time in which a client sends its request, and receives the response.
const PATIENCE: Duration = Duration::from_secs(2);

/// Longest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Advice of most refusals.
const PLACE: &str = "the metrics are at /metrics";

/// Pause after events. It limits the CPU time that any number of clients can cause.
const PAUSE: Duration = Duration::from_millis(10);

/// The listening socket and its clients.
pub(crate) struct LiveEndpoint {
    listener: TcpListener,
    /// Connections whose request is not complete, the oldest first.
    clients: VecDeque<PageClient>,
    totals: SharedTotals,
    scrapers: Scrapers,
    is_on_loopback: bool,
}

impl LiveEndpoint {
    /// Opens the endpoint. Clients may connect, and wait until it starts.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub(crate) fn open(
        address: SocketAddr,
        totals: SharedTotals,
        scrapers: Scrapers,
    ) -> Result<LiveEndpoint> {
        let listener = TcpListener::bind(address).with_context(|| {
            format!("--listen {address} cannot be opened: choose another port, or 0 for a free one")
        })?;
        listener.set_nonblocking(true)?;
        let is_on_loopback = address.ip().is_loopback();
        Ok(LiveEndpoint { listener, clients: VecDeque::new(), totals, scrapers, is_on_loopback })
    }

    /// Starts the thread, which serves until the program ends, and prints the address. Signals are
    /// blocked by then: one that this thread received would end the program.
    ///
    /// # Errors
    /// When no thread is left.
    pub(crate) fn start(mut self) -> Result<()> {
        let address = self.listener.local_addr()?;
        let serve = move || {
            // Where it is forbidden, the thread runs like all others.
            let _as_others = sys::lower_priority();
            while self.turn().is_ok() {}
        };
        // This thread outlives the run: nothing ends its wait.
        let builder = thread::Builder::new().name("weir-metrics".to_owned());
        let _detached = builder.spawn(serve).map_err(NoThread)?;
        terminal::eprint_line(format_args!("metrics at http://{address}/metrics"));
        Ok(())
    }

    /// Waits for events, and handles them.
    fn turn(&mut self) -> io::Result<()> {
        let first = self.clients.iter().map(|client| client.until).min();
        let timeout = first.map(|until| until.saturating_duration_since(Instant::now()));
        let sockets = self.clients.iter().map(|client| client.stream.as_fd());
        let sources: Vec<_> = sockets.chain([self.listener.as_fd()]).collect();
        let mut ready = sys::await_readable(&sources, timeout)?;
        let is_calling = ready.pop().unwrap_or(false);
        let now = Instant::now();
        for (mut client, is_ready) in std::mem::take(&mut self.clients).into_iter().zip(ready) {
            match if is_ready { client.receive() } else { Ok(false) } {
                Ok(true) => self.respond(client),
                Ok(false) if now < client.until => self.clients.push_back(client),
                Ok(false) | Err(_) => client.close(),
            }
        }
        if is_calling {
            self.accept(now);
        }
        thread::sleep(PAUSE);
        Ok(())
    }

    /// Accepts the connections that wait.
    fn accept(&mut self, now: Instant) {
        for _ in 0..CLIENTS_MAX {
            let Ok((stream, peer)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == CLIENTS_MAX {
                self.clients.pop_front().into_iter().for_each(PageClient::close);
            }
            let address = peer.ip();
            let until = now + PATIENCE;
            self.clients.push_back(PageClient { stream, address, head: Vec::new(), until });
        }
    }

    /// Sends the response to a client, and closes its connection. A response fits the socket's
    /// buffer, so that this seldom waits.
    fn respond(&self, mut client: PageClient) {
        let mut stage = None;
        let is_foreign = self.is_on_loopback && client.is_foreign();
        let response = match is_foreign {
            true => refusal("421 Misdirected Request", "", "the Host must be localhost"),
            false => response(&client.head, || {
                self.totals.read(|totals| {
                    stage = Some(totals.stage);
                    metrics::page(totals)
                })
            }),
        };
        if client.send(&response).is_ok()
            && let Some(stage) = stage
        {
            let agent = header(&client.head, "user-agent");
            self.scrapers.seen(client.address, agent, stage == LivePhase::Ended, Instant::now());
        }
        client.close();
    }
}

/// A connection.
struct PageClient {
    stream: TcpStream,
    address: IpAddr,
    /// Bytes of its request so far.
    head: Vec<u8>,
    until: Instant,
}

impl PageClient {
    /// Reads the bytes that are there. Returns true once the head is complete, or too long.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; HEAD_BYTES_MAX];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => self.head.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        }
        let is_complete = self.head.windows(4).any(|end| end == b"\r\n\r\n");
        Ok(is_complete || self.head.len() > HEAD_BYTES_MAX)
    }

    /// True if the request is for another host than this one. A client without a name for it, and
    /// one that uses an address, reached it without the DNS.
    fn is_foreign(&self) -> bool {
        let Some(host) = header(&self.head, "host") else { return false };
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address,
            None => host.split(':').next().unwrap_or_default(),
        };
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let is_local = name == "localhost" || name.ends_with(".localhost");
        !is_local && name.parse::<IpAddr>().is_err()
    }

    fn send(&mut self, response: &str) -> io::Result<()> {
        self.stream.set_nonblocking(false)?;
        self.stream.set_write_timeout(Some(PATIENCE))?;
        self.stream.write_all(response.as_bytes())
    }

    /// Closes the connection, also if another process has a copy of the socket.
    fn close(self) {
        let _gone = self.stream.shutdown(Shutdown::Both);
    }
}

/// Returns the value of the first field with this name, in lower case, in a request's head.
fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = std::str::from_utf8(head).ok()?.split("\r\n").skip(1);
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// Returns the response to a request with this head.
fn response(head: &[u8], page: impl FnOnce() -> String) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, version] = words[..] else { return refusal("400 Bad Request", "", PLACE) };
    if !version.starts_with("HTTP/1.") {
        return refusal("400 Bad Request", "", PLACE);
    }
    if head.len() > HEAD_BYTES_MAX {
        return refusal("431 Request Header Fields Too Large", "", PLACE);
    }
    if target.split('?').next() != Some("/metrics") {
        return refusal("404 Not Found", "", PLACE);
    }
    let body = match method {
        "GET" | "HEAD" => page(),
        _ => return refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n", PLACE),
    };
    let head = head_of("200 OK", "", body.len());
    if method == "HEAD" { head } else { head + &body }
}

/// Returns a response without metrics.
fn refusal(status: &str, field: &str, advice: &str) -> String {
    let body = format!("{status}; {advice}\n");
    head_of(status, field, body.len()) + &body
}

fn head_of(status: &str, field: &str, body_bytes: usize) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {body_bytes}\r\n{field}Connection: close\r\n\r\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, status: &str, body: &str) {
        let response = response(request.as_bytes(), || "page\n".to_owned());
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {response}");
        let (head, found) = response.split_once("\r\n\r\n").expect("a head");
        assert!(found.contains(body), "{request}: {response}");
        let length = format!("Content-Length: {}\r\n", found.len());
        assert!(request.starts_with("HEAD /metrics ") || head.contains(&length), "{response}");
    }

    #[test]
    fn one_page_can_be_read() {
        check("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", "200 OK", "page\n");
        check("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK", "page\n");
        let head = response(b"HEAD /metrics HTTP/1.1\r\n\r\n", || "page\n".to_owned());
        assert!(head.contains("Content-Length: 5\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("GET /metrics/x HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed\r\n"),
            ("GET /metrics\r\n\r\n", "400"),
            ("GET /metrics HTTP/2.0\r\n\r\n", "400"),
            ("\r\n\r\n", "400"),
            ("\u{1}\u{0}\r\n\r\n", "400"),
        ] {
            check(request, status, "/metrics");
        }
        let long = format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        check(&long, "431", "/metrics");
    }

    /// An endpoint without its thread: the test calls its turns.
    fn endpoint() -> (LiveEndpoint, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("it is bound");
        let totals = SharedTotals::default();
        let scrapers = Scrapers::default();
        let clients = VecDeque::new();
        (LiveEndpoint { listener, clients, totals, scrapers, is_on_loopback: true }, address)
    }

    /// Returns the response to a request that is sent to `endpoint`.
    fn answered(endpoint: &mut LiveEndpoint, address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).expect("it listens");
        client.write_all(request.as_bytes()).expect("there is room");
        client.set_nonblocking(true).expect("a socket");
        let mut response = String::new();
        loop {
            endpoint.turn().expect("it can poll");
            match client.read_to_string(&mut response) {
                Ok(_) => return response,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
    }

    #[test]
    fn on_the_loopback_only_its_own_names_are_answered() {
        let (mut endpoint, address) = endpoint();
        let mut check = |host: &str, status: &str| {
            let request = format!("GET /metrics HTTP/1.1\r\nX: y\r\n{host}\r\n");
            let response = answered(&mut endpoint, address, &request);
            assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{host}: {response}");
            assert_eq!(response.contains("weir_live"), status == "200", "{host}: {response}");
        };
        for own in ["", "Host: localhost:9\r\n", "host: LOCALHOST.\r\n", "Host: a.localhost\r\n"] {
            check(own, "200");
        }
        for own in ["Host: 127.0.0.1:9900\r\n", "Host: [::1]:9900\r\n", "Host:127.0.0.2\r\n"] {
            check(own, "200");
        }
        for foreign in ["evil.example:9900", "localhost.evil.example", "", "127.0.0.1.nip.io"] {
            check(&format!("Host: {foreign}\r\n"), "421");
        }
    }

    #[test]
    fn slow_clients_do_not_delay_others() {
        let (mut endpoint, address) = endpoint();
        let connect = || TcpStream::connect(address).expect("it listens");
        let mut slow: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
        while endpoint.clients.len() < CLIENTS_MAX {
            endpoint.turn().expect("it can poll");
        }
        slow.iter_mut().for_each(|stream| {
            let _closed = stream.write_all(b"GET /metr");
        });
        let mut quick = connect();
        quick.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("there is room");
        quick.set_nonblocking(true).expect("a socket");
        let mut response = String::new();
        loop {
            endpoint.turn().expect("it can poll");
            assert!(endpoint.clients.len() <= CLIENTS_MAX);
            match quick.read_to_string(&mut response) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.ends_with("weir_live_backlog 0\n"), "{response}");
        // Those that stay silent are closed at the end of their time.
        endpoint.clients.iter_mut().for_each(|client| client.until = Instant::now());
        while !endpoint.clients.is_empty() {
            endpoint.turn().expect("it can poll");
        }
    }
}
