//! The client's view of the simulated world: [`Sim`] is a [`Backend`] whose clock is virtual.
//!
//! It is stricter than a kernel: calls that the contract of `Backend` forbids panic here.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use weir_io::{
    Backend, Capabilities, Close, ConnId, Endpoint, Event, EventKind, Nanos, PooledId, Segment,
    SocketOptions, Submitted, TemplateId, WaitPolicy,
};

use crate::call_budget::CallBudget;
use crate::machine::Machine;
use crate::network::Split;
use crate::pause::Pauses;
use crate::random::Random;
use crate::send_buffers::SendBuffers;
use crate::socket::State;
use crate::truth::{Connect, Truth, TruthHandle};
use crate::virtual_clock::VirtualClock;
use crate::world::World;

/// Type of TLS records with handshake messages (RFC 8446 §5.1).
const HANDSHAKE_RECORD: u8 = 0x16;

/// A simulated machine for one worker. The same world gives the same run.
#[derive(Debug)]
pub struct Sim {
    clock: VirtualClock,
    world: Arc<World>,
    machine: Machine,
    budget: CallBudget,
    conns: Vec<ConnectionSlot>,
    buffers: SendBuffers,
    /// Sockets with bytes to send, in order of their first `send`.
    outgoing: Vec<usize>,
    /// Sockets whose remaining events are kept for the next `wait`.
    kept: VecDeque<usize>,
    event_bytes: Vec<u8>,
    chance: Random,
    /// Unsent bytes of the connection whose failure was reported last.
    unsent_bytes: u64,
}

/// The state of one connection number.
#[derive(Clone, Copy, Debug, Default)]
struct ConnectionSlot {
    /// Generation of the next `connect`.
    generation: u16,
    socket: Option<usize>,
}

impl Sim {
    /// Returns a world at its beginning: time zero, no connection.
    pub fn new(world: World) -> Sim {
        assert!(world.client.read_bytes > 0, "a read lends at least one byte");
        let world = Arc::new(world);
        Sim {
            clock: VirtualClock::new(Pauses::new(&world.client.stops)),
            machine: Machine::new(&world),
            budget: CallBudget::default(),
            conns: Vec::new(),
            buffers: SendBuffers::default(),
            outgoing: Vec::new(),
            kept: VecDeque::new(),
            event_bytes: Vec::new(),
            chance: Random::new(world.seed, 6),
            unsent_bytes: 0,
            world,
        }
    }

    /// Returns a copy of the truth so far.
    pub fn truth(&self) -> Truth {
        self.machine.truth.snapshot()
    }

    /// Returns a handle to the truth, which stays valid when the simulation is moved.
    pub fn truth_handle(&self) -> TruthHandle {
        self.machine.truth.clone()
    }

    /// Begins a call of the client: the time that it took since the last one passes.
    fn begin_call(&mut self) {
        self.clock.settle();
        self.budget.count(self.clock.now(), &self.world);
    }

    /// Executes all steps until `until`.
    fn run_until(&mut self, until: Nanos) {
        while self.machine.agenda.peek().is_some_and(|at| at <= until) {
            self.run_step();
        }
    }

    fn run_step(&mut self) {
        if let Some(at) = self.machine.step() {
            self.budget.count(at, &self.world);
        }
    }

    /// Lets the world continue until `events` sockets have events for the client, or until `until`.
    fn gather(&mut self, until: Nanos, events: usize) {
        while self.machine.ready.len() < events
            && self.clock.now() < until
            && !self.machine.is_woken
        {
            let next = self.machine.agenda.peek().map_or(until, |at| at.min(until));
            self.clock.advance(next.max(self.clock.now()));
            self.run_until(self.clock.now());
        }
    }

    /// Lets the world continue until an event is there for the client, or until `until`; returns
    /// that time.
    fn sleep(&mut self, until: Nanos) -> Nanos {
        while self.machine.ready.is_empty() && !self.machine.is_woken {
            match self.machine.agenda.peek() {
                Some(at) if at <= until => {
                    self.run_step();
                    if !self.machine.ready.is_empty() || self.machine.is_woken {
                        return at;
                    }
                }
                None if until == Nanos::MAX => panic!("{}", self.deadlock()),
                _ => return until,
            }
        }
        self.clock.now()
    }

    fn deadlock(&self) -> String {
        let in_state = |state: State| {
            self.machine.sockets.iter().filter(|socket| socket.state == state).count()
        };
        format!(
            "deadlock: the client waits for ever, and nothing will happen. Time {}, {} sockets \
             open, {} connecting, seed {}",
            self.clock.now(),
            in_state(State::Open),
            in_state(State::Connecting),
            self.world.seed.0
        )
    }

    /// Returns the socket of `conn`, if it has one.
    fn socket(&self, conn: ConnId) -> Option<usize> {
        self.conns.get(conn.index())?.socket
    }

    /// Queues a socket that may have more events than the one delivered.
    fn requeue(&mut self, id: usize) {
        let socket = &mut self.machine.sockets[id];
        if !socket.is_ready() {
            socket.is_queued = false;
        } else if self.world.network.split == Split::Random && self.chance.chance(0.25) {
            self.kept.push_back(id);
        } else {
            self.machine.ready.push_front(id);
        }
    }
}

impl Backend for Sim {
    const CAPABILITIES: Capabilities =
        Capabilities { sources: true, stamps: true, unsent_bytes: true, ..Capabilities::NONE };

    fn now(&mut self) -> Nanos {
        self.begin_call();
        self.clock.spend(self.world.client.clock_ns);
        self.clock.now()
    }

    fn template(&mut self, bytes: Arc<[u8]>) -> TemplateId {
        self.buffers.template(bytes)
    }

    fn pool(&mut self, bytes: &[u8]) -> PooledId {
        self.buffers.pool(bytes)
    }

    fn connect(&mut self, conn: ConnId, to: &Endpoint, options: SocketOptions) {
        let at = self.clock.now();
        let to = to.clone();
        let source = options.source;
        self.machine.truth.read().connects.push(Connect { at, conn, to, source });
        if self.conns.len() <= conn.index() {
            self.conns.resize(conn.index() + 1, ConnectionSlot::default());
        }
        let slot = &mut self.conns[conn.index()];
        assert!(slot.socket.is_none(), "connect on {conn:?}, which is not closed");
        let generation = slot.generation;
        slot.generation = generation.wrapping_add(1);
        slot.socket = Some(self.machine.connect(at, conn, generation, options));
    }

    fn send(&mut self, conn: ConnId, segments: &[Segment]) {
        let id = self.socket(conn).filter(|&id| self.machine.sockets[id].state == State::Open);
        let id = id.unwrap_or_else(|| panic!("send on {conn:?}, which is not open"));
        let outgoing = &mut self.machine.sockets[id].outgoing;
        let was_empty = outgoing.is_empty();
        segments.iter().for_each(|segment| self.buffers.append(*segment, outgoing));
        if was_empty && !outgoing.is_empty() {
            self.outgoing.push(id);
        }
    }

    fn discard(&mut self, conn: ConnId, bytes: u64) {
        let id =
            self.socket(conn).unwrap_or_else(|| panic!("discard on {conn:?}, which is closed"));
        let socket = &mut self.machine.sockets[id];
        assert!(socket.options.discard, "discard on {conn:?}, opened without that option");
        socket.discard_bytes = bytes;
    }

    fn close(&mut self, conn: ConnId, how: Close) {
        let slot = self.conns.get_mut(conn.index());
        if let Some(id) = slot.and_then(|slot| slot.socket.take()) {
            if how == Close::Graceful {
                self.machine.send(self.clock.now(), id);
            }
            self.machine.close(self.clock.now(), id);
        }
    }

    fn submit(&mut self) -> Submitted {
        self.begin_call();
        let before = self.clock.now();
        if !self.outgoing.is_empty() {
            self.clock.spend(self.world.client.submit_ns);
            for id in std::mem::take(&mut self.outgoing) {
                self.machine.send(self.clock.now(), id);
            }
        }
        Submitted { before, after: self.clock.now() }
    }

    fn wait(&mut self, until: Nanos, policy: WaitPolicy) -> io::Result<()> {
        self.submit();
        self.machine.truth.read().counts.waits += 1;
        self.machine.ready.append(&mut self.kept);
        let from = self.clock.now();
        // Removes sockets that were closed while they had events pending.
        let sockets = &self.machine.sockets;
        self.machine.ready.retain(|&id| sockets[id].state != State::Closed);
        self.run_until(from);
        if self.machine.ready.is_empty() && !self.machine.is_woken && until > from {
            let woken_at = self.sleep(until);
            let late_ns = self.world.client.wake_late.draw(&mut self.chance);
            self.clock.advance(woken_at.after(late_ns));
            self.run_until(self.clock.now());
        }
        // Events already there count, but do not end the wait.
        if let WaitPolicy::Gather { events, within_ns } = policy {
            self.gather(from.after(within_ns.into()).min(until), events as usize);
        }
        self.machine.is_woken = false;
        Ok(())
    }

    fn unsent_bytes(&mut self) -> u64 {
        self.unsent_bytes
    }

    fn next(&mut self) -> Option<Event<&mut [u8]>> {
        self.clock.settle();
        let (id, kind) = loop {
            let id = self.machine.ready.pop_front()?;
            let socket = &mut self.machine.sockets[id];
            let taken = socket.take(&self.world, &mut self.chance, &mut self.event_bytes);
            if let Some(kind) = taken {
                break (id, kind);
            }
            socket.is_queued = false;
        };
        self.requeue(id);
        self.budget.count(self.clock.now(), &self.world);
        self.machine.truth.read().counts.events += 1;
        self.clock.spend(self.world.client.event_ns);
        let socket = &self.machine.sockets[id];
        let conn = socket.conn;
        let generation = socket.generation;
        match kind {
            EventKind::Received { .. } if self.event_bytes.first() == Some(&HANDSHAKE_RECORD) => {
                self.clock.owe(self.world.client.handshake_ns);
            }
            EventKind::Failed(_) => {
                self.machine.ended(id);
                self.conns[conn.index()].socket = None;
                self.unsent_bytes = self.machine.sockets[id].unsent_bytes;
            }
            _ => {}
        }
        let kind = kind.map(|()| &mut self.event_bytes[..]);
        Some(Event { conn, generation, at: self.clock.now(), kind })
    }
}
