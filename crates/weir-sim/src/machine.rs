//! The world behind the client: sockets, the network and the server, driven by the agenda. It has
//! no clock; every step carries its own time. The client's view of it is in `sim`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_io::{ConnId, Nanos, SocketOptions};

use crate::agenda::{Agenda, Cargo, Moment, Step};
use crate::errno;
use crate::faults::ConnectFault;
use crate::host::Host;
use crate::network::Wire;
use crate::peer::Peer;
use crate::random::Random;
use crate::service::Services;
use crate::socket::{Pending, Socket, State};
use crate::truth::{SocketName, TruthHandle};
use crate::world::World;

/// The world behind the client.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) agenda: Agenda,
    /// Every socket of the run, in order of `connect`.
    pub(crate) sockets: Vec<Socket>,
    /// Sockets with something pending, in order.
    pub(crate) ready: VecDeque<usize>,
    /// True if a signal came.
    pub(crate) is_woken: bool,
    pub(crate) truth: TruthHandle,
    wire: Wire,
    peer: Box<dyn Peer>,
    world: Arc<World>,
    chance: Random,
    sends: u64,
    open: usize,
}

impl Machine {
    pub(crate) fn new(world: &Arc<World>) -> Machine {
        let truth = TruthHandle::default();
        let mut agenda = Agenda::default();
        for (index, signal) in world.client.signals.iter().enumerate() {
            agenda.plan(signal.at, Step::Signal(index));
        }
        for at in &world.faults.reset_all_at {
            agenda.plan(*at, Step::ResetAll);
        }
        Machine {
            agenda,
            sockets: Vec::new(),
            ready: VecDeque::new(),
            is_woken: false,
            truth: truth.clone(),
            wire: Wire::new(world.network, world.seed),
            peer: match &world.service {
                Some(factory) => Box::new(Services::new(factory.clone(), world.seed, truth)),
                None => Box::new(Host::new(world, truth)),
            },
            world: Arc::clone(world),
            chance: Random::new(world.seed, 5),
            sends: 0,
            open: 0,
        }
    }

    /// Begins a connect; returns the new socket.
    pub(crate) fn connect(
        &mut self,
        now: Nanos,
        conn: ConnId,
        generation: u16,
        options: SocketOptions,
    ) -> usize {
        let socket = self.sockets.len();
        self.sockets.push(Socket::new(conn, generation, options));
        let mut truth = self.truth.read();
        let ordinal = truth.counts.connects.called;
        truth.counts.connects.called += 1;
        if self.world.client.open_max.is_some_and(|most| self.open >= most) {
            truth.counts.connects.over_limit += 1;
            drop(truth);
            self.sockets[socket].has_descriptor = false;
            self.arrive(socket, Pending::Failed(errno::EMFILE));
            return socket;
        }
        self.open += 1;
        truth.counts.open_max = truth.counts.open_max.max(self.open);
        let chance = &mut self.chance;
        let mut faults = self.world.faults.connect.iter();
        let meant = faults.find(|(pick, _)| pick.hits(ordinal, now, chance));
        let fault = meant.map(|(_, fault)| *fault);
        match fault {
            Some(ConnectFault::Hang) => truth.counts.connects.hung += 1,
            Some(ConnectFault::Refuse) => truth.counts.connects.refused += 1,
            Some(ConnectFault::ResetAtOnce) | None => {}
        }
        if fault != Some(ConnectFault::Hang) {
            let at = self.wire.connected_at(now);
            self.agenda.plan(at, Step::ConnectEnds { socket, fault });
        }
        socket
    }

    /// Sends the pending bytes of a socket. They leave the client at `now`.
    pub(crate) fn send(&mut self, now: Nanos, id: usize) {
        let socket = &mut self.sockets[id];
        let bytes = std::mem::take(&mut socket.outgoing);
        if bytes.is_empty() || socket.state != State::Open {
            return;
        }
        let ordinal = self.sends;
        self.sends += 1;
        let chance = &mut self.chance;
        if self.world.faults.send.iter().any(|pick| pick.hits(ordinal, now, chance)) {
            self.truth.read().counts.sends_failed += 1;
            socket.unsent_bytes += bytes.len() as u64;
            let at = self.wire.up_at(&mut socket.link, now);
            self.agenda.plan(at, Step::ClientLeaves { socket: id });
            return self.arrive(id, Pending::Failed(errno::ENOBUFS));
        }
        for piece in bytes.chunks(self.wire.network.segment_bytes) {
            let at = self.wire.up_at(&mut socket.link, now);
            let step = Step::ReachServer { socket: id, sent_at: now, bytes: piece.to_vec() };
            self.agenda.plan(at, step);
        }
        if socket.stamps_send() {
            // The stamp is reported ahead of the next bytes received, and wakes no thread.
            socket.pending.push_back(Pending::Transmitted(now));
        }
    }

    /// Closes a socket on the client's side.
    pub(crate) fn close(&mut self, now: Nanos, id: usize) {
        let socket = &mut self.sockets[id];
        if socket.state == State::Closed {
            return;
        }
        let at = self.wire.up_at(&mut socket.link, now);
        self.agenda.plan(at, Step::ClientLeaves { socket: id });
        self.ended(id);
    }

    /// Ends a socket that the client closed, or whose failure was reported.
    pub(crate) fn ended(&mut self, id: usize) {
        self.sockets[id].end();
        self.open -= usize::from(self.sockets[id].has_descriptor);
    }

    /// Executes the next step of the world; returns its time.
    pub(crate) fn step(&mut self) -> Option<Nanos> {
        let (now, step) = self.agenda.take()?;
        match step {
            Step::ConnectEnds { socket, fault } => self.connect_ends(now, socket, fault),
            Step::ReachServer { socket, sent_at, bytes } => {
                if !self.peer.receive(&mut moment(now, socket, &mut self.agenda), sent_at, &bytes) {
                    self.truth.read().counts.sends_too_late += 1;
                    let at = self.wire.down_at(&mut self.sockets[socket].link, now);
                    self.agenda.plan(at, Step::ReachClient { socket, cargo: Cargo::Reset });
                }
            }
            Step::ClientLeaves { socket } => self.peer.client_leaves(socket),
            Step::Serve { socket, task } => {
                self.peer.serve(&mut moment(now, socket, &mut self.agenda), task);
            }
            Step::Depart { socket, cargo } => {
                if self.peer.departs(&mut moment(now, socket, &mut self.agenda), &cargo) {
                    self.travel_down(now, socket, cargo);
                }
            }
            Step::ReachClient { socket, cargo } => self.reach_client(now, socket, cargo),
            Step::ResetAll => {
                for socket in self.peer.sockets() {
                    self.truth.read().counts.closes.reset_by_time += 1;
                    self.peer.reset(&mut moment(now, socket, &mut self.agenda));
                }
            }
            Step::Signal(index) => {
                self.world.client.signals[index].flag.store(true, Ordering::SeqCst);
                self.is_woken = true;
            }
        }
        Some(now)
    }

    fn connect_ends(&mut self, now: Nanos, id: usize, fault: Option<ConnectFault>) {
        let socket = &self.sockets[id];
        if socket.state == State::Closed {
            return;
        }
        if fault == Some(ConnectFault::Refuse) {
            return self.arrive(id, Pending::Failed(errno::ECONNREFUSED));
        }
        let name = SocketName { conn: socket.conn, generation: socket.generation };
        self.truth.read().counts.connects.done += 1;
        let mut moment = moment(now, id, &mut self.agenda);
        self.peer.accept(&mut moment, name);
        if fault == Some(ConnectFault::ResetAtOnce) {
            self.truth.read().counts.connects.reset += 1;
            self.peer.reset(&mut moment);
        }
        self.arrive(id, Pending::Connected);
    }

    /// Sends cargo to the client, in the network's segments.
    fn travel_down(&mut self, now: Nanos, socket: usize, cargo: Cargo) {
        let link = &mut self.sockets[socket].link;
        let Cargo::Bytes { bytes, begins, ends } = cargo else {
            let at = self.wire.down_at(link, now);
            return self.agenda.plan(at, Step::ReachClient { socket, cargo });
        };
        let segment_bytes = self.wire.network.segment_bytes;
        let pieces = bytes.len().div_ceil(segment_bytes);
        for (index, piece) in bytes.chunks(segment_bytes).enumerate() {
            let begins = begins.filter(|_| index == 0);
            let ends = ends.filter(|_| index + 1 == pieces);
            let at = self.wire.down_at(link, now);
            let cargo = Cargo::Bytes { bytes: piece.to_vec(), begins, ends };
            self.agenda.plan(at, Step::ReachClient { socket, cargo });
        }
    }

    fn reach_client(&mut self, now: Nanos, id: usize, cargo: Cargo) {
        if self.sockets[id].state == State::Closed {
            return;
        }
        if let Cargo::Bytes { ends: Some(request), .. } | Cargo::End { ends: Some(request) } = cargo
        {
            self.truth.read().requests[request].delivered_at = Some(now);
        }
        match cargo {
            Cargo::Bytes { bytes, begins, .. } => {
                let mut truth = self.truth.read();
                truth.counts.bytes_to_client += bytes.len() as u64;
                if let Some(request) = begins {
                    truth.requests[request].first_delivered_at = Some(now);
                }
                drop(truth);
                self.arrive(id, Pending::Bytes { at: now, bytes, used: 0 });
            }
            Cargo::End { .. } => self.arrive(id, Pending::End),
            Cargo::Reset => self.arrive(id, Pending::Failed(errno::ECONNRESET)),
        }
    }

    /// Queues an event for the client. No more can follow a failure.
    fn arrive(&mut self, id: usize, pending: Pending) {
        let socket = &mut self.sockets[id];
        if matches!(socket.pending.back(), Some(Pending::Failed(_))) {
            return;
        }
        socket.pending.push_back(pending);
        if !socket.is_queued {
            socket.is_queued = true;
            self.ready.push_back(id);
        }
    }
}

fn moment(now: Nanos, socket: usize, agenda: &mut Agenda) -> Moment<'_> {
    Moment { now, socket, agenda }
}
