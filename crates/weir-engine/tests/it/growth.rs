//! Growing connections and shed slots: a further connection is opened for a slot that has none, up
//! to the cap, and slots beyond the limit of requests in flight are never sent.

use weir_engine::Job;
use weir_io::Nanos;
use weir_requests::list::Order;
use weir_result::{ConnectionLoad, ConnectionPlan, Plan, Rate};
use weir_sim::{Law, World};

use crate::lists::{job_of, list};
use crate::setup::{
    MS, Run, SECOND, check_all, check_exact, check_ranges, document, due_at, job, open, poisson,
    quantile, run, run_job, run_part, serving, true_response,
};

const SERVICE_NS: u64 = 200 * MS;

/// Returns 2,000/s on 10 to `most` connections.
fn growing(most: u32) -> Plan {
    open(2_000, 1, 10)
        .with_load(|load| load.connections = ConnectionLoad::Growing { first: 10, most })
}

/// Returns a server that takes 200 ms per request, on a network on which a connect takes
/// `connect_ns`.
fn slow(connect_ns: u64) -> World {
    let mut world = serving(SERVICE_NS);
    world.network.connect = Law::Fixed(connect_ns);
    world
}

fn longest_wait(run: &Run) -> u64 {
    run.measured.connection_wait.exact().max_ns
}

/// Checks that connection 10 + i was opened no earlier than slot 10 + i was due: the first ten
/// slots have the connections that were open before.
fn check_no_herd(run: &Run, plan: &Plan) {
    let grown = run.truth.connects.iter().skip(10).zip(10..);
    for (connect, slot) in grown {
        assert!(connect.at >= due_at(run, plan, slot), "slot {slot}: {connect:?}");
    }
}

#[test]
fn a_slot_waits_no_longer_than_a_connect_below_the_cap() {
    for connect_ns in [0, MS, 30 * MS] {
        let plan = growing(1_000);
        let run = run(slow(connect_ns), &plan);
        let measured = &run.measured;
        assert_eq!((measured.results.planned, measured.results.outcomes.ok), (2_000, 2_000));
        assert_eq!(longest_wait(&run), connect_ns);
        check_exact("response", &measured.results.response_time.ok, true_response(&run, &plan));
        let least = quantile(&measured.results.response_time.ok, 0.01);
        let most = SERVICE_NS + connect_ns;
        assert!(least >= SERVICE_NS && measured.results.response_time.ok.exact().max_ns <= most);
        // 400 requests are in flight, and slots are due in the time of one connect beyond them.
        let open_max = measured.connections.open_max;
        let expected = 400 + connect_ns / (MS / 2);
        assert!(open_max.abs_diff(expected) <= 1, "{open_max} of {expected}");
        check_all("opening", &measured.connect_grown, open_max - 10, connect_ns);
        assert_eq!(measured.connections.grown, open_max - 10);
        assert_eq!(measured.connections.open_at_end, open_max, "none is closed");
        check_no_herd(&run, &plan);
    }
}

#[test]
fn an_idle_connection_is_taken_before_another_is_opened() {
    let plan = growing(1_000).with_load(|load| load.warmup.span_ns = SECOND);
    let run = run(slow(MS), &plan);
    check_all("waits in steady state", &run.measured.connection_wait, 2_000, 0);
    check_all("response", &run.measured.results.response_time.ok, 2_000, SERVICE_NS);
    assert!(run.measured.connections.open_at_t0 >= 400, "{:?}", run.measured.connections);
    assert_eq!(run.measured.connect_window.count(), 0);
    let fixed = growing(0).with_load(|load| load.connections = 10.into());
    let fixed = self::run(slow(MS), &fixed).measured.connections;
    assert_eq!((fixed.grown, fixed.open_at_end, fixed.open_max), (0, 0, 10));
}

#[test]
fn slots_wait_at_the_cap() {
    let run = run(slow(MS), &growing(100));
    let connections = &run.measured.connections;
    assert_eq!((connections.open_max, connections.grown), (100, 90));
    assert!(longest_wait(&run) > SERVICE_NS, "{}", longest_wait(&run));
    // 100 connections send 500/s, until the drain ends.
    assert!(run.measured.results.outcomes.never_sent > 0);
}

#[test]
fn each_worker_has_its_share_of_the_cap() {
    for (most, open_of_each) in [(1_000, [201, 201]), (101, [51, 50])] {
        let plan = Plan { threads: 2, ..growing(most) };
        let runs = [0, 1].map(|number| run_part(slow(MS), &plan, number, Nanos::MAX));
        let planned: u64 = runs.iter().map(|run| run.measured.results.planned).sum();
        assert_eq!(planned, 2_000);
        for (run, expected) in runs.iter().zip(open_of_each) {
            let open_max = run.measured.connections.open_max;
            assert!(open_max.abs_diff(expected) <= 1, "{open_max} of {expected}");
        }
    }
}

#[test]
fn random_arrivals_wait_no_longer_than_a_connect_either() {
    for threads in [1, 3] {
        let plan = poisson(2_000, 1, 10, 5);
        let connections = ConnectionLoad::Growing { first: 10, most: 3_000 };
        let plan = Plan { threads, ..plan }.with_load(|load| load.connections = connections);
        let run = run_part(slow(MS), &plan, 0, Nanos::MAX);
        assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
        assert_eq!(longest_wait(&run), MS);
        assert!(run.measured.connections.open_max < run.measured.results.planned / 3);
    }
}

#[test]
fn a_connect_rate_holds_for_growth() {
    let rate = Some(Rate { numerator: 500, denominator: 1 });
    let connection = ConnectionPlan { rate, ..ConnectionPlan::default() };
    let plan = Plan { connection, ..growing(1_000) };
    let run = run(slow(MS), &plan);
    let times: Vec<u64> = run.truth.connects.iter().map(|connect| connect.at.0).collect();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= 2 * MS), "{times:?}");
    // No slot of the rate is lost while requests wait.
    assert!(times[20..200].windows(2).all(|pair| pair[1] - pair[0] == 2 * MS), "{times:?}");
}

#[test]
fn renewals_grow_no_further_than_the_slots_that_wait() {
    let connection = ConnectionPlan { requests: Some(1), ..ConnectionPlan::default() };
    let plan = Plan { connection, ..growing(1_000) };
    let run = run(slow(MS), &plan);
    assert_eq!(run.measured.results.outcomes.ok, 2_000);
    assert_eq!(longest_wait(&run), MS);
    assert!(run.measured.connections.open_max <= 405, "{:?}", run.measured.connections);
}

/// Returns a server that answers nothing.
fn silent() -> World {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(Nanos(0));
    world
}

#[test]
fn requests_beyond_the_limit_are_shed() {
    for (threads, most) in [(1, 40), (2, 41), (3, 3)] {
        let plan = Plan { threads, ..open(1_000, 1, 100) }
            .with_load(|load| load.in_flight_max = Some(most));
        let mut sent = 0;
        let mut shed = 0;
        for number in 0..threads {
            let run = run_part(silent(), &plan, number, Nanos::MAX);
            let outcomes = run.measured.results.outcomes;
            assert_eq!(outcomes.never_sent, outcomes.shed, "all else was sent: {outcomes:?}");
            assert_eq!(outcomes.total(), run.measured.results.planned);
            let of_slices = run.measured.slices.iter();
            assert_eq!(of_slices.map(|slice| slice.outcomes.shed).sum::<u64>(), outcomes.shed);
            sent += run.measured.sent.measured;
            shed += outcomes.shed;
        }
        assert_eq!((sent, shed), (most.into(), 1_000 - u64::from(most)), "{threads} threads");
    }
}

/// Ten requests are in flight for 200 ms, then the next ten slots are sent.
#[test]
fn shed_slots_are_as_old_as_the_load_at_its_end() {
    let plan = open(1_000, 1, 10).with_load(|load| load.in_flight_max = Some(10));
    let run = run(slow(0), &plan);
    let measured = &run.measured;
    assert_eq!((measured.results.outcomes.ok, measured.results.outcomes.shed), (50, 950));
    assert_eq!(measured.send_lag.ok.exact().max_ns, 0, "what is sent is sent in time");
    let end = Nanos(measured.workers[0].tail_end_ns);
    let shed = (0..1_000).filter(|slot| slot % 200 >= 10);
    let ages = shed.map(|slot| end.since(due_at(&run, &plan, slot)));
    check_ranges("ages", &measured.results.response_time.censored, ages);
    let document = document(&plan, measured.clone());
    assert_eq!((document.results.outcomes.never_sent, document.results.outcomes.shed), (950, 950));
    let waits = document.verdict.rules.iter().find(|rule| rule.id == "connection-waits");
    assert_eq!(waits.and_then(|rule| rule.value), Some(0.0), "no slot waited for a connection");
}

#[test]
fn shed_slots_keep_their_names() {
    let plan = poisson(1_000, 1, 100, 3).with_load(|load| load.in_flight_max = Some(40));
    // Every fifth slot has the second name.
    let job = Job { plan: plan.clone(), ..job_of(&plan, list(Order::Sequential, &[4, 1])) };
    let run = run_job(silent(), &job, 0, Nanos::MAX, None);
    let measured = &run.measured;
    let names = &run.measured.names;
    assert_eq!(measured.results.outcomes.shed, measured.results.planned - 40);
    let [first, second] = [&names[0], &names[1]].map(|name| name.outcomes.shed);
    assert_eq!(first + second, measured.results.outcomes.shed);
    assert!(second.abs_diff((measured.results.planned - 40) / 5) <= 1, "{first} and {second}");
    document(&plan, measured.clone());
}

#[test]
fn a_limit_of_requests_bounds_growth() {
    let plan = growing(1_000).with_load(|load| load.in_flight_max = Some(100));
    let run = run(slow(MS), &plan);
    let open_max = run.measured.connections.open_max;
    // Requests that wait for a connect are not in flight yet.
    assert!((100..=104).contains(&open_max), "{open_max}");
    assert!(run.measured.results.outcomes.shed > 1_000, "{:?}", run.measured.results.outcomes);
    assert!(longest_wait(&run) <= MS);
    assert!(job(&plan).plan.load.in_flight_max.is_some());
}
