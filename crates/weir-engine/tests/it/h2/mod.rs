//! HTTP/2 in the engine: client and server of weir-http in virtual time. The toy protocol tests the
//! engine; these tests show that HTTP/2 fits it.

mod capacity;
mod cuts;
mod gathering;
mod hostile;
mod scripts;
mod service;
mod users;

use weir_engine::Job;
use weir_http::h2::{ErrorCode, H2Client, H2Options};
use weir_http::{Prepared, ProtocolFactory};
use weir_io::Nanos;
use weir_result::{ErrorKind, MissKind, Plan};
use weir_sim::{Law, Random, Seed, World};

use crate::expectations::{checks, missed};
use crate::observers::PerTag;
use crate::setup::{MS, Run, check_all, check_exact, closed, job, open, run_job, true_response};
use crate::streams::wild_plan;
use service::{Counts, H2Service, Habits};

/// Runs a plan with up to `streams` streams per connection; returns the counts of its servers too.
fn run(habits: Habits, plan: Plan, streams: u16) -> (Run, Counts, Plan) {
    let plan = plan.with_load(|load| load.pipeline = streams);
    let job = Job { protocol: H2Client::factory(H2Options::default()), ..job(&plan) };
    let (run, counts) = run_in(World::default(), habits, &job);
    (run, counts, plan)
}

/// Runs a job in a world with these servers.
fn run_in(world: World, habits: Habits, job: &Job) -> (Run, Counts) {
    let (service, counts) = H2Service::factory(habits);
    let world = World { service: Some(service), ..world };
    let run = run_job(world, job, 0, Nanos::MAX, None);
    let counts = *counts.lock().expect("no server panicked");
    (run, counts)
}

#[test]
fn streams_are_measured_exactly() {
    let habits = Habits { service: Law::Exponential { mean_ns: 4 * MS }, ..Habits::default() };
    let (run, _, plan) = run(habits, open(2_000, 1, 3), 20);
    assert_eq!(run.measured.results.outcomes.ok, 2_000);
    check_exact("response", &run.measured.results.response_time.ok, true_response(&run, &plan));
    check_all("client's lag", &run.measured.sched_lag, 2_000, 0);
}

#[test]
fn responses_of_streams_are_checked() {
    let habits = || Habits { body_ns: MS, ..Habits::default() };
    for (text, is_met) in [("body~^body$", true), ("same", true), ("body~^$", false)] {
        let plan = open(2_000, 1, 3).with_load(|load| load.pipeline = 20);
        let protocol = H2Client::factory(H2Options::default());
        let mut job = Job { protocol, ..job(&plan) };
        job.responses.expectations = checks(&[text]);
        let (run, _) = run_in(World::default(), habits(), &job);
        let expected = if is_met { (2_000, vec![]) } else { (0, vec![(MissKind::Body, 2_000)]) };
        assert_eq!((run.measured.results.outcomes.ok, missed(&run)), expected, "{text}");
    }
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
    let sent = run.measured.sent;
    let outcomes = run.measured.results.outcomes;
    let count =
        |code| run.measured.results.errors.get(&ErrorKind::Protocol(code)).copied().unwrap_or(0);
    let failed = count("stream_reset_internal_error");
    let returned = count("returned");
    assert_eq!(outcomes.ok + failed + returned, 2_000, "{outcomes:?}");
    assert_eq!(failed, counts.failed);
    // Others were returned by the end of new streams.
    assert!(sent.returned >= counts.returned && counts.returned > 100, "{sent:?} {counts:?}");
    let connections = &run.measured.connections;
    assert_eq!(connections.goaways.keys().collect::<Vec<_>>(), [&"NO_ERROR"]);
    assert!(connections.goaways["NO_ERROR"] > 10, "{connections:?}");
    assert!(connections.renewed == 0 && connections.failures.is_empty(), "{connections:?}");
}

#[test]
fn a_timeout_cancels_one_stream() {
    let habits = Habits { swallowed: 0.1, ..Habits::default() };
    let plan = open(1_000, 1, 1).with_load(|load| load.timeout_ns = 20 * MS);
    let (run, counts, _) = run(habits, plan, 20);
    let outcomes = run.measured.results.outcomes;
    assert!((60..140).contains(&outcomes.timed_out), "{outcomes:?}");
    assert_eq!(outcomes.ok + outcomes.timed_out, 1_000);
    assert_eq!(counts.cancelled, outcomes.timed_out);
    assert_eq!(run.measured.connections.connects, 1);
}

/// Alone on its connection, a request has the kernel's stamps; beside others it has none.
#[test]
fn stamps_of_a_single_stream() {
    let (run, ..) = run(Habits::default(), open(300, 1, 1), 1);
    let stamped = &run.measured.stamped;
    check_all("wire time", &stamped.wire_time, 300, 2 * MS);
    check_all("rx delay", &stamped.rx_delay, 300, 0);
    assert_eq!((stamped.connections, stamped.missed), (1, 0));
    let (run, ..) = self::run(Habits::default(), open(300, 1, 1), 2);
    let stamped = &run.measured.stamped;
    assert_eq!((stamped.connections, stamped.missed, stamped.response.count()), (0, 0, 0));
}

#[test]
fn the_first_byte_is_that_of_the_stream() {
    let habits = Habits { body_ns: 3 * MS, ..Habits::default() };
    let (run, ..) = run(habits, open(1_000, 1, 1), 20);
    check_all("first byte", &run.measured.first_byte, 1_000, 2 * MS);
    check_all("response", &run.measured.results.response_time.ok, 1_000, 5 * MS);
}

/// From the connect to the server's settings, which it sends at once.
#[test]
fn the_opening_has_a_time_of_its_own() {
    let mut world = World::default();
    world.network.down = Law::Fixed(3 * MS);
    let plan = open(100, 1, 4).with_load(|load| load.pipeline = 5);
    let job = Job { protocol: H2Client::factory(H2Options::default()), ..job(&plan) };
    let (run, _) = run_in(world, Habits::default(), &job);
    assert_eq!(run.measured.results.outcomes.ok, 100);
    check_all("opening", &run.measured.opening, 4, 3 * MS);
    check_all("connect", &run.measured.connect, 4, 0);
}

/// A body of 30 bytes. The window lets ten pass at once, and ten more after each round trip.
#[test]
fn uploads_wait_for_windows() {
    let habits = Habits { window_bytes: 10, ..Habits::default() };
    let mut world = World::default();
    (world.network.up, world.network.down) = (Law::Fixed(MS), Law::Fixed(MS));
    let plan = open(500, 1, 1).with_load(|load| load.pipeline = 20);
    let request = Prepared::http1("POST", "/", "sim", &[], Some(&[b'x'; 30]));
    let mut job = Job { protocol: H2Client::factory(H2Options::default()), ..job(&plan) };
    job.requests.request = request.expect("a plain request");
    let (run, _) = run_in(world, habits, &job);
    check_all("service", &run.measured.results.service_time.ok, 500, 8 * MS);
    check_all("client's lag", &run.measured.sched_lag, 500, 0);
    let connections = &run.measured.connections;
    let sent = run.measured.sent.total();
    assert_eq!((connections.window_waits, connections.window_wait_ns), (sent, sent * 4 * MS));
    // Windows that never open: the waits last until the timeouts, and beyond the end of the run.
    let habits = Habits { window_bytes: 10, refills: false, ..Habits::default() };
    let job = Job { plan: plan.with_load(|load| load.timeout_ns = 300 * MS), ..job };
    let (run, _) = run_in(World::default(), habits, &job);
    let outcomes = run.measured.results.outcomes;
    assert!(outcomes.ok == 0 && outcomes.timed_out >= 60, "{outcomes:?}");
    let connections = &run.measured.connections;
    assert_eq!(connections.window_waits, run.measured.sent.total());
    assert!(connections.window_wait_ns >= outcomes.timed_out * 300 * MS, "{connections:?}");
}

/// The reason of each end is counted, and an end before the first response is followed by a pause:
/// no storm of connects.
#[test]
fn the_reasons_of_ends_are_counted() {
    let reason = ErrorCode::ENHANCE_YOUR_CALM;
    let habits = Habits { retires: 0.05, reason, ..Habits::default() };
    let (run, counts, _) = run(habits, open(2_000, 1, 2), 20);
    let connections = &run.measured.connections;
    assert!(counts.retired > 50, "{counts:?}");
    assert_eq!(connections.goaways.keys().collect::<Vec<_>>(), [&"ENHANCE_YOUR_CALM"]);
    let ended = connections.connects - 2;
    assert!((ended..=ended + 2).contains(&connections.goaways["ENHANCE_YOUR_CALM"]));
    assert_eq!(connections.renewed, 0);
    let habits = Habits { ends_at_once: true, reason, ..Habits::default() };
    let (run, ..) = self::run(habits, closed(1), 4);
    let connections = &run.measured.connections;
    assert!((2..20).contains(&connections.connects), "{connections:?}");
    assert_eq!(connections.goaways["ENHANCE_YOUR_CALM"], connections.connects);
}

/// One request in ten is swallowed. A lone stream that times out is cancelled, and its connection
/// stays, because the server responds to the probe.
#[test]
fn lone_timeouts_keep_their_connection() {
    let habits = Habits { swallowed: 0.1, ..Habits::default() };
    let plan = closed(1).with_load(|load| load.timeout_ns = 50 * MS);
    let (run, counts, _) = run(habits, plan, 1);
    let outcomes = run.measured.results.outcomes;
    let connections = &run.measured.connections;
    assert!(outcomes.timed_out >= 5 && outcomes.ok > 30, "{outcomes:?}");
    assert_eq!(counts.cancelled, outcomes.timed_out);
    assert_eq!((connections.connects, connections.renewed), (1, 0));
}

/// A server that does nothing after 20 requests of a connection: its connection is replaced once
/// there is no response to a probe either.
#[test]
fn dead_connections_are_replaced() {
    let habits = Habits { requests_max: 20, ..Habits::default() };
    let plan = closed(1).with_load(|load| load.timeout_ns = 50 * MS);
    let (run, ..) = run(habits, plan, 1);
    let outcomes = run.measured.results.outcomes;
    let connections = &run.measured.connections;
    // 19 responses in 38 ms, then two timeouts: seven times, and 17 responses more.
    assert!((149..=151).contains(&outcomes.ok), "{outcomes:?}");
    assert_eq!((outcomes.timed_out, connections.renewed), (14, 7), "{outcomes:?}");
}

/// Most streams of a second are cancelled: the connection is renewed, before its server may take
/// that for an attack.
#[test]
fn many_timeouts_retire_a_connection() {
    let habits = Habits { swallowed: 0.8, ..Habits::default() };
    let plan = closed(1).with_load(|load| load.timeout_ns = 20 * MS);
    let (run, counts, _) = run(habits, plan, 20);
    let connections = &run.measured.connections;
    assert!(connections.renewed > 5 && connections.failures.is_empty(), "{connections:?}");
    // At least ten on each connection.
    assert!(counts.cancelled >= 10 * connections.renewed, "{counts:?} {connections:?}");
    assert_eq!(run.measured.results.outcomes.total(), run.measured.results.planned);
}

/// The last number of a stream ends its connection as planned, after its responses.
#[test]
fn numbers_of_streams_are_used_up() {
    let last_ten = (1 << 31) - 1 - 2 * 9;
    let protocol = ProtocolFactory::multiplexed(move |streams| {
        Box::new(H2Client::new(streams, &H2Options::default()).numbering_from(last_ten))
    });
    for (plan, streams) in [(open(1_000, 1, 2), 8), (closed(2), 4), (closed(1), 1)] {
        let plan = plan.with_load(|load| load.pipeline = streams);
        let job = Job { protocol: protocol.clone(), ..job(&plan) };
        let (run, _) = run_in(World::default(), Habits::default(), &job);
        let outcomes = run.measured.results.outcomes;
        let connections = &run.measured.connections;
        assert_eq!(outcomes.ok, run.measured.results.planned, "{:?}: {outcomes:?}", plan.load);
        let sent = run.measured.sent.total();
        let full = sent / 10;
        assert!((full - 2..=full).contains(&connections.renewed), "{sent} {connections:?}");
        assert!(connections.failures.is_empty() && connections.goaways.is_empty());
    }
}

/// Returns random habits, all of them bad.
fn bad_habits(random: &mut Random) -> Habits {
    let mut share = |most: f64| if random.chance(0.7) { most * random.unit() } else { 0.0 };
    let [returned, failed, swallowed, retires] = [0.1, 0.1, 0.05, 0.03].map(&mut share);
    let limits = (0..random.between(0, 4))
        .map(|_| (random.between(MS, 100 * MS), random.between(1, 12) as u32))
        .collect();
    let reasons = [ErrorCode::NO_ERROR, ErrorCode::ENHANCE_YOUR_CALM, ErrorCode(0x99)];
    Habits {
        service: Law::Exponential { mean_ns: random.between(1, 4 * MS) },
        body_ns: [0, MS][random.between(0, 1) as usize],
        streams_max: random.between(0, 12) as u32,
        limits,
        window_bytes: [65_535, 100, 1][random.between(0, 2) as usize],
        refills: random.chance(0.8),
        returned,
        failed,
        swallowed,
        retires,
        reason: reasons[random.between(0, 2) as usize],
        requests_max: if random.chance(0.2) { random.between(1, 30) as usize } else { usize::MAX },
        ..Habits::default()
    }
}

/// Everything that can fail, fails, on machines that are late: no slot is lost or counted twice,
/// and every run ends.
#[test]
fn wild_worlds_conserve_every_slot() {
    let mut ok = 0;
    let mut other = 0;
    let mut goaways = 0;
    let mut waits = 0;
    for seed in 0..150 {
        let mut random = Random::new(Seed(seed), 301);
        let plan = wild_plan(&mut random);
        let habits = bad_habits(&mut random);
        let body = random.chance(0.5).then_some(&[b'x'; 300][..]);
        let request = Prepared::http1("POST", "/", "sim", &[], body).expect("a plain request");
        let observed = PerTag::default();
        let mut job = Job {
            protocol: H2Client::factory(H2Options::default()),
            observers: vec![observed.factory()],
            ..job(&plan)
        };
        job.requests.request = request;
        let (run, _) = run_in(World::wild(Seed(seed), 100 * MS), habits, &job);
        observed.check(&run, &format!("seed {seed}"));
        ok += run.measured.results.outcomes.ok;
        other += run.measured.results.outcomes.total() - run.measured.results.outcomes.ok;
        goaways += run.measured.connections.goaways.values().sum::<u64>();
        waits += run.measured.connections.window_waits;
    }
    assert!(ok > 1_000 && other > 1_000, "{ok} {other}");
    assert!(goaways > 100 && waits > 100, "{goaways} {waits}");
}
