//! The coordinator's side of a run.

use std::collections::BTreeMap;

use crate::LEASE_NS;
use crate::clock::ClockEstimate;
use crate::member::{Member, MemberEnd, MemberProgress, MemberResult, SILENCE_NS, probe_every_ns};
use crate::message::{AgentFacts, FromAgent, Order, PROTOCOL, RunId, RunWork, Sender, ToAgent};
use crate::record::AgentRecord;
use crate::run_phase::{RunPhase, Timers};
use crate::weights::AgentWeights;

/// Probes of each clock before the start, and the time between two of one clock during the load, in
/// nanoseconds.
const PROBES_MIN: usize = 64;
const PROBE_RARELY_NS: u64 = 1_000_000_000;

/// Time between two sendings of a message without an answer, in nanoseconds.
const REPEAT_EVERY_NS: u64 = 100_000_000;

/// Time between two renewals of the agents' leases, in nanoseconds.
const ALIVE_EVERY_NS: u64 = 1_000_000_000;

/// Shortest time from the order to the start, the same in round trips, and the time before the
/// start at which every agent must have answered, in nanoseconds.
const LEAD_MIN_NS: u64 = 2_000_000_000;
const LEAD_ROUND_TRIPS: u64 = 20;
const ARMED_BEFORE_NS: u64 = 500_000_000;

/// Time in which the clocks of agents that are ready may still become known well enough, and time
/// between two looks at them, which are work: probes must not wait for it. In nanoseconds.
const CLOCKS_WITHIN_NS: u64 = 10_000_000_000;
const CLOCKS_EVERY_NS: u64 = 200_000_000;

/// Most agents whose reasons a run that does not begin names.
const REASONS_NAMED: usize = 8;

/// Time for which the agents are told that a run does not take place, in nanoseconds.
const GIVING_UP_NS: u64 = 1_000_000_000;

/// Time without a message of an agent's process after which another one of its name has taken its
/// place, in nanoseconds: a process in a run says something four times as often.
const REPLACED_AFTER_NS: u64 = 1_000_000_000;

/// Time without the bus after which a run that has not begun is given up, and after which one whose
/// load has begun is over, in nanoseconds: by then every agent has ended its load by itself, and
/// forgets the run. After a signal the end of a load is awaited for [`SILENCE_NS`] alone.
const BUS_AWAY_BEFORE_NS: u64 = LEASE_NS;
const BUS_AWAY_NS: u64 = 2 * LEASE_NS;

/// Time in which an agent that is told to stop hands over what it measured, in nanoseconds.
const STOPPED_WITHIN_NS: u64 = 30_000_000_000;

/// Most agents that are known at once.
const PRESENT_MAX: usize = 10_000;

/// Consequence of the loss of an agent during the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// The others are stopped.
    Stop,
    /// The others go on with their parts.
    Continue,
}

/// The facts of a run that a coordinator has to know. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name.
    pub run: RunId,
    /// Version of weir, which all agents must have.
    pub version: String,
    /// Name of the coordinator's clock, as in [`AgentFacts`].
    pub clock: String,
    /// Number of agents, at least 1.
    pub agents: u32,
    /// Longest time until all agents are there.
    pub gather_ns: u64,
    /// Longest time from there until all are ready.
    pub prepare_ns: u64,
    /// Greatest bound of an agent's clock at the start.
    pub clock_bound_ns: u64,
    /// Consequence of the loss of an agent.
    pub on_loss: OnLoss,
    /// Shares of the agents.
    pub weights: AgentWeights,
}

impl Settings {
    /// Returns what is known of an agent's clock before the first probe.
    fn estimate(&self, hello: &AgentFacts) -> ClockEstimate {
        match hello.clock == self.clock {
            true => ClockEstimate::same(),
            false => ClockEstimate::default(),
        }
    }
}

/// A thing that a coordinator has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorAction {
    /// Send a message to an agent.
    Send(Sender, ToAgent),
    /// The bus has been away for 3 s: the user should know why nothing happens.
    WarnAway,
    /// The run did not take place, and no load was sent; messages for the user.
    NotStarted(Vec<String>),
    /// The run is over. Members are in the order of their parts.
    Finished(Vec<MemberResult>),
}

/// State of the coordinator of one run. Times are nanoseconds of its CLOCK_MONOTONIC.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    phase: RunPhase,
    present: BTreeMap<String, Present>,
    /// Agents that take part in runs of others, and when each was heard last.
    busy: BTreeMap<String, (RunId, u64)>,
    members: Vec<Member>,
    timers: Timers,
    /// Since when the bus is away; none while it is there.
    away_from_ns: Option<u64>,
    has_warned: bool,
    is_interrupted: bool,
    has_ordered: bool,
    /// Until when the clocks must be known well enough; none before all agents are ready.
    clocks_until_ns: Option<u64>,
    /// Longest time from the start of the load to its end.
    load_ns: u64,
    /// The work of all agents.
    work: RunWork,
}

/// An agent that said hello.
#[derive(Debug)]
struct Present {
    incarnation: u64,
    hello: AgentFacts,
    heard_ns: u64,
}

impl Coordinator {
    /// Begins a run: waits for its agents.
    pub fn new(now_ns: u64, settings: Settings) -> Coordinator {
        Coordinator {
            phase: RunPhase::Gathering { until_ns: now_ns + settings.gather_ns },
            settings,
            present: BTreeMap::new(),
            busy: BTreeMap::new(),
            members: Vec::new(),
            timers: Timers::default(),
            away_from_ns: None,
            has_warned: false,
            is_interrupted: false,
            has_ordered: false,
            clocks_until_ns: None,
            load_ns: 0,
            work: RunWork::default(),
        }
    }

    /// Returns the agents in the order of their parts, once they are chosen.
    pub fn gathered(&self) -> Option<Vec<(&str, &AgentFacts)>> {
        let of = |member: &Member| self.present.get_key_value(&member.sender.agent);
        let hellos = self.members.iter().filter_map(of);
        matches!(self.phase, RunPhase::Gathered)
            .then(|| hellos.map(|(agent, present)| (agent.as_str(), &present.hello)).collect())
    }

    /// Returns the least number of threads of which each agent gets its share; 0 before the agents
    /// are chosen.
    pub(crate) fn threads_min(&self) -> u32 {
        self.members.first().map_or(0, |member| member.part.workers_min())
    }

    /// Goes on with the agents that are [gathered](Self::gathered): the run is planned, with this
    /// work. Its load takes at most `load_ns` from its start to its end, with the drain.
    pub fn begin_preparing(&mut self, now_ns: u64, load_ns: u64, work: RunWork) {
        if matches!(self.phase, RunPhase::Gathered) {
            (self.load_ns, self.work) = (load_ns, work);
            self.members.iter_mut().for_each(|member| member.excuse(now_ns));
            self.phase = RunPhase::Preparing { until_ns: now_ns + self.settings.prepare_ns };
        }
    }

    /// Returns the number of agents that the run needs.
    pub(crate) fn agents(&self) -> usize {
        self.settings.agents as usize
    }

    /// Returns the agents that have ended their part, or are lost.
    pub(crate) fn gone(&self) -> impl Iterator<Item = &str> {
        let gone = self.members.iter().filter(|member| member.is_over());
        gone.map(|member| member.sender.agent.as_str())
    }

    /// Returns the agent that was asked to look at the target before the load, if one was.
    pub(crate) fn probing_agent(&self) -> Option<&str> {
        self.members.first().filter(|_| self.has_ordered).map(|it| it.sender.agent.as_str())
    }

    /// Returns the start of the load on the coordinator's clock, once it is agreed.
    pub fn begins_at_ns(&self) -> Option<u64> {
        match self.phase {
            RunPhase::Loading { at_ns, .. } => Some(at_ns),
            _ => None,
        }
    }

    /// Returns the start of the load on the coordinator's clock, and the agents, once all have
    /// agreed to it.
    pub(crate) fn agreed(&self) -> Option<(u64, Vec<AgentRecord>)> {
        let at_ns = self.begins_at_ns()?;
        let record = |member: &Member| AgentRecord {
            name: member.sender.agent.clone(),
            part: member.part,
            clock_error_ns: member.clock.agent_time(at_ns).map_or(0, |span| span.bound_ns()),
        };
        Some((at_ns, self.members.iter().map(record).collect()))
    }

    /// Handles a message of an agent.
    pub fn receive(&mut self, now_ns: u64, sender: Sender, message: FromAgent) {
        self.note_presence(now_ns, &sender, &message);
        let counts = self.phase.admits(&message);
        let of_name = |member: &&mut Member| member.sender.agent == sender.agent;
        let Some(member) = self.members.iter_mut().find(of_name) else { return };
        if member.sender == sender {
            member.hear(now_ns);
            if counts {
                member.receive(now_ns, &self.settings.run, message);
            }
        } else if let (FromAgent::Hello(hello), true) =
            (message, member.quiet_ns(now_ns) > REPLACED_AFTER_NS)
        {
            // The process that took part is gone, and not just another one of the same name there.
            match self.phase {
                RunPhase::Gathered | RunPhase::Preparing { .. } => {
                    let clock = self.settings.estimate(&hello);
                    *member = Member::new(sender, member.part, clock, now_ns);
                }
                _ => {
                    let heard_ns = member.heard_ns;
                    member.advance(MemberProgress::Over(MemberEnd::Restarted { heard_ns }));
                }
            }
        }
    }

    /// Notes who is there, and who takes part in another run.
    fn note_presence(&mut self, now_ns: u64, sender: &Sender, message: &FromAgent) {
        let Sender { agent, incarnation } = sender;
        let is_known = self.present.contains_key(agent) || self.busy.contains_key(agent);
        if !is_known && self.present.len() + self.busy.len() >= PRESENT_MAX {
            return;
        }
        if let FromAgent::Hello(hello) = message {
            let incarnation = *incarnation;
            let hello = hello.clone();
            self.busy.remove(agent);
            self.present.insert(agent.clone(), Present { incarnation, hello, heard_ns: now_ns });
        }
        if let Some(other) = message.run().filter(|run| **run != self.settings.run) {
            self.busy.insert(agent.clone(), (other.clone(), now_ns));
        }
    }

    /// Notes that the bus cannot be reached. For a while no agent is given up: none could be heard.
    pub fn bus_lost(&mut self, now_ns: u64) {
        self.away_from_ns.get_or_insert(now_ns);
    }

    /// Notes that the bus can be reached again.
    pub fn bus_back(&mut self, now_ns: u64) {
        (self.away_from_ns, self.has_warned) = (None, false);
        self.members.iter_mut().for_each(|member| member.excuse(now_ns));
    }

    /// Ends the run because of a signal.
    pub fn interrupt(&mut self, now_ns: u64) {
        self.is_interrupted = true;
        match &mut self.phase {
            RunPhase::Loading { stopping_from_ns, .. } => {
                stopping_from_ns.get_or_insert(now_ns);
            }
            RunPhase::GivingUp { .. } | RunPhase::Over => {}
            _ => self.give_up(now_ns, vec!["interrupted before the load".to_owned()]),
        }
    }

    /// Does what is due. To be called at least thirty times a second.
    pub fn tick(&mut self, now_ns: u64) -> Vec<CoordinatorAction> {
        if let Some(from_ns) = self.away_from_ns {
            return self.await_bus(now_ns, from_ns);
        }
        match self.phase {
            RunPhase::Gathering { until_ns } => self.gather(now_ns, until_ns),
            RunPhase::Preparing { until_ns } => self.prepare(now_ns, until_ns),
            RunPhase::Arming { at_ns } => self.arm(now_ns, at_ns),
            RunPhase::Loading { at_ns, .. } => self.watch(now_ns, at_ns),
            RunPhase::Gathered | RunPhase::GivingUp { .. } | RunPhase::Over => {}
        }
        self.messages(now_ns)
    }

    /// Waits for the bus, and ends the run with what is known once it has been away for too long.
    fn await_bus(&mut self, now_ns: u64, from_ns: u64) -> Vec<CoordinatorAction> {
        let away_ns = now_ns.saturating_sub(from_ns);
        let is_loading = matches!(self.phase, RunPhase::Loading { .. });
        let is_over = matches!(self.phase, RunPhase::Over);
        let limit_ns = match (is_loading, self.is_interrupted) {
            (_, true) => SILENCE_NS,
            (true, false) => BUS_AWAY_NS,
            (false, false) => BUS_AWAY_BEFORE_NS,
        };
        let mut actions = Vec::new();
        if away_ns > SILENCE_NS && !self.has_warned && !is_over {
            self.has_warned = true;
            actions.push(CoordinatorAction::WarnAway);
        }
        if away_ns <= limit_ns || is_over {
            return actions;
        }
        if !is_loading && !matches!(self.phase, RunPhase::GivingUp { .. }) {
            let away_s = away_ns / 1_000_000_000;
            self.give_up(now_ns, vec![format!("the bus has not been reached for {away_s} s")]);
        }
        for member in &mut self.members {
            let heard_ns = member.heard_ns;
            member.advance(MemberProgress::Over(MemberEnd::Lost { heard_ns }));
        }
        actions.push(self.end());
        actions
    }

    /// Chooses the agents once enough are there.
    fn gather(&mut self, now_ns: u64, until_ns: u64) {
        self.present.retain(|_, present| now_ns.saturating_sub(present.heard_ns) <= SILENCE_NS);
        let version = &self.settings.version;
        let run_agents = self.settings.agents as usize;
        let fits = |hello: &AgentFacts| hello.protocol == PROTOCOL && hello.version == *version;
        let usable = |(_, present): &(&String, &Present)| fits(&present.hello);
        let chosen: Vec<_> = self.present.iter().filter(usable).take(run_agents).collect();
        if chosen.len() == run_agents {
            let of_agent = |(agent, present): &(&String, &Present)| {
                let sender = Sender { agent: (*agent).clone(), incarnation: present.incarnation };
                (sender, present.hello.clone())
            };
            let chosen = chosen.iter().map(of_agent).collect();
            self.choose(now_ns, chosen);
        } else if now_ns >= until_ns {
            let names: Vec<&str> = chosen.iter().map(|(agent, _)| agent.as_str()).collect();
            let there = match names.is_empty() {
                true => String::new(),
                false => format!(" ({})", names.join(", ")),
            };
            let text = format!("{} of {run_agents} agents are there{there}", names.len());
            let unfit = self.present.iter().filter(|(_, present)| !fits(&present.hello));
            let unfit = unfit.map(|(agent, present)| {
                let AgentFacts { version: other, protocol, .. } = &present.hello;
                format!(
                    "agent {agent} is weir {other} and speaks version {protocol} of the protocol; \
                     this is weir {version}, version {PROTOCOL}"
                )
            });
            let is_recent = |heard_ns: u64| now_ns.saturating_sub(heard_ns) <= SILENCE_NS;
            let busy = self.busy.iter().filter(|(_, (_, heard_ns))| is_recent(*heard_ns));
            let busy =
                busy.map(|(agent, (run, _))| format!("agent {agent} takes part in run {run}"));
            let reasons = [text].into_iter().chain(unfit).chain(busy).collect();
            self.give_up(now_ns, reasons);
        }
    }

    /// Divides the run among agents.
    fn choose(&mut self, now_ns: u64, chosen: Vec<(Sender, AgentFacts)>) {
        let named: Vec<(&str, u32)> =
            chosen.iter().map(|(sender, hello)| (sender.agent.as_str(), hello.cpus)).collect();
        match self.settings.weights.parts(&named) {
            Ok(parts) => {
                let members = chosen.into_iter().zip(parts).map(|((sender, hello), part)| {
                    Member::new(sender, part, self.settings.estimate(&hello), now_ns)
                });
                self.members = members.collect();
                self.phase = RunPhase::Gathered;
            }
            Err(reason) => self.give_up(now_ns, vec![reason]),
        }
    }

    /// Goes on once all agents are ready and their clocks known.
    fn prepare(&mut self, now_ns: u64, until_ns: u64) {
        let mut reasons = self.refusals(now_ns);
        let is_known =
            |member: &Member| member.clock.is_same() || member.clock.count() >= PROBES_MIN;
        let is_ready =
            |member: &Member| member.progress == MemberProgress::Ready && is_known(member);
        if !reasons.is_empty() {
            self.give_up(now_ns, reasons);
        } else if self.members.iter().all(is_ready) {
            if !Timers::is_due(&mut self.timers.clocks_ns, now_ns, CLOCKS_EVERY_NS) {
                return;
            }
            let trips = self.members.iter().filter_map(|member| member.clock.round_trip_min_ns());
            let lead_ns = LEAD_MIN_NS.max(LEAD_ROUND_TRIPS * trips.max().unwrap_or(0));
            let at_ns = now_ns + lead_ns;
            reasons.extend(self.members.iter().filter_map(|member| self.unclear(member, at_ns)));
            // On a busy machine a further probe may be the first that is fast on both ways.
            let until_ns = *self.clocks_until_ns.get_or_insert(now_ns + CLOCKS_WITHIN_NS);
            match reasons.is_empty() {
                true => self.phase = RunPhase::Arming { at_ns },
                false if now_ns >= until_ns => self.give_up(now_ns, reasons),
                false => {}
            }
        } else if now_ns >= until_ns {
            let late = self.members.iter().filter(|member| !is_ready(member));
            let reasons = late.map(|member| format!("agent {} is not ready", member.sender.agent));
            let reasons = reasons.collect();
            self.give_up(now_ns, reasons);
        }
    }

    /// Returns why an agent's clock cannot be used for a start.
    fn unclear(&self, member: &Member, at_ns: u64) -> Option<String> {
        let agent = &member.sender.agent;
        let Some(span) = member.clock.agent_time(at_ns) else {
            return Some(format!("the clock of agent {agent} does not run evenly"));
        };
        let bound = span.bound_ns();
        let most = self.settings.clock_bound_ns;
        (bound > most).then(|| {
            format!(
                "the clock of agent {agent} is known to ±{} µs, and ±{} µs are needed",
                bound / 1_000,
                most / 1_000
            )
        })
    }

    /// Goes on once all agents have answered. From then on each of them may have begun.
    fn arm(&mut self, now_ns: u64, at_ns: u64) {
        let mut reasons = self.refusals(now_ns);
        if !reasons.is_empty() {
            self.give_up(now_ns, reasons);
        } else if self.members.iter().all(|member| member.progress == MemberProgress::Armed) {
            self.members.iter_mut().for_each(|member| member.advance(MemberProgress::Loading));
            self.phase = RunPhase::Loading { at_ns, stopping_from_ns: None };
        } else if now_ns + ARMED_BEFORE_NS >= at_ns {
            let late =
                self.members.iter().filter(|member| member.progress != MemberProgress::Armed);
            let text = |member: &Member| {
                format!("agent {} did not confirm the start in time", member.sender.agent)
            };
            reasons.extend(late.map(text));
            self.give_up(now_ns, reasons);
        }
    }

    /// Returns why agents will not carry out their parts.
    fn refusals(&self, now_ns: u64) -> Vec<String> {
        let refusal = |member: &Member| {
            let agent = &member.sender.agent;
            match &member.progress {
                MemberProgress::Refused(reason) => Some(format!("agent {agent}: {reason}")),
                MemberProgress::Over(MemberEnd::Restarted { .. }) => {
                    Some(format!("agent {agent} was restarted"))
                }
                MemberProgress::Over(_) => Some(format!("agent {agent} gave up")),
                _ if member.quiet_ns(now_ns) > SILENCE_NS => {
                    Some(format!("agent {agent} is not heard"))
                }
                _ => None,
            }
        };
        self.members.iter().filter_map(refusal).collect()
    }

    /// Watches the load.
    fn watch(&mut self, now_ns: u64, at_ns: u64) {
        let last_ns = at_ns.saturating_add(self.load_ns).saturating_add(LEASE_NS);
        let stopping_from_ns = match self.phase {
            RunPhase::Loading { stopping_from_ns, .. } => stopping_from_ns,
            _ => None,
        };
        let is_unheeded =
            stopping_from_ns.is_some_and(|from_ns| now_ns > from_ns + STOPPED_WITHIN_NS);
        for member in &mut self.members {
            // One that is heard, and neither ends nor stops, is given up as well.
            if member.quiet_ns(now_ns) > LEASE_NS || is_unheeded {
                let heard_ns = member.heard_ns;
                member.advance(MemberProgress::Over(MemberEnd::Lost { heard_ns }));
            }
        }
        let is_lost = self.members.iter().any(|member| member.is_over() && !member.is_complete());
        let is_late = now_ns > last_ns;
        let must_stop = is_late || (is_lost && self.settings.on_loss == OnLoss::Stop);
        if let RunPhase::Loading { stopping_from_ns, .. } = &mut self.phase
            && must_stop
        {
            stopping_from_ns.get_or_insert(now_ns);
        }
    }

    fn give_up(&mut self, now_ns: u64, mut reasons: Vec<String>) {
        if let Some(more) = reasons.len().checked_sub(REASONS_NAMED).filter(|more| *more > 0) {
            reasons.truncate(REASONS_NAMED);
            reasons.push(format!("and {more} more agents"));
        }
        self.phase = RunPhase::GivingUp { until_ns: now_ns + GIVING_UP_NS, reasons };
    }

    /// Returns the messages that are due, and the end if the run is over.
    fn messages(&mut self, now_ns: u64) -> Vec<CoordinatorAction> {
        let mut actions = Vec::new();
        let probe_every_ns = match self.phase {
            RunPhase::Loading { .. } => PROBE_RARELY_NS,
            _ => probe_every_ns(self.settings.agents),
        };
        for member in self.members.iter_mut().filter(|member| !member.is_over()) {
            if member.needs_probe(now_ns, probe_every_ns) {
                let probe = ToAgent::Probe { sent_ns: now_ns };
                actions.push(CoordinatorAction::Send(member.sender.clone(), probe));
            }
        }
        let run = self.settings.run.clone();
        if Timers::is_due(&mut self.timers.alive_ns, now_ns, ALIVE_EVERY_NS) {
            self.tell(&mut actions, |_| Some(ToAgent::Alive { run: run.clone() }));
        }
        if Timers::is_due(&mut self.timers.repeat_ns, now_ns, REPEAT_EVERY_NS) {
            self.tell(&mut actions, |member| self.order(now_ns, member));
            self.has_ordered |= actions
                .iter()
                .any(|action| matches!(action, CoordinatorAction::Send(_, ToAgent::Prepare(_))));
        }
        let is_over = match &self.phase {
            RunPhase::Loading { .. } => self.members.iter().all(Member::is_over),
            RunPhase::GivingUp { until_ns, .. } => now_ns >= *until_ns || self.members.is_empty(),
            _ => false,
        };
        if is_over {
            // All who are still there: one that was given up may have ended since.
            let to_all = self.members.iter().map(|member| member.sender.clone());
            let release = |to| CoordinatorAction::Send(to, ToAgent::Release { run: run.clone() });
            actions.extend(to_all.map(release));
            actions.push(self.end());
        }
        actions
    }

    fn tell(
        &self,
        actions: &mut Vec<CoordinatorAction>,
        message: impl Fn(&Member) -> Option<ToAgent>,
    ) {
        let reached = self.members.iter().filter(|member| !member.is_over());
        let messages = reached.filter_map(|member| Some((member.sender.clone(), message(member)?)));
        actions.extend(messages.map(|(to, message)| CoordinatorAction::Send(to, message)));
    }

    /// Returns what an agent has to do now, if it is not known to have done it.
    fn order(&self, now_ns: u64, member: &Member) -> Option<ToAgent> {
        let run = self.settings.run.clone();
        match self.phase {
            RunPhase::Preparing { .. } if member.progress == MemberProgress::Requested => {
                let part = member.part;
                let http = self.members[0].http;
                // The first one looks at the target, and its finding is an input of the others.
                let work = self.work.clone();
                let signature = None;
                (part.index() == 1 || http.is_some()).then_some(ToAgent::Prepare(Order {
                    run,
                    part,
                    http,
                    work,
                    signature,
                }))
            }
            RunPhase::Arming { at_ns } if member.progress == MemberProgress::Ready => {
                member.arm(&run, at_ns)
            }
            RunPhase::Loading { stopping_from_ns: Some(_), .. } | RunPhase::GivingUp { .. } => {
                Some(ToAgent::Stop { run })
            }
            RunPhase::Loading { at_ns, .. } if now_ns < at_ns => Some(ToAgent::Commit { run }),
            _ => None,
        }
    }

    fn end(&mut self) -> CoordinatorAction {
        match std::mem::replace(&mut self.phase, RunPhase::Over) {
            RunPhase::GivingUp { reasons, .. } => CoordinatorAction::NotStarted(reasons),
            _ => CoordinatorAction::Finished(
                self.members.iter().filter_map(Member::result).collect(),
            ),
        }
    }
}
