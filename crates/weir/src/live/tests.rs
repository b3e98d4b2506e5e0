//! Tests of times, and totals for the tests of formats: each figure has another value.

use weir_result::{
    Arrivals, DueTimes, Interval, ListPlan, Load, NameTotals, Plan, Rate, SparseHistogram, Tally,
};
use weir_runner::{Frame, Observer, Phase, SendLags, StampedTimes};

use super::{SharedTotals, Totals, drain_left_ns};

/// Totals in the warm-up of an open loop.
pub(crate) fn totals() -> Totals {
    let rate = Rate { numerator: 500, denominator: 1 };
    let plan = Plan {
        load: Load {
            connections: 8.into(),
            due: Some(DueTimes::constant(rate, Arrivals::Uniform)),
            ..Plan::default().load
        },
        url: "http://h/?a=\"b\\\u{1b}".to_owned(),
        ..Plan::default()
    };
    let mut latency = Tally::new();
    [40_000, 60_000, 3_000_000, 30_000_000_000].into_iter().for_each(|ns| latency.record(ns));
    let interval = Interval {
        sent: 9,
        completed: 4,
        bad: 1,
        errors: 2,
        timed_out: 3,
        bytes_received: 480,
        latency: latency.take_sparse(),
        ..Interval::default()
    };
    let mut totals = SharedTotals::default();
    totals.phase(Phase::Load, &plan);
    totals.worker_interval(0, &interval);
    totals.interval(&plan, &interval);
    let frame = Frame {
        at_ns: Some(-1_500_000_000),
        in_flight: 5,
        backlog: 6,
        open_connections: 7,
        lags: SendLags { send_lag: often(20_000), ..SendLags::default() },
        stamped: StampedTimes { response: often(40_000), outside: often(30_000) },
        worker_cpu: Some(0.5),
        ..Frame::default()
    };
    totals.frame(&plan, &frame);
    totals.read(Clone::clone)
}

/// The same totals of a list with two names, of which one has intervals.
pub(crate) fn totals_of_list() -> Totals {
    let mut totals = totals();
    let list = ListPlan {
        names: vec!["buy \"x\"\u{1b}".to_owned(), "rest".to_owned()],
        with_intervals: vec![0],
        ..ListPlan::default()
    };
    totals.load.as_mut().expect("it began").0.list = Some(list);
    let name = |ok, bad, timed_out| {
        let latency = often(40_000);
        NameTotals { ok, bad, errors: 0, timed_out, latency }
    };
    totals.frames.latest.names = vec![name(90, 10, 1), name(100, 0, 2)];
    totals
}

/// One time, often enough for a 99th percentile.
fn often(ns: u64) -> SparseHistogram {
    let mut times = Tally::new();
    times.record_times(ns, 100);
    times.take_sparse()
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_drain_is_counted_down_to_its_limit() {
    let plan = Plan {
        load: Load { duration_ns: Some(20 * SECOND), ..Plan::default().load },
        ..Plan::default()
    };
    let left = |now_s: i64| drain_left_ns(&plan, now_s * SECOND as i64);
    assert_eq!([-1, 0, 19].map(left), [None; 3]);
    assert_eq!([20, 21, 24, 30].map(left), [4, 3, 0, 0].map(|s| Some(s * SECOND)));
    let limited = plan.with_load(|load| load.drain_ns = Some(SECOND / 2));
    assert_eq!(drain_left_ns(&limited, 20 * SECOND as i64), Some(SECOND / 2));
    let counted = limited.with_load(|load| {
        load.duration_ns = None;
        load.requests = Some(9);
    });
    assert_eq!(drain_left_ns(&counted, i64::MAX), None, "its window ends with the requests");
}
