//! Per-connection state that is needed only while requests are in flight: the protocol, and a slot
//! for each request.
//!
//! A worker with many connections leases these to active connections, so that an idle one takes
//! next to no memory. A worker with few connections gives each its own permanently, which saves the
//! leasing.

use std::sync::Arc;

use weir_http::{BodyBudget, Interest, Multiplexed, Protocol, ProtocolFactory, Request};
use weir_io::{ConnId, Nanos};

use crate::exchange::Exchange;
use crate::job::Job;

/// Marks a connection without a lease.
pub(crate) const NONE: u32 = u32::MAX;

/// The state leased to one connection.
#[derive(Debug)]
pub(crate) struct ProtocolSlot {
    pub(crate) protocol: Protocol,
    /// Time of the first byte (`Tf`) of the response being received.
    pub(crate) first_byte_at: Nanos,
    /// Connection that holds the lease.
    pub(crate) owner: ConnId,
}

/// State of a stream beside its exchange.
#[derive(Clone, Debug)]
pub(crate) struct StreamSlot {
    /// Time of the first byte of its response; [`Nanos::MAX`] before it.
    pub(crate) first_byte_at: Nanos,
    /// Times that the peer has returned the request so far.
    pub(crate) returns: u8,
    pub(crate) request: Arc<Request>,
}

/// All leasable states, leased and free.
#[derive(Debug)]
pub(crate) struct ProtocolSlots {
    /// Requests in flight per connection.
    depth: u16,
    factory: ProtocolFactory,
    interest: Interest,
    /// Memory budget of bodies over all connections of the process.
    budget: BodyBudget,
    places: Vec<ProtocolSlot>,
    /// Requests in flight: `depth` for each of `places`, by request id.
    exchanges: Vec<Exchange>,
    /// State of the streams of a multiplexed protocol, in the order of `exchanges`; empty with
    /// HTTP/1.
    streams: Vec<Option<StreamSlot>>,
    free: Vec<u32>,
}

impl ProtocolSlots {
    /// Returns an empty set; states are made on demand.
    pub(crate) fn new(job: &Job, depth: u16, interest: Interest) -> ProtocolSlots {
        ProtocolSlots {
            depth,
            factory: job.protocol.clone(),
            interest,
            budget: job.body_budget.clone(),
            places: Vec::new(),
            exchanges: Vec::new(),
            streams: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Leases a state to `owner`, either new or returned in its initial condition.
    pub(crate) fn lease(&mut self, owner: ConnId) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize].owner = owner;
            return place;
        }
        let mut protocol = self.factory.make(self.depth);
        protocol.set_interest_within(self.interest, &self.budget);
        self.places.push(ProtocolSlot { protocol, first_byte_at: Nanos::ZERO, owner });
        let exchanges = self.places.len() * usize::from(self.depth);
        self.exchanges.resize(exchanges, Exchange::NONE);
        if self.factory.is_multiplexed() {
            self.streams.resize(exchanges, None);
        }
        // There is at most one for each connection.
        self.places.len() as u32 - 1
    }

    /// Takes back a lease whose protocol is idle and on which no request is in flight.
    pub(crate) fn release(&mut self, place: u32) {
        debug_assert!(self.exchanges_of(place).iter().all(|exchange| !exchange.is_live()));
        self.free.push(place);
    }

    /// Returns the state at `place`.
    #[inline]
    pub(crate) fn at(&mut self, place: u32) -> &mut ProtocolSlot {
        &mut self.places[place as usize]
    }

    /// Returns the protocol at `place`.
    pub(crate) fn protocol(&self, place: u32) -> &Protocol {
        &self.places[place as usize].protocol
    }

    /// Returns the requests in flight at `place`, by request id.
    pub(crate) fn exchanges_of(&self, place: u32) -> &[Exchange] {
        let depth = usize::from(self.depth);
        &self.exchanges[place as usize * depth..][..depth]
    }

    /// Returns the state at `place` and its requests in flight, by request id.
    #[inline]
    pub(crate) fn parts(&mut self, place: u32) -> (&mut ProtocolSlot, &mut [Exchange]) {
        let depth = usize::from(self.depth);
        let exchanges = &mut self.exchanges[place as usize * depth..][..depth];
        (&mut self.places[place as usize], exchanges)
    }

    /// Returns the multiplexed protocol at `place`.
    pub(crate) fn multiplexed(&mut self, place: u32) -> &mut (dyn Multiplexed + 'static) {
        let protocol = &mut self.places[place as usize].protocol;
        protocol.streams().expect("called for multiplexed protocols only")
    }

    /// Returns the exchange and the stream with request id `id` at `place`.
    pub(crate) fn stream(
        &mut self,
        place: u32,
        id: u16,
    ) -> (&mut Exchange, &mut Option<StreamSlot>) {
        let index = place as usize * usize::from(self.depth) + usize::from(id);
        (&mut self.exchanges[index], &mut self.streams[index])
    }

    /// Returns every request in flight with its connection.
    pub(crate) fn live(&mut self) -> impl Iterator<Item = (ConnId, &mut Exchange)> {
        let exchanges = self.exchanges.chunks_mut(usize::from(self.depth));
        let owned = self.places.iter().zip(exchanges);
        owned.flat_map(|(place, exchanges)| {
            let live = exchanges.iter_mut().filter(|exchange| exchange.is_live());
            live.map(|exchange| (place.owner, exchange))
        })
    }

    /// Raises the number of requests in flight per connection to `depth`.
    pub(crate) fn deepen(&mut self, depth: u16) {
        let (old, new) = (usize::from(self.depth), usize::from(depth));
        let mut exchanges = vec![Exchange::NONE; self.places.len() * new];
        for (from, to) in self.exchanges.chunks(old).zip(exchanges.chunks_mut(new)) {
            to[..old].copy_from_slice(from);
        }
        self.exchanges = exchanges;
        self.depth = depth;
    }

    /// Returns the number of 1xx responses over all connections.
    pub(crate) fn interim_responses(&self) -> u64 {
        self.places.iter().map(|place| place.protocol.interim_responses()).sum()
    }
}
