//! The seam for servers that a test brings along: any protocol, in virtual time.
//!
//! The built-in server speaks HTTP/1. A [`Service`] replaces it, one per connection, and keeps the
//! rest of the world: network, clock, faults of connects and sends, and the truth.

use std::fmt::{self, Debug};
use std::sync::Arc;

use weir_io::{ConnId, Nanos};

use crate::agenda::{Agenda, Cargo, Step};
use crate::random::{Random, Seed};
use crate::truth::{Fate, Request, TruthHandle};

/// The server's side of one connection.
pub trait Service: Debug + Send {
    /// Called once, when the connection is established.
    fn accepted(&mut self, link: &mut Link<'_>);

    /// Called for bytes from the client, the first of which left it at `sent_at`.
    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>);

    /// Called at the time that [`Link::wake`] was called for.
    fn woken(&mut self, token: u64, link: &mut Link<'_>);
}

/// Makes the service of each connection.
#[derive(Clone)]
pub struct ServiceFactory(Arc<dyn Fn() -> Box<dyn Service> + Send + Sync>);

impl ServiceFactory {
    /// Returns a factory that calls `make` for each connection.
    pub fn new(make: impl Fn() -> Box<dyn Service> + Send + Sync + 'static) -> ServiceFactory {
        ServiceFactory(Arc::new(make))
    }
}

impl Debug for ServiceFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceFactory")
    }
}

/// One connection, as its service sees it during a call.
#[derive(Debug)]
pub struct Link<'a> {
    /// Time of the call.
    pub now: Nanos,
    /// Random numbers of the server.
    pub chance: &'a mut Random,
    socket: usize,
    name: (ConnId, u16),
    truth: &'a TruthHandle,
    agenda: &'a mut Agenda,
}

impl Link<'_> {
    /// Records a request that has arrived whole, sent at `sent_at`. Returns its number in the
    /// truth.
    pub fn request(&mut self, number: Option<u64>, sent_at: Nanos) -> usize {
        let mut truth = self.truth.read();
        let (conn, generation) = self.name;
        truth.requests.push(Request {
            conn,
            generation,
            number,
            sent_at,
            received_at: self.now,
            started_at: Some(self.now),
            departed_at: None,
            first_delivered_at: None,
            delivered_at: None,
            fate: Fate::Waiting,
        });
        truth.requests.len() - 1
    }

    /// Sends bytes that end no request.
    pub fn send(&mut self, bytes: &[u8]) {
        self.depart(Cargo::Bytes { bytes: bytes.to_vec(), begins: None, ends: None });
    }

    /// Sends the complete response to a request.
    pub fn respond(&mut self, request: usize, status: u16, bytes: &[u8]) {
        self.truth.read().requests[request].fate = Fate::Responded(status);
        let (begins, ends) = (Some(request), Some(request));
        self.depart(Cargo::Bytes { bytes: bytes.to_vec(), begins, ends });
    }

    /// Closes the connection after the bytes sent so far.
    pub fn close(&mut self) {
        self.depart(Cargo::End { ends: None });
    }

    /// Resets the connection.
    pub fn reset(&mut self) {
        self.depart(Cargo::Reset);
    }

    /// Has [`Service::woken`] called with `token` after `after_ns` nanoseconds.
    pub fn wake(&mut self, after_ns: u64, token: u64) {
        let step = Step::Wake { socket: self.socket, token };
        self.agenda.plan(self.now.after(after_ns), step);
    }

    fn depart(&mut self, cargo: Cargo) {
        self.agenda.plan(self.now, Step::Depart { socket: self.socket, cargo });
    }
}

/// The services of all connections.
#[derive(Debug)]
pub(crate) struct Services {
    factory: ServiceFactory,
    /// Connections by socket; `None` if none was established, or after its end.
    open: Vec<Option<Open>>,
    chance: Random,
    truth: TruthHandle,
}

#[derive(Debug)]
struct Open {
    service: Box<dyn Service>,
    name: (ConnId, u16),
}

impl Services {
    pub(crate) fn new(factory: ServiceFactory, seed: Seed, truth: TruthHandle) -> Services {
        Services { factory, open: Vec::new(), chance: Random::new(seed, 7), truth }
    }

    /// Opens the service of a new connection.
    pub(crate) fn accept(
        &mut self,
        now: Nanos,
        socket: usize,
        name: (ConnId, u16),
        agenda: &mut Agenda,
    ) {
        if self.open.len() <= socket {
            self.open.resize_with(socket + 1, || None);
        }
        self.open[socket] = Some(Open { service: (self.factory.0)(), name });
        self.call(now, socket, agenda, |service, link| service.accepted(link));
    }

    /// Handles bytes that arrived. Returns false if no open connection can take them.
    pub(crate) fn receive(
        &mut self,
        now: Nanos,
        socket: usize,
        (sent_at, bytes): (Nanos, &[u8]),
        agenda: &mut Agenda,
    ) -> bool {
        self.truth.read().counts.bytes_to_server += bytes.len() as u64;
        self.call(now, socket, agenda, |service, link| service.received(bytes, sent_at, link))
    }

    /// Handles a time that a service waited for.
    pub(crate) fn wake(&mut self, now: Nanos, socket: usize, token: u64, agenda: &mut Agenda) {
        self.call(now, socket, agenda, |service, link| service.woken(token, link));
    }

    /// Handles cargo that is about to leave. Returns false if the connection is no longer open.
    pub(crate) fn departs(&mut self, now: Nanos, socket: usize, cargo: &Cargo) -> bool {
        let is_open = self.open.get(socket).is_some_and(Option::is_some);
        match cargo {
            Cargo::Bytes { ends: Some(request), .. } if is_open => {
                self.truth.read().requests[*request].departed_at = Some(now);
            }
            Cargo::Bytes { .. } => {}
            Cargo::End { .. } | Cargo::Reset => self.end(socket),
        }
        is_open
    }

    /// Ends a connection, by either side.
    pub(crate) fn end(&mut self, socket: usize) {
        if let Some(open) = self.open.get_mut(socket) {
            *open = None;
        }
    }

    /// Returns the sockets with an open connection.
    pub(crate) fn sockets(&self) -> Vec<usize> {
        (0..self.open.len()).filter(|&socket| self.open[socket].is_some()).collect()
    }

    fn call(
        &mut self,
        now: Nanos,
        socket: usize,
        agenda: &mut Agenda,
        call: impl FnOnce(&mut dyn Service, &mut Link<'_>),
    ) -> bool {
        let Services { open, chance, truth, .. } = self;
        let Some(Open { service, name }) = open.get_mut(socket).and_then(Option::as_mut) else {
            return false;
        };
        let mut link = Link { now, chance, socket, name: *name, truth, agenda };
        call(&mut **service, &mut link);
        true
    }
}
