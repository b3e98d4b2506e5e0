//! The runner of a fleet: it carries out a run on several agents, and merges what they measured.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use weir_machine::sys;
use weir_result::document::Input;
use weir_result::{Document, Note, Plan};
use weir_runner::{
    AbortWatch, Error, Finished, Interrupted, Interrupts, LocalRunner, MachineAccess, NotStarted,
    Observer, Phase, PreparedRun, RawOutput, RunSpec, Runner, WatchSpec, WatchedServer, sha256,
};
use weir_text::setting::{CONNECTIONS, THREADS};
use weir_verdict::AbortCondition;

use crate::bus::{Bus, BusEvent, BusMessage};
use crate::coordinator::{Coordinator, CoordinatorAction, OnLoss, Settings};
use crate::delivered::Delivered;
use crate::envelope::{FROM_AGENTS, is_progress, opened, sealed, to_agent};
use crate::identity::BusAccess;
use crate::limits::{WatchPlace, check_spec};
use crate::live::{AgentProgress, FleetProgress};
use crate::machine::{clock_name, incarnation};
use crate::member::MemberResult;
use crate::merging::{FleetClock, merged};
use crate::message::{AgentFacts, RunId, RunWork, Sender, ToAgent};
use crate::order::OrderSigner;
use crate::record::{BEGIN, BeginRecord, keep_aside};
use crate::weights::AgentWeights;

/// Longest time between two looks at the clock.
const TURN: Duration = Duration::from_millis(10);

/// Most messages that are heard between two looks at what is due.
const TURN_MESSAGES: usize = 200;

/// Age from which progress is not shown any more, in nanoseconds.
const STALE_NS: u64 = 1_000_000_000;

/// Longest time until all agents are ready, once they are there, and greatest bound of a clock at
/// the start.
const PREPARE_NS: u64 = 60_000_000_000;
const CLOCK_BOUND_NS: u64 = 5_000_000;

/// The message about a bus that is away.
const BUS_AWAY: &str = "the bus is not reached any more: a load goes on until its lease of 10 s \
                        ends, and the run is over after 20 s, or 10 s before its load; Ctrl-C \
                        reports what is there";

/// Longest load of which the end is unknown: a number of requests.
const LONGEST_NS: u64 = 24 * 3_600_000_000_000;

/// The facts of a fleet.
#[derive(Clone, Debug)]
pub struct FleetSettings {
    /// The bus.
    pub bus: BusAccess,
    /// Number of agents of each run.
    pub agents: u32,
    /// Longest time until they are there, in nanoseconds.
    pub gather_ns: u64,
    /// Consequence of the loss of an agent during the load.
    pub on_loss: OnLoss,
    /// File to which each agent writes the rows of its requests, on its machine and with its name.
    pub rows: Option<PathBuf>,
    /// Machines on which the server is watched.
    pub watched_by: WatchPlace,
    /// Shares of the agents.
    pub weights: AgentWeights,
    /// Version of weir, which all agents must have.
    pub version: String,
    /// Plans the runs.
    pub local: LocalRunner,
}

/// Carries out runs on agents.
#[derive(Debug)]
pub struct FleetRunner {
    settings: FleetSettings,
    link: Rc<BusLink>,
}

/// The connection with the agents.
#[derive(Debug)]
struct BusLink {
    bus: Arc<Bus>,
    messages: Receiver<BusMessage>,
    /// Signs the orders; none on a bus without identities.
    signer: Option<OrderSigner>,
}

impl FleetRunner {
    /// Connects to the bus.
    ///
    /// # Errors
    /// When it cannot be reached, or the identity has no key that signs orders.
    pub fn connect(settings: FleetSettings) -> Result<FleetRunner> {
        let signer = settings.bus.identity.as_ref().map(OrderSigner::read).transpose()?;
        let (bus, messages) = Bus::connect(&settings.bus, "coordinator", &FROM_AGENTS)?;
        let link = Rc::new(BusLink { bus: Arc::new(bus), messages, signer });
        Ok(FleetRunner { settings, link })
    }

    /// Returns the runner that plans for the agents.
    fn planner(&self, agents: &[(String, AgentFacts)]) -> LocalRunner {
        let access = MachineAccess::ByAgents { are_here: are_here(agents) };
        LocalRunner { access, ..self.settings.local.clone() }
    }

    /// Waits for the agents of a run.
    fn gather(&self) -> Result<Gathered> {
        let settings = &self.settings;
        let run = format!("{:016x}", incarnation());
        let mut coordinator = Coordinator::new(
            sys::monotonic_ns(),
            Settings {
                run: run.clone(),
                version: settings.version.clone(),
                clock: clock_name(),
                agents: settings.agents,
                gather_ns: settings.gather_ns,
                prepare_ns: PREPARE_NS,
                clock_bound_ns: CLOCK_BOUND_NS,
                on_loss: settings.on_loss,
                weights: settings.weights.clone(),
            },
        );
        loop {
            match self.link.turn(&mut coordinator, &mut |_| ())? {
                Some(RunOutcome::NotStarted(reasons)) => {
                    return Err(NotStarted { reasons, probing_agent: None }.into());
                }
                Some(RunOutcome::Finished(_)) => bail!("the run was over before it began"),
                None => {}
            }
            if let Some(agents) = coordinator.gathered() {
                let hello = |(agent, hello): (&str, &AgentFacts)| (agent.to_owned(), hello.clone());
                let hellos = agents.into_iter().map(hello).collect();
                return Ok(Gathered { run, coordinator, hellos });
            }
        }
    }
}

/// A run whose agents are there.
struct Gathered {
    run: RunId,
    coordinator: Coordinator,
    hellos: Vec<(String, AgentFacts)>,
}

/// A thing that a run tells its user.
enum FleetNews {
    Progress(String, AgentProgress),
    /// An agent has ended its part, or is lost.
    Gone(String),
    /// The bus has been away for a while.
    BusAway,
}

/// The end of a coordinator's work.
enum RunOutcome {
    NotStarted(Vec<String>),
    Finished(Vec<MemberResult>),
}

impl BusLink {
    /// Hands a message to the coordinator, if one came within a turn, and does what is due.
    fn turn(
        &self,
        coordinator: &mut Coordinator,
        on_news: &mut dyn FnMut(FleetNews),
    ) -> Result<Option<RunOutcome>> {
        match self.messages.recv_timeout(TURN) {
            Ok(message) => {
                // Most that have come: each is late already. But many agents can send as fast as
                // they are heard, and leases must be renewed meanwhile.
                let others = self.messages.try_iter().take(TURN_MESSAGES);
                for message in [message].into_iter().chain(others) {
                    receive(coordinator, on_news, message);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => bail!("the connection to the bus has ended"),
        }
        let mut outcome = None;
        for action in coordinator.tick(sys::monotonic_ns()) {
            match action {
                CoordinatorAction::Send(to, message) => {
                    // Many messages take a while, which is none of a probe's way.
                    let message = self.signed(&to, message.sent_at(sys::monotonic_ns()))?;
                    self.bus.send(to_agent(&to.agent), sealed(to.incarnation, message));
                }
                CoordinatorAction::WarnAway => on_news(FleetNews::BusAway),
                CoordinatorAction::NotStarted(reasons) => {
                    outcome = Some(RunOutcome::NotStarted(reasons));
                }
                CoordinatorAction::Finished(members) => {
                    outcome = Some(RunOutcome::Finished(members))
                }
            }
        }
        Ok(outcome)
    }

    /// Returns what the agents of a run have delivered, as one document, and removes the run from
    /// the bus.
    fn collected(
        &self,
        run: &str,
        members: &[MemberResult],
        clock: FleetClock,
        interrupts: &Interrupts,
    ) -> Result<Document> {
        let is_begun = sys::monotonic_ns() > clock.begins_ns;
        let agents = members.iter().map(|member| (&member.agent, member.part));
        let merged = merged(Delivered::of(&self.bus, run, agents), members, clock);
        // The messages there have been read: a second reader would find no more.
        self.bus.remove_run(run);
        match interrupts.received() {
            Some(signal) if merged.is_err() && !is_begun => Err(Interrupted(signal).into()),
            _ => merged,
        }
    }

    /// Signs a message that is an order.
    fn signed(&self, to: &Sender, message: ToAgent) -> Result<ToAgent> {
        match (message, &self.signer) {
            (ToAgent::Prepare(order), Some(signer)) => {
                let now_s = sys::realtime_ns() / 1_000_000_000;
                Ok(ToAgent::Prepare(signer.sign(to, order, now_s)?))
            }
            (message, _) => Ok(message),
        }
    }
}

/// Hands a message to the coordinator, or the progress that it tells to `on_news`.
fn receive(
    coordinator: &mut Coordinator,
    on_news: &mut dyn FnMut(FleetNews),
    BusMessage { at_ns, event, .. }: BusMessage,
) {
    match event {
        BusEvent::Away => coordinator.bus_lost(at_ns),
        BusEvent::Back => coordinator.bus_back(at_ns),
        BusEvent::Received { subject, payload } if is_progress(&subject) => {
            let is_stale = sys::monotonic_ns().saturating_sub(at_ns) > STALE_NS;
            if is_stale {
                return;
            }
            let Some((Sender { agent, .. }, value)) = opened(&subject, &payload) else { return };
            if let Some(progress) = AgentProgress::of(value, coordinator.agents()) {
                on_news(FleetNews::Progress(agent, progress));
            }
        }
        BusEvent::Received { subject, payload } => {
            if let Some((sender, message)) = opened(&subject, &payload) {
                coordinator.receive(at_ns, sender, message);
            }
        }
    }
}

impl Runner for FleetRunner {
    fn prepare(
        &self,
        spec: &RunSpec,
        observer: &mut dyn Observer,
    ) -> Result<Box<dyn PreparedRun>, Error> {
        check_spec(spec, self.settings.watched_by)?;
        let gathered = self.gather()?;
        let planner = self.planner(&gathered.hellos);
        let mut spec = planned_for(spec, &gathered, &planner, observer)?;
        let local = planner.prepare(&spec, observer)?;
        // The conditions are of the sum of all agents.
        let parsed = std::mem::take(&mut spec.load.abort);
        let parsed = parsed.iter().map(|text| text.parse::<AbortCondition>());
        let conditions = parsed.collect::<Result<_, _>>().context("the conditions")?;
        // Agents get no page, command or file that they do not read.
        let watched = match self.settings.watched_by {
            WatchPlace::Agents => None,
            WatchPlace::Coordinator => {
                let watched = spec.clone();
                let notes = std::mem::take(&mut spec.watch.notes);
                spec.watch = WatchSpec { notes, ..WatchSpec::default() };
                Some(watched)
            }
        };
        let link = Rc::clone(&self.link);
        let notes = Vec::new();
        let rows = self.settings.rows.clone();
        let abort = AbortWatch::new(conditions, local.plan());
        Ok(Box::new(FleetRun { link, gathered, spec, rows, watched, local, abort, notes }))
    }

    fn idle_latency(&self, spec: &RunSpec, interrupts: &Interrupts) -> Result<Option<u64>, Error> {
        self.settings.local.idle_latency(spec, interrupts)
    }
}

/// Returns the specification for these agents, with all that would depend on one machine: its files
/// and its number of threads.
fn planned_for(
    spec: &RunSpec,
    Gathered { hellos, coordinator, .. }: &Gathered,
    local: &LocalRunner,
    observer: &mut dyn Observer,
) -> Result<RunSpec> {
    let mut spec = spec.clone();
    spec.read_files()?;
    // It was drawn here, and is the same on all machines.
    spec.is_seed_drawn = false;
    // One thread of each agent, or as many as its weight; and each thread has a connection.
    let agents = hellos.len();
    let needed = coordinator.threads_min();
    let connections = spec.load.connections.count();
    if connections < needed {
        bail!(
            "{CONNECTIONS} {connections} for {agents} agents: their shares need {needed}; use \
             {CONNECTIONS} {needed}"
        );
    }
    if let Some(threads) = spec.engine.threads.filter(|threads| *threads < needed) {
        bail!(
            "{THREADS} {threads} for {agents} agents: their shares need {needed}; use {THREADS} \
             {needed}"
        );
    }
    if spec.engine.threads.is_none() {
        let threads = match are_here(hellos) {
            true => local.prepare(&spec, observer)?.plan().threads,
            false => cpus_of(hellos),
        };
        // Whole turns: then the shares are exact.
        spec.engine.threads = Some((threads.min(connections) / needed).max(1) * needed);
    }
    Ok(spec)
}

/// True if all agents are on this machine, whose clock they have.
fn are_here(agents: &[(String, AgentFacts)]) -> bool {
    let own_clock = clock_name();
    agents.iter().all(|(_, agent)| agent.clock == own_clock)
}

/// Number of CPUs of all machines. Agents with one clock are on one machine.
fn cpus_of(hellos: &[(String, AgentFacts)]) -> u32 {
    let mut machines: Vec<(&str, u32)> =
        hellos.iter().map(|(_, hello)| (hello.clock.as_str(), hello.cpus)).collect();
    machines.sort_unstable();
    machines.dedup_by_key(|(clock, _)| *clock);
    machines.into_iter().map(|(_, cpus)| cpus).fold(0, u32::saturating_add)
}

/// A run of a fleet that is planned and not yet carried out.
struct FleetRun {
    link: Rc<BusLink>,
    gathered: Gathered,
    /// The run of the agents.
    spec: RunSpec,
    rows: Option<PathBuf>,
    /// The run with what this machine watches of the server.
    watched: Option<RunSpec>,
    /// The whole run as this machine would carry it out.
    local: Box<dyn PreparedRun>,
    /// The conditions that end the load of all agents.
    abort: AbortWatch,
    notes: Vec<Note>,
}

impl PreparedRun for FleetRun {
    fn plan(&self) -> &Plan {
        self.local.plan()
    }

    fn first_requests(&self) -> Vec<String> {
        self.local.first_requests()
    }

    fn inputs(&self) -> &[Input] {
        self.local.inputs()
    }

    fn plan_sha256(&self) -> String {
        self.local.plan_sha256()
    }

    fn add_note(&mut self, note: Note) {
        self.notes.push(note);
    }

    fn run(
        self: Box<Self>,
        interrupts: &Interrupts,
        raw: Option<&mut RawOutput>,
        observer: &mut dyn Observer,
    ) -> Result<Finished, Error> {
        if raw.is_some() {
            let text = "agents write no rows of the trials of a study: run it without agents";
            return Err(anyhow!(text).into());
        }
        let FleetRun { link, gathered, spec, rows, watched, local, mut abort, mut notes } = *self;
        let Gathered { run, coordinator, hellos } = gathered;
        let specification = serde_json::to_vec(&spec).context("the specification")?;
        // Before the run has a place on the bus, which would stay after an error.
        let watched = watched.map(|spec| WatchedServer::start(&spec, interrupts, observer));
        let watched = watched.transpose()?.flatten();
        notes.extend(watched.iter().flat_map(|server| server.notes().to_vec()));
        let agents: Vec<&str> = hellos.iter().map(|(agent, _)| agent.as_str()).collect();
        let opened = link.bus.open_run(&run, &agents);
        let offered = opened.and_then(|()| link.bus.offer(&run, &agents, &specification));
        if offered.is_err() {
            link.bus.remove_run(&run);
        }
        let _offer = offered?;
        interrupts.begin_wait();
        observer.phase(Phase::Load, local.plan());
        let mut progress = FleetProgress::of(agents.iter().copied());
        let is_aborted = Cell::new(false);
        let mut on_news = |news: FleetNews| {
            let whole = match news {
                FleetNews::Progress(agent, news) if news.run == run => {
                    progress.receive(&agent, news.news, local.plan(), observer)
                }
                FleetNews::Progress(..) => Vec::new(),
                FleetNews::Gone(agent) => progress.gone(&agent, local.plan(), observer),
                FleetNews::BusAway => {
                    observer.warning(&Note::new("bus_away", BUS_AWAY));
                    Vec::new()
                }
            };
            let ends = whole.iter().any(|interval| abort.ends_with(interval));
            is_aborted.set(is_aborted.get() || ends);
        };
        let load_ns = longest_ns(local.plan());
        let is_aborted = &is_aborted;
        let course = RunCourse { link: &link, run: &run, load_ns, coordinator, is_aborted };
        let work = RunWork { specification: sha256(&specification), rows };
        let completed = course.complete(work, interrupts, &mut on_news);
        if completed.is_err() {
            // There is nothing to report.
            link.bus.remove_run(&run);
        }
        let (members, clock) = completed?;
        observer.load_ended();
        let mut document =
            link.collected(&run, &members, clock, interrupts).with_context(|| {
                format!("run {run}: {} responses were heard of", progress.completed())
            })?;
        document.notes.extend(notes);
        document.plan.load.abort.clone_from(&local.plan().load.abort);
        // A window that was complete by then was not ended by the condition.
        document.run.aborted = abort.aborted.filter(|_| document.run.interrupted);
        if let Some(server) = watched {
            document.server =
                server.finish(&document, clock.begins_ns + local.plan().load.warmup.span_ns);
        }
        // It depends on both.
        document.verdict = weir_verdict::verdict(&document);
        Ok(Finished::of(document, interrupts))
    }
}

/// The course of a run from the preparation of its agents on.
struct RunCourse<'a> {
    link: &'a BusLink,
    run: &'a str,
    /// Longest time from the start of the load to its end.
    load_ns: u64,
    coordinator: Coordinator,
    /// True once a condition ends the load.
    is_aborted: &'a Cell<bool>,
}

impl RunCourse<'_> {
    /// Goes on until the run is over, and returns how its agents ended, and the clock with the
    /// start of its load. A signal ends it in order.
    fn complete(
        mut self,
        work: RunWork,
        interrupts: &Interrupts,
        on_news: &mut dyn FnMut(FleetNews),
    ) -> Result<(Vec<MemberResult>, FleetClock)> {
        self.coordinator.begin_preparing(sys::monotonic_ns(), self.load_ns, work);
        let mut is_interrupted = false;
        let mut clock = None;
        let mut gone = BTreeSet::new();
        loop {
            for agent in self.coordinator.gone() {
                if gone.insert(agent.to_owned()) {
                    on_news(FleetNews::Gone(agent.to_owned()));
                }
            }
            if !is_interrupted && (interrupts.received().is_some() || self.is_aborted.get()) {
                is_interrupted = true;
                self.coordinator.interrupt(sys::monotonic_ns());
            }
            if clock.is_none() {
                clock = self.agreed();
            }
            match (self.link.turn(&mut self.coordinator, on_news)?, clock) {
                (Some(RunOutcome::Finished(members)), Some(clock)) => return Ok((members, clock)),
                (Some(RunOutcome::NotStarted(reasons)), _) => {
                    let signal = interrupts.received();
                    return Err(match signal {
                        Some(signal) => Interrupted(signal).into(),
                        None => NotStarted { reasons, probing_agent: self.probing_agent() }.into(),
                    });
                }
                (Some(RunOutcome::Finished(_)), None) => bail!("the run was over before it began"),
                (None, _) => {}
            }
        }
    }

    /// Returns the agent that may have sent requests before the load.
    fn probing_agent(&self) -> Option<String> {
        self.coordinator.probing_agent().map(str::to_owned)
    }

    /// Returns the clock with the start of the load once all agents have agreed to it, and keeps
    /// the start on the bus: another process can then report the run.
    fn agreed(&self) -> Option<FleetClock> {
        let (begins_ns, agents) = self.coordinator.agreed()?;
        let clock = FleetClock::monotonic(begins_ns);
        let record = BeginRecord { unix_ns: clock.begins_unix_ns(), load_ns: self.load_ns, agents };
        keep_aside(&self.link.bus, Bus::keep, self.run, BEGIN.to_owned(), &record);
        Some(clock)
    }
}

/// Longest time from the start of a load to its end, with the drain.
fn longest_ns(plan: &Plan) -> u64 {
    let window_ns = plan.load.length_ns().unwrap_or(LONGEST_NS);
    [window_ns, plan.drain_limit_ns(), plan.load.timeout_ns]
        .into_iter()
        .fold(plan.load.warmup.span_ns, |sum, ns| sum.saturating_add(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(clock: &str, cpus: u32) -> (String, AgentFacts) {
        let version = "1".to_owned();
        let clock = clock.to_owned();
        (String::new(), AgentFacts { protocol: 1, version, cpus, clock })
    }

    #[test]
    fn a_machine_counts_once() {
        let hellos = [hello("a", 4), hello("b", 8), hello("a", 4)];
        assert_eq!(cpus_of(&hellos), 12);
    }
}
