//! HTTP/2 in the engine: client and server of weir-http in virtual time. The toy protocol tests the
//! engine; these tests show that HTTP/2 fits it.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex};

use weir_engine::Job;
use weir_http::h2::frame::Settings;
use weir_http::h2::server::{H2Server, H2ServerOptions, ServerEvent};
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_io::Nanos;
use weir_result::{ErrorKind, Plan};
use weir_sim::{Law, Link, Service, ServiceFactory, World};

use crate::setup::{MS, Run, check_all, check_exact, job, open, run_job, true_response};

/// Habits of a server. Shares are of the requests that arrive.
#[derive(Clone, Debug)]
struct Habits {
    service: Law,
    streams_max: u32,
    returned: f64,
    failed: f64,
    swallowed: f64,
    retires: f64,
}

impl Default for Habits {
    fn default() -> Habits {
        let service = Law::Fixed(2 * MS);
        let (returned, failed, swallowed, retires) = (0.0, 0.0, 0.0, 0.0);
        Habits { service, streams_max: 100, returned, failed, swallowed, retires }
    }
}

/// Counts of all servers of a world.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    returned: u64,
    failed: u64,
    cancelled: u64,
}

/// The server's side of one connection.
#[derive(Debug)]
struct H2Service {
    habits: Habits,
    counts: Arc<Mutex<Counts>>,
    server: H2Server,
    /// Streams in progress, with their request in the truth.
    waiting: BTreeMap<u32, usize>,
    out: Vec<u8>,
}

impl H2Service {
    /// Returns a factory of servers, and their counts.
    fn factory(habits: Habits) -> (ServiceFactory, Arc<Mutex<Counts>>) {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let shared = Arc::clone(&counts);
        let make = move || -> Box<dyn Service> {
            let max_concurrent_streams = Some(habits.streams_max);
            let settings = Settings { max_concurrent_streams, ..Settings::default() };
            let options = H2ServerOptions { settings, ..H2ServerOptions::default() };
            Box::new(H2Service {
                habits: habits.clone(),
                counts: Arc::clone(&shared),
                server: H2Server::new(&options),
                waiting: BTreeMap::new(),
                out: Vec::new(),
            })
        };
        (ServiceFactory::new(make), counts)
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().expect("no server panicked"));
    }

    fn request(&mut self, stream: u32, sent_at: Nanos, link: &mut Link<'_>) {
        let number = link.request(None, sent_at);
        let habits = &self.habits;
        if link.chance.chance(habits.returned) {
            self.count(|counts| counts.returned += 1);
            return self.server.reset_stream(stream, ErrorCode::REFUSED_STREAM);
        }
        if link.chance.chance(habits.failed) {
            self.count(|counts| counts.failed += 1);
            return self.server.reset_stream(stream, ErrorCode::INTERNAL_ERROR);
        }
        if link.chance.chance(habits.swallowed) {
            return;
        }
        if link.chance.chance(habits.retires) {
            self.server.go_away(Some(stream), ErrorCode::NO_ERROR);
        }
        self.waiting.insert(stream, number);
        let ends_ns = habits.service.draw(link.chance);
        link.wake(ends_ns, stream.into());
    }

    fn take_output(&mut self) -> Vec<u8> {
        self.server.poll_transmit(&mut self.out);
        mem::take(&mut self.out)
    }
}

impl Service for H2Service {
    fn accepted(&mut self, link: &mut Link<'_>) {
        link.send(&self.take_output());
    }

    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        let (mut requests, mut resets) = (Vec::new(), Vec::new());
        let received = self.server.receive(bytes, |event| match event {
            ServerEvent::Request { stream, is_end: true, .. } => requests.push(stream),
            ServerEvent::Reset { stream, .. } => resets.push(stream),
            ServerEvent::Opened | ServerEvent::GoAway { .. } => {}
            other => panic!("the client sent {other:?}"),
        });
        received.expect("the client sends valid frames");
        requests.into_iter().for_each(|stream| self.request(stream, sent_at, link));
        for stream in resets {
            self.waiting.remove(&stream);
            self.count(|counts| counts.cancelled += 1);
        }
        link.send(&self.take_output());
    }

    fn woken(&mut self, token: u64, link: &mut Link<'_>) {
        let stream = u32::try_from(token).expect("it was a stream");
        let Some(request) = self.waiting.remove(&stream) else { return };
        assert!(self.server.respond(stream, 200, &[(b"server", b"weir-sim")], false));
        assert!(self.server.send_data(stream, b"body", true));
        link.respond(request, 200, &self.take_output());
    }
}

/// Runs a plan with up to `streams` streams per connection; returns the counts of its servers too.
fn run(habits: Habits, plan: Plan, streams: u16) -> (Run, Counts, Plan) {
    let plan = Plan { pipeline: streams, ..plan };
    let (service, counts) = H2Service::factory(habits);
    let world = World { service: Some(service), ..World::default() };
    let job = Job { protocol: H2Client::factory(H2Options::default()), ..job(&plan) };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let counts = *counts.lock().expect("no server panicked");
    (run, counts, plan)
}

#[test]
fn streams_are_measured_exactly() {
    let habits = Habits { service: Law::Exponential { mean_ns: 4 * MS }, ..Habits::default() };
    let (run, _, plan) = run(habits, open(2_000, 1, 3), 20);
    assert_eq!(run.measured.outcomes.ok, 2_000);
    check_exact("response", &run.measured.response_time.ok, true_response(&run, &plan));
    check_all("client's lag", &run.measured.sched_lag, 2_000, 0);
}

#[test]
fn the_servers_limit_makes_requests_wait() {
    let habits = Habits { streams_max: 1, ..Habits::default() };
    let (run, ..) = run(habits, open(1_000, 1, 1), 8);
    check_all("client's lag", &run.measured.sched_lag, run.measured.sched_lag.count(), 0);
    assert!(run.measured.connection_wait.exact().max_ns > 400 * MS);
}

#[test]
fn streams_end_one_by_one() {
    let habits = Habits { returned: 0.1, failed: 0.1, retires: 0.02, ..Habits::default() };
    let (run, counts, _) = run(habits, open(2_000, 1, 2), 20);
    let (sent, outcomes) = (run.measured.sent, run.measured.outcomes);
    let count = |code| run.measured.errors.get(&ErrorKind::Protocol(code)).copied().unwrap_or(0);
    let (failed, returned) = (count("stream_reset"), count("returned"));
    assert_eq!(outcomes.ok + failed + returned, 2_000, "{outcomes:?}");
    assert_eq!(failed, counts.failed);
    // Others were returned by the end of new streams.
    assert!(sent.returned >= counts.returned && counts.returned > 100, "{sent:?} {counts:?}");
    let connections = &run.measured.connections;
    assert!(connections.renewed > 10 && connections.failures.is_empty(), "{connections:?}");
}

#[test]
fn a_timeout_cancels_one_stream() {
    let habits = Habits { swallowed: 0.1, ..Habits::default() };
    let plan = Plan { timeout_ns: 20 * MS, ..open(1_000, 1, 1) };
    let (run, counts, _) = run(habits, plan, 20);
    let outcomes = run.measured.outcomes;
    assert!((60..140).contains(&outcomes.timed_out), "{outcomes:?}");
    assert_eq!(outcomes.ok + outcomes.timed_out, 1_000);
    assert_eq!(counts.cancelled, outcomes.timed_out);
    assert_eq!(run.measured.connections.connects, 1);
}
