//! Coalescing on streams (`--wait auto`): done where it costs no throughput, given up elsewhere.

use weir_engine::Job;
use weir_http::h2::{H2Client, H2Options};
use weir_result::{Plan, Wait};
use weir_sim::{Client, Law, World};

use super::run_in;
use super::service::Habits;
use crate::setup::{Run, US, closed, job};

/// The results of a closed loop of a client that takes some 5 µs for each send and each event.
#[derive(Debug)]
struct Busy {
    responses: u64,
    median_ns: u64,
    wakes: u64,
}

impl Busy {
    fn client(habits: &Habits, connections: u32, streams: u16, wait: Wait) -> Busy {
        let client = Client {
            event_ns: 2_500,
            submit_ns: 5_000,
            wake_late: Law::Fixed(2 * US),
            ..Client::default()
        };
        let plan = Plan { wait, ..closed(connections) }.with_load(|load| load.pipeline = streams);
        let job = Job { protocol: H2Client::factory(H2Options::default()), ..job(&plan) };
        let world = World { client, ..World::default() };
        let (Run { measured, .. }, _) = run_in(world, habits.clone(), &job);
        let times = &measured.results.service_time.ok;
        Busy {
            responses: measured.results.completed,
            median_ns: times.value_at_rank(times.count() / 2).expect("there are responses"),
            wakes: measured.workers[0].usage.wakes,
        }
    }
}

#[test]
fn responses_are_gathered_where_requests_queue_in_the_server() {
    let habits = |service_ns| Habits {
        service: Law::Uniform { low_ns: service_ns / 2, high_ns: service_ns / 2 * 3 },
        queues: true,
        ..Habits::default()
    };
    for (connections, streams, service_ns) in
        [(1, 20, 15 * US), (1, 100, 15 * US), (10, 10, 150 * US)]
    {
        let each = Busy::client(&habits(service_ns), connections, streams, Wait::Latency);
        let auto = Busy::client(&habits(service_ns), connections, streams, Wait::Auto);
        let what = format!("{connections} × {streams}: {each:?}, {auto:?}");
        assert!(auto.responses * 100 >= each.responses * 99, "{what}");
        assert!(auto.median_ns * 100 <= each.median_ns * 105, "{what}");
        assert!(auto.wakes * 3 <= each.wakes * 2, "{what}");
    }
}

#[test]
fn gathering_ends_where_nothing_queues() {
    for (connections, streams, took_ns) in
        [(1, 20, 150 * US), (1, 100, 700 * US), (10, 10, 700 * US)]
    {
        let service = Law::Uniform { low_ns: took_ns / 2, high_ns: took_ns / 2 * 3 };
        let habits = Habits { service, ..Habits::default() };
        let each = Busy::client(&habits, connections, streams, Wait::Latency);
        let auto = Busy::client(&habits, connections, streams, Wait::Auto);
        let what = format!("{connections} × {streams}: {each:?}, {auto:?}");
        // METHOD 1.8: trials keep 31/32 of the throughput.
        assert!(auto.responses * 32 >= each.responses * 31, "{what}");
        assert!(auto.median_ns * 31 <= each.median_ns * 32, "{what}");
    }
}
