//! Cost of an HTTP/2 exchange in the client: a request and its response, in memory. A tool for
//! changes to the protocol, not a test.
//!
//! `cargo run --release -p weir-http --example h2_cost` prints the time of each scenario, the
//! minimum of many short batches, which excludes other load on the machine. With
//! `count SCENARIO ROUNDS` it runs that many rounds of one, for a count of instructions: the
//! difference of two runs under `valgrind --tool=callgrind` excludes the cost of start and end.

use std::env;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_http::h2::frame::{FrameKind, push_data, push_frame, push_headers};
use weir_http::h2::hpack::Encoder;
use weir_http::h2::{H2Client, H2Options};
use weir_http::{Multiplexed, Request, StreamEvent};

const BATCHES: u32 = 10_000;
const ROUNDS_PER_BATCH: usize = 64;

/// Position of the stream's number in a frame.
const STREAM_AT: usize = 5;

/// Rounds of equal exchanges: each sends a request on every stream, and gets all responses.
struct Scenario {
    name: &'static str,
    client: H2Client,
    requests: Vec<Arc<Request>>,
    /// Responses of a round, used in turns.
    responses: Vec<Responses>,
    streams: usize,
    first_stream: u32,
    /// Buffers for events and sent bytes.
    events: Vec<StreamEvent>,
    out: Vec<u8>,
}

/// Bytes of responses on all streams of a round.
#[derive(Clone)]
struct Responses {
    bytes: Vec<u8>,
    /// Positions of the numbers of streams, and the stream of each.
    places: Vec<(usize, usize)>,
}

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => scenarios().iter_mut().for_each(Scenario::print_time),
        ["list"] => scenarios().iter().for_each(|scenario| println!("{}", scenario.name)),
        ["count", name, rounds] => {
            let mut scenarios = scenarios();
            let scenario = scenarios.iter_mut().find(|scenario| scenario.name == name);
            let scenario = scenario.expect("`list` prints the names of scenarios");
            (0..rounds.parse().expect("a number of rounds")).for_each(|nth| scenario.round(nth));
        }
        _ => panic!("nothing, `list` or `count SCENARIO ROUNDS`"),
    }
}

/// A server that puts fields into the table, and one that never does.
const TABLE: u32 = 4096;
const NO_TABLE: u32 = 0;

fn scenarios() -> Vec<Scenario> {
    let get = "GET /path HTTP/1.1\r\nHost: example.com\r\nUser-Agent: weir\r\nAccept: */*\r\n\r\n";
    let other = get.replace("/path", "/other");
    let post = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{:1000}", "");
    vec![
        Scenario::new("get", &[get], 1, TABLE, &[1]),
        Scenario::new("get, no table", &[get], 1, NO_TABLE, &[1]),
        Scenario::new("get, new head", &[get], 1, TABLE, &[1, 2]),
        Scenario::new("get, new head, no table", &[get], 1, NO_TABLE, &[1, 2]),
        Scenario::new("two gets in turns", &[get, &other], 1, TABLE, &[1]),
        Scenario::new("get, 16 streams", &[get], 16, TABLE, &[1]),
        Scenario::new("get, 100 streams", &[get], 100, TABLE, &[1]),
        Scenario::new("post of 1,000 bytes", &[&post], 1, TABLE, &[1]),
    ]
}

impl Scenario {
    /// Creates a scenario with responses that differ in the second of their date.
    fn new(
        name: &'static str,
        requests: &[&str],
        streams: usize,
        table_bytes: u32,
        seconds: &[u32],
    ) -> Scenario {
        let request =
            |text: &&str| Arc::new(Request::parse(text.as_bytes(), "https").expect("complete"));
        let mut client = H2Client::new(streams as u16, &H2Options::default());
        client.open(0);
        let mut settings = Vec::new();
        push_frame(&mut settings, FrameKind::SETTINGS, 0, 0, &[]);
        // Never the connection's last bytes to send.
        push_frame(&mut settings, FrameKind::WINDOW_UPDATE, 0, 0, &[0x70, 0, 0, 0]);
        client.receive(&settings, 0, &mut Vec::new()).expect("valid settings");
        let mut scenario = Scenario {
            name,
            client,
            requests: requests.iter().map(request).collect(),
            responses: Vec::new(),
            streams,
            first_stream: 1,
            events: Vec::new(),
            out: Vec::new(),
        };
        // Repeated fields are in the tables after some rounds.
        let mut encoder = Encoder::new(table_bytes);
        for nth in 0..4 {
            let all = seconds.iter().map(|second| Responses::new(streams, *second, &mut encoder));
            scenario.responses = all.collect();
            (0..seconds.len() * (1 + nth / 3)).for_each(|nth| scenario.round(nth));
        }
        scenario
    }

    fn round(&mut self, nth: usize) {
        let request = &self.requests[nth % self.requests.len()];
        for _ in 0..self.streams {
            self.client.request(black_box(request), 0);
        }
        self.client.poll_transmit(&mut self.out);
        black_box(&self.out).len();
        self.out.clear();
        let count = self.responses.len();
        let responses = &mut self.responses[nth % count];
        responses.number(self.first_stream);
        let received = self.client.receive(black_box(&responses.bytes), 0, &mut self.events);
        assert!(received.is_ok() && self.events.len() == 2 * self.streams);
        self.events.clear();
        self.first_stream += 2 * self.streams as u32;
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the library has no clock; what measures it does"
    )]
    fn print_time(&mut self) {
        let mut least = Duration::MAX;
        for _ in 0..BATCHES / self.streams as u32 {
            let started_at = Instant::now();
            (0..ROUNDS_PER_BATCH).for_each(|nth| self.round(nth));
            least = least.min(started_at.elapsed());
        }
        let ns = least.as_secs_f64() * 1e9 / (ROUNDS_PER_BATCH * self.streams) as f64;
        println!("{:<26} {ns:>7.1} ns per exchange", self.name);
    }
}

impl Responses {
    fn new(streams: usize, second: u32, encoder: &mut Encoder) -> Responses {
        let date = format!("Thu, 01 Jan 1970 00:00:0{second} GMT");
        let fields = [
            (":status", "200"),
            ("server", "nginx/1.24.0"),
            ("content-type", "text/html"),
            ("content-length", "100"),
            ("date", &date),
        ];
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        for stream in 0..streams {
            let mut block = Vec::new();
            encoder.begin(&mut block);
            for (name, value) in fields {
                encoder.field(name.as_bytes(), value.as_bytes(), &mut block);
            }
            places.push((bytes.len() + STREAM_AT, stream));
            push_headers(&mut bytes, 1, &block, false, 16_384);
            places.push((bytes.len() + STREAM_AT, stream));
            push_data(&mut bytes, 1, &[b'x'; 100], true);
        }
        Responses { bytes, places }
    }

    /// Fills in the numbers of streams, from `first` on.
    fn number(&mut self, first: u32) {
        for (at, stream) in &self.places {
            let number = first + 2 * *stream as u32;
            self.bytes[*at..*at + 4].copy_from_slice(&number.to_be_bytes());
        }
    }
}
