//! The other side of the network: the built-in HTTP/1 server, or the services of a test.

use weir_io::{ConnId, Nanos};

use crate::agenda::{Agenda, Cargo, Step};
use crate::host::Host;
use crate::service::Services;
use crate::truth::TruthHandle;
use crate::world::World;

/// The server of a world.
#[derive(Debug)]
pub(crate) enum Peer {
    Http1(Box<Host>),
    Services(Services),
}

impl Peer {
    pub(crate) fn new(world: &World, truth: TruthHandle) -> Peer {
        match &world.service {
            Some(factory) => Peer::Services(Services::new(factory.clone(), world.seed, truth)),
            None => {
                let (server, faults) = (world.server.clone(), world.faults.response.clone());
                Peer::Http1(Box::new(Host::new(server, faults, world.seed, truth)))
            }
        }
    }

    /// Handles a new connection.
    pub(crate) fn accept(
        &mut self,
        now: Nanos,
        socket: usize,
        name: (ConnId, u16),
        agenda: &mut Agenda,
    ) {
        match self {
            Peer::Http1(host) => host.accept(now, socket, name, agenda),
            Peer::Services(services) => services.accept(now, socket, name, agenda),
        }
    }

    /// Handles bytes that arrived. Returns false if no open connection can take them.
    pub(crate) fn receive(
        &mut self,
        now: Nanos,
        socket: usize,
        bytes: (Nanos, &[u8]),
        agenda: &mut Agenda,
    ) -> bool {
        match self {
            Peer::Http1(host) => host.receive(now, socket, bytes, agenda),
            Peer::Services(services) => services.receive(now, socket, bytes, agenda),
        }
    }

    /// Handles the client's end of a connection.
    pub(crate) fn client_leaves(&mut self, socket: usize) {
        match self {
            Peer::Http1(host) => host.client_leaves(socket),
            Peer::Services(services) => services.end(socket),
        }
    }

    /// Handles cargo that is about to leave. Returns false if the connection is no longer open.
    pub(crate) fn departs(
        &mut self,
        now: Nanos,
        socket: usize,
        cargo: &Cargo,
        agenda: &mut Agenda,
    ) -> bool {
        match self {
            Peer::Http1(host) => host.departs(now, socket, cargo, agenda),
            Peer::Services(services) => services.departs(now, socket, cargo),
        }
    }

    /// Resets one connection.
    pub(crate) fn reset(&mut self, now: Nanos, socket: usize, agenda: &mut Agenda) {
        match self {
            Peer::Http1(host) => host.reset(now, socket, agenda),
            Peer::Services(_) => agenda.plan(now, Step::Depart { socket, cargo: Cargo::Reset }),
        }
    }

    /// Resets every open connection.
    pub(crate) fn reset_all(&mut self, now: Nanos, agenda: &mut Agenda) {
        match self {
            Peer::Http1(host) => host.reset_all(now, agenda),
            Peer::Services(services) => {
                for socket in services.sockets() {
                    agenda.plan(now, Step::Depart { socket, cargo: Cargo::Reset });
                }
            }
        }
    }

    /// Returns the HTTP/1 server, for a step that it planned.
    pub(crate) fn http1(&mut self) -> &mut Host {
        match self {
            Peer::Http1(host) => host,
            Peer::Services(_) => panic!("a step of the HTTP/1 server, which is not there"),
        }
    }

    /// Calls a service that waits for this time.
    pub(crate) fn wake(&mut self, now: Nanos, socket: usize, token: u64, agenda: &mut Agenda) {
        if let Peer::Services(services) = self {
            services.wake(now, socket, token, agenda);
        }
    }
}
