//! A coordinator, its agents and their bus, in virtual time. The coordinator's clock is the true
//! one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use weir_fleet::{
    Agent, AgentAction, AgentWeights, Coordinator, CoordinatorAction, FromAgent, LoadEnd,
    MemberResult, OnLoss, Order, RunWork, Sender, Settings, ToAgent,
};
use weir_runner::HttpChoice;
use weir_sim::{Random, Seed};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1_000 * MS;

/// Length of the load of every run.
pub(crate) const LOAD_NS: u64 = 20 * SECOND;

/// Time between two calls of `tick`.
const TICK_NS: u64 = 10 * MS;

/// No run of these tests takes longer.
const HORIZON_NS: u64 = 120 * SECOND;

/// A clock that is ahead of the true one and runs at its own rate.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) ahead_ns: u64,
    pub(crate) drift: f64,
}

impl Clock {
    fn shows(self, true_ns: u64) -> u64 {
        let drifted = (true_ns as f64 * self.drift) as i64;
        (self.ahead_ns + true_ns).saturating_add_signed(drifted)
    }

    fn true_time(self, shown_ns: u64) -> u64 {
        let elapsed = shown_ns.saturating_sub(self.ahead_ns);
        (elapsed as f64 / (1.0 + self.drift)) as u64
    }
}

/// The faults of an agent. Times are true ones.
#[derive(Clone, Default)]
pub(crate) struct Fate {
    /// Its process ends without a word, and starts again after a time, if there is a second one.
    pub(crate) dies: Option<(u64, Option<u64>)>,
    /// Times in which no message goes to it or comes from it.
    pub(crate) cut: Option<(u64, u64)>,
    /// When its process gets a signal.
    pub(crate) signal: Option<u64>,
    /// Its process starts at this time.
    pub(crate) starts: Option<u64>,
    /// Its load neither ends nor stops.
    pub(crate) hangs: bool,
    /// Why it refuses its part.
    pub(crate) refusal: Option<String>,
}

/// An agent's process with its machine.
pub(crate) struct Node {
    sender: Sender,
    agent: Agent,
    clock: Clock,
    pub(crate) fate: Fate,
    is_alive: bool,
    prepared_at: Option<u64>,
    begins_at: Option<u64>,
    /// True time of the start and the end of its load.
    pub(crate) begun: Option<u64>,
    pub(crate) ended: Option<u64>,
    ends_at: Option<u64>,
    heard: u64,
    /// It has confirmed the time of the start.
    has_confirmed: bool,
}

/// The bus and what goes wrong with it.
pub(crate) struct Bus {
    pub(crate) loss: f64,
    pub(crate) doubles: f64,
    /// Longest time of a message to an agent, and from one.
    pub(crate) there_max_ns: u64,
    pub(crate) back_max_ns: u64,
    /// Until then each message takes 200 ms more.
    pub(crate) slow_until: u64,
    /// Times in which it is away.
    pub(crate) away: Option<(u64, u64)>,
}

enum Message {
    ToAgent(Sender, ToAgent),
    FromAgent(Sender, FromAgent),
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    NotStarted(Vec<String>),
    Finished(Vec<MemberResult>),
    /// The coordinator died before.
    Unknown,
}

pub(crate) struct World {
    /// Number of agents that the run needs: the first ones.
    agents: usize,
    random: Random,
    pub(crate) nodes: Vec<Node>,
    pub(crate) bus: Bus,
    coordinator: Coordinator,
    pub(crate) coordinator_dies: Option<u64>,
    /// When the coordinator gets a signal.
    pub(crate) interrupted: Option<u64>,
    /// Messages that a node sends besides its own, at these times.
    pub(crate) forged: Vec<(u64, usize, FromAgent)>,
    /// When the user was told that the bus is away, and when the run was over.
    pub(crate) warned_away: Vec<u64>,
    pub(crate) over: Option<u64>,
    messages: BTreeMap<(u64, u64), Message>,
    count: u64,
    now: u64,
}

pub(crate) fn settings(agents: u32, on_loss: OnLoss) -> Settings {
    Settings {
        run: "run-1".to_owned(),
        version: "1.0".to_owned(),
        clock: "coordinator's".to_owned(),
        agents,
        gather_ns: 10 * SECOND,
        prepare_ns: 10 * SECOND,
        clock_bound_ns: 50 * MS,
        on_loss,
        weights: AgentWeights::Equal,
    }
}

impl World {
    /// A faultless world of some agents, of which the coordinator needs as many as its settings
    /// say.
    pub(crate) fn new(seed: u64, agents: u32, settings: Settings) -> World {
        let mut random = Random::new(Seed(seed), 0);
        let nodes = (1..=agents).map(|number| {
            let ahead_ns = random.between(0, 800_000 * SECOND);
            let drift = (random.unit() - 0.5) * 400e-6;
            Node::new(format!("gen-{number}"), Clock { ahead_ns, drift })
        });
        let nodes = nodes.collect();
        World {
            agents: settings.agents as usize,
            nodes,
            random,
            bus: Bus {
                loss: 0.0,
                doubles: 0.0,
                there_max_ns: MS,
                back_max_ns: MS,
                slow_until: 0,
                away: None,
            },
            coordinator: Coordinator::new(0, settings),
            coordinator_dies: None,
            interrupted: None,
            forged: Vec::new(),
            warned_away: Vec::new(),
            over: None,
            messages: BTreeMap::new(),
            count: 0,
            now: 0,
        }
    }

    /// Gives a node the name of another one, and starts it at a time.
    pub(crate) fn start_like(&mut self, index: usize, other: usize, at: u64) {
        let agent = self.nodes[other].sender.agent.clone();
        let node = &mut self.nodes[index];
        node.sender = Sender { agent, incarnation: 9 };
        (node.is_alive, node.fate.starts) = (false, Some(at));
    }

    /// Puts all agents on the coordinator's machine.
    pub(crate) fn share_clock(&mut self) {
        for node in &mut self.nodes {
            node.clock = Clock { ahead_ns: 0, drift: 0.0 };
            node.agent = Agent::new("1.0", 2, "coordinator's");
        }
    }

    /// Runs the world until the run is over, or no load can be under way any more.
    pub(crate) fn run(&mut self) -> Outcome {
        let mut outcome = None;
        let mut is_away = false;
        while self.now < HORIZON_NS {
            self.now += TICK_NS;
            let now = self.now;
            for (_, index, message) in
                self.forged.extract_if(.., |(at, ..)| now >= *at).collect::<Vec<_>>()
            {
                let sender = self.nodes[index].sender.clone();
                self.send(now, Message::FromAgent(sender, message));
            }
            self.deliver();
            let is_there = self.coordinator_dies.is_none_or(|at| self.now < at);
            if is_there && outcome.is_none() {
                match (is_away, self.bus_is_away(self.now)) {
                    (false, true) => self.coordinator.bus_lost(self.now),
                    (true, false) => self.coordinator.bus_back(self.now),
                    _ => {}
                }
                is_away = self.bus_is_away(self.now);
                if self.interrupted.take_if(|at| self.now >= *at).is_some() {
                    self.coordinator.interrupt(self.now);
                }
                self.coordinator.begin_preparing(
                    self.now,
                    LOAD_NS + 2 * SECOND,
                    RunWork::default(),
                );
                for action in self.coordinator.tick(self.now) {
                    match action {
                        CoordinatorAction::Send(to, message) => {
                            self.send(self.now, Message::ToAgent(to, message));
                        }
                        CoordinatorAction::WarnAway => self.warned_away.push(self.now),
                        CoordinatorAction::NotStarted(reasons) => {
                            outcome = Some(Outcome::NotStarted(reasons));
                        }
                        CoordinatorAction::Finished(members) => {
                            outcome = Some(Outcome::Finished(members));
                        }
                    }
                }
            }
            if outcome.is_some() {
                self.over.get_or_insert(self.now);
            }
            for index in 0..self.nodes.len() {
                self.step(index);
            }
        }
        let has_ended = |node: &Node| node.begun.is_some() == node.ended.is_some();
        assert!(self.nodes.iter().all(|node| node.fate.hangs || has_ended(node)));
        match (outcome, self.coordinator_dies) {
            (Some(outcome), _) => outcome,
            (None, Some(_)) => Outcome::Unknown,
            (None, None) => panic!("the run never ended"),
        }
    }

    fn bus_is_away(&self, at: u64) -> bool {
        self.bus.away.is_some_and(|(from, to)| (from..to).contains(&at))
    }

    /// Sends a message: it may be lost, doubled, and overtaken by a later one.
    fn send(&mut self, now: u64, message: Message) {
        let (Message::ToAgent(sender, _) | Message::FromAgent(sender, _)) = &message;
        let node = self.nodes.iter().find(|node| node.sender.agent == sender.agent);
        let is_cut = |at: u64| {
            let cut = node.and_then(|node| node.fate.cut);
            cut.is_some_and(|(from, to)| (from..to).contains(&at))
        };
        let most = match message {
            Message::ToAgent(..) => self.bus.there_max_ns,
            Message::FromAgent(..) => self.bus.back_max_ns,
        };
        let copies = 1 + u32::from(self.random.chance(self.bus.doubles));
        let mut arrivals = Vec::new();
        for _ in 0..copies {
            let slow_ns = if now < self.bus.slow_until { 200 * MS } else { 0 };
            let at = now + slow_ns + self.random.between(20_000, most);
            let is_lost = self.random.chance(self.bus.loss) || self.bus_is_away(now);
            if !is_lost && !is_cut(now) && !is_cut(at) {
                arrivals.push(at);
            }
        }
        for at in arrivals {
            self.count += 1;
            let copy = match &message {
                Message::ToAgent(to, message) => Message::ToAgent(to.clone(), message.clone()),
                Message::FromAgent(of, message) => Message::FromAgent(of.clone(), message.clone()),
            };
            self.messages.insert((at, self.count), copy);
        }
    }

    /// Delivers what has arrived, in the order of arrival.
    fn deliver(&mut self) {
        while let Some(entry) = self.messages.first_entry() {
            let (at, _) = *entry.key();
            if at > self.now {
                break;
            }
            match entry.remove() {
                Message::FromAgent(of, message) => {
                    if self.coordinator_dies.is_none_or(|dies| at < dies) {
                        self.coordinator.receive(at, of, message);
                    }
                }
                Message::ToAgent(to, message) => {
                    let of = |node: &&mut Node| node.is_alive && node.sender == to;
                    let Some(node) = self.nodes.iter_mut().find(of) else { continue };
                    node.heard = at;
                    let shown = node.clock.shows(at);
                    let actions = node.agent.receive(shown, message);
                    let index = self.nodes.iter().position(|node| node.sender == to);
                    self.act(index.expect("it was just there"), at, actions);
                }
            }
        }
    }

    /// Does what is due on one machine.
    fn step(&mut self, index: usize) {
        let now = self.now;
        let node = &mut self.nodes[index];
        if node.fate.starts.is_some_and(|at| now >= at) {
            (node.is_alive, node.fate.starts) = (true, None);
        }
        if let Some((dies, restarts)) = node.fate.dies {
            if node.is_alive && node.sender.incarnation == 1 && now >= dies {
                node.is_alive = false;
                node.end(dies);
            }
            if !node.is_alive && restarts.is_some_and(|at| now >= at) {
                node.restart();
                // Others may begin from here on, whatever happens to this one.
                node.has_confirmed = self.coordinator.begins_at_ns().is_some();
            }
        }
        if !node.is_alive {
            return;
        }
        let mut actions = Vec::new();
        if node.prepared_at.is_some_and(|at| now >= at) {
            node.prepared_at = None;
            let result = node.fate.refusal.clone().map_or(Ok(HttpChoice::Http2), Err);
            actions.extend(node.agent.prepared(result));
        }
        if node.begins_at.is_some_and(|at| now >= at) {
            let at = node.begins_at.take().unwrap_or(now);
            assert!(node.begun.is_none(), "an agent began twice");
            node.begun = Some(at);
            node.ends_at = (!node.fate.hangs).then_some(at + LOAD_NS);
            node.agent.begun(node.clock.shows(at));
            let confirmed = self.nodes.iter().filter(|node| node.has_confirmed).count();
            assert!(confirmed >= self.agents, "not all were armed");
        }
        let node = &mut self.nodes[index];
        if node.fate.signal.is_some_and(|at| now >= at) {
            node.fate.signal = None;
            actions.extend(node.agent.interrupted("SIGTERM"));
        }
        if node.ends_at.is_some_and(|at| now >= at) {
            node.end(now);
            let is_whole = node.begun.is_some_and(|begun| now >= begun + LOAD_NS);
            let end = if is_whole { LoadEnd::Whole } else { LoadEnd::Cut };
            actions.extend(node.agent.ended(end));
        }
        actions.extend(node.agent.tick(node.clock.shows(now)));
        self.act(index, now, actions);
    }

    fn act(&mut self, index: usize, now: u64, actions: Vec<AgentAction>) {
        for action in actions {
            let delay = self.random.between(MS, 300 * MS);
            let node = &mut self.nodes[index];
            match action {
                AgentAction::Send(message) => {
                    node.has_confirmed |= matches!(message, FromAgent::Armed { .. });
                    let sender = node.sender.clone();
                    self.send(now, Message::FromAgent(sender, message));
                }
                AgentAction::Prepare(Order { part, http, .. }) => {
                    // The first agent's finding is an input of the others.
                    let known = (part.index() > 1).then_some(HttpChoice::Http2);
                    assert_eq!(http, known, "part {part}");
                    node.prepared_at = Some(now + delay);
                }
                AgentAction::Begin { at_ns } => node.begins_at = Some(node.clock.true_time(at_ns)),
                AgentAction::StopLoad if node.begun.is_none() => {
                    node.begins_at = None;
                    let more = node.agent.ended(LoadEnd::Cut);
                    self.act(index, now, more);
                }
                // Requests in flight get some time.
                AgentAction::StopLoad => {
                    node.ends_at = node.ends_at.map(|at| at.min(now + delay));
                }
                AgentAction::Abandon => node.prepared_at = None,
                AgentAction::Forget | AgentAction::Yield => {}
            }
        }
    }

    /// Returns the true time at which a node heard the coordinator last.
    pub(crate) fn heard(&self, index: usize) -> u64 {
        self.nodes[index].heard
    }

    /// Returns the nodes in the order of their ends, the last first.
    pub(crate) fn last_end(&self) -> Option<u64> {
        let mut ends: Vec<u64> = self.nodes.iter().filter_map(|node| node.ended).collect();
        ends.sort_unstable_by_key(|end| Reverse(*end));
        ends.first().copied()
    }
}

impl Node {
    fn new(name: String, clock: Clock) -> Node {
        Node {
            sender: Sender { agent: name, incarnation: 1 },
            agent: Agent::new("1.0", 2, "own"),
            clock,
            fate: Fate::default(),
            is_alive: true,
            prepared_at: None,
            begins_at: None,
            begun: None,
            ended: None,
            ends_at: None,
            heard: 0,
            has_confirmed: false,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.sender.agent
    }

    fn end(&mut self, at: u64) {
        self.ends_at = None;
        self.begins_at = None;
        self.prepared_at = None;
        if self.begun.is_some() {
            self.ended.get_or_insert(at);
        }
    }

    fn restart(&mut self) {
        self.sender.incarnation = 2;
        self.agent = Agent::new("1.0", 2, "own");
        self.is_alive = true;
    }
}
