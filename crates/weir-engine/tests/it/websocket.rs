//! WebSocket in the engine: client and server of weir-http in virtual time. Latencies of messages
//! are exact, lost echoes and closed connections are counted once, and pushed messages are none.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weir_engine::Job;
use weir_http::ws::handshake::push_acceptance;
use weir_http::ws::{
    CloseCode, MessageKey, Opcode, UpgradeKey, WsClient, WsEvent, WsOptions, WsServer,
};
use weir_io::Nanos;
use weir_result::{ErrorKind, HttpPlan, Plan, WebSocketPlan};
use weir_sim::{Law, Link, Service, ServiceFactory, World};

use crate::setup::{
    MS, Run, SECOND, check_all, check_exact, closed, job, open, run_job, true_response,
    true_service,
};

/// Habits of a server. Shares are of the messages that arrive.
#[derive(Clone, Debug)]
struct Habits {
    /// Time from a message to its echo, unless an earlier echo is later.
    service: Law,
    /// Time of the upgrade.
    upgrade_ns: u64,
    /// Share of messages without an echo.
    swallowed: f64,
    /// Share of messages after which another one is pushed.
    pushed: f64,
    /// Share of messages after which the server closes the connection.
    closes: f64,
    /// True if each connection begins with a message of the server.
    greets: bool,
}

impl Default for Habits {
    fn default() -> Habits {
        let service = Law::Fixed(2 * MS);
        Habits { service, upgrade_ns: 0, swallowed: 0.0, pushed: 0.0, closes: 0.0, greets: false }
    }
}

/// Counts of all servers of a world.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    messages: u64,
    swallowed: u64,
    pushed: u64,
    closed: u64,
    pongs: u64,
}

/// The server's side of one connection.
#[derive(Debug)]
struct WsService {
    habits: Habits,
    counts: Arc<Mutex<Counts>>,
    /// The start of an upgrade that is incomplete.
    head: Vec<u8>,
    server: Option<WsServer>,
    /// Echoes that wait, by their number, each with its request in the truth.
    echoes: BTreeMap<u64, usize>,
    next: u64,
    last_due_at: Nanos,
}

/// Token of the wake-up that answers an upgrade.
const UPGRADE: u64 = u64::MAX;

impl WsService {
    fn factory(habits: Habits) -> (ServiceFactory, Arc<Mutex<Counts>>) {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let shared = Arc::clone(&counts);
        let make = move || -> Box<dyn Service> {
            Box::new(WsService {
                habits: habits.clone(),
                counts: Arc::clone(&shared),
                head: Vec::new(),
                server: None,
                echoes: BTreeMap::new(),
                next: 0,
                last_due_at: Nanos::ZERO,
            })
        };
        (ServiceFactory::new(make), counts)
    }

    fn count(&self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().expect("no server panicked"));
    }

    fn flush(&mut self, link: &mut Link<'_>) {
        let mut out = Vec::new();
        self.server.iter_mut().for_each(|server| server.poll_transmit(&mut out));
        if !out.is_empty() {
            link.send(&out);
        }
    }

    fn message(&mut self, sent_at: Nanos, link: &mut Link<'_>) {
        let request = link.request(None, sent_at);
        self.count(|counts| counts.messages += 1);
        if link.chance.chance(self.habits.swallowed) {
            return self.count(|counts| counts.swallowed += 1);
        }
        if link.chance.chance(self.habits.closes) {
            self.count(|counts| counts.closed += 1);
            self.server.iter_mut().for_each(|server| server.close(CloseCode::GOING_AWAY));
            return self.flush(link);
        }
        let due_at = link.now.after(self.habits.service.draw(link.chance)).max(self.last_due_at);
        self.last_due_at = due_at;
        self.echoes.insert(self.next, request);
        link.wake(due_at.since(link.now), self.next);
        self.next += 1;
    }
}

impl Service for WsService {
    fn accepted(&mut self, _link: &mut Link<'_>) {}

    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        let Some(server) = &mut self.server else {
            self.head.extend_from_slice(bytes);
            if self.head.ends_with(b"\r\n\r\n") {
                link.wake(self.habits.upgrade_ns, UPGRADE);
            }
            return;
        };
        let mut messages = 0;
        let mut pongs = 0;
        let read = server.receive(bytes, |event| match event {
            WsEvent::Message { .. } => messages += 1,
            WsEvent::Pong(_) => pongs += 1,
            WsEvent::Ping(_) | WsEvent::Close(..) => {}
        });
        read.expect("the client sends valid frames");
        self.count(|counts| counts.pongs += pongs);
        (0..messages).for_each(|_| self.message(sent_at, link));
        self.flush(link);
    }

    fn woken(&mut self, token: u64, link: &mut Link<'_>) {
        if token == UPGRADE {
            let head = String::from_utf8_lossy(&self.head).into_owned();
            let (_, key) = head.split_once("Sec-WebSocket-Key: ").expect("an upgrade");
            let key = UpgradeKey::parse(&key.as_bytes()[..24]).expect("a key");
            let mut out = Vec::new();
            let mut server = WsServer::new(1_000);
            push_acceptance(&mut out, &key, &[]);
            server.send(Opcode::PING, b"hello");
            if self.habits.greets {
                server.send(Opcode::TEXT, b"welcome");
                self.count(|counts| counts.pushed += 1);
            }
            self.server = Some(server);
            link.send(&out);
            return self.flush(link);
        }
        let (Some(request), Some(server)) = (self.echoes.remove(&token), &mut self.server) else {
            return;
        };
        let mut out = Vec::new();
        if server.send(Opcode::TEXT, b"") {
            server.poll_transmit(&mut out);
            link.respond(request, 200, &out);
        }
        if link.chance.chance(self.habits.pushed) {
            let is_sent = self.server.as_mut().is_some_and(|it| it.send(Opcode::TEXT, b"news"));
            self.count(|counts| counts.pushed += u64::from(is_sent));
            self.flush(link);
        }
    }
}

/// Returns a run of a plan with up to `depth` messages in flight per connection, which are matched
/// by their whole content if `is_matched`, and the counts of its servers.
fn run(habits: Habits, plan: &Plan, depth: u16, is_matched: bool) -> (Run, Counts) {
    let websocket = WebSocketPlan { in_flight: depth, ..WebSocketPlan::default() };
    let http = Some(HttpPlan::WebSocket(websocket));
    let plan = Plan { http, ..plan.clone() }.with_load(|load| load.pipeline = depth);
    let (service, counts) = WsService::factory(habits);
    let world = World { service: Some(service), ..World::default() };
    let job = job(&plan);
    let mut options = WsOptions::new(&job.requests.request);
    options.key = is_matched.then(|| MessageKey::new(|content| Some(content.to_vec())));
    let job = Job { protocol: WsClient::factory(options), ..job };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let counts = *counts.lock().expect("no server panicked");
    (run, counts)
}

#[test]
fn messages_are_measured_exactly() {
    let habits = Habits { service: Law::Exponential { mean_ns: 2 * MS }, ..Habits::default() };
    let plan = open(2_000, 1, 3);
    let (run, counts) = run(habits.clone(), &plan, 20, false);
    assert_eq!(
        (run.measured.results.outcomes.ok, run.measured.sent.total()),
        (2_000, counts.messages)
    );
    check_exact("response", &run.measured.results.response_time.ok, true_response(&run, &plan));
    check_all("client's lag", &run.measured.sched_lag, 2_000, 0);
    assert_eq!(counts.pongs, 3, "each connection has answered a Ping");

    let (run, _) = self::run(habits, &closed(2), 1, false);
    let sent = run.sent_between(run.start(), run.start().after(SECOND));
    check_exact("service", &run.measured.results.service_time.ok, true_service(&sent));
}

#[test]
fn the_upgrade_is_the_opening_exchange() {
    let habits = Habits { upgrade_ns: 7 * MS, ..Habits::default() };
    let (run, _) = run(habits, &open(1_000, 1, 2), 4, false);
    check_all("opening", &run.measured.opening, 2, 7 * MS);
    check_all("response", &run.measured.results.response_time.ok, 1_000, 2 * MS);
}

#[test]
fn pushed_messages_are_no_echoes() {
    let habits = Habits { pushed: 0.3, ..Habits::default() };
    let (run, counts) = run(habits, &open(1_000, 1, 2), 4, true);
    assert_eq!(run.measured.results.outcomes.ok, 1_000);
    check_all("response", &run.measured.results.response_time.ok, 1_000, 2 * MS);
    let connections = &run.measured.connections;
    assert!(counts.pushed > 200, "{counts:?}");
    // The last of them arrive after the end.
    assert!((counts.pushed - 8..=counts.pushed).contains(&connections.pushed), "{connections:?}");
    assert_eq!(connections.pushed_bytes, 4 * connections.pushed);
}

/// A greeting takes the place of an echo, and each later echo is one too early. The last is left
/// over, and comes after the run.
#[test]
fn a_push_that_counts_as_an_echo_leaves_one_over() {
    let habits = Habits { greets: true, ..Habits::default() };
    for plan in [closed(3), open(1_000, 1, 3)] {
        let (run, counts) = run(habits.clone(), &plan, 1, false);
        assert_eq!((counts.pushed, run.measured.connections.pushed), (3, 3));
    }
    let habits = Habits { pushed: 0.1, ..Habits::default() };
    let (run, counts) = run(habits, &closed(2), 1, false);
    assert!(counts.pushed > 5, "{counts:?}");
    assert_eq!(run.measured.connections.pushed, counts.pushed);
}

/// Messages are due every millisecond, and each has a message pushed with its echo.
#[test]
fn times_between_pushed_messages_are_exact() {
    let habits = Habits { pushed: 1.0, ..Habits::default() };
    let (run, _) = run(habits, &open(1_000, 1, 1), 4, true);
    let connections = &run.measured.connections;
    assert!((998..=1_000).contains(&connections.pushed_in_window), "{connections:?}");
    // The first has none before it.
    check_all("push gap", &run.measured.push_gap, connections.pushed_in_window - 1, MS);
}

/// With a key, a message that was given up leaves its connection as it is.
#[test]
fn a_lost_echo_is_a_timeout() {
    let habits = Habits { swallowed: 0.02, ..Habits::default() };
    let plan = open(1_000, 1, 8).with_load(|load| load.timeout_ns = 20 * MS);
    for depth in [1, 4] {
        let (run, counts) = run(habits.clone(), &plan, depth, false);
        let outcomes = run.measured.results.outcomes;
        assert_eq!(outcomes.ok + outcomes.timed_out, 1_000, "{outcomes:?}");
        let connections = &run.measured.connections;
        assert!(outcomes.timed_out >= counts.swallowed && counts.swallowed > 5, "{outcomes:?}");
        if depth == 1 {
            assert_eq!(outcomes.timed_out, counts.swallowed, "{counts:?}");
            assert_eq!(connections.renewed, counts.swallowed, "{connections:?}");
            check_all("service", &run.measured.results.service_time.ok, outcomes.ok, 2 * MS);
        }
        assert!(connections.failures.is_empty(), "{connections:?}");
    }
}

#[test]
fn close_frames_end_messages_and_connections() {
    let habits = Habits { closes: 0.01, ..Habits::default() };
    for depth in [1, 8] {
        let (run, counts) = run(habits.clone(), &open(2_000, 1, 2), depth, false);
        let outcomes = run.measured.results.outcomes;
        let closed = run.measured.results.errors.get(&ErrorKind::Protocol("closed_1001")).copied();
        assert_eq!(outcomes.ok + closed.unwrap_or(0), 2_000, "{outcomes:?} {counts:?}");
        let connections = &run.measured.connections;
        assert_eq!(
            connections.goaways,
            BTreeMap::from([("1001 Going Away".to_owned(), counts.closed)])
        );
        assert!(counts.closed > 5 && connections.renewed == 0, "{connections:?}");
        if depth == 1 {
            assert_eq!(closed, Some(counts.closed));
        }
    }
}
