//! The process of an agent: it connects an [`Agent`] with the bus, the clock and the load.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Result, bail};
use weir_machine::sys;
use weir_text::setting::{AGENT_NAME, AGENT_PERMIT};

use crate::agent::{Agent, AgentAction};
use crate::agent_load::{AgentLoad, LoadEvent, RunPlace};
use crate::agent_log::{AgentLog, LogWriter};
use crate::agent_runner::RunnerAtGate;
use crate::bus::{Bus, BusEvent, BusMessage};
use crate::envelope::{ending_of, from_agent, opened, sealed, to_agent};
use crate::identity::BusAccess;
use crate::machine::incarnation;
use crate::message::{FromAgent, Order, Sender, ToAgent};
use crate::order::OrderGate;
use crate::record::keep_aside;

/// Longest time between two looks at the clock and the load.
const TURN: Duration = Duration::from_millis(20);

/// Time after a signal in which the result may still be handed over.
const LEAVING_NS: u64 = 10_000_000_000;

/// The facts that an agent is started with.
#[derive(Clone)]
pub struct AgentSettings {
    /// Its name, unique on the bus: letters, digits, `-` and `_`.
    pub name: String,
    /// The bus.
    pub bus: BusAccess,
    /// Version of weir.
    pub version: String,
    /// Number of CPUs it may use.
    pub cpus: u32,
    /// Name of its clock: agents with the same name for it have the same clock.
    pub clock: String,
    /// True if it ends after the first run that it takes part in.
    pub is_once: bool,
    /// Carries out its parts.
    pub runner: RunnerAtGate,
    /// True if a coordinator may have it write the rows of its requests to a file.
    pub may_write_rows: bool,
}

impl fmt::Debug for AgentSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentSettings").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A running agent.
#[derive(Debug)]
pub struct AgentProcess {
    settings: AgentSettings,
    incarnation: u64,
    agent: Agent,
    orders: OrderGate,
    bus: Arc<Bus>,
    messages: Receiver<BusMessage>,
    load: Option<AgentLoad>,
    log: AgentLog,
}

impl AgentProcess {
    /// Connects to the bus.
    ///
    /// # Errors
    /// When the name is none, its identity has no list of coordinators, or the bus cannot be
    /// reached.
    pub fn start(settings: AgentSettings) -> Result<AgentProcess> {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if settings.name.is_empty() || !settings.name.chars().all(is_fit) {
            bail!("{}: a name has letters, digits, - and _", settings.name);
        }
        let orders = OrderGate::of(settings.bus.identity.as_ref())?;
        let subject = to_agent(&settings.name);
        let own = from_agent(&settings.name);
        let (bus, messages) = Bus::connect(&settings.bus, &settings.name, &[&subject, &own])?;
        let agent = Agent::new(&settings.version, settings.cpus, settings.clock.clone());
        let bus = Arc::new(bus);
        let load = None;
        Ok(AgentProcess {
            settings,
            incarnation: incarnation(),
            agent,
            orders,
            bus,
            messages,
            load,
            log: AgentLog::default(),
        })
    }

    /// Writes a line for each run, refusal and change of the bus.
    pub fn log_to(&mut self, write: LogWriter) {
        self.log = AgentLog::to(write);
    }

    /// Takes part in runs until `signal` returns the name of one, or until the first one is over. A
    /// load that is under way when the signal comes ends, and its result is handed over.
    ///
    /// # Errors
    /// When another process takes part under its name.
    pub fn serve(mut self, signal: impl Fn() -> Option<String>) -> Result<()> {
        let mut leaves_ns = None;
        let claim = self.agent.claim(sys::monotonic_ns(), self.incarnation);
        claim.into_iter().for_each(|action| self.act(action));
        loop {
            let mut actions = match self.messages.recv_timeout(TURN) {
                Ok(message) => self.receive(message),
                Err(RecvTimeoutError::Timeout) => Vec::new(),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            let now_ns = sys::monotonic_ns();
            actions.extend(self.poll(now_ns));
            if let (None, Some(name)) = (leaves_ns, signal()) {
                leaves_ns = Some(now_ns + LEAVING_NS);
                actions.extend(self.agent.interrupted(&name));
            }
            actions.extend(self.agent.tick(now_ns));
            if actions.contains(&AgentAction::Yield) {
                bail!(
                    "another agent is on the bus as {}: each needs {AGENT_NAME}, or an identity, \
                     of its own",
                    self.settings.name
                );
            }
            let is_forgotten = actions.contains(&AgentAction::Forget);
            actions.into_iter().for_each(|action| self.act(action));
            self.renew_lease();
            // Another run may have begun with the end of this one.
            if self.settings.is_once && is_forgotten && self.load.is_none() {
                return Ok(());
            }
            if leaves_ns.is_some_and(|at_ns| self.load.is_none() || now_ns >= at_ns) {
                return Ok(());
            }
        }
    }

    fn receive(&mut self, BusMessage { at_ns, event, .. }: BusMessage) -> Vec<AgentAction> {
        self.log.bus(&event);
        let BusEvent::Received { subject, payload } = event else { return Vec::new() };
        if subject == from_agent(&self.settings.name) {
            return match opened::<FromAgent>(&subject, &payload) {
                Some((of, message)) if of.incarnation != self.incarnation => {
                    self.agent.met(of.incarnation, &message)
                }
                _ => Vec::new(),
            };
        }
        match opened::<ToAgent>(&subject, &payload) {
            Some((to, message)) if to.incarnation == self.incarnation => {
                self.agent.receive(at_ns, message)
            }
            _ => Vec::new(),
        }
    }

    /// Reports what has happened to the load.
    fn poll(&mut self, now_ns: u64) -> Vec<AgentAction> {
        let events = self.load.as_mut().map_or_else(Vec::new, |load| load.poll(now_ns));
        let agent = &mut self.agent;
        let bus = &self.bus;
        let name = &self.settings.name;
        let report = |event| match event {
            LoadEvent::Prepared(result) => agent.prepared(result),
            LoadEvent::Begun(at_ns) => {
                agent.begun(at_ns);
                Vec::new()
            }
            LoadEvent::Ended(end) => {
                let actions = agent.ended(end);
                for action in &actions {
                    if let AgentAction::Send(FromAgent::Ended { run, ending, .. }) = action {
                        keep_aside(bus, Bus::deliver, run, ending_of(name), ending);
                    }
                }
                actions
            }
        };
        events.into_iter().flat_map(report).collect()
    }

    fn act(&mut self, action: AgentAction) {
        self.log.action(&action);
        let name = &self.settings.name;
        match action {
            AgentAction::Send(message) => {
                let message = message.sent_at(sys::monotonic_ns());
                self.bus.send(from_agent(name), sealed(self.incarnation, message));
            }
            AgentAction::Prepare(order) => self.prepare(order),
            AgentAction::Begin { at_ns } => {
                self.load.iter_mut().for_each(|load| load.begin_at(at_ns));
            }
            AgentAction::StopLoad | AgentAction::Abandon => {
                self.load.iter().for_each(AgentLoad::stop);
            }
            AgentAction::Forget => self.load = None,
            AgentAction::Yield => {}
        }
    }

    /// Lets the load run as long as the lease does.
    fn renew_lease(&self) {
        if let (Some(load), Some(until_ns)) = (&self.load, self.agent.lease_until_ns()) {
            load.renew_lease(until_ns);
        }
    }

    /// Prepares the load of an order, or refuses it.
    fn prepare(&mut self, order: Order) {
        let settings = &self.settings;
        let sender = Sender { agent: settings.name.clone(), incarnation: self.incarnation };
        let now_s = sys::realtime_ns() / 1_000_000_000;
        let taken = self.orders.take(&sender, &order, now_s);
        let taken = taken.and_then(|()| match order.work.rows {
            Some(_) if !settings.may_write_rows => {
                bail!("writing rows of requests is not permitted: {AGENT_PERMIT} rows")
            }
            _ => Ok(()),
        });
        if let Err(refusal) = taken {
            let actions = self.agent.prepared(Err(refusal.to_string()));
            actions.into_iter().for_each(|action| self.act(action));
            return;
        }
        let runner = Arc::clone(&settings.runner);
        let bus = Arc::clone(&self.bus);
        let run = order.run.clone();
        let log = self.log.clone();
        let place = RunPlace { bus, run, sender, log };
        self.load = Some(AgentLoad::prepare(place, order, runner));
    }
}
