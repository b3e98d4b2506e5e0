//! Client CPU cost of kernel time stamps, per request of a closed loop over loopback, on both
//! backends. The variants are: all connections stamped, a sample of their sends, such a sample on
//! one connection in 64, only an idle connection stamped, and none.
//!
//! A single stamped socket makes the kernel stamp every packet of the machine, which the idle one
//! shows. Each variant therefore opens its connections for its turn and closes them after it. Turns
//! are short and alternate, so that other load on the machine affects all variants. The output is
//! the medians of the ratios to the turn without stamps of the same round, and their sign intervals
//! (95 %). Run it with `cargo run --release --example stamps -- [CONNECTIONS…]`.

use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use weir_io::{
    Backend, BackendOptions, Clock, Close, ConnId, Endpoint, Epoll, EventKind, ListenOptions,
    Listener, Nanos, Segment, SocketOptions, StampRequest, TemplateId, Uring, WaitPolicy,
};
use weir_machine::sys;

const REQUEST_BYTES: u32 = 60;
const ANSWER_BYTES: u32 = 170;
const ROUNDS: usize = 61;
const WARM_UP_NS: u64 = 4_000_000;
const TURN_NS: u64 = 20_000_000;

fn main() -> io::Result<()> {
    let cpus = sys::usable_cpus()?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "serve") {
        return serve(cpus[0]);
    }
    let mut server =
        Command::new(std::env::current_exe()?).arg("serve").stdout(Stdio::piped()).spawn()?;
    let mut address = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut address)?;
    }
    let endpoint = Endpoint::Tcp(address.trim().parse().map_err(io::Error::other)?);
    sys::pin_to_cpu(cpus[cpus.len() - 1])?;
    sys::set_timer_slack(1)?;
    let counts: Vec<u32> = arguments.iter().filter_map(|arg| arg.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![1, 16, 100] } else { counts };
    let compared = counts.into_iter().try_for_each(|connections| {
        let options =
            || BackendOptions { clock: Clock::start(), connections, backends: 1, waker: None };
        compare("epoll", connections, &endpoint, || Epoll::new(options()))?;
        compare("uring", connections, &endpoint, || Uring::new(options()))
    });
    server.kill()?;
    server.wait()?;
    compared
}

/// Responds to everything received, forever.
fn serve(cpu: u32) -> io::Result<()> {
    sys::pin_to_cpu(cpu)?;
    let clock = Clock::start();
    let mut backend =
        Epoll::new(BackendOptions { clock, connections: 20_000, backends: 1, waker: None })?;
    let listener =
        Listener::bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), ListenOptions::default())?;
    println!("{}", listener.local_endpoint()?);
    backend.listen(listener)?;
    let id = backend.template(vec![b'x'; ANSWER_BYTES as usize].into());
    loop {
        backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
        while let Some(event) = backend.next() {
            let conn = event.conn;
            let is_end = matches!(event.kind, EventKind::Closed);
            if matches!(event.kind, EventKind::Received { .. }) {
                backend.send(conn, &[Segment::Template { id, bytes: ANSWER_BYTES }]);
            } else if is_end {
                backend.close(conn, Close::Graceful);
            }
        }
    }
}

/// Selection of the stamped connections.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stamped {
    No,
    /// One additional connection, which is idle.
    Beside,
    /// One connection in this many, with this request.
    OneIn(u32, StampRequest),
}

/// One backend, and its CPU time in each turn.
struct Client<B> {
    backend: B,
    kind: Stamped,
    request: TemplateId,
    cpu_ns: Vec<f64>,
    responses: u64,
    stamped: u64,
}

impl<B: Backend> Client<B> {
    fn new(mut backend: B, kind: Stamped) -> Client<B> {
        let request = backend.template(Arc::from(vec![b'r'; REQUEST_BYTES as usize]));
        Client { backend, kind, request, cpu_ns: Vec::new(), responses: 0, stamped: 0 }
    }

    fn turn(&mut self, connections: u32, endpoint: &Endpoint) -> io::Result<()> {
        for conn in 0..=connections {
            let stamps = match self.kind {
                Stamped::OneIn(every, request) if conn < connections && conn % every == 0 => {
                    request
                }
                Stamped::Beside if conn == connections => StampRequest::All,
                _ => StampRequest::None,
            };
            let options = SocketOptions { stamps, ..SocketOptions::default() };
            self.backend.connect(ConnId(conn), endpoint, options);
            self.backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
            while let Some(event) = self.backend.next() {
                if let EventKind::Failed(error) = event.kind {
                    return Err(error);
                }
            }
        }
        self.load(connections, WARM_UP_NS)?;
        let before = self.backend.usage().cpu_ns;
        (self.responses, self.stamped) = (0, 0);
        self.load(connections, TURN_NS)?;
        let cpu_ns = self.backend.usage().cpu_ns - before;
        self.cpu_ns.push(cpu_ns as f64 / self.responses as f64);
        (0..=connections).for_each(|conn| self.backend.close(ConnId(conn), Close::Reset));
        let soon = self.backend.now().after(1_000_000);
        self.backend.wait(soon, WaitPolicy::Sleep)
    }

    /// Sends one request after the other on each connection.
    fn load(&mut self, connections: u32, span_ns: u64) -> io::Result<()> {
        let until = self.backend.now().after(span_ns);
        let whole = [Segment::Template { id: self.request, bytes: REQUEST_BYTES }];
        (0..connections).for_each(|conn| self.backend.send(ConnId(conn), &whole));
        let mut outstanding = connections;
        while outstanding > 0 {
            let is_over = self.backend.submit().after >= until;
            self.backend.wait(Nanos::MAX, WaitPolicy::Sleep)?;
            while let Some(event) = self.backend.next() {
                let conn = event.conn;
                match event.kind {
                    EventKind::Received { rx_at, .. } => self.stamped += u64::from(rx_at.is_some()),
                    EventKind::Transmitted { .. } => continue,
                    kind => return Err(io::Error::other(format!("{kind:?}"))),
                }
                self.responses += 1;
                outstanding -= 1;
                if !is_over {
                    self.backend.send(conn, &whole);
                    outstanding += 1;
                }
            }
        }
        Ok(())
    }

    fn print(&self, name: &str, reference: &[f64]) {
        let us = median(self.cpu_ns.clone()) / 1000.0;
        let mut ratios: Vec<f64> =
            self.cpu_ns.iter().zip(reference).map(|(own, other)| own / other).collect();
        ratios.sort_by(f64::total_cmp);
        let rank = sign_rank(ratios.len());
        let low = ratios[rank];
        let high = ratios[ratios.len() - 1 - rank];
        let stamped = 100.0 * self.stamped as f64 / self.responses as f64;
        let kind = match self.kind {
            Stamped::No => "none".to_owned(),
            Stamped::Beside => "beside".to_owned(),
            Stamped::OneIn(every, request) => format!("1 in {every} {request:?}"),
        };
        println!(
            "  {name} {kind:14} {us:7.3} µs CPU per request, ratio {:.3} [{low:.3}, {high:.3}], \
             {stamped:5.1} % stamped",
            median(ratios)
        );
    }
}

fn compare<B: Backend>(
    name: &str,
    connections: u32,
    endpoint: &Endpoint,
    make: impl Fn() -> io::Result<B>,
) -> io::Result<()> {
    let usual = Stamped::OneIn(64, StampRequest::Sample);
    let sample = Stamped::OneIn(1, StampRequest::Sample);
    let all = Stamped::OneIn(1, StampRequest::All);
    let mut clients = Vec::new();
    for kind in [Stamped::No, Stamped::Beside, usual, sample, all] {
        // With one connection, this is the same as one in 64.
        if kind != usual || connections > 1 {
            clients.push(Client::new(make()?, kind));
        }
    }
    let kinds = clients.len();
    for round in 0..ROUNDS {
        for place in 0..kinds {
            clients[(place + round) % kinds].turn(connections, endpoint)?;
        }
    }
    println!("{connections} connections");
    let reference = clients[0].cpu_ns.clone();
    clients.iter().for_each(|client| client.print(name, &reference));
    Ok(())
}

/// Returns the rank, from zero, of the bounds of a median's 95 % interval, from the binomial
/// distribution with p = 1/2.
fn sign_rank(count: usize) -> usize {
    let mut probability = 0.5_f64.powi(count as i32);
    let mut below = probability;
    let mut rank = 0;
    while rank < count / 2 {
        probability *= (count - rank) as f64 / (rank + 1) as f64;
        if below + probability > 0.025 {
            break;
        }
        below += probability;
        rank += 1;
    }
    rank
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
