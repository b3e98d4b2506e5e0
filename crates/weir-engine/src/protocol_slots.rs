//! Per-connection state that is needed only while requests are in flight: the protocol, and a slot
//! for each request.
//!
//! A worker with many connections leases these to active connections, so that an idle one takes
//! next to no memory. A worker with few connections gives each its own permanently, which saves the
//! leasing.

use weir_http::{BodyBudget, Interest, Protocol};
use weir_io::{ConnId, Nanos};

use crate::exchange::Exchange;

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

/// All leasable states, leased and free.
#[derive(Debug)]
pub(crate) struct ProtocolSlots {
    /// Requests in flight per connection.
    depth: u16,
    interest: Interest,
    /// Memory budget of bodies over all connections of the process.
    budget: BodyBudget,
    places: Vec<ProtocolSlot>,
    /// Requests in flight: `depth` for each of `places`, by request id.
    exchanges: Vec<Exchange>,
    free: Vec<u32>,
}

impl ProtocolSlots {
    /// Returns an empty set; states are made on demand.
    pub(crate) fn new(depth: u16, interest: Interest, budget: BodyBudget) -> ProtocolSlots {
        let (places, exchanges, free) = (Vec::new(), Vec::new(), Vec::new());
        ProtocolSlots { depth, interest, budget, places, exchanges, free }
    }

    /// Leases a state to `owner`, either new or returned in its initial condition.
    pub(crate) fn lease(&mut self, owner: ConnId) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize].owner = owner;
            return place;
        }
        let mut protocol = Protocol::http1(self.depth);
        protocol.set_interest_within(self.interest, &self.budget);
        self.places.push(ProtocolSlot { protocol, first_byte_at: Nanos::ZERO, owner });
        self.exchanges.resize(self.places.len() * usize::from(self.depth), Exchange::NONE);
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
