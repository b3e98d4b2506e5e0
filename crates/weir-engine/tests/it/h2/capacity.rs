//! The streams that servers allow: requests that wait for them, and their number over time, against
//! a queue computed by hand.

use weir_io::Nanos;
use weir_result::Plan;
use weir_sim::Law;

use super::run;
use super::service::Habits;
use crate::setup::{MS, SECOND, check_all, check_exact, closed, due_at, open};

/// A queue in order of arrival, with a number of places that changes.
struct Queue {
    service_ns: u64,
    /// Limits with the time from which each holds; the first one from the start.
    limits: Vec<(Nanos, u64)>,
}

impl Queue {
    fn limit(&self, at: Nanos) -> u64 {
        let since = self.limits.iter().rfind(|(from, _)| *from <= at);
        since.map_or(0, |(_, limit)| *limit)
    }

    /// Returns the start of each of the requests that arrive at these times.
    fn begins(&self, arrivals: &[Nanos]) -> Vec<Nanos> {
        let mut begins: Vec<Nanos> = Vec::new();
        for arrival in arrivals {
            let from = begins.last().map_or(*arrival, |last| *arrival.max(last));
            let ends = begins.iter().map(|begin| begin.after(self.service_ns));
            let changes = self.limits.iter().map(|(at, _)| *at);
            let mut times: Vec<Nanos> = ends.chain(changes).chain([from]).collect();
            times.retain(|at| *at >= from);
            times.sort();
            let has_room = |at: &Nanos| self.in_progress(&begins, *at) < self.limit(*at);
            let begin = times.into_iter().find(has_room).expect("it begins at last");
            begins.push(begin);
        }
        begins
    }

    fn in_progress(&self, begins: &[Nanos], at: Nanos) -> u64 {
        let is_in = |begin: &&Nanos| **begin <= at && at < begin.after(self.service_ns);
        begins.iter().filter(is_in).count() as u64
    }

    /// Returns the places integrated over a second from `start`. Those in use count, even if the
    /// limit has become less.
    fn integral_ns(&self, begins: &[Nanos], start: Nanos) -> u128 {
        let end = start.after(SECOND);
        let mut times = vec![start, end];
        times.extend(begins.iter().flat_map(|begin| [*begin, begin.after(self.service_ns)]));
        times.extend(self.limits.iter().map(|(at, _)| *at));
        times.retain(|at| (start..=end).contains(at));
        times.sort();
        let spans = times.windows(2).map(|span| {
            let places = self.limit(span[0]).max(self.in_progress(begins, span[0]));
            u128::from(places) * u128::from(span[1].since(span[0]))
        });
        spans.sum()
    }
}

/// Runs 800 requests per second and checks them against the queue: `limits` are the server's, with
/// their times after the start of the connection.
fn check(service_ns: u64, first: u32, limits: &[(u64, u32)], streams: u16) {
    let habits = Habits {
        service: Law::Fixed(service_ns),
        streams_max: first,
        limits: limits.to_vec(),
        ..Habits::default()
    };
    let (run, counts, plan) = run(habits, open(800, 1, 1), streams);
    let what = format!("{first}, then {limits:?}, of {streams}");
    assert_eq!(run.measured.results.outcomes.ok, 800, "{what}");
    let capped = |limit: u32| u64::from(limit.min(streams.into()));
    let mut all = vec![(Nanos::ZERO, capped(first))];
    let changes = limits.iter();
    all.extend(changes.map(|(after, limit)| (counts.accepted_at.after(*after), capped(*limit))));
    let queue = Queue { service_ns, limits: all };
    let arrivals: Vec<Nanos> = (0..800).map(|index| due_at(&run, &plan, index)).collect();
    let begins = queue.begins(&arrivals);
    let waits = begins.iter().zip(&arrivals).map(|(begin, arrival)| begin.since(*arrival));
    check_exact(&what, &run.measured.connection_wait, waits);
    check_all(&what, &run.measured.sched_lag, 800, 0);
    check_all(&what, &run.measured.results.service_time.ok, 800, service_ns);
    // The tail changes nothing within the window.
    let integral_ns = queue.integral_ns(&begins, run.start());
    assert_eq!(run.measured.occupancy.capacity_ns, integral_ns, "{what}");
}

#[test]
fn waits_for_the_servers_limit_are_exact() {
    check(2 * MS, 1, &[], 8);
    check(20 * MS, 10, &[], 20);
    // The plan's own limit is the lower one.
    check(5 * MS, 100, &[], 4);
    check(2 * MS, 100, &[], 100);
}

#[test]
fn waits_for_a_limit_that_changes_are_exact() {
    check(2 * MS, 1, &[(300 * MS, 10)], 8);
    check(20 * MS, 20, &[(300 * MS, 2), (500 * MS + 1, 30)], 40);
    check(10 * MS, 3, &[(200 * MS, 0), (250 * MS, 20), (600 * MS, 9)], 100);
    check(3 * MS, 0, &[(100 * MS, 5)], 10);
}

/// A closed loop uses all that the server allows, all the time.
#[test]
fn a_closed_loop_uses_every_stream() {
    for (limits, streams_ns) in
        [(vec![], 2 * 10 * SECOND), (vec![(205 * MS, 4)], 2 * 4 * SECOND + 2 * 6 * 200 * MS)]
    {
        let habits = Habits { streams_max: 10, limits, ..Habits::default() };
        let (run, ..) = run(habits, Plan { ..closed(2) }, 20);
        let occupancy = run.measured.occupancy;
        assert_eq!(occupancy.integral_ns, occupancy.capacity_ns, "{occupancy:?}");
        let expected = u128::from(streams_ns);
        assert!(occupancy.capacity_ns.abs_diff(expected) < expected / 100, "{occupancy:?}");
    }
}
