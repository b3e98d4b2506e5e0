//! Queues with a known distribution (METHOD 2.3): arrivals by the engine's own plan, service by the
//! world.

use weir_result::{Histogram, Plan};
use weir_sim::{Law, Seed, Workers, World};

use crate::setup::{Run, SECOND, open, poisson, quantile, run, serving};
use crate::theory;

/// Returns a world with one worker that serves 1,000 requests per second, with exponential service
/// times.
fn queue(seed: u64) -> World {
    let mut world = serving(0);
    world.seed = Seed(seed);
    world.server.service = Law::Exponential { mean_ns: SECOND / 1_000 };
    world.server.workers = Workers::Limited(1);
    world
}

fn long(plan: Plan) -> Plan {
    plan.with_load(|load| {
        load.warmup.span_ns = 5 * SECOND;
        load.duration_ns = Some(600 * SECOND);
        load.timeout_ns = 60 * SECOND;
    })
}

/// Checks the mean of `statistic` over the slices against `expected`, within five standard errors.
fn check(run: &Run, statistic: impl Fn(&Histogram) -> f64, expected: f64) {
    let values: Vec<f64> = run.measured.slices.iter().map(|slice| statistic(&slice.ok)).collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let error = (variance / count).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} ± {error} is not {expected}");
    assert!(error < 0.25 * expected, "{mean} ± {error} says nothing about {expected}");
}

fn mean_s(histogram: &Histogram) -> f64 {
    histogram.exact().sum_ns as f64 / histogram.count() as f64 / 1e9
}

fn share_above(histogram: &Histogram, limit_s: f64) -> f64 {
    let limit = weir_result::histogram::bucket_of((limit_s * 1e9) as u64);
    let above = histogram.buckets().filter(|(bucket, _)| *bucket > limit);
    above.map(|(_, count)| count).sum::<u64>() as f64 / histogram.count() as f64
}

#[test]
fn poisson_arrivals_are_mm1() {
    for rate in [500, 800] {
        let run = run(queue(rate), &long(poisson(rate, 1, 500, rate)));
        assert_eq!(run.measured.results.outcomes.ok, run.measured.results.planned);
        let arrival = rate as f64;
        check(&run, mean_s, theory::mm1_mean(arrival, 1_000.0));
        for p in [0.5, 0.9, 0.99] {
            let limit = theory::mm1_quantile(arrival, 1_000.0, p);
            check(&run, |slice| share_above(slice, limit), 1.0 - p);
        }
        let p99 = quantile(&run.measured.results.response_time.ok, 0.99) as f64 / 1e9;
        let expected = theory::mm1_quantile(arrival, 1_000.0, 0.99);
        assert!((p99 / expected - 1.0).abs() < 0.15, "{p99} is not {expected}");
    }
}

#[test]
fn uniform_arrivals_are_dm1() {
    for rate in [500, 800, 900] {
        let run = run(queue(rate), &long(open(rate, 1, 500)));
        let arrival = rate as f64;
        check(&run, mean_s, theory::dm1_mean(arrival, 1_000.0));
        let limit = theory::dm1_quantile(arrival, 1_000.0, 0.99);
        check(&run, |slice| share_above(slice, limit), 0.01);
    }
}

#[test]
fn poisson_arrivals_at_a_fixed_speed_are_md1() {
    let mut world = queue(7);
    world.server.service = Law::Fixed(SECOND / 1_000);
    let run = run(world, &long(poisson(800, 1, 500, 7)));
    check(&run, mean_s, theory::md1_mean(800.0, 1_000.0));
}

/// A server that never queues shows the distribution of its service times: M/G/∞.
#[test]
fn a_sleeping_server_shows_its_own_law() {
    let mut world = queue(8);
    world.server.workers = Workers::Unlimited;
    let run = run(world, &long(poisson(1_000, 1, 200, 8)));
    check(&run, mean_s, 0.001);
    check(&run, |slice| share_above(slice, 100f64.ln() / 1_000.0), 0.01);
    // Little: the mean number in flight is the rate times the mean time.
    let in_flight = run.measured.intervals.iter().map(|interval| interval.in_flight as f64);
    let mean = in_flight.sum::<f64>() / run.measured.intervals.len() as f64;
    assert!((mean - 1.0).abs() < 0.25, "{mean}");
}
