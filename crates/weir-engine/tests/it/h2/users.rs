//! Users of scenarios on streams of HTTP/2.

use weir_http::h2::{H2Client, H2Options};
use weir_sim::World;

use super::run_in;
use super::service::Habits;
use crate::setup::{MS, closed, document, open};
use crate::users::{failed, job_of, numbered, scenario, step};

/// Users share connections with streams, each on one of its own, also if the server returns some of
/// their requests.
#[test]
fn users_share_connections_with_streams() {
    for (plan, returned) in [(closed(3), 0.0), (open(300, 1, 3), 0.0), (closed(3), 0.05)] {
        let plan = plan.with_load(|load| load.pipeline = 4);
        let steps = vec![step("a", 10 * MS), step("b", 5 * MS), step("c", 0)];
        let mut job = job_of(&plan, numbered(vec![scenario("s", 1, steps)]), 10);
        job.protocol = H2Client::factory(H2Options::default());
        let habits = Habits { returned, ..Habits::default() };
        let (run, counts) = run_in(World::default(), habits, &job);
        let users = &run.measured.names[3];
        assert_eq!(failed(users), 0, "{:?}", users.outcomes);
        let ended = users.outcomes.ok;
        let is_open = job.plan.load.is_open_loop();
        assert!(ended > 250 || !is_open, "{ended}");
        assert!(ended > 100, "{ended}");
        let sent = run.measured.sent;
        assert_eq!(sent.returned, counts.returned, "{sent:?}");
        assert_eq!(sent.total(), run.truth.requests.len() as u64, "{sent:?}");
        assert!((sent.returned > 0) == (returned > 0.0), "{sent:?}");
        // Ten users at a time, so no more in flight.
        let most = run.measured.slices.iter().map(|slice| slice.in_flight).max();
        assert!(most <= Some(10), "{most:?}");
        document(&job.plan, run.measured);
    }
}
