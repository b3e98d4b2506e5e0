//! Agents without load: they are real in all but the requests. Each takes its part, and then
//! delivers what a part of the same load has measured before, at the same times: intervals, frames,
//! and the document.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use weir_fleet::{AgentProcess, AgentSettings, BusAccess};
use weir_result::document::Input;
use weir_result::{Document, Interval, Note, Part, Plan};
use weir_runner::{
    Error, Finished, Frame, HeldLoad, Interrupts, LocalRunner, Observer, Phase, PreparedRun,
    RawOutput, RunSpec, Runner, StartGate,
};

use crate::rig::monotonic_ns;

/// The measurements of a part of a load, and the times at which its progress came.
pub(super) struct Recording {
    document: Document,
    /// In order of time, each with its time after the begin of the load.
    progress: Vec<(Duration, Progress)>,
}

/// A piece of progress, as an agent sends it.
enum Progress {
    Frame(Box<Frame>),
    Interval(Box<Interval>),
}

/// Keeps the progress of a run. Its clock begins with the load.
#[derive(Default)]
struct Recorder {
    pieces: Vec<(Instant, Progress)>,
    begun: Option<Instant>,
}

impl Observer for Recorder {
    fn is_live(&self) -> bool {
        true
    }

    fn interval(&mut self, _: &Plan, interval: &Interval) {
        self.pieces.push((Instant::now(), Progress::Interval(Box::new(interval.clone()))));
    }

    fn frame(&mut self, _: &Plan, frame: &Frame) {
        let now = Instant::now();
        if let (None, Some(at_ns)) = (self.begun, frame.at_ns.and_then(|at| u64::try_from(at).ok()))
        {
            self.begun = now.checked_sub(Duration::from_nanos(at_ns));
        }
        self.pieces.push((now, Progress::Frame(Box::new(frame.clone()))));
    }
}

impl Recording {
    /// Carries out a part of a run on this machine.
    pub(super) fn of(spec: &RunSpec) -> Result<Recording> {
        let mut recorder = Recorder::default();
        let finished = LocalRunner::default().run(spec, &mut recorder)?;
        let begun = recorder.begun.context("the load showed nothing")?;
        let of_load =
            |(at, piece): (Instant, Progress)| Some((at.checked_duration_since(begun)?, piece));
        let progress = recorder.pieces.into_iter().filter_map(of_load).collect();
        Ok(Recording { document: finished.document, progress })
    }

    /// Returns what another part of the load would have measured.
    fn document_of(&self, part: Part) -> Document {
        let mut document = self.document.clone();
        document.plan.part = Some(part);
        document
    }
}

/// Agents in threads of this program, which end with this value. Each names a clock of its own, so
/// that the coordinator must find out how its clock differs.
pub(super) struct SimulatedAgents {
    is_over: Arc<AtomicBool>,
    /// Pieces of progress that they have delivered.
    delivered: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl SimulatedAgents {
    /// Connects this many to the bus.
    pub(super) fn start(
        count: u32,
        bus: &str,
        version: &str,
        recording: Recording,
    ) -> Result<SimulatedAgents> {
        let recording = Arc::new(recording);
        let is_over = Arc::new(AtomicBool::new(false));
        let delivered = Arc::new(AtomicU64::new(0));
        let threads = Vec::new();
        let mut agents = SimulatedAgents {
            is_over: Arc::clone(&is_over),
            delivered: Arc::clone(&delivered),
            threads,
        };
        for number in 1..=count {
            let name = format!("sim-{number}");
            let of_agent = SimulatedLoad {
                recording: Arc::clone(&recording),
                delivered: Arc::clone(&delivered),
            };
            let agent = AgentProcess::start(AgentSettings {
                clock: name.clone(),
                name,
                bus: BusAccess { address: bus.to_owned(), identity: None },
                version: version.to_owned(),
                cpus: 1,
                may_write_rows: false,
                is_once: false,
                runner: Arc::new(move |gate| {
                    Box::new(SimulatedRunner { load: of_agent.clone(), gate })
                }),
            })?;
            let is_over = Arc::clone(&is_over);
            let serve = move || {
                let _yielded =
                    agent.serve(|| is_over.load(Ordering::Relaxed).then(|| "SIGTERM".to_owned()));
            };
            let thread = thread::Builder::new().name(format!("sim-{number}")).spawn(serve);
            agents.threads.push(thread.context("failed to start a thread")?);
        }
        Ok(agents)
    }

    /// Returns the number of intervals and frames that all have delivered.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }
}

impl Drop for SimulatedAgents {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // One that has panicked has shown it.
        self.threads.drain(..).for_each(|thread| thread.join().unwrap_or_default());
    }
}

/// The load of all agents.
#[derive(Clone)]
struct SimulatedLoad {
    recording: Arc<Recording>,
    delivered: Arc<AtomicU64>,
}

struct SimulatedRunner {
    load: SimulatedLoad,
    gate: StartGate,
}

impl Runner for SimulatedRunner {
    fn prepare(&self, spec: &RunSpec, _: &mut dyn Observer) -> Result<Box<dyn PreparedRun>, Error> {
        let document = self.load.recording.document_of(spec.part.context("it has no part")?);
        let load = self.load.clone();
        let gate = self.gate.clone();
        Ok(Box::new(SimulatedRun { load, document, gate }))
    }

    fn idle_latency(&self, _: &RunSpec, _: &Interrupts) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}

struct SimulatedRun {
    load: SimulatedLoad,
    document: Document,
    gate: StartGate,
}

impl PreparedRun for SimulatedRun {
    fn plan(&self) -> &Plan {
        &self.document.plan
    }

    fn inputs(&self) -> &[Input] {
        &self.document.run.inputs
    }

    fn plan_sha256(&self) -> String {
        self.document.run.plan_sha256.clone().unwrap_or_default()
    }

    fn add_note(&mut self, note: Note) {
        self.document.notes.push(note);
    }

    fn run(
        self: Box<Self>,
        interrupts: &Interrupts,
        _: Option<&mut RawOutput>,
        observer: &mut dyn Observer,
    ) -> Result<Finished, Error> {
        observer.phase(Phase::Load, &self.document.plan);
        let held = Arc::new(HeldRecording::default());
        self.gate.hold(held.clone());
        let begin = held.begin(interrupts)?;
        for (after, progress) in &self.load.recording.progress {
            thread::sleep((begin + *after).saturating_duration_since(Instant::now()));
            self.load.delivered.fetch_add(1, Ordering::Relaxed);
            match progress {
                Progress::Frame(frame) => observer.frame(&self.document.plan, frame),
                Progress::Interval(interval) => observer.interval(&self.document.plan, interval),
            }
        }
        Ok(Finished::of(self.document, interrupts))
    }
}

/// A load that begins when its gate opens.
#[derive(Debug, Default)]
struct HeldRecording {
    begins_ns: Mutex<Option<u64>>,
    is_set: Condvar,
}

impl HeldRecording {
    /// Waits until the begin is known, and returns it.
    fn begin(&self, interrupts: &Interrupts) -> Result<Instant> {
        let mut begins_ns = self.begins_ns.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(at_ns) = *begins_ns {
                let ahead_ns = at_ns.saturating_sub(monotonic_ns()?);
                return Ok(Instant::now() + Duration::from_nanos(ahead_ns));
            }
            anyhow::ensure!(interrupts.received().is_none(), "a signal came before the load");
            let waited = self.is_set.wait_timeout(begins_ns, Duration::from_millis(100));
            begins_ns = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl HeldLoad for HeldRecording {
    fn awaits_start(&self) -> bool {
        self.begins_ns.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn begin_at(&self, monotonic_ns: u64) {
        let mut begins_ns = self.begins_ns.lock().unwrap_or_else(PoisonError::into_inner);
        begins_ns.get_or_insert(monotonic_ns);
        self.is_set.notify_all();
    }
}
