//! The witness (METHOD 1.9, C7): a thread of its own that asks now and then what the load asks all
//! the time. Its Poisson arrivals see what any arrival would; where the load's answers take longer
//! than its own, the load's own threads are what they waited for.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use weir_engine::{Control, Extras, Job};
use weir_io::{Clock, system};
use weir_run::{Arrivals, Load, Measurements, Pacing, Plan, Rate, StampChoice};

/// Probes per second of a closed loop, and most of an open one.
const PROBES_PER_SECOND: u64 = 100;

/// An open loop's probes are one in so many of its requests.
const REQUESTS_PER_PROBE: u64 = 100;

/// Not so thin that a window has none.
const PROBES_PER_SECOND_MIN: u64 = 1;

/// A witness at work.
pub(crate) struct Witness {
    control: Arc<Control>,
    clock: Clock,
    thread: JoinHandle<Option<Measurements>>,
}

impl Witness {
    /// Sends it out beside `job`, on the CPU that the job leaves free, if there is one.
    pub(crate) fn start(job: &Job, clock: Clock) -> Option<Witness> {
        let free = job.cpus.get(job.plan.threads as usize).copied();
        let control = Arc::new(Control::new(1, weir_io::Waker::new().ok()));
        let (job, its_control) = (Arc::new(probe(job, free)), Arc::clone(&control));
        let run = move || {
            let run = weir_engine::run(&job, clock, &its_control, None, Vec::new());
            run.ok().map(|finished| finished.measurements)
        };
        let thread = thread::Builder::new().name("weir-witness".to_owned()).spawn(run).ok()?;
        Some(Witness { control, clock, thread })
    }

    /// The load is over: what it saw.
    pub(crate) fn finish(self) -> Option<Measurements> {
        self.control.stop(self.clock.now());
        self.thread.join().ok().flatten()
    }
}

/// Whether a witness goes out unasked: where a CPU is free for it, and where the load lasts.
pub(crate) fn is_useful(plan: &Plan) -> bool {
    let usable = system::usable_cpus().map_or(0, |cpus| cpus.len());
    (plan.threads as usize) < usable && plan.duration_ns.is_some()
}

/// The job of the witness.
fn probe(job: &Job, cpu: Option<u32>) -> Job {
    let rate = match job.plan.load {
        Load::ClosedLoop => PROBES_PER_SECOND,
        Load::OpenLoop { rate, .. } => {
            (rate.rps() as u64 / REQUESTS_PER_PROBE).clamp(PROBES_PER_SECOND_MIN, PROBES_PER_SECOND)
        }
    };
    let load = Load::OpenLoop {
        rate: Rate { numerator: rate, denominator: 1 },
        arrivals: Arrivals::Poisson { seed: 1 },
    };
    let plan = Plan {
        load,
        connections: 1,
        threads: 1,
        pipeline: 1,
        warmup_is_auto: false,
        requests: None,
        // It must not take the CPU from whom it watches.
        pacing: Pacing::Sleep,
        stamps: StampChoice::All,
        ..job.plan.clone()
    };
    Job {
        plan,
        cpus: cpu.into_iter().collect(),
        extras: Extras::default(),
        raw: None,
        ..job.clone()
    }
}
