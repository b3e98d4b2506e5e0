//! Connections that are renewed as planned: after a number of requests, at an age, or after each
//! request. No response is lost by it, and none of it is an error.

use weir_io::Nanos;
use weir_result::{Closer, ConnectionPlan, Plan};
use weir_sim::{Law, TrueRequest, World};

use crate::setup::{MS, Run, SECOND, US, check_all, closed, open, run, serving};

fn renewing(plan: Plan, connection: ConnectionPlan) -> Plan {
    Plan { connection, ..plan }
}

fn after_requests(plan: Plan, requests: u32) -> Plan {
    renewing(plan, ConnectionPlan { requests: Some(requests), ..ConnectionPlan::default() })
}

fn at_age(plan: Plan, lifetime_ns: u64) -> Plan {
    let lifetime_ns = Some(lifetime_ns);
    renewing(plan, ConnectionPlan { lifetime_ns, ..ConnectionPlan::default() })
}

/// Returns a faultless server on a network on which connecting takes `connect_ns`.
fn far(service_ns: u64, connect_ns: u64) -> World {
    let mut world = serving(service_ns);
    world.network.connect = Law::Fixed(connect_ns);
    world
}

/// Returns the requests of each socket, in order of their first.
fn by_socket(run: &Run) -> Vec<Vec<TrueRequest>> {
    let mut sockets: Vec<Vec<TrueRequest>> = Vec::new();
    for request in &run.truth.requests {
        let name = (request.conn, request.generation);
        let known = sockets.iter_mut().find(|of| (of[0].conn, of[0].generation) == name);
        match known {
            Some(of) => of.push(*request),
            None => sockets.push(vec![*request]),
        }
    }
    sockets
}

/// Checks that all requests got a response and nothing failed.
fn check_well(run: &Run, what: &str) {
    let measured = &run.measured;
    assert_eq!(
        measured.results.outcomes.ok, measured.results.planned,
        "{what}: {:?}",
        measured.results.outcomes
    );
    assert!(measured.connections.failures.is_empty(), "{what}: {:?}", measured.connections);
    assert!(measured.connections.renewed > 0, "{what}: {:?}", measured.connections);
    assert_eq!(measured.connections.closed_by_peer, 0, "{what}");
}

#[test]
fn no_connection_carries_more_requests_than_it_may() {
    for requests in [1, 2, 7] {
        for plan in [
            closed(3),
            open(1_000, 1, 5),
            closed(3).with_load(|load| load.pipeline = 4),
            open(5_000, 1, 3).with_load(|load| load.pipeline = 4),
        ] {
            let what = format!("{requests}, {:?}, pipeline {}", plan.load, plan.load.pipeline);
            let run = run(far(MS, 100 * US), &after_requests(plan, requests));
            check_well(&run, &what);
            let sockets = by_socket(&run);
            let most = sockets.iter().map(Vec::len).max().expect("there are requests");
            assert_eq!(most, requests as usize, "{what}");
        }
    }
}

#[test]
fn a_renewed_connection_takes_the_next_request_as_soon_as_it_is_up() {
    let run = run(far(MS, 200 * US), &after_requests(closed(1), 3));
    check_well(&run, "closed loop");
    let sockets = by_socket(&run);
    for pair in sockets.windows(2) {
        let before = &pair[0];
        let after = &pair[1];
        let responded =
            before.last().and_then(|last| last.delivered_at).expect("it got a response");
        assert_eq!(after[0].sent_at.since(responded), 200 * US, "nothing but the connect");
    }
    check_all(
        "service",
        &run.measured.results.service_time.ok,
        run.measured.results.outcomes.ok,
        MS,
    );
}

#[test]
fn a_request_that_waits_for_a_renewed_connection_counts_that_wait() {
    // Due every 10 ms, with a response in 1 ms; connecting takes 12 ms more.
    let plan = renewing(
        open(100, 1, 1),
        ConnectionPlan { close: Some(Closer::Client), ..ConnectionPlan::default() },
    );
    let run = run(far(MS, 12 * MS), &plan);
    check_well(&run, "open loop");
    let measured = &run.measured;
    // Each cycle takes 13 ms instead of 10: the waits grow by 3 ms with each request.
    let waits = measured.connection_wait.exact();
    assert_eq!((waits.min_ns, waits.max_ns), (0, 99 * 3 * MS));
    check_all("the client's own lag", &measured.sched_lag, 100, 0);
    check_all("service", &measured.results.service_time.ok, 100, MS);
}

#[test]
fn an_old_connection_is_renewed_and_its_response_awaited() {
    let run = run(far(30 * MS, MS), &at_age(closed(4), 100 * MS));
    check_well(&run, "busy connections");
    check_all(
        "service",
        &run.measured.results.service_time.ok,
        run.measured.results.outcomes.ok,
        30 * MS,
    );
    for of in by_socket(&run) {
        // Sent at 0, 30, 60 and 90 ms of its life, and no more.
        assert!(of.len() <= 4, "{of:?}");
        let last = of.last().expect("a socket is known by its requests");
        assert!(last.sent_at.since(of[0].sent_at) <= 90 * MS, "{of:?}");
    }
}

#[test]
fn an_idle_connection_is_renewed_at_its_age() {
    // One request in every half second; the connection is renewed every 50 ms meanwhile.
    let run = run(far(MS, MS), &at_age(open(2, 1, 1), 50 * MS));
    check_well(&run, "an idle connection");
    let connections = &run.measured.connections;
    // Openings are 51 ms apart, without back-off though most sockets delivered no response.
    assert!((18..=22).contains(&connections.renewed), "{connections:?}");
    assert_eq!(run.truth.counts.closes.by_client, connections.renewed, "none but these");
}

#[test]
fn connections_that_end_after_each_request_end_all_alike() {
    let connection = ConnectionPlan { close: Some(Closer::Client), ..ConnectionPlan::default() };
    for plan in [closed(5), open(1_000, 1, 5)] {
        let what = format!("{:?}", plan.load);
        let run = run(serving(MS), &renewing(plan, connection.clone()));
        check_well(&run, &what);
        assert!(by_socket(&run).iter().all(|of| of.len() == 1), "{what}");
        assert_eq!(run.measured.connections.renewed, run.truth.requests.len() as u64, "{what}");
    }
}

#[test]
fn a_server_that_dies_meets_no_storm_of_renewals() {
    let mut world = serving(MS);
    world.server.black_hole_from = Some(Nanos(500 * MS));
    let plan = after_requests(closed(1), 2).with_load(|load| load.timeout_ns = 50 * MS);
    let run = run(world, &plan);
    let connections = &run.measured.connections;
    assert!(run.measured.results.outcomes.timed_out > 0);
    // Some 250 sockets of two requests each, then timeouts of 50 ms with growing waits between
    // them.
    assert!((245..265).contains(&connections.connects), "{connections:?}");
    assert!(run.truth.counts.connects.called < 265 + SECOND / (50 * MS));
}
