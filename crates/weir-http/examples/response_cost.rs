//! Time to parse one response, in nanoseconds: the minimum of many short batches, which excludes
//! other load on the machine. A tool for changes to the parser, not a test.
//!
//! `cargo run --release -p weir-http --example response_cost`

use std::hint::black_box;
use std::time::{Duration, Instant};

use weir_http::{Http1, RequestTraits};

const BATCHES: u32 = 20_000;
const RESPONSES_PER_BATCH: usize = 64;

fn main() {
    let small = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_owned();
    let usual = format!(
        "HTTP/1.1 200 OK\r\nServer: nginx/1.24.0\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Content-Type: text/html\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Connection: keep-alive\r\nETag: \"6523e3cd-a\"\r\nAccept-Ranges: bytes\r\n\
         Content-Length: 10\r\n\r\n{}",
        "x".repeat(10)
    );
    let chunked = format!(
        "{}Transfer-Encoding: chunked\r\n\r\na\r\n{}\r\n0\r\n\r\n",
        usual.split("Content-Length").next().unwrap_or_default(),
        "x".repeat(10)
    );
    let report = |name: &str, response: &str, responses: usize, pieces: usize| {
        let ns = cost_ns(response.as_bytes(), responses, pieces);
        println!("{name:<28} {:>5} bytes {ns:>7.1} ns", response.len());
    };
    report("2 headers", &small, 1, 1);
    report("8 headers", &usual, 1, 1);
    report("8 headers, chunked", &chunked, 1, 1);
    report("8 headers, cut in two", &usual, 1, 2);
    report("2 headers, pipelined 16", &small, 16, 1);
    report("8 headers, pipelined 16", &usual, 16, 1);
    report("8 headers, pipelined 64", &usual, 64, 1);
}

/// Returns the minimum time per response, with `responses` in flight whose bytes arrive in
/// `pieces`.
#[expect(clippy::disallowed_methods, reason = "the library has no clock; what measures it does")]
fn cost_ns(response: &[u8], responses: usize, pieces: usize) -> f64 {
    let bytes = response.repeat(responses);
    let piece_bytes = bytes.len().div_ceil(pieces);
    let mut protocol = Http1::new(responses as u16);
    let mut events = Vec::with_capacity(responses);
    let rounds = RESPONSES_PER_BATCH.div_ceil(responses);
    let mut least = Duration::MAX;
    for _ in 0..BATCHES {
        let started_at = Instant::now();
        for _ in 0..rounds {
            for _ in 0..responses {
                protocol.request(black_box(RequestTraits::default()));
            }
            for piece in black_box(&bytes[..]).chunks(piece_bytes) {
                let result = protocol.receive(piece, &mut events);
                assert!(result.is_ok());
            }
            assert_eq!(black_box(&events).len(), responses);
            events.clear();
        }
        least = least.min(started_at.elapsed());
    }
    least.as_secs_f64() * 1e9 / (rounds * responses) as f64
}
