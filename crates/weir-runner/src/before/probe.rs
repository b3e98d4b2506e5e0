//! The one-connection probe: a short closed loop before the warm-up, whose median service time is
//! the target's without load (METHOD 1.9). It runs on the engine of the load, so that its times are
//! comparable.

use std::sync::Arc;
use std::time::Duration;

use weir_engine::{Control, Ending, Job, RunError};
use weir_io::{Clock, Waker};
use weir_result::document::Probed;
use weir_result::{ConnectionPlan, Plan, StampChoice};

use crate::interrupts::Interrupts;
use crate::run::{health, trial};

/// Maximum duration, connecting included. Requests in flight at its end are abandoned.
const PATIENCE: Duration = Duration::from_millis(200);

/// Maximum requests: enough for a median, and soon over against a fast server.
const REQUESTS_MAX: u64 = 1_000;

/// Attempts, if the client is stopped for long during each.
const ATTEMPTS: u32 = 3;

/// Minimum requests of a load that is probed. A smaller load must not cause many more requests.
const LOAD_MIN: u64 = 100;

/// Probes the target of `job`. A probe without responses has no result, and does not prevent the
/// load; one during which the client was stopped is repeated.
///
/// # Errors
/// When it could not be carried out, and the load could not either.
pub(crate) fn run(job: &Job, interrupts: &Interrupts) -> Result<Probed, RunError> {
    let Some(requests) = requests(&job.plan) else { return Ok(Probed::default()) };
    let job = Arc::new(single(job, requests));
    let mut sum = Probed::default();
    for _ in 0..ATTEMPTS {
        let (probed, is_stopped) = attempt(&job, interrupts)?;
        sum.sent += probed.sent;
        sum.failed += probed.failed;
        sum.returned += probed.returned;
        sum.answered += probed.answered;
        sum.connects += probed.connects;
        if !is_stopped || interrupts.received().is_some() {
            sum.section = probed.section;
            break;
        }
    }
    Ok(sum)
}

/// Probes once; returns also whether the client was stopped for long.
fn attempt(job: &Arc<Job>, interrupts: &Interrupts) -> Result<(Probed, bool), RunError> {
    let clock = Clock::start();
    let control = Arc::new(Control::new(1, Waker::new().ok()));
    interrupts.watch_over(&control, clock);
    control.stop_exactly_at(clock.now() + PATIENCE);
    let load = || weir_engine::run(job, clock, &control, None, Vec::new());
    let (finished, heartbeat) = health::with_heartbeat(clock, load);
    let finished = finished?;
    let stops = heartbeat.stops(&finished.measurements);
    Ok((Probed::of(&finished.measurements, clock.now().0), health::is_long(stops)))
}

/// The load of `job` over one connection, as a closed loop.
fn single(job: &Job, requests: u64) -> Job {
    let single = trial::single(job);
    let plan = Plan {
        stamps: StampChoice::None,
        list: None,
        // Without destinations, the probe connects to the endpoint, which is the first of them.
        connection: ConnectionPlan { destinations: Vec::new(), ..single.plan.connection },
        ..single.plan
    }
    .with_load(|load| {
        load.warmup.span_ns = 0;
        load.duration_ns = None;
        load.requests = Some(requests);
    });
    let ending = Ending { abandons: true, ..single.ending };
    let mut job = Job { plan, ending, ..single };
    job.target.destinations.clear();
    job.requests.list = None;
    let checks = &mut job.responses.expectations;
    *checks = checks.as_ref().map(|checks| Arc::new(checks.of_first()));
    job
}

/// Number of requests of the probe, at most the load's; `None` if the load has too few.
fn requests(plan: &Plan) -> Option<u64> {
    let by_rate = match (plan.load.rate(), plan.load.length_ns()) {
        (Some(rate), Some(span_ns)) => (rate.rps() * span_ns as f64 / 1e9) as u64,
        _ => u64::MAX,
    };
    let of_load = by_rate.min(plan.load.requests.unwrap_or(u64::MAX));
    (of_load >= LOAD_MIN).then_some(of_load.min(REQUESTS_MAX))
}

#[cfg(test)]
mod tests {
    use weir_result::{Arrivals, DueTimes, Rate};

    use super::*;

    #[test]
    fn no_more_requests_than_the_load_has() {
        let check = |rate: Option<u64>, duration_ns, limit, expected| {
            let due = rate.map(|numerator| {
                DueTimes::constant(Rate { numerator, denominator: 1 }, Arrivals::Uniform)
            });
            let plan = Plan::default().with_load(|load| {
                load.due = due;
                load.duration_ns = duration_ns;
                load.requests = limit;
            });
            assert_eq!(requests(&plan), expected, "{rate:?} {duration_ns:?} {limit:?}");
        };
        const S: u64 = 1_000_000_000;
        check(None, Some(S), None, Some(1_000));
        check(None, None, Some(99), None);
        check(None, None, Some(100), Some(100));
        check(None, None, Some(50_000), Some(1_000));
        check(Some(20), Some(10 * S), None, Some(200));
        check(Some(1), Some(20 * S), None, None);
        check(Some(1), None, Some(300), Some(300));
        check(Some(50_000), Some(10 * S), None, Some(1_000));
    }
}
