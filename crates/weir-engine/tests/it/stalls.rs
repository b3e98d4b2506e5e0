//! The stall curve (METHOD 2.2) and related curves: the expected results for a server that stalls.

use weir_io::Nanos;
use weir_sim::{Law, Pause, Workers, World};

use crate::setup::{
    MS, SECOND, START, US, check_all, check_exact, closed, open, quantile, run, serving,
    true_response,
};
use crate::theory::{self, StallCurve};

const STALL_NS: u64 = 1_400 * MS;

/// Returns a server with a base latency of 500 µs that stalls for 1.4 s. It then drains at
/// `service_ns` each; at zero, at once.
fn stalled(service_ns: u64) -> World {
    let mut world = serving(service_ns);
    if service_ns > 0 {
        world.server.workers = Workers::Limited(1);
        world.network.up = Law::Fixed((500 * US - service_ns) / 2);
        world.network.down = world.network.up;
    } else {
        world.server.service = Law::Fixed(500 * US);
    }
    world.server.stalls = vec![Pause::new(START.after(5 * SECOND), STALL_NS)];
    world
}

/// V5: the table of METHOD 2.2.
#[test]
fn open_loop_shows_the_stall_curve() {
    let table = [
        (0.0, 0, [0.0005, 0.0005, 0.8005, 1.1005, 1.3705, 1.3975]),
        (0.25, 125 * US, [0.0005, 0.2756, 0.9506, 1.1756, 1.3781, 1.3984]),
        (0.5, 250 * US, [0.2007, 0.6507, 1.1007, 1.2507, 1.3857, 1.3992]),
        (0.8, 400 * US, [0.9209, 1.1009, 1.2809, 1.3409, 1.3949, 1.4003]),
    ];
    for (utilisation, service_ns, row) in table {
        let plan = open(2_000, 1, 4_000).with_load(|load| load.duration_ns = Some(30 * SECOND));
        let run = run(stalled(service_ns), &plan);
        let response = &run.measured.results.response_time.ok;
        assert_eq!(run.measured.results.outcomes.ok, 60_000);
        check_exact("response", response, true_response(&run, &plan));
        let curve = StallCurve { base_s: 0.0005, stall_s: 1.4, window_s: 30.0, utilisation };
        for (p, printed) in [0.92, 0.95, 0.98, 0.99, 0.999, 0.9999].into_iter().zip(row) {
            let found = quantile(response, p) as f64 / 1e9;
            // One slot (0.5 ms), and one bucket (0.1%).
            let granularity = 0.0005 + found / 1_000.0;
            let expected = curve.quantile(p);
            let what = format!("ρ {utilisation}, p {p}: {found}");
            assert!((found - expected).abs() <= granularity, "{what} is not {expected}");
            assert!((found - printed).abs() <= granularity + 0.001, "{what} is not {printed}");
        }
        let mean = response.exact().sum_ns as f64 / 60_000.0 / 1e9;
        assert!((mean - curve.mean()).abs() < 0.0005, "ρ {utilisation}: mean {mean}");
        let delayed: u64 = run.measured.slices.iter().map(|slice| slice.ok.count()).sum();
        assert_eq!(delayed, 60_000);
        assert_eq!(run.measured.sched_lag.exact().max_ns, 0, "the client is innocent");
    }
}

/// The same stall through 100 connections: the response time shows the curve, the service time
/// hides it.
#[test]
fn service_time_hides_the_stall_and_response_time_does_not() {
    let plan = open(2_000, 1, 100).with_load(|load| load.duration_ns = Some(30 * SECOND));
    let run = run(stalled(0), &plan);
    let response = &run.measured.results.response_time.ok;
    let service = &run.measured.results.service_time.ok;
    check_exact("response", response, true_response(&run, &plan));
    assert!(quantile(service, 0.99) < 501 * US);
    let p999 = quantile(service, 0.999);
    assert!((1_350 * MS..=1_402 * MS).contains(&p999), "{p999}");
    // 100 connections drain 200,000 a second: ρ = 0.01.
    let curve = StallCurve { base_s: 0.0005, stall_s: 1.4, window_s: 30.0, utilisation: 0.01 };
    for p in [0.97, 0.99, 0.999] {
        let found = quantile(response, p) as f64 / 1e9;
        assert!((found - curve.quantile(p)).abs() < 0.0015, "{p}: {found}");
    }
}

/// V6: a closed loop of C connections has C slow requests, and no correction adds more.
#[test]
fn closed_loop_shows_one_slow_request_per_connection() {
    let plan = closed(20).with_load(|load| load.duration_ns = Some(30 * SECOND));
    let run = run(stalled(0), &plan);
    let service = &run.measured.results.service_time.ok;
    let slow: u64 = service
        .buckets()
        .filter(|(bucket, _)| weir_result::histogram::lowest_in(*bucket) > SECOND)
        .map(|(_, count)| count)
        .sum();
    assert_eq!(slow, 20);
    assert_eq!(service.exact().max_ns, STALL_NS + 500 * US);
    let share = 20.0 / service.count() as f64;
    assert_eq!(quantile(service, 1.0 - 2.0 * share) / US, 500);
    assert_eq!(service.count(), 20 * 57_200, "one each 500 µs, less the stall");
}

/// V7, Tene's rule: stalled half of the time, p90 is 0.8 of the stall, p75 half of it.
#[test]
fn half_the_time_stalled_gives_the_rule_of_thumb() {
    let mut world = serving(500 * US);
    world.server.stalls = vec![Pause::new(START.after(2 * SECOND), 5 * SECOND)];
    let plan = open(1_000, 1, 6_000).with_load(|load| load.duration_ns = Some(10 * SECOND));
    let run = run(world, &plan);
    let response = &run.measured.results.response_time.ok;
    for (p, expected_s) in [(0.9, 4.0), (0.75, 2.5), (1.0, 5.0)] {
        let found = quantile(response, p) as f64 / 1e9;
        assert!((found - expected_s).abs() < 0.002 + found / 1_000.0, "{p}: {found}");
    }
    assert!(quantile(response, 0.49) < MS);
}

/// V11: a stall over the window's end. A tool that drops requests in flight sees only half of it.
#[test]
fn a_stall_over_the_end_is_seen_whole() {
    let mut world = serving(500 * US);
    world.server.stalls = vec![Pause::new(START.after(9 * SECOND), 2 * SECOND)];
    for connections in [4_000, 10] {
        let plan =
            open(1_000, 1, connections).with_load(|load| load.duration_ns = Some(10 * SECOND));
        let run = run(world.clone(), &plan);
        let response = &run.measured.results.response_time.ok;
        assert_eq!(
            (run.measured.results.planned, run.measured.results.outcomes.ok),
            (10_000, 10_000)
        );
        check_exact("response", response, true_response(&run, &plan));
        for p in [0.91, 0.95, 0.99, 0.999] {
            let expected = theory::end_stall_quantile(10.0, 2.0, p).expect("a delayed slot");
            let found = quantile(response, p) as f64 / 1e9;
            // 10 connections drain 20,000 a second and add ρ = 0.05 of the stall.
            let granularity = if connections > 10 { 0.002 } else { 0.12 };
            assert!((found - expected).abs() < granularity + found / 1_000.0, "{p}: {found}");
        }
        assert!(run.measured.sent.tail > 0, "the load is kept up while M is resolved");
    }
}

/// A stall that outlasts the drain: no slot of it is lost, each is a bound.
#[test]
fn a_stall_beyond_the_drain_is_censored() {
    let mut world = serving(500 * US);
    world.server.stalls = vec![Pause::new(START.after(SECOND), 60 * SECOND)];
    let plan = open(1_000, 1, 4_000).with_load(|load| {
        load.duration_ns = Some(2 * SECOND);
        load.timeout_ns = SECOND;
    });
    let run = run(world, &plan);
    let outcomes = run.measured.results.outcomes;
    assert_eq!((outcomes.ok, outcomes.timed_out + outcomes.in_flight_at_end), (1_000, 1_000));
    check_all("ages", &run.measured.results.response_time.censored, 1_000, SECOND);
}

/// Stalls between slots and inside them, of any length: results always equal the truth.
#[test]
fn every_stall_is_measured_exactly() {
    for index in 0..30 {
        let from = START.after(index * 7_333 * US);
        let mut world = serving(500 * US);
        world.server.stalls =
            vec![Pause::new(from, index * 3_111 * US), Pause::new(Nanos(900 * MS), 50 * MS)];
        let plan = open(1_000, 1, 200);
        let run = run(world, &plan);
        check_exact("response", &run.measured.results.response_time.ok, true_response(&run, &plan));
    }
}
