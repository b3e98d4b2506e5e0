//! The seam for servers that a test brings along: any protocol, in virtual time.
//!
//! The built-in server speaks HTTP/1. A [`Service`] replaces it, one per connection, and keeps the
//! rest of the world: network, clock, faults of connects and sends, and the truth.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::sync::Arc;

use weir_io::Nanos;

use crate::agenda::{Cargo, Moment, Task};
use crate::peer::Peer;
use crate::random::{Random, Seed};
use crate::truth::{Fate, SocketName, TrueRequest, TruthHandle};

/// The server's side of one connection.
pub trait Service: Debug + Send {
    /// Called once, when the connection is established.
    fn accepted(&mut self, link: &mut Link<'_>);

    /// Called for bytes from the client; the first left it at `sent_at`.
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
    name: SocketName,
    truth: &'a TruthHandle,
    moment: Moment<'a>,
}

impl Link<'_> {
    /// Records a request that has arrived whole, sent at `sent_at`. Returns its number in the
    /// truth.
    pub fn request(&mut self, number: Option<u64>, sent_at: Nanos) -> usize {
        let mut truth = self.truth.read();
        let request = TrueRequest::new(self.name, number, sent_at, self.now);
        truth.requests.push(TrueRequest { started_at: Some(self.now), ..request });
        truth.requests.len() - 1
    }

    /// Sends bytes that end no request.
    pub fn send(&mut self, bytes: &[u8]) {
        self.depart(Cargo::of(bytes.to_vec()));
    }

    /// Sends the complete response to a request.
    pub fn respond(&mut self, request: usize, status: u16, bytes: &[u8]) {
        self.truth.read().requests[request].fate = Fate::Responded(status);
        let begins = Some(request);
        let ends = Some(request);
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
        self.moment.plan(self.now.after(after_ns), Task::Wake { token });
    }

    fn depart(&mut self, cargo: Cargo) {
        self.moment.depart(self.now, cargo);
    }
}

/// The services of all connections.
#[derive(Debug)]
pub(crate) struct Services {
    factory: ServiceFactory,
    /// Connections by socket; `None` if none was established, or after its end.
    open: BTreeMap<usize, OpenService>,
    chance: Random,
    truth: TruthHandle,
}

#[derive(Debug)]
struct OpenService {
    service: Box<dyn Service>,
    name: SocketName,
}

impl Services {
    pub(crate) fn new(factory: ServiceFactory, seed: Seed, truth: TruthHandle) -> Services {
        Services { factory, open: BTreeMap::new(), chance: Random::new(seed, 7), truth }
    }

    fn call(
        &mut self,
        moment: &mut Moment<'_>,
        call: impl FnOnce(&mut dyn Service, &mut Link<'_>),
    ) -> bool {
        let Services { open, chance, truth, .. } = self;
        let Some(OpenService { service, name }) = open.get_mut(&moment.socket) else {
            return false;
        };
        let Moment { now, socket, .. } = *moment;
        let moment = Moment { now, socket, agenda: &mut *moment.agenda };
        let mut link = Link { now, chance, name: *name, truth, moment };
        call(&mut **service, &mut link);
        true
    }
}

impl Peer for Services {
    fn accept(&mut self, moment: &mut Moment<'_>, name: SocketName) {
        self.open.insert(moment.socket, OpenService { service: (self.factory.0)(), name });
        self.call(moment, |service, link| service.accepted(link));
    }

    fn receive(&mut self, moment: &mut Moment<'_>, sent_at: Nanos, bytes: &[u8]) -> bool {
        self.truth.read().counts.bytes_to_server += bytes.len() as u64;
        self.call(moment, |service, link| service.received(bytes, sent_at, link))
    }

    fn client_leaves(&mut self, socket: usize) {
        self.open.remove(&socket);
    }

    fn departs(&mut self, moment: &mut Moment<'_>, cargo: &Cargo) -> bool {
        let is_open = self.open.contains_key(&moment.socket);
        match cargo {
            Cargo::Bytes { ends: Some(request), .. } if is_open => {
                self.truth.read().requests[*request].departed_at = Some(moment.now);
            }
            Cargo::Bytes { .. } => {}
            Cargo::End { .. } | Cargo::Reset => self.client_leaves(moment.socket),
        }
        is_open
    }

    fn serve(&mut self, moment: &mut Moment<'_>, task: Task) {
        let Task::Wake { token } = task else { panic!("a task of the HTTP/1 server") };
        self.call(moment, |service, link| service.woken(token, link));
    }

    fn sockets(&self) -> Vec<usize> {
        self.open.keys().copied().collect()
    }
}
