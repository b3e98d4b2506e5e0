//! Multiplexed protocols in the engine, by a toy one: exact figures where nothing fails, and the
//! invariants of every run where everything does.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use weir_engine::{Ending, Job};
use weir_io::Nanos;
use weir_result::{ConnectionPlan, ErrorKind, Plan};
use weir_sim::{Law, Random, Seed, World};

use crate::observers::PerTag;
use crate::setup::{
    MS, Run, SECOND, check_all, check_exact, closed, job, open, poisson, run_job, true_response,
    true_service,
};
use crate::toy::{Counts, Habits, ToyClient, ToyServer};

/// Runs a plan with the toy protocol; returns the counts of its servers too.
fn run(world: World, habits: Habits, plan: &Plan) -> (Run, Counts) {
    let (service, counts) = ToyServer::factory(habits);
    let world = World { service: Some(service), ..world };
    let job = Job { protocol: ToyClient::factory(), ..job(plan) };
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let counts = *counts.lock().expect("no server panicked");
    (run, counts)
}

/// Returns a plan with up to `streams` streams per connection.
fn with_streams(plan: Plan, streams: u16) -> Plan {
    plan.with_load(|load| load.pipeline = streams)
}

#[test]
fn streams_are_measured_exactly() {
    let habits = Habits { service: Law::Exponential { mean_ns: 2 * MS }, ..Habits::default() };
    let plan = with_streams(open(2_000, 1, 3), 20);
    let (run, counts) = run(World::default(), habits.clone(), &plan);
    assert_eq!(run.measured.results.outcomes.ok, 2_000);
    check_exact("response", &run.measured.results.response_time.ok, true_response(&run, &plan));
    check_all("client's lag", &run.measured.sched_lag, 2_000, 0);
    assert_eq!(counts.processed, run.measured.sent.total());

    let plan = with_streams(closed(2), 10);
    let (run, _) = self::run(World::default(), habits, &plan);
    let t1 = run.start().after(SECOND);
    let sent = run.sent_between(run.start(), t1);
    check_exact("service", &run.measured.results.service_time.ok, true_service(&sent));
    // 20 streams of 4 ms each.
    assert!(
        (4_500..5_500).contains(&run.measured.results.outcomes.ok),
        "{:?}",
        run.measured.results.outcomes
    );
}

#[test]
fn the_first_byte_is_that_of_the_stream() {
    let plan = with_streams(open(1_000, 1, 1), 20);
    let (run, _) = run(World::default(), Habits::default(), &plan);
    check_all("first byte", &run.measured.first_byte, 1_000, MS);
    check_all("response", &run.measured.results.response_time.ok, 1_000, 2 * MS);
}

#[test]
fn waiting_for_the_servers_limit_is_no_lag() {
    // One stream at a time serves 500/s. From the fifth request on there are three.
    let habits = Habits { limits: vec![1, 3], ..Habits::default() };
    let plan = with_streams(open(400, 1, 1), 8);
    let (run, _) = run(World::default(), habits.clone(), &plan);
    assert_eq!(run.measured.results.outcomes.ok, 400);
    check_all("client's lag", &run.measured.sched_lag, 400, 0);
    let plan = with_streams(open(1_000, 1, 1), 8);
    let (run, _) = self::run(World::default(), Habits { limits: vec![1], ..habits }, &plan);
    check_all("client's lag", &run.measured.sched_lag, run.measured.sched_lag.count(), 0);
    let waited = run.measured.connection_wait.exact();
    assert!(waited.max_ns > 400 * MS, "{waited:?}");
}

#[test]
fn a_returned_request_keeps_its_slot() {
    let habits = Habits { returned: 0.2, ..Habits::default() };
    for plan in [with_streams(open(1_000, 1, 2), 20), with_streams(closed(2), 10)] {
        let (run, counts) = run(World::default(), habits.clone(), &plan);
        let sent = run.measured.sent;
        let outcomes = run.measured.results.outcomes;
        let what = format!("{:?}: {sent:?}, {outcomes:?}, {counts:?}", plan.load);
        assert_eq!(sent.returned, counts.returned, "{what}");
        assert_eq!(sent.total() - sent.returned, counts.processed, "{what}");
        assert!(sent.returned > 100, "{what}");
        // One in 625 is returned four times.
        let returned = run.measured.results.errors.get(&ErrorKind::Protocol("returned")).copied();
        assert_eq!(returned.unwrap_or(0), outcomes.transport_error, "{what}");
        assert!(outcomes.transport_error < outcomes.ok / 200, "{what}");
        assert_eq!(outcomes.ok + outcomes.transport_error, outcomes.total(), "{what}");
        check_all("client's lag", &run.measured.sched_lag, run.measured.sched_lag.count(), 0);
    }
}

#[test]
fn a_request_that_is_always_returned_fails_after_four_sends() {
    let habits = Habits { returned: 1.0, ..Habits::default() };
    let (run, counts) = run(World::default(), habits, &with_streams(open(100, 1, 2), 20));
    assert_eq!(
        run.measured.results.errors,
        BTreeMap::from([(ErrorKind::Protocol("returned"), 100)])
    );
    let sent = run.measured.sent;
    assert_eq!((sent.measured, sent.resent, sent.returned), (100, 300, 400));
    assert_eq!((counts.processed, counts.returned), (0, 400));
}

#[test]
fn a_timeout_cancels_one_stream() {
    let habits = Habits { swallowed: 0.1, ..Habits::default() };
    let plan = with_streams(open(1_000, 1, 1), 20).with_load(|load| load.timeout_ns = 20 * MS);
    let (run, counts) = run(World::default(), habits, &plan);
    let outcomes = run.measured.results.outcomes;
    assert!((60..140).contains(&outcomes.timed_out), "{outcomes:?}");
    assert_eq!(outcomes.ok + outcomes.timed_out, 1_000);
    assert_eq!(counts.cancelled, outcomes.timed_out);
    assert_eq!((run.measured.connections.connects, run.truth.counts.connects.called), (1, 1));
    assert!(run.measured.connections.failures.is_empty());
    check_all("ages", &run.measured.results.response_time.censored, outcomes.timed_out, 20 * MS);
}

#[test]
fn a_stream_fails_alone() {
    let habits = Habits { failed: 0.1, ..Habits::default() };
    let (run, _) = run(World::default(), habits, &with_streams(open(1_000, 1, 1), 20));
    let failed = run.measured.results.errors[&ErrorKind::Protocol("stream_reset_internal_error")];
    assert!((60..140).contains(&failed), "{failed}");
    assert_eq!(run.measured.results.outcomes.ok + failed, 1_000);
    assert_eq!(run.measured.connections.connects, 1);
}

#[test]
fn a_retiring_connection_is_renewed_after_its_responses() {
    let habits = Habits { retires: 0.02, ..Habits::default() };
    let (run, counts) = run(World::default(), habits, &with_streams(open(2_000, 1, 2), 20));
    assert_eq!(run.measured.results.outcomes.ok, 2_000);
    let connections = &run.measured.connections;
    assert!(connections.renewed > 10 && connections.failures.is_empty(), "{connections:?}");
    assert_eq!(run.measured.sent.total() - run.measured.sent.returned, counts.processed);
}

/// Returns random habits, all of them bad.
fn bad_habits(random: &mut Random) -> Habits {
    let mut share = |most: f64| if random.chance(0.7) { most * random.unit() } else { 0.0 };
    let shares = [0.1, 0.1, 0.05, 0.3, 0.03, 0.02, 0.02, 0.01].map(&mut share);
    let [returned, failed, swallowed, not_found, retires, closes, resets, spoils] = shares;
    let limits =
        (0..random.between(1, 4)).map(|_| random.between(0, 12) as u32).collect::<Vec<_>>();
    Habits {
        service: Law::Exponential { mean_ns: random.between(1, 4 * MS) },
        // A limit of zero holds until the next one, which needs a request.
        limits: limits.into_iter().map(|limit| limit.max(1)).collect(),
        returned,
        failed,
        swallowed,
        not_found,
        retires,
        closes,
        resets,
        spoils,
    }
}

/// Returns a random plan of a short run.
pub(crate) fn wild_plan(random: &mut Random) -> Plan {
    let connections = random.between(1, 6) as u32;
    let rate = random.between(1, 5_000);
    let plan = match random.between(0, 3) {
        0 | 1 => closed(connections),
        2 => open(rate, 1, connections),
        _ => poisson(rate, 1, connections, random.bits()),
    };
    let connection = ConnectionPlan {
        requests: random.chance(0.2).then(|| random.between(1, 10) as u32),
        lifetime_ns: random.chance(0.2).then(|| random.between(MS, 30 * MS)),
        ..ConnectionPlan::default()
    };
    let by_number = random.chance(0.3);
    Plan { connection, ..plan }.with_load(|load| {
        load.pipeline = random.between(1, 10) as u16;
        load.duration_ns = (!by_number).then_some(100 * MS);
        load.requests = by_number.then(|| random.between(1, 200));
        load.warmup.span_ns = [0, 20 * MS][random.between(0, 1) as usize];
        load.timeout_ns = random.between(2 * MS, 50 * MS);
        load.connect_timeout_ns = random.between(2 * MS, 50 * MS);
    })
}

/// Everything that can fail, fails: no slot is lost or counted twice, and every run ends.
#[test]
fn wild_streams_conserve_every_slot() {
    let mut seen = BTreeMap::<&str, u64>::new();
    for seed in 0..200 {
        let mut random = Random::new(Seed(seed), 300);
        let plan = wild_plan(&mut random);
        let habits = bad_habits(&mut random);
        let stop_at = match random.chance(0.3) {
            true => Nanos(random.between(0, 120 * MS)),
            false => Nanos::MAX,
        };
        let (service, counts): (_, Arc<Mutex<Counts>>) = ToyServer::factory(habits);
        let world = World { service: Some(service), ..World::wild(Seed(seed), 100 * MS) };
        let observed = PerTag::default();
        let observers = if seed % 2 == 1 { vec![observed.factory()] } else { Vec::new() };
        let ending = Ending { stops_at_t1: random.chance(0.3), ..Ending::default() };
        let job = Job { protocol: ToyClient::factory(), observers, ending, ..job(&plan) };
        let run = run_job(world, &job, 0, stop_at, None);
        if seed % 2 == 1 {
            observed.check(&run, &format!("seed {seed}"));
        }
        let counts = *counts.lock().expect("no server panicked");
        let sent = run.measured.sent;
        // Requests that arrived are at most those that were sent.
        let streams = run.truth.requests.len() as u64;
        assert!(streams <= sent.total(), "seed {seed}: {sent:?}, {counts:?}");
        assert!(counts.processed + counts.returned == streams, "seed {seed}: {counts:?}");
        let outcomes = run.measured.results.outcomes;
        for (what, count) in [
            ("ok", outcomes.ok),
            ("bad", outcomes.bad_response),
            ("failed", outcomes.transport_error),
            ("timed out", outcomes.timed_out),
            ("in flight", outcomes.in_flight_at_end),
            ("never sent", outcomes.never_sent),
            ("returned", sent.returned),
            ("cancelled", counts.cancelled),
            ("renewed", run.measured.connections.renewed),
        ] {
            *seen.entry(what).or_default() += count;
        }
    }
    assert!(seen.values().all(|count| *count > 20), "{seen:?}");
}
