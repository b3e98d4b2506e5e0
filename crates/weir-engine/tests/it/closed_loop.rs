//! Closed loops: every number equals the truth, for any shape of responses.

use weir_io::Nanos;
use weir_result::{Plan, Wait};
use weir_sim::{
    Client, Drip, Fate, Framing, Law, Responses, Seed, Server, TrueRequest, Version, Workers, World,
};

use crate::setup::{
    MS, Run, SECOND, START, US, check_all, check_exact, closed, run, run_part, serving,
    true_service,
};

/// Checks a run without faults against the truth: same members of M, same times.
fn check_against_truth(run: &Run, plan: &Plan, what: &str) {
    let t0 = run.start().after(plan.load.warmup.span_ns);
    let t1 = t0.after(plan.load.length_ns().expect("a run of known length"));
    let measured = &run.measured;
    let requests = run.sent_between(t0, t1);
    assert_eq!(measured.results.planned, requests.len() as u64, "{what}");
    assert_eq!(measured.sent.warmup, run.sent_between(Nanos::ZERO, t0).len() as u64, "{what}");
    assert_eq!(measured.sent.tail, run.sent_between(t1, Nanos::MAX).len() as u64, "{what}");
    assert_eq!(
        measured.results.outcomes.transport_error, 0,
        "{what}: {:?}",
        measured.results.errors
    );
    assert_eq!(
        measured.results.outcomes.total(),
        measured.results.outcomes.ok + measured.results.outcomes.bad_response
    );
    check_exact(what, &measured.results.service_time.ok, true_service(&requests));
    let bad: Vec<TrueRequest> = requests
        .iter()
        .filter(|request| request.fate == Fate::Responded(404))
        .map(|request| TrueRequest { fate: Fate::Responded(200), ..*request })
        .collect();
    check_exact(what, &measured.results.service_time.bad, true_service(&bad));
    let first = requests.iter().filter(|request| request.fate != Fate::Responded(404));
    let first =
        first.filter_map(|request| Some(request.first_delivered_at?.since(request.sent_at)));
    check_exact(what, &measured.first_byte, first);
    let ended =
        |request: &&TrueRequest| request.delivered_at.is_some_and(|at| (t0..t1).contains(&at));
    let completed = run.truth.requests.iter().filter(ended).count() as u64;
    assert_eq!(measured.results.completed, completed, "{what}");
    assert!(measured.connections.failures.is_empty(), "{what}: {:?}", measured.connections);
}

#[test]
fn a_fixed_service_is_exact() {
    let plan = closed(7).with_load(|load| {
        load.duration_ns = Some(3 * SECOND);
        load.warmup.span_ns = SECOND / 2;
    });
    let run = run(serving(MS), &plan);
    let measured = &run.measured;
    assert_eq!(run.start(), START);
    assert_eq!(measured.results.planned, 7 * 3_000);
    assert_eq!(measured.results.outcomes.ok, 7 * 3_000);
    assert_eq!((measured.sent.warmup, measured.results.completed), (7 * 500, 7 * 3_000));
    check_all("service", &measured.results.service_time.ok, 21_000, MS);
    check_all("response", &measured.results.response_time.ok, 21_000, MS);
    check_all("first byte", &measured.first_byte, 21_000, MS);
    assert!(measured.send_lag.ok.is_empty() && measured.sched_lag.is_empty());
    check_against_truth(&run, &plan, "fixed");
}

/// The results of a client that takes some 5 µs for each request.
#[derive(Debug)]
struct Busy {
    responses: u64,
    median_ns: u64,
    events_per_wake: f64,
}

impl Busy {
    fn client(server: &Server, connections: u32, wait: Wait) -> Busy {
        let client = Client {
            event_ns: 2_500,
            submit_ns: 5_000,
            wake_late: Law::Fixed(2 * US),
            ..Client::default()
        };
        let world = World { client, server: server.clone(), ..World::default() };
        let Run { measured, .. } = run(world, &Plan { wait, ..closed(connections) });
        let times = &measured.results.service_time.ok;
        let usage = measured.workers[0].usage;
        Busy {
            responses: measured.results.completed,
            median_ns: times.value_at_rank(times.count() / 2).expect("there are responses"),
            events_per_wake: usage.events as f64 / usage.wakes as f64,
        }
    }
}

#[test]
fn gathering_unrequested_costs_nothing_where_requests_queue_in_the_server() {
    let server =
        Server { workers: Workers::Limited(1), service: Law::Fixed(7 * US), ..Server::default() };
    for (connections, more_events) in [(50, 1.0), (100, 4.0), (1_000, 4.0)] {
        let each = Busy::client(&server, connections, Wait::Latency);
        let auto = Busy::client(&server, connections, Wait::Auto);
        let what = format!("{connections}: {each:?}, {auto:?}");
        assert!(auto.responses * 100 >= each.responses * 99, "{what}");
        assert!(auto.median_ns * 100 <= each.median_ns * 105, "{what}");
        assert!(auto.events_per_wake >= each.events_per_wake * more_events, "{what}");
    }
}

#[test]
fn gathering_unrequested_ends_where_nothing_queues() {
    for (connections, took_ns) in [(20, 150 * US), (100, 700 * US), (200, 1_400 * US)] {
        let service = Law::Uniform { low_ns: took_ns / 2, high_ns: took_ns / 2 * 3 };
        let server = Server { service, ..Server::default() };
        let each = Busy::client(&server, connections, Wait::Latency);
        let auto = Busy::client(&server, connections, Wait::Auto);
        let what = format!("{connections}: {each:?}, {auto:?}");
        assert!(auto.responses * 100 >= each.responses * 98, "{what}");
        assert!(auto.median_ns * 100 <= each.median_ns * 102, "{what}");
        // The same with `throughput`, which coalesces at the expense of the rate here.
        let requested = Busy::client(&server, connections, Wait::Throughput);
        assert!(requested.responses < auto.responses, "{what}, {requested:?}");
    }
}

#[test]
fn gathered_responses_are_late_by_little_and_that_counts() {
    let service = Law::Uniform { low_ns: 50 * US, high_ns: 250 * US };
    let run_by = |wait| {
        let mut world = serving(0);
        world.server.service = service;
        let plan = Plan { wait, ..closed(20) };
        let run = run(world, &plan);
        let requests = run.sent_between(run.start(), run.start().after(SECOND));
        let true_sum: u64 = true_service(&requests).into_iter().sum();
        let exact = run.measured.results.service_time.ok.exact();
        assert_eq!(exact.count, requests.len() as u64, "{wait:?}");
        assert!(exact.max_ns <= 350 * US, "{wait:?}: {} ns", exact.max_ns);
        let late_ns = (exact.sum_ns - u128::from(true_sum)) / u128::from(exact.count);
        let usage = run.measured.workers[0].usage;
        (late_ns, usage.events as f64 / usage.wakes as f64)
    };
    assert_eq!(run_by(Wait::Latency).0, 0);
    assert_eq!(run_by(Wait::Auto).0, 0);
    let (late_ns, events) = run_by(Wait::Throughput);
    assert!((20_000..60_000).contains(&late_ns), "{late_ns}");
    assert!((8.0..30.0).contains(&events), "{events}");
}

#[test]
fn the_network_counts() {
    let mut world = serving(MS);
    world.network.connect = Law::Fixed(300 * US);
    world.network.up = Law::Fixed(100 * US);
    world.network.down = Law::Fixed(250 * US);
    let run = run(world, &closed(3));
    check_all(
        "service",
        &run.measured.results.service_time.ok,
        run.measured.results.planned,
        1_350 * US,
    );
    check_all("connect", &run.measured.connect, 3, 300 * US);
    check_against_truth(&run, &closed(3), "network");
}

#[test]
fn one_worker_is_shared() {
    let mut world = serving(MS);
    world.server.workers = Workers::Limited(1);
    let run = run(world, &closed(10));
    assert_eq!(run.measured.results.completed, 999, "one a millisecond, the first after one");
    // X = µ and L = C / µ once all have joined the queue.
    assert_eq!(run.measured.results.service_time.ok.exact().max_ns, 10 * MS);
    assert_eq!(run.measured.results.service_time.ok.exact().min_ns, MS);
    check_against_truth(&run, &closed(10), "one worker");
}

#[test]
fn every_shape_of_response_is_read_exactly() {
    let plain = Responses::default();
    let shapes = [
        ("chunked", Responses { framing: Framing::Chunked { chunk_bytes: 10 }, ..plain.clone() }),
        ("close", Responses { framing: Framing::Close, ..plain.clone() }),
        ("mixed", Responses { framing: Framing::Mixed, ..plain.clone() }),
        ("interim", Responses { interim: Some((103, 1.0)), ..plain.clone() }),
        ("statuses", Responses { statuses: vec![(200, 2.0), (404, 1.0)], ..plain.clone() }),
        ("no content", Responses { statuses: vec![(204, 1.0)], ..plain.clone() }),
        ("empty", Responses { body_bytes: Law::ZERO, ..plain.clone() }),
        ("big", Responses { body_bytes: Law::Fixed(20_000), ..plain.clone() }),
        ("old", Responses { version: Version::Http10 { keep_alive: false }, ..plain.clone() }),
        ("kept", Responses { version: Version::Http10 { keep_alive: true }, ..plain.clone() }),
        ("limit", Responses { close_after: Some(10), ..plain.clone() }),
        ("one", Responses { close_after: Some(1), ..plain.clone() }),
        ("drip", Responses { drip: Some(Drip { pieces: 5, gap_ns: 70 * US }), ..plain }),
    ];
    for (name, responses) in shapes {
        for pipeline in [1, 4] {
            let mut world = serving(MS);
            world.server.responses = responses.clone();
            let plan = closed(4).with_load(|load| {
                load.pipeline = pipeline;
                load.duration_ns = Some(SECOND / 5);
            });
            let run = run(world, &plan);
            // With pipelining, the requests behind a response that closes are lost.
            let closes = run.truth.counts.closes.after_response > 0;
            if pipeline == 1 || !closes {
                check_against_truth(&run, &plan, name);
            }
            assert!(
                run.measured.results.outcomes.ok + run.measured.results.outcomes.bad_response > 100,
                "{name}"
            );
            assert_eq!(run.measured.interim_responses > 0, name == "interim");
        }
    }
}

#[test]
fn a_drip_has_a_first_byte_and_a_last_one() {
    let mut world = serving(MS);
    world.server.responses.drip = Some(Drip { pieces: 5, gap_ns: 70 * US });
    let run = run(world, &closed(4));
    check_all("first byte", &run.measured.first_byte, run.measured.results.planned, MS);
    check_all(
        "service",
        &run.measured.results.service_time.ok,
        run.measured.results.planned,
        MS + 280 * US,
    );
}

#[test]
fn head_requests_expect_no_body() {
    let mut plan = closed(2);
    plan.request.method = "HEAD".to_owned();
    let run = run(serving(MS), &plan);
    check_against_truth(&run, &plan, "HEAD");
    assert_eq!(run.measured.results.outcomes.ok, 2_000);
}

#[test]
fn pipelined_requests_have_stamps_of_their_own() {
    let plan = closed(2).with_load(|load| load.pipeline = 3);
    let run = run(serving(MS), &plan);
    check_against_truth(&run, &plan, "pipelined");
    // Each connection serves one per millisecond; once three are in flight each takes three.
    assert_eq!(run.measured.results.completed, 2 * 999);
    assert_eq!(run.measured.results.service_time.ok.exact().max_ns, 3 * MS);
    assert_eq!(run.measured.results.service_time.ok.exact().min_ns, MS);
}

#[test]
fn a_number_of_requests_is_kept_exactly() {
    for (requests, connections) in [(1, 1), (10, 3), (1_000, 7), (5, 9)] {
        for pipeline in [1, 4] {
            let plan = closed(connections).with_load(|load| {
                load.requests = Some(requests);
                load.duration_ns = None;
                load.pipeline = pipeline;
            });
            let run = run(serving(MS), &plan);
            assert_eq!(run.measured.results.planned, requests);
            assert_eq!(run.measured.results.outcomes.ok, requests);
            assert_eq!(run.truth.requests.len() as u64, requests, "not one more is sent");
        }
    }
}

#[test]
fn the_first_of_number_and_duration_ends_the_run() {
    let plan = closed(1).with_load(|load| load.requests = Some(100));
    let ended_by_number = run(serving(MS), &plan);
    assert_eq!(ended_by_number.measured.results.outcomes.ok, 100);
    let plan = closed(1).with_load(|load| load.requests = Some(100_000));
    let ended_by_time = run(serving(MS), &plan);
    assert_eq!(ended_by_time.measured.results.planned, 1_000);
    assert_eq!(ended_by_time.measured.results.outcomes.ok, 1_000);
}

#[test]
fn parts_of_a_plan_add_up_to_it() {
    for (threads, connections, requests) in [(3, 10, 101), (4, 4, 3), (5, 7, 1_000)] {
        let plan = Plan { threads, ..closed(connections) }.with_load(|load| {
            load.requests = Some(requests);
            load.duration_ns = None;
        });
        let parts: Vec<Run> =
            (0..threads).map(|number| run_part(serving(MS), &plan, number, Nanos::MAX)).collect();
        let sum = |of: fn(&Run) -> u64| parts.iter().map(of).sum::<u64>();
        assert_eq!(sum(|run| run.measured.results.planned), requests);
        assert_eq!(sum(|run| run.truth.requests.len() as u64), requests);
        assert_eq!(sum(|run| run.measured.connections.requested), u64::from(connections));
    }
}

#[test]
fn random_well_worlds_are_measured_exactly() {
    for seed in 0..60 {
        let plan = closed(4).with_load(|load| {
            load.warmup.span_ns = 20 * MS;
            load.duration_ns = Some(100 * MS);
        });
        let run = run(World::well(Seed(seed), 100 * MS), &plan);
        check_against_truth(&run, &plan, &format!("seed {seed}"));
    }
}

/// Rule N: with clocks that advance, reported times are at least the true ones. They exceed them
/// only by the cost of the calls.
#[test]
fn nothing_is_under_reported_when_calls_cost_time() {
    let mut world = serving(MS);
    world.client.clock_ns = 25;
    world.client.submit_ns = 1_500;
    world.client.event_ns = 200;
    let plan = closed(20);
    let run = run(world, &plan);
    let exact = run.measured.results.service_time.ok.exact();
    // A turn handles at most all connections: two batches of sends, twenty events. Responses that
    // arrive together by the dozen are coalesced for a twentieth of their time at most.
    let cost_most = 2 * 1_500 + 20 * 200 + 102 * 25 + MS / 20;
    assert!(exact.min_ns >= MS, "{exact:?}");
    assert!(exact.max_ns <= MS + cost_most, "{exact:?}");
    let requests = run.sent_between(Nanos::ZERO, Nanos::MAX);
    assert!(requests.iter().all(|request| request.sent_at >= run.start()));
}
