//! The witness (`probe-thread`, METHOD 1.9): a thread that sends the load's request at a low rate,
//! as an independent check. Its Poisson arrivals meet the same server as any other arrival. If the
//! load's responses take longer than its own, they waited for the load's own threads.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use weir_engine::{Control, Job};
use weir_io::Clock;
use weir_machine::sys;
use weir_result::{Arrivals, DueTimes, Measurements, Pacing, Part, Plan, Rate, StampChoice};

use crate::prepare::location::is_local;
use crate::run::trial;

/// Probes per second beside a closed loop, and the maximum beside an open one.
const PROBES_PER_SECOND: u64 = 100;

/// Requests of an open loop for each probe.
const REQUESTS_PER_PROBE: u64 = 100;

/// Minimum probes in a window that allow a conclusion.
const PROBES_MIN: f64 = 100.0;

/// A running witness.
pub(crate) struct Witness {
    control: Arc<Control>,
    clock: Clock,
    thread: JoinHandle<Option<Measurements>>,
}

impl Witness {
    /// Starts the witness beside `job`, pinned to no CPU; `None` if no thread can be started.
    pub(crate) fn start(job: &Job, clock: Clock) -> Option<Witness> {
        let job = Arc::new(probe(job));
        let waker = weir_io::Waker::new().ok();
        let control = Arc::new(Control::of_plan(&job.plan, job.not_before, waker));
        let its_control = Arc::clone(&control);
        let run = move || {
            let run = weir_engine::run(&job, clock, &its_control, None, Vec::new());
            run.ok().map(|finished| finished.measurements)
        };
        let thread = thread::Builder::new().name("weir-witness".to_owned()).spawn(run).ok()?;
        Some(Witness { control, clock, thread })
    }

    /// Stops the witness after the load and returns its measurements.
    pub(crate) fn finish(self) -> Option<Measurements> {
        self.control.stop(self.clock.now());
        self.thread.join().ok().flatten()
    }
}

/// True if `auto` starts a witness: a CPU is free for it, and the window has room for enough
/// probes.
pub(crate) fn is_useful(job: &Job) -> bool {
    let usable = sys::usable_cpus().map_or(0, |cpus| cpus.len());
    let plan = &job.plan;
    let is_server_local = is_local(&job.target.endpoint) != Some(false);
    let window_s = match plan.load.length_ns() {
        Some(ns) => ns as f64 / 1e9,
        None if plan.is_until_signal() => f64::INFINITY,
        None => 0.0,
    };
    has_free_cpu(plan.own_threads() as usize, is_server_local, usable)
        && rate(plan).rps() * window_s >= PROBES_MIN
}

/// True if a CPU is left for the witness. A server on this machine needs at least one too.
fn has_free_cpu(threads: usize, is_server_local: bool, usable: usize) -> bool {
    threads + usize::from(is_server_local) < usable
}

/// The rate of the probes, for this part of the load.
fn rate(plan: &Plan) -> Rate {
    let most = Rate { numerator: PROBES_PER_SECOND, denominator: 1 };
    let Some(rate) = plan.load.rate() else { return most };
    let requests = REQUESTS_PER_PROBE.saturating_mul(plan.part.map_or(1, Part::count).into());
    let share =
        Rate { numerator: rate.numerator, denominator: rate.denominator.saturating_mul(requests) };
    if share.rps() < most.rps() { share } else { most }
}

/// The job of the witness.
fn probe(job: &Job) -> Job {
    let due = DueTimes::constant(rate(&job.plan), Arrivals::Poisson { seed: 1 });
    let single = trial::single(job);
    let plan = Plan {
        // It must not take CPU time from the threads that it checks.
        pacing: Pacing::Sleep,
        wait: weir_result::Wait::Auto,
        stamps: StampChoice::All,
        ..single.plan
    }
    .with_load(|load| {
        load.due = Some(due);
        load.requests = None;
    });
    let mut job = Job { plan, ..single };
    job.workers.cpus.clear();
    job
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_result::Load;

    /// The probes keep their own rate: they do not follow the stages of the load, nor a log.
    #[test]
    fn probes_have_one_rate() {
        let request = weir_http::Prepared::http1("GET", "/", "h", &[], None).expect("a request");
        let endpoint = weir_io::Endpoint::Tcp(([127, 0, 0, 1], 1).into());
        let plan = Plan {
            load: Load {
                due: Some(DueTimes::Log(weir_result::ReplayPlan::default())),
                warmup: weir_result::Warmup { span_ns: 5, is_auto: true },
                ..Plan::default().load
            },
            ..Plan::default()
        };
        let stages = weir_result::parse_connection_stages("1s@c=2..9").expect("stages");
        let connections = weir_result::ConnectionLoad::Stages(stages);
        let staged = Plan { load: Load { connections, ..Plan::default().load }, ..Plan::default() };
        for plan in [plan, staged] {
            // Its window is that of the load, behind the same warm-up.
            let warmup_ns = plan.load.warmup.span_ns;
            let mut job = Job::new(plan, endpoint.clone(), request.clone());
            job.requests.times = Some([1, 2].into());
            let probe = probe(&job);
            assert!(probe.plan.load.is_one_load() && probe.requests.times.is_none(), "{probe:?}");
            let warmup = weir_result::Warmup { span_ns: warmup_ns, is_auto: false };
            assert_eq!(probe.plan.load.warmup, warmup, "{probe:?}");
        }
    }

    #[test]
    fn the_server_s_cpu_is_not_free() {
        let check = |threads, is_server_local, usable, expected| {
            assert_eq!(has_free_cpu(threads, is_server_local, usable), expected);
        };
        check(1, false, 2, true);
        check(1, true, 2, false);
        check(1, true, 3, true);
        check(2, false, 2, false);
    }
}
