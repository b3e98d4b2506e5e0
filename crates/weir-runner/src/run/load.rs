//! Execution of a job: its threads, and their watchers.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weir_engine::{Control, Job, LiveMessage, ScriptFailure};
use weir_io::{Clock, Waker};
use weir_machine::sys::{self, CpuTime, Signal};
use weir_machine::{Memory, Root};
use weir_result::Plan;
use weir_result::document::{ClientUsage, DocumentParts, NetworkSection, SideRecords};
use weir_verdict::AbortCondition;

use crate::errors::NoThread;
use crate::interrupts::Interrupts;
use crate::observer::Observer;
use crate::prepare::script::Scripts;
use crate::run::abort::AbortWatch;
use crate::run::health::Watcher;
use crate::run::live;
use crate::start_gate::{EngineLoad, StartGate};

/// The run's epoch on both clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    pub(crate) clock: Clock,
    /// The epoch on the wall clock, in nanoseconds since 1970, UTC.
    pub(crate) unix_ns: u64,
}

impl Epoch {
    /// Sets the epoch to now.
    pub(crate) fn start() -> Epoch {
        Epoch { clock: Clock::start(), unix_ns: sys::realtime_ns() }
    }

    /// The identifier that distinguishes this run from others.
    pub(crate) fn run_id(self) -> String {
        format!("{:016x}-{}", self.unix_ns, std::process::id())
    }

    /// The epoch as RFC 3339 text, in UTC.
    pub(crate) fn text(self) -> String {
        jiff::Timestamp::from_nanosecond(self.unix_ns.into())
            .map_or_else(|_| "unknown".to_owned(), |time| time.to_string())
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub(crate) struct LoadOutcome {
    /// Parts of the document that the load has measured.
    pub(crate) parts: DocumentParts,
    /// Signal that ended the run early.
    pub(crate) signal: Option<Signal>,
    /// True if a signal ended the drain, or the last readings of the watched server: the window was
    /// complete, or a condition had ended it.
    pub(crate) is_drain_cut: bool,
    /// True if the run ended before its warm-up because no connection could be opened.
    pub(crate) is_unconnected: bool,
    /// States of the scripts.
    pub(crate) states: Vec<weir_script::WorkerState>,
    /// Scripts that failed: the first that raised an error, and all that never returned.
    pub(crate) failures: Vec<ScriptFailure>,
    /// Reason why a row of the list could not be read.
    pub(crate) list_failure: Option<String>,
}

/// Conditions that begin a load and end it early, besides its plan and signals.
#[derive(Default)]
pub(crate) struct LoadEnds<'a> {
    /// Gate at which the load waits for its start.
    pub(crate) gate: Option<&'a StartGate>,
    /// Conditions that end it.
    pub(crate) abort: Vec<AbortCondition>,
}

/// Runs the job until its end, a signal or a condition of `ends`. The observer follows it if it is
/// live.
///
/// # Errors
/// When a system resource is missing or a worker fails.
pub(crate) fn carry_out(
    job: &Arc<Job>,
    epoch: &Epoch,
    interrupts: &Interrupts,
    scripts: Option<&mut Scripts>,
    ends: LoadEnds<'_>,
    observer: &mut dyn Observer,
) -> Result<LoadOutcome> {
    let clock = epoch.clock;
    let waker = Waker::new().context("no descriptor is left: raise the limit (ulimit -n)")?;
    let control = Control::of_plan(&job.plan, job.not_before, Some(waker));
    let control = Arc::new(if ends.gate.is_some() { control.held() } else { control });
    if let Some(gate) = ends.gate {
        gate.hold(Arc::new(EngineLoad { control: Arc::clone(&control), clock }));
    }
    interrupts.watch_over(&control, clock);
    let states = scripts.map(|scripts| scripts.main.take_workers()).unwrap_or_default();
    let cpu_before = sys::process_cpu_time().unwrap_or_default();
    let its_control = Arc::clone(&control);
    let its_plan = job.plan.clone();
    let watcher = Watcher::start(job, clock, move || its_control.window(&its_plan));
    let mut abort = AbortWatch::new(ends.abort, &job.plan);
    let mut finished = thread::scope(|scope| {
        if !observer.is_live() && abort.is_empty() {
            return Ok(weir_engine::run(job, clock, &control, None, states)?);
        }
        let (sender, receiver) = mpsc::channel();
        let builder = thread::Builder::new().name("weir-live".to_owned());
        let control = &control;
        let abort = &mut abort;
        let follow = move || {
            let stop = || control.stop(clock.now());
            follow(&job.plan, &receiver, observer, abort, interrupts, &stop);
        };
        let watcher = builder.spawn_scoped(scope, follow).map_err(NoThread)?;
        let finished = weir_engine::run(job, clock, control, Some(&sender), states);
        // A worker whose script never returns keeps its sender, so the channel stays open.
        let _ended = sender.send(LiveMessage::End);
        let _panicked = watcher.join();
        Ok::<_, anyhow::Error>(finished?)
    })?;
    let seen = watcher.and_then(|watcher| watcher.finish(&finished.measurements));
    let (health, round_trips) = seen.unzip();
    // A window that was complete by then was not ended by the condition.
    let is_cut = finished.measurements.interrupted || job.plan.is_until_signal();
    let aborted = abort.aborted.filter(|_| is_cut);
    finished.measurements.interrupted |= aborted.is_some();
    let is_interrupted = finished.measurements.interrupted;
    let received = interrupts.received();
    let is_aborted = aborted.is_some();
    let mut failures = finished.lost;
    failures.splice(..0, control.script_failure());
    let has_failed = !failures.is_empty() || control.list_failure().is_some();
    let client = usage_since(cpu_before);
    let network = NetworkSection::of(&finished.measurements.tcp, round_trips.unwrap_or_default());
    let mut parts = DocumentParts::bare(job.plan.clone(), finished.measurements);
    parts.given.run.client = client;
    parts.given.run.aborted = aborted;
    parts.beside = SideRecords { network, health, ..SideRecords::default() };
    Ok(LoadOutcome {
        parts,
        signal: received.filter(|_| is_interrupted && !is_aborted),
        is_drain_cut: received.is_some() && (is_aborted || (!is_interrupted && !has_failed)),
        is_unconnected: control.is_unconnected(),
        states: finished.scripts.into_iter().map(|(_, state)| state).collect(),
        failures,
        list_failure: control.list_failure().map(str::to_owned),
    })
}

/// Follows the load in a thread beside it, and stops it once a condition has held for long enough,
/// unless a signal has.
fn follow(
    plan: &Plan,
    messages: &Receiver<LiveMessage>,
    observer: &mut dyn Observer,
    abort: &mut AbortWatch,
    interrupts: &Interrupts,
    stop: &dyn Fn(),
) {
    let _usual = sys::lower_priority();
    // In a closed loop workers may never rest, and the picture would stand still. A condition has
    // to end a load that leaves no CPU idle too.
    if plan.load.is_open_loop() && abort.is_empty() {
        let _usual = sys::run_when_idle();
    }
    live::follow(plan, messages, observer, |interval| {
        if interrupts.received().is_none() && abort.ends_with(interval) {
            stop();
        }
    });
}

/// CPU time that the process has used since `before`, and its peak memory.
fn usage_since(before: CpuTime) -> ClientUsage {
    let now = sys::process_cpu_time().unwrap_or_default();
    let ns = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    ClientUsage {
        cpu_user_ns: ns(now.user.saturating_sub(before.user)),
        cpu_system_ns: ns(now.system.saturating_sub(before.system)),
        max_resident_bytes: Memory::of_this_process(&Root::machine())
            .map_or(0, |memory| memory.peak_bytes),
    }
}
