//! A run on the real machine: one thread per worker, started together, merged at the end.

use std::collections::BTreeSet;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use std::{io, thread};

use weir_io::{Backend, BackendOptions, Clock, Engine, Nanos, OnBackend};
use weir_machine::sys;
use weir_result::{IoEngine, Measurements, Plan, Slice, align_slices};
use weir_script::{ScriptError, WorkerState};
use weir_text::setting::THREADS;

use crate::control::{Control, ScriptFailure};
use crate::job::Job;
use crate::live::LiveSender;
use crate::requests::{Feeds, RowFeed};
use crate::worker::{WorkerInput, run_with};

/// Stack of a worker's thread. Its state is on the heap, and there may be thousands of threads.
const STACK_BYTES: usize = 512 * 1024;

/// Interval between checks of workers that have not ended.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Longest time of a callback before the run is stopped because of it, during the run and after its
/// end.
const PATIENCE_NS: u64 = 10_000_000_000;
const STOPPED_PATIENCE_NS: u64 = 2_000_000_000;

/// The reason why a run could not be carried out. Failures of servers and networks are never errors
/// here.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A thread could not be started.
    #[error(
        "worker {worker} could not be started: {error}; lower {THREADS}, or raise the limit on \
         threads (ulimit -u, pids.max)"
    )]
    Thread {
        /// Worker number, from 0.
        worker: u32,
        /// Error of the operating system.
        error: io::Error,
    },
    /// The I/O engine failed.
    #[error("the {engine} engine of worker {worker} failed: {error}")]
    Engine {
        /// Worker number, from 0.
        worker: u32,
        /// I/O engine that failed.
        engine: IoEngine,
        /// Error of the engine.
        error: io::Error,
    },
    /// A worker panicked: a bug in weir.
    #[error("worker {worker} panicked")]
    Panicked {
        /// Worker number, from 0.
        worker: u32,
    },
}

/// The results of a run.
#[derive(Debug)]
pub struct RunResults {
    /// Measurements over all workers.
    pub measurements: Measurements,
    /// Scripts by worker number, except lost workers' scripts.
    pub scripts: Vec<(u32, WorkerState)>,
    /// Workers whose script did not return, and whose measurements are lost.
    pub lost: Vec<ScriptFailure>,
}

/// Runs `job` to its end, with a thread for each worker. `live` receives each worker's intervals as
/// they end; `scripts` has one script for each worker, or none.
///
/// # Errors
/// If a worker cannot be started or its I/O engine fails; the others are stopped first.
pub fn run(
    job: &Arc<Job>,
    clock: Clock,
    control: &Arc<Control>,
    live: Option<&LiveSender>,
    scripts: Vec<WorkerState>,
) -> Result<RunResults, RunError> {
    // Each worker has dozens of histograms, sparse ones if there are many workers.
    sys::map_large_blocks();
    let (sender, receiver) = mpsc::channel();
    let mut scripts = scripts.into_iter();
    let mut failed = None;
    let mut started = BTreeSet::new();
    let first = job.plan.own_workers().next().unwrap_or(0);
    let feeds = Feeds::start(job, control, clock);
    let Feeds { mut feeds, readers } =
        feeds.map_err(|error| RunError::Thread { worker: first, error })?;
    for worker in job.plan.own_workers() {
        let thread = WorkerThread {
            job: Arc::clone(job),
            worker,
            clock,
            control: Arc::clone(control),
            live: live.cloned(),
            script: scripts.next(),
            feed: feeds.next(),
        };
        let sender = sender.clone();
        let builder = thread::Builder::new().name(format!("weir-{worker}")).stack_size(STACK_BYTES);
        match builder.spawn(move || thread.run(&sender)) {
            Ok(_detached) => {
                started.insert(worker);
            }
            Err(error) => {
                control.stop(clock.now());
                failed = Some(RunError::Thread { worker, error });
                break;
            }
        }
    }
    drop((sender, feeds));
    let finished = collect(&receiver, started, clock, control, &job.plan)?;
    // Each ends with its worker.
    readers.into_iter().for_each(|reader| drop(reader.join()));
    failed.map_or(Ok(finished), Err)
}

/// The message with which a worker's thread ends.
struct Ended {
    worker: u32,
    result: Result<Measurements, RunError>,
    script: Option<WorkerState>,
}

/// Waits for every worker in `waiting`. If a script does not return, the other workers are stopped,
/// and its worker is given up once they have ended: nothing can end a compiled loop from outside.
fn collect(
    receiver: &Receiver<Ended>,
    mut waiting: BTreeSet<u32>,
    clock: Clock,
    control: &Control,
    plan: &Plan,
) -> Result<RunResults, RunError> {
    let mut finished =
        RunResults { measurements: Measurements::default(), scripts: Vec::new(), lost: Vec::new() };
    let mut sum = Measurements::default();
    let mut apart = Vec::new();
    let mut failed = None;
    while !waiting.is_empty() {
        match receiver.recv_timeout(LOOK_EVERY) {
            Ok(ended) => {
                waiting.remove(&ended.worker);
                match ended.result {
                    // Merged at once, since the histograms of thousands of workers take much
                    // memory.
                    Ok(part) if sum.workers.is_empty() => sum = part,
                    Ok(part) if have_same_slices(&sum, &part) => sum.merge(&part),
                    Ok(part) => apart.push(part),
                    Err(error) => failed = failed.or(Some(error)),
                }
                finished.scripts.extend(ended.script.map(|script| (ended.worker, script)));
            }
            Err(RecvTimeoutError::Timeout) => {
                let stuck = stuck(&waiting, clock.now(), control, plan);
                if !stuck.is_empty() {
                    control.stop(clock.now());
                }
                if stuck.len() == waiting.len() {
                    finished.lost = stuck;
                    break;
                }
            }
            // A worker that panicked has sent nothing.
            Err(RecvTimeoutError::Disconnected) => {
                let worker = waiting.pop_first().unwrap_or_default();
                failed = Some(RunError::Panicked { worker });
                break;
            }
        }
    }
    if let Some(error) = failed {
        return Err(error);
    }
    apart.push(sum);
    align_slices(&mut apart);
    for part in &apart {
        finished.measurements.merge(part);
    }
    finished.measurements.workers.sort_by_key(|phases| phases.worker);
    if !finished.lost.is_empty() {
        // The lost workers have ended early too, and so may the window of the others.
        let lost = u32::try_from(finished.lost.len()).unwrap_or(u32::MAX);
        finished.measurements.script.get_or_insert_default().stopped += lost;
    }
    Ok(finished)
}

/// Returns the workers that have been in one callback for too long.
fn stuck(
    waiting: &BTreeSet<u32>,
    now: Nanos,
    control: &Control,
    plan: &Plan,
) -> Vec<ScriptFailure> {
    let end = control.start_at().map_or(Nanos::MAX, |start| {
        start.after(plan.load.warmup.span_ns).after(plan.load.length_ns().unwrap_or(u64::MAX))
    });
    let is_over = control.stop_at().min(end) <= now;
    let patience_ns = if is_over { STOPPED_PATIENCE_NS } else { PATIENCE_NS };
    let stuck = waiting.iter().filter_map(|worker| {
        let (callback, since) = control.watch(*worker).stuck_in()?;
        let span_ns = now.since(since);
        let seconds = span_ns / 1_000_000_000;
        let message = format!("has not returned for {seconds} s: is it an endless loop?");
        let error = ScriptError { callback: callback.name(), message };
        (span_ns > patience_ns).then_some(ScriptFailure { worker: *worker, error })
    });
    stuck.collect()
}

/// True if the windows of both workers are divided in the same way.
fn have_same_slices(one: &Measurements, other: &Measurements) -> bool {
    let bounds = |slice: &Slice| (slice.start_ns, slice.end_ns);
    one.slices.iter().map(bounds).eq(other.slices.iter().map(bounds))
}

/// One worker and what its thread owns.
struct WorkerThread {
    job: Arc<Job>,
    worker: u32,
    clock: Clock,
    control: Arc<Control>,
    live: Option<LiveSender>,
    script: Option<WorkerState>,
    feed: Option<RowFeed>,
}

impl OnBackend for &mut WorkerThread {
    type Output = io::Result<Measurements>;

    fn run<B: Backend>(self, backend: B) -> io::Result<Measurements> {
        let live = self.live.take();
        let script = self.script.as_mut();
        let input = WorkerInput { script, feed: self.feed.take() };
        run_with(&self.job, self.worker, &self.control, backend, live, input)
    }
}

impl WorkerThread {
    fn run(mut self, ended: &Sender<Ended>) {
        let result = self.measure();
        if result.is_err() {
            self.control.stop(self.clock.now());
        }
        let message = Ended { worker: self.worker, result, script: self.script.take() };
        // Dropped before the message is sent: the last owner of the waker closes it, and that must
        // not be this thread, which may have a descriptor table of its own.
        drop(self);
        // The receiver is gone if another worker has failed.
        let _gone = ended.send(message);
    }

    /// Runs the worker on the engine that the plan names.
    fn measure(&mut self) -> Result<Measurements, RunError> {
        let job = &*self.job;
        let worker = self.worker;
        let waker = self.control.waker.clone();
        // A script may have files open and moves between threads with them, so its thread keeps the
        // shared descriptor table.
        if self.script.is_none() {
            let kept: Vec<_> = waker.iter().map(AsRawFd::as_raw_fd).collect();
            // On failure the table of the process remains, which may allow fewer connections.
            let _shared = sys::own_descriptors(&kept);
        }
        if let Some(cpu) = job.cpu_of(worker) {
            // Failing to pin costs precision, not truth: the document shows the CPUs that workers
            // ran on.
            let _unpinned = sys::pin_to_cpu(cpu);
        }
        // A coarse timer does not falsify results: its lateness is part of the send lag.
        let _coarse = sys::set_timer_slack(1);
        let options = BackendOptions {
            clock: self.clock,
            connections: job.own_connections_max(worker),
            backends: job.plan.own_threads(),
            waker,
        };
        let engine = job.plan.io;
        let failed = |error| RunError::Engine { worker, engine, error };
        let opened = match Engine::named(engine.name()) {
            Some(engine) => weir_io::open(engine, options, self),
            None => Err(io::Error::other("tests bring their own simulated machine")),
        };
        let mut measurements = opened.flatten().map_err(failed)?;
        let cpu_time = sys::thread_cpu_time().unwrap_or_default().total();
        for phases in &mut measurements.workers {
            phases.cpu_time_ns = u64::try_from(cpu_time.as_nanos()).unwrap_or(u64::MAX);
        }
        Ok(measurements)
    }
}
