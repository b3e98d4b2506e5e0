//! Conversations that end after each of their bytes, in either direction, of HTTP/1 and of HTTP/2:
//! every request is accounted for once, and every run ends.

use weir_engine::Job;
use weir_http::h2::{H2Client, H2Options};
use weir_http::{Prepared, ProtocolFactory};
use weir_io::Nanos;
use weir_sim::{Client, Law, Link, Service, ServiceFactory, World};

use super::service::{H2Service, Habits};
use crate::cut::{Cut, Cutter};
use crate::observers::PerTag;
use crate::setup::{MS, Run, check_all, closed, job, open, run_job};

/// Requests of a run.
const REQUESTS: u64 = 5;

/// A server of HTTP/1 that responds to each empty line with a chunked response, in two parts.
#[derive(Debug)]
struct Http1Service {
    cutter: Cutter,
    received: Vec<u8>,
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbo";
const REST: &[u8] = b"dy\r\n0\r\n\r\n";

impl Service for Http1Service {
    fn accepted(&mut self, _link: &mut Link<'_>) {}

    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        let bytes = self.cutter.receive(bytes, link);
        self.received.extend_from_slice(bytes);
        while let Some(at) = self.received.windows(4).position(|four| four == b"\r\n\r\n") {
            self.received.drain(..at + 4);
            let request = link.request(None, sent_at) as u64;
            link.wake(MS, request);
        }
    }

    fn woken(&mut self, request: u64, link: &mut Link<'_>) {
        let request = usize::try_from(request).expect("it was an index");
        self.cutter.send(HEAD, None, link);
        self.cutter.send(REST, Some((request, 200)), link);
    }
}

fn http1(cut: Cut) -> ServiceFactory {
    ServiceFactory::new(move || {
        let cutter = Cutter::new(Some(cut));
        Box::new(Http1Service { cutter, received: Vec::new() })
    })
}

fn http2(cut: Cut) -> ServiceFactory {
    let habits =
        Habits { service: Law::Fixed(MS), body_ns: MS, cut: Some(cut), ..Habits::default() };
    H2Service::factory(habits).0
}

/// Runs a few requests on one connection at a time against servers with this cut.
fn run(protocol: &ProtocolFactory, service: ServiceFactory, what: &str) -> Run {
    let plan = closed(1).with_load(|load| {
        load.pipeline = 2;
        load.requests = Some(REQUESTS);
        load.duration_ns = None;
        load.timeout_ns = 20 * MS;
        load.connect_timeout_ns = 20 * MS;
    });
    let observed = PerTag::default();
    let request = Prepared::http1("GET", "/", "sim", &[], None).expect("a plain request");
    let observers = vec![observed.factory()];
    let mut job = Job { protocol: protocol.clone(), observers, ..job(&plan) };
    job.requests.request = request;
    let world = World { service: Some(service), ..World::default() };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    observed.check(&run, what);
    assert_eq!(run.measured.results.planned, REQUESTS, "{what}");
    run
}

/// Cuts conversations after each byte up to a number that no run reaches; returns how many
/// different results there were.
fn cut_everywhere(protocol: &ProtocolFactory, service: fn(Cut) -> ServiceFactory) {
    for resets in [false, true] {
        for is_sent in [false, true] {
            let mut failed = 0;
            let mut complete = 0;
            for bytes in 0..700 {
                let (sent, received) =
                    if is_sent { (bytes, usize::MAX) } else { (usize::MAX, bytes) };
                let cut = Cut { sent, received, resets };
                let what = format!("{cut:?}");
                let run = run(protocol, service(cut), &what);
                let outcomes = run.measured.results.outcomes;
                assert_eq!(outcomes.bad_response + outcomes.timed_out, 0, "{what}: {outcomes:?}");
                failed += u64::from(outcomes.transport_error + outcomes.never_sent > 0);
                complete += u64::from(outcomes.ok == REQUESTS);
            }
            assert!(failed > 50 && complete > 50, "{failed} {complete}");
        }
    }
}

#[test]
fn http1_is_cut_after_each_byte() {
    cut_everywhere(&ProtocolFactory::default(), http1);
}

#[test]
fn http2_is_cut_after_each_byte() {
    cut_everywhere(&H2Client::factory(H2Options::default()), http2);
}

/// Frames that arrive in pieces of any length give the same numbers as whole ones.
#[test]
fn http2_in_pieces() {
    for read_bytes in 1..60 {
        let client = Client { read_bytes, ..Client::default() };
        let habits = Habits { body_ns: MS, ..Habits::default() };
        let (service, _) = H2Service::factory(habits);
        let world = World { client, service: Some(service), ..World::default() };
        let plan = open(100, 1, 1).with_load(|load| load.pipeline = 10);
        let protocol = H2Client::factory(H2Options::default());
        let run = run_job(world, &Job { protocol, ..job(&plan) }, 0, Nanos::MAX, None);
        check_all("response", &run.measured.results.response_time.ok, 100, 3 * MS);
        check_all("first byte", &run.measured.first_byte, 100, 2 * MS);
        check_all("client's lag", &run.measured.sched_lag, 100, 0);
    }
}
