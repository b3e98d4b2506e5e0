//! A run on the real machine: one thread per worker, started together, merged at the end.

use std::io;
use std::thread;

use weir_io::{BackendOptions, Clock, Epoll, Uring};
use weir_run::{IoEngine, Measurements, Slice};

use crate::control::Control;
use crate::job::Job;
use crate::recorder::LiveSender;
use crate::worker::run_on;

/// Stack of a worker's thread: its state is on the heap, and there may be thousands.
const STACK_BYTES: usize = 512 * 1024;

/// Why a run could not be carried out. What servers and networks do is never an error here.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A thread could not be started.
    #[error("worker {worker} could not be started: {error}")]
    Thread {
        /// Which one.
        worker: u32,
        /// Why.
        error: io::Error,
    },
    /// The I/O engine failed.
    #[error("the {engine} engine of worker {worker} failed: {error}")]
    Engine {
        /// Which worker's.
        worker: u32,
        /// Which engine.
        engine: IoEngine,
        /// Why.
        error: io::Error,
    },
    /// A worker panicked: a fault of weir.
    #[error("worker {worker} panicked")]
    Panicked {
        /// Which one.
        worker: u32,
    },
}

/// Runs `job` on threads of its own, to the end. `live` gets each worker's intervals as they end.
///
/// # Errors
/// When a worker cannot be started or its I/O engine fails; the others are stopped first.
pub fn run(
    job: &Job,
    clock: Clock,
    control: &Control,
    live: Option<&LiveSender>,
) -> Result<Measurements, RunError> {
    let results = thread::scope(|scope| {
        let mut handles = Vec::new();
        for worker in 0..job.plan.threads {
            let live = live.cloned();
            let builder =
                thread::Builder::new().name(format!("weir-{worker}")).stack_size(STACK_BYTES);
            let spawned = builder.spawn_scoped(scope, move || {
                let result = run_worker(job, worker, clock, control, live);
                if result.is_err() {
                    control.stop(clock.now());
                }
                result
            });
            match spawned {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    control.stop(clock.now());
                    return Err(RunError::Thread { worker, error });
                }
            }
        }
        let results = handles
            .into_iter()
            .zip(0..)
            .map(|(handle, worker)| handle.join().unwrap_or(Err(RunError::Panicked { worker })));
        Ok(results.collect::<Vec<_>>())
    })?;
    let mut parts = results.into_iter().collect::<Result<Vec<_>, _>>()?;
    align_slices(&mut parts);
    let mut whole = Measurements::default();
    for part in &parts {
        whole.merge(part);
    }
    Ok(whole)
}

/// Gives every worker the slices of the one whose window was the longest. They differ where each
/// ended with the last of its own requests.
fn align_slices(parts: &mut [Measurements]) {
    let end_ns = |part: &Measurements| part.slices.last().map_or(0, |slice| slice.end_ns);
    let Some(longest) = parts.iter().max_by_key(|part| end_ns(part)) else { return };
    let bounds: Vec<(u64, u64)> =
        longest.slices.iter().map(|slice| (slice.start_ns, slice.end_ns)).collect();
    for part in parts {
        part.slices.resize_with(bounds.len(), Slice::default);
        for (slice, (start_ns, end_ns)) in part.slices.iter_mut().zip(&bounds) {
            (slice.start_ns, slice.end_ns) = (*start_ns, *end_ns);
        }
    }
}

/// One worker, on the engine that the plan names.
fn run_worker(
    job: &Job,
    worker: u32,
    clock: Clock,
    control: &Control,
    live: Option<LiveSender>,
) -> Result<Measurements, RunError> {
    if let Some(cpu) = job.cpu_of(worker) {
        // Failing to pin costs precision, not truth: the document shows where workers ran.
        let _unpinned = weir_io::system::pin_to_cpu(cpu);
    }
    // Nor is a coarse timer untrue: its lateness is in the send lag.
    let _coarse = weir_io::system::set_timer_slack(1);
    let options = BackendOptions {
        clock,
        connections: job.deal(worker).own_connections(),
        waker: control.waker(),
    };
    let engine = job.plan.io;
    let failed = |error| RunError::Engine { worker, engine, error };
    let mut measurements = match engine {
        IoEngine::IoUring => {
            let backend = Uring::new(options).map_err(failed)?;
            run_on(job, worker, control, backend, live).map_err(failed)?
        }
        IoEngine::Epoll => {
            let backend = Epoll::new(options).map_err(failed)?;
            run_on(job, worker, control, backend, live).map_err(failed)?
        }
        IoEngine::Simulated => {
            return Err(failed(io::Error::other("tests bring their own simulated machine")));
        }
    };
    let cpu_time = weir_io::system::thread_cpu_time().unwrap_or_default().total();
    for phases in &mut measurements.workers {
        phases.cpu_time_ns = u64::try_from(cpu_time.as_nanos()).unwrap_or(u64::MAX);
    }
    Ok(measurements)
}
