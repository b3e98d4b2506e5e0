//! Open loops: slots are sent when they are due, latency counts from then, and the partitioning of
//! the load has no influence.

use weir_io::Nanos;
use weir_result::{Plan, Warmup};
use weir_sim::{Client, Pause, Random, Seed, Workers, World};

use crate::setup::{
    MS, Run, SECOND, START, check_all, check_exact, check_ranges, due_at, open, poisson, quantile,
    run, run_part, serving, true_response, true_service,
};
use crate::theory;

/// Checks a faultless run of one worker against the truth.
fn check_against_truth(run: &Run, plan: &Plan, what: &str) {
    let response = true_response(run, plan);
    assert_eq!(run.measured.results.planned, response.len() as u64, "{what}");
    assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned, "{what}");
    check_exact(what, &run.measured.results.response_time.ok, response);
    let t0 = run.start().after(plan.load.warmup.span_ns);
    let t1 = t0.after(plan.load.length_ns().expect("a run of known length"));
    let ended = |at: Nanos| (t0..t1).contains(&at);
    let requests = run.truth.requests.iter();
    let completed = requests.filter(|request| request.delivered_at.is_some_and(ended)).count();
    assert_eq!(run.measured.results.completed, completed as u64, "{what}");
}

#[test]
fn a_fixed_service_is_exact() {
    let plan = open(1_000, 1, 7).with_load(|load| {
        load.duration_ns = Some(3 * SECOND);
        load.warmup.span_ns = SECOND / 2;
    });
    let run = run(serving(MS), &plan);
    let measured = &run.measured;
    assert_eq!((run.start(), measured.results.planned), (START, 3_000));
    // The response to the last slot of M comes half a gap after t1, as the next one is due.
    assert_eq!((measured.sent.warmup, measured.sent.tail), (500, 1));
    check_all("response", &measured.results.response_time.ok, 3_000, MS);
    check_all("service", &measured.results.service_time.ok, 3_000, MS);
    check_all("send lag", &measured.send_lag.ok, 3_000, 0);
    check_all("scheduling lag", &measured.sched_lag, 3_000, 0);
    check_all("connection wait", &measured.connection_wait, 3_000, 0);
    check_against_truth(&run, &plan, "fixed");
    let from = run.start();
    let until = run.start().after(SECOND);
    let in_first_second = run.sent_between(from, until);
    assert_eq!(in_first_second.len(), 1_000);
    for (index, request) in (0..).zip(&in_first_second) {
        assert_eq!(request.sent_at, due_at(&run, &plan, index));
    }
}

#[test]
fn ticks_send_what_is_due_together() {
    // Responses arrive before the next slot is due, so that only ticks send.
    let plan = Plan { tick_ns: Some(MS), ..open(10_000, 1, 50) };
    let run = run(serving(20_000), &plan);
    let measured = &run.measured;
    assert_eq!((measured.results.planned, measured.results.outcomes.ok), (10_000, 10_000));
    let requests = run.sent_between(run.start(), Nanos::MAX);
    let off_ticks = requests.iter().filter(|request| request.sent_at.since(run.start()) % MS != 0);
    assert_eq!(off_ticks.count(), 0);
    let lag = measured.send_lag.ok.exact();
    // Of ten slots per tick the first is due 950 µs before it, and the last 50 µs.
    assert_eq!((lag.min_ns, lag.max_ns), (50_000, 950_000));
    check_exact("response", &measured.results.response_time.ok, true_response(&run, &plan));
}

#[test]
fn rates_may_be_fractions_and_below_one_per_second() {
    for (requests, seconds, window_s) in [(1, 4, 13), (10, 3, 6), (333, 7, 5), (1, 60, 125)] {
        let plan = open(requests, seconds, 2).with_load(|load| {
            load.duration_ns = Some(window_s * SECOND);
            load.warmup.span_ns = SECOND;
        });
        let run = run(serving(MS), &plan);
        let below = |at_s: u64| (2 * requests * at_s).div_ceil(seconds) / 2;
        let planned = below(1 + window_s) - below(1);
        assert_eq!(run.measured.results.planned, planned, "{requests} per {seconds} s");
        check_all("lag", &run.measured.send_lag.ok, planned, 0);
        check_against_truth(&run, &plan, "fraction");
    }
}

#[test]
fn a_number_of_requests_is_kept_exactly() {
    for (requests, connections) in [(1, 1), (10, 3), (1_000, 7)] {
        for plan in [open(1_000, 3, connections), poisson(1_000, 3, connections, 5)] {
            let plan = plan.with_load(|load| {
                load.requests = Some(requests);
                load.duration_ns = None;
            });
            let run = run(serving(MS), &plan);
            assert_eq!(run.measured.results.planned, requests);
            assert_eq!(run.measured.results.outcomes.ok, requests);
            assert_eq!(run.truth.requests.len() as u64, requests, "not one more is sent");
        }
    }
}

/// Returns the send times of the requests, from the schedule's start, over all parts of a plan.
fn sent_offsets(plan: &Plan, threads: u32) -> Vec<u64> {
    let plan = Plan { threads, ..plan.clone() };
    let mut offsets = Vec::new();
    let mut planned = 0;
    for number in 0..threads {
        let run = run_part(serving(1_000), &plan, number, Nanos::MAX);
        assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
        planned += run.measured.results.planned;
        let own = run.truth.requests.iter().map(|request| request.sent_at.since(run.start()));
        offsets.extend(own);
    }
    offsets.retain(|offset| *offset < plan.load.length_ns().expect("a run of known length"));
    offsets.sort_unstable();
    assert_eq!(planned, offsets.len() as u64);
    offsets
}

#[test]
fn the_plan_does_not_depend_on_threads() {
    for plan in [open(997, 1, 101), poisson(997, 1, 101, 42)] {
        let whole = sent_offsets(&plan, 1);
        for threads in [2, 3, 8, 101] {
            assert_eq!(sent_offsets(&plan, threads), whole, "{:?} on {threads}", plan.load);
        }
    }
    let seeds = [1, 2].map(|seed| sent_offsets(&poisson(997, 1, 101, seed), 1));
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn load_follows_connections_where_parts_are_uneven() {
    // Ten connections on four threads: 3, 3, 2, 2.
    let plan = Plan { threads: 4, ..open(1_000, 1, 10) };
    let planned: Vec<u64> = (0..4)
        .map(|number| run_part(serving(MS), &plan, number, Nanos::MAX).measured.results.planned)
        .collect();
    assert_eq!(planned, [300, 300, 200, 200]);
}

#[test]
fn poisson_plans_are_measured_exactly() {
    let plan = poisson(5_000, 1, 200, 9).with_load(|load| load.duration_ns = Some(2 * SECOND));
    let run = run(serving(MS), &plan);
    let planned = run.measured.results.planned;
    assert!((9_500..10_500).contains(&planned), "{planned}");
    check_all("response", &run.measured.results.response_time.ok, planned, MS);
    check_all("lag", &run.measured.send_lag.ok, planned, 0);
}

/// V8, with a drain that is long enough.
#[test]
fn overload_is_awaited_to_its_end() {
    let mut world = serving(MS);
    world.server.workers = Workers::Limited(1);
    let drain_ns = Some(3 * SECOND);
    let plan = open(1_200, 1, 50).with_load(|load| {
        load.duration_ns = Some(10 * SECOND);
        load.drain_ns = drain_ns;
    });
    let run = run(world, &plan);
    let measured = &run.measured;
    assert_eq!((measured.results.planned, measured.results.outcomes.ok), (12_000, 12_000));
    assert_eq!(measured.results.completed, 9_999, "X = µ, the first after a service time");
    check_against_truth(&run, &plan, "overload");
    for p in [0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
        let expected = theory::overload_quantile(10.0, 1_200.0, 1_000.0, p);
        let found = quantile(&measured.results.response_time.ok, p) as f64 / 1e9;
        // One slot, one service, one bucket.
        let granularity = 1.0 / 1_200.0 + 0.001 + expected / 1_000.0;
        assert!((found - expected).abs() < granularity, "p {p}: {found} is not {expected}");
    }
    // Once all connections are busy, slots wait for one: the wait counts as theirs, not as the
    // client's lag.
    assert_eq!(measured.sched_lag.exact().max_ns, 0);
    assert!(quantile(&measured.connection_wait, 0.99) > 19 * SECOND / 10);
    assert_eq!(
        measured.results.service_time.ok.exact().max_ns,
        50 * MS,
        "what a closed loop would tell"
    );
}

/// V8, with a drain that is too short: latency beyond it is reported as a bound.
#[test]
fn overload_beyond_the_drain_is_censored() {
    let mut world = serving(MS);
    world.server.workers = Workers::Limited(1);
    let timeout_ns = SECOND / 2;
    let plan = open(1_200, 1, 50).with_load(|load| {
        load.duration_ns = Some(10 * SECOND);
        load.timeout_ns = timeout_ns;
    });
    let run = run(world, &plan);
    let outcomes = run.measured.results.outcomes;
    // Served by the end of the drain: 10,500 of 12,000, with 50 of the rest in flight.
    assert_eq!(outcomes.ok, 10_499);
    assert_eq!(outcomes.in_flight_at_end, 50);
    assert_eq!(outcomes.never_sent, 12_000 - 10_499 - 50);
    let end = run.start().after(10 * SECOND + timeout_ns);
    let ages = (10_499..12_000).map(|index| end.since(due_at(&run, &plan, index)));
    check_ranges("ages", &run.measured.results.response_time.censored, ages);
    let lags = (10_549..12_000).map(|index| end.since(due_at(&run, &plan, index)));
    check_ranges("bounds of lags", &run.measured.send_lag.censored, lags);
    assert_eq!(run.truth.responded(), 10_499, "sockets close when the drain is over");
}

#[test]
fn absurd_rates_end() {
    for (rate, connections) in [(100_000_000, 3), (100_000_000_000, 1)] {
        let plan = open(rate, 1, connections).with_load(|load| {
            load.duration_ns = Some(2 * SECOND);
            load.timeout_ns = SECOND;
        });
        let run = run(serving(MS), &plan);
        let outcomes = run.measured.results.outcomes;
        assert_eq!(run.measured.results.planned, 2 * rate);
        let responded = 3_000 * u64::from(connections);
        assert!(outcomes.ok + u64::from(connections) >= responded, "{outcomes:?}");
        assert!(outcomes.ok <= responded, "{outcomes:?}");
        assert_eq!(outcomes.never_sent, 2 * rate - outcomes.ok - outcomes.in_flight_at_end);
        let ages = run.measured.results.response_time.censored.exact();
        // The oldest slot that was never sent was due just after those that were.
        assert!(ages.max_ns < 3 * SECOND && ages.min_ns > SECOND - MS, "{ages:?}");
        let mean = (ages.sum_ns / u128::from(ages.count)) as f64 / 1e9;
        assert!((mean - 2.0).abs() < 0.01, "{mean}");
    }
}

/// V13: the send lag reveals a client that stops; the server's times stay unchanged.
#[test]
fn a_client_that_stops_reports_itself() {
    let stops = vec![Pause::new(START.after(SECOND), SECOND / 2)];
    let mut world = World { client: Client { stops, ..Client::default() }, ..serving(MS) };
    world.server.workers = Workers::Unlimited;
    let plan = open(1_000, 1, 1_000).with_load(|load| load.duration_ns = Some(4 * SECOND));
    let run = run(world, &plan);
    let measured = &run.measured;
    assert_eq!(measured.results.outcomes.ok, 4_000);
    // Slots due during the stop were sent at its end, and responses that arrived in it were read
    // then.
    let from = START.after(SECOND);
    let until = START.after(SECOND + SECOND / 2);
    let due = (0..4_000).map(|index| due_at(&run, &plan, index));
    let lag = |due: Nanos| if (from..until).contains(&due) { until.since(due) } else { 0 };
    check_exact("scheduling lag", &measured.sched_lag, due.clone().map(lag));
    check_exact("send lag", &measured.send_lag.ok, due.clone().map(lag));
    check_all("connection wait", &measured.connection_wait, 4_000, 0);
    let response = due.map(|due| match due.after(MS) {
        end if (from..until).contains(&end) && due < from => until.since(due),
        _ => lag(due) + MS,
    });
    check_exact("response", &measured.results.response_time.ok, response);
    for request in &run.truth.requests {
        assert_eq!(request.departed_at, Some(request.received_at.after(MS)));
    }
}

#[test]
fn a_late_timer_is_reported_as_lag() {
    let mut world = serving(MS);
    world.client.wake_late = weir_sim::Law::Uniform { low_ns: 1_000, high_ns: 50_000 };
    let plan = open(1_000, 1, 10);
    let run = run(world, &plan);
    let lag = run.measured.sched_lag.exact();
    assert!(lag.min_ns >= 1_000 && lag.max_ns <= 100_000, "{lag:?}");
    assert!(run.measured.send_lag.ok.exact() == lag);
    check_exact("service is at least the truth", &run.measured.send_lag.ok, {
        let due = (0..).map(|index| due_at(&run, &plan, index));
        let requests = run.truth.requests.iter().take(1_000);
        due.zip(requests).map(|(due, request)| request.sent_at.since(due)).collect::<Vec<_>>()
    });
}

/// Slots that wait for a connection being renewed do not count as the client's lag.
#[test]
fn slots_wait_for_a_connection_that_is_renewed() {
    let mut world = serving(MS);
    world.server.responses.close_after = Some(5);
    world.network.connect = weir_sim::Law::Fixed(10 * MS);
    let plan = open(500, 1, 1);
    let run = run(world, &plan);
    check_against_truth(&run, &plan, "renewed");
    assert_eq!(run.measured.sched_lag.exact().max_ns, 0);
    assert!(run.measured.connection_wait.exact().max_ns >= 8 * MS);
}

#[test]
fn random_well_worlds_are_measured_exactly() {
    for seed in 0..60 {
        let mut random = Random::new(Seed(seed), 7);
        let mut world = World::well(Seed(seed), 100 * MS);
        // A fixed delay, so that requests reach the server in the order in which they were sent.
        world.network.up = weir_sim::Law::Fixed(random.between(0, MS));
        let rate = random.between(1, 5_000);
        let plan = open(rate, random.between(1, 3), 4).with_load(|load| {
            load.warmup.span_ns = 20 * MS;
            load.duration_ns = Some(100 * MS);
            load.pipeline = 1;
        });
        let run = run(world, &plan);
        let what = format!("seed {seed}, {:?}", plan.load);
        let not_ok = run.measured.results.outcomes.bad_response;
        assert_eq!(
            run.measured.results.outcomes.ok + not_ok,
            run.measured.results.planned,
            "{what}"
        );
        assert_eq!(run.measured.sched_lag.exact().max_ns, 0, "{what}");
        let mut response = run.measured.results.response_time.ok.clone();
        response.add(&run.measured.results.response_time.bad);
        check_exact(&what, &response, true_response(&run, &plan));
        let measured = run.measured.results.planned as usize;
        let sent_before = run.measured.sent.warmup as usize;
        let members = &run.truth.requests[sent_before..sent_before + measured];
        check_exact(&what, &run.measured.results.service_time.ok, true_service(members));
    }
}

/// The load is spread evenly: the plan never sends two requests at once (wrk2 sends groups).
#[test]
fn sends_are_evenly_spaced_over_any_connections() {
    let plan = open(10_000, 1, 50);
    assert!(plan.load.is_open_loop());
    let run = run(serving(MS), &plan);
    let sent: Vec<u64> = run.truth.requests.iter().map(|request| request.sent_at.0).collect();
    assert!(sent.windows(2).all(|pair| pair[1] - pair[0] == 100_000));
}

#[test]
fn a_warm_up_ends_when_the_load_is_steady() {
    let plan = open(200, 1, 4)
        .with_load(|load| load.warmup = Warmup { span_ns: 60 * SECOND, is_auto: true });
    let plan = plan.with_load(|load| load.duration_ns = Some(5 * SECOND));
    let run = run(serving(MS), &plan);
    let phases = &run.measured.workers[0];
    let warmup_ns = phases.t0_ns - phases.start_ns;
    assert!((5 * SECOND..8 * SECOND).contains(&warmup_ns), "{warmup_ns}");
    assert!(!run.measured.is_unsettled);
    assert_eq!(run.measured.results.planned, 1_000);
    assert_eq!(run.measured.sent.warmup, 200 * (warmup_ns / SECOND));
    assert_eq!(run.measured.slices.len(), 30);
    let begins: Vec<i64> = run.measured.intervals.iter().map(|i| i.start_ns).collect();
    assert!(begins.contains(&0), "an interval begins with the window: {begins:?}");
    assert!(begins.windows(2).all(|pair| pair[1] - pair[0] == SECOND as i64), "{begins:?}");
}

#[test]
fn a_load_that_never_settles_is_measured_and_reported() {
    // One connection serves 100 of the 200 requests per second, so the backlog grows.
    let plan = open(200, 1, 1)
        .with_load(|load| load.warmup = Warmup { span_ns: 8 * SECOND, is_auto: true });
    let plan = plan.with_load(|load| load.duration_ns = Some(2 * SECOND));
    let run = run(serving(10 * MS), &plan);
    let phases = &run.measured.workers[0];
    assert!(phases.t0_ns - phases.start_ns >= 8 * SECOND);
    assert!(run.measured.is_unsettled);
    assert_eq!(run.measured.results.planned, 400);
}
