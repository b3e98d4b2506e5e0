//! Opening of connections: their times, sources and targets.

use std::net::{Ipv4Addr, SocketAddr};

use weir_engine::Job;
use weir_io::{Endpoint, Nanos};
use weir_result::{ConnectionPlan, Plan, Rate};
use weir_sim::{Connect, Law, World};

use crate::setup::{MS, Run, SECOND, check_all, closed, job, open, run, run_job, serving};

fn paced(plan: Plan, per_second: u64) -> Plan {
    let rate = Some(Rate { numerator: per_second, denominator: 1 });
    Plan { connection: ConnectionPlan { rate, ..plan.connection.clone() }, ..plan }
}

/// Returns a faultless server that responds in 1 ms, on a network on which connecting takes
/// `connect_ns`.
fn far(connect_ns: u64) -> World {
    let mut world = serving(MS);
    world.network.connect = Law::Fixed(connect_ns);
    world
}

fn times(run: &Run) -> Vec<u64> {
    run.truth.connects.iter().map(|connect| connect.at.0).collect()
}

#[test]
fn connects_are_as_far_apart_as_requested_however_long_each_takes() {
    for connect_ns in [0, 100 * MS] {
        let run = run(far(connect_ns), &paced(closed(50), 1_000));
        let expected: Vec<u64> = (0..50).map(|index| index * MS).collect();
        assert_eq!(times(&run), expected, "a connect takes {connect_ns} ns");
        let workers = &run.measured.workers[0];
        assert_eq!(workers.connected_ns - workers.connect_ns, 49 * MS + connect_ns);
        check_all("setup", &run.measured.connect_setup, 50, connect_ns);
        assert_eq!(run.measured.connect_window.count(), 0);
    }
}

#[test]
fn the_connects_of_all_workers_are_one_schedule() {
    let plan = Plan { threads: 3, ..paced(closed(10), 500) };
    let parts = (0..3).map(|number| run_job(far(0), &job(&plan), number, Nanos::MAX, None));
    let mut all: Vec<u64> = parts.flat_map(|run| times(&run)).collect();
    all.sort_unstable();
    let expected: Vec<u64> = (0..10).map(|index| index * 2 * MS).collect();
    assert_eq!(all, expected);
}

#[test]
fn renewals_keep_to_the_rate_and_save_nothing_up() {
    // Each of four connections lives for 100 ms; all four become due for renewal at once.
    let plan = paced(open(100, 1, 4), 100);
    let connection = ConnectionPlan { lifetime_ns: Some(100 * MS), ..plan.connection.clone() };
    let run = run(far(0), &Plan { connection, ..plan });
    let times = times(&run);
    assert!(times.len() > 30, "{times:?}");
    for pair in times.windows(2) {
        assert!(pair[1] - pair[0] >= 10 * MS, "{times:?}");
    }
    assert!(times.iter().all(|at| at.is_multiple_of(10 * MS)), "slots are those of the plan");
    assert_eq!(run.measured.results.outcomes.ok, 100);
}

#[test]
fn a_closed_loop_that_renews_each_connection_runs_at_the_rate_of_connects() {
    let plan = paced(closed(20), 200);
    let connection = ConnectionPlan { requests: Some(1), ..plan.connection.clone() };
    let run = run(far(2 * MS), &Plan { connection, ..plan });
    let measured = &run.measured;
    assert!((199..=220).contains(&measured.results.outcomes.ok), "{:?}", measured.results.outcomes);
    // The first twenty were open before.
    let opened = measured.connect_window.count();
    assert!((198..=200).contains(&opened), "{opened}");
    check_all("connects in the window", &measured.connect_window, opened, 2 * MS);
    assert_eq!(measured.connect_setup.count(), 20);
    let connects = measured.connect.count();
    assert!(connects >= opened + 20, "those of the drain too: {connects}");
}

/// Returns the target and the source of each connect.
fn ends(connects: &[Connect]) -> Vec<(String, Option<String>)> {
    let text = |connect: &Connect| {
        (connect.to.to_string(), connect.source.map(|source| source.to_string()))
    };
    connects.iter().map(text).collect()
}

fn partitioned(connections: u32, sources: &[&str], destinations: u8) -> Job {
    let address = |last| SocketAddr::from((Ipv4Addr::new(10, 0, 0, last), 80));
    let destinations: Vec<SocketAddr> = (1..=destinations).map(address).collect();
    let connection = ConnectionPlan {
        sources: sources.iter().map(|text| text.parse().expect(text)).collect(),
        destinations: destinations.iter().map(SocketAddr::to_string).collect(),
        requests: Some(10),
        ..ConnectionPlan::default()
    };
    let destinations: Vec<Endpoint> = destinations.into_iter().map(Endpoint::Tcp).collect();
    let plan = Plan { connection, ..closed(connections) };
    let mut job = job(&plan);
    if let Some(first) = destinations.first() {
        job.target.endpoint = first.clone();
    }
    job.target.destinations = destinations;
    job
}

#[test]
fn connections_are_partitioned_over_sources_and_destinations() {
    let job = partitioned(7, &["127.0.1.1-127.0.1.2", "127.0.2.9"], 2);
    let mut all = vec![Vec::new(); 7];
    for number in 0..2 {
        let job = Job { plan: Plan { threads: 2, ..job.plan.clone() }, ..job.clone() };
        let run = run_job(far(0), &job, number, Nanos::MAX, None);
        for (connect, ends) in run.truth.connects.iter().zip(ends(&run.truth.connects)) {
            all[(number + 2 * connect.conn.0) as usize].push(ends);
        }
    }
    let expected = [(1, "1.1"), (2, "1.1"), (1, "1.2"), (2, "1.2"), (1, "2.9"), (2, "2.9")];
    for (connection, ends) in all.iter().enumerate() {
        let (to, source) = expected[connection % expected.len()];
        let expected = (format!("10.0.0.{to}:80"), Some(format!("127.0.{source}")));
        assert!(ends.len() > 1, "connection {connection} was renewed");
        assert!(ends.iter().all(|ends| *ends == expected), "connection {connection}: {ends:?}");
    }
}

#[test]
fn without_a_list_the_kernel_and_the_url_decide() {
    let run = run_job(far(0), &partitioned(3, &[], 0), 0, Nanos::MAX, None);
    let expected = ("127.0.0.1:80".to_owned(), None);
    assert!(ends(&run.truth.connects).iter().all(|ends| *ends == expected));
    assert!(run.measured.destinations.is_empty());
}

#[test]
fn what_each_destination_did_adds_up() {
    let mut world = far(0);
    world.faults.response =
        vec![(weir_sim::Pick::Exactly(vec![100, 200, 301]), weir_sim::ResponseFault::ResetBefore)];
    world.server.responses.statuses = vec![(200, 0.9), (503, 0.1)];
    let run = run_job(world, &partitioned(4, &[], 2), 0, Nanos::MAX, None);
    let measured = &run.measured;
    let shares = &measured.destinations;
    assert_eq!(shares.len(), 2);
    let sum = |of: fn(&weir_result::DestinationCounts) -> u64| shares.iter().map(of).sum::<u64>();
    let outcomes = measured.results.outcomes;
    assert_eq!(sum(|share| share.outcomes.ok), outcomes.ok);
    assert_eq!(sum(|share| share.outcomes.bad_response), outcomes.bad_response);
    assert_eq!(sum(|share| share.outcomes.transport_error), outcomes.transport_error);
    assert_eq!(outcomes.transport_error, 3);
    assert_eq!(sum(|share| share.connections_failed), 3);
    assert_eq!(sum(|share| share.connects), measured.connections.connects);
    assert_eq!(sum(|share| share.outcomes.in_flight_at_end + share.outcomes.timed_out), 0);
    assert!(shares.iter().all(|share| share.outcomes.ok > SECOND / MS), "{shares:?}");
}
