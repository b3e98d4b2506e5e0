//! The agent's side of a run.

use weir_runner::HttpChoice;

use crate::LEASE_NS;
use crate::message::{AgentFacts, Ending, FromAgent, Order, PROTOCOL, RunId, ToAgent};

/// Time between two messages of a free agent, and of one in a run, in nanoseconds.
const HELLO_EVERY_NS: u64 = 1_000_000_000;
const WORKING_EVERY_NS: u64 = 250_000_000;

/// Time without a message of the coordinator after which an agent whose load has ended is free for
/// another one, in nanoseconds.
const FORGOTTEN_NS: u64 = 2 * LEASE_NS;

/// Time in which another process of the same name answers a claim, in nanoseconds.
const CLAIM_NS: u64 = 500_000_000;

/// A thing that an agent has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentAction {
    /// Send this to the coordinator.
    Send(FromAgent),
    /// Prepare this part of a run, and report with [`Agent::prepared`].
    Prepare(Order),
    /// Begin the load at this time of the own clock, and report with [`Agent::begun`] and
    /// [`Agent::ended`].
    Begin {
        /// The time.
        at_ns: u64,
    },
    /// Give up what was prepared.
    Abandon,
    /// End the load now, and report with [`Agent::ended`].
    StopLoad,
    /// The result has arrived and may be forgotten.
    Forget,
    /// End: another process has the name.
    Yield,
}

/// How the load of an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadEnd {
    /// All of it has taken place.
    Whole,
    /// Something stopped it earlier.
    Cut,
    /// Nothing was measured; a message for the user.
    Failed(String),
}

/// State of an agent. Times are nanoseconds of its own CLOCK_MONOTONIC, and never run backwards.
#[derive(Debug)]
pub struct Agent {
    version: String,
    cpus: u32,
    clock: String,
    work: Option<Work>,
    /// The last run that this agent took part in: late messages of it start nothing.
    last: Option<RunId>,
    spoke_ns: Option<u64>,
    incarnation: u64,
    /// Until when another process of the name may answer; none afterwards.
    claims_until_ns: Option<u64>,
}

/// The run that an agent takes part in.
#[derive(Debug)]
struct Work {
    run: RunId,
    step: WorkStep,
    /// When the coordinator was heard last.
    heard_ns: u64,
    begun_ns: Option<u64>,
    /// Why the load is being stopped.
    stopped: Option<Ending>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WorkStep {
    Preparing,
    Refused(String),
    Ready(HttpChoice),
    Armed(u64),
    Loading,
    Ended(Ending),
}

impl Agent {
    /// Makes a free agent of a version of weir, with a number of CPUs to use and the name of its
    /// clock.
    pub fn new(version: impl Into<String>, cpus: u32, clock: impl Into<String>) -> Agent {
        let version = version.into();
        let clock = clock.into();
        Agent {
            version,
            cpus,
            clock,
            work: None,
            last: None,
            spoke_ns: None,
            incarnation: 0,
            claims_until_ns: None,
        }
    }

    /// Claims the name for the process with this number: says so, and takes part in nothing until
    /// another one had the time to answer.
    pub fn claim(&mut self, now_ns: u64, incarnation: u64) -> Vec<AgentAction> {
        self.incarnation = incarnation;
        self.claims_until_ns = Some(now_ns + CLAIM_NS);
        vec![AgentAction::Send(FromAgent::Claim)]
    }

    /// Handles a message of another process of the same name. One of the two ends: never one in a
    /// run, of the others the one that has just started, or the one with the greater number.
    pub fn met(&mut self, other: u64, message: &FromAgent) -> Vec<AgentAction> {
        let is_claim = *message == FromAgent::Claim;
        let is_first = self.incarnation < other;
        let stays = match (&self.work, self.claims_until_ns) {
            (Some(_), _) => true,
            (None, Some(_)) => is_claim && is_first,
            (None, None) => is_claim || (message.run().is_none() && is_first),
        };
        match (stays, is_claim, self.claims_until_ns) {
            (false, ..) => vec![AgentAction::Yield],
            (true, true, Some(_)) => vec![AgentAction::Send(FromAgent::Claim)],
            (true, true, None) => vec![AgentAction::Send(self.state())],
            (true, false, _) => Vec::new(),
        }
    }

    /// Handles a message of the coordinator.
    pub fn receive(&mut self, now_ns: u64, message: ToAgent) -> Vec<AgentAction> {
        // Messages that have waited for a process that did not run renew no lease that has ended.
        let mut actions = self.expire(now_ns);
        actions.extend(self.answer(now_ns, message));
        actions
    }

    /// Returns the end of the lease under which a load is under way, or will begin: then it must
    /// have stopped, whatever comes afterwards.
    pub fn lease_until_ns(&self) -> Option<u64> {
        let work = self.work.as_ref().filter(|work| work.step == WorkStep::Loading)?;
        Some(work.heard_ns + LEASE_NS)
    }

    fn expire(&mut self, now_ns: u64) -> Vec<AgentAction> {
        match &mut self.work {
            // A coordinator that is gone stops no load: each agent does so itself.
            Some(work) if now_ns.saturating_sub(work.heard_ns) > LEASE_NS => {
                work.stop(Ending::LeaseExpired)
            }
            _ => Vec::new(),
        }
    }

    fn answer(&mut self, now_ns: u64, message: ToAgent) -> Vec<AgentAction> {
        match message {
            ToAgent::Probe { sent_ns } => {
                let received_ns = now_ns;
                let replied_ns = now_ns;
                vec![AgentAction::Send(FromAgent::Clock { sent_ns, received_ns, replied_ns })]
            }
            ToAgent::Prepare(order) => self.prepare(now_ns, order),
            ToAgent::Arm { run, at_ns } => self.arm(now_ns, &run, at_ns),
            ToAgent::Commit { run } => self.commit(now_ns, &run),
            ToAgent::Alive { run } => {
                self.heard(now_ns, &run);
                Vec::new()
            }
            ToAgent::Stop { run } => match self.heard(now_ns, &run) {
                Some(work) => work.stop(Ending::Stopped),
                None => Vec::new(),
            },
            ToAgent::Release { run } => {
                if self.work.as_ref().is_none_or(|work| work.run != run || !work.is_over()) {
                    return Vec::new();
                }
                self.last = self.work.take().map(|work| work.run);
                vec![AgentAction::Forget]
            }
        }
    }

    /// Reports that the part is prepared, with its HTTP version, or why it cannot be carried out.
    pub fn prepared(&mut self, result: Result<HttpChoice, String>) -> Vec<AgentAction> {
        match &mut self.work {
            Some(work) if work.step == WorkStep::Preparing => {
                work.step = match result {
                    Ok(http) => WorkStep::Ready(http),
                    Err(reason) => WorkStep::Refused(reason),
                };
                vec![AgentAction::Send(work.state())]
            }
            _ => Vec::new(),
        }
    }

    /// Reports that the load began at a time.
    pub fn begun(&mut self, at_ns: u64) {
        if let Some(work) = &mut self.work {
            work.begun_ns.get_or_insert(at_ns);
        }
    }

    /// Reports that the load has ended. One that [`AgentAction::StopLoad`] has cut keeps the reason
    /// for which it was stopped; one that was whole before came to no harm by it.
    pub fn ended(&mut self, end: LoadEnd) -> Vec<AgentAction> {
        match &mut self.work {
            Some(work) if work.step == WorkStep::Loading => {
                let stopped = work.stopped.take();
                work.step = WorkStep::Ended(match end {
                    LoadEnd::Whole => Ending::Planned,
                    LoadEnd::Cut => stopped.unwrap_or(Ending::Planned),
                    LoadEnd::Failed(reason) => stopped.unwrap_or(Ending::Failed(reason)),
                });
                vec![AgentAction::Send(work.state())]
            }
            _ => Vec::new(),
        }
    }

    /// Ends what is under way because of a signal.
    pub fn interrupted(&mut self, signal: &str) -> Vec<AgentAction> {
        let ending = Ending::Signal(signal.to_owned());
        self.work.as_mut().map_or_else(Vec::new, |work| work.stop(ending))
    }

    /// Does what is due. To be called at least ten times a second.
    pub fn tick(&mut self, now_ns: u64) -> Vec<AgentAction> {
        if self.claims_until_ns.is_some_and(|until_ns| now_ns < until_ns) {
            return Vec::new();
        }
        self.claims_until_ns = None;
        let mut actions = self.expire(now_ns);
        if let Some(work) = &mut self.work {
            // No release will come, and another coordinator may need the agent.
            if work.is_over() && now_ns.saturating_sub(work.heard_ns) > FORGOTTEN_NS {
                self.last = self.work.take().map(|work| work.run);
                return vec![AgentAction::Forget];
            }
            // The others begin now: this one is too late, and never will.
            if matches!(work.step, WorkStep::Armed(at_ns) if now_ns >= at_ns) {
                actions.extend(work.stop(Ending::Failed(TOO_LATE.to_owned())));
            }
        }
        let every_ns = self.work.as_ref().map_or(HELLO_EVERY_NS, |_| WORKING_EVERY_NS);
        if self.spoke_ns.is_none_or(|spoke_ns| now_ns - spoke_ns >= every_ns) {
            self.spoke_ns = Some(now_ns);
            actions.push(AgentAction::Send(self.state()));
        }
        actions
    }

    /// Returns the message by which the agent describes itself.
    fn state(&self) -> FromAgent {
        match &self.work {
            Some(work) => work.state(),
            None => FromAgent::Hello(AgentFacts {
                protocol: PROTOCOL,
                version: self.version.clone(),
                cpus: self.cpus,
                clock: self.clock.clone(),
            }),
        }
    }

    /// Returns the work on a run, after noting that its coordinator was heard.
    fn heard(&mut self, now_ns: u64, run: &RunId) -> Option<&mut Work> {
        let work = self.work.as_mut().filter(|work| work.run == *run)?;
        work.heard_ns = now_ns;
        Some(work)
    }

    fn prepare(&mut self, now_ns: u64, order: Order) -> Vec<AgentAction> {
        let run = order.run.clone();
        if let Some(work) = self.heard(now_ns, &run) {
            return vec![AgentAction::Send(work.state())];
        }
        // Work of a coordinator that is gone ends with its lease, and then blocks no other.
        let is_busy = self.work.as_ref().is_some_and(|work| !work.is_over());
        if self.last.as_ref() == Some(&run) {
            let reason = "it has carried out its part of this run, and takes each once".to_owned();
            return vec![AgentAction::Send(FromAgent::Refused { run, reason })];
        }
        if is_busy {
            let reason = "it takes part in another run".to_owned();
            return vec![AgentAction::Send(FromAgent::Refused { run, reason })];
        }
        let mut actions = Vec::new();
        if let Some(left) = self.work.take() {
            self.last = Some(left.run);
            actions.push(AgentAction::Forget);
        }
        let step = WorkStep::Preparing;
        let heard_ns = now_ns;
        self.work = Some(Work { run, step, heard_ns, begun_ns: None, stopped: None });
        actions.push(AgentAction::Prepare(order));
        actions
    }

    fn arm(&mut self, now_ns: u64, run: &RunId, at_ns: u64) -> Vec<AgentAction> {
        let Some(work) = self.heard(now_ns, run) else { return Vec::new() };
        if matches!(work.step, WorkStep::Ready(_)) && now_ns < at_ns {
            work.step = WorkStep::Armed(at_ns);
        }
        vec![AgentAction::Send(work.state())]
    }

    fn commit(&mut self, now_ns: u64, run: &RunId) -> Vec<AgentAction> {
        let Some(work) = self.heard(now_ns, run) else { return Vec::new() };
        let WorkStep::Armed(at_ns) = work.step else { return Vec::new() };
        if now_ns >= at_ns {
            return work.stop(Ending::Failed(TOO_LATE.to_owned()));
        }
        work.step = WorkStep::Loading;
        vec![AgentAction::Begin { at_ns }]
    }
}

const TOO_LATE: &str = "the order to start came too late";

impl Work {
    /// Ends the work for a reason, unless it has ended.
    fn stop(&mut self, ending: Ending) -> Vec<AgentAction> {
        match self.step {
            WorkStep::Ended(_) => Vec::new(),
            WorkStep::Loading if self.stopped.is_some() => Vec::new(),
            WorkStep::Loading => {
                self.stopped = Some(ending);
                vec![AgentAction::StopLoad]
            }
            _ => {
                self.step = WorkStep::Ended(ending);
                vec![AgentAction::Abandon, AgentAction::Send(self.state())]
            }
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.step, WorkStep::Ended(_))
    }

    /// The message that tells the step. It answers any question about it, so a repeated one is
    /// answered like the first.
    fn state(&self) -> FromAgent {
        let run = self.run.clone();
        let begun_ns = self.begun_ns;
        match &self.step {
            WorkStep::Preparing | WorkStep::Loading => FromAgent::Working { run, begun_ns },
            WorkStep::Refused(reason) => FromAgent::Refused { run, reason: reason.clone() },
            WorkStep::Ready(http) => FromAgent::Ready { run, http: *http },
            WorkStep::Armed(_) => FromAgent::Armed { run },
            WorkStep::Ended(ending) => FromAgent::Ended { run, begun_ns, ending: ending.clone() },
        }
    }
}
