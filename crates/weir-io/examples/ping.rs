//! Client CPU cost per request, by backend: keep-alive requests in a closed loop against a server
//! in another process that sends the same response to every request.
//!
//! All clients run in one thread and alternate every few milliseconds, so that other load on the
//! machine affects them equally. Ratios are medians over rounds. Run it with `cargo run --release
//! --example ping -- [body=BYTES] [CONNECTIONS…]`.

use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use weir_io::{
    Backend, BackendOptions, Clock, Close, ConnId, Endpoint, Epoll, EventKind, ListenOptions,
    Listener, Nanos, Segment, SocketOptions, TemplateId, Uring, WaitPolicy,
};
use weir_machine::sys;

const REQUEST: &[u8; 60] = b"GET /plaintext HTTP/1.1\r\nHost: localhost:8080\r\nA: abcdef\r\n\r\n";
const TURN_NS: u64 = 15_000_000;
const ROUNDS: usize = 60;

/// Smallest body that is discarded instead of received, in bytes.
const LARGE: u64 = 16_384;

fn main() -> io::Result<()> {
    let cpus = sys::usable_cpus()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let body = arguments.iter().find_map(|arg| arg.strip_prefix("body=")?.parse().ok());
    let body: usize = body.unwrap_or(14);
    if arguments.first().is_some_and(|first| first == "serve") {
        return serve(cpus[0], body);
    }
    let mut server = Command::new(std::env::current_exe()?)
        .args(["serve".to_owned(), format!("body={body}")])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut address)?;
    }
    let endpoint = Endpoint::Tcp(address.trim().parse().map_err(io::Error::other)?);
    sys::pin_to_cpu(cpus[cpus.len() - 1])?;
    sys::set_timer_slack(1)?;
    let counts: Vec<u32> = arguments.iter().filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1, 20, 100] } else { counts };
    let compared =
        counts.into_iter().try_for_each(|count| compare(count, &endpoint, response(body).len()));
    server.kill()?;
    server.wait()?;
    compared
}

fn response(body: usize) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nServer: fixed\r\nContent-Type: text/plain; charset=utf-8\r\n\
                Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nX-Pad: 01234\r\n";
    let mut response = format!("{head}Content-Length: {body}\r\n\r\n").into_bytes();
    response.resize(response.len() + body, b'x');
    response
}

/// Responds to everything received, forever.
fn serve(cpu: u32, body: usize) -> io::Result<()> {
    sys::pin_to_cpu(cpu)?;
    let clock = Clock::start();
    let mut backend =
        Epoll::new(BackendOptions { clock, connections: 20_000, backends: 1, waker: None })?;
    let listener =
        Listener::bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), ListenOptions::default())?;
    println!("{}", listener.local_endpoint()?);
    backend.listen(listener)?;
    let response = response(body);
    let bytes = u32::try_from(response.len()).map_err(io::Error::other)?;
    let id = backend.template(response.into());
    loop {
        backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
        while let Some(event) = backend.next() {
            let conn = event.conn;
            let is_end = matches!(event.kind, EventKind::Closed);
            if matches!(event.kind, EventKind::Received { .. }) {
                backend.send(conn, &[Segment::Template { id, bytes }]);
            } else if is_end {
                backend.close(conn, Close::Graceful);
            }
        }
    }
}

/// One backend with its connections, and its CPU time in each turn.
struct Client<B> {
    name: &'static str,
    backend: B,
    discard: bool,
    request: TemplateId,
    /// Bytes outstanding of each connection's response.
    missing: Vec<u64>,
    response_bytes: u64,
    cpu_ns: Vec<f64>,
    responses: u64,
    busy_ns: u64,
}

impl<B: Backend> Client<B> {
    fn new(
        name: &'static str,
        mut backend: B,
        discard: bool,
        connections: u32,
        endpoint: &Endpoint,
        response_bytes: usize,
    ) -> io::Result<Client<B>> {
        let request = backend.template(Arc::from(&REQUEST[..]));
        for conn in 0..connections {
            let options = SocketOptions { discard, ..SocketOptions::default() };
            backend.connect(ConnId(conn), endpoint, options);
            backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
            if let Some(event) = backend.next()
                && let EventKind::Failed(error) = event.kind
            {
                return Err(error);
            }
        }
        Ok(Client {
            name,
            backend,
            discard,
            request,
            missing: vec![0; connections as usize],
            response_bytes: response_bytes as u64,
            cpu_ns: Vec::with_capacity(ROUNDS),
            responses: 0,
            busy_ns: 0,
        })
    }

    fn turn(&mut self) -> io::Result<()> {
        let cpu = sys::thread_cpu_time()?.total();
        let from = self.backend.now();
        let until = from.after(TURN_NS);
        let mut outstanding = 0u64;
        for conn in 0..self.missing.len() as u32 {
            self.request(ConnId(conn));
            outstanding += 1;
        }
        let mut responses = 0;
        while outstanding > 0 {
            let is_over = self.backend.submit().after >= until;
            self.backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
            while let Some(event) = self.backend.next() {
                let conn = event.conn;
                let bytes = match event.kind {
                    EventKind::Received { bytes, .. } => bytes.len() as u64,
                    EventKind::Discarded(bytes) => bytes,
                    kind => return Err(io::Error::other(format!("{kind:?}"))),
                };
                let missing = &mut self.missing[conn.index()];
                *missing -= bytes;
                if *missing > 0 {
                    if self.discard {
                        self.backend.discard(conn, *missing);
                    }
                    continue;
                }
                responses += 1;
                outstanding -= 1;
                if !is_over {
                    self.request(conn);
                    outstanding += 1;
                }
            }
        }
        let cpu = sys::thread_cpu_time()?.total() - cpu;
        self.cpu_ns.push(cpu.as_nanos() as f64 / responses as f64);
        self.responses += responses;
        self.busy_ns += self.backend.now().since(from);
        Ok(())
    }

    fn request(&mut self, conn: ConnId) {
        let whole = Segment::Template { id: self.request, bytes: REQUEST.len() as u32 };
        self.backend.send(conn, &[whole]);
        self.missing[conn.index()] = self.response_bytes;
    }

    fn print(&self, reference: &[f64]) {
        let us = median(self.cpu_ns.clone()) / 1000.0;
        let rate = self.responses as f64 * 1e9 / self.busy_ns as f64;
        let ratios = self.cpu_ns.iter().zip(reference).map(|(own, other)| own / other).collect();
        let name = self.name;
        let ratio = median(ratios);
        println!(
            "  {name:14} {us:8.3} µs CPU per request, ratio {ratio:.3}, {rate:8.0} requests/s"
        );
    }
}

fn compare(connections: u32, endpoint: &Endpoint, response_bytes: usize) -> io::Result<()> {
    let options =
        || BackendOptions { clock: Clock::start(), connections, backends: 1, waker: None };
    let epoll = |name, discard| {
        let backend = Epoll::new(options())?;
        Client::new(name, backend, discard, connections, endpoint, response_bytes)
    };
    let uring = |name, discard| {
        let backend = Uring::new(options())?;
        Client::new(name, backend, discard, connections, endpoint, response_bytes)
    };
    let mut epolls = vec![epoll("epoll", false)?];
    let mut urings = vec![uring("uring", false)?];
    if response_bytes as u64 >= LARGE {
        epolls.push(epoll("epoll discards", true)?);
        urings.push(uring("uring discards", true)?);
    }
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            epolls.iter_mut().try_for_each(Client::turn)?;
        }
        urings.iter_mut().try_for_each(Client::turn)?;
        if round % 2 == 1 {
            epolls.iter_mut().try_for_each(Client::turn)?;
        }
    }
    println!("{connections} connections");
    let reference = urings[0].cpu_ns.clone();
    epolls.iter().for_each(|client| client.print(&reference));
    urings.iter().for_each(|client| client.print(&reference));
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
