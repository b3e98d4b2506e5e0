//! Accuracy of the server's delays and time stamps: `bench_delay [epoll|uring]`. One client per
//! connection requests a delay, reads the response, and compares the server's time stamps with the
//! delay and with its own clock, which is the same one.

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpStream;

use weir_io::{Clock, Endpoint};
use weir_serve::{ServeOptions, spawn};

/// Connections and the delay in µs of each regime.
const REGIMES: [(usize, u64); 4] = [(1, 1000), (1, 100), (10, 1000), (100, 10_000)];

/// Requests of each connection.
const REQUESTS: usize = 1000;

/// Differences measured for one request, in nanoseconds.
struct Sample {
    /// Time by which the response was late: time held back minus the requested delay.
    excess: i64,
    /// Time from before the request was sent to the server's receive time stamp.
    to_server: i64,
    /// Time from the server's send time stamp to after the response was read.
    from_server: i64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ServeOptions::default();
    if let Some(engine) = std::env::args().nth(1) {
        options.engine = engine.parse()?;
    }
    options.behaviour.stamps = true;
    let handle = spawn(options)?;
    let Endpoint::Tcp(address) = *handle.endpoint() else { return Err("not TCP".into()) };
    println!("{}: min / p50 / p90 / p99 / max in us", handle.engine());
    for (connections, delay_us) in REGIMES {
        let clients: Vec<_> = (0..connections)
            .map(|_| std::thread::spawn(move || ask(TcpStream::connect(address)?, delay_us)))
            .collect();
        let mut samples = Vec::new();
        for client in clients {
            samples.extend(client.join().map_err(|_| "a client panicked")??);
        }
        println!("{connections} connections, delay {delay_us} us");
        print("held back beyond the delay", &samples, |sample| sample.excess);
        print("sent until receive stamp", &samples, |sample| sample.to_server);
        print("send stamp until read", &samples, |sample| sample.from_server);
    }
    handle.stop()?;
    Ok(())
}

fn ask(mut stream: TcpStream, delay_us: u64) -> std::io::Result<Vec<Sample>> {
    stream.set_nodelay(true)?;
    let clock = Clock::start();
    let now = || (clock.epoch_monotonic_ns() + clock.now().0).cast_signed();
    let request = format!("GET /?delay={delay_us}us HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut buffer = [0; 4096];
    let mut samples = Vec::new();
    for _ in 0..REQUESTS {
        let sent = now();
        stream.write_all(request.as_bytes())?;
        let length = stream.read(&mut buffer)?;
        let ended = now();
        let text = String::from_utf8_lossy(&buffer[..length]);
        let stamp = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.parse::<i64>().ok()).unwrap_or_default()
        };
        let received = stamp("x-srv-recv-ns: ");
        let responded = stamp("x-srv-send-ns: ");
        samples.push(Sample {
            excess: responded - received - (delay_us * 1000).cast_signed(),
            to_server: received - sent,
            from_server: ended - responded,
        });
    }
    Ok(samples)
}

fn print(name: &str, samples: &[Sample], field: fn(&Sample) -> i64) {
    let mut sorted: Vec<i64> = samples.iter().map(field).collect();
    sorted.sort_unstable();
    let at = |share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "  {name:<27} {:8.2} {:8.2} {:8.2} {:8.2} {:9.2}",
        at(0.0),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
}
