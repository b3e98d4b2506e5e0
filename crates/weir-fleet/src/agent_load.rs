//! The load of an agent: one part of a run, in a thread of its own.

use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;

use anyhow::{Context, Result, anyhow};
use weir_machine::sys::Signal;
use weir_result::{Document, Interval, Plan};
use weir_runner::{
    Frame, HttpChoice, Interrupts, Observer, Phase, RunSpec, Runner, Silent, StartGate,
};

use crate::agent::LoadEnd;
use crate::agent_log::AgentLog;
use crate::agent_rows::AgentRows;
use crate::agent_runner::RunnerAtGate;
use crate::bus::Bus;
use crate::envelope::{progress_of, result_of, sealed};
use crate::interval_store::IntervalStore;
use crate::limits::{WatchPlace, check_spec};
use crate::live::{AgentNews, AgentProgress};
use crate::message::{Order, RunId, Sender};

/// Where a run takes place: the bus, the run, and the agent.
#[derive(Clone, Debug)]
pub(crate) struct RunPlace {
    pub(crate) bus: Arc<Bus>,
    pub(crate) run: RunId,
    pub(crate) sender: Sender,
    pub(crate) log: AgentLog,
}

/// Reports the progress of a load to the coordinator, and keeps its intervals.
struct Reporter<'p> {
    place: &'p RunPlace,
    /// HTTP version of the load, once it is known.
    http: Arc<OnceLock<HttpChoice>>,
    intervals: Option<IntervalStore>,
}

impl Reporter<'_> {
    fn send(&self, news: AgentNews) {
        let RunPlace { bus, run, sender, .. } = self.place;
        let progress = AgentProgress { run: run.clone(), news };
        bus.send(progress_of(&sender.agent), sealed(sender.incarnation, progress));
    }
}

impl Observer for Reporter<'_> {
    fn phase(&mut self, phase: Phase, plan: &Plan) {
        if phase == Phase::Load {
            let _first = self.http.set(plan.http.map_or(HttpChoice::Auto, HttpChoice::from));
        }
    }

    fn is_live(&self) -> bool {
        true
    }

    fn interval(&mut self, _: &Plan, interval: &Interval) {
        self.intervals.iter().for_each(|store| store.keep(interval));
        self.send(AgentNews::Interval(Box::new(interval.clone())));
    }

    fn frame(&mut self, _: &Plan, frame: &Frame) {
        self.send(AgentNews::Frame(Box::new(frame.clone())));
    }
}

/// A load that is prepared or under way.
#[derive(Debug)]
pub(crate) struct AgentLoad {
    gate: StartGate,
    /// HTTP version, which is known at the gate.
    http: Arc<OnceLock<HttpChoice>>,
    interrupts: Interrupts,
    ended: Receiver<LoadEnd>,
    is_ready: bool,
    /// When the load begins, on the own clock; none before it is known, and after that time.
    begins_ns: Option<u64>,
}

/// A thing that happened to a load.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LoadEvent {
    /// It waits for its start with this HTTP version, or cannot be carried out.
    Prepared(Result<HttpChoice, String>),
    /// It has begun.
    Begun(u64),
    /// It has ended, and its document is kept.
    Ended(LoadEnd),
}

impl AgentLoad {
    /// Prepares a part of a run.
    pub(crate) fn prepare(place: RunPlace, order: Order, runner: RunnerAtGate) -> AgentLoad {
        let gate = StartGate::default();
        let interrupts = Interrupts::default();
        let http = Arc::new(OnceLock::new());
        let its_http = Arc::clone(&http);
        let (sender, ended) = channel();
        let its_gate = gate.clone();
        let its_interrupts = interrupts.clone();
        let carry_out = move || {
            let done = carry_out(&place, &order, its_http, &*runner(its_gate), &its_interrupts);
            let kept = done.and_then(|document| {
                place.log.measured(&place.run, &document);
                let text = serde_json::to_vec(&document)?;
                let name = result_of(&place.sender.agent);
                place.bus.deliver(&place.run, &name, &text).context("the result is lost")?;
                Ok(if document.run.interrupted { LoadEnd::Cut } else { LoadEnd::Whole })
            });
            // An agent that has given the load up listens no more.
            let failed = |error| LoadEnd::Failed(format!("{error:#}"));
            let _unheard = sender.send(kept.unwrap_or_else(failed));
        };
        let started = thread::Builder::new().name("weir-part".to_owned()).spawn(carry_out);
        // Without a thread the sender is gone, which is an end.
        drop(started);
        AgentLoad { gate, http, interrupts, ended, is_ready: false, begins_ns: None }
    }

    /// Begins the load at a time of the own clock.
    pub(crate) fn begin_at(&mut self, at_ns: u64) {
        self.gate.begin_at(at_ns);
        self.begins_ns = Some(at_ns);
    }

    /// Lets it run until a time of the own clock, unless an earlier one has come.
    pub(crate) fn renew_lease(&self, until_ns: u64) {
        self.gate.renew_lease(until_ns);
    }

    /// Ends it as a signal does.
    pub(crate) fn stop(&self) {
        self.interrupts.receive(Signal::Terminate, |_| ());
    }

    /// Returns what has happened since the last call.
    pub(crate) fn poll(&mut self, now_ns: u64) -> Vec<LoadEvent> {
        let mut events = Vec::new();
        if !self.is_ready && self.gate.is_reached() {
            self.is_ready = true;
            let http = self.http.get().copied().unwrap_or_default();
            events.push(LoadEvent::Prepared(Ok(http)));
        }
        events.extend(self.begins_ns.take_if(|at_ns| now_ns >= *at_ns).map(LoadEvent::Begun));
        let end = match self.ended.try_recv() {
            Err(TryRecvError::Empty) => return events,
            Err(TryRecvError::Disconnected) => LoadEnd::Failed("its thread has ended".to_owned()),
            Ok(end) => end,
        };
        events.push(match end {
            end if self.is_ready => LoadEvent::Ended(end),
            LoadEnd::Failed(reason) => LoadEvent::Prepared(Err(reason)),
            _ => LoadEvent::Prepared(Err("no connection could be opened".to_owned())),
        });
        events
    }
}

/// Carries out an order, whose specification the bus keeps.
fn carry_out(
    place: &RunPlace,
    order: &Order,
    http: Arc<OnceLock<HttpChoice>>,
    runner: &dyn Runner,
    interrupts: &Interrupts,
) -> Result<Document> {
    let RunPlace { bus, run, sender, .. } = place;
    let specification = bus.specification(&sender.agent, run, &order.work.specification)?;
    let mut spec = RunSpec::from_json(&specification)?;
    check_spec(&spec, WatchPlace::Agents)?;
    spec.part = Some(order.part);
    // One agent alone runs a preflight, and all have one plan.
    spec.messages.only_given = true;
    if let Some(http) = order.http {
        // One agent looks at the server before the load; all at once would be a load of their own.
        spec.checks.preflight = false;
        spec.http.version = http;
    }
    let prepared = runner.prepare(&spec, &mut Silent)?;
    place.log.planned(&place.run, prepared.plan());
    let intervals = IntervalStore::start(&place.bus, &place.run, &place.sender.agent);
    let mut reporter = Reporter { place, http, intervals };
    let path = order.work.rows.as_ref();
    let begun = path.map(|path| AgentRows::begin(path, &place.sender.agent));
    let mut rows = begun.transpose()?;
    let output = rows.as_mut().map(|rows| &mut rows.output);
    let finished = prepared.run(interrupts, output, &mut reporter);
    let written = rows.map_or(Ok(()), |rows| rows.finish(finished.is_ok()));
    // The failure of the run comes first: the rows have failed with it.
    let finished = finished?;
    written?;
    reporter.intervals.into_iter().for_each(IntervalStore::finish);
    match finished.no_server {
        Some(note) => Err(anyhow!(note.text)),
        None => Ok(finished.document),
    }
}
